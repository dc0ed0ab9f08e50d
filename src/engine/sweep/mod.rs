//! Many runs of one plan, reserved together and executed anywhere.
//!
//! The spend of the whole sweep is in the ledger before anything starts: one grant for each task,
//! with all its draws announced. A task then needs no ledger, only its grant, which is in the
//! sweep's directory and is claimed once. The actual draws of a task are known when its result is
//! collected. Until then, and for ever if it died, the task counts in full.
//!
//! | module | holds |
//! |---|---|
//! | [`axes`] | the varied values, and the plans that they make |
//! | this one | reserving, executing, collecting |

pub mod axes;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::assembly::propose;
use super::control::Control;
use super::execution::{self, ExecutionResult, RunContext};
use super::job::{Job, RunProgress, Summary};
use super::prepared::PreparedStore;
use super::preview::account_of;
use super::spend::{OpenAccount, Purpose, Spend, new_run_id};
use super::{look, overlap};
use crate::error::{Doing, Error, Result};
use crate::numeric::parallel;
use crate::privacy::ledger::{RunId, RunOutcome, RunState};
use crate::privacy::{Calibrated, Guarantee, NoiseSource};
use crate::session::sweep::{
    self, CarriedGrant, SweepDirectory, TaskDirectory, TaskEntry, TaskResult, TaskState,
};
use crate::session::{Loaded, RunDirectory, Session, Workspace, dataset, leftovers};
use axes::SweepVariant;

/// A plan of a sweep with its noise.
#[derive(Debug)]
pub struct Planned {
    pub variant: SweepVariant,
    pub calibrated: Calibrated,
    pub steps: u64,
    pub warnings: Vec<String>,
}

/// Calibrates every variant of the plan of `base`; draws and writes nothing.
pub fn plan(base: &Job, variants: Vec<SweepVariant>) -> Result<Vec<Planned>> {
    if let Some(test) = &base.plan.test {
        return Err(Error::usage(format!(
            "'{test}' would pay for the score of every task of the sweep"
        ))
        .cure(format!(
            "leave `test` out, and score the model that you keep: `halflight score RUN SESSION \
             --dataset {test}`"
        )));
    }
    let loaded = base.loaded();
    let planned = variants.into_iter().map(|variant| {
        let plan = variant.plan.resolved(&base.workspace);
        let proposal = propose(&base.session, &plan, &loaded, &base.prepared)
            .map_err(|error| error.within(&variant.plan.name))?;
        let (calibrated, steps) = (proposal.calibrated, proposal.prepared.plan().steps);
        Ok(Planned { variant, calibrated, steps, warnings: proposal.warnings })
    });
    planned.collect()
}

/// Would the ledger reserve all of it? Returns what it would count then, with everything before, and
/// writes nothing.
pub fn admit(base: &Job, planned: &[Planned]) -> Result<Option<Guarantee>> {
    let private = base.private()?;
    overlap::check(private, &base.publics(), &base.workspace, &base.watch)?;
    let account = account_of(private, &base.session, &base.workspace)?;
    Purpose::admit_all(&purposes(&entries(planned), planned), &account, private)?;
    let events: Vec<_> = planned.iter().map(|it| it.calibrated.events().to_vec()).collect();
    let delta = account.budget.map_or(base.plan.target.delta, |budget| budget.delta);
    account.spent_with_each(&events, delta)
}

/// Reserves every task in the ledger, or refuses all of them, and writes the tasks to `path`, each
/// with its grant.
pub fn reserve(base: &Job, planned: &[Planned], path: &Path) -> Result<SweepDirectory> {
    let (made, workspace) = (!path.exists(), &base.workspace);
    let sweep = SweepDirectory::create(path, &base.plan.name, workspace, entries(planned))?;
    lay_down(base, planned, &sweep).inspect_err(|_| {
        // Without a reservation there is nothing to start; with one, `--collect --give-up` frees
        // it.
        let run = &sweep.manifest.tasks[0].run;
        let reserved = workspace.book().map_or(true, |book| book.run(run).is_some());
        if made && !reserved {
            let _ = crate::files::step::remove_folder(sweep.path());
        }
    })?;
    Ok(sweep)
}

