//! The symbolic description of noise: planned, calibrated, drawn.
//!
//! A method *plans* releases ([`PlannedRelease`]: kind, sensitivity, count);
//! calibration turns them into [`Event`]s with a noise scale; the ledger stores
//! events; the accountant composes events. All four read the same numbers.

use serde::{Deserialize, Serialize};

/// Which datasets count as neighbours. A sensitivity is meaningless without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjacency {
    /// One record replaced by any other; the number of records is public.
    ReplaceOne,
    /// One record replaced by a null record; the number of records is public.
    /// A replace-one guarantee of our mechanisms holds here with the same numbers.
    ZeroOut,
}

impl Adjacency {
    pub fn words(self) -> &'static str {
        match self {
            Self::ReplaceOne => "replace-one",
            Self::ZeroOut => "zero-out",
        }
    }
}

/// The (ε, δ) a user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub epsilon: f64,
    pub delta: f64,
}

/// A release that a method will make, before its noise is known.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRelease {
    /// Short identifier, unique within the plan, such as `gradient`.
    pub label: &'static str,
    /// What is released, in words, for the certificate and the ledger screen.
    pub what: String,
    pub mechanism: PlannedMechanism,
    /// How many times it is drawn.
    pub count: u64,
    /// Its part of the plan's budget, relative to the other releases (μ² share).
    pub share: f64,
    pub adjacency: Adjacency,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedMechanism {
    /// A vector with independent Gaussian noise of one scale.
    Gaussian {
        /// Largest ℓ₂ change of the vector between neighbours, in absolute units.
        l2_sensitivity: f64,
        /// Length of the vector.
        coordinates: u64,
    },
}

/// Noise with a scale: what is drawn, written to the ledger, and accounted for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    pub label: String,
    pub what: String,
    pub mechanism: Mechanism,
    pub count: u64,
    pub adjacency: Adjacency,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mechanism {
    /// The discrete Gaussian on the grid of [`crate::privacy::mechanism::DiscreteGaussian`].
    Gaussian {
        /// ℓ₂ sensitivity of the vector *after* rounding to the grid, absolute units.
        sensitivity: f64,
        /// Standard deviation of the noise, absolute units: an integer number of grid steps.
        sigma: f64,
        /// Grid step of the noise, a power of two; 0 for ideal continuous noise.
        grid: f64,
        /// Length of the vector.
        coordinates: u64,
    },
}
