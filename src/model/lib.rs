//! Models: the results of adaptation runs, and their predictions.
//!
//! | module | holds |
//! |---|---|
//! | [`linear`], [`logistic`], [`network`] | models with one score, and the logistic loss |
//! | [`softmax`] | linear scores, one for each class, and their loss |
//! | [`shrinkage`] | what holds the weights of linear models near zero |
//! | [`trees`] | decision trees and boosted sums of them |
//! | [`shape`], `shape_file` | public predictors with a private correction, and their arrays in files |
//! | [`architecture`] | the layers of a model with several scores |
//! | [`classifier`] | such layers with parameters: scores, losses, gradients of a batch |
//! | [`gradients`] | per-example gradients: norms, inner products, sums, projections |
//! | [`contributions`] | vectors of single records, as a mechanism clips and adds them up |
//! | [`rows`] | gradients of a linear model on records as they are kept |
//! | [`layer`], [`convolution`], [`sliding`], [`sparse_maps`], [`loss`] | the parts of these |

use halflight_base::error;
use halflight_numeric as numeric;

pub mod adapters;
pub mod architecture;
pub mod classifier;
pub mod contributions;
pub mod convolution;
pub mod gradients;
pub mod layer;
pub mod linear;
pub mod logistic;
pub mod loss;
pub mod network;
pub mod rows;
pub mod shape;
mod shape_file;
pub mod shrinkage;
mod sliding;
pub mod softmax;
mod sparse_maps;
mod stored;
pub mod trees;

use std::borrow::Cow;

pub use adapters::Adapters;
pub use architecture::Architecture;
pub use classifier::Classifier;
pub use contributions::Contributions;
pub use convolution::Volume;
pub use gradients::Gradients;
pub use layer::Activation;
pub use linear::LinearModel;
pub use loss::ExampleLabels;
pub use network::Network;
pub use shape::{Predictor, ScoreMeaning, Shape};
pub use shrinkage::Shrinkage;

use serde::{Deserialize, Serialize};

use crate::numeric::columns::ExampleColumns;
use crate::numeric::exponential::exp;
use crate::numeric::{Matrix, Vector};

/// Any model that a run delivers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::StoredModel", into = "stored::StoredModel")]
pub enum Model {
    /// Predicts a prepared label.
    Linear(LinearModel),
    /// Predicts one of two classes: the second if the score is positive.
    Logistic(LinearModel),
    /// Predicts one of two classes: the second if the score of a small network is positive.
    Network(Network),
    /// Predicts one of any number of classes: the one with the largest score.
    Classifier(Classifier),
    /// Public predictors with a private correction: any task.
    Shape(Shape),
}

/// Examples that are answered at a time, unless all of them are at hand as doubles.
const BLOCK: usize = 4096;

/// The answers of a model of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassAnswers {
    pub classes: Vec<u32>,
    /// For two classes, a number that is larger the more the model favours the second.
    /// Probabilities rounded to 1 would make records equal; this score does not.
    pub order: Option<Vec<f64>>,
}

impl ClassAnswers {
    /// The answers from a column of scores for each record.
    fn of(scores: &Matrix) -> Self {
        let order = (scores.nrows() == 2).then(|| ahead(scores).collect());
        Self { classes: Classifier::classes_of(scores), order }
    }
}

/// How much the second of two classes is favoured.
fn ahead(scores: &Matrix) -> impl Iterator<Item = f64> {
    scores.column_iter().map(|scores| scores[1] - scores[0])
}

/// One array of a model, as in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub name: Cow<'static, str>,
    pub shape: Vec<usize>,
    /// The last index of `shape` runs fastest.
    pub values: Vec<f64>,
}

impl Tensor {
    fn new(name: impl Into<Cow<'static, str>>, shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { name: name.into(), shape, values }
    }

    /// An array with one index.
    fn of_numbers(name: impl Into<Cow<'static, str>>, values: Vec<f64>) -> Self {
        Self::new(name, vec![values.len()], values)
    }
}