fn lay_down(base: &Job, planned: &[Planned], sweep: &SweepDirectory) -> Result<()> {
    let Job { session, workspace, .. } = base;
    overlap::check(base.private()?, &base.publics(), workspace, &base.watch)?;
    let mut origins = Vec::with_capacity(planned.len());
    for (index, it) in planned.iter().enumerate() {
        let task = sweep.task(index);
        task.write_session(session, &it.variant.plan, workspace)?;
        let of_task = Job { plan: it.variant.plan.clone(), ..base.clone() };
        origins.push(of_task.origin(&task.session_file())?);
    }
    let account = OpenAccount::open(base.private()?, workspace, session)?;
    let reserved = account.reserve(&purposes(&sweep.manifest.tasks, planned))?;
    for (index, ((grant, standing), origin)) in reserved.into_iter().zip(origins).enumerate() {
        CarriedGrant { grant, origin, standing }.write(sweep.task(index).path())?;
    }
    Ok(())
}

/// The number of tasks of a sweep in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskTally {
    pub done: usize,
    pub failed: usize,
    pub given_up: usize,
    pub running: usize,
    /// Begun and without a result.
    pub missing: usize,
    pub not_begun: usize,
}

impl TaskTally {
    pub fn of(states: &[TaskState]) -> Self {
        let mut tally = Self::default();
        for state in states {
            *match state {
                TaskState::Ended(result) => match result.outcome {
                    RunOutcome::Finished | RunOutcome::Stopped => &mut tally.done,
                    RunOutcome::Failed => &mut tally.failed,
                    RunOutcome::Abandoned => &mut tally.given_up,
                },
                TaskState::Missing { .. } => &mut tally.missing,
                TaskState::Running => &mut tally.running,
                TaskState::NotBegun => &mut tally.not_begun,
            } += 1;
        }
        tally
    }

    /// `1 of 3 runs of the sweep have ended: 1 without a result, 1 not begun`
    pub fn words(&self) -> String {
        let Self { done, failed, given_up, running, missing, not_begun } = *self;
        let ended = done + failed + given_up;
        let all = ended + running + missing + not_begun;
        let others = listed(&[
            (running, "running"),
            (missing, "without a result"),
            (not_begun, "not begun"),
        ]);
        if ended == all {
            return format!("all {all} runs of the sweep have ended and are settled");
        }
        format!("{ended} of {all} runs of the sweep have ended: {others}")
    }

    /// `1 missing, 2 failed`: the tasks that are not done.
    pub fn undone(&self) -> String {
        listed(&[
            (self.missing, "missing"),
            (self.failed, "failed"),
            (self.running, "running"),
            (self.not_begun, "not begun"),
            (self.given_up, "given up"),
        ])
    }
}

