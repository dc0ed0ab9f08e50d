//! Which rows belong to which person.

use std::ops::Range;

use crate::numeric::columns::ExampleColumns;

/// The positions of each person's records, grouped by person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persons {
    /// The start of each group, and the end.
    starts: Vec<u32>,
    /// Rows not used because their persons have too many; only for the curator.
    pub left_out: usize,
    /// Rows not used because they name nobody; only for the curator.
    pub nameless: usize,
}

impl Persons {
    /// Persons with these numbers of records.
    pub fn of_counts(counts: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for count in counts {
            end += count as u32;
            starts.push(end);
        }
        Self { starts, left_out: 0, nameless: 0 }
    }

    /// The number of persons.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The total number of records.
    pub fn records(&self) -> usize {
        self.starts[self.count()] as usize
    }

    /// The records of one person.
    pub fn of(&self, person: usize) -> Range<usize> {
        self.starts[person] as usize..self.starts[person + 1] as usize
    }

    /// The records of each person.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// All records of these persons, and their new positions.
    pub fn chosen(&self, persons: &[usize]) -> (Vec<usize>, Self) {
        let rows = persons.iter().flat_map(|person| self.of(*person)).collect();
        let counts = persons.iter().map(|person| self.of(*person).len());
        let Self { left_out, nameless, .. } = *self;
        (rows, Self { left_out, nameless, ..Self::of_counts(counts) })
    }

    /// One record of each of these persons. A person's records are in random order.
    pub fn one_of_each(&self, persons: impl IntoIterator<Item = usize>) -> Vec<usize> {
        persons
            .into_iter()
            .map(|person| self.of(person))
            .filter(|it| !it.is_empty())
            .map(|it| it.start)
            .collect()
    }

    /// The weight of each record in its person's mean. Records of zeros, which cannot be used, have
    /// no weight.
    pub fn shares(&self, features: &impl ExampleColumns) -> Vec<f64> {
        self.shares_among(Self::usable(features))
    }

    /// 1 for each record that can be used, and 0 for the others.
    pub fn usable(features: &impl ExampleColumns) -> Vec<f64> {
        let usable = |record: &[f64]| record.iter().any(|x| *x != 0.0);
        features.map_each(|record| f64::from(u8::from(usable(record))))
    }

    /// [`Self::shares`], if it is known which records can be used.
    pub fn shares_among(&self, usable: Vec<f64>) -> Vec<f64> {
        let mut shares = usable;
        for range in self.iter() {
            let usable: f64 = shares[range.clone()].iter().sum();
            shares[range].iter_mut().for_each(|share| *share /= usable.max(1.0));
        }
        shares
    }
}
