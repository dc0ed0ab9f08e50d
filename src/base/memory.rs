//! How much memory a table may take. A table that is too large must be refused before it is
//! allocated, because a failed allocation ends the program.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// The user's limit; 0 until it is set.
static ALLOWED: AtomicU64 = AtomicU64::new(0);

/// The part of free memory that one table may take: results computed from it also need room.
const PART: f64 = 0.8;

/// Tables of numbers that would take more than this part of free memory are kept on the disk, so
/// that there is room for the records that are prepared from them.
const MUCH: f64 = 0.5;

/// From now on, freed memory is used again. The GNU C library returns large blocks to the system, and
/// the next one is then filled page by page, which took up to a quarter of the time of reading a
/// Parquet file. Once a block of this size was freed, it keeps all that are smaller.
pub fn use_again() {
    const LARGEST: usize = 31 << 20;
    let mut block = Vec::<u8>::new();
    // Where there is no room for it, nothing changes.
    let _ = block.try_reserve_exact(LARGEST);
    drop(std::hint::black_box(block));
}

/// From now on tables may take this many bytes.
pub fn allow(bytes: u64) {
    ALLOWED.store(bytes.max(1), Ordering::Relaxed);
}

/// What the user allowed, as an option for another process that works for this one.
pub fn as_option() -> Option<String> {
    match ALLOWED.load(Ordering::Relaxed) {
        0 => None,
        bytes => Some(format!("--max-memory={bytes}")),
    }
}

/// Refuses a table that would take more memory than is allowed or free.
pub fn check(bytes: u64) -> Result<()> {
    let allowed = ALLOWED.load(Ordering::Relaxed);
    let most = if allowed > 0 { allowed } else { free().map_or(u64::MAX, part_of) };
    if bytes <= most {
        return Ok(());
    }
    // The needed memory would reveal the number of rows of a private file.
    Err(Error::failed(format!(
        "the table would take more memory than the {} that may be used",
        words(most)
    ))
    .cure("read fewer rows or columns, free some memory, or allow more, such as --max-memory 16G"))
}

/// A table of more bytes had better be kept on the disk.
pub fn much() -> u64 {
    match ALLOWED.load(Ordering::Relaxed) {
        0 => free().map_or(u64::MAX, |free| (MUCH * free as f64) as u64),
        allowed => allowed,
    }
}

fn part_of(bytes: u64) -> u64 {
    (PART * bytes as f64) as u64
}

/// The memory that the program needs before it reads anything: its stacks and the heaps of its
/// threads.
const LEAST: u64 = 256 << 20;
/// The memory for each thread: the C library reserves this much for its heap.
const LEAST_OF_A_THREAD: u64 = 64 << 20;

/// Refuses to start if `ulimit -v` leaves too little: a failed allocation ends the program, perhaps
/// in the middle of a run.
pub fn enough_for(threads: usize) -> Result<()> {
    enough(shell(), threads)
}

fn enough(left: Option<u64>, threads: usize) -> Result<()> {
    let needed = LEAST + threads as u64 * LEAST_OF_A_THREAD;
    let Some(left) = left.filter(|left| *left < needed) else { return Ok(()) };
    Err(Error::failed(format!(
        "`ulimit -v` leaves {} of address space, and {threads} threads need {}",
        words(left),
        words(needed)
    ))
    .cure("raise the limit, such as with `ulimit -v unlimited`, or use fewer threads: --threads 1"))
}

/// Reads `512M` or `3.2G`; without a letter the number is in bytes, at least 1024 of them.
pub fn parse(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("'{text}' is not an amount of memory: write 800M or 16G");
    let text = text.trim().trim_end_matches("iB").trim_end_matches('B');
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let bytes = number * f64::from(power).exp2();
    if (1.0..1024.0).contains(&bytes) && power == 0 {
        return Err(format!("{text} bytes hold no table: write {text}G for gigabytes"));
    }
    if (1024.0..9e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// For readers: `3.2 GiB`.
pub fn words(bytes: u64) -> String {
    if bytes < 1 << 10 {
        return format!("{bytes} bytes");
    }
    let (number, unit) = match bytes as f64 {
        bytes if bytes < 1e6 => (bytes / f64::from(1 << 10), "KiB"),
        bytes if bytes < 1e9 => (bytes / f64::from(1 << 20), "MiB"),
        bytes => (bytes / f64::from(1 << 30), "GiB"),
    };
    format!("{number:.1} {unit}")
}

/// The memory that the machine, its container and the shell leave for this process; `None` if
/// unknown.
pub fn free() -> Option<u64> {
    [machine(), container(), shell()].into_iter().flatten().min()
}

/// From the kernel's estimate.
fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    kibibytes(&text, "MemAvailable:")
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    number.checked_mul(1024)
}

/// From the control groups of this process, in either version: the rest in the fullest.
fn container() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let second = ["memory.max", "memory.current", "file "];
    let first = ["memory.limit_in_bytes", "memory.usage_in_bytes", "cache "];
    let roots = [("/sys/fs/cgroup", "", second), ("/sys/fs/cgroup/memory", "memory", first)];
    let left = roots.map(|(root, controller, files)| {
        let own = Path::new(root).join(group_of(&groups, controller).trim_start_matches('/'));
        own.ancestors()
            .take_while(|it| it.starts_with(root))
            .filter_map(|it| left_in(it, files))
            .min()
    });
    left.into_iter().flatten().min()
}

