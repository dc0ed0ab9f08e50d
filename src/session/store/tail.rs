//! Reads a file of lines while another process appends to it.
//!
//! An incomplete line is kept until the rest arrives. A file that was cut or replaced is read again
//! from its beginning; its length and the last bytes read show this. Nothing is ever written.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A longer line cannot be a step, so it is skipped.
const LONGEST_LINE: usize = 1 << 20;
/// The most that is read at once.
const PIECE: usize = 8 << 20;
/// This many of the last bytes tell a file that grew from a different file.
const ENDING: usize = 64;

#[derive(Debug, Default)]
pub struct Tail {
    path: PathBuf,
    /// The start of the next line, and the bytes before it.
    at: u64,
    ending: Vec<u8>,
    /// Length and time of the file at the last look.
    seen: Option<(u64, Option<SystemTime>)>,
    /// Whether the next line is the rest of one that is too long.
    is_rest: bool,
}

/// The part added to a file since the last reading.
#[derive(Debug, Default)]
pub struct Added {
    /// Whether the file was replaced, so that earlier contents are no longer valid.
    pub anew: bool,
    /// Whole lines.
    pub text: Vec<u8>,
    /// The number of lines that are too long.
    pub too_long: u64,
    /// Whether there is more to read at once.
    pub more: bool,
}

impl Tail {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), ..Self::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When the file was last written, by the clock of its disk.
    pub fn written(&self) -> Option<SystemTime> {
        self.seen.and_then(|(_, time)| time)
    }

    /// Whole lines added since the last call; a file that does not exist yet has none.
    pub fn read(&mut self) -> io::Result<Added> {
        let about = match fs::metadata(&self.path) {
            Ok(about) if about.is_file() => about,
            Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file")),
            Err(error) if error.kind() == ErrorKind::NotFound && self.at == 0 => {
                return Ok(Added::default());
            }
            Err(error) => return Err(error),
        };
        let seen = Some((about.len(), about.modified().ok()));
        if self.seen == seen {
            return Ok(Added::default());
        }
        let mut added = Added::default();
        let mut bytes = self.bytes()?;
        if bytes.is_none() {
            (self.at, self.is_rest, added.anew) = (0, false, true);
            self.ending.clear();
            bytes = self.bytes()?;
        }
        let mut bytes = bytes.unwrap_or_default();
        added.more = bytes.len() >= PIECE;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => bytes.truncate(last + 1),
            // No line is that long. Its end will be skipped, too.
            None if bytes.len() > LONGEST_LINE => {
                added.too_long += u64::from(!self.is_rest);
                self.advance(&bytes);
                self.is_rest = true;
                return Ok(added);
            }
            None => bytes.clear(),
        }
        self.advance(&bytes);
        if self.is_rest && !bytes.is_empty() {
            self.is_rest = false;
            let end = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes.drain(..end);
        }
        added.text = bytes;
        // When everything is read, there is nothing to do until the file changes.
        self.seen = if added.more { None } else { seen };
        Ok(added)
    }

    /// The bytes from the start of the next line; `None` if the bytes before it have changed.
    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.at - self.ending.len() as u64))?;
        let mut bytes = Vec::new();
        file.take((self.ending.len() + PIECE) as u64).read_to_end(&mut bytes)?;
        if !bytes.starts_with(&self.ending) {
            return Ok(None);
        }
        bytes.drain(..self.ending.len());
        Ok(Some(bytes))
    }

    fn advance(&mut self, bytes: &[u8]) {
        self.at += bytes.len() as u64;
        self.ending.extend_from_slice(&bytes[bytes.len().saturating_sub(ENDING)..]);
        self.ending.drain(..self.ending.len().saturating_sub(ENDING));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn text(added: &Added) -> &str {
        std::str::from_utf8(&added.text).unwrap()
    }

    #[test]
    fn half_a_line_is_waited_for_and_a_file_that_was_cut_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        let mut tail = Tail::new(&path);
        assert!(tail.read().unwrap().text.is_empty(), "not there yet");
        fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(text(&tail.read().unwrap()), "one\ntwo\n");
        assert!(tail.read().unwrap().text.is_empty());
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"ee\nfour").unwrap();
        let added = tail.read().unwrap();
        assert_eq!((text(&added), added.anew), ("three\n", false));

        // A resumed run removes its last steps and writes others.
        fs::write(&path, "one\nTWO\nTHREE\nFOUR\n").unwrap();
        let added = tail.read().unwrap();
        assert_eq!((text(&added), added.anew), ("one\nTWO\nTHREE\nFOUR\n", true));
        fs::write(&path, "one\n").unwrap();
        let added = tail.read().unwrap();
        assert_eq!((text(&added), added.anew), ("one\n", true));
        fs::remove_file(&path).unwrap();
        assert_eq!(tail.read().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn an_endless_line_is_passed_over_with_its_end_and_takes_no_memory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        fs::write(&path, vec![b'x'; 2 * PIECE + 5]).unwrap();
        let mut tail = Tail::new(&path);
        let (mut too_long, mut pieces) = (0, 0);
        loop {
            let added = tail.read().unwrap();
            assert!(added.text.is_empty());
            too_long += added.too_long;
            pieces += 1;
            if !added.more {
                break;
            }
        }
        assert_eq!((too_long, pieces), (1, 3));
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"end of it\ngood\n").unwrap();
        assert_eq!(text(&tail.read().unwrap()), "good\n");
    }

    #[test]
    fn what_is_not_a_file_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Tail::new(directory.path()).read().is_err());
    }
}
