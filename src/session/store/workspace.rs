//! The directory that owns a ledger and its runs.

use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};

use super::preferences::UserDirectories;
use super::{origin, secret, unsaved};
use crate::data::read::Overflow;
use crate::error::{Doing as _, Error, Result};
use crate::files::{self, step};
use crate::privacy::Ledger;
use crate::privacy::ledger::{Book, RunId, RunState};

/// Name of the folder, in the workspace, that holds the ledger and the runs.
pub const FOLDER: &str = ".halflight";

/// The place of data files, and of the ledger and the runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Data files of the session are relative to this.
    base: PathBuf,
    /// `…/.halflight`.
    folder: PathBuf,
    /// The folder of the ledger: the same one, except for a sweep's tasks.
    ledger_folder: PathBuf,
}

impl Workspace {
    /// Moves ledger and runs to another workspace, which must have none yet.
    pub fn move_to(&self, other: &Self) -> Result<()> {
        if other.folder == self.folder || !self.folder.is_dir() {
            return Ok(());
        }
        if !is_unused(&other.folder) {
            return Err(Error::refused("there is a ledger already: two cannot be joined")
                .at(other.folder.display().to_string())
                .cure("save into a directory of its own"));
        }
        let (aside, unsaved) =
            (other.folder.with_extension(unsaved::FOLDER), other.folder.join(unsaved::FOLDER));
        let waits = unsaved.is_dir();
        let make_room = || {
            // A program that lives may hold an unsaved session there.
            if waits {
                step::rename(&unsaved, &aside)?;
            }
            step::remove_empty_folder(&other.folder).if_there().map(drop)
        };
        let put_back = || if waits { step::rename(&aside, &unsaved) } else { Ok(()) };
        files::create_private_folder(&other.base)
            .and_then(|()| make_room())
            .and_then(|()| files::move_folder(&self.folder, &other.folder))
            .and_then(|()| put_back())
            .doing("bring ledger and runs to", &other.folder)
    }

    /// The workspace of a session file or a directory: the nearest enclosing directory that has a
    /// ledger folder, so that a session in a subfolder (a run's own, for instance) spends from the
    /// same budget; otherwise `directory`. An empty ledger folder does not hide one above it: what
    /// was spent there would count no longer.
    pub fn of(directory: &Path) -> Result<Self> {
        let base = std::path::absolute(directory).doing("find the directory", directory)?;
        // `..` and links lead to other folders than the words of the path say. Those that a link
        // hides come last: earlier builds spent from a ledger there.
        let real = base.canonicalize().unwrap_or_else(|_| base.clone());
        let told = without_steps_up(&base);
        let enclosing =
            real.ancestors().chain(told.ancestors()).map(|ancestor| match ancestor.file_name() {
                Some(name) if name == FOLDER => ancestor.to_path_buf(),
                _ => ancestor.join(FOLDER),
            });
        let existing: Vec<PathBuf> = enclosing.filter(|folder| folder.is_dir()).collect();
        let folder = existing.iter().find(|folder| !is_empty(folder)).or(existing.first());
        Ok(match folder {
            // As the user wrote it, where that is the same.
            Some(folder) if *folder == real.join(FOLDER) => Self::fresh(&base),
            Some(folder) => Self::with_folder(&base, folder),
            None => Self::fresh(&base),
        })
    }

    /// What somebody who named `directory` must know: that its ledger is not there.
    pub fn note_if_elsewhere(&self, directory: &Path) -> Option<String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let (own, used) = (real(directory), real(&self.folder));
        let within = used == own.join(FOLDER) || own.starts_with(&used);
        (self.folder.is_dir() && !within).then(|| {
            format!(
                "{} has no ledger of its own: that of the folder above is used, {}",
                directory.display(),
                self.folder.display()
            )
        })
    }

    /// A workspace whose ledger is in `directory` itself, whatever encloses it.
    pub fn fresh(directory: &Path) -> Self {
        Self::with_folder(directory, &directory.join(FOLDER))
    }

    /// With its folder given by the caller.
    pub fn with_folder(base: &Path, folder: &Path) -> Self {
        let (base, folder) = (base.to_path_buf(), folder.to_path_buf());
        Self { base, ledger_folder: folder.clone(), folder }
    }

    /// With its ledger, and so perhaps its secret, in another workspace's folder.
    pub fn reserved_in(self, ledger_folder: &Path) -> Self {
        Self { ledger_folder: ledger_folder.to_path_buf(), ..self }
    }

    pub fn of_session(session: &Path) -> Result<Self> {
        let parent = session.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self::of(parent.unwrap_or(Path::new(".")))
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The ledger, for spending: creates the folder if there is none.
    pub fn ledger(&self) -> Result<Ledger> {
        files::close_to_others(&self.folder);
        files::create_private_folder(&self.folder)
            .doing("create the workspace folder", &self.folder)?;
        let secret = self.secret()?.secret;
        let mut ledger = self.existing_ledger()?;
        if ledger.is_plain()? {
            // The runs come first: a program that dies in between can start again.
            let book = ledger.book()?;
            let is_settled = |run: &RunId| {
                book.run(run).is_some_and(|run| matches!(run.state, RunState::Settled { .. }))
            };
            origin::cover_all(&self.folder, &secret, is_settled);
            ledger.renew()?;
        }
        Ok(ledger)
    }

    /// Settles a run whose program died at its announced draws, and removes what only a resumed run needs.
    pub fn abandon(&self, ledger: &mut Ledger, run: &RunId) -> Result<String> {
        let words = ledger.abandon(run)?;
        origin::forget(&self.run_directory(run));
        Ok(words)
    }

    /// The ledger of an existing workspace. It is compared with what this user's programs remember
    /// about it.
    pub fn existing_ledger(&self) -> Result<Ledger> {
        let ledger = match UserDirectories::of_environment() {
            Some(places) => Ledger::open_witnessed(&self.folder, &places.ledgers())?,
            None => Ledger::open(&self.folder)?,
        };
        Ok(match secret::find_existing(&self.folder)? {
            Some(found) => ledger.under(found.secret),
            None => ledger,
        })
    }

    /// Where the ledger is that reserves the runs of this workspace.
    pub fn ledger_folder(&self) -> &Path {
        &self.ledger_folder
    }

    /// The secret under which private datasets are known here; made if there is none.
    pub fn secret(&self) -> Result<secret::FoundSecret> {
        secret::find(&self.ledger_folder)
    }

    /// The contents of the ledger, only for looking: creates nothing in the workspace.
    pub fn book(&self) -> Result<Book> {
        if self.folder.is_dir() {
            return self.existing_ledger()?.book();
        }
        let places = UserDirectories::of_environment();
        Ok(places.map_or_else(Book::default, |places| Book::of_none(&places.ledgers())))
    }

    pub fn run_directory(&self, run: &RunId) -> PathBuf {
        self.folder.join("runs").join(&run.0)
    }

    /// Where a table that is only looked at goes, if it is too large for memory. No folder is made for
    /// that.
    pub fn overflow(&self) -> Overflow {
        Overflow::to(if self.folder.is_dir() { &self.folder } else { &self.base })
    }

    /// Absolute path of a data file.
    pub fn resolve(&self, file: &str) -> PathBuf {
        self.base.join(file)
    }
}

