//! One run from grant to certificate, on the calling thread.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::assembly::{Assembly, assemble, refuse_overlap};
use super::cautions;
use super::control::Control;
use super::overlap;
use crate::adapt::baselines::reference::{self, DEFAULT_RIDGE};
use crate::adapt::{Measure, Run, Series, Standing, Step};
use crate::data::{Bounded, Dataset, Preparation, Task};
use crate::error::{Error, Result};
use crate::model::{Classifier, Model};
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::{AccountId, Book, Budget, Grant, Outcome, RunId};
use crate::privacy::{
    Calibrated, CuratorOnly, Guarantee, Ledger, NoiseSource, Private, Released, Spender, Target,
    Transcript, Watch,
};
use crate::session::certificate::{self, Certificate, Facts};
use crate::session::resumption::{self, Origin, Recorded};
use crate::session::signature;
use crate::session::{Loaded, PlanDefinition, RunDirectory, Session, Workspace};

/// A run to be made, with everything it needs.
#[derive(Debug, Clone)]
pub struct Job {
    pub session: Session,
    pub plan: PlanDefinition,
    pub datasets: Vec<Arc<Loaded>>,
    pub workspace: Workspace,
    pub watch: Watch,
    pub control: Control,
}

/// What a run tells while it works.
#[derive(Debug, Clone)]
pub enum Moment {
    /// Granted: the whole plan is reserved in the ledger.
    Granted {
        run: RunId,
        steps: u64,
        warnings: Vec<String>,
        /// About the private records, for the curator.
        cautions: Option<CuratorOnly<Vec<String>>>,
    },
    Stepped(Progress),
}

#[derive(Debug, Clone)]
pub struct Progress {
    pub step: Step,
    /// ε of everything drawn so far, at the target's δ.
    pub epsilon: f64,
    /// Time at work, pauses left out.
    pub worked: Duration,
}

/// A finished, stopped or failed run.
#[derive(Debug, Clone)]
pub struct Summary {
    pub run: RunId,
    pub directory: PathBuf,
    pub plan: String,
    pub method: &'static str,
    pub private_records: usize,
    pub public_records: usize,
    pub outcome: Outcome,
    pub target: Target,
    /// Of what was drawn.
    pub guarantee: Guarantee,
    /// Of the model, where it started from others on the same account.
    pub with_start: Option<Guarantee>,
    pub scores: Scores,
    pub steps: u64,
    pub worked: Duration,
    pub peeked: bool,
    /// Why it failed.
    pub trouble: Option<Error>,
}

/// Errors on records held out of training: root mean squares in label units, or shares of wrong
/// classes.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// Which of the two; none where nothing was scored.
    pub task: Option<Task>,
    /// Of the delivered model on public records; released.
    pub model_on_public: Option<f64>,
    /// Of the public reference model on public records.
    pub source_only_on_public: Option<f64>,
    /// Exact, on private records: for the curator.
    pub model: Option<CuratorOnly<f64>>,
    pub source_only: Option<CuratorOnly<f64>>,
    /// Of the reference model of the private training records: not private at all.
    pub target_only: Option<CuratorOnly<f64>>,
}

impl Scores {
    pub fn error_words(&self) -> &'static str {
        match self.task {
            Some(Task::Classification) => "share of wrong classes",
            _ => "root mean squared error",
        }
    }
}

/// A run that may draw, and where it writes.
pub(super) struct Opening {
    pub run: RunId,
    pub account: AccountId,
    pub spender: Spender,
    pub directory: RunDirectory,
    /// Steps that an earlier program took and wrote down, of a run that is resumed.
    pub recorded: Option<Recorded>,
    /// Exact numbers were computed before.
    pub peeked: bool,
    pub notes: Vec<String>,
    /// Of rows that stand elsewhere too, for the curator.
    pub known: Vec<String>,
    pub noise: NoiseSource,
    /// How the account stood when the run was granted.
    pub standing: certificate::Standing,
}

