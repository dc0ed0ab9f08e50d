//! Changes as lines: for people, or one JSON value each for programs. Public and released numbers
//! only.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::messages;
use crate::error::{Error, Result};
use crate::files::words::harmless;
use crate::methods::Series;
use crate::privacy::Watch;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::RunId;
use crate::session::archive::{self, ArchivedRun, DIED, GrownRun, UNSEEN};
use crate::session::follow::{Follower, Place, unread_words, wrote_words};
use crate::session::run_steps::Curves;
use crate::session::site_board::{SiteLine, SiteStanding};
use crate::session::tensorboard::Board;
use crate::verdict::error_cell;

/// The longest wait of a single look for Slurm's queue.
const QUEUE_PATIENCE: Duration = Duration::from_secs(3);
/// People can read at most one line a second about a run.
const LINE_INTERVAL: Duration = Duration::from_secs(1);
/// The name of the ε spent so far among a step's numbers.
const EPSILON: &str = "epsilon";
/// Longer names are cut.
const LONGEST_NAME: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Plain,
    Json,
}

/// How to report runs.
#[derive(Debug, Clone, Copy)]
pub struct WatchOptions<'a> {
    pub form: Form,
    /// Whether to report only the current state.
    pub once: bool,
    /// The directory for event files, which get the steps too.
    pub tensorboard: Option<&'a Path>,
}

/// Why no more lines are printed.
pub(super) enum Ended {
    /// Nobody reads them any more.
    Closed,
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) type Printed = std::result::Result<(), Ended>;

/// A closed pipe ends the watch, and is no error.
pub(super) fn finish(printed: Printed) -> Result<()> {
    match printed {
        Err(Ended::Failed(error)) => Err(error),
        Err(Ended::Closed) | Ok(()) => Ok(()),
    }
}

/// Follows the runs of these places: to their end if they were named, or else for ever.
pub fn follow(places: Vec<Place>, options: WatchOptions<'_>) -> Result<()> {
    finish(print_all(places, options))
}

fn print_all(places: Vec<Place>, options: WatchOptions<'_>) -> Printed {
    let once = options.once;
    let folder = |place: &Place| match place {
        Place::Workspace(workspace) => Some(workspace.folder().display().to_string()),
        _ => None,
    };
    let waits_in = places.iter().filter_map(folder).collect::<Vec<_>>().join(", ");
    let has_end = places.iter().all(|place| !matches!(place, Place::Workspace(_)));
    let mut tasks = BTreeMap::new();
    for place in &places {
        let Place::Sweep(sweep) = place else { continue };
        let entries = sweep.manifest.tasks.iter().enumerate();
        tasks.extend(entries.map(|(task, it)| (it.run.clone(), (task, it.values.clone()))));
    }
    let patience = if once { QUEUE_PATIENCE } else { Duration::ZERO };
    let mut follower = Follower::new(places, false).waiting_for_queues(patience);
    let mut runs = follower.read()?;
    if tasks.is_empty() {
        runs.reverse();
    } else {
        runs.sort_by_key(|run| tasks.get(&run.id).map_or(usize::MAX, |task| task.0));
    }
    if runs.is_empty() && (has_end || once) {
        return Err(Error::failed("there is no run here")
            .cure("name a directory that has runs, or start one: halflight run SESSION")
            .into());
    }
    let (runs_so_far, told, boards) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let standing = BTreeMap::new();
    let mut out = Lines { options, tasks, runs: runs_so_far, told, boards, standing };
    if runs.is_empty() {
        messages::tell(format_args!(
            "waiting for a run in {waits_in}: there is none so far; the first one is shown at once"
        ));
    }
    for run in runs {
        out.whole(&run)?;
        let id = run.id.clone();
        out.runs.insert(id.clone(), run);
        out.sites(&id)?;
    }
    if once {
        return out.board();
    }
    loop {
        if has_end && out.runs.values().all(|run| run.is_settled() || run.outcome == DIED) {
            finish(out.board())?;
            return Ok(out.verdict()?);
        }
        std::thread::sleep(follower.pause());
        let news = follower.look()?;
        for run in news.added.into_iter().chain(news.changed) {
            out.anew(run)?;
        }
        for grown in news.grown {
            out.grown(&grown)?;
        }
        for run in news.gone {
            let Some(run) = out.runs.remove(&run) else { continue };
            out.gone(&run)?;
            if has_end && out.runs.is_empty() {
                let place = run.directory.display().to_string();
                return Err(Error::failed("its directory is gone").at(place).into());
            }
        }
    }
}

