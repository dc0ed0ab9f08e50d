//! Labelled records and the losses of scores on them.

use std::ops::Range;
use std::sync::Arc;

use crate::model::{LinearModel, logistic, softmax};
use crate::numeric::columns::length_of;
use crate::prelude::*;
use crate::problem::UNLABELLED;

/// The loss of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreLoss {
    /// The squared difference.
    Squared,
    /// The logistic loss for y = ±1.
    Logistic,
}

impl ScoreLoss {
    /// The value, and d/d score.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(in crate::labelled) fn with_slope(self, score: f64, y: f64) -> (f64, f64) {
        match self {
            Self::Squared => ((score - y).powi(2), 2.0 * (score - y)),
            Self::Logistic => {
                let (loss, slope) = logistic::loss_and_slope(y * score);
                (loss, y * slope)
            }
        }
    }
}

/// The loss of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordLoss {
    /// Of one score.
    Score(ScoreLoss),
    /// Of a score for each class, which number the labels.
    Softmax { classes: usize },
}

impl RecordLoss {
    /// How many numbers a model has.
    pub fn parameters(self, dimension: usize) -> usize {
        match self {
            Self::Score(_) => dimension,
            Self::Softmax { classes } => classes * dimension,
        }
    }

    /// The model with these numbers.
    pub fn model(self, dimension: usize, w: Vector) -> Result<Model> {
        Ok(match self {
            Self::Score(ScoreLoss::Squared) => Model::Linear(LinearModel::from(w)),
            Self::Score(ScoreLoss::Logistic) => Model::Logistic(LinearModel::from(w)),
            Self::Softmax { classes } => Model::Classifier(softmax::model(dimension, classes, &w)?),
        })
    }

    /// The predicted value of every record, if it is not the dataset's own number: the sign or the
    /// number of its class.
    fn labels<F>(self, data: &Dataset<F>) -> Result<Option<Vec<f64>>> {
        match self {
            Self::Score(ScoreLoss::Squared) if data.target.is_none() => {
                Err(Error::failed(format!("dataset '{}' has no labels to fit", data.name))
                    .cure("choose its label column"))
            }
            Self::Score(ScoreLoss::Squared) => Ok(None),
            Self::Score(ScoreLoss::Logistic) => signs(data).map(Some),
            Self::Softmax { classes } => class_numbers(data, classes).map(Some),
        }
    }
}

/// The number of the class of every record, of which there must be so many.
fn class_numbers<F>(data: &Dataset<F>, count: usize) -> Result<Vec<f64>> {
    match &data.classes {
        Some(classes) if classes.names.len() == count => {
            Ok(classes.of.iter().map(|class| f64::from(*class)).collect())
        }
        _ => Err(Error::failed(format!("dataset '{}' has not the {count} classes", data.name))
            .cure("declare the same classes for all datasets")),
    }
}

/// ±1 for the second and the first of two classes.
pub fn signs<F>(data: &Dataset<F>) -> Result<Vec<f64>> {
    let classes = data.classes.as_ref().ok_or_else(|| {
        Error::failed(format!("dataset '{}' has no classes to tell apart", data.name))
            .cure("choose a label column with two classes, or a method for numbers")
    })?;
    if classes.names.len() != 2 {
        return Err(Error::failed(format!(
            "dataset '{}' has {} classes where this method takes two",
            data.name,
            classes.names.len()
        ))
        .cure("filter the rows down to two classes, or declare two"));
    }
    Ok(classes.of.iter().map(|class| if *class == 1 { 1.0 } else { -1.0 }).collect())
}

/// Refuses public data that show only one of their two classes.
pub fn two_classes(public: &PublicData) -> Result<()> {
    signs(public)?;
    several_classes(public).map(|_| ())
}

/// The number of classes, of which public data must show more than one.
pub fn several_classes(public: &PublicData) -> Result<usize> {
    let classes = public.classes.as_ref().ok_or_else(|| {
        Error::failed(format!("dataset '{}' has no classes to tell apart", public.name))
            .cure("choose a label column with classes, or a method for numbers")
    })?;
    if classes.of.iter().all(|class| *class == classes.of[0]) {
        return Err(Error::failed(format!(
            "the records of dataset '{}' all belong to one class",
            public.name
        ))
        .cure("widen its row filter, or choose another label column"));
    }
    Ok(classes.names.len())
}

/// The records of one dataset with their labels and norms.
#[derive(Debug, Clone)]
pub struct LabelledRecords<F> {
    pub(super) data: Arc<Dataset<F>>,
    /// Signs or numbers of classes; `None` for numbers, which the dataset has.
    labels: Option<Vec<f64>>,
    /// ‖xᵢ‖, so that clipping needs no pass of its own.
    pub(super) norms: Vec<f64>,
    /// The weight of each in its person's mean; `None` where records are protected: all are 1.
    pub(super) shares: Option<Vec<f64>>,
}

