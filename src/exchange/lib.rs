//! Messages between the sites of a joint run.
//!
//! | module | holds |
//! |---|---|
//! | [`key`] | the key pair with which a site signs, and that of its masks |
//! | [`message`] | one signed message |
//! | [`folder`] | a folder that all sites read and write |
//! | [`board`] | how far each site came, for those who look on |
//! | [`place`] | where a site meets the others, and whom it trusts |
//! | [`hello`] | what each site takes part in, compared before anything is planned |
//! | [`meeting`] | what all agree on, and the releases in their order |
//!
//! This crate knows neither records nor ledgers: what it carries was released before, or is masked.

use halflight_base::{error, files};

pub mod board;
pub mod folder;
pub mod hello;
pub mod key;
pub mod meeting;
pub mod message;
pub mod place;

pub use board::{BoardReader, Pinned, SiteProgress, SiteState};
pub use hello::Hello;
pub use key::{MaskKey, PublicKey, SiteKey, from_hexadecimal, hexadecimal};
pub use meeting::Meeting;
pub use place::Place;
