//! `cargo bench --bench attached`: a run of about twenty seconds with the terminal
//! interface attached, at 160 × 50, against the same run headless, in turn.
//!
//! Timed is what both leave behind: from the start of a run's transcript to its
//! certificate.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::Screen;

const TURNS: usize = 3;
const STEPS: u32 = 1600;

fn main() {
    let session = format!(
        r#"(
  version: 1,
  name: "a long run",
  datasets: [
    (name: "target", role: private, label: "y",
      source: synthetic(part: target, rows: 200000, dimension: 60, mixture: 0.2, seed: 1)),
    (name: "source", role: public, label: "y",
      source: synthetic(part: source, rows: 50000, dimension: 60, mixture: 0.2, seed: 1)),
  ],
  budgets: {{"target": (epsilon: 100, delta: 1e-5)}},
  plans: [
    (name: "descend", method: "profiled_cnvx_adap", private: "target", public: ["source"],
      target: (epsilon: 1.0, delta: 1e-7), settings: {{"steps": {STEPS}}}, seed: 1,
      preparation: (features: declared(1.0), labels: declared(-1.0, 1.0), intercept: false)),
  ],
)"#
    );
    let (mut headless, mut attached) = (Vec::new(), Vec::new());
    for turn in 1..=TURNS {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("session.ron"), &session).unwrap();
        headless.push(run_headless(place.path()));
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("session.ron"), &session).unwrap();
        attached.push(run_attached(place.path()));
        println!(
            "turn {turn}: headless {:6.2} s   attached {:6.2} s",
            headless[turn - 1],
            attached[turn - 1]
        );
    }
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let (headless, attached) = (least(&headless), least(&attached));
    println!(
        "{STEPS} steps over 200000 records, the least of {TURNS}: headless {headless:.2} s, \
         attached {attached:.2} s, {:+.1} %",
        100.0 * (attached / headless - 1.0)
    );
}

fn run_headless(place: &Path) -> f64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_halflight"))
        .args(["run", "session.ron", "--quiet"])
        .current_dir(place)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let seconds = time_of_the_run(place);
    assert!(child.wait().unwrap().success());
    seconds
}

fn run_attached(place: &Path) -> f64 {
    let mut screen = Screen::start(place, &["session.ron"], 160, 50);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("l");
    screen.wait_for("It reserves ε");
    screen.press("y");
    let seconds = time_of_the_run(place);
    screen.wait_for("finished");
    screen.press("q");
    screen.wait_for_end();
    seconds
}

/// From the beginning of the only run's transcript to its certificate.
fn time_of_the_run(place: &Path) -> f64 {
    appearance(place, "transcript");
    let start = Instant::now();
    appearance(place, "certificate.json");
    start.elapsed().as_secs_f64()
}

/// Waits until the only run has this file.
fn appearance(place: &Path, name: &str) -> PathBuf {
    let start = Instant::now();
    loop {
        let runs = std::fs::read_dir(place.join(".halflight/runs")).into_iter().flatten();
        let mut files = runs.map(|run| run.unwrap().path().join(name));
        if let Some(file) = files.find(|file| file.exists()) {
            return file;
        }
        assert!(start.elapsed() < Duration::from_mins(5), "no {name} in {}", place.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}
