//! Data: the datasets of the session.

mod columns;
mod compare;
mod update;
mod view;

pub use compare::in_datasets;

use super::{DIED_RUN, Keys, LONGEST_TEXT, Screen, explained, moved, moved_in};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context, DatasetStatus};
use crate::data::profile::TableProfile;
use crate::data::{DatasetDefinition, Role};
use crate::engine::lookup::ExactRows;
use crate::fuzzy;
use crate::glossary::Explained;
use crate::notice::one_line;
use crate::privacy::Watch;
use crate::session::Loaded;
use crate::session::dataset::ColumnKind;
use crate::tab::Pane;
use crate::text_table::Sheet;

pub const DATASETS: Pane = Pane { filters: true, enters: true, ..Pane::list("datasets") };
/// The columns of the selected dataset, each with its profile.
pub const COLUMNS: Pane = Pane::list("columns");
/// Rows of the selected dataset.
pub const ROWS: Pane = Pane::scrolled("rows");
/// The facts about the selected dataset.
pub const DETAILS: Pane = Pane::scrolled("details");

#[derive(Debug, Default)]
pub struct DataScreen {
    pub selected: usize,
    /// The place of the selected column, the label first.
    pub place: usize,
    /// First row and first column of the preview.
    pub row: usize,
    pub column: usize,
    /// First line of the details.
    pub detail: usize,
}

/// Rows that may be seen.
#[derive(Debug, Clone, Copy)]
pub enum RowsShown<'a> {
    Public(&'a Loaded),
    Private(&'a ExactRows),
}

impl DataScreen {
    pub fn definition<'a>(&self, context: &'a Context) -> Option<&'a DatasetDefinition> {
        context.session.datasets.get(self.selected)
    }

    /// The datasets that pass the filter, as indices.
    pub fn visible(context: &Context) -> Vec<usize> {
        let passes = |index: &usize| {
            let dataset = &context.session.datasets[*index];
            let role = role_words(dataset.role);
            let words = [Some(&dataset.name), dataset.label.as_ref(), dataset.filter.as_ref()];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            fuzzy::holds(context.filter(), &format!("{} {role}", words.join(" ")))
        };
        (0..context.session.datasets.len()).filter(passes).collect()
    }

    /// The rows that may be shown of a dataset.
    pub fn rows<'a>(definition: &DatasetDefinition, context: &'a Context) -> Option<RowsShown<'a>> {
        Self::rows_for(definition, context, &context.watch)
    }

    fn rows_for<'a>(
        definition: &DatasetDefinition,
        context: &'a Context,
        watch: &Watch,
    ) -> Option<RowsShown<'a>> {
        if definition.role == Role::Private {
            let (name, rows) = context.peeked.as_ref()?;
            let rows = rows.reveal(watch).filter(|_| *name == definition.name);
            return rows.map(RowsShown::Private);
        }
        let loaded = context.loaded(&definition.name)?;
        let seen = loaded.public().is_ok() && Self::hidden(definition, context).is_none();
        seen.then_some(RowsShown::Public(loaded))
    }

    /// The profile of a dataset whose rows may be shown.
    pub fn profile<'a>(
        definition: &DatasetDefinition,
        context: &'a Context,
    ) -> Option<&'a TableProfile> {
        Self::profile_for(definition, context, &context.watch)
    }

    fn profile_for<'a>(
        definition: &DatasetDefinition,
        context: &'a Context,
        watch: &Watch,
    ) -> Option<&'a TableProfile> {
        match Self::rows_for(definition, context, watch)? {
            RowsShown::Public(loaded) => loaded.profile(),
            RowsShown::Private(exact) => exact.profile.as_ref(),
        }
    }

    /// The columns of the selected dataset as they are listed: the label comes first.
    pub fn columns(&self, context: &Context) -> Vec<ColumnKind> {
        let Some(definition) = self.definition(context) else { return Vec::new() };
        let mut columns = context.columns(&definition.name);
        columns.sort_by_key(|column| Some(&column.name) != definition.label.as_ref());
        columns
    }

    /// Why the rows of a public dataset are not shown: they may also be private ones.
    pub fn hidden(definition: &DatasetDefinition, context: &Context) -> Option<String> {
        match context.withheld(&definition.name) {
            Some(error) => Some(format!("Its rows stay hidden: {}.", one_line(error))),
            None if context.is_open(&definition.name) => None,
            None => Some("Its rows are compared with the private ones…".to_owned()),
        }
    }

    /// The number of visible rows of the selected dataset.
    pub fn row_count(&self, context: &Context) -> usize {
        match self.definition(context).and_then(|it| Self::rows(it, context)) {
            Some(RowsShown::Public(loaded)) => loaded.rows,
            Some(RowsShown::Private(exact)) => exact.rows.rows.len(),
            None => 0,
        }
    }
}

