//! Rank: which public data can stand in for the private data.

mod update;
mod view;

use std::cmp::Ordering;

use super::{Keys, Screen, explained, moved_in};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context};
use crate::glossary::Explained;
use crate::live_ranking::LiveRanking;
use crate::privacy::Watch;
use crate::rank::candidate_line::{CandidateLine, Mean};
use crate::rank::{Disclosed, ReleasedError, ReleasedLine};
use crate::tab::Pane;
use crate::text_table::Sheet;

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
    /// The bar of a score, after its column.
    Bar,
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

    /// The title, the word in the glossary, and the width if it is fixed.
    fn facts(self) -> (&'static str, &'static str, Option<u16>) {
        match self {
            Self::Rank => ("#", "ranking", Some(2)),
            Self::Name => ("dataset", "ranking", None),
            Self::Energy => ("energy ↑", "energy", Some(13)),
            Self::Distance => ("distance ↓", "distance", Some(13)),
            Self::Unlabelled => ("discrepancy ↓", "discrepancy", Some(14)),
            Self::Labelled => ("with labels ↓", "labelled discrepancy", Some(14)),
            Self::Error => ("error ↓", "public model's error", Some(13)),
            Self::Elsewhere => ("elsewhere ↓", "error elsewhere", Some(12)),
            Self::Verdict => ("verdict", "ranking", None),
            Self::Bar => ("", "", None),
        }
    }

    pub fn title(self) -> &'static str {
        self.facts().0
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
            Self::Name | Self::Verdict | Self::Bar => None,
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
        let of_line = |line: &ReleasedLine| CandidateRow {
            name: line.name.clone(),
            energy: line.energy,
            distance: line.distance,
            verdict: if line.energy.is_some() { "" } else { "left out" }.to_owned(),
            ..CandidateRow::default()
        };
        let of_error = |line: &ReleasedError| CandidateRow {
            name: line.name.clone(),
            error: line.error,
            elsewhere: line.elsewhere,
            verdict: line.words(),
            ..CandidateRow::default()
        };
        let released = ranking.released.as_ref().filter(|_| !self.shows_exact(ranking, watch));
        let mut rows: Vec<CandidateRow> = match released.map(|(found, _)| found) {
            None => {
                let lines = ranking.exact(watch).map(|comparison| comparison.lines.as_slice());
                lines.unwrap_or_default().iter().map(CandidateRow::from).collect()
            }
            Some(Disclosed::Table(lines) | Disclosed::Direction(lines)) => {
                lines.get().iter().map(of_line).collect()
            }
            Some(Disclosed::Errors(lines)) => lines.get().iter().map(of_error).collect(),
            Some(Disclosed::Winner(_)) => Vec::new(),
        };
        for (index, row) in rows.iter_mut().enumerate() {
            row.rank = index + 1;
        }
        rows.sort_by(|a, b| self.sort.compare(a, b, self.reverse));
        rows
    }

    /// The dataset that Enter selects.
    pub fn chosen(&self, context: &Context) -> Option<String> {
        if let Some((Disclosed::Winner(name), _)) = &context.ranking.released
            && !self.shows_exact(&context.ranking, &context.watch)
        {
            return Some(name.get().clone());
        }
        let rows = self.rows(&context.ranking, &context.watch);
        rows.get(self.selected).map(|row| row.name.clone())
    }
}

impl Screen for RankScreen {
    fn keys() -> Keys<Self> {
        update::KEYS
    }

    fn panes(&self, _: &Context) -> Vec<Pane> {
        vec![CANDIDATES]
    }

    fn select(&mut self, _: Pane, by: isize, context: &Context) {
        let count = self.rows(&context.ranking, &context.watch).len();
        self.selected = moved_in(count, self.selected, by);
    }

    fn next_step(&self, context: &Context) -> Option<String> {
        if context.ranking.work.is_some() {
            return Some("wait for the ranking, or c cancels it".to_owned());
        }
        if context.ranking.is_empty() {
            return Some(
                "r ranks by exact numbers, for your eyes; p privately, for some ε".to_owned(),
            );
        }
        Some("Enter takes the selected dataset into the plan".to_owned())
    }

    fn is_of_use(&self, name: &str, context: &Context) -> bool {
        match name {
            "cancel" => context.ranking.work.is_some(),
            "take" | "sort" | "reverse" => !context.ranking.is_empty(),
            "other result" => context.ranking.exact.is_some() && context.ranking.released.is_some(),
            _ => true,
        }
    }

    fn sort_by(&mut self, head: &str) {
        let Some(column) = RankColumn::ALL.into_iter().find(|column| column.title() == head) else {
            return;
        };
        self.reverse = self.sort == column && !self.reverse;
        self.sort = column;
    }

    fn words(&self, _: &Context) -> Vec<Explained> {
        let sort = self.sort.facts().1;
        explained(&format!(
            "{sort}; energy; distance; discrepancy; labelled discrepancy; public \
             model's error; error elsewhere; principal angles; ranking; exact number; released"
        ))
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn follow(&mut self, change: &Change, context: &mut Context) {
        match change {
            Change::Opened => *self = Self::default(),
            Change::Ranking => {
                self.selected = 0;
                let work = context.ranking.work.as_ref();
                self.released_in_front = work.is_some_and(|work| work.privately);
            }
            _ => {}
        }
    }

    /// Released numbers, or exact ones under an open watch.
    fn sheet(&self, context: &Context, watch: &Watch) -> Option<Sheet> {
        (!context.ranking.is_empty()).then_some(())?;
        let number =
            |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
        let mean =
            |it: Option<Mean>| [number(it.map(|it| it.mean)), number(it.map(|it| it.deviation))];
        let rows = self.rows(&context.ranking, watch).into_iter().map(|row| {
            let [energy, energy_sd] = mean(row.energy);
            let [distance, distance_sd] = mean(row.distance);
            let [error, error_sd] = mean(row.error);
            let [unlabelled, labelled] = [row.unlabelled, row.labelled].map(number);
            let first = [row.rank.to_string(), row.name, energy, energy_sd, distance, distance_sd];
            let others =
                [unlabelled, labelled, error, error_sd, number(row.elsewhere), row.verdict];
            first.into_iter().chain(others).collect()
        });
        let header = "rank,dataset,energy,energy_sd,distance,distance_sd,unlabelled_discrepancy,labelled_discrepancy,error,error_sd,error_elsewhere,verdict";
        Some(Sheet { header: header.split(',').map(str::to_owned).collect(), rows: rows.collect() })
    }
}
