//! The plots of the study.

use super::entries::{DiscrepancyRow, ENTRIES};
use super::{DELTA, DiscrepancyResult, DiscrepancyStudy, PUBLIC_RECORDS};
use crate::grid::Harvest;
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::table::{StudyTable, TableContent, TableRow};

impl DiscrepancyStudy {
    /// Discrepancy and error against ε, a panel for every n, with the names of their files.
    pub fn figures(&self, harvest: &Harvest<DiscrepancyResult>) -> Vec<(String, Figure)> {
        let looks = [
            (
                "discrepancy.svg",
                "How close the re-weighted source comes to the target",
                AxisSide::log("‖M(q)‖₂ on the exact moment of the target, lower is better"),
            ),
            (
                "error.svg",
                "What it is worth to the model",
                AxisSide::linear(
                    "mean squared error on unseen target records × 10⁴, lower is better",
                ),
            ),
        ];
        let tables = self.tables(harvest);
        let measured = tables.iter().filter(|table| table.content == TableContent::Measurements);
        let figures = measured.zip(looks);
        figures
            .map(|(table, (name, title, side))| (name.to_owned(), self.figure(table, title, side)))
            .collect()
    }

    fn figure(&self, table: &StudyTable, title: &str, vertical: AxisSide) -> Figure {
        let problems = self.problems();
        let series = |row: &TableRow, size: usize| {
            let columns = problems.iter().zip(&row.cells).filter(|((n, _), _)| *n == size);
            let points = columns.filter_map(|((_, epsilon), cell)| {
                Some(Point { x: *epsilon, y: cell.mean()?, spread: cell.deviation() })
            });
            let entry = ENTRIES.iter().find(|entry| entry.title == row.label);
            let private = entry.is_some_and(DiscrepancyRow::has_noise);
            let mark = if private { Mark::Line } else { Mark::Level };
            ChartSeries { name: row.label.clone(), mark, points: points.collect() }
        };
        let panel = |size: &usize| Panel {
            title: format!("n = {size}"),
            horizontal: AxisSide::log("ε").at(&self.epsilons),
            series: table.rows.iter().map(|row| series(row, *size)).collect(),
        };
        Figure {
            title: title.to_owned(),
            note: format!(
                "d = {}, m = {PUBLIC_RECORDS}, δ = 1/{:.0}; mean ± sd over {} seeds. Seeded \
                 noise on public data: not private.",
                self.dimension,
                1.0 / DELTA,
                self.seeds.len()
            ),
            vertical,
            panels: self.sizes.iter().map(panel).collect(),
        }
    }
}
