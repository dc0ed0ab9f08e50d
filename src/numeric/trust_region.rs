//! The largest value of a quadratic in a ball, exactly: the trust-region problem.
//!
//! max wᵀAw + 2g·w over ‖w‖ ≤ ρ, for any symmetric A. In the eigenbasis of A a maximiser satisfies
//! (λ − A)w = g for a multiplier λ ≥ max(0, λ_max), and either λ = 0 or ‖w‖ = ρ. ‖(λ − A)⁻¹g‖ falls
//! with λ, so λ is the one root of the secular equation, unless g has no part along the leading
//! eigenvectors and (λ_max − A)⁺g is too short (the *hard case*): then λ = λ_max, and the remaining
//! length goes along these eigenvectors, at no cost and in either direction. Searches from random
//! starts find a local maximum; this finds the global one.

use super::special::crossing;
use super::symmetric::eigen;
use super::{Matrix, Vector};

/// The maximiser, and the largest value.
#[derive(Debug, Clone, PartialEq)]
pub struct Maximum {
    pub argument: Vector,
    pub value: f64,
}

/// The maximum of wᵀAw + 2g·w over ‖w‖ ≤ `radius`. `None` if an entry is NaN.
pub fn maximum(matrix: &Matrix, slope: &Vector, radius: f64) -> Option<Maximum> {
    let (eigenvalues, axes) = eigen(matrix)?;
    let slopes = axes.tr_mul(slope);
    if !slopes.iter().all(|slope| slope.is_finite()) {
        return None;
    }
    let secular = Secular { eigenvalues: &eigenvalues, slopes: &slopes };
    let argument = axes * secular.maximiser(radius);
    let value = argument.dot(&(matrix * &argument)) + 2.0 * slope.dot(&argument);
    Some(Maximum { argument, value })
}

struct Secular<'a> {
    eigenvalues: &'a Vector,
    /// g in the eigenbasis.
    slopes: &'a Vector,
}

impl Secular<'_> {
    /// (λ − A)⁺g for the multiplier λ = `floor` + `excess`, where no eigenvalue is above `floor`.
    /// The difference `floor` − eigenvalue is exact if it is small, so nothing cancels for any
    /// small excess.
    fn at(&self, floor: f64, excess: f64) -> Vector {
        self.slopes.zip_map(self.eigenvalues, |slope, eigenvalue| {
            if slope == 0.0 { 0.0 } else { slope / ((floor - eigenvalue) + excess) }
        })
    }

    fn maximiser(&self, radius: f64) -> Vector {
        let largest = self.eigenvalues.max();
        let floor = largest.max(0.0);
        let mut w = self.at(floor, 0.0);
        if w.iter().all(|w| w.is_finite()) && w.norm() <= radius {
            // Inside the ball, or the hard case. If the curvature is negative everywhere, the
            // answer is the interior maximum.
            if largest > 0.0 {
                self.lengthen(&mut w, radius);
            }
            return w;
        }
        // ‖w‖ ≤ ‖g‖/excess bounds the root; bisection ends when doubles do.
        let highest = self.slopes.norm() / radius;
        let excess = crossing(0.0, highest, |excess| self.at(floor, excess).norm() > radius);
        let mut w = self.at(floor, excess);
        // If the part of g along the leading axis is lost in rounding, w is too short.
        if largest > 0.0 {
            self.lengthen(&mut w, radius);
        }
        w
    }

    /// Uses the remaining length along a leading axis, where it gains the most.
    fn lengthen(&self, w: &mut Vector, radius: f64) {
        let leading = self.eigenvalues.imax();
        let across = w.norm_squared() - w[leading].powi(2);
        let along = (radius.powi(2) - across).max(0.0).sqrt();
        w[leading] = if self.slopes[leading] < 0.0 { -along } else { along };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing as golden;

    #[test]
    fn the_hard_case_reaches_the_closed_form_of_the_reference() {
        let golden = golden::adaptation();
        let matrix = Matrix::from_diagonal(&golden.vector("trs_hard_case.A_diag"));
        let slope = -golden.vector("trs_hard_case.b");
        let found = maximum(&matrix, &slope, golden.number("trs_hard_case.Lambda")).unwrap();
        assert!((found.value - golden.number("trs_hard_case.closed_form")).abs() < 1e-12);
        assert!((found.argument.norm() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_slope_along_the_leading_axis_that_is_lost_in_rounding_is_no_trap() {
        for tiny in [0.0, 1e-300, 1e-17, 1e-9] {
            let matrix = Matrix::from_diagonal(&Vector::from_vec(vec![3.0, -1.0]));
            let slope = Vector::from_vec(vec![-tiny, 0.5]);
            let found = maximum(&matrix, &slope, 2.0).unwrap();
            // Along the second axis w = 0.5/(3 + 1); the rest of the length along the first.
            let exact = 3.0 * (4.0 - 0.125_f64.powi(2)) - 0.125_f64.powi(2) + 0.125;
            assert!((found.value - exact).abs() < 1e-8, "{tiny} {found:?}");
            assert!((found.argument.norm() - 2.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_hill_inside_the_ball_and_flat_ground_are_found_too() {
        let hill = Matrix::from_diagonal(&Vector::from_vec(vec![-2.0, -4.0]));
        let found = maximum(&hill, &Vector::from_vec(vec![1.0, 1.0]), 5.0).unwrap();
        golden::assert_near(&found.argument, &Vector::from_vec(vec![0.5, 0.25]), 1e-14);
        let flat = maximum(&Matrix::zeros(2, 2), &Vector::from_vec(vec![3.0, 4.0]), 2.0).unwrap();
        assert!((flat.value - 20.0).abs() < 1e-12);
        let nothing = maximum(&Matrix::zeros(2, 2), &Vector::zeros(2), 2.0).unwrap();
        assert_eq!(nothing.value, 0.0);
        assert!(maximum(&hill, &Vector::from_vec(vec![f64::NAN, 1.0]), 5.0).is_none());
    }

    proptest! {
        #[test]
        fn no_point_of_the_ball_is_higher_and_the_optimality_conditions_hold(
            entries in proptest::collection::vec(-2.0..2.0_f64, 16),
            slope in proptest::collection::vec(-1.0..1.0_f64, 4),
            points in proptest::collection::vec(-1.0..1.0_f64, 40),
            radius in 0.05..4.0_f64,
        ) {
            let square = Matrix::from_vec(4, 4, entries);
            let matrix = &square + square.transpose();
            let slope = Vector::from_vec(slope);
            let found = maximum(&matrix, &slope, radius).unwrap();
            prop_assert!(found.argument.norm() <= radius * (1.0 + 1e-9));
            for point in points.chunks_exact(4) {
                let w = radius * Vector::from_column_slice(point).normalize();
                let value = w.dot(&(&matrix * &w)) + 2.0 * slope.dot(&w);
                prop_assert!(value <= found.value + 1e-9);
            }
            // (λ − A)w = g for some λ ≥ λ_max.
            let w = &found.argument;
            let pull = &matrix * w + &slope;
            let multiplier = pull.dot(w) / w.norm_squared();
            prop_assert!((pull - multiplier * w).norm() < 1e-6);
            prop_assert!(multiplier >= matrix.symmetric_eigenvalues().max() - 1e-6);
        }
    }
}
