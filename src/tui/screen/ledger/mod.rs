//! Ledger: the spending of each private dataset, and its results.

mod update;
mod view;

use std::ops::Range;

use super::{Keys, Screen, explained, moved_in};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context};
use crate::engine::Request;
use crate::engine::lookup::{Digest, EntryDigest, RunLife, granted};
use crate::glossary::Explained;

use crate::privacy::Watch;
use crate::privacy::accountant::{delta_words, round_up};
use crate::privacy::ledger::{Account, RunRecord, RunState};
use crate::tab::Pane;
use crate::text_table::Sheet;
use crate::widgets::number::compact_up;
use crate::{fuzzy, methods};

pub const ACCOUNTS: Pane = Pane::list("accounts");
pub const ENTRIES: Pane = Pane { filters: true, ..Pane::list("entries") };

#[derive(Debug, Default)]
pub struct LedgerScreen {
    pub selected: usize,
    /// Whether the user has chosen the account. Until then it is that of the data that they work on.
    is_chosen: bool,
    /// Index into the runs of the account.
    pub entry: usize,
    /// Whether the runs of a sweep have lines of their own.
    pub unfolded: bool,
}

/// One line of the table: a run, or the runs of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Indices into the runs of the account.
    pub runs: Range<usize>,
}

impl RunLine {
    pub fn cells(&self, account: &Account, digest: &Digest) -> Vec<String> {
        let first = self.runs.start;
        let mut cells = entry_cells(&account.runs[first], &digest.entries[first]);
        if self.runs.len() == 1 {
            return cells;
        }
        let digests = &digest.entries[self.runs.clone()];
        cells[1] = format!("{} runs of a sweep · {}", self.runs.len(), cells[1]);
        let targets = account.runs[self.runs.clone()].iter().map(|run| run.grant.target);
        if targets.clone().any(|target| target != account.runs[first].grant.target) {
            "various".clone_into(&mut cells[2]);
            cells[3] = String::new();
        }
        cells[4] = String::new();
        let draws = |of: fn(&EntryDigest) -> u64| digests.iter().map(of).sum::<u64>();
        cells[5] = format!("{} of {}", draws(|it| it.charged), draws(|it| it.planned));
        cells[6] = self.states(account, digest);
        cells
    }

    /// `37 finished, 3 died`.
    fn states(&self, account: &Account, digest: &Digest) -> String {
        let words = |index: usize| state_words(&account.runs[index], &digest.entries[index]);
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for word in self.runs.clone().map(words) {
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
        let counts = counts.into_iter().map(|(word, count)| format!("{count} {word}"));
        counts.collect::<Vec<_>>().join(", ")
    }
}

/// Whether two runs were granted together, one right after the other, like those of a sweep: with
/// all draws of one announced before the next is granted.
fn granted_together(run: &RunRecord, next: &RunRecord) -> bool {
    run.time == next.time && next.granted.seq == run.granted.seq + 1 + run.grant.events.len() as u64
}

impl LedgerScreen {
    pub fn account<'a>(&self, context: &'a Context) -> Option<&'a Account> {
        context.book.as_ref()?.accounts.get(self.selected)
    }

    pub fn digest<'a>(&self, context: &'a Context) -> Option<&'a Digest> {
        context.digests.get(self.selected)
    }

    /// A run in this state: the selected one if it is, otherwise the first.
    pub fn waiting<'a>(&self, context: &'a Context, life: RunLife) -> Option<&'a RunRecord> {
        let (account, digest) = self.account(context).zip(self.digest(context))?;
        let is = |index: &usize| digest.entries.get(*index).is_some_and(|it| it.life == life);
        let index = Some(self.entry).filter(is).or_else(|| (0..account.runs.len()).find(is))?;
        account.runs.get(index)
    }

    /// Entries of the selected account that pass the filter, the newest first.
    pub fn visible_entries(&self, context: &Context) -> Vec<RunLine> {
        let (Some(account), Some(digest)) = (self.account(context), self.digest(context)) else {
            return Vec::new();
        };
        let mut entries: Vec<RunLine> = Vec::new();
        for index in 0..account.runs.len().min(digest.entries.len()) {
            match entries.last_mut() {
                Some(last)
                    if !self.unfolded
                        && granted_together(&account.runs[index - 1], &account.runs[index]) =>
                {
                    last.runs.end = index + 1;
                }
                _ => entries.push(RunLine { runs: index..index + 1 }),
            }
        }
        let passes = |entry: &RunLine| {
            fuzzy::holds(context.filter(), &entry.cells(account, digest).join(" "))
        };
        entries.into_iter().rev().filter(passes).collect()
    }

    /// The position of the selected run among the lines of the table.
    pub fn place(&self, entries: &[RunLine]) -> usize {
        entries.iter().position(|entry| entry.runs.contains(&self.entry)).unwrap_or(0)
    }
}

pub const ENTRY_HEADER: [&str; 7] =
    ["time (UTC)", "method", "granted ε", "δ", "spent ε", "draws", "state"];

/// An entry as text: for the screen, the filter and exports.
fn entry_cells(run: &RunRecord, digest: &EntryDigest) -> Vec<String> {
    let spent = digest.spent.map_or_else(|| "?".to_owned(), |spent| round_up(spent, 3));
    let time: String = run.time.chars().take(16).collect();
    vec![
        time.replace('T', " "),
        methods::name_in(&run.grant),
        asked(run),
        delta_words(run.grant.target.delta),
        spent,
        // What is reserved counts, and need not have been drawn.
        match run.state {
            RunState::Open => format!("{} reserved", digest.charged),
            _ => format!("{} of {}", digest.charged, digest.planned),
        },
        state_words(run, digest).to_owned(),
    ]
}

