//! `halflight verify` and `assets/verify.py`: second and third opinions on what files say.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::halflight;
use halflight::privacy::NoiseSource;
use halflight::privacy::accountant::{
    Adjacency, Composition, Event, Guarantee, Mechanism, Noise, QueryKind, Rule, Target,
};
use halflight::privacy::ledger::{AccountId, RunId, RunOutcome};
use halflight::session::certificate::{AccountStanding, Certificate, Choice, Facts, TakenAsPublic};
use halflight::verify::claim::ClaimVerdict;
use halflight::verify::noise::NoiseCheck;
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

/// The event as it would have been drawn: its scale is a whole number of steps of a fine grid.
fn drawn(event: &Value) -> Value {
    let mut event = event.clone();
    for (_, it) in event["mechanism"].as_object_mut().unwrap() {
        let name = ["sigma", "scale"].into_iter().find(|name| it.get(name).is_some());
        if let (Some(name), true) = (name, it.get("coordinates").is_some()) {
            let scale = it[name].as_f64().unwrap();
            let grid = (scale.log2().floor() - 28.0).exp2();
            it[name] = json!((scale / grid).ceil() * grid);
            it["grid"] = json!(grid);
        }
    }
    event
}

/// What the program certifies of a run with these events.
fn facts(events: &[Value], epsilon: f64, delta: f64, covers: &str) -> Facts {
    let mechanisms: Vec<Event> =
        events.iter().map(|event| serde_json::from_value(drawn(event)).unwrap()).collect();
    let blank = mechanisms.iter().any(|event| event.adjacency == Adjacency::ZeroOut);
    let guarantee = Guarantee {
        epsilon,
        epsilon_lower: 0.0,
        delta,
        adjacency: if blank { Adjacency::ZeroOut } else { Adjacency::ReplaceOne },
        covers: serde_json::from_value(json!(covers)).unwrap(),
        bound: "a test".to_owned(),
    };
    Facts {
        run: RunId("r".into()),
        account: AccountId("a".into()),
        method: "dp_sgd".into(),
        outcome: RunOutcome::Finished,
        records: 120,
        unit: None,
        target: Target { epsilon, delta },
        guarantee,
        mechanisms,
        peeked: false,
        allow_large_delta: true,
        noise: NoiseSource::Secret,
        sites: Vec::new(),
        may_collude: None,
        lineage: None,
        taken_as_public: TakenAsPublic::default(),
        standing: AccountStanding::default(),
        rehearsed: None,
        score: None,
        source_weights: Vec::new(),
        chosen: None,
        model: None,
    }
}

fn certificate(events: &[Value], epsilon: f64, delta: f64, covers: &str) -> Value {
    let certified = Certificate::of(facts(events, epsilon, delta, covers)).unwrap();
    serde_json::to_value(certified).unwrap()
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
            events.iter().map(|event| serde_json::from_value(drawn(event)).unwrap()).collect();
        let sum = Composition::of(&list).unwrap();
        for (guarantee, covers) in
            [(sum.guarantee(delta).unwrap(), "fixed_plan"), (sum.gate(delta).unwrap(), "adaptive")]
        {
            let said = certificate(&events, guarantee.epsilon, delta, covers);
            let path = written(&place, "certificate.json", &said.to_string());
            let report = halflight::verify::verify(&path).unwrap();
            assert!(report.holds(), "{id}: {}", report.text());
            assert_eq!(report.claims[0].verdict, ClaimVerdict::Holds, "{id}: {}", report.text());
            let less = certificate(&events, guarantee.epsilon * 0.99, delta, covers);
            let path = written(&place, "certificate.json", &less.to_string());
            let report = halflight::verify::verify(&path).unwrap();
            assert!(!report.holds(), "{id}: {}", report.text());
        }
    }
}

fn event(mechanism: Mechanism, count: u64) -> Event {
    Event {
        label: "choice".into(),
        what: String::new(),
        mechanism,
        count,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    }
}

