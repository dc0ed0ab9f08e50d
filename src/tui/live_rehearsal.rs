//! A rehearsal that the interface follows.

use crate::engine::Control;
use crate::engine::rehearse::RehearsalProgress;
use crate::engine::worker::{JobEvent, JobId, RehearsalEvent};
use crate::error::Result;
use crate::session::PlanDefinition;

#[derive(Debug, Default)]
pub struct LiveRehearsal {
    /// The rehearsed plan.
    pub plan: Option<PlanDefinition>,
    /// The methods that are tried; empty for all that fit.
    pub methods: Vec<String>,
    /// Whether methods that fall behind are tried as often as the others.
    pub deep: bool,
    /// Steers the rehearsal that is under way.
    pub work: Option<Control>,
    pub progress: Option<RehearsalProgress>,
    /// Whether the rehearsal is shown instead of the costs.
    pub shown: bool,
    /// The number of started rehearsals, which is the id of the last one.
    pub started: JobId,
}

impl LiveRehearsal {
    /// Whether its results apply to a plan; method, settings and ε may differ.
    pub fn fits(&self, plan: &PlanDefinition) -> bool {
        self.plan.as_ref().is_some_and(|own| {
            (&own.private, &own.public, own.target.delta, &own.preparation)
                == (&plan.private, &plan.public, plan.target.delta, &plan.preparation)
                && (own.holdout, own.seed) == (plan.holdout, plan.seed)
                && (own.private_records, own.evaluation) == (plan.private_records, plan.evaluation)
                && own.public_records == plan.public_records
        })
    }

    /// Whether all that was asked for was tried.
    pub fn is_whole(&self) -> bool {
        self.work.is_none() && self.progress.as_ref().is_some_and(RehearsalProgress::is_whole)
    }

    pub fn stop(&mut self) {
        if let Some(control) = self.work.take() {
            control.stop();
        }
    }

    /// Processes an event of the rehearsal. Returns a line for the user when it has ended.
    pub fn hear(&mut self, id: JobId, event: RehearsalEvent) -> Option<Result<String>> {
        if self.started != id {
            return None;
        }
        match event {
            JobEvent::Progress(progress) => {
                self.progress = Some(*progress);
                None
            }
            JobEvent::Ended(result) => {
                self.work = None;
                let whole = result.as_ref().as_ref().is_ok_and(RehearsalProgress::is_whole);
                // After stopping it the user continues with the plan, and sees its cost.
                self.shown &= whole;
                Some((*result).map(|progress| {
                    self.progress = Some(progress);
                    if whole {
                        let deeper = if self.deep { "" } else { ": c tries more" };
                        format!("the rehearsal is complete{deeper}")
                    } else {
                        "the rehearsal was stopped: r shows what it found, c continues it"
                            .to_owned()
                    }
                }))
            }
        }
    }
}
