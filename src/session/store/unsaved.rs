//! The unsaved session of an interface, kept beside the ledger, so that a program that is killed loses
//! at most the last seconds.
//!
//! Every program has a file of its own, whose lock it holds while it lives. What nobody holds any more
//! is offered by the next program in the same folder. The file holds what a session file would hold.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::file::{Session, of_ron, to_ron};
use super::workspace::Workspace;
use crate::error::{Doing as _, Result};
use crate::files::{self, step};

/// The folder of unsaved sessions, beside the ledger.
pub(super) const FOLDER: &str = "unsaved";

/// A session that is in no file, or not as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsaved {
    /// The folder to which its files are relative.
    pub base: PathBuf,
    /// The session file, if there is one.
    pub path: Option<PathBuf>,
    pub session: Session,
    /// The session as it was last read from that file or written there.
    pub on_disk: Option<Session>,
}

/// A file for an unsaved session, held by this program alone.
#[derive(Debug)]
pub struct HeldFile {
    path: PathBuf,
    _lock: File,
}

impl HeldFile {
    fn new(folder: &Path) -> Result<Self> {
        files::create_private_folder(folder).doing("create the folder", folder)?;
        let name = format!("{}-{}", crate::clock::now().as_nanosecond(), std::process::id());
        let path = folder.join(name).with_extension("ron");
        let lock = path.with_extension("lock");
        let lock = step::open(files::private().write(true).create_new(true), &lock)
            .doing("create", &lock)?;
        lock.try_lock().map_err(std::io::Error::from).doing("lock", &path)?;
        Ok(Self { path, _lock: lock })
    }

    /// The file of a program that does not live any more.
    fn left_by_another(path: &Path) -> Option<Self> {
        let lock = File::open(path.with_extension("lock")).ok()?;
        lock.try_lock().ok()?;
        // Its program may have removed it meanwhile.
        path.exists().then(|| Self { path: path.to_path_buf(), _lock: lock })
    }

    /// Removes the file, and the folders if nothing else is in them.
    pub fn remove(self) {
        for path in [&self.path, &self.path.with_extension("lock")] {
            let _ = step::remove(path);
        }
        // A folder that is not empty stays.
        for folder in self.path.ancestors().skip(1).take(2) {
            let _ = step::remove_empty_folder(folder);
        }
    }
}

/// The newest unsaved session of a dead program in this folder: one without a session file, or of this
/// one; of any if none is named.
pub fn find(workspace: &Workspace, path: Option<&Path>) -> Option<(Unsaved, HeldFile)> {
    let base = real(workspace.base());
    let folder = workspace.folder().join(FOLDER).read_dir().ok()?;
    let mut paths: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "ron"));
    paths.sort();
    paths.iter().rev().find_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        let found: Unsaved = of_ron(&text)?;
        let is_wanted = path.is_none() || found.path.is_none() || path.map(real) == found.path;
        let held = HeldFile::left_by_another(file).filter(|_| found.base == base && is_wanted)?;
        Some((found, held))
    })
}

/// Keeps the unsaved session of one interface.
#[derive(Debug, Clone)]
pub struct Keeper {
    /// The folder of a session that has no file yet.
    base: PathBuf,
    held: Arc<Mutex<Option<HeldFile>>>,
}

impl Keeper {
    pub fn new(workspace: &Workspace) -> Self {
        Self { base: workspace.base().to_path_buf(), held: Arc::default() }
    }

    /// From now on in this file. What was kept until then would be taken for that of a dead program.
    pub fn adopt(&self, file: HeldFile) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.replace(file).into_iter().for_each(HeldFile::remove);
    }

    /// Writes a session, of which this file is known. A session that has moved to another folder is kept
    /// there.
    pub fn keep(
        &self,
        session: Session,
        path: Option<&Path>,
        on_disk: Option<Session>,
    ) -> Result<()> {
        let path = path.map(real);
        let base = real(path.as_deref().and_then(Path::parent).unwrap_or(&self.base));
        let folder = Workspace::of(&base)?.folder().join(FOLDER);
        let text = to_ron(&Unsaved { base, path, session, on_disk })?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = held.take_if(|held| held.path.parent() == Some(&*folder));
        let file = fitting.map_or_else(|| HeldFile::new(&folder), Ok)?;
        files::write_private(&file.path, text.as_bytes())?;
        held.replace(file).into_iter().for_each(HeldFile::remove);
        Ok(())
    }

    /// Removes what was kept: it is saved, or nobody wants it.
    pub fn forget(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        held.into_iter().for_each(HeldFile::remove);
    }
}

/// One name for a folder or file, by whatever path it is named.
fn real(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_goes_on_with_the_session_of_a_dead_one_leaves_no_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::of(folder.path()).unwrap();
        let [dead, living] = [(); 2].map(|()| Keeper::new(&workspace));
        dead.keep(Session::default(), None, None).unwrap();
        let lost = dead.held.lock().unwrap().take().unwrap().path;
        living.keep(Session::default(), None, None).unwrap();
        let (_, file) = find(&workspace, None).expect("that of the dead program");
        assert_eq!(file.path, lost);
        living.adopt(file);
        assert!(find(&workspace, None).is_none(), "nothing else is left behind");
        living.keep(Session::default(), None, None).unwrap();
        living.forget();
        assert!(!lost.exists());
    }
}
