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
    /// These arrays of it.
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
    /// every value is missing. Possible errors of a record, by format:
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
    let mut table = Table::concat(&tables.iter().collect::<Vec<_>>())?;
    table.origin = path.display().to_string();
    Ok(table)
}

/// Reads a self-explanatory file.
pub fn read_plainly(path: &Path) -> Result<Table> {
    read(path, &Reading::Plain, &mut Unwatched)
}

/// Reads a file to see its columns, before it is known whether it is private: an unreadable record
/// does not stop the reading.
pub fn read_for_columns(path: &Path, overflow: &Overflow) -> Result<Table> {
    let read = |reader: TableReader| {
        reader.with(overflow.clone()).read(path, &Reading::Plain, &mut Unwatched)
    };
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

fn table(input: &Input, extension: &str, reading: &Reading) -> Result<Table> {
    let format = match (detect(input, extension)?, reading) {
        // If the session declares LIBSVM text, the first record need not show it.
        (Format::Csv, Reading::Sparse(_)) => Format::Libsvm,
        (format, _) => format,
    };
    let arrays: &[String] = match reading {
        Reading::Arrays(arrays) => arrays,
        _ => &[],
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
        Format::Npz => numpy::read_npz(input, arrays),
        Format::Idx => idx::read(input),
        Format::Safetensors => safetensors::read(input, arrays),
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

    use super::*;
    use crate::Column;
    use crate::write::{WriteFormat, bytes};

    /// 50 000 rows: a byte, a single, a double with gaps, a few texts, a name for each row, and a
    /// label.
    fn columns() -> Vec<(String, Column)> {
        let rows = 0..50_000_u32;
        let double = |row: u32| if row % 7 == 3 { f64::NAN } else { f64::from(row).sqrt() };
        let text = |row: u32| ["a", "b", "", "c"][row as usize / 5 % 4].to_owned();
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

    /// The file read into memory, and onto the disk.
    fn both(path: &Path) -> (Table, Table) {
        both_above(path, 1 << 16)
    }

    fn both_above(path: &Path, above: u64) -> (Table, Table) {
        let overflow = Overflow { folder: path.parent().unwrap().to_path_buf(), above };
        let read =
            |reader: TableReader| reader.read(path, &Reading::Plain, &mut Unwatched).unwrap();
        (read(TableReader::private()), read(TableReader::private().with(overflow)))
    }

    #[test]
    fn a_table_on_the_disk_is_the_same_table() {
        let folder = tempfile::tempdir().unwrap();
        for format in [WriteFormat::Csv, WriteFormat::Parquet] {
            let name = if format == WriteFormat::Csv { "t.csv" } else { "t.parquet" };
            let path = folder.path().join(name);
            fs::write(&path, bytes(format, &columns()).unwrap()).unwrap();
            let (memory, disk) = both(&path);
            assert!(memory.columns.iter().all(|column| column.space().is_none()), "{name}");
            assert!(disk.columns.iter().all(|column| column.space().is_some()), "{name}");
            assert!(memory == disk, "{name}");
            assert_eq!(memory.duplicated_rows(), disk.duplicated_rows(), "{name}");
            let rows: Vec<usize> = (0..50_000).filter(|row| row % 3 != 1).collect();
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
        let (memory, disk) = both_above(&path, 1 << 20);
        assert!(memory == disk);
        assert!(disk.columns.iter().all(|column| column.space().is_some()));
        let (_, few) = both_above(&path, 1 << 24);
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
        fs::write(&path, bytes(WriteFormat::Csv, &columns()).unwrap()).unwrap();
        let nowhere = Overflow { folder: "/proc/nowhere".into(), above: 1 << 16 };
        let told =
            TableReader::private().with(nowhere).read(&path, &Reading::Plain, &mut Unwatched);
        assert!(told.err().unwrap().to_string().contains("/proc/nowhere"));
    }
}
