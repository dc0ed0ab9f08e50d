//! Many repeats made into a table.
//!
//! What the datasets share in a repeat (weights, labels, the private batch) moves all scores
//! together, so candidates are compared by their *differences* within a repeat: the mean
//! difference to the best has a t-interval over the repeats, and whoever's interval holds 0
//! cannot be told apart from the best. Errors of the candidates' own models are compared in the
//! same way, record by record.

use serde::{Deserialize, Serialize};

use super::blind_spots::Alongside;
use super::candidates::Lineup;
use super::ranking::Repeat;
use super::records::Supply;
use super::settings::Order;
use super::subspace::Score;
use super::verdict;
use crate::numeric::student::two_sided;

/// Of every interval.
const CONFIDENCE: f64 = 0.95;
/// More repeats than this are not worth proposing.
const MOST_REPEATS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    pub mean: f64,
    /// Standard deviation over the repeats.
    pub deviation: f64,
}

/// A mean difference and half the width of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    pub mean: f64,
    pub half_width: f64,
    deviation: f64,
    repeats: usize,
}

/// Means over the repeats of one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub distance: Mean,
    pub energy: Mean,
    /// Mean principal angles in radians, smallest first.
    pub angles: Vec<f64>,
}

/// Where a candidate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Best,
    /// Cannot be told apart from the best; so many more repeats would, if a number is known.
    Tied(Option<usize>),
    Behind,
    Broken,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    pub records: usize,
    pub place: Place,
    /// `None` of a broken one.
    pub summary: Option<Summary>,
    /// By how much it is behind the best in the score that orders.
    pub behind: Option<Paired>,
    /// Cannot be told apart from other private records.
    pub as_floor: bool,
    /// Is not better than noise; by error: than the same answer for all.
    pub as_noise: bool,
    pub alongside: Option<Alongside>,
    pub verdict: String,
    /// Why it is broken.
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The best first, broken ones last.
    pub lines: Vec<Line>,
    /// Other private records: as good as data can be at this m.
    pub floor: Summary,
    /// Noise.
    pub ceiling: Summary,
    /// By energy where not all candidates have an error.
    pub order: Order,
    pub repeats: usize,
    /// m
    pub batch: usize,
    /// k
    pub directions: usize,
    pub verdict: String,
    pub remarks: Vec<String>,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (count - 1.0).max(1.0)).sqrt() }
    }
}

impl Paired {
    /// Of the differences `ours` − `theirs`.
    pub fn of(ours: &[f64], theirs: &[f64]) -> Self {
        let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
        let Mean { mean, deviation } = Mean::of(&differences);
        let repeats = differences.len();
        Self { mean, half_width: half_width(deviation, repeats), deviation, repeats }
    }

    /// The interval is above 0.
    pub fn is_clear(&self) -> bool {
        self.mean > self.half_width
    }

    /// How many more repeats would clear it, if mean and deviation stay what they are.
    pub fn more_repeats(&self) -> Option<usize> {
        if self.mean <= 0.0 {
            return None;
        }
        (self.repeats + 1..=MOST_REPEATS)
            .find(|repeats| half_width(self.deviation, *repeats) < self.mean)
            .map(|repeats| repeats - self.repeats)
    }
}

fn half_width(deviation: f64, repeats: usize) -> f64 {
    match repeats {
        0 | 1 => f64::INFINITY,
        _ => two_sided(CONFIDENCE, repeats - 1) * deviation / (repeats as f64).sqrt(),
    }
}

impl Summary {
    fn of(scores: &[&Score]) -> Self {
        let of = |number: fn(&Score) -> f64| {
            Mean::of(&scores.iter().map(|score| number(score)).collect::<Vec<_>>())
        };
        let directions = scores.iter().map(|score| score.angles.len()).min().unwrap_or(0);
        let angle = |index: usize| {
            scores.iter().map(|score| score.angles[index]).sum::<f64>() / scores.len() as f64
        };
        Self {
            distance: of(|score| score.distance),
            energy: of(|score| score.energy),
            angles: (0..directions).map(angle).collect(),
        }
    }
}

/// The larger the better.
fn goodness(order: Order, score: &Score) -> f64 {
    match order {
        Order::Distance => -score.distance,
        Order::Energy | Order::Error => score.energy,
    }
}

/// What orders a candidate, the larger the better, and what it is no better than noise by:
/// numbers of the same repeats or records.
struct Goods {
    own: Vec<f64>,
    nothing: Vec<f64>,
}

fn negated(losses: &[f64]) -> Vec<f64> {
    losses.iter().map(|loss| -loss).collect()
}

