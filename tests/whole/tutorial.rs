//! The tutorial, walked from its first key to its last in the real program.

use std::path::{Path, PathBuf};

use crate::program;
use crate::support::Screen;

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const DOWN: &str = "\x1b[B";

/// The tutorial's own folder, among temporary files.
fn own_folder(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.into_iter().find(|path| name(path).starts_with("halflight-demo-"))
}

/// Everything below a folder, by path.
fn everything(below: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { everything(&path) } else { vec![path.clone()] })
        .collect()
}

/// Waits for what a small and a large terminal must both say.
fn wait_in_both_sizes(screen: &mut Screen, words: &str) {
    screen.wait_for(words);
    screen.resize(160, 50);
    screen.wait_until("a large picture", |text| text.lines().count() > 24);
    screen.wait_for(words);
    screen.resize(80, 24);
    screen.wait_until("a small picture", |text| text.lines().count() <= 24);
    screen.wait_for(words);
}

#[test]
fn the_whole_tutorial_in_a_small_and_a_large_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["tutorial"], 80, 24);
    wait_in_both_sizes(&mut screen, "Tutorial 1 of 7: add data");
    screen.wait_until("three datasets", |text| text.matches("ready").count() == 3);
    let folder = own_folder(directory.path()).unwrap();
    screen.press("a");
    wait_in_both_sizes(&mut screen, "Choose county.csv");
    screen.press("county");
    screen.wait_until("the file alone", |text| !text.contains("coast.csv"));
    screen.press(ENTER);
    screen.wait_for("filled in like theirs");
    screen.press(ENTER);

    wait_in_both_sizes(&mut screen, "Tutorial 2 of 7: rank");
    screen.press("2");
    wait_in_both_sizes(&mut screen, "Press r and y to rank by exact numbers");
    screen.press("ry");

    screen.wait_for("Tutorial 3 of 7: rehearse");
    assert!(screen.text().contains("county"), "{}", screen.text());
    screen.press("3");
    wait_in_both_sizes(&mut screen, "A plan says which method");
    screen.press("r");

    screen.wait_long_for("Tutorial 4 of 7: plan");
    screen.press("t");
    wait_in_both_sizes(&mut screen, "the advised method");
    screen.press("r");

    wait_in_both_sizes(&mut screen, "Tutorial 5 of 7: run");
    // Nothing was spent so far, and no plan was granted.
    assert!(!folder.join(".halflight/runs").exists());
    screen.press("l");
    wait_in_both_sizes(&mut screen, "The budget is what all runs");
    screen.press(ENTER);
    wait_in_both_sizes(&mut screen, "Press y: the ledger");
    screen.press("y");

    wait_in_both_sizes(&mut screen, "Tutorial 6 of 7: verdict");
    screen.press("5");
    wait_in_both_sizes(&mut screen, "'Take' says which model to take");
    screen.press("6");

    wait_in_both_sizes(&mut screen, "Tutorial 7 of 7: report");
    screen.press("5");
    wait_in_both_sizes(&mut screen, "Press w to write a page");
    screen.press("w");
    wait_in_both_sizes(&mut screen, "Press Enter to write it");
    screen.press(ENTER);
    wait_in_both_sizes(&mut screen, "Tutorial: all 7 steps done");
    assert!(folder.join("report.html").exists());
    assert!(folder.join(".halflight/ledger.jsonl").exists());
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
    assert!(!folder.exists());
    // What it wrote elsewhere is the user's configuration, and holds no run.
    let left = everything(directory.path());
    let is_own = |path: &PathBuf| {
        let path = path.strip_prefix(directory.path()).unwrap();
        path.starts_with("config") || path.starts_with("state")
    };
    assert!(left.iter().all(is_own), "{left:?}");
    assert!(!left.iter().any(|path| path.ends_with("report.html")), "{left:?}");
}

#[test]
fn other_keys_do_not_take_a_step_and_esc_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["tutorial"], 80, 24);
    screen.wait_for("Tutorial 1 of 7: add data");
    screen.wait_until("three datasets", |text| text.matches("ready").count() == 3);
    screen.press("2");
    screen.wait_for("Press 1 to go to the Data screen");
    // Ranking before the file was added is no step.
    screen.press("ry");
    screen.wait_for("ranked by exact numbers");
    screen.wait_for("Use children");
    assert!(screen.text().contains("Tutorial 1 of 7: add data"), "{}", screen.text());
    screen.press("1");
    screen.wait_for("County is still missing");
    screen.press("a");
    screen.wait_for("Choose county.csv");
    screen.press(DOWN);
    // The first Esc closes the window, the next one asks.
    screen.press(ESC);
    screen.wait_for("County is still missing");
    let mut asked = false;
    for _ in 0..3 {
        screen.press(ESC);
        std::thread::sleep(std::time::Duration::from_millis(300));
        asked |= screen.text().contains("Leave the tutorial?");
        if asked {
            break;
        }
    }
    assert!(asked, "{}", screen.text());
    screen.press("y");
    screen.wait_for("the tutorial is over; `halflight tutorial` starts it again");
    assert!(!screen.text().contains("Tutorial 1 of 7"), "{}", screen.text());
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    assert!(own_folder(directory.path()).is_none());
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let output = program::halflight().arg("tutorial").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("needs a terminal") && words.contains("what to do"), "{words}");
}
