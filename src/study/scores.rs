//! How often the interval of a released score holds the truth.
//!
//! Everything is as in a run but the records: answers are right or wrong by a coin of known bias,
//! are counted, released by the mechanism with the noise that its ε needs, and told.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::{Grid, Harvest, Place, Table};
use crate::error::Result;
use crate::evaluation::tally::Answer;
use crate::evaluation::{Answers, Evaluation, Scored, Tally};
use crate::privacy::accountant::calibrate;
use crate::privacy::{Allotment, Calibrated, Private, Reach, Spender, Target};

const RECORDS: [usize; 4] = [50, 400, 2000, 10_000];
const EPSILONS: [f64; 4] = [0.05, 0.2, 1.0, 5.0];
const RATES: [f64; 4] = [0.01, 0.1, 0.2, 0.5];
const DELTA: f64 = 1e-6;

/// Releases of one task.
const EACH: usize = 100;
/// Of every cell, unless seeds are asked for.
const RELEASES: usize = 2000;

/// What was wanted of the shares: see the issue.
const WANTED: std::ops::RangeInclusive<f64> = 0.94..=0.97;

pub struct Study {
    seeds: Vec<u64>,
    quick: bool,
}

/// Of the releases of one task: how many intervals held the truth, and the mean half-width in
/// percentage points.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    held: f64,
    half_width: f64,
}

impl Study {
    pub fn new(quick: bool, seeds: Option<u64>) -> Self {
        let usual = if quick { 2 } else { (RELEASES / EACH) as u64 };
        Self { seeds: (0..seeds.unwrap_or(usual)).collect(), quick }
    }

    fn records(&self) -> &'static [usize] {
        if self.quick { &RECORDS[..2] } else { &RECORDS }
    }

    fn row(index: usize) -> (bool, f64) {
        (index < EPSILONS.len(), EPSILONS[index % EPSILONS.len()])
    }

    fn column(&self, index: usize) -> (usize, f64) {
        (self.records()[index / RATES.len()], RATES[index % RATES.len()])
    }

    pub fn grid(&self) -> Grid {
        let rows = (0..2 * EPSILONS.len()).map(|row| {
            let (laplace, epsilon) = Self::row(row);
            let noise = if laplace { "Laplace" } else { "Gaussian, δ 1e-6" };
            format!("ε {epsilon}, {noise}")
        });
        let columns = (0..self.records().len() * RATES.len()).map(|column| {
            let (records, rate) = self.column(column);
            format!("n {records}, {} %", 100.0 * rate)
        });
        Grid { rows: rows.collect(), columns: columns.collect(), seeds: self.seeds.clone() }
    }

    pub fn measure(&self, place: Place<'_>) -> Result<Option<Measured>> {
        let (laplace, epsilon) = Self::row(place.row);
        let (records, rate) = self.column(place.column);
        let tally = Tally::new(&Evaluation::default(), records, 2, false, false, laplace);
        let calibrated = calibrated(&tally, epsilon)?;
        let mut draw = ChaCha20Rng::seed_from_u64(place.seed());
        let (mut held, mut width) = (0.0, 0.0);
        for _ in 0..EACH {
            let answers = (0..records).map(|_| Answer {
                class: 0,
                wrong: draw.random::<f64>() < rate,
                bin: 0,
                public_wrong: false,
            });
            let answers = Answers::Classes(answers.collect());
            let scored = released(&tally, answers, &calibrated, draw.random())?;
            held += f64::from(u8::from(scored.error.holds(rate)));
            width += 0.5 * (scored.error.high - scored.error.low);
        }
        let each = EACH as f64;
        Ok(Some(Measured { held: held / each, half_width: 100.0 * width / each }))
    }

    pub fn tables(harvest: &Harvest<Measured>) -> Vec<Table> {
        let told = "Half of their width, in percentage points";
        vec![
            harvest.table("Share of the intervals that hold the truth, in %", |it| {
                Some(100.0 * it.held)
            }),
            harvest.table(told, |it| Some(it.half_width)),
        ]
    }

    pub fn header(&self, harvest: &Harvest<Measured>) -> Vec<String> {
        let cells = (0..harvest.grid.rows.len())
            .flat_map(|row| (0..harvest.grid.columns.len()).map(move |column| (row, column)));
        let shares: Vec<f64> = cells
            .filter_map(|(row, column)| {
                let samples: Vec<f64> = harvest.of(row, column).map(|it| it.held).collect();
                (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
            })
            .collect();
        let within = shares.iter().filter(|share| WANTED.contains(share)).count();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        vec![
            format!(
                "Intervals of released shares of wrong answers, {} releases each, by the same \
                 mechanisms as in a run.",
                self.seeds.len() * EACH
            ),
            format!(
                "{within} of {} cells hold the truth in 94 to 97 % of the releases; least {:.1} %, \
                 most {:.1} %.",
                shares.len(),
                100.0 * least,
                100.0 * most
            ),
        ]
    }
}

fn calibrated(tally: &Tally, epsilon: f64) -> Result<Calibrated> {
    let (what, adjacency) = (tally.words(), Tally::ADJACENCY);
    let share = Allotment::Share(1.0);
    let planned = if tally.laplace {
        tally.laplace().announced(what, 1, share, adjacency)
    } else {
        tally.gaussian().announced(what, 1, share, adjacency)
    };
    calibrate(&[planned], Target { epsilon, delta: DELTA })
}

fn released(tally: &Tally, answers: Answers, noise: &Calibrated, seed: u64) -> Result<Scored> {
    let mut spender = Spender::rehearsal(noise, seed);
    let reach = Reach::between(0.0, tally.rows as f64, tally.numbers());
    let answers = Private::new(answers);
    let count = |answers: &Answers| tally.count(answers);
    let (vector, scale) = if tally.laplace {
        let release = tally.laplace();
        let vector = answers.release_laplace(&mut spender, release, &reach, count)?;
        (vector, spender.scale(&release)?)
    } else {
        let release = tally.gaussian();
        let vector = answers.release_gaussian(&mut spender, release, &reach, count)?;
        (vector, spender.scale(&release)?)
    };
    Ok(Scored::of(tally, vector.get(), scale, &[], (0, None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_at_an_epsilon_of_a_fifth_is_less_than_the_chance_of_400_records() {
        let tally = Tally::new(&Evaluation::default(), 400, 2, false, false, true);
        let noise = calibrated(&tally, 0.2).unwrap().events()[0].mechanism.noise.scale;
        let (noise, chance) = (noise * 2.0_f64.sqrt() / 400.0, (0.2 * 0.8 / 400.0_f64).sqrt());
        assert!(noise < chance, "{noise} {chance}");
    }

    #[test]
    fn the_table_comes_from_the_mechanism() {
        let study = Study::new(true, Some(1));
        let grid = study.grid();
        let (row_title, column_title) = (grid.rows[6].as_str(), grid.columns[5].as_str());
        let place = Place { row: 6, column: 5, row_title, column_title, repetition: 0 };
        let measured = study.measure(place).unwrap().unwrap();
        assert!(measured.held >= 0.85, "{measured:?}");
        assert!((1.0..30.0).contains(&measured.half_width), "{measured:?}");
    }
}
