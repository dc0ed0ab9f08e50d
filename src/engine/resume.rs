//! Resumes a run whose program died.
//!
//! It is the same run under the same grant. Its steps are repeated with the values that were
//! released before (see [`crate::privacy::transcript`]), then it draws fresh noise from a generator
//! of its own. Draws that were announced and lost stay spent, and the run ends that many draws
//! earlier.

use std::path::Path;

use super::execution::{self, RunContext};
use super::job::{Job, RunProgress, Summary};
use super::spend::{Spend, copied_session};
use super::{choice, count, score, sites};
use crate::error::{Doing, Error, Result};
use crate::privacy::ledger::{RunId, RunOutcome, RunRecord, RunState};
use crate::privacy::{NoiseSource, Transcript, Watch};
use crate::session::resumption::{self, Origin, TRANSCRIPT};
use crate::session::sweep::{SweepDirectory, TaskState};
use crate::session::{RunDirectory, Session, Workspace};

/// A run directory, read to be resumed.
#[derive(Debug)]
pub struct Resumable {
    pub run: RunId,
    /// With one plan.
    pub session: Session,
    pub workspace: Workspace,
    /// Whether the run was started sealed; it stays so.
    pub sealed: bool,
}

impl Resumable {
    pub fn read(directory: &Path) -> Result<Self> {
        let directory = std::path::absolute(directory).doing("find the run", directory)?;
        let here = |error: Error| Err(error.at(directory.display().to_string()));
        let workspace = Workspace::of(&directory)?;
        let run = RunId(directory.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let book = workspace.book()?;
        if let Some(error) = task_of_a_sweep(&directory, &workspace, &run)? {
            return here(error);
        }
        let known = book.run(&run);
        if let Some((known, what)) = known.and_then(|it| Some((it, once_only(&it.grant.method)?))) {
            return here(once(what, known));
        }
        let has = |file: &str| directory.join(file).exists();
        let is_open = known.is_some_and(|known| known.state == RunState::Open);
        if is_open && !(has("run.ron") && has(resumption::FILE)) {
            // Either it had ended and the ledger lost the line of its end, or a disk lost the file.
            return here(Error::refused("the files that the run began with are gone").cure(
                format!(
                    "settle it with `halflight ledger settle {}`, which keeps what it announced \
                 charged; then start it again",
                    run.0
                ),
            ));
        }
        let session = Session::open(&directory.join("run.ron"))?;
        if workspace.run_directory(&run) != directory || session.plans.len() != 1 {
            return here(Error::usage("this is not a run's directory in a workspace").cure(
                "name one below .halflight/runs; `halflight ledger` lists those that are open",
            ));
        }
        if !has(resumption::FILE) {
            // The file is removed when the run ends, and the ledger says so.
            workspace.ledger()?.resume(&run).map(|_| ())?;
        }
        let sealed = Origin::read(&directory, &workspace.secret()?.secret)?.sealed;
        Ok(Self { run, session, workspace, sealed })
    }
}

/// Why the task of a sweep cannot go on, if that is what the directory holds, or what the ledger
/// reserved under this name.
fn task_of_a_sweep(directory: &Path, workspace: &Workspace, run: &RunId) -> Result<Option<Error>> {
    let sweep = match SweepDirectory::around(directory) {
        None if !directory.exists() => SweepDirectory::of_run(workspace, run),
        around => around,
    };
    let Some(sweep) = sweep else { return Ok(None) };
    let index = sweep.manifest.tasks.iter().position(|task| task.run == *run);
    let Some(index) = index else { return Ok(None) };
    let folder = &sweep.manifest.workspace;
    let book = Workspace::with_folder(folder, folder).book()?;
    let path = sweep.path().display();
    let collect = format!("halflight sweep --collect {path}");
    let (stands, cure) = match sweep.state_by(index, &book)? {
        TaskState::NotBegun => {
            ("was not begun", format!("`halflight sweep --continue {path}` begins it"))
        }
        TaskState::Running => ("is under way", format!("wait for it, then: `{collect}`")),
        TaskState::Missing { .. } => (
            "has no result",
            format!(
                "`{collect} --give-up` settles it and charges it in full; a new sweep can repeat it"
            ),
        ),
        TaskState::Ended(result) if result.outcome == RunOutcome::Abandoned => {
            ("was given up", "a new sweep can repeat it".to_owned())
        }
        TaskState::Ended(_) => ("has ended", format!("`{collect}` brings it into the workspace")),
    };
    let what = format!("a task of a sweep cannot be resumed, and this one {stands}");
    Ok(Some(Error::refused(what).cure(cure)))
}

/// What such an entry of the ledger is, if it is no training that could go on.
pub fn once_only(method: &str) -> Option<&'static str> {
    match method {
        choice::METHOD => Some("a choice among plans"),
        score::METHOD => Some("a score"),
        count::METHOD => Some("a released number of records"),
        _ if method.starts_with("private_") => Some("a private ranking"),
        _ => None,
    }
}

