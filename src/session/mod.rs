//! What is on disk: the RON session, the workspace with its ledger, datasets
//! read from files, run directories, the demo.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`] | the session file: versioned RON, unknown fields refused with position |
//! | [`plan_field`] | the fields of a plan under the names that people read |
//! | [`plan_name`] | what a plan is called until its user names it |
//! | [`workspace`] | the directory that owns a ledger and its runs |
//! | [`family`] | files with the same columns, the parts of one table |
//! | [`fit`] | which methods fit a plan's data, in plain words |
//! | [`dataset`] | a definition made into records; private ones wrapped at once |
//! | `features` | what networks made of records, kept |
//! | [`ranking_record`] | what a ranking leaves behind, for reports |
//! | [`ranking`] | what the session says about ranking its public datasets |
//! | [`run_directory`] | what a run leaves behind |
//! | [`resumption`] | what a run directory holds so that the run can go on |
//! | [`sweep`] | the directory of a sweep: grants, claims, results |
//! | [`model_file`] | a model on disk: numbers, preparation, names of columns |
//! | [`prediction`] | what a model on disk says about the rows of a table |
//! | [`onnx`] | a model with its preparation as an ONNX file |
//! | [`archive`] | the runs of a workspace, read back to be compared |
//! | [`run_steps`], `tail` | the numbers of a run as its files grow |
//! | [`follow`], `place` | runs of others followed by their files, wherever they lie |
//! | [`tensorboard`] | steps as an event file that TensorBoard reads |
//! | [`trainer`] | steps of another trainer, and what our accountant says of them |
//! | [`slurm`] | what Slurm's queue says of a sweep's tasks |
//! | [`steering`] | how a run is paused and stopped by another process |
//! | [`report`] | one run or several as a page to be passed on |
//! | [`secret`] | where the user's secret lies |
//! | [`preferences`] | what the user likes (config) and where they were (state) |
//! | [`leftovers`] | what killed programs left behind and nobody needs |
//! | [`lineage`] | what a starting model brings with it |
//! | [`certificate`] | what the outside may be told about a run, in words |
//! | [`outbox`] | what of a run may leave |
//! | [`signature`] | a certificate's signature |
//! | [`changes`] | what differs between two versions of a session |
//! | [`demo`] | the embedded demo sessions |
//!
//! Used by `engine`, `cli`; uses everything below.

pub mod archive;
pub mod certificate;
pub mod changes;
pub mod dataset;
pub mod demo;
pub mod family;
mod features;
pub mod file;
pub mod fit;
pub mod follow;
pub mod leftovers;
pub mod lineage;
pub mod model_file;
pub mod notebook;
pub mod onnx;
pub mod outbox;
mod place;
pub mod plan_field;
pub mod plan_name;
pub mod prediction;
pub mod preferences;
pub mod ranking;
pub mod ranking_record;
pub mod report;
pub mod resumption;
pub mod run_directory;
pub mod run_steps;
pub mod secret;
pub mod signature;
pub mod slurm;
pub mod steering;
pub mod sweep;
mod tail;
pub mod tensorboard;
pub mod trainer;
pub mod workspace;

pub use archive::ArchivedRun;
pub use certificate::Certificate;
pub use dataset::{Loaded, LoadedRecords};
pub use file::{PlanDefinition, Session};
pub use lineage::Lineage;
pub use model_file::SavedModel;
pub use prediction::Predictions;
pub use preferences::{Config, ProgramState, WhenClosed};
pub use ranking::RankingDefinition;
pub use report::Report;
pub use run_directory::RunDirectory;
pub use workspace::Workspace;
