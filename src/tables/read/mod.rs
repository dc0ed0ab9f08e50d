//! Reads files of every kind as tables. The first bytes of a file decide its kind; its name decides
//! only where they do not.
//!
//! | module | reads |
//! |---|---|
//! | [`csv`] | CSV, TSV, any delimiter |
//! | [`parquet`], [`pages`] | Parquet: columns · their pages |
//! | [`numpy`] | NPY, NPZ |
//! | [`idx`] | IDX (the MNIST family) |
//! | [`safetensors`] | safetensors |
//! | [`cifar`] | CIFAR's binary files |
//! | [`libsvm`] | LIBSVM and SVMlight text |
//! | [`arff`] | Weka's ARFF |
//! | [`input`], [`records`], [`decimal`], [`mod@array`] | bytes, unpacked, with progress · rows of text · plain numbers · arrays of numbers |
//! | [`parts`] | one table in several files: a folder, a pattern |
//! | [`in_turn`] | threads that work on pieces and add them in order |
//! | [`decoder_crash`] | decoders that crash on damaged files |
//!
//! Booleans become 0 and 1. A whole number beyond 2⁵³, which a double cannot hold, is an error in an
//! array, makes its column text in Parquet, and is rounded in text; columns of a CSV file that
//! [`TableReader::with_names`] names stay text then.
//!
//! Every text format, IDX, NPY and CIFAR may be compressed with gzip. A header is trusted only up
//! to the length of the file: no reader allocates more than the file can hold.

pub mod arff;
mod array;
pub mod cifar;
pub mod csv;
mod decimal;
pub mod decoder_crash;
pub mod idx;
pub mod in_turn;
mod input;
pub mod libsvm;
mod lists;
pub mod numpy;
mod pages;
pub mod parquet;
pub mod parts;
mod records;
pub mod safetensors;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use self::csv::Dialect;
use self::input::Input;
use super::table::Table;
use crate::error::{Error, Result};

pub use self::input::{Overflow, ReadingProgress, Unwatched};

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values and their relatives.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// One array of NumPy.
    Npy,
    /// Several arrays of NumPy.
    Npz,
    /// The format of MNIST.
    Idx,
    /// Tensors with names.
    Safetensors,
    /// The binary version of CIFAR.
    Cifar,
    /// Sparse rows of LIBSVM.
    Libsvm,
    /// The format of Weka and OpenML.
    Arff,
}

impl Format {
    /// All formats, for tests of every reader. Each arm names the next format, so the compiler asks
    /// for a new one here.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::successors(Some(Self::Csv), |format| match format {
            Self::Csv => Some(Self::Parquet),
            Self::Parquet => Some(Self::Npy),
            Self::Npy => Some(Self::Npz),
            Self::Npz => Some(Self::Idx),
            Self::Idx => Some(Self::Safetensors),
            Self::Safetensors => Some(Self::Cifar),
            Self::Cifar => Some(Self::Libsvm),
            Self::Libsvm => Some(Self::Arff),
            Self::Arff => None,
        })
    }

    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Idx => "IDX",
            Self::Safetensors => "safetensors",
            Self::Cifar => "CIFAR binary",
            Self::Libsvm => "LIBSVM",
            Self::Arff => "ARFF",
        }
    }
}

/// The session's description of a file beyond its name.
#[derive(Debug, Clone, Default)]
pub enum Reading {
    /// A self-explanatory file.
    #[default]
    Plain,
    /// A text table.
    Delimited(Dialect),
    /// These arrays of it, each perhaps with a name for its column: `pixel = train_images`.
    Arrays(Vec<String>),
    /// LIBSVM text with vectors of this width.
    Sparse(usize),
}

/// Reads a file, or all [`parts`] of a table in several files.
pub fn read(path: &Path, reading: &Reading, progress: &mut dyn ReadingProgress) -> Result<Table> {
    TableReader::default().read(path, reading, progress)
}

/// How files are read: those of public records by default.
#[derive(Debug, Clone, Default)]
pub struct TableReader {
    forgiving: bool,
    overflow: Option<Overflow>,
    names: Vec<String>,
}

