//! Follows runs by their files alone: those of a headless command, another interface, a task of a
//! sweep, another machine.
//!
//! A [`Follower`] reads every run of its places once, and from then on only changes: new
//! directories, added lines, the state of the ledger and of locks. It polls, which works on every
//! disk; [`Follower::pause`] says how soon to look again. It never writes into the places that it
//! follows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::archive::{
    self, ArchivedRun, GrownRun, MISSING, NOT_BEGUN, PAUSED, RUNNING, RunFates, UNSEEN,
    directories, is_end,
};
pub use super::place::Place;
use super::run_directory::{CERTIFICATE, RunDirectory, SESSION};
use super::run_steps::{RunGrowth, StepReader};
use super::site_board::SiteBoard;
use super::slurm::{QUEUE, SlurmQueue};
use super::sweep::{SweepDirectory, TaskState};
use super::workspace::Workspace;
use super::{Session, steering};
use crate::error::Result;
use crate::files::words::harmless;
use crate::numeric::parallel;
use crate::privacy::ledger::{RunId, RunOutcome};

/// The time between two looks at runs that grow, that are at work, and that have ended.
const GROWING: Duration = Duration::from_millis(200);
const WORKING: Duration = Duration::from_millis(500);
const IDLE: Duration = Duration::from_secs(2);
/// How often a run that does not grow is checked for being alive.
const ASKED: Duration = Duration::from_secs(1);
/// A run that wrote this recently is at work, whatever its lock says.
const LATELY: Duration = Duration::from_secs(10);
/// Changes that are this far apart can be told apart by the time of their folder.
const COARSE: Duration = Duration::from_secs(3);
/// How often it is reported that a run is quiet.
const QUIET: Duration = Duration::from_secs(5);

/// Of a task that was begun and given up.
const GIVEN_UP_WORDS: &str = "it has no result and was given up: all of its ε stays charged";

/// From this many runs on, reading takes a while.
const MANY: usize = 300;

/// The changes since the last look.
#[derive(Debug, Default)]
pub struct RunNews {
    /// New runs.
    pub added: Vec<ArchivedRun>,
    pub grown: Vec<GrownRun>,
    /// Runs that were read again, because they ended or their files were replaced.
    pub changed: Vec<ArchivedRun>,
    pub gone: Vec<RunId>,
}

impl RunNews {
    pub fn is_nothing(&self) -> bool {
        self.added.is_empty()
            && self.grown.is_empty()
            && self.changed.is_empty()
            && self.gone.is_empty()
    }
}

/// A run's directory, and the source of its state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundRun {
    directory: PathBuf,
    of: Home,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Home {
    /// The fates of this number.
    Workspace(usize),
    /// A task of the sweep of this number.
    Sweep(usize, usize),
}

/// A run that has not ended.
#[derive(Debug)]
struct Open {
    found: FoundRun,
    steps: StepReader,
    /// Whether the run can be read; a task that is not begun cannot.
    is_begun: bool,
    outcome: &'static str,
    wrote: Option<SystemTime>,
    trouble: Option<String>,
    /// When it last grew, was last checked, and was last reported.
    grew: Option<Instant>,
    asked: Instant,
    told: Instant,
    /// Whether its beginning could not be read yet.
    is_half: bool,
    /// The sites of a joint run, and when they were looked at.
    board: Option<(SiteBoard, Instant)>,
}

#[derive(Debug, Default)]
pub struct Follower {
    places: Vec<Place>,
    /// Whether exact numbers are also read.
    exact: bool,
    fates: Vec<RunFates>,
    sweeps: Vec<SweepDirectory>,
    /// The queues of sweeps that were submitted to Slurm.
    queues: Vec<Option<SlurmQueue>>,
    /// How long to wait for their first answer.
    patience: Duration,
    known: BTreeMap<RunId, FoundRun>,
    open: BTreeMap<RunId, Open>,
    /// Listed folders, with their times and the times of listing.
    listed: Vec<(PathBuf, Option<SystemTime>)>,
    listed_at: Option<SystemTime>,
}

impl Follower {
    pub fn new(places: Vec<Place>, exact: bool) -> Self {
        Self { places, exact, ..Self::default() }
    }

