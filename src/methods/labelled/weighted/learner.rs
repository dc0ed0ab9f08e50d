//! The model learned with weighted records: a score and its loss, with bounds.

use std::f64::consts::SQRT_2;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Bounded, Bounds, Dataset, PublicData};
use crate::error::{Error, Result};
use crate::labelled::profiled::ScoreLoss;
use crate::model::{LinearModel, Model, Network, logistic, network, softmax};
use crate::numeric::columns::{self, ExampleColumns, Singles, length_of};
use crate::numeric::fused::{self, Slopes};
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Vector, parallel};
use crate::privacy::PrivateFault;
use crate::problem::UNLABELLED;

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
            Self::Squared | Self::Logistic => dimension,
            Self::Network { units } => network::parameters(dimension, units),
            Self::Softmax { classes } => classes * dimension,
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

    /// The predicted value of every record, if it is not the dataset's own number: the sign or the
    /// number of its class.
    fn labels<F>(self, data: &Dataset<F>) -> Result<Option<Vec<f64>>> {
        match self {
            Self::Squared if data.target.is_none() => {
                Err(Error::failed(format!("dataset '{}' has no labels to fit", data.name))
                    .cure("choose its label column"))
            }
            Self::Squared => Ok(None),
            Self::Logistic | Self::Network { .. } => signs(data).map(Some),
            Self::Softmax { classes } => class_numbers(data, classes).map(Some),
        }
    }

    pub fn model(self, dimension: usize, theta: &Vector) -> Result<Model> {
        Ok(match self {
            Self::Squared => Model::Linear(LinearModel::from(theta.clone())),
            Self::Logistic => Model::Logistic(LinearModel::from(theta.clone())),
            Self::Network { .. } => Model::Network(Network::new(dimension, theta)),
            Self::Softmax { classes } => {
                Model::Classifier(softmax::model(dimension, classes, theta)?)
            }
        })
    }
}

/// The number of the class of every record, of which there must be so many.
pub fn class_numbers<F>(data: &Dataset<F>, count: usize) -> Result<Vec<f64>> {
    match &data.classes {
        Some(classes) if classes.names.len() == count => {
            Ok(classes.of.iter().map(|class| f64::from(*class)).collect())
        }
        _ => Err(Error::failed(format!("dataset '{}' has not the {count} classes", data.name))
            .cure("declare the same classes for all datasets")),
    }
}

/// ±1 for the second and the first of two classes.
pub fn signs<F>(data: &Dataset<F>) -> Result<Vec<f64>> {
    let classes = data.classes.as_ref().ok_or_else(|| {
        Error::failed(format!("dataset '{}' has no classes to tell apart", data.name))
            .cure("choose a label column with two classes, or a method for numbers")
    })?;
    if classes.names.len() != 2 {
        return Err(Error::failed(format!(
            "dataset '{}' has {} classes where this method takes two",
            data.name,
            classes.names.len()
        ))
        .cure("filter the rows down to two classes, or declare two"));
    }
    Ok(classes.of.iter().map(|class| if *class == 1 { 1.0 } else { -1.0 }).collect())
}

/// Refuses public data that show only one of their two classes.
pub fn two_classes(public: &PublicData) -> Result<()> {
    signs(public)?;
    several_classes(public).map(|_| ())
}

/// The number of classes, of which public data must show more than one.
pub fn several_classes(public: &PublicData) -> Result<usize> {
    let classes = public.classes.as_ref().ok_or_else(|| {
        Error::failed(format!("dataset '{}' has no classes to tell apart", public.name))
            .cure("choose a label column with classes, or a method for numbers")
    })?;
    if classes.of.iter().all(|class| *class == classes.of[0]) {
        return Err(Error::failed(format!(
            "the records of dataset '{}' all belong to one class",
            public.name
        ))
        .cure("widen its row filter, or choose another label column"));
    }
    Ok(classes.names.len())
}

