//! How long a run will take: the first steps of the same run, with public records in the private role.
//!
//! A thread of its own does this while the plan is shown. It knows public records and the plan's
//! public sizes only, its noise is seeded, and nothing is spent.
//!
//! | part of a run | how it is timed |
//! |---|---|
//! | preparing private records | some public rows are prepared, unless the private ones are |
//! | the start, and steps | as many as fit into the time, on as many records, or on fewer, twice |
//! | evaluating the model after steps, scores at the end | on as many held-out records, or fewer |
//! | comparisons beside the steps | trained, the private one on the records in the private role |
//!
//! Steps and comparisons share the processors and neither uses all of them all the time, so half of
//! the shorter one is added to the longer one. What depends on the disk is not timed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::assembly::Proposal;
use super::evaluator::{Evaluator, evaluated_steps, is_evaluated};
use super::job::Job;
use super::preview::NewestFirst;
use super::public_alone::PublicAlone;
use super::steps::epsilon_of;
use crate::data::preparation::Judging;
use crate::data::{Bounded, Classes, Dataset, HeldOut, Persons, Preparation, PublicData, Table};
use crate::error::{Error, Result};
use crate::evaluation::Loss;
use crate::memory;
use crate::methods::baselines::{public_only, reference};
use crate::methods::{self, Companion, Problem, Run, Step};
use crate::model::Model;
use crate::numeric::Matrix;
use crate::numeric::columns::ExampleColumns;
use crate::plot::number::duration;
use crate::privacy::openings::{OpenSpender, OpenWatch};
use crate::privacy::{Calibrated, Private, Released, Spender, Watch};
use crate::session::{Loaded, PlanDefinition};

/// Steps are timed for this long.
const TIMED_FOR: Duration = Duration::from_millis(300);

/// With more private numbers, fewer records are timed, and the time is taken to grow with them.
const MOST_NUMBERS: usize = 1 << 24;

/// A number in the private role takes eight bytes while it is made, then four.
const BYTES_OF_A_NUMBER: u64 = 16;

/// The fewest records that are timed.
const FEWEST_RECORDS: usize = 100;

/// A plan with everything public on which its time depends.
#[derive(Debug, Clone)]
pub struct TimedPlan {
    pub plan: PlanDefinition,
    pub problem: Problem,
    /// The number of steps.
    pub steps: u64,
    /// How records are prepared, and those public ones that evaluate models.
    pub preparation: Preparation,
    pub(super) judging: Judging,
    pub public_holdout: Arc<PublicData>,
    /// Public data alone, with which its models are compared.
    pub(super) alone: Option<Arc<PublicAlone>>,
    /// The number of private records that evaluate models, 0 without labels.
    pub held_out: usize,
    /// Whether their score will be released.
    pub scored: bool,
    /// A public dataset, if the private records are not prepared yet.
    pub unprepared: Option<Arc<Loaded>>,
}

/// From a launch to the end, without reading the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTime {
    pub open: Duration,
    /// With a sealed view, which computes nothing exact from private records.
    pub sealed: Duration,
    /// Whether the run may end earlier.
    pub at_most: bool,
}

impl RunTime {
    /// For readers: `about 25 s`. What is not timed is a part of a second.
    pub fn words(&self, sealed: bool) -> String {
        let time = if sealed { self.sealed } else { self.open };
        if time < Duration::from_secs(1) {
            return "about a second or less".to_owned();
        }
        let most = if self.at_most { "at most " } else { "" };
        format!("{most}about {}", duration(time.as_secs_f64()))
    }
}

/// Starts the thread that times plans. `answer` gets the plan and its time in this program, or
/// nothing if it could not be timed.
pub(super) fn stopwatch(
    answer: impl Fn(PlanDefinition, Option<RunTime>) + Send + 'static,
) -> NewestFirst<TimedPlan> {
    NewestFirst::start(move |asked: TimedPlan| {
        let time = catch_unwind(AssertUnwindSafe(|| asked.time(false)));
        answer(asked.plan, time.ok().and_then(Result::ok));
    })
}

