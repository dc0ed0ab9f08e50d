//! Exponentials, logarithms and powers: without branches, tables or calls, so that the compiler
//! computes several at once in a loop over records. Only sums, products and quotients are used, so
//! the results are the same for every instruction set.
//!
//! With u = 2⁻⁵³, the largest relative error of one operation:
//!
//! * [`exp`] is within 4u. The multiple k of ln 2 is subtracted in two parts, the first without
//!   error, so the remainder |r| ≤ ln 2/2 is off by .35u. The series ends with r¹³/13!, which
//!   leaves out less than .05u. Of e^r = 1 + (r + r²·p), the product is at most .07 and off by
//!   .3u, the inner sum by .42u more and the outer one by u, together 2.1u of a number that is .7
//!   at least.
//! * [`ln_1p`] is within 6u. ln(1 + x) = 2·artanh(s) with s = x/(2 + x) ≤ 1/3, which is off by 2u.
//!   The factor 1 + s²/3 + s⁴/5 + … is at most 1.04; its terms to s³⁰ leave out less than .2u, its
//!   rounding is 1.4u, and the last product adds u.
//! * [`power`] is e^(p·ln x). The logarithm, of a number between √½ and √2 and of a power of two,
//!   is within 8u, so the result is within (4 + 9·|p·ln x|)u.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use std::f64::consts::{FRAC_1_SQRT_2, LOG2_E};

use pulp::{Simd, WithSimd};

use super::four_lanes;

/// Powers of e to less than this are 0: they are below 10⁻³⁰⁷, the least number of full precision.
const LEAST: f64 = -708.0;

/// Added and subtracted again, it rounds to a whole number: the last digit of 1.5·2⁵² is 1.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts. The first has 32 zeros at its end, so that its product with a whole number
/// below 2¹¹ is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// The least double whose neighbours differ by 1.
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// The digits of √½ with an exponent that is 1022 less.
const LEAST_ROOT: u64 = FRAC_1_SQRT_2.to_bits() - (1022 << 52);

/// The polynomial in `x` with these coefficients, the one of the highest power first. Written out:
/// a loop within a loop over records would not be turned into whole registers. Long polynomials are
/// two of half the length, which do not wait for one another.
macro_rules! horner {
    ($x:expr; $first:expr $(, $next:expr)*) => {{
        let series = $first;
        $(let series = series * $x + $next;)*
        series
    }};
}

/// e^x for x ≤ 0. NaN stays NaN.
// Inlined, so that it is compiled for the instructions of the loop that it is in.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let vanishes = x < LEAST;
    let x = if vanishes { LEAST } else { x };
    let shifted = x * LOG2_E + ROUNDING;
    let count = shifted - ROUNDING;
    let rest = (x - count * LN_2_HIGH) - count * LN_2_LOW;
    let square = rest * rest;
    let even = horner!(square;
        1.0 / 479_001_600.0, 1.0 / 3_628_800.0, 1.0 / 40_320.0, 1.0 / 720.0, 1.0 / 24.0, 0.5);
    let odd = horner!(square;
        1.0 / 6_227_020_800.0, 1.0 / 39_916_800.0, 1.0 / 362_880.0, 1.0 / 5_040.0, 1.0 / 120.0,
        1.0 / 6.0);
    let series = even + rest * odd;
    let near_one = 1.0 + (rest + square * series);
    // The last digits of `shifted` are those of the whole number, and become the exponent.
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if vanishes { 0.0 } else { near_one * scale }
}

/// ln(1 + x) for 0 ≤ x ≤ 1. NaN stays NaN.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    twice_artanh(x / (2.0 + x))
}

/// x^p for 0 ≤ x ≤ 1 and p > 0; 0 where x is below the normal numbers.
#[inline(always)]
pub fn power(x: f64, p: f64) -> f64 {
    let vanishes = x < f64::MIN_POSITIVE;
    let x = if vanishes { 1.0 } else { x };
    // x = 2^k·m with √½ ≤ m < √2. k + 1022 is not negative; as the last digits of 2⁵² it becomes a
    // double.
    let from = x.to_bits() - LEAST_ROOT;
    let count = f64::from_bits(from >> 52 | TWO_52.to_bits()) - (TWO_52 + 1022.0);
    let near_one = f64::from_bits((from & ((1 << 52) - 1)) + FRAC_1_SQRT_2.to_bits());
    let ln =
        count * LN_2_HIGH + (count * LN_2_LOW + twice_artanh((near_one - 1.0) / (near_one + 1.0)));
    if vanishes { 0.0 } else { exp(p * ln) }
}

