//! `halflight verify` and `assets/verify.py`: second and third opinions on what files say.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::halflight;
use halflight::privacy::accountant::{
    Adjacency, Composition, Event, Mechanism, Noise, QueryKind, Rule,
};
use halflight::verify::{curve, json};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::schema;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/files/written_by_0_1/.halflight");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/verify.py");

/// Events of a golden case, δ, and the exact ε.
fn golden() -> Vec<(String, Vec<Value>, f64, f64)> {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../golden/accounting.json")).unwrap();
    let case = |case: &Value| {
        let replaced = case["adjacency"] == "replace_one";
        let event = |it: &Value| {
            let sigma = &it["sigma"];
            let mechanism = match it["mechanism"].as_str().unwrap() {
                "gaussian" => {
                    let sensitivity = if replaced { 2.0 } else { 1.0 };
                    json!({"gaussian": {"sensitivity": sensitivity, "sigma": sigma, "grid": 0.0, "coordinates": 1}})
                }
                "poisson_gaussian" => json!({"subsampled_gaussian":
                    {"sensitivity": 1.0, "sigma": sigma, "grid": 0.0, "coordinates": 1, "rate": it["q"]}}),
                "laplace" => json!({"laplace":
                    {"sensitivity": 1.0, "scale": sigma, "grid": 0.0, "coordinates": 1}}),
                _ => json!({"pure": {"epsilon": it["eps0"]}}),
            };
            let adjacency = if replaced { "replace_one" } else { "zero_out" };
            json!({"label": "release", "what": "", "mechanism": mechanism, "count": it["steps"], "adjacency": adjacency})
        };
        let events = case["events"]
            .as_array()
            .map_or_else(|| vec![event(case)], |events| events.iter().map(event).collect());
        let number = |key: &str| case[key].as_f64().unwrap();
        (case["id"].as_str().unwrap().to_owned(), events, number("delta"), number("eps_exact"))
    };
    cases.iter().map(case).collect()
}

/// The best of many repeats, by itself and beside others.
fn repeated() -> Vec<(String, Vec<Value>, f64, f64)> {
    let event = |mechanism: Value, count: u64| {
        json!({"label": "release", "what": "", "mechanism": mechanism, "count": count,
               "adjacency": "replace_one"})
    };
    let best = |sigma: f64, shape: u32, stop: f64| {
        let mechanism = json!({"repeated_gaussian": {"sensitivity": 1.0, "sigma": sigma,
            "grid": 0.0, "coordinates": 1, "shape": shape, "stop": stop}});
        event(mechanism, 1)
    };
    let gaussian = json!({"gaussian":
        {"sensitivity": 1.0, "sigma": 5.0, "grid": 0.0, "coordinates": 1}});
    let sampled = json!({"subsampled_gaussian":
        {"sensitivity": 1.0, "sigma": 2.0, "grid": 0.0, "coordinates": 1, "rate": 0.01}});
    vec![
        ("best".into(), vec![best(8.0, 1, 0.0625)], 1e-5, f64::NAN),
        ("logarithmic".into(), vec![best(3.0, 0, 0.015_625)], 1e-6, f64::NAN),
        ("two choices".into(), vec![best(8.0, 2, 0.25), best(9.0, 0, 0.25)], 1e-6, f64::NAN),
        ("and a run".into(), vec![best(8.0, 1, 0.125), event(gaussian, 3)], 1e-6, f64::NAN),
        ("and samples".into(), vec![best(8.0, 1, 0.125), event(sampled, 200)], 1e-6, f64::NAN),
    ]
}

fn certificate(events: &[Value], epsilon: f64, delta: f64, covers: &str) -> Value {
    json!({
        "halflight": "0.1.0", "run": "r", "account": "a", "method": "dp_sgd", "outcome": "finished",
        "guarantee": {"epsilon": epsilon, "epsilon_lower": 0.0, "delta": delta,
            "adjacency": "zero_out", "bound": "", "covers": covers},
        "statement": format!("This is differential privacy with ε = {epsilon} and δ = {delta:e}."),
        "mechanisms": events,
    })
}

