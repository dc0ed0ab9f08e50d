//! What is known after each round. All of it is post-processing of released values.

use super::clipping;
use super::features::{Ground, Tier};
use super::query::Question;
use super::solve::{Evidence, Round, curvature, raised};
use crate::model::shape::{BlockSource, ScoreMeaning, Shape};
use crate::model::trees::boosting::softmax;
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Matrix, Vector};
use crate::{ColumnCorrection, Series};

/// The first clip is this many times a later one: the private residuals may be larger than the
/// public ones.
const FIRST: f64 = 4.0 / 3.0;
/// The widest and the narrowest clip, in standard deviations of the residuals.
const CLIPS: (f64, f64) = (1.5, 0.7);
/// The noise up to which the widest clip is used, which sets how fast it narrows above.
const QUIET: f64 = 0.018;
const NARROWING: f64 = 0.4;
/// The farthest that a round may move the scores of a typical record.
const REACH: f64 = 1.0;
/// The smallest clip, relative to the public residuals' root mean square.
const LEAST_CLIP: f64 = 0.1;
/// Slopes of persons are clipped at this many times their public root mean square, but not below a
/// part of the longest. Noise falls with the clip as fast as the clipped slopes do, so below 1
/// little is gained or lost.
const ROOM: f64 = 0.8;
/// The largest squared mean of clipped slopes that is believed.
const MOST_SEEN: f64 = 0.9;
const LEAST_LENGTH: f64 = 0.02;

#[derive(Debug, Clone)]
pub struct Rounds {
    pub ground: Ground,
    pub query: Question,
    /// Standard deviation of the noise in each released number.
    pub sigma: f64,
    /// The number of private records, at all sites.
    records: usize,
    asked: Vec<Round>,
    /// The sum of the released moments.
    moments: Matrix,
    /// The mean of ω·xxᵀ over public records under the base.
    first_moment: Matrix,
    /// The unit of the residuals.
    pub clip: f64,
    /// The unit of a person's slope, if these are clipped by themselves.
    pub length: f64,
    /// The share of a slope that its clip leaves, estimated from public persons.
    left: f64,
    /// Mean square of a person's slope, relative to that of a record: errors of one person's
    /// records cancel, so persons differ less from each other than records do.
    differing: f64,
    /// In that case, the compared public records of each person.
    persons: Vec<Vec<usize>>,
    /// The assumed mean square of a private residual.
    square: f64,
    /// One column per score.
    pub correction: Matrix,
    /// The size of each tier's correction for a typical record: √(dᵀCd).
    sizes: Vec<f64>,
    /// The slope of all rounds together, over the deviation of its noise; one column per score.
    told: Matrix,
}

impl Rounds {
    /// `persons` has the compared public records of each person, if slopes of persons are clipped
    /// by themselves.
    pub fn new(
        ground: Ground,
        query: Question,
        sigma: f64,
        records: usize,
        persons: Vec<Vec<usize>>,
    ) -> Self {
        let (features, outputs) = (query.features, query.answer.outputs());
        let clip = match query.answer {
            ScoreMeaning::Number => {
                FIRST * deviations(sigma) * ground.rest.sqrt().max(f64::MIN_POSITIVE)
            }
            _ => 1.0,
        };
        let rounds = Self {
            query,
            sigma,
            records,
            asked: Vec::new(),
            moments: Matrix::zeros(features, features),
            first_moment: ground.moment(&vec![0.0; features * outputs]),
            clip,
            length: 1.0,
            left: 1.0,
            differing: 1.0,
            persons,
            square: ground.rest,
            correction: Matrix::zeros(features, outputs),
            sizes: vec![0.0; ground.tiers.len()],
            told: Matrix::zeros(features, outputs),
            ground,
        };
        let (length, left, differing) = rounds.usual_length();
        Self { length, left, differing, ..rounds }
    }

