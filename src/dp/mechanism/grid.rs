//! Dyadic grids: values and noise as integer numbers of a power-of-two step.
//!
//! A floating-point sample leaks through its last bits, and so does adding noise to an off-grid
//! value in floating point. Here values are first rounded to a grid, and both the noise and the
//! addition are integers. Only the sum is turned into a double, as post-processing.
//!
//! Rounding moves each number by at most half a step, so it moves two neighbours apart by at most
//! one step per coordinate. An event's sensitivity has to include this slack.

use super::generator::NoiseGenerator;
use crate::error::{Error, Result};

/// A gridded scale lies between 2^`FINENESS` and twice that many grid steps.
const FINENESS: i32 = 28;
/// Values are kept within ± this many grid steps: 2⁶¹.
const REACH: f64 = (1_u64 << 61) as f64;
/// Sums are kept within ± this many grid steps, which fits an `i64` even with noise at its limits.
const SUM_REACH: i64 = 1 << 62;
/// Weighted values are kept within ± this many grid steps.
const WEIGHTED_REACH: i128 = 1 << 90;
pub(super) const SMALLEST_SCALE: f64 = 1e-150;
pub(super) const LARGEST_SCALE: f64 = 1e150;

/// A noise scale of an integer number of grid steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GriddedScale {
    /// The scale in grid steps, in [2²⁸, 2²⁹].
    pub steps: u64,
    /// The grid step is 2^exponent.
    pub exponent: i32,
}

impl GriddedScale {
    /// The finest grid for a wanted scale; the resulting scale is never smaller, and larger by at
    /// most one part in 2²⁸. `symbol` names the scale: σ, b.
    pub fn at_least(symbol: &str, scale: f64) -> Result<Self> {
        if !(SMALLEST_SCALE..=LARGEST_SCALE).contains(&scale) {
            return Err(Error::usage(format!("noise of {symbol} = {scale} cannot be drawn")).cure(
                format!("{symbol} must be between 1e-150 and 1e150: change the unit of the data"),
            ));
        }
        let exponent = exponent_of(scale) - FINENESS;
        let steps = (scale * power_of_two(-exponent)).ceil() as u64;
        Ok(Self { steps, exponent })
    }

    /// Reads an event's scale back; refuses one that is not on its grid.
    pub fn from_event(symbol: &str, scale: f64, grid: f64) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::refused(format!(
                "noise of {symbol} = {scale} on a grid of {grid} cannot be drawn: {why}"
            )))
        };
        if !(SMALLEST_SCALE..=2.0 * LARGEST_SCALE).contains(&scale) {
            return refuse(&format!("{symbol} must be between 1e-150 and 1e150"));
        }
        if grid == 0.0 {
            return refuse("ideal continuous noise exists on paper only");
        }
        // The scale is in range, so a grid that passes the next test is an ordinary number.
        let ratio = scale / grid;
        let range = power_of_two(FINENESS)..=power_of_two(FINENESS + 1);
        if !range.contains(&ratio) {
            return refuse(&format!("{symbol} must be 2^28 to 2^29 grid steps"));
        }
        let exponent = exponent_of(grid);
        if grid != power_of_two(exponent) {
            return refuse("the grid must be a power of two");
        }
        // Dividing by a power of two is exact.
        if ratio.fract() != 0.0 {
            return refuse(&format!("{symbol} must be an integer number of grid steps"));
        }
        Ok(Self { steps: ratio as u64, exponent })
    }

    pub fn scale(&self) -> f64 {
        self.steps as f64 * self.grid()
    }

    pub fn grid(&self) -> f64 {
        power_of_two(self.exponent)
    }

    /// Rounds `values` to the grid and adds a `draw` of this scale to each. Values beyond ±2⁶¹ grid
    /// steps are moved to this limit, which only brings neighbours closer. Sums beyond ±2⁶² steps
    /// are moved to that limit, which is post-processing. So a draw may end at the limits of an
    /// `i64` instead of anything larger.
    pub fn perturb(
        &self,
        generator: &mut NoiseGenerator,
        values: &[f64],
        draw: impl Fn(&mut NoiseGenerator, u64) -> i64,
    ) -> Result<Vec<f64>> {
        refuse_infinite(values)?;
        let (grid, per_grid) = (self.grid(), power_of_two(-self.exponent));
        let noisy = values.iter().map(|value| {
            let point = (value * per_grid).round_ties_even().clamp(-REACH, REACH) as i64;
            let sum = point.saturating_add(draw(generator, self.steps));
            sum.clamp(-SUM_REACH, SUM_REACH) as f64 * grid
        });
        Ok(noisy.collect())
    }
}

