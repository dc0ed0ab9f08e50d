//! Datasets as sessions define them: the real ones, where they are, and small
//! ones that the tests write themselves.

use std::path::{Path, PathBuf};
use std::process::Output;

use halflight::data::Task;
use halflight::data::preparation::{FeatureScaling, LabelRange};
use halflight::engine::PreparedStore;
use halflight::engine::assembly::{Assembly, assemble};
use halflight::error::Result;
use halflight::privacy::Ledger;
use halflight::session::{Loaded, Session, Workspace, dataset};

use crate::{own_secret, program};

/// The folder with the real datasets, if it is here.
fn shared_data() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let found = [beside, PathBuf::from("/work/shared/data")].into_iter().find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: ../shared/data is not there, so no real dataset was loaded");
    }
    found
}

fn open(session: &str) -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions").join(session);
    Session::open(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Not the user's own, nor their secret.
fn workspace(directory: &Path) -> Workspace {
    Workspace::with_folder(directory, own_secret::folder())
}

fn load_all(session: &Session, directory: &Path) -> Vec<Loaded> {
    let workspace = workspace(directory);
    let load = |definition| {
        dataset::load(definition, &workspace).unwrap_or_else(|error| panic!("{error}"))
    };
    session.datasets.iter().map(load).collect()
}

/// Loads every dataset of a session and compares its rows with those documented.
fn loads(session: &Session, directory: &Path, expected: &[(&str, usize)]) -> Vec<Loaded> {
    let loaded = load_all(session, directory);
    let found: Vec<_> =
        loaded.iter().map(|loaded| (loaded.definition.name.as_str(), loaded.rows)).collect();
    assert_eq!(found, expected);
    loaded
}

fn assembled(session: &Session, plan: usize, loaded: &[Loaded]) -> Result<Assembly> {
    let loaded: Vec<_> = loaded.iter().collect();
    assemble(session, &session.plans[plan], &loaded, &PreparedStore::default())
}

#[test]
fn the_regression_datasets_have_their_documented_splits_and_can_be_planned() {
    let Some(data) = shared_data() else { return };
    let session = open("regression.ron");
    let loaded = loads(
        &session,
        &data,
        &[
            ("winter", 2068),
            ("other seasons", 6577),
            ("December", 558),
            ("January to November", 6016),
            ("red", 1599),
            ("white", 4898),
            ("late gas", 764),
            ("early gas", 5933),
            ("JFK", 2231),
            ("LGA and EWR", 8507 + 5828),
            ("April", 20_000),
            ("to March", 160_616),
        ],
    );
    // Features with their encoded categories and "other", and the intercept.
    let dimensions = [Some(37), Some(12), Some(12), Some(6 + 1 + 128 + 1), None];
    for (plan, dimension) in dimensions.into_iter().enumerate() {
        let assembly = assembled(&session, plan, &loaded).unwrap_or_else(|error| panic!("{error}"));
        let public = &assembly.proposal.problem.public;
        assert!(dimension.is_none_or(|dimension| public.dimension() == dimension), "{plan}");
        let share = public.clipped as f64 / public.len() as f64;
        assert!((0.04..0.12).contains(&share), "{plan}: {share}");
    }
}

#[test]
fn the_classification_datasets_have_their_documented_splits() {
    let Some(data) = shared_data() else { return };
    let session = open("classification.ron");
    let loaded = loads(
        &session,
        &data,
        &[
            ("women", 16_192),
            ("men", 32_650),
            ("complete men", 30_527),
            ("settled", 413),
            ("newer", 308 + 149 + 130),
            ("credit in Weka's words", 1000),
            ("VA", 200),
            ("Cleveland and Hungary", 587),
            ("Switzerland", 123),
            ("kitchen", 5945),
            ("books and dvd", 4000),
            ("embedded kitchen", 1000),
            ("embedded others", 3000),
        ],
    );
    assert!(loaded.iter().all(|loaded| loaded.definition.task == Task::Classification));
    // The VA's gaps are not told: its incomplete records are still records.
    let warning = &loaded[6].warnings[0];
    assert!(warning.contains("count as empty ones") && !warning.contains(char::is_numeric));
    assert!(loaded[7].warnings[0].starts_with("10 of 597 rows"), "{:?}", loaded[7].warnings);
}

#[test]
fn the_image_datasets_have_their_documented_sizes() {
    let Some(data) = shared_data() else { return };
    let session = open("images.ron");
    let expected = [
        ("MNIST test", 10_000, 784),
        ("MNIST train", 6000, 784),
        ("Fashion-MNIST", 20_000, 784),
        ("MNIST-M", 2000, 2352),
        ("digits", 1797, 64),
        ("CIFAR train", 2000, 3072),
        ("CIFAR test", 846, 3072),
        ("CIFAR features", 4660, 1280),
        ("CIFAR test features", 846, 1280),
        ("X-rays", 624, 784),
        ("X-rays to learn from", 3882, 784),
    ];
    let rows = expected.map(|(name, rows, _)| (name, rows));
    for (loaded, (name, _, features)) in loads(&session, &data, &rows).iter().zip(expected) {
        let label = loaded.definition.label.as_ref();
        let columns = loaded.columns.iter().filter(|column| Some(&column.name) != label);
        assert_eq!(columns.map(|column| column.width).sum::<usize>(), features, "{name}");
    }
}

/// A workspace with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
}

