//! Warnings about the private records that the curator should see before trusting a run's numbers.
//! They contain exact numbers, so they are only for the curator.

use crate::data::{Bounded, Dataset, Table};
use crate::numeric::columns::ExampleColumns;
use crate::privacy::openings::{OpenCuratorOnly, OpenPrivate};
use crate::privacy::{CuratorOnly, Private, Watch};

/// Share of clipped records that is worth a warning: bounds from public data clip a twentieth by
/// definition.
const MANY_CLIPPED: f64 = 0.15;
/// More records of one person than this are reported if they are a third of all.
const MANY_OF_A_PERSON: usize = 2;
/// The most cells of a table that is searched for copies of rows; larger ones are left to `data
/// inspect`.
const MOST_CELLS_SEARCHED: usize = 20_000_000;

/// Sentences, perhaps none; `None` under a sealed watch. Where `records` hides the number of
/// records, empty ones fill the data up, so they are not mentioned.
pub fn of(
    private: &Private<Bounded>,
    hides_number: bool,
    table: Option<&Private<Table>>,
    known: &[String],
    watch: &Watch,
) -> Option<CuratorOnly<Vec<String>>> {
    let training = private.curator(watch, |data| training(data, hides_number))?;
    let training = training.map(|found| [known, &found].concat());
    let copies = table.and_then(|table| table.curator(watch, copies));
    Some(match copies {
        Some(copies) => training
            .zip(copies)
            .map(|(all, copies)| all.into_iter().chain(copies).collect::<Vec<_>>()),
        None => training,
    })
}

fn training<F: ExampleColumns>(data: &Dataset<F>, hides_number: bool) -> Vec<String> {
    let mut found = Vec::new();
    let empty = data.features.map_each(|record| record.iter().all(|x| *x == 0.0));
    let empty = empty.into_iter().filter(|empty| *empty).count();
    if empty > 0 && !hides_number {
        found.push(format!(
            "{empty} of {} private training records are empty: a value is missing or cannot be \
             used, or the label is no known class, so the model learns nothing from them",
            data.len()
        ));
    }
    let share = data.clipped as f64 / data.len().max(1) as f64;
    if share > MANY_CLIPPED {
        found.push(format!(
            "{:.1} % of the private training records are clipped to the bounds, because they lie \
             outside of what was declared or seen in public. Take no other bounds from this number: \
             only from what is known without these records",
            100.0 * share
        ));
    }
    if let Some(persons) = &data.persons {
        let several = persons.iter().filter(|own| own.len() > 1).count();
        found.push(match several {
            0 => "every private person has one record: protecting persons is protecting records \
                 here. If the unit numbers rows and names nobody, the guarantee is for single \
                 records, although the certificate says persons"
                .to_owned(),
            _ => format!(
                "{} private records of {} persons train; {several} of them have more than one",
                persons.records(),
                persons.count()
            ),
        });
        if persons.left_out > 0 {
            found.push(format!(
                "{} private rows are not used: their persons have more than `most_records`",
                persons.left_out
            ));
        }
        if persons.nameless > 0 {
            found.push(format!(
                "{} private rows name nobody and are not used; `without_unit: own_person` makes \
                 each of them somebody",
                persons.nameless
            ));
        }
        let largest = persons.iter().map(|own| own.len()).max().unwrap_or(0);
        if largest > MANY_OF_A_PERSON && 3 * largest > persons.records() {
            found.push(format!(
                "one person has {largest} of the {} private records that train; the person still \
                 counts as one",
                persons.records()
            ));
        }
    }
    if empty == data.len() {
        return found;
    }
    let numbers = data.target.as_ref().is_some_and(|labels| same(labels));
    let classes = data.classes.as_ref().is_some_and(|classes| same(&classes.of));
    if numbers || classes {
        found.push("all private training records have the same label".to_owned());
    }
    found
}

fn same<T: PartialEq>(labels: &[T]) -> bool {
    labels.first().is_some_and(|first| labels.iter().all(|label| label == first))
}

