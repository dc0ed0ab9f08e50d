//! What stands beside the main error: it is what predictions say, and exact numbers stay at home.

use std::path::{Path, PathBuf};
use std::process::Output;

use halflight::data::fingerprint::InOrder;
use halflight::data::table::seeded;
use halflight::data::{RowChoice, Table, csv};
use halflight::privacy::Secret;
use serde_json::Value;

use crate::{program, schema};

const HOLDOUT: f64 = 0.3;
const SEED: u64 = 5;

/// A folder with rows of here, which are private, and of there, which are public.
struct Place {
    directory: tempfile::TempDir,
}

/// The label is a number, `kind` is "yes" for most large ones.
fn rows(count: usize, shift: usize) -> String {
    let row = |i: usize| {
        // Of different shifts no two rows are alike: public rows must not be private ones.
        let fine = |step: usize, size: usize| ((i * step + 31 * shift) % size) as f64 / 1000.0;
        let a = ((i * 37 + shift) % 101) as f64 + fine(41, 997);
        let b = ((i * 53 + 7 * shift) % 89) as f64 + fine(59, 983);
        let wobble = (i * 29 + shift) % 17;
        let y = 3.0 * a - 2.0 * b + 12.0 * wobble as f64;
        let kind = if y > 90.0 { "yes" } else { "no" };
        format!("{a},{b},{y},{kind}\n")
    };
    format!("a,b,y,kind\n{}", (0..count).map(row).collect::<String>())
}

