//! Records that judge models, prepared once for two of them: the model of a plan, and that of public
//! data alone.
//!
//! Public data alone take records that are hardly clipped. Many methods take *narrow* ones, clipped
//! to the bound on their norm. A narrow record is a function of the wide one, so only the wide one is
//! kept, and a [`View`] clips it when a model of narrow records is asked. Where the plan's features
//! are others (those of a starting model, or with the score of a public predictor), a record has
//! both forms, one below the other.
//!
//! *Sensitivity.* Either form is a function of one row and of public constants. A row that one of
//! the two models cannot use is left out for both. So the answers of both models stand side by side,
//! and another row changes no answer about this one.

use std::borrow::Cow;
use std::f64::consts::SQRT_2;
use std::ops::Range;

use super::settings::LabelRange;
use super::{Bounding, PART, Preparation, gather};
use crate::definition::DatasetDefinition;
use crate::error::Result;
use crate::numeric::Matrix;
use crate::numeric::columns::{ExampleColumns, Examples};
use crate::table::Table;
use crate::{Dataset, HeldOut, PublicData};

/// The preparation of records for the model of a plan, and perhaps for that of public data alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Judging {
    own: Preparation,
    alone: Option<Preparation>,
    form: Form,
}

/// What is kept of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The plan's form, which public data alone take too, if they are compared.
    Own,
    /// The wide form, from which the narrow one follows.
    Wide,
    /// Both forms.
    Both,
}

impl From<Preparation> for Judging {
    fn from(own: Preparation) -> Self {
        Self { own, alone: None, form: Form::Own }
    }
}

impl Judging {
    /// For a plan with this range of labels, beside public data alone.
    pub fn beside(own: Preparation, alone: Preparation, labels: LabelRange) -> Self {
        let form = if own == alone {
            Form::Own
        } else if !own.is_wide() && own.wide(labels) == alone {
            Form::Wide
        } else {
            Form::Both
        };
        Self { own, alone: Some(alone), form }
    }

    /// Both preparations under a dataset's own rules for missing and unknown values.
    pub fn under(&self, definition: &DatasetDefinition) -> Self {
        let alone = self.alone.as_ref().map(|alone| alone.under(definition));
        Self { own: self.own.under(definition), alone, form: self.form }
    }

    /// How the model of public data alone takes a raw row.
    pub fn preparation_alone(&self) -> Option<&Preparation> {
        self.alone.as_ref()
    }

    /// What the plan's model takes of a record.
    pub fn own(&self) -> View {
        match self.form {
            Form::Own => View::WHOLE,
            Form::Wide => View { places: None, bounding: Some(self.own.bounding()) },
            Form::Both => View { places: Some(0..self.own.dimension()), bounding: None },
        }
    }

    /// What the model of public data alone takes of a record.
    pub fn alone(&self) -> View {
        let first = self.own.dimension();
        let both = self.alone.as_ref().filter(|_| self.form == Form::Both);
        let places = both.map(|alone| first..first + alone.dimension());
        View { places, bounding: None }
    }

    /// The preparation of the kept form, and the other one if both are kept.
    fn kept(&self) -> (&Preparation, Option<&Preparation>) {
        match (&self.alone, self.form) {
            (Some(alone), Form::Wide) => (alone, None),
            (alone, Form::Both) => (&self.own, alone.as_ref()),
            (_, _) => (&self.own, None),
        }
    }

    /// Some private rows, without the unusable ones; labels as they are, for evaluation.
    pub fn private_rows(&self, table: &Table, rows: &[usize], name: &str) -> Result<HeldOut> {
        let (one, other) = self.kept();
        let Some(other) = other else {
            return one.apply_to_private_rows_for_evaluation(table, rows, name);
        };
        let prepare = |part: &Table| {
            one.fits(part, true)?;
            other.fits(part, true)?;
            let usable = common(one.usable_rows(part, true)?, other.usable_rows(part, true)?);
            both((one, other), part, usable, name)
        };
        let dimension = one.dimension() + other.dimension();
        gather(dimension, table, rows, PART, prepare, &|_| ())
    }

