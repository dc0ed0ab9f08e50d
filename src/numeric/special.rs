//! Special functions: the tails of the normal distribution to full precision, and
//! inversion of monotone functions.
//!
//! Everything is based on Mills' ratio R(t) = Φ(−t)/φ(t), which neither underflows nor loses digits
//! where the tail itself does. Its rational approximations are those of W. J. Cody, "Rational
//! Chebyshev approximation for the error function", Math. Comp. 23 (1969), written for erfcx(y) =
//! e^{y²} erfc(y); R(t) = √(π/2) erfcx(t/√2).

// Cody's coefficients are printed with more digits than a double holds.
#![allow(clippy::excessive_precision)]

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

/// log √(2π).
pub const LOG_SQRT_TWO_PI: f64 = 0.918_938_533_204_672_74;
const SQRT_TWO_PI: f64 = 2.506_628_274_631_000_5;
const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;

/// Natural logarithm of the standard normal distribution function, log Φ(x). The
/// upper tail is `log_normal_cdf(-x)`.
pub fn log_normal_cdf(x: f64) -> f64 {
    if x < -1.0 {
        mills_ratio(-x).ln() - (0.5 * x * x + LOG_SQRT_TWO_PI)
    } else if x < 1.0 {
        erf(x * FRAC_1_SQRT_2).ln_1p() - LN_2
    } else {
        (-normal_density(x) * mills_ratio(x)).ln_1p()
    }
}

/// Both tails of the normal distribution at x, Φ(x) and Φ(−x).
pub fn normal_tails(x: f64) -> (f64, f64) {
    let small = normal_density(x) * mills_ratio(x.abs());
    if x < 0.0 { (small, 1.0 - small) } else { (1.0 - small, small) }
}

/// The standard normal density, to full relative precision in the far tail too.
pub fn normal_density(x: f64) -> f64 {
    exp_half_square(x, -1.0) / SQRT_TWO_PI
}

/// e^{sign·x²/2}. The rounding of x² would cause a relative error of x²·10⁻¹⁶, so its remainder is
/// computed and included.
fn exp_half_square(x: f64, sign: f64) -> f64 {
    let square = x * x;
    let remainder = x.mul_add(x, -square);
    let value = (sign * 0.5 * square).exp();
    // An infinite square has a NaN remainder.
    if remainder.is_finite() { value + value * (sign * 0.5 * remainder) } else { value }
}

/// Mills' ratio R(t) = Φ(−t)/φ(t) of the upper normal tail; infinite below −37.6.
pub fn mills_ratio(t: f64) -> f64 {
    let y = t * FRAC_1_SQRT_2;
    if y.abs() <= SMALL {
        SQRT_HALF_PI * exp_half_square(t, 1.0) * (1.0 - erf_small(y))
    } else if y > 0.0 {
        SQRT_HALF_PI * erfcx_positive(y)
    } else {
        SQRT_TWO_PI * exp_half_square(t, 1.0) - SQRT_HALF_PI * erfcx_positive(-y)
    }
}

/// R(t) − R(t + width) for `width` ≥ 0, without cancellation for any small width.
pub fn mills_drop(t: f64, width: f64) -> f64 {
    let ratio = mills_ratio(t);
    let slope = mills_slope(t);
    if width * slope > 0.25 * ratio {
        return ratio - mills_ratio(t + width);
    }
    // Less than a quarter of R is lost, so −R′ is nearly a polynomial of low
    // degree over the interval: its singularity is nine half-widths away, and the
    // error of the eight-point rule is below 18⁻¹⁶.
    let (middle, half) = (t + 0.5 * width, 0.5 * width);
    let pairs = GAUSS_LEGENDRE_8.iter().map(|(node, weight)| {
        weight * (mills_slope(middle - half * node) + mills_slope(middle + half * node))
    });
    half * pairs.sum::<f64>()
}

