//! The bytes of a file: opened with care, with progress reported, and unpacked if they are
//! compressed with gzip.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::read::MultiGzDecoder;

use crate::column::Column;
use crate::error::{Doing, Error, Result};
use crate::files::scratch::{Scratch, read_at};
use crate::memory;

/// Deflate expands a byte to at most 1032, so a header that promises more is wrong.
const MOST_UNPACKED: u64 = 1032;
/// Bytes of what is kept in memory for each row: its place and its label.
pub const ROW: u64 = 16;
/// How often progress is reported.
const TOLD_EVERY: u64 = 1 << 20;
const BLOCK: usize = 1 << 18;

/// Gets the number of bytes read so far, from time to time; `Break` stops the reading. It is called
/// by the thread that has just read.
pub trait ReadingProgress: Send {
    /// Gets the number of bytes read. `Break` stops the reading.
    fn advance(&mut self, read: u64, of: u64) -> ControlFlow<()>;
}

impl<F: FnMut(u64, u64) -> ControlFlow<()> + Send> ReadingProgress for F {
    fn advance(&mut self, read: u64, of: u64) -> ControlFlow<()> {
        self(read, of)
    }
}

/// For a reader whose progress nobody watches.
pub struct Unwatched;

impl ReadingProgress for Unwatched {
    fn advance(&mut self, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Where the numbers of large tables go.
#[derive(Debug, Clone)]
pub struct Overflow {
    /// A folder on a disk that may hold these data.
    pub folder: PathBuf,
    /// Tables of more bytes go there.
    pub above: u64,
}

impl Overflow {
    /// Beside a file that will be as private as the table.
    pub fn beside(file: &Path) -> Self {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Self::to(folder.unwrap_or(Path::new(".")))
    }

    /// The share of one of so many parts of a table. While parts are joined, they and the table are
    /// in memory at once.
    pub fn for_one(&self, of: usize) -> Self {
        let share = if of > 1 { self.above / (2 * of as u64) } else { self.above };
        Self { above: share, ..self.clone() }
    }

    /// For tables of which there is no room for what is computed from them.
    pub fn to(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), above: memory::much() }
    }
}

enum ByteSource<'a> {
    File(File),
    Memory(&'a [u8]),
}

/// A file, or bytes inside the program. Several threads may read from it.
pub struct Input<'a> {
    /// For messages.
    pub origin: String,
    bytes: ByteSource<'a>,
    /// The length of the file on disk.
    pub length: u64,
    /// The first bytes, unpacked.
    pub start: Vec<u8>,
    /// Whether the file is compressed.
    pub packed: bool,
    /// Whether an unreadable record becomes one without values (see [`super::TableReader::private`]).
    pub forgiving: bool,
    /// Where numbers go that do not fit into memory.
    pub overflow: Option<Overflow>,
    /// Columns of a text table that may be names, such as `007`.
    pub names: Vec<String>,
    /// Whether a text ended within a line.
    ends_open: AtomicBool,
    progress: Mutex<&'a mut dyn ReadingProgress>,
    /// The farthest position that has been read.
    reached: AtomicU64,
    /// The number of bytes read, anywhere in the file.
    given: AtomicU64,
    stopped: AtomicBool,
}

/// How many of a file's first bytes decide what it is.
const START: u64 = 1 << 16;

impl<'a> Input<'a> {
    pub fn open(path: &Path, progress: &'a mut dyn ReadingProgress) -> Result<Self> {
        let origin = path.display().to_string();
        let about = fs::metadata(path).doing("read the file", path)?;
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
        let file = File::open(path).doing("read the file", path)?;
        Self::new(origin, ByteSource::File(file), about.len(), progress)
    }

    pub fn of_bytes(
        origin: &str,
        bytes: &'a [u8],
        progress: &'a mut dyn ReadingProgress,
    ) -> Result<Self> {
        Self::new(origin.to_owned(), ByteSource::Memory(bytes), bytes.len() as u64, progress)
    }

    fn new(
        origin: String,
        bytes: ByteSource<'a>,
        length: u64,
        progress: &'a mut dyn ReadingProgress,
    ) -> Result<Self> {
        let mut input = Self {
            origin,
            bytes,
            length,
            start: Vec::new(),
            packed: false,
            forgiving: false,
            overflow: None,
            names: Vec::new(),
            ends_open: AtomicBool::new(false),
            progress: Mutex::new(progress),
            reached: AtomicU64::new(0),
            given: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        };
        let mut magic = Vec::new();
        input.raw().take(2).read_to_end(&mut magic).map_err(|error| input.io(&error))?;
        input.packed = magic == b"\x1f\x8b";
        let mut start = Vec::new();
        let read = input.plain().take(START).read_to_end(&mut start);
        // A later cut is left for the reader to find.
        if start.is_empty() {
            read.map_err(|error| input.io(&error))?;
        }
        input.start = start;
        Ok(input)
    }

    /// The last byte of a text has been read.
    pub fn note_end(&self, last: u8) {
        self.ends_open.store(!matches!(last, b'\n' | b'\r'), Ordering::Relaxed);
    }

