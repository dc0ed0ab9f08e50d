//! What is known after each round: all of it post-processing of what was released.

use super::features::{Ground, Tier};
use super::query::Query;
use super::solve::{Evidence, Round, curvature};
use crate::adapt::Series;
use crate::model::shape::{Answer, Shape};
use crate::model::trees::boosting::softmax;
use crate::numeric::{Matrix, Vector};

/// The first clip, in root mean squared rests of the base; and later ones, of the private rests.
const FIRST_CLIP: f64 = 2.0;
const LATER_CLIP: f64 = 1.5;
/// Standard deviations of chance that a difference between the moments has to pass.
const CAUTION: f64 = 2.0;
/// The private rests' mean square is not believed to be a smaller part of the public ones'.
const LEAST_SQUARE: f64 = 0.01;

#[derive(Debug, Clone)]
pub struct Rounds {
    pub ground: Ground,
    pub query: Query,
    /// Standard deviation of the noise in each released number.
    sigma: f64,
    /// Private ones.
    records: usize,
    asked: Vec<Round>,
    /// The sum of the released moments.
    moments: Matrix,
    /// The unit of the rests.
    pub clip: f64,
    /// What a private rest's square is taken to be.
    square: f64,
    /// One column per score.
    pub correction: Matrix,
    /// How large each tier's correction is for a usual record: √(dᵀCd).
    sizes: Vec<f64>,
}

impl Rounds {
    pub fn new(ground: Ground, query: Query, sigma: f64, records: usize) -> Self {
        let (features, outputs) = (query.features, query.answer.outputs());
        let clip = match query.answer {
            Answer::Number => FIRST_CLIP * ground.rest.sqrt().max(f64::MIN_POSITIVE),
            _ => 1.0,
        };
        Self {
            query,
            sigma,
            records,
            asked: Vec::new(),
            moments: Matrix::zeros(features, features),
            clip,
            square: ground.rest,
            correction: Matrix::zeros(features, outputs),
            sizes: vec![0.0; ground.tiers.len()],
            ground,
        }
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

    /// Takes in what a round has released.
    pub fn hear(&mut self, released: &[f64]) {
        let statistics = self.query.read(released, self.clip);
        let unit = self.query.unit(self.clip);
        self.moments += &statistics.moment;
        self.asked.push(Round {
            slope: statistics.slope,
            at: self.correction.clone(),
            noise: self.sigma * unit,
        });
        if let Some(square) = statistics.square {
            let noise = self.sigma / self.query.square * unit.powi(2);
            let rest = self.ground.rest;
            self.square = (square + noise).clamp(LEAST_SQUARE * rest, self.clip.powi(2));
            self.clip = self.clip.min(LATER_CLIP * self.square.sqrt());
        }
        let asked = self.asked.len() as f64;
        let noise = self.sigma / self.query.moment / asked.sqrt();
        let public = self.ground.moment(self.flat().as_slice());
        let tiers = &self.ground.tiers;
        let moment = curvature(&(&self.moments / asked), &public, tiers, noise, CAUTION);
        let (unit, sampling) = match self.query.answer {
            Answer::Number => (self.ground.rest, self.square),
            _ => (1.0, 1.0),
        };
        let factors = factors(&self.ground);
        let evidence = Evidence {
            rounds: &self.asked,
            curvature: &moment,
            factors: &factors,
            curvature_noise: noise,
            sampling: sampling / self.records as f64,
            tiers,
            unit,
            moment: &public,
        };
        let weights = evidence.correction();
        self.sizes = sizes(tiers, &weights, &moment);
        self.correction = weights;
    }
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
    let Answer::Classes(count) = ground.shape.answer else { return vec![1.0] };
    let records = ground.seen.base.ncols() as f64;
    let mut factors = vec![0.0; count];
    for scores in ground.seen.base.column_iter() {
        for (factor, p) in factors.iter_mut().zip(softmax(scores.as_slice())) {
            *factor += p * (1.0 - p) / records;
        }
    }
    factors
}
