//! The study of record counts: errors over the numbers of private and of public records, after
//! figures 1 to 3 of the paper of `CnvxAdap`.
//!
//! As there, private records beyond those that a dataset has are drawn with replacement, and each
//! copy counts as a record of its own. All errors of a split are relative to the exact model of all
//! its private records, so that they can be compared over the counts.

use super::grid::{Grid, GridTask, Harvest};
use super::labelled::{
    ALL_PUBLIC, CNVX_ADAP, CNVX_ADAP_PRINTED, LabelledProblem, LabelledRow, NCNVX_ADAP,
    NCNVX_ADAP_PRINTED, NOISY_TARGET, PROFILED, SplitModels, method,
};
use super::table::{StudyTable, TableRow};
use crate::data::Task;
use crate::error::Result;
use crate::plot::{AxisSide, Figure, Panel};
use halflight_advice::rehearsal::Split;

/// The methods; a row is for one task. "Private DM" re-weights public records and sees no private
/// label.
static ROWS: [LabelledRow; 10] = [
    method(NOISY_TARGET, Task::Regression, "target_only", &[]),
    method(NOISY_TARGET, Task::Classification, "target_only_logistic", &[]),
    CNVX_ADAP,
    CNVX_ADAP_PRINTED,
    ALL_PUBLIC,
    method("private DM (moment release)", Task::Regression, "moment_release", &[]),
    NCNVX_ADAP,
    NCNVX_ADAP_PRINTED,
    method(PROFILED, Task::Regression, "profiled_cnvx_adap", &[]),
    method(PROFILED, Task::Classification, "profiled_logistic", &[]),
];

/// Which records there are more or fewer of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Private,
    Public,
}

impl Side {
    const ALL: [Self; 2] = [Self::Private, Self::Public];

    fn words(self) -> &'static str {
        match self {
            Self::Private => "private records",
            Self::Public => "public records",
        }
    }
}

/// A number of records.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Count {
    /// Relative to that of the split.
    Times(f64),
    Exactly(usize),
}

/// For the quick study: the dataset of three of the paper's figures, and a small one.
const QUICK: [&str; 2] = ["gas", "german"];
/// The largest number of private records in the paper's figures.
const LARGEST: usize = 10_000;

#[derive(Debug)]
pub struct RecordCountStudy<'a> {
    problems: Vec<&'a LabelledProblem>,
    epsilons: Vec<f64>,
    counts: Vec<(Side, Count)>,
    seeds: Vec<u64>,
}

/// Relative errors of one split: by row, then by ε.
#[derive(Debug, Clone)]
pub struct RecordCountErrors(Vec<Option<Vec<f64>>>);

impl<'a> RecordCountStudy<'a> {
    pub fn new(problems: &'a [LabelledProblem], quick: bool, seeds: u64) -> Self {
        let (private, public, epsilons): (&[f64], &[f64], _) = if quick {
            (&[1.0], &[0.125], vec![1.0, 10.0])
        } else {
            (&[0.25, 0.5, 1.0, 2.0, 4.0], &[0.125, 0.25, 0.5, 1.0], vec![0.5, 1.0, 5.0, 15.0])
        };
        let of = |side, factors: &[f64]| -> Vec<(Side, Count)> {
            factors.iter().map(|factor| (side, Count::Times(*factor))).collect()
        };
        let largest = vec![(Side::Private, Count::Exactly(LARGEST))];
        let counts = [of(Side::Private, private), largest, of(Side::Public, public)].concat();
        let wanted = |it: &&LabelledProblem| !quick || QUICK.contains(&it.case.name);
        let problems = problems.iter().filter(wanted).collect();
        Self { problems, epsilons, counts, seeds: (0..seeds).collect() }
    }

    /// A row for each dataset, a column for each count.
    pub fn grid(&self) -> Grid {
        let title = |(side, count): &(Side, Count)| match count {
            Count::Times(factor) => format!("{} × {factor}", side.words()),
            Count::Exactly(count) => format!("{count} {}", side.words()),
        };
        Grid::new(
            self.problems.iter().map(|it| it.case.name),
            self.counts.iter().map(title),
            &self.seeds,
        )
    }

