//! Models: what an adaptation run produces and how it predicts.
//!
//! Used by `adapt` and everything above; uses only `numeric` and the datasets of `data`.

//!
//! | module | holds |
//! |---|---|
//! | [`linear`], [`logistic`], [`network`] | models with one score, and the logistic loss |
//! | [`architecture`] | which layers a model with several scores has |
//! | [`classifier`] | such layers with parameters: scores, losses, gradients of a batch |
//! | [`gradients`] | per-example gradients: norms, inner products, sums, projections |
//! | [`layer`], [`convolution`], [`loss`] | what they are made of |

pub mod architecture;
pub mod classifier;
pub mod convolution;
pub mod gradients;
pub mod layer;
pub mod linear;
pub mod logistic;
pub mod loss;
pub mod network;

use std::borrow::Cow;

pub use architecture::Architecture;
pub use classifier::Classifier;
pub use convolution::Volume;
pub use gradients::Gradients;
pub use layer::Activation;
pub use linear::LinearModel;
pub use loss::Labels;
pub use network::Network;

use crate::numeric::{Matrix, Vector};

/// Any model that a run delivers.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// Predicts a prepared label.
    Linear(LinearModel),
    /// Tells two classes apart: the second where the score is positive.
    Logistic(LinearModel),
    /// The same with the score of a small network.
    Network(Network),
    /// Tells any number of classes apart: the one with the largest score.
    Classifier(Classifier),
}

/// One array of a model, as its file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub name: Cow<'static, str>,
    pub shape: Vec<usize>,
    /// The last index of `shape` runs fastest.
    pub values: Vec<f64>,
}

impl Model {
    /// Its kind, as files name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Logistic(_) => "logistic",
            Self::Network(_) => "network",
            Self::Classifier(_) => "classifier",
        }
    }

    /// Predicted prepared labels, one per column of `features`; `None` of a classifier.
    pub fn numbers(&self, features: &Matrix) -> Option<Vec<f64>> {
        match self {
            Self::Linear(model) => Some(model.predict(features)),
            Self::Logistic(_) | Self::Network(_) | Self::Classifier(_) => None,
        }
    }

    /// Predicted classes, one per column of `features`; `None` of a regression.
    pub fn classes(&self, features: &Matrix) -> Option<Vec<u32>> {
        let scores = match self {
            Self::Linear(_) => return None,
            Self::Logistic(model) => model.predict(features),
            Self::Network(network) => network.predict(features),
            Self::Classifier(classifier) => return Some(classifier.classes(features)),
        };
        Some(scores.into_iter().map(|score| u32::from(score > 0.0)).collect())
    }

    /// The layers of a classifier; other kinds have but one form.
    pub fn architecture(&self) -> Option<&Architecture> {
        match self {
            Self::Classifier(classifier) => Some(classifier.architecture()),
            Self::Linear(_) | Self::Logistic(_) | Self::Network(_) => None,
        }
    }

    pub fn tensors(&self) -> Vec<Tensor> {
        match self {
            Self::Linear(model) | Self::Logistic(model) => vec![Tensor {
                name: "weights".into(),
                shape: vec![model.weights.len()],
                values: model.weights.clone(),
            }],
            Self::Network(network) => vec![
                Tensor {
                    name: "hidden".into(),
                    shape: vec![network.units(), network.inputs],
                    values: network.hidden().to_vec(),
                },
                Tensor {
                    name: "output".into(),
                    shape: vec![network.units()],
                    values: network.output().to_vec(),
                },
            ],
            Self::Classifier(classifier) => classifier.tensors(),
        }
    }
}

impl From<LinearModel> for Model {
    fn from(model: LinearModel) -> Self {
        Self::Linear(model)
    }
}

impl From<Vector> for Model {
    fn from(weights: Vector) -> Self {
        Self::Linear(weights.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logistic_model_predicts_the_second_class_where_its_score_is_positive() {
        let weights = LinearModel { weights: vec![1.0, -1.0] };
        let features = Matrix::from_row_slice(2, 3, &[2.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        let model = Model::Logistic(weights.clone());
        assert_eq!(model.classes(&features), Some(vec![1, 0, 0]));
        assert_eq!(model.numbers(&features), None);
        assert_eq!(Model::from(weights).numbers(&features), Some(vec![1.0, -1.0, 0.0]));
    }
}
