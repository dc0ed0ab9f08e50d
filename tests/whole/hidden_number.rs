//! Whole programs: the number of private records, released once and shown nowhere.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::{program, schema};

const ROWS: usize = 1237;

fn halflight(here: &Path, arguments: &[&str]) -> Output {
    program::halflight().args(arguments).current_dir(here).output().unwrap()
}

fn said(output: &Output) -> String {
    let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&all).into_owned()
}

fn json(here: &Path, schema: &str, arguments: &[&str]) -> Value {
    let output = halflight(here, arguments);
    assert!(output.status.success(), "{}", said(&output));
    let value = serde_json::from_slice(&output.stdout).unwrap();
    let words: Vec<&str> = std::iter::once("schema").chain(schema.split(' ')).collect();
    let schema = serde_json::from_slice(&halflight(here, &words).stdout).unwrap();
    assert_eq!(schema::flaw(&schema, &value), None);
    value
}

fn cases(path: &Path, rows: usize, seed: u64) {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut file = "age,dose,days\n".to_owned();
    for _ in 0..rows {
        let (age, dose) = (40.0 + 40.0 * next(), 4.0 * next());
        writeln!(file, "{age:.3},{dose:.4},{:.3}", age / 20.0 + dose + next()).unwrap();
    }
    fs::write(path, file).unwrap();
}

fn workspace(records: &str) -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    cases(&here.path().join("ours.csv"), ROWS, 1);
    cases(&here.path().join("open.csv"), 400, 2);
    let text = format!(
        "(version: 1, datasets: [
            (name: \"ours\", role: private, source: file(\"ours.csv\"), label: \"days\"{records}),
            (name: \"open\", role: public, source: file(\"open.csv\"), label: \"days\"),
        ],
        budgets: {{\"ours\": (epsilon: 3.0, delta: 1e-5)}},
        plans: [(name: \"stay\", method: \"moment_release\", private: \"ours\", public: [\"open\"],
            target: (epsilon: 1.0, delta: 1e-6), preparation: (features: public, labels: public))])"
    );
    fs::write(here.path().join("s.ron"), text).unwrap();
    here
}

#[test]
fn a_count_is_released_once_and_hides_the_number_from_then_on() {
    let place = workspace("");
    let here = place.path();
    let count = ["data", "count", "s.ron", "--dataset", "ours", "--epsilon", "0.5"];
    let counted = json(here, "data count", &[&count[..], &["--write", "--json"]].concat());
    let records = counted["records"].as_u64().unwrap();
    let about = counted["about"].as_f64().unwrap();
    // e^-50 is the probability of more.
    assert!((about - ROWS as f64).abs() < 100.0, "{about}");
    assert!(records as usize >= ROWS && records < 1400, "{records}");
    assert!(counted["guarantee"]["epsilon"].as_f64().unwrap() <= 0.5);

    let run = halflight(here, &["run", "s.ron"]);
    assert!(run.status.success(), "{}", said(&run));
    let shown = said(&run)
        + &said(&halflight(here, &["data", "inspect", "s.ron", "--json"]))
        + &said(&halflight(here, &["ledger"]))
        + &said(&halflight(here, &["ledger", "--json"]))
        + &program::written_as_text(&here.join(".halflight"), "process");
    assert!(shown.contains(&format!("read ours (private): {records} rows")), "{shown}");
    let holdout = |rows: usize| rows / 5;
    // What is public may be one of these numbers by chance: N is drawn, and its parts follow from it.
    let said = shown.split_once(" private records and ").unwrap().0;
    let train: usize = said.rsplit(' ').next().unwrap().parse().unwrap();
    let public = [records as usize, train, records as usize - train];
    for number in [ROWS, holdout(ROWS), ROWS - holdout(ROWS)] {
        if public.contains(&number) {
            continue;
        }
        let digits = number.to_string();
        let words = shown.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
        assert!(!words.into_iter().any(|word| word == digits), "{digits} stands in {shown}");
    }
    // Both are charged to the one account.
    let ledger = json(here, "ledger", &["ledger", "--json"]);
    let account = &ledger["accounts"][0];
    assert_eq!(ledger["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(account["runs"].as_array().unwrap().len(), 2);
    let spent = account["spent"]["epsilon"].as_f64().unwrap();
    assert!(spent > 1.0 && spent <= 1.6, "{spent}");
    let run = json(here, "ledger", &["ledger", "--json"])["accounts"][0]["runs"][1]["run"].clone();
    let certificate = here.join(".halflight/runs").join(run.as_str().unwrap());
    let certificate = fs::read_to_string(certificate.join("certificate.json")).unwrap();
    assert!(
        certificate.contains(&format!("the number {records}, and not how many")),
        "{certificate}"
    );
    assert!(certificate.contains("adding or leaving out a record as well"));
}

#[test]
fn a_score_on_another_file_tells_no_number_where_numbers_are_private() {
    let place = workspace(", records: 1300");
    let here = place.path();
    let ran = halflight(here, &["run", "s.ron"]);
    assert!(ran.status.success(), "{}", said(&ran));
    let run = fs::read_dir(here.join(".halflight/runs")).unwrap().next().unwrap().unwrap().path();
    let run = run.to_str().unwrap();
    cases(&here.join("other.csv"), 843, 7);
    let largest = ["--epsilon", "0.5", "--largest-error", "9", "--json"];
    let refused = halflight(here, &[&["score", run, "other.csv"][..], &largest].concat());
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("halflight data count"), "{}", said(&refused));
    // A number of its own hides it.
    let text = fs::read_to_string(here.join("s.ron")).unwrap();
    let other = "datasets: [(name: \"other\", role: private, source: file(\"other.csv\"), \
                 label: \"days\", records: 900), ";
    let text = text.replacen("datasets: [", other, 1);
    let budget = "budgets: {\"other\": (epsilon: 1.0, delta: 1e-5), ";
    fs::write(here.join("t.ron"), text.replacen("budgets: {", budget, 1)).unwrap();
    let asked = [&["score", run, "t.ron", "--dataset", "other"][..], &largest].concat();
    let scored = halflight(here, &asked);
    assert!(scored.status.success(), "{}", said(&scored));
    let shown = said(&refused)
        + &said(&scored)
        + &said(&halflight(here, &["ledger", "--json"]))
        + &program::written_as_text(&here.join(".halflight"), "process");
    let mut words = shown.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
    assert!(!words.any(|word| word == "843"), "{shown}");
    assert!(said(&scored).contains("900"), "{}", said(&scored));
}

#[test]
fn a_count_that_the_budget_does_not_admit_or_of_what_is_public_is_refused() {
    let place = workspace("");
    let count = |dataset: &str, epsilon: &str| {
        let words = ["data", "count", "s.ron", "--dataset", dataset, "--epsilon", epsilon];
        halflight(place.path(), &words)
    };
    for (dataset, epsilon, why) in [
        ("ours", "8", "budget"),
        ("open", "1", "is public"),
        ("hours", "1", "did you mean 'ours'?"),
        ("weeks", "1", "its datasets are: ours, open"),
        ("ours", "0", "ε"),
        ("ours", "nan", "ε"),
    ] {
        let output = count(dataset, epsilon);
        assert!(!output.status.success());
        assert!(said(&output).contains(why), "{dataset} {epsilon}: {}", said(&output));
    }
    for (records, why) in [
        (", records: 3", "cannot be divided"),
        (", records: 300, sample: (rows: 20)", "both say how many"),
    ] {
        let place = workspace(records);
        let output = halflight(place.path(), &["run", "s.ron"]);
        assert!(said(&output).contains(why), "{}", said(&output));
    }
}
