//! Everything that stands between private data and the world.
//!
//! | module | holds |
//! |---|---|
//! | [`private`] | the boundary: [`Private`], [`Released`], [`CuratorOnly`], [`Watch`] and every opening |
//! | [`query`] | the values that a query may have: clipped by the mechanism |
//! | [`release`] | a planned release: its type says how it is drawn |
//! | [`accountant`] | the guarantee of a list of noise events, and the noise a target needs |
//! | [`mechanism`] | the noise itself, sampled exactly |
//! | [`exchange`] | what other sites add to a release, after it was charged and drawn |
//! | [`spender`] | the only way from private to released: reserve in the ledger, then draw |
//! | `tape` | the draws of a rehearsal and their inputs: for audits |
//! | [`transcript`] | the released values of a run, so that it can be resumed |
//! | [`secret`] | the key under which everything written about private rows is hashed |
//! | [`ledger`] | the append-only record of the spending of each private dataset |
//!
//! Of `data` it uses only what names and compares rows.
//!
//! # A release
//!
//! What is released is announced first. The accountant then finds its noise, and the spender draws
//! no more than was announced:
//!
//! ```
//! use halflight_privacy_inside::accountant::calibrate;
//! use halflight_privacy_inside::openings::{OpenPrivate, OpenSpender};
//! use halflight_privacy_inside::{Adjacency, Allotment, Gaussian, Private, Reach, Release, Spender, Target};
//!
//! # fn main() -> Result<(), halflight_base::Error> {
//! // A sum of numbers from 0 to 1: another record instead of one moves it by 1 at most.
//! const SUM: Release<Gaussian> = Release::new("sum", Gaussian { sensitivity: 1.0, numbers: 1 });
//! let all_noise = Allotment::Share(1.0);
//! let planned = SUM.announced("the sum".to_owned(), 1, all_noise, Adjacency::ReplaceOne);
//! let calibrated = calibrate(&[planned], Target { epsilon: 1.0, delta: 1e-6 })?;
//!
//! // Seeded noise is for public data. A run on private data takes its spender from a ledger.
//! let mut spender = Spender::rehearsal(&calibrated, 7);
//! let records = Private::new(vec![0.25, 0.5, 1.0]);
//! let mut sum = || {
//!     let reach = Reach::between(0.0, 3.0, 1);
//!     records.release_gaussian(&mut spender, SUM, &reach, |all| vec![all.iter().sum()])
//! };
//! let noisy = sum()?;
//! let sd = calibrated.scale(&SUM)?;
//! assert!((noisy.get()[0] - 1.75).abs() < 6.0 * sd, "near 1.75");
//! assert!(sum().is_err(), "one draw was announced");
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

use halflight_base::{clock, error, faults, files};
use halflight_data as data;
use halflight_numeric as numeric;

pub mod exchange;
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
