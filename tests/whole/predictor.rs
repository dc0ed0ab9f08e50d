//! Public predictors, by the real program.

use std::fmt::Write;
use std::path::Path;
use std::process::Output;

use crate::program;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().current_dir(directory).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn succeeds(directory: &Path, arguments: &[&str]) -> String {
    let output = halflight(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    text(&output)
}

/// Rows of a wave that no line follows, at another level where they are private.
fn table(rows: std::ops::Range<u32>, level: f64) -> String {
    let mut text = "x,z,y\n".to_owned();
    for i in rows {
        let (x, z) = ((f64::from(i) * 0.37).sin(), (f64::from(i) * 0.11).cos());
        let y = (4.0 * x).sin() + 0.3 * z + 0.05 * (f64::from(i) * 1.7).sin() + level;
        writeln!(text, "{x},{z},{y}").unwrap();
    }
    text
}

/// A workspace with a plan of the private records alone, and further words in it.
fn workspace(plan: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("private.csv"), table(0..700, 0.3)).unwrap();
    std::fs::write(directory.path().join("public.csv"), table(1000..2200, 0.0)).unwrap();
    write_session(directory.path(), plan);
    directory
}

fn write_session(directory: &Path, plan: &str) {
    let session = format!(
        "(version: 1, name: \"test\", datasets: [\
           (name: \"ours\", role: private, source: file(\"private.csv\"), label: \"y\"),\
           (name: \"theirs\", role: public, source: file(\"public.csv\"), label: \"y\")],\
         budgets: {{\"ours\": (epsilon: 9.0, delta: 1e-5)}},\
         plans: [(name: \"first\", private: \"ours\", public: [\"theirs\"],\
           target: (epsilon: 2.0, delta: 1e-5), seed: 3, {plan})])"
    );
    std::fs::write(directory.join("session.ron"), session).unwrap();
}

/// The directories of runs, in order of their names.
fn runs(directory: &Path) -> Vec<String> {
    let all = std::fs::read_dir(directory.join(".halflight/runs")).unwrap().flatten();
    let mut all: Vec<String> = all.map(|it| it.path().to_str().unwrap().to_owned()).collect();
    all.sort();
    all
}

/// The root mean squared error on the private rows.
fn error(directory: &Path, run: &str) -> f64 {
    let output = halflight(
        directory,
        &[
            "predict",
            run,
            "private.csv",
            "--score",
            "--json",
            "-o",
            "out.csv",
            "--public",
            "--force",
        ],
    );
    let told: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    told["curator_only_score"]["value"].as_f64().unwrap()
}

#[test]
fn a_method_with_public_trees_beats_itself_and_its_model_carries_them() {
    let plain = workspace("method: \"target_only\"");
    succeeds(plain.path(), &["run", "session.ron", "--json"]);
    let without = error(plain.path(), &runs(plain.path())[0]);

    let directory = workspace("method: \"target_only\", public_predictor: trees");
    let here = directory.path();
    succeeds(here, &["run", "session.ron", "--json"]);
    let run = runs(here).remove(0);
    let with = error(here, &run);
    assert!(with < 0.7 * without, "{with} against {without}");
    // Twice the same predictions, from the archive or the text alone.
    let first = std::fs::read(here.join("out.csv")).unwrap();
    std::fs::remove_file(Path::new(&run).join("model.safetensors")).unwrap();
    error(here, &run);
    assert_eq!(std::fs::read(here.join("out.csv")).unwrap(), first);
    let certificate = std::fs::read_to_string(Path::new(&run).join("certificate.json")).unwrap();
    assert!(certificate.contains("the public predictor: boosted trees trained on 'theirs' alone"));
    let again = std::fs::read_to_string(Path::new(&run).join("run.ron")).unwrap();
    assert!(again.contains("public_predictor: trees"), "{again}");
    succeeds(here, &["verify", &format!("{run}/certificate.json")]);
    succeeds(here, &["export", &run, "-o", "model.onnx"]);

    // The finished model is the predictor of a next run: its own ε counts there, too.
    write_session(
        here,
        &format!("method: \"profiled_cnvx_adap\", public_predictor: model(\"{run}\")"),
    );
    succeeds(here, &["run", "session.ron", "--json"]);
    let next = runs(here).into_iter().find(|it| *it != run).unwrap();
    assert!(error(here, &next) < without);
    let certificate = std::fs::read_to_string(Path::new(&next).join("certificate.json")).unwrap();
    let certificate: serde_json::Value = serde_json::from_str(&certificate).unwrap();
    assert_eq!(certificate["start"]["runs"].as_array().unwrap().len(), 1);
    let whole = certificate["guarantee"]["epsilon"].as_f64().unwrap();
    let own = certificate["of_this_run"]["epsilon"].as_f64().unwrap();
    assert!(own <= 2.0 && whole > own, "{own} {whole}");
    succeeds(here, &["verify", &format!("{next}/certificate.json")]);
}