    /// From public persons under the public model: the allowed length of a person's slope, the
    /// share of slopes left by this clip, and how much less persons differ than records.
    fn usual_length(&self) -> (f64, f64, f64) {
        if !self.query.sharp || self.persons.is_empty() {
            return (1.0, 1.0, 1.0);
        }
        let Ground { seen, labels, .. } = &self.ground;
        let none = vec![0.0; self.query.features * self.query.answer.outputs()];
        let rests = self.query.rests(seen, labels, &none, self.clip);
        let square = |own: &Vec<usize>| {
            let slope = rests.select_columns(own) * seen.features.select_columns(own).transpose();
            (slope / own.len() as f64).norm_squared()
        };
        let squares: Vec<f64> = self.persons.iter().map(square).collect();
        let all: f64 = squares.iter().sum();
        let length = (ROOM * (all / squares.len() as f64).sqrt()).clamp(LEAST_LENGTH, 1.0);
        // The part of a slope that the clip leaves.
        let left = |square: &f64| square * shrink_factor(square.sqrt(), length);
        let kept = squares.iter().map(left).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        let each = rests.column_iter().zip(seen.features.column_iter());
        let of_records: f64 = each.map(|(rest, x)| rest.norm_squared() * x.norm_squared()).sum();
        let usual = of_records / rests.ncols() as f64;
        let differing = all / squares.len() as f64 / usual.max(f64::MIN_POSITIVE);
        (length, kept.clamp(ROOM * ROOM, 1.0), differing.min(1.0))
    }

    /// Uses the mean square of the clipped residuals to choose the next clip. The slope of clipped
    /// residuals is smaller than that of whole ones; returns the factor.
    fn clipped(&mut self, square: f64) -> f64 {
        let (clip, rest) = (self.clip, self.ground.rest.sqrt().max(f64::MIN_POSITIVE));
        let noise = self.sigma / self.query.square * clip.powi(2);
        let usual = clipping::mean_square(clip / rest) * rest.powi(2);
        // Noise limits how well it can be distinguished from the usual one.
        let trust = 1.0 / (1.0 + (noise / (0.2 * usual)).powi(2));
        let square = usual + trust * (square - usual);
        let scale = clipping::scale(square / clip.powi(2));
        let kept = clipping::kept(scale);
        self.square = square.max(0.0) / kept.powi(2);
        let deviation = trust * clip / scale + (1.0 - trust) * rest;
        self.clip = (deviations(self.sigma) * deviation).max(LEAST_CLIP * rest);
        kept
    }

    /// The share of persons' slopes that the clip has left, with `slope` their released mean, in
    /// its units. Around a mean m, slopes with a mean square of τ² are clipped according to √(m² +
    /// τ²), not τ. For an observed mean c this leaves √(1 − c²) of the share that it would leave
    /// otherwise.
    fn kept_of_persons(&self, slope: &Matrix) -> f64 {
        if !self.query.sharp {
            return 1.0;
        }
        let (numbers, noise) = (slope.len() as f64, self.sigma.powi(2));
        // Only the part that is clearly above the noise.
        let seen = slope.norm_squared() - noise * (numbers + 2.0 * (2.0 * numbers).sqrt());
        self.left * (1.0 - seen.clamp(0.0, MOST_SEEN)).sqrt()
    }

    /// The correction in the form that the query and the model take: for every feature its scores.
    pub fn flat(&self) -> Vector {
        Vector::from_column_slice(self.correction.transpose().as_slice())
    }

    /// The model so far.
    pub fn shape(&self) -> Shape {
        self.ground.shape.with_correction(&self.flat())
    }

    /// The length of the slope that the last round released, and the length that noise alone would
    /// give it.
    pub fn gap(&self) -> Option<[f64; 2]> {
        let Round { slope, noise, .. } = self.asked.last()?;
        Some([slope.norm(), noise * (slope.len() as f64).sqrt()])
    }

    /// How far each kind of correction moves the answer for a typical record.
    pub fn sizes(&self) -> Vec<(Series, f64)> {
        let mut sizes: Vec<(Series, f64)> = Vec::new();
        for (tier, size) in self.ground.tiers.iter().zip(&self.sizes) {
            match sizes.last_mut() {
                Some((series, sum)) if *series == tier.series => *sum = sum.hypot(*size),
                _ => sizes.push((tier.series, *size)),
            }
        }
        sizes
    }

