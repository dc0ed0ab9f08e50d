//! Privacy loss distributions, composed by FFT: an upper and a lower bound.
//!
//! Losses are brought onto a lattice ([`super::lattice`]) and *tilted*: instead of the
//! masses p of the loss, p·e^{θℓ}/M(θ) are convolved, with the θ of Chernoff's bound, and
//!
//! > δ(ε) = M(θ)^N e^{−θε} · Σ p̃(ℓ)·φ(ℓ − ε),  φ(x) = e^{−θx}(1 − e^{−x})₊ ∈ [0, 1].
//!
//! The factor is about δ itself and the tilted sum is centred at ε, so whatever is left
//! out of the sum or rounded in it counts *relative to δ*: the FFT serves δ = 10⁻³⁰⁰ as
//! well as 10⁻³, on a window of some standard deviations around ε. Everything that is
//! not exact is added up in tilted units and goes into both bounds:
//!
//! * losses beyond the lattice of one draw ([`Cells::lost`]) and sums beyond the window
//!   (Chernoff's bound again), which wrap around;
//! * rounding in the masses: an error in a boundary between cells moves mass by one
//!   cell, so it counts times the step; tilting costs some units per exponent;
//! * rounding in the convolution ([`crate::numeric::convolution`]).
//!
//! The upper bound is the polygon's ε, from above. For the lower bound let B be the
//! Nh²/8-zCDP mechanism that splitting is ([`super::lattice`]); with a hundredth of δ for
//! it, P(L_B > ε_B) ≤ δ/100 at ε_B = ρ + 2√(ρ log(100/δ)), ρ = Nh²/8, and
//! δ_split(ε + ε_B) ≤ δ(ε) + δ/100: the split curve's ε at 1.01·δ, less ε_B.

use super::lattice::Cells;
use super::rdp::{Draws, least_over_orders};
use super::{contour, gate, rdp};
use crate::numeric::convolution::{convolve_powers, friendly_length};

/// Allowed mass outside the window.
const OUTSIDE: f64 = 1e-9;
const LONGEST_WINDOW: f64 = 2_097_152.0;
/// What splitting may add to ε.
const FINE: f64 = 6e-5;
/// How much coarser a lattice may be that only has to show that a loss is smaller: mostly
/// the first will do, which costs next to nothing.
const COARSE: [f64; 2] = [4.0, 1.5];
/// The widest interval that needs no finer lattice, relative to ε.
const PROMISED: f64 = 9.9e-3;
/// The part of it that splitting may take: the rest is for the lattice and for δ/100.
const NARROW: f64 = 8.5e-3;
/// The part of δ that the lower bound spends on splitting.
const SPLIT_SHARE: f64 = 0.01;

/// How far a product of many factors may be off, and a thousand times that.
const ABOUT: f64 = 1e-6;

/// Larger tilts that bring less than this are not worth their finer lattice.
const WORTH: f64 = 1e-3;

/// What a smaller tilt may cost: all errors count e^`SLACK` times as much.
const SLACK: f64 = 2.0;
/// How often a smaller θ, then a coarser lattice, is tried until a sum fits.
const ATTEMPTS: u32 = 14;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub lower: f64,
    pub upper: f64,
}

/// ε at this δ, in one direction; `None` where doubles cannot say.
pub fn epsilon(parts: &[Draws], delta: f64) -> Option<Interval> {
    let draws = total_draws(parts)?;
    let log_share = -(SPLIT_SHARE * delta).ln();
    let converged = contour::epsilon(parts, delta).ok().filter(|it| *it > 0.0);
    let guess = converged.unwrap_or_else(|| rdp::epsilon(parts, delta).min(gate::pure(parts)));
    let mut theta = tilt(parts, guess);
    let mut step = first_step(guess, draws, theta).min(
        // The lower bound's distance is h·√(N/2·log(100/δ)) to first order.
        NARROW * guess / (0.5 * draws * log_share).sqrt(),
    );
    let mut best: Option<Interval> = None;
    for _ in 0..4 {
        let Some(sum) = Tilted::compose_gently(parts, &mut theta, step) else { break };
        let rho = draws * sum.step * sum.step / 8.0;
        let split = rho + 2.0 * (rho * log_share).sqrt();
        let Some(upper) = sum.epsilon_above(delta) else { break };
        let lower = sum.epsilon_below(delta * (1.0 + SPLIT_SHARE)).map_or(0.0, |it| it - split);
        let found = Interval { lower: lower.clamp(0.0, upper), upper };
        best = Some(best.map_or(found, |best| Interval {
            lower: best.lower.max(found.lower),
            upper: best.upper.min(found.upper),
        }));
        let width = found.upper - found.lower;
        if width <= PROMISED * found.upper || split < 0.1 * width {
            break;
        }
        step = sum.step * (0.8 * NARROW * found.upper / width).clamp(0.05, 0.8);
    }
    best
}

