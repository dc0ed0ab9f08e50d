//! Which public data can stand in for the private, after
//! [Gu, Kamath, Wu 2023](halflight_base::bibliography).
//!
//! A small model with random weights and random labels turns every dataset into per-example
//! gradients. How well the leading subspace of a candidate's gradients captures the private
//! gradients shows how useful the candidate will be:
//!
//! * the *captured energy* E = tr(VᵀAV)/tr(A), the share of the private second moment A of
//!   gradients inside the candidate's span V, has no eigengap problem;
//! * the *gradient subspace distance* √(Σ sin²θ)/√k of the principal angles between the
//!   candidate's span and the private one, both of k directions.
//!
//! Both are exact numbers about private data, so they are only for the curator
//! ([`crate::privacy::CuratorOnly`]). [`selection`] releases only the best candidate, [`release`] a
//! noisy moment from which the whole table follows, and [`direction`] one leading direction, as the
//! paper does.
//!
//! Neither uses labels. Where there are labels, the error of a candidate's own model on the private
//! records predicts the later error better: it orders the table, and [`errors`] releases it.
//!
//! | module | holds |
//! |---|---|
//! | [`settings`] | the user's choices: model, k, batch, repeats |
//! | [`subspace`] | the leading span of a batch of gradients; distance and energy |
//! | [`candidates`], [`records`] | the candidates, and the public half of a repeat |
//! | [`ranking`], `repeat` | repeats one by one, for the curator |
//! | `candidate_line` | one candidate in the table: means, paired intervals, ties |
//! | [`comparison`] | turns many repeats into a table |
//! | [`verdict`] | the meaning of the table, in words |
//! | [`blind_spots`] | differences that gradients cannot see: discrepancies, the public model's score |
//! | [`task2vec`] | the distance of two datasets by what a network learns from each |
//! | [`public_models`] | the model of one candidate alone, and its errors |
//! | [`shared_directions`] | the directions of all candidates together, and the private moment in them |
//! | `released` | the common parts of all private rankings |
//! | [`errors`], [`selection`], [`release`], [`direction`] | the errors of all candidates' models, the best candidate, the whole table, or one direction, under differential privacy |

pub mod blind_spots;
pub mod candidate_line;
pub mod candidates;
pub mod comparison;
pub mod direction;
pub mod errors;
mod public_models;
pub mod ranking;
pub mod records;
pub mod release;
pub mod released;
mod repeat;
pub mod selection;
pub mod settings;
mod shared_directions;
pub mod subspace;
pub mod task2vec;
pub mod verdict;

pub use crate::model::Activation;
pub use candidate_line::{Alongside, CandidateLine};
pub use candidates::{Candidate, RankingSetup};
pub use comparison::Comparison;
pub use direction::PrivateDirection;
pub use errors::PrivateErrors;
pub use ranking::{RankStep, Ranking};
pub use records::Supply;
pub use release::PrivateTable;
pub use released::{Disclosed, PrivateRanking, ReleasedError, ReleasedLine};
pub use repeat::Repeat;
pub use selection::{PrivateSelection, Selector};
pub use settings::{CandidateOrder, ProbeModel, RankingMechanism, RankingSettings};
pub use subspace::{Lead, Subspace};
