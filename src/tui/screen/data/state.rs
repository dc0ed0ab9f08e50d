//! Which dataset is selected, and the scroll position of its rows.

use crate::context::Context;
use crate::data::{DatasetDefinition, Role};
use crate::engine::lookup::Rows;
use crate::fuzzy;
use crate::session::Loaded;
use crate::tab::Pane;

pub const DATASETS: Pane = Pane::list("datasets");
/// Rows of the selected dataset.
pub const ROWS: Pane = Pane::scrolled("rows");
/// The facts about the selected dataset.
pub const DETAILS: Pane = Pane::scrolled("details");

#[derive(Debug, Default)]
pub struct DataScreen {
    pub selected: usize,
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
    Private(&'a Rows),
}

impl DataScreen {
    pub fn definition<'a>(&self, context: &'a Context) -> Option<&'a DatasetDefinition> {
        context.session.datasets.get(self.selected)
    }

    /// The datasets that pass the filter, as indices.
    pub fn visible(context: &Context) -> Vec<usize> {
        let passes = |index: &usize| {
            let dataset = &context.session.datasets[*index];
            let role = match dataset.role {
                Role::Private => "private",
                Role::Public => "public",
            };
            let words = [Some(&dataset.name), dataset.label.as_ref(), dataset.filter.as_ref()];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            fuzzy::holds(context.filter(), &format!("{} {role}", words.join(" ")))
        };
        (0..context.session.datasets.len()).filter(passes).collect()
    }

    /// The rows that may be shown of the selected dataset.
    pub fn rows<'a>(&self, context: &'a Context) -> Option<RowsShown<'a>> {
        let definition = self.definition(context)?;
        if definition.role == Role::Private {
            let (name, rows) = context.peeked.as_ref()?;
            let rows = rows.reveal(&context.watch).filter(|_| *name == definition.name);
            return rows.map(RowsShown::Private);
        }
        let loaded = context.loaded(&definition.name)?;
        let seen = loaded.public().is_ok() && Self::hidden(definition, context).is_none();
        seen.then_some(RowsShown::Public(loaded))
    }

    /// Why the rows of a public dataset are not shown: they may also be private ones.
    pub fn hidden(definition: &DatasetDefinition, context: &Context) -> Option<String> {
        let alone = context.names_with(Role::Private).is_empty();
        match context.compared.get(&definition.name) {
            _ if alone => None,
            Some(None) => None,
            Some(Some(private)) => Some(format!(
                "Rows of '{private}', which is private, are in this dataset too, so they stay \
                 hidden. \
                 Change the filter, or the role of one of them (Enter)."
            )),
            None => Some("Its rows are compared with the private ones…".to_owned()),
        }
    }

    /// The number of visible rows of the selected dataset.
    pub fn row_count(&self, context: &Context) -> usize {
        match self.rows(context) {
            Some(RowsShown::Public(loaded)) => loaded.rows,
            Some(RowsShown::Private(rows)) => rows.rows.len(),
            None => 0,
        }
    }
}
