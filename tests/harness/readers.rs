//! Damaged files of a workspace: whatever reads them says what is wrong, and soon.
//!
//! Readers of data have a test of their own, `tests/hostile_files.rs`.

use std::fmt::Write;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use halflight::data::read::{self, Reading};
use halflight::privacy::ledger::{Ledger, RunId};
use halflight::privacy::{Transcript, Watch};
use halflight::session::resumption::Recorded;
use halflight::session::sweep::{CarriedGrant, SweepDirectory};
use halflight::session::{
    Certificate, Report, SavedModel, Session, Workspace, archive, ranking_record,
};
use halflight::verify;
use sha2::{Digest, Sha256};

use crate::chance::{Dice, damage, damage_words, is_long};
use crate::invariants::SWEEP;
use crate::place::{Place, words};

/// Damaged copies of each file.
const COPIES: u64 = 300;
/// In the long test.
const MANY: u64 = 100_000;
/// Nobody waits longer for a file that cannot be read.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a reader made of a file: nothing that is looked at here, but no panic.
type Reader = fn(&Path);

fn drop_it<T>(_: T) {}

fn session(path: &Path) {
    drop_it(Session::open(path));
}

fn transcript(path: &Path) {
    let run = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    drop_it(Transcript::reopen(path, &RunId(run.to_owned())));
}

fn events(path: &Path) {
    drop_it(Recorded::read(path));
    run(path);
}

/// What the Compare screen and a report make of it.
fn run(path: &Path) {
    let directory = path.parent().unwrap();
    drop_it(archive::read_run(directory));
    drop_it(Certificate::read(directory));
    if let Ok(report) = Report::read(&[directory.to_owned()], Watch::sealed()) {
        drop_it(report.html());
    }
}

fn certificate(path: &Path) {
    drop_it(verify::verify(path));
    run(path);
}

fn model(path: &Path) {
    drop_it(SavedModel::open(path.parent().unwrap()));
}

fn ledger(path: &Path) {
    drop_it(verify::verify(&path.with_file_name("ledger.jsonl")));
    let Ok(mut ledger) = Ledger::open(path.parent().unwrap()) else { return };
    let Ok(book) = ledger.examine() else { return };
    for account in &book.accounts {
        drop_it(account.spent(1e-5));
    }
}

fn rankings(path: &Path) {
    drop_it(ranking_record::read(path.parent().unwrap().parent().unwrap()));
}

fn sweep(path: &Path) {
    let folder = path.ancestors().find(|folder| folder.join("sweep.json").exists()).unwrap();
    let Ok(sweep) = SweepDirectory::open(folder) else { return };
    let folder = Workspace::with_folder(folder, folder).folder().join("config");
    for index in 0..sweep.manifest.tasks.len().min(3) {
        drop_it(sweep.state(index));
        if let Ok(Some(found)) = halflight::session::secret::find_existing(&folder) {
            drop_it(CarriedGrant::read(sweep.task(index).path(), &found.secret));
        }
    }
}

fn table(path: &Path) {
    let bytes = fs::read(path).unwrap();
    drop_it(read::read_bytes("t.safetensors", &bytes, &Reading::Plain));
    model(path);
}

const READERS: [(&str, Reader); 11] = [
    ("run.ron", session),
    ("task.ron", session),
    ("transcript", transcript),
    ("events.jsonl", events),
    ("curator.jsonl", run),
    ("certificate.json", certificate),
    ("model.ron", model),
    ("model.safetensors", table),
    ("ledger.jsonl", ledger),
    ("ledger.head", ledger),
    ("sweep.json", sweep),
];

/// Files of a workspace in which everything was done, each with its reader.
fn files(place: &Place) -> Vec<(PathBuf, Reader)> {
    for command in [
        "run session.ron --plan first",
        "rank rank.ron --private 1 --mechanism table",
        SWEEP,
        "sweep --task sweep/tasks/0000",
    ] {
        place.succeeds(&words(command));
    }
    let mut files = Vec::new();
    for path in crate::invariants::all(&place.work()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let in_task = |name: &str| ["grant.json", "result.json", "claim"].contains(&name);
        let reader = READERS.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader);
        let reader = reader.or_else(|| in_task(name).then_some(sweep as Reader)).or_else(|| {
            path.to_string_lossy().contains("/rankings/").then_some(rankings as Reader)
        });
        // One of each kind is enough.
        let known = |it: &(PathBuf, Reader)| it.0.file_name() == path.file_name();
        if let Some(reader) = reader.filter(|_| path.is_file() && !files.iter().any(known)) {
            files.push((path, reader));
        }
    }
    files
}

#[test]
fn damaged_files_of_a_workspace_are_read_or_refused_without_a_panic_and_soon() {
    let seed = Dice::of_the_seed("readers").next();
    let place = Place::new();
    let files = files(&place);
    assert!(files.len() >= READERS.len() + 3, "{files:?}");
    let (mut broken, mut slow) = (Vec::new(), Vec::new());
    let copies = if is_long() { MANY } else { COPIES };
    for (path, reader) in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let whole = fs::read(path).unwrap();
        let (begun, mut longest) = (Instant::now(), Duration::ZERO);
        for copy in 0..copies {
            let mut dice = Dice::new(seed.wrapping_add(copy), &name);
            let other = fs::read(&files[dice.below(files.len())].0).unwrap();
            let damaged = match std::str::from_utf8(&whole) {
                Ok(text) if dice.below(3) > 0 => {
                    let text = damage_words(text, &mut dice);
                    let text = if name == "ledger.jsonl" { sealed_again(&text) } else { text };
                    text.into_bytes()
                }
                _ => damage(&whole, &other, &mut dice),
            };
            fs::write(path, &damaged).unwrap();
            let begun = Instant::now();
            if catch_unwind(|| reader(path)).is_err() {
                broken.push((name.clone(), copy));
            }
            let took = begun.elapsed();
            longest = longest.max(took);
            if took > PATIENCE {
                slow.push((name.clone(), copy, took));
            }
        }
        println!("{name}: {copies} copies in {:.1?}, the longest {longest:.1?}", begun.elapsed());
        fs::write(path, &whole).unwrap();
    }
    assert!(broken.is_empty() && slow.is_empty(), "panics: {broken:?}, slow: {slow:?}");
}

/// A forger who can compute hashes: the chain is whole, whatever the lines say.
fn sealed_again(text: &str) -> String {
    let mut before = "0".repeat(64);
    let mut again = String::new();
    for line in text.lines() {
        let Some((body, _)) = line.rsplit_once(",\"hash\":\"") else {
            again += line;
            again.push('\n');
            continue;
        };
        let body = match body.split_once("\"prev\":\"") {
            Some((start, rest)) if rest.is_char_boundary(64) && rest.len() > 64 => {
                format!("{start}\"prev\":\"{before}{}", &rest[64..])
            }
            _ => body.to_owned(),
        };
        before.clear();
        for byte in Sha256::digest(&body) {
            write!(before, "{byte:02x}").unwrap();
        }
        writeln!(again, "{body},\"hash\":\"{before}\"}}").unwrap();
    }
    again
}
