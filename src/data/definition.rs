//! What the session says about a dataset.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Task;
use super::preparation::{class_of, declared_classes};
use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Public,
    Private,
}

/// Where the records come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A file that explains itself, relative to the session file.
    File(String),
    /// A text table that needs a word of explanation.
    Delimited {
        file: String,
        /// What separates cells; found from the first lines where it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delimiter: Option<char>,
        /// Column names of a file without a header line.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
    },
    /// These arrays of an NPZ or safetensors file, one entry per record each.
    Arrays { file: String, arrays: Vec<String> },
    /// A LIBSVM file whose vectors have this many numbers, whatever its largest index.
    Sparse { file: String, width: usize },
    /// Files that belong together row by row, such as images and their labels:
    /// column name → file with one array.
    Together(BTreeMap<String, String>),
    /// A dataset inside the program, such as `bikeshare`.
    Builtin(String),
    /// The papers' synthetic setup; `part` is `source` or `target`.
    Synthetic {
        part: super::synthetic::Part,
        rows: usize,
        dimension: usize,
        mixture: f64,
        seed: u64,
    },
}

impl Source {
    /// The files that it names.
    pub fn files(&self) -> Vec<&str> {
        match self {
            Self::File(file)
            | Self::Delimited { file, .. }
            | Self::Arrays { file, .. }
            | Self::Sparse { file, .. } => vec![file],
            Self::Together(files) => files.values().map(String::as_str).collect(),
            Self::Builtin(_) | Self::Synthetic { .. } => Vec::new(),
        }
    }

    /// The files that it names, to be named otherwise.
    pub fn files_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::File(file)
            | Self::Delimited { file, .. }
            | Self::Arrays { file, .. }
            | Self::Sparse { file, .. } => vec![file],
            Self::Together(files) => files.values_mut().collect(),
            Self::Builtin(_) | Self::Synthetic { .. } => Vec::new(),
        }
    }
}

/// Which columns become features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Columns {
    /// Every column but the label.
    #[default]
    All,
    Only(Vec<String>),
    Except(Vec<String>),
}

/// What becomes of a label that is none of the classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum UnknownLabels {
    #[default]
    Refuse,
    /// It counts as this class. How many of them were private is nobody's to see
    /// but the curator's.
    CountAs(String),
}

/// One dataset of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetDefinition {
    pub name: String,
    pub role: Role,
    pub source: Source,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What its label is: a number or a class.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task: Task,
    /// The classes of a classification, in order; none takes those of the public data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub classes: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub unknown_labels: UnknownLabels,
    /// Row filter, such as `season != 1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(default)]
    pub columns: Columns,
    /// Columns that are categories even where they look like numbers, with
    /// their declared values; an empty list takes the values of the public data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub categories: BTreeMap<String, Vec<String>>,
    /// Fingerprint of the selected rows; public datasets only (of private rows it would be a leak).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl DatasetDefinition {
    /// Every row and column of `source`, without a label.
    pub fn new(name: impl Into<String>, role: Role, source: Source) -> Self {
        Self {
            name: name.into(),
            role,
            source,
            label: None,
            task: Task::default(),
            classes: Vec::new(),
            unknown_labels: UnknownLabels::default(),
            filter: None,
            columns: Columns::default(),
            categories: BTreeMap::new(),
            fingerprint: None,
        }
    }

    /// Everything that can be checked without data.
    pub fn check(&self) -> Result<()> {
        self.check_classes().map_err(|error| error.within(&format!("dataset '{}'", self.name)))
    }

    fn check_classes(&self) -> Result<()> {
        let ruled = self.unknown_labels != UnknownLabels::Refuse;
        if self.task == Task::Regression && (ruled || !self.classes.is_empty()) {
            return Err(Error::usage("it speaks of classes, and its task is a regression")
                .cure("set `task: classification`, or leave `classes` and `unknown_labels` out"));
        }
        if self.classes.is_empty() {
            return Ok(());
        }
        let classes = declared_classes(&self.classes)?;
        match &self.unknown_labels {
            UnknownLabels::CountAs(class) => class_of(class, &classes).map(|_| ()),
            UnknownLabels::Refuse => Ok(()),
        }
    }
}
