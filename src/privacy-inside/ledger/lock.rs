//! The ledger's lock, and the name of its holder for those who wait.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::Doing;
use crate::files::words::harmless;
use crate::files::{private, step};

/// Proof that no other handle reads or writes the ledger while it lives.
#[derive(Debug)]
pub(super) struct Exclusive(File);

/// Proof that no other handle writes the ledger while it lives. Empty if nothing was ever written.
#[derive(Debug)]
pub(super) struct Shared(#[expect(dead_code, reason = "closing the file unlocks it")] Option<File>);

/// Shorter waits are not reported.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);

/// Longer texts in a lock's file are cut.
const LONGEST_HOLDER: usize = 200;

/// A program that only tests a lock holds it for less than this.
const GLANCE: Duration = Duration::from_millis(100);

static TOLD: OnceLock<fn(&str)> = OnceLock::new();

/// From now on `tell` is called with the holder of a ledger for which this process waits.
pub fn on_waiting(tell: fn(&str)) {
    let _ = TOLD.set(tell);
}

/// The name of this machine.
pub fn this_host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if host.trim().is_empty() { "this machine".to_owned() } else { host.trim().to_owned() }
}

/// `process 4711 on node3`.
pub fn this_process() -> String {
    format!("process {} on {}", std::process::id(), this_host())
}

/// Takes a lock that nobody else holds; false if somebody does. A program that only tests the lock
/// takes it for a moment; this waits for that moment to pass.
pub(crate) fn take(file: &File) -> io::Result<bool> {
    take_within(GLANCE, || file.try_lock())
}

/// Whether somebody holds the lock of this file.
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Takes a lock if it is free within this time; false if it is not.
fn take_within(
    patience: Duration,
    attempt: impl Fn() -> Result<(), TryLockError>,
) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

pub(super) fn exclusive(path: &Path) -> io::Result<Exclusive> {
    let file = step::open(private().read(true).write(true).create(true).truncate(false), path)?;
    step::before_lock()?;
    wait(path, || file.try_lock(), || file.lock())?;
    // Information for those who wait; nothing depends on it.
    let since = crate::clock::now().strftime("%Y-%m-%d %H:%M:%S UTC");
    let holder = format!("{}, since {since}\n", this_process());
    let _ = step::cut(&file, 0).and_then(|()| step::write(&file, holder.as_bytes()));
    Ok(Exclusive(file))
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        // The next reader must not mistake this process for the holder.
        let _ = step::cut(&self.0, 0);
    }
}

pub(super) fn shared(path: &Path) -> io::Result<Shared> {
    // Reading needs no write permission: without a lock file there is no writer.
    let file = File::open(path).if_there()?;
    if let Some(file) = &file {
        wait(path, || file.try_lock_shared(), || file.lock_shared())?;
    }
    Ok(Shared(file))
}

/// Takes the shared lock if it is free soon; otherwise returns its holder.
pub(super) fn shared_soon(path: &Path, patience: Duration) -> io::Result<Result<Shared, String>> {
    let file = File::open(path).if_there()?;
    if let Some(file) = &file
        && !take_within(patience, || file.try_lock_shared())?
    {
        return Ok(Err(holder(path)));
    }
    Ok(Ok(Shared(file)))
}

/// The holder of a lock, according to its file.
fn holder(path: &Path) -> String {
    let holder = std::fs::read_to_string(path).unwrap_or_default();
    match holder.trim() {
        "" => "another process".to_owned(),
        holder => harmless(holder, LONGEST_HOLDER),
    }
}

fn wait(
    path: &Path,
    attempt: impl Fn() -> Result<(), TryLockError>,
    block: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    if take_within(PATIENCE, attempt)? {
        return Ok(());
    }
    if let Some(tell) = TOLD.get() {
        tell(&format!(
            "waiting for the ledger ({}), which is held by {}",
            path.display(),
            holder(path)
        ));
    }
    block()
}
