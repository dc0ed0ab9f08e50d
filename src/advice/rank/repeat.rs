//! One repeat: the scores of every candidate for one draw of private records.

use super::candidates::PublicRepeat;
use super::records::Supply;
use super::subspace::{SpanScore, Subspace, lead_and_span};
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::tall::Many;

/// The scores of one repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// In the order of the candidates; `None` for a broken one.
    pub scores: Vec<Option<SpanScore>>,
    /// The score of other private records: as good as data can be at this m.
    pub floor: SpanScore,
    /// The score of noise.
    pub ceiling: SpanScore,
    /// Directions that the private gradients span, up to k.
    pub rank: usize,
    /// Whether all drawn private records are equal.
    pub alike: bool,
}

impl Repeat {
    /// The private half of a repeat: exact.
    pub fn of(round: &PublicRepeat, data: &Supply, batch: usize) -> Result<Self> {
        let chosen = round.conditions.private_batch(data.len(), 2 * batch);
        let (first, second) = chosen.split_at(chosen.len() / 2);
        let (found, sharp) = Self::scored::<f32>(round, data, first, second)?;
        // Rarely, the spectrum asks for doubles.
        if sharp { Ok(found) } else { Ok(Self::scored::<f64>(round, data, first, second)?.0) }
    }

    /// With gradients in doubles or in single precision, and whether that was enough.
    fn scored<T: Many>(
        round: &PublicRepeat,
        data: &Supply,
        first: &[usize],
        second: &[usize],
    ) -> Result<(Self, bool)> {
        let gradients = |features: Matrix| round.conditions.gradients_in::<T>(&features);
        let features = data.features(first)?;
        let alike = features.column_iter().all(|record| record == features.column(0));
        let (private, other) = (gradients(features)?, gradients(data.features(second)?)?);
        let within = |error: Error| error.within("private data");
        let (lead, floor) = lead_and_span(&private, &other, round.directions);
        let (lead, floor) = (lead.map_err(within)?, floor.map_err(within)?);
        let sharp = lead.is_sharp() && floor.is_sharp();
        let score = |candidate: &Subspace| lead.score(candidate);
        let found = Self {
            scores: round.spans.iter().map(|span| span.as_ref().map(score)).collect(),
            floor: score(&floor),
            ceiling: score(&round.noise),
            rank: lead.rank(),
            alike,
        };
        Ok((found, sharp))
    }
}
