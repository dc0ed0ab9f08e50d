//! The discrepancy between a private moment and re-weighted public records,
//! of [Bassily, Mohri, Suresh 2023](halflight_base::bibliography).
//!
//! With M(q) = M₀ − Σ qᵢxᵢxᵢᵀ, no linear model in the ball of radius Λ has squared losses
//! on the two that differ by more than dis(q) = 4Λ²‖M(q)‖₂. The norm is smoothed to
//!
//! > F̃(q) = (1/μ) log Tr exp(μ·diag(M, −M)),  ‖M‖₂ ≤ F̃ ≤ ‖M‖₂ + log(2d)/μ,
//!
//! whose slope in M is E = [exp(μM) − exp(−μM)]/Tr exp(μ·diag(M, −M)), so that ∂F̃/∂qᵢ = −xᵢᵀExᵢ.
//! Both are computed from the eigenvalues of M, minus the largest of them: every exponent is at
//! most 0 and nothing overflows, however large μ is.
//!
//! *Sensitivity.* With C = cosh(μM)/Tr cosh(μM), symmetric with eigenvalues c₁ ≥ c₂ ≥ … that
//! sum to one, the second derivative of F̃ along a symmetric H is, in M's axes,
//!
//! > D²F̃[H, H] = μ·(Σᵢⱼ sᵢⱼHᵢⱼ² − ⟨E, H⟩²) ≤ μ·Tr(C·H²),
//!
//! because the divided difference sᵢⱼ of sinh is a mean of cosh between two eigenvalues, and
//! cosh, being convex, has a mean of at most ½(cᵢ + cⱼ). The trace is at most ‖H‖²_F·c₁, and
//! where H is a difference of two records' outer products, with no more than two eigenvalues
//! that are not zero, at most ‖H‖²·(c₁ + c₂). Replacing a private record moves M along
//! Δ = (aaᵀ − bbᵀ)/n, ‖Δ‖ ≤ r²/n; the scores xᵢᵀExᵢ of two public records of norm at most r̂
//! then move apart at the rate D²F̃[Δ, xᵢxᵢᵀ − xⱼxⱼᵀ] and E itself by DE\[Δ\], and by Cauchy and
//! Schwarz (F̃ is convex):
//!
//! > R = r̂²·min(μr²/n · (c₁ + c₂), 2),  ‖change of E‖_F ≤ min(μr²/n · √(c₁(c₁ + c₂)), 2).
//!
//! If persons are protected, n counts persons and Δ = (A − B)/n, with means A and B of their
//! records' outer products: a mean of differences of single ones. √D²F̃[Δ, Δ] and ‖DE\[Δ\]‖_F are
//! norms of Δ, so they are no larger than the largest norm of a single difference, and both bounds
//! hold.
//!
//! A shift that all scores share changes no choice between them. All of this also holds on the path
//! from one data set to the other, where M is a private moment minus a public one, both without
//! negative eigenvalues and of norm at most r² and r̂². Then no eigenvalue of M exceeds in absolute
//! value ρ = max(r², r̂²), every cosh is at least 1, and so, for d ≥ 2,
//!
//! > c₁ ≤ cosh(μρ)/(cosh(μρ) + d − 1),  c₁ + c₂ ≤ 2cosh(μρ)/(2cosh(μρ) + d − 2).
//!
//! For large μ this becomes the usual bound, c₁ + c₂ ≤ 1. For small μ it is 2/d: a weak smoothing
//! cannot single out a direction, and no record can change this.

use crate::numeric::columns::{self};
use crate::numeric::eigen::eigenvalues;
use crate::numeric::symmetric::{eigen, quadratic_forms};
use crate::prelude::*;

/// The smoothed spectral norm of one symmetric matrix and its slope.
#[derive(Debug, Clone)]
pub struct Smoothed {
    /// F̃
    pub value: f64,
    /// E
    pub slope: Matrix,
    /// ‖M‖₂
    pub norm: f64,
}

impl Smoothed {
    /// `None` for a matrix that is not finite.
    pub fn of(matrix: &Matrix, temperature: f64) -> Option<Self> {
        let (values, axes) = eigen(matrix)?;
        let norm = values.amax();
        let up = values.map(|value| (temperature * (value - norm)).exp());
        let down = values.map(|value| (-temperature * (value + norm)).exp());
        let total = up.sum() + down.sum();
        let mut scaled = axes.clone();
        for (k, mut column) in scaled.column_iter_mut().enumerate() {
            column *= (up[k] - down[k]) / total;
        }
        let mut slope = Matrix::zeros(matrix.nrows(), matrix.ncols());
        slope.gemm(1.0, &scaled, &axes.transpose(), 0.0);
        Some(Self { value: norm + total.ln() / temperature, slope, norm })
    }

