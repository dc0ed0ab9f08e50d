//! The models that a run is compared with, trained beside it: public data alone, and private data
//! without privacy.
//!
//! The work begins after the run's first step, so that it does not delay the start, and continues
//! beside the other steps. The shape of the data bounds it (`is_quick`), not a clock: the files of
//! a run must not depend on the load of the machine. A process that is told to end does not wait
//! for this work.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::control::Control;
use super::evaluator::{Baselines, Evaluator};
use super::public_alone::PublicAlone;
use crate::data::Bounded;
use crate::methods::ProblemShape;
use crate::model::Model;
use crate::numeric::parallel;
use crate::privacy::Private;

/// How often the run checks meanwhile whether its process has to end.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Both, under way on a thread of their own.
pub(super) struct Comparisons {
    public: Receiver<Option<Model>>,
    private: Receiver<Baselines>,
}

impl Comparisons {
    pub fn begin(
        evaluator: &Evaluator<'_>,
        shape: &ProblemShape,
        alone: Option<&Arc<PublicAlone>>,
        private: &Private<Bounded>,
    ) -> Self {
        let ((tell_public, public), (tell_private, found)) = (channel(), channel());
        let (alone, of_private) = (alone.cloned(), evaluator.comparing(shape, private));
        let work = move || {
            // The receiver may have moved on and stopped listening.
            let _ = tell_public.send(alone.and_then(|alone| alone.model()));
            let _ = tell_private.send(of_private());
        };
        let shares = parallel::threads() > 1;
        thread::spawn(move || if shares { work() } else { parallel::alone(work) });
        Self { public, private: found }
    }

    /// The model of public data alone.
    pub fn public(&self, control: &Control) -> Option<Model> {
        wait(&self.public, control).flatten()
    }

    /// The results of the private records, beside the model of public data alone.
    pub fn private(&self, control: &Control, public: Option<Model>) -> Baselines {
        wait(&self.private, control).unwrap_or_default().beside(public)
    }
}

/// `None` if the process has to end, or if the work failed.
fn wait<T>(found: &Receiver<T>, control: &Control) -> Option<T> {
    while !control.is_hurried() {
        match found.recv_timeout(CHECK_INTERVAL) {
            Ok(found) => return Some(found),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_comparison_when_the_process_has_to_end() {
        let control = Control::default();
        let (sender, found) = channel();
        sender.send(1_u8).unwrap();
        assert_eq!(wait(&found, &control), Some(1));
        control.end();
        assert_eq!(wait(&found, &control), None, "hurried");
        drop(sender);
        assert_eq!(wait(&found, &Control::default()), None, "it failed");
    }
}
