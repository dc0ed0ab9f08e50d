//! The synthetic source and target of
//! [Bassily, Mohri, Suresh 2023](halflight_base::bibliography).
//!
//! Features are spherical Gaussians of variance 1/(9d) in all directions, around two orthogonal
//! centres of norm 1/√2: the target's has entries ±1/√(2d) with alternating signs, the other has
//! 1/√(2d) everywhere. A source record is like the target's with probability `mixture`, a quarter
//! in the paper. Labels have no noise: with z = Σ xᵢ/√d they are z if z is positive, and z/2
//! otherwise.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::column::Column;
use super::table::Table;
use super::{Bounds, Dataset};
use crate::error::{Error, Result};
use crate::numeric::{Matrix, Vector};

/// The share of the source that is like the target.
pub const DEFAULT_MIXTURE: f64 = 0.25;

/// The bounds of [`dataset`] for methods: one record in eighty is outside the unit ball and is
/// scaled onto it.
const BOUNDS: Bounds = Bounds { feature_norm: 1.0, label: 1.0 };

/// Which of the two distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyntheticPart {
    /// The distribution of the public records.
    Source,
    /// The distribution of the private records.
    Target,
}

/// Columns `x1` … `xd`, and `y`. The two parts are drawn from independent streams of the seed.
/// The target does not depend on `mixture`.
pub fn generate(
    part: SyntheticPart,
    rows: usize,
    dimension: usize,
    mixture: f64,
    seed: u64,
) -> Result<Table> {
    let (features, target) = draw(part, rows, dimension, mixture, seed)?;
    let columns = features
        .row_iter()
        .map(|row| row.iter().copied().collect::<Vec<f64>>())
        .chain([target])
        .map(|numbers| Column::Numbers(numbers.into()))
        .collect();
    let names = names(dimension).chain(["y".to_owned()]).collect();
    // As in a file with a header.
    let lines = super::lines::RowLines::in_turn(2, rows);
    Table::new(format!("synthetic:{}", part.name()), names, columns, lines)
}

/// Synthetic records within ‖x‖ ≤ 1 and |y| ≤ 1, without the preparation that files get.
pub fn dataset(
    part: SyntheticPart,
    rows: usize,
    dimension: usize,
    mixture: f64,
    seed: u64,
) -> Result<Dataset> {
    let (mut features, mut target) = draw(part, rows, dimension, mixture, seed)?;
    let mut clipped = 0;
    for (mut x, y) in features.column_iter_mut().zip(&mut target) {
        let norm = x.norm();
        clipped += usize::from(norm > BOUNDS.feature_norm || y.abs() > BOUNDS.label);
        // A little less, so that rounding stays inside.
        x /= (norm * (1.0 + f64::EPSILON * 4.0)).max(1.0);
        *y = y.clamp(-BOUNDS.label, BOUNDS.label);
    }
    Ok(Dataset {
        feature_names: names(dimension).collect(),
        target: Some(target),
        clipped,
        ..Dataset::unlabelled(part.name(), features, BOUNDS)
    })
}

impl SyntheticPart {
    fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }

    fn stream(self) -> u64 {
        match self {
            Self::Source => 1,
            Self::Target => 2,
        }
    }
}

fn names(dimension: usize) -> impl Iterator<Item = String> {
    (1..=dimension).map(|k| format!("x{k}"))
}

