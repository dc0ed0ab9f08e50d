//! The files of the ledger, their locks, and the order in which they are synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::chain::{ChainReading, ChainTail, Confirmed, GENESIS, Link};
use super::entry::{LedgerLine, RunId};
use super::lock::{self, Exclusive, Shared};
use super::shared_disk;
use crate::error::{Doing, Error, Result};
use crate::files::{self, private, step};

/// Identifies the current start of this machine; `None` where the system does not provide it.
fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    BOOT.get_or_init(read).as_deref()
}

/// What fails if the disk does.
const WRITE: &str = "write to the ledger";
const REWRITE: &str = "rewrite the ledger";
const MARK: &str = "mark the run as alive";

/// The name of the file.
pub(super) const LEDGER: &str = "ledger.jsonl";

#[derive(Debug)]
pub(super) struct Disk {
    directory: PathBuf,
    ledger: PathBuf,
    /// The remark about its locks, once they were examined.
    locks: OnceLock<Option<String>>,
}

impl Disk {
    pub fn new(directory: &Path) -> Result<Self> {
        let kind = fs::metadata(directory).doing("open the directory of the ledger", directory)?;
        if !kind.is_dir() {
            return Err(Error::usage("the ledger belongs in a directory, and this is not one")
                .at(directory.display().to_string()));
        }
        let (directory, ledger) = (directory.to_owned(), directory.join(LEDGER));
        Ok(Self { directory, ledger, locks: OnceLock::new() })
    }

    /// The folder of the workspace.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// The remark to show once about the disk, if any.
    pub fn remark(&self) -> Option<&str> {
        self.locks.get()?.as_deref()
    }

    pub fn lock(&self) -> Result<Exclusive> {
        if self.locks.get().is_none() {
            let _ = self.locks.set(shared_disk::check(&self.directory)?);
        }
        let path = self.directory.join("ledger.lock");
        lock::exclusive(&path).doing("lock the ledger", &path)
    }

    pub fn lock_shared(&self) -> Result<Shared> {
        let path = self.directory.join("ledger.lock");
        lock::shared(&path).doing("lock the ledger", &path)
    }

    /// Takes the shared lock if it is free soon; otherwise returns its holder.
    pub fn lock_shared_soon(
        &self,
        patience: Duration,
    ) -> Result<std::result::Result<Shared, String>> {
        let path = self.directory.join("ledger.lock");
        lock::shared_soon(&path, patience).doing("lock the ledger", &path)
    }

    pub fn confirmed(&self) -> Result<Confirmed> {
        let path = self.head();
        let bytes = fs::read(&path).if_there().doing("read the head of the ledger", &path)?;
        let Some(bytes) = bytes else { return Ok(Confirmed::Nothing) };
        let line = std::str::from_utf8(&bytes).ok().and_then(LedgerLine::parse);
        Ok(line.map_or(Confirmed::Unreadable, Confirmed::Until))
    }

    /// The bytes after those read before; `None` if the file is another one now.
    pub fn after(&self, reading: &ChainReading) -> Result<Option<Vec<u8>>> {
        let ending = reading.ending();
        let read = || -> io::Result<Vec<u8>> {
            let Some(mut file) = File::open(&self.ledger).if_there()? else {
                return Ok(Vec::new());
            };
            file.seek(SeekFrom::Start(reading.length() - ending.len() as u64))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().doing("read the ledger", &self.ledger)?;
        Ok(bytes.strip_prefix(ending.as_bytes()).map(<[u8]>::to_vec))
    }

    /// Writes one line after the good prefix. Returns when line and head are on disk; on failure
    /// the ledger is unchanged.
    pub fn append(&self, _lock: &Exclusive, reading: &ChainReading, link: &Link) -> Result<()> {
        let head = self.confirmed()?;
        if head != Confirmed::Until(reading.head()) {
            // Either the first entry, or the last writer died before confirming.
            self.confirm(&reading.head())?;
        }
        if *reading.tail() == ChainTail::Torn {
            self.set_torn_aside(reading)?;
        }
        let is_new = reading.head().hash == GENESIS;
        let file = step::open(private().append(true).create(is_new), &self.ledger)
            .doing(WRITE, &self.ledger)?;
        let written = step::write(&file, link.text.as_bytes()).and_then(|()| step::sync(&file));
        let written = match written {
            Ok(()) if is_new => self.sync_directory(),
            written => written,
        };
        let written = written.doing(WRITE, &self.ledger);
        written.and_then(|()| self.confirm(&link.head)).inspect_err(|_| {
            // Remove the line again, unless the head already confirms it: then it stays, and at
            // worst too much is charged. If even this fails, the next reader finds a torn or an
            // unconfirmed line.
            if self.confirmed().is_ok_and(|head| head != Confirmed::Until(link.head.clone())) {
                let _ = step::cut(&file, reading.length()).and_then(|()| step::sync(&file));
            }
        })
    }

    /// Keeps the whole damaged file under another name and puts the good prefix
    /// with these further lines in its place.
    pub fn replace(
        &self,
        _lock: &Exclusive,
        reading: &ChainReading,
        link: &Link,
    ) -> Result<PathBuf> {
        let mut bytes = self.after(&ChainReading::default())?.unwrap_or_default();
        let aside = self.set_aside("ledger.damaged-", ".jsonl", &bytes)?;
        bytes.truncate(reading.length() as usize);
        bytes.extend_from_slice(link.text.as_bytes());
        files::replace(&self.ledger, &bytes, private())
            .doing("replace the damaged ledger", &self.ledger)?;
        self.confirm(&link.head)?;
        Ok(aside)
    }

    /// The bytes of the good prefix.
    pub fn good(&self, reading: &ChainReading) -> Result<Vec<u8>> {
        let mut bytes = self.after(&ChainReading::default())?.unwrap_or_default();
        bytes.truncate(reading.length() as usize);
        Ok(bytes)
    }

    /// All bytes of ledger and head, even if damaged.
    pub fn remains(&self) -> Result<String> {
        let bytes = self.after(&ChainReading::default())?.unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if let Confirmed::Until(line) = self.confirmed()? {
            text += &line.hash;
        }
        Ok(text)
    }

    /// Replaces the chain that ends in `old`, and rewrites the files that earlier repairs set
    /// aside. An unfinished line is dropped: nothing was drawn under it.
    ///
    /// The old head is confirmed first: the new ledger names it, so a program that dies before the
    /// new one is confirmed leaves two consistent files.
    pub fn rewrite(
        &self,
        _lock: &Exclusive,
        old: &LedgerLine,
        text: &str,
        new: &LedgerLine,
        cover: &dyn Fn(&str) -> String,
    ) -> Result<()> {
        let entries = fs::read_dir(&self.directory).doing(REWRITE, &self.directory)?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("ledger.torn-") || name.starts_with("ledger.damaged-") {
                let path = entry.path();
                let bytes = fs::read(&path).doing(REWRITE, &path)?;
                let aside = String::from_utf8_lossy(&bytes);
                let covered = cover(&aside);
                if covered != aside {
                    files::replace(&path, covered.as_bytes(), private()).doing(REWRITE, &path)?;
                }
            }
        }
        self.confirm(old)?;
        files::replace(&self.ledger, text.as_bytes(), private()).doing(REWRITE, &self.ledger)?;
        self.confirm(new)
    }