/// Runs `job` to its end. Errors before the grant spend nothing; everything
/// later ends in a [`Summary`] whose guarantee counts what was drawn.
pub fn execute(job: &Job, tell: &mut dyn FnMut(Moment)) -> Result<Summary> {
    launch(job, NoiseSource::Secret, tell)
}

/// The same with noise from a seed, to find faults with: what comes out is charged and
/// not private at all, and its certificate says so.
pub fn execute_insecurely(
    job: &Job,
    noise_seed: u64,
    tell: &mut dyn FnMut(Moment),
) -> Result<Summary> {
    launch(job, NoiseSource::Seeded(noise_seed), tell)
}

fn launch(job: &Job, noise: NoiseSource, tell: &mut dyn FnMut(Moment)) -> Result<Summary> {
    let loaded = job.loaded();
    job.session.check_plan(&job.plan)?;
    let known = job.check_rows()?;
    let assembly = assemble(&job.session, &job.plan.resolved(&job.workspace), &loaded)?;
    let mut ledger = job.workspace.ledger()?;
    let account = private(&job.plan, &job.datasets)?.register(&mut ledger)?;
    open_budget(&mut ledger, &account, job.session.budgets.get(&job.plan.private))?;
    let run = new_run_id(&job.plan.method);
    let directory = RunDirectory::create(&job.workspace, &run, &job.session, &job.plan)?;
    let grant = Grant {
        run: run.clone(),
        account: account.clone(),
        method: job.plan.method.clone(),
        target: job.plan.target,
        events: assembly.calibrated.events.clone(),
        allow_large_delta: job.plan.allow_large_delta,
        noise,
    };
    let ready = job.prepare(&directory, &run, noise).and_then(|transcript| {
        let generator = noise.generator()?;
        let mut standing = standing_of(&ledger.book()?, &account);
        ledger.grant(grant)?;
        standing.line = ledger.granted(&run);
        Ok((transcript, generator, standing))
    });
    let (transcript, generator, standing) = ready.inspect_err(|_| {
        // Nothing was spent and nothing will be: leave no empty run behind.
        let _ = std::fs::remove_dir_all(directory.path());
    })?;
    let notes = ledger.notice().map(str::to_owned).into_iter().collect();
    let spender = Spender::new(ledger, run.clone(), &assembly.calibrated, generator)?;
    let opening = Opening {
        run,
        account,
        spender: spender.keeping(transcript),
        directory,
        recorded: None,
        peeked: false,
        notes,
        known,
        noise,
        standing,
    };
    Ok(perform(job, assembly, opening, tell)?.summary)
}

impl Job {
    /// The datasets of its plan.
    pub(super) fn loaded(&self) -> Vec<&Loaded> {
        let plan = &self.plan;
        let used = |name: &String| *name == plan.private || plan.public.contains(name);
        let loaded = self.datasets.iter().map(Arc::as_ref);
        loaded.filter(|loaded: &&Loaded| used(&loaded.definition.name)).collect()
    }

    /// Refuses public data that hold private rows; tells the curator what is known of them.
    pub(super) fn check_rows(&self) -> Result<Vec<String>> {
        let private = private(&self.plan, &self.datasets)?;
        let publics: Vec<&Loaded> =
            self.loaded().into_iter().filter(|loaded| loaded.record.is_none()).collect();
        let tables = publics.iter().map(|public| public.public()).collect::<Result<Vec<_>>>()?;
        refuse_overlap(private, &tables, &self.plan.private)?;
        overlap::check(private, &publics, &self.workspace, &self.watch)
    }

    /// What program, session and data are now.
    pub(super) fn origin(&self, session: &Path) -> Result<Origin> {
        Origin::of(session, &self.loaded(), self.watch.is_sealed())
    }

    /// Everything in a new run's directory that a program needs to resume it.
    pub(super) fn prepare(
        &self,
        directory: &RunDirectory,
        run: &RunId,
        noise: NoiseSource,
    ) -> Result<Transcript> {
        signature::key()?;
        let insecure_noise_seed = noise.seed();
        Origin { insecure_noise_seed, ..self.origin(&directory.path().join("run.ron"))? }
            .write(directory.path())?;
        Transcript::create(&directory.path().join(resumption::TRANSCRIPT), run)
    }
}

