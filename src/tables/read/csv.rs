//! CSV and TSV files, and others that separate cells by one character.
//!
//! Several threads each turn a block of records into typed columns, which are then joined in the
//! order of the file. A column is numeric until a cell is neither a number nor missing. Then the
//! cells before it are read a second time, as text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use memchr::memchr;

use super::decimal;
use super::in_turn::{self, in_turn};
use super::input::{Input, Unwatched};
use super::records::{self, FileRecord, FileRecords, RecordBlock, not_utf8};
use crate::column::{CellWindow, Column, finite, is_missing, lacks_value};
use crate::error::{Error, Result};
use crate::fingerprint::{InOrder, Names};
use crate::lines::RowLines;
use crate::numbers::Numbers;
use crate::table::{FileEnding, Table};
use crate::texts::Texts;

/// The delimiters that can be detected, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How many columns with gaps are named.
const NAMED: usize = 6;

/// The user's description of a text table that is not self-explanatory.
#[derive(Debug, Clone, Default)]
pub struct Dialect {
    /// The separator of cells; detected if not given.
    pub delimiter: Option<char>,
    /// The columns of a file without a header; empty if it has one.
    pub names: Vec<String>,
    /// What precedes the decimals of a number.
    pub decimal: Decimal,
    /// Texts that are read as missing, in addition to the usual ones: in all columns, or in one, as in
    /// `chol=0`.
    pub missing: Vec<String>,
}

/// What precedes the decimals of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decimal {
    /// A point: `1.5`.
    #[default]
    Point,
    /// A comma: `1,5`, and `1.000` for a thousand.
    Comma,
}

/// Reads a file that must be CSV.
pub fn read(path: &Path) -> Result<Table> {
    read_input(&Input::open(path, &mut Unwatched)?, &Dialect::default())
}

/// Reads text that is inside the program.
pub fn read_bytes(origin: &str, bytes: &[u8]) -> Result<Table> {
    read_input(&Input::of_bytes(origin, bytes, &mut Unwatched)?, &Dialect::default())
}

/// Reads a whole file.
pub fn read_input(input: &Input, dialect: &Dialect) -> Result<Table> {
    if input.start.starts_with(b"\xff\xfe") || input.start.starts_with(b"\xfe\xff") {
        return Err(input.error("the file is UTF-16 text").cure("save it as UTF-8"));
    }
    let (preamble, header) = opening(&input.start);
    let delimiter = match dialect.delimiter {
        None => delimiter(header),
        Some(delimiter) if delimiter.is_ascii() && !"\"\r\n".contains(delimiter) => delimiter as u8,
        Some(delimiter) => {
            return Err(Error::usage(format!("'{delimiter}' cannot separate cells"))
                .cure("name one ASCII character that is neither a quote nor a line end"));
        }
    };
    let has_header = dialect.names.is_empty();
    let decimal_comma = dialect.decimal == Decimal::Comma;
    let (missing, gaps) = (Vec::new(), OnceLock::new());
    let mut sheet =
        CsvFile { input, delimiter, preamble, has_header, decimal_comma, missing, gaps };
    let names = if has_header {
        let mut records = sheet.records();
        for _ in 0..preamble {
            records.next()?;
        }
        let header = records.next()?.filter(|header| !header.bytes.trim_ascii().is_empty());
        sheet.header(header.as_ref())?
    } else {
        check_names(&dialect.names, &input.origin)?;
        dialect.names.clone()
    };
    sheet.missing = dialect.missing.iter().map(|text| GapText::of(text, &names)).collect();
    let mut records = sheet.records();
    for _ in 0..preamble + usize::from(has_header) {
        records.next()?;
    }
    let CsvPiece { columns, lines, content, .. } = sheet.columns(records, &names)?;
    let mut table =
        Table::with_content(input.origin.clone(), names, columns, lines, Some(content))?;
    if !input.forgiving {
        table.remarks = sheet.words_of_gaps(&table.names);
        table.remarks.extend(texts_over_lines(&table));
    }
    if input.forgiving && has_header {
        refuse_a_first_record(&table, &input.origin)?;
    }
    // In a public file such a row is an error.
    if input.forgiving {
        let mut columns = table.columns.iter();
        let first = columns.next().into_iter().flat_map(Column::cells).enumerate();
        let mut unusable: Vec<usize> =
            first.filter(|(_, cell)| lacks_value(cell)).map(|(row, _)| row).collect();
        for column in columns {
            let mut window = CellWindow::default();
            unusable.retain(|row| lacks_value(&window.cell(column, *row)));
        }
        table.unusable = unusable.first().map(|first| (unusable.len(), table.lines.at(*first)));
        table.ending = match unusable.last() {
            Some(last) if last + 1 == table.rows() => FileEnding::Row,
            _ if input.ends_open() => FileEnding::Line,
            _ => FileEnding::Whole,
        };
    }
    Ok(table)
}

