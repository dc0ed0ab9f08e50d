//! From columns to bounded features, with constants that are declared or public.
//!
//! A row goes through four steps, each with constants fixed by [`Preparation::fit`]:
//!
//! 1. *encode*: a number stays a number; a category becomes one 0/1 feature per
//!    known value and one for every other value;
//! 2. *standardise*: subtract a centre, divide by a width, divide by the unit;
//! 3. *clip* to the bound on the norm;
//! 4. *intercept*: append a constant as large as the bound, divide all by √2, so
//!    that the bound still holds.
//!
//! Where a plan has a public predictor, its score follows the standardised features
//! ([`public_score`]) and is clipped with them.
//!
//! No step looks at another row of the table, so a prepared record depends on
//! that record and on public constants alone.

mod cells;
mod encoding;
mod judging;
mod labels;
mod public_score;
mod raw;
mod recipe;
mod scale;
mod settings;
mod usable;

use std::collections::HashSet;
use std::f64::consts::SQRT_2;
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use super::definition::{DatasetDefinition, Missing};
use super::missing;
use super::names;
use super::selection::feature_columns;
use super::table::Table;
use super::{Bounded, Bounds, Classes, Dataset, HeldOut, PublicData, Task};
use crate::error::{Error, Result};
use crate::memory;
use crate::numeric::columns::Singles;
use crate::numeric::doubles::Doubles;
use crate::numeric::{Matrix, parallel};

use cells::Gaps;
use encoding::{Coded, Encoding};
use labels::{LabelColumn, RawLabels};
use public_score::{PublicScore, Scorer};
use scale::Standardisation;

pub(crate) use encoding::MOST_VALUES;
pub use judging::{Judging, View, Viewed};
pub use labels::{class_names, classes_of};
pub use public_score::{ScoreColumn, ScoreSource, score_places};
pub use raw::TrueLabels;
pub use recipe::{Features, Recipe, RecipeColumn, RecipeScore, ScoreRecipe};
pub use settings::{FeatureScaling, LabelRange, PreparationSettings};

/// The share of public rows whose norm becomes at most 1.
const UNCLIPPED_SHARE: f64 = 0.95;

/// How much larger than usual the features of a wide preparation may be.
const WIDE: f64 = 1e3;

/// How much larger than usual the labels of a wide preparation may be: 30 public standard deviations
/// from the mean. A long tail decides the squared error, and predictors must see it to follow it.
const WIDE_LABELS: f64 = 10.0;

/// How much smaller than usual the intercept of a wide preparation is. It only distinguishes a
/// record from an empty one; a larger one would count in the norm, by which methods bound records.
const FAINT: f64 = 30.0;

/// The number of rows of a large table that are prepared at a time.
const PART: usize = 1 << 11;
/// Rows whose columns are filled together.
const TOGETHER: usize = 16;
/// Parts that threads share.
const AT_ONCE: usize = 16;

/// For how many missing columns a message suggests names.
const HINTS: usize = 8;

/// The largest standardised number, so that squares cannot overflow.
const LARGEST: f64 = 1e100;

/// Feature norms that can be declared: with them, features in single precision are as exact as with
/// a norm of 1.
const NORMS: RangeInclusive<f64> = 1e-25..=1e30;

/// Clipping goes this far (relatively) below the bound, so that rounding does not push a record
/// above it.
const SLACK: f64 = 1e-12;

/// The number of rows that are checked for what exceeds the bounds.
const MOST_CHECKED: usize = 20_000;

/// How many public rows exceed the bounds, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clipping {
    /// The number of rows that were examined.
    pub rows: usize,
    /// How many of them exceed the bound on the norm of the features.
    pub features: usize,
    /// The column with the largest part of the norm in these.
    pub column: Option<String>,
    /// How many rows have a label outside of its range.
    pub labels: usize,
    /// Columns with two values, such as 0 and 1, whose rarer value alone exceeds the bound in most
    /// rows that have it.
    pub rare: Vec<String>,
}

/// One feature of public rows: how often it has either of two values, and how often that value makes
/// more than half of a norm that exceeds the bound.
#[derive(Default, Clone)]
struct TwoValues {
    found: Vec<(f64, usize, usize)>,
}

impl TwoValues {
    fn add(&mut self, value: f64, exceeds: bool) {
        if let Some(known) = self.found.iter_mut().find(|(known, ..)| *known == value) {
            known.1 += 1;
            known.2 += usize::from(exceeds);
        } else if self.found.len() < 3 {
            // A third value says that there are more than two.
            self.found.push((value, 1, usize::from(exceeds)));
        }
    }

