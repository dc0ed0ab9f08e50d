//! `halflight score`: measures an archived model on private records, releases the score and charges
//! it to their account.

use super::assembly::{Proposal, ScoredByPublic, assemble};
use super::job::{Job, named};
use super::overlap;
use super::prepared::PreparedStore;
use super::preview::account_of;
use super::spend::{Paid, Purpose, copied_session};
use crate::data::persons::share_a_person;
use crate::data::preparation::{Judging, View};
use crate::data::{DatasetDefinition, HeldOut, Role, Source, Table};
use crate::error::{Doing, Error, Result};
use crate::evaluation::score::Elsewhere;
use crate::evaluation::scoring::{Scoring, ScoringNeeds};
use crate::evaluation::{Evaluation, Expected, Judged, Pay, Scored};
use crate::privacy::accountant::{calibrate, round_up};
use crate::privacy::ledger::{Account, AccountId, delta};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Allotment, Calibrated, Event, Private, Released, Target, Watch};
use crate::session::certificate::Certificate;
use crate::session::model_file::KNOWN_NOISE;
use crate::session::outbox;
use crate::session::rows_of_run::{self, SameRows};
use crate::session::{Loaded, PlanDefinition, SavedModel, Session, Workspace, dataset};
use std::path::Path;

pub(super) const METHOD: &str = "score";

/// The guarantee is pure; this is only a number for the ledger.
const DELTA: f64 = 1e-12;

/// A score that was released.
#[derive(Debug, Clone)]
pub struct ScoreRelease {
    pub dataset: String,
    pub paid: Paid<Released<Scored>>,
    /// What nobody here can know of the model's training.
    pub caveat: Option<String>,
}

/// The records that score the model.
pub struct ScoredRecords<'a> {
    /// The session, in its workspace.
    pub session: &'a Session,
    pub workspace: &'a Workspace,
    /// All records of this private dataset; without it, those that the only plan of the session
    /// held out of training.
    pub dataset: Option<&'a str>,
    /// Whether the session is the copy that a run keeps.
    pub is_copy: bool,
}

/// The session of the run in `directory` with one more private dataset: this file, read like the
/// run's own private data, but without their filter.
pub fn with_file(directory: &Path, file: &Path) -> Result<(Session, String)> {
    let mut session = Session::open(&directory.join("run.ron"))?;
    let theirs = session.plans.first().map(|plan| plan.private.clone()).unwrap_or_default();
    let path = std::path::absolute(file).doing("find", file)?;
    if !path.exists() {
        return Err(Error::usage("there is no such file")
            .at(file.display().to_string())
            .cure("give the path of a table of private records"));
    }
    let path = path.display().to_string();
    let like = session.dataset(&theirs)?.clone();
    if like.records.is_some() {
        // The number of the run's own records says nothing about this file, and a score of all its
        // rows would tell how many they are.
        return Err(Error::refused(format!(
            "'{theirs}' hides how many records it has, and a score on this file would tell how many \
             it has"
        ))
        .at(file.display().to_string())
        .cure(
            "put the file into a session as a private dataset with a `records` of its own \
             (`halflight data count` finds one), then: halflight score RUN SESSION --dataset NAME",
        ));
    }
    let mut source = like.source.clone();
    match &mut source {
        Source::Delimited { file, .. }
        | Source::Sparse { file, .. }
        | Source::Arrays { file, .. } => *file = path,
        _ => source = Source::File(path),
    }
    let name = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let definition = DatasetDefinition {
        name: name.clone(),
        source,
        filter: None,
        sample: None,
        records: None,
        ..like
    };
    session.datasets.retain(|known| known.name != name);
    session.datasets.push(definition);
    Ok((session, name))
}

/// Releases the score of the model in `directory`, a run directory or its `model.ron`, which adds the
/// ε that is asked for to the sum of its account. Before anything is spent, `agree` sees what to expect of
/// it, and says whether to go on; otherwise there is no score.
pub fn score(
    directory: &Path,
    records: &ScoredRecords,
    asked: Evaluation,
    agree: &dyn Fn(&Expected) -> Result<bool>,
) -> Result<Option<ScoreRelease>> {
    let model = SavedModel::open(directory)?;
    outbox::refuse_another_model(&model.path)?;
    let folder = model.path.parent().unwrap_or(directory);
    let scored = ScoredModel { model: &model, folder, records, asked, agree };
    let score = match records.dataset {
        Some(name) => scored.by_dataset(name)?,
        None => scored.by_holdout()?,
    };
    let Some(score) = score else { return Ok(None) };
    let known = model.noise_is_known.then(|| format!("Of the model itself: {KNOWN_NOISE}."));
    let caveats: Vec<String> = score.caveat.into_iter().chain(known).collect();
    let caveat = (!caveats.is_empty()).then(|| caveats.join(" "));
    Ok(Some(ScoreRelease { caveat, ..score }))
}

