//! The progress of a run, on standard error: a bar with the spending in a terminal, occasional
//! lines elsewhere; with `--verbose` a line for every step. Programs get one line of JSON per step.

use std::io::{IsTerminal, stderr};

use serde_json::json;

use super::messages;
use super::progress::ProgressLine;
use crate::engine::RunProgress;
use crate::privacy::Watch;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::RunId;

/// Prints the reports of one run.
pub struct StepPrinter<'a> {
    watch: Watch,
    /// The notes on private records that earlier runs have told in full.
    cautioned: &'a mut Vec<String>,
    bar: Option<ProgressLine>,
    /// The tenths already printed.
    told: u64,
    /// Whether the output is for programs.
    as_json: bool,
    run: Option<RunId>,
}

impl<'a> StepPrinter<'a> {
    pub fn new(watch: &Watch, as_json: bool, cautioned: &'a mut Vec<String>) -> Self {
        Self { watch: watch.clone(), cautioned, bar: None, told: 0, as_json, run: None }
    }

    pub fn print(&mut self, event: &RunProgress) {
        match event {
            RunProgress::Sites(sites) => {
                for site in sites {
                    messages::tell(format_args!("  {site}"));
                }
            }
            RunProgress::Granted { run, steps, warnings, cautions } => {
                if self.as_json {
                    messages::complain(json!({"kind": "granted", "run": run, "of": steps}));
                    self.run = Some(run.clone());
                } else {
                    messages::tell(format_args!("  granted as {}, {steps} steps", run.0));
                }
                let cautions = cautions.as_ref().and_then(|cautions| cautions.reveal(&self.watch));
                let cautions = cautions.cloned().unwrap_or_default();
                let (known, new): (Vec<_>, Vec<_>) =
                    cautions.into_iter().partition(|caution| self.cautioned.contains(caution));
                let again = (!known.is_empty()).then_some("as for the plan before");
                let told = new.iter().map(String::as_str).chain(again);
                let told = told.map(|caution| format!("◆ {caution}"));
                for note in warnings.iter().cloned().chain(told) {
                    messages::tell(format_args!("  note: {note}"));
                }
                self.cautioned.extend(new);
                if !self.as_json && stderr().is_terminal() && !messages::is_verbose() {
                    self.bar = Some(ProgressLine::new("  steps", *steps as usize));
                }
            }
            RunProgress::Stepped(progress) => {
                let step = &progress.step;
                let epsilon = round_up(progress.epsilon, 4);
                if self.as_json {
                    messages::complain(json!({
                        "kind": "step", "run": self.run, "step": step.index, "of": step.total,
                        "phase": step.phase, "epsilon": progress.epsilon, "done": step.done,
                    }));
                    return;
                }
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
}
