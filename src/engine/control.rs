//! Pause, resume, pace and stop a run from another thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ControlMode {
    #[default]
    Run,
    Pause,
    Stop,
    Leave,
}

#[derive(Debug, Default)]
struct ControlState {
    mode: ControlMode,
    /// The most steps per second; `None` for full speed.
    pace: Option<f64>,
    last_step: Option<Instant>,
    /// The process has to end: only necessary work is still done.
    hurried: bool,
    /// Runs that stop with this one.
    each: Vec<Weak<(Mutex<ControlState>, Condvar)>>,
}

/// Shared between a run and its steering process. A run checks it between steps.
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<(Mutex<ControlState>, Condvar)>);

impl Control {
    /// For one of several runs: it stops with all of them, and is otherwise steered by itself.
    pub fn of_one(&self) -> Self {
        let mut all = self.lock();
        let ControlState { mode, pace, hurried, .. } = *all;
        let state = ControlState { mode, pace, hurried, ..ControlState::default() };
        let one = Self(Arc::new((Mutex::new(state), Condvar::new())));
        all.each.retain(|each| each.strong_count() > 0);
        all.each.push(Arc::downgrade(&one.0));
        one
    }

    pub fn pause(&self) {
        self.change(ControlMode::Run, ControlMode::Pause);
    }

    pub fn resume(&self) {
        self.change(ControlMode::Pause, ControlMode::Run);
    }

    fn change(&self, from: ControlMode, to: ControlMode) {
        self.set(|state| {
            if state.mode == from {
                state.mode = to;
            }
        });
    }

    /// Final: the run ends here without being settled, so that another process can continue it.
    pub fn leave(&self) {
        self.set(|state| {
            if state.mode != ControlMode::Stop {
                state.mode = ControlMode::Leave;
            }
        });
    }

    pub fn is_left(&self) -> bool {
        self.lock().mode == ControlMode::Leave
    }

    /// Final: a stopped run does not resume.
    pub fn stop(&self) {
        self.stop_all(false);
    }

    /// Stops because the process has to end: draws are settled, and no comparison is made.
    pub fn end(&self) {
        self.stop_all(true);
    }

    fn stop_all(&self, hurried: bool) {
        let mut each = Vec::new();
        self.set(|state| {
            state.mode = ControlMode::Stop;
            state.hurried |= hurried;
            each.clone_from(&state.each);
        });
        each.iter().filter_map(Weak::upgrade).for_each(|one| Self(one).stop_all(hurried));
    }

    pub fn is_hurried(&self) -> bool {
        self.lock().hurried
    }

    pub fn is_stopped(&self) -> bool {
        self.lock().mode == ControlMode::Stop
    }

    /// An error if somebody has stopped it; checked before anything is granted.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() {
            return Err(Error::interrupted(
                "stopped before anything was granted: nothing is spent",
            ));
        }
        Ok(())
    }

    pub fn is_paused(&self) -> bool {
        self.lock().mode == ControlMode::Pause
    }

    /// Sets the most steps per second, to watch a short run or to spare the machine; `None` for
    /// full speed.
    pub fn set_pace(&self, pace: Option<f64>) {
        self.set(|state| state.pace = pace.filter(|pace| *pace > 0.0));
    }

    pub fn pace(&self) -> Option<f64> {
        self.lock().pace
    }

    /// Waits while paused or ahead of the pace; false when the run should end.
    pub fn proceed(&self) -> bool {
        let mut state = self.lock();
        loop {
            let wait = match (state.mode, state.pace, state.last_step) {
                (ControlMode::Stop | ControlMode::Leave, ..) => return false,
                (ControlMode::Pause, ..) => None,
                (ControlMode::Run, Some(pace), Some(last)) => {
                    let due = last + Duration::from_secs_f64((1.0 / pace).min(60.0));
                    match due.checked_duration_since(Instant::now()) {
                        Some(wait) if !wait.is_zero() => Some(wait),
                        _ => break,
                    }
                }
                (ControlMode::Run, ..) => break,
            };
            let changed = &self.0.1;
            state = match wait {
                Some(wait) => {
                    changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.last_step = Some(Instant::now());
        true
    }

    fn lock(&self) -> MutexGuard<'_, ControlState> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, change: impl FnOnce(&mut ControlState)) {
        change(&mut self.lock());
        self.0.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_run_waits_until_it_is_resumed_and_a_stopped_one_ends() {
        let control = Control::default();
        control.pause();
        assert!(control.is_paused());
        let waiting = {
            let control = control.clone();
            std::thread::spawn(move || control.proceed())
        };
        control.resume();
        assert!(waiting.join().unwrap());
        control.pause();
        control.stop();
        control.resume();
        assert!(!control.proceed(), "stop is final");
    }

    #[test]
    fn a_run_that_is_left_ends_and_a_stop_stays_a_stop() {
        let control = Control::default();
        control.pause();
        control.leave();
        assert!(control.is_left() && !control.is_stopped() && !control.proceed());
        control.resume();
        assert!(control.is_left());
        let control = Control::default();
        control.stop();
        control.leave();
        assert!(control.is_stopped() && !control.is_left());
    }

    #[test]
    fn one_of_several_runs_stops_alone_or_with_all_of_them() {
        let all = Control::default();
        let (one, other) = (all.of_one(), all.of_one());
        one.pause();
        assert!(one.is_paused() && !other.is_paused() && !all.is_paused());
        one.stop();
        assert!(!other.is_stopped() && !all.is_stopped());
        all.stop();
        assert!(other.is_stopped() && all.of_one().is_stopped());
    }
}
