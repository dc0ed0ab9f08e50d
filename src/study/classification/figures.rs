//! The plots of the studies.

use super::{ClassificationStudy, DELTA, WhichStudy, column};
use crate::adapt::Value;
use crate::evaluation::Measured;
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::study::grid::Harvest;
use crate::study::table::StudyTable;

impl ClassificationStudy {
    /// The figures with the names of their files.
    pub fn figures(&self, harvest: &Harvest<Measured>) -> Vec<(String, Figure)> {
        let right = self.answers(harvest);
        let answers = match self.subject {
            WhichStudy::Pillar => ("pillar", "Fewer directions, less noise", self.over_k(&right)),
            WhichStudy::Gep => {
                ("gep", "A public subspace for gradients", self.over_epsilon(&right))
            }
        };
        let note = format!(
            "{} private records, {} public, δ = {DELTA:e}; mean ± sd over {} seeds. Seeded noise \
             on public data: not private.",
            self.material.private,
            self.material.public,
            self.seeds.len()
        );
        let figure = |(stem, title, panel): (&str, &str, Panel), vertical: &str| {
            let figure = Figure {
                title: format!("{title}: {}", self.name()),
                note: note.clone(),
                vertical: AxisSide::linear(vertical),
                panels: vec![panel],
            };
            (file_name(stem, self.name()), figure)
        };
        let mut figures = vec![figure(answers, "right answers on test records, %")];
        if let Some(explained) = self.explained() {
            let at: Vec<f64> = self.components.iter().map(|k| *k as f64).collect();
            let panel = Panel {
                title: String::new(),
                horizontal: AxisSide::log("directions k").at(&at),
                series: explained.series(&at),
            };
            let explained = ("explained", "What k public directions keep", panel);
            figures.push(figure(explained, "energy of the public records, %"));
        }
        figures
    }

    /// A curve for every ε over k: where they cross, noise begins to cost more than the directions
    /// gain.
    fn over_k(&self, table: &StudyTable) -> Panel {
        let sweep = self.entries.iter().enumerate().filter_map(|(row, entry)| {
            let plain = entry.candidate.is_none() && entry.settings.len() == 1;
            match entry.settings.get("components") {
                Some(Value::Number(k)) if plain => Some((row, *k)),
                _ => None,
            }
        });
        let sweep: Vec<(usize, f64)> = sweep.collect();
        let series = |(at, epsilon): (usize, &f64)| ChartSeries {
            name: column(*epsilon),
            mark: Mark::Line,
            points: sweep
                .iter()
                .filter_map(|(row, k)| {
                    let cell = table.rows.get(*row)?.cells.get(at)?;
                    Some(Point { x: *k, y: cell.mean()?, spread: cell.deviation() })
                })
                .collect(),
        };
        let ticks: Vec<f64> = sweep.iter().map(|(_, k)| *k).collect();
        Panel {
            title: String::new(),
            horizontal: AxisSide::log("directions k").at(&ticks),
            series: self.epsilons.iter().enumerate().map(series).collect(),
        }
    }

    fn over_epsilon(&self, table: &StudyTable) -> Panel {
        Panel {
            title: String::new(),
            horizontal: AxisSide::log("ε").at(&self.epsilons),
            series: table.series(&self.epsilons),
        }
    }
}

/// The name of a file, from the kind of figure and the dataset.
fn file_name(stem: &str, dataset: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = dataset.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    format!("{stem}-{}.svg", words.join("-"))
}
