//! Why a ledger cannot be continued: damage, missing lines, or runs that it does not know. All of
//! these are reported, refused and repaired in the same way.

use std::path::Path;

use super::book::Book;
use super::entry::{Entry, LedgerLine};
use super::gap::{Cause, Gap};
use super::traces::Trace;
use crate::error::{Action, Error};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flaw {
    /// The first line that is missing or wrong.
    pub line: u64,
    pub why: String,
    /// The last line before the loss, and the last lost one, if known.
    pub after: u64,
    pub until: Option<u64>,
    /// Advice to consider before a repair.
    pub first: Option<&'static str>,
    /// Runs whose lines are among the lost ones.
    pub traces: Vec<Trace>,
}

impl Flaw {
    /// A flaw shown only by run directories: the chain itself is intact.
    pub fn of_traces(after: u64, traces: Vec<Trace>) -> Self {
        let names: Vec<&str> = traces.iter().take(3).map(|trace| trace.run.0.as_str()).collect();
        let more = match traces.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let why = format!(
            "{}: {}{more}; this ledger was rolled back, rewritten or replaced",
            traces.first().map_or("", |trace| trace.why.as_str()),
            names.join(", ")
        );
        let first = Some("if the run was copied here from another workspace, take it out again");
        Self { line: after + 1, why, after, until: None, first, traces }
    }

    pub fn refusal(&self, path: &Path) -> Error {
        let first = self.first.map_or_else(String::new, |first| format!("{first}; otherwise "));
        Error::refused(format!("the ledger is damaged: {}", self.why))
            .at(format!("{}:{}", path.display(), self.line))
            .cure(format!(
                "{first}repair it, then accept the unknown past; both are remembered for ever"
            ))
            .asking(Action::Repair)
    }

    /// Shows the book as if the ledger were repaired now.
    pub fn show_in(&self, book: &mut Book, path: &Path) {
        let cause = Cause::Lost { after: self.after, until: self.until, why: self.why.clone() };
        book.lose_lines(&Gap { cause, noticed: None, accepted: None });
        for trace in &self.traces {
            for entry in trace.entries(book) {
                let line = LedgerLine { seq: self.after + 1, hash: String::new() };
                // Entries that do not fit are not shown; nothing is granted either way.
                let _ = book.apply(&line, "", entry);
            }
        }
        book.damaged = true;
        book.warnings.push(format!(
            "{}:{}: the ledger is damaged: {}; launches are refused until it is repaired",
            path.display(),
            self.line,
            self.why
        ));
    }

    pub fn entry(&self) -> Entry {
        Entry::Damage {
            lost_after: self.after,
            why: self.why.clone(),
            lost_until: self.until,
            traces: self.traces.iter().map(|trace| trace.run.clone()).collect(),
        }
    }
}