/// The path in a line such as `4:memory:/jobs/7`, or in the second version `0::/jobs/7`.
fn group_of<'a>(groups: &'a str, controller: &str) -> &'a str {
    let mut lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    lines.find(|(name, _)| *name == controller).map_or("", |(_, path)| path)
}

/// The file cache is dropped when memory is needed.
fn left_in(group: &Path, [most, now, kept]: [&str; 3]) -> Option<u64> {
    let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse().ok();
    let (most, now): (u64, u64) = (number(most)?, number(now)?);
    let statistics = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let kept = statistics.lines().find_map(|line| line.strip_prefix(kept)?.trim().parse().ok());
    Some(most.saturating_sub(now.saturating_sub(kept.unwrap_or(0))))
}

/// From `ulimit -v`.
fn shell() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let most = getrlimit(Resource::As).current?;
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        Some(most.saturating_sub(kibibytes(&text, "VmSize:")?))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, bytes) in
            [("1024", 1024), ("2K", 2048), ("1.5M", 3 << 19), ("3GiB", 3 << 30), ("1 g", 1 << 30)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1", "1X", "1e30", "NaN", "0", "0.5K"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("3").unwrap_err().contains("write 3G for gigabytes"));
    }

    #[test]
    fn what_no_machine_has_is_refused_and_how_much_it_was_is_not_told() {
        assert!(check(1 << 20).is_ok());
        let error = |bytes: u64| check(bytes).unwrap_err().to_string();
        assert!(error(1 << 60).contains("may be used"));
        assert!(!error(1 << 60).contains("1073741824"), "{}", error(1 << 60));
    }

    #[test]
    fn a_shell_that_leaves_too_little_for_the_threads_is_named_with_what_to_do() {
        assert!(enough(None, 1024).is_ok());
        assert!(enough(Some(LEAST + LEAST_OF_A_THREAD), 1).is_ok());
        let error = enough(Some(LEAST + LEAST_OF_A_THREAD), 2).unwrap_err().to_string();
        assert!(error.contains("2 threads need") && error.contains("--threads 1"), "{error}");
    }

    #[test]
    fn a_group_leaves_what_it_may_have_less_what_it_cannot_give_back() {
        let groups = "9:name=systemd:/\n4:memory:/jobs/7\n0::/user/x\n";
        assert_eq!(group_of(groups, "memory"), "/jobs/7");
        assert_eq!(group_of(groups, ""), "/user/x");
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let files = ["memory.max", "memory.current", "file "];
        assert_eq!(left_in(folder.path(), files), None);
        write("memory.max", "1000\n");
        write("memory.current", "900\n");
        assert_eq!(left_in(folder.path(), files), Some(100));
        write("memory.stat", "anon 300\nfile 600\nfile_mapped 5\n");
        assert_eq!(left_in(folder.path(), files), Some(700));
        write("memory.max", "max\n");
        assert_eq!(left_in(folder.path(), files), None);
    }

    #[test]
    fn few_bytes_are_told_as_bytes() {
        for (bytes, told) in [(3, "3 bytes"), (2048, "2.0 KiB"), (3 << 20, "3.0 MiB")] {
            assert_eq!(words(bytes), told);
        }
    }

    #[test]
    fn memory_is_read_from_what_the_kernel_says() {
        let text = "MemTotal:       24567 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(kibibytes(text, "MemAvailable:"), Some(2 << 20));
        assert_eq!(kibibytes(text, "MemFree:"), None);
    }
}
