//! The headless commands, as scripts see them.

use std::path::Path;
use std::process::Output;

use crate::program;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight()
        .args(arguments)
        .current_dir(directory)
        .env("TMPDIR", directory)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

/// A small private and a small public file, and a session on them.
fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    // No record is in both.
    let table = |rows: std::ops::Range<usize>, slope: f64| {
        let row = |i: usize| {
            let x = (i as f64 * 0.37).sin();
            let z = (i as f64 * 0.11).cos();
            format!("{x},{z},{}\n", slope * x - 0.5 * z + 0.1 * (i as f64).sin())
        };
        std::iter::once("x,z,y\n".to_owned()).chain(rows.map(row)).collect::<String>()
    };
    std::fs::write(directory.path().join("private.csv"), table(0..800, 1.5)).unwrap();
    std::fs::write(directory.path().join("public.csv"), table(800..2000, 1.0)).unwrap();
    std::fs::write(directory.path().join("session.ron"), SESSION).unwrap();
    directory
}

const SESSION: &str = r#"(
  version: 1,
  name: "test",
  datasets: [
    (name: "ours", role: private, source: file("private.csv"), label: "y"),
    (name: "theirs", role: public, source: file("public.csv"), label: "y"),
  ],
  budgets: {"ours": (epsilon: 2.5, delta: 1e-5)},
  plans: [
    (
      name: "first",
      method: "profiled_cnvx_adap",
      private: "ours",
      public: ["theirs"],
      target: (epsilon: 1.0, delta: 1e-5),
      seed: 3,
    ),
  ],
)
"#;

