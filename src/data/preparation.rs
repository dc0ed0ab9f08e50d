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
//! No step looks at another row of the table, so a prepared record depends on
//! that record and on public constants alone.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};

use super::definition::{Columns, DatasetDefinition};
use super::names;
use super::table::{Cell, Column, Table, finite};
use super::{Bounds, Dataset};
use crate::error::{Error, Result};
use crate::numeric::Matrix;

/// The share of public rows whose norm becomes at most 1.
const UNCLIPPED_SHARE: f64 = 0.95;

/// A label this many public standard deviations from the public mean becomes ±1.
const LABEL_DEVIATIONS: f64 = 3.0;

/// An undeclared text column with more values than this is taken for a mistake:
/// names, dates, identifiers.
const MOST_VALUES: usize = 200;

/// No standardised number is larger, so that squares cannot overflow.
const LARGEST: f64 = 1e100;

/// Clipping goes this far (relatively) below the bound, so that rounding does
/// not carry a record over it.
const SLACK: f64 = 1e-12;

/// How features and labels are brought into bounds; part of a session's plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PreparationSettings {
    pub features: FeatureScaling,
    pub labels: LabelRange,
    /// Append a constant feature.
    pub intercept: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureScaling {
    /// Public mean and standard deviation, divided by the public 95 % norm quantile, clipped to norm 1.
    Public,
    /// Taken as they are; rows are clipped to this declared norm.
    Declared(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRange {
    /// Public mean ± 3 public standard deviations.
    Public,
    /// Declared lowest and highest label.
    Declared(f64, f64),
}

impl Default for PreparationSettings {
    fn default() -> Self {
        Self { features: FeatureScaling::Public, labels: LabelRange::Public, intercept: true }
    }
}

/// Everything that turns a raw row into model input. Fitted on public data;
/// travels with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    encodings: Vec<Encoding>,
    /// Standardised features are divided by this.
    unit: f64,
    /// The bound on the norm of a prepared record.
    feature_norm: f64,
    intercept: bool,
    label_column: String,
    /// Takes the label range to ±1.
    label: Scale,
}

/// x ↦ (x − centre) / width.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    centre: f64,
    width: f64,
}

impl Scale {
    const IDENTITY: Self = Self { centre: 0.0, width: 1.0 };

    fn apply(self, x: f64) -> f64 {
        (x - self.centre) / self.width
    }

    /// Mean and standard deviation; a constant is moved to 0 and not divided.
    fn standard(values: impl Iterator<Item = f64> + Clone) -> Self {
        // In units of the largest value nothing overflows.
        let largest = values.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let Some(first) = values.clone().next().filter(|_| largest > 0.0) else {
            return Self::IDENTITY;
        };
        let count = values.clone().count() as f64;
        let mean = values.clone().map(|x| x / largest).sum::<f64>() / count;
        let variance = values.map(|x| (x / largest - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt();
        if deviation <= 1e-12 {
            return Self { centre: first, width: 1.0 };
        }
        Self { centre: mean * largest, width: deviation * largest }
    }

    fn is_sound(self) -> bool {
        self.centre.is_finite() && self.width.is_finite() && self.width > 0.0
    }
}

/// How one column becomes features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Encoding {
    Number {
        column: String,
        scale: Scale,
    },
    Category {
        column: String,
        /// Canonical texts of the known values.
        values: Vec<String>,
        /// One per known value, then one for all others.
        scales: Vec<Scale>,
    },
}

/// A column's cells as its encoding sees them.
enum Coded<'a> {
    Numbers(Cow<'a, [f64]>),
    /// For every row which of the 0/1 features is 1.
    Codes(Vec<usize>),
}

impl Coded<'_> {
    fn value(&self, row: usize, feature: usize) -> f64 {
        match self {
            Self::Numbers(numbers) => numbers[row],
            Self::Codes(codes) => f64::from(codes[row] == feature),
        }
    }
}

impl Encoding {
    fn category(column: &str, values: Vec<String>) -> Self {
        let scales = vec![Scale::IDENTITY; values.len() + 1];
        Self::Category { column: column.to_owned(), values, scales }
    }

