//! `halflight export`: the ONNX file says what `halflight predict` says. Where Python has no
//! onnxruntime, that comparison is left out, and a line says so.

use std::fmt::Write;
use std::path::Path;
use std::process::Output;

use crate::{program, python};

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().current_dir(directory).args(arguments).output().unwrap()
}

fn succeeds(directory: &Path, arguments: &[&str]) -> String {
    let output = halflight(directory, arguments);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// A text stands before the numbers, which are of two sizes; some rows lack a number.
fn table(rows: std::ops::Range<u32>, gaps: bool, answer: &dyn Fn(f64) -> String) -> String {
    let mut text = "colour,x,kind,z,y\n".to_owned();
    for i in rows {
        let (x, z) = ((f64::from(i) * 0.37).sin(), 100.0 * (f64::from(i) * 0.11).cos());
        let wave = (4.0 * x).sin() + 0.003 * z + 0.05 * (f64::from(i) * 1.7).sin();
        let colour = ["red", "green", "blue"][i as usize % 3];
        let kind = if i % 29 == 5 { "new" } else { ["old", "older"][i as usize % 2] };
        let x = if gaps && i % 17 == 3 { String::new() } else { x.to_string() };
        writeln!(text, "{colour},{x},{kind},{z},{}", answer(wave)).unwrap();
    }
    text
}

fn number(wave: f64) -> String {
    (50.0 + 20.0 * wave).to_string()
}

fn two(wave: f64) -> String {
    if wave > 0.2 { "yes" } else { "no" }.to_owned()
}

fn three(wave: f64) -> String {
    let class = if wave > 0.5 {
        "high"
    } else if wave > -0.3 {
        "mid"
    } else {
        "low"
    };
    class.to_owned()
}

const NUMBER: &str = "label: \"y\", missing: public_mean";
const CLASS: &str = "label: \"y\", task: classification, missing: drop";

/// Files and a session with one plan.
fn workspace(
    here: &Path,
    method: &str,
    settings: &str,
    about: &str,
    answer: &dyn Fn(f64) -> String,
) {
    std::fs::write(here.join("private.csv"), table(0..500, true, answer)).unwrap();
    std::fs::write(here.join("public.csv"), table(1000..1800, false, answer)).unwrap();
    let session = format!(
        "(version: 1, name: \"test\", datasets: [\
           (name: \"ours\", role: private, source: file(\"private.csv\"), {about}),\
           (name: \"theirs\", role: public, source: file(\"public.csv\"), {about})],\
         budgets: {{\"ours\": (epsilon: 9.0, delta: 1e-5)}},\
         plans: [(name: \"first\", method: \"{method}\", private: \"ours\", public: [\"theirs\"],\
           settings: {{{settings}}}, target: (epsilon: 3.0, delta: 1e-5), seed: 3)])"
    );
    std::fs::write(here.join("session.ron"), session).unwrap();
}

/// Trains, exports, predicts the private rows with both and compares.
fn exported_predicts_the_same(
    method: &str,
    settings: &str,
    about: &str,
    answer: &dyn Fn(f64) -> String,
) {
    let directory = tempfile::tempdir().unwrap();
    workspace(directory.path(), method, settings, about, answer);
    compare(directory.path(), "private.csv");
}

fn compare(here: &Path, data: &str) {
    succeeds(here, &["run", "session.ron", "--json"]);
    let runs = here.join(".halflight/runs");
    let run = std::fs::read_dir(runs).unwrap().flatten().next().unwrap().path();
    let run = run.to_str().unwrap();
    succeeds(here, &["export", run, "-o", "model.onnx"]);
    succeeds(here, &["predict", run, data, "-o", "out.csv"]);

    let files = [here.join("model.onnx"), here.join(data), here.join("out.csv")];
    python::script("onnx_predict.py", "import numpy, onnxruntime", &files);
}

#[test]
fn linear_models_predict_the_same_where_gaps_are_filled() {
    exported_predicts_the_same("profiled_cnvx_adap", "", NUMBER, &number);
}

#[test]
fn public_shapes_predict_the_same() {
    exported_predicts_the_same("public_shape", "", NUMBER, &number);
    exported_predicts_the_same("public_shape_classes", "", CLASS, &two);
    exported_predicts_the_same("public_shape_classes", "", CLASS, &three);
}

#[test]
fn two_classes_are_told_apart_alike_and_rows_with_gaps_by_none() {
    exported_predicts_the_same("profiled_logistic", "", CLASS, &two);
    exported_predicts_the_same("ncnvx_adap", "\"model\": \"network\"", CLASS, &two);
}

#[test]
fn layers_predict_the_same() {
    let hidden = "\"model\": \"hidden_layer\", \"steps\": 50";
    exported_predicts_the_same("dp_sgd", hidden, CLASS, &three);
    let hinge = "\"loss\": \"hinge\", \"components\": 3, \"steps\": 50";
    exported_predicts_the_same("pillar", hinge, CLASS, &three);
}

#[test]
fn convolutions_predict_the_same() {
    let digits = "assets/optdigits/optdigits_8x8.csv.gz";
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(digits);
    std::fs::copy(from, here.join("digits.csv.gz")).unwrap();
    let session = "(version: 1, name: \"test\", datasets: [\
           (name: \"ours\", role: private, source: file(\"digits.csv.gz\"), label: \"digit\",\
             task: classification, columns: only([\"p*\"]), filter: \"p20 > 7\"),\
           (name: \"theirs\", role: public, source: file(\"digits.csv.gz\"), label: \"digit\",\
             task: classification, columns: only([\"p*\"]), filter: \"p20 <= 7\")],\
         budgets: {\"ours\": (epsilon: 9.0, delta: 1e-5)},\
         plans: [(name: \"first\", method: \"dp_sgd\", private: \"ours\", public: [\"theirs\"],\
           settings: {\"model\": \"probe_cnn\", \"steps\": 20},\
           preparation: (intercept: false), target: (epsilon: 3.0, delta: 1e-5), seed: 3)])";
    std::fs::write(here.join("session.ron"), session).unwrap();
    compare(here, "digits.csv.gz");
}

#[test]
fn files_are_not_overwritten_and_other_forms_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
    let runs = std::fs::read_dir(model.join(".halflight/runs")).unwrap().flatten();
    let mut runs = runs.map(|run| run.path().join("model.ron"));
    let model = runs.find(|path| path.to_string_lossy().contains("dp_sgd")).unwrap();
    let model = model.to_str().unwrap();
    let said = succeeds(here, &["export", model, "-o", "a.onnx"]);
    assert!(said.contains("a.onnx: takes"), "{said}");
    let json = succeeds(here, &["export", model, "-o", "b.onnx", "--json", "-q"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let schema = serde_json::from_str(&succeeds(here, &["schema", "export"])).unwrap();
    assert_eq!(crate::schema::flaw(&schema, &value), None);
    assert_eq!(
        std::fs::read(here.join("a.onnx")).unwrap(),
        std::fs::read(here.join("b.onnx")).unwrap()
    );

    let refused = |arguments: &[&str]| {
        let output = halflight(here, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["export", model, "-o", "a.onnx"]).contains("--force"));
    assert!(refused(&["export", model, "-o", "a.json"]).contains(".onnx"));
    succeeds(here, &["export", model, "-o", "a.onnx", "--force"]);
    // The rows that are predicted are kept, whatever is forced.
    std::fs::write(here.join("rows.csv"), "x\n1\n").unwrap();
    let said = refused(&["predict", model, "rows.csv", "-o", "./rows.csv", "--force"]);
    assert!(said.contains("data are read from there"), "{said}");
    std::fs::write(here.join("page.html"), "<p>of somebody else</p>").unwrap();
    let said = refused(&["audit", "--quick", "--page", "page.html", "--method", "dp_sgd"]);
    assert!(said.contains("it is there already"), "{said}");
    let output = halflight(here, &["export", "nowhere", "-o", "c.onnx"]);
    assert!(!output.status.success() && !here.join("c.onnx").exists());
}

#[test]
fn the_model_of_a_run_without_a_guarantee_is_refused_and_others_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let export =
        |run: &Path| halflight(here, &["export", run.to_str().unwrap(), "-o", "model.onnx"]);
    let run = |arguments: &[&str]| {
        let _ = std::fs::remove_dir_all(here.join(".halflight"));
        workspace(here, "target_only", "", NUMBER, &number);
        succeeds(here, arguments);
        let mut runs = std::fs::read_dir(here.join(".halflight/runs")).unwrap().flatten();
        runs.next().unwrap().path()
    };
    let refused = |output: &Output, why: &str| {
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why));
        assert!(!here.join("model.onnx").exists());
    };
    let insecure = run(&["run", "session.ron", "--insecure-noise-seed", "1"]);
    refused(&export(&insecure), "no guarantee");

    let sound = run(&["run", "session.ron"]);
    assert!(export(&sound).status.success());
    let mode = std::fs::metadata(here.join("model.onnx")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::remove_file(here.join("model.onnx")).unwrap();
    // Another model under the same certificate.
    let text = std::fs::read_to_string(sound.join("model.ron")).unwrap();
    std::fs::remove_file(sound.join("model.safetensors")).unwrap();
    std::fs::write(sound.join("model.ron"), text + "\n").unwrap();
    refused(&export(&sound), "not what the run wrote");
}
