//! `halflight rank`, as scripts and curators see it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

use crate::program;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().args(arguments).current_dir(directory).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// A deterministic number in [−1, 1] for each seed and place.
fn number(seed: u64, at: u64) -> f64 {
    let mut bits = (seed << 32 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 32;
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Rows whose features follow three factors, which `turned` directs elsewhere; the class is that of
/// the first factor.
fn table(rows: u64, turned: f64, seed: u64) -> String {
    let (sine, cosine) = turned.sin_cos();
    let mut csv = "f0,f1,f2,f3,f4,f5,f6,f7,kind\n".to_owned();
    for row in 0..rows {
        let factor = |axis: u64| number(seed, row * 64 + axis) / (1.0 + axis as f64);
        for feature in 0..8_u64 {
            let own =
                if feature < 4 { cosine * factor(feature % 3) } else { sine * factor(feature % 3) };
            let cell = 1.5 * own + 0.1 * number(seed + 1, row * 64 + feature);
            write!(csv, "{cell:.5},").unwrap();
        }
        csv += ["a\n", "b\n", "c\n"][(1.5 * (factor(0) + 1.0)) as usize % 3];
    }
    csv
}

fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        std::fs::write(directory.path().join(name), text).unwrap();
    };
    write("private.csv", table(600, 0.0, 1));
    write("near.csv", table(400, 0.1, 10));
    write("middle.csv", table(400, 0.7, 20));
    write("far.csv", table(400, 1.5, 30));
    write("odd.csv", "a,b\n1,2\n3,4\n".to_owned());
    write("session.ron", SESSION.to_owned());
    directory
}

const SESSION: &str = r#"#![enable(implicit_some)]
(
  version: 1,
  datasets: [
    (name: "ours", role: private, source: file("private.csv"), label: "kind", task: classification),
    (name: "odd", role: public, source: file("odd.csv")),
    (name: "gone", role: public, source: file("gone.csv")),
    (name: "far", role: public, source: file("far.csv"), label: "kind", task: classification),
    (name: "near", role: public, source: file("near.csv"), label: "kind", task: classification),
    (name: "middle", role: public, source: file("middle.csv"), label: "kind", task: classification),
  ],
  budgets: {"ours": (epsilon: 3.0, delta: 1e-6)},
  ranking: (
    preparation: (features: declared(3.0)),
    settings: (model: linear, directions: 4, batch: 100, repeats: 4),
  ),
)
"#;

/// The only ranking in the workspace.
fn kept_ranking(directory: &Path) -> serde_json::Value {
    let folder = std::fs::read_dir(directory.join(".halflight/rankings")).unwrap();
    let files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    serde_json::from_slice(&std::fs::read(&files[0]).unwrap()).unwrap()
}

