//! Public datasets with a weight each, by the real program.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::program;

fn run(directory: &Path, plan: &str) -> (bool, Value, String) {
    let arguments = ["run", "session.ron", "--plan", plan, "--include-curator", "--json"];
    let output = program::halflight().current_dir(directory).args(arguments).output().unwrap();
    let told = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.success(), told, String::from_utf8(output.stderr).unwrap())
}

/// The labels of the second public dataset have the wrong sign, so private errors show which one a
/// model trusts.
#[test]
fn a_dataset_counts_as_much_as_its_weight_says_and_numbers_must_fit_the_datasets() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for (name, rows, sign) in
        [("private", 0..300_u32, 1.0), ("good", 1000..1400, 1.0), ("bad", 2000..2100, -1.0)]
    {
        let mut text = "x,z,y\n".to_owned();
        for i in rows {
            let (x, z) = ((f64::from(i) * 0.37).sin(), (f64::from(i) * 0.11).cos());
            let noise = 0.1 * (f64::from(i) * 7.7).sin();
            writeln!(text, "{x},{z},{}", sign * (x - 0.5 * z) + noise).unwrap();
        }
        std::fs::write(here.join(format!("{name}.csv")), text).unwrap();
    }
    let dataset = |name: &str, role: &str| {
        format!(
            "(name: \"{name}\", role: {role}, source: file(\"{name}.csv\"), label: \"y\", \
             task: regression)"
        )
    };
    let plan = |name: &str, weights: &str| {
        format!(
            "(name: \"{name}\", method: \"profiled_cnvx_adap\", private: \"private\", \
             public: [\"good\", \"bad\"], target: (epsilon: 5.0, delta: 1e-5), \
             settings: {{\"alpha\": 0.6, \"source_weights\": \"{weights}\"}})"
        )
    };
    let session = format!(
        "(version: 1, datasets: [{}, {}, {}], \
         budgets: {{\"private\": (epsilon: 50.0, delta: 1e-4)}}, \
         plans: [{}, {}, {}, {}, {}])",
        dataset("private", "private"),
        dataset("good", "public"),
        dataset("bad", "public"),
        plan("none", "none"),
        plan("learned", "learned"),
        plan("chosen", "1 0.01"),
        plan("turned", "0.01 1"),
        plan("short", "1"),
    );
    std::fs::write(here.join("session.ron"), session).unwrap();
    let error = |name: &str| {
        let (done, told, err) = run(here, name);
        assert!(done, "{err}");
        told["runs"][0]["curator_only_private_measures"]["model"]["rmse"].as_f64().unwrap()
    };
    let turned = error("turned");
    for plan in ["none", "learned", "chosen"] {
        assert!(error(plan) < 0.8 * turned, "{plan}: {turned}");
    }
    // The weights of the datasets are told with the model, on paper, too.
    let (done, told, err) = run(here, "chosen");
    assert!(done, "{err}");
    let told = &told["runs"][0];
    let weights = told["source_weights"].as_array().unwrap();
    assert_eq!((&weights[0]["dataset"], &weights[0]["weight"]), (&"good".into(), &1.0.into()));
    assert!(weights[1]["weight"].as_f64().unwrap() < 0.02, "{weights:?}");
    let share = |at: usize| weights[at]["share"].as_f64().unwrap();
    assert!((share(0) + share(1) - 1.0).abs() < 1e-9 && share(0) > 0.95, "{weights:?}");
    let directory = here.join(told["directory"].as_str().unwrap());
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let certificate: Value = serde_json::from_str(&read("certificate.json")).unwrap();
    assert_eq!(&certificate["source_weights"], &told["source_weights"]);
    assert!(read("report.html").contains("What the public data weigh"));
    let (done, _, err) = run(here, "short");
    assert!(!done && err.contains("(1)") && err.contains("(2) differ in number"), "{err}");
}
