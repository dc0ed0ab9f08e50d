//! Parquet files, as written by Spark, pyarrow and others.
//!
//! Numbers, booleans and decimals become numbers; text, dates and times become text (dates as
//! `2008-04-17`, as a CSV file would have them); lists of numbers become vectors if they all have
//! the same length. Other columns are left out, with a remark.
//!
//! In private files (see [`super::TableReader::private`]) no single cell decides about its column: a cell
//! that is not a value of the type counts as missing, and so does a list that is longer or shorter
//! than most.

use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use half::f16;
use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::ColumnDescriptor;

use super::decoder_crash;
use super::in_turn;
use super::input::{Input, ROW};
use super::lists::Lists;
use super::pages::{PageQueue, Pages};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::files::scratch::Scratch;
use crate::numbers::Numbers;
use crate::numeric::parallel;
use crate::table::Table;
use crate::texts::Texts;

const MAGIC: &[u8] = b"PAR1";
/// Unpacked, a file may have this many values per byte, or at least this many in total.
const MOST_DENSER: u64 = 1024;
const ALWAYS_ALLOWED: u64 = 1 << 24;
/// Records decoded at a time.
const BLOCK: usize = 1 << 15;
/// With fewer values than this, starting another thread does not pay.
const WORTH_A_THREAD: u64 = 1 << 16;
/// Above this a double cannot represent every integer.
const LARGEST_EXACT: u64 = 1 << 53;

