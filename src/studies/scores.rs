//! How often the interval of a released score contains the truth.
//!
//! Everything but the records is as in a run: answers and losses are drawn from known laws,
//! counted, released by the mechanism with the noise that its ε needs, and reported.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::{Grid, GridTask, Harvest, StudyTable};
use crate::error::Result;
use crate::evaluation::score::KnownOfScore;
use crate::evaluation::tally::Losses;
use crate::evaluation::tally::{Answer, BINS};
use crate::evaluation::{Answers, Evaluation, Score, Scored, Tally};
use crate::privacy::accountant::calibrate;
use crate::privacy::{Allotment, Calibrated, Private, Reach, Spender, Target};
use halflight_privacy_inside::openings::{OpenPrivate, OpenSpender};

const RECORDS: [usize; 4] = [50, 400, 2000, 10_000];
const EPSILONS: [f64; 4] = [0.05, 0.2, 1.0, 5.0];
const RATES: [f64; 6] = [0.01, 0.1, 0.2, 0.5, 0.0, 1.0];
const DELTA: f64 = 1e-6;

/// The number of releases per task.
const EACH: usize = 100;
/// The number of releases per cell, unless seeds are given.
const RELEASES: usize = 2000;

/// The goal for the shares: see the issue.
const WANTED: std::ops::RangeInclusive<f64> = 0.94..=0.97;

/// The frequency of class 1.
const SECOND: f64 = 0.3;
/// The probabilities that public data alone are wrong, if the model is wrong and if it is right.
const ALSO: (f64, f64) = (0.7, 0.1);
/// The first bin of probabilities in which the second class is the answer.
const THRESHOLD: usize = 5;
/// With a smaller share of informative releases, nothing is reported.
const FEWEST: f64 = 0.5;

/// The kind of score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// The share of wrong answers.
    Share {
        laplace: bool,
    },
    /// The share of wrong answers minus the share with public data alone.
    Difference,
    /// The share among the records of the rarer class.
    Class,
    Auc,
    /// The mean of losses between 0 and 1.
    Loss,
    /// The mean over both classes of the right answers.
    Balanced,
}

const ALL: [What; 7] = [
    What::Share { laplace: true },
    What::Share { laplace: false },
    What::Difference,
    What::Class,
    What::Auc,
    What::Loss,
    What::Balanced,
];

impl What {
    fn title(self, epsilon: f64) -> String {
        let of = match self {
            Self::Share { laplace: true } => return format!("ε {epsilon}, Laplace"),
            Self::Share { laplace: false } => return format!("ε {epsilon}, Gaussian, δ 1e-6"),
            other => other.words(),
        };
        format!("{of}, ε {epsilon}")
    }

    fn words(self) -> &'static str {
        match self {
            Self::Share { .. } => "wrong answers",
            Self::Difference => "difference to public data alone",
            Self::Class => "wrong answers in a class",
            Self::Auc => "AUC",
            Self::Loss => "mean loss",
            Self::Balanced => "balanced accuracy",
        }
    }

    fn tally(self, records: usize) -> Tally {
        let asked = Evaluation {
            per_class: matches!(self, Self::Class | Self::Balanced),
            auc: self == Self::Auc,
            ..Evaluation::default()
        };
        let classes = if self == Self::Loss { 0 } else { 2 };
        let laplace = self == Self::Share { laplace: true };
        Tally::new(&asked, records, classes, self == Self::Difference, false, laplace)
    }

    /// The score of infinitely many records, if answers are wrong at this rate.
    fn truth(self, rate: f64) -> f64 {
        match self {
            Self::Share { .. } | Self::Class => rate,
            Self::Difference => rate - ALSO.0 * rate - ALSO.1 * (1.0 - rate),
            // Both in the right part, or only one of them, and then chance decides.
            Self::Auc | Self::Balanced => 1.0 - rate,
            Self::Loss => rate * -(-1.0 / rate).exp_m1(),
        }
    }

    /// Whether the score is 0 or 1, so that one end of its range cannot be missed.
    fn is_end(self, rate: f64) -> bool {
        [0.0, 1.0].contains(&self.truth(rate))
    }

    fn answers(self, records: usize, rate: f64, draw: &mut ChaCha20Rng) -> Answers {
        if self == Self::Loss {
            // Exponential, cut at 1.
            let loss = |_| (-rate * (1.0 - draw.random::<f64>()).ln()).min(1.0);
            let losses = |own| Losses::of([own, own, own], 1.0);
            return Answers::Numbers((0..records).map(loss).map(losses).collect());
        }
        let plain = matches!(self, Self::Share { .. });
        let answer = |_| {
            let wrong = draw.random::<f64>() < rate;
            if plain {
                return Answer { wrong, ..Answer::default() };
            }
            let class = u32::from(draw.random::<f64>() < SECOND);
            let high = (class == 1) != wrong;
            let bin = if high {
                draw.random_range(THRESHOLD..BINS)
            } else {
                draw.random_range(0..THRESHOLD)
            };
            let public_wrong = draw.random::<f64>() < if wrong { ALSO.0 } else { ALSO.1 };
            Answer { class, wrong, bin, public_wrong, constant_wrong: class == 1 }
        };
        Answers::Classes((0..records).map(answer).collect())
    }

    fn of(self, scored: &Scored) -> Option<Score> {
        match self {
            Self::Share { .. } | Self::Loss => Some(scored.error),
            Self::Difference => scored.difference,
            Self::Class => scored.classes.get(1)?.wrong,
            Self::Auc => scored.auc,
            Self::Balanced => scored.balanced_accuracy,
        }
    }
}

