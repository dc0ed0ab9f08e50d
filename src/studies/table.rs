//! Rows × columns of mean ± sd, with the expected values.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::plot::number::compact_up;
use crate::plot::{ChartSeries, Mark, Point};

/// The text if nothing was measured.
const NOTHING: &str = "–";

#[derive(Debug, Clone, PartialEq)]
pub struct StudyTable {
    pub title: String,
    pub content: TableContent,
    pub columns: Vec<String>,
    pub rows: Vec<TableRow>,
}

/// The kind of numbers in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableContent {
    Measurements,
    /// ε, which is never rounded down.
    Privacy,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    pub label: String,
    /// One per column.
    pub cells: Vec<SeedValues>,
}

/// A number over several seeds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeedValues {
    pub samples: Vec<f64>,
    pub wanted: Option<ExpectedMean>,
}

/// The expected value of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpectedMean {
    AtMost(f64),
    AtLeast(f64),
    /// Within this share of a reference number.
    About(f64, f64),
}

impl ExpectedMean {
    fn is_met(self, mean: f64) -> bool {
        match self {
            Self::AtMost(bound) => mean <= bound,
            Self::AtLeast(bound) => mean >= bound,
            Self::About(reference, share) => (mean - reference).abs() <= share * reference.abs(),
        }
    }

    pub fn words(self) -> String {
        match self {
            Self::AtMost(bound) => format!("≤ {}", (bound * 1e4).round() / 1e4),
            Self::AtLeast(bound) => format!("≥ {}", (bound * 1e4).round() / 1e4),
            Self::About(reference, _) => format!("≈ {reference}"),
        }
    }
}

impl StudyTable {
    /// A table of measurements.
    pub fn new(
        title: impl Into<String>,
        columns: impl IntoIterator<Item: Into<String>>,
        rows: impl IntoIterator<Item = TableRow>,
    ) -> Self {
        Self {
            title: title.into(),
            content: TableContent::Measurements,
            columns: columns.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().collect(),
        }
    }
}

impl TableRow {
    /// A row with the samples of each cell.
    pub fn new(
        label: impl Into<String>,
        cells: impl IntoIterator<Item: IntoIterator<Item = f64>>,
    ) -> Self {
        let of = |samples| SeedValues::of(Vec::from_iter(samples));
        let cells = cells.into_iter().map(of);
        Self { label: label.into(), cells: cells.collect() }
    }

    /// Whether anything was measured.
    pub fn has_any(&self) -> bool {
        self.cells.iter().any(|cell| !cell.samples.is_empty())
    }
}

impl SeedValues {
    pub fn of(samples: Vec<f64>) -> Self {
        Self { samples, wanted: None }
    }

    pub fn mean(&self) -> Option<f64> {
        let count = self.samples.len() as f64;
        (count > 0.0).then(|| self.samples.iter().sum::<f64>() / count)
    }

    /// Standard deviation of the samples (n − 1); `None` for fewer than two.
    pub fn deviation(&self) -> Option<f64> {
        let (mean, count) = (self.mean()?, self.samples.len() as f64);
        let squares: f64 = self.samples.iter().map(|x| (x - mean).powi(2)).sum();
        (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
    }

    /// Whether the mean is as expected; `None` if nothing was expected or measured.
    pub fn is_met(&self) -> Option<bool> {
        Some(self.wanted?.is_met(self.mean()?))
    }

    /// `0.0123 ± 0.0004`: the mean with three digits and the deviation to the same place. Equal
    /// samples are shown as one number.
    fn words(&self, content: TableContent) -> String {
        let Some(mean) = self.mean() else { return NOTHING.to_owned() };
        if content == TableContent::Privacy {
            return compact_up(self.samples.iter().copied().fold(mean, f64::max));
        }
        let Some(deviation) = self.deviation().filter(|sd| *sd > 0.0) else {
            return three_digits(mean);
        };
        let decimals = decimals(mean);
        if !(0.001..1e5).contains(&mean.abs()) && mean != 0.0 {
            return format!("{mean:.2e} ± {deviation:.0e}");
        }
        format!("{mean:.decimals$} ± {deviation:.decimals$}")
    }
}

/// The number of decimals for three significant digits.
fn decimals(x: f64) -> usize {
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    (2 - x.abs().log10().floor() as i32).clamp(0, 6) as usize
}

fn three_digits(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if x != 0.0 && !(0.001..1e5).contains(&x.abs()) {
        return format!("{x:.2e}");
    }
    format!("{x:.*}", decimals(x))
}

impl StudyTable {
    /// Whether anything was measured.
    pub fn has_any(&self) -> bool {
        self.rows.iter().any(|row| row.cells.iter().any(|cell| !cell.samples.is_empty()))
    }
}

impl TableRow {
    pub fn mean(&self, column: usize) -> Option<f64> {
        self.cells.get(column)?.mean()
    }