    fn column(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Category { column, .. } => column,
        }
    }

    fn scales(&self) -> &[Scale] {
        match self {
            Self::Number { scale, .. } => std::slice::from_ref(scale),
            Self::Category { scales, .. } => scales,
        }
    }

    fn scales_mut(&mut self) -> &mut [Scale] {
        match self {
            Self::Number { scale, .. } => std::slice::from_mut(scale),
            Self::Category { scales, .. } => scales,
        }
    }

    fn feature_names(&self) -> Vec<String> {
        match self {
            Self::Number { column, .. } => vec![column.clone()],
            Self::Category { column, values, .. } => {
                let named = values.iter().map(|value| match value.as_str() {
                    "" => format!("{column}=(empty)"),
                    // Not to be taken for the feature of all other values.
                    "other" => format!("{column}='other'"),
                    value => format!("{column}={value}"),
                });
                named.chain([format!("{column}=other")]).collect()
            }
        }
    }

    fn read<'a>(&self, table: &'a Table) -> Result<Coded<'a>> {
        match self {
            Self::Number { column, .. } => {
                numbers(table, column).map(Coded::Numbers).map_err(|flaw| flaw.cure(FEATURE_CURE))
            }
            Self::Category { column, values, .. } => {
                let codes: HashMap<Cell<'_>, usize> =
                    values.iter().enumerate().map(|(i, value)| (Cell::parse(value), i)).collect();
                let code = |cell| codes.get(&cell).copied().unwrap_or(values.len());
                Ok(Coded::Codes(table.column(column)?.cells().map(code).collect()))
            }
        }
    }
}

const FEATURE_CURE: &str = "correct the cell, filter such rows out, leave the column out of the \
                            features, or declare it as a category";

impl Preparation {
    /// Fitted on a public table.
    pub fn fit(
        public: &Table,
        definition: &DatasetDefinition,
        settings: &PreparationSettings,
    ) -> Result<Self> {
        let label_column = label_column(public, definition)?;
        let label = label_scale(public, &label_column, settings.labels)?;
        let mut encodings = feature_columns(public, definition, &label_column)?
            .into_iter()
            .map(|column| choose_encoding(public, definition, column))
            .collect::<Result<Vec<_>>>()?;
        let (unit, feature_norm) = match settings.features {
            FeatureScaling::Public => (standardise(public, &mut encodings)?, 1.0),
            FeatureScaling::Declared(norm) => (1.0, declared_norm(norm)?),
        };
        Ok(Self {
            encodings,
            unit,
            feature_norm,
            intercept: settings.intercept,
            label_column,
            label,
        })
    }

    /// Bounded features and (if `with_label`) bounded labels.
    pub fn apply(&self, table: &Table, name: &str, with_label: bool) -> Result<Dataset> {
        let (features, mut clipped) = self.features(table)?;
        let mut target = None;
        if with_label {
            let raw = self.raw_labels(table)?;
            let labels: Vec<f64> = raw.iter().map(|&label| self.label.apply(label)).collect();
            for (clipped, label) in clipped.iter_mut().zip(&labels) {
                *clipped |= label.abs() > 1.0 + SLACK;
            }
            target = Some(labels.into_iter().map(|label| label.clamp(-1.0, 1.0)).collect());
        }
        Ok(self.dataset(name, features, target, &clipped, self.bounds()))
    }

    /// Bounded features, but labels in original units, unclipped: for evaluation.
    /// Its label bound is therefore infinite.
    pub fn apply_for_evaluation(&self, table: &Table, name: &str) -> Result<Dataset> {
        let (features, clipped) = self.features(table)?;
        let target = Some(self.raw_labels(table)?.into_owned());
        let bounds = Bounds { label: f64::INFINITY, ..self.bounds() };
        Ok(self.dataset(name, features, target, &clipped, bounds))
    }

    /// A prediction in label units.
    pub fn label_from_prediction(&self, prediction: f64) -> f64 {
        self.label.centre + self.label.width * prediction
    }

    /// What every prepared record obeys.
    pub fn bounds(&self) -> Bounds {
        Bounds { feature_norm: self.feature_norm, label: 1.0 }
    }

    pub fn label_name(&self) -> &str {
        &self.label_column
    }

    pub fn feature_names(&self) -> Vec<String> {
        let intercept = self.intercept.then(|| "(intercept)".to_owned());
        self.encodings.iter().flat_map(Encoding::feature_names).chain(intercept).collect()
    }

    pub fn dimension(&self) -> usize {
        self.scales().count() + usize::from(self.intercept)
    }

    fn scales(&self) -> impl Iterator<Item = Scale> {
        self.encodings.iter().flat_map(Encoding::scales).copied()
    }

    fn dataset(
        &self,
        name: &str,
        features: Matrix,
        target: Option<Vec<f64>>,
        clipped: &[bool],
        bounds: Bounds,
    ) -> Dataset {
        Dataset {
            name: name.to_owned(),
            features,
            feature_names: self.feature_names(),
            target,
            classes: None,
            bounds,
            clipped: clipped.iter().filter(|&&clipped| clipped).count(),
        }
    }

