//! Adaptation methods, one file each, on one contract.
//!
//! A method describes itself ([`Spec`]), announces every release it will make before data are
//! touched ([`Plan`]), and then runs as a step function ([`Run`]). It knows nothing about files,
//! threads and screens.
//!
//! | module | holds |
//! |---|---|
//! | `contract` | [`Method`], [`Prepared`], [`Run`] |
//! | `registry` | the list of methods |
//! | [`spec`] | settings: a struct and its form in forms and files, in one declaration |
//! | [`plan`] | the symbolic list of releases and their calibration |
//! | [`problem`] | the input of a method |
//! | `prelude` | what the file of a method needs |
//! | `measure`, `gap` | the measures of a step, and who may see them; the stationarity gap of each family |
//! | [`sources`] | one weight for all records of a public dataset |
//! | `mode` | noise from the accountant, or from a paper |
//! | [`theory`] | what the theorems of the papers ask of a plan and promise for it |
//! | [`unlabelled`] | methods for private records without labels |
//! | [`labelled`] | methods for private records with labels |
//! | [`classes`] | methods for any number of classes |
//! | [`trial`] | one method on public data, with seeded noise or without noise |
//! | [`baselines`] | methods that are not private, for comparison |
//!
//! # A method in one file
//!
//! A new method needs a [`Spec`] with its settings and what differs from [`Spec::DEFAULT`], a function
//! that plans, a [`Run`] with `step` and `model`, and one line in `registry`.
//!
//! * Settings are read from the struct that the declaration generates.
//! * Each planned release is a [`Release`](crate::privacy::Release). It states how far one record
//!   can move the released value. The proof of this is in the method's module text.
//! * A person counts as the mean of their records: each record has its share
//!   ([`Dataset::shares`](crate::data::Dataset::shares)), and the number of persons
//!   ([`Dataset::protected`](crate::data::Dataset::protected)) divides their sum.
//! * `plan` sees only public values. Private records and noise come at the start, after these
//!   checks: the problem against the spec, the records against the problem, the noise against the
//!   plan.
//! * `step` draws with the handles. Each query is clipped to its [`Reach`](crate::privacy::Reach),
//!   and its draw is in the ledger before anybody sees it.
//!
//! The tests compile and run the following one. A crate that does not name
//! `halflight-privacy-inside` cannot have it, because its query looks at private records.
//!
#![doc = concat!("```ignore\n", include_str!("smallest.rs"), "```")]

use halflight_base::{error, faults, memory};
use halflight_data as data;
use halflight_evaluation as evaluation;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy_inside as privacy;

pub mod baselines;
pub mod classes;
mod contract;
#[cfg(any(test, feature = "testing"))]
pub mod example;
mod gap;
pub mod labelled;
mod measure;
mod mode;
pub mod plan;
mod prelude;
pub mod problem;
pub mod public_predictor;
mod registry;
#[cfg(test)]
mod smallest;
pub mod sources;
pub mod spec;
pub mod theory;
pub mod trial;
pub mod unlabelled;

pub use classes::separation::Separation;
pub use contract::{
    ColumnCorrection, Companion, MOST_FEATURES, Method, Prepared, Run, STEPS_VERSION, Start, Step,
};
pub use gap::Gap;
pub use measure::{Measure, MeasureStanding, Series};
use measure::{effective_sample, effective_sample_of};
pub use mode::Mode;
pub use plan::{ExplainedEnergy, Plan};
pub use problem::{JointShape, Problem, ProblemShape, StartingModel};
pub use public_predictor::PublicPredictor;
pub use registry::{method, methods, name_in, name_of, named, task_of};
pub use sources::{SourceWeight, source_weights, source_words};
pub use spec::{Field, FieldKind, Settings, Spec, Value};
pub use theory::{Says, TheoryLine};
