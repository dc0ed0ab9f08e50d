//! What this user's programs remember of a ledger, outside of it.
//!
//! A ledger that was restored from a copy, together with its head, looks intact: nothing in it
//! shows that it was once longer. So the last line that a program of this user wrote or saw is
//! noted in the user's configuration, in a file named by the hash of the ledger's first line.
//! Before every change the ledger must still have that line. A second copy of a workspace that was
//! continued fails this test, wherever it is. A workspace that was moved, or that others also use,
//! passes.
//!
//! Two programs with two copies can make draws between two lines. So a run's draws are also noted
//! here, in a file that is locked as long as a program executes the run. Meanwhile a copy cannot be
//! resumed, and later it counts what the other program drew.
//!
//! | file | holds |
//! |---|---|
//! | `HASH` | number and hash of the last line, in a fixed width so that one write replaces it, and a check |
//! | `ROWS.HASH.card` | where the ledger is, and what it charged on these rows ([`super::elsewhere`]) |
//! | `HASH.RUN.draws` | how often each event of an open run was drawn; locked while it works |
//!
//! Where nothing can be written here, work continues, with one warning that copies are not
//! detected.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::chain::{ChainReading, sha256};
use super::entry::{LedgerLine, RunId};
use super::flaw::Flaw;
use super::lock;
use crate::files::{self, step};

#[derive(Debug)]
pub(super) struct Witness {
    directory: PathBuf,
    /// The reason why nothing can be noted, once it is known.
    trouble: Option<String>,
}

/// The note of one ledger, locked against programs that change a copy of it.
#[derive(Debug)]
pub(super) struct Note {
    file: File,
    path: PathBuf,
    line: Option<LedgerLine>,
}

/// Who holds the mark of a run.
#[derive(Debug)]
pub(super) enum Held {
    Here(File),
    /// Another program, which executes the run.
    Elsewhere,
    /// Nobody: no mark can be made.
    Nowhere,
}

impl Witness {
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), trouble: None }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The remark to show about it, if any.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The note of the ledger that was read; `None` for a ledger without lines.
    pub fn note(&mut self, reading: &ChainReading) -> Option<Note> {
        self.note_at(&self.directory.join(reading.first()?))
    }

    fn note_at(&mut self, path: &Path) -> Option<Note> {
        let noted = self.open(path).and_then(|mut file| {
            step::before_lock().and_then(|()| file.lock())?;
            let mut text = String::new();
            // An unreadable note means nothing; the next one replaces it.
            let line = file.read_to_string(&mut text).ok().and_then(|_| parse(&text));
            Ok(Note { file, path: path.to_owned(), line })
        });
        noted.map_err(|error| self.failed(path, &error)).ok()
    }

    /// Makes sure that no copy of a ledger whose first line was lost can be continued: a repair
    /// gives the ledger another first line, and so another note. `remains` is the rest of the
    /// old ledger. Every line holds its own hash and that of the line before, so the old note is
    /// the one whose name or line appears there. From now on it asks for `line`, which no copy has.
    pub fn retire(&mut self, remains: &str, line: &LedgerLine) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.len() == line.hash.len()) else {
                continue;
            };
            let Some(mut note) = self.note_at(&entry.path()) else { continue };
            let tells = |hash: &str| remains.contains(hash);
            if tells(name) || note.line.as_ref().is_some_and(|line| tells(&line.hash)) {
                self.write(&mut note, line, true);
            }
        }
    }

    /// Notes the last line. It is not synced for a mere announcement of draws: after a power
    /// failure the lines around it (a grant, a resumption, a settlement) distinguish two copies.
    pub fn write(&mut self, note: &mut Note, line: &LedgerLine, durable: bool) {
        if note.line.as_ref() == Some(line) {
            return;
        }
        let text = text_of(line);
        let written = note
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| step::write(&note.file, text.as_bytes()))
            .and_then(|()| step::cut(&note.file, text.len() as u64))
            .and_then(|()| if durable { step::sync(&note.file) } else { Ok(()) });
        match written {
            Ok(()) => note.line = Some(line.clone()),
            Err(error) => self.failed(&note.path.clone(), &error),
        }
    }

    /// The mark of a run that is being executed, like [`super::disk::Disk::hold`].
    pub fn hold(&mut self, reading: &ChainReading, run: &RunId) -> Held {
        let Some(path) = self.mark(reading, run) else { return Held::Nowhere };
        match self.open(&path).map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), file)) => Held::Here(file),
            Ok((Err(TryLockError::WouldBlock), _)) => Held::Elsewhere,
            Ok((Err(TryLockError::Error(error)), _)) | Err(error) => {
                self.failed(&path, &error);
                Held::Nowhere
            }
        }
    }

    pub fn is_held(&self, reading: &ChainReading, run: &RunId) -> bool {
        self.mark(reading, run).is_some_and(|path| lock::is_held(&path))
    }

    pub fn forget(&self, reading: &ChainReading, run: &RunId) {
        if let Some(path) = self.mark(reading, run) {
            let _ = step::remove(&path);
        }
    }

    fn mark(&self, reading: &ChainReading, run: &RunId) -> Option<PathBuf> {
        Some(self.directory.join(format!("{}.{}.draws", reading.first()?, run.0)))
    }

    /// Readable only by the owner, for any umask.
    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = files::private();
        options.read(true).write(true).create(true).truncate(false);
        match step::open(&options, path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                files::create_private_folder(&self.directory)?;
                step::open(&options, path)
            }
            file => file,
        }
    }

    fn failed(&mut self, path: &Path, error: &io::Error) {
        self.trouble.get_or_insert_with(|| {
            format!(
                "{}: {error}: nothing can be noted there, so halflight cannot notice if work \
                 continues in a second copy of this workspace, or if an older ledger is brought \
                 back",
                path.display()
            )
        });
    }
}

