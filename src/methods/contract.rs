//! The definition of a method: a plan and a way to start it, made together and once.

use super::problem::Expected;
use super::{Measure, Plan, Problem, Settings, Spec};
use crate::data::Bounded;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::privacy::{Calibrated, Private, Released, Spender, Target, Watch};

/// Raised whenever a method takes other steps than before from the same released values, or a score has
/// other numbers. Runs that were started before cannot be resumed then.
pub const STEPS_VERSION: u32 = 30;

/// The most features of matrices that are decomposed or factored as a whole. This takes most of a
/// minute at this width and ten minutes at 8000 features; with more, a run could neither begin nor
/// be stopped.
pub const MOST_FEATURES: usize = 3_000;

/// Starts the planned run, on private records and with the plan's calibrated noise. It may look at
/// public data and at released values only.
pub type Start = Box<dyn FnOnce(Private<Bounded>, &Calibrated) -> Result<Box<dyn Run>> + Send>;

/// An adaptation method: what is known of it before any data, and what it computes.
#[derive(Debug)]
pub struct Method {
    /// Name, needs, settings and other facts of the method.
    pub(crate) spec: &'static Spec,
    /// Every release that a run will make, and how it starts. Private data are not available here.
    /// The settings and the problem fit the spec; the target may decide how often to query the
    /// data, or which noise a paper prints. Slow work belongs in the start, because a plan is made
    /// for every preview.
    ///
    /// Where persons are protected, it adds up persons, each as the mean of their records (see
    /// [`crate::data::persons`]): it uses `most_records` of the problem and the shares of the records.
    /// The audit tries every method on persons.
    pub(crate) plan: fn(&Settings, Problem, Target) -> Result<(Plan, Start)>,
}

impl Method {
    /// Name, needs, settings and other facts of the method.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Checks the problem and plans.
    pub fn prepare(
        &self,
        settings: &Settings,
        problem: Problem,
        target: Target,
    ) -> Result<Prepared> {
        problem.check(self.spec)?;
        check_width(self.spec, problem.shape.dimension)?;
        let expected = problem.expected(self.spec);
        let (plan, start) = (self.plan)(settings, problem, target)?;
        Ok(Prepared { plan, expected, start })
    }
}

fn check_width(spec: &Spec, features: usize) -> Result<()> {
    let Some(most) = spec.most_features.filter(|most| features > *most) else {
        return Ok(());
    };
    let name = spec.name;
    let error = format!("the data have {features} features, and '{name}' takes {most} at most");
    Err(Error::usage(error).cure(
        "select fewer columns. Where the private records have labels, 'private records alone' \
         takes any number, and for classes 'private, on public directions'",
    ))
}

/// A method that only needs private records and noise.
pub struct Prepared {
    plan: Plan,
    expected: Expected,
    start: Start,
}

impl Prepared {
    /// What the run will release.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Refuses private records of another shape than planned, and noise that does not cover the
    /// plan.
    pub fn start(self, private: Private<Bounded>, noise: &Calibrated) -> Result<Box<dyn Run>> {
        self.plan.check(noise)?;
        self.expected.check(&private)?;
        (self.start)(private, noise)
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// What a method corrects in one column of the table. All of it follows from released values and the
/// known noise.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnCorrection {
    pub column: String,
    /// How far the correction moves the answer for a typical record.
    pub size: f64,
    /// How large the released slope is in the features of this column, over the size that noise alone
    /// gives it: about 1 if the private records ask for no correction there.
    pub times_noise: f64,
}

/// A started method.
pub trait Run: Send {
    /// One step; draws what it needs from `spender`. Must not be called again after a
    /// step with `done`.
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step>;

    /// The current model: that of the last step, which a stopped run delivers. `None` before there
    /// is one.
    fn model(&self) -> Option<Released<Model>>;

    /// The weights of the public records under the current model, if the method weights them: not
    /// negative, in the order of the public records.
    fn weights(&self) -> Option<Released<Vec<f64>>> {
        None
    }

    /// The corrections of single columns so far, if the method corrects a model.
    fn columns(&self) -> Option<Released<Vec<ColumnCorrection>>> {
        None
    }

    /// The final model.
    fn finish(self: Box<Self>) -> Result<Released<Model>> {
        self.model().ok_or_else(|| {
            Error::failed("the run ended before its first step, so there is no model")
                .cure("run it again")
        })
    }
}

/// Accompanies a run: it is asked before every step and informed after it.
pub trait Companion {
    /// Says who may look at the next step. `None` ends the run before it.
    fn watch(&mut self, spender: &Spender) -> Option<&Watch>;

    /// A step was taken; the run and its spending are those after the step.
    fn taken(&mut self, run: &dyn Run, spender: &Spender, step: Step) -> Result<()>;
}

/// A function that only listens, with one watch for all steps.
impl<F: FnMut(&dyn Run, &Spender, Step) -> Result<()>> Companion for (&Watch, F) {
    fn watch(&mut self, _: &Spender) -> Option<&Watch> {
        Some(self.0)
    }

    fn taken(&mut self, run: &dyn Run, spender: &Spender, step: Step) -> Result<()> {
        self.1(run, spender, step)
    }
}

impl dyn Run {
    /// Takes every step; `tell` gets each, with the run and its spending after it.
    pub fn drive(
        &mut self,
        spender: &mut Spender,
        watch: &Watch,
        tell: impl FnMut(&dyn Run, &Spender, Step) -> Result<()>,
    ) -> Result<()> {
        self.drive_with(spender, &mut (watch, tell)).map(|_| ())
    }

