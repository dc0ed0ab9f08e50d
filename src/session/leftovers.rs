//! What programs that were killed leave behind, and what nobody needs: run directories that were
//! never granted, and halves of files that were to replace others.
//!
//! Only what is an hour old is removed: another program, perhaps on another machine, may be
//! between the directory and the grant. A directory that holds anything of a run stays, whatever
//! the ledger says.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::preferences::Places;
use super::resumption;
use super::workspace::Workspace;
use crate::files::{self, step};
use crate::privacy::Transcript;
use crate::privacy::ledger::{Book, RunId};

const OLD: Duration = Duration::from_hours(1);

/// The files of a directory in which nothing has happened yet, and how long they are at most.
const OF_A_BEGINNING: [(&str, u64); 6] = [
    ("run.ron", u64::MAX),
    ("process", u64::MAX),
    (resumption::FILE, u64::MAX),
    (resumption::TRANSCRIPT, Transcript::EMPTY),
    ("events.jsonl", 0),
    ("curator.jsonl", 0),
];

/// Removes them from a workspace. What cannot be removed does no harm.
pub fn remove(workspace: &Workspace, book: &Book) {
    let runs = workspace.folder().join("runs");
    for folder in folders(&runs) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if book.run(&RunId(name)).is_none() && is_old(&folder) && has_only_begun(&folder) {
            let _ = step::remove_folder(&folder);
        }
    }
    remove_halves(workspace.folder());
    // The folder is the user's: only what was to become a session is ours.
    let of_session = |file: &Path| {
        let name = Path::new(file.file_stem().unwrap_or_default());
        let name = if name.extension().is_some_and(|it| it == "previous") {
            Path::new(name.file_stem().unwrap_or_default())
        } else {
            name
        };
        name.extension().is_some_and(|it| it == "ron")
    };
    remove_files(workspace.base(), of_session);
    if let Some(places) = Places::of_environment() {
        remove_halves(&places.config);
        remove_halves(&places.state);
    }
}

/// Removes what was to replace other files, wherever it lies in this folder.
pub fn remove_halves(folder: &Path) {
    folders(folder).for_each(|folder| remove_halves(&folder));
    remove_files(folder, |_| true);
}

fn remove_files(folder: &Path, is_ours: impl Fn(&Path) -> bool) {
    let halves = plain_files(folder).filter(|file| files::is_half(file) && is_ours(file));
    for file in halves.filter(|file| is_old(file)) {
        let _ = step::remove(&file);
    }
}

fn folders(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    inside(folder).filter(|path| path.is_dir() && !path.is_symlink())
}

fn plain_files(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    inside(folder).filter(|path| path.is_file() && !path.is_symlink())
}

fn inside(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|it| it.modified()).ok();
    let age = modified.and_then(|time| SystemTime::now().duration_since(time).ok());
    age.is_some_and(|age| age > OLD)
}

fn has_only_begun(folder: &Path) -> bool {
    inside(folder).all(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let length = fs::metadata(&path).map_or(u64::MAX, |it| it.len());
        let known = OF_A_BEGINNING.iter().find(|(known, _)| *known == name);
        files::is_half(&path) || known.is_some_and(|(_, most)| length <= *most)
    })
}