/// About texts of several lines: a quote that is missing takes what follows, up to the next one, into its
/// cell.
fn texts_over_lines(table: &Table) -> Vec<String> {
    let is_long = |text: &str| text.contains(['\n', '\r']);
    let of_column = |(name, column): (&String, &Column)| {
        let Column::Text(texts) = column else { return None };
        let long: usize =
            texts.counts().filter(|(text, _)| is_long(text)).map(|(_, count)| count).sum();
        // A column of long texts has many.
        if long == 0 || long > 3 && 100 * long > table.rows() {
            return None;
        }
        let first = texts.iter().position(|text| is_long(&text))?;
        let place = table.place(first);
        Some(format!(
            "a text of '{name}' goes over several lines, the first in {place}: is a quote missing there?"
        ))
    };
    table.names.iter().zip(&table.columns).filter_map(of_column).collect()
}

/// The number of comment lines before the table, as in the files of UCI (`|1x3 Cross validator`),
/// and the text after them.
fn opening(start: &[u8]) -> (usize, &[u8]) {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let has_delimiter = |line: &[u8]| DELIMITERS.iter().any(|by| memchr(*by, line).is_some());
    let (mut comments, mut rest) = (0, start);
    loop {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        let line = &rest[..end];
        match line {
            [b'|' | b'#' | b'%', text @ ..] if !has_delimiter(text) => comments += 1,
            // With one column a comment cannot be told from a cell.
            _ if has_delimiter(line) => return (comments, rest),
            _ => return (0, start),
        }
        rest = &rest[end..];
    }
}

/// The delimiter that is most frequent in the first line of `text`, outside quotes.
fn delimiter(text: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = DELIMITERS.map(|delimiter| (delimiter, 0));
    for byte in text {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' | b'\n' if !quoted => break,
            _ if quoted => {}
            _ => {
                for (delimiter, count) in &mut counts {
                    *count += u32::from(byte == delimiter);
                }
            }
        }
    }
    // `rev`, because `max_by_key` takes the last of equals and the comma should win.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(best, _)| best)
}

/// A file that becomes a table.
struct CsvFile<'i, 'a> {
    input: &'i Input<'a>,
    delimiter: u8,
    /// Comment lines before the table.
    preamble: usize,
    /// Whether the names of the columns come from the first line.
    has_header: bool,
    /// Whether numbers have a decimal comma.
    decimal_comma: bool,
    missing: Vec<GapText>,
    /// For each of these texts, how many cells of each column it makes a gap.
    gaps: OnceLock<Vec<AtomicUsize>>,
}

/// A text that is read as missing, in one column or in all.
struct GapText {
    column: Option<usize>,
    text: String,
}

impl GapText {
    /// `chol=0` names a column if there is one of this name; other texts are meant as they are.
    fn of(text: &str, names: &[String]) -> Self {
        let named = text.split_once('=').and_then(|(name, value)| {
            let column = names.iter().position(|it| it == name.trim())?;
            Some(Self { column: Some(column), text: value.trim().to_owned() })
        });
        named.unwrap_or_else(|| Self { column: None, text: text.to_owned() })
    }

    fn is(&self, text: &str, column: usize) -> bool {
        self.text == text && self.column.is_none_or(|own| own == column)
    }
}

/// A column that turned out to be text after some cells had been read as numbers: these have to be
/// read again as text. Until then it lacks these rows, which are its first.
struct LateText {
    column: usize,
    rows: usize,
    /// Texts of the rows that were read again.
    texts: Texts,
}

impl LateText {
    fn new(column: usize, rows: usize) -> Self {
        Self { column, rows, texts: Texts::default() }
    }

    /// The number of rows of which the text is still missing.
    fn left(&self) -> usize {
        self.rows - self.texts.len()
    }

    /// Adds a text, unless the column has all.
    fn add(&mut self, text: &str) {
        if self.left() > 0 {
            self.texts.push(text);
        }
    }

