//! Carries out the requests of other processes to a run that is under way.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::control::Control;
use crate::session::steering::{Inbox, SteeringRequest};

/// The time between two looks, each of which reads one file.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Lives as long as the run.
pub(super) struct RemoteControl {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RemoteControl {
    /// Listens for requests to the run in `directory`, which checks `control` between its steps.
    pub fn of(directory: &Path, control: &Control) -> Self {
        let (end, ended) = channel();
        let (mut inbox, control) = (Inbox::of(directory), control.clone());
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                for request in inbox.look() {
                    obey(request, &control);
                }
                inbox.tell(control.is_paused());
            }
            inbox.clear();
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

fn obey(request: SteeringRequest, control: &Control) {
    match request {
        SteeringRequest::Pause => control.pause(),
        SteeringRequest::GoOn => control.resume(),
        SteeringRequest::Stop => control.stop(),
        SteeringRequest::Pace(pace) => control.set_pace(pace),
    }
}

impl Drop for RemoteControl {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::run_directory::Process;
    use crate::session::steering;

    #[test]
    fn a_run_does_what_another_process_asks_and_says_that_it_waits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::fs::write(path.join("process"), Process::this().to_string()).unwrap();
        let control = Control::default();
        let remote_control = RemoteControl::of(path, &control);
        let wait = |what: &dyn Fn() -> bool| {
            for _ in 0..3000 {
                if what() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("waited in vain");
        };
        steering::ask(path, SteeringRequest::Pause).unwrap();
        wait(&|| control.is_paused() && steering::is_paused(path));
        steering::ask(path, SteeringRequest::GoOn).unwrap();
        wait(&|| !control.is_paused() && !steering::is_paused(path));
        steering::ask(path, SteeringRequest::Stop).unwrap();
        wait(&|| control.is_stopped());
        drop(remote_control);
        assert_eq!(std::fs::read_dir(path).unwrap().count(), 1, "only the process is left");
    }
}
