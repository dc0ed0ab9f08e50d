//! How long a run will take: a moment of the same method, with public records in the private role.
//!
//! A thread of its own does this while the plan is shown. It knows public records and the plan's
//! public sizes only, its noise is seeded, and nothing is spent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::preview::Preview;
use crate::adapt::{self, Companion, Problem, Run, Step};
use crate::data::{Bounded, Classes, Dataset, Persons};
use crate::error::{Error, Result};
use crate::numeric::columns::ExampleColumns;
use crate::privacy::{Private, Spender, Watch};
use crate::session::PlanDefinition;

/// Steps are timed for this long.
const MOMENT: Duration = Duration::from_millis(300);

/// With more private numbers, fewer records are timed, and the time is taken to grow with them.
const MOST_NUMBERS: usize = 1 << 22;

/// A plan with everything public on which its time depends.
#[derive(Debug, Clone)]
pub struct TimedPlan {
    pub plan: PlanDefinition,
    pub problem: Problem,
    /// The number of steps.
    pub steps: u64,
}

/// The thread that times plans. Only the newest of several waiting ones is timed.
pub(super) struct Stopwatch(Sender<TimedPlan>);

impl Stopwatch {
    /// `answer` gets the plan and its time, or nothing if it could not be timed.
    pub fn start(answer: impl Fn(PlanDefinition, Option<Duration>) + Send + 'static) -> Self {
        let (sender, inbox) = channel::<TimedPlan>();
        thread::spawn(move || {
            while let Ok(first) = inbox.recv() {
                let asked = inbox.try_iter().last().unwrap_or(first);
                let told = catch_unwind(AssertUnwindSafe(|| asked.time()));
                answer(asked.plan, told.ok().and_then(Result::ok));
            }
        });
        Self(sender)
    }

    pub fn ask(&self, plan: TimedPlan) {
        // The thread ends only with its owner.
        let _ = self.0.send(plan);
    }
}

impl TimedPlan {
    /// A plan that was previewed, with the public input of its method.
    pub fn of(preview: &Preview, problem: Problem) -> Self {
        Self { plan: preview.plan.clone(), problem, steps: preview.releases.steps }
    }

    /// The time of the whole run, without reading data and without scores.
    pub fn time(&self) -> Result<Duration> {
        let shape = &self.problem.shape;
        let most = MOST_NUMBERS / (shape.dimension * shape.most_records).max(1);
        let (all, some) = (shape.private_records, most.max(FEWEST).min(shape.private_records));
        let seconds = self.seconds(some)?;
        if some == all {
            return Ok(seconds);
        }
        let half = some / 2;
        let each = seconds.saturating_sub(self.seconds(half)?).div_f64((some - half) as f64);
        // No more than if all of the time grew with the records.
        let each = each.min(seconds.div_f64(some as f64));
        Ok(seconds + each.mul_f64((all - some) as f64))
    }

    /// The same with this many private records.
    fn seconds(&self, records: usize) -> Result<Duration> {
        let method = adapt::method(&self.plan.method)?;
        let spec = method.spec();
        let settings = spec.check(&self.plan.settings)?;
        let mut problem = self.problem.clone();
        problem.shape.private_records = records;
        let private = stand_in(&problem, spec.needs_private_labels);
        let private = Private::new(Bounded::of(private));
        let prepared = method.prepare(&settings, problem, self.plan.target)?;
        let calibrated = prepared.plan().calibrate(self.plan.target)?;
        let begun = Instant::now();
        let mut run = prepared.start(private, &calibrated)?;
        let start = begun.elapsed();
        let mut spender = Spender::rehearsal(&calibrated, self.plan.seed);
        let mut moment = Moment { watch: Watch::open(), begun: Instant::now(), taken: Vec::new() };
        run.drive_with(&mut spender, &mut moment)?;
        // The first step is often the only one that reads the private records.
        let (Some(first), Some(last)) = (moment.taken.first(), moment.taken.last()) else {
            return Err(Error::failed("no step was taken"));
        };
        let later = moment.taken.len() as f64 - 1.0;
        let rest = last.saturating_sub(*first).mul_f64((self.steps as f64 - 1.0) / later.max(1.0));
        Ok(start + *first + rest)
    }
}

