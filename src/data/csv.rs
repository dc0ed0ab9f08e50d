//! CSV and TSV files with a header.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use super::names;
use super::table::{Column, Table, finite};
use crate::error::{Error, Result};

/// Reads a file. Comma, semicolon or tab, found from the header.
pub fn read(path: &Path) -> Result<Table> {
    let origin = path.display().to_string();
    let about = fs::metadata(path).map_err(|source| Error::io("read the file", path, &source))?;
    if about.is_dir() {
        return Err(Error::failed("this is a directory, not a file")
            .at(origin)
            .cure("name one of the files in it"));
    }
    if !about.is_file() {
        return Err(Error::failed("this is not a regular file")
            .at(origin)
            .cure("save its contents to a file and name that"));
    }
    let bytes = fs::read(path).map_err(|source| Error::io("read the file", path, &source))?;
    read_bytes(&origin, &bytes)
}

/// Reads text that is inside the program.
pub fn read_bytes(origin: &str, bytes: &[u8]) -> Result<Table> {
    let text = text(origin, bytes)?;
    let sheet = Sheet { origin, text, delimiter: delimiter(text) };
    let names = sheet.header()?;
    let (columns, lines) = sheet.columns(&names)?;
    Table::new(origin, names, columns, lines)
}

/// The bytes as text, if text is what they are.
fn text<'a>(origin: &str, bytes: &'a [u8]) -> Result<&'a str> {
    let refused =
        |what: &str, cure: &str| Err(Error::failed(what).at(origin.to_owned()).cure(cure));
    if bytes.starts_with(b"\x1f\x8b") {
        return refused(
            "the file is compressed (gzip)",
            "decompress it first; reading .gz directly comes with the data issue",
        );
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return refused(
            "this is a zip archive or a spreadsheet",
            "unpack the archive, or save the sheet as CSV",
        );
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return refused("the file is UTF-16 text", "save it as UTF-8");
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(Error::failed("a NUL byte: this is a binary file, not text")
            .at(format!("{origin}:{}", line_at(bytes, at)))
            .cure("give a CSV or TSV text file"));
    }
    match std::str::from_utf8(bytes) {
        Err(error) => Err(Error::failed("the text is not UTF-8")
            .at(format!("{origin}:{}", line_at(bytes, error.valid_up_to())))
            .cure("save the file as UTF-8, or convert it: iconv -f latin1 -t utf-8")),
        Ok(text) if text.trim().is_empty() => refused(
            "the file is empty",
            "a header line with the column names and at least one row are needed",
        ),
        Ok(text) => Ok(text),
    }
}

/// The line, from 1, on which the byte `at` stands.
fn line_at(bytes: &[u8], at: usize) -> u64 {
    1 + line_ends(&bytes[..at])
}

/// How many lines end here: at `\n`, `\r\n` or a lone `\r`.
fn line_ends(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().enumerate().filter(|&(at, &byte)| {
        byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
    });
    ends.count() as u64
}

/// Whichever of comma, semicolon and tab the header has most of, outside quotes.
fn delimiter(text: &str) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    for byte in text.trim_start_matches(['\r', '\n']).bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' | b'\n' if !quoted => break,
            _ if quoted => {}
            _ => {
                for (delimiter, count) in &mut counts {
                    *count += u32::from(byte == *delimiter);
                }
            }
        }
    }
    // `rev`, because of equals `max_by_key` takes the last and the comma shall win.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(best, _)| best)
}

/// Text that is to become a table.
struct Sheet<'a> {
    origin: &'a str,
    text: &'a str,
    delimiter: u8,
}

/// A column that turned out to be text after some cells had been taken for
/// numbers: these have to be read again as they stand.
struct LateText {
    column: usize,
    rows: usize,
}

