//! Ends a process that cannot wait for its current steps.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::privacy::ledger::RunId;
use crate::privacy::spender::{self, Settled};

/// How long work may take to stop by itself when the process is told to end.
pub const PATIENCE: Duration = Duration::from_millis(1600);

/// How long settling its runs from outside may take: others may hold the ledger.
const SETTLING_TIME: Duration = Duration::from_millis(300);

/// What happened to the runs that did not end by themselves.
#[derive(Debug)]
pub enum Ending {
    Settled(Settled),
    /// Not even the ledger could be reached in time.
    OutOfTime,
}

/// Settles all open runs of this process, except those that continue elsewhere.
pub fn settle(left: &[RunId]) -> Ending {
    let (sender, done) = channel();
    let left = left.to_vec();
    thread::spawn(move || sender.send(spender::settle_all(&left)));
    done.recv_timeout(SETTLING_TIME).map_or(Ending::OutOfTime, Ending::Settled)
}

impl Ending {
    /// One sentence for each kind of run; nothing if all had ended.
    pub fn words(&self) -> String {
        let open = "could not be settled in time: all that it reserved counts, and it can be \
                    resumed (`halflight ledger` says how)";
        let Self::Settled(Settled { settled, open: left }) = self else {
            return format!("what runs {open}");
        };
        let of = |runs: &[RunId], what: &str| {
            let names: Vec<&str> = runs.iter().map(|run| run.0.as_str()).collect();
            (!runs.is_empty()).then(|| format!("{}: {what}", names.join(", ")))
        };
        let ended = "a step did not end in time, so the run was settled as stopped: what it drew is \
                     charged, and it leaves no model";
        [of(settled, ended), of(left, open)].into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_runs_that_had_to_end_is_said_of_each() {
        let runs = |names: &[&str]| names.iter().map(|name| RunId((*name).to_owned())).collect();
        let of = |settled: &[&str], open: &[&str]| {
            Ending::Settled(Settled { settled: runs(settled), open: runs(open) }).words()
        };
        assert_eq!(of(&[], &[]), "");
        let both = of(&["a", "b"], &["c"]);
        let (ended, open) = both.split_once('\n').unwrap();
        assert!(ended.starts_with("a, b: ") && ended.contains("settled as stopped"), "{ended}");
        assert!(open.starts_with("c: ") && open.contains("all that it reserved counts"), "{open}");
        assert!(Ending::OutOfTime.words().starts_with("what runs could not be settled in time"));
    }
}
