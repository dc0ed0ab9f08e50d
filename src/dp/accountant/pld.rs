//! Privacy loss distributions, composed by FFT: an upper and a lower bound.
//!
//! Losses are brought onto a lattice ([`super::lattice`]) and *tilted*: instead of the
//! masses p of the loss, p·e^{θℓ}/M(θ) are convolved, with the θ of Chernoff's bound, and
//!
//! > δ(ε) = M(θ)^N e^{−θε} · Σ p̃(ℓ)·φ(ℓ − ε),  φ(x) = e^{−θx}(1 − e^{−x})₊ ∈ [0, 1].
//!
//! The factor is about the size of δ and the tilted sum is centred at ε, so anything left out or
//! rounded counts *relative to δ*: the FFT works for δ = 10⁻³⁰⁰ as well as for 10⁻³, on a window of
//! some standard deviations around ε. Every error is added up in tilted units, weighted by the
//! largest value of φ (where only the norm of an error is known, by the norm of φ: [`weights`]),
//! and goes into both bounds:
//!
//! * losses beyond the lattice of one draw ([`LatticeLosses::lost`]) and sums beyond the window
//!   (Chernoff's bound again), which wrap around;
//! * rounding in the masses: an error in a boundary between cells moves mass by one
//!   cell, so it counts times the step; tilting costs some units per exponent;
//! * rounding in the convolution ([`crate::numeric::convolution`]);
//! * rounding in adding up the mass above ε: relative to that mass, so few draws with a tiny
//!   sampling rate, where nearly all mass lies below ε, are no worse.
//!
//! The upper bound is the polygon's ε, from above. For the lower bound let B be the Nh²/8-zCDP
//! mechanism of splitting ([`super::lattice`]). With a hundredth of δ for it, P(L_B > ε_B) ≤ δ/100
//! at ε_B = ρ + 2√(ρ log(100/δ)), ρ = Nh²/8, and δ_split(ε + ε_B) ≤ δ(ε) + δ/100. So the lower
//! bound is the split curve's ε at 1.01·δ, minus ε_B.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::lattice::LatticeLosses;
use super::pair::Pair;
use super::rdp::{PairDraws, least_over_orders};
use super::{contour, gate, rdp};
use crate::numeric::convolution::{convolve_powers, friendly_length};
use crate::numeric::special::least;

/// The range of a lattice: the ratio of the largest ε that it serves to the smallest.
const REACHES: f64 = 1.05;
/// Smaller ε are served like this one.
const LEAST: f64 = 1e-5;
/// Allowed mass outside the window: at first, and where δ is much less than Chernoff's bound.
const OUTSIDE: f64 = 1e-9;
const LEAST_OUTSIDE: f64 = 1e-16;
/// The part of δ that errors may account for.
const INEXACT: f64 = 1e-3;
const LONGEST_WINDOW: f64 = 2_097_152.0;
/// The amount that splitting may add to ε.
const FINE: f64 = 6e-5;
/// How much coarser a lattice may be that only has to show that a loss is smaller. Mostly the first
/// one is enough, and it costs almost nothing.
const COARSE: [f64; 2] = [4.0, 1.5];
/// The widest interval that needs no finer lattice, relative to ε.
const PROMISED: f64 = 9.2e-3;
/// The part of this width that splitting may take. The rest is for the lattice and for δ/100.
const NARROW: f64 = 8e-3;
/// The part of δ that the lower bound spends on splitting.
const SPLIT_SHARE: f64 = 0.01;

/// A thousand times the possible error of a product of many factors.
const ABOUT: f64 = 1e-6;

/// Larger tilts that gain less than this are not worth their finer lattice.
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

/// The curve of one direction of a list. The lattice for an ε depends only on this ε, in steps of a
/// factor [`REACHES`], and not on the question. So the ε of a δ and the δ of that ε come from the
/// same lattice, and agree.
pub struct Curve {
    parts: Vec<PairDraws>,
    draws: f64,
    lattices: RefCell<BTreeMap<i32, Option<Rc<Lattice>>>>,
}

/// A tilted sum and the amount that splitting adds to its ε.
struct Lattice {
    sum: Tilted,
    rho: f64,
    /// The mass that may be outside its window.
    outside: f64,
}