    fn is_rare(&self) -> bool {
        let [one, other] = self.found.as_slice() else { return false };
        let (_, count, beyond) = if one.1 < other.1 { one } else { other };
        2 * beyond >= *count
    }
}

impl Clipping {
    /// A note on columns whose rarer value is clipped.
    pub fn note_on_rare_values(&self) -> Option<String> {
        let columns = self.rare.iter().map(|column| format!("'{column}'")).collect::<Vec<_>>();
        (!columns.is_empty()).then(|| {
            format!(
                "records with the rarer value of {} are clipped and count for less; Data can leave \
                 the column out",
                columns.join(", ")
            )
        })
    }

    /// What exceeds which bound, and the settings that change it.
    pub fn words(&self, label: &str) -> String {
        let percent = |count: usize| 100.0 * count as f64 / self.rows.max(1) as f64;
        let column = self.column.as_ref().map(|column| {
            let share = percent(self.features);
            format!("{share:.1} % by the features, most of all '{column}'")
        });
        let labels = percent(self.labels);
        let labels = (self.labels > 0).then(|| format!("{labels:.1} % by the label '{label}'"));
        let found: Vec<String> = column.into_iter().chain(labels).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
        format!(
            "of the public ones {found}. On Plan, Enter on 'features' or 'label range' sets other \
             bounds; on Data, Enter and 'columns' leaves a column out"
        )
    }
}

/// Everything that turns a raw row into model input. It is fitted on public data and stored with
/// the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    encodings: Vec<Encoding>,
    /// Standardised features are divided by this.
    unit: f64,
    /// The bound on the norm of a prepared record.
    feature_norm: f64,
    intercept: bool,
    missing: Missing,
    labels: LabelColumn,
    /// Features may be this many times as long as the intercept; 1 in older files.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    room: f64,
    /// Labels are clipped to this many times their range; 1 in older files.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    label_room: f64,
    /// The score of a public predictor, as further features; none in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<PublicScore>,
    /// The scores of further predictors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    further_scores: Vec<PublicScore>,
}

/// The columns of a table in the form that a preparation uses.
struct CodedTable<'a> {
    columns: Vec<(&'a [Standardisation], Coded<'a>)>,
    scores: Vec<Scorer<'a>>,
}

fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_one(room: &f64) -> bool {
    *room == 1.0
}

impl CodedTable<'_> {
    /// Writes the standardised features of the rows from `first` on into the first places of these
    /// examples of `dimension` numbers: one column at a time, for a few rows that stay in the cache.
    fn standardise(&self, first: usize, examples: &mut [f64], dimension: usize) {
        let (dimension, mut room) = (dimension.max(1), Vec::new());
        let blocks = examples.chunks_mut(TOGETHER * dimension);
        for (first, block) in (first..).step_by(TOGETHER).zip(blocks) {
            let rows = first..first + block.len() / dimension;
            let mut place = 0;
            for (scales, coded) in &self.columns {
                let slots = block.chunks_exact_mut(dimension).map(|example| &mut example[place..]);
                match coded {
                    Coded::Numbers(numbers) => {
                        for (slots, number) in slots.zip(&numbers[rows.clone()]) {
                            slots[0] = scales[0].apply(*number);
                        }
                    }
                    Coded::Codes(codes) => {
                        for (slots, code) in slots.zip(&codes[rows.clone()]) {
                            for (feature, (slot, scale)) in
                                slots.iter_mut().zip(*scales).enumerate()
                            {
                                *slot = scale.apply(f64::from(*code == feature));
                            }
                        }
                    }
                    Coded::Vectors(vectors) => {
                        let vectors = vectors.read(rows.clone(), &mut room);
                        for (slots, vector) in slots.zip(vectors.chunks_exact(scales.len())) {
                            for ((slot, x), scale) in slots.iter_mut().zip(vector).zip(*scales) {
                                *slot = scale.apply(*x);
                            }
                        }
                    }
                }
                place += scales.len();
            }
        }
    }
}

