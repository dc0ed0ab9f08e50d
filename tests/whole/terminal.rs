//! The real binary on a pseudo-terminal, played with keys as a user would.

use std::process::Command;

use crate::support::{KITTY, LIGHT, Screen};
use crate::{chance, program};

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const DOWN: &str = "\x1b[B";

#[test]
fn a_newcomer_plays_the_whole_story_with_the_keys_on_screen() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &[], 80, 24);
    screen.wait_for("Data");
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    assert!(screen.text().contains("2068"), "{}", screen.text());
    assert!(screen.text().contains("2203"), "{}", screen.text());

    screen.press("?");
    screen.wait_for("add a data file");
    screen.press(ESC);
    // A key right behind Esc would be read as Alt and that key.
    screen.wait_until("the help to close", |text| !text.contains("Keys and commands"));

    // Configure: a smaller ε, typed.
    screen.press("3");
    screen.wait_for("can be launched");
    for _ in 0..3 {
        screen.press(DOWN);
    }
    screen.press(ENTER);
    screen.wait_for("Enter takes it");
    screen.press("\x150.8");
    screen.press(ENTER);
    screen.wait_for("2.23), δ 1e-6");

    // Launch, pause, resume, stop.
    screen.press("l");
    screen.wait_for("reserves");
    screen.press("y");
    // A run that is stopped before its first step has no guarantee.
    screen.wait_until("the first step", |text| {
        text.contains("running") && text.contains("· step ") && !text.contains("step 0 of")
    });
    screen.press(" ");
    screen.wait_for("paused");
    // Slowly, so that a busy machine stops it before its end.
    screen.press("<<<");
    screen.press(" ");
    screen.wait_for("running");
    screen.press("c");
    screen.wait_for("Stop this run?");
    screen.press("y");
    screen.wait_for("stopped");
    screen.wait_for("guarantee: ε");

    // The ledger knows what it cost, and that it was stopped.
    screen.press("6");
    screen.wait_for("/12");
    assert!(screen.text().contains("stopped"), "{}", screen.text());

    // A ranking by exact numbers, which the ledger notes.
    screen.press("2");
    screen.wait_for("Which public dataset can stand in");
    screen.press("ry");
    // The errors come first, so the order is theirs from the beginning.
    screen.wait_for("by error");
    screen.wait_for("GSD 0–1 ↓");
    screen.wait_until("all repeats", |text| !text.contains("c cancels"));
    screen.wait_for("Use spring");
    screen.press("6");
    // The run's exact numbers were seen, too.
    screen.wait_for("Exact numbers were looked at 2 times");

    // Compare: the run is in the archive; sealed, its exact numbers are nowhere.
    screen.press("5");
    screen.wait_for("on private ◆");
    screen.wait_for("1 run");
    screen.press(" ");
    screen.wait_for("Mark a second run");
    screen.press("v");
    screen.wait_until("the exact columns to go", |text| !text.contains("on private ◆"));
    screen.press("X");
    screen.wait_for("Export what is shown");
    screen.press(ENTER);
    screen.wait_for("wrote");
    let exported = find(directory.path(), "runs.csv");
    let exported = std::fs::read_to_string(&exported[0]).unwrap();
    assert!(exported.lines().count() == 2 && exported.contains("stopped"), "{exported}");
    screen.press("v");

    // A tag, by the palette.
    screen.press(":");
    screen.wait_for("type a few letters");
    screen.press("tag");
    screen.press(ENTER);
    screen.wait_for("a remark on this run");
    screen.press("first try");
    screen.press(ENTER);
    screen.press("/");
    screen.wait_for("filter:");
    screen.press("nothing like it");
    screen.wait_for("No run passes the filter");
    screen.press(ESC);
    screen.wait_until("the filter to go", |text| !text.contains("filter:"));

    // Save, and leave.
    screen.press("\x13");
    screen.wait_for("Save the session");
    screen.press(ENTER);
    screen.wait_for("saved");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();

    let saved = std::fs::read_to_string(directory.path().join("session.ron")).unwrap();
    assert!(saved.contains("epsilon: 0.8"), "{saved}");
}

#[test]
fn a_saved_demo_keeps_its_runs_and_an_unsaved_one_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let left_behind = || {
        let entries = std::fs::read_dir(directory.path()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("halflight-demo")).count()
    };
    for save in [false, true] {
        let mut screen = demo_run_under_way_in(directory.path(), &["demo"]);
        assert_eq!(left_behind(), 1);
        screen.press("\x13");
        screen.wait_for("save when nothing is under way");
        screen.press("cy");
        screen.wait_for("stopped");
        if save {
            screen.press("\x13");
            screen.wait_for("Save the session");
            screen.press(ENTER);
            screen.wait_for("with the demo's runs and ledger");
        }
        screen.press("q");
        if !save {
            screen.wait_for("a run of the demo");
            screen.press("y");
        }
        assert_eq!(screen.wait_for_end(), 0);
        assert_eq!(left_behind(), 0);
    }
    let mut screen = Screen::start(directory.path(), &["session.ron"], 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("5");
    screen.wait_for("1 run");
    screen.press("6");
    screen.wait_for("/61");
    // Somebody else changes the file meanwhile.
    let path = directory.path().join("session.ron");
    let changed = std::fs::read_to_string(&path).unwrap().replace("epsilon: 1.0", "epsilon: 0.7");
    std::fs::write(&path, changed).unwrap();
    screen.press("\x13");
    screen.wait_for("was changed by somebody else");
    screen.press(ENTER);
    screen.wait_until("the question to go", |text| !text.contains("somebody else"));
    assert!(std::fs::read_to_string(&path).unwrap().contains("epsilon: 0.7"));
    screen.press("q");
    screen.wait_for_end();
}

