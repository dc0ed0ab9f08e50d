//! Looks at exact numbers of private rows are noted in every ledger that knows the rows.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::program;

/// Two studies of the same private file, which is in neither folder, and a folder without a ledger.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for folder in ["data", "one", "two", "elsewhere"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        let table = |rows: std::ops::Range<usize>, slope: f64| {
            rows.fold("x,z,y\n".to_owned(), |mut text, i| {
                let (x, z) = ((i as f64 * 0.37).sin(), (i as f64 * 0.11).cos());
                writeln!(text, "{x},{z},{}", slope * x - 0.5 * z + 0.1 * (i as f64).sin()).unwrap();
                text
            })
        };
        std::fs::write(place.path("data/ours.csv"), table(0..600, 1.5)).unwrap();
        std::fs::write(place.path("data/theirs.csv"), table(600..1400, 1.0)).unwrap();
        for study in ["one", "two"] {
            std::fs::write(place.path(study).join("session.ron"), SESSION).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program of this test's own user.
    fn halflight(&self, folder: &str, arguments: &[&str]) -> Output {
        let mut command = program::halflight();
        command.args(arguments).current_dir(self.path(folder));
        program::configure(&mut command, &self.path("config"));
        command.output().unwrap()
    }

    fn succeeds(&self, folder: &str, arguments: &[&str]) -> Output {
        let output = self.halflight(folder, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        output
    }

    /// The directory of a sealed run, which is no look.
    fn run(&self, study: &str) -> String {
        let told = self.succeeds(study, &["run", "session.ron", "--sealed", "--json"]);
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        let folder = self.path(study).join(told["runs"][0]["directory"].as_str().unwrap());
        folder.display().to_string()
    }

    /// How many looks the ledger of a study has noted.
    fn looks(&self, study: &str) -> usize {
        let book = self.succeeds(study, &["ledger", "--json"]);
        let book: Value = serde_json::from_slice(&book.stdout).unwrap();
        let accounts = book["accounts"].as_array().unwrap().iter();
        accounts.map(|account| account["unprotected"].as_array().unwrap().len()).sum()
    }
}

const NEW_ROW: &str = "x,z,y\n7.25,-3.5,11.0\n";

const SESSION: &str = r#"(version: 1, datasets: [
  (name: "ours", role: private, source: file("../data/ours.csv"), label: "y"),
  (name: "theirs", role: public, source: file("../data/theirs.csv"), label: "y")],
  budgets: {"ours": (epsilon: 9.0, delta: 1e-5)},
  plans: [(name: "first", method: "profiled_cnvx_adap", private: "ours", public: ["theirs"],
    target: (epsilon: 1.0, delta: 1e-5), seed: 3)])"#;

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn certified(run: &str) -> String {
    std::fs::read_to_string(Path::new(run).join("certificate.json")).unwrap()
}

#[test]
fn a_look_from_any_folder_is_noted_in_every_ledger_that_knows_the_rows() {
    let place = Place::new();
    let run = place.run("one");
    assert!(certified(&run).contains("knew of no such look"));
    let ours = place.path("data/ours.csv").display().to_string();
    let mut expected = 0;
    let mut noted = |folder: &str, arguments: &[&str], both: bool| {
        place.succeeds(folder, arguments);
        expected += 1;
        assert_eq!(place.looks("one"), expected, "{arguments:?}");
        assert!(!both || place.looks("two") > 0, "{arguments:?}");
    };
    noted("one", &["data", "inspect", "../data/ours.csv", "--show-values"], false);
    let scored = ["predict", &run, "../data/ours.csv", "--score", "-o", "out.csv", "--force"];
    noted("one", &scored, false);
    noted("elsewhere", &["data", "inspect", &ours, "--show-values"], false);
    // Whoever says that they are public sees their distributions.
    noted("elsewhere", &["data", "inspect", "--public", &ours], false);
    // So are the records under another name, and a large part of them.
    let text = std::fs::read_to_string(&ours).unwrap();
    let part: String = text.split_inclusive('\n').take(200).collect();
    std::fs::write(place.path("elsewhere/part.csv"), part).unwrap();
    noted("elsewhere", &["data", "inspect", "part.csv", "--show-values"], false);
    // Another ledger learns of it as well.
    place.run("two");
    assert_eq!(place.looks("two"), 0);
    noted("elsewhere", &["data", "inspect", &ours, "--show-values"], true);
    let session = place.path("two/session.ron").display().to_string();
    noted("elsewhere", &["data", "inspect", &session, "--show-values"], true);
    assert_eq!(place.looks("two"), 2);
    assert!(
        !place.path("elsewhere/.halflight").exists() && !place.path("data/.halflight").exists()
    );
    let last = place.run("one");
    assert!(certified(&last).contains("knew of 7 such looks"), "{}", certified(&last));
}

