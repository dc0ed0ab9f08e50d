//! How much each rehearsal counts.
//!
//! All of them count the same, unless something public or released shows which ones resemble the
//! real run:
//!
//! - *Declared means* of private columns. A case shifts the means of these columns, from its
//!   public rows to those in the private role, and the declaration gives the real shift. With d²
//!   the mean square of the difference between the two, in public standard deviations, a case
//!   weighs 1/(1 + d²).
//! - *A ranking* of the public datasets for the private one. A dataset close to the private records
//!   plays them well. Its weight is one over its model's error on them, or one over the energy that
//!   it does not capture.
//!
//! Weights have the mean 1. A case about which nothing is known weighs 1.

use std::collections::BTreeMap;

use super::case::{Case, CaseKind};
use crate::data::column::Cell;
use crate::data::{Column, Table};

/// The smallest error that is believed.
const LEAST_MISS: f64 = 0.01;

/// A weight for each case, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Trust {
    pub weights: Vec<f64>,
    pub why: Vec<String>,
}

/// The distance of a dataset from the private records according to a ranking: a share, and the
/// deviation of its noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    pub dataset: String,
    pub share: f64,
    pub deviation: f64,
}

impl Trust {
    /// One weight for all cases.
    pub fn equal(cases: usize) -> Self {
        Self { weights: vec![1.0; cases], why: Vec::new() }
    }

    /// From declarations about private columns; `name` is the private dataset's.
    pub fn of_declared(
        table: &Table,
        cases: &[Case],
        means: &BTreeMap<String, f64>,
        name: &str,
    ) -> Self {
        let known: Vec<Traced> = traced(table, means);
        if known.is_empty() {
            return Self::equal(cases.len());
        }
        let near = |case: &Case| {
            let differences = known.iter().map(|column| {
                let mean = |rows: &[usize]| {
                    rows.iter().map(|row| column.places[*row]).sum::<f64>() / rows.len() as f64
                };
                (mean(&case.acting) - mean(&case.public) - column.declared).powi(2)
            });
            1.0 / (1.0 + differences.sum::<f64>() / known.len() as f64)
        };
        let why = format!(
            "Rehearsals whose shift is like the declared one count more (declared means of \
             '{name}': {}).",
            known.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
        );
        let weights: Vec<Option<f64>> = cases.iter().map(|case| Some(near(case))).collect();
        Self::of(&weights, why)
    }

    /// From a ranking of the public datasets; `whose` names the ranking.
    pub fn of_ranking(cases: &[Case], misses: &[Miss], whose: &str) -> Self {
        let weight = |case: &Case| {
            let of = |miss: &&Miss| case.kind == CaseKind::Dataset && miss.dataset == case.title;
            let miss = misses.iter().find(of)?;
            Some(1.0 / miss.share.max(miss.deviation).max(LEAST_MISS))
        };
        let weights: Vec<Option<f64>> = cases.iter().map(weight).collect();
        if weights.iter().flatten().count() < 2 {
            return Self::equal(cases.len());
        }
        let why = format!(
            "Rehearsals count more if a dataset that resembles the private one plays its role, \
             by {whose}."
        );
        Self::of(&weights, why)
    }

    fn of(weights: &[Option<f64>], why: String) -> Self {
        let known = || weights.iter().flatten();
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        let weights = weights.iter().map(|weight| weight.map_or(1.0, |weight| weight / mean));
        Self { weights: weights.collect(), why: vec![why] }
    }

    /// Both together.
    pub fn and(mut self, other: Self) -> Self {
        for (one, other) in self.weights.iter_mut().zip(other.weights) {
            *one *= other;
        }
        let mean = self.weights.iter().sum::<f64>() / self.weights.len().max(1) as f64;
        if mean > 0.0 && !self.why.is_empty() {
            self.weights.iter_mut().for_each(|weight| *weight /= mean);
        }
        self.why.extend(other.why);
        self
    }
}

/// A column with a declaration.
pub(super) struct Traced {
    name: String,
    /// Every row's distance from the mean, in standard deviations; 0 if it is missing.
    pub places: Vec<f64>,
    /// The distance of the declared private mean.
    pub declared: f64,
}

