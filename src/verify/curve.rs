//! ε of a list of mechanisms, in short and independent code.
//!
//! The value is the least of three, all of which hold for a plan fixed in advance:
//!
//! * the *contour integral*: with M(z) the product of the transforms and any c > 0,
//!
//!   > δ(ε) = (1/2π) ∫ M(c + it) e^{−(c + it)ε} / ((c + it)(c + 1 + it)) dt,
//!
//!   at the c of Chernoff's bound, in closed form where all are Gaussian or there is only one draw
//!   on a sample. Where M does not decay (pure outputs, few draws), L is blurred by a normal of
//!   standard deviation s, e^{s²z²/2}, where s is a small part of ε and is reduced until ε no
//!   longer changes;
//! * *Rényi divergences*: the order x + 1 proves δ(ε) ≤ M(x) e^{−xε} x^x/(x + 1)^{x + 1}; for
//!   selections this proves more than the integral;
//! * the *sum* of pure guarantees.
//!
//! The integral fails for few draws at a tiny rate; then the value lies between the ε of one draw
//! and that of Rényi.

use realfft::num_complex::Complex;

use super::loss::{CheckedLoss, Draws, Side};
use super::selections;
use crate::numeric::special::log_normal_cdf;

/// The most nodes on the line.
const MOST_NODES: usize = 40_000;
/// The largest value of the integrand at the end, relative to its first value.
const SMALL: f64 = 1e-13;
/// How close two blurs must come.
const AGREED: f64 = 2e-5;
/// How close blurs must come if less would take too long; the difference falls with its square.
const NEARLY: f64 = 5e-4;

/// ε at a δ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonAtDelta {
    /// The lower bound. The same as `most` if the value is known.
    pub least: f64,
    /// The upper bound.
    pub most: f64,
    pub how: &'static str,
}

impl EpsilonAtDelta {
    pub fn is_known(&self) -> bool {
        self.least == self.most
    }
}

/// The least ε that the list guarantees at this δ, fixed in advance.
pub fn epsilon(list: &[Draws], delta: f64) -> EpsilonAtDelta {
    let exactly = |value: f64, how| EpsilonAtDelta { least: value, most: value, how };
    if list.is_empty() {
        return exactly(0.0, "nothing was drawn");
    }
    let sum = pure(list);
    if let Some(mu) = gaussian(list).filter(|_| list.iter().all(|it| is_gaussian(it.kind))) {
        return exactly(solve(|epsilon| gaussian_delta(mu, epsilon) <= delta), "closed form");
    }
    if let Some(value) = one_draw(list, delta) {
        return exactly(value.min(sum), "closed form of one draw");
    }
    let renyi = renyi(list, delta, Side::With).min(sum);
    let bounds = if renyi < sum { "Rényi divergences" } else { "sum of pure guarantees" };
    let single = list.iter().filter_map(|it| one_draw(&[Draws { count: 1.0, ..*it }], delta));
    let selects = list.iter().any(|it| matches!(it.kind, CheckedLoss::Range { .. }));
    let least = single.fold(all_at_once(list, delta), f64::max);
    if let [Draws { kind: CheckedLoss::Range { epsilon: range }, count }] = list
        && *count > 1.0
        && let Some(value) = selections::epsilon(*range, *count, delta, renyi)
    {
        return exactly(value.min(renyi), "adaptive choices on a lattice");
    }
    // For selections more may be proven than for their substitute here.
    let least = if selects { 0.0 } else { least.min(renyi) };
    if renyi - least <= AGREED * renyi {
        return exactly(renyi, bounds);
    }
    match contour(list, delta, renyi) {
        Some(value) if value < renyi => exactly(value.max(least), "contour integral"),
        Some(_) => exactly(renyi, bounds),
        None => {
            EpsilonAtDelta {
                least, most: renyi, how: "between one draw and the Rényi divergences"
            }
        }
    }
}