/// Refuses numbers that are not finite.
pub(super) fn refuse_infinite(values: &[f64]) -> Result<()> {
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(Error::failed(format!(
            "number {} of a release is {}, before any noise",
            index + 1,
            values[index]
        ))
        .cure("check the data for values that are not numbers, and the bounds for overflow"));
    }
    Ok(())
}

/// A value times its weight, at most 2⁴⁰, in steps of 2^`exponent`: computed exactly, rounded once, and kept
/// within ± [`WEIGHTED_REACH`].
pub(super) fn weighted_point(value: f64, weight: u64, exponent: i32) -> i128 {
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, place) = match field {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, field - 1075),
    };
    // Below 2⁹³.
    let product = i128::from(mantissa) * i128::from(weight);
    let size = match place - exponent {
        up @ 0.. if up < product.leading_zeros() as i32 => product << up,
        0.. => WEIGHTED_REACH,
        down @ -100..0 => (product + (1 << (-down - 1))) >> -down,
        _ => 0,
    };
    let size = size.min(WEIGHTED_REACH);
    if value.is_sign_negative() { -size } else { size }
}

/// The grid step that is 2²⁸ to 2²⁹ times smaller than an ordinary scale.
pub(super) fn finest_grid(scale: f64) -> f64 {
    power_of_two(exponent_of(scale) - FINENESS)
}

/// The e with 2^e ≤ value < 2^(e+1), for an ordinary (normal, positive) value.
pub(super) fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// 2^exponent exactly, for −1022 ≤ exponent ≤ 1023.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_value_is_exact_and_rounded_once() {
        let step = power_of_two(-30);
        for (value, weight, wanted) in [
            (0.0, 7, 0),
            (3.0 * step, 5, 15),
            (-3.0 * step, 5, -15),
            (0.49 * step, 1, 0),
            (-0.51 * step, 1, -1),
            ((1.0 + f64::EPSILON) * power_of_two(40), 1 << 40, (1 << 110) + (1 << 58)),
            (f64::MIN_POSITIVE / 4.0, 1 << 40, 0),
            (1e300, 1, WEIGHTED_REACH),
            (-1e300, 1, -WEIGHTED_REACH),
        ] {
            let wanted = i128::min(wanted, WEIGHTED_REACH);
            assert_eq!(weighted_point(value, weight, -30), wanted, "{value} × {weight}");
        }
        // 53 + 31 bits, all of which count.
        let (value, weight) = (1.0 + f64::EPSILON, (1 << 30) + 1);
        let wanted = ((1_i128 << 52) + 1) * i128::from(weight);
        assert_eq!(weighted_point(value, weight, -52), wanted);
        assert_eq!(weighted_point(-value, weight, -51), -((wanted + 1) >> 1));
    }

    #[test]
    fn noise_at_the_limits_of_an_integer_moves_a_sum_to_its_end_and_never_past_it() {
        let scale = GriddedScale::at_least("b", 1.0).unwrap();
        let end = (SUM_REACH as f64) * scale.grid();
        for (noise, expected) in [(i64::MAX, end), (-i64::MAX, -end)] {
            let mut generator = NoiseGenerator::insecure_from_seed(1);
            let sums = scale.perturb(&mut generator, &[-1e300, 0.0, 1e300], |_, _| noise).unwrap();
            assert_eq!(sums, vec![expected; 3]);
        }
    }
}
