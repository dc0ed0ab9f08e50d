//! How far a run is, on standard error: a bar with what was spent in a terminal, a line now
//! and then elsewhere; with `--verbose` a line for every step.

use std::io::{IsTerminal, stderr};

use super::messages;
use super::progress::Progress;
use crate::engine::Moment;
use crate::privacy::Watch;
use crate::privacy::accountant::round_up;

/// Hears what one run tells.
pub struct Steps {
    watch: Watch,
    bar: Option<Progress>,
    /// Tenths that lines have told.
    told: u64,
}

impl Steps {
    pub fn new(watch: &Watch) -> Self {
        Self { watch: watch.clone(), bar: None, told: 0 }
    }

    pub fn hear(&mut self, moment: &Moment) {
        match moment {
            Moment::Granted { run, steps, warnings, cautions } => {
                messages::tell(format_args!("  granted as {}, {steps} steps", run.0));
                for warning in warnings {
                    messages::tell(format_args!("  note: {warning}"));
                }
                let cautions = cautions.as_ref().and_then(|cautions| cautions.reveal(&self.watch));
                for caution in cautions.into_iter().flatten() {
                    messages::tell(format_args!("  note: ◆ {caution}"));
                }
                if stderr().is_terminal() && !messages::is_verbose() {
                    self.bar = Some(Progress::new("  steps", *steps as usize));
                }
            }
            Moment::Stepped(progress) => {
                let step = &progress.step;
                let epsilon = round_up(progress.epsilon, 4);
                if let Some(bar) = &mut self.bar {
                    bar.tell_with(step.index as usize, &format!(" · ε {epsilon}"));
                    return;
                }
                let tenth = step.index * 10 / step.total.max(1);
                let due = step.done || step.index == 1 || tenth > self.told;
                if due || messages::is_verbose() {
                    self.told = tenth;
                    messages::tell(format_args!(
                        "  step {} of {} ({}), ε {epsilon} so far",
                        step.index, step.total, step.phase
                    ));
                }
            }
        }
    }

    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.end();
        }
    }
}
