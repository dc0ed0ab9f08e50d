//! Turns the label column into a number in −1 … 1, or into one of several classes whose names are
//! declared or public.
//!
//! A class is named by the meaning of its cell: `1`, `1.0` and `+1` are the same.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::cells::{Gaps, numbers};
use super::encoding::{MOST_VALUES, vocabulary};
use super::scale::Standardisation;
use super::settings::LabelRange;
use crate::column::{Cell, lacks_value};
use crate::declared::{class_of, declared_classes};
use crate::definition::{DatasetDefinition, UnknownLabels};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::{Classes, Task, names};

/// A label this many public standard deviations from the public mean becomes ±1.
const LABEL_DEVIATIONS: f64 = 3.0;

const NUMBER_CURE: &str = "correct the cell, filter such rows out, or choose another label";

/// The label column and its encoding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum LabelColumn {
    Number {
        column: String,
        /// Maps the label range to ±1.
        scale: Standardisation,
    },
    Class {
        column: String,
        /// Canonical texts, in the order of the class numbers.
        names: Vec<String>,
        unknown: UnknownLabels,
    },
}

/// The labels of a table, not yet scaled.
pub(super) enum RawLabels<'a> {
    /// Numbers in label units, and their scale.
    Numbers { raw: Cow<'a, [f64]>, scale: Standardisation },
    /// Indices into the names of the classes.
    Classes(Vec<u32>),
}

impl LabelColumn {
    pub fn fit(public: &Table, definition: &DatasetDefinition, range: LabelRange) -> Result<Self> {
        // Declared classes need not occur in the public records.
        let column = if definition.classes.is_empty() {
            label_column(public, definition)?
        } else {
            named_label(public, definition)?
        };
        Ok(match definition.task {
            Task::Regression => {
                let scale = label_scale(public, &column, range)?;
                Self::Number { column, scale }
            }
            Task::Classification => {
                let names = class_names(public, definition)?;
                let unknown = definition.unknown_labels.clone();
                Self::Class { column, names, unknown }
            }
        })
    }

    pub fn column(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Class { column, .. } => column,
        }
    }

    /// Checks values that may have been edited in a model file.
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Number { scale, .. } => scale.is_sound(),
            Self::Class { names, .. } => names.len() >= 2,
        }
    }

    pub fn check_column(&self, table: &Table) -> Result<()> {
        if table.has(self.column()) { Ok(()) } else { Err(no_label(table, self.column())) }
    }

    pub fn read<'a>(&self, table: &'a Table) -> Result<RawLabels<'a>> {
        match self {
            Self::Number { column, scale } => numbers(table, column, Gaps::Refused)
                .map(|raw| RawLabels::Numbers { raw, scale: *scale })
                .map_err(|flaw| flaw.cure(NUMBER_CURE)),
            Self::Class { column, names, unknown } => {
                let known = Vocabulary::new(names, unknown)?;
                let cells = table.column(column)?.cells().enumerate();
                let classes = cells.map(|(row, cell)| {
                    known
                        .class(&cell)
                        .map_err(|flaw| flaw.at(format!("{}, column '{column}'", table.place(row))))
                });
                classes.collect::<Result<_>>().map(RawLabels::Classes)
            }
        }
    }

    /// For every row, whether its label is usable.
    pub fn usable(&self, table: &Table) -> Result<Vec<bool>> {
        let column = table.column(self.column())?;
        Ok(match self {
            Self::Number { .. } => {
                column.cells().map(|cell| !matches!(cell, Cell::Text(_))).collect()
            }
            Self::Class { names, unknown, .. } => {
                let known = Vocabulary::new(names, unknown)?;
                column.cells().map(|cell| known.class(&cell).is_ok()).collect()
            }
        })
    }
}

/// The class of every label that may occur.
struct Vocabulary<'a> {
    classes: HashMap<Cell<'a>, u32>,
    names: &'a [String],
    /// The class of every other label.
    others: Option<u32>,
}

impl<'a> Vocabulary<'a> {
    fn new(names: &'a [String], unknown: &UnknownLabels) -> Result<Self> {
        let classes =
            names.iter().zip(0..).map(|(name, class)| (Cell::parse(name), class)).collect();
        let others = match unknown {
            UnknownLabels::Refuse => None,
            UnknownLabels::CountAs(name) => Some(class_of(name, names)?),
        };
        Ok(Self { classes, names, others })
    }

