//! The measures of a step: numbers with their standing.

use serde::{Deserialize, Serialize};

use crate::privacy::{CuratorOnly, Released};

/// A number of a step, with its standing.
#[derive(Debug, Clone)]
pub struct Measure {
    /// What was measured.
    pub series: Series,
    /// The number, and who may see it.
    pub value: MeasureStanding,
}

/// Makes the enum and the name in plain words of each series.
macro_rules! series {
    ($($(#[$doc:meta])* $series:ident = $words:literal,)+) => {
        /// The series that screens and files know.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Series { $($(#[$doc])* $series),+ }

        impl Series {
            /// Name of the series in plain words.
            pub fn words(self) -> &'static str {
                match self { $(Self::$series => $words),+ }
            }
        }
    };
}

series! {
    /// The objective that the method minimises, as far as the method knows it from noisy values and
    /// public data.
    Objective = "objective",
    /// The whole objective computed without noise.
    ExactObjective = "exact objective",
    /// Mean loss of the public training records.
    PublicLoss = "loss on public training records",
    /// The part of the objective that comes from public records and settings.
    PublicObjective = "public part of the objective",
    /// Mean loss of the private training records.
    PrivateLoss = "loss on private training records",
    /// Root mean squared error on public records held out of training, in label units.
    PublicError = "error on public records",
    /// Root mean squared error on private records held out of training, in label units.
    PrivateError = "error on private records",
    /// Distance from a stationary point, as the method estimates it.
    StationarityGap = "stationarity gap",
    /// The length that noise alone would give the estimate of a gap.
    NoiseGap = "stationarity gap of noise alone",
    /// Distance from a stationary point, computed without noise.
    ExactStationarityGap = "exact stationarity gap",
    /// Distance of the model alone from a stationary point, at the current weights.
    ModelGap = "stationarity gap of the model",
    /// The gain of the best choice of a round, relative to its expected loss from noise.
    SelectionSignal = "signal to noise of the choice",
    /// Spectral norm of the weighted moment difference M(q), against the released moment.
    MomentDiscrepancy = "moment discrepancy",
    /// Spectral norm of the weighted moment difference M(q), against the exact moment.
    ExactMomentDiscrepancy = "exact moment discrepancy",
    /// Effective number of public records: (Σq)²/Σq².
    EffectiveSample = "effective sample",
    /// Share of the total weight on public records.
    PublicWeight = "weight on public records",
    /// Right answers on public records held out of training, in %.
    PublicAccuracy = "accuracy on public records in %",
    /// Right answers on private records held out of training, in %.
    PrivateAccuracy = "accuracy on private records in %",
    /// Mean absolute error on public records held out of training, in label units.
    PublicAbsoluteError = "mean absolute error on public records",
    /// Mean absolute error on private records held out of training, in label units.
    PrivateAbsoluteError = "mean absolute error on private records",
    /// Mean over the classes of the right answers on public records held out of training, in %.
    PublicBalancedAccuracy = "balanced accuracy on public records in %",
    /// Mean over the classes of the right answers on private records held out of training, in %.
    PrivateBalancedAccuracy = "balanced accuracy on private records in %",
    /// How well scores order public records of two classes held out of training, from 0 to 1.
    PublicAuc = "AUC on public records",
    /// How well scores order private records of two classes held out of training, from 0 to 1.
    PrivateAuc = "AUC on private records",
    /// Mean loss on public records held out of training.
    HoldoutLoss = "loss on held-out public records",
    /// Share of the private records whose gradient is longer than the clip norm.
    ClipFraction = "share of clipped gradients",
    /// Median norm of the private records' gradients.
    GradientMedian = "median gradient norm",
    /// The length that nine of ten gradients of private records do not exceed.
    GradientTail = "90 % quantile of gradient norms",
    /// Share of the public gradients' energy inside the anchor subspace.
    SubspaceEnergy = "energy of public gradients in the subspace",
    /// Share of the private gradients' energy inside the anchor subspace.
    ExactSubspaceEnergy = "exact energy in the subspace",
    /// How far a correction of the level moves the answer for a typical record.
    LevelCorrection = "correction of the level",
    /// How far a correction of the base's scale moves the answer for a typical record.
    ScaleCorrection = "correction of the scale",
    /// How far a turn towards another public predictor moves the answer for a typical record.
    OtherCorrection = "turn to another predictor",
    /// How far corrected effects of single columns in the public trees move a typical answer.
    EffectsCorrection = "correction of effects",
    /// How far a linear function of the columns moves the answer for a typical record.
    ColumnsCorrection = "correction by columns",
    /// How far a correction of a public tree's cells moves the answer for a typical record.
    CellsCorrection = "correction by cells",
}

impl Series {
    /// Whether this is an error on held-out records: in label units, or a share of wrong answers.
    pub fn is_error(self) -> bool {
        matches!(self, Self::PublicError | Self::PrivateError)
    }

    /// Further scores beside the error on public records: mean absolute error, balanced accuracy, AUC.
    pub const BESIDE_PUBLIC: [Self; 3] =
        [Self::PublicAbsoluteError, Self::PublicBalancedAccuracy, Self::PublicAuc];
    /// Further exact scores next to the error on private records: mean absolute error, balanced accuracy, AUC.
    pub const BESIDE_PRIVATE: [Self; 3] =
        [Self::PrivateAbsoluteError, Self::PrivateBalancedAccuracy, Self::PrivateAuc];
}

impl Measure {
    /// A released number.
    pub fn released(series: Series, value: Released<f64>) -> Self {
        Self { series, value: MeasureStanding::Released(value) }
    }

    /// A number computed from public data alone.
    pub(crate) fn public(series: Series, value: f64) -> Self {
        Self { series, value: MeasureStanding::Public(value) }
    }

    /// An exact number about private records.
    pub fn curator(series: Series, value: CuratorOnly<f64>) -> Self {
        Self { series, value: MeasureStanding::Curator(value) }
    }
}

/// (Σq)²/Σq²: this many equally weighted records carry as much information.
pub(super) fn effective_sample(weights: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), q| (sum + q, squares + q * q));
    effective_sample_of(sum, squares)
}

/// (Σq)²/Σq² from the sum of the weights and the sum of their squares.
pub(super) fn effective_sample_of(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Public, released, or only for the curator. Only this crate can declare a number public; nobody
/// can declare one released.
#[derive(Debug, Clone)]
pub enum MeasureStanding {
    /// Computed from public records.
    #[non_exhaustive]
    Public(f64),
    /// Computed from released values about private records.
    Released(Released<f64>),
    /// Computed from private records without noise.
    Curator(CuratorOnly<f64>),
}

impl MeasureStanding {
    /// The number, unless it is only for the curator.
    pub fn open(&self) -> Option<f64> {
        match self {
            Self::Public(value) => Some(*value),
            Self::Released(value) => Some(*value.get()),
            Self::Curator(_) => None,
        }
    }
}