    /// xᵢᵀExᵢ of every public record: minus the gradient in q.
    pub fn scores(&self, features: &impl ExampleColumns) -> Vector {
        quadratic_forms(features, &self.slope)
    }
}

/// F̃ alone.
pub fn smoothed_value(matrix: &Matrix, temperature: f64) -> f64 {
    let Some(values) = eigenvalues(matrix) else { return f64::NAN };
    let norm = values.amax();
    let sum: f64 = values
        .iter()
        .map(|value| (temperature * (value - norm)).exp() + (-temperature * (value + norm)).exp())
        .sum();
    norm + sum.ln() / temperature
}

/// r̂², the largest squared norm of a public record.
pub fn largest_square(features: &impl ExampleColumns) -> Result<f64> {
    let largest = columns::largest_square(features);
    if largest > 0.0 && largest.is_finite() {
        Ok(largest)
    } else {
        Err(Error::failed(
            "every feature of every public record is zero: no weights can match a moment",
        )
        .at("public datasets")
        .cure("check the selected feature columns"))
    }
}

/// r̂², computed once.
pub fn largest_square_of(public: &PublicRecords) -> Result<f64> {
    public.once("largest square", 0.0, |public, _| largest_square(&public.features))
}

/// How far a neighbour moves E, and scores computed from it, *as they are computed*.
#[derive(Debug, Clone, Copy)]
pub struct Sensitivity {
    /// The sensitivity of E in Frobenius norm.
    pub slope: f64,
    /// R
    pub range: f64,
    /// The rounding error of every score.
    pub score_rounding: f64,
    /// The bound on c₁ + c₂: the range, relative to the range for arbitrary M.
    pub concentration: f64,
    /// The bound on ‖E‖₂.
    pub largest_slope: f64,
}

impl Sensitivity {
    /// `square` is r̂².
    pub fn of(shape: &ProblemShape, square: f64, temperature: f64) -> Self {
        let (n, d) = (shape.private_records, shape.dimension);
        let r2 = shape.bounds.feature_norm.powi(2);
        // A little more, because norms and weights are bounded only up to rounding.
        let exponent = temperature * r2.max(square) * (1.0 + 1e-9);
        let largest = share_of_largest(1, d, exponent);
        let concentration = share_of_largest(2, d, exponent);
        let moved = temperature * r2 / n as f64;
        // The computed eigenvalues and vectors are those of a matrix that differs from M by a
        // modest multiple of d roundings; the sum M₀ has an error of n of them. The products and
        // sums that give E and the scores round again. Either neighbour has these errors.
        let summed = n * shape.most_records;
        let moment = summation_error(summed + 100 * d + 100) * (r2 + square);
        let products = summation_error(100 * d + 100);
        let rounding = 2.0 * (temperature * moment + products);
        let computed = |exact: f64| (exact + rounding).min(2.0 + rounding);
        let score_rounding = 2.0 * square * products;
        Self {
            slope: computed(moved * (largest * concentration).sqrt()),
            range: square * computed(moved * concentration) + score_rounding,
            score_rounding,
            concentration,
            largest_slope: largest * exponent.tanh(),
        }
    }
}

