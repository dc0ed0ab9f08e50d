//! Text files record by record: lines, or where quotes allow it several lines.
//! Reads in blocks, so that a file of any size needs little memory.

use std::io::Read;

use memchr::{memchr, memchr3};

use super::input::Input;
use crate::error::{Error, Result};

const BLOCK: usize = 1 << 20;
/// A longer record is a binary file, or a quote that was never closed.
const LONGEST: usize = 1 << 26;

pub struct Records<'i, 'a> {
    pub input: &'i Input<'a>,
    reader: Box<dyn Read + 'i>,
    buffer: Vec<u8>,
    /// What of `buffer` has not been handed out.
    start: usize,
    end: usize,
    finished: bool,
    /// Bytes that the file has given so far.
    given: u64,
    /// Line on which the next record starts.
    line: u64,
    /// Cells may be quoted after this delimiter; `None` where quotes mean nothing.
    quotes_after: Option<u8>,
}

/// One record without its line end.
pub struct Record<'r> {
    pub line: u64,
    pub bytes: &'r [u8],
    /// It has a quote somewhere.
    pub quoted: bool,
}

/// Where the record at the start of some bytes ends.
enum End {
    /// Its length, and its length with the line end.
    At { length: usize, with_break: usize, quoted: bool },
    /// Not in these bytes; whether a quote is open.
    Beyond { quote_open: bool, quoted: bool },
}

impl<'i, 'a> Records<'i, 'a> {
    pub fn new(input: &'i Input<'a>, quotes_after: Option<u8>) -> Self {
        Self {
            input,
            reader: input.plain(),
            buffer: Vec::new(),
            start: 0,
            end: 0,
            finished: false,
            given: 0,
            line: 1,
            quotes_after,
        }
    }

    /// The next record that is not an empty line.
    pub fn next(&mut self) -> Result<Option<Record<'_>>> {
        loop {
            if self.start == self.end && !self.fill()? {
                return Ok(None);
            }
            let (length, with_break, quoted) = match self.find_end() {
                End::At { length, with_break, quoted } => (length, with_break, quoted),
                End::Beyond { quote_open, quoted } => {
                    if self.fill()? {
                        continue;
                    }
                    if quote_open {
                        return Err(self
                            .error("a quote opened in this row is never closed")
                            .cure("close it, or double a quote that belongs to the text (\"\")"));
                    }
                    (self.end - self.start, self.end - self.start, quoted)
                }
            };
            let (start, line) = (self.start, self.line);
            let range = start..start + length;
            self.start += with_break;
            self.line += u64::from(with_break > length);
            if quoted {
                self.line += line_ends(&self.buffer[range.clone()]);
            }
            // Only the very first bytes can be a byte order mark.
            let mark = line == 1 && self.buffer[range.clone()].starts_with(b"\xef\xbb\xbf");
            let range = if mark { start + 3..range.end } else { range };
            if !range.is_empty() {
                return Ok(Some(Record { line, bytes: &self.buffer[range], quoted }));
            }
        }
    }

    /// What share of the file has been handed out, as far as can be told.
    pub fn share_done(&self) -> f64 {
        let waiting = (self.end - self.start) as f64;
        self.input.share_read() * (1.0 - waiting / self.given.max(1) as f64)
    }

    fn error(&self, what: &str) -> Error {
        Error::failed(what).at(format!("{}:{}", self.input.origin, self.line))
    }

    /// Reads more; whether there was any.
    fn fill(&mut self) -> Result<bool> {
        if self.finished {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end > LONGEST {
            return Err(self
                .error(&format!("a row of more than {} MiB", LONGEST >> 20))
                .cure("this is no text table, or a quote is never closed: check the file"));
        }
        let room = (2 * self.end).max(BLOCK);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let before = self.end;
        while self.end < self.buffer.len() {
            let read = match self.reader.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| self.input.io(&error))?,
            };
            self.end += read;
            self.given += read as u64;
            if read == 0 {
                self.finished = true;
                break;
            }
        }
        if let Some(at) = memchr(0, &self.buffer[before..self.end]) {
            self.line += line_ends(&self.buffer[self.start..before + at]);
            return Err(self
                .error("a NUL byte: this is a binary file, not text")
                .cure("give a text file, or one in a format that halflight knows"));
        }
        Ok(self.end > before)
    }

    fn find_end(&self) -> End {
        let bytes = &self.buffer[self.start..self.end];
        let mut quoted = false;
        let mut at = 0;
        while let Some(found) = memchr3(b'\n', b'\r', b'"', &bytes[at..]) {
            at += found;
            match bytes[at] {
                b'\n' => return End::At { length: at, with_break: at + 1, quoted },
                b'\r' => {
                    return match bytes.get(at + 1) {
                        Some(b'\n') => End::At { length: at, with_break: at + 2, quoted },
                        None if !self.finished => End::Beyond { quote_open: false, quoted },
                        _ => End::At { length: at, with_break: at + 1, quoted },
                    };
                }
                _ => {
                    quoted = true;
                    let mark: &[u8] = if self.line == 1 { b"\xef\xbb\xbf" } else { b"" };
                    let opens = self.quotes_after.is_some_and(|delimiter| {
                        at == 0 || bytes[at - 1] == delimiter || bytes[..at] == *mark
                    });
                    at += 1;
                    if opens {
                        match closing_quote(&bytes[at..]) {
                            Some(length) => at += length + 1,
                            None => return End::Beyond { quote_open: true, quoted },
                        }
                    }
                }
            }
        }
        End::Beyond { quote_open: false, quoted }
    }
}

/// Where the quoted text that `bytes` start with ends; doubled quotes belong to it.
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

/// How many lines end here: at `\n`, `\r\n` or a lone `\r`.
fn line_ends(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().enumerate().filter(|&(at, &byte)| {
        byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
    });
    ends.count() as u64
}

impl Record<'_> {
    pub fn place(&self, input: &Input) -> String {
        format!("{}:{}", input.origin, self.line)
    }

    /// The record as text.
    pub fn text(&self, input: &Input) -> Result<&str> {
        utf8(self.bytes).ok_or_else(|| not_utf8(input, self.line))
    }
}

fn utf8(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

pub fn not_utf8(input: &Input, line: u64) -> Error {
    Error::failed("the text is not UTF-8")
        .at(format!("{}:{line}", input.origin))
        .cure("save the file as UTF-8, or convert it: iconv -f latin1 -t utf-8")
}