impl Preparation {
    /// Fitted on a public table.
    pub fn fit(
        public: &Table,
        definition: &DatasetDefinition,
        settings: &PreparationSettings,
    ) -> Result<Self> {
        let labels = LabelColumn::fit(public, definition, settings.labels)?;
        let mut encodings = feature_columns(public, definition, labels.column())?
            .into_iter()
            .map(|column| encoding::choose(public, definition, column))
            .collect::<Result<Vec<_>>>()?;
        let missing = definition.missing;
        let unit = standardise(public, &mut encodings, gaps(missing))?;
        let (unit, feature_norm) = match settings.features {
            FeatureScaling::Public => (unit, 1.0),
            FeatureScaling::Declared(norm) => {
                let scales = encodings.iter_mut().flat_map(Encoding::scales_mut);
                scales.for_each(|scale| {
                    *scale = Standardisation { fill: scale.fill, ..Standardisation::IDENTITY }
                });
                (1.0, declared_norm(norm)?)
            }
        };
        let intercept = settings.intercept;
        Ok(Self {
            encodings,
            unit,
            feature_norm,
            intercept,
            missing,
            labels,
            room: 1.0,
            label_room: 1.0,
            score: None,
            further_scores: Vec::new(),
        })
    }

    /// The preparation under a dataset's own rules for missing and unknown values.
    pub fn under(&self, definition: &DatasetDefinition) -> Self {
        let mut preparation = self.clone();
        preparation.set_missing(definition.missing);
        if let LabelColumn::Class { unknown, .. } = &mut preparation.labels {
            *unknown = definition.unknown_labels.clone();
        }
        preparation
    }

    /// The preparation for methods that bound their own features and residuals of a record and have
    /// their own intercept: features and labels are hardly clipped, except to a declared range.
    #[must_use]
    pub fn wide(&self, labels: LabelRange) -> Self {
        let (feature_norm, room) = (WIDE * self.feature_norm, FAINT * WIDE * self.room);
        let label_room = match labels {
            LabelRange::Public => WIDE_LABELS,
            LabelRange::Declared(..) => 1.0,
        };
        Self { feature_norm, room, label_room, ..self.clone() }
    }

    /// A preparation with its own labels, and the features of another one.
    pub fn with_features_of(&self, other: &Self) -> Result<Self> {
        // The score of their public predictor comes with them.
        let plain = Self { score: None, further_scores: Vec::new(), ..other.clone() };
        let (ours, theirs) = (self.feature_names(), plain.feature_names());
        if ours != theirs {
            let differ = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
            let first = differ.map_or(String::new(), |(ours, theirs)| {
                format!(", the first that differ being '{theirs}' and '{ours}'")
            });
            return Err(Error::usage(format!(
                "the model to start from has {} features and these data have {}{first}",
                theirs.len(),
                ours.len()
            ))
            .cure("use the columns that the model was trained on"));
        }
        let mut taken = Self { labels: self.labels.clone(), ..other.clone() };
        taken.set_missing(self.missing);
        Ok(taken)
    }

    /// Bounded features and (if `with_label`) bounded labels or classes of public
    /// rows. There are as many records as rows: incomplete ones are empty where the
    /// policy is to drop them (see [`super::missing`]).
    pub fn apply(&self, table: &Table, name: &str, with_label: bool) -> Result<Dataset> {
        self.apply_with(table, (name, with_label), None)
    }

    /// [`Self::apply`], perhaps with these scores instead of those of the public predictor.
    fn apply_with(
        &self,
        table: &Table,
        (name, with_label): (&str, bool),
        scores: Option<&Matrix>,
    ) -> Result<Dataset> {
        self.fits(table, with_label)?;
        let complete = self.dropping(table, with_label)?;
        self.with_others_empty(table, complete, (name, with_label), scores)
    }

    /// Prepares private rows: an unusable one stops nothing and becomes an empty record.
    pub fn apply_private(&self, table: &Table, name: &str, with_label: bool) -> Result<Dataset> {
        self.fits(table, with_label)?;
        let usable = self.usable_rows(table, with_label)?;
        self.with_others_empty(table, usable, (name, with_label), None)
    }

    /// Prepares these rows, if there are others, which become empty records.
    fn with_others_empty(
        &self,
        table: &Table,
        rows: Option<Vec<usize>>,
        (name, with_label): (&str, bool),
        scores: Option<&Matrix>,
    ) -> Result<Dataset> {
        let Some(rows) = rows else { return self.bounded(table, name, with_label, scores) };
        let scores = scores.map(|scores| scores.select_columns(&rows));
        let dataset = self.bounded(&table.excerpt(&rows)?, name, with_label, scores.as_ref())?;
        Ok(spread(dataset, &rows, table.rows()))
    }

