//! Typed columns and their cells.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::numbers::{Numbers, Window};
use super::texts::{TextWindow, Texts};
use super::vectors::{RowVector, Vectors};
use crate::error::Result;
use crate::files::scratch::Scratch;

/// One column of a file. Columns are compared by value, so a missing number equals a missing
/// number.
#[derive(Clone, PartialEq)]
pub enum Column {
    /// Finite numbers, and NaN where one is missing.
    Numbers(Numbers),
    /// Text as in the file, trimmed.
    Text(Texts),
    /// A vector of one length for every row.
    Vectors(Vectors),
}

/// One cell by its meaning: `1`, `1.0` and `+1` are the same number, whether or not some other cell
/// made their column text.
#[derive(Clone)]
pub enum Cell<'a> {
    /// Finite, and never −0.
    Number(f64),
    /// A missing number is the empty text, as in most files.
    Text(Cow<'a, str>),
    /// Several numbers.
    Vector(RowVector<'a>),
}

impl<'a> Cell<'a> {
    /// A cell with a number; NaN counts as missing.
    pub fn number(number: f64) -> Self {
        if number.is_nan() {
            return Self::Text(Cow::Borrowed(""));
        }
        Self::Number(if number == 0.0 { 0.0 } else { number })
    }

    /// A cell from its text in a file.
    pub fn parse(text: &'a str) -> Self {
        Self::of(Cow::Borrowed(text.trim()))
    }

    /// A cell from its trimmed text.
    fn of(text: Cow<'a, str>) -> Self {
        match finite(&text) {
            Some(number) => Self::number(number),
            None => Self::Text(text),
        }
    }
}

impl PartialEq for Cell<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell<'_> {}

impl PartialOrd for Cell<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Numbers by size, then text by letter, then vectors.
impl Ord for Cell<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Vector(a), Self::Vector(b)) => a.cmp(b),
            (Self::Number(_), _) | (Self::Text(_), Self::Vector(_)) => Ordering::Less,
            (Self::Vector(_), _) | (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

impl Hash for Cell<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Number(number) => number.to_bits().hash(state),
            Self::Text(text) => text.hash(state),
            Self::Vector(vector) => vector.hash(state),
        }
    }
}

/// The canonical text.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Vector(vector) => vector.fmt(f),
        }
    }
}

/// The finite number that `text` writes.
pub fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Texts that stand for a missing value, in small letters.
pub const TEXTS_OF_GAPS: [&str; 9] = ["", "na", "n/a", "nan", "null", "none", "?", "-", "."];

/// Whether a text in a file stands for a missing value where numbers are expected.
pub fn is_missing(text: &str) -> bool {
    text.len() <= 4 && TEXTS_OF_GAPS.iter().any(|missing| missing.eq_ignore_ascii_case(text))
}

/// Whether a text stands for a missing value in a column of texts. "None" is a category there, such
/// as no purpose or no illness.
pub fn is_missing_text(text: &str) -> bool {
    is_missing(text) && !text.eq_ignore_ascii_case("none")
}

