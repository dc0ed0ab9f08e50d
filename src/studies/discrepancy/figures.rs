//! The plots of the study.

use super::{DELTA, DiscrepancyResult, DiscrepancyStudy, PUBLIC_RECORDS};
use crate::grid::{Harvest, epsilon_words};
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::table::{StudyTable, TableContent, TableRow};

impl DiscrepancyStudy {
    /// Discrepancy and error against n, a panel for every ε, with the names of their files.
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
        let sizes: Vec<f64> = self.sizes.iter().map(|size| *size as f64).collect();
        let series = |row: &TableRow, epsilon: f64| {
            let columns = problems.iter().zip(&row.cells).filter(|((_, own), _)| *own == epsilon);
            let points: Vec<Point> = columns
                .filter_map(|((n, _), cell)| {
                    Some(Point { x: *n as f64, y: cell.mean()?, spread: cell.deviation() })
                })
                .collect();
            let mark = if points.len() > 1 { Mark::Line } else { Mark::Level };
            ChartSeries { name: row.label.clone(), mark, points }
        };
        let panel = |epsilon: &f64| Panel {
            title: epsilon_words(*epsilon),
            horizontal: AxisSide::log("private records n").at(&sizes),
            series: table
                .rows
                .iter()
                .map(|row| series(row, *epsilon))
                .filter(|series| !series.points.is_empty())
                .collect(),
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
            panels: self.epsilons.iter().map(panel).collect(),
        }
    }
}