impl Place {
    fn new(label: &str, method: &str, private: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        write("here.csv", rows(150, 1));
        write("there.csv", rows(200, 3));
        let columns = format!("{label}, columns: only([\"a\", \"b\"])");
        write(
            "s.ron",
            format!(
                "(version: 1, datasets: [
                  (name: \"here\", role: private, source: file(\"here.csv\"), {columns}{private}),
                  (name: \"there\", role: public, source: file(\"there.csv\"), {columns})],
                 budgets: {{\"here\": (epsilon: 9.0, delta: 1e-4)}},
                 plans: [(name: \"p\", method: \"{method}\", private: \"here\", public: [\"there\"],
                   seed: {SEED}, holdout: {HOLDOUT}, target: (epsilon: 2.0, delta: 1e-4))])"
            ),
        );
        Self { directory }
    }

    fn of_numbers() -> Self {
        Self::new("label: \"y\"", "target_only", "")
    }

    fn of_classes(private: &str) -> Self {
        Self::new("label: \"kind\", task: classification", "target_only_logistic", private)
    }

    fn at(&self) -> &Path {
        self.directory.path()
    }

    fn halflight(&self, arguments: &[&str]) -> Output {
        program::halflight().args(arguments).current_dir(self.at()).output().unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.halflight(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it prints as JSON, which must be as its schema says.
    fn json(&self, arguments: &[&str]) -> Value {
        let value = serde_json::from_str(&self.text(arguments)).unwrap();
        let schema = serde_json::from_str(&self.text(&["schema", arguments[0]])).unwrap();
        assert_eq!(schema::flaw(&schema, &value), None, "{arguments:?}");
        value
    }

    /// What the run's model says of all rows of a table that may be told, with these columns.
    fn predicted(&self, run: &str, table: &str, keep: &str) -> Value {
        self.json(&["predict", run, table, "--keep", keep, "--public", "--json"])
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// The rows of a table that a run holds out, by the rule that is kept for ever: public ones by the
/// plan's seed, private ones by the user's secret.
fn held_out(table: &Path) -> Vec<usize> {
    let table = csv::read(table).unwrap();
    let split = if table.origin.ends_with("there.csv") {
        let generator = seeded(SEED.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Table::shuffled_split(table.rows(), HOLDOUT, generator)
    } else {
        let rows = InOrder { rows: table.view, order: table.order };
        let secret = Secret::new([program::SECRET; 32], Path::new("secret"));
        let generator = secret.order_of(&rows).generator(RowChoice::HeldOut, SEED);
        Table::split_rows(table.rows(), HOLDOUT, generator)
    };
    split.unwrap().1
}

/// Private features are kept in single precision.
fn nearly_agree(one: &Value, other: f64) {
    assert!((number(one) / other - 1.0).abs() < 1e-6, "{one} is not {other}");
}

fn agree(one: &Value, other: f64) {
    assert!((number(one) - other).abs() < 1e-9, "{one} is not {other}");
}

/// Every file in and below a folder, but for those that are the curator's own.
fn handed_on(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(handed_on(&path));
        } else if path.file_name().is_some_and(|name| name != "curator.jsonl") {
            found.push(path);
        }
    }
    found
}

/// No file that is handed on holds one of these exact numbers.
fn stays_at_home(place: &Place, run: &str, exact: &[&Value]) {
    place.text(&["report", run, "-o", "out.html", "--csv", "out.csv"]);
    place.text(&["share", run]);
    let folder = Path::new(run);
    let files = [
        handed_on(folder),
        handed_on(&place.at().join("outbox")),
        vec![place.at().join("out.html"), place.at().join("out.csv")],
    ];
    let curators = std::fs::read_to_string(folder.join("curator.jsonl")).unwrap();
    for exact in exact {
        let digits: String = exact.to_string().chars().take(12).collect();
        if digits.len() < 10 {
            // Such a number may stand somewhere by chance.
            continue;
        }
        assert!(curators.contains(&digits), "{digits} is for the curator");
        for file in files.iter().flatten() {
            let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
            assert!(!text.contains(&digits), "{digits} in {}", file.display());
            let is_text = file.extension().is_some_and(|it| it != "safetensors");
            assert!(!is_text || !text.contains("private_a"), "{}", file.display());
        }
    }
}

#[test]
fn the_mean_absolute_error_is_that_of_the_predictions() {
    let place = Place::of_numbers();
    let told = place.json(&["run", "s.ron", "--json", "--include-curator"]);
    let run = &told["runs"][0];
    let folder = run["directory"].as_str().unwrap();
    let errors = |table: &str, rows: usize| {
        let columns = place.predicted(folder, table, "y")["columns"].clone();
        let (answers, labels) = (numbers(&columns["prediction"]), numbers(&columns["y"]));
        assert_eq!(answers.len(), rows);
        let held = held_out(&place.at().join(table));
        let of = |value: &dyn Fn(f64) -> f64| {
            let sum = held.iter().map(|row| value(answers[*row] - labels[*row])).sum::<f64>();
            sum / held.len() as f64
        };
        (of(&|error| error * error).sqrt(), of(&f64::abs))
    };
    let public = &run["public_measures"]["model"];
    let (rmse, absolute) = errors("there.csv", 200);
    agree(&public["rmse"], rmse);
    agree(&public["mean_absolute_error"], absolute);
    assert_eq!(run["public_rmse"]["model"], public["rmse"]);
    assert!(public.get("auc").is_none() && public.get("balanced_accuracy").is_none(), "{public}");
    let exact = &run["curator_only_private_measures"];
    let (rmse, absolute) = errors("here.csv", 150);
    nearly_agree(&exact["model"]["rmse"], rmse);
    nearly_agree(&exact["model"]["mean_absolute_error"], absolute);
    for whose in ["source_only", "target_only"] {
        let absolute = number(&exact[whose]["mean_absolute_error"]);
        assert!(absolute > 0.0 && absolute <= number(&exact[whose]["rmse"]), "{exact}");
    }

    // The score of a table is that of its predictions, too.
    let scored = ["predict", folder, "there.csv", "--keep", "y", "--public", "--score", "--json"];
    let scored = place.json(&scored);
    let columns = &scored["columns"];
    let (answers, labels) = (numbers(&columns["prediction"]), numbers(&columns["y"]));
    let sizes = answers.iter().zip(&labels).map(|(answer, label)| (answer - label).abs());
    let score = &scored["curator_only_score"];
    agree(&score["mean_absolute_error"], sizes.sum::<f64>() / 200.0);
    let private = ["predict", folder, "s.ron", "--dataset", "here", "--score", "--json"];
    assert!(place.json(&private).get("curator_only_score").is_none());

    stays_at_home(&place, folder, &[&exact["model"]["mean_absolute_error"]]);
    let text = std::fs::read_to_string(place.at().join("out.csv")).unwrap();
    assert!(text.lines().next().unwrap().contains("public_absolute_error"), "{text}");
    let asked = ["report", folder, "-o", "mine.html", "--json", "--include-curator"];
    let summary = place.json(&asked);
    let last = &summary["runs"][0]["curator_only_private_measures"]["mean_absolute_error"];
    nearly_agree(last, absolute);
    let plain = place.json(&["report", folder, "-o", "plain.html", "--json"]);
    assert!(plain["runs"][0].get("curator_only_private_measures").is_none());
    assert!(number(&plain["runs"][0]["public_measures"]["mean_absolute_error"]) > 0.0);
}

#[test]
fn of_two_classes_balanced_accuracy_and_auc_are_those_of_the_predictions() {
    let place = Place::of_classes("");
    let told = place.json(&["run", "s.ron", "--json", "--include-curator"]);
    let run = &told["runs"][0];
    let folder = run["directory"].as_str().unwrap();
    let measured = |table: &str, rows: usize| {
        let columns = place.predicted(folder, table, "kind")["columns"].clone();
        let chances = numbers(&columns["probability_yes"]);
        assert_eq!(chances.len(), rows);
        let held = held_out(&place.at().join(table));
        let of = |class: &str| -> Vec<usize> {
            held.iter().copied().filter(|row| columns["kind"][*row] == class).collect()
        };
        let (no, yes) = (of("no"), of("yes"));
        assert!(no.len() > 3 && yes.len() > 3 && no.len() != yes.len(), "both are there");
        let right = |own: &[usize]| {
            let right = |row: &&usize| columns["prediction"][**row] == columns["kind"][**row];
            own.iter().filter(right).count() as f64
        };
        let balanced = 0.5 * (right(&no) / no.len() as f64 + right(&yes) / yes.len() as f64);
        let wrong = 1.0 - (right(&no) + right(&yes)) / held.len() as f64;
        let mut won = 0.0;
        for one in &no {
            for other in &yes {
                won += match chances[*other].total_cmp(&chances[*one]) {
                    std::cmp::Ordering::Greater => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Less => 0.0,
                };
            }
        }
        (wrong, balanced, won / (no.len() * yes.len()) as f64)
    };
    let exact = &run["curator_only_private_measures"];
    for (told, table, rows) in
        [(&run["public_measures"]["model"], "there.csv", 200), (&exact["model"], "here.csv", 150)]
    {
        let (wrong, balanced, auc) = measured(table, rows);
        agree(&told["error_rate"], wrong);
        agree(&told["balanced_accuracy"], balanced);
        agree(&told["auc"], auc);
        assert!(told.get("mean_absolute_error").is_none(), "{told}");
    }
    stays_at_home(&place, folder, &[&exact["model"]["auc"]]);

    // What is not asked for is not there, and a sealed run does not compute it.
    let plain = place.json(&["run", "s.ron", "--json", "--sealed"]);
    let plain = &plain["runs"][0];
    assert!(plain.get("curator_only_private_measures").is_none(), "{plain}");
    assert!(number(&plain["public_measures"]["source_only"]["auc"]) > 0.5, "{plain}");
    let sealed = Path::new(plain["directory"].as_str().unwrap()).join("curator.jsonl");
    assert_eq!(std::fs::read_to_string(sealed).unwrap(), "");
    let text = place.text(&["run", "s.ron"]);
    let heading = "wrong answers, balanced accuracy, AUC on private records held out (◆ exact";
    assert!(text.contains(heading), "{text}");
    let sealed = place.text(&["run", "s.ron", "--sealed"]);
    assert!(!sealed.contains('◆') && sealed.contains("AUC on public records held out"), "{sealed}");
}

#[test]
fn where_all_private_records_are_of_one_class_there_is_no_auc_and_that_is_said() {
    let place = Place::of_classes(", filter: \"kind == \\\"no\\\"\"");
    let told = place.json(&["run", "s.ron", "--json", "--include-curator"]);
    let exact = &told["runs"][0]["curator_only_private_measures"]["model"];
    assert!(exact["auc"].is_null() && exact.get("auc").is_some(), "{exact}");
    assert!(told["runs"][0]["public_measures"]["model"]["auc"].is_number());
    let text = place.text(&["run", "s.ron"]);
    assert!(text.contains("none, as all records are of one class ◆"), "{text}");
    assert!(!place.text(&["run", "s.ron", "--sealed"]).contains("of one class"));
}
