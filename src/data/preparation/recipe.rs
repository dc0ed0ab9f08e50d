//! The steps of a preparation in numbers, so that they can be written in another language.

use std::f64::consts::SQRT_2;

use super::encoding::Encoding;
use super::labels::LabelColumn;
use super::public_score::PublicScore;
use super::scale::Standardisation;
use super::{LARGEST, Preparation, SLACK};
use crate::definition::Missing;
use crate::error::Result;
use crate::model::Model;

/// The steps of a preparation, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The columns; features are in their order.
    pub columns: Vec<RecipeColumn>,
    /// Whether a number that is missing becomes the public mean. Otherwise its row has no features.
    pub fills_gaps: bool,
    /// Standardised numbers are divided by this,
    pub unit: f64,
    /// and then brought between this and its negative.
    pub largest: f64,
    /// The features of a row are shortened to this norm.
    pub norm: f64,
    /// Follow the features, before they are shortened.
    pub scores: Vec<RecipeScore>,
    /// Follows the features, if there is one; all are then divided by `divisor`.
    pub intercept: Option<f64>,
    pub divisor: f64,
}

/// The features of a public predictor's scores: (score − centre) · factor, shortened to the norm
/// `limit`, times `scale`, divided by the unit. Several scores are first compared with their mean.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipeScore {
    pub from: ScoreRecipe,
    pub centre: Vec<f64>,
    pub factor: f64,
    pub limit: f64,
    pub scale: f64,
}

/// Where the scores come from.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreRecipe {
    /// The features before they are divided by the unit.
    Features(Model),
    /// Raw rows by a recipe of their own.
    Rows(Model, Box<Recipe>),
    /// A column, or `fill` where a number is missing.
    Column { name: String, fill: f64 },
}

/// A column of a raw table and its features.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipeColumn {
    pub name: String,
    pub becomes: Features,
}

/// The features that a column becomes.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// x ↦ (x − centre) / width for each of its numbers.
    Numbers { centre: Vec<f64>, width: Vec<f64>, fill: Vec<f64> },
    /// For each known text a row of features, not yet divided by the unit, and one more for all
    /// other texts.
    Texts { known: Vec<String>, rows: Vec<Vec<f64>> },
}

impl Preparation {
    /// Fails if its file was damaged.
    pub fn recipe(&self) -> Result<Recipe> {
        self.check()?;
        let columns = self.encodings.iter().map(|encoding| RecipeColumn {
            name: encoding.column().to_owned(),
            becomes: match encoding {
                Encoding::Number { .. } | Encoding::Vector { .. } => {
                    let of = |part: fn(&Standardisation) -> f64| {
                        encoding.scales().iter().map(part).collect()
                    };
                    Features::Numbers {
                        centre: of(|scale| scale.centre),
                        width: of(|scale| scale.width),
                        fill: of(|scale| scale.fill),
                    }
                }
                Encoding::Category { values, scales, .. } => {
                    let feature = |row: usize, (at, scale): (usize, &Standardisation)| {
                        scale.apply(f64::from(row == at))
                    };
                    let row =
                        |row| scales.iter().enumerate().map(|scale| feature(row, scale)).collect();
                    Features::Texts {
                        known: values.clone(),
                        rows: (0..scales.len()).map(row).collect(),
                    }
                }
            },
        });
        let intercept = self.intercept.then(|| self.feature_norm / self.room * (1.0 - SLACK));
        Ok(Recipe {
            columns: columns.collect(),
            fills_gaps: self.missing == Missing::PublicMean,
            unit: self.unit,
            largest: LARGEST,
            norm: self.feature_norm * (1.0 - SLACK),
            divisor: if intercept.is_some() { SQRT_2 } else { 1.0 },
            scores: self.all_scores().map(PublicScore::recipe).collect::<Result<_>>()?,
            intercept,
        })
    }

    /// A prediction p means the label centre + width·p; `None` for classes.
    pub fn label_scale(&self) -> Option<(f64, f64)> {
        match &self.labels {
            LabelColumn::Number { scale, .. } => Some((scale.centre, scale.width)),
            LabelColumn::Class { .. } => None,
        }
    }
}