    /// The correction of each column of the table: how far it moves the answer for a typical public
    /// record, by its effect in the trees and by the linear function of the columns, and how large
    /// the released slope is in the same features beside the noise.
    pub fn by_column(&self) -> Vec<ColumnCorrection> {
        let Ground { tiers, shape, seen, columns, .. } = &self.ground;
        let mut squares = vec![0.0; columns.names.len()];
        let outputs = self.correction.ncols();
        let mut linear = Matrix::zeros(outputs, columns.of.len());
        // The same function of the slope, and the squares of its weights: the noise has variance 1.
        let (mut told, mut weights) = (linear.clone(), vec![0.0; columns.of.len()]);
        let (mut asked, mut numbers) = (squares.clone(), squares.clone());
        let records = seen.features.ncols().max(1) as f64;
        for (tier, block) in tiers.iter().zip(&shape.blocks) {
            let rows = self.correction.rows(tier.first, tier.count);
            for (at, own) in rows.row_iter().enumerate() {
                match &block.source {
                    BlockSource::Effects { .. } => {
                        let square = seen.features.row(tier.first + at).norm_squared() / records;
                        squares[at] += own.norm_squared() * square;
                        asked[at] += self.told.row(tier.first + at).norm_squared();
                        numbers[at] += outputs as f64;
                    }
                    BlockSource::Columns(Some(axes)) if block.width[at] > 0.0 => {
                        let factor = block.scale / block.width[at];
                        linear += own.transpose() * axes.row(at) * factor;
                        let slope = self.told.row(tier.first + at).transpose();
                        told += slope * axes.row(at) * factor;
                        for (weight, axis) in weights.iter_mut().zip(axes.row(at).iter()) {
                            *weight += (axis * factor).powi(2);
                        }
                    }
                    _ => {}
                }
            }
        }
        let spreads = linear.column_iter().zip(&columns.spread).zip(&columns.of);
        for ((weights, spread), column) in spreads {
            squares[*column as usize] += weights.norm_squared() * spread.powi(2);
        }
        let each = told.column_iter().zip(&weights).zip(&columns.of);
        for ((slope, weight), column) in each.filter(|((_, weight), _)| **weight > 0.0) {
            asked[*column as usize] += slope.norm_squared() / weight;
            numbers[*column as usize] += outputs as f64;
        }
        let of = |(at, column): (usize, &String)| ColumnCorrection {
            column: column.clone(),
            size: squares[at].sqrt(),
            times_noise: (asked[at] / numbers[at].max(1.0)).sqrt(),
        };
        columns.names.iter().enumerate().map(of).collect()
    }

    /// The step from the last correction to the next, shortened if it is long. For classes the
    /// slope is not linear, and the releases describe it only nearby: a longer step could go far
    /// wrong, and the next one even further.
    fn within_reach(&self, next: Matrix, moment: &Matrix) -> Matrix {
        if self.query.answer == ScoreMeaning::Number {
            return next;
        }
        let step = next - &self.correction;
        let length = step.column_iter().map(|d| d.dot(&(moment * d)).max(0.0)).sum::<f64>().sqrt();
        &self.correction + shrink_factor(length, REACH) * step
    }

    /// The correction, made smaller where it moves the scores of public records farther than releases
    /// with this noise can tell. The proof of the method says what this bounds.
    fn within_sight(&self, weights: Matrix, noise: f64) -> Matrix {
        if self.query.answer == ScoreMeaning::Number {
            return weights;
        }
        let moved = self.ground.seen.features.tr_mul(&weights);
        let size = moved.norm() / (moved.nrows() as f64).sqrt();
        shrink_factor(size, farthest(noise)) * weights
    }