/// The largest share that the `count` largest of `dimension` numbers, all between 1 and
/// cosh(`exponent`), can have in their sum.
fn share_of_largest(count: usize, dimension: usize, exponent: f64) -> f64 {
    let others = dimension.saturating_sub(count) as f64;
    // The reciprocal does not overflow.
    let least = others / exponent.cosh();
    count as f64 / (count as f64 + least)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::example;
    use crate::numeric::accelerated::simplex_gap;
    use crate::numeric::symmetric::spectral_norm;
    use crate::unlabelled::moment::{bounded_moment, difference};
    use halflight_testing as golden;

    #[test]
    fn value_slope_gradient_gap_and_lower_bound_agree_with_the_reference() {
        let golden = golden::discrepancy();
        let (x, q) = (golden.records("inputs.X"), golden.vector("inputs.q"));
        let (moment, mu) = (golden.rows("M0"), golden.number("inputs.mu"));
        let m = difference(&moment, &x, &q);
        let smoothed = Smoothed::of(&m, mu).unwrap();
        assert!((smoothed.value - golden.number("F_tilde")).abs() < 1e-12);
        assert!((smoothed_value(&m, mu) - smoothed.value).abs() < 1e-14);
        assert!((smoothed.norm - golden.number("spec_norm")).abs() < 1e-12);
        golden::assert_close(&smoothed.slope, &golden.rows("E"), 1e-12);
        let gradient = -smoothed.scores(&x);
        golden::assert_near(&gradient, &golden.vector("grad_F"), 1e-12);
        let ridge = gradient + golden.number("inputs.lam") * &q;
        golden::assert_near(&ridge, &golden.vector("grad_F_lambda"), 1e-12);
        assert!((simplex_gap(&ridge, &q) - golden.number("fw_gap_F_lambda")).abs() < 1e-12);
    }

    #[test]
    fn no_temperature_overflows() {
        let golden = golden::discrepancy();
        let m = golden.rows("M_q");
        for temperature in [1e-9, 1e3, 1e9, 1e300] {
            let smoothed = Smoothed::of(&m, temperature).unwrap();
            assert!(smoothed.value.is_finite() && smoothed.slope.iter().all(|e| e.is_finite()));
        }
        let cold = Smoothed::of(&m, 1e9).unwrap();
        assert!((cold.value - golden.number("spec_norm")).abs() < 1e-8);
        assert!(Smoothed::of(&Matrix::from_element(2, 2, f64::NAN), 1.0).is_none());
        assert!(smoothed_value(&Matrix::from_element(2, 2, f64::INFINITY), 1.0).is_nan());
    }

    #[test]
    fn records_without_any_feature_are_refused() {
        let error = largest_square(&Matrix::zeros(3, 5)).unwrap_err();
        assert!(error.to_string().contains("zero"), "{error}");
    }

    /// How far two scores move apart, and E in Frobenius norm, when a private record along axis
    /// `from` becomes one along axis `to`; the rest of M₀ is `rest`, and P is zero.
    fn moved(rest: &[f64], from: usize, to: usize, n: usize, temperature: f64) -> (f64, f64) {
        let d = rest.len();
        let slope = |axis: usize| {
            let mut m = Matrix::from_diagonal(&Vector::from_column_slice(rest));
            m[(axis, axis)] += 1.0 / n as f64;
            Smoothed::of(&m, temperature).unwrap().slope
        };
        let change = slope(to) - slope(from);
        let (values, _) = eigen(&change).unwrap();
        assert_eq!(values.len(), d);
        (values.max().max(0.0) - values.min().min(0.0), change.norm())
    }

    fn shape(n: usize, d: usize) -> ProblemShape {
        // Only the sizes matter, not the records.
        let (shape, _, _) = example::shifted(2, 5, 5, 1);
        ProblemShape { private_records: n, dimension: d, ..shape }
    }

    #[test]
    fn one_direction_and_a_null_record_nearly_attain_the_range() {
        // One feature, M = 0: the slope of E is μ there.
        let n = 400;
        let moved = 1.0 / n as f64;
        let slope = |m: f64| Smoothed::of(&Matrix::from_element(1, 1, m), 3.0).unwrap().slope[0];
        let change = slope(moved / 2.0) - slope(-moved / 2.0);
        let sensitivity = Sensitivity::of(&shape(n, 1), 1.0, 3.0);
        assert!(change <= sensitivity.range && change > 0.999 * sensitivity.range);
        assert!(change <= sensitivity.slope && change > 0.999 * sensitivity.slope);
    }

    #[test]
    fn small_temperatures_nearly_attain_the_range_in_any_dimension() {
        for d in [2, 3, 10, 40] {
            let (range, slope) = moved(&vec![0.0; d], 0, 1, 400, 0.03);
            let bound = Sensitivity::of(&shape(400, d), 1.0, 0.03);
            assert!(range <= bound.range && range > 0.999 * bound.range, "{d}: {range}");
            assert!(slope <= bound.slope && slope > 0.999 * bound.slope, "{d}: {slope}");
        }
    }

    #[test]
    fn large_temperatures_nearly_attain_the_range_between_two_equal_directions() {
        let (n, temperature) = (10_000, 60.0);
        let (range, _) = moved(&[0.49995, 0.49985, 0.0, 0.0], 1, 0, n, temperature);
        let bound = Sensitivity::of(&shape(n, 4), 1.0, temperature);
        assert!(range <= bound.range && range > 0.999 * bound.range, "{range} {}", bound.range);
    }

    proptest! {
        #[test]
        fn no_neighbour_moves_two_scores_apart_by_more_than_the_range(
            seed in 0_u64..1000, dimension in 1_usize..7, log_temperature in -5.0..6.0_f64,
            shift in 0.0..1.0_f64,
        ) {
            let (shape, public, private) = example::shifted(dimension, 25, 20, seed);
            let temperature = f64::exp(log_temperature);
            let square = largest_square(&public.features).unwrap();
            let mut neighbour = private.features.clone();
            let mut generator = example::generator(seed);
            neighbour.set_column(0, &(2.0 * example::normals(&mut generator, dimension)));
            let uniform = Vector::from_element(25, shift / 25.0);
            let smoothed = |features: &Matrix| {
                let moment = bounded_moment(features, 1.0);
                Smoothed::of(&difference(&moment, &public.features, &uniform), temperature).unwrap()
            };
            let (one, two) = (smoothed(&private.features), smoothed(&neighbour));
            let bound = Sensitivity::of(&shape, square, temperature);
            let change = two.scores(&public.features) - one.scores(&public.features);
            prop_assert!(change.max() - change.min() <= bound.range);
            prop_assert!((&two.slope - &one.slope).norm() <= bound.slope);
            prop_assert!(spectral_norm(&one.slope) <= bound.largest_slope * (1.0 + 1e-9));
        }

        #[test]
        fn no_moment_lets_two_unit_records_change_the_slope_faster_than_the_bounds(
            seed in 0_u64..10_000, dimension in 1_usize..9, log_temperature in -4.0..3.0_f64,
            log_ratio in -3.0..3.0_f64,
        ) {
            // Few records on either side give extreme moments. Half the time the axes are nearly
            // equal.
            let mut generator = example::generator(seed);
            let mut record = |near: Option<&Vector>| {
                let x = example::normals(&mut generator, dimension);
                let x = near.map_or_else(|| x.clone(), |near| near + 0.1 * &x);
                x.normalize()
            };
            let (first, second) = (record(None), record(None));
            let near = (seed % 2 == 0).then_some((&first, &second));
            let (a, b) = (record(near.map(|near| near.0)), record(near.map(|near| near.1)));
            let (x, y) = (record(near.map(|near| near.0)), record(near.map(|near| near.1)));
            let share = 1.0 / (1.0 + f64::exp(log_ratio));
            let mut moment = share * &first * first.transpose();
            moment += (1.0 - share) * &second * second.transpose();
            if seed % 3 == 0 {
                let away = record(None);
                moment -= &away * away.transpose();
            }
            let temperature = f64::exp(log_temperature);
            let n = 1_000_000;
            let slope = |record: &Vector| {
                let m = &moment * (1.0 - 1.0 / n as f64)
                    + record * record.transpose() / n as f64;
                Smoothed::of(&m, temperature).unwrap().slope
            };
            let change = slope(&a) - slope(&b);
            let bound = Sensitivity::of(&shape(n, dimension), 1.0, temperature);
            let apart = (x.transpose() * &change * &x - y.transpose() * &change * &y)[0].abs();
            let (values, _) = eigen(&change).unwrap();
            prop_assert!(apart <= bound.range);
            prop_assert!(values.max().max(0.0) - values.min().min(0.0) <= bound.range);
            prop_assert!(change.norm() <= bound.slope);
        }

        #[test]
        fn the_smoothed_norm_lies_within_its_band_and_its_slope_is_a_slope(
            entries in proptest::collection::vec(-1.0..1.0_f64, 9),
            way in proptest::collection::vec(-1.0..1.0_f64, 9),
            log_temperature in -2.0..4.0_f64,
        ) {
            let symmetric = |entries: Vec<f64>| {
                let square = Matrix::from_vec(3, 3, entries);
                &square + square.transpose()
            };
            let (m, way) = (symmetric(entries), symmetric(way));
            let temperature = f64::exp(log_temperature);
            let smoothed = Smoothed::of(&m, temperature).unwrap();
            let norm = spectral_norm(&m);
            prop_assert!(smoothed.value >= norm - 1e-12);
            prop_assert!(smoothed.value <= norm + 6.0_f64.ln() / temperature + 1e-12);
            let value = |t: f64| smoothed_value(&(&m + t * &way), temperature);
            let tiny = 1e-5;
            let rise = (value(tiny) - value(-tiny)) / (2.0 * tiny);
            prop_assert!((rise - smoothed.slope.dot(&way)).abs() < 1e-6 * (1.0 + temperature));
        }
    }
}