/// The page that proves what a draw of this kind guarantees.
fn proof(kind: QueryKind) -> &'static str {
    match kind {
        QueryKind::Gaussian => "gaussian",
        QueryKind::SampledSum { .. } => "sampling",
        QueryKind::Laplace => "laplace",
        QueryKind::Selection(Rule::Exponential) => "exponential",
        QueryKind::Selection(Rule::PermuteAndFlip) => "permute_and_flip",
        QueryKind::Selection(Rule::NoisyMaximum) => "noisy_maximum",
        QueryKind::Direction => "direction",
        QueryKind::Repeated(_) => "repeats",
        QueryKind::Pure => "accountant",
    }
}

#[test]
fn every_kind_of_mechanism_is_verified_and_has_a_proof() {
    let place = TempDir::new().unwrap();
    for kind in QueryKind::one_of_each() {
        let page = format!("proofs/{}", proof(kind));
        assert!(
            halflight::guide::find(&page).is_some_and(|topic| topic.name == page),
            "{kind:?} has no proof: write assets/guide/{page}.md and list it in src/tui/guide/mod.rs"
        );
        let planned = event(kind.query(0.2, 9).with(Noise::ideal(1.0)), 1);
        let value = drawn(&serde_json::to_value(&planned).unwrap());
        let draws = json::draws(std::slice::from_ref(&value), None);
        assert_eq!(draws.unwrap_or_else(|error| panic!("{kind:?}: {error}")).len(), 1, "{kind:?}");
        // The size of a draw is checked, too: `pure` alone has none.
        assert!(NoiseCheck::of([&value]).faults.is_empty(), "{kind:?}");
        let none = serde_json::to_value(event(kind.query(0.2, 0).with(Noise::ideal(1.0)), 1));
        let faults = NoiseCheck::of([&none.unwrap()]).faults;
        assert_eq!(faults.is_empty(), kind == QueryKind::Pure, "{kind:?}: {faults:?}");
        let said = certificate(&[value], 100.0, 1e-6, "fixed_plan");
        let path = written(&place, "certificate.json", &said.to_string());
        let report = halflight::verify::verify(&path).unwrap();
        assert!(report.holds(), "{kind:?}: {}", report.text());
    }
    let unknown = json!({"label": "choice", "what": "", "count": 1, "adjacency": "replace_one",
        "mechanism": {"alchemy": {"range": 0.2, "scale": 1.0, "candidates": 9}}});
    let error = json::draws(std::slice::from_ref(&unknown), None).unwrap_err();
    assert!(error.what().contains("'alchemy', which is not known"), "{error}");
    if let Some(mut python) = python() {
        let mut said = certificate(&[told_event()], 100.0, 1e-6, "fixed_plan");
        said["mechanisms"] = json!([unknown]);
        let path = written(&place, "certificate.json", &said.to_string());
        let output = python.arg(SCRIPT).arg(&path).output().unwrap();
        assert!(!output.status.success(), "{}", out(&output));
    }
}

