//! Scores that may be published: a model's quality on private records that were held out of
//! training, released with noise.
//!
//! | module | holds |
//! |---|---|
//! | [`definition`] | the score that a plan asks for |
//! | [`scoring`] | the release in a plan, and its draw |
//! | [`tally`] | the contribution of one record to the release, and how far a neighbour can move it |
//! | [`law`] | the distribution of noise |
//! | [`interval`] | intervals that cover sampling and noise |
//! | [`score`] | the scores that follow from a released tally |
//! | [`measured`] | exact scores of answers to records whose labels are known |
//! | [`together`] | what several scores of the same records say together |
//! | [`usual`] | errors on public records of another domain, and the cap |
//! | [`words`] | a score in words |
//!
//! Everything about a released score is computed from one released vector, public numbers and the
//! released model.

use halflight_base::error;
use halflight_data as data;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy_inside as privacy;

pub mod definition;
pub mod interval;
pub mod law;
pub mod measured;
pub mod score;
pub mod scoring;
pub mod tally;
pub mod together;
pub mod usual;
pub mod words;

pub use definition::{Evaluation, Loss, Pay};
pub use measured::{FurtherScores, Judged, Measured};
pub use score::{ClassScore, Score, Scored};
pub use scoring::{Expected, Scoring};
pub use tally::{Answers, Tally};
pub use together::{Noise, together};
pub use usual::UsualErrors;
