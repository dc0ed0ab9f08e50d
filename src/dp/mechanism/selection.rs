//! Choosing one of many candidates by private scores, sampled exactly.
//!
//! * [`ExponentialMechanism`]: P(i) ∝ exp(scoreᵢ/scale).
//! * [`PermuteAndFlip`]: candidates in random order, each taken with exp(−distance/scale).
//! * [`NoisyMaximum`]: the largest score plus Laplace noise, in the form that some papers print.
//!
//! **Rounding.** Only differences of scores matter, so scores are first turned into integers: how
//! many grid steps scoreᵢ lies below the largest, at most [`FARTHEST`]. A neighbour changes these
//! integers as follows. Let it move score i by Δᵢ, with maxΔ − minΔ ≤ range. Raising every score to
//! at least (largest − constant) moves each by something in [minΔ, maxΔ] still, since the largest
//! score itself moves by something in it; subtracting the largest is common to all. Then each
//! number is rounded twice, by the floating-point subtraction (half a unit in the last place of a
//! number of at most 2⁵¹ steps: a quarter step) and to the grid (half a step). So the integers'
//! changes have a range of at most range + 4·(¾) steps:
//!
//! > range on the grid ≤ range + 3·grid.
//!
//! Events carry this sum, so the accounting is for the actual draws: see
//! [`ExponentialMechanism::range_slack`], [`NoisyMaximum::sensitivity_slack`].
//!
//! The scores' range is a claim about the numbers that arrive here; it does not include the
//! floating-point error of computing them (one part in 10¹⁵ of the largest term).
//!
//! **Time.** The exponential mechanism proposes candidates until one is accepted: with m candidates
//! at most m proposals are expected, of about 20 ns each, for any scores. The actual number depends
//! on the scores: a side channel that halflight does not close.

use super::coin::bernoulli_exp;
use super::discrete_laplace::draw_laplace;
use super::generator::NoiseGenerator;
use super::grid::{
    GriddedScale, LARGEST_SCALE, SMALLEST_SCALE, exponent_of, finest_grid, power_of_two,
};
use crate::error::{Error, Result};

/// Scores are kept within this many grid steps of the largest: 2⁵¹.
const FARTHEST: f64 = (1_u64 << 51) as f64;
/// The bits of a double's fraction: every scale is an integer number of 2^(exponent − 52).
const FRACTION_BITS: i32 = 52;
/// A selection's grid step is 2^`FINENESS` times smaller than its scale (or a little more).
const FINENESS: i32 = 40;

/// One of the candidates with P(i) ∝ exp(scoreᵢ/scale), for any scale that a double can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialMechanism {
    /// The scale is mantissa · 2^(exponent − 52), in [2^exponent, 2^(exponent + 1)).
    mantissa: u64,
    exponent: i32,
}

impl ExponentialMechanism {
    /// Noise of this scale; refused where it is none.
    pub fn with_scale(scale: f64) -> Result<Self> {
        check_scale(scale)?;
        let exponent = exponent_of(scale);
        // Scaling by a power of two is exact.
        let mantissa = (scale * power_of_two(FRACTION_BITS - exponent)) as u64;
        Ok(Self { mantissa, exponent })
    }

    /// The amount that rounding the scores adds to their range: 3 grid steps of at most 2⁻⁴⁰
    /// scales. An event of this scale must state at least the planned range plus this.
    pub fn range_slack(scale: f64) -> f64 {
        3.0 * power_of_two(-FINENESS) * scale
    }

    /// Draws one candidate. Uniform proposals, each accepted with e^{−(how far below the
    /// largest score)/scale}: exact, with no sum of weights and no memory beyond the scores.
    pub fn select(&self, generator: &mut NoiseGenerator, scores: &[f64]) -> Result<usize> {
        let below = steps_below_largest(scores, self.exponent - FINENESS)?;
        loop {
            let index = generator.below(below.len() as u64) as usize;
            if self.accepts(generator, below[index]) {
                return Ok(index);
            }
        }
    }

