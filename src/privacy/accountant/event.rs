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
    pub noise: Allotment,
    pub adjacency: Adjacency,
}

/// How much noise a planned release gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Allotment {
    /// A part of the plan's budget, relative to the other releases (of μ², or of what
    /// comes closest to it: see [`super::calibration`]).
    Share(f64),
    /// The scale that a paper prints (σ of a Gaussian, b of a Laplace, the scale of a
    /// selection; absolute units), whatever it guarantees: for reproduction only. The
    /// accountant says what it does guarantee.
    AsPrinted(f64),
}

/// What is released, and how far a neighbour can move it. Sensitivities are absolute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedMechanism {
    /// A vector with independent Gaussian noise of one scale.
    Gaussian {
        /// Largest ℓ₂ change of the vector between neighbours.
        l2_sensitivity: f64,
        /// Length of the vector.
        coordinates: u64,
    },
    /// The same on a Poisson sample: every record is in it with probability `rate`,
    /// independently of the others and anew in every draw.
    SubsampledGaussian {
        /// Largest ℓ₂ norm of what one record of the sample contributes to the sum.
        l2_sensitivity: f64,
        coordinates: u64,
        rate: f64,
    },
    /// A vector with independent Laplace noise of one scale.
    Laplace {
        /// Largest ℓ₁ change of the vector between neighbours.
        l1_sensitivity: f64,
        coordinates: u64,
    },
    /// The exponential mechanism: one of `candidates`, the larger its score the likelier.
    Selection {
        /// How much further a neighbour can move one candidate's score than another's:
        /// max(Δᵢ) − min(Δᵢ), for a change Δ of the scores.
        range: f64,
        candidates: u64,
    },
    /// Permute-and-flip: one of `candidates`, the larger its score the likelier; at an equal
    /// guarantee never worse than the exponential mechanism.
    PermuteAndFlip {
        /// As in [`Self::Selection`].
        range: f64,
        candidates: u64,
    },
    /// One direction u of many, the larger uᵀAu of a private matrix A the likelier.
    Direction {
        /// How much further a neighbour can move the form of one unit vector than another's:
        /// max uᵀΔu − min uᵀΔu, for a change Δ of the matrix.
        range: f64,
        dimension: u64,
    },
    /// The candidate with the largest score plus Laplace noise, as some papers print it.
    NoisySelection {
        /// Largest change of any one score.
        sensitivity: f64,
        candidates: u64,
    },
}

impl PlannedMechanism {
    /// The mechanism with a noise of scale 0, for rehearsals.
    pub(crate) fn without_noise(self) -> Mechanism {
        match self {
            Self::Gaussian { l2_sensitivity: sensitivity, coordinates } => {
                Mechanism::Gaussian { sensitivity, sigma: 0.0, grid: 0.0, coordinates }
            }
            Self::SubsampledGaussian { l2_sensitivity: sensitivity, coordinates, rate } => {
                Mechanism::SubsampledGaussian {
                    sensitivity,
                    sigma: 0.0,
                    grid: 0.0,
                    coordinates,
                    rate,
                }
            }
            Self::Laplace { l1_sensitivity: sensitivity, coordinates } => {
                Mechanism::Laplace { sensitivity, scale: 0.0, grid: 0.0, coordinates }
            }
            Self::Selection { range, candidates } => {
                Mechanism::Selection { range, scale: 0.0, candidates }
            }
            Self::PermuteAndFlip { range, candidates } => {
                Mechanism::PermuteAndFlip { range, scale: 0.0, candidates }
            }
            Self::Direction { range, dimension } => {
                Mechanism::Direction { range, scale: 0.0, dimension }
            }
            Self::NoisySelection { sensitivity, candidates } => {
                Mechanism::NoisySelection { sensitivity, scale: 0.0, candidates }
            }
        }
    }
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
    /// The same, of a Poisson sample with this rate.
    SubsampledGaussian { sensitivity: f64, sigma: f64, grid: f64, coordinates: u64, rate: f64 },
    /// The discrete Laplace on a grid; `sensitivity` is of the ℓ₁ norm after rounding.
    Laplace { sensitivity: f64, scale: f64, grid: f64, coordinates: u64 },
    /// The exponential mechanism, P(i) ∝ exp(scoreᵢ/scale): ε₀ = range/scale.
    Selection { range: f64, scale: f64, candidates: u64 },
    /// Permute-and-flip with acceptance exp((scoreᵢ − largest)/scale): pure ε₀ = range/scale.
    PermuteAndFlip { range: f64, scale: f64, candidates: u64 },
    /// The exponential mechanism over the directions of a lattice, P(u) ∝ exp(uᵀAu/scale) of a
    /// matrix A: ε₀ = range/scale.
    Direction { range: f64, scale: f64, dimension: u64 },
    /// The largest score plus Laplace noise of this scale: ε₀ = 2·sensitivity/scale.
    NoisySelection { sensitivity: f64, scale: f64, candidates: u64 },
    /// Anything that is ε-differentially private; for accounts, never drawn.
    Pure { epsilon: f64 },
}

