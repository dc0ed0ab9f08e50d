//! Scores of real tables: how often the printed ranges contain what their name says, how wide they
//! are compared with the forecast, and how often the cap cuts an error.
//!
//! Part of the target trains a model, and the others are the population from which held-out records
//! are drawn, again for every release.

use std::sync::OnceLock;

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::labelled::{self, CASES, Case, LabelledProblem};
use super::scores::{calibrated, coverage_words, released};
use super::{Grid, GridTask, Harvest, StudyTable};
use crate::data::{DatasetDefinition, Role, Source, Task};
use crate::error::{Error, Result};
use crate::evaluation::scoring::{Scoring, reach_for};
use crate::evaluation::tally::Losses;
use crate::evaluation::{Answers, Evaluation, Loss, Scored, UsualErrors, together};
use crate::methods::baselines::elsewhere::errors_elsewhere;
use crate::methods::trial::RehearsalNoise;
use crate::model::Model;
use crate::privacy::Target;

/// The number of releases per task.
const EACH: usize = 50;
/// The number of releases per cell, unless seeds are given.
const RELEASES: usize = 2000;

/// Held-out records and ε of each column.
const COLUMNS: [(usize, f64); 3] = [(400, 1.0), (2000, 1.0), (400, 5.0)];
/// The ε with which the model is trained.
const TRAINED: f64 = 1.0;

/// The tables by which the rule of the cap was chosen.
pub const CHOSEN_ON: usize = 6;

pub static TABLES: [Case; 12] = [
    Case { ..CASES[0] },
    Case { ..CASES[1] },
    Case { ..CASES[2] },
    Case { ..CASES[3] },
    Case { ..CASES[4] },
    Case {
        name: "adult-hours",
        label: "hours_per_week",
        task: Task::Regression,
        except: &["split", "fnlwgt", "education", "sex", "native_country", "income"],
        ..CASES[5]
    },
    Case {
        name: "airline-2008",
        file: "airline_ord_2008/airline_ord_2008_jan_apr.csv",
        source: "month == 3",
        target: "month == 4",
        label: "arrDelay",
        only: &[
            "dayOfWeek",
            "crsDepTime",
            "crsArrTime",
            "uniqueCarrier",
            "crsElapsedTime",
            "distance",
        ],
        categories: &[],
        ..CASES[4]
    },
    Case {
        name: "german-amount",
        label: "credit_amount",
        source: "age >= 28",
        target: "age < 28",
        task: Task::Regression,
        except: &["age", "credit_risk"],
        ..CASES[6]
    },
    Case { name: "heart-age", label: "age", task: Task::Regression, ..labelled::HEART },
    Case { name: "wine-alcohol", label: "alcohol", except: &["colour", "density"], ..CASES[2] },
    Case {
        name: "casual-riders",
        label: "casual",
        source: "workingday == 1",
        target: "workingday == 0",
        only: &["season", "hr", "weathersit", "temp", "hum", "windspeed"],
        ..CASES[1]
    },
    Case {
        name: "wind-rosslare",
        label: "ROS",
        source: "month != 6",
        target: "month == 6",
        only: &["RPT", "VAL", "KIL", "SHA", "BIR", "DUB", "CLA", "MUL", "CLO", "BEL", "MAL"],
        ..CASES[0]
    },
];

/// A table with its models.
struct Subject {
    problem: LabelledProblem,
    /// Worked out when the first task asks for it.
    known: OnceLock<Result<Known>>,
}

/// Errors in units of the label.
struct Known {
    usual: UsualErrors,
    /// The difference of the largest and the smallest label.
    bound: f64,
    /// Of each record of the population.
    errors: Vec<Errors>,
    /// How far the answers of the model and of public data alone are apart on public records.
    apart: f64,
}

/// Errors on one record.
#[derive(Clone, Copy)]
struct Errors {
    own: f64,
    public: f64,
    constant: f64,
}

pub struct Study {
    subjects: Vec<Subject>,
    seeds: Vec<u64>,
}

