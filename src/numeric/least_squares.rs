//! Weighted least squares with a ridge, free or in a ball.

use super::columns::{self, ExampleColumns};
use super::positive::cholesky;
use super::special::crossing;
use super::symmetric::{eigen, outer_sum};
use super::{Matrix, Vector};

/// Numbers that one thread adds up.
const IN_ORDER: usize = 1 << 20;

/// Eigenvalues below this share of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-13;

/// The normal equations of Σ qᵢ(xᵢ·w − yᵢ)².
#[derive(Debug, Clone)]
pub struct NormalEquations {
    /// Σ qᵢxᵢxᵢᵀ
    pub gram: Matrix,
    /// Σ qᵢyᵢxᵢ
    pub moment: Vector,
}

impl NormalEquations {
    pub fn weighted(features: &impl ExampleColumns, target: &[f64], weights: &[f64]) -> Self {
        Self::of(features, target, |at| weights[at])
    }

    /// With a rule for weights.
    fn of(
        features: &impl ExampleColumns,
        target: &[f64],
        weight: impl Fn(usize) -> f64 + Copy + Sync,
    ) -> Self {
        // In the order of the examples, so that the sum is the same on every machine.
        let add = |at: usize, example: &[f64], sum: &mut [f64], (): &mut ()| {
            let factor = weight(at) * target[at];
            for (sum, x) in sum.iter_mut().zip(example) {
                *sum += factor * x;
            }
        };
        let dimension = features.dimension();
        let block = (IN_ORDER / dimension.max(1)).max(1);
        let (moment, _) = columns::sums_by(block, features, dimension, || (), add);
        Self { gram: outer_sum(features, weight), moment }
    }

    /// Every example has the weight 1/n.
    pub fn mean(features: &impl ExampleColumns, target: &[f64]) -> Self {
        let share = 1.0 / features.count() as f64;
        Self::of(features, target, |_| share)
    }

    /// argmin Σ qᵢ(xᵢ·w − yᵢ)² + ridge·‖w‖². `None` if there is no unique solution within rounding.
    pub fn ridge(&self, ridge: f64) -> Option<Vector> {
        let mut system = self.gram.clone();
        for k in 0..system.nrows() {
            system[(k, k)] += ridge;
        }
        let solution = cholesky(system)?.solve(&self.moment);
        solution.iter().all(|w| w.is_finite()).then_some(solution)
    }

    /// argmin Σ qᵢ(xᵢ·w − yᵢ)² + ridge·‖w‖² over ‖w‖ ≤ `radius`; the shortest one if there are
    /// several. `None` if the equations are not finite.
    pub fn in_ball(&self, ridge: f64, radius: f64) -> Option<Vector> {
        let (eigenvalues, axes) = eigen(&self.gram)?;
        let curvature = eigenvalues.map(|value| value.max(0.0) + ridge);
        let negligible = RANK_TOLERANCE * curvature.max();
        let slope = axes.tr_mul(&self.moment);
        let at = |multiplier: f64| {
            slope.zip_map(&curvature, |slope, curvature| {
                if curvature + multiplier <= negligible {
                    0.0
                } else {
                    slope / (curvature + multiplier)
                }
            })
        };
        let free = at(0.0);
        if free.norm() <= radius {
            return Some(axes * free);
        }
        // ‖w(multiplier)‖ falls; the multiplier whose solution is on the sphere is unique, and ‖w‖
        // ≤ ‖slope‖/multiplier bounds it.
        let highest = slope.norm() / radius;
        let multiplier = crossing(0.0, highest, |multiplier| at(multiplier).norm() > radius);
        Some(axes * at(multiplier))
    }
}