#[test]
fn what_cannot_be_a_predictor_is_refused_with_a_cure() {
    let directory = workspace("method: \"target_only\", public_predictor: forest");
    let here = directory.path();
    let refused = |plan: &str, wanted: &[&str]| {
        write_session(here, plan);
        let output = halflight(here, &["run", "session.ron"]);
        let told = text(&output);
        assert!(!output.status.success(), "{told}");
        for wanted in wanted {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    };
    let plan = |predictor: &str| format!("method: \"target_only\", public_predictor: {predictor}");
    refused(&plan("forest"), &["session.ron:1:", "none, linear, trees, model(\"PATH\")"]);
    refused(&plan("several([trees, trees])"), &["'trees' is given twice"]);
    let ten: Vec<String> = (0..10).map(|at| format!("column(\"p{at}\")")).collect();
    let ten = format!("several([{}])", ten.join(", "));
    refused(
        &plan(&ten),
        &["10 public predictors are given, and 8 are the most", "leave out those"],
    );
    refused(
        &plan("several([model(\"a\"), column_of(\"x\", \"b\")])"),
        &["several finished models", "saw no private records"],
    );
    refused(&plan("column_of(\"x\", \"nowhere\")"), &["nowhere"]);
    refused(&plan("column(\"q\")"), &["column 'q'", "public.csv"]);
    refused(&plan("column(\"y\")"), &["is the label"]);
    refused(&plan("model(\"nowhere\")"), &["nowhere", "name a run directory"]);
    refused(
        "method: \"public_shape\", public_predictor: trees",
        &["trains trees and a linear model itself", "takes other predictions here"],
    );
    // The certificate of public data alone would not be true.
    refused(
        "method: \"public_only\", public_predictor: several([column(\"x\"), model(\"run\")])",
        &["takes no finished model", "may have seen private records", "a column of predictions"],
    );
    refused(
        "method: \"public_only\", public_predictor: column_of(\"x\", \"run\")",
        &["takes no finished model"],
    );
}

#[test]
fn predictions_of_any_public_model_are_a_base_that_private_records_correct() {
    // Predictions on another scale, which no column explains; in the second case all the same, in the
    // third with gaps, in the fourth opposite to what private labels are.
    let with_column = |rows: std::ops::Range<u32>, level: f64, case: usize| {
        let hidden = |i: u32| (f64::from(i) * 2.399).sin();
        let row = |i: u32| {
            let y = if case == 3 && level > 0.0 { -hidden(i) } else { hidden(i) } + level;
            let score = 300.0 * (hidden(i) + 0.05 * (f64::from(i) * 1.3).cos()) - 7.0;
            let score = match case {
                1 => "4.5".to_owned(),
                2 if i.is_multiple_of(3) => String::new(),
                _ => score.to_string(),
            };
            format!("{},{},{score}", (f64::from(i) * 0.37).sin(), y)
        };
        let rows: Vec<String> = rows.map(row).collect();
        format!("x,y,score\n{}\n", rows.join("\n"))
    };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let asked = "method: \"public_shape\", public_predictor: column(\"score\")";
    let run = |case: usize| {
        std::fs::write(here.join("private.csv"), with_column(0..700, 0.5, case)).unwrap();
        std::fs::write(here.join("public.csv"), with_column(1000..2200, 0.0, case)).unwrap();
        write_session(here, asked);
        halflight(here, &["run", "session.ron"])
    };
    let good = run(0);
    assert!(good.status.success(), "{}", text(&good));
    // The column is the predictor, so no feature is missing.
    assert!(!text(&good).contains("features that are not used"), "{}", text(&good));
    let model = runs(here).remove(0);
    // Without the column the error is .7, and without private records the level is off by .5.
    let found = error(here, &model);
    assert!(found < 0.2, "{found}");
    succeeds(here, &["verify", &format!("{model}/certificate.json")]);
    succeeds(here, &["export", &model, "-o", "model.onnx"]);
    let certificate = std::fs::read_to_string(Path::new(&model).join("certificate.json")).unwrap();
    assert!(certificate.contains("the numbers in column 'score' were made"), "{certificate}");

    // Where a model that saw private records made the column, its ε counts, too.
    write_session(
        here,
        &format!("method: \"public_shape\", public_predictor: column_of(\"score\", \"{model}\")"),
    );
    succeeds(here, &["run", "session.ron"]);
    let declared = runs(here).into_iter().find(|it| *it != model).unwrap();
    assert!(error(here, &declared) < 0.2);
    succeeds(here, &["verify", &format!("{declared}/certificate.json")]);
    let certificate = std::fs::read(Path::new(&declared).join("certificate.json")).unwrap();
    let certificate: serde_json::Value = serde_json::from_slice(&certificate).unwrap();
    assert_eq!(certificate["start"]["runs"].as_array().unwrap().len(), 1);
    let epsilon = |of: &str| certificate[of]["epsilon"].as_f64().unwrap();
    assert!(epsilon("guarantee") > 1.2 * epsilon("of_this_run"), "{certificate}");
    let told = certificate["taken_as_public"].to_string();
    assert!(told.contains("are predictions of the finished model"), "{told}");

    let idle = run(1);
    assert!(idle.status.success() && text(&idle).contains("so it says nothing"), "{}", text(&idle));
    let gaps = text(&run(2));
    for wanted in ["column 'score'", "the column of the public predictor", "public_mean"] {
        assert!(gaps.contains(wanted), "{wanted}: {gaps}");
    }
    // All public models lose to a constant: they have an error of 1.5, and the public mean has .87.
    let known = runs(here);
    let opposite = run(3);
    assert!(opposite.status.success(), "{}", text(&opposite));
    let model = runs(here).into_iter().find(|it| !known.contains(it)).unwrap();
    let found = error(here, &model);
    assert!(found < 1.0, "{found}");
}