/// What happened to the ε of an entry that cannot be resumed.
fn once(what: &str, known: &RunRecord) -> Error {
    let run = &known.grant.run.0;
    if known.state != RunState::Open {
        return Error::refused(format!("{what} cannot be resumed, and this one has ended"))
            .cure("`halflight ledger` shows what it cost; start it again for another one");
    }
    Error::refused(format!("{what} cannot be resumed; {}", known.announced_words()))
        .cure(format!("settle it with `halflight ledger settle {run}`; then start it again"))
}

/// Resumes `run`; `job` is made from the session in its directory. A run that was started sealed
/// stays sealed for every viewer now.
pub fn resume(job: &Job, run: &RunId, tell: &mut dyn FnMut(RunProgress)) -> Result<Summary> {
    let path = job.workspace.run_directory(run);
    let then = Origin::read(&path, &job.workspace.secret()?.secret)?;
    if then.insecure_noise_seed.is_some() {
        return Err(Error::refused("a run with an insecure noise seed is not resumed")
            .at(path.display().to_string())
            .cure("start it again with the same seed: it repeats itself"));
    }
    let sealed = Job { watch: Watch::sealed(), ..job.clone() };
    let job = if then.sealed { &sealed } else { job };
    then.check(&job.origin(&path.join("run.ron"))?)
        .map_err(|error| error.at(path.display().to_string()))?;
    let greeted = sites::again(job, &path)?;
    let joint = greeted.as_ref().map(sites::Greeted::shape);
    let job = &Job { joint, ..job.clone() };
    let assembly = job.assemble()?;
    // The run is locked first: nothing in its directory changes before the lock is ours.
    let mut ledger = job.workspace.ledger()?;
    let book = ledger.book()?;
    // A budget that was lowered since holds at once, also for draws that were granted before.
    if let Some(record) = book.run(run)
        && record.state == RunState::Open
        && let Some(account) = book.account(&record.grant.account)
    {
        account.admit_open_run()?;
    }
    // The score of its test dataset spends from another account.
    let session = copied_session(&job.session, &job.loaded(), &book);
    let job = &Job { session, ..job.clone() };
    let own = job.private()?;
    let unfinished = ledger.resume(run)?;
    if unfinished.grant.events != assembly.proposal.calibrated.events() {
        return Err(Error::refused("the plan needs other noise than the run was granted")
            .at(path.display().to_string())
            .cure("resume it with the release of halflight that started it"));
    }
    let (directory, recorded) = RunDirectory::reopen(&path)?;
    let transcript = Transcript::reopen(&path.join(TRANSCRIPT), run)?;
    let peeked = !then.sealed || directory.holds_exact_numbers();
    let mut spend = Spend::resumed(ledger, unfinished, transcript, (&job.watch, peeked))?;
    let resumed = format!("resumed: {} steps were taken before", recorded.steps());
    spend.notes.insert(0, resumed);
    let notes = &mut spend.notes;
    match spend.spender.lost() {
        0 => {}
        1 => notes.push("1 draw was lost and stays spent: the run may end a step earlier".into()),
        lost => notes.push(format!(
            "{lost} draws were lost and stay spent: the run may end as many steps earlier"
        )),
    }
    if let Some(greeted) = greeted {
        tell(RunProgress::Sites(greeted.notes()));
        let noise = NoiseSource::Secret;
        spend = spend.joining(greeted.agree_on_run(job, &assembly.proposal, run, noise)?)?;
    }
    let context = RunContext { own, spend, directory, recorded: Some(recorded), known: Vec::new() };
    Ok(execution::perform(job, assembly, context, tell)?.summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::assemble;
    use crate::data::Task;
    use crate::methods;
    use crate::prepared::PreparedStore;
    use crate::privacy::Spender;
    use crate::privacy::openings::{OpenSpender, OpenWatch};
    use crate::session::{PlanDefinition, dataset};

    /// Small datasets for both tasks, and a plan with its defaults for every method.
    fn every_method() -> Session {
        let part = |name: &str, role: &str, about: &str, filter: &str| {
            format!(
                "(name: \"{name}\", role: {role}, {about}, filter: \"{filter}\", sample: (rows: 300))"
            )
        };
        let bikes = "source: builtin(\"bikeshare\"), label: \"bikers\", \
                     columns: only([\"temp\", \"hum\", \"windspeed\"])";
        let credit = "source: builtin(\"german_credit\"), label: \"credit_risk\", \
                      task: classification, classes: [\"1\", \"2\"], \
                      columns: only([\"duration\", \"credit_amount\", \"installment_rate\"])";
        let text = format!(
            "(version: 1, datasets: [{}, {}, {}, {}])",
            part("winter", "private", bikes, "season == 1"),
            part("summer", "public", bikes, "season != 1"),
            part("old", "private", credit, "age > 35"),
            part("young", "public", credit, "age <= 35"),
        );
        let mut session = Session::parse(&text, "test").unwrap();
        for method in methods::methods() {
            let (private, public) = match method.spec().task {
                Task::Regression => ("winter", "summer"),
                Task::Classification => ("old", "young"),
            };
            session.plans.push(PlanDefinition {
                name: method.spec().id.to_owned(),
                method: method.spec().id.to_owned(),
                private: private.to_owned(),
                public: vec![public.to_owned()],
                target: crate::privacy::Target { epsilon: 4.0, delta: 1e-5 },
                settings: std::collections::BTreeMap::default(),
                preparation: crate::data::PreparationSettings::default(),
                holdout: 0.2,
                seed: 1,
                start: None,
                start_is_public: false,
                public_predictor: methods::PublicPredictor::None,
                private_records: None,
                public_records: None,
                test: None,
                allow_large_delta: false,
                evaluation: None,
            });
        }
        session.check().unwrap();
        session
    }

    /// Every number that a run reports and delivers, bit for bit, and how many words of its
    /// generator it used.
    fn outcome(
        session: &Session,
        plan: &PlanDefinition,
        loaded: &[&crate::session::Loaded],
        (seed, transcript): (u64, Transcript),
        watch: &Watch,
    ) -> (Vec<u64>, u64) {
        let assembly = assemble(session, plan, loaded, &PreparedStore::default()).unwrap();
        let mut spender =
            Spender::rehearsal(&assembly.proposal.calibrated, seed).keeping(transcript);
        let started =
            assembly.proposal.prepared.start(assembly.private, &assembly.proposal.calibrated);
        let mut run = started.unwrap();
        let mut told = Vec::new();
        run.drive(&mut spender, watch, |_, _, step| {
            let open = step.measures.iter().filter_map(|measure| measure.value.open());
            told.extend(open.map(f64::to_bits));
            Ok(())
        })
        .unwrap();
        let model = run.finish().unwrap().into_inner();
        for tensor in model.tensors() {
            told.extend(tensor.values.iter().map(|value| value.to_bits()));
        }
        (told, spender.noise_words())
    }

    /// The basis of resuming: public data, the public seed and the released values decide
    /// everything to every viewer. So a whole transcript needs no private data and no noise.
    #[test]
    fn every_method_repeats_itself_to_the_last_bit_from_what_was_released() {
        let directory = tempfile::tempdir().unwrap();
        let session = every_method();
        let workspace = Workspace::fresh(directory.path());
        let loaded: Vec<_> =
            session.datasets.iter().map(|it| dataset::load(it, &workspace).unwrap()).collect();
        let loaded: Vec<_> = loaded.iter().collect();
        for plan in &session.plans {
            let path = directory.path().join(&plan.name);
            let run = RunId(plan.name.clone());
            let first = Transcript::create(&path, &run).unwrap();
            let (told, words) = outcome(&session, plan, &loaded, (1, first), &Watch::open());
            let releases = !methods::method(&plan.method).unwrap().spec().public_only;
            assert_eq!(words > 0, releases, "{}", plan.name);
            let again = Transcript::reopen(&path, &run).unwrap();
            let (again, words) = outcome(&session, plan, &loaded, (2, again), &Watch::sealed());
            assert_eq!(words, 0, "{}: noise was drawn for known values", plan.name);
            assert!(again == told, "{}: other numbers than the first time", plan.name);
            let other = Transcript::create(&directory.path().join("other"), &run).unwrap();
            let (other, _) = outcome(&session, plan, &loaded, (2, other), &Watch::sealed());
            assert_eq!(other != told, releases, "{}: what the noise changes", plan.name);
            std::fs::remove_file(directory.path().join("other")).unwrap();
        }
    }
}
