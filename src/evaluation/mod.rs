//! Scores that may be told: how good a model is on private records that were held out of
//! training, released with noise.
//!
//! | module | holds |
//! |---|---|
//! | [`definition`] | what is asked for, as a plan names it |
//! | [`scoring`] | the release as a plan has it, and how it is drawn |
//! | [`tally`] | what one record adds to the release, and how far a neighbour can move it |
//! | [`law`] | how noise is distributed |
//! | [`interval`] | intervals that hold sampling and noise |
//! | [`score`] | the scores that follow from a released tally |
//! | [`measured`] | exact scores of answers to records whose labels are known |
//! | [`words`] | a score in words |
//!
//! Everything that a released score tells is computed from one released vector, public numbers and the
//! released model.

pub mod definition;
pub mod interval;
pub mod law;
pub mod measured;
pub mod score;
pub mod scoring;
pub mod tally;
pub mod words;

pub use definition::{Evaluation, Loss, Pay};
pub use measured::{FurtherScores, Measured};
pub use score::{ClassScore, Score, Scored};
pub use scoring::Scoring;
pub use tally::{Answers, Tally};
