//! `halflight-studies`, on a corner of its tables.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;

use halflight_studies::discrepancy::DiscrepancyStudy;
use halflight_studies::{StudyTable, TableContent};

#[path = "../../../tests/support/schema.rs"]
mod schema;

fn studies() -> Command {
    Command::new(env!("CARGO_BIN_EXE_halflight-studies"))
}

fn run_study(directory: &Path, arguments: &[&str]) -> Output {
    studies().args(arguments).current_dir(directory).output().unwrap()
}

fn tables(threads: usize) -> Vec<StudyTable> {
    let study = DiscrepancyStudy {
        dimension: 10,
        sizes: vec![8000],
        epsilons: vec![16.0],
        seeds: vec![0, 1],
    };
    let task = |place: halflight_studies::GridTask<'_>| study.measure(place);
    let harvest = study.grid().run(threads, &AtomicBool::new(false), &mut |_| {}, task).unwrap();
    study.tables(&harvest)
}

#[test]
fn the_same_seeds_give_the_same_tables_on_any_number_of_threads() {
    let all = tables(2);
    assert_eq!(all, tables(1));
    let [discrepancy, error, absolute, epsilon] = all.as_slice() else {
        panic!("{} tables", all.len())
    };
    let mean = |table: &StudyTable, row: &str| {
        let row = table.row(row).unwrap_or_else(|| panic!("{row} is missing"));
        row.mean(0).unwrap_or_else(|| panic!("{} was not measured", row.label))
    };
    let uniform = mean(discrepancy, "public data only, uniform weights");
    let release = mean(discrepancy, "moment release, two-stage");
    assert!(release < 0.05 * uniform, "{release} {uniform}");
    let printed = mean(discrepancy, "two-stage Frank–Wolfe as printed, μ=10, K=1000");
    assert!(release < 0.1 * printed && printed < uniform, "{release} {printed} {uniform}");
    let (source, oracle) = (
        mean(error, "public data only, uniform weights"),
        mean(error, "oracle: labelled target, no privacy"),
    );
    let adapted = mean(error, "moment release, two-stage");
    assert!(oracle < adapted && adapted < 0.5 * source, "{oracle} {adapted} {source}");
    // 10⁴ squared errors and 10² absolute ones: a mean of sizes is at most the root of squares.
    let sizes = mean(absolute, "moment release, two-stage");
    assert!(sizes < adapted.sqrt() && sizes > 0.5 * adapted.sqrt(), "{sizes} {adapted}");
    assert_eq!(epsilon.content, TableContent::Privacy);
    let proven = mean(epsilon, "moment release, two-stage");
    assert!(proven <= 16.0 && proven > 15.99, "{proven}");
}

#[test]
fn the_command_prints_tables_and_writes_plots() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["discrepancy", "--quick", "--seeds", "1", "--json", "--out", "plots"];
    let output = run_study(directory.path(), &arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("wrote plots/") && !told.contains('\u{1b}'), "{told}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = serde_json::from_str(include_str!("../schema.json")).unwrap();
    assert_eq!(schema::flaw(&schema, &json), None);
    assert!(json["header"].to_string().contains("Nothing here is private"));
    let first = &json["tables"][0]["rows"][0];
    assert_eq!(first["row"], "public data only, uniform weights");
    // n = 1000 and 8000, ε = 1, 16 and ∞.
    assert_eq!(first["cells"].as_array().unwrap().len(), 6);
    assert_eq!(first["cells"][0]["met"], true);
    for name in ["discrepancy.svg", "error.svg", "convergence.svg", "discrepancy.md"] {
        let text = std::fs::read_to_string(directory.path().join("plots").join(name)).unwrap();
        assert!(text.contains("moment release"), "{name}");
    }
}

#[test]
fn the_tables_of_the_other_papers_are_there_with_every_score() {
    let directory = tempfile::tempdir().unwrap();
    let schema = serde_json::from_str(include_str!("../schema.json")).unwrap();
    for (study, only, parts) in [
        (
            "labelled",
            "german",
            ["balanced accuracy", "AUC", "number of private records", "number of public records"],
        ),
        (
            "pillar",
            "optdigits",
            ["energy", "differences between public classes", "fewer private", "fewer public"],
        ),
    ] {
        let arguments = [study, "--only", only, "--quick", "--seeds", "1", "--json"];
        let output = run_study(directory.path(), &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schema::flaw(&schema, &json), None);
        let tables = json["tables"].as_array().unwrap();
        for part in parts {
            let wanted = |table: &&serde_json::Value| {
                table["title"].as_str().is_some_and(|title| title.contains(part))
            };
            let table = tables.iter().find(wanted).unwrap_or_else(|| panic!("{study}: {part}"));
            let rows = table["rows"].as_array().unwrap();
            assert!(rows.iter().any(|row| row["cells"][0]["mean"].is_number()), "{part}: {rows:?}");
        }
    }
}

#[test]
fn a_study_without_seeds_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let output = run_study(directory.path(), &["discrepancy", "--seeds", "0"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Ctrl-C ends it with what was done so far.
#[cfg(unix)]
#[test]
fn an_interrupted_study_tells_what_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let child = studies()
        .args(["discrepancy", "--seeds", "1000", "--threads", "1"])
        .current_dir(directory.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("stopped by a signal after "), "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("halflight-studies discrepancy"));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_study_of_corrections_prints_its_table() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["correction", "--only", "german", "--quick", "--seeds", "1", "--json"];
    let output = run_study(directory.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    let rows = told["tables"][0]["rows"].as_array().unwrap();
    let labels: Vec<_> = rows.iter().filter_map(|row| row["row"].as_str()).collect();
    assert!(labels.contains(&"public trees") && labels.contains(&"public shape"), "{labels:?}");
    let unknown = run_study(directory.path(), &["correction", "--only", "moon"]);
    assert!(
        !unknown.status.success() && text(&unknown.stderr).contains("heart"),
        "{}",
        text(&unknown.stderr)
    );
}
