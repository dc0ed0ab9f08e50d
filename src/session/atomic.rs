//! Files that are either the old or the new one, never half of each.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes `bytes` to `path`: a temporary file beside it, synced, then renamed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = sibling(path, &format!("new-{}", std::process::id()));
    let result = write_synced(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync_directory(path));
    if let Err(error) = result {
        let _ = fs::remove_file(&temporary);
        return Err(Error::io("save", path, &error));
    }
    Ok(())
}

/// Like [`write`], keeping what stood there before as `NAME.previous`.
pub fn write_keeping_previous(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.exists() {
        let previous = sibling(path, "previous");
        let old = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
        if old == bytes {
            return Ok(());
        }
        write(&previous, &old)?;
    }
    write(path, bytes)
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_directory(path: &Path) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
