//! Poisson samples: every record is included with exactly the same probability, independently of
//! the others.
//!
//! This is the sampling that [`QueryKind::SampledSum`] is accounted for. A batch of a fixed size is
//! another mechanism with another guarantee, and cannot be passed as a [`PoissonSample`]:
//!
//! ```compile_fail,E0451
//! use halflight_dp::mechanism::PoissonSample;
//! let batch = PoissonSample { members: (0..512).collect() };
//! ```
//!
//! A sample is drawn, and its size varies:
//!
//! ```
//! use halflight_dp::mechanism::{NoiseGenerator, PoissonSample};
//!
//! let mut generator = NoiseGenerator::from_os()?;
//! let sample = PoissonSample::draw(&mut generator, 0.01, 60_000)?;
//! assert!(sample.members().iter().all(|member| *member < 60_000));
//! assert!((300..900).contains(&sample.members().len()));
//! # Ok::<(), halflight_dp::Error>(())
//! ```
//!
//! [`QueryKind::SampledSum`]: crate::accountant::QueryKind::SampledSum

use super::generator::NoiseGenerator;
use crate::error::{Error, Result};

/// Which records are in one Poisson sample. It is as secret as the records: it has no `Debug`, and
/// is only lent to the query of its release.
pub struct PoissonSample {
    members: Vec<usize>,
}

impl PoissonSample {
    /// Every one of `population` records with exactly the probability `rate`.
    pub fn draw(generator: &mut NoiseGenerator, rate: f64, population: usize) -> Result<Self> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(Error::usage(format!("a sampling rate of {rate} is not a probability"))
                .cure("the rate must be above 0 and at most 1"));
        }
        let mut members = Vec::with_capacity((1.1 * rate * population as f64) as usize + 16);
        for start in (0..population).step_by(64) {
            let mut heads = sixty_four_coins(generator, rate);
            while heads != 0 {
                let member = start + heads.trailing_zeros() as usize;
                if member < population {
                    members.push(member);
                }
                heads &= heads - 1;
            }
        }
        Ok(Self { members })
    }

    /// The sample of an earlier rehearsal, for audits.
    #[doc(hidden)]
    pub fn again(members: Vec<usize>) -> Self {
        Self { members }
    }

    /// The sample's records by their position among all, ascending.
    pub fn members(&self) -> &[usize] {
        &self.members
    }
}

/// One bit each, set with probability `rate` exactly.
///
/// Every coin compares a uniform number's binary digits with those of `rate`; the first difference
/// decides. All 64 coins look at the same digit of `rate` at a time, with one word of random bits
/// per digit. Each digit decides half of the undecided coins, so about eight words are enough for
/// any rate.
pub fn sixty_four_coins(generator: &mut NoiseGenerator, rate: f64) -> u64 {
    if rate == 1.0 {
        return u64::MAX;
    }
    let (mut heads, mut undecided, mut rest) = (0, u64::MAX, rate);
    while undecided != 0 && rest > 0.0 {
        let uniform = generator.word();
        // Both exact: the doubling and, in [1, 2), the difference.
        rest *= 2.0;
        if rest >= 1.0 {
            rest -= 1.0;
            heads |= undecided & !uniform;
            undecided &= uniform;
        } else {
            undecided &= !uniform;
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use static_assertions::assert_not_impl_any;

    use super::*;
    use halflight_testing::statistics::chi_square;

    assert_not_impl_any!(
        PoissonSample: std::fmt::Debug, Clone, Default, serde::Serialize, From<Vec<usize>>
    );

    fn sample(generator: &mut NoiseGenerator, rate: f64, population: usize) -> Vec<usize> {
        PoissonSample::draw(generator, rate, population).unwrap().members
    }

    #[test]
    fn sample_sizes_are_binomial_and_would_not_be_at_a_rate_one_percent_off() {
        let (population, rate, repeats) = (1000_usize, 0.3, 20_000);
        let mut generator = NoiseGenerator::insecure_from_seed(1);
        let mut counts = vec![0.0; population + 1];
        for _ in 0..repeats {
            counts[sample(&mut generator, rate, population).len()] += 1.0;
        }
        let masses = |rate: f64| -> Vec<f64> {
            let first = population as f64 * (1.0 - rate).ln();
            let steps = (0..population).scan(first, |log, k| {
                *log += ((population - k) as f64 / (k + 1) as f64 * rate / (1.0 - rate)).ln();
                Some(log.exp())
            });
            std::iter::once(first.exp()).chain(steps).collect()
        };
        let right = chi_square(&counts, &masses(rate));
        assert!(right.is_plausible(), "{right:?}");
        for wrong in [0.99, 1.01] {
            let off = chi_square(&counts, &masses(rate * wrong));
            assert!(!off.is_plausible(), "× {wrong}: {off:?}");
        }
    }

    #[test]
    fn every_record_is_as_likely_and_independent_of_its_neighbour() {
        let (population, rate, repeats) = (130_usize, 0.37, 40_000.0_f64);
        let mut generator = NoiseGenerator::insecure_from_seed(2);
        let (mut each, mut pairs) = (vec![0.0_f64; population], 0.0);
        for _ in 0..repeats as usize {
            let members = sample(&mut generator, rate, population);
            assert!(members.is_sorted() && members.iter().all(|member| *member < population));
            for member in &members {
                each[*member] += 1.0;
            }
            pairs += members.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
        }
        let error = (repeats * rate * (1.0 - rate)).sqrt();
        for (record, count) in each.iter().enumerate() {
            assert!((count - repeats * rate).abs() < 5.0 * error, "record {record}: {count}");
        }
        // Sums of neighbours' products, of variance about rate² + 2·rate³ − 3·rate⁴ each.
        let expected = repeats * (population - 1) as f64 * rate * rate;
        let variance = rate.powi(2) + 2.0 * rate.powi(3) - 3.0 * rate.powi(4);
        let allowed = 5.0 * (repeats * (population - 1) as f64 * variance).sqrt();
        assert!((pairs - expected).abs() < allowed, "{pairs} of {expected}");
    }

    #[test]
    fn rates_are_met_at_both_ends() {
        let mut generator = NoiseGenerator::insecure_from_seed(3);
        assert_eq!(sample(&mut generator, 1.0, 70), (0..70).collect::<Vec<_>>());
        assert!(sample(&mut generator, f64::MIN_POSITIVE, 100_000).is_empty());
        assert!(sample(&mut generator, 0.5, 0).is_empty());
        // Just below one: a tail in 10⁵ records has a chance of 10⁻¹¹.
        assert_eq!(sample(&mut generator, 1.0 - f64::EPSILON / 2.0, 100_000).len(), 100_000);
        let population = 4_000_000.0_f64;
        for rate in [1e-4, 0.001, 0.125, 0.9] {
            let size = sample(&mut generator, rate, population as usize).len() as f64;
            let error = (population * rate * (1.0 - rate)).sqrt();
            assert!((size - population * rate).abs() < 5.0 * error, "{rate}: {size}");
        }
    }

    #[test]
    fn rates_that_are_no_probability_are_refused() {
        let mut generator = NoiseGenerator::insecure_from_seed(4);
        for rate in [0.0, -0.1, 1.0 + f64::EPSILON, f64::NAN, f64::INFINITY] {
            assert!(PoissonSample::draw(&mut generator, rate, 10).is_err(), "{rate}");
        }
    }
}
