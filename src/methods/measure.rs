//! The measures of a step: numbers with their standing.

use crate::privacy::{CuratorOnly, Released};

/// A number of a step, with its standing.
#[derive(Debug, Clone)]
pub struct Measure {
    /// What was measured.
    pub series: Series,
    /// The number, and who may see it.
    pub value: MeasureStanding,
}

/// The series that screens and files know.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Series {
    /// The objective that the method minimises, as far as the method knows it from noisy values and
    /// public data.
    Objective,
    /// The whole objective computed without noise.
    ExactObjective,
    /// Mean loss of the public training records.
    PublicLoss,
    /// Mean loss of the private training records.
    PrivateLoss,
    /// Root mean squared error on public records held out of training, in label units.
    PublicError,
    /// Root mean squared error on private records held out of training, in label units.
    PrivateError,
    /// Distance from a stationary point, as the method estimates it.
    StationarityGap,
    /// Distance from a stationary point, computed without noise.
    ExactStationarityGap,
    /// Distance of the model alone from a stationary point, at the current weights.
    ModelGap,
    /// The gain of the best choice of a round, relative to its expected loss from noise.
    SelectionSignal,
    /// Spectral norm of the weighted moment difference M(q), against the released moment.
    MomentDiscrepancy,
    /// Spectral norm of the weighted moment difference M(q), against the exact moment.
    ExactMomentDiscrepancy,
    /// Effective number of public records: (Σq)²/Σq².
    EffectiveSample,
    /// Share of the total weight on public records.
    PublicWeight,
    /// Right answers on public records held out of training, in %.
    PublicAccuracy,
    /// Right answers on private records held out of training, in %.
    PrivateAccuracy,
    /// Mean absolute error on public records held out of training, in label units.
    PublicAbsoluteError,
    /// Mean absolute error on private records held out of training, in label units.
    PrivateAbsoluteError,
    /// Mean over the classes of the right answers on public records held out of training, in %.
    PublicBalancedAccuracy,
    /// Mean over the classes of the right answers on private records held out of training, in %.
    PrivateBalancedAccuracy,
    /// How well scores order public records of two classes held out of training, from 0 to 1.
    PublicAuc,
    /// How well scores order private records of two classes held out of training, from 0 to 1.
    PrivateAuc,
    /// Mean loss on public records held out of training.
    HoldoutLoss,
    /// Share of the private records whose gradient is longer than the clip norm.
    ClipFraction,
    /// Median norm of the private records' gradients.
    GradientMedian,
    /// The length that nine of ten gradients of private records do not exceed.
    GradientTail,
    /// Share of the public gradients' energy inside the anchor subspace.
    SubspaceEnergy,
    /// Share of the private gradients' energy inside the anchor subspace.
    ExactSubspaceEnergy,
    /// How far a correction of the level moves the answer for a typical record.
    LevelCorrection,
    /// How far a correction of the base's scale moves the answer for a typical record.
    ScaleCorrection,
    /// How far a turn towards another public predictor moves the answer for a typical record.
    OtherCorrection,
    /// How far corrected effects of single columns in the public trees move a typical answer.
    EffectsCorrection,
    /// How far a linear function of the columns moves the answer for a typical record.
    ColumnsCorrection,
    /// How far a correction of a public tree's cells moves the answer for a typical record.
    CellsCorrection,
}

impl Series {
    /// Whether this is an error on held-out records: in label units, or a share of wrong answers.
    pub fn is_error(self) -> bool {
        matches!(self, Self::PublicError | Self::PrivateError)
    }

    /// Further scores beside the public error: mean absolute error, balanced accuracy, AUC.
    pub const BESIDE_PUBLIC: [Self; 3] =
        [Self::PublicAbsoluteError, Self::PublicBalancedAccuracy, Self::PublicAuc];
    /// Further exact scores next to the private error: mean absolute error, balanced accuracy, AUC.
    pub const BESIDE_PRIVATE: [Self; 3] =
        [Self::PrivateAbsoluteError, Self::PrivateBalancedAccuracy, Self::PrivateAuc];

    /// Name of the series in plain words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Objective => "objective",
            Self::ExactObjective => "exact objective",
            Self::PublicLoss => "public loss",
            Self::PrivateLoss => "private loss",
            Self::PublicError => "public error",
            Self::PrivateError => "private error",
            Self::StationarityGap => "stationarity gap",
            Self::ExactStationarityGap => "exact stationarity gap",
            Self::ModelGap => "stationarity gap of the model",
            Self::SelectionSignal => "signal to noise of the choice",
            Self::MomentDiscrepancy => "moment discrepancy",
            Self::ExactMomentDiscrepancy => "exact moment discrepancy",
            Self::EffectiveSample => "effective sample",
            Self::PublicWeight => "public weight",
            Self::PublicAccuracy => "public accuracy in %",
            Self::PrivateAccuracy => "private accuracy in %",
            Self::PublicAbsoluteError => "public mean absolute error",
            Self::PrivateAbsoluteError => "private mean absolute error",
            Self::PublicBalancedAccuracy => "public balanced accuracy in %",
            Self::PrivateBalancedAccuracy => "private balanced accuracy in %",
            Self::PublicAuc => "public AUC",
            Self::PrivateAuc => "private AUC",
            Self::HoldoutLoss => "public hold-out loss",
            Self::ClipFraction => "share of clipped gradients",
            Self::GradientMedian => "median gradient norm",
            Self::GradientTail => "90 % quantile of gradient norms",
            Self::SubspaceEnergy => "public energy in the subspace",
            Self::ExactSubspaceEnergy => "exact energy in the subspace",
            Self::LevelCorrection => "correction of the level",
            Self::ScaleCorrection => "correction of the scale",
            Self::OtherCorrection => "turn to another predictor",
            Self::EffectsCorrection => "correction of effects",
            Self::ColumnsCorrection => "correction by columns",
            Self::CellsCorrection => "correction by cells",
        }
    }
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