/// Features, one record per column, and labels.
fn draw(
    part: SyntheticPart,
    rows: usize,
    dimension: usize,
    mixture: f64,
    seed: u64,
) -> Result<(Matrix, Vec<f64>)> {
    if rows == 0 {
        return Err(Error::usage("synthetic data without rows").cure("ask for at least one row"));
    }
    if dimension < 2 {
        return Err(Error::usage(format!("synthetic data of dimension {dimension}"))
            .cure("give a dimension of at least 2: the two centres lie at right angles"));
    }
    if !(0.0..=1.0).contains(&mixture) {
        return Err(Error::usage(format!("a mixture of {mixture}"))
            .cure("give the share of the source that is like the target, between 0 and 1"));
    }
    let (here, there) = (centre(dimension, true), centre(dimension, false));
    let spread = 1.0 / (3.0 * (dimension as f64).sqrt());
    let mut generator = stream(seed, part.stream());
    let mut features = Matrix::zeros(dimension, rows);
    let mut target = Vec::with_capacity(rows);
    for mut x in features.column_iter_mut() {
        let elsewhere = part == SyntheticPart::Source && uniform(&mut generator) >= mixture;
        x.copy_from(if elsewhere { &there } else { &here });
        for entry in x.iter_mut() {
            let normal: f64 = StandardNormal.sample(&mut generator);
            *entry += spread * normal;
        }
        target.push(label(x.sum() / (dimension as f64).sqrt()));
    }
    Ok((features, target))
}

fn centre(dimension: usize, alternating: bool) -> Vector {
    let length = 1.0 / (2.0 * dimension as f64).sqrt();
    let entry = |k: usize| if alternating && k.is_multiple_of(2) { -length } else { length };
    Vector::from_fn(dimension, |k, _| entry(k))
}

fn label(z: f64) -> f64 {
    if z > 0.0 { z } else { 0.5 * z }
}

fn stream(seed: u64, number: u64) -> ChaCha20Rng {
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    generator.set_stream(number);
    generator
}

