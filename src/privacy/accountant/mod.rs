//! What a list of noise events guarantees, and the noise that a target needs.
//!
//! [`event`] names the events, `pair` says what each can reveal at most, and
//! [`composition`] adds events up and takes the best of several proven bounds:
//! `gaussian` (the closed form), `pld` (privacy losses on a `lattice`, composed by
//! FFT, with an interval), `selections` of one size and `rdp`. `contour` computes converged
//! values, which are not bounds. `gate` adds up what stays valid when later events depend on
//! earlier outputs, and [`calibration`] turns a plan and a [`target`] (ε, δ) into noise scales.
//! `written` is how events stand in files.

mod admissible;
pub mod calibration;
pub mod composition;
mod contour;
pub mod event;
mod gate;
pub(crate) mod gaussian;
pub mod guarantee;
mod lattice;
mod pair;
mod pld;
#[cfg(test)]
mod properties;
mod rdp;
#[cfg(test)]
mod reference;
mod selections;
mod subsampling;
pub mod target;
mod written;

pub use calibration::{Calibrated, calibrate};
pub use composition::Composition;
pub use event::{
    Adjacency, Allotment, Event, Mechanism, Noise, PlannedRelease, Query, QueryKind, Rule,
};
pub use guarantee::{Coverage, Guarantee, round_up};
pub use target::Target;
