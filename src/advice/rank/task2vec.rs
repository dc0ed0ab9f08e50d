//! Task2Vec: how alike two datasets are by what a network learns from each, after
//! [Achille and others 2019](halflight_base::bibliography).
//!
//! The network of the ranking starts from the same weights for every dataset, and learns its labels.
//! Then the *embedding* of the dataset is the diagonal of the Fisher information of the trained
//! layers below the last, F = mean over records of (∂ log p(y|x)/∂w)², with labels y drawn from the
//! trained network itself. The last layer is left out, because its size goes by the classes. The
//! distance of two embeddings is the cosine distance of F/(F + F′) and F′/(F + F′): by this
//! normalisation parameters with a large information do not decide alone.
//!
//! Both are exact, so a distance from private records is only for the curator. There is no private
//! mechanism for it.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::public_models::{scaled, trained_from};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Classifier, ExampleLabels};

use super::settings::RankingSettings;

/// The most records whose gradients make the Fisher information.
const MOST_RECORDS: usize = 1000;
/// Gradients that are written out at once.
const BLOCK: usize = 100;
/// The stream of the seed for the labels that the network draws.
const DRAWN_LABELS: u64 = 1;

/// The diagonal of the Fisher information, one number for each parameter below the last layer.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEmbedding(Vec<f64>);

impl TaskEmbedding {
    /// The embedding of a dataset with classes; `None` for records without them.
    pub fn of(data: &Dataset, settings: &RankingSettings) -> Result<Option<Self>> {
        let Some(labels) = &data.classes else { return Ok(None) };
        let classes = labels.names.len();
        if classes < 2 || labels.of.len() != data.len() {
            return Ok(None);
        }
        let architecture = settings.architecture(data.dimension(), classes)?;
        let (below, _) = architecture.split_at(architecture.layers().len() - 1)?;
        let parameters = architecture.initial(&mut ChaCha20Rng::seed_from_u64(settings.seed));
        let model = Classifier::new(architecture, parameters)?;
        let model = trained_from(model, data, settings.seed)?;
        Self::of_model(&model, below.parameters(), data, settings.seed).map(Some)
    }

    /// The Fisher information of the first `below` parameters of a trained network.
    fn of_model(model: &Classifier, below: usize, data: &Dataset, seed: u64) -> Result<Self> {
        let features = scaled(&data.thinned(0, MOST_RECORDS));
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        generator.set_stream(DRAWN_LABELS);
        let scores = model.scores(&features);
        let drawn: Vec<u32> = scores
            .column_iter()
            .map(|scores| {
                let largest = scores.max();
                let weights: Vec<f64> =
                    scores.iter().map(|score| (score - largest).exp()).collect();
                let mut left = generator.random::<f64>() * weights.iter().sum::<f64>();
                let past = weights.iter().position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                past.unwrap_or(weights.len() - 1) as u32
            })
            .collect();
        let mut information = vec![0.0; below];
        let share = 1.0 / features.ncols() as f64;
        for (first, labels) in (0..).step_by(BLOCK).zip(drawn.chunks(BLOCK)) {
            let block = features.columns(first, labels.len()).into_owned();
            let gradients = model.gradients(&block, ExampleLabels::Classes(labels))?.columns();
            for gradient in gradients.column_iter() {
                for (sum, slope) in information.iter_mut().zip(gradient.iter()) {
                    *sum += share * slope * slope;
                }
            }
        }
        if information.iter().all(|number| number.is_finite()) {
            return Ok(Self(information));
        }
        Err(Error::failed(format!("'{}' has no Task2Vec embedding", data.name))
            .cure("leave the dataset or Task2Vec out"))
    }