impl TimedPlan {
    /// A plan that was proposed for these datasets.
    pub(super) fn of(job: &Job, proposal: &Proposal, private: &Loaded) -> Self {
        let plan = &job.plan;
        let labelled = proposal.problem.shape.private_labels;
        let public = job.datasets.iter().find(|it| plan.public.contains(&it.definition.name));
        Self {
            plan: plan.clone(),
            problem: proposal.problem.clone(),
            steps: proposal.prepared.plan().steps,
            preparation: proposal.preparation.clone(),
            judging: proposal.judging.clone(),
            alone: proposal.public_alone().cloned(),
            public_holdout: Arc::clone(&proposal.public_holdout),
            held_out: if labelled { Table::holdout_rows(private.rows, plan.holdout) } else { 0 },
            scored: proposal.scoring.is_some() || proposal.test.is_some(),
            unprepared: public.filter(|_| !proposal.has_private_records()).cloned(),
        }
    }

    /// The time of the whole run. `anew`: another program carries it out, which has to train the
    /// models of public records again.
    pub fn time(&self, anew: bool) -> Result<RunTime> {
        let method = methods::method(&self.plan.method)?.spec();
        let (learning, alone) = clocked(|| {
            if method.public_only {
                let Problem { public, seed, .. } = &self.problem;
                return public_only::predictor(public, *seed).map(|_| None);
            }
            Ok(self.alone.as_ref().and_then(|alone| alone.model()))
        });
        let (learning, alone) = (if anew { learning } else { Duration::ZERO }, alone?);
        let (mut before, mut beside) = (self.preparing(), learning);
        // Such a method itself needs this model, before its first step.
        if method.takes_wide_features {
            before += std::mem::take(&mut beside);
        }
        let shape = &self.problem.shape;
        let (all, some) = (shape.private_records, self.timed_records());
        let held_out = self.stand_in_held_out();
        let timed = self.time_steps(some, Some(&held_out))?;
        let mut working = timed.working;
        if some < all {
            let half = some / 2;
            let each = working.saturating_sub(self.time_steps(half, None)?.working);
            let each = each.div_f64((some - half) as f64);
            // No more than if all of the time grew with the records.
            let each = each.min(working.div_f64(some as f64));
            working += each.mul_f64((all - some) as f64);
        }
        let watch = Watch::open();
        let evaluator = self.evaluator(Some(&held_out), &watch);
        let (comparing, baselines) = clocked(|| evaluator.comparing(shape, &timed.private)());
        let baselines = baselines.beside(alone);
        let multiplications = |records| {
            reference::multiplications(records, shape.dimension, shape.classes.len()).max(1.0)
        };
        let comparing = comparing.mul_f64(multiplications(all) / multiplications(some));
        let scores = self.evaluated(&held_out, |evaluator| {
            evaluator.scores(timed.model.as_ref(), &baselines, Loss::default());
        });
        let scores = if self.scored { scores + scores } else { scores };
        let evaluating = timed.evaluating;
        let sealed = before + overlapping(working + evaluating.public, beside) + scores.public;
        let open =
            overlapping(working + evaluating.public + evaluating.private, beside + comparing);
        let open = before + open + scores.public + scores.private;
        Ok(RunTime { open, sealed, at_most: method.may_end_early })
    }

    /// As many private records as there are, or fewer where this would take long.
    fn timed_records(&self) -> usize {
        let shape = &self.problem.shape;
        let most = MOST_NUMBERS.min((memory::much() / BYTES_OF_A_NUMBER) as usize);
        let most = most / (shape.dimension * shape.most_records).max(1);
        most.max(FEWEST_RECORDS).min(shape.private_records)
    }