fn not_by_itself() -> Error {
    Error::refused("a score by itself is paid for by an ε of its own")
}

/// The noise of a score for which no run pays.
fn by_itself(scoring: &Scoring) -> Result<Calibrated> {
    let Pay::Epsilon(epsilon) = scoring.asked.pay else {
        return Err(not_by_itself());
    };
    let target = Target { epsilon, delta: DELTA };
    calibrate(&[scoring.announced(Allotment::Share(1.0))], target)
}

/// The noise of a score that adds `epsilon` to the ε of everything for which its account paid. Laplace
/// noise, whose guarantee needs no δ, is the best for an account that has spent nothing. Beside Gaussian
/// noise it adds more than Gaussian noise of the same size. Nothing but the ledger decides.
fn adding(epsilon: f64, scoring: Scoring, account: &Account) -> Result<(Scoring, Calibrated)> {
    let delta = account.delta();
    let spent = account.spent(delta)?.map_or(0.0, |it| it.epsilon);
    let limit = spent + epsilon;
    let left = account.budget.map(|budget| budget.epsilon - spent);
    if let Some(left) = left.filter(|left| *left < epsilon) {
        let (spent, most) = (round_up(spent, 4), (left.max(0.0) * 1e3).floor() / 1e3);
        let cure = if most > 0.0 {
            format!("ask for --epsilon {most} or less, or raise the budget")
        } else {
            "raise the budget, or score the model on other records".to_owned()
        };
        return Err(Error::refused(format!(
            "a score that adds ε {epsilon} to the {spent} spent on these records is beyond their budget"
        ))
        .cure(cure));
    }
    let noise = |scoring: &Scoring, target| -> Result<Option<Calibrated>> {
        let calibrated = calibrate(&[scoring.announced(Allotment::Share(1.0))], target)?;
        let all = account.spent_with(calibrated.events(), delta)?;
        Ok(all.is_some_and(|all| all.epsilon <= limit).then_some(calibrated))
    };
    // The largest ε of its own that the sum allows.
    let most = |scoring: &Scoring, most: f64, delta: f64| -> Result<Option<Calibrated>> {
        let of = |epsilon| noise(scoring, Target { epsilon, delta });
        if let Some(whole) = of(most)? {
            return Ok(Some(whole));
        }
        let (mut low, mut high, mut found) = (0.0, most, None);
        while high - low > 1e-3 * most {
            let middle = f64::midpoint(low, high);
            match of(middle)? {
                Some(fits) => (low, found) = (middle, Some(fits)),
                None => high = middle,
            }
        }
        Ok(found)
    };
    let pure = most(&scoring, epsilon, DELTA)?;
    let gaussian = scoring.clone().with_gaussian_noise();
    let is_usable = spent > 0.0 && !delta::is_large(delta, account.records());
    let other = if is_usable { most(&gaussian, limit, delta)? } else { None };
    match (pure, other) {
        (pure, Some(other))
            if pure
                .as_ref()
                .is_none_or(|pure| gaussian.half_width(&other) < scoring.half_width(pure)) =>
        {
            Ok((gaussian, other))
        }
        (Some(pure), _) => Ok((scoring, pure)),
        (None, _) => Err(Error::refused(format!(
            "nothing can be released that adds only {epsilon} to what was spent on these records"
        ))
        .cure("ask for a larger --epsilon")),
    }
}

/// All records of another private dataset, one of each person, to judge models by.
fn prepared(private: &Loaded, judging: &Judging) -> Result<Private<HeldOut>> {
    private.private()?.try_map(|table| judging.private_rows(table, &table.one_of_each(), "private"))
}

/// A model to be scored, in its folder.
struct ScoredModel<'a> {
    model: &'a SavedModel,
    folder: &'a Path,
    records: &'a ScoredRecords<'a>,
    asked: Evaluation,
    agree: &'a dyn Fn(&Expected) -> Result<bool>,
}

