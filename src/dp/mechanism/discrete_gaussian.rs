//! The discrete Gaussian on a dyadic grid (Canonne, Kamath, Steinke, "The Discrete Gaussian for
//! Differential Privacy", 2020), sampled exactly. Module `grid` explains the grid.
//!
//! All arithmetic is of fixed width and cannot overflow: σ ≤ 2³¹ steps (2²⁹ but for shares), so
//! Laplace proposals stay below 1024·2³¹ = 2⁴¹ (larger ones are rejected), their squares below 2⁸² in
//! a `u128`, and 2σ² ≤ 2⁶³ in a `u64`. Rejecting larger proposals conditions the noise on |Z| < 1024σ, which leaves out
//! a mass below e^{−500 000}. This changes no guarantee that can be written as a double.
//!
//! The time a draw takes depends on the noise drawn: a side channel that halflight does not close.

use super::coin::bernoulli_exp;
use super::discrete_laplace::draw_laplace;
use super::generator::NoiseGenerator;
use super::grid::{GriddedScale, exponent_of, power_of_two, refuse_infinite, weighted_point};
use crate::error::{Error, Result};

/// Laplace proposals of at least this many scales are rejected.
const PROPOSAL_LIMIT: u64 = 1024;

/// Noise `grid · Z` with Z an exact discrete Gaussian of 2²⁸ to 2²⁹ grid steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscreteGaussian(GriddedScale);

impl DiscreteGaussian {
    /// The finest grid for a wanted σ; the resulting σ is never smaller, and larger
    /// by at most one part in 2²⁸.
    pub fn at_least(sigma: f64) -> Result<Self> {
        GriddedScale::at_least("σ", sigma).map(Self)
    }

    /// Reads an event's scale back; refuses a σ that is not on the grid.
    pub fn from_event(sigma: f64, grid: f64) -> Result<Self> {
        GriddedScale::from_event("σ", sigma, grid).map(Self)
    }

    /// Standard deviation, in absolute units.
    pub fn sigma(&self) -> f64 {
        self.0.scale()
    }

    /// Step of the grid, a power of two.
    pub fn grid(&self) -> f64 {
        self.0.grid()
    }

    /// The amount that rounding adds to the ℓ₂ distance of neighbours: one step per coordinate.
    pub fn sensitivity_slack(&self, coordinates: u64) -> f64 {
        self.grid() * (coordinates as f64).sqrt()
    }

    /// Rounds `values` to the grid and adds independent noise. Values beyond ±2⁶¹ grid steps are
    /// moved to this limit, which only brings neighbours closer.
    pub fn perturb(&self, generator: &mut NoiseGenerator, values: &[f64]) -> Result<Vec<f64>> {
        self.0.perturb(generator, values, draw)
    }
}

/// A site's share of the Gaussian noise of a sum over several sites.
///
/// All sites have one grid. Each multiplies its value by its weight, rounds it, and adds a discrete
/// Gaussian; the sum of these is a discrete Gaussian but for a part of e^{−10¹²} at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseShare {
    steps: u64,
    exponent: i32,
    weight: u64,
}

/// The most grid steps of a share's σ, and the fewest.
const SHARE_STEPS: std::ops::RangeInclusive<f64> = (1_u64 << 20) as f64..=(1_u64 << 31) as f64;
/// The largest weight.
const MOST_WEIGHT: u64 = 1 << 40;

impl NoiseShare {
    /// A grid on which rounding moves no site's weighted value by more than its weight times the
    /// grid of its own noise. For each site: its weight and the σ of its own noise.
    pub fn common_grid(sites: impl IntoIterator<Item = (u64, f64)>) -> Result<i32> {
        // The grid of a σ is at least 2^(exponent − 29).
        let finest = |(weight, sigma): (u64, f64)| match weight {
            1..=MOST_WEIGHT if sigma.is_normal() && sigma > 0.0 => {
                Some(exponent_of(sigma) - 29 + weight.ilog2() as i32)
            }
            _ => None,
        };
        let grids: Option<Vec<i32>> = sites.into_iter().map(finest).collect();
        grids.and_then(|grids| grids.into_iter().min()).ok_or_else(|| {
            Error::refused("the sites have no records, or noise that cannot be drawn")
        })
    }

    /// The share of σ `sigma` or a little more, on a grid of 2^`exponent`, of a site with this weight.
    pub fn at_least(sigma: f64, exponent: i32, weight: u64) -> Result<Self> {
        let steps = (sigma * power_of_two(-exponent)).ceil();
        if !SHARE_STEPS.contains(&steps) || !(1..=MOST_WEIGHT).contains(&weight) {
            return Err(Error::refused(
                "the sites would add noise of very different sizes, which cannot be shared",
            ));
        }
        Ok(Self { steps: steps as u64, exponent, weight })
    }

    /// Standard deviation of the share, in units of the weighted sum.
    pub fn sigma(&self) -> f64 {
        self.steps as f64 * power_of_two(self.exponent)
    }

    /// Step of the grid, a power of two.
    pub fn grid(&self) -> f64 {
        power_of_two(self.exponent)
    }

    /// Each value times the weight, rounded to the grid once, plus the share; in grid steps.
    pub fn perturb(&self, generator: &mut NoiseGenerator, values: &[f64]) -> Result<Vec<i128>> {
        refuse_infinite(values)?;
        let point = |value: &f64| weighted_point(*value, self.weight, self.exponent);
        let noisy = |value| point(value) + i128::from(draw(generator, self.steps));
        Ok(values.iter().map(noisy).collect())
    }
}