impl Mechanism {
    /// The scale of the noise: σ, b, or the scale of a selection.
    pub fn scale(&self) -> f64 {
        match *self {
            Self::Gaussian { sigma, .. } | Self::SubsampledGaussian { sigma, .. } => sigma,
            Self::Laplace { scale, .. }
            | Self::Selection { scale, .. }
            | Self::PermuteAndFlip { scale, .. }
            | Self::Direction { scale, .. }
            | Self::NoisySelection { scale, .. } => scale,
            Self::Pure { epsilon } => 1.0 / epsilon,
        }
    }

    /// Root mean square length of the noise of one draw; of a selection, its scale.
    pub fn noise_length(&self) -> f64 {
        match *self {
            Self::Gaussian { coordinates, .. } | Self::SubsampledGaussian { coordinates, .. } => {
                self.scale() * (coordinates as f64).sqrt()
            }
            Self::Laplace { coordinates, .. } => self.scale() * (2.0 * coordinates as f64).sqrt(),
            Self::Selection { .. }
            | Self::PermuteAndFlip { .. }
            | Self::Direction { .. }
            | Self::NoisySelection { .. }
            | Self::Pure { .. } => self.scale(),
        }
    }

    /// The largest change between neighbours that the event is accounted for.
    pub fn sensitivity(&self) -> f64 {
        match *self {
            Self::Gaussian { sensitivity, .. }
            | Self::SubsampledGaussian { sensitivity, .. }
            | Self::Laplace { sensitivity, .. }
            | Self::NoisySelection { sensitivity, .. } => sensitivity,
            Self::Selection { range, .. }
            | Self::PermuteAndFlip { range, .. }
            | Self::Direction { range, .. } => range,
            Self::Pure { .. } => 1.0,
        }
    }

    /// How much one draw tells, in words: `37 numbers`, `one of 1000`.
    pub fn size_words(&self) -> String {
        match *self {
            Self::Gaussian { coordinates, .. } | Self::Laplace { coordinates, .. } => {
                format!("{coordinates} numbers")
            }
            Self::SubsampledGaussian { coordinates, rate, .. } => {
                format!("{coordinates} numbers of a sample (rate {rate:.4})")
            }
            Self::Selection { candidates, .. }
            | Self::PermuteAndFlip { candidates, .. }
            | Self::NoisySelection { candidates, .. } => format!("one of {candidates}"),
            Self::Direction { dimension, .. } => format!("one direction in {dimension} dimensions"),
            Self::Pure { epsilon } => format!("an output of ε {epsilon}"),
        }
    }

    /// Whether this is `planned` with noise: the same kind and size, accounted for at
    /// least the planned sensitivity.
    pub fn carries_out(&self, planned: &PlannedMechanism) -> bool {
        use PlannedMechanism as Planned;
        let (wanted, same) = match (*planned, *self) {
            (
                Planned::Gaussian { l2_sensitivity, coordinates: planned },
                Self::Gaussian { coordinates, .. },
            ) => (l2_sensitivity, coordinates == planned),
            (
                Planned::SubsampledGaussian { l2_sensitivity, coordinates: planned, rate: wanted },
                Self::SubsampledGaussian { coordinates, rate, .. },
            ) => (l2_sensitivity, coordinates == planned && rate == wanted),
            (
                Planned::Laplace { l1_sensitivity, coordinates: planned },
                Self::Laplace { coordinates, .. },
            ) => (l1_sensitivity, coordinates == planned),
            (
                Planned::Selection { range, candidates: planned },
                Self::Selection { candidates, .. },
            )
            | (
                Planned::PermuteAndFlip { range, candidates: planned },
                Self::PermuteAndFlip { candidates, .. },
            ) => (range, candidates == planned),
            (
                Planned::Direction { range, dimension: planned },
                Self::Direction { dimension, .. },
            ) => (range, dimension == planned),
            (
                Planned::NoisySelection { sensitivity, candidates: planned },
                Self::NoisySelection { candidates, .. },
            ) => (sensitivity, candidates == planned),
            _ => return false,
        };
        same && self.sensitivity() >= wanted
    }
}