    /// Sets how long to wait for the first answer of Slurm's queue.
    pub fn waiting_for_queues(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Reads every run, the newest first; [`Self::look`] reports later changes.
    pub fn read(&mut self) -> Result<Vec<ArchivedRun>> {
        (self.fates, self.sweeps, self.queues) = (Vec::new(), Vec::new(), Vec::new());
        self.known = self.list()?;
        self.open.clear();
        let found = self.known.clone().into_iter().collect();
        let mut runs = self.begin(found);
        runs.sort_by(|a, b| b.id.cmp(&a.id));
        Ok(runs)
    }

    /// If there are many runs, the parts that can be read quickly: all but their steps.
    pub fn heads(&mut self) -> Result<Option<Vec<ArchivedRun>>> {
        let found: Vec<(RunId, FoundRun)> = self.list()?.into_iter().collect();
        if found.len() < MANY {
            return Ok(None);
        }
        let read = |index: usize| {
            let (run, FoundRun { directory, .. }) = &found[index];
            let mut run = head_of(run, directory);
            archive::read_end(&mut run);
            run
        };
        let mut runs = parallel::map(found.len(), read);
        runs.sort_by(|a, b| b.id.cmp(&a.id));
        Ok(Some(runs))
    }

    /// The changes since the last call.
    pub fn look(&mut self) -> Result<RunNews> {
        let mut news = RunNews::default();
        if self.is_listing_due() {
            let before = std::mem::take(&mut self.known);
            self.known = self.list()?;
            let new = self.known.iter().filter(|(run, found)| before.get(*run) != Some(*found));
            let new = new.map(|(run, found)| (run.clone(), found.clone())).collect();
            for run in before.keys().filter(|run| !self.known.contains_key(*run)) {
                self.open.remove(run);
                news.gone.push(run.clone());
            }
            for run in self.begin(new) {
                // A collected run is in another place now.
                let list =
                    if before.contains_key(&run.id) { &mut news.changed } else { &mut news.added };
                list.push(run);
            }
        }
        let runs: Vec<RunId> = self.open.keys().cloned().collect();
        for run in runs {
            self.look_at(run, &mut news);
        }
        Ok(news)
    }

    /// How long to wait before the next look.
    pub fn pause(&self) -> Duration {
        let grew = |open: &Open| open.grew.is_some_and(|at| at.elapsed() < LATELY);
        if self.open.values().any(grew) {
            GROWING
        } else if self.open.values().any(|it| matches!(it.outcome, RUNNING | PAUSED)) {
            WORKING
        } else {
            IDLE
        }
    }

    /// Reads the beginning of these runs, and follows those that have no end.
    fn begin(&mut self, found: Vec<(RunId, FoundRun)>) -> Vec<ArchivedRun> {
        let (exact, sweeps) = (self.exact, &self.sweeps);
        let read = |index: usize| {
            let (run, found) = &found[index];
            let directory = &found.directory;
            let mut steps = StepReader::new(directory, exact);
            let is_begun = directory.is_dir();
            let mut archived = head_of(run, directory);
            if let (None, Home::Sweep(sweep, task)) = (&archived.plan, &found.of) {
                let session = Session::open(&sweeps[*sweep].task(*task).session_file());
                archived.plan = session.ok().and_then(|session| session.plans.into_iter().next());
            }
            let has_ended = archive::read_rest(&mut archived, &mut steps);
            (archived, steps, is_begun, has_ended)
        };
        let all = parallel::map(found.len(), read);
        let mut runs = Vec::with_capacity(found.len());
        for ((mut run, steps, is_begun, has_ended), (_, found)) in all.into_iter().zip(found) {
            if !has_ended {
                let (outcome, trouble) = self.outcome_of(&run.id, &found, false);
                outcome.clone_into(&mut run.outcome);
                run.trouble = trouble.clone().or(run.trouble);
                if !is_end(outcome) {
                    let mut board =
                        SiteBoard::open(&found.directory).filter(|_| !run.sites.is_empty());
                    run.board = board.as_mut().and_then(SiteBoard::look).unwrap_or_default();
                    let is_half = is_begun && !found.directory.join(SESSION).exists();
                    let open = Open {
                        found,
                        steps,
                        is_begun,
                        outcome,
                        wrote: run.wrote,
                        trouble,
                        grew: None,
                        asked: Instant::now(),
                        told: Instant::now(),
                        is_half,
                        board: board.map(|board| (board, Instant::now())),
                    };
                    self.open.insert(run.id.clone(), open);
                }
            }
            runs.push(run);
        }
        runs
    }

    /// The state of a run without a certificate, and what more there is to say about it.
    fn outcome_of(
        &mut self,
        run: &RunId,
        found: &FoundRun,
        again: bool,
    ) -> (&'static str, Option<String>) {
        let directory = &found.directory;
        match found.of {
            Home::Workspace(number) => {
                let fates = &mut self.fates[number];
                let mut word = fates.outcome(run, directory);
                if again && !matches!(word, RUNNING | PAUSED) {
                    // Its program is gone, so the ledger is asked.
                    fates.read();
                    word = fates.outcome(run, directory);
                }
                let why = || fates.why_unseen(RunDirectory::process(directory).as_ref());
                (word, (word == UNSEEN).then(why))
            }
            Home::Sweep(sweep, task) => self
                .outcome_of_task(sweep, task, directory, again)
                .unwrap_or_else(|error| (UNSEEN, Some(error.to_string()))),
        }
    }

    fn outcome_of_task(
        &mut self,
        sweep: usize,
        task: usize,
        directory: &Path,
        again: bool,
    ) -> Result<(&'static str, Option<String>)> {
        let state = self.state_of_task(sweep, task, again)?;
        let mut queue = || self.queues[sweep].as_mut().and_then(|queue| queue.state(task));
        Ok(match state {
            TaskState::NotBegun => {
                let queue = queue().filter(|it| !it.is_empty());
                (NOT_BEGUN, queue.map(|it| format!("{QUEUE}{it}")))
            }
            TaskState::Running if steering::is_paused(directory) => (PAUSED, None),
            TaskState::Running => (RUNNING, None),
            TaskState::Missing { claim } => {
                let more = match queue().as_deref() {
                    Some(state) if state.starts_with("RUNNING") => return Ok((RUNNING, None)),
                    Some("") => "; the queue does not have it any more".to_owned(),
                    Some(state) => format!("; queue: {state}"),
                    None => String::new(),
                };
                let claim = harmless(&claim, 200);
                (MISSING, Some(format!("taken by {claim}, without a result{more}")))
            }
            TaskState::Ended(result) => {
                // A directory is there where it was begun.
                let given_up = result.outcome == RunOutcome::Abandoned && directory.is_dir();
                let trouble = result.trouble.map(|trouble| harmless(&trouble, 2000));
                let given_up = given_up.then(|| GIVEN_UP_WORDS.to_owned());
                (result.outcome.words(), given_up.or(trouble))
            }
        })
    }

    /// Where a task stands, by the ledger too where it has no result.
    fn state_of_task(&mut self, sweep: usize, task: usize, again: bool) -> Result<TaskState> {
        let state = self.sweeps[sweep].state(task)?;
        if !matches!(state, TaskState::Missing { .. }) {
            return Ok(state);
        }
        let folder = self.sweeps[sweep].manifest.workspace.clone();
        let number = self.fates_of(&Workspace::with_folder(&folder, &folder));
        if again {
            self.fates[number].read();
        }
        self.sweeps[sweep].state_by(task, self.fates[number].book())
    }

    fn look_at(&mut self, run: RunId, news: &mut RunNews) {
        let Some(mut open) = self.open.remove(&run) else { return };
        let read = if open.is_begun { open.steps.read().ok() } else { Some(RunGrowth::default()) };
        let growth = read.unwrap_or_default();
        if growth.added > 0 {
            (open.grew, open.wrote) = (Some(Instant::now()), Some(SystemTime::now()));
        }
        let is_due = growth.is_nothing() && open.asked.elapsed() >= ASKED;
        let is_over = || open.found.directory.join(CERTIFICATE).exists();
        let (mut outcome, mut trouble) = (open.outcome, None);
        // A waiting run may have taken its last step just now.
        let waits = || open.outcome == PAUSED && steering::is_paused(&open.found.directory);
        if growth.added > 0 && !waits() {
            outcome = RUNNING;
        }
        let is_whole = open.is_half && open.found.directory.join(SESSION).exists();
        if is_due || growth.anew || is_whole {
            open.asked = Instant::now();
            let told;
            (outcome, told) = self.outcome_of(&run, &open.found, true);
            let lately = open.grew.is_some_and(|at| at.elapsed() < LATELY);
            if lately && matches!(outcome, MISSING | UNSEEN) {
                outcome = RUNNING;
            }
            let has_begun = !open.is_begun && open.found.directory.is_dir();
            if is_over() || is_end(outcome) || growth.anew || is_whole || has_begun {
                news.changed.extend(self.begin(vec![(run, open.found)]));
                return;
            }
            if told != open.trouble {
                trouble = Some(told.clone().unwrap_or_default());
                open.trouble = told;
            }
        }
        let is_quiet = outcome == RUNNING && open.told.elapsed() >= QUIET;
        let due = open.board.as_mut().filter(|(_, at)| at.elapsed() >= ASKED);
        let board = due.and_then(|(board, at)| {
            *at = Instant::now();
            board.look()
        });
        let is_news = !growth.is_nothing() || trouble.is_some() || board.is_some();
        if is_news || outcome != open.outcome || is_quiet {
            (open.told, open.outcome) = (Instant::now(), outcome);
            let (run, wrote, outcome) = (run.clone(), open.wrote, outcome.to_owned());
            news.grown.push(GrownRun { run, growth, outcome, wrote, trouble, board });
        }
        self.open.insert(run, open);
    }

    /// Whether the entries of a folder have changed, or may have, since it was listed.
    fn is_listing_due(&self) -> bool {
        // The clock of a disk may be ahead of ours; then the time is unknown.
        let recent = |at: &SystemTime| {
            let is_late =
                |time: &SystemTime| at.duration_since(*time).map_or(true, |since| since < COARSE);
            at.elapsed().map_or(true, |since| since < COARSE)
                && self.listed.iter().any(|(_, time)| time.as_ref().is_some_and(is_late))
        };
        self.listed.iter().any(|(path, before)| changed_at(path) != *before)
            || self.listed_at.as_ref().is_some_and(recent)
    }

    /// All runs.
    fn list(&mut self) -> Result<BTreeMap<RunId, FoundRun>> {
        let (mut runs, mut listed) = (BTreeMap::new(), Vec::new());
        let now = SystemTime::now();
        for place in self.places.clone() {
            match place {
                Place::Workspace(workspace) => {
                    let folder = workspace.folder().to_path_buf();
                    let number = self.fates_of(&workspace);
                    listed.push(folder.join("runs"));
                    for directory in directories(&folder.join("runs"))? {
                        let found = FoundRun { directory, of: Home::Workspace(number) };
                        runs.entry(name_of(&found.directory)).or_insert(found);
                    }
                    listed.push(folder.join("sweeps"));
                    for path in directories(&folder.join("sweeps")).unwrap_or_default() {
                        let Ok(sweep) = SweepDirectory::open(&path) else { continue };
                        listed.push(path.join("runs"));
                        self.list_sweep(&sweep, false, &mut runs);
                    }
                }
                Place::Sweep(sweep) => {
                    listed.push(sweep.path().to_path_buf());
                    listed.push(sweep.path().join("runs"));
                    // If a sweep is gone, none of its tasks is waiting.
                    if sweep.is_there() {
                        self.list_sweep(&sweep, true, &mut runs);
                    }
                }
                Place::Run(directory) => {
                    listed.push(directory.parent().unwrap_or(&directory).to_path_buf());
                    if !directory.is_dir() {
                        continue;
                    }
                    if let Some(sweep) = SweepDirectory::around(&directory) {
                        let mut tasks = BTreeMap::new();
                        self.list_sweep(&sweep, true, &mut tasks);
                        let name = name_of(&directory);
                        runs.extend(tasks.remove(&name).map(|found| (name, found)));
                        continue;
                    }
                    let number = self.fates_of(&Workspace::of(&directory)?);
                    let found = FoundRun { directory, of: Home::Workspace(number) };
                    runs.insert(name_of(&found.directory), found);
                }
            }
        }
        let listed = listed.into_iter().map(|path| (path.clone(), changed_at(&path))).collect();
        // Unchanged folders need no further look.
        if self.listed != listed {
            (self.listed, self.listed_at) = (listed, Some(now));
        }
        Ok(runs)
    }

    fn fates_of(&mut self, workspace: &Workspace) -> usize {
        let same = |fates: &RunFates| fates.workspace().folder() == workspace.folder();
        self.fates.iter().position(same).unwrap_or_else(|| {
            self.fates.push(RunFates::of(workspace));
            self.fates.len() - 1
        })
    }

    fn list_sweep(
        &mut self,
        sweep: &SweepDirectory,
        all: bool,
        runs: &mut BTreeMap<RunId, FoundRun>,
    ) {
        let same = |it: &SweepDirectory| it.path() == sweep.path();
        let number = self.sweeps.iter().position(same).unwrap_or_else(|| {
            self.sweeps.push(sweep.clone());
            self.queues.push(SlurmQueue::of(sweep.path(), self.patience));
            self.sweeps.len() - 1
        });
        let begun: BTreeSet<RunId> = directories(&sweep.path().join("runs"))
            .unwrap_or_default()
            .iter()
            .map(|it| name_of(it))
            .collect();
        for (task, entry) in sweep.manifest.tasks.iter().enumerate() {
            let is_name = Path::new(&entry.run.0).file_name().is_some_and(|it| *it == *entry.run.0);
            if is_name && (all || begun.contains(&entry.run)) {
                let directory = sweep.run_directory(task);
                let found = FoundRun { directory, of: Home::Sweep(number, task) };
                runs.entry(entry.run.clone()).or_insert(found);
            }
        }
    }
}

/// What can be read of the beginning of a run; a task of a sweep may have no directory yet.
fn head_of(run: &RunId, directory: &Path) -> ArchivedRun {
    if directory.is_dir() {
        archive::read_head(directory)
    } else {
        ArchivedRun::unread(run.clone(), directory)
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

fn name_of(directory: &Path) -> RunId {
    RunId(directory.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// A remark about lines in a run's file that are not steps of this version.
pub fn unread_words(lines: u64) -> String {
    match lines {
        1 => "1 line could not be read as a step and is not shown".to_owned(),
        many => format!("{many} lines could not be read as steps and are not shown"),
    }
}

/// `last step 3 s ago`, or a remark that the disk's clock is ahead.
pub fn wrote_words(wrote: Option<SystemTime>) -> String {
    let Some(wrote) = wrote else { return "no step so far".to_owned() };
    match wrote.elapsed() {
        Ok(since) => match since.as_secs() {
            0..=1 => "last step just now".to_owned(),
            seconds @ 2..=119 => format!("last step {seconds} s ago"),
            seconds @ 120..=7199 => format!("last step {} min ago", seconds / 60),
            seconds @ 7200..=172_799 => format!("last step {} h ago", seconds / 3600),
            seconds => format!("last step {} days ago", seconds / 86_400),
        },
        Err(ahead) if ahead.duration().as_secs() < 2 => "last step just now".to_owned(),
        Err(_) => {
            "the time of its last step is not known: the clock of its disk is ahead".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::archive::{DIED, GIVEN_UP};
    use super::super::sweep::TaskEntry;
    use super::super::workspace::FOLDER;
    use super::*;
    use crate::privacy::accountant::{Adjacency, Event, Noise, QueryKind};
    use crate::privacy::ledger::{Budget, DatasetRecord, Grant, RowOrder};
    use crate::privacy::{NoiseSource, Target};

    const NAME: &str = "20260131-235958-moment_release-00";

    fn step(number: u64) -> String {
        format!(
            "{{\"step\":{number},\"of\":9,\"values\":{{\"public_error\":{{\"value\":1.5}}}}}}\n"
        )
    }

    /// A workspace with a run that is at work while the returned file lives.
    fn at_work() -> (tempfile::TempDir, Workspace, PathBuf, fs::File) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let run = workspace.run_directory(&RunId(NAME.to_owned()));
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("process"), "4711\n").unwrap();
        fs::write(run.join("events.jsonl"), step(1)).unwrap();
        let transcript = fs::File::create(run.join("transcript")).unwrap();
        transcript.lock().unwrap();
        (directory, workspace, run, transcript)
    }

    fn append(path: &Path, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Looks until `take` accepts something.
    fn until<T>(follower: &mut Follower, mut take: impl FnMut(RunNews) -> Option<T>) -> T {
        for _ in 0..600 {
            if let Some(found) = take(follower.look().unwrap()) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("waited in vain");
    }

    #[test]
    fn a_run_is_followed_from_its_steps_to_its_death_and_to_its_end() {
        let (_keep, workspace, run, transcript) = at_work();
        let mut follower = Follower::new(vec![Place::Workspace(workspace)], true);
        let runs = follower.read().unwrap();
        assert_eq!((runs.len(), runs[0].steps, runs[0].outcome.as_str()), (1, 1, RUNNING));
        append(&run.join("events.jsonl"), &(step(2) + "{\"step\":3"));
        let news = until(&mut follower, |news| news.grown.into_iter().next());
        assert_eq!((news.growth.steps, news.growth.added, news.growth.skipped), (2, 1, 0));
        append(&run.join("events.jsonl"), &(step(3)[9..].to_owned() + "\x1b[2J\n"));
        let news = until(&mut follower, |news| news.grown.into_iter().next());
        assert_eq!((news.growth.steps, news.growth.skipped), (3, 1));

        fs::write(run.join("paused"), "").unwrap();
        let paused = |news: RunNews| news.grown.into_iter().find(|it| it.outcome == PAUSED);
        until(&mut follower, paused);
        // It continues, with new steps at each look.
        fs::remove_file(run.join("paused")).unwrap();
        append(&run.join("events.jsonl"), &step(4));
        let news = until(&mut follower, |news| news.grown.into_iter().next());
        assert_eq!((news.growth.steps, news.outcome.as_str()), (4, RUNNING));
        drop(transcript);
        let died = |news: RunNews| news.grown.into_iter().find(|it| it.outcome == DIED);
        until(&mut follower, died);
        fs::write(run.join("certificate.json"), r#"{"outcome":"stopped"}"#).unwrap();
        let ended = until(&mut follower, |news| news.changed.into_iter().next());
        assert_eq!((ended.outcome.as_str(), ended.steps), ("stopped", 4));
        assert_eq!(follower.pause(), IDLE);
        assert!(follower.look().unwrap().is_nothing());
        fs::remove_dir_all(&run).unwrap();
        let gone = until(&mut follower, |news| news.gone.into_iter().next());
        assert_eq!(gone.0, NAME);
    }

    #[test]
    fn a_run_that_begins_later_is_met_and_nothing_is_written_by_who_looks() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let mut follower = Follower::new(vec![Place::Workspace(workspace.clone())], true);
        assert!(follower.heads().unwrap().is_none());
        assert!(follower.read().unwrap().is_empty());
        assert!(!directory.path().join(FOLDER).exists());
        let run = workspace.run_directory(&RunId(NAME.to_owned()));
        fs::create_dir_all(&run).unwrap();
        let added = until(&mut follower, |news| news.added.into_iter().next());
        assert!(added.trouble.is_some() && added.outcome == DIED);
        assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
    }

    #[test]
    fn of_many_runs_the_heads_are_there_before_their_steps() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        for number in 0..MANY {
            let run = workspace.run_directory(&RunId(format!("2026-{number:04}")));
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join("events.jsonl"), step(1)).unwrap();
            fs::write(run.join("certificate.json"), r#"{"outcome":"stopped"}"#).unwrap();
        }
        let mut follower = Follower::new(vec![Place::Workspace(workspace)], true);
        let heads = follower.heads().unwrap().unwrap();
        let runs = follower.read().unwrap();
        assert_eq!((heads.len(), runs.len()), (MANY, MANY));
        for (head, run) in heads.iter().zip(&runs) {
            assert_eq!((&head.id, head.outcome.as_str(), head.steps), (&run.id, "stopped", 0));
            assert_eq!((run.outcome.as_str(), run.steps), ("stopped", 1));
        }
    }

    #[test]
    fn every_task_of_a_sweep_stands_on_the_board_begun_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let task = |name: &str| TaskEntry { run: RunId(name.to_owned()), values: Vec::new() };
        let path = directory.path().join("sweep");
        let tasks = vec![task("a"), task("b"), task("../../outside")];
        let sweep = SweepDirectory::create(&path, "p", &workspace, tasks).unwrap();
        for index in 0..2 {
            fs::create_dir_all(sweep.task(index).path()).unwrap();
        }
        let mut follower = Follower::new(vec![Place::of(&path).unwrap()], false);
        let runs = follower.read().unwrap();
        let outcomes: Vec<&str> = runs.iter().map(|run| run.outcome.as_str()).collect();
        assert_eq!(outcomes, [NOT_BEGUN, NOT_BEGUN], "a name that leads elsewhere is none");
        sweep.task(1).claim().unwrap();
        fs::create_dir_all(sweep.run_directory(1)).unwrap();
        let run = until(&mut follower, |news| news.changed.into_iter().next());
        assert_eq!((run.id.0.as_str(), run.outcome.as_str()), ("b", MISSING));
        assert!(run.trouble.unwrap().contains("taken by process"));
    }

    #[test]
    fn a_task_that_died_and_was_given_up_says_so_and_no_longer_that_it_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let record = DatasetRecord {
            name: "ours".to_owned(),
            origin: "/a.csv".to_owned(),
            content: "c".to_owned(),
            view: "v".to_owned(),
            rows: 10,
            ..DatasetRecord::default()
        };
        let mut ledger = workspace.ledger().unwrap();
        let account = ledger.register(&record).unwrap();
        ledger.set_budget(&account, Budget::new(9.0, 1e-3)).unwrap();
        let event = Event {
            label: "gradient".to_owned(),
            what: "a gradient".to_owned(),
            mechanism: QueryKind::Gaussian.query(0.1, 1).with(Noise::ideal(1.0)),
            count: 4,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        };
        let grant = Grant {
            run: RunId("a".to_owned()),
            account,
            method: "m".to_owned(),
            target: Target { epsilon: 1.0, delta: 1e-6 },
            events: vec![event],
            allow_large_delta: false,
            noise: NoiseSource::Secret,
            unit: None,
            order: RowOrder::Secret,
            one_noise: None,
        };
        ledger.grant_carried(&[grant]).unwrap();
        let path = workspace.folder().join("sweeps").join("one");
        let tasks = vec![TaskEntry { run: RunId("a".to_owned()), values: Vec::new() }];
        let sweep = SweepDirectory::create(&path, "p", &workspace, tasks).unwrap();
        fs::create_dir_all(sweep.task(0).path()).unwrap();
        fs::create_dir_all(sweep.run_directory(0)).unwrap();
        sweep.task(0).claim().unwrap();
        let mut follower = Follower::new(vec![Place::Workspace(workspace)], false);
        assert_eq!(follower.read().unwrap()[0].outcome, MISSING);
        ledger.settle(&RunId("a".to_owned()), &[4], RunOutcome::Abandoned, true).unwrap();
        let run = until(&mut follower, |news| news.changed.into_iter().next());
        assert_eq!((run.outcome.as_str(), run.is_settled()), (GIVEN_UP, true));
        assert_eq!(run.trouble.as_deref(), Some(GIVEN_UP_WORDS));
    }

    #[test]
    fn what_cannot_be_watched_is_refused_with_what_can() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.txt");
        fs::write(&file, "").unwrap();
        for (path, cure) in [
            (file.as_path(), "name a session"),
            (Path::new("no-such-run"), "name a run directory"),
            (Path::new("/no/such"), "name a run directory"),
        ] {
            let error = Place::of(path).unwrap_err().to_string();
            assert!(error.contains(cure), "{error}");
        }
    }

    #[test]
    fn how_long_ago_it_wrote_is_told_and_a_clock_that_is_ahead_is_no_time() {
        let ago = |seconds| Some(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(wrote_words(None), "no step so far");
        assert_eq!(wrote_words(ago(0)), "last step just now");
        assert_eq!(wrote_words(ago(65)), "last step 65 s ago");
        assert_eq!(wrote_words(ago(300)), "last step 5 min ago");
        let ahead = Some(SystemTime::now() + Duration::from_hours(1));
        assert!(wrote_words(ahead).contains("not known"));
    }
}
