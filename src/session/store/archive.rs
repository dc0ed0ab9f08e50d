//! The runs of a workspace, read back from their directories to be compared.
//!
//! A directory may belong to a run that is still under way or crashed, or to another version.
//! Readable files are shown, unreadable ones are named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;
use serde_json::Value;

use super::file::{PlanDefinition, Session};
use super::resumption::{SITES, TRANSCRIPT};
use super::run_directory::{CERTIFICATE, Process, RunDirectory, SESSION};
use super::run_steps::{self, Curves, RunGrowth, StepReader};
use super::site_board::SiteLine;
use super::steering;
use super::workspace::Workspace;
use crate::data::{DatasetDefinition, Task, names};
use crate::error::{Doing as _, Error, Result};
use crate::evaluation::{FurtherScores, Loss, Scored};
use crate::files::words::harmless;
use crate::files::{self, step};
use crate::methods::{self, Series, SourceWeight};
use crate::plot::number::{compact_up, four_digits};
use crate::privacy::ledger::{Book, RunId, RunOutcome, RunState, SharedNoise, locks_reach};
use crate::privacy::openings::OpenCuratorOnly;
use crate::privacy::{CuratorOnly, Event, Ledger, Target, Watch};
use crate::verdict::{Errors, error_cell};

/// The new part of one run.
#[derive(Debug, Clone)]
pub struct GrownRun {
    pub run: RunId,
    pub growth: RunGrowth,
    pub outcome: String,
    pub wrote: Option<SystemTime>,
    /// Other facts, if they changed.
    pub trouble: Option<String>,
    /// The sites of a joint run, if anything changed.
    pub board: Option<Vec<SiteLine>>,
}

/// The file with the curator's remark on a run.
const TAG: &str = "tag.txt";
/// The most runs of one plan that an error lists.
const MOST_NAMESAKES: usize = 12;
/// Longer remarks are cut.
const LONGEST_TAG: usize = 2000;

/// A choice among plans. It computes no exact number, whatever view is open.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchivedChoice {
    /// The names of the candidates; until it has ended, of those with a plan.
    pub candidates: Vec<String>,
    /// The result in words, once it has ended.
    pub result: Option<String>,
    /// Whether the plan of the run is the chosen one, and not only the first candidate.
    pub is_of_plan: bool,
}

/// The method of a choice, at the end of the names of such runs.
pub const CHOICE: &str = "choice";

/// One run, read from its directory.
#[derive(Debug, Clone, Default)]
pub struct ArchivedRun {
    pub id: RunId,
    pub directory: PathBuf,
    /// Start of the run, UTC, to the second.
    pub time: String,
    pub plan: Option<PlanDefinition>,
    /// The candidates and the result, if it is a choice among plans.
    pub choice: Option<ArchivedChoice>,
    /// The datasets of the plan.
    pub data: Vec<DatasetDefinition>,
    /// The other sites of a joint run.
    pub sites: Vec<String>,
    /// The noise that all of its sites add together.
    pub one_noise: Option<SharedNoise>,
    /// How far all sites of a joint run came that has not ended.
    pub board: Vec<SiteLine>,
    /// The curator's remark.
    pub tag: String,
    /// `finished`, `stopped`, `failed`, `abandoned`; one of the words below without a certificate,
    /// or `open` if the ledger was not asked.
    pub outcome: String,
    /// The process that executes it, or did.
    pub process: Option<Process>,
    /// When it last wrote a step, by the clock of its disk, or when this program saw it.
    pub wrote: Option<SystemTime>,
    /// Lines that are not steps.
    pub skipped: u64,
    /// The guarantee of its noise, from the certificate.
    pub guarantee: Option<Target>,
    /// What the guarantee counts: the draws of the runs that its model started from, and its own.
    pub drawn: Vec<DrawnRun>,
    /// Whether public data had been ranked by exact numbers of its records before it began.
    pub was_ranked: bool,
    /// δ of the budget in its session.
    pub budget_delta: Option<f64>,
    /// The released score of its model on held-out private records: its own, or the one that was paid
    /// for afterwards with the largest ε.
    pub score: Option<Scored>,
    /// What it says together with the scores of other runs on the same records.
    pub joined: Option<Scored>,
    /// The scores that were paid for afterwards.
    pub later_scores: Vec<LaterScore>,
    /// What the records of several public datasets weigh in its model.
    pub source_weights: Vec<SourceWeight>,
    pub peeked: bool,
    pub steps: u64,
    pub of: u64,
    /// Public and released numbers.
    pub curves: Curves,
    /// ε spent after each step.
    pub epsilon: Vec<(f64, f64)>,
    /// Exact numbers, if any were computed.
    pub exact: Option<CuratorOnly<Curves>>,
    /// Errors of the model and of others at its end, exact.
    pub errors: Option<CuratorOnly<Errors>>,
    /// The parts that could not be read.
    pub trouble: Option<String>,
}