fn listed(counts: &[(usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// A run of its own for each task.
fn entries(planned: &[Planned]) -> Vec<TaskEntry> {
    let entry = |it: &Planned| TaskEntry {
        run: new_run_id(&it.variant.plan.method),
        values: it.variant.values.clone(),
    };
    planned.iter().map(entry).collect()
}

fn purposes<'a>(tasks: &[TaskEntry], planned: &'a [Planned]) -> Vec<Purpose<'a>> {
    let purpose = |(task, it): (&TaskEntry, &'a Planned)| {
        let plan = &it.variant.plan;
        Purpose {
            run: task.run.clone(),
            method: &plan.method,
            target: plan.target,
            calibrated: &it.calibrated,
            allow_large_delta: plan.allow_large_delta,
            noise: NoiseSource::Secret,
            one_noise: None,
        }
    };
    tasks.iter().zip(planned).map(purpose).collect()
}

/// Reads the data of a task.
pub fn load(task: &TaskDirectory) -> Result<Vec<Arc<Loaded>>> {
    let (session, workspace) = (Session::open(&task.session_file())?, task.workspace()?);
    let loaded = session.datasets.iter().map(|it| dataset::load(it, &workspace).map(Arc::new));
    loaded.collect()
}

/// Executes one task of a sweep on `datasets`. Everything that can be checked is checked before the
/// task is claimed; after that it has one chance.
pub fn carry_out(
    task: &TaskDirectory,
    datasets: Vec<Arc<Loaded>>,
    control: Control,
    prepared: PreparedStore,
    tell: &mut dyn FnMut(RunProgress),
) -> Result<Summary> {
    let carried = CarriedGrant::read(task.path(), &task.workspace()?.secret()?.secret)?;
    let CarriedGrant { grant, origin, standing } = carried;
    refuse_used(task, &grant.run)?;
    let session = Session::open(&task.session_file())?;
    let plan = session.plans.first().cloned();
    let plan = plan.ok_or_else(|| {
        Error::failed("the task has no plan").at(task.session_file().display().to_string())
    })?;
    let watch = look::view(origin.sealed);
    let job = Job::new(session, plan, datasets, task.workspace()?);
    let job = Job { watch, control, prepared, ..job };
    let here = |error: Error| error.at(task.path().display().to_string());
    origin.check(&job.origin(&task.session_file())?).map_err(here)?;
    let own = job.private()?;
    let assembly = job.assemble()?;
    if grant.events != assembly.proposal.calibrated.events() {
        return Err(here(
            Error::refused("the task needs other noise than it was granted")
                .cure("carry it out with the release of halflight that made the sweep"),
        ));
    }
    let generator = NoiseSource::Secret.generator()?;
    task.claim()?;
    let events = grant.events.len();
    let opened = RunDirectory::create(&job.workspace, &grant.run, &job.session, &job.plan)
        .and_then(|directory| {
            let transcript = job.prepare(own, &directory, &grant.run, grant.noise)?;
            Ok((directory, transcript))
        });
    let (directory, transcript) = opened.inspect_err(|error| {
        // Nothing was drawn, because nobody began it before. If this cannot be written either, all
        // of it counts.
        let _ = task.write_result(&TaskResult {
            outcome: RunOutcome::Failed,
            used: vec![0; events],
            peeked: false,
            trouble: Some(error.to_string()),
        });
    })?;
    let calibrated = &assembly.proposal.calibrated;
    let spend = Spend::carried((grant, standing), calibrated, transcript, generator, &job.watch);
    let context = RunContext { own, spend, directory, recorded: None, known: Vec::new() };
    let ExecutionResult { mut summary, used } = execution::perform(&job, assembly, context, tell)?;
    let written = task.write_result(&TaskResult {
        outcome: summary.outcome,
        used,
        peeked: summary.peeked,
        trouble: summary.trouble.as_ref().map(Error::to_string),
    });
    if let Err(error) = written {
        summary.outcome = RunOutcome::Failed;
        summary.trouble.get_or_insert(error);
    }
    Ok(summary)
}

/// Refuses a task whose grant was used or given up. A claim that was removed, and a copy of the
/// sweep, look as if nobody had begun it.
fn refuse_used(task: &TaskDirectory, run: &RunId) -> Result<()> {
    if task.is_claimed() {
        return Ok(()); // whoever claims it again is told by whom
    }
    let workspace = task.workspace()?;
    let refused = |why: &str| {
        Err(Error::refused(why)
            .at(task.path().display().to_string())
            .cure("a grant is used once: make a new sweep for what is missing"))
    };
    if workspace.run_directory(run).exists() {
        return refused("the task was begun before, and what it drew counts");
    }
    // Machines that cannot reach the ledger go by the claim alone.
    let ledger = workspace.ledger_folder();
    let book = Workspace::with_folder(ledger, ledger).book();
    let record = book.as_ref().ok().and_then(|book| book.run(run));
    if record.is_some_and(|record| record.state != RunState::Open) {
        return refused("the ledger has settled the run of this task, so it may draw nothing more");
    }
    Ok(())
}

/// Executes the tasks that nobody has begun, `jobs` at a time, on this machine; `report` is called
/// for each. Ends early when `control` stops.
pub fn run_here(
    sweep: &SweepDirectory,
    datasets: &[Arc<Loaded>],
    jobs: usize,
    control: &Control,
    report: &(dyn Fn(usize, &Result<Summary>) + Sync),
) -> Result<()> {
    let mut waiting = Vec::new();
    for index in 0..sweep.manifest.tasks.len() {
        if sweep.state(index)? == TaskState::NotBegun {
            waiting.push(index);
        }
    }
    let next = AtomicUsize::new(0);
    let store = PreparedStore::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, waiting.len().max(1)) {
            scope.spawn(|| {
                while let Some(index) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if control.is_stopped() {
                        return;
                    }
                    let (task, control) = (sweep.task(*index), control.of_one());
                    let (datasets, store) = (datasets.to_vec(), store.clone());
                    let work = || carry_out(&task, datasets, control, store, &mut |_| {});
                    // Many tasks at once keep the machine busy by themselves.
                    let done = if jobs > 1 { parallel::alone(work) } else { work() };
                    report(*index, &done);
                }
            });
        }
    });
    Ok(())
}

