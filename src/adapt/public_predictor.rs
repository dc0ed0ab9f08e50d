//! A public predictor for any method: a model of public records alone, whose score becomes a feature.
//!
//! Private records reach a trained predictor only as rows to be scored. Its training takes public
//! rows and their labels, and nothing else.

use std::fmt;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::labelled::public_shape::MOST_FEATURES;
use super::labelled::public_shape::labels::Labels;
use super::labelled::public_shape::teaching::teach_alone;
use crate::data::preparation::{ScoreColumn, ScoreSource};
use crate::data::{Preparation, PreparationSettings, Table};
use crate::error::{Error, Result};
use crate::model::{Model, Shape};
use crate::numeric::Matrix;

/// The number of parts that are left out in turn where the public records are of one kind.
const FOLDS: usize = 4;

/// The setting's name, in plans and rehearsals.
pub const KEY: &str = "public_predictor";

/// The public predictor that a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublicPredictor {
    #[default]
    None,
    /// A linear model of the public records.
    Linear,
    /// Boosted trees of the public records.
    Trees,
    /// A model file or run directory of halflight.
    Model(String),
    /// A column of the tables that holds a score.
    Column(String),
}

/// What may be asked for.
pub const FORM: &str = "none, linear, trees, model(\"PATH\") or column(\"NAME\")";

impl PublicPredictor {
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Reads what [`fmt::Display`] writes. Quotation marks may be left out.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let inside = |word: &str| {
            let rest = text.strip_prefix(word)?.trim_start();
            let name = rest.strip_prefix('(')?.strip_suffix(')')?.trim();
            let plain = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
            let name = plain.unwrap_or(name);
            (!name.is_empty()).then(|| name.to_owned())
        };
        match text {
            "none" => Ok(Self::None),
            "linear" => Ok(Self::Linear),
            "trees" => Ok(Self::Trees),
            _ => inside("model")
                .map(Self::Model)
                .or_else(|| inside("column").map(Self::Column))
                .ok_or_else(|| {
                    Error::usage(format!("'{text}' is not a public predictor"))
                        .cure(format!("give {FORM}"))
                }),
        }
    }

    /// In a sentence about what was taken as public.
    pub fn words(&self, datasets: &[String]) -> Option<String> {
        let names: Vec<String> = datasets.iter().map(|name| format!("'{name}'")).collect();
        let trained = |kind: &str| {
            format!(
                "the public predictor: {kind} trained on {} alone. The score of a record is one of \
                 its features",
                names.join(", ")
            )
        };
        match self {
            Self::None => None,
            Self::Linear => Some(trained("a linear model")),
            Self::Trees => Some(trained("boosted trees")),
            Self::Model(path) => Some(format!(
                "the public predictor: the finished model '{}'. The score of a record is one of its \
                 features",
                std::path::Path::new(path).file_name().map_or_else(
                    || path.clone(),
                    |name| name.to_string_lossy().into_owned()
                )
            )),
            Self::Column(name) => Some(format!(
                "the way in which the numbers in column '{name}' were made: the user calls them the \
                 score of a public predictor, and nobody checked that. If other private records \
                 went into the number in a row, they have no protection here"
            )),
        }
    }
}

impl fmt::Display for PublicPredictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Linear => f.write_str("linear"),
            Self::Trees => f.write_str("trees"),
            Self::Model(path) => write!(f, "model(\"{path}\")"),
            Self::Column(name) => write!(f, "column(\"{name}\")"),
        }
    }
}

/// A finished model that scores records, with its own preparation.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierModel {
    pub model: Model,
    pub preparation: Preparation,
    /// Its file, for messages.
    pub place: String,
}

