//! `cargo bench --bench watching --profile dev`: what it costs to look on.
//!
//! A run at 500 steps/s watched by a second process: how late each step is told, and the share of
//! a processor that watcher and run take, the run also unwatched. The board of a sweep of 200
//! tasks: time until it is drawn, memory then and a minute later, and processor time in that minute,
//! in which nothing happens. As many looks at such a board as an hour has, with a task that grows in
//! each of them. A run that has ended: processor time of a minute in which it is shown. 2000 runs
//! that have ended: their table, and all of their steps.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use halflight::session::Workspace;
use halflight::session::follow::{Follower, Place};
use halflight::session::sweep::SweepDirectory;
use support::Screen;

const SESSION: &str = r#"(version: 1, datasets: [
  (name: "winter", role: private, source: builtin("bikeshare"), label: "bikers",
   filter: "season == 1", columns: only(["hr", "workingday", "temp", "hum"])),
  (name: "rest", role: public, source: builtin("bikeshare"), label: "bikers",
   filter: "season != 1", columns: only(["hr", "workingday", "temp", "hum"]), sample: (rows: 500))],
  budgets: {"winter": (epsilon: 4000.0, delta: 1e-5)},
  plans: [(name: "winter", method: "profiled_cnvx_adap", private: "winter", public: ["rest"],
    target: (epsilon: 1.0, delta: 1e-6), settings: {"steps": STEPS}, seed: 1)])"#;

fn main() {
    live();
    board();
    hour();
    finished();
    archived();
}

fn place(steps: u32) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let session = SESSION.replace("STEPS", &steps.to_string());
    std::fs::write(place.path().join("session.ron"), session).unwrap();
    place
}

fn halflight(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halflight"));
    command.args(arguments).current_dir(place).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("XDG_CONFIG_HOME", place.join("config"));
    command
}

/// Processor time so far, in seconds, and resident memory in MB.
fn cost(process: u32) -> (f64, f64) {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 =
        [11, 12].map(|field: usize| fields[field].parse::<f64>().unwrap()).iter().sum();
    (ticks / 100.0, fields[21].parse::<f64>().unwrap() * 4096.0 / 1e6)
}

fn run(place: &Path) -> (Child, PathBuf) {
    let mut child = halflight(place, &["run", "session.ron", "--pace", "500"]).spawn().unwrap();
    loop {
        let mut runs = std::fs::read_dir(place.join(".halflight/runs")).into_iter().flatten();
        if let Some(run) = runs.next() {
            let run = run.unwrap().path();
            if run.join("events.jsonl").metadata().is_ok_and(|about| about.len() > 0) {
                return (child, run);
            }
        }
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its first step");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn live() {
    const STEPS: u32 = 2000;
    let measured = Duration::from_secs(3);
    let share = |child: u32| {
        let before = cost(child).0;
        std::thread::sleep(measured);
        100.0 * (cost(child).0 - before) / measured.as_secs_f64()
    };
    let alone = place(STEPS);
    let (mut child, _) = run(alone.path());
    let unwatched = share(child.id());
    child.wait().unwrap();

    let watched = place(STEPS);
    let (mut child, directory) = run(watched.path());
    let mut watcher = halflight(watched.path(), &["watch", directory.to_str().unwrap(), "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told: Arc<Mutex<BTreeMap<u64, Instant>>> = Arc::default();
    let out = watcher.stdout.take().unwrap();
    let list = Arc::clone(&told);
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            if line["kind"] == "step" {
                list.lock().unwrap().insert(line["step"].as_u64().unwrap(), Instant::now());
            }
        }
    });
    // When a step stands in the file.
    let file = directory.join("events.jsonl");
    let written = std::thread::spawn(move || {
        let (mut times, mut read, begun) = (Vec::new(), 0_usize, Instant::now());
        let mut steps = 0;
        while begun.elapsed() < measured {
            let text = std::fs::read(&file).unwrap();
            steps += text[read..].split(|byte| *byte == b'\n').count() as u64 - 1;
            read = text.len();
            times.push((steps, Instant::now()));
            std::thread::sleep(Duration::from_millis(10));
        }
        times
    });
    let before = [child.id(), watcher.id()].map(|it| cost(it).0);
    std::thread::sleep(measured);
    let after = [child.id(), watcher.id()].map(|it| cost(it).0);
    let [of_run, of_watcher] =
        [0, 1].map(|it| 100.0 * (after[it] - before[it]) / measured.as_secs_f64());
    let written = written.join().unwrap();
    child.wait().unwrap();
    let _ = watcher.wait();
    reader.join().unwrap();
    let told = told.lock().unwrap();
    let mut behind: Vec<f64> = written
        .iter()
        .skip(50) // the watcher has begun
        .filter_map(|(step, at)| Some(told.get(step)?.duration_since(*at).as_secs_f64()))
        .collect();
    behind.sort_by(f64::total_cmp);
    let rate = (written[written.len() - 1].0 - written[0].0) as f64 / measured.as_secs_f64();
    println!(
        "{rate:.0} steps/s: told {:.2} s later (median), {:.2} s at most; watcher {of_watcher:.1} % of \
         a processor; run {of_run:.1} %, unwatched {unwatched:.1} %",
        behind[behind.len() / 2],
        behind[behind.len() - 1]
    );
}

