//! Which account and which entry are selected, and an entry as text.

use crate::engine::lookup::{Digest, EntryDigest};
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{Account, Outcome, RunRecord, RunState};
use crate::tui::context::Context;
use crate::tui::fuzzy;
use crate::tui::tab::Pane;

pub const ACCOUNTS: Pane = Pane::list("accounts");
pub const ENTRIES: Pane = Pane::list("entries");

#[derive(Debug, Default)]
pub struct LedgerScreen {
    pub selected: usize,
    /// Index into the runs of the account.
    pub entry: usize,
}

impl LedgerScreen {
    pub fn account<'a>(&self, context: &'a Context) -> Option<&'a Account> {
        context.book.as_ref()?.accounts.get(self.selected)
    }

    pub fn digest<'a>(&self, context: &'a Context) -> Option<&'a Digest> {
        context.digests.get(self.selected)
    }

    /// Entries of the selected account that pass the filter, the newest first.
    pub fn visible_entries(&self, context: &Context) -> Vec<usize> {
        let (Some(account), Some(digest)) = (self.account(context), self.digest(context)) else {
            return Vec::new();
        };
        let passes = |index: &usize| {
            let cells = entry_cells(&account.runs[*index], &digest.entries[*index]);
            fuzzy::holds(context.filter(), &cells.join(" "))
        };
        (0..account.runs.len().min(digest.entries.len())).rev().filter(passes).collect()
    }
}

pub const ENTRY_HEADER: [&str; 7] =
    ["time (UTC)", "method", "asked ε", "δ", "spent ε", "draws", "state"];

/// An entry as text: for the screen, the filter and exports.
pub fn entry_cells(run: &RunRecord, digest: &EntryDigest) -> Vec<String> {
    let spent = digest.spent.map_or_else(|| "?".to_owned(), |spent| round_up(spent, 3));
    let time: String = run.time.chars().take(16).collect();
    vec![
        time.replace('T', " "),
        run.grant.method_words(),
        run.grant.target.epsilon.to_string(),
        format!("{:e}", run.grant.target.delta),
        spent,
        format!("{} of {}", digest.charged, digest.planned),
        state_words(run).to_owned(),
    ]
}

pub fn state_words(run: &RunRecord) -> &'static str {
    match run.state {
        RunState::Open => "open",
        RunState::Recovered => "recovered",
        RunState::Settled { outcome: Outcome::Finished, .. } => "finished",
        RunState::Settled { outcome: Outcome::Stopped, .. } => "stopped",
        RunState::Settled { outcome: Outcome::Failed, .. } => "failed",
        RunState::Settled { outcome: Outcome::Abandoned, .. } => "abandoned",
    }
}