impl EarlierModel {
    /// Refuses a model of something else.
    fn check(&self, wanted: &Preparation) -> Result<()> {
        let own = &self.preparation;
        let refused = |what: String, cure: &str| {
            Err(Error::usage(what).at(self.place.clone()).cure(cure.to_owned()))
        };
        if own.task() != wanted.task() {
            return refused(
                format!(
                    "the public predictor is a model for a {}, and the plan is a {}",
                    own.task(),
                    wanted.task()
                ),
                "name a model of the same task in `public_predictor: model(…)`",
            );
        }
        if own.class_names() != wanted.class_names() {
            return refused(
                format!(
                    "the public predictor knows the classes {}, and the plan has {}",
                    own.class_names().join(", "),
                    wanted.class_names().join(", ")
                ),
                "name a model of the same classes in `public_predictor: model(…)`",
            );
        }
        if own.needed_columns().contains(&wanted.label_name()) {
            return refused(
                format!(
                    "the public predictor needs column '{}', which the plan is to predict",
                    wanted.label_name()
                ),
                "name a model that predicts the label from other columns",
            );
        }
        Ok(())
    }
}

/// Public rows for a predictor.
#[derive(Clone, Copy)]
pub struct PublicRows<'a> {
    pub table: &'a Table,
    /// The dataset of each row; empty where this is unknown.
    pub owners: &'a [u32],
    pub settings: &'a PreparationSettings,
    pub seed: u64,
}

/// The preparation with the score that a plan asks for, and the public rows' own scores: out of fold
/// where the predictor was trained on them.
pub fn fitted(
    wanted: &PublicPredictor,
    earlier: Option<&EarlierModel>,
    plain: &Preparation,
    rows: PublicRows<'_>,
) -> Result<Option<(Preparation, Matrix)>> {
    let PublicRows { table, settings, .. } = rows;
    let (source, scores) = match wanted {
        PublicPredictor::None => return Ok(None),
        PublicPredictor::Linear => trained(false, plain, rows)?,
        PublicPredictor::Trees => trained(true, plain, rows)?,
        PublicPredictor::Model(path) => {
            let Some(earlier) = earlier else {
                return Err(Error::failed(format!("the model '{path}' was not read")));
            };
            earlier.check(plain)?;
            let EarlierModel { model, preparation, .. } = earlier.clone();
            let preparation = Box::new(preparation.with_missing(plain.missing()));
            let source = ScoreSource::Earlier { model, preparation };
            let scores = plain.scores_of(&source, table)?;
            (source, scores)
        }
        PublicPredictor::Column(name) => {
            let column = ScoreColumn::of(table, name, plain.missing())?;
            let source = ScoreSource::Column(column);
            let scores = plain.scores_of(&source, table)?;
            (source, scores)
        }
    };
    let preparation = plain.with_score(source, table, &scores, settings)?;
    Ok(Some((preparation, scores)))
}

fn trained(
    trees: bool,
    plain: &Preparation,
    rows: PublicRows<'_>,
) -> Result<(ScoreSource, Matrix)> {
    let features = plain.standardised(rows.table)?;
    if features.nrows() > MOST_FEATURES {
        return Err(Error::usage(format!(
            "the data have {} features, and a public predictor is trained on {MOST_FEATURES} at most",
            features.nrows()
        ))
        .cure("select fewer columns, or set `public_predictor: none`"));
    }
    let labels = Labels::of(&plain.apply(rows.table, "public", true)?)?;
    let taught = teach_alone(&features, &labels, trees, &parts(rows));
    let shape = Shape::of_one(features.nrows(), labels.answer(), taught.predictor);
    Ok((ScoreSource::Trained(Model::Shape(shape)), taught.unseen))
}

/// Which public rows are scored together by a predictor that has seen none of them: a dataset where
/// there are several, or else a random part. The rows of a person are never apart.
fn parts(rows: PublicRows<'_>) -> Vec<u32> {
    let PublicRows { table, owners, seed, .. } = rows;
    let mut known: Vec<u32> = owners.to_vec();
    known.sort_unstable();
    known.dedup();
    let persons = table.persons.as_ref();
    if known.len() > 1 && owners.len() == table.rows() {
        let place = |owner: &u32| known.binary_search(owner).unwrap_or(0) as u32;
        return owners.iter().map(place).collect();
    }
    let count = persons.map_or(table.rows(), |persons| persons.count());
    let mut folds: Vec<u32> = (0..count).map(|i| (i % FOLDS) as u32).collect();
    folds.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
    match persons {
        None => folds,
        Some(persons) => {
            let mut of = vec![0; table.rows()];
            for (own, fold) in persons.iter().zip(&folds) {
                of[own].fill(*fold);
            }
            of
        }
    }
}