    /// The time of preparing private records, from that of public ones.
    fn preparing(&self) -> Duration {
        let Some(table) = self.unprepared.as_ref().and_then(|loaded| loaded.public().ok()) else {
            return Duration::ZERO;
        };
        let shape = &self.problem.shape;
        let rows: Vec<usize> = (0..table.rows().min(self.timed_records())).collect();
        let (name, bounds) = (("public", false), shape.bounds);
        let prepare = || self.preparation.bounded_private_rows(table, &rows, name, bounds);
        let (time, prepared) = clocked(prepare);
        let all = (shape.private_records + self.held_out) * shape.most_records;
        // A public predictor may need what these rows lack.
        prepared.map_or(Duration::ZERO, |_| time.mul_f64(all as f64 / rows.len().max(1) as f64))
    }

    fn stand_in_held_out(&self) -> Private<HeldOut> {
        let public = &*self.public_holdout;
        let (_, rows) = self.held_out_rows();
        let of = circle(rows, public.len());
        Private::new(HeldOut {
            feature_names: public.feature_names.clone(),
            target: public.target.as_ref().map(|labels| of.clone().map(|at| labels[at]).collect()),
            classes: public.classes.as_ref().map(|classes| Classes {
                of: of.map(|at| classes.of[at]).collect(),
                names: classes.names.clone(),
            }),
            ..HeldOut::unlabelled(
                "held-out public records in the private role",
                (&over_and_over(&public.features, rows)).into(),
                public.bounds,
            )
        })
    }

    fn evaluator<'a>(
        &'a self,
        private: Option<&'a Private<HeldOut>>,
        watch: &'a Watch,
    ) -> Evaluator<'a> {
        let prepared = (&self.preparation, &self.judging);
        Evaluator::new(prepared, &self.public_holdout, private, watch)
    }

    /// The time of evaluating on public records, and on all private ones.
    fn evaluated(
        &self,
        held_out: &Private<HeldOut>,
        work: impl Fn(&Evaluator<'_>),
    ) -> EvaluationTime {
        let (sealed, open) = (Watch::sealed(), Watch::open());
        let (public, ()) = clocked(|| work(&self.evaluator(None, &sealed)));
        let (both, ()) = clocked(|| work(&self.evaluator(Some(held_out), &open)));
        let (all, some) = self.held_out_rows();
        let share = all as f64 / some.max(1) as f64;
        EvaluationTime { public, private: both.saturating_sub(public).mul_f64(share) }
    }

    /// The private rows that evaluate models, and how many of them are timed.
    fn held_out_rows(&self) -> (usize, usize) {
        let all = self.held_out * self.problem.shape.most_records;
        if self.public_holdout.is_empty() { (0, 0) } else { (all, all.min(self.timed_records())) }
    }

    /// Times the first steps of the run on this many private records.
    fn time_steps(
        &self,
        records: usize,
        held_out: Option<&Private<HeldOut>>,
    ) -> Result<TimedStart> {
        let method = methods::method(&self.plan.method)?;
        let spec = method.spec();
        let settings = spec.check(&self.plan.settings)?;
        let mut problem = self.problem.clone();
        problem.shape.private_records = records;
        let private = Private::new(Bounded::of(stand_in(&problem, spec.needs_private_labels)));
        let prepared = method.prepare(&settings, problem, self.plan.target)?;
        let calibrated = prepared.plan().calibrate(self.plan.target)?;
        let (start, run) = clocked(|| prepared.start(private.share(), &calibrated));
        let mut run = run?;
        let mut spender = Spender::rehearsal(&calibrated, self.plan.seed);
        let mut steps = TimedSteps {
            plan: self,
            held_out,
            calibrated: &calibrated,
            watch: Watch::open(),
            begun: Instant::now(),
            step: Instant::now(),
            taken: Vec::new(),
            evaluated: Vec::new(),
        };
        run.drive_with(&mut spender, &mut steps)?;
        let model = run.model();
        let (taken, evaluated) = (steps.taken, steps.evaluated);
        // The first step is often the only one that reads the private records.
        let (first, later) =
            taken.split_first().ok_or_else(|| Error::failed("no step was taken"))?;
        let rest = mean(later.iter().copied()).mul_f64(self.steps as f64 - 1.0);
        let working = start + *first + rest;
        let times = model.as_ref().map_or(0, |model| evaluated_steps(model.get(), self.steps));
        let total = |part: fn(&EvaluationTime) -> Duration| {
            mean(evaluated.iter().map(part)).mul_f64(times as f64)
        };
        let evaluating =
            EvaluationTime { public: total(|it| it.public), private: total(|it| it.private) };
        Ok(TimedStart { working, evaluating, model, private })
    }
}

