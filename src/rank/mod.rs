//! Which public data can stand in for the private: section 4 of the design, after Gu,
//! Kamath and Wu, *Choosing Public Datasets for Private Machine Learning via Gradient
//! Subspace Distance*.
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
//! ([`crate::privacy::CuratorOnly`]); [`selection`] releases the best candidate alone, and
//! [`release`] a noisy moment from which the whole table follows.
//!
//! | module | holds |
//! |---|---|
//! | [`settings`] | the user's choices: model, k, batch, repeats |
//! | [`subspace`] | the leading span of a batch of gradients; distance and energy |
//! | [`lineup`], [`supply`] | the candidates, and the public half of a repeat |
//! | [`ranking`] | repeats one by one, for the curator |
//! | [`comparison`] | many repeats made into a table: means, paired intervals, ties |
//! | [`verdict`] | what the table says, in words |
//! | [`alongside`] | what the gradients are blind to: discrepancies, the public model's score |
//! | [`selection`], [`release`] | the best candidate, or the whole table, under differential privacy |
//!
//! *Not here:* the paper's third mechanism, the leading private direction drawn from a Bingham
//! distribution ∝ exp(εn/2·xᵀAx). An exact sampler exists for one direction, and ε would be
//! right; the answer would not. Along the first axis, of eigenvalue λ₁, t = x₁² has the density
//! t^(−1/2)(1 − t)^((p−3)/2)·exp(εnλ₁t/2) (the others being nothing beside it), which is about
//! 1/p wide at 0 unless εn > p/λ₁: a network of p = 30 000 and λ₁ = 0.15 takes 200 000 private
//! records at ε = 1 before the drawn direction has anything to do with theirs. And with C
//! classes of random labels the first C − 1 eigenvalues are all but equal, so one direction
//! among them says nothing. Within the candidates' own directions, where p is small, [`release`]
//! tells all of the moment for the same ε.
//!
//! A layer beside `adapt`, of which it uses the discrepancies and the ridge solution; uses
//! `model`, `data`, `privacy`, `numeric`.

pub mod alongside;
pub mod comparison;
pub mod lineup;
pub mod ranking;
pub mod release;
pub mod selection;
pub mod settings;
pub mod subspace;
pub mod supply;
pub mod verdict;

use crate::error::Result;
use crate::privacy::{PlannedRelease, Released, Spender};

pub use comparison::{Comparison, Line};
pub use lineup::{Candidate, Lineup};
pub use ranking::{RankStep, Ranking};
pub use release::{PrivateTable, ReleasedLine};
pub use selection::{PrivateSelection, Selector};
pub use settings::{Order, ProbeModel, RankingSettings};
pub use subspace::Subspace;
pub use supply::Supply;

/// A ranking that keeps everything to itself until its one release at the end.
pub trait PrivateRanking {
    /// Its name in the ledger.
    fn method(&self) -> &'static str;

    fn lineup(&self) -> &Lineup;

    /// What it will release, before private data are touched.
    fn plan(&self) -> Result<PlannedRelease>;

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
}
