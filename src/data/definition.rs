//! The session's definition of a dataset.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Task;
use super::csv::{Decimal, Dialect};
use super::declared::{class_of, declared_classes};
use super::elements::is_number_of;
use super::extraction::Extraction;
use super::names::{is_pattern, matches};
use super::persons::{USUAL_RECORDS, Unit, WithoutUnit};
use super::table::{Sample, Table};
use crate::error::{Error, Result};

/// Whether the records are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Known to everybody, or treated as such.
    Public,
    /// Protected.
    #[default]
    Private,
}

/// The source of the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A self-explanatory file, relative to the session file.
    File(String),
    /// A text table that needs some explanation.
    Delimited {
        /// The path.
        file: String,
        /// The separator of cells; detected from the first lines if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delimiter: Option<char>,
        /// Column names of a file without a header line.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
        /// What precedes the decimals of a number.
        #[serde(default, skip_serializing_if = "is_default")]
        decimal: Decimal,
        /// Texts that are read as missing, such as `n.a.`, in addition to the usual ones. Only of
        /// public data: in private ones a text among numbers is missing anyway.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// These arrays of an NPZ or safetensors file, one entry per record each; `pixel = images` names
    /// the column of the array `images`.
    Arrays { file: String, arrays: Vec<String> },
    /// A LIBSVM file whose vectors have this many numbers, for any largest index.
    Sparse { file: String, width: usize },
    /// The rows of several sources with the same columns, one after another.
    Several(Vec<Source>),
    /// Files that belong together row by row, such as images and their labels:
    /// column name → file with one array.
    Together(BTreeMap<String, String>),
    /// A dataset inside the program, such as `bikeshare`.
    Builtin(String),
    /// The papers' synthetic setup; `part` is `source` or `target`.
    Synthetic {
        /// Which of the two distributions.
        part: super::synthetic::SyntheticPart,
        /// The number of records.
        rows: usize,
        /// The number of features.
        dimension: usize,
        /// The share of records that come from the other distribution.
        mixture: f64,
        /// The seed of the generator.
        seed: u64,
    },
}

/// No rows.
impl Default for Source {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
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
            Self::Several(sources) => sources.iter().flat_map(Self::files).collect(),
            Self::Builtin(_) | Self::Synthetic { .. } => Vec::new(),
        }
    }

    /// What precedes the decimals of its numbers.
    pub fn decimal(&self) -> Decimal {
        if let Self::Delimited { decimal, .. } = self { *decimal } else { Decimal::Point }
    }

    /// The texts that are read as missing.
    pub fn missing(&self) -> Vec<String> {
        match self {
            Self::Delimited { missing, .. } => missing.clone(),
            Self::Several(sources) => sources.iter().flat_map(Self::missing).collect(),
            _ => Vec::new(),
        }
    }

    /// How a text table is read that is not self-explanatory.
    pub fn dialect(&self) -> Dialect {
        let Self::Delimited { delimiter, names, decimal, missing, .. } = self else {
            return Dialect::default();
        };
        let (names, missing) = (names.clone(), missing.clone());
        Dialect { delimiter: *delimiter, names, decimal: *decimal, missing }
    }

    /// Another reading of its numbers and of its gaps.
    pub fn read_with(&self, decimal: Decimal, missing: Vec<String>) -> Result<Self> {
        let is_plain = decimal == Decimal::Point && missing.is_empty();
        Ok(match self.clone() {
            same if self.decimal() == decimal && self.missing() == missing => same,
            Self::File(file) => {
                Self::Delimited { file, delimiter: None, names: Vec::new(), decimal, missing }
            }
            Self::Delimited { file, delimiter: None, names, .. }
                if names.is_empty() && is_plain =>
            {
                Self::File(file)
            }
            Self::Delimited { file, delimiter, names, .. } => {
                Self::Delimited { file, delimiter, names, decimal, missing }
            }
            _ => {
                return Err(Error::usage(
                    "only a text table can have decimal commas, or texts that are read as missing",
                )
                .cure("leave the decimals at 'point', and name no text"));
            }
        })
    }

    /// The files that it names, for renaming.
    pub fn files_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::File(file)
            | Self::Delimited { file, .. }
            | Self::Arrays { file, .. }
            | Self::Sparse { file, .. } => vec![file],
            Self::Together(files) => files.values_mut().collect(),
            Self::Several(sources) => sources.iter_mut().flat_map(Self::files_mut).collect(),
            Self::Builtin(_) | Self::Synthetic { .. } => Vec::new(),
        }
    }
}