/// `rows` records of x, z and y; every seventh z is missing where `gaps`.
fn records(from: usize, rows: usize, gaps: bool) -> String {
    let row = |i: usize| {
        let (x, z) = ((i as f64 * 0.37).sin(), (i as f64 * 0.11).cos());
        let y = x - 0.5 * z + 0.1 * (i as f64).sin();
        if gaps && i.is_multiple_of(7) { format!("{x},?,{y}\n") } else { format!("{x},{z},{y}\n") }
    };
    std::iter::once("x,z,y\n".to_owned()).chain((from..from + rows).map(row)).collect()
}

/// One private and one or more public datasets, and a plan for them.
fn session(private: &str, public: &[&str]) -> Session {
    let publics: Vec<_> = public
        .iter()
        .enumerate()
        .map(|(i, fields)| format!("(name: \"theirs {i}\", role: public, label: \"y\", {fields}),"))
        .collect();
    let names: Vec<_> = (0..public.len()).map(|i| format!("\"theirs {i}\"")).collect();
    let text = format!(
        "(version: 1, datasets: [(name: \"ours\", role: private, label: \"y\", {private}), {}],
          plans: [(name: \"first\", method: \"profiled_cnvx_adap\", private: \"ours\",
            public: [{}], target: (epsilon: 1.0, delta: 1e-5))])",
        publics.concat(),
        names.join(", ")
    );
    Session::parse(&text, "s.ron").unwrap_or_else(|error| panic!("{error}"))
}

fn plan(directory: &Path, private: &str, public: &[&str]) -> Result<Assembly> {
    let session = session(private, public);
    let loaded = load_all(&session, directory);
    assembled(&session, 0, &loaded)
}

