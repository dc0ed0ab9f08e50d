//! What is known after each round. All of it is post-processing of released values.

use super::clipping;
use super::features::{Ground, Tier};
use super::query::Question;
use super::solve::{Evidence, Round, curvature, raised};
use crate::adapt::Series;
use crate::model::shape::{ScoreMeaning, Shape};
use crate::model::trees::boosting::softmax;
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Matrix, Vector};

/// The first clip is so many times a later one: the private rests may be larger than the public.
const FIRST: f64 = 4.0 / 3.0;
/// The widest and the narrowest clip, in standard deviations of the rests.
const CLIPS: (f64, f64) = (1.5, 0.7);
/// Noise that the widest clip is for, and how fast it narrows beyond.
const QUIET: f64 = 0.018;
const NARROWING: f64 = 0.4;
/// No round moves the scores of a usual record further.
const REACH: f64 = 1.0;
/// No clip is a smaller part of the public rests' root mean square.
const LEAST_CLIP: f64 = 0.1;
/// Slopes of persons are clipped at so many times their public root mean square, and not at less
/// than a part of the longest. Noise falls with the clip as fast as what it leaves of the slopes:
/// below 1, little is won or lost.
const ROOM: f64 = 0.8;
/// A mean of clipped slopes is taken for no clearer than this, squared.
const MOST_SEEN: f64 = 0.9;
const LEAST_LENGTH: f64 = 0.02;

#[derive(Debug, Clone)]
pub struct Rounds {
    pub ground: Ground,
    pub query: Question,
    /// Standard deviation of the noise in each released number.
    sigma: f64,
    /// Private ones.
    records: usize,
    asked: Vec<Round>,
    /// The sum of the released moments.
    moments: Matrix,
    /// The unit of the rests.
    pub clip: f64,
    /// The unit of a person's slope, where those are clipped by themselves.
    pub length: f64,
    /// What its clip leaves of a slope, as far as public persons tell.
    left: f64,
    /// Mean square of a person's slope over that of a record's: errors of one person's records
    /// cancel, so persons differ less from each other than records do.
    differing: f64,
    /// The compared public records of each person, then.
    persons: Vec<Vec<usize>>,
    /// What a private rest's square is taken to be.
    square: f64,
    /// One column per score.
    pub correction: Matrix,
    /// How large each tier's correction is for a usual record: √(dᵀCd).
    sizes: Vec<f64>,
}