/// −R′(t) = 1 − t·R(t), positive everywhere.
fn mills_slope(t: f64) -> f64 {
    if t < 4.0 {
        // At worst a factor of nineteen is lost.
        return 1.0 - t * mills_ratio(t);
    }
    // R = 1/(t + c) with the continued fraction c = 1/(t + 2/(t + 3/(t + …))), so
    // 1 − tR = c/(t + c): no cancellation. This depth reaches 10⁻¹⁶ from t = 4 on.
    let depth = (10.0 + 460.0 / (t * t)) as u32;
    let c = (1..=depth).rev().fold(0.0, |tail, k| f64::from(k) / (t + tail));
    c / (t + c)
}

/// Positive nodes and weights of the Gauss–Legendre rule with eight points.
const GAUSS_LEGENDRE_8: [(f64, f64); 4] = [
    (0.183_434_642_495_649_80, 0.362_683_783_378_361_98),
    (0.525_532_409_916_328_99, 0.313_706_645_877_887_29),
    (0.796_666_477_413_626_74, 0.222_381_034_453_374_47),
    (0.960_289_856_497_536_23, 0.101_228_536_290_376_26),
];

/// Where Cody switches from erf to erfcx.
const SMALL: f64 = 0.468_75;

/// erf(y) for moderate y: the tail is taken from 1.
fn erf(y: f64) -> f64 {
    if y.abs() <= SMALL {
        erf_small(y)
    } else {
        (1.0 - (-y * y).exp() * erfcx_positive(y.abs())).copysign(y)
    }
}

/// erf(y) for |y| ≤ 0.46875.
fn erf_small(y: f64) -> f64 {
    const NUMERATOR: [f64; 5] = [
        3.209_377_589_138_469_47e3,
        3.774_852_376_853_020_21e2,
        1.138_641_541_510_501_56e2,
        3.161_123_743_870_565_60e0,
        1.857_777_061_846_031_53e-1,
    ];
    const DENOMINATOR: [f64; 5] = [
        2.844_236_833_439_170_62e3,
        1.282_616_526_077_372_28e3,
        2.440_246_379_344_441_73e2,
        2.360_129_095_234_412_09e1,
        1.0,
    ];
    let square = y * y;
    y * polynomial(&NUMERATOR, square) / polynomial(&DENOMINATOR, square)
}

/// erfcx(y) = e^{y²} erfc(y) for y ≥ 0.46875.
fn erfcx_positive(y: f64) -> f64 {
    const MIDDLE_NUMERATOR: [f64; 9] = [
        1.230_339_354_797_997_25e3,
        2.051_078_377_826_071_47e3,
        1.712_047_612_634_070_58e3,
        8.819_522_212_417_690_90e2,
        2.986_351_381_974_001_31e2,
        6.611_919_063_714_162_95e1,
        8.883_149_794_388_375_94e0,
        5.641_884_969_886_700_89e-1,
        2.153_115_354_744_038_46e-8,
    ];
    const MIDDLE_DENOMINATOR: [f64; 9] = [
        1.230_339_354_803_749_42e3,
        3.439_367_674_143_721_64e3,
        4.362_619_090_143_247_16e3,
        3.290_799_235_733_459_63e3,
        1.621_389_574_566_690_19e3,
        5.371_811_018_620_098_58e2,
        1.176_939_508_913_124_99e2,
        1.574_492_611_070_983_47e1,
        1.0,
    ];
    const FAR_NUMERATOR: [f64; 6] = [
        6.587_491_615_298_378_03e-4,
        1.608_378_514_874_227_66e-2,
        1.257_817_261_112_292_46e-1,
        3.603_448_999_498_044_39e-1,
        3.053_266_349_612_323_44e-1,
        1.631_538_713_730_209_78e-2,
    ];
    const FAR_DENOMINATOR: [f64; 6] = [
        2.335_204_976_268_691_85e-3,
        6.051_834_131_244_131_91e-2,
        5.279_051_029_514_284_12e-1,
        1.872_952_849_923_467_25e0,
        2.568_520_192_289_822_42e0,
        1.0,
    ];
    if y <= 4.0 {
        return polynomial(&MIDDLE_NUMERATOR, y) / polynomial(&MIDDLE_DENOMINATOR, y);
    }
    let inverse_square = 1.0 / (y * y);
    let correction = inverse_square * polynomial(&FAR_NUMERATOR, inverse_square)
        / polynomial(&FAR_DENOMINATOR, inverse_square);
    (1.0 / PI.sqrt() - correction) / y
}