impl TableReader {
    /// A reader of private records.
    ///
    /// Only the curator may learn that one of the records is unlike the others. So no single record
    /// makes the reading fail, and none changes the columns: an unreadable record is a row in which
    /// every value is missing. (In text tables and Parquet a cell can make a column of numbers one of
    /// text. Nothing follows from that, because a cell means the same in both.) Possible errors of a
    /// record, by format:
    ///
    /// * *text tables*: too few or too many cells, text that is not UTF-8, a quote that is not closed.
    ///   ***A record is a line that is not empty**: a line end inside quotes ends it, because otherwise
    ///   one open quote would swallow the records after it;
    /// * *LIBSVM, ARFF*: a line that is not of the format, an index beyond the width. The width must be
    ///   declared, because the largest index of the file comes from a single record;
    /// * *Parquet*: text that is not UTF-8, infinite numbers, lists of another length than most;
    /// * *arrays*: infinite numbers, integers that a double cannot hold, text that is not Unicode.
    ///
    /// Errors of the file as a whole still fail: its header, its compression, its kind, a line of more
    /// than 64 MiB. In a text table without a header the first record decides the separator, unless
    /// `delimiter` gives it, and lines before it that look like comments (`#`, `%`, `|` and no
    /// separator) are treated as comments.
    pub fn private() -> Self {
        Self { forgiving: true, ..Self::default() }
    }

    /// Sets the columns of a CSV file that stay text if they have whole numbers that would be
    /// written otherwise: `007`, or more digits than a number keeps.
    pub fn with_names(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Sets the place for tables that are too large for memory.
    pub fn with(self, overflow: Overflow) -> Self {
        Self { overflow: Some(overflow), ..self }
    }

    /// Reads a file, or all [`parts`] of a table in several files.
    pub fn read(
        &self,
        path: &Path,
        reading: &Reading,
        progress: &mut dyn ReadingProgress,
    ) -> Result<Table> {
        whole(path, &mut |part, of| {
            let mut input = Input::open(part, progress)?;
            input.forgiving = self.forgiving;
            input.overflow = self.overflow.as_ref().map(|overflow| overflow.for_one(of));
            input.names.clone_from(&self.names);
            finish(&input, table(&input, &extension(part), reading))
        })
    }
}

/// One table of a file or of all parts.
fn whole(path: &Path, read: &mut dyn FnMut(&Path, usize) -> Result<Table>) -> Result<Table> {
    let Some(parts) = parts::of(path)? else {
        return read(path, 1);
    };
    let tables = parts.iter().map(|part| read(part, parts.len()));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let mut table = joined(&tables)?;
    table.origin = path.display().to_string();
    Ok(table)
}

/// The tables of several files as one.
pub fn joined(tables: &[Table]) -> Result<Table> {
    Table::concat(&tables.iter().collect::<Vec<_>>()).map_err(|error| {
        let cure = error.cure_text().unwrap_or_default().to_owned();
        error.cure(format!(
            "{cure}; or name the files one by one, each as its own dataset: all files of a folder or \
             a pattern are read as one"
        ))
    })
}

/// Reads a self-explanatory file.
pub fn read_plainly(path: &Path) -> Result<Table> {
    read(path, &Reading::Plain, &mut Unwatched)
}

/// Reads a file to see its columns, before it is known whether it is private: an unreadable record
/// does not stop the reading.
pub fn read_for_columns(path: &Path, reading: &Reading, overflow: &Overflow) -> Result<Table> {
    let read =
        |reader: TableReader| reader.with(overflow.clone()).read(path, reading, &mut Unwatched);
    read(TableReader::default()).or_else(|error| read(TableReader::private()).map_err(|_| error))
}

/// Reads bytes that are in memory; `origin` serves as their file's name.
pub fn read_bytes(origin: &str, bytes: &[u8], reading: &Reading) -> Result<Table> {
    read_bytes_as(false, origin, bytes, reading)
}

/// Reads private records that are in memory (see [`TableReader::private`]).
pub fn read_private_bytes(origin: &str, bytes: &[u8], reading: &Reading) -> Result<Table> {
    read_bytes_as(true, origin, bytes, reading)
}

fn read_bytes_as(private: bool, origin: &str, bytes: &[u8], reading: &Reading) -> Result<Table> {
    let mut nobody = Unwatched;
    let mut input = Input::of_bytes(origin, bytes, &mut nobody)?;
    input.forgiving = private;
    finish(&input, table(&input, &extension(Path::new(origin)), reading))
}

/// The first bytes of a file, unpacked if it is compressed, and whether they are the whole file.
pub fn beginning(path: &Path, most: u64) -> Result<(Vec<u8>, bool)> {
    let mut nobody = Unwatched;
    let input = Input::open(path, &mut nobody)?;
    let mut bytes = Vec::new();
    input.plain().take(most + 1).read_to_end(&mut bytes).map_err(|error| input.io(&error))?;
    let whole = bytes.len() as u64 <= most;
    bytes.truncate(most as usize);
    Ok((bytes, whole))
}

/// The kind of a file, or of the first part of a table in several files.
pub fn format(path: &Path) -> Result<Format> {
    let parts = parts::of(path)?;
    let path = parts.iter().flatten().next().map_or(path, PathBuf::as_path);
    let mut nobody = Unwatched;
    detect(&Input::open(path, &mut nobody)?, &extension(path))
}

/// An array in a file of several.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayRows {
    pub name: String,
    /// The number of its records.
    pub rows: usize,
}

