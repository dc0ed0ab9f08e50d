//! Public data in the private role: what to expect before anything is spent.
//!
//! | module | holds |
//! |---|---|
//! | [`scene`] | which public rows play the private ones, and which are left to be public |
//! | [`player`] | what is tried on them: every method that fits, and what costs nothing |
//! | [`stage`] | the public records of a plan, and what is declared of the private ones |
//! | `trial` | one method on one pair of datasets, with seeded noise or none |
//! | `split` | public, acting and judging records, prepared alike; losses |
//! | [`trust`] | how much each scene counts |
//! | [`advice`] | what all trials together say to do |
//!
//! Private records have no way in: a [`Stage`] is made of public tables and of [`Declared`],
//! which is their number and the definition in the session. Whoever has private rows has them
//! in a type that no stage takes:
//!
//! ```compile_fail,E0308
//! use halflight::data::{DatasetDefinition, Table};
//! use halflight::privacy::Private;
//! use halflight::rehearsal::{Declared, RunTerms, Stage};
//!
//! fn stage(rows: Private<Table>, of: DatasetDefinition, declared: Declared, terms: RunTerms) {
//!     let _ = Stage::with_scenes(rows, of, declared, terms, Vec::new());
//! }
//! ```
//!
//! Files and threads are the business of [`crate::engine::rehearse`].

pub mod advice;
mod candidates;
pub mod player;
pub mod scene;
mod split;
pub mod stage;
mod trial;
pub mod trust;

pub use candidates::Prospect;
pub use player::Player;
pub use scene::Scene;
pub use split::Split;
pub use stage::{Declared, RunTerms, Stage};
pub use trial::{RehearsalNoise, Trial, Tried};
pub use trust::{Miss, Trust};
