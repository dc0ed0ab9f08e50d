//! Everything that stands between private data and the world.
//!
//! | module | holds |
//! |---|---|
//! | [`private`] | the boundary: [`Private`], [`Released`], [`CuratorOnly`], [`Watch`] and every opening |
//! | [`query`] | what a query may give: clipped by the mechanism |
//! | [`release`] | a planned release: its type says how it is drawn |
//! | [`accountant`] | what a list of noise events guarantees, and the noise a target needs |
//! | [`mechanism`] | the noise itself, sampled exactly |
//! | [`spender`] | the only way from private to released: reserve in the ledger, then draw |
//! | `tape` | what a rehearsal drew and from what: for audits |
//! | [`transcript`] | what a run has released so far, so that it can be resumed |
//! | [`secret`] | under which everything is hashed that is written about private rows |
//! | [`ledger`] | the append-only record of what each private dataset has spent |
//!
//! Used by `adapt`, `engine` and everything above; uses only `numeric`, and
//! of `data` how rows are named and compared.

#![warn(missing_docs)]

pub mod accountant;
pub mod ledger;
pub mod mechanism;
pub mod private;
pub mod query;
pub mod release;
pub mod secret;
pub mod spender;
pub(crate) mod tape;
pub mod transcript;

pub use accountant::{Adjacency, Allotment, Calibrated, Event, Guarantee, PlannedRelease, Target};
pub use ledger::Ledger;
pub use mechanism::NoiseSource;
pub use private::{CuratorOnly, Private, PrivateFault, Released, Watch};
pub use query::{ClippedSum, Contributions, Reach};
pub use release::{Direction, Gaussian, Laplace, Release, Rule, SampledSum, Selection};
pub use secret::Secret;
pub use spender::Spender;
pub use transcript::Transcript;
