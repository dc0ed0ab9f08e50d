//! The Python package, with the program of this build. Where Python or its packages are missing,
//! what needs them is left out, and a line says so.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test says what it leaves out"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{program, schema};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What `PYTHON` names, or `python3`.
fn python() -> Command {
    let name = std::env::var_os("PYTHON").filter(|name| !name.is_empty());
    let mut command = Command::new(name.unwrap_or_else(|| "python3".into()));
    command
        .current_dir(root().join("assets/python"))
        .env("HALFLIGHT", env!("CARGO_BIN_EXE_halflight"))
        .env("PYTHONPATH", root().join("assets/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Whether Python runs here and has these packages; otherwise a line says why a test is left out.
fn has(packages: &str) -> bool {
    let code = format!("import sys; assert sys.version_info >= (3, 9), sys.version\n{packages}");
    let found = python().args(["-c", &code]).output();
    let why = match &found {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).lines().last().map(str::to_owned),
        Err(error) => Some(error.to_string()),
    };
    let why = why.unwrap_or_default();
    eprintln!("left out: python3 cannot do this here ({why}); PYTHON=…/python names another one");
    false
}

/// What a script beside these tests prints of these files; `None` where Python lacks a package.
pub fn script(name: &str, packages: &str, files: &[PathBuf]) -> Option<String> {
    if !has(packages) {
        return None;
    }
    let output = python().arg(root().join("tests").join(name)).args(files).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Some(said)
}

fn passes(arguments: &[&str]) {
    let output = python().args(["-m", "unittest"]).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
}

const ARRAYS: &str = "import numpy, pandas, sklearn\n\
                      assert tuple(map(int, sklearn.__version__.split('.')[:2])) >= (1, 6)";

#[test]
fn the_package_runs_sessions_without_any_other_package() {
    if has("") {
        passes(&["discover", "-s", "tests", "-p", "test_program.py"]);
        passes(&["discover", "-s", "tests", "-p", "test_session.py"]);
    }
}

#[test]
fn arrays_frames_and_estimators_are_served() {
    if has(ARRAYS) {
        passes(&["discover", "-s", "tests", "-p", "test_arrays.py"]);
        passes(&["discover", "-s", "tests", "-p", "test_estimators.py", "-k", "Fits"]);
    }
}

#[test]
fn flower_carries_nothing_but_the_messages_of_sites() {
    for (needed, [one, other]) in [
        ("", ["Files", "Relaying"]),
        ("import flwr, ray, mypy", ["Typed", "Running"]),
        ("import nvflare", ["nvflare", "nvflare"]),
    ] {
        if has(needed) {
            passes(&["discover", "-s", "tests", "-p", "test_flower.py", "-k", one, "-k", other]);
        }
    }
}

#[test]
fn the_regressor_passes_the_checks_of_scikit_learn() {
    if has(ARRAYS) {
        passes(&[
            "discover",
            "-s",
            "tests",
            "-p",
            "test_estimators.py",
            "-k",
            "a_regressor_passes",
        ]);
    }
}

#[test]
fn the_classifier_passes_the_checks_of_scikit_learn() {
    if has(ARRAYS) {
        passes(&[
            "discover",
            "-s",
            "tests",
            "-p",
            "test_estimators.py",
            "-k",
            "a_classifier_passes",
        ]);
    }
}

#[test]
fn the_package_is_typed_throughout() {
    if has("import mypy, numpy") {
        let notes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mypy");
        let output = python().args(["-m", "mypy", "--cache-dir"]).arg(notes).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
    }
}

/// The blocks of a guide that begin with this fence.
fn blocks(guide: &str, fence: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("assets/guide").join(guide)).unwrap();
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match &mut block {
            None if line == fence => block = Some(String::new()),
            None => {}
            Some(_) if line == "```" => blocks.extend(block.take()),
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    blocks
}

/// One after the other, in one place, as a reader would.
#[test]
fn the_python_of_the_guide_runs() {
    let blocks = blocks("python.md", "```python");
    assert!(blocks.len() > 4, "{blocks:?}");
    if !has(ARRAYS) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(
        root().join("assets/bikeshare/session.ron"),
        directory.path().join("session.ron"),
    )
    .unwrap();
    let mut command = python();
    program::apart(&mut command);
    let code = blocks.join("\n");
    let output = command.current_dir(directory.path()).args(["-c", &code]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What needs no network, no root and no other machine; the rest stands in blocks that say so.
#[test]
fn the_commands_of_the_guide_to_installing_run() {
    let blocks = blocks("install.md", "```sh");
    assert!(!blocks.is_empty());
    let directory = tempfile::tempdir().unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_halflight"));
    let path = std::env::var("PATH").unwrap_or_default();
    for block in blocks {
        let output = program::shell()
            .current_dir(directory.path())
            .env("HOME", directory.path())
            .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
            .args(["-e", "-c", &block])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{block}\n{said}");
    }
}

const SESSION: &str = r#"(version: 1,
  datasets: [
    (name: "ours", role: private, source: builtin("bikeshare"), label: "bikers",
     filter: "season == 1", columns: only(["temp", "hum"])),
    (name: "theirs", role: public, source: builtin("bikeshare"), label: "bikers",
     filter: "season == 2", columns: only(["temp", "hum"])),
  ],
  budgets: {"ours": (epsilon: 4.0, delta: 1e-5)},
  plans: [(name: "p", method: "target_only", private: "ours", public: ["theirs"],
           target: (epsilon: 1.0, delta: 1e-6))],
)"#;

/// What the package listens to.
#[test]
fn progress_is_a_line_of_json_for_each_step_and_the_ledger_lies_where_it_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let [study, ledger] = ["study", "ledger"].map(|name| directory.path().join(name));
    std::fs::create_dir(&study).unwrap();
    std::fs::create_dir(&ledger).unwrap();
    std::fs::write(study.join("session.ron"), SESSION).unwrap();
    let output = program::halflight()
        .current_dir(&study)
        .args(["run", "session.ron", "--json", "--sealed", "--progress", "json", "-q"])
        .arg("--workspace")
        .arg(&ledger)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(ledger.join(".halflight/ledger.jsonl").is_file() && !study.join(".halflight").exists());
    let described = program::halflight().args(["schema", "run", "progress"]).output().unwrap();
    let described: Value = serde_json::from_slice(&described.stdout).unwrap();
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!(schema::flaw(&described, line), None);
    }
    assert_eq!(lines[0]["kind"], "granted");
    let steps: Vec<u64> = lines[1..].iter().map(|line| line["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, (1..=lines[0]["of"].as_u64().unwrap()).collect::<Vec<_>>());
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(results["runs"][0]["run"], lines[0]["run"]);
    // Its own run.ron repeats it, from the same budget.
    let again = results["runs"][0]["directory"].as_str().unwrap();
    let again = Path::new(again).join("run.ron");
    let output = program::halflight().arg("run").arg(&again).arg("--sealed").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(ledger.join(".halflight/runs")).unwrap().count(), 2);
}
