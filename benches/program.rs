//! `cargo bench --bench program [-- ROWS COLUMNS]`: the whole program as its user meets it. The first
//! frame of the interface, at 160 × 50; the time from a key to the frame that it leads to, and while a
//! rehearsal works; a run over ROWS × COLUMNS numbers in a Parquet file, from the start to the certificate, in memory and on the
//! disk, with its largest memory; and a sweep of a hundred tasks.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use halflight::data::Column;
use halflight::data::write::{WriteFormat, private_file};
use support::Screen;

const STARTS: usize = 20;
const KEYS: usize = 200;
const TASKS: usize = 100;

fn main() {
    let asked: Vec<usize> = std::env::args().filter_map(|it| it.parse().ok()).collect();
    let place = tempfile::tempdir_in(".").unwrap();
    let synthetic = |part: &str, rows: usize| {
        format!("synthetic(part: {part}, rows: {rows}, dimension: 10, mixture: 0.2, seed: 1)")
    };
    let small = session(&synthetic("target", 2000), &synthetic("source", 2000));
    std::fs::write(place.path().join("small.ron"), small).unwrap();
    // Its rehearsal takes longer than the keys that are pressed meanwhile.
    let busy = session(&synthetic("target", 2000), &synthetic("source", 16_000));
    std::fs::write(place.path().join("busy.ron"), busy).unwrap();
    interface(place.path());
    sweep(place.path());
    let (rows, columns) =
        if let [rows, columns] = asked[..] { (rows, columns) } else { (1_000_000, 400) };
    for (name, rows, seed) in [("ours", rows, 1), ("theirs", rows / 50, 2)] {
        table(&place.path().join(format!("{name}.parquet")), rows, columns, seed);
    }
    let files = session("file(\"ours.parquet\")", "file(\"theirs.parquet\")");
    std::fs::write(place.path().join("large.ron"), files).unwrap();
    for (what, memory) in [("in memory", None), ("on the disk", Some("1G"))] {
        let (seconds, peak) = run(place.path(), memory);
        println!("run over {rows} × {columns}, {what}: {seconds:.1} s, {peak:.2} GiB");
    }
}

fn session(ours: &str, theirs: &str) -> String {
    format!(
        "(version: 1, datasets: [(name: \"ours\", role: private, label: \"y\", source: {ours}), \
         (name: \"theirs\", role: public, label: \"y\", source: {theirs})], \
         budgets: {{\"ours\": (epsilon: 200, delta: 1e-7)}}, \
         plans: [(name: \"descend\", method: \"cnvx_adap\", private: \"ours\", public: [\"theirs\"], \
         target: (epsilon: 1.0, delta: 1e-8), settings: {{\"steps\": 100}})])"
    )
}

/// Numbers without a pattern, and a label that depends on the first.
fn table(path: &Path, rows: usize, columns: usize, seed: u64) {
    let number = |row: usize, column: usize| {
        let mixed = (row as u64 * 0x9e37_79b9 + column as u64 + (seed << 40))
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        f64::from((mixed >> 40) as u32) / f64::from(1 << 24)
    };
    let of = |column: usize| (0..rows).map(|row| number(row, column)).collect();
    let features = (0..columns).map(|at| (format!("x{at}"), Column::Numbers(of(at))));
    let label = (0..rows).map(|row| number(row, 0) + 0.1 * number(row, columns)).collect();
    let all: Vec<_> = features.chain([("y".to_owned(), Column::Numbers(label))]).collect();
    private_file(path, WriteFormat::Parquet, &all).unwrap();
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    1e3 * times[times.len() / 2].as_secs_f64()
}

fn interface(place: &Path) {
    let starts = (0..STARTS).map(|_| {
        let start = Instant::now();
        let mut screen = Screen::start(place, &["small.ron"], 160, 50);
        let until = until(start, &screen, |text| text.contains("Ledger") && text.contains("quit"));
        screen.press("q");
        screen.wait_for_end();
        until
    });
    println!("first frame: {:.1} ms", median(starts.collect()));
    let mut screen = Screen::start(place, &["small.ron"], 160, 50);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    println!("a key to its frame: {}", keys(&mut screen, KEYS));
    screen.press("q");
    screen.wait_for_end();
    let mut screen = Screen::start(place, &["busy.ron"], 160, 50);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("3");
    screen.wait_for("What it costs");
    screen.press("r");
    screen.wait_for(" left");
    println!("while a rehearsal works: {}", keys(&mut screen, KEYS / 2));
    screen.press("3");
    screen.wait_for(" left");
    screen.press("q");
    screen.wait_for_end();
}

/// The median time from a key to its frame, and the one that 95 of 100 keys keep.
fn keys(screen: &mut Screen, count: usize) -> String {
    let keys = (0..count).map(|at| {
        // Frames are drawn 66 ms apart at least while something changes.
        std::thread::sleep(Duration::from_millis(80));
        let before = screen.text();
        let start = Instant::now();
        screen.press(if at % 2 == 0 { "2" } else { "1" });
        until(start, screen, |text| *text != before)
    });
    let mut times: Vec<Duration> = keys.collect();
    times.sort();
    let late = 1e3 * times[times.len() * 95 / 100].as_secs_f64();
    format!("{:.1} ms, {late:.1} ms at most for 95 of 100", median(times))
}

fn until(start: Instant, screen: &Screen, holds: impl Fn(&String) -> bool) -> Duration {
    while !holds(&screen.text()) {
        assert!(start.elapsed() < Duration::from_secs(30), "{}", screen.text());
        std::thread::sleep(Duration::from_micros(100));
    }
    start.elapsed()
}

fn halflight(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halflight"));
    command.args(arguments).current_dir(place).stdout(Stdio::null());
    command.env("XDG_CONFIG_HOME", place.join("config")).env("XDG_STATE_HOME", place.join("state"));
    command
}

fn sweep(place: &Path) {
    let seeds = format!("seed=1..{TASKS}");
    let start = Instant::now();
    let done =
        halflight(place, &["sweep", "small.ron", "--over", &seeds, "--quiet"]).status().unwrap();
    assert!(done.success());
    println!("sweep of {TASKS} tasks: {:.2} s", start.elapsed().as_secs_f64());
}

/// Seconds, and the largest memory in GiB.
fn run(place: &Path, memory: Option<&str>) -> (f64, f64) {
    let mut command = halflight(place, &["run", "large.ron", "--quiet"]);
    command.args(memory.iter().flat_map(|most| ["--max-memory", most]));
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut peak = 0.0;
    let done = loop {
        let about = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let about = about.unwrap_or_default();
        let line = about.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes =
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = kilobytes.unwrap_or_default().max(peak);
        if let Some(done) = child.try_wait().unwrap() {
            break done;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(done.success());
    (start.elapsed().as_secs_f64(), peak / f64::from(1 << 20))
}
