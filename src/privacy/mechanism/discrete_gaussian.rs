//! The discrete Gaussian on a dyadic grid (Canonne, Kamath, Steinke, "The Discrete
//! Gaussian for Differential Privacy", 2020), sampled exactly.
//!
//! A floating-point Gaussian leaks through its last bits, and so does adding noise
//! to an off-grid value in floating point. Here values are first rounded to a grid
//! of power-of-two step, and both the noise and the addition are integers; only the
//! sum is turned into a double, as post-processing.
//!
//! All arithmetic is of fixed width and cannot overflow: σ ≤ 2²⁹ steps, so Laplace
//! proposals stay below 1024·2²⁹ = 2³⁹ (larger ones are rejected), their squares
//! below 2⁷⁸ in a `u128`, 2σ² ≤ 2⁵⁹ in a `u64`, values at or below 2⁶¹, and the sum
//! below 2⁶² in an `i64`. Rejecting larger proposals conditions the noise on
//! |Z| < 1024σ, which leaves out a mass below e^{−500 000}: no guarantee that can be
//! written as a double notices.
//!
//! The time a draw takes depends on the noise drawn. This is one of the side channels
//! that halflight does not close.

use super::coin::{bernoulli_exp, bernoulli_exp_fraction};
use super::generator::NoiseGenerator;
use super::grid::{LARGEST_SCALE, SMALLEST_SCALE, exponent_of, power_of_two};
use crate::error::{Error, Result};

/// σ lies between 2^`FINENESS` and twice that many grid steps.
const FINENESS: i32 = 28;
/// Values are held within ± this many grid steps: 2⁶¹.
const REACH: f64 = (1_u64 << 61) as f64;
/// Laplace proposals from this many scales on are rejected.
const PROPOSAL_LIMIT: u64 = 1024;

/// Noise `grid · Z` with Z an exact discrete Gaussian of integer scale `steps`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscreteGaussian {
    /// σ in grid steps, in [2²⁸, 2²⁹].
    steps: u64,
    /// The grid step is 2^exponent.
    exponent: i32,
}

impl DiscreteGaussian {
    /// The finest grid for a wanted σ; the resulting σ is never smaller, and larger
    /// by at most one part in 2²⁸.
    pub fn at_least(sigma: f64) -> Result<Self> {
        if !(SMALLEST_SCALE..=LARGEST_SCALE).contains(&sigma) {
            return Err(Error::usage(format!("noise of σ = {sigma} cannot be drawn"))
                .cure("σ must be between 1e-150 and 1e150: change the unit of the data"));
        }
        let exponent = exponent_of(sigma) - FINENESS;
        let steps = (sigma * power_of_two(-exponent)).ceil() as u64;
        Ok(Self { steps, exponent })
    }

    /// Reads an event's scale back; refuses a σ that is not on the grid.
    pub fn from_event(sigma: f64, grid: f64) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::refused(format!(
                "noise of σ = {sigma} on a grid of {grid} cannot be drawn: {why}"
            )))
        };
        if grid == 0.0 {
            return refuse("ideal continuous noise exists on paper only");
        }
        if !(SMALLEST_SCALE..=2.0 * LARGEST_SCALE).contains(&sigma) {
            return refuse("σ must be between 1e-150 and 1e150");
        }
        // σ is in range, so a grid that passes the next test is an ordinary number.
        let ratio = sigma / grid;
        let range = power_of_two(FINENESS)..=power_of_two(FINENESS + 1);
        if !range.contains(&ratio) {
            return refuse("σ must be 2^28 to 2^29 grid steps");
        }
        let exponent = exponent_of(grid);
        if grid != power_of_two(exponent) {
            return refuse("the grid must be a power of two");
        }
        // Dividing by a power of two is exact.
        if ratio.fract() != 0.0 {
            return refuse("σ must be an integer number of grid steps");
        }
        Ok(Self { steps: ratio as u64, exponent })
    }

    pub fn sigma(&self) -> f64 {
        self.steps as f64 * self.grid()
    }

    pub fn grid(&self) -> f64 {
        power_of_two(self.exponent)
    }

    /// Rounds `values` to the grid and adds independent noise. Values beyond ±2⁶¹
    /// grid steps are moved there, which brings neighbours only closer.
    pub fn perturb(&self, generator: &mut NoiseGenerator, values: &[f64]) -> Result<Vec<f64>> {
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::failed(format!(
                "number {} of a release is {}, before any noise",
                index + 1,
                values[index]
            ))
            .cure("check the data for values that are not numbers, and the bounds for overflow"));
        }
        let (grid, per_grid) = (self.grid(), power_of_two(-self.exponent));
        let noisy = values.iter().map(|value| {
            let point = (value * per_grid).round_ties_even().clamp(-REACH, REACH) as i64;
            (point + draw(generator, self.steps)) as f64 * grid
        });
        Ok(noisy.collect())
    }
}

