//! The model learned with weighted records: a score and its loss, with bounds.

use std::f64::consts::SQRT_2;
use std::ops::Range;
use std::sync::Arc;

use crate::adapt::problem::UNLABELLED;
use crate::data::{Bounded, Bounds, Dataset};
use crate::error::{Error, Result};
use crate::model::{LinearModel, Model, Network, logistic, network, softmax};
use crate::numeric::columns::{ExampleColumns, Singles};
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Matrix, Vector};
use crate::privacy::PrivateFault;

/// A predictor and its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Learner {
    /// (x·w − y)²
    Squared,
    /// log(1 + exp(−y·(x·w))), y = ±1
    Logistic,
    /// The same loss for a·tanh(Wx).
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

    /// The predicted value of every record: a label, or the sign or the number of its class.
    pub fn labels<F>(self, data: &Dataset<F>) -> Result<Vec<f64>> {
        match self {
            Self::Squared => data.target.clone().ok_or_else(|| {
                Error::failed(format!("dataset '{}' has no labels to fit", data.name))
                    .cure("choose its label column")
            }),
            Self::Logistic | Self::Network { .. } => signs(data),
            Self::Softmax { classes } => class_numbers(data, classes),
        }
    }

    pub fn loss(self, x: &[f64], y: f64, theta: &Vector) -> f64 {
        match self {
            Self::Squared => (dot(x, theta.as_slice()) - y).powi(2),
            Self::Logistic => logistic::loss(y * dot(x, theta.as_slice())),
            Self::Network { .. } => logistic::loss(y * network::score(x, theta.as_slice())),
            Self::Softmax { classes } => {
                softmax::loss_and_slopes(x, y as usize, theta.as_slice(), &mut vec![0.0; classes])
            }
        }
    }

    /// ∇ of the loss of one record, written over `gradient`.
    fn gradient(self, x: &[f64], y: f64, theta: &Vector, gradient: &mut [f64]) {
        let slope = match self {
            Self::Squared => 2.0 * (dot(x, theta.as_slice()) - y),
            Self::Logistic => y * logistic::slope(y * dot(x, theta.as_slice())),
            Self::Network { .. } => {
                network::gradient(x, theta.as_slice(), gradient);
                let slope = y * logistic::slope(y * network::score(x, theta.as_slice()));
                for entry in gradient.iter_mut() {
                    *entry *= slope;
                }
                return;
            }
            Self::Softmax { classes } => {
                let mut slopes = vec![0.0; classes];
                softmax::loss_and_slopes(x, y as usize, theta.as_slice(), &mut slopes);
                for (row, slope) in gradient.chunks_exact_mut(x.len()).zip(slopes) {
                    row.iter_mut().zip(x).for_each(|(entry, x)| *entry = slope * x);
                }
                return;
            }
        };
        for (entry, x) in gradient.iter_mut().zip(x) {
            *entry = slope * x;
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
pub fn two_classes(public: &Dataset) -> Result<()> {
    signs(public)?;
    several_classes(public).map(|_| ())
}

/// The number of classes, of which public data must show more than one.
pub fn several_classes(public: &Dataset) -> Result<usize> {
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
pub struct LabelledRecords<F = Matrix> {
    pub data: Arc<Dataset<F>>,
    pub labels: Vec<f64>,
    /// The weight of each record in its person's mean; `None` where records are protected.
    shares: Option<Vec<f64>>,
}

impl LabelledRecords<Singles> {
    /// Private records; errors do not say what is wrong with them.
    pub fn private(learner: Learner, data: &Bounded) -> std::result::Result<Self, PrivateFault> {
        Self::of(learner, data.shared()).map_err(|_| UNLABELLED)
    }
}

impl<F: ExampleColumns> LabelledRecords<F> {
    pub fn of(learner: Learner, data: Arc<Dataset<F>>) -> Result<Self> {
        Ok(Self::labelled(learner.labels(&data)?, data))
    }

    pub(super) fn labelled(labels: Vec<f64>, data: Arc<Dataset<F>>) -> Self {
        Self { labels, shares: data.shares(), data }
    }

    /// Every person with the shares of their records, where persons are protected.
    fn persons(&self) -> Option<impl Iterator<Item = (Range<usize>, &[f64])>> {
        let (persons, shares) = (self.data.persons.as_ref()?, self.shares.as_ref()?);
        Some(persons.iter().map(|own| (own.clone(), &shares[own])))
    }

    /// ℓᵢ of every record, or of every person, at most `largest`; 0 for a record that is not
    /// finite.
    pub fn losses(&self, learner: Learner, theta: &Vector, largest: f64) -> Vec<f64> {
        let mut of_records = Vec::with_capacity(self.labels.len());
        self.data.features.each(|at, x| {
            let loss = learner.loss(x, self.labels[at], theta);
            of_records.push(if loss.is_nan() { 0.0 } else { loss.clamp(0.0, largest) });
        });
        let Some(persons) = self.persons() else { return of_records };
        persons.map(|(own, shares)| dot(&of_records[own], shares)).collect()
    }

    /// Σ qᵢ∇ℓᵢ over all records, or all persons, with every record's gradient clipped to norm
    /// `largest`; a record that is not finite is ignored.
    pub fn gradient(
        &self,
        learner: Learner,
        theta: &Vector,
        weights: impl Iterator<Item = f64>,
        largest: f64,
    ) -> Vector {
        let mut sum = Vector::zeros(theta.len());
        let mut one = Vector::zeros(theta.len());
        let of_records: Vec<f64> = match self.persons() {
            None => weights.take(self.labels.len()).collect(),
            Some(persons) => persons
                .zip(weights)
                .flat_map(|((_, shares), q)| shares.iter().map(move |share| q * share))
                .collect(),
        };
        self.data.features.each(|at, x| {
            learner.gradient(x, self.labels[at], theta, one.as_mut_slice());
            let shrink = shrink_factor(one.norm(), largest);
            if shrink > 0.0 {
                sum.axpy(of_records[at] * shrink, &one, 1.0);
            }
        });
        sum
    }
}

fn dot(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

#[cfg(test)]
impl LabelledRecords {
    /// As private records are kept.
    pub fn in_singles(self) -> LabelledRecords<Singles> {
        let features = Singles::from(&self.data.features);
        let data = Arc::new((*self.data).clone().with_features(features));
        LabelledRecords { data, labels: self.labels, shares: self.shares }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::adapt::example;
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

    fn record(x: Vec<f64>, y: f64) -> LabelledRecords {
        let data = example::labelled(Matrix::from_vec(3, 1, x), vec![y]);
        LabelledRecords::labelled(vec![y], Arc::new(data))
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
                let loss = record.losses(learner, &theta, f64::INFINITY)[0];
                prop_assert!(loss <= largest.loss + 1e-12);
                let one = [1.0].into_iter();
                let gradient = record.gradient(learner, &theta, one, f64::INFINITY);
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
                let gradient = record.gradient(learner, &theta, [1.0].into_iter(), f64::INFINITY);
                for k in 0..theta.len() {
                    let tiny = 1e-6;
                    let at = |by: f64| {
                        let mut other = theta.clone();
                        other[k] += by;
                        record.losses(learner, &other, f64::INFINITY)[0]
                    };
                    let rise = (at(tiny) - at(-tiny)) / (2.0 * tiny);
                    prop_assert!((rise - gradient[k]).abs() < 1e-7);
                }
            }
        }
    }
}