impl ScoredModel<'_> {
    /// By the records that the model's own run held out.
    fn by_holdout(&self) -> Result<Option<ScoreRelease>> {
        let caveat = refuse_early_training(self.folder)?;
        let ScoredRecords { session, workspace, .. } = self.records;
        let [plan] = session.plans.as_slice() else {
            return Err(Error::usage("it is not clear which records are meant")
                .cure("name a run directory, or a session and a dataset of it"));
        };
        // The score has its own release here.
        let plan = PlanDefinition { evaluation: None, ..plan.resolved(workspace) };
        let loaded = session.datasets.iter().map(|it| dataset::load(it, workspace));
        let loaded = loaded.collect::<Result<Vec<Loaded>>>()?;
        let loaded: Vec<&Loaded> = loaded.iter().collect();
        let private = *named(&loaded, &plan.private)?;
        refuse_another_split(private, self.folder)?;
        let assembly = assemble(session, &plan, &loaded, &PreparedStore::default())?;
        if self.model.preparation != assembly.proposal.preparation {
            return Err(Error::refused("the public data have changed since the model was trained")
                .at(self.model.path.display().to_string())
                .cure("bring them back, or score the model on a dataset: --dataset"));
        }
        let holdout = assembly.private_scored.as_ref().ok_or_else(|| {
            let what = if plan.holdout == 0.0 {
                "the run held no record out".to_owned()
            } else {
                format!("'{}' has no label column", plan.private)
            };
            Error::usage(what).cure("score the model on a dataset that has one: --dataset")
        })?;
        let problem = &assembly.proposal.problem;
        let classes = &problem.shape.classes;
        let alone = assembly.proposal.public_alone().and_then(|alone| alone.model());
        let Proposal { judging, .. } = &assembly.proposal;
        let (own, theirs) = (judging.own(), judging.alone());
        let rows = Table::holdout_rows(private.rows, plan.holdout);
        let public = assembly.proposal.scored_by_public(&plan);
        let scoring = public.scoring(self.asked, &private.definition, rows)?;
        let label = |raw: f64| self.model.preparation.label_from_prediction(raw);
        let needs = ScoringNeeds {
            public_alone: alone.as_ref().map(|model| Judged { model, view: &theirs }),
            public_holdout: Some(&assembly.proposal.public_holdout),
            classes,
            label: &label,
        };
        self.release(private, scoring, (holdout, &own), &needs, caveat)
    }

    /// By all records of another private dataset.
    fn by_dataset(&self, name: &str) -> Result<Option<ScoreRelease>> {
        let ScoredRecords { session, workspace, .. } = self.records;
        let definition = session.dataset(name)?;
        if definition.role == Role::Public {
            return Err(Error::usage(format!("'{name}' is public: a score on it needs no noise"))
                .cure("use `halflight predict MODEL DATA --score --public`"));
        }
        let private = dataset::load(definition, workspace)?;
        let caveat = refuse_training_records(&private, self.folder, workspace)?;
        let preparation = self.model.preparation.under(definition);
        let holdout = prepared(&private, &preparation.clone().into())?;
        let classes = preparation.class_names();
        let scoring = Scoring::of(self.asked, definition, private.rows, classes.len(), false)
            .map_err(|error| error.within(&format!("dataset '{name}'")))?;
        let label = |raw: f64| preparation.label_from_prediction(raw);
        let needs =
            ScoringNeeds { public_alone: None, public_holdout: None, classes, label: &label };
        self.release(&private, scoring, (&holdout, &View::WHOLE), &needs, caveat)
    }

    fn release(
        &self,
        private: &Loaded,
        scoring: Scoring,
        (holdout, view): (&Private<HeldOut>, &View),
        needs: &ScoringNeeds,
        caveat: Option<String>,
    ) -> Result<Option<ScoreRelease>> {
        let ScoredRecords { session, workspace, is_copy, .. } = *self.records;
        let copy = is_copy
            .then(|| workspace.book().map(|book| copied_session(session, &[private], &book)));
        let copy = copy.transpose()?;
        let session = copy.as_ref().unwrap_or(session);
        let Pay::Epsilon(epsilon) = self.asked.pay else { return Err(not_by_itself()) };
        let account = account_of(private, session, workspace)?;
        let (scoring, calibrated) = adding(epsilon, scoring, &account)?;
        if !(self.agree)(&scoring.expected(&calibrated))? {
            return Ok(None);
        }
        let purpose = Purpose::new(METHOD, &calibrated);
        let judged = Judged { model: &self.model.model, view };
        let paid = purpose.pay(private, (session, workspace), |spender| {
            scoring.draw(holdout, judged, needs, spender)
        })?;
        Ok(Some(ScoreRelease { dataset: private.definition.name.clone(), paid, caveat }))
    }
}

