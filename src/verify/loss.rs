//! The privacy loss L of one draw of a mechanism, as the transform E e^{zL} under the first of two
//! hypotheses; the transform of a list is the product of its transforms.
//!
//! * Gaussian of ratio μ: e^{z(z + 1)μ²/2}.
//! * Laplace of ratio ε₀: L = ε₀ with probability ½, −ε₀ with ½e^{−ε₀}, and between them with
//!   density ¼e^{−(ε₀ − ℓ)/2}.
//! * Bounded range ε₀ (exponential mechanism): density ½e^{(ε₀ + ℓ)/2}/(e^{ε₀} − 1) on ±ε₀.
//! * Pure ε₀: randomised response.
//! * The best of repeats: δ(ε) is at most m times that of one repeat at ε − c, so its transform is
//!   multiplied by m·e^{cz}.
//! * Gaussian on a Poisson sample: an integral, by the trapezoidal rule over the output.

use realfft::num_complex::Complex;

use super::curve::solve;
use crate::numeric::special::log_normal_cdf;

/// How far out a normal density is integrated, in standard deviations.
const FAR: f64 = 10.0;
/// The most nodes of one integral; more would take too long.
const MOST_NODES: f64 = 60_000.0;

/// Nodes times places on the line: about a second.
const MOST_WORK: f64 = 3e8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CheckedLoss {
    /// A Gaussian mechanism.
    Gaussian { mu: f64 },
    /// A Gaussian mechanism on a sample of the records.
    Sampled { mu: f64, rate: f64, replaced: bool },
    /// A Laplace mechanism.
    Laplace { epsilon: f64 },
    /// A choice whose losses lie in a range of ε.
    Range { epsilon: f64 },
    /// Any mechanism with this ε.
    Pure { epsilon: f64 },
    /// The best of a random number of repeats of a Gaussian mechanism: e^{cz}·m times the
    /// transform of one repeat bounds it at every z of a line c > 0.
    Repeated { mu: f64, surcharge: f64, log_factor: f64 },
}

/// How often a mechanism is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    pub kind: CheckedLoss,
    pub count: f64,
}

/// Every mechanism once.
pub fn merged(all: Vec<Draws>) -> Vec<Draws> {
    let mut list: Vec<Draws> = Vec::new();
    for it in all {
        match list.iter_mut().find(|known| known.kind == it.kind) {
            Some(known) => known.count += it.count,
            None => list.push(it),
        }
    }
    list
}

/// Which of two neighbours has the record: they differ for samples under zero-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    With,
    Without,
}

impl CheckedLoss {
    pub fn size(self) -> f64 {
        match self {
            Self::Gaussian { mu } | Self::Sampled { mu, .. } | Self::Repeated { mu, .. } => mu,
            Self::Laplace { epsilon } | Self::Range { epsilon } | Self::Pure { epsilon } => epsilon,
        }
    }

    /// The largest loss: its guarantee with δ = 0.
    pub fn pure(self) -> f64 {
        match self {
            Self::Gaussian { .. } | Self::Sampled { .. } | Self::Repeated { .. } => f64::INFINITY,
            Self::Laplace { epsilon } | Self::Range { epsilon } | Self::Pure { epsilon } => epsilon,
        }
    }

    /// The largest loss of this side: without the record it is no more than −log(1 − q).
    pub fn largest(self, side: Side) -> f64 {
        match (self, side) {
            (Self::Sampled { rate, replaced: false, .. }, Side::Without) => -(-rate).ln_1p(),
            _ => self.pure(),
        }
    }

    /// The μ of a Gaussian mechanism that tells at least as much: of the one that remains if
    /// everybody knows the sample, or of one with the total variation of a pure event, 2Φ(μ/2) − 1.
    pub fn gaussian(self) -> Option<f64> {
        let of_tail = |log: f64| 2.0 * solve(|x| log_normal_cdf(-x) <= log);
        match self {
            Self::Gaussian { mu } => Some(mu),
            Self::Sampled { mu, replaced, .. } => Some(if replaced { 2.0 * mu } else { mu }),
            Self::Laplace { epsilon } => Some(of_tail(0.5_f64.ln() - 0.5 * epsilon)),
            Self::Range { epsilon } | Self::Pure { epsilon } => {
                Some(of_tail(-epsilon - (-epsilon).exp().ln_1p()))
            }
            Self::Repeated { .. } => None,
        }
    }

    /// log E e^{xL} for a real x > 0: x times the Rényi divergence of order x + 1.
    pub fn log_moment(self, x: f64, side: Side) -> f64 {
        match self {
            Self::Gaussian { mu } => 0.5 * x * (x + 1.0) * mu * mu,
            Self::Repeated { mu, surcharge, log_factor } => {
                0.5 * x * (x + 1.0) * mu * mu + x * surcharge + log_factor
            }
            Self::Sampled { .. } => match Integral::of(self, x, 0.0, side) {
                Some(integral) => integral.log_total,
                None => f64::INFINITY,
            },
            // Large exponents leave only the first of two terms.
            Self::Laplace { epsilon } => {
                let rest = x * (-(2.0 * x + 1.0) * epsilon).exp();
                x * epsilon + ((x + 1.0 + rest) / (2.0 * x + 1.0)).ln()
            }
            Self::Range { epsilon } => {
                let rest = -(-(2.0 * x + 1.0) * epsilon).exp_m1();
                x * epsilon + (rest / ((2.0 * x + 1.0) * -(-epsilon).exp_m1())).ln()
            }
            Self::Pure { epsilon } => {
                let rest = (-(2.0 * x + 1.0) * epsilon).exp();
                x * epsilon + ((1.0 + rest) / (1.0 + (-epsilon).exp())).ln()
            }
        }
    }