/// Which columns become features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Columns {
    /// Every column except the label.
    #[default]
    All,
    /// By name or by pattern, such as `px*`.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}

impl Columns {
    pub fn words(&self) -> String {
        match self {
            Self::All => "every column but the label".to_owned(),
            Self::Only(names) => names.join(", "),
            Self::Except(names) => format!("all but {}", names.join(", ")),
        }
    }
}

/// What becomes of a label that is none of the classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum UnknownLabels {
    #[default]
    Refuse,
    /// Count it as this class. Only the curator may see how many of them were private.
    CountAs(String),
}

/// The treatment of a record with a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// A gap is an error.
    #[default]
    Refuse,
    /// Rows with gaps are left out.
    Drop,
    /// Gaps are filled with the mean of public records.
    PublicMean,
}

/// What a guess is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guessed {
    /// Whether the rows are private or public.
    Role,
    /// The label and its task.
    Label,
    /// The columns that are no features.
    Columns,
    /// The values that are read as missing, and their treatment.
    Missing,
    /// How numbers are written.
    Numbers,
    /// The number of rows.
    Rows,
    /// That rows are days in a row.
    Order,
    /// The files that are read as one dataset.
    Files,
}

impl std::fmt::Display for Guessed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Role => "role",
            Self::Label => "label",
            Self::Columns => "columns",
            Self::Missing => "missing values",
            Self::Numbers => "decimals",
            Self::Rows => "number of rows",
            Self::Order => "order of rows",
            Self::Files => "files",
        })
    }
}

/// The least value of `records`.
const LEAST_RECORDS: usize = 10;

/// One dataset of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct DatasetDefinition {
    /// Name of the dataset in plans.
    pub name: String,
    /// Whether the records are protected.
    pub role: Role,
    /// The source of the rows.
    pub source: Source,
    /// Other names for columns of the source, so that they agree with those of another dataset:
    /// name in the file → name here. Only the filter, which refers to the file, uses the names in
    /// the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rename: BTreeMap<String, String>,
    /// The column to predict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The kind of its label: a number or a class.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task: Task,
    /// The classes of a classification, in order; empty for those of the public data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub classes: Vec<String>,
    /// The treatment of rows whose label is not a declared class.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unknown_labels: UnknownLabels,
    /// The treatment of records with a missing value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: Missing,
    /// Row filter, such as `season != 1`. It defines which records the dataset *is*: how many there
    /// are is public, as the number of records of a file is, and the guarantee is for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Rows drawn at random from those that pass the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// For private data whose number of records is itself private: the number as which it counts.
    /// Records without values fill it up; if there are more records, a random part is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<usize>,
    /// The columns that identify the person of a row, such as a patient. All records of one person
    /// are then protected together. Without it the guarantee is for single records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The most records of a person that are used; they are chosen at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_records: Option<usize>,
    /// The treatment of rows in which the unit is missing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_unit: WithoutUnit,
    /// A pretrained network that makes features of a column of images or vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extract: Option<Extraction>,
    /// Which columns are features.
    #[serde(default)]
    pub columns: Columns,
    /// Columns that are categories even if they look like numbers, with their declared values; an
    /// empty list means the values of the public data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub categories: BTreeMap<String, Vec<String>>,
    /// For private data: facts known from elsewhere, such as a publication, and never computed from
    /// these rows. Means of columns, and shares of values: `{"age": 63, "sex=female": 0.4}`.
    /// Rehearsals that resemble them weigh more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub declared_means: BTreeMap<String, f64>,
    /// Units of columns, such as `{"temp": "°C"}`; only for readers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
    /// Remarks on columns; only for readers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    /// For public data: somebody vouches that they are public although the ledger knows some of
    /// their rows as private. Certificates repeat this.
    #[serde(default, skip_serializing_if = "is_default")]
    pub declared_public: bool,
    /// What the program guessed when it opened the file, and why, until somebody confirms it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub guessed: BTreeMap<Guessed, String>,
    /// Fingerprint of the selected rows; public datasets only (for private rows it would be a
    /// leak).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn refuse_if(broken: bool, what: impl Into<String>, cure: impl Into<String>) -> Result<()> {
    if broken { Err(Error::usage(what).cure(cure)) } else { Ok(()) }
}