/// Whether a budget (ε, δ) admits the list for any order and choice of its events: the rule of
/// `privacy::accountant::gate`, written a second time. Nine tenths of δ are for the sum of
/// Gaussians, and the rest is for six orders of Rényi divergence, in the parts of [`ORDERS`].
pub fn admits(list: &[Draws], epsilon: f64, delta: f64) -> bool {
    if pure(list) <= epsilon {
        return true;
    }
    if gaussian(list).is_some_and(|mu| gaussian_delta(mu, epsilon) <= 0.9 * delta) {
        return true;
    }
    let rest = 0.1 * delta;
    let scaled = epsilon / -(0.1 * rest).ln();
    let room = |(root, slope, start, part): (f64, f64, f64, f64)| {
        let x = 1.0 / (root * ((1.0 + scaled).sqrt() - 1.0) + slope * scaled + start);
        part * rest * (-log_renyi(list, x, epsilon, Side::With)).exp()
    };
    let whole: f64 = ORDERS.into_iter().map(room).filter(|it| !it.is_nan()).sum();
    whole >= 1.0
}

/// The least ε that [`admits`] the list.
pub fn epsilon_of_choices(list: &[Draws], delta: f64) -> f64 {
    solve(|epsilon| admits(list, epsilon, delta))
}

/// 1/x of an order x + 1 is a·(√(1 + ε/Λ) − 1) + b·ε/Λ + c: a, b, c, and its part.
const ORDERS: [(f64, f64, f64, f64); 6] = [
    (1.0, 0.0, 0.0, 0.3),
    (1.5, 0.0, 0.0, 0.2),
    (2.0, 0.0, 0.0, 0.15),
    (0.0, 1.0, 0.015_625, 0.1),
    (0.0, 1.0, 0.0625, 0.1),
    (0.0, 1.0, 0.166_666, 0.15),
];

fn is_gaussian(kind: CheckedLoss) -> bool {
    matches!(kind, CheckedLoss::Gaussian { .. })
}

fn pure(list: &[Draws]) -> f64 {
    list.iter().map(|it| it.count * it.kind.pure()).sum()
}

/// The μ of a Gaussian mechanism that tells at least as much as the list.
fn gaussian(list: &[Draws]) -> Option<f64> {
    let squares = list.iter().map(|it| it.kind.gaussian().map(|mu| it.count * mu * mu));
    squares.sum::<Option<f64>>().map(f64::sqrt)
}

/// δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return 0.0;
    }
    let first = log_normal_cdf(0.5 * mu - epsilon / mu);
    let second = epsilon + log_normal_cdf(-0.5 * mu - epsilon / mu);
    (first.exp() * -(second - first).min(0.0).exp_m1()).clamp(0.0, 1.0)
}

/// The best of a random number of repeats of a Gaussian mechanism: K is drawn from a truncated
/// negative binomial law with this shape η and stop γ, and kept secret. It guarantees E K times the
/// δ of one repeat at an ε that is (1 + η)ρ larger, with (1 − γ)δ(ρ) = γ(e^ρ − 1).
pub fn repeated(mu: f64, shape: f64, stop: f64) -> CheckedLoss {
    let rho = solve(|rho| (1.0 - stop) * gaussian_delta(mu, rho) <= stop * rho.exp_m1());
    let mean = if shape == 0.0 {
        (1.0 - stop) / (stop * -stop.ln())
    } else {
        shape * (1.0 - stop) / (stop * (1.0 - stop.powf(shape)))
    };
    CheckedLoss::Repeated { mu, surcharge: (1.0 + shape) * rho, log_factor: mean.ln() }
}