impl Lattice {
    fn of(sum: Tilted, draws: f64, outside: f64) -> Self {
        let rho = draws * sum.step * sum.step / 8.0;
        Self { sum, rho, outside }
    }

    /// How much lower the ε of the unsplit losses may be.
    fn split(&self, log_share: f64) -> f64 {
        self.rho + 2.0 * (self.rho * log_share).sqrt()
    }

    /// The proven lower bound at this δ.
    fn below(&self, delta: f64) -> f64 {
        let lower = self.sum.epsilon_below(delta * (1.0 + SPLIT_SHARE));
        lower.map_or(0.0, |lower| (lower - self.split(-(SPLIT_SHARE * delta).ln())).max(0.0))
    }
}

impl Curve {
    /// `None` for an empty list.
    pub fn of(parts: Vec<PairDraws>) -> Option<Self> {
        let draws = total_draws(&parts)?;
        Some(Self { parts, draws, lattices: RefCell::default() })
    }

    pub fn parts(&self) -> &[PairDraws] {
        &self.parts
    }

    /// A single draw needs no lattice.
    fn single(&self) -> Option<&Pair> {
        match self.parts.as_slice() {
            [(pair, 1)] => Some(pair),
            _ => None,
        }
    }

    /// δ at this ε, from above; 1 where doubles cannot represent it.
    pub fn delta(&self, epsilon: f64) -> f64 {
        if let Some(exact) = self.single().and_then(|pair| pair.delta(epsilon)) {
            return exact.min(1.0);
        }
        self.lattice(place(epsilon))
            .map_or(1.0, |lattice| lattice.sum.delta_above(epsilon).min(1.0))
    }

    /// δ at this ε from above, as precisely as coarse lattices allow, until it is `enough`.
    pub fn roughly(&self, epsilon: f64, enough: f64) -> f64 {
        let theta = tilt(&self.parts, epsilon);
        let step = first_step(epsilon, self.draws, theta);
        let mut least = 1.0;
        for coarse in COARSE {
            if let Some(sum) = Tilted::compose(&self.parts, theta, coarse * step, OUTSIDE) {
                least = sum.delta_above(epsilon).min(least);
            }
            if least <= enough {
                break;
            }
        }
        least
    }

    /// ε at this δ of a single draw.
    fn exactly(&self, delta: f64) -> Option<f64> {
        let pair = self.single()?;
        let within = |epsilon| pair.delta(epsilon).is_some_and(|reached| reached <= delta);
        least(0.0, pair.largest_loss().min(1e6), within)
    }

    /// ε at this δ; `None` where doubles cannot represent it.
    pub fn epsilon(&self, delta: f64) -> Option<Interval> {
        if let Some(upper) = self.exactly(delta) {
            return Some(Interval { lower: (upper * (1.0 - 1e-7) - 1e-12).max(0.0), upper });
        }
        let guess = self.guess(delta)?;
        let (mut wanted, mut lower) = (place(guess), 0.0_f64);
        let mut before: Option<i32> = None;
        let mut upper = None;
        for _ in 0..ATTEMPTS {
            let Some(lattice) = self.lattice(wanted) else { break };
            let read = lattice.sum.epsilon_above(delta)?;
            lower = lower.max(lattice.below(delta));
            let next = place(read);
            if next == wanted {
                upper = Some(read);
                break;
            }
            // Each of two adjacent lattices points to the other, so the answer is where they meet.
            // Above this value the higher one proves it.
            if before == Some(next) {
                upper = Some(beginning(next.max(wanted)));
                break;
            }
            if next < wanted {
                upper = Some(beginning(wanted));
            }
            (before, wanted) = (Some(wanted), next);
        }
        let upper = upper?;
        // At an end of its range a lattice may leave the lower bound a little too low.
        let near = self.lattice(place(upper)).map(|it| (it.sum.theta, it.sum.step, it.outside));
        if let Some((theta, mut step, outside)) = near {
            for _ in 0..2 {
                let width = (upper - lower) / upper;
                if width <= PROMISED {
                    break;
                }
                step *= (0.8 * NARROW / width).clamp(0.2, 0.8);
                let Some(sum) = Tilted::compose(&self.parts, theta, step, outside) else { break };
                lower = lower.max(Lattice::of(sum, self.draws, outside).below(delta));
            }
        }
        Some(Interval { lower: lower.clamp(0.0, upper), upper })
    }