#[test]
fn the_saved_session_runs_again_headless() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("\x13");
    screen.wait_for("Save the session");
    screen.press(ENTER);
    screen.wait_for("saved");
    screen.press("q");
    screen.wait_for_end();

    let run = program::halflight()
        .args(["run", "session.ron", "--json"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let result: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["outcome"], "finished");
        assert!(run["guarantee"]["epsilon"].as_f64().unwrap() <= 1.0);
    }
}

/// Opens the browser and moves to the file.
fn browse_to(screen: &mut Screen, file: &str) {
    screen.press("a");
    screen.wait_for("Add a dataset");
    screen.press(file);
    screen.wait_for("2 rows");
}

#[test]
fn the_file_browser_shows_cells_of_public_files_and_others_only_to_an_open_look() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("ours.csv", "age,ward\n61.5,HIDDEN\n47.5,WARD\n");
    write("copied.csv", "age,ward\n61.5,HIDDEN\n47.5,WARD\n");
    write("theirs.csv", "age,ward\n33.5,OPEN\n44.5,OPEN\n");
    let mut screen = Screen::start(directory.path(), &["ours.csv", "theirs.csv"], 120, 34);
    screen.wait_until("both datasets to be read", |text| text.matches(" guessed  ").count() == 2);
    for file in ["ours", "copied"] {
        browse_to(&mut screen, file);
        screen.wait_for("cells are hidden");
        assert!(!screen.text().contains("HIDDEN"), "{}", screen.text());
        screen.press("\x0f");
        screen.wait_for("HIDDEN");
        assert!(screen.text().contains("◆ cells, for your eyes only"), "{}", screen.text());
        screen.press(ESC);
        screen.wait_until("the browser to close", |text| !text.contains("Add a dataset"));
    }
    browse_to(&mut screen, "theirs");
    screen.wait_for("OPEN");
    screen.press(ESC);
    screen.wait_until("the browser to close", |text| !text.contains("Add a dataset"));
    screen.press("v");
    screen.wait_for("sealed");
    for file in ["ours", "copied"] {
        browse_to(&mut screen, file);
        screen.wait_for("cells are hidden");
        screen.press("\x0f");
        screen.wait_for("the view is sealed");
        assert!(!screen.text().contains("HIDDEN"), "{}", screen.text());
        screen.press(ESC);
        screen.wait_until("the browser to close", |text| !text.contains("Add a dataset"));
    }
    screen.press("q");
    screen.wait_until("an end or a question", |text| {
        !text.contains("Datasets") || text.contains("Quit without")
    });
    screen.press("y");
    screen.wait_for_end();
}

#[test]
fn a_terminal_that_is_too_small_gets_a_message_and_a_larger_one_the_screen() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 40, 10);
    screen.wait_for("halflight needs 60 x 16");
    screen.resize(80, 24);
    screen.wait_for("winter");
    screen.resize(80, 24);
    screen.press("\x0c");
    screen.wait_for("winter");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

