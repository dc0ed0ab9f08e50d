//! The released values of a run, kept so that the run can continue after its program died.
//!
//! A run is a deterministic function of public data, its recorded public seed and the values that
//! were released to it. So a checkpoint needs only these values: a resumed run repeats its steps
//! from the start, receives what was released before, and draws fresh noise only where the
//! transcript ends. No method has a state to save.
//!
//! The file holds nothing but released values: anyone who may see them may see the file. A Poisson
//! sample, a generator's seed or an exact value is never in it.
//!
//! # Format
//!
//! The line [`MAGIC`], then one frame for each draw, all numbers little-endian:
//!
//! | bytes | hold |
//! |---|---|
//! | 4 | which event of the run's grant was drawn |
//! | 4 | how many numbers follow |
//! | 8 each | the released numbers (IEEE 754); of a selection, the winner |
//! | 8 | the seal: the first bytes of the chain |
//!
//! The chain begins with the SHA-256 of the magic line and the run's name, and each frame continues
//! it: SHA-256(chain before ‖ frame without seal). So a frame is valid only in its place, in its
//! run, after intact earlier frames. Each frame is a checkpoint, and writing one does not touch
//! those before it. If the last one is torn or damaged, the file is cut back to the one before, and
//! the lost draws stay spent.
//!
//! # When it is on disk
//!
//! A frame is written before its value is passed to the method, so a program that is killed loses
//! no value that anybody has seen. The file is synced before the ledger announces a further block
//! of draws, and every few seconds. So a machine that loses power loses at most the draws that were
//! announced last.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::ledger::RunId;
use crate::error::{Doing, Error, Result};
use crate::files::{private, step};

/// What fails if the disk does.
const BEGIN: &str = "begin the transcript";
const READ: &str = "read the transcript";
const WRITE: &str = "write what was released";

pub(super) const MAGIC: &[u8] = b"halflight transcript 1\n";
/// Event and count.
const HEAD: usize = 8;
const SEAL: usize = 8;
/// The longest time between two syncs of frames to disk, if there are any.
const SYNC_EVERY: Duration = Duration::from_secs(3);

type Chain = [u8; 32];

/// The transcript of a run that is under way; locked against a second program.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
    length: u64,
    chain: Chain,
    synced: Instant,
    /// The frames of an earlier program that this one has not returned again yet.
    recorded: Option<Frames>,
    /// How often each event was drawn by earlier programs.
    counts: BTreeMap<usize, u64>,
    /// The last frame could not be written.
    broken: bool,
}

/// A frame and its position.
struct FrameAt {
    event: usize,
    numbers: Vec<f64>,
    chain: Chain,
    length: u64,
}

/// The whole frames at the beginning of a file.
#[derive(Debug)]
struct Frames {
    reader: BufReader<File>,
    chain: Chain,
    /// Bytes not read yet.
    left: u64,
}

impl Transcript {
    /// The length of the file before anything is released.
    pub const EMPTY: u64 = MAGIC.len() as u64;

    /// A new, empty transcript.
    pub fn create(path: &Path, run: &RunId) -> Result<Self> {
        let file = step::open(private().append(true).create_new(true), path).doing(BEGIN, path)?;
        lock(&file, path)?;
        step::write(&file, MAGIC).and_then(|()| step::sync(&file)).doing(BEGIN, path)?;
        Ok(Self::empty(path, file, run))
    }

    fn empty(path: &Path, file: File, run: &RunId) -> Self {
        Self {
            path: path.to_path_buf(),
            file,
            length: Self::EMPTY,
            chain: genesis(run),
            synced: Instant::now(),
            recorded: None,
            counts: BTreeMap::new(),
            broken: false,
        }
    }

    /// The transcript of a run whose program is gone, cut back to its last whole frame.
    pub fn reopen(path: &Path, run: &RunId) -> Result<Self> {
        let file = step::open(OpenOptions::new().append(true), path).doing(READ, path)?;
        lock(&file, path)?;
        let mut frames = Frames::read(path, run)?;
        let (mut length, mut chain) = (Self::EMPTY, frames.chain);
        let mut counts = BTreeMap::new();
        while let Some(frame) = frames.next().doing(READ, path)? {
            length += frame.length;
            chain = frame.chain;
            *counts.entry(frame.event).or_default() += 1;
        }
        step::cut(&file, length).and_then(|()| step::sync(&file)).doing(READ, path)?;
        let recorded = Some(Frames::read(path, run)?);
        Ok(Self { length, chain, recorded, counts, ..Self::empty(path, file, run) })
    }

