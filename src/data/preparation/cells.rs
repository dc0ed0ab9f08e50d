//! Cells read as numbers, and errors for those that are not numbers.

use std::borrow::Cow;

use crate::column::{Column, finite, is_missing};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::vectors::Vectors;

/// Whether values may be missing.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gaps {
    Refused,
    /// Allowed; they become NaN.
    Allowed,
}

/// A column as numbers, or an error with its first cell that is not a number.
pub(super) fn numbers<'a>(table: &'a Table, column: &str, gaps: Gaps) -> Result<Cow<'a, [f64]>> {
    let flawed = |row, cell: &str| {
        let error = Error::failed(flaw(cell));
        let error = if cell.is_empty() { error } else { error.quoting(cell) };
        error.at(format!("{}, column '{column}'", table.place(row)))
    };
    match table.column(column)? {
        Column::Numbers(numbers) => match numbers.iter().position(f64::is_nan) {
            Some(row) if gaps == Gaps::Refused => Err(flawed(row, "")),
            _ => Ok(numbers.whole()),
        },
        vectors @ Column::Vectors(_) => {
            Err(Error::failed(format!("expected one number in each row, found {}", vectors.kind()))
                .at(format!("{}, column '{column}'", table.origin)))
        }
        // A filter may have removed the rows that made it text.
        Column::Text(cells) => cells
            .iter()
            .enumerate()
            .map(|(row, cell)| match finite(&cell) {
                Some(number) => Ok(number),
                None if gaps == Gaps::Allowed && is_missing(&cell) => Ok(f64::NAN),
                None => Err(flawed(row, &cell)),
            })
            .collect(),
    }
}

/// A column as vectors of `width` numbers.
pub(super) fn vectors<'a>(
    table: &'a Table,
    column: &str,
    width: usize,
    gaps: Gaps,
) -> Result<&'a Vectors> {
    let found = table.column(column)?;
    let Column::Vectors(vectors) = found else {
        return Err(unlike_vectors(table, column, width, found));
    };
    if vectors.width() != width {
        return Err(unlike_vectors(table, column, width, found));
    }
    match vectors.first_missing().filter(|_| gaps == Gaps::Refused) {
        Some((row, position)) => Err(Error::failed("expected a number, found a missing value")
            .at(format!("{}, column '{column}[{position}]'", table.place(row)))
            .cure("filter such rows out, or leave the column out of the features")),
        None => Ok(vectors),
    }
}

fn unlike_vectors(table: &Table, column: &str, width: usize, found: &Column) -> Error {
    Error::failed(format!("expected vectors of {width} numbers, found {}", found.kind()))
        .at(format!("{}, column '{column}'", table.origin))
        .cure("use features from the same extractor, or leave the column out")
}

/// The error of a cell that is not a finite number, without its contents.
fn flaw(cell: &str) -> &'static str {
    if is_missing(cell) {
        "expected a number, found a missing value"
    } else if cell.parse::<f64>().is_ok() {
        "expected a finite number"
    } else if finite(&cell.replacen(',', ".", 1)).is_some() {
        "expected a number with a decimal point"
    } else {
        "expected a number, found text"
    }
}