/// The ε that a run was granted, or that another trainer states.
fn asked(run: &RunRecord) -> String {
    let states_none = run.claim.as_ref().is_some_and(|claim| claim.says.is_none());
    if states_none { "none".to_owned() } else { compact_up(granted(run)) }
}

pub fn state_words(run: &RunRecord, digest: &EntryDigest) -> &'static str {
    match run.state {
        RunState::Open => match digest.life {
            RunLife::Running => "running",
            RunLife::Reserved => "reserved",
            RunLife::Died | RunLife::Over => "died",
        },
        RunState::Recovered => "recovered",
        RunState::Claimed => "claimed",
        RunState::Settled { outcome, .. } => outcome.words(),
    }
}

impl Screen for LedgerScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![ACCOUNTS, ENTRIES]
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == ENTRIES {
            let entries = self.visible_entries(context);
            let next = moved_in(entries.len(), self.place(&entries), by);
            self.entry = entries.get(next).map_or(0, |entry| entry.runs.start);
        } else {
            let count = context.book.as_ref().map_or(0, |book| book.accounts.len());
            self.selected = moved_in(count, self.selected, by);
            self.is_chosen = true;
        }
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let account = self.account(context)?;
        if account.budget.is_none() {
            return Some("b sets a budget: no run is allowed without one".to_owned());
        }
        Some(if self.waiting(context, RunLife::Died).is_some() {
            "a run died: c settles it; 5, then R, resumes it".to_owned()
        } else if self.waiting(context, RunLife::Reserved).is_some() {
            "U gathers the results of the sweep; until then its runs count in full".to_owned()
        } else {
            "w writes a certificate of everything spent".to_owned()
        })
    }

    fn hindrance(&self, name: &str, context: &Context) -> Option<&'static str> {
        let has_sweep = || self.visible_entries(context).iter().any(|entry| entry.runs.len() > 1);
        let waits = |life| self.waiting(context, life).is_some();
        match name {
            "certificate" if self.account(context).is_none() => {
                Some("nothing has been spent yet, so there is nothing to certify")
            }
            "unfold" if !self.unfolded && !has_sweep() => Some("there is no sweep here"),
            "settle" if !waits(RunLife::Died) => Some(if waits(RunLife::Reserved) {
                "the runs of a sweep are settled when it is collected: U"
            } else {
                "no run has died here: there is nothing to settle"
            }),
            "accept" if !self.account(context).is_some_and(Account::waits_for_acceptance) => {
                Some("there is nothing to accept here")
            }
            _ => None,
        }
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let first = if self.focus(context) == Some(ENTRIES) { "outcome" } else { "account" };
        let words = explained(&format!(
            "{first}; budget; granted ε; spent ε; draws; outcome; holds if; ε; δ; ledger; noise; \
             exact number; certificate; sweep; records"
        ));
        let mut all = view::in_words(self, context);
        // The run comes first where runs are selected.
        let place = if first == "outcome" { all.len() } else { 0 };
        all.splice(place..place, words);
        all
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn open(&mut self, context: &mut Context) {
        context.ask(Request::Ledger);
        context.ask(Request::Archive);
        context.ask_preview();
    }

    fn follow(&mut self, change: &Change, context: &mut Context) {
        if matches!(change, Change::Ledger) {
            let accounts = context.book.as_ref().map_or(&[][..], |book| &book.accounts);
            let last = |it: &Account| it.datasets.last().map(|dataset| dataset.name.clone());
            let is_ours = |it: &Account| last(it).as_deref() == context.private_name();
            let ours = accounts.iter().position(is_ours).filter(|_| !self.is_chosen);
            self.selected = ours.unwrap_or(self.selected).min(accounts.len().saturating_sub(1));
        }
    }

    fn sheet(&self, context: &Context, _: &Watch) -> Option<Sheet> {
        let (account, digest) = (self.account(context)?, self.digest(context)?);
        let rows = self.visible_entries(context).into_iter();
        let rows = rows.map(|entry| entry.cells(account, digest));
        Some(Sheet { header: ENTRY_HEADER.map(str::to_owned).to_vec(), rows: rows.collect() })
    }

    fn export_name(&self) -> Option<&'static str> {
        Some("entries")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::privacy::ledger::LedgerLine;

    /// The account of the stage with a sweep of four runs after its own three.
    fn with_sweep() -> (LedgerScreen, Context) {
        let mut context = fixtures::spending().context;
        let account = &mut context.book.as_mut().unwrap().accounts[0];
        let mut run = account.runs[2].clone();
        for task in 0..4 {
            run.granted = LedgerLine { seq: 20 + 2 * task, hash: String::new() };
            account.runs.push(run.clone());
        }
        let life = |run: &RunRecord| match run.granted.seq {
            20 => RunLife::Running,
            21.. => RunLife::Reserved,
            _ => RunLife::Died,
        };
        context.digests[0] = Digest::of(&context.book.as_ref().unwrap().accounts[0], &life);
        (LedgerScreen::default(), context)
    }

    #[test]
    fn the_runs_of_a_sweep_are_one_line_that_counts_their_states() {
        let (mut screen, context) = with_sweep();
        let lines = screen.visible_entries(&context);
        assert_eq!(lines.len(), 4);
        let (account, digest) =
            (screen.account(&context).unwrap(), screen.digest(&context).unwrap());
        let cells = lines[0].cells(account, digest);
        assert!(cells[1].starts_with("4 runs of a sweep"), "{cells:?}");
        assert_eq!(cells[6], "1 running, 3 reserved");
        assert_eq!(lines[1].cells(account, digest)[6], "died");
        screen.unfolded = true;
        assert_eq!(screen.visible_entries(&context).len(), 7);
    }
}
