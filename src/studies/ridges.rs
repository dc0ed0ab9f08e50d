//! The study of ridges: the public linear model and the methods that start from it, with fixed
//! ridges and with the one that public records choose.
//!
//! Errors are relative to the exact linear model of the private records alone, as in
//! [`super::correction`].

use std::collections::BTreeMap;

use super::grid::{Grid, GridTask, Harvest};
use super::labelled::{LabelledProblem, SplitModels};
use super::shown::{SplitErrors, SplitScores, error_tables};
use super::table::StudyTable;
use crate::data::Task;
use crate::error::Result;
use crate::evaluation::Measured;
use crate::methods::Value;
use crate::methods::baselines::reference::source_only;
use crate::methods::labelled::public_scores::public_solution;
use crate::model::Model;
use crate::privacy::Target;
use halflight_advice::rehearsal::{ErrorMeasure, RehearsalNoise, Split, Trial};

/// The ridges; 0 stands for the one that public records choose, which only classes have.
const RIDGES: [f64; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 0.0];

#[derive(Debug)]
pub struct RidgeStudy {
    problems: Vec<LabelledProblem>,
    epsilons: Vec<f64>,
    seeds: Vec<u64>,
}

impl RidgeStudy {
    pub fn new(problems: Vec<LabelledProblem>, quick: bool, seeds: u64) -> Self {
        let epsilons = if quick { vec![1.0] } else { vec![0.5, 1.0, 5.0] };
        Self { problems, epsilons, seeds: (0..seeds).collect() }
    }

    /// One row per dataset: a task measures everything on one split.
    pub fn grid(&self) -> Grid {
        LabelledProblem::grid(&self.problems, &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<SplitErrors>> {
        let problem = &self.problems[place.row];
        let case = problem.case;
        let split = problem.split(place.repetition)?;
        let exact = Split::exact(case.task, &split.private)?;
        let unit = split.loss(&exact, ErrorMeasure::MeanSquare)?;
        let judged = |model: &Model| -> Result<(f64, Option<Measured>)> {
            let loss = split.loss(model, ErrorMeasure::MeanSquare)?;
            Ok((loss / unit, Some(split.measured(model)?)))
        };
        let (mut losses, mut entries) = (Vec::new(), Vec::new());
        for ridge in RIDGES {
            let id = match case.task {
                Task::Regression if ridge == 0.0 => {
                    losses.push(vec![f64::NAN; self.columns().len()]);
                    entries.push(vec![None; self.columns().len()]);
                    continue;
                }
                Task::Regression => "profiled_cnvx_adap",
                Task::Classification => "profiled_logistic",
            };
            let public: Model = match case.task {
                Task::Regression => source_only(&*split.public, ridge)?.into(),
                Task::Classification => {
                    Model::Logistic(public_solution(&split.public, ridge)?.into())
                }
            };
            let mut found = vec![judged(&public)?];
            for (k, epsilon) in self.epsilons.iter().enumerate() {
                let noise = RehearsalNoise::For(Target { epsilon: *epsilon, delta: case.delta });
                let settings = BTreeMap::from([("ridge".to_owned(), Value::Number(ridge))]);
                let trial = split.trial(id, noise, place.seed().wrapping_add(k as u64));
                found.push(judged(&Trial { settings, ..trial }.run_sealed()?.model)?);
            }
            let (one, other) = found.into_iter().unzip();
            losses.push(one);
            entries.push(other);
        }
        let exact = split.measured(&exact)?;
        Ok(Some(SplitErrors { losses, scores: SplitScores { entries, exact } }))
    }

    fn columns(&self) -> Vec<String> {
        let noisy = self.epsilons.iter().map(|epsilon| format!("ε={epsilon}"));
        std::iter::once("public".to_owned()).chain(noisy).collect()
    }

    /// The tables of numbers, then those of classes.
    pub fn tables(&self, harvest: &Harvest<SplitErrors>) -> Vec<StudyTable> {
        let tasks = [(Task::Regression, "numbers"), (Task::Classification, "classes")];
        let of_task = |(task, words): (Task, &str)| {
            let all = self.problems.iter().map(|problem| problem.case).enumerate();
            let cases: Vec<_> = all.filter(|(_, case)| case.task == task).collect();
            let mean = format!("geometric mean, {words}");
            error_tables(harvest, &cases, (&labels(), &self.columns()), &mean)
        };
        let mut tables: Vec<StudyTable> = tasks.into_iter().flat_map(of_task).collect();
        tables.retain(StudyTable::has_any);
        tables
    }

    pub fn header(missing: &[&str]) -> Vec<String> {
        let lines = [
            "Ridges: errors on target records that no method saw, relative to the exact non-private \
             linear model of the private records (mean squared error, or logarithmic loss of \
             classes); lower is better.",
            "The column 'public' is the linear model of the public records, from which the profiled \
             methods start; the others are these methods with their other defaults.",
        ];
        super::header(lines, missing)
    }
}

fn labels() -> Vec<String> {
    let label = |ridge: f64| {
        if ridge == 0.0 { "chosen ridge".to_owned() } else { format!("ridge {ridge:e}") }
    };
    RIDGES.map(label).into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::labelled::CASES;

    #[test]
    fn on_german_credit_the_chosen_ridge_is_better_than_the_usual_one() {
        let bytes = crate::session::demo::builtin("german_credit").unwrap();
        let table = crate::data::read::csv::read_bytes("german_credit", bytes).unwrap();
        let case = CASES.iter().find(|case| case.name == "german").unwrap();
        let study = RidgeStudy::new(vec![LabelledProblem::new(case, table).unwrap()], true, 1);
        let task = |place: GridTask<'_>| study.measure(place);
        let harvest = study.grid().run(1, &AtomicBool::new(false), &mut |_| {}, task).unwrap();
        let tables = study.tables(&harvest);
        assert_eq!(&*tables[1].title, "geometric mean, classes");
        let mean = |row: &str, k| tables[1].row(row).unwrap().mean(k).unwrap();
        for k in 0..2 {
            let (chosen, usual) = (mean("chosen ridge", k), mean("ridge 1e-4", k));
            assert!(chosen < 0.98 * usual, "{k}: {chosen} {usual}");
        }
    }
}
