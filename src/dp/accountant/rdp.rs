//! Rényi differential privacy: moments of the privacy loss add up.
//!
//! With K(θ) = log E e^{θL}, θ = α − 1, summed over all draws, the Rényi divergence of
//! order α is K/θ. It becomes (Canonne, Kamath, Steinke 2020, Proposition 12)
//!
//! > ε = K(θ)/θ + log(1 − 1/α) − log(δα)/(α − 1)  at every order.
//!
//! Orders are any real numbers: subsampled moments are integrals (quadrature), not
//! binomial sums (Mironov, Talwar, Zhang 2019).

use super::pair::Pair;

/// Draws of one pair.
pub type PairDraws = (Pair, u64);

/// Allowed error of one K, relative to its inputs, which are of the order of 1.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// How close, relatively, the best of all orders is found.
const SEARCHED: f64 = 1e-7;

/// Σ K(θ) with the proven moments of the mechanisms, rounded up.
fn log_moment(parts: &[PairDraws], theta: f64) -> f64 {
    let sum = parts.iter().map(|(pair, count)| {
        let one = pair.log_moment_of_mechanism(theta);
        *count as f64 * (one + ROUNDING * (1.0 + one.abs()))
    });
    sum.sum()
}

/// ε of this order α = θ + 1.
pub fn epsilon_at(parts: &[PairDraws], theta: f64, delta: f64) -> f64 {
    let order = theta + 1.0;
    log_moment(parts, theta) / theta + (theta / order).ln() - (delta.ln() + order.ln()) / theta
}

/// The least ε over all orders, never negative, plus a little, so that [`delta`] at its own order
/// agrees with it.
pub fn epsilon(parts: &[PairDraws], delta: f64) -> f64 {
    let least = least_over_orders(1e-7, |theta| epsilon_at(parts, theta, delta)).1;
    least.max(0.0) * (1.0 + SEARCHED)
}

/// The least δ over all orders, at most 1.
pub fn delta(parts: &[PairDraws], epsilon: f64) -> f64 {
    let log_delta = |theta: f64| {
        let order = theta + 1.0;
        log_moment(parts, theta) - theta * epsilon + theta * (theta / order).ln() - order.ln()
    };
    least_over_orders(1e-7, log_delta).1.exp().min(1.0)
}

/// The θ with the least `value`, nearly: any θ gives a bound, so the search may be coarse. Doubles
/// θ from 1/64 until the value rises or gains less than the part `worth`, then uses golden sections
/// of log θ.
pub fn least_over_orders(worth: f64, value: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut best = (1.0 / 64.0, value(1.0 / 64.0));
    let mut rising = 0;
    for doubling in -5..48 {
        let theta = 2_f64.powi(doubling);
        let here = value(theta);
        if here < best.1 {
            let gain = best.1 - here;
            best = (theta, here);
            rising = 0;
            if gain < worth * here.abs() {
                break;
            }
        } else {
            rising += 1;
            if rising == 3 {
                break;
            }
        }
    }
    let (mut low, mut high) = (best.0.ln() - 0.7, best.0.ln() + 0.7);
    let golden = 0.5 * (5_f64.sqrt() - 1.0);
    let at = |log_theta: f64| value(log_theta.exp());
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut value_left, mut value_right) = (at(left), at(right));
    for _ in 0..16 {
        for (place, found) in [(left, value_left), (right, value_right)] {
            if found < best.1 {
                best = (place.exp(), found);
            }
        }
        if value_left < value_right {
            (high, right, value_right) = (right, left, value_left);
            left = high - golden * (high - low);
            value_left = at(left);
        } else {
            (low, left, value_left) = (left, right, value_right);
            right = low + golden * (high - low);
            value_right = at(right);
        }
    }
    best
}
