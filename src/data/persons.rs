//! The unit that a guarantee protects: single records, or the persons to whom they belong.
//!
//! A definition may name the columns that identify the owner of a row: a patient, a customer, a
//! plane. We call any such owner a *person*. The rows of such a table are grouped by person, in the
//! order of first appearance in the file. At most `most_records` rows of each person are kept, in
//! random order: of private rows one that nobody outside can know ([`super::secret_order`]).
//!
//! *Neighbours.* A file is a set of persons, each with a set of rows, whatever their order. In a
//! neighbour, all rows of one person are replaced by those of another, or by none that can be used;
//! everybody else's rows stay unchanged. The kept rows of a person are drawn from that person's rows
//! alone, independently of everybody else's, so neighbouring files become tables that differ in one
//! person. The number of persons is public, like the number
//! of records elsewhere. The number of rows is not.
//!
//! *Contributions.* A method that adds up contributions of records adds up contributions of persons
//! instead: the mean of their records' contributions ([`Persons::shares`]). If every record's
//! contribution lies in a convex set, so does every mean of them. So everything proved for one
//! record among n holds for one person among n. Records that cannot be used do not count in the
//! mean.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, is_missing, lacks_value, rows_of_cells};
use super::person_rows::Persons;
use super::secret_order::{RowChoice, SecretOrder};
use super::table::{Table, seeded, shuffled};
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};

/// How many records of a person are kept by default. Private records do not influence it. A
/// person's mean hardly changes with more, and every row of the table takes memory.
pub const USUAL_RECORDS: usize = 32;

/// The columns that identify the person of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Unit {
    /// One column.
    Column(String),
    /// Rows that agree in all of them belong together.
    Columns(Vec<String>),
}

impl Unit {
    /// Columns of the unit.
    pub fn columns(&self) -> &[String] {
        match self {
            Self::Column(column) => std::slice::from_ref(column),
            Self::Columns(columns) => columns,
        }
    }

    /// Name of the unit in texts and in the ledger.
    pub fn words(&self) -> String {
        self.columns().join(" + ")
    }

    /// `a`, or `a + b`.
    pub fn parse(words: &str) -> Option<Self> {
        let columns: Vec<String> =
            words.split(" + ").map(|column| column.trim().to_owned()).collect();
        match columns.as_slice() {
            [one] if one.is_empty() => None,
            [one] => Some(Self::Column(one.clone())),
            _ => Some(Self::Columns(columns)),
        }
    }
}

/// The protected unit: `records`, or `persons (by 'patient_id')`.
pub fn protected_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "records".to_owned(), |unit| format!("persons (by '{unit}')"))
}

/// The treatment of rows in which the unit is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum WithoutUnit {
    /// Rows without the unit are not used.
    #[default]
    LeaveOut,
    /// Each is a person of its own.
    OwnPerson,
}

/// Common names of columns that identify the person of a row.
const PERSONS: &str = "id uid pid patient subject person participant customer client user member \
                       household account employee mrn ssn nhs reviewer tailnum passenger donor";

/// Whether a column's name sounds like one of these.
pub fn seems_to_name_persons(column: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for letter in column.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    PERSONS.split(' ').any(|person| words.iter().any(|word| word == person))
}

/// With fewer values than this, a column names classes or places rather than persons, unless there
/// are few rows, too.
const LEAST_PERSONS: usize = 20;

/// Whether a column names persons by its name and its cells: it is called like one, holds text or
/// whole numbers, and has many values, some of which repeat.
pub fn names_persons(name: &str, column: &Column, values: usize) -> bool {
    let whole = match column {
        Column::Numbers(cells) => cells.iter().all(|cell| cell.is_nan() || cell.fract() == 0.0),
        Column::Text(_) => true,
        Column::Vectors(_) => false,
    };
    let rows = column.len();
    let many = values > LEAST_PERSONS || 10 * values >= rows;
    many && (2..rows).contains(&values) && whole && seems_to_name_persons(name)
}

/// The first column that names persons by its name and its cells.
pub fn named(table: &Table) -> Option<String> {
    let is_one = |(name, column): &(&String, &Column)| {
        let values = || column.values().iter().filter(|(cell, _)| !lacks_value(cell)).count();
        seems_to_name_persons(name)
            && !matches!(column, Column::Vectors(_))
            && names_persons(name, column, values())
    };
    table.names.iter().zip(&table.columns).find(is_one).map(|(name, _)| name.clone())
}

/// The rows of each person, in the order of first appearance in the table.
pub fn rows_of_each(table: &Table, unit: &Unit, without: WithoutUnit) -> Result<Vec<Vec<usize>>> {
    let columns =
        unit.columns().iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
    let mut places: HashMap<Vec<Cell>, usize> = HashMap::new();
    let mut rows_of: Vec<Vec<usize>> = Vec::new();
    for (row, key) in rows_of_cells(&columns).enumerate() {
        let missing = key.iter().any(|cell| matches!(cell, Cell::Text(text) if is_missing(text)));
        match (missing, without) {
            (true, WithoutUnit::LeaveOut) => {}
            (true, WithoutUnit::OwnPerson) => rows_of.push(vec![row]),
            (false, _) => {
                let place = *places.entry(key).or_insert(rows_of.len());
                if place == rows_of.len() {
                    rows_of.push(Vec::new());
                }
                rows_of[place].push(row);
            }
        }
    }
    Ok(rows_of)
}