impl LabelledRecords<Singles> {
    /// Private records; errors do not say what is wrong with them.
    pub fn private(
        loss: impl Into<RecordLoss>,
        data: &Bounded,
    ) -> std::result::Result<Self, PrivateFault> {
        Self::of(loss, data.shared()).map_err(|_| UNLABELLED)
    }
}

impl<F> LabelledRecords<F> {
    /// A number for each record.
    pub fn labels(&self) -> &[f64] {
        self.labels.as_deref().or(self.data.target.as_deref()).unwrap_or_default()
    }

    /// Dataset of the records.
    pub fn data(&self) -> &Dataset<F> {
        &self.data
    }
}

impl<F: ExampleColumns> LabelledRecords<F> {
    /// Records with the labels that a loss takes.
    pub fn of(loss: impl Into<RecordLoss>, data: Arc<Dataset<F>>) -> Result<Self> {
        let labels = loss.into().labels(&data)?;
        Ok(Self { labels, ..Self::new(data) })
    }

    /// Records with their own numbers as labels.
    pub fn new(data: Arc<Dataset<F>>) -> Self {
        let norms = data.features.map_each(length_of);
        let shares = data.shares();
        Self { data, labels: None, norms, shares }
    }

    /// Records with other labels: signs or numbers of classes.
    pub fn labelled(data: Arc<Dataset<F>>, labels: Vec<f64>) -> Self {
        Self { labels: Some(labels), ..Self::new(data) }
    }

    /// The number of protected persons, or otherwise records.
    pub(crate) fn protected(&self) -> usize {
        self.data.protected()
    }

    /// Every person with the shares of their records, where persons are protected.
    pub(super) fn persons(&self) -> Option<impl Iterator<Item = (Range<usize>, &[f64])>> {
        let (persons, shares) = (self.data.persons.as_ref()?, self.shares.as_ref()?);
        Some(persons.iter().map(|own| (own.clone(), &shares[own])))
    }

    /// The members of a sample of records, or of persons.
    pub fn chosen(&self, members: &[usize]) -> Self {
        let own = self.data.persons.as_ref().map(|persons| persons.chosen(members)).unzip();
        let members = own.0.as_deref().unwrap_or(members);
        let data = Dataset {
            persons: own.1.map(Arc::new),
            ..Dataset::unlabelled(
                self.data.name.clone(),
                self.data.features.pick(members.iter().copied()),
                self.data.bounds,
            )
        };
        let of = |all: &[f64]| members.iter().map(|i| all[*i]).collect();
        Self {
            data: Arc::new(data),
            labels: Some(of(self.labels())),
            norms: of(&self.norms),
            shares: self.shares.as_deref().map(of),
        }
    }
}

/// The mean of the last `share` of the steps after the first iterate; at least one.
pub(super) fn mean_of_tail(iterates: &[Vector], share: f64) -> Vector {
    let steps = iterates.len() - 1;
    let kept = ((share * steps as f64).ceil() as usize).clamp(1, steps.max(1));
    let tail = &iterates[iterates.len() - kept..];
    tail.iter().fold(Vector::zeros(tail[0].len()), |sum, w| sum + w) / kept as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::numeric::Matrix;
    use crate::numeric::doubles::Doubles;

    impl LabelledRecords<Matrix> {
        /// The records, but with this first one.
        pub fn with_first(&self, x: &[f64], y: f64) -> Self {
            let mut data = (*self.data).clone();
            data.features.set_column(0, &Vector::from_column_slice(x));
            let mut labels = self.labels().to_vec();
            labels[0] = y;
            Self::labelled(data.into(), labels)
        }

        /// As private records are kept.
        pub fn in_singles(self) -> LabelledRecords<Singles> {
            let data = Arc::new((*self.data).clone().in_singles());
            LabelledRecords { data, labels: self.labels, norms: self.norms, shares: self.shares }
        }

        /// As public records are kept.
        pub fn in_doubles(self) -> LabelledRecords<Doubles> {
            let data = (*self.data).clone().into();
            LabelledRecords { data, labels: self.labels, norms: self.norms, shares: self.shares }
        }
    }

    #[test]
    fn only_two_classes_have_signs() {
        let mut data = example::labelled(Matrix::zeros(3, 1), vec![0.0]);
        assert!(signs(&data).unwrap_err().what().contains("no classes"));
        let names = |count: usize| (0..count).map(|k| format!("c{k}")).collect();
        data.classes = Some(crate::data::Classes { of: vec![1], names: names(2) });
        assert_eq!(signs(&data).unwrap(), [1.0]);
        data.classes = Some(crate::data::Classes { of: vec![2], names: names(3) });
        assert!(signs(&data).unwrap_err().what().contains("3 classes"));
    }
}
