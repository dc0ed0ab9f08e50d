//! Single numbers of a column of vectors as columns of their own.
//!
//! An array without names, such as an NPY file of features with the label in its last column, is
//! one column of vectors called `x`. Its numbers have the same names as their features, `x[0]`,
//! `x[1]` and so on. If a definition names one of them, all of them become columns.

use std::collections::HashSet;

use super::column::Column;
use super::definition::{Columns, DatasetDefinition};
use super::table::Table;
use crate::error::Result;

impl DatasetDefinition {
    /// Whether something here names a number of the vectors in `column`.
    fn speaks_of_numbers_in(&self, column: &str) -> bool {
        let listed = match &self.columns {
            Columns::All => [].iter(),
            Columns::Only(names) | Columns::Except(names) => names.iter(),
        };
        let keys = self.rename.keys().chain(self.categories.keys());
        let keys = keys.chain(self.units.keys()).chain(self.notes.keys());
        let mut names = listed.chain(&self.label).chain(keys);
        let filtered = self.filter.as_ref();
        names.any(|name| is_number_of(name, column))
            || filtered.is_some_and(|filter| filter.contains(&format!("`{column}[")))
    }
}

/// Whether `name` is `column[…]`.
fn is_number_of(name: &str, column: &str) -> bool {
    let index = name.strip_prefix(column).and_then(|rest| rest.strip_prefix('['));
    index.is_some_and(|index| index.ends_with(']'))
}

impl Table {
    /// Splits the vectors whose numbers `definition` names into columns. Fingerprints stay, because
    /// the records are the same.
    pub fn apart_for(self, definition: &DatasetDefinition) -> Result<Self> {
        self.apart(|column| definition.speaks_of_numbers_in(column))
    }

    /// Splits the vectors that have a number among `names` into columns.
    pub fn apart_into(self, names: &[String]) -> Result<Self> {
        self.apart(|column| names.iter().any(|name| is_number_of(name, column)))
    }

    fn apart(mut self, wanted: impl Fn(&str) -> bool) -> Result<Self> {
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
    use crate::{Role, Source};

    fn table() -> Table {
        let vectors = Vectors::new(3, Values::F32(vec![1.0, 2.0, 0.0, 3.0, 4.0, 1.0])).unwrap();
        let columns = vec![Column::Vectors(vectors), Column::Numbers(vec![7.0, 8.0].into())];
        Table::of_rows("t.npz", vec!["x".into(), "xx".into()], columns).unwrap()
    }

    fn names(change: impl FnOnce(&mut DatasetDefinition)) -> Vec<String> {
        let mut definition = DatasetDefinition::new("d", Role::Public, Source::File("t".into()));
        change(&mut definition);
        table().apart_for(&definition).unwrap().names
    }

    #[test]
    fn vectors_are_taken_apart_where_one_of_their_numbers_is_named() {
        let apart = ["x[0]", "x[1]", "x[2]", "xx"];
        assert_eq!(names(|d| d.label = Some("x[2]".into())), apart);
        assert_eq!(names(|d| d.columns = Columns::Except(vec!["x[0]".into()])), apart);
        assert_eq!(names(|d| d.filter = Some("`x[1]` > 2".into())), apart);
        assert_eq!(names(|d| drop(d.rename.insert("x[1]".into(), "age".into()))), apart);
        // An invalid index leads to a message that lists the valid ones.
        assert_eq!(names(|d| d.label = Some("x[-1]".into())), apart);
        for other in ["x", "xx", "xx[0]", "y[0]"] {
            assert_eq!(names(|d| d.label = Some(other.into())), ["x", "xx"]);
        }
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
