//! δ(ε) as a contour integral. Its values have converged, but they are not bounds.
//!
//! With M(z) = E e^{zL} of the whole composition and any c > 0,
//!
//! > δ(ε) = (1/2π) ∫ M(c + it) e^{−(c + it)ε} / ((c + it)(c + 1 + it)) dt.
//!
//! The trapezoidal rule is as good as exact once its step is below the distance of the line from
//! the pole at 0 and the inverse width of the loss; at the saddle point c nothing cancels.
//! Mechanisms can be mixed freely. |M(c + it)| has to decay. For few draws of a mechanism with
//! atoms or with a tiny sampling rate it does not, and this is an error.

use std::f64::consts::PI;

use realfft::num_complex::Complex;

use super::rdp::{PairDraws, least_over_orders};
use crate::error::{Error, Result};

const MOST_NODES: usize = 8192;
/// Integrands are followed until they are this small relative to their first value.
const NEGLIGIBLE: f64 = 1e-16;
/// How often the step may be halved.
const HALVINGS: u32 = 5;

/// The integrand on the line through c.
struct ContourLine {
    c: f64,
    step: f64,
    log_moment: f64,
    values: Vec<Complex<f64>>,
}

impl ContourLine {
    fn along(parts: &[PairDraws], c: f64, step: f64) -> Result<Self> {
        let diverges = || {
            Error::failed("the contour integral does not converge for this plan")
                .cure("use the bounds; many draws, or larger sampling rates, converge")
        };
        let log_moment: f64 =
            parts.iter().map(|(pair, count)| *count as f64 * pair.log_moment(c)).sum();
        // Losses of ±ε₀ interfere constructively once more at t = π/ε₀.
        let echoes = parts.iter().filter_map(|(pair, _)| pair.echo());
        for echo in echoes {
            let size = |(pair, draws): &PairDraws| {
                let there = pair.circle(c, echo, 2).map_or(1.0, |circle| circle[1].norm());
                *draws as f64 * there.ln()
            };
            if parts.iter().map(size).sum::<f64>() > NEGLIGIBLE.ln() {
                return Err(diverges());
            }
        }
        // An integrand that is not small at the very end does not become small on the way.
        let size = |(pair, draws): &PairDraws| {
            let end = step * MOST_NODES as f64;
            let there = pair.circle(c, end, 2).map_or(0.0, |circle| circle[1].norm());
            *draws as f64 * there.ln()
        };
        let end = Complex::new(c, step * MOST_NODES as f64);
        let weight = Complex::new(c, 0.0) * (c + 1.0) / (end * (end + 1.0));
        if parts.iter().map(size).sum::<f64>() + weight.norm().ln() > NEGLIGIBLE.ln() {
            return Err(diverges());
        }
        let mut count = 64;
        while log_moment.is_finite() && count <= MOST_NODES {
            let mut values: Vec<Complex<f64>> = (0..count)
                .map(|index| {
                    let z = Complex::new(c, step * index as f64);
                    1.0 / (z * (z + 1.0))
                })
                .collect();
            for (pair, draws) in parts {
                let circle = pair.circle(c, step, count).ok_or_else(diverges)?;
                for (value, ratio) in values.iter_mut().zip(circle) {
                    let (radius, angle) = ratio.to_polar();
                    let draws = *draws as f64;
                    *value *= Complex::from_polar(radius.powf(draws), angle * draws);
                }
            }
            let small = |value: &Complex<f64>| value.norm() < NEGLIGIBLE * values[0].norm();
            let end = values.iter().rposition(|value| !small(value)).map_or(0, |last| last + 1);
            if 8 * end < 7 * count {
                values.truncate(end);
                return Ok(Self { c, step, log_moment, values });
            }
            count *= 4;
        }
        Err(diverges())
    }

    /// log δ(ε); not a number where the integral is lost in rounding.
    fn log_delta(&self, epsilon: f64) -> f64 {
        let turn = Complex::from_polar(1.0, -self.step * epsilon);
        let mut phase = Complex::new(1.0, 0.0);
        let mut sum = -0.5 * self.values[0].re;
        for value in &self.values {
            sum += value.re * phase.re - value.im * phase.im;
            phase *= turn;
        }
        self.log_moment - self.c * epsilon + (sum * self.step / PI).ln()
    }

    fn epsilon(&self, delta: f64) -> f64 {
        let target = delta.ln();
        if self.log_delta(0.0) <= target {
            return 0.0;
        }
        // Chernoff's bound on this very line.
        let (mut low, mut high) = (0.0, (self.log_moment - target) / self.c);
        while high - low > 1e-14 * high {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            // Values lost in rounding count as beyond the target.
            if self.log_delta(middle) > target { low = middle } else { high = middle }
        }
        high
    }
}

/// ε at this δ, in one direction.
pub fn epsilon(parts: &[PairDraws], delta: f64) -> Result<f64> {
    let read = |line: &ContourLine| line.epsilon(delta);
    let moment = |theta: f64| -> f64 {
        parts.iter().map(|(pair, count)| *count as f64 * pair.log_moment(theta)).sum()
    };
    let (c, _) = least_over_orders(1e-3, |theta| (moment(theta) - delta.ln()) / theta);
    let near = 1e-2 * c;
    let bend = (moment(c + near) - 2.0 * moment(c) + moment(c - near)) / (near * near);
    let width = bend.max(0.0).sqrt();
    let mut step = (0.15 * c).min(0.4 / width);
    let mut last = read(&ContourLine::along(parts, c, step)?);
    for _ in 0..HALVINGS {
        step *= 0.5;
        let next = read(&ContourLine::along(parts, c, step)?);
        if (next - last).abs() <= 1e-9 * next.abs() {
            return Ok(next);
        }
        last = next;
    }
    Err(Error::failed("the contour integral does not converge for this plan")
        .cure("use the bounds"))
}
