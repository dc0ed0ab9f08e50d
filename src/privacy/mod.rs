//! Everything that stands between private data and the world.
//!
//! | module | holds |
//! |---|---|
//! | [`private`] | the standing of a number: [`Private`], [`Released`], [`CuratorOnly`] |
//! | [`accountant`] | what a list of noise events guarantees, and the noise a target needs |
//! | [`mechanism`] | the noise itself, sampled exactly |
//! | [`spender`] | the only way from private to released: reserve in the ledger, then draw |
//! | [`transcript`] | what a run has released so far, so that it can be resumed |
//! | [`ledger`] | the append-only record of what each private dataset has spent |
//!
//! Used by `adapt`, `engine` and everything above; uses only `numeric`.

pub mod accountant;
pub mod ledger;
pub mod mechanism;
pub mod private;
pub mod spender;
pub mod transcript;

pub use accountant::{Adjacency, Allotment, Calibrated, Event, Guarantee, PlannedRelease, Target};
pub use ledger::Ledger;
pub use private::{CuratorOnly, Private, Released, Watch};
pub use spender::Spender;
pub use transcript::Transcript;