/// One draw with P(k) ∝ e^{−k²/2σ²}, for 1 ≤ σ ≤ 2³¹.
///
/// A Laplace proposal of scale σ, ∝ e^{−|y|/σ}, is accepted with probability e^{−(|y|−σ)²/2σ²};
/// their product is e^{−y²/2σ²} up to a constant.
fn draw(generator: &mut NoiseGenerator, sigma: u64) -> i64 {
    loop {
        let proposal = draw_laplace(generator, sigma);
        if proposal.unsigned_abs() >= PROPOSAL_LIMIT * sigma {
            continue;
        }
        let excess = u128::from(proposal.unsigned_abs().abs_diff(sigma));
        if bernoulli_exp(generator, excess * excess, 2 * sigma * sigma) {
            return proposal;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::special::log_normal_cdf;
    use halflight_testing::statistics::{
        KOLMOGOROV_THRESHOLD, chi_square, histogram, kolmogorov_smirnov, standardised,
        symmetric_masses,
    };

    fn draws(seed: u64, sigma: u64, count: usize) -> Vec<i64> {
        let mut generator = NoiseGenerator::insecure_from_seed(seed);
        (0..count).map(|_| draw(&mut generator, sigma)).collect()
    }

    #[test]
    fn small_scales_follow_the_exact_masses_and_would_not_at_a_scale_one_percent_off() {
        let masses = |sigma: f64| symmetric_masses(60, |k| (-0.5 * (k / sigma).powi(2)).exp());
        for sigma in [1, 2, 3, 7] {
            let seen = histogram(60, &draws(sigma, sigma, 400_000));
            let right = chi_square(&seen, &masses(sigma as f64));
            assert!(right.is_plausible(), "σ = {sigma}: {right:?}");
            for wrong in [0.99, 1.01] {
                let off = chi_square(&seen, &masses(wrong * sigma as f64));
                assert!(!off.is_plausible(), "σ = {sigma} × {wrong}: {off:?}");
            }
        }
    }

    fn normal_cdf(x: f64) -> f64 {
        log_normal_cdf(x).exp()
    }

    #[test]
    fn full_scale_noise_is_gaussian_and_would_not_be_at_a_scale_one_percent_off() {
        let scale = (1 << 28) + 1;
        let sample = standardised(&draws(1, scale, 3_000_000), scale);
        let right = kolmogorov_smirnov(&sample, normal_cdf);
        assert!(right < KOLMOGOROV_THRESHOLD, "{right}");
        for wrong in [0.99, 1.01] {
            let off = kolmogorov_smirnov(&sample, |z| normal_cdf(z / wrong));
            assert!(off > KOLMOGOROV_THRESHOLD, "× {wrong}: {off}");
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

    #[test]
    fn shares_of_sites_add_up_to_noise_of_the_sum_and_one_alone_has_its_part() {
        let sites = [(300, 0.02), (100, 0.06), (100, 0.06), (50, 0.12)];
        let exponent = NoiseShare::common_grid(sites).unwrap();
        let grid = power_of_two(exponent);
        for (weight, sigma) in sites {
            let own = DiscreteGaussian::at_least(sigma).unwrap();
            assert!(grid <= weight as f64 * own.grid() && grid > own.grid() / 8.0);
        }
        let wanted = 6.0 / 3.0_f64.sqrt();
        let shares =
            sites.map(|(weight, _)| NoiseShare::at_least(wanted, exponent, weight).unwrap());
        assert!(shares[0].sigma() >= wanted && shares[0].sigma() < wanted * (1.0 + 1e-6));
        let mut generator = NoiseGenerator::insecure_from_seed(3);
        let count = 100_000;
        let values = vec![0.25; count];
        let parts = shares.map(|share| share.perturb(&mut generator, &values).unwrap());
        let spread = |parts: &[Vec<i128>], centre: f64| {
            let numbers = (0..count).map(|at| parts.iter().map(|it| it[at]).sum::<i128>());
            let squares = numbers.map(|it| (it as f64 * grid - centre).powi(2));
            (squares.sum::<f64>() / count as f64).sqrt()
        };
        // Five standard errors.
        let near = |found: f64, right: f64| {
            assert!((found / right - 1.0).abs() < 5.0 / (2.0 * count as f64).sqrt(), "{found}");
        };
        near(spread(&parts, 0.25 * 550.0), 2.0 * wanted);
        near(spread(&parts[1..], 0.25 * 250.0), 6.0);
        near(spread(&parts[..1], 0.25 * 300.0), wanted);
    }

    #[test]
    fn shares_that_do_not_fit_one_grid_are_refused() {
        assert!(NoiseShare::common_grid([(0, 1.0)]).is_err());
        assert!(NoiseShare::common_grid([(1, 0.0)]).is_err());
        assert!(NoiseShare::common_grid([]).is_err());
        let exponent = NoiseShare::common_grid([(1, 1.0), (3, 1.0)]).unwrap();
        assert!(NoiseShare::at_least(3.9, exponent, 1).is_ok());
        for (sigma, weight) in [(4.1, 1), (1e-4, 1), (1.0, 0), (f64::NAN, 1)] {
            assert!(NoiseShare::at_least(sigma, exponent, weight).is_err(), "{sigma} {weight}");
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

        /// Rounding moves two values apart by at most one grid step.
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
