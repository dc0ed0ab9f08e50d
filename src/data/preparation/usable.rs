//! Which private records can be used.
//!
//! No private record may stop a run, and only the curator may see whether one would. So an unusable
//! record becomes a *null record*: all zeros, like the zero-out neighbour of a record. A record is
//! unusable if
//!
//! * a number is needed and the cell holds something else, or a value is missing and the policy
//!   does not fill it (see [`crate::missing`]);
//! * every feature is missing, whatever the policy, as in a row that its reader could not read;
//! * a label is needed, and it is missing, not a number, or not of a known class.
//!
//! Each of these is a function of the record alone.

use super::Preparation;
use super::encoding::Encoding;
use crate::Missing;
use crate::column::{Cell, Column, finite, is_missing, lacks_value};
use crate::error::Result;
use crate::table::Table;

/// The kind of cell in one column of a record.
#[derive(Clone, Copy, PartialEq)]
enum FoundCell {
    Value,
    /// Some numbers of a vector are missing.
    Gaps,
    Nothing,
    /// Not a number, although one is needed.
    Useless,
}

impl Preparation {
    /// The usable rows, if there are others.
    pub(super) fn usable_rows(
        &self,
        table: &Table,
        with_label: bool,
    ) -> Result<Option<Vec<usize>>> {
        let rows = table.rows();
        let mut usable = if with_label { self.labels.usable(table)? } else { vec![true; rows] };
        let mut empty = vec![true; rows];
        for encoding in self.all_encodings() {
            let filled = self.missing == Missing::PublicMean;
            let gaps_are_values = filled || encoding.takes_gaps(self.missing);
            encoding.look(table, |row, found| {
                empty[row] &= found == FoundCell::Nothing;
                usable[row] &= match found {
                    FoundCell::Value => true,
                    FoundCell::Gaps | FoundCell::Nothing => gaps_are_values,
                    FoundCell::Useless => false,
                };
            })?;
        }
        let all: Vec<usize> = (0..rows).filter(|&row| usable[row] && !empty[row]).collect();
        Ok((all.len() < rows).then_some(all))
    }
}

impl Encoding {
    /// Whether a missing value counts like any other value.
    fn takes_gaps(&self, missing: Missing) -> bool {
        matches!(self, Self::Category { .. }) && missing != Missing::Drop
    }

    /// Reports the kind of cell for every row. A column of another shape is an error of the file,
    /// reported when it is read.
    fn look(&self, table: &Table, mut tell: impl FnMut(usize, FoundCell)) -> Result<()> {
        match (self, table.column(self.column())?) {
            (Self::Number { .. }, Column::Numbers(numbers)) => {
                for (row, number) in numbers.iter().enumerate() {
                    tell(row, if number.is_nan() { FoundCell::Nothing } else { FoundCell::Value });
                }
            }
            (Self::Number { .. }, Column::Text(cells)) => {
                for (row, cell) in cells.iter().enumerate() {
                    tell(
                        row,
                        match finite(&cell) {
                            Some(_) => FoundCell::Value,
                            None if is_missing(&cell) => FoundCell::Nothing,
                            None => FoundCell::Useless,
                        },
                    );
                }
            }
            (Self::Category { values, .. }, column) => {
                let known: Vec<Cell<'_>> = values.iter().map(|value| Cell::parse(value)).collect();
                for (row, cell) in column.cells().enumerate() {
                    let nothing = lacks_value(&cell) && !known.contains(&cell);
                    tell(row, if nothing { FoundCell::Nothing } else { FoundCell::Value });
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
                            0 => FoundCell::Value,
                            all if all == vectors.width() => FoundCell::Nothing,
                            _ => FoundCell::Gaps,
                        },
                    );
                }
            }
            _ => (0..table.rows()).for_each(|row| tell(row, FoundCell::Value)),
        }
        Ok(())
    }
}
