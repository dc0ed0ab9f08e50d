//! What the lines of the ledger add up to.

use super::entry::{AccountId, Budget, DatasetRecord, Grant, Outcome};
use crate::error::Result;
use crate::privacy::accountant::{Composition, Event, Guarantee, Target};

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

/// Everything about one private dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub id: AccountId,
    pub datasets: Vec<DatasetRecord>,
    pub budget: Option<Budget>,
    pub runs: Vec<RunRecord>,
    /// Lines were lost and nobody has accepted that yet.
    pub unknown_past: bool,
}

impl Account {
    /// All charged events (count = charged draws).
    pub fn charged_events(&self) -> Vec<Event> {
        todo!()
    }
    pub fn composition(&self) -> Result<Composition> {
        todo!()
    }
    /// ε spent so far at `delta`; `None` when nothing was spent.
    pub fn spent(&self, _delta: f64) -> Result<Option<Guarantee>> {
        todo!()
    }
    /// Would these further events stay within the budget? The refusal names the
    /// numbers and the largest ε (at `target.delta`) that would still fit.
    pub fn admit(&self, _events: &[Event], _target: Target) -> Result<()> {
        todo!()
    }
    /// Largest per-run ε at `delta` that the rest of the budget admits as one
    /// more Gaussian run; 0 when nothing is left, `None` without a budget.
    pub fn largest_epsilon(&self, _delta: f64) -> Result<Option<f64>> {
        todo!()
    }
}

/// All accounts, in order of opening.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Book {
    pub accounts: Vec<Account>,
    /// Unconfirmed or unreadable tail, other remarks: shown, never fatal.
    pub warnings: Vec<String>,
}
