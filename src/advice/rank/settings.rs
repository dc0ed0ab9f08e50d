//! The user's choices for a ranking.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::{Activation, Architecture, Volume};

/// Part of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RankingSettings {
    /// The model whose gradients are compared: best that of the later run.
    pub model: ProbeModel,
    /// The shape of the images, if the features are their pixels; guessed if square.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Volume>,
    /// The requested k; a multiple of C − 1 near it is used.
    pub directions: usize,
    /// The requested m: examples of each dataset in every repeat.
    pub batch: usize,
    pub repeats: usize,
    /// The seed of weights, labels and batches; recorded, because these are public.
    pub seed: u64,
    pub order: CandidateOrder,
    /// Λ of the discrepancies: the largest norm of the weights that matter.
    pub radius: f64,
    /// Whether the exact ranking has a column for Task2Vec.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub task2vec: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeModel {
    /// Softmax regression, or linear regression.
    Linear,
    /// One hidden layer with this many units.
    Perceptron(usize, Activation),
    /// The paper's convolutional probe.
    Probe,
    /// The paper's network of Table 7a.
    Table7a,
}

/// The score that orders the candidates. By GSD where errors are wanted and not all have labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateOrder {
    Energy,
    /// GSD, the gradient subspace distance.
    Distance,
    /// The error of each candidate's own model on the private records, which predicts the later
    /// error best.
    #[default]
    Error,
}

/// What a private ranking releases, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankingMechanism {
    Errors,
    PermuteAndFlip,
    Exponential,
    Table,
    Direction,
}

impl Default for RankingSettings {
    fn default() -> Self {
        Self {
            model: ProbeModel::Perceptron(32, Activation::Relu),
            image: None,
            directions: 16,
            batch: 500,
            repeats: 10,
            seed: 0,
            order: CandidateOrder::default(),
            radius: 1.0,
            task2vec: false,
        }
    }
}

impl RankingSettings {
    pub fn check(&self) -> Result<()> {
        let positive = |name: &str, value: usize, least: usize, most: usize| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Error::usage(format!("ranking: {name} is {value}"))
                .cure(format!("give a number from {least} to {most}")))
        };
        positive("directions", self.directions, 1, 1000)?;
        positive("batch", self.batch, 8, 20_000)?;
        positive("repeats", self.repeats, 2, 1000)?;
        if let ProbeModel::Perceptron(units, _) = self.model {
            positive("the number of units", units, 1, 10_000)?;
        }
        if self.task2vec && self.model == ProbeModel::Linear {
            return Err(Error::usage("ranking: Task2Vec needs a model with a hidden layer")
                .cure("set `model: perceptron(32, relu)` of the ranking, or leave Task2Vec out"));
        }
        if !(self.radius > 0.0 && self.radius.is_finite()) {
            return Err(Error::usage(format!("ranking: radius is {}", self.radius))
                .cure("give a positive number"));
        }
        Ok(())
    }

    /// The model for this many features, with one output per class, or one.
    pub fn architecture(&self, features: usize, outputs: usize) -> Result<Architecture> {
        match self.model {
            ProbeModel::Linear => Architecture::linear(features, outputs),
            ProbeModel::Perceptron(units, activation) => {
                Architecture::perceptron(features, units, outputs, activation)
            }
            ProbeModel::Probe => Architecture::probe(self.volume(features)?, outputs),
            ProbeModel::Table7a => Architecture::table_7a(self.volume(features)?, outputs),
        }
    }

    /// The declared shape of the images, or that of square ones with one or three channels.
    fn volume(&self, features: usize) -> Result<Volume> {
        let square = |channels: usize| {
            let side = ((features / channels) as f64).sqrt().round() as usize;
            (channels * side * side == features).then_some(Volume {
                channels,
                height: side,
                width: side,
            })
        };
        let found = match self.image {
            Some(volume) => (volume.size() == features).then_some(volume),
            None => square(1).or_else(|| square(3)),
        };
        found.ok_or_else(|| {
            let what = match self.image {
                Some(volume) => format!("images of {volume} have {} numbers", volume.size()),
                None => "they do not make a square image with one or three channels".to_owned(),
            };
            Error::usage(format!("the records have {features} features, and {what}")).cure(
                "set `image: Some((channels: …, height: …, width: …))` of the ranking, or choose a model without convolutions",
            )
        })
    }
}

