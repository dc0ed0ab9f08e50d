//! The loops of the guide for other trainers, run with the real packages where the Python named by
//! `PYTHON` has them; what they claim is checked against our accountant and charged. What is left
//! out is said on standard error.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::explicit_write,
    clippy::format_push_string,
    reason = "a test says what it leaves out even where it passes"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program;

const SESSION: &str = r#"(version: 1, datasets: [
  (name: "winter", role: private, source: builtin("bikeshare"), label: "bikers",
   filter: "season == 1")],
  budgets: {"winter": (epsilon: 4.0, delta: 1e-5)})"#;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = program::halflight();
    command.args(arguments).current_dir(directory);
    command.env("XDG_CONFIG_HOME", directory.join("config")).output().unwrap()
}

fn json(output: &Output) -> Value {
    let words = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
}

/// The program in the guide for this package.
fn program_for(package: &str) -> String {
    let page = include_str!("../../assets/guide/trainers.md");
    let rest = page.split(&format!("```python {package}\n")).nth(1).unwrap();
    rest.split("```").next().unwrap().to_owned()
}

fn python() -> std::ffi::OsString {
    let name = std::env::var_os("PYTHON").filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "python3".into())
}

/// A line that is seen although the test passes.
fn tell(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap();
}

/// A loop of so many steps is charged, and claims at most the last number times what our accountant finds.
fn agrees_and_is_charged(package: &str, file: &str, (steps, most): (u64, f64)) {
    let directory = tempfile::tempdir().unwrap();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let name = python();
    let python = |code: &str| {
        let mut command = Command::new(&name);
        command.args(["-c", code]).current_dir(directory.path());
        command.env("FLWR_HOME", directory.path()).env("FLWR_TELEMETRY_ENABLED", "0");
        command.env("PYTHONPATH", &assets).env("PYTHONDONTWRITEBYTECODE", "1").output()
    };
    let version = format!("import {package}; print({package}.__version__)");
    let version = match python(&version) {
        Ok(found) if found.status.success() => found.stdout,
        _ => {
            tell(&format!("LEFT OUT: no {package} in {}: PYTHON names another", name.display()));
            return;
        }
    };
    let version = String::from_utf8(version).unwrap();
    tell(&format!("the guide's loop for {package} {}", version.trim()));
    // Flower protects whole sites, whose records a column tells.
    let ran = python(&program_for(package).replace("unit=\"site\"", "unit=\"mnth\"")).unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told = json(&halflight(directory.path(), &["watch", file, "--once", "--json"]));
    assert_eq!((&told["state"], &told["step"]), (&"finished".into(), &steps.into()), "{told}");
    let number = |field: &str| told[field].as_f64().unwrap();
    let ratio = number("claimed_epsilon") / number("epsilon");
    assert!(0.99 < ratio && ratio < most, "{told}");
    let unit = if package == "flwr" { "unit: \"mnth\", most_records: 800, label" } else { "label" };
    let session = SESSION.replace("label", unit);
    std::fs::write(directory.path().join("session.ron"), session).unwrap();
    let arguments = ["ledger", "claim", file, "--session", "session.ron", "--json"];
    let charged = halflight(directory.path(), &arguments);
    let charged = json(&charged);
    assert_eq!((&charged["is_new"], &charged["draws"]), (&true.into(), &steps.into()));
    assert_eq!(charged["spent_is"], "claimed");
}

#[test]
fn the_loop_for_opacus_agrees_with_its_accountant() {
    agrees_and_is_charged("opacus", "opacus.jsonl", (60, 1.01));
}

#[test]
fn the_loop_for_jax_privacy_agrees_with_its_accountant() {
    agrees_and_is_charged("jax_privacy", "jax.jsonl", (60, 1.01));
}

#[test]
fn the_loop_for_flower_claims_no_less_than_our_accountant_finds() {
    agrees_and_is_charged("flwr", "flower.jsonl", (20, 1.1));
}

/// One line a step, of Gaussian noise.
fn steps(head: &str, steps: u64, sigma: f64) -> String {
    let mut text = format!(
        "{{\"halflight\":\"steps 1\",{head}\"trainer\":\"mine 1\",\"delta\":1e-6,\"adjacency\":\"add_remove\"}}\n"
    );
    for step in 1..=steps {
        text += &format!(
            "{{\"step\":{step},\"drawn\":[{{\"mechanism\":\"gaussian\",\"noise_multiplier\":{sigma}}}],\"epsilon\":0.5}}\n"
        );
    }
    text
}

