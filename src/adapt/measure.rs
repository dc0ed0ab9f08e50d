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
    /// The objective that the method minimises, as far as it can see it: what noise and
    /// public data leave of it.
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
    /// Distance from a stationary point, as the method sees it.
    StationarityGap,
    /// The same gap computed without noise.
    ExactStationarityGap,
    /// Distance of the model alone from a stationary point, at the weights that it has.
    ModelGap,
    /// What the best choice of a round would gain, over what the noise is expected to cost it.
    SelectionSignal,
    /// Spectral norm of the weighted moment difference M(q), against the released moment.
    MomentDiscrepancy,
    /// The same norm against the exact moment.
    ExactMomentDiscrepancy,
    /// Effective number of public records: (Σq)²/Σq².
    EffectiveSample,
    /// Share of the total weight that lies on public records.
    PublicWeight,
    /// Right answers on public records held out of training, in %.
    PublicAccuracy,
    /// Right answers on private records held out of training, in %.
    PrivateAccuracy,
    /// Mean absolute error on public records held out of training, in label units.
    PublicAbsoluteError,
    /// The same on private records.
    PrivateAbsoluteError,
    /// Mean over the classes of the right answers on public records held out of training, in %.
    PublicBalancedAccuracy,
    /// The same on private records.
    PrivateBalancedAccuracy,
    /// How well scores order public records of two classes held out of training, from 0 to 1.
    PublicAuc,
    /// The same of private records.
    PrivateAuc,
    /// Mean loss on public records held out of training.
    HoldoutLoss,
    /// Share of the private records whose gradient is longer than the clip norm.
    ClipFraction,
    /// Median norm of the private records' gradients.
    GradientMedian,
    /// Nine of ten of the private records' gradients are no longer.
    GradientTail,
    /// Share of the public gradients' energy inside the anchor subspace.
    SubspaceEnergy,
    /// The same share of the private gradients' energy.
    ExactSubspaceEnergy,
    /// How far a correction of the level moves the answer for a usual record.
    LevelCorrection,
    /// The same of the base's scale.
    ScaleCorrection,
    /// The same of a turn towards another public predictor.
    OtherCorrection,
    /// The same of what single columns do in the public trees.
    EffectsCorrection,
    /// The same of a linear function of the columns.
    ColumnsCorrection,
    /// The same of the cells of a public tree.
    CellsCorrection,
}

impl Series {
    /// Whether it is an error on held-out records: in label units, or a share of wrong answers.
    pub fn is_error(self) -> bool {
        matches!(self, Self::PublicError | Self::PrivateError)
    }

    /// What stands beside the public error: mean absolute error, balanced accuracy, AUC.
    pub const BESIDE_PUBLIC: [Self; 3] =
        [Self::PublicAbsoluteError, Self::PublicBalancedAccuracy, Self::PublicAuc];
    /// The same beside the private error: exact.
    pub const BESIDE_PRIVATE: [Self; 3] =
        [Self::PrivateAbsoluteError, Self::PrivateBalancedAccuracy, Self::PrivateAuc];

    /// Its name in plain words.
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
    /// A number that may be told.
    pub fn released(series: Series, value: Released<f64>) -> Self {
        Self { series, value: MeasureStanding::Released(value) }
    }

    /// A number that public data alone have made.
    pub(crate) fn public(series: Series, value: f64) -> Self {
        Self { series, value: MeasureStanding::Public(value) }
    }

    /// An exact number about private records.
    pub fn curator(series: Series, value: CuratorOnly<f64>) -> Self {
        Self { series, value: MeasureStanding::Curator(value) }
    }
}

/// (Σq)²/Σq²: as many equally weighted records would say as much.
pub(super) fn effective_sample(weights: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), q| (sum + q, squares + q * q));
    effective_sample_of(sum, squares)
}

/// The same of the sum of the weights and that of their squares.
pub(super) fn effective_sample_of(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Public, released or for the curator alone.
/// Only this crate says that a number is public; nobody can say that one was released.
#[derive(Debug, Clone)]
pub enum MeasureStanding {
    /// Computed from public records.
    #[non_exhaustive]
    Public(f64),
    /// Computed from what was released about private records.
    Released(Released<f64>),
    /// Computed from private records without noise.
    Curator(CuratorOnly<f64>),
}

impl MeasureStanding {
    /// The number, unless it is for the curator.
    pub fn open(&self) -> Option<f64> {
        match self {
            Self::Public(value) => Some(*value),
            Self::Released(value) => Some(*value.get()),
            Self::Curator(_) => None,
        }
    }
}