pub struct Study {
    seeds: Vec<u64>,
    quick: bool,
}

/// For the releases of one task: how many were informative, how many of these contained the truth,
/// and the sum of their half-widths in percentage points.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    told: f64,
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

    fn row(index: usize) -> (What, f64) {
        (ALL[index / EPSILONS.len()], EPSILONS[index % EPSILONS.len()])
    }

    fn column(&self, index: usize) -> (usize, f64) {
        (self.records()[index / RATES.len()], RATES[index % RATES.len()])
    }

    pub fn grid(&self) -> Grid {
        let rows = (0..ALL.len() * EPSILONS.len()).map(|row| {
            let (what, epsilon) = Self::row(row);
            what.title(epsilon)
        });
        let columns = (0..self.records().len() * RATES.len()).map(|column| {
            let (records, rate) = self.column(column);
            format!("n {records}, {} %", 100.0 * rate)
        });
        Grid::new(rows, columns, &self.seeds)
    }

    pub fn measure(&self, place: GridTask<'_>) -> Result<Option<Measured>> {
        let (what, epsilon) = Self::row(place.row);
        let (records, rate) = self.column(place.column);
        let (tally, truth) = (what.tally(records), what.truth(rate));
        let calibrated = calibrated(&tally, epsilon)?;
        let mut draw = ChaCha20Rng::seed_from_u64(place.seed());
        let mut found = Measured { told: 0.0, held: 0.0, half_width: 0.0 };
        for _ in 0..EACH {
            let answers = what.answers(records, rate, &mut draw);
            let scored = released(&tally, answers, &calibrated, draw.random(), (None, 1.0))?;
            if let Some(score) = what.of(&scored) {
                found.told += 1.0;
                found.held += f64::from(u8::from(score.holds(truth)));
                found.half_width += 50.0 * (score.high - score.low);
            }
        }
        Ok(Some(found))
    }

    pub fn tables(&self, harvest: &Harvest<Measured>) -> Vec<StudyTable> {
        let told = |of: fn(&Measured) -> f64| {
            move |it: &Measured| (it.told > FEWEST * EACH as f64).then(|| of(it) / it.told)
        };
        vec![
            harvest.table(
                "Share of the intervals that hold the truth, in %",
                told(|it| 100.0 * it.held),
            ),
            harvest.table("Half of their width, in percentage points", told(|it| it.half_width)),
        ]
    }

    pub fn header(&self, harvest: &Harvest<Measured>) -> Vec<String> {
        let mut header = vec![format!(
            "Intervals of released scores, {} releases each, by the same mechanisms as in a run. \
             Columns have the number of records and the share of wrong answers, or the mean of \
             losses from an exponential law that is cut at 1. Where most releases tell nothing, \
             because of too few records for so much noise, the place is empty.",
            self.seeds.len() * EACH
        )];
        let mut known: Vec<&str> = Vec::new();
        for what in ALL.map(What::words) {
            if known.contains(&what) {
                continue;
            }
            known.push(what);
            let rows = (0..harvest.grid.rows.len()).filter(|row| Self::row(*row).0.words() == what);
            let cells = rows
                .flat_map(|row| (0..harvest.grid.columns.len()).map(move |column| (row, column)));
            let shares = cells.filter_map(|(row, column)| {
                let sum =
                    |of: fn(&Measured) -> f64| -> f64 { harvest.of(row, column).map(of).sum() };
                let (told, held) = (sum(|it| it.told), sum(|it| it.held));
                let releases = harvest.of(row, column).count() * EACH;
                let is_end = Self::row(row).0.is_end(self.column(column).1);
                (told > FEWEST * releases as f64).then(|| (is_end, held / told))
            });
            let (ends, others): (Vec<_>, Vec<_>) = shares.partition(|(is_end, _)| *is_end);
            for (shares, at) in [(others, ""), (ends, " at 0 and at 1")] {
                let shares: Vec<f64> = shares.into_iter().map(|(_, share)| share).collect();
                if !shares.is_empty() {
                    header.push(coverage_words(&format!("{what}{at}"), &shares));
                }
            }
        }
        header
    }
}

