//! The append-only record of what each private dataset has spent.
//!
//! [`entry`] is one line of the file, [`chain`] the hash-chained file itself
//! with its lock and its write-ahead discipline, [`book`] what the lines add up
//! to: accounts, budgets, spends, refusals.

pub mod book;
pub mod chain;
pub mod entry;

pub use book::{Account, Book, RunRecord, RunState};
pub use chain::Ledger;
pub use entry::{AccountId, Budget, DatasetRecord, Entry, Grant, Outcome, RunId};
