//! The values that a query may have. Mechanisms clip them, so a wrong method adds bias but never
//! leaks.
//!
//! * Sums over a Poisson sample are clipped record by record: a [`ClippedSum`] computes the
//!   factors itself, from the norms of the contributions, and no factor is larger than the
//!   announced sensitivity allows.
//! * Any other query comes with its [`Reach`]: a public set that contains its exact value.
//!   [`Reach::EachRecord`] is as good as clipping record by record; the others bound the whole
//!   value.
//!
//! A value that is not a finite number is never released. It becomes the middle of the reach, as if
//! no record had contributed.

pub use halflight_model::Contributions;

use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::numeric::parallel;
use crate::numeric::projection::shrink_factor;

/// How far, relatively, a value may be outside its reach because of rounding.
const ROUNDING: f64 = 1e-6;

/// The set that contains the exact value of a query for any records. It must be known from public
/// numbers alone.
#[derive(Debug, Clone, PartialEq)]
pub enum Reach {
    /// All vectors no longer than this.
    Ball(f64),
    /// Every number is this close to its centre.
    Around {
        /// Number by number.
        centre: Vec<f64>,
        /// The bound on the norm of all numbers together.
        radius: f64,
    },
    /// One number per record, from minus the announced sensitivity to 0. So replacing a record
    /// cannot move the vector further than announced, whatever the method does.
    EachRecord,
}

impl Reach {
    /// Numbers from `low` to `high`.
    pub fn between(low: f64, high: f64, numbers: usize) -> Self {
        Self::Around { centre: vec![0.5 * (low + high); numbers], radius: 0.5 * (high - low) }
    }

    /// Puts the exact value of a query into its reach. True if it was outside.
    pub(super) fn clip(&self, exact: &mut [f64], sensitivity: f64) -> bool {
        match self {
            Self::Ball(radius) => shorten(exact, *radius),
            Self::Around { centre, radius } => {
                let radius = radius * (1.0 + ROUNDING);
                let middles = centre.iter().copied().chain(std::iter::repeat(0.0));
                let mut clipped = false;
                for (number, middle) in exact.iter_mut().zip(middles) {
                    clipped |= put(number, middle - radius, middle + radius, middle);
                }
                clipped
            }
            Self::EachRecord => exact
                .iter_mut()
                .fold(false, |clipped, number| clipped | put(number, -sensitivity, 0.0, 0.0)),
        }
    }
}

/// Puts a number between `low` and `high`, or at `middle` if it is NaN.
fn put(number: &mut f64, low: f64, high: f64, middle: f64) -> bool {
    let before = *number;
    *number = if before.is_finite() { before.max(low).min(high) } else { middle };
    before != *number
}

/// Makes a vector no longer than `radius`, up to rounding. True if it was longer.
fn shorten(exact: &mut [f64], radius: f64) -> bool {
    let norm = exact.iter().map(|number| number * number).sum::<f64>().sqrt();
    let shrink = shrink_factor(norm, radius * (1.0 + ROUNDING));
    if shrink == 1.0 {
        return false;
    }
    if shrink > 0.0 {
        for number in exact.iter_mut() {
            *number *= shrink;
        }
    } else {
        // NaN, or numbers whose squares overflow.
        exact.fill(0.0);
    }
    true
}

/// A sum of vectors of single records, which clips each of them.
#[derive(Debug)]
pub struct ClippedSum {
    sum: Vec<f64>,
    /// The longest vector that a record may add.
    longest: f64,
    overreached: bool,
}

impl ClippedSum {
    /// An empty sum of vectors of `numbers` numbers, of which none is longer than `longest`.
    pub fn new(numbers: usize, longest: f64) -> Self {
        Self { sum: vec![0.0; numbers], longest, overreached: false }
    }

    /// How many numbers it has.
    pub fn numbers(&self) -> usize {
        self.sum.len()
    }

    /// Adds the first `count` of the contributions, each clipped to `clip` and to the announced
    /// sensitivity. One whose norm is NaN adds nothing.
    pub fn add(&mut self, contributions: &impl Contributions, count: usize, clip: f64) {
        let norms = contributions.squared_norms();
        let longest = self.longest * (1.0 + ROUNDING);
        let over = |square: &f64| square.is_nan() || square.sqrt().min(clip) > longest;
        self.overreached |= norms.iter().take(count).any(over);
        let clip =
            if planted(Fault::ForgottenClip) { f64::INFINITY } else { clip.min(self.longest) };
        let factor = |(i, square): (usize, f64)| {
            if i < count { shrink_factor(square.sqrt(), clip) } else { 0.0 }
        };
        let factors: Vec<f64> = norms.into_iter().enumerate().map(factor).collect();
        contributions.add_weighted(&factors, &mut self.sum);
    }

    /// Adds `parts` sums that `add` fills, on several threads. They are added up in their order.
    pub fn add_parts(
        &mut self,
        parts: usize,
        add: impl Fn(usize, &mut Self) -> Result<()> + Sync,
    ) -> Result<()> {
        let (numbers, longest) = (self.numbers(), self.longest);
        // Each thread clears the sums that it fills.
        let fill = |part| {
            let mut sum = Self::new(numbers, longest);
            add(part, &mut sum).map(|()| sum)
        };
        for part in parallel::share_out_for_results(parts, parallel::threads(), fill) {
            let part = part?;
            self.overreached |= part.overreached;
            self.sum.iter_mut().zip(part.sum).for_each(|(sum, part)| *sum += part);
        }
        Ok(())
    }

