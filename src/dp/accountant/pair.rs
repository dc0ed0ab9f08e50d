//! A dominating pair is two distributions that are, for every ε, at least as easy to tell apart as
//! the outputs of a mechanism on any two neighbours. Compositions of pairs dominate adaptive
//! compositions of mechanisms (Zhu, Dong, Wang 2022). Only the privacy loss L of a pair matters:
//! the log-ratio of the two, under the first.
//!
//! * *Gaussian* of ratio μ: L is normal with mean μ²/2 and variance μ².
//! * *Laplace* of ratio ε₀, for a vector with ℓ₁ sensitivity ε₀ scales: the pair of one
//!   coordinate. Why: 1 − δ(ε) = ∫ min(f(x), e^ε f(x − v)) dx, and the minimum of two
//!   log-concave functions of (x, v) is log-concave, so its integral is log-concave in
//!   v (Prékopa) and δ quasi-convex: largest at an extreme point of the ℓ₁ ball.
//! * *Response*: randomised response, for anything ε₀-DP: L = ±ε₀.
//! * *Bounded range* ε₀, for the exponential mechanism: its losses span at most ε₀, so for some t ∈
//!   [0, ε₀] the worst mechanism has only the losses t and t − ε₀. The largest of their curves, at
//!   t = (ε₀ + ε)/2, is δ(ε) = (e^{ε₀/2} − e^{ε/2})²/(e^{ε₀} − 1) for
//!   |ε| ≤ ε₀, which is the curve of a pair with the density ½e^{(ε₀ + ℓ)/2}/(e^{ε₀} − 1)
//!   of L. Over many draws ε₀²/8-zCDP is better (variance ε₀²/4 against ε₀²/3): both
//!   are used.

use realfft::num_complex::Complex;

use super::gaussian;
use super::lattice::{LatticeLosses, spread};
use super::repeats::Repeated;
use super::subsampling::Subsampled;
use crate::numeric::special::normal_tails;

/// Normal losses are followed this many standard deviations from their tilted mean.
const REACH: f64 = 9.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pair {
    /// Two normal distributions whose means are μ standard deviations apart.
    Gaussian { mu: f64 },
    /// A Gaussian pair of which a sample decides.
    Subsampled(Subsampled),
    /// Two Laplace distributions.
    Laplace { epsilon: f64 },
    /// A choice whose losses lie in a range of ε.
    BoundedRange { epsilon: f64 },
    /// Randomised response: the worst pair of any ε.
    Response { epsilon: f64 },
    /// Not a pair by itself: a bound on its moments. [`super::composition`] handles everything else
    /// about it.
    Repeated(Repeated),
}

impl Pair {
    /// log E e^{θL}, for θ > 0: θ times the Rényi divergence of order θ + 1.
    pub fn log_moment(&self, theta: f64) -> f64 {
        match *self {
            Self::Gaussian { mu } => 0.5 * theta * (theta + 1.0) * mu * mu,
            Self::Subsampled(subsampled) => subsampled.log_moment(theta),
            Self::Repeated(repeated) => repeated.log_moment(theta),
            Self::Laplace { epsilon } => {
                let top = ((theta + 1.0) / (2.0 * theta + 1.0)).ln();
                theta * epsilon
                    + top
                    + (theta / (theta + 1.0) * (-(2.0 * theta + 1.0) * epsilon).exp()).ln_1p()
            }
            Self::BoundedRange { epsilon } => {
                // sinh((θ + ½)ε₀) / ((2θ + 1) sinh(ε₀/2)).
                let twice = 2.0 * theta + 1.0;
                theta * epsilon - twice.ln()
                    + (-(-twice * epsilon).exp_m1() / -(-epsilon).exp_m1()).ln()
            }
            Self::Response { epsilon } => {
                theta * epsilon + (-(2.0 * theta + 1.0) * epsilon).exp().ln_1p()
                    - (-epsilon).exp().ln_1p()
            }
        }
    }

