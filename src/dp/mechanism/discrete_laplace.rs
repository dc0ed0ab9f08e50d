//! The discrete Laplace on a dyadic grid, P(k) ∝ e^{−|k|/scale}, sampled exactly (Canonne, Kamath,
//! Steinke 2020). Module `grid` explains the grid.
//!
//! Between neighbours that are an integer number of steps apart, in ℓ₁, it has the ε of the
//! continuous Laplace exactly. Its δ(ε) equals the continuous one's, 1 − e^{(ε−ε₀)/2}, at
//! ε = ε₀, ε₀ − 2/steps, ε₀ − 4/steps, … and is linear in e^ε between them; an ε₀ larger by
//! 1/(4·steps²) ≤ 2⁻⁵⁸ makes up for the difference.
//!
//! A shift of a whole vector is no worse than the same ℓ₁ shift of one coordinate: it can be made
//! one coordinate after another, and for a location family of log-concave noise the trade-off
//! function of two shifts in a row is that of their sum.
//!
//! The noise is not truncated. Draws beyond an `i64` end at its limits, and the sum's own limits
//! make them indistinguishable from the right value (module `grid`). So ε holds with δ = 0.

use super::coin::bernoulli_exp_fraction;
use super::generator::NoiseGenerator;
use super::grid::GriddedScale;
use crate::error::Result;

/// Noise `grid · Z` with Z an exact discrete Laplace of 2²⁸ to 2²⁹ grid steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscreteLaplace(GriddedScale);

impl DiscreteLaplace {
    /// The finest grid for a wanted scale; the resulting scale is never smaller, and larger
    /// by at most one part in 2²⁸.
    pub fn at_least(scale: f64) -> Result<Self> {
        GriddedScale::at_least("b", scale).map(Self)
    }

    /// Reads an event's scale back; refuses one that is not on the grid.
    pub fn from_event(scale: f64, grid: f64) -> Result<Self> {
        GriddedScale::from_event("b", scale, grid).map(Self)
    }

    /// b, in absolute units.
    pub fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// Step of the grid, a power of two.
    pub fn grid(&self) -> f64 {
        self.0.grid()
    }

    /// The amount that rounding adds to the ℓ₁ distance of neighbours: one step per coordinate.
    pub fn sensitivity_slack(&self, coordinates: u64) -> f64 {
        self.grid() * coordinates as f64
    }

    /// Rounds `values` to the grid and adds independent noise. Values beyond ±2⁶¹ grid steps are
    /// moved to this limit, which only brings neighbours closer.
    pub fn perturb(&self, generator: &mut NoiseGenerator, values: &[f64]) -> Result<Vec<f64>> {
        self.0.perturb(generator, values, draw_laplace)
    }
}