/// Two hundred random sizes with keys between, while a run is under way; whether it still was at
/// the end.
fn resize_at_random(dice: &mut chance::Dice) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("ly");
    screen.wait_for("running");
    let keys = [&*screens(), &["\t", "+", "-", "\x1b[C"]].concat();
    for _ in 0..200 {
        screen.resize(1 + dice.below(220) as u16, 1 + dice.below(70) as u16);
        screen.press(keys[dice.below(keys.len())]);
        std::thread::sleep(std::time::Duration::from_millis(dice.below(4) as u64));
    }
    screen.resize(80, 24);
    screen.press("\x0c");
    screen.press("1");
    // The list of datasets, or the columns of one if these have the keys and there is little room.
    screen.wait_until("the Data screen", |text| {
        text.contains("season == 1") || text.contains("· 15 columns")
    });
    screen.press("q");
    // A picture that is half drawn shows neither.
    let begun = std::time::Instant::now();
    let is_under_way = loop {
        assert!(begun.elapsed().as_secs() < 60, "no end and no question:\n{}", screen.text());
        if screen.has_ended() {
            break false;
        }
        if screen.text().contains("under way") {
            break true;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    if is_under_way {
        screen.press("y");
    }
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
    is_under_way
}

#[test]
fn random_resizes_with_keys_between_leave_a_working_screen() {
    let mut dice = chance::Dice::of_the_seed("resizes");
    let games = if chance::is_long() { 50 } else { 1 };
    let under_way = (0..games).filter(|_| resize_at_random(&mut dice)).count();
    println!("{games} games of 200 resizes, {under_way} with the run under way to the end");
    assert!(under_way > 0, "no run lasted");
}

#[test]
fn the_whole_story_with_the_mouse_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 120, 34);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.click("spring");
    screen.wait_for("spring · ");
    screen.click("3 Plan");
    // A plan with more steps; the one before the first is the last.
    screen.click("? help");
    screen.wait_for("Keys and commands");
    for _ in 0..24 {
        screen.mouse(65, 50, 16, true);
    }
    // The list has come to rest: the chosen command is the last one that the wheel passed.
    screen.wait_for("│quit; asks when work is unsaved");
    screen.click("previous plan  ");
    screen.wait_for("Plan 3/3");
    screen.click("l launch  ");
    screen.wait_for("reserves");
    screen.click("y: launch");
    screen.wait_for("running");
    // Slowly, so that a busy machine sees all of it.
    screen.click("< slower");
    screen.click("< slower");
    // The wheel zooms at the mouse, a move reads the charts.
    let (column, row) = screen.find(", held out");
    let row = row + 10;
    screen.wait_until("some steps", |text| step(text) >= 9);
    for _ in 0..3 {
        screen.mouse(64, column + 20, row + 2, true);
    }
    screen.wait_for("zoomed");
    screen.mouse(35, column + 22, row + 2, true);
    screen.click("Space pause");
    screen.wait_for("paused");
    screen.click("Space pause");
    screen.wait_for("running");
    screen.click("c stop  ");
    screen.wait_for("Stop this run?");
    screen.click("y: stop");
    screen.wait_for("stopped");
    screen.click("5 Compare");
    screen.wait_for("1 run");
    screen.click("Space mark  ");
    screen.wait_for("Mark a second run");
    screen.click("6 Ledger");
    screen.wait_for("1/2 ");
    screen.click("q quit");
    screen.wait_for("a run of the demo");
    screen.click("y: quit");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn a_crash_in_a_run_is_a_failed_run_on_a_living_screen() {
    let directory = tempfile::tempdir().unwrap();
    let crash = [("HALFLIGHT_TEST_CRASH", "1")];
    let mut screen = Screen::start_with(directory.path(), &["demo"], 80, 24, &crash);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("ly");
    screen.wait_for("failed");
    screen.wait_for("a crash that a test asked for");
    assert!(!screen.raw().contains("panicked at"), "the crash printed over the screen");
    assert!(!screen.raw().contains("\x1b[?1049l"), "the terminal was given back too early");
    screen.press("\x1b");
    screen.wait_until("the message to go", |text| !text.contains("error:"));
    screen.press("6");
    screen.wait_for("/12");
    screen.press("q");
    screen.wait_for("a run of the demo");
    screen.press("y");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn a_light_terminal_gets_the_light_theme_and_a_late_answer_of_a_slow_one_presses_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let [dark, light] = [&[][..], &[LIGHT]].map(|environment| {
        let mut screen = Screen::start_with(directory.path(), &["demo"], 80, 24, environment);
        screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
        screen.press("\x1b]11;rgb:2222/5555/9999\x1b\\");
        screen.press("6");
        screen.wait_for("Nothing was spent");
        assert!(!screen.text().contains("Quit"), "{}", screen.text());
        screen.press("q");
        screen.wait_for_end();
        screen.raw()
    });
    let colours = |raw: &str| -> std::collections::BTreeSet<String> {
        raw.split("\x1b[38;5;")
            .skip(1)
            .filter_map(|it| it.split('m').next().map(str::to_owned))
            .collect()
    };
    // Only the light theme has dark letters.
    assert!(colours(&dark).is_disjoint(&colours(&light)));
}

#[test]
fn a_border_is_dragged_and_the_next_program_opens_with_it_there() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        let mut screen = Screen::start(directory.path(), &["demo"], 120, 40);
        screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
        screen.press("3");
        screen
    };
    let mut screen = start();
    let (column, row) = screen.find(" Cost ");
    let (border, row) = (column - 1, row + 5);
    screen.mouse(0, border, row, true);
    screen.mouse(32, border + 7, row, true);
    screen.mouse(0, border + 7, row, false);
    let at = |text: &str| {
        let line = text.lines().find(|line| line.contains(" Cost ")).unwrap_or_default();
        line.split(" Cost ").next().unwrap_or_default().chars().count()
    };
    let moved = usize::from(column + 7);
    screen.wait_until("the border to move", |text| at(text) == moved);
    let state = directory.path().join("state/halflight/state.ron");
    let is_kept = || std::fs::read_to_string(&state).is_ok_and(|it| it.contains("plan.form"));
    screen.wait_until("the border to be kept", |_| is_kept());
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    start().wait_until("the border where it was left", |text| at(text) == moved);
}

/// The images that a program has sent to the terminal as a whole, as bytes.
fn images_in(raw: &str) -> Vec<Vec<u8>> {
    let (mut images, mut letters) = (Vec::new(), String::new());
    for part in raw.split("\x1b_G").skip(1) {
        // The end may still be on its way.
        let Some((part, _)) = part.split_once("\x1b\\") else { break };
        let Some((head, more)) = part.split_once(';').filter(|it| !it.0.contains("a=q")) else {
            continue;
        };
        assert!(head.starts_with("a=T,U=1,f=24,") != head.starts_with("q=2,"), "{head}");
        letters += more;
        if head.ends_with("m=0") {
            images.push(std::mem::take(&mut letters));
        }
    }
    let engine = base64::engine::general_purpose::STANDARD;
    images.iter().map(|it| base64::Engine::decode(&engine, it).unwrap()).collect()
}

