//! The common parts of all private rankings: one release at the end, and the results from it.

use super::candidate_line::Mean;
use super::candidates::Lineup;
use super::ranking::RankStep;
use crate::error::Result;
use crate::privacy::{PlannedRelease, Released, Spender};

/// A ranking that keeps everything to itself until its one release at the end.
pub trait PrivateRanking {
    /// Its name in the ledger.
    fn method(&self) -> &'static str;

    fn lineup(&self) -> &Lineup;

    /// What the user should know of it.
    fn remarks(&self) -> Vec<String> {
        self.lineup().remarks()
    }

    /// How many steps there are.
    fn repeats(&self) -> usize;

    /// What it will release, before private data are touched.
    fn plan(&self) -> Result<PlannedRelease>;

    /// What the public data say of the result to come, with a noise of this scale; an error
    /// where there can be none.
    fn outlook(&mut self, _scale: f64) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// One repeat: nothing leaves the private data.
    fn step(&mut self) -> Result<RankStep>;

    /// Draws, after the last step.
    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed>;
}

/// What a private ranking tells the world.
#[derive(Debug, Clone)]
pub enum Disclosed {
    /// Name of the best candidate.
    Winner(Released<String>),
    /// The best energy first.
    Table(Released<Vec<ReleasedLine>>),
    /// How wrong every candidate's own model is, the least first.
    Errors(Released<Vec<ReleasedError>>),
    /// What every candidate's span holds of one direction, the most first: as energy the
    /// squared cosine of their angle, as distance its sine.
    Direction(Released<Vec<ReleasedLine>>),
}

/// One candidate of the released table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedLine {
    pub name: String,
    /// `None` of a broken candidate. The deviations are what the noise alone makes of them.
    pub energy: Option<Mean>,
    pub distance: Option<Mean>,
}

/// One candidate of the released table.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedError {
    pub name: String,
    /// The mean error of its model on the private records, with the standard deviation of the
    /// noise; `None` of a candidate that was left out.
    pub error: Option<Mean>,
    /// By how much it is behind the first, with the deviation of that.
    pub behind: Option<Mean>,
    /// How likely it is to be the best on these private records.
    pub first: Option<f64>,
    /// The error of its model on the records of the other candidates: public.
    pub elsewhere: Option<f64>,
}

impl ReleasedError {
    /// How sure its place is.
    pub fn words(&self) -> String {
        match (self.first, self.behind) {
            (None, _) => "left out".to_owned(),
            (Some(first), None) => format!("{} likely to be best", percent(first)),
            (Some(first), Some(behind)) => format!(
                "{} likely; {:.1} ± {:.1} points behind",
                percent(first),
                100.0 * behind.mean,
                100.0 * behind.deviation,
            ),
        }
    }
}

/// What simulation cannot tell from nothing or all is not told as such.
fn percent(share: f64) -> String {
    match share {
        share if share < 0.005 => "under 1 %".to_owned(),
        share if share > 0.995 => "over 99 %".to_owned(),
        share => format!("{:.0} %", 100.0 * share),
    }
}