    /// The number of cells that meet their goal, and the number with a goal.
    pub fn met(&self) -> Option<(usize, usize)> {
        let verdicts: Vec<bool> = self.cells.iter().filter_map(SeedValues::is_met).collect();
        let met = verdicts.iter().filter(|met| **met).count();
        (!verdicts.is_empty()).then_some((met, verdicts.len()))
    }

    /// `met` or `missed 2 of 6`.
    fn verdict(&self) -> String {
        match self.met() {
            None => String::new(),
            Some((met, all)) if met == all => "met".to_owned(),
            Some((met, all)) => format!("missed {} of {all}", all - met),
        }
    }
}

impl StudyTable {
    pub fn row(&self, label: &str) -> Option<&TableRow> {
        self.rows.iter().find(|row| row.label == label)
    }

    /// A line for every row over the values of its columns; infinity has no place in a plot.
    pub fn series(&self, at: &[f64]) -> Vec<ChartSeries> {
        let line = |row: &TableRow| {
            let cells = at.iter().zip(&row.cells).filter(|(x, _)| x.is_finite());
            let points = cells.filter_map(|(x, cell)| {
                Some(Point { x: *x, y: cell.mean()?, spread: cell.deviation() })
            });
            ChartSeries { name: row.label.clone(), mark: Mark::Line, points: points.collect() }
        };
        self.rows.iter().map(line).collect()
    }

    /// Sets the expected means of row `label`, by the index of the column.
    pub fn want(&mut self, label: &str, wanted: impl Fn(usize) -> Option<ExpectedMean>) {
        for row in self.rows.iter_mut().filter(|row| row.label == label) {
            for (column, cell) in row.cells.iter_mut().enumerate() {
                cell.wanted = wanted(column);
            }
        }
    }

