//! A run of another process, which the interface follows by its files.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use super::live_run::{Ended, LiveRun};
use super::widgets::smoothing::PlotPoint;
use crate::engine::Control;
use crate::engine::worker::JobId;
pub use crate::engine::worker::TrainerSteps;
use crate::methods::source_words;
use crate::privacy::{CuratorOnly, Target};
use crate::session::ArchivedRun;
use crate::session::archive::{self, GrownRun};
use crate::session::follow::{unread_words, wrote_words};
use crate::session::question::label_of;
use crate::session::run_directory::Process;
use crate::session::run_steps::{Curves, RunGrowth, by_series};

/// A run of another process: who executes it, and its progress.
#[derive(Debug)]
pub struct RunElsewhere {
    pub directory: PathBuf,
    /// `running`, `paused`, `died`, `finished` and so on.
    pub outcome: String,
    pub process: Option<Process>,
    pub wrote: Option<SystemTime>,
    /// The ledger's charge, once it has ended.
    pub spent: Option<f64>,
    /// When it was first and last seen to take a step, without a long wait in between.
    seen: Option<[(Instant, u64); 2]>,
}

/// Over a shorter time than this no speed is shown, and over a longer one than this it has waited.
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(5);

impl RunElsewhere {
    /// Steps per second, while it was seen to work.
    pub fn speed(&self) -> Option<f64> {
        let [(then, first), (now, last)] = self.seen?;
        let seconds = now.duration_since(then);
        (seconds >= SHORT && last > first).then(|| (last - first) as f64 / seconds.as_secs_f64())
    }

    fn sees(&mut self, step: u64) {
        let now = (Instant::now(), step);
        self.seen = Some(match self.seen {
            Some([first, last]) if now.0.duration_since(last.0) < LONG => [first, now],
            _ => [now, now],
        });
    }

    /// Forgets the speed, because the pace changes.
    pub fn forget_speed(&mut self) {
        self.seen = None;
    }

    /// `process 4711 on node3, last step 2 s ago`
    pub fn words(&self) -> String {
        let process = self.process.as_ref().map(ToString::to_string);
        let process = process.unwrap_or_else(|| "another process".to_owned());
        format!("{process}, {}", wrote_words(self.wrote))
    }
}

impl LiveRun {
    /// A run of another process.
    pub fn elsewhere(id: JobId, run: &ArchivedRun) -> Self {
        let unknown = Target { epsilon: f64::NAN, delta: f64::NAN };
        let mut live = match &run.plan {
            Some(plan) => Self::new(id, plan, Control::default()),
            None => {
                Self::of(id, (&run.id.0, ""), run.guarantee.unwrap_or(unknown), Control::default())
            }
        };
        live.phase = Cow::Borrowed("followed");
        live.run = Some(run.id.clone());
        live.label = label_of(run).map(str::to_owned);
        live.log.clear();
        live.say(format!("{}: carried out by another process", run.id.0));
        live.say(format!("its directory is {}", run.directory.display()));
        live.read_anew(run);
        live
    }

    /// The steps of another trainer.
    pub fn of_trainer(id: JobId, trained: TrainerSteps) -> Self {
        let target = Target { epsilon: f64::NAN, delta: trained.delta.unwrap_or(f64::NAN) };
        let names = (trained.name.as_str(), trained.trainer.as_str());
        let mut live = Self::of(id, names, target, Control::default());
        live.log.clear();
        live.say(format!("followed from {}", trained.path.display()));
        live.phase = Cow::Borrowed("another trainer");
        live.trains(trained);
        live
    }

    /// Takes over the steps of the trainer so far.
    pub fn trains(&mut self, trained: TrainerSteps) {
        let before = self.trained.as_ref().map(|before| &before.verdict);
        if before != Some(&trained.verdict) {
            self.say(format!("step {}: {}", trained.step, trained.verdict));
        }
        (self.step, self.total) = (trained.step, trained.of);
        self.elsewhere = Some(RunElsewhere {
            directory: trained.path.parent().map(PathBuf::from).unwrap_or_default(),
            outcome: trained.end.clone().unwrap_or_else(|| archive::RUNNING.to_owned()),
            process: None,
            wrote: trained.wrote,
            spent: trained.ours,
            seen: None,
        });
        self.ended = trained.end.is_some().then_some(Ended::Elsewhere);
        self.trained = Some(Box::new(trained));
    }

