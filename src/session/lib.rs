//! What is on disk: the RON session, the workspace with its ledger, datasets
//! read from files, run directories, the demo.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@file`] | the session file: versioned RON, unknown fields refused with position |
//! | `syntax` | what is wrong with a session file that cannot be read |
//! | [`plan_field`] | the fields of a plan under the names that people read |
//! | [`plan_name`] | the name of a plan until its user names it |
//! | [`workspace`] | the directory that owns a ledger and its runs |
//! | [`family`] | files with the same columns, the parts of one table |
//! | [`fit`] | which methods fit a plan's data, in plain words |
//! | [`dataset`] | turns a definition into records; private ones are wrapped at once |
//! | `features` | features that networks extracted from records, kept |
//! | [`ranking_record`] | the record of a ranking, for reports |
//! | [`ranking`] | the session's settings for ranking its public datasets |
//! | [`run_directory`] | the files that a run writes |
//! | [`resumption`] | the files by which a run can be resumed |
//! | [`rows_of_run`] | the private rows of a run and their order |
//! | [`sweep`] | the directory of a sweep: grants, claims, results |
//! | [`model_file`] | a model on disk: numbers, preparation, names of columns |
//! | [`prediction`] | the predictions of a model on disk for the rows of a table |
//! | [`onnx`] | a model with its preparation as an ONNX file |
//! | [`archive`] | the runs of a workspace, read back to be compared |
//! | [`run_steps`], `tail` | the numbers of a run as its files grow |
//! | [`follow`], `place` | follows the runs of others by their files, wherever they are |
//! | [`tensorboard`] | steps as an event file that TensorBoard reads |
//! | [`trainer`] | steps of another trainer, and what our accountant says about them |
//! | [`slurm`] | what Slurm's queue says about a sweep's tasks |
//! | [`steering`] | how a run is paused and stopped by another process |
//! | [`report`] | a page about one run or several, to be passed on |
//! | [`secret`] | where the user's secret is kept |
//! | [`preferences`] | the user's preferences (config) and last position (state) |
//! | [`leftovers`] | useless leftovers of killed programs |
//! | [`lineage`] | what a run inherits from its starting model |
//! | [`certificate`] | what others may be told about a run, in words |
//! | [`outbox`] | the files of a run that may leave the workspace |
//! | [`signature`] | a certificate's signature |
//! | [`changes`] | the differences between two versions of a session |
//! | [`demo`] | the embedded demo sessions |

use halflight_advice::{glossary, rank, rehearsal, verdict};
use halflight_base::{clock, error, faults, files};
use halflight_data as data;
use halflight_evaluation as evaluation;
use halflight_methods as methods;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy_inside as privacy;

pub mod archive;
pub mod certificate;
pub mod changes;
pub mod dataset;
pub mod demo;
#[cfg(any(test, feature = "testing"))]
pub mod example;
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
pub mod rows_of_run;
pub mod run_directory;
pub mod run_steps;
pub mod secret;
pub mod signature;
pub mod slurm;
pub mod steering;
pub mod sweep;
mod syntax;
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
