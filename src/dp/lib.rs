#![doc = include_str!("README.md")]
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | [`accountant`] | the guarantee of a list of noise events, and the noise that a target needs |
//! | [`mechanism`] | the noise itself, sampled exactly |
//! | [`release`] | a planned release: its type says how it is drawn |
//! | [`shown`] | the ε that many runs on two neighbours show: a lower bound, for audits |
//! | [`error`] | what can go wrong, with a cure |

#![warn(missing_docs)]

pub mod accountant;
#[doc(hidden)]
pub mod blind;
pub mod mechanism;
pub mod release;
pub mod shown;

pub use halflight_base::error;
use halflight_numeric as numeric;

pub use accountant::{Adjacency, Allotment, Calibrated, Event, Guarantee, PlannedRelease, Target};
pub use error::{Error, Result};
pub use mechanism::NoiseSource;
pub use release::{Direction, Gaussian, Laplace, Release, Rule, SampledSum, Selection};