#[test]
fn selections_and_directions_are_known() {
    for mechanism in [
        QueryKind::Selection(Rule::Exponential).query(0.2, 9).with(Noise::ideal(1.0)),
        QueryKind::Direction.query(0.2, 9).with(Noise::ideal(1.0)),
        QueryKind::Selection(Rule::PermuteAndFlip).query(0.05, 9).with(Noise::ideal(1.0)),
        QueryKind::Selection(Rule::NoisyMaximum).query(0.03, 9).with(Noise::ideal(1.0)),
    ] {
        let event = event(mechanism, 40);
        let sum = Composition::of([&event]).unwrap();
        let value = serde_json::to_value(&event).unwrap();
        let draws = json::draws(&[value], None).unwrap();
        let (gate, again) =
            (sum.gate(1e-6).unwrap().epsilon, curve::epsilon_of_choices(&draws, 1e-6));
        assert!((gate / again - 1.0).abs() < 1e-6, "{mechanism:?}: {gate} {again}");
        let claimed = sum.guarantee(1e-6).unwrap().epsilon;
        let found = curve::epsilon(&draws, 1e-6);
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
            let assumed = "assumes that the order of the rows in the private file did not depend";
            let said = out(&output) + &complaint(&output);
            assert_eq!(said.contains(assumed), !said.contains("it states no guarantee"), "{said}");
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
    // Whatever repeats the guarantee may not promise more.
    let edited = |change: &dyn Fn(&mut Value)| {
        let mut said = certificate(std::slice::from_ref(&event), 1.07, 1e-6, "fixed_plan");
        change(&mut said);
        let path = written(&place, "certificate.json", &said.to_string());
        out(&verify(&path, &[]))
    };
    assert!(edited(&|_| ()).contains("can be checked holds"), "{}", edited(&|_| ()));
    let sound = certificate(std::slice::from_ref(&event), 1.07, 1e-6, "fixed_plan");
    let whole = sound["statement"].as_str().unwrap();
    let sentence = |from: &str, to: &str| {
        assert!(whole.contains(from), "{whole}");
        let text = json!(whole.replace(from, to));
        edited(&|said| said["statement"] = text.clone())
    };
    let registered = |said: &mut Value, name: &str, number: f64| {
        said["registry"]["privacy_loss"]["privacy_parameters"][name] = json!(number);
    };
    for (told, wanted) in [
        (sentence("ε = 1.07 ", "ε = 0.1 holds; not more than ε = 1.07"), "says ε = 0.1"),
        (sentence("δ = 1e-6", "δ = 1e-12"), "says δ = 0.000000000001"),
        (sentence("e^1.07", "e^0.1"), "says e^0.1"),
        (sentence("2.916", "1.106"), "1.106 times as likely"),
        (sentence("plus 1e-6", "plus 1e-12"), "as large, plus"),
        (sentence("(replace-one)", "(zero-out)"), "says zero-out"),
        (sentence("used 120", "used 12000"), "not about 120 records"),
        (sentence(whole, "Perfect privacy."), "does not say 'ε = …'"),
        (edited(&|said| registered(said, "epsilon", 0.1)), "`registry` says epsilon 0.1"),
        (edited(&|said| registered(said, "delta", 1e-9)), "`registry` says delta"),
        (edited(&|said| said["mechanisms"][0]["adjacency"] = json!("zero_out")), "zero_out only"),
        (edited(&|said| drop(said.as_object_mut().unwrap().remove("guarantee"))), "no `guarantee`"),
        (edited(&|said| drop(said.as_object_mut().unwrap().remove("statement"))), "no `statement`"),
    ] {
        assert!(told.contains(wanted) && told.contains("WRONG"), "{wanted}: {told}");
    }
    // A large ε has no factor in digits.
    let large = certificate(std::slice::from_ref(&event), 20.0, 1e-6, "fixed_plan");
    assert!(large["statement"].as_str().unwrap().contains("more than 10000"));
    let path = written(&place, "certificate.json", &large.to_string());
    assert!(out(&verify(&path, &[])).contains("can be checked holds"));
    written(&place, "model.ron", "a model");
    assert!(edited(&|said| said["model"] = json!("ab".repeat(32))).contains("model.ron"));
    std::fs::remove_file(place.path().join("model.ron")).unwrap();
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
    json!({"label": "gradient", "what": "", "count": 1, "adjacency": "zero_out",
        "mechanism": {"gaussian": {"sensitivity": 1.0, "sigma": 4.0, "grid": 0.0, "coordinates": 1}}})
}

/// A certificate with everything that one can have.
fn rich(unit: Option<&str>) -> Value {
    let event = |sensitivity: f64, what: &str, adjacency: &str| {
        drawn(&json!({"label": "gradient", "what": what, "count": 3, "adjacency": adjacency,
            "mechanism": {"gaussian": {"sensitivity": sensitivity, "sigma": 9.0, "coordinates": 5}}}))
    };
    let proven = |event: &Value| {
        let event: Event = serde_json::from_value(event.clone()).unwrap();
        Composition::of([&event]).unwrap().guarantee(1e-6).unwrap()
    };
    let own = event(1.0, "a sum of 5 numbers in each step", "replace_one");
    let ancestor = |run: &str, account: &str, event: &Value| {
        json!({"run": run, "account": account, "method": "dp_sgd", "records": 77, "person": unit,
            "guarantee": proven(event), "mechanisms": [event], "peeked": true})
    };
    let theirs = event(1.1, "a sum", "zero_out");
    let runs =
        [ancestor("r1", "a", &event(0.9, "a sum", "replace_one")), ancestor("r2", "b", &theirs)];
    let declared = json!({"name": "old", "sha256": "ab".repeat(32)});
    let lineage = json!({"runs": runs, "declared_public": declared});
    let score = json!({"records": 30, "error": {"value": 0.2, "low": 0.1, "high": 0.3}});
    let weight = json!({"dataset": "open", "records": 99, "weight": 1.0, "share": 1.0});
    let chosen = json!({"winner": "plan", "candidates": ["plan"], "sentence": "One of one."});
    let facts = Facts {
        unit: unit.map(str::to_owned),
        method: "pretraining".into(),
        guarantee: proven(&own),
        peeked: true,
        allow_large_delta: false,
        lineage: Some(serde_json::from_value(lineage).unwrap()),
        rehearsed: Some("nothing".to_owned()),
        score: Some(serde_json::from_value(score).unwrap()),
        source_weights: vec![serde_json::from_value(weight).unwrap()],
        chosen: Some(Choice { chosen: serde_json::from_value(chosen).unwrap(), methods: vec![] }),
        model: Some("cd".repeat(32)),
        taken_as_public: TakenAsPublic {
            datasets: vec!["open".into()],
            ..TakenAsPublic::default()
        },
        ..facts(&[own], 2.0, 1e-6, "fixed_plan")
    };
    serde_json::to_value(Certificate::of(facts).unwrap().for_others().unwrap()).unwrap()
}

/// Fields of which some edits go unnoticed where a certificate lies alone, and why that is so. A
/// signature covers them all, and in a workspace the ledger knows more of them.
const ALONE: [(&str, &str); 24] = [
    ("program", "a hash of a program that is not here"),
    ("run", "a name; the ledger knows it"),
    ("target", "what was asked for may be more than what was used"),
    ("guarantee.epsilon_lower", "a smaller lower bound promises less"),
    ("guarantee.covers", "choices by earlier outputs are covered in any case"),
    ("of_this_run", "larger numbers promise less, and the name of a bound promises nothing"),
    ("taken_as_public", "the names of public data stand nowhere else"),
    ("assumption", "only its gist is known here"),
    ("rehearsed", "no part of the promise"),
    ("score", "released with noise: nobody can compute it again"),
    ("source_weights", "released: nobody can compute them again"),
    ("chosen", "released: nobody can compute it again"),
    ("mechanisms[].label", "a name"),
    ("mechanisms[].count", "fewer draws would make the guarantee loose; the ledger knows them"),
    ("mechanisms[].mechanism", "so would less sensitivity; the ledger knows it"),
    ("start.declared_public.name", "a name"),
    ("start.runs[].guarantee", "larger numbers promise less"),
    ("start.runs[].mechanisms", "as for the run's own: less would make the guarantee loose"),
    ("start.runs[].method", "a name"),
    ("start.runs[].records", "only the largest of an account is told in words"),
    ("start.runs[].peeked", "one sentence is for all of them"),
    ("accountant", "the name of a program"),
    ("allow_large_delta", "it allows more than was used"),
    ("model", "a hash of a model that is not here"),
];

/// The places of all values below this one, and the values that may stand there instead.
fn edits(value: &Value, at: &str, found: &mut Vec<(String, Option<Value>)>) {
    let here = at.trim_start_matches('/').to_owned();
    if !here.is_empty() {
        found.push((here.clone(), None));
    }
    let mut other = |value: Value| found.push((here.clone(), Some(value)));
    match value {
        Value::Null => {}
        Value::Bool(flag) => other(json!(!flag)),
        Value::Number(number) => {
            let whole = number.as_u64().map(|it| [0, it / 2, it + 1, 1_000_000_000]);
            let part = number.as_f64().map(|it| [0.0, 0.5 * it, 2.0 * it]);
            match (whole, part) {
                (Some(all), _) => all.into_iter().for_each(|it| other(json!(it))),
                (None, Some(all)) => all.into_iter().for_each(|it| other(json!(it))),
                _ => unreachable!(),
            }
        }
        Value::String(text) => {
            other(json!(""));
            other(json!(format!("not {text}")));
            other(json!(format!("{text} And everything else.")));
        }
        Value::Array(list) => {
            other(json!([]));
            other(json!([list.as_slice(), &[json!("everything else")]].concat()));
            for (index, value) in list.iter().enumerate() {
                edits(value, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            other(json!({}));
            for (name, value) in fields {
                edits(value, &format!("{at}/{name}"), found);
            }
        }
    }
}

/// The certificate with another value, or none, at this place.
fn edited(whole: &Value, at: &str, into: Option<Value>) -> Value {
    let mut copy = whole.clone();
    let (parent, last) = at.rsplit_once('/').unwrap_or(("", at));
    let parent = if parent.is_empty() { String::new() } else { format!("/{parent}") };
    let parent = copy.pointer_mut(&parent).unwrap();
    match (parent, into) {
        (Value::Object(fields), None) => drop(fields.remove(last)),
        (Value::Object(fields), Some(value)) => drop(fields.insert(last.to_owned(), value)),
        (Value::Array(list), None) => drop(list.remove(last.parse().unwrap())),
        (Value::Array(list), Some(value)) => list[last.parse::<usize>().unwrap()] = value,
        _ => unreachable!(),
    }
    copy
}

#[test]
fn every_field_of_a_certificate_matters_or_is_on_a_list_with_a_reason() {
    let place = TempDir::new().unwrap();
    let holds = |it: &Value| {
        let path = written(&place, "certificate.json", &it.to_string());
        halflight::verify::verify(&path).is_ok_and(|report| report.holds())
    };
    let mut unnoticed: Vec<(String, String)> = Vec::new();
    for whole in [rich(None), rich(Some("patient"))] {
        let path = written(&place, "certificate.json", &whole.to_string());
        let report = halflight::verify::verify(&path).unwrap();
        assert!(report.holds(), "{}", report.text());
        let mut all = Vec::new();
        edits(&whole, "", &mut all);
        for (at, into) in all {
            if at.is_empty() || into.as_ref() == whole.pointer(&format!("/{at}")) {
                continue;
            }
            if holds(&edited(&whole, &at, into.clone())) {
                let parts =
                    at.split('/').map(|it| if it.parse::<u32>().is_ok() { "[]" } else { it });
                let name = parts.collect::<Vec<_>>().join(".").replace(".[]", "[]");
                unnoticed.push((name, format!("{at} = {into:?}")));
            }
        }
    }
    let listed = |name: &str| ALONE.iter().any(|(field, _)| name.starts_with(field));
    let more: Vec<_> = unnoticed.iter().filter(|(name, _)| !listed(name)).collect();
    assert!(more.is_empty(), "{more:#?}");
    for (field, _) in ALONE {
        assert!(unnoticed.iter().any(|(name, _)| name.starts_with(field)), "{field} is noticed");
    }
}

#[test]
fn a_run_without_a_guarantee_has_nothing_to_hold_and_must_say_so() {
    let place = TempDir::new().unwrap();
    let mut said = certificate(&[told_event()], 1.0, 1e-6, "fixed_plan");
    said["guarantee"] = Value::Null;
    let output = verify(&written(&place, "certificate.json", &said.to_string()), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", out(&output));
    let seeded =
        Facts { noise: NoiseSource::Seeded(7), ..facts(&[told_event()], 1.0, 1e-6, "fixed_plan") };
    let void = serde_json::to_string(&Certificate::of(seeded).unwrap()).unwrap();
    let output = verify(&written(&place, "certificate.json", &void), &[]);
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
    let event = json!({"label": "gradient", "what": "", "count": 4, "adjacency": "zero_out",
        "mechanism": {"gaussian": {"sensitivity": 1.0, "sigma": sigma, "coordinates": 1}}});
    json!({"kind": "grant", "run": run, "account": "a", "method": "m",
        "target": {"epsilon": 1.0, "delta": 1e-6}, "allow_large_delta": false,
        "events": [drawn(&event)]})
}

#[test]
fn a_ledger_is_checked_line_by_line_and_account_by_account() {
    let place = TempDir::new().unwrap();
    let budget = |epsilon: f64| json!({"kind": "budget", "account": "a", "budget": {"epsilon": epsilon, "delta": 1e-6}});
    let settle =
        json!({"kind": "settle", "run": "r1", "used": [2], "outcome": "stopped", "peeked": false});
    let block = json!({"kind": "block", "run": "r1", "event": 0, "count": 2});
    let entries =
        [budget(1.5), grant("r1", 10.0), block.clone(), settle.clone(), grant("r2", 10.0)];
    let text = chained(&entries);
    let output = verify(&written(&place, "ledger.jsonl", &text), &[]);
    let said = out(&output);
    assert!(output.status.success(), "{said}{}", complaint(&output));
    // 2 settled draws and 4 that count in full: μ² = 6/100, at nine tenths of δ.
    assert!(
        said.contains("run r2 (open, counts in full)") && said.contains("all runs that spent (2)"),
        "{said}"
    );
    // What a certificate shows of a run that the ledger knows never counts less.
    let mut recovered = grant("r1", 10.0);
    recovered["kind"] = "recovered".into();
    recovered["events"][0]["count"] = 1.into();
    let spent = |entries: &[Value]| {
        let output = verify(&written(&place, "ledger.jsonl", &chained(entries)), &[]);
        let said = out(&output);
        said.lines().find(|line| line.contains("run r1 (settled)")).unwrap().to_owned()
    };
    let settled = [budget(1.5), grant("r1", 10.0), block.clone(), settle.clone()];
    let less = [settled.as_slice(), std::slice::from_ref(&recovered)].concat();
    assert_eq!(spent(&less), spent(&settled));
    recovered["events"][0]["count"] = 4.into();
    assert_ne!(spent(&[settled.as_slice(), &[recovered]].concat()), spent(&settled));
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
        (vec![budget(1.5), json!({"kind": "later", "x": 1})], "'later' are not known"),
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
    assert!(std::fs::read_to_string(SCRIPT).unwrap().lines().count() <= 220);
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
    // What makes a promise where nothing is protected, or hides what is not.
    for unit in [None, Some("patient")] {
        let whole = rich(unit);
        let check = |it: &Value, code: i32| {
            let path = written(&place, "certificate.json", &it.to_string());
            assert_eq!(said(&path), Some(code), "{unit:?} {it:#}");
            assert_eq!(verify(&path, &[]).status.code(), Some(code), "{unit:?} {it:#}");
        };
        check(&whole, 0);
        let gaussian = "mechanisms/0/mechanism/gaussian";
        let coarse = edited(&whole, &format!("{gaussian}/grid"), Some(json!(1)));
        let coarse = edited(&coarse, &format!("{gaussian}/sigma"), Some(json!(0.03)));
        check(&coarse, 1);
        let many = Some(json!(1_000_000_000));
        check(&edited(&whole, &format!("{gaussian}/coordinates"), many), 1);
        check(&edited(&whole, "not_covered", Some(json!([]))), 1);
        check(&edited(&whole, "not_covered/5", None), 1);
        let statement = whole["statement"].as_str().unwrap();
        let ten = statement
            .replace("one of them had", "any ten of them had")
            .replace("all records of one person had", "any ten of them had");
        check(&edited(&whole, "statement", Some(json!(ten))), 1);
        let other = if unit.is_some() { None } else { Some(json!("patient")) };
        check(&edited(&whole, "person", other), 1);
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
            events.iter().map(|event| serde_json::from_value(drawn(event)).unwrap()).collect();
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