/// The arrays of an NPZ or safetensors file that have records; none of another file.
pub fn arrays(path: &Path) -> Result<Vec<ArrayRows>> {
    let mut nobody = Unwatched;
    if parts::of(path)?.is_some() {
        return Ok(Vec::new());
    }
    let input = Input::open(path, &mut nobody)?;
    let entries = match detect(&input, &extension(path))? {
        Format::Npz => numpy::npz_entries(&input)?,
        Format::Safetensors => safetensors::entries(&input, &[])?.0,
        _ => Vec::new(),
    };
    let with_records = entries.into_iter().filter(|entry| !entry.layout.shape.is_empty());
    Ok(with_records.map(|it| ArrayRows { rows: it.layout.rows(), name: it.name }).collect())
}

/// Files that belong together row by row: column name → file with one array.
pub fn read_together(
    files: &BTreeMap<String, PathBuf>,
    mut read: impl FnMut(&Path) -> Result<Table>,
) -> Result<Table> {
    let mut names = Vec::new();
    let mut columns = Vec::new();
    let mut origins = Vec::new();
    for (name, path) in files {
        let mut table = read(path)?;
        let (Some(column), 0) = (table.columns.pop(), table.columns.len()) else {
            return Err(Error::failed("expected one array, found a table of several columns")
                .at(table.origin.clone())
                .cure("name it by itself: file(…)"));
        };
        if let Some(first) = columns.first().map(super::column::Column::len)
            && first != column.len()
        {
            return Err(Error::failed(format!(
                "it has {} records, {} has {first}",
                column.len(),
                origins[0]
            ))
            .at(table.origin.clone())
            .cure("name files of the same records"));
        }
        names.push(name.clone());
        columns.push(column);
        origins.push(table.origin);
    }
    if columns.is_empty() {
        return Err(Error::usage("no file is named").cure("name at least one"));
    }
    Table::of_rows(origins.join(" + "), names, columns)
}

/// A stopped reading fails somewhere deep down; this gives the reason.
fn finish(input: &Input, result: Result<Table>) -> Result<Table> {
    if input.was_stopped() {
        return Err(Error::interrupted("reading was stopped").at(input.origin.clone()));
    }
    result
}

fn extension(path: &Path) -> String {
    let name =
        path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default()
}

/// The names of a column and of its array: `pixel = train_images`, or one name for both.
fn named(array: &str) -> (&str, &str) {
    let (column, array) = array.split_once('=').unwrap_or((array, array));
    (column.trim(), array.trim())
}

/// A table of arrays with the names that were asked for.
fn with_column_names(table: Table, reading: &Reading) -> Result<Table> {
    let Reading::Arrays(arrays) = reading else { return Ok(table) };
    let names = arrays.iter().map(|array| named(array).0.to_owned());
    table.with_names(names.collect())
}

