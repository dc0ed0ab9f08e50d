//! The guarantee of a list of noise events, and the noise that a target needs.
//!
//! [`event`] names the events, `pair` bounds how much each can reveal, and [`composition`] adds
//! events up and takes the best of several proven bounds: `gaussian` (the closed form), `pld`
//! (privacy losses on a `lattice`, composed by FFT, with an interval), `selections` of one size and
//! `rdp`. `contour` computes converged values, which are not bounds. `held_out` gives the cost of a
//! release about held-out records, and `repeats` the cost of keeping the best of many repeats.
//! `gate` computes sums that stay valid when later events depend on earlier outputs, and
//! [`calibration`] turns a plan and a [`target`] (ε, δ) into noise scales. `written` is the form of
//! events in files.

mod admissible;
pub mod calibration;
pub mod composition;
mod contour;
pub mod event;
mod gate;
pub mod gaussian;
pub mod guarantee;
mod held_out;
mod lattice;
mod pair;
mod pld;
#[cfg(test)]
mod properties;
mod rdp;
#[cfg(test)]
mod reference;
mod repeats;
mod selections;
mod subsampling;
pub mod target;
mod written;

pub use calibration::{Calibrated, calibrate, cover};
pub use composition::Composition;
pub use event::{
    Adjacency, Allotment, Event, Mechanism, Noise, PlannedRelease, Query, QueryKind, Rule,
};
pub use guarantee::{Coverage, Guarantee, round_up};
pub use held_out::counted;
pub use repeats::{Repeats, best_of};
pub use target::{Target, delta_words};