/// The columns with a declared mean, or a declared share of one value: `age`, `sex=female`. Columns
/// that are missing or constant are ignored.
pub(super) fn traced(table: &Table, means: &BTreeMap<String, f64>) -> Vec<Traced> {
    let found = means.iter().filter_map(|(name, mean)| {
        let values = match table.column(name) {
            Ok(column) => numbers(column),
            Err(_) => shares(table, name)?,
        };
        let known = || values.iter().copied().filter(|x| x.is_finite());
        let count = known().count() as f64;
        let centre = known().sum::<f64>() / count;
        let spread = (known().map(|x| (x - centre).powi(2)).sum::<f64>() / count).sqrt();
        let place = |x: f64| if x.is_finite() { (x - centre) / spread } else { 0.0 };
        (spread > 0.0).then(|| Traced {
            name: name.clone(),
            places: values.iter().map(|x| place(*x)).collect(),
            declared: place(*mean),
        })
    });
    found.collect()
}

/// The numbers of a column; NaN where it has none.
pub(super) fn numbers(column: &Column) -> Vec<f64> {
    let number = |cell: Cell<'_>| if let Cell::Number(x) = cell { x } else { f64::NAN };
    column.cells().map(number).collect()
}

/// 1 where a column has the value, 0 otherwise.
fn shares(table: &Table, name: &str) -> Option<Vec<f64>> {
    let (column, value) = name.split_once('=')?;
    let same = |cell: Cell<'_>| match cell {
        Cell::Number(x) => value.trim().parse() == Ok(x),
        Cell::Text(text) => text == value.trim(),
        Cell::Vector(_) => false,
    };
    let column = table.column(column.trim()).ok()?;
    Some(column.cells().map(|cell| f64::from(u8::from(same(cell)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(kind: CaseKind) -> Vec<Case> {
        let part = |title: &str, from: usize| {
            let (acting, public): (Vec<usize>, Vec<usize>) =
                (0..90).partition(|row| (from..from + 30).contains(row));
            Case { title: title.to_owned(), kind, acting, public }
        };
        vec![part("young", 0), part("middle", 30), part("old", 60)]
    }

    fn table() -> Table {
        let ages = (0..90).map(f64::from).collect();
        let wards = (0..90).map(|row| if row < 60 { "a" } else { "b" }.to_owned()).collect();
        let names = ["age", "ward"].map(str::to_owned).to_vec();
        let columns = vec![Column::Numbers(ages), Column::Text(wards)];
        Table::new("t.csv", names, columns, (2..92).collect()).unwrap()
    }

    #[test]
    fn cases_that_shift_as_it_is_declared_weigh_more() {
        let weights = |key: &str, mean: f64| {
            let means = BTreeMap::from([(key.to_owned(), mean)]);
            Trust::of_declared(&table(), &cases(CaseKind::Slice), &means, "ours").weights
        };
        let old = weights("age", 90.0);
        assert!(old[2] > 2.0 * old[1] && old[1] > old[0], "{old:?}");
        assert!((old.iter().sum::<f64>() - 3.0).abs() < 1e-12);
        let young = weights("age", 0.0);
        assert!(young[0] > young[1] && young[1] > young[2], "{young:?}");
        let ward = weights("ward=b", 0.9);
        assert!(ward[2] > ward[0] && (ward[0] - ward[1]).abs() < 1e-12, "{ward:?}");
        for unknown in ["height", "ward=c", "ward"] {
            assert_eq!(weights(unknown, 1.0), [1.0; 3], "{unknown}");
        }
    }

    #[test]
    fn datasets_that_a_ranking_finds_near_weigh_more_and_noise_makes_none_perfect() {
        let miss = |dataset: &str, share, deviation| Miss {
            dataset: dataset.to_owned(),
            share,
            deviation,
        };
        let misses = [miss("young", 0.1, 0.01), miss("old", 0.3, 0.01)];
        let found = Trust::of_ranking(&cases(CaseKind::Dataset), &misses, "a ranking");
        assert!((found.weights[0] - 1.5).abs() < 1e-12 && (found.weights[2] - 0.5).abs() < 1e-12);
        assert!((found.weights[1] - 1.0).abs() < 1e-12, "of it nothing is known");
        let noisy = [miss("young", -0.2, 0.3), miss("old", 0.3, 0.3)];
        let found = Trust::of_ranking(&cases(CaseKind::Dataset), &noisy, "a ranking");
        assert_eq!(found.weights, [1.0; 3]);
        // Slices are not datasets, and one dataset cannot be compared.
        assert!(Trust::of_ranking(&cases(CaseKind::Slice), &misses, "a ranking").why.is_empty());
        let one = Trust::of_ranking(&cases(CaseKind::Dataset), &misses[..1], "a ranking");
        assert_eq!(one, Trust::equal(3));
    }
}
