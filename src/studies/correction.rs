//! The study of corrections: public predictors alone, an expert's approach, and public shapes with
//! a private correction, on real datasets with a natural shift.
//!
//! Errors are relative to the exact linear model of the private records alone: mean squared error
//! for a regression, logarithmic loss for a classification.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::labelled::{LabelledProblem, SplitModels};
use super::shown::{SplitErrors, SplitScores, error_tables};
use super::table::{ExpectedMean, StudyTable, TableRow};
use crate::data::{PublicRecords, Task};
use crate::error::Result;
use crate::evaluation::Measured;
use crate::methods::Value;
use crate::methods::labelled::public_shape::{self, Ground};
use crate::model::{Model, Shape};
use crate::privacy::Target;
use halflight_advice::rehearsal::{ErrorMeasure, RehearsalNoise, Split, Trial};

/// The rows of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CorrectionRow {
    Linear,
    Trees,
    Base,
    WarmStart,
    Profiled,
    Correction,
    /// Trees on public and private records together; where true, a column says which are which.
    OnAll(bool),
}

const ENTRIES: [(CorrectionRow, &str); 8] = [
    (CorrectionRow::Linear, "public linear"),
    (CorrectionRow::Trees, "public trees"),
    (CorrectionRow::Base, "public mixture"),
    (CorrectionRow::WarmStart, "noisy warm start, linear"),
    (CorrectionRow::Profiled, "profiled"),
    (CorrectionRow::Correction, "public shape"),
    (CorrectionRow::OnAll(false), "trees on all records, no privacy"),
    (CorrectionRow::OnAll(true), "trees on all records, told which are private"),
];
const CORRECTION: usize = 5;
/// The better public model, the method, and trees on all records.
const COMPARED: [(usize, &str); 5] = [
    (0, "public linear"),
    (1, "public trees"),
    (CORRECTION, "public shape"),
    (6, "trees on all"),
    (7, "trees, told which are private"),
];

/// From this many private records times ε on, half of the way to trees on all records is wanted.
const MUCH: f64 = 5000.0;

/// Goals for the geometric mean, by ε.
const WANTED: [(f64, f64); 5] = [(0.1, 1.04), (0.5, 0.96), (1.0, 0.94), (2.0, 0.93), (5.0, 0.92)];

/// A problem with the predictors trained on its public records.
#[derive(Debug)]
pub struct TaughtProblem {
    problem: LabelledProblem,
    /// The public records prepared for trees, with the results learned from them: the same in all
    /// splits.
    public: OnceLock<PublicRecords>,
}

#[derive(Debug)]
pub struct CorrectionStudy {
    pub subjects: Vec<TaughtProblem>,
    pub epsilons: Vec<f64>,
    pub seeds: Vec<u64>,
    /// Only the method itself and the entries that take no time.
    pub alone: bool,
    /// Whether the rules of the method were chosen on these problems; goals are only for those.
    pub chosen_on: bool,
}

impl CorrectionStudy {
    pub fn new(problems: Vec<LabelledProblem>, quick: bool, seeds: u64, chosen_on: bool) -> Self {
        let epsilons = if quick { vec![0.5, 5.0] } else { vec![0.1, 0.5, 1.0, 2.0, 5.0] };
        let subject = |problem| TaughtProblem { problem, public: OnceLock::new() };
        let subjects = problems.into_iter().map(subject).collect();
        Self { subjects, epsilons, seeds: (0..seeds).collect(), alone: quick, chosen_on }
    }

