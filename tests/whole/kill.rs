//! kill -9 and SIGQUIT (Ctrl-\\) in the middle of runs: the ledger never says less than was drawn,
//! and no core file is left, which could hold private records.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::{chance, program};

/// Deaths in one workspace.
const KILLS: usize = 50;
/// Workspaces of the long test.
const MANY: usize = 20;

#[test]
fn timed_kills_leave_a_ledger_that_counts_every_draw() {
    let mut dice = chance::Dice::of_the_seed("timed kills");
    let workspaces = if chance::is_long() { MANY } else { 1 };
    let open: usize = (0..workspaces).map(|_| kill_at_random(&mut dice)).sum();
    println!("{} kills, {open} in mid-run", workspaces * KILLS);
    assert!(open >= workspaces * KILLS / 5, "only {open} died in mid-run");
}

/// Kills run after run in a workspace; how many of them are open.
fn kill_at_random(dice: &mut chance::Dice) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().join("work");
    let mut open = 0;
    for number in 0..KILLS {
        let before = length(&workspace);
        let mut child = program::halflight()
            .args(["demo", "--plain", "--pace", "200", "--workspace"])
            .arg(&workspace)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // At any time after its start, or after it began to write into the ledger.
        if number % 4 < 2 {
            while length(&workspace) == before && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(Duration::from_millis(dice.below(420) as u64));
        if number % 2 == 0 {
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            let _ = rustix::process::kill_process(Pid::from_child(&child), Signal::QUIT);
            // Where whoever started these tests ignores that signal, so does the program.
            std::thread::sleep(Duration::from_millis(200));
            let _ = child.kill();
            assert!(!child.wait().unwrap().core_dumped());
        }
        let ledger = json(&workspace);
        open = check(&workspace, &ledger);
        // Room in the budget for the next one: what is under test is the count.
        if let Some(account) = ledger["accounts"][0]["account"].as_str() {
            let budget = ["ledger", "budget", account, "1000", "1e-5"];
            let set = program::halflight()
                .args(budget)
                .arg("--workspace")
                .arg(&workspace)
                .output()
                .unwrap();
            assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
        }
    }
    open
}

/// How long the ledger is.
fn length(workspace: &Path) -> u64 {
    std::fs::metadata(workspace.join(".halflight/ledger.jsonl")).map_or(0, |file| file.len())
}

/// Every run's steps on disk are charged; the chain is intact. How many runs
/// are open, and so died, is returned.
fn check(workspace: &Path, ledger: &serde_json::Value) -> usize {
    assert_eq!(ledger["damaged"], false, "{ledger:#}");
    let Some(account) = ledger["accounts"].get(0) else { return 0 };
    let mut open = 0;
    for run in account["runs"].as_array().unwrap() {
        let id = run["run"].as_str().unwrap();
        let events = workspace.join(".halflight/runs").join(id).join("events.jsonl");
        let text = std::fs::read_to_string(events).unwrap();
        let draws_seen = text
            .lines()
            .filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
            .filter(|line| line.contains("\"descend\"") || line.contains("\"release\""))
            .count() as u64;
        let charged: u64 =
            run["charged"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
        assert!(charged >= draws_seen, "{id}: {charged} charged, {draws_seen} seen");
        if run["state"].as_str().unwrap().starts_with("open") {
            open += 1;
            assert!(run["spent"]["epsilon"].as_f64().unwrap() > 0.9, "an open run counts in full");
        }
    }
    open
}

fn json(workspace: &Path) -> serde_json::Value {
    let output = program::halflight()
        .args(["ledger", "--json", "--workspace"])
        .arg(workspace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
