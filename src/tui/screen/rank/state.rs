//! The order of the table, and which dataset is selected in it.

use std::cmp::Ordering;

use crate::context::Context;
use crate::live_ranking::{LiveRanking, RankingSoFar};
use crate::privacy::Watch;
use crate::rank::candidate_line::{CandidateLine, Mean};
use crate::tab::Pane;

/// Ranked datasets.
pub const CANDIDATES: Pane = Pane::list("candidates");

#[derive(Debug, Default)]
pub struct RankScreen {
    /// Index in the sorted table.
    pub selected: usize,
    pub sort: RankColumn,
    pub reverse: bool,
    /// Whether the released ranking is shown and not the exact one, if there are both.
    pub released_in_front: bool,
}

/// One candidate in the table.
#[derive(Debug, Clone, Default)]
pub struct CandidateRow {
    pub rank: usize,
    pub name: String,
    pub energy: Option<Mean>,
    pub distance: Option<Mean>,
    pub unlabelled: Option<f64>,
    pub labelled: Option<f64>,
    pub error: Option<Mean>,
    /// The error on the other public datasets.
    pub elsewhere: Option<f64>,
    pub verdict: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RankColumn {
    #[default]
    Rank,
    Name,
    Energy,
    Distance,
    Unlabelled,
    Labelled,
    Error,
    Elsewhere,
    Verdict,
}

impl RankColumn {
    pub const ALL: [Self; 9] = [
        Self::Rank,
        Self::Name,
        Self::Energy,
        Self::Distance,
        Self::Unlabelled,
        Self::Labelled,
        Self::Error,
        Self::Elsewhere,
        Self::Verdict,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Rank => "#",
            Self::Name => "dataset",
            Self::Energy => "energy ↑",
            Self::Distance => "distance ↓",
            Self::Unlabelled => "discrepancy ↓",
            Self::Labelled => "with labels ↓",
            Self::Error => "error ↓",
            Self::Elsewhere => "elsewhere ↓",
            Self::Verdict => "verdict",
        }
    }

    /// Word of the column in the glossary.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rank | Self::Name | Self::Verdict => "ranking",
            Self::Energy => "energy",
            Self::Distance => "distance",
            Self::Unlabelled => "discrepancy",
            Self::Labelled => "labelled discrepancy",
            Self::Error => "public model's error",
            Self::Elsewhere => "error elsewhere",
        }
    }

    pub fn next(self) -> Self {
        let here = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL[(here + 1) % Self::ALL.len()]
    }

    pub fn number(self, row: &CandidateRow) -> Option<f64> {
        match self {
            Self::Rank => Some(row.rank as f64),
            Self::Energy => row.energy.map(|energy| energy.mean),
            Self::Distance => row.distance.map(|distance| distance.mean),
            Self::Unlabelled => row.unlabelled,
            Self::Labelled => row.labelled,
            Self::Error => row.error.map(|error| error.mean),
            Self::Elsewhere => row.elsewhere,
            Self::Name | Self::Verdict => None,
        }
    }

    /// Missing numbers come last in either direction.
    fn compare(self, a: &CandidateRow, b: &CandidateRow, reverse: bool) -> Ordering {
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

impl From<&CandidateLine> for CandidateRow {
    fn from(line: &CandidateLine) -> Self {
        let alongside = line.alongside.clone().unwrap_or_default();
        Self {
            rank: 0,
            name: line.name.clone(),
            energy: line.summary.as_ref().map(|summary| summary.energy),
            distance: line.summary.as_ref().map(|summary| summary.distance),
            unlabelled: alongside.unlabelled,
            labelled: alongside.labelled,
            error: alongside.error(),
            elsewhere: None,
            verdict: line.verdict.clone(),
        }
    }
}

impl RankScreen {
    /// Whether the exact table is in front.
    pub fn shows_exact(&self, ranking: &LiveRanking, watch: &Watch) -> bool {
        let in_front = !self.released_in_front || ranking.released.is_none();
        in_front && ranking.exact(watch).is_some()
    }

    /// The table under this watch, sorted. Empty if nothing may be seen.
    pub fn rows(&self, ranking: &LiveRanking, watch: &Watch) -> Vec<CandidateRow> {
        let released = ranking.released.as_ref().filter(|_| !self.shows_exact(ranking, watch));
        let mut rows: Vec<CandidateRow> = match released {
            None => ranking
                .exact(watch)
                .map(|comparison| comparison.lines.iter().map(CandidateRow::from).collect())
                .unwrap_or_default(),
            Some(RankingSoFar::Table(lines, _) | RankingSoFar::Direction(lines, _)) => lines
                .iter()
                .map(|line| CandidateRow {
                    name: line.name.clone(),
                    energy: line.energy,
                    distance: line.distance,
                    verdict: if line.energy.is_some() { "" } else { "left out" }.to_owned(),
                    ..CandidateRow::default()
                })
                .collect(),
            Some(RankingSoFar::Errors(lines, _)) => lines
                .iter()
                .map(|line| CandidateRow {
                    name: line.name.clone(),
                    error: line.error,
                    elsewhere: line.elsewhere,
                    verdict: line.words(),
                    ..CandidateRow::default()
                })
                .collect(),
            Some(RankingSoFar::Winner(..)) => Vec::new(),
        };
        for (index, row) in rows.iter_mut().enumerate() {
            row.rank = index + 1;
        }
        rows.sort_by(|a, b| self.sort.compare(a, b, self.reverse));
        rows
    }

    /// The dataset that Enter selects.
    pub fn chosen(&self, context: &Context) -> Option<String> {
        if let Some(RankingSoFar::Winner(name, _)) = &context.ranking.released
            && !self.shows_exact(&context.ranking, &context.watch)
        {
            return Some(name.clone());
        }
        let rows = self.rows(&context.ranking, &context.watch);
        rows.get(self.selected).map(|row| row.name.clone())
    }
}
