//! The choice of the base, for a small part of the budget.
//!
//! The mixture of predictors that does best in left-out regions of the public records is often
//! behind one of its own parts on private ones. So one release asks by how much each rival of the
//! mixture is better there, if the noise can be small enough to say anything.
//!
//! A record contributes the vector of its differences of losses, mixture minus rival, shortened to
//! a length L from public records and divided by L. This vector lies in the unit ball, and that of
//! a null record is 0. So the mean over n records moves by at most 2/n if one is replaced, and by
//! at most 1/n if one is zeroed out. A person contributes the mean of their records' vectors, which
//! lies in the same ball.
//!
//! The mean differences in left-out regions are the prior expectation, and the release corrects
//! them as far as its noise allows. A line through the user's scores is not expected to be better than
//! the mixture: its predictor may have seen these regions. A rival replaces the mixture only if it is better by more than
//! one standard deviation of what is known then. With no signal, the mixture stays.

use super::labels::Labels;
use super::teaching::{LINEAR, PREDICTORS, Taught, WITHIN, mixed, own_count, quantile};
use crate::data::preparation::score_places;
use crate::model::shape::Shape;
use crate::numeric::projection::shrink_factor;
use crate::prelude::*;

const CHOICE: &str = "base";

/// The mixtures that may replace the usual one, beside the user's own predictors: the linear
/// predictor, small trees, large trees, linear with trees on its residuals, and small and large trees
/// in equal parts. A constant answer needs none: corrections of level and scale lead there.
const RIVALS: [[f64; PREDICTORS]; 5] = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 0.5, 0.5, 0.0],
];
const _: () = assert!(LINEAR == 0);

/// The noise that a choice aims at, and the noise above which it says nothing, as standard
/// deviations in units of L.
const WANTED_NOISE: f64 = 0.015;
const MOST_NOISE: f64 = 0.05;
/// The largest share of the budget, relative to that of the rounds.
const MOST_SHARE: f64 = 0.05;
/// How far the advantage of a rival on private records is expected to be from that in left-out
/// regions, relative to the root mean square of single records' advantages.
const SHIFT: f64 = 0.3;
/// The records that are scored at once.
const PART: usize = 1 << 14;

/// The number of rivals for features with these names.
pub fn count(names: &[String]) -> usize {
    RIVALS.len() + own_count(&score_places(names))
}

/// The rivals: mixtures of all predictors. One that says nothing is as good as the usual mixture.
fn mixtures(usual: &[f64], idle: &[bool]) -> Vec<Vec<f64>> {
    let padded = |rival: &[f64; PREDICTORS]| {
        let mut all = rival.to_vec();
        all.resize(usual.len(), 0.0);
        all
    };
    let own = idle.iter().enumerate().map(|(at, idle)| {
        if *idle {
            return usual.to_vec();
        }
        let mut all = vec![0.0; usual.len()];
        all[PREDICTORS + at] = 1.0;
        all
    });
    RIVALS.iter().map(padded).chain(own).collect()
}

/// A planned choice: the release, and its share of the budget relative to that of the rounds.
pub fn planned(
    target: Target,
    adjacency: Adjacency,
    shape: &ProblemShape,
    rivals: usize,
) -> Option<(Release<Gaussian>, f64)> {
    let of = |records| sensitivity(adjacency, (records, shape.most_records), rivals);
    let sensitivity = of(shape.private_records);
    // About the noise if the release had the whole budget.
    let whole = of(shape.joint_records())
        * shape.noise_of_sites()
        * (2.0 * (1.25 / target.delta).ln()).sqrt()
        / target.epsilon;
    let share = (whole / WANTED_NOISE).powi(2).min(MOST_SHARE);
    let gaussian = Gaussian { sensitivity, numbers: rivals };
    (whole <= MOST_NOISE * share.sqrt()).then(|| (Release::new(CHOICE, gaussian), share))
}

/// How far one record or person can move the release as it is computed, for the number of these
/// and the most records of each, and the number of rivals.
fn sensitivity(
    adjacency: Adjacency,
    (protected, most_records): (usize, usize),
    rivals: usize,
) -> f64 {
    let unit = match adjacency {
        Adjacency::ReplaceOne => 2.0,
        Adjacency::ZeroOut => 1.0,
    };
    let rounding = summation_error(protected * most_records + rivals + 64);
    unit / protected as f64 * (1.0 + 1e-9) + 2.0 * rounding
}

/// The announcement of a planned choice.
pub fn announced(release: Release<Gaussian>, share: f64, adjacency: Adjacency) -> PlannedRelease {
    let count = release.kind().numbers;
    let what = format!("mean differences of losses of the public mixture and {count} rivals, once");
    release.announced(what, 1, Allotment::Share(share), adjacency)
}