    /// log E e^{xL} of the mechanism itself, as far as proven: the exponential mechanism is
    /// ε₀²/8-concentrated, but bounded range alone is not.
    pub fn proven_log_moment(self, x: f64, side: Side) -> f64 {
        match self {
            Self::Range { epsilon } => (x * (x + 1.0) * epsilon * epsilon / 8.0).min(x * epsilon),
            // Divergences never fall with the order, so a larger order bounds a smaller one.
            Self::Repeated { mu, log_factor, .. } => {
                let larger = x.max((2.0 * log_factor).sqrt() / mu);
                x / larger * self.log_moment(larger, side)
            }
            _ => self.log_moment(x, side),
        }
    }

    /// E e^{(x + it)L}/E e^{xL} at t = 0, step, 2·step, …
    pub fn along(self, x: f64, step: f64, count: usize, side: Side) -> Option<Vec<Complex<f64>>> {
        if let Self::Sampled { .. } = self {
            let integral = Integral::of(self, x, step * count as f64, side)?;
            let little = integral.nodes.len() as f64 * count as f64 <= MOST_WORK;
            return little.then(|| integral.along(step, count));
        }
        let log_moment = self.log_moment(x, side);
        let value = |index: usize| {
            let z = Complex::new(x, step * index as f64);
            let power = |a: Complex<f64>| (a - log_moment).exp();
            let twice = z * 2.0 + 1.0;
            match self {
                Self::Gaussian { mu } => power(z * (z + 1.0) * (0.5 * mu * mu)),
                Self::Repeated { mu, surcharge, log_factor } => {
                    power(z * (z + 1.0) * (0.5 * mu * mu) + z * surcharge + log_factor)
                }
                Self::Laplace { epsilon } => {
                    ((z + 1.0) * power(z * epsilon) + z * power(-(z + 1.0) * epsilon)) / twice
                }
                Self::Range { epsilon } => {
                    (power(z * epsilon) - power(-(z + 1.0) * epsilon))
                        / (twice * -(-epsilon).exp_m1())
                }
                Self::Pure { epsilon } => {
                    (power(z * epsilon) + power(-(z + 1.0) * epsilon)) / (1.0 + (-epsilon).exp())
                }
                Self::Sampled { .. } => Complex::new(0.0, 0.0),
            }
        };
        Some((0..count).map(value).collect())
    }
}

/// Nodes over the output of a Gaussian mechanism on a sample: loss and weight of each.
struct Integral {
    nodes: Vec<(f64, f64)>,
    log_total: f64,
}

impl Integral {
    fn of(kind: CheckedLoss, x: f64, frequency: f64, side: Side) -> Option<Self> {
        let CheckedLoss::Sampled { mu, rate, replaced } = kind else { return None };
        // log of (1 − q) + q·N(±μ, 1)/N(0, 1) at the output z.
        let mixture = |z: f64| {
            let exponent = mu * z - 0.5 * mu * mu;
            let (kept, sampled) = ((-rate).ln_1p(), rate.ln() + exponent);
            let top = kept.max(sampled);
            top + ((kept - top).exp() + (sampled - top).exp()).ln()
        };
        let density_and_loss = |z: f64| match (replaced, side) {
            (true, _) => (mixture(z), mixture(z) - mixture(-z)),
            (false, Side::With) => (mixture(z), mixture(z)),
            (false, Side::Without) => (0.0, -mixture(z)),
        };
        // At most 2x + 1 shifts of μ pull the weight away from 0.
        let pull = (2.0 * x + 1.0) * mu;
        let (low, high) = match (replaced, side) {
            (false, Side::With) => (-FAR, FAR + (x + 1.0) * mu),
            (false, Side::Without) => (-FAR - x * mu, FAR),
            (true, _) => (-FAR, FAR + pull),
        };
        // Singularities are π/μ away from the line, and come closer in weight with x.
        let narrow = (0.3 / mu / (1.0 + 0.3 * mu * x.sqrt())).min(0.2);
        let step = narrow.min(1.5 / (frequency * mu + 1.0));
        let count = ((high - low) / step).ceil();
        if count.is_nan() || count > MOST_NODES {
            return None;
        }
        let mut nodes: Vec<(f64, f64)> = (0..=count as u32)
            .map(|index| {
                let z = low + f64::from(index) * step;
                let (density, loss) = density_and_loss(z);
                (loss, density - 0.5 * z * z + x * loss)
            })
            .collect();
        let top = nodes.iter().fold(f64::NEG_INFINITY, |top, node| top.max(node.1));
        for node in &mut nodes {
            node.1 = (node.1 - top).exp();
        }
        let sum: f64 = nodes.iter().map(|node| node.1).sum();
        nodes.retain(|node| node.1 > 1e-20 * sum);
        for node in &mut nodes {
            node.1 /= sum;
        }
        let log_total = top + (sum * step).ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
        Some(Self { nodes, log_total })
    }

    fn along(&self, step: f64, count: usize) -> Vec<Complex<f64>> {
        let turns: Vec<_> =
            self.nodes.iter().map(|node| Complex::from_polar(1.0, step * node.0)).collect();
        let mut values: Vec<_> = self.nodes.iter().map(|node| Complex::new(node.1, 0.0)).collect();
        (0..count)
            .map(|_| {
                let sum = values.iter().sum();
                values.iter_mut().zip(&turns).for_each(|(value, turn)| *value *= turn);
                sum
            })
            .collect()
    }
}
