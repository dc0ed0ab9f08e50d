//! How far a long command is, on standard error: a bar in a terminal, a line now and
//! then elsewhere, nothing if asked to be quiet.

use std::io::{IsTerminal, Write, stderr};
use std::time::Instant;

use super::voice;
use crate::plot::number::duration;

const BAR: usize = 28;

pub struct Progress {
    what: String,
    total: usize,
    begun: Instant,
    manner: Manner,
    /// Tenths that lines have told.
    told: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Bar,
    Lines,
    Quiet,
}

impl Progress {
    pub fn new(what: &str, total: usize) -> Self {
        let manner = match (voice::is_quiet(), stderr().is_terminal()) {
            (true, _) => Manner::Quiet,
            (false, true) => Manner::Bar,
            (false, false) => Manner::Lines,
        };
        let progress =
            Self { what: what.to_owned(), total, begun: Instant::now(), manner, told: 0 };
        progress.draw(0);
        progress
    }

    pub fn tell(&mut self, done: usize) {
        let tenth = done * 10 / self.total.max(1);
        if self.manner == Manner::Lines && tenth > self.told {
            self.told = tenth;
            voice::tell(self.words(done));
        }
        self.draw(done);
    }

    /// Leaves the line of the bar.
    pub fn end(self) {
        if self.manner == Manner::Bar {
            voice::tell("");
        }
    }

    fn draw(&self, done: usize) {
        if self.manner == Manner::Bar {
            let filled = (BAR * done).checked_div(self.total).unwrap_or(BAR);
            let (full, empty) = ("█".repeat(filled), "░".repeat(BAR - filled));
            // A terminal that is gone does not stop the work.
            let _ = write!(stderr(), "\r{full}{empty} {}\x1b[K", self.words(done));
            let _ = stderr().flush();
        }
    }

    fn words(&self, done: usize) -> String {
        let text = format!("{}: {done} of {}", self.what, self.total);
        let worked = self.begun.elapsed().as_secs_f64();
        match done {
            0 => text,
            done if done == self.total => format!("{text} in {}", duration(worked)),
            done => {
                let left = worked / done as f64 * (self.total - done) as f64;
                format!("{text}, about {} left", duration(left))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_what_is_done_and_what_is_left() {
        let progress = Progress::new("runs", 4);
        assert_eq!(progress.words(0), "runs: 0 of 4");
        assert!(progress.words(1).starts_with("runs: 1 of 4, about "));
        assert!(progress.words(4).starts_with("runs: 4 of 4 in "));
    }
}
