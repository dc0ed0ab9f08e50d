//! One run from grant to certificate, on the calling thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::assembly::{Assembly, assemble};
use super::cautions;
use super::comparisons::Comparisons;
use super::control::Control;
use super::judge::{Judge, Scores};
use super::prepared::PreparedStore;
use super::steps::{Steps, catch};
use super::steward::Steward;
use super::{overlap, rehearse};
use crate::adapt::Step;
use crate::error::{Error, Result};
use crate::evaluation::Scored;
use crate::evaluation::scoring::Scene;
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::{AccountId, Book, Budget, Grant, Outcome, RunId};
use crate::privacy::{
    CuratorOnly, Guarantee, Ledger, NoiseSource, Spender, Target, Transcript, Watch,
};
use crate::rehearsal::Player;
use crate::session::certificate::{self, Certificate, Facts};
use crate::session::leftovers;
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
    /// What is prepared for it or for others like it.
    pub prepared: PreparedStore,
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
    /// The columns that say whose record a row is, where persons are protected.
    pub unit: Option<String>,
    /// Records, or persons.
    pub private_records: usize,
    pub public_records: usize,
    pub outcome: Outcome,
    pub target: Target,
    /// Of what was drawn.
    pub guarantee: Guarantee,
    /// Of the model, where it started from others on the same account.
    pub with_start: Option<Guarantee>,
    pub scores: Scores,
    /// What was released about the model on held-out private records.
    pub told: Option<Scored>,
    pub steps: u64,
    pub worked: Duration,
    pub peeked: bool,
    /// Why it failed.
    pub trouble: Option<Error>,
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
    job.session.check_plan(&job.plan)?;
    let known = job.check_rows()?;
    let assembly = job.assemble()?;
    let mut ledger = job.workspace.ledger()?;
    let account = private(&job.plan, &job.datasets)?.register(&mut ledger)?;
    open_budget(&mut ledger, &account, job.session.budgets.get(&job.plan.private))?;
    if assembly.scoring.is_some() {
        refuse_known_records(&assembly, &ledger.book()?, &account)?;
    }
    leftovers::remove(&job.workspace, &ledger.book()?);
    job.control.check()?;
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
        unit: private(&job.plan, &job.datasets)?.unit(),
    };
    let ready = job.prepare(&directory, &run, noise).and_then(|transcript| {
        let generator = noise.generator()?;
        let mut standing = standing_of(&ledger.book()?, &account);
        ledger.grant(grant)?;
        standing.line = ledger.granted(&run);
        Ok((transcript, generator, standing))
    });
    let (transcript, generator, standing) = ready.map_err(|error| {
        let granted = was_perhaps_granted(&job.workspace, &run, directory.path());
        if granted { to_be_resumed(&error, directory.path()) } else { error }
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

/// Records that the starting model has learned from say nothing about how good it is.
fn refuse_known_records(assembly: &Assembly, book: &Book, account: &AccountId) -> Result<()> {
    let former = book.account(account).map(|it| it.former.clone()).unwrap_or_default();
    let starts = assembly.lineage.iter().flat_map(|lineage| &lineage.runs);
    let mut own = starts.filter(|run| run.account == *account || former.contains(&run.account));
    let Some(run) = own.next() else { return Ok(()) };
    Err(Error::refused(format!(
        "the starting model learned from the same private data in run {}, so no record is held \
         out of its training for certain",
        run.run.0
    ))
    .cure("leave `evaluation` out, and score the model on other private data: `halflight score`"))
}

impl Job {
    /// Everything that its run needs.
    pub(super) fn assemble(&self) -> Result<Assembly> {
        let plan = self.plan.resolved(&self.workspace);
        assemble(&self.session, &plan, &self.loaded(), &self.prepared)
    }

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
        overlap::refuse_private_rows(private, &publics, &self.workspace, &self.watch)
    }

    /// Whether rehearsals say what to expect of its plan.
    pub fn is_rehearsed(&self) -> bool {
        self.expected().is_some()
    }

    /// That the plan lost to public data alone in its rehearsals.
    fn forewarned(&self) -> Option<String> {
        let plan = &self.plan;
        let advice = rehearse::known(plan, &self.loaded(), &self.workspace)?;
        advice.warning(&Player::of_plan(&plan.method, &plan.settings), plan.target.epsilon)
    }

    /// What the plan's rehearsals made expect of it.
    fn expected(&self) -> Option<String> {
        let plan = &self.plan;
        let advice = rehearse::known(plan, &self.loaded(), &self.workspace)?;
        advice.expectation(&Player::of_plan(&plan.method, &plan.settings), plan.target.epsilon)
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
    let Opening { run, account, spender, mut directory, recorded, notes, known, .. } = opening;
    let mut spender = spender.watched(&job.watch, opening.peeked)?;
    tell(Moment::Granted {
        run: run.clone(),
        steps: assembly.prepared.plan().steps,
        warnings: assembly.warnings.iter().chain(&notes).cloned().chain(job.forewarned()).collect(),
        cautions: cautions::of(
            &assembly.private,
            private(&job.plan, &job.datasets).and_then(Loaded::private).ok(),
            &known,
            &job.watch,
        ),
    });
    let Assembly { method, preparation, problem, prepared, calibrated, private, .. } = assembly;
    let (scoring, holdout) = (assembly.scoring, assembly.private_holdout);
    let scored = assembly.private_scored;
    let judge = Judge {
        preparation: &preparation,
        public: &assembly.public_holdout,
        private: holdout.as_ref(),
        watch: &job.watch,
    };
    let private_unit = self::private(&job.plan, &job.datasets)?.unit();
    let (private_records, public_records) =
        (problem.shape.private_records, problem.shape.public_records);
    let steward = Steward::of(directory.path(), &job.control);
    let compare = || Comparisons::begin(&judge, &problem, &job.plan.method, &private);
    let mut comparisons = None;
    let mut hear = |moment: Moment| {
        if matches!(moment, Moment::Stepped(_)) {
            comparisons.get_or_insert_with(compare);
        }
        tell(moment);
    };
    let mut steps =
        Steps::new(&job.control, &judge, &calibrated, recorded, &mut directory, &mut hear);
    let start = || prepared.start(private.share(), &calibrated);
    let (model, mut ended) = steps.take(start, &mut spender);
    drop(steward);
    let Steps { taken, worked, mut resumable, .. } = steps;
    let mut told = None;
    // What a run that ended early did not draw covers no score; with noise that is no secret
    // there is nothing that may be told.
    let scoring = scoring.filter(|_| opening.noise.is_secret());
    let comparisons = comparisons.unwrap_or_else(compare);
    let alone = comparisons.public(&job.control);
    if let (Some(scoring), Some(scored), Some(model), Ok(Outcome::Finished)) =
        (&scoring, &scored, &model, &ended)
    {
        let label = |raw: f64| preparation.label_from_prediction(raw);
        let scene = Scene {
            public_alone: alone.as_ref(),
            public_holdout: Some(&assembly.public_holdout),
            classes: &problem.shape.classes,
            label: &label,
        };
        match catch(|| scoring.draw(scored, model.get(), &scene, &mut spender)) {
            Ok(score) => told = Some(score.into_inner()),
            Err(error) => {
                resumable |= spender.is_broken();
                ended = Err(error);
            }
        }
    }

    let mechanisms = spender.drawn();
    let guarantee = Composition::of_run(&mechanisms, &calibrated.events, job.plan.target.delta)?;
    let baselines = comparisons.private(&job.control, alone);
    let scores = judge.scores(model.as_ref(), &baselines);
    let peeked = opening.peeked || job.watch.has_peeked();
    let used = spender.counts().to_vec();
    let mut ending = Ending::new(ended, resumable);
    let facts = Facts {
        run: run.clone(),
        account,
        method: job.plan.method.clone(),
        outcome: ending.outcome,
        records: private_records,
        unit: private_unit.clone(),
        target: job.plan.target,
        guarantee: guarantee.clone(),
        mechanisms,
        peeked,
        allow_large_delta: job.plan.allow_large_delta,
        noise: opening.noise,
        lineage: assembly.lineage,
        taken_as_public: assembly.taken_as_public,
        standing: opening.standing,
        rehearsed: job.expected(),
        told: told.clone(),
        model: None,
        chosen: None,
    };
    let with_start = ending.certify(|| {
        let model = model.as_ref().map(|model| {
            let rename = renamed_columns(&job.plan, &job.loaded());
            directory.write_model(model, &preparation, &rename, told.as_ref())
        });
        let certificate = Certificate::of(Facts { model: model.transpose()?, ..facts })?;
        directory.record_errors(taken, scores.exact(&job.watch))?;
        directory.write_certificate(&certificate)?;
        directory.leave_report()?;
        Ok(certificate.of_this_run.and(certificate.guarantee))
    });
    ending.settle(spender, peeked, directory.path());
    let summary = Summary {
        run,
        directory: directory.path().to_path_buf(),
        plan: job.plan.name.clone(),
        method: method.spec().name,
        unit: private_unit,
        private_records,
        public_records,
        outcome: ending.outcome,
        target: job.plan.target,
        guarantee,
        with_start,
        scores,
        told,
        steps: taken,
        worked,
        peeked,
        trouble: ending.trouble,
    };
    Ok(Ended { summary, used })
}

/// How a run ends, before and after its files are written.
pub(super) struct Ending {
    pub outcome: Outcome,
    pub trouble: Option<Error>,
    /// It is not settled: another program can go on with it.
    resumable: bool,
}

impl Ending {
    pub fn new(ended: Result<Outcome>, resumable: bool) -> Self {
        let (outcome, trouble) = match ended {
            Ok(outcome) => (outcome, None),
            Err(error) => (Outcome::Failed, Some(error)),
        };
        Self { outcome, trouble, resumable }
    }

    /// Writes what a settled run leaves behind; a run without it stays open.
    pub fn certify<T>(&mut self, write: impl FnOnce() -> Result<Option<T>>) -> Option<T> {
        if self.resumable {
            return None;
        }
        write().unwrap_or_else(|error| {
            self.resumable = true;
            self.trouble.get_or_insert(error);
            None
        })
    }

    /// Tells the ledger what was drawn, unless the run is to go on.
    pub fn settle(&mut self, spender: Spender, peeked: bool, directory: &Path) {
        if self.resumable {
            self.outcome = Outcome::Failed;
            if !spender.is_carried() {
                self.trouble = self.trouble.take().map(|error| to_be_resumed(&error, directory));
            }
        } else if let Err(error) = spender.settle(self.outcome, peeked) {
            self.outcome = Outcome::Failed;
            self.trouble.get_or_insert(error);
        } else {
            resumption::forget(directory);
            if let Err(error) = signature::sign(directory) {
                // The run is whole; only its signature is missing.
                self.trouble.get_or_insert(error);
            }
        }
    }
}

/// Whether the ledger has a run whose start failed, a full disk being one cause: then it counts, and
/// its directory stays. Otherwise nothing was spent and nothing will be, so no empty run is left.
pub(super) fn was_perhaps_granted(workspace: &Workspace, run: &RunId, directory: &Path) -> bool {
    let granted = workspace.book().map_or(true, |book| book.run(run).is_some());
    if !granted {
        let _ = crate::files::step::remove_folder(directory);
    }
    granted
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
pub(super) fn renamed_columns(
    plan: &PlanDefinition,
    loaded: &[&Loaded],
) -> BTreeMap<String, String> {
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

/// Sortable by time, unique on this machine.
pub(super) fn new_run_id(method: &str) -> RunId {
    use std::sync::atomic::{AtomicU16, Ordering};
    static COUNTER: AtomicU16 = AtomicU16::new(0);
    let now = crate::clock::now();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let time = now.strftime("%Y%m%d-%H%M%S");
    let unique = (now.subsec_nanosecond() as u32 >> 14) & 0xffff;
    RunId(format!("{time}-{method}-{:04x}{unique:04x}{count:02x}", std::process::id() & 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_names_differ_within_the_same_moment() {
        let names: std::collections::BTreeSet<_> =
            (0..100).map(|_| new_run_id("moment_release").0).collect();
        assert_eq!(names.len(), 100);
    }
}