/// Whether ε at this δ, in one direction, is at most `most`, as far as a coarse lattice
/// can say.
pub fn is_at_most(parts: &[Draws], delta: f64, most: f64) -> bool {
    let Some(draws) = total_draws(parts) else { return false };
    let theta = tilt(parts, most);
    let step = first_step(most, draws, theta);
    COARSE.iter().any(|coarse| {
        let sum = Tilted::compose(parts, theta, coarse * step);
        sum.is_some_and(|sum| sum.delta_above(most) <= delta)
    })
}

/// δ at this ε from above, in one direction.
pub fn delta(parts: &[Draws], epsilon: f64) -> Option<f64> {
    let draws = total_draws(parts)?;
    let mut theta = tilt(parts, epsilon);
    let step = first_step(epsilon, draws, theta);
    let sum = Tilted::compose_gently(parts, &mut theta, step)?;
    Some(sum.delta_above(epsilon).min(1.0))
}

/// The least θ whose Chernoff bound on δ(ε) is within a factor e^[`SLACK`] of the best
/// one. Larger ones make rare large losses likely, which widens the window.
fn tilt(parts: &[Draws], epsilon: f64) -> f64 {
    let log_bound = |theta| log_moment(parts, theta) - theta * epsilon;
    let (mut theta, least) = least_over_orders(WORTH, log_bound);
    while theta > 1e-3 && log_bound(theta / 1.25) <= least + SLACK {
        theta /= 1.25;
    }
    theta
}

/// The draws of all parts; `None` when there are none.
fn total_draws(parts: &[Draws]) -> Option<f64> {
    let draws = parts.iter().map(|(_, count)| *count as f64).sum::<f64>();
    (draws > 0.0).then_some(draws)
}

/// Splitting adds at most h²/4, mostly h²/6, to the variance of each draw, which adds
/// half of that times (θ + 1) to ε.
fn first_step(epsilon: f64, draws: f64, theta: f64) -> f64 {
    let tolerance = FINE.max(1e-6 * epsilon).min(1e-3 * epsilon).max(1e-12);
    (12.0 * tolerance / (draws * (theta + 1.0))).sqrt()
}

fn log_moment(parts: &[Draws], theta: f64) -> f64 {
    parts.iter().map(|(pair, count)| *count as f64 * pair.log_moment(theta)).sum()
}

/// The tilted losses of one draw.
struct Loss {
    cells: Cells,
    count: u64,
    log_moment: f64,
    mean: f64,
    variance: f64,
}

/// The tilted sum of all losses in its window.
struct Tilted {
    theta: f64,
    step: f64,
    /// Of the whole sum.
    log_moment: f64,
    /// k of the first mass.
    first: i64,
    masses: Vec<f64>,
    /// Bound on everything that is not exact, in units of tilted mass.
    error: f64,
    /// How far the losses themselves may be off, by rounding.
    drift: f64,
}

impl Tilted {
    /// With a smaller θ if the sum does not fit its window, or a coarser lattice.
    fn compose_gently(parts: &[Draws], theta: &mut f64, mut step: f64) -> Option<Self> {
        for attempt in 0..ATTEMPTS {
            if let Some(sum) = Self::compose(parts, *theta, step) {
                return Some(sum);
            }
            if attempt < ATTEMPTS / 2 { *theta *= 0.7 } else { step *= 2.0 }
        }
        None
    }

