//! The records of a hostile neighbour.

use std::sync::Arc;

use crate::data::{Dataset, Persons};
use crate::numeric::Vector;

/// Kinds of records at one place.
pub(super) const KINDS: usize = 14;

/// The kind of a null record: all zeros.
pub(super) const NULL: usize = 4;

/// `data` with another record at `at`, one of each kind; or with another person there, whose
/// records are first all of one kind, then of several.
pub(super) fn variants(data: &Dataset, at: usize) -> Vec<Dataset> {
    let Some(persons) = &data.persons else {
        return (0..KINDS).map(|kind| with(data, at, kind)).collect();
    };
    let most = persons.iter().map(|own| own.len()).max().unwrap_or(1);
    let of_kinds = |count: usize, kinds: &dyn Fn(usize) -> usize| {
        let (mut data, first) = with_count(data, at, count);
        for k in 0..count {
            let persons = data.persons.clone();
            data = with(&data, first + k, kinds(k));
            data.persons = persons;
        }
        data
    };
    let pure = (0..KINDS).map(|kind| of_kinds(if kind % 3 == 0 { 1 } else { most }, &|_| kind));
    let mixed = (0..KINDS).map(|kind| of_kinds(most, &|k| (kind + 3 * k) % KINDS));
    pure.chain(mixed).collect()
}

/// `data` with this many records of one person, all copies of the first, and their positions.
fn with_count(data: &Dataset, person: usize, count: usize) -> (Dataset, usize) {
    let Some(persons) = &data.persons else { return (data.clone(), person) };
    let own = persons.of(person);
    let first = own.start;
    let rows: Vec<usize> =
        (0..first).chain(std::iter::repeat_n(first, count)).chain(own.end..data.len()).collect();
    let counts = persons.iter().enumerate();
    let counts = counts.map(|(k, own)| if k == person { count } else { own.len() });
    let persons = Some(Arc::new(Persons::of_counts(counts)));
    (Dataset { persons, ..data.select(&rows) }, first)
}

fn with(data: &Dataset, at: usize, kind: usize) -> Dataset {
    let (d, r) = (data.dimension(), data.bounds.feature_norm);
    let axis = |k: usize, length: f64| {
        Vector::from_fn(d, |row, _| if row == k.min(d - 1) { length } else { 0.0 })
    };
    let (b, other) = (data.bounds.label, u32::from(kind % 2 == 1));
    let (features, label, class) = match kind {
        0 => (axis(0, r), b, other),
        1 => (axis(0, r), -b, other),
        2 => (axis(0, -r), b, 0),
        3 => (axis(1, r), -b, other),
        NULL => (Vector::zeros(d), 0.0, 0),
        5 => (Vector::zeros(d), b, other),
        6 => (Vector::from_element(d, r / (d as f64).sqrt()), b, 0),
        7 => (Vector::from_element(d, -r / (d as f64).sqrt()), b, other),
        // A duplicate of another record.
        8 => {
            let from = (at + 1) % data.len();
            let label = data.target.as_ref().map_or(0.0, |target| target[from]);
            let class = data.classes.as_ref().map_or(0, |classes| classes.of[from]);
            (data.features.column(from).into_owned(), label, class)
        }
        9 => (axis(d - 1, 1e200), 1e9, other),
        10 => (axis(0, f64::NAN), f64::NAN, 0),
        11 => (axis(1, f64::INFINITY), b, 99),
        12 => (axis(d - 1, r), b, 0),
        _ => (axis(d - 1, r), -1e9, other),
    };
    let mut data = data.clone();
    data.features.set_column(at, &features);
    if let Some(target) = &mut data.target {
        target[at] = label;
    }
    if let Some(classes) = &mut data.classes {
        classes.of[at] = class;
    }
    data
}

/// The records (or persons) `from`..`to` in the reverse order, the others where they were; with the
/// former place of each.
pub(super) fn reversed(data: &Dataset, from: usize, to: usize) -> (Dataset, Vec<usize>) {
    let mut order: Vec<usize> = (0..data.protected()).collect();
    order[from..to].reverse();
    let Some(persons) = &data.persons else { return (data.select(&order), order) };
    let (rows, persons) = persons.chosen(&order);
    (Dataset { persons: Some(Arc::new(persons)), ..data.select(&rows) }, order)
}

/// As many records, but entirely different ones.
pub(super) fn others(data: &Dataset) -> Dataset {
    let mut others = data.clone();
    let n = data.len();
    for i in 0..n {
        let shrunk = data.features.column(n - 1 - i) * -0.5;
        others.features.set_column(i, &shrunk);
    }
    if let Some(target) = &mut others.target {
        for y in target {
            *y *= -0.5;
        }
    }
    if let (Some(classes), Some(before)) = (&mut others.classes, &data.classes) {
        for (i, class) in classes.of.iter_mut().enumerate() {
            *class = 1 - before.of[n - 1 - i].min(1);
        }
    }
    others
}