/// Groups the rows of a table by person. Which rows are kept of each is drawn in the secret order of
/// a private table; for a public one it depends on the person's place.
pub fn by_person(
    table: &Table,
    unit: &Unit,
    (most_records, without): (usize, WithoutUnit),
    order: Option<&SecretOrder>,
) -> Result<Table> {
    let rows_of = rows_of_each(table, unit, without)?;
    if rows_of.is_empty() {
        return Err(Error::failed(format!("no row has a value in '{}'", unit.words()))
            .at(table.origin.clone())
            .cure("name a column that says whose record each row is"));
    }
    let mut counts = Vec::with_capacity(rows_of.len());
    let mut rows = Vec::with_capacity(table.rows());
    let order = order.filter(|_| !planted(Fault::KeptByPlace));
    let mut secret = order.map(|order| order.generator(RowChoice::OfPersons, 0));
    for (person, own) in rows_of.iter().enumerate() {
        let order = match &mut secret {
            Some(generator) => shuffled(own.len(), generator),
            None => shuffled(own.len(), &mut seeded(person as u64)),
        };
        let kept = order.iter().take(most_records).map(|at| own[*at]);
        let before = rows.len();
        rows.extend(kept);
        counts.push(rows.len() - before);
    }
    let all: usize = rows_of.iter().map(Vec::len).sum();
    let mut persons = Persons::of_counts(counts);
    persons.left_out = all - rows.len();
    persons.nameless = table.rows() - all;
    Ok(table.excerpt(&rows)?.of_persons(persons))
}

/// Columns of a unit that hold numbers in one table and text in the other.
fn of_other_kinds<'a>(one: &Table, other: &Table, unit: &'a Unit) -> Option<&'a String> {
    unit.columns().iter().find(|name| {
        let kind = |table: &Table| table.column(name).ok().map(Column::is_mostly_numbers);
        matches!((kind(one), kind(other)), (Some(one), Some(other)) if one != other)
    })
}