    fn compose(parts: &[Draws], theta: f64, step: f64) -> Option<Self> {
        let mut step = step;
        // Losses that sit at the ends stay there if the ends are on the lattice.
        let ends = parts.iter().map(|(pair, _)| pair.largest_loss());
        if let Some(end) = ends.filter(|end| end.is_finite() && *end > 0.0).reduce(f64::max) {
            step = end / (end / step).ceil();
        }
        let negligible = OUTSIDE / total_draws(parts)?;
        let mut losses = Vec::new();
        for (pair, count) in parts {
            let cells = pair.cells(theta, step, negligible)?;
            losses.push(Loss::tilt(cells, *count, theta, step, pair.log_moment(theta))?);
        }
        let total = |of: fn(&Loss) -> f64| -> f64 {
            losses.iter().map(|loss| loss.count as f64 * of(loss)).sum()
        };
        let (mean, variance) = (total(|loss| loss.mean), total(|loss| loss.variance));
        let log_moment = total(|loss| loss.log_moment);
        let draws = total(|_| 1.0);
        let deviation = variance.sqrt().max(2.0 * step);
        let (below, above) = (reach(&losses, step, -deviation), reach(&losses, step, deviation));
        let length = ((below + above) / step).ceil() + 4.0;
        if !(length <= LONGEST_WINDOW && (mean / step).abs() < 1e15) {
            return None;
        }
        let length = friendly_length(length as usize);
        // Indices count from each draw's own centre.
        let mut centre = 0_i64;
        let mut measures = Vec::new();
        let mut lost = 2.0 * OUTSIDE;
        let mut roundings = 0.0;
        for loss in &losses {
            let count = loss.count as f64;
            let own = (loss.mean / step).round() as i64;
            centre = centre.checked_add(own.checked_mul(i64::try_from(loss.count).ok()?)?)?;
            let mut folded = vec![0.0; length];
            for (index, mass) in (loss.cells.first - own..).zip(&loss.cells.masses) {
                folded[index.rem_euclid(length as i64) as usize] += mass;
            }
            measures.push((folded, loss.count));
            lost += 1.1 * count * loss.cells.lost;
            let reach = loss.cells.masses.len() as f64 * step;
            let exponent = theta * reach + loss.log_moment.abs();
            roundings += count * (80.0 + 64.0 / theta + 4.0 * exponent);
        }
        let sum = convolve_powers(measures)?;
        let first = ((mean - below) / step).floor() as i64 - 1;
        let mut masses = sum.masses;
        masses.rotate_left((first - centre).rem_euclid(length as i64) as usize);
        let reading = 8.0 / -(-theta * step).exp_m1();
        let error = sum.error + lost + ((roundings + reading) * f64::EPSILON).exp_m1();
        let drift = 16.0 * draws * f64::EPSILON * (1.0 + step);
        (error < 1e-2).then_some(Self { theta, step, log_moment, first, masses, error, drift })
    }

    fn loss(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }

    /// log of the factor between tilted sums and δ.
    fn log_factor(&self, epsilon: f64) -> f64 {
        self.log_moment - self.theta * epsilon
    }

    /// Σ p̃·φ over the losses from each lattice value upwards, from the last one down:
    /// (index, Σ p̃ e^{−θ(ℓ − ℓ_index)}, the same with θ + 1).
    fn sums(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let factors = [self.theta, self.theta + 1.0].map(|rate| (-rate * self.step).exp());
        let downwards = self.masses.iter().enumerate().rev();
        downwards.scan((0.0, 0.0), move |(slow, fast), (index, mass)| {
            *slow = mass + factors[0] * *slow;
            *fast = mass + factors[1] * *fast;
            Some((index, *slow, *fast))
        })
    }

    /// About the tilted mass that is worth `delta` at each lattice value, from the last one
    /// down: it saves a logarithm at every value that is far from the answer. Not finite where
    /// doubles have no such number.
    fn worth(&self, delta: f64) -> impl Iterator<Item = f64> {
        let decay = (-self.theta * self.step).exp();
        let last = delta.ln() - self.log_factor(self.loss(self.masses.len() - 1));
        let last = last.exp();
        std::iter::successors(Some(last), move |worth| Some(worth * decay))
    }

