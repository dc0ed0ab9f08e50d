//! Cells without a value, and the treatment of their records.
//!
//! | policy | public records | private records |
//! |---|---|---|
//! | `refuse` | an error that names the cell | kept as *empty records* |
//! | `drop` | left out, and counted | the same |
//! | `public_mean` | filled with the public mean of the column | the same |
//!
//! Leaving out a private record would make the number of private records depend on their contents,
//! while every guarantee here is for a public number n of records (replace-one). An error would
//! tell everybody that a record is incomplete. So an incomplete private record still counts: it
//! becomes all zeros, in features, intercept and label (class number 0). This is a function of the
//! record alone and obeys every bound, so sensitivities still hold. It is the null record of
//! zero-out neighbours: it moves no gradient of a linear model and no second moment, and methods
//! that train networks skip it, including biases and label. A mean over n records loses only the
//! share of empty ones. Their number is only for the curator.
//!
//! Anything else that makes a private record useless also makes it empty: see
//! `preparation::usable`.
//!
//! A missing category is a value like any other, unless the policy is `drop` and it is not among
//! the declared categories. A missing label is never filled in.

use super::column::{Cell, Column, lacks_value};
use super::definition::{DatasetDefinition, Missing};
use super::selection::feature_columns;
use super::table::Table;
use crate::error::{Error, Result};

/// For every row, whether a value is missing in one of `columns`. Each column comes with the texts
/// that are values although they look missing.
pub(super) fn incomplete<'a>(
    table: &Table,
    columns: impl IntoIterator<Item = (&'a str, &'a [String])>,
) -> Result<Vec<bool>> {
    let mut incomplete = vec![false; table.rows()];
    for (name, values) in columns {
        let column = table.column(name)?;
        if matches!(column, Column::Numbers(cells) if !cells.iter().any(f64::is_nan)) {
            continue;
        }
        for (incomplete, cell) in incomplete.iter_mut().zip(column.cells()) {
            let known = || values.iter().any(|value| Cell::parse(value) == cell);
            *incomplete |= lacks_value(&cell) && !known();
        }
    }
    Ok(incomplete)
}

/// The rows of a dataset with a value in each feature and in the label.
pub fn complete_rows(table: &Table, definition: &DatasetDefinition) -> Result<Vec<usize>> {
    let label = definition.label.as_deref();
    let label = label.filter(|label| table.has(label));
    let features = feature_columns(table, definition, label.unwrap_or_default())?;
    let declared = |name: &str| definition.category(name).unwrap_or_default();
    let features = features.into_iter().map(|name| (name, declared(name)));
    let label = label.map(|label| (label, definition.classes.as_slice()));
    let incomplete = incomplete(table, features.chain(label))?;
    Ok((0..table.rows()).filter(|&row| !incomplete[row]).collect())
}

/// The first missing value that stops every plan with its column: a feature where the policy is
/// `refuse`, or a label, which is never filled in.
pub fn first_refused(table: &Table, definition: &DatasetDefinition) -> Result<Option<Error>> {
    if definition.missing == Missing::Drop {
        return Ok(None);
    }
    let refused = |row: usize, name: &str, cure: &str| {
        let place = format!("{}, column '{name}'", table.place(row));
        Error::failed("found a missing value").at(place).cure(cure)
    };
    let label = definition.label.as_deref().filter(|label| table.has(label));
    if let Some(name) = label {
        let classes: Vec<Cell> = definition.classes.iter().map(|it| Cell::parse(it)).collect();
        let mut cells = table.column(name)?.cells();
        if let Some(row) = cells.position(|it| lacks_value(&it) && !classes.contains(&it)) {
            return Ok(Some(refused(row, name, "leave rows without a label out: `missing: drop`")));
        }
    }
    if definition.missing != Missing::Refuse {
        return Ok(None);
    }
    for name in feature_columns(table, definition, label.unwrap_or_default())? {
        let row = match table.column(name)? {
            _ if definition.category(name).is_some() => None,
            Column::Numbers(numbers) => numbers.iter().position(f64::is_nan),
            Column::Vectors(vectors) => vectors.first_missing().map(|(row, _)| row),
            Column::Text(_) => None,
        };
        if let Some(row) = row {
            let cure = "leave such rows out (`missing: drop`) or fill them (`missing: \
                        public_mean`), or leave the column out of the features";
            return Ok(Some(refused(row, name, cure)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::csv;
    use crate::{Columns, Role, Source};

    fn people() -> Table {
        let text = "age,smokes,note,y\n30,no,,1\n?,yes,,2\n50,none,,3\n60,NA,,4\n70,yes,,\n";
        csv::read_bytes("people.csv", text.as_bytes()).ok().unwrap()
    }

    fn complete(change: impl FnOnce(&mut DatasetDefinition)) -> Vec<usize> {
        let source = Source::File("people.csv".into());
        let mut definition = DatasetDefinition::new("people", Role::Public, source);
        definition.columns = Columns::Except(vec!["note".into()]);
        definition.label = Some("y".into());
        change(&mut definition);
        complete_rows(&people(), &definition).ok().unwrap()
    }

    #[test]
    fn only_the_columns_in_use_decide_whether_a_record_is_complete() {
        assert_eq!(complete(|_| ()), [0, 2]);
        assert_eq!(complete(|d| d.label = None), [0, 2]);
        assert_eq!(complete(|d| d.columns = Columns::Only(vec!["age".into()])), [0, 2, 3]);
        let ages = Columns::Only(vec!["age".into()]);
        assert_eq!(complete(|d| (d.label, d.columns) = (None, ages)), [0, 2, 3, 4]);
        assert_eq!(complete(|d| d.columns = Columns::All), [0; 0]);
    }

    #[test]
    fn the_first_value_that_stops_a_plan_is_named_with_its_cure() {
        let refused = |change: &dyn Fn(&mut DatasetDefinition)| {
            let source = Source::File("people.csv".into());
            let mut definition = DatasetDefinition::new("people", Role::Public, source);
            definition.columns = Columns::Only(vec!["age".into(), "smokes".into()]);
            change(&mut definition);
            let error = first_refused(&people(), &definition).ok().unwrap()?;
            Some((error.place().unwrap().to_owned(), error.to_string()))
        };
        let (place, words) = refused(&|_| ()).unwrap();
        assert!(place.ends_with("people.csv:3, column 'age'"), "{place}");
        assert!(words.contains("missing: drop"), "{words}");
        assert!(refused(&|it| it.missing = Missing::PublicMean).is_none());
        assert!(refused(&|it| it.columns = Columns::Only(vec!["smokes".into()])).is_none());
        // A label is never filled in.
        let label = |it: &mut DatasetDefinition| it.label = Some("y".into());
        let (place, _) = refused(&|it| {
            label(it);
            it.missing = Missing::PublicMean;
        })
        .unwrap();
        assert!(place.ends_with("people.csv:6, column 'y'"), "{place}");
        assert!(
            refused(&|it| {
                label(it);
                it.missing = Missing::Drop;
            })
            .is_none()
        );
    }

    #[test]
    fn a_declared_value_is_no_gap_whatever_it_looks_like() {
        let values = ["yes", "no", "NA"].map(str::to_owned).to_vec();
        let declared = complete(|d| {
            d.label = None;
            d.categories.insert("smokes".into(), values);
        });
        assert_eq!(declared, [0, 2, 3]);
    }
}
