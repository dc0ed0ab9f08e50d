//! Columns that give the label away: the answer under another name.
//!
//! A model that learns from such a column looks perfect and is useless where the answer is not
//! known yet. The public records alone show this, so it is reported before anything is spent.
//!
//! Each column by itself predicts the label of every record from the other records: from those with
//! the same value, or, where a number occurs once, from its two nearest values. The remaining share
//! of the best constant's error shows how much the column gives away. Numeric columns that tell nothing
//! alone may still add up to the label, as two kinds of customers do to all of them: least squares
//! finds those.

use super::column::{Cell, Column, lacks_value};
use super::selection::used_columns;
use super::table::Table;
use super::{DatasetDefinition, Task};
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::least_squares::NormalEquations;

/// An honest measurement never leaves so little of the error.
const SUSPICIOUS: f64 = 0.02;
/// A column that leaves so little is worth the question whether it is known in time: a flight's delay at
/// departure leaves 12 to 20 % of that at arrival, and a wind station at least 27 % of another one. Many a
/// sensor tells a class as well as that, so there it says nothing.
const TELLING: f64 = 0.25;
/// With fewer records this may be chance.
const FEWEST: usize = 30;
/// This many records are enough; with many columns, fewer are used.
const MOST: usize = 4_000;
const MOST_CELLS: usize = 2_000_000;
/// Columns add up to the label if no more than this share of its variance is left: rounding.
const ROUNDING: f64 = 1e-5;
/// With more numeric columns the sum is not looked for: it would take seconds.
const MOST_SUMMANDS: usize = 100;