/// How an account stands in the ledger now.
pub(super) fn standing_of(book: &Book, account: &AccountId) -> certificate::Standing {
    book.account(account).map(certificate::Standing::of).unwrap_or_default()
}

/// The private dataset of a plan.
pub(super) fn private<'a>(
    plan: &PlanDefinition,
    datasets: &'a [Arc<Loaded>],
) -> Result<&'a Loaded> {
    let mut loaded = datasets.iter().map(Arc::as_ref);
    loaded
        .find(|loaded: &&Loaded| loaded.definition.name == plan.private)
        .ok_or_else(|| Error::failed(format!("dataset '{}' is not loaded", plan.private)))
}

/// How a run went, and how often it drew each event.
pub(super) struct Ended {
    pub summary: Summary,
    pub used: Vec<u64>,
}

/// Takes the steps of an opened run, writes its files and settles it.
pub(super) fn perform(
    job: &Job,
    assembly: Assembly,
    opening: Opening,
    tell: &mut dyn FnMut(Moment),
) -> Result<Ended> {
    let Opening {
        run, account, mut spender, mut directory, recorded, peeked, notes, known, ..
    } = opening;
    let (noise, standing) = (opening.noise, opening.standing);
    tell(Moment::Granted {
        run: run.clone(),
        steps: assembly.prepared.plan().steps,
        warnings: assembly.warnings.iter().chain(&notes).cloned().collect(),
        cautions: cautions::of(
            &assembly.private,
            private(&job.plan, &job.datasets).and_then(Loaded::private).ok(),
            &known,
            &job.watch,
        ),
    });
    let delta = job.plan.target.delta;
    let Assembly { method, preparation, problem, prepared, calibrated, private, .. } = assembly;
    let (lineage, taken_as_public) = (assembly.lineage, assembly.taken_as_public);
    let judge = Judge {
        preparation: &preparation,
        public: &assembly.public_holdout,
        private: assembly.private_holdout.as_ref(),
        watch: &job.watch,
    };
    let (private_records, public_records) =
        (problem.shape.private_records, problem.shape.public_records);
    let baselines = judge.baselines(&problem.public, &private);
    // The run has the only handle then, and need not copy what it changes.
    drop(problem);

    // A panic in a method must not take the interface, the terminal or the
    // ledger's settlement with it.
    let mut steps = 0;
    let mut worked = Duration::ZERO;
    let mut model = None;
    // The run can be resumed: it is not settled.
    let mut resumable = false;
    let unseen = Watch::sealed();
    let before = recorded.as_ref().map(Recorded::steps);
    let ended = catch_unwind(AssertUnwindSafe(|| -> Result<Outcome> {
        let mut run = prepared.start(private, &calibrated)?;
        let mut again = true;
        loop {
            // A step that was taken and written down before is only taken to get beyond it.
            again &= steps < before.unwrap_or(0) && spender.is_replaying();
            if !again && !job.control.proceed() {
                model = run.model();
                return Ok(Outcome::Stopped);
            }
            let start = Instant::now();
            let drawn = spender.counts().to_vec();
            let mut step = match run.step(&mut spender, if again { &unseen } else { &job.watch }) {
                Ok(step) => step,
                Err(_) if spender.ran_out() && run.model().is_some() => {
                    model = run.model();
                    return Ok(Outcome::Stopped);
                }
                Err(error) => {
                    resumable = again || spender.is_broken();
                    return Err(error);
                }
            };
            let done = step.done;
            if let Some(recorded) = &recorded
                && again
                && spender.counts() == drawn
            {
                steps = step.index;
                recorded.check(&step).inspect_err(|_| resumable = true)?;
            } else {
                judge.judge(&*run, &mut step);
                worked += start.elapsed();
                let epsilon = epsilon_of(&spender, &calibrated)?;
                // What was written of half a step, or of one whose values are lost.
                let stale = before.is_some_and(|before| steps <= before);
                let cut = if stale { directory.keep_until(steps) } else { Ok(()) };
                let written = cut.and_then(|()| directory.record(&step, epsilon, &job.watch));
                written.inspect_err(|_| resumable = true)?;
                steps = step.index;
                tell(Moment::Stepped(Progress { step, epsilon, worked }));
            }
            if done {
                model = Some(run.finish()?);
                return Ok(Outcome::Finished);
            }
        }
    }));
    let (mut outcome, mut trouble) = match ended {
        Ok(Ok(outcome)) => (outcome, None),
        Ok(Err(error)) => (Outcome::Failed, Some(error)),
        Err(panic) => (Outcome::Failed, Some(panic_message(panic.as_ref()))),
    };

    let mechanisms = spender.drawn();
    let guarantee = Composition::of_run(&mechanisms, &calibrated.events, delta)?;
    let peeked = peeked || job.watch.has_peeked();
    let scores = judge.scores(model.as_ref(), &baselines);
    let used = spender.counts().to_vec();
    let mut with_start = None;
    if !resumable {
        let facts = Facts {
            run: run.clone(),
            account,
            method: job.plan.method.clone(),
            outcome,
            records: private_records,
            target: job.plan.target,
            guarantee: guarantee.clone(),
            mechanisms,
            peeked,
            allow_large_delta: job.plan.allow_large_delta,
            noise,
            lineage,
            taken_as_public,
            standing,
            model: None,
        };
        let written = match &model {
            Some(model) => {
                let renamed = renamed_columns(&job.plan, &job.loaded());
                directory.write_model(model, &preparation, &renamed).map(Some)
            }
            None => Ok(None),
        };
        let written = written
            .and_then(|model| Certificate::of(Facts { model, ..facts }))
            .and_then(|certificate| {
                with_start = certificate.of_this_run.as_ref().and(certificate.guarantee.clone());
                directory.write_certificate(&certificate)
            })
            .and_then(|()| directory.leave_report());
        if let Err(error) = written {
            resumable = true;
            trouble.get_or_insert(error);
        }
    }
    if resumable {
        outcome = Outcome::Failed;
        if !spender.is_carried() {
            trouble = trouble.map(|error| to_be_resumed(&error, directory.path()));
        }
    } else if let Err(error) = spender.settle(outcome, peeked) {
        outcome = Outcome::Failed;
        trouble.get_or_insert(error);
    } else {
        resumption::forget(directory.path());
        if let Err(error) = signature::sign(directory.path()) {
            // The run is whole; only its signature is missing.
            trouble.get_or_insert(error);
        }
    }
    let summary = Summary {
        run,
        directory: directory.path().to_path_buf(),
        plan: job.plan.name.clone(),
        method: method.spec().name,
        private_records,
        public_records,
        outcome,
        target: job.plan.target,
        guarantee,
        with_start,
        scores,
        steps,
        worked,
        peeked,
        trouble,
    };
    Ok(Ended { summary, used })
}

