//! What Slurm's queue says of the tasks of a sweep, where `squeue` answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::files::{self, words::harmless};

/// Where the number of a sweep's job array stands.
const FILE: &str = "slurm_job";
/// The queue is everybody's: it is asked no more often than this, and less where it is silent.
const PAUSE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_mins(1);
/// How the trouble of a task that waits begins.
pub const QUEUE: &str = "queue: ";
/// More of an answer is not shown.
const LONGEST: usize = 60;

/// Notes which job array carries out a sweep.
pub fn note(sweep: &Path, job: &str) -> Result<()> {
    files::write_private(&sweep.join(FILE), format!("{job}\n").as_bytes())
}

/// The queue as it was last heard of. Asking is done by a thread: nobody waits for it.
#[derive(Debug)]
pub struct Queue {
    job: String,
    due: Option<Instant>,
    answer: Option<Receiver<Option<BTreeMap<usize, String>>>>,
    /// `PENDING (Priority)` by the number of the task; `None` where it did not answer.
    states: Option<BTreeMap<usize, String>>,
}

impl Queue {
    /// Of a sweep that was submitted to Slurm.
    pub fn of(sweep: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(sweep.join(FILE)).ok()?;
        // `4711;cluster`
        let job = text.trim().split(';').next().unwrap_or_default().to_owned();
        let is_number =
            !job.is_empty() && job.len() < 20 && job.bytes().all(|it| it.is_ascii_digit());
        is_number.then_some(Self { job, due: None, answer: None, states: None })
    }

    /// What is known of a task now: `None` where the queue does not answer, an empty text where
    /// it does not have the task.
    pub fn state(&mut self, task: usize) -> Option<String> {
        self.ask();
        let states = self.states.as_ref()?;
        Some(states.get(&task).cloned().unwrap_or_default())
    }

    fn ask(&mut self) {
        if let Some(answer) = &self.answer {
            self.states = match answer.try_recv() {
                Ok(states) => states,
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => None,
            };
            let pause = if self.states.is_some() { PAUSE } else { SILENCE };
            (self.answer, self.due) = (None, Some(Instant::now() + pause));
        }
        if self.due.is_some_and(|due| Instant::now() < due) {
            return;
        }
        let (sender, answer) = channel();
        let job = self.job.clone();
        std::thread::spawn(move || {
            let mut command = Command::new("squeue");
            command.args(["--noheader", "--array", "--jobs", &job, "--format", "%K|%T|%r"]);
            let output = command.stdin(Stdio::null()).output().ok();
            let output = output.filter(|output| output.status.success());
            let _ =
                sender.send(output.map(|output| parse(&String::from_utf8_lossy(&output.stdout))));
        });
        self.answer = Some(answer);
    }
}

/// `17|PENDING|Priority`
fn parse(text: &str) -> BTreeMap<usize, String> {
    let state = |line: &str| {
        let mut parts = line.trim().split('|');
        let task = parts.next()?.parse().ok()?;
        let (state, reason) = (parts.next()?, parts.next().unwrap_or_default());
        let text = match reason {
            "" | "None" => state.to_owned(),
            reason => format!("{state} ({reason})"),
        };
        Some((task, harmless(&text, LONGEST)))
    };
    text.lines().filter_map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read_and_what_is_no_answer_is_none() {
        let states = parse("3|PENDING|Priority\n 10|RUNNING|None\nslurm: error\n4|\u{1b}[2J|x\n");
        assert_eq!(states[&3], "PENDING (Priority)");
        assert_eq!(states[&10], "RUNNING");
        assert_eq!(states[&4], "?[2J (x)");
        assert_eq!(states.len(), 3);
    }

    #[test]
    fn only_a_number_is_asked_for() {
        let sweep = tempfile::tempdir().unwrap();
        assert!(Queue::of(sweep.path()).is_none());
        for (text, is_job) in [("4711", true), ("4711;cluster", true), ("", false), ("-j 1", false)]
        {
            note(sweep.path(), text).unwrap();
            assert_eq!(Queue::of(sweep.path()).is_some(), is_job, "{text}");
        }
    }
}