fn role_words(role: Role) -> &'static str {
    match role {
        Role::Private => "private",
        Role::Public => "public",
    }
}

fn count_words(count: Option<usize>) -> String {
    count.map_or_else(String::new, |count| count.to_string())
}

impl Screen for DataScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![DATASETS, COLUMNS, ROWS, DETAILS]
    }

    fn hindrance(&self, name: &str, context: &Context) -> Option<&'static str> {
        match name {
            "add" => None,
            _ if self.definition(context).is_none() => Some("there is no dataset yet: a adds one"),
            "columns left" | "columns right" if self.row_count(context) == 0 => {
                Some("no rows are shown")
            }
            _ => None,
        }
    }

    fn select(&mut self, pane: Pane, by: isize, context: &Context) {
        if pane == ROWS {
            let last = self.row_count(context).saturating_sub(1);
            self.row = self.row.saturating_add_signed(by).min(last);
            return;
        }
        if pane == COLUMNS {
            self.place = moved_in(self.columns(context).len(), self.place, by);
            return;
        }
        if pane == DETAILS {
            self.detail = self.detail.saturating_add_signed(by).min(LONGEST_TEXT);
            return;
        }
        let chosen = moved(&Self::visible(context), self.selected, by);
        if chosen != self.selected {
            *self = Self { selected: chosen, place: self.place, ..Self::default() };
        }
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        let [private, public] =
            [Role::Private, Role::Public].map(|role| context.names_with(role).len());
        let ranked = !context.ranking.is_empty();
        if context.has_died_run() {
            return Some(DIED_RUN.to_owned());
        }
        let state = |name: &String| context.datasets.get(name);
        let has_failed = |name: &String| matches!(state(name), Some(DatasetStatus::Failed(_)));
        let datasets = &context.session.datasets;
        if let Some(dataset) = datasets.iter().find(|it| has_failed(&it.name)) {
            let name = &dataset.name;
            return Some(format!(
                "'{name}' cannot be read: correct the file, then press U; d removes it"
            ));
        }
        if let Some(dataset) = datasets.iter().find(|it| context.withheld(&it.name).is_some()) {
            let name = &dataset.name;
            return Some(format!(
                "select '{name}': it says why its rows are hidden, and what to do"
            ));
        }
        let guessed = datasets.iter().find(|it| !it.guessed.is_empty());
        if let Some(dataset) = guessed {
            let shown = self.definition(context).is_some_and(|it| it.name == dataset.name);
            let go = if shown { "" } else { "select it; " };
            return Some(format!(
                "check what was guessed about '{}': {go}= confirms it, Enter changes it",
                dataset.name
            ));
        }
        Some(match (private, public) {
            (0, 0) => "a adds a data file, Ctrl-o opens a session".to_owned(),
            (0, _) => "no dataset is private: Enter changes the role of one".to_owned(),
            (_, 0) => {
                "no public data yet: D divides this table by a column, a adds a file".to_owned()
            }
            (_, 2..) if !ranked => "2 ranks the public datasets; 3 plans a run".to_owned(),
            _ => "3 plans a run".to_owned(),
        })
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let role = self.definition(context).map(|definition| definition.role);
        let first = match role {
            Some(Role::Public) => "public data",
            Some(Role::Private) => "private data",
            None => "dataset",
        };
        explained(&format!(
            "{first}; role; label; profile; task; classes; filter; sample; missing values; \
             columns; categories; records; account; exact number; dataset"
        ))
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    /// The datasets of the list, with a row for each of their columns and its profile.
    fn sheet(&self, context: &Context, watch: &Watch) -> Option<Sheet> {
        let header = ["name", "role", "size", "columns", "label", "filter"].into_iter();
        let header = header.chain(columns::EXPORTED).map(str::to_owned).collect();
        let rows = Self::visible(context).into_iter().flat_map(|index| {
            let dataset = &context.session.datasets[index];
            let loaded = context.loaded(&dataset.name);
            let [size, count] =
                [loaded.map(|it| it.rows), loaded.map(|it| it.columns.len())].map(count_words);
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let role = role_words(dataset.role).to_owned();
            let (label, filter) = (text(&dataset.label), text(&dataset.filter));
            let facts = vec![dataset.name.clone(), role, size, count, label, filter];
            let columns = columns::exported(dataset, context, watch).into_iter();
            columns.map(move |column| [facts.as_slice(), &column].concat())
        });
        Some(Sheet { header, rows: rows.collect() })
    }

    fn export_name(&self) -> Option<&'static str> {
        Some("datasets")
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
}
