//! What has changed, as lines: for people, or one JSON value each for programs. Public and
//! released numbers only.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::adapt::Series;
use crate::error::{Error, Result};
use crate::files::words::harmless;
use crate::plot::number::five_digits;
use crate::privacy::Watch;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::RunId;
use crate::session::archive::{self, ArchivedRun, Curves, DIED, UNSEEN};
use crate::session::follow::{Follower, Grown, Place, wrote_words};

/// People read no more than a line a second about a run.
const READABLE: Duration = Duration::from_secs(1);
/// More of a name is not shown.
const LONGEST: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Plain,
    Json,
}

/// Follows the runs of these places: to their end where they were named, or for ever. With
/// `once` it only says how everything stands.
pub fn follow(places: Vec<Place>, form: Form, once: bool) -> Result<()> {
    let has_end = places.iter().all(|place| !matches!(place, Place::Workspace(_)));
    let mut tasks = BTreeMap::new();
    for place in &places {
        if let Place::Sweep(sweep) = place {
            for (task, entry) in sweep.manifest.tasks.iter().enumerate() {
                tasks.insert(entry.run.clone(), (task, entry.values.clone()));
            }
        }
    }
    let mut follower = Follower::new(places, false);
    let mut runs = follower.read()?;
    match tasks.is_empty() {
        true => runs.reverse(),
        false => runs.sort_by_key(|run| tasks.get(&run.id).map_or(usize::MAX, |task| task.0)),
    }
    if runs.is_empty() && (has_end || once) {
        return Err(Error::failed("there is no run here")
            .cure("name a directory that has runs, or start one: halflight run SESSION"));
    }
    let mut out = Lines { form, tasks, runs: BTreeMap::new(), told: BTreeMap::new() };
    for run in runs {
        if out.whole(&run)?.is_break() {
            return Ok(());
        }
        out.runs.insert(run.id.clone(), run);
    }
    if once {
        return out.board().map(|_| ());
    }
    loop {
        if has_end && out.runs.values().all(|run| run.is_settled() || run.outcome == DIED) {
            let _ = out.board()?;
            return out.verdict();
        }
        std::thread::sleep(follower.pause());
        let news = follower.look()?;
        for run in news.added.into_iter().chain(news.changed) {
            if out.anew(run)?.is_break() {
                return Ok(());
            }
        }
        for grown in news.grown {
            if out.grown(&grown)?.is_break() {
                return Ok(());
            }
        }
        for run in news.gone {
            let Some(run) = out.runs.remove(&run) else { continue };
            if out.gone(&run)?.is_break() {
                return Ok(());
            }
            if has_end && out.runs.is_empty() {
                return Err(
                    Error::failed("its directory is gone").at(run.directory.display().to_string())
                );
            }
        }
    }
}

/// What a run is called on a line.
pub fn name(run: &ArchivedRun) -> String {
    let id = harmless(&run.id.0, LONGEST);
    match &run.plan {
        Some(plan) => format!("{id} '{}'", harmless(&plan.name, LONGEST)),
        None => id,
    }
}

struct Lines {
    form: Form,
    /// Number and values of a sweep's tasks.
    tasks: BTreeMap<RunId, (usize, Vec<(String, String)>)>,
    runs: BTreeMap<RunId, ArchivedRun>,
    /// When people were last told of a run.
    told: BTreeMap<RunId, Instant>,
}

impl Lines {
    /// A run that is there from the beginning, or read anew.
    fn whole(&self, run: &ArchivedRun) -> Result<ControlFlow<()>> {
        match self.form {
            Form::Plain => self.plain(run),
            Form::Json => {
                if self.state(run)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.steps(&run.id, run.of, &run.curves, &run.epsilon)
            }
        }
    }