    /// log E e^{θL} of the mechanism itself, about which more is proven than about its pair: the
    /// exponential mechanism is ε₀²/8-zCDP, but its pair is not.
    pub fn log_moment_of_mechanism(&self, theta: f64) -> f64 {
        match *self {
            Self::BoundedRange { epsilon } => {
                (theta * (theta + 1.0) * epsilon * epsilon / 8.0).min(theta * epsilon)
            }
            Self::Gaussian { .. }
            | Self::Subsampled(_)
            | Self::Laplace { .. }
            | Self::Response { .. }
            | Self::Repeated(_) => self.log_moment(theta),
        }
    }

    /// E e^{(θ + it)L} / E e^{θL} for t = 0, `step`, 2·`step`, …
    pub fn circle(&self, theta: f64, step: f64, count: usize) -> Option<Vec<Complex<f64>>> {
        if let Self::Subsampled(subsampled) = self {
            return subsampled.circle(theta, step, count);
        }
        let log_moment = self.log_moment(theta);
        let value = |index| self.moment(Complex::new(theta, step * index as f64), log_moment);
        (0..count).map(value).collect()
    }

    /// E e^{zL − shift}, if it has a closed form.
    fn moment(&self, z: Complex<f64>, shift: f64) -> Option<Complex<f64>> {
        let (up, down) = (
            |epsilon: f64| (z * epsilon - shift).exp(),
            |epsilon: f64| (-(z + 1.0) * epsilon - shift).exp(),
        );
        let twice = z * 2.0 + 1.0;
        match *self {
            Self::Gaussian { mu } => Some((z * (z + 1.0) * (0.5 * mu * mu) - shift).exp()),
            Self::Subsampled(_) | Self::Repeated(_) => None,
            Self::Laplace { epsilon } => {
                Some(((z + 1.0) * up(epsilon) + z * down(epsilon)) / twice)
            }
            Self::BoundedRange { epsilon } => {
                Some((up(epsilon) - down(epsilon)) / (twice * -(-epsilon).exp_m1()))
            }
            Self::Response { epsilon } => {
                Some((up(epsilon) + down(epsilon)) / (1.0 + (-epsilon).exp()))
            }
        }
    }

    /// δ of one draw at ε ≥ 0, from above; `None` without a closed form.
    pub fn delta(&self, epsilon: f64) -> Option<f64> {
        let exact = match *self {
            Self::Gaussian { mu } => gaussian::log_delta(mu, epsilon).exp(),
            Self::Subsampled(subsampled) => subsampled.delta(epsilon),
            Self::Repeated(_) => return None,
            Self::Laplace { epsilon: ratio } => -(0.5 * (epsilon - ratio)).min(0.0).exp_m1(),
            Self::BoundedRange { epsilon: range } => {
                let part = -(0.5 * (epsilon - range)).min(0.0).exp_m1();
                part * part / -(-range).exp_m1()
            }
            Self::Response { epsilon: ratio } => {
                -(epsilon - ratio).min(0.0).exp_m1() / (1.0 + (-ratio).exp())
            }
        };
        // Ten times the error of the closed forms.
        Some((exact * (1.0 + 1e-10)).next_up()).filter(|delta| !delta.is_nan())
    }

    /// The frequency at which its atoms are in phase again.
    pub fn echo(&self) -> Option<f64> {
        match *self {
            Self::Laplace { epsilon } | Self::Response { epsilon } => {
                Some(std::f64::consts::PI / epsilon)
            }
            Self::Gaussian { .. }
            | Self::Subsampled(_)
            | Self::BoundedRange { .. }
            | Self::Repeated(_) => None,
        }
    }

    /// The largest loss, which is its pure guarantee.
    pub fn largest_loss(&self) -> f64 {
        match *self {
            Self::Gaussian { mu } if mu > 0.0 => f64::INFINITY,
            Self::Gaussian { .. } => 0.0,
            Self::Repeated(_) => f64::INFINITY,
            Self::Subsampled(subsampled) => subsampled.largest_loss(),
            Self::Laplace { epsilon }
            | Self::BoundedRange { epsilon }
            | Self::Response { epsilon } => epsilon,
        }
    }