#[test]
fn a_claim_counts_once_grows_and_is_entered_beyond_the_budget() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    std::fs::write(place.join("session.ron"), SESSION).unwrap();
    let write = |text: &str| std::fs::write(place.join("e.jsonl"), text).unwrap();
    let claim = |more: &[&str]| {
        let arguments = ["ledger", "claim", "e.jsonl", "--session", "session.ron", "--json"];
        halflight(place, &[&arguments[..], more].concat())
    };
    let refused = |output: &Output, words: &str| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(words), "{words}: {errors}");
    };
    write(&steps("", 5, 20.0));
    refused(&claim(&[]), "no `id`");
    assert!(!place.join(".halflight/ledger.jsonl").exists(), "nothing is opened for a refusal");
    let first = json(&claim(&["--id", "mine"]));
    assert_eq!((&first["is_new"], &first["draws"]), (&true.into(), &5.into()), "{first}");
    // Half a line is not there yet.
    write(&(steps("", 5, 20.0) + "{\"step\":6,"));
    let again = json(&claim(&["--id", "mine"]));
    assert_eq!((&again["is_new"], &again["spent"]), (&false.into(), &first["spent"]));
    write(&steps("", 9, 20.0));
    let grown = json(&claim(&["--id", "mine"]));
    assert_eq!((&grown["is_new"], &grown["draws"]), (&true.into(), &9.into()));
    let epsilon = |value: &Value| value["spent"]["epsilon"].as_f64().unwrap();
    assert!(epsilon(&grown) > epsilon(&first));
    // Fewer lines, and others, are no continuation; a line that cannot be read is named.
    for text in [steps("", 5, 20.0), steps("", 9, 30.0)] {
        write(&text);
        refused(&claim(&["--id", "mine"]), "do not continue");
    }
    write(&(steps("", 9, 20.0) + "{\"step\":10,\"drawn\":[{\"mechanism\":\"magic\"}]}\n"));
    refused(&claim(&["--id", "mine"]), "line 11 cannot be read (unknown variant `magic`");
    write(&(steps("", 9, 20.0) + "{\"step\":10,\"metrics\":{}}\n"));
    refused(&claim(&["--id", "mine"]), "line 11 does not say what was drawn");
    let unsaid = halflight(place, &["ledger", "claim", "e.jsonl"]);
    refused(&unsaid, "--session FILE, or their account, by --account ACCOUNT");
    write(&steps("\"id\":\"p\",\"unit\":\"patient\",", 1, 20.0));
    refused(&claim(&[]), "do not add up");
    write(&steps("\"id\":\"v\",", 1, 20.0).replace("steps 1", "steps 7"));
    refused(&claim(&[]), "'steps 7'");

    write(&steps("\"id\":\"large\",", 1, 0.2));
    let over = claim(&[]);
    assert_eq!(over.status.code(), Some(3));
    refused(&over, "is entered, because it is spent");
    assert_eq!(json(&over)["overspent"], true);
    let book = json(&halflight(place, &["ledger", "--json"]));
    let account = &book["accounts"][0];
    assert_eq!(
        (account["runs"].as_array().unwrap().len(), &account["spent_is"]),
        (2, &"claimed".into())
    );
    assert!(account["claims"]["drawn_here"].is_null());
    let shown = halflight(place, &["ledger"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("as the trainers of 2 trainings say") && shown.contains("drawn elsewhere"),
        "{shown}"
    );
    assert!(halflight(place, &["ledger", "verify"]).status.success());
    // The second accountant finds the budget overspent, too.
    let checked = halflight(place, &["verify", ".halflight/ledger.jsonl"]);
    let words = String::from_utf8_lossy(&checked.stdout).into_owned()
        + &String::from_utf8_lossy(&checked.stderr);
    assert!(!checked.status.success() && words.contains("claimed by another trainer"), "{words}");
}

