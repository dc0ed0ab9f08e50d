//! Cells read as numbers, and what is wrong with those that are none.

use std::borrow::Cow;

use crate::data::table::{Column, Table, finite, is_missing};
use crate::data::vectors::Vectors;
use crate::error::{Error, Result};

/// Whether values may be missing.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gaps {
    Refused,
    /// They are NaN.
    Allowed,
}

/// A column as numbers, or its first cell that is none.
pub(super) fn numbers<'a>(table: &'a Table, column: &str, gaps: Gaps) -> Result<Cow<'a, [f64]>> {
    let flawed = |row, cell: &str| {
        Error::failed(flaw(cell)).at(format!("{}, column '{column}'", table.place(row)))
    };
    match table.column(column)? {
        Column::Numbers(numbers) => match numbers.iter().position(|number| number.is_nan()) {
            Some(row) if gaps == Gaps::Refused => Err(flawed(row, "")),
            _ => Ok(Cow::Borrowed(numbers)),
        },
        vectors @ Column::Vectors(_) => {
            Err(Error::failed(format!("expected one number in each row, found {}", vectors.kind()))
                .at(format!("{}, column '{column}'", table.origin)))
        }
        // A filter may have removed the rows that made it text.
        Column::Text(cells) => cells
            .iter()
            .enumerate()
            .map(|(row, cell)| match finite(cell) {
                Some(number) => Ok(number),
                None if gaps == Gaps::Allowed && is_missing(cell) => Ok(f64::NAN),
                None => Err(flawed(row, cell)),
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

/// What is wrong with a cell that is no finite number.
fn flaw(cell: &str) -> String {
    if cell.is_empty() {
        "expected a number, found a missing value".to_owned()
    } else if is_missing(cell) {
        format!("expected a number, found a missing value ('{cell}')")
    } else if cell.parse::<f64>().is_ok() {
        format!("expected a finite number, found '{cell}'")
    } else if finite(&cell.replacen(',', ".", 1)).is_some() {
        format!("expected a number with a decimal point, found '{cell}'")
    } else {
        format!("expected a number, found '{cell}'")
    }
}