/// Reads a whole file.
pub fn read(input: &Input) -> Result<Table> {
    let metadata = metadata(input)?;
    let rows = rows(input, &metadata)?;
    let schema = metadata.file_metadata().schema_descr();
    let roots: Vec<usize> =
        (0..schema.num_columns()).map(|leaf| schema.get_column_root_idx(leaf)).collect();
    let mut leaves_of = vec![0; roots.iter().max().map_or(0, |&largest| largest + 1)];
    for &root in &roots {
        leaves_of[root] += 1;
    }
    let mut builders: Vec<Builder> = schema
        .columns()
        .iter()
        .enumerate()
        .map(|(leaf, column)| {
            let alone = leaves_of[roots[leaf]] == 1;
            let root = schema.get_column_root(leaf).name();
            Builder::new(column, root, alone, input.forgiving)
        })
        .collect();
    let space = make_room(input, &metadata, rows, &mut builders)?;
    read_groups(input, &metadata, builders.iter_mut().enumerate().collect())?;
    // Integers too large for a double are probably identifiers, so they become text.
    let mut identifiers = Vec::new();
    for (leaf, builder) in builders.iter_mut().enumerate().filter(|(_, it)| it.inexact) {
        *builder = Builder::text(std::mem::take(&mut builder.name), input.forgiving);
        if let Some(space) = &space {
            builder.cells.move_to(space)?;
        }
        identifiers.push((leaf, builder));
    }
    read_groups(input, &metadata, identifiers)?;
    let (mut names, mut columns, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    for builder in builders {
        let name = builder.name.clone();
        match builder.finish(rows)? {
            Ok(column) => {
                names.push(name);
                columns.push(column);
            }
            Err(why) => remarks.push(format!("column '{name}' is left out: {why}")),
        }
    }
    if columns.is_empty() {
        return Err(input
            .error(format!("no column can be read; {}", remarks.join("; ")))
            .cure("save it with columns of numbers, text or equally long lists of numbers"));
    }
    let mut table = Table::of_rows(input.origin.clone(), names, columns)?;
    table.remarks = remarks;
    Ok(table)
}

/// Bytes that a short text takes at least.
const TEXT: u64 = 4;

/// Room for the cells, in memory or on the disk.
fn make_room(
    input: &Input,
    metadata: &ParquetMetaData,
    rows: usize,
    builders: &mut [Builder],
) -> Result<Option<Arc<Scratch>>> {
    let (rows, groups) = (rows as u64, metadata.row_groups());
    let most = input.length.saturating_mul(MOST_DENSER);
    let bytes = |(leaf, builder): (usize, &Builder)| match &builder.cells {
        ColumnCells::Single(Column::Text(_)) => {
            let unpacked = groups.iter().map(|group| group.column(leaf).uncompressed_size());
            let unpacked = unpacked.map(|bytes| u64::try_from(bytes).unwrap_or(0).min(most));
            unpacked.fold(0, u64::saturating_add).clamp(TEXT * rows, most.max(TEXT * rows))
        }
        ColumnCells::Single(_) => rows * size_of::<f64>() as u64,
        ColumnCells::Lists(lists) => {
            let groups = 0..metadata.num_row_groups();
            lists.bytes() * groups.map(|group| values_in(metadata, group, leaf)).sum::<u64>()
        }
    };
    let used = builders.iter().enumerate().filter(|(_, builder)| builder.left_out.is_none());
    let cells = used.map(bytes).fold(0, u64::saturating_add);
    let space = input.room(cells, ROW * rows)?;
    if let Some(space) = &space {
        builders.iter_mut().try_for_each(|builder| builder.cells.move_to(space))?;
    }
    Ok(space)
}

/// Reads all groups of rows into some columns, several at a time.
fn read_groups(
    input: &Input,
    metadata: &ParquetMetaData,
    mut columns: Vec<(usize, &mut Builder)>,
) -> Result<()> {
    for group in 0..metadata.num_row_groups() {
        let cells: u64 = columns.iter().map(|(leaf, _)| values_in(metadata, group, *leaf)).sum();
        let threads = in_turn::threads((cells / WORTH_A_THREAD).min(columns.len() as u64));
        let mut results: Vec<Result<()>> = columns.iter().map(|_| Ok(())).collect();
        let jobs = columns.iter_mut().zip(&mut results).collect();
        parallel::share_out(jobs, threads, &|(column, result): (&mut (usize, &mut Builder), _)| {
            let (leaf, builder) = column;
            *result = builder.read(input, metadata, group, *leaf);
        });
        results.into_iter().collect::<Result<()>>()?;
    }
    Ok(())
}

fn values_in(metadata: &ParquetMetaData, group: usize, leaf: usize) -> u64 {
    u64::try_from(metadata.row_group(group).column(leaf).num_values()).unwrap_or(0)
}

fn metadata(input: &Input) -> Result<ParquetMetaData> {
    let flaw = |what: String| {
        input.error(what).cure("the file is cut off or damaged: copy or download it again")
    };
    let mut reader = input.raw();
    let mut footer = [0; 8];
    if input.length < 12 {
        return Err(flaw("the file is too short for Parquet".to_owned()));
    }
    reader.seek(SeekFrom::End(-8)).map_err(|error| input.io(&error))?;
    reader.read_exact(&mut footer).map_err(|error| input.io(&error))?;
    let (length, magic) = footer.split_at(4);
    if magic != MAGIC {
        return Err(flaw(format!(
            "the file does not end like Parquet (expected PAR1 at byte {})",
            input.length - 4
        )));
    }
    let length = length.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    if length > input.length - 12 {
        return Err(input.wrong_length("the description at its end", length, input.length - 12));
    }
    reader.seek(SeekFrom::End(-8 - length as i64)).map_err(|error| input.io(&error))?;
    let mut bytes = vec![0; length as usize];
    reader.read_exact(&mut bytes).map_err(|error| input.io(&error))?;
    ParquetMetaDataReader::decode_metadata(&bytes)
        .map_err(|error| flaw(format!("its description is damaged: {error}")))
}

/// Whether the input is a sound file that has columns and no rows.
pub fn lacks_rows(input: &Input) -> bool {
    metadata(input).is_ok_and(|metadata| metadata.file_metadata().num_rows() == 0)
}

/// The number of rows, if the file can hold that many.
fn rows(input: &Input, metadata: &ParquetMetaData) -> Result<usize> {
    let columns = metadata.file_metadata().schema_descr().num_columns() as u64;
    let (mut rows, mut values) = (0_u64, 0_u64);
    for group in metadata.row_groups() {
        let count = |count: i64| {
            u64::try_from(count).map_err(|_| input.error("a negative count").cure("copy it again"))
        };
        rows = rows.saturating_add(count(group.num_rows())?);
        if group.num_columns() as u64 != columns {
            return Err(input
                .error("a group of rows lacks columns")
                .cure("the file is damaged: copy or download it again"));
        }
        for chunk in group.columns() {
            values = values.saturating_add(count(chunk.num_values())?);
        }
    }
    if rows == 0 {
        return Err(input
            .error("the file has columns but no rows")
            .cure("at least one row is needed"));
    }
    let most = ALWAYS_ALLOWED.max(input.length.saturating_mul(MOST_DENSER));
    if values.max(rows.saturating_mul(columns)) > most {
        return Err(input
            .error(format!("it claims {rows} rows of {columns} columns in {} bytes", input.length))
            .cure("the file is damaged: copy or download it again"));
    }
    Ok(rows as usize)
}

/// The meaning of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Number,
    /// An integer to be divided by ten to this power.
    Decimal(i32),
    Half,
    Text,
    Date,
    /// Time since 1970, in units of which a second has this many.
    Moment(i64),
    /// Time since midnight, in units of which a second has this many.
    Clock(i64),
    List,
}

