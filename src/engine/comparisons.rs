//! What a run is compared with, made beside it: public data alone, and private data without
//! privacy.
//!
//! It begins when the run has taken its first step, so it holds up no start. When the last step is
//! taken the run waits for it a while and goes on without it then: a comparison is no part of the
//! run.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::control::Control;
use super::judge::{Baselines, Judge};
use super::public_alone::public_alone;
use crate::adapt::Problem;
use crate::data::Bounded;
use crate::model::Model;
use crate::numeric::parallel;
use crate::privacy::Private;

/// So long a run waits for its comparisons after its last step.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often it looks meanwhile whether its process has to end.
const LOOK: Duration = Duration::from_millis(20);

/// Both, under way on a thread of their own.
pub(super) struct Comparisons {
    public: Receiver<Option<Model>>,
    private: Receiver<Baselines>,
}

impl Comparisons {
    pub fn begin(
        judge: &Judge<'_>,
        problem: &Problem,
        method: &str,
        private: &Private<Bounded>,
    ) -> Self {
        let ((tell_public, public), (tell_private, found)) = (channel(), channel());
        let (problem, method) = (problem.clone(), method.to_owned());
        let of_private = judge.comparing(&problem.shape, private);
        let work = move || make(&problem, &method, of_private, &tell_public, &tell_private);
        let shares = parallel::threads() > 1;
        thread::spawn(move || if shares { work() } else { parallel::alone(work) });
        Self { public, private: found }
    }

    /// The model of public data alone. A released score may be `needed` of it, and then it is
    /// waited for: it is made within seconds.
    pub fn public(&self, control: &Control, needed: bool) -> Option<Model> {
        wait(&self.public, control, (!needed).then_some(PATIENCE)).flatten()
    }

    /// What the private records say, beside the model of public data alone.
    pub fn private(&self, control: &Control, public: Option<Model>) -> Baselines {
        wait(&self.private, control, Some(PATIENCE)).unwrap_or_default().beside(public)
    }
}

fn make(
    problem: &Problem,
    method: &str,
    of_private: impl FnOnce() -> Baselines,
    public: &Sender<Option<Model>>,
    private: &Sender<Baselines>,
) {
    // Whoever does not listen any more has gone on.
    let _ = public.send(public_alone(problem, method));
    let _ = private.send(of_private());
}

/// `None` where it takes too long, where the process has to end, and where it failed.
fn wait<T>(found: &Receiver<T>, control: &Control, patience: Option<Duration>) -> Option<T> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        if control.is_hurried() {
            return None;
        }
        match found.recv_timeout(LOOK) {
            Ok(found) => return Some(found),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_what_takes_too_long_or_when_the_process_has_to_end() {
        let control = Control::default();
        let (sender, found) = channel();
        assert_eq!(wait::<u8>(&found, &control, Some(Duration::ZERO)), None);
        sender.send(1_u8).unwrap();
        assert_eq!(wait(&found, &control, None), Some(1));
        control.end();
        sender.send(2).unwrap();
        assert_eq!(wait(&found, &control, None), None, "hurried");
        drop(sender);
        assert_eq!(wait(&found, &Control::default(), None), Some(2));
        assert_eq!(wait(&found, &Control::default(), None), None, "it failed");
    }
}