/// The fewest records that are timed.
const FEWEST: usize = 100;

/// Public records in the private role, over and over until there are as many as private ones.
fn stand_in(problem: &Problem, labelled: bool) -> Dataset {
    let (shape, public) = (&problem.shape, &problem.public);
    let rows = shape.private_records * shape.most_records;
    let features = public.features.pick(circle(rows, public.len()).into_iter().map(Some));
    let classes = (labelled && !shape.classes.is_empty()).then(|| {
        let of = circle(rows, shape.classes.len()).into_iter().map(|class| class as u32);
        Classes { of: of.collect(), names: shape.classes.clone() }
    });
    let target = (labelled && classes.is_none()).then(|| match &public.target {
        Some(target) => circle(rows, public.len()).into_iter().map(|row| target[row]).collect(),
        None => vec![0.0; rows],
    });
    let persons = (shape.most_records > 1).then(|| {
        let each = std::iter::repeat_n(shape.most_records, shape.private_records);
        Arc::new(Persons::of_counts(each))
    });
    let feature_names = public.feature_names.clone();
    Dataset {
        name: "public records in the private role".to_owned(),
        features: features.doubles(0..rows),
        feature_names,
        target,
        classes,
        bounds: shape.bounds,
        clipped: 0,
        persons,
    }
}

/// 0, 1, … `period` − 1, 0, 1, …
fn circle(count: usize, period: usize) -> Vec<usize> {
    (0..count).map(|at| at % period).collect()
}

/// Lets a run take steps for a moment.
struct Moment {
    watch: Watch,
    begun: Instant,
    /// When each step was done, since the beginning.
    taken: Vec<Duration>,
}

impl Companion for Moment {
    fn watch(&mut self, _: &Spender) -> Option<&Watch> {
        (self.taken.len() < 2 || self.begun.elapsed() < MOMENT).then_some(&self.watch)
    }

    fn taken(&mut self, _: &dyn Run, _: &Spender, _: Step) -> Result<()> {
        self.taken.push(self.begun.elapsed());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::{ProblemShape, example};
    use crate::data::Task;

    fn plan(method: &str) -> PlanDefinition {
        let text = format!(
            "(name: \"p\", method: \"{method}\", private: \"a\", public: [\"b\"],
              target: (epsilon: 1.0, delta: 1e-6), seed: 1)"
        );
        ron::from_str(&text).unwrap()
    }

    fn timed(method: &str, change: &dyn Fn(&mut ProblemShape)) -> Result<Duration> {
        let spec = adapt::method(method)?.spec();
        let make = match spec.task {
            Task::Regression => example::shifted,
            Task::Classification => example::two_classes,
        };
        let (mut shape, public, _) = make(4, 120, 300, 1);
        change(&mut shape);
        TimedPlan { plan: plan(method), problem: example::problem(&shape, &public), steps: 10 }
            .time()
    }

    #[test]
    fn every_method_is_timed_for_rows_and_for_persons() {
        for method in adapt::methods() {
            let id = method.spec().id;
            assert!(timed(id, &|_| ()).unwrap() > Duration::ZERO, "{id}");
            assert!(timed(id, &|shape| shape.most_records = 3).unwrap() > Duration::ZERO, "{id}");
        }
    }

    #[test]
    fn more_records_than_are_timed_are_expected_to_take_longer() {
        // No record of such a table is made.
        let time =
            |records| timed("target_only", &|shape| shape.private_records = records).unwrap();
        assert!(time(1 << 34) > time(300));
    }

    #[test]
    fn the_stand_in_has_the_size_and_the_labels_of_the_private_records() {
        let (shape, public, _) = example::two_classes(4, 50, 130, 1);
        let mut problem = example::problem(&shape, &public);
        let data = stand_in(&problem, true);
        assert_eq!((data.len(), data.protected()), (130, 130));
        assert_eq!(data.features.column(51), public.features.column(1));
        assert_eq!(data.classes.unwrap().names, shape.classes);
        assert!(stand_in(&problem, false).classes.is_none());
        problem.shape.most_records = 2;
        let data = stand_in(&problem, true);
        assert_eq!((data.len(), data.protected()), (260, 130));
    }
}
