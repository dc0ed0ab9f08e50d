//! A first look at a table: its schema, possible label columns, possible problems, and a definition
//! to start from.
//!
//! Everything here is exact. If the file may be private, only the person at the keyboard may see
//! it. Values of cells are looked up only on demand.

mod calendar;
mod cells;
mod guesses;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::cells::{
    are_clock_times, are_close_together, are_too_long, are_unequal, are_whole, counts_up, divides,
    has_commas_for_points, has_decimal_commas, has_numbers, is_whole, missing_as, odd_text,
    seem_missing,
};
pub use self::guesses::quoted;
use super::Task;
use super::column::{Cell, Column, lacks_value};
use super::definition::DatasetDefinition;
use super::identifiers::{self, Identifier};
use super::persons::{names_persons, seems_to_name_persons};
use super::preparation::MOST_VALUES;
use super::profile::Spread;
use super::read::in_turn;
use super::table::Table;
use super::vectors::Vectors;
use crate::numeric::parallel;

/// A numeric column with at most this many whole values may name classes.
const MOST_CLASSES: usize = 20;

/// Codes of classes count up from one of these. Whole numbers that start elsewhere, such as grades
/// from 3 to 9, measure something.
const FIRST_CODES: [f64; 2] = [0.0, 1.0];

/// The number of rows that decide whether all numbers of vectors are whole, as in images.
const EXAMPLE_ROWS: usize = 100;

/// With fewer cells than this, starting another thread does not pay.
const WORTH_A_THREAD: u64 = 1 << 18;

/// The kind of a column whose cells are all numbers.
const NUMBERS: &str = "numbers";

/// How many columns that go with an identifier are named.
const WITNESSES: usize = 3;

/// The number of shown values of a column.
const EXAMPLES: usize = 5;

/// Names that labels often have.
const LABEL_NAMES: [&str; 12] = [
    "label", "labels", "target", "class", "y", "outcome", "disease", "income", "quality", "digit",
    "result", "response",
];

/// The facts about a table before anything is set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// Where the table came from.
    pub origin: String,
    /// The number of its rows.
    pub rows: usize,
    /// The contents of its columns.
    pub columns: Vec<ColumnFacts>,
    /// Rows that are exact copies of an earlier one.
    pub duplicated_rows: usize,
    /// Possible labels, the best first.
    pub label_candidates: Vec<LabelCandidate>,
    /// Problems to decide or fix.
    pub problems: Vec<DataProblem>,
}

/// The contents of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnFacts {
    /// The column's name.
    pub name: String,
    /// "numbers", "text" or "vectors of … numbers".
    pub kind: String,
    /// The kind according to most cells, so that no single record decides it.
    #[serde(skip)]
    pub most: String,
    /// Rows without a value.
    pub missing: usize,
    /// Rows with a value.
    #[serde(skip)]
    pub present: usize,
    /// Texts that are read as missing in a column of text.
    #[serde(skip)]
    missing_as: Vec<&'static str>,
    /// Texts that are read as categories although they may say that there is no value.
    #[serde(skip)]
    seem_missing: Vec<String>,
    /// The only text among numbers.
    #[serde(skip)]
    odd: Option<OddText>,
    /// Whether the numbers look like clock times; `None` if they are too few to say.
    #[serde(skip)]
    is_clock: Option<bool>,
    /// What the rows are one after the other, such as days.
    #[serde(skip)]
    in_a_row: Option<calendar::InARow>,
    /// Whether the numbers are positive and as unequal as the weights of a survey.
    #[serde(skip)]
    is_unequal: bool,
    /// The number of different values; not counted for vectors.
    pub distinct: Option<usize>,
    /// Lowest and highest number, or the most common texts; only on demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    /// How the values are spread; only on demand.
    #[serde(rename = "profile", skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

/// A text that is the only one among the numbers of a column.
#[derive(Debug, Clone, PartialEq)]
struct OddText {
    text: String,
    /// In so many rows.
    count: usize,
    /// The first of them.
    place: String,
}

/// A column that could be predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelCandidate {
    /// Name of the column.
    pub column: String,
    /// The task of predicting it.
    pub task: Task,
    /// The number of classes of a classification.
    pub classes: Option<usize>,
    /// Whether the column holds a few whole numbers, which may name classes or measure something.
    #[serde(skip)]
    pub is_either: bool,
}