#[test]
fn images_are_sent_as_they_are_to_a_terminal_that_shows_them_and_to_no_other() {
    let directory = tempfile::tempdir().unwrap();
    // Three images of 40 × 40 pixels, each in two parts, with black and white pixels in them.
    let pixels = |image: u32| (0..1600).map(move |at| (at * (image + 3) % 256) as u8);
    let head = [[0, 0, 8, 3], [0, 0, 0, 3], [0, 0, 0, 40], [0, 0, 0, 40]].concat();
    let file = head.into_iter().chain((0..3).flat_map(pixels)).collect::<Vec<u8>>();
    std::fs::write(directory.path().join("some-images-idx3-ubyte"), file).unwrap();
    std::fs::write(
        directory.path().join("some-labels-idx1-ubyte"),
        [0, 0, 8, 1, 0, 0, 0, 3, 7, 5, 6],
    )
    .unwrap();
    let session = r#"(version: 1, datasets: [(name: "some", role: public, label: "label",
        task: classification, source: together({"pixel": "some-images-idx3-ubyte",
        "label": "some-labels-idx1-ubyte"}))])"#;
    std::fs::write(directory.path().join("session.ron"), session).unwrap();
    let colours = ("COLORTERM", "truecolor");
    let start = |environment: &[(&str, &str)]| {
        let screen = Screen::start_with(directory.path(), &["session.ron"], 120, 40, environment);
        screen.wait_for("ready");
        // Each image has its class below it.
        screen.wait_until("the classes", |text| {
            text.lines().any(|line| {
                !line.contains("label")
                    && line.split_whitespace().filter(|it| ["7", "5", "6"].contains(it)).count()
                        == 3
            })
        });
        screen
    };
    let mut screen = start(&[KITTY, colours]);
    screen.wait_until("three images", |_| images_in(&screen.raw()).len() == 3);
    let sent = images_in(&screen.raw());
    let grey = |image| pixels(image).flat_map(|byte| [byte; 3]).collect::<Vec<u8>>();
    for image in 0..3 {
        assert!(sent.contains(&grey(image)), "image {image} of {}", sent.len());
    }
    assert!(screen.raw().contains('\u{10eeee}') && !screen.raw().contains('▀'));
    assert!(!screen.raw().contains("a=d,d=I"));
    // They are gone where they are not shown.
    screen.press("6");
    screen.wait_for("Nothing was spent");
    screen.wait_until("the images to go", |_| screen.raw().matches("a=d,d=I").count() == 3);
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
    for environment in [&[colours][..], &[KITTY, colours, ("TMUX", "0")]] {
        let screen = start(environment);
        // What is on the screen was written before.
        assert!(screen.text().contains('▀'), "{}", screen.text());
        assert!(!screen.raw().contains("\x1b_G"));
    }
}

/// Every switch of context that a thread of the program asked for: a wake-up.
#[cfg(target_os = "linux")]
fn wake_ups(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.map_or(0, |count| count.trim().parse::<u64>().unwrap())
    };
    tasks.map(of).sum()
}

/// The time that the processors worked for the program, in ticks.
#[cfg(target_os = "linux")]
fn worked(pid: u32) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = line.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_screen_wakes_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("3");
    screen.wait_for("can be launched");
    let pid = screen.child.process_id().unwrap();
    // Let what is still under way come to its end: a plan is timed, and threads work without a wake.
    let mut before = (wake_ups(pid), worked(pid));
    loop {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let now = (wake_ups(pid), worked(pid));
        if now == before {
            break;
        }
        before = now;
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(wake_ups(pid), before.0, "woken while nothing happened");
    screen.press("q");
    screen.wait_for_end();
}

/// The demo, in the midst of the run of its second plan, which has the most steps.
fn demo_run_under_way(workspace: &std::path::Path) -> Screen {
    demo_run_under_way_in(workspace, &["demo", "--workspace", "kept"])
}

fn demo_run_under_way_in(directory: &std::path::Path, arguments: &[&str]) -> Screen {
    let mut screen = Screen::start(directory, arguments, 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("3]");
    screen.wait_for("Plan 2/3");
    screen.press("l");
    screen.wait_for("Launch 'winter by a weighted line'?");
    screen.press("y");
    screen.wait_for("running");
    screen.wait_until("some steps", |text| step(text) >= 3);
    screen
}

#[test]
fn every_signal_that_asks_to_end_restores_the_terminal_and_settles_the_run() {
    for signal in ["TERM", "HUP", "INT", "QUIT"] {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().to_path_buf();
        let mut screen = demo_run_under_way(&workspace);
        let pid = screen.child.process_id().unwrap().to_string();
        Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        assert_eq!(screen.wait_for_end(), 0, "SIG{signal}");
        screen.assert_restored();
        let ledgers = find(&workspace, "ledger.jsonl");
        let ledger = std::fs::read_to_string(&ledgers[0]).unwrap();
        assert!(ledger.contains("settle") && ledger.contains("stopped"), "{ledger}");
    }
}

/// Keys of all screens.
fn screens() -> Vec<&'static str> {
    halflight::tui::app::TAB_KEYS.iter().map(|binding| binding.key.keys[0]).collect()
}

