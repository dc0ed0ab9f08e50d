//! A run on built-in, public data whose noise comes from a seed: the same every time, for the
//! pictures in README and guide. Nothing is spent, no ledger is touched, and the result is not
//! private. So this is refused for any data that could be private.

use std::sync::Arc;
use std::time::Duration;

use super::execution::{RunContext, perform};
use super::job::{Job, RunProgress, StepProgress, Summary};
use super::spend::{Purpose, Spend};
use crate::data::Source;
use crate::error::{Error, Result};
use crate::privacy::ledger::RunId;
use crate::session::{Loaded, RunDirectory};

/// The stated duration of a step: a clock would differ every time.
const STEP_TIME: Duration = Duration::from_millis(4);

pub fn run_for_pictures(
    job: &Job,
    run: &RunId,
    seed: u64,
    tell: &mut dyn FnMut(RunProgress),
) -> Result<Summary> {
    let built_in = |loaded: &Arc<Loaded>| {
        matches!(loaded.definition.source, Source::Builtin(_) | Source::Synthetic { .. })
    };
    if !job.datasets.iter().all(built_in) {
        return Err(Error::refused("only built-in data may be shown in pictures")
            .cure("run the plan: its noise is real and the ledger knows of it"));
    }
    if job.plan.test.is_some() {
        return Err(Error::refused("a score on rows of another file is charged to a ledger")
            .cure("leave out `test`: no picture shows it"));
    }
    let job = &job.in_known_order();
    let assembly = job.assemble()?;
    let purpose = Purpose::new(&job.plan.method, &assembly.proposal.calibrated);
    let purpose = Purpose { run: run.clone(), target: job.plan.target, ..purpose };
    let spend = Spend::for_pictures(&purpose, seed, &job.watch);
    let directory = RunDirectory::create(&job.workspace, run, &job.session, &job.plan)?;
    let own = job.private()?;
    let context = RunContext { own, spend, directory, recorded: None, known: Vec::new() };
    let time = |steps: u64| STEP_TIME * steps as u32;
    let mut tell = |event: RunProgress| {
        tell(match event {
            RunProgress::Sites(_) => event,
            RunProgress::Granted { run, steps, .. } => {
                RunProgress::Granted { run, steps, warnings: Vec::new(), cautions: None }
            }
            RunProgress::Stepped(step) => {
                RunProgress::Stepped(StepProgress { worked: time(step.step.index), ..step })
            }
        });
    };
    let summary = perform(job, assembly, context, &mut tell)?.summary;
    // Its place beside a session; the workspace's own path differs every time.
    let directory = std::path::Path::new(".halflight/runs").join(&run.0);
    Ok(Summary { directory, worked: time(summary.steps), ..summary })
}
