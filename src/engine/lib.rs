//! Work in the background: requests in, events out. Nothing here draws.
//!
//! | module | holds |
//! |---|---|
//! | [`assembly`] | turns a plan and loaded datasets into a problem, its releases and its noise |
//! | `cautions` | warnings about the private records of a run, for the curator |
//! | `comparisons` | the models that a run is compared with |
//! | [`prepared`] | records that were prepared once, for previews and runs |
//! | [`predict`] | a run's model, applied to the rows of a file |
//! | [`preview`] | what a plan would cost |
//! | [`job`] | a run to be made, its events and its outcome |
//! | [`launch`] | the start of a run, on the calling thread |
//! | [`rehearse`] | public data in the private role, for the methods that a plan could use |
//! | `resemblance` | which public data are close to the private ones, by earlier rankings |
//! | `spend` | account, grant, draws and settlement of everything that spends |
//! | `execution` | an opened run, from its first step to its settlement |
//! | `steps` | the steps of a run, recorded one by one |
//! | [`detach`] | a run continues without its interface |
//! | [`ending`] | settles the runs of a process that cannot wait for their steps |
//! | `remote_control` | requests of other processes to a run |
//! | [`evaluator`] | measures a model on the records held out of training |
//! | [`resume`] | continues a run whose program died |
//! | [`sweep`] | many runs, reserved together and executed anywhere |
//! | [`ranking`] | ranks the public datasets, for the curator or privately |
//! | [`claim`] | charges another trainer's stated draws |
//! | [`count`] | releases the number of private records |
//! | [`look`] | records looks at exact numbers in the ledger |
//! | [`inspect`] | what a table holds, for the user at the keyboard |
//! | [`control`] | pause, resume and stop from another thread |
//! | [`worker`] | the thread that serves an interface: loading, previews, ledger, launching jobs |
//! | [`sites`] | several sites with private records of their own train one model |
//! | [`seeded_run`] | a run on built-in data with seeded noise, for pictures |
//! | [`lookup`] | what an interface reads before the user decides: directories, first rows, what still fits |
//!
//! `cli` calls [`launch::execute`] and [`resume::resume`] itself; `tui` talks to a [`worker::Worker`].

use halflight_advice::{rank, rehearsal, verdict};
use halflight_base::{clock, error, faults, files, memory};
use halflight_data as data;
use halflight_evaluation as evaluation;
use halflight_methods as methods;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy_inside as privacy;
use halflight_session as session;

pub mod assembly;
mod cautions;
pub mod choice;
pub mod claim;
mod comparisons;
pub mod control;
pub mod count;
pub mod detach;
pub mod ending;
pub mod evaluator;
mod execution;
pub mod inspect;
pub mod job;
pub mod joining;
pub mod launch;
pub mod look;
pub mod lookup;
#[cfg(test)]
mod null_records;
pub mod overlap;
pub mod predict;
pub mod prepared;
pub mod preview;
mod public_alone;
pub mod ranking;
pub mod rehearse;
mod remote_control;
mod resemblance;
pub mod resume;
pub mod score;
#[cfg(feature = "testing")]
pub mod seeded_run;
pub mod sites;
mod spend;
mod steps;
pub mod sweep;
pub mod timing;
mod trial_costs;
#[cfg(test)]
mod unordered;
pub mod worker;

pub use assembly::Assembly;
pub use control::Control;
pub use job::{Job, RunProgress, Summary};
pub use prepared::PreparedStore;
pub use ranking::{RankingJob, RankingProgress, RankingSummary};
pub use rehearse::RehearsalJob;
pub use worker::{Request, Worker, WorkerReport};
