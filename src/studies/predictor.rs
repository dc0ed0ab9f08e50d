//! The study of public predictors: methods with and without the score of a public model as one more
//! feature, on real datasets with a natural shift.
//!
//! Errors are relative to the exact linear model of the private records alone, as in
//! [`super::correction`].

use std::sync::OnceLock;

use super::grid::{Grid, GridTask, Harvest, epsilon_columns};
use super::labelled::{LabelledProblem, SplitModels};
use super::shown::{SplitErrors, SplitScores, error_tables};
use super::table::StudyTable;
use crate::data::{Preparation, PreparationSettings, PublicRecords, Task};
use crate::error::{Error, Result};
use crate::methods::PublicPredictor;
use crate::methods::public_predictor::{self, PublicRows};
use crate::privacy::Target;
use halflight_advice::rehearsal::{ErrorMeasure, RehearsalNoise, Split};

const PREDICTORS: [PublicPredictor; 3] =
    [PublicPredictor::None, PublicPredictor::Linear, PublicPredictor::Trees];

/// The methods for either task.
const METHODS: [(&str, &str, &str); 2] = [
    ("profiled", "profiled_cnvx_adap", "profiled_logistic"),
    ("private records alone", "target_only", "target_only_logistic"),
];

/// A problem with its public records, prepared with each predictor.
#[derive(Debug)]
struct ScoredProblem {
    problem: LabelledProblem,
    /// Public records that all splits share.
    public: [OnceLock<(Preparation, PublicRecords)>; PREDICTORS.len()],
}

#[derive(Debug)]
pub struct PredictorStudy {
    subjects: Vec<ScoredProblem>,
    epsilons: Vec<f64>,
    seeds: Vec<u64>,
}

impl ScoredProblem {
    /// The public records with the scores of a predictor, made once.
    fn public(&self, which: usize) -> Result<&(Preparation, PublicRecords)> {
        if let Some(known) = self.public[which].get() {
            return Ok(known);
        }
        let (table, plain) = (&self.problem.source, self.problem.preparation()?);
        let settings = PreparationSettings::default();
        let rows = PublicRows { table, owners: &[], settings: &settings, seed: 0 };
        let made = match public_predictor::fitted(&PREDICTORS[which], None, &plain, rows)? {
            None => (plain.clone(), plain.apply(table, "public", true)?),
            Some((scored, scores)) => {
                let public = scored.apply_scored(table, "public", true, &scores)?;
                (scored, public)
            }
        };
        Ok(self.public[which].get_or_init(|| (made.0, made.1.into())))
    }
}

impl PredictorStudy {
    pub fn new(problems: Vec<LabelledProblem>, quick: bool, seeds: u64) -> Self {
        let epsilons = if quick { vec![1.0] } else { vec![0.5, 1.0, 5.0] };
        let subject =
            |problem| ScoredProblem { problem, public: std::array::from_fn(|_| OnceLock::new()) };
        let subjects = problems.into_iter().map(subject).collect();
        Self { subjects, epsilons, seeds: (0..seeds).collect() }
    }

    /// One row per dataset: a task measures everything on one split.
    pub fn grid(&self) -> Grid {
        Grid::new(self.subjects.iter().map(|it| it.problem.case.name), ["split"], &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<SplitErrors>> {
        let subject = &self.subjects[place.row];
        let case = subject.problem.case;
        let split = |which: usize| -> Result<Split> {
            let (preparation, public) = subject.public(which)?;
            let (preparation, public) = (preparation.clone(), public.clone());
            subject.problem.split_with(preparation, public, place.repetition)
        };
        let splits = (0..PREDICTORS.len()).map(split).collect::<Result<Vec<_>>>()?;
        let plain = splits.first().ok_or_else(|| Error::failed("there is no split"))?;
        let exact = Split::exact(case.task, &plain.private)?;
        let (unit, exact) =
            (plain.loss(&exact, ErrorMeasure::MeanSquare)?, plain.measured(&exact)?);
        let (mut all, mut entries) = (Vec::new(), Vec::new());
        for (_, numbers, classes) in METHODS {
            let id = if case.task == Task::Regression { numbers } else { classes };
            for split in &splits {
                let (mut losses, mut scores) = (Vec::new(), Vec::new());
                for (k, epsilon) in self.epsilons.iter().enumerate() {
                    let target = Target { epsilon: *epsilon, delta: case.delta };
                    let seed = place.seed().wrapping_add(k as u64);
                    let trial = split.trial(id, RehearsalNoise::For(target), seed);
                    let model = trial.run_sealed()?.model;
                    losses.push(split.loss(&model, ErrorMeasure::MeanSquare)? / unit);
                    scores.push(Some(split.measured(&model)?));
                }
                all.push(losses);
                entries.push(scores);
            }
        }
        let scores = SplitScores { entries, exact };
        Ok(Some(SplitErrors { losses: all, scores }))
    }

    /// One table for each dataset, and one of geometric means over all.
    pub fn tables(&self, harvest: &Harvest<SplitErrors>) -> Vec<StudyTable> {
        let columns = epsilon_columns(&self.epsilons);
        let labels = METHODS.iter().flat_map(|(method, ..)| {
            PREDICTORS.iter().map(move |predictor| match predictor {
                PublicPredictor::None => (*method).to_owned(),
                other => format!("{method}, with public {other}"),
            })
        });
        let labels: Vec<String> = labels.collect();
        let cases = self.subjects.iter().map(|it| it.problem.case).enumerate();
        let all: Vec<_> = cases.collect();
        error_tables(harvest, &all, (&labels, &columns), "geometric mean")
    }

    pub fn header(missing: &[&str]) -> Vec<String> {
        let lines = [
            "Public predictors: errors on target records that no method saw, relative to the exact \
             non-private linear model of the private records (mean squared error, or logarithmic \
             loss of classes).",
            "Each method with its defaults, without a public predictor and with two kinds of it.",
        ];
        super::header(lines, missing)
    }
}
