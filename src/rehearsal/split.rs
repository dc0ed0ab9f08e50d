//! The records of a scene: public ones, those in the private role, and those that judge.

use std::collections::BTreeMap;

use super::{RehearsalNoise, Trial};
use crate::adapt::{Problem, ProblemShape};
use crate::data::{Dataset, Preparation, PublicRecords};
use crate::error::{Error, Result};
use crate::model::{Model, logistic};
use crate::numeric::Vector;

/// All of them were prepared alike.
pub struct Split {
    pub preparation: Preparation,
    pub public: PublicRecords,
    pub private: Dataset,
    /// With labels in their own units.
    pub judges: Dataset,
}

impl std::fmt::Debug for Split {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Split").field("private", &self.private.len()).finish_non_exhaustive()
    }
}

impl Split {
    /// A method with its default settings.
    pub fn trial<'a>(&'a self, method: &'a str, noise: RehearsalNoise, seed: u64) -> Trial<'a> {
        let (settings, public) = (BTreeMap::new(), self.public.clone());
        let private = &self.private;
        Trial { method, settings, public, private, noise, paid: None, seed, public_seed: 0 }
    }

    /// What a method with private labels would work on.
    pub fn problem(&self) -> Problem {
        let shape = ProblemShape {
            private_records: self.private.len(),
            most_records: 1,
            public_records: self.public.len(),
            dimension: self.public.dimension(),
            bounds: self.public.bounds,
            private_labels: true,
            classes: self.preparation.class_names().to_vec(),
            start: None,
        };
        Problem { shape, public: self.public.clone(), seed: 0 }
    }

    /// Mean squared error in label units, or logarithmic loss.
    pub fn loss(&self, model: &Model) -> Result<f64> {
        let mismatch = || Error::failed("the model and the labels do not match");
        let features = &self.judges.features;
        let count = self.judges.len() as f64;
        if let Some(classes) = &self.judges.classes {
            let losses: f64 = match model {
                Model::Logistic(linear) => {
                    let scores = linear.predict(features);
                    let signs = classes.of.iter().map(|class| 2.0 * f64::from(*class) - 1.0);
                    scores.iter().zip(signs).map(|(score, sign)| logistic::loss(score * sign)).sum()
                }
                other => {
                    let told = other.probabilities(features).ok_or_else(mismatch)?;
                    let each = classes.of.iter().enumerate();
                    each.map(|(i, class)| -told[(*class as usize, i)].max(1e-300).ln()).sum()
                }
            };
            return Ok(losses / count);
        }
        let truth = Vector::from_vec(self.judges.target.clone().ok_or_else(mismatch)?);
        let predicted = model.numbers(features).ok_or_else(mismatch)?;
        let errors = predicted
            .iter()
            .zip(&truth)
            .map(|(raw, label)| (self.preparation.label_from_prediction(*raw) - label).powi(2));
        Ok(errors.sum::<f64>() / count)
    }
}
