//! Applies a run's model to the rows of a file, and writes the predictions to another file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::read::{self, Reading, Unwatched};
use crate::data::write;
use crate::error::{Error, Result};
use crate::files;
use crate::session::SavedModel;
use crate::session::prediction::predict;

/// Writes the predictions; returns the number of rows. An existing file is not overwritten.
pub fn write_predictions(run: &Path, data: &Path, output: &Path) -> Result<usize> {
    let format = write::WriteFormat::of(output)?;
    if output.exists() {
        return Err(Error::usage("it is there already")
            .at(output.display().to_string())
            .cure("choose another name"));
    }
    let model = SavedModel::open(run)?;
    let table = read::read(data, &Reading::Plain, &mut Unwatched)?;
    let table = model.under_its_names(table, &BTreeMap::new())?;
    let predictions = predict(&model, &table, &mut |_| {})?;
    files::write_private(output, &write::bytes(format, &predictions.columns())?)?;
    Ok(predictions.rows)
}