/// Random keys, sizes and pauses of one program that shows `start`, and the signal that ends it.
fn play_at_random(dice: &mut chance::Dice, start: &str, actions: usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = demo_run_under_way(directory.path());
    screen.press(start);
    let pid = screen.child.process_id().unwrap().to_string();
    let send = |signal: &str| {
        let mut kill = Command::new("kill");
        kill.args([signal, &pid]).stderr(std::process::Stdio::null()).status().unwrap();
    };
    let special =
        ["\r", "\x1b", "\t", "\x7f", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x0c", "\x13"];
    let mut pressed = Vec::new();
    for _ in 0..actions {
        let key = match dice.below(10) {
            0..4 => special[dice.below(special.len())].to_owned(),
            4..8 => char::from(b' ' + dice.below(95) as u8).to_string(),
            8 => {
                let (columns, rows) = [(1, 1), (60, 16), (80, 24)][dice.below(3)];
                let [columns, rows] = [columns + dice.below(40), rows + dice.below(10)];
                screen.resize(columns as u16, rows as u16);
                continue;
            }
            _ => {
                send("-STOP");
                send("-CONT");
                continue;
            }
        };
        pressed.push(key.clone());
        if !screen.may_press(&key) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(dice.below(4) as u64));
    }
    let signal = ["-HUP", "-QUIT", "-TERM", "-INT"][dice.below(4)];
    send(signal);
    assert_eq!(screen.wait_for_end(), 0, "{signal} after {pressed:?}");
    assert!(!screen.raw().contains("panicked"), "{pressed:?}: {}", screen.raw());
    screen.assert_restored();
    let ledger = find(directory.path(), "ledger.jsonl");
    let mut ledger = halflight::privacy::Ledger::open(ledger[0].parent().unwrap()).unwrap();
    let book = ledger.book().unwrap();
    assert!(!book.damaged, "{:?}", book.warnings);
    for run in book.accounts.iter().flat_map(|account| &account.runs) {
        let ended = matches!(run.state, halflight::privacy::ledger::RunState::Settled { .. });
        let id = &run.grant.run.0;
        assert!(ended, "{id} is {:?} after {start}, {pressed:?} and {signal}", run.state);
    }
}

#[test]
fn random_keys_sizes_and_signals_during_a_run_leave_terminal_and_ledger_whole() {
    let mut dice = chance::Dice::of_the_seed("interface");
    let games = if chance::is_long() { 200 } else { 6 };
    for game in 0..games {
        let start = screens()[game % screens().len()];
        println!("game {game} from screen {start}");
        play_at_random(&mut dice, start, 60);
    }
    println!("{games} games of 60 keys, sizes and pauses");
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_brings_the_screen_back() {
    let directory = tempfile::tempdir().unwrap();
    let script = "\"$0\" demo; echo stopped by $?; read; fg";
    let mut screen = Screen::start_in_shell(directory.path(), script, 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("\x1a");
    screen.wait_for("stopped by 148");
    screen.assert_restored();
    screen.press("\r");
    screen.wait_until("the screen to come back", |text| text.contains("winter"));
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

/// Nobody could bring it back: it would hang for good, as in `tmux new halflight`.
#[test]
fn ctrl_z_without_a_shell_does_not_stop_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("\x1a");
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn a_run_that_died_is_told_from_others_and_goes_on_and_a_report_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = demo_run_under_way(directory.path());
    let mut other = Screen::start(directory.path(), &["demo", "--workspace", "kept"], 100, 30);
    other.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    other.press("5");
    other.wait_for("running");
    // It is refused before anything is asked, with the process that works on it.
    other.press("d");
    let pid = screen.child.process_id().unwrap();
    other.wait_for(&format!("carried out by process {pid}"));
    assert!(!other.text().contains("Delete "), "{}", other.text());
    Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    screen.wait_for_end();
    other.press("U");
    other.wait_for("died");
    // The Run screen says which key resumes it, and so does Compare.
    other.press("4");
    other.wait_for("R resumes it");
    other.press("5");
    other.wait_for("R resumes it");
    other.press("R");
    other.wait_for("Resume 2");
    other.press("y");
    other.wait_for("guarantee: ε");
    assert!(other.text().contains("finished"), "{}", other.text());
    other.press("5");
    other.wait_for("than public data alone");
    other.press("w");
    other.wait_for("Write a report");
    other.press(ENTER);
    other.wait_for("wrote");
    let page = std::fs::read_to_string(directory.path().join("kept/report.html")).unwrap();
    assert!(page.contains("Privacy report") && !page.contains('◆'), "{page}");
    other.press("i");
    other.wait_for("What does this mean?");
    other.press("zero-shot");
    other.wait_for("How wrong a quick model of this public dataset");
    other.press(ESC);
    other.wait_until("the window to close", |text| !text.contains("What does this mean?"));
    other.press("q");
    other.wait_for_end();
}

/// Two columns and a label: a private table, a public one and a session with one plan.
fn small_workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let table = |from: u32, rows: u32, slope: f64| {
        let row = |i: u32| {
            let (x, z) = ((f64::from(i) * 0.37).sin(), (f64::from(i) * 0.11).cos());
            format!("{x},{z},{}\n", slope * x - 0.5 * z + 0.1 * f64::from(i).sin())
        };
        std::iter::once("x,z,y\n".to_owned())
            .chain((from..from + rows).map(row))
            .collect::<String>()
    };
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("private.csv", &table(0, 400, 1.5));
    write("public.csv", &table(5000, 600, 1.0));
    write(
        "session.ron",
        r#"(version: 1, datasets: [
            (name: "ours", role: private, source: file("private.csv"), label: "y"),
            (name: "theirs", role: public, source: file("public.csv"), label: "y")],
          budgets: {"ours": (epsilon: 40.0, delta: 1e-5)},
          plans: [(name: "first", method: "profiled_cnvx_adap", private: "ours",
            public: ["theirs"], target: (epsilon: 1.0, delta: 1e-6), settings: {"steps": 8})])"#,
    );
    directory
}

