//! Single numbers of a column of vectors as columns of their own.
//!
//! An array without names, such as an NPY file of features with the label in its last column, is
//! one column of vectors called `x`. Its numbers have the same names as their features, `x[0]`,
//! `x[1]` and so on. If a definition names one of them, all of them become columns.

use std::collections::HashSet;

use super::column::Column;
use super::table::Table;
use crate::error::Result;

/// Whether `name` is `column[…]`.
pub fn is_number_of(name: &str, column: &str) -> bool {
    let index = name.strip_prefix(column).and_then(|rest| rest.strip_prefix('['));
    index.is_some_and(|index| index.ends_with(']'))
}

impl Table {
    /// Splits the vectors that have a number among `names` into columns.
    pub fn apart_into(self, names: &[String]) -> Result<Self> {
        self.apart(|column| names.iter().any(|name| is_number_of(name, column)))
    }

    /// Splits the vectors of the wanted columns. Fingerprints stay, because the records are the same.
    pub fn apart(mut self, wanted: impl Fn(&str) -> bool) -> Result<Self> {
        let before: Vec<_> = self.names.drain(..).zip(self.columns.drain(..)).collect();
        let taken: HashSet<String> = before.iter().map(|(name, _)| name.clone()).collect();
        for (name, column) in before {
            let part = |at: usize| format!("{name}[{at}]");
            let free = || (0..column.width()).all(|at| !taken.contains(&part(at)));
            match &column {
                Column::Vectors(vectors) if wanted(&name) && free() => {
                    self.names.extend((0..vectors.width()).map(part));
                    self.columns.extend(vectors.columns()?.into_iter().map(Column::Numbers));
                }
                _ => {
                    self.names.push(name);
                    self.columns.push(column);
                }
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Values, Vectors};

    fn table() -> Table {
        let vectors = Vectors::new(3, Values::F32(vec![1.0, 2.0, 0.0, 3.0, 4.0, 1.0])).unwrap();
        let columns = vec![Column::Vectors(vectors), Column::Numbers(vec![7.0, 8.0].into())];
        Table::of_rows("t.npz", vec!["x".into(), "xx".into()], columns).unwrap()
    }

    #[test]
    fn the_numbers_stay_and_so_do_the_fingerprints() {
        let apart = table().apart_into(&["x[2]".to_owned()]).unwrap();
        assert!(apart.columns[2] == Column::Numbers(vec![0.0, 1.0].into()));
        assert!(apart.columns[0] == Column::Numbers(vec![1.0, 3.0].into()));
        assert_eq!((apart.content, apart.view), (table().content, table().view));
    }

    #[test]
    fn a_name_that_is_taken_is_not_given_twice() {
        let mut table = table();
        table.names[1] = "x[1]".to_owned();
        assert_eq!(table.apart_into(&["x[0]".to_owned()]).unwrap().names, ["x", "x[1]"]);
    }
}
