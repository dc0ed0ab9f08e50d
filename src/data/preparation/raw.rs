//! Raw rows for a finished model: checks that they have its columns, and turns them into its
//! inputs.
//!
//! As in training, everything here is a function of one row and of constants stored with the model.

use super::encoding::Encoding;
use super::labels::RawLabels;
use super::{Coded, Preparation};
use crate::align::Compatibility;
use crate::column::Column;
use crate::definition::Missing;
use crate::error::Result;
use crate::numeric::Matrix;
use crate::table::Table;
use crate::texts::Texts;
use crate::vectors::{Values, Vectors};

/// The labels of a table, for comparison with predictions.
#[derive(Debug, Clone, PartialEq)]
pub enum TrueLabels {
    /// In original units.
    Numbers(Vec<f64>),
    /// Numbers of classes.
    Classes(Vec<u32>),
}

impl Preparation {
    /// The required columns of a raw row, as a table without rows. `origin` names the model in
    /// messages.
    pub fn expected(&self, origin: &str) -> Result<Table> {
        let column = |encoding: &Encoding| match encoding {
            Encoding::Number { .. } => Some(Column::Numbers(Vec::new().into())),
            Encoding::Category { .. } => Some(Column::Text(Texts::default())),
            Encoding::Vector { scales, .. } => {
                Vectors::new(scales.len(), Values::F64(Vec::new())).map(Column::Vectors)
            }
        };
        let columns = self.all_encodings().into_iter().filter_map(|encoding| {
            column(encoding).map(|column| (encoding.column().to_owned(), column))
        });
        let (names, columns) = columns.unzip();
        Table::of_rows(origin, names, columns)
    }

    /// Refuses a table that lacks a column of the model or has it in an incompatible shape; further
    /// columns are allowed.
    pub fn refuse_others(&self, table: &Table, origin: &str) -> Result<()> {
        self.check()?;
        let expected = self.expected(origin)?;
        Compatibility::between(&expected, table).check_for(|name| expected.has(name))
    }

    /// The treatment of incomplete rows.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// Sets another rule for incomplete rows.
    pub fn with_missing(mut self, missing: Missing) -> Self {
        self.set_missing(missing);
        self
    }

    /// The width of vectors in this column, if it holds vectors.
    pub fn vector_width(&self, column: &str) -> Option<usize> {
        self.encodings.iter().find_map(|encoding| match encoding {
            Encoding::Vector { column: name, scales } if name == column => Some(scales.len()),
            _ => None,
        })
    }

    /// The rows with a value in each needed column, if others exist and should be left out.
    pub fn complete_rows(&self, table: &Table, with_label: bool) -> Result<Option<Vec<usize>>> {
        self.dropping(table, with_label)
    }

    /// Bounded features of complete rows, `most` rows at a time, so that a large file
    /// needs no second copy in memory. Returns how many rows had to be clipped.
    pub fn in_blocks(
        &self,
        table: &Table,
        most: usize,
        take: &mut dyn FnMut(usize, &Matrix) -> Result<()>,
    ) -> Result<usize> {
        self.fits(table, false)?;
        let mut clipped = 0;
        let rows: Vec<usize> = (0..table.rows()).collect();
        for (block, rows) in rows.chunks(most.max(1)).enumerate() {
            let first = block * most.max(1);
            let (features, shortened) = self.features(&table.excerpt(rows)?, None)?;
            clipped += shortened.iter().filter(|&&shortened| shortened).count();
            take(first, &features)?;
        }
        Ok(clipped)
    }

    /// For each column of categories, the number of rows with a value that the model does not know
    /// and treats as "other"; columns without such rows are left out.
    pub fn unknown_values(&self, table: &Table) -> Result<Vec<(String, usize)>> {
        let mut found = Vec::new();
        for encoding in &self.encodings {
            let Encoding::Category { column, values, .. } = encoding else { continue };
            let Coded::Codes(codes) = encoding.read(table, super::gaps(self.missing))? else {
                continue;
            };
            let unknown = codes.iter().filter(|&&code| code == values.len()).count();
            if unknown > 0 {
                found.push((column.clone(), unknown));
            }
        }
        Ok(found)
    }

