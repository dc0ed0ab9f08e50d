//! Cells read as numbers, and what is wrong with those that are none.

use std::borrow::Cow;

use crate::data::missing;
use crate::data::table::{Column, Table, finite};
use crate::error::{Error, Result};

/// A column as numbers, or its first cell that is none.
pub(super) fn numbers<'a>(table: &'a Table, column: &str) -> Result<Cow<'a, [f64]>> {
    match table.column(column)? {
        Column::Numbers(numbers) => Ok(Cow::Borrowed(numbers)),
        // A filter may have removed the rows that made it text.
        Column::Text(cells) => cells
            .iter()
            .enumerate()
            .map(|(row, cell)| {
                finite(cell).ok_or_else(|| {
                    Error::failed(flaw(cell)).at(format!("{}, column '{column}'", table.place(row)))
                })
            })
            .collect(),
    }
}

/// What is wrong with a cell that is no finite number.
fn flaw(cell: &str) -> String {
    if cell.is_empty() {
        "expected a number, found a missing value (empty cell)".to_owned()
    } else if missing::is_missing(cell) {
        format!("expected a number, found a missing value ('{cell}')")
    } else if cell.parse::<f64>().is_ok() {
        format!("expected a finite number, found '{cell}'")
    } else if finite(&cell.replacen(',', ".", 1)).is_some() {
        format!("expected a number with a decimal point, found '{cell}'")
    } else {
        format!("expected a number, found '{cell}'")
    }
}