/// `halflight ARGUMENTS` there; what it prints.
fn halflight(directory: &std::path::Path, arguments: &[&str]) -> String {
    let output = program::halflight().args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn predictions_are_written_from_compare_and_a_file_that_does_not_fit_is_refused_by_name() {
    let directory = small_workspace();
    let here = directory.path();
    halflight(here, &["run", "session.ron"]);
    std::fs::write(here.join("new.csv"), "z,x,other\n0.5,0.25,a\n-0.5,1.0,b\n0,0,c\n").unwrap();
    std::fs::write(here.join("lacking.csv"), "x\n0.5\n").unwrap();
    let mut screen = Screen::start(here, &["session.ron"], 100, 30);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("5");
    screen.wait_for("1 run");
    let mut predict = |file: &str, wanted: &str| {
        screen.press("P");
        screen.wait_for("Predict the rows of which file?");
        screen.press(file);
        screen.press(ENTER);
        screen.wait_for("Write the predictions");
        screen.press(ENTER);
        screen.wait_for(wanted);
    };
    predict("lacking.csv", "'z'");
    assert!(!here.join("predictions.csv").exists());
    predict("new.csv", "predictions of 3 rows");
    let written = std::fs::read_to_string(here.join("predictions.csv")).unwrap();
    assert_eq!(written.lines().count(), 4, "{written}");
    for line in written.lines().skip(1) {
        assert!(line.rsplit(',').next().unwrap().parse::<f64>().unwrap().is_finite(), "{written}");
    }
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn a_sweep_is_collected_from_the_ledger_screen() {
    let directory = small_workspace();
    let here = directory.path();
    let sweep = ["--on", "list", "--into", "cluster/sweep", "--sealed", "--over", "seed=0..2"];
    let commands = halflight(here, &[&["sweep", "session.ron"], &sweep[..]].concat());
    let commands: Vec<&str> = commands.lines().collect();
    assert_eq!(commands.len(), 3);
    for command in &commands[..2] {
        assert!(program::shell().args(["-c", command]).status().unwrap().success());
    }
    let mut screen = Screen::start(here, &["session.ron"], 110, 30);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("6");
    screen.wait_for("Spent: ours");
    screen.wait_for("U gathers the results of the sweep");
    // This one lies neither among the workspace's own sweeps nor beside the session.
    let collect = |screen: &mut Screen, wanted: &str| {
        screen.press("U");
        screen.wait_for("Collect a sweep");
        screen.press("\x15cluster/sweep");
        screen.press(ENTER);
        screen.wait_for(wanted);
    };
    collect(&mut screen, "2 of 3 runs of the sweep have ended: 1 not begun");
    // Enter gives nothing up.
    screen.press(ENTER);
    screen.wait_until("the question to go", |text| !text.contains("Settle those now?"));
    assert!(program::shell().args(["-c", commands[2]]).status().unwrap().success());
    collect(&mut screen, "all 3 runs of the sweep have ended");
    screen.press("5");
    screen.wait_for("3 runs · ");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn a_sweep_of_the_workspace_is_found_and_what_will_never_end_is_settled() {
    let directory = small_workspace();
    let here = directory.path();
    let sweep = ["--on", "list", "--sealed", "--over", "seed=0..2"];
    let commands = halflight(here, &[&["sweep", "session.ron"], &sweep[..]].concat());
    let commands: Vec<&str> = commands.lines().collect();
    assert!(program::shell().args(["-c", commands[0]]).status().unwrap().success());
    // Somebody took the second task and died.
    let task = commands[1].rsplit(' ').next().unwrap().trim_matches('\'');
    std::fs::write(std::path::Path::new(task).join("claim"), "process 1 on nowhere, long ago\n")
        .unwrap();
    let mut screen = Screen::start(here, &["session.ron"], 110, 30);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("6");
    screen.wait_for("3 runs of a sweep");
    screen.press("c");
    screen.wait_for("when it is collected");
    screen.press("U");
    screen.wait_for("1 of 3 runs of the sweep have ended: 1 without a result, 1 not");
    screen.press("y");
    screen.wait_for("all 3 runs of the sweep have ended");
    screen.wait_for("2 given up");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn private_records_choose_among_plans_from_the_plan_screen() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 110, 34);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("p");
    screen.wait_for("Let private records choose");
    screen.wait_for("which cost nothing");
    screen.press("y");
    screen.wait_for("Candidates");
    screen.wait_for("Chosen: ");
    screen.wait_for("for all candidates together");
    assert!(screen.text().contains("finished"), "{}", screen.text());
    assert!(!screen.text().contains('◆'), "{}", screen.text());
    screen.press("5");
    screen.wait_for("chosen: ");
    screen.press("6");
    screen.wait_for("choice");
    screen.press("q");
    screen.wait_for("a run of the demo");
    screen.press("y");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn looks_at_private_rows_are_in_the_ledger_and_in_the_certificates_of_later_runs() {
    let directory = small_workspace();
    let here = directory.path();
    let looks = || {
        let ledger = std::fs::read_to_string(here.join(".halflight/ledger.jsonl"));
        ledger.unwrap_or_default().matches("unprotected look").count()
    };
    let certified = |what: &str| {
        let all = find(here, "certificate.json").into_iter();
        let all = all.map(|path| std::fs::read_to_string(path).unwrap());
        all.filter(|certificate| certificate.contains(what)).count()
    };
    let launch = |screen: &mut Screen| {
        let before = certified("rows, on the Data screen");
        screen.press("3");
        screen.wait_for(" Cost ");
        screen.press("l");
        screen.wait_for("Launch 'first'?");
        screen.press("y");
        let ended = |_: &str| certified("rows, on the Data screen") == before + 1;
        screen.wait_until("the end of the run", ended);
        screen.wait_for("was spent");
    };
    let mut screen = Screen::start(here, &["session.ron"], 110, 30);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.press("o");
    screen.wait_for("◆ private rows");
    assert_eq!(looks(), 0, "the rows may still be split into private and public ones");
    launch(&mut screen);
    assert_eq!(looks(), 1);

    screen.press("1");
    screen.wait_for("Datasets");
    screen.press("D");
    screen.wait_for("y: look");
    assert_eq!(looks(), 1, "nothing is shown before a yes");
    screen.press("y");
    screen.wait_for("Divide 'ours' by");
    assert_eq!(looks(), 2);
    screen.press(ESC);
    screen.wait_until("the list to close", |text| !text.contains("Divide 'ours' by"));
    screen.press("v");
    screen.wait_for("sealed: no exact number");
    // Once to hide the rows of the first look.
    screen.press("o");
    screen.press("o");
    screen.wait_for("the view is sealed");
    launch(&mut screen);
    assert_eq!((looks(), certified("by which rows can be divided")), (2, 1));
    // The seal is in the session.
    screen.press("q");
    screen.wait_for("changes that are not saved");
    screen.press("s");
    assert_eq!(screen.wait_for_end(), 0);
    let saved = std::fs::read_to_string(here.join("session.ron")).unwrap();
    assert!(saved.contains("sealed: true"), "{saved}");
    let mut screen = Screen::start(here, &["session.ron"], 110, 30);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    screen.wait_for("sealed");
    screen.press("o");
    screen.wait_for("the view is sealed");
    screen.press("5");
    screen.wait_for("2 runs");
    assert!(!screen.text().contains('◆'), "{}", screen.text());
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    let mut run = program::halflight();
    run.args(["run", "session.ron"]).current_dir(here);
    run.env("XDG_CONFIG_HOME", here.join("config")).env_remove("HALFLIGHT_SECRET_FILE");
    let run = run.output().unwrap();
    let told = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !told.contains('◆'), "{told}");
}

/// Files with an unsaved session, without their locks.
fn kept(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let folder = directory.join(".halflight/unsaved").read_dir();
    let files = folder.into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|it| it == "ron")).collect()
}