    /// The loss on a lattice, without `negligible` tilted mass at each end; `None` if it does not
    /// fit.
    pub fn cells(&self, theta: f64, step: f64, negligible: f64) -> Option<LatticeLosses> {
        match *self {
            Self::Gaussian { mu } => {
                let middle = mu * mu * (0.5 + theta);
                let boundary =
                    |loss: f64| [0.5 * mu, -0.5 * mu].map(|mean| normal_tails(loss / mu - mean));
                let mass = |from: (f64, f64), to: (f64, f64)| {
                    let (below, above) = (to.0 - from.0, from.1 - to.1);
                    if from.1 < from.0 { above.max(0.0) } else { below.max(0.0) }
                };
                let reach = REACH * mu;
                let cells = spread(middle - reach, middle + reach, step, boundary, |from, to| {
                    (mass(from[0], to[0]), mass(from[1], to[1]))
                })?;
                Some(LatticeLosses { lost: 2.0 * normal_tails(REACH).1, ..cells })
            }
            Self::Subsampled(subsampled) => subsampled.cells(theta, step, negligible),
            Self::Repeated(_) => None,
            Self::Laplace { epsilon } => {
                // Losses between ±ε₀ have the density ¼e^{−(ε₀ − ℓ)/2}.
                let mut cells = inside(epsilon, step, |a, b| {
                    let widths = (0.5 * (b - a)).exp_m1();
                    let first = 0.5 * (-0.5 * (epsilon - a)).exp() * widths;
                    (first, 0.5 * (-0.5 * (epsilon + b)).exp() * widths)
                })?;
                cells.add_atom(epsilon, step, 0.5);
                cells.add_atom(-epsilon, step, 0.5 * (-epsilon).exp());
                Some(cells)
            }
            Self::BoundedRange { epsilon } => inside(epsilon, step, |a, b| {
                let widths = (0.5 * (b - a)).exp_m1() / -(-epsilon).exp_m1();
                let first = (0.5 * (a - epsilon)).exp() * widths;
                (first, (-0.5 * (epsilon + b)).exp() * widths)
            }),
            Self::Response { epsilon } => {
                let mut cells = inside(epsilon, step, |_, _| (0.0, 0.0))?;
                let likely = 1.0 / (1.0 + (-epsilon).exp());
                cells.add_atom(epsilon, step, likely);
                cells.add_atom(-epsilon, step, likely * (-epsilon).exp());
                Some(cells)
            }
        }
    }
}

#[cfg(test)]
impl Pair {
    /// One of each kind, with losses of about `epsilon`, for tests of every pair. Each arm names
    /// the next kind, so the compiler asks for a new one here.
    pub fn one_of_each(epsilon: f64) -> Vec<Self> {
        use super::repeats::Repeats;
        use super::subsampling::View;
        let sampled = |view| Subsampled { noise: 1.0 / epsilon, rate: 0.05, view };
        let next = |pair: &Self| match pair {
            Self::Gaussian { .. } => Some(Self::Subsampled(sampled(View::Remove))),
            Self::Subsampled(Subsampled { view: View::Remove, .. }) => {
                Some(Self::Subsampled(sampled(View::Add)))
            }
            Self::Subsampled(Subsampled { view: View::Add, .. }) => {
                Some(Self::Subsampled(sampled(View::Replace)))
            }
            Self::Subsampled(Subsampled { view: View::Replace, .. }) => {
                Some(Self::Laplace { epsilon })
            }
            Self::Laplace { .. } => Some(Self::BoundedRange { epsilon }),
            Self::BoundedRange { .. } => Some(Self::Response { epsilon }),
            Self::Response { .. } => {
                Some(Self::Repeated(Repeated::new(epsilon, Repeats { shape: 1, stop: 0.125 })))
            }
            Self::Repeated(_) => None,
        };
        std::iter::successors(Some(Self::Gaussian { mu: epsilon }), next).collect()
    }
}

/// Cells of losses within ±`epsilon`; `masses` of the losses between two values.
fn inside(
    epsilon: f64,
    step: f64,
    masses: impl Fn(f64, f64) -> (f64, f64),
) -> Option<LatticeLosses> {
    // One step more at each end, so that an atom at an end has both neighbours.
    let reach = epsilon + step;
    let boundary = |loss: f64| loss.clamp(-epsilon, epsilon);
    spread(-reach, reach, step, boundary, |a, b| masses(*a, *b))
}
