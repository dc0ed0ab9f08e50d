//! Adaptation methods, one file each, on one contract.
//!
//! A method describes itself ([`Spec`]), announces every release it will make
//! before data are touched ([`Plan`]), and then runs as a step function
//! ([`Run`]). Files, threads and screens are none of its business.
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | hyperparameters: range, unit, default and help, described once |
//! | [`plan`] | the symbolic list of releases and their calibration |
//! | [`problem`] | what a method works on |
//! | [`moment`], [`discrepancy`] | what unlabelled private data say, and how far a neighbour moves it |
//! | `matching`, `kernel`, `joint` | the searches behind moment release |
//! | `reweighting` | what the iterative methods for unlabelled targets share |
//! | [`moment_release`], [`frank_wolfe`], [`mirror_descent`] | methods for targets without labels |
//! | [`minimum_discrepancy`] | the weights of least discrepancy, without noise |
//! | [`labelled_discrepancy`], `penalty` | how far the losses of two datasets can be apart |
//! | [`public_shape`] | predictors taught by public records, corrected by labelled private ones |
//! | [`profiled`], [`weighted`] | what the methods for labelled targets share |
//! | [`profiled_cnvx_adap`], [`profiled_logistic`], [`cnvx_adap`], [`ncnvx_adap`], [`target_only`] | those methods |
//! | [`sampled`] | what the methods on Poisson samples share |
//! | [`dp_sgd`], [`pillar`], [`gep`], [`pretraining`] | those methods, for any number of classes |
//! | [`baseline`], [`kernel_mean_matching`] | what is not private, to compare with |

pub mod baseline;
pub mod cnvx_adap;
pub mod discrepancy;
pub mod dp_sgd;
#[cfg(test)]
mod example;
pub mod frank_wolfe;
pub mod gep;
mod joint;
mod kernel;
pub mod kernel_mean_matching;
pub mod labelled_discrepancy;
mod matching;
pub mod minimum_discrepancy;
pub mod mirror_descent;
pub mod moment;
pub mod moment_release;
pub mod ncnvx_adap;
#[cfg(test)]
mod papers_setup;
mod penalty;
pub mod pillar;
pub mod plan;
pub mod pretraining;
pub mod problem;
pub mod profiled;
pub mod profiled_cnvx_adap;
pub mod profiled_logistic;
pub mod public_shape;
mod reweighting;
pub mod sampled;
pub mod spec;
pub mod target_only;
pub mod weighted;

pub use plan::{Explained, Plan};
pub use problem::{Problem, ProblemShape, Start};
pub use spec::{Field, FieldKind, Settings, Spec, Value};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::privacy::{Calibrated, CuratorOnly, Released, Spender, Target, Watch};

/// Raised whenever a method takes other steps than before from the same released values: a
/// run that was started before cannot be resumed then.
pub const STEPS_VERSION: u32 = 7;

/// An adaptation method: data plus a step function.
pub trait Method: Sync {
    fn spec(&self) -> &'static Spec;

    /// What must be true of the public data for the guarantee to hold, beyond what holds for
    /// every method; for the certificate. `started`: training begins with an earlier model.
    fn assumption(&self, _started: bool) -> Option<&'static str> {
        None
    }

    /// It bounds what it makes of a record itself, and so wants features that are hardly
    /// clipped.
    fn takes_wide_features(&self) -> bool {
        false
    }

    /// Whether a plan may name a model to start from.
    fn starts_from_a_model(&self) -> bool {
        false
    }

    /// Every release it will make, before private data are touched. `settings` were
    /// checked against the spec; `public` is the prepared dataset that the run will get.
    /// `target` may decide how often to look at the data, or which noise a paper prints.
    fn plan(
        &self,
        shape: &ProblemShape,
        public: &Dataset,
        target: Target,
        settings: &Settings,
    ) -> Result<Plan>;

    /// A run whose noise scales are `noise`. Looks at public data and at the shape of
    /// the private data only.
    fn start(
        &self,
        problem: Problem,
        settings: &Settings,
        noise: &Calibrated,
    ) -> Result<Box<dyn Run>>;
}

/// A started method.
pub trait Run: Send {
    /// One step; draws what it needs from `spender`. Must not be called again after a
    /// step with `done`.
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step>;

    /// The current model: the last step's, which is what a stopped run delivers.
    /// `None` before there is one.
    fn model(&self) -> Option<Released<Model>>;

    /// The weights of the public records under the current model, where the method
    /// weights them: not negative, in the order of the public records.
    fn weights(&self) -> Option<Released<Vec<f64>>> {
        None
    }

    /// The final model.
    fn finish(self: Box<Self>) -> Result<Released<Model>>;
}

/// What one step tells.
#[derive(Debug, Clone)]
pub struct Step {
    /// Counts from 1.
    pub index: u64,
    pub total: u64,
    /// What the method was doing, such as `release` or `descend`.
    pub phase: &'static str,
    pub measures: Vec<Measure>,
    pub done: bool,
}

/// A number of a step, with its standing.
#[derive(Debug, Clone)]
pub struct Measure {
    pub series: Series,
    pub value: Standing,
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
    pub fn released(series: Series, value: Released<f64>) -> Self {
        Self { series, value: Standing::Released(value) }
    }

    /// A number that public data alone have made.
    pub(crate) fn public(series: Series, value: f64) -> Self {
        Self { series, value: Standing::Public(value) }
    }

    pub fn curator(series: Series, value: CuratorOnly<f64>) -> Self {
        Self { series, value: Standing::Curator(value) }
    }
}

/// (Σq)²/Σq²: as many equally weighted records would say as much.
fn effective_sample(weights: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), q| (sum + q, squares + q * q));
    effective_sample_of(sum, squares)
}

/// The same of the sum of the weights and that of their squares.
fn effective_sample_of(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Public, released or for the curator alone.
/// Only this crate says that a number is public; nobody can say that one was released.
#[derive(Debug, Clone)]
pub enum Standing {
    #[non_exhaustive]
    Public(f64),
    Released(Released<f64>),
    Curator(CuratorOnly<f64>),
}

impl Standing {
    /// The number, unless it is for the curator.
    pub fn open(&self) -> Option<f64> {
        match self {
            Self::Public(value) => Some(*value),
            Self::Released(value) => Some(*value.get()),
            Self::Curator(_) => None,
        }
    }
}

/// All methods, in the order of the Plan screen.
pub fn methods() -> &'static [&'static dyn Method] {
    &[
        public_shape::NUMBERS,
        public_shape::CLASSES,
        &profiled_cnvx_adap::ProfiledCnvxAdap,
        &moment_release::MomentRelease,
        &frank_wolfe::FrankWolfe,
        &frank_wolfe::TwoStageFrankWolfe,
        &mirror_descent::MirrorDescent,
        &profiled_logistic::ProfiledLogistic,
        &cnvx_adap::CnvxAdap,
        &ncnvx_adap::NcnvxAdap,
        &target_only::TargetOnly,
        &target_only::TargetOnlyLogistic,
        &dp_sgd::DpSgd,
        &pillar::Pillar,
        &gep::Gep,
        &pretraining::Pretraining,
    ]
}

/// The method called `id`.
pub fn method(id: &str) -> Result<&'static dyn Method> {
    methods().iter().copied().find(|method| method.spec().id == id).ok_or_else(|| {
        let known: Vec<_> = methods().iter().map(|method| method.spec().id).collect();
        Error::usage(format!("there is no method '{id}'"))
            .cure(format!("choose one of: {}", known.join(", ")))
    })
}