/// One draw with P(k) ∝ e^{−|k|/scale}; ±`i64::MAX` stands for anything beyond.
pub(super) fn draw_laplace(generator: &mut NoiseGenerator, scale: u64) -> i64 {
    loop {
        // |k| = remainder + scale·multiple, and e^{−|k|/scale} factors accordingly.
        let remainder = generator.below(scale);
        if !bernoulli_exp_fraction(generator, remainder, scale) {
            continue;
        }
        let mut multiple = 0;
        while bernoulli_exp_fraction(generator, 1, 1) {
            multiple += 1;
        }
        let magnitude = scale.saturating_mul(multiple).saturating_add(remainder);
        let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX);
        let negative = generator.below(2) == 1;
        // Zero has only one sign.
        if !(negative && magnitude == 0) {
            return if negative { -magnitude } else { magnitude };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing::statistics::{
        KOLMOGOROV_THRESHOLD, chi_square, histogram, kolmogorov_smirnov, standardised,
        symmetric_masses,
    };

    fn draws(seed: u64, scale: u64, count: usize) -> Vec<i64> {
        let mut generator = NoiseGenerator::insecure_from_seed(seed);
        (0..count).map(|_| draw_laplace(&mut generator, scale)).collect()
    }

    #[test]
    fn small_scales_follow_the_exact_masses_and_would_not_at_a_scale_one_percent_off() {
        let masses = |scale: f64| symmetric_masses(200, |k| (-k.abs() / scale).exp());
        for scale in [1, 2, 3, 7] {
            let seen = histogram(200, &draws(scale, scale, 1_000_000));
            let right = chi_square(&seen, &masses(scale as f64));
            assert!(right.is_plausible(), "b = {scale}: {right:?}");
            for wrong in [0.99, 1.01] {
                let off = chi_square(&seen, &masses(wrong * scale as f64));
                assert!(!off.is_plausible(), "b = {scale} × {wrong}: {off:?}");
            }
        }
    }

    fn laplace_cdf(z: f64) -> f64 {
        if z < 0.0 { 0.5 * z.exp() } else { 1.0 - 0.5 * (-z).exp() }
    }

    #[test]
    fn full_scale_noise_is_laplace_and_would_not_be_at_a_scale_one_percent_off() {
        let scale = (1 << 28) + 1;
        let sample = standardised(&draws(1, scale, 3_000_000), scale);
        let right = kolmogorov_smirnov(&sample, laplace_cdf);
        assert!(right < KOLMOGOROV_THRESHOLD, "{right}");
        for wrong in [0.99, 1.01] {
            let off = kolmogorov_smirnov(&sample, |z| laplace_cdf(z / wrong));
            assert!(off > KOLMOGOROV_THRESHOLD, "× {wrong}: {off}");
        }
    }

    #[test]
    fn full_scale_noise_has_the_variance_of_a_laplace_and_even_last_bits() {
        let (scale, n) = (400_000_000_u64, 300_000.0_f64);
        let sample = draws(4, scale, n as usize);
        let moment = |power: i32| {
            sample.iter().map(|drawn| (*drawn as f64 / scale as f64).powi(power)).sum::<f64>() / n
        };
        // Five standard errors each: E z² = 2, E z⁴ = 24.
        assert!(moment(1).abs() < 5.0 * (2.0 / n).sqrt(), "{}", moment(1));
        assert!((moment(2) - 2.0).abs() < 5.0 * (20.0 / n).sqrt(), "{}", moment(2));
        let odd = sample.iter().filter(|drawn| *drawn % 2 != 0).count() as f64;
        assert!((odd / n - 0.5).abs() < 2.5 / n.sqrt(), "{odd}");
    }

    /// The claims of the module's documentation, on small scales.
    #[test]
    fn the_discrete_curve_touches_the_continuous_one_and_little_slack_covers_it() {
        for (steps, shift) in [(5.0_f64, 3_i32), (8.0, 8), (20.0, 31)] {
            let p = (-1.0 / steps).exp();
            let mass = |k: i32| (1.0 - p) / (1.0 + p) * p.powi(k.abs());
            let delta = |epsilon: f64| -> f64 {
                let gain = |k: i32| mass(k) - epsilon.exp() * mass(k - shift);
                (-2000..=2000).map(|k| gain(k).max(0.0)).sum()
            };
            let continuous = |epsilon: f64, sure: f64| 1.0 - (0.5 * (epsilon - sure)).exp();
            let sure = f64::from(shift) / steps;
            for touch in 0..=shift / 2 {
                let epsilon = sure - 2.0 * f64::from(touch) / steps;
                assert!((delta(epsilon) - continuous(epsilon, sure)).abs() < 1e-12);
            }
            for part in 0..100 {
                let epsilon = sure * f64::from(part) / 100.0;
                let covered = continuous(epsilon, sure + 0.25 / (steps * steps));
                assert!(delta(epsilon) <= covered, "{steps}, {shift}, {epsilon}");
            }
        }
    }

    #[test]
    fn noise_is_added_to_the_rounded_value_and_stays_on_the_grid() {
        let noise = DiscreteLaplace::at_least(1e-3).unwrap();
        let grid = noise.grid();
        let with = |values: &[f64]| {
            noise.perturb(&mut NoiseGenerator::insecure_from_seed(6), values).unwrap()
        };
        let values = [0.0, 0.25, -0.3, 0.6 * grid, -7.4 * grid];
        for ((noisy, pure), value) in with(&values).iter().zip(with(&[0.0; 5])).zip(values) {
            assert_eq!(noisy - pure, (value / grid).round() * grid);
            assert_eq!((noisy / grid).fract(), 0.0);
        }
        let mut generator = NoiseGenerator::insecure_from_seed(6);
        assert!(noise.perturb(&mut generator, &[1.0, f64::NAN]).is_err());
        assert_eq!(generator.words(), 0);
    }

    proptest! {
        /// Rounding moves two vectors apart by at most one grid step per coordinate.
        #[test]
        fn rounding_costs_one_grid_step_of_sensitivity_per_coordinate(
            pairs in proptest::collection::vec((-1e4..1e4, -1e4..1e4), 1..8), scale in 0.1..10.0,
        ) {
            let noise = DiscreteLaplace::at_least(scale).unwrap();
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let with = |values: &[f64]| {
                noise.perturb(&mut NoiseGenerator::insecure_from_seed(9), values).unwrap()
            };
            let distance = |a: &[f64], b: &[f64]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::abs(a - b)).sum()
            };
            let slack = noise.sensitivity_slack(a.len() as u64);
            // The sums are exact; the differences of a and b are not.
            let rounding = a.len() as f64 * 2e4 * f64::EPSILON;
            prop_assert!(distance(&with(&a), &with(&b)) <= distance(&a, &b) + slack + rounding);
        }
    }
}
