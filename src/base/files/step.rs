//! The steps that write to a disk or remove from it.
//!
//! Every step goes through here, so that a test can stop the program at it, make it fail, or record
//! it and lose what a power failure may lose (see [`super::planted`]). In a build without debug
//! assertions, such as a release, these are the functions of the standard library.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// The step that is about to happen.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(debug_assertions), expect(dead_code, reason = "only tests look at it"))]
pub(super) enum DiskStep<'a> {
    /// A file is opened for writing, and created if the options say so.
    Open(&'a Path),
    MakeFolder(&'a Path),
    Write(&'a File, &'a [u8]),
    Sync(&'a File),
    SyncFolder(&'a Path),
    /// A file gets another length.
    Cut(&'a File, u64),
    Rename(&'a Path, &'a Path),
    Link(&'a Path, &'a Path),
    Copy(&'a Path, &'a Path),
    Remove(&'a Path),
    RemoveFolder(&'a Path),
    Lock,
}

#[cfg(debug_assertions)]
use super::planted::carry_out;

#[cfg(not(debug_assertions))]
#[inline]
fn carry_out<T>(_: DiskStep<'_>, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    step()
}

pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    carry_out(DiskStep::Open(path), || options.open(path))
}

pub fn make_folder(builder: &DirBuilder, path: &Path) -> io::Result<()> {
    carry_out(DiskStep::MakeFolder(path), || builder.create(path))
}

pub fn write(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    carry_out(DiskStep::Write(file, bytes), || file.write_all(bytes))
}

pub fn sync(file: &File) -> io::Result<()> {
    carry_out(DiskStep::Sync(file), || file.sync_all())
}

/// Syncs the written data, without the file's times.
pub fn sync_data(file: &File) -> io::Result<()> {
    carry_out(DiskStep::Sync(file), || file.sync_data())
}

/// Makes the names in a folder durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    carry_out(DiskStep::SyncFolder(path), || {
        // Windows does not open folders as files, and writes their entries with those of the files.
        #[cfg(unix)]
        File::open(path)?.sync_all()?;
        Ok(())
    })
}

pub fn cut(file: &File, length: u64) -> io::Result<()> {
    carry_out(DiskStep::Cut(file, length), || file.set_len(length))
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    carry_out(DiskStep::Rename(from, to), || fs::rename(from, to))
}

pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    carry_out(DiskStep::Link(from, to), || fs::hard_link(from, to))
}

pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    carry_out(DiskStep::Copy(from, to), || fs::copy(from, to).map(|_| ()))
}

pub fn remove(path: &Path) -> io::Result<()> {
    carry_out(DiskStep::Remove(path), || fs::remove_file(path))
}

pub fn remove_folder(path: &Path) -> io::Result<()> {
    carry_out(DiskStep::RemoveFolder(path), || fs::remove_dir_all(path))
}

/// Removes a folder if nothing is in it.
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    carry_out(DiskStep::RemoveFolder(path), || fs::remove_dir(path))
}

/// The step before a lock is taken.
pub fn before_lock() -> io::Result<()> {
    carry_out(DiskStep::Lock, || Ok(()))
}