fn table(input: &Input, extension: &str, reading: &Reading) -> Result<Table> {
    let format = match (detect(input, extension)?, reading) {
        // If the session declares LIBSVM text, the first record need not show it.
        (Format::Csv, Reading::Sparse(_)) => Format::Libsvm,
        (format, _) => format,
    };
    let arrays: Vec<String> = match reading {
        Reading::Arrays(arrays) => arrays.iter().map(|array| named(array).1.to_owned()).collect(),
        _ => Vec::new(),
    };
    match (format, reading) {
        // LIBSVM text and CSV without a header can look alike.
        (Format::Csv | Format::Libsvm, Reading::Delimited(dialect)) => {
            return csv::read_input(input, dialect);
        }
        (Format::Libsvm, Reading::Sparse(width)) => return libsvm::read(input, Some(*width)),
        (_, Reading::Plain) | (Format::Npz | Format::Safetensors, Reading::Arrays(_)) => {}
        _ => {
            let wanted = match reading {
                Reading::Delimited(_) => "a text table",
                Reading::Sparse(_) => "LIBSVM text",
                _ => "a file of several arrays (NPZ, safetensors)",
            };
            return Err(input
                .error(format!("expected {wanted}, found a file of the kind {}", format.name()))
                .cure("name it as source: file(…)"));
        }
    }
    match format {
        Format::Csv => csv::read_input(input, &Dialect::default()),
        Format::Parquet => parquet::read(input),
        Format::Npy => numpy::read_npy(input, "x"),
        Format::Npz => with_column_names(numpy::read_npz(input, &arrays)?, reading),
        Format::Idx => idx::read(input),
        Format::Safetensors => with_column_names(safetensors::read(input, &arrays)?, reading),
        Format::Cifar => cifar::read(input),
        Format::Libsvm if input.forgiving => Err(input
            .error("the width of its vectors is not declared, and its largest index is private")
            .cure("name it with its width: source: sparse(file: …, width: …)")),
        Format::Libsvm => libsvm::read(input, None),
        Format::Arff => arff::read(input),
    }
}

fn detect(input: &Input, extension: &str) -> Result<Format> {
    let start = input.start.as_slice();
    if input.length == 0 || start.trim_ascii().is_empty() {
        return Err(input.error("the file is empty").cure("copy or download it again"));
    }
    if let Some((what, cure)) = foreign(start, extension) {
        return Err(input.error(what).cure(cure));
    }
    let packed_archive = |format: Format| {
        if !input.packed {
            return Ok(format);
        }
        Err(input
            .error(format!("a {} file inside gzip cannot be read anywhere", format.name()))
            .cure("unpack it first: gunzip"))
    };
    if start.starts_with(numpy::MAGIC) {
        return Ok(Format::Npy);
    }
    if start.starts_with(b"PAR1") {
        return packed_archive(Format::Parquet);
    }
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        packed_archive(Format::Npz)?;
        return archive(input);
    }
    if idx::is_idx(start) {
        return Ok(Format::Idx);
    }
    if safetensors::is_safetensors(start, input.length) {
        return packed_archive(Format::Safetensors);
    }
    if extension == "bin" {
        return Ok(Format::Cifar);
    }
    let promised = match extension {
        "npy" => Some(("an NPY file", "\\x93NUMPY")),
        "npz" => Some(("an NPZ file", "PK")),
        "parquet" | "pq" => Some(("a Parquet file", "PAR1")),
        "safetensors" => Some(("a safetensors file", "the length of a JSON header")),
        _ if extension.ends_with("ubyte") => Some(("an IDX file", "two zero bytes and a type")),
        _ => None,
    };
    if let Some((what, magic)) = promised {
        return Err(input
            .error(format!("its name says {what}, but it does not start with {magic} (byte 0)"))
            .cure("copy or download it again, or give it the right name"));
    }
    let text = String::from_utf8_lossy(start);
    if arff::is_arff(&text) {
        return Ok(Format::Arff);
    }
    let libsvm_name = matches!(extension, "libsvm" | "svmlight" | "svm");
    // The last line may be cut off.
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let cut_off = |line: &str| {
        let end = line.trim_end().rfind(' ').unwrap_or(line.len());
        libsvm::is_libsvm(&line[..end])
    };
    if libsvm_name
        || line.is_some_and(|line| {
            libsvm::is_libsvm(line) || (text.lines().count() == 1 && cut_off(line))
        })
    {
        return Ok(Format::Libsvm);
    }
    Ok(Format::Csv)
}

/// NPZ files are zip archives, and so are other files.
fn archive(input: &Input) -> Result<Format> {
    let members = numpy::members(input)?;
    let has = |wanted: &str| members.iter().any(|name| name.ends_with(wanted));
    if has(".npy") {
        return Ok(Format::Npz);
    }
    let (what, cure) = if has("[Content_Types].xml") {
        ("this is a spreadsheet or document (.xlsx, .docx)", "save the sheet as CSV")
    } else if has("data.pkl") {
        ("this is a file of PyTorch", "save its tensors as safetensors or NPZ")
    } else if members.is_empty() {
        ("this is an empty zip archive", "save at least one array in it")
    } else {
        ("this is a zip archive without arrays of NumPy", "unpack it and name one of its files")
    };
    Err(input.error(what).cure(cure))
}