    /// One of ours from here on: its charts begin with the steps that it took before.
    pub fn goes_on(&mut self, run: &ArchivedRun) {
        // Its files name the process that died for a moment, so it must be known by its name.
        self.run = Some(run.id.clone());
        self.add_all(&run.curves, run.exact.clone(), &run.epsilon);
        (self.step, self.total, self.taken_before) = (run.steps, run.of, run.steps);
    }

    /// The whole of it, read again.
    pub fn read_anew(&mut self, run: &ArchivedRun) {
        self.curves.clear();
        self.epsilon = super::widgets::track::Track::default();
        self.add_all(&run.curves, run.exact.clone(), &run.epsilon);
        (self.step, self.total) = (run.steps, run.of);
        let before = self.elsewhere.as_ref().map(|it| it.outcome.clone());
        self.elsewhere = Some(RunElsewhere {
            directory: run.directory.clone(),
            outcome: run.outcome.clone(),
            process: run.process.clone(),
            wrote: run.wrote,
            spent: archive::epsilon(run).filter(|_| run.is_settled()),
            seen: None,
        });
        if let Some(told) = run.score.as_ref().filter(|_| self.ended.is_none()) {
            self.say(format!("released score, ranges 95 %, may be shared: {}", told.sentence()));
        }
        if let Some(words) = source_words(&run.source_weights).filter(|_| self.ended.is_none()) {
            self.say(format!("released, may be shared: {words}"));
        }
        if let Some(trouble) = &run.trouble {
            self.say(trouble.clone());
        }
        self.stands(&run.outcome, before.as_deref());
    }

    /// Adds the new part of its files.
    pub fn grow(&mut self, grown: &GrownRun) {
        let RunGrowth { steps, of, phase, curves, epsilon, exact, skipped, .. } = &grown.growth;
        if grown.growth.added > 0 {
            (self.step, self.total) = (*steps, *of);
            if self.phase != phase.as_str() {
                self.phase = Cow::Owned(phase.clone());
                self.say(format!("step {steps}: {phase}"));
            }
        }
        self.add_all(curves, exact.clone(), epsilon);
        if *skipped > 0 {
            self.say(unread_words(*skipped));
        }
        if let Some(trouble) = grown.trouble.as_ref().filter(|it| !it.is_empty()) {
            self.say(trouble.clone());
        }
        let Some(elsewhere) = &mut self.elsewhere else { return };
        elsewhere.wrote = grown.wrote;
        if grown.growth.added > 0 {
            elsewhere.sees(grown.growth.steps);
        }
        let before = std::mem::replace(&mut elsewhere.outcome, grown.outcome.clone());
        self.stands(&grown.outcome, Some(&before));
    }

    fn stands(&mut self, outcome: &str, before: Option<&str>) {
        let is_alive = matches!(outcome, archive::RUNNING | archive::PAUSED | archive::UNSEEN);
        self.ended = (!is_alive).then_some(Ended::Elsewhere);
        if before.is_some_and(|before| before != outcome) {
            self.say(match outcome {
                archive::DIED => "it died: R resumes it, 6 settles it".to_owned(),
                _ => format!("it is {}", archive::state_words(outcome)),
            });
        }
    }

