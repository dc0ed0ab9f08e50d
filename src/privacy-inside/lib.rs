//! Everything that stands between private data and the world.
//!
//! | module | holds |
//! |---|---|
//! | [`private`] | the boundary: [`Private`], [`Released`], [`CuratorOnly`], [`Watch`] and every opening |
//! | [`query`] | the values that a query may have: clipped by the mechanism |
//! | [`release`] | a planned release: its type says how it is drawn |
//! | [`accountant`] | the guarantee of a list of noise events, and the noise a target needs |
//! | [`mechanism`] | the noise itself, sampled exactly |
//! | [`spender`] | the only way from private to released: reserve in the ledger, then draw |
//! | `tape` | the draws of a rehearsal and their inputs: for audits |
//! | [`transcript`] | the released values of a run, so that it can be resumed |
//! | [`secret`] | the key under which everything written about private rows is hashed |
//! | [`ledger`] | the append-only record of the spending of each private dataset |
//!
//! Of `data` it uses only what names and compares rows.

#![warn(missing_docs)]

use halflight_base::{clock, error, faults, files};
use halflight_data as data;
use halflight_numeric as numeric;

pub mod ledger;
#[cfg(test)]
mod measured;
pub mod private;
pub mod query;
pub mod secret;
pub mod spender;
pub mod tape;
pub mod transcript;

pub use halflight_dp::accountant::{
    self, Adjacency, Allotment, Calibrated, Event, Guarantee, PlannedRelease, Target,
};
pub use halflight_dp::mechanism::{self, NoiseSource};
pub use halflight_dp::release::{
    self, Direction, Gaussian, Laplace, Release, Rule, SampledSum, Selection,
};
pub use ledger::Ledger;
pub use private::{CuratorOnly, Private, PrivateFault, Released, Watch};
pub use query::{ClippedSum, Contributions, Reach};
pub use secret::Secret;
pub use spender::Spender;
pub use transcript::Transcript;

/// Every opening of the boundary, as methods of traits. Only crates that name
/// `halflight-privacy-inside` in their Cargo.toml can use them: `halflight-privacy` has the same
/// types without these traits.
pub mod openings {
    pub use crate::private::{OpenCuratorOnly, OpenMissing, OpenPrivate, OpenReleased, OpenWatch};
    pub use crate::spender::{OpenRepeats, OpenSpender};
}
