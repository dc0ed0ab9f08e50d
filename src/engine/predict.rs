//! Applies a run's model to the rows of a file, and writes the predictions to another file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::read::{Overflow, Reading, TableReader, Unwatched};
use crate::data::write;
use crate::error::{Error, Result};
use crate::session::prediction::predict;
use crate::session::{SavedModel, outbox};

/// Writes the predictions; returns the number of rows and remarks on the model. An existing file is
/// not overwritten.
pub fn write_predictions(run: &Path, data: &Path, output: &Path) -> Result<(usize, Vec<String>)> {
    let format = write::WriteFormat::of(output)?;
    if output.exists() {
        return Err(Error::usage("it is there already")
            .at(output.display().to_string())
            .cure("choose another name"));
    }
    let model = SavedModel::open(run)?;
    outbox::refuse_another_model(&model.path)?;
    let reader = TableReader::default().with(Overflow::beside(output));
    let table = reader.read(data, &Reading::Plain, &mut Unwatched)?;
    let table = model.under_its_names(table, &BTreeMap::new())?;
    let predictions = predict(&model, &table, &mut |_| {})?;
    write::private_file(output, format, &predictions.columns())?;
    Ok((predictions.rows, model.remarks))
}
