//! What a list of noise events guarantees, and the noise that a target needs.
//!
//! [`event`] names the events, [`gaussian`] holds the closed form of Gaussian
//! differential privacy, [`composition`] adds events up, and [`calibration`]
//! turns a plan and a target (ε, δ) into noise scales.

pub mod calibration;
pub mod composition;
pub mod event;
pub mod gaussian;

pub use calibration::{Calibrated, calibrate};
pub use composition::{Composition, Guarantee, round_up};
pub use event::{Adjacency, Allotment, Event, Mechanism, PlannedMechanism, PlannedRelease, Target};