fn edit(directory: &Path, from: &str, to: &str) {
    let path = directory.join("session.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
}

#[test]
fn a_dry_run_tells_cost_time_and_score_and_writes_nothing() {
    let directory = workspace();
    let here = directory.path();
    edit(here, "seed: 3,", "seed: 3, evaluation: (),");
    let told = halflight(here, &["run", "session.ron", "--dry-run"]);
    let text = stdout(&told);
    assert!(told.status.success(), "{}", stderr(&told));
    for part in ["ε 0 so far, 1 with this plan of 2.5", "time: about", "score:", "nothing was"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!here.join(".halflight").exists());
    edit(here, "epsilon: 2.5", "epsilon: 0.5");
    let refused = halflight(here, &["run", "session.ron", "--dry-run"]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(!here.join(".halflight").exists());
}

#[test]
fn no_plan_is_charged_while_another_one_of_the_session_cannot_be_run() {
    let directory = workspace();
    let here = directory.path();
    edit(
        here,
        "plans: [",
        r#"plans: [(name: "odd", method: "public_only", private: "ours", public: ["theirs"],
           target: (epsilon: 1.0, delta: 1e-5), evaluation: ()),"#,
    );
    // The plan that can be run comes first.
    let path = here.join("session.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(r#"(name: "odd""#).unwrap();
    let (odd, after) = rest.split_once("evaluation: ()),").unwrap();
    let after = after.rsplit_once("  ],").unwrap().0;
    let odd = format!(r#"(name: "odd"{odd}evaluation: ()),"#);
    std::fs::write(&path, format!("{before}{after}{odd}],)")).unwrap();
    let refused = halflight(here, &["run", "session.ron", "--json"]);
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("plan 'odd'"), "{}", stderr(&refused));
    assert!(!here.join(".halflight").exists(), "nothing was granted");
    // What can be told of the other one is told, whatever its place.
    let forecast = halflight(here, &["run", "session.ron", "--dry-run"]);
    assert!(!forecast.status.success());
    let told = stdout(&forecast);
    assert!(told.contains("plan 'odd': it cannot run: "), "{told}");
    assert_eq!(told.matches("  time: ").count(), 1, "{told}");
}

/// What spends from a session, with an ε for which the larger budget has room.
const SPENDING: [&[&str]; 6] = [
    &["run", "session.ron", "--dry-run"],
    &["run", "session.ron"],
    &["choose", "session.ron", "--epsilon", "0.9"],
    &["sweep", "session.ron", "--over", "seed=1", "--into", "sweep"],
    &["rank", "session.ron", "--private", "0.9"],
    &["data", "count", "session.ron", "--dataset", "ours", "--epsilon", "0.9"],
];

#[test]
fn a_budget_that_is_lowered_in_the_session_holds_for_everything_that_spends() {
    let directory = workspace();
    let here = directory.path();
    // A private ranking needs two public datasets.
    let public = std::fs::read_to_string(here.join("public.csv")).unwrap();
    std::fs::write(here.join("more.csv"), public.replacen("\n0", "\n1", 1)).unwrap();
    edit(
        here,
        "(name: \"theirs\"",
        "(name: \"more\", role: public, source: file(\"more.csv\"), label: \"y\"), \
         (name: \"theirs\"",
    );
    assert!(halflight(here, &["run", "session.ron"]).status.success());
    let book = || json(&halflight(here, &["ledger", "--json"]))["accounts"][0].clone();
    let account = book()["account"].as_str().unwrap().to_owned();
    edit(here, "epsilon: 2.5", "epsilon: 1.2");
    for (index, command) in SPENDING.iter().enumerate() {
        let told = halflight(here, command);
        let said = stderr(&told);
        assert_eq!(told.status.code(), Some(3), "{command:?}: {said}");
        assert!(said.contains("ε = 1.2 at δ = 1e-5"), "{command:?}: {said}");
        assert!(said.contains("under `budgets` in the session"), "{command:?}: {said}");
        let lowered = book();
        assert_eq!(lowered["runs"].as_array().unwrap().len(), 1, "{command:?}: {lowered:#}");
        if index == 0 {
            assert!(said.contains("the session's budget for account"), "{said}");
            assert!(stdout(&told).contains("a run writes it there"), "{}", stdout(&told));
            assert_eq!(lowered["budget"]["epsilon"], 2.5, "a dry run writes nothing");
            continue;
        }
        assert!(said.contains(&format!("`halflight ledger budget {account}")), "{said}");
        assert_eq!(lowered["budget"]["epsilon"], 1.2, "{command:?}: {lowered:#}");
        let raised = halflight(here, &["ledger", "budget", &account, "2.5", "1e-5"]);
        let line = "the budget was raised from ε 1.2 at δ 1e-5 to ε 2.5 at δ 1e-5";
        assert_eq!(stdout(&raised).matches(line).count(), index, "{}", stdout(&raised));
        assert_eq!(book()["raised_budgets"].as_array().unwrap().len(), index);
    }
    // The budgets differ in δ as well: both hold.
    edit(here, "epsilon: 1.2, delta: 1e-5", "epsilon: 1.0, delta: 1e-4");
    let told = halflight(here, &["run", "session.ron"]);
    let said = stderr(&told);
    assert!(said.contains("overspend the session's budget for account"), "{said}");
    assert!(said.contains("ε = 1 at δ = 1e-4"), "{said}");
    assert_eq!(book()["budget"]["epsilon"], 2.5);
    edit(here, "epsilon: 1.0, delta: 1e-4", "epsilon: 2.5, delta: 1e-5");
    let told = halflight(here, &["run", "session.ron"]);
    assert!(told.status.success(), "{}", stderr(&told));
}

#[test]
fn another_budget_in_the_session_is_told_and_another_model_in_a_run_is_refused() {
    let directory = workspace();
    let here = directory.path();
    let first = halflight(here, &["run", "session.ron"]);
    assert!(!stderr(&first).contains("the budget in the ledger holds"), "{}", stderr(&first));
    edit(here, "epsilon: 2.5", "epsilon: 3.5");
    edit(here, "seed: 3", "seed: 4");
    let second = halflight(here, &["run", "session.ron"]);
    let note = "the budget in the ledger holds, ε 2.5 at δ 1e-5, not that of the session, ε 3.5";
    assert!(second.status.success() && stderr(&second).contains(note), "{}", stderr(&second));
    let mut runs: Vec<_> = std::fs::read_dir(here.join(".halflight/runs"))
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    runs.sort();
    for name in ["model.ron", "model.safetensors"] {
        std::fs::copy(runs[0].join(name), runs[1].join(name)).unwrap();
    }
    let other = runs[1].to_str().unwrap();
    for command in [&["predict", other, "public.csv"][..], &["score", other, "--epsilon", "0.1"]] {
        let refused = halflight(here, command);
        assert!(stderr(&refused).contains("is not what the run wrote"), "{}", stderr(&refused));
    }
    let ledger = stdout(&halflight(here, &["ledger"]));
    assert!(!ledger.contains("score"), "{ledger}");
    let kept = halflight(here, &["predict", runs[0].to_str().unwrap(), "public.csv"]);
    assert!(kept.status.success(), "{}", stderr(&kept));
}

#[test]
fn practice_files_are_written_where_there_is_nothing_but_an_unsaved_session() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::create_dir_all(here.join("practice/.halflight/unsaved")).unwrap();
    let written = halflight(here, &["demo", "--files", "practice"]);
    assert!(written.status.success(), "{}", stderr(&written));
    let refused = halflight(here, &["tutorial", "--files", "practice"]);
    assert!(stderr(&refused).contains("there are files in 'practice' already"));
    std::fs::create_dir_all(here.join("spent/.halflight/runs")).unwrap();
    let refused = halflight(here, &["demo", "--files", "spent"]);
    assert!(!refused.status.success() && here.join("spent").read_dir().unwrap().count() == 1);
}

/// Every command that takes a run finds it by its name or that of its plan, from any folder within.
#[test]
fn a_run_is_found_by_its_name_and_by_that_of_its_plan() {
    let directory = workspace();
    let here = directory.path();
    assert!(halflight(here, &["run", "session.ron"]).status.success());
    let run = std::fs::read_dir(here.join(".halflight/runs")).unwrap().next().unwrap().unwrap();
    let run = run.file_name().into_string().unwrap();
    let within = here.join("within");
    std::fs::create_dir(&within).unwrap();
    let commands = |name: &str| {
        let outbox = format!("outbox-{name}");
        [
            vec!["predict", name, "../public.csv"],
            vec!["export", name, "-o", "model.onnx", "--force"],
            vec!["score", name, "--epsilon", "0.4", "--dry-run"],
            vec!["report", name, "--force"],
            vec!["share", name, "--into", &outbox],
            vec!["verify", name],
            vec!["watch", name, "--once"],
            vec!["run", "--resume", name],
            vec!["ledger", "settle", name],
        ]
        .map(|words| (words[0].to_owned(), halflight(&within, &words)))
    };
    for name in [run.as_str(), "first"] {
        for (command, output) in commands(name) {
            let said = stderr(&output);
            // The run has ended.
            let is_over = ["run", "ledger"].contains(&command.as_str());
            assert!(output.status.success() != is_over, "{command}: {said}");
            assert!(!is_over || said.contains("has ended") || said.contains("settled"), "{said}");
        }
    }
    for (command, output) in commands("frist") {
        let said = stderr(&output);
        let wanted = ["frist: there is no run or file of this name here", "did you mean 'first'?"];
        assert!(wanted.iter().all(|it| said.contains(it)), "{command}: {said}");
        assert_eq!(output.status.code(), Some(2), "{command}");
    }
    edit(here, "seed: 3", "seed: 4");
    edit(here, "epsilon: 2.5", "epsilon: 9.5");
    let budget = halflight(here, &["ledger", "--json"]);
    let account = json(&budget)["accounts"][0]["account"].as_str().unwrap().to_owned();
    assert!(halflight(here, &["ledger", "budget", &account, "9", "1e-5"]).status.success());
    assert!(halflight(here, &["run", "session.ron"]).status.success());
    let said = stderr(&halflight(here, &["share", "first"]));
    assert!(said.contains("2 runs have a plan of this name") && said.contains(&run), "{said}");
}

/// A rehearsal needs the private file for its length alone; it goes on where it was stopped, and
/// what it advises can be written down.
#[test]
fn a_rehearsal_advises_and_writes_the_plan() {
    let directory = tempfile::tempdir().unwrap();
    // Other rows, and a little aside: the same ones, even moved, would be refused.
    let row = |row: usize, by: f64| {
        let (a, b) = ((row * 37 % 101) as f64 / 50.0 + by, (row * 53 % 97) as f64 / 48.0 + by);
        let slope = if row.is_multiple_of(2) { 1.0 } else { -1.0 };
        format!("{a},{b},{},{}\n", ["north", "south"][row % 2], slope * a + b)
    };
    let file = |rows: std::ops::Range<usize>, by: f64| {
        "a,b,region,y\n".to_owned() + &rows.map(|at| row(at, by)).collect::<String>()
    };
    std::fs::write(directory.path().join("public.csv"), file(0..1500, 0.0)).unwrap();
    std::fs::write(directory.path().join("private.csv"), file(4000..4600, 0.003)).unwrap();
    let dataset = |name: &str, role: &str, more: &str| {
        format!(
            r#"(name: "{name}", role: {role}, source: file("{role}.csv"), label: "y",
                columns: only(["a", "b"]){more}),"#
        )
    };
    let session = format!(
        r#"(version: 1, name: "s", datasets: [{}{}], plans: [(name: "p", method: "moment_release",
            private: "ours", public: ["theirs"], target: (epsilon: 1.0, delta: 1e-4))])"#,
        dataset("ours", "private", ""),
        dataset("theirs", "public", r#", filter: "region != 'west'""#)
    );
    std::fs::write(directory.path().join("s.ron"), session).unwrap();
    let rehearse = |more: &[&str]| {
        let common = ["rehearse", "s.ron", "--only", "target_only,profiled_cnvx_adap"];
        let few = ["--repetitions", "1"];
        let arguments = [common.as_slice(), &few, more].concat();
        halflight(directory.path(), &arguments)
    };
    let done = rehearse(&["--over", "epsilon=0.5,4", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["epsilons"], serde_json::json!([0.5, 1.0, 4.0]), "{told}");
    assert_eq!(told["rehearsals"][0], "region north");
    assert_eq!(told["measure"], "mean absolute error");
    assert_eq!(told["advised"].as_array().unwrap().len(), 3);
    // A file that is no session is kept.
    std::fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    let refused = rehearse(&["--out", "notes.txt"]);
    assert!(stderr(&refused).contains("it is there already"), "{}", stderr(&refused));
    let done = rehearse(&["--over", "epsilon=0.5,4", "--out", "advised.ron"]);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("less mean absolute error than public data alone"), "{text}");
    let advised = std::fs::read_to_string(directory.path().join("advised.ron")).unwrap();
    assert!(
        advised.contains("method: \"profiled_cnvx_adap\"")
            || advised.contains("method: \"target_only\""),
        "{advised}"
    );
    assert!(!directory.path().join(".halflight/ledger.jsonl").exists());
    for (wrong, word) in [
        (["--over", "seed=1"].as_slice(), "does not say which ε"),
        (&["--part", "3/2"], "K/N"),
        (&["--plan", "q"], "has no plan 'q'"),
        (&["--methods", "alchemy"], "alchemy"),
    ] {
        let refused = rehearse(wrong);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains(word), "{wrong:?}: {error}");
    }
}

