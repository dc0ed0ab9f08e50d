//! From a target (ε, δ) to noise scales.

use super::composition::Guarantee;
use super::event::{Event, PlannedRelease, Target};
use crate::error::Result;

/// A plan with its noise: the events that will be drawn and what they guarantee.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    pub target: Target,
    pub events: Vec<Event>,
    pub guarantee: Guarantee,
}

/// The least noise (to one part in 10⁹) under which `releases` together satisfy
/// `target`; the guarantee of the result never exceeds it.
pub fn calibrate(_releases: &[PlannedRelease], _target: Target) -> Result<Calibrated> {
    todo!()
}