#[test]
fn a_ranking_prints_a_table_and_is_in_the_ledger_as_unprotected() {
    let directory = workspace();
    let output = halflight(directory.path(), &["rank", "session.ron"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let place =
        |name: &str| out.find(&format!(" {name} ")).unwrap_or_else(|| panic!("{name}: {out}"));
    assert!(place("near") < place("middle") && place("middle") < place("far"), "{out}");
    assert!(out.contains("more private data") && out.contains("noise"), "{out}");
    assert!(out.contains("use near"), "{out}");
    assert!(out.contains("left out: odd") && out.contains("left out: gone"), "{out}");
    assert!(!out.contains("NaN"), "{out}");
    assert!(err.contains("k is 4") || !err.contains("k is"), "{err}");

    let ledger = text(&halflight(directory.path(), &["ledger"]).stdout);
    assert!(ledger.contains("spent ε 0") || ledger.contains("no budget"), "{ledger}");
    assert!(ledger.contains("Exact numbers were looked at once, which no ε covers"), "{ledger}");
    assert!(ledger.contains(": public datasets ranked by exact numbers."), "{ledger}");
    // The whole result is kept for the interface, without the numbers of single records.
    let kept = kept_ranking(directory.path());
    assert_eq!(kept["whole"]["lines"][0]["name"], "near", "{kept}");
    assert!(kept["whole"]["lines"][0]["alongside"].get("losses").is_none(), "{kept}");
    assert_eq!(kept["settings"]["settings"]["repeats"], 4, "{kept}");
    let again = halflight(directory.path(), &["rank", "session.ron", "--json"]);
    let value = json(&again);
    assert!(value["curator_only"].is_null(), "{value}");
    let again =
        halflight(directory.path(), &["rank", "session.ron", "--json", "--include-curator"]);
    let value = json(&again);
    assert_eq!(value["curator_only"]["datasets"][0]["name"], "near", "{value}");
    assert!(value["curator_only"]["datasets"][0]["error"]["mean"].is_number(), "{value}");
    let ledger = json(&halflight(directory.path(), &["ledger", "--json"]));
    assert_eq!(ledger["accounts"][0]["unprotected"].as_array().unwrap().len(), 3, "{ledger}");
    assert!(ledger["accounts"][0]["spent"].is_null(), "{ledger}");
}

#[test]
fn a_private_selection_spends_and_says_nothing_but_the_winner() {
    let directory = workspace();
    for mechanism in ["permute-and-flip", "exponential"] {
        let output = halflight(
            directory.path(),
            &["rank", "session.ron", "--private", "1", "--mechanism", mechanism, "--json"],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        let value = json(&output);
        // 600 records, hundreds apart in energy: sure at ε = 1.
        assert_eq!(value["winner"], "near", "{value}");
        assert!(value["guarantee"]["epsilon"].as_f64().unwrap() <= 1.0, "{value}");
        assert!(value.get("curator_only").is_none() && value.get("released").is_none());
    }
    let ledger = json(&halflight(directory.path(), &["ledger", "--json"]));
    let account = &ledger["accounts"][0];
    assert_eq!(account["runs"].as_array().unwrap().len(), 2, "{ledger}");
    assert_eq!(account["runs"][0]["state"], "finished", "{ledger}");
    assert!(account["unprotected"].as_array().unwrap().is_empty(), "{ledger}");
    let asks = halflight(directory.path(), &["rank", "session.ron", "--private"]);
    assert!(text(&asks.stderr).contains("names an ε"), "{}", text(&asks.stderr));
    let refused = halflight(directory.path(), &["rank", "session.ron", "--private", "2"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("would overspend"), "{}", text(&refused.stderr));
}

#[test]
fn where_there_are_labels_the_errors_of_public_models_are_released() {
    let directory = workspace();
    let ranked = ["rank", "session.ron", "--private", "1"];
    let value = json(&halflight(directory.path(), &[&ranked[..], &["--json"]].concat()));
    let errors = value["errors"].as_array().unwrap();
    let of = |name: &str| errors.iter().find(|line| line["name"] == name).unwrap();
    // Two of them are about as wrong; the third is wrong forty deviations of the noise more often.
    assert!(value["winner"] == errors[0]["name"] && value["winner"] != "far", "{value}");
    let error = |name: &str| of(name)["error"]["mean"].as_f64().unwrap();
    assert!(error("near") < error("far"), "{value}");
    assert!(of("far")["likely_best"].as_f64().unwrap() < 0.01, "{value}");
    assert!(of("near")["on_other_public_data"].is_number(), "{value}");
    assert!(value["left_out"].as_array().unwrap().iter().any(|line| line["name"] == "odd"));
    assert_eq!(kept_ranking(directory.path())["whole"]["errors"], value["errors"]);
    let ledger = json(&halflight(directory.path(), &["ledger", "--json"]));
    let run = &ledger["accounts"][0]["runs"][0];
    assert_eq!((&run["state"], &run["method"]), (&"finished".into(), &"private_errors".into()));
    let said = text(&halflight(directory.path(), &ranked).stdout);
    assert!(said.contains("  use ") && said.contains("likely to be best"), "{said}");

    // Without the private label gradients decide.
    let session = std::fs::read_to_string(directory.path().join("session.ron")).unwrap();
    let label = "source: file(\"private.csv\"), label: \"kind\", task: classification";
    let blind = session.replace(label, "source: file(\"private.csv\"), task: classification");
    assert_ne!(blind, session);
    std::fs::write(directory.path().join("session.ron"), blind).unwrap();
    let value = json(&halflight(directory.path(), &[&ranked[..], &["--json"]].concat()));
    assert!(value["winner"] == "near" && value.get("errors").is_none(), "{value}");
    let asked = [&ranked[..], &["--mechanism", "errors"]].concat();
    let refused = halflight(directory.path(), &asked);
    assert!(text(&refused.stderr).contains("has no label"), "{}", text(&refused.stderr));
}

#[test]
fn a_private_table_releases_every_score() {
    let directory = workspace();
    let output = halflight(
        directory.path(),
        &["rank", "session.ron", "--private", "3", "--mechanism", "table", "--json"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let value = json(&output);
    let released = value["released"].as_array().unwrap();
    assert_eq!(released[0]["name"], "near", "{value}");
    let energy = |at: usize| released[at]["energy"]["mean"].as_f64().unwrap();
    assert!(energy(0) > energy(2) && energy(0) < 1.2, "{value}");
    assert!(released[0]["energy"]["deviation"].as_f64().unwrap() > 0.0, "{value}");
}

#[test]
fn a_private_direction_says_what_to_expect_and_what_every_span_holds_of_it() {
    let directory = workspace();
    let arguments = ["rank", "session.ron", "--private", "3", "--mechanism", "direction"];
    let output = halflight(directory.path(), &[&arguments[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let value = json(&output);
    let shares = value["direction"].as_array().unwrap();
    // Three that fit, and one that is left out.
    assert_eq!(shares.len(), 4, "{value}");
    assert!(shares[3]["energy"].is_null() && shares[3]["name"] == "odd", "{value}");
    let number = |at: usize, what: &str| shares[at][what]["mean"].as_f64().unwrap();
    for at in 0..3 {
        let (share, sine) = (number(at, "energy"), number(at, "distance"));
        assert!((share + sine * sine - 1.0).abs() < 1e-9, "{value}");
    }
    assert!(number(0, "energy") >= number(2, "energy"), "{value}");
    let remarks = value["remarks"].as_array().unwrap();
    let expected = |remark: &serde_json::Value| remark.as_str().unwrap().contains("by chance");
    assert!(remarks.iter().any(expected), "{value}");
    assert!(value.get("released").is_none() && value.get("winner").is_none());
    let ledger = json(&halflight(directory.path(), &["ledger", "--json"]));
    let run = &ledger["accounts"][0]["runs"][0];
    assert_eq!(
        (run["method"].as_str(), run["state"].as_str()),
        (Some("private_direction"), Some("finished"))
    );
}

#[test]
fn what_cannot_be_ranked_is_said_with_the_right_exit_code() {
    let directory = workspace();
    let path = directory.path().join("session.ron");
    let edit = |from: &str, to: &str| {
        assert!(SESSION.contains(from), "{from}");
        std::fs::write(&path, SESSION.replace(from, to)).unwrap();
        let output = halflight(directory.path(), &["rank", "session.ron"]);
        (output.status.code(), text(&output.stderr))
    };
    for (from, to, code, words) in [
        ("repeats: 4", "repeats: 1", 2, "repeats is 1"),
        ("model: linear", "model: probe", 2, "8 features"),
        ("role: private", "role: public", 2, "no private dataset"),
        ("ranking: (", "ranking: (public: [\"odd\"], ", 2, "no public dataset has a label"),
        ("ranking: (", "ranking: (public: [\"elsewhere\"], ", 2, "no dataset 'elsewhere'"),
        ("batch: 100", "batches: 100", 1, "batches"),
        ("near.csv", "private.csv", 3, "is among the public rows of"),
    ] {
        let (found, error) = edit(from, to);
        assert_eq!(found, Some(code), "{to}: {error}");
        assert!(error.contains(words), "{to}: {error}");
    }
}

#[test]
fn what_a_candidate_lacks_is_told_below_the_table_with_a_cure_and_in_one_line_within() {
    let directory = workspace();
    let renamed = table(400, 0.1, 10).replace("f0", "g0");
    std::fs::write(directory.path().join("renamed.csv"), renamed).unwrap();
    std::fs::write(directory.path().join("session.ron"), SESSION.replace("odd", "renamed"))
        .unwrap();
    let output = halflight(directory.path(), &["rank", "session.ron"]);
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    let (table, below) = out.split_once("use near").unwrap();
    assert!(
        table.contains("left out: its columns do not match") && !table.contains("perhaps"),
        "{out}"
    );
    assert!(below.contains("missing: perhaps 'g0'"), "{out}");
    assert!(below.contains("what to do: rename the columns"), "{out}");
}

/// Headless runs say as Plan does what the ranking has against their public data, and a note on the
/// private records once in full.
#[test]
fn a_run_says_what_the_ranking_has_against_its_public_data_and_notes_copies_once() {
    let directory = workspace();
    let here = directory.path();
    let private = table(600, 0.0, 1);
    let twice: Vec<&str> = private.split_inclusive('\n').skip(1).take(3).collect();
    let twice = twice.concat();
    std::fs::write(here.join("private.csv"), private + &twice).unwrap();
    let plan = |name: &str, public: &str| {
        format!(
            "(name: \"{name}\", method: \"public_shape_classes\", private: \"ours\", public: \
             [{public}], target: (epsilon: 0.5, delta: 1e-7))"
        )
    };
    let plans = [plan("pool", "\"near\", \"far\""), plan("near", "\"near\"")].join(", ");
    let session = SESSION.replace("  ranking: (", &format!("  plans: [{plans}],\n  ranking: ("));
    std::fs::write(here.join("session.ron"), session).unwrap();
    let said = |arguments: &[&str]| {
        let output = halflight(here, arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let against = "◆ note: by the ranking, far ";
    assert!(!said(&["run", "session.ron", "--dry-run"]).contains("by the ranking"));
    said(&["rank", "session.ron"]);
    let told = said(&["run", "session.ron", "--dry-run"]);
    assert_eq!(told.matches(against).count(), 1, "{told}");
    assert!(!said(&["run", "session.ron", "--dry-run", "--sealed"]).contains("by the ranking"));
    let told = said(&["run", "session.ron"]);
    assert_eq!(told.matches(against).count(), 1, "{told}");
    assert_eq!(told.matches("rows are copies of others").count(), 1, "{told}");
    assert_eq!(told.matches("◆ as for the plan before").count(), 1, "{told}");
}