    /// Whether a text that was read to its end has no line end after its last line.
    pub fn ends_open(&self) -> bool {
        self.ends_open.load(Ordering::Relaxed)
    }

    /// The length of the content; for a packed file, the largest possible length.
    pub fn most_bytes(&self) -> u64 {
        if self.packed { self.length.saturating_mul(MOST_UNPACKED) } else { self.length }
    }

    /// The most bytes that `packed` deflated bytes can become.
    pub fn most_inflated(packed: u64) -> u64 {
        packed.saturating_mul(MOST_UNPACKED).saturating_add(64)
    }

    /// Refuses a table that would take this many bytes if there is no room for it.
    pub fn check_memory(&self, bytes: u64) -> Result<()> {
        memory::check(bytes).map_err(|error| error.at(self.origin.clone()))
    }

    /// Where the cells of a table go that take so many bytes, besides the bytes of what else it
    /// holds: `None` if all of it fits into memory.
    pub fn room(&self, cells: u64, others: u64) -> Result<Option<Arc<Scratch>>> {
        match &self.overflow {
            Some(overflow) if cells.saturating_add(others) > overflow.above => {
                self.check_memory(others)?;
                Scratch::create_in(&overflow.folder).map(Some)
            }
            _ => self.check_memory(cells.saturating_add(others)).map(|()| None),
        }
    }

    /// Puts columns of a table that will have so many rows, and cells of so many bytes, where it
    /// probably has room, unless they are on the disk already. There, only the rows so far count: a
    /// few long records would mislead a forecast.
    pub fn place(
        &self,
        columns: &mut [Column],
        cells: u64,
        (so_far, rows): (usize, usize),
    ) -> Result<()> {
        let on_disk = columns.iter().any(|column| column.space().is_some());
        let all = cells.saturating_add(ROW.saturating_mul(rows as u64));
        match &self.overflow {
            Some(overflow) if !on_disk && all > overflow.above => {
                let space = Scratch::create_in(&overflow.folder)?;
                columns.iter_mut().try_for_each(|column| column.move_to(&space))?;
            }
            _ if on_disk => {}
            _ => return self.check_memory(all),
        }
        self.check_rows(so_far)
    }

    /// Refuses more rows of a table on the disk than there is memory for.
    pub fn check_rows(&self, rows: usize) -> Result<()> {
        self.check_memory(ROW.saturating_mul(rows as u64))
    }

    /// The share of the file read so far.
    pub fn share_read(&self) -> f64 {
        self.reached.load(Ordering::Relaxed) as f64 / self.length.max(1) as f64
    }

    pub fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Reports the progress. The number of bytes read counts, not their position: some formats
    /// start with the end of the file.
    fn advance(&self, bytes: u64, reached: u64) {
        self.reached.fetch_max(reached, Ordering::Relaxed);
        let before = self.given.fetch_add(bytes, Ordering::Relaxed);
        let after = before + bytes;
        let ends = before < self.length && after >= self.length;
        if ends || after / TOLD_EVERY > before / TOLD_EVERY {
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.advance(after.min(self.length), self.length).is_break() {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The raw bytes, which may be read anywhere.
    pub fn raw(&self) -> Raw<'_, 'a> {
        Raw { input: self, at: 0 }
    }

    /// The unpacked bytes, in order.
    pub fn plain(&self) -> Box<dyn Read + Send + '_> {
        let raw = BufReader::with_capacity(BLOCK, self.raw());
        if self.packed { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) }
    }

    /// A failed reading.
    pub fn io(&self, error: &io::Error) -> Error {
        let damaged = matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput);
        let what = match error.kind() {
            ErrorKind::UnexpectedEof if self.packed => {
                format!("the compressed file ends too early, at byte {}", self.length)
            }
            ErrorKind::UnexpectedEof => {
                format!("the file ends too early, at byte {}", self.length)
            }
            _ if damaged && self.packed => format!("the compressed data are damaged: {error}"),
            _ => format!("cannot read the file: {error}"),
        };
        self.error(what).cure("copy or download the file again")
    }

    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::failed(what).at(self.origin.clone())
    }

    /// The error if the contents do not have exactly `expected` bytes.
    pub fn wrong_length(&self, what: &str, expected: u64, found: u64) -> Error {
        self.error(format!("{what} needs {expected} bytes, found {found}")).cure(
            if expected > found {
                "the file is cut off or its header is damaged: copy or download it again"
            } else {
                "there is more than the header says: copy or download the file again"
            },
        )
    }
}

/// Reads anywhere in an [`Input`] and reports its progress.
pub struct Raw<'i, 'a> {
    input: &'i Input<'a>,
    at: u64,
}

impl Read for Raw<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let input = self.input;
        let read = match &input.bytes {
            ByteSource::File(file) => read_at(file, buffer, self.at)?,
            ByteSource::Memory(bytes) => {
                let from = usize::try_from(self.at).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[from..]).read(buffer)?
            }
        };
        self.at += read as u64;
        input.advance(read as u64, self.at);
        if input.was_stopped() {
            return Err(io::Error::other("stopped"));
        }
        Ok(read)
    }
}

impl Seek for Raw<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.input.length.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