impl ProbeModel {
    pub fn words(self) -> String {
        match self {
            Self::Linear => "softmax regression".to_owned(),
            Self::Perceptron(units, activation) => {
                format!("one hidden layer of {units} {} units", activation.words())
            }
            Self::Probe => "the convolutional probe".to_owned(),
            Self::Table7a => "the network of Table 7a".to_owned(),
        }
    }
}

impl RankingMechanism {
    pub const ALL: [Self; 5] =
        [Self::Errors, Self::PermuteAndFlip, Self::Exponential, Self::Table, Self::Direction];

    /// The name in commands and forms.
    pub fn word(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::PermuteAndFlip => "permute-and-flip",
            Self::Exponential => "exponential",
            Self::Table => "table",
            Self::Direction => "direction",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Errors => {
                "The error of each dataset's own model on the private records, with Gaussian \
                 noise: the best guide to the error of a run. Needs labels"
            }
            Self::PermuteAndFlip => "Only the name of the best dataset, by permute-and-flip",
            Self::Exponential => "Only the name of the best dataset, by the exponential mechanism",
            Self::Table => "The GSD and the energy of all, with Gaussian noise",
            Self::Direction => {
                "One leading direction of the private gradients, by the Bingham mechanism, and its \
                 share inside of every dataset's span"
            }
        }
    }
}

impl CandidateOrder {
    pub const ALL: [Self; 3] = [Self::Error, Self::Distance, Self::Energy];

    pub fn words(self) -> &'static str {
        match self {
            Self::Energy => "captured energy",
            Self::Distance => "GSD (gradient subspace distance)",
            Self::Error => "error of its own model",
        }
    }
}

/// The multiple of C − 1 nearest to the requested number, within `most`, and the reason if it
/// differs.
///
/// Random labels make every eigenvalue of the gradients' second moment (C − 1)-fold (exactly so at
/// zero weights): a k between two multiples cuts an eigenspace, and the position of the cut is
/// noise.
pub fn directions(wanted: usize, classes: Option<usize>, most: usize) -> (usize, Option<String>) {
    let most = most.max(1);
    let copies = classes.map_or(1, |classes| classes.saturating_sub(1)).max(1);
    let near = ((wanted as f64 / copies as f64).round() as usize).max(1) * copies;
    let fitting = if near <= most { near } else { most / copies * copies };
    if fitting == 0 {
        let taken = wanted.min(most);
        let why = format!(
            "k = {taken} is less than C − 1 = {copies}: eigenvalues come in groups of that size, so GSD is unreliable; a larger batch allows a larger k"
        );
        return (taken, Some(why));
    }
    let why = if fitting == wanted {
        None
    } else if near > most {
        Some(format!(
            "k is {fitting} instead of {wanted}: half of the batch and of the parameters is {most}"
        ))
    } else {
        Some(format!(
            "k is {fitting} instead of {wanted}: with {} classes eigenvalues come in groups of {copies}",
            copies + 1
        ))
    };
    (fitting, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_the_multiple_of_one_less_than_the_classes_that_is_nearest() {
        for (wanted, classes, most, k) in [
            (16, Some(10), 250, 18),
            (9, Some(10), 250, 9),
            (12, Some(10), 250, 9),
            (16, Some(2), 250, 16),
            (16, None, 250, 16),
            (16, None, 5, 5),
            (1, Some(10), 250, 9),
            (100, Some(10), 50, 45),
        ] {
            let (found, why) = directions(wanted, classes, most);
            assert_eq!(found, k, "{wanted} {classes:?} {most}");
            assert_eq!(why.is_none(), found == wanted);
        }
        let (k, why) = directions(16, Some(100), 20);
        assert_eq!(k, 16);
        assert!(why.unwrap().contains("unreliable"));
    }

    #[test]
    fn models_fit_the_features_or_say_why_not() {
        let mut settings = RankingSettings { model: ProbeModel::Probe, ..Default::default() };
        assert_eq!(settings.architecture(784, 10).unwrap().parameters(), 22_010);
        assert_eq!(settings.architecture(3 * 32 * 32, 10).unwrap().inputs(), 3072);
        let error = settings.architecture(785, 10).unwrap_err().to_string();
        assert!(error.contains("785 features") && error.contains("image:"), "{error}");
        settings.image = Some(Volume { channels: 1, height: 20, width: 30 });
        assert_eq!(settings.architecture(600, 10).unwrap().inputs(), 600);
        assert!(settings.architecture(784, 10).is_err());
        settings.repeats = 1;
        assert!(settings.check().unwrap_err().to_string().contains("repeats"));
        RankingSettings::default().check().unwrap();
    }
}