/// One draw with P(k) ∝ e^{−k²/2σ²}, for 1 ≤ σ ≤ 2²⁹.
///
/// A Laplace proposal of scale σ, ∝ e^{−|y|/σ}, is accepted with probability
/// e^{−(|y|−σ)²/2σ²}; their product is e^{−y²/2σ²} but for a constant.
fn draw(generator: &mut NoiseGenerator, sigma: u64) -> i64 {
    loop {
        let proposal = draw_laplace(generator, sigma);
        let excess = u128::from(proposal.unsigned_abs().abs_diff(sigma));
        if bernoulli_exp(generator, excess * excess, 2 * sigma * sigma) {
            return proposal;
        }
    }
}

/// One draw with P(k) ∝ e^{−|k|/scale}, for |k| < 1024·scale.
fn draw_laplace(generator: &mut NoiseGenerator, scale: u64) -> i64 {
    loop {
        // |k| = remainder + scale·multiple, and e^{−|k|/scale} factors accordingly.
        let remainder = generator.below(scale);
        if !bernoulli_exp_fraction(generator, remainder, scale) {
            continue;
        }
        let mut multiple = 0;
        while multiple < PROPOSAL_LIMIT && bernoulli_exp_fraction(generator, 1, 1) {
            multiple += 1;
        }
        let negative = generator.below(2) == 1;
        let magnitude = (remainder + scale * multiple) as i64;
        // Zero has one sign only.
        if multiple < PROPOSAL_LIMIT && !(negative && magnitude == 0) {
            return if negative { -magnitude } else { magnitude };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::special::log_normal_cdf;

    fn draws(seed: u64, sigma: u64, count: usize) -> Vec<i64> {
        let mut generator = NoiseGenerator::insecure_from_seed(seed);
        (0..count).map(|_| draw(&mut generator, sigma)).collect()
    }

    /// χ² of `sample` against the discrete Gaussian of scale `sigma`, and its degrees
    /// of freedom. Cells that expect fewer than ten are pooled.
    fn chi_square(sample: &[i64], sigma: f64) -> (f64, f64) {
        let weight = |k: i64| (-0.5 * (k as f64 / sigma).powi(2)).exp();
        let total: f64 = (-200..=200).map(weight).sum();
        let (mut statistic, mut cells) = (0.0, 0.0);
        let (mut pooled_seen, mut pooled_expected) = (sample.len() as f64, sample.len() as f64);
        for k in -200..=200 {
            let expected = sample.len() as f64 * weight(k) / total;
            if expected >= 10.0 {
                let seen = sample.iter().filter(|drawn| **drawn == k).count() as f64;
                statistic += (seen - expected).powi(2) / expected;
                cells += 1.0;
                pooled_seen -= seen;
                pooled_expected -= expected;
            }
        }
        (statistic + (pooled_seen - pooled_expected).powi(2) / pooled_expected.max(1.0), cells)
    }

    #[test]
    fn small_scales_follow_the_exact_masses_and_would_not_at_a_scale_three_percent_off() {
        for sigma in [1, 2, 3, 7] {
            let sample = draws(sigma, sigma, 200_000);
            let (statistic, freedom) = chi_square(&sample, sigma as f64);
            // Six standard deviations of χ².
            let threshold = freedom + 6.0 * (2.0 * freedom).sqrt();
            assert!(statistic < threshold, "σ = {sigma}: χ² = {statistic}, {freedom} cells");
            for wrong in [0.97, 1.03] {
                let (statistic, _) = chi_square(&sample, wrong * sigma as f64);
                assert!(statistic > threshold, "σ = {sigma} × {wrong}: χ² = {statistic}");
            }
        }
    }

    /// Kolmogorov–Smirnov distance to N(0, scale²), times the root of the sample size.
    fn kolmogorov_smirnov(sorted: &[i64], scale: f64) -> f64 {
        let n = sorted.len() as f64;
        let distances = sorted.iter().enumerate().map(|(index, drawn)| {
            let expected = log_normal_cdf(*drawn as f64 / scale).exp();
            (expected - index as f64 / n).abs().max((expected - (index + 1) as f64 / n).abs())
        });
        distances.fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn full_scale_noise_is_gaussian_and_would_not_be_at_a_scale_three_percent_off() {
        for (seed, sigma) in [(1, 1 << 28), (2, (1 << 28) + 1), (3, 1 << 29)] {
            let mut sample = draws(seed, sigma, 200_000);
            sample.sort_unstable();
            // Exceeded once in a thousand.
            let threshold = 1.95;
            let right = kolmogorov_smirnov(&sample, sigma as f64);
            assert!(right < threshold, "σ = {sigma}: {right}");
            for wrong in [0.97, 1.03] {
                let statistic = kolmogorov_smirnov(&sample, wrong * sigma as f64);
                assert!(statistic > threshold, "σ = {sigma} × {wrong}: {statistic}");
            }
        }
    }

    #[test]
    fn full_scale_noise_has_variance_kurtosis_and_independence_of_a_gaussian() {
        let (sigma, n) = (400_000_000_u64, 300_000.0_f64);
        let sample = draws(4, sigma, n as usize);
        let z: Vec<f64> = sample.iter().map(|drawn| *drawn as f64 / sigma as f64).collect();
        let moment = |power: i32| z.iter().map(|z| z.powi(power)).sum::<f64>() / n;
        let correlation = z.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n;
        // Five standard errors each.
        assert!(moment(1).abs() < 5.0 / n.sqrt(), "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{}", moment(2));
        assert!((moment(4) - 3.0).abs() < 5.0 * (96.0 / n).sqrt(), "{}", moment(4));
        assert!(correlation.abs() < 5.0 / n.sqrt(), "{correlation}");
        // A floating-point sampler shows in the last bits.
        let odd = sample.iter().filter(|drawn| *drawn % 2 != 0).count() as f64;
        assert!((odd / n - 0.5).abs() < 2.5 / n.sqrt(), "{odd}");
    }

    #[test]
    fn noise_is_added_to_the_rounded_value_and_stays_on_the_grid() {
        let noise = DiscreteGaussian::at_least(1e-3).unwrap();
        let grid = noise.grid();
        let with = |values: &[f64]| {
            noise.perturb(&mut NoiseGenerator::insecure_from_seed(6), values).unwrap()
        };
        let values = [0.0, 0.25, -0.3, 1e-13, 0.4 * grid, 0.6 * grid, -7.4 * grid];
        let pure = with(&[0.0; 7]);
        for ((noisy, pure), value) in with(&values).iter().zip(&pure).zip(values) {
            assert_eq!(noisy - pure, (value / grid).round() * grid);
            assert_eq!((noisy / grid).fract(), 0.0);
        }
        assert!(pure.iter().all(|noise| *noise != 0.0), "{pure:?}");
    }

    #[test]
    fn huge_values_saturate_and_numbers_that_are_none_are_refused() {
        let noise = DiscreteGaussian::at_least(1.0).unwrap();
        let with =
            |value: f64| noise.perturb(&mut NoiseGenerator::insecure_from_seed(6), &[0.0, value]);
        let edge = 2.0_f64.powi(61 - 28);
        assert_eq!(with(f64::MAX).unwrap(), with(edge).unwrap());
        assert_eq!(with(-1e300).unwrap(), with(-edge).unwrap());
        assert_ne!(with(-edge).unwrap(), with(edge).unwrap());
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(with(value).unwrap_err().to_string().contains("number 2 of a release"));
        }
    }

    #[test]
    fn scales_that_cannot_be_drawn_are_refused() {
        for sigma in [0.0, -1.0, 1e-151, 1e151, f64::NAN, f64::INFINITY] {
            assert!(DiscreteGaussian::at_least(sigma).is_err(), "{sigma}");
            assert!(DiscreteGaussian::from_event(sigma, sigma * 2.0_f64.powi(-28)).is_err());
        }
        let grid = 2.0_f64.powi(-10);
        let steps = f64::from(3 << 27);
        assert!(DiscreteGaussian::from_event(grid * steps, grid).is_ok());
        for (sigma, grid, why) in [
            (grid * steps, 0.0, "on paper only"),
            (grid * (steps + 0.5), grid, "integer number"),
            (steps, 0.75, "power of two"),
            (grid * steps / 4.0, grid, "2^28 to 2^29"),
            (grid * steps * 4.0, grid, "2^28 to 2^29"),
            (grid * steps, -grid, "2^28 to 2^29"),
            (grid * steps, f64::NAN, "2^28 to 2^29"),
        ] {
            let error = DiscreteGaussian::from_event(sigma, grid).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn both_ends_of_the_range_give_finite_noise_of_the_right_size() {
        for sigma in [1e-150, 1e150] {
            let noise = DiscreteGaussian::at_least(sigma).unwrap();
            let mut generator = NoiseGenerator::insecure_from_seed(8);
            let noisy = noise.perturb(&mut generator, &[0.0, 3.0 * sigma, f64::MAX]).unwrap();
            assert!(noisy.iter().all(|value| value.is_finite()), "{noisy:?}");
            assert!(noisy[0].abs() < 7.0 * sigma && (noisy[1] / sigma - 3.0).abs() < 7.0);
        }
    }

    proptest! {
        #[test]
        fn the_grid_is_the_finest_and_sigma_is_never_less(log_sigma in -345.0..345.0) {
            let wanted = f64::exp(log_sigma);
            let noise = DiscreteGaussian::at_least(wanted).unwrap();
            let sigma = noise.sigma();
            prop_assert!(sigma >= wanted && sigma <= wanted * (1.0 + 2.0_f64.powi(-28)));
            prop_assert!(noise.grid() <= wanted * 2.0_f64.powi(-28));
            prop_assert!(noise.grid() >= wanted * 2.0_f64.powi(-29));
            prop_assert_eq!(DiscreteGaussian::from_event(sigma, noise.grid()).unwrap(), noise);
        }

        /// Rounding moves two values apart by one grid step at most.
        #[test]
        fn rounding_costs_one_grid_step_of_sensitivity(
            a in -1e4..1e4, b in -1e4..1e4, sigma in 0.1..10.0,
        ) {
            let noise = DiscreteGaussian::at_least(sigma).unwrap();
            let with = |value: f64| {
                noise.perturb(&mut NoiseGenerator::insecure_from_seed(9), &[value]).unwrap()[0]
            };
            let apart = f64::abs(with(a) - with(b));
            // The sums are exact; the difference of a and b is not.
            let rounding = 2e4 * f64::EPSILON;
            prop_assert!(apart <= f64::abs(a - b) + noise.grid() + rounding);
        }
    }
}
