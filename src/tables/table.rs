//! Rows of named columns, as in their file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, finite};
use super::fingerprint::{self, Fingerprint, InOrder};
use super::lines::RowLines;
use super::names;
use super::person_rows::Persons;
use crate::error::{Error, Result};
use crate::files::scratch::Scratch;

/// Rows whose cells are compared with the name of their column.
const COMPARED: usize = 100_000;
/// A name that stands in as many cells of its column is probably a value. One cell alone, such as a
/// header line that was repeated, decides nothing.
const OFTEN: usize = 2;

/// The meaning of the numbers in `Table::lines`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineNumbering {
    /// Lines of a text file, from 1.
    #[default]
    Lines,
    /// Rows of a file without lines, from 1.
    Rows,
}

/// One of the files that were put together.
#[derive(Debug, Clone, PartialEq)]
struct FileOfRows {
    origin: String,
    counted: LineNumbering,
    content: Fingerprint,
}

/// The end of a private text file, only for the curator: a truncated file reads like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FileEnding {
    /// The file ends where its format says.
    #[default]
    Whole,
    /// There is no line end after its last line.
    Line,
    /// The last row of the file is unreadable.
    Row,
}

/// The position of each name, computed on demand: searching a hundred thousand names for each of
/// them takes minutes. Two tables are equal whether or not this was computed.
#[derive(Clone, Default)]
struct Places(OnceLock<HashMap<String, usize>>);

impl Places {
    fn of(&self, name: &str, names: &[String]) -> Option<usize> {
        let noted = self.0.get_or_init(|| {
            names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect()
        });
        // Names that were changed since are noticed here.
        let noted =
            noted.get(name).copied().filter(|place| names.get(*place).is_some_and(|it| it == name));
        noted.or_else(|| names.iter().position(|known| known == name))
    }
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A random part of the rows, after filtering. Of private rows nobody outside can know which they
/// are ([`super::secret_order`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The number of kept rows.
    pub rows: usize,
    /// The seed of the generator that chooses them.
    #[serde(default)]
    pub seed: u64,
}

/// The line of a row that is in no file: [`Table::of_size`] added it.
const FILLED_UP: u64 = 0;

/// A file's rows after reading (and perhaps filtering). No `Debug`, so that
/// private cells cannot end up in a log by accident.
#[derive(Clone, PartialEq, Default)]
pub struct Table {
    /// Origin of the table, for messages: a path or `builtin:NAME`.
    pub origin: String,
    /// The names of its columns.
    pub names: Vec<String>,
    places: Places,
    /// All of the same length.
    pub columns: Vec<Column>,
    /// Line of the file that each row starts on, or its number in a file
    /// without lines.
    pub lines: RowLines,
    /// The fingerprint of the whole file, before any filter.
    pub content: Fingerprint,
    /// The fingerprint of the rows in this table.
    pub view: Fingerprint,
    /// A number that changes when these rows change places, see [`InOrder::order`].
    pub order: u128,
    /// Remarks of its reader for the user; nothing about single cells.
    pub remarks: Vec<String>,
    /// Whether the file was complete.
    pub ending: FileEnding,
    /// The number of rows of a private text file without usable cells, and the line of the first.
    /// Only for the curator; in a public file such a row is an error.
    pub unusable: Option<(usize, u64)>,
    counted: LineNumbering,
    /// The files that were joined, if there are several.
    files: Vec<FileOfRows>,
    /// For every row its index in `files`; empty if there is only one.
    file_of_row: Vec<u32>,
    /// The persons of the rows, where persons are protected.
    pub persons: Option<Persons>,
}

impl Table {
    /// A whole file without lines, such as an array or a Parquet file.
    pub fn of_rows(
        origin: impl Into<String>,
        names: Vec<String>,
        columns: Vec<Column>,
    ) -> Result<Self> {
        let rows = columns.first().map_or(0, Column::len);
        let table = Self::new(origin, names, columns, RowLines::in_turn(1, rows))?;
        Ok(Self { counted: LineNumbering::Rows, ..table })
    }

    /// A whole text file. `lines` gives the start of each row.
    pub fn new(
        origin: impl Into<String>,
        names: Vec<String>,
        columns: Vec<Column>,
        lines: RowLines,
    ) -> Result<Self> {
        Self::with_content(origin, names, columns, lines, None)
    }