enum ColumnCells {
    Single(Column),
    Lists(Lists),
}

impl ColumnCells {
    /// From now on they are on the disk.
    fn move_to(&mut self, space: &Arc<Scratch>) -> Result<()> {
        match self {
            Self::Single(column) => column.move_to(space),
            Self::Lists(lists) => lists.move_to(space),
        }
    }

    /// Writes those that were added, if they go to the disk.
    fn settle(&mut self) -> Result<()> {
        match self {
            Self::Single(column) => column.settle(),
            Self::Lists(lists) => lists.settle(),
        }
    }
}

struct Builder {
    name: String,
    meaning: Meaning,
    cells: ColumnCells,
    /// Why the column cannot be used.
    left_out: Option<&'static str>,
    /// Whether an integer was too large for a double.
    inexact: bool,
    forgiving: bool,
}

impl Builder {
    fn text(name: String, forgiving: bool) -> Self {
        let cells = ColumnCells::Single(Column::Text(Texts::default()));
        Self { name, meaning: Meaning::Text, cells, left_out: None, inexact: false, forgiving }
    }

    fn new(column: &ColumnDescriptor, root: &str, alone: bool, forgiving: bool) -> Self {
        let name = column.path().parts().join(".");
        let meaning = meaning(column);
        if column.max_rep_level() > 0 {
            let is_number = matches!(
                column.physical_type(),
                Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE
            );
            let plain = is_number && meaning == Meaning::Number;
            let left_out = if column.max_rep_level() > 1 {
                Some("lists of lists")
            } else if !alone {
                Some("lists of several fields")
            } else if !plain {
                Some("lists of something else than numbers")
            } else {
                None
            };
            let single = column.physical_type() == Type::FLOAT;
            let cells = ColumnCells::Lists(Lists::new(single, forgiving));
            let (name, meaning) = (root.to_owned(), Meaning::List);
            return Self { meaning, cells, left_out, ..Self::text(name, forgiving) };
        }
        let mut builder = Self { meaning, ..Self::text(name, forgiving) };
        if matches!(meaning, Meaning::Number | Meaning::Decimal(_) | Meaning::Half) {
            builder.cells = ColumnCells::Single(Column::Numbers(Numbers::default()));
        }
        builder
    }