impl Model {
    /// The name of its kind in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Logistic(_) => "logistic",
            Self::Network(_) => "network",
            Self::Classifier(_) => "classifier",
            Self::Shape(_) => "shape",
        }
    }

    /// Predicted prepared labels, one per column of `features`; `None` for a classifier.
    pub fn numbers(&self, features: &impl ExampleColumns) -> Option<Vec<f64>> {
        let scores = |block: &Matrix| Vec::from(self.raw_scores(block).data);
        let are_numbers = self.meaning() == ScoreMeaning::Number;
        are_numbers.then(|| features.map_blocks(BLOCK, scores).concat())
    }

    fn meaning(&self) -> ScoreMeaning {
        match self {
            Self::Linear(_) => ScoreMeaning::Number,
            Self::Logistic(_) | Self::Network(_) => ScoreMeaning::TwoClasses,
            Self::Classifier(model) => ScoreMeaning::Classes(model.architecture().outputs()),
            Self::Shape(shape) => shape.answer,
        }
    }

    /// Scores with this meaning, one column per record.
    fn raw_scores(&self, features: &Matrix) -> Matrix {
        let row = |scores: Vec<f64>| Matrix::from_vec(1, features.ncols(), scores);
        match self {
            Self::Linear(model) | Self::Logistic(model) => row(model.predict(features)),
            Self::Network(network) => row(network.predict(features)),
            Self::Classifier(classifier) => classifier.scores(features),
            Self::Shape(shape) => shape.answers(features),
        }
    }

    /// Predicted classes, one per column of `features`; `None` for a regression.
    pub fn classes(&self, features: &impl ExampleColumns) -> Option<Vec<u32>> {
        self.class_answers(features).map(|answers| answers.classes)
    }

    /// Predicted classes, and for two classes how much the model favours the second one.
    pub fn class_answers(&self, features: &impl ExampleColumns) -> Option<ClassAnswers> {
        let blocks = features.map_blocks(BLOCK, |block| self.class_answers_of(block));
        let (classes, orders): (Vec<_>, Vec<_>) = blocks
            .into_iter()
            .map(|block| block.map(|block| (block.classes, block.order)))
            .collect::<Option<_>>()?;
        let order = orders.into_iter().collect::<Option<Vec<_>>>().map(|orders| orders.concat());
        Some(ClassAnswers { classes: classes.concat(), order })
    }

    fn class_answers_of(&self, features: &Matrix) -> Option<ClassAnswers> {
        match self.meaning() {
            ScoreMeaning::Number => None,
            ScoreMeaning::TwoClasses => {
                let scores: Vec<f64> = self.raw_scores(features).data.into();
                let classes = scores.iter().map(|score| u32::from(*score > 0.0)).collect();
                Some(ClassAnswers { classes, order: Some(scores) })
            }
            ScoreMeaning::Classes(_) => Some(ClassAnswers::of(&self.raw_scores(features))),
        }
    }

    /// Numbers from which the answer follows, one column per record: the predicted label, how much
    /// the second of two classes is favoured, or a number for every class.
    pub fn scores(&self, features: &Matrix) -> Matrix {
        let scores = self.raw_scores(features);
        match self.meaning() {
            ScoreMeaning::Classes(2) => Matrix::from_iterator(1, scores.ncols(), ahead(&scores)),
            _ => scores,
        }
    }

    /// How many [`Self::scores`] a record has.
    pub fn score_count(&self) -> usize {
        match self.meaning() {
            ScoreMeaning::Classes(2) => 1,
            meaning => meaning.outputs(),
        }
    }

    /// The probability of each class, one row per class and one column per column of `features`;
    /// `None` for a model without probabilities.
    pub fn probabilities(&self, features: &impl ExampleColumns) -> Option<Matrix> {
        let blocks = features.map_blocks(BLOCK, |block| self.probabilities_of(block));
        let blocks: Vec<Matrix> = blocks.into_iter().collect::<Option<_>>()?;
        let classes = blocks.first().map_or(0, Matrix::nrows);
        let numbers = blocks.iter().flat_map(|block| block.iter().copied()).collect();
        Some(Matrix::from_vec(classes, features.count(), numbers))
    }

    fn probabilities_of(&self, features: &Matrix) -> Option<Matrix> {
        match self.meaning() {
            ScoreMeaning::Number => None,
            ScoreMeaning::TwoClasses => {
                let scores = self.raw_scores(features);
                // d log(1 + e^(−s)) / ds = −P(first class).
                Some(Matrix::from_fn(2, scores.len(), |class, at| {
                    -logistic::slope(if class == 0 { scores[at] } else { -scores[at] })
                }))
            }
            ScoreMeaning::Classes(_) => {
                let without = self.architecture().is_some_and(Architecture::tells_margins);
                (!without).then(|| softmax(self.raw_scores(features)))
            }
        }
    }

    /// The number of features of an example.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Linear(model) | Self::Logistic(model) => model.weights.len(),
            Self::Network(network) => network.inputs,
            Self::Classifier(classifier) => classifier.architecture().inputs(),
            Self::Shape(shape) => shape.inputs,
        }
    }

    /// The model of this kind with these layers and tensors, as given by [`Self::architecture`] and
    /// [`Self::tensors`]; `None` if they do not make such a model.
    pub fn from_tensors(
        kind: &str,
        architecture: Option<&Architecture>,
        tensor: impl Fn(&str) -> Option<(Vec<usize>, Vec<f64>)>,
    ) -> Option<Self> {
        let vector = |name| tensor(name).filter(|(shape, _)| shape.len() == 1).map(|(_, x)| x);
        match kind {
            "linear" => Some(Self::Linear(LinearModel { weights: vector("weights")? })),
            "logistic" => Some(Self::Logistic(LinearModel { weights: vector("weights")? })),
            "network" => {
                let (shape, hidden) = tensor("hidden")?;
                let output = vector("output")?;
                let [units, inputs] = shape[..] else { return None };
                let parameters = [hidden, output].concat();
                let whole = units > 0 && parameters.len() == network::parameters(inputs, units);
                whole.then_some(Self::Network(Network { inputs, parameters }))
            }
            "classifier" => {
                let architecture = architecture?;
                let blank = vec![0.0; architecture.parameters()];
                let blank = Classifier::new(architecture.clone(), blank).ok()?;
                let parts = blank.tensors().into_iter().map(|wanted| {
                    tensor(&wanted.name).filter(|(shape, _)| *shape == wanted.shape).map(|(_, x)| x)
                });
                let parameters = parts.collect::<Option<Vec<_>>>()?.concat();
                Classifier::new(architecture.clone(), parameters).ok().map(Self::Classifier)
            }
            "shape" => Shape::from_tensors(tensor).map(Self::Shape),
            _ => None,
        }
    }

    /// The layers of a classifier; other kinds have only one form.
    pub fn architecture(&self) -> Option<&Architecture> {
        match self {
            Self::Classifier(classifier) => Some(classifier.architecture()),
            Self::Linear(_) | Self::Logistic(_) | Self::Network(_) | Self::Shape(_) => None,
        }
    }

    pub fn tensors(&self) -> Vec<Tensor> {
        match self {
            Self::Linear(model) | Self::Logistic(model) => {
                vec![Tensor::of_numbers("weights", model.weights.clone())]
            }
            Self::Network(network) => {
                let shape = vec![network.units(), network.inputs];
                let hidden = Tensor::new("hidden", shape, network.hidden().to_vec());
                vec![hidden, Tensor::of_numbers("output", network.output().to_vec())]
            }
            Self::Classifier(classifier) => classifier.tensors(),
            Self::Shape(shape) => shape.tensors(),
        }
    }
}

