//! A workspace with a user of its own, in every state in which a command may find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::program;

/// A folder whose path stays, as files name each other by it; its content can be brought back.
pub struct Place {
    top: TempDir,
    kept: Option<TempDir>,
}

/// Memory where there is such a disk: the steps are what matters.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

impl Place {
    fn empty() -> Self {
        Self { top: directory(), kept: None }
    }

    /// Small data, and a session with two plans of three steps.
    pub fn new() -> Self {
        let place = Self::empty();
        fs::create_dir(place.work()).unwrap();
        let table = |from: usize, rows: usize, turn: f64| -> String {
            let row = |i: usize| {
                let (x, z) = ((i as f64 * 0.37).sin(), (i as f64 * 0.11).cos());
                let y = turn * x - 0.5 * z + 0.1 * (i as f64).sin();
                format!("{x},{z},{y},{}\n", ["a", "b", "c"][i % 3])
            };
            let rows = (from..from + rows).map(row);
            std::iter::once("x,z,y,kind\n".to_owned()).chain(rows).collect()
        };
        let write = |name: &str, text: &str| fs::write(place.work().join(name), text).unwrap();
        write("private.csv", &table(0, 300, 1.5));
        write("public.csv", &table(5000, 200, 1.0));
        write("other.csv", &table(9000, 200, 0.2));
        write("session.ron", SESSION);
        write("rank.ron", RANKING);
        place
    }

    /// What the first version wrote.
    pub fn of_an_earlier_version() -> Self {
        let place = Self::empty();
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
        copy(&files, &place.work());
        place
    }

    /// What is here now is what it begins with from now on.
    pub fn keep(&mut self) {
        let kept = directory();
        copy(self.top(), kept.path());
        self.kept = Some(kept);
    }

    /// Brings back what was kept.
    pub fn begin(&self) -> &Self {
        self.clear();
        copy(self.kept.as_ref().unwrap().path(), self.top());
        self
    }

    pub fn clear(&self) {
        for entry in fs::read_dir(self.top()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
    }

    pub fn top(&self) -> &Path {
        self.top.path()
    }

    pub fn work(&self) -> PathBuf {
        self.top.path().join("work")
    }

    pub fn folder(&self) -> PathBuf {
        self.work().join(".halflight")
    }

    /// Where the user's secret lies, and what the user's programs remember.
    pub fn config(&self) -> PathBuf {
        self.top.path().join("config/halflight")
    }

    pub fn command(&self, arguments: &[String]) -> Command {
        let mut command = program::halflight();
        command.args(arguments).current_dir(self.work());
        command.env("XDG_CONFIG_HOME", self.top.path().join("config"));
        command.env("XDG_STATE_HOME", self.top.path().join("state"));
        command
    }

    pub fn run(&self, arguments: &[String]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn succeeds(&self, arguments: &[String]) -> Output {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        output
    }

    /// Carries a command out and returns the steps that it took.
    pub fn steps(&self, arguments: &[String]) -> Vec<Value> {
        let record = self.top.path().join("steps");
        let output = self.command(arguments).env("HALFLIGHT_TEST_STEPS", &record).output().unwrap();
        // A sweep that was given up is not a success.
        let ended = output.status.success() || said(&output).contains("given up");
        assert!(ended, "{arguments:?}: {}", said(&output));
        let text = fs::read_to_string(&record).unwrap();
        fs::remove_file(record).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Carries it out until it is stopped, as `HALFLIGHT_TEST_STOP` says.
    pub fn stopped(&self, arguments: &[String], stop: &str) -> Output {
        self.command(arguments).env("HALFLIGHT_TEST_STOP", stop).output().unwrap()
    }

    /// The only run below `.halflight/runs`.
    pub fn only_run(&self) -> String {
        let mut runs = fs::read_dir(self.folder().join("runs")).unwrap();
        runs.next().unwrap().unwrap().file_name().into_string().unwrap()
    }
}

pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}

const SESSION: &str = r#"(
  version: 1,
  datasets: [
    (name: "ours", role: private, source: file("private.csv"), label: "y", columns: only(["x", "z"])),
    (name: "held", role: private, source: file("other.csv"), label: "y", columns: only(["x", "z"])),
    (name: "theirs", role: public, source: file("public.csv"), label: "y", columns: only(["x", "z"])),
  ],
  budgets: {"ours": (epsilon: 40.0, delta: 1e-5), "held": (epsilon: 4.0, delta: 1e-5)},
  plans: [
    (name: "first", method: "profiled_cnvx_adap", private: "ours", public: ["theirs"],
     target: (epsilon: 1.0, delta: 1e-6), settings: {"steps": 3}),
    (name: "second", method: "target_only", private: "ours", public: ["theirs"],
     target: (epsilon: 1.0, delta: 1e-6)),
  ],
)"#;

const RANKING: &str = r#"(
  version: 1,
  datasets: [
    (name: "ours", role: private, source: file("private.csv"), label: "kind", task: classification),
    (name: "near", role: public, source: file("public.csv"), label: "kind", task: classification),
    (name: "far", role: public, source: file("other.csv"), label: "kind", task: classification),
  ],
  budgets: {"ours": (epsilon: 40.0, delta: 1e-5)},
  ranking: (preparation: (features: declared(3.0)),
    settings: (model: linear, directions: 2, batch: 50, repeats: 2)),
)"#;