#[test]
fn tables_with_other_columns_are_reported_side_by_side_and_not_needed_ones_do_not_matter() {
    let theirs = records(0, 300, false);
    let reordered = records(300, 200, false);
    let moved: Vec<String> = reordered
        .lines()
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            format!("{},note,{},{}", cells[2], cells[0], cells[1])
        })
        .collect();
    let moved = (moved.join("\n") + "\n").replacen("note", "remark", 1);
    let directory = directory(&[
        ("ours.csv", &records(600, 200, false)),
        ("theirs.csv", &theirs),
        ("moved.csv", &moved),
        ("renamed.csv", &theirs.replacen("x,z,y", "x,zz,y", 1)),
    ]);
    let ours = "source: file(\"ours.csv\")";
    let theirs = "source: file(\"theirs.csv\")";
    let both = plan(directory.path(), ours, &[theirs, "source: file(\"moved.csv\")"]).unwrap();
    assert_eq!(both.proposal.problem.shape.public_records, 400);
    assert_eq!(both.proposal.problem.shape.dimension, 3);

    let renamed = "source: file(\"renamed.csv\")";
    let error = plan(directory.path(), ours, &[theirs, renamed]).unwrap_err().to_string();
    assert!(error.contains("renamed.csv: its columns do not match those of"), "{error}");
    assert!(error.contains("missing: perhaps 'zz'"), "{error}");
    let cured = "source: file(\"renamed.csv\"), rename: {\"zz\": \"z\"}";
    let cured = plan(
        directory.path(),
        cured,
        &["source: file(\"moved.csv\"), columns: except([\"remark\"])"],
    );
    assert_eq!(cured.unwrap().proposal.problem.shape.private_records, 240);
}