    /// How often each of `events` events was drawn by earlier programs.
    pub(super) fn counts(&self, events: usize) -> Result<Vec<u64>> {
        if self.counts.last_key_value().is_some_and(|(event, _)| *event >= events) {
            return Err(self.of_another_plan());
        }
        Ok((0..events).map(|event| self.counts.get(&event).copied().unwrap_or(0)).collect())
    }

    /// Whether there are more values to return again.
    pub(super) fn is_replaying(&self) -> bool {
        self.recorded.as_ref().is_some_and(|frames| frames.left > 0)
    }

    /// The value of the next recorded draw, which must be of `event`.
    pub(super) fn recorded(&mut self, event: usize) -> Result<Option<Vec<f64>>> {
        let Some(frames) = &mut self.recorded else { return Ok(None) };
        match frames.next().doing(READ, &self.path)? {
            Some(frame) if frame.event == event => Ok(Some(frame.numbers)),
            Some(_) => Err(self.of_another_plan()),
            None => {
                self.recorded = None;
                Ok(None)
            }
        }
    }

    /// Writes the value of a draw; only then may anybody see it.
    pub(super) fn append(&mut self, event: usize, numbers: &[f64]) -> Result<()> {
        if self.broken {
            return Err(Error::failed("the transcript could not be written before")
                .at(self.path.display().to_string()));
        }
        let mut frame = Vec::with_capacity(HEAD + 8 * numbers.len() + SEAL);
        frame.extend((event as u32).to_le_bytes());
        frame.extend((numbers.len() as u32).to_le_bytes());
        frame.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let chain = continued(&self.chain, &frame);
        frame.extend(&chain[..SEAL]);
        if let Err(error) = step::write(&self.file, &frame) {
            self.broken = true;
            // Half a frame would be cut off by the next reader anyway.
            let _ = step::cut(&self.file, self.length);
            return Err(Error::io(WRITE, &self.path, &error));
        }
        self.chain = chain;
        self.length += frame.len() as u64;
        if self.synced.elapsed() > SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    /// Makes every frame so far durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.synced = Instant::now();
        let synced = step::sync_data(&self.file);
        self.broken |= synced.is_err();
        synced.doing(WRITE, &self.path)
    }

    /// Whether a value was drawn and could not be kept.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    fn of_another_plan(&self) -> Error {
        Error::refused("the run takes other steps than its transcript tells")
            .at(self.path.display().to_string())
            .cure("resume it with the release of halflight that started it")
    }
}

impl Frames {
    fn read(path: &Path, run: &RunId) -> Result<Self> {
        let file = File::open(path).doing(READ, path)?;
        let length = file.metadata().doing(READ, path)?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut magic = vec![0; MAGIC.len()];
        if length < magic.len() as u64 || reader.read_exact(&mut magic).is_err() || magic != MAGIC {
            return Err(Error::failed("this is not a transcript that this halflight reads")
                .at(path.display().to_string())
                .cure("resume the run with the release of halflight that started it"));
        }
        Ok(Self { reader, chain: genesis(run), left: length - Transcript::EMPTY })
    }

    /// The next frame, if it is whole.
    fn next(&mut self) -> std::io::Result<Option<FrameAt>> {
        let left = std::mem::take(&mut self.left);
        if left < (HEAD + SEAL) as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; HEAD];
        self.reader.read_exact(&mut bytes)?;
        let (words, _) = bytes.as_chunks::<4>();
        let [event, count] = [words[0], words[1]].map(|word| u32::from_le_bytes(word) as usize);
        let length = (HEAD + SEAL) as u64 + 8 * count as u64;
        // A damaged count must not even reserve memory.
        if length > left {
            return Ok(None);
        }
        bytes.resize(HEAD + 8 * count, 0);
        self.reader.read_exact(&mut bytes[HEAD..])?;
        let mut seal = [0; SEAL];
        self.reader.read_exact(&mut seal)?;
        let chain = continued(&self.chain, &bytes);
        if chain[..SEAL] != seal {
            return Ok(None);
        }
        self.chain = chain;
        self.left = left - length;
        let (words, _) = bytes[HEAD..].as_chunks::<8>();
        let numbers = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        Ok(Some(FrameAt { event, numbers, chain, length }))
    }
}

fn genesis(run: &RunId) -> Chain {
    Sha256::new().chain_update(MAGIC).chain_update(&run.0).finalize().into()
}

fn continued(chain: &Chain, frame: &[u8]) -> Chain {
    Sha256::new().chain_update(chain).chain_update(frame).finalize().into()
}

