//! Principal directions of the columns of a matrix.

use super::columns::{ExampleColumns, mean_of};
use super::leading::sorted;
use super::product::{inner_products, product, whole};
use super::{Matrix, Vector};

/// Directions with less than this share of the largest one's energy are rounding noise.
const LEAST: f64 = 1e-12;

/// Examples that are centred and added up at once.
const BLOCK: usize = 1 << 13;

/// Directions of falling energy.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// Orthonormal, one per column.
    pub directions: Matrix,
    /// Mean square of the examples along every direction, including those that were not requested.
    pub energies: Vec<f64>,
}

impl Principal {
    /// Up to `count` directions of `features`, one example per column, whose second moment is
    /// decomposed without centring: subtract the mean first if needed. `None` for features that are
    /// not finite.
    pub fn of(features: &impl ExampleColumns, count: usize) -> Option<Self> {
        Self::around(features, &Vector::zeros(features.dimension()), count)
    }

    fn around(features: &impl ExampleColumns, centre: &Vector, count: usize) -> Option<Self> {
        let (dimension, examples) = (features.dimension(), features.count());
        let share = 1.0 / examples as f64;
        let centred = |range| {
            let mut block = features.doubles(range);
            for mut example in block.column_iter_mut() {
                example -= centre;
            }
            block
        };
        // The smaller of the two matrices with the same eigenvalues.
        let few = examples < dimension;
        let all = if few { centred(0..examples) } else { Matrix::zeros(0, 0) };
        let moment = if few {
            inner_products(&all, &all)
        } else {
            let blocks = (0..examples).step_by(BLOCK);
            blocks.fold(Matrix::zeros(dimension, dimension), |sum, first| {
                let block = centred(first..examples.min(first + BLOCK));
                sum + product(&whole(&block), &whole(&block).transpose())
            })
        };
        let (values, vectors) = sorted(&(share * moment))?;
        let energies: Vec<f64> = values.into_iter().map(|value| value.max(0.0)).collect();
        let solid = energies.iter().take_while(|energy| **energy > LEAST * energies[0]).count();
        let kept = count.min(if few { solid } else { dimension });
        let chosen = vectors.columns(0, kept).into_owned();
        let directions = if few {
            let mut directions = product(&whole(&all), &whole(&chosen));
            for mut direction in directions.column_iter_mut() {
                direction.normalize_mut();
            }
            directions
        } else {
            chosen
        };
        Some(Self { directions, energies })
    }

    /// Up to `count` directions around the mean of the examples, which is also returned.
    pub fn centred(features: &impl ExampleColumns, count: usize) -> Option<(Vector, Self)> {
        let mean = mean_of(features);
        let principal = Self::around(features, &mean, count)?;
        Some((mean, principal))
    }

    /// The share of the energy that the first 1, 2, 3 … directions keep.
    pub fn shares(&self) -> Vec<f64> {
        let total: f64 = self.energies.iter().sum();
        let mut kept = 0.0;
        let share = |energy: &f64| {
            kept += energy;
            if total > 0.0 { kept / total } else { 1.0 }
        };
        self.energies.iter().map(share).collect()
    }

    /// The share of the energy that the first `count` directions keep.
    pub fn explained(&self, count: usize) -> f64 {
        let shares = self.shares();
        let last = count.min(shares.len());
        if last == 0 { 0.0 } else { shares[last - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halflight_testing as golden;

    #[test]
    fn directions_energies_and_what_they_explain_agree_with_the_reference() {
        let golden = golden::adaptation();
        let features = golden.records("pca.X");
        let principal = Principal::of(&features, 2).unwrap();
        let energies = Vector::from_vec(principal.energies.clone());
        golden::assert_near(&energies, &golden.vector("pca.eigenvalues"), 1e-12);
        assert!((principal.explained(2) - golden.number("pca.explained")).abs() < 1e-12);
        // Directions have no sign.
        let ours = &principal.directions * principal.directions.transpose();
        let theirs = golden.rows("pca.components_cols");
        golden::assert_close(&ours, &(&theirs * theirs.transpose()), 1e-12);
    }

    #[test]
    fn fewer_examples_than_features_span_the_same_directions() {
        let features =
            Matrix::from_fn(12, 7, |i, j| ((i * i * 5 + j * 3 + i * j * j) as f64).sin());
        let few = Principal::of(&features, 5).unwrap();
        let twice = Matrix::from_fn(12, 14, |i, j| features[(i, j % 7)]);
        let many = Principal::of(&twice, 5).unwrap();
        let span = |of: &Principal| &of.directions * of.directions.transpose();
        golden::assert_close(&span(&few), &span(&many), 1e-8);
        assert!((few.explained(3) - many.explained(3)).abs() < 1e-12);
        let flat = Matrix::from_fn(12, 7, |i, _| i as f64);
        assert_eq!(Principal::of(&flat, 5).unwrap().directions.ncols(), 1);
        assert!(Principal::of(&Matrix::from_element(2, 3, f64::NAN), 1).is_none());
    }
}
