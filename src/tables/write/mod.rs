//! Writes columns to files for other tools: the counterpart of [`super::read`].
//!
//! A missing number is an empty cell in CSV and a null in Parquet; text is written unchanged.

mod csv;
mod parquet;

use std::io::{self, Write};
use std::path::Path;

use super::column::Column;
use crate::error::{Error, Result};
use crate::files;

/// The formats in which a table can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFormat {
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl WriteFormat {
    /// The format according to the name of a file.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            _ => Err(Error::usage("its name does not say what to write")
                .at(path.display().to_string())
                .cure("end the name with .csv or .parquet")),
        }
    }
}

/// Writes columns of one length under their names to a file that only the owner can read; it is
/// complete or not there at all. Vectors are refused: no two tools agree on how to write them.
pub fn private_file(path: &Path, format: WriteFormat, columns: &[(String, Column)]) -> Result<()> {
    check(columns)?;
    files::write_private_by(path, |out| write(format, columns, out))
}

/// Writes columns of one length under their names to the bytes of a file.
pub fn bytes(format: WriteFormat, columns: &[(String, Column)]) -> Result<Vec<u8>> {
    check(columns)?;
    let mut out = Vec::new();
    let written = write(format, columns, &mut out);
    written.map_err(|error| Error::failed(format!("cannot write the columns: {error}")))?;
    Ok(out)
}

fn check(columns: &[(String, Column)]) -> Result<()> {
    if let Some((name, column)) =
        columns.iter().find(|(_, column)| matches!(column, Column::Vectors(_)))
    {
        return Err(Error::usage(format!("column '{name}' holds {}", column.kind()))
            .cure("keep columns of numbers or text only"));
    }
    Ok(())
}

fn write(
    format: WriteFormat,
    columns: &[(String, Column)],
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    match format {
        WriteFormat::Csv => csv::write(columns, out),
        WriteFormat::Parquet => parquet::write(columns, out).map_err(io::Error::other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::{self, Reading, read_bytes};
    use crate::vectors::{Values, Vectors};

    /// The written columns, read by our own reader.
    fn read_back(format: WriteFormat, columns: &[(String, Column)]) -> Vec<(String, Column)> {
        let name = if format == WriteFormat::Csv { "t.csv" } else { "t.parquet" };
        let written = bytes(format, columns).unwrap();
        let table = read_bytes(name, &written, &Reading::Plain).ok().unwrap();
        table.names.into_iter().zip(table.columns).collect()
    }

    #[test]
    fn the_name_of_a_file_decides_what_is_written() {
        assert_eq!(WriteFormat::of(Path::new("a/out.CSV")).unwrap(), WriteFormat::Csv);
        assert_eq!(WriteFormat::of(Path::new("out.parquet")).unwrap(), WriteFormat::Parquet);
        assert!(
            WriteFormat::of(Path::new("out.xlsx")).unwrap_err().to_string().contains(".parquet")
        );
        assert!(WriteFormat::of(Path::new("out")).is_err());
    }

    #[test]
    fn vectors_are_refused_by_name() {
        let vectors = Vectors::new(2, Values::F64(vec![1.0, 2.0])).unwrap();
        let column = ("emb".to_owned(), Column::Vectors(vectors));
        assert!(bytes(WriteFormat::Csv, &[column]).unwrap_err().to_string().contains("'emb'"));
    }

    /// Long enough for several threads in either format.
    #[test]
    fn a_long_table_is_read_back_whatever_thread_reads_which_part() {
        let numbers = |from: usize| (from..from + 140_000).map(|at| (at as f64).sin()).collect();
        let gaps = |at: usize| if at.is_multiple_of(7) { f64::NAN } else { at as f64 };
        let columns = [
            ("a".to_owned(), Column::Numbers(numbers(0))),
            ("b".to_owned(), Column::Numbers((0..140_000).map(gaps).collect())),
            ("c".to_owned(), Column::Text((0..140_000).map(|at| format!("t{at}")).collect())),
            ("d".to_owned(), Column::Numbers(numbers(9))),
        ];
        for format in [WriteFormat::Csv, WriteFormat::Parquet] {
            assert!(read_back(format, &columns) == columns, "{format:?}");
        }
    }

    #[test]
    fn a_long_file_of_either_format_tells_how_far_it_has_been_read() {
        let numbers = (0..400_000).map(|at| (f64::from(at)).sin()).collect();
        let columns = [("a".to_owned(), Column::Numbers(numbers))];
        let folder = tempfile::tempdir().unwrap();
        for (format, name) in [(WriteFormat::Csv, "t.csv"), (WriteFormat::Parquet, "t.parquet")] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes(format, &columns).unwrap()).unwrap();
            let mut told = Vec::new();
            let mut watch = |read: u64, of: u64| {
                told.push(read as f64 / of as f64);
                std::ops::ControlFlow::Continue(())
            };
            read::read(&path, &Reading::Plain, &mut watch).unwrap();
            assert!(told.len() > 2 && told.is_sorted(), "{name} {told:?}");
            assert!(told[0] < 0.5 && told.last() > Some(&0.9), "{name} {told:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_to_the_last_bit(
            rows in proptest::collection::vec(
                (
                    proptest::option::weighted(0.8, proptest::num::f64::NORMAL),
                    // At least one cell with a letter keeps the column text.
                    "[a-zé][a-z ,\"\n;é]{0,6}[a-z]",
                ),
                1..30,
            )
        ) {
            let numbers = rows.iter().map(|(x, _)| x.unwrap_or(f64::NAN)).chain([1.5]).collect();
            let texts = rows.iter().map(|(_, text)| text.clone()).chain(["x y".into()]).collect();
            let columns =
                [("a \"b\"".to_owned(), Column::Numbers(numbers)), ("t,".to_owned(), Column::Text(texts))];
            for format in [WriteFormat::Csv, WriteFormat::Parquet] {
                prop_assert!(read_back(format, &columns) == columns);
            }
        }
    }
}