/// Coefficients by ascending power.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |value, coefficient| value * x + coefficient)
}

/// The first of the doubles from `low` to `high` at which `above` no longer holds, by halving until
/// doubles end; it holds from `low` on, and not at `high`.
pub fn crossing(mut low: f64, mut high: f64, mut above: impl FnMut(f64) -> bool) -> f64 {
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        *(if above(middle) { &mut low } else { &mut high }) = middle;
    }
}

/// The least double in [`low`, `high`] at which `holds`, for a condition that stays true once it is
/// true. Both ends are ≥ 0. `None` if it does not hold at `high`.
///
/// Doubles ≥ 0 are ordered like their bit patterns, so halving the interval of
/// patterns takes at most 64 steps at any scale.
pub fn least(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(high) {
        return None;
    }
    let (mut low, mut high) = (low.abs().to_bits(), high.to_bits());
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(f64::from_bits(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(f64::from_bits(high))
}

// Reference values are written as mpmath prints them.
#[allow(clippy::unreadable_literal, clippy::excessive_precision)]
#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // References: mpmath with 60 to 80 digits.
    const LOG_CDF: [(f64, f64); 33] = [
        (-100000.0, -5000000012.4318639983),
        (-12345.678, -76207892.97984185962),
        (-1000.0, -500007.82669481218431),
        (-100.5, -5055.654195243659887),
        (-40.0, -804.60844201375378817),
        (-38.0, -726.5572160188201301),
        (-20.25, -208.96076728764923992),
        (-8.0, -35.013437159914549896),
        (-5.656854249492381, -18.680925492662954065),
        (-5.0, -15.064998393988725736),
        (-3.7, -9.1352353718728765054),
        (-3.0, -6.6077262215103495433),
        (-2.0, -3.7831843336820319488),
        (-1.0, -1.8410216450092635058),
        (-0.6629126073623882, -1.3716293661743412992),
        (-0.5, -1.1759117615936186089),
        (-0.1, -0.77615459273027332557),
        (-1e-10, -0.6931471806397337655),
        (0.0, -LN_2),
        (1e-5, -0.69313920174616823305),
        (0.3, -0.48141016158848120517),
        (0.7, -0.277023942277131263),
        (1.0, -0.17275377902344988953),
        (2.5, -0.006229025485860002381),
        (5.0, -2.8665161296376359338e-7),
        (5.7, -5.9903714190058030208e-9),
        (8.0, -6.2209605742717860585e-16),
        (12.0, -1.7764821120776789977e-33),
        (20.0, -2.7536241186062336951e-89),
        (30.0, -4.9067139271481870595e-198),
        (33.3, -1.9305055059278399761e-243),
        (36.7, -3.6515293028034179725e-295),
        (37.5, -4.6053530095819548438e-308),
    ];
    const MILLS: [(f64, f64); 23] = [
        (-36.7, 7.4565390999211057792e+292),
        (-33.3, 1.5541536511002443803e+241),
        (-10.0, 1.2996129473592022903e+22),
        (-3.0, 225.33489622034912058),
        (-1.0, 3.4770518117036944669),
        (-0.6, 2.1779510754960116271),
        (-0.1, 1.3599304015256165674),
        (0.0, 1.2533141373155002512),
        (1e-08, 1.2533141273155003139),
        (0.25, 1.0378245758537268123),
        (0.66, 0.79356696417189547476),
        (0.67, 0.78882836276298590014),
        (1.0, 0.65567954241879847154),
        (2.0, 0.42136922928805447322),
        (3.0, 0.30459029871010329573),
        (4.5, 0.21257058044203179023),
        (5.6, 0.17335028501302024737),
        (5.7, 0.17047376074592785302),
        (8.0, 0.12313196325793229628),
        (20.0, 0.049875925981836783658),
        (100.0, 0.0099990002998501049056),
        (10000.0, 0.00009999999900000003),
        (1e8, 9.999999999999999e-9),
    ];
    const DROP: [(f64, f64, f64); 18] = [
        (-1.0, 2.0, 2.8213722692848959954),
        (-1.0, 0.001, 0.0044730775762286633408),
        (0.0, 1e-12, 9.9999999999937332282e-13),
        (-5e-13, 1e-12, 9.9999999999999997989e-13),
        (0.5, 0.3, 0.14505076586145189583),
        (0.5, 0.2, 0.10147060767430172474),
        (1.9, 1e-09, 1.6847083524569420204e-10),
        (3.0, 1e-07, 8.6229101574540811761e-9),
        (3.0, 0.8, 0.056777982382447526425),
        (2.9, 5.0, 0.1888041638011362029),
        (7.0, 1e-15, 1.9270715828648307696e-17),
        (10.0, 1.0, 0.0088529209706672391156),
        (10.0, 100.0, 0.089938438509424264367),
        (10000.0, 0.001, 9.9999987000001752081e-12),
        (37.0, 9.0, 0.0052784566900574965956),
        (37.0, 10.0, 0.0057403509463915485296),
        (1e6, 1e-06, 9.9999999999599995475e-19),
        (30.0, 2.5, 0.002556236587140674404),
    ];

    fn relative(ours: f64, reference: f64) -> f64 {
        ((ours - reference) / reference).abs()
    }

    #[test]
    fn the_log_of_the_normal_cdf_agrees_with_mpmath_to_1e_14() {
        for (x, reference) in LOG_CDF {
            let error = relative(log_normal_cdf(x), reference);
            assert!(error < 1e-14, "x = {x}: relative error {error:e}");
        }
    }

    #[test]
    fn mills_ratio_agrees_with_mpmath_to_2e_15() {
        for (t, reference) in MILLS {
            let error = relative(mills_ratio(t), reference);
            assert!(error < 2e-15, "t = {t}: relative error {error:e}");
        }
    }

    #[test]
    fn drops_of_mills_ratio_agree_with_mpmath_to_1e_14_however_narrow() {
        for (t, width, reference) in DROP {
            let error = relative(mills_drop(t, width), reference);
            assert!(error < 1e-14, "t = {t}, width = {width}: relative error {error:e}");
        }
    }

    #[test]
    fn extreme_arguments_stay_numbers() {
        assert_eq!(log_normal_cdf(f64::INFINITY), 0.0);
        assert_eq!(log_normal_cdf(f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(normal_density(1e200), 0.0);
        assert_eq!(mills_ratio(1e300), 1e-300);
        assert_eq!(mills_ratio(-1e200), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn the_log_of_the_normal_cdf_never_decreases(x in -60.0..40.0, step in 0.0..2.0) {
            // Beyond neighbouring doubles, where rounding decides.
            let step = step + 1e-12 * f64::abs(x);
            prop_assert!(log_normal_cdf(x + step) >= log_normal_cdf(x));
        }

        #[test]
        fn tails_are_the_exponentials_of_their_logarithms(x in -37.0..37.0) {
            let (lower, upper) = normal_tails(x);
            prop_assert!(relative(lower, log_normal_cdf(x).exp()) < 1e-12);
            prop_assert!(relative(upper, log_normal_cdf(-x).exp()) < 1e-12);
        }

        #[test]
        fn both_tails_add_up_to_one(x in -8.0..8.0) {
            let total = log_normal_cdf(x).exp() + log_normal_cdf(-x).exp();
            prop_assert!((total - 1.0).abs() < 1e-14, "{total}");
        }

        #[test]
        fn drops_add_up(t in -3.0..50.0, first in 1e-9..3.0, second in 1e-9..3.0) {
            let parts = mills_drop(t, first) + mills_drop(t + first, second);
            prop_assert!(relative(parts, mills_drop(t, first + second)) < 1e-13);
        }

        #[test]
        fn least_finds_the_very_first_double(threshold in 0.0..1e6) {
            prop_assert_eq!(least(0.0, 1e6, |x| x >= threshold), Some(threshold));
        }
    }

    #[test]
    fn least_says_so_when_nothing_holds() {
        assert_eq!(least(0.0, 1.0, |_| false), None);
        assert_eq!(least(0.0, f64::MAX, |x| x > 0.0), Some(f64::from_bits(1)));
    }
}