/// The draws of one run, as a certificate names them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DrawnRun {
    pub run: RunId,
    /// The columns that identify the person of a row, where persons are protected.
    #[serde(default)]
    pub person: Option<String>,
    pub mechanisms: Vec<Event>,
}

/// A score of `halflight score`, which keeps a copy in the directory of the run.
#[derive(Debug, Clone, Deserialize)]
pub struct LaterScore {
    pub dataset: String,
    /// Whether the records are those that the run held out.
    #[serde(default)]
    pub held_out: bool,
    pub score: Scored,
    guarantee: PureGuarantee,
    /// What was drawn for it.
    pub mechanisms: Vec<Event>,
}

#[derive(Debug, Clone, Deserialize)]
struct PureGuarantee {
    epsilon: f64,
}

impl LaterScore {
    /// The folder of the copies, in the directory of the run.
    pub const FOLDER: &str = "scores";

    fn all(directory: &Path) -> Vec<Self> {
        let files = fs::read_dir(directory.join(Self::FOLDER)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = files.map(|it| it.path()).collect();
        paths.sort();
        paths.iter().filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect()
    }

    /// What it cost.
    pub fn epsilon(&self) -> f64 {
        self.guarantee.epsilon
    }

    /// Where it was measured, what it cost, and what came out.
    pub fn sentence(&self) -> String {
        let Self { dataset, held_out, score, .. } = self;
        let dataset = harmless(dataset, LONGEST_TAG);
        let on = if *held_out { "held-out records".to_owned() } else { format!("'{dataset}'") };
        let verdict = score.verdict().map_or_else(String::new, |it| format!(": {it}"));
        format!("{} on {on}, alone ε {}{verdict}", score.brief(), compact_up(self.epsilon()))
    }
}

/// ε of the draws; for a run without a certificate, at its last step, or what it has reserved if it
/// died, since that counts in the ledger.
pub fn epsilon(run: &ArchivedRun) -> Option<f64> {
    let last = run.epsilon.last().map(|(_, epsilon)| *epsilon);
    let reserved = run.plan.as_ref().map(|plan| plan.target.epsilon);
    let open = if run.outcome == DIED { reserved } else { last };
    run.guarantee.map(|guarantee| guarantee.epsilon).or(open)
}

/// ε that are this close to each other are one: calibration differs in the last digits.
pub(crate) const SAME_EPSILON: f64 = 1e-2;

/// The ε of several runs, if it is one and the same; an axis of its last digits would say nothing.
pub fn one_epsilon(all: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let (least, most) = (all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max));
    (most > 0.0 && most - least <= SAME_EPSILON * most).then_some(most)
}

/// How many of these runs stand where: `3 finished, 1 running`.
pub fn tally<'a>(runs: impl IntoIterator<Item = &'a ArchivedRun>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        *counts.entry(run.outcome.as_str()).or_default() += 1;
    }
    let words = counts.into_iter().map(|(word, count)| format!("{count} {word}"));
    words.collect::<Vec<_>>().join(", ")
}

/// The best of these runs by a number that may be published, and the kind of number: the released
/// error if there is one, otherwise the least error on public records.
pub fn best_of_all<'a>(
    runs: impl IntoIterator<Item = &'a ArchivedRun>,
) -> Option<(&'a ArchivedRun, String, f64)> {
    let error = |run: &'a ArchivedRun| match run.told() {
        Some(score) => Some((run, format!("released {}", score.error_name()), score.error.value)),
        None => best(run, run.error_series()[0], &Watch::sealed())
            .map(|error| (run, "error on public records".to_owned(), error)),
    };
    runs.into_iter().filter_map(error).min_by(|a, b| a.2.total_cmp(&b.2))
}

/// The curve of a run, if the watch allows it.
pub fn curve<'a>(
    run: &'a ArchivedRun,
    series: Series,
    watch: &Watch,
) -> Option<(&'a [(f64, f64)], bool)> {
    if let Some(points) = run.curves.get(&series) {
        return Some((points, false));
    }
    let exact = run.exact.as_ref()?.reveal(watch)?;
    exact.get(&series).map(|points| (points.as_slice(), true))
}

