//! Ledger: the spending of each private dataset, and its results.

mod state;
mod update;
mod view;

use ratatui::layout::Rect;

use super::{Keys, Screen, explained, moved_in};
use crate::canvas::Canvas;
use crate::context::{Change, Context};
use crate::engine::Request;
use crate::engine::lookup::RunLife;
use crate::glossary::Explained;
use crate::privacy::Watch;
use crate::tab::Pane;
use crate::text_table::Sheet;
use state::ENTRY_HEADER;
pub use state::{ACCOUNTS, ENTRIES, LedgerScreen};

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
        }
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let account = self.account(context)?;
        if account.budget.is_none() {
            return Some("b sets a budget: no run is allowed without one".to_owned());
        }
        Some(if self.waiting(context, RunLife::Died).is_some() {
            "a run died: s settles it, r on the Compare screen (5) resumes it".to_owned()
        } else if self.waiting(context, RunLife::Reserved).is_some() {
            "c gathers the results of the sweep; until then its runs count in full".to_owned()
        } else {
            "w writes a certificate of everything spent".to_owned()
        })
    }

    fn is_of_use(&self, name: &str, context: &Context) -> bool {
        match name {
            "certificate" => self.account(context).is_some(),
            "unfold" => {
                let entries = self.visible_entries(context);
                self.unfolded || entries.iter().any(|entry| entry.runs.len() > 1)
            }
            "settle" => self.waiting(context, RunLife::Died).is_some(),
            _ => true,
        }
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let first = if self.focus(context) == Some(ENTRIES) { "outcome" } else { "account" };
        explained([
            first,
            "budget",
            "asked ε",
            "spent ε",
            "draws",
            "outcome",
            "holds if",
            "ε",
            "δ",
            "ledger",
            "noise",
            "exact number",
            "certificate",
            "sweep",
            "records",
        ])
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
            let count = context.book.as_ref().map_or(0, |book| book.accounts.len());
            self.selected = self.selected.min(count.saturating_sub(1));
        }
    }

    fn filtered(&self) -> Option<Pane> {
        Some(ENTRIES)
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
