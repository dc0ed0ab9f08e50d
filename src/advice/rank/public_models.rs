//! The model of one candidate alone, and its errors on other records.
//!
//! An adaptation starts from this model, so its error on the private records is the best predictor
//! of a private model's error.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::methods::baselines::reference::{DEFAULT_RIDGE, source_only};
use crate::methods::labelled::public_shape;
use crate::model::{Architecture, Classifier, ExampleLabels, Model};
use crate::numeric::{Matrix, Vector};

/// The most records for softmax regression: more would hardly help.
const MOST_TRAINED: usize = 2000;
const EPOCHS: usize = 20;
const MINIBATCH: usize = 32;
const RATE: f64 = 0.05;
const MOMENTUM: f64 = 0.9;

/// Linear models and trees are trained on at most this many numbers, which takes a second or two;
/// larger data are thinned out evenly.
const MOST_NUMBERS: usize = 200_000;
/// For wider records, and for more than two classes (mostly images), the model is linear.
const MOST_FEATURES_OF_TREES: usize = 200;

/// The model of a candidate.
#[derive(Debug, Clone)]
pub enum PublicModel {
    /// A model on prepared records.
    Plain(Model),
    /// Softmax regression, on records brought to entries of about 1.
    Scaled(Model),
    /// One answer for all: the median label.
    Number(f64),
    /// One answer for all: the most frequent class.
    Class(u32),
}

impl PublicModel {
    /// Trained on this candidate's labels. `classes` is the number of classes of a classification.
    pub fn of(data: &Dataset, classes: Option<usize>, seed: u64) -> Result<Self> {
        let narrow = data.dimension() <= MOST_FEATURES_OF_TREES;
        if narrow && classes.is_none_or(|classes| classes <= 2) {
            let most = (MOST_NUMBERS / data.dimension().max(1)).max(1000);
            return public_shape::mixture(&data.thinned(0, most).into(), seed).map(Self::Plain);
        }
        match classes {
            Some(classes) => trained(data, classes, seed).map(Self::Scaled),
            None => source_only(data, DEFAULT_RIDGE).map(|model| Self::Plain(model.into())),
        }
    }

    /// The best answer that uses no feature.
    pub fn constant(data: &Dataset) -> Result<Self> {
        match (&data.classes, &data.target) {
            (Some(classes), _) if !classes.of.is_empty() => {
                let mut counts = vec![0_usize; classes.names.len()];
                classes.of.iter().for_each(|class| counts[*class as usize] += 1);
                let most = counts.iter().enumerate().max_by_key(|(_, count)| **count);
                Ok(Self::Class(most.map_or(0, |(class, _)| class as u32)))
            }
            (None, Some(labels)) if !labels.is_empty() => {
                let mut sorted = labels.clone();
                sorted.sort_by(f64::total_cmp);
                Ok(Self::Number(sorted[sorted.len() / 2]))
            }
            _ => Err(unlabelled(data)),
        }
    }

    /// How wrong it is about each record, from 0 to 1: 1 for a wrong answer; of a number how far
    /// off it is, as a share of the range that labels may have. `None` of records without labels
    /// of its kind. A record's number depends on that record alone.
    pub fn losses(&self, data: &Dataset) -> Option<Vec<f64>> {
        let records = data.len();
        let answers = match self {
            Self::Plain(model) => answers(model, &data.features),
            Self::Scaled(model) => answers(model, &scaled(data)),
            Self::Number(number) => ModelAnswers::Numbers(vec![*number; records]),
            Self::Class(class) => ModelAnswers::Classes(vec![*class; records]),
        };
        match answers {
            ModelAnswers::Classes(answers) => {
                let classes = data.classes.as_ref().filter(|it| it.of.len() == records)?;
                let wrong = answers.iter().zip(&classes.of).map(|(a, b)| f64::from(a != b));
                Some(wrong.collect())
            }
            ModelAnswers::Numbers(answers) => {
                let labels = data.target.as_ref().filter(|labels| labels.len() == records)?;
                let bound = data.bounds.label;
                let inside = |number: f64| number.clamp(-bound, bound);
                let off = |(answer, label): (&f64, &f64)| {
                    let off = (inside(*answer) - inside(*label)).abs() / (2.0 * bound);
                    // NaN counts as the largest error.
                    if off <= 1.0 { off } else { 1.0 }
                };
                Some(answers.iter().zip(labels).map(off).collect())
            }
        }
    }
}

enum ModelAnswers {
    Classes(Vec<u32>),
    Numbers(Vec<f64>),
}

fn answers(model: &Model, features: &Matrix) -> ModelAnswers {
    match model.classes(features) {
        Some(classes) => ModelAnswers::Classes(classes),
        None => ModelAnswers::Numbers(model.numbers(features).unwrap_or_default()),
    }
}

fn unlabelled(data: &Dataset) -> Error {
    Error::failed(format!("'{}' has no labels to learn from", data.name))
}

/// Softmax regression on a candidate's own labels, by stochastic gradient descent.
fn trained(data: &Dataset, classes: usize, seed: u64) -> Result<Model> {
    let architecture = Architecture::linear(data.dimension(), classes)?;
    let parameters = vec![0.0; architecture.parameters()];
    trained_from(Classifier::new(architecture, parameters)?, data, seed).map(Model::Classifier)
}

/// A network trained on these labels.
pub(super) fn trained_from(mut model: Classifier, data: &Dataset, seed: u64) -> Result<Classifier> {
    let labels = data.classes.as_ref().filter(|labels| labels.of.len() == data.len());
    let labels = labels.ok_or_else(|| unlabelled(data))?;
    let features = scaled(data);
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.shuffle(&mut generator);
    order.truncate(MOST_TRAINED);
    let mut velocity = Vector::zeros(model.parameters().len());
    // The slope of the loss is proportional to the length of the features.
    let rate = RATE
        / (1.0 + features.column_iter().map(|x| x.norm_squared()).sum::<f64>() / data.len() as f64)
        * MINIBATCH as f64;
    for _ in 0..EPOCHS {
        order.shuffle(&mut generator);
        for batch in order.chunks(MINIBATCH) {
            let examples = features.select_columns(batch);
            let classes: Vec<u32> = batch.iter().map(|index| labels.of[*index]).collect();
            let gradients = model.gradients(&examples, ExampleLabels::Classes(&classes))?;
            let share = 1.0 / batch.len() as f64;
            velocity =
                MOMENTUM * velocity - rate * gradients.weighted_sum(&vec![share; batch.len()]);
            for (parameter, change) in model.parameters_mut().iter_mut().zip(&velocity) {
                *parameter += change;
            }
        }
    }
    Ok(model)
}

/// Scales records of the declared norm to entries of about 1.
pub(super) fn scaled(data: &Dataset) -> Matrix {
    (data.dimension() as f64).sqrt() / data.bounds.feature_norm * &data.features
}
