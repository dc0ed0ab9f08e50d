//! Powers and products of measures on a cyclic lattice, with a bound on the error.
//!
//! A sequence computed with rounding is the exact one of a measure that differs by e with ‖e‖₁ ≤
//! √n‖e‖₂, and convolution is a product for which ‖a∗b‖₁ ≤ ‖a‖₁‖b‖₁. So errors of the forward
//! transforms, E for a measure of mass 1, become at most (1+E)^T − 1 after T-fold convolution. And
//! as ‖a∗b‖₂ ≤ ‖a‖₁‖b‖₂, errors of length e become one of length at most T·e·(1+E)^T, which is
//! smaller by √n. The backward transform and the powers add an error relative to the length of the
//! result. A transform of length n errs by at most a multiple of u·log₂n of the length of its
//! argument (Higham, *Accuracy and Stability of Numerical Algorithms*, Theorem 24.2, allows 7u for
//! each halving).

use std::cell::RefCell;

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

/// Allowed error of one level of a transform, relative to the length of the data.
const LEVEL: f64 = 4.0 * f64::EPSILON;
/// Allowed relative error of one complex product.
const PRODUCT: f64 = 4.0 * f64::EPSILON;
/// Numbers with a smaller squared magnitude count as zero, because denormals are slow.
const NOTHING: f64 = 1e-250;

