//! A ranking as the interface follows it.

use crate::engine::Control;
use crate::engine::desk::{JobId, RankNews};
use crate::engine::ranking::{Findings, RankingMoment, RankingSummary};
use crate::error::{Error, Result};
use crate::privacy::accountant::round_up;
use crate::privacy::{CuratorOnly, Guarantee, Watch};
use crate::rank::comparison::Comparison;
use crate::rank::{Disclosed, ReleasedLine};

#[derive(Debug, Default)]
pub struct LiveRanking {
    pub work: Option<Work>,
    pub found: Option<Found>,
    pub remarks: Vec<String>,
    pub left_out: Vec<(String, Error)>,
    /// How many rankings were started: the number of the last one.
    pub started: JobId,
}

/// A ranking under way.
#[derive(Debug)]
pub struct Work {
    pub id: JobId,
    pub control: Control,
    pub done: usize,
    pub total: usize,
    pub words: String,
    pub privately: bool,
}

#[derive(Debug)]
pub enum Found {
    /// Exact numbers, for the curator.
    Exact(Box<CuratorOnly<Comparison>>),
    Winner(String, Guarantee),
    Table(Vec<ReleasedLine>, Guarantee),
    /// The shares of one direction.
    Direction(Vec<ReleasedLine>, Guarantee),
}

impl LiveRanking {
    /// The exact table, where it may be seen.
    pub fn exact<'a>(&'a self, watch: &Watch) -> Option<&'a Comparison> {
        match &self.found {
            Some(Found::Exact(comparison)) => comparison.reveal(watch),
            _ => None,
        }
    }

    /// Takes in news of the ranking; a line for the user when it has ended.
    pub fn hear(&mut self, id: JobId, news: RankNews, watch: &Watch) -> Option<Result<String>> {
        if self.work.as_ref().is_none_or(|work| work.id != id) {
            return None;
        }
        match news {
            RankNews::Moment(RankingMoment::Begun { total, remarks }) => {
                self.remarks = remarks;
                if let Some(work) = &mut self.work {
                    work.total = total;
                }
                None
            }
            RankNews::Moment(RankingMoment::Stepped { step, comparison }) => {
                if let Some(work) = &mut self.work {
                    (work.done, work.total, work.words) = (step.index, step.total, step.words);
                }
                if let Some(comparison) = comparison {
                    self.found = Some(Found::Exact(comparison));
                }
                None
            }
            RankNews::Ended(result) => {
                self.work = None;
                Some((*result).map(|summary| self.take(summary, watch)))
            }
        }
    }

    fn take(&mut self, summary: RankingSummary, watch: &Watch) -> String {
        self.remarks = summary.remarks;
        self.left_out = summary.left_out;
        let cost = |guarantee: &Guarantee| {
            format!("released at ε {}, δ {:e}", round_up(guarantee.epsilon, 4), guarantee.delta)
        };
        let words = match summary.findings {
            Findings::Nothing => "stopped: nothing was drawn, nothing is spent".to_owned(),
            Findings::Curator(None) => "stopped before two repeats were done".to_owned(),
            Findings::Curator(Some(comparison)) => {
                let words = comparison.reveal(watch).map(|comparison| comparison.verdict.clone());
                self.found = Some(Found::Exact(Box::new(comparison)));
                words.unwrap_or_else(|| "ranked; the view is sealed".to_owned())
            }
            Findings::Private { disclosed, guarantee, .. } => {
                let cost = cost(&guarantee);
                let (found, words) = match disclosed {
                    Disclosed::Winner(winner) => {
                        let name = winner.into_inner();
                        let words = format!("use {name}: {cost}");
                        (Found::Winner(name, guarantee), words)
                    }
                    Disclosed::Table(lines) => {
                        (Found::Table(lines.into_inner(), guarantee), format!("table {cost}"))
                    }
                    Disclosed::Direction(lines) => {
                        let lines = lines.into_inner();
                        (Found::Direction(lines, guarantee), format!("direction {cost}"))
                    }
                };
                self.found = Some(found);
                words
            }
        };
        match summary.unkept {
            Some(error) => format!("{words}; reports will not have it: {error}"),
            None => words,
        }
    }
}
