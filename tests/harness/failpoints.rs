//! Every command is stopped at every step by which something comes to the disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::chance::{Dice, is_long};
use crate::invariants as must;
use crate::place::{Place, said, words};

/// Points that `cargo test` tries.
const FEW: usize = 32;

/// A command, and the workspace in which it is given.
pub struct Scene {
    pub name: &'static str,
    pub place: Place,
    pub command: Vec<String>,
    /// Whether the command succeeds when it is given again after everything was mended.
    again: bool,
}

/// All of them.
pub fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    let mut add = |name, mut place: Place, command: &str, again| {
        place.keep();
        scenes.push(Scene { name, place, command: words(command), again });
    };
    let run = "run session.ron --plan first";
    let task = "sweep --task sweep/tasks/0000";
    let after = |commands: &[&str]| {
        let place = Place::new();
        for command in commands {
            place.succeeds(&words(command));
        }
        place
    };
    let fresh = || after(&[]);
    add("run", fresh(), run, true);
    add("rank", fresh(), "rank rank.ron --private 1 --mechanism table", true);
    add("choose", fresh(), "choose session.ron --way all", true);
    add("count", fresh(), "data count session.ron --dataset ours --epsilon 0.1 --write", true);
    add("sweep", fresh(), must::SWEEP, false);
    add("task", after(&[must::SWEEP]), task, false);
    add(
        "collect",
        after(&[must::SWEEP, task, "sweep --task sweep/tasks/0001"]),
        "sweep --collect sweep",
        true,
    );
    add("give up", after(&[must::SWEEP, task]), "sweep --collect sweep --give-up", false);

    for (name, command) in
        [("resume", "run --resume .halflight/runs/"), ("settle", "ledger settle ")]
    {
        let killed = killed_in_the_middle(&words(run));
        let command = format!("{command}{}", killed.only_run());
        add(name, killed, &command, false);
    }
    let done = after(&[run]);
    let score = format!(
        "score .halflight/runs/{} session.ron --dataset held --epsilon 0.1 --largest-error 5",
        done.only_run()
    );
    add("score", done, &score, true);
    for name in ["budget", "torn", "repair"] {
        let done = after(&[run]);
        let account = &must::book(&done).accounts[0].id.0;
        let ledger = done.folder().join("ledger.jsonl");
        let text = fs::read_to_string(&ledger).unwrap();
        match name {
            "torn" => fs::write(ledger, text + "{\"seq\":99,\"ti").unwrap(),
            "repair" => fs::write(ledger, text.replace("finished", "stopped")).unwrap(),
            _ => {}
        }
        let budget = format!("ledger budget {account} 50 1e-5");
        let is_repair = name == "repair";
        add(name, done, if is_repair { "ledger repair" } else { &budget }, !is_repair);
    }
    let early = Place::of_an_earlier_version();
    add("renew", early, "ledger budget acc-d472ecde3d 60 1e-5", true);
    scenes
}

/// A run whose program died after its second draw.
fn killed_in_the_middle(run: &[String]) -> Place {
    let mut place = Place::new();
    place.keep();
    let steps = place.steps(run);
    let of_transcript = |step: &&Value| step["step"] == "write" && is_of(step, "transcript");
    let second = steps.iter().filter(of_transcript).nth(2).unwrap();
    let at = steps.iter().position(|step| step == second).unwrap();
    place.begin().stopped(run, &format!("crash:{}", at + 2));
    place
}

pub fn is_of(step: &Value, name: &str) -> bool {
    step["path"].as_str().is_some_and(|path| path.ends_with(&format!("/{name}")))
}

#[test]
fn whatever_step_is_the_last_nothing_is_lost_and_everything_goes_on() {
    let mut dice = Dice::of_the_seed("failpoints");
    let scenes = scenes();
    let mut points = Vec::new();
    for scene in &scenes {
        let steps = scene.place.begin().steps(&scene.command);
        println!("{}: {} steps", scene.name, steps.len());
        for (at, step) in steps.iter().enumerate() {
            let tears = matches!(step["step"].as_str(), Some("write" | "copy"));
            let kinds = ["crash", "fail", "full", "tear"];
            let kinds = kinds.into_iter().filter(|kind| *kind != "tear" || tears);
            points.extend(kinds.map(|kind| (scene.name, kind, at + 1)));
        }
    }
    let all = points.len();
    dice.shuffle(&mut points);
    points.truncate(if is_long() { usize::MAX } else { FEW });
    let tried = points.len();
    let (broken, ended) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::<_, usize>::new()));
    // Each scene has a place of its own.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let here = points.iter().filter(|point| point.0 == scene.name);
            println!("{}: {} points", scene.name, here.clone().count());
            for (_, kind, at) in here {
                let how = catch_unwind(AssertUnwindSafe(|| stop(scene, &format!("{kind}:{at}"))));
                if let Ok(how) = how {
                    *ended.lock().unwrap().entry((*kind, how)).or_default() += 1;
                } else {
                    println!("broken: {} {kind}:{at}", scene.name);
                    broken.lock().unwrap().push(format!("{} {kind}:{at}", scene.name));
                }
            }
        }
    };
    std::thread::scope(|scope| drop([scope.spawn(work), scope.spawn(work)]));
    let (broken, ended) = (broken.into_inner().unwrap(), ended.into_inner().unwrap());
    println!("{tried} of {all} points: {ended:?}");
    assert!(broken.is_empty(), "what must hold does not after: {broken:#?}");
    // The seam is there, and stops.
    assert!(
        ended.iter().any(|((kind, how), count)| *kind == "crash" && *how == "died" && *count > 0)
    );
}

/// Stops the command once and looks at what is left.
fn stop(scene: &Scene, stop: &str) -> &'static str {
    let place = scene.place.begin();
    let output = place.stopped(&scene.command, stop);
    let how = ending(&output);
    let is_new = scene.name != "renew";
    if is_new {
        must::private_files_are_private(place);
    }
    if !matches!(scene.name, "repair" | "renew") {
        must::nothing_is_lost(place, &must::drawn(place));
    } else if scene.name == "repair" && must::book(place).damaged {
        place.succeeds(&scene.command);
    }
    let drawn = must::drawn(place);
    must::open_runs_end(place, matches!(scene.name, "repair" | "renew"));
    must::nothing_is_lost(place, &drawn);
    if scene.again {
        place.succeeds(&scene.command);
        must::nothing_is_lost(place, &drawn);
    }
    if is_new {
        must::private_files_are_private(place);
    }
    let next = if scene.name == "renew" { "ill" } else { "first" };
    must::nothing_is_left_behind(place, &words(&format!("run session.ron --plan {next}")));
    how
}

fn ending(output: &Output) -> &'static str {
    let said = said(output);
    assert!(!said.contains("panicked") && !said.contains("crashed"), "{said}");
    match (output.status.signal(), output.status.code()) {
        (Some(6), _) => "died",
        (_, Some(0)) => "succeeded",
        (_, Some(_)) => {
            assert!(said.contains("what to do") || said.contains("error"), "no reason: {said}");
            "failed"
        }
        other => panic!("{other:?}: {said}"),
    }
}
