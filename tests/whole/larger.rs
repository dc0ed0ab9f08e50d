//! Tables larger than the memory that they may take: the same results, and nothing left behind.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program;

const ROWS: usize = 30_000;

/// Rows with eight numbers and a label that depends on them, all of them different from those of
/// another `shift`.
fn table(rows: usize, shift: usize) -> String {
    let mut text = "a,b,c,d,e,f,g,h,y\n".to_owned();
    for row in 0..rows {
        let number = |at: usize| ((row * (31 + at) + at * 17 + shift) as f64).sin();
        let label: f64 = (0..8).map(|at| number(at) / (at + 1) as f64).sum();
        (0..8).for_each(|at| write!(text, "{},", number(at)).unwrap());
        writeln!(text, "{label}").unwrap();
    }
    text
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("ours.csv"), table(ROWS, 0)).unwrap();
    fs::write(place.path().join("theirs.csv"), table(500, 1_000_003)).unwrap();
    let session = r#"(version: 1,
        datasets: [
            (name: "ours", role: private, label: "y", source: file("ours.csv")),
            (name: "theirs", role: public, label: "y", source: file("theirs.csv"))],
        budgets: {"ours": (epsilon: 9.0, delta: 1e-6)},
        plans: [
            (name: "full batches", method: "cnvx_adap", private: "ours", public: ["theirs"],
             target: (epsilon: 1.0, delta: 1e-7), settings: {"steps": 12}, seed: 3)])"#;
    fs::write(place.path().join("s.ron"), session).unwrap();
    place
}