/// The run stays open in the ledger: what it drew is in its transcript.
fn to_be_resumed(error: &Error, directory: &Path) -> Error {
    let cure = error.cure_text().map_or_else(String::new, |cure| format!("{cure}; then "));
    let told = Error::new(error.kind(), error.what()).cure(format!(
        "{cure}`halflight run --resume {}` goes on where it ended",
        directory.display()
    ));
    match error.place() {
        Some(place) => told.at(place),
        None => told,
    }
}

/// What the columns of the plan's files are called in the model: those of the private
/// file first, whose rows it is for.
fn renamed_columns(plan: &PlanDefinition, loaded: &[&Loaded]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for name in std::iter::once(&plan.private).chain(&plan.public) {
        for loaded in loaded.iter().filter(|loaded| loaded.definition.name == *name) {
            for (old, new) in &loaded.definition.rename {
                names.entry(old.clone()).or_insert_with(|| new.clone());
            }
        }
    }
    names
}

/// Opens an account with the session's budget where the ledger has none.
pub fn open_budget(ledger: &mut Ledger, account: &AccountId, wish: Option<&Budget>) -> Result<()> {
    let Some(budget) = wish else { return Ok(()) };
    let book = ledger.book()?;
    let known = book.accounts.iter().find(|known| known.id == *account);
    if known.is_some_and(|known| known.budget.is_none()) {
        ledger.set_budget(account, *budget)?;
    }
    Ok(())
}

