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
use crate::data::{Persons, Preparation, PreparationSettings, Table};
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
    /// A column that the finished model of this path predicted, which may have seen private records.
    ColumnOf(String, String),
    /// Several of the others, at most one of them a model or its column.
    Several(Vec<Self>),
}

/// What may be asked for.
pub const FORM: &str = "none, linear, trees, model(\"PATH\"), column(\"NAME\"), \
    column_of(\"NAME\", \"PATH\"), or several of them with + between";
/// How a session file writes it.
pub const IN_A_FILE: &str = "none, linear, trees, model(\"PATH\"), column(\"NAME\"), \
    column_of(\"NAME\", \"PATH\") or several([trees, column(\"NAME\")])";

/// The most predictors of a plan.
pub const MOST: usize = 8;

impl PublicPredictor {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The predictors that a plan names.
    pub fn each(&self) -> &[Self] {
        match self {
            Self::None => &[],
            Self::Several(all) => all,
            one => std::slice::from_ref(one),
        }
    }

    /// Whether one of them is trained for the plan.
    pub fn is_trained(&self) -> bool {
        self.each().iter().any(|one| matches!(one, Self::Linear | Self::Trees))
    }

    /// The model that a plan names.
    pub fn model(&self) -> Option<&str> {
        self.each().iter().find_map(|one| match one {
            Self::Model(path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The finished model on which the predictor depends: its own, or that of its column.
    pub fn builds_on(&self) -> Option<&str> {
        self.each().iter().find_map(|one| match one {
            Self::Model(path) | Self::ColumnOf(_, path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// The column that holds this predictor's score.
    pub fn column(&self) -> Option<&String> {
        match self {
            Self::Column(name) | Self::ColumnOf(name, _) => Some(name),
            _ => None,
        }
    }

    /// The predictors with other paths of models.
    #[must_use]
    pub fn with_models(&self, path: &impl Fn(&str) -> String) -> Self {
        match self {
            Self::Model(own) => Self::Model(path(own)),
            Self::ColumnOf(name, own) => Self::ColumnOf(name.clone(), path(own)),
            Self::Several(all) => {
                Self::Several(all.iter().map(|one| one.with_models(path)).collect())
            }
            other => other.clone(),
        }
    }

    /// Refuses what no plan can have.
    pub fn check(&self) -> Result<()> {
        let Self::Several(all) = self else { return Ok(()) };
        let refused = |what: String, cure: &str| Err(Error::usage(what).cure(cure.to_owned()));
        if all.len() > MOST {
            let what =
                format!("{} public predictors are given, and {MOST} are the most", all.len());
            return refused(what, "leave out those that are nearly the same as others");
        }
        if let Some(one) = all.iter().find(|one| matches!(one, Self::None | Self::Several(_))) {
            let what = format!("'{one}' is not one of several public predictors");
            return refused(what, "name linear, trees, model(\"PATH\") or column(\"NAME\")");
        }
        let twice = all.iter().enumerate().find(|(at, one)| all[..*at].contains(one));
        if let Some((_, one)) = twice {
            return refused(format!("'{one}' is given twice"), "name each public predictor once");
        }
        if all.iter().filter(|one| one.builds_on().is_some()).count() > 1 {
            let what = "several finished models are given as public predictors".to_owned();
            return refused(
                what,
                "name one model or column_of, and write the predictions of models that saw no \
                 private records into columns: `halflight predict`",
            );
        }
        Ok(())
    }

    /// Reads what [`fmt::Display`] writes. Quotation marks may be left out.
    pub fn parse(text: &str) -> Result<Self> {
        let all: Vec<&str> = text.split(" + ").collect();
        if all.len() > 1 {
            let all = all.into_iter().map(Self::parse).collect::<Result<_>>()?;
            let several = Self::Several(all);
            several.check()?;
            return Ok(several);
        }
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
                .or_else(|| {
                    let both = inside("column_of")?;
                    let (name, path) =
                        both.split_once("\", \"").or_else(|| both.split_once(", "))?;
                    Some(Self::ColumnOf(name.to_owned(), path.to_owned()))
                })
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
                file_name(path)
            )),
            Self::Column(name) => Some(format!(
                "the way in which the numbers in column '{name}' were made: the user calls them the \
                 score of a public predictor, and nobody checked that. If other private records \
                 went into the number in a row, they have no protection here"
            )),
            Self::ColumnOf(name, path) => Some(format!(
                "the way in which the numbers in column '{name}' were made: the user says that they \
                 are predictions of the finished model '{}', and nobody checked that. They count as \
                 its score, which is one of the features of a record",
                file_name(path)
            )),
            Self::Several(all) => {
                let each: Vec<String> = all.iter().filter_map(|one| one.words(datasets)).collect();
                Some(each.join(", and "))
            }
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
            Self::ColumnOf(name, path) => write!(f, "column_of(\"{name}\", \"{path}\")"),
            Self::Several(all) => {
                let each: Vec<String> = all.iter().map(Self::to_string).collect();
                f.write_str(&each.join(" + "))
            }
        }
    }
}

/// The last part of a path, which is all that may leave.
fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A finished model that scores records, with its own preparation.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierModel {
    pub model: Model,
    pub preparation: Preparation,
    /// File of the model, for messages.
    pub place: String,
}

impl EarlierModel {
    /// Refuses a model of something else.
    fn check(&self, wanted: &Preparation) -> Result<()> {
        let own = &self.preparation;
        let (what, cure) = if own.task() != wanted.task() {
            let what = format!(
                "the public predictor is a model for a {}, and the plan is a {}",
                own.task(),
                wanted.task()
            );
            (what, "name a model of the same task in `public_predictor: model(…)`")
        } else if own.class_names() != wanted.class_names() {
            let what = format!(
                "the public predictor knows the classes {}, and the plan has {}",
                own.class_names().join(", "),
                wanted.class_names().join(", ")
            );
            (what, "name a model of the same classes in `public_predictor: model(…)`")
        } else if own.needed_columns().contains(&wanted.label_name()) {
            let what = format!(
                "the public predictor needs column '{}', which the plan is to predict",
                wanted.label_name()
            );
            (what, "name a model that predicts the label from other columns")
        } else {
            return Ok(());
        };
        Err(Error::usage(what).at(self.place.clone()).cure(cure))
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
    wanted.check()?;
    let each = wanted.each().iter().map(|one| source(one, earlier, plain, rows));
    let (sources, scores): (Vec<_>, Vec<_>) = each.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let records = rows.table.rows();
    let mut all = Matrix::zeros(scores.iter().map(Matrix::nrows).sum(), records);
    let mut first = 0;
    for scores in &scores {
        all.rows_mut(first, scores.nrows()).copy_from(scores);
        first += scores.nrows();
    }
    if sources.is_empty() {
        return Ok(None);
    }
    let preparation = plain.with_scores(sources, rows.table, &all, rows.settings)?;
    Ok(Some((preparation, all)))
}

/// One of the sources, and the scores of the public rows.
fn source(
    wanted: &PublicPredictor,
    earlier: Option<&EarlierModel>,
    plain: &Preparation,
    rows: PublicRows<'_>,
) -> Result<(ScoreSource, Matrix)> {
    let table = rows.table;
    match wanted {
        PublicPredictor::Linear => trained(false, plain, rows),
        PublicPredictor::Trees => trained(true, plain, rows),
        PublicPredictor::None | PublicPredictor::Several(_) => {
            Err(Error::failed(format!("'{wanted}' is not one public predictor")))
        }
        PublicPredictor::Model(path) => {
            let Some(earlier) = earlier else {
                return Err(Error::failed(format!("the model '{path}' was not read")));
            };
            earlier.check(plain)?;
            let EarlierModel { model, preparation, .. } = earlier.clone();
            let preparation = Box::new(preparation.with_missing(plain.missing()));
            let source = ScoreSource::Earlier { model, preparation };
            let scores = plain.scores_of(&source, table)?;
            Ok((source, scores))
        }
        PublicPredictor::Column(name) | PublicPredictor::ColumnOf(name, _) => {
            let column = ScoreColumn::of(table, name, plain.missing())?;
            let source = ScoreSource::Column(column);
            let scores = plain.scores_of(&source, table)?;
            Ok((source, scores))
        }
    }
}

fn trained(
    trees: bool,
    plain: &Preparation,
    rows: PublicRows<'_>,
) -> Result<(ScoreSource, Matrix)> {
    let features = plain
        .standardised(rows.table)
        .map_err(|error| error.within("`public_predictor` trains on all public records at once"))?;
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
    let count = persons.map_or(table.rows(), Persons::count);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::preparation::{FeatureScaling, LabelRange};
    use crate::data::{Columns, DatasetDefinition, Missing, Role, Source, Task, csv};
    use crate::model::LinearModel;

    fn table(rows: usize, row: impl Fn(usize) -> String) -> Table {
        let rows: Vec<String> = (0..rows).map(row).collect();
        let text = format!("x,z,y,s\n{}\n", rows.join("\n"));
        csv::read_bytes("public.csv", text.as_bytes()).ok().unwrap()
    }

    /// A wave that no line follows, with a little noise.
    fn wave(i: usize) -> String {
        let (x, z) = ((i as f64 * 0.37).sin(), (i as f64 * 0.11).cos());
        format!("{x},{z},{},{}", (4.0 * x).sin() + 0.05 * (i as f64 * 1.7).sin(), i % 13)
    }

    fn definition(task: Task) -> DatasetDefinition {
        let mut definition =
            DatasetDefinition::new("public", Role::Public, Source::File("public.csv".into()));
        definition.label = Some("y".into());
        definition.task = task;
        definition.columns = Columns::Only(vec!["x".into(), "z".into()]);
        definition
    }

    fn settings() -> PreparationSettings {
        PreparationSettings::default()
    }

    fn plain(table: &Table, task: Task) -> Preparation {
        Preparation::fit(table, &definition(task), &settings()).unwrap()
    }

    fn fit(
        wanted: &PublicPredictor,
        table: &Table,
        owners: &[u32],
    ) -> Result<(Preparation, Matrix)> {
        let (plain, settings) = (plain(table, Task::Regression), settings());
        let rows = PublicRows { table, owners, settings: &settings, seed: 1 };
        Ok(fitted(wanted, None, &plain, rows)?.unwrap())
    }

    fn correlation(one: &[f64], other: &[f64]) -> f64 {
        let centred = |x: &[f64]| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            x.iter().map(|x| x - mean).collect::<Vec<_>>()
        };
        let (one, other) = (centred(one), centred(other));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt().max(1e-300)
    }

    /// The score feature of records.
    fn score(features: &Matrix) -> Vec<f64> {
        features.row(features.nrows() - 2).iter().copied().collect()
    }

    #[test]
    fn public_rows_have_scores_of_predictors_that_had_not_seen_them() {
        let labels = |table: &Table| -> Vec<f64> {
            let public = plain(table, Task::Regression).apply(table, "public", true).unwrap();
            public.target.unwrap()
        };
        // Each of two datasets has its own sign of the same line.
        let rows = table(400, |i| {
            let x = (i as f64 * 0.37).sin();
            format!("{x},{},{},0", i % 7, if i < 200 { x } else { -x })
        });
        let owners: Vec<u32> = (0..400).map(|i| u32::from(i >= 200)).collect();
        let (preparation, scores) = fit(&PublicPredictor::Linear, &rows, &owners).unwrap();
        assert!(correlation(scores.as_slice(), &labels(&rows)) < -0.9);
        let public = preparation.apply_scored(&rows, "public", true, &scores).unwrap();
        assert!(correlation(&score(&public.features), &labels(&rows)) < -0.9);
        // Trees that help nowhere else have no rounds.
        let (_, scores) = fit(&PublicPredictor::Trees, &rows, &owners).unwrap();
        assert!(scores.iter().all(|score| score.abs() < 0.1));

        // Trees learn some of the noise in the labels that they see, and none of the others'.
        let error = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
        let rows = table(400, |i| {
            let (x, z) = ((i as f64 * 0.37).sin(), (i as f64 * 0.11).cos());
            format!("{x},{z},{},0", (4.0 * x).sin() + 2.0 * error(i))
        });
        let noise: Vec<f64> = (0..400).map(error).collect();
        let (preparation, scores) = fit(&PublicPredictor::Trees, &rows, &[]).unwrap();
        assert!(correlation(scores.as_slice(), &noise).abs() < 0.1);
        let seen = preparation.apply(&rows, "seen", true).unwrap();
        let unseen = preparation.apply_scored(&rows, "unseen", true, &scores).unwrap();
        assert!(correlation(&score(&seen.features), &noise) > 0.2);
        assert!(correlation(&score(&unseen.features), &noise).abs() < 0.1);
    }

    #[test]
    fn records_of_a_person_are_left_out_together() {
        use crate::data::Unit;
        use crate::data::persons::{WithoutUnit, by_person};
        let rows = table(120, |i| format!("{},{},{},{}", i % 11, i % 5, i % 3, i / 4));
        let unit: Unit = ron::from_str("\"s\"").unwrap();
        let rows = by_person(&rows, &unit, (usize::MAX, WithoutUnit::OwnPerson), None).unwrap();
        let settings = settings();
        let of = parts(PublicRows { table: &rows, owners: &[], settings: &settings, seed: 3 });
        let persons = rows.persons.as_ref().unwrap();
        assert!(persons.iter().all(|own| of[own.clone()].windows(2).all(|it| it[0] == it[1])));
        assert_eq!(of.iter().max(), Some(&3));
    }

    #[test]
    fn trees_follow_a_wave_that_a_line_does_not_and_say_so_of_new_rows() {
        let (rows, new) = (table(600, wave), table(900, wave));
        let truth = plain(&rows, Task::Regression).apply(&new, "new", true).unwrap();
        let truth = truth.target.unwrap();
        for (wanted, least, most) in
            [(PublicPredictor::Trees, 0.9, 1.0), (PublicPredictor::Linear, -0.7, 0.7)]
        {
            let (preparation, _) = fit(&wanted, &rows, &[]).unwrap();
            assert_eq!(preparation.feature_names(), ["x", "z", "(public score)", "(intercept)"]);
            let new = preparation.apply_private(&new, "new", false).unwrap();
            let found = correlation(&score(&new.features), &truth);
            assert!((least..=most).contains(&found), "{wanted}: {found}");
        }
    }

    #[test]
    fn a_saved_preparation_gives_the_same_bits() {
        let rows = table(300, wave);
        let column = PublicPredictor::Column("s".to_owned());
        for wanted in [PublicPredictor::Trees, PublicPredictor::Linear, column] {
            let (preparation, _) = fit(&wanted, &rows, &[]).unwrap();
            let bits = |preparation: &Preparation| {
                let data = preparation.apply(&rows, "rows", false).unwrap();
                data.features.map(f64::to_bits)
            };
            let text = ron::to_string(&preparation).unwrap();
            let again: Preparation = ron::from_str(&text).unwrap();
            assert_eq!((&again, bits(&again)), (&preparation, bits(&preparation)));
            // In blocks of any size, too.
            for most in [1, 7, 1000] {
                let mut found = Vec::new();
                let mut take = |_: usize, features: &Matrix| {
                    found.extend(features.iter().map(|x| x.to_bits()));
                    Ok(())
                };
                preparation.in_blocks(&rows, most, &mut take).unwrap();
                assert_eq!(found, bits(&preparation).as_slice(), "{most}");
            }
        }
    }

    #[test]
    fn a_finished_model_scores_rows_with_its_own_preparation() {
        let rows = table(200, wave);
        let mut own = definition(Task::Regression);
        own.columns = Columns::Only(vec!["z".into(), "s".into()]);
        let preparation = Preparation::fit(&rows, &own, &settings()).unwrap();
        let model: Model = LinearModel { weights: vec![0.5, -2.0, 0.25] }.into();
        let earlier =
            EarlierModel { model: model.clone(), preparation, place: "model.ron".to_owned() };
        let (plain, settings) = (plain(&rows, Task::Regression), settings());
        let public = PublicRows { table: &rows, owners: &[], settings: &settings, seed: 1 };
        let wanted = PublicPredictor::Model("run".to_owned());
        let (scored, scores) = fitted(&wanted, Some(&earlier), &plain, public).unwrap().unwrap();
        let alone = earlier.preparation.apply(&rows, "rows", false).unwrap();
        assert_eq!(scores, model.scores(&alone.features));
        assert_eq!(scored.needed_columns(), ["x", "z", "s"]);
        // Out of fold or not: a model that was not trained here has one score for a row.
        let one = scored.apply_scored(&rows, "rows", true, &scores).unwrap();
        assert_eq!(one, scored.apply(&rows, "rows", true).unwrap());
        let again: Preparation = ron::from_str(&ron::to_string(&scored).unwrap()).unwrap();
        assert_eq!(again.apply(&rows, "rows", true).unwrap(), one);
        let lacking = csv::read_bytes("new.csv", b"x,z\n1,2\n").ok().unwrap();
        let error = scored.apply_private(&lacking, "new", false).unwrap_err().to_string();
        assert!(error.contains("new.csv") && error.contains("'s'"), "{error}");

        // A model of another task, of other classes, and one that needs the label.
        let kinds = table(200, |i| format!("{},{},{},{}", i % 5, i % 7, ["a", "b"][i % 2], i % 3));
        let refusal = |earlier: &EarlierModel, plain: &Preparation| {
            fitted(&wanted, Some(earlier), plain, public).unwrap_err().to_string()
        };
        let class = |table: &Table| EarlierModel {
            model: Model::Logistic(LinearModel { weights: vec![1.0, 0.0, 0.0] }),
            preparation: Preparation::fit(table, &definition(Task::Classification), &settings)
                .unwrap(),
            place: "model.ron".to_owned(),
        };
        let error = refusal(&class(&kinds), &plain);
        assert!(error.starts_with("model.ron: the public predictor is a model for a class"));
        let others = table(200, |i| format!("{},{},{},0", i % 5, i % 7, ["a", "c"][i % 2]));
        let error = refusal(&class(&kinds), &class(&others).preparation);
        assert!(error.contains("classes a, b, and the plan has a, c"), "{error}");
        let mut other = definition(Task::Regression);
        other.label = Some("s".into());
        other.columns = Columns::Only(vec!["x".into(), "y".into()]);
        let preparation = Preparation::fit(&rows, &other, &settings).unwrap();
        let error = refusal(&EarlierModel { preparation, ..earlier }, &plain);
        assert!(error.contains("needs column 'y', which the plan is to predict"), "{error}");
    }

    #[test]
    fn a_column_is_the_score_and_a_gap_in_it_is_like_any_other() {
        let rows = table(60, wave);
        let wanted = PublicPredictor::Column("s".to_owned());
        let (preparation, scores) = fit(&wanted, &rows, &[]).unwrap();
        assert_eq!(scores.as_slice()[..3], [0.0, 1.0, 2.0]);
        let gap = csv::read_bytes("new.csv", b"x,z,s\n0,0,\n0,0,6\n").ok().unwrap();
        let error = preparation.apply(&gap, "new", false).unwrap_err().to_string();
        assert!(error.contains("new.csv:2, column 's'"), "{error}");
        let private = preparation.apply_private(&gap, "new", false).unwrap();
        assert_eq!(private.features.column(0).norm(), 0.0);
        assert!(private.features.column(1).norm() > 0.0);
        let filled = preparation.with_missing(Missing::PublicMean);
        let filled = filled.apply(&gap, "new", false).unwrap();
        // The public mean, which is the middle of the scores.
        assert!(score(&filled.features)[0].abs() < 1e-12);
        let error = fit(&PublicPredictor::Column("q".to_owned()), &rows, &[]).unwrap_err();
        assert!(error.to_string().contains("no column 'q'"), "{error}");
        let texts = table(60, |i| format!("{i},1,{i},n{i}"));
        let error = fit(&wanted, &texts, &[]).unwrap_err().to_string();
        assert!(error.contains("'s' does not hold a number"), "{error}");
    }

    #[test]
    fn few_rows_constant_columns_and_many_classes_have_a_sensible_answer() {
        // Thirty rows grow no tree: the score tells nothing, and is 0.
        let few = table(30, wave);
        let (preparation, scores) = fit(&PublicPredictor::Trees, &few, &[]).unwrap();
        let public = preparation.apply_scored(&few, "few", true, &scores).unwrap();
        assert!(public.features.iter().all(|x| x.is_finite()));
        fit(&PublicPredictor::Linear, &few, &[]).unwrap();
        let constant = table(80, |i| format!("3,3,{},0", i % 2));
        for wanted in [PublicPredictor::Trees, PublicPredictor::Linear] {
            let (preparation, _) = fit(&wanted, &constant, &[]).unwrap();
            let data = preparation.apply(&constant, "constant", true).unwrap();
            assert!(score(&data.features).iter().all(|x| x.abs() < 1e-6), "{wanted}");
        }
        // One dataset has one class only.
        let kinds = table(300, |i| {
            let kind = if i < 100 { 0 } else { i % 3 };
            format!("{},{},{},0", kind + i % 2, i % 7, ["a", "b", "c"][kind])
        });
        let owners: Vec<u32> = (0..300).map(|i| u32::from(i >= 100)).collect();
        let (plain, settings) = (plain(&kinds, Task::Classification), settings());
        let rows = PublicRows { table: &kinds, owners: &owners, settings: &settings, seed: 1 };
        for wanted in [PublicPredictor::Trees, PublicPredictor::Linear] {
            let (preparation, scores) = fitted(&wanted, None, &plain, rows).unwrap().unwrap();
            assert_eq!(preparation.dimension(), plain.dimension() + 3);
            assert_eq!(preparation.feature_names()[3], "(public score of b)");
            let data = preparation.apply_scored(&kinds, "kinds", true, &scores).unwrap();
            assert!(data.features.iter().all(|x| x.is_finite()), "{wanted}");
        }
    }

    proptest! {
        #[test]
        fn no_record_passes_a_bound_whatever_it_holds(
            x in prop_oneof![Just(f64::MAX), Just(-1e200), -3.0..3.0_f64],
            s in prop_oneof![Just(1e300), Just(-1e300), -30.0..30.0_f64],
            declared in prop_oneof![Just(None), (0.1..10.0_f64).prop_map(Some)],
            which in 0_usize..3,
        ) {
            let rows = table(100, wave);
            let wanted =
                [PublicPredictor::Trees, PublicPredictor::Linear, PublicPredictor::Column("s".into())]
                    [which].clone();
            let settings = PreparationSettings {
                features: declared.map_or(FeatureScaling::Public, FeatureScaling::Declared),
                labels: LabelRange::Public,
                intercept: false,
            };
            let plain = Preparation::fit(&rows, &definition(Task::Regression), &settings).unwrap();
            let public = PublicRows { table: &rows, owners: &[], settings: &settings, seed: 1 };
            let (preparation, scores) = fitted(&wanted, None, &plain, public).unwrap().unwrap();
            let new = format!("x,z,s\n{x:e},0,{s:e}\n");
            let new = csv::read_bytes("new.csv", new.as_bytes()).ok().unwrap();
            let usual = preparation.apply_scored(&rows, "rows", true, &scores).unwrap();
            let found = preparation.apply_private(&new, "new", false).unwrap();
            let norm = preparation.bounds().feature_norm;
            for record in usual.features.column_iter().chain(found.features.column_iter()) {
                prop_assert!(record.norm() <= norm * (1.0 + 1e-12), "{record}");
            }
        }
    }

    #[test]
    fn what_is_written_is_read_and_an_unknown_word_is_told_what_fits() {
        for predictor in [
            PublicPredictor::None,
            PublicPredictor::Linear,
            PublicPredictor::Trees,
            PublicPredictor::Model("runs/a".to_owned()),
            PublicPredictor::Column("a (b)".to_owned()),
            PublicPredictor::ColumnOf("a, b".to_owned(), "runs/a".to_owned()),
        ] {
            assert_eq!(PublicPredictor::parse(&predictor.to_string()).unwrap(), predictor);
            let text = ron::to_string(&predictor).unwrap();
            assert_eq!(text.replace("\",\"", "\", \""), predictor.to_string());
            assert_eq!(ron::from_str::<PublicPredictor>(&text).unwrap(), predictor);
        }
        assert_eq!(
            PublicPredictor::parse("column(s)").unwrap(),
            PublicPredictor::Column("s".to_owned())
        );
        for text in ["forest", "model()", "column(\"\")", "column_of(\"s\")", "trees(8)"] {
            let error = PublicPredictor::parse(text).unwrap_err().to_string();
            assert!(error.contains(FORM), "{error}");
        }
    }
}