    /// Puts the column together.
    fn put_before(&self, columns: &mut [Column]) -> Result<()> {
        if let Column::Text(texts) = &mut columns[self.column] {
            *texts = Texts::concat(&[&self.texts, texts])?;
        }
        Ok(())
    }
}

/// A block and its result, or the result of all blocks so far.
#[derive(Default)]
struct CsvPiece {
    block: RecordBlock,
    columns: Vec<Column>,
    lines: RowLines,
    /// There is room for this many rows …
    room: usize,
    /// … whose cells take so many bytes: texts may get longer.
    room_in_bytes: u64,
    /// The bytes of the cells so far.
    bytes: u64,
    /// The fingerprint of these rows.
    content: InOrder,
    /// Whether some cells were read as numbers at first.
    reread: bool,
}

impl CsvPiece {
    /// Makes room for as many rows as the whole file will probably have: doubling when full would
    /// take twice the memory. `next` has the next rows.
    fn reserve(&mut self, rows: f64, next: &Self, input: &Input) -> Result<()> {
        let here = self.lines.len();
        // Every cell takes at least one byte for its separator.
        let most = input.most_bytes() / self.columns.len().max(1) as u64;
        let more = ((rows * 1.02) as usize).min(most as usize).saturating_sub(here);
        let more = more.max(here / 16);
        self.room = here + more;
        let each = next.columns.iter().map(Column::bytes).sum::<u64>() as f64
            / next.lines.len().max(1) as f64;
        let cells = self.bytes + (more as f64 * each) as u64;
        self.room_in_bytes = cells + cells / 8;
        input.place(&mut self.columns, cells, (here, self.room))
    }
}

fn clear(column: &mut Column) {
    match column {
        Column::Numbers(cells) => cells.truncate(0),
        Column::Text(cells) => cells.clear(),
        Column::Vectors(_) => {}
    }
}

/// Keeps the first `rows` cells of a column, to which at most one more was added.
fn truncate(column: &mut Column, rows: usize) {
    match column {
        Column::Numbers(cells) => cells.truncate(rows),
        Column::Text(cells) if cells.len() > rows => cells.pop(),
        _ => {}
    }
}

/// The cells of one record, trimmed.
struct RecordCells<'r> {
    rest: Option<&'r [u8]>,
    delimiter: u8,
    quoted: bool,
    /// A quote is not closed before the record ends, which is allowed only in a private record.
    left_open: bool,
}

impl<'r> Iterator for RecordCells<'r> {
    /// A plain cell, or the text inside its quotes.
    type Item = Cow<'r, [u8]>;

    fn next(&mut self) -> Option<Cow<'r, [u8]>> {
        let rest = self.rest?;
        if self.quoted && rest.first() == Some(&b'"') {
            return Some(self.unquote(&rest[1..]));
        }
        // Cells are short: this beats a call of memchr.
        if let Some(at) = rest.iter().position(|&byte| byte == self.delimiter) {
            self.rest = Some(&rest[at + 1..]);
            Some(Cow::Borrowed(&rest[..at]))
        } else {
            self.rest = None;
            Some(Cow::Borrowed(rest))
        }
    }
}

impl<'r> RecordCells<'r> {
    /// The next cell, if it is a number of the plainest kind.
    fn next_number(&mut self) -> Option<f64> {
        let rest = self.rest?;
        let (number, length) = decimal::leading(rest, self.delimiter)?;
        self.rest = rest.get(length + 1..);
        Some(number)
    }