/// ε of everything drawn so far. It is part of the plan, so it tells no more than all of that;
/// the bound that is quick to compute may be above it.
pub(super) fn epsilon_of(spender: &Spender, planned: &Calibrated) -> Result<f64> {
    let drawn = Composition::of(&spender.drawn())?.running(planned.target.delta)?;
    Ok(drawn.epsilon.min(planned.guarantee.epsilon))
}

/// Evaluates models on the records held out of training.
pub(super) struct Judge<'a> {
    pub preparation: &'a Preparation,
    pub public: &'a Dataset,
    pub private: Option<&'a Private<Dataset>>,
    pub watch: &'a Watch,
}

pub(super) struct Baselines {
    /// `None` where public records have no labels, or others than the private ones.
    source_only: Option<Model>,
    target_only: Option<CuratorOnly<Model>>,
}

impl Judge<'_> {
    pub fn baselines(&self, public: &Dataset, private: &Private<Bounded>) -> Baselines {
        let ridge = DEFAULT_RIDGE;
        let names = self.preparation.class_names();
        let foreign = public.classes.as_ref().is_some_and(|classes| classes.names != names);
        let source_only = (!foreign).then(|| reference::reference(public, ridge).ok());
        let target_only = reference::target_only(private, ridge, self.watch);
        Baselines { source_only: source_only.flatten(), target_only: target_only.ok().flatten() }
    }

    /// Adds the evaluation of the current model to a step.
    pub fn judge(&self, run: &dyn Run, step: &mut Step) {
        let Some(model) = run.model() else { return };
        if let Model::Classifier(classifier) = model.get() {
            if !is_judged(step) {
                return;
            }
            self.judge_classifier(&model, classifier, step);
        }
        if let Some(error) = self.error(model.get(), self.public) {
            step.measures.push(Measure::released(Series::PublicError, model.and(error)));
            if matches!(model.get(), Model::Classifier(_)) {
                let accuracy = model.and(accuracy(error));
                step.measures.push(Measure::released(Series::PublicAccuracy, accuracy));
            }
        }
        if let Some(error) = self.private_error(model.get()) {
            if matches!(model.get(), Model::Classifier(_)) {
                let value = Standing::Curator(error.clone().map(accuracy));
                step.measures.push(Measure { series: Series::PrivateAccuracy, value });
            }
            let value = Standing::Curator(error);
            step.measures.push(Measure { series: Series::PrivateError, value });
        }
    }

    /// Right answers in %, and the loss on public records.
    fn judge_classifier(&self, model: &Released<Model>, classifier: &Classifier, step: &mut Step) {
        let loss = |holdout: &Dataset| {
            let classes = holdout.classes.as_ref().filter(|classes| !classes.of.is_empty())?;
            let losses = classifier.losses(&holdout.features, classifier.labels(&classes.of));
            Some(losses.iter().sum::<f64>() / losses.len() as f64)
        };
        if let Some(loss) = loss(self.public) {
            step.measures.push(Measure::released(Series::HoldoutLoss, model.and(loss)));
        }
    }

    pub fn scores(&self, model: Option<&Released<Model>>, baselines: &Baselines) -> Scores {
        let mut scores = Scores { task: Some(self.preparation.task()), ..Scores::default() };
        if let Some(model) = model {
            scores.model_on_public = self.error(model.get(), self.public);
            scores.model = self.private_error(model.get());
        }
        if let Some(source_only) = &baselines.source_only {
            scores.source_only_on_public = self.error(source_only, self.public);
            scores.source_only = self.private_error(source_only);
        }
        scores.target_only = baselines
            .target_only
            .as_ref()
            .and_then(|model| model.reveal(self.watch))
            .and_then(|model| self.private_error(model));
        scores
    }

    fn private_error(&self, model: &Model) -> Option<CuratorOnly<f64>> {
        let error = self.private?.curator(self.watch, |holdout| self.error(model, holdout));
        error?.transpose()
    }

    /// Root mean squared error in label units, or the share of wrong classes.
    fn error(&self, model: &Model, holdout: &Dataset) -> Option<f64> {
        if let Some(classes) = holdout.classes.as_ref().filter(|classes| !classes.of.is_empty()) {
            let predicted = model.classes(&holdout.features)?;
            let wrong = predicted.iter().zip(&classes.of).filter(|(one, other)| one != other);
            return Some(wrong.count() as f64 / classes.of.len() as f64);
        }
        let target = holdout.target.as_ref().filter(|target| !target.is_empty())?;
        let errors = model
            .numbers(&holdout.features)?
            .into_iter()
            .zip(target)
            .map(|(raw, label)| (self.preparation.label_from_prediction(raw) - label).powi(2));
        Some((errors.sum::<f64>() / target.len() as f64).sqrt())
    }
}