pub fn last(run: &ArchivedRun, series: Series, watch: &Watch) -> Option<f64> {
    let (points, _) = curve(run, series, watch)?;
    points.iter().rev().map(|point| point.1).find(|y| y.is_finite())
}

/// The further scores beside the last error, from [`Series::BESIDE_PUBLIC`] or
/// [`Series::BESIDE_PRIVATE`].
pub fn last_further(run: &ArchivedRun, series: [Series; 3], watch: &Watch) -> FurtherScores {
    FurtherScores::of_drawn(series.map(|series| last(run, series, watch)))
}

/// A measured number in the cell of a table: a share of wrong answers is in percent, and other
/// numbers have four digits, in the unit of their series.
pub fn cell(task: Option<Task>, series: Series, value: f64) -> String {
    if series.is_error() { error_cell(task, value) } else { four_digits(value) }
}

pub fn best(run: &ArchivedRun, series: Series, watch: &Watch) -> Option<f64> {
    let (points, _) = curve(run, series, watch)?;
    points.iter().map(|point| point.1).filter(|y| y.is_finite()).reduce(f64::min)
}

/// A run without a certificate, before the ledger is asked about it.
const OPEN: &str = "open";
/// A run that some program executes now.
pub const RUNNING: &str = "running";
/// A run that waits until somebody continues it.
pub const PAUSED: &str = "paused";
/// A run whose program is gone: it can be resumed or settled.
pub const DIED: &str = "died";
/// A run whose program is on another machine and cannot be seen from here.
pub const UNSEEN: &str = "unseen";
/// A task of a sweep that was not begun.
pub const NOT_BEGUN: &str = "not begun";
/// A task that was begun and has no result: dead, or at work on another machine.
pub const MISSING: &str = "missing";
/// Of one that was settled without a result.
pub const GIVEN_UP: &str = "given up";

/// A state as people read it: files and JSON say `abandoned` of a run that was given up.
pub fn state_words(outcome: &str) -> &str {
    if outcome == "abandoned" { GIVEN_UP } else { outcome }
}

/// Whether a run in this state has ended.
pub(super) fn is_end(outcome: &str) -> bool {
    !matches!(outcome, OPEN | RUNNING | PAUSED | DIED | UNSEEN | NOT_BEGUN | MISSING)
}

impl ArchivedRun {
    /// Whether its errors are shares of wrong answers or numbers in label units, if its plan says
    /// so.
    pub fn task(&self) -> Option<Task> {
        methods::task_of(&self.plan.as_ref()?.method)
    }

    /// The errors on held-out public and private records by which the run is judged.
    pub fn error_series(&self) -> [Series; 2] {
        let loss = self.plan.as_ref().map(PlanDefinition::loss).unwrap_or_default();
        let is_known = self.curves.contains_key(&Series::PublicAbsoluteError)
            || !self.curves.contains_key(&Series::PublicError);
        if self.task() == Some(Task::Regression) && loss == Loss::Absolute && is_known {
            [Series::PublicAbsoluteError, Series::PrivateAbsoluteError]
        } else {
            [Series::PublicError, Series::PrivateError]
        }
    }

    /// What is known from scores about its model on held-out private records.
    pub fn told(&self) -> Option<&Scored> {
        self.joined.as_ref().or(self.score.as_ref())
    }

    /// Whether the run has ended with a certificate.
    pub fn is_settled(&self) -> bool {
        is_end(&self.outcome)
    }

    /// Whether a program executes it now.
    pub fn is_alive(&self) -> bool {
        matches!(self.outcome.as_str(), RUNNING | PAUSED)
    }

    /// Adds new facts about it.
    pub fn follow(&mut self, grown: &GrownRun) {
        self.grow(&grown.growth);
        self.outcome.clone_from(&grown.outcome);
        self.wrote = grown.wrote;
        if let Some(board) = &grown.board {
            self.board.clone_from(board);
        }
        if let Some(trouble) = &grown.trouble {
            self.trouble = (!trouble.is_empty()).then(|| trouble.clone());
        }
    }

