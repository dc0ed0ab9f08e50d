//! Datasets: how they are defined, and how tables become bounded records.
//!
//! | module | holds |
//! |---|---|
//! | [`overlap`] | how many rows two tables have in common, from a few kilobytes about each |
//! | [`definition`] | the session's definition of a dataset: file, label, filter, columns |
//! | [`extraction`] | features by a pretrained network |
//! | [`selection`] | which columns a name means and which become features |
//! | [`missing`] | cells without a value, and the treatment of their records |
//! | [`identifiers`] | columns whose values seem to identify the person of a row |
//! | [`images`] | resizes images |
//! | [`leaking`] | columns that give the label away |
//! | [`inspect`] | a first look at a table, without a definition |
//! | [`profile`] | how the values of columns are spread, for a picture of each in one line |
//! | [`bounded`] | records that cannot exceed their bounds: the input of methods |
//! | [`preparation`] | from columns to bounded features, with constants that are declared or public |
//! | [`hospitals`] | synthetic hospital records, for the tutorial |
//! | [`synthetic`] | the papers' synthetic source and target |
//!
//! Tables and their readers are in `halflight_tables`. `session::dataset`, which calls the readers, wraps
//! private files in `Private`.

use halflight_base::{error, faults, memory};
use halflight_model as model;
use halflight_numeric as numeric;

pub mod bounded;
pub mod declared;
pub mod definition;
pub mod extraction;
pub mod hospitals;
mod identifiers;
pub mod images;
pub mod inspect;
pub mod leaking;
pub mod missing;
pub mod overlap;
pub mod persons;
pub mod preparation;
pub mod profile;
mod public_records;
pub mod selection;
pub mod synthetic;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::columns::{ExampleColumns, Singles};
use crate::numeric::doubles::Doubles;

pub use bounded::Bounded;
pub use definition::{Columns, DatasetDefinition, Guessed, Missing, Role, Source, UnknownLabels};
pub use halflight_tables::{
    Column, Compatibility, Fingerprint, Numbers, Persons, RowChoice, Sample, SecretOrder, Table,
    Texts, Values, Vectors, align, column, csv, elements, filter, fingerprint, lines, names,
    numbers, person_rows, read, secret_order, table, texts, vectors, write,
};
pub use persons::{Unit, WithoutUnit};
pub use preparation::{Preparation, PreparationSettings};
pub use public_records::{Notes, PublicRecords, SharedTime};

/// Limits that every prepared record obeys, because it was clipped to them. Sensitivities are
/// computed from these alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// ‖x‖₂ ≤ feature_norm.
    pub feature_norm: f64,
    /// |y| ≤ label.
    pub label: f64,
}

/// Numbers ready for a method: bounded features, one example per column.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset<F = Matrix> {
    /// The dataset's name.
    pub name: String,
    /// d × n.
    pub features: F,
    /// The names of the rows of `features`.
    pub feature_names: Vec<String>,
    /// Labels of a regression.
    pub target: Option<Vec<f64>>,
    /// Labels of a classification; never together with `target`.
    pub classes: Option<Classes>,
    /// The bounds that no record exceeds.
    pub bounds: Bounds,
    /// Records whose features or label had to be clipped.
    pub clipped: usize,
    /// The persons of the records, where persons are protected.
    pub persons: Option<Arc<Persons>>,
}

impl<F> Dataset<F> {
    /// Records without labels and without names of their features. None was clipped, and none
    /// belongs to a person.
    pub fn unlabelled(name: impl Into<String>, features: F, bounds: Bounds) -> Self {
        let (name, feature_names) = (name.into(), Vec::new());
        let (target, classes, clipped, persons) = (None, None, 0, None);
        Self { name, features, feature_names, target, classes, bounds, clipped, persons }
    }
}

impl From<Dataset> for Arc<PublicData> {
    fn from(data: Dataset) -> Self {
        Self::new(data.into())
    }
}

/// Private records held out of training, to judge models by.
pub type HeldOut = Dataset<Singles>;

/// Public records, which may be on the disk.
pub type PublicData = Dataset<Doubles>;

impl PublicData {
    /// All features in memory, for work that needs them at once.
    pub fn whole(&self) -> Result<Cow<'_, Matrix>> {
        self.fit_into_memory()?;
        Ok(self.features.whole())
    }

    /// Refuses features that [`Self::whole`] would refuse.
    pub fn fit_into_memory(&self) -> Result<()> {
        memory::check(self.features.on_disk()).map_err(|error| {
            error.within("the method needs the features of all public records in memory").cure(
                "choose a method that reads them in parts, such as profiled_cnvx_adap for numbers or \
                 profiled_logistic for classes, take some of the rows, with `sample: (rows: 50000)` \
                 on each public dataset of the session file, or allow more memory, such as \
                 --max-memory 16G",
            )
        })
    }
}

impl From<Dataset> for PublicData {
    fn from(data: Dataset) -> Self {
        data.map_features(Doubles::from)
    }
}

/// The class of every record.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// Indices into `names`.
    pub of: Vec<u32>,
    /// The declared classes, or those of the public data, in a fixed order.
    pub names: Vec<String>,
}

/// The kind of prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A number.
    #[default]
    Regression,
    /// One of several classes.
    Classification,
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Regression => "regression",
            Self::Classification => "classification",
        })
    }
}

