//! Which events can be accounted for: everything else is an error with its range.

use super::event::{Adjacency, Event, Mechanism};
use super::pair::Pair;
use super::subsampling::{Subsampled, View};
use crate::error::{Error, Result};

/// The coarsest grid, relative to the scale, that events may have: 2⁻²⁰.
const COARSEST_GRID: f64 = 1.0 / 1_048_576.0;
/// Beyond, ε ≈ μ²/2 is no longer a double.
pub(super) const LARGEST_RATIO: f64 = 1e150;

/// What the event can reveal at most in one draw, and what its grid adds to A
/// ([`super::composition`]); `None` if it reveals nothing.
pub fn dominating(event: &Event) -> Result<Option<(Pair, f64)>> {
    dominating_mechanism(&event.mechanism, event.adjacency)
        .map_err(|error| error.at(format!("event '{}'", event.label)))
}

fn dominating_mechanism(
    mechanism: &Mechanism,
    adjacency: Adjacency,
) -> Result<Option<(Pair, f64)>> {
    let found = match *mechanism {
        Mechanism::Gaussian { sensitivity, sigma, grid, coordinates } => {
            let mu = ratio(sensitivity, sigma, grid, "σ")?;
            (mu > 0.0).then(|| (Pair::Gaussian { mu }, slack(grid / sigma, coordinates)))
        }
        Mechanism::SubsampledGaussian { sensitivity, sigma, grid, coordinates, rate } => {
            let mu = ratio(sensitivity, sigma, grid, "σ")?;
            if !(rate > 0.0 && rate <= 1.0) {
                return Err(Error::usage(format!("the sampling rate is {rate}"))
                    .cure("a sampling rate must be above 0 and at most 1"));
            }
            let pair = if rate < 1.0 {
                let view = match adjacency {
                    Adjacency::ReplaceOne => View::Replace,
                    Adjacency::ZeroOut => View::Remove,
                };
                Pair::Subsampled(Subsampled { noise: 1.0 / mu, rate, view })
            } else {
                // One record's contribution replaced moves the sum twice as far.
                let times = if adjacency == Adjacency::ReplaceOne { 2.0 } else { 1.0 };
                Pair::Gaussian { mu: times * mu }
            };
            (mu > 0.0).then(|| (pair, slack(grid / sigma, coordinates)))
        }
        Mechanism::Laplace { sensitivity, scale, grid, coordinates } => {
            let epsilon = ratio(sensitivity, scale, grid, "b")?;
            // The curve of discrete noise connects dots of the continuous one, 2·grid/b
            // apart, which lies below the curve of one (grid/b)²/2 stronger.
            let (step, steps) = (grid / scale, coordinates as f64);
            let epsilon = epsilon + 0.5 * steps * step * step;
            (sensitivity > 0.0).then_some((Pair::Laplace { epsilon }, 0.0))
        }
        Mechanism::Selection { range, scale, candidates: _ }
        | Mechanism::Direction { range, scale, dimension: _ } => {
            let epsilon = ratio(range, scale, 0.0, "the scale")?;
            (epsilon > 0.0).then_some((Pair::BoundedRange { epsilon }, 0.0))
        }
        // Pure, and nothing more is claimed: any mechanism of ε₀ is dominated by a response.
        Mechanism::PermuteAndFlip { range, scale, candidates: _ } => {
            let epsilon = ratio(range, scale, 0.0, "the scale")?;
            (epsilon > 0.0).then_some((Pair::Response { epsilon }, 0.0))
        }
        Mechanism::NoisySelection { sensitivity, scale, candidates: _ } => {
            let epsilon = 2.0 * ratio(sensitivity, scale, 0.0, "b")?;
            (epsilon > 0.0).then_some((Pair::Laplace { epsilon }, 0.0))
        }
        Mechanism::Pure { epsilon } => {
            if !(0.0..LARGEST_RATIO).contains(&epsilon) {
                return Err(Error::usage(format!("an output of ε = {epsilon}"))
                    .cure("ε must be at least 0 and below 1e150"));
            }
            (epsilon > 0.0).then_some((Pair::Response { epsilon }, 0.0))
        }
    };
    Ok(found)
}

fn slack(step: f64, coordinates: u64) -> f64 {
    coordinates as f64 * (step * step)
}

/// Sensitivity over scale; both and the grid are in range.
fn ratio(sensitivity: f64, scale: f64, grid: f64, symbol: &str) -> Result<f64> {
    let wrong = |what: String, admissible: &str| Err(Error::usage(what).cure(admissible));
    if !(scale.is_finite() && scale > 0.0) {
        let admissible = format!("{symbol} must be finite and above 0");
        return wrong(format!("{symbol} is {scale}"), &admissible);
    }
    if !(sensitivity.is_finite() && sensitivity >= 0.0) {
        return wrong(
            format!("the sensitivity is {sensitivity}"),
            "a sensitivity must be finite and at least 0",
        );
    }
    if !(grid >= 0.0 && grid / scale <= COARSEST_GRID) {
        return wrong(
            format!("a grid of {grid} is too coarse for {symbol} = {scale}"),
            &format!("a grid must be 0 (ideal noise) or positive and at most {symbol}/2^20"),
        );
    }
    let ratio = sensitivity / scale;
    if ratio >= LARGEST_RATIO || (sensitivity > 0.0 && ratio < 1.0 / LARGEST_RATIO) {
        return wrong(
            format!("sensitivity {sensitivity} against {symbol} = {scale} is out of proportion"),
            &format!("sensitivity/{symbol} must be 0 or between 1e-150 and 1e150"),
        );
    }
    Ok(ratio)
}
