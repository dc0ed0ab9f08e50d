//! Adaptation with weights in closed form: what the profiled methods share.
//!
//! Record i has a largest weight cᵢ (α/m public, (1−α)/n private) and a loss
//! aᵢ = ℓ(xᵢ·w, yᵢ) + d̂·\[public\]. The weights qᵢ = cᵢ·min(1, √(κ₁/aᵢ)) minimise the
//! objective of CnvxAdap over q in closed form; what remains is
//!
//! > F(w) = Σ cᵢ·φ(aᵢ),  φ(a) = a for a ≤ κ₁, else 2√(κ₁a) − κ₁,
//!
//! for squared loss convex, and Huber's loss of the residual where d̂ = 0.
//!
//! *Sensitivity.* Every private record's part of the gradient is clipped to norm c·C, so
//! replacing one moves the sum by at most 2c·C, whatever w and the records are. For squared
//! loss C = 2√κ₁·r clips nothing within the bounds, since
//! φ′(a)·2|res|·‖x‖ = 2·min(|res|, √κ₁)·‖x‖; for logistic loss C is a choice.
//!
//! | module | holds |
//! |---|---|
//! | this | the objective of one side, its gradient, its weights |
//! | [`batches`] | which private records a step uses, and the plan that follows |
//! | [`descent`] | preconditioned descent around the public solution, and the run |

pub mod batches;
pub mod descent;

use super::ProblemShape;
use crate::data::Dataset;
use crate::model::logistic;
use crate::numeric::projection::shrink_factor;
use crate::numeric::rounding::summation_error;
use crate::numeric::{Matrix, Vector, fused};

/// The loss of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    Squared,
    /// Of y = ±1.
    Logistic,
}

impl Loss {
    fn value(self, score: f64, y: f64) -> f64 {
        match self {
            Self::Squared => (score - y).powi(2),
            Self::Logistic => logistic::loss(y * score),
        }
    }

    /// d/d score
    fn slope(self, score: f64, y: f64) -> f64 {
        match self {
            Self::Squared => 2.0 * (score - y),
            Self::Logistic => y * logistic::slope(y * score),
        }
    }
}

/// The shape of the objective: known before private data are touched.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    pub loss: Loss,
    pub alpha: f64,
    /// κ₁
    pub kappa: f64,
    /// d̂ ≥ 0, on public records only: on private ones it would break the sensitivity.
    pub penalty: f64,
    /// C
    pub clip: f64,
    /// Public records keep their largest weight whatever their loss: α-pooling.
    pub pooled: bool,
}

/// The records of one dataset with their labels and norms.
#[derive(Debug, Clone)]
pub struct Records {
    features: Matrix,
    labels: Vec<f64>,
    /// ‖xᵢ‖, so that clipping needs no pass of its own.
    norms: Vec<f64>,
}

impl Records {
    pub fn new(data: &Dataset, labels: Vec<f64>) -> Self {
        let norms = data.features.column_iter().map(|x| x.norm()).collect();
        Self { features: data.features.clone(), labels, norms }
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Those of a sample.
    pub fn chosen(&self, members: &[usize]) -> Self {
        Self {
            features: self.features.select_columns(members),
            labels: members.iter().map(|i| self.labels[*i]).collect(),
            norms: members.iter().map(|i| self.norms[*i]).collect(),
        }
    }

    #[cfg(test)]
    pub fn features(&self) -> &Matrix {
        &self.features
    }
}

impl Profile {
    /// Largest norm of one private record's part of the gradient.
    pub fn influence(&self, records: usize) -> f64 {
        (1.0 - self.alpha) / records as f64 * self.clip
    }

    /// Replace-one ℓ₂ sensitivity of the private gradient *as it is computed*: the sum of
    /// n floating-point vectors is not the true sum, under either neighbour.
    pub fn sensitivity(&self, shape: &ProblemShape) -> f64 {
        let n = shape.private_records;
        let rounding = n as f64 * summation_error(n + shape.dimension + 16);
        2.0 * self.influence(n) * (1.0 + rounding)
    }

    pub fn public<'a>(&self, records: &'a Records) -> Part<'a> {
        Part {
            records,
            loss: self.loss,
            weight: self.alpha / records.labels.len() as f64,
            penalty: self.penalty,
            kappa: if self.pooled { f64::INFINITY } else { self.kappa },
            influence: f64::INFINITY,
        }
    }

    /// `count` is the planned number of records.
    pub fn private<'a>(&self, records: &'a Records, count: usize) -> Part<'a> {
        Part {
            records,
            loss: self.loss,
            weight: (1.0 - self.alpha) / count as f64,
            penalty: 0.0,
            kappa: self.kappa,
            influence: self.influence(count),
        }
    }
}

/// φ(a)
pub fn profiled_loss(loss: f64, kappa: f64) -> f64 {
    if loss <= kappa { loss } else { 2.0 * (kappa * loss).sqrt() - kappa }
}

/// φ′(a): the share of its largest weight that a record keeps.
pub fn kept_weight(loss: f64, kappa: f64) -> f64 {
    if loss <= kappa { 1.0 } else { (kappa / loss).sqrt() }
}

/// The records of one side in the objective.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    pub records: &'a Records,
    loss: Loss,
    /// cᵢ
    pub weight: f64,
    penalty: f64,
    kappa: f64,
    /// No record moves the gradient by more.
    pub influence: f64,
}

/// What one pass over the records tells of the objective at a point.
#[derive(Debug, Clone)]
pub struct Pass {
    /// Σ cᵢφ′(aᵢ)ℓ′(xᵢ·w)xᵢ, every term clipped to `influence`.
    pub gradient: Vector,
    scores: Vec<f64>,
}

impl Part<'_> {
    /// A record that is not made of numbers counts for nothing.
    pub fn pass(&self, w: &Vector) -> Pass {
        let Records { features, labels, norms } = self.records;
        let slope = |i: usize, score: f64| {
            let loss = self.loss.value(score, labels[i]) + self.penalty;
            let kept = kept_weight(loss, self.kappa);
            let slope = self.weight * kept * self.loss.slope(score, labels[i]);
            let shrink = shrink_factor(slope.abs() * norms[i], self.influence);
            if shrink > 0.0 { shrink * slope } else { 0.0 }
        };
        let (scores, gradient) = fused::gradient(features, w, fused::threads(), slope);
        Pass { gradient, scores }
    }

    fn losses<'b>(&'b self, pass: &'b Pass) -> impl Iterator<Item = f64> + 'b {
        let records = pass.scores.iter().zip(&self.records.labels);
        records.map(|(score, y)| self.loss.value(*score, *y) + self.penalty)
    }

    /// Σ cᵢφ(aᵢ)
    pub fn value(&self, pass: &Pass) -> f64 {
        self.weight * self.losses(pass).map(|loss| profiled_loss(loss, self.kappa)).sum::<f64>()
    }

    /// The mean of ℓ, the penalty left out.
    pub fn mean_loss(&self, pass: &Pass) -> f64 {
        let sum: f64 = self.losses(pass).map(|loss| loss - self.penalty).sum();
        sum / self.records.labels.len() as f64
    }

    /// qᵢ = cᵢφ′(aᵢ)
    pub fn weights<'b>(&'b self, pass: &'b Pass) -> impl Iterator<Item = f64> + 'b {
        self.losses(pass).map(|loss| self.weight * kept_weight(loss, self.kappa))
    }
}
