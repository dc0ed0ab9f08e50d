//! Runs that one process carries out and another one watches, pauses and stops.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Screen;
use crate::{program, schema};

/// Winter rides, from a few of the other seasons'.
const SESSION: &str = r#"(version: 1, datasets: [
  (name: "winter", role: private, source: builtin("bikeshare"), label: "bikers",
   filter: "season == 1", columns: only(["hr", "workingday", "temp", "hum"])),
  (name: "rest", role: public, source: builtin("bikeshare"), label: "bikers",
   filter: "season != 1", columns: only(["hr", "workingday", "temp", "hum"]), sample: (rows: 500))],
  budgets: {"winter": (epsilon: 4.0, delta: 1e-5)},
  plans: [(name: "winter", method: "profiled_cnvx_adap", private: "winter", public: ["rest"],
    target: (epsilon: 1.0, delta: 1e-6), seed: 1)])"#;

/// Long enough for a loaded machine; a passing test never waits for it.
const PATIENCE: Duration = Duration::from_mins(1);

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = program::halflight();
    command.args(arguments).current_dir(directory);
    command.env("XDG_CONFIG_HOME", directory.join("config"));
    command
}

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn wait<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = get() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What `halflight schema watch` says of a line.
fn assert_follows_schema(line: &Value) {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        let printed = program::halflight().args(["schema", "watch"]).output().unwrap();
        serde_json::from_slice(&printed.stdout).unwrap()
    });
    if let Some(flaw) = schema::flaw(schema, line) {
        panic!("{flaw} in {line}");
    }
}

/// A run that goes on until it is told to end, and its directory.
struct AtWork {
    child: Child,
    directory: PathBuf,
    run: PathBuf,
}

