//! What the Rank screen knows: the ranking under way, what it found, the order of the table.

use std::cmp::Ordering;

use crate::engine::Control;
use crate::engine::desk::{JobId, RankNews};
use crate::engine::ranking::{Findings, RankingMoment, RankingSummary};
use crate::error::{Error, Result};
use crate::privacy::accountant::round_up;
use crate::privacy::{CuratorOnly, Guarantee, Watch};
use crate::rank::comparison::{Comparison, Line, Mean};
use crate::rank::{Disclosed, ReleasedLine};

#[derive(Debug, Default)]
pub struct RankScreen {
    pub work: Option<Work>,
    pub shown: Option<Shown>,
    /// Place in the table as it is sorted.
    pub selected: usize,
    pub sort: Column,
    pub reverse: bool,
    pub remarks: Vec<String>,
    pub left_out: Vec<(String, Error)>,
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
pub enum Shown {
    /// Exact numbers, for the curator.
    Exact(Box<CuratorOnly<Comparison>>),
    Winner(String, Guarantee),
    Table(Vec<ReleasedLine>, Guarantee),
    /// The shares of one direction.
    Direction(Vec<ReleasedLine>, Guarantee),
}

/// One candidate as the table shows it.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub rank: usize,
    pub name: String,
    pub energy: Option<Mean>,
    pub distance: Option<Mean>,
    pub unlabelled: Option<f64>,
    pub labelled: Option<f64>,
    pub zero_shot: Option<f64>,
    pub verdict: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Column {
    #[default]
    Rank,
    Name,
    Energy,
    Distance,
    Unlabelled,
    Labelled,
    ZeroShot,
    Verdict,
}

impl Column {
    pub const ALL: [Self; 8] = [
        Self::Rank,
        Self::Name,
        Self::Energy,
        Self::Distance,
        Self::Unlabelled,
        Self::Labelled,
        Self::ZeroShot,
        Self::Verdict,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Rank => "#",
            Self::Name => "dataset",
            Self::Energy => "energy",
            Self::Distance => "distance",
            Self::Unlabelled => "discrep.",
            Self::Labelled => "labelled",
            Self::ZeroShot => "zero-shot",
            Self::Verdict => "verdict",
        }
    }

    pub fn next(self) -> Self {
        let here = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL[(here + 1) % Self::ALL.len()]
    }

    fn number(self, row: &Row) -> Option<f64> {
        match self {
            Self::Rank => Some(row.rank as f64),
            Self::Energy => row.energy.map(|energy| energy.mean),
            Self::Distance => row.distance.map(|distance| distance.mean),
            Self::Unlabelled => row.unlabelled,
            Self::Labelled => row.labelled,
            Self::ZeroShot => row.zero_shot,
            Self::Name | Self::Verdict => None,
        }
    }

    /// Missing numbers come last, whatever the direction.
    fn compare(self, a: &Row, b: &Row, reverse: bool) -> Ordering {
        let turned = |order: Ordering| if reverse { order.reverse() } else { order };
        match self {
            Self::Name => turned(a.name.cmp(&b.name)),
            Self::Verdict => turned(a.verdict.cmp(&b.verdict)),
            _ => match (self.number(a), self.number(b)) {
                (Some(a), Some(b)) => turned(a.total_cmp(&b)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            },
        }
    }
}

impl From<&Line> for Row {
    fn from(line: &Line) -> Self {
        let alongside = line.alongside.clone().unwrap_or_default();
        Self {
            rank: 0,
            name: line.name.clone(),
            energy: line.summary.as_ref().map(|summary| summary.energy),
            distance: line.summary.as_ref().map(|summary| summary.distance),
            unlabelled: alongside.unlabelled,
            labelled: alongside.labelled,
            zero_shot: alongside.zero_shot,
            verdict: line.verdict.clone(),
        }
    }
}

impl RankScreen {
    /// The table under this watch, sorted. Empty where there is nothing to be seen.
    pub fn rows(&self, watch: &Watch) -> Vec<Row> {
        let mut rows: Vec<Row> = match &self.shown {
            Some(Shown::Exact(comparison)) => comparison
                .reveal(watch)
                .map(|comparison| comparison.lines.iter().map(Row::from).collect())
                .unwrap_or_default(),
            Some(Shown::Table(lines, _) | Shown::Direction(lines, _)) => lines
                .iter()
                .map(|line| Row {
                    name: line.name.clone(),
                    energy: line.energy,
                    distance: line.distance,
                    verdict: if line.energy.is_some() { "" } else { "left out" }.to_owned(),
                    ..Row::default()
                })
                .collect(),
            Some(Shown::Winner(..)) | None => Vec::new(),
        };
        for (index, row) in rows.iter_mut().enumerate() {
            row.rank = index + 1;
        }
        rows.sort_by(|a, b| self.sort.compare(a, b, self.reverse));
        rows
    }

    /// The candidate that `Enter` takes.
    pub fn chosen(&self, watch: &Watch) -> Option<String> {
        match &self.shown {
            Some(Shown::Winner(name, _)) => Some(name.clone()),
            _ => self.rows(watch).get(self.selected).map(|row| row.name.clone()),
        }
    }

    /// The exact table, where it may be seen.
    pub fn exact<'a>(&'a self, watch: &Watch) -> Option<&'a Comparison> {
        match &self.shown {
            Some(Shown::Exact(comparison)) => comparison.reveal(watch),
            _ => None,
        }
    }

    /// Takes news of the ranking under way in; a line for the user when it ended.
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
                    self.shown = Some(Shown::Exact(comparison));
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
                self.shown = Some(Shown::Exact(Box::new(comparison)));
                words.unwrap_or_else(|| "ranked; the view is sealed".to_owned())
            }
            Findings::Private { disclosed, guarantee, .. } => {
                let cost = cost(&guarantee);
                let (shown, words) = match disclosed {
                    Disclosed::Winner(winner) => {
                        let name = winner.into_inner();
                        let words = format!("use {name}: {cost}");
                        (Shown::Winner(name, guarantee), words)
                    }
                    Disclosed::Table(lines) => {
                        (Shown::Table(lines.into_inner(), guarantee), format!("table {cost}"))
                    }
                    Disclosed::Direction(lines) => {
                        let lines = lines.into_inner();
                        (Shown::Direction(lines, guarantee), format!("direction {cost}"))
                    }
                };
                self.shown = Some(shown);
                self.selected = 0;
                words
            }
        };
        match summary.unkept {
            Some(error) => format!("{words}; reports will not have it: {error}"),
            None => words,
        }
    }
}
