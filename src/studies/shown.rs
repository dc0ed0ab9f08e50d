//! The scores that tables show, beside a study's own measure of error.

use super::grid::Harvest;
use super::labelled::Case;
use super::table::{StudyTable, TableRow};
use crate::data::Task;
use crate::evaluation::Measured;

/// One score in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownScore {
    /// Mean squared error, or wrong answers; relative.
    Main,
    /// Right answers in %.
    Right,
    /// Mean absolute error; relative.
    Absolute,
    /// Balanced accuracy in %.
    Balanced,
    Auc,
}

impl ShownScore {
    pub const ALL: [Self; 5] = [Self::Main, Self::Right, Self::Absolute, Self::Balanced, Self::Auc];
    /// Scores beside the main error.
    pub const BESIDE: [Self; 3] = [Self::Absolute, Self::Balanced, Self::Auc];

    pub fn words(self, task: Task) -> &'static str {
        match (self, task) {
            (Self::Main, Task::Regression) => {
                "mean squared error, private data without privacy = 1"
            }
            (Self::Main, Task::Classification) => {
                "wrong answers, as a share, private data without privacy = 1"
            }
            (Self::Right, _) => "right answers, %",
            (Self::Absolute, _) => "mean absolute error, private data without privacy = 1",
            (Self::Balanced, _) => "balanced accuracy, %",
            (Self::Auc, _) => "AUC",
        }
    }

    /// Of a model; `exact` is that of private data without privacy.
    pub fn of(self, measured: &Measured, exact: &Measured, task: Task) -> Option<f64> {
        let share = measured.error / exact.error;
        let [absolute, balanced, auc] = measured.further.drawn();
        match self {
            Self::Main if task == Task::Regression => Some(share.powi(2)),
            Self::Main => Some(share),
            Self::Right => (task == Task::Classification).then_some(100.0 * (1.0 - measured.error)),
            Self::Absolute => Some(absolute? / exact.further.mean_absolute_error?),
            Self::Balanced => balanced,
            Self::Auc => auc,
        }
    }
}

/// The scores of one split: by entry of a table, then by ε.
#[derive(Debug, Clone)]
pub(super) struct SplitScores {
    /// `None` for what was not tried.
    pub entries: Vec<Vec<Option<Measured>>>,
    /// Of private data without privacy.
    pub exact: Measured,
}

/// The errors of one split, relative to private data without privacy.
#[derive(Debug, Clone)]
pub struct SplitErrors {
    /// By entry of a table, then by column; NaN for what was not tried.
    pub(super) losses: Vec<Vec<f64>>,
    pub(super) scores: SplitScores,
}

/// The errors of each of these rows of a grid, a table each, then their geometric mean with this
/// title, then the further scores.
pub(super) fn error_tables(
    harvest: &Harvest<SplitErrors>,
    cases: &[(usize, &'static Case)],
    (entries, columns): (&[String], &[String]),
    mean: &str,
) -> Vec<StudyTable> {
    let table = |title: String, cell: &dyn Fn(usize, usize) -> Vec<f64>| {
        let row = |(entry, label): (usize, &String)| {
            TableRow::new(label, (0..columns.len()).map(|k| cell(entry, k)))
        };
        StudyTable::new(title, columns, entries.iter().enumerate().map(row))
    };
    let of_case = |(at, case): &(usize, &Case)| {
        table(format!("{} · δ = {:e}", case.name, case.delta), &|entry, k| {
            let losses = harvest.of(*at, 0).map(|one| one.losses[entry][k]);
            losses.filter(|loss| loss.is_finite()).collect()
        })
    };
    let mut tables: Vec<StudyTable> = cases.iter().map(of_case).collect();
    let all = table(mean.to_owned(), &|entry, k| {
        let means = tables.iter().map(|it| it.rows[entry].cells[k].mean());
        let means: Option<Vec<f64>> = means.collect();
        let mean = means
            .filter(|means| !means.is_empty())
            .map(|means| (means.iter().map(|x| x.ln()).sum::<f64>() / means.len() as f64).exp());
        mean.into_iter().collect()
    });
    tables.push(all);
    for (at, case) in cases {
        let about = (case.name, case.task);
        tables.extend(beside(harvest, *at, |one| &one.scores, about, (entries, columns)));
    }
    tables
}

/// The scores beside the main error of row `row` of a grid, a table each, with these titles of
/// entries and columns. Scores that do not fit the task have no table.
pub(super) fn beside<T>(
    harvest: &Harvest<T>,
    row: usize,
    scores: impl Fn(&T) -> &SplitScores,
    (name, task): (&str, Task),
    (entries, columns): (&[String], &[String]),
) -> Vec<StudyTable> {
    let table = |shown: ShownScore| {
        let scores = &scores;
        let row_of = |(entry, label): (usize, &String)| {
            let cell = |column: usize| {
                harvest.of(row, 0).filter_map(move |one| {
                    let scores = scores(one);
                    shown.of(scores.entries[entry][column].as_ref()?, &scores.exact, task)
                })
            };
            TableRow::new(label, (0..columns.len()).map(cell))
        };
        let title = format!("{name} · {}", shown.words(task));
        StudyTable::new(title, columns, entries.iter().enumerate().map(row_of))
    };
    let mut tables: Vec<StudyTable> = ShownScore::BESIDE.map(table).into();
    tables.retain(StudyTable::has_any);
    tables
}
