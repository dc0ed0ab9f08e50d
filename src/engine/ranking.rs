//! Ranks the public datasets of a session, on the calling thread: for the curator, or privately
//! through the ledger.
//!
//! A ranking for the curator uses exact numbers. A choice by them is outside every guarantee, so
//! the ledger gets an *unprotected* entry, without an ε, before the first number is computed. A
//! private ranking asks the ledger whether there is room, computes its sums, and reserves its
//! release just before it draws. Nothing leaves the process before that, so a ranking that is
//! stopped or killed earlier costs nothing.
//!
//! Several sites rank together by releasing the errors of the same public models: a site meets the
//! others when its sums are complete, so that nothing which it refuses in its own records is told.
//!
//! If a public dataset holds private rows, the whole ranking is refused before anything is spent.
//! To leave out that dataset alone would tell everybody who sees the result that it holds them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::assembly::{missing_of, shared_classes};
use super::control::Control;
use super::job::named;
use super::prepared::{PreparedStore, RankingRecords, RankingSource};
use super::sites::{self, JointKind, JointPlan, JointRun, Place};
use super::spend::{OpenAccount, Purpose, Spend, new_run_id};
use super::steps::panic_message;
use super::{look, overlap};
use crate::data::images::ImageShape;
use crate::data::leaking;
use crate::data::selection::{resolved, used_columns};
use crate::data::{
    Column, Compatibility, DatasetDefinition, Preparation, PreparationSettings, Table, Task,
    Values, Vectors, images,
};
use crate::error::{Error, ErrorKind, Result};
use crate::privacy::accountant::calibrate;
use crate::privacy::ledger::{RunId, delta};
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{CuratorOnly, Guarantee, NoiseSource, Private, Target, Watch};
use crate::rank::ranking::RankStep;
use crate::rank::{
    Candidate, Comparison, Disclosed, PrivateDirection, PrivateErrors, PrivateRanking,
    PrivateSelection, PrivateTable, Ranking, RankingMechanism, RankingSetup, Selector, Supply,
};
use crate::session::archive::EXACT_RANKING;
use crate::session::ranking_record::{self, Header, ReleasedRanking};
use crate::session::{Loaded, RankingDefinition, Session, Workspace};

/// The most numbers of all candidates that determine the scaling of features. Larger data are
/// thinned out.
const MOST_SCALING_NUMBERS: usize = 1 << 26;

/// The most numbers of a candidate that are prepared at once.
const MOST_NUMBERS_AT_ONCE: usize = 1 << 24;

