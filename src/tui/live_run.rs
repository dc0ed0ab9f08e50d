//! A run that the interface follows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::live_elsewhere::RunElsewhere;
use super::notice::with_keys;
use super::widgets::shortened;
use super::widgets::smoothing::PlotPoint;
use super::widgets::track::{SmoothedTrack, Track};
use crate::engine::choice::{ChoiceProgress, Chosen, METHOD, Offer};
use crate::engine::worker::{ChoiceEvent, JobEvent, JobId, RunEvent, TrainerSteps};
use crate::engine::{Control, RunProgress, Summary};
use crate::error::Error;
use crate::evaluation::Loss;
use crate::methods::{ColumnCorrection, MeasureStanding, Series};
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::ledger::{RunId, RunOutcome};
use crate::privacy::{CuratorOnly, Guarantee, Target, Watch};
use crate::session::PlanDefinition;

/// One curve. Exact numbers stay in their wrapper.
#[derive(Debug, Clone)]
pub enum LiveCurve {
    Open(SmoothedTrack),
    Exact(CuratorOnly<SmoothedTrack>),
}

impl LiveCurve {
    /// The points, unless they are exact and the view is sealed.
    pub fn points(&self, watch: &Watch) -> Option<&SmoothedTrack> {
        match self {
            Self::Open(points) => Some(points),
            Self::Exact(points) => points.reveal(watch),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    fn smooth(&mut self, weight: f64, log: bool) {
        match self {
            Self::Open(points) => points.set(weight, log),
            Self::Exact(points) => {
                *points = points.clone().compute_with((weight, log), smoothed);
            }
        }
    }
}

/// Averages a curve with a weight, in logarithms or not.
pub(super) fn smoothed(mut points: SmoothedTrack, (weight, log): (f64, bool)) -> SmoothedTrack {
    points.set(weight, log);
    points
}

/// The points of a curve before a step.
fn before(track: &Track, step: f64) -> Vec<PlotPoint> {
    track.view().iter().copied().filter(|(x, _)| *x < step).collect()
}

/// A stationarity gap falls over decades, so its axis is always logarithmic.
pub fn always_log(series: Series) -> bool {
    use Series::{ExactStationarityGap, ModelGap, NoiseGap, StationarityGap};
    matches!(series, StationarityGap | ExactStationarityGap | ModelGap | NoiseGap)
}

#[derive(Debug)]
pub struct LiveRun {
    pub id: JobId,
    pub plan: String,
    pub method: String,
    /// What it predicts, as far as it is known.
    pub label: Option<String>,
    /// The error of numbers by which its plan is judged.
    pub loss: Loss,
    pub target: Target,
    pub control: Control,
    pub run: Option<RunId>,
    pub step: u64,
    pub total: u64,
    /// Steps that were taken before it was resumed.
    pub(super) taken_before: u64,
    pub phase: Cow<'static, str>,
    pub curves: BTreeMap<Series, LiveCurve>,
    pub epsilon: Track,
    /// The released correction of each column, the largest first.
    pub columns: Vec<ColumnCorrection>,
    /// Weight and logarithm of the smoothing, for later curves.
    pub(super) smoothing: (f64, bool),
    pub worked: Duration,
    pub log: Vec<Logged>,
    /// The candidates, if private records choose among plans.
    pub choice: Option<LiveChoice>,
    /// Permanent warnings about the private records, for the curator.
    cautions: Option<CuratorOnly<Vec<String>>>,
    /// Set if another process executes the run.
    pub elsewhere: Option<RunElsewhere>,
    /// The steps of another trainer.
    pub trained: Option<Box<TrainerSteps>>,
    /// Whether the ledger charges anything for it.
    pub spends: bool,
    pub ended: Option<Ended>,
}

/// The cost of a run that has ended.
fn spent_words(guarantee: &Guarantee) -> String {
    match guarantee.epsilon {
        0.0 => "nothing was spent".to_owned(),
        epsilon => {
            format!("ε {} at δ {} was spent", round_up(epsilon, 3), delta_words(guarantee.delta))
        }
    }
}

/// A line of a run's log.
#[derive(Debug, Clone)]
pub enum Logged {
    Said(String),
    /// About private records.
    Exact(CuratorOnly<String>),
}

impl Logged {
    pub fn text(&self, watch: &Watch) -> &str {
        match self {
            Self::Said(text) => text,
            Self::Exact(text) => text.reveal(watch).map_or("sealed", String::as_str),
        }
    }
}

/// A choice among plans that the interface follows.
#[derive(Debug)]
pub struct LiveChoice {
    pub offer: Offer,
    /// Steps taken and the total, of the candidates that are trained; public data alone are not.
    pub steps: BTreeMap<String, (u64, u64)>,
}

#[derive(Debug)]
pub enum Ended {
    Summary(Box<Summary>),
    Chosen(Box<Chosen>),
    /// Refused or failed before the ledger granted it: nothing was spent.
    Refused(Error),
    /// Another process executed it.
    Elsewhere,
}

impl LiveRun {
    pub fn new(id: JobId, plan: &PlanDefinition, control: Control) -> Self {
        let run = Self::of(id, (&plan.name, &plan.method), plan.target, control);
        Self { spends: plan.spends(), loss: plan.loss(), ..run }
    }

    /// A run of a plan with this name and method.
    pub fn of(id: JobId, (plan, method): (&str, &str), target: Target, control: Control) -> Self {
        Self {
            id,
            plan: plan.to_owned(),
            method: method.to_owned(),
            label: None,
            loss: Loss::default(),
            target,
            control,
            run: None,
            step: 0,
            total: 0,
            taken_before: 0,
            phase: Cow::Borrowed("preparing"),
            curves: BTreeMap::new(),
            epsilon: Track::default(),
            columns: Vec::new(),
            smoothing: (0.0, false),
            worked: Duration::ZERO,
            log: vec![Logged::Said("preparing data and planning the noise".to_owned())],
            choice: None,
            cautions: None,
            elsewhere: None,
            trained: None,
            spends: true,
            ended: None,
        }
    }

    /// A choice among plans.
    pub fn choosing(id: JobId, offer: Offer, control: Control) -> Option<Self> {
        let mut run = Self::new(id, offer.plans.first()?, control);
        let names: Vec<&str> = offer.plans.iter().map(|plan| plan.name.as_str()).collect();
        run.plan = format!("choice among {}", names.join(", "));
        METHOD.clone_into(&mut run.method);
        (run.target, run.spends) = (offer.target, true);
        run.choice = Some(LiveChoice { offer, steps: BTreeMap::new() });
        Some(run)
    }

    /// Warnings about the private records, if they may be seen.
    pub fn caution(&self, watch: &Watch) -> Option<String> {
        let cautions = self.cautions.as_ref()?.reveal(watch)?;
        (!cautions.is_empty()).then(|| cautions.join("; "))
    }

    /// Whether this process executes it.
    pub fn is_ours(&self) -> bool {
        self.elsewhere.is_none()
    }

    /// Directory and pace of the run, if the user left it and it has not ended.
    pub fn left(&self) -> Option<(PathBuf, Option<f64>)> {
        let Some(Ended::Summary(summary)) = &self.ended else { return None };
        let is_left = self.control.is_left() && summary.outcome == RunOutcome::Failed;
        is_left.then(|| (summary.directory.clone(), self.control.pace()))
    }

    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether this process is at work on it.
    pub fn is_at_work(&self) -> bool {
        self.is_ours() && !self.has_ended()
    }

    pub fn state(&self) -> &str {
        if let Some(elsewhere) = &self.elsewhere {
            return &elsewhere.outcome;
        }
        match &self.ended {
            None if self.run.is_none() => "starting",
            None if self.control.is_paused() => "paused",
            None => "running",
            Some(Ended::Refused(_) | Ended::Elsewhere) => "refused",
            Some(Ended::Summary(summary)) => summary.outcome.words(),
            Some(Ended::Chosen(chosen)) => chosen.outcome.words(),
        }
    }

    /// The error after the grant, or that there was no grant.
    pub fn trouble(&self) -> Option<&Error> {
        match self.ended.as_ref()? {
            Ended::Refused(error) => Some(error),
            Ended::Summary(summary) => summary.trouble.as_ref(),
            Ended::Chosen(chosen) => chosen.trouble.as_ref(),
            Ended::Elsewhere => None,
        }
    }

    /// ε spent by this run so far.
    pub fn spent(&self) -> f64 {
        if let Some(spent) = self.elsewhere.as_ref().and_then(|it| it.spent) {
            return spent;
        }
        match &self.ended {
            Some(Ended::Summary(summary)) => summary.guarantee.epsilon,
            Some(Ended::Chosen(chosen)) => chosen.guarantee.epsilon,
            _ => self.epsilon.view().last().map_or(0.0, |(_, epsilon)| *epsilon),
        }
    }

    /// What a step took on average, of those that this process took.
    pub fn seconds_each(&self) -> Option<f64> {
        let taken = self.step.saturating_sub(self.taken_before);
        (taken > 0).then(|| self.worked.as_secs_f64() / taken as f64)
    }

    /// Time to the last step at the speed so far, or at the pace if that is slower.
    pub fn remaining(&self) -> Option<Duration> {
        if !self.is_at_work() {
            return None;
        }
        let mut each = self.seconds_each()?;
        if let Some(pace) = self.control.pace() {
            each = each.max(1.0 / pace);
        }
        let left = self.total.saturating_sub(self.step) as f64;
        Duration::try_from_secs_f64(each * left).ok()
    }

    /// Processes an event; returns a line for the notice.
    pub fn hear(&mut self, event: RunEvent) -> Option<Result<String, Error>> {
        match event {
            JobEvent::Progress(RunProgress::Sites(notes)) => {
                self.phase = Cow::Borrowed("meeting the other sites");
                for note in notes {
                    self.say(note);
                }
                None
            }
            JobEvent::Progress(RunProgress::Granted { run, steps, warnings, cautions }) => {
                self.granted(run, "the whole plan", warnings);
                // Always one line, because the number of cautions is also exact.
                let line = |all: Vec<String>| match all.as_slice() {
                    [] => "nothing unusual about the private records".to_owned(),
                    all => all.join("; "),
                };
                self.cautions.clone_from(&cautions);
                self.log.extend(cautions.map(|cautions| Logged::Exact(cautions.compute(line))));
                self.total = steps;
                None
            }
            JobEvent::Progress(RunProgress::Stepped(progress)) => {
                let step = progress.step;
                let x = step.index as f64;
                if step.phase != self.phase {
                    self.say(format!("step {}: {}", step.index, step.phase));
                    self.phase = Cow::Borrowed(step.phase);
                }
                if step.index <= self.step {
                    self.forget_from(x);
                }
                (self.step, self.total) = (step.index, step.total);
                for measure in step.measures {
                    self.add(measure.series, x, measure.value);
                }
                self.epsilon.push((x, progress.epsilon));
                self.columns = progress.columns;
                self.columns.retain(|it| it.size > 0.0);
                self.columns.sort_by(|one, other| other.size.total_cmp(&one.size));
                self.worked = progress.worked;
                None
            }
            JobEvent::Ended(result) => Some(self.end(*result)),
        }
    }

    /// Processes an event of a choice among plans; returns a line for the notice.
    pub fn hear_choice(&mut self, event: ChoiceEvent) -> Option<Result<String, Error>> {
        match event {
            JobEvent::Progress(ChoiceProgress::Granted { run, offer }) => {
                self.granted(run, "all of it", offer.warnings);
                None
            }
            JobEvent::Progress(ChoiceProgress::Stepped { name, step, of }) => {
                (self.step, self.total) = (step, of);
                let choice = self.choice.as_mut()?;
                self.phase = Cow::Borrowed("training");
                let is_known = choice.offer.candidates.contains(&name);
                if choice.offer.trains_in_secret || !is_known {
                    return None;
                }
                if choice.steps.insert(name.clone(), (step, of)).is_none() {
                    self.say(format!("training '{name}'"));
                }
                None
            }
            JobEvent::Ended(result) => Some(self.end_choice(*result)),
        }
    }

    fn end_choice(&mut self, result: Result<Chosen, Error>) -> Result<String, Error> {
        let chosen = result.inspect_err(|error| self.refuse(error))?;
        let winner = chosen.winner.and_then(|winner| chosen.placed.get(winner));
        let line = match winner {
            Some(winner) => format!("chosen: {}", winner.name),
            None => "nothing was chosen: it ended early".to_owned(),
        };
        let line = format!("{line}; {}", spent_words(&chosen.guarantee));
        let directory = chosen.directory.clone();
        self.conclude(line, &directory, Ended::Chosen(Box::new(chosen)))
    }

    /// A resumed run may take again a step whose values were lost.
    fn forget_from(&mut self, step: f64) {
        self.epsilon = before(&self.epsilon, step).into_iter().collect();
        self.taken_before = self.taken_before.min((step as u64).saturating_sub(1));
        for curve in self.curves.values_mut() {
            let cut = |track: SmoothedTrack, step| before(track.raw(), step).into_iter().collect();
            *curve = match curve.clone() {
                LiveCurve::Open(track) => LiveCurve::Open(cut(track, step)),
                LiveCurve::Exact(track) => LiveCurve::Exact(track.compute_with(step, cut)),
            };
        }
        let (weight, log) = self.smoothing;
        self.smooth(weight, log);
    }

    fn add(&mut self, series: Series, x: f64, value: MeasureStanding) {
        if let Some(y) = value.open() {
            self.add_open(series, &[(x, y)]);
        } else if let MeasureStanding::Curator(y) = value {
            self.add_exact(series, y.compute_with(x, |y, x| vec![(x, y)]));
        }
    }

    /// Adds points that may be seen. A curve that is exact stays as it is.
    pub(super) fn add_open(&mut self, series: Series, points: &[PlotPoint]) {
        let smoothing = self.smoothing_of(series);
        let fresh = || LiveCurve::Open(smoothed(SmoothedTrack::default(), smoothing));
        if let LiveCurve::Open(curve) = self.curves.entry(series).or_insert_with(fresh) {
            for point in points {
                curve.push(*point);
            }
        }
    }

    /// Adds exact points, which stay in their wrapper. A curve that is open stays as it is.
    pub(super) fn add_exact(&mut self, series: Series, points: CuratorOnly<Vec<PlotPoint>>) {
        let grown = match self.curves.remove(&series) {
            Some(LiveCurve::Exact(curve)) => curve.zip(points),
            Some(open @ LiveCurve::Open(_)) => {
                self.curves.insert(series, open);
                return;
            }
            None => points.compute_with(self.smoothing_of(series), |points, smoothing| {
                (smoothed(SmoothedTrack::default(), smoothing), points)
            }),
        };
        let grown = grown.compute(|(mut curve, points)| {
            for point in points {
                curve.push(point);
            }
            curve
        });
        self.curves.insert(series, LiveCurve::Exact(grown));
    }

    /// The weight of averages of a curve, and whether they are of logarithms.
    pub(super) fn smoothing_of(&self, series: Series) -> (f64, bool) {
        let (weight, log) = self.smoothing;
        (weight, log || always_log(series))
    }

    /// Averages every curve with this weight, in logarithms where its axis is
    /// logarithmic.
    pub fn smooth(&mut self, weight: f64, log: bool) {
        self.smoothing = (weight, log);
        for (series, curve) in &mut self.curves {
            curve.smooth(weight, log || always_log(*series));
        }
    }

    /// First and last step of the charts.
    pub fn extent(&self) -> (f64, f64) {
        let last = self.epsilon.view().last().map_or(2.0, |(step, _)| step.max(2.0));
        (0.0, if self.trained.is_some() { last.max(self.step as f64) } else { last })
    }

    pub(super) fn say(&mut self, line: String) {
        self.log.push(Logged::Said(line));
    }

    fn end(&mut self, result: Result<Summary, Error>) -> Result<String, Error> {
        let summary = result.inspect_err(|error| self.refuse(error))?;
        let line = format!(
            "'{}' {}: {}",
            // Short enough to leave room on a line.
            shortened(&self.plan, 36, "…"),
            summary.outcome.words(),
            spent_words(&summary.guarantee)
        );
        let directory = summary.directory.clone();
        self.conclude(line, &directory, Ended::Summary(Box::new(summary)))
    }

    /// Takes note of an error before anything was granted.
    fn refuse(&mut self, error: &Error) {
        self.say(with_keys(error).to_string());
        self.ended = Some(Ended::Refused(error.clone()));
    }

    /// Takes note of an end after the grant, with or without an error.
    fn conclude(&mut self, line: String, directory: &Path, end: Ended) -> Result<String, Error> {
        self.say(line.clone());
        self.say(format!("written to {}", directory.display()));
        self.ended = Some(end);
        let Some(error) = self.trouble().cloned() else { return Ok(line) };
        self.say(with_keys(&error).to_string());
        Err(error)
    }

    fn granted(&mut self, run: RunId, reserved: &str, warnings: Vec<String>) {
        self.say(if self.spends {
            format!("granted as {}: {reserved} is reserved in the ledger", run.0)
        } else {
            format!("begun as {}: nothing is reserved, because it spends nothing", run.0)
        });
        for warning in warnings {
            self.say(format!("note: {warning}"));
        }
        self.run = Some(run);
    }
}
