//! Applies a run's model to the rows of a file, and writes the predictions to another file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::data::read::{Overflow, Reading, TableReader, Unwatched};
use crate::data::{Column, Table, write};
use crate::error::{Error, Result};
use crate::inspect::sealed;
use crate::privacy::Watch;
use crate::privacy::openings::OpenPrivate;
use crate::session::named::{self, Replace};
use crate::session::prediction::{PredictionScore, predict};
use crate::session::{Loaded, LoadedRecords, Predictions, SavedModel, outbox};

/// Writes the predictions; returns the number of rows and remarks on the model. An existing file is
/// not overwritten.
pub fn write_predictions(run: &Path, data: &Path, output: &Path) -> Result<(usize, Vec<String>)> {
    let format = write::WriteFormat::of(output)?;
    named::check(output, Replace::Nothing, &[])?;
    let model = SavedModel::open(run)?;
    outbox::refuse_another_model(&model.path)?;
    let reader = TableReader::default().with(Overflow::beside(output));
    let table = reader.read(data, &Reading::Plain, &mut Unwatched)?;
    let table = model.under_its_names(table, &BTreeMap::new())?;
    let predictions = predict(&model, &table, &mut |_| {})?;
    write::private_file(output, format, &predictions.columns())?;
    Ok((predictions.rows, model.remarks))
}

/// What is to be written beside the predictions.
pub struct WantedPredictions {
    /// Columns of the data that go along.
    pub keep: Vec<String>,
    /// Names of columns in the data and in the model.
    pub rename: BTreeMap<String, String>,
    /// Whether the predictions are compared with the labels.
    pub score: bool,
}

/// The predictions to write, and facts about them.
#[derive(Clone)]
pub struct WrittenPredictions {
    pub origin: String,
    pub columns: Vec<(String, Column)>,
    pub predictions: Predictions,
    pub score: Option<PredictionScore>,
    /// Whether everybody may see counts and scores.
    pub public: bool,
    /// Whether the rows belong to persons, of whom nobody may know how many rows they have.
    pub of_persons: bool,
}

impl WantedPredictions {
    /// Exact predictions of private records need an open view, like every number for the curator
    /// only.
    pub fn of_loaded(
        &self,
        model: &SavedModel,
        loaded: Loaded,
        view: &Watch,
        tell: &mut dyn FnMut(usize, usize),
    ) -> Result<WrittenPredictions> {
        if let Some(error) = loaded.withheld {
            return Err(error);
        }
        match loaded.records {
            LoadedRecords::Public(table) => self.of_table(model, *table, true, tell),
            LoadedRecords::Private(private) => {
                let tell = RefCell::new(tell);
                let seen = private.curator(view, |table| {
                    let mut tell = |done, all| tell.borrow_mut()(done, all);
                    self.of_table(model, table.clone(), false, &mut tell)
                });
                let seen = seen.as_ref().and_then(|seen| seen.reveal(view));
                seen.cloned().unwrap_or_else(|| Err(sealed()))
            }
        }
    }

    /// Predictions of a table; `tell` hears how many rows of how many are done.
    pub fn of_table(
        &self,
        model: &SavedModel,
        table: Table,
        public: bool,
        tell: &mut dyn FnMut(usize, usize),
    ) -> Result<WrittenPredictions> {
        let origin = table.origin.clone();
        let of_persons = table.persons.is_some() && !public;
        let table = model.under_its_names(table, &self.rename)?;
        let rows = table.rows();
        let in_commands = |error: Error| match error.cure_text() {
            Some(cure) if cure.starts_with("rename the columns") => error.cure(
                "give the columns the model's names with --rename IN_FILE=IN_MODEL, or use data \
                 of the same kind",
            ),
            Some(cure) if cure.starts_with("correct the cell") => error.cure(
                "correct the cell; where values are missing, add --missing drop or --missing \
                 public-mean",
            ),
            _ => error,
        };
        let predictions =
            predict(model, &table, &mut |done| tell(done, rows)).map_err(in_commands)?;
        let score = self.score.then(|| predictions.score(model, &table)).transpose()?;
        let mut columns: Vec<(String, Column)> = Vec::new();
        for name in &self.keep {
            if columns.iter().all(|(kept, _)| kept != name) {
                // A column may be named as in the file or as in the model.
                let column = table.column(self.rename.get(name).unwrap_or(name))?;
                columns.push((name.clone(), column.clone()));
            }
        }
        for (name, column) in predictions.columns() {
            if columns.iter().any(|(kept, _)| *kept == name) {
                return Err(Error::usage(format!("a kept column is called '{name}', too"))
                    .cure("leave it out of --keep, or give it another name with --rename"));
            }
            columns.push((name, column));
        }
        Ok(WrittenPredictions { origin, columns, predictions, score, public, of_persons })
    }
}
