//! What is said about runs to others, and about the runs of others.
//!
//! | module | holds |
//! |---|---|
//! | [`certificate`] | what others may be told about a run, in words |
//! | [`comparison`] | which of several runs is better, in a sentence |
//! | [`lineage`] | what a run inherits from its starting model |
//! | [`public_alone`] | public data alone on private records, from all scores together |
//! | [`question`] | which runs can be compared, and with which public data |
//! | [`report`] | a page about one run or several, to be passed on |
//! | [`signature`] | a certificate's signature |
//! | [`sum`] | the ε of several runs together |
//! | [`trainer`] | steps of another trainer, and what our accountant says about them |
//!
//! Statements are made of the files of the store. The store knows none of them.

pub mod certificate;
pub mod comparison;
pub mod lineage;
pub mod public_alone;
pub mod question;
pub mod report;
pub mod signature;
pub mod sum;
pub mod trainer;

pub use certificate::{Certificate, Lineage};
pub use report::Report;