/// A warning for each column of the public records that nearly determines their label.
pub fn of_label(
    public: &Table,
    definition: &DatasetDefinition,
    label: &str,
) -> Result<Vec<String>> {
    let labels = public.column(label)?;
    let used = used_columns(definition, public)?;
    let rows = (MOST_CELLS / used.len().max(1)).clamp(FEWEST, MOST);
    let step = public.rows().div_ceil(rows).max(1);
    let (mut alone, mut telling, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for name in used.iter().filter(|name| *name != label) {
        let column = public.column(name)?;
        let left = left_of_the_error(column, labels, definition.task, step);
        match left {
            Some(left) if left < SUSPICIOUS => alone.push(name.as_str()),
            Some(left) if left < TELLING && definition.task == Task::Regression => {
                telling.push((name.as_str(), left));
            }
            _ => {}
        }
        all.push((name.as_str(), column));
    }
    // A summand that is nearly the whole sum tells the label almost exactly alone. One that is the label
    // in another unit hides the others.
    let found = (definition.task == Task::Regression).then(|| {
        summands(&all, labels, step).or_else(|| {
            let others = all.iter().filter(|(name, _)| !alone.contains(name)).copied();
            summands(&others.collect::<Vec<_>>(), labels, step)
        })
    });
    let found = found.flatten().unwrap_or_default();
    alone.retain(|name| !found.contains(name));
    let mut warnings: Vec<String> = alone
        .iter()
        .map(|name| {
            format!(
                "in the public data the column '{name}' alone tells the label '{label}' almost \
                 exactly. Is it the answer under another name? Then leave it out of the columns"
            )
        })
        .collect();
    telling.retain(|(name, _)| !found.contains(name));
    warnings.extend(telling.iter().map(|(name, left)| {
        let share = (100.0 * (1.0 - left)).floor();
        format!(
            "in the public data the column '{name}' alone explains {share} % of the label '{label}'. \
             Is it known before the label? If not, leave it out of the columns"
        )
    }));
    if !found.is_empty() {
        let summands: Vec<String> = found.iter().map(|name| format!("'{name}'")).collect();
        warnings.push(format!(
            "in the public data the columns {} together give the label '{label}' exactly, as the \
             parts of a sum do. Are they known before the label? If not, leave them out of the \
             columns",
            summands.join(", ")
        ));
    }
    Ok(warnings)
}

/// The fewest numeric columns, two or more, whose weighted sum is the label.
fn summands<'a>(
    columns: &[(&'a str, &Column)],
    labels: &Column,
    step: usize,
) -> Option<Vec<&'a str>> {
    let numeric = columns.iter().filter(|(_, column)| column.is_mostly_numbers());
    let numeric: Vec<_> = numeric.take(MOST_SUMMANDS + 1).collect();
    if numeric.len() < 2 || numeric.len() > MOST_SUMMANDS {
        return None;
    }
    let number = |column: &Column, row: usize| match column.cell(row) {
        Cell::Number(number) => Some(number),
        _ => None,
    };
    let complete = (0..labels.len()).step_by(step).filter_map(|row| {
        let label = number(labels, row)?;
        let values = numeric.iter().map(|(_, column)| number(column, row));
        Some((values.collect::<Option<Vec<f64>>>()?, label))
    });
    let (rows, labels): (Vec<Vec<f64>>, Vec<f64>) = complete.unzip();
    if rows.len() < FEWEST.max(3 * numeric.len()) {
        return None;
    }
    let labels = standardized(labels.into_iter())?;
    // A column that never changes adds nothing.
    let (names, values): (Vec<&str>, Vec<Vec<f64>>) = (0..numeric.len())
        .filter_map(|at| Some((numeric[at].0, standardized(rows.iter().map(|row| row[at]))?)))
        .unzip();
    let left = |kept: &[usize]| {
        let kept = kept.iter().map(|at| &values[*at]);
        left_of_the_variance(&kept.collect::<Vec<_>>(), &labels)
    };
    let mut kept: Vec<usize> = (0..names.len()).collect();
    if left(&kept) > ROUNDING {
        return None;
    }
    for at in 0..names.len() {
        let fewer: Vec<usize> = kept.iter().copied().filter(|other| *other != at).collect();
        if left(&fewer) <= ROUNDING {
            kept = fewer;
        }
    }
    (kept.len() > 1).then(|| kept.into_iter().map(|at| names[at]).collect())
}

/// Numbers with mean 0 and variance 1; `None` if they are all the same.
fn standardized(numbers: impl ExactSizeIterator<Item = f64> + Clone) -> Option<Vec<f64>> {
    let count = numbers.len() as f64;
    let mean = numbers.clone().sum::<f64>() / count;
    let variance = numbers.clone().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    let is_spread = variance.is_finite() && variance.sqrt() > 1e-9 * mean.abs();
    is_spread.then(|| numbers.map(|number| (number - mean) / variance.sqrt()).collect())
}

/// The share of the label's variance that least squares leaves; everything is standardized.
fn left_of_the_variance(features: &[&Vec<f64>], labels: &[f64]) -> f64 {
    let values = Matrix::from_fn(features.len(), labels.len(), |at, row| features[at][row]);
    let fitted = NormalEquations::mean(&values, labels).ridge(1e-10);
    let left = fitted.map(|weights| {
        let misses = values
            .tr_mul(&weights)
            .iter()
            .zip(labels)
            .map(|(fit, y)| (fit - y).powi(2))
            .sum::<f64>();
        misses / labels.len() as f64
    });
    left.unwrap_or(1.0)
}

/// The remaining share of the best constant's error when the column predicts the label.
fn left_of_the_error(column: &Column, labels: &Column, task: Task, step: usize) -> Option<f64> {
    if matches!(column, Column::Vectors(_)) || matches!(labels, Column::Vectors(_)) {
        return None;
    }
    let rows = (0..labels.len()).step_by(step);
    let pairs = rows.map(|row| (column.cell(row), labels.cell(row)));
    let mut pairs: Vec<(Cell, Cell)> =
        pairs.filter(|(value, label)| !lacks_value(value) && !lacks_value(label)).collect();
    if pairs.len() < FEWEST {
        return None;
    }
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (left, constant) = match task {
        Task::Regression => squares(&pairs)?,
        Task::Classification => wrong(&pairs),
    };
    (constant > 0.0).then(|| left / constant)
}

/// For each record, the other records that predict its label, if there are any.
fn guessers<'p, 'a>(
    pairs: &'p [(Cell<'a>, Cell<'a>)],
) -> impl Iterator<Item = (&'p Cell<'a>, Vec<&'p Cell<'a>>)> {
    let same = |value: &Cell| {
        let first = pairs.partition_point(|(other, _)| other < value);
        let last = pairs.partition_point(|(other, _)| other <= value);
        first..last
    };
    pairs.iter().enumerate().map(move |(place, (value, label))| {
        let group = same(value);
        let others: Vec<usize> = match (group.len(), value) {
            // A few represent all: a value shared by all records would need quadratic time.
            (2.., _) => group.filter(|other| *other != place).take(LISTENED_TO).collect(),
            (_, Cell::Number(_)) => {
                let beside = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
                beside.filter(|other| *other < pairs.len()).collect()
            }
            _ => Vec::new(),
        };
        (label, others.into_iter().map(|other| &pairs[other].1).collect())
    })
}

/// How many records with the same value are used.
const LISTENED_TO: usize = 50;

/// Sums of squared errors: of the column's prediction, and of the mean. `None` if a label is not a
/// number.
fn squares(pairs: &[(Cell, Cell)]) -> Option<(f64, f64)> {
    let number = |cell: &Cell| match cell {
        Cell::Number(number) => Some(*number),
        _ => None,
    };
    let labels: Option<Vec<f64>> = pairs.iter().map(|(_, label)| number(label)).collect();
    let labels = labels?;
    let mean = labels.iter().sum::<f64>() / labels.len() as f64;
    let constant = labels.iter().map(|label| (label - mean).powi(2)).sum();
    let left = guessers(pairs).zip(&labels).map(|((_, others), label)| {
        let told: Vec<f64> = others.into_iter().filter_map(number).collect();
        let guess =
            if told.is_empty() { mean } else { told.iter().sum::<f64>() / told.len() as f64 };
        (label - guess).powi(2)
    });
    Some((left.sum(), constant))
}

/// The number of wrong predictions by the column, and by the most common class.
fn wrong(pairs: &[(Cell, Cell)]) -> (f64, f64) {
    let mut labels: Vec<&Cell> = pairs.iter().map(|(_, label)| label).collect();
    labels.sort();
    let commonest = labels.chunk_by(|one, other| one == other).map(<[&Cell]>::len).max();
    let constant = pairs.len() - commonest.unwrap_or(0);
    let left = guessers(pairs).map(|(label, others)| {
        let right = others.iter().filter(|other| **other == label).count();
        if others.is_empty() { 1.0 } else { 1.0 - right as f64 / others.len() as f64 }
    });
    (left.sum(), constant as f64)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::{Role, Source, csv};

    /// Patients with an age, a grade from 0 to 4, a number of their own, and values derived from
    /// these.
    fn patients() -> Table {
        let mut text = "age,sex,grade,twin,noisy,id,ill,cost\n".to_owned();
        for row in 0..300_u32 {
            let chance = f64::from(row.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
            let age = 30.0 + 50.0 * chance;
            let other = f64::from(row.wrapping_mul(40_503) % 1000) / 1000.0;
            let ill = chance + other > 1.0;
            let grade = if ill { 1 + row % 4 } else { 0 };
            let cost = 100.0 * chance + 900.0 * other;
            let twin = 2.0 * cost + 7.0;
            let noisy = cost + 300.0 * (chance - 0.5);
            let sex = row % 2;
            let ill = if ill { "yes" } else { "no" };
            writeln!(text, "{age},{sex},{grade},{twin},{noisy},p{row},{ill},{cost}").unwrap();
        }
        csv::read_bytes("patients.csv", text.as_bytes()).unwrap()
    }

    fn warnings(label: &str, task: Task, left_out: &[&str]) -> String {
        let source = Source::File("patients.csv".into());
        let mut definition = DatasetDefinition::new("patients", Role::Public, source);
        definition.task = task;
        definition.label = Some(label.into());
        let left_out = left_out.iter().map(|name| (*name).to_owned()).collect();
        definition.columns = crate::Columns::Except(left_out);
        of_label(&patients(), &definition, label).unwrap().join("; ")
    }

    #[test]
    fn the_answer_under_another_name_is_found_and_nothing_else_is() {
        let found = warnings("ill", Task::Classification, &["cost", "twin", "noisy"]);
        assert!(found.contains("column 'grade' alone tells the label 'ill'"), "{found}");
        assert_eq!(found.matches("alone tells").count(), 1, "{found}");
        let found = warnings("cost", Task::Regression, &["ill"]);
        assert!(found.contains("column 'twin' alone tells the label 'cost'"), "{found}");
        assert_eq!(found.matches("alone tells").count(), 1, "{found}");
        assert_eq!(warnings("ill", Task::Classification, &["cost", "twin", "noisy", "grade"]), "");
    }

    #[test]
    fn a_column_that_tells_most_of_the_label_is_worth_a_question() {
        let found = warnings("cost", Task::Regression, &["ill", "twin", "age"]);
        assert!(found.contains("the column 'noisy' alone explains 9"), "{found}");
        assert!(found.contains("Is it known before the label?"), "{found}");
        assert_eq!(found.matches("in the public data").count(), 1, "{found}");
    }

    #[test]
    fn columns_that_add_up_to_the_label_are_named_and_no_others() {
        let mut text = "hour,casual,registered,temperature,weight,all\n".to_owned();
        for row in 0..200_u32 {
            let chance = |by: u32| row.wrapping_mul(by) >> 7 & 255;
            let (casual, registered) = (chance(2_654_435_761), chance(40_503_001));
            let (hour, weight) = (row % 24, 2 * casual + 3);
            let temperature = chance(12_345_671);
            let all = casual + 2 * registered + 5;
            let gap = if row == 7 { String::new() } else { hour.to_string() };
            writeln!(text, "{gap},{casual},{registered},{temperature},{weight},{all}").unwrap();
        }
        let table = csv::read_bytes("trips.csv", text.as_bytes()).unwrap();
        let source = Source::File("trips.csv".into());
        let mut definition = DatasetDefinition::new("trips", Role::Public, source);
        definition.label = Some("all".into());
        let mut found = |left_out: &[&str]| {
            let left_out = left_out.iter().map(|name| (*name).to_owned()).collect();
            definition.columns = crate::Columns::Except(left_out);
            of_label(&table, &definition, "all").unwrap().join("; ")
        };
        let exactly = "the columns 'casual', 'registered' together give the label 'all' exactly";
        assert!(found(&["weight"]).contains(exactly), "{}", found(&["weight"]));
        // Either of two columns that say the same is enough, and the last one is kept.
        assert!(
            found(&[]).contains("the columns 'registered', 'weight' together"),
            "{}",
            found(&[])
        );
        assert_eq!(found(&["registered"]), "");
        assert_eq!(found(&["casual", "weight"]), "");
        // Where nearly all are of one kind, that one tells the label almost exactly alone.
        let mut text = "hour,casual,registered,copy,all\n".to_owned();
        for row in 0..200_u32 {
            let (casual, registered) = (row * 7 % 13, row.wrapping_mul(2_654_435_761) >> 24);
            let all = casual + registered;
            writeln!(text, "{},{casual},{registered},{},{all}", row % 24, 3 * all + 1).unwrap();
        }
        let table = csv::read_bytes("trips.csv", text.as_bytes()).unwrap();
        let mut found = |left_out: &[&str]| {
            let left_out = left_out.iter().map(|name| (*name).to_owned()).collect();
            definition.columns = crate::Columns::Except(left_out);
            of_label(&table, &definition, "all").unwrap().join("; ")
        };
        let told = found(&["copy"]);
        assert!(told.contains(exactly) && !told.contains("alone"), "{told}");
        assert!(found(&[]).contains("'copy' alone"), "{}", found(&[]));
        assert!(found(&["casual", "copy"]).contains("'registered' alone"));
    }

    #[test]
    fn a_label_that_is_the_same_in_every_row_accuses_no_column() {
        let mut text = "a,y\n".to_owned();
        (0..50).for_each(|row| writeln!(text, "{row},1").unwrap());
        let table = csv::read_bytes("t.csv", text.as_bytes()).unwrap();
        let (column, labels) = (table.column("a").unwrap(), table.column("y").unwrap());
        for task in [Task::Regression, Task::Classification] {
            assert_eq!(left_of_the_error(column, labels, task, 1), None);
        }
    }
}