/// How often the ranges of each cell hold the truth.
pub(super) fn coverage_words(what: &str, shares: &[f64]) -> String {
    let within = shares.iter().filter(|share| WANTED.contains(share)).count();
    let below = shares.iter().filter(|share| **share < *WANTED.start()).count();
    format!(
        "{what}: {within} of {} cells hold the truth in 94 to 97 % of the releases, {below} in fewer; \
         least {:.1} %, most {:.1} %.",
        shares.len(),
        100.0 * shares.iter().copied().fold(f64::INFINITY, f64::min),
        100.0 * shares.iter().copied().fold(0.0, f64::max)
    )
}

pub(super) fn calibrated(tally: &Tally, epsilon: f64) -> Result<Calibrated> {
    let (what, adjacency) = (tally.words(), Tally::ADJACENCY);
    let share = Allotment::Share(1.0);
    let planned = if tally.laplace {
        tally.laplace().announced(what, 1, share, adjacency)
    } else {
        tally.gaussian().announced(what, 1, share, adjacency)
    };
    calibrate(&[planned], Target { epsilon, delta: DELTA })
}

pub(super) fn released(
    tally: &Tally,
    answers: Answers,
    noise: &Calibrated,
    seed: u64,
    (largest_error, apart): (Option<f64>, f64),
) -> Result<Scored> {
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
    let names = ["first".to_owned(), "second".to_owned()];
    let known = KnownOfScore { threshold: THRESHOLD, largest_error, reach: apart, constant: None };
    Ok(Scored::of(tally, vector.get(), scale, &names, &known))
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
    fn what_is_told_of_many_records_is_the_truth() {
        let mut draw = ChaCha20Rng::seed_from_u64(5);
        for what in ALL {
            for rate in [0.05, 0.3] {
                let tally = what.tally(40_000);
                let noise = calibrated(&tally, 5.0).unwrap();
                let answers = what.answers(40_000, rate, &mut draw);
                let scored = released(&tally, answers, &noise, 1, (None, 1.0)).unwrap();
                let (found, truth) = (what.of(&scored).unwrap().value, what.truth(rate));
                assert!((found - truth).abs() < 0.02, "{what:?} {rate}: {found} for {truth}");
            }
        }
    }

    #[test]
    fn the_table_comes_from_the_mechanism() {
        let study = Study::new(true, Some(1));
        let grid = study.grid();
        let ends: Vec<usize> = (0..grid.columns.len())
            .filter(|column| ALL[0].is_end(study.column(*column).1))
            .collect();
        assert_eq!(ends.len(), 4);
        for (row, column) in [6, 22, 0, 1]
            .into_iter()
            .zip([vec![7], vec![7], ends.clone(), ends])
            .flat_map(|(row, columns)| columns.into_iter().map(move |column| (row, column)))
        {
            let (row_title, column_title) =
                (grid.rows[row].as_str(), grid.columns[column].as_str());
            let place = GridTask { row, column, row_title, column_title, repetition: 0 };
            let measured = study.measure(place).unwrap().unwrap();
            assert!(measured.held >= 0.85 * EACH as f64, "{measured:?}");
            let half_width = measured.half_width / measured.told;
            assert!((0.5..51.0).contains(&half_width), "{measured:?}");
        }
    }
}