/// argmin (1/n)Σ(xᵢ·w − yᵢ)² + ridge·‖w‖² for fewer examples than features: w = Xa with (XᵀX +
/// n·ridge)a = y, which has one row per example. `None` as for [`NormalEquations::ridge`].
pub fn ridge_of_few(features: &impl ExampleColumns, target: &[f64], ridge: f64) -> Option<Vector> {
    let features = &features.doubles(0..features.count());
    let mut system = features.tr_mul(features);
    for k in 0..system.nrows() {
        system[(k, k)] += ridge * features.ncols() as f64;
    }
    let shares = cholesky(system)?.solve(&Vector::from_column_slice(target));
    let solution = features * shares;
    solution.iter().all(|w| w.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing as golden;

    #[test]
    fn second_stage_solutions_agree_with_the_reference() {
        let golden = golden::discrepancy();
        let (x, y) = (golden.records("inputs.X"), golden.vector("inputs.y"));
        let q = golden.vector("inputs.q");
        let equations = NormalEquations::weighted(&x, y.as_slice(), q.as_slice());
        let free = equations.in_ball(0.0, 1e6).unwrap();
        golden::assert_near(&free, &golden.vector("stage2.w_unconstrained"), 1e-11);
        golden::assert_near(&equations.ridge(0.0).unwrap(), &free, 1e-12);
        let ball = equations.in_ball(0.0, 0.5).unwrap();
        golden::assert_near(&ball, &golden.vector("stage2.w_ball_Lambda_0p5"), 1e-11);
        let ridge = equations.ridge(0.1).unwrap();
        golden::assert_near(&ridge, &golden.vector("stage2.w_ridge_0p1"), 1e-11);
        golden::assert_near(&equations.in_ball(0.1, 10.0).unwrap(), &ridge, 1e-12);
    }

    #[test]
    fn collinear_one_hots_with_an_intercept_are_solvable_at_dimension_400() {
        // Two one-hot vocabularies and a constant: the rank is at least two short.
        let (levels, n) = (200, 2_000);
        let d = 2 * levels;
        let x = Matrix::from_fn(d, n, |i, j| {
            let constant = i == d - 1;
            let first = i < levels && i == j % levels;
            let second = i >= levels && i < d - 1 && i - levels == (j / 3) % (levels - 1);
            f64::from(u8::from(constant || first || second)) / 3.0_f64.sqrt()
        });
        let y: Vec<f64> = (0..n).map(|j| ((j % 7) as f64 - 3.0) / 3.0).collect();
        let equations = NormalEquations::mean(&x, &y);
        let (eigenvalues, _) = eigen(&equations.gram).unwrap();
        assert_eq!(eigenvalues.iter().filter(|value| **value < 1e-13).count(), 2);
        let w = equations.ridge(1e-5).unwrap();
        let left = &equations.gram * &w + 1e-5 * &w - &equations.moment;
        assert!(left.amax() < 1e-12, "{:e}", left.amax());
        let shortest = equations.in_ball(0.0, f64::INFINITY).unwrap();
        assert!((&equations.gram * &shortest - &equations.moment).amax() < 1e-12);
        assert!(shortest.norm() < 100.0, "{}", shortest.norm());
    }

    #[test]
    fn equations_with_something_else_than_numbers_have_no_solution() {
        let equations = NormalEquations {
            gram: Matrix::from_element(2, 2, f64::NAN),
            moment: Vector::zeros(2),
        };
        assert!(equations.in_ball(0.1, 1.0).is_none());
        assert!(equations.ridge(0.1).is_none());
    }

    proptest! {
        #[test]
        fn in_a_ball_the_gradient_vanishes_or_points_to_the_centre(
            x in proptest::collection::vec(-1.0..1.0_f64, 3 * 6),
            y in proptest::collection::vec(-1.0..1.0_f64, 6),
            ridge in 0.0..0.1_f64,
            radius in 0.05..2.0_f64,
        ) {
            let equations = NormalEquations::mean(&Matrix::from_vec(3, 6, x), &y);
            let w = equations.in_ball(ridge, radius).unwrap();
            prop_assert!(w.norm() <= radius * (1.0 + 1e-12));
            let downhill = &equations.moment - &equations.gram * &w - ridge * &w;
            if w.norm() < radius * (1.0 - 1e-9) {
                prop_assert!(downhill.norm() < 1e-9);
            } else {
                let outward = &w / w.norm();
                let along = downhill.dot(&outward);
                prop_assert!(along >= -1e-9);
                prop_assert!((downhill - along * outward).norm() < 1e-9);
            }
        }
    }
}