impl Sheet<'_> {
    /// Header and rows alike, one after the other, with the line each starts on.
    fn records(&self, mut visit: impl FnMut(u64, &StringRecord) -> Result<Continue>) -> Result<()> {
        let bytes = self.text.as_bytes();
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut record = StringRecord::new();
        // The reader's own line numbers lag behind after `\r\n` and blank lines.
        let (mut line, mut counted) = (1, 0);
        loop {
            let found = reader.read_record(&mut record).map_err(|error| {
                Error::failed(format!("cannot read the table: {error}")).at(self.place(line))
            })?;
            if !found {
                return Ok(());
            }
            let begin = record.position().map_or(counted, |position| position.byte() as usize);
            let begin = begin + line_break(&bytes[begin..]);
            line += line_ends(&bytes[counted..begin]);
            counted = begin;
            let end = reader.position().byte() as usize;
            if end == bytes.len() && leaves_a_quote_open(&bytes[begin..end], self.delimiter) {
                return Err(Error::failed("a quote opened in this row is never closed")
                    .at(self.place(line))
                    .cure("close it, or double a quote that belongs to the text (\"\")"));
            }
            if visit(line, &record)? == Continue::No {
                return Ok(());
            }
        }
    }

    fn place(&self, line: u64) -> String {
        format!("{}:{line}", self.origin)
    }

    fn header(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut place = self.place(1);
        self.records(|line, record| {
            names = record.iter().map(|name| name.trim().to_owned()).collect();
            place = self.place(line);
            Ok(Continue::No)
        })?;
        let refused = |what: String, cure: &str| Err(Error::failed(what).at(place).cure(cure));
        if looks_like_data(&names) {
            return refused(
                "expected column names, found numbers".to_owned(),
                "put a line with the column names first",
            );
        }
        if let Some(empty) = names.iter().position(String::is_empty) {
            return refused(
                format!("column {} has no name", empty + 1),
                "name it in the header, or remove the column",
            );
        }
        let mut seen = HashSet::new();
        let mut twice: Vec<_> = names.iter().filter(|name| !seen.insert(*name)).collect();
        if !twice.is_empty() {
            twice.dedup();
            return refused(
                format!("more than one column is called {}", names::quoted(&twice)),
                "give every column a name of its own",
            );
        }
        Ok(names)
    }

    fn columns(&self, names: &[String]) -> Result<(Vec<Column>, Vec<u64>)> {
        let mut columns = vec![Column::Numbers(Vec::new()); names.len()];
        let mut lines = Vec::new();
        let mut late = Vec::new();
        let mut header = true;
        self.records(|line, record| {
            if std::mem::take(&mut header) {
                return Ok(Continue::Yes);
            }
            if record.len() != names.len() {
                return Err(self.ragged(line, record.len(), names.len()));
            }
            for (index, (column, cell)) in columns.iter_mut().zip(record).enumerate() {
                let cell = cell.trim();
                match (&mut *column, finite(cell)) {
                    (Column::Numbers(numbers), Some(number)) => numbers.push(number),
                    (Column::Text(text), _) => text.push(cell.to_owned()),
                    (Column::Vectors(_), _) => {}
                    (Column::Numbers(_), None) => {
                        let rows = lines.len();
                        late.push(LateText { column: index, rows });
                        let mut text = vec![String::new(); rows];
                        text.push(cell.to_owned());
                        *column = Column::Text(text);
                    }
                }
            }
            lines.push(line);
            Ok(Continue::Yes)
        })?;
        if lines.is_empty() {
            return Err(Error::failed("the file has a header but no rows")
                .at(self.origin.to_owned())
                .cure("at least one row is needed"));
        }
        self.restore(&late, &mut columns)?;
        Ok((columns, lines))
    }

    /// Second reading: the first cells of text columns, as they stand.
    fn restore(&self, late: &[LateText], columns: &mut [Column]) -> Result<()> {
        let rows = late.iter().map(|late| late.rows).max().unwrap_or(0);
        if rows == 0 {
            return Ok(());
        }
        // The header counts as record 0.
        let mut records_read = 0;
        self.records(|_, record| {
            for late in late.iter().filter(|late| (1..=late.rows).contains(&records_read)) {
                if let (Column::Text(text), Some(cell)) =
                    (&mut columns[late.column], record.get(late.column))
                {
                    cell.trim().clone_into(&mut text[records_read - 1]);
                }
            }
            records_read += 1;
            Ok(if records_read > rows { Continue::No } else { Continue::Yes })
        })
    }

    fn ragged(&self, line: u64, cells: usize, header: usize) -> Error {
        let separator = match self.delimiter {
            b';' => "a semicolon",
            b'\t' => "a tab",
            _ => "a comma",
        };
        let plural = |count: usize| if count == 1 { "cell" } else { "cells" };
        Error::failed(format!(
            "this row has {cells} {}, the header has {header} {}",
            plural(cells),
            plural(header)
        ))
        .at(self.place(line))
        .cure(format!(
            "complete or remove the row; text that contains {separator} must stand in double quotes"
        ))
    }
}

/// Whether there is a reason to read on.
#[derive(PartialEq, Eq)]
enum Continue {
    Yes,
    No,
}