/// Kinds that are recognised but not read: their names, and advice.
fn foreign(start: &[u8], extension: &str) -> Option<(&'static str, &'static str)> {
    const PANDAS: &str = "save it as Parquet or CSV, for instance with pandas";
    const UNPACK: &str = "unpack it first, or compress with gzip";
    const BY_START: [(&[u8], &str, &str); 17] = [
        (
            b"version https://git-lfs",
            "this is a pointer of git-lfs, not the file itself",
            "fetch the file: git lfs pull",
        ),
        (b"ARROW1", "this is an Arrow (Feather) file", PANDAS),
        (b"FEA1", "this is an old Feather file", PANDAS),
        (b"ORC", "this is an ORC file", PANDAS),
        (b"Obj\x01", "this is an Avro file", PANDAS),
        (b"\x89HDF\r\n\x1a\n", "this is an HDF5 file", PANDAS),
        (b"SQLite format 3", "this is a database of SQLite", "export the table as CSV"),
        (
            b"MATLAB 5.0",
            "this is a file of MATLAB",
            "save its arrays as NPZ: scipy.io.loadmat, numpy.savez",
        ),
        (
            b"\xd0\xcf\x11\xe0",
            "this is an old spreadsheet or document (.xls)",
            "save the sheet as CSV",
        ),
        (b"\x28\xb5\x2f\xfd", "the file is compressed with zstd", UNPACK),
        (b"BZh", "the file is compressed with bzip2", UNPACK),
        (b"\xfd7zXZ", "the file is compressed with xz", UNPACK),
        (b"7z\xbc\xaf", "this is a 7-Zip archive", UNPACK),
        (b"\x89PNG", "this is one picture (PNG)", "put all pictures into one array: NPZ or IDX"),
        (
            b"\xff\xd8\xff",
            "this is one picture (JPEG)",
            "put all pictures into one array: NPZ or IDX",
        ),
        (b"%PDF", "this is a PDF document", "save the table as CSV"),
        (b"PARE", "this is an encrypted Parquet file", "decrypt it first"),
    ];
    let found = BY_START.iter().find(|(magic, ..)| start.starts_with(magic));
    if let Some((_, what, cure)) = found {
        return Some((what, cure));
    }
    let text = start.trim_ascii_start();
    let is_html = |tag: &[u8]| text.get(..tag.len()).is_some_and(|s| s.eq_ignore_ascii_case(tag));
    if is_html(b"<!doctype html") || is_html(b"<html") {
        return Some(("this is a web page", "the download failed: fetch the file itself"));
    }
    if text.starts_with(b"{") || text.starts_with(b"[") {
        return Some(("this is JSON", PANDAS));
    }
    match (start, extension) {
        ([0x80, 2..=5, ..], _) | (_, "pkl" | "pickle") => Some((
            "this is a pickle of Python, which runs code when it is opened",
            "save its arrays as NPZ or its table as Parquet",
        )),
        (_, "onnx") => Some((
            "this is a network (ONNX), not data",
            "name it as the extractor of features, not as a dataset",
        )),
        (_, "tar" | "tgz") => {
            Some(("this is a tar archive", "unpack it and name one of its files"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use super::array::tests::npy;
    use super::*;
    use crate::Column;
    use crate::write::{WriteFormat, bytes};

    /// The number of rows of [`columns`].
    const ROWS: u32 = 50_000;
    /// The number of odd records that [`sample`] knows.
    const ODD: usize = 4;

    /// Rows with a byte, a single, a double with gaps, a few texts, a name for each row, and a
    /// label. With `odd`, the last row has another double and another text.
    fn columns(rows: u32, odd: Option<usize>) -> Vec<(String, Column)> {
        let rows = 0..rows;
        let odd = move |row: u32| odd.filter(|_| row + 1 == ROWS);
        let double = |row: u32| match odd(row) {
            Some(odd) => NUMBERS[odd],
            None if row % 7 == 3 => f64::NAN,
            None => f64::from(row).sqrt(),
        };
        let text = |row: u32| match odd(row) {
            Some(odd) => ["", "7", "1e999", "\u{fffd}"][odd].to_owned(),
            None => ["a", "b", "", "c"][row as usize / 5 % 4].to_owned(),
        };
        [
            ("byte", Column::Numbers(rows.clone().map(|row| f64::from(row % 256)).collect())),
            ("single", Column::Numbers(rows.clone().map(|row| f64::from(row) / 8.0).collect())),
            ("double", Column::Numbers(rows.clone().map(double).collect())),
            ("text", Column::Text(rows.clone().map(text).collect())),
            ("name", Column::Text(rows.clone().map(|row| format!("é{row}")).collect())),
            ("y", Column::Numbers(rows.map(|row| f64::from(row * 37 % 101)).collect())),
        ]
        .map(|(name, column)| (name.to_owned(), column))
        .to_vec()
    }

    const NUMBERS: [f64; ODD] = [f64::NAN, f64::INFINITY, 1e300, -0.0];

    /// A file of this format under its usual name. With `odd`, one record is another one, which may
    /// be unreadable.
    fn sample(format: Format, odd: Option<usize>) -> (&'static str, Vec<u8>, Reading) {
        let text = |head: &str, rows: usize, row: &dyn Fn(usize) -> String, odds: [&[u8]; ODD]| {
            let usual = (0..rows - usize::from(odd.is_some())).flat_map(|at| row(at).into_bytes());
            let last = odd.map_or(&[][..], |odd| odds[odd]);
            head.bytes().chain(usual).chain(last.iter().copied()).collect::<Vec<_>>()
        };
        // 9 000 rows of three numbers, of which an odd one comes last.
        let number = |at: u32| match odd {
            Some(odd) if at >= 3 * 8_999 => NUMBERS[odd],
            _ => f64::from(at).sqrt(),
        };
        let whole = |row: u32| match odd {
            Some(odd) if row == 8_999 => [i64::MAX, i64::MIN, (1 << 53) + 1, 255][odd],
            _ => i64::from(row % 3),
        };
        let doubles = || (0..27_000).flat_map(|at| number(at).to_le_bytes()).collect::<Vec<u8>>();
        let singles = |bytes: fn(f32) -> [u8; 4]| {
            (0..27_000).flat_map(|at| bytes(number(at) as f32)).collect::<Vec<u8>>()
        };
        let labels = || (0..9_000).flat_map(|row| whole(row).to_le_bytes()).collect::<Vec<u8>>();
        match format {
            Format::Csv => {
                let usual = ROWS - u32::from(odd.is_some());
                let mut file = bytes(WriteFormat::Csv, &columns(usual, None)).unwrap();
                let odds: [&[u8]; ODD] =
                    [b"1,2\n", b"\"open,1,2,a,b,c\n", b"\xff,1,2,a,b,c\n", b"x,1e999,y,,,z\n"];
                file.extend(odd.map_or(&[][..], |odd| odds[odd]));
                ("t.csv", file, Reading::Plain)
            }
            Format::Parquet => {
                let file = bytes(WriteFormat::Parquet, &columns(ROWS, odd)).unwrap();
                ("t.parquet", file, Reading::Plain)
            }
            Format::Npy => ("t.npy", npy("<f8", false, &[9_000, 3], &[doubles()]), Reading::Plain),
            Format::Npz => {
                let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
                for (name, array) in [
                    ("X.npy", npy("<f8", false, &[9_000, 3], &[doubles()])),
                    ("y.npy", npy("<i8", false, &[9_000], &[labels()])),
                ] {
                    archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                    std::io::Write::write_all(&mut archive, &array).unwrap();
                }
                ("t.npz", archive.finish().unwrap().into_inner(), Reading::Plain)
            }
            Format::Idx => {
                let axes = [9_000_u32, 3].map(u32::to_be_bytes);
                let file = [&[0, 0, 0x0D, 2][..], &axes.concat(), &singles(f32::to_be_bytes)];
                ("t-idx2-ubyte", file.concat(), Reading::Plain)
            }
            Format::Safetensors => {
                use ::safetensors::tensor::{Dtype, TensorView, serialize};
                let (x, y) = (singles(f32::to_le_bytes), labels());
                let tensors = [
                    ("x", TensorView::new(Dtype::F32, vec![9_000, 3], &x).unwrap()),
                    ("y", TensorView::new(Dtype::I64, vec![9_000], &y).unwrap()),
                ];
                ("t.safetensors", serialize(tensors, None).unwrap(), Reading::Plain)
            }
            Format::Cifar => {
                let byte = |at: u32| if at < 59 * 3_073 { at % 251 } else { 255 } as u8;
                let usual = |at: u32| (at % 251) as u8;
                let byte = |at| if odd.is_some() { byte(at) } else { usual(at) };
                ("t.bin", (0..60 * 3_073).map(byte).collect(), Reading::Plain)
            }
            Format::Libsvm => {
                let row = |at: usize| format!("{} {}:{at}.5 {}:1\n", at % 3, at % 7, 7 + at % 5);
                let odds: [&[u8]; ODD] = [b"1 one:2\n", b"1 99:1\n", b"x 1:1\n", b"\xff 1:1e999\n"];
                ("t.svm", text("", 9_000, &row, odds), Reading::Sparse(12))
            }
            Format::Arff => {
                let names = (0..1_000).map(|at| format!("@attribute x{at} numeric\n"));
                let head = format!(
                    "@relation r\n{}@attribute t string\n@data\n",
                    names.collect::<String>()
                );
                let row = |at: usize| format!("{{{} 0.25, 1000 w{}}}\n", at % 1_000, at % 70);
                let odds: [&[u8]; ODD] = [b"1,2\n", b"{2000 1}\n", b"{0 word}\n", b"{1000 \xff}\n"];
                ("t.arff", text(&head, 1_100, &row, odds), Reading::Plain)
            }
        }
    }

    /// What others may know of a private table: its columns, and which hold vectors of which width.
    /// Whether a column of text tables and of Parquet is numbers or text depends on its cells, and
    /// nothing follows from it: a cell means the same in both.
    fn public_columns(format: Format, table: &Table) -> Vec<(String, String)> {
        let free = matches!(format, Format::Csv | Format::Parquet);
        let kind = |column: &Column| match column {
            Column::Vectors(vectors) => format!("vectors of {}", vectors.width()),
            Column::Numbers(_) | Column::Text(_) if free => "numbers or text".to_owned(),
            Column::Numbers(_) => "numbers".to_owned(),
            Column::Text(_) => "text".to_owned(),
        };
        table.names.iter().cloned().zip(table.columns.iter().map(kind)).collect()
    }

    #[test]
    fn no_private_record_changes_the_columns_or_their_number_of_rows() {
        for format in Format::all() {
            let read = |odd| {
                let (name, file, reading) = sample(format, odd);
                let input = Input::of_bytes(name, &file, &mut Unwatched).map(|input| {
                    assert_eq!(detect(&input, &extension(Path::new(name))).unwrap(), format);
                });
                input.unwrap();
                let table = read_private_bytes(name, &file, &reading);
                table.unwrap_or_else(|error| panic!("{format:?}, {odd:?}: {error}"))
            };
            let usual = read(None);
            for odd in (0..ODD).map(Some) {
                let table = read(odd);
                assert!(format == Format::Cifar || table != usual, "{format:?}, {odd:?}");
                assert_eq!(
                    (public_columns(format, &table), table.rows(), &table.remarks),
                    (public_columns(format, &usual), usual.rows(), &usual.remarks),
                    "{format:?}, {odd:?}"
                );
            }
        }
    }

    /// The file read into memory, and onto the disk.
    fn both(path: &Path) -> (Table, Table) {
        both_above(path, &Reading::Plain, 1 << 16)
    }

    fn both_above(path: &Path, reading: &Reading, above: u64) -> (Table, Table) {
        let overflow = Overflow { folder: path.parent().unwrap().to_path_buf(), above };
        let read = |reader: TableReader| reader.read(path, reading, &mut Unwatched).unwrap();
        (read(TableReader::private()), read(TableReader::private().with(overflow)))
    }

    #[test]
    fn a_table_on_the_disk_is_the_same_table() {
        let folder = tempfile::tempdir().unwrap();
        for (format, odd) in Format::all().flat_map(|format| [(format, None), (format, Some(0))]) {
            let (name, file, reading) = sample(format, odd);
            let path = folder.path().join(name);
            fs::write(&path, file).unwrap();
            let (memory, disk) = both_above(&path, &reading, 1 << 16);
            assert!(memory.columns.iter().all(|column| column.space().is_none()), "{name}");
            // The labels of sparse rows stay in memory.
            let held = usize::from(format == Format::Libsvm);
            assert!(disk.columns.iter().skip(held).all(|it| it.space().is_some()), "{name}");
            assert!(memory == disk, "{name}");
            assert_eq!(memory.duplicated_rows(), disk.duplicated_rows(), "{name}");
            let rows: Vec<usize> = (0..memory.rows()).filter(|row| row % 3 != 1).collect();
            assert!(memory.select(&rows).unwrap() == disk.select(&rows).unwrap(), "{name}");
            let twice = |table: &Table| Table::concat(&[table, table]).unwrap();
            assert!(twice(&memory) == twice(&disk), "{name}");
            assert!(twice(&disk).space().is_some(), "{name}");
        }
    }

    #[test]
    fn a_column_that_turns_out_to_be_text_stays_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("late.csv");
        let mut text = "x,y\n".to_owned();
        (0..60_000).for_each(|row| writeln!(text, "{row},{}", row % 3).unwrap());
        text.push_str("none of these,2\n");
        fs::write(&path, text).unwrap();
        let (memory, disk) = both(&path);
        assert!(memory == disk && disk.columns[0].space().is_some());
        let Column::Text(texts) = &disk.columns[0] else { panic!("not text") };
        assert_eq!((texts.len(), texts.get(59_999).as_ref()), (60_001, "59999"));
        assert_eq!(texts.get(60_000), "none of these");
    }

    #[test]
    fn arff_rows_move_to_the_disk_while_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.arff");
        let mut plain =
            "@relation r\n@attribute x numeric\n@attribute t string\n@data\n".to_owned();
        (0..700_000).for_each(|row| writeln!(plain, "{}.5,w{}", row % 999, row % 70).unwrap());
        // A few bytes for a row with many cells.
        let mut sparse = "@relation r\n".to_owned();
        (0..2_000).for_each(|at| writeln!(sparse, "@attribute x{at} numeric").unwrap());
        sparse += "@data\n";
        (0..1_100).for_each(|row| writeln!(sparse, "{{{} 0.25}}", row % 2_000).unwrap());
        for text in [plain, sparse] {
            fs::write(&path, text).unwrap();
            let (memory, disk) = both(&path);
            assert!(memory == disk && memory.space().is_none());
            assert!(disk.columns.iter().all(|column| column.space().is_some()));
        }
    }

    #[test]
    fn texts_that_become_many_move_to_the_disk_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let long = "x".repeat(300);
        let mut text = "note,y\n".to_owned();
        for row in 0..30_000 {
            let number = if row < 15_000 { String::new() } else { row.to_string() };
            writeln!(text, "{number}{long},{}", row % 3).unwrap();
        }
        fs::write(&path, text).unwrap();
        let (memory, disk) = both_above(&path, &Reading::Plain, 1 << 20);
        assert!(memory == disk);
        assert!(disk.columns.iter().all(|column| column.space().is_some()));
        let (_, few) = both_above(&path, &Reading::Plain, 1 << 24);
        assert!(few.space().is_none());
    }

    #[test]
    fn arrays_and_sparse_rows_are_the_same_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let row = |row: usize| format!("{} {}:{}.5 {}:1\n", row % 3, row % 7, row, 7 + row % 5);
        // A private line that cannot be read has no numbers.
        let sparse = (0..9_000).map(row).collect::<String>() + "1 one:2\n" + &row(7);
        let mut digits = vec![0, 0, 8, 3];
        for axis in [900_u32, 7, 5] {
            digits.extend(axis.to_be_bytes());
        }
        digits.extend((0..900 * 35_u32).map(|at| (at % 251) as u8));
        let numbers: Vec<u8> =
            (0..9_000_u32).flat_map(|at| (at as f32).sqrt().to_le_bytes()).collect();
        let of_shape = |shape| {
            ::safetensors::tensor::TensorView::new(::safetensors::Dtype::F32, shape, &numbers)
                .unwrap()
        };
        let tensors = [("x", of_shape(vec![1_500, 6]))];
        let tensors = ::safetensors::serialize(tensors, None).unwrap();
        let files = [
            ("t.svm", sparse.into_bytes(), Reading::Sparse(12)),
            ("t-idx3-ubyte", digits, Reading::Plain),
            ("t.safetensors", tensors, Reading::Plain),
        ];
        for (name, file, reading) in files {
            let path = folder.path().join(name);
            fs::write(&path, file).unwrap();
            let above = 1 << 14;
            let overflow = Overflow { folder: folder.path().to_path_buf(), above };
            let read = |reader: TableReader| reader.read(&path, &reading, &mut Unwatched).unwrap();
            let memory = read(TableReader::private());
            let disk = read(TableReader::private().with(overflow));
            assert!(memory.space().is_none() && disk.space().is_some(), "{name}");
            assert!(memory == disk, "{name}");
        }
    }

    #[test]
    fn a_disk_without_a_place_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, bytes(WriteFormat::Csv, &columns(ROWS, None)).unwrap()).unwrap();
        let nowhere = Overflow { folder: "/proc/nowhere".into(), above: 1 << 16 };
        let told =
            TableReader::private().with(nowhere).read(&path, &Reading::Plain, &mut Unwatched);
        assert!(told.err().unwrap().to_string().contains("/proc/nowhere"));
    }
}
