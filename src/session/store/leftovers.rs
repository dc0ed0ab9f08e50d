//! Removes useless leftovers of killed programs: run directories that were never granted, and
//! unfinished files that were meant to replace others.
//!
//! They are removed only after an hour: another program, perhaps on another machine, may have made
//! the directory and not yet the grant. A directory that holds anything of a run stays, whatever
//! the ledger says.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::demo;
use super::preferences::UserDirectories;
use super::resumption;
use super::rows_of_run;
use super::workspace::Workspace;
use crate::error::{Doing as _, Result};
use crate::files::{self, step};
use crate::privacy::Transcript;
use crate::privacy::ledger::{Book, Ledger, RunId, RunState, is_torn_note};

const OLD: Duration = Duration::from_hours(1);

/// The files of a directory in which nothing has happened yet, with their largest lengths.
const OF_A_BEGINNING: [(&str, u64); 8] = [
    ("run.ron", u64::MAX),
    ("process", u64::MAX),
    (resumption::FILE, u64::MAX),
    (resumption::SITES, u64::MAX),
    (rows_of_run::FILE, u64::MAX),
    (resumption::TRANSCRIPT, Transcript::EMPTY),
    ("events.jsonl", 0),
    ("curator.jsonl", 0),
];

/// One leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    pub what: &'static str,
    /// Advice if this program must not remove it; otherwise it is removed.
    pub advice: Option<String>,
}

/// Removes the leftovers that every start removes from a workspace. If one cannot be removed, it
/// does no harm.
pub fn remove(workspace: &Workspace, book: &Book) {
    for found in of_workspace(workspace, book) {
        let _ = found.remove();
    }
}

/// Removes unfinished replacements of files anywhere in this folder.
pub fn remove_halves(folder: &Path) {
    for found in halves(folder) {
        let _ = found.remove();
    }
}

/// All leftovers here and in the system's folder for temporary files.
pub fn find(workspace: &Workspace, ledger: &mut Ledger) -> Result<Vec<Leftover>> {
    let book = ledger.book()?;
    let mut found = of_workspace(workspace, &book);
    for mark in plain_files(&workspace.folder().join("open")) {
        let run = RunId(mark.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        let is_open = book.run(&run).is_some_and(|known| known.state == RunState::Open);
        if mark.extension().is_some_and(|it| it == "lock") && !is_open && !ledger.is_alive(&run) {
            found.extend(old(mark, "the marker file of a run that has ended"));
        }
    }
    for run in book.accounts.iter().flat_map(|account| &account.runs) {
        let id = &run.grant.run;
        if run.state == RunState::Open && !ledger.is_alive(id) {
            found.push(Leftover {
                path: workspace.run_directory(id),
                what: "a run whose program died, or that another machine carries out",
                advice: Some(format!(
                    "it counts in the ledger, so it stays: `halflight ledger` says how to resume \
                     it, and `halflight ledger settle {}` gives it up",
                    id.0
                )),
            });
        }
    }
    if let Some(places) = UserDirectories::of_environment() {
        let notes = places.ledgers();
        let torn = plain_files(&notes).filter(|note| is_torn_note(note));
        let what = "a note about a ledger that was cut off while it was written: it is of no use";
        found.extend(torn.filter_map(|note| old(note, what)));
    }
    found.extend(folders(&std::env::temp_dir()).filter_map(|folder| of_demo(&folder)));
    Ok(found)
}

fn of_workspace(workspace: &Workspace, book: &Book) -> Vec<Leftover> {
    let mut found = Vec::new();
    for folder in folders(&workspace.folder().join("runs")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (known, masks) = (book.run(&RunId(name)), folder.join(resumption::MASKS));
        if known.is_none() && has_only_begun(&folder) {
            found.extend(old(folder, "the directory of a run that was never granted"));
        } else if known.is_some_and(|run| run.state != RunState::Open) && masks.exists() {
            let what = "the key of the masks of a run that has ended";
            found.push(Leftover { path: masks, what, advice: None });
        }
    }
    found.extend(halves(workspace.folder()));
    // The folder belongs to the user: only an unfinished session is ours.
    let of_session = |file: &Path| {
        let stem = |file: &Path| PathBuf::from(file.file_stem().unwrap_or_default());
        let ends = |file: &Path, ending: &str| file.extension().is_some_and(|it| it == ending);
        let name = stem(file);
        ends(&name, "ron") || (ends(&name, "previous") && ends(&stem(&name), "ron"))
    };
    found.extend(halves_in(workspace.base(), &of_session));
    if let Some(places) = UserDirectories::of_environment() {
        let folders = [&places.config, &places.state].into_iter();
        found.extend(folders.flat_map(|folder| halves(folder)));
    }
    found
}

/// The folder of a demo or a tutorial whose program died: `halflight-demo-TIME-PROCESS`.
fn of_demo(folder: &Path) -> Option<Leftover> {
    let name = folder.file_name()?.to_str()?.strip_prefix(demo::FOLDER)?;
    let (_, process) = name.split_once('-')?;
    if !process.bytes().all(|byte| byte.is_ascii_digit())
        || Path::new("/proc").join(process).exists()
    {
        return None;
    }
    let mut found = old(folder.to_path_buf(), "the folder of a demo whose program died")?;
    let counts = Workspace::fresh(folder).book();
    if !counts.is_ok_and(|book| book.accounts.iter().all(|account| account.runs.is_empty())) {
        found.advice = Some(
            "its ledger counts runs, so it stays: remove the folder yourself, if nothing but the \
             demo's own data was in it"
                .to_owned(),
        );
    }
    Some(found)
}

fn halves(folder: &Path) -> Vec<Leftover> {
    let inner = folders(folder).flat_map(|folder| halves(&folder));
    inner.chain(halves_in(folder, &|_| true)).collect()
}

fn halves_in(folder: &Path, is_ours: &dyn Fn(&Path) -> bool) -> Vec<Leftover> {
    let files = plain_files(folder).filter(|file| files::is_half(file) && is_ours(file));
    files.filter_map(|file| old(file, "a half-written file that was to replace another")).collect()
}

fn old(path: PathBuf, what: &'static str) -> Option<Leftover> {
    is_old(&path).then_some(Leftover { path, what, advice: None })
}

impl Leftover {
    /// Removes it, unless it must stay.
    pub fn remove(&self) -> Result<()> {
        let removed = match self.advice {
            Some(_) => Ok(()),
            None if self.path.is_dir() => step::remove_folder(&self.path),
            None => step::remove(&self.path),
        };
        removed.doing("remove what was left behind", &self.path)
    }
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    inside(folder).filter(|path| path.is_dir() && !path.is_symlink())
}

fn plain_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    inside(folder).filter(|path| path.is_file() && !path.is_symlink())
}

fn inside(folder: &Path) -> impl Iterator<Item = PathBuf> {
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
