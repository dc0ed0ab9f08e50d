//! Ledger: what each private dataset has spent, and what it bought.

mod budget;
mod state;
mod update;
mod view;

use ratatui::layout::Rect;

use super::{Keys, Screen, moved, moved_in};
use crate::engine::Request;
use crate::privacy::Watch;
use crate::tui::canvas::Canvas;
use crate::tui::context::{Change, Context};
use crate::tui::sheet::Sheet;
use crate::tui::tab::Pane;
pub use state::{ACCOUNTS, ENTRIES, LedgerScreen};
use state::{ENTRY_HEADER, entry_cells};

impl Screen for LedgerScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![ACCOUNTS, ENTRIES]
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == ENTRIES {
            self.entry = moved(&self.visible_entries(context), self.entry, by);
        } else {
            let count = context.book.as_ref().map_or(0, |book| book.accounts.len());
            self.selected = moved_in(count, self.selected, by);
        }
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
        let rows = rows.map(|index| entry_cells(&account.runs[index], &digest.entries[index]));
        Some(Sheet { header: ENTRY_HEADER.map(str::to_owned).to_vec(), rows: rows.collect() })
    }

    fn export_name(&self) -> Option<&'static str> {
        Some("entries")
    }
}