fn board() {
    let place = place(60);
    let over = ["sweep", "session.ron", "--over", "seed=1..200", "--on", "list", "--into", "s1"];
    assert!(halflight(place.path(), &over).status().unwrap().success());
    for task in 0..3 {
        let task = format!("s1/tasks/{task:04}");
        assert!(halflight(place.path(), &["sweep", "--task", &task]).status().unwrap().success());
    }
    let mut times = Vec::new();
    for turn in 0..5 {
        let begun = Instant::now();
        let mut screen = Screen::start(place.path(), &["watch", "s1"], 160, 50);
        screen.wait_for("200 tasks: 3 finished");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if turn == 4 {
            idle("board", &screen);
        }
        screen.press("q");
        screen.wait_for_end();
    }
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let workspace = Place::of(&place.path().join("s1")).unwrap();
    let begun = Instant::now();
    let runs = Follower::new(vec![workspace], true).read().unwrap();
    println!(
        "board of 200 tasks: {:.0} ms to read its {} lines; {least:.0} ms from the start of the program \
         to the first picture",
        begun.elapsed().as_secs_f64() * 1e3,
        runs.len()
    );
}

/// What an interface costs in a minute in which nothing happens.
fn idle(what: &str, screen: &Screen) {
    let process = screen.child.process_id().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    let before = cost(process);
    std::thread::sleep(Duration::from_mins(1));
    let after = cost(process);
    println!(
        "{what}: {:.1} MB after 5 s, {:.1} MB a minute later; idle {:.2} % of a processor",
        before.1,
        after.1,
        100.0 * (after.0 - before.0) / 60.0
    );
}

/// Five looks a second for an hour, without the waiting in between.
fn hour() {
    const LOOKS: u32 = 18_000;
    let place = place(60);
    let over = ["sweep", "session.ron", "--over", "seed=1..200", "--on", "list", "--into", "s1"];
    assert!(halflight(place.path(), &over).status().unwrap().success());
    let sweep = SweepDirectory::open(&place.path().join("s1")).unwrap();
    let run = sweep.run_directory(0);
    std::fs::create_dir_all(&run).unwrap();
    sweep.task(0).claim().unwrap();
    let transcript = std::fs::File::create(run.join("transcript")).unwrap();
    transcript.lock().unwrap();
    let events = run.join("events.jsonl");
    let mut events = std::fs::File::options().create(true).append(true).open(events).unwrap();
    let mut follower = Follower::new(vec![Place::of(&place.path().join("s1")).unwrap()], false);
    assert_eq!(follower.read().unwrap().len(), 200);
    let (mut grown, mut times) = (0, Vec::new());
    let mut before = cost(std::process::id()).1;
    for look in 1..=LOOKS {
        writeln!(events, "{{\"step\":{look},\"of\":{LOOKS},\"epsilon\":0.5}}").unwrap();
        let begun = Instant::now();
        grown += follower.look().unwrap().grown.len();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if look == LOOKS / 100 {
            before = cost(std::process::id()).1;
        }
    }
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    println!(
        "{LOOKS} looks at it, of which {grown} saw something: {:.2} ms each of the first thousand, \
         {:.2} ms of the last; memory {before:.1} MB, then {:.1} MB",
        mean(&times[..1000]),
        mean(&times[times.len() - 1000..]),
        cost(std::process::id()).1
    );
}

fn finished() {
    let place = place(60);
    assert!(halflight(place.path(), &["run", "session.ron"]).status().unwrap().success());
    let mut screen = Screen::start(place.path(), &["watch", "."], 160, 50);
    screen.press("5");
    screen.wait_for("finished");
    idle("a run that has ended", &screen);
    screen.press("q");
    screen.wait_for_end();
}

fn archived() {
    let place = place(60);
    assert!(halflight(place.path(), &["run", "session.ron"]).status().unwrap().success());
    let runs = place.path().join(".halflight/runs");
    let first = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    for number in 1..2000 {
        let copy = runs.join(format!(
            "2026{:02}{:02}-{:02}{:02}00-profiled_cnvx_adap-{number:010}",
            1 + number / 400,
            1 + number / 40 % 28,
            number / 60 % 24,
            number % 60
        ));
        std::fs::create_dir(&copy).unwrap();
        for name in ["run.ron", "events.jsonl", "curator.jsonl", "certificate.json", "process"] {
            std::fs::copy(first.join(name), copy.join(name)).unwrap();
        }
    }
    let least = |work: &dyn Fn()| {
        let time = |_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1e3
        };
        (0..5).map(time).fold(f64::INFINITY, f64::min)
    };
    let workspace = || vec![Place::Workspace(Workspace::of(place.path()).unwrap())];
    let heads = least(&|| {
        assert_eq!(Follower::new(workspace(), true).heads().unwrap().unwrap().len(), 2000);
    });
    let all = least(&|| {
        assert_eq!(Follower::new(workspace(), true).read().unwrap().len(), 2000);
    });
    let shown = (0..5).map(|_| {
        let begun = Instant::now();
        let mut screen = Screen::start(place.path(), &["watch", "."], 160, 50);
        screen.press("5");
        screen.wait_for("finished");
        let shown = begun.elapsed().as_secs_f64() * 1e3;
        screen.press("q");
        screen.wait_for_end();
        shown
    });
    let shown = shown.fold(f64::INFINITY, f64::min);
    println!(
        "2000 runs: {heads:.0} ms until their table, {all:.0} ms with all of their steps; {shown:.0} ms \
         from the start of the program to the picture of their table"
    );
}