    /// Adds one group's rows.
    fn read(
        &mut self,
        input: &Input,
        metadata: &ParquetMetaData,
        group: usize,
        leaf: usize,
    ) -> Result<()> {
        if self.left_out.is_some() || self.inexact {
            return Ok(());
        }
        let group = metadata.row_group(group);
        let column = metadata.file_metadata().schema_descr().column(leaf);
        let pages = Pages::new(input, group.column(leaf))?;
        let queue = PageQueue::default();
        let reader = get_column_reader(column.clone(), Box::new(queue.clone()));
        let (definition, repeated) = (column.max_def_level(), column.max_rep_level() > 0);
        let name = self.name.clone();
        let mut chunk = Chunk { pages, queue, definition, repeated, input, name };
        match reader {
            ColumnReader::BoolColumnReader(mut reader) => {
                chunk.each(&mut reader, self, |it, batch| {
                    it.numbers(&batch, |&flag| f64::from(flag));
                })?;
            }
            ColumnReader::Int32ColumnReader(mut reader) => {
                let unsigned = is_unsigned(&column);
                let widened = |&i: &i32| if unsigned { i64::from(i as u32) } else { i64::from(i) };
                chunk.each(&mut reader, self, |it, batch| match it.meaning {
                    Meaning::Number => it.numbers(&batch, |i| widened(i) as f64),
                    _ => batch.cells(|cell, begins| it.integer(cell.map(widened), begins)),
                })?;
            }
            ColumnReader::Int64ColumnReader(mut reader) => {
                let unsigned = is_unsigned(&column);
                let exact = |&i: &i64| i.unsigned_abs() <= LARGEST_EXACT && !(unsigned && i < 0);
                chunk.each(&mut reader, self, |it, batch| {
                    if it.meaning == Meaning::Number && batch.values.iter().all(exact) {
                        return it.numbers(&batch, |&i| i as f64);
                    }
                    batch.cells(|cell, begins| {
                        // An unsigned integer beyond i64 is also beyond a double.
                        it.inexact |= unsigned && cell.is_some_and(|&i| i < 0);
                        it.integer(cell.copied(), begins);
                    });
                })?;
            }
            ColumnReader::Int96ColumnReader(mut reader) => {
                chunk.each(&mut reader, self, |it, batch| {
                    batch.cells(|cell, _| {
                        let text = cell.map(|moment| moment_text(i128::from(moment.to_nanos())));
                        it.push_text(text.as_deref());
                    });
                })?;
            }
            ColumnReader::FloatColumnReader(mut reader) => {
                chunk.each(&mut reader, self, |it, batch| it.numbers(&batch, |&x| f64::from(x)))?;
            }
            ColumnReader::DoubleColumnReader(mut reader) => {
                chunk.each(&mut reader, self, |it, batch| it.numbers(&batch, |&x| x))?;
            }
            ColumnReader::ByteArrayColumnReader(mut reader) => {
                chunk.each(&mut reader, self, |it, batch| {
                    batch.cells(|cell, begins| it.bytes(cell.map(AsBytes::as_bytes), begins));
                })?;
            }
            ColumnReader::FixedLenByteArrayColumnReader(mut reader) => {
                chunk.each(&mut reader, self, |it, batch| {
                    batch.cells(|cell, begins| it.bytes(cell.map(AsBytes::as_bytes), begins));
                })?;
            }
        }
        if let ColumnCells::Lists(lists) = &mut self.cells
            && !lists.end_row()
        {
            self.left_out = Some("lists of different lengths");
        }
        Ok(())
    }

    /// Adds cells of a numeric type: all at once if they are plain numbers and none is missing.
    fn numbers<T>(&mut self, batch: &DecodedCells<'_, T>, convert: impl Fn(&T) -> f64) {
        match (&mut self.cells, batch.plain()) {
            (ColumnCells::Single(Column::Numbers(cells)), Some(values))
                if self.meaning == Meaning::Number =>
            {
                let forgiving = self.forgiving;
                cells.extend(values.iter().map(|value| finite(convert(value), forgiving)));
            }
            _ => batch.cells(|cell, begins| self.number(cell.map(&convert), begins)),
        }
    }

    fn number(&mut self, number: Option<f64>, begins: bool) {
        let scaled = |number: f64| match self.meaning {
            Meaning::Decimal(scale) => number / 10_f64.powi(scale),
            _ => number,
        };
        match &mut self.cells {
            ColumnCells::Single(Column::Numbers(cells)) => {
                cells.push(finite(number.map_or(f64::NAN, scaled), self.forgiving));
            }
            ColumnCells::Lists(lists) => {
                if begins && !lists.end_row() {
                    self.left_out = Some("lists of different lengths");
                }
                lists.push(number, begins);
            }
            ColumnCells::Single(_) => self.push_text(number.map(|n| n.to_string()).as_deref()),
        }
    }

