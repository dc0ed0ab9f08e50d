//! The records of a case: public ones, those in the private role, and held-out ones.

use std::collections::BTreeMap;

use super::{RehearsalNoise, Trial};
use crate::data::{Dataset, Preparation, PublicRecords};
use crate::error::{Error, Result};
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
        Trial { method, settings, public, private, noise, paid: None, seed, public_seed: 0 }
    }

    /// The problem for a method with private labels.
    pub fn problem(&self) -> Problem {
        let shape = ProblemShape::of_data(&self.private, &self.public);
        Problem { shape, public: self.public.clone(), seed: 0 }
    }

    /// Mean squared error in label units, or logarithmic loss. If persons are held out, each counts the
    /// same.
    pub fn loss(&self, model: &Model) -> Result<f64> {
        let mismatch = || Error::failed("the model and the labels do not match");
        let features = &self.held_out.features;
        let losses: Vec<f64> = if let Some(classes) = &self.held_out.classes {
            match model {
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
            }
        } else {
            let truth = self.held_out.target.as_ref().ok_or_else(mismatch)?;
            let predicted = model.numbers(features).ok_or_else(mismatch)?;
            let each = predicted.iter().zip(truth);
            let label = |raw| self.preparation.label_from_prediction(raw);
            each.map(|(raw, truth)| (label(*raw) - truth).powi(2)).collect()
        };
        let all = match &self.held_out.persons {
            None => losses.iter().sum::<f64>(),
            Some(persons) => {
                let of = |own: std::ops::Range<usize>| {
                    losses[own.clone()].iter().sum::<f64>() / own.len().max(1) as f64
                };
                persons.iter().map(of).sum()
            }
        };
        Ok(all / self.held_out.protected() as f64)
    }
}