fn told(place: &Path, arguments: &[&str], memory: Option<&str>) -> String {
    let mut command = program::halflight();
    command.args(arguments).current_dir(place);
    command.args(memory.iter().flat_map(|most| ["--max-memory", most]));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Numbers of [`table`] as arrays in single precision.
fn arrays(rows: usize, shift: usize) -> Vec<u8> {
    let bytes = |number: &str| number.parse::<f32>().unwrap().to_le_bytes();
    arrays_of(safetensors::Dtype::F32, bytes, rows, shift)
}

/// Numbers of [`table`] as arrays of another precision.
fn arrays_of<const SIZE: usize>(
    kind: safetensors::Dtype,
    bytes: impl Fn(&str) -> [u8; SIZE],
    rows: usize,
    shift: usize,
) -> Vec<u8> {
    let table = table(rows, shift);
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for line in table.lines().skip(1) {
        let (numbers, label) = line.rsplit_once(',').unwrap();
        features.extend(numbers.split(',').flat_map(&bytes));
        labels.extend(bytes(label));
    }
    let array = |shape, bytes| safetensors::tensor::TensorView::new(kind, shape, bytes).unwrap();
    let arrays = [("x", array(vec![rows, 8], &features)), ("y", array(vec![rows], &labels))];
    safetensors::serialize(arrays, None).unwrap()
}

/// What is exact of a run, in memory and on the disk, where nothing may be left.
fn assert_judged_the_same(place: &Path, memory: &str) {
    let public_alone = |memory| {
        let told = told(place, &["run", "s.ron", "--json", "--include-curator"], memory);
        let told: Value = serde_json::from_str(&told).unwrap();
        let exact = &told["runs"][0]["curator_only_private_measures"];
        // The model itself is noisy, with a seed that nobody knows.
        let rmse = |of: &str| exact[of]["rmse"].as_f64().unwrap();
        assert!(rmse("model").is_finite());
        (rmse("source_only").to_bits(), rmse("target_only").to_bits())
    };
    let names = || {
        let entries = fs::read_dir(place.join(".halflight")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    let (in_memory, before) = (public_alone(None), names());
    assert_eq!(public_alone(Some(memory)), in_memory);
    assert_eq!(names(), before);
}

#[test]
fn a_run_is_judged_the_same_on_the_disk_and_leaves_nothing_there() {
    assert_judged_the_same(place().path(), "1M");
}

#[test]
fn a_run_on_arrays_is_judged_the_same_on_the_disk() {
    let place = place();
    for (name, rows, shift) in [("ours", ROWS, 0), ("theirs", 500, 1_000_003)] {
        fs::write(place.path().join(format!("{name}.safetensors")), arrays(rows, shift)).unwrap();
    }
    let session = fs::read_to_string(place.path().join("s.ron")).unwrap();
    fs::write(place.path().join("s.ron"), session.replace(".csv", ".safetensors")).unwrap();
    assert_judged_the_same(place.path(), "1M");
}

/// So many rows are not in memory even after some are held out.
const MANY: usize = 100_000;

#[test]
fn a_run_with_public_data_on_the_disk_is_judged_the_same() {
    let place = place();
    fs::write(place.path().join("theirs.csv"), table(MANY, 1_000_003)).unwrap();
    assert_judged_the_same(place.path(), "3M");
}

#[test]
fn a_run_with_public_arrays_of_doubles_on_the_disk_is_judged_the_same() {
    let place = place();
    let bytes = |number: &str| number.parse::<f64>().unwrap().to_le_bytes();
    for (name, rows, shift) in [("ours", ROWS, 0), ("theirs", MANY, 1_000_003)] {
        let arrays = arrays_of(safetensors::Dtype::F64, bytes, rows, shift);
        fs::write(place.path().join(format!("{name}.safetensors")), arrays).unwrap();
    }
    let session = fs::read_to_string(place.path().join("s.ron")).unwrap();
    fs::write(place.path().join("s.ron"), session.replace(".csv", ".safetensors")).unwrap();
    assert_judged_the_same(place.path(), "3M");
}

#[test]
fn a_plan_that_trains_trees_on_public_data_says_before_the_start_that_they_do_not_fit() {
    let place = place();
    fs::write(place.path().join("theirs.csv"), table(MANY, 1_000_003)).unwrap();
    let session = fs::read_to_string(place.path().join("s.ron")).unwrap();
    let session = session.replace("cnvx_adap", "public_shape").replace(r#""steps": 12"#, "");
    fs::write(place.path().join("s.ron"), &session).unwrap();
    let mut command = program::halflight();
    command.args(["run", "s.ron", "--max-memory", "3M"]).current_dir(place.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the features of all public records in memory"), "{said}");
    assert!(said.contains("sample: (rows: 50000)"), "{said}");
    let runs = fs::read_dir(place.path().join(".halflight/runs")).map(Iterator::count);
    assert_eq!(runs.unwrap_or_default(), 0);
    // The cure works.
    let session =
        session.replace("file(\"theirs.csv\")", "file(\"theirs.csv\"), sample: (rows: 900)");
    fs::write(place.path().join("s.ron"), session).unwrap();
    told(place.path(), &["run", "s.ron"], Some("3M"));
}

/// Adds two columns of text to a table: a few wards, and notes, of which the last are long.
fn with_texts(table: &str, long: usize) -> String {
    let rows = table.lines().count() - 1;
    let mut text = String::new();
    for (row, line) in table.lines().enumerate() {
        if row == 0 {
            writeln!(text, "ward,note,{line}").unwrap();
            continue;
        }
        let note = if row + 20 > rows { "x".repeat(long) } else { format!("note {row}") };
        writeln!(text, "{},{note},{line}", ["north", "south", "é"][row % 3]).unwrap();
    }
    text
}

/// A forecast of the rows from the first ones would be far too high, and refuse the table.
#[test]
fn a_run_on_texts_is_judged_the_same_on_the_disk_whatever_the_length_of_a_record() {
    let place = place();
    for (name, rows, shift, long) in [("ours", ROWS, 0, 1 << 20), ("theirs", 500, 1_000_003, 9)] {
        let text = with_texts(&table(rows, shift), long);
        fs::write(place.path().join(format!("{name}.csv")), text).unwrap();
    }
    let session = fs::read_to_string(place.path().join("s.ron")).unwrap();
    let session = session.replace("label: \"y\",", "label: \"y\", columns: except([\"note\"]),");
    fs::write(place.path().join("s.ron"), session).unwrap();
    assert_judged_the_same(place.path(), "1M");
    let inspected = told(place.path(), &["data", "inspect", "s.ron"], Some("1M"));
    assert!(!inspected.contains("cannot be read"), "{inspected}");
}

#[test]
fn a_look_at_a_file_is_the_same_on_the_disk_and_leaves_nothing_there() {
    let place = place();
    let look = |memory| told(place.path(), &["data", "inspect", "ours.csv"], memory);
    let names = || fs::read_dir(place.path()).unwrap().count();
    let before = names();
    assert_eq!(look(Some("1M")), look(None));
    assert_eq!(names(), before);
}

#[test]
fn predictions_of_a_table_on_the_disk_are_the_same_file() {
    let place = place();
    let run = told(place.path(), &["run", "s.ron", "--json"], None);
    let run: Value = serde_json::from_str(&run).unwrap();
    let folder = run["runs"][0]["directory"].as_str().unwrap();
    for ending in ["csv", "parquet"] {
        let predicted = |name: &str, memory: Option<&str>| {
            let name = format!("{name}.{ending}");
            told(
                place.path(),
                &["predict", folder, "ours.csv", "--keep", "a", "-o", &name],
                memory,
            );
            fs::read(place.path().join(name)).unwrap()
        };
        assert_eq!(predicted("disk", Some("1M")), predicted("memory", None), "{ending}");
    }
}

#[test]
fn a_ranking_of_tables_on_the_disk_finds_the_same() {
    let place = place();
    fs::write(place.path().join("more.csv"), table(19_000, 2_000_003)).unwrap();
    let session = r#"(version: 1,
        datasets: [
            (name: "ours", role: private, label: "y", source: file("ours.csv")),
            (name: "theirs", role: public, label: "y", source: file("theirs.csv")),
            (name: "more", role: public, label: "y", source: file("more.csv"))],
        budgets: {"ours": (epsilon: 1e6, delta: 1e-6)},
        ranking: (settings: (model: linear, batch: 200, repeats: 3)))"#;
    fs::write(place.path().join("r.ron"), session).unwrap();
    let found = |arguments: &[&str], memory| {
        let told = told(place.path(), &[&["rank", "r.ron", "--json"], arguments].concat(), memory);
        serde_json::from_str::<Value>(&told).unwrap()
    };
    let exact = |memory| found(&["--include-curator"], memory)["curator_only"].take();
    let in_memory = exact(None);
    assert!(in_memory["datasets"].as_array().is_some_and(|lines| lines.len() == 2), "{in_memory}");
    assert_eq!(exact(Some("1M")), in_memory);
    // So much ε that the noise is nearly nothing.
    let released = |way: &str, memory| {
        let way = ["--private", "10000", "--delta", "1e-7", "--mechanism", way];
        found(&way, memory)
    };
    for (way, lines, number) in [("errors", "errors", "error"), ("table", "released", "energy")] {
        let means = |memory| -> Vec<f64> {
            let told = released(way, memory);
            let lines = told[lines].as_array().unwrap().iter();
            lines.map(|line| line[number]["mean"].as_f64().unwrap()).collect()
        };
        for (memory, disk) in means(None).into_iter().zip(means(Some("1M"))) {
            assert!((memory - disk).abs() < 1e-5, "{way}: {memory} {disk}");
        }
    }
    let winner = |memory| released("permute-and-flip", memory)["winner"].take();
    assert_eq!(winner(None), winner(Some("1M")));
}

#[test]
fn a_ranking_of_arrays_on_the_disk_finds_the_same() {
    let place = place();
    for (name, rows, shift) in
        [("ours", ROWS, 0), ("theirs", 500, 1_000_003), ("more", 5_000, 2_000_003)]
    {
        fs::write(place.path().join(format!("{name}.safetensors")), arrays(rows, shift)).unwrap();
    }
    let session = r#"(version: 1,
        datasets: [
            (name: "ours", role: private, label: "y", source: file("ours.safetensors")),
            (name: "theirs", role: public, label: "y", source: file("theirs.safetensors")),
            (name: "more", role: public, label: "y", source: file("more.safetensors"))],
        ranking: (settings: (model: linear, batch: 200, repeats: 3)))"#;
    fs::write(place.path().join("r.ron"), session).unwrap();
    let exact = |memory| {
        let told = told(place.path(), &["rank", "r.ron", "--json", "--include-curator"], memory);
        serde_json::from_str::<Value>(&told).unwrap()["curator_only"].take()
    };
    let in_memory = exact(None);
    let lines = in_memory["datasets"].as_array().unwrap();
    // Private records that stay on the disk, even where models predict only some of them.
    assert!(lines.len() == 2 && lines.iter().all(|line| line["error"].is_object()), "{in_memory}");
    assert_eq!(exact(Some("600K")), in_memory);
}
