//! What gradients with random labels are blind to.
//!
//! They ignore the labels and, with linear or tanh models on [−1, 1], even an inversion of
//! the inputs. So each candidate is also held against the private data in three other ways:
//!
//! * the unlabelled discrepancy 4Λ²‖M₀ − M_pub‖₂ of the second moments;
//! * the labelled discrepancy of a regression, in a ball of radius Λ around the candidate's own
//!   ridge solution (over the whole ball it says nothing);
//! * the *zero-shot* score: what a model of the candidate alone does on the private records.
//!
//! All three are exact, for the curator.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use super::candidates::{Candidate, Lineup};
use super::settings::RankingSettings;
use crate::adapt::baselines::reference::{DEFAULT_RIDGE, source_only};
use crate::adapt::labelled::labelled_discrepancy::{Risk, discrepancy};
use crate::data::Dataset;
use crate::error::Result;
use crate::model::{Architecture, Classifier, Labels, LinearModel, Model};
use crate::numeric::symmetric::{spectral_norm, weighted_outer_sum};
use crate::numeric::{Matrix, Vector};
use crate::privacy::{CuratorOnly, Private, Watch};

/// Records of a large candidate that are looked at.
pub(super) const MOST: usize = 20_000;
/// Records of a candidate that its model is trained on, at most: softmax regression has
/// little more to learn from more.
const MOST_TRAINED: usize = 2000;
const EPOCHS: usize = 20;
const MINIBATCH: usize = 32;
const RATE: f64 = 0.05;
const MOMENTUM: f64 = 0.9;

/// Other measures of one candidate; each is absent where it makes no sense.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Alongside {
    pub unlabelled: Option<f64>,
    pub labelled: Option<f64>,
    /// Of a classification the accuracy on the private records; of a regression the root mean
    /// squared error, in widths of the label.
    pub zero_shot: Option<f64>,
}

/// `None` under a sealed watch.
pub fn of(
    candidate: &Candidate,
    lineup: &Lineup,
    settings: &RankingSettings,
    private: &Private<Arc<Dataset>>,
    watch: &Watch,
) -> Option<CuratorOnly<Alongside>> {
    let some = candidate.data.as_ref().ok().and_then(|it| it.some(MOST, settings.seed).ok());
    let Some(data) = some.as_deref() else {
        return private.curator(watch, |_| Alongside::default());
    };
    let moment = moment(data);
    let source = source_only(data, DEFAULT_RIDGE).ok();
    let learnt = lineup.classes().and_then(|classes| trained(data, classes, settings.seed).ok());
    private.curator(watch, |private| Alongside {
        unlabelled: Some(
            4.0 * settings.radius.powi(2) * spectral_norm(&(self::moment(private) - &moment)),
        ),
        labelled: labelled(private, data, source.as_ref(), settings.radius),
        zero_shot: match lineup.classes() {
            Some(_) => learnt.as_ref().and_then(|model| accuracy(model, private)),
            None => source.as_ref().and_then(|model| {
                Some(model.mean_squared_error(&private.features, private.target.as_ref()?).sqrt())
            }),
        },
    })
}

fn moment(data: &Dataset) -> Matrix {
    weighted_outer_sum(&data.features, &vec![1.0 / data.len() as f64; data.len()])
}

fn labelled(
    private: &Dataset,
    public: &Dataset,
    source: Option<&LinearModel>,
    radius: f64,
) -> Option<f64> {
    let centre = Vector::from_column_slice(&source?.weights);
    discrepancy(&Risk::of(private)?, &Risk::of(public)?, &centre, radius)
}

/// The share of private records whose class a model of public data finds.
pub fn accuracy(model: &Model, data: &Dataset) -> Option<f64> {
    let classes = data.classes.as_ref()?;
    let predicted = model.classes(&scaled(data))?;
    let right = predicted.iter().zip(&classes.of).filter(|(one, other)| one == other).count();
    Some(right as f64 / classes.of.len() as f64)
}

/// Softmax regression on a candidate's own labels, by stochastic gradient descent.
pub fn trained(data: &Dataset, classes: usize, seed: u64) -> Result<Model> {
    let labels = data.classes.as_ref().filter(|labels| labels.of.len() == data.len());
    let labels = labels.ok_or_else(|| {
        crate::Error::failed(format!("'{}' has no classes to learn from", data.name))
    })?;
    let features = scaled(data);
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    let architecture = Architecture::linear(data.dimension(), classes)?;
    let mut model = Classifier::new(architecture.clone(), vec![0.0; architecture.parameters()])?;
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.shuffle(&mut generator);
    order.truncate(MOST_TRAINED);
    let mut velocity = Vector::zeros(architecture.parameters());
    // The features' length is what the slope of the loss is proportional to.
    let rate = RATE
        / (1.0 + features.column_iter().map(|x| x.norm_squared()).sum::<f64>() / data.len() as f64)
        * MINIBATCH as f64;
    for _ in 0..EPOCHS {
        order.shuffle(&mut generator);
        for batch in order.chunks(MINIBATCH) {
            let examples = features.select_columns(batch);
            let classes: Vec<u32> = batch.iter().map(|index| labels.of[*index]).collect();
            let gradients = model.gradients(&examples, Labels::Classes(&classes))?;
            let share = 1.0 / batch.len() as f64;
            velocity =
                MOMENTUM * velocity - rate * gradients.weighted_sum(&vec![share; batch.len()]);
            for (parameter, change) in model.parameters_mut().iter_mut().zip(&velocity) {
                *parameter += change;
            }
        }
    }
    Ok(Model::Classifier(model))
}

/// Entries of about 1 in place of records of the declared norm.
fn scaled(data: &Dataset) -> Matrix {
    (data.dimension() as f64).sqrt() / data.bounds.feature_norm * &data.features
}