    /// Adds a sum over `members` records that a kernel clipped inside. The sum is clipped to the
    /// largest length that these records can have together.
    pub fn add_fused(&mut self, sum: &[f64], members: usize) {
        let mut sum = sum.to_vec();
        self.overreached |= shorten(&mut sum, members as f64 * self.longest);
        for (total, number) in self.sum.iter_mut().zip(sum) {
            *total += number;
        }
    }

    /// Whether a contribution exceeded what the method had announced.
    pub(super) fn has_overreached(&self) -> bool {
        self.overreached
    }

    /// The sum, or zeros if it is not finite.
    pub fn finish(mut self) -> Vec<f64> {
        if !self.sum.iter().all(|number| number.is_finite()) {
            self.sum.fill(0.0);
        }
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Plain vectors; their norms are computed, or claimed.
    struct PlainVectors(Vec<Vec<f64>>);

    impl Contributions for PlainVectors {
        fn squared_norms(&self) -> Vec<f64> {
            self.0.iter().map(|vector| vector.iter().map(|x| x * x).sum()).collect()
        }

        fn add_weighted(&self, factors: &[f64], sum: &mut [f64]) {
            for (vector, factor) in self.0.iter().zip(factors) {
                sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += factor * x);
            }
        }
    }

    fn norm(vector: &[f64]) -> f64 {
        vector.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn a_method_that_forgets_to_clip_is_clipped_to_what_it_announced() {
        let records = PlainVectors(vec![vec![300.0, 400.0], vec![0.3, 0.4], vec![9.0, 9.0]]);
        let mut sum = ClippedSum::new(2, 1.0);
        sum.add(&records, 2, f64::INFINITY);
        let sum = sum.finish();
        assert!((norm(&sum) - 1.5).abs() < 1e-12, "{sum:?}");
    }

    #[test]
    fn parts_are_clipped_like_the_whole_and_tell_who_overreached() {
        let record = |i: usize| vec![i as f64, 1.0];
        let of = |parts: usize, clip: f64| {
            let mut sum = ClippedSum::new(2, 3.0);
            let add = |part: usize, sum: &mut ClippedSum| {
                let own = (part * 12 / parts..(part + 1) * 12 / parts).map(record);
                let own = PlainVectors(own.collect());
                sum.add(&own, own.0.len(), clip);
                Ok(())
            };
            sum.add_parts(parts, add).unwrap();
            (sum.has_overreached(), sum.finish())
        };
        let (_, whole) = of(1, 3.0);
        for parts in [2, 3, 12] {
            let (overreached, sum) = of(parts, 3.0);
            assert!(!overreached);
            assert!(whole.iter().zip(&sum).all(|(one, other)| (one - other).abs() < 1e-12));
            // The mechanism clips to what was announced.
            assert_eq!(of(parts, f64::INFINITY), (true, sum));
        }
        let mut sum = ClippedSum::new(2, 3.0);
        let fails = |part| if part == 1 { Err(crate::error::Error::failed("no")) } else { Ok(()) };
        assert!(sum.add_parts(3, |part, _| fails(part)).is_err());
    }

    #[test]
    fn what_is_not_a_number_says_nothing() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            let mut sum = ClippedSum::new(2, 1.0);
            sum.add(&PlainVectors(vec![vec![bad, 0.0]]), 1, 1.0);
            sum.add_fused(&[bad, 0.0], 1);
            assert!(sum.finish().iter().all(|x| x.abs() <= 1.0 + 1e-5));
            let mut ball = [bad, 0.1];
            Reach::Ball(1.0).clip(&mut ball, 1.0);
            assert!(norm(&ball) <= 1.0 + 1e-5, "{ball:?}");
            let mut around = [bad, 7.0, 5.1];
            Reach::Around { centre: vec![5.0; 3], radius: 1.0 }.clip(&mut around, 1.0);
            assert!(around.iter().all(|x| (x - 5.0).abs() <= 1.0 + 1e-5), "{around:?}");
            assert_eq!(around[2], 5.1);
            let mut each = [bad, -0.2, 0.5];
            Reach::EachRecord.clip(&mut each, 0.3);
            assert!(each.iter().all(|x| (-0.3..=0.0).contains(x)) && each[1] == -0.2);
        }
    }

    proptest! {
        #[test]
        fn a_value_within_its_reach_is_left_to_the_last_bit(
            value in proptest::collection::vec(-1.0..1.0_f64, 3),
        ) {
            let mut ball = value.clone();
            Reach::Ball(norm(&value)).clip(&mut ball, 1.0);
            prop_assert_eq!(&ball, &value);
            let mut around = value.clone();
            Reach::between(-1.0, 1.0, 3).clip(&mut around, 1.0);
            prop_assert_eq!(&around, &value);
        }

        #[test]
        fn replacing_a_record_by_nothing_moves_a_clipped_sum_by_no_more_than_was_announced(
            records in proptest::collection::vec(
                proptest::collection::vec(-1e3..1e3_f64, 3), 1..6),
        ) {
            let sum = |count: usize| {
                let mut sum = ClippedSum::new(3, 0.5);
                sum.add(&PlainVectors(records.clone()), count, f64::INFINITY);
                sum.finish()
            };
            let (all, fewer) = (sum(records.len()), sum(records.len() - 1));
            let moved: Vec<f64> = all.iter().zip(&fewer).map(|(a, b)| a - b).collect();
            prop_assert!(norm(&moved) <= 0.5 + 1e-12);
        }
    }
}
