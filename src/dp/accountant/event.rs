//! The symbolic description of noise that is planned, calibrated or drawn.
//!
//! A method *plans* releases ([`PlannedRelease`]: kind, sensitivity, count);
//! calibration turns them into [`Event`]s with a noise scale; the ledger stores
//! events; the accountant composes events. All four read the same numbers.

use serde::{Deserialize, Serialize};

use super::repeats::Repeats;
use super::written::Written;

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
    /// Name of the kind of neighbours in texts.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReplaceOne => "replace-one",
            Self::ZeroOut => "zero-out",
        }
    }
}

/// A release that a method will make, before its noise is known.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRelease {
    /// Short identifier, unique within the plan, such as `gradient`.
    pub label: &'static str,
    /// The release in words, for the certificate and the ledger screen.
    pub what: String,
    /// The query.
    pub query: Query,
    /// How many times it is drawn.
    pub count: u64,
    /// How much noise it gets.
    pub noise: Allotment,
    /// Which neighbours its sensitivity is for.
    pub adjacency: Adjacency,
    /// Whether no other release of its run sees the same records: see [`super::held_out`].
    pub held_out: bool,
}

impl PlannedRelease {
    /// The event of this release with its noise.
    pub(super) fn drawn_by(&self, mechanism: Mechanism) -> Event {
        Event {
            label: self.label.to_owned(),
            what: self.what.clone(),
            mechanism,
            count: self.count,
            adjacency: self.adjacency,
            held_out: self.held_out,
        }
    }
}

/// How much noise a planned release gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Allotment {
    /// A part of the plan's budget, relative to the other releases (of μ², or of what
    /// comes closest to it: see [`super::calibration`]).
    Share(f64),
    /// The scale that a paper prints (σ of a Gaussian, b of a Laplace, the scale of a selection;
    /// absolute units), whatever its guarantee: for reproduction only. The accountant computes the
    /// actual guarantee.
    AsPrinted(f64),
    /// For a release of held-out records: enough noise to make it free beside the Gaussian noise of
    /// all other releases.
    Covered,
}

/// The query of one draw on the data, and how far a neighbour can move the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query {
    /// The kind of query, and of the noise that hides the answer.
    pub kind: QueryKind,
    /// The farthest that neighbours can move the answer, in absolute units; [`QueryKind`] defines
    /// the distance. In an event, this is the sensitivity *after* rounding to the grid of the
    /// noise.
    pub sensitivity: f64,
    /// Numbers of a vector, candidates of a selection, or dimensions of a direction.
    pub size: u64,
}

/// The kinds of queries, each with the noise that hides its answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueryKind {
    /// A vector with independent Gaussian noise of one scale. The sensitivity is the largest
    /// ℓ₂ change.
    Gaussian,
    /// A sum over a Poisson sample with Gaussian noise: every record is in the sample with
    /// probability `rate`, independently of the others and again in every draw. The sensitivity is
    /// the largest ℓ₂ norm of one record's contribution.
    SampledSum {
        /// The probability of each record.
        rate: f64,
    },
    /// A vector with independent Laplace noise of one scale. The sensitivity is the largest ℓ₁
    /// change.
    Laplace,
    /// One of several candidates; a larger score makes it likelier. [`Rule`] defines the
    /// sensitivity.
    Selection(Rule),
    /// One direction u of many; a larger uᵀAu of a private matrix A makes it likelier: P(u) ∝
    /// exp(uᵀAu/scale). The sensitivity is how much further a neighbour can move the form of one
    /// unit vector than another's, max uᵀΔu − min uᵀΔu for a change Δ of the matrix; ε₀ =
    /// sensitivity/scale.
    Direction,
    /// The best of a random number of repeats of a Gaussian mechanism: sensitivity and scale are
    /// those of one repeat. This is for the account of a choice; the draws of a repeat are recorded
    /// elsewhere.
    Repeated(Repeats),
    /// Anything that is ε-differentially private with ε = sensitivity/scale. Only for accounts,
    /// never drawn.
    Pure,
}

/// How a candidate is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// P(i) ∝ exp(scoreᵢ/scale). The sensitivity is the range of a change Δ of the scores,
    /// max(Δᵢ) − min(Δᵢ): how much further a neighbour can move one score than another.
    /// ε₀ = sensitivity/scale.
    Exponential,
    /// Candidates in random order, accepted with probability exp((scoreᵢ − largest)/scale). At an
    /// equal guarantee it is never worse than the exponential mechanism. Sensitivity and ε₀ are the
    /// same.
    PermuteAndFlip,
    /// The largest score plus Laplace noise, in the form that some papers print. The sensitivity is
    /// the largest change of any one score; ε₀ = 2·sensitivity/scale.
    NoisyMaximum,
}