    /// Adds the new part of its files.
    pub(super) fn grow(&mut self, growth: &RunGrowth) {
        (self.steps, self.of) = (growth.steps, growth.of);
        self.skipped += growth.skipped;
        self.epsilon.extend(&growth.epsilon);
        run_steps::add_curves(&mut self.curves, &growth.curves);
        if let Some(more) = growth.exact.clone() {
            self.exact = Some(match self.exact.take() {
                None => more,
                Some(exact) => exact.zip(more).map(|(mut curves, more)| {
                    run_steps::add_curves(&mut curves, &more);
                    curves
                }),
            });
        }
        if growth.errors.is_some() {
            self.errors.clone_from(&growth.errors);
        }
    }

    /// A task of a sweep that has no directory yet, or whose directory is not read.
    pub fn unread(id: RunId, directory: &Path) -> Self {
        let (time, directory) = (time_of(&id.0), directory.to_path_buf());
        Self { time, id, directory, outcome: OPEN.to_owned(), ..Self::default() }
    }
}

/// Finds out what happened to runs without a certificate.
#[derive(Debug)]
pub struct RunFates {
    workspace: Workspace,
    ledger: Option<Ledger>,
    /// Whether every machine sees locks on this disk.
    locks_reach: bool,
    book: Book,
    /// The process that blocks reading the ledger, and when this was seen.
    held: Option<(String, Instant)>,
}

/// How long to wait for the ledger.
const GLANCE: Duration = Duration::from_millis(100);
/// A locked ledger is tried no more often than this.
const HELD: Duration = Duration::from_secs(5);

