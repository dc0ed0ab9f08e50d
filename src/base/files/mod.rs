//! Writes files so that a reader finds the old one or the new one, never half of each, and so that
//! only their owner can read private ones.
//!
//! | who may read it | functions |
//! |---|---|
//! | only the owner (0600, folders 0700), for any umask | [`write_private`], [`private`], [`create_private_folder`] |
//! | everyone whom the user's umask allows: files that the user named | [`write()`], [`write_keeping_previous`] |
//!
//! A test can make each [`step`] fail. What does not fit into memory goes to a [`scratch`] file.

#[cfg(debug_assertions)]
mod planted;
pub mod scratch;
pub mod step;
pub mod words;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Doing, Result};

/// Writes `bytes` to `path`: a temporary file beside it, synced, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, OpenOptions::new()).doing("save", path)
}

/// Like [`write()`]; only the owner can read the file.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, private()).doing("save", path)
}

/// Like [`write_private`], for contents that are made while they are written.
pub fn write_private_by(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    replace_by(path, private(), |file| {
        let mut out = BufWriter::with_capacity(BLOCK, StepByStep(file));
        write(&mut out).and_then(|()| out.flush())
    })
    .doing("save", path)
}

/// What is written at once.
const BLOCK: usize = 1 << 20;

/// A file that is written by steps.
struct StepByStep<'a>(&'a File);

impl Write for StepByStep<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step::write(self.0, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where [`write_keeping_previous`] keeps the old file.
pub fn previous(path: &Path) -> PathBuf {
    sibling(path, "previous")
}

/// Like [`write()`], keeping the old file as `NAME.previous`.
pub fn write_keeping_previous(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.exists() {
        let previous = previous(path);
        let old = fs::read(path).doing("read", path)?;
        if old == bytes {
            return Ok(());
        }
        write(&previous, &old)?;
    }
    write(path, bytes)
}

/// Options with which only the owner can read a new file.
pub fn private() -> OpenOptions {
    #[allow(unused_mut, reason = "only Unix has modes")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder and missing parents, with the permissions of the user's umask.
pub fn create_folder(path: &Path) -> io::Result<()> {
    step::make_folder(DirBuilder::new().recursive(true), path)
}

/// Makes a folder and missing parents, which only the owner can enter. Their names are durable
/// afterwards: a ledger must not be lost with its folder.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    step::make_folder(builder.recursive(true), path)?;
    missing.into_iter().rev().try_for_each(sync_folder)
}

/// Makes a file that only its owner can read, if there is none. The name appears only with the
/// whole file, and of several programs that make it at once, the first one's file stays.
pub fn make_private_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = sibling(path, &format!("new-{:x}{count:04x}", std::process::id()));
    let _ = step::remove(&temporary);
    let made = step::open(private().write(true).create_new(true), &temporary)
        .and_then(|file| step::write(&file, bytes).and_then(|()| step::sync(&file)))
        .and_then(|()| match step::link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // Not every storage has links. Two programs at once could disagree there, so the second
            // one takes the file that it finds.
            Err(_) if !path.exists() => step::rename(&temporary, path),
            linked => linked,
        });
    let _ = step::remove(&temporary);
    made.and_then(|()| sync_folder(path))
}

/// Takes a file that the owner alone should read from everybody else.
pub fn close_private_file(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Removes permissions that an earlier version gave to others than owner and group. A folder that
/// belongs to somebody else stays unchanged.
pub fn close_to_others(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let Ok(about) = fs::metadata(folder) else { return };
        let mode = about.permissions().mode();
        if mode & 0o007 != 0 {
            let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode & !0o007));
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
}

/// Moves a folder to a new place, possibly on another disk.
pub fn move_folder(from: &Path, to: &Path) -> io::Result<()> {
    match step::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy_folder(from, to)?;
            step::remove_folder(from)
        }
        moved => moved,
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    create_private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            step::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// A temporary file beside `path`, written with `options`, synced, then renamed.
pub fn replace(path: &Path, bytes: &[u8], options: OpenOptions) -> io::Result<()> {
    replace_by(path, options, |file| step::write(file, bytes))
}

fn replace_by(
    path: &Path,
    mut options: OpenOptions,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = sibling(path, &format!("new-{}", std::process::id()));
    // A leftover of a program that died may have other permissions.
    let _ = step::remove(&temporary);
    let written = step::open(options.write(true).create_new(true), &temporary)
        .and_then(|file| write(&file).and_then(|()| step::sync(&file)))
        .and_then(|()| step::rename(&temporary, path))
        .and_then(|()| sync_folder(path));
    if written.is_err() {
        let _ = step::remove(&temporary);
    }
    written
}

/// Whether a file has the name that it gets before it replaces another one, and that stays if the
/// program dies: `NAME.new-4711`.
pub fn is_half(file: &Path) -> bool {
    let ending = file.extension().unwrap_or_default().to_string_lossy().into_owned();
    ending.strip_prefix("new-").is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Makes a new name in the folder of `path` durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    step::sync_folder(folder.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_with_all_that_is_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| directory.path().join(name));
        create_private_folder(&from.join("deep")).unwrap();
        fs::write(from.join("deep/file"), "words").unwrap();
        copy_folder(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("deep/file")).unwrap(), "words");
        let moved = directory.path().join("moved");
        move_folder(&from, &moved).unwrap();
        assert!(moved.join("deep/file").exists() && !from.exists());
    }

    #[test]
    fn saving_replaces_the_file_and_keeps_the_previous_copy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.ron");
        write_keeping_previous(&path, b"one").unwrap();
        write_keeping_previous(&path, b"two").unwrap();
        write_keeping_previous(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read(directory.path().join("session.ron.previous")).unwrap(), b"one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no temporary file stays");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_and_nothing_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing").join("session.ron");
        let error = write(&path, b"x").unwrap_err();
        assert!(error.to_string().contains("session.ron"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn private_files_and_folders_are_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = directory.path().join("a").join("b");
        create_private_folder(&folder).unwrap();
        assert_eq!((mode(&folder), mode(&directory.path().join("a"))), (0o700, 0o700));
        let file = folder.join("exact.json");
        fs::write(&file, "as an earlier version wrote it").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        write_private(&file, b"x").unwrap();
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        close_to_others(&folder);
        assert_eq!(mode(&folder), 0o750);
    }
}