/// Length of the line breaks that `bytes` starts with.
fn line_break(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

/// The reader takes an open quote for text up to the end of the file and so
/// would swallow rows without a word.
fn leaves_a_quote_open(record: &[u8], delimiter: u8) -> bool {
    let (mut quoted, mut cell_starts) = (false, true);
    for &byte in record {
        match byte {
            // A doubled quote inside quotes closes and opens again.
            b'"' if quoted => (quoted, cell_starts) = (false, true),
            b'"' if cell_starts => quoted = true,
            _ if !quoted => cell_starts = byte == delimiter,
            _ => {}
        }
    }
    quoted
}

/// A first line of numbers is data without a header – unless it counts 0, 1, 2
/// (or 1, 2, 3), which is how some programs name nameless columns.
fn looks_like_data(names: &[String]) -> bool {
    let numbers: Option<Vec<f64>> = names.iter().map(|name| finite(name)).collect();
    let counts = |numbers: &[f64], start: usize| {
        numbers.iter().enumerate().all(|(i, number)| *number == (i + start) as f64)
    };
    numbers.is_some_and(|numbers| !counts(&numbers, 0) && !counts(&numbers, 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> Table {
        match read_bytes("t.csv", text.as_bytes()) {
            Ok(table) => table,
            Err(error) => panic!("{error}"),
        }
    }

    fn refusal(bytes: impl AsRef<[u8]>) -> String {
        read_bytes("t.csv", bytes.as_ref()).err().unwrap().to_string()
    }

    fn numbers(table: &Table, name: &str) -> Vec<f64> {
        match table.column(name).ok().unwrap() {
            Column::Numbers(cells) => cells.clone(),
            _ => panic!("not numbers"),
        }
    }

    fn texts(table: &Table, name: &str) -> Vec<String> {
        match table.column(name).ok().unwrap() {
            Column::Text(cells) => cells.clone(),
            _ => panic!("not text"),
        }
    }

    #[test]
    fn columns_are_numbers_when_every_cell_is_one() {
        let table = table("a,b,c\n1, x ,+2e3\n-0.5,y,.5\n");
        assert_eq!(table.names, ["a", "b", "c"]);
        assert_eq!(numbers(&table, "a"), [1.0, -0.5]);
        assert_eq!(texts(&table, "b"), ["x", "y"]);
        assert_eq!(numbers(&table, "c"), [2000.0, 0.5]);
        assert_eq!(table.lines, [2, 3]);
        assert_eq!(table.content, table.view);
    }

    #[test]
    fn one_cell_that_is_no_finite_number_keeps_the_whole_column_as_it_stands() {
        for gap in ["", "NA", "NaN", "inf", "?", "1e999"] {
            let table = table(&format!("a,b,c\n1,01,7\n2,1.50,8\n3,{gap},9\n4,2,x\n"));
            assert_eq!(texts(&table, "b"), ["01", "1.50", gap, "2"]);
            assert_eq!(texts(&table, "c"), ["7", "8", "9", "x"]);
            assert_eq!(numbers(&table, "a"), [1.0, 2.0, 3.0, 4.0]);
        }
    }

    #[test]
    fn the_delimiter_is_found_from_the_header() {
        for text in ["a;b\n1;x,y\n", "a\tb\n1\tx,y\n", "a,b\n1,\"x,y\"\n", "\"a\";\"b\"\n1;x,y"] {
            assert_eq!(texts(&table(text), "b"), ["x,y"], "{text:?}");
        }
        assert_eq!(table("\"a,1;;\",\"b\"\n1,2\n").names, ["a,1;;", "b"]);
        assert_eq!(numbers(&table("a\n1\n2"), "a"), [1.0, 2.0]);
    }

    #[test]
    fn byte_order_mark_carriage_returns_and_blank_lines_change_nothing() {
        let plain = table("a,b\n1,\"p\nq\"\n2,r\n");
        assert_eq!(plain.lines, [2, 4]);
        let marked = table("\u{feff}a,b\r\n1,\"p\nq\"\r\n2,r\r\n");
        assert!(marked == plain);
        let blank = table("\r\na,b\r\n\r\n1,\"p\nq\"\r\n\n\n2,r");
        assert_eq!(blank.lines, [4, 8]);
        assert_eq!(blank.view, plain.view);
        assert_eq!(table("a\r1\r2\r").lines, [2, 3]);
    }

    #[test]
    fn ragged_rows_are_named_with_their_line() {
        let short = refusal("a,b,c\r\n1,2,3\r\n\r\n4,5\r\n");
        assert!(
            short.starts_with("t.csv:4: this row has 2 cells, the header has 3 cells"),
            "{short}"
        );
        assert!(short.contains("a comma must stand in double quotes"), "{short}");
        assert!(refusal("a;b\n1;2\n3;4;\n").starts_with("t.csv:3: this row has 3 cells"));
    }

    #[test]
    fn headers_need_distinct_names() {
        assert!(refusal("a,b,a,b\n1,2,3,4\n").contains("more than one column is called 'a', 'b'"));
        assert!(refusal("a,,c\n1,2,3\n").starts_with("t.csv:1: column 2 has no name"));
        assert!(refusal("\n3.5,7\n1,2\n").starts_with("t.csv:2: expected column names"));
        assert_eq!(numbers(&table("0,1\n5,6\n"), "1"), [6.0]);
    }

    #[test]
    fn files_without_rows_are_refused() {
        for empty in ["", "\u{feff}", "\r\n\n", "  "] {
            assert!(refusal(empty).contains("the file is empty"), "{empty:?}");
        }
        assert!(refusal("a,b\r\n\r\n").contains("a header but no rows"));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(refusal(b"\x1f\x8b\x08\x00").contains("decompress it first"));
        assert!(refusal(b"PK\x03\x04").contains("save the sheet as CSV"));
        assert!(refusal(b"\xff\xfea\0").contains("UTF-16"));
        assert!(refusal(b"a,b\r\n1,\0\n").starts_with("t.csv:2: a NUL byte"));
        assert!(refusal(b"a,b\n1,2\n3,caf\xe9\n").starts_with("t.csv:3: the text is not UTF-8"));
    }

    #[test]
    fn a_quote_that_never_closes_swallows_no_rows() {
        assert!(refusal("a,b\n1,x\n2,\"y\n3,z\n").starts_with("t.csv:3: a quote"));
        assert!(refusal("a,b\n1,\"x\"\"\n").contains("never closed"));
        assert!(refusal("\"a,b\n1,2\n").contains("never closed"));
        let inches = table("a,b\n1,\"5\"\"\"\n2,5\"\n");
        assert_eq!(texts(&inches, "b"), ["5\"", "5\""]);
    }

    #[test]
    fn files_that_cannot_be_read_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| read(path).err().unwrap().to_string();
        let missing = refusal(&folder.path().join("none.csv"));
        assert!(missing.contains("none.csv") && missing.contains("check the path"), "{missing}");
        assert!(refusal(folder.path()).contains("a directory"));
        assert!(refusal(Path::new("/dev/null")).contains("not a regular file"));
    }

    #[test]
    fn bikeshare_reads_as_described() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/bikeshare/bikeshare.csv");
        let table = read(&path).ok().unwrap();
        assert_eq!((table.rows(), table.names.len()), (8645, 15));
        let text: Vec<_> = table
            .names
            .iter()
            .zip(&table.columns)
            .filter(|(_, column)| matches!(column, Column::Text(_)))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(text, ["mnth", "weathersit"]);
        assert_eq!(table.lines[8644], 8646);
        assert_eq!(table.duplicated_rows(), 0);
        // Made with Python's csv and hashlib.
        assert_eq!(
            table.content.to_string(),
            "sha256-sum:41989b01a4b07f177c3b0fd5b7d513536a31dd3a8fb26054c8c4337ab3bdbc89:8645"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_table_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(table) = read_bytes("t", &bytes) {
                prop_assert!(table.rows() > 0);
            }
        }

        #[test]
        fn any_text_near_a_table_gives_a_table_or_an_error(text in "[ab1,;\"\r\n]{0,60}") {
            if let Ok(table) = read_bytes("t", text.as_bytes()) {
                let all = text.split(['\n', '\r']).count() as u64;
                prop_assert!(table.lines.is_sorted() && table.lines.iter().all(|&line| line <= all));
                prop_assert!(table.columns.iter().all(|column| column.len() == table.rows()));
            }
        }

        #[test]
        fn what_a_csv_writer_writes_is_read_back(
            rows in prop::collection::vec(("[a-z ,;\"\n\r]{0,8}x", any::<f64>()), 1..20)
        ) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["text", "number"]).unwrap();
            let rows: Vec<_> = rows.into_iter().filter(|(_, number)| number.is_finite()).collect();
            prop_assume!(!rows.is_empty());
            for (text, number) in &rows {
                writer.write_record([text, &number.to_string()]).unwrap();
            }
            let table = read_bytes("t", &writer.into_inner().unwrap()).ok().unwrap();
            let expected: Vec<_> = rows.iter().map(|(text, _)| text.trim().to_owned()).collect();
            prop_assert_eq!(texts(&table, "text"), expected);
            let expected: Vec<_> = rows.iter().map(|(_, number)| *number).collect();
            prop_assert_eq!(numbers(&table, "number"), expected);
        }
    }
}
