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
mod contract;
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
mod measure;
pub mod minimum_discrepancy;
pub mod mirror_descent;
mod mode;
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
mod registry;
mod reweighting;
pub mod sampled;
pub mod spec;
pub mod target_only;
pub mod weighted;

pub use contract::{Method, Prepared, Run, STEPS_VERSION, Start, Step};
pub use measure::{Measure, Series, Standing};
use measure::{effective_sample, effective_sample_of};
pub use mode::Mode;
pub use plan::{Explained, Plan};
pub use problem::{Problem, ProblemShape, StartingModel};
pub use registry::{method, methods};
pub use spec::{Field, FieldKind, Settings, Spec, Value};
