//! Reads text files record by record. A record is a line, or several where quotes allow it.
//!
//! A file is read in blocks of whole records, so that a file of any size needs little memory and
//! several threads can each parse a block.

use std::io::Read;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3, memrchr2};

use super::input::Input;
use crate::error::{Error, Result};

/// Text and the numbers made of it should stay in a core's own cache.
pub const BLOCK: usize = 1 << 19;
/// A longer record means a binary file, or a quote that was never closed.
const LONGEST: usize = 1 << 26;

/// One record without its line end.
pub struct FileRecord<'r> {
    pub line: u64,
    pub bytes: &'r [u8],
    /// Whether the record has a quote somewhere.
    pub quoted: bool,
}

/// Whole records, one after another.
#[derive(Default)]
pub struct RecordBlock {
    bytes: Vec<u8>,
    /// The start of the part that has not been returned.
    cursor: Cursor,
    quotes_after: Option<u8>,
    /// The share of the file up to its end, as far as known.
    pub share: f64,
}

/// Where the next record starts, and on which line.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    at: usize,
    line: u64,
}

/// The position of a record in its block.
struct Span {
    range: Range<usize>,
    line: u64,
    quoted: bool,
}

/// The end of the record at the start of some bytes.
#[derive(Clone, Copy)]
enum RecordEnd {
    /// Length of the record, without and with its line end.
    At { length: usize, with_break: usize, quoted: bool },
    /// Beyond these bytes; with whether a quote is open.
    Beyond { quote_open: bool, quoted: bool },
}

impl Span {
    fn of<'b>(&self, bytes: &'b [u8]) -> FileRecord<'b> {
        FileRecord { line: self.line, bytes: &bytes[self.range.clone()], quoted: self.quoted }
    }
}

impl Cursor {
    /// Steps over the next record that is not an empty line. All bytes are whole records.
    fn next(&mut self, bytes: &[u8], quotes_after: Option<u8>) -> Option<Span> {
        while self.at < bytes.len() {
            let Self { at: start, line } = *self;
            let end = find_end(&bytes[start..], line, quotes_after, true);
            let (length, quoted) = self.step(bytes, end);
            // Only the very first bytes can be a byte order mark.
            let mark = line == 1 && bytes[start..start + length].starts_with(b"\xef\xbb\xbf");
            let range = if mark { start + 3..start + length } else { start..start + length };
            if !range.is_empty() {
                return Some(Span { range, line, quoted });
            }
        }
        None
    }

    /// Moves behind a record with this end. Returns its length, and whether it has quotes.
    fn step(&mut self, bytes: &[u8], end: RecordEnd) -> (usize, bool) {
        let left = bytes.len() - self.at;
        let (length, with_break, quoted) = match end {
            RecordEnd::At { length, with_break, quoted } => (length, with_break, quoted),
            RecordEnd::Beyond { quoted, .. } => (left, left, quoted),
        };
        self.line += u64::from(with_break > length);
        if quoted {
            self.line += line_ends(&bytes[self.at..self.at + length]);
        }
        self.at += with_break;
        (length, quoted)
    }
}

impl RecordBlock {
    /// The records that have not been returned.
    pub fn records(&self) -> impl Iterator<Item = FileRecord<'_>> {
        let mut cursor = self.cursor;
        std::iter::from_fn(move || {
            cursor.next(&self.bytes, self.quotes_after).map(|span| span.of(&self.bytes))
        })
    }
}

/// A file in blocks.
pub struct Blocks<'i, 'a> {
    input: &'i Input<'a>,
    reader: Box<dyn Read + Send + 'i>,
    /// The start of a record whose end was not in the last block.
    rest: Vec<u8>,
    finished: bool,
    /// The number of bytes read so far.
    given: u64,
    /// Line on which the next block starts.
    line: u64,
    /// Cells may be quoted after this delimiter; `None` if quotes have no meaning.
    quotes_after: Option<u8>,
}

impl<'i, 'a> Blocks<'i, 'a> {
    pub fn new(input: &'i Input<'a>, quotes_after: Option<u8>) -> Self {
        Self {
            input,
            reader: input.plain(),
            rest: Vec::new(),
            finished: false,
            given: 0,
            line: 1,
            quotes_after,
        }
    }

