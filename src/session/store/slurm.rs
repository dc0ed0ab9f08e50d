//! What Slurm's queue says about the tasks of a sweep, if `squeue` answers.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::files::{self, words::harmless};

/// The program that is asked.
const SQUEUE: &str = "squeue";
/// The file with the number of a sweep's job array.
const FILE: &str = "slurm_job";
/// The queue is shared by all users, so it is asked no more often than this, and less often if it
/// is silent.
const PAUSE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_mins(1);
/// An answer that takes longer counts as none.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// The prefix of the trouble of a waiting task.
pub const QUEUE: &str = "queue: ";
/// Longer answers are cut.
const LONGEST: usize = 60;

/// Notes which job array executes a sweep.
pub fn note(sweep: &Path, job: &str) -> Result<()> {
    files::write_private(&sweep.join(FILE), format!("{job}\n").as_bytes())
}

/// The last known state of the queue. A thread asks, so nobody waits.
#[derive(Debug)]
pub struct SlurmQueue {
    job: String,
    /// How long to wait for the first answer.
    patience: Duration,
    due: Option<Instant>,
    answer: Option<Receiver<Option<BTreeMap<usize, String>>>>,
    /// `PENDING (Priority)` by the number of the task; `None` if the queue did not answer.
    states: Option<BTreeMap<usize, String>>,
}

impl SlurmQueue {
    /// The queue of a sweep that was submitted to Slurm.
    pub fn of(sweep: &Path, patience: Duration) -> Option<Self> {
        let text = std::fs::read_to_string(sweep.join(FILE)).ok()?;
        // `4711;cluster`
        let job = text.trim().split(';').next().unwrap_or_default().to_owned();
        let is_number =
            !job.is_empty() && job.len() < 20 && job.bytes().all(|it| it.is_ascii_digit());
        is_number.then_some(Self { job, patience, due: None, answer: None, states: None })
    }

    /// The current state of a task: `None` if the queue does not answer, empty if it does not have
    /// the task.
    pub fn state(&mut self, task: usize) -> Option<String> {
        self.ask();
        let states = self.states.as_ref()?;
        Some(states.get(&task).cloned().unwrap_or_default())
    }

    fn ask(&mut self) {
        if self.answer.is_none() && self.due.is_none_or(|due| Instant::now() >= due) {
            let (sender, answer) = channel();
            let job = self.job.clone();
            std::thread::spawn(move || sender.send(ask(SQUEUE, &job, LONGEST_WAIT)));
            self.answer = Some(answer);
        }
        let Some(answer) = &self.answer else { return };
        self.states = match answer.recv_timeout(std::mem::take(&mut self.patience)) {
            Ok(states) => states,
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => None,
        };
        let pause = if self.states.is_some() { PAUSE } else { SILENCE };
        (self.answer, self.due) = (None, Some(Instant::now() + pause));
    }
}

/// The queue's answer about a job array; `None` if it fails or takes too long.
fn ask(program: &str, job: &str, patience: Duration) -> Option<BTreeMap<usize, String>> {
    let mut command = Command::new(program);
    command.args(["--noheader", "--array", "--jobs", job, "--format", "%K|%T|%r"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut out = child.stdout.take()?;
    let (sender, answer) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = out.read_to_end(&mut text);
        sender.send(read.is_ok().then_some(text))
    });
    let text = answer.recv_timeout(patience);
    if text.is_err() {
        let _ = child.kill();
    }
    let has_succeeded = child.wait().is_ok_and(|status| status.success());
    let text = text.ok().flatten().filter(|_| has_succeeded)?;
    Some(parse(&String::from_utf8_lossy(&text)))
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
        assert!(SlurmQueue::of(sweep.path(), Duration::ZERO).is_none());
        for (text, is_job) in [("4711", true), ("4711;cluster", true), ("", false), ("-j 1", false)]
        {
            note(sweep.path(), text).unwrap();
            let queue = SlurmQueue::of(sweep.path(), Duration::ZERO);
            assert_eq!(queue.is_some(), is_job, "{text}");
        }
    }

    /// A queue that answers, one that fails, one that never answers, and none.
    #[cfg(unix)]
    #[test]
    fn a_queue_that_does_not_answer_in_time_says_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let program = |name: &str, script: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
            path.display().to_string()
        };
        let long = Duration::from_mins(1);
        let answers = program("answers", r#"[ "$4" = 4711 ] && echo "3|RUNNING|None""#);
        assert_eq!(ask(&answers, "4711", long).unwrap()[&3], "RUNNING");
        assert_eq!(ask(&answers, "1", long), None, "it fails");
        let fails = program("fails", "echo '3|RUNNING|None'; exit 1");
        assert_eq!(ask(&fails, "4711", long), None);
        let hangs = program("hangs", "echo '3|RUNNING|None'; exec sleep 1000");
        assert_eq!(ask(&hangs, "4711", Duration::from_millis(300)), None);
        assert_eq!(ask("/no/such/program", "4711", long), None);
    }
}
