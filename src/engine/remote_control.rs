//! Carries out the requests of other processes to a run that is under way.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::control::Control;
use crate::session::steering::{Inbox, Wish};

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
                for command in inbox.look() {
                    obey(command, &control);
                }
                inbox.tell(control.is_paused());
            }
            inbox.clear();
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

fn obey(command: Wish, control: &Control) {
    match command {
        Wish::Pause => control.pause(),
        Wish::GoOn => control.resume(),
        Wish::Stop => control.stop(),
        Wish::Pace(pace) => control.set_pace(pace),
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
    fn a_run_does_what_another_process_wishes_and_says_that_it_waits() {
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
        steering::ask(path, Wish::Pause).unwrap();
        wait(&|| control.is_paused() && steering::is_paused(path));
        steering::ask(path, Wish::GoOn).unwrap();
        wait(&|| !control.is_paused() && !steering::is_paused(path));
        steering::ask(path, Wish::Stop).unwrap();
        wait(&|| control.is_stopped());
        drop(remote_control);
        assert_eq!(std::fs::read_dir(path).unwrap().count(), 1, "only the process is left");
    }
}