/// Without the width that the session declares, the rows have no fingerprint here.
#[test]
fn a_look_at_a_file_that_only_its_session_can_read_is_noted_by_its_path() {
    let place = Place::new();
    let mut session = SESSION.replace("label: \"y\"", "label: \"label\"");
    for name in ["ours", "theirs"] {
        let rows = std::fs::read_to_string(place.path(&format!("data/{name}.csv"))).unwrap();
        let sparse = rows.lines().skip(1).fold(String::new(), |mut text, row| {
            let cells: Vec<&str> = row.split(',').collect();
            writeln!(text, "{} 1:{} 2:{}", cells[2], cells[0], cells[1]).unwrap();
            text
        });
        std::fs::write(place.path(&format!("data/{name}.svmlight")), sparse).unwrap();
        let file = format!("file(\"../data/{name}.csv\")");
        assert!(session.contains(&file));
        let declared = format!("sparse(file: \"../data/{name}.svmlight\", width: 3)");
        session = session.replace(&file, &declared);
    }
    std::fs::write(place.path("one").join("session.ron"), session).unwrap();
    place.run("one");
    let sparse = place.path("data/ours.svmlight").display().to_string();
    place.succeeds("elsewhere", &["data", "inspect", &sparse, "--show-values"]);
    assert_eq!(place.looks("one"), 1);
}

#[test]
fn nothing_is_shown_if_a_ledger_cannot_note_it() {
    let place = Place::new();
    place.run("one");
    let other = place.run("two");
    let ledger = place.path("two/.halflight/ledger.jsonl");
    let text = std::fs::read_to_string(&ledger).unwrap();
    let settled = text.rfind("\"outcome\":\"finished\"").unwrap();
    let damaged = format!("{}\"outcome\":\"stopped.\"{}", &text[..settled], &text[settled + 20..]);
    std::fs::write(&ledger, damaged).unwrap();
    for arguments in [
        &["data", "inspect", "../data/ours.csv", "--show-values"][..],
        &["predict", &other, "../data/ours.csv", "--score", "-o", "out.csv"],
    ] {
        let refused = place.halflight("elsewhere", arguments);
        assert!(!refused.status.success(), "{arguments:?}");
        assert!(said(&refused).contains("cannot note the look"), "{}", said(&refused));
        assert!(said(&refused).contains("what to do: "), "{}", said(&refused));
        assert!(refused.stdout.is_empty(), "{}", said(&refused));
    }
    assert!(!place.path("elsewhere/out.csv").exists());
}

#[test]
fn the_exact_score_of_single_rows_is_noted_with_the_model() {
    let place = Place::new();
    let run = place.run("one");
    let text = std::fs::read_to_string(place.path("data/ours.csv")).unwrap();
    let one: String = text.split_inclusive('\n').take(2).collect();
    std::fs::write(place.path("elsewhere/one.csv"), one).unwrap();
    let scored = ["predict", &run, "one.csv", "--score", "-o", "out.csv", "--force"];
    place.succeeds("elsewhere", &scored);
    assert_eq!(place.looks("one"), 1);
    // The user answers for rows that are said to be public, where no ledger knows them, and
    // predictions alone are no look.
    std::fs::write(place.path("elsewhere/new.csv"), NEW_ROW).unwrap();
    let public = ["predict", &run, "new.csv", "--score", "--public", "-o", "out.csv", "--force"];
    place.succeeds("elsewhere", &public);
    place.succeeds("elsewhere", &["predict", &run, "one.csv", "-o", "out.csv", "--force"]);
    assert_eq!(place.looks("one"), 1);
}
