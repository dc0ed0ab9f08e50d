//! Makes steps fail at the request of a test, and lists all steps.
//!
//! Only a build with debug assertions has this module, and only environment variables switch it on:
//!
//! | variable | what it does |
//! |---|---|
//! | `HALFLIGHT_TEST_STEPS=FILE` | appends every executed step to FILE, one JSON object per line |
//! | `HALFLIGHT_TEST_STOP=crash:17` | the process aborts before step 17, counted from 1 |
//! | `HALFLIGHT_TEST_STOP=tear:17` | the process aborts in the middle of step 17: half of the bytes are written |
//! | `HALFLIGHT_TEST_STOP=fail:17` | step 17 fails |
//! | `HALFLIGHT_TEST_STOP=full:17` | from step 17 on, nothing can be created or written: a full disk |

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::step::DiskStep;

#[derive(Debug, Clone, Copy, PartialEq)]
enum PlantedKind {
    Crash,
    Tear,
    Fail,
    Full,
}

struct PlantedPlan {
    stop: Option<(PlantedKind, u64)>,
    record: Option<File>,
    /// Steps so far. Steps follow one another while they are counted.
    count: Mutex<u64>,
}

impl PlantedPlan {
    fn of_environment() -> Option<Self> {
        let stop = std::env::var("HALFLIGHT_TEST_STOP").ok().and_then(|text| {
            let (kind, at) = text.split_once(':')?;
            let kind = match kind {
                "crash" => PlantedKind::Crash,
                "tear" => PlantedKind::Tear,
                "fail" => PlantedKind::Fail,
                "full" => PlantedKind::Full,
                _ => return None,
            };
            Some((kind, at.parse().ok()?))
        });
        let record = std::env::var_os("HALFLIGHT_TEST_STEPS")
            .and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
        (stop.is_some() || record.is_some()).then(|| Self { stop, record, count: Mutex::new(0) })
    }
}

pub(super) fn carry_out<T>(
    step: DiskStep<'_>,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    static PLAN: OnceLock<Option<PlantedPlan>> = OnceLock::new();
    let Some(plan) = PLAN.get_or_init(PlantedPlan::of_environment) else { return work() };
    let mut count = plan.count.lock().unwrap_or_else(PoisonError::into_inner);
    *count += 1;
    match plan.stop {
        Some((PlantedKind::Crash, at)) if *count == at => std::process::abort(),
        Some((PlantedKind::Tear, at)) if *count == at => {
            tear(step);
            std::process::abort()
        }
        Some((PlantedKind::Fail, at)) if *count == at => {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Some((PlantedKind::Full, at)) if *count >= at && needs_room(step) => {
            return Err(io::ErrorKind::StorageFull.into());
        }
        _ => {}
    }
    let is_new = matches!(step, DiskStep::Open(path) if !path.exists());
    let done = work();
    if let Some(mut record) = plan.record.as_ref() {
        let line = format!("{}\n", told(step, is_new, done.is_ok()));
        let _ = record.write_all(line.as_bytes());
    }
    done
}

fn needs_room(step: DiskStep<'_>) -> bool {
    match step {
        DiskStep::Open(path) => !path.exists(),
        DiskStep::MakeFolder(path) => !path.is_dir(),
        DiskStep::Write(..) | DiskStep::Link(..) | DiskStep::Copy(..) => true,
        _ => false,
    }
}

/// Writes only the first half; other steps are done as a whole.
fn tear(step: DiskStep<'_>) {
    if let DiskStep::Write(mut file, bytes) = step {
        let _ = file.write_all(&bytes[..bytes.len() / 2]);
    } else if let DiskStep::Copy(from, to) = step {
        let bytes = std::fs::read(from).unwrap_or_default();
        let _ = std::fs::write(to, &bytes[..bytes.len() / 2]);
    }
}

/// A step for the record: enough to repeat it.
fn told(step: DiskStep<'_>, is_new: bool, done: bool) -> Value {
    let mut line = match step {
        DiskStep::Open(path) => json!({"step": "open", "path": whole(path), "new": is_new}),
        DiskStep::MakeFolder(path) => json!({"step": "make_folder", "path": whole(path)}),
        DiskStep::Write(mut file, bytes) => {
            let end = file.stream_position().unwrap_or(0);
            let at = end.saturating_sub(bytes.len() as u64);
            json!({"step": "write", "path": name(file), "at": at, "bytes": STANDARD.encode(bytes)})
        }
        DiskStep::Sync(file) => json!({"step": "sync", "path": name(file)}),
        DiskStep::SyncFolder(path) => json!({"step": "sync_folder", "path": whole(path)}),
        DiskStep::Cut(file, to) => json!({"step": "cut", "path": name(file), "to": to}),
        DiskStep::Rename(from, to) => {
            json!({"step": "rename", "path": whole(from), "to": whole(to)})
        }
        DiskStep::Link(from, to) => json!({"step": "link", "path": whole(from), "to": whole(to)}),
        DiskStep::Copy(from, to) => json!({"step": "copy", "path": whole(from), "to": whole(to)}),
        DiskStep::Remove(path) => json!({"step": "remove", "path": whole(path)}),
        DiskStep::RemoveFolder(path) => json!({"step": "remove_folder", "path": whole(path)}),
        DiskStep::Lock => json!({"step": "lock"}),
    };
    line["done"] = json!(done);
    line
}

fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The current name of an open file.
#[cfg(target_os = "linux")]
fn name(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File) -> PathBuf {
    PathBuf::new()
}