fn written(place: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = place.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn verify(path: &Path, options: &[&str]) -> Output {
    halflight().arg("verify").arg(path).args(options).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A Python with numpy, or a word that there is none.
fn python() -> Option<Command> {
    let has = Command::new("python3").args(["-c", "import numpy"]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(Command::new("python3"));
    }
    eprintln!("SKIPPED: there is no python3 with numpy");
    None
}

#[test]
fn the_second_path_agrees_with_all_golden_cases() {
    let cases = golden();
    assert_eq!(cases.len(), 60);
    for (id, events, delta, exact) in cases {
        let found = curve::epsilon(&json::draws(&events, None).unwrap(), delta);
        assert!(found.is_known(), "{id}: {found:?}");
        assert!((found.most / exact - 1.0).abs() < 2e-4, "{id}: {found:?} {exact}");
    }
}

/// What the accountant proves, the second path must not call too small, nor loose.
#[test]
fn the_second_path_bears_out_the_accountant() {
    let place = TempDir::new().unwrap();
    for (id, events, delta, _) in golden().into_iter().step_by(3).chain(repeated()) {
        let list: Vec<Event> =
            events.iter().map(|event| serde_json::from_value(event.clone()).unwrap()).collect();
        let sum = Composition::of(&list).unwrap();
        for (guarantee, covers) in
            [(sum.guarantee(delta).unwrap(), "fixed_plan"), (sum.gate(delta).unwrap(), "adaptive")]
        {
            let said = certificate(&events, guarantee.epsilon, delta, covers);
            let path = written(&place, "certificate.json", &said.to_string());
            let report = halflight::verify::verify(&path).unwrap();
            assert!(report.holds(), "{id}: {}", report.text());
            assert_eq!(report.claims[0].verdict.name(), "holds", "{id}: {}", report.text());
            let less = certificate(&events, guarantee.epsilon * 0.99, delta, covers);
            let path = written(&place, "certificate.json", &less.to_string());
            let report = halflight::verify::verify(&path).unwrap();
            assert!(!report.holds(), "{id}: {}", report.text());
        }
    }
}

#[test]
fn selections_and_directions_are_known() {
    let event = |mechanism: Mechanism| Event {
        label: "choice".into(),
        what: String::new(),
        mechanism,
        count: 40,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    };
    for mechanism in [
        QueryKind::Selection(Rule::Exponential).query(0.2, 9).with(Noise::ideal(1.0)),
        QueryKind::Direction.query(0.2, 9).with(Noise::ideal(1.0)),
        QueryKind::Selection(Rule::PermuteAndFlip).query(0.05, 9).with(Noise::ideal(1.0)),
        QueryKind::Selection(Rule::NoisyMaximum).query(0.03, 9).with(Noise::ideal(1.0)),
    ] {
        let event = event(mechanism);
        let claimed = Composition::of([&event]).unwrap().guarantee(1e-6).unwrap().epsilon;
        let value = serde_json::to_value(&event).unwrap();
        let found = curve::epsilon(&json::draws(&[value], None).unwrap(), 1e-6);
        assert!(found.is_known() && claimed >= found.most * (1.0 - 1e-3), "{claimed} {found:?}");
        assert!(claimed <= found.most * 1.01, "{claimed} {found:?}");
    }
}

#[test]
fn files_of_the_first_version_hold() {
    let mut seen = 0;
    for run in std::fs::read_dir(format!("{FIXTURE}/runs")).unwrap() {
        let path = run.unwrap().path().join("certificate.json");
        if path.exists() {
            let output = verify(&path, &[]);
            assert!(output.status.success(), "{}{}", out(&output), complaint(&output));
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
    let output = verify(Path::new(FIXTURE), &["--json"]);
    assert!(output.status.success(), "{}", complaint(&output));
    let said: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(said["numbers"].as_array().unwrap().len(), 2);
    assert!(said["notes"].to_string().contains("82 lines"));
    // And as the schema of the command says.
    let of_command = halflight().args(["schema", "verify"]).output().unwrap();
    let of_command: Value = serde_json::from_str(&out(&of_command)).unwrap();
    assert_eq!(schema::flaw(&of_command, &said), None);
}

#[test]
fn an_edited_number_is_said_by_name() {
    let place = TempDir::new().unwrap();
    let event = json!({"label": "gradient", "what": "", "count": 1, "adjacency": "replace_one",
        "mechanism": {"gaussian": {"sensitivity": 1.0, "sigma": 4.0, "grid": 0.0, "coordinates": 3}}});
    let said = certificate(std::slice::from_ref(&event), 0.5, 1e-6, "fixed_plan");
    let path = written(&place, "certificate.json", &said.to_string());
    let output = verify(&path, &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = out(&output);
    assert!(text.contains("`guarantee` says ε = 0.5") && text.contains("give 1.06"), "{text}");
    assert!(text.contains("DOES NOT HOLD"), "{text}");
    // The sentence alone.
    let mut said = certificate(std::slice::from_ref(&event), 1.07, 1e-6, "fixed_plan");
    said["statement"] = json!("This is (ε, δ)-differential privacy with ε = 0.1 and δ = 1e-6.");
    let path = written(&place, "certificate.json", &said.to_string());
    let output = verify(&path, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("`statement` says ε = 0.1"), "{}", out(&output));
    // Whatever repeats the guarantee may not promise more.
    let whole = "This run used 120 private training records. If one of them had been any other \
                 record instead and nothing else had been different (replace-one), the probability \
                 of any set of its outputs would have been at most e^1.0700 = 2.916 times as large, \
                 plus 1e-6. This is (ε, δ)-differential privacy with ε = 1.0700 and δ = 1e-6.";
    let registered = |epsilon: f64, delta: f64| json!({"privacy_loss": {"privacy_parameters": {"epsilon": epsilon, "delta": delta}}});
    let edited = |change: &dyn Fn(&mut Value)| {
        let mut said = certificate(std::slice::from_ref(&event), 1.07, 1e-6, "fixed_plan");
        said["guarantee"]["adjacency"] = json!("replace_one");
        (said["statement"], said["records"]) = (json!(whole), json!(120));
        said["registry"] = registered(1.07, 1e-6);
        change(&mut said);
        let path = written(&place, "certificate.json", &said.to_string());
        out(&verify(&path, &[]))
    };
    assert!(edited(&|_| ()).contains("can be checked holds"), "{}", edited(&|_| ()));
    let sentence = |from: &str, to: &str| {
        assert!(whole.contains(from));
        let text = json!(whole.replace(from, to));
        edited(&|said| said["statement"] = text.clone())
    };
    for (told, wanted) in [
        (sentence("ε = 1.0700", "ε = 0.1 holds; not more than ε = 1.07"), "says ε = 0.1"),
        (sentence("δ = 1e-6", "δ = 1e-12"), "says δ = 0.000000000001"),
        (sentence("e^1.0700", "e^0.1000"), "says e^0.1"),
        (sentence("2.916", "1.106"), "1.106 times as likely"),
        (sentence("plus 1e-6", "plus 1e-12"), "as large, plus"),
        (sentence("(replace-one)", "(zero-out)"), "says zero-out"),
        (sentence("used 120", "used 12000"), "not about 120 records"),
        (sentence(whole, "Perfect privacy."), "does not say 'ε = …'"),
        (edited(&|said| said["registry"] = registered(0.1, 1e-6)), "`registry` says epsilon 0.1"),
        (edited(&|said| said["registry"] = registered(1.07, 1e-9)), "`registry` says delta"),
        (edited(&|said| said["mechanisms"][0]["adjacency"] = json!("zero_out")), "zero_out only"),
        (edited(&|said| drop(said.as_object_mut().unwrap().remove("guarantee"))), "no `guarantee`"),
        (edited(&|said| drop(said.as_object_mut().unwrap().remove("statement"))), "no `statement`"),
    ] {
        assert!(told.contains(wanted) && told.contains("WRONG"), "{wanted}: {told}");
    }
    // A large ε has no factor in digits.
    let mut large = certificate(std::slice::from_ref(&event), 20.0, 1e-6, "fixed_plan");
    let text = "at most e^20.0000 = more than 10000 times as large, plus 1e-6. This is (ε, \
                δ)-differential privacy with ε = 20.0000 and δ = 1e-6.";
    large["statement"] = json!(text);
    let path = written(&place, "certificate.json", &large.to_string());
    assert!(out(&verify(&path, &[])).contains("can be checked holds"));
    written(&place, "model.ron", "a model");
    assert!(edited(&|said| said["model"] = json!("ab".repeat(32))).contains("model.ron"));
    // A start on the same account counts, and its own statement is checked.
    let mut said = certificate(std::slice::from_ref(&event), 1.07, 1e-6, "adaptive");
    said["of_this_run"] = said["guarantee"].clone();
    said["start"] = json!({"runs": [{"run": "s", "account": "a", "mechanisms": [event],
        "guarantee": said["guarantee"]}]});
    let path = written(&place, "certificate.json", &said.to_string());
    let output = verify(&path, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_str(&out(&output)).unwrap();
    let verdicts: Vec<_> = told["numbers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["holds", "holds", "too_small"], "{told:#}");
    // A larger number is correct, and said to be loose.
    let loose = certificate(&[told_event()], 3.0, 1e-6, "fixed_plan");
    let output = verify(&written(&place, "certificate.json", &loose.to_string()), &[]);
    assert!(
        output.status.success() && out(&output).contains("a smaller ε would hold too"),
        "{}",
        out(&output)
    );
}

fn told_event() -> Value {
    json!({"label": "gradient", "count": 1, "adjacency": "zero_out",
        "mechanism": {"gaussian": {"sensitivity": 1.0, "sigma": 4.0}}})
}

#[test]
fn a_run_without_a_guarantee_has_nothing_to_hold_and_must_say_so() {
    let place = TempDir::new().unwrap();
    let mut said = certificate(&[told_event()], 1.0, 1e-6, "fixed_plan");
    said["guarantee"] = Value::Null;
    let output = verify(&written(&place, "certificate.json", &said.to_string()), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    said["statement"] = json!("NO GUARANTEE. The noise came from a seed.");
    let output = verify(&written(&place, "certificate.json", &said.to_string()), &[]);
    assert!(output.status.success() && out(&output).contains("no guarantee"), "{}", out(&output));
}

#[test]
fn what_cannot_be_read_is_an_error_with_file_and_cure() {
    let place = TempDir::new().unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut said = certificate(&[told_event()], 1.2, 1e-6, "fixed_plan");
        change(&mut said);
        said.to_string()
    };
    for (text, expected) in [
        ("{".to_owned(), "not JSON"),
        ("{}".to_owned(), "neither a certificate nor a ledger"),
        ("[1, 2]".to_owned(), "neither a certificate nor a ledger"),
        (String::new(), "not JSON"),
        ("{\"mechanisms\": NaN}".to_owned(), "not JSON"),
        (with(&|it| it["mechanisms"] = json!(7)), "`mechanisms` is not a list"),
        (with(&|it| it["mechanisms"][0]["count"] = json!(-1)), "`count` is -1"),
        (with(&|it| it["mechanisms"][0]["count"] = json!(1.5)), "not a whole number"),
        (with(&|it| it["mechanisms"][0]["adjacency"] = json!("other")), "which is not known"),
        (with(&|it| it["mechanisms"][0]["mechanism"] = json!({"magic": {}})), "'magic'"),
        (
            with(&|it| it["mechanisms"][0]["mechanism"]["gaussian"]["sigma"] = json!(0)),
            "`sigma` is 0",
        ),
        (
            with(&|it| it["mechanisms"][0]["mechanism"] = json!({"gaussian": {"sigma": 1}})),
            "`sensitivity` is missing",
        ),
        (with(&|it| it["guarantee"]["epsilon"] = json!("0.5")), "`epsilon` is not a number"),
        (with(&|it| it["guarantee"]["delta"] = json!(7)), "`delta` is 7"),
    ] {
        let path = written(&place, "odd.json", &text);
        let output = verify(&path, &[]);
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{text}: {said}");
        assert!(said.contains(expected) && said.contains("odd.json"), "{text}: {said}");
        assert!(said.contains("what to do"), "{said}");
    }
    let output = verify(&place.path().join("nowhere.json"), &[]);
    assert!(complaint(&output).contains("nowhere.json"));
}

/// Lines of a ledger, chained.
fn chained(entries: &[Value]) -> String {
    let mut text = String::new();
    let mut prev = "0".repeat(64);
    for (index, entry) in entries.iter().enumerate() {
        let body = format!(
            "{{\"seq\":{},\"time\":\"2026-01-01T00:00:00Z\",\"prev\":\"{prev}\",\"entry\":{entry}",
            index + 1
        );
        prev.clear();
        for byte in Sha256::digest(body.as_bytes()) {
            write!(prev, "{byte:02x}").unwrap();
        }
        writeln!(text, "{body},\"hash\":\"{prev}\"}}").unwrap();
    }
    text
}

fn grant(run: &str, sigma: f64) -> Value {
    json!({"kind": "grant", "run": run, "account": "a", "method": "m",
        "target": {"epsilon": 1.0, "delta": 1e-6}, "allow_large_delta": false,
        "events": [{"label": "gradient", "what": "", "count": 4, "adjacency": "zero_out",
            "mechanism": {"gaussian": {"sensitivity": 1.0, "sigma": sigma, "grid": 0.0, "coordinates": 1}}}]})
}

#[test]
fn a_ledger_is_checked_line_by_line_and_account_by_account() {
    let place = TempDir::new().unwrap();
    let budget = |epsilon: f64| json!({"kind": "budget", "account": "a", "budget": {"epsilon": epsilon, "delta": 1e-6}});
    let settle =
        json!({"kind": "settle", "run": "r1", "used": [2], "outcome": "stopped", "peeked": false});
    let block = json!({"kind": "block", "run": "r1", "event": 0, "count": 2});
    let entries = [
        budget(1.5),
        grant("r1", 10.0),
        block.clone(),
        settle.clone(),
        grant("r2", 10.0),
        json!({"kind": "later", "x": 1}),
    ];
    let text = chained(&entries);
    let output = verify(&written(&place, "ledger.jsonl", &text), &[]);
    let said = out(&output);
    assert!(output.status.success(), "{said}{}", complaint(&output));
    // 2 settled draws and 4 that count in full: μ² = 6/100, at nine tenths of δ.
    assert!(
        said.contains("run r2 (open, counts in full)") && said.contains("all runs that spent (2)"),
        "{said}"
    );
    assert!(said.contains("'later' are not known"), "{said}");
    // A line that was edited, one that is missing, and one that is cut off.
    let edited = text.replace("\"used\":[2]", "\"used\":[1]");
    let lines: Vec<&str> = text.lines().collect();
    let missing = [&lines[..2], &lines[3..]].concat().join("\n") + "\n";
    for (text, expected) in [(edited, "line 4 was changed"), (missing, "line 3 has another number")]
    {
        let output = verify(&written(&place, "ledger.jsonl", &text), &[]);
        assert_eq!(output.status.code(), Some(1), "{}", out(&output));
        assert!(out(&output).contains(expected), "{}", out(&output));
    }
    let torn = format!("{text}{}", &lines[0][..30]);
    let output = verify(&written(&place, "ledger.jsonl", &torn), &[]);
    assert!(output.status.success() && out(&output).contains("cut off"), "{}", out(&output));
    // More than the budget, and draws that nobody granted.
    let more = json!({"kind": "block", "run": "r1", "event": 0, "count": 9});
    for (entries, expected) in [
        (vec![budget(0.5), grant("r1", 10.0), grant("r2", 10.0)], "DOES NOT HOLD"),
        (vec![budget(1.5), grant("r1", 10.0), more], "nobody granted"),
        (vec![budget(1.5), grant("r1", 10.0), settle.clone()], "more than it announced"),
        (vec![budget(1.5), grant("r1", 10.0), block, settle.clone(), settle], "was not open"),
    ] {
        let output = verify(&written(&place, "ledger.jsonl", &chained(&entries)), &[]);
        assert_eq!(output.status.code(), Some(1), "{}", out(&output));
        assert!(out(&output).contains(expected), "{}", out(&output));
    }
    // The head beside it knows of more lines.
    written(&place, "ledger.head", &format!("9 {}\n", "ab".repeat(32)));
    let output = verify(&written(&place, "ledger.jsonl", &text), &[]);
    assert!(out(&output).contains("ledger.head confirms another end"), "{}", out(&output));
}

#[test]
fn python_alone_agrees_with_all_golden_cases() {
    assert!(std::fs::read_to_string(SCRIPT).unwrap().lines().count() <= 200);
    let Some(mut python) = python() else { return };
    let cases: Vec<Value> = golden()
        .into_iter()
        .map(|(id, events, delta, exact)| {
            json!({"id": id, "events": events, "delta": delta, "exact": exact})
        })
        .collect();
    let place = TempDir::new().unwrap();
    let list = written(&place, "cases.json", &json!(cases).to_string());
    let run = "import json, sys\n\
        sys.path.insert(0, sys.argv[1])\n\
        import verify\n\
        for it in json.load(open(sys.argv[2])):\n    \
            low, high = verify.epsilon(verify.draws(it['events']), it['delta'])\n    \
            print(it['id'], low / it['exact'] - 1, high / it['exact'] - 1)\n";
    let folder = Path::new(SCRIPT).parent().unwrap();
    let output = python
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["-c", run])
        .args([folder, &list])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let mut seen = 0;
    for line in out(&output).lines() {
        let errors = line.split(' ').skip(1).map(|it| it.parse::<f64>().unwrap().abs());
        assert!(errors.fold(0.0, f64::max) < 2e-4, "{line}");
        seen += 1;
    }
    assert_eq!(seen, 60);
}

#[test]
fn python_checks_certificates_and_ledgers_as_the_program_does() {
    let Some(_) = python() else { return };
    let place = TempDir::new().unwrap();
    let said = |path: &Path| {
        let mut python = Command::new("python3");
        python.arg(SCRIPT).arg(path).output().unwrap().status.code()
    };
    assert_eq!(said(&Path::new(FIXTURE).join("ledger.jsonl")), Some(0));
    for (epsilon, covers, code) in [
        (1.07, "fixed_plan", 0),
        (0.5, "fixed_plan", 1),
        (1.05, "fixed_plan", 1),
        (1.08, "adaptive", 0),
        (1.05, "adaptive", 1),
    ] {
        let text = certificate(&[told_event()], epsilon, 1e-6, covers).to_string();
        let path = written(&place, "certificate.json", &text);
        assert_eq!(said(&path), Some(code), "{epsilon} {covers}");
        assert_eq!(verify(&path, &[]).status.code(), Some(code), "{epsilon} {covers}");
    }
    // Selections that may depend on one another.
    let selection = Event {
        label: "choice".into(),
        what: String::new(),
        mechanism: QueryKind::Selection(Rule::Exponential).query(0.2, 9).with(Noise::ideal(1.0)),
        count: 40,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    };
    let proven = Composition::of([&selection]).unwrap().guarantee(1e-6).unwrap().epsilon;
    let selection = serde_json::to_value(&selection).unwrap();
    for (part, code) in [(1.0, 0), (0.98, 1)] {
        let text = certificate(std::slice::from_ref(&selection), part * proven, 1e-6, "fixed_plan");
        let path = written(&place, "certificate.json", &text.to_string());
        assert_eq!(said(&path), Some(code), "{part} of {proven}");
        assert_eq!(verify(&path, &[]).status.code(), Some(code), "{part} of {proven}");
    }
    for (id, events, delta, _) in repeated() {
        let list: Vec<Event> =
            events.iter().map(|event| serde_json::from_value(event.clone()).unwrap()).collect();
        let sum = Composition::of(&list).unwrap();
        for (guarantee, covers) in
            [(sum.guarantee(delta).unwrap(), "fixed_plan"), (sum.gate(delta).unwrap(), "adaptive")]
        {
            for (part, code) in [(1.0, 0), (0.99, 1)] {
                let text = certificate(&events, part * guarantee.epsilon, delta, covers);
                let path = written(&place, "certificate.json", &text.to_string());
                assert_eq!(said(&path), Some(code), "{id} {covers} {part}");
            }
        }
    }
    let entries = [
        json!({"kind": "budget", "account": "a", "budget": {"epsilon": 0.5, "delta": 1e-6}}),
        grant("r1", 10.0),
    ];
    let path = written(&place, "ledger.jsonl", &chained(&entries));
    assert_eq!(said(&path), Some(1));
    let path = written(&place, "ledger.jsonl", &chained(&entries).replace("0.5", "5.0"));
    assert_eq!(said(&path), Some(1));
}