/// In %, of a share of wrong classes.
fn accuracy(error: f64) -> f64 {
    100.0 * (1.0 - error)
}

/// Judging a network on all held-out records can cost as much as its step: of a long run, about
/// this many steps are judged.
const JUDGED_STEPS: u64 = 100;

fn is_judged(step: &Step) -> bool {
    step.done || step.index == 1 || step.index.is_multiple_of(step.total.div_ceil(JUDGED_STEPS))
}

pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::failed(format!("the run crashed: {text}"))
        .cure("what it drew is charged; please report this with its run.ron")
}

/// Sortable by time, unique on this machine.
pub(super) fn new_run_id(method: &str) -> RunId {
    use std::sync::atomic::{AtomicU16, Ordering};
    static COUNTER: AtomicU16 = AtomicU16::new(0);
    let now = jiff::Timestamp::now();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = now.strftime("%Y%m%d-%H%M%S");
    let unique = (now.subsec_nanosecond() as u32 >> 14) & 0xffff;
    RunId(format!("{time}-{method}-{:04x}{unique:04x}{count:02x}", std::process::id() & 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::calibrate;
    use crate::privacy::{Adjacency, Allotment, Release, SampledSum};

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        for panic in [
            catch_unwind(|| panic!("index 7 of 3")).unwrap_err(),
            catch_unwind(|| panic!("{}", "index 7 of 3")).unwrap_err(),
        ] {
            let error = panic_message(panic.as_ref());
            assert!(error.to_string().contains("index 7 of 3"), "{error}");
        }
    }

    #[test]
    fn what_is_spent_so_far_grows_to_what_the_whole_plan_costs_and_not_beyond() {
        let kind = SampledSum { sensitivity: 1.0, numbers: 1, rate: 0.2 };
        let sum = Release::new("sum", kind);
        let what = "a sum".to_owned();
        let plan = sum.announced(what, 40, Allotment::Share(1.0), Adjacency::ZeroOut);
        let calibrated = calibrate(&[plan], Target { epsilon: 2.0, delta: 1e-4 }).unwrap();
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let (mut before, data) = (0.0, Private::new(()));
        for _ in 0..40 {
            data.release_sampled_sum(&mut spender, sum, |()| 9, |(), _, _| ()).unwrap();
            let epsilon = epsilon_of(&spender, &calibrated).unwrap();
            assert!(epsilon >= before);
            before = epsilon;
        }
        assert_eq!(before, calibrated.guarantee.epsilon);
        let quick = Composition::of(&spender.drawn()).unwrap().running(1e-4).unwrap();
        assert!(quick.epsilon > before, "the quick bound alone would do");
    }

    #[test]
    fn run_names_differ_within_the_same_moment() {
        let names: std::collections::BTreeSet<_> =
            (0..100).map(|_| new_run_id("moment_release").0).collect();
        assert_eq!(names.len(), 100);
    }
}
