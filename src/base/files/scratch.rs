//! Private space on the disk, for data that do not fit into memory.
//!
//! The file has no name. So nobody else can open it, and it is gone with its last user, even if the
//! program is killed. It lies where the workspace is, because that disk was chosen for the data.
//! Nothing is synced: the contents are of no use to another process.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::create_private_folder;
use crate::error::{Doing, Error, Result};

/// What fails if the disk does.
const KEEP: &str = "keep data that do not fit into memory";

/// The number of files made so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A file without a name. Several threads may write to it and read from it.
pub struct Scratch {
    number: u64,
    file: File,
    folder: PathBuf,
    /// Where the next bytes go.
    end: AtomicU64,
}

impl Scratch {
    /// An empty file in a folder, which is created if it is missing.
    pub fn create_in(folder: &Path) -> Result<Arc<Self>> {
        let created = create_private_folder(folder).and_then(|()| tempfile::tempfile_in(folder));
        let created = created.and_then(|file| owner_only(&file).map(|()| file));
        let file = created.doing(KEEP, folder)?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let (folder, end) = (folder.to_path_buf(), AtomicU64::new(0));
        Ok(Arc::new(Self { number, file, folder, end }))
    }

    /// A number that no other file of this process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Another file in the same place.
    pub fn another(&self) -> Result<Arc<Self>> {
        Self::create_in(&self.folder)
    }

    /// Writes bytes, and returns where they are.
    pub fn append(&self, bytes: &[u8]) -> Result<u64> {
        let at = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        write_all_at(&self.file, bytes, at).map_err(|error| {
            Error::io(KEEP, &self.folder, &error)
                .cure("free some space there, or allow more memory, such as --max-memory 16G")
        })?;
        Ok(at)
    }

    /// Fills `bytes` with what was written from `at` on.
    ///
    /// # Panics
    ///
    /// If the disk fails. Then a computation over the data cannot go on, and its driver reports it
    /// like any other that stopped.
    pub fn read(&self, mut bytes: &mut [u8], mut at: u64) {
        while !bytes.is_empty() {
            match read_at(&self.file, bytes, at) {
                Ok(0) => self.lost(&io::Error::from(ErrorKind::UnexpectedEof)),
                Ok(read) => {
                    at += read as u64;
                    bytes = &mut bytes[read..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.lost(&error),
            }
        }
    }

    #[expect(clippy::panic, reason = "as without memory, nothing that was begun can be finished")]
    fn lost(&self, error: &io::Error) -> ! {
        panic!("data kept on the disk in {} cannot be read: {error}", self.folder.display())
    }
}

/// Lets only the owner read a file without a name: the system shows the open files of processes.
fn owner_only(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Reads without a shared position in the file, over which threads would conflict.
#[cfg(unix)]
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        at += written as u64;
        bytes = &bytes[written..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_no_name_and_several_threads_find_what_they_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(".halflight");
        let scratch = Scratch::create_in(&place).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let scratch = &scratch;
                scope.spawn(move || {
                    for round in 0..50 {
                        let bytes = vec![thread ^ round; 1000 + usize::from(round)];
                        let at = scratch.append(&bytes).unwrap();
                        let mut found = vec![0; bytes.len()];
                        scratch.read(&mut found, at);
                        assert_eq!(found, bytes);
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = scratch.file.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let again = scratch.another().unwrap();
        assert_eq!(again.append(b"x").unwrap(), 0);
    }

    #[test]
    fn bytes_that_are_not_there_stop_the_work_and_say_where() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create_in(folder.path()).unwrap();
        scratch.append(&[1, 2, 3]).unwrap();
        let read = || scratch.read(&mut [0; 4], 0);
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_err();
        let told = told.downcast_ref::<String>().unwrap();
        assert!(told.contains(&folder.path().display().to_string()), "{told}");
    }

    #[test]
    fn a_place_that_does_not_exist_is_named() {
        let told = Scratch::create_in(Path::new("/proc/nowhere")).err().unwrap().to_string();
        assert!(told.contains("/proc/nowhere"), "{told}");
    }
}
