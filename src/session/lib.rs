//! What is on disk: sessions and workspaces with their runs, what is said about runs, and what
//! leaves a workspace.
//!
//! | module | holds |
//! |---|---|
//! | `store` | session files, workspaces, datasets, run directories, and how they are read back |
//! | `statements` | certificates, reports, and what we say about other trainers |
//! | `exports` | models on disk, predictions, ONNX, the files that may be passed on |
//!
//! Each stands on those above it, and none needs one below it. Other crates name the modules
//! inside, such as `halflight_session::archive`.

use halflight_advice::{glossary, rank, rehearsal, verdict};
use halflight_base::{clock, error, faults, files};
use halflight_data as data;
use halflight_evaluation as evaluation;
use halflight_methods as methods;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy_inside as privacy;

mod exports;
mod statements;
mod store;

pub use exports::{
    Predictions, SavedModel, model_file, named, onnx, outbox, prediction, tensorboard,
};
pub use statements::{
    Certificate, Lineage, Report, certificate, comparison, lineage, public_alone, question, report,
    signature, sum, trainer,
};
#[cfg(any(test, feature = "testing"))]
pub use store::example;
pub use store::file::{changes, plan_field, plan_name, ranking};
pub use store::{
    ArchivedRun, Config, Loaded, LoadedRecords, PlanDefinition, ProgramState, RankingDefinition,
    RunDirectory, Session, WhenClosed, Workspace, archive, dataset, demo, family, file, fit,
    follow, found_file, known_rows, leftovers, notebook, preferences, ranking_record, resumption,
    rows_of_run, run_directory, run_steps, secret, site_board, slurm, standing, steering, sweep,
    unsaved, workspace,
};
