//! Public data in the private role: results to expect, before anything is spent.
//!
//! | module | holds |
//! |---|---|
//! | [`case`] | which public rows play the private ones, and which stay public |
//! | [`player`] | the methods tried on them: every one that fits, and those that cost nothing |
//! | [`rehearsal_data`] | the public records of a plan, and the declarations about the private ones |
//! | `trial` | one method on one pair of datasets, with seeded noise or none |
//! | `split` | public, acting and held-out records, prepared in the same way; losses |
//! | `thinning` | which trials are left out |
//! | [`trust`] | how much each case counts |
//! | [`advice`] | the advice from all trials together |
//! | [`joining`] | what joining other sites brings |
//!
//! Private records cannot get in: [`RehearsalData`] are made of public tables and of [`Declared`],
//! which is their number and the definition in the session. Private rows have a type that they do
//! not accept:
//!
//! ```compile_fail,E0308
//! use halflight_data::{DatasetDefinition, Table};
//! use halflight_privacy_inside::Private;
//! use halflight_advice::rehearsal::{Declared, RehearsalData, RunTerms};
//!
//! fn rehearsal(rows: Private<Table>, of: DatasetDefinition, declared: Declared, terms: RunTerms) {
//!     let _ = RehearsalData::with_cases(rows, of, declared, terms, Vec::new());
//! }
//! ```
//!
//! `halflight_engine::rehearse` handles files and threads.

pub mod advice;
mod candidates;
pub mod case;
pub mod joining;
pub mod player;
pub mod rehearsal_data;
mod split;
mod thinning;
pub mod trust;

/// What is said of a public part that cannot act as private, between its name and the reason.
const CANNOT_PLAY: &str = " cannot play the private role: ";

pub use crate::methods::trial::{RehearsalNoise, Trial, Tried};
pub use candidates::Prospect;
pub use case::Case;
pub use player::Player;
pub use rehearsal_data::sites::{OtherSites, PlayedSites, SitesRehearsal};
pub use rehearsal_data::{Declared, Played, RehearsalData, RunTerms};
pub use split::{ErrorMeasure, Split};
pub use thinning::{ROUNDS, Thinning};
pub use trust::{Miss, Trust};
