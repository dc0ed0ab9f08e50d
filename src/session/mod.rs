//! What is on disk: the RON session, the workspace with its ledger, datasets
//! read from files, run directories, the demo.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`] | the session file: versioned RON, unknown fields refused with position |
//! | [`plan_field`] | the fields of a plan under the names that people read |
//! | [`workspace`] | the directory that owns a ledger and its runs |
//! | [`dataset`] | a definition made into records; private ones wrapped at once |
//! | `features` | what networks made of records, kept |
//! | [`ranking_record`] | what a ranking leaves behind, for reports |
//! | [`ranking`] | what the session says about ranking its public datasets |
//! | [`run_directory`] | what a run leaves behind |
//! | [`resumption`] | what a run directory holds so that the run can go on |
//! | [`sweep`] | the directory of a sweep: grants, claims, results |
//! | [`model_file`] | a model on disk: numbers, preparation, names of columns |
//! | [`prediction`] | what a model on disk says about the rows of a table |
//! | [`archive`] | the runs of a workspace, read back to be compared |
//! | [`report`] | one run or several as a page to be passed on |
//! | [`secret`] | where the user's secret lies |
//! | [`preferences`] | what the user likes (config) and where they were (state) |
//! | [`lineage`] | what a starting model brings with it |
//! | [`certificate`] | what the outside may be told about a run, in words |
//! | [`outbox`] | what of a run may leave |
//! | [`signature`] | a certificate's signature |
//! | [`demo`] | the embedded demo sessions |
//!
//! Used by `engine`, `cli`; uses everything below.

pub mod archive;
pub mod certificate;
pub mod dataset;
pub mod demo;
mod features;
pub mod file;
pub mod lineage;
pub mod model_file;
pub mod notebook;
pub mod outbox;
pub mod plan_field;
pub mod prediction;
pub mod preferences;
pub mod ranking;
pub mod ranking_record;
pub mod report;
pub mod resumption;
pub mod run_directory;
pub mod secret;
pub mod signature;
pub mod sweep;
pub mod workspace;

pub use archive::ArchivedRun;
pub use certificate::Certificate;
pub use dataset::{Loaded, LoadedRecords};
pub use file::{PlanDefinition, Session};
pub use lineage::Lineage;
pub use model_file::SavedModel;
pub use prediction::Predictions;
pub use preferences::{Config, State};
pub use ranking::RankingDefinition;
pub use report::Report;
pub use run_directory::RunDirectory;
pub use workspace::Workspace;
