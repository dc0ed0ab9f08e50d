//! Steers a run from another process, by a small file in the run's directory.
//!
//! | file | written by | says |
//! |---|---|---|
//! | `control.json` | the steering process | the request, and the process that it is for |
//! | `paused` | the run | that the run is waiting |
//!
//! A request counts if its file belongs to the owner of the run, nobody else may read or write it,
//! and it is meant for the process that executes the run. A request to a program that died does not
//! hold for the one that resumes the run. Both files are removed when the run ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::json;
use super::run_directory::{CERTIFICATE, Process, RunDirectory};
use crate::error::{Error, Result};
use crate::files::{self, step};

const CONTROL: &str = "control.json";
const PAUSED: &str = "paused";
/// An older request was seen, even where disks show changes with a delay.
const HEARD: Duration = Duration::from_secs(10);
/// A longer file is not a request.
const LONGEST: u64 = 4096;

/// A request to a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteeringRequest {
    Pause,
    GoOn,
    /// End after this step; draws are settled and the model so far is kept.
    Stop,
    /// The most steps per second; without a number, full speed.
    Pace(Option<f64>),
}

impl SteeringRequest {
    /// Whether the request replaces the other one.
    fn is_like(self, other: Self) -> bool {
        match self {
            Self::Pause | Self::GoOn => matches!(other, Self::Pause | Self::GoOn),
            Self::Stop => other == Self::Stop,
            Self::Pace(_) => matches!(other, Self::Pace(_)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlFile {
    /// The process that the request is for.
    to: String,
    #[serde(rename = "wish")]
    request: SteeringRequest,
    /// Earlier requests that may not have been seen yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also: Vec<SteeringRequest>,
    /// The user who makes the request.
    by: String,
}

impl ControlFile {
    /// The requests, the earlier ones first.
    fn all(mut self) -> Vec<SteeringRequest> {
        self.also.push(self.request);
        self.also
    }
}

/// Whether the run in this directory waits.
pub fn is_paused(directory: &Path) -> bool {
    directory.join(PAUSED).exists()
}

/// Asks the program that executes the run in `directory` to do something.
pub fn ask(directory: &Path, request: SteeringRequest) -> Result<Process> {
    let here = || directory.display().to_string();
    if directory.join(CERTIFICATE).exists() {
        return Err(Error::refused("this run has ended").at(here()));
    }
    let process = RunDirectory::process(directory).ok_or_else(|| {
        Error::usage("no run is carried out here, or its directory cannot be read")
            .at(here())
            .cure("name the directory of a run, such as .halflight/runs/RUN")
    })?;
    if let SteeringRequest::Pace(Some(pace)) = request
        && !is_pace(pace)
    {
        return Err(Error::usage(format!("the pace is {pace}"))
            .cure("give a number of steps per second above 0"));
    }
    if !is_owners(directory) {
        return Err(Error::refused("the run belongs to somebody else")
            .at(here())
            .cure("only its owner can pause or stop it"));
    }
    let to = process.to_string();
    let also = unheard(directory, &to).into_iter().filter(|it| !request.is_like(*it)).collect();
    let control = ControlFile { to, request, also, by: Process::this().to_string() };
    json::write_line(&directory.join(CONTROL), &control)?;
    Ok(process)
}

/// Requests to this process that are so recent that it may not have seen them.
fn unheard(directory: &Path, to: &str) -> Vec<SteeringRequest> {
    let Ok(about) = fs::symlink_metadata(directory.join(CONTROL)) else { return Vec::new() };
    let is_late = about.modified().is_ok_and(|at| at.elapsed().map_or(true, |age| age < HEARD));
    let control = read_control(directory, &about).filter(|it| is_late && it.to == to);
    control.map_or_else(Vec::new, ControlFile::all)
}

/// The file with requests, if only the owner of the run can access it.
fn read_control(directory: &Path, about: &fs::Metadata) -> Option<ControlFile> {
    if !about.is_file() || about.len() > LONGEST || !is_private(about, directory) {
        return None;
    }
    serde_json::from_slice(&fs::read(directory.join(CONTROL)).ok()?).ok()
}

fn is_pace(pace: f64) -> bool {
    pace.is_finite() && pace > 0.0
}

/// The run's end: reports each new request.
#[derive(Debug)]
pub struct Inbox {
    directory: PathBuf,
    this: String,
    /// The file that was read last.
    seen: Option<(u64, SystemTime, u64)>,
    says_paused: bool,
}

impl Inbox {
    /// The inbox of the run that this process executes in `directory`.
    pub fn of(directory: &Path) -> Self {
        let mut inbox = Self {
            directory: directory.to_path_buf(),
            this: Process::this().to_string(),
            seen: None,
            says_paused: false,
        };
        // Left behind by a program that died.
        inbox.clear();
        inbox
    }

    /// New requests, the earlier ones first.
    pub fn look(&mut self) -> Vec<SteeringRequest> {
        let control = self.control().filter(|control| control.to == self.this);
        let mut requests = control.map_or_else(Vec::new, ControlFile::all);
        requests.retain(
            |request| !matches!(request, SteeringRequest::Pace(Some(pace)) if !is_pace(*pace)),
        );
        requests
    }

    /// The file, if it has changed.
    fn control(&mut self) -> Option<ControlFile> {
        let about = fs::symlink_metadata(self.directory.join(CONTROL)).ok()?;
        let seen = Some((about.len(), about.modified().ok()?, inode(&about)));
        if self.seen == seen {
            return None;
        }
        self.seen = seen;
        read_control(&self.directory, &about)
    }

    /// Tells others whether the run waits.
    pub fn tell(&mut self, is_paused: bool) {
        if is_paused == self.says_paused {
            return;
        }
        self.says_paused = is_paused;
        let path = self.directory.join(PAUSED);
        // It is only for observers; nothing depends on it.
        let _ = if is_paused {
            step::open(files::private().write(true).create(true).truncate(true), &path).map(|_| ())
        } else {
            step::remove(&path)
        };
    }

    /// Removes both files.
    pub fn clear(&mut self) {
        for name in [CONTROL, PAUSED] {
            let path = self.directory.join(name);
            if fs::symlink_metadata(&path).is_ok() {
                let _ = step::remove(&path);
            }
        }
    }
}

/// Whether a folder belongs to this process's user.
fn is_owners(directory: &Path) -> bool {
    #[cfg(unix)]
    let user = Some(rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    let user = None;
    fs::metadata(directory).is_ok_and(|about| owner(&about) == user)
}

/// Whether only the owner of the run's directory can access a file.
fn is_private(about: &fs::Metadata, directory: &Path) -> bool {
    #[cfg(unix)]
    let is_closed = std::os::unix::fs::MetadataExt::mode(about).trailing_zeros() >= 6;
    #[cfg(not(unix))]
    let is_closed = true;
    is_closed && fs::metadata(directory).is_ok_and(|folder| owner(&folder) == owner(about))
}

/// The owner of a file, on systems where files have owners.
fn owner(about: &fs::Metadata) -> Option<u32> {
    #[cfg(unix)]
    let owner = Some(std::os::unix::fs::MetadataExt::uid(about));
    #[cfg(not(unix))]
    let owner = {
        let _ = about;
        None
    };
    owner
}

/// Distinguishes a file from one that was renamed into its place.
fn inode(about: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(about);
    #[cfg(not(unix))]
    let number = about.len();
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directory of a run of this process.
    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("process"), format!("{}\n", Process::this())).unwrap();
        directory
    }

    #[test]
    fn a_request_is_heard_once_and_is_gone_with_the_run() {
        let run = directory();
        let mut inbox = Inbox::of(run.path());
        assert_eq!(inbox.look(), []);
        for request in [
            SteeringRequest::Pause,
            SteeringRequest::GoOn,
            SteeringRequest::Pace(Some(2.5)),
            SteeringRequest::Pace(None),
            SteeringRequest::Stop,
        ] {
            ask(run.path(), request).unwrap();
            assert_eq!(inbox.look().last(), Some(&request));
            assert_eq!(inbox.look(), []);
        }
        inbox.tell(true);
        assert!(is_paused(run.path()));
        inbox.clear();
        assert!(!is_paused(run.path()) && !run.path().join(CONTROL).exists());
    }

    #[test]
    fn a_request_that_comes_before_the_one_before_was_heard_replaces_only_its_like() {
        let run = directory();
        let mut inbox = Inbox::of(run.path());
        for request in [
            SteeringRequest::Pause,
            SteeringRequest::Pace(Some(4.0)),
            SteeringRequest::GoOn,
            SteeringRequest::Pace(Some(2.0)),
        ] {
            ask(run.path(), request).unwrap();
        }
        assert_eq!(inbox.look(), [SteeringRequest::GoOn, SteeringRequest::Pace(Some(2.0))]);
        ask(run.path(), SteeringRequest::Stop).unwrap();
        ask(run.path(), SteeringRequest::Pause).unwrap();
        assert!(inbox.look().contains(&SteeringRequest::Stop), "a stop is not forgotten");
        // An old request that was seen is not repeated.
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        let control = fs::File::options().write(true).open(run.path().join(CONTROL)).unwrap();
        control.set_modified(long_ago).unwrap();
        ask(run.path(), SteeringRequest::GoOn).unwrap();
        assert_eq!(inbox.look(), [SteeringRequest::GoOn]);
    }

    #[test]
    fn what_is_asked_of_another_process_or_by_others_is_not_heard() {
        let run = directory();
        let mut inbox = Inbox::of(run.path());
        let path = run.path().join(CONTROL);
        fs::write(run.path().join("process"), "1 on elsewhere\n").unwrap();
        ask(run.path(), SteeringRequest::Stop).unwrap();
        assert_eq!(inbox.look(), [], "of a process that died");
        for text in ["", "{", "\u{1b}[2J", &"x".repeat(5000)] {
            files::write_private(&path, text.as_bytes()).unwrap();
            assert_eq!(inbox.look(), []);
        }
        for pace in ["0", "-1", "1e999", "NaN", "\"fast\""] {
            let text = format!(
                "{{\"to\":\"{}\",\"wish\":{{\"pace\":{pace}}},\"by\":\"x\"}}",
                Process::this()
            );
            files::write_private(&path, text.as_bytes()).unwrap();
            assert_eq!(inbox.look(), [], "{pace}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let stop = format!("{{\"to\":\"{}\",\"wish\":\"stop\",\"by\":\"x\"}}", Process::this());
            files::write_private(&path, stop.as_bytes()).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
            assert_eq!(inbox.look(), [], "everybody could have written it");
        }
    }

    #[test]
    fn a_run_that_has_ended_and_a_pace_that_is_none_are_refused() {
        let run = directory();
        for pace in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(ask(run.path(), SteeringRequest::Pace(Some(pace))).is_err());
        }
        fs::write(run.path().join(CERTIFICATE), "{}").unwrap();
        assert!(
            ask(run.path(), SteeringRequest::Stop).unwrap_err().to_string().contains("has ended")
        );
        let none = tempfile::tempdir().unwrap();
        assert!(
            ask(none.path(), SteeringRequest::Stop).unwrap_err().to_string().contains("no run")
        );
    }
}