    fn integer(&mut self, integer: Option<i64>, begins: bool) {
        let text = match self.meaning {
            Meaning::Text => integer.map(|integer| integer.to_string()),
            Meaning::Date => integer.map(date_text),
            Meaning::Moment(per_second) => {
                integer.map(|i| moment_text(i128::from(i) * i128::from(1_000_000_000 / per_second)))
            }
            Meaning::Clock(per_second) => integer.map(|i| clock_text(i, per_second)),
            _ => {
                let beyond = |integer: i64| integer.unsigned_abs() > LARGEST_EXACT;
                // A decimal or a list cannot be an identifier.
                self.inexact |= self.meaning == Meaning::Number && integer.is_some_and(beyond);
                return self.number(integer.map(|integer| integer as f64), begins);
            }
        };
        self.push_text(text.as_deref());
    }

    fn bytes(&mut self, bytes: Option<&[u8]>, begins: bool) {
        match self.meaning {
            Meaning::Half => {
                let half = bytes.and_then(|bytes| <[u8; 2]>::try_from(bytes).ok());
                self.number(half.map(|half| f16::from_le_bytes(half).to_f64()), begins);
            }
            Meaning::Decimal(_) => {
                let long = |bytes: &&[u8]| bytes.len() > 16;
                if bytes.as_ref().is_some_and(long) && !self.forgiving {
                    self.left_out = Some("decimals of more than 16 bytes");
                }
                let bytes = bytes.filter(|bytes| !(self.forgiving && long(bytes)));
                // Big-endian, in two's complement.
                let integer = bytes.map(|bytes| {
                    let sign = if bytes.first().is_some_and(|&byte| byte >= 0x80) { -1 } else { 0 };
                    bytes
                        .iter()
                        .take(16)
                        .fold(sign, |integer: i128, &byte| integer << 8 | i128::from(byte))
                });
                self.number(integer.map(|integer| integer as f64), begins);
            }
            _ => match bytes.map(std::str::from_utf8).transpose() {
                Ok(text) => self.push_text(text.map(str::trim)),
                Err(_) if self.forgiving => self.push_text(None),
                Err(_) => self.left_out = Some("bytes that are not text"),
            },
        }
    }

    /// Missing text is the empty text.
    fn push_text(&mut self, text: Option<&str>) {
        if let ColumnCells::Single(Column::Text(cells)) = &mut self.cells {
            cells.push(text.unwrap_or_default());
        }
    }

    /// The column, or why there is none.
    fn finish(self, rows: usize) -> Result<std::result::Result<Column, &'static str>> {
        if let Some(why) = self.left_out {
            return Ok(Err(why));
        }
        Ok(match self.cells {
            ColumnCells::Single(column) => Ok(column),
            ColumnCells::Lists(lists) => lists.finish(rows)?.map(Column::Vectors),
        })
    }
}

/// A private number that is infinite counts as missing.
fn finite(number: f64, forgiving: bool) -> f64 {
    if forgiving && number.is_infinite() { f64::NAN } else { number }
}

/// One column's cells in one group of rows.
struct Chunk<'i, 'a> {
    pages: Pages<'i, 'a>,
    queue: PageQueue,
    /// The definition level of a cell that is not missing.
    definition: i16,
    repeated: bool,
    input: &'i Input<'a>,
    name: String,
}

/// Cells that were decoded together.
struct DecodedCells<'b, T> {
    /// The values of the cells that are not missing.
    values: &'b [T],
    cells: usize,
    definitions: &'b [i16],
    repetitions: &'b [i16],
    /// The definition level of a cell that is not missing.
    whole: i16,
}

