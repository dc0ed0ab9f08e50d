//! `halflight audit`: without a fault it finds nothing, and it finds every planted one.

#![allow(clippy::unwrap_used, clippy::panic)] // a test's helpers fail by panicking

#[path = "support/program.rs"]
mod program;
#[path = "support/schema.rs"]
mod schema;

use halflight::audit::{Audited, Effort, audit, subject};

fn corner(methods: &[&str]) -> Vec<Audited> {
    let methods: Vec<String> = methods.iter().map(|id| (*id).to_owned()).collect();
    let subjects = subject::built_in(&methods, false).unwrap_or_else(|error| panic!("{error}"));
    subjects.iter().map(|subject| audit(subject, Effort::CORNER)).collect()
}

fn findings(audits: &[Audited]) -> Vec<String> {
    let of = |audited: &Audited| {
        let subject = audited.subject.clone();
        audited.findings.iter().map(move |finding| format!("{subject}: {finding}")).collect()
    };
    audits.iter().flat_map(|audited| -> Vec<String> { of(audited) }).collect()
}

/// One test, for the fault is the whole process's.
#[test]
fn every_planted_fault_is_found_and_without_one_nothing_is() {
    let sound = corner(&[]);
    assert!(sound.len() >= 14, "{}", sound.len());
    assert_eq!(findings(&sound), Vec::<String>::new());
    for audited in &sound {
        for moved in &audited.releases {
            // A record is in training or held out: the other release does not see it.
            let sees = match (audited.subject.contains("scored"), &*moved.release) {
                (true, "score") => audited.subject.contains("held out"),
                (true, _) => audited.subject.contains("in training"),
                (false, _) => true,
            };
            assert_eq!(moved.largest > 0.0, sees, "{audited:?}");
            assert!(moved.largest <= 1.0 + 1e-9, "{audited:?}");
        }
    }
    // Whole persons move each release nearly as far as single records do: hardly any noise is
    // wasted on them.
    for method in halflight::methods::methods() {
        let id = method.spec().id;
        if method.spec().public_only {
            continue;
        }
        let of = |name: &str| sound.iter().find(|audited| audited.subject == name);
        let (Some(records), Some(persons)) = (of(id), of(&format!("{id}, persons"))) else {
            panic!("{id} is not audited on records and on persons");
        };
        for (record, person) in records.releases.iter().zip(&persons.releases) {
            let (one, all) = (record.largest, person.largest);
            assert!(all >= 0.9 * one, "{id}, {}: {all} of {one}", record.release);
        }
    }
    #[cfg(feature = "planted-faults")]
    planted::all();
}

#[test]
fn the_program_prints_what_its_schema_says_and_leaves_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = program::halflight().current_dir(&directory).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let described = run(&["schema", "audit"]);
    let told = run(&[
        "audit",
        "--quick",
        "--runs",
        "240",
        "--method",
        "moment_release",
        "--json",
        "--page",
        "audit.html",
    ]);
    assert_eq!(schema::flaw(&described, &told), None);
    assert_eq!(told["sound"], true);
    let audits = told["audits"].as_array().unwrap();
    assert_eq!(audits.len(), 4);
    for audited in audits {
        let (shown, claimed) = (&audited["shown"], audited["claimed"].as_f64().unwrap());
        let many = shown["many_runs"].as_f64().unwrap();
        assert!(many > 0.1 * claimed && many <= claimed, "{audited}");
        assert_eq!(shown["runs"], 240);
        assert!(audited["releases"][0]["largest"].as_f64().unwrap() > 0.99, "{audited}");
    }
    let page = std::fs::read_to_string(directory.path().join("audit.html")).unwrap();
    assert!(page.contains("Nothing exceeds what is claimed") && !page.contains("<script"));
    assert!(!directory.path().join(".halflight").exists(), "no ledger is touched");

    let mut wrong = program::halflight();
    let output = wrong.args(["audit", "--method", "alchemy"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(feature = "planted-faults")]
mod planted {
    use halflight::faults::{Fault, plant};

    use super::{corner, findings};

    pub fn all() {
        let mut missed = Vec::new();
        for fault in Fault::ALL {
            let start = std::time::Instant::now();
            plant(Some(fault));
            let found = findings(&corner(&[]));
            plant(None);
            println!("{fault:?} ({:.1?}): {:?}", start.elapsed(), found.first());
            if found.is_empty() {
                missed.push(fault);
            }
        }
        assert!(missed.is_empty(), "not found: {missed:?}");
    }
}