    fn unquote(&mut self, bytes: &'r [u8]) -> Cow<'r, [u8]> {
        let mut cell = Vec::new();
        let mut at = 0;
        self.left_open = true;
        while let Some(found) = memchr(b'"', &bytes[at..]) {
            cell.extend_from_slice(&bytes[at..at + found]);
            at += found + 1;
            if bytes.get(at) != Some(&b'"') {
                self.left_open = false;
                break;
            }
            cell.push(b'"');
            at += 1;
        }
        if self.left_open {
            self.rest = None;
            return Cow::Owned(cell);
        }
        // Text after the closing quote also belongs to the cell.
        let rest = &bytes[at..];
        if let Some(end) = memchr(self.delimiter, rest) {
            cell.extend_from_slice(&rest[..end]);
            self.rest = Some(&rest[end + 1..]);
        } else {
            cell.extend_from_slice(rest);
            self.rest = None;
        }
        Cow::Owned(cell)
    }
}

impl<'a> CsvFile<'_, 'a> {
    fn cells<'r>(&self, record: &FileRecord<'r>) -> RecordCells<'r> {
        let (delimiter, quoted) = (self.delimiter, record.quoted);
        RecordCells { rest: Some(record.bytes), delimiter, quoted, left_open: false }
    }

    /// A private record is a line, so its contents cannot affect the next ones.
    fn records(&self) -> FileRecords<'_, 'a> {
        FileRecords::new(self.input, (!self.input.forgiving).then_some(self.delimiter))
    }

    /// Whether a record is unreadable, so that it becomes a row without values.
    fn is_unreadable(&self, record: &FileRecord, width: usize) -> bool {
        let mut cells = self.cells(record);
        let mut count = 0;
        for cell in cells.by_ref() {
            if std::str::from_utf8(&cell).is_err() {
                return true;
            }
            count += 1;
        }
        count != width || cells.left_open
    }

    fn text<'c>(&self, cell: &'c [u8], line: u64) -> Result<&'c str> {
        std::str::from_utf8(cell).map(str::trim).map_err(|_| not_utf8(self.input, line))
    }

    /// The text of a cell below the header: a number with a decimal comma gets a point, and a text
    /// that is to be read as missing is empty.
    fn value<'c>(&self, cell: &'c [u8], line: u64, column: usize) -> Result<Cow<'c, str>> {
        let text = self.text(cell, line)?;
        if self.missing.iter().any(|missing| missing.is(text, column)) {
            return Ok(Cow::Borrowed(""));
        }
        let with_point = self.decimal_comma.then(|| decimal::with_point(text)).flatten();
        Ok(with_point.map_or(Cow::Borrowed(text), Cow::Owned))
    }

    fn header(&self, header: Option<&FileRecord>) -> Result<Vec<String>> {
        let Some(header) = header else {
            return Err(self
                .input
                .error("the file is empty")
                .cure("a header line with the column names and at least one row are needed"));
        };
        let mut cells = self.cells(header);
        let mut names = cells
            .by_ref()
            .map(|cell| self.text(&cell, header.line).map(str::to_owned))
            .collect::<Result<Vec<_>>>()?;
        let place = header.place(self.input);
        if cells.left_open {
            return Err(Error::failed("a quote opened in the header is not closed in its line")
                .at(place)
                .cure("close it; in a private file every record is one line"));
        }
        let headless = "put a line with the column names first, or give the names in the session: \
                        delimited(file: …, names: […])";
        if looks_like_data(&names) {
            return Err(Error::failed("expected column names, found numbers")
                .at(place)
                .cure(headless));
        }
        // As R and pandas write the names of rows.
        if names.len() > 1 && names[0].is_empty() && !names.iter().any(|name| name == ROW_NAMES) {
            ROW_NAMES.clone_into(&mut names[0]);
        }
        check_names(&names, &place).map_err(|error| {
            let some_numbers = names.iter().any(|name| finite(name).is_some());
            if some_numbers {
                error.cure(format!("if this line is data, {headless}"))
            } else {
                error
            }
        })?;
        Ok(names)
    }

    fn columns(&self, records: FileRecords, names: &[String]) -> Result<CsvPiece> {
        let (begun, mut blocks) = records.into_blocks();
        let mut begun = Some(begun);
        let take = |piece: &mut CsvPiece| match begun.take() {
            Some(block) => {
                piece.block = block;
                Ok(true)
            }
            None => blocks.next(&mut piece.block),
        };
        let known = Names::of(names);
        let as_text: Vec<usize> =
            (0..names.len()).filter(|at| self.input.names.contains(&names[*at])).collect();
        let work = |piece: &mut CsvPiece| self.parse(piece, &known, &as_text);
        let columns = vec![Column::Numbers(Numbers::default()); names.len()];
        let mut all = CsvPiece { columns, ..CsvPiece::default() };
        let mut late = Vec::new();
        let add = |piece: &mut CsvPiece| self.append(piece, &mut all, &mut late);
        let threads = in_turn::threads(self.input.most_bytes() / records::BLOCK as u64);
        in_turn(threads, take, work, add)?;
        if all.lines.is_empty() {
            let what = if self.has_header { "a header but no rows" } else { "no rows" };
            return Err(self
                .input
                .error(format!("the file has {what}"))
                .cure("at least one row is needed"));
        }
        self.restore_all(late, &mut all.columns)?;
        for column in &as_text {
            if let Column::Text(texts) = &all.columns[*column]
                && let Some(numbers) = as_numbers(texts)?
            {
                all.columns[*column] = Column::Numbers(numbers);
            }
        }
        if all.reread || !as_text.is_empty() {
            // The text for a missing number means nothing in a column of numbers, but in text it
            // stays itself.
            all.content = known.fingerprint(&all.columns);
        }
        Ok(all)
    }

    /// Makes columns of a block's records, some of them as text. A column that was text in an
    /// earlier block stays text.
    fn parse(&self, piece: &mut CsvPiece, names: &Names, as_text: &[usize]) -> Result<()> {
        let CsvPiece { block, columns, lines, content, .. } = piece;
        let width = names.count();
        columns.resize(width, Column::Numbers(Numbers::default()));
        columns.iter_mut().for_each(clear);
        for column in as_text {
            if let Column::Numbers(_) = columns[*column] {
                columns[*column] = Column::Text(Texts::default());
            }
        }
        *lines = RowLines::default();
        let mut late = Vec::new();
        for record in block.records() {
            let row = lines.len();
            let read = self.row(&record, columns, |column, index| {
                late.push(LateText::new(index, row));
                *column = Column::Text(Texts::default());
            });
            match read {
                Ok(true) => {}
                Err(_) | Ok(false) if self.input.forgiving => {
                    for (index, column) in columns.iter_mut().enumerate() {
                        let late = late.iter().find(|late| late.column == index);
                        truncate(column, row - late.map_or(0, |late| late.rows));
                        column.push_missing();
                    }
                }
                Ok(false) => return Err(self.ragged(&record, width)),
                Err(error) => return Err(error),
            }
            lines.push(record.line);
        }
        self.restore(block, width, &mut late)?;
        late.iter().try_for_each(|late| late.put_before(columns))?;
        // Done now, while the cells are in the cache.
        *content = names.fingerprint(columns);
        Ok(())
    }

    /// Adds a record's cells. Returns whether it has one for each column. `turn` changes a column
    /// of numbers to text.
    fn row(
        &self,
        record: &FileRecord,
        columns: &mut [Column],
        mut turn: impl FnMut(&mut Column, usize),
    ) -> Result<bool> {
        let mut cells = self.cells(record);
        let width = columns.len();
        for (index, column) in columns.iter_mut().enumerate() {
            if let Column::Numbers(numbers) = column
                && !self.decimal_comma
                && self.missing.is_empty()
                && let Some(number) = cells.next_number()
            {
                numbers.push(number);
                continue;
            }
            let Some(cell) = cells.next() else { return Ok(false) };
            self.count_gap(&cell, (index, width));
            let place = (record.line, index);
            self.push(column, &cell, place, |column| turn(column, index))?;
        }
        Ok(cells.rest.is_none() && !cells.left_open)
    }

    /// Counts a cell that only the user's words make a gap, in one of so many columns.
    fn count_gap(&self, cell: &[u8], (column, width): (usize, usize)) {
        if self.missing.is_empty() {
            return;
        }
        let Ok(text) = std::str::from_utf8(cell).map(str::trim) else { return };
        let found = self.missing.iter().position(|missing| missing.is(text, column));
        let Some(at) = found else { return };
        let all = || (0..self.missing.len() * width).map(|_| AtomicUsize::new(0)).collect();
        self.gaps.get_or_init(all)[at * width + column].fetch_add(1, Ordering::Relaxed);
    }

    /// What each text that is to be read as missing did to this file. One that stands in no cell may
    /// be a typing error.
    fn words_of_gaps(&self, names: &[String]) -> Vec<String> {
        let file = Path::new(&self.input.origin).file_name().unwrap_or_default().to_string_lossy();
        let gaps = self.gaps.get().map_or(&[][..], Vec::as_slice);
        let of_text = |(at, gap): (usize, &GapText)| {
            let text = match gap.column {
                Some(column) => format!("{}={}", names[column], gap.text),
                None => gap.text.clone(),
            };
            let counts = gaps.iter().skip(at * names.len()).take(names.len());
            let counts = counts.map(|count| count.load(Ordering::Relaxed)).zip(names);
            let mut found: Vec<(usize, &String)> = counts.filter(|(count, _)| *count > 0).collect();
            found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            let cells: usize = found.iter().map(|(count, _)| count).sum();
            let named =
                found.iter().take(NAMED).map(|(count, name)| format!("{count} of '{name}'"));
            let named = named.collect::<Vec<_>>().join(", ");
            let all = found.len();
            let more = if all > NAMED { format!(", … ({all} columns)") } else { String::new() };
            match cells {
                0 => format!(
                    "{file}: no cell is '{text}', which is to be read as missing: it must stand \
                     there exactly so, and alone; COLUMN=TEXT is meant for one column"
                ),
                1 => format!("{file}: '{text}' is read as missing: 1 cell, {named}"),
                _ => format!("{file}: '{text}' is read as missing: {cells} cells, {named}{more}"),
            }
        };
        let texts = self.missing.iter().enumerate();
        let is_first = |(at, gap): &(usize, &GapText)| {
            let before = &self.missing[..*at];
            !before.iter().any(|it| it.text == gap.text && it.column == gap.column)
        };
        let texts = texts.filter(is_first);
        texts.map(of_text).collect()
    }

    /// Adds a cell; `turn` changes a column of numbers to text.
    fn push(
        &self,
        column: &mut Column,
        cell: &[u8],
        (line, index): (u64, usize),
        turn: impl FnOnce(&mut Column),
    ) -> Result<()> {
        if let Column::Numbers(numbers) = column {
            let text = self.value(cell, line, index)?;
            if let Some(number) = finite(&text).or_else(|| is_missing(&text).then_some(f64::NAN)) {
                numbers.push(number);
                return Ok(());
            }
            turn(column);
        }
        if let Column::Text(texts) = column {
            texts.push(&self.value(cell, line, index)?);
        }
        Ok(())
    }

    /// Adds a block's columns to those of all blocks before it.
    fn append(
        &self,
        piece: &mut CsvPiece,
        all: &mut CsvPiece,
        late: &mut Vec<LateText>,
    ) -> Result<()> {
        let (before, rows) = (all.lines.len(), piece.lines.len());
        let bytes: u64 = piece.columns.iter().map(Column::bytes).sum();
        if all.room < before + rows || all.room_in_bytes < all.bytes + bytes {
            all.reserve((before + rows) as f64 / piece.block.share.max(1e-9), piece, self.input)?;
        } else if all.columns.iter().any(|column| column.space().is_some()) {
            self.input.check_rows(before + rows)?;
        }
        all.bytes += bytes;
        let mut turned = Vec::new();
        for (index, (part, whole)) in piece.columns.iter_mut().zip(&mut all.columns).enumerate() {
            match (&mut *part, &mut *whole) {
                (Column::Numbers(part), Column::Numbers(whole)) => whole.append(&part.whole())?,
                (Column::Text(part), Column::Text(whole)) => whole.append(part)?,
                (Column::Text(part), _) => {
                    late.push(LateText::new(index, before));
                    let mut texts = Texts::in_space(whole.space());
                    texts.append(part)?;
                    *whole = Column::Text(texts);
                }
                // Another thread's block has turned this column into text meanwhile.
                (_, Column::Text(_)) => {
                    *part = Column::Text(Texts::default());
                    turned.push(LateText::new(index, rows));
                }
                _ => {}
            }
        }
        all.reread |= !turned.is_empty() || late.iter().any(|late| late.rows > 0);
        self.restore(&piece.block, piece.columns.len(), &mut turned)?;
        for late in turned {
            if let Column::Text(whole) = &mut all.columns[late.column] {
                whole.append(&late.texts)?;
            }
        }
        all.content = all.content.then(piece.content);
        all.lines.append(&piece.lines);
        Ok(())
    }

    /// Second reading of a block of records with this many cells: adds the texts of columns that
    /// turned into text.
    fn restore(&self, block: &RecordBlock, width: usize, late: &mut [LateText]) -> Result<()> {
        let left = late.iter().map(LateText::left).max().unwrap_or(0);
        if left == 0 {
            return Ok(());
        }
        let mut place_of = vec![None; width];
        for (place, late) in late.iter().enumerate() {
            place_of[late.column] = Some(place);
        }
        for record in block.records().take(left) {
            if self.input.forgiving && self.is_unreadable(&record, width) {
                for late in late.iter_mut() {
                    late.add("");
                }
                continue;
            }
            for (column, (cell, place)) in self.cells(&record).zip(&place_of).enumerate() {
                if let Some(place) = place {
                    late[*place].add(&self.value(&cell, record.line, column)?);
                }
            }
        }
        late.iter_mut().try_for_each(|late| late.texts.settle())
    }

    /// Second reading of the file.
    fn restore_all(&self, mut late: Vec<LateText>, columns: &mut [Column]) -> Result<()> {
        let is_complete = |late: &[LateText]| late.iter().all(|late| late.left() == 0);
        if is_complete(&late) {
            return Ok(());
        }
        for late in &mut late {
            late.texts = Texts::in_space(columns[late.column].space());
        }
        let mut records = self.records();
        for _ in 0..self.preamble + usize::from(self.has_header) {
            records.next()?;
        }
        let (mut block, mut blocks) = records.into_blocks();
        loop {
            self.restore(&block, columns.len(), &mut late)?;
            if is_complete(&late) || !blocks.next(&mut block)? {
                return late.iter().try_for_each(|late| late.put_before(columns));
            }
        }
    }

    fn ragged(&self, record: &FileRecord, expected: usize) -> Error {
        let separator = match self.delimiter {
            b',' => "a comma".to_owned(),
            b';' => "a semicolon".to_owned(),
            b'\t' => "a tab".to_owned(),
            other => format!("'{}'", char::from(other)),
        };
        let count = |count: usize| {
            if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") }
        };
        let against = if self.has_header {
            format!("the header has {}", count(expected))
        } else {
            format!("there are {expected} column names")
        };
        Error::failed(format!("this row has {}, {against}", count(self.cells(record).count())))
            .at(record.place(self.input))
            .cure(format!(
                "complete or remove the row; text that contains {separator} must be in double \
                 quotes"
            ))
    }
}