/// The time of a run on fewer records, from its first steps.
struct TimedStart {
    /// The start and all steps.
    working: Duration,
    /// After all steps.
    evaluating: EvaluationTime,
    /// The last model, and the records in the private role.
    model: Option<Released<Model>>,
    private: Private<Bounded>,
}

#[derive(Debug, Clone, Copy)]
struct EvaluationTime {
    public: Duration,
    private: Duration,
}

impl std::ops::Add for EvaluationTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { public: self.public + other.public, private: self.private + other.private }
    }
}

fn clocked<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

fn mean(times: impl ExactSizeIterator<Item = Duration>) -> Duration {
    let count = times.len().max(1);
    times.sum::<Duration>().div_f64(count as f64)
}

/// Of work on two threads at the same time.
fn overlapping(one: Duration, other: Duration) -> Duration {
    one.max(other) + one.min(other) / 2
}

/// Public records in the private role, over and over until there are as many as private ones.
fn stand_in(problem: &Problem, labelled: bool) -> Dataset {
    let (shape, public) = (&problem.shape, &problem.public);
    let rows = shape.private_records * shape.most_records;
    let classes = (labelled && !shape.classes.is_empty()).then(|| {
        let of = circle(rows, shape.classes.len()).map(|class| class as u32);
        Classes { of: of.collect(), names: shape.classes.clone() }
    });
    let target = (labelled && classes.is_none()).then(|| match &public.target {
        Some(target) => circle(rows, public.len()).map(|row| target[row]).collect(),
        None => vec![0.0; rows],
    });
    let persons = (shape.most_records > 1).then(|| {
        let each = std::iter::repeat_n(shape.most_records, shape.private_records);
        Arc::new(Persons::of_counts(each))
    });
    Dataset {
        feature_names: public.feature_names.clone(),
        target,
        classes,
        persons,
        ..Dataset::unlabelled(
            "public records in the private role",
            over_and_over(&public.features, rows),
            shape.bounds,
        )
    }
}

/// 0, 1, … `period` − 1, 0, 1, …
fn circle(count: usize, period: usize) -> impl Iterator<Item = usize> + Clone {
    (0..count).map(move |at| at % period)
}

/// The first `count` of these examples, one after another, again and again.
fn over_and_over(examples: &impl ExampleColumns, count: usize) -> Matrix {
    let mut numbers = Vec::with_capacity(examples.dimension() * count);
    let mut left = count;
    while left > 0 {
        for range in examples.stretches(0..left.min(examples.count())) {
            left -= range.len();
            numbers.extend_from_slice(examples.doubles(range).as_slice());
        }
    }
    Matrix::from_vec(examples.dimension(), count, numbers)
}

/// Lets a run take steps for a short time, and evaluates them.
struct TimedSteps<'a> {
    plan: &'a TimedPlan,
    held_out: Option<&'a Private<HeldOut>>,
    calibrated: &'a Calibrated,
    watch: Watch,
    begun: Instant,
    /// When the current step began.
    step: Instant,
    taken: Vec<Duration>,
    evaluated: Vec<EvaluationTime>,
}