/// Raises every number, between 0 and 1, to the power p > 0.
pub fn raise(numbers: &mut [f64], p: f64) {
    four_lanes().dispatch(Raise { numbers, p });
}

/// e to the power of every number, none of them above 0.
pub fn exponentials(numbers: &mut [f64]) {
    four_lanes().dispatch(|| {
        for number in numbers {
            *number = exp(*number);
        }
    });
}

/// [`raise`], for the instructions of the machine.
struct Raise<'a> {
    numbers: &'a mut [f64],
    p: f64,
}

impl WithSimd for Raise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for number in self.numbers {
            *number = power(*number, self.p);
        }
    }
}

/// 2·artanh(s) for |s| ≤ 1/3.
#[inline(always)]
fn twice_artanh(s: f64) -> f64 {
    let square = s * s;
    let fourth = square * square;
    let even = horner!(fourth;
        1.0 / 31.0, 1.0 / 27.0, 1.0 / 23.0, 1.0 / 19.0, 1.0 / 15.0, 1.0 / 11.0, 1.0 / 7.0,
        1.0 / 3.0);
    let odd = horner!(fourth;
        1.0 / 29.0, 1.0 / 25.0, 1.0 / 21.0, 1.0 / 17.0, 1.0 / 13.0, 1.0 / 9.0, 1.0 / 5.0);
    let series = even + square * odd;
    2.0 * s * (1.0 + square * series)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const U: f64 = f64::EPSILON / 2.0;

    /// The standard library's results are within 2u.
    fn error(ours: f64, theirs: f64) -> f64 {
        (ours - theirs).abs() / theirs / U
    }

    #[test]
    fn ends_of_the_range_and_what_is_no_number() {
        assert_eq!((exp(0.0), exp(-0.0), ln_1p(0.0)), (1.0, 1.0, 0.0));
        assert_eq!((exp(f64::NEG_INFINITY), exp(-709.0)), (0.0, 0.0));
        assert!(error(exp(-708.0), (-708.0_f64).exp()) < 6.0);
        assert!(error(ln_1p(1.0), std::f64::consts::LN_2) < 6.0);
        assert_eq!(ln_1p(1e-300), 1e-300);
        assert_eq!(
            (power(0.0, 3.0), power(1.0, 3.0), power(f64::MIN_POSITIVE, 1.0)),
            (0.0, 1.0, 0.0)
        );
        assert!(exp(f64::NAN).is_nan() && ln_1p(f64::NAN).is_nan());
    }

    /// Numbers from mpmath, with 40 digits.
    #[test]
    #[expect(clippy::excessive_precision, reason = "as mpmath prints them")]
    fn they_agree_with_exact_numbers() {
        for (x, exact) in [
            (-0.1, 0.904_837_418_035_959_568_141_392_384_216_935_6),
            (-1.0, 0.367_879_441_171_442_321_595_523_770_161_460_9),
            (-10.5, 2.753_644_934_974_715_785_741_109_710_242_55e-5),
            (-333.25, 1.867_944_230_440_913_051_814_811_333e-145),
        ] {
            assert!(error(exp(x), exact) < 4.0, "{x}");
        }
        for (x, exact) in [
            (0.1, 0.095_310_179_804_324_865_090_420_317_031_476_6),
            (0.5, 0.405_465_108_108_164_381_978_013_115_464_349_1),
            (0.9, 0.641_853_886_172_394_787_677_594_131_152_505_5),
        ] {
            assert!(error(ln_1p(x), exact) < 6.0, "{x}");
        }
    }

    proptest! {
        #[test]
        fn the_error_of_a_power_is_within_the_bound(x in 1e-9..0.999_f64, k in 0..300_i32, result in 0.1..690.0_f64) {
            let x = x * 2.0_f64.powi(-k);
            let p = result / -x.ln();
            prop_assert!(error(power(x, p), x.powf(p)) < 6.0 + 9.0 * result, "{x} {p}");
            let mut several = [x, x / 2.0, 1.0, 0.0, x];
            raise(&mut several, p);
            prop_assert_eq!(several, [x, x / 2.0, 1.0, 0.0, x].map(|x| power(x, p)));
        }

        #[test]
        fn the_error_is_within_the_bound(x in -708.0..0.0_f64, near in -1.0..0.0_f64, tiny in 0.0..1.0_f64) {
            for x in [x, near, near * 1e-9] {
                prop_assert!(error(exp(x), x.exp()) < 6.0, "{x}");
            }
            for x in [tiny, tiny.powi(20), 1.0 - tiny * 1e-9] {
                prop_assert!(error(ln_1p(x), x.ln_1p()) < 8.0, "{x}");
            }
        }
    }
}
