//! Compare: runs side by side.

mod state;
mod update;
mod view;

use ratatui::layout::Rect;

use super::{Keys, LONGEST_TEXT, Screen, explained, moved};
use crate::canvas::Canvas;
use crate::context::{Change, Context};
use crate::engine::Request;
use crate::glossary::Explained;
use crate::privacy::Watch;
use crate::run_column::{RunColumn, SortValue};
use crate::session::ArchivedRun;
use crate::session::archive::DIED;
use crate::session::run_directory::Process;
use crate::tab::{CHARTS, Pane};
use crate::text_table::Sheet;
use crate::widgets::viewport::Viewport;
use state::DETAILS;
pub use state::{ARCHIVE, CompareScreen, Quantity};

impl Screen for CompareScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![ARCHIVE, CHARTS, DETAILS]
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == DETAILS {
            self.detail = self.detail.saturating_add_signed(by).min(LONGEST_TEXT);
            return;
        }
        self.detail = 0;
        let order = self.order(context.archived(), context.filter(), &context.watch);
        self.selected = moved(&order, self.selected, by);
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let run = self.run(context.archived())?;
        if run.outcome == DIED {
            return Some("this run died: r resumes it, 6 settles it".to_owned());
        }
        Some("Space pins runs to compare them; R writes a report to pass on".to_owned())
    }

    fn is_of_use(&self, name: &str, context: &Context) -> bool {
        name == "refresh" || !context.archived().is_empty()
    }

    fn sort_by(&mut self, head: &str) {
        let Some(column) = RunColumn::ALL.into_iter().find(|column| column.title() == head) else {
            return;
        };
        self.reverse = self.sort == column && !self.reverse;
        self.sort = column;
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let first = match self.shown_quantity(context.archived(), &context.watch) {
            Quantity::Series(series) | Quantity::Utility(series) => series.words(),
            Quantity::Epsilon => "ε",
            Quantity::Score => "score",
        };
        explained([
            first,
            self.sort.title(),
            "private error",
            "public error",
            "mean absolute error",
            "balanced accuracy",
            "AUC",
            "verdict",
            "ε",
            "δ",
            "outcome",
            "steps",
            "exact number",
            "public data only",
            "private data, no privacy",
            "tag",
            "run",
        ])
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn open(&mut self, context: &mut Context) {
        context.ask(Request::Archive);
    }

    /// A run that was started here is selected once it appears; otherwise the selected one stays
    /// selected, and at first it is the top one.
    fn follow(&mut self, change: &Change, context: &mut Context) {
        let Change::Archive(before) = change else { return };
        let runs = context.archived();
        let is_new = |run: &ArchivedRun| {
            let is_known = before.as_ref().is_none_or(|before| before.contains(&run.id));
            !is_known && run.process.as_ref().is_some_and(Process::is_this)
        };
        let new = runs.iter().position(is_new);
        let id = before.as_ref().and_then(|before| before.get(self.selected));
        let place = new.or_else(|| runs.iter().position(|run| Some(&run.id) == id));
        let order = self.order(runs, "", &context.watch);
        self.selected = place.or(order.first().copied()).unwrap_or(0);
    }

    fn step_out(&mut self, _: &mut Context) -> bool {
        self.viewport.step_out()
    }

    fn filtered(&self) -> Option<Pane> {
        Some(ARCHIVE)
    }

    fn enters_on_click(&self, pane: Pane) -> bool {
        pane == ARCHIVE
    }

    fn charts(&mut self, context: &Context) -> Option<(&mut Viewport, (f64, f64))> {
        let extent = self.extent(context.archived(), &context.watch);
        Some((&mut self.viewport, extent))
    }

    fn sheet(&self, context: &Context, watch: &Watch) -> Option<Sheet> {
        let runs = context.archive.as_ref()?;
        let mut columns = RunColumn::shown(!watch.is_sealed());
        columns.retain(|column| column.has_any(runs, watch));
        // The order on the screen, which an exact column may have sorted.
        let order = self.order(runs, context.filter(), &context.watch);
        let row = |index: usize| {
            let cell = |column: &RunColumn| match column.value(&runs[index], watch) {
                SortValue::Number(x) => x.to_string(),
                SortValue::Text(text) => text,
                SortValue::Missing => String::new(),
            };
            columns.iter().map(cell).collect()
        };
        Some(Sheet {
            header: columns.iter().map(|column| column.title().to_owned()).collect(),
            rows: order.into_iter().map(row).collect(),
        })
    }

    fn export_name(&self) -> Option<&'static str> {
        Some("runs")
    }
}
