//! Data: what the session works on.

mod state;
mod update;
mod view;

use ratatui::layout::Rect;

use super::{Keys, Screen, moved};
use crate::tui::canvas::Canvas;
use crate::tui::context::{Change, Context};
use crate::tui::tab::Pane;
pub use state::{DATASETS, DataScreen, ROWS};

impl Screen for DataScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![DATASETS, ROWS]
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == ROWS {
            let last = self.row_count(context).saturating_sub(1);
            self.row = self.row.saturating_add_signed(by).min(last);
            return;
        }
        let chosen = moved(&Self::visible(context), self.selected, by);
        if chosen != self.selected {
            *self = Self { selected: chosen, ..Self::default() };
        }
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn follow(&mut self, change: &Change, context: &mut Context) {
        match change {
            Change::Opened => *self = Self::default(),
            Change::Described(name) => {
                let place = context.session.datasets.iter().position(|it| it.name == *name);
                self.selected = place.unwrap_or(self.selected);
            }
            Change::Restored => {
                let last = context.session.datasets.len().saturating_sub(1);
                self.selected = self.selected.min(last);
            }
            Change::Removed => self.select(DATASETS, 0, context),
            _ => {}
        }
    }

    fn step_out(&mut self, context: &mut Context) -> bool {
        context.peeked.take().is_some()
    }

    fn filtered(&self) -> Option<Pane> {
        Some(DATASETS)
    }

    fn enters_on_click(&self, pane: Pane) -> bool {
        pane == DATASETS
    }
}