    /// True with probability e^{−distance/scale}.
    fn accepts(&self, generator: &mut NoiseGenerator, steps_below: u64) -> bool {
        // In units of 2^(exponent − 52), like the mantissa; at most 2⁶³.
        let distance = steps_below << (FRACTION_BITS - FINENESS);
        bernoulli_exp(generator, u128::from(distance), self.mantissa)
    }
}

/// Candidates in random order, each taken with probability exp((scoreᵢ − largest)/scale), until one
/// is taken (McKenna and Sheldon, *Permute-and-Flip*, 2020). The largest always is.
///
/// Pure ε₀ = range/scale. It is the largest score plus exponential noise of this scale (Ding et
/// al., 2021), for which only differences count. A change of the scores with range R moves each, up
/// to a common shift, by at most R/2, and 2·(R/2)/scale is the bound of McKenna and Sheldon. Only
/// pure privacy is claimed: unlike the exponential mechanism it does not have bounded range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PermuteAndFlip(ExponentialMechanism);

impl PermuteAndFlip {
    /// Noise of this scale; refused where it is none.
    pub fn with_scale(scale: f64) -> Result<Self> {
        ExponentialMechanism::with_scale(scale).map(Self)
    }

    /// The amount that rounding the scores adds to their range, as for the exponential mechanism.
    pub fn range_slack(scale: f64) -> f64 {
        ExponentialMechanism::range_slack(scale)
    }

    /// Draws one candidate: exact.
    pub fn select(&self, generator: &mut NoiseGenerator, scores: &[f64]) -> Result<usize> {
        let below = steps_below_largest(scores, self.0.exponent - FINENESS)?;
        let mut left: Vec<usize> = (0..below.len()).collect();
        loop {
            let index = left.swap_remove(generator.below(left.len() as u64) as usize);
            if self.0.accepts(generator, below[index]) {
                return Ok(index);
            }
        }
    }
}

/// The largest score plus discrete Laplace noise wins; ties, as rare as one in 2²⁸, go to the
/// earlier candidate.
///
/// ε₀ = 2·sensitivity/scale: given the others' noise, candidate i wins exactly if its own
/// reaches some integer, and between neighbours that integer moves by no more than the range
/// of the change of the rounded scores, at most 2·sensitivity + 3 grid steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisyMaximum(GriddedScale);

impl NoisyMaximum {
    /// The finest grid for a wanted scale; the resulting scale is never smaller, and larger
    /// by at most one part in 2²⁸.
    pub fn at_least(scale: f64) -> Result<Self> {
        Self::from_event(GriddedScale::at_least("b", scale)?.scale())
    }

    /// Reads an event's scale back; refuses one that is not a whole number of grid steps.
    pub fn from_event(scale: f64) -> Result<Self> {
        // The event does not state the grid: it is the finest for the scale.
        GriddedScale::from_event("b", scale, finest_grid(scale)).map(Self)
    }

    /// b of the noise of each score.
    pub fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// The amount that rounding the scores adds to their sensitivity: half of the addition to the
    /// range.
    pub fn sensitivity_slack(&self) -> f64 {
        1.5 * self.0.grid()
    }

    /// The index of the candidate with the largest noisy score.
    pub fn select(&self, generator: &mut NoiseGenerator, scores: &[f64]) -> Result<usize> {
        let below = steps_below_largest(scores, self.0.exponent)?;
        let mut best = (i64::MIN, 0);
        for (index, below) in below.iter().enumerate() {
            let noisy = draw_laplace(generator, self.0.steps).saturating_sub(*below as i64);
            if noisy > best.0 {
                best = (noisy, index);
            }
        }
        Ok(best.1)
    }
}

/// The first of the largest scores: a selection without noise, for rehearsals.
pub fn largest(scores: &[f64]) -> Result<usize> {
    check_scores(scores)?;
    let first = |best: usize, next: usize| if scores[next] > scores[best] { next } else { best };
    Ok((0..scores.len()).fold(0, first))
}

