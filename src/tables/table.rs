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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vectors::{Values, Vectors};

    fn numbers(cells: &[f64]) -> Column {
        Column::Numbers(cells.to_vec().into())
    }

    fn text(cells: &[&str]) -> Column {
        Column::Text(cells.iter().collect())
    }

    fn table(origin: &str, columns: &[(&str, Column)]) -> Table {
        let (names, columns): (Vec<_>, Vec<_>) =
            columns.iter().map(|(name, column)| ((*name).to_owned(), column.clone())).unzip();
        let lines = (2..).take(columns[0].len()).collect();
        Table::new(origin, names, columns, lines).ok().unwrap()
    }

    fn error<T>(result: Result<T>) -> String {
        result.err().unwrap().to_string()
    }

    #[test]
    fn a_table_of_a_size_holds_every_row_once_or_as_many_as_there_is_room_for() {
        let bytes = Vectors::new(2, Values::U8(vec![1, 2, 3, 4, 5, 6])).unwrap();
        let columns = [
            ("number", numbers(&[1.0, 2.0, 3.0])),
            ("text", text(&["1", "2", "3"])),
            ("vector", Column::Vectors(bytes)),
        ];
        let table = table("a.csv", &columns);
        let rows = |size: usize, seed: u8| {
            let sized = table.of_size(size, ChaCha20Rng::from_seed([seed; 32])).unwrap();
            assert_eq!((sized.rows(), sized.view), (size, table.view));
            let Column::Vectors(vectors) = &sized.columns[2] else { panic!() };
            let row = |row: usize| {
                let (Column::Numbers(number), Column::Text(text)) =
                    (&sized.columns[0], &sized.columns[1])
                else {
                    panic!()
                };
                if number.get(row).is_nan() {
                    assert!(text.get(row).is_empty() && sized.lines.at(row) == 0);
                    assert!(vectors.row(row).numbers().all(f64::is_nan));
                    return 0;
                }
                let number = number.get(row) as usize;
                assert_eq!(
                    (text.get(row).as_ref(), sized.lines.at(row)),
                    (number.to_string().as_str(), number as u64 + 1)
                );
                assert_eq!(vectors.value(row, 1), 2.0 * number as f64);
                number
            };
            (0..size).map(row).collect::<Vec<_>>()
        };
        // Every order occurs, each about equally often.
        let mut orders: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for seed in 0..=255 {
            let mut filled = rows(4, seed);
            *orders.entry(filled.clone()).or_default() += 1;
            filled.sort_unstable();
            assert_eq!(filled, [0, 1, 2, 3]);
            let cut = rows(2, seed);
            assert!(cut[0] != cut[1] && !cut.contains(&0));
        }
        assert_eq!(orders.len(), 24);
        assert!(orders.values().all(|count| (1..=25).contains(count)), "{orders:?}");
        assert_eq!(rows(5, 1), rows(5, 1));
    }

    #[test]
    fn an_unknown_column_suggests_the_near_one() {
        let table = table("a.csv", &[("temp", numbers(&[1.0])), ("hum", numbers(&[1.0]))]);
        assert!(table.column("hum").is_ok());
        assert_eq!(
            error(table.column("tmep2")),
            "a.csv: there is no column 'tmep2'\n  what to do: the columns are: temp, hum"
        );
        assert!(error(table.column("tem")).contains("did you mean 'temp'?"));
    }

    #[test]
    fn some_rows_are_among_more_rows_of_the_same_seed() {
        let rows: Vec<usize> = (0..50).map(|row| 3 * row).collect();
        let some = |count, seed| Table::some_of(&rows, count, seeded(seed));
        let (few, more) = (some(7, 5), some(20, 5));
        assert_eq!((few.len(), more.len()), (7, 20));
        assert!(few.is_sorted() && few.iter().all(|row| more.contains(row)));
        assert!(more.iter().all(|row| rows.contains(row)));
        assert_ne!(few, some(7, 6));
        assert_eq!(some(60, 5), rows);
    }

    #[test]
    fn a_table_with_uneven_or_doubled_columns_is_refused() {
        let new = |names: &[&str], columns: Vec<Column>| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            error(Table::new("t", names, columns, vec![2, 3].into()))
        };
        assert!(new(&["a", "a"], vec![numbers(&[1.0, 2.0]); 2]).contains("two columns"));
        assert!(new(&["a"], vec![numbers(&[1.0])]).contains("1 cells for 2 rows"));
        assert!(new(&["a", "b"], vec![numbers(&[1.0, 2.0])]).contains("2 names"));
        assert!(new(&["a"], vec![numbers(&[1.0, f64::INFINITY])]).contains("row 2"));
    }

    #[test]
    fn a_selection_remembers_the_file_and_its_lines() {
        let whole =
            table("a.csv", &[("x", numbers(&[1.0, 2.0, 3.0])), ("t", text(&["a", "b", "c"]))]);
        let part = whole.select(&[2, 0]).unwrap();
        assert_eq!(part.rows(), 2);
        assert_eq!(part.place(0), "a.csv:4");
        assert!(part.columns[1] == text(&["c", "a"]));
        assert_eq!(part.content, whole.content);
        assert_ne!(part.view, whole.view);
        assert_eq!(part.view.rows, 2);
        assert_eq!(whole.select(&[2, 1, 0]).unwrap().view, whole.view);
    }

    #[test]
    fn tables_are_put_together_by_column_name() {
        let a = table("a.csv", &[("x", numbers(&[1.0])), ("k", numbers(&[0.5]))]);
        let b = table("b.csv", &[("k", text(&["?"])), ("x", numbers(&[2.0]))]);
        let both = Table::concat(&[&a, &b]).ok().unwrap();
        assert_eq!(both.names, ["x", "k"]);
        assert!(both.columns == [numbers(&[1.0, 2.0]), text(&["0.5", "?"])]);
        assert_eq!(both.view, Fingerprint::of(&both.names, &both.columns));
        assert_eq!(both.origin, "a.csv + b.csv");
        assert_eq!((both.place(0), both.place(1)), ("a.csv:2".into(), "b.csv:2".into()));
        let three = Table::concat(&[&a, &both.select(&[1]).unwrap()]).ok().unwrap();
        assert_eq!(three.place(1), "b.csv:2");
    }

    #[test]
    fn tables_with_other_columns_are_not_put_together() {
        let a = table("a.csv", &[("x", numbers(&[1.0])), ("k", numbers(&[0.5]))]);
        let b = table("b.csv", &[("x", numbers(&[1.0])), ("z", numbers(&[0.5]))]);
        let error = error(Table::concat(&[&a, &b]));
        assert!(error.starts_with("b.csv: "), "{error}");
        assert!(error.contains("do not match those of a.csv: 'k', 'z'"), "{error}");
    }

    #[test]
    fn a_missing_number_is_an_empty_cell() {
        let gap = table("a", &[("x", numbers(&[1.0, f64::NAN]))]);
        let empty = table("b", &[("x", text(&["1", ""]))]);
        assert!(gap == gap.clone());
        assert_eq!(gap.view, empty.view);
        assert_eq!(Table::concat(&[&gap, &empty]).ok().unwrap().view, gap.view.plus(gap.view));
    }

    #[test]
    fn vectors_are_selected_and_put_together_row_by_row() {
        let vectors = |width, values: &[f32]| {
            Column::Vectors(Vectors::new(width, Values::F32(values.to_vec())).unwrap())
        };
        let make =
            |origin, column| Table::of_rows(origin, vec!["x".into()], vec![column]).ok().unwrap();
        let a = make("a.npy", vectors(2, &[1.0, 2.0, 3.0, 4.0]));
        let b = make("b.npy", vectors(2, &[5.0, 6.0]));
        let both = Table::concat(&[&a, &b]).ok().unwrap();
        assert!(both.columns == [vectors(2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
        assert_eq!(both.view, Fingerprint::of(&both.names, &both.columns));
        assert_eq!((both.place(1), both.place(2)), ("a.npy, row 2".into(), "b.npy, row 1".into()));
        assert_eq!(both.select(&[2]).unwrap().view, b.view);
        let wide = make("w.npy", vectors(1, &[5.0, 6.0]));
        let error = error(Table::concat(&[&a, &wide]));
        assert!(
            error.starts_with("w.npy: its columns do not match those of a.npy: 'x'"),
            "{error}"
        );
    }

    #[test]
    fn copies_are_counted_once_each_beyond_the_first() {
        let table = table(
            "t",
            &[
                ("x", numbers(&[1.0, 1.0, 2.0, 1.0, -0.0, 0.0])),
                ("t", text(&["a", "a", "a", "b", "", ""])),
            ],
        );
        assert_eq!(table.duplicated_rows(), 2);
    }

    #[test]
    fn values_come_in_order_numbers_by_size() {
        let table = table("t", &[("x", text(&["10", "9", "b", "9.0", "-1", "a"]))]);
        let values: Vec<_> =
            table.values("x").unwrap().iter().map(|(v, n)| (v.to_string(), *n)).collect();
        let expected = [("-1", 1), ("9", 2), ("10", 1), ("a", 1), ("b", 1)];
        assert_eq!(values, expected.map(|(v, n)| (v.to_owned(), n)));
    }

    /// These positions must not change: sessions identify a split by its seed alone.
    #[test]
    fn a_shuffle_is_the_same_for_ever() {
        assert_eq!(shuffled(10, &mut seeded(7)), [3, 0, 5, 4, 9, 8, 7, 6, 2, 1]);
    }

    #[test]
    fn every_position_is_equally_likely_in_a_shuffle() {
        let mut counts = [0_i32; 5];
        for seed in 0..5000 {
            counts[shuffled(5, &mut seeded(seed))[0]] += 1;
        }
        assert!(counts.iter().all(|count| (count - 1000).abs() < 150), "{counts:?}");
    }

    #[test]
    fn a_sample_is_fixed_by_numbers_alone_and_impossible_ones_are_refused() {
        let make = |cells: [f64; 5]| table("t", &[("x", numbers(&cells))]);
        let lines = |cells| make(cells).sample(3, seeded(7)).ok().unwrap().lines;
        assert!(lines([1.0, 2.0, 3.0, 4.0, 5.0]) == lines([9.0; 5]));
        assert!(lines([9.0; 5]).iter().is_sorted());
        assert_eq!(make([9.0; 5]).sample(5, seeded(1)).ok().unwrap().rows(), 5);
        for rows in [0, 6] {
            assert!(error(make([9.0; 5]).sample(rows, seeded(7))).contains("sample 1 to 5 rows"));
        }
    }

    #[test]
    fn renaming_columns_refreshes_no_fingerprint_and_joins_none() {
        let a = table("a.csv", &[("x", numbers(&[1.0, 2.0])), ("y", numbers(&[3.0, 4.0]))]);
        let rename = |old: &str, new: &str| a.clone().renamed(&[(old.into(), new.into())].into());
        let renamed = rename("x", "age").ok().unwrap();
        assert_eq!(renamed.names, ["age", "y"]);
        assert_eq!((renamed.content, renamed.view), (a.content, a.view));
        assert!(error(rename("x", "y")).contains("cannot be renamed 'y'"));
        assert!(error(rename("z", "age")).contains("no column 'z'"));
    }

    #[test]
    fn provenance_names_the_same_record_in_whatever_table_it_stands() {
        let a = table("a.csv", &[("x", numbers(&[1.0, 2.0]))]);
        let b = table("b.csv", &[("x", numbers(&[3.0, 4.0]))]);
        let renamed = Table { origin: "c.csv".into(), ..a.clone() };
        let both = Table::concat(&[&b, &renamed]).ok().unwrap();
        let of = |table: &Table| table.provenance().collect::<Vec<_>>();
        assert_eq!(of(&both)[2..], of(&a));
        assert_eq!(of(&both.select(&[3]).unwrap()), of(&a)[1..]);
        assert_ne!(of(&both)[0], of(&a)[0]);
        let (first, second) = (a.select(&[0]).unwrap(), a.select(&[1]).unwrap());
        for (one, other, shared) in [
            (&a, &b, false),
            (&a, &both, true),
            (&both, &b, true),
            (&first, &second, false),
            (&both.select(&[0, 1, 2]).unwrap(), &second, false),
            (&both.select(&[3]).unwrap(), &second, true),
        ] {
            assert_eq!((one.shares_a_record(other), other.shares_a_record(one)), (shared, shared));
        }
    }

    #[test]
    fn impossible_shares_are_refused() {
        let table = table("t", &[("x", numbers(&[1.0, 2.0]))]);
        for share in [1.0, -0.1, f64::NAN] {
            assert!(error(table.split(share, seeded(0))).contains("cannot be held out"));
        }
        assert!(
            error(table.select(&[0]).unwrap().split(0.5, seeded(0))).contains("cannot be split")
        );
    }

    proptest! {
        #[test]
        fn both_ways_of_splitting_put_every_row_on_one_side_of_the_same_sizes(
            rows in 2_usize..200, holdout in 0.0..0.99, seed in any::<u64>()
        ) {
            for split in [Table::split_rows, Table::shuffled_split] {
                let (train, test) = split(rows, holdout, seeded(seed)).unwrap();
                prop_assert_eq!(test.len(), Table::holdout_rows(rows, holdout));
                prop_assert!(train.is_sorted() && test.is_sorted());
                let mut all = [train, test].concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_split_parts_the_rows_and_depends_on_the_seed_alone(
            rows in 2_usize..200, holdout in 0.01..0.99, seed in any::<u64>()
        ) {
            let cells: Vec<f64> = (0..rows).map(|row| row as f64).collect();
            let whole = table("t", &[("x", numbers(&cells))]);
            let (train, test) = whole.split(holdout, seeded(seed)).ok().unwrap();
            prop_assert!(train.rows() > 0 && test.rows() > 0);
            prop_assert_eq!(train.rows() + test.rows(), whole.rows());
            let mut lines: Vec<u64> = train.lines.iter().chain(test.lines.iter()).collect();
            lines.sort_unstable();
            prop_assert!(lines.into_iter().eq(whole.lines.iter()));
            prop_assert!((test.rows() as f64 - rows as f64 * holdout).abs() <= 1.0);
            prop_assert!(test.lines.iter().is_sorted());
            let again = whole.split(holdout, seeded(seed)).ok().unwrap();
            prop_assert!(again == (train, test));
        }
    }
}