    /// About the ε at this δ: the contour's, or a coarse lattice's.
    pub fn guess(&self, delta: f64) -> Option<f64> {
        if let Some(exact) = self.exactly(delta) {
            return Some(exact);
        }
        if let Some(converged) = contour::epsilon(&self.parts, delta).ok().filter(|it| *it > 0.0) {
            return Some(converged);
        }
        // At the very largest loss there is no tilt.
        let mut guess = rdp::epsilon(&self.parts, delta).min(0.98 * gate::pure(&self.parts));
        for _ in 0..3 {
            let mut theta = tilt(&self.parts, guess);
            let step = COARSE[0] * first_step(guess, self.draws, theta);
            let sum = Tilted::compose_gently(&self.parts, &mut theta, step, OUTSIDE)?;
            let Some(next) = sum.epsilon_above(delta) else { break };
            if next > 0.9 * guess {
                return Some(next);
            }
            guess = next;
        }
        Some(guess)
    }

    /// The lattice of a place.
    fn lattice(&self, place: i32) -> Option<Rc<Lattice>> {
        if let Some(known) = self.lattices.borrow().get(&place) {
            return known.clone();
        }
        let made = self.compose(place).map(Rc::new);
        self.lattices.borrow_mut().insert(place, made.clone());
        made
    }

    fn compose(&self, place: i32) -> Option<Lattice> {
        let end = beginning(place + 1).min(gate::pure(&self.parts));
        let epsilon = (beginning(place) * end).sqrt();
        let mut theta = tilt(&self.parts, epsilon);
        let log_delta = (log_moment(&self.parts, theta) - theta * epsilon).clamp(-700.0, -0.7);
        let log_share = -(SPLIT_SHARE.ln() + log_delta);
        let mut step = first_step(epsilon, self.draws, theta).min(
            // The lower bound's distance is h·√(N/2·log(100/δ)) to first order.
            NARROW * epsilon / (0.5 * self.draws * log_share).sqrt(),
        );
        // Where Chernoff's bound is weak, the part left out of the sum may be more than the part
        // above ε. A coarse lattice shows this, and it also serves where no finer one fits.
        let coarse = COARSE[0] * first_step(epsilon, self.draws, theta);
        let mut outside = OUTSIDE;
        let coarse = Tilted::compose_gently(&self.parts, &mut theta, coarse, outside);
        if let Some(sum) = &coarse {
            let inexact = sum.inexact(epsilon, sum.delta_above(epsilon));
            if inexact > INEXACT {
                outside = (0.1 * OUTSIDE * INEXACT / inexact).max(LEAST_OUTSIDE);
            }
        }
        let mut best: Option<(Lattice, f64)> = None;
        for round in 0..4 {
            let composed = if round == 0 {
                Tilted::compose_gently(&self.parts, &mut theta, step, outside)
            } else {
                // If it does not fit, a smaller tilt is not worthwhile.
                Tilted::compose(&self.parts, theta, step, outside)
            };
            let Some(sum) = composed else { break };
            let delta = sum.delta_above(epsilon);
            let found = Lattice::of(sum, self.draws, outside);
            let width = epsilon - found.below(delta.min(0.5));
            let (split, step_made) = (found.split(log_share), found.sum.step);
            if best.as_ref().is_none_or(|(_, least)| delta < *least) {
                best = Some((found, delta));
            }
            if width <= PROMISED * epsilon || split < 0.1 * width {
                break;
            }
            step = step_made * (0.8 * NARROW * epsilon / width).clamp(0.05, 0.8);
        }
        let coarse = || coarse.map(|sum| Lattice::of(sum, self.draws, OUTSIDE));
        best.map(|(lattice, _)| lattice).or_else(coarse)
    }
}

/// The index of the lattice for an ε.
fn place(epsilon: f64) -> i32 {
    // Smaller values need no lattice of their own.
    let mut place = (epsilon.max(LEAST).ln() / REACHES.ln()).floor() as i32;
    // The rounding of the logarithm must not move an end into the next place.
    while beginning(place) > epsilon.max(LEAST) {
        place -= 1;
    }
    while beginning(place + 1) <= epsilon {
        place += 1;
    }
    place
}