    /// Puts the next records into `block`. Returns whether there were any.
    pub fn next(&mut self, block: &mut RecordBlock) -> Result<bool> {
        block.bytes.clear();
        block.bytes.append(&mut self.rest);
        block.cursor = Cursor { at: 0, line: self.line };
        block.quotes_after = self.quotes_after;
        loop {
            self.fill(&mut block.bytes)?;
            if block.bytes.is_empty() {
                return Ok(false);
            }
            let Cursor { at: end, line } = self.whole_records(&block.bytes)?;
            if end > 0 {
                self.line = line;
                self.rest.extend_from_slice(&block.bytes[end..]);
                block.bytes.truncate(end);
                let waiting = self.rest.len() as f64 / self.given.max(1) as f64;
                block.share = self.input.share_read() * (1.0 - waiting);
                return Ok(true);
            }
        }
    }

    /// The number of bytes in whole records, and the line after them.
    fn whole_records(&self, bytes: &[u8]) -> Result<Cursor> {
        let quotes = self.quotes_after.is_some() && memchr(b'"', bytes).is_some();
        if !quotes {
            let end = if self.finished { bytes.len() } else { last_line_end(bytes) };
            return Ok(Cursor { at: end, line: self.line + line_ends(&bytes[..end]) });
        }
        let mut cursor = Cursor { at: 0, line: self.line };
        while cursor.at < bytes.len() {
            let end = find_end(&bytes[cursor.at..], cursor.line, self.quotes_after, self.finished);
            match end {
                RecordEnd::Beyond { quote_open: true, .. } if self.finished => {
                    return Err(self
                        .error(cursor.line, "a quote opened in this row is never closed")
                        .cure("close it, or double a quote that belongs to the text (\"\")"));
                }
                RecordEnd::Beyond { .. } if !self.finished => break,
                end => cursor.step(bytes, end),
            };
        }
        Ok(cursor)
    }

    fn error(&self, line: u64, what: &str) -> Error {
        Error::failed(what).at(format!("{}:{line}", self.input.origin))
    }

    /// Reads more, unless there is no more.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        let before = bytes.len();
        if before > LONGEST {
            return Err(self
                .error(self.line, &format!("a row of more than {} MiB", LONGEST >> 20))
                .cure("this is not a text table, or a quote is never closed: check the file"));
        }
        let mut end = before;
        bytes.resize((2 * before).max(BLOCK), 0);
        while end < bytes.len() && !self.finished {
            match self.reader.read(&mut bytes[end..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.input.io(&error)),
                Ok(read) => {
                    end += read;
                    self.given += read as u64;
                    self.finished = read == 0;
                }
            }
        }
        bytes.truncate(end);
        if let Some(last) = bytes.last().filter(|_| self.finished) {
            self.input.note_end(*last);
        }
        if let Some(at) = memchr(0, &bytes[before..]) {
            let line = self.line + line_ends(&bytes[..before + at]);
            // After the first line it is the fault of a single record.
            if self.input.forgiving && line > 1 {
                return Ok(());
            }
            return Err(self
                .error(line, "a NUL byte: this is a binary file, not text")
                .cure("give a text file, or one in a format that halflight knows"));
        }
        Ok(())
    }
}

/// A file's records one by one.
pub struct FileRecords<'i, 'a> {
    blocks: Blocks<'i, 'a>,
    block: RecordBlock,
}

impl<'i, 'a> FileRecords<'i, 'a> {
    pub fn new(input: &'i Input<'a>, quotes_after: Option<u8>) -> Self {
        Self { blocks: Blocks::new(input, quotes_after), block: RecordBlock::default() }
    }

    /// The next record that is not an empty line.
    pub fn next(&mut self) -> Result<Option<FileRecord<'_>>> {
        loop {
            let RecordBlock { bytes, cursor, quotes_after, .. } = &mut self.block;
            if let Some(span) = cursor.next(bytes, *quotes_after) {
                return Ok(Some(span.of(&self.block.bytes)));
            }
            if !self.blocks.next(&mut self.block)? {
                return Ok(None);
            }
        }
    }

    /// The remaining records: those of a started block, then further blocks.
    pub fn into_blocks(self) -> (RecordBlock, Blocks<'i, 'a>) {
        (self.block, self.blocks)
    }
}