/// Whether some person is in both tables; `None` if this is unknown, because one of them lacks a
/// column or has other kinds of values there.
pub fn share_a_person(one: &Table, other: &Table, unit: &Unit) -> Option<bool> {
    let of = |table: &Table| -> Option<Vec<Vec<String>>> {
        let columns: Option<Vec<_>> =
            unit.columns().iter().map(|name| table.column(name).ok()).collect();
        let columns = columns?;
        let written = |key: Vec<Cell>| key.iter().map(ToString::to_string).collect();
        Some(rows_of_cells(&columns).map(written).collect())
    };
    if of_other_kinds(one, other, unit).is_some() {
        return None;
    }
    let whole = |key: &Vec<String>| !key.iter().any(|cell| is_missing(cell));
    let known: std::collections::HashSet<Vec<String>> =
        of(one)?.into_iter().filter(whole).collect();
    Some(of(other)?.iter().any(|key| known.contains(key)))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;
    use crate::Column;
    use crate::numeric::Matrix;

    fn table(who: &[&str], x: &[f64]) -> Table {
        let who = Column::Text(who.iter().collect());
        let names = ["who", "x"].map(str::to_owned).to_vec();
        let columns = vec![who, Column::Numbers(x.to_vec().into())];
        Table::of_rows("t.csv", names, columns).unwrap()
    }

    fn column() -> Unit {
        Unit::Column("who".to_owned())
    }

    /// The numbers of each person, in order of size.
    fn grouped(table: &Table) -> Vec<Vec<f64>> {
        let Column::Numbers(x) = table.column("x").unwrap() else { panic!() };
        let persons = table.persons.as_ref().unwrap();
        let of = |range: Range<usize>| {
            let mut own = x.whole()[range].to_vec();
            own.sort_by(f64::total_cmp);
            own
        };
        persons.iter().map(of).collect()
    }

    #[test]
    fn rows_stand_person_by_person_and_not_more_than_so_many() {
        let rows = table(&["b", "a", "b", "", "a", "b"], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let all = by_person(&rows, &column(), (9, WithoutUnit::LeaveOut), None).unwrap();
        assert_eq!(grouped(&all), [vec![1.0, 3.0, 6.0], vec![2.0, 5.0]]);
        let all = by_person(&rows, &column(), (9, WithoutUnit::OwnPerson), None).unwrap();
        assert_eq!(grouped(&all), [vec![1.0, 3.0, 6.0], vec![2.0, 5.0], vec![4.0]]);
        let two = by_person(&rows, &column(), (2, WithoutUnit::LeaveOut), None).unwrap();
        let persons = two.persons.as_ref().unwrap();
        assert_eq!((persons.count(), persons.records(), two.rows()), (2, 4, 4));
        assert_eq!(persons.one_of_each(0..2), [0, 2]);
        let (chosen, own) = persons.chosen(&[1]);
        assert_eq!((chosen, own.count()), (vec![2, 3], 1));
        assert_eq!((persons.left_out, own.left_out, own.nameless), (1, 1, 1));
        let nobody = table(&["", "?"], &[1.0, 2.0]);
        assert!(by_person(&nobody, &column(), (2, WithoutUnit::LeaveOut), None).is_err());
    }

    #[test]
    fn one_and_1_0_are_the_same_person() {
        let rows = table(&["1", "1.0", "01", "a"], &[1.0, 2.0, 3.0, 4.0]);
        let all = by_person(&rows, &column(), (9, WithoutUnit::LeaveOut), None).unwrap();
        assert_eq!(grouped(&all), [vec![1.0, 2.0, 3.0], vec![4.0]]);
    }

    #[test]
    fn persons_on_both_sides_are_found_and_other_kinds_of_names_are_not_compared() {
        let (one, other) = (table(&["a", "b", ""], &[0.0; 3]), table(&["c", "", "d"], &[0.0; 3]));
        assert_eq!(share_a_person(&one, &other, &column()), Some(false));
        assert_eq!(share_a_person(&one, &table(&["x", "b"], &[0.0; 2]), &column()), Some(true));
        assert_eq!(share_a_person(&one, &table(&["1", "2"], &[0.0; 2]), &column()), None);
        let elsewhere = Unit::Column("patient".to_owned());
        assert_eq!(share_a_person(&one, &other, &elsewhere), None);
    }

    #[test]
    fn names_of_persons_are_told_from_other_names() {
        for name in ["patient_id", "PatientID", "customerId", "user", "Account No", "MRN", "id"] {
            assert!(seems_to_name_persons(name), "{name}");
        }
        for name in ["age", "identity", "humidity", "userland", "paid", "label", "x1", ""] {
            assert!(!seems_to_name_persons(name), "{name}");
        }
    }

    #[test]
    fn few_values_in_many_rows_name_nobody() {
        let found = |values: usize, rows: usize| {
            let cells = (0..rows).map(|row| (row % values) as f64).collect::<Vec<_>>();
            let columns = vec![Column::Numbers(cells.into())];
            named(&Table::of_rows("t.csv", vec!["hospital_id".into()], columns).unwrap())
        };
        for (values, rows) in [(4, 900), (20, 300), (1, 5), (50, 50)] {
            assert_eq!(found(values, rows), None, "{values} in {rows}");
        }
        for (values, rows) in [(21, 300), (3, 4), (400, 900)] {
            assert!(found(values, rows).is_some(), "{values} in {rows}");
        }
    }

    #[test]
    fn a_unit_is_one_column_or_several_in_a_session_and_in_words() {
        let read = |text: &str| ron::from_str::<Unit>(text).unwrap();
        assert_eq!(read("\"who\""), column());
        let both = Unit::Columns(vec!["ward".to_owned(), "bed".to_owned()]);
        assert_eq!(read("[\"ward\", \"bed\"]"), both);
        assert_eq!(both.words(), "ward + bed");
        assert_eq!(Unit::parse("ward + bed"), Some(both));
        assert_eq!((Unit::parse("who"), Unit::parse("")), (Some(column()), None));
    }

    proptest! {
        /// The kept rows of everybody else stay exactly the same.
        #[test]
        fn another_person_in_the_place_of_one_changes_nobody_else(
            who in proptest::collection::vec(0..6_u8, 1..40),
            others in proptest::collection::vec(any::<bool>(), 40),
        ) {
            let names: Vec<String> = who.iter().map(|it| format!("p{it}")).collect();
            let x: Vec<f64> = (0..who.len()).map(|i| i as f64).collect();
            let victim = names[0].clone();
            let neighbour: Vec<f64> = names.iter().zip(&x).zip(&others)
                .map(|((name, x), other)| if *name == victim && *other { -x - 1.0 } else { *x })
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let of = |x: &[f64]| grouped(
                &by_person(&table(&names, x), &column(), (3, WithoutUnit::LeaveOut), None)
                    .unwrap());
            prop_assert_eq!(&of(&x)[1..], &of(&neighbour)[1..]);
        }

        #[test]
        fn shares_of_a_person_add_up_to_one_or_nothing(
            usable in proptest::collection::vec(any::<bool>(), 12),
        ) {
            let features =
                Matrix::from_fn(2, 12, |_, j| if usable[j] { 1.0 + j as f64 } else { 0.0 });
            let persons = Persons::of_counts([3, 0, 5, 1, 3]);
            let shares = persons.shares(&features);
            for range in persons.iter() {
                let sum: f64 = shares[range.clone()].iter().sum();
                let any = usable[range].iter().any(|usable| *usable);
                prop_assert!((sum - f64::from(u8::from(any))).abs() < 1e-12);
            }
        }
    }
}
