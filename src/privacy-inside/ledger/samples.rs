//! Entries and books for the tests of this folder.

use super::book::Book;
use super::entry::{
    AccountId, Budget, Claim, DatasetRecord, Entry, Grant, LedgerLine, ReadSoFar, RowOrder, RunId,
    RunOutcome, claimed_name,
};
use crate::NoiseSource;
use crate::accountant::{Adjacency, Event, Noise, QueryKind, Target};
use crate::error::Result;

pub fn id(name: &str) -> AccountId {
    AccountId(name.to_owned())
}

pub fn run(name: &str) -> RunId {
    RunId(name.to_owned())
}

pub fn event(mu: f64, count: u64) -> Event {
    Event {
        label: "gradient".to_owned(),
        what: "a gradient".to_owned(),
        mechanism: QueryKind::Gaussian.query(mu, 1).with(Noise::ideal(1.0)),
        count,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    }
}

pub fn grant(name: &str, account: &str, events: Vec<Event>) -> Entry {
    Entry::Grant(Grant {
        run: run(name),
        account: id(account),
        method: "moment-release".to_owned(),
        target: Target { epsilon: 1.0, delta: 1e-6 },
        events,
        allow_large_delta: false,
        noise: NoiseSource::Secret,
        unit: None,
        order: RowOrder::Secret,
        one_noise: None,
    })
}

pub fn claim(id: &str, account: &str, lines: &str, events: Vec<Event>) -> Claim {
    Claim {
        run: claimed_name(id),
        account: AccountId(account.to_owned()),
        trainer: "opacus".to_owned(),
        says: Some(0.5),
        delta: 1e-6,
        events,
        unit: None,
        file: ReadSoFar::of(lines.as_bytes()),
    }
}

pub fn dataset(account: &str, origin: &str, content: &str, view: &str) -> Entry {
    Entry::Dataset { account: id(account), dataset: record(origin, content, view) }
}

pub fn record(origin: &str, content: &str, view: &str) -> DatasetRecord {
    DatasetRecord {
        name: "hospital".to_owned(),
        origin: origin.to_owned(),
        content: content.to_owned(),
        view: view.to_owned(),
        rows: 100,
        ..DatasetRecord::default()
    }
}

pub fn budget(account: &str, epsilon: f64, delta: f64) -> Entry {
    Entry::Budget { account: id(account), budget: Budget::new(epsilon, delta) }
}

pub fn block(name: &str, event: usize, count: u64) -> Entry {
    Entry::Block { run: run(name), event, count }
}

pub fn settle(name: &str, used: &[u64]) -> Entry {
    let (used, outcome) = (used.to_vec(), RunOutcome::Stopped);
    Entry::Settle { run: run(name), used, outcome, peeked: false }
}

pub fn book(entries: impl IntoIterator<Item = Entry>) -> Book {
    let mut book = Book::default();
    for entry in entries {
        put(&mut book, entry).unwrap();
    }
    book
}

pub fn one_account(epsilon: f64, delta: f64) -> Book {
    book([dataset("a", "/a.csv", "c", "v"), budget("a", epsilon, delta)])
}

pub fn damage(after: u64) -> Entry {
    Entry::Damage { lost_after: after, why: "x".to_owned(), lost_until: None, traces: Vec::new() }
}

/// Puts the entry into a line whose details do not matter.
pub fn put(book: &mut Book, entry: Entry) -> Result<()> {
    book.apply(&LedgerLine { seq: 7, hash: "7".repeat(64) }, "2026-11-21T12:00:00Z", entry)
}