    /// The mark that a run is being executed: locked until it is dropped or the process ends.
    /// `None` while someone else holds it.
    pub fn hold(&self, run: &RunId) -> Result<Option<File>> {
        let path = self.run_lock(run);
        files::create_private_folder(&self.directory.join("open")).doing(MARK, &path)?;
        let file = step::open(private().read(true).write(true).create(true).truncate(false), &path);
        let file = file.doing(MARK, &path)?;
        let taken = step::before_lock().and_then(|()| lock::take(&file));
        Ok(taken.doing(MARK, &path)?.then_some(file))
    }

    /// Notes in a run's mark how often each event was drawn. It is not synced: it serves when a
    /// program dies, and after a restart of the machine it is not trusted.
    pub fn tally(mut mark: &File, drawn: &[u64]) -> io::Result<()> {
        let counts: Vec<String> = drawn.iter().map(|count| format!("{count:020}")).collect();
        let line = format!("{} {}\n", boot().unwrap_or("unknown"), counts.join(" "));
        mark.seek(SeekFrom::Start(0))?;
        step::write(mark, line.as_bytes())
    }

    /// The note of [`Self::tally`], if the machine was not restarted since.
    pub fn tallied(mut mark: &File) -> Option<Vec<u64>> {
        let mut text = String::new();
        mark.seek(SeekFrom::Start(0)).ok()?;
        mark.read_to_string(&mut text).ok()?;
        let counts = text.strip_suffix('\n')?.strip_prefix(boot()?)?;
        counts.split_whitespace().map(|count| count.parse().ok()).collect()
    }

    /// Whether somebody executes this run now.
    pub fn is_held(&self, run: &RunId) -> bool {
        lock::is_held(&self.run_lock(run))
    }

    /// Forgets the mark of a run that is over. A leftover file does no harm.
    pub fn forget(&self, run: &RunId) {
        let _ = step::remove(&self.run_lock(run));
    }

    fn run_lock(&self, run: &RunId) -> PathBuf {
        self.directory.join("open").join(format!("{}.lock", run.0))
    }

    fn head(&self) -> PathBuf {
        self.directory.join("ledger.head")
    }

    fn confirm(&self, head: &LedgerLine) -> Result<()> {
        let path = self.head();
        files::replace(&path, head.text().as_bytes(), private())
            .doing("write the head of the ledger", &path)
    }

    fn set_torn_aside(&self, reading: &ChainReading) -> Result<()> {
        let torn = self.after(reading)?.unwrap_or_default();
        self.set_aside("ledger.torn-", "", &torn)?;
        step::open(OpenOptions::new().write(true), &self.ledger)
            .and_then(|file| step::cut(&file, reading.length()).and_then(|()| step::sync(&file)))
            .doing("cut an unfinished line off the ledger", &self.ledger)
    }

    /// Writes these bytes to a new file, named by the time.
    fn set_aside(&self, prefix: &str, suffix: &str, bytes: &[u8]) -> Result<PathBuf> {
        let time = crate::clock::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut name = format!("{prefix}{time}{suffix}");
        let mut times = 1;
        loop {
            let path = self.directory.join(&name);
            let created = step::open(private().write(true).create_new(true), &path);
            if created.as_ref().is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
                times += 1;
                name = format!("{prefix}{time}-{times}{suffix}");
                continue;
            }
            let written = created
                .and_then(|file| step::write(&file, bytes).and_then(|()| step::sync(&file)))
                .and_then(|()| self.sync_directory());
            written.doing("set bytes of the ledger aside", &path)?;
            return Ok(path);
        }
    }

    /// Makes new names in the directory durable.
    fn sync_directory(&self) -> io::Result<()> {
        step::sync_folder(&self.directory)
    }
}
