//! The draws of a rehearsal and their inputs, so that an audit can compare two rehearsals. Public
//! data stand in for private data in a rehearsal, so nothing here is private.

use crate::error::{Error, Result};

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

/// The tape of a rehearsal.
#[derive(Debug, Default)]
pub enum Tape {
    /// Nothing is recorded.
    #[default]
    Off,
    /// The draws so far.
    Recording(Vec<Draw>),
    /// Samples and released values are those of an earlier rehearsal, for any data, so that both
    /// see the same history.
    Against {
        /// The draws of the earlier rehearsal.
        before: Vec<Draw>,
        /// The draws of this one.
        now: Vec<Draw>,
    },
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

impl Tape {
    /// The next draw of the earlier rehearsal.
    pub(super) fn next(&self) -> Result<Option<&Draw>> {
        let Self::Against { before, now } = self else { return Ok(None) };
        before
            .get(now.len())
            .map(Some)
            .ok_or_else(|| Error::failed("the second rehearsal draws more often than the first"))
    }

    pub(super) fn note(&mut self, draw: Draw) {
        match self {
            Self::Off => {}
            Self::Recording(draws) | Self::Against { now: draws, .. } => draws.push(draw),
        }
    }

    /// The last released value of an event.
    pub(super) fn last(&self, event: usize) -> Option<Vec<f64>> {
        let (Self::Recording(draws) | Self::Against { now: draws, .. }) = self else { return None };
        draws.iter().rfind(|draw| draw.event == event).map(|draw| draw.released.clone())
    }

    pub(super) fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }

    /// The draws.
    pub fn into_draws(self) -> Vec<Draw> {
        match self {
            Self::Off => Vec::new(),
            Self::Recording(draws) | Self::Against { now: draws, .. } => draws,
        }
    }
}
