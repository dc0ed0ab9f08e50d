//! Data: the datasets of the session.

mod state;
mod update;
mod view;

use ratatui::layout::Rect;

use super::{Keys, LONGEST_TEXT, Screen, explained, moved};
use crate::canvas::Canvas;
use crate::context::{Change, Context};
use crate::data::Role;
use crate::glossary::Explained;
use crate::tab::Pane;
pub use state::{DATASETS, DETAILS, DataScreen, ROWS};

impl Screen for DataScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![DATASETS, ROWS, DETAILS]
    }

    fn is_of_use(&self, name: &str, context: &Context) -> bool {
        name == "add" || self.definition(context).is_some()
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == ROWS {
            let last = self.row_count(context).saturating_sub(1);
            self.row = self.row.saturating_add_signed(by).min(last);
            return;
        }
        if pane == DETAILS {
            self.detail = self.detail.saturating_add_signed(by).min(LONGEST_TEXT);
            return;
        }
        let chosen = moved(&Self::visible(context), self.selected, by);
        if chosen != self.selected {
            *self = Self { selected: chosen, ..Self::default() };
        }
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let [private, public] =
            [Role::Private, Role::Public].map(|role| context.names_with(role).len());
        let ranked = !context.ranking.is_empty();
        Some(match (private, public) {
            (0, 0) => "a adds a data file, Ctrl-o opens a session".to_owned(),
            (0, _) => "no dataset is private: Enter changes the role of one".to_owned(),
            (_, 0) => {
                "no public data yet: b splits this table by a column, a adds a file".to_owned()
            }
            (_, 2..) if !ranked => {
                format!(
                    "{public} public datasets, no ranking yet: 2, then r ranks them; 3 plans a run"
                )
            }
            _ => "3 plans a run on these data".to_owned(),
        })
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let role = self.definition(context).map(|definition| definition.role);
        let first = match role {
            Some(Role::Public) => "public data",
            Some(Role::Private) => "private data",
            None => "dataset",
        };
        explained([
            first,
            "role",
            "label",
            "task",
            "classes",
            "filter",
            "sample",
            "missing values",
            "columns",
            "categories",
            "records",
            "account",
            "exact number",
            "dataset",
        ])
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
