//! A run whose program died goes on.
//!
//! It is the same run under the same grant: its steps are taken again with the values
//! that were released before (see [`crate::privacy::transcript`]), then it draws fresh
//! noise from a generator of its own. Whatever was announced, drawn and lost stays spent;
//! the run ends that many draws earlier.

use std::path::Path;

use super::assembly::assemble;
use super::job::{self, Job, Moment, Opening, Summary};
use crate::error::{Error, Result};
use crate::privacy::ledger::RunId;
use crate::privacy::mechanism::NoiseGenerator;
use crate::privacy::{Spender, Transcript};
use crate::session::resumption::{Origin, TRANSCRIPT};
use crate::session::{RunDirectory, Session, Workspace};

/// A run directory, read to be resumed.
#[derive(Debug)]
pub struct Resumable {
    pub run: RunId,
    /// With one plan.
    pub session: Session,
    pub workspace: Workspace,
}

impl Resumable {
    pub fn read(directory: &Path) -> Result<Self> {
        let directory = std::path::absolute(directory)
            .map_err(|error| Error::io("find the run", directory, &error))?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let session = Session::open(&directory.join("run.ron"))?;
        let workspace = Workspace::of(&directory)?;
        let run = RunId(name);
        if workspace.run_directory(&run) != directory || session.plans.len() != 1 {
            return Err(Error::usage("this is not a run's directory in a workspace")
                .at(directory.display().to_string())
                .cure(
                    "name one below .halflight/runs; `halflight ledger` lists those that are open",
                ));
        }
        Ok(Self { run, session, workspace })
    }
}

/// Goes on with `run`; `job` is made of the session in its directory.
pub fn resume(job: &Job, run: &RunId, tell: &mut dyn FnMut(Moment)) -> Result<Summary> {
    let path = job.workspace.run_directory(run);
    let then = Origin::read(&path)?;
    if then.insecure_noise_seed.is_some() {
        return Err(Error::refused("a run with an insecure noise seed is not resumed")
            .at(path.display().to_string())
            .cure("start it again with the same seed: it repeats itself"));
    }
    then.check(&job.origin(&path.join("run.ron"))?)
        .map_err(|error| error.at(path.display().to_string()))?;
    let assembly = assemble(&job.session, &job.plan, &job.loaded())?;
    // The lock on the run first: nothing in its directory changes before it is ours.
    let mut ledger = job.workspace.ledger()?;
    let unfinished = ledger.resume(run)?;
    if unfinished.grant.events != assembly.calibrated.events {
        return Err(Error::refused("the plan needs other noise than the run was granted")
            .at(path.display().to_string())
            .cure("resume it with the release of halflight that started it"));
    }
    let (directory, recorded) = RunDirectory::reopen(&path)?;
    let transcript = Transcript::reopen(&path.join(TRANSCRIPT), run)?;
    let account = unfinished.grant.account.clone();
    let generator = NoiseGenerator::from_os()?;
    let spender = Spender::resumed(ledger, unfinished, transcript, generator)?;
    let mut notes = vec![format!("resumed: {} steps were taken before", recorded.steps())];
    match spender.lost() {
        0 => {}
        1 => notes.push("1 draw was lost and stays spent: the run may end a step earlier".into()),
        lost => notes.push(format!(
            "{lost} draws were lost and stay spent: the run may end as many steps earlier"
        )),
    }
    let peeked = !then.sealed || directory.holds_exact_numbers();
    let opening = Opening {
        run: run.clone(),
        account,
        spender,
        directory,
        recorded: Some(recorded),
        peeked,
        notes,
        insecure_noise_seed: None,
    };
    Ok(job::perform(job, assembly, opening, tell)?.summary)
}