/// Refuses rows of which nobody can say which were held out: other rows than the run had, or the
/// same in another order.
fn refuse_another_split(private: &Loaded, folder: &Path) -> Result<()> {
    let name = &private.definition.name;
    let what = match rows_of_run::compare(folder, private) {
        SameRows::Yes => return Ok(()),
        SameRows::No => format!(
            "'{name}' does not have the rows of the run any more, or not in the same order: some \
             that would count as held out may have trained"
        ),
        SameRows::Unknown => format!(
            "nothing in the run's directory says which rows of '{name}' it held out: an earlier \
             version made it, or it is under another secret"
        ),
    };
    Err(Error::refused(what).at(folder.display().to_string()).cure(
        "bring the file back as it was, or score the model on other private records: \
         `halflight score RUN TABLE`",
    ))
}

/// Records that a run held out may have trained the model that it started from. Returns what
/// nobody here can know.
fn refuse_early_training(folder: &Path) -> Result<Option<String>> {
    let Some(certificate) = Certificate::read(folder)? else {
        return Ok(Some(format!(
            "{UNKNOWN}: there is no certificate beside the model. {TOO_GOOD}"
        )));
    };
    let mut earlier = certificate.start.iter().flat_map(|start| &start.runs);
    let own =
        certificate.of_this_run.is_some() || earlier.any(|run| run.account == certificate.account);
    if !own {
        return Ok(None);
    }
    Err(Error::refused(
        "its training started from a model of the same private data, so no record is held out of \
         it for certain",
    )
    .cure("score it on another private dataset: a session and --dataset"))
}

const UNKNOWN: &str = "nobody here can tell whether the model was trained on some of these records";
const TOO_GOOD: &str = "If it was, the score is too good.";

/// A model answers better for records that it was trained on than for others. Returns what nobody
/// here can know.
fn refuse_training_records(
    private: &Loaded,
    folder: &Path,
    workspace: &Workspace,
) -> Result<Option<String>> {
    let unknown = |why: &str| Ok(Some(format!("{UNKNOWN}: {why}. {TOO_GOOD}")));
    let Some(certificate) = Certificate::read(folder)? else {
        return unknown("there is no certificate beside the model");
    };
    let Some(record) = &private.record else { return Ok(None) };
    let book = workspace.book()?;
    let starts = certificate.start.iter().flat_map(|start| &start.runs);
    let trained: Vec<_> = starts
        .map(|run| (&run.run, &run.account))
        .chain([(&certificate.run, &certificate.account)])
        .collect();
    // A shared certificate names no account, but the ledger knows its own runs.
    let account_of = |(run, named)| book.account_of_run(run).map_or(named, |known| &known.id);
    let same = book.find(record).is_some_and(|account| {
        let own = |id: &AccountId| *id == account.id || account.former.contains(id);
        trained.iter().any(|it| own(account_of(*it)))
    });
    let others = has_other_rows(private, folder);
    let refused = match others {
        Some(false) => true,
        // One account holds everything from the same files; the rows may differ.
        Some(true) => same && certificate.start.is_some(),
        None => same,
    };
    if refused {
        return Err(Error::refused(format!(
            "the model {} trained on records of '{}', so a score on all of them would be too good",
            if others == Some(false) { "was" } else { "may have been" },
            private.definition.name
        ))
        .cure("score it on what its run held out: name the run directory alone"));
    }
    let earlier = trained.iter().filter(|(run, _)| *run != &certificate.run || others.is_none());
    match earlier.map(|(run, _)| run).find(|run| book.run(run).is_none()) {
        Some(run) => unknown(&format!("the ledger of this workspace does not know run {}", run.0)),
        None => Ok(None),
    }
}

/// Whether no row was used by the run in `folder`; `None` if this is unknown.
fn has_other_rows(private: &Loaded, folder: &Path) -> Option<bool> {
    let session = Session::open(&folder.join("run.ron")).ok()?;
    let theirs = session.dataset(&session.plans.first()?.private).ok()?;
    let theirs = dataset::load(theirs, &Workspace::of(folder).ok()?).ok()?;
    // A file that was changed since does not show what trained.
    if rows_of_run::compare(folder, &theirs) != SameRows::Yes {
        return None;
    }
    share_rows(private, &theirs).map(|shared| !shared)
}

