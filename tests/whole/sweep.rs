//! Sweeps: reserved at once, carried out anywhere, settled task by task.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::{program, schema};

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    program::halflight().args(arguments).current_dir(directory).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// JSON that the documented schema describes.
fn described(directory: &Path, name: &str, output: &Output) -> Value {
    let value = json(output);
    let arguments: Vec<&str> = std::iter::once("schema").chain(name.split(' ')).collect();
    if let Some(flaw) = schema::flaw(&json(&halflight(directory, &arguments)), &value) {
        panic!("{name}: {flaw}");
    }
    value
}

fn account(directory: &Path) -> Value {
    let book = json(&halflight(directory, &["ledger", "--json"]));
    assert_eq!(book["damaged"], false, "{book:#}");
    book["accounts"][0].clone()
}

fn runs(directory: &Path) -> Vec<Value> {
    account(directory)["runs"].as_array().cloned().unwrap_or_default()
}

fn spent(directory: &Path) -> f64 {
    account(directory)["spent"]["epsilon"].as_f64().unwrap()
}

fn count(runs: &[Value], state: &str) -> usize {
    runs.iter().filter(|run| run["state"].as_str().unwrap().starts_with(state)).count()
}

/// Data, and a session with one plan of so many steps.
fn workspace(steps: u64) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let table = |from: usize, rows: usize, slope: f64| {
        let row = |i: usize| {
            let (x, z) = ((i as f64 * 0.37).sin(), (i as f64 * 0.11).cos());
            format!("{x},{z},{}\n", slope * x - 0.5 * z + 0.1 * (i as f64).sin())
        };
        std::iter::once("x,z,y\n".to_owned())
            .chain((from..from + rows).map(row))
            .collect::<String>()
    };
    std::fs::write(directory.path().join("private.csv"), table(0, 400, 1.5)).unwrap();
    std::fs::write(directory.path().join("public.csv"), table(5000, 600, 1.0)).unwrap();
    let session = format!(
        r#"(
          version: 1,
          datasets: [
            (name: "ours", role: private, source: file("private.csv"), label: "y"),
            (name: "theirs", role: public, source: file("public.csv"), label: "y"),
          ],
          budgets: {{"ours": (epsilon: 40.0, delta: 1e-5)}},
          plans: [(
            name: "first", method: "profiled_cnvx_adap", private: "ours", public: ["theirs"],
            target: (epsilon: 1.0, delta: 1e-6), settings: {{"steps": {steps}}},
          )],
        )"#
    );
    std::fs::write(directory.path().join("session.ron"), session).unwrap();
    directory
}

/// Reserves a sweep and returns its directory and the commands of its tasks.
fn list(here: &Path, over: &[&str]) -> (PathBuf, Vec<String>) {
    let mut arguments = vec!["sweep", "session.ron", "--on", "list", "--into", "sweep", "--sealed"];
    for over in over {
        arguments.extend(["--over", over]);
    }
    let listed = halflight(here, &arguments);
    assert!(listed.status.success(), "{}", stderr(&listed));
    (here.join("sweep"), stdout(&listed).lines().map(str::to_owned).collect())
}

