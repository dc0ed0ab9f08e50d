//! Rank: which public data can stand in for the private data.

mod state;
mod update;
mod view;

use ratatui::layout::Rect;

use super::{Keys, Screen, explained, moved_in};
use crate::canvas::Canvas;
use crate::context::{Change, Context};
use crate::glossary::Explained;
use crate::privacy::Watch;
use crate::rank::candidate_line::Mean;
use crate::tab::Pane;
use crate::text_table::Sheet;
pub use state::{CANDIDATES, CandidateRow, RankColumn, RankScreen};

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
        explained([
            self.sort.word(),
            "energy",
            "distance",
            "discrepancy",
            "labelled discrepancy",
            "public model's error",
            "error elsewhere",
            "principal angles",
            "ranking",
            "exact number",
            "released",
        ])
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