    /// Bounded features, one example per column, and which had to be clipped.
    fn features(&self, table: &Table) -> Result<(Matrix, Vec<bool>)> {
        self.check()?;
        self.check_columns(table)?;
        let coded = self
            .encodings
            .iter()
            .map(|encoding| Ok((encoding.scales(), encoding.read(table)?)))
            .collect::<Result<Vec<_>>>()?;
        let dimension = self.dimension();
        let mut features = Matrix::zeros(dimension, table.rows());
        let examples = features.as_mut_slice().chunks_exact_mut(dimension).enumerate();
        let clipped = examples.map(|(row, example)| {
            let mut slots = example.iter_mut();
            for (scales, coded) in &coded {
                for ((feature, scale), slot) in scales.iter().enumerate().zip(slots.by_ref()) {
                    let value = scale.apply(coded.value(row, feature)) / self.unit;
                    *slot = value.clamp(-LARGEST, LARGEST);
                }
            }
            self.bound(example)
        });
        let clipped = clipped.collect();
        Ok((features, clipped))
    }

    /// Clips one example and sets its intercept; whether it had to be clipped.
    fn bound(&self, example: &mut [f64]) -> bool {
        let Some((intercept, features)) = example.split_last_mut().filter(|_| self.intercept)
        else {
            return clip(example, self.feature_norm);
        };
        let clipped = clip(features, self.feature_norm);
        *intercept = self.feature_norm * (1.0 - SLACK);
        for value in example {
            *value /= SQRT_2;
        }
        clipped
    }

    fn raw_labels<'a>(&self, table: &'a Table) -> Result<Cow<'a, [f64]>> {
        if !table.has(&self.label_column) {
            return Err(no_label(table, &self.label_column));
        }
        numbers(table, &self.label_column).map_err(|flaw| flaw.cure(LABEL_CURE))
    }

    fn check_columns(&self, table: &Table) -> Result<()> {
        let missing: Vec<&str> =
            self.encodings.iter().map(Encoding::column).filter(|name| !table.has(name)).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let columns = if missing.len() == 1 { "column" } else { "columns" };
        let near = missing.iter().filter_map(|name| {
            let near = names::nearest(name, &table.names);
            (!near.is_empty()).then(|| format!("'{name}' may be {}", names::quoted(&near)))
        });
        let near: Vec<_> = near.collect();
        let hint = if near.is_empty() {
            names::hint("columns", first, &table.names)
        } else {
            near.join("; ")
        };
        Err(Error::failed(format!("it lacks the {columns} {}", names::quoted(&missing)))
            .at(table.origin.clone())
            .cure(format!("rename columns, or leave these out of the features ({hint})")))
    }

    /// A preparation may come from a file that somebody has edited.
    fn check(&self) -> Result<()> {
        let whole = self.encodings.iter().all(|encoding| match encoding {
            Encoding::Number { .. } => true,
            Encoding::Category { values, scales, .. } => scales.len() == values.len() + 1,
        });
        let unit = Scale { centre: 0.0, width: self.unit };
        let sound = self.scales().chain([unit, self.label]).all(Scale::is_sound);
        if whole && sound && self.dimension() > 0 && declared_norm(self.feature_norm).is_ok() {
            return Ok(());
        }
        Err(Error::failed("the model's preparation is damaged")
            .cure("fit the model again, or restore its file from a copy"))
    }
}

/// Shortens `features` to the bound where they are longer; whether they were.
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

/// Fits centres and widths of all features; returns the unit.
fn standardise(public: &Table, encodings: &mut [Encoding]) -> Result<f64> {
    let rows = public.rows();
    let mut squares = vec![0.0; rows];
    for encoding in encodings {
        let coded = encoding.read(public)?;
        for (feature, scale) in encoding.scales_mut().iter_mut().enumerate() {
            *scale = Scale::standard((0..rows).map(|row| coded.value(row, feature)));
            for (row, square) in squares.iter_mut().enumerate() {
                let value = scale.apply(coded.value(row, feature));
                *square += value.clamp(-LARGEST, LARGEST).powi(2);
            }
        }
    }
    squares.sort_unstable_by(f64::total_cmp);
    let quantile = ((rows as f64 * UNCLIPPED_SHARE).ceil() as usize).saturating_sub(1);
    // Rows that hardly vary have a quantile of 0: then the largest, then 1.
    let unit = [squares.get(quantile), squares.last()]
        .into_iter()
        .flatten()
        .map(|square| square.sqrt())
        .find(|&unit| unit > 0.0);
    Ok(unit.unwrap_or(1.0))
}

fn declared_norm(norm: f64) -> Result<f64> {
    if (1e-100..=LARGEST).contains(&norm) {
        return Ok(norm);
    }
    Err(Error::usage(format!("the declared feature norm is {norm}"))
        .cure("declare a positive number, such as 1"))
}

const LABEL_CURE: &str = "correct the cell, filter such rows out, or choose another label";

fn no_label(table: &Table, label: &str) -> Error {
    Error::failed(format!("there is no label column '{label}'"))
        .at(table.origin.clone())
        .cure(names::list("columns", &table.names))
}

