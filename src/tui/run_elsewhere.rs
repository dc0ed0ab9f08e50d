//! Which process executes a run elsewhere, and how fast it is.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::session::follow::wrote_words;
use crate::session::run_directory::Process;

/// A run of another process: who executes it, and its progress.
#[derive(Debug)]
pub struct RunElsewhere {
    pub directory: PathBuf,
    /// `running`, `paused`, `died`, `finished` and so on.
    pub outcome: String,
    pub process: Option<Process>,
    pub wrote: Option<SystemTime>,
    /// The ledger's charge, once it has ended.
    pub spent: Option<f64>,
    /// When it was first and last seen to take a step, without a long wait in between.
    pub(super) seen: Option<[(Instant, u64); 2]>,
}

/// Over a shorter time than this no speed is shown, and over a longer one than this it has waited.
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(5);

impl RunElsewhere {
    /// Steps per second, while it was seen to work.
    pub fn speed(&self) -> Option<f64> {
        let [(then, first), (now, last)] = self.seen?;
        let seconds = now.duration_since(then);
        (seconds >= SHORT && last > first).then(|| (last - first) as f64 / seconds.as_secs_f64())
    }

    pub(super) fn sees(&mut self, step: u64) {
        let now = (Instant::now(), step);
        self.seen = Some(match self.seen {
            Some([first, last]) if now.0.duration_since(last.0) < LONG => [first, now],
            _ => [now, now],
        });
    }

    /// Forgets the speed, because the pace changes.
    pub fn forget_speed(&mut self) {
        self.seen = None;
    }

    /// `process 4711 on node3, last step 2 s ago`
    pub fn words(&self) -> String {
        let process = self.process.as_ref().map(ToString::to_string);
        let process = process.unwrap_or_else(|| "another process".to_owned());
        format!("{process}, {}", wrote_words(self.wrote))
    }
}