impl LabelCandidate {
    /// The reason why this column is the best of all candidates.
    pub fn reason(&self, candidates: &[Self]) -> &'static str {
        if LABEL_NAMES.contains(&self.column.to_lowercase().as_str()) {
            "labels often have this name"
        } else if candidates.len() == 1 {
            "no other column can be one"
        } else {
            "the last column that can be one"
        }
    }

    /// Task of predicting the column in words: `classification with 3 classes`.
    pub fn words(&self) -> String {
        match (self.classes, self.is_either) {
            (Some(classes), true) => format!(
                "{} with {classes} classes; {} if its numbers measure something",
                self.task,
                Task::Regression
            ),
            (Some(classes), false) => format!("{} with {classes} classes", self.task),
            (None, true) => {
                format!("{}; {} if its numbers are codes", self.task, Task::Classification)
            }
            (None, false) => self.task.to_string(),
        }
    }
}

/// A problem to decide or fix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataProblem {
    /// The column that it is about; `None` for all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The problem in words.
    pub what: String,
    /// The column, or several together as a list, that may say whose record a row is.
    #[serde(skip)]
    unit: Option<String>,
    #[serde(skip)]
    as_feature: AsFeature,
}

impl DataProblem {
    fn new(column: Option<String>, what: impl Into<String>) -> Self {
        Self { column, what: what.into(), unit: None, as_feature: AsFeature::Fine }
    }
}

/// Whether a column with a problem can still be a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
enum AsFeature {
    Fine,
    /// Fine, unless it is what it may be: whose record a row is.
    Person,
    /// Not useful if the column is also constant in other tables.
    Constant,
    /// Numbers with text among them.
    Mixed,
    Identifier,
    NoValue,
    Commas,
    TooManyValues,
    /// Says which rows somebody trained on.
    Division,
}

impl AsFeature {
    /// Why a column is left out, without anything about single cells.
    fn reason(self) -> &'static str {
        match self {
            Self::Fine | Self::Person => "",
            Self::Constant => "constant",
            Self::Mixed => "numbers with text among them",
            Self::Identifier => "an identifier of the row",
            Self::NoValue => "no value in any row",
            Self::Commas => "numbers with commas in them",
            Self::TooManyValues => "text with too many different values for a category",
            Self::Division => "somebody's training and test rows",
        }
    }
}

impl Inspection {
    /// Examines all columns; private values are shown only if the user asks.
    pub fn of(table: &Table, show_values: bool) -> Self {
        let (columns, mut problems, label_candidates) = columns_of(table, show_values);
        // A label alone repeats itself.
        let alone = table.columns.iter().map(Column::width).sum::<usize>() == 1;
        let duplicated_rows = table.duplicated_rows();
        let general = |what| DataProblem::new(None, what);
        if duplicated_rows > 0 && !alone {
            let are = if duplicated_rows == 1 { "row is a copy" } else { "rows are copies" };
            problems.push(general(format!(
                "{duplicated_rows} {are} of others: a person in several rows is protected less"
            )));
        }
        if table.persons.is_none() {
            let by_name: Vec<String> = problems.iter().filter_map(|it| it.unit.clone()).collect();
            problems.extend(
                identifiers::in_table(table)
                    .iter()
                    .filter(|it| !it.columns.iter().any(|at| by_name.contains(&table.names[*at])))
                    .map(|it| proposed(table, it)),
            );
        }
        problems.extend(table.remarks.iter().cloned().map(general));
        Self {
            origin: table.origin.clone(),
            rows: table.rows(),
            columns,
            duplicated_rows,
            label_candidates,
            problems,
        }
    }

    /// Another problem of the table as a whole.
    pub fn note(&mut self, what: String) {
        self.problems.push(DataProblem::new(None, what));
    }

    /// The columns, or several together as a list, that may say whose record a row is.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        self.problems.iter().filter_map(|it| it.unit.as_deref())
    }

    /// Whether numbers have decimal commas here, by most cells of a column of text.
    pub fn has_decimal_commas(table: &Table) -> bool {
        table.columns.iter().any(has_decimal_commas)
    }

    /// Whether most cells with a value of a column are numbers.
    pub fn has_numbers(&self, column: &str) -> bool {
        self.has(column, |facts| facts.most == NUMBERS)
    }

    /// Whether all cells with a value of a column are numbers, or will be when one text is read as
    /// missing.
    pub fn has_only_numbers(&self, column: &str) -> bool {
        self.has(column, |facts| facts.kind == NUMBERS || facts.odd.is_some())
    }

    /// The texts that are to be read as missing, because each is the only one among the numbers of a
    /// column, and where they are. Only of public tables: one private record could be such a text.
    pub fn odd_texts(&self) -> (Vec<String>, String) {
        let (mut texts, mut words) = (Vec::new(), Vec::new());
        for (column, OddText { text, count, place }) in
            self.columns.iter().filter_map(|it| Some((it, it.odd.as_ref()?)))
        {
            let (all, are) = (self.rows, if *count == 1 { "is" } else { "are" });
            words.push(format!(
                "{count} of {all} values of '{}' {are} not a number and read as missing: '{text}' \
                 ({place})",
                column.name
            ));
            if !texts.contains(text) {
                texts.push(text.clone());
            }
        }
        (texts, words.join("; "))
    }

    fn has(&self, column: &str, of_this_kind: impl Fn(&ColumnFacts) -> bool) -> bool {
        self.columns.iter().any(|facts| facts.name == column && of_this_kind(facts))
    }
}