impl Rounds {
    /// `persons` has the compared public records of each person, where slopes of persons are
    /// clipped by themselves.
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
            clip,
            length: 1.0,
            left: 1.0,
            differing: 1.0,
            persons,
            square: ground.rest,
            correction: Matrix::zeros(features, outputs),
            sizes: vec![0.0; ground.tiers.len()],
            ground,
        };
        let (length, left, differing) = rounds.usual_length();
        Self { length, left, differing, ..rounds }
    }

    /// How long a person's slope may be, by public persons under the public model, what is left of
    /// slopes that are clipped there, and how much less persons differ than records.
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
        // What the clip leaves of a slope along itself.
        let left = |square: &f64| square * shrink_factor(square.sqrt(), length);
        let kept = squares.iter().map(left).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        let each = rests.column_iter().zip(seen.features.column_iter());
        let of_records: f64 = each.map(|(rest, x)| rest.norm_squared() * x.norm_squared()).sum();
        let usual = of_records / rests.ncols() as f64;
        let differing = all / squares.len() as f64 / usual.max(f64::MIN_POSITIVE);
        (length, kept.clamp(ROOM * ROOM, 1.0), differing.min(1.0))
    }

    /// Takes in the mean square of the clipped rests, and chooses the next clip. Of clipped rests
    /// the slope is smaller than of whole ones: says by what factor.
    fn clipped(&mut self, square: f64) -> f64 {
        let (clip, rest) = (self.clip, self.ground.rest.sqrt().max(f64::MIN_POSITIVE));
        let noise = self.sigma / self.query.square * clip.powi(2);
        let usual = clipping::mean_square(clip / rest) * rest.powi(2);
        // Noise limits how well it can be told from the usual one.
        let trust = 1.0 / (1.0 + (noise / (0.2 * usual)).powi(2));
        let square = usual + trust * (square - usual);
        let scale = clipping::scale(square / clip.powi(2));
        let kept = clipping::kept(scale);
        self.square = square.max(0.0) / kept.powi(2);
        let deviation = trust * clip / scale + (1.0 - trust) * rest;
        self.clip = (deviations(self.sigma) * deviation).max(LEAST_CLIP * rest);
        kept
    }

    /// What the clip has left of persons' slopes, whose released mean is `slope`, in its units.
    /// Around a mean m, slopes with a mean square of τ² are clipped by √(m² + τ²), not by τ: of a
    /// mean that is seen as c that leaves √(1 − c²) of what it would leave otherwise.
    fn kept_of_persons(&self, slope: &Matrix) -> f64 {
        if !self.query.sharp {
            return 1.0;
        }
        let (numbers, noise) = (slope.len() as f64, self.sigma.powi(2));
        // No more of it than is clearly above the noise.
        let seen = slope.norm_squared() - noise * (numbers + 2.0 * (2.0 * numbers).sqrt());
        self.left * (1.0 - seen.clamp(0.0, MOST_SEEN)).sqrt()
    }

    /// The correction as the query and the model take it: for every feature its scores.
    pub fn flat(&self) -> Vector {
        Vector::from_column_slice(self.correction.transpose().as_slice())
    }

    /// The model so far.
    pub fn shape(&self) -> Shape {
        self.ground.shape.with_correction(&self.flat())
    }

    /// How far each kind of correction moves the answer for a usual record.
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

    /// The way from the last correction to the next, shortened where it is long. Of classes the
    /// slope bends, and what was released says how it goes on only nearby: a longer step could
    /// lead out of all sense, and the next one further.
    fn within_reach(&self, next: Matrix, moment: &Matrix) -> Matrix {
        if self.query.answer == ScoreMeaning::Number {
            return next;
        }
        let step = next - &self.correction;
        let length = step.column_iter().map(|d| d.dot(&(moment * d)).max(0.0)).sum::<f64>().sqrt();
        &self.correction + shrink_factor(length, REACH) * step
    }

    /// Takes in what a round has released.
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
        let moment = curvature(&(&self.moments / asked), &public, tiers, noise);
        let (unit, sampling) = match self.query.answer {
            ScoreMeaning::Number => (self.ground.rest, self.square),
            _ => (1.0, 1.0),
        };
        let factors = factors(&self.ground);
        // Of numbers slopes differ by the clip of their round, too.
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
            unit,
            moment: &public,
        };
        let weights = self.within_reach(evidence.correction(), &moment);
        self.sizes = sizes(tiers, &weights, &moment);
        self.correction = weights;
    }
}

/// The clip for noise of this standard deviation in each released mean, in standard deviations
/// of the rests: a small one takes little noise, a large one keeps the mean of skewed rests.
fn deviations(noise: f64) -> f64 {
    (CLIPS.0 * (QUIET / noise.max(f64::MIN_POSITIVE)).powf(NARROWING)).clamp(CLIPS.1, CLIPS.0)
}

fn sizes(tiers: &[Tier], correction: &Matrix, moment: &Matrix) -> Vec<f64> {
    let size = |tier: &Tier| {
        let own = correction.rows(tier.first, tier.count);
        let block = moment.view((tier.first, tier.first), (tier.count, tier.count));
        own.column_iter().map(|d| d.dot(&(block * d)).max(0.0)).sum::<f64>().sqrt()
    };
    tiers.iter().map(size).collect()
}

/// The curvature of each score over that of the query's weights: 1, but of many classes, whose
/// query has weight 1, the public mean of p(1 − p).
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