/// Whether two private datasets have a row or a person in common: in one file by place, in several
/// by the contents of rows. `None` if this is unknown.
fn share_rows(one: &Loaded, other: &Loaded) -> Option<bool> {
    let sketches = one.record.as_ref()?.sketch.as_ref().zip(other.record.as_ref()?.sketch.as_ref());
    let alike = sketches.and_then(|(one, other)| one.overlap(other)).is_some_and(|it| it.shared);
    let unit = other.definition.unit.as_ref();
    let apart = other.private().ok()?.try_map(|theirs| {
        one.private()?.try_map(|rows| {
            let same = rows.shares_a_record(theirs)
                || unit.is_some_and(|unit| share_a_person(rows, theirs, unit) == Some(true));
            if same { Err(Error::refused("the two have rows in common")) } else { Ok(()) }
        })
    });
    Some(apart.is_err() || alike)
}

/// The score of a run on a private dataset of other records, paid from their own account.
pub struct Test {
    dataset: String,
    scoring: Scoring,
    calibrated: Calibrated,
}

impl Test {
    /// The test that the plan requests, if it names a test dataset.
    pub(super) fn of(
        plan: &PlanDefinition,
        loaded: &[&Loaded],
        public: &ScoredByPublic<'_>,
    ) -> Result<Option<Self>> {
        let (Some(name), Some(asked)) = (&plan.test, plan.evaluation) else { return Ok(None) };
        let private = named(loaded, name)?;
        let scoring = public
            .scoring(asked, &private.definition, private.rows)
            .map_err(|error| error.within(&format!("test dataset '{name}'")))?;
        let calibrated = by_itself(&scoring)?;
        Ok(Some(Self { dataset: name.clone(), scoring, calibrated }))
    }

    /// How precise it will be, in words.
    pub(super) fn expected(&self) -> Expected {
        let epsilon = self.calibrated.target().epsilon;
        let Expected { brief, details, says_nothing } = self.scoring.expected(&self.calibrated);
        let brief = brief.replace("held-out records", "records");
        let brief = format!("of '{}', whose account pays ε {epsilon}: {brief}", self.dataset);
        Expected { brief, details, says_nothing }
    }

    /// Refuses records on which the model will be trained, public records, and an account without
    /// room for the score.
    pub(super) fn admit(&self, run: &Job, proposal: &Proposal) -> Result<()> {
        let Job { session, workspace, plan, .. } = run;
        let name = &self.dataset;
        let (private, test) = (run.private()?, named(&run.datasets, name)?);
        if share_rows(test, private) != Some(false) {
            return Err(Error::refused(format!(
                "the test dataset '{name}' has records of '{}', which trains: the score would be \
                 too good",
                plan.private
            ))
            .cure("change the row filters so that no record is in both, or leave `test` out"));
        }
        overlap::refuse_private_rows(test, &run.publics(), workspace, &Watch::sealed())?;
        let mut account = account_of(test, session, workspace)?;
        let learned = proposal.lineage.iter().flat_map(|lineage| &lineage.runs);
        let mut learned = learned
            .filter(|run| run.account == account.id || account.former.contains(&run.account));
        if let Some(run) = learned.next() {
            return Err(Error::refused(format!(
                "the starting model learned from the test dataset '{name}' in run {}",
                run.run.0
            ))
            .cure("name another test dataset, or leave `test` out"));
        }
        account.check_unit(test.unit().as_deref())?;
        // Both may be in one account.
        let trains = account_of(private, session, workspace)?.id == account.id;
        if trains {
            account = account.held_to(session.budgets.get(&plan.private));
        }
        let training = proposal.calibrated.events().iter().filter(|_| trains);
        let events: Vec<Event> = training.chain(self.calibrated.events()).cloned().collect();
        let target = if trains { plan.target } else { self.calibrated.target() };
        account
            .admit(&events, target)
            .map_err(|error| error.within(&format!("test dataset '{name}'")))
    }

    /// Releases the score and settles it at once, whatever happens to the run.
    pub(super) fn draw(
        &self,
        run: &Job,
        judged: Judged<'_>,
        judging: &Judging,
        needs: &ScoringNeeds,
    ) -> Result<Scored> {
        let private = named(&run.datasets, &self.dataset)?;
        let records = prepared(private, &judging.under(&private.definition))?;
        let purpose = Purpose::new(METHOD, &self.calibrated);
        let paid = purpose.pay(private, (&run.session, &run.workspace), |spender| {
            self.scoring.draw(&records, judged, needs, spender)
        })?;
        let elsewhere = Elsewhere {
            dataset: self.dataset.clone(),
            epsilon: paid.guarantee.epsilon,
            account: None,
            run: paid.run.0,
        };
        Ok(Scored { elsewhere: Some(elsewhere), ..paid.value.into_inner() })
    }
}
