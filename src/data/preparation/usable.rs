//! Which private records can be used.
//!
//! No private record may stop a run, and whether one would is nobody's to see but the
//! curator's. So a record that cannot be used is a *null record*: all zeros, which is what
//! zero-out neighbours of a record are. It cannot be used where
//!
//! * a number is needed and something else stands there, or a value is missing and the
//!   policy does not fill it (see [`crate::data::missing`]);
//! * every feature is missing, whatever the policy: such is a row that its reader could
//!   not read;
//! * a label is needed that is missing, no number, or of no known class.
//!
//! Each of these is a function of the record alone.

use super::Preparation;
use super::encoding::Encoding;
use crate::data::missing::{Missing, lacks_value};
use crate::data::table::{Cell, Column, Table, finite, is_missing};
use crate::error::Result;

/// What stands in one column of a record.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    Value,
    /// Some numbers of a vector are missing.
    Gaps,
    Nothing,
    /// No number where one is needed.
    Useless,
}

impl Preparation {
    /// The rows that can be used, where there are others.
    pub(super) fn usable_rows(
        &self,
        table: &Table,
        with_label: bool,
    ) -> Result<Option<Vec<usize>>> {
        let rows = table.rows();
        let mut usable = if with_label { self.labels.usable(table)? } else { vec![true; rows] };
        let mut empty = vec![true; rows];
        for encoding in &self.encodings {
            let filled = self.missing == Missing::PublicMean;
            let gaps_are_values = filled || encoding.takes_gaps(self.missing);
            encoding.look(table, |row, found| {
                empty[row] &= found == Found::Nothing;
                usable[row] &= match found {
                    Found::Value => true,
                    Found::Gaps | Found::Nothing => gaps_are_values,
                    Found::Useless => false,
                };
            })?;
        }
        let all: Vec<usize> = (0..rows).filter(|&row| usable[row] && !empty[row]).collect();
        Ok((all.len() < rows).then_some(all))
    }
}

impl Encoding {
    /// Whether a missing value is one like any other.
    fn takes_gaps(&self, missing: Missing) -> bool {
        matches!(self, Self::Category { .. }) && missing != Missing::Drop
    }

    /// Says of every row what stands there. A column of another shape is the file's fault
    /// and is told when it is read.
    fn look(&self, table: &Table, mut tell: impl FnMut(usize, Found)) -> Result<()> {
        match (self, table.column(self.column())?) {
            (Self::Number { .. }, Column::Numbers(numbers)) => {
                for (row, number) in numbers.iter().enumerate() {
                    tell(row, if number.is_nan() { Found::Nothing } else { Found::Value });
                }
            }
            (Self::Number { .. }, Column::Text(cells)) => {
                for (row, cell) in cells.iter().enumerate() {
                    tell(
                        row,
                        match finite(cell) {
                            Some(_) => Found::Value,
                            None if is_missing(cell) => Found::Nothing,
                            None => Found::Useless,
                        },
                    );
                }
            }
            (Self::Category { values, .. }, column) => {
                let known: Vec<Cell<'_>> = values.iter().map(|value| Cell::parse(value)).collect();
                for (row, cell) in column.cells().enumerate() {
                    let nothing = lacks_value(cell) && !known.contains(&cell);
                    tell(row, if nothing { Found::Nothing } else { Found::Value });
                }
            }
            (Self::Vector { .. }, Column::Vectors(vectors))
                if vectors.first_missing().is_some() =>
            {
                for row in 0..vectors.len() {
                    let missing = vectors.row(row).numbers().filter(|number| number.is_nan());
                    tell(
                        row,
                        match missing.count() {
                            0 => Found::Value,
                            all if all == vectors.width() => Found::Nothing,
                            _ => Found::Gaps,
                        },
                    );
                }
            }
            _ => (0..table.rows()).for_each(|row| tell(row, Found::Value)),
        }
        Ok(())
    }
}