    /// Public rows, with labels as they are, for evaluation.
    pub fn public(&self, table: &Table, name: &str) -> Result<PublicData> {
        let (one, other) = self.kept();
        let Some(other) = other else { return one.apply_public_for_evaluation(table, name) };
        super::public(one.dimension() + other.dimension(), table, |_, part| {
            one.fits(part, true)?;
            other.fits(part, true)?;
            let complete = common(one.dropping(part, true)?, other.dropping(part, true)?);
            both((one, other), part, complete, name)
        })
    }
}

/// The rows in both lists; none stands for all rows.
fn common(one: Option<Vec<usize>>, other: Option<Vec<usize>>) -> Option<Vec<usize>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            // Both are in order.
            one.retain(|row| other.binary_search(row).is_ok());
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// These rows, if there are others, in both forms.
fn both(
    (one, other): (&Preparation, &Preparation),
    table: &Table,
    rows: Option<Vec<usize>>,
    name: &str,
) -> Result<Dataset> {
    let some = rows.map(|rows| table.excerpt(&rows)).transpose()?;
    let table = some.as_ref().unwrap_or(table);
    let mut records = one.for_evaluation(table, None, name)?;
    let (others, _) = other.unlabelled(table, name, None)?;
    let above = records.features.nrows();
    let mut features = Matrix::zeros(above + others.features.nrows(), table.rows());
    features.rows_mut(0, above).copy_from(&records.features);
    features.rows_mut(above, others.features.nrows()).copy_from(&others.features);
    records.features = features;
    records.feature_names.extend(others.feature_names);
    let norm = &mut records.bounds.feature_norm;
    *norm = norm.hypot(others.bounds.feature_norm);
    Ok(records)
}

/// What a model takes of a record that judges it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The numbers that the model takes; all if `None`.
    places: Option<Range<usize>>,
    /// Clips the wide record.
    bounding: Option<Bounding>,
}

impl View {
    /// The record as it is.
    pub const WHOLE: Self = Self { places: None, bounding: None };

    /// These records as the model takes them.
    pub fn of<'a, F: ExampleColumns>(&'a self, records: &'a F) -> Viewed<'a, F> {
        Viewed { records: Cow::Borrowed(records), view: self }
    }

    fn is_whole(&self) -> bool {
        *self == Self::WHOLE
    }
}

impl Bounding {
    /// Makes a wide record narrow.
    fn narrow(self, record: &mut [f64]) {
        if self.intercept {
            // Records with an intercept were divided by this.
            for x in record.iter_mut() {
                *x *= SQRT_2;
            }
        }
        self.apply(record);
    }
}

/// Records as a model takes them.
#[derive(Clone)]
pub struct Viewed<'a, F: Clone> {
    records: Cow<'a, F>,
    view: &'a View,
}

impl<F: ExampleColumns> ExampleColumns for Viewed<'_, F> {
    fn dimension(&self) -> usize {
        self.view.places.as_ref().map_or_else(|| self.records.dimension(), Range::len)
    }

    fn count(&self) -> usize {
        self.records.count()
    }

    fn stretch(&self) -> usize {
        self.records.stretch()
    }

    fn read<'a>(&'a self, range: Range<usize>, room: &'a mut Vec<f64>) -> &'a [f64] {
        if self.view.is_whole() {
            return self.records.read(range, room);
        }
        let mut kept = Vec::new();
        let kept = self.records.read(range, &mut kept);
        room.clear();
        for record in kept.chunks_exact(self.records.dimension().max(1)) {
            let first = room.len();
            let places = self.view.places.clone().unwrap_or(0..record.len());
            room.extend_from_slice(&record[places]);
            if let Some(bounding) = self.view.bounding {
                bounding.narrow(&mut room[first..]);
            }
        }
        room
    }

    fn see(&self, range: Range<usize>, see: impl FnOnce(Examples<'_>)) {
        if self.view.is_whole() {
            return self.records.see(range, see);
        }
        see(Examples::Doubles(self.read(range, &mut Vec::new())));
    }

    fn pick(&self, from: impl Iterator<Item = usize>) -> Self {
        Self { records: Cow::Owned(self.records.pick(from)), view: self.view }
    }
}