    /// The cosine distance of the normalised embeddings: 0 for equal ones, at most 1. `None` for
    /// embeddings of other networks, or without information in common.
    pub fn distance(&self, other: &Self) -> Option<f64> {
        if self.0.len() != other.0.len() {
            return None;
        }
        let (mut product, mut ours, mut theirs) = (0.0, 0.0, 0.0);
        for (a, b) in self.0.iter().zip(&other.0).filter(|(a, b)| *a + *b > 0.0) {
            let (a, b) = (a / (a + b), b / (a + b));
            (product, ours, theirs) = (product + a * b, ours + a * a, theirs + b * b);
        }
        let lengths = f64::sqrt(ours * theirs);
        (lengths > 0.0).then(|| (1.0 - product / lengths).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Bounds, Classes};
    use crate::model::Activation;
    use crate::numeric::Matrix;
    use crate::rank::ProbeModel;

    /// Two classes that differ along one coordinate of six.
    fn records(apart: usize, seed: u64) -> Dataset {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let of: Vec<u32> = (0..300).map(|at| at % 2).collect();
        let features = Matrix::from_fn(6, of.len(), |i, j| {
            let side = if of[j] == 1 { 0.6 } else { -0.6 };
            0.2 * generator.random_range(-1.0..1.0) + if i == apart { side } else { 0.0 }
        });
        Dataset {
            classes: Some(Classes { of, names: vec!["a".to_owned(), "b".to_owned()] }),
            ..Dataset::unlabelled("made", features, Bounds { feature_norm: 1.0, label: 1.0 })
        }
    }

    fn settings() -> RankingSettings {
        let model = ProbeModel::Perceptron(8, Activation::Tanh);
        RankingSettings { model, task2vec: true, ..Default::default() }
    }

    #[test]
    fn datasets_of_one_task_are_nearer_than_those_of_two() {
        let of =
            |apart, seed| TaskEmbedding::of(&records(apart, seed), &settings()).unwrap().unwrap();
        let (own, same, other) = (of(0, 1), of(0, 2), of(3, 3));
        assert_eq!(own.0.len(), 6 * 8 + 8);
        assert!(own.distance(&own).unwrap() < 1e-12);
        let (near, far) = (own.distance(&same).unwrap(), own.distance(&other).unwrap());
        assert!(near < 0.5 * far && far <= 1.0, "{near} {far}");
        assert_eq!(own.distance(&other), other.distance(&own));
    }

    #[test]
    fn the_information_is_the_mean_square_of_the_slopes_by_their_definition() {
        // A network without a hidden layer, whose slopes are (p − e_y)x: with labels drawn by p, the
        // mean of their squares is p(1 − p)x² for two classes.
        let architecture = crate::model::Architecture::linear(1, 2).unwrap();
        let model = Classifier::new(architecture, vec![0.0, 0.4, 0.0, 0.0]).unwrap();
        let data = Dataset::unlabelled(
            "made",
            Matrix::from_element(1, 1000, 0.7),
            Bounds { feature_norm: 1.0, label: 1.0 },
        );
        let found = TaskEmbedding::of_model(&model, 2, &data, 4).unwrap();
        let p = 1.0 / (1.0 + f64::exp(0.4 * 0.7));
        let exact = p * (1.0 - p) * 0.7 * 0.7;
        // A thousand draws: within four standard errors.
        assert!((found.0[0] - exact).abs() < 0.1 * exact, "{} {exact}", found.0[0]);
        assert_eq!(found.0[0], found.0[1]);
    }

    #[test]
    fn records_without_classes_have_no_embedding_and_other_networks_no_distance() {
        let plain = Dataset { classes: None, ..records(0, 1) };
        assert_eq!(TaskEmbedding::of(&plain, &settings()).unwrap(), None);
        assert_eq!(TaskEmbedding(vec![1.0]).distance(&TaskEmbedding(vec![1.0, 2.0])), None);
        assert_eq!(TaskEmbedding(vec![0.0]).distance(&TaskEmbedding(vec![0.0])), None);
        let linear = RankingSettings { model: ProbeModel::Linear, ..settings() };
        assert!(linear.check().unwrap_err().to_string().contains("hidden layer"));
    }
}