/// The least ε of a place.
fn beginning(place: i32) -> f64 {
    REACHES.powi(place)
}

/// The least θ whose Chernoff bound on δ(ε) is within a factor e^[`SLACK`] of the best
/// one. Larger ones make rare large losses likely, which widens the window.
fn tilt(parts: &[PairDraws], epsilon: f64) -> f64 {
    let log_bound = |theta| log_moment(parts, theta) - theta * epsilon;
    let (mut theta, least) = least_over_orders(WORTH, log_bound);
    while theta > 1e-3 && log_bound(theta / 1.25) <= least + SLACK {
        theta /= 1.25;
    }
    // Sums with a tiny tilt are lost in rounding.
    let larger = [1.0, 0.1].into_iter().find(|more| log_bound(*more) <= least + SLACK);
    theta.max(larger.unwrap_or(0.0))
}

/// The draws of all parts; `None` when there are none.
fn total_draws(parts: &[PairDraws]) -> Option<f64> {
    let draws = parts.iter().map(|(_, count)| *count as f64).sum::<f64>();
    (draws > 0.0).then_some(draws)
}

/// Splitting adds at most h²/4, mostly h²/6, to the variance of each draw, which adds
/// half of that times (θ + 1) to ε.
fn first_step(epsilon: f64, draws: f64, theta: f64) -> f64 {
    let tolerance = FINE.max(1e-6 * epsilon).min(1e-3 * epsilon).max(1e-12);
    (12.0 * tolerance / (draws * (theta + 1.0))).sqrt()
}

fn log_moment(parts: &[PairDraws], theta: f64) -> f64 {
    parts.iter().map(|(pair, count)| *count as f64 * pair.log_moment(theta)).sum()
}

/// The tilted losses of one draw.
struct TiltedLosses {
    cells: LatticeLosses,
    count: u64,
    log_moment: f64,
    mean: f64,
    variance: f64,
}

/// The tilted sum of all losses in its window.
struct Tilted {
    theta: f64,
    step: f64,
    /// The log-moment of the whole sum.
    log_moment: f64,
    /// k of the first mass.
    first: i64,
    masses: Vec<f64>,
    /// Bound on all errors, in units of tilted mass.
    error: f64,
    /// The relative rounding error of adding up the masses above an ε.
    reading: f64,
    /// The rounding error of the losses themselves.
    drift: f64,
}

impl Tilted {
    /// Composes with a smaller θ or a coarser lattice if the sum does not fit its window.
    fn compose_gently(
        parts: &[PairDraws],
        theta: &mut f64,
        mut step: f64,
        outside: f64,
    ) -> Option<Self> {
        for attempt in 0..ATTEMPTS {
            if let Some(sum) = Self::compose(parts, *theta, step, outside) {
                return Some(sum);
            }
            if attempt < ATTEMPTS / 2 { *theta *= 0.7 } else { step *= 2.0 }
        }
        None
    }