impl<F: ExampleColumns> Dataset<F> {
    /// The number of records.
    pub fn len(&self) -> usize {
        self.features.count()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of features of a record.
    pub fn dimension(&self) -> usize {
        self.features.dimension()
    }

    /// The number of protected persons, or otherwise records.
    pub fn protected(&self) -> usize {
        self.persons.as_ref().map_or(self.len(), |persons| persons.count())
    }

    /// The most records of one person; 1 where records are protected.
    pub fn most_records(&self) -> usize {
        let persons = self.persons.as_ref();
        persons.map_or(1, |persons| persons.iter().map(|own| own.len()).max().unwrap_or(1))
    }

    /// The weight of each record in its person's mean: 1 where records are protected.
    pub fn shares(&self) -> Option<Vec<f64>> {
        self.persons.as_ref().map(|persons| persons.shares(&self.features))
    }

    /// One record of each person, in that person's place.
    pub fn one_of_each(self: &Arc<Self>) -> Arc<Self> {
        self.persons.as_ref().map_or_else(
            || Arc::clone(self),
            |persons| Arc::new(self.select(&persons.one_of_each(0..persons.count()))),
        )
    }

    /// The records with these numbers, in their order.
    pub fn select(&self, chosen: &[usize]) -> Self {
        fn among<T: Copy>(values: &[T], chosen: &[usize]) -> Vec<T> {
            chosen.iter().map(|at| values[*at]).collect()
        }
        Self {
            features: self.features.pick(chosen.iter().copied()),
            target: self.target.as_ref().map(|target| among(target, chosen)),
            classes: self.classes.as_ref().map(|classes| Classes {
                of: among(&classes.of, chosen),
                names: classes.names.clone(),
            }),
            name: self.name.clone(),
            feature_names: self.feature_names.clone(),
            persons: None,
            ..*self
        }
    }

    /// At most `most` records, every k-th from number `first` on, for cases where all of them would
    /// take too long.
    pub fn thinned(&self, first: usize, most: usize) -> Self {
        let step = self.len().saturating_sub(first).div_ceil(most.max(1)).max(1);
        self.select(&(first..self.len()).step_by(step).collect::<Vec<_>>())
    }

    /// `count` records from number `first` on, or fewer if there are no more.
    pub fn records(&self, first: usize, count: usize) -> Self {
        let first = first.min(self.len());
        let count = count.min(self.len() - first);
        self.select(&(first..first + count).collect::<Vec<_>>())
    }
}

impl Dataset {
    /// Rounds the features to single precision, in which private ones are kept.
    pub fn in_singles(self) -> Dataset<Singles> {
        self.map_features(|features| Singles::from(&features))
    }
}

impl<F> Dataset<F> {
    /// Adds the labels of more records, which were prepared alike.
    pub fn extend_labels<G>(&mut self, more: Dataset<G>) {
        if let (Some(target), Some(more)) = (&mut self.target, more.target) {
            target.extend(more);
        }
        if let (Some(classes), Some(more)) = (&mut self.classes, more.classes) {
            classes.of.extend(more.of);
        }
        self.clipped += more.clipped;
    }

    /// Replaces the features of the records.
    pub fn with_features<G>(self, features: G) -> Dataset<G> {
        self.map_features(|_| features)
    }

    fn map_features<G>(self, other: impl FnOnce(F) -> G) -> Dataset<G> {
        let Self { name, features, feature_names, target, classes, bounds, clipped, persons } =
            self;
        let features = other(features);
        Dataset { name, features, feature_names, target, classes, bounds, clipped, persons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of two features that tell each record from the others.
    fn made(target: Vec<f64>) -> Dataset {
        let features = Matrix::from_fn(2, target.len(), |i, j| (i + 2 * j) as f64);
        Dataset {
            feature_names: vec!["a".to_owned(), "b".to_owned()],
            target: Some(target),
            ..Dataset::unlabelled("made", features, Bounds { feature_norm: 100.0, label: 100.0 })
        }
    }

    #[test]
    fn selected_records_keep_their_labels() {
        let public = made((0..40).map(f64::from).collect());
        let places: Vec<usize> = (0..40).step_by(3).collect();
        let some = public.select(&places);
        assert_eq!((some.len(), some.features.ncols()), (14, 14));
        assert_eq!(some.target.as_ref().unwrap()[2], public.target.as_ref().unwrap()[6]);
        assert_eq!(some.features.column(2), public.features.column(6));
    }

    #[test]
    fn a_thinned_dataset_spans_all_of_it() {
        let public = made((0..40).map(f64::from).collect());
        for (first, most, expected) in [(0, 20, 20), (0, 19, 14), (1, 40, 39), (0, 99, 40)] {
            assert_eq!(public.thinned(first, most).len(), expected);
        }
        assert_eq!(public.thinned(1, 20).features.column(3), public.features.column(7));
        assert_eq!(public.thinned(40, 5).len(), 0);
    }

    #[test]
    fn persons_are_counted_and_weigh_the_same() {
        let mut data = made(vec![0.1, 0.2, 0.3, 0.4]);
        data.persons = Some(Arc::new(Persons::of_counts([1, 3])));
        assert_eq!((data.protected(), data.most_records()), (2, 3));
        assert_eq!(data.shares().unwrap(), [1.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]);
    }
}