/// How many steps of 2^`exponent` each score lies below the largest, up to [`FARTHEST`].
fn steps_below_largest(scores: &[f64], exponent: i32) -> Result<Vec<u64>> {
    let largest = scores[largest(scores)?];
    let per_step = power_of_two(-exponent);
    // A difference too large for a double is infinite, and also ends at the farthest.
    let steps = |score: &f64| ((largest - score) * per_step).min(FARTHEST).round_ties_even() as u64;
    Ok(scores.iter().map(steps).collect())
}

pub(super) fn check_scale(scale: f64) -> Result<()> {
    if (SMALLEST_SCALE..=LARGEST_SCALE).contains(&scale) {
        return Ok(());
    }
    Err(Error::usage(format!("a selection of scale {scale} cannot be drawn"))
        .cure("the scale must be between 1e-150 and 1e150: change the unit of the scores"))
}

fn check_scores(scores: &[f64]) -> Result<()> {
    if scores.is_empty() {
        return Err(Error::failed("there is no candidate to select"));
    }
    match scores.iter().position(|score| !score.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::failed(format!(
            "the score of candidate {} is {}, before any noise",
            index + 1,
            scores[index]
        ))
        .cure("check the data for values that are not numbers, and the bounds for overflow")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing::statistics::chi_square;

    fn counts(scale: f64, scores: &[f64], draws: usize) -> Vec<f64> {
        let mechanism = ExponentialMechanism::with_scale(scale).unwrap();
        let mut generator = NoiseGenerator::insecure_from_seed(1);
        let mut counts = vec![0.0; scores.len()];
        for _ in 0..draws {
            counts[mechanism.select(&mut generator, scores).unwrap()] += 1.0;
        }
        counts
    }

    /// P(i wins), by summing over i's own noise the probability that no other candidate reaches its
    /// sum; ties go to the earlier one.
    fn noisy_maximum_masses(scale: f64, scores: &[f64]) -> Vec<f64> {
        // On a fine lattice of its own, independent of the sampler's.
        let lattice = 2e-3 * scale;
        let p = (-lattice / scale).exp();
        let mass = |k: i64| (1.0 - p) / (1.0 + p) * p.powi(k.unsigned_abs() as i32);
        let at_most = |k: i64| match k {
            ..0 => p.powi(-k as i32) / (1.0 + p),
            _ => 1.0 - p.powi(k as i32 + 1) / (1.0 + p),
        };
        let points: Vec<i64> =
            scores.iter().map(|score| (score / lattice).round() as i64).collect();
        let wins = |i: usize| -> f64 {
            let others = |sum: i64| -> f64 {
                let other = |j: usize| at_most(sum - points[j] - i64::from(j < i));
                (0..points.len()).filter(|j| *j != i).map(other).product()
            };
            (-20_000..=20_000).map(|k| mass(k) * others(points[i] + k)).sum()
        };
        (0..points.len()).map(wins).collect()
    }

    fn noisy_counts(scale: f64, scores: &[f64], draws: usize) -> Vec<f64> {
        let mechanism = NoisyMaximum::at_least(scale).unwrap();
        let mut generator = NoiseGenerator::insecure_from_seed(4);
        let mut counts = vec![0.0; scores.len()];
        for _ in 0..draws {
            counts[mechanism.select(&mut generator, scores).unwrap()] += 1.0;
        }
        counts
    }

    #[test]
    fn a_noisy_maximum_wins_as_often_as_it_should_and_not_as_at_a_scale_one_percent_off() {
        let (scale, scores) = (0.7, [0.0, 2.5, 1.0, -1.0]);
        let seen = noisy_counts(scale, &scores, 1_000_000);
        let right = chi_square(&seen, &noisy_maximum_masses(scale, &scores));
        assert!(right.is_plausible(), "{right:?}");
        for wrong in [0.99, 1.01] {
            let off = chi_square(&seen, &noisy_maximum_masses(scale * wrong, &scores));
            assert!(!off.is_plausible(), "× {wrong}: {off:?}");
        }
    }

    #[test]
    fn the_scale_of_a_noisy_maximum_is_never_less_and_comes_back_from_its_event() {
        for scale in [1e-150, 0.1, 1.0, 1.0 - f64::EPSILON / 2.0, 1e150] {
            let noise = NoisyMaximum::at_least(scale).unwrap();
            assert!(noise.scale() >= scale && noise.scale() <= scale * (1.0 + 2e-8 / 5.0));
            assert_eq!(NoisyMaximum::from_event(noise.scale()).unwrap(), noise);
            assert!(noise.sensitivity_slack() <= 1.5 * 2.0_f64.powi(-28) * noise.scale());
        }
        assert!(NoisyMaximum::from_event(0.1).unwrap_err().to_string().contains("integer number"));
        assert!(NoisyMaximum::from_event(f64::NAN).is_err());
    }

    fn masses(scale: f64, scores: &[f64]) -> Vec<f64> {
        let weights: Vec<f64> = scores.iter().map(|score| (score / scale).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    #[test]
    fn candidates_are_drawn_with_the_exact_masses_and_would_not_be_at_a_scale_one_percent_off() {
        for (scale, scores) in [
            (1.0, vec![0.0, 1.0, 2.0, 3.0]),
            (0.3, vec![0.1, 0.1, -0.4, 0.7, -0.9, 1.0]),
            (7.1e80, vec![1e81, 3e81, -2e81]),
        ] {
            let seen = counts(scale, &scores, 1_000_000);
            let right = chi_square(&seen, &masses(scale, &scores));
            assert!(right.is_plausible(), "scale {scale}: {right:?}");
            for wrong in [0.99, 1.01] {
                let off = chi_square(&seen, &masses(scale * wrong, &scores));
                assert!(!off.is_plausible(), "scale {scale} × {wrong}: {off:?}");
            }
        }
    }

    /// P(i is taken): the probability that i comes after a set S of others that were all refused,
    /// summed over all S and their places in the order.
    fn flip_masses(scale: f64, scores: &[f64]) -> Vec<f64> {
        let largest = scores.iter().copied().fold(f64::MIN, f64::max);
        let accept: Vec<f64> =
            scores.iter().map(|score| ((score - largest) / scale).exp()).collect();
        let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
        let n = scores.len();
        let mass = |i: usize| -> f64 {
            let before = (0..1_usize << n).filter(|set| set >> i & 1 == 0);
            let refused = before.map(|set| {
                let members = (0..n).filter(|j| set >> j & 1 == 1);
                let size = set.count_ones() as usize;
                let orders = factorial(size) * factorial(n - 1 - size) / factorial(n);
                orders * members.map(|j| 1.0 - accept[j]).product::<f64>()
            });
            accept[i] * refused.sum::<f64>()
        };
        (0..n).map(mass).collect()
    }

    #[test]
    fn permute_and_flip_has_the_exact_masses_and_beats_the_exponential_mechanism() {
        for (scale, scores) in
            [(1.0, vec![0.0, 1.0, 2.0, 3.0]), (0.3, vec![0.1, 0.1, -0.4, 0.7, -0.9, 1.0])]
        {
            let mechanism = PermuteAndFlip::with_scale(scale).unwrap();
            let mut generator = NoiseGenerator::insecure_from_seed(8);
            let mut seen = vec![0.0; scores.len()];
            for _ in 0..1_000_000 {
                seen[mechanism.select(&mut generator, &scores).unwrap()] += 1.0;
            }
            let flip = flip_masses(scale, &scores);
            assert!(chi_square(&seen, &flip).is_plausible());
            for wrong in [0.99, 1.01] {
                assert!(!chi_square(&seen, &flip_masses(scale * wrong, &scores)).is_plausible());
            }
            let exponential = masses(scale, &scores);
            let best = largest(&scores).unwrap();
            assert!(flip[best] > exponential[best]);
        }
    }

    proptest! {
        /// The guarantee itself, from the exact masses: a change of range R costs at most R/scale.
        #[test]
        fn permute_and_flip_keeps_its_promise_for_any_neighbours(
            pairs in proptest::collection::vec((-3.0..3.0_f64, 0.0..1.0_f64), 2..7),
            shift in -2.0..2.0_f64,
        ) {
            let scores: Vec<f64> = pairs.iter().map(|(score, _)| *score).collect();
            let neighbour: Vec<f64> = pairs.iter().map(|(score, by)| score + by + shift).collect();
            let (ours, theirs) = (flip_masses(0.5, &scores), flip_masses(0.5, &neighbour));
            for (a, b) in ours.iter().zip(&theirs) {
                prop_assert!((a / b).ln().abs() <= 2.0 + 1e-9);
            }
        }
    }

    #[test]
    fn equal_scores_are_equally_likely_and_far_ones_never_drawn() {
        let seen = counts(1e-3, &[5.0, 5.0, 5.0, 4.0, -f64::MAX], 90_000);
        assert!(chi_square(&seen[..3], &[1.0 / 3.0; 3]).is_plausible(), "{seen:?}");
        assert_eq!(seen[3..], [0.0, 0.0]);
    }

    #[test]
    fn scores_that_are_not_numbers_are_refused_before_anything_is_drawn() {
        let mechanism = ExponentialMechanism::with_scale(1.0).unwrap();
        let mut generator = NoiseGenerator::insecure_from_seed(2);
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = mechanism.select(&mut generator, &[0.0, wrong]).unwrap_err().to_string();
            assert!(error.contains("the score of candidate 2"), "{error}");
        }
        assert!(mechanism.select(&mut generator, &[]).is_err());
        assert_eq!(generator.words(), 0);
    }

    #[test]
    fn scales_that_cannot_be_drawn_are_refused() {
        for scale in [0.0, -1.0, 1e-151, 1e151, f64::NAN, f64::INFINITY] {
            assert!(ExponentialMechanism::with_scale(scale).is_err(), "{scale}");
        }
    }

    #[test]
    fn many_hopeless_candidates_cost_no_more_than_their_number_of_proposals() {
        let mut scores = vec![-1e9; 100_000];
        scores[77_777] = 0.0;
        let mechanism = ExponentialMechanism::with_scale(1.0).unwrap();
        let mut generator = NoiseGenerator::insecure_from_seed(3);
        for _ in 0..5 {
            assert_eq!(mechanism.select(&mut generator, &scores).unwrap(), 77_777);
        }
    }

    proptest! {
        /// The claim of the module's documentation, on neighbours of a known range.
        #[test]
        fn rounding_costs_three_grid_steps_of_range(
            pairs in proptest::collection::vec((-10.0..10.0, 0.0..1.0), 2..20),
            common in -5.0..5.0, log_scale in -8.0..3.0, offset in -1e3..1e3,
        ) {
            let scale = f64::exp(log_scale);
            let exponent = exponent_of(scale) - FINENESS;
            let scores: Vec<f64> = pairs.iter().map(|(score, _)| score + offset).collect();
            let neighbour: Vec<f64> =
                scores.iter().zip(&pairs).map(|(score, (_, change))| score + change + common).collect();
            let (a, b) = (
                steps_below_largest(&scores, exponent).unwrap(),
                steps_below_largest(&neighbour, exponent).unwrap(),
            );
            let spread = |changes: &[f64]| {
                changes.iter().copied().fold(f64::MIN, f64::max)
                    - changes.iter().copied().fold(f64::MAX, f64::min)
            };
            let exact: Vec<f64> = scores.iter().zip(&neighbour).map(|(s, t)| t - s).collect();
            let rounded: Vec<f64> =
                a.iter().zip(&b).map(|(a, b)| *b as f64 - *a as f64).collect();
            let on_grid = spread(&rounded) * power_of_two(exponent);
            // The differences of this test are rounded as well.
            let allowance = 4.0 * 1100.0 * f64::EPSILON;
            let bound = spread(&exact) + ExponentialMechanism::range_slack(scale);
            prop_assert!(on_grid <= bound + allowance, "{} > {}", on_grid, bound);
        }
    }
}