/// How much noise hides one number or one choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// σ of a Gaussian, b of a Laplace, or the scale of a selection, in absolute units. For drawn
    /// Gaussian noise it is an integer number of grid steps.
    pub scale: f64,
    /// Grid step, a power of two; 0 for ideal continuous noise and for selections.
    pub grid: f64,
}

impl Noise {
    /// No noise at all, for rehearsals.
    pub(crate) const NONE: Self = Self::ideal(0.0);

    /// Noise without a grid.
    pub const fn ideal(scale: f64) -> Self {
        Self { scale, grid: 0.0 }
    }
}

impl QueryKind {
    /// One of each kind, for tests of code that handles all kinds. Each arm names the next kind, so
    /// the compiler asks for a new one here.
    pub fn one_of_each() -> Vec<Self> {
        let next = |kind: &Self| match kind {
            Self::Gaussian => Some(Self::SampledSum { rate: 0.1 }),
            Self::SampledSum { .. } => Some(Self::Laplace),
            Self::Laplace => Some(Self::Selection(Rule::Exponential)),
            Self::Selection(Rule::Exponential) => Some(Self::Selection(Rule::PermuteAndFlip)),
            Self::Selection(Rule::PermuteAndFlip) => Some(Self::Selection(Rule::NoisyMaximum)),
            Self::Selection(Rule::NoisyMaximum) => Some(Self::Direction),
            Self::Direction => Some(Self::Repeated(Repeats { shape: 2, stop: 0.125 })),
            Self::Repeated(_) => Some(Self::Pure),
            Self::Pure => None,
        };
        std::iter::successors(Some(Self::Gaussian), next).collect()
    }

    /// A query of this kind.
    pub const fn query(self, sensitivity: f64, size: u64) -> Query {
        Query { kind: self, sensitivity, size }
    }
}

impl Query {
    /// The query with its noise.
    pub const fn with(self, noise: Noise) -> Mechanism {
        Mechanism { query: self, noise }
    }

    /// The size of one draw, in words: `37 numbers`, `one of 1000`.
    pub fn size_words(&self) -> String {
        let size = self.size;
        match self.kind {
            QueryKind::Gaussian | QueryKind::Laplace => format!("{size} numbers"),
            QueryKind::SampledSum { rate } => {
                format!("{size} numbers of a sample (rate {rate:.4})")
            }
            QueryKind::Selection(_) => format!("one of {size}"),
            QueryKind::Direction => format!("one direction in {size} dimensions"),
            QueryKind::Repeated(repeats) => {
                format!("the best of about {:.0} repeats", repeats.mean())
            }
            QueryKind::Pure => "an output".to_owned(),
        }
    }
}

/// A release with the scale of its noise: the unit that is drawn, written to the ledger and
/// accounted for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The label of the planned release.
    pub label: String,
    /// The release in words.
    pub what: String,
    /// The query and its noise.
    pub mechanism: Mechanism,
    /// How many times it is drawn.
    pub count: u64,
    /// Which neighbours its sensitivity is for.
    pub adjacency: Adjacency,
    /// Whether no other event of its run sees the same records: see [`super::held_out`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held_out: bool,
}

/// A query and the noise that hides its answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Mechanism {
    /// The query.
    pub query: Query,
    /// Noise added to the answer.
    pub noise: Noise,
}

impl Mechanism {
    /// Root mean square length of the noise of one draw; for a selection, its scale.
    pub fn noise_length(&self) -> f64 {
        let numbers = self.query.size as f64;
        let square = match self.query.kind {
            QueryKind::Gaussian | QueryKind::SampledSum { .. } | QueryKind::Repeated(_) => numbers,
            QueryKind::Laplace => 2.0 * numbers,
            QueryKind::Selection(_) | QueryKind::Direction | QueryKind::Pure => 1.0,
        };
        self.noise.scale * square.sqrt()
    }

    /// Whether this is `planned` with noise: the same kind and size, accounted for at
    /// least the planned sensitivity.
    pub fn carries_out(&self, planned: &Query) -> bool {
        let Query { kind, sensitivity, size } = self.query;
        kind == planned.kind && size == planned.size && sensitivity >= planned.sensitivity
    }
}
