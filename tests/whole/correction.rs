//! Public shape, private correction, by the real program.

use std::fmt::Write;
use std::path::Path;
use std::process::Output;

use crate::{program, python};

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

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

/// Rows of a wave that no line follows, at another level and scale where they are private.
fn table(rows: std::ops::Range<u32>, answer: &dyn Fn(f64) -> String) -> String {
    let mut text = "x,z,c,y\n".to_owned();
    for i in rows {
        let (x, z) = ((f64::from(i) * 0.37).sin(), (f64::from(i) * 0.11).cos());
        let wave = (4.0 * x).sin() + 0.3 * z + 0.05 * (f64::from(i) * 1.7).sin();
        let colour = ["red", "green", "blue"][i as usize % 3];
        writeln!(text, "{x},{z},{colour},{}", answer(wave)).unwrap();
    }
    text
}

const PRIVATE: std::ops::Range<u32> = 0..700;
const PUBLIC: std::ops::Range<u32> = 1000..2200;

/// A workspace in which `method` learns what these functions say of the wave.
fn workspace(
    method: &str,
    about: &str,
    private: &dyn Fn(f64) -> String,
    public: &dyn Fn(f64) -> String,
) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("private.csv"), table(PRIVATE, private)).unwrap();
    std::fs::write(directory.path().join("public.csv"), table(PUBLIC, public)).unwrap();
    let session = format!(
        "(version: 1, name: \"test\", datasets: [\
           (name: \"ours\", role: private, source: file(\"private.csv\"), {about}),\
           (name: \"theirs\", role: public, source: file(\"public.csv\"), {about})],\
         budgets: {{\"ours\": (epsilon: 9.0, delta: 1e-5)}},\
         plans: [(name: \"first\", method: \"{method}\", private: \"ours\", public: [\"theirs\"],\
           target: (epsilon: 3.0, delta: 1e-5), seed: 3)])"
    );
    std::fs::write(directory.path().join("session.ron"), session).unwrap();
    directory
}

const NUMBER: &str = "label: \"y\"";
const CLASS: &str = "label: \"y\", task: classification";

fn number(slope: f64, level: f64) -> impl Fn(f64) -> String {
    move |wave| format!("{}", slope * wave + level)
}

fn run(directory: &Path) {
    let output = halflight(directory, &["run", "session.ron", "--json"]);
    assert!(output.status.success(), "{}", text(&output));
}

fn run_directory(directory: &Path) -> String {
    let runs = directory.join(".halflight/runs");
    let run = std::fs::read_dir(runs).unwrap().flatten().next().unwrap();
    run.path().to_str().unwrap().to_owned()
}

#[test]
fn a_regression_beats_both_linear_models_and_its_model_predicts_anywhere() {
    let directory = workspace("public_shape", NUMBER, &number(1.2, 0.5), &number(1.0, 0.0));
    let here = directory.path();
    run(here);
    let run = run_directory(here);
    let model = std::fs::read_to_string(Path::new(&run).join("model.ron")).unwrap();
    assert!(model.contains("kind: \"shape\"") && model.contains("predictor.1.forest.threshold"));
    let scored = ["predict", &run, "private.csv", "--score", "--json", "-o", "out.csv"];
    let scored = json(&halflight(here, &[&scored[..], &["--public"]].concat()));
    let rmse = scored["curator_only_score"]["value"].as_f64().unwrap();
    // The wave has a standard deviation of 0.9, of which the best line leaves most.
    assert!(rmse < 0.35, "{rmse}");

    // Python computes the same of the files alone.
    let files =
        [Path::new(&run).join("model.safetensors"), here.join("private.csv"), here.join("out.csv")];
    if let Some(said) = python::script("predict.py", "import safetensors, numpy", &files) {
        assert!(said.contains("700 rows"), "{said}");
    }
}