/// The numbers of a column of text; `None` if a cell is none, or would be written otherwise.
fn as_numbers(texts: &Texts) -> Result<Option<Numbers>> {
    let mut numbers = Numbers::in_space(texts.space());
    for text in texts.iter() {
        match finite(&text) {
            Some(number) if !is_whole(&text) || number.to_string() == text => numbers.push(number),
            None if is_missing(&text) => numbers.push(f64::NAN),
            _ => return Ok(None),
        }
    }
    numbers.settle()?;
    Ok(Some(numbers))
}

/// Whether a number is written with nothing but digits.
fn is_whole(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name of a first column without one.
const ROW_NAMES: &str = "row";

fn check_names(names: &[String], place: &str) -> Result<()> {
    let refused = |what: String, cure: &str| Err(Error::failed(what).at(place).cure(cure));
    if let Some(empty) = names.iter().position(String::is_empty) {
        return refused(
            format!("column {} has no name", empty + 1),
            "name it in the header, or remove the column",
        );
    }
    let mut seen = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        // A file without a header has a record here, so no name is quoted.
        if let Some(first) = seen.insert(name, at) {
            return refused(
                format!("columns {} and {} have the same name", first + 1, at + 1),
                "give every column a name of its own",
            )
            .map_err(|error| error.quoting(name));
        }
    }
    Ok(())
}

