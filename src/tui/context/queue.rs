//! Runs to be made one after another. Sweeps fill the queue, too.

use super::{Change, Context};
use crate::engine::worker::JobId;
use crate::error::{Action, Error};
use crate::notice::{Level, one_line};
use crate::session::PlanDefinition;

/// Whether a plan is refused only because its dataset has no budget yet.
fn is_for_budget(refusal: &Error) -> bool {
    matches!(refusal.action(), Some(Action::SetBudget { .. }))
}

impl Context {
    pub fn enqueue(&mut self, plans: Vec<PlanDefinition>) {
        let count = plans.len();
        self.queue.plans.extend(plans);
        let runs = if count == 1 { "the plan is".to_owned() } else { format!("{count} runs are") };
        let refusal = match &self.plan.preview {
            Some(Ok(preview)) if Some(&preview.plan) == self.shown_plan() => {
                preview.refusal.as_ref().filter(|it| !is_for_budget(it))
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            let refused = one_line(refusal);
            return self.warn(format!(
                "{runs} in the queue, but the ledger would refuse the shown plan now: {refused}"
            ));
        }
        self.say(Level::Good, format!("{runs} in the queue: Q runs it, every run is charged"));
    }

    /// Starts the queue, or halts it after the current run.
    pub fn ask_to_start_queue(&mut self) {
        if self.queue.job.is_some() && self.queue.working {
            self.queue.working = false;
            return self.inform("the queue halts after the run that is under way");
        }
        let count = self.queue.plans.len();
        if count == 0 {
            return self.inform("the queue is empty: a adds this plan, E a sweep");
        }
        let text = format!(
            "Run the {count} queued plans one after the other? Each reserves its ε before it \
                                        starts, and their costs add up. The queue stops where \
                                        the budget refuses a run."
        );
        self.confirm(text, "start", |context| {
            context.queue.working = true;
            if context.queue.job.is_none() {
                context.run_next();
            }
        });
    }

    fn run_next(&mut self) {
        if !self.queue.working || self.queue.plans.is_empty() {
            self.queue.working = false;
            return;
        }
        let plan = self.queue.plans.remove(0);
        self.note(Change::Dequeued);
        self.launch(plan);
        self.queue.job = self.runs.last().map(|run| run.id);
    }

    /// A run has ended: the queue continues, or halts if a run was refused.
    pub(super) fn run_ended(&mut self, id: JobId) {
        if self.queue.job != Some(id) {
            return;
        }
        self.queue.job = None;
        let run = self.runs.iter().find(|run| run.id == id);
        if run.is_none_or(|run| run.trouble().is_some()) {
            self.queue.working = false;
            return;
        }
        self.run_next();
    }
}
