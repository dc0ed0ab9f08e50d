//! `cargo bench --bench reading [-- ROWS COLUMNS]`: CSV and Parquet against
//! pandas' C reader and pyarrow, in turn, on the same files; and the most memory
//! that reading takes, in units of the array that it makes. If a peer is quicker, the bench ends with
//! an error.
//!
//! `PYTHON` names a Python that has the packages of `peers/reading.py`
//! (`python3` if unset).
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "peers/mod.rs"]
mod peers;

use std::path::Path;
use std::time::Instant;

use halflight::data::read;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const ROUNDS: usize = 3;

fn main() {
    halflight::memory::use_again();
    let sizes: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let (rows, columns) = match sizes[..] {
        [rows, columns] => (rows, columns),
        _ => (1_000_000, 100),
    };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    if peer(&["make", &place, &rows.to_string(), &columns.to_string()]).is_none() {
        println!("SKIPPED: no Python with pandas and pyarrow (set PYTHON)");
        return;
    }
    println!("{rows} rows × {columns} columns");
    let mut behind = peers::Behind::default();
    for (kind, name) in [("csv", "pandas' C reader"), ("parquet", "pyarrow")] {
        let path = folder.path().join(format!("t.{kind}"));
        let (mut ours, mut theirs, mut peak) = (f64::INFINITY, f64::INFINITY, 0);
        // In turn, and the best of each: the machine may be shared.
        for _ in 0..ROUNDS {
            let (seconds, memory) = read_once(&path);
            ours = ours.min(seconds);
            peak = peak.max(memory);
            let seconds = peer(&[kind, &path.display().to_string()]);
            theirs = theirs.min(seconds.and_then(|text| text.trim().parse().ok()).unwrap());
        }
        let array = (rows * columns * size_of::<f64>()) as f64;
        println!(
            "{kind:8} halflight {ours:6.2} s, {name} {theirs:6.2} s, ratio {:.2}; peak {:.2} × the array",
            ours / theirs,
            peak as f64 / array
        );
        behind.note(kind, name, theirs, ours);
    }
    behind.end();
}

/// Seconds and most bytes of one reading, its fingerprint included.
fn read_once(path: &Path) -> (f64, usize) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = Instant::now();
    let table = read::read_plainly(path).ok().unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(table.rows() > 0);
    (seconds, MEMORY.peak_usage() - before)
}

/// What the peer prints, if it works.
fn peer(arguments: &[&str]) -> Option<String> {
    peers::ask("reading.py", arguments).map(|said| String::from_utf8_lossy(&said).into_owned())
}