    /// Prepares some private rows within these bounds, as methods take them: in parts, so that
    /// nothing is copied as a whole.
    pub fn bounded_private_rows(
        &self,
        table: &Table,
        rows: &[usize],
        (name, with_label): (&str, bool),
        bounds: Bounds,
    ) -> Result<Bounded> {
        let prepare = |part: &Table| self.apply_private(part, name, with_label);
        let dimension = self.dimension();
        Bounded::gathered(bounds, |finish| gather(dimension, table, rows, PART, prepare, finish))
    }

    /// [`Self::apply_for_evaluation`] of some private rows, without the unusable ones.
    pub fn apply_to_private_rows_for_evaluation(
        &self,
        table: &Table,
        rows: &[usize],
        name: &str,
    ) -> Result<HeldOut> {
        let prepare = |part: &Table| {
            self.fits(part, true)?;
            self.for_evaluation(part, self.usable_rows(part, true)?, name)
        };
        gather(self.dimension(), table, rows, PART, prepare, &|_| ())
    }

    /// [`Self::apply`] of public rows, or [`Self::apply_scored`] with these scores. The features are
    /// on the disk if the table is, and they would take much of the memory.
    pub fn apply_public(
        &self,
        table: &Table,
        asked: (&str, bool),
        scores: Option<&Matrix>,
    ) -> Result<PublicData> {
        public(self.dimension(), table, |rows, part| match scores {
            Some(scores) if rows.len() < scores.ncols() => {
                self.apply_with(part, asked, Some(&scores.select_columns(rows)))
            }
            all => self.apply_with(part, asked, all),
        })
    }

    /// [`Self::apply_for_evaluation`] of public rows, in the same place.
    pub fn apply_public_for_evaluation(&self, table: &Table, name: &str) -> Result<PublicData> {
        public(self.dimension(), table, |_, part| self.apply_for_evaluation(part, name))
    }

    /// Bounded features, but labels in original units, unclipped: for evaluation. The label bound
    /// of a regression is therefore infinite. Incomplete records are left out if the policy is to
    /// drop them. A released mean must divide the sum over these records by the number of *rows*.
    pub fn apply_for_evaluation(&self, table: &Table, name: &str) -> Result<Dataset> {
        self.fits(table, true)?;
        self.for_evaluation(table, self.dropping(table, true)?, name)
    }

    /// Prepares these rows, if there are others.
    fn for_evaluation(
        &self,
        table: &Table,
        rows: Option<Vec<usize>>,
        name: &str,
    ) -> Result<Dataset> {
        let some = rows.map(|rows| table.excerpt(&rows)).transpose()?;
        let table = some.as_ref().unwrap_or(table);
        let (mut dataset, _) = self.unlabelled(table, name, None)?;
        match self.labels.read(table)? {
            RawLabels::Numbers { raw, .. } => {
                dataset.target = Some(raw.into_owned());
                dataset.bounds.label = f64::INFINITY;
            }
            RawLabels::Classes(of) => dataset.classes = Some(self.classes(of)),
        }
        Ok(dataset)
    }

    /// For rows that are complete, or whose gaps are filled.
    /// `scores`: those of the public predictor, if they are not its own.
    fn bounded(
        &self,
        table: &Table,
        name: &str,
        with_label: bool,
        scores: Option<&Matrix>,
    ) -> Result<Dataset> {
        let (mut dataset, mut clipped) = self.unlabelled(table, name, scores)?;
        if with_label {
            match self.labels.read(table)? {
                RawLabels::Numbers { raw, scale } => {
                    let (labels, most) = (raw.iter().map(|x| scale.apply(*x)), self.label_room);
                    let bounded = labels.zip(&mut clipped).map(|(label, clipped)| {
                        *clipped |= label.abs() > most * (1.0 + SLACK);
                        label.clamp(-most, most)
                    });
                    dataset.target = Some(bounded.collect());
                }
                RawLabels::Classes(of) => dataset.classes = Some(self.classes(of)),
            }
        }
        dataset.clipped = clipped.iter().filter(|&&clipped| clipped).count();
        Ok(dataset)
    }