#[test]
fn two_and_three_classes_are_told_apart() {
    let two = |limit: f64| move |wave: f64| if wave > limit { "yes" } else { "no" }.to_owned();
    let three = |limit: f64| {
        move |wave: f64| {
            let class = if wave > limit + 0.4 {
                "high"
            } else if wave > limit - 0.4 {
                "mid"
            } else {
                "low"
            };
            class.to_owned()
        }
    };
    let score = |directory: &tempfile::TempDir| {
        run(directory.path());
        let run = run_directory(directory.path());
        let scored = ["predict", &run, "private.csv", "--score", "--json", "--public"];
        let scored = json(&halflight(directory.path(), &scored));
        scored["curator_only_score"]["value"].as_f64().unwrap()
    };
    let right = score(&workspace("public_shape_classes", CLASS, &two(0.3), &two(0.0)));
    assert!(right > 0.85, "{right}");
    let right = score(&workspace("public_shape_classes", CLASS, &three(0.2), &three(0.0)));
    assert!(right > 0.7, "{right}");
}

#[test]
fn odd_public_tables_end_in_a_model_or_a_sentence() {
    let write = |directory: &Path, name: &str, text: &str| {
        std::fs::write(directory.join(name), text).unwrap();
    };
    let ends = |directory: &Path, wanted: Option<&str>| {
        let output = halflight(directory, &["run", "session.ron", "--json"]);
        let said = text(&output);
        assert!(!said.contains("panicked"), "{said}");
        match wanted {
            None => assert!(output.status.success(), "{said}"),
            Some(sentence) => {
                assert!(!output.status.success() && said.contains(sentence), "{said}");
            }
        }
    };
    let plain = || workspace("public_shape", NUMBER, &number(1.0, 0.5), &number(1.0, 0.0));
    // Thirty public rows; a constant column; an outlier of 1e9; a colour only private rows have.
    let directory = plain();
    write(directory.path(), "public.csv", &table(1000..1030, &number(1.0, 0.0)));
    ends(directory.path(), None);
    let directory = plain();
    let constant = table(PUBLIC, &number(1.0, 0.0)).replace("green", "red").replace("blue", "red");
    write(directory.path(), "public.csv", &constant);
    ends(directory.path(), None);
    let directory = plain();
    write(
        directory.path(),
        "public.csv",
        &(table(PUBLIC, &number(1.0, 0.0)) + "0.1,0.2,red,1e9\n"),
    );
    ends(directory.path(), None);
    let directory = plain();
    write(
        directory.path(),
        "private.csv",
        &table(PRIVATE, &number(1e6, 0.0)).replace("green", "pink"),
    );
    ends(directory.path(), None);
    // A column without a single value; records without labels that can be read.
    let directory = plain();
    let empty: String = table(PUBLIC, &number(1.0, 0.0))
        .lines()
        .map(|line| line.replacen(",red", ",", 1).replacen(",green", ",", 1))
        .map(|line| line.replacen(",blue", ",", 1) + "\n")
        .collect();
    write(directory.path(), "public.csv", &empty);
    ends(directory.path(), Some("public.csv"));
    // Far more columns than records.
    let directory = plain();
    for (name, rows) in [("private.csv", 0..60_u32), ("public.csv", 100..200)] {
        let mut wide = String::new();
        for column in 0..3000 {
            write!(wide, "x{column},").unwrap();
        }
        wide += "y\n";
        for row in rows {
            for column in 0..3000 {
                write!(wide, "{:.2},", f64::from(row * (column + 1)).sin()).unwrap();
            }
            writeln!(wide, "{}", f64::from(row).sin()).unwrap();
        }
        write(directory.path(), name, &wide);
    }
    ends(directory.path(), Some("3001 features"));
    // Five private records.
    let directory = plain();
    write(directory.path(), "private.csv", &table(0..5, &number(1.0, 0.0)));
    ends(directory.path(), Some("records"));
    // Public records of one class only, with both declared.
    let about = "label: \"y\", task: classification, classes: [\"no\", \"yes\"]";
    let classes = |wave: f64| if wave > 0.0 { "yes" } else { "no" }.to_owned();
    let one = |_: f64| "yes".to_owned();
    let directory = workspace("public_shape_classes", about, &classes, &one);
    ends(directory.path(), None);
}
