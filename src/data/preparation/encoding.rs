//! How one column becomes features.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::cells::{Gaps, numbers, vectors};
use super::scale::Standardisation;
use crate::column::{Cell, Column};
use crate::declared::declared_values;
use crate::definition::DatasetDefinition;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::vectors::Vectors;

/// An undeclared text column with more values than this is considered an error: names, dates,
/// identifiers.
pub(crate) const MOST_VALUES: usize = 200;

/// How one column becomes features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Encoding {
    /// A column of numbers.
    Number { column: String, scale: Standardisation },
    Category {
        column: String,
        /// Canonical texts of the known values.
        values: Vec<String>,
        /// One scale per known value, then one for all others.
        scales: Vec<Standardisation>,
    },
    /// A column of vectors; one scale per number of the vector.
    Vector { column: String, scales: Vec<Standardisation> },
}

/// A column's cells in the form that its encoding uses.
pub(super) enum Coded<'a> {
    Numbers(Cow<'a, [f64]>),
    /// For every row, the index of the 0/1 feature that is 1.
    Codes(Vec<usize>),
    Vectors(&'a Vectors),
}

impl Coded<'_> {
    pub fn value(&self, row: usize, feature: usize) -> f64 {
        match self {
            Self::Numbers(numbers) => numbers[row],
            Self::Codes(codes) => f64::from(codes[row] == feature),
            Self::Vectors(vectors) => vectors.value(row, feature),
        }
    }
}

impl Encoding {
    pub fn category(column: &str, values: Vec<String>) -> Self {
        let scales = vec![Standardisation::IDENTITY; values.len() + 1];
        Self::Category { column: column.to_owned(), values, scales }
    }

    pub fn column(&self) -> &str {
        match self {
            Self::Number { column, .. }
            | Self::Category { column, .. }
            | Self::Vector { column, .. } => column,
        }
    }

    pub fn rename(&mut self, name: String) {
        match self {
            Self::Number { column, .. }
            | Self::Category { column, .. }
            | Self::Vector { column, .. } => *column = name,
        }
    }

    /// Texts that are values here, even if they look missing.
    pub fn values(&self) -> &[String] {
        match self {
            Self::Category { values, .. } => values,
            Self::Number { .. } | Self::Vector { .. } => &[],
        }
    }

    pub fn scales(&self) -> &[Standardisation] {
        match self {
            Self::Number { scale, .. } => std::slice::from_ref(scale),
            Self::Category { scales, .. } | Self::Vector { scales, .. } => scales,
        }
    }

    pub fn scales_mut(&mut self) -> &mut [Standardisation] {
        match self {
            Self::Number { scale, .. } => std::slice::from_mut(scale),
            Self::Category { scales, .. } | Self::Vector { scales, .. } => scales,
        }
    }

    pub fn feature_names(&self) -> Vec<String> {
        match self {
            Self::Number { column, .. } => vec![column.clone()],
            Self::Vector { column, scales } => {
                (0..scales.len()).map(|at| format!("{column}[{at}]")).collect()
            }
            Self::Category { column, values, .. } => {
                let named = values.iter().map(|value| match value.as_str() {
                    "" => format!("{column}=(empty)"),
                    // Must not be confused with the feature of all other values.
                    "other" => format!("{column}='other'"),
                    value => format!("{column}={value}"),
                });
                named.chain([format!("{column}=other")]).collect()
            }
        }
    }

    pub fn read<'a>(&self, table: &'a Table, gaps: Gaps) -> Result<Coded<'a>> {
        match self {
            Self::Number { column, .. } => {
                let numbers = numbers(table, column, gaps).map(Coded::Numbers);
                numbers.map_err(|flaw| flaw.cure(FEATURE_CURE))
            }
            Self::Category { column, values, .. } => {
                let codes: HashMap<Cell<'_>, usize> =
                    values.iter().enumerate().map(|(i, value)| (Cell::parse(value), i)).collect();
                let code = |cell| codes.get(&cell).copied().unwrap_or(values.len());
                Ok(Coded::Codes(table.column(column)?.cells().map(code).collect()))
            }
            Self::Vector { column, scales } => {
                let vectors = vectors(table, column, scales.len(), gaps)?;
                vectors.check_memory().map_err(|error| error.at(table.origin.clone()))?;
                Ok(Coded::Vectors(vectors))
            }
        }
    }
}

const FEATURE_CURE: &str = "correct the cell, filter such rows out, leave the column out of the \
                            features, or declare it as a category; `missing` says what to do \
                            with gaps";

/// A number or a category, as declared or as suggested by the public cells.
pub(super) fn choose(
    public: &Table,
    definition: &DatasetDefinition,
    column: &str,
) -> Result<Encoding> {
    if let Some(declared) = definition.category(column) {
        return if declared.is_empty() {
            Ok(Encoding::category(column, vocabulary(public, column)?))
        } else {
            declared_values(column, declared).map(|values| Encoding::category(column, values))
        };
    }
    let cells = public.column(column)?;
    if let Column::Vectors(vectors) = cells {
        let scales = vec![Standardisation::IDENTITY; vectors.width()];
        return Ok(Encoding::Vector { column: column.to_owned(), scales });
    }
    if matches!(cells, Column::Numbers(numbers) if numbers.iter().all(f64::is_nan)) {
        return Err(Error::failed("there is no value in this column")
            .at(format!("{}, column '{column}'", public.origin))
            .cure("leave it out of the features"));
    }
    // Text with some numbers counts as a numeric column with errors, until somebody declares it a
    // category: better to ask than to guess.
    let is_number = |cell: Cell<'_>| matches!(cell, Cell::Number(_));
    if matches!(cells, Column::Numbers(_)) || cells.cells().any(is_number) {
        return Ok(Encoding::Number {
            column: column.to_owned(),
            scale: Standardisation::IDENTITY,
        });
    }
    let values = vocabulary(public, column)?;
    if values.len() > MOST_VALUES {
        return Err(Error::failed(format!("a text column with {} different values", values.len()))
            .quoting(&values[0])
            .at(format!("{}, column '{column}'", public.origin))
            .cure("leave it out of the features, or declare it as a category"));
    }
    Ok(Encoding::category(column, values))
}

/// The distinct public values of a column, in order.
pub(super) fn vocabulary(public: &Table, column: &str) -> Result<Vec<String>> {
    if let vectors @ Column::Vectors(_) = public.column(column)? {
        return Err(Error::failed(format!(
            "expected one value in each row, found {}",
            vectors.kind()
        ))
        .at(format!("{}, column '{column}'", public.origin))
        .cure("choose a column of numbers or text"));
    }
    Ok(public.values(column)?.into_iter().map(|(value, _)| value.to_string()).collect())
}
