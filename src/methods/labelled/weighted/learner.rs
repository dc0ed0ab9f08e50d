//! The model learned with weighted records: a score and its loss, with bounds.

use crate::data::Bounds;
use crate::error::Result;
use crate::labelled::records::{LabelledRecords, RecordLoss, ScoreLoss};
use crate::model::{Model, Network, logistic, network, softmax};
use crate::numeric::columns::{self, ExampleColumns, length_of};
use crate::numeric::fused::{self, Slopes};
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Vector, parallel};
use std::f64::consts::SQRT_2;

/// A predictor and its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Learner {
    /// (x·w − y)²
    Squared,
    /// log(1 + exp(−y·(x·w))), y = ±1
    Logistic,
    /// log(1 + exp(−y·f(x))) for f(x) = a·tanh(Wx), y = ±1
    Network { units: usize },
    /// log Σ exp((Wx)ⱼ) − (Wx)_y, for the number y of a class
    Softmax { classes: usize },
}

/// B and G: no record within its bounds has a larger loss, or gradient, for any
/// parameters in the ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Largest {
    /// Λ: the ball in which the models stay, for which the other bounds hold.
    pub radius: f64,
    pub loss: f64,
    pub gradient: f64,
}

impl Largest {
    /// For records whose loss and gradient need no bound.
    pub const ANYTHING: Self =
        Self { radius: f64::INFINITY, loss: f64::INFINITY, gradient: f64::INFINITY };
}

impl Learner {
    pub fn parameters(self, dimension: usize) -> usize {
        match self {
            Self::Network { units } => network::parameters(dimension, units),
            _ => RecordLoss::from(self).parameters(dimension),
        }
    }

    /// The bounds over ‖θ‖ ≤ `radius`.
    pub fn largest(self, bounds: Bounds, radius: f64) -> Largest {
        let norm = bounds.feature_norm;
        match self {
            Self::Squared => {
                let error = norm * radius + bounds.label;
                Largest { radius, loss: error * error, gradient: 2.0 * norm * error }
            }
            Self::Logistic => {
                Largest { radius, loss: logistic::loss(-norm * radius), gradient: norm }
            }
            Self::Network { units } => {
                // |a·tanh(Wx)| ≤ ‖a‖·min(√units, ‖W‖r) with ‖a‖² + ‖W‖² ≤ Λ², and
                // ‖∇f‖² ≤ ‖a‖²r² + ‖W‖²r².
                let score = (radius * (units as f64).sqrt()).min(norm * radius.powi(2) / 2.0);
                Largest { radius, loss: logistic::loss(-score), gradient: norm * radius }
            }
            Self::Softmax { classes } => {
                // ‖Wx‖ ≤ rΛ, so two scores differ by at most √2·rΛ, and the loss is at most
                // log(1 + (k−1)e^(√2·rΛ)). With the probabilities p, ∇ℓ = (p − e_y)xᵀ and
                // ‖p − e_y‖² ≤ 2(1 − p_y)² ≤ 2.
                let apart = SQRT_2 * norm * radius;
                let loss = apart + ((classes - 1) as f64 + (-apart).exp()).ln();
                Largest { radius, loss, gradient: SQRT_2 * norm }
            }
        }
    }

    /// No second derivative of the loss in the scores is larger.
    pub fn curvature(self) -> f64 {
        match self {
            Self::Squared => 2.0,
            Self::Logistic | Self::Network { .. } => 0.25,
            // diag(p) − ppᵀ is largest for two classes of ½ each.
            Self::Softmax { .. } => 0.5,
        }
    }

    pub fn model(self, dimension: usize, theta: &Vector) -> Result<Model> {
        match self {
            Self::Network { .. } => Ok(Model::Network(Network::new(dimension, theta))),
            _ => RecordLoss::from(self).model(dimension, theta.clone()),
        }
    }
}

impl From<Learner> for RecordLoss {
    fn from(learner: Learner) -> Self {
        match learner {
            Learner::Squared => Self::Score(ScoreLoss::Squared),
            Learner::Logistic | Learner::Network { .. } => Self::Score(ScoreLoss::Logistic),
            Learner::Softmax { classes } => Self::Softmax { classes },
        }
    }
}

/// What one pass over the records finds.
pub struct LossPass {
    /// ℓᵢ of every record, or of every person; 0 for a record that is not finite.
    pub losses: Vec<f64>,
    /// Σ qᵢ∇ℓᵢ over all records, or all persons; a record that is not finite is ignored.
    pub gradient: Vector,
}

