//! Methods for private records without labels: weights for public records that make them
//! resemble the private ones.
//!
//! | module | holds |
//! |---|---|
//! | [`moment`], [`discrepancy`] | statistics of unlabelled private data, and how far a neighbour moves them |
//! | `matching`, `kernel`, `joint` | the searches behind moment release |
//! | `reweighting` | the parts that the iterative methods share |
//! | [`moment_release`], [`frank_wolfe`], [`mirror_descent`] | the methods |

pub mod discrepancy;
pub mod frank_wolfe;
mod joint;
mod kernel;
mod matching;
pub mod mirror_descent;
pub mod moment;
pub mod moment_release;
#[cfg(test)]
mod papers_setup;
mod reweighting;
