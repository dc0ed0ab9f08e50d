//! Studies: methods rehearsed on public data in the private role, over many seeds.
//!
//! | module | holds |
//! |---|---|
//! | [`grid`] | rows × columns × seeds of independent tasks on a few threads |
//! | [`discrepancy`] | the measures of unlabelled adaptation, exact |
//! | [`classification`] | PILLAR and GEP on images and features |
//! | [`correction`] | public shape, private correction, against what else there is |
//! | [`labelled`] | labelled adaptation on real datasets |
//! | [`persons`] | what protecting whole persons costs |
//! | [`ranking`] | rankings of image sets: which comes first, how sure, how private |
//! | [`rehearsal`] | what rehearsals on public data advise, and what would have been best |
//! | [`table`] | what came out: mean ± sd, against what was wanted; as text, Markdown, JSON |
//!
//! Nothing here is private: the noise comes from seeds so that a table can be repeated,
//! and the "private" records are public ones. No ledger knows of it. Files, signals and
//! terminals are the caller's business.

pub mod classification;
pub mod correction;
pub mod discrepancy;
pub mod grid;
pub mod labelled;
pub mod persons;
pub mod ranking;
pub mod rehearsal;
pub mod scores;
pub mod table;

pub use grid::{Grid, GridTask, Harvest};
pub use table::{ExpectedMean, SeedValues, StudyTable, TableContent, TableRow};

/// What a header says of datasets that are not there.
fn not_found(missing: &[&str]) -> Option<String> {
    (!missing.is_empty()).then(|| {
        format!("Not found, so left out: {}. Give their directory with --data.", missing.join(", "))
    })
}