/// The findings about all columns: their contents, their problems, and possible labels, the best
/// first.
pub(super) fn columns_of(
    table: &Table,
    show_values: bool,
) -> (Vec<ColumnFacts>, Vec<DataProblem>, Vec<LabelCandidate>) {
    let mut found: Vec<_> = table.columns.iter().map(|_| None).collect();
    let cells = (table.rows() * table.columns.len()) as u64;
    parallel::share_out(
        found.iter_mut().enumerate().collect(),
        in_turn::threads(cells / WORTH_A_THREAD),
        &|(at, found): (usize, &mut Option<_>)| {
            *found = Some(findings(table, at, show_values));
        },
    );
    let (mut columns, mut problems, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (facts, problem, candidate)) in found.into_iter().flatten().enumerate() {
        columns.push(facts);
        problems.extend(problem);
        candidates.extend(candidate.map(|label| (at, label)));
    }
    candidates.sort_by_cached_key(|(at, candidate)| {
        // Sorted by name, then the last column first, with parts of vectors after whole columns, and
        // numbered measurements before both.
        let name = candidate.column.to_lowercase();
        let known = LABEL_NAMES.iter().position(|label| *label == name);
        let part = matches!(table.columns[*at], Column::Vectors(_));
        let numbered = is_of_a_series(&candidate.column, &table.names);
        (known.unwrap_or(LABEL_NAMES.len()), part, numbered, std::cmp::Reverse(*at))
    });
    candidates.truncate(5);
    (columns, problems, candidates.into_iter().map(|(_, label)| label).collect())
}

/// Whether a column is one of several that a number tells apart, as `f1` to `f128`: these are
/// measurements of one kind, and a label among them would have a name of its own.
fn is_of_a_series(name: &str, all: &[String]) -> bool {
    const FEWEST: usize = 5;
    fn stem(name: &str) -> Option<&str> {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        (stem.len() < name.len()).then_some(stem)
    }
    let own = stem(name);
    own.is_some() && all.iter().filter(|other| stem(other) == own).count() >= FEWEST
}

/// The findings about one column.
fn findings(
    table: &Table,
    at: usize,
    show_values: bool,
) -> (ColumnFacts, Option<DataProblem>, Option<LabelCandidate>) {
    let (name, column) = (&table.names[at], &table.columns[at]);
    let values = (!matches!(column, Column::Vectors(_))).then(|| {
        let mut values = column.values();
        values.retain(|(value, _)| !lacks_value(value));
        values
    });
    let shown = values.as_deref().filter(|_| show_values);
    let missing = column.cells().filter(lacks_value).count();
    let facts = ColumnFacts {
        name: name.clone(),
        kind: column.kind(),
        most: if column.is_mostly_numbers() { NUMBERS.to_owned() } else { column.kind() },
        missing,
        present: table.rows() - missing,
        missing_as: missing_as(column),
        seem_missing: seem_missing(column),
        odd: odd_text(table, column),
        is_clock: values.as_deref().and_then(are_clock_times),
        in_a_row: calendar::rows_are(name, column),
        is_unequal: values.as_deref().is_some_and(are_unequal),
        distinct: values.as_ref().map(Vec::len),
        values: shown.map(|values| summary(column, values)),
        spread: shown.and_then(Spread::of),
    };
    let problem = facts.problem(table, column).map(|(what, as_feature)| {
        let unit = (as_feature == AsFeature::Person).then(|| name.clone());
        DataProblem { column: Some(name.clone()), what, unit, as_feature }
    });
    let candidate = match column {
        Column::Vectors(vectors) => candidate_in_vectors(name, vectors),
        _ => facts.candidate(table.rows(), column),
    };
    (facts, problem, candidate)
}