#[test]
fn an_unsaved_session_survives_a_kill_and_goes_when_it_is_saved_or_left() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let table = |from: u32| {
        let row = |i: u32| format!("{},{}\n", f64::from(i % 17), f64::from(i * i % 101));
        "x,y\n".to_owned() + &(from..from + 300).map(row).collect::<String>()
    };
    for (name, from) in [("ours.csv", 0), ("theirs.csv", 1000)] {
        std::fs::write(here.join(name), table(from)).unwrap();
    }
    let open = |arguments: &[&str]| {
        let screen = Screen::start(here, arguments, 110, 30);
        screen.wait_for("1 Data");
        screen
    };
    let wait_for_kept = |screen: &Screen, count: usize| {
        screen.wait_until(&format!("{count} kept sessions"), |_| kept(here).len() == count);
    };
    let kill = |screen: &Screen| {
        let process = screen.child.process_id().unwrap().to_string();
        assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    };
    let files = ["ours.csv", "theirs.csv"];
    // Two programs at once keep what is theirs, and what is left by choice is gone.
    let mut first = open(&files);
    let mut second = open(&files);
    wait_for_kept(&first, 2);
    second.press("q");
    second.wait_for("changes that are not saved");
    second.press("y");
    assert_eq!(second.wait_for_end(), 0);
    wait_for_kept(&first, 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let file = kept(here).remove(0);
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
    let before = std::fs::read_to_string(&kept(here)[0]).unwrap();
    assert!(before.contains("theirs.csv"), "{before}");
    kill(&first);
    first.wait_for_end();
    // The next one offers it, without a file name, too, and a program beside it does not.
    let mut screen = open(&[]);
    screen.wait_for("A program ended here before it saved a new session");
    let mut other = open(&files);
    other.wait_until("both datasets to be ready", |text| text.matches("guessed").count() >= 2);
    assert!(!other.text().contains("A program ended here"), "{}", other.text());
    other.press("q");
    other.wait_for("changes that are not saved");
    other.press("y");
    assert_eq!(other.wait_for_end(), 0);
    screen.press("y");
    screen.wait_for("opened what was not saved");
    screen.wait_until("both datasets to be read", |text| text.matches("guessed").count() >= 2);
    screen.press("\x13");
    screen.wait_for("Save the session");
    screen.press(ENTER);
    screen.wait_for("saved");
    wait_for_kept(&screen, 0);
    // The folder goes after its last file.
    screen.wait_until("no kept sessions", |_| !here.join(".halflight/unsaved").exists());
    // A change of a saved session, which is forgotten when it is offered.
    screen.press("d");
    screen.wait_for("Remove 'ours'");
    screen.press("y");
    wait_for_kept(&screen, 1);
    kill(&screen);
    screen.wait_for_end();
    let mut screen = open(&["session.ron"]);
    screen.wait_for("A program ended here before it saved session.ron");
    screen.press("f");
    wait_for_kept(&screen, 0);
    screen.wait_for("ours");
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    assert!(std::fs::read_to_string(here.join("session.ron")).unwrap().contains("ours.csv"));
}