/// The rivals of a mixture, and what public records say of them.
#[derive(Debug)]
pub struct Rivals<'a> {
    usual: &'a [f64],
    mixtures: Vec<Vec<f64>>,
    /// L
    longest: f64,
    /// Mean advantage of each rival in left-out regions, in units of L.
    expected: Vec<f64>,
    /// Mean square advantage of single records there.
    square: Vec<f64>,
}

impl<'a> Rivals<'a> {
    /// `labels` are those of the compared public records.
    pub fn of(taught: &'a Taught, labels: &Labels) -> Self {
        let mixtures = mixtures(&taught.base, &taught.idle);
        let advantages = advantages(&taught.base, &mixtures, &taught.abroad, labels);
        let longest = quantile(advantages.column_iter().map(|one| one.norm()), WITHIN);
        let longest = if longest > 0.0 { longest } else { 1.0 };
        let (mut expected, mut square) = (vec![0.0; mixtures.len()], vec![0.0; mixtures.len()]);
        let each = 1.0 / advantages.ncols().max(1) as f64;
        for one in advantages.column_iter() {
            let factor = shrink_factor(one.norm(), longest) / longest;
            for (rival, advantage) in one.iter().enumerate() {
                expected[rival] += each * factor * advantage;
                square[rival] += each * (factor * advantage).powi(2);
            }
        }
        for expected in &mut expected[RIVALS.len()..] {
            *expected = expected.min(0.0);
        }
        Self { usual: &taught.base, mixtures, longest, expected, square }
    }

    /// The release without noise: the mean over private records or persons.
    pub fn ask(&self, shape: &Shape, data: &Bounded) -> Vec<f64> {
        let mut sum = Vector::zeros(self.mixtures.len());
        let (count, shares) = (data.features.count(), data.shares());
        // A run without labels is refused before.
        if let Ok(labels) = Labels::of(data) {
            for first in (0..count).step_by(PART) {
                let range = first..count.min(first + PART);
                let own: Vec<u32> = range.clone().map(|at| at as u32).collect();
                let features = data.features.doubles(range.clone());
                let weights: Vec<f64> = features
                    .column_iter()
                    .zip(range)
                    .map(|(x, at)| match &shares {
                        // A null record is as if it were not there.
                        _ if x.iter().all(|x| *x == 0.0) => 0.0,
                        Some(shares) => shares[at],
                        None => 1.0,
                    })
                    .collect();
                sum += self.sum(&shape.scores(&features), &labels.select(&own), &weights);
            }
        }
        (sum / data.protected() as f64).as_slice().to_vec()
    }

    /// The weighted sum of the records' vectors in the unit ball.
    fn sum(&self, scores: &[Matrix], labels: &Labels, weights: &[f64]) -> Vector {
        let mut sum = Vector::zeros(self.mixtures.len());
        let advantages = advantages(self.usual, &self.mixtures, scores, labels);
        for (one, weight) in advantages.column_iter().zip(weights) {
            let norm = one.norm();
            // A record whose losses are no numbers counts for nothing.
            if norm.is_finite() {
                sum += weight * shrink_factor(norm, self.longest) / self.longest * one;
            }
        }
        sum
    }

    /// The mixture that replaces the usual one, if any does.
    pub fn best(&self, released: &[f64], noise: f64, records: usize) -> Option<Vec<f64>> {
        let surely = |rival: usize| {
            let prior = SHIFT.powi(2) * self.square[rival];
            if prior <= 0.0 {
                return 0.0;
            }
            let observed = noise.powi(2) + self.square[rival] / records as f64;
            let known = 1.0 / prior + 1.0 / observed;
            let mean = (self.expected[rival] / prior + released[rival] / observed) / known;
            mean - known.sqrt().recip()
        };
        let best = (0..self.mixtures.len()).max_by(|a, b| surely(*a).total_cmp(&surely(*b)))?;
        (surely(best) > 0.0).then(|| self.mixtures[best].clone())
    }
}