fn copies(table: &Table) -> Option<String> {
    let small = table.rows().saturating_mul(table.columns.len()) <= MOST_CELLS_SEARCHED;
    let copies = if small { table.duplicated_rows() } else { 0 };
    (copies > 0).then(|| {
        format!(
            "{copies} of {} private rows {} others: a person in several rows is protected less, with \
             a multiple of ε",
            table.rows(),
            if copies == 1 { "is a copy of" } else { "are copies of" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::data::{Bounds, Classes, Column, Persons};
    use crate::numeric::Matrix;

    fn data(clipped: usize, labels: &[f64]) -> Dataset {
        Dataset {
            feature_names: vec!["a".to_owned(), "b".to_owned()],
            target: Some(labels.to_vec()),
            clipped,
            ..Dataset::unlabelled(
                "private",
                Matrix::from_element(2, labels.len(), 0.5),
                Bounds { feature_norm: 1.0, label: 1.0 },
            )
        }
    }

    #[test]
    fn persons_with_one_record_with_most_of_all_and_rows_of_nobody_are_told() {
        let told = |counts: &[usize], left_out: usize, nameless: usize| {
            let rows = counts.iter().sum();
            let labels: Vec<f64> = (0..rows).map(|at| at as f64 / rows as f64).collect();
            let mut persons = Persons::of_counts(counts.to_vec());
            (persons.left_out, persons.nameless) = (left_out, nameless);
            training(&Dataset { persons: Some(Arc::new(persons)), ..data(0, &labels) }, false)
        };
        let [same] = &told(&[1; 9], 0, 0)[..] else { panic!() };
        assert!(same.contains("protecting persons is protecting records here"), "{same}");
        let [usual] = &told(&[2; 9], 0, 0)[..] else { panic!() };
        assert!(usual.starts_with("18 private records of 9 persons train; 9 of them"), "{usual}");
        let half = told(&[9, 1, 1, 1, 1, 1, 1, 1, 1, 1], 7, 0);
        assert!(half[1].starts_with("7 private rows are not used"), "{half:?}");
        assert!(half[2].starts_with("one person has 9 of the 18 private records"), "{half:?}");
        let nobody = told(&[2; 9], 0, 3);
        assert!(nobody[1].starts_with("3 private rows name nobody"), "{nobody:?}");
        assert!(nobody[1].contains("without_unit: own_person"), "{nobody:?}");
    }

    #[test]
    fn much_clipping_one_label_and_copies_are_told_and_nothing_else_is() {
        assert!(training(&data(1, &[0.0, 1.0, 0.5, 0.25, 0.0, 1.0, 0.0]), false).is_empty());
        let found = training(&data(1, &[0.5, 0.5]), false);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("50.0 % of the private") && found[1].contains("same label"),
            "{found:?}"
        );
        let classes = Classes { of: vec![1, 1], names: vec!["a".to_owned(), "b".to_owned()] };
        let one = Dataset { target: None, classes: Some(classes), ..data(0, &[0.0, 0.0]) };
        assert_eq!(training(&one, false).len(), 1);

        let mut blank = data(0, &[0.0, 1.0, 0.5]);
        blank.features.column_mut(1).fill(0.0);
        assert!(training(&blank, true).is_empty());
        assert!(
            training(&blank, false)[0].starts_with("1 of 3 private training records are empty")
        );

        let table = |numbers: &[f64]| {
            let column = Column::Numbers(numbers.to_vec().into());
            Table::of_rows("t.csv", vec!["x".to_owned()], vec![column]).unwrap()
        };
        assert_eq!(copies(&table(&[1.0, 2.0])), None);
        assert!(copies(&table(&[1.0, 2.0, 1.0])).unwrap().starts_with("1 of 3"));
        // The rows that hide the number of records are not copies of each other.
        assert_eq!(
            copies(&table(&[1.0, 2.0]).of_size(9, crate::data::table::seeded(7)).unwrap()),
            None
        );
    }
}