#[test]
fn what_a_user_puts_into_the_folder_of_a_demo_stays() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("mine.csv"), "x,y\n1,2\n3,4\n").unwrap();
    let folders = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(directory.path()).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|it| it.display().to_string().contains("halflight-demo-")).collect()
    };
    let mut screen = Screen::start(directory.path(), &["demo", "--workspace", "own"], 110, 36);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("a");
    screen.wait_for("Add a dataset");
    screen.press("mine.csv");
    screen.wait_for("2 rows");
    screen.press(ENTER);
    screen.wait_for("label column");
    screen.press(ENTER);
    screen.wait_for("This is the demo");
    screen.press("q");
    screen.wait_for("changes that are not saved");
    screen.press("y");
    assert_eq!(screen.wait_for_end(), 0);
    let mut screen = Screen::start(directory.path(), &["tutorial"], 110, 30);
    screen.wait_for("1 Data");
    screen.wait_until("the folder", |_| folders().len() == 1);
    std::fs::write(folders()[0].join("mine.csv"), "x,y\n1,2\n").unwrap();
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
    let folder = folders().remove(0);
    let left: Vec<_> = folder.read_dir().unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(left, ["mine.csv"]);
    screen.wait_for("stays, because");
}

#[test]
fn a_private_file_that_was_cut_off_is_told_to_the_curator_alone() {
    let directory = small_workspace();
    let here = directory.path();
    let whole = std::fs::read_to_string(here.join("private.csv")).unwrap();
    let mut screen = Screen::start(here, &["session.ron"], 110, 30);
    screen.wait_until("both datasets to be ready", |text| text.matches("ready").count() == 2);
    assert!(!screen.text().contains("cut off"), "{}", screen.text());
    for cut in [4, 30] {
        std::fs::write(here.join("private.csv"), &whole[..whole.len() - cut]).unwrap();
        screen.press("U");
        screen.wait_for("cut off");
        screen.press("v");
        screen.wait_until("the sign to be sealed", |text| !text.contains("cut off"));
        screen.press("v");
        screen.wait_for("cut off");
    }
    // A line in the middle that is no record is told in the same way.
    std::fs::write(here.join("private.csv"), whole.replacen('\n', "\n9\n", 1)).unwrap();
    screen.press("U");
    screen.wait_for("check ◆");
    screen.wait_for("1 row has no usable cell, the first in line 2");
    screen.press("v");
    screen.wait_until("the sign to be sealed", |text| !text.contains("no usable cell"));
    assert_eq!(screen.text().matches(" ready").count(), 2, "{}", screen.text());
    screen.press("v");
    std::fs::write(here.join("private.csv"), &whole).unwrap();
    screen.press("U");
    screen.wait_until("a whole file", |text| !text.contains("check ◆"));
    // The view is as open as the file says, so nothing is asked.
    screen.press("q");
    assert_eq!(screen.wait_for_end(), 0);
}

#[test]
fn a_terminal_that_vanishes_ends_the_program_cleanly_and_settles_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().to_path_buf();
    let mut screen = demo_run_under_way(&workspace);
    let process = format!("/proc/{}", screen.child.process_id().unwrap());
    if let Ok(limits) = std::fs::read_to_string(format!("{process}/limits")) {
        let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(cores.split_whitespace().filter(|word| *word == "0").count(), 2, "{cores}");
    }
    screen.unplug();
    assert_eq!(screen.wait_for_end(), 0);
    let ledgers = find(&workspace, "ledger.jsonl");
    let ledger = std::fs::read_to_string(&ledgers[0]).unwrap();
    assert!(ledger.contains("settle") && ledger.contains("stopped"), "{ledger}");
}

#[test]
fn ctrl_c_asks_while_a_run_is_under_way_and_then_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(directory.path(), &["demo"], 80, 24);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    screen.press("3");
    screen.wait_for("can be launched");
    screen.press("ly");
    screen.wait_for("running");
    screen.press("\x03");
    screen.wait_for("A run is under way");
    screen.press("y");
    assert_eq!(screen.wait_for_end(), 0);
    screen.assert_restored();
}

#[test]
fn without_colours_the_selection_is_still_reversed() {
    let directory = tempfile::tempdir().unwrap();
    let no_color = [("NO_COLOR", "1")];
    let mut screen = Screen::start_with(directory.path(), &["demo"], 80, 24, &no_color);
    screen.wait_until("all datasets to be ready", |text| text.matches("ready").count() == 4);
    let raw = screen.raw();
    assert!(raw.contains("\x1b[7m"), "nothing is reversed");
    for colour in ["\x1b[38;", "\x1b[48;", "\x1b[31m", "\x1b[32m", "\x1b[33m"] {
        assert!(!raw.contains(colour), "a colour was written: {colour:?}");
    }
    screen.press("q");
    screen.wait_for_end();
}

/// The step that the Run screen shows; a busy machine does not show every one.
fn step(text: &str) -> u32 {
    let number = text.split("step ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn find(directory: &std::path::Path, name: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                waiting.push(entry.path());
            } else if entry.file_name() == name {
                found.push(entry.path());
            }
        }
    }
    found
}