/// By how much each rival's loss is smaller than that of the mixture `usual`, one record per
/// column.
fn advantages(usual: &[f64], mixtures: &[Vec<f64>], scores: &[Matrix], labels: &Labels) -> Matrix {
    let loss = labels.loss();
    let usual = mixed(scores, usual);
    let rivals: Vec<Matrix> = mixtures.iter().map(|mixture| mixed(scores, mixture)).collect();
    Matrix::from_fn(rivals.len(), usual.ncols(), |rival, at| {
        let of = |scores: &Matrix| loss.of(at, scores.column(at).as_slice());
        of(&usual) - of(&rivals[rival])
    })
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::rngs::ChaCha20Rng;

    use super::*;
    use crate::example::{generator, normals};

    const RECORDS: usize = 10;
    /// With two predictors of the user.
    const SCORES: usize = PREDICTORS + 2;
    const USUAL: [f64; SCORES] = [0.5, 0.25, 0.25, 0.5, 0.0, 0.0];

    /// The scores of all predictors, and a label.
    type Record = ([f64; SCORES], f64);

    fn rivals(longest: f64, expected: f64) -> Rivals<'static> {
        let mixtures = mixtures(&USUAL, &[false, false]);
        let (expected, square) = (vec![expected; mixtures.len()], vec![0.5; mixtures.len()]);
        Rivals { usual: &USUAL, mixtures, longest, expected, square }
    }

    /// The release from ten records or persons, of whom the one in the middle has these records.
    fn released(person: &[Record], is_null: bool, two_classes: bool) -> Vector {
        let usual: Record = ([0.1, 0.3, -0.2, 0.4, 0.2, -0.1], 1.0);
        let mut records = vec![usual; RECORDS - 1];
        let mut weights = vec![1.0; RECORDS - 1];
        records.extend(person);
        let own = if is_null { 0.0 } else { 1.0 / person.len() as f64 };
        weights.extend(vec![own; person.len()]);
        let scores: Vec<Matrix> = (0..SCORES)
            .map(|at| Matrix::from_fn(1, records.len(), |_, i| records[i].0[at]))
            .collect();
        let numbers = records.iter().map(|(_, label)| *label);
        let labels = if two_classes {
            Labels::Second(numbers.map(|y| f64::from(y > 0.0)).collect())
        } else {
            Labels::Numbers(numbers.collect())
        };
        rivals(0.3, 0.0).sum(&scores, &labels, &weights) / RECORDS as f64
    }

    fn random(generator: &mut ChaCha20Rng) -> Record {
        let wide = [0.1, 1.0, 30.0, 1e200][generator.random_range(0..4)];
        let scores = normals(generator, SCORES);
        (std::array::from_fn(|at| wide * scores[at]), 2.0 * generator.random::<f64>() - 1.0)
    }

    #[test]
    fn neighbours_attain_the_sensitivity_and_never_pass_it() {
        // The mixture and each rival have opposite errors in these two: opposite unit vectors.
        let ours =
            [([1.0, 0.0, 0.0, 0.0, 1.0, 1.0], 0.5), ([9.0, -9.0, -9.0, -9.0, 9.0, 9.0], -9.0)];
        for two_classes in [false, true] {
            let mut generator = generator(3);
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                let bound = sensitivity(adjacency, (RECORDS, 4), RIVALS.len() + 2);
                let mut most: f64 = 0.0;
                let mut moved = |ours: &[Record], theirs: &[Record]| {
                    let other = match adjacency {
                        Adjacency::ReplaceOne => released(theirs, false, two_classes),
                        Adjacency::ZeroOut => released(&ours[..1], true, two_classes),
                    };
                    let found = (released(ours, false, two_classes) - other).norm();
                    assert!(found <= bound, "{two_classes} {adjacency:?}: {found} > {bound}");
                    most = most.max(found);
                };
                for _ in 0..3000 {
                    let person = |generator: &mut ChaCha20Rng| -> Vec<Record> {
                        (0..generator.random_range(1..=4)).map(|_| random(generator)).collect()
                    };
                    let (ours, theirs) = (person(&mut generator), person(&mut generator));
                    moved(&ours, &theirs);
                    // The same scores and the other label turn the differences round.
                    let turned = (theirs[0].0, -theirs[0].1);
                    moved(&theirs[..1], &[turned]);
                }
                for one in ours {
                    moved(&[one], &[(one.0, -one.1)]);
                }
                moved(&[([f64::NAN, 1.0, f64::INFINITY, 0.0, 0.0, 0.0], 1.0)], &ours[..1]);
                assert!(most > 0.97 * bound, "{two_classes} {adjacency:?}: {most} of {bound}");
            }
        }
    }

    #[test]
    fn a_clear_advantage_changes_the_base_and_noise_does_not() {
        let rivals = rivals(1.0, -0.02);
        let none = vec![-0.1; RIVALS.len() + 2];
        for at in [2, RIVALS.len() + 1] {
            let mut released = none.clone();
            released[at] = 0.2;
            let found = rivals.best(&released, 0.02, 1000).unwrap();
            assert_eq!(found, rivals.mixtures[at]);
            assert_eq!(rivals.best(&released, 0.5, 1000), None);
        }
        assert_eq!(rivals.best(&none, 0.02, 1000), None);
        assert_eq!(rivals.mixtures[RIVALS.len() + 1], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_choice_is_paid_where_its_noise_is_small_and_its_share_falls_with_the_records() {
        let shape = |private_records| {
            let (problem, ..) = crate::example::shifted(3, 60, 80, 1);
            ProblemShape { private_records, ..problem }
        };
        let share = |records: usize| {
            let target = Target { epsilon: 1.0, delta: 1e-5 };
            planned(target, Adjacency::ReplaceOne, &shape(records), 5).map(|(_, share)| share)
        };
        assert_eq!(share(100), None);
        assert_eq!(share(2_000), Some(MOST_SHARE));
        let (some, more) = (share(10_000).unwrap(), share(40_000).unwrap());
        assert!(some < MOST_SHARE && more < 0.1 * some, "{some} {more}");
    }
}
