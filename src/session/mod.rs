//! What is on disk: the RON session, the workspace with its ledger, datasets
//! read from files, run directories, the demo.
//!
//! | module | holds |
//! |---|---|
//! | [`file`] | the session file: versioned RON, unknown fields refused with position |
//! | [`workspace`] | the directory that owns a ledger and its runs |
//! | [`dataset`] | a definition made into records; private ones wrapped at once |
//! | [`ranking`] | what the session says about ranking its public datasets |
//! | [`run_directory`] | what a run leaves behind |
//! | [`archive`] | the runs of a workspace, read back to be compared |
//! | [`preferences`] | what the user likes (config) and where they were (state) |
//! | [`certificate`] | what the outside may be told about a run, in words |
//! | [`atomic`] | files that are either the old or the new one |
//! | [`demo`] | the embedded demo sessions |
//!
//! Used by `engine`, `cli`; uses everything below.

pub mod archive;
pub mod atomic;
pub mod certificate;
pub mod dataset;
pub mod demo;
pub mod file;
pub mod preferences;
pub mod ranking;
pub mod run_directory;
pub mod workspace;

pub use archive::ArchivedRun;
pub use certificate::Certificate;
pub use dataset::{Loaded, Records};
pub use file::{PlanDefinition, Session};
pub use preferences::{Config, State};
pub use ranking::RankingDefinition;
pub use run_directory::RunDirectory;
pub use workspace::Workspace;