fn label_column(public: &Table, definition: &DatasetDefinition) -> Result<String> {
    let Some(label) = &definition.label else {
        return Err(Error::usage(format!("dataset '{}' names no label", definition.name))
            .cure(format!("choose one; {}", names::list("columns", &public.names))));
    };
    if !public.has(label) {
        return Err(no_label(public, label));
    }
    if definition.categories.contains_key(label) {
        return Err(Error::usage(format!("the label '{label}' is declared as a category"))
            .cure("the label of a regression is a number: choose another, or do not declare it"));
    }
    Ok(label.clone())
}

fn label_scale(public: &Table, label: &str, range: LabelRange) -> Result<Scale> {
    let labels = numbers(public, label).map_err(|flaw| flaw.cure(LABEL_CURE))?;
    let (scale, what, cure) = match range {
        LabelRange::Declared(low, high) => (
            Scale { centre: low / 2.0 + high / 2.0, width: high / 2.0 - low / 2.0 },
            format!("the declared label range is {low} to {high}"),
            "declare the lowest label, then the highest",
        ),
        LabelRange::Public => {
            let standard = Scale::standard(labels.iter().copied());
            if labels.iter().all(|&x| standard.apply(x) == 0.0) {
                return Err(Error::failed(format!("the label '{label}' is the same in every row"))
                    .at(public.origin.clone())
                    .cure("choose another label, or declare its range"));
            }
            (
                Scale { width: LABEL_DEVIATIONS * standard.width, ..standard },
                format!("the label '{label}' has values too large to compute with"),
                "use another unit",
            )
        }
    };
    if scale.is_sound() { Ok(scale) } else { Err(Error::usage(what).cure(cure)) }
}

/// The columns that become features, in order.
fn feature_columns<'a>(
    public: &'a Table,
    definition: &'a DatasetDefinition,
    label: &str,
) -> Result<Vec<&'a str>> {
    let (named, chosen): (&[String], Vec<&str>) = match &definition.columns {
        Columns::All => (&[], public.names.iter().map(String::as_str).collect()),
        Columns::Only(only) => (only, only.iter().map(String::as_str).collect()),
        Columns::Except(except) => {
            let kept = public.names.iter().filter(|name| !except.contains(name));
            (except, kept.map(String::as_str).collect())
        }
    };
    for name in named.iter().chain(definition.categories.keys()) {
        public.column(name)?;
    }
    let mut seen = HashSet::new();
    if let Some(twice) = chosen.iter().find(|name| !seen.insert(**name)) {
        return Err(Error::usage(format!("column '{twice}' is listed twice"))
            .cure("list every column once"));
    }
    let features: Vec<_> = chosen.into_iter().filter(|name| *name != label).collect();
    if features.is_empty() {
        return Err(Error::usage(format!("dataset '{}' has no feature", definition.name))
            .at(public.origin.clone())
            .cure("choose at least one column that is not the label"));
    }
    Ok(features)
}

fn choose_encoding(
    public: &Table,
    definition: &DatasetDefinition,
    column: &str,
) -> Result<Encoding> {
    if let Some(declared) = definition.categories.get(column) {
        return if declared.is_empty() {
            Ok(Encoding::category(column, vocabulary(public, column)?))
        } else {
            declared_values(column, declared).map(|values| Encoding::category(column, values))
        };
    }
    let cells = public.column(column)?;
    let is_number = |cell| matches!(cell, Cell::Number(_));
    // Text with some number in it is a numeric column with flaws, until
    // somebody declares it a category: better to ask than to guess.
    if cells.cells().any(is_number) {
        numbers(public, column).map_err(|flaw| flaw.cure(FEATURE_CURE))?;
        return Ok(Encoding::Number { column: column.to_owned(), scale: Scale::IDENTITY });
    }
    let values = vocabulary(public, column)?;
    if values.len() > MOST_VALUES {
        return Err(Error::failed(format!(
            "a text column with {} different values, such as '{}'",
            values.len(),
            values[0]
        ))
        .at(format!("{}, column '{column}'", public.origin))
        .cure("leave it out of the features, or declare it as a category"));
    }
    Ok(Encoding::category(column, values))
}

fn vocabulary(public: &Table, column: &str) -> Result<Vec<String>> {
    Ok(public.values(column)?.into_iter().map(|(value, _)| value.to_string()).collect())
}

fn declared_values(column: &str, declared: &[String]) -> Result<Vec<String>> {
    let mut seen = HashSet::new();
    declared
        .iter()
        .map(|value| {
            let cell = Cell::parse(value);
            if seen.insert(cell) {
                return Ok(cell.to_string());
            }
            Err(Error::usage(format!("category '{column}' declares the value '{value}' twice"))
                .cure("declare every value once"))
        })
        .collect()
}

/// A column as numbers, or its first cell that is none.
fn numbers<'a>(table: &'a Table, column: &str) -> Result<Cow<'a, [f64]>> {
    match table.column(column)? {
        Column::Numbers(numbers) => Ok(Cow::Borrowed(numbers)),
        // A filter may have removed the rows that made it text.
        Column::Text(cells) => cells
            .iter()
            .enumerate()
            .map(|(row, cell)| {
                finite(cell).ok_or_else(|| {
                    Error::failed(flaw(cell)).at(format!("{}, column '{column}'", table.place(row)))
                })
            })
            .collect(),
    }
}