impl ColumnFacts {
    /// The problem of a column, and whether it can still be a feature.
    fn problem(&self, table: &Table, column: &Column) -> Option<(String, AsFeature)> {
        let Self { name, missing, distinct, .. } = self;
        let (rows, is_text) = (table.rows(), matches!(column, Column::Text(_)));
        if let Some(what) = self.identifies(rows, column) {
            return Some((what.to_owned(), AsFeature::Identifier));
        }
        match distinct {
            Some(0) => Some(("no cell has a value".to_owned(), AsFeature::NoValue)),
            Some(1) if *missing == 0 => Some(("constant".to_owned(), AsFeature::Constant)),
            Some(values) if is_text && divides(column, *values) => {
                let what = "says which rows are for training and which for tests: no property";
                Some((what.to_owned(), AsFeature::Division))
            }
            Some(_) if is_text && has_commas_for_points(column) => {
                let what = "numbers with commas in them: write 1.5 for 1,5 and 1000 for 1,000";
                Some((what.to_owned(), AsFeature::Commas))
            }
            Some(values) if table.persons.is_none() && names_persons(name, column, *values) => {
                let what = format!(
                    "{MAY_SAY_WHOSE} ({values} values in {rows} rows): `unit: \"{name}\"` protects \
                     all rows of one person together. {WITHOUT_UNIT}"
                );
                Some((what, AsFeature::Person))
            }
            Some(values) if is_text && *values > MOST_VALUES => {
                let what = format!("text with {values} different values: too many for a category");
                Some((what, AsFeature::TooManyValues))
            }
            Some(values) if is_text && has_numbers(column) => {
                let place = column
                    .cells()
                    .position(|cell| matches!(cell, Cell::Text(_)) && !lacks_value(&cell));
                let place = place.map(|row| format!("; the first in {}", table.place(row)));
                let place = place.unwrap_or_default();
                let what =
                    format!("numbers with text among them ({values} different values){place}");
                Some((what, AsFeature::Mixed))
            }
            _ if 2 * missing > rows => {
                Some(("more than half of it is missing".to_owned(), AsFeature::Fine))
            }
            _ => None,
        }
    }

    /// Why these numbers seem to say which row it is, and nothing else.
    fn identifies(&self, rows: usize, column: &Column) -> Option<&'static str> {
        let every_row = self.distinct == Some(rows) && rows > 2;
        if !matches!(column, Column::Numbers(_)) {
            None
        } else if every_row && counts_up(column) {
            Some("numbers the rows: an identifier?")
        } else if every_row && are_close_together(column) {
            Some("another whole number in every row, hardly any of them left out: an identifier?")
        } else if every_row && is_whole(column) && seems_to_name_persons(&self.name) {
            Some("another whole number in every row, and a name like that of an identifier")
        } else if are_too_long(column) {
            Some("whole numbers of more than 15 digits, of which the last are lost: an identifier?")
        } else {
            None
        }
    }

    /// Whether and how the column may be the label.
    fn candidate(&self, rows: usize, column: &Column) -> Option<LabelCandidate> {
        let distinct = self.distinct.filter(|&distinct| distinct >= 2)?;
        let (whole, lowest) = match column {
            Column::Numbers(cells) => (are_whole(cells), cells.iter().reduce(f64::min)),
            _ => (true, None),
        };
        let few = whole && distinct <= MOST_CLASSES;
        let is_either = few && lowest.is_some() && distinct > 2;
        let measures = is_either && !lowest.is_some_and(|lowest| FIRST_CODES.contains(&lowest));
        let task = match column {
            _ if few && !measures => Task::Classification,
            Column::Numbers(_) if self.identifies(rows, column).is_none() => Task::Regression,
            _ => return None,
        };
        let classes = (task == Task::Classification).then_some(distinct);
        Some(LabelCandidate { column: self.name.clone(), task, classes, is_either })
    }
}

/// The proposal of a column that may identify the person of a row.
const MAY_SAY_WHOSE: &str = "may say whose record a row is";

/// The guarantee without such a column.
const WITHOUT_UNIT: &str = "Without it the guarantee is for single rows: for somebody with k rows, \
                            ε is k times as large";