    fn class(&self, cell: &Cell<'_>) -> Result<u32> {
        if let Some(&class) = self.classes.get(cell) {
            return Ok(class);
        }
        if lacks_value(cell) {
            return Err(missing_class(cell));
        }
        self.others.ok_or_else(|| {
            Error::failed("expected a known class, found another one").quoting(cell).cure(format!(
                "{}; correct the cell, declare all `classes`, or set `unknown_labels`",
                names::list("classes", self.names)
            ))
        })
    }
}

fn missing_class(cell: &Cell<'_>) -> Error {
    Error::failed("expected a class, found a missing value")
        .quoting(cell)
        .cure("fill the cell in, filter such rows out, or name it among the declared `classes`")
}

/// The classes of a definition: as declared, or those of the public data.
pub fn class_names(public: &Table, definition: &DatasetDefinition) -> Result<Vec<String>> {
    if !definition.classes.is_empty() {
        return declared_classes(&definition.classes);
    }
    let column = label_column(public, definition)?;
    let cells = public.column(&column)?;
    if let Some(row) = cells.cells().position(|cell| lacks_value(&cell)) {
        return Err(
            missing_class(&cells.cell(row)).at(format!("{}, column '{column}'", public.place(row)))
        );
    }
    let found = vocabulary(public, &column)?;
    let (what, cure) = match found.len() {
        0 | 1 => (
            format!("the label '{column}' is the same in every row"),
            "choose another label, or declare its `classes`",
        ),
        many if many > MOST_VALUES => (
            format!("the label '{column}' has {many} different values"),
            "make the task a regression, choose another label, or declare its `classes`",
        ),
        _ => return Ok(found),
    };
    Err(Error::failed(what).at(public.origin.clone()).cure(cure))
}

/// The classes of `table`, a part of `all`, under its own definition.
pub fn classes_of(all: &Table, table: &Table, definition: &DatasetDefinition) -> Result<Classes> {
    let names = class_names(all, definition)?;
    let (column, unknown) = (label_column(all, definition)?, definition.unknown_labels.clone());
    match (LabelColumn::Class { column, names: names.clone(), unknown }).read(table)? {
        RawLabels::Classes(of) => Ok(Classes { of, names }),
        RawLabels::Numbers { .. } => Ok(Classes { of: Vec::new(), names }),
    }
}

fn no_label(table: &Table, label: &str) -> Error {
    Error::failed(format!("there is no label column '{label}'"))
        .at(table.origin.clone())
        .cure(names::list("columns", &table.names))
}

/// The label column, or an error if it does not exist.
fn label_column(public: &Table, definition: &DatasetDefinition) -> Result<String> {
    let label = named_label(public, definition)?;
    if !public.has(&label) {
        return Err(no_label(public, &label));
    }
    Ok(label)
}

fn named_label(public: &Table, definition: &DatasetDefinition) -> Result<String> {
    let Some(label) = &definition.label else {
        return Err(Error::usage(format!("dataset '{}' names no label", definition.name))
            .cure(format!("choose one; {}", names::list("columns", &public.names))));
    };
    if definition.categories.contains_key(label) {
        return Err(Error::usage(format!("the label '{label}' is declared as a category"))
            .cure("do not declare it: for a label of classes, set `task: classification`"));
    }
    Ok(label.clone())
}

fn label_scale(public: &Table, label: &str, range: LabelRange) -> Result<Standardisation> {
    let labels = numbers(public, label, Gaps::Refused).map_err(|flaw| {
        flaw.cure(format!("{NUMBER_CURE}; if it names classes, set `task: classification`"))
    })?;
    let (scale, what, cure) = match range {
        LabelRange::Declared(low, high) => (
            Standardisation {
                centre: low / 2.0 + high / 2.0,
                width: high / 2.0 - low / 2.0,
                ..Standardisation::IDENTITY
            },
            format!("the declared label range is {low} to {high}"),
            "declare the lowest label, then the highest",
        ),
        LabelRange::Public => {
            let standard = Standardisation::standard(labels.iter().copied());
            if labels.iter().all(|&x| standard.apply(x) == 0.0) {
                return Err(Error::failed(format!("the label '{label}' is the same in every row"))
                    .at(public.origin.clone())
                    .cure("choose another label, or declare its range"));
            }
            (
                Standardisation { width: LABEL_DEVIATIONS * standard.width, ..standard },
                format!("the label '{label}' has values too large to compute with"),
                "use another unit",
            )
        }
    };
    if scale.is_sound() { Ok(scale) } else { Err(Error::usage(what).cure(cure)) }
}