/// The least ε ≥ 0 of a condition that stays true once it is true.
pub(super) fn solve(holds: impl Fn(f64) -> bool) -> f64 {
    if holds(0.0) {
        return 0.0;
    }
    let mut high = 1e-3;
    while !holds(high) {
        high *= 2.0;
        if high > 1e300 {
            return f64::INFINITY;
        }
    }
    let mut low = 0.5 * high * f64::from(high > 1e-3);
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// All draws at their largest loss, which has probability p: this alone gives δ = p·(1 − e^{ε − Σ
/// ε₀}).
fn all_at_once(list: &[Draws], delta: f64) -> f64 {
    let log_probability = |it: &Draws| match it.kind {
        CheckedLoss::Laplace { .. } => Some(it.count * 0.5_f64.ln()),
        CheckedLoss::Pure { epsilon } => Some(-it.count * (-epsilon).exp().ln_1p()),
        // No single loss of these has a probability.
        CheckedLoss::Gaussian { .. }
        | CheckedLoss::Sampled { .. }
        | CheckedLoss::Range { .. }
        | CheckedLoss::Repeated { .. } => None,
    };
    let together = list.iter().map(log_probability).sum::<Option<f64>>();
    let part = together.map(|log| delta / log.exp()).filter(|part| *part < 1.0);
    part.map_or(0.0, |part| (pure(list) + (-part).ln_1p()).max(0.0))
}

/// One draw of a mechanism with a closed form.
fn one_draw(list: &[Draws], delta: f64) -> Option<f64> {
    let [Draws { kind, count: 1.0 }] = list else { return None };
    let curve = |epsilon: f64| match *kind {
        CheckedLoss::Gaussian { mu } => gaussian_delta(mu, epsilon),
        CheckedLoss::Repeated { mu, surcharge, log_factor } => {
            let left = epsilon - surcharge;
            if left < 0.0 { 1.0 } else { log_factor.exp() * gaussian_delta(mu, left) }
        }
        // With the record: q·δ(log(1 + (e^ε − 1)/q)); without the record it is less for one draw.
        CheckedLoss::Sampled { mu, rate, .. } => {
            let inner = if epsilon < 30.0 {
                (epsilon.exp_m1() / rate).ln_1p()
            } else {
                epsilon - rate.ln()
            };
            rate * gaussian_delta(mu, inner)
        }
        CheckedLoss::Laplace { epsilon: ratio } => -(0.5 * (epsilon - ratio)).min(0.0).exp_m1(),
        CheckedLoss::Range { epsilon: range } => {
            (-(0.5 * (epsilon - range)).min(0.0).exp_m1()).powi(2) / -(-range).exp_m1()
        }
        CheckedLoss::Pure { epsilon: ratio } => {
            -(epsilon - ratio).min(0.0).exp_m1() / (1.0 + (-ratio).exp())
        }
    };
    let replaced = matches!(kind, CheckedLoss::Sampled { replaced: true, .. });
    (!replaced).then(|| solve(|epsilon| curve(epsilon) <= delta))
}

/// For samples it matters which neighbour has the record.
fn sides(list: &[Draws]) -> Vec<Side> {
    let differ = |it: &Draws| matches!(it.kind, CheckedLoss::Sampled { replaced: false, .. });
    if list.iter().any(differ) { vec![Side::With, Side::Without] } else { vec![Side::With] }
}

/// log of the bound on δ from the order x + 1.
fn log_renyi(list: &[Draws], x: f64, epsilon: f64, side: Side) -> f64 {
    let moment: f64 = list.iter().map(|it| it.count * it.kind.proven_log_moment(x, side)).sum();
    moment - x * epsilon + x * (x / (x + 1.0)).ln() - x.ln_1p()
}

fn renyi(list: &[Draws], delta: f64, side: Side) -> f64 {
    let at = |log_x: f64| {
        let x = log_x.exp();
        let value = (log_renyi(list, x, 0.0, side) - delta.ln()) / x;
        if value.is_nan() { f64::INFINITY } else { value }
    };
    lowest(at).1.max(0.0)
}

/// The place and value of the least of a function with one valley, over logarithms of orders.
fn lowest(value: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut best = (-4.0, value(-4.0));
    let mut place = -4.0;
    // Then up the far side of the valley.
    while place < 30.0 {
        place += 0.35;
        let here = value(place);
        if here < best.1 {
            best = (place, here);
        } else if place > best.0 + 2.0 {
            break;
        }
    }
    let mut width = 0.35;
    while width > 1e-4 {
        width *= 0.5;
        for near in [best.0 - width, best.0 + width] {
            let here = value(near);
            if here < best.1 {
                best = (near, here);
            }
        }
    }
    (best.0.exp(), best.1)
}

/// The integral's ε, the worse of both sides; `None` if it does not converge.
fn contour(list: &[Draws], delta: f64, most: f64) -> Option<f64> {
    let mut worst = 0.0_f64;
    for side in sides(list) {
        if side == Side::Without {
            // Mostly less, and this is easier to see than how much less.
            let largest: f64 = list.iter().map(|it| it.count * it.kind.largest(side)).sum();
            if largest <= worst || renyi(list, delta, side) <= worst {
                continue;
            }
        }
        worst = worst.max(on_side(list, delta, most, side)?);
    }
    Some(worst)
}

fn on_side(list: &[Draws], delta: f64, most: f64, side: Side) -> Option<f64> {
    let log_moment = |x: f64| list.iter().map(|it| it.count * it.kind.log_moment(x, side)).sum();
    // The c at which Chernoff's ε is least. At the very largest loss it would be infinite.
    let (c, chernoff) = lowest(|log_x| {
        let x = log_x.exp();
        let moment: f64 = log_moment(x);
        (moment - delta.ln()) / x + 1e-9 * x
    });
    let near = 0.01 * c;
    let (low, middle, high): (f64, f64, f64) =
        (log_moment(c - near), log_moment(c), log_moment(c + near));
    let width = ((high - 2.0 * middle + low) / (near * near)).max(0.0).sqrt();
    let step = (0.1 * c).min(0.25 / width.max(1e-12));
    let read = |blur: f64| {
        let line = Line::along(list, side, c, step, blur)?;
        line.epsilon(delta, middle, most.min(chernoff))
    };
    // Without blur if the integrand decays, otherwise with less and less blur.
    if let Some(value) = read(0.0) {
        return Some(value);
    }
    let mut last: Option<f64> = None;
    let mut blur = 0.02 * most.min(1.0 / c);
    let mut change = f64::INFINITY;
    for _ in 0..9 {
        let Some(next) = read(blur) else { break };
        change = last.map_or(f64::INFINITY, |last| (next - last).abs() / next);
        (last, blur) = (Some(next), 0.4 * blur);
        if change <= AGREED {
            break;
        }
    }
    last.filter(|_| change <= NEARLY)
}

/// The integrand on a vertical line, without e^{−(c + it)ε} and the size of M(c).
struct Line {
    c: f64,
    step: f64,
    values: Vec<Complex<f64>>,
}

impl Line {
    /// `None` if it has not decayed after a reasonable number of nodes.
    fn along(list: &[Draws], side: Side, c: f64, step: f64, blur: f64) -> Option<Self> {
        let mut count = 256;
        while count <= MOST_NODES {
            let mut values: Vec<Complex<f64>> = (0..count)
                .map(|index| {
                    let z = Complex::new(c, step * index as f64);
                    // Blurring raises M(c) itself by e^{(s·c)²/2}, which is divided out again.
                    let blurred = (z * z - c * c) * (0.5 * blur * blur);
                    blurred.exp() / (z * (z + 1.0))
                })
                .collect();
            for it in list {
                let ratios = it.kind.along(c, step, count, side)?;
                for (value, ratio) in values.iter_mut().zip(ratios) {
                    let (size, angle) = ratio.to_polar();
                    *value *= Complex::from_polar(size.powf(it.count), angle * it.count);
                }
            }
            let small = SMALL * values[0].norm();
            let end = values.iter().rposition(|value| value.norm() > small).unwrap_or(0);
            if end < count - count / 8 {
                values.truncate(end + 1);
                return Some(Self { c, step, values });
            }
            count *= 3;
        }
        None
    }

    fn log_delta(&self, epsilon: f64, log_moment: f64) -> f64 {
        let turn = Complex::from_polar(1.0, -self.step * epsilon);
        let mut phase = Complex::new(1.0, 0.0);
        let mut sum = -0.5 * self.values[0].re;
        for value in &self.values {
            sum += (value * phase).re;
            phase *= turn;
        }
        log_moment - self.c * epsilon + (sum * self.step / std::f64::consts::PI).ln()
    }

    /// `None` if the integral is lost in rounding.
    fn epsilon(&self, delta: f64, log_moment: f64, most: f64) -> Option<f64> {
        let target = delta.ln();
        if self.log_delta(0.0, log_moment) <= target {
            return Some(0.0);
        }
        let (mut low, mut high) = (0.0, most);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.log_delta(middle, log_moment) > target { low = middle } else { high = middle }
        }
        let there = self.log_delta(high, log_moment);
        (high >= most || (there - target).abs() < 1e-3).then_some(high)
    }
}