/// The proposal of columns whose values seem to identify the person of a row.
fn proposed(table: &Table, found: &Identifier) -> DataProblem {
    let quoted = |at: &usize| format!("'{}'", table.names[*at]);
    let names: Vec<_> =
        found.columns.iter().map(|at| format!("\"{}\"", table.names[*at])).collect();
    let column = found.columns.first().map(|at| table.names[*at].clone());
    let (column, who, unit) = if let [name] = names.as_slice() {
        (column, MAY_SAY_WHOSE.to_owned(), name.clone())
    } else {
        let both: Vec<_> = found.columns.iter().map(quoted).collect();
        let who = format!("{} together {MAY_SAY_WHOSE}", both.join(" and "));
        (None, who, format!("[{}]", names.join(", ")))
    };
    let witnesses: Vec<_> = found.witnesses.iter().take(WITNESSES).map(quoted).collect();
    let same = match witnesses.as_slice() {
        [] => String::new(),
        [one] => format!("; where one comes again, {one} is the same"),
        several => format!("; where one comes again, {} are the same", several.join(", ")),
    };
    let what = format!(
        "{who} ({} values in {} rows{same}): `unit: {unit}` protects all rows of one person \
         together. {WITHOUT_UNIT}",
        found.persons, found.rows
    );
    DataProblem { unit: Some(column.clone().unwrap_or(unit)), ..DataProblem::new(column, what) }
}

/// An array of features often has the classes in its last or first column: whole numbers beside
/// others that are not whole.
fn candidate_in_vectors(name: &str, vectors: &Vectors) -> Option<LabelCandidate> {
    let (rows, width) = (vectors.len(), vectors.width());
    let seen = rows.min(EXAMPLE_ROWS);
    let whole = |row: usize, at: usize| vectors.value(row, at).fract() == 0.0;
    if (0..seen).all(|row| (0..width).all(|at| whole(row, at))) {
        return None;
    }
    let classes = |at: usize| {
        let mut classes = BTreeSet::new();
        for row in 0..rows {
            classes.insert(vectors.value(row, at) as i64);
            if !whole(row, at) || classes.len() > MOST_CLASSES {
                return None;
            }
        }
        (classes.len() >= 2).then_some(classes.len())
    };
    [width - 1, 0].into_iter().find_map(|at| {
        let (column, task) = (format!("{name}[{at}]"), Task::Classification);
        let candidate =
            |classes| LabelCandidate { column, task, classes: Some(classes), is_either: false };
        classes(at).map(candidate)
    })
}