    /// Which of some public rows exceed the bounds, and by what.
    pub fn clipping(&self, public: &Table, with_label: bool) -> Result<Clipping> {
        let complete = self.dropping(public, with_label)?;
        let rows = complete.unwrap_or_else(|| (0..public.rows()).collect());
        let some = public.excerpt(&rows[..rows.len().min(MOST_CHECKED)])?;
        let coded = self.coded(&some)?;
        let (mut features, mut shares) = (0, vec![0.0; self.encodings.len()]);
        let widths = self.encodings.iter().map(|encoding| encoding.scales().len());
        let mut two_values = vec![TwoValues::default(); widths.sum()];
        for first in (0..some.rows()).step_by(PART) {
            let standard = self.standard(&coded, first, PART.min(some.rows() - first));
            for record in standard.as_slice().chunks_exact(standard.nrows().max(1)) {
                let square = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
                let whole = square(record);
                let is_inside = whole.sqrt() <= self.unit * self.feature_norm * (1.0 + SLACK);
                for (values, value) in two_values.iter_mut().zip(record) {
                    values.add(*value, !is_inside && 2.0 * value * value > whole);
                }
                if is_inside {
                    continue;
                }
                features += 1;
                let mut from = 0;
                for (share, encoding) in shares.iter_mut().zip(&self.encodings) {
                    let width = encoding.scales().len();
                    *share += square(&record[from..from + width]) / whole;
                    from += width;
                }
            }
        }
        let largest = shares.iter().zip(&self.encodings).max_by(|(a, _), (b, _)| a.total_cmp(b));
        let column = largest.filter(|_| features > 0).map(|(_, it)| it.column().to_owned());
        let labels = match with_label.then(|| self.labels.read(&some)).transpose()? {
            Some(RawLabels::Numbers { raw, scale }) => {
                let most = self.label_room * (1.0 + SLACK);
                raw.iter().filter(|label| scale.apply(**label).abs() > most).count()
            }
            _ => 0,
        };
        let mut of_features = two_values.iter();
        let rare = self.encodings.iter().filter(|encoding| {
            let own = of_features.by_ref().take(encoding.scales().len());
            own.filter(|values| values.is_rare()).count() > 0
        });
        let rare = rare.map(|encoding| encoding.column().to_owned()).collect();
        Ok(Clipping { rows: some.rows(), features, column, labels, rare })
    }

    /// The complete rows, if others exist and should be dropped.
    fn dropping(&self, table: &Table, with_label: bool) -> Result<Option<Vec<usize>>> {
        if self.missing != Missing::Drop {
            return Ok(None);
        }
        let features = self.all_encodings();
        let features = features.iter().map(|encoding| (encoding.column(), encoding.values()));
        let label = with_label.then(|| (self.labels.column(), self.class_names()));
        let incomplete = missing::incomplete(table, features.chain(label))?;
        let complete: Vec<_> = (0..table.rows()).filter(|&row| !incomplete[row]).collect();
        Ok((complete.len() < table.rows()).then_some(complete))
    }

    /// A prediction in label units.
    pub fn label_from_prediction(&self, prediction: f64) -> f64 {
        match &self.labels {
            LabelColumn::Number { scale, .. } => scale.centre + scale.width * prediction,
            LabelColumn::Class { .. } => prediction,
        }
    }

    /// What is predicted.
    pub fn task(&self) -> Task {
        match &self.labels {
            LabelColumn::Number { .. } => Task::Regression,
            LabelColumn::Class { .. } => Task::Classification,
        }
    }

    /// The names of the classes, in the order of their numbers; none in a regression.
    pub fn class_names(&self) -> &[String] {
        match &self.labels {
            LabelColumn::Number { .. } => &[],
            LabelColumn::Class { names, .. } => names,
        }
    }

    /// The bounds that every prepared record obeys.
    pub fn bounds(&self) -> Bounds {
        Bounds { feature_norm: self.feature_norm, label: self.label_room }
    }

    /// The column to predict.
    pub fn label_name(&self) -> &str {
        self.labels.column()
    }

    /// The name of each feature, after encoding.
    pub fn feature_names(&self) -> Vec<String> {
        let intercept = self.intercept.then(|| "(intercept)".to_owned());
        let scores = self.all_scores().enumerate();
        let scores = scores.flat_map(|(at, score)| score.names(at, self.class_names()));
        let columns = self.encodings.iter().flat_map(Encoding::feature_names);
        columns.chain(scores).chain(intercept).collect()
    }

    /// The number of features of a prepared record.
    pub fn dimension(&self) -> usize {
        self.scales().count() + self.score_inputs().len() + usize::from(self.intercept)
    }

    /// The places of the scores among the features.
    pub fn score_inputs(&self) -> Range<usize> {
        let (first, count) =
            (self.scales().count(), self.all_scores().map(PublicScore::count).sum::<usize>());
        first..first + count
    }

    /// Whether features are hardly clipped.
    fn is_wide(&self) -> bool {
        self.room > 1.0
    }

    fn scales(&self) -> impl Iterator<Item = Standardisation> {
        self.encodings.iter().flat_map(Encoding::scales).copied()
    }

