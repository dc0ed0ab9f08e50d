//! Adaptation methods, one file each, on one contract.
//!
//! A method describes itself ([`Spec`]), announces every release it will make
//! before data are touched ([`Plan`]), and then runs as a step function
//! ([`Run`]). Files, threads and screens are none of its business.
//!
//! | module | holds |
//! |---|---|
//! | `contract` | [`Method`], [`Prepared`], [`Run`] |
//! | `registry` | which methods there are |
//! | [`spec`] | settings: a struct, and how forms and files show it, in one declaration |
//! | [`plan`] | the symbolic list of releases and their calibration |
//! | [`problem`] | what a method works on |
//! | `measure` | what a step tells, and who may know it |
//! | `mode` | noise of the accountant, or of a paper |
//! | [`unlabelled`] | methods for private records without labels |
//! | [`labelled`] | methods for private records with labels |
//! | [`classes`] | methods for any number of classes |
//! | [`baselines`] | what is not private, to compare with |
//!
//! # A method in one file
//!
//! What must be written: a [`Spec`] with its settings, [`Method::spec`], [`Method::plan`], and a
//! [`Run`] with `step`, `model` and `finish`. The other functions of [`Method`] and
//! `Run::weights` have defaults. Then one line in `registry`.
//!
//! * Settings are read from the struct that the declaration makes.
//! * Each planned release is a [`Release`](crate::privacy::Release). It says how far one record
//!   can move what is released; that is the method's proof, and it stands in its module text.
//! * `plan` sees what is public and nothing else. Private records and noise come with the
//!   start, once all of this has been checked: the problem against the spec, the records
//!   against the problem, the noise against the plan.
//! * `step` draws with the handles. What it draws is clipped to its
//!   [`Reach`](crate::privacy::Reach), and in the ledger before anybody sees it.
//!
//! This one is compiled and run by the tests. Outside of this crate it cannot be: only here
//! may a query look at private records.
//!
#![doc = concat!("```ignore\n", include_str!("smallest.rs"), "```")]

pub mod baselines;
pub mod classes;
mod contract;
#[cfg(test)]
pub(crate) mod example;
pub mod labelled;
mod measure;
mod mode;
pub mod plan;
pub mod problem;
mod registry;
#[cfg(test)]
mod smallest;
pub mod spec;
pub mod unlabelled;

pub use contract::{Companion, MOST_FEATURES, Method, Prepared, Run, STEPS_VERSION, Start, Step};
pub use measure::{Measure, MeasureStanding, Series};
use measure::{effective_sample, effective_sample_of};
pub use mode::Mode;
pub use plan::{ExplainedEnergy, Plan};
pub use problem::{Problem, ProblemShape, StartingModel};
pub use registry::{method, methods, name_in, name_of, task_of};
pub use spec::{Field, FieldKind, Settings, Spec, Value};
