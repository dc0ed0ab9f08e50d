//! Work in the background: requests in, events out. Nothing here draws.
//!
//! | module | holds |
//! |---|---|
//! | [`assembly`] | a plan and loaded datasets made into a problem, its releases and its noise |
//! | `cautions` | what the curator should know about the private records of a run |
//! | `comparisons` | what a run is compared with, made beside it |
//! | [`prepared`] | records that were prepared once, for previews and runs |
//! | `predict` | what a run's model says about the rows of a file |
//! | [`preview`] | what a plan would cost |
//! | [`job`] | a run to be made, what it tells, and what it came to |
//! | [`launch`] | the start of a run, on the calling thread |
//! | [`rehearse`] | public data in the private role, for the methods that a plan could take |
//! | `resemblance` | which public data are near to the private ones, by earlier rankings |
//! | `course` | an opened run, from its first step to its settlement |
//! | `steps` | the steps of a run, written down one by one |
//! | [`detach`] | a run that its interface left goes on by itself |
//! | [`ending`] | settles the runs of a process that cannot wait for their steps |
//! | `steward` | what other processes wish of a run |
//! | [`judge`] | how good a model is on the records held out of training |
//! | [`resume`] | a run whose program died goes on |
//! | [`sweep`] | many runs reserved at once and carried out anywhere |
//! | [`ranking`] | the public datasets put in order, for the curator or privately |
//! | [`claim`] | what another trainer says that it drew, charged |
//! | [`count`] | how many private records there are, released |
//! | [`control`] | pause, resume and stop from another thread |
//! | [`desk`] | the thread that serves an interface: loading, previews, ledger, launching jobs |
//! | `pictured` | a run on built-in data with seeded noise, for pictures |
//! | [`lookup`] | what an interface looks at before it decides: directories, first rows, what still fits |
//!
//! `cli` calls [`launch::execute`] and [`resume::resume`] itself; `tui` talks to a [`desk::Desk`].

pub mod assembly;
mod cautions;
pub mod choice;
pub mod claim;
mod comparisons;
pub mod control;
pub mod count;
mod course;
pub mod desk;
pub mod detach;
pub mod ending;
pub mod job;
pub mod judge;
pub mod launch;
pub mod lookup;
#[cfg(test)]
mod null_records;
pub mod overlap;
mod predict;
pub mod prepared;
pub mod preview;
mod public_alone;
pub mod ranking;
pub mod rehearse;
mod resemblance;
pub mod resume;
pub mod score;
pub(crate) mod seeded_run;
mod single_release;
mod steps;
mod steward;
pub mod sweep;

pub use assembly::Assembly;
pub use control::Control;
pub use desk::{Desk, DeskReport, Request};
pub use job::{Job, Moment, Summary};
pub use prepared::PreparedStore;
pub use ranking::{RankingJob, RankingMoment, RankingSummary};
pub use rehearse::RehearsalJob;