/// `whole`: there is nothing after these bytes.
fn find_end(bytes: &[u8], line: u64, quotes_after: Option<u8>, whole: bool) -> RecordEnd {
    let mut quoted = false;
    let mut at = 0;
    while let Some(found) = memchr3(b'\n', b'\r', b'"', &bytes[at..]) {
        at += found;
        match bytes[at] {
            b'\n' => return RecordEnd::At { length: at, with_break: at + 1, quoted },
            b'\r' => {
                return match bytes.get(at + 1) {
                    Some(b'\n') => RecordEnd::At { length: at, with_break: at + 2, quoted },
                    None if !whole => RecordEnd::Beyond { quote_open: false, quoted },
                    _ => RecordEnd::At { length: at, with_break: at + 1, quoted },
                };
            }
            _ => {
                quoted = true;
                let mark: &[u8] = if line == 1 { b"\xef\xbb\xbf" } else { b"" };
                let opens = quotes_after.is_some_and(|delimiter| {
                    at == 0 || bytes[at - 1] == delimiter || bytes[..at] == *mark
                });
                at += 1;
                if opens {
                    match closing_quote(&bytes[at..]) {
                        Some(length) => at += length + 1,
                        None => return RecordEnd::Beyond { quote_open: true, quoted },
                    }
                }
            }
        }
    }
    RecordEnd::Beyond { quote_open: false, quoted }
}

/// The end of the quoted text at the start of `bytes`; doubled quotes belong to the text.
fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr(b'"', &bytes[at..])?;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// The position after the last line end that is certain; 0 if there is none.
fn last_line_end(bytes: &[u8]) -> usize {
    let found = memrchr2(b'\n', b'\r', bytes);
    let cut_off = found.is_some_and(|at| bytes[at] == b'\r' && at + 1 == bytes.len());
    let found = if cut_off { memrchr2(b'\n', b'\r', &bytes[..bytes.len() - 1]) } else { found };
    found.map_or(0, |at| at + 1)
}

/// The number of lines that end here: at `\n`, `\r\n` or a lone `\r`.
fn line_ends(bytes: &[u8]) -> u64 {
    let feeds = memchr_iter(b'\n', bytes).count();
    let lone = memchr_iter(b'\r', bytes).filter(|&at| bytes.get(at + 1) != Some(&b'\n'));
    (feeds + lone.count()) as u64
}

impl FileRecord<'_> {
    pub fn place(&self, input: &Input) -> String {
        format!("{}:{}", input.origin, self.line)
    }

    /// The record as text.
    pub fn text(&self, input: &Input) -> Result<&str> {
        std::str::from_utf8(self.bytes).map_err(|_| not_utf8(input, self.line))
    }
}

pub fn not_utf8(input: &Input, line: u64) -> Error {
    Error::failed("the text is not UTF-8")
        .at(format!("{}:{line}", input.origin))
        .cure("save the file as UTF-8, or convert it: iconv -f latin1 -t utf-8")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::Unwatched;

    type Found = Vec<(u64, Vec<u8>)>;

    /// The records of blocks, and those found one by one in the whole text.
    fn both_ways(text: &[u8]) -> Option<(Found, Found)> {
        let mut nobody = Unwatched;
        let input = Input::of_bytes("t", text, &mut nobody).ok()?;
        let mut blocks = Blocks::new(&input, Some(b','));
        let (mut block, mut found) = (RecordBlock::default(), Vec::new());
        while blocks.next(&mut block).ok()? {
            found.extend(block.records().map(|record| (record.line, record.bytes.to_vec())));
        }
        let mut cursor = Cursor { at: 0, line: 1 };
        let spans = std::iter::from_fn(|| cursor.next(text, Some(b',')));
        let expected = spans.map(|span| (span.line, text[span.range].to_vec())).collect();
        Some((found, expected))
    }

    #[test]
    fn blocks_end_between_records_wherever_a_line_ends_and_quotes_hide_it() {
        for end in ["\n", "\r\n", "\r"] {
            for quoted in ["x", "\"a\nb\"", "\"\"\"\r\n\""] {
                // Record ends occur at every place near the end of a block.
                for shift in 0..12 {
                    let mut text = "-".repeat(shift) + end;
                    while text.len() < 2 * BLOCK + 100 {
                        text += "1,2,";
                        text += quoted;
                        text += end;
                    }
                    let (found, expected) = both_ways(text.as_bytes()).unwrap();
                    assert!(found == expected, "{end:?} {quoted:?} {shift}");
                    assert!(found.len() > 1000);
                }
            }
        }
    }

    #[test]
    fn a_record_longer_than_a_block_stays_in_one_piece() {
        let text = format!("a,b\n1,\"{}\"\n3,4\n", "x\n".repeat(3 * BLOCK));
        let (found, expected) = both_ways(text.as_bytes()).unwrap();
        assert!(found == expected);
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].0, 3 + 3 * BLOCK as u64);
    }

    proptest! {
        #[test]
        fn line_ends_are_counted_as_one_by_one(text in "[a\n\r]{0,40}") {
            let bytes = text.as_bytes();
            let slowly = (0..bytes.len()).filter(|&at| {
                bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
            });
            prop_assert_eq!(line_ends(bytes), slowly.count() as u64);
        }
    }
}
