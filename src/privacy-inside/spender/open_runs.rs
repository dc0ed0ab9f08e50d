//! The runs that this process has open in a ledger, so that they can be settled when the process
//! has to end.
//!
//! A step may take long, and meanwhile its run does not know about the end. The draws are known
//! here: each is noted before its noise is made. After [`settle_all`] nothing can be noted, so
//! nothing more is drawn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::{Error, Result};
use crate::ledger::{Ledger, RunId, RunOutcome};
use crate::private::Watch;

/// A granted run, and the ledger in which its draws are announced.
pub(super) struct OpenRun {
    ledger: Ledger,
    run: RunId,
    drawn: Vec<u64>,
    /// The watch under which exact numbers may be computed; `None` if not stated.
    watch: Option<Watch>,
    peeked: bool,
    settled: bool,
}

/// One run, shared with the list of all.
#[derive(Clone)]
pub(super) struct SharedRun(Arc<Mutex<OpenRun>>);

static ALL: Mutex<Vec<Weak<Mutex<OpenRun>>>> = Mutex::new(Vec::new());

impl SharedRun {
    pub fn new(ledger: Ledger, run: RunId, events: usize) -> Self {
        let drawn = vec![0; events];
        let (watch, peeked, settled) = (None, false, false);
        let open = OpenRun { ledger, run, drawn, watch, peeked, settled };
        let shared = Arc::new(Mutex::new(open));
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&shared));
        Self(shared)
    }

    /// An error if the run was settled meanwhile.
    pub fn lock(&self) -> Result<MutexGuard<'_, OpenRun>> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.settled {
            return Err(Error::interrupted("the program had to end, and the run was settled"));
        }
        Ok(open)
    }

    /// Sets the watch of the run, and whether anybody peeked before.
    pub fn watched(&self, watch: &Watch, peeked: bool) -> Result<()> {
        let mut open = self.lock()?;
        (open.watch, open.peeked) = (Some(watch.clone()), peeked);
        Ok(())
    }
}

impl OpenRun {
    /// From here on these draws count.
    pub fn note(&mut self, drawn: &[u64], tally: bool) -> Result<()> {
        drawn.clone_into(&mut self.drawn);
        if tally { self.ledger.tally(&self.run, drawn) } else { Ok(()) }
    }

    /// Announces draws; returns only after they are on disk.
    pub fn reserve(&mut self, event: usize, count: u64) -> Result<()> {
        self.ledger.reserve(&self.run, event, count)
    }

    pub fn settle(&mut self, drawn: &[u64], outcome: RunOutcome, peeked: bool) -> Result<()> {
        drawn.clone_into(&mut self.drawn);
        self.ledger.settle(&self.run, &self.drawn, outcome, peeked)?;
        self.settled = true;
        Ok(())
    }

    /// If not stated, exact numbers may have been seen.
    fn has_peeked(&self) -> bool {
        self.peeked || self.watch.as_ref().is_none_or(Watch::has_peeked)
    }
}

/// What happened to the runs that were open.
#[derive(Debug, Default)]
pub struct Settled {
    /// Runs that were settled; their draws stay charged.
    pub settled: Vec<RunId>,
    /// Runs whose ledger could not be written: each counts in full and can be resumed.
    pub open: Vec<RunId>,
}

/// Settles, as stopped, every run that this process still has open, except those in `left`, which
/// continue elsewhere. Draws stay charged, and nothing is drawn afterwards.
pub fn settle_all(left: &[RunId]) -> Settled {
    let all: Vec<SharedRun> = {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).map(SharedRun).collect()
    };
    settle_these(&all, left)
}

pub(super) fn settle_these(all: &[SharedRun], left: &[RunId]) -> Settled {
    let mut ended = Settled::default();
    for mut open in all.iter().filter_map(|one| one.lock().ok()) {
        if left.contains(&open.run) {
            continue;
        }
        let (run, peeked) = (open.run.clone(), open.has_peeked());
        let drawn = open.drawn.clone();
        match open.settle(&drawn, RunOutcome::Stopped, peeked) {
            Ok(()) => ended.settled.push(run),
            Err(_) => ended.open.push(run),
        }
    }
    ended
}