/// Starts a task and kills it between its claim and its result; false if it was faster.
fn killed(task: &Path, command: &str, delay: Duration) -> bool {
    let mut child = program::shell()
        .args(["-c", &format!("exec {command}")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !task.join("claim").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    !task.join("result.json").exists()
}

#[test]
fn sixty_tasks_with_ten_killed_collect_to_fifty_done_and_ten_missing() {
    let directory = workspace(300);
    let here = directory.path();
    let (sweep, commands) = list(here, &["epsilon=0.5,1,2", "seed=0..19"]);
    assert_eq!(commands.len(), 60);
    let reserved = spent(here);
    assert_eq!(count(&runs(here), "open"), 60, "all is reserved before anything starts");
    assert!(reserved > 2.0 && reserved < 40.0);

    let (mut dead, mut moment) = (Vec::new(), 17_u64);
    for index in (0..60).step_by(3) {
        moment = (moment * 7_919 + 1447) % 9973;
        let task = sweep.join("tasks").join(format!("{index:04}"));
        if killed(&task, &commands[index], Duration::from_millis(moment % 12)) {
            dead.push(index);
        }
        if dead.len() == 10 {
            break;
        }
    }
    assert_eq!(dead.len(), 10, "too many tasks were faster than their killer");

    // Every command again, four at a time: whatever was claimed refuses.
    std::fs::write(here.join("commands"), commands.join("\n") + "\n").unwrap();
    let xargs = program::shell()
        .args(["-c", r"xargs -d '\n' -P 4 -I{} sh -c {} < commands"])
        .current_dir(here)
        .output()
        .unwrap();
    assert_eq!(xargs.status.code(), Some(123), "{}", stderr(&xargs));
    let refused = stderr(&xargs).matches("the task is taken by").count();
    assert!(refused >= 10, "{refused}");

    let collected = halflight(here, &["sweep", "--collect", "sweep", "--json"]);
    assert_eq!(collected.status.code(), Some(1), "{}", stderr(&collected));
    assert!(stderr(&collected).contains("10 of 60 tasks are not done: 10 missing"));
    let collected = described(here, "sweep", &collected);
    assert_eq!((&collected["done"], &collected["missing"]), (&50.into(), &10.into()));
    for (index, task) in collected["each"].as_array().unwrap().iter().enumerate() {
        let state = if dead.contains(&index) { "missing" } else { "finished" };
        assert_eq!(task["state"], state, "{task:#}");
        let run = Path::new(task["directory"].as_str().unwrap());
        assert_eq!(run.join("model.safetensors").exists(), state == "finished");
    }
    let ledger = runs(here);
    assert_eq!((count(&ledger, "finished"), count(&ledger, "open")), (50, 10));
    for run in &ledger {
        assert_eq!(run["charged"], serde_json::json!([300]), "{run:#}");
    }
    assert_eq!(spent(here), reserved, "spend as reserved");

    // Each says why it cannot go on.
    let run = collected["each"][dead[0]]["run"].as_str().unwrap().to_owned();
    let resumed = |wanted: &str| {
        let said = stderr(&halflight(here, &["run", "--resume", &format!("sweep/runs/{run}")]));
        assert!(said.contains("cannot be resumed") && said.contains(wanted), "{said}");
    };
    resumed("this one has no result");

    // Giving up the dead ones changes who they are, not what they cost; twice is once.
    for _ in 0..2 {
        let given_up = halflight(here, &["sweep", "--collect", "sweep", "--give-up"]);
        assert_eq!(given_up.status.code(), Some(1), "{}", stderr(&given_up));
        let ledger = runs(here);
        assert_eq!((count(&ledger, "finished"), count(&ledger, "given up")), (50, 10));
        assert_eq!(spent(here), reserved);
    }
    let again = halflight(here, &["sweep", "--collect", "sweep"]);
    let said = stderr(&again);
    assert!(said.contains("10 given up") && !said.contains("--give-up"), "{said}");
    resumed("this one was given up");
    let board = halflight(here, &["watch", "--once", "sweep"]);
    assert!(stdout(&board).contains("50 finished, 10 given up"), "{}", stdout(&board));
    let listed = std::fs::read_dir(here.join(".halflight/runs")).unwrap().count();
    assert_eq!(listed, 50);
}

#[test]
fn a_sweep_on_this_machine_does_all_tasks_and_what_is_given_up_is_free() {
    let directory = workspace(20);
    let here = directory.path();
    let done = halflight(
        here,
        &["sweep", "session.ron", "--over", "epsilon=0.5,1", "--over", "seed=0..2", "--json"],
    );
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(described(here, "sweep", &done)["done"], 6);
    assert_eq!(count(&runs(here), "finished"), 6);
    let before = spent(here);

    let (sweep, commands) = list(here, &["steps=10,20,30"]);
    assert!(spent(here) > before);
    let one = format!("{} --json", commands[1]);
    let one = program::shell().args(["-c", &one]).output().unwrap();
    assert!(one.status.success(), "{}", stderr(&one));
    assert_eq!(described(here, "sweep task", &one)["steps"], 20);
    let collected = json(&halflight(here, &["sweep", "--collect", "sweep", "--json"]));
    assert_eq!((&collected["done"], &collected["not_begun"]), (&1.into(), &2.into()));
    // A task that the ledger gives up is not begun any more.
    let given_up = halflight(here, &["sweep", "--collect", "sweep", "--give-up", "--json"]);
    assert_eq!(json(&given_up)["given_up"], 2);
    let late = program::shell().args(["-c", &commands[0]]).output().unwrap();
    assert_eq!(late.status.code(), Some(3), "{}", stderr(&late));
    let charged: Vec<u64> =
        runs(here)[6..].iter().map(|run| run["charged"][0].as_u64().unwrap()).collect();
    assert_eq!(charged, [0, 20, 0]);
    assert!(sweep.join("tasks/0001/result.json").is_file());

    // What a signal left is carried on.
    std::fs::remove_dir_all(&sweep).unwrap();
    let (_, _) = list(here, &["seed=7..9"]);
    let carried_on = halflight(here, &["sweep", "--continue", "sweep", "--json"]);
    assert!(carried_on.status.success(), "{}", stderr(&carried_on));
    assert_eq!(json(&carried_on)["done"], 3);
}

/// The sums of a dry run are those of its rows, and the ledger counts what it foretells.
#[test]
fn a_dry_run_adds_up_and_tells_what_the_ledger_will_count() {
    let directory = workspace(20);
    let here = directory.path();
    let over = ["sweep", "session.ron", "--over", "epsilon=0.2,0.3", "--over", "seed=0..1"];
    let dry = halflight(here, &[&over[..], &["--dry-run"]].concat());
    assert!(dry.status.success(), "{}", stderr(&dry));
    let text = stdout(&dry);
    let number = |line: &str, before: &str, after: &str| -> f64 {
        let found = line.split_once(before).and_then(|(_, rest)| rest.split_once(after));
        found.and_then(|(number, _)| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let is_row = |line: &&str| line.starts_with("first · ");
    let (rows, sums): (Vec<&str>, Vec<&str>) = text.lines().partition(is_row);
    assert_eq!((rows.len(), sums.len()), (4, 2), "{text}");
    for (before, after) in [(": ", " steps"), ("ε = ", " at δ")] {
        let sum: f64 = rows.iter().map(|row| number(row, before, after)).sum();
        assert!((sum - number(sums[0], before, after)).abs() < 1e-9, "{text}");
    }
    assert!(rows[0].ends_with("at δ = 1e-6") && sums[0].ends_with("at δ = 4e-6"), "{text}");
    let told = number(sums[1], "ε = ", " at δ = 1e-5");
    let done = halflight(here, &over);
    assert!(done.status.success(), "{}", stderr(&done));
    let spent = spent(here);
    assert!(spent <= told && told < spent + 2e-4, "{spent} {told}");
}

#[test]
fn a_grant_is_not_used_twice_by_removing_a_claim_or_in_a_copy() {
    let directory = workspace(20);
    let here = directory.path();
    let (sweep, commands) = list(here, &["seed=0..2"]);
    let copied = program::shell().args(["-c", "cp -r sweep spare"]).current_dir(here).status();
    assert!(copied.unwrap().success());
    let task = |command: &str| program::shell().args(["-c", command]).output().unwrap();
    for done in &commands[..2] {
        assert!(task(done).status.success());
    }
    // With a result, and without one, as if the program had been killed.
    let (first, second) = (sweep.join("tasks/0000"), sweep.join("tasks/0001"));
    for file in [first.join("claim"), second.join("claim"), second.join("result.json")] {
        std::fs::remove_file(file).unwrap();
    }
    for again in &commands[..2] {
        let refused = task(again);
        assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
        assert!(stderr(&refused).contains("was begun before"), "{}", stderr(&refused));
    }
    assert!(!second.join("result.json").exists());
    halflight(here, &["sweep", "--collect", "sweep", "--give-up"]);
    let charged = || -> Vec<u64> {
        runs(here).iter().map(|run| run["charged"][0].as_u64().unwrap()).collect()
    };
    assert_eq!(charged(), [20, 20, 0]);

    let spare = commands[2].replace("/sweep/", "/spare/");
    let refused = task(&spare);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("the ledger has settled"), "{}", stderr(&refused));

    // On a machine that does not reach the ledger, the copy works; what it drew is charged late.
    std::fs::rename(here.join(".halflight"), here.join("away")).unwrap();
    let late = task(&spare);
    assert!(late.status.success(), "{}", stderr(&late));
    std::fs::rename(here.join("away"), here.join(".halflight")).unwrap();
    halflight(here, &["sweep", "--collect", "spare"]);
    assert_eq!(charged(), [20, 20, 20]);
}

#[test]
fn a_sweep_over_record_counts_trains_on_so_many() {
    let directory = workspace(20);
    let here = directory.path();
    let over = ["--over", "private_records=40,320", "--over", "public_records=100,all"];
    let whole: Vec<&str> = ["sweep", "session.ron"].iter().chain(&over).copied().collect();
    let done = halflight(here, &whole);
    assert!(done.status.success(), "{}", stderr(&done));
    let mut records: Vec<u64> = std::fs::read_dir(here.join(".halflight/runs"))
        .unwrap()
        .map(|run| {
            let text = std::fs::read_to_string(run.unwrap().path().join("certificate.json"));
            let certificate: Value = serde_json::from_str(&text.unwrap()).unwrap();
            certificate["records"].as_u64().unwrap()
        })
        .collect();
    records.sort_unstable();
    assert_eq!(records, [40, 40, 320, 320]);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_reserved() {
    let directory = workspace(20);
    let here = directory.path();
    let refused = |arguments: &[&str], code: i32, what: &str| {
        let whole: Vec<&str> = ["sweep", "session.ron"].iter().chain(arguments).copied().collect();
        let output = halflight(here, &whole);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(what), "{what}: {}", stderr(&output));
    };
    refused(&["--over", "steps=20,2.5"], 2, "a whole number up to");
    refused(&["--over", "stepz=20"], 2, "has no setting 'stepz'");
    refused(&["--over", "epsilon=0"], 2, "above 0");
    refused(&["--over", "private_records=0"], 2, "is not a number of records");
    refused(&["--over", "private_records=321"], 2, "320 are left for training");
    refused(&["--over", "public_records=481"], 2, "480 are left for training");
    refused(&["--over", "delta=1e-6,0.5"], 3, "δ = 0.5 is not below 1/n");
    refused(&["--plan", "second"], 2, "there is no plan");
    assert!(!here.join(".halflight/ledger.jsonl").exists());
    let many = ["--over", "epsilon=20", "--over", "seed=0..9"];
    refused(&[&many[..], &["--dry-run"]].concat(), 3, "the first ");
    assert!(!here.join(".halflight").exists(), "a dry run writes nothing");
    refused(&many, 3, "these 10 runs together would overspend");
    assert!(runs(here).is_empty());
    assert_eq!(std::fs::read_dir(here.join(".halflight/sweeps")).unwrap().count(), 0);
    // The rest of the budget is usable.
    let fits = halflight(here, &["sweep", "session.ron", "--over", "epsilon=20"]);
    assert!(fits.status.success(), "{}", stderr(&fits));
}

#[test]
fn a_task_holds_for_its_data_and_its_plan_only() {
    let directory = workspace(20);
    let here = directory.path();
    let (sweep, commands) = list(here, &["seed=0,1"]);
    let refused = |what: &str| {
        let output = program::shell().args(["-c", &commands[0]]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(what), "{what}: {}", stderr(&output));
        assert!(!sweep.join("tasks/0000/claim").exists(), "a refusal claims nothing");
    };
    let changed = |path: PathBuf, from: &str, to: &str, what: &str| {
        let whole = std::fs::read_to_string(&path).unwrap();
        assert!(whole.contains(from), "{from}");
        std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
        refused(what);
        std::fs::write(&path, whole).unwrap();
    };
    changed(here.join("private.csv"), "0,1,", "0,1.25,", "the private dataset 'ours' was changed");
    changed(sweep.join("tasks/0000/task.ron"), "seed: 0", "seed: 5", "run.ron was changed");
    let fine = program::shell().args(["-c", &commands[0]]).output().unwrap();
    assert!(fine.status.success(), "{}", stderr(&fine));
    // No exact number was computed: the sweep is sealed.
    let collected = json(&halflight(here, &["sweep", "--collect", "sweep", "--json"]));
    let run = Path::new(collected["each"][0]["directory"].as_str().unwrap());
    assert_eq!(std::fs::read(run.join("curator.jsonl")).unwrap(), b"");
    let finished = runs(here).into_iter().find(|run| run["state"] == "finished");
    assert!(finished.is_some(), "finished, and nobody peeked");
}

/// A stand-in for sbatch: it carries a job array out at once.
const SBATCH: &str = r#"#!/bin/sh
[ "$1" = -V ] && { echo stand-in; exit 0; }
for script; do :; done
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
grep -q '^#SBATCH --time=5$' "$script" || exit 9
for SLURM_ARRAY_TASK_ID in $(seq 0 "$last"); do
  export SLURM_ARRAY_TASK_ID
  sh "$script" > /dev/null 2>&1
done
echo 4711
"#;

#[test]
fn a_job_array_is_printed_and_submitted_and_a_cluster_that_refuses_is_told() {
    let directory = workspace(20);
    let here = directory.path();
    let over =
        ["sweep", "session.ron", "--on", "slurm", "--sbatch=--time=5", "--over", "seed=0..3"];
    let printed = halflight(here, &[&over[..], &["--dry-run"]].concat());
    assert!(printed.status.success(), "{}", stderr(&printed));
    let script = stdout(&printed);
    for line in ["#!/bin/sh", "#SBATCH --array=0-3", "#SBATCH --time=5"] {
        assert!(script.lines().any(|found| found == line), "{line}: {script}");
    }
    assert!(!here.join(".halflight").exists());

    let bin = here.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let write = |text: &str| {
        std::fs::write(bin.join("sbatch"), text).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join("sbatch"), executable).unwrap();
    };
    let submit = || {
        let path = std::env::var("PATH").unwrap();
        program::halflight()
            .args(over)
            .args(["--into", "array"])
            .env("PATH", format!("{}:{path}", bin.display()))
            .current_dir(here)
            .output()
            .unwrap()
    };
    write(SBATCH);
    let submitted = submit();
    assert!(stdout(&submitted).contains("Slurm job 4711: 4 tasks"), "{}", stderr(&submitted));
    let collected = halflight(here, &["sweep", "--collect", "array"]);
    assert!(collected.status.success(), "{}", stderr(&collected));
    assert!(stdout(&collected).contains("4 of 4 tasks are done"));
    let results = stdout(&collected);
    assert_eq!(results.matches(", error on public records").count(), 4, "{results}");

    std::fs::remove_dir_all(here.join("array")).unwrap();
    write("#!/bin/sh\n[ \"$1\" = -V ] && exit 0\necho 'no such partition' >&2; exit 1\n");
    let refused = submit();
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(said.contains("no such partition") && said.contains("--give-up"), "{said}");
    assert_eq!(count(&runs(here), "open"), 4, "what is reserved counts until it is given up");
}