    /// Title, head, and per row one line of numbers and, if there are goals, one of goals. A `✗`
    /// follows a number that misses its goal.
    pub fn text(&self) -> String {
        let lines = self.lines();
        let count = self.columns.len() + 2;
        let width = |column: usize| {
            lines.iter().filter_map(|line| line.get(column)).map(|cell| length(cell)).max()
        };
        let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = format!("{}\n", self.title);
        for line in &lines {
            let mut row = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let space = " ".repeat(width - length(cell));
                // Names to the left, numbers to the right, verdicts to the left.
                let (before, after) =
                    if column == 0 || column == count - 1 { ("", &*space) } else { (&*space, "") };
                let _ = write!(row, "  {before}{cell}{after}");
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let has_goals = |row: &TableRow| row.cells.iter().any(|cell| cell.wanted.is_some());
        // If any number has a mark after it, all leave room for one.
        let judged = self.rows.iter().any(has_goals);
        let with_mark = |words: &str, met: Option<bool>| match (judged, met) {
            (false, _) => words.to_owned(),
            (true, None) => format!("{words}  "),
            (true, Some(true)) => format!("{words} ✓"),
            (true, Some(false)) => format!("{words} ✗"),
        };
        let head = self.columns.iter().map(|column| with_mark(column, None));
        let mut lines: Vec<Vec<String>> =
            vec![std::iter::once(String::new()).chain(head).collect()];
        for row in &self.rows {
            let cells =
                row.cells.iter().map(|cell| with_mark(&cell.words(self.content), cell.is_met()));
            let line = std::iter::once(row.label.clone()).chain(cells).chain([row.verdict()]);
            lines.push(line.collect());
            if has_goals(row) {
                let words = row.cells.iter().map(|cell| cell.wanted.map(ExpectedMean::words));
                let cells = words.map(|words| with_mark(&words.unwrap_or_default(), None));
                lines.push(std::iter::once("  wanted".to_owned()).chain(cells).collect());
            }
        }
        lines
    }

    pub fn markdown(&self) -> String {
        let judged = self.rows.iter().any(|row| row.met().is_some());
        let mut text = format!("**{}**\n\n| ", self.title);
        for column in &self.columns {
            let _ = write!(text, "| {column} ");
        }
        text.push_str(if judged { "| verdict |\n|---" } else { "|\n|---" });
        text.push_str(&"|--:".repeat(self.columns.len()));
        text.push_str(if judged { "|---|\n" } else { "|\n" });
        for row in &self.rows {
            let _ = write!(text, "| {} ", row.label);
            for cell in &row.cells {
                let _ = write!(text, "| {}", cell.words(self.content));
                if let Some(wanted) = cell.wanted {
                    let _ = write!(text, " ({})", wanted.words());
                }
                text.push(' ');
            }
            if judged {
                let _ = write!(text, "| {} ", row.verdict());
            }
            text.push_str("|\n");
        }
        text
    }

    /// Every sample, so that a reader can compute what a mean hides.
    pub fn json(&self) -> Value {
        let cell = |(cell, column): (&SeedValues, &String)| {
            json!({
                "column": column,
                "mean": cell.mean().map(finite),
                "sd": cell.deviation().map(finite),
                "samples": cell.samples.iter().copied().map(finite).collect::<Vec<_>>(),
                "wanted": cell.wanted.map(ExpectedMean::words),
                "met": cell.is_met(),
            })
        };
        let row = |row: &TableRow| {
            let cells: Vec<Value> = row.cells.iter().zip(&self.columns).map(cell).collect();
            json!({ "row": row.label, "cells": cells })
        };
        json!({ "title": self.title, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

/// JSON has no infinity.
fn finite(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(three_digits(x)) }
}

/// The width in a terminal: every character in these tables is one cell wide.
fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> StudyTable {
        let cells =
            |numbers: &[&[f64]]| numbers.iter().map(|x| SeedValues::of(x.to_vec())).collect();
        let mut table = StudyTable {
            title: "‖M(q)‖₂".into(),
            content: TableContent::Measurements,
            columns: vec!["n=1000 ε=1".into(), "ε=4".into()],
            rows: vec![
                TableRow { label: "uniform".into(), cells: cells(&[&[0.38, 0.382], &[]]) },
                TableRow {
                    label: "moment release".into(),
                    cells: cells(&[&[0.01, 0.012], &[0.02]]),
                },
            ],
        };
        table.want("moment release", |_| Some(ExpectedMean::AtMost(0.0125)));
        table
    }

    #[test]
    fn means_and_deviations_are_those_of_the_samples() {
        let cell = SeedValues::of(vec![1.0, 2.0, 4.0, 5.0]);
        assert_eq!((cell.mean(), cell.deviation()), (Some(3.0), Some((10.0_f64 / 3.0).sqrt())));
        assert_eq!(SeedValues::of(vec![1.0]).deviation(), None);
        assert_eq!(SeedValues::default().mean(), None);
    }

    #[test]
    fn a_deviation_is_shown_to_the_place_of_its_mean() {
        for (samples, words) in [
            (vec![0.0120, 0.0130], "0.0125 ± 0.0007"),
            (vec![9.0, 10.0], "9.50 ± 0.71"),
            (vec![120.0, 130.0], "125 ± 7"),
            (vec![1e-5, 2e-5], "1.50e-5 ± 7e-6"),
            (vec![0.25], "0.250"),
            (vec![f64::INFINITY, f64::INFINITY], "∞"),
            (vec![0.0, 0.0], "0"),
            (vec![0.5, 0.5], "0.500"),
            (vec![], "–"),
        ] {
            assert_eq!(SeedValues::of(samples).words(TableContent::Measurements), words);
        }
    }

    #[test]
    fn an_epsilon_is_never_shown_smaller_than_it_is() {
        for (epsilon, words) in [(1.0, "1"), (1.0001, "1.01"), (123.4, "124")] {
            assert_eq!(SeedValues::of(vec![epsilon]).words(TableContent::Privacy), words);
        }
        assert_eq!(SeedValues::of(vec![1.0, 2.0]).words(TableContent::Privacy), "2");
    }

    #[test]
    fn columns_are_aligned_and_misses_are_marked() {
        assert_eq!(
            table().text(),
            "‖M(q)‖₂\n\
             \x20                      n=1000 ε=1         ε=4\n\
             \x20 uniform           0.381 ± 0.001           –\n\
             \x20 moment release  0.0110 ± 0.0014 ✓    0.0200 ✗  missed 1 of 2\n\
             \x20   wanted               ≤ 0.0125    ≤ 0.0125\n"
        );
    }

    #[test]
    fn markdown_and_json_say_the_same() {
        let table = table();
        let markdown = table.markdown();
        assert!(markdown.contains("| moment release | 0.0110 ± 0.0014 (≤ 0.0125) | 0.0200 (≤ 0.0125) | missed 1 of 2 |"), "{markdown}");
        assert!(markdown.lines().skip(2).all(|line| line.matches('|').count() == 5), "{markdown}");
        let json = table.json();
        assert_eq!(json["rows"][1]["cells"][0]["samples"][1], 0.012);
        assert_eq!(json["rows"][1]["cells"][1]["met"], false);
        assert!(json["rows"][0]["cells"][1]["mean"].is_null());
    }

    #[test]
    fn a_reference_is_met_within_its_share() {
        assert!(ExpectedMean::About(0.379, 0.05).is_met(0.37));
        assert!(!ExpectedMean::About(0.379, 0.05).is_met(0.35));
        assert!(
            ExpectedMean::AtMost(0.17).is_met(0.17) && !ExpectedMean::AtMost(0.17).is_met(0.1701)
        );
    }
}