    fn classes(&self, of: Vec<u32>) -> Classes {
        Classes { of, names: self.class_names().to_vec() }
    }

    /// Bounded features without labels, and which records had to be clipped.
    fn unlabelled(
        &self,
        table: &Table,
        name: &str,
        scores: Option<&Matrix>,
    ) -> Result<(Dataset, Vec<bool>)> {
        let (features, clipped) = self.features(table, scores)?;
        let dataset = Dataset {
            feature_names: self.feature_names(),
            clipped: clipped.iter().filter(|&&clipped| clipped).count(),
            ..Dataset::unlabelled(name, features, self.bounds())
        };
        Ok((dataset, clipped))
    }

    /// Bounded features, one example per column, and which had to be clipped.
    fn features(&self, table: &Table, scores: Option<&Matrix>) -> Result<(Matrix, Vec<bool>)> {
        let coded = self.coded(table)?;
        if table.space().is_some() {
            memory::check(bytes_of(self.dimension(), table)).map_err(|error| {
                error
                    .within("its prepared features are needed in memory, all at once")
                    .at(table.origin.clone())
                    .cure(
                        "take some of the rows, with `sample: (rows: 50000)` on each public dataset \
                         of the session file, or allow more memory, such as --max-memory 16G",
                    )
            })?;
        }
        let mut features = Matrix::zeros(self.dimension(), table.rows());
        let clipped = self.fill(&coded, 0, &mut features, scores);
        Ok((features, clipped))
    }

    /// The columns of a table in the form that their encodings use.
    fn coded<'a>(&'a self, table: &'a Table) -> Result<CodedTable<'a>> {
        let gaps = gaps(self.missing);
        let columns = self
            .encodings
            .iter()
            .map(|encoding| Ok((encoding.scales(), encoding.read(table, gaps)?)));
        let columns = columns.collect::<Result<_>>()?;
        let scores = self.all_scores().map(|score| score.scorer(table, self.missing));
        let scores = scores.collect::<Result<_>>()?;
        Ok(CodedTable { columns, scores })
    }

    /// Standardised features of `rows` rows from `first` on, before they are bounded.
    fn standard(&self, coded: &CodedTable<'_>, first: usize, rows: usize) -> Matrix {
        let mut standard = Matrix::zeros(self.scales().count(), rows);
        let dimension = standard.nrows();
        coded.standardise(first, standard.as_mut_slice(), dimension);
        standard.apply(|value| *value = value.clamp(-LARGEST, LARGEST));
        standard
    }

    /// Fills the columns of `features` with the rows from `first` on. Returns which of them had to
    /// be clipped. `scores` stand in for those of the public predictor.
    fn fill(
        &self,
        coded: &CodedTable<'_>,
        first: usize,
        features: &mut Matrix,
        scores: Option<&Matrix>,
    ) -> Vec<bool> {
        let score = self.score.as_ref().map(|_| {
            let standard = self.standard(coded, first, features.ncols());
            self.score_features(&coded.scores, &standard, first, scores)
        });
        coded.standardise(first, features.as_mut_slice(), self.dimension());
        let (standard, bounding) = (self.scales().count(), self.bounding());
        let examples = features.as_mut_slice().chunks_exact_mut(self.dimension());
        let clipped = examples.enumerate().map(|(at, example)| {
            let (values, others) = example.split_at_mut(standard);
            for value in values {
                *value = (*value / self.unit).clamp(-LARGEST, LARGEST);
            }
            for (row, slot) in others.iter_mut().enumerate() {
                // The intercept comes last, and is set below.
                let value = score.as_ref().and_then(|score| score.get((row, at)));
                *slot = value.copied().unwrap_or_default();
            }
            bounding.apply(example)
        });
        clipped.collect()
    }

    fn bounding(&self) -> Bounding {
        let Self { feature_norm, intercept, room, .. } = *self;
        Bounding { feature_norm, intercept, room }
    }

    /// Checks that the preparation is sound and that the table has all its columns.
    fn fits(&self, table: &Table, with_label: bool) -> Result<()> {
        self.check()?;
        self.check_columns(table)?;
        if with_label { self.labels.check_column(table) } else { Ok(()) }
    }

