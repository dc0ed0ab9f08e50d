//! The records of a case: public ones, those in the private role, and held-out ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RehearsalNoise, Trial};
use crate::data::{Dataset, Preparation, PublicRecords, Task};
use crate::error::{Error, Result};
use crate::evaluation::Loss;
use crate::evaluation::measured::{ABSOLUTE, SQUARED, WRONG};
use crate::methods::{Problem, ProblemShape};
use crate::model::{Model, logistic};

/// All of them were prepared in the same way.
pub struct Split {
    pub preparation: Preparation,
    pub public: PublicRecords,
    pub private: Dataset,
    /// With labels in their own units.
    pub held_out: Dataset,
}

impl Split {
    /// A method with its default settings.
    pub fn trial<'a>(&'a self, method: &'a str, noise: RehearsalNoise, seed: u64) -> Trial<'a> {
        let (settings, public) = (BTreeMap::new(), self.public.clone());
        let private = &self.private;
        let (paid, joint, public_seed) = (None, None, 0);
        Trial { method, settings, public, private, noise, paid, seed, public_seed, joint }
    }

    /// The problem for a method with private labels.
    pub fn problem(&self) -> Problem {
        let shape = ProblemShape::of_data(&self.private, &self.public);
        Problem { shape, public: self.public.clone(), seed: 0 }
    }

    /// The mean loss on held-out records, or its root for a root mean square. If persons are held
    /// out, each counts the same. Half a wrong answer in one more is added to wrong answers, so that a
    /// model without any can still be compared.
    pub fn loss(&self, model: &Model, measure: ErrorMeasure) -> Result<f64> {
        let mean = self.mean(&self.losses(model, measure)?);
        let count = self.held_out.protected() as f64;
        Ok(match measure {
            ErrorMeasure::RootMeanSquare => mean.sqrt(),
            ErrorMeasure::WrongAnswers => (mean * count + 0.5) / (count + 1.0),
            _ => mean,
        })
    }

    /// The loss of each held-out record: the size of the error or its square in label units, 1 for a
    /// wrong class, or the logarithmic loss of a class.
    pub(super) fn losses(&self, model: &Model, measure: ErrorMeasure) -> Result<Vec<f64>> {
        let features = &self.held_out.features;
        let classes = self.held_out.classes.as_ref();
        // Classes have no squares: where numbers are compared by these, they are by this loss.
        let by_logarithms =
            [ErrorMeasure::Logarithmic, ErrorMeasure::MeanSquare].contains(&measure);
        let Some(classes) = classes.filter(|_| by_logarithms) else {
            let sizes = self.errors(model)?;
            return Ok(match measure {
                ErrorMeasure::MeanAbsolute | ErrorMeasure::WrongAnswers => sizes,
                _ => sizes.iter().map(|size| size.powi(2)).collect(),
            });
        };
        Ok(match model {
            Model::Logistic(linear) => {
                let scores = linear.predict(features);
                let signs = classes.of.iter().map(|class| 2.0 * f64::from(*class) - 1.0);
                let each = scores.iter().zip(signs);
                each.map(|(score, sign)| logistic::loss(score * sign)).collect()
            }
            other => {
                let told = other.probabilities(features).ok_or_else(mismatch)?;
                let each = classes.of.iter().enumerate();
                each.map(|(i, class)| -told[(*class as usize, i)].max(1e-300).ln()).collect()
            }
        })
    }

    /// What a released score measures of each held-out record: the size of the error in label units,
    /// or 1 for a wrong class and 0 for the right one.
    pub(super) fn errors(&self, model: &Model) -> Result<Vec<f64>> {
        let features = &self.held_out.features;
        if let Some(classes) = &self.held_out.classes {
            let answers = model.class_answers(features).ok_or_else(mismatch)?.classes;
            let wrong = answers.iter().zip(&classes.of).map(|(told, class)| told != class);
            return Ok(wrong.map(|wrong| f64::from(u8::from(wrong))).collect());
        }
        let truth = self.held_out.target.as_ref().ok_or_else(mismatch)?;
        let predicted = model.numbers(features).ok_or_else(mismatch)?;
        let label = |raw| self.preparation.label_from_prediction(raw);
        Ok(predicted.iter().zip(truth).map(|(raw, truth)| (label(*raw) - truth).abs()).collect())
    }

    fn mean(&self, losses: &[f64]) -> f64 {
        let all = match &self.held_out.persons {
            None => losses.iter().sum::<f64>(),
            Some(persons) => {
                let of = |own: std::ops::Range<usize>| {
                    losses[own.clone()].iter().sum::<f64>() / own.len().max(1) as f64
                };
                persons.iter().map(of).sum()
            }
        };
        all / self.held_out.protected() as f64
    }
}

fn mismatch() -> Error {
    Error::failed("the model and the labels do not match")
}

/// The error by which players are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorMeasure {
    MeanAbsolute,
    RootMeanSquare,
    WrongAnswers,
    /// Earlier builds compared numbers by it.
    MeanSquare,
    /// Earlier builds compared classes by it.
    Logarithmic,
}

impl ErrorMeasure {
    /// The error of a plan that is judged by this loss of numbers: that of its released score.
    pub fn of(task: Task, loss: Loss) -> Self {
        match (task, loss) {
            (Task::Classification, _) => Self::WrongAnswers,
            (Task::Regression, Loss::Absolute) => Self::MeanAbsolute,
            (Task::Regression, Loss::Squared) => Self::RootMeanSquare,
        }
    }

    /// Whether a released score may be of this error. If not, nothing is promised of scores.
    pub fn is_of_scores(self) -> bool {
        !matches!(self, Self::MeanSquare | Self::Logarithmic)
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::MeanAbsolute => ABSOLUTE,
            Self::RootMeanSquare => SQUARED,
            Self::WrongAnswers => WRONG,
            Self::MeanSquare => "mean squared error",
            Self::Logarithmic => "logarithmic loss",
        }
    }
}
