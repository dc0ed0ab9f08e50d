//! What every crate of the workbench uses: errors with a cure, files that are complete or absent, and
//! what the machine offers.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | the one error type: what is wrong, where, and what to do |
//! | [`files`] | files that are complete or absent, and who may read them |
//! | [`memory`] | how much memory a table may take |
//! | [`bibliography`] | the papers that modules cite by name |
//! | [`clock`] | the time |
//! | [`signals`] | signals that ask the program to end |
//! | [`faults`] | faults that tests plant to see whether they are found |

pub mod bibliography;
pub mod clock;
pub mod error;
pub mod faults;
pub mod files;
pub mod memory;
pub mod signals;

pub use error::{Error, Result};