    fn add_all(
        &mut self,
        curves: &Curves,
        exact: Option<CuratorOnly<Curves>>,
        epsilon: &[PlotPoint],
    ) {
        for point in epsilon {
            self.epsilon.push(*point);
        }
        for (series, points) in curves {
            self.add_open(*series, points);
        }
        for (series, points) in exact.map(by_series).unwrap_or_default() {
            self.add_exact(series, points);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::RunProgress;
    use std::time::Duration;

    use crate::engine::job::StepProgress;
    use crate::engine::worker::JobEvent;
    use crate::fixtures::archived;
    use crate::methods::Series;
    use crate::methods::example::made_up_step;
    use crate::privacy::Watch;
    use halflight_privacy_inside::openings::OpenWatch;

    #[test]
    fn a_run_elsewhere_grows_pauses_dies_and_keeps_its_exact_numbers_under_seal() {
        let mut run = archived(1, 2.0, &[5.0, 3.0]);
        archive::RUNNING.clone_into(&mut run.outcome);
        let mut live = LiveRun::elsewhere(7, &run);
        assert_eq!((live.state(), live.step, live.has_ended()), ("running", 2, false));
        assert!(!live.is_ours() && live.remaining().is_none());
        let growth = RunGrowth {
            steps: 3,
            of: 9,
            added: 1,
            phase: "descend".to_owned(),
            curves: [(Series::PublicError, vec![(3.0, 2.5)])].into(),
            epsilon: vec![(3.0, 1.5)],
            exact: run.exact.clone(),
            ..RunGrowth::default()
        };
        let grown = |growth, outcome: &str| GrownRun {
            run: run.id.clone(),
            growth,
            outcome: outcome.to_owned(),
            wrote: None,
            trouble: None,
            board: None,
        };
        live.grow(&grown(growth, archive::PAUSED));
        assert_eq!((live.state(), live.step, live.total, live.spent()), ("paused", 3, 9, 1.5));
        let points = |series, watch: &Watch| {
            live.curves[&series].points(watch).map(|points| points.raw().view().len())
        };
        assert_eq!(points(Series::PublicError, &Watch::sealed()), Some(3));
        assert_eq!(points(Series::PrivateError, &Watch::open()), Some(4));
        assert_eq!(points(Series::PrivateError, &Watch::sealed()), None);
        live.grow(&grown(RunGrowth::default(), archive::DIED));
        assert!(live.has_ended() && live.state() == "died");
    }

    #[test]
    fn the_charts_of_a_resumed_run_begin_with_the_steps_that_it_took_before() {
        let run = archived(1, 2.0, &[5.0, 3.0, 2.0]);
        let plan = run.plan.clone().unwrap();
        let mut live = LiveRun::new(7, &plan, Control::default());
        live.goes_on(&run);
        assert_eq!((live.step, live.seconds_each(), live.run.as_ref()), (3, None, Some(&run.id)));
        let error = Series::PublicError;
        let step = |index, y| {
            JobEvent::Progress(RunProgress::Stepped(StepProgress {
                step: made_up_step(index, 9, &[(error, y)]),
                epsilon: (index as f64 / 9.0).sqrt(),
                worked: Duration::from_millis(index),
                columns: Vec::new(),
            }))
        };
        let points = |live: &LiveRun| {
            let points = live.curves[&error].points(&Watch::sealed()).unwrap();
            points.raw().view().iter().map(|(x, y)| (*x as u64, *y)).collect::<Vec<_>>()
        };
        live.hear(step(4, 1.5));
        assert_eq!(points(&live), [(1, 5.0), (2, 3.0), (3, 2.0), (4, 1.5)]);
        assert!(live.seconds_each().is_some() && live.epsilon.view().len() == 4);
        // A step whose values were lost is taken again.
        live.hear(step(3, 2.5));
        assert_eq!(points(&live), [(1, 5.0), (2, 3.0), (3, 2.5)]);
        let exact = live.curves[&Series::PrivateError].points(&Watch::open()).unwrap();
        assert_eq!(exact.raw().view().len(), 2);
    }

    #[test]
    fn the_speed_of_a_run_elsewhere_is_that_of_its_steps() {
        let mut live = LiveRun::elsewhere(7, &archived(1, 2.0, &[5.0, 3.0]));
        let elsewhere = live.elsewhere.as_mut().unwrap();
        assert_eq!(elsewhere.speed(), None);
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        elsewhere.seen = Some([(ago(3), 4), (ago(1), 10)]);
        assert!((elsewhere.speed().unwrap() - 3.0).abs() < 0.1);
        // It continues, and after a long wait nothing is known.
        elsewhere.sees(13);
        assert!((elsewhere.speed().unwrap() - 3.0).abs() < 0.1);
        elsewhere.seen = Some([(ago(60), 4), (ago(40), 10)]);
        elsewhere.sees(11);
        assert_eq!(elsewhere.speed(), None);
    }
}
