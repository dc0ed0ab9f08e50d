//! Tests that no random choice among private rows follows from their place in the file and public
//! seeds: over many secrets, every row has every role as often as any other, wherever it is.

use std::fs;
use std::path::Path;

use super::assembly::assemble;
use super::prepared::PreparedStore;
use crate::data::{Bounded, Task};
use crate::privacy::Watch;
use crate::privacy::openings::{OpenPrivate, OpenWatch};
use crate::session::{Loaded, Session, Workspace, dataset};

const ROWS: usize = 60;
const SECRETS: usize = 300;

/// Rows with their number as label, in this order. With `persons`, everybody has one of the first
/// rows, and the first person has all later ones.
fn csv(order: &[usize], persons: bool) -> String {
    let who = |i: usize| if persons && i >= 25 { 0 } else { i };
    let line = |i: &usize| format!("p{},{i},{i}\n", who(*i));
    format!("who,x,y\n{}", order.iter().map(line).collect::<String>())
}

fn session(more: &str, plan: &str) -> Session {
    let text = format!(
        "(version: 1, datasets: [
            (name: \"ours\", role: private, source: file(\"ours.csv\"), label: \"y\",
              columns: only([\"x\"]){more}),
            (name: \"theirs\", role: public, source: file(\"theirs.csv\"), label: \"y\",
              columns: only([\"x\"]))],
          plans: [(name: \"p\", method: \"target_only\", private: \"ours\", public: [\"theirs\"],
            target: (epsilon: 1.0, delta: 1e-4), seed: 3{plan})])"
    );
    Session::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
}

fn with_secret(directory: &Path, number: usize) -> Workspace {
    let folder = directory.join(".halflight");
    fs::create_dir_all(&folder).unwrap();
    let secret = folder.join("secret");
    fs::write(&secret, format!("{number:064x}")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    Workspace::fresh(directory)
}

/// The numbers of the rows that train.
fn training(session: &Session, workspace: &Workspace) -> Vec<usize> {
    let loaded: Vec<Loaded> =
        session.datasets.iter().map(|it| dataset::load(it, workspace).unwrap()).collect();
    let all: Vec<&Loaded> = loaded.iter().collect();
    let store = PreparedStore::default();
    let assembly = assemble(session, &session.plans[0], &all, &store).unwrap();
    let (watch, range) = (Watch::open(), assembly.proposal.preparation.clone());
    let records = assembly.private.curator(&watch, Bounded::doubles).unwrap();
    let records = records.reveal(&watch).unwrap();
    let labels = records.target.as_ref().unwrap().iter();
    labels.map(|y| range.label_from_prediction(*y).round() as usize).collect()
}

/// How often each row trains, over many secrets; each time with the rows themselves.
fn drawn(order: &[usize], persons: bool, session: &Session) -> (Vec<usize>, Vec<Vec<usize>>) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("ours.csv"), csv(order, persons)).unwrap();
    let public: Vec<String> =
        (0..120).map(|i| format!("q{i},{i}.5,{}", f64::from(i) - 20.5)).collect();
    let public = format!("who,x,y\n{}\n", public.join("\n"));
    fs::write(directory.path().join("theirs.csv"), public).unwrap();
    let mut times = vec![0; ROWS];
    let all: Vec<Vec<usize>> = (0..SECRETS)
        .map(|number| training(session, &with_secret(directory.path(), number)))
        .collect();
    all.iter().flatten().for_each(|row| times[*row] += 1);
    (times, all)
}

/// Each of these rows trains as often as chance says.
fn is_uniform(times: &[usize], chance: f64, what: &str) {
    let expected = SECRETS as f64 * chance;
    let spread = (expected * (1.0 - chance)).sqrt();
    for (row, times) in times.iter().enumerate() {
        let off = (*times as f64 - expected).abs();
        assert!(off <= 5.0 * spread, "{what}: row {row} trains {times} times, not {expected}");
    }
}

#[test]
fn every_row_has_every_role_as_often_wherever_it_is() {
    let sorted: Vec<usize> = (0..ROWS).collect();
    let mut moved = sorted.clone();
    moved.rotate_left(1);
    for (more, plan, chance) in [
        ("", ", holdout: 0.25", 0.75),
        ("", ", holdout: 0.25, private_records: 30", 0.5),
        (", sample: (rows: 30, seed: 7)", ", holdout: 0.0", 0.5),
        (", records: 40", ", holdout: 0.0", 2.0 / 3.0),
    ] {
        let session = session(more, plan);
        let what = format!("{more}{plan}");
        let (times, one) = drawn(&sorted, false, &session);
        is_uniform(&times, chance, &what);
        let (times, other) = drawn(&moved, false, &session);
        is_uniform(&times, chance, &what);
        // A row that is elsewhere draws everything anew.
        let rows = |it: &[usize]| it.iter().copied().collect::<std::collections::BTreeSet<_>>();
        let same = one.iter().zip(&other).filter(|(one, other)| rows(one) == rows(other)).count();
        assert!(same <= 1, "{what}: {same} of {SECRETS} choices are the same");
        // The same file gives the same choice again.
        assert_eq!(drawn(&sorted, false, &session).1, one, "{what}");
    }
}

/// Faults are planted in a process of its own, because other tests must not meet them.
#[cfg(feature = "planted-faults")]
#[test]
fn every_planted_choice_by_place_is_found() {
    let sound = ["every_row_has_every_role", "every_row_of_a_person"];
    for fault in crate::faults::Fault::BY_PLACE {
        let mut tests = std::process::Command::new(std::env::current_exe().unwrap());
        tests.args(sound.map(|name| format!("unordered::{name}")));
        let output = tests.env("HALFLIGHT_PLANTED", format!("{fault:?}")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Vec<&str> = said.lines().filter(|line| line.contains(" trains ")).collect();
        println!("{fault:?}: {found:?}");
        assert!(!output.status.success() && !found.is_empty(), "{fault:?} is not found: {said}");
    }
}

/// In the order of the file, a record that is elsewhere would move the numbers of many others.
#[test]
fn methods_that_release_a_number_for_each_record_get_the_records_in_every_order() {
    let sorted: Vec<usize> = (0..ROWS).collect();
    let mut tried = 0;
    for method in crate::methods::methods() {
        // The label here is a number; the other methods of the kind take the same way.
        if !method.spec().releases_each_record || method.spec().task != Task::Regression {
            continue;
        }
        let mut session = session("", ", holdout: 0.0");
        method.spec().id.clone_into(&mut session.plans[0].method);
        let (_, all) = drawn(&sorted, false, &session);
        for place in [0, ROWS / 2, ROWS - 1] {
            let mut times = vec![0; ROWS];
            for rows in &all {
                times[rows[place]] += 1;
            }
            is_uniform(&times, 1.0 / ROWS as f64, method.spec().id);
        }
        tried += 1;
    }
    assert!(tried > 0, "no method of the kind is known");
}

#[test]
fn every_row_of_a_person_is_kept_as_often_and_every_person_held_out() {
    let sorted: Vec<usize> = (0..ROWS).collect();
    let unit = ", unit: \"who\", most_records: 4";
    let (times, _) = drawn(&sorted, true, &session(unit, ", holdout: 0.0"));
    let (first, others) = times.split_at(25);
    assert!(first[1..].iter().all(|times| *times == SECRETS), "{first:?}");
    is_uniform(&[&first[..1], others].concat(), 4.0 / 36.0, unit);
    let (times, _) = drawn(&sorted, true, &session(unit, ", holdout: 0.2"));
    is_uniform(&times[1..25], 0.8, unit);
}