/// What a pass knows of every record but its features.
struct Facts<'a> {
    labels: &'a [f64],
    norms: &'a [f64],
    /// qᵢ, or a record's share of its person's.
    weights: &'a [f64],
    /// No record counts with a larger loss or a longer gradient.
    largest: Largest,
    /// The factor by which the gradient of each may be longer than that.
    room: Option<&'a [f64]>,
}

impl Facts<'_> {
    /// The loss that counts.
    #[inline]
    fn loss(&self, loss: f64) -> f64 {
        if loss.is_nan() { 0.0 } else { loss.clamp(0.0, self.largest.loss) }
    }

    /// The factor of a gradient of this length.
    #[inline]
    fn factor(&self, at: usize, length: f64) -> f64 {
        let room = self.room.map_or(1.0, |room| room[at]);
        self.weights[at] * shrink_factor(length, room * self.largest.gradient)
    }
}

/// Losses of single scores.
struct ScoredLosses<'a> {
    of: ScoreLoss,
    facts: &'a Facts<'a>,
    losses: Vec<f64>,
}

impl Slopes for ScoredLosses<'_> {
    // Compiled as a part of the pass, for the instruction set detected at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn slopes(&mut self, first: usize, scores: &mut [f64]) {
        for (at, score) in (first..).zip(scores) {
            let (loss, slope) = self.of.with_slope(*score, self.facts.labels[at]);
            self.losses.push(self.facts.loss(loss));
            let factor = self.facts.factor(at, slope.abs() * self.facts.norms[at]);
            *score = if factor > 0.0 { factor * slope } else { 0.0 };
        }
    }
}

/// If records belong to persons, a person counts as one: the person's loss and gradient are the means
/// over their records. If every record's loss lies in \[0, B\] and no gradient is longer than G, the
/// same holds of these means, because both sets are convex.
impl<F: ExampleColumns> LabelledRecords<F> {
    /// Losses and gradient, with `weights` of the records, or of the persons.
    pub fn pass(
        &self,
        learner: Learner,
        theta: &Vector,
        weights: impl Iterator<Item = f64>,
        largest: Largest,
    ) -> LossPass {
        self.pass_with_room(learner, theta, weights, largest, None::<std::iter::Empty<f64>>)
    }

    /// The pass in which the gradient of each record, or of each of a person's, may be longer than
    /// the largest by the factor of `room`.
    pub fn pass_with_room(
        &self,
        learner: Learner,
        theta: &Vector,
        weights: impl Iterator<Item = f64>,
        largest: Largest,
        room: Option<impl Iterator<Item = f64>>,
    ) -> LossPass {
        let weights: Vec<f64> = match self.persons() {
            None => weights.take(self.labels().len()).collect(),
            Some(persons) => persons
                .zip(weights)
                .flat_map(|((_, shares), q)| shares.iter().map(move |share| q * share))
                .collect(),
        };
        let room: Option<Vec<f64>> = room.map(|room| match self.persons() {
            None => room.take(self.labels().len()).collect(),
            Some(persons) => persons
                .zip(room)
                .flat_map(|((_, shares), one)| std::iter::repeat_n(one, shares.len()))
                .collect(),
        });
        let Self { data, norms, .. } = self;
        let labels = self.labels();
        let facts = Facts { labels, norms, weights: &weights, largest, room: room.as_deref() };
        let (gradient, of_records) = match learner {
            Learner::Squared => self.scored(&facts, ScoreLoss::Squared, theta),
            Learner::Logistic => self.scored(&facts, ScoreLoss::Logistic, theta),
            Learner::Network { .. } => self.network(&facts, theta),
            Learner::Softmax { classes } => {
                let slopes_of =
                    |at: usize, x: &[f64], slopes: &mut [f64], losses: &mut Vec<f64>| {
                        let class = labels[at] as usize;
                        let loss = softmax::loss_and_slopes(x, class, theta.as_slice(), slopes);
                        losses.push(facts.loss(loss));
                        let length = slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
                        let factor = facts.factor(at, length * norms[at]);
                        for slope in slopes {
                            *slope *= factor;
                        }
                        factor > 0.0
                    };
                softmax::sums(&data.features, classes, slopes_of)
            }
        };
        // The parts are many numbers: each is freed before the next is added.
        let of_records = of_records.into_iter().reduce(|mut all, part| {
            all.extend(part);
            all
        });
        let of_records = of_records.unwrap_or_default();
        let losses = match self.persons() {
            None => of_records,
            Some(persons) => persons.map(|(own, shares)| dot(&of_records[own], shares)).collect(),
        };
        LossPass { losses, gradient }
    }

