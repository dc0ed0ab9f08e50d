//! The common parts of all private rankings: one release at the end, and the results from it.

use serde::{Deserialize, Serialize};

use super::candidate_line::Mean;
use super::candidates::RankingSetup;
use super::ranking::RankStep;
use super::verdict;
use crate::error::Result;
use crate::privacy::release::ReleaseKind;
use crate::privacy::{Adjacency, Allotment, PlannedRelease, Release, Released, Spender};

/// A ranking that reveals nothing until its one release at the end.
pub trait PrivateRanking {
    /// Name of the method in the ledger.
    fn method(&self) -> &'static str;

    fn setup(&self) -> &RankingSetup;

    /// What must be the same at all sites that release together, by name: public facts.
    fn public_facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Remarks for the user.
    fn remarks(&self) -> Vec<String> {
        self.setup().remarks()
    }

    /// The number of steps.
    fn repeats(&self) -> usize;

    /// The planned release, before private data are touched.
    fn plan(&self) -> Result<PlannedRelease>;

    /// The expected result according to public data, with noise of this scale; an error if there
    /// can be none.
    fn outlook(&mut self, _scale: f64) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// One repeat; nothing leaves the private data.
    fn step(&mut self) -> Result<RankStep>;

    /// Draws, after the last step.
    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed>;
}

/// A plan of this release alone: drawn once, with the whole budget.
pub(super) fn alone<K: ReleaseKind>(release: &Release<K>, what: &str) -> PlannedRelease {
    release.announced(what.to_owned(), 1, Allotment::Share(1.0), Adjacency::ReplaceOne)
}

/// What the numbers of a released table do not say by themselves.
pub const OF_TABLE: &str = "GSD knows only the directions of these public datasets here, and noise \
    makes it larger: compare it within this table, not with an exact one.";

/// What the numbers of released errors do not say by themselves.
pub const OF_ERRORS: &str = "Records on which the models err unusually count for less, so an error \
    may differ from the exact one by more than the noise.";

/// The result of a private ranking.
#[derive(Debug, Clone)]
pub enum Disclosed {
    /// Name of the best candidate.
    Winner(Released<String>),
    /// The table, the best energy first.
    Table(Released<Vec<ReleasedLine>>),
    /// The error of every candidate's own model, the least first.
    Errors(Released<Vec<ReleasedError>>),
    /// The share of one direction in every candidate's span, the largest first: the energy is the
    /// squared cosine of their angle, the distance its sine.
    Direction(Released<Vec<ReleasedLine>>),
}

impl Disclosed {
    /// What released errors say against a plan that uses these datasets.
    pub fn against(&self, used: &[String]) -> Option<String> {
        match self {
            Self::Errors(lines) => verdict::against_released(lines.get(), used),
            _ => None,
        }
    }
}

/// One candidate of the released table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleasedLine {
    pub name: String,
    /// `None` for a broken candidate. The deviations are those of the noise alone.
    pub energy: Option<Mean>,
    pub distance: Option<Mean>,
}

/// One candidate of the released table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleasedError {
    pub name: String,
    /// The mean error of its model on the private records, with the standard deviation of the
    /// noise; `None` for a candidate that was left out.
    pub error: Option<Mean>,
    /// Distance of the candidate from the first, with the deviation of this distance.
    pub behind: Option<Mean>,
    /// How likely the candidate is to be the best on these private records.
    #[serde(rename = "likely_best")]
    pub first: Option<f64>,
    /// The error of its model on the records of the other candidates: public.
    #[serde(rename = "on_other_public_data")]
    pub elsewhere: Option<f64>,
    /// Whether errors are in units of the label. Otherwise they are shares, of wrong answers or, in
    /// earlier builds, of the range of the label.
    #[serde(default)]
    pub in_label_units: bool,
}

impl ReleasedError {
    /// The certainty of its place, in words.
    pub fn words(&self) -> String {
        match (self.first, self.behind) {
            (None, _) => "left out".to_owned(),
            (Some(first), None) => format!("{} likely to be best", percent(first)),
            (Some(first), Some(behind)) => {
                let behind = behind.estimate().difference_text(self.in_label_units);
                format!("{} likely; {behind} behind", percent(first))
            }
        }
    }
}

/// A share that simulation cannot distinguish from 0 or 1 is not shown as such.
fn percent(share: f64) -> String {
    match share {
        share if share < 0.005 => "under 1 %".to_owned(),
        share if share > 0.995 => "over 99 %".to_owned(),
        share => format!("{:.0} %", 100.0 * share),
    }
}
