//! The plots of the studies.

use super::{ClassificationStudy, DELTA, RowGroup, WhichStudy};
use crate::evaluation::Measured;
use crate::grid::{Harvest, epsilon_words};
use crate::methods::Value;
use crate::plot::{AxisSide, ChartSeries, Figure, Mark, Panel, Point};
use crate::table::{SeedValues, StudyTable};

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
        if let Some(mut separation) = self.separation() {
            separation.rows.retain(|row| row.label == "ξ");
            let at: Vec<f64> = self.components.iter().map(|k| *k as f64).collect();
            let panel = Panel {
                title: String::new(),
                horizontal: AxisSide::log("directions k").at(&at),
                series: separation.series(&at),
            };
            let separation = ("separation", "What k directions miss of the separators", panel);
            figures.push(figure(separation, "ξ, means over pairs of public classes"));
        }
        if let Some(panel) = self.over_private(harvest) {
            let fewer = ("fewer", "Fewer private records", panel);
            figures.push(figure(fewer, "right answers on test records, %"));
        }
        figures
    }

    /// For few and for all directions, a curve for every ε over the share of the private records.
    fn over_private(&self, harvest: &Harvest<Measured>) -> Option<Panel> {
        let shares: Vec<(usize, f64)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(row, entry)| match entry.group {
                RowGroup::Private(share) => Some((row, share)),
                _ => None,
            })
            .collect();
        let named = |row: usize| self.entries[row].title.split(", ").next().unwrap_or_default();
        let mut kinds: Vec<&str> = shares.iter().map(|(row, _)| named(*row)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut series = Vec::new();
        for kind in kinds {
            for (column_at, epsilon) in self.epsilons.iter().enumerate() {
                let of_kind = shares.iter().filter(|(row, _)| named(*row) == kind);
                let points = of_kind.filter_map(|(row, share)| {
                    let all = harvest.of(*row, column_at).map(Measured::right_in_percent);
                    let cell = SeedValues::of(all.collect());
                    Some(Point { x: 100.0 * share, y: cell.mean()?, spread: cell.deviation() })
                });
                let name = format!("{kind}, {}", epsilon_words(*epsilon));
                series.push(ChartSeries { name, mark: Mark::Line, points: points.collect() });
            }
        }
        let mut ticks: Vec<f64> = shares.iter().map(|(_, share)| 100.0 * share).collect();
        ticks.dedup();
        let horizontal = AxisSide::log("share of the private records, %").at(&ticks);
        (!series.is_empty()).then_some(Panel { title: String::new(), horizontal, series })
    }

    /// A curve for every ε over k: where they cross, noise begins to cost more than the directions
    /// gain.
    fn over_k(&self, table: &StudyTable) -> Panel {
        let sweep = self.entries.iter().enumerate().filter_map(|(row, entry)| {
            let plain = entry.candidate.is_none()
                && entry.settings.len() == 1
                && entry.group == RowGroup::Main;
            match entry.settings.get("components") {
                Some(Value::Number(k)) if plain => Some((row, *k)),
                _ => None,
            }
        });
        let sweep: Vec<(usize, f64)> = sweep.collect();
        let series = |(at, epsilon): (usize, &f64)| ChartSeries {
            name: epsilon_words(*epsilon),
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
