//! Which public data can stand in for the private, after Gu, Kamath and Wu,
//! [`GRADIENT_SUBSPACE_DISTANCE`](crate::bibliography::GRADIENT_SUBSPACE_DISTANCE).
//!
//! A small model with random weights and random labels turns every dataset into per-example
//! gradients. How well the leading subspace of a candidate's gradients holds the private
//! ones says how useful the candidate will be:
//!
//! * the *captured energy* E = tr(VᵀAV)/tr(A), the share of the private second moment A of
//!   gradients inside the candidate's span V, has no eigengap problem;
//! * the *gradient subspace distance* √(Σ sin²θ)/√k of the principal angles between the
//!   candidate's span and the private one, both of k directions.
//!
//! Both are exact numbers about private data, so they are for the curator
//! ([`crate::privacy::CuratorOnly`]); [`selection`] releases the best candidate alone,
//! [`release`] a noisy moment from which the whole table follows, and [`direction`] one leading
//! direction, as the paper does.
//!
//! Neither looks at labels. Where there are labels, the error that a candidate's own model makes
//! on the private records says more about the error to come: it orders the table, and
//! [`errors`] releases it.
//!
//! | module | holds |
//! |---|---|
//! | [`settings`] | the user's choices: model, k, batch, repeats |
//! | [`subspace`] | the leading span of a batch of gradients; distance and energy |
//! | [`candidates`], [`records`] | the candidates, and the public half of a repeat |
//! | [`ranking`] | repeats one by one, for the curator |
//! | [`comparison`] | many repeats made into a table: means, paired intervals, ties |
//! | [`verdict`] | what the table says, in words |
//! | [`blind_spots`] | what the gradients are blind to: discrepancies, the public model's score |
//! | [`public_models`] | the model of one candidate alone, and how wrong it is |
//! | [`frame`] | the directions of all candidates together, and the private moment in them |
//! | [`errors`], [`selection`], [`release`], [`direction`] | the errors of all candidates' models, the best candidate, the whole table, or one direction, under differential privacy |
//!
//! A layer beside `adapt`, of which it uses the discrepancies and the ridge solution; uses
//! `model`, `data`, `privacy`, `numeric`.

pub mod blind_spots;
pub mod candidates;
pub mod comparison;
pub mod direction;
pub mod errors;
mod frame;
mod public_models;
pub mod ranking;
pub mod records;
pub mod release;
pub mod selection;
pub mod settings;
pub mod subspace;
pub mod verdict;

use crate::error::Result;
use crate::privacy::{PlannedRelease, Released, Spender};

pub use candidates::{Candidate, Lineup};
pub use comparison::{Comparison, Line};
pub use direction::PrivateDirection;
pub use errors::{PrivateErrors, ReleasedError};
pub use ranking::{RankStep, Ranking};
pub use records::Supply;
pub use release::{PrivateTable, ReleasedLine};
pub use selection::{PrivateSelection, Selector};
pub use settings::{Order, ProbeModel, RankingSettings};
pub use subspace::{Lead, Subspace};

/// A ranking that keeps everything to itself until its one release at the end.
pub trait PrivateRanking {
    /// Its name in the ledger.
    fn method(&self) -> &'static str;

    fn lineup(&self) -> &Lineup;

    /// What the user should know of it.
    fn remarks(&self) -> Vec<String> {
        self.lineup().remarks()
    }

    /// How many steps there are.
    fn repeats(&self) -> usize;

    /// What it will release, before private data are touched.
    fn plan(&self) -> Result<PlannedRelease>;

    /// What the public data say of the result to come, with a noise of this scale; an error
    /// where there can be none.
    fn outlook(&mut self, _scale: f64) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// One repeat: nothing leaves the private data.
    fn step(&mut self) -> Result<RankStep>;

    /// Draws, after the last step.
    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed>;
}

/// What a private ranking tells the world.
#[derive(Debug, Clone)]
pub enum Disclosed {
    /// Name of the best candidate.
    Winner(Released<String>),
    /// The best energy first.
    Table(Released<Vec<ReleasedLine>>),
    /// How wrong every candidate's own model is, the least first.
    Errors(Released<Vec<ReleasedError>>),
    /// What every candidate's span holds of one direction, the most first: as energy the
    /// squared cosine of their angle, as distance its sine.
    Direction(Released<Vec<ReleasedLine>>),
}