    /// Processes the release of a round.
    pub fn hear(&mut self, released: &[f64]) {
        let statistics = self.query.read(released, self.clip, self.length);
        let unit = self.query.unit(self.clip) * self.length;
        self.moments += &statistics.moment;
        let kept = self.kept_of_persons(&(&statistics.slope / unit))
            * statistics.square.map_or(1.0, |square| self.clipped(square));
        self.asked.push(Round {
            slope: statistics.slope / kept,
            at: self.correction.clone(),
            noise: self.sigma * unit / kept,
        });
        (self.length, self.left, self.differing) = self.usual_length();
        let asked = self.asked.len() as f64;
        let noise = self.sigma / self.query.moment / asked.sqrt();
        let public = self.ground.moment(self.flat().as_slice());
        let tiers = &self.ground.tiers;
        let most = self.query.most_weight();
        let moment = curvature(&(&self.moments / asked), &public, tiers, noise, most);
        let (expected_unit, sampling) = match self.query.answer {
            ScoreMeaning::Number => (self.ground.rest, self.square),
            _ => (1.0, 1.0),
        };
        let factors = factors(&self.ground);
        // For numbers, slopes also differ by the clip of their round.
        let moment = match self.query.answer {
            ScoreMeaning::Number => moment,
            _ => raised(moment, &self.asked, &factors),
        };
        let evidence = Evidence {
            rounds: &self.asked,
            curvature: &moment,
            factors: &factors,
            curvature_noise: noise,
            sampling: sampling * self.differing / self.records as f64,
            tiers,
            unit: expected_unit,
            // Far from the base answers are certain and the curvature under them is small: measured by
            // that, parts of the same size would be expected to lead farther each round.
            moment: &self.first_moment,
        };
        for (output, mut told) in self.told.column_iter_mut().enumerate() {
            let (slope, variance) = evidence.pooled(output);
            told.copy_from(&(slope / variance.sqrt()));
        }
        let weights = self.within_reach(evidence.correction(), &moment);
        let weights = self.within_sight(weights, self.sigma * unit / asked.sqrt());
        self.sizes = sizes(tiers, &weights, &moment);
        self.correction = weights;
    }
}

/// The clip for noise of this standard deviation in each released mean, in standard deviations of
/// the residuals: a small clip needs little noise, a large one keeps the mean of skewed residuals.
fn deviations(noise: f64) -> f64 {
    (CLIPS.0 * (QUIET / noise.max(f64::MIN_POSITIVE)).powf(NARROWING)).clamp(CLIPS.1, CLIPS.0)
}

/// How far log-odds may be moved where shares are known up to this noise: from ½ to the last share that
/// can be told from 1.
fn farthest(noise: f64) -> f64 {
    let noise = noise.clamp(f64::MIN_POSITIVE, 0.5);
    ((1.0 - noise) / noise).ln()
}

fn sizes(tiers: &[Tier], correction: &Matrix, moment: &Matrix) -> Vec<f64> {
    let size = |tier: &Tier| {
        let own = correction.rows(tier.first, tier.count);
        let block = moment.view((tier.first, tier.first), (tier.count, tier.count));
        own.column_iter().map(|d| d.dot(&(block * d)).max(0.0)).sum::<f64>().sqrt()
    };
    tiers.iter().map(size).collect()
}

/// The curvature of each score, relative to that of the query's weights: 1, except for many
/// classes, whose query has weight 1. There it is the public mean of p(1 − p).
fn factors(ground: &Ground) -> Vec<f64> {
    let ScoreMeaning::Classes(count) = ground.shape.answer else { return vec![1.0] };
    let records = ground.seen.base.ncols() as f64;
    let mut factors = vec![0.0; count];
    for scores in ground.seen.base.column_iter() {
        for (factor, p) in factors.iter_mut().zip(softmax(scores.as_slice())) {
            *factor += p * (1.0 - p) / records;
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::prelude::Adjacency;

    #[test]
    fn whatever_releases_say_scores_of_classes_move_no_farther_than_the_noise_can_tell() {
        let (_, public, _) = example::two_classes(6, 600, 60, 2);
        let (_, learned) = super::super::lesson(&public.into(), 3).unwrap();
        let mut most: f64 = 0.0;
        for sigma in [0.05, 0.5, 1.0] {
            let ground = Ground::clone(&learned).weighed(sigma / 10_f64.sqrt());
            let features = ground.seen.features.nrows();
            let query = Question::new(ScoreMeaning::TwoClasses, features, Adjacency::ReplaceOne);
            let mut rounds = Rounds::new(ground, query, sigma, 60, Vec::new());
            for round in 1..=10 {
                // The largest slope in each round, however far the correction has gone.
                let mut released = vec![0.0; query.numbers()];
                released[0] = 1.0;
                rounds.hear(&released);
                let moved = rounds.ground.seen.features.tr_mul(&rounds.correction);
                let size = moved.norm() / (moved.nrows() as f64).sqrt();
                let noise = sigma / f64::from(round).sqrt();
                let bound = if noise < 0.5 { ((1.0 - noise) / noise).ln() } else { 0.0 };
                assert!(size <= bound * (1.0 + 1e-9), "{sigma}, round {round}: {size} {bound}");
                most = most.max(if bound > 0.0 { size / bound } else { 0.0 });
            }
        }
        assert!(most > 0.99, "{most}");
    }
}