thread_local! {
    /// Keeps the tables of all used lengths, which cost more than a transform.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

#[derive(Debug, Clone, PartialEq)]
pub struct Convolved {
    pub masses: Vec<f64>,
    /// Bound on the sum of all absolute errors, for measures of mass at most 1.
    pub error: f64,
    /// Bound on the root of the sum of their squares.
    pub error_length: f64,
}

/// The smallest even number ≥ `n` with no prime factor above 3.
pub fn friendly_length(n: usize) -> usize {
    let mut best = n.next_power_of_two().max(2);
    let mut threes = 3;
    while threes < best {
        let twos = n.div_ceil(threes).next_power_of_two().max(2);
        best = best.min(threes * twos);
        threes *= 3;
    }
    best
}

/// The cyclic convolution of each measure with itself, as often as its count says, and
/// of all of them together. All have the same even length. `None` without a measure.
pub fn convolve_powers(measures: Vec<(Vec<f64>, u64)>) -> Option<Convolved> {
    let length = measures.first()?.0.len();
    let (forward, backward) = PLANNER.with_borrow_mut(|planner| {
        (planner.plan_fft_forward(length), planner.plan_fft_inverse(length))
    });
    let root = (length as f64).sqrt();
    let level = LEVEL * (length as f64).log2().max(1.0);
    let (mut growth, mut products) = (0.0, 0.0);
    let mut product: Option<Vec<Complex<f64>>> = None;
    for (mut masses, count) in measures {
        growth += count as f64 * level * norm(&masses);
        products += 2.0 * count as f64;
        let mut spectrum = forward.make_output_vec();
        forward.process(&mut masses, &mut spectrum).ok()?;
        for block in spectrum.chunks_mut(BLOCK) {
            raise(block, count);
        }
        match &mut product {
            None => product = Some(spectrum),
            Some(product) => {
                for (value, factor) in product.iter_mut().zip(&spectrum) {
                    *value *= factor;
                }
            }
        }
    }
    let mut spectrum = product?;
    // The transform of a real sequence is real at both ends, except for rounding.
    spectrum.first_mut()?.im = 0.0;
    spectrum.last_mut()?.im = 0.0;
    let mut masses = backward.make_output_vec();
    backward.process(&mut spectrum, &mut masses).ok()?;
    let scale = 1.0 / length as f64;
    for mass in &mut masses {
        *mass *= scale;
    }
    let result = norm(&masses);
    // One factor's error counts by its length, all others by their sums.
    let error_length = growth * (growth * root).exp()
        + (PRODUCT * products + level) * result * 2.0
        + root * NOTHING.sqrt();
    let error = (growth * root).exp_m1()
        + (PRODUCT * products + level) * root * result * 2.0
        + length as f64 * NOTHING.sqrt();
    Some(Convolved { masses, error, error_length })
}

const BLOCK: usize = 64;

/// Every number of the block to this power, by repeated squaring.
fn raise(block: &mut [Complex<f64>], mut exponent: u64) {
    let (mut re, mut im) = ([0.0; BLOCK], [0.0; BLOCK]);
    let (mut power_re, mut power_im) = ([1.0; BLOCK], [0.0; BLOCK]);
    for (index, value) in block.iter().enumerate() {
        (re[index], im[index]) = (value.re, value.im);
    }
    // After many draws only the lowest frequencies are left: most blocks vanish at once.
    let largest = block.iter().map(Complex::norm_sqr).fold(0.0, f64::max);
    if exponent as f64 * largest.ln() < NOTHING.ln() {
        block.fill(Complex::ZERO);
        return;
    }
    loop {
        if exponent & 1 == 1 {
            for i in 0..BLOCK {
                let product = power_re[i] * re[i] - power_im[i] * im[i];
                power_im[i] = power_re[i] * im[i] + power_im[i] * re[i];
                power_re[i] = product;
            }
        }
        exponent >>= 1;
        if exponent == 0 {
            break;
        }
        let mut largest: f64 = 0.0;
        for i in 0..BLOCK {
            let (a, b) = (re[i] * re[i] - im[i] * im[i], 2.0 * re[i] * im[i]);
            let square = a * a + b * b;
            let kept = if square < NOTHING { 0.0 } else { 1.0 };
            (re[i], im[i]) = (a * kept, b * kept);
            largest = largest.max(square * kept);
        }
        if largest == 0.0 {
            power_re = [0.0; BLOCK];
            power_im = [0.0; BLOCK];
            break;
        }
    }
    for (index, value) in block.iter_mut().enumerate() {
        *value = Complex::new(power_re[index], power_im[index]);
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_are_even_close_and_made_of_small_primes() {
        for n in [1, 2, 3, 5, 7, 97, 1000, 4097, 131_073, 200_000] {
            let length = friendly_length(n);
            assert!(length >= n && length.is_multiple_of(2) && length < 2 * n + 2, "{n}: {length}");
            let mut rest = length;
            while rest.is_multiple_of(2) {
                rest /= 2;
            }
            while rest.is_multiple_of(3) {
                rest /= 3;
            }
            assert_eq!(rest, 1);
        }
        assert_eq!(friendly_length(1000), 1024);
        assert_eq!(friendly_length(1100), 1152);
    }

    /// The binomial distribution, from its one coin.
    #[test]
    fn a_thousand_coins_are_binomial_within_the_bound() {
        let (count, head) = (1000_u64, 0.3_f64);
        let mut coin = vec![0.0; friendly_length(1001)];
        (coin[0], coin[1]) = (1.0 - head, head);
        let ours = convolve_powers(vec![(coin, count)]).unwrap();
        let mut log_mass = count as f64 * (-head).ln_1p();
        let mut wrong = 0.0;
        for k in 0..=count as usize {
            wrong += (ours.masses[k] - log_mass.exp()).abs();
            let odds = (count - k as u64) as f64 / (k as f64 + 1.0);
            log_mass += (odds * head / (1.0 - head)).ln();
        }
        assert!(wrong < 1e-9, "{wrong:e}");
        assert!(ours.error > 1e-14 && ours.error < 1e-8, "{:e}", ours.error);
    }

    #[test]
    fn no_measure_has_no_convolution() {
        assert_eq!(convolve_powers(Vec::new()), None);
    }

    proptest! {
        #[test]
        fn convolutions_agree_with_the_definition(
            first in proptest::collection::vec(0.0..1.0, 12),
            second in proptest::collection::vec(0.0..1.0, 12),
            count in 1_u64..5,
        ) {
            let unit = |mut masses: Vec<f64>| {
                let total: f64 = masses.iter().sum::<f64>() + 1e-9;
                for mass in &mut masses {
                    *mass /= total;
                }
                masses
            };
            let (first, second) = (unit(first), unit(second));
            let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
                (0..12).map(|k| (0..12).map(|i| a[i] * b[(12 + k - i) % 12]).sum()).collect()
            };
            let mut expected = first.clone();
            for _ in 0..count {
                expected = times(&expected, &second);
            }
            let ours = convolve_powers(vec![(first, 1), (second, count)]).unwrap();
            let wrong: f64 =
                ours.masses.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
            prop_assert!(wrong <= ours.error && ours.error < 1e-12, "{} {}", wrong, ours.error);
        }
    }
}