/// The name of a run on a line.
pub fn name(run: &ArchivedRun) -> String {
    let id = harmless(&run.id.0, LONGEST_NAME);
    match &run.plan {
        Some(plan) => format!("{id} '{}'", harmless(&plan.name, LONGEST_NAME)),
        None => id,
    }
}

struct Lines<'a> {
    options: WatchOptions<'a>,
    /// The number and the values of each task of a sweep.
    tasks: BTreeMap<RunId, (usize, Vec<(String, String)>)>,
    runs: BTreeMap<RunId, ArchivedRun>,
    /// The time of the last line about a run.
    told: BTreeMap<RunId, Instant>,
    boards: BTreeMap<RunId, Board>,
    /// How the sites of each run stood when they were reported.
    standing: BTreeMap<RunId, Vec<SiteStanding>>,
}

impl Lines<'_> {
    /// Reports a run that exists from the start or was read again.
    fn whole(&mut self, run: &ArchivedRun) -> Printed {
        self.stands(run)?;
        self.steps(&run.id, run.of, &run.curves, &run.epsilon)
    }

    /// Reports a run that is new or has changed in more than its steps.
    fn anew(&mut self, run: ArchivedRun) -> Printed {
        // If the earlier reports are still valid, only the later steps are new.
        let before = self
            .runs
            .get(&run.id)
            .filter(|before| before.steps <= run.steps && run.epsilon.starts_with(&before.epsilon));
        match before.map(|before| before.steps as f64) {
            None => self.whole(&run)?,
            Some(from) => {
                let later = |points: &Vec<(f64, f64)>| {
                    points.iter().copied().filter(|point| point.0 > from).collect::<Vec<_>>()
                };
                let curves: Curves =
                    run.curves.iter().map(|(series, points)| (*series, later(points))).collect();
                self.steps(&run.id, run.of, &curves, &later(&run.epsilon))?;
                self.stands(&run)?;
            }
        }
        let id = run.id.clone();
        self.runs.insert(id.clone(), run);
        self.sites(&id)
    }

    fn grown(&mut self, grown: &GrownRun) -> Printed {
        let Some(run) = self.runs.get_mut(&grown.run) else { return Ok(()) };
        let has_changed = run.outcome != grown.outcome || grown.trouble.is_some();
        run.follow(grown);
        let (of, growth) = (grown.growth.of, &grown.growth);
        self.steps(&grown.run, of, &growth.curves, &growth.epsilon)?;
        if grown.board.is_some() || self.options.form == Form::Plain {
            self.sites(&grown.run)?;
        }
        let recent = self.told.get(&grown.run).is_some_and(|it| it.elapsed() < LINE_INTERVAL);
        let is_news = self.options.form == Form::Plain && growth.added > 0 && !recent;
        if !has_changed && !is_news {
            return Ok(());
        }
        self.told.insert(grown.run.clone(), Instant::now());
        self.stands(&self.runs[&grown.run])
    }

    fn stands(&self, run: &ArchivedRun) -> Printed {
        match self.options.form {
            Form::Plain => self.plain(run),
            Form::Json => self.state(run),
        }
    }

    /// Reports the sites of a joint run. Of one that has ended, the certificates say the rest.
    fn sites(&mut self, run: &RunId) -> Printed {
        let Some(run) = self.runs.get(run).filter(|run| !run.is_settled()) else { return Ok(()) };
        let standing: Vec<_> = run.board.iter().map(SiteLine::standing).collect();
        let before = self.standing.insert(run.id.clone(), standing.clone());
        if self.options.form == Form::Plain && before.unwrap_or_default() == standing {
            return Ok(());
        }
        for site in &run.board {
            match self.options.form {
                Form::Plain => say(&format!("    {}", site.words()))?,
                Form::Json => {
                    let mut line = site.json();
                    (line["kind"], line["run"]) =
                        (json!("site"), json!(harmless(&run.id.0, LONGEST_NAME)));
                    say(&line.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn gone(&self, run: &ArchivedRun) -> Printed {
        match self.options.form {
            Form::Plain => say(&format!("{} {}: its directory is gone", time(), name(run))),
            Form::Json => say(&json!({"kind": "gone", "run": run.id}).to_string()),
        }
    }

    /// `23:07:33 RUN 'plan' running, step 12 of 60, ε 0.31, error on public records 118.2, last step just now`
    fn plain(&self, run: &ArchivedRun) -> Printed {
        let mut parts = vec![archive::state_words(&run.outcome).to_owned()];
        if run.steps > 0 {
            parts.push(format!("step {} of {}", run.steps, run.of.max(run.steps)));
        }
        parts.extend(archive::epsilon(run).map(|epsilon| format!("ε {}", round_up(epsilon, 4))));
        parts.extend(score(run));
        if run.is_alive() || matches!(run.outcome.as_str(), DIED | UNSEEN) {
            parts.push(wrote_words(run.wrote));
            parts.extend(run.process.as_ref().map(ToString::to_string));
        }
        if run.skipped > 0 {
            parts.push(unread_words(run.skipped));
        }
        if run.outcome == DIED {
            let directory = harmless(&run.directory.display().to_string(), 1000);
            parts.push(format!("`halflight run --resume {directory}` resumes it"));
        }
        if let Some(trouble) = &run.trouble {
            parts.push(harmless(&in_one_line(trouble), 300));
        }
        let who = match self.tasks.get(&run.id) {
            Some((task, values)) => format!("{task:04} {}", words(values)),
            None => name(run),
        };
        say(&format!("{} {who} {}", time(), parts.join(", ")))
    }

    fn state(&self, run: &ArchivedRun) -> Printed {
        let mut value = json!({
            "kind": "run",
            "run": harmless(&run.id.0, LONGEST_NAME),
            "plan": run.plan.as_ref().map(|plan| harmless(&plan.name, LONGEST_NAME)),
            "state": run.outcome,
            "step": run.steps,
            "of": run.of,
            "epsilon": archive::epsilon(run),
            "process": run.process.as_ref().map(ToString::to_string),
            "seconds_since_a_step":
                run.wrote.and_then(|wrote| wrote.elapsed().ok()).map(|it| it.as_secs_f64()),
            "lines_passed_over": run.skipped,
            "trouble": run.trouble.as_ref().map(|it| harmless(&in_one_line(it), 1000)),
            "directory": harmless(&run.directory.display().to_string(), 4000),
        });
        if let Some((task, values)) = self.tasks.get(&run.id) {
            let values = values.iter().map(|(key, value)| {
                (harmless(key, LONGEST_NAME), json!(harmless(value, LONGEST_NAME)))
            });
            value["task"] = json!(task);
            value["settings"] = Value::Object(values.collect());
        }
        if let Some(told) = &run.score {
            value["score"] = json!(told);
        }
        if !run.source_weights.is_empty() {
            value["source_weights"] = json!(run.source_weights);
        }
        say(&value.to_string())
    }

    /// Writes a line of JSON and a TensorBoard event for each step.
    fn steps(&mut self, run: &RunId, of: u64, curves: &Curves, epsilon: &[(f64, f64)]) -> Printed {
        let mut steps: BTreeMap<u64, BTreeMap<&str, f64>> = BTreeMap::new();
        for (step, epsilon) in epsilon {
            steps.entry(*step as u64).or_default().insert(EPSILON, *epsilon);
        }
        let names: Vec<Value> = curves.keys().map(|series| json!(series)).collect();
        for (name, points) in names.iter().zip(curves.values()) {
            let name = name.as_str().unwrap_or_default();
            for (step, y) in points {
                steps.entry(*step as u64).or_default().insert(name, *y);
            }
        }
        if let Some(folder) = self.options.tensorboard
            && !steps.is_empty()
        {
            if !self.boards.contains_key(run) {
                self.boards.insert(run.clone(), Board::create(folder, &run.0)?);
            }
            for (step, values) in &steps {
                self.boards[run].add(*step, values.iter().map(|(name, y)| (*name, *y)))?;
            }
        }
        if self.options.form == Form::Plain {
            return Ok(());
        }
        for (step, mut values) in steps {
            let line = json!({
                "kind": "step", "run": harmless(&run.0, LONGEST_NAME), "step": step, "of": of,
                "epsilon": values.remove(EPSILON), "values": values,
            });
            say(&line.to_string())?;
        }
        Ok(())
    }

    /// Prints the number of a sweep's tasks in each state, and the best of them.
    fn board(&self) -> Printed {
        if self.tasks.is_empty() || self.options.form == Form::Json {
            return Ok(());
        }
        let runs: Vec<&ArchivedRun> = self.runs.values().collect();
        let best = archive::best_of_all(runs.iter().copied());
        let best = best.map_or_else(String::new, |(run, what, error)| {
            let task = self.tasks.get(&run.id).map_or(0, |task| task.0);
            format!("; least {what}: {} in task {task:04}", error_cell(run.task(), error))
        });
        let counts = archive::tally(runs);
        say(&format!("{} tasks: {counts}{best}", self.runs.len()))
    }

    /// Fails if a run died.
    fn verdict(&self) -> Result<()> {
        let died: Vec<&ArchivedRun> =
            self.runs.values().filter(|run| run.outcome == DIED).collect();
        let Some(run) = died.first() else { return Ok(()) };
        Err(Error::failed(format!("{} of {} runs died", died.len(), self.runs.len())).cure(
            format!(
                "`halflight run --resume {}` continues where it ended",
                harmless(&run.directory.display().to_string(), 1000)
            ),
        ))
    }
}

fn score(run: &ArchivedRun) -> Option<String> {
    if let Some(told) = &run.score {
        return Some(format!("score {}", told.brief()));
    }
    let watch = Watch::sealed();
    let [series, _] = run.error_series();
    let last = archive::last(run, series, &watch)?;
    let best = archive::best(run, series, &watch)?;
    let [last, best] = [last, best].map(|error| error_cell(run.task(), error));
    let others = std::iter::once(Series::PublicError).chain(Series::BESIDE_PUBLIC);
    let others = others.filter(|other| *other != series).filter_map(|other| {
        let value = archive::last(run, other, &watch)?;
        Some(format!("; {} {}", other.words(), archive::cell(run.task(), other, value)))
    });
    let others: String = others.collect();
    Some(format!("{} {last} (least {best}{others})", series.words()))
}

fn in_one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn words(values: &[(String, String)]) -> String {
    let values: Vec<String> = values
        .iter()
        .map(|(key, value)| {
            format!("{}={}", harmless(key, LONGEST_NAME), harmless(value, LONGEST_NAME))
        })
        .collect();
    values.join(" ")
}

pub(super) fn time() -> String {
    crate::clock::now().strftime("%H:%M:%S").to_string()
}

/// Prints a line.
pub(super) fn say(line: &str) -> Printed {
    let (mut out, line) = (std::io::stdout(), format!("{line}\n"));
    let text = line.as_bytes();
    out.write_all(text).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => Ended::Closed,
        _ => Error::failed(format!("cannot write to standard output: {error}")).into(),
    })
}