    fn check_columns(&self, table: &Table) -> Result<()> {
        let known: HashSet<&str> = table.names.iter().map(String::as_str).collect();
        let needed = self.needed_columns().into_iter();
        let missing: Vec<&str> = needed.filter(|name| !known.contains(name)).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let columns = if missing.len() == 1 { "column" } else { "columns" };
        let hinted = if names::seem_a_record(&table.names) { 0 } else { HINTS };
        let near = missing.iter().take(hinted).filter_map(|name| {
            let near = names::nearest(name, &table.names);
            (!near.is_empty()).then(|| format!("'{name}' may be {}", names::quoted(&near)))
        });
        let near: Vec<_> = near.collect();
        let hint = if near.is_empty() {
            names::hint("columns", first, &table.names)
        } else {
            near.join("; ")
        };
        Err(Error::failed(format!("it lacks the {columns} {}", names::some(&missing)))
            .at(table.origin.clone())
            .cure(format!("rename columns, or leave these out of the features ({hint})")))
    }

    /// Refuses numbers that no preparation has: it may come from a file that somebody has edited.
    pub fn check(&self) -> Result<()> {
        let whole = self.encodings.iter().all(|encoding| match encoding {
            Encoding::Number { .. } | Encoding::Vector { .. } => true,
            Encoding::Category { values, scales, .. } => scales.len() == values.len() + 1,
        });
        let unit = Standardisation { width: self.unit, ..Standardisation::IDENTITY };
        let sound =
            self.scales().chain([unit]).all(Standardisation::is_sound) && self.labels.is_sound();
        let scored = self.all_scores().all(|score| score.is_sound(self.scales().count()));
        if whole
            && sound
            && scored
            && self.dimension() > 0
            && declared_norm(self.feature_norm).is_ok()
        {
            return Ok(());
        }
        Err(Error::failed("the model's preparation is damaged")
            .cure("fit the model again, or restore its file from a copy"))
    }
}

/// Steps 3 and 4: how the features of an example are bounded, and its intercept set.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bounding {
    feature_norm: f64,
    intercept: bool,
    room: f64,
}

impl Bounding {
    /// Clips one example and sets its intercept. Returns whether it had to be clipped.
    fn apply(self, example: &mut [f64]) -> bool {
        let Some((intercept, features)) = example.split_last_mut().filter(|_| self.intercept)
        else {
            return clip(example, self.feature_norm);
        };
        let clipped = clip(features, self.feature_norm);
        *intercept = self.feature_norm / self.room * (1.0 - SLACK);
        for value in example {
            *value /= SQRT_2;
        }
        clipped
    }
}