    /// Private and public records of a column.
    fn numbers(&self, problem: &LabelledProblem, column: usize) -> (usize, usize) {
        let (side, count) = self.counts[column];
        let all = (problem.private_records(), problem.source.rows());
        let part = |all: usize| match count {
            Count::Times(factor) => (factor * all as f64).round() as usize,
            Count::Exactly(count) => count,
        };
        match side {
            Side::Private => (part(all.0), all.1),
            Side::Public => (all.0, part(all.1)),
        }
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<RecordCountErrors>> {
        let problem = self.problems[place.row];
        let case = problem.case;
        let (private, public) = self.numbers(problem, place.column);
        let seed = place.repetition;
        let split = problem.tested(problem.resized(seed, private, public)?, seed)?;
        let whole = problem.tested(problem.split(seed)?, seed)?;
        let tuned = problem.tuned(seed)?;
        let unit = relative(case.task, &whole, &Split::exact(case.task, &whole.private)?)?;
        let mut measured = Vec::new();
        for (at, row) in ROWS.iter().enumerate() {
            if row.task.is_some_and(|task| task != case.task) {
                measured.push(None);
                continue;
            }
            let mut errors = Vec::new();
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let seed = place.seed().wrapping_add((at * self.epsilons.len() + k) as u64);
                let model = row.model(case, &split, &tuned, *epsilon, seed)?;
                errors.push(relative(case.task, &split, &model)? / unit);
            }
            measured.push(Some(errors));
        }
        Ok(Some(RecordCountErrors(measured)))
    }

    /// Errors over the private records, then over the public ones, for each dataset.
    pub fn tables(&self, harvest: &Harvest<RecordCountErrors>) -> Vec<StudyTable> {
        let of = |problem| Side::ALL.map(|side| self.table(harvest, problem, side));
        (0..self.problems.len()).flat_map(of).collect()
    }

    fn columns(&self, side: Side) -> impl Iterator<Item = usize> {
        (0..self.counts.len()).filter(move |column| self.counts[*column].0 == side)
    }

    fn table(
        &self,
        harvest: &Harvest<RecordCountErrors>,
        problem: usize,
        side: Side,
    ) -> StudyTable {
        let columns: Vec<usize> = self.columns(side).collect();
        let mut rows = Vec::new();
        for (at, row) in ROWS.iter().enumerate() {
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let cell = |column: &usize| {
                    let errors = harvest.of(problem, *column);
                    errors.filter_map(move |it| Some(it.0[at].as_ref()?[k]))
                };
                let label = format!("{}, ε={epsilon}", row.title);
                rows.push(TableRow::new(label, columns.iter().map(cell)));
            }
        }
        let case = self.problems[problem].case;
        let what = match case.task {
            Task::Regression => "mean squared error",
            Task::Classification => "wrong answers",
        };
        let title = format!(
            "{} · {what} over the number of {}, all private data without privacy = 1 · δ = {:e}",
            case.name,
            side.words(),
            case.delta
        );
        let columns = columns.iter().map(|it| self.count(problem, *it).to_string());
        StudyTable::new(title, columns, rows.into_iter().filter(TableRow::has_any))
    }

    /// The count of a column that changes.
    fn count(&self, problem: usize, column: usize) -> usize {
        let (private, public) = self.numbers(self.problems[problem], column);
        if self.counts[column].0 == Side::Private { private } else { public }
    }

    /// Errors as curves, a file for every dataset.
    pub fn figures(&self, harvest: &Harvest<RecordCountErrors>) -> Vec<(String, Figure)> {
        let panel = |problem: usize, side: Side| {
            let at: Vec<f64> =
                self.columns(side).map(|column| self.count(problem, column) as f64).collect();
            Panel {
                title: String::new(),
                horizontal: AxisSide::log(side.words()).at(&at),
                series: self.table(harvest, problem, side).series(&at),
            }
        };
        let figure = |problem: usize| {
            let case = self.problems[problem].case;
            let figure = Figure {
                title: format!("More records, less noise: {}", case.name),
                note: format!(
                    "δ = {:e}; mean ± sd over {} splits. Seeded noise on public data: not private.",
                    case.delta,
                    self.seeds.len()
                ),
                vertical: AxisSide::log("error, exact model of all private records = 1"),
                panels: Side::ALL.map(|side| panel(problem, side)).to_vec(),
            };
            (format!("counts-{}.svg", case.name), figure)
        };
        (0..self.problems.len()).map(figure).collect()
    }

    /// How this differs from the paper.
    pub fn header() -> String {
        "Errors over the number of records are its figures 1 to 3, up to its 10 000 private records: \
         with --quick on gas and german alone, by one split; its image sets are not at hand; and our profiled \
         method stands beside. Private records beyond those at hand are drawn with replacement, as \
         there. Its noisy SGD is 'private data only, noisy'; its private DM is our moment release, \
         which sees no private labels."
            .to_owned()
    }
}