impl Companion for TimedSteps<'_> {
    fn watch(&mut self, _: &Spender) -> Option<&Watch> {
        let goes_on = self.taken.len() < 2 || self.begun.elapsed() < TIMED_FOR;
        self.step = Instant::now();
        goes_on.then_some(&self.watch)
    }

    fn taken(&mut self, run: &dyn Run, spender: &Spender, step: Step) -> Result<()> {
        epsilon_of(spender, self.calibrated)?;
        self.taken.push(self.step.elapsed());
        let Some(held_out) = self.held_out else { return Ok(()) };
        if run.model().is_some_and(|model| is_evaluated(model.get(), &step)) {
            let work = |evaluator: &Evaluator<'_>| evaluator.evaluate(run, &mut step.clone());
            self.evaluated.push(self.plan.evaluated(held_out, work));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Task;
    use crate::methods::{ProblemShape, example};
    use crate::privacy::openings::OpenPrivate;
    use crate::session::example::preparation;

    fn plan(method: &str) -> PlanDefinition {
        let text = format!(
            "(name: \"p\", method: \"{method}\", private: \"a\", public: [\"b\"],
              target: (epsilon: 1.0, delta: 1e-6), seed: 1)"
        );
        ron::from_str(&text).unwrap()
    }

    fn timed_plan(method: &str, change: &dyn Fn(&mut ProblemShape)) -> TimedPlan {
        let task = methods::method(method).unwrap().spec().task;
        let make = match task {
            Task::Regression => example::shifted,
            Task::Classification => example::two_classes,
        };
        let (mut shape, public, _) = make(4, 120, 300, 1);
        change(&mut shape);
        TimedPlan {
            plan: plan(method),
            problem: example::problem(&shape, &public),
            steps: 10,
            preparation: preparation(task),
            judging: preparation(task).into(),
            alone: None,
            public_holdout: Arc::new(public.records(0, 40).into()),
            held_out: 60,
            scored: false,
            unprepared: None,
        }
    }

    #[test]
    fn every_method_is_timed_for_rows_and_for_persons() {
        let change: [&dyn Fn(&mut ProblemShape); 2] = [&|_| (), &|shape| shape.most_records = 3];
        for (method, change) in methods::methods().iter().flat_map(|it| change.map(|of| (it, of))) {
            let id = method.spec().id;
            let RunTime { open, sealed, .. } = timed_plan(id, change).time(true).unwrap();
            assert!(open >= sealed && sealed > Duration::ZERO, "{id}");
        }
    }

    #[test]
    fn more_records_than_are_timed_are_expected_to_take_longer() {
        // No record of such a table is made.
        let time = |records| {
            let of = timed_plan("target_only", &|shape| shape.private_records = records);
            of.time(true).unwrap().open
        };
        assert!(time(1 << 34) > 100 * time(300));
    }

    #[test]
    fn judging_on_more_held_out_records_than_are_timed_takes_longer_unless_the_view_is_sealed() {
        let few = timed_plan("target_only", &|_| ());
        let many = TimedPlan { held_out: 1 << 34, ..few.clone() };
        let (few, many) = (few.time(true).unwrap(), many.time(true).unwrap());
        assert!(many.open > 100 * few.open);
        assert!(many.sealed < 100 * few.sealed.max(Duration::from_millis(10)));
    }

    #[test]
    fn no_false_precision_is_told() {
        let time = |open: u64, at_most| {
            let (open, sealed) = (Duration::from_millis(open), Duration::from_millis(20));
            RunTime { open, sealed, at_most }
        };
        assert_eq!(time(25_300, false).words(false), "about 25 s");
        assert_eq!(time(25_300, true).words(false), "at most about 25 s");
        assert_eq!(time(25_300, true).words(true), "about a second or less");
        assert_eq!(time(400, false).words(false), "about a second or less");
    }

    #[test]
    fn a_part_that_is_beside_another_takes_half_of_its_time() {
        let (long, short) = (Duration::from_secs(4), Duration::from_secs(1));
        assert_eq!(overlapping(long, short), Duration::from_millis(4_500));
        assert_eq!(overlapping(short, long), Duration::from_millis(4_500));
    }

    #[test]
    fn stand_ins_have_the_size_and_the_labels_of_the_private_records() {
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
        let held_out = timed_plan("dp_sgd", &|_| ()).stand_in_held_out();
        let watch = Watch::open();
        let labels = held_out.curator(&watch, |data| data.classes.as_ref().unwrap().of.len());
        assert_eq!(*labels.unwrap().reveal(&watch).unwrap(), 60);
    }
}
