//! What must hold whatever happened.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use halflight::privacy::ledger::{Book, Ledger, RunState};

use crate::place::{Place, said, words};

/// The first line of a transcript.
const MAGIC: usize = b"halflight transcript 1\n".len();

/// A sweep of two tasks.
pub const SWEEP: &str = "sweep session.ron --plan first --over seed=0..1 --on list --into sweep";

/// How often each event of each run was drawn at least.
pub type Drawn = BTreeMap<String, Vec<u64>>;

/// Every file below a folder, and every folder.
pub fn all(below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(below).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| {
            let inner = if path.is_dir() { all(&path) } else { Vec::new() };
            std::iter::once(path).chain(inner)
        })
        .collect()
}

fn named(below: &Path, name: &str) -> Vec<PathBuf> {
    all(below).into_iter().filter(|path| path.file_name().is_some_and(|it| it == name)).collect()
}

/// Draws of which something is on the disk: frames of transcripts, by the documented format, and
/// notes in the marks of runs.
pub fn drawn(place: &Place) -> Drawn {
    let mut drawn = Drawn::new();
    let mut raise = |run: String, event: usize, count: u64| {
        let counts = drawn.entry(run).or_default();
        counts.resize(counts.len().max(event + 1), 0);
        counts[event] = counts[event].max(count);
    };
    for path in named(&place.work(), "transcript") {
        let run = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let run = run.trim_end_matches(".collecting");
        let mut counts = BTreeMap::<usize, u64>::new();
        for event in frames(&fs::read(path).unwrap()) {
            *counts.entry(event).or_default() += 1;
        }
        for (event, count) in counts {
            raise(run.to_owned(), event, count);
        }
    }
    for path in all(&place.folder().join("open")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (event, count) in text.split_whitespace().skip(1).enumerate() {
            let run = name.trim_end_matches(".lock").to_owned();
            raise(run, event, count.parse().unwrap_or(0));
        }
    }
    drawn
}

/// The events of whole frames.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let (mut rest, mut events) = (bytes.get(MAGIC..).unwrap_or_default(), Vec::new());
    while rest.len() >= 8 {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        let (event, length) = (word(0), 16 + 8 * word(4));
        // Half a frame was drawn as well.
        events.push(event);
        rest = rest.get(length..).unwrap_or_default();
    }
    events
}

/// What the ledger says, in this process; nothing where there is none.
pub fn book(place: &Place) -> Book {
    if !place.folder().is_dir() {
        return Book::default();
    }
    let ledgers = place.config().join("ledgers");
    Ledger::open_witnessed(&place.folder(), &ledgers).unwrap().examine().unwrap()
}

/// The chain is whole, and every draw is charged.
pub fn nothing_is_lost(place: &Place, drawn: &Drawn) -> Book {
    let book = book(place);
    assert!(!book.damaged, "{:#?}", book.warnings);
    every_draw_is_charged(&book, drawn);
    book
}

pub fn every_draw_is_charged(book: &Book, drawn: &Drawn) {
    for (run, counts) in drawn.iter().filter(|(_, counts)| counts.iter().any(|count| *count > 0)) {
        let known = book.accounts.iter().flat_map(|account| &account.runs);
        let record = known.into_iter().find(|record| record.grant.run.0 == *run);
        let record = record.unwrap_or_else(|| panic!("{run} drew {counts:?} and is not known"));
        for (event, count) in counts.iter().enumerate() {
            let charged = record.charged.get(event).copied().unwrap_or(0);
            assert!(charged >= *count, "{run}: event {event}: {count} drawn, {charged} charged");
        }
    }
}

/// Only the owner can read what belongs to the curator.
pub fn private_files_are_private(place: &Place) {
    for top in [place.folder(), place.config(), place.work().join("sweep")] {
        if !top.exists() {
            continue;
        }
        for path in all(&top).into_iter().chain([top]) {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            // The session of a task is one that a user may pass on.
            let open = path.file_name().is_some_and(|it| it.to_string_lossy().contains("task.ron"));
            assert!(open || mode & 0o700 == mode, "{}: {mode:o}", path.display());
        }
    }
}

/// Every open run goes on, or it cannot by its nature and is settled. After `damage` it may also
/// have lost what it needs.
pub fn open_runs_end(place: &Place, damage: bool) {
    if !open_runs(place).is_empty() && place.work().join("sweep/sweep.json").exists() {
        // The runs that were given up make it no success; whether all are settled is seen below.
        place.run(&words("sweep --collect sweep --give-up"));
    }
    for run in open_runs(place) {
        let directory = format!(".halflight/runs/{run}");
        let resumed = place.run(&words(&format!("run --resume {directory}")));
        let words_of_it = said(&resumed);
        assert!(!words_of_it.contains("panicked"), "{words_of_it}");
        if !resumed.status.success() {
            let once = words_of_it.contains("cannot be resumed");
            assert!(once || damage, "{run} cannot go on: {words_of_it}");
            place.succeeds(&words(&format!("ledger settle {run}")));
        }
    }
    assert_eq!(open_runs(place), Vec::<String>::new());
}

pub fn open_runs(place: &Place) -> Vec<String> {
    let book = book(place);
    let runs = book.accounts.iter().flat_map(|account| &account.runs);
    let open = runs.filter(|run| run.state == RunState::Open);
    open.map(|run| run.grant.run.0.clone()).collect()
}

/// A day later the next start removes what nobody needs.
pub fn nothing_is_left_behind(place: &Place, next: &[String]) {
    let old = SystemTime::now() - Duration::from_hours(24);
    for path in all(place.top()) {
        File::open(&path).unwrap().set_modified(old).unwrap();
    }
    let account = book(place).accounts.first().filter(|it| it.waits_for_acceptance()).cloned();
    if let Some(account) = account {
        place.succeeds(&words(&format!("ledger accept {}", account.id.0)));
    }
    place.succeeds(next);
    if place.work().join("sweep/sweep.json").exists() {
        place.run(&words("sweep --collect sweep"));
    } else if place.work().join("sweep").exists() {
        place.succeeds(&words(SWEEP));
    }
    for path in all(place.top()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let half = name.contains(".new-") || name.ends_with(".collecting");
        assert!(!half, "{} stays", path.display());
    }
    let book = book(place);
    for directory in fs::read_dir(place.folder().join("runs")).into_iter().flatten().flatten() {
        let run = directory.file_name().into_string().unwrap();
        let mut runs = book.accounts.iter().flat_map(|account| &account.runs);
        assert!(runs.any(|record| record.grant.run.0 == run), "{run} is nobody's");
    }
}
