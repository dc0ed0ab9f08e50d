//! The privacy loss that many runs on two neighbours show: a lower bound on ε, for audits.

use crate::numeric::special::least;

/// Each bound fails this often.
pub const RISK: f64 = 0.025;

/// P(X ≤ `successes`) of a binomial.
fn binomial_cdf(successes: usize, trials: usize, chance: f64) -> f64 {
    let (n, odds) = (trials as f64, chance.ln() - (-chance).ln_1p());
    let mut log_mass = n * (-chance).ln_1p();
    let mut sum = log_mass.exp();
    for k in 1..=successes {
        log_mass += ((n - k as f64 + 1.0) / k as f64).ln() + odds;
        sum += log_mass.exp();
    }
    sum.min(1.0)
}

/// Clopper and Pearson's upper bound on a chance.
fn upper_bound(successes: usize, trials: usize) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    let unlikely = |chance: f64| binomial_cdf(successes, trials, chance) <= RISK;
    least(successes as f64 / trials as f64, 1.0 - 1e-12, unlikely).unwrap_or(1.0)
}

fn lower_bound(successes: usize, trials: usize) -> f64 {
    1.0 - upper_bound(trials - successes, trials)
}

/// A lower bound on ε at δ from scores of runs with and without the canary. Among the tests "at
/// least a threshold" and "at most a threshold", the best on the first halves is judged on the
/// second.
pub fn epsilon_shown(delta: f64, with: &[f64], without: &[f64]) -> f64 {
    let half = with.len() / 2;
    let bound = |p: usize, q: usize, trials: usize| {
        let (p, q) = (lower_bound(p, trials), upper_bound(q, trials));
        if p > delta { ((p - delta) / q).ln().max(0.0) } else { 0.0 }
    };
    let mut best = (0.0, 0.0, false);
    let mut thresholds = [&with[..half], &without[..half]].concat();
    thresholds.sort_by(f64::total_cmp);
    let counts = |part: &dyn Fn(&[f64]) -> (usize, usize), threshold: f64, low: bool| {
        let over = |scores: &[f64]| {
            let (from, to) = part(scores);
            let reached = |s: &&f64| if low { **s <= threshold } else { **s >= threshold };
            scores[from..to].iter().filter(reached).count()
        };
        if low { (over(without), over(with)) } else { (over(with), over(without)) }
    };
    for threshold in thresholds.iter().step_by((half / 50).max(1)) {
        for low in [false, true] {
            let (p, q) = counts(&|_| (0, half), *threshold, low);
            let promise = bound(p, q, half);
            if promise > best.0 {
                best = (promise, *threshold, low);
            }
        }
    }
    let (p, q) = counts(&|scores| (half, scores.len()), best.1, best.2);
    if best.0 > 0.0 { bound(p, q, with.len() - half) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn bounds_on_a_chance_are_exact_at_the_ends() {
        assert!((upper_bound(0, 100) - (1.0 - RISK.powf(0.01))).abs() < 1e-6);
        assert!((lower_bound(100, 100) - RISK.powf(0.01)).abs() < 1e-6);
        assert_eq!((lower_bound(0, 100), upper_bound(100, 100)), (0.0, 1.0));
    }

    #[test]
    fn what_is_shown_of_two_normals_is_below_their_epsilon_and_not_nothing() {
        // N(±1, 1) at δ = 1e-3: μ = 2, ε about 8.8; with 2 × 2000 runs at most ln(1000/3.7).
        let mut generator = ChaCha20Rng::seed_from_u64(5);
        let mut normals = |mean: f64| -> Vec<f64> {
            let one = |_| mean + (0..12).map(|_| generator.random::<f64>()).sum::<f64>() - 6.0;
            (0..2000).map(one).collect()
        };
        let (with, without) = (normals(1.0), normals(-1.0));
        let shown = epsilon_shown(1e-3, &with, &without);
        assert!((2.0..6.0).contains(&shown), "{shown}");
        assert!(epsilon_shown(1e-3, &with, &with) < 0.3);
    }
}
