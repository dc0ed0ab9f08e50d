//! Runs whose program died go on: nothing is spent twice, no noise is used twice.

use std::collections::HashSet;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

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

/// Draws of its plan, one in each step.
const PLANNED: u64 = 60;

fn halflight(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = program::halflight();
    command.args(arguments).current_dir(directory);
    of_its_own_user(&mut command, directory);
    command
}

/// Each directory is another user's, of one team: to one user, only one of several copies may
/// go on.
fn of_its_own_user(command: &mut Command, directory: &Path) {
    command.env("XDG_CONFIG_HOME", directory.join("config"));
    command.env("HALFLIGHT_SECRET_FILE", program::secret());
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The workspace's runs as the ledger knows them.
fn ledger(directory: &Path) -> Vec<Value> {
    let book = json(&halflight(directory, &["ledger", "--json"]));
    assert_eq!(book["damaged"], false, "{book:#}");
    let accounts = book["accounts"].as_array().unwrap();
    accounts.iter().flat_map(|account| account["runs"].as_array().unwrap().clone()).collect()
}

fn is_open(run: &Value) -> bool {
    run["state"].as_str().unwrap().starts_with("open")
}

/// The only run's directory.
fn run_directory(directory: &Path) -> PathBuf {
    let mut runs = std::fs::read_dir(directory.join(".halflight/runs")).unwrap();
    runs.next().unwrap().unwrap().path()
}

/// Starts a run of the demo here, or goes on with it, and kills it after a while.
fn kill_after(directory: &Path, resume: Option<&Path>, delay: Duration) {
    let mut command = if let Some(run) = resume {
        let mut command = command(directory, &["run", "--pace", "200", "--resume"]);
        command.arg(run);
        command
    } else {
        std::fs::write(directory.join("s.ron"), SESSION).unwrap();
        command(directory, &["run", "s.ron", "--pace", "200"])
    };
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The frames of a transcript, read by the documented format alone; each seal is checked.
fn frames(run: &Path) -> Vec<(u32, Vec<u64>)> {
    let bytes = std::fs::read(run.join("transcript")).unwrap();
    let magic = b"halflight transcript 1\n";
    let mut rest = bytes.strip_prefix(magic).unwrap();
    let name = run.file_name().unwrap().to_str().unwrap();
    let mut chain = Sha256::new().chain_update(magic).chain_update(name).finalize();
    let mut frames = Vec::new();
    while rest.len() >= 16 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let (event, count) = (word(0), word(4) as usize);
        let length = 8 + 8 * count;
        if rest.len() < length + 8 {
            break;
        }
        chain = Sha256::new().chain_update(chain).chain_update(&rest[..length]).finalize();
        assert_eq!(&chain[..8], &rest[length..length + 8], "seal of frame {}", frames.len());
        let numbers = rest[8..length].chunks(8);
        frames.push((
            event,
            numbers.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect(),
        ));
        rest = &rest[length + 8..];
    }
    frames
}

/// The steps in a file of steps.
fn steps(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let step = |line: &str| serde_json::from_str::<Value>(line).unwrap()["step"].as_u64().unwrap();
    text.lines().map(step).collect()
}

/// A resumed and ended run: everything is there, once, and the ledger says what was drawn.
/// How many draws were lost is returned.
fn check_ended(directory: &Path, run: &Path) -> u64 {
    let known = ledger(directory);
    assert_eq!(known.len(), 1);
    assert!(!is_open(&known[0]), "{:#}", known[0]);
    assert_eq!(known[0]["charged"], serde_json::json!([PLANNED]), "exactly the plan is spent");
    let frames = frames(run);
    let distinct: HashSet<&Vec<u64>> = frames.iter().map(|(_, numbers)| numbers).collect();
    assert_eq!(distinct.len(), frames.len(), "a released value came twice");
    let lost = PLANNED - frames.len() as u64;
    let expected: Vec<u64> = (1..=frames.len() as u64).collect();
    assert_eq!(steps(&run.join("events.jsonl")), expected, "every step once");
    // The last line is about the end.
    let exact = steps(&run.join("curator.jsonl"));
    assert_eq!(exact[..exact.len() - 1], expected, "every exact number once");
    for file in ["model.ron", "model.safetensors", "certificate.json"] {
        assert!(run.join(file).is_file(), "{file} is missing");
    }
    let verified = halflight(directory, &["ledger", "verify"]);
    assert!(verified.status.success(), "{}", text(&verified));
    lost
}

#[test]
fn runs_killed_at_thirty_random_moments_resume_to_a_whole_result() {
    let (mut kills, mut lost, mut moment) = (0, 0, 17_u64);
    let mut delay = || {
        moment = (moment * 7_919 + 1447) % 9973;
        Duration::from_millis(120 + moment % 240)
    };
    while kills < 30 {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        kill_after(here, None, delay());
        if !here.join(".halflight/ledger.jsonl").exists() || ledger(here).is_empty() {
            continue; // it died before it was granted anything
        }
        let run = run_directory(here);
        let mut deaths = 0;
        while is_open(&ledger(here)[0]) && deaths < 3 {
            kills += 1;
            deaths += 1;
            // What was released before is there again after each death, bit for bit.
            let before = frames(&run);
            kill_after(here, Some(&run), delay());
            assert_eq!(frames(&run)[..before.len()], before);
        }
        if deaths == 0 {
            continue; // it ended before it was killed
        }
        if is_open(&ledger(here)[0]) {
            let resumed = halflight(here, &["run", "--json", "--resume", run.to_str().unwrap()]);
            assert!(resumed.status.success(), "{}", text(&resumed));
            let outcome = json(&resumed)["runs"][0]["outcome"].clone();
            let expected =
                if frames(&run).len() as u64 == PLANNED { "finished" } else { "stopped" };
            assert_eq!(outcome, expected);
        }
        let missing = check_ended(here, &run);
        assert!(missing <= deaths, "{missing} draws were lost in {deaths} deaths");
        lost += missing;
    }
    assert!(lost <= 6, "{lost} of 30 deaths cost a draw");
}

/// A workspace with a run of the demo that died somewhere in the middle.
fn dead_run() -> (tempfile::TempDir, PathBuf) {
    loop {
        let directory = tempfile::tempdir().unwrap();
        kill_after(directory.path(), None, Duration::from_millis(300));
        let runs = directory.path().join(".halflight/runs");
        if runs.exists() && ledger(directory.path()).first().is_some_and(is_open) {
            let run = run_directory(directory.path());
            if (5..55).contains(&frames(&run).len()) {
                return (directory, run);
            }
        }
    }
}

#[test]
fn a_run_is_not_resumed_beyond_a_budget_that_was_lowered_since() {
    let (directory, run) = dead_run();
    let here = directory.path();
    let book = json(&halflight(here, &["ledger", "--json"]));
    let account = book["accounts"][0]["account"].as_str().unwrap().to_owned();
    let resume = || halflight(here, &["run", "--resume", run.to_str().unwrap()]);
    let budget = |epsilon: &str| {
        let set = halflight(here, &["ledger", "budget", &account, epsilon, "1e-5"]);
        assert!(set.status.success(), "{}", text(&set));
    };
    budget("0.3");
    let refused = resume();
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused));
    assert!(text(&refused).contains("is not resumed"), "{}", text(&refused));
    assert!(text(&refused).contains(&format!("ledger budget {account}")), "{}", text(&refused));
    assert!(is_open(&ledger(here)[0]));
    // The session that the run keeps has the larger budget, and lowers none that was raised.
    budget("9");
    let resumed = resume();
    assert!(resumed.status.success(), "{}", text(&resumed));
    let book = json(&halflight(here, &["ledger", "--json"]));
    assert_eq!(book["accounts"][0]["budget"]["epsilon"], 9.0);
}

