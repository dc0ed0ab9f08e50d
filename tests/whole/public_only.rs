//! Public data alone as a method, by the real program.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{program, schema};

fn halflight(directory: &Path, arguments: &[&str]) -> (bool, String, String) {
    let output = program::halflight().current_dir(directory).args(arguments).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    (output.status.success(), out, err)
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let (success, out, err) = halflight(directory, arguments);
    assert!(success, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// A workspace with one plane in both datasets; no budget.
fn workspace(method: &str, label: &dyn Fn(f64) -> String, more: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, rows) in [("private.csv", 0..200_u32), ("public.csv", 1000..1400)] {
        let mut text = "x,z,y\n".to_owned();
        for i in rows {
            let (x, z) = ((f64::from(i) * 0.37).sin(), (f64::from(i) * 0.11).cos());
            writeln!(text, "{x},{z},{}", label(x - 0.5 * z)).unwrap();
        }
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let about = "label: \"y\", task: regression";
    let about =
        if method.ends_with("classes") { "label: \"y\", task: classification" } else { about };
    let session = format!(
        "(version: 1, datasets: [\
           (name: \"ours\", role: private, source: file(\"private.csv\"), {about}),\
           (name: \"theirs\", role: public, source: file(\"public.csv\"), {about})],\
         plans: [(name: \"alone\", method: \"{method}\", private: \"ours\", public: [\"theirs\"],\
           target: (epsilon: 1.0, delta: 1e-5){more})])"
    );
    std::fs::write(directory.path().join("session.ron"), session).unwrap();
    directory
}

fn certificate(here: &Path, run: &Value) -> (PathBuf, Value) {
    let directory = here.join(run["directory"].as_str().unwrap());
    let text = std::fs::read(directory.join("certificate.json")).unwrap();
    (directory, serde_json::from_slice(&text).unwrap())
}

#[test]
fn public_data_alone_are_a_run_that_spends_nothing() {
    let class = |x: f64| if x > 0.0 { "yes" } else { "no" }.to_owned();
    for (method, label) in [
        ("public_only", &(|x: f64| x.to_string()) as &dyn Fn(f64) -> String),
        ("public_only_classes", &class),
    ] {
        let here = workspace(method, label, "");
        let here = here.path();
        let told = json(here, &["run", "session.ron", "--sealed", "--json"]);
        let run = &told["runs"][0];
        assert_eq!(schema::flaw(&json(here, &["schema", "run"]), &told), None);
        assert_eq!(
            (&run["guarantee"]["epsilon"], &run["method"]),
            (&0.0.into(), &"public data alone".into())
        );
        let (directory, certificate) = certificate(here, run);
        let statement = certificate["statement"].as_str().unwrap();
        assert!(
            statement
                .starts_with("The model was made from public data alone. This run drew nothing")
        );
        assert!(certificate["mechanisms"].as_array().unwrap().is_empty());
        assert!(certificate["reading"].as_str().unwrap().contains("at most 5 of 100"));
        let report = std::fs::read_to_string(directory.join("report.html")).unwrap();
        assert!(report.contains("<i>δ</i> 0</b>") && !report.contains("0e0"));
        // The ledger knows the run, and that it spent nothing, without a budget.
        let (_, ledger, _) = halflight(here, &["ledger", "show"]);
        assert!(ledger.contains("no budget"), "{ledger}");
        let directory = directory.to_str().unwrap();
        let (sound, said, err) = halflight(here, &["verify", directory]);
        assert!(sound, "{said}{err}");
        // It is not compared with itself.
        let (done, said, err) = halflight(here, &["run", "session.ron"]);
        assert!(done, "{err}");
        assert!(said.contains("    public data alone") && !said.contains("this model"), "{said}");
        assert!(said.contains("nothing was spent, and any number of such runs"), "{said}");
        assert!(!said.contains("private model") && !said.contains("No better than"), "{said}");
        // Its model is free to use.
        let (done, _, err) =
            halflight(here, &["predict", directory, "public.csv", "-o", "out.csv"]);
        assert!(done, "{err}");
        let (done, _, err) = halflight(here, &["report", directory, "-o", "r.html"]);
        assert!(done, "{err}");
        let (done, .., err) = halflight(here, &["audit", "session.ron"]);
        assert!(!done && err.contains("releases nothing"), "{err}");
    }
}

#[test]
fn a_score_for_nothing_is_refused_because_nothing_is_released() {
    let here = workspace("public_only", &|x| x.to_string(), ", evaluation: ()");
    let (done, _, err) = halflight(here.path(), &["run", "session.ron", "--sealed"]);
    assert!(!done && err.contains("releases nothing from private records"), "{err}");
    assert!(!err.contains("Gaussian") && err.contains("pay: share(0.1)"), "{err}");
}

#[test]
fn only_a_score_of_held_out_records_costs_something() {
    let here = workspace("public_only", &|x| x.to_string(), ", evaluation: (pay: share(0.5))");
    let here = here.path();
    let (done, _, err) = halflight(here, &["run", "session.ron"]);
    assert!(!done && err.contains("no budget"), "{err}");
    let text = std::fs::read_to_string(here.join("session.ron")).unwrap();
    let text = text.replace("plans:", "budgets: {\"ours\": (epsilon: 1.0, delta: 1e-5)}, plans:");
    std::fs::write(here.join("session.ron"), text).unwrap();
    let told = json(here, &["run", "session.ron", "--sealed", "--json"]);
    let run = &told["runs"][0];
    let epsilon = run["guarantee"]["epsilon"].as_f64().unwrap();
    assert!(epsilon > 0.49 && epsilon <= 0.5, "{epsilon}");
    let (_, certificate) = certificate(here, run);
    let statement = certificate["statement"].as_str().unwrap();
    assert!(statement.contains("only its score used private records"), "{statement}");
    assert!(run["score"].is_object());
    assert_eq!(certificate["mechanisms"].as_array().unwrap().len(), 1);
    let (done, _, err) = halflight(here, &["choose", "session.ron", "--plans", "alone"]);
    assert!(!done && err.contains("candidate of every choice"), "{err}");
}

/// A workspace in which the label depends on what a narrow record does not have: how long it is.
fn rings(plans: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, rows) in [("private.csv", 0..1500_u32), ("public.csv", 2000..3000)] {
        let mut text = "x,z,y\n".to_owned();
        for i in rows {
            let (x, z) = (2.0 * (f64::from(i) * 0.37).sin(), 2.0 * (f64::from(i) * 1.1).cos());
            let y = if x * x + z * z > 4.0 { 1.0 } else { -1.0 };
            writeln!(text, "{x},{z},{y}").unwrap();
        }
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let session = format!(
        "(version: 1, datasets: [\
           (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"y\"),\
           (name: \"theirs\", role: public, source: file(\"public.csv\"), label: \"y\")],\
         budgets: {{\"ours\": (epsilon: 30.0, delta: 1e-5)}}, plans: [{plans}])"
    );
    std::fs::write(directory.path().join("session.ron"), session).unwrap();
    directory
}

const NARROW: &str = "private: \"ours\", public: [\"theirs\"], \
    target: (epsilon: 4.0, delta: 1e-6), preparation: (features: declared(0.25))";

#[test]
fn runs_of_all_kinds_of_methods_are_compared_with_one_model_of_public_data_alone() {
    let methods = ["target_only", "profiled_cnvx_adap", "public_shape", "public_only"];
    let plan = |method: &str| format!("(name: \"{method}\", method: \"{method}\", {NARROW}),");
    let here = rings(&methods.map(plan).concat());
    let told = json(here.path(), &["run", "session.ron", "--json", "--include-curator"]);
    let runs = told["runs"].as_array().unwrap();
    let measures = |run: &Value, of: &str| {
        let both = ["curator_only_private_measures", "public_measures"];
        both.map(|name| run[name][of].clone())
    };
    let alone = measures(&runs[3], "model");
    assert!(alone.iter().all(|it| it["rmse"].as_f64().unwrap() < 0.6), "{alone:?}");
    for run in &runs[..3] {
        assert_eq!(measures(run, "source_only"), alone, "{}", run["plan"]);
    }
    let narrow = measures(&runs[0], "model");
    assert!(narrow.iter().all(|it| it["rmse"].as_f64().unwrap() > 0.9), "{narrow:?}");
}

#[test]
fn where_public_data_alone_win_a_choice_their_model_is_kept_with_its_own_preparation() {
    let here = rings(&format!("(name: \"line\", method: \"target_only\", {NARROW})"));
    let here = here.path();
    let chosen = json(here, &["choose", "session.ron", "--json"]);
    assert_eq!(chosen["winner"], "public data alone", "{chosen:#}");
    let folder = chosen["directory"].as_str().unwrap();
    let model = Path::new(folder).join("model.ron").display().to_string();
    let predicted = json(here, &["predict", &model, "public.csv", "--score", "--public", "--json"]);
    let error = predicted["curator_only_score"]["value"].as_f64().unwrap();
    assert!(error < 0.6, "{error}");
}