/// Brings completed runs into the workspace and settles them in the ledger. With `give_up`, tasks
/// that were never begun are settled at nothing and can no longer begin, and tasks that died are
/// settled in full. Returns the state of each task.
pub fn collect(sweep: &SweepDirectory, give_up: bool) -> Result<Vec<TaskState>> {
    let folder = &sweep.manifest.workspace;
    let mut ledger = Workspace::with_folder(folder, folder).existing_ledger()?;
    let book = ledger.book()?;
    let runs = sweep.manifest.workspace.join("runs");
    crate::files::create_private_folder(&runs).doing("create the directory of runs", &runs)?;
    leftovers::remove_halves(sweep.path());
    let mut states = Vec::new();
    for (index, entry) in sweep.manifest.tasks.iter().enumerate() {
        let mut state = sweep.state(index)?;
        let record = book.run(&entry.run);
        let open = record.filter(|record| record.state == RunState::Open);
        if let TaskState::Ended(result) = &state {
            let directory = sweep.run_directory(index);
            if directory.is_dir() {
                sweep::merge(&directory, &runs.join(&entry.run.0))?;
            }
            match record {
                Some(record) if record.state == RunState::Open => {
                    ledger.settle(&entry.run, &result.used, result.outcome, result.peeked)?;
                }
                // It was given up, and drew elsewhere nevertheless.
                Some(record) if record.charged.iter().zip(&result.used).any(|(a, b)| a < b) => {
                    ledger.charge_at_least(&entry.run, &result.used)?;
                }
                _ => {}
            }
        } else if let Some(open) = open.filter(|_| give_up) {
            let nothing = vec![0; open.reserved.len()];
            let (used, peeked) = match state {
                // It is claimed here, so nobody else can begin it now.
                TaskState::NotBegun if sweep.task(index).claim().is_ok() => (nothing, false),
                TaskState::Missing { .. } => (open.reserved.clone(), true),
                _ => {
                    states.push(sweep.state(index)?);
                    continue;
                }
            };
            let outcome = RunOutcome::Abandoned;
            ledger.settle(&entry.run, &used, outcome, peeked)?;
            let result = TaskResult { outcome, used, peeked, trouble: None };
            if state == TaskState::NotBegun {
                sweep.task(index).write_result(&result)?;
            }
            state = TaskState::Ended(result);
        } else {
            // It may have been given up before; should its result still come, it is collected.
            state = sweep.state_by(index, &book)?;
        }
        states.push(state);
    }
    Ok(states)
}