#[test]
fn the_plain_demo_tells_its_guarantee_and_its_private_models_beat_the_public_one_and_not_the_exact_one()
 {
    let directory = tempfile::tempdir().unwrap();
    let keep = directory.path().join("kept");
    let arguments = ["demo", "--plain", "--workspace", keep.to_str().unwrap()];
    let output = halflight(directory.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for wanted in
        ["public data alone", "linear, no privacy", "this model (ε", "ε = ", "δ = 1e-6", "◆"]
    {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
    let score = |name: &str| -> Vec<f64> {
        let rows = text.lines().map(str::trim);
        let rows = rows.filter(|line| line.starts_with(name) && line.contains('◆'));
        rows.filter_map(|line| line.split_whitespace().rev().nth(1)?.parse().ok()).collect()
    };
    let (source, target, models) =
        (score("public data alone"), score("linear, no privacy"), score("this model (ε"));
    assert_eq!(models.len(), 3, "{text}");
    // With private labels it is clearly better; without them about as good as public trees.
    assert!(models[0] < models[1] && models[1] < 0.85 * source[0], "{text}");
    assert!(models[2] < 1.3 * source[0], "{text}");
    // The line is not better than the exact line; the trees are.
    assert!(models[1] > target[0] && models[0] < target[0], "{text}");

    for run in std::fs::read_dir(keep.join(".halflight/runs")).unwrap().flatten() {
        for file in [
            "run.ron",
            "events.jsonl",
            "curator.jsonl",
            "model.ron",
            "model.safetensors",
            "certificate.json",
            "report.html",
        ] {
            assert!(run.path().join(file).is_file(), "{file} is missing");
        }
    }
}

#[test]
fn exported_files_hold_no_exact_number_and_no_fingerprint_of_private_rows() {
    let directory = workspace();
    let output = halflight(directory.path(), &["run", "session.ron", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stdout(&output).contains("curator"), "{}", stdout(&output));
    let run = json(&output)["runs"][0]["directory"].as_str().unwrap().to_owned();
    let ledger = std::fs::read_to_string(directory.path().join(".halflight/ledger.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(ledger.lines().next().unwrap()).unwrap();
    let content = first["entry"]["dataset"]["content"].as_str().unwrap();
    let curator = std::fs::read_to_string(Path::new(&run).join("curator.jsonl")).unwrap();
    assert!(curator.contains("private_error"));
    for file in ["run.ron", "events.jsonl", "model.ron", "certificate.json", "report.html"] {
        let text = std::fs::read_to_string(Path::new(&run).join(file)).unwrap();
        assert!(!text.contains(content), "{file} holds the fingerprint of the private file");
        for exact in ["private_error", "exact_objective", "exact_stationarity_gap"] {
            assert!(!text.contains(exact), "{file} holds {exact}");
        }
    }
}

#[test]
fn a_sealed_run_computes_no_exact_number_and_its_ledger_says_so() {
    let directory = workspace();
    let output = halflight(directory.path(), &["run", "session.ron", "--sealed"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stdout(&output).contains('◆'), "{}", stdout(&output));
    let ledger = std::fs::read_to_string(directory.path().join(".halflight/ledger.jsonl")).unwrap();
    assert!(ledger.contains("\"peeked\":false"), "{ledger}");
}

/// Lines of a file, one of them replaced.
fn replace_line(directory: &Path, file: &str, line: usize, text: &str) {
    let path = directory.join(file);
    let before = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = before.lines().collect();
    lines[line - 1] = text;
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn an_error_names_line_and_column_and_quotes_the_cell_only_in_an_open_view() {
    let directory = workspace();
    replace_line(directory.path(), "public.csv", 17, "SECRET,0.5,1");
    let text = |arguments: &[&str]| {
        let output = halflight(directory.path(), &[&["run", "session.ron"], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(!stdout(&output).contains("SECRET"));
        stderr(&output)
    };
    let (open, sealed) = (text(&[]), text(&["--sealed"]));
    for text in [&open, &sealed] {
        assert!(text.contains("public.csv:17, column 'x': expected a number"), "{text}");
    }
    assert!(open.contains("◆ found there: 'SECRET'"), "{open}");
    assert!(!sealed.contains("SECRET") && !sealed.contains('◆'), "{sealed}");
}

/// What a run says, without what is another each time.
fn said(output: &Output) -> Vec<String> {
    let text = stderr(output) + &stdout(output);
    let lines = text.lines().filter(|line| {
        !["granted", " in ", "written", "ledger and runs"].iter().any(|it| line.contains(it))
    });
    // ε, δ and records stay; the released error on public records is of fresh noise.
    let lines = lines.filter(|line| !line.contains("this model (ε"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_private_record_that_cannot_be_used_stops_nothing_and_shows_nowhere() {
    let clean = workspace();
    let expected = said(&halflight(clean.path(), &["run", "session.ron", "--sealed"]));
    let garbage =
        ["SECRET,1,2", "1,2,SECRET", "SECRET", "1,2,3,SECRET", "\"SECRET,1,2", "SECRET\"\",\"1,2"];
    for (at, garbage) in garbage.iter().enumerate() {
        let directory = workspace();
        replace_line(directory.path(), "private.csv", 100 + at, garbage);
        let output = halflight(directory.path(), &["run", "session.ron", "--sealed"]);
        assert!(output.status.success(), "{garbage}: {}", stderr(&output));
        assert_eq!(said(&output), expected, "{garbage}");
        let mut folders = vec![directory.path().join(".halflight")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                let bytes = std::fs::read(entry.path()).unwrap();
                let held = bytes.windows(6).any(|window| window == b"SECRET");
                assert!(!held, "{garbage}: {}", entry.path().display());
            }
        }
    }
    // The curator is told how many there are, and where the first of them is.
    let directory = workspace();
    for line in 100..140 {
        replace_line(directory.path(), "private.csv", line, "SECRET");
    }
    let open = halflight(directory.path(), &["run", "session.ron"]);
    let text = stderr(&open);
    assert!(open.status.success() && !text.contains("SECRET"), "{text}");
    assert!(text.contains("◆") && text.contains("private training records are empty"), "{text}");
    let inspect = halflight(directory.path(), &["data", "inspect", "private.csv"]);
    assert!(stdout(&inspect).contains("private.csv:100 (this row has 1 cell"), "{inspect:?}");
    let inspect = halflight(directory.path(), &["data", "inspect", "session.ron"]);
    assert!(stdout(&inspect).contains("private.csv:100 (this row has 1 cell"), "{inspect:?}");
    std::fs::write(directory.path().join("private.csv"), "x,z,y\n1,\"2\n\",3\n4,5,6\n").unwrap();
    let inspect = stdout(&halflight(directory.path(), &["data", "inspect", "session.ron"]));
    assert!(inspect.contains("public file it has 2 rows") && inspect.contains("a record, 3"));
}

#[test]
fn a_run_repeats_from_its_own_directory_and_spends_from_the_same_budget() {
    let directory = workspace();
    let first = halflight(directory.path(), &["run", "session.ron", "--json"]);
    let run = json(&first)["runs"][0]["directory"].as_str().unwrap().to_owned();
    let repeat = format!("{run}/run.ron");
    let second = halflight(directory.path(), &["run", &repeat, "--json"]);
    assert!(second.status.success(), "{}", stderr(&second));
    let ledger = json(&halflight(directory.path(), &["ledger", "--json"]));
    assert_eq!(ledger["accounts"].as_array().unwrap().len(), 1, "{ledger:#}");
    assert_eq!(ledger["accounts"][0]["runs"].as_array().unwrap().len(), 2);
    assert!(ledger["accounts"][0]["spent"]["epsilon"].as_f64().unwrap() > 1.2);
}

#[test]
fn a_run_over_the_budget_is_refused_with_what_would_fit_and_leaves_the_rest_usable() {
    let directory = workspace();
    edit(directory.path(), "epsilon: 2.5", "epsilon: 1.2");
    assert!(halflight(directory.path(), &["run", "session.ron"]).status.success());
    let refused = halflight(directory.path(), &["run", "session.ron"]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    let text = stderr(&refused);
    assert!(text.contains("fits is"), "{text}");
    let runs = std::fs::read_dir(directory.path().join(".halflight/runs")).unwrap().count();
    assert_eq!(runs, 1, "a refused run leaves no directory");
    // What the refusal says would fit does fit.
    let fits = text.split("fits is ").nth(1).unwrap();
    let fits: String = fits.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let fits = fits.trim_end_matches('.');
    edit(directory.path(), "epsilon: 1.0", &format!("epsilon: {fits}"));
    let rest = halflight(directory.path(), &["run", "session.ron"]);
    assert!(rest.status.success(), "{}", stderr(&rest));
}

#[test]
fn renaming_reordering_or_cutting_the_private_file_does_not_refresh_its_budget() {
    let directory = workspace();
    edit(directory.path(), "epsilon: 2.5", "epsilon: 1.2");
    assert!(halflight(directory.path(), &["run", "session.ron"]).status.success());
    let text = std::fs::read_to_string(directory.path().join("private.csv")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    std::fs::write(directory.path().join("other.csv"), lines.join("\n")).unwrap();
    edit(directory.path(), "private.csv", "other.csv");
    let reordered = halflight(directory.path(), &["run", "session.ron"]);
    assert_eq!(reordered.status.code(), Some(3), "{}", stderr(&reordered));
    // The same place with other rows: the people in both compose.
    edit(directory.path(), "other.csv", "private.csv");
    std::fs::write(directory.path().join("private.csv"), lines[..700].join("\n")).unwrap();
    let cut = halflight(directory.path(), &["run", "session.ron"]);
    assert_eq!(cut.status.code(), Some(3), "{}", stderr(&cut));
}

#[test]
fn broken_input_is_refused_with_file_place_and_cure() {
    let cases: [(&str, &str, &[&str]); 9] = [
        ("x,z,y\n1,2\n", "public", &["public.csv", "2"]),
        ("x,z,y\n", "", &["private.csv"]),
        ("", "", &["private.csv"]),
        ("x,z,y\n1,2,3\n1,NaN,4\n4,5,6\n5,5,7\n", "public", &["public.csv:3", "'z'"]),
        ("x,z,y\n1,2,3\n1,,4\n4,5,6\n5,5,7\n", "public", &["public.csv:3", "'z'"]),
        ("x,x,y\n1,2,3\n", "", &["private.csv", "'x'"]),
        ("x,z,q\n1,2,3\n1,2,3\n", "", &["'y'", "private.csv"]),
        ("x,z,y\n1,2,3\n2,3,4\n", "session.ron:4:", &["session.ron:"]),
        ("x,z,y\n1,2,3\n2,3,4\n", "filter", &["season", "filter"]),
    ];
    for (number, (file, change, wanted)) in cases.into_iter().enumerate() {
        let directory = workspace();
        // What is wrong with a single private record stops nothing.
        let name = if change == "public" { "public.csv" } else { "private.csv" };
        std::fs::write(directory.path().join(name), file).unwrap();
        match change {
            "filter" => {
                edit(directory.path(), "role: private,", "role: private, filter: \"season == 1\",");
            }
            "" | "public" => {}
            _ => edit(directory.path(), "role: private,", "rle: private,"),
        }
        let output = halflight(directory.path(), &["run", "session.ron"]);
        let text = stderr(&output);
        assert!(!output.status.success(), "case {number}: {text}");
        for wanted in wanted {
            assert!(text.contains(wanted), "case {number}: {wanted} is missing in:\n{text}");
        }
        assert!(text.contains("what to do"), "case {number} names no cure:\n{text}");
        assert!(!text.contains("panicked"), "case {number}:\n{text}");
        assert!(!directory.path().join(".halflight/ledger.jsonl").exists(), "case {number} spent");
    }
}

#[test]
fn wrong_sessions_are_refused_before_anything_is_read() {
    for (from, to, wanted) in [
        ("version: 1", "version: 9", "version 9"),
        ("profiled_cnvx_adap", "profiled", "profiled_cnvx_adap, moment_release"),
        ("private: \"ours\"", "private: \"theirs\"", "not a private dataset"),
        ("public: [\"theirs\"]", "public: []", "no public dataset"),
        ("seed: 3,", "seed: 3, settings: {\"steps\": 5000},", "up to 2000"),
        ("seed: 3,", "seed: 3, settings: {\"stepz\": 5},", "stepz"),
        ("delta: 1e-5),\n      seed", "delta: 0.01),\n      seed", "1/n"),
        ("epsilon: 1.0", "epsilon: -1.0", "ε"),
    ] {
        let directory = workspace();
        edit(directory.path(), from, to);
        let output = halflight(directory.path(), &["run", "session.ron"]);
        let text = stderr(&output);
        assert!(!output.status.success(), "{to}");
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
        assert!(text.contains("what to do"), "{to} names no cure:\n{text}");
    }
}

#[test]
fn public_rows_that_are_private_too_are_refused() {
    let directory = workspace();
    edit(directory.path(), "file(\"public.csv\")", "file(\"private.csv\")");
    let output = halflight(directory.path(), &["run", "session.ron"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("is among the public rows"), "{}", stderr(&output));
}

#[test]
fn a_number_of_threads_that_is_none_is_refused_by_its_name() {
    for wrong in ["0", "many", "5000"] {
        let output = program::halflight().env("HALFLIGHT_THREADS", wrong).arg("methods").output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("HALFLIGHT_THREADS is '{wrong}'")), "{said}");
        // The command line comes first.
        let output = program::halflight()
            .env("HALFLIGHT_THREADS", wrong)
            .args(["methods", "--threads", "2"])
            .output();
        assert!(output.unwrap().status.success(), "{wrong}");
    }
    let output = program::halflight().env("HALFLIGHT_THREADS", "").arg("methods").output();
    assert!(output.unwrap().status.success());
}

#[test]
fn the_accountant_by_itself_prints_what_the_references_say() {
    // tests/golden/accounting.json, case p003: σ = 1.801, 55 steps, δ = 1e-8.
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["account", "--sigma", "1.801", "--steps", "55", "--delta", "1e-8", "--brief"];
    let output = halflight(directory.path(), &arguments);
    let epsilon: f64 = stdout(&output).trim().parse().unwrap();
    assert!((30.958_253_394..30.958_255).contains(&epsilon), "{epsilon}");
    let arguments = [
        "account",
        "--target-epsilon",
        "30.958253395",
        "--steps",
        "55",
        "--delta",
        "1e-8",
        "--brief",
    ];
    let sigma: f64 = stdout(&halflight(directory.path(), &arguments)).trim().parse().unwrap();
    assert!((sigma - 1.801).abs() < 1e-5, "{sigma}");
    for bad in [["--sigma", "0"], ["--sigma", "nan"], ["--delta", "1"], ["--steps", "0"]] {
        let mut arguments = vec!["account", bad[0], bad[1]];
        if bad[0] != "--sigma" {
            arguments.extend(["--sigma", "1"]);
        }
        let output = halflight(directory.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{bad:?}: {}", stderr(&output));
    }
}

#[test]
fn methods_are_listed_for_people_and_for_programs() {
    let directory = tempfile::tempdir().unwrap();
    let text = stdout(&halflight(directory.path(), &["methods"]));
    assert!(text.contains("profiled_cnvx_adap") && text.contains("moment_release"), "{text}");
    let list = json(&halflight(directory.path(), &["methods", "--json"]));
    let ids: Vec<_> = list["methods"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|method| method["id"].as_str())
        .collect();
    for id in ["frank_wolfe", "mirror_descent", "profiled_logistic", "target_only"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
}

#[test]
fn without_a_terminal_the_interface_says_what_to_do_instead() {
    let directory = tempfile::tempdir().unwrap();
    let output = halflight(directory.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("demo --plain"), "{}", stderr(&output));
}

#[test]
fn a_workspace_that_cannot_be_written_is_named() {
    let directory = workspace();
    // A file where the folder should be: nobody, not even root, can write there.
    std::fs::write(directory.path().join(".halflight"), "").unwrap();
    let output = halflight(directory.path(), &["run", "session.ron"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(".halflight"), "{}", stderr(&output));
}

/// Below what its own image takes, the system does not even start it.
#[cfg(target_os = "linux")]
#[test]
fn too_little_address_space_is_said_before_anything_begins() {
    let directory = workspace();
    let run = |kibibytes: u32| {
        let mut shell = program::shell();
        let line = format!("ulimit -v {kibibytes}; exec \"$0\" run session.ron --threads 2");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_halflight")]).current_dir(directory.path());
        shell.output().unwrap()
    };
    for little in [60_000, 100_000, 200_000, 300_000] {
        let refused = run(little);
        assert_eq!(refused.status.code(), Some(1), "{little}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("ulimit -v unlimited"), "{}", stderr(&refused));
        assert!(!directory.path().join(".halflight").exists());
    }
    let enough = run(500_000);
    assert!(enough.status.success(), "{}", stderr(&enough));
}

/// A method that can take so many columns takes its steps; one that cannot says so before
/// anything is granted.
#[test]
fn thirty_thousand_columns_are_trained_on_or_refused_before_the_grant() {
    const COLUMNS: usize = 30_000;
    let directory = tempfile::tempdir().unwrap();
    let table = |shift: usize| {
        let names: Vec<String> = (0..COLUMNS).map(|column| format!("x{column}")).collect();
        let row = |row: usize| {
            let cell = |column: usize| ((row * 31 + column * 7 + shift) % 97).to_string();
            let cells: Vec<String> = (0..COLUMNS).map(cell).collect();
            cells.join(",") + &format!(",{}\n", (row + shift) % 5)
        };
        names.join(",") + ",y\n" + &(0..30).map(row).collect::<String>()
    };
    for (name, shift) in [("ours", 0), ("theirs", 41)] {
        std::fs::write(directory.path().join(format!("{name}.csv")), table(shift)).unwrap();
    }
    let plan = |method: &str| {
        format!(
            r#"(name: "{method}", method: "{method}", private: "ours", public: ["theirs"],
                target: (epsilon: 1.0, delta: 1e-3), settings: {{"steps": 2}}),"#
        )
    };
    let session = format!(
        r#"(version: 1, datasets: [
            (name: "ours", role: private, source: file("ours.csv"), label: "y"),
            (name: "theirs", role: public, source: file("theirs.csv"), label: "y")],
          budgets: {{"ours": (epsilon: 4.0, delta: 1e-2)}}, plans: [{}{}])"#,
        plan("target_only"),
        plan("profiled_cnvx_adap"),
    );
    std::fs::write(directory.path().join("s.ron"), session).unwrap();
    let run = |plan| halflight(directory.path(), &["run", "s.ron", "--plan", plan]);
    let refused = run("profiled_cnvx_adap");
    assert!(!refused.status.success() && stderr(&refused).contains("3000"), "{}", stderr(&refused));
    assert!(!directory.path().join(".halflight/ledger.jsonl").exists());
    let trained = run("target_only");
    assert!(trained.status.success(), "{}", stderr(&trained));
    assert!(stdout(&trained).contains("2 steps"), "{}", stdout(&trained));
}