    fn compose(parts: &[PairDraws], theta: f64, mut step: f64, outside: f64) -> Option<Self> {
        // Losses that sit at the ends stay there if the ends are on the lattice.
        let ends = parts.iter().map(|(pair, _)| pair.largest_loss());
        if let Some(end) = ends.filter(|end| end.is_finite() && *end > 0.0).reduce(f64::max) {
            step = end / (end / step).ceil();
        }
        let negligible = outside / total_draws(parts)?;
        let mut losses = Vec::new();
        for (pair, count) in parts {
            let cells = pair.cells(theta, step, negligible)?;
            losses.push(TiltedLosses::tilt(cells, *count, theta, step, pair.log_moment(theta))?);
        }
        let total = |of: fn(&TiltedLosses) -> f64| -> f64 {
            losses.iter().map(|loss| loss.count as f64 * of(loss)).sum()
        };
        let (mean, variance) = (total(|loss| loss.mean), total(|loss| loss.variance));
        let log_moment = total(|loss| loss.log_moment);
        let draws = total(|_| 1.0);
        let deviation = variance.sqrt().max(2.0 * step);
        let (below, above) =
            (reach(&losses, step, -deviation, outside), reach(&losses, step, deviation, outside));
        let length = ((below + above) / step).ceil() + 4.0;
        if !(length <= LONGEST_WINDOW && (mean / step).abs() < 1e15) {
            return None;
        }
        let length = friendly_length(length as usize);
        // Indices count from each draw's own centre.
        let mut centre = 0_i64;
        let mut measures = Vec::new();
        let mut lost = 2.0 * outside;
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
        // The number of multiplications of a mass equals its distance in cells.
        let reading = 8.0 * length as f64 * f64::EPSILON;
        let (most, length_of_weights) = weights(theta, step);
        let convolution = (most * sum.error).min(length_of_weights * sum.error_length);
        let error = convolution + most * (lost + (roundings * f64::EPSILON).exp_m1());
        let drift = 16.0 * draws * f64::EPSILON * (1.0 + step);
        let sum = Self { theta, step, log_moment, first, masses, error, reading, drift };
        (error + reading < 1e-2).then_some(sum)
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

    /// Roughly the tilted mass that corresponds to `delta` at each lattice value, from the last one
    /// down. It saves a logarithm at every value that is far from the answer. It is not finite
    /// where it overflows a double.
    fn worth(&self, delta: f64) -> impl Iterator<Item = f64> {
        let decay = (-self.theta * self.step).exp();
        let last = delta.ln() - self.log_factor(self.loss(self.masses.len() - 1));
        let last = last.exp();
        std::iter::successors(Some(last), move |worth| Some(worth * decay))
    }

    /// The tilted sum from above, from the results of [`Self::sums`].
    fn above(&self, slow: f64, fast: f64) -> f64 {
        slow - fast + self.reading * slow + self.error
    }

    /// The sums of a lattice value, moved `below` it, with no mass in between.
    fn moved(&self, slow: f64, fast: f64, below: f64) -> (f64, f64) {
        let decay = (-self.theta * below).exp();
        (decay * slow, decay * (-below).exp() * fast)
    }

    /// The least ε ≥ 0 at which δ is proven to be at most `delta`.
    fn epsilon_above(&self, delta: f64) -> Option<f64> {
        let proven = |epsilon: f64, slow: f64, fast: f64| {
            self.log_factor(epsilon) + self.above(slow, fast).ln() <= delta.ln() - 4e-13
        };
        let mut last: Option<(f64, f64, f64)> = None;
        for ((index, slow, fast), worth) in self.sums().zip(self.worth(delta)) {
            let epsilon = self.loss(index);
            let clear = worth.is_finite() && self.above(slow, fast) < (1.0 - ABOUT) * worth;
            if epsilon > 0.0 && (clear || proven(epsilon, slow, fast)) {
                last = Some((epsilon, slow, fast));
                continue;
            }
            // Between this lattice value and the last, the same masses lie above ε.
            let (above, slow, fast) = last?;
            let (mut low, mut high) = (epsilon.max(0.0), above);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                let below = above - middle;
                let (slow, fast) = self.moved(slow, fast, below);
                if proven(middle, slow, fast) { high = middle } else { low = middle }
            }
            return Some(self.padded(high));
        }
        last.map(|(epsilon, ..)| self.padded(epsilon))
    }

    fn padded(&self, epsilon: f64) -> f64 {
        // More than [`Self::delta_above`] subtracts again.
        epsilon * (1.0 + 2e-12) + self.drift
    }

    /// A lattice value of ε at which the split δ is proven to be at least `delta`.
    fn epsilon_below(&self, delta: f64) -> Option<f64> {
        let reached = self.sums().zip(self.worth(delta)).find(|((index, slow, fast), worth)| {
            let sum = slow - fast - self.reading * slow - self.error;
            let clear = worth.is_finite() && sum < (1.0 - ABOUT) * worth;
            !clear
                && sum > 0.0
                && self.log_factor(self.loss(*index)) + sum.ln() >= delta.ln() + 1e-13
        });
        reached.map(|((index, ..), _)| self.loss(index) * (1.0 - 1e-12) - self.drift)
    }

    /// The part of `delta` at this ε that is due to errors.
    fn inexact(&self, epsilon: f64, delta: f64) -> f64 {
        self.error * (self.log_factor(epsilon) - delta.ln()).exp()
    }