#[test]
fn a_run_that_was_started_sealed_stays_sealed() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/bikeshare/session.ron");
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(&assets, directory.path().join("session.ron")).unwrap();
    let plan = ["--plan", "winter by a weighted line", "--sealed", "--pace", "20"];
    let mut command = command(directory.path(), &[&["run", "session.ron"], &plan[..]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let runs = directory.path().join(".halflight/runs");
    let length = || {
        let run = std::fs::read_dir(&runs).ok()?.next()?.ok()?;
        Some(std::fs::metadata(run.path().join("transcript")).ok()?.len())
    };
    // A step takes about 300 bytes.
    while length().unwrap_or_default() < 1500 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its fifth step");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = run_directory(directory.path());
    let resume = |arguments: &[&str]| {
        let all = [&["run", "--resume", run.to_str().unwrap()], arguments].concat();
        halflight(directory.path(), &all)
    };
    let refused = resume(&["--json", "--include-curator"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("started sealed"), "{}", text(&refused));
    // Nobody says --sealed.
    let resumed = resume(&[]);
    assert!(resumed.status.success(), "{}", text(&resumed));
    let told = String::from_utf8_lossy(&resumed.stdout).into_owned() + &text(&resumed);
    assert!(!told.contains('◆') && told.contains("; sealed"), "{told}");
    let exact = std::fs::read_to_string(run.join("curator.jsonl")).unwrap_or_default();
    assert!(!exact.contains("private_error"), "{exact}");
    let book = std::fs::read_to_string(directory.path().join(".halflight/ledger.jsonl")).unwrap();
    assert!(book.contains("\"peeked\":false") && !book.contains("\"peeked\":true"), "{book}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn every_resumption_has_noise_of_its_own_and_damage_costs_what_it_hits() {
    let (directory, run) = dead_run();
    let kept = frames(&run);
    // The same death, resumed four times in workspaces of their own.
    let name = run.file_name().unwrap();
    let again = |change: &dyn Fn(&Path, &Path)| {
        let copied = tempfile::tempdir().unwrap();
        copy(&directory.path().join(".halflight"), &copied.path().join(".halflight"));
        let run = copied.path().join(".halflight/runs").join(name);
        change(copied.path(), &run);
        let resumed =
            halflight(copied.path(), &["run", "--json", "--resume", run.to_str().unwrap()]);
        assert!(resumed.status.success(), "{}", text(&resumed));
        let lost = check_ended(copied.path(), &run);
        (frames(&run), lost, text(&resumed))
    };
    let (first, lost, _) = again(&|_, _| {});
    assert!(lost <= 1, "{lost}");
    let (second, ..) = again(&|_, _| {});
    assert_eq!(first[..kept.len()], second[..kept.len()]);
    for (one, other) in first[kept.len()..].iter().zip(&second[kept.len()..]) {
        assert_ne!(one, other, "two resumptions drew the same noise");
    }
    // A changed byte: the whole frames before it are used, what comes after is lost.
    let damaged = kept.len() / 2;
    let (third, lost, said) = again(&|_, run| {
        let path = run.join("transcript");
        let mut bytes = std::fs::read(&path).unwrap();
        let frame = 16 + 8 * kept[0].1.len();
        bytes[23 + frame * damaged + 11] ^= 4;
        std::fs::write(&path, bytes).unwrap();
    });
    assert_eq!(third[..damaged], kept[..damaged]);
    assert_ne!(third[damaged], kept[damaged]);
    assert!(lost >= (kept.len() - damaged) as u64 && said.contains("lost"), "{lost}: {said}");
    // The machine was started again: the block of three that was announced last counts as
    // drawn, the whole of it where the first of the three was not made yet.
    let (fourth, lost, _) = again(&|workspace, _| {
        std::fs::remove_dir_all(workspace.join(".halflight/open")).unwrap();
    });
    assert_eq!(fourth[..kept.len()], kept);
    assert!(lost <= 3 && (kept.len() as u64 + lost).is_multiple_of(3), "{lost} of {}", kept.len());
}

#[test]
fn a_run_goes_on_only_as_the_run_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write_session(here);
    let mut child = command(here, &["run", "session.ron", "--pace", "20"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let events = || {
        let runs = here.join(".halflight/runs");
        runs.exists()
            && std::fs::read_dir(&runs).unwrap().count() == 1
            && steps_or_none(&run_directory(here).join("events.jsonl")) >= 3
    };
    while !events() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = run_directory(here);
    let refused = |what: &str| {
        let resumed = halflight(here, &["run", "--resume", run.to_str().unwrap()]);
        assert_eq!(resumed.status.code(), Some(3), "{}", text(&resumed));
        assert!(text(&resumed).contains(what), "{what}: {}", text(&resumed));
    };
    refused("still being carried out");
    let said = String::from_utf8(halflight(here, &["ledger"]).stdout).unwrap();
    assert!(!said.contains("--resume"), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    let said = String::from_utf8(halflight(here, &["ledger"]).stdout).unwrap();
    assert!(said.contains("halflight run --resume"), "{said}");

    let before = frames(&run);
    let changed = |path: &Path, from: &str, to: &str, what: &str| {
        let whole = std::fs::read_to_string(path).unwrap();
        assert!(whole.contains(from), "{from} in {whole}");
        std::fs::write(path, whole.replacen(from, to, 1)).unwrap();
        refused(what);
        std::fs::write(path, whole).unwrap();
    };
    changed(&run.join("run.ron"), "seed: 0", "seed: 1", "run.ron was changed");
    changed(&here.join("private.csv"), "0,1,", "0,1.5,", "the private dataset 'ours' was changed");
    changed(&here.join("public.csv"), "0,1,", "0,1.5,", "the public dataset 'theirs' was changed");
    changed(&run.join("resume.json"), "\"steps\": ", "\"steps\": 9", "another program");
    // The first steps come out otherwise than they were written down.
    let events = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    let line: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    let objective = line["values"]["public_objective"]["value"].to_string();
    changed(&run.join("events.jsonl"), &objective, "77.5", "step 1 comes out otherwise");
    assert!(is_open(&ledger(here)[0]), "a refusal settles nothing");
    assert_eq!(frames(&run), before, "a refusal draws nothing");

    let resumed = halflight(here, &["run", "--resume", run.to_str().unwrap()]);
    assert!(resumed.status.success(), "{}", text(&resumed));
    assert_eq!(frames(&run)[..before.len()], before);
    refused("is settled");
    let elsewhere = halflight(here, &["run", "--resume", "."]);
    assert_eq!(elsewhere.status.code(), Some(1), "{}", text(&elsewhere));
}

#[test]
fn a_full_disk_and_a_read_only_place_fail_cleanly_and_the_run_goes_on_later() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write_session(here);
    // A limit on the size of files stands for a full disk: part of a line gets in.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"trap "" XFSZ; ulimit -f 44; exec "$0" run session.ron"#])
        .arg(env!("CARGO_BIN_EXE_halflight"))
        .current_dir(here);
    of_its_own_user(&mut shell, here);
    let full = shell.output().unwrap();
    assert_eq!(full.status.code(), Some(1), "{}", text(&full));
    assert!(text(&full).contains("halflight run --resume"), "{}", text(&full));
    assert!(!text(&full).contains("panicked"), "{}", text(&full));
    assert!(is_open(&ledger(here)[0]), "what is not settled counts in full");
    let run = run_directory(here);
    assert!(!run.join("certificate.json").exists());
    let resumed = halflight(here, &["run", "--resume", run.to_str().unwrap()]);
    assert!(resumed.status.success(), "{}", text(&resumed));
    assert!(check_ended(here, &run) <= 1);

    // Nowhere to write: nothing is spent.
    let other = tempfile::tempdir().unwrap();
    write_session(other.path());
    std::fs::create_dir_all(other.path().join(".halflight")).unwrap();
    let runs = other.path().join(".halflight/runs");
    make_unwritable(&runs);
    let refused = halflight(other.path(), &["run", "session.ron"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused));
    assert!(text(&refused).contains("create the run directory"), "{}", text(&refused));
    assert_eq!(ledger(other.path()), Vec::<Value>::new(), "nothing was granted");
}

/// A directory that cannot be written, even by root.
fn make_unwritable(path: &Path) {
    use std::os::unix::fs::{PermissionsExt, symlink};
    std::fs::create_dir(path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::create_dir(path.join("probe")).is_ok() {
        std::fs::remove_dir_all(path).unwrap();
        symlink("/proc/self/fd", path).unwrap();
    }
}

#[test]
fn an_insecure_seed_repeats_a_run_to_the_last_bit_is_charged_and_voids_the_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write_session(here);
    let mut runs = insecure_runs(here, "first", "2");
    let refused = halflight(here, &["run", "session.ron", "--plan", "first"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused));
    accept(here);
    // More threads than most machines have, too.
    runs.extend(on_several_numbers_of_threads(here, &["first"], &["1", "3", "8"]).concat());
    for other in &runs[1..] {
        assert_same_to_the_last_bit(&runs[0], other);
    }
    let certificate = std::fs::read(runs[0].join("certificate.json")).unwrap();
    let certificate: Value = serde_json::from_slice(&certificate).unwrap();
    assert!(certificate["statement"].as_str().unwrap().starts_with("NO GUARANTEE"));
    assert!(certificate["guarantee"].is_null());
    let report = std::fs::read_to_string(runs[0].join("report.html")).unwrap();
    assert!(report.contains("NO GUARANTEE") && report.contains("</i> unbounded"), "{report}");
    for run in ledger(here) {
        assert_eq!(run["charged"], serde_json::json!([PLANNED]));
        assert!(run["method"].as_str().unwrap().ends_with("insecure noise seed 7"), "{run:#}");
    }
    // Without the seed the noise is another every time.
    let secret = halflight(here, &["run", "session.ron", "--json"]);
    let secret = json(&secret)["runs"][0]["directory"].as_str().unwrap().to_owned();
    let [one, other] = [&runs[0], Path::new(&secret)]
        .map(|run| std::fs::read(run.join("model.safetensors")).unwrap());
    assert_ne!(one, other);
}

fn steps_or_none(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// For each number of threads, the directories of the runs of these plans with a seed for the
/// noise.
fn on_several_numbers_of_threads(
    here: &Path,
    plans: &[&str],
    threads: &[&str],
) -> Vec<Vec<PathBuf>> {
    let one = |plan: &str, threads: &str| {
        let runs = insecure_runs(here, plan, threads);
        accept(here);
        runs
    };
    let all = |threads: &&str| plans.iter().flat_map(|plan| one(plan, threads)).collect();
    threads.iter().map(all).collect()
}

/// Nothing is granted after a run with a known seed until somebody accepts that nothing holds.
fn accept(here: &Path) {
    let book = json(&halflight(here, &["ledger", "--json"]));
    let account = book["accounts"][0]["account"].as_str().unwrap();
    assert!(halflight(here, &["ledger", "accept", account]).status.success());
}

fn insecure_runs(here: &Path, plan: &str, threads: &str) -> Vec<PathBuf> {
    let seeded = ["run", "session.ron", "--plan", plan, "--json", "--insecure-noise-seed", "7"];
    let output = halflight(here, &[&seeded[..], &["--threads", threads]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let described = json(&halflight(here, &["schema", "run"]));
    assert_eq!(schema::flaw(&described, &json(&output)), None);
    let runs = json(&output)["runs"].as_array().unwrap().clone();
    let directory = |result: &Value| {
        assert!(result["guarantee"].is_null(), "{result:#}");
        assert!(result["insecure_noise_seed"] == 7, "{result:#}");
        PathBuf::from(result["directory"].as_str().unwrap())
    };
    runs.iter().map(directory).collect()
}

fn assert_same_to_the_last_bit(one: &Path, other: &Path) {
    for file in ["model.safetensors", "events.jsonl", "curator.jsonl"] {
        let [one, other] = [one, other].map(|run| std::fs::read(run.join(file)).unwrap());
        assert!(one == other, "{file} differs");
    }
}

#[test]
fn networks_and_trees_are_the_same_to_the_last_bit_on_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let table = |rows: usize, shift: usize| {
        let names: Vec<String> = (0..64).map(|i| format!("x{i}")).collect();
        let mut text = format!("{},kind\n", names.join(","));
        for row in 0..rows {
            for column in 0..64 {
                let angle = ((row + shift) * (column + 3)) as f64 * 0.013;
                write!(text, "{:.4},", angle.sin()).unwrap();
            }
            writeln!(text, "{}", ["a", "b", "c"][row * 7 % 3]).unwrap();
        }
        text
    };
    std::fs::write(here.join("private.csv"), table(1000, 0)).unwrap();
    std::fs::write(here.join("public.csv"), table(200, 5000)).unwrap();
    let plan = |name: &str, settings: &str| {
        format!(
            r#"(name: "{name}", method: "{name}", private: "ours", public: ["theirs"],
                target: (epsilon: 1.0, delta: 1e-6), settings: {{"steps": 2, {settings}}},
                preparation: (intercept: false)),"#
        )
    };
    let dataset = |name: &str, role: &str, file: &str| {
        format!(
            r#"(name: "{name}", role: {role}, source: file("{file}"), label: "kind",
                task: classification),"#
        )
    };
    let session = [
        "(version: 1, datasets: [".to_owned(),
        dataset("ours", "private", "private.csv"),
        dataset("theirs", "public", "public.csv"),
        "], budgets: {\"ours\": (epsilon: 90.0, delta: 1e-4)}, plans: [".to_owned(),
        plan("dp_sgd", r#""model": "probe_cnn""#),
        plan("pillar", r#""components": 20"#),
        plan("gep", r#""model": "hidden_layer""#),
        plan("adadps", r#""model": "hidden_layer""#),
        plan("pretraining", r#""trained": "adapters""#),
        plan("public_shape_classes", "").replace("\"steps\": 2, ", "\"rounds\": 2"),
        "])".to_owned(),
    ];
    std::fs::write(here.join("session.ron"), session.concat()).unwrap();
    let plans = ["dp_sgd", "pillar", "gep", "adadps", "pretraining", "public_shape_classes"];
    let [one, more @ ..] = &*on_several_numbers_of_threads(here, &plans, &["1", "8"]) else {
        unreachable!()
    };
    assert_eq!(one.len(), plans.len());
    for (one, other) in more.iter().flat_map(|more| one.iter().zip(more)) {
        assert_same_to_the_last_bit(one, other);
    }
}

/// Enough records that products of them are split among threads.
fn write_session(directory: &Path) {
    let table = |from: usize, rows: usize, slope: f64| {
        let names: Vec<String> = (0..24).map(|i| format!("x{i}")).collect();
        let mut text = format!("{},y\n", names.join(","));
        for row in from..from + rows {
            let feature = |i: usize| ((row * (i + 3)) as f64 * 0.013).sin();
            text += if row == from { "0,1," } else { "1,0," };
            let rest: Vec<f64> = (2..24).map(feature).collect();
            for x in &rest {
                write!(text, "{x:.4},").unwrap();
            }
            let label = slope * rest[0] - 0.5 * rest[1] + 0.1 * rest[20];
            writeln!(text, "{label:.4}").unwrap();
        }
        text
    };
    std::fs::write(directory.join("private.csv"), table(0, 5000, 1.5)).unwrap();
    std::fs::write(directory.join("public.csv"), table(20_000, 1_200, 1.0)).unwrap();
    std::fs::write(
        directory.join("session.ron"),
        r#"(
          version: 1,
          datasets: [
            (name: "ours", role: private, source: file("private.csv"), label: "y"),
            (name: "theirs", role: public, source: file("public.csv"), label: "y"),
          ],
          budgets: {"ours": (epsilon: 9.0, delta: 1e-5)},
          plans: [(
            name: "first", method: "profiled_cnvx_adap", private: "ours", public: ["theirs"],
            target: (epsilon: 1.0, delta: 1e-6),
          )],
        )"#,
    )
    .unwrap();
}

/// Wherever files run out, a grant that is in the ledger has a directory and can go on.
#[cfg(unix)]
#[test]
fn a_run_that_failed_between_grant_and_first_step_goes_on_later() {
    for files in 9..=18 {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        std::fs::write(here.join("s.ron"), SESSION).unwrap();
        let mut few = Command::new("sh");
        few.args(["-c", &format!("ulimit -n {files}; exec \"$0\" run s.ron")]);
        few.arg(env!("CARGO_BIN_EXE_halflight")).current_dir(here);
        of_its_own_user(&mut few, here);
        let done = program::apart(&mut few).output().unwrap();
        if done.status.success() {
            break;
        }
        let Some(run) = ledger(here).pop() else { continue };
        let name = run["run"].as_str().unwrap();
        let folder = format!(".halflight/runs/{name}");
        let resumed = halflight(here, &["run", "--resume", &folder]);
        assert!(resumed.status.success(), "{files}: {}{}", text(&done), text(&resumed));
    }
}

#[test]
fn what_killed_programs_left_is_removed_when_it_is_old_and_holds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("s.ron"), SESSION).unwrap();
    let done = halflight(here, &["run", "s.ron"]);
    assert!(done.status.success(), "{}", text(&done));
    let run = run_directory(here);
    let runs = run.parent().unwrap();
    let begun = |name: &str| {
        let folder = runs.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(run.join("run.ron"), folder.join("run.ron")).unwrap();
        std::fs::write(folder.join("events.jsonl"), "").unwrap();
        std::fs::write(folder.join("certificate.json.new-77"), "{").unwrap();
        folder
    };
    let [orphan, young] = ["orphan", "young"].map(begun);
    let half = here.join(".halflight/ledger.head.new-4711");
    std::fs::write(&half, "half").unwrap();
    let mark =
        here.join(".halflight/open").join(format!("{}.lock", run.file_name().unwrap().display()));
    std::fs::write(&mark, "").unwrap();
    let temporary = here.join("tmp");
    let [demo, counts] = [1, 2].map(|k| temporary.join(format!("halflight-demo-{k}-4194999")));
    for folder in [&demo, &counts] {
        std::fs::create_dir_all(folder.join(".halflight")).unwrap();
    }
    std::fs::copy(here.join(".halflight/ledger.jsonl"), counts.join(".halflight/ledger.jsonl"))
        .unwrap();
    let notes = here.join("config/halflight/ledgers");
    let [torn, torn_now] = ["ab", "cd"].map(|hash| notes.join(hash.repeat(32)));
    for note in [&torn, &torn_now] {
        std::fs::write(note, "00000000000000004711 abab").unwrap();
    }
    let whole = std::fs::read_dir(&notes).unwrap().count() - 2;
    assert!(whole > 0, "the run's ledger has a note");
    for old in [&orphan, &half, &run, &mark, &demo, &counts, &torn] {
        let touched = Command::new("touch").args(["-d", "3 hours ago"]).arg(old).status().unwrap();
        assert!(touched.success());
    }
    let tidy = |more: &[&str]| {
        let mut tidy = command(here, &[&["tidy"], more].concat());
        let said = tidy.env("TMPDIR", &temporary).output().unwrap();
        assert!(said.status.success(), "{}", text(&said));
        String::from_utf8(said.stdout).unwrap()
    };
    let found: Value = serde_json::from_str(&tidy(&["--json"])).unwrap();
    let found = found["found"].as_array().unwrap();
    assert_eq!(found.len(), 6, "{found:#?}");
    assert!(found.iter().all(|it| it["removed"] == false));
    assert_eq!(found.iter().filter(|it| it["advice"].is_null()).count(), 5, "{found:#?}");
    assert!(tidy(&[]).contains("halflight tidy --yes"));
    assert!(demo.exists() && mark.exists() && orphan.exists(), "it only says so");
    let kept = temporary.join("kept");
    std::fs::rename(&orphan, &kept).unwrap();
    tidy(&["--yes"]);
    assert!(!half.exists() && !torn.exists() && torn_now.exists());
    assert_eq!(std::fs::read_dir(&notes).unwrap().count(), whole + 1);
    std::fs::write(&half, "half").unwrap();
    assert!(
        Command::new("touch").args(["-d", "3 hours ago"]).arg(&half).status().unwrap().success()
    );
    assert!(!demo.exists() && !mark.exists() && counts.exists() && young.exists() && run.exists());
    std::fs::rename(&kept, &orphan).unwrap();
    let again = halflight(here, &["run", "s.ron"]);
    assert!(again.status.success(), "{}", text(&again));
    assert!(!orphan.exists() && !half.exists());
    assert!(young.exists() && run.exists());
}

/// The square of nearly as many columns as the method takes is taken apart, before the grant and
/// after it: seconds in which nobody looks at signals.
#[cfg(unix)]
#[test]
fn a_program_that_is_told_to_end_ends_in_the_middle_of_a_long_step() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let table = |rows: usize, by: usize| {
        let names: Vec<String> = (0..2900).map(|k| format!("x{k}")).collect();
        let row = |row: usize| {
            let cells = (0..2900).map(|k| ((row * 31 + k * by) % 97).to_string());
            cells.collect::<Vec<_>>().join(",") + &format!(",{}\n", row % 7)
        };
        names.join(",") + ",y\n" + &(0..rows).map(row).collect::<String>()
    };
    std::fs::write(here.join("p.csv"), table(60, 17)).unwrap();
    std::fs::write(here.join("q.csv"), table(90, 13)).unwrap();
    let session = r#"(version: 1, datasets: [
        (name: "p", role: private, source: file("p.csv"), label: "y"),
        (name: "q", role: public, source: file("q.csv"), label: "y")],
        budgets: {"p": (epsilon: 4.0, delta: 1e-5)},
        plans: [(name: "p", method: "profiled_cnvx_adap", private: "p", public: ["q"],
            target: (epsilon: 1.0, delta: 1e-5))])"#;
    std::fs::write(here.join("s.ron"), session).unwrap();
    for granted in [false, true] {
        let mut run = command(here, &["run", "s.ron", "-v"]);
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let awaited = if granted { "granted as" } else { "plan 'p'" };
        let line = said.find(|line| line.as_ref().unwrap().contains(awaited)).unwrap().unwrap();
        let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let begun = std::time::Instant::now();
        child.wait().unwrap();
        // Two seconds, and some for a machine that has other work.
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        if granted {
            // By the run itself, or from outside where its step was too long.
            let id = line.split("granted as ").nth(1).unwrap().split(',').next().unwrap();
            let runs = ledger(here);
            let run = runs.iter().find(|run| run["run"] == id).unwrap();
            assert!(run["state"].as_str().unwrap().starts_with("stopped"), "{run}");
        }
    }
}