    /// The labels of a table in their original units.
    pub fn truth(&self, table: &Table) -> Result<TrueLabels> {
        self.labels.check_column(table)?;
        Ok(match self.labels.read(table)? {
            RawLabels::Numbers { raw, .. } => TrueLabels::Numbers(raw.into_owned()),
            RawLabels::Classes(classes) => TrueLabels::Classes(classes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{DatasetDefinition, Role, Source};
    use crate::preparation::PreparationSettings;
    use crate::read::csv;

    fn table(text: &str) -> Table {
        csv::read_bytes("new.csv", text.as_bytes()).ok().unwrap()
    }

    fn fitted() -> Preparation {
        let public = table("x,town,y\n1,a,1\n2,b,2\n3,a,4\n4,b,4\n");
        let mut definition =
            DatasetDefinition::new("d", Role::Public, Source::File("new.csv".into()));
        definition.label = Some("y".into());
        Preparation::fit(&public, &definition, &PreparationSettings::default()).unwrap()
    }

    #[test]
    fn blocks_give_the_features_that_training_saw() {
        let preparation = fitted();
        let rows = table("town,extra,x\na,9,1.5\nc,9,2.5\nb,9,100\nb,9,3\na,9,0\n");
        let whole = preparation.apply(&rows, "whole", false).unwrap();
        for most in [1, 2, 5, 100] {
            let mut columns = Vec::new();
            let clipped = preparation
                .in_blocks(&rows, most, &mut |first, features| {
                    assert_eq!(first, columns.len());
                    columns.extend(features.column_iter().map(nalgebra::Matrix::into_owned));
                    Ok(())
                })
                .unwrap();
            assert_eq!(clipped, whole.clipped);
            assert_eq!(Matrix::from_columns(&columns), whole.features);
        }
        assert_eq!(preparation.unknown_values(&rows).unwrap(), [("town".to_owned(), 1)]);
    }

    #[test]
    fn rows_that_lack_a_column_are_refused_with_its_name_and_the_near_one() {
        let preparation = fitted();
        assert!(preparation.refuse_others(&table("town,x\na,1\n"), "model.ron").is_ok());
        let error = preparation.refuse_others(&table("towns,z\na,1\n"), "model.ron");
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("new.csv: its columns do not match those of model.ron"));
        for wanted in ["'x', 'town'", "perhaps 'towns'"] {
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
    }

    #[test]
    fn incomplete_rows_are_refused_left_out_or_filled_as_the_rule_says() {
        let preparation = fitted();
        let rows = table("x,town\n1,a\n,b\n3,b\n");
        let mut nothing = |_: usize, _: &Matrix| Ok(());
        let error = preparation.in_blocks(&rows, 8, &mut nothing).unwrap_err().to_string();
        assert!(error.contains("new.csv:3, column 'x'"), "{error}");
        let dropping = preparation.clone().with_missing(Missing::Drop);
        assert_eq!(dropping.complete_rows(&rows, false).unwrap(), Some(vec![0, 2]));
        let filling = preparation.with_missing(Missing::PublicMean);
        assert_eq!(filling.complete_rows(&rows, false).unwrap(), None);
        assert_eq!(filling.in_blocks(&rows, 8, &mut nothing).unwrap(), 0);
    }

    #[test]
    fn the_truth_is_in_the_units_of_the_file() {
        let preparation = fitted();
        let truth = preparation.truth(&table("y\n-5\n70\n")).unwrap();
        assert_eq!(truth, TrueLabels::Numbers(vec![-5.0, 70.0]));
        assert!(preparation.truth(&table("z\n1\n")).is_err());
    }
}