/// Shortens `features` to the bound if they are longer. Returns whether they were.
fn clip(features: &mut [f64], bound: f64) -> bool {
    let norm = norm(features.iter().copied());
    let allowed = bound * (1.0 - SLACK);
    if norm > allowed {
        for value in features {
            *value *= allowed / norm;
        }
    }
    norm > bound * (1.0 + SLACK)
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

/// The records of the `complete` rows among `rows` records, the others empty.
fn spread(dataset: Dataset, complete: &[usize], rows: usize) -> Dataset {
    let mut features = Matrix::zeros(dataset.dimension(), rows);
    for (from, &to) in complete.iter().enumerate() {
        features.set_column(to, &dataset.features.column(from));
    }
    fn among<T: Copy + Default>(values: &[T], complete: &[usize], rows: usize) -> Vec<T> {
        let mut all = vec![T::default(); rows];
        complete.iter().zip(values).for_each(|(&to, &value)| all[to] = value);
        all
    }
    let target = dataset.target.map(|target| among(&target, complete, rows));
    let classes = dataset
        .classes
        .map(|classes| Classes { of: among(&classes.of, complete, rows), ..classes });
    Dataset { features, target, classes, ..dataset }
}

/// With room for the labels of all records.
fn with_room(mut part: Dataset<()>, records: usize) -> Dataset<()> {
    if let Some(target) = &mut part.target {
        target.reserve_exact(records.saturating_sub(target.len()));
    }
    if let Some(classes) = &mut part.classes {
        classes.of.reserve_exact(records.saturating_sub(classes.of.len()));
    }
    part
}

/// Prepares `size` rows at a time, as all at once would take as much memory as the table, and hands
/// over their features in order. Returns what they have besides.
fn in_parts<F: Send>(
    table: &Table,
    rows: &[usize],
    size: usize,
    prepare: impl Fn(&[usize], &Table) -> Result<Dataset<F>> + Sync + Send,
    take: &mut dyn FnMut(&F) -> Result<()>,
) -> Result<Dataset<()>> {
    // No rows are a part, too.
    let parts = if rows.is_empty() { vec![rows] } else { rows.chunks(size).collect() };
    let mut all: Option<Dataset<()>> = None;
    for several in parts.chunks(AT_ONCE) {
        let part = |at: usize| prepare(several[at], &table.excerpt(several[at])?);
        for part in parallel::map(several.len(), part) {
            let part = part?;
            take(&part.features)?;
            let part = part.with_features(());
            match &mut all {
                None => all = Some(with_room(part, rows.len())),
                Some(all) => all.extend_labels(part),
            }
        }
    }
    all.ok_or_else(|| Error::failed("no rows were prepared").cure("please report this"))
}

/// Prepares public rows, with this many features. They are on the disk if the table is, and they
/// would take much of the memory.
fn public(
    dimension: usize,
    table: &Table,
    prepare: impl Fn(&[usize], &Table) -> Result<Dataset> + Sync + Send,
) -> Result<PublicData> {
    let rows: Vec<usize> = (0..table.rows()).collect();
    let Some(space) = table.space() else {
        return prepare(&rows, table).map(PublicData::from);
    };
    let large = bytes_of(dimension, table) > memory::much();
    let other = Some(space).filter(|_| large);
    let mut features = Doubles::with_room(dimension, rows.len(), other)?;
    let all = in_parts(table, &rows, PART, prepare, &mut |part| features.append(part))?;
    Ok(all.with_features(features))
}

/// The bytes that the prepared features of a table take in doubles.
fn bytes_of(dimension: usize, table: &Table) -> u64 {
    dimension as u64 * table.rows() as u64 * size_of::<f64>() as u64
}

/// Prepares `size` rows at a time, with this many features, finishes each part, and puts the parts
/// together: on the disk, if the table is there.
fn gather(
    dimension: usize,
    table: &Table,
    rows: &[usize],
    size: usize,
    prepare: impl Fn(&Table) -> Result<Dataset> + Sync + Send,
    finish: &(dyn Fn(&mut Dataset) + Sync),
) -> Result<Dataset<Singles>> {
    let mut features = Singles::with_room(dimension, rows.len(), table.space())?;
    let finished = |_: &[usize], part: &Table| {
        let mut part = prepare(part)?;
        finish(&mut part);
        Ok(part.in_singles())
    };
    let all = in_parts(table, rows, size, finished, &mut |part| features.append(part))?;
    Ok(all.with_features(features))
}

fn gaps(missing: Missing) -> Gaps {
    if missing == Missing::PublicMean { Gaps::Allowed } else { Gaps::Refused }
}

/// Fits centres, widths and fills of all features; returns the unit.
fn standardise(public: &Table, encodings: &mut [Encoding], gaps: Gaps) -> Result<f64> {
    let rows = public.rows();
    let mut squares = vec![0.0; rows];
    for encoding in encodings {
        if let Encoding::Vector { column, scales } = encoding {
            let vectors = cells::vectors(public, column, scales.len(), gaps)?;
            *scales = Standardisation::of_vectors(vectors);
            vectors.each(|row, vector| {
                for (scale, x) in scales.iter().zip(vector) {
                    squares[row] += scale.apply(*x).clamp(-LARGEST, LARGEST).powi(2);
                }
            });
            continue;
        }
        let coded = encoding.read(public, gaps)?;
        for (feature, scale) in encoding.scales_mut().iter_mut().enumerate() {
            *scale = Standardisation::standard((0..rows).map(|row| coded.value(row, feature)));
            for (row, square) in squares.iter_mut().enumerate() {
                let value = scale.apply(coded.value(row, feature));
                *square += value.clamp(-LARGEST, LARGEST).powi(2);
            }
        }
    }
    Ok(usual_norm(squares))
}

/// The norm that the usual share of rows does not exceed, from the squares of their norms.
fn usual_norm(mut squares: Vec<f64>) -> f64 {
    squares.sort_unstable_by(f64::total_cmp);
    let rows = squares.len() as f64;
    let quantile = ((rows * UNCLIPPED_SHARE).ceil() as usize).saturating_sub(1);
    // Rows that hardly vary have a quantile of 0; then the largest value is used, then 1.
    let unit = [squares.get(quantile), squares.last()]
        .into_iter()
        .flatten()
        .map(|square| square.sqrt())
        .find(|&unit| unit > 0.0);
    unit.unwrap_or(1.0)
}

fn declared_norm(norm: f64) -> Result<f64> {
    if NORMS.contains(&norm) {
        return Ok(norm);
    }
    Err(Error::usage(format!("the declared feature norm is {norm:?}"))
        .cure("declare a number from 1e-25 to 1e30, such as 1"))
}

#[cfg(test)]
mod on_disk_tests;
#[cfg(test)]
mod tests;
