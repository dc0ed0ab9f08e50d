//! What is known of one private dataset: its runs, its budget, what all of it adds up to.

use super::entry::{AccountId, Budget, DatasetRecord, Grant, Outcome};
use crate::error::Result;
use crate::privacy::accountant::{Adjacency, Composition, Event, Guarantee};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Granted and not settled: counts in full.
    Open,
    Settled {
        outcome: Outcome,
        peeked: bool,
    },
}

/// One run as the ledger knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    pub time: String,
    pub grant: Grant,
    /// Draws announced so far per event; never less than what was drawn.
    pub reserved: Vec<u64>,
    /// Draws that count as spent per event: used when settled, the whole grant when open.
    pub charged: Vec<u64>,
    pub state: RunState,
}

impl RunRecord {
    /// What counts as spent: the granted events with their charged draws.
    pub fn charged_events(&self) -> Vec<Event> {
        let events = self.grant.events.iter().zip(&self.charged);
        let charged = events.filter(|(_, draws)| **draws > 0);
        charged.map(|(event, draws)| Event { count: *draws, ..event.clone() }).collect()
    }

    /// What this run alone counts for; `None` when it counts for nothing.
    pub fn spent(&self, delta: f64) -> Result<Option<Guarantee>> {
        let charged = self.charged_events();
        if charged.is_empty() {
            return Ok(None);
        }
        Composition::of_run(&charged, &self.grant.events, delta).map(Some)
    }
}

/// Everything about one private dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub id: AccountId,
    /// Accounts that turned out to hold the same records and were tied to this one.
    pub former: Vec<AccountId>,
    pub datasets: Vec<DatasetRecord>,
    pub budget: Option<Budget>,
    pub runs: Vec<RunRecord>,
    /// What was done with exact numbers, for which no ε can be stated.
    pub unprotected: Vec<Unprotected>,
    /// Lines were lost and nobody has accepted that yet.
    pub unknown_past: bool,
}

/// Something outside every guarantee that was done with the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unprotected {
    pub time: String,
    pub what: String,
}

impl Account {
    /// All charged events (count = charged draws).
    pub fn charged_events(&self) -> Vec<Event> {
        self.runs.iter().flat_map(RunRecord::charged_events).collect()
    }

    pub fn composition(&self) -> Result<Composition> {
        Composition::of(&self.charged_events())
    }

    /// ε spent so far at `delta`; `None` when nothing was spent.
    pub fn spent(&self, delta: f64) -> Result<Option<Guarantee>> {
        self.spent_with(&[], delta)
    }

    /// The same with these further events, as one more run.
    pub fn spent_with(&self, events: &[Event], delta: f64) -> Result<Option<Guarantee>> {
        self.spent_with_runs(events, 1, delta)
    }

    /// The same with these further events in each of so many further runs.
    ///
    /// One run that draws what it planned is fixed before any output was seen. A run that
    /// ended early may have ended because of its outputs, and the later ones of several may
    /// have been chosen by what the earlier ones put out: these add up in the gate's sum.
    pub fn spent_with_runs(
        &self,
        events: &[Event],
        runs: u64,
        delta: f64,
    ) -> Result<Option<Guarantee>> {
        let mut spending =
            self.runs.iter().filter(|run| run.charged.iter().any(|draws| *draws > 0));
        let further = if events.is_empty() { 0 } else { runs };
        match (spending.next(), spending.next(), further) {
            (None, _, 0) => Ok(None),
            (None, _, 1) => Composition::of(events)?.guarantee(delta).map(Some),
            (Some(only), None, 0) => only.spent(delta),
            _ => self.with_events(events, runs)?.gate(delta).map(Some),
        }
    }

    /// What these further events would make it.
    pub(super) fn with_events(&self, events: &[Event], runs: u64) -> Result<Composition> {
        let mut all = self.charged_events();
        all.extend(
            events
                .iter()
                .map(|event| Event { count: event.count.saturating_mul(runs), ..event.clone() }),
        );
        Composition::of(&all)
    }

    /// What must be said beside every total: a sum of ε alone would look as if the rest had
    /// been free.
    pub fn beside_the_total(&self) -> Option<String> {
        let last = self.unprotected.last()?;
        let times = match self.unprotected.len() {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        };
        Some(format!(
            "{times} outside every guarantee, ε unstated: {} (last {})",
            last.what, last.time
        ))
    }

    /// The weakest adjacency among the entries: the one the totals hold for.
    pub fn adjacency(&self) -> Adjacency {
        let events = self.charged_events();
        if events.iter().any(|event| event.adjacency == Adjacency::ZeroOut) {
            Adjacency::ZeroOut
        } else {
            Adjacency::ReplaceOne
        }
    }

    /// An account that the ledger does not hold yet, to preview its first run.
    pub fn unopened(dataset: &DatasetRecord, lines_lost: bool) -> Self {
        Self {
            id: AccountId("new account".to_owned()),
            former: Vec::new(),
            datasets: vec![dataset.clone()],
            budget: None,
            runs: Vec::new(),
            unprotected: Vec::new(),
            unknown_past: lines_lost,
        }
    }

    /// The other account holds the same records: spends add up, the smaller budget binds.
    pub(super) fn absorb(&mut self, other: Self) {
        self.former.push(other.id);
        self.former.extend(other.former);
        self.datasets.extend(other.datasets);
        self.budget = match (self.budget, other.budget) {
            (Some(mine), Some(theirs)) => Some(Budget {
                epsilon: mine.epsilon.min(theirs.epsilon),
                delta: mine.delta.min(theirs.delta),
            }),
            (mine, theirs) => mine.or(theirs),
        };
        self.runs.extend(other.runs);
        self.runs.sort_by(|a, b| a.time.cmp(&b.time));
        self.unprotected.extend(other.unprotected);
        self.unprotected.sort_by(|a, b| a.time.cmp(&b.time));
        self.unknown_past |= other.unknown_past;
    }
}
