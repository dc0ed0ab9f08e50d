//! A run as the interface follows it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::notice::with_keys;
use super::widgets::track::{Smoothed, Track};
use crate::adapt::{Measure, Series, Standing, Step};
use crate::engine::desk::{JobId, News};
use crate::engine::job::Progress;
use crate::engine::{Control, Moment, Summary};
use crate::error::Error;
use crate::privacy::ledger::{Outcome, RunId};
use crate::privacy::{CuratorOnly, Target, Watch};
use crate::session::PlanDefinition;

/// A step with made-up numbers, which are public: something to draw.
pub fn made_up(index: u64, total: u64, numbers: &[(Series, f64)]) -> Progress {
    let measures = numbers.iter().map(|(series, value)| Measure::public(*series, *value));
    let measures = measures.collect();
    let step = Step { index, total, phase: "descend", measures, done: false };
    let epsilon = (index as f64 / total as f64).sqrt();
    Progress { step, epsilon, worked: Duration::from_millis(index) }
}

/// One curve. Exact numbers stay in their wrapper.
#[derive(Debug, Clone)]
pub enum Curve {
    Open(Smoothed),
    Exact(CuratorOnly<Smoothed>),
}

impl Curve {
    /// The points, unless they are exact and the view is sealed.
    pub fn points(&self, watch: &Watch) -> Option<&Smoothed> {
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
                *points = points.clone().map(|mut points| {
                    points.set(weight, log);
                    points
                });
            }
        }
    }
}

/// A stationarity gap falls over decades: its axis is always logarithmic.
pub fn always_log(series: Series) -> bool {
    matches!(series, Series::StationarityGap | Series::ExactStationarityGap)
}

