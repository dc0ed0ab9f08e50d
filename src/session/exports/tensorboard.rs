//! Steps as an event file that TensorBoard reads.
//!
//! A record has its length, its content, and a checksum of each. The content is one `Event` message
//! of TensorFlow; only scalars are written.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::wire::Message;
use crate::error::{Doing as _, Error, Result};
use crate::files::{self, step};

/// The prefix of the name of such a file.
const PREFIX: &str = "events.out.tfevents";
/// The first event of every file.
const VERSION: &str = "brain.Event:2";

/// The event file of one run.
#[derive(Debug)]
pub struct Board {
    file: File,
    path: PathBuf,
}

impl Board {
    /// A new file in `folder/run`.
    pub fn create(folder: &Path, run: &str) -> Result<Self> {
        let folder = folder.join(run);
        files::create_folder(&folder).doing("create the directory", &folder)?;
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        if entries.into_iter().any(|it| it.file_name().to_string_lossy().starts_with(PREFIX)) {
            return Err(Error::usage(
                "there are events of this run already: it would be shown twice",
            )
            .at(folder.display().to_string())
            .cure("name another directory, or remove this one"));
        }
        let seconds = crate::clock::now().as_second();
        let path = folder.join(format!("{PREFIX}.{seconds:010}.halflight.{}", std::process::id()));
        let file = step::open(OpenOptions::new().write(true).create_new(true), &path)
            .doing("create the event file", &path)?;
        let board = Self { file, path };
        let mut version = event();
        version.text(3, VERSION);
        board.write(version)?;
        Ok(board)
    }

    /// Numbers of one step, by name.
    pub fn add<'a>(
        &self,
        step: u64,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<()> {
        let mut summary = Message::default();
        for (name, y) in values {
            summary.message(1, Message::default().text(1, name).float(2, y as f32));
        }
        let mut event = event();
        event.integer(2, step.cast_signed()).message(5, &summary);
        self.write(event)
    }

    fn write(&self, event: Message) -> Result<()> {
        let event = event.into_bytes();
        let length = (event.len() as u64).to_le_bytes();
        let mut record = length.to_vec();
        record.extend(masked(crc(&length)).to_le_bytes());
        record.extend(&event);
        record.extend(masked(crc(&event)).to_le_bytes());
        step::write(&self.file, &record).doing("write the event file", &self.path)
    }
}

/// The beginning of an event: its time, in seconds.
fn event() -> Message {
    let now = crate::clock::now();
    let mut event = Message::default();
    event.double(1, now.as_second() as f64 + f64::from(now.subsec_nanosecond()) * 1e-9);
    event
}

/// CRC-32C, bit by bit: a step has few bytes.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// The masked form that these files use.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(crc(b"123456789"), 0xe306_9283);
        assert_eq!(crc(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn a_file_holds_its_version_and_a_record_for_each_step() {
        let directory = tempfile::tempdir().unwrap();
        let board = Board::create(directory.path(), "run").unwrap();
        board.add(300, [("loss", 2.5), ("epsilon", 0.5)]).unwrap();
        let bytes = std::fs::read(&board.path).unwrap();
        let mut rest = bytes.as_slice();
        let mut records = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk::<8>() {
            let size = u64::from_le_bytes(*length) as usize;
            let word = |at: usize| u32::from_le_bytes(after[at..at + 4].try_into().unwrap());
            assert_eq!(word(0), masked(crc(length)));
            assert_eq!(word(4 + size), masked(crc(&after[4..4 + size])));
            records.push(&after[4..4 + size]);
            rest = &after[8 + size..];
        }
        assert_eq!(records.len(), 2);
        assert_eq!(&records[0][9..], b"\x1a\x0dbrain.Event:2");
        // Step 300, then a summary of two values.
        assert_eq!(&records[1][9..12], [0x10, 0xac, 0x02]);
        assert_eq!(&records[1][14..27], b"\x0a\x0b\x0a\x04loss\x15\x00\x00\x20\x40");
        let again = Board::create(directory.path(), "run").unwrap_err().to_string();
        assert!(again.contains("twice"), "{again}");
    }
}
