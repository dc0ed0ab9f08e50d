//! What may be added up while later events are still being chosen.
//!
//! A budget that is spent over several runs is spent *adaptively*: what a run guarantees
//! to add may depend on what earlier runs put out. A privacy loss distribution is a
//! statement about a plan that is fixed in advance and is no valid filter. These sums
//! are (Feldman, Zrnic 2021; Lécuyer 2021; Smith, Thakurta 2022):
//!
//! * pure: Σ ε₀;
//! * GDP: μ² = Σ (sensitivity/σ)², when every event is Gaussian (of a subsampled one the
//!   sampling is then given away);
//! * RDP at an order that is fixed before. The order that turns out best at the end is
//!   not; but each of the [`ORDERS`] holds at δ/[`ORDERS`], and so do all together at δ.
//!   Gaussian events, concentrated and pure ones are in it: αρ at every order.
//!
//! The number of [`epsilon`] is the smallest of these. If curators choose *between the
//! three* by what they saw, the statement holds with the sum of the δs of those they
//! might have chosen, 2δ at most, since pure sums have none.

use super::gaussian;
use super::pair::Pair;
use super::rdp::{self, Draws};

/// θ = α − 1 of the orders that are followed.
const ORDERS: [f64; 12] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Σ ε₀ of all draws, rounded up; infinite if one of them is not pure.
pub fn pure(parts: &[Draws]) -> f64 {
    let sum = parts.iter().map(|(pair, count)| *count as f64 * pair.largest_loss());
    sum.sum::<f64>() * (1.0 + (parts.len() + 4) as f64 * f64::EPSILON)
}

/// The Gaussian mechanism that dominates all draws, sampling given away: its μ, if all
/// are Gaussian but for sampling.
pub fn gaussian_mu(parts: &[Draws]) -> Option<f64> {
    let squares = parts.iter().map(|(pair, count)| {
        let mu = match pair {
            Pair::Gaussian { mu } => *mu,
            Pair::Subsampled(subsampled) => subsampled.unsampled_mu(),
            _ => return None,
        };
        Some(*count as f64 * mu * mu)
    });
    let sum = squares.sum::<Option<f64>>()?;
    Some(sum.sqrt() * (1.0 + (parts.len() + 4) as f64 * f64::EPSILON))
}

/// RDP at the fixed orders.
pub fn renyi(parts: &[Draws], delta: f64) -> f64 {
    let share = delta / ORDERS.len() as f64;
    let all = ORDERS.into_iter().map(|theta| rdp::epsilon_at(parts, theta, share));
    all.fold(f64::INFINITY, f64::min).max(0.0)
}

/// The smallest sum, and which it is.
pub fn epsilon(parts: &[Draws], delta: f64) -> (f64, &'static str) {
    let gaussian = gaussian_mu(parts).map_or(f64::INFINITY, |mu| gaussian::epsilon(mu, delta));
    [
        (pure(parts), "sum of pure guarantees"),
        (gaussian, "Gaussian sum (GDP), sampling given away"),
        (renyi(parts, delta), "Rényi sum at fixed orders (RDP)"),
    ]
    .into_iter()
    .reduce(|best, next| if next.0 < best.0 { next } else { best })
    .unwrap_or((f64::INFINITY, "no bound"))
}