    /// A run that is new, or of which more than its steps has changed.
    fn anew(&mut self, run: ArchivedRun) -> Result<ControlFlow<()>> {
        let before = self.runs.get(&run.id);
        // What was told of it holds: its end is new.
        let goes_on = before.is_some_and(|before| {
            before.steps <= run.steps && run.epsilon.starts_with(&before.epsilon)
        });
        let flow = match (self.form, before) {
            (Form::Json, Some(before)) if goes_on => {
                let from = before.steps as f64;
                let later = |points: &Vec<(f64, f64)>| {
                    points.iter().copied().filter(|point| point.0 > from).collect::<Vec<_>>()
                };
                let curves: Curves =
                    run.curves.iter().map(|(series, points)| (*series, later(points))).collect();
                let epsilon = later(&run.epsilon);
                if self.steps(&run.id, run.of, &curves, &epsilon)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.state(&run)?
            }
            (Form::Plain, _) => self.plain(&run)?,
            (Form::Json, _) => self.whole(&run)?,
        };
        self.runs.insert(run.id.clone(), run);
        Ok(flow)
    }

    fn grown(&mut self, grown: &Grown) -> Result<ControlFlow<()>> {
        let Some(run) = self.runs.get_mut(&grown.run) else { return Ok(ControlFlow::Continue(())) };
        let has_changed = run.outcome != grown.outcome || grown.trouble.is_some();
        run.follow(grown);
        match self.form {
            Form::Json => {
                let (of, growth) = (grown.growth.of, &grown.growth);
                if self.steps(&grown.run, of, &growth.curves, &growth.epsilon)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let run = &self.runs[&grown.run];
                if has_changed { self.state(run) } else { Ok(ControlFlow::Continue(())) }
            }
            Form::Plain => {
                let recent = self.told.get(&grown.run).is_some_and(|it| it.elapsed() < READABLE);
                if !has_changed && (recent || grown.growth.added == 0) {
                    return Ok(ControlFlow::Continue(()));
                }
                self.told.insert(grown.run.clone(), Instant::now());
                self.plain(&self.runs[&grown.run])
            }
        }
    }

    fn gone(&self, run: &ArchivedRun) -> Result<ControlFlow<()>> {
        match self.form {
            Form::Plain => say(&format!("{} {}: its directory is gone", time(), name(run))),
            Form::Json => say(&json!({"kind": "gone", "run": run.id}).to_string()),
        }
    }

