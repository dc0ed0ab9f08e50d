//! The predictions of a model on disk for the rows of a table.
//!
//! A prediction is a function of one row and of the model, so for a private row it is as private as
//! the row. The model's rule says how rows with gaps are treated. If the rule drops them, they get
//! no prediction.

use super::model_file::SavedModel;
use crate::data::preparation::TrueLabels;
use crate::data::{Column, Missing, Table, Task};
use crate::error::{Error, Result};
use crate::evaluation::{FurtherScores, Measured};
use crate::numeric::Matrix;

/// Rows that are prepared at a time.
const BLOCK: usize = 4096;

/// One answer for every row, in the order of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    pub rows: usize,
    pub answers: PredictedLabels,
    /// Rows that lack a value and therefore have no prediction.
    pub without: usize,
    /// Rows beyond the bound with which the model was trained.
    pub clipped: usize,
    /// Unknown categories: the column, and the number of rows.
    pub unknown: Vec<(String, usize)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PredictedLabels {
    /// In label units; NaN if there is no prediction.
    Numbers(Vec<f64>),
    Classes {
        names: Vec<String>,
        of: Vec<Option<u32>>,
        /// The probabilities for every class; empty if the model has none.
        probabilities: Vec<Vec<f64>>,
        /// For two classes, a number that is larger the more the model favours the second; NaN
        /// where there is no answer.
        order: Option<Vec<f64>>,
    },
}

/// How far predictions are from the labels of the table: exact numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictionScore {
    /// Root mean squared error of a regression; share of right classes otherwise.
    pub value: f64,
    pub rows: usize,
    pub task: Task,
    /// Further scores.
    pub further: FurtherScores,
}

impl PredictionScore {
    /// Name of the score in files.
    pub fn name(&self) -> &'static str {
        match self.task {
            Task::Regression => "rmse",
            Task::Classification => "accuracy",
        }
    }

    pub fn words(&self) -> &'static str {
        match self.task {
            Task::Regression => "root mean squared error",
            Task::Classification => "share of right classes",
        }
    }
}

impl PredictedLabels {
    fn none(model: &SavedModel, rows: usize) -> Self {
        match model.preparation.task() {
            Task::Regression => Self::Numbers(vec![f64::NAN; rows]),
            Task::Classification => Self::Classes {
                names: model.preparation.class_names().to_vec(),
                of: vec![None; rows],
                probabilities: Vec::new(),
                order: None,
            },
        }
    }

    /// Enters the answers of `model` for the rows at the positions `place`.
    fn enter(
        &mut self,
        model: &SavedModel,
        features: &Matrix,
        place: impl Fn(usize) -> usize,
    ) -> Result<()> {
        match self {
            Self::Numbers(numbers) => {
                let raw = model.model.numbers(features).ok_or_else(|| contradiction(model))?;
                for (at, raw) in raw.into_iter().enumerate() {
                    numbers[place(at)] = model.preparation.label_from_prediction(raw);
                }
            }
            Self::Classes { names, of, probabilities, order } => {
                let answers = model.model.class_answers(features);
                let answers = answers.ok_or_else(|| contradiction(model))?;
                if answers.classes.iter().any(|&class| class as usize >= names.len()) {
                    return Err(contradiction(model));
                }
                for (at, class) in answers.classes.into_iter().enumerate() {
                    of[place(at)] = Some(class);
                }
                for (at, score) in answers.order.iter().flatten().enumerate() {
                    let order = order.get_or_insert_with(|| vec![f64::NAN; of.len()]);
                    order[place(at)] = *score;
                }
                let Some(found) = model.model.probabilities(features) else { return Ok(()) };
                probabilities.resize_with(found.nrows(), || vec![f64::NAN; of.len()]);
                for (class, row) in probabilities.iter_mut().enumerate() {
                    for at in 0..found.ncols() {
                        row[place(at)] = found[(class, at)];
                    }
                }
            }
        }
        Ok(())
    }
}

fn contradiction(model: &SavedModel) -> Error {
    Error::failed(format!(
        "a model of the kind '{}' does not go with a preparation for a {}",
        model.model.kind(),
        model.preparation.task()
    ))
    .at(model.path.display().to_string())
    .cure("fit the model again, or restore its files")
}

