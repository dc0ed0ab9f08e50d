//! The real binary on a pseudo-terminal, played with keys as a user would.

#![allow(clippy::unwrap_used, clippy::panic)] // a test's helpers fail by panicking

mod support;

use std::process::Command;

use support::Screen;

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const DOWN: &str = "\x1b[B";

#[test]
fn a_newcomer_plays_the_whole_story_with_the_keys_on_screen() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &[], 80, 24);
    screen.wait_for("Data");
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    assert!(screen.text().contains("2068"), "{}", screen.text());
    assert!(screen.text().contains("6577"), "{}", screen.text());

    screen.press("?");
    screen.wait_for("add a CSV or TSV file");
    screen.press(ESC);
    // A key right behind Esc would be read as Alt and that key.
    screen.wait_until("the help to close", |text| !text.contains("any other key closes"));

    // Configure: a smaller ε, typed.
    screen.press("3");
    screen.wait_for("can be launched");
    for _ in 0..4 {
        screen.press(DOWN);
    }
    screen.press(ENTER);
    screen.wait_for("Enter takes it");
    screen.press("\x150.8");
    screen.press(ENTER);
    screen.wait_for("ε 0.8000 at δ 1e-6");

    // Launch, pause, resume, stop.
    screen.press("l");
    screen.wait_for("It reserves ε 0.8");
    screen.press("y");
    screen.wait_for("running");
    screen.press(" ");
    screen.wait_for("paused");
    screen.press(" ");
    screen.wait_for("running");
    screen.press("s");
    screen.wait_for("Stop this run?");
    screen.press("y");
    screen.wait_for("stopped");
    screen.wait_for("guarantee: ε");

    // The ledger knows what it cost, and that it was stopped.
    screen.press("6");
    screen.wait_for("of 60");
    assert!(screen.text().contains("stopped"), "{}", screen.text());

    // The other tabs say what they are.
    screen.press("2");
    screen.wait_for("not built yet");
    screen.press("5");
    screen.wait_for("not built yet");

    // Save, and leave.
    screen.press("\x13");
    screen.wait_for("Save the session");
    screen.press(ENTER);
    screen.wait_for("saved");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();

    let saved = std::fs::read_to_string(directory.path().join("session.ron")).unwrap();
    assert!(saved.contains("epsilon: 0.8"), "{saved}");
}

#[test]
fn the_saved_session_runs_again_headless() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("\x13");
    screen.wait_for("Save the session");
    screen.press(ENTER);
    screen.wait_for("saved");
    screen.press("q");
    screen.wait_for_end();

    let run = Command::new(env!("CARGO_BIN_EXE_halflight"))
        .args(["run", "session.ron", "--json"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let result: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["outcome"], "finished");
        assert!(run["guarantee"]["epsilon"].as_f64().unwrap() <= 1.0);
    }
}

#[test]
fn a_terminal_that_is_too_small_gets_a_message_and_a_larger_one_the_screen() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 40, 10);
    screen.wait_for("halflight needs 60 x 16");
    screen.resize(80, 24);
    screen.wait_for("winter");
    for step in 0..60_u16 {
        screen.resize(20 + (step * 37) % 180, 5 + (step * 13) % 55);
    }
    screen.resize(80, 24);
    screen.press("\x0c");
    screen.wait_for("winter");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn every_signal_that_asks_to_end_restores_the_terminal_and_settles_the_run() {
    for signal in ["TERM", "HUP", "INT"] {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().to_path_buf();
        let mut screen = Screen::start(&workspace, &["demo"], 80, 24);
        screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
        screen.press("3");
        screen.wait_for("can be launched");
        screen.press("ly");
        screen.wait_for("running");
        screen.wait_until("some steps", |text| text.contains("step 3 of"));
        let pid = screen.child.process_id().unwrap().to_string();
        Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        assert_eq!(screen.wait_for_end(), 0, "SIG{signal}");
        screen.assert_restored();
        let ledgers = find(&workspace, "ledger.jsonl");
        let ledger = std::fs::read_to_string(&ledgers[0]).unwrap();
        assert!(ledger.contains("settle") && ledger.contains("stopped"), "{ledger}");
    }
}

#[test]
fn ctrl_c_asks_while_a_run_is_under_way_and_then_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("ly");
    screen.wait_for("running");
    screen.press("\x03");
    screen.wait_for("A run is under way");
    screen.press("y");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn without_colours_the_selection_is_still_reversed() {
    let directory = tempfile::tempdir().unwrap();
    let no_color = [("NO_COLOR", "1")];
    let mut screen = Screen::start_with(directory.path(), &["demo"], 80, 24, &no_color);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    let raw = screen.raw();
    assert!(raw.contains("\x1b[7m"), "nothing is reversed");
    for colour in ["\x1b[38;", "\x1b[48;", "\x1b[31m", "\x1b[32m", "\x1b[33m"] {
        assert!(!raw.contains(colour), "a colour was written: {colour:?}");
    }
    screen.press("q");
    screen.wait_for_end();
}

fn find(directory: &std::path::Path, name: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                waiting.push(entry.path());
            } else if entry.file_name() == name {
                found.push(entry.path());
            }
        }
    }
    found
}