impl RunFates {
    pub fn of(workspace: &Workspace) -> Self {
        let mut fates = Self {
            workspace: workspace.clone(),
            ledger: None,
            locks_reach: locks_reach(workspace.folder()),
            book: Book::default(),
            held: None,
        };
        fates.read();
        fates
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Reads the ledger again. It does not wait for a lock, because a dead machine may hold one for
    /// ever.
    pub fn read(&mut self) {
        if self.held.as_ref().is_some_and(|(_, at)| at.elapsed() < HELD) {
            return;
        }
        if self.ledger.is_none() {
            self.ledger = self.workspace.existing_ledger().ok();
        }
        self.held = None;
        match self.ledger.as_mut().map(|ledger| ledger.glance(GLANCE)) {
            Some(Ok(Ok(book))) => self.book = book,
            Some(Ok(Err(holder))) => self.held = Some((holder, Instant::now())),
            Some(Err(_)) | None => self.book = Book::default(),
        }
    }

    /// Why nothing can be said about a run that this process executed.
    pub fn why_unseen(&self, process: Option<&Process>) -> String {
        if let Some((holder, _)) = &self.held {
            return format!(
                "its state is not known: the ledger is held by {holder}; if that is a machine \
                 that is switched off, its file server has to release the lock"
            );
        }
        let by = process.map(ToString::to_string).unwrap_or_default();
        format!("{by} carried it out; locks on this disk do not tell whether it still does")
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    /// The word for a run in `directory` that has no certificate.
    pub fn outcome(&self, run: &RunId, directory: &Path) -> &'static str {
        match self.book.run(run).map(|record| &record.state) {
            Some(RunState::Settled { outcome: RunOutcome::Abandoned, .. }) => return "abandoned",
            Some(RunState::Settled { .. }) => return "failed",
            _ => {}
        }
        let is_alive = self.ledger.as_ref().is_some_and(|ledger| ledger.is_alive(run));
        if is_alive || is_locked(directory) {
            return if steering::is_paused(directory) { PAUSED } else { RUNNING };
        }
        let elsewhere = || RunDirectory::process(directory).is_some_and(|it| it.is_elsewhere());
        let is_unknown = self.held.is_some() || (!self.locks_reach && elsewhere());
        if is_unknown { UNSEEN } else { DIED }
    }
}

/// Whether a program holds the transcript of a run, as it does while it draws.
pub(super) fn is_locked(directory: &Path) -> bool {
    let transcript = directory.join(TRANSCRIPT);
    let is_file = fs::symlink_metadata(&transcript).is_ok_and(|about| about.is_file());
    let file = is_file.then(|| fs::File::open(&transcript).ok()).flatten();
    file.is_some_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// The folders in a folder; none if it does not exist.
pub fn directories(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).if_there().doing("list the runs", folder)?;
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    Ok(entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(is_folder)
        .map(|entry| entry.path())
        .collect())
}

/// The path of a run that a user names by its path, or by its name or that of its plan in the workspace
/// of the current folder. Names of files are given back as they are.
pub fn run_named(named: &Path) -> Result<PathBuf> {
    let of_file = |ending| ["ron", "json", "jsonl", "safetensors"].iter().any(|it| ending == *it);
    if named.exists() || named.extension().is_some_and(of_file) {
        return Ok(named.to_path_buf());
    }
    run_in(&Workspace::of(Path::new("."))?, &named.display().to_string())
}

/// The directory of the run in a workspace that has this name, or whose plan has it.
pub fn run_in(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let mut runs = directories(&workspace.folder().join("runs"))?;
    // The newest first.
    runs.sort_by(|a, b| b.cmp(a));
    let id = |run: &Path| run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(run) = runs.iter().find(|run| id(run) == name) {
        return Ok(run.clone());
    }
    let plan = |run: &PathBuf| {
        let plans = Session::open(&run.join(SESSION)).ok()?.plans;
        <[PlanDefinition; 1]>::try_from(plans).ok().map(|[plan]| (run.clone(), plan))
    };
    let plans: Vec<(PathBuf, PlanDefinition)> = runs.iter().filter_map(plan).collect();
    let of_plan: Vec<_> = plans.iter().filter(|(_, plan)| plan.name == name).collect();
    let cure = match of_plan.as_slice() {
        [(run, _)] => return Ok(run.clone()),
        [] if runs.is_empty() => "name a run directory, such as .halflight/runs/RUN".to_owned(),
        [] => {
            let mut known: Vec<String> = plans.iter().map(|(_, plan)| plan.name.clone()).collect();
            known.dedup();
            known.extend(runs.iter().map(|run| id(run)));
            names::hint("runs", &id(Path::new(name)), &known)
        }
        several => {
            let one = |(run, plan): &&(PathBuf, PlanDefinition)| {
                format!("{} (ε {})", id(run), plan.target.epsilon)
            };
            let shown: Vec<String> = several.iter().take(MOST_NAMESAKES).map(one).collect();
            let error = format!("{} runs have a plan of this name", several.len());
            let cure = format!("name one of them: {}", shown.join(", "));
            return Err(Error::usage(error).at(name.to_owned()).cure(cure));
        }
    };
    Err(Error::usage("there is no run or file of this name here").at(name.to_owned()).cure(cure))
}

/// One run, with everything that can be read.
pub fn read_run(directory: &Path) -> ArchivedRun {
    let mut run = read_head(directory);
    read_rest(&mut run, &mut StepReader::new(directory, true));
    run
}

/// Reads the steps of a run, and its certificate if there is one.
pub(super) fn read_rest(run: &mut ArchivedRun, steps: &mut StepReader) -> bool {
    match steps.read() {
        Ok(growth) => run.grow(&growth),
        Err(error) => run.trouble = Some(error.to_string()),
    }
    run.wrote = steps.written();
    read_end(run)
}

/// The files in a run's directory from its beginning.
pub(super) fn read_head(directory: &Path) -> ArchivedRun {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut run = ArchivedRun::unread(RunId(name), directory);
    match Session::open(&directory.join(SESSION)) {
        Ok(session) => {
            if is_choice(&run.id) {
                let names = session.plans.iter().map(|plan| plan.name.clone());
                let candidates: Vec<String> = names.collect();
                run.choice = Some(ArchivedChoice { candidates, result: None, is_of_plan: false });
            }
            let private = session.plans.first().map(|plan| &plan.private);
            let budget = private.and_then(|private| session.budgets.get(private));
            run.budget_delta = budget.map(|budget| budget.delta);
            (run.plan, run.data) = (session.plans.into_iter().next(), session.datasets);
            if let (Some(plan), Some(choice)) = (&mut run.plan, &run.choice) {
                plan.name = format!("choice among {}", choice.candidates.join(", "));
            }
        }
        Err(error) => run.trouble = Some(error.to_string()),
    }
    let tag = fs::read_to_string(directory.join(TAG)).unwrap_or_default();
    run.tag = harmless(&tag, LONGEST_TAG);
    run.process = RunDirectory::process(directory);
    (run.sites, run.one_noise) = sites(&directory.join(SITES)).unwrap_or_default();
    run
}

/// The other sites of a joint run, from its file of sites, and their common noise.
fn sites(path: &Path) -> Option<(Vec<String>, Option<SharedNoise>)> {
    let text: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let place = &text["place"];
    let names = || place["sites"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let others = names().filter(|name| place["name"] != *name);
    let may_collude = place["may_collude"].as_u64();
    let one_noise = may_collude
        .map(|number| SharedNoise { sites: names().count(), may_collude: number as usize });
    Some((others.map(|name| harmless(name, LONGEST_TAG)).collect(), one_noise))
}

/// Where a certificate lists earlier looks at exact numbers.
const LOOKS: &str = "/accounting/pre_processing_eda_hyperparameter_tuning";
/// The ledger's entry for a ranking by exact numbers, which a certificate repeats.
pub const EXACT_RANKING: &str = "unprotected selection: public datasets ranked by exact numbers";

/// Reads the certificate of the run, if there is one.
pub(super) fn read_end(run: &mut ArchivedRun) -> bool {
    let text = fs::read(run.directory.join(CERTIFICATE)).unwrap_or_default();
    let Ok(mut excerpt) = serde_json::from_slice::<CertificateExcerpt>(&text) else { return false };
    if let Some(outcome) = excerpt.outcome.as_str() {
        run.outcome = harmless(outcome, 20);
    }
    run.peeked = excerpt.peeked.as_bool().unwrap_or(true);
    run.later_scores = LaterScore::all(&run.directory);
    let paid = run.later_scores.iter().filter(|it| it.held_out);
    let paid = paid.max_by(|one, other| one.epsilon().total_cmp(&other.epsilon()));
    run.score = serde_json::from_value(excerpt.score).ok().or_else(|| Some(paid?.score.clone()));
    run.source_weights = serde_json::from_value(excerpt.source_weights).unwrap_or_default();
    let numbers = excerpt.guarantee["epsilon"].as_f64().zip(excerpt.guarantee["delta"].as_f64());
    run.guarantee = numbers.map(|(epsilon, delta)| Target { epsilon, delta });
    let starts = excerpt.start.get_mut("runs").map(Value::take);
    let looks = excerpt.registry.pointer(LOOKS).and_then(Value::as_str);
    run.was_ranked = looks.is_some_and(|looks| looks.contains(EXACT_RANKING));
    run.drawn = starts.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
    run.drawn.extend(serde_json::from_slice::<DrawnRun>(&text).ok());
    if let Ok(chosen) = serde_json::from_value::<ChosenPlan>(excerpt.chosen)
        && let Ok(session) = Session::open(&run.directory.join(SESSION))
    {
        // For public data alone, the common part of all plans.
        let winner = chosen.winner.as_deref().unwrap_or("nothing");
        let plan = session.plans.iter().find(|plan| plan.name == winner);
        run.plan = plan
            .or(session.plans.first())
            .map(|plan| PlanDefinition { name: format!("chosen: {winner}"), ..plan.clone() });
        let result = harmless(&chosen.sentence, LONGEST_TAG);
        run.choice = Some(ArchivedChoice {
            candidates: chosen.candidates.iter().map(|name| harmless(name, LONGEST_TAG)).collect(),
            result: Some(result).filter(|result| !result.is_empty()),
            is_of_plan: plan.is_some(),
        });
    }
    true
}

/// The part of a certificate that a table shows. Certificates are long and there are many, so the
/// rest is skipped unread.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CertificateExcerpt {
    outcome: Value,
    peeked: Value,
    score: Value,
    source_weights: Value,
    guarantee: Value,
    start: Value,
    registry: Value,
    chosen: Value,
}

/// The part of a certificate about a choice that a table shows.
#[derive(Deserialize)]
struct ChosenPlan {
    winner: Option<String>,
    #[serde(default)]
    candidates: Vec<String>,
    #[serde(default)]
    sentence: String,
}

/// Whether a run is a choice, by its name: `20260131-235959-choice`, perhaps with a number after it.
fn is_choice(run: &RunId) -> bool {
    run.0.split('-').nth(2) == Some(CHOICE)
}

/// `20260131-235959-…` as `2026-01-31 23:59:59`; another name has no time.
pub(super) fn time_of(name: &str) -> String {
    let digits = |range: std::ops::Range<usize>| {
        name.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts = [0..4, 4..6, 6..8, 9..11, 11..13, 13..15].map(digits);
    match parts {
        [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)]
            if name.as_bytes().get(8) == Some(&b'-') =>
        {
            format!("{year}-{month}-{day} {hour}:{minute}:{second}")
        }
        _ => String::new(),
    }
}

/// Sets or removes the curator's remark on a run.
pub fn tag(workspace: &Workspace, run: &RunId, text: &str) -> Result<()> {
    let path = existing(workspace, run)?.join(TAG);
    files::write_private(&path, format!("{}\n", text.trim()).as_bytes())
}

/// Removes a run's directory. What the ledger says about it stays. A run that is under way needs
/// its directory: without it, it would continue, spend, and lose its model.
pub fn delete(workspace: &Workspace, run: &RunId) -> Result<()> {
    let path = existing(workspace, run)?;
    if workspace.existing_ledger()?.is_alive(run) {
        let process = RunDirectory::process(&path);
        let process = process.map_or_else(|| "another process".to_owned(), |it| it.to_string());
        return Err(Error::refused(format!("this run is under way in {process}"))
            .at(path.display().to_string())
            .cure("stop it there first"));
    }
    step::remove_folder(&path).doing("remove the run", &path)
}

/// The directory of a run, which must be a plain name below the runs' folder.
fn existing(workspace: &Workspace, run: &RunId) -> Result<PathBuf> {
    let path = workspace.run_directory(run);
    let plain = Path::new(&run.0).file_name().is_some_and(|name| *name == *run.0);
    if plain && path.is_dir() {
        return Ok(path);
    }
    Err(Error::failed("there is no such run in this workspace")
        .at(path.display().to_string())
        .cure("a task of a sweep is one of its runs once the sweep is collected"))
}

#[cfg(test)]
mod tests {
    use super::super::follow::{Follower, Place};
    use super::*;
    use crate::privacy::openings::OpenWatch;

