//! A whole piece of work without a terminal, from raw files to a report, in a directory of
//! its own and with a home that cannot be written: inspect, run, predict, report.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::{program, python, schema};

/// The session's plan with sixty steps.
const PLAN: &str = "winter by a weighted line";

/// A workspace with the demo's data as a raw file, and a home that must stay as it is.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/bikeshare");
        std::fs::create_dir(place.path("work")).unwrap();
        std::fs::create_dir(place.path("home")).unwrap();
        std::fs::set_permissions(place.path("home"), std::fs::Permissions::from_mode(0o555))
            .unwrap();
        std::fs::copy(assets.join("bikeshare.csv"), place.path("work/bikes.csv")).unwrap();
        let session = std::fs::read_to_string(assets.join("session.ron")).unwrap();
        let session = session.replace("builtin(\"bikeshare\")", "file(\"bikes.csv\")");
        std::fs::write(place.path("work/session.ron"), session).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::halflight();
        command.args(arguments).current_dir(self.path("work")).env("HOME", self.path("home"));
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        command
    }

    fn halflight(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// What it prints, after it succeeded.
    fn text(&self, arguments: &[&str]) -> String {
        let output = self.halflight(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it prints as JSON, which must be as `halflight schema` says.
    fn json(&self, schema: &str, arguments: &[&str]) -> Value {
        let text = self.text(arguments);
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let words: Vec<&str> = std::iter::once("schema").chain(schema.split(' ')).collect();
        let schema = serde_json::from_str(&self.text(&words)).unwrap();
        if let Some(flaw) = schema::flaw(&schema, &value) {
            panic!("{arguments:?}: {flaw}");
        }
        value
    }

    /// A copy of a workspace with one run, which is made once for all tests; the run's directory.
    fn with_run() -> (Self, String) {
        static DONE: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
        let (done, run) = DONE.get_or_init(|| {
            let place = Self::new();
            let run = PathBuf::from(place.run());
            let run = run.strip_prefix(place.path("work")).unwrap().to_owned();
            let done = Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-run");
            let _ = std::fs::remove_dir_all(&done);
            copy(&place.path("work"), &done);
            (done, run)
        });
        let place = Self::new();
        copy(done, &place.path("work"));
        let run = place.path("work").join(run).display().to_string();
        (place, run)
    }

    /// One run of the first plan; its directory.
    fn run(&self) -> String {
        let runs = self.json("run", &["run", "session.ron", "--plan", PLAN, "--json"]);
        runs["runs"][0]["directory"].as_str().unwrap().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(self.path("home"), std::fs::Permissions::from_mode(0o755));
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
    assert!(copied.success());
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn from_raw_files_to_a_report_without_a_terminal_and_without_a_trace_in_the_home() {
    let place = Place::new();
    let inspected = place.json("data inspect", &["data", "inspect", "bikes.csv", "--json"]);
    assert_eq!(inspected["tables"][0]["rows"], 8645);
    place.json("data inspect", &["data", "inspect", "session.ron", "--show-values", "--json"]);
    let asked = ["data", "inspect", "session.ron", "--show-values", "--json", "--include-curator"];
    place.json("data inspect", &asked);
    let run = place.run();

    // A run directory and its model.ron mean the same; so do CSV, Parquet and JSON.
    let arguments = ["predict", &run, "bikes.csv", "--score", "--json", "-o", "out.csv"];
    let summary = place.json("predict", &[&arguments[..], &["--public"]].concat());
    assert_eq!((&summary["rows"], &summary["without_prediction"]), (&8645.into(), &0.into()));
    let rmse = summary["curator_only_score"]["value"].as_f64().unwrap();
    assert!(rmse > 0.0 && rmse < 130.0, "{rmse}");
    let csv = read(place.path("work/out.csv"));
    let predictions: Vec<f64> = csv.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    assert_eq!(predictions.len(), 8645);
    let model = format!("{run}/model.ron");
    assert_eq!(place.text(&["predict", &model, "bikes.csv"]), csv);
    place.text(&["predict", &model, "bikes.csv", "-o", "out.parquet", "--keep", "hr"]);
    let again = place.json("data inspect", &["data", "inspect", "out.parquet", "--json"]);
    let columns = again["tables"][0]["columns"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hr", "prediction"]);
    // A name of more characters than a terminal has columns, or a format has bits for.
    let name = "n".repeat(70_000);
    let bikes = read(place.path("work/bikes.csv"));
    let ends = std::iter::once(name.as_str()).chain(std::iter::repeat("1"));
    let long = bikes.lines().zip(ends).map(|(line, end)| format!("{line},{end}\n"));
    std::fs::write(place.path("work/long.csv"), long.collect::<String>()).unwrap();
    let kept = place.text(&["predict", &model, "long.csv", "--keep", &name]);
    assert!(kept.starts_with(&format!("{name},prediction\n1,")), "{}", &kept[kept.len() - 80..]);
    let printed = place.json("predict", &["predict", &model, "bikes.csv", "--json"]);
    let printed: Vec<f64> =
        serde_json::from_value(printed["columns"]["prediction"].clone()).unwrap();
    assert_eq!(printed, predictions);
    // The winter of the session is the winter of the file.
    let winter = place.json(
        "predict",
        &["predict", &model, "session.ron", "--dataset", "winter", "--score", "--json"],
    );
    let count = |rows: &str| rows.lines().filter(|line| line.starts_with("1,")).count();
    let rows = winter["columns"]["prediction"].as_array().unwrap().len();
    assert_eq!(winter["rows"], rows);
    assert_eq!(rows, count(&read(place.path("work/bikes.csv"))));
    let asked = [&arguments[..], &["--force", "--include-curator"]].concat();
    assert_eq!(place.json("predict", &asked)["curator_only_score"]["value"], rmse);

    let left = read(Path::new(&run).join("report.html"));
    assert!(left.contains("Released numbers only") && !left.contains('◆'));
    let second = place.run();
    let both = ["report", &run, &second, "-o", "both.html", "--json"];
    let summary = place.json("report", &both);
    assert_eq!(summary["together"][0]["runs"].as_array().unwrap().len(), 2);
    let page = read(place.path("work/both.html"));
    assert!(page.contains("Runs A, B together cost") && !page.contains('◆'), "{page}");
    let curators = ["report", ".", "-o", "mine.html", "--include-curator", "--json"];
    assert_eq!(place.json("report", &curators)["curator_only"], true);
    assert!(read(place.path("work/mine.html")).contains("do not pass it on"));

    let ledger = place.json("ledger", &["ledger", "--json"]);
    assert_eq!(ledger["accounts"][0]["runs"].as_array().unwrap().len(), 2);
    // Whoever may write there in spite of its permissions leaves the user's secret and what
    // ledgers were seen, and nothing else.
    let names = |folder: &str| -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(place.path(folder)) else { return Vec::new() };
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let written = [names("home"), names("home/.config"), names("home/.config/halflight")].concat();
    let secret = [".config", "halflight", "ledgers", "secret"];
    assert!(written.is_empty() || written == secret, "{written:?} was written into the home");
}

/// A plan that cannot run, and a budget with room for the first plans only, stop the command before
/// anything is spent. Afterwards the runs are compared in a sentence, as in a report on them.
#[test]
fn all_plans_are_checked_before_one_spends_and_their_runs_are_compared() {
    let place = Place::new();
    let session = read(place.path("work/session.ron"));
    let refused = |changed: String, wanted: &[&str]| {
        std::fs::write(place.path("work/session.ron"), changed).unwrap();
        let output = place.halflight(&["run", "session.ron", "--sealed"]);
        let said = stderr(&output);
        assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
        assert!(wanted.iter().all(|it| said.contains(it)), "{said}");
        let ledger = place.json("ledger", &["ledger", "--json"]);
        let runs = |it: &Value| it["runs"].as_array().map_or(0, Vec::len);
        let accounts = ledger["accounts"].as_array().map_or(0, |all| all.iter().map(runs).sum());
        assert_eq!(accounts, 0, "{ledger}");
    };
    let last = session.rfind("public: [").unwrap();
    let (before, after) = session.split_at(last);
    let unknown = format!("{before}{}", after.replacen("\"spring\"", "\"sprong\"", 1));
    refused(unknown, &["plan 'winter without its labels'", "sprong"]);
    let small = session.replace("(epsilon: 4.0, delta: 1e-5)", "(epsilon: 1.3, delta: 1e-5)");
    refused(small, &["plan 'winter without its labels'", "nothing was spent", "--plan NAME"]);
    std::fs::write(place.path("work/session.ron"), session).unwrap();
    let text = place.text(&["run", "session.ron", "--sealed"]);
    let answer = |text: &str| text.lines().any(|line| line.starts_with("Take "));
    assert!(answer(&text), "{text}");
    let over = ["sweep", "session.ron", "--plan", PLAN, "--over", "epsilon=0.3,0.4", "--sealed"];
    let swept = place.text(&over);
    assert!(answer(&swept), "{swept}");
    let runs = text.lines().filter_map(|line| line.strip_prefix("  written to "));
    place.text(&[&["report", "-o", "all.html"][..], &runs.collect::<Vec<_>>()].concat());
    let page = read(place.path("work/all.html"));
    assert!(
        page.contains("<th>Take</th><td><b>") && page.contains("Run A (") && !page.contains('◆')
    );
}

#[test]
fn what_a_command_prints_as_json_is_as_its_schema_says() {
    let place = Place::new();
    place.json("ledger", &["ledger", "--json"]);
    place.json("methods", &["methods", "--json"]);
    place.json("account", &["account", "--sigma", "20", "--steps", "10,100", "--json"]);
    place.json("account", &["account", "--target-epsilon", "1", "--json"]);
    place.json("man", &["man", "--out", "pages", "--json"]);
    place.json("schema", &["schema"]);
    let run = ["run", "session.ron", "--json", "--include-curator"];
    let runs = place.json("run", &run);
    assert!(runs["runs"][0]["curator_only_private_rmse"]["model"].is_number());
    place.json("ledger", &["ledger", "--json"]);
    let rank = ["rank", "session.ron", "--repeats", "2", "--json"];
    place.json("rank", &rank);
    place.json("rank", &[&rank[..], &["--include-curator"]].concat());
    let ranked = place.json("rank", &[&rank[..], &["--private", "0.1"]].concat());
    assert!(ranked["errors"][0]["error"]["mean"].is_number());
    let private = ["--private", "0.1", "--mechanism", "table"];
    let table = place.json("rank", &[&rank[..], &private].concat());
    assert!(table["released"][0]["energy"]["mean"].is_number());
    place.json("ledger", &["ledger", "--json"]);
    place.json("ledger verify", &["ledger", "verify", "--json"]);
    let plan = runs["runs"][0]["plan"].as_str().unwrap();
    let few = ["--methods", "target_only", "--repetitions", "1", "--over", "epsilon=2", "--json"];
    let rehearse = [&["rehearse", "session.ron", "--plan", plan], few.as_slice()].concat();
    let rehearsed = place.json("rehearse", &rehearse);
    assert_eq!(rehearsed["rehearsals"].as_array().unwrap().len(), 3);
    let inspect = ["data", "inspect", "bikes.csv", "bikes.csv", "--json"];
    place.json("data inspect", &inspect);
    // Every schema that there is was used here or above, but for these, whose commands take long.
    let schemas: Value = serde_json::from_str(&place.text(&["schema"])).unwrap();
    let known: Vec<_> = schemas["schemas"].as_array().unwrap().iter().collect();
    assert!(known.iter().any(|name| *name == "verify"), "{known:?}");
}

#[test]
fn the_validator_of_these_tests_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "a": { "type": "array", "items": { "$ref": "#/$defs/word" } },
            "b": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
        },
        "required": ["a"],
        "$defs": { "word": { "enum": ["x", "y"] } },
    });
    let flaw = |text: &str| schema::flaw(&schema, &serde_json::from_str(text).unwrap());
    assert_eq!(flaw(r#"{"a": ["x", "y"], "b": null}"#), None);
    for (text, wanted) in [
        (r#"{"b": 1}"#, "lacks 'a'"),
        (r#"{"a": ["z"]}"#, "$.a[0] is \"z\""),
        (r#"{"a": [], "b": 1.5}"#, "$.b is 1.5"),
        (r#"{"a": [], "c": 1}"#, "$.c is not documented"),
        ("[]", "not object"),
    ] {
        assert!(flaw(text).unwrap().contains(wanted), "{text}");
    }
}

/// Exact numbers of private rows are marked, asked for by name, and in the ledger before.
#[test]
fn a_score_and_a_look_at_values_of_private_rows_are_in_the_ledger_and_in_json_only_when_asked() {
    let place = Place::new();
    let looks = || {
        let book = place.json("ledger", &["ledger", "--json"]);
        let entries = book["accounts"][0]["unprotected"].as_array().cloned().unwrap_or_default();
        entries.len()
    };
    // Before the ledger has met the dataset there is no account to write into.
    place.text(&["data", "inspect", "session.ron", "--show-values"]);
    assert!(!place.path("work/.halflight").exists());
    let run = place.run();
    assert_eq!(looks(), 0);
    let text = place.text(&["data", "inspect", "session.ron", "--show-values"]);
    assert!(text.contains(" ◆") && text.contains("for your eyes only"), "{text}");
    assert_eq!(looks(), 1);
    place.text(&["data", "inspect", "session.ron"]);
    place.text(&["data", "inspect", "bikes.csv"]);
    assert_eq!(looks(), 1);
    place.text(&["data", "inspect", "bikes.csv", "--show-values"]);
    assert_eq!(looks(), 2, "the private rows are among those of this file");

    let winter =
        ["predict", &run, "session.ron", "--dataset", "winter", "-o", "out.csv", "--force"];
    let json = [&winter[..], &["--score", "--json"]].concat();
    let summary = place.json("predict", &json);
    for exact in ["without_prediction", "clipped", "unknown_values", "curator_only_score"] {
        assert!(summary.get(exact).is_none(), "{exact}");
    }
    assert_eq!(looks(), 3);
    let whole = place.json("predict", &[&json[..], &["--include-curator"]].concat());
    assert!(whole["curator_only_score"]["value"].as_f64().unwrap() > 0.0);
    assert_eq!(looks(), 4);
    let text = place.text(&[&winter[..], &["--score"]].concat());
    assert!(text.contains('◆'), "{text}");
    place.text(&["predict", &run, "bikes.csv", "--score", "-o", "out.csv", "--force"]);
    assert_eq!(looks(), 6);
    // Predictions alone, and what is public, are no looks.
    place.text(&winter);
    let summer = ["predict", &run, "session.ron", "--dataset", "summer", "--score"];
    let output = place.halflight(&summer);
    assert!(output.status.success() && !stderr(&output).contains('◆'), "{}", stderr(&output));
    assert_eq!(looks(), 6);
}

#[test]
fn a_prediction_that_cannot_be_made_is_refused_with_names_and_leaves_no_file() {
    let (place, run) = Place::with_run();
    let refused = |arguments: &[&str], code: i32, wanted: &[&str]| {
        let output = place.halflight(&[&["predict", run.as_str()], arguments].concat());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        for wanted in wanted {
            assert!(text.contains(wanted), "{arguments:?}: {wanted} is missing in:\n{text}");
        }
        assert!(text.contains("what to do"), "{arguments:?} names no cure:\n{text}");
        assert!(output.stdout.is_empty());
    };
    let write =
        |name: &str, text: &str| std::fs::write(place.path("work").join(name), text).unwrap();
    let header = "hr,holiday,workingday,weathersit,temp,hum,windspeed,bikers";
    write("short.csv", "hr,holiday,workingday,temp,humidity\n1,0,1,0.5,0.5\n");
    refused(&["short.csv", "-o", "none.csv"], 1, &["'weathersit', 'hum', 'windspeed'", "--rename"]);
    write("gap.csv", &format!("{header}\n1,0,1,clear,0.5,,0.1,3\n"));
    refused(&["gap.csv", "-o", "none.csv"], 1, &["gap.csv:2, column 'hum'"]);
    write("text.csv", &format!("{header}\n1,0,1,clear,warm,0.5,0.1,3\n"));
    refused(&["text.csv", "-o", "none.csv"], 1, &["text.csv:2, column 'temp'", "'warm'"]);
    refused(&["absent.csv", "-o", "none.csv"], 1, &["absent.csv"]);
    refused(&["bikes.csv", "-o", "none.xlsx"], 2, &[".parquet"]);
    refused(&["bikes.csv", "-o", "bikes.csv"], 2, &["there already"]);
    refused(&["session.ron"], 2, &["--dataset"]);
    refused(&["bikes.csv", "--keep", "hour"], 1, &["no column 'hour'"]);
    refused(&["bikes.csv", "--rename", "bikers=temp"], 2, &["cannot be renamed"]);
    assert!(!place.path("work/none.csv").exists());

    // Gaps may be left out or filled, and columns renamed, where that is asked for.
    let text = place.text(&["predict", &run, "gap.csv", "--missing", "drop", "--keep", "hr"]);
    assert_eq!(text, "hr,prediction\n1,\n");
    let text = place.text(&["predict", &run, "gap.csv", "--missing", "public-mean"]);
    assert!(text.lines().nth(1).unwrap().parse::<f64>().is_ok(), "{text}");
    // Identifiers go along as they stand; numbers are numbers.
    for (ids, kept) in [
        (["007", "8"], ["007", "8"]),
        (["9007199254740993", "NA"], ["9007199254740993", "NA"]),
        (["1.50", "NA"], ["1.5", ""]),
    ] {
        let rows = ids.map(|id| format!("1,0,1,clear,0.5,0.5,0.1,3,{id}\n")).concat();
        write("ids.csv", &format!("{header},id\n{rows}"));
        let text = place.text(&["predict", &run, "ids.csv", "--keep", "id"]);
        let first = |line: &str| line.split(',').next().unwrap().to_owned();
        let ids: Vec<String> = text.lines().skip(1).map(first).collect();
        assert_eq!(ids, kept, "{text}");
    }
    let renamed = format!("{header}\n1,0,1,clear,0.5,0.5,0.1,3\n").replace("hum", "humidity");
    write("named.csv", &renamed);
    place.text(&["predict", &run, "named.csv", "--rename", "humidity=hum", "-o", "out.csv"]);
    place.text(&[
        "predict",
        &run,
        "named.csv",
        "--rename",
        "humidity=hum",
        "-o",
        "out.csv",
        "--force",
    ]);
}

#[test]
fn a_model_reads_the_files_of_its_private_dataset_under_their_own_names() {
    let place = Place::new();
    let raw = read(place.path("work/bikes.csv")).replacen("hum", "humidity", 1);
    std::fs::write(place.path("work/raw.csv"), raw).unwrap();
    let session = read(place.path("work/session.ron"));
    let renamed = session.replacen(
        "source: file(\"bikes.csv\"),",
        "source: file(\"raw.csv\"), rename: {\"humidity\": \"hum\"},",
        1,
    );
    std::fs::write(place.path("work/session.ron"), renamed).unwrap();
    let run = place.run();
    let raw = place.text(&["predict", &run, "raw.csv"]);
    assert_eq!(raw, place.text(&["predict", &run, "bikes.csv"]));
}

/// Python reads the model and computes the same predictions from what travels with it.
#[test]
fn python_reads_the_model_and_predicts_the_same() {
    let (place, run) = Place::with_run();
    place.text(&["predict", &run, "bikes.csv", "-o", "out.csv"]);
    let files = [
        Path::new(&run).join("model.safetensors"),
        place.path("work/bikes.csv"),
        place.path("work/out.csv"),
    ];
    if let Some(said) = python::script("predict.py", "import safetensors, numpy", &files) {
        assert!(said.contains("'(intercept)'") && said.contains("8645 rows"), "{said}");
    }
}

/// `halflight … | head -1`, and the same for what goes to standard error.
#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let (place, run) = Place::with_run();
    for arguments in [
        vec!["predict", run.as_str(), "bikes.csv"],
        vec!["methods"],
        vec!["report", run.as_str(), "-o", "-"],
        vec!["completions", "bash"],
        vec!["man", "run"],
        vec!["--help"],
    ] {
        let mut child = place
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{arguments:?}: {}", stderr(&output));
    }
    // In a workspace of its own: a copy has another user's secret.
    let place = Place::new();
    let mut child = place
        .command(&["run", "session.ron", "--plan", PLAN, "--json"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn quiet_says_nothing_beside_the_result_and_verbose_says_more() {
    let place = Place::new();
    // Every fifth row is enough.
    let bikes = place.path("work/bikes.csv");
    let few: Vec<String> =
        read(&bikes).lines().step_by(5).map(|line| format!("{line}\n")).collect();
    std::fs::write(bikes, few.concat()).unwrap();
    let plan = ["--plan", PLAN];
    let said = |flag: &[&str]| {
        let output = place.halflight(&[&["run", "session.ron"], plan.as_slice(), flag].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!output.stdout.is_empty());
        stderr(&output)
    };
    assert_eq!(said(&["--quiet"]), "");
    let (normal, verbose) = (said(&[]), said(&["-v"]));
    assert!(normal.contains("step 60 of 60") && !normal.contains("step 2 of 60"), "{normal}");
    assert!(verbose.contains("step 2 of 60") && verbose.contains("seed 1"), "{verbose}");
}

#[test]
fn an_interrupted_run_ends_with_130_and_its_spend_is_in_the_ledger() {
    let place = Place::new();
    let plan = ["--plan", PLAN, "--pace", "4"];
    let arguments = [&["run", "session.ron", "--json"], plan.as_slice()].concat();
    let mut child =
        place.command(&arguments).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("step 1 of")));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let told: Vec<String> = lines.map_while(Result::ok).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{told:?}");
    let runs: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(runs["runs"][0]["outcome"], "stopped");
    let ledger = place.json("ledger", &["ledger", "--json"]);
    assert!(ledger["accounts"][0]["spent"]["epsilon"].as_f64().unwrap() > 0.0);
}

#[test]
fn completions_are_scripts_that_their_shells_accept() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.path(shell);
        std::fs::write(&script, place.text(&["completions", shell])).unwrap();
        match Command::new(shell).arg("-n").arg(&script).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {}", stderr(&output)),
            Err(_) => eprintln!("SKIPPED: {shell} is not here to read its completions"),
        }
    }
}
