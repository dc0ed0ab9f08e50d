//! The second moment of private features, and its counterpart from public records.
//!
//! *Sensitivity.* ‖xxᵀ − x′x′ᵀ‖²_F = ‖x‖⁴ + ‖x′‖⁴ − 2(x·x′)² ≤ 2r⁴, so replacing a record moves M₀
//! = (1/n)Σ xxᵀ by at most √2·r²/n in Frobenius norm, attained by orthogonal records of norm r. It
//! is computed once: n never enters a loop. If persons are protected, n counts persons, and xxᵀ
//! stands for the mean over a person's records: of two such means ‖M‖_F ≤ r² and ⟨M, M′⟩ ≥ 0 hold
//! as well.

use crate::numeric::columns::length_of;
use crate::numeric::projection::shrink_factor;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::prelude::*;

/// Replace-one Frobenius sensitivity of the moment *as it is computed*: the sum of n
/// floating-point products is not the true sum, under either neighbour.
pub(super) fn frobenius_sensitivity(shape: &ProblemShape) -> f64 {
    let n = shape.private_records;
    let square = shape.bounds.feature_norm.powi(2);
    let rounding = summation_error(n * shape.most_records + shape.dimension + 16) * square;
    let orthogonal = if planted(Fault::WrongNorm) { 1.0 } else { std::f64::consts::SQRT_2 };
    orthogonal * square / n as f64 + 2.0 * rounding
}

/// A record shrunk by more than this is lost in rounding.
const LEAST_SHRINKING: f64 = 1e-100;

/// (1/n)Σ xᵢxᵢᵀ with every xᵢ clipped to `norm`, which changes nothing for records within the
/// declared bounds. A record that is not finite, or has absurdly large numbers, is ignored.
pub fn bounded_moment(features: &impl ExampleColumns, norm: f64) -> Matrix {
    weighted_moment(features, norm, None, features.count())
}

/// The moment for persons, whose moments are the means over their records.
pub fn moment_of<F: ExampleColumns>(data: &Dataset<F>, norm: f64) -> Matrix {
    match data.shares() {
        Some(shares) => weighted_moment(&data.features, norm, Some(&shares), data.protected()),
        None => bounded_moment(&data.features, norm),
    }
}

fn weighted_moment(
    features: &impl ExampleColumns,
    norm: f64,
    shares: Option<&[f64]>,
    count: usize,
) -> Matrix {
    let n = count as f64 * if planted(Fault::WrongCountOfRecords) { 0.5 } else { 1.0 };
    let mut weights = features.map_each(|example| {
        let shrunk = shrink_factor(length_of(example), norm);
        if shrunk < LEAST_SHRINKING { 0.0 } else { shrunk.powi(2) / n }
    });
    for (weight, share) in weights.iter_mut().zip(shares.unwrap_or_default()) {
        *weight *= share;
    }
    weighted_outer_sum(features, &weights)
}

/// M(q) = M − Σ qᵢxᵢxᵢᵀ
pub fn difference(moment: &Matrix, features: &impl ExampleColumns, q: &Vector) -> Matrix {
    moment - weighted_outer_sum(features, q.as_slice())
}

#[cfg(test)]
mod tests {
    use std::f64::consts::SQRT_2;

    use proptest::prelude::*;

    use super::*;
    use crate::example;
    use crate::numeric::symmetric::{pack, unpack};
    use halflight_testing as golden;

    #[test]
    fn absurdly_long_records_stay_within_the_bound() {
        for length in [1.0, 1e90, 1e120, 1e154, 1e160, 1e300] {
            let features = Matrix::from_fn(2, 2000, |_, i| if i == 0 { length } else { 0.0 });
            let moved = bounded_moment(&features, 1e-6).norm();
            assert!(moved <= 1e-12 / 2000.0 * (1.0 + 1e-12), "{length:e}: {moved:e}");
        }
    }

    #[test]
    fn the_released_moment_agrees_with_the_reference_for_its_normals() {
        let golden = golden::discrepancy();
        let moment = bounded_moment(&golden.records("inputs.T_raw"), golden.number("inputs.r"));
        golden::assert_close(&moment, &golden.rows("M0"), 1e-12);
        // The packed vector goes row by row through the upper triangle.
        let sigma = golden.number("release.sigma_analytic");
        let normals = golden.vector("release.std_normals_upper_rowmajor");
        let noisy = Vector::from_vec(pack(&moment)) + sigma * normals;
        let noisy = unpack(noisy.as_slice(), 3);
        golden::assert_close(&noisy, &golden.rows("release.M0_noisy"), 1e-11);
        let (shape, _, _) = example::shifted(3, 10, 5, 0);
        let ours = frobenius_sensitivity(&shape);
        assert!((ours - golden.number("release.frob_sensitivity")).abs() < 1e-12);
    }

    #[test]
    fn orthogonal_records_attain_the_sensitivity() {
        let (shape, _, mut ours) = example::shifted(3, 10, 40, 4);
        ours.features.set_column(5, &Vector::from_vec(vec![1.0, 0.0, 0.0]));
        let mut theirs = ours.clone();
        theirs.features.set_column(5, &Vector::from_vec(vec![0.0, 0.0, -1.0]));
        let packed = |data: &Dataset| Vector::from_vec(pack(&bounded_moment(&data.features, 1.0)));
        let moved = (packed(&ours) - packed(&theirs)).norm();
        let sensitivity = frobenius_sensitivity(&shape);
        assert!(moved <= sensitivity && moved > 0.99 * sensitivity, "{moved} {sensitivity}");
        assert!((sensitivity - SQRT_2 / 40.0).abs() < 1e-12);
    }

    #[test]
    fn a_record_that_is_not_made_of_numbers_counts_for_nothing() {
        let (_, _, data) = example::shifted(3, 10, 40, 4);
        let mut null = data.features.clone();
        null.set_column(3, &Vector::zeros(3));
        let without = bounded_moment(&null, 1.0);
        for bad in [f64::NAN, f64::INFINITY] {
            let mut broken = data.features.clone();
            broken[(2, 3)] = bad;
            // Left out or added as zeros: the same, up to the order of summation.
            assert!((bounded_moment(&broken, 1.0) - &without).amax() < 1e-15);
        }
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_the_moment_by_more_than_the_sensitivity(
            pair in proptest::collection::vec(-2.0..2.0_f64, 6),
        ) {
            let (shape, _, data) = example::shifted(3, 10, 20, 4);
            let with = |x: &[f64]| {
                let mut features = data.features.clone();
                features.set_column(0, &Vector::from_column_slice(x));
                Vector::from_vec(pack(&bounded_moment(&features, 1.0)))
            };
            let moved = (with(&pair[..3]) - with(&pair[3..])).norm();
            prop_assert!(moved <= frobenius_sensitivity(&shape));
        }

        #[test]
        fn clipping_changes_no_record_within_its_bounds(seed in 0_u64..50) {
            let (_, _, data) = example::shifted(4, 10, 30, seed);
            let plain = weighted_outer_sum(&data.features, &[1.0 / 30.0; 30]);
            prop_assert!((bounded_moment(&data.features, 1.0) - plain).amax() < 1e-15);
        }
    }
}