    /// A whole text file, from a reader that may have made the fingerprint while it read.
    pub(super) fn with_content(
        origin: impl Into<String>,
        names: Vec<String>,
        columns: Vec<Column>,
        lines: RowLines,
        content: Option<InOrder>,
    ) -> Result<Self> {
        let origin = origin.into();
        check(&origin, &names, &columns, &lines)?;
        let content = content.unwrap_or_else(|| InOrder::of(&names, &columns));
        let InOrder { rows: content, order } = content;
        let view = content;
        Ok(Self { origin, names, columns, lines, content, view, order, ..Self::default() })
    }

    /// Where its numbers are, if some are on the disk.
    pub fn space(&self) -> Option<&Scratch> {
        self.columns.iter().find_map(|column| column.space().map(Arc::as_ref))
    }

    /// The number of its rows.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// Whether the table has a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.index(name).is_some()
    }

    /// The column of this name; an error that names the nearest ones.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.index(name).map(|index| &self.columns[index]).ok_or_else(|| {
            Error::failed(format!("there is no column '{name}'"))
                .at(self.origin.clone())
                .cure(names::hint("columns", name, &self.names))
        })
    }

    /// Whether the names of its columns may be the first record of a file without a header.
    pub fn names_seem_a_record(&self) -> bool {
        names::seem_a_record(&self.names) || self.column_named_like_its_values().is_some()
    }

    /// The first column whose name stands in several of its own cells, among the first rows.
    pub(super) fn column_named_like_its_values(&self) -> Option<usize> {
        // Columns that some program only counted are named like many numbers.
        let numbered = names::seem_a_record(&self.names);
        let mut columns = self.names.iter().zip(&self.columns);
        columns.position(|(name, column)| {
            let number = finite(name).filter(|_| numbered);
            if number.is_none() && !matches!(column, Column::Text(_)) {
                return false;
            }
            let is_name = |cell: &Cell| match cell {
                Cell::Text(text) => text == name,
                Cell::Number(cell) => Some(*cell) == number,
                Cell::Vector(_) => false,
            };
            column.cells().take(COMPARED).filter(is_name).nth(OFTEN - 1).is_some()
        })
    }

    /// The table with numbers for the names of its columns.
    #[must_use]
    pub fn with_numbered_columns(&self) -> Self {
        let names = (1..=self.names.len()).map(|at| format!("column {at}")).collect();
        Self { names, places: Places::default(), ..self.clone() }
    }

    /// The table with other names for its columns. Its rows are the same, and so is the fingerprint
    /// of its file.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(Error::usage(format!("two columns are called '{twice}'"))
                .at(self.origin)
                .cure("give each column a name of its own"));
        }
        Ok(Self { names, places: Places::default(), ..self })
    }

    /// The table's own copy of a name.
    pub fn known(&self, name: &str) -> Option<&str> {
        self.index(name).map(|index| self.names[index].as_str())
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.places.of(name, &self.names)
    }

    /// `file:line` or `file, row …` of a row, for messages.
    pub fn place(&self, row: usize) -> String {
        let (file, counted) = match self.file_of_row.get(row) {
            Some(&file) => {
                let file = &self.files[file as usize];
                (&file.origin, file.counted)
            }
            None => (&self.origin, self.counted),
        };
        match counted {
            LineNumbering::Lines => format!("{file}:{}", self.lines.at(row)),
            LineNumbering::Rows => format!("{file}, row {}", self.lines.at(row)),
        }
    }

    /// These rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let table = self.excerpt(rows)?;
        let InOrder { rows: view, order } = InOrder::of(&table.names, &table.columns);
        Ok(Self { view, order, ..table })
    }

    /// These rows, in this order, for temporary use: without a fingerprint of their own, which
    /// takes longer than all the rest.
    pub fn excerpt(&self, rows: &[usize]) -> Result<Self> {
        let columns = self.columns.iter().map(|column| column.select(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(self.with_rows(columns, rows))
    }

    /// The table with these of its rows, whose columns are given.
    fn with_rows(&self, columns: Vec<Column>, rows: &[usize]) -> Self {
        let file = |row: &usize| self.file_of_row.get(*row).copied().unwrap_or_default();
        let files = rows.iter().filter(|_| !self.file_of_row.is_empty());
        Self {
            origin: self.origin.clone(),
            view: self.view,
            order: self.order,
            names: self.names.clone(),
            columns,
            lines: rows.iter().map(|&row| self.lines.get(row).unwrap_or(FILLED_UP)).collect(),
            content: self.content,
            remarks: self.remarks.clone(),
            ending: self.ending,
            unusable: self.unusable,
            counted: self.counted,
            files: self.files.clone(),
            file_of_row: files.map(file).collect(),
            ..Self::default()
        }
    }

    /// Assigns the rows to these persons.
    pub fn of_persons(self, persons: Persons) -> Self {
        Self { persons: Some(persons), ..self }
    }

    /// The number of protected persons, or otherwise rows.
    pub fn protected(&self) -> usize {
        self.persons.as_ref().map_or(self.rows(), Persons::count)
    }

    /// The index of every row, or of one row of each person.
    pub fn one_of_each(&self) -> Vec<usize> {
        match &self.persons {
            Some(persons) => persons.one_of_each(0..persons.count()),
            None => (0..self.rows()).collect(),
        }
    }

    /// Exactly this many rows, in a random order: filled up with rows without values, or cut at
    /// random. So a table with one more row differs from this one, in distribution, by one row: it
    /// replaces an empty one, or, where rows are cut, another one.
    pub fn of_size(&self, rows: usize, mut generator: ChaCha20Rng) -> Result<Self> {
        let mut order = shuffled(self.rows().max(rows), &mut generator);
        order.truncate(rows);
        let columns = self.columns.iter().map(|column| column.select_or_missing(&order));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(self.with_rows(columns, &order))
    }

    /// Like [`Self::concat`], but only for these columns, which each table has.
    pub fn concat_columns(tables: &[&Self], names: &[String]) -> Result<Self> {
        let Some((&first, others)) = tables.split_first() else {
            return Err(Error::usage("there is no table to put together"));
        };
        if others.is_empty() {
            return Ok(first.clone());
        }
        let columns = names.iter().map(|name| {
            let parts =
                tables.iter().map(|table| table.column(name)).collect::<Result<Vec<_>>>()?;
            Column::concat(&parts)?.ok_or_else(|| first.unlike(tables, name))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;

        let mut files = Vec::new();
        let mut file_of_row = Vec::new();
        for table in tables {
            let start = files.len() as u32;
            if table.files.is_empty() {
                files.push(table.as_file());
                file_of_row.extend(std::iter::repeat_n(start, table.rows()));
            } else {
                files.extend_from_slice(&table.files);
                file_of_row.extend(table.file_of_row.iter().map(|file| start + file));
            }
        }
        let contents = tables.iter().map(|table| table.content);
        let InOrder { rows: view, order } = InOrder::of(names, &columns);
        let lines = tables.iter().flat_map(|table| table.lines.iter()).collect();
        Ok(Self {
            origin: tables.iter().map(|t| t.origin.as_str()).collect::<Vec<_>>().join(" + "),
            names: names.to_vec(),
            view,
            order,
            columns,
            lines,
            content: contents.fold(Fingerprint::EMPTY, Fingerprint::plus),
            remarks: tables.iter().flat_map(|table| &table.remarks).cloned().collect(),
            ending: tables.iter().map(|table| table.ending).max().unwrap_or_default(),
            unusable: tables
                .iter()
                .filter_map(|table| table.unusable)
                .reduce(|(count, line), (more, _)| (count + more, line)),
            counted: first.counted,
            files,
            file_of_row,
            ..Self::default()
        })
    }

    /// For every row the number of the table that it comes from, where this table holds rows of
    /// the concatenation of these.
    pub fn owners(&self, tables: &[&Self]) -> Vec<u32> {
        let mut owner_of_file = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            owner_of_file.extend(vec![number as u32; table.files.len().max(1)]);
        }
        let owner = |file: &u32| owner_of_file.get(*file as usize).copied().unwrap_or(0);
        if tables.len() < 2 { Vec::new() } else { self.file_of_row.iter().map(owner).collect() }
    }

    fn as_file(&self) -> FileOfRows {
        let (origin, counted) = (self.origin.clone(), self.counted);
        FileOfRows { origin, counted, content: self.content }
    }

    /// For every row the content of its file and its line there. Two tables agree in this if both
    /// hold the same record of the same file, for any name of the file and any way to make the
    /// tables.
    pub fn provenance(&self) -> impl Iterator<Item = (Fingerprint, u64)> + '_ {
        self.provenance_of(0..self.rows())
    }

    /// For each of these rows the content of its file and its line there.
    pub fn provenance_of(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (Fingerprint, u64)> + '_ {
        rows.map(|row| {
            let file = self.file_of_row.get(row).map(|&file| &self.files[file as usize]);
            (file.map_or(self.content, |file| file.content), self.lines.at(row))
        })
    }

    /// Whether both hold the same record of the same file.
    pub fn shares_a_record(&self, other: &Self) -> bool {
        let files = |table: &Self| -> HashSet<Fingerprint> {
            if table.file_of_row.is_empty() {
                return HashSet::from([table.content]);
            }
            table.files.iter().map(|file| file.content).collect()
        };
        // Most tables have no file in common. Then their records, which may be many, are not listed.
        let shared = &files(self) & &files(other);
        if shared.is_empty() {
            return false;
        }
        let (few, many) = if self.rows() < other.rows() { (self, other) } else { (other, self) };
        let known = few.provenance().filter(|(file, _)| shared.contains(file));
        let known: HashSet<_> = known.collect();
        many.provenance().any(|record| known.contains(&record))
    }

    /// The error for a column that has vectors here and something else in one of `tables`.
    fn unlike(&self, tables: &[&Self], name: &str) -> Error {
        let kind = |table: &Self| table.column(name).map(Column::kind).unwrap_or_default();
        let here = kind(self);
        let other = tables.iter().find(|other| kind(other) != here).unwrap_or(&self);
        Error::failed(format!(
            "column '{name}' holds {}, but {here} in {}",
            kind(other),
            self.origin
        ))
        .at(other.origin.clone())
        .cure("vectors go together with vectors of the same length: use one of the files alone")
    }

    /// How many of `rows` rows a share `holdout` holds out. It depends on numbers alone.
    pub fn holdout_rows(rows: usize, holdout: f64) -> usize {
        if holdout == 0.0 {
            return 0;
        }
        ((rows as f64 * holdout).round() as usize).clamp(1, rows.saturating_sub(1).max(1))
    }

    /// Splits the rows at random into those to train on and a share `holdout` of
    /// them to test on; both keep the order of the file. The same generator gives the
    /// same split for ever. The two have no fingerprints of their own.
    pub fn split(&self, holdout: f64, generator: ChaCha20Rng) -> Result<(Self, Self)> {
        let split = Self::shuffled_split(self.rows(), holdout, generator);
        let (train, test) = split.map_err(|error| error.at(self.origin.clone()))?;
        Ok((self.excerpt(&train)?, self.excerpt(&test)?))
    }

    /// The indices of the rows in the two tables of [`Self::split`], for a table with this many
    /// rows. Public splits stay as earlier versions drew them.
    pub fn shuffled_split(
        rows: usize,
        holdout: f64,
        mut generator: ChaCha20Rng,
    ) -> Result<(Vec<usize>, Vec<usize>)> {
        let count = Self::checked_holdout(rows, holdout)?;
        // Marked, because many rows take long to sort, and much memory in two copies.
        let mut held = vec![false; rows];
        for row in &shuffled(rows, &mut generator)[..count] {
            held[*row] = true;
        }
        Ok(sides(held.into_iter(), count))
    }

    /// A random split of the rows into those to train on and those to test on, in one pass and
    /// without a shuffled copy of their numbers.
    pub fn split_rows(
        rows: usize,
        holdout: f64,
        mut generator: ChaCha20Rng,
    ) -> Result<(Vec<usize>, Vec<usize>)> {
        let count = Self::checked_holdout(rows, holdout)?;
        let mut open = count as u64;
        let held = (0..rows).map(|row| {
            let is_held = open > 0 && below((rows - row) as u64, &mut generator) < open;
            open -= u64::from(is_held);
            is_held
        });
        Ok(sides(held, count))
    }

    fn checked_holdout(rows: usize, holdout: f64) -> Result<usize> {
        if !(0.0..1.0).contains(&holdout) {
            return Err(Error::usage(format!("a share of {holdout} cannot be held out"))
                .cure("give a share below 1, such as 0.2, or 0 for none"));
        }
        if rows < 2 && holdout > 0.0 {
            return Err(Error::failed("one row cannot be split in two"));
        }
        Ok(Self::holdout_rows(rows, holdout))
    }

    /// A random choice of `count` of these rows, in their order. With the same generator, a larger
    /// choice contains a smaller one.
    pub fn some_of(rows: &[usize], count: usize, mut generator: ChaCha20Rng) -> Vec<usize> {
        let mut order = shuffled(rows.len(), &mut generator);
        order.truncate(count);
        order.sort_unstable();
        order.into_iter().map(|place| rows[place]).collect()
    }

    /// Renames columns. The fingerprints of the records stay: renaming columns does not change
    /// whose record it is.
    pub fn renamed(mut self, names: &BTreeMap<String, String>) -> Result<Self> {
        for (old, new) in names {
            self.column(old)?;
            if self.has(new) {
                return Err(Error::usage(format!("column '{old}' cannot be renamed '{new}'"))
                    .at(self.origin)
                    .cure("choose a name that no column has"));
            }
            for name in self.names.iter_mut().filter(|name| *name == old) {
                new.clone_into(name);
            }
        }
        self.places = Places::default();
        Ok(self)
    }

    /// A random choice of rows in the order of the file or, where persons are protected, of persons
    /// with all their rows. It depends on their number and the generator, not on their contents.
    pub fn sample(&self, count: usize, generator: ChaCha20Rng) -> Result<Self> {
        let (all, what) =
            (self.protected(), if self.persons.is_some() { "persons" } else { "rows" });
        if count == 0 || count > all {
            let broken = format!("a sample of {count} {what} is to be taken of {all}");
            return Err(Error::usage(broken)
                .at(self.origin.clone())
                .cure(format!("sample 1 to {all} {what}, or leave `sample` out")));
        }
        let chosen = Self::some_of(&(0..all).collect::<Vec<_>>(), count, generator);
        let Some(persons) = &self.persons else { return self.select(&chosen) };
        let (rows, persons) = persons.chosen(&chosen);
        Ok(self.select(&rows)?.of_persons(persons))
    }

    /// The number of rows that are exact copies of an earlier one. Copies of one person's record
    /// multiply that person's risk.
    pub fn duplicated_rows(&self) -> usize {
        let digests = fingerprint::row_digests(&self.names, &self.columns);
        let own = digests.zip(self.lines.iter()).filter(|(_, line)| *line != FILLED_UP);
        let distinct: HashSet<_> = own.map(|(digest, _)| digest).collect();
        self.rows() - self.filled_up() - distinct.len()
    }

    /// Rows that are in no file: [`Self::of_size`] added them to hide the number of rows.
    pub fn filled_up(&self) -> usize {
        self.lines.iter().filter(|line| *line == FILLED_UP).count()
    }

    /// The distinct values of a column in order, with how often each occurs.
    pub fn values(&self, name: &str) -> Result<Vec<(Cell<'_>, usize)>> {
        self.column(name).map(Column::values)
    }
}

/// The rows that train, and those that are held out: `count` of them.
fn sides(held: impl ExactSizeIterator<Item = bool>, count: usize) -> (Vec<usize>, Vec<usize>) {
    let mut train = Vec::with_capacity(held.len() - count);
    let mut test = Vec::with_capacity(count);
    for (row, held) in held.enumerate() {
        if held { &mut test } else { &mut train }.push(row);
    }
    (train, test)
}

/// Refuses input that cannot be a table.
fn check(origin: &str, names: &[String], columns: &[Column], lines: &RowLines) -> Result<()> {
    let broken = |what: String| Err(Error::failed(what).at(origin));
    if names.len() != columns.len() {
        return broken(format!("{} names for {} columns", names.len(), columns.len()));
    }
    let mut seen = HashSet::new();
    for (name, column) in names.iter().zip(columns) {
        if !seen.insert(name) {
            return broken(format!("two columns are called '{name}'"));
        }
        if column.len() != lines.len() {
            return broken(format!(
                "column '{name}' has {} cells for {} rows",
                column.len(),
                lines.len()
            ));
        }
        let infinite = match column {
            Column::Numbers(cells) => cells.first_infinite(),
            Column::Vectors(vectors) => vectors.first_infinite(),
            Column::Text(_) => None,
        };
        if let Some(row) = infinite {
            return Err(Error::failed("an infinite number")
                .at(format!("{origin}, row {}, column '{name}'", row + 1))
                .cure("replace infinite numbers before saving, or remove such rows"));
        }
    }
    Ok(())
}

/// The generator of a public seed.
pub fn seeded(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Fisher–Yates with our own bounded draw, because `rand` does not promise that
/// its own stays the same from version to version.
pub fn shuffled(length: usize, generator: &mut ChaCha20Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    for last in (1..length).rev() {
        order.swap(last, below(last as u64 + 1, generator) as usize);
    }
    order
}

/// Uniform on 0 … bound − 1, by rejection.
fn below(bound: u64, generator: &mut ChaCha20Rng) -> u64 {
    let usable = u64::MAX - u64::MAX % bound;
    loop {
        let draw = generator.next_u64();
        if draw < usable {
            return draw % bound;
        }
    }
}

#[cfg(test)]
mod tests;