impl Note {
    /// The flaw of a ledger that does not have the noted line.
    pub fn flaw(&self, reading: &ChainReading) -> Option<Flaw> {
        let line = self.line.as_ref().filter(|line| !reading.holds(line))?;
        let good = reading.head().seq;
        let (what, until) = if line.seq > good {
            (format!("its lines {} to {} are missing", good + 1, line.seq), Some(line.seq))
        } else {
            (format!("its line {} is another one", line.seq), None)
        };
        Some(Flaw {
            line: line.seq.min(good + 1),
            why: format!(
                "{what}: your programs wrote or saw them before. This ledger is an older copy, \
                 or somebody continued with another copy of it"
            ),
            after: good,
            until,
            first: Some(
                "if this is a copy, work in the workspace that was used last, and leave the copy \
                 alone",
            ),
            traces: Vec::new(),
        })
    }

    /// Whether the ledger has lines that are not noted.
    pub fn is_behind(&self, line: &LedgerLine) -> bool {
        self.line.as_ref().is_none_or(|noted| noted.seq < line.seq)
    }
}

/// A note overwrites the one before. Its end distinguishes a whole note from the halves of two,
/// which a power failure may leave.
fn text_of(line: &LedgerLine) -> String {
    let text = format!("{:020} {}", line.seq, line.hash);
    format!("{text} {}\n", &sha256(text.as_bytes())[..CHECK])
}

const CHECK: usize = 16;

fn parse(text: &str) -> Option<LedgerLine> {
    // Notes of earlier versions have no such end.
    let line = match text.trim_end().rsplit_once(' ').filter(|(_, check)| check.len() == CHECK) {
        Some((line, check)) if sha256(line.as_bytes()).starts_with(check) => line,
        Some(_) => return None,
        None => text.strip_suffix('\n')?,
    };
    LedgerLine::parse(&format!("{line}\n"))
}

/// Whether this note is incomplete. Such a note means nothing, and the next change of its ledger
/// replaces it.
pub fn is_torn_note(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_note = name.len() == 64 && name.bytes().all(|it| it.is_ascii_hexdigit());
    is_note && std::fs::read_to_string(path).is_ok_and(|text| parse(&text).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back_and_half_of_one_is_none() {
        let line = LedgerLine { seq: 4711, hash: "ab".repeat(32) };
        let earlier = format!("{:020} {}\n", line.seq, line.hash);
        let next = LedgerLine { seq: 4712, hash: "cd".repeat(32) };
        let (text, next) = (text_of(&line), text_of(&next));
        assert_eq!(parse(&earlier).as_ref(), Some(&line));
        assert_eq!(parse(&text), Some(line));
        assert_eq!(parse(&text[..40]), None);
        assert_eq!(parse(""), None);
        for torn in 20..text.len() - 1 {
            assert_eq!(parse(&(next[..torn].to_owned() + &text[torn..])), None, "{torn}");
        }
    }
}