fn summary(column: &Column, values: &[(Cell<'_>, usize)]) -> String {
    if let (Column::Numbers(_), [(low, _), .., (high, _)]) = (column, values) {
        return format!("{low} to {high}");
    }
    let mut common: Vec<_> = values.iter().collect();
    common.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<_> =
        common.iter().take(EXAMPLES).map(|(value, count)| format!("{value} ({count})")).collect();
    let more = if common.len() > EXAMPLES { ", …" } else { "" };
    shown.join(", ") + more
}

/// Columns of a definition that carry a remark, such as `[°C] at noon`.
pub fn remarks_on_columns(definition: &DatasetDefinition) -> BTreeMap<&str, String> {
    let columns = definition.units.keys().chain(definition.notes.keys());
    let remark = |column| {
        let unit = definition.units.get(column).map(|unit| format!("[{unit}]"));
        let parts: Vec<_> = unit.into_iter().chain(definition.notes.get(column).cloned()).collect();
        parts.join(" ")
    };
    columns.map(|column| (column.as_str(), remark(column))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Missing;
    use crate::definition::{Columns, Guessed, Role, Source};
    use crate::read::csv;
    use crate::vectors::Values;

    const SHOPS: &str = "id,name,size,closed,income,rate,code\n\
        1,anna,2,no,low,?,a1\n2,bert,2,no,high,?,7\n3,cleo,4,no,high,0.5,7\n3,cleo,4,no,high,0.5,7\n";

    fn inspect(show_values: bool) -> Inspection {
        let table = csv::read_bytes("shops.csv", SHOPS.as_bytes()).ok().unwrap();
        Inspection::of(&table, show_values)
    }

    #[test]
    fn the_schema_counts_gaps_and_values_and_shows_none_unasked() {
        let found = inspect(false);
        assert_eq!((found.rows, found.duplicated_rows), (4, 1));
        let facts: Vec<_> = found
            .columns
            .iter()
            .map(|column| (column.kind.as_str(), column.missing, column.distinct.unwrap()))
            .collect();
        let expected = [
            ("numbers", 0, 3),
            ("text", 0, 3),
            ("numbers", 0, 2),
            ("text", 0, 1),
            ("text", 0, 2),
            ("numbers", 2, 1),
            ("text", 0, 2),
        ];
        assert_eq!(facts, expected);
        let json = serde_json::to_string(&found).unwrap();
        for value in ["anna", "high", "0.5"] {
            assert!(!json.contains(value), "{value} in {json}");
        }
        let shown = inspect(true);
        assert_eq!(shown.columns[2].values.as_deref(), Some("2 to 4"));
        assert_eq!(shown.columns[4].values.as_deref(), Some("high (3), low (1)"));
    }

    #[test]
    fn problems_are_named_and_left_out_of_the_first_definition() {
        let found = inspect(false);
        let problems: Vec<_> = found
            .problems
            .iter()
            .map(|problem| (problem.column.as_deref().unwrap_or(""), problem.what.as_str()))
            .collect();
        assert!(problems[0].1.contains("`unit: \"id\"`"), "{problems:?}");
        assert_eq!(problems[1], ("closed", "constant"));
        let text = "numbers with text among them (2 different values); the first in shops.csv:2";
        assert_eq!(problems[2], ("code", text));
        assert!(problems[3].1.starts_with("1 row is a copy"), "{problems:?}");
        let definition = found.definition("shops", Source::File("shops.csv".into()));
        let left_out = ["closed", "code"].map(str::to_owned).to_vec();
        assert_eq!(definition.columns, Columns::Except(left_out));
        assert_eq!(
            (definition.label.as_deref(), definition.task),
            (Some("income"), Task::Classification)
        );
        assert_eq!((definition.role, definition.missing), (Role::Private, Missing::PublicMean));
    }

    #[test]
    fn a_definition_says_what_was_guessed_in_it_and_why() {
        let said = |all: &[&Inspection], private| {
            let source = Source::File("shops.csv".into());
            Inspection::definition_of_all(all, private, "shops", source).guessed
        };
        let found = inspect(false);
        let public = said(&[&found], None);
        let label = "label 'income' (classification): labels often have this name";
        assert_eq!(public[&Guessed::Label], label);
        let columns = "left out: 'closed' (constant); 'code' (numbers with text among them)";
        assert_eq!(public[&Guessed::Columns], columns);
        assert!(public[&Guessed::Missing].starts_with("values read as missing in 'rate':"));
        // One private record can make a gap, so its column is not named.
        let private = &said(&[&found], Some(&found))[&Guessed::Missing];
        assert!(private.starts_with("values read as missing:"), "{private}");
    }

    #[test]
    fn none_is_a_category_and_the_texts_of_gaps_are_named() {
        let text = "illness,size,y\nNONE,1,0\nflu,none,1\nNone,2,0\nNA,4,1\n";
        let table = csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap();
        let found = Inspection::of(&table, false);
        let missing: Vec<_> = found.columns.iter().map(|column| column.missing).collect();
        assert_eq!(missing, [1, 1, 0]);
        let source = Source::File("t.csv".into());
        let guessed = Inspection::definition_of_all(&[&found], None, "t", source).guessed;
        let words = "values read as missing in 'illness', 'size' ('na'): the mean of the public \
                     records fills them in; read as a category, not as missing: 'NONE' in 'illness'; \
                     'None' in 'illness'; a filter such as illness != \"NONE\" leaves those rows out";
        assert_eq!(guessed[&Guessed::Missing], words);
        // One private record can have such a text, so a private table says nothing of it.
        let source = Source::File("t.csv".into());
        let private = Inspection::definition_of_all(&[&found], Some(&found), "t", source).guessed;
        assert!(!private[&Guessed::Missing].contains("category"), "{private:?}");
    }

    #[test]
    fn columns_that_count_the_rows_are_identifiers_and_many_numbers_a_regression() {
        let rows = (0..50).map(|i| format!("{i},{}\n", f64::from(i) * 0.5)).collect::<Vec<_>>();
        let table = csv::read_bytes("t.csv", format!("n,v\n{}", rows.concat()).as_bytes());
        let found = Inspection::of(&table.ok().unwrap(), false);
        assert_eq!(found.problems[0].column.as_deref(), Some("n"));
        let [label] = &found.label_candidates[..] else { panic!("{:?}", found.label_candidates) };
        assert_eq!((label.column.as_str(), label.task), ("v", Task::Regression));
    }

    #[test]
    fn a_column_of_training_and_test_rows_is_no_feature_and_no_label() {
        let guess = |values: &[&str], is_private: bool| {
            let row = |i| format!("{},{}.5\n", values[i % values.len()], i * 7 % 13);
            let rows = (0..40).map(row).collect::<Vec<_>>().concat();
            let table = csv::read_bytes("t.csv", format!("part,y\n{rows}").as_bytes()).unwrap();
            let found = Inspection::of(&table, false);
            let source = Source::File("t.csv".into());
            let private = is_private.then_some(&found);
            let made = Inspection::definition_of_all(&[&found], private, "t", source);
            (made.uses("part"), made.label.unwrap())
        };
        assert_eq!(guess(&["train", "test"], false), (false, "y".to_owned()));
        assert_eq!(guess(&["Train", "Test", "validation"], false), (false, "y".to_owned()));
        assert!(guess(&["train", "bus"], false).0, "a means of transport");
        let private = |values: &[&str]| guess(values, true);
        assert_eq!(
            private(&["train", "test"]),
            private(&["train", "bus"]),
            "one cell decides nothing"
        );
        assert!(private(&["train", "test"]).0);
    }

    #[test]
    fn different_whole_numbers_that_fill_their_range_are_identifiers_in_any_order() {
        let left_out = |number: &dyn Fn(u64) -> u64| {
            let row = |i: u64| format!("{},{}.5\n", number(i), i % 97);
            let rows: String = (0..500).map(row).collect();
            let table = csv::read_bytes("t.csv", format!("counter,y\n{rows}").as_bytes());
            Inspection::of(&table.ok().unwrap(), false).problems.len() == 1
        };
        // 503 and 9973 are primes, so that no number comes twice.
        assert!(left_out(&|i| 40_000 + i * 131 % 503));
        assert!(left_out(&|i| i * 2741 % 9973));
        // From so wide a range even measurements may all differ, and where two are equal they do
        // not name the rows.
        assert!(!left_out(&|i| i * 61_001 % 1_000_003));
        assert!(!left_out(&|i| i * 131 % 499));
    }

    #[test]
    fn long_whole_numbers_and_those_under_the_name_of_an_identifier_are_no_features() {
        let row = |i: u64| {
            let long = 60_000_000_000_000_000 + 7919 * i;
            format!("{},{},{long},{},{}\n", i * i % 97, i * i + 5, i * i + 5, i % 2)
        };
        let rows: String = (0..40).map(row).collect();
        let text = format!("amount,patient_id,booking,price,y\n{rows}");
        let table = csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap();
        let found = Inspection::of(&table, false);
        let left_out: Vec<_> =
            found.problems.iter().filter_map(|problem| problem.column.as_deref()).collect();
        assert_eq!(left_out, ["patient_id", "booking"]);
        let labels = found.label_candidates.iter().map(|label| &*label.column);
        assert_eq!(labels.collect::<Vec<_>>(), ["y", "price", "amount"]);
    }

    #[test]
    fn numbered_measurements_at_the_end_are_no_label_unless_all_columns_are_numbered() {
        let first = |head: &str| {
            let columns = head.split(',').count();
            let row = |i: usize| (0..columns).map(move |at| (i * i + at * i).to_string());
            let rows = (0..40).map(|i| row(i).collect::<Vec<_>>().join(",") + "\n");
            let text = format!("{head}\n{}", rows.collect::<String>());
            let table = csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap();
            Inspection::of(&table, false).label_candidates[0].column.clone()
        };
        assert_eq!(first("ppm,f1,f2,f3,f4,f5"), "ppm");
        assert_eq!(first("V1,V2,V3,V4,V5,V6"), "V6");
        assert_eq!(first("age,visit1,visit2"), "visit2");
    }

    #[test]
    fn clock_times_and_weights_among_the_features_are_told_by_public_cells_and_names_alone() {
        let said = |columns: &[(&str, &dyn Fn(u32) -> String)], private: bool| {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            let row = |at| columns.iter().map(|(_, cell)| cell(at)).collect::<Vec<_>>().join(",");
            let rows: Vec<String> = (0..300).map(row).collect();
            let text = format!("{}\n{}\n", names.join(","), rows.join("\n"));
            let table = csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap();
            let found = Inspection::of(&table, false);
            let source = Source::File("t.csv".into());
            let private = private.then_some(&found);
            let all = Inspection::definition_of_all(&[&found], private, "t", source).guessed;
            all.get(&Guessed::Columns).cloned().unwrap_or_default()
        };
        let time = |at: u32| (100 * (at * 7 % 24) + at * 13 % 60).to_string();
        let label = |at: u32| format!("{}.5", at * at);
        let clock = said(&[("leaves", &time), ("y", &label)], false);
        assert!(clock.starts_with("'leaves' looks like clock times"), "{clock}");
        assert_eq!(said(&[("leaves", &time), ("y", &label)], true), "");
        let once = |at: u32| if at == 7 { "2399".to_owned() } else { time(at) };
        assert!(said(&[("leaves", &once), ("y", &label)], false).contains("clock"));
        // Numbers with other last digits, of one hour, of whole hours, and years are no times.
        for other in [
            &|at: u32| (at * 7).to_string() as String,
            &|at: u32| (at * 13 % 60).to_string(),
            &|at: u32| (100 * (at * 7 % 24)).to_string(),
            &|at: u32| (1990 + at % 30).to_string(),
        ] as [&dyn Fn(u32) -> String; 4]
        {
            assert!(!said(&[("x", other), ("y", &label)], false).contains("clock"));
        }
        let wide = |at: u32| (12_000 + 5_000 * (at * 31 % 290)).to_string();
        let body = |at: u32| (40 + at % 90).to_string();
        for (name, cell, by_public, by_name) in [
            ("fnlwgt", &wide as &dyn Fn(u32) -> String, true, true),
            ("sampling_weight", &body, true, true),
            ("weight", &wide, true, false),
            ("weight", &body, false, false),
            ("birth_weight", &wide, false, false),
        ] {
            let told = |private| said(&[(name, cell), ("y", &label)], private).contains("survey's");
            assert_eq!([told(false), told(true)], [by_public, by_name], "{name}");
        }
        // The label is no feature.
        assert_eq!(said(&[("x", &label), ("fnlwgt", &label)], false), "");
    }

    #[test]
    fn few_whole_numbers_are_classes_if_they_count_from_0_or_1_and_the_other_reading_is_told() {
        let label = |values: [i32; 3]| {
            let rows = (0..30).map(|i| format!("{}.5,{}\n", i * i, values[i % 3]));
            let text = format!("x,quality\n{}", rows.collect::<String>());
            let table = csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap();
            Inspection::of(&table, false).label_candidates[0].clone()
        };
        let codes = label([1, 2, 3]);
        assert_eq!((codes.task, codes.classes), (Task::Classification, Some(3)));
        assert!(codes.words().contains("regression if its numbers measure"), "{}", codes.words());
        let grades = label([3, 5, 9]);
        assert_eq!((grades.task, grades.classes), (Task::Regression, None));
        assert!(grades.words().contains("classification if its numbers are codes"));
        let two = label([5, 7, 5]);
        assert_eq!(two.words(), "classification with 2 classes");
    }

    #[test]
    fn numbers_with_commas_are_no_categories() {
        let table = csv::read_bytes("t.csv", b"a;b;c\n1,5;1,000;x,y\n;2;3\n3,25;7,5;4\n");
        let found = Inspection::of(&table.ok().unwrap(), false);
        let about = |column: &str| {
            let mut problems = found.problems.iter();
            problems.find(|it| it.column.as_deref() == Some(column)).unwrap().what.clone()
        };
        assert!(about("a").contains("1.5 for 1,5") && about("b").contains("1.5 for 1,5"));
        assert!(about("c").starts_with("numbers with text among them"));
    }

    #[test]
    fn whole_numbers_at_the_end_of_vectors_may_be_classes_but_those_of_images_are_not() {
        let candidates = |values: &[f64]| {
            let column = Column::Vectors(Vectors::new(3, Values::F64(values.to_vec())).unwrap());
            let table = Table::of_rows("t.npy", vec!["x".into()], vec![column]).unwrap();
            Inspection::of(&table, false).label_candidates
        };
        let found = candidates(&[0.5, 1.0, 1.0, 0.25, 1.0, 0.0, 2.0, 3.5, 1.0]);
        assert_eq!(found[0].column, "x[2]");
        assert_eq!((found[0].task, found[0].classes), (Task::Classification, Some(2)));
        assert_eq!(candidates(&[1.0, 0.5, 2.0, 0.0, 0.25, 2.0])[0].column, "x[0]");
        assert!(candidates(&[5.0, 1.0, 1.0, 2.0, 1.0, 0.0]).is_empty());
        assert!(candidates(&[0.5, 1.0, 1.5, 0.25, 1.0, 0.5]).is_empty());
    }

    #[test]
    fn units_and_notes_stand_together() {
        let mut definition = DatasetDefinition::new("d", Role::Public, Source::File("d".into()));
        definition.units.insert("temp".into(), "°C".into());
        definition.notes.insert("temp".into(), "at noon".into());
        definition.notes.insert("hum".into(), "relative".into());
        let remarks = remarks_on_columns(&definition);
        assert_eq!(
            (remarks["temp"].as_str(), remarks["hum"].as_str()),
            ("[°C] at noon", "relative")
        );
    }
}