    /// δ at this ε, from above.
    fn delta_above(&self, epsilon: f64) -> f64 {
        let epsilon = (epsilon - self.drift) * (1.0 - 1e-12);
        let last = self.sums().take_while(|(index, ..)| self.loss(*index) >= epsilon).last();
        let sum = last.map_or(self.error, |(index, slow, fast)| {
            let (slow, fast) = self.moved(slow, fast, self.loss(index) - epsilon);
            self.above(slow, fast)
        });
        (self.log_factor(epsilon) + sum.ln() + 1e-13).exp().next_up()
    }
}

impl TiltedLosses {
    fn tilt(
        mut cells: LatticeLosses,
        count: u64,
        theta: f64,
        step: f64,
        expected: f64,
    ) -> Option<Self> {
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

/// The largest value of φ(x) = e^{−θx}(1 − e^{−x})₊, and a bound on the root of the sum of its
/// squares at places `step` apart.
///
/// φ is largest where e^{−x} = θ/(θ + 1), with (θ/(θ + 1))^θ/(θ + 1) ≤ 1/(θ + 1). It rises and
/// then falls, so the sum of squares is at most ∫φ²/step + max φ², and ∫φ² is
/// 1/2θ − 2/(2θ + 1) + 1/(2θ + 2) = 1/(θ(2θ + 1)(2θ + 2)).
fn weights(theta: f64, step: f64) -> (f64, f64) {
    let most = 1.0 / (theta + 1.0);
    let squares = 1.0 / (theta * (2.0 * theta + 1.0) * (2.0 * theta + 2.0) * step) + most * most;
    (most * (1.0 + 1e-12), squares.sqrt() * (1.0 + 1e-12))
}

/// How far from its mean the sum stays, except for a mass `outside`, on the side of `deviation`'s
/// sign: the best of several Chernoff bounds.
fn reach(losses: &[TiltedLosses], step: f64, deviation: f64, outside: f64) -> f64 {
    let bound = |scale: f64| {
        let eta = scale / deviation;
        let spread: f64 =
            losses.iter().map(|loss| loss.count as f64 * loss.log_spread(eta, step)).sum();
        (spread - outside.ln()) / eta.abs()
    };
    // The number of deviations that a normal sum needs: 6.4 for 10⁻⁹.
    let normal = (-2.0 * outside.ln()).sqrt();
    let first = bound(normal);
    if first < 1.1 * normal * deviation.abs() {
        return first;
    }
    [0.5, 0.19, 0.05, 0.015].into_iter().map(|part| bound(part * normal)).fold(first, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lattice_gives_errors_more_weight_than_is_said() {
        for (theta, step) in [(0.1, 0.01), (1.0, 1e-3), (3.7, 0.2), (30.0, 1e-4), (200.0, 0.01)] {
            let (most, length) = weights(theta, step);
            let phi = |x: f64| (-theta * x).exp() * -(-x).exp_m1();
            for shift in [0.0, 0.1, 0.5, 0.9] {
                let all = (0..2_000_000).map(|k| phi((f64::from(k) + shift) * step));
                let (largest, squares) =
                    all.fold((0.0_f64, 0.0), |(most, sum), x| (most.max(x), sum + x * x));
                assert!(largest <= most, "{largest} {most}");
                assert!(squares.sqrt() <= length, "{} {length}", squares.sqrt());
                // And it is not much more, where many places matter.
                assert!(step * theta > 0.1 || length < 3.0 * squares.sqrt());
            }
        }
    }

    /// Few draws at a tiny rate: nearly all mass lies far below ε.
    #[test]
    fn rare_events_have_tight_bounds() {
        use crate::accountant::subsampling::{Subsampled, View};
        for (rate, noise, count, delta, known) in [
            (1e-4, 0.816, 60, 1e-12, 0.31),
            (1e-4, 0.735, 100_000, 1e-8, 0.53),
            (1e-3, 1.075, 10_000, 1e-12, 0.868),
            (2e-4, 1.0, 1_000_000, 1e-6, 1.1214),
        ] {
            let pair = Pair::Subsampled(Subsampled { noise, rate, view: View::Remove });
            let curve = Curve::of(vec![(pair, count)]).unwrap();
            let Interval { lower, upper } = curve.epsilon(delta).unwrap();
            assert!(upper <= known && lower > 0.8 * upper, "{rate} {noise}: {lower} to {upper}");
            // The other bound is much larger.
            assert!(rdp::epsilon(curve.parts(), delta) > 1.09 * upper);
        }
    }
}