impl DatasetDefinition {
    /// Every row and column of `source`, without a label.
    pub fn new(name: impl Into<String>, role: Role, source: Source) -> Self {
        Self { name: name.into(), role, source, ..Self::default() }
    }

    /// The values declared for a column that is a category, by name or pattern;
    /// an empty list means those of the public data.
    pub fn category(&self, column: &str) -> Option<&[String]> {
        let by_name = self.categories.get(column);
        let mut patterns = self.categories.iter().filter(|(name, _)| is_pattern(name));
        let by_pattern = || patterns.find(|(name, _)| matches(name, column)).map(|(_, v)| v);
        by_name.or_else(by_pattern).map(Vec::as_slice)
    }

    /// Whether a column is the label or a feature.
    pub fn uses(&self, column: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| matches(name, column));
        self.label.as_deref() == Some(column)
            || match &self.columns {
                Columns::All => true,
                Columns::Only(names) => named(names),
                Columns::Except(names) => !named(names),
            }
    }

    /// The unit of the label, where it is a number and the session names it.
    pub fn label_unit(&self) -> Option<String> {
        let label = self.label.as_ref().filter(|_| self.task == Task::Regression)?;
        self.units.get(label).cloned()
    }

    /// Forgets the guesses about settings that differ from those of `before`.
    pub fn forget_changed_guesses(&mut self, before: &Self) {
        let Self { role, label, task, columns, missing, source, .. } = before;
        let changed = [
            (Guessed::Role, self.role != *role),
            (Guessed::Label, self.label != *label || self.task != *task),
            (Guessed::Columns, self.columns != *columns),
            (Guessed::Missing, self.missing != *missing),
            (Guessed::Numbers, self.source != *source),
            (Guessed::Rows, self.role != *role || self.source != *source),
            (Guessed::Files, self.source != *source),
        ];
        self.guessed.retain(|about, _| !changed.contains(&(*about, true)));
    }

    /// Everything that can be checked without data.
    pub fn check(&self) -> Result<()> {
        let checked = self
            .check_classes()
            .and_then(|()| self.check_missing())
            .and_then(|()| self.check_records())
            .and_then(|()| self.check_means())
            .and_then(|()| self.check_unit());
        checked.map_err(|error| error.within(&format!("dataset '{}'", self.name)))
    }

    fn check_missing(&self) -> Result<()> {
        refuse_if(
            self.role == Role::Private && !self.source.missing().is_empty(),
            "texts that are read as missing are named of public data only",
            "leave `missing` out of the source: a text among private numbers is missing anyway",
        )
    }

    fn check_records(&self) -> Result<()> {
        let Some(records) = self.records else { return Ok(()) };
        refuse_if(
            self.role == Role::Public,
            "`records` hides how many private records there are, and this is public",
            "leave `records` out; `sample` takes a part of the rows",
        )?;
        refuse_if(
            self.sample.is_some(),
            "`records` and `sample` both say how many rows there are",
            "leave `sample` out: `records` cuts the rows by chance where there are more",
        )?;
        refuse_if(
            records < LEAST_RECORDS,
            format!(
                "`records` is {records}, and less than {LEAST_RECORDS} cannot be divided into \
                 training and hold-out"
            ),
            "write the number that `halflight data count` proposes",
        )
    }

    fn check_means(&self) -> Result<()> {
        let is_wrong = |name: &str, mean: f64| {
            !mean.is_finite() || (name.contains('=') && !(0.0..=1.0).contains(&mean))
        };
        let mut means = self.declared_means.iter();
        if let Some((name, mean)) = means.find(|(name, mean)| is_wrong(name, **mean)) {
            let what = format!("the declared mean of '{name}' is {mean}");
            return Err(Error::usage(what).cure(
                "write a number for a column (`\"age\": 63`) and a share from 0 to 1 for a value \
                 (`\"sex=female\": 0.4`)",
            ));
        }
        refuse_if(
            self.role == Role::Public && !self.declared_means.is_empty(),
            "`declared_means` says what is known of private rows, and these are public",
            "leave it out: the means of public columns are computed",
        )
    }

    /// The most records of a person that are used.
    pub fn most_records(&self) -> usize {
        self.most_records.unwrap_or(USUAL_RECORDS)
    }

    /// Whether a column identifies the person of a row.
    pub fn is_of_unit(&self, column: &str) -> bool {
        self.unit.as_ref().is_some_and(|unit| unit.columns().iter().any(|it| it == column))
    }

    fn check_unit(&self) -> Result<()> {
        const NAME_IT: &str =
            "name the column that says whose record a row is: `unit: \"patient_id\"`";
        let Some(unit) = &self.unit else {
            return refuse_if(
                self.most_records.is_some() || self.without_unit != WithoutUnit::default(),
                "`most_records` and `without_unit` are about persons, but no `unit` is named",
                NAME_IT,
            );
        };
        refuse_if(
            unit.columns().is_empty() || unit.columns().iter().any(String::is_empty),
            "`unit` names no column",
            NAME_IT,
        )?;
        refuse_if(
            self.most_records == Some(0),
            "`most_records` is 0, which leaves no record of anybody",
            format!("write 1 or more, or leave it out for {USUAL_RECORDS}"),
        )?;
        let label = self.label.as_deref().unwrap_or_default();
        refuse_if(
            self.label.is_some() && self.is_of_unit(label),
            format!("'{label}' is the label and the unit"),
            "the unit says whose record a row is, and cannot be predicted",
        )?;
        refuse_if(
            self.records.is_some(),
            "`records` hides how many records there are, and the number of persons is public",
            "leave `records` out: with a `unit` the number of records stays private anyway",
        )
    }

    fn check_classes(&self) -> Result<()> {
        let ruled = self.unknown_labels != UnknownLabels::Refuse;
        refuse_if(
            self.task == Task::Regression && (ruled || !self.classes.is_empty()),
            "it lists classes, but its task is a regression",
            "set `task: classification`, or leave `classes` and `unknown_labels` out",
        )?;
        if self.classes.is_empty() {
            return Ok(());
        }
        let classes = declared_classes(&self.classes)?;
        match &self.unknown_labels {
            UnknownLabels::CountAs(class) => class_of(class, &classes).map(|_| ()),
            UnknownLabels::Refuse => Ok(()),
        }
    }

    /// Splits the vectors of a table whose numbers this definition names into columns.
    pub fn apart(&self, table: Table) -> Result<Table> {
        table.apart(|column| self.speaks_of_numbers_in(column))
    }

    /// Whether something here names a number of the vectors in `column`.
    fn speaks_of_numbers_in(&self, column: &str) -> bool {
        let listed = match &self.columns {
            Columns::All => [].iter(),
            Columns::Only(names) | Columns::Except(names) => names.iter(),
        };
        let keys = self.rename.keys().chain(self.categories.keys());
        let keys = keys.chain(self.units.keys()).chain(self.notes.keys());
        let mut names = listed.chain(&self.label).chain(keys);
        let filtered = self.filter.as_ref();
        names.any(|name| is_number_of(name, column))
            || filtered.is_some_and(|filter| filter.contains(&format!("`{column}[")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Values, Vectors};

    fn table() -> Table {
        let vectors = Vectors::new(3, Values::F32(vec![1.0, 2.0, 0.0, 3.0, 4.0, 1.0])).unwrap();
        let columns = vec![Column::Vectors(vectors), Column::Numbers(vec![7.0, 8.0].into())];
        Table::of_rows("t.npz", vec!["x".into(), "xx".into()], columns).unwrap()
    }

    fn names(change: impl FnOnce(&mut DatasetDefinition)) -> Vec<String> {
        let mut definition = DatasetDefinition::new("d", Role::Public, Source::File("t".into()));
        change(&mut definition);
        definition.apart(table()).unwrap().names
    }

    #[test]
    fn vectors_are_taken_apart_where_one_of_their_numbers_is_named() {
        let apart = ["x[0]", "x[1]", "x[2]", "xx"];
        assert_eq!(names(|d| d.label = Some("x[2]".into())), apart);
        assert_eq!(names(|d| d.columns = Columns::Except(vec!["x[0]".into()])), apart);
        assert_eq!(names(|d| d.filter = Some("`x[1]` > 2".into())), apart);
        assert_eq!(names(|d| drop(d.rename.insert("x[1]".into(), "age".into()))), apart);
        // An invalid index leads to a message that lists the valid ones.
        assert_eq!(names(|d| d.label = Some("x[-1]".into())), apart);
        for other in ["x", "xx", "xx[0]", "y[0]"] {
            assert_eq!(names(|d| d.label = Some(other.into())), ["x", "xx"]);
        }
    }
}