#[test]
fn a_mended_file_raises_what_counts_and_only_the_word_of_the_user_lowers_it() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    std::fs::write(place.join("session.ron"), SESSION).unwrap();
    let claim = |text: &str, more: &[&str]| {
        std::fs::write(place.join("e.jsonl"), text).unwrap();
        let arguments = ["ledger", "claim", "e.jsonl", "--session", "session.ron", "--json"];
        halflight(place, &[&arguments[..], more].concat())
    };
    let refused = |output: &Output, words: &str| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(words), "{words}: {errors}");
    };
    let of = |count, sigma| steps("\"id\":\"m\",", count, sigma);
    refused(&claim(&of(5, 40.0), &["--mended"]), "nothing to mend");
    let low = json(&claim(&of(5, 40.0), &[]));
    let epsilon = |value: &Value| value["counts"]["epsilon"].as_f64().unwrap();
    // The noise was half of what the file said.
    refused(&claim(&of(5, 20.0), &[]), "--mended");
    let raised = json(&claim(&of(5, 20.0), &["--mended"]));
    assert!(epsilon(&raised) > epsilon(&low));
    assert_eq!(json(&claim(&of(5, 20.0), &["--mended"]))["is_new"], false);
    // Both versions count, until somebody says which one is right; the file goes on meanwhile.
    let grown = json(&claim(&of(6, 20.0), &[]));
    assert!(epsilon(&grown) > epsilon(&raised));
    let alone = json(&claim(&of(6, 20.0), &["--instead", "the log had the wrong \u{1b}[2Jnoise"]));
    assert!(epsilon(&alone) < epsilon(&grown) && epsilon(&alone) > epsilon(&low));
    let shown = |arguments: &[&str]| {
        let output = halflight(place, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = shown(&["ledger"]);
    assert!(text.contains("changed by hand: the log had the wrong ?[2Jnoise"), "{text}");
    assert!(text.contains("until then it counted for ε"), "{text}");
    let run = alone["run"].as_str().unwrap();
    refused(&halflight(place, &["ledger", "withdraw", run, " "]), "with a reason");
    refused(&halflight(place, &["ledger", "withdraw", "claim-no", "x"]), "has no claim");
    let text = shown(&["ledger", "withdraw", run, "other records"]);
    assert!(text.contains("the claim of 1 training was changed by hand"), "{text}");
    refused(&halflight(place, &["ledger", "withdraw", run, "x"]), "withdrawn already");
    let book = json(&halflight(place, &["ledger", "--json"]));
    let account = &book["accounts"][0];
    assert_eq!((&account["spent"], &account["spent_is"]), (&Value::Null, &"claimed".into()));
    assert_eq!(account["claims"]["corrected"], 1);
    let corrections = account["runs"][0]["corrections"].as_array().unwrap();
    assert_eq!(corrections.len(), 2, "both stay visible");
    let before = |index: usize| corrections[index]["counted_before"]["epsilon"].as_f64().unwrap();
    assert!(before(0) > before(1) && before(1) > 0.0, "{corrections:?}");
    // Both accountants that check ledgers follow the changes.
    let checked = shown(&["verify", ".halflight/ledger.jsonl"]);
    assert!(checked.contains("changed by hand: other records"), "{checked}");
    assert!(halflight(place, &["ledger", "verify"]).status.success());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/verify.py");
    let python = || Command::new(python());
    match python().args(["-c", "import numpy"]).output() {
        Ok(found) if found.status.success() => {
            let ledger = place.join(".halflight/ledger.jsonl");
            let checked = python().arg(script).arg(ledger).output().unwrap();
            assert!(checked.status.success(), "{checked:?}");
        }
        _ => tell("LEFT OUT: no numpy in python3: PYTHON names another"),
    }
}

#[test]
fn the_program_gives_out_the_python_file_that_writes_steps() {
    let directory = tempfile::tempdir().unwrap();
    let printed = halflight(directory.path(), &["schema", "steps", "--python"]);
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), include_str!("../../assets/steps.py"));
    let refused = halflight(directory.path(), &["schema", "run", "--python"]);
    assert!(!refused.status.success());
}

/// A ledger with a claim and the file that it charged, as the build before corrections wrote them.
#[test]
fn a_claim_of_an_earlier_build_is_read_and_can_be_mended() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/claimed");
    std::fs::create_dir(place.join(".halflight")).unwrap();
    for name in ["ledger.jsonl", "ledger.head"] {
        std::fs::copy(folder.join(name), place.join(".halflight").join(name)).unwrap();
    }
    let book = json(&halflight(place, &["ledger", "--json"]));
    let account = book["accounts"][0]["account"].as_str().unwrap();
    let run = &book["accounts"][0]["runs"][0];
    assert_eq!((&run["claimed"], &run["corrections"]), (&true.into(), &serde_json::json!([])));
    let steps = std::fs::read_to_string(folder.join("e.jsonl")).unwrap();
    std::fs::write(place.join("e.jsonl"), &steps).unwrap();
    let claim = |more: &[&str]| {
        let arguments = ["ledger", "claim", "e.jsonl", "--account", account, "--json"];
        json(&halflight(place, &[&arguments[..], more].concat()))
    };
    assert_eq!(claim(&[])["is_new"], false);
    std::fs::write(place.join("e.jsonl"), steps.replace("\"count\":3", "\"count\":5")).unwrap();
    let mended = claim(&["--mended"]);
    assert_eq!((&mended["is_new"], &mended["draws"]), (&true.into(), &5.into()));
}