impl AtWork {
    fn start(directory: &Path, pace: &str) -> Self {
        fs::write(directory.join("session.ron"), SESSION).unwrap();
        let mut command = command(directory, &["run", "session.ron", "--pace", pace]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let run = wait("the run's first step", || {
            let runs = fs::read_dir(directory.join(".halflight/runs")).ok()?;
            let run = runs.flatten().next()?.path();
            (fs::metadata(run.join("events.jsonl")).ok()?.len() > 0).then_some(run)
        });
        Self { child, directory: directory.to_path_buf(), run }
    }

    fn watch(&self, arguments: &[&str]) -> Output {
        let run = self.run.display().to_string();
        let mut all = vec!["watch", run.as_str()];
        all.extend(arguments);
        halflight(&self.directory, &all)
    }

    /// What the ledger says of it.
    fn in_ledger(&self) -> Value {
        let book = halflight(&self.directory, &["ledger", "--json"]);
        let book: Value = serde_json::from_slice(&book.stdout).unwrap();
        book["accounts"][0]["runs"][0].clone()
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `halflight watch RUN --json`, line by line.
struct Watcher {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = command(directory, arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on until a line of this kind holds.
    fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        for line in &mut self.lines {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert_follows_schema(&line);
            if holds(&line) {
                return line;
            }
        }
        panic!("the watcher ended without {what}");
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_is_watched_paused_and_stopped_from_another_process_and_settled_as_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let mut work = AtWork::start(directory.path(), "4");
    let run = work.run.display().to_string();
    let mut watcher = Watcher::start(directory.path(), &["watch", &run, "--json"]);
    let first = watcher.until("how it stands", |line| line["kind"] == "run");
    assert_eq!(first["state"], "running", "{first}");
    let process = format!("process {} on ", work.child.id());
    assert!(first["process"].as_str().unwrap().starts_with(&process), "{first}");
    let step = watcher.until("a third step", |line| line["kind"] == "step" && line["step"] == 3);
    assert!(step["epsilon"].as_f64().unwrap() > 0.0, "{step}");
    assert!(step["values"]["public_error"].as_f64().unwrap() > 0.0, "{step}");
    assert!(!step.to_string().contains("private"), "exact numbers are not told: {step}");

    let asked = work.watch(&["--pause"]);
    assert!(text(&asked.stdout).contains("to wait"), "{asked:?}");
    watcher.until("that it waits", |line| line["state"] == "paused");
    assert!(text(&work.watch(&["--once"]).stdout).contains("paused"));
    work.watch(&["--go-on"]);
    watcher.until("that it goes on", |line| line["state"] == "running");
    work.watch(&["--pace", "8"]);

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(work.run.join("control.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let asked = work.watch(&["--stop"]);
    assert!(text(&asked.stdout).contains("to stop"), "{asked:?}");
    let last = watcher.until("its end", |line| line["kind"] == "run" && line["state"] != "running");
    assert_eq!(last["state"], "stopped", "{last}");
    assert!(last["step"].as_u64().unwrap() < 60, "{last}");
    assert!(watcher.child.wait().unwrap().success());
    assert!(work.child.wait().unwrap().success());

    let settled = work.in_ledger();
    assert!(settled["state"].as_str().unwrap().starts_with("stopped"), "{settled:#}");
    for name in ["control.json", "paused"] {
        assert!(!work.run.join(name).exists(), "{name}");
    }
    let refused = work.watch(&["--stop"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("nothing is under way here: stopped"), "{refused:?}");
}

#[test]
fn a_run_that_dies_is_told_with_what_goes_on_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut work = AtWork::start(directory.path(), "4");
    let run = work.run.display().to_string();
    let mut watcher = Watcher::start(directory.path(), &["watch", &run, "--json"]);
    watcher.until("that it works", |line| line["state"] == "running");
    // What was wished of the program that dies means nothing to the one that goes on.
    work.watch(&["--pause"]);
    watcher.until("that it waits", |line| line["state"] == "paused");
    work.child.kill().unwrap();
    work.child.wait().unwrap();
    watcher.until("its death", |line| line["state"] == "died");
    assert_eq!(watcher.child.wait().unwrap().code(), Some(1));
    let plain = work.watch(&["--plain"]);
    assert!(text(&plain.stdout).contains("halflight run --resume"), "{plain:?}");
    let gone_on = halflight(directory.path(), &["run", "--resume", &run]);
    assert!(gone_on.status.success(), "{gone_on:?}");
    assert!(work.in_ledger()["state"].as_str().unwrap().starts_with("finished"));
    assert!(text(&work.watch(&["--plain"]).stdout).contains("finished, step 60 of 60"));
}

#[test]
fn hostile_files_are_shown_tamed_and_a_directory_that_vanishes_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join(".halflight/runs/20260131-235958-x-00");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("process"), "4711 on \u{1b}[2Jnode\u{9b}31m\u{202e}\n").unwrap();
    fs::write(run.join("run.ron"), "(version: 99, name: \"\u{1b}[2Jfrom the future\")").unwrap();
    let lines = [
        "\u{1b}[2J\u{1b}]0;title\u{7}",
        r#"{"step":1,"of":1000000000,"epsilon":0.5,"values":{"public_error":{"value":3.5}}}"#,
        r#"{"step":2,"epsilon":NaN,"values":{}}"#,
        r#"{"step":1000000000,"of":1000000000,"epsilon":1e300,"phase":"\u001b[31m","values":{"\u001b[31m":{"value":1},"public_error":{"value":1e308}}}"#,
        &format!("{{\"step\":\"{}\"}}", "9".repeat(100_000)),
        "{\"step\":3,",
    ];
    fs::write(run.join("events.jsonl"), lines.join("\n")).unwrap();
    let before = fs::read_dir(&run).unwrap().count();
    for form in ["--plain", "--json"] {
        let shown = halflight(directory.path(), &["watch", ".", "--once", form]);
        let (out, errors) = (text(&shown.stdout), text(&shown.stderr));
        assert!(shown.status.success(), "{errors}");
        let is_tame = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(out.chars().all(is_tame) && errors.chars().all(is_tame), "{out:?}{errors:?}");
        assert!(out.contains("1000000000"), "{out}");
        assert!(
            out.contains("3 lines could not be read as steps")
                || out.contains("\"lines_passed_over\":3"),
            "{out}"
        );
    }
    assert_eq!(fs::read_dir(&run).unwrap().count(), before, "who looks on writes nothing");

    let sweep = directory.path().join("sweep");
    fs::create_dir_all(&sweep).unwrap();
    fs::write(sweep.join("sweep.json"), r#"{"version":1,"\u001b[2J":1}"#).unwrap();
    let refused = halflight(directory.path(), &["watch", "sweep", "--once"]);
    let errors = text(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("sweep.json"), "{errors}");
    assert!(!errors.contains('\u{1b}'), "{errors:?}");

    let path = run.display().to_string();
    let transcript = fs::File::create(run.join("transcript")).unwrap();
    transcript.lock().unwrap();
    let mut watcher = Watcher::start(directory.path(), &["watch", &path, "--json"]);
    watcher.until("that it works", |line| line["state"] == "running");
    fs::remove_dir_all(&run).unwrap();
    watcher.until("that it is gone", |line| line["kind"] == "gone");
    assert_eq!(watcher.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_sweep_stands_on_a_board_of_one_line_a_task() {
    let directory = tempfile::tempdir().unwrap();
    sweep(directory.path());
    let board = |form: &str| {
        let shown = halflight(directory.path(), &["watch", "s1", "--once", form]);
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        text(&shown.stdout)
    };
    let plain = board("--plain");
    assert_eq!(plain.matches("not begun").count(), 4, "{plain}");
    assert!(plain.contains("0002 ") && plain.contains("seed=3"), "{plain}");
    let done = halflight(directory.path(), &["sweep", "--task", "s1/tasks/0001"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let plain = board("--plain");
    assert!(plain.contains("0001 ") && plain.contains("finished, step 60 of 60"), "{plain}");
    assert!(
        plain.contains("3 tasks: 1 finished, 2 not begun; least error on public records"),
        "{plain}"
    );
    let json = board("--json");
    for line in json.lines() {
        assert_follows_schema(&serde_json::from_str(line).unwrap());
    }
    assert!(json.contains("\"task\":2") && json.contains("\"state\":\"not begun\""), "{json}");
}

/// A sweep of three tasks in `s1`.
fn sweep(directory: &Path) -> PathBuf {
    fs::write(directory.join("session.ron"), SESSION).unwrap();
    let over = ["sweep", "session.ron", "--over", "seed=1..3", "--over", "epsilon=0.5"];
    let list = halflight(directory, &[&over[..], &["--on", "list", "--into", "s1"]].concat());
    assert!(list.status.success(), "{}", text(&list.stderr));
    directory.join("s1")
}

#[cfg(unix)]
#[test]
fn the_queue_says_how_tasks_wait_where_it_answers_and_nothing_where_it_does_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let sweep = sweep(directory.path());
    fs::write(sweep.join("slurm_job"), "4711\n").unwrap();
    fs::write(sweep.join("tasks/0001/claim"), "process 7 on node\u{1b}[31m9, long ago\n").unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(directory.path().join("bin"));
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap();
    fs::create_dir(directory.path().join("bin")).unwrap();
    let board = |script: &str| {
        let squeue = directory.path().join("bin/squeue");
        fs::write(&squeue, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&squeue, fs::Permissions::from_mode(0o700)).unwrap();
        let begun = Instant::now();
        let mut command = command(directory.path(), &["watch", "s1", "--once", "--plain"]);
        let shown = command.env("PATH", &path).output().unwrap();
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        assert!(begun.elapsed() < PATIENCE, "who looks waits for no queue");
        let shown = text(&shown.stdout);
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        shown
    };
    let answers = board(
        r#"case "$*" in *4711*) printf '0|PENDING|Prio\033[2Jrity\n1|RUNNING|None\n';; *) exit 1;; esac"#,
    );
    assert!(answers.contains("queue: PENDING (Prio"), "{answers}");
    assert!(answers.contains("3 tasks: 2 not begun, 1 running"), "{answers}");
    // A queue that has forgotten the task, and queues that say nothing.
    let forgotten = board("exit 0");
    assert!(forgotten.contains("1 missing") && forgotten.contains("the queue does not have it"));
    for silent in ["echo '1|RUNNING|None'; exit 1", "exec sleep 30"] {
        let shown = board(silent);
        assert!(shown.contains("3 tasks: 1 missing, 2 not begun"), "{shown}");
        assert!(
            shown.contains("taken by process 7 on node") && !shown.contains("queue"),
            "{shown}"
        );
    }
}

#[test]
fn what_vanishes_while_it_is_watched_is_said_to_be_gone() {
    let directory = tempfile::tempdir().unwrap();
    let sweep = sweep(directory.path());
    let mut watcher = Watcher::start(directory.path(), &["watch", "s1", "--json"]);
    watcher.until("its tasks", |line| line["task"] == 2);
    fs::remove_dir_all(&sweep).unwrap();
    watcher.until("that it is gone", |line| line["kind"] == "gone");
    assert_eq!(watcher.child.wait().unwrap().code(), Some(1), "no task is said to wait");

    // A workspace is followed on: it may come back.
    let name = "20260131-235958-x-00";
    let run = directory.path().join(".halflight/runs").join(name);
    let begin = || {
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("events.jsonl"), "{\"step\":1,\"of\":2}\n").unwrap();
    };
    begin();
    let mut watcher = Watcher::start(directory.path(), &["watch", ".", "--json"]);
    watcher.until("its run", |line| line["run"] == name);
    fs::remove_dir_all(directory.path().join(".halflight")).unwrap();
    watcher.until("that it is gone", |line| line["kind"] == "gone");
    begin();
    watcher.until("that it is back", |line| line["kind"] == "run" && line["run"] == name);
    watcher.child.kill().unwrap();
    watcher.child.wait().unwrap();
}

#[test]
fn runs_of_other_versions_other_clocks_and_dead_machines_are_told_as_far_as_they_are_known() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().join(".halflight");
    let run = |name: &str, files: &[(&str, &str)]| {
        let run = workspace.join("runs").join(name);
        fs::create_dir_all(&run).unwrap();
        for (file, text) in files {
            fs::write(run.join(file), text).unwrap();
        }
        run
    };
    let huge = "x".repeat(1 << 20);
    // Of an early build: no ε, no number of steps, no name of the machine.
    run("20250101-000000-old-00", &[("events.jsonl", "{\"step\":7}\n"), ("process", "4711\n")]);
    // Of a later one: what it says beside is passed over.
    run(
        "20270101-000000-new-00",
        &[
            (
                "events.jsonl",
                "{\"step\":3,\"of\":9,\"mood\":[1],\"values\":{\"joy\":{\"value\":1}}}\n",
            ),
            ("run.ron", "(version: 2)"),
            (
                "certificate.json",
                r#"{"format":99,"outcome":"transcended\u001b[2J","guarantee":{"epsilon":"much"},"score":[],"chosen":7}"#,
            ),
        ],
    );
    run(
        "20260101-000000-hostile-00",
        &[
            (
                "curator.jsonl",
                "{\"step\":1,\"values\":{\"private_error\":1e999}}\n\u{1b}[2J\n{\"step\":2}\n",
            ),
            (
                "events.jsonl",
                &format!(
                    "{{\"step\":1,\"phase\":\"{huge}\"}}\n{{\"step\":2,\"values\":{{\"{}\":1}}}}\n{{\"step\":NaN}}\n",
                    &huge[..100_000]
                ),
            ),
            ("tag.txt", &format!("\u{1b}[31m{huge}")),
            ("process", &format!("process 7 on \u{1b}[2J{huge}")),
            ("certificate.json", "{\"outcome\":NaN}"),
        ],
    );
    let ahead = run("20260102-000000-ahead-00", &[("process", "process 7 on node9\n")]);
    let events = ahead.join("events.jsonl");
    fs::write(&events, "{\"step\":1,\"of\":2}\n").unwrap();
    let in_an_hour = std::time::SystemTime::now() + Duration::from_hours(1);
    fs::File::options().write(true).open(&events).unwrap().set_modified(in_an_hour).unwrap();
    // A ledger that is held for ever, as by a machine that died with the lock.
    let stale = fs::File::create(workspace.join("ledger.lock")).unwrap();
    stale.lock().unwrap();
    fs::write(workspace.join("ledger.lock"), "process 7 on node9, since yesterday\n").unwrap();

    let shown = halflight(directory.path(), &["watch", ".", "--once", "--plain"]);
    let shown = (text(&shown.stdout), text(&shown.stderr));
    let line = |name: &str| shown.0.lines().find(|it| it.contains(name)).unwrap().to_owned();
    assert_eq!(shown.0.lines().count(), 4, "{shown:?}");
    assert!(!shown.0.contains('\u{1b}') && shown.0.len() < 8000, "{shown:?}");
    assert!(line("-old-").contains("step 7 of 7"), "{shown:?}");
    assert!(line("-new-").contains("transcended?[2J, step 3 of 9"), "{shown:?}");
    assert!(line("-new-").contains("version 2"), "{shown:?}");
    assert!(line("-hostile-").contains("1 line could not be read"), "{shown:?}");
    assert!(line("-ahead-").contains("the clock of its disk is ahead"), "{shown:?}");
    for name in ["-old-", "-ahead-"] {
        assert!(line(name).contains("unseen") && !line(name).contains("died"), "{shown:?}");
    }
    assert!(line("-ahead-").contains("the ledger is held by process 7 on node9"), "{shown:?}");
    let json = halflight(directory.path(), &["watch", ".", "--once", "--json"]);
    for line in text(&json.stdout).lines().map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        assert_follows_schema(&line);
        let is_ahead = line["run"].as_str().unwrap().contains("-ahead-");
        assert!(!is_ahead || line["seconds_since_a_step"].is_null(), "{line}");
    }
    // The interface waits for no one either: it is shown, steered and left meanwhile.
    let mut screen = Screen::start(directory.path(), &["watch"], 160, 50);
    screen.wait_for("the ledger is not shown");
    screen.press("5");
    screen.wait_for("unseen");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    drop(stale);
    let shown = halflight(directory.path(), &["watch", ".", "--once", "--plain"]);
    assert!(text(&shown.stdout).contains("died"), "{shown:?}");
}

#[test]
fn steps_go_to_a_table_without_what_is_exact() {
    let directory = tempfile::tempdir().unwrap();
    // What a table program would take for a formula.
    let session = SESSION.replace("name: \"winter\", method", "name: \"=1+\\\"x\", method");
    fs::write(directory.path().join("session.ron"), session).unwrap();
    let done = halflight(directory.path(), &["run", "session.ron"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let run = fs::read_dir(directory.path().join(".halflight/runs")).unwrap().next();
    let run = run.unwrap().unwrap().path().display().to_string();
    let curator = fs::read_to_string(Path::new(&run).join("curator.jsonl")).unwrap();
    assert!(curator.contains("private_error"), "there are exact numbers to be left out");
    let made =
        halflight(directory.path(), &["report", &run, "-o", "steps.html", "--csv", "steps.csv"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let mut table = csv::Reader::from_path(directory.path().join("steps.csv")).unwrap();
    let names = table.headers().unwrap().clone();
    assert_eq!(&names.iter().collect::<Vec<_>>()[..4], ["run", "plan", "step", "epsilon"]);
    assert!(names.iter().any(|name| name == "public_error"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("private") || name.contains("exact")));
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 60);
    assert_eq!((&rows[0][1], &rows[59][2]), (" =1+\"x", "60"));
    let epsilon: f64 = rows[59][3].parse().unwrap();
    assert!((0.99..=1.0).contains(&epsilon), "{epsilon}");
}

#[test]
fn an_interface_shows_and_stops_the_run_of_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut work = AtWork::start(directory.path(), "4");
    let mut screen = Screen::start(directory.path(), &["watch"], 120, 36);
    screen.wait_for(" running · step ");
    screen.wait_for(&format!("process {} on ", work.child.id()));
    let step = |text: &str| {
        let after = text.split(" · step ").nth(1)?;
        after.split(' ').next()?.parse::<u64>().ok()
    };
    let then = step(&screen.text()).unwrap();
    screen.wait_until("it to grow", |text| step(text).is_some_and(|now| now >= then + 3));
    screen.press(" ");
    screen.wait_for(" paused · step ");
    screen.press(" ");
    screen.wait_for(" running · step ");
    screen.press("5");
    screen.wait_for("running");
    screen.press("4");
    screen.wait_for(" running · step ");
    screen.press("c");
    screen.wait_for("to stop this run?");
    screen.press("y");
    screen.wait_for(" stopped · step ");
    assert!(work.child.wait().unwrap().success());
    assert!(work.in_ledger()["state"].as_str().unwrap().starts_with("stopped"));
    // Nothing of its own is under way: it ends without a question.
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn the_steps_of_another_trainer_are_drawn_and_its_epsilon_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let script = r#"
from steps import Steps, subsampled_gaussian
for path, share in (("good.jsonl", 1.0), ("bad.jsonl", 0.5)):
    with Steps(path, 1e-5, "add_remove", "cifar", "opacus 1.5", 3000) as steps:
        for number in range(1, 31):
            claim = share * 0.9726 if number == 30 else None
            steps.step(number * 100, {"loss": 3 / number, "nothing": float("nan")},
                       [subsampled_gaussian(1.1, 0.004, 100)], claim)
"#;
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut python = Command::new("python3");
    python.args(["-B", "-c", script]).env("PYTHONPATH", assets).current_dir(directory.path());
    let written = match python.output() {
        Ok(written) => written,
        Err(error) => return println!("SKIPPED: there is no python3 here: {error}"),
    };
    assert!(written.status.success(), "{}", text(&written.stderr));
    let printed = program::halflight().args(["schema", "steps"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&printed.stdout).unwrap();
    for line in fs::read_to_string(directory.path().join("good.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(schema::flaw(&schema, &line), None);
    }
    for (file, verdict, is_too_low) in
        [("good.jsonl", "the claim agrees", false), ("bad.jsonl", "the claim is too low", true)]
    {
        let shown = halflight(directory.path(), &["watch", file, "--json"]);
        let line: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_follows_schema(&line);
        // As `halflight account --sigma 1.1 --q 0.004 --steps 3000 --delta 1e-5` says.
        let epsilon = line["epsilon"].as_f64().unwrap();
        assert!((epsilon / 0.9726 - 1.0).abs() < 0.01, "{line}");
        assert!(line["verdict"].as_str().unwrap().contains(verdict), "{line}");
        assert_eq!(line["claim_is_too_low"], is_too_low);
        let plain =
            text(&halflight(directory.path(), &["watch", file, "--once", "--plain"]).stdout);
        assert!(plain.contains("'cifar' (opacus 1.5) step 3000 of 3000, loss 0.1"), "{plain}");
    }
    // A first line that cannot be read is an error in words, and no ε of 0.
    let whole = fs::read_to_string(directory.path().join("good.jsonl")).unwrap();
    fs::write(directory.path().join("head.jsonl"), whole.replace("\"delta\":1e-05,", "")).unwrap();
    for form in ["--plain", "--json"] {
        let refused = halflight(directory.path(), &["watch", "head.jsonl", "--once", form]);
        let words = text(&refused.stderr);
        assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(1), ""));
        assert!(words.contains("missing field `delta`") && words.contains("head.jsonl"), "{words}");
    }
    let mut screen = Screen::start(directory.path(), &["watch", "bad.jsonl"], 120, 36);
    screen.wait_for("the claim is too low");
    screen.wait_for("computed here");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn a_run_that_is_left_goes_on_without_its_interface_and_is_settled_by_itself() {
    goes_on_without_its_interface(|screen| {
        screen.press("q");
        screen.wait_for("g: quit, and it goes on");
        screen.press("g");
    });
}

#[test]
fn a_run_goes_on_when_its_terminal_is_closed_if_the_configuration_says_so() {
    goes_on_without_its_interface(|screen| {
        let pid = screen.child.process_id().unwrap().to_string();
        Command::new("kill").args(["-HUP", &pid]).status().unwrap();
    });
}

fn goes_on_without_its_interface(leave: impl FnOnce(&mut Screen)) {
    let directory = tempfile::tempdir().unwrap();
    let configured = directory.path().join("config/halflight");
    fs::create_dir_all(&configured).unwrap();
    fs::write(configured.join("config.ron"), "(when_closed: go_on)").unwrap();
    fs::write(directory.path().join("session.ron"), SESSION).unwrap();
    let mut screen = Screen::start(directory.path(), &["session.ron"], 120, 36);
    let launch = |screen: &mut Screen| {
        screen.wait_for("1 Data");
        screen.press("3");
        screen.wait_for(" Cost ");
        screen.press("l");
        screen.wait_for("Launch 'winter'?");
        screen.press("y");
    };
    launch(&mut screen);
    screen.wait_for("guarantee: ε");
    // The next one goes at a pace at which it can be left.
    for pace in ["512", "256", "128", "64", "32", "16", "8"] {
        screen.press("<");
        screen.wait_for(&format!("at most {pace} steps per second"));
    }
    launch(&mut screen);
    screen.wait_for("running · step ");
    leave(&mut screen);
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();

    let shown = halflight(directory.path(), &["watch", ".", "--once", "--json"]);
    let runs: Vec<Value> = text(&shown.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["kind"] == "run")
        .collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let run = runs[1]["directory"].as_str().unwrap();
    let before = runs[1]["step"].as_u64().unwrap();
    assert!(before < 60 && runs[1]["state"] != "stopped", "{}", runs[1]);
    let last = wait("its end", || {
        // Between the two processes nobody carries it out, for a moment.
        let shown = halflight(directory.path(), &["watch", run, "--json"]);
        let line = text(&shown.stdout)
            .lines()
            .rev()
            .find(|it| it.contains("\"kind\":\"run\""))?
            .to_owned();
        let line: Value = serde_json::from_str(&line).unwrap();
        (line["state"] != "died").then_some(line)
    });
    assert_eq!((&last["state"], &last["step"]), (&"finished".into(), &60.into()), "{last}");
    let book = halflight(directory.path(), &["ledger", "--json"]);
    let book: Value = serde_json::from_slice(&book.stdout).unwrap();
    let charged = &book["accounts"][0]["runs"][1]["charged"];
    assert_eq!(charged, &serde_json::json!([60]), "nothing is spent twice: {book:#}");
    assert!(Path::new(run).join("headless.log").exists());
}

/// Reads the event files with TensorBoard's own package, where the Python named by `PYTHON` has
/// it.
#[test]
fn event_files_are_read_by_tensorboard() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("session.ron"), SESSION).unwrap();
    let done = halflight(directory.path(), &["run", "session.ron"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let arguments = ["watch", ".", "--once", "--tensorboard", "logs"];
    let written = halflight(directory.path(), &arguments);
    assert!(written.status.success(), "{}", text(&written.stderr));
    let again = halflight(directory.path(), &arguments);
    assert!(text(&again.stderr).contains("it would be shown twice"), "{again:?}");
    let script = r#"
import os, sys
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    sys.exit(77)
events = EventAccumulator(os.path.join("logs", os.listdir("logs")[0])).Reload()
names = events.Tags()["scalars"]
errors = events.Scalars("public_error")
assert [it.step for it in errors] == list(range(1, 61)), errors
assert events.Scalars("epsilon")[-1].value > 0.99
assert not any("private" in name or "exact" in name for name in names), names
"#;
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(python);
    match command.args(["-c", script]).current_dir(directory.path()).output() {
        Ok(read) if read.status.code() == Some(77) => println!("SKIPPED: no tensorboard here"),
        Ok(read) => assert!(read.status.success(), "{}", text(&read.stderr)),
        Err(error) => println!("SKIPPED: there is no Python here: {error}"),
    }
}

#[test]
fn an_empty_watch_says_where_it_waits_and_for_what() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = command(directory.path(), &["watch", "--plain"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.contains("waiting for a run in ") && said.contains(".halflight"), "{said}");
}
