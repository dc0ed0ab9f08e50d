//! What a user and the program keep on disk, and how it is read back.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`] | the session file: versioned RON, unknown fields refused with position |
//! | [`workspace`] | the directory that owns a ledger and its runs |
//! | [`secret`] | where the user's secret is kept |
//! | [`preferences`] | the user's preferences (config) and last position (state) |
//! | [`demo`] | the embedded demo sessions |
//! | [`dataset`] | turns a definition into records; private ones are wrapped at once |
//! | `features` | features that networks extracted from records, kept |
//! | [`known_rows`] | private rows that the ledger knows, in datasets that are said to be public |
//! | [`family`] | files with the same columns, the parts of one table |
//! | [`found_file`] | the source that one file stands for: arrays that belong together, images and labels |
//! | [`fit`] | which methods fit a plan's data, in plain words |
//! | [`standing`] | what a ledger knows of an account when a run is granted |
//! | [`run_directory`] | the files that a run writes |
//! | `origin` | what a resumed run compares: program, session and data |
//! | [`resumption`] | the files by which a run can be resumed |
//! | [`rows_of_run`] | the private rows of a run and their order |
//! | [`steering`] | how a run is paused and stopped by another process |
//! | [`sweep`] | the directory of a sweep: grants, claims, results |
//! | [`leftovers`] | useless leftovers of killed programs |
//! | [`run_steps`], `tail` | the numbers of a run as its files grow |
//! | [`archive`] | the runs of a workspace, read back to be compared |
//! | [`follow`], `place` | follows the runs of others by their files, wherever they are |
//! | [`slurm`] | what Slurm's queue says about a sweep's tasks |
//! | [`notebook`] | the results of rehearsals |
//! | [`ranking_record`] | the record of a ranking, for reports |
//! | [`unsaved`] | the unsaved session of an interface, for when it is killed |
//! | `json` | values as JSON files that only their owner can read |
//!
//! The store needs neither the statements nor the exports.

pub mod archive;
pub mod dataset;
pub mod demo;
#[cfg(any(test, feature = "testing"))]
pub mod example;
pub mod family;
mod features;
pub mod file;
pub mod fit;
pub mod follow;
pub mod found_file;
mod json;
pub mod known_rows;
pub mod leftovers;
pub mod notebook;
mod origin;
mod place;
pub mod preferences;
pub mod ranking_record;
pub mod resumption;
pub mod rows_of_run;
pub mod run_directory;
pub mod run_steps;
pub mod secret;
pub mod site_board;
pub mod slurm;
pub mod standing;
pub mod steering;
pub mod sweep;
pub(crate) mod tail;
pub mod unsaved;
pub mod workspace;

pub use archive::ArchivedRun;
pub use dataset::{Loaded, LoadedRecords};
pub use file::{PlanDefinition, RankingDefinition, Session};
pub use preferences::{Config, ProgramState, WhenClosed};
pub use run_directory::RunDirectory;
pub use workspace::Workspace;