    /// The least ε ≥ 0 at which δ is proven to be at most `delta`.
    fn epsilon_above(&self, delta: f64) -> Option<f64> {
        let proven = |epsilon: f64, sum: f64| {
            self.log_factor(epsilon) + (sum + self.error).ln() <= delta.ln() - 1e-13
        };
        let mut last: Option<(f64, f64, f64)> = None;
        for ((index, slow, fast), worth) in self.sums().zip(self.worth(delta)) {
            let epsilon = self.loss(index);
            let clear = worth.is_finite() && slow - fast + self.error < (1.0 - ABOUT) * worth;
            if epsilon > 0.0 && (clear || proven(epsilon, slow - fast)) {
                last = Some((epsilon, slow, fast));
                continue;
            }
            // Between this lattice value and the last, the same masses lie above ε.
            let (above, slow, fast) = last?;
            let (mut low, mut high) = (epsilon.max(0.0), above);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                let below = above - middle;
                let sum =
                    (-self.theta * below).exp() * slow - (-(self.theta + 1.0) * below).exp() * fast;
                if proven(middle, sum) { high = middle } else { low = middle }
            }
            return Some(self.padded(high));
        }
        last.map(|(epsilon, ..)| self.padded(epsilon))
    }

    fn padded(&self, epsilon: f64) -> f64 {
        epsilon * (1.0 + 1e-12) + self.drift
    }

    /// A lattice value of ε at which the split δ is proven to be at least `delta`.
    fn epsilon_below(&self, delta: f64) -> Option<f64> {
        let reached = self.sums().zip(self.worth(delta)).find(|((index, slow, fast), worth)| {
            let sum = slow - fast - self.error;
            let clear = worth.is_finite() && sum < (1.0 - ABOUT) * worth;
            !clear
                && sum > 0.0
                && self.log_factor(self.loss(*index)) + sum.ln() >= delta.ln() + 1e-13
        });
        reached.map(|((index, ..), _)| self.loss(index) * (1.0 - 1e-12) - self.drift)
    }

    /// δ at this ε, from above.
    fn delta_above(&self, epsilon: f64) -> f64 {
        let epsilon = (epsilon - self.drift) * (1.0 - 1e-12);
        let last = self.sums().take_while(|(index, ..)| self.loss(*index) >= epsilon).last();
        let sum = last.map_or(0.0, |(index, slow, fast)| {
            let above = self.loss(index) - epsilon;
            (-self.theta * above).exp() * slow - (-(self.theta + 1.0) * above).exp() * fast
        });
        (self.log_factor(epsilon) + (sum + self.error).ln() + 1e-13).exp().next_up()
    }
}

impl Loss {
    fn tilt(mut cells: Cells, count: u64, theta: f64, step: f64, expected: f64) -> Option<Self> {
        let mut total = 0.0;
        let (mut first, mut second) = (0.0, 0.0);
        for (k, mass) in (cells.first..).zip(&mut cells.masses) {
            let loss = k as f64 * step;
            *mass *= (theta * loss - expected).exp();
            total += *mass;
            first += *mass * loss;
            second += *mass * loss * loss;
        }
        // Splitting changes the moment a little; underflow would change it a lot.
        if !(0.9..2.0).contains(&total) {
            return None;
        }
        for mass in &mut cells.masses {
            *mass /= total;
        }
        let mean = first / total;
        let variance = (second / total - mean * mean).max(0.0);
        Some(Self { cells, count, log_moment: expected + total.ln(), mean, variance })
    }

    /// log E e^{η(ℓ − mean)} of the tilted loss.
    fn log_spread(&self, eta: f64, step: f64) -> f64 {
        let masses = &self.cells.masses;
        let start = self.cells.first as f64 * step - self.mean;
        let end = start + (masses.len() - 1) as f64 * step;
        // From the largest weight to the smallest, which may vanish.
        let largest = (eta * start).max(eta * end);
        if largest > 600.0 {
            return f64::INFINITY;
        }
        let decay = (-eta.abs() * step).exp();
        let weighted =
            |(sum, weight): (f64, f64), mass: &f64| (sum + mass * weight, weight * decay);
        let from = (0.0, largest.exp());
        let (sum, _) = if eta > 0.0 {
            masses.iter().rev().fold(from, weighted)
        } else {
            masses.iter().fold(from, weighted)
        };
        sum.ln() + 1e-9
    }
}

/// How far from its mean the sum stays but for [`OUTSIDE`], on the side of `deviation`'s
/// sign: the best of some of Chernoff's bounds.
fn reach(losses: &[Loss], step: f64, deviation: f64) -> f64 {
    let bound = |scale: f64| {
        let eta = scale / deviation;
        let spread: f64 =
            losses.iter().map(|loss| loss.count as f64 * loss.log_spread(eta, step)).sum();
        (spread - OUTSIDE.ln()) / eta.abs()
    };
    let first = bound(6.4);
    // A normal sum needs 6.4 deviations.
    if first < 7.0 * deviation.abs() {
        return first;
    }
    [3.2, 1.2, 0.3, 0.1].into_iter().map(bound).fold(first, f64::min)
}