/// Refuses names that are probably the first record of a private file without a header: everybody
/// who gets the model or a report sees the names of columns. Private records decide this, several of
/// them and never one alone; only the curator sees the refusal, and nothing was spent.
fn refuse_a_first_record(table: &Table, origin: &str) -> Result<()> {
    let Some(at) = table.column_named_like_its_values() else { return Ok(()) };
    Err(Error::refused(format!(
        "column {} has values that are the same as its name, so the first line may be a record and \
         not a header",
        at + 1
    ))
    .at(origin.to_owned())
    .cure(
        "if there is no header, give the names in the session: delimited(file: …, names: […]); if \
         there is one, remove its copies from the rows, or give this column another name in it",
    )
    .quoting(&table.names[at]))
}

/// A first line of numbers is data without a header – unless it counts 0, 1, 2 (or 1, 2, 3), as
/// some programs name unnamed columns.
fn looks_like_data(names: &[String]) -> bool {
    let numbers: Option<Vec<f64>> = names.iter().map(|name| finite(name)).collect();
    let counts = |numbers: &[f64], start: usize| {
        numbers.iter().enumerate().all(|(i, number)| *number == (i + start) as f64)
    };
    numbers.is_some_and(|numbers| !counts(&numbers, 0) && !counts(&numbers, 1))
}

#[cfg(test)]
mod tests;