/// Uniform on [0, 1).
fn uniform(generator: &mut ChaCha20Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(table: &Table) -> (Matrix, Vector) {
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| match column {
                Column::Numbers(cells) => Vector::from_column_slice(&cells.whole()),
                _ => panic!("synthetic data are numbers"),
            })
            .collect();
        let (y, x) = columns.split_last().unwrap();
        (Matrix::from_columns(x), y.clone())
    }

    fn data(part: SyntheticPart, rows: usize, seed: u64) -> (Matrix, Vector) {
        numbers(&generate(part, rows, 10, DEFAULT_MIXTURE, seed).ok().unwrap())
    }

    fn second_moment(x: &Matrix) -> Matrix {
        x.transpose() * x / x.nrows() as f64
    }

    fn least_squares(x: &Matrix, y: &Vector) -> Vector {
        (x.transpose() * x).lu().solve(&(x.transpose() * y)).unwrap()
    }

    fn error(weights: &Vector, x: &Matrix, y: &Vector) -> f64 {
        (x * weights - y).norm_squared() / y.len() as f64
    }

    fn near(value: f64, wanted: f64, tolerance: f64) -> bool {
        println!("{value:.3e} for {wanted:.3e}");
        (value / wanted - 1.0).abs() < tolerance
    }

    /// The figures come from an independent program of a few lines in numpy, written from the
    /// paper's text.
    #[test]
    fn the_figures_of_an_independent_program_are_met() {
        let mut sums = [0.0; 3];
        let seeds = 0..20;
        let count = seeds.clone().count() as f64;
        for seed in seeds {
            let (source, source_y) = data(SyntheticPart::Source, 1000, seed);
            let (target, target_y) = data(SyntheticPart::Target, 8000, seed);
            let difference = second_moment(&target) - second_moment(&source);
            let norm = difference.symmetric_eigenvalues().amax();
            let source_only = error(&least_squares(&source, &source_y), &target, &target_y);
            let oracle = error(&least_squares(&target, &target_y), &target, &target_y);
            for (sum, value) in sums.iter_mut().zip([norm, source_only, oracle]) {
                *sum += value / count;
            }
        }
        for (mean, wanted) in sums.into_iter().zip([0.379, 9.5e-4, 2.62e-4]) {
            assert!(near(mean, wanted, 0.03));
        }
    }

    #[test]
    fn records_have_the_centres_the_spread_and_the_labels_of_the_paper() {
        let (x, y) = data(SyntheticPart::Target, 8000, 3);
        let expected = 1.0 / 20.0_f64.sqrt();
        for (k, column) in x.column_iter().enumerate() {
            let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
            assert!((column.mean() - sign * expected).abs() < 5e-3, "{k}");
            assert!(near(column.variance(), 1.0 / 90.0, 0.06));
        }
        let z = x.column_sum() / 10.0_f64.sqrt();
        for (z, y) in z.iter().zip(&y) {
            assert_eq!(*y, if *z > 0.0 { *z } else { 0.5 * z });
        }
        let (source, _) = data(SyntheticPart::Source, 8000, 3);
        let elsewhere = source.row_iter().filter(|x| x.sum() > 1.0).count();
        assert!(near(elsewhere as f64 / 8000.0, 0.75, 0.03));
    }

    #[test]
    fn a_seed_fixes_the_parts_and_they_are_independent() {
        let table = |part, rows, seed| generate(part, rows, 4, 1.0, seed).ok().unwrap();
        assert!(table(SyntheticPart::Source, 50, 1) == table(SyntheticPart::Source, 50, 1));
        assert_ne!(
            table(SyntheticPart::Source, 50, 1).view,
            table(SyntheticPart::Source, 50, 2).view
        );
        // With the whole source like the target, their records are independent of each other.
        let (source, _) = numbers(&table(SyntheticPart::Source, 4000, 1));
        let (target, _) = numbers(&table(SyntheticPart::Target, 4000, 1));
        let centred = |x: &Matrix| x.column(0).add_scalar(-x.column(0).mean());
        let (a, b) = (centred(&source), centred(&target));
        assert!((a.dot(&b) / (a.norm() * b.norm())).abs() < 0.06);
    }

    #[test]
    fn more_rows_continue_the_same_stream() {
        let few = generate(SyntheticPart::Target, 5, 3, 0.5, 9).ok().unwrap();
        let many = generate(SyntheticPart::Target, 50, 3, 0.1, 9).ok().unwrap();
        assert_eq!(many.select(&[0, 1, 2, 3, 4]).unwrap().view, few.view);
    }

    #[test]
    fn a_dataset_holds_the_records_of_the_table_within_its_bounds() {
        let data = dataset(SyntheticPart::Source, 300, 3, 0.5, 9).unwrap();
        let (x, y) = numbers(&generate(SyntheticPart::Source, 300, 3, 0.5, 9).unwrap());
        let mut outside = 0;
        for (k, (ours, x)) in data.features.column_iter().zip(x.row_iter()).enumerate() {
            let norm = x.norm();
            outside += usize::from(norm > 1.0 || y[k].abs() > 1.0);
            assert!((ours.transpose() - x / norm.max(1.0)).norm() < 1e-12);
            assert_eq!(data.target.as_ref().unwrap()[k], y[k].clamp(-1.0, 1.0));
        }
        assert!(data.clipped == outside && outside > 0);
    }

    #[test]
    fn impossible_requests_are_refused() {
        let refusal = |rows, dimension, mixture| {
            generate(SyntheticPart::Source, rows, dimension, mixture, 0).err().unwrap().to_string()
        };
        assert!(refusal(0, 10, 0.2).contains("at least one row"));
        assert!(refusal(5, 1, 0.2).contains("at least 2"));
        for mixture in [-0.1, 1.1, f64::NAN] {
            assert!(refusal(5, 10, mixture).contains("between 0 and 1"));
        }
    }

    proptest! {
        #[test]
        fn a_dataset_lies_in_the_unit_ball_with_labels_within_1(
            dimension in 2_usize..30, mixture in 0.0..=1.0, seed in any::<u64>(), source in any::<bool>()
        ) {
            let part = if source { SyntheticPart::Source } else { SyntheticPart::Target };
            let table = generate(part, 30, dimension, mixture, seed).ok().unwrap();
            prop_assert_eq!(&table.names[dimension], "y");
            let data = dataset(part, 30, dimension, mixture, seed).ok().unwrap();
            prop_assert!(data.features.column_iter().all(|x| x.norm() <= 1.0));
            prop_assert!(data.target.unwrap().iter().all(|y| y.abs() <= 1.0));
        }
    }
}
