//! Studies: methods rehearsed on public data in the private role, over many seeds.
//!
//! | module | holds |
//! |---|---|
//! | [`grid`] | rows × columns × seeds of independent tasks on a few threads |
//! | [`discrepancy`] | the measures of unlabelled adaptation, exact |
//! | [`classification`] | PILLAR and GEP on images and features |
//! | [`commands`] | the command line |
//! | [`correction`] | public shape, private correction, compared with the alternatives |
//! | [`coverage`] | scores of twelve tables: what their ranges contain, and the cap |
//! | [`predictor`] | methods with and without a public predictor |
//! | [`guesses`] | what opening a file guesses: label, columns, gaps, identifiers of persons |
//! | `kernel_mean_matching` | weights that match means in a kernel's space |
//! | [`labelled`] | labelled adaptation on real datasets |
//! | [`minimum`] | the minima of the published objectives, without noise |
//! | [`peers`] | our methods beside other people's private learners |
//! | [`sites`] | what several sites gain by training together |
//! | [`persons`] | the cost of protecting whole persons |
//! | [`ranking`] | rankings of image sets: their order, certainty and privacy |
//! | [`record_counts`] | errors over the numbers of private and public records |
//! | [`ridges`] | linear methods over the ridge of their public solution |
//! | [`rehearsal`] | the advice of rehearsals on public data, and the best choice in hindsight |
//! | [`reviews`] | reviews of one kind of goods, with those of another as public records |
//! | `shown` | AUC, balanced accuracy and mean absolute error beside a study's own error |
//! | `tuned` | settings chosen on validation records |
//! | [`trees`] | public records of shifts for other people's trees, and what ours predict |
//! | [`table`] | the results: mean ± sd, with the expected values; as text, Markdown, JSON |
//!
//! Nothing here is private: the noise comes from seeds so that a table can be repeated, and the
//! "private" records are public ones. No ledger is involved. The caller handles files, signals and
//! terminals.

use halflight::engine;
use halflight_advice::rank;
use halflight_base::{error, files};
use halflight_data as data;
use halflight_evaluation as evaluation;
use halflight_methods as methods;
use halflight_model as model;
use halflight_numeric as numeric;
use halflight_plot as plot;
use halflight_privacy as privacy;
use halflight_session as session;

pub mod classification;
pub mod commands;
pub mod correction;
pub mod coverage;
pub mod discrepancy;
pub mod grid;
pub mod guesses;
mod kernel_mean_matching;
pub mod labelled;
pub mod minimum;
pub mod peers;
pub mod persons;
pub mod predictor;
pub mod ranking;
pub mod record_counts;
pub mod rehearsal;
pub mod reviews;
pub mod ridges;
pub mod scores;
mod shown;
pub mod sites;
pub mod table;
pub mod trees;
mod tuned;

pub use grid::{Grid, GridTask, Harvest};
pub use table::{ExpectedMean, SeedValues, StudyTable, TableContent, TableRow};

/// The lines of a header, and one about missing datasets.
fn header<const LINES: usize>(lines: [&str; LINES], missing: &[&str]) -> Vec<String> {
    lines.map(str::to_owned).into_iter().chain(not_found(missing)).collect()
}

/// The line of a header about missing datasets.
fn not_found(missing: &[&str]) -> Option<String> {
    (!missing.is_empty()).then(|| {
        format!("Not found, so left out: {}. Give their directory with --data.", missing.join(", "))
    })
}
