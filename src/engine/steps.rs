//! The steps of an opened run. Each is evaluated and recorded before the next.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::control::Control;
use super::evaluator::Evaluator;
use super::job::{RunProgress, StepProgress};
use crate::error::{Error, Result};
use crate::methods::{Companion, Run, Step};
use crate::model::Model;
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::RunOutcome;
use crate::privacy::{Calibrated, Released, Spender, Watch};
use crate::session::RunDirectory;
use crate::session::resumption::Recorded;

/// Follows a run, records its steps and reports them.
pub(super) struct StepRecorder<'a> {
    control: &'a Control,
    evaluator: &'a Evaluator<'a>,
    calibrated: &'a Calibrated,
    /// Steps that an earlier program recorded.
    recorded: Option<Recorded>,
    directory: &'a mut RunDirectory,
    tell: &'a mut dyn FnMut(RunProgress),
    /// Whether the next step was already recorded and is only repeated.
    again: bool,
    /// The watch for steps that nobody looks at.
    unseen: Watch,
    /// How often each event was drawn before the step, and when the step began.
    drawn: Vec<u64>,
    began: Instant,
    /// The last step.
    pub taken: u64,
    /// Time at work, without pauses and repeated steps.
    pub worked: Duration,
    /// The weights of the public records under the model, if the method weights them.
    pub weights: Option<Released<Vec<f64>>>,
    /// Whether another program can continue where this one ended.
    pub resumable: bool,
}

impl<'a> StepRecorder<'a> {
    pub fn new(
        control: &'a Control,
        evaluator: &'a Evaluator<'a>,
        calibrated: &'a Calibrated,
        recorded: Option<Recorded>,
        directory: &'a mut RunDirectory,
        tell: &'a mut dyn FnMut(RunProgress),
    ) -> Self {
        Self {
            control,
            evaluator,
            calibrated,
            recorded,
            directory,
            tell,
            again: true,
            unseen: Watch::sealed(),
            drawn: Vec::new(),
            began: Instant::now(),
            taken: 0,
            worked: Duration::ZERO,
            weights: None,
            resumable: false,
        }
    }

    /// Takes all steps of the run that `start` makes. Returns its model, if there is one, and how
    /// it ended.
    pub fn take(
        &mut self,
        start: impl FnOnce() -> Result<Box<dyn Run>>,
        spender: &mut Spender,
    ) -> (Option<Released<Model>>, Result<RunOutcome>) {
        let mut model = None;
        let ended = catch(|| {
            let mut run = start()?;
            let driven = run.drive_with(spender, self);
            self.weights = run.weights();
            match driven {
                Ok(true) => {
                    model = Some(run.finish()?);
                    Ok(RunOutcome::Finished)
                }
                Ok(false) if self.control.is_left() => {
                    self.resumable = true;
                    Err(Error::interrupted("the run was left to another process"))
                }
                Err(error) if !spender.ran_out() || run.model().is_none() => {
                    self.resumable |= self.again || spender.is_broken();
                    Err(error)
                }
                Ok(false) | Err(_) => {
                    model = run.model();
                    Ok(RunOutcome::Stopped)
                }
            }
        });
        (model, ended)
    }

    /// The number of steps recorded before.
    fn before(&self) -> Option<u64> {
        self.recorded.as_ref().map(Recorded::steps)
    }

    fn write(&mut self, step: &Step, epsilon: f64) -> Result<()> {
        // The record of half a step, or of one whose values are lost.
        if self.before().is_some_and(|before| self.taken <= before) {
            self.directory.keep_until(self.taken)?;
        }
        self.directory.record(step, epsilon, self.evaluator.watch)
    }
}

impl Companion for StepRecorder<'_> {
    fn watch(&mut self, spender: &Spender) -> Option<&Watch> {
        self.again &= self.taken < self.before().unwrap_or(0) && spender.is_replaying();
        if !self.again && !self.control.proceed() {
            return None;
        }
        self.began = Instant::now();
        self.drawn = spender.counts().to_vec();
        Some(if self.again { &self.unseen } else { self.evaluator.watch })
    }

    fn taken(&mut self, run: &dyn Run, spender: &Spender, mut step: Step) -> Result<()> {
        if let Some(recorded) = &self.recorded
            && self.again
            && spender.counts() == self.drawn
        {
            self.taken = step.index;
            return recorded.check(&step).inspect_err(|_| self.resumable = true);
        }
        self.evaluator.evaluate(run, &mut step);
        self.worked += self.began.elapsed();
        let epsilon = epsilon_of(spender, self.calibrated)?;
        self.write(&step, epsilon).inspect_err(|_| self.resumable = true)?;
        self.taken = step.index;
        let columns = run.columns().map_or_else(Vec::new, |it| it.get().clone());
        let worked = self.worked;
        (self.tell)(RunProgress::Stepped(StepProgress { step, epsilon, worked, columns }));
        Ok(())
    }
}

/// What the run costs if it ends now, as [`Composition::of_run`] has it: somebody may end it because
/// of its outputs.
pub(super) fn epsilon_of(spender: &Spender, planned: &Calibrated) -> Result<f64> {
    let drawn = Composition::of(&spender.drawn())?.gate(planned.target().delta)?;
    Ok(drawn.epsilon.min(planned.guarantee().epsilon))
}

/// A panic must not take the interface, the terminal or the ledger's settlement with it.
pub(super) fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panic_message(panic.as_ref())))
}

/// What is reported of a crash, and its cure.
pub(super) type Crash = (&'static str, &'static str);

/// Makes an error of a panic that says only what crashed.
pub(super) fn catch_as<T>((what, cure): Crash, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::failed(what).cure(cure)))
}

pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no message");
    Error::failed(format!("the run crashed: {text}"))
        .cure("what it drew is charged; please report this with its run.ron")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::calibrate;
    use crate::privacy::openings::{OpenPrivate, OpenSpender};
    use crate::privacy::{Adjacency, Allotment, Private, Release, SampledSum, Target};

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        for panic in [
            catch_unwind(|| panic!("index 7 of 3")).unwrap_err(),
            catch_unwind(|| panic!("{}", "index 7 of 3")).unwrap_err(),
        ] {
            let error = panic_message(panic.as_ref());
            assert!(error.to_string().contains("index 7 of 3"), "{error}");
        }
    }

    #[test]
    fn what_is_spent_so_far_grows_to_what_the_whole_plan_costs_and_not_beyond() {
        let kind = SampledSum { sensitivity: 1.0, numbers: 1, rate: 0.2 };
        let sum = Release::new("sum", kind);
        let what = "a sum".to_owned();
        let plan = sum.announced(what, 40, Allotment::Share(1.0), Adjacency::ZeroOut);
        let calibrated = calibrate(&[plan], Target { epsilon: 2.0, delta: 1e-4 }).unwrap();
        let mut spender = Spender::rehearsal(&calibrated, 1);
        let (mut before, data) = (0.0, Private::new(()));
        for _ in 0..40 {
            data.release_sampled_sum(&mut spender, sum, |()| 9, |(), _, _| ()).unwrap();
            let epsilon = epsilon_of(&spender, &calibrated).unwrap();
            assert!(epsilon >= before);
            let ended = Composition::of_run(&spender.drawn(), calibrated.events(), 1e-4).unwrap();
            assert!((epsilon - ended.epsilon).abs() < 1e-12);
            before = epsilon;
        }
        assert_eq!(before, calibrated.guarantee().epsilon);
        let choices = Composition::of(&spender.drawn()).unwrap().gate(1e-4).unwrap();
        assert!(choices.epsilon > before, "the plan is no better than its draws");
    }
}