/// A ranking to be made.
#[derive(Debug, Clone)]
pub struct RankingJob {
    pub session: Session,
    pub datasets: Vec<Arc<Loaded>>,
    pub workspace: Workspace,
    pub watch: Watch,
    pub control: Control,
    pub manner: Manner,
    /// Allows δ ≥ 1/n.
    pub allow_large_delta: bool,
    /// Records prepared for it or for others like it.
    pub prepared: PreparedStore,
    /// Where it meets other sites, if several rank together.
    pub sites: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Manner {
    /// Exact numbers, only for the curator.
    Curator,
    /// A release by this mechanism under this guarantee.
    Private(RankingMechanism, Target),
}

/// The events of a ranking while it works.
#[derive(Debug, Clone)]
pub enum RankingProgress {
    /// The number of steps, and remarks on the settings.
    Begun { total: usize, remarks: Vec<String> },
    /// What to say of the other sites of a joint ranking: who is awaited, or all of them. Nothing is spent so far.
    Sites(Vec<String>),
    /// With the table so far, if there is one for the curator.
    Stepped { step: RankStep, comparison: Option<Box<CuratorOnly<Comparison>>> },
}

/// A ranking that has ended.
#[derive(Debug, Clone)]
pub struct RankingSummary {
    /// Name of the private dataset.
    pub private: String,
    pub findings: Findings,
    pub remarks: Vec<String>,
    /// Candidates that were left out, and why.
    pub left_out: Vec<(String, Error)>,
    /// Whether the ranking was stopped before its end.
    pub stopped: bool,
    /// Why the ranking could not be kept for reports.
    pub unkept: Option<Error>,
    /// The other sites of a joint ranking.
    pub sites: Vec<String>,
    /// How many of the sites may put together what they know, if all have one noise.
    pub may_collude: Option<usize>,
    /// What is promised to the people at each site of a joint ranking.
    pub joint: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub enum Findings {
    /// `None` if it was stopped before the second repeat.
    Curator(Option<CuratorOnly<Comparison>>),
    /// What was released, and its guarantee.
    Private { disclosed: Disclosed, guarantee: Guarantee, run: RunId },
    /// A private one that was stopped before it drew anything.
    Nothing,
}

/// Ranks. Errors before anything was looked at leave no trace in the ledger.
pub fn rank(job: &RankingJob, tell: &mut dyn FnMut(RankingProgress)) -> Result<RankingSummary> {
    let definition = &job.session.ranking;
    let is_of_errors = matches!(job.manner, Manner::Private(RankingMechanism::Errors, _));
    if job.sites.is_some() && !is_of_errors {
        return Err(Error::usage("several sites rank together by errors alone")
            .cure("leave --mechanism out, or make it `errors`; the private records need a label"));
    }
    let name = definition.private_name(&job.session)?.to_owned();
    let private = named(&job.datasets, &name)?;
    let mut datasets = job.datasets.clone();
    datasets.retain(|public| !overlap::is_dropped(private, public));
    let publics = definition.public_names(&job.session).into_iter();
    let publics = publics.filter_map(|name| named(&datasets, name).ok().map(Arc::as_ref));
    let publics: Vec<&Loaded> = publics.collect();
    overlap::refuse_private_rows(private, &publics, &job.workspace, &job.watch)?;
    let (setup, data) = prepare(&job.session, definition, &datasets, &job.prepared)?;
    let repeats = definition.settings.repeats;
    let order = private.order.as_ref().map(|order| order.choices);
    let order = order.ok_or_else(|| Error::failed(format!("'{name}' is not private")))?;
    let records = (private.rows, order);
    // All kinds except the errors draw a label for each record by its place, so nobody may have
    // more places than others.
    let one_of_each = || data.map_unseen(Supply::one_of_each);
    let (mechanism, target) = match job.manner {
        Manner::Curator => return curator(job, private, setup, one_of_each(), tell),
        Manner::Private(mechanism, target) => (mechanism, target),
    };
    let select =
        |setup, selector| PrivateSelection::new(selector, setup, repeats, &one_of_each(), records);
    let work: Box<dyn PrivateRanking + Send> = match mechanism {
        RankingMechanism::Errors => {
            let unit = private.definition.unit.as_ref();
            let most = unit.map_or(1, |_| private.definition.most_records());
            let (seed, sizes) = (definition.settings.seed, (private.rows, most));
            Box::new(PrivateErrors::new(setup, seed, &data, sizes)?)
        }
        RankingMechanism::PermuteAndFlip => Box::new(select(setup, Selector::PermuteAndFlip)),
        RankingMechanism::Exponential => Box::new(select(setup, Selector::Exponential)),
        RankingMechanism::Table => {
            Box::new(PrivateTable::new(setup, repeats, &one_of_each(), records)?)
        }
        RankingMechanism::Direction => {
            Box::new(PrivateDirection::new(setup, &one_of_each(), records)?)
        }
    };
    privately(job, private, &publics, work, target, tell)
}

/// About how long a ranking by exact numbers takes, by public records in the private role. Records are
/// prepared as the ranking itself will need them; nothing of the private ones is told.
pub fn time(
    session: &Session,
    datasets: &[Arc<Loaded>],
    store: &PreparedStore,
) -> Result<Option<Duration>> {
    let (setup, _) = prepare(session, &session.ranking, datasets, store)?;
    Ranking::time_of_public(&session.ranking.settings, setup)
}

fn curator(
    job: &RankingJob,
    private: &Loaded,
    setup: RankingSetup,
    data: Private<Supply>,
    tell: &mut dyn FnMut(RankingProgress),
) -> Result<RankingSummary> {
    if job.watch.is_sealed() {
        return Err(Error::refused(
            "the view is sealed, and this ranking is made of exact numbers",
        )
        .cure("unseal it, or rank privately (--private EPSILON)"));
    }
    let account = OpenAccount::for_a_look(private, &job.workspace, &job.session)?;
    look::note(private, &job.workspace, EXACT_RANKING)?;
    let ranking = Ranking::new(&job.session.ranking.settings, setup, data);
    let mut about = About::of(ranking.setup(), ranking.setup().remarks());
    tell(RankingProgress::Begun { total: ranking.total(), remarks: about.remarks.clone() });
    let watch = job.watch.clone();
    let step = move |ranking: &mut Ranking| {
        let step = ranking.step(&watch)?;
        let comparison = ranking.comparison(&watch).map(Box::new);
        let done = step.done;
        Ok(((About::of(ranking.setup(), ranking.setup().remarks()), step, comparison), done))
    };
    let mut comparison = None;
    let stepped = in_steps(ranking, step, &job.control, |(so_far, step, table)| {
        about = so_far;
        comparison = table.as_deref().cloned();
        tell(RankingProgress::Stepped { step, comparison: table });
    })?;
    let unkept = comparison.as_ref().and_then(|comparison| {
        let (id, name) = (new_run_id("ranking"), &private.definition.name);
        let definition = job.session.ranking.clone();
        let (settings, private) = (Some(definition), name.clone());
        let header = Header { account, private, settings, sites: Vec::new(), may_collude: None };
        ranking_record::keep_exact(&job.workspace, &id, header, comparison, &job.watch).err()
    });
    let about = summary(private, Findings::Curator(comparison), about, stepped.is_none());
    Ok(RankingSummary { unkept, ..about })
}

fn privately(
    job: &RankingJob,
    private: &Loaded,
    publics: &[&Loaded],
    mut work: Box<dyn PrivateRanking + Send>,
    target: Target,
    tell: &mut dyn FnMut(RankingProgress),
) -> Result<RankingSummary> {
    if !job.allow_large_delta {
        let (rows, whose) = (private.rows as u64, format!("'{}'", private.definition.name));
        let allow = "allow it by name: --allow-large-delta (the ledger will say so)";
        delta::check(target.delta, rows, &whose, allow)?;
    }
    let calibrated = calibrate(&[work.plan()?], target)?;
    let scales = calibrated.events().iter().map(|event| event.mechanism.noise.scale);
    let outlook = guarded(|| scales.map(|scale| work.outlook(scale)).collect::<Result<Vec<_>>>())?;
    let mut outlook = outlook.concat();
    if delta::is_large(target.delta, private.rows as u64) {
        outlook.push(delta::warning(target.delta, private.rows as u64));
    }
    if job.control.is_stopped() {
        let about = About::of(work.setup(), work.remarks());
        return Ok(summary(private, Findings::Nothing, about, true));
    }
    let name = &private.definition.name;
    let mut account = OpenAccount::open(private, &job.workspace, &job.session)?;
    outlook.extend(account.other_budget.clone());
    let allow_large_delta = job.allow_large_delta;
    let purpose = Purpose {
        allow_large_delta,
        one_noise: sites::one_noise(job.sites.as_ref()),
        ..Purpose::new(work.method(), &calibrated)
    };
    // The sites hear of a budget that does not suffice, so it is asked when they have met.
    if job.sites.is_none() {
        account.admit(&purpose)?;
    }
    let remarks = [work.remarks(), outlook.clone()].concat();
    tell(RankingProgress::Begun { total: work.repeats(), remarks });
    let mut about = About::of(work.setup(), work.remarks());
    let step = |work: &mut Box<dyn PrivateRanking + Send>| {
        let step = work.step()?;
        let done = step.done;
        Ok(((About::of(work.setup(), work.remarks()), step), done))
    };
    let stepped = in_steps(work, step, &job.control, |(so_far, step)| {
        about = so_far;
        tell(RankingProgress::Stepped { step, comparison: None });
    })?;
    let mut about = summary(private, Findings::Nothing, about, stepped.is_none());
    about.remarks.extend(outlook);
    let Some(work) = stepped else { return Ok(about) };
    // Nothing has left the private records so far, so a program that dies here leaves nothing
    // behind.
    let joint = job.sites.as_ref().map(|place| {
        let met = meet(job, place, (private, publics), &*work, (&mut account, &purpose), tell);
        // What failed among the sites, such as a message that did not come, can be tried again.
        if met.as_ref().is_err_and(|error| error.kind() != ErrorKind::Failed) {
            sites::say_stopped(&job.workspace, place);
        }
        met
    });
    let joint = joint.transpose()?;
    // No exact number is computed: nobody can peek.
    let mut spend = Spend::open(account, &purpose, None, &Watch::sealed())?;
    if let Some(joint) = joint {
        about.joint = Some(ranking_record::joint_file(&job.workspace, &purpose.run)?);
        about.sites.clone_from(&joint.others);
        about.may_collude = joint.may_collude;
        joint.take_masks(&job.workspace, None)?;
        spend = spend.joining(joint)?;
    }
    let paid = spend.draw(|spender| guarded(|| work.finish(spender))).map_err(|error| {
        if about.joint.is_none() {
            return error;
        }
        error.cure(
            "`halflight ledger` says whether this site released something, which stays charged; start \
             all sites again with an empty folder",
        )
    })?;
    let (disclosed, guarantee, run) = (paid.value, paid.guarantee, paid.run);
    let released = ReleasedRanking::of(&disclosed, &guarantee);
    let (settings, sites) = (Some(job.session.ranking.clone()), about.sites.clone());
    let (private, may_collude) = (name.clone(), about.may_collude);
    let header = Header { account: paid.account, private, settings, sites, may_collude };
    let kept =
        ranking_record::keep_released(&job.workspace, &run, header, &released, Some(&disclosed));
    let findings = Findings::Private { disclosed, guarantee, run };
    Ok(RankingSummary { findings, unkept: kept.err(), ..about })
}

/// Meets the other sites of a joint ranking, whose sums are complete, and agrees with them on the noise.
fn meet(
    job: &RankingJob,
    place: &Place,
    (private, publics): (&Loaded, &[&Loaded]),
    work: &(dyn PrivateRanking + Send),
    (account, purpose): (&mut OpenAccount, &Purpose),
    tell: &mut dyn FnMut(RankingProgress),
) -> Result<JointRun> {
    let calibrated = purpose.calibrated;
    let records = records(&job.session, &job.session.ranking, &job.datasets, &job.prepared)?;
    let promised = (purpose.target, calibrated.guarantee().adjacency);
    let mut common = sites::common_of_all(JointKind::Ranking, promised, &records.preparation)?;
    let unit = private.unit().map_or(1, |_| private.definition.most_records());
    let names: Vec<&str> = publics.iter().map(|it| it.definition.name.as_str()).collect();
    let own = [
        ("seed", job.session.ranking.settings.seed.to_string()),
        ("most records of a person", unit.to_string()),
        ("public datasets", names.join(", ")),
    ];
    common.extend(own.map(|(name, value)| (name.to_owned(), value)));
    let named =
        |it: &&Loaded| (format!("public dataset '{}'", it.definition.name), sites::rows_of(it));
    common.extend(publics.iter().map(named));
    common.extend(work.public_facts());
    let parties = (&job.workspace, &job.control);
    let mut waits = |text| tell(RankingProgress::Sites(vec![text]));
    let greeted = sites::meet(place, parties, private.rows, common, &mut waits)?;
    tell(RankingProgress::Sites(greeted.notes()));
    account.admit(purpose)?;
    greeted.agree(JointPlan {
        kind: JointKind::Ranking,
        run: &purpose.run,
        noise: NoiseSource::Secret,
        calibrated,
        joined: calibrated.events().iter().map(|event| event.label.as_str()).collect(),
        file: ranking_record::joint_file(&job.workspace, &purpose.run)?,
    })
}

/// A panic must not take the interface or the ledger's settlement with it.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(panic_message(panic.as_ref()).within("ranking")))
}

/// How often a ranking checks during a long step whether it should stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Takes steps until one is the last. They are taken on a thread of their own, so stopping does not
/// wait for the current step, which is dropped. `None` when it was stopped.
fn in_steps<W: Send + 'static, S: Send + 'static>(
    mut work: W,
    mut step: impl FnMut(&mut W) -> Result<(S, bool)> + Send + 'static,
    control: &Control,
    mut tell: impl FnMut(S),
) -> Result<Option<W>> {
    let (sender, inbox) = sync_channel(0);
    let worker = thread::spawn(move || {
        loop {
            let taken = guarded(|| step(&mut work));
            let goes_on = matches!(taken, Ok((_, false)));
            if sender.send(taken).is_err() || !goes_on {
                return work;
            }
        }
    });
    loop {
        if !control.proceed() {
            return Ok(None);
        }
        match inbox.recv_timeout(CHECK_INTERVAL) {
            Ok(taken) => {
                let (seen, done) = taken?;
                tell(seen);
                if done {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // A ranking that is stopped during its last step gives no result either.
    if control.is_stopped() {
        return Ok(None);
    }
    worker.join().map(Some).map_err(|panic| panic_message(panic.as_ref()).within("ranking"))
}

/// Facts about the candidates.
struct About {
    remarks: Vec<String>,
    left_out: Vec<(String, Error)>,
}

impl About {
    fn of(setup: &RankingSetup, remarks: Vec<String>) -> Self {
        let left_out = setup.candidates.iter().filter_map(|candidate| {
            Some((candidate.name.clone(), candidate.data.as_ref().err()?.clone()))
        });
        Self { remarks, left_out: left_out.collect() }
    }
}

fn summary(private: &Loaded, findings: Findings, about: About, stopped: bool) -> RankingSummary {
    let About { remarks, left_out } = about;
    let private = private.definition.name.clone();
    RankingSummary {
        private,
        findings,
        remarks,
        left_out,
        stopped,
        unkept: None,
        sites: Vec::new(),
        may_collude: None,
        joint: None,
    }
}

/// The candidates and the private records in the same features; records in `store` are not prepared
/// again. A candidate that does not fit is listed with what it lacks; one that is not loaded is
/// left out.
pub fn prepare(
    session: &Session,
    definition: &RankingDefinition,
    datasets: &[Arc<Loaded>],
    store: &PreparedStore,
) -> Result<(RankingSetup, Private<Supply>)> {
    let private = named(datasets, definition.private_name(session)?)?;
    let records = records(session, definition, datasets, store)?;
    let RankingRecords { candidates, bounds, dimension, classes, label_range, remark, .. } =
        &*records;
    let shape = (private.rows, *dimension);
    let mut setup =
        RankingSetup::new(&definition.settings, candidates.clone(), shape, *classes, *bounds)?;
    setup.label_range = *label_range;
    setup.of_data.extend(remark.clone());
    Ok((setup, records.private.share()))
}

/// The prepared records of a ranking, from the store or new.
fn records(
    session: &Session,
    definition: &RankingDefinition,
    datasets: &[Arc<Loaded>],
    store: &PreparedStore,
) -> Result<Arc<RankingRecords>> {
    let private = named(datasets, definition.private_name(session)?)?;
    let names = definition.public_names(session).into_iter();
    let publics: Vec<_> = names.filter_map(|name| named(datasets, name).ok()).collect();
    let source = RankingSource {
        datasets: [private].into_iter().chain(publics.clone()).map(|it| it.reading).collect(),
        preparation: definition.preparation.clone(),
        resize: definition.resize,
    };
    store.ranking.get(source, || prepared(definition, private, &publics))
}

/// Brings the private dataset and every candidate that fits into the same features, with
/// constants of the candidates.
fn prepared(
    definition: &RankingDefinition,
    private: &Loaded,
    publics: &[&Arc<Loaded>],
) -> Result<RankingRecords> {
    let mut reference = reference(private, publics)?;
    // Columns that name persons are not features.
    reference.unit.clone_from(&private.definition.unit);
    let task = reference.task;
    let label = reference.label.clone().unwrap_or_default();
    let table = publics.iter().find(|public| public.definition.name == reference.name);
    let table = table.ok_or_else(|| Error::failed("the reference is not loaded"))?.public()?;
    let features: Vec<String> =
        used_columns(&reference, table)?.into_iter().filter(|name| *name != label).collect();
    let needed: HashSet<&str> = features.iter().map(String::as_str).collect();
    private.private()?.try_map(|private| {
        Compatibility::between(table, private).check_for(|name| needed.contains(name))
    })?;

    // A dataset fits if it has all columns, of the right kinds. What it holds decides nothing here.
    let fits = publics.iter().map(|public| {
        let other = public.public()?;
        let resizing = alike(table, other, &features, definition.resize)?;
        let first = resizing.map(|_| Resizing::some(resizing, other, &[0])).transpose()?;
        Compatibility::between(table, first.as_ref().unwrap_or(other))
            .check_for(|name| needed.contains(name))?;
        Ok((other, resizing))
    });
    let tables: Vec<Result<(&Table, Option<Resizing>)>> = fits.collect();
    let fitted = tables.iter().filter_map(|fitting| fitting.as_ref().ok().copied());
    let fitted: Vec<(&Table, Option<Resizing>)> =
        fitted.filter(|(table, _)| table.has(&label)).collect();
    if fitted.is_empty() {
        let trouble = tables.into_iter().find_map(Result::err);
        let trouble = trouble.unwrap_or_else(|| Error::failed("none has the label"));
        return Err(trouble.within("no public dataset can be ranked"));
    }
    let columns: Vec<String> = features.iter().cloned().chain([label.clone()]).collect();
    let whole: Vec<&Table> = fitted.iter().map(|(table, _)| *table).collect();
    let stride = stride(&whole, &features, task);
    let some = fitted.iter().map(|(table, resizing)| match resizing {
        None if stride == 1 => Ok(Cow::Borrowed(*table)),
        resizing => {
            let rows: Vec<usize> = (0..table.rows()).step_by(stride).collect();
            Resizing::some(*resizing, table, &rows).map(Cow::Owned)
        }
    });
    let some = some.collect::<Result<Vec<Cow<'_, Table>>>>()?;
    let pooled =
        Table::concat_columns(&some.iter().map(Cow::as_ref).collect::<Vec<_>>(), &columns)?;

    let mut definition_of_all = resolved(&reference, table)?;
    let loaded: Vec<&Loaded> = publics.iter().map(|public| &***public).collect();
    definition_of_all.missing = missing_of(&loaded);
    if task == Task::Classification {
        // Another candidate's classes may differ: then it is ranked without its labels.
        let all = [&definition_of_all, &private.definition];
        let labels = Table::concat_columns(&whole, std::slice::from_ref(&label))?;
        definition_of_all.classes = shared_classes(&labels, &all)?;
    }
    let settings = PreparationSettings { intercept: false, ..definition.preparation.clone() };
    let preparation = Preparation::fit(&pooled, &definition_of_all, &settings)?;
    let candidates = publics.iter().zip(tables).map(|(public, table)| {
        let name = public.definition.name.clone();
        let own = preparation.under(&public.definition);
        let data = table.and_then(|(table, resizing)| {
            let (label, named) = (label.clone(), name.clone());
            let prepared = move |table: &Table| {
                // Without usable labels it is still ranked.
                let with_labels = table.has(&label).then(|| own.apply(table, &named, true));
                with_labels.and_then(Result::ok).map_or_else(|| own.apply(table, &named, false), Ok)
            };
            if !is_large(table, &features) {
                let resized = resizing.map(|resizing| resizing.of(table.clone()));
                return prepared(resized.as_ref().unwrap_or(table)).map(Supply::from);
            }
            let public = Arc::clone(public);
            Ok(Supply::on_demand(table.rows(), preparation.dimension(), move |rows| {
                prepared(&Resizing::some(resizing, public.public()?, rows)?)
            }))
        });
        Candidate { name, data }
    });
    let candidates: Vec<Candidate> = candidates.collect();
    let with_label = private.definition.label.as_deref() == Some(label.as_str());
    let (own, dimension) = (preparation.under(&private.definition), preparation.dimension());
    let data = Private::together(&[private.private()?.share()]).try_map(|tables| {
        let (table, own) = (Arc::clone(&tables[0]), own.clone());
        let persons = table.persons.clone().map(Arc::new);
        let prepared = move |table: &Table| own.apply_private(table, "private", with_label);
        let records = table.rows();
        let supply = if table.space().is_some() || records * dimension > MOST_NUMBERS_AT_ONCE {
            Supply::on_demand(records, dimension, move |rows| prepared(&table.excerpt(rows)?))
        } else {
            prepared(&table)?.into()
        };
        Ok(supply.by_person(persons))
    })?;
    let classes = (task == Task::Classification).then(|| preparation.class_names().len());
    let scaled = (stride > 1)
        .then(|| format!("features are scaled by every {stride}th record of the public datasets"));
    let chosen = private.unit().map(|unit| {
        format!(
            "each private person (by '{unit}') counts once: by the mean of their records' \
                 errors, and in the other comparisons by one record"
        )
    });
    let leaking = leaking::of_label(&pooled, &definition_of_all, &label)?;
    let remarks: Vec<String> = scaled.into_iter().chain(chosen).chain(leaking).collect();
    let remark = (!remarks.is_empty()).then(|| remarks.join("; "));
    let bounds = preparation.bounds();
    // Errors are shares of a range that depends on which datasets are loaded. In units of the label
    // they hardly do.
    let end = |sign: f64| preparation.label_from_prediction(sign * bounds.label);
    let label_range = (task == Task::Regression).then(|| (end(1.0) - end(-1.0)).abs());
    Ok(RankingRecords {
        candidates,
        private: data,
        bounds,
        dimension,
        classes,
        label_range,
        remark,
        preparation,
    })
}

/// How the images of a candidate are brought to the size of the reference's.
#[derive(Debug, Clone, Copy)]
struct Resizing {
    /// Number of the column.
    column: usize,
    from: ImageShape,
    to: ImageShape,
}

/// The resizing of a candidate's images, if requested; `None` if none is needed.
fn alike(
    reference: &Table,
    other: &Table,
    features: &[String],
    resize: bool,
) -> Result<Option<Resizing>> {
    let [name] = features else { return Ok(None) };
    let (Ok(Column::Vectors(ours)), Some(column)) =
        (reference.column(name), other.names.iter().position(|it| it == name))
    else {
        return Ok(None);
    };
    let Column::Vectors(theirs) = &other.columns[column] else { return Ok(None) };
    if ours.width() == theirs.width() {
        return Ok(None);
    }
    let (from, to) = (images::square(theirs.width()), images::square(ours.width()));
    let (more, cure) = match (from, to) {
        (Some(from), Some(to)) if resize => return Ok(Some(Resizing { column, from, to })),
        (Some(_), Some(_)) => {
            (": images of another size", "set `resize: true` in the session's `ranking`")
        }
        _ => ("", "use features of the same extractor, or images of the same size"),
    };
    let (theirs, ours) = (theirs.width(), ours.width());
    let what = format!("its vectors have {theirs} numbers, and {ours} are wanted{more}");
    Err(Error::failed(what).at(format!("{}, column '{name}'", other.origin)).cure(cure))
}

impl Resizing {
    /// The table with images of the new size: the same records still.
    fn of(self, mut table: Table) -> Table {
        if let Column::Vectors(theirs) = &table.columns[self.column] {
            let rows = (0..theirs.len()).flat_map(|row| {
                let image: Vec<f64> = theirs.row(row).numbers().collect();
                images::resized(&image, self.from, self.to)
            });
            let (channels, height, width) = self.to;
            let resized = Vectors::new(channels * height * width, Values::F64(rows.collect()));
            table.columns[self.column] =
                resized.map_or_else(|| table.columns[self.column].clone(), Column::Vectors);
        }
        table
    }

    /// Some rows of a table, of the new size where there is one.
    fn some(resizing: Option<Self>, table: &Table, rows: &[usize]) -> Result<Table> {
        let table = table.select(rows)?;
        Ok(match resizing {
            Some(resizing) => resizing.of(table),
            None => table,
        })
    }
}

/// The distance of the candidates' rows that determine the scaling of features.
fn stride(tables: &[&Table], features: &[String], task: Task) -> usize {
    // The range of a label is that of all rows.
    if task != Task::Classification {
        return 1;
    }
    let numbers = |table: &&Table| -> usize {
        let widths = features.iter().filter_map(|name| Some(table.column(name).ok()?.width()));
        table.rows() * widths.sum::<usize>()
    };
    tables.iter().map(numbers).sum::<usize>().div_ceil(MOST_SCALING_NUMBERS).max(1)
}

/// Whether the records are better prepared on demand: those of a table on the disk, and many images
/// or embeddings without gaps.
fn is_large(table: &Table, features: &[String]) -> bool {
    let many = |vectors: &Vectors| {
        vectors.len() * vectors.width() > MOST_NUMBERS_AT_ONCE && vectors.first_missing().is_none()
    };
    let vectors = match features {
        [name] => matches!(table.column(name), Ok(Column::Vectors(vectors)) if many(vectors)),
        _ => false,
    };
    vectors || table.space().is_some()
}

/// The definition whose columns are compared: the first candidate with a label whose features, by
/// name, are all in the private dataset.
fn reference(private: &Loaded, publics: &[&Arc<Loaded>]) -> Result<DatasetDefinition> {
    let Some(first) = publics.first() else {
        return Err(Error::usage("there is no public dataset to rank")
            .cure("add one on the Data screen, or to the session"));
    };
    let known: HashSet<&str> = private.columns.iter().map(|column| column.name.as_str()).collect();
    let width = |loaded: &Loaded, name: &str| {
        loaded.columns.iter().find(|column| column.name == name).map(|column| column.width)
    };
    for public in publics.iter().filter(|public| public.definition.label.is_some()) {
        let Ok(columns) = used_columns(&public.definition, public.public()?) else { continue };
        let label = public.definition.label.as_deref();
        let mut features = columns.iter().filter(|name| Some(name.as_str()) != label);
        if features.all(|name| {
            known.contains(name.as_str()) && width(public, name) == width(private, name)
        }) {
            return Ok(public.definition.clone());
        }
    }
    if publics.iter().all(|public| public.definition.label.is_none()) {
        return Err(Error::usage("no public dataset has a label column")
            .cure("choose the label of at least one on the Data screen: it fixes the task"));
    }
    let table = first.public()?;
    private.private()?.try_map(|private| Compatibility::between(table, private).check())?;
    Err(Error::failed("no public dataset has the columns of the private one")
        .at(first.definition.name.clone())
        .cure("choose the features that all have, or another public dataset"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: usize, rows: usize) -> Table {
        let values = (0..width * rows).map(|i| (i % width) as f64).collect();
        let vectors = Vectors::new(width, Values::F64(values)).unwrap();
        Table::of_rows("t.npy", vec!["x".to_owned()], vec![Column::Vectors(vectors)]).unwrap()
    }

    #[test]
    fn images_of_another_size_are_resized_where_that_is_asked_for_and_told_where_not() {
        let (small, large) = (table(64, 5), table(3 * 1024, 4));
        let features = ["x".to_owned()];
        let error = alike(&small, &large, &features, false).err().unwrap().to_string();
        assert!(error.contains("resize: true") && error.contains("3072"), "{error}");
        let resizing = alike(&small, &large, &features, true).unwrap().unwrap();
        let fitted = resizing.of(large.clone());
        assert_eq!(fitted.columns[0].width(), 64);
        assert_eq!(fitted.rows(), 4);
        // They are still the same records: their file identifies their source.
        assert!(fitted.provenance().eq(large.provenance()));
        let some = Resizing::some(Some(resizing), &large, &[2, 1]).unwrap();
        assert!(some.columns[0].cell(0) == fitted.columns[0].cell(2) && some.rows() == 2);
        assert!(matches!(alike(&small, &small, &features, true), Ok(None)));
        let other = table(100 * 7, 2);
        let error = alike(&small, &other, &features, true).err().unwrap().to_string();
        assert!(error.contains("same extractor"), "{error}");
    }
}