    /// `23:07:33 RUN 'plan' running, step 12 of 60, ε 0.31, public error 118.2, wrote just now`
    fn plain(&self, run: &ArchivedRun) -> Result<ControlFlow<()>> {
        let mut parts = vec![run.outcome.clone()];
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
            parts.push(format!("{} lines are no steps and were passed over", run.skipped));
        }
        if run.outcome == DIED {
            let directory = harmless(&run.directory.display().to_string(), 1000);
            parts.push(format!("`halflight run --resume {directory}` goes on with it"));
        }
        if let Some(trouble) = &run.trouble {
            parts.push(harmless(&trouble.replace('\n', " "), 300));
        }
        let who = match self.tasks.get(&run.id) {
            Some((task, values)) => format!("{task:04} {}", words(values)),
            None => name(run),
        };
        say(&format!("{} {who} {}", time(), parts.join(", ")))
    }

    fn state(&self, run: &ArchivedRun) -> Result<ControlFlow<()>> {
        let mut value = json!({
            "kind": "run",
            "run": harmless(&run.id.0, LONGEST),
            "plan": run.plan.as_ref().map(|plan| harmless(&plan.name, LONGEST)),
            "state": run.outcome,
            "step": run.steps,
            "of": run.of,
            "epsilon": archive::epsilon(run),
            "process": run.process.as_ref().map(ToString::to_string),
            "seconds_since_a_step":
                run.wrote.and_then(|wrote| wrote.elapsed().ok()).map(|it| it.as_secs_f64()),
            "lines_passed_over": run.skipped,
            "trouble": run.trouble.as_ref().map(|it| harmless(&it.replace('\n', " "), 1000)),
            "directory": harmless(&run.directory.display().to_string(), 4000),
        });
        if let Some((task, values)) = self.tasks.get(&run.id) {
            let values = values
                .iter()
                .map(|(key, value)| (harmless(key, LONGEST), json!(harmless(value, LONGEST))));
            value["task"] = json!(task);
            value["settings"] = Value::Object(values.collect());
        }
        if let Some(told) = &run.told {
            value["score"] = json!(told);
        }
        say(&value.to_string())
    }

    /// A line for each step.
    fn steps(
        &self,
        run: &RunId,
        of: u64,
        curves: &Curves,
        epsilon: &[(f64, f64)],
    ) -> Result<ControlFlow<()>> {
        let mut steps: BTreeMap<u64, (Value, serde_json::Map<String, Value>)> = BTreeMap::new();
        for (step, epsilon) in epsilon {
            steps.entry(*step as u64).or_default().0 = json!(epsilon);
        }
        for (series, points) in curves {
            let name = serde_json::to_value(series).unwrap_or_default();
            let name = name.as_str().unwrap_or_default();
            for (step, y) in points {
                steps.entry(*step as u64).or_default().1.insert(name.to_owned(), json!(y));
            }
        }
        for (step, (epsilon, values)) in steps {
            let line = json!({
                "kind": "step", "run": harmless(&run.0, LONGEST), "step": step, "of": of,
                "epsilon": epsilon, "values": values,
            });
            if say(&line.to_string())?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// How many tasks of a sweep stand where, and the best of them.
    fn board(&self) -> Result<ControlFlow<()>> {
        if self.tasks.is_empty() || self.form == Form::Json {
            return Ok(ControlFlow::Continue(()));
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for run in self.runs.values() {
            *counts.entry(run.outcome.as_str()).or_default() += 1;
        }
        let counts: Vec<String> =
            counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
        let best = self.runs.values().filter_map(|run| Some((run, best_of(run)?)));
        let best = best.min_by(|a, b| a.1.total_cmp(&b.1));
        let best = best.map_or_else(String::new, |(run, error)| {
            let task = self.tasks.get(&run.id).map_or(0, |task| task.0);
            let what = if run.told.is_some() { "released error" } else { "public error" };
            format!("; least {what}: {} in task {task:04}", five_digits(error))
        });
        say(&format!("{} tasks: {}{best}", self.runs.len(), counts.join(", ")))
    }

    /// An error where a run that was followed to its end has none.
    fn verdict(&self) -> Result<()> {
        let died: Vec<&ArchivedRun> =
            self.runs.values().filter(|run| run.outcome == DIED).collect();
        match died.first() {
            None => Ok(()),
            Some(run) => {
                Err(Error::failed(format!("{} of {} runs died", died.len(), self.runs.len())).cure(
                    format!(
                        "`halflight run --resume {}` goes on where it ended",
                        harmless(&run.directory.display().to_string(), 1000)
                    ),
                ))
            }
        }
    }
}

/// What decides between tasks: the released error, or else the least public one.
fn best_of(run: &ArchivedRun) -> Option<f64> {
    let told = run.told.as_ref().map(|told| told.error.value);
    told.or_else(|| archive::best(run, Series::PublicError, &Watch::sealed()))
}

fn score(run: &ArchivedRun) -> Option<String> {
    if let Some(told) = &run.told {
        return Some(format!("score {}", told.brief()));
    }
    let watch = Watch::sealed();
    let last = archive::last(run, Series::PublicError, &watch)?;
    let best = archive::best(run, Series::PublicError, &watch)?;
    Some(format!("public error {} (least {})", five_digits(last), five_digits(best)))
}

fn words(values: &[(String, String)]) -> String {
    let values: Vec<String> = values
        .iter()
        .map(|(key, value)| format!("{}={}", harmless(key, LONGEST), harmless(value, LONGEST)))
        .collect();
    values.join(" ")
}

pub(super) fn time() -> String {
    crate::clock::now().strftime("%H:%M:%S").to_string()
}

/// Prints a line; whoever does not read any more ends it.
pub(super) fn say(line: &str) -> Result<ControlFlow<()>> {
    let mut out = std::io::stdout();
    match out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(error) => Err(Error::failed(format!("cannot write to standard output: {error}"))),
    }
}