    /// Takes steps as long as `companion` allows. Returns whether the last one was among them.
    pub fn drive_with(
        &mut self,
        spender: &mut Spender,
        companion: &mut impl Companion,
    ) -> Result<bool> {
        while let Some(watch) = companion.watch(spender) {
            let step = self.step(spender, watch)?;
            let done = step.done;
            companion.taken(self, spender, step)?;
            if done {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The report of one step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Counts from 1.
    pub index: u64,
    /// Steps of the whole run.
    pub total: u64,
    /// What the method was doing, such as `release` or `descend`.
    pub phase: &'static str,
    /// The measures after it.
    pub measures: Vec<Measure>,
    /// Whether the step was the last one.
    pub done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Persons};
    use crate::example::{self, TARGET};
    use crate::numeric::Vector;
    use crate::privacy::openings::OpenSpender;
    use std::collections::BTreeMap;

    fn prepared(public: &Dataset, shape: &crate::ProblemShape) -> Prepared {
        let method = crate::smallest::METHOD;
        let settings = method.spec().check(&BTreeMap::new()).unwrap();
        method.prepare(&settings, example::problem(shape, public), TARGET).unwrap()
    }

    #[test]
    fn the_smallest_method_releases_what_it_announces() {
        let (shape, public, private) = example::shifted(3, 40, 500, 1);
        let prepared = prepared(&public, &shape);
        let noise = Calibrated::noiseless(&prepared.plan().releases, TARGET.delta);
        let records = Private::new(private.clone().into());
        let mut run = prepared.start(records, &noise).unwrap();
        let mut spender = Spender::rehearsal(&noise, 1);
        assert!(run.model().is_none());
        let mut told = 0;
        run.drive(&mut spender, &Watch::sealed(), |run, _, _| {
            told += 1;
            assert!(run.model().is_some());
            Ok(())
        })
        .unwrap();
        assert_eq!(told, 1);
        assert_eq!(spender.counts(), [1]);
        let Model::Linear(model) = run.finish().unwrap().into_inner() else { panic!() };
        let private = Bounded::from(private).doubles();
        let labels = Vector::from_vec(private.target.unwrap());
        let wanted = &private.features * labels / 500.0;
        assert!((Vector::from_vec(model.weights) - wanted).norm() < 1e-12);
    }

    /// Replaces a person of one record by one of 32 opposite records.
    #[test]
    fn the_smallest_method_counts_a_person_as_the_mean_of_their_records() {
        let (shape, public, private) = example::shifted(3, 40, 71, 1);
        let shape = crate::ProblemShape { private_records: 40, most_records: 32, ..shape };
        let prepared = || prepared(&public, &shape);
        let query = prepared().plan().releases[0].query;
        let noise = Calibrated::noiseless(&prepared().plan().releases, TARGET.delta);
        let slope = |first: usize, sign: f64| {
            let rows: Vec<usize> = (0..first).chain(32..71).collect();
            let mut data = private.select(&rows);
            for k in 0..first {
                data.features.set_column(k, &Vector::from_vec(vec![1.0, 0.0, 0.0]));
                data.target.as_mut().unwrap()[k] = sign;
            }
            let counts = std::iter::once(first).chain(std::iter::repeat_n(1, 39));
            data.persons = Some(Persons::of_counts(counts).into());
            let mut run = prepared().start(Private::new(data.into()), &noise).unwrap();
            let mut spender = Spender::rehearsal(&noise, 1);
            run.drive(&mut spender, &Watch::sealed(), |_, _, _| Ok(())).unwrap();
            let Model::Linear(model) = run.finish().unwrap().into_inner() else { panic!() };
            Vector::from_vec(model.weights)
        };
        let moved = (slope(1, 1.0) - slope(32, -1.0)).norm() / query.sensitivity;
        assert!(moved > 1.0 - 1e-9 && moved <= 1.0, "{moved}");
    }

    #[test]
    fn data_wider_than_a_method_takes_are_refused_before_anything_is_planned() {
        for method in crate::methods() {
            let Some(most) = method.spec().most_features else { continue };
            check_width(method.spec(), most).unwrap();
            let error = check_width(method.spec(), most + 1).unwrap_err();
            assert!(error.what().contains(&format!("takes {most} at most")), "{error}");
        }
    }

    #[test]
    fn nothing_starts_on_other_records_or_with_noise_for_another_plan() {
        let (shape, public, private) = example::shifted(3, 40, 500, 1);
        let planned = || prepared(&public, &shape);
        let noise = planned().plan().calibrate(TARGET).unwrap();
        let start = |records: &Dataset, noise: &Calibrated| {
            planned().start(Private::new(records.clone().into()), noise).map(|_| ())
        };
        start(&private, &noise).unwrap();
        let error = start(&private.records(0, 499), &noise).unwrap_err();
        assert!(error.what().contains("another shape"), "{error}");
        let more = crate::ProblemShape { private_records: 1000, ..shape.clone() };
        let less = prepared(&public, &more).plan().calibrate(TARGET).unwrap();
        let error = start(&private, &less).unwrap_err();
        assert!(error.what().contains("another plan"), "{error}");
    }
}