/// Mean squared error, or the share of wrong answers.
fn relative(task: Task, split: &Split, model: &crate::model::Model) -> Result<f64> {
    let error = split.measured(model)?.error;
    Ok(if task == Task::Regression { error.powi(2) } else { error })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::labelled::CASES;

    #[test]
    fn more_private_records_lower_the_error_and_the_tables_have_their_counts() {
        let case = CASES.iter().find(|case| case.name == "german").unwrap();
        let bytes = crate::session::demo::builtin("german_credit").unwrap();
        let table = crate::data::read::csv::read_bytes("german", bytes).unwrap();
        let problems = [LabelledProblem::new(case, table).unwrap()];
        let study = RecordCountStudy {
            problems: problems.iter().collect(),
            epsilons: vec![2.0],
            counts: vec![
                (Side::Private, Count::Times(0.5)),
                (Side::Private, Count::Exactly(4672)),
                (Side::Public, Count::Times(0.5)),
            ],
            seeds: vec![0, 1],
        };
        let stop = AtomicBool::new(false);
        let harvest = study.grid().run(1, &stop, &mut |_| {}, |it| study.measure(it)).unwrap();
        let [private, public] = study.tables(&harvest).try_into().unwrap();
        let all = problems[0].private_records();
        assert_eq!(private.columns, [(all as f64 / 2.0).round().to_string(), "4672".to_owned()]);
        assert_eq!(public.columns.len(), 1);
        let noisy = private.row("private data only, noisy, ε=2").unwrap();
        assert!(noisy.mean(1).unwrap() < noisy.mean(0).unwrap());
        // Rows of numbers have no place in a table of classes.
        assert_eq!(private.rows.len(), 4);
        let [(name, figure)] = study.figures(&harvest).try_into().unwrap();
        assert_eq!((&*name, figure.panels.len()), ("counts-german.svg", 2));
        assert_eq!(figure.panels[0].series[0].points[1].x, 4672.0);
    }

    #[test]
    fn fewer_records_are_a_part_and_more_are_copies() {
        let case = CASES.iter().find(|case| case.name == "german").unwrap();
        let bytes = crate::session::demo::builtin("german_credit").unwrap();
        let table = crate::data::read::csv::read_bytes("german", bytes).unwrap();
        let problem = LabelledProblem::new(case, table).unwrap();
        let all = problem.private_records();
        let whole = problem.split(3).unwrap();
        let few = problem.resized(3, 10, 20).unwrap();
        let many = problem.resized(3, all + 50, 20).unwrap();
        assert_eq!((few.private.len(), few.public.len()), (10, 20));
        assert_eq!(many.private.len(), all + 50);
        assert_eq!(few.held_out, whole.held_out);
        let column = |data: &crate::data::Dataset, at: usize| data.features.column(at).into_owned();
        assert_eq!(column(&few.private, 9), column(&whole.private, 9));
        let last = column(&many.private, all + 49);
        assert!((0..all).any(|at| column(&whole.private, at) == last));
    }
}