    /// One row per dataset: a task measures everything on one split.
    pub fn grid(&self) -> Grid {
        Grid::new(self.subjects.iter().map(|it| it.problem.case.name), ["split"], &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<SplitErrors>> {
        let subject = &self.subjects[place.row];
        let case = subject.problem.case;
        let plain = subject.problem.split(place.repetition)?;
        let mut wide =
            subject.problem.split_by(subject.problem.wide_preparation()?, place.repetition)?;
        wide.public = subject.public.get_or_init(|| wide.public).clone();
        let ground = &*public_shape::ground(&wide.problem())?;
        let exact = Split::exact(case.task, &plain.private)?;
        let (unit, exact) =
            (plain.loss(&exact, ErrorMeasure::MeanSquare)?, plain.measured(&exact)?);
        let (mut losses, mut entries) = (Vec::new(), Vec::new());
        let judged = |split: &Split, model: Model| -> Result<(f64, Option<Measured>)> {
            Ok((split.loss(&model, ErrorMeasure::MeanSquare)?, Some(split.measured(&model)?)))
        };
        for (entry, _) in ENTRIES {
            let mut found: Vec<(f64, Option<Measured>)> = Vec::new();
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let target = Target { epsilon: *epsilon, delta: case.delta };
                let seed = place.seed().wrapping_add(k as u64);
                found.push(match entry {
                    CorrectionRow::Linear | CorrectionRow::Trees | CorrectionRow::Base if k > 0 => {
                        found[0]
                    }
                    CorrectionRow::Linear => judged(&wide, alone(ground, 0))?,
                    CorrectionRow::Trees => judged(&wide, alone(ground, 2))?,
                    CorrectionRow::Base => judged(&wide, Model::Shape(ground.shape.clone()))?,
                    CorrectionRow::WarmStart
                    | CorrectionRow::Profiled
                    | CorrectionRow::OnAll(_)
                        if self.alone =>
                    {
                        (f64::NAN, None)
                    }
                    CorrectionRow::OnAll(_) if k > 0 => found[0],
                    CorrectionRow::OnAll(told) => {
                        let all = subject.problem.split_on_all(place.repetition, told)?;
                        judged(&all, alone(&*public_shape::ground(&all.problem())?, 2))?
                    }
                    CorrectionRow::WarmStart => {
                        judged(&plain, linear(case.task, &plain, target, seed, true)?)?
                    }
                    CorrectionRow::Profiled => {
                        judged(&plain, linear(case.task, &plain, target, seed, false)?)?
                    }
                    CorrectionRow::Correction => {
                        judged(&wide, correct(case.task, &wide, target, seed)?)?
                    }
                });
            }
            losses.push(found.iter().map(|(loss, _)| loss / unit).collect());
            entries.push(found.into_iter().map(|(_, measured)| measured).collect());
        }
        Ok(Some(SplitErrors { losses, scores: SplitScores { entries, exact } }))
    }

    pub fn tables(&self, harvest: &Harvest<SplitErrors>) -> Vec<StudyTable> {
        let columns = epsilon_columns(&self.epsilons);
        let entries = ENTRIES.map(|(_, title)| title.to_owned());
        let cases = self.subjects.iter().map(|it| it.problem.case).enumerate();
        let cases: Vec<_> = cases.collect();
        let mut tables = error_tables(harvest, &cases, (&entries, &columns), "geometric mean");
        for table in &mut tables[..cases.len()] {
            let best = |k: usize| {
                let others = [0, 1, 3].map(|entry| table.rows[entry].cells[k].mean());
                others.into_iter().flatten().fold(f64::INFINITY, f64::min)
            };
            let bounds: Vec<f64> = (0..columns.len()).map(|k| 1.02 * best(k)).collect();
            table.want(ENTRIES[CORRECTION].1, |k| Some(ExpectedMean::AtMost(bounds[k])));
        }
        tables[cases.len()].want(ENTRIES[CORRECTION].1, |k| {
            let mut goals = WANTED.iter().filter(|_| self.chosen_on);
            let wanted = goals.find(|(epsilon, _)| *epsilon == self.epsilons[k]);
            wanted.map(|(_, bound)| ExpectedMean::AtMost(*bound))
        });
        let limits = self.limits(&tables[..cases.len()]);
        if limits.has_any() {
            tables.insert(cases.len() + 1, limits);
        }
        tables
    }

    /// The errors of the method and of trees on all records, where private records times ε are many.
    fn limits(&self, tables: &[StudyTable]) -> StudyTable {
        let mut rows = Vec::new();
        for (subject, table) in self.subjects.iter().zip(tables) {
            let count = subject.problem.private_records();
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let title = format!("{}, n = {count}, ε = {epsilon}", subject.problem.case.name);
                let errors = COMPARED.map(|(entry, _)| table.rows[entry].mean(k));
                let errors: Option<Vec<f64>> = errors.into_iter().collect();
                rows.extend(
                    errors.filter(|_| count as f64 * epsilon >= MUCH).map(|it| (title, it)),
                );
            }
        }
        let mean = |at: usize| {
            let logarithms = rows.iter().map(|(_, errors)| errors[at].ln());
            (logarithms.sum::<f64>() / rows.len() as f64).exp()
        };
        let mean = ("geometric mean".to_owned(), (0..COMPARED.len()).map(mean).collect());
        let mean = (!rows.is_empty()).then_some(mean);
        let rows = rows.into_iter().chain(mean);
        StudyTable::new(
            format!("private records times ε from {MUCH} on"),
            COMPARED.map(|(_, title)| title),
            rows.map(|(title, errors)| TableRow::new(title, errors.into_iter().map(|it| [it]))),
        )
    }

    pub fn header(&self, missing: &[&str]) -> Vec<String> {
        let lines = [
            "Public shape, private correction: errors on target records that no method saw, \
             relative to the exact non-private linear model of the private records (mean squared \
             error, or logarithmic loss of classes).",
            "Goals: at most 2 % more than the best of public linear, public trees and the noisy \
             warm start, and the geometric means in the last table.",
            if self.chosen_on {
                "The defaults of the method were chosen on these shifts."
            } else {
                "These are other shifts of the datasets on which the defaults were chosen."
            },
        ];
        super::header(lines, missing)
    }
}

/// One predictor without the others.
pub(super) fn alone(ground: &Ground, predictor: usize) -> Model {
    let mut shape: Shape = ground.shape.clone();
    shape.base = vec![0.0; shape.base.len()];
    shape.base[predictor] = 1.0;
    Model::Shape(shape)
}

fn correct(task: Task, split: &Split, target: Target, seed: u64) -> Result<Model> {
    let method = if task == Task::Regression { "public_shape" } else { "public_shape_classes" };
    Ok(split.trial(method, RehearsalNoise::For(target), seed).run_sealed()?.model)
}

/// The profiled method, or noisy descent from the public solution on private records alone.
fn linear(task: Task, split: &Split, target: Target, seed: u64, warm: bool) -> Result<Model> {
    let id = if task == Task::Regression { "profiled_cnvx_adap" } else { "profiled_logistic" };
    let trial = split.trial(id, RehearsalNoise::For(target), seed);
    let trial = if warm { warm_start(trial) } else { trial };
    Ok(trial.run_sealed()?.model)
}

/// A profiled method as noisy descent from the public solution on private records alone.
pub(super) fn warm_start(trial: Trial<'_>) -> Trial<'_> {
    let settings = BTreeMap::from([
        ("alpha".to_owned(), Value::Number(0.01)),
        ("pull".to_owned(), Value::Number(0.0)),
        ("weighting".to_owned(), Value::Text("pooled".to_owned())),
    ]);
    Trial { settings, ..trial }
}