#[test]
fn declared_bounds_that_clip_public_records_are_a_warning_of_the_plan() {
    let directory = directory(&[
        ("ours.csv", &records(600, 200, false)),
        ("theirs.csv", &records(0, 300, false)),
    ]);
    let mut session = session("source: file(\"ours.csv\")", &["source: file(\"theirs.csv\")"]);
    let loaded = load_all(&session, directory.path());
    // A column of this table tells most of the label.
    let warnings = |it: &Assembly| {
        let all = it.proposal.warnings.iter();
        all.filter(|it| !it.contains("alone explains")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(warnings(&assembled(&session, 0, &loaded).unwrap()), [""; 0]);
    let preparation = &mut session.plans[0].preparation;
    preparation.features = FeatureScaling::Declared(0.5);
    preparation.labels = LabelRange::Declared(-2.0, 2.0);
    let tight = assembled(&session, 0, &loaded).unwrap();
    let clipped = tight.proposal.problem.public.clipped;
    let warning = format!("{clipped} of 240 public training records");
    assert!(
        clipped > 100 && warnings(&tight)[0].starts_with(&warning),
        "{:?}",
        tight.proposal.warnings
    );
    session.plans[0].preparation.features = FeatureScaling::Declared(2.0);
    assert_eq!(warnings(&assembled(&session, 0, &loaded).unwrap()), [""; 0]);
}

#[test]
fn an_incomplete_private_record_counts_and_an_incomplete_public_one_does_not() {
    let directory = directory(&[
        ("ours.csv", &records(0, 210, true)),
        ("theirs.csv", &records(700, 350, true)),
    ]);
    let theirs = "source: file(\"theirs.csv\")";
    let refused = plan(directory.path(), "source: file(\"ours.csv\"), missing: drop", &[theirs]);
    assert!(refused.unwrap_err().to_string().contains("found a missing value"));
    // That a private record is incomplete is nobody's to see, so it is no error either.
    for ours in ["source: file(\"ours.csv\")", "source: file(\"ours.csv\"), missing: drop"] {
        let theirs = "source: file(\"theirs.csv\"), missing: drop";
        incomplete_records_are_empty(&plan(directory.path(), ours, &[theirs]).unwrap());
    }

    let filled = plan(
        directory.path(),
        "source: file(\"ours.csv\"), missing: public_mean",
        &["source: file(\"theirs.csv\"), missing: public_mean"],
    )
    .unwrap();
    assert_eq!(filled.proposal.problem.shape.public_records, 280);
}

fn incomplete_records_are_empty(assembly: &Assembly) {
    assert_eq!(assembly.proposal.problem.shape.public_records, 240);
    assert_eq!(assembly.proposal.problem.shape.private_records, 168);
}

#[test]
fn a_file_among_several_shares_the_account_of_the_whole_and_is_not_public_too() {
    let directory =
        directory(&[("a.csv", &records(0, 200, false)), ("b.csv", &records(200, 200, false))]);
    let several = "source: several([file(\"a.csv\"), file(\"b.csv\")])";
    let whole = session(several, &["source: file(\"b.csv\")"]);
    let loaded = load_all(&whole, directory.path());
    assert_eq!(loaded[0].rows, 400);
    let error = assembled(&whole, 0, &loaded).unwrap_err().to_string();
    assert!(error.contains("is private in 'ours' and is among the public rows of"), "{error}");

    let part = load_all(&session("source: file(\"b.csv\")", &[several]), directory.path());
    for order in [[&loaded[0], &part[0]], [&part[0], &loaded[0]]] {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path()).unwrap();
        let accounts = order.map(|loaded| loaded.register(&mut ledger).unwrap());
        assert_eq!(accounts[0], accounts[1]);
    }
    let twice = session(
        "source: several([file(\"a.csv\"), file(\"a.csv\")])",
        &["source: file(\"b.csv\")"],
    );
    let error = dataset::load(&twice.datasets[0], &workspace(directory.path())).unwrap_err();
    assert!(error.to_string().contains("the same rows are named twice"), "{error}");
}

#[test]
fn a_folder_of_parts_is_one_dataset_and_stays_the_same_account_as_it_grows() {
    let directory = directory(&[
        ("ours/part-0.csv", &records(0, 200, false)),
        ("ours/part-1.csv", &records(200, 200, false)),
        ("ours/_SUCCESS", ""),
        ("theirs/2023/a.csv", &records(900, 150, false)),
        ("theirs/2024/a.csv", &records(1200, 150, false)),
    ]);
    let theirs = "source: file(\"theirs/*/*.csv\")";
    let whole = session("source: file(\"ours\")", &[theirs]);
    let loaded = load_all(&whole, directory.path());
    assert_eq!((loaded[0].rows, loaded[1].rows), (400, 300));
    assert!(assembled(&whole, 0, &loaded).is_ok());
    let found = stdout(&halflight(directory.path(), &["data", "inspect", "theirs/*/*.csv"]));
    assert!(found.contains("300"), "{found}");
    assert!(found.contains("all files of 'theirs/*/*.csv' are one dataset"), "{found}");

    let part = load_all(&session("source: file(\"ours/part-1.csv\")", &[theirs]), directory.path());
    std::fs::write(directory.path().join("ours/part-2.csv"), records(400, 100, false)).unwrap();
    let grown = load_all(&whole, directory.path());
    assert_eq!(grown[0].rows, 500);
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    let datasets = [&loaded[0], &part[0], &grown[0]];
    let accounts = datasets.map(|loaded| loaded.register(&mut ledger).unwrap());
    assert!(accounts.iter().all(|account| *account == accounts[0]), "{accounts:?}");

    std::fs::write(directory.path().join("ours/part-3.csv"), "age,cost\n1,2\n").unwrap();
    let error = dataset::load(&whole.datasets[0], &workspace(directory.path())).unwrap_err();
    assert!(error.to_string().contains("or name the files one by one"), "{error}");
    std::fs::remove_file(directory.path().join("ours/part-3.csv")).unwrap();

    std::fs::create_dir(directory.path().join("ours/year=2025")).unwrap();
    let error = dataset::load(&whole.datasets[0], &workspace(directory.path())).unwrap_err();
    assert!(error.to_string().contains("whose name may be a column"), "{error}");
}

#[test]
fn what_a_definition_says_of_columns_must_be_there() {
    let directory = directory(&[("a.csv", &records(0, 20, false))]);
    let refused = |fields: &str| {
        let session =
            session(&format!("source: file(\"a.csv\"), {fields}"), &["source: file(\"a.csv\")"]);
        dataset::load(&session.datasets[0], &workspace(directory.path())).unwrap_err().to_string()
    };
    assert!(refused("units: {\"xx\": \"m\"}").contains("did you mean 'x'"));
    assert!(refused("notes: {\"w\": \"?\"}").contains("no column 'w'"));
    assert!(refused("sample: (rows: 21)").contains("sample 1 to 20 rows"));
    assert!(refused("filter: \"x > 2\"").contains("selects no row"));
}

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().args(arguments).current_dir(directory).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn inspect_explains_files_shows_values_only_when_asked_and_writes_nothing() {
    let people = "name,age,income,k\nanna,30,low,1\nbert,,high,1\ncleo,50,high,1\n";
    let directory =
        directory(&[("people.csv", people), ("other.csv", &people.replace("age", "years"))]);
    let text = stdout(&halflight(directory.path(), &["data", "inspect", "people.csv"]));
    for wanted in [
        "people.csv: 3 rows, 4 columns",
        "1 missing",
        "! k: constant",
        "label? income: classification with 2 classes",
        "source: file(\"people.csv\")",
        "task: classification",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
    assert!(!text.contains("anna") && !text.contains("high") && !text.contains("50"), "{text}");
    // The suggestion is a dataset of a session.
    let at = text.find("(\n").unwrap();
    let end = text[at..].find("\n)").unwrap() + at + 2;
    let suggested = format!("(version: 1, datasets: [{}])", &text[at..end]);
    assert_eq!(Session::parse(&suggested, "s").unwrap().datasets[0].name, "people");

    let text =
        stdout(&halflight(directory.path(), &["data", "inspect", "people.csv", "--show-values"]));
    let lines = ["least middle greatest", "▇   ", "30    40     50", "high 67 %, low 33 %"];
    assert!(lines.iter().all(|line| text.contains(line)), "{text}");

    let json = stdout(&halflight(
        directory.path(),
        &["data", "inspect", "people.csv", "other.csv", "--json", "--include-curator"],
    ));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tables"][0]["columns"][1]["missing"], 1);
    let differing = &json["compatibility"][0]["columns"];
    assert_eq!(differing[1]["verdict"], "only_in_first");
    assert_eq!(differing[4]["verdict"], "only_in_second");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

/// A file without a declared role may be private: none of its cells is quoted.
#[test]
fn inspect_describes_public_files_as_the_interface_opens_them() {
    let with = |odd: &str| {
        let rows = (0..40).map(|row| match row {
            16 => format!("{odd},{}.5\n", row % 7),
            _ => format!("{}.25,{}.5\n", row % 9, row % 7),
        });
        format!("temp,y\n{}", rows.collect::<String>())
    };
    let (plain, odd) = (with("3.5"), with("n.a."));
    let directory = directory(&[("ours.csv", &plain), ("more.csv", &odd), ("p.csv", &odd)]);
    let inspect = |arguments: &[&str]| {
        stdout(&halflight(directory.path(), &[&["data", "inspect"], arguments].concat()))
    };
    let text = inspect(&["ours.csv", "--public", "p.csv"]);
    assert!(text.contains("not a number and read as missing: 'n.a.'"), "{text}");
    assert!(text.contains("\"n.a.\""), "{text}");
    assert!(!inspect(&["ours.csv", "more.csv"]).contains("\"n.a.\""));
}

#[test]
fn inspect_does_not_show_a_first_record_as_names() {
    let directory = tempfile::tempdir().unwrap();
    let rows = "miller,31.5,high\nsmith,40.25,low\njones,55,low\n";
    std::fs::write(directory.path().join("headerless.csv"), rows).unwrap();
    let inspect = |more: &[&str]| {
        let arguments = [&["data", "inspect", "headerless.csv"], more].concat();
        stdout(&halflight(directory.path(), &arguments))
    };
    // A remark may come from a single record, so it is not in JSON that may be passed on.
    for (more, explained) in
        [(&[][..], true), (&["--json"], false), (&["--json", "--include-curator"], true)]
    {
        let text = inspect(more);
        assert!(!text.contains("miller") && !text.contains("31.5"), "{text}");
        assert!(text.contains("column 2"), "{text}");
        assert_eq!(text.contains("no header line"), explained, "{text}");
    }
    assert!(!inspect(&[]).contains("label"));
    assert!(inspect(&["--show-values"]).contains("miller"));
    let public = halflight(directory.path(), &["data", "inspect", "--public", "headerless.csv"]);
    assert!(stdout(&public).contains("miller"));
}

#[test]
fn words_of_a_first_record_are_no_names_of_a_private_file() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let rows = "miller,hiv,high\nsmith,flu,low\njones,hiv,high\nbrown,hiv,low\n".repeat(30);
    std::fs::write(here.join("headerless.csv"), rows).unwrap();
    let text = stdout(&halflight(here, &["data", "inspect", "headerless.csv"]));
    assert!(text.contains("column 2") && !text.contains("hiv"), "{text}");
    let session = |source: &str| {
        let text =
            format!("(version: 1, datasets: [(name: \"ours\", role: private, source: {source})])");
        std::fs::write(here.join("s.ron"), text).unwrap();
        halflight(here, &["data", "inspect", "s.ron"])
    };
    let refused = session("file(\"headerless.csv\")");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(
        said.contains("the first line may be a record") && said.contains("names: […]"),
        "{said}"
    );
    let named =
        session("delimited(file: \"headerless.csv\", names: [\"name\", \"illness\", \"risk\"])");
    assert!(named.status.success(), "{}", String::from_utf8_lossy(&named.stderr));
}

/// Nobody has said whether a file is private: what a single record decides is not in JSON.
#[test]
fn inspect_prints_exact_numbers_of_what_may_be_private_only_when_asked() {
    let people = "name,age,income,k\nanna,30,low,1\nbert,,high,1\ncleo,50,high,1\n";
    let garbled = people.replace("bert,,high,1", "x,y,,7,,9");
    let directory = directory(&[("people.csv", people), ("garbled.csv", &garbled)]);
    let inspect = |arguments: &[&str]| {
        let all = [&["data", "inspect"], arguments, &["--json"]].concat();
        let json = stdout(&halflight(directory.path(), &all));
        serde_json::from_str::<serde_json::Value>(&json).unwrap()
    };
    let mut tables = ["people.csv", "garbled.csv"].map(|file| {
        let table = inspect(&[file])["tables"][0].clone();
        let mut fields: Vec<_> = table.as_object().unwrap().keys().cloned().collect();
        fields.sort_unstable();
        assert_eq!(fields, ["columns", "origin", "role", "rows", "warnings"]);
        assert_eq!(table["columns"][1], serde_json::json!({"name": "age", "kind": "numbers"}));
        table
    });
    for table in &mut tables {
        table["origin"] = "".into();
    }
    assert_eq!(tables[0], tables[1]);

    // A file that is named twice is public, and is there once.
    let public = inspect(&["people.csv", "--public", "./people.csv"]);
    assert_eq!(public["tables"].as_array().unwrap().len(), 1);
    assert_eq!(public["tables"][0]["role"], "public");
    let public = inspect(&["garbled.csv", "--public", "people.csv"]);
    assert_eq!(public["tables"][1]["columns"][1]["missing"], 1);
    assert_eq!(public["tables"][1]["role"], "public");
    assert!(public["compatibility"].as_array().unwrap().is_empty());
    // Named before, too: the other file is of nobody knows whom.
    let both = inspect(&["garbled.csv", "people.csv", "--public", "people.csv"]);
    let roles = [0, 1].map(|at| (&both["tables"][at]["origin"], &both["tables"][at]["role"]));
    let [nobody, said] = ["garbled.csv", "people.csv"].map(|it| serde_json::json!(it));
    assert_eq!(roles, [(&nobody, &().into()), (&said, &"public".into())]);
    assert_eq!(both["tables"].as_array().unwrap().len(), 2);
    assert_eq!(both["tables"][0]["columns"][1].get("profile"), None);
    let ages = &both["tables"][1]["columns"][1]["profile"]["numbers"];
    assert_eq!(
        (&ages["least"], &ages["middle"], &ages["greatest"]),
        (&30.0.into(), &40.0.into(), &50.0.into())
    );
    let incomes = &both["tables"][1]["columns"][2]["profile"]["texts"];
    assert_eq!(
        *incomes,
        serde_json::json!([{"text": "high", "rows": 2}, {"text": "low", "rows": 1}])
    );
    let asked = inspect(&["garbled.csv", "--include-curator"]);
    let problems = asked["tables"][0]["problems"].to_string();
    assert!(problems.contains("garbled.csv:3 (this row has 6 cells"), "{problems}");
    let text = stdout(&halflight(directory.path(), &["data", "inspect", "people.csv"]));
    assert!(
        text.contains("1 missing ◆") && text.contains("cannot know whether the files are private"),
        "{text}"
    );
    let text = stdout(&halflight(directory.path(), &["data", "inspect", "--public", "people.csv"]));
    assert!(text.contains("1 missing") && !text.contains('◆'), "{text}");
    let refused = halflight(directory.path(), &["data", "inspect", "--public", "garbled.csv"]);
    assert!(!refused.status.success());
}

#[test]
fn inspect_shows_no_distribution_of_a_public_dataset_that_holds_private_rows() {
    let table = |rows: std::ops::Range<usize>| {
        let row = |i: usize| format!("{},{}\n", (i as f64 * 0.37).sin(), i * i);
        "x,y\n".to_owned() + &rows.map(row).collect::<String>()
    };
    let directory = directory(&[
        ("ours.csv", &table(0..60)),
        ("theirs.csv", &table(100..160)),
        ("both.csv", &table(40..100)),
        (
            "s.ron",
            r#"(version: 1, datasets: [
              (name: "ours", role: private, source: file("ours.csv"), label: "y"),
              (name: "theirs", role: public, source: file("theirs.csv"), label: "y"),
              (name: "both", role: public, source: file("both.csv"), label: "y")])"#,
        ),
    ]);
    let inspect = ["data", "inspect", "s.ron", "--json", "--include-curator"];
    let json = stdout(&halflight(directory.path(), &inspect));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let shown = |at: usize| json["tables"][at]["columns"][0].get("profile").is_some();
    assert_eq!([0, 1, 2].map(shown), [false, true, false], "{json}");
}

