//! A folder that all sites read and write: a shared disk, or one that is synchronised.
//!
//! A file appears whole or not at all, and is never changed. Nobody relies on clocks: a site waits
//! as long as its own timeout.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Doing as _, Error, Result};
use crate::files;

/// The first and the longest pause between two looks at the folder.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Larger files are no messages.
const LARGEST: u64 = 1 << 30;

/// The folder of one joint run.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// Opens a folder that exists. One that everybody can write to is refused.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).doing("find the exchange folder", path)?;
        let about = std::fs::metadata(&path).doing("look into the exchange folder", &path)?;
        let place = path.display().to_string();
        if !about.is_dir() {
            return Err(Error::usage("the exchange is no folder").at(place));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            if about.permissions().mode() & 0o002 != 0 {
                return Err(Error::refused(
                    "everybody on this machine can write to the exchange folder",
                )
                .cure(format!("chmod o-w {place}; give write access to a group of the sites"))
                .at(place));
            }
        }
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The full path of a file in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in place of an earlier one.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        files::write(&self.at(name), bytes)
    }

    /// Writes a file that nobody may have written otherwise.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        match self.read(name)? {
            None => self.replace(name, bytes),
            Some(there) if there == bytes => Ok(()),
            Some(_) => Err(Error::failed(
                "the file of this site in the exchange folder has other contents than this site's",
            )
            .at(self.at(name).display().to_string())
            .cure("find out who wrote it; then remove it")),
        }
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> Result<()> {
        let path = self.at(name);
        files::step::remove(&path).if_there().doing("remove", &path).map(|_| ())
    }

    /// Reads a file, if it is there.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.at(name);
        let Some(file) = open(&path).if_there().doing("read", &path)? else {
            return Ok(None);
        };
        let about = file.metadata().doing("read", &path)?;
        if !about.is_file() || about.len() > LARGEST {
            return Err(Error::failed("this is no message: it is no file, or larger than 1 GiB")
                .at(path.display().to_string())
                .cure("find out who put it there, and remove it"));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).doing("read", &path)?;
        Ok(Some(bytes))
    }

    /// The error for a message that cannot be used. The run can be resumed without it.
    pub(crate) fn refused(&self, site: &str, file: &str, error: &Error) -> Error {
        Error::failed(format!("a message of site '{site}' is refused: {}", error.what()))
            .at(self.at(file).display().to_string())
            .cure(format!(
                "find out who wrote it, and remove it; '{site}' writes it again when it is resumed or started again"
            ))
    }

    /// Refuses a folder in which this site has been ready before.
    pub fn check_new(&self, site: &str) -> Result<()> {
        let entries = std::fs::read_dir(&self.0).doing("look into the exchange folder", &self.0)?;
        let name = format!("ready-{site}");
        for entry in entries.flatten() {
            let whole = entry.file_name();
            let of_run = whole.to_str().and_then(|whole| whole.split_once('-'));
            if of_run.is_some_and(|(run, of_run)| of_run == name && run != "hello" && run != "stop")
            {
                return Err(Error::refused("the exchange folder holds an earlier run of this site")
                    .at(entry.path().display().to_string())
                    .cure(
                        "take an empty folder each time. An earlier run goes on with `halflight run --resume \
                         RUN`; an earlier ranking does not go on, and is started again",
                    ));
            }
        }
        Ok(())
    }
}

/// Opens what somebody else may have put there, without waiting as a pipe would let us.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.read(true).open(path)
}

/// Looks again and again until `is_done` or the time is over; true if it is done.
pub fn wait(
    timeout: Duration,
    is_stopped: &dyn Fn() -> bool,
    mut is_done: impl FnMut() -> Result<bool>,
) -> Result<bool> {
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    while !is_done()? {
        if is_stopped() {
            return Err(Error::interrupted("stopped while it waited for the other sites"));
        }
        if began.elapsed() >= timeout {
            return Ok(false);
        }
        std::thread::sleep(pause.min(timeout));
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_and_other_contents_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
        assert_eq!(folder.read("p-draw").unwrap(), None);
        folder.put("p-draw", b"one").unwrap();
        folder.put("p-draw", b"one").unwrap();
        let error = folder.put("p-draw", b"two").unwrap_err();
        assert!(
            error.place().unwrap().ends_with("draw") && error.what().contains("other contents")
        );
        assert_eq!(folder.read("p-draw").unwrap().unwrap(), b"one");
        std::fs::create_dir(folder.at("p-folder")).unwrap();
        File::create(folder.at("p-large")).unwrap().set_len(LARGEST + 1).unwrap();
        #[cfg(unix)]
        {
            let (pipe, mode) = (folder.at("p-pipe"), rustix::fs::Mode::RUSR);
            rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }
        for name in ["p-folder", "p-large", "p-pipe"] {
            let error = folder.read(name).unwrap_err();
            assert!(
                error.what().contains("is no message") && error.place().unwrap().ends_with(name)
            );
            std::fs::remove_dir(folder.at(name))
                .or_else(|_| std::fs::remove_file(folder.at(name)))
                .unwrap();
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        // The hello of a site with a strange name is no sign of an earlier run.
        for (name, is_new) in [("hello-ready-A", true), ("0123abcd-ready-A", false)] {
            folder.put(name, b"one").unwrap();
            assert_eq!(folder.check_new("A").is_ok(), is_new, "{name}");
        }
        assert!(folder.check_new("B").is_ok());
    }

    #[test]
    fn waiting_ends_when_it_is_done_stopped_or_the_time_is_over() {
        let short = Duration::from_millis(1);
        let mut looks = 0;
        let third = || {
            looks += 1;
            Ok(looks == 3)
        };
        assert!(wait(Duration::from_mins(1), &|| false, third).unwrap());
        assert!(!wait(short, &|| false, || Ok(false)).unwrap());
        assert!(wait(Duration::from_mins(1), &|| true, || Ok(false)).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_everybody_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = Folder::open(directory.path()).unwrap_err();
        assert!(error.cure_text().unwrap().contains("chmod o-w"), "{error}");
        assert!(Folder::open(&directory.path().join("missing")).is_err());
    }
}