/// Sums over the releases of one task.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// How often each of [`RANGES`] contains the truth.
    held: [f64; 9],
    half_width: f64,
    /// The upper end without the cap, over the error without the cap.
    high: f64,
    /// The forecast of the half-width.
    forecast: f64,
    /// The share of errors of the population at or above the cap.
    above: f64,
    /// The mean error of the population without the cap.
    error: f64,
    /// The limit of differences, as a share of the cap.
    reach: f64,
    /// The share of records whose errors differ by more.
    beyond: f64,
    /// Half of the range of the difference.
    half_difference: f64,
    /// Half of the range of an error at a third of the ε, joined and by itself.
    half_joined: [f64; 2],
}

const RANGES: [&str; 9] = [
    "capped error",
    "capped error of one answer for all",
    "capped error of public data alone",
    "difference of capped errors",
    "capped error of public data alone, joined from three scores of the same records",
    "capped error at a third of the ε, joined with two other scores",
    "difference at a third of the ε, joined with two other scores",
    "error without the cap",
    "share of records above the cap",
];

impl Subject {
    fn known(&self) -> Result<&Known> {
        self.known.get_or_init(|| self.learn()).as_ref().map_err(Clone::clone)
    }

    fn learn(&self) -> Result<Known> {
        let (problem, case) = (&self.problem, self.problem.case);
        let split = problem.split_by(problem.wide_preparation()?, 0)?;
        let label = |raw: f64| split.preparation.label_from_prediction(raw);
        let truth = split.held_out.target.clone().unwrap_or_default();
        let errors = |model: &Model| -> Vec<f64> {
            let found = model.numbers(&split.held_out.features).unwrap_or_default().into_iter();
            found.zip(&truth).map(|(raw, label_of)| (label(raw) - label_of).abs()).collect()
        };
        let noise = RehearsalNoise::For(Target { epsilon: TRAINED, delta: case.delta });
        let model = |id| -> Result<Model> { Ok(split.trial(id, noise, 0).run_sealed()?.model) };
        let (own, alone) = (model("public_shape")?, model("public_only")?);
        let (ours, theirs) = (errors(&own), errors(&alone));
        let on_public =
            [&own, &alone].map(|it| it.numbers(&split.public.features).unwrap_or_default());
        // As many as a plan holds out.
        let apart = on_public[0].iter().zip(&on_public[1]).step_by(5);
        let apart = apart.map(|(own, alone)| (label(*own) - label(*alone)).abs());
        let apart = apart.fold(0.0, f64::max);
        let unit = label(1.0) - label(0.0);
        let usual = UsualErrors::of(errors_elsewhere(&split.public).iter().map(|it| unit * it));
        let public = split.public.target.iter().flatten().map(|raw| label(*raw));
        let mut publics: Vec<f64> = public.clone().collect();
        publics.sort_by(f64::total_cmp);
        let median = publics.get(publics.len() / 2).copied().unwrap_or_default();
        let constants = truth.iter().map(|label| (label - median).abs());
        let ends = truth.iter().copied().chain(public);
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), label| {
            (low.min(label), high.max(label))
        });
        Ok(Known {
            usual: usual.ok_or_else(|| Error::failed("the table has no errors"))?,
            bound: high - low,
            errors: ours
                .into_iter()
                .zip(theirs)
                .zip(constants)
                .map(|((own, public), constant)| Errors { own, public, constant })
                .collect(),
            apart,
        })
    }
}

impl Study {
    pub fn new(problems: Vec<LabelledProblem>, quick: bool, seeds: Option<u64>) -> Self {
        let usual = if quick { 4 } else { (RELEASES / EACH) as u64 };
        let subject = |problem| Subject { problem, known: OnceLock::new() };
        Self {
            subjects: problems.into_iter().map(subject).collect(),
            seeds: (0..seeds.unwrap_or(usual)).collect(),
        }
    }

