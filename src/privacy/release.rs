//! A planned release as its method holds it: how it may be drawn is in its type.
//!
//! The handle is what announces the release in the plan and what draws it later, so kind,
//! sensitivity and size stand once. Only the opening of [`super::Private`] for its kind takes
//! it, and the spender refuses it where its noise is for less.

use super::accountant::{Adjacency, Allotment, PlannedMechanism, PlannedRelease};

/// What one draw is, before its noise is known.
pub trait ReleaseKind: Copy {
    fn mechanism(self) -> PlannedMechanism;
}

/// A vector with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaussian {
    /// Largest ℓ₂ change of the vector between neighbours.
    pub sensitivity: f64,
    pub numbers: usize,
}

/// A sum over a Poisson sample with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledSum {
    /// Largest ℓ₂ norm of what one record adds.
    pub sensitivity: f64,
    pub numbers: usize,
    /// Every record is in the sample with this probability.
    pub rate: f64,
}

/// A vector with Laplace noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Laplace {
    /// Largest ℓ₁ change of the vector between neighbours.
    pub sensitivity: f64,
    pub numbers: usize,
}

/// One of some candidates, the larger its score the likelier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    pub rule: Rule,
    /// How much further a neighbour can move one candidate's score than another's.
    pub range: f64,
    pub candidates: usize,
}

/// How a candidate is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Exponential,
    PermuteAndFlip,
    /// The largest score plus Laplace noise, as some papers print it.
    NoisyMaximum,
}

/// One direction of many, the larger the form of a private matrix along it the likelier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    /// How much further a neighbour can move the form of one unit vector than another's.
    pub range: f64,
    pub dimension: usize,
}

impl ReleaseKind for Gaussian {
    fn mechanism(self) -> PlannedMechanism {
        let coordinates = self.numbers as u64;
        PlannedMechanism::Gaussian { l2_sensitivity: self.sensitivity, coordinates }
    }
}

impl ReleaseKind for SampledSum {
    fn mechanism(self) -> PlannedMechanism {
        PlannedMechanism::SubsampledGaussian {
            l2_sensitivity: self.sensitivity,
            coordinates: self.numbers as u64,
            rate: self.rate,
        }
    }
}

impl ReleaseKind for Laplace {
    fn mechanism(self) -> PlannedMechanism {
        let coordinates = self.numbers as u64;
        PlannedMechanism::Laplace { l1_sensitivity: self.sensitivity, coordinates }
    }
}

impl ReleaseKind for Selection {
    fn mechanism(self) -> PlannedMechanism {
        let (range, candidates) = (self.range, self.candidates as u64);
        match self.rule {
            Rule::Exponential => PlannedMechanism::Selection { range, candidates },
            Rule::PermuteAndFlip => PlannedMechanism::PermuteAndFlip { range, candidates },
            // Up to a shift that all scores share, each moves by half of the range at most.
            Rule::NoisyMaximum => {
                PlannedMechanism::NoisySelection { sensitivity: 0.5 * range, candidates }
            }
        }
    }
}

impl ReleaseKind for Direction {
    fn mechanism(self) -> PlannedMechanism {
        PlannedMechanism::Direction { range: self.range, dimension: self.dimension as u64 }
    }
}

/// A planned release of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Release<K> {
    label: &'static str,
    kind: K,
}

impl<K> Release<K> {
    /// `label` is unique within its plan.
    pub const fn new(label: &'static str, kind: K) -> Self {
        Self { label, kind }
    }

    pub const fn label(&self) -> &'static str {
        self.label
    }
}

impl<K: ReleaseKind> Release<K> {
    pub(super) fn mechanism(&self) -> PlannedMechanism {
        self.kind.mechanism()
    }

    /// Its place in a plan: drawn `count` times, with this noise. `what` says it in words.
    pub fn announced(
        &self,
        what: String,
        count: u64,
        noise: Allotment,
        adjacency: Adjacency,
    ) -> PlannedRelease {
        let (label, mechanism) = (self.label, self.mechanism());
        PlannedRelease { label, what, mechanism, count, noise, adjacency }
    }
}