/// Without it, two programs would mix their frames.
fn lock(file: &File, path: &Path) -> Result<()> {
    let taken = step::before_lock().and_then(|()| super::ledger::take(file));
    if taken.doing("lock the transcript", path)? {
        return Ok(());
    }
    Err(Error::refused("the run is being carried out by another program")
        .at(path.display().to_string())
        .cure("wait for it, or stop it where it runs"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run() -> RunId {
        RunId("r".to_owned())
    }

    /// A transcript of these draws, and its file's bytes.
    fn written(directory: &Path, draws: &[(usize, Vec<f64>)]) -> PathBuf {
        let path = directory.join("transcript");
        let _ = std::fs::remove_file(&path);
        let mut transcript = Transcript::create(&path, &run()).unwrap();
        for (event, numbers) in draws {
            transcript.append(*event, numbers).unwrap();
        }
        path
    }

    fn draws() -> Vec<(usize, Vec<f64>)> {
        vec![
            (0, vec![0.1, -0.0, f64::MAX]),
            (1, vec![3.0]),
            (0, Vec::new()),
            (2, vec![f64::MIN_POSITIVE / 3.0; 40]),
        ]
    }

    fn replayed(transcript: &mut Transcript, draws: &[(usize, Vec<f64>)]) -> usize {
        let mut count = 0;
        for (event, numbers) in draws {
            match transcript.recorded(*event).unwrap() {
                Some(found) => {
                    assert_eq!(
                        found.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                        numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                    );
                    count += 1;
                }
                None => break,
            }
        }
        assert!(!transcript.is_replaying());
        count
    }

    #[test]
    fn what_was_written_comes_back_bit_for_bit_and_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path(), &draws());
        let mut again = Transcript::reopen(&path, &run()).unwrap();
        assert_eq!(again.counts(3).unwrap(), [2, 1, 1]);
        assert!(again.is_replaying());
        assert_eq!(replayed(&mut again, &draws()), 4);
        assert_eq!(again.recorded(0).unwrap(), None);
        again.append(1, &[7.0]).unwrap();
        drop(again);
        let third = Transcript::reopen(&path, &run()).unwrap();
        assert_eq!(third.counts(3).unwrap(), [2, 2, 1]);
    }

    #[test]
    fn another_event_than_the_recorded_one_is_refused_and_so_is_another_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path(), &draws());
        let mut again = Transcript::reopen(&path, &run()).unwrap();
        assert!(again.recorded(1).unwrap_err().to_string().contains("other steps"));
        assert!(again.counts(2).is_err(), "an event that no plan has");
        drop(again);
        let other = Transcript::reopen(&path, &RunId("s".to_owned())).unwrap();
        assert_eq!(other.counts(3).unwrap(), [0, 0, 0]);
    }

    #[test]
    fn a_second_program_is_refused_while_the_first_one_works() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path(), &draws());
        let first = Transcript::reopen(&path, &run()).unwrap();
        let error = Transcript::reopen(&path, &run()).unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
        drop(first);
        assert!(Transcript::reopen(&path, &run()).is_ok());
        assert!(Transcript::create(&path, &run()).is_err(), "nothing is overwritten");
    }

    #[test]
    fn a_full_disk_refuses_the_value_and_every_later_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path(), &draws());
        let mut transcript = Transcript::reopen(&path, &run()).unwrap();
        // A read-only file simulates one that cannot grow.
        transcript.file = File::open(&path).unwrap();
        assert!(transcript.append(0, &[1.0]).is_err() && transcript.is_broken());
        assert!(transcript.append(0, &[1.0]).is_err());
        drop(transcript);
        let again = Transcript::reopen(&path, &run()).unwrap();
        assert_eq!(again.counts(3).unwrap(), [2, 1, 1]);
    }

    proptest! {
        /// After a cut or change anywhere, all frames before that place remain, and none after it.
        #[test]
        fn damage_anywhere_leaves_the_whole_frames_before_it(
            place in 0.0..1.0_f64,
            change in proptest::option::of(1..=255_u8),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let draws = draws();
            let mut ends = vec![MAGIC.len()];
            for (_, numbers) in &draws {
                ends.push(ends[ends.len() - 1] + HEAD + SEAL + 8 * numbers.len());
            }
            let path = written(directory.path(), &draws);
            let mut bytes = std::fs::read(&path).unwrap();
            prop_assert_eq!(bytes.len(), ends[4]);
            let at = ends[0] + (place * (bytes.len() - ends[0]) as f64) as usize;
            match change {
                Some(change) => bytes[at] ^= change,
                None => bytes.truncate(at),
            }
            std::fs::write(&path, &bytes).unwrap();
            let whole = ends[1..].iter().filter(|end| **end <= at).count();
            let mut again = Transcript::reopen(&path, &run()).unwrap();
            prop_assert_eq!(std::fs::metadata(&path).unwrap().len(), ends[whole] as u64);
            prop_assert_eq!(replayed(&mut again, &draws), whole);
        }
    }
}
