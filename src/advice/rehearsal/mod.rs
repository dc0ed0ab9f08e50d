//! Public data in the private role: results to expect, before anything is spent.
//!
//! | module | holds |
//! |---|---|
//! | [`scene`] | which public rows play the private ones, and which stay public |
//! | [`player`] | the methods tried on them: every one that fits, and those that cost nothing |
//! | [`stage`] | the public records of a plan, and the declarations about the private ones |
//! | `trial` | one method on one pair of datasets, with seeded noise or none |
//! | `split` | public, acting and judging records, prepared in the same way; losses |
//! | [`trust`] | how much each scene counts |
//! | [`advice`] | the advice from all trials together |
//!
//! Private records cannot get in: a [`Stage`] is made of public tables and of [`Declared`], which
//! is their number and the definition in the session. Private rows have a type that no stage
//! accepts:
//!
//! ```compile_fail,E0308
//! use halflight_data::{DatasetDefinition, Table};
//! use halflight_privacy_inside::Private;
//! use halflight_advice::rehearsal::{Declared, RunTerms, Stage};
//!
//! fn stage(rows: Private<Table>, of: DatasetDefinition, declared: Declared, terms: RunTerms) {
//!     let _ = Stage::with_scenes(rows, of, declared, terms, Vec::new());
//! }
//! ```
//!
//! `halflight_engine::rehearse` handles files and threads.

pub mod advice;
mod candidates;
pub mod player;
pub mod scene;
mod split;
pub mod stage;
pub mod trust;

pub use crate::methods::trial::{RehearsalNoise, Trial, Tried};
pub use candidates::Prospect;
pub use player::Player;
pub use scene::Scene;
pub use split::Split;
pub use stage::{Declared, RunTerms, Stage};
pub use trust::{Miss, Trust};