impl Column {
    /// The number of its rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
            Self::Vectors(vectors) => vectors.len(),
        }
    }

    /// Whether the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a cell without a value to a column that does not hold vectors.
    pub(super) fn push_missing(&mut self) {
        match self {
            Self::Numbers(cells) => cells.push(f64::NAN),
            Self::Text(cells) => cells.push(""),
            Self::Vectors(_) => {}
        }
    }

    /// Whether most of its cells with a value are numbers.
    pub fn is_mostly_numbers(&self) -> bool {
        match self {
            Self::Numbers(_) => true,
            Self::Text(cells) => {
                let (mut numbers, mut present) = (0, 0);
                for (text, count) in cells.counts().filter(|(text, _)| !is_missing(text)) {
                    present += count;
                    numbers += if finite(&text).is_some() { count } else { 0 };
                }
                2 * numbers > present
            }
            Self::Vectors(_) => false,
        }
    }

    /// The cell in a row.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Numbers(cells) => Cell::number(cells.get(row)),
            Self::Text(cells) => Cell::of(cells.get(row)),
            Self::Vectors(vectors) => Cell::Vector(vectors.row(row)),
        }
    }

    /// The cells in all rows.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut window = Window::default();
        let mut texts = match self {
            Self::Text(texts) => Some(texts.iter()),
            _ => None,
        };
        (0..self.len()).map(move |row| match self {
            Self::Numbers(numbers) => Cell::number(window.get(numbers, row)),
            _ => match texts.as_mut().and_then(Iterator::next) {
                Some(text) => Cell::of(text),
                None => self.cell(row),
            },
        })
    }

    /// The distinct values in order, with how often each occurs.
    pub fn values(&self) -> Vec<(Cell<'_>, usize)> {
        let mut counts = HashMap::new();
        let mut add = |cell, count| *counts.entry(cell).or_insert(0) += count;
        match self {
            Self::Numbers(cells) => return values_of_numbers(cells),
            Self::Text(texts) => {
                texts.counts().for_each(|(text, count)| add(Cell::of(text), count));
            }
            Self::Vectors(_) => self.cells().for_each(|cell| add(cell, 1)),
        }
        let mut values: Vec<_> = counts.into_iter().collect();
        values.sort_unstable();
        values
    }

    pub(super) fn select(&self, rows: &[usize]) -> Result<Self> {
        Ok(match self {
            Self::Numbers(cells) => Self::Numbers(cells.select(rows)?),
            Self::Text(cells) => Self::Text(cells.select(rows)?),
            Self::Vectors(vectors) => Self::Vectors(vectors.select(rows)?),
        })
    }

    /// These rows; a row that does not exist gives cells without a value.
    pub(super) fn select_or_missing(&self, rows: &[usize]) -> Result<Self> {
        Ok(match self {
            Self::Numbers(cells) => Self::Numbers(cells.select_or_missing(rows)?),
            Self::Text(cells) => Self::Text(cells.select_or_missing(rows)?),
            Self::Vectors(vectors) => Self::Vectors(vectors.select(rows)?),
        })
    }

    /// From now on its cells are on the disk. Vectors stay where they are.
    pub(super) fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        match self {
            Self::Numbers(numbers) => numbers.move_to(space),
            Self::Text(texts) => texts.move_to(space),
            Self::Vectors(_) => Ok(()),
        }
    }

    /// Writes the cells that were added, if they go to the disk.
    pub(super) fn settle(&mut self) -> Result<()> {
        match self {
            Self::Numbers(numbers) => numbers.settle(),
            Self::Text(texts) => texts.settle(),
            Self::Vectors(_) => Ok(()),
        }
    }

    /// The bytes of its cells, before numbers are packed.
    pub(super) fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Text(texts) => texts.bytes(),
            _ => self.len() * self.width() * size_of::<f64>(),
        };
        bytes as u64
    }

    /// Where its cells are, if on the disk.
    pub(super) fn space(&self) -> Option<&Arc<Scratch>> {
        match self {
            Self::Numbers(numbers) => numbers.space(),
            Self::Text(texts) => texts.space(),
            Self::Vectors(vectors) => vectors.space(),
        }
    }

    /// The number of its features if its cells are numbers.
    pub fn width(&self) -> usize {
        match self {
            Self::Vectors(vectors) => vectors.width(),
            Self::Numbers(_) | Self::Text(_) => 1,
        }
    }

    /// The kind of its cells, for messages.
    pub fn kind(&self) -> String {
        match self {
            Self::Numbers(_) => "numbers".to_owned(),
            Self::Text(_) => "text".to_owned(),
            Self::Vectors(vectors) => format!("vectors of {} numbers", vectors.width()),
        }
    }

    /// The cells of all parts, one after another; `None` if vectors would meet other cells or
    /// vectors of another length.
    pub(super) fn concat(parts: &[&Self]) -> Result<Option<Self>> {
        let (mut numbers, mut vectors) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Self::Numbers(cells) => numbers.push(cells),
                Self::Vectors(cells) => vectors.push(cells),
                Self::Text(_) => {}
            }
        }
        if !vectors.is_empty() {
            let all = vectors.len() == parts.len();
            return Ok(Vectors::concat(&vectors)?.filter(|_| all).map(Self::Vectors));
        }
        if numbers.len() == parts.len() {
            return Ok(Some(Self::Numbers(Numbers::concat(&numbers)?)));
        }
        let texts = parts.iter().map(|part| match part {
            Self::Text(cells) => Ok(cells.clone()),
            _ => part.as_texts(),
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        Ok(Some(Self::Text(Texts::concat(&texts.iter().collect::<Vec<_>>())?)))
    }

    /// Cells of the column as texts, where the cells are.
    fn as_texts(&self) -> Result<Texts> {
        let mut texts = Texts::in_space(self.space());
        for cell in self.cells() {
            texts.push(&cell.to_string());
            texts.settle()?;
        }
        Ok(texts)
    }
}

/// Reads ahead in a column for somebody who goes through its rows in order.
#[derive(Default)]
pub struct CellWindow {
    pub numbers: Window,
    pub(super) texts: TextWindow,
}

impl CellWindow {
    /// The cell in a row of always the same column.
    pub fn cell<'w>(&'w mut self, column: &'w Column, row: usize) -> Cell<'w> {
        match column {
            Column::Numbers(numbers) => Cell::number(self.numbers.get(numbers, row)),
            Column::Text(texts) => Cell::of(Cow::Borrowed(self.texts.get(texts, row))),
            Column::Vectors(_) => column.cell(row),
        }
    }

    /// One for each of so many columns.
    pub fn several(columns: usize) -> Vec<Self> {
        (0..columns).map(|_| Self::default()).collect()
    }
}

/// The cells of some columns, row by row.
pub fn rows_of_cells<'a>(columns: &[&'a Column]) -> impl Iterator<Item = Vec<Cell<'a>>> + use<'a> {
    let rows = columns.first().map_or(0, |column| column.len());
    let mut cells: Vec<_> = columns.iter().map(|column| column.cells()).collect();
    (0..rows).map(move |_| cells.iter_mut().filter_map(Iterator::next).collect())
}

/// In order, without a table of all values.
fn values_of_numbers(cells: &Numbers) -> Vec<(Cell<'_>, usize)> {
    let present = cells.iter().filter(|cell| !cell.is_nan());
    // −0 is 0.
    let mut present: Vec<f64> = present.map(|cell| cell + 0.0).collect();
    present.sort_unstable_by(f64::total_cmp);
    let equal = present.chunk_by(|a, b| a == b);
    let numbers = equal.map(|equal| (Cell::number(equal[0]), equal.len()));
    let missing = cells.len() - present.len();
    numbers.chain((missing > 0).then(|| (Cell::number(f64::NAN), missing))).collect()
}

/// Whether a cell has no value; for a vector, whether any of its numbers has none.
pub fn lacks_value(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Number(_) => false,
        Cell::Text(text) => is_missing_text(text),
        Cell::Vector(vector) => vector.numbers().any(f64::is_nan),
    }
}