/// Predicts every row of `table`, whose columns have the names of the model. `tell` gets the number
/// of finished rows.
pub fn predict(
    model: &SavedModel,
    table: &Table,
    tell: &mut dyn FnMut(usize),
) -> Result<Predictions> {
    let origin = model.path.display().to_string();
    model.preparation.refuse_others(table, &origin)?;
    let rows = table.rows();
    let complete = model.preparation.complete_rows(table, false)?;
    let selected = complete.as_ref().map(|complete| table.select(complete)).transpose()?;
    let rows_of = selected.as_ref().unwrap_or(table);
    let mut answers = PredictedLabels::none(model, rows);
    let clipped = model.preparation.in_blocks(rows_of, BLOCK, &mut |first, features| {
        let place = |at: usize| complete.as_ref().map_or(first + at, |rows| rows[first + at]);
        answers.enter(model, features, place)?;
        tell(first + features.ncols());
        Ok(())
    })?;
    let without = rows - rows_of.rows();
    let unknown = model.preparation.unknown_values(rows_of)?;
    Ok(Predictions { rows, answers, without, clipped, unknown })
}

impl Predictions {
    /// The columns of a file: `prediction` and, of a classifier, `probability_CLASS`.
    pub fn columns(&self) -> Vec<(String, Column)> {
        match &self.answers {
            PredictedLabels::Numbers(numbers) => {
                vec![("prediction".to_owned(), Column::Numbers(numbers.clone().into()))]
            }
            PredictedLabels::Classes { names, of, probabilities, .. } => {
                let name = |class: &Option<u32>| {
                    class.map(|class| names[class as usize].clone()).unwrap_or_default()
                };
                let classes = Column::Text(of.iter().map(name).collect());
                let likely = names.iter().zip(probabilities).map(|(name, row)| {
                    (format!("probability_{name}"), Column::Numbers(row.clone().into()))
                });
                std::iter::once(("prediction".to_owned(), classes)).chain(likely).collect()
            }
        }
    }

    /// Compares with the labels of the table. Rows without a prediction are left out, and so are
    /// rows without a label if incomplete ones are dropped.
    pub fn score(&self, model: &SavedModel, table: &Table) -> Result<PredictionScore> {
        let rows = match model.preparation.missing() {
            Missing::Drop => model.preparation.complete_rows(table, true)?,
            Missing::Refuse | Missing::PublicMean => None,
        };
        let selected = rows.as_ref().map(|rows| table.select(rows)).transpose()?;
        let truth = model.preparation.truth(selected.as_ref().unwrap_or(table))?;
        let place = |at: usize| rows.as_ref().map_or(at, |rows| rows[at]);
        let (measured, right, rows) = match (&self.answers, &truth) {
            (PredictedLabels::Numbers(numbers), TrueLabels::Numbers(labels)) => {
                let pairs =
                    labels.iter().enumerate().map(|(at, label)| (numbers[place(at)], *label));
                (Measured::of_numbers(pairs), 0, labels.len())
            }
            (PredictedLabels::Classes { names, of, order, .. }, TrueLabels::Classes(labels)) => {
                let answers: Vec<_> = (0..labels.len()).map(|at| of[place(at)]).collect();
                let order: Option<Vec<f64>> = order
                    .as_ref()
                    .map(|order| (0..labels.len()).map(|at| order[place(at)]).collect());
                let measured =
                    Measured::of_classes(labels, &answers, order.as_deref(), names.len());
                let right =
                    answers.iter().zip(labels).filter(|(told, label)| **told == Some(**label));
                (measured, right.count(), labels.len())
            }
            _ => return Err(contradiction(model)),
        };
        let Measured { error, further } = measured.ok_or_else(|| {
            Error::failed("no row has both a prediction and a label")
                .at(table.origin.clone())
                .cure("leave out --score")
        })?;
        let task = model.preparation.task();
        let value = if task == Task::Regression { error } else { right as f64 / rows as f64 };
        Ok(PredictionScore { value, rows, task, further })
    }
}

#[cfg(test)]
mod tests {
    use super::super::model_file::tests::saved;
    use super::*;
    use crate::data::csv;

    fn model(weights: &[f64], task: Task) -> SavedModel {
        let place = tempfile::tempdir().unwrap();
        saved(place.path(), weights, task);
        SavedModel::open(place.path()).unwrap()
    }

    fn table(text: &str) -> Table {
        csv::read_bytes("new.csv", text.as_bytes()).ok().unwrap()
    }