    fn scored(&self, facts: &Facts, of: ScoreLoss, theta: &Vector) -> (Vector, Vec<Vec<f64>>) {
        let losses = || ScoredLosses { of, facts, losses: Vec::new() };
        let features = &self.data.features;
        let (gradient, parts) = fused::with_slopes(features, theta, parallel::threads(), losses);
        (gradient, parts.into_iter().map(|part| part.losses).collect())
    }

    fn network(&self, facts: &Facts, theta: &Vector) -> (Vector, Vec<Vec<f64>>) {
        let start = || (vec![0.0; theta.len()], Vec::new());
        let add =
            |at: usize, x: &[f64], sum: &mut [f64], (one, losses): &mut (Vec<f64>, Vec<f64>)| {
                let y = facts.labels[at];
                let score = network::gradient(x, theta.as_slice(), one);
                let (loss, slope) = ScoreLoss::Logistic.with_slope(score, y);
                losses.push(facts.loss(loss));
                let factor = facts.factor(at, slope.abs() * length_of(one));
                if factor > 0.0 {
                    sum.iter_mut().zip(one).for_each(|(sum, one)| *sum += factor * slope * *one);
                }
            };
        let (gradient, parts) = columns::sums(&self.data.features, theta.len(), start, add);
        (gradient, parts.into_iter().map(|(_, losses)| losses).collect())
    }
}

fn dot(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::sync::Arc;

    use super::*;
    use crate::example;
    use crate::numeric::Matrix;

    const LEARNERS: [Learner; 4] = [
        Learner::Squared,
        Learner::Logistic,
        Learner::Network { units: 2 },
        Learner::Softmax { classes: 3 },
    ];

    /// The label for this sign: for softmax, one of the three classes.
    fn label(learner: Learner, sign: f64) -> f64 {
        match learner {
            Learner::Softmax { .. } => 1.0 + sign,
            _ => sign,
        }
    }

    fn record(x: Vec<f64>, y: f64) -> LabelledRecords<Matrix> {
        let data = example::labelled(Matrix::from_vec(3, 1, x), vec![y]);
        LabelledRecords::labelled(Arc::new(data), vec![y])
    }

    fn alone(record: &LabelledRecords<Matrix>, learner: Learner, theta: &Vector) -> LossPass {
        record.pass(learner, theta, [1.0].into_iter(), Largest::ANYTHING)
    }

    proptest! {
        #[test]
        fn no_record_within_its_bounds_exceeds_the_largest_loss_or_gradient(
            x in proptest::collection::vec(-1.0..1.0_f64, 3),
            theta in proptest::collection::vec(-1.0..1.0_f64, 9),
            y in prop_oneof![Just(-1.0), Just(1.0)],
            radius in 0.1..6.0_f64,
        ) {
            let x = Vector::from_vec(x);
            let x = &x * shrink_factor(x.norm(), 1.0);
            for learner in LEARNERS {
                let theta = Vector::from_column_slice(&theta[..learner.parameters(3)]);
                let theta = radius * theta.normalize();
                let largest = learner.largest(Bounds { feature_norm: 1.0, label: 1.0 }, radius);
                let record = record(x.as_slice().to_vec(), label(learner, y));
                let LossPass { losses, gradient } = alone(&record, learner, &theta);
                prop_assert!(losses[0] <= largest.loss + 1e-12);
                prop_assert!(gradient.norm() <= largest.gradient + 1e-12);
            }
        }

        #[test]
        fn gradients_are_slopes_of_losses(
            x in proptest::collection::vec(-1.0..1.0_f64, 3),
            theta in proptest::collection::vec(-1.0..1.0_f64, 9),
            y in prop_oneof![Just(-1.0), Just(1.0)],
        ) {
            for learner in LEARNERS {
                let theta = Vector::from_column_slice(&theta[..learner.parameters(3)]);
                let record = record(x.clone(), label(learner, y));
                let gradient = alone(&record, learner, &theta).gradient;
                for k in 0..theta.len() {
                    let tiny = 1e-6;
                    let at = |by: f64| {
                        let mut other = theta.clone();
                        other[k] += by;
                        alone(&record, learner, &other).losses[0]
                    };
                    let rise = (at(tiny) - at(-tiny)) / (2.0 * tiny);
                    prop_assert!((rise - gradient[k]).abs() < 1e-7);
                }
            }
        }
    }
}