impl<T> DecodedCells<'_, T> {
    /// Visits every cell, or `None` for a missing one, with whether it begins a row.
    fn cells(&self, mut visit: impl FnMut(Option<&T>, bool)) {
        let mut present = self.values.iter();
        for at in 0..self.cells {
            let there = self.definitions.get(at).is_none_or(|&level| level == self.whole);
            let begins = self.repetitions.get(at).is_none_or(|&level| level == 0);
            visit(if there { present.next() } else { None }, begins);
        }
    }

    /// The cells, if none is missing and each is a row.
    fn plain(&self) -> Option<&[T]> {
        (self.values.len() == self.cells && self.repetitions.is_empty()).then_some(self.values)
    }
}

impl Chunk<'_, '_> {
    /// Decodes all cells into `builder`.
    fn each<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        builder: &mut Builder,
        mut visit: impl FnMut(&mut Builder, DecodedCells<'_, T::T>),
    ) -> Result<()> {
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        while !self.pages.finished() {
            self.queue.put(self.pages.next()?);
            loop {
                values.clear();
                definitions.clear();
                repetitions.clear();
                let decode = || {
                    reader.read_records(
                        BLOCK,
                        (self.definition > 0).then_some(&mut definitions),
                        self.repeated.then_some(&mut repetitions),
                        &mut values,
                    )
                };
                // The crate trusts a page's contents too much.
                let (_, values_read, levels_read) = decoder_crash::contained(decode)
                    .ok_or_else(|| self.damaged("the decoder gave up"))?
                    .map_err(|error| self.damaged(&error.to_string()))?;
                if levels_read == 0 {
                    break;
                }
                let cells = DecodedCells {
                    values: &values[..values_read.min(values.len())],
                    cells: levels_read,
                    definitions: &definitions,
                    repetitions: &repetitions,
                    whole: self.definition,
                };
                visit(builder, cells);
                builder.cells.settle()?;
            }
        }
        Ok(())
    }

    fn damaged(&self, error: &str) -> Error {
        Error::failed(format!("a page cannot be decoded: {error}"))
            .at(format!("{}, column '{}'", self.input.origin, self.name))
            .cure("the file is damaged: copy or download it again")
    }
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            column.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    }
}

fn meaning(column: &ColumnDescriptor) -> Meaning {
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    };
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Meaning::Date,
        (Some(LogicalType::Timestamp(moment)), _) => Meaning::Moment(per_second(&moment.unit)),
        (Some(LogicalType::Time(clock)), _) => Meaning::Clock(per_second(&clock.unit)),
        (Some(LogicalType::Decimal(decimal)), _) => Meaning::Decimal(decimal.scale),
        (Some(LogicalType::Float16), _) => Meaning::Half,
        (_, ConvertedType::DECIMAL) => Meaning::Decimal(column.type_scale()),
        (_, ConvertedType::TIMESTAMP_MILLIS) => Meaning::Moment(1_000),
        (_, ConvertedType::TIMESTAMP_MICROS) => Meaning::Moment(1_000_000),
        (_, ConvertedType::TIME_MILLIS) => Meaning::Clock(1_000),
        (_, ConvertedType::TIME_MICROS) => Meaning::Clock(1_000_000),
        _ => match column.physical_type() {
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY | Type::INT96 => Meaning::Text,
            _ => Meaning::Number,
        },
    }
}

fn date_text(days: i64) -> String {
    let date = days.checked_mul(24).map(SignedDuration::from_hours);
    let date = date.and_then(|since| Date::constant(1970, 1, 1).checked_add(since).ok());
    date.map_or_else(|| days.to_string(), |date| date.to_string())
}

fn moment_text(nanoseconds: i128) -> String {
    match Timestamp::from_nanosecond(nanoseconds) {
        Ok(moment) => moment.to_zoned(TimeZone::UTC).datetime().to_string(),
        Err(_) => nanoseconds.to_string(),
    }
}

fn clock_text(since_midnight: i64, per_second: i64) -> String {
    let since = since_midnight.checked_mul(1_000_000_000 / per_second);
    let time = since.map(SignedDuration::from_nanos);
    let time = time.and_then(|since| Time::midnight().checked_add(since).ok());
    time.map_or_else(|| since_midnight.to_string(), |time| time.to_string())
}
