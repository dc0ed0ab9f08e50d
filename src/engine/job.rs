//! One run from grant to certificate, on the calling thread.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::assembly::{Assembly, assemble};
use super::control::Control;
use crate::adapt::{Measure, Run, Series, Standing, Step, baseline};
use crate::data::{Dataset, Preparation};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::{AccountId, Grant, Outcome, RunId};
use crate::privacy::mechanism::NoiseGenerator;
use crate::privacy::{CuratorOnly, Guarantee, Ledger, Private, Released, Spender, Target, Watch};
use crate::session::certificate::{Certificate, Facts};
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
    pub scores: Scores,
    pub steps: u64,
    pub worked: Duration,
    pub peeked: bool,
    /// Why it failed.
    pub trouble: Option<Error>,
}

/// Root mean squared errors in label units, on records held out of training.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// Of the delivered model on public records; released.
    pub model_on_public: Option<f64>,
    /// Of the public ridge model on public records.
    pub source_only_on_public: Option<f64>,
    /// Exact, on private records: for the curator.
    pub model: Option<CuratorOnly<f64>>,
    pub source_only: Option<CuratorOnly<f64>>,
    /// Exact least squares on the private training records: not private at all.
    pub target_only: Option<CuratorOnly<f64>>,
}

/// Runs `job` to its end. Errors before the grant spend nothing; everything
/// later ends in a [`Summary`] whose guarantee counts what was drawn.
pub fn execute(job: &Job, tell: &mut dyn FnMut(Moment)) -> Result<Summary> {
    let loaded: Vec<&Loaded> = job.datasets.iter().map(Arc::as_ref).collect();
    let assembly = assemble(&job.session, &job.plan, &loaded)?;
    let private = loaded.iter().find(|loaded| loaded.definition.name == job.plan.private);
    let private = private
        .ok_or_else(|| Error::failed(format!("dataset '{}' is not loaded", job.plan.private)))?;

    let mut ledger = job.workspace.ledger()?;
    let account = private.register(&mut ledger)?;
    open_budget(&mut ledger, &account, job.session.budgets.get(&job.plan.private))?;
    let run = new_run_id(&job.plan.method);
    let mut directory = RunDirectory::create(&job.workspace, &run, &job.session, &job.plan)?;
    let grant = Grant {
        run: run.clone(),
        account: account.clone(),
        method: job.plan.method.clone(),
        target: job.plan.target,
        events: assembly.calibrated.events.clone(),
        allow_large_delta: job.plan.allow_large_delta,
    };
    if let Err(refusal) = ledger.grant(grant) {
        // Nothing was spent and nothing will be: leave no empty run behind.
        let _ = std::fs::remove_dir_all(directory.path());
        return Err(refusal);
    }
    tell(Moment::Granted {
        run: run.clone(),
        steps: assembly.plan.steps,
        warnings: assembly.warnings.clone(),
    });

    let generator = NoiseGenerator::from_os()?;
    let mut spender = Spender::new(ledger, run.clone(), &assembly.calibrated, generator);
    let delta = job.plan.target.delta;
    let Assembly { method, settings, preparation, calibrated, problem, .. } = assembly;
    let judge = Judge {
        preparation: &preparation,
        public: &assembly.public_holdout,
        private: assembly.private_holdout.as_ref(),
        watch: &job.watch,
    };
    let (private_records, public_records) =
        (problem.shape.private_records, problem.shape.public_records);
    let baselines = judge.baselines(&problem.public, &problem.private);

    // A panic in a method must not take the interface, the terminal or the
    // ledger's settlement with it.
    let mut steps = 0;
    let mut worked = Duration::ZERO;
    let mut model = None;
    let ended = catch_unwind(AssertUnwindSafe(|| -> Result<Outcome> {
        let mut run = method.start(problem, &settings, &calibrated)?;
        loop {
            if !job.control.proceed() {
                model = run.model();
                return Ok(Outcome::Stopped);
            }
            let start = Instant::now();
            let mut step = run.step(&mut spender, &job.watch)?;
            judge.judge(&*run, &mut step);
            steps = step.index;
            worked += start.elapsed();
            let epsilon = epsilon_of(&spender, delta)?;
            directory.record(&step, epsilon, &job.watch)?;
            let done = step.done;
            tell(Moment::Stepped(Progress { step, epsilon, worked }));
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
    let peeked = job.watch.has_peeked();
    let scores = judge.scores(model.as_ref(), baselines);
    let certificate = Certificate::of(Facts {
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
    });
    let written = match &model {
        Some(model) => {
            directory.write_model(model, &preparation, &renamed_columns(&job.plan, &loaded))
        }
        None => Ok(()),
    };
    if let Err(error) = written
        .and_then(|()| directory.write_certificate(&certificate))
        .and_then(|()| directory.leave_report())
    {
        outcome = Outcome::Failed;
        trouble.get_or_insert(error);
    }
    if let Err(error) = spender.settle(outcome, peeked) {
        outcome = Outcome::Failed;
        trouble.get_or_insert(error);
    }
    Ok(Summary {
        run,
        directory: directory.path().to_path_buf(),
        plan: job.plan.name.clone(),
        method: method.spec().name,
        private_records,
        public_records,
        outcome,
        target: job.plan.target,
        guarantee,
        scores,
        steps,
        worked,
        peeked,
        trouble,
    })
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
pub fn open_budget(ledger: &mut Ledger, account: &AccountId, wish: Option<&Target>) -> Result<()> {
    let Some(budget) = wish else { return Ok(()) };
    let book = ledger.book()?;
    let known = book.accounts.iter().find(|known| known.id == *account);
    if known.is_some_and(|known| known.budget.is_none()) {
        ledger.set_budget(account, *budget)?;
    }
    Ok(())
}

pub(super) fn epsilon_of(spender: &Spender, delta: f64) -> Result<f64> {
    Ok(Composition::of(&spender.drawn())?.running(delta)?.epsilon)
}

/// Evaluates models on the records held out of training.
pub(super) struct Judge<'a> {
    pub preparation: &'a Preparation,
    pub public: &'a Dataset,
    pub private: Option<&'a Private<Dataset>>,
    pub watch: &'a Watch,
}

pub(super) struct Baselines {
    source_only: Model,
    target_only: Option<CuratorOnly<Model>>,
}

impl Judge<'_> {
    pub fn baselines(&self, public: &Dataset, private: &Private<Dataset>) -> Option<Baselines> {
        let ridge = baseline::DEFAULT_RIDGE;
        Some(Baselines {
            source_only: baseline::source_only(public, ridge).ok()?.into(),
            target_only: baseline::target_only(private, ridge, self.watch)
                .ok()
                .flatten()
                .map(|model| model.map(Model::from)),
        })
    }

    /// Adds the evaluation of the current model to a step.
    pub fn judge(&self, run: &dyn Run, step: &mut Step) {
        let Some(model) = run.model() else { return };
        if let Some(error) = self.error(model.get(), self.public) {
            let value = Standing::Released(error);
            step.measures.push(Measure { series: Series::PublicError, value });
        }
        if let Some(error) = self.private_error(model.get()) {
            let value = Standing::Curator(error);
            step.measures.push(Measure { series: Series::PrivateError, value });
        }
    }

    pub fn scores(&self, model: Option<&Released<Model>>, baselines: Option<Baselines>) -> Scores {
        let mut scores = Scores::default();
        if let Some(model) = model {
            scores.model_on_public = self.error(model.get(), self.public);
            scores.model = self.private_error(model.get());
        }
        if let Some(baselines) = baselines {
            scores.source_only_on_public = self.error(&baselines.source_only, self.public);
            scores.source_only = self.private_error(&baselines.source_only);
            let target_only = baselines.target_only.as_ref();
            scores.target_only = target_only
                .and_then(|model| model.reveal(self.watch))
                .and_then(|model| self.private_error(model));
        }
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
    fn run_names_differ_within_the_same_moment() {
        let names: std::collections::BTreeSet<_> =
            (0..100).map(|_| new_run_id("moment_release").0).collect();
        assert_eq!(names.len(), 100);
    }
}