/// The path with `..` carried out in its words.
fn without_steps_up(path: &Path) -> PathBuf {
    let mut told = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            told.pop();
        } else {
            told.push(part);
        }
    }
    told
}

/// A folder that cannot be read is not taken for an empty one.
fn is_empty(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a ledger folder is not there, or has nothing but unsaved sessions in it.
pub fn is_unused(folder: &Path) -> bool {
    let is_unsaved = |entry: DirEntry| entry.file_name() == unsaved::FOLDER;
    folder.read_dir().map_or(!folder.exists(), |entries| entries.flatten().all(is_unsaved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_below_an_existing_ledger_shares_it() {
        let top = tempfile::tempdir().unwrap();
        let run = top.path().join(FOLDER).join("runs").join("a");
        std::fs::create_dir_all(&run).unwrap();
        std::fs::create_dir_all(top.path().join("sub")).unwrap();
        let ledger = top.path().join(FOLDER);
        for place in [top.path(), &top.path().join("sub"), &run] {
            assert_eq!(Workspace::of(place).unwrap().folder(), ledger, "{}", place.display());
        }
    }

    #[test]
    fn an_empty_folder_does_not_hide_the_ledger_above() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("below");
        std::fs::create_dir_all(below.join(FOLDER)).unwrap();
        let alone = Workspace::of(&below).unwrap();
        assert_eq!(alone.folder(), below.join(FOLDER));
        assert_eq!(alone.note_if_elsewhere(&below), None);
        let above = top.path().join(FOLDER);
        std::fs::create_dir(&above).unwrap();
        std::fs::write(above.join("ledger.jsonl"), "").unwrap();
        let shared = Workspace::of(&below).unwrap();
        assert_eq!(shared.folder(), above);
        let note = shared.note_if_elsewhere(&below).unwrap();
        assert!(note.contains(&above.display().to_string()), "{note}");
        std::fs::write(below.join(FOLDER).join("ledger.jsonl"), "").unwrap();
        assert_eq!(Workspace::of(&below).unwrap().folder(), below.join(FOLDER));
    }

    #[test]
    fn a_ledger_moves_to_a_folder_with_nothing_but_unsaved_sessions() {
        let top = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| Workspace::fresh(&top.path().join(name)));
        let ledger = |of: &Workspace| of.folder().join("ledger.jsonl");
        std::fs::create_dir_all(from.folder()).unwrap();
        std::fs::write(ledger(&from), "lines").unwrap();
        let lost = to.folder().join(unsaved::FOLDER).join("1-2.ron");
        std::fs::create_dir_all(lost.parent().unwrap()).unwrap();
        std::fs::write(&lost, "session").unwrap();
        from.move_to(&to).unwrap();
        assert!(lost.is_file() && ledger(&to).is_file() && !from.folder().exists());
        std::fs::create_dir_all(from.folder()).unwrap();
        assert!(from.move_to(&to).unwrap_err().to_string().contains("cannot be joined"));
    }

    #[cfg(unix)]
    #[test]
    fn the_ledger_is_that_of_the_real_folders_above() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (here, data) = (top.join("here"), top.join("data"));
        for folder in [&here.join(FOLDER), &here.join("below"), &data] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(here.join(FOLDER).join("ledger.jsonl"), "").unwrap();
        let folder = |path: &Path| {
            let folder = Workspace::of(path).unwrap().folder().to_path_buf();
            folder.parent().unwrap().canonicalize().unwrap().join(FOLDER)
        };
        assert_eq!(folder(&here.join("../data")), data.join(FOLDER), "not a folder beside it");
        assert_eq!(folder(&data.join("../here/below")), here.join(FOLDER));
        std::os::unix::fs::symlink(here.join("below"), data.join("link")).unwrap();
        assert_eq!(folder(&data.join("link")), here.join(FOLDER));
        std::os::unix::fs::symlink(&data, here.join("link")).unwrap();
        assert_eq!(folder(&here.join("link")), here.join(FOLDER), "as earlier builds had it");
    }
}