    pub fn grid(&self) -> Grid {
        let columns = COLUMNS.iter().map(|(records, epsilon)| format!("n {records}, ε {epsilon}"));
        Grid::new(self.subjects.iter().map(|it| it.problem.case.name), columns, &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Measured>> {
        let known = self.subjects[place.row].known()?;
        let (records, epsilon) = COLUMNS[place.column];
        let definition = DatasetDefinition {
            label: Some("label".to_owned()),
            ..DatasetDefinition::new("made", Role::Private, Source::Builtin(String::new()))
        };
        let asked = Evaluation::default();
        let scoring = Scoring {
            usual: Some(known.usual.clone()),
            bound: Some(known.bound),
            ..Scoring::of(asked, &definition, records, 0, true)?
        };
        let cap = scoring.largest_error().unwrap_or_default();
        let reach = reach_for(known.apart / cap);
        let mean = |of: &dyn Fn(&Errors) -> f64| {
            known.errors.iter().map(of).sum::<f64>() / known.errors.len() as f64
        };
        let capped = |error: f64| Loss::Absolute.error(cap, Loss::Absolute.of(error / cap));
        let above = mean(&|it| f64::from(u8::from(it.own >= cap)));
        let (ours, theirs) = (mean(&|it| capped(it.own)), mean(&|it| capped(it.public)));
        let constant = mean(&|it| capped(it.constant));
        let error = mean(&|it| it.own);
        let is_beyond = |it: &Errors| (capped(it.own) - capped(it.public)).abs() > reach * cap;
        let beyond = mean(&|it| f64::from(u8::from(is_beyond(it))));
        let noise = calibrated(&scoring.tally, epsilon)?;
        let more_noise = calibrated(&scoring.tally, epsilon / 3.0)?;
        let forecast = scoring.forecast(&noise).unwrap_or_default();
        let mut draw = ChaCha20Rng::seed_from_u64(place.seed());
        let mut found = Measured {
            forecast: forecast * EACH as f64,
            above: above * EACH as f64,
            reach: reach * EACH as f64,
            beyond: beyond * EACH as f64,
            error: error * EACH as f64,
            ..Measured::default()
        };
        for _ in 0..EACH {
            let one = |_| {
                let Errors { own, public, constant } =
                    known.errors[draw.random_range(0..known.errors.len())];
                Losses::of([own, public, constant].map(|error| (error / cap).min(1.0)), reach)
            };
            let answers = Answers::Numbers((0..records).map(one).collect());
            let mut release = |noise| -> Result<Scored> {
                let (answers, seed) = (answers.clone(), draw.random());
                released(&scoring.tally, answers, noise, seed, (Some(cap), reach))
            };
            let scored = release(&noise)?.bounded(scoring.bound);
            let (other, third) = (release(&noise)?, release(&more_noise)?);
            let joined = together(&[&third, &scored, &other]);
            let joined = &joined[0];
            let half = |it: &Scored| 0.5 * (it.error.high - it.error.low);
            found.half_joined[0] += half(joined);
            found.half_joined[1] += half(&third);
            let holds = [
                Some(scored.error.holds(ours)),
                scored.one_answer.map(|it| it.holds(constant)),
                scored.public_alone.map(|it| it.holds(theirs)),
                scored.difference.map(|it| it.holds(ours - theirs)),
                joined.public_alone.map(|it| it.holds(theirs)),
                Some(joined.error.holds(ours)),
                joined.difference.map(|it| it.holds(ours - theirs)),
                scored.uncapped.map(|it| (it.low..=it.high).contains(&error)),
                scored.above.map(|it| it.holds(above)),
            ];
            for (held, holds) in found.held.iter_mut().zip(holds) {
                *held += f64::from(u8::from(holds == Some(true)));
            }
            found.half_width += 0.5 * (scored.error.high - scored.error.low);
            found.half_difference += scored.difference.map_or(0.0, |it| 0.5 * (it.high - it.low));
            found.high += scored.uncapped.map_or(0.0, |it| it.high / error);
        }
        Ok(Some(found))
    }

    pub fn tables(&self, harvest: &Harvest<Measured>) -> Vec<StudyTable> {
        let mut tables: Vec<StudyTable> = RANGES
            .iter()
            .enumerate()
            .map(|(at, range)| {
                let title = format!("Ranges of the {range} that contain it, in %");
                harvest.table(&title, |it| Some(100.0 * it.held[at] / EACH as f64))
            })
            .collect();
        let each = |of: fn(&Measured) -> f64| move |it: &Measured| Some(of(it) / EACH as f64);
        tables.extend([
            harvest.table(
                "Half-width that the forecast tells, in units of the label",
                each(|it| it.forecast),
            ),
            harvest.table(
                "Half-width of the range of the capped error, in units of the label",
                each(|it| it.half_width),
            ),
            harvest.table("Half-width that the forecast tells, over the one that came", |it| {
                Some(it.forecast / it.half_width)
            }),
            harvest.table(
                "Half-width at a third of the ε, joined with two other scores, over that of the score by itself",
                |it| Some(it.half_joined[0] / it.half_joined[1]),
            ),
            harvest.table("Mean error without the cap, in units of the label", each(|it| it.error)),
            harvest.table(
                "Upper end without the cap, over the mean error without the cap",
                each(|it| it.high),
            ),
            harvest.table("Records at or above the cap, in %", each(|it| 100.0 * it.above)),
            harvest.table(
                "Half-width of the range of the difference, in units of the label",
                each(|it| it.half_difference),
            ),
            harvest.table(
                "Limit of differences, in % of the cap of errors",
                each(|it| 100.0 * it.reach),
            ),
            harvest.table("Records beyond that limit, in %", each(|it| 100.0 * it.beyond)),
        ]);
        tables
    }

    pub fn header(&self, harvest: &Harvest<Measured>) -> Vec<String> {
        let mut header = vec![format!(
            "Released scores of {} tables, {} releases each. A model of ε {TRAINED} is scored on \
             records that are drawn from the part of the target that did not train it. The bound of \
             errors is the difference of the largest and the smallest label.",
            self.subjects.len(),
            self.seeds.len() * EACH
        )];
        let names = |rule: bool| {
            let tables = TABLES.iter().enumerate().filter(|(at, _)| (*at < CHOSEN_ON) == rule);
            tables.map(|(_, case)| case.name).collect::<Vec<_>>().join(", ")
        };
        header.push(format!(
            "The rule of the cap was chosen on {}; {} were fixed before the first result.",
            names(true),
            names(false)
        ));
        let cells = (0..harvest.grid.rows.len())
            .flat_map(|row| (0..harvest.grid.columns.len()).map(move |column| (row, column)));
        let cells: Vec<(usize, Vec<&Measured>)> = cells
            .map(|(row, column)| (row, harvest.of(row, column).collect::<Vec<_>>()))
            .filter(|(_, found)| !found.is_empty())
            .collect();
        let mean = |found: &[&Measured], of: &dyn Fn(&Measured) -> f64| {
            found.iter().map(|it| of(it)).sum::<f64>() / (found.len() * EACH) as f64
        };
        for (at, range) in RANGES.iter().enumerate() {
            let shares: Vec<f64> =
                cells.iter().map(|(_, found)| mean(found, &|it| it.held[at])).collect();
            header.push(coverage_words(range, &shares));
        }
        let ratios = cells
            .iter()
            .map(|(_, found)| mean(found, &|it| it.forecast) / mean(found, &|it| it.half_width));
        let (low, high) = ratios
            .fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
        header.push(format!("The forecast is {low:.2} to {high:.2} times the half-width."));
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::demo;

    #[test]
    fn a_real_table_is_scored_by_the_mechanism_and_the_forecast_is_close() {
        let bytes = demo::builtin("bikeshare").unwrap();
        let table = crate::data::read::csv::read_bytes("bikeshare", bytes).unwrap();
        let problem = LabelledProblem::new(&TABLES[1], table).unwrap();
        let study = Study::new(vec![problem], true, Some(1));
        let grid = study.grid();
        let (row_title, column_title) = (grid.rows[0].as_str(), grid.columns[1].as_str());
        let place = GridTask { row: 0, column: 1, row_title, column_title, repetition: 0 };
        let found = study.measure(place).unwrap().unwrap();
        for (held, range) in found.held.iter().zip(RANGES) {
            assert!(*held >= 0.8 * EACH as f64, "{range}: {held} of {EACH}");
        }
        let ratio = found.forecast / found.half_width;
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
        assert!(found.high > EACH as f64, "{}", found.high);
    }
}
