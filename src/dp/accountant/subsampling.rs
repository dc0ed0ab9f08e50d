//! The privacy loss of a Gaussian mechanism on a Poisson sample.
//!
//! Let σ be the noise (in units of a record's largest contribution), q the rate, and z the output
//! along the record's contribution, in units of σ. If the record is in the data, the output has the
//! mixture (1−q)·N(0, 1) + q·N(1/σ, 1). If it is absent or null, the output has N(0, 1). All pairs
//! of neighbours are dominated by
//!
//! * zero-out: mixture against N(0, 1) (*remove*) or N(0, 1) against mixture (*add*),
//!   whichever is worse for the whole composition (Zhu, Dong, Wang 2022);
//! * replace-one: the mixtures with N(1/σ, 1) and with N(−1/σ, 1) (Schuchardt et al.
//!   2024). At v′ = 0 this covers zero-out, too.
//!
//! The mixture's log-density against N(0, 1) is m(z) = log(1 − q + q·e^{z/σ − 1/2σ²}).

use realfft::num_complex::Complex;

use super::gaussian;
use super::lattice::{LatticeLosses, spread};
use crate::numeric::special::{LOG_SQRT_TWO_PI, normal_tails};

/// Integrals extend this many standard deviations beyond all modes: e^{−40} is left out.
const REACH: f64 = 9.0;
/// More quadrature nodes than this are not worth waiting for.
const MOST_NODES: f64 = 50_000.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum View {
    Remove,
    Add,
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subsampled {
    /// σ over the largest contribution of a record.
    pub noise: f64,
    /// Below 1: at 1 it is a Gaussian mechanism.
    pub rate: f64,
    pub view: View,
}

/// Where tilted integrals are taken, and a bound on the tilted mass outside.
struct Range {
    low: f64,
    high: f64,
    lost: f64,
}

impl Subsampled {
    /// The μ of the Gaussian mechanism that remains when the sample is revealed.
    pub fn unsampled_mu(&self) -> f64 {
        let distance = if self.view == View::Replace { 2.0 } else { 1.0 };
        distance / self.noise
    }

    /// The probability of an output never falls below 1 − q times its old value.
    pub fn largest_loss(&self) -> f64 {
        if self.view == View::Add { -(-self.rate).ln_1p() } else { f64::INFINITY }
    }

    fn mixture(&self, z: f64) -> f64 {
        let exponent = (z - 0.5 / self.noise) / self.noise;
        if exponent < 30.0 {
            (self.rate * exponent.exp_m1()).ln_1p()
        } else {
            exponent + self.rate.ln() + ((1.0 - self.rate) / self.rate * (-exponent).exp()).ln_1p()
        }
    }

    /// m′(z)·σ, between 0 and 1.
    fn slope(&self, z: f64) -> f64 {
        let exponent = (z - 0.5 / self.noise) / self.noise;
        1.0 / (1.0 + (1.0 - self.rate) / self.rate * (-exponent).exp())
    }

    /// Log-density of the first hypothesis against N(0, 1), and the loss.
    fn density_and_loss(&self, z: f64) -> (f64, f64) {
        let forward = self.mixture(z);
        match self.view {
            View::Remove => (forward, forward),
            View::Add => (0.0, -forward),
            View::Replace => (forward, forward - self.mixture(-z)),
        }
    }

    /// Log of the first hypothesis' density times e^{θ·loss}.
    fn log_tilted(&self, theta: f64, z: f64) -> f64 {
        let (density, loss) = self.density_and_loss(z);
        density + theta * loss - 0.5 * z * z - LOG_SQRT_TWO_PI
    }

    /// Beyond `high` the log of the tilted density falls at least as fast as at `high`,
    /// since slopes are monotone; likewise below `low`.
    fn range(&self, theta: f64, log_moment: f64) -> Range {
        let shift = 1.0 / self.noise;
        let (low, high, falls, rises) = match self.view {
            View::Remove => {
                let high = REACH + (theta + 1.0) * shift;
                (-REACH, high, REACH, REACH)
            }
            View::Add => {
                let pull = |z| theta * shift * self.slope(z);
                let low = -REACH - pull(-REACH);
                (low, REACH, REACH, -low - pull(low))
            }
            View::Replace => {
                let pull = |z: f64| theta * shift * self.slope(-z);
                let mode = (theta + 1.0) * shift;
                let high = REACH + mode + pull(REACH + mode);
                (-REACH, high, high - mode - pull(high), REACH)
            }
        };
        let density = |z| (self.log_tilted(theta, z) - log_moment).exp();
        Range { low, high, lost: density(high) / falls + density(low) / rises }
    }

    /// Trapezoid nodes for tilts near θ and frequencies up to `frequency`: (loss, log of
    /// the weight). The integrands are analytic up to ±πσ from the real axis, and
    /// decay like a normal density: the trapezoidal rule errs below rounding.
    fn nodes(&self, theta: f64, frequency: f64) -> Option<Vec<(f64, f64)>> {
        let range = self.range(theta, 0.0);
        let mut step = (0.5 * self.noise).min(0.4);
        if self.view != View::Remove {
            // Negative powers of the mixture make the integrand narrower.
            step /= (1.0 + 0.25 * theta / (self.noise * self.noise)).sqrt();
        }
        step = step.min(3.0 / (6.0 + frequency / self.noise));
        let count = ((range.high - range.low) / step).ceil();
        if count.is_nan() || count > MOST_NODES {
            return None;
        }
        let node = |index: u32| {
            let z = range.low + f64::from(index) * step;
            let (density, loss) = self.density_and_loss(z);
            (loss, density + theta * loss - 0.5 * z * z - LOG_SQRT_TWO_PI + step.ln())
        };
        Some((0..=count as u32).map(node).collect())
    }

    /// log E e^{θL} under the first hypothesis.
    pub fn log_moment(&self, theta: f64) -> f64 {
        let Some(nodes) = self.nodes(theta, 0.0) else { return f64::INFINITY };
        let largest = nodes.iter().fold(f64::NEG_INFINITY, |most, node| most.max(node.1));
        largest + nodes.iter().map(|node| (node.1 - largest).exp()).sum::<f64>().ln()
    }

    /// E e^{(θ + it)L} / E e^{θL} for t = 0, `step`, 2·`step`, …
    pub fn circle(&self, theta: f64, step: f64, count: usize) -> Option<Vec<Complex<f64>>> {
        let log_moment = self.log_moment(theta);
        let nodes = self.nodes(theta, step * count as f64)?;
        let mut turning: Vec<(Complex<f64>, Complex<f64>)> = nodes
            .into_iter()
            .map(|(loss, weight)| (loss, (weight - log_moment).exp()))
            .filter(|(_, weight)| *weight > 1e-22)
            .map(|(loss, weight)| {
                (Complex::new(weight, 0.0), Complex::from_polar(1.0, step * loss))
            })
            .collect();
        let mut next = || {
            let mut sum = Complex::new(0.0, 0.0);
            for (value, turn) in &mut turning {
                sum += *value;
                *value *= *turn;
            }
            sum
        };
        Some((0..count).map(|_| next()).collect())
    }

    /// δ of one draw at ε ≥ 0, from above up to a few roundings, for which the caller must pad it.
    ///
    /// * *Remove*: P − e^ε N = q·(N′ − e^{ε′} N) with e^{ε′} = 1 + (e^ε − 1)/q;
    /// * *add*: N − e^ε P = c·(N − e^{ε′} N′) with c = 1 − (1 − q)e^ε and e^{ε′} = q·e^ε/c;
    /// * *replace*: the outputs beyond the place where the loss is ε.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let (mu, rate) = (1.0 / self.noise, self.rate);
        match self.view {
            View::Remove => {
                let inner = if epsilon < 30.0 {
                    (epsilon.exp_m1() / rate).ln_1p()
                } else {
                    epsilon - rate.ln() + (-(1.0 - rate) * (-epsilon).exp()).ln_1p()
                };
                rate * gaussian::log_delta(mu, inner).exp()
            }
            View::Add => {
                // A larger factor is a larger δ.
                let factor = rate - (1.0 - rate) * epsilon.exp_m1() + 8.0 * f64::EPSILON * rate;
                if factor <= 0.0 {
                    return 0.0;
                }
                factor * gaussian::log_delta(mu, epsilon + (rate / factor).ln()).exp()
            }
            View::Replace => {
                let place = self.place_of(epsilon);
                let beyond = |z: f64| normal_tails(z).1;
                let more = rate * beyond(place - mu);
                let less = rate * epsilon.exp() * beyond(place + mu)
                    + (1.0 - rate) * epsilon.exp_m1() * beyond(place);
                // The last term covers rounding in the subtraction.
                (more - less).max(0.0) + 1e-13 * more
            }
        }
    }

    /// The z at which the loss is `loss`; infinite where it is never reached.
    fn place_of(&self, loss: f64) -> f64 {
        let shift = 1.0 / self.noise;
        let unmixed = |loss: f64| {
            let ratio = loss.exp_m1() / self.rate;
            if ratio <= -1.0 {
                f64::NEG_INFINITY
            } else {
                (ratio.ln_1p() + 0.5 * shift * shift) * self.noise
            }
        };
        match self.view {
            View::Remove => unmixed(loss),
            View::Add => unmixed(-loss),
            View::Replace => {
                // c·y² + b(1 − e^ε)y − c·e^ε = 0 for y = e^{z/σ}, c = q·e^{−1/2σ²}, b = 1 − q.
                let half = 0.5 * loss.abs();
                let log = ((1.0 - self.rate) / self.rate).ln() + 0.5 * shift * shift;
                let log = log + half.sinh().ln();
                let inverse = if log > 300.0 { log + 2_f64.ln() } else { log.exp().asinh() };
                (half + inverse).copysign(loss) * self.noise
            }
        }
    }

    /// The tilted range without the nearly empty ends: large losses are so rare that computing them
    /// would cost more than everything else.
    fn core(&self, theta: f64, negligible: f64) -> Option<Range> {
        let log_moment = self.log_moment(theta);
        let Range { mut low, mut high, mut lost } = self.range(theta, log_moment);
        let step = (0.25 * self.noise).min(0.1);
        if (high - low) / step > MOST_NODES {
            return None;
        }
        // Twice the tilted mass of a slice, whose density changes little across it.
        let slice = |z: f64| 2.0 * step * (self.log_tilted(theta, z) - log_moment).exp();
        let mut end = lost + slice(high - step).max(slice(high));
        while end < negligible && high > low {
            (lost, high) = (end, high - step);
            end = lost + slice(high - step).max(slice(high));
        }
        let budget = lost + negligible;
        let mut end = lost + slice(low + step).max(slice(low));
        while end < budget && high > low {
            (lost, low) = (end, low + step);
            end = lost + slice(low + step).max(slice(low));
        }
        Some(Range { low, high, lost })
    }

    /// The loss on a lattice, see [`super::lattice`]; tilted mass up to `negligible` (at
    /// each end) may be left out.
    pub fn cells(&self, theta: f64, step: f64, negligible: f64) -> Option<LatticeLosses> {
        let range = self.core(theta, negligible)?;
        let ends = [range.low, range.high].map(|z| self.density_and_loss(z).1);
        let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let shift = 1.0 / self.noise;
        let boundary = |loss: f64| {
            let z = self.place_of(loss).clamp(range.low, range.high);
            let far = if self.view == View::Replace { z + shift } else { z };
            [z, z - shift, far].map(|x| (x, normal_tails(x)))
        };
        type Boundary = [(f64, (f64, f64)); 3];
        let masses = |from: &Boundary, to: &Boundary| {
            let (from, to) = if self.view == View::Add { (to, from) } else { (from, to) };
            let null = between(from[0], to[0]);
            let mixed = |other: f64| (1.0 - self.rate) * null + self.rate * other;
            let mixture = mixed(between(from[1], to[1]));
            match self.view {
                View::Remove => (mixture, null),
                View::Add => (null, mixture),
                View::Replace => (mixture, mixed(between(from[2], to[2]))),
            }
        };
        spread(low, high, step, boundary, masses)
            .map(|cells| LatticeLosses { lost: range.lost, ..cells })
    }
}

/// The normal mass between two places, from the tails that do not cancel.
fn between(from: (f64, (f64, f64)), to: (f64, (f64, f64))) -> f64 {
    let ((x, (below, above)), (y, (below_y, above_y))) = (from, to);
    if x >= 0.0 {
        above - above_y
    } else if y <= 0.0 {
        below_y - below
    } else {
        1.0 - below - above_y
    }
    .max(0.0)
}