    fn workspace_with(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        for (name, text) in files {
            let path = workspace.folder().join("runs").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (directory, workspace)
    }

    /// All runs of the workspace, the newest first.
    fn read(workspace: &Workspace) -> Vec<ArchivedRun> {
        let place = Place::Workspace(workspace.clone());
        Follower::new(vec![place], true).read().unwrap()
    }

    #[test]
    fn a_run_that_died_has_the_epsilon_that_it_reserved() {
        let mut run = ArchivedRun::unread(RunId("r".to_owned()), Path::new("/nowhere"));
        run.plan = super::super::demo::session("bikeshare").unwrap().plans.into_iter().next();
        run.plan.as_mut().unwrap().target.epsilon = 2.0;
        run.epsilon = vec![(1.0, 0.25), (2.0, 0.375)];
        let of =
            |outcome: &str| epsilon(&ArchivedRun { outcome: outcome.to_owned(), ..run.clone() });
        assert_eq!([RUNNING, PAUSED, DIED].map(of), [Some(0.375), Some(0.375), Some(2.0)]);
        let guarantee = Some(Target { epsilon: 0.5, delta: 1e-6 });
        assert_eq!(
            epsilon(&ArchivedRun { outcome: DIED.into(), guarantee, ..run.clone() }),
            Some(0.5)
        );
    }

    #[test]
    fn only_errors_of_classes_are_shares_that_are_told_in_percent() {
        let classes = Some(Task::Classification);
        for (series, value, told) in [
            (Series::PublicError, 0.225, "22.5 %"),
            (Series::PublicBalancedAccuracy, 77.5, "77.50"),
            (Series::PrivateAuc, 0.8125, "0.8125"),
        ] {
            assert_eq!(cell(classes, series, value), told);
        }
        assert_eq!(cell(Some(Task::Regression), Series::PrivateError, 0.225), "0.2250");
    }

    #[test]
    fn a_run_under_way_elsewhere_says_so_and_is_not_deleted() {
        let name = "20260131-235958-moment_release-00";
        let (_keep, workspace) = workspace_with(&[(&format!("{name}/process"), "4711\n")]);
        let outcome = || read(&workspace)[0].outcome.clone();
        assert_eq!(outcome(), DIED);
        let open = workspace.folder().join("open");
        fs::create_dir_all(&open).unwrap();
        let mark = fs::File::create(open.join(format!("{name}.lock"))).unwrap();
        mark.lock().unwrap();
        assert_eq!(outcome(), RUNNING);
        let refused = delete(&workspace, &RunId(name.to_owned())).unwrap_err().to_string();
        assert!(refused.contains("under way in process 4711"), "{refused}");
        drop(mark);
        assert_eq!(outcome(), DIED);
        delete(&workspace, &RunId(name.to_owned())).unwrap();
        assert!(read(&workspace).is_empty());
    }

    #[test]
    fn what_a_dead_machine_did_not_say_is_not_guessed() {
        let name = "20260131-235958-moment_release-00";
        let (_keep, workspace) =
            workspace_with(&[(&format!("{name}/process"), "process 4711 on node3\n")]);
        let (run, directory) =
            (RunId(name.to_owned()), workspace.run_directory(&RunId(name.into())));
        let mut fates = RunFates::of(&workspace);
        fates.locks_reach = true;
        assert_eq!(fates.outcome(&run, &directory), DIED);
        // Its lock may be held where this machine cannot see it.
        fates.locks_reach = false;
        assert_eq!(fates.outcome(&run, &directory), UNSEEN);
        let process = RunDirectory::process(&directory);
        let words = fates.why_unseen(process.as_ref());
        assert!(words.contains("process 4711 on node3 carried it out"), "{words}");
        // The lock of the ledger is left over from a machine that was switched off.
        fates.locks_reach = true;
        let stale = fs::File::create(workspace.folder().join("ledger.lock")).unwrap();
        stale.lock().unwrap();
        let holder = "process 7 on node\u{1b}[2J9, since 2026-01-31 23:59:58 UTC\n";
        fs::write(workspace.folder().join("ledger.lock"), holder).unwrap();
        fates.read();
        assert_eq!(fates.outcome(&run, &directory), UNSEEN);
        let words = fates.why_unseen(process.as_ref());
        assert!(words.contains("held by process 7 on node"), "{words}");
        assert!(words.contains("since 2026-01-31") && !words.contains('\x1b'), "{words}");
        drop(stale);
        fates.held = None;
        fates.read();
        assert_eq!(fates.outcome(&run, &directory), DIED);
    }

    #[test]
    fn a_run_is_read_back_with_its_exact_numbers_under_seal() {
        let name = "20260131-235958-moment_release-00";
        let (_keep, workspace) = workspace_with(&[
            (
                &format!("{name}/events.jsonl"),
                concat!(
                    r#"{"step":1,"of":2,"phase":"a","epsilon":0.5,"values":{"public_error":{"value":3.5,"standing":"released"},"from_the_future":{"value":1}}}"#,
                    "\n",
                    r#"{"step":2,"of":2,"phase":"a","epsilon":1.0,"values":{"public_error":{"value":2.5,"standing":"released"}}}"#,
                    "\n{\"step\":3,"
                ),
            ),
            (&format!("{name}/curator.jsonl"), "{\"step\":1,\"values\":{\"private_error\":7.5}}\n"),
            (
                &format!("{name}/certificate.json"),
                r#"{"outcome":"finished","peeked":true,"guarantee":{"epsilon":1.0,"delta":1e-6}}"#,
            ),
            ("stray/other.txt", "not a run"),
        ]);
        let runs = read(&workspace);
        assert_eq!(runs.len(), 2);
        let run = runs.iter().find(|run| run.id.0 == name).unwrap();
        assert_eq!(run.time, "2026-01-31 23:59:58");
        assert_eq!((run.steps, run.of, run.outcome.as_str()), (2, 2, "finished"));
        assert_eq!(run.curves[&Series::PublicError], [(1.0, 3.5), (2.0, 2.5)]);
        assert_eq!(run.guarantee.unwrap().delta, 1e-6);
        let watch = Watch::open();
        let exact = run.exact.as_ref().unwrap();
        assert_eq!(exact.reveal(&watch).unwrap()[&Series::PrivateError], [(1.0, 7.5)]);
        watch.seal(true);
        assert!(exact.reveal(&watch).is_none());
        assert!(!format!("{run:?}").contains("7.5"), "exact numbers are not printed");
        let stray = runs.iter().find(|run| run.id.0 == "stray").unwrap();
        assert!(stray.trouble.is_some() && stray.time.is_empty() && stray.exact.is_none());
    }

    #[test]
    fn runs_are_tagged_and_deleted_by_name_only() {
        let (_keep, workspace) = workspace_with(&[("20260131-235958-x-00/events.jsonl", "")]);
        let id = RunId("20260131-235958-x-00".to_owned());
        tag(&workspace, &id, " the good one ").unwrap();
        assert_eq!(read(&workspace)[0].tag, "the good one");
        for outside in ["..", "../runs", ".", "", "a/../20260131-235958-x-00"] {
            assert!(delete(&workspace, &RunId(outside.to_owned())).is_err(), "{outside}");
        }
        delete(&workspace, &id).unwrap();
        assert!(read(&workspace).is_empty());
        assert!(delete(&workspace, &id).is_err());
    }
}
