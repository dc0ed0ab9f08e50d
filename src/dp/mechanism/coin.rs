//! Coins that fall with probability e^{−x}, exactly, for rational x (Canonne, Kamath, Steinke 2020,
//! after Forsyth and von Neumann). Every other sampler is built from them.

use super::generator::NoiseGenerator;

/// True with probability e^{−numerator/denominator}, exactly: a coin of e^{−1} for every whole
/// unit, rarely more than two of them, and one for the remainder. It needs no division.
pub(super) fn bernoulli_exp(
    generator: &mut NoiseGenerator,
    numerator: u128,
    denominator: u64,
) -> bool {
    let mut rest = numerator;
    while rest >= u128::from(denominator) {
        if !bernoulli_exp_fraction(generator, 1, 1) {
            return false;
        }
        rest -= u128::from(denominator);
    }
    bernoulli_exp_fraction(generator, rest as u64, denominator)
}

/// True with probability e^{−x}, x = numerator/denominator ≤ 1, exactly.
///
/// Forsyth's and von Neumann's series: round k is passed with probability x/k, so at least k rounds
/// are passed with probability x^k/k!, and an even number in total with 1 − x + x²/2! − … = e^{−x}.
/// Drawing 1/k separately from x keeps every bound a `u64`.
pub(super) fn bernoulli_exp_fraction(
    generator: &mut NoiseGenerator,
    numerator: u64,
    denominator: u64,
) -> bool {
    let mut round = 1;
    while generator.below(round) == 0 && generator.below(denominator) < numerator {
        round += 1;
    }
    round % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_of_exponential_bias_have_it() {
        let mut generator = NoiseGenerator::insecure_from_seed(5);
        let huge = 1_u64 << 59;
        let fractions: [(u128, u64); 8] = [
            (0, 7),
            (1, 1),
            (1, 3),
            (5, 2),
            (u128::from(huge) / 3, huge),
            (u128::from(huge) + 1, huge),
            (1 << 78, huge),
            (1 << 61, 1 << 63),
        ];
        for (numerator, denominator) in fractions {
            let expected = (-(numerator as f64) / denominator as f64).exp();
            let n = 100_000;
            let hits =
                (0..n).filter(|_| bernoulli_exp(&mut generator, numerator, denominator)).count();
            let error = (hits as f64 / f64::from(n) - expected).abs();
            let allowed = 5.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
            assert!(error <= allowed, "e^-({numerator}/{denominator}): {hits} of {n}");
        }
    }
}
