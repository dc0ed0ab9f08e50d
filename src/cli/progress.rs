//! The progress of a long command, on standard error: a bar in a terminal, occasional lines
//! elsewhere, nothing with `--quiet`. Work that ends at once prints nothing.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use super::messages;
use crate::plot::number::duration;

const BAR_WIDTH: usize = 28;
/// Shorter work shows no bar, since nobody could read it in time. …
const BEFORE_A_BAR: Duration = Duration::from_millis(200);
/// Shorter work prints no lines into a log.
const BEFORE_LINES: Duration = Duration::from_secs(2);

pub struct ProgressLine {
    what: String,
    total: usize,
    begun: Instant,
    left: TimeLeft,
    manner: ProgressStyle,
    /// The tenths already printed.
    told: usize,
    drawn: bool,
}

/// The time until the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeLeft {
    /// Computed from the time so far.
    BySpeed,
    /// The work knows it.
    Told(Duration),
    /// The work will know it later.
    Measuring,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgressStyle {
    Bar,
    Lines,
    Quiet,
}

impl ProgressLine {
    pub fn new(what: &str, total: usize) -> Self {
        let manner = match (messages::is_quiet(), stderr().is_terminal()) {
            (true, _) => ProgressStyle::Quiet,
            (false, true) => ProgressStyle::Bar,
            (false, false) => ProgressStyle::Lines,
        };
        let begun = Instant::now();
        let (what, left) = (what.to_owned(), TimeLeft::BySpeed);
        Self { what, total, begun, left, manner, told: 0, drawn: false }
    }

    /// Changes the total when more is known of it.
    pub fn expect(&mut self, total: usize) {
        self.told = (self.told * self.total).checked_div(total).unwrap_or(self.told);
        self.total = total;
    }

    /// Says how long the work will take, or that nobody knows yet.
    pub fn expect_time(&mut self, left: Option<Duration>) {
        self.left = left.map_or(TimeLeft::Measuring, TimeLeft::Told);
    }

    pub fn tell(&mut self, done: usize) {
        self.tell_with(done, "");
    }

    /// Reports progress with an extra remark on the state of the work.
    pub fn tell_with(&mut self, done: usize, more: &str) {
        let worked = self.begun.elapsed();
        let tenth = done * 10 / self.total.max(1);
        match self.manner {
            ProgressStyle::Bar if worked >= BEFORE_A_BAR => self.draw(done, more),
            ProgressStyle::Lines if tenth > self.told && worked >= BEFORE_LINES => {
                self.told = tenth;
                messages::tell(format_args!("{}{more}", self.words(done)));
            }
            _ => {}
        }
    }

    fn draw(&mut self, done: usize, more: &str) {
        self.drawn = true;
        let filled = (BAR_WIDTH * done).checked_div(self.total).unwrap_or(BAR_WIDTH).min(BAR_WIDTH);
        let (full, empty) = ("█".repeat(filled), "░".repeat(BAR_WIDTH - filled));
        // A closed terminal does not stop the work.
        let _ = write!(stderr(), "\r{full}{empty} {}{more}\x1b[K", self.words(done));
        let _ = stderr().flush();
    }

    fn words(&self, done: usize) -> String {
        let text = format!("{}: {done} of {}", self.what, self.total);
        let worked = self.begun.elapsed().as_secs_f64();
        match done {
            0 => text,
            done if done >= self.total => format!("{text} in {}", duration(worked)),
            done => {
                let left = match self.left {
                    TimeLeft::BySpeed => worked / done as f64 * (self.total - done) as f64,
                    TimeLeft::Told(left) => left.as_secs_f64(),
                    TimeLeft::Measuring => return format!("{text}, measuring the time left"),
                };
                format!("{text}, about {} left", duration(left))
            }
        }
    }
}

impl Drop for ProgressLine {
    /// Leaves the line of the bar.
    fn drop(&mut self) {
        if self.drawn {
            messages::tell("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_what_is_done_and_what_is_left() {
        let progress = ProgressLine::new("runs", 4);
        assert_eq!(progress.words(0), "runs: 0 of 4");
        assert!(progress.words(1).starts_with("runs: 1 of 4, about "));
        assert!(progress.words(4).starts_with("runs: 4 of 4 in "));
        let mut progress = ProgressLine::new("trials", 4);
        progress.expect(9);
        progress.expect_time(None);
        assert_eq!(progress.words(1), "trials: 1 of 9, measuring the time left");
        progress.expect_time(Some(Duration::from_secs(70)));
        assert_eq!(progress.words(2), "trials: 2 of 9, about 1 min 10 s left");
    }

    #[test]
    fn work_that_is_over_at_once_leaves_no_line_behind() {
        let mut progress = ProgressLine::new("runs", 4);
        progress.tell(4);
        assert!(!progress.drawn);
    }
}
