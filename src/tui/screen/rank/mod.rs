//! Rank: which public data can stand in for the private data.

mod update;
mod view;

use super::{Keys, Screen, explained, moved_in};
use crate::canvas::{Canvas, Rect};
use crate::context::{Change, Context};
use crate::glossary::Explained;
use crate::live_ranking::LiveRanking;
use crate::privacy::Watch;
use crate::rank::candidate_line::{CandidateLine, CandidatePlace, Estimate, Mean};
use crate::rank::comparison::Comparison;
use crate::rank::{CandidateOrder, Disclosed, ReleasedError, ReleasedLine, verdict};
use crate::tab::Pane;
use crate::text_table::Sheet;

/// Ranked datasets.
pub const CANDIDATES: Pane = Pane::list("candidates");

#[derive(Debug, Default)]
pub struct RankScreen {
    /// Index in the table.
    pub selected: usize,
    /// The order of the exact table; `None` for the first that it has.
    pub order: Option<CandidateOrder>,
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
    /// The number of repeats behind energy and distance; `None` for released ones.
    pub repeats: Option<usize>,
    pub unlabelled: Option<f64>,
    pub labelled: Option<f64>,
    pub task2vec: Option<f64>,
    pub error: Option<Mean>,
    /// Whether errors are in units of the label, and not shares.
    pub in_label_units: bool,
    /// The error on the other public datasets.
    pub elsewhere: Option<f64>,
    /// A few words for a narrow column.
    pub verdict: String,
    /// The verdict as files have it.
    pub in_full: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RankColumn {
    #[default]
    Rank,
    Name,
    Gsd,
    Error,
    Elsewhere,
    Energy,
    Task2Vec,
    Verdict,
    /// The bar of a score, after its column.
    Bar,
}

impl RankColumn {
    pub const ALL: [Self; 8] = [
        Self::Rank,
        Self::Name,
        Self::Gsd,
        Self::Error,
        Self::Elsewhere,
        Self::Energy,
        Self::Task2Vec,
        Self::Verdict,
    ];

    /// The title, and the width if it is fixed.
    fn facts(self) -> (&'static str, Option<u16>) {
        match self {
            Self::Rank => ("#", Some(2)),
            Self::Name => ("dataset", None),
            Self::Gsd => ("GSD 0–1 ↓", Some(13)),
            Self::Error => ("error ↓", Some(13)),
            Self::Elsewhere => ("on others ↓", Some(12)),
            Self::Energy => ("energy 0–1 ↑", Some(13)),
            Self::Task2Vec => ("Task2Vec ↓", Some(11)),
            Self::Verdict => ("verdict", None),
            Self::Bar => ("", None),
        }
    }

    pub fn title(self) -> &'static str {
        self.facts().0
    }

    pub fn number(self, row: &CandidateRow) -> Option<f64> {
        match self {
            Self::Rank => Some(row.rank as f64),
            Self::Energy => row.energy.map(|energy| energy.mean),
            Self::Gsd => row.distance.map(|distance| distance.mean),
            Self::Task2Vec => row.task2vec,
            Self::Error => row.error.map(|error| error.mean),
            Self::Elsewhere => row.elsewhere,
            Self::Name | Self::Verdict | Self::Bar => None,
        }
    }
}

impl CandidateRow {
    /// An energy or a distance with its 95 % range: over repeats, or of the released noise.
    pub(super) fn estimate(&self, score: Option<Mean>) -> Option<Estimate> {
        score.map(|it| self.repeats.map_or_else(|| it.estimate(), |repeats| it.over(repeats)))
    }

    fn of(line: &CandidateLine, table: &Comparison, judged_by: CandidateOrder) -> Self {
        let alongside = line.alongside.clone().unwrap_or_default();
        Self {
            rank: 0,
            name: line.name.clone(),
            energy: line.summary.as_ref().map(|summary| summary.energy),
            distance: line.summary.as_ref().map(|summary| summary.distance),
            repeats: Some(table.repeats),
            unlabelled: alongside.unlabelled,
            labelled: alongside.labelled,
            task2vec: alongside.task2vec,
            error: alongside.error,
            in_label_units: table.in_label_units,
            elsewhere: None,
            verdict: verdict::in_short(line, judged_by).to_owned(),
            in_full: line.verdict.clone(),
        }
    }
}

impl RankScreen {
    /// Whether the table in front can be shown by GSD and by error.
    pub fn has_two_orders(&self, context: &Context) -> bool {
        let table = context.ranking.exact(&context.watch);
        self.shows_exact(&context.ranking, &context.watch)
            && table.is_some_and(|table| table.other.is_some())
    }

    /// Whether the exact table is in front.
    pub fn shows_exact(&self, ranking: &LiveRanking, watch: &Watch) -> bool {
        let in_front = !self.released_in_front || ranking.released.is_none();
        in_front && ranking.exact(watch).is_some()
    }