/// What is wrong with a cell that is no finite number.
fn flaw(cell: &str) -> String {
    const MISSING: [&str; 8] = ["na", "n/a", "nan", "null", "none", "?", "-", "."];
    if cell.is_empty() {
        "expected a number, found a missing value (empty cell)".to_owned()
    } else if MISSING.contains(&cell.to_lowercase().as_str()) {
        format!("expected a number, found a missing value ('{cell}')")
    } else if cell.parse::<f64>().is_ok() {
        format!("expected a finite number, found '{cell}'")
    } else if finite(&cell.replacen(',', ".", 1)).is_some() {
        format!("expected a number with a decimal point, found '{cell}'")
    } else {
        format!("expected a number, found '{cell}'")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::data::{Role, Source, csv};

    fn definition(label: &str) -> DatasetDefinition {
        DatasetDefinition {
            name: "public".into(),
            role: Role::Public,
            source: Source::File("public.csv".into()),
            label: Some(label.into()),
            filter: None,
            columns: Columns::All,
            categories: BTreeMap::new(),
            fingerprint: None,
        }
    }

    fn categories(column: &str, values: &[&str]) -> BTreeMap<String, Vec<String>> {
        [(column.to_owned(), strings(values))].into()
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn table(text: &str) -> Table {
        csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap()
    }

    fn raw() -> PreparationSettings {
        PreparationSettings {
            features: FeatureScaling::Declared(1e6),
            labels: LabelRange::Declared(0.0, 10.0),
            intercept: false,
        }
    }

    fn fit(
        text: &str,
        definition: &DatasetDefinition,
        settings: &PreparationSettings,
    ) -> Preparation {
        match Preparation::fit(&table(text), definition, settings) {
            Ok(preparation) => preparation,
            Err(error) => panic!("{error}"),
        }
    }

    fn refusal(text: &str, definition: &DatasetDefinition) -> String {
        let settings = PreparationSettings::default();
        Preparation::fit(&table(text), definition, &settings).unwrap_err().to_string()
    }

    fn example(dataset: &Dataset, row: usize) -> Vec<f64> {
        dataset.features.column(row).iter().copied().collect()
    }

    const SHOPS: &str = "size,kind,hr,y\n1,b,0,1\n2,a,7,2\n4,b,7.0,9\n";

    #[test]
    fn text_becomes_one_feature_per_public_value_and_one_for_all_others() {
        let mut definition = definition("y");
        definition.categories = categories("hr", &[]);
        let preparation = fit(SHOPS, &definition, &raw());
        let names = ["size", "kind=a", "kind=b", "kind=other", "hr=0", "hr=7", "hr=other"];
        assert_eq!(preparation.feature_names(), names);
        assert_eq!(preparation.dimension(), 7);
        let other = table("y,hr,kind,size\n5,7,a,3\n5,?,zebra,3\n5,8,b,3\n");
        let dataset = preparation.apply(&other, "shops", false).unwrap();
        assert_eq!(example(&dataset, 0), [3.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(example(&dataset, 1), [3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(example(&dataset, 2), [3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!((dataset.name.as_str(), dataset.target), ("shops", None));
    }

    #[test]
    fn declared_values_take_the_place_of_public_ones() {
        let mut definition = definition("y");
        definition.columns = Columns::Only(strings(&["hr", "kind", "y"]));
        definition.categories = categories("hr", &["7.0", "23"]);
        let preparation = fit(SHOPS, &definition, &raw());
        let names = ["hr=7", "hr=23", "hr=other", "kind=a", "kind=b", "kind=other"];
        assert_eq!(preparation.feature_names(), names);
        let dataset = preparation.apply(&table(SHOPS), "shops", true).unwrap();
        assert_eq!(example(&dataset, 0)[..3], [0.0, 0.0, 1.0]);
        assert_eq!(example(&dataset, 2)[..3], [1.0, 0.0, 0.0]);
        definition.categories = categories("hr", &["7", "7.0"]);
        assert!(refusal(SHOPS, &definition).contains("declares the value '7.0' twice"));
    }

    #[test]
    fn declared_bounds_leave_features_as_they_are_up_to_the_norm() {
        let settings = PreparationSettings { features: FeatureScaling::Declared(5.0), ..raw() };
        let data = table("a,b,y\n0,1,0\n3,4,10\n30,40,20\n0,0,5\n");
        let preparation = Preparation::fit(&data, &definition("y"), &settings).unwrap();
        let dataset = preparation.apply(&data, "d", true).unwrap();
        assert_eq!(dataset.bounds, Bounds { feature_norm: 5.0, label: 1.0 });
        for (row, expected) in [(0, [0.0, 1.0]), (1, [3.0, 4.0]), (2, [3.0, 4.0])] {
            for (value, expected) in example(&dataset, row).iter().zip(expected) {
                assert!((value - expected).abs() < 1e-10, "{row}: {value}");
            }
        }
        assert_eq!(dataset.target, Some(vec![-1.0, 1.0, 1.0, 0.0]));
        assert_eq!(dataset.clipped, 1);
        assert_eq!(preparation.label_from_prediction(0.5), 7.5);

        let with_intercept = PreparationSettings { intercept: true, ..settings };
        let preparation = Preparation::fit(&data, &definition("y"), &with_intercept).unwrap();
        assert_eq!(preparation.feature_names(), ["a", "b", "(intercept)"]);
        let dataset = preparation.apply(&data, "d", true).unwrap();
        let constant = 5.0 / SQRT_2;
        assert!((0..4).all(|row| (example(&dataset, row)[2] - constant).abs() < 1e-10));
        assert!((dataset.features.column(2).norm() - 5.0).abs() < 1e-10);
    }

    #[test]
    fn public_scaling_standardises_and_bounds_the_95_percent_quantile() {
        // a = 1 … 100: mean 50.5, variance (100² − 1)/12; the 95th largest
        // distance from the mean is that of 3 and 98, 47.5.
        let rows = (1..=100).map(|i| format!("{i},7.1,{i}\n")).collect::<Vec<_>>().concat();
        let settings = PreparationSettings { intercept: false, ..PreparationSettings::default() };
        let data = table(&format!("a,constant,y\n{rows}"));
        let preparation = Preparation::fit(&data, &definition("y"), &settings).unwrap();
        let dataset = preparation.apply(&data, "d", true).unwrap();
        for i in 0..100 {
            let expected = ((i as f64 - 49.5) / 47.5).clamp(-1.0, 1.0);
            assert!((dataset.features[(0, i)] - expected).abs() < 1e-9);
            assert_eq!(dataset.features[(1, i)], 0.0);
        }
        assert_eq!(dataset.clipped, 4);
        let label = (100.0 - 50.5) / (3.0 * (9999.0_f64 / 12.0).sqrt());
        assert!((dataset.target.unwrap()[99] - label).abs() < 1e-12);
        assert!((preparation.label_from_prediction(label) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn evaluation_keeps_labels_in_their_units() {
        let preparation = fit(SHOPS, &definition("y"), &PreparationSettings::default());
        let other = table("size,kind,hr,y\n100,b,0,1e6\n");
        let bounded = preparation.apply(&other, "d", true).unwrap();
        let evaluated = preparation.apply_for_evaluation(&other, "d").unwrap();
        assert_eq!(bounded.target, Some(vec![1.0]));
        assert_eq!(evaluated.target, Some(vec![1e6]));
        assert_eq!(evaluated.bounds.label, f64::INFINITY);
        assert_eq!(evaluated.features, bounded.features);
        assert_eq!(evaluated.clipped, 1);
    }

    #[test]
    fn a_flawed_cell_is_named_with_line_column_and_cure() {
        for (cell, complaint) in [
            ("", "found a missing value (empty cell)"),
            ("NA", "found a missing value ('NA')"),
            ("nan", "found a missing value ('nan')"),
            ("?", "found a missing value ('?')"),
            ("-inf", "expected a finite number, found '-inf'"),
            ("\"1,5\"", "with a decimal point, found '1,5'"),
            ("abc", "expected a number, found 'abc'"),
        ] {
            let text = format!("a,y\n1,2\n\n{cell},3\nx,4\n");
            let error = refusal(&text, &definition("y"));
            assert!(error.starts_with("t.csv:4, column 'a': expected"), "{error}");
            assert!(error.contains(complaint) && error.contains("declare it"), "{error}");
            let mut categorical = definition("y");
            categorical.categories = categories("a", &[]);
            fit(&text, &categorical, &raw());
            let label = refusal(&text, &definition("a"));
            assert!(label.starts_with("t.csv:4, column 'a'"), "{label}");
            assert!(label.contains("another label"), "{label}");

            let preparation = fit("a,y\n1,2\n2,3\n", &definition("y"), &raw());
            let error = preparation.apply(&table(&text), "d", true).unwrap_err().to_string();
            assert!(error.starts_with("t.csv:4, column 'a'"), "{error}");
        }
    }

    #[test]
    fn a_column_whose_flawed_rows_were_filtered_out_is_numeric() {
        let whole = table("a,y\n1,2\nNA,3\n4,5\n");
        let part = whole.select(&[0, 2]);
        let preparation = Preparation::fit(&part, &definition("y"), &raw()).unwrap();
        assert_eq!(example(&preparation.apply(&part, "d", true).unwrap(), 1), [4.0]);
    }

    #[test]
    fn impossible_definitions_are_refused_with_a_cure() {
        let all_but = |change: fn(&mut DatasetDefinition)| {
            let mut definition = definition("y");
            change(&mut definition);
            refusal(SHOPS, &definition)
        };
        let none = all_but(|d| d.label = None);
        assert!(none.contains("names no label") && none.contains("size, kind, hr, y"), "{none}");
        let label = all_but(|d| d.label = Some("z".into()));
        assert!(label.contains("no label column 'z'") && label.contains("size, kind"), "{label}");
        let text = all_but(|d| d.label = Some("kind".into()));
        assert!(text.contains("t.csv:2, column 'kind': expected a number, found 'b'"), "{text}");
        let only = all_but(|d| d.columns = Columns::Only(strings(&["sizes"])));
        assert!(only.contains("no column 'sizes'") && only.contains("'size'"), "{only}");
        let except = all_but(|d| d.columns = Columns::Except(strings(&["kin"])));
        assert!(except.contains("did you mean 'kind'"), "{except}");
        let twice = all_but(|d| d.columns = Columns::Only(strings(&["hr", "hr"])));
        assert!(twice.contains("listed twice"), "{twice}");
        let nothing = all_but(|d| d.columns = Columns::Only(strings(&["y"])));
        assert!(nothing.contains("has no feature"), "{nothing}");
        let category = all_but(|d| d.categories = categories("hour", &[]));
        assert!(category.contains("no column 'hour'"), "{category}");
        let label = all_but(|d| d.categories = categories("y", &[]));
        assert!(label.contains("declared as a category"), "{label}");
        let constant = refusal("a,y\n1,0.1\n2,0.1\n3,0.1\n", &definition("y"));
        assert!(constant.contains("is the same in every row"), "{constant}");
    }

    #[test]
    fn impossible_bounds_are_refused() {
        let error = |settings| {
            Preparation::fit(&table(SHOPS), &definition("y"), &settings).unwrap_err().to_string()
        };
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            let labels = LabelRange::Declared(low, high);
            assert!(error(PreparationSettings { labels, ..raw() }).contains("label range"));
        }
        for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let features = FeatureScaling::Declared(norm);
            assert!(error(PreparationSettings { features, ..raw() }).contains("feature norm"));
        }
    }

    #[test]
    fn a_text_column_of_names_is_not_taken_for_a_category_unasked() {
        let rows = (0..=MOST_VALUES).map(|i| format!("n{i},{i}\n")).collect::<Vec<_>>().concat();
        let text = format!("name,y\n{rows}");
        let error = refusal(&text, &definition("y"));
        assert!(error.contains("201 different values, such as 'n0'"), "{error}");
        let mut declared = definition("y");
        declared.categories = categories("name", &[]);
        assert_eq!(fit(&text, &declared, &raw()).dimension(), MOST_VALUES + 2);
    }

    #[test]
    fn all_missing_columns_are_named_at_once() {
        let preparation = fit(SHOPS, &definition("y"), &raw());
        let lacking = |text: &str, with_label| {
            preparation.apply(&table(text), "d", with_label).unwrap_err().to_string()
        };
        let error = lacking("sizes,hr,y\n1,2,3\n", true);
        assert!(error.starts_with("t.csv: it lacks the columns 'size', 'kind'\n"), "{error}");
        assert!(error.contains("'size' may be 'sizes'"), "{error}");
        let error = lacking("size,kind,hr\n1,a,3\n", true);
        assert!(
            error.contains("no label column 'y'") && error.contains("size, kind, hr"),
            "{error}"
        );
    }

    #[test]
    fn a_damaged_preparation_is_refused() {
        let preparation = fit(SHOPS, &definition("y"), &PreparationSettings::default());
        let text = ron::to_string(&preparation).unwrap();
        let damaged = [
            Preparation { unit: 0.0, ..preparation.clone() },
            Preparation { unit: f64::NAN, ..preparation.clone() },
            Preparation { encodings: vec![], intercept: false, ..preparation.clone() },
            ron::from_str(&text.replace("[\"a\",\"b\"]", "[\"a\"]")).unwrap(),
        ];
        for preparation in damaged {
            let error = preparation.apply(&table(SHOPS), "d", true).unwrap_err();
            assert!(error.to_string().contains("damaged"), "{error}");
        }
    }

    #[test]
    fn bikeshare_is_prepared_with_the_constants_of_the_public_part() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/bikeshare/bikeshare.csv");
        let whole = csv::read(path.as_ref()).ok().unwrap();
        let part = |filter| crate::data::filter::Filter::parse(filter).unwrap().apply(&whole);
        let public = part("season != 1").ok().unwrap();
        let private = part("season == 1").ok().unwrap();
        let mut definition = definition("bikers");
        definition.columns =
            Columns::Except(strings(&["season", "mnth", "day", "casual", "registered"]));
        definition.categories = categories("hr", &[]);
        let preparation =
            Preparation::fit(&public, &definition, &PreparationSettings::default()).unwrap();
        // 24 hours and 3 weathers (the fourth is a winter's) with their "other"; 7 numbers; 1.
        assert_eq!(preparation.dimension(), 25 + 4 + 7 + 1);
        let prepared = preparation.apply(&private, "winter", true).unwrap();
        assert_eq!(prepared.len(), 2068);
        assert!(prepared.features.column_iter().all(|x| x.norm() <= 1.0));
        let fitted = preparation.apply(&public, "rest", true).unwrap();
        // A twentieth has too large a norm; a few more have a label above 3 deviations.
        let share = fitted.clipped as f64 / fitted.len() as f64;
        assert!((0.05..0.08).contains(&share), "{share}");
    }

    fn cell() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -100.0..100.0_f64,
            1 => Just(0.0),
            1 => prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL,
        ]
    }

    /// Columns `n`, `m` (numbers), `c` (text), `y`.
    fn rows() -> impl Strategy<Value = Vec<(f64, f64, String, f64)>> {
        prop::collection::vec((cell(), cell(), "[a-d]{0,1}", -1e3..1e3_f64), 2..40)
    }

    fn sheet(rows: &[(f64, f64, String, f64)]) -> Table {
        let columns = vec![
            Column::Numbers(rows.iter().map(|row| row.0).collect()),
            Column::Numbers(rows.iter().map(|row| row.1).collect()),
            Column::Text(rows.iter().map(|row| row.2.clone()).collect()),
            Column::Numbers(rows.iter().map(|row| row.3).collect()),
        ];
        let lines = (2..).take(rows.len()).collect();
        Table::new("t", strings(&["n", "m", "c", "y"]), columns, lines).ok().unwrap()
    }

    fn settings() -> impl Strategy<Value = PreparationSettings> {
        let features = prop_oneof![
            Just(FeatureScaling::Public),
            (0.01..1e3_f64).prop_map(FeatureScaling::Declared)
        ];
        let labels = prop_oneof![
            Just(LabelRange::Public),
            (-10.0..0.0_f64, 0.1..10.0_f64).prop_map(|(a, b)| LabelRange::Declared(a, b))
        ];
        (features, labels, any::<bool>()).prop_map(|(features, labels, intercept)| {
            PreparationSettings { features, labels, intercept }
        })
    }

    proptest! {
        #[test]
        fn every_prepared_record_obeys_its_bounds(
            public in rows(), private in rows(), settings in settings()
        ) {
            let preparation = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
            for rows in [&public, &private] {
                let dataset = preparation.apply(&sheet(rows), "d", true).unwrap();
                let Bounds { feature_norm, label } = dataset.bounds;
                for example in dataset.features.column_iter() {
                    prop_assert!(example.iter().all(|x| x.is_finite()));
                    prop_assert!(example.norm() <= feature_norm, "{} > {feature_norm}", example.norm());
                }
                prop_assert!(dataset.target.unwrap().iter().all(|y| y.abs() <= label));
            }
        }

        #[test]
        fn a_record_is_prepared_alike_whatever_stands_beside_it(
            public in rows(), private in rows(), at in any::<prop::sample::Index>(), settings in settings()
        ) {
            let preparation = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
            let row = at.index(private.len());
            let among = preparation.apply(&sheet(&private), "d", true).unwrap();
            let alone = preparation.apply(&sheet(&private[row..=row]), "d", true).unwrap();
            prop_assert_eq!(example(&among, row), example(&alone, 0));
            prop_assert_eq!(among.target.unwrap()[row], alone.target.unwrap()[0]);
        }

        #[test]
        fn public_features_have_mean_0_and_deviation_0_or_1_before_clipping(
            rows in prop::collection::vec((-100.0..100.0_f64, -1e-3..1e-3_f64, "[ab]", -9.0..9.0_f64), 2..40)
        ) {
            let settings = PreparationSettings { intercept: false, ..PreparationSettings::default() };
            let public = sheet(&rows);
            let fitted = Preparation::fit(&public, &definition("y"), &settings).unwrap();
            // So small that nothing is clipped.
            let preparation = Preparation { unit: 1e6, ..fitted };
            let features = preparation.apply(&public, "d", false).unwrap().features * 1e6;
            for feature in features.row_iter() {
                let deviation = (feature.norm_squared() / rows.len() as f64).sqrt();
                prop_assert!(feature.mean().abs() < 1e-9);
                prop_assert!(deviation < 1e-9 || (deviation - 1.0).abs() < 1e-9, "{deviation}");
            }
        }

        #[test]
        fn it_survives_the_model_file_exactly(public in rows(), settings in settings()) {
            let preparation = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
            let text = ron::to_string(&preparation).unwrap();
            prop_assert_eq!(ron::from_str::<Preparation>(&text).unwrap(), preparation);
        }
    }
}
