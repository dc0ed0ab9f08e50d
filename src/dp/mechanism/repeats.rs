//! The number of repeats of a run, drawn exactly: see [`crate::accountant::Repeats`].

use super::generator::NoiseGenerator;
use crate::accountant::Repeats;

/// One draw of the law, whose stop is a multiple of 2⁻³².
///
/// Tossing coins until one stops, with probability γ, gives a geometric number of others. The sum
/// of η such numbers, conditioned on not being zero, has the truncated negative binomial law of
/// shape η. A geometric number k ≥ 1, kept with probability 1/k, has the logarithmic law.
pub fn number_of_repeats(generator: &mut NoiseGenerator, repeats: Repeats) -> u64 {
    let Repeats { shape, stop } = repeats;
    let threshold = (stop * TWO_TO_32) as u64;
    loop {
        let number: u64 = (0..shape.max(1)).map(|_| before_a_stop(generator, threshold)).sum();
        if number > 0 && (shape > 0 || generator.below(number) == 0) {
            return number;
        }
    }
}

/// One index below `count`, each equally likely.
pub fn one_of(generator: &mut NoiseGenerator, count: usize) -> usize {
    generator.below(count as u64) as usize
}

fn before_a_stop(generator: &mut NoiseGenerator, threshold: u64) -> u64 {
    let mut others = 0;
    while generator.below(1 << 32) >= threshold {
        others += 1;
    }
    others
}

const TWO_TO_32: f64 = 4_294_967_296.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_repeats_follow_their_law() {
        let mut generator = NoiseGenerator::insecure_from_seed(8);
        for (shape, stop) in [(0, 0.125), (1, 0.0625), (1, 0.5), (3, 0.25)] {
            let repeats = Repeats { shape, stop };
            let draws: Vec<u64> =
                (0..40_000).map(|_| number_of_repeats(&mut generator, repeats)).collect();
            let n = draws.len() as f64;
            // P(K = 1), P(K = 2) and the mean.
            let keep = 1.0 - stop;
            let (first, second) = if shape == 0 {
                let first = keep / -stop.ln();
                (first, first * keep / 2.0)
            } else {
                let eta = f64::from(shape);
                let first = eta * keep / (stop.powf(-eta) - 1.0);
                (first, first * keep * (eta + 1.0) / 2.0)
            };
            for (k, expected) in [(1, first), (2, second)] {
                let share = draws.iter().filter(|it| **it == k).count() as f64 / n;
                let allowed = 5.0 * (expected * (1.0 - expected) / n).sqrt();
                assert!((share - expected).abs() < allowed, "{repeats:?} {k}: {share} {expected}");
            }
            let mean = draws.iter().sum::<u64>() as f64 / n;
            let variance = draws.iter().map(|k| (*k as f64 - mean).powi(2)).sum::<f64>() / n;
            assert!(
                (mean - repeats.mean()).abs() < 5.0 * (variance / n).sqrt(),
                "{repeats:?} {mean}"
            );
        }
    }
}