    /// The exact table in the wanted order, if it may be seen.
    pub fn exact<'a>(&self, ranking: &'a LiveRanking, watch: &Watch) -> Option<&'a Comparison> {
        let table = ranking.exact(watch)?;
        Some(self.order.and_then(|order| table.by(order)).unwrap_or(table))
    }

    /// The table under this watch. Empty if nothing may be seen.
    pub fn rows(&self, ranking: &LiveRanking, watch: &Watch) -> Vec<CandidateRow> {
        let of_line = |line: &ReleasedLine| CandidateRow {
            name: line.name.clone(),
            energy: line.energy,
            distance: line.distance,
            verdict: if line.energy.is_some() { "" } else { "left out" }.to_owned(),
            in_full: if line.energy.is_some() { "" } else { "left out" }.to_owned(),
            ..CandidateRow::default()
        };
        let of_error = |line: &ReleasedError| CandidateRow {
            name: line.name.clone(),
            error: line.error,
            in_label_units: line.in_label_units,
            elsewhere: line.elsewhere,
            verdict: line.words(),
            in_full: line.words(),
            ..CandidateRow::default()
        };
        let released = ranking.released.as_ref().filter(|_| !self.shows_exact(ranking, watch));
        let mut rows: Vec<CandidateRow> = match released.map(|(found, _)| found) {
            None => {
                let tables = self.exact(ranking, watch).zip(ranking.exact(watch));
                let rows = |(shown, first): (&Comparison, &Comparison)| -> Vec<CandidateRow> {
                    let row = |line| CandidateRow::of(line, shown, first.order);
                    shown.lines.iter().map(row).collect()
                };
                tables.into_iter().flat_map(rows).collect()
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
        rows
    }

    /// The datasets that Enter takes into the plan: the selected one, or all that cannot be told
    /// apart from the best if it is selected.
    pub fn advised(&self, context: &Context) -> Vec<String> {
        let chosen = self.chosen(context);
        let exact = self.shows_exact(&context.ranking, &context.watch);
        let table = self.exact(&context.ranking, &context.watch).filter(|_| exact);
        let lines = table.map_or(&[][..], |table| &table.lines);
        let both_orders = context.ranking.exact(&context.watch);
        let is_useful = |name: &str| both_orders.is_some_and(|table| !table.is_useless(name));
        let is_best = |line: &&CandidateLine| line.place == CandidatePlace::Best;
        let best = lines.iter().find(is_best).map(|best| &best.name);
        let takes_equals = chosen.as_ref() == best && best.is_some_and(|best| is_useful(best));
        let equal = lines.iter().filter(|line| {
            let tied = matches!(line.place, CandidatePlace::Tied(_));
            takes_equals && tied && is_useful(&line.name)
        });
        chosen.into_iter().chain(equal.map(|line| line.name.clone())).collect()
    }

    /// The selected dataset.
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
        Some(match &self.advised(context)[..] {
            [] => "v opens the view on this ranking; p ranks privately".to_owned(),
            [name] => {
                let all = context.session.ranking.public_names(&context.session).len();
                let only = if all > 1 { "only " } else { "" };
                let table = self.exact(&context.ranking, &context.watch);
                if all > 1 && table.is_some_and(|table| table.is_useless(name)) {
                    return Some(format!(
                        "3 plans with all of them together; Enter takes only {name}"
                    ));
                }
                format!("Enter plans with {only}{name}; 3 keeps the plan")
            }
            [first @ .., last] => {
                let first = first.join(", ");
                format!("Enter takes {first} and {last} into the plan: none is clearly better")
            }
        })
    }

    fn hindrance(&self, name: &str, context: &Context) -> Option<&'static str> {
        let LiveRanking { work, exact, released, .. } = &context.ranking;
        match name {
            "cancel" if work.is_none() => Some("no ranking is under way"),
            "take" if self.advised(context).is_empty() => {
                Some("there is no ranking to take from: r uses exact numbers, p is private")
            }
            "order" if !self.has_two_orders(context) => Some("there is no other order"),
            "other result" if exact.is_none() || released.is_none() => {
                Some("there is no other result: r ranks by exact numbers, p privately")
            }
            "like the plan" if context.shown_plan().is_none() => {
                Some("there is no plan yet: 3 makes one")
            }
            _ => None,
        }
    }

    fn sort_by(&mut self, head: &str) {
        self.order = match RankColumn::ALL.into_iter().find(|column| column.title() == head) {
            Some(RankColumn::Gsd) => Some(CandidateOrder::Distance),
            Some(RankColumn::Error) => Some(CandidateOrder::Error),
            _ => self.order,
        };
    }

    fn words(&self, context: &Context) -> Vec<Explained> {
        let settings = Explained {
            name: "settings of this ranking".to_owned(),
            also: "model directions order".to_owned(),
            text: view::settings(context),
        };
        let words = explained(
            "GSD; error of its own model; ranking; energy; discrepancy; labelled discrepancy; error \
             elsewhere; principal angles; exact number; released",
        );
        let result = view::in_words(self, context);
        result.into_iter().chain([settings]).chain(words).collect()
    }

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect) {
        view::view(self, context, canvas, area);
    }

    fn open(&mut self, context: &mut Context) {
        context.time_ranking();
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
            let [gsd, gsd_sd] = mean(row.distance);
            let [error, error_sd] = mean(row.error);
            let [unlabelled, labelled, task2vec] =
                [row.unlabelled, row.labelled, row.task2vec].map(number);
            let first = [row.rank.to_string(), row.name, energy, energy_sd, gsd, gsd_sd];
            let others = [
                unlabelled,
                labelled,
                task2vec,
                error,
                error_sd,
                number(row.elsewhere),
                row.in_full,
            ];
            first.into_iter().chain(others).collect()
        });
        let header = "rank,dataset,energy,energy_sd,gsd,gsd_sd,unlabelled_discrepancy,labelled_discrepancy,task2vec,error,error_sd,error_elsewhere,verdict";
        Some(Sheet { header: header.split(',').map(str::to_owned).collect(), rows: rows.collect() })
    }
}