/// Labelled records.
///
/// If they belong to persons, a person counts as one: the person's loss and gradient are the means
/// over their records. If every record's loss lies in \[0, B\] and no gradient is longer than G,
/// the same holds of these means, because both sets are convex.
#[derive(Debug, Clone)]
pub struct LabelledRecords<F> {
    pub data: Arc<Dataset<F>>,
    /// Signs or numbers of classes; `None` for numbers, which the dataset has.
    labels: Option<Vec<f64>>,
    /// ‖xᵢ‖, so that clipping needs no pass of its own.
    norms: Vec<f64>,
    /// The weight of each record in its person's mean; `None` where records are protected.
    shares: Option<Vec<f64>>,
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
        self.weights[at] * shrink_factor(length, self.largest.gradient)
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

impl LabelledRecords<Singles> {
    /// Private records; errors do not say what is wrong with them.
    pub fn private(learner: Learner, data: &Bounded) -> std::result::Result<Self, PrivateFault> {
        Self::of(learner, data.shared()).map_err(|_| UNLABELLED)
    }
}

impl<F> LabelledRecords<F> {
    /// A number for each record.
    pub fn labels(&self) -> &[f64] {
        self.labels.as_deref().or(self.data.target.as_deref()).unwrap_or_default()
    }
}

impl<F: ExampleColumns> LabelledRecords<F> {
    pub fn of(learner: Learner, data: Arc<Dataset<F>>) -> Result<Self> {
        Ok(Self::labelled(learner.labels(&data)?, data))
    }

    pub(super) fn labelled(labels: Option<Vec<f64>>, data: Arc<Dataset<F>>) -> Self {
        Self { labels, norms: data.features.map_each(length_of), shares: data.shares(), data }
    }

    /// Every person with the shares of their records, where persons are protected.
    fn persons(&self) -> Option<impl Iterator<Item = (Range<usize>, &[f64])>> {
        let (persons, shares) = (self.data.persons.as_ref()?, self.shares.as_ref()?);
        Some(persons.iter().map(|own| (own.clone(), &shares[own])))
    }

    /// Losses and gradient, with `weights` of the records, or of the persons.
    pub fn pass(
        &self,
        learner: Learner,
        theta: &Vector,
        weights: impl Iterator<Item = f64>,
        largest: Largest,
    ) -> LossPass {
        let weights: Vec<f64> = match self.persons() {
            None => weights.take(self.labels().len()).collect(),
            Some(persons) => persons
                .zip(weights)
                .flat_map(|((_, shares), q)| shares.iter().map(move |share| q * share))
                .collect(),
        };
        let Self { data, norms, .. } = self;
        let labels = self.labels();
        let facts = Facts { labels, norms, weights: &weights, largest };
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
impl LabelledRecords<crate::numeric::Matrix> {
    /// The records, but with this first one.
    pub fn with_first(&self, x: &[f64], y: f64) -> Self {
        let mut data = (*self.data).clone();
        data.features.set_column(0, &Vector::from_column_slice(x));
        let mut labels = self.labels().to_vec();
        labels[0] = y;
        Self::labelled(Some(labels), data.into())
    }

    /// As private records are kept.
    pub fn in_singles(self) -> LabelledRecords<Singles> {
        let data = Arc::new((*self.data).clone().in_singles());
        LabelledRecords { data, labels: self.labels, norms: self.norms, shares: self.shares }
    }

    /// As public records are kept.
    pub fn in_doubles(self) -> LabelledRecords<crate::numeric::doubles::Doubles> {
        let data = (*self.data).clone().into();
        LabelledRecords { data, labels: self.labels, norms: self.norms, shares: self.shares }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        LabelledRecords::labelled(Some(vec![y]), Arc::new(data))
    }

    fn alone(record: &LabelledRecords<Matrix>, learner: Learner, theta: &Vector) -> LossPass {
        record.pass(learner, theta, [1.0].into_iter(), Largest::ANYTHING)
    }

    #[test]
    fn only_two_classes_have_signs() {
        let mut data = Arc::unwrap_or_clone(record(vec![0.0; 3], 0.0).data);
        assert!(signs(&data).unwrap_err().what().contains("no classes"));
        let names = |count: usize| (0..count).map(|k| format!("c{k}")).collect();
        data.classes = Some(crate::data::Classes { of: vec![1], names: names(2) });
        assert_eq!(signs(&data).unwrap(), [1.0]);
        data.classes = Some(crate::data::Classes { of: vec![2], names: names(3) });
        assert!(signs(&data).unwrap_err().what().contains("3 classes"));
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