#[derive(Debug)]
pub struct LiveRun {
    pub id: JobId,
    pub plan: String,
    pub method: String,
    pub target: Target,
    pub control: Control,
    pub run: Option<RunId>,
    pub step: u64,
    pub total: u64,
    pub phase: &'static str,
    pub curves: BTreeMap<Series, Curve>,
    pub epsilon: Track,
    /// Weight and logarithm of the smoothing, for curves yet to come.
    smoothing: (f64, bool),
    pub worked: Duration,
    pub log: Vec<Logged>,
    pub ended: Option<Ended>,
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

#[derive(Debug)]
pub enum Ended {
    Summary(Box<Summary>),
    /// Refused or failed before the ledger granted it: nothing was spent.
    Refused(Error),
}

impl LiveRun {
    pub fn new(id: JobId, plan: &PlanDefinition, control: Control) -> Self {
        Self {
            id,
            plan: plan.name.clone(),
            method: plan.method.clone(),
            target: plan.target,
            control,
            run: None,
            step: 0,
            total: 0,
            phase: "preparing",
            curves: BTreeMap::new(),
            epsilon: Track::default(),
            smoothing: (0.0, false),
            worked: Duration::ZERO,
            log: vec![Logged::Said("preparing data and planning the noise".to_owned())],
            ended: None,
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub fn state(&self) -> &'static str {
        match &self.ended {
            None if self.run.is_none() => "starting",
            None if self.control.is_paused() => "paused",
            None => "running",
            Some(Ended::Refused(_)) => "refused",
            Some(Ended::Summary(summary)) => match summary.outcome {
                Outcome::Finished => "finished",
                Outcome::Stopped => "stopped",
                Outcome::Failed => "failed",
                Outcome::Abandoned => "abandoned",
            },
        }
    }

    /// ε spent by this run so far.
    pub fn spent(&self) -> f64 {
        match &self.ended {
            Some(Ended::Summary(summary)) => summary.guarantee.epsilon,
            _ => self.epsilon.view().last().map_or(0.0, |(_, epsilon)| *epsilon),
        }
    }

    /// Time to the last step at the speed so far, or at the pace if that is slower.
    pub fn remaining(&self) -> Option<Duration> {
        if self.step == 0 || self.has_ended() {
            return None;
        }
        let mut each = self.worked.as_secs_f64() / self.step as f64;
        if let Some(pace) = self.control.pace() {
            each = each.max(1.0 / pace);
        }
        let left = self.total.saturating_sub(self.step) as f64;
        Duration::try_from_secs_f64(each * left).ok()
    }

    /// Takes in news; returns a line for the notice.
    pub fn hear(&mut self, news: News) -> Option<Result<String, Error>> {
        match news {
            News::Moment(Moment::Granted { run, steps, warnings, cautions }) => {
                self.say(format!("granted as {}: the whole plan is reserved in the ledger", run.0));
                for warning in warnings {
                    self.say(format!("note: {warning}"));
                }
                // Always one line: how many cautions there are is an exact number, too.
                let line = |all: Vec<String>| match all.as_slice() {
                    [] => "nothing unusual about the private records".to_owned(),
                    all => all.join("; "),
                };
                self.log.extend(cautions.map(|cautions| Logged::Exact(cautions.map(line))));
                self.run = Some(run);
                self.total = steps;
                None
            }
            News::Moment(Moment::Stepped(progress)) => {
                let step = progress.step;
                let x = step.index as f64;
                if step.phase != self.phase {
                    self.say(format!("step {}: {}", step.index, step.phase));
                    self.phase = step.phase;
                }
                (self.step, self.total) = (step.index, step.total);
                for measure in step.measures {
                    self.add(measure.series, x, measure.value);
                }
                self.epsilon.push((x, progress.epsilon));
                self.worked = progress.worked;
                None
            }
            News::Ended(result) => Some(self.end(*result)),
        }
    }

    fn add(&mut self, series: Series, x: f64, value: Standing) {
        let (weight, log) = self.smoothing;
        let fresh = || {
            let mut points = Smoothed::default();
            points.set(weight, log || always_log(series));
            points
        };
        match value {
            Standing::Public(_) | Standing::Released(_) => {
                let Some(y) = value.open() else { return };
                let curve = self.curves.entry(series).or_insert_with(|| Curve::Open(fresh()));
                if let Curve::Open(points) = curve {
                    points.push((x, y));
                }
            }
            Standing::Curator(y) => {
                let grown = match self.curves.remove(&series) {
                    Some(Curve::Exact(points)) => points.zip(y),
                    Some(open @ Curve::Open(_)) => {
                        self.curves.insert(series, open);
                        return;
                    }
                    None => y.map(|y| (fresh(), y)),
                };
                let grown = grown.map(|(mut points, y)| {
                    points.push((x, y));
                    points
                });
                self.curves.insert(series, Curve::Exact(grown));
            }
        }
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
        (0.0, self.epsilon.view().last().map_or(2.0, |(step, _)| step.max(2.0)))
    }

    fn say(&mut self, line: String) {
        self.log.push(Logged::Said(line));
    }

    fn end(&mut self, result: Result<Summary, Error>) -> Result<String, Error> {
        match result {
            Ok(summary) => {
                let trouble = summary.trouble.clone();
                let epsilon = crate::privacy::accountant::round_up(summary.guarantee.epsilon, 3);
                let line = format!(
                    "'{}' {}: ε {epsilon} at δ {:e} was spent",
                    self.plan,
                    match summary.outcome {
                        Outcome::Finished => "finished",
                        Outcome::Stopped => "stopped",
                        Outcome::Failed => "failed",
                        Outcome::Abandoned => "was abandoned",
                    },
                    summary.guarantee.delta
                );
                self.say(line.clone());
                self.say(format!("written to {}", summary.directory.display()));
                self.ended = Some(Ended::Summary(Box::new(summary)));
                match trouble {
                    None => Ok(line),
                    Some(error) => {
                        self.say(with_keys(&error).to_string());
                        Err(error)
                    }
                }
            }
            Err(error) => {
                self.say(with_keys(&error).to_string());
                self.ended = Some(Ended::Refused(error.clone()));
                Err(error)
            }
        }
    }
}