impl Comparison {
    /// Of at least two repeats.
    pub(super) fn of(
        lineup: &Lineup,
        repeats: &[&Repeat],
        alongside: &[Option<Alongside>],
        order: Order,
    ) -> Self {
        let column = |pick: &dyn Fn(&Repeat) -> Option<&Score>| -> Option<Vec<Score>> {
            repeats.iter().map(|repeat| pick(repeat).cloned()).collect()
        };
        let goods = |scores: &[Score]| -> Vec<f64> {
            scores.iter().map(|score| goodness(order, score)).collect()
        };
        let summary = |scores: &[Score]| Summary::of(&scores.iter().collect::<Vec<_>>());
        let floor = column(&|repeat| Some(&repeat.floor)).unwrap_or_default();
        let ceiling = column(&|repeat| Some(&repeat.ceiling)).unwrap_or_default();
        let columns: Vec<Option<Vec<Score>>> = (0..lineup.candidates().len())
            .map(|index| column(&|repeat| repeat.scores[index].as_ref()))
            .collect();
        let errors: Option<Vec<Option<Goods>>> = (order == Order::Error)
            .then(|| {
                let of = |(column, alongside): (&Option<Vec<Score>>, &Option<Alongside>)| {
                    if column.is_none() {
                        return Some(None);
                    }
                    let (own, nothing) = alongside.as_ref()?.losses.as_ref()?;
                    Some(Some(Goods { own: negated(own), nothing: negated(nothing) }))
                };
                columns.iter().zip(alongside).map(of).collect()
            })
            .flatten();
        let order = if order == Order::Error && errors.is_none() { Order::Energy } else { order };
        let all_goods = errors.unwrap_or_else(|| {
            let of = |scores: &Option<Vec<Score>>| {
                scores.as_ref().map(|it| Goods { own: goods(it), nothing: goods(&ceiling) })
            };
            columns.iter().map(of).collect()
        });
        let mean = |index: usize| {
            all_goods[index].as_ref().map_or(f64::NEG_INFINITY, |goods| Mean::of(&goods.own).mean)
        };
        let mut ranks: Vec<usize> = (0..columns.len()).collect();
        ranks.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
        let best = ranks.first().and_then(|index| all_goods[*index].as_ref());
        let best_goods = best.map_or(&[][..], |goods| &goods.own);
        let mut lines: Vec<Line> = Vec::new();
        for (rank, index) in ranks.into_iter().enumerate() {
            let candidate = &lineup.candidates()[index];
            let mut line = Line {
                name: candidate.name.clone(),
                records: candidate.data.as_ref().map_or(0, Supply::len),
                place: Place::Broken,
                summary: None,
                behind: None,
                as_floor: false,
                as_noise: false,
                alongside: alongside.get(index).cloned().flatten(),
                verdict: String::new(),
                trouble: candidate.data.as_ref().err().map(|error| error.what().to_owned()),
            };
            if let (Some(scores), Some(Goods { own, nothing })) =
                (&columns[index], &all_goods[index])
            {
                let behind = Paired::of(best_goods, own);
                line.place = match rank {
                    0 => Place::Best,
                    _ if behind.is_clear() => Place::Behind,
                    // An error knows no repeats.
                    _ if order == Order::Error => Place::Tied(None),
                    _ => Place::Tied(behind.more_repeats()),
                };
                line.summary = Some(summary(scores));
                line.behind = Some(behind);
                line.as_floor =
                    order != Order::Error && !Paired::of(&goods(&floor), own).is_clear();
                line.as_noise = !Paired::of(own, nothing).is_clear();
            }
            line.verdict = verdict::of_line(&line, order);
            lines.push(line);
        }
        let by_energy = (order == Order::Error).then(|| verdict::by_energy(&lines)).flatten();
        Self {
            verdict: verdict::of_all(&lines, order),
            lines,
            floor: summary(&floor),
            ceiling: summary(&ceiling),
            order,
            repeats: repeats.len(),
            batch: lineup.batch(),
            directions: lineup.directions(),
            remarks: lineup
                .remarks()
                .into_iter()
                .chain(verdict::of_private(repeats, lineup.directions()))
                .chain(by_energy)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_paired_differences() {
        // The common up and down cancels; scipy.stats.ttest_rel gives this interval.
        let a = [1.0, 5.0, 3.0, 9.0];
        let b = [0.9, 4.7, 2.8, 8.6];
        let paired = Paired::of(&a, &b);
        assert!((paired.mean - 0.25).abs() < 1e-12);
        assert!((paired.half_width - 0.205_426).abs() < 1e-6, "{}", paired.half_width);
        assert!(paired.is_clear());
        assert!(!Paired::of(&b, &a).is_clear());
    }

    #[test]
    fn so_many_more_repeats_are_proposed_as_the_deviation_asks_for() {
        let a = [0.3, -0.2, 0.4, -0.1, 0.2];
        let paired = Paired::of(&a, &[0.0; 5]);
        assert!(!paired.is_clear());
        let more = paired.more_repeats().unwrap();
        assert!(half_width(paired.deviation, 5 + more) < paired.mean);
        assert!(half_width(paired.deviation, 4 + more) >= paired.mean);
        // A difference of nothing is never cleared.
        assert_eq!(Paired::of(&[1.0, -1.0], &[0.0, 0.0]).more_repeats(), None);
        assert_eq!(Paired::of(&[1e-6, 2.0, -2.0], &[0.0; 3]).more_repeats(), None);
    }
}
