//! The events that can be accounted for. Anything else is an error that names the allowed range.

use super::event::{Adjacency, Event, Mechanism, Noise, Query, QueryKind, Rule};
use super::pair::Pair;
use super::repeats::{Repeated, SLACK};
use super::subsampling::{Subsampled, View};
use crate::error::{Error, Result};

/// The coarsest grid, relative to the scale, that events may have: 2⁻²⁰.
const COARSEST_GRID: f64 = 1.0 / 1_048_576.0;
/// Beyond this ratio, ε ≈ μ²/2 overflows a double.
pub(super) const LARGEST_RATIO: f64 = 1e150;

/// The most that one draw of the event can reveal, and the part of A that its grid adds
/// ([`super::composition`]); `None` if it reveals nothing.
pub fn dominating(event: &Event) -> Result<Option<(Pair, f64)>> {
    dominating_mechanism(&event.mechanism, event.adjacency)
        .map_err(|error| error.at(format!("event '{}'", event.label)))
}

fn dominating_mechanism(
    mechanism: &Mechanism,
    adjacency: Adjacency,
) -> Result<Option<(Pair, f64)>> {
    let Query { kind, sensitivity, size } = mechanism.query;
    let Noise { scale, grid } = mechanism.noise;
    let ratio = |symbol: &str| ratio(sensitivity, scale, grid, symbol);
    let (size, step) = (size as f64, grid / scale);
    let on_grid = size * (step * step);
    let (pair, slack) = match kind {
        QueryKind::Gaussian => (Pair::Gaussian { mu: ratio("σ")? }, on_grid),
        QueryKind::SampledSum { rate } => {
            let mu = ratio("σ")?;
            check_rate(rate)?;
            let (view, times) = match adjacency {
                // Replacing one record's contribution moves the sum twice as far.
                Adjacency::ReplaceOne => (View::Replace, 2.0),
                Adjacency::ZeroOut => (View::Remove, 1.0),
            };
            let pair = if rate < 1.0 {
                Pair::Subsampled(Subsampled { noise: 1.0 / mu, rate, view })
            } else {
                Pair::Gaussian { mu: times * mu }
            };
            (pair, on_grid)
        }
        QueryKind::Repeated(repeats) => {
            repeats.check()?;
            let slack = on_grid * (SLACK + f64::from(repeats.shape));
            (Pair::Repeated(Repeated::new(ratio("σ")?, repeats)), slack)
        }
        // The curve of discrete noise connects dots of the continuous curve, 2·grid/b apart, so it
        // lies below the continuous curve of an ε₀ larger by (grid/b)²/2.
        QueryKind::Laplace => {
            (Pair::Laplace { epsilon: ratio("b")? + 0.5 * size * step * step }, 0.0)
        }
        QueryKind::Selection(Rule::Exponential) | QueryKind::Direction => {
            (Pair::BoundedRange { epsilon: ratio("the scale")? }, 0.0)
        }
        // Only pure privacy is claimed: randomised response dominates any mechanism of ε₀.
        QueryKind::Selection(Rule::PermuteAndFlip) => {
            (Pair::Response { epsilon: ratio("the scale")? }, 0.0)
        }
        QueryKind::Selection(Rule::NoisyMaximum) => {
            (Pair::Laplace { epsilon: 2.0 * ratio("b")? }, 0.0)
        }
        QueryKind::Pure => {
            let epsilon = sensitivity / scale;
            if !(0.0..LARGEST_RATIO).contains(&epsilon) {
                return Err(Error::usage(format!("an output of ε = {epsilon}"))
                    .cure("ε must be at least 0 and below 1e150"));
            }
            (Pair::Response { epsilon }, 0.0)
        }
    };
    Ok((sensitivity > 0.0).then_some((pair, slack)))
}

/// Refuses a rate that is not a probability of being in a sample.
pub(super) fn check_rate(rate: f64) -> Result<()> {
    if rate > 0.0 && rate <= 1.0 {
        return Ok(());
    }
    Err(Error::usage(format!("the sampling rate is {rate}"))
        .cure("a sampling rate must be above 0 and at most 1"))
}

/// Sensitivity over scale, after checking the ranges of both and of the grid.
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
