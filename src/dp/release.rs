//! A method's handle to a planned release. Its type says how it may be drawn.
//!
//! The same handle announces the release in the plan and draws it later, so kind, sensitivity and
//! size are stated once. Only the opening of a private value for its kind accepts it, and the
//! spender refuses it where the noise is for less.

use super::accountant::{Adjacency, Allotment, PlannedRelease, Query, QueryKind};

pub use super::accountant::Rule;

/// One draw, before its noise is known.
pub trait ReleaseKind: Copy {
    /// The query, and how far a neighbour can move the answer.
    fn query(self) -> Query;
}

/// A vector with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaussian {
    /// Largest ℓ₂ change of the vector between neighbours.
    pub sensitivity: f64,
    /// Length of the vector.
    pub numbers: usize,
}

/// A sum over a Poisson sample with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledSum {
    /// Largest ℓ₂ norm of one record's contribution.
    pub sensitivity: f64,
    /// Length of the vector.
    pub numbers: usize,
    /// Every record is in the sample with this probability.
    pub rate: f64,
}

/// A vector with Laplace noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    /// Largest ℓ₁ change of the vector between neighbours.
    pub sensitivity: f64,
    /// Length of the vector.
    pub numbers: usize,
}

/// One of several candidates; a larger score makes it likelier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    /// The rule of the choice.
    pub rule: Rule,
    /// How much further a neighbour can move one candidate's score than another's.
    pub range: f64,
    /// The number of candidates.
    pub candidates: usize,
}

/// One direction of many; a larger form of a private matrix along it makes it likelier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    /// How much further a neighbour can move the form of one unit vector than another's.
    pub range: f64,
    /// The dimension of the space of directions.
    pub dimension: usize,
}

impl ReleaseKind for Gaussian {
    fn query(self) -> Query {
        QueryKind::Gaussian.query(self.sensitivity, self.numbers as u64)
    }
}

impl ReleaseKind for SampledSum {
    fn query(self) -> Query {
        QueryKind::SampledSum { rate: self.rate }.query(self.sensitivity, self.numbers as u64)
    }
}

impl ReleaseKind for Laplace {
    fn query(self) -> Query {
        QueryKind::Laplace.query(self.sensitivity, self.numbers as u64)
    }
}

impl ReleaseKind for Selection {
    fn query(self) -> Query {
        let sensitivity = match self.rule {
            Rule::Exponential | Rule::PermuteAndFlip => self.range,
            // Up to a shift that all scores share, each moves by at most half of the range.
            Rule::NoisyMaximum => 0.5 * self.range,
        };
        QueryKind::Selection(self.rule).query(sensitivity, self.candidates as u64)
    }
}

impl ReleaseKind for Direction {
    fn query(self) -> Query {
        QueryKind::Direction.query(self.range, self.dimension as u64)
    }
}

/// A planned release of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Release<K> {
    label: &'static str,
    kind: K,
}

impl<K> Release<K> {
    /// The query, with its bounds.
    pub const fn kind(&self) -> K
    where
        K: Copy,
    {
        self.kind
    }

    /// `label` is unique within its plan.
    pub const fn new(label: &'static str, kind: K) -> Self {
        Self { label, kind }
    }

    /// Label of the release in its plan.
    pub const fn label(&self) -> &'static str {
        self.label
    }
}

impl<K: ReleaseKind> Release<K> {
    /// The query, and how far a neighbour can move the answer.
    pub fn query(&self) -> Query {
        self.kind.query()
    }

    /// Entry of the release in a plan: `count` draws with this noise, described by `what`.
    pub fn announced(
        &self,
        what: String,
        count: u64,
        noise: Allotment,
        adjacency: Adjacency,
    ) -> PlannedRelease {
        let (label, query) = (self.label, self.query());
        PlannedRelease { label, what, query, count, noise, adjacency, held_out: false }
    }
}