/// Scores as probabilities, column by column; nothing overflows.
fn softmax(mut scores: Matrix) -> Matrix {
    for mut column in scores.column_iter_mut() {
        let largest = column.max();
        column.apply(|score| *score = exp(*score - largest));
        let sum = column.sum();
        column /= sum;
    }
    scores
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
    use super::layer::{Dense, Layer};
    use super::*;

    #[test]
    fn a_logistic_model_predicts_the_second_class_where_its_score_is_positive() {
        let weights = LinearModel { weights: vec![1.0, -1.0] };
        let features = Matrix::from_row_slice(2, 3, &[2.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        let model = Model::Logistic(weights.clone());
        assert_eq!(model.classes(&features), Some(vec![1, 0, 0]));
        assert_eq!(model.numbers(&features), None);
        let order = model.class_answers(&features).unwrap().order;
        assert_eq!(order, Some(vec![1.0, -1.0, 0.0]));
        assert_eq!(Model::from(weights).numbers(&features), Some(vec![1.0, -1.0, 0.0]));
    }

    #[test]
    fn two_classes_are_in_the_order_of_their_probabilities_and_three_have_none() {
        let linear = |outputs: usize| {
            let architecture = Architecture::linear(2, outputs).unwrap();
            let parameters = (0..architecture.parameters()).map(|k| (k * k % 7) as f64 / 3.0);
            Model::Classifier(Classifier::new(architecture, parameters.collect()).unwrap())
        };
        let features = Matrix::from_row_slice(2, 4, &[2.0, -1.0, 0.5, 0.0, -1.0, 3.0, 0.25, 1.0]);
        let two = linear(2);
        let (answers, chances) =
            (two.class_answers(&features).unwrap(), two.probabilities(&features).unwrap());
        let order = answers.order.unwrap();
        for (at, score) in order.iter().enumerate() {
            assert!((1.0 / (1.0 + (-score).exp()) - chances[(1, at)]).abs() < 1e-12);
            assert_eq!(answers.classes[at], u32::from(*score > 0.0));
        }
        let three = linear(3).class_answers(&features).unwrap();
        assert_eq!((three.classes.len(), three.order), (4, None));
    }

    #[test]
    fn the_probability_of_the_class_that_is_predicted_is_the_larger_one() {
        let model = Model::Logistic(LinearModel { weights: vec![1.0] });
        let features = Matrix::from_row_slice(1, 4, &[3_f64.ln(), -3_f64.ln(), 0.0, 1e4]);
        let probabilities = model.probabilities(&features).unwrap();
        for (at, second) in [0.75, 0.25, 0.5, 1.0].into_iter().enumerate() {
            assert!((probabilities[(1, at)] - second).abs() < 1e-15);
            assert!((probabilities[(0, at)] - (1.0 - second)).abs() < 1e-15);
        }
        assert_eq!(model.classes(&features), Some(vec![1, 0, 0, 1]));

        let scores = softmax(Matrix::from_row_slice(3, 2, &[0.0, 1e4, 2_f64.ln(), 0.0, 0.0, -1e4]));
        let wanted = Matrix::from_row_slice(3, 2, &[0.25, 1.0, 0.5, 0.0, 0.25, 0.0]);
        assert!((scores - wanted).amax() < 1e-15);
    }

    #[test]
    fn margins_tell_classes_and_a_hinge_loss_but_no_probabilities() {
        let dense = Layer::Linear(Dense { inputs: 2, outputs: 2 });
        let architecture = Architecture::new(vec![dense, Layer::Margins(2)]).unwrap();
        let scores = Classifier::new(architecture, vec![1.0, 0.0, 0.0, 0.5]).unwrap();
        let features = Matrix::from_row_slice(2, 2, &[2.0, -1.0, -1.0, 3.0]);
        assert_eq!(scores.losses(&features, scores.labels(&[0, 0])), [0.25, 2.25]);
        let plain =
            Classifier::new(scores.architecture().without_margins(), scores.parameters().to_vec());
        let (plain, model) = (Model::Classifier(plain.unwrap()), Model::Classifier(scores));
        assert_eq!(model.classes(&features), Some(vec![0, 1]));
        assert_eq!(
            (model.probabilities(&features), plain.classes(&features)),
            (None, model.classes(&features))
        );
        assert!(plain.probabilities(&features).is_some());
    }

    #[test]
    fn every_model_is_made_again_of_its_tensors_and_nothing_else_is() {
        let network = Network { inputs: 2, parameters: (0..9).map(f64::from).collect() };
        let weights = LinearModel { weights: vec![1.0, -1.0] };
        let architecture = Architecture::perceptron(2, 3, 2, Activation::Relu).unwrap();
        let parameters = (0..architecture.parameters()).map(|k| k as f64 / 7.0).collect();
        let classifier = Classifier::new(architecture, parameters).unwrap();
        for model in [
            Model::Network(network),
            Model::Logistic(weights.clone()),
            weights.into(),
            Model::Classifier(classifier),
        ] {
            let tensors = model.tensors();
            let tensor = |name: &str| {
                let found = tensors.iter().find(|tensor| tensor.name == name)?;
                Some((found.shape.clone(), found.values.clone()))
            };
            let again = Model::from_tensors(model.kind(), model.architecture(), tensor);
            assert_eq!(again, Some(model.clone()));
            assert_eq!(model.inputs(), 2);
            assert_eq!(Model::from_tensors("forest", None, tensor), None);
        }
        let short = |name: &str| match name {
            "hidden" => Some((vec![3, 2], vec![0.0; 6])),
            _ => Some((vec![2], vec![0.0; 2])),
        };
        assert_eq!(Model::from_tensors("network", None, short), None);
    }
}
