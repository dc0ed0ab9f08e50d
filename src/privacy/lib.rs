//! The privacy boundary without its openings: what is private can be transformed and not seen.
//!
//! A crate that names only this one in its Cargo.toml holds private, released and curator-only
//! values, reads the ledger, and can do nothing that the table of openings in
//! `halflight_privacy_inside::private` reserves. Crates that see records name
//! `halflight-privacy-inside` instead; `tests/whole/boundary.rs` holds the list of them.
//!
//! # What does not compile
//!
//! Printing private data,
//!
//! ```compile_fail,E0277
//! let ages = halflight_privacy::Private::new(vec![61.0, 47.0]);
//! println!("{:?}", ages);
//! ```
//!
//! serialising them,
//!
//! ```compile_fail,E0277
//! let ages = halflight_privacy::Private::new(vec![61.0, 47.0]);
//! serde_json::to_string(&ages);
//! ```
//!
//! comparing them,
//!
//! ```compile_fail,E0369
//! let ages = halflight_privacy::Private::new(vec![61.0, 47.0]);
//! let same = ages == ages;
//! ```
//!
//! making up a released number,
//!
//! ```compile_fail,E0624
//! let fake = halflight_privacy::Released::new(61.0);
//! ```
//!
//! opening one's own watch,
//!
//! ```compile_fail,E0599
//! let watch = halflight_privacy::Watch::open();
//! ```
//!
//! or unsealing one,
//!
//! ```compile_fail,E0599
//! let watch = halflight_privacy::Watch::sealed();
//! watch.seal(false);
//! ```
//!
//! looking without an open watch,
//!
//! ```compile_fail,E0599
//! # use halflight_privacy::{Private, Watch};
//! let ages = Private::new(vec![61.0, 47.0]);
//! let exact = ages.curator(&Watch::sealed(), Clone::clone);
//! ```
//!
//! carrying something out of a transformation,
//!
//! ```compile_fail,E0308
//! let out = std::sync::Mutex::new(0.0);
//! let ages = halflight_privacy::Private::new(vec![61.0, 47.0]);
//! ages.transform(|ages| *out.lock().unwrap() = ages[0]);
//! ```
//!
//! or through the closures that the library itself uses,
//!
//! ```compile_fail,E0599
//! let out = std::sync::Mutex::new(0.0);
//! let ages = halflight_privacy::Private::new(vec![61.0, 47.0]);
//! ages.map_unseen(|ages| *out.lock().unwrap() = ages[0]);
//! ```
//!
//! putting it into an error,
//!
//! ```compile_fail,E0308
//! # use halflight_base::Error;
//! # use halflight_privacy::Private;
//! let ages = Private::new(vec![61.0, 47.0]);
//! let told = ages.try_transform(|ages: &Vec<f64>| -> Result<(), Error> {
//!     Err(Error::failed(format!("{}", ages[0])))
//! });
//! ```
//!
//! even as the words of a fault,
//!
//! ```compile_fail
//! # use halflight_privacy::{PrivateFault, Private};
//! let ages = Private::new(vec![61.0, 47.0]);
//! let told = ages.try_transform(|ages| -> Result<(), PrivateFault> {
//!     let words = format!("{}", ages[0]);
//!     Err(PrivateFault::new(&words, "none"))
//! });
//! ```
//!
//! passing an exact number off as released,
//!
//! ```compile_fail,E0308
//! # fn noisy() -> halflight_privacy::Released<f64> { loop {} }
//! let exact = 61.0;
//! let laundered = noisy().transform(|_| exact);
//! ```
//!
//! ```compile_fail,E0599
//! # fn noisy() -> halflight_privacy::Released<f64> { loop {} }
//! let laundered = noisy().map(|_| 61.0);
//! ```
//!
//! reporting a number as a released or public measure,
//!
//! ```compile_fail,E0308
//! use halflight_methods::{Measure, Series};
//! let fake = Measure::released(Series::Objective, 61.0);
//! ```
//!
//! ```compile_fail,E0603
//! use halflight_methods::MeasureStanding;
//! let fake = MeasureStanding::Public(61.0);
//! ```
//!
//! drawing with made-up noise,
//!
//! ```compile_fail,E0599
//! # use halflight_privacy::{Calibrated, Spender, Transcript};
//! # fn given() -> (Calibrated, Transcript) { loop {} }
//! # use halflight_privacy::mechanism::NoiseGenerator;
//! let (noise, transcript) = given();
//! let spender = Spender::carried(&noise, transcript, NoiseGenerator::from_os().unwrap());
//! ```
//!
//! ```compile_fail,E0616
//! # fn given() -> halflight_privacy::Calibrated { loop {} }
//! let mut noise = given();
//! noise.events.clear();
//! ```
//!
//! or giving a method records that nobody clipped:
//!
//! ```compile_fail,E0423
//! # fn records() -> halflight_data::Dataset { loop {} }
//! let wild = halflight_data::Bounded(records());
//! ```
//!
//! Transforming them does:
//!
//! ```
//! use halflight_privacy::{PrivateFault, Private};
//! let ages = Private::new(vec![61.0, 47.0]);
//! let decades = ages.transform(|ages| ages.iter().map(|age| age / 10.0).collect::<Vec<f64>>());
//! let first = decades.try_transform(|decades| {
//!     decades.first().copied().ok_or(PrivateFault::new("there is no record", "add records"))
//! });
//! assert!(first.is_ok());
//! ```

pub use halflight_privacy_inside::{
    Adjacency, Allotment, Calibrated, ClippedSum, Contributions, CuratorOnly, Direction, Event,
    Gaussian, Guarantee, Laplace, Ledger, NoiseSource, PlannedRelease, Private, PrivateFault,
    Reach, Release, Released, Rule, SampledSum, Secret, Selection, Spender, Target, Transcript,
    Watch, accountant, ledger, mechanism, query, release, secret, transcript,
};