    fn numbers(predictions: &Predictions) -> Vec<f64> {
        match &predictions.answers {
            PredictedLabels::Numbers(numbers) => numbers.clone(),
            PredictedLabels::Classes { .. } => Vec::new(),
        }
    }

    #[test]
    fn a_long_table_is_predicted_as_its_rows_one_by_one() {
        let model = model(&[0.3, -0.2, 0.1], Task::Regression);
        let line = |at: usize| format!("{},{}\n", at % 7, at % 5);
        let text: String = std::iter::once("x,z\n".into()).chain((0..9000).map(line)).collect();
        let all = numbers(&predict(&model, &table(&text), &mut |_| ()).unwrap());
        assert_eq!(all.len(), 9000);
        for at in [0, 1, 4095, 4096, 8999] {
            let one = table(&format!("x,z\n{}", line(at)));
            let one = numbers(&predict(&model, &one, &mut |_| ()).unwrap());
            assert_eq!(one, [all[at]]);
        }
    }

    #[test]
    fn a_score_is_the_distance_to_the_labels_of_the_file() {
        let model = model(&[0.0, 0.0, 0.0], Task::Regression);
        let rows = table("x,z,y\n1,1,0.5\n2,2,4.5\n");
        let predictions = predict(&model, &rows, &mut |_| ()).unwrap();
        // Weights of zero predict the public mean of the label, 0.5.
        assert_eq!(numbers(&predictions), [0.5, 0.5]);
        let score = predictions.score(&model, &rows).unwrap();
        assert_eq!((score.value, score.rows, score.name()), (8_f64.sqrt(), 2, "rmse"));
        assert_eq!(score.further.mean_absolute_error, Some(2.0));
        assert!(predictions.score(&model, &table("x,z\n1,1\n2,2\n")).is_err());
    }

    #[test]
    fn classes_have_their_names_and_probabilities_that_add_up() {
        let model = model(&[2.0, 0.0, 0.0], Task::Classification);
        let rows = table("x,z,y\n1,1,0\n4,1,1\n4,2,0\n");
        let predictions = predict(&model, &rows, &mut |_| ()).unwrap();
        let columns = predictions.columns();
        let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["prediction", "probability_0", "probability_1"]);
        let [(_, first), (_, none), (_, one)] = &columns[..] else { panic!("three columns") };
        assert!(*first == Column::Text(["0", "1", "1"].iter().collect()));
        let (Column::Numbers(none), Column::Numbers(one)) = (none, one) else { panic!("numbers") };
        for (none, one) in none.iter().zip(one.iter()) {
            assert!((none + one - 1.0).abs() < 1e-15 && none > 0.0 && one > 0.0);
        }
        let score = predictions.score(&model, &rows).unwrap();
        assert_eq!((score.value, score.name()), (2.0 / 3.0, "accuracy"));
        // Right on one of two zeros and on the only one; of the pairs, one is won and one is a tie.
        assert_eq!((score.further.balanced_accuracy, score.further.auc), (Some(0.75), Some(0.75)));
        let zeros = table("x,z,y\n1,1,0\n4,1,0\n");
        let predictions = predict(&model, &zeros, &mut |_| ()).unwrap();
        let further = predictions.score(&model, &zeros).unwrap().further;
        assert!(further.one_class && further.auc.is_none(), "{further:?}");
    }

    #[test]
    fn incomplete_rows_keep_their_place_without_a_prediction() {
        let mut model = model(&[0.3, -0.2, 0.1], Task::Regression);
        let rows = table("x,z,y\n1,2,1\n,2,1\n3,4,\n5,6,2\n");
        let error = predict(&model, &rows, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("new.csv:3, column 'x'"), "{error}");
        model.preparation = model.preparation.with_missing(Missing::Drop);
        let predictions = predict(&model, &rows, &mut |_| ()).unwrap();
        let found = numbers(&predictions);
        assert_eq!(
            found.iter().map(|x| x.is_nan()).collect::<Vec<_>>(),
            [false, true, false, false]
        );
        assert_eq!((predictions.rows, predictions.without), (4, 1));
        assert_eq!(predictions.score(&model, &rows).unwrap().rows, 2);
        model.preparation = model.preparation.with_missing(Missing::PublicMean);
        assert_eq!(predict(&model, &rows, &mut |_| ()).unwrap().without, 0);
    }
}
