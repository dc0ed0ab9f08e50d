//! The draws of a rehearsal and their inputs, so that an audit can compare two rehearsals. Public
//! data stand in for private data in a rehearsal, so nothing here is private.

use crate::accountant::{Query, QueryKind, Rule};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::eigen::eigenvalues;

/// One draw.
#[derive(Debug, Clone, Default)]
pub struct Draw {
    /// Index of its event in the plan.
    pub event: usize,
    /// The value before noise, or the scores, after clipping by the mechanism.
    pub exact: Vec<f64>,
    /// The value with its noise.
    pub released: Vec<f64>,
    /// The records in the sample; empty if there is no sample.
    pub members: Vec<usize>,
    /// Whether the mechanism had to clip: the method exceeded its announcement.
    pub overreached: bool,
}

impl Draw {
    /// How far the exact value is from that of another draw of this query, relative to the
    /// announced sensitivity.
    pub fn moved(&self, other: &Self, query: &Query) -> f64 {
        let differences = || self.exact.iter().zip(&other.exact).map(|(a, b)| a - b);
        let spread = |values: &[f64]| {
            let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            largest - values.iter().copied().fold(f64::INFINITY, f64::min)
        };
        let Query { kind, sensitivity, size } = *query;
        let moved = match kind {
            QueryKind::Gaussian | QueryKind::SampledSum { .. } => {
                differences().map(|x| x * x).sum::<f64>().sqrt()
            }
            QueryKind::Laplace => differences().map(f64::abs).sum::<f64>(),
            QueryKind::Selection(Rule::Exponential | Rule::PermuteAndFlip) => {
                spread(&differences().collect::<Vec<_>>())
            }
            QueryKind::Selection(Rule::NoisyMaximum) => {
                differences().map(f64::abs).fold(0.0, f64::max)
            }
            QueryKind::Direction => {
                let side = size as usize;
                let matrix = Matrix::from_iterator(side, side, differences());
                eigenvalues(&matrix).map_or(f64::NAN, |values| spread(values.as_slice()))
            }
            QueryKind::Pure | QueryKind::Repeated(_) => f64::NAN,
        };
        moved / sensitivity
    }
}

/// How a rehearsal differs from another one.
#[derive(Debug, Default)]
pub struct Departure {
    /// The draws that it sees instead of its own.
    pub before: Option<Vec<Draw>>,
    /// Records that are left blank: no sample has them.
    pub blank: Vec<usize>,
    /// A record that every sample has.
    pub present: Option<usize>,
}

impl Departure {
    /// The members of a sample under it.
    pub(super) fn members(&self, mut members: Vec<usize>) -> Vec<usize> {
        members.retain(|member| !self.blank.contains(member));
        if let Some(present) = self.present
            && let Err(at) = members.binary_search(&present)
        {
            members.insert(at, present);
        }
        members
    }
}

/// The tape of an audited rehearsal.
#[derive(Debug, Default)]
pub(super) struct Tape {
    /// How the rehearsal differs from an earlier one. Where that one's draws are given, samples and
    /// released values are those, for any data, so that both see the same history.
    pub departure: Departure,
    /// The draws so far.
    pub draws: Vec<Draw>,
}

impl Tape {
    /// The next draw of the earlier rehearsal.
    pub fn next(&self) -> Result<Option<&Draw>> {
        let Some(before) = &self.departure.before else { return Ok(None) };
        before
            .get(self.draws.len())
            .map(Some)
            .ok_or_else(|| Error::failed("the second rehearsal draws more often than the first"))
    }

    /// The last released value of an event.
    pub fn last(&self, event: usize) -> Option<Vec<f64>> {
        self.draws.iter().rfind(|draw| draw.event == event).map(|draw| draw.released.clone())
    }
}