#[test]
fn inspect_tells_what_declared_gaps_did_and_which_columns_are_mostly_missing() {
    let clinic = |chol: &str, thal: &str| {
        let row = |at: usize| {
            let [chol, thal] = [(chol, "180"), (thal, "3")]
                .map(|(usual, rare)| if at.is_multiple_of(10) { rare } else { usual });
            format!("{},{chol},{thal},{}\n", 30 + at % 40, at % 2)
        };
        "age,chol,thal,ill\n".to_owned() + &(0..60).map(row).collect::<String>()
    };
    let files = [
        ("ours.csv", clinic("200", "3")),
        ("basel.csv", clinic("0", "?")),
        ("zug.csv", clinic("210", "7")),
    ];
    let read = |file: &str| {
        format!("source: delimited(file: \"{file}\", missing: [\"0\", \"chol=0\"]), label: \"age\"")
    };
    let text = format!(
        "(version: 1, datasets: [
          (name: \"ours\", role: private, source: file(\"ours.csv\"), label: \"age\"),
          (name: \"basel\", role: public, {}), (name: \"zug\", role: public, {})])",
        read("basel.csv"),
        read("zug.csv")
    );
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let directory = directory(&[&files[..], &[("s.ron", text.as_str())]].concat());
    let told = stdout(&halflight(directory.path(), &["data", "inspect", "s.ron"]));
    for words in [
        "! basel.csv: '0' is read as missing: 84 cells, 54 of 'chol', 30 of 'ill'",
        "! zug.csv: '0' is read as missing: 30 cells, 30 of 'ill'",
        "! basel.csv: no cell is 'chol=0'",
        "! mostly missing in 'basel', not in 'zug': 'chol' (90 %), 'thal' (90 %)",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("missing in 'zug'") && !told.contains("missing in 'ours'"), "{told}");
    let public = ["data", "inspect", "ours.csv", "--public", "basel.csv", "--public", "zug.csv"];
    let told = stdout(&halflight(directory.path(), &public));
    let found = told.lines().filter(|line| line.contains("mostly missing"));
    let found: Vec<&str> = found.collect();
    assert_eq!(found.len(), 1, "{told}");
    assert!(found[0].contains("'basel', not in 'zug': 'thal' (90 %)"), "{told}");
}

#[test]
fn inspect_tells_of_a_session_how_many_public_rows_are_clipped() {
    let directory = directory(&[
        ("ours.csv", &records(600, 200, false)),
        ("theirs.csv", &records(0, 300, false)),
    ]);
    let mut session = session(
        "source: file(\"ours.csv\"), units: {\"x\": \"m/s\"}",
        &["source: file(\"theirs.csv\")"],
    );
    session.name = "wind".to_owned();
    session.save(&directory.path().join("s.ron")).unwrap();
    let text = stdout(&halflight(directory.path(), &["data", "inspect", "s.ron"]));
    assert!(text.contains("ours: 200 rows") && text.contains("[m/s]"), "{text}");
    assert!(text.contains("%) public training records and ◆"), "{text}");
    assert!(!directory.path().join(".halflight").exists());
}

#[test]
fn names_as_long_as_a_file_are_shown_in_part() {
    let directory = tempfile::tempdir().unwrap();
    let name = "x".repeat(70_000);
    let rows: Vec<String> = (0..40).map(|k| format!("{k},{},{}\n", k * 3 % 7, k % 2)).collect();
    let rows = rows.concat();
    std::fs::write(directory.path().join("wide.csv"), format!("{name},b,y\n{rows}")).unwrap();
    let mut inspect = program::halflight();
    let output =
        inspect.args(["data", "inspect", "wide.csv"]).current_dir(directory.path()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(&format!("{}…", "x".repeat(64))), "{}", &said[..400]);
}

#[test]
fn a_table_that_has_no_room_in_memory_is_refused_before_it_takes_any() {
    use std::io::Write;
    let directory = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(directory.path().join("bomb.csv.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(b"a,b\n").unwrap();
    let block = b"1,2\n".repeat(1 << 16);
    for _ in 0..32 {
        packed.write_all(&block).unwrap();
    }
    packed.finish().unwrap();
    // The same of an array: 4 million zeros take a few kilobytes.
    let file = std::fs::File::create(directory.path().join("bomb.npz")).unwrap();
    let mut packed = zip::ZipWriter::new(file);
    packed.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2097152, 2), }";
    let header = format!("{header:117}\n");
    packed.write_all(b"\x93NUMPY\x01\x00\x76\x00").unwrap();
    packed.write_all(header.as_bytes()).unwrap();
    for _ in 0..512 {
        packed.write_all(&vec![0; 1 << 16]).unwrap();
    }
    packed.finish().unwrap();
    let inspect = |file: &str, most: &str| {
        let mut command = program::halflight();
        command.args(["data", "inspect", file, "--max-memory", most]);
        command.current_dir(directory.path()).output().unwrap()
    };
    // On the disk, the places of so many lines still take memory; those of an array's rows do not.
    let file = "bomb.csv.gz";
    let refused = inspect(file, "30M");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let room = said.contains("the 30.0 MiB that may be used");
    assert!(refused.status.code() == Some(1) && room, "{said}");
    assert!(said.contains(file) && said.contains("--max-memory 16G"), "{said}");
    for (file, most) in [("bomb.csv.gz", "1G"), ("bomb.npz", "30M"), ("bomb.npz", "1G")] {
        let read = inspect(file, most);
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    }
    let wrong = inspect("bomb.csv.gz", "much");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("write 800M or 16G"), "{said}");
}
