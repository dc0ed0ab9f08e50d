//! The ledger on a real disk: other handles, other processes, sudden deaths,
//! changed bytes.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use halflight::error::{Action, ErrorKind};
use halflight::privacy::NoiseSource;
use halflight::privacy::accountant::{Adjacency, Composition, Event, Noise, QueryKind, Target};
use halflight::privacy::ledger::{
    AccountId, Book, Budget, DatasetRecord, Grant, Ledger, RowOrder, RunId, RunOutcome, RunState,
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const BUDGET: Budget = Budget::new(1.0, 1e-5);

fn dataset(origin: &str, content: &str, view: &str) -> DatasetRecord {
    DatasetRecord {
        name: "hospital".to_owned(),
        origin: origin.to_owned(),
        content: content.to_owned(),
        view: view.to_owned(),
        rows: 1000,
        ..DatasetRecord::default()
    }
}

fn hospital() -> DatasetRecord {
    dataset("/data/hospital.csv", "c1", "v1")
}

fn run(name: &str) -> RunId {
    RunId(name.to_owned())
}

/// `count` draws with a sensitivity-to-noise ratio of `mu`.
fn grant(name: &str, account: &AccountId, mu: f64, count: u64) -> Grant {
    Grant {
        run: run(name),
        account: account.clone(),
        method: "moment-release".to_owned(),
        target: Target { epsilon: 0.1, delta: 1e-6 },
        events: vec![Event {
            label: "gradient".to_owned(),
            what: "a gradient".to_owned(),
            mechanism: QueryKind::Gaussian.query(mu, 1).with(Noise::ideal(1.0)),
            count,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        }],
        allow_large_delta: false,
        noise: NoiseSource::Secret,
        unit: None,
        order: RowOrder::Secret,
        one_noise: None,
    }
}

fn open(directory: &TempDir) -> Ledger {
    Ledger::open(directory.path()).unwrap()
}

fn workspace() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A workspace with the hospital and its budget.
fn hospital_workspace(budget: Budget) -> (TempDir, Ledger, AccountId) {
    let directory = workspace();
    let mut ledger = open(&directory);
    let account = ledger.register(&hospital()).unwrap();
    ledger.set_budget(&account, budget).unwrap();
    (directory, ledger, account)
}

fn file(directory: &Path) -> PathBuf {
    directory.join("ledger.jsonl")
}

fn read(directory: &TempDir) -> Vec<u8> {
    fs::read(file(directory.path())).unwrap()
}

/// A ledger with some of everything, as bytes.
fn sample() -> Vec<u8> {
    let (directory, mut ledger, a) = hospital_workspace(BUDGET);
    ledger.grant(grant("first", &a, 0.05, 4)).unwrap();
    ledger.reserve(&run("first"), 0, 2).unwrap();
    ledger.settle(&run("first"), &[1], RunOutcome::Stopped, true).unwrap();
    ledger.record_unprotected(&a, "unprotected selection").unwrap();
    let b = ledger.register(&dataset("/data/clinic.csv", "c2", "v2")).unwrap();
    ledger.set_budget(&b, BUDGET).unwrap();
    ledger.grant(grant("second", &b, 0.05, 3)).unwrap();
    ledger.reserve(&run("second"), 0, 1).unwrap();
    read(&directory)
}

/// Number and hash of every line: what `ledger.head` may hold, from no line on.
fn heads(bytes: &[u8]) -> Vec<String> {
    let mut heads = vec![format!("0 {}\n", "0".repeat(64))];
    for (index, line) in std::str::from_utf8(bytes).unwrap().lines().enumerate() {
        let hash = &line[line.len() - 66..line.len() - 2];
        heads.push(format!("{} {hash}\n", index + 1));
    }
    heads
}

/// Puts a ledger with these bytes and this head into a directory.
fn put(directory: &TempDir, bytes: &[u8], head: &str) -> Ledger {
    fs::write(file(directory.path()), bytes).unwrap();
    fs::write(directory.path().join("ledger.head"), head).unwrap();
    open(directory)
}

fn flagged(book: &Book) -> bool {
    !book.warnings.is_empty()
        && book.accounts.iter().all(halflight::privacy::ledger::Account::unknown_past)
}

/// Every hash recomputed and every link followed; the number of lines.
fn verify(bytes: &[u8]) -> usize {
    let mut prev = "0".repeat(64);
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    for (index, line) in text.lines().enumerate() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["seq"], index + 1);
        assert_eq!(json["prev"], prev);
        let (hashed, _) = line.rsplit_once(",\"hash\":\"").unwrap();
        prev.clear();
        for byte in Sha256::digest(hashed) {
            write!(prev, "{byte:02x}").unwrap();
        }
        assert_eq!(json["hash"], prev);
    }
    text.lines().count()
}

#[test]
fn every_hash_can_be_recomputed_and_the_head_names_the_last_line() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    ledger.grant(grant("r", &account, 0.01, 5)).unwrap();
    ledger.reserve(&run("r"), 0, 5).unwrap();
    let bytes = read(&directory);
    assert_eq!(verify(&bytes), 4);
    let head = fs::read_to_string(directory.path().join("ledger.head")).unwrap();
    assert_eq!(head, heads(&bytes)[4]);
}

#[test]
#[cfg(target_os = "linux")]
fn the_documented_shell_command_recomputes_a_hash() {
    let directory = workspace();
    let bytes = sample();
    let head = &heads(&bytes)[3];
    drop(put(&directory, &bytes, head));
    let command =
        r#"sed -n 3p ledger.jsonl | sed 's/,"hash":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum"#;
    let output =
        Command::new("sh").args(["-c", command]).current_dir(directory.path()).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().split_whitespace().next(),
        head.split_whitespace().nth(1)
    );
}

#[test]
fn looking_at_an_empty_workspace_leaves_no_file() {
    let directory = workspace();
    assert_eq!(open(&directory).book().unwrap(), Book::default());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_changed_byte_anywhere_is_damage_at_its_line_and_nothing_is_launched() {
    let bytes = sample();
    let heads = heads(&bytes);
    let head = heads.last().unwrap();
    let directory = workspace();
    let mut line = 1;
    for position in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[position] ^= 1;
        let mut ledger = put(&directory, &changed, head);
        let book = ledger.book().unwrap();
        assert!(flagged(&book) || book.accounts.is_empty(), "byte {position}");
        let place = format!("{}:{line}", ledger.path().display());
        assert!(book.warnings[0].starts_with(&format!("{place}: ")), "byte {position}: {book:?}");
        let error = ledger.grant(grant("q", &AccountId("any".to_owned()), 0.01, 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.place(), Some(place.as_str()));
        assert_eq!(error.action(), Some(&Action::Repair));
        line += usize::from(bytes[position] == b'\n');
    }
    assert_eq!(line, heads.len());
}

#[test]
fn an_open_handle_notices_a_change_behind_its_back_before_a_launch() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    ledger.book().unwrap();
    let mut bytes = read(&directory);
    bytes[40] ^= 1;
    fs::write(file(directory.path()), &bytes).unwrap();
    let error = ledger.grant(grant("r", &account, 0.01, 1)).unwrap_err();
    assert!(error.place().unwrap().ends_with("ledger.jsonl:1"), "{error}");
}

#[test]
fn a_cut_tail_never_hides_a_confirmed_line() {
    let bytes = sample();
    let heads = heads(&bytes);
    let lines = heads.len() - 1;
    let ends: Vec<usize> = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1))
        .collect();
    let directory = workspace();
    let books: Vec<Book> = (0..=lines)
        .map(|n| put(&directory, &bytes[..ends[n]], &heads[n]).book().unwrap())
        .collect();
    assert!(books.iter().all(|book| book.warnings.is_empty()));
    for confirmed in [lines, lines - 1, lines / 2] {
        for end in 0..=bytes.len() {
            let whole = ends.iter().filter(|&&line| 0 < line && line <= end).count();
            let mut ledger = put(&directory, &bytes[..end], &heads[confirmed]);
            let mut book = ledger.book().unwrap();
            if whole < confirmed {
                assert!(!book.warnings.is_empty(), "cut at {end}");
                assert!(
                    book.accounts.iter().all(halflight::privacy::ledger::Account::unknown_past)
                );
                let error = ledger.register(&dataset("/new", "c9", "v9")).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Refused);
            } else {
                let whole_lines_only = end == ends[whole];
                assert_eq!(book.warnings.is_empty(), whole_lines_only && whole == confirmed);
                book.warnings.clear();
                assert_eq!(book, books[whole], "cut at {end}");
            }
        }
    }
}

#[test]
fn without_its_file_or_its_head_a_ledger_is_damaged() {
    let bytes = sample();
    let head = heads(&bytes).last().unwrap().clone();
    let directory = workspace();
    let mut ledger = put(&directory, &bytes, &head);
    assert!(!flagged(&ledger.book().unwrap()));

    fs::remove_file(directory.path().join("ledger.head")).unwrap();
    let book = ledger.book().unwrap();
    assert!(flagged(&book) && book.warnings[0].contains("ledger.head is missing"), "{book:?}");
    assert_eq!(book.accounts.len(), 2);

    let mut ledger = put(&directory, &bytes, &head);
    fs::remove_file(file(directory.path())).unwrap();
    let book = ledger.book().unwrap();
    assert!(book.warnings[0].contains("lines 1 to"), "{book:?}");
    assert_eq!(ledger.register(&hospital()).unwrap_err().kind(), ErrorKind::Refused);
}

#[test]
fn a_torn_line_is_left_alone_until_the_next_entry_sets_it_aside() {
    let bytes = sample();
    let heads = heads(&bytes);
    let lines = heads.len() - 1;
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let directory = workspace();
    let mut ledger = put(&directory, &bytes[..bytes.len() - 20], &heads[lines - 1]);
    let book = ledger.book().unwrap();
    assert!(book.warnings[0].contains("unfinished line"), "{book:?}");
    assert!(book.accounts.iter().all(|account| !account.unknown_past()));
    assert_eq!(read(&directory), &bytes[..bytes.len() - 20]);

    ledger.reserve(&run("second"), 0, 2).unwrap();
    assert_eq!(verify(&read(&directory)), lines);
    assert!(ledger.book().unwrap().warnings.is_empty());
    let torn: Vec<PathBuf> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("ledger.torn-"))
        .collect();
    assert_eq!(torn.len(), 1);
    assert_eq!(fs::read(&torn[0]).unwrap(), &bytes[last..bytes.len() - 20]);
}

#[test]
#[cfg(unix)]
fn a_death_in_the_very_first_line_is_no_damage() {
    let directory = workspace();
    // A file that cannot be created stops the first entry after its preparations.
    std::os::unix::fs::symlink("/nowhere/ledger.jsonl", file(directory.path())).unwrap();
    let error = open(&directory).register(&hospital()).unwrap_err();
    assert!(error.what().contains("cannot write to the ledger"), "{error}");
    fs::remove_file(file(directory.path())).unwrap();
    fs::write(file(directory.path()), b"{\"seq\":1,").unwrap();
    let mut ledger = open(&directory);
    assert!(ledger.book().unwrap().warnings[0].contains("unfinished line"));
    ledger.register(&hospital()).unwrap();
    assert_eq!(verify(&read(&directory)), 1);
}

#[test]
fn a_line_that_was_written_and_not_confirmed_counts() {
    let bytes = sample();
    let heads = heads(&bytes);
    let directory = workspace();
    let mut ledger = put(&directory, &bytes, &heads[heads.len() - 2]);
    let book = ledger.book().unwrap();
    assert!(book.warnings[0].contains("it counts"), "{book:?}");
    assert_eq!(book.run(&run("second")).unwrap().reserved, [1]);
    ledger.reserve(&run("second"), 0, 1).unwrap();
    assert!(ledger.book().unwrap().warnings.is_empty());
    assert_eq!(verify(&read(&directory)), heads.len());
}

#[test]
fn a_repair_keeps_the_good_lines_and_the_past_stays_unknown_until_accepted() {
    let bytes = sample();
    let heads = heads(&bytes);
    let directory = workspace();
    let mut changed = bytes.clone();
    let fifth = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(3).unwrap().0 + 1;
    changed[fifth + 10] ^= 1;
    let mut ledger = put(&directory, &changed, heads.last().unwrap());
    let mut other = open(&directory);
    let account = ledger.register(&hospital()).unwrap(); // known: nothing to write
    assert!(flagged(&other.book().unwrap()));
    assert_eq!(ledger.accept(&account, "trust me").unwrap_err().kind(), ErrorKind::Refused);

    let aside = ledger.repair().unwrap();
    assert_eq!(fs::read(aside).unwrap(), changed);
    let repaired = read(&directory);
    assert_eq!(repaired[..fifth], bytes[..fifth]);
    assert_eq!(verify(&repaired), 5);
    assert!(ledger.repair().unwrap_err().what().contains("not damaged"));

    // The open run's lost lines may have announced all of its draws.
    let book = other.book().unwrap();
    assert_eq!(book.warnings, Vec::<String>::new());
    assert_eq!(book.accounts[0].runs[0].reserved, [4]);
    let error = other.grant(grant("q", &account, 0.01, 1)).unwrap_err();
    assert!(
        matches!(error.action(), Some(Action::Accept { account }) if account.starts_with("acc-"))
    );
    other.accept(&account, "the clinic's lines, known from a backup").unwrap();
    other.grant(grant("q", &account, 0.01, 1)).unwrap();

    // Nobody knows whether the clinic was in the lost lines.
    let clinic = ledger.register(&dataset("/data/clinic.csv", "c2", "v2")).unwrap();
    ledger.set_budget(&clinic, BUDGET).unwrap();
    assert_eq!(ledger.grant(grant("p", &clinic, 0.01, 1)).unwrap_err().kind(), ErrorKind::Refused);
    ledger.accept(&clinic, "new here").unwrap();
    ledger.grant(grant("p", &clinic, 0.01, 1)).unwrap();
    verify(&read(&directory));
}

#[test]
fn a_certificate_of_more_draws_than_were_settled_is_charged_by_a_repair() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    let granted = grant("r", &account, 0.05, 4);
    ledger.grant(granted.clone()).unwrap();
    ledger.reserve(&run("r"), 0, 4).unwrap();
    let certify = |count: u64| {
        let drawn = Event { count, ..granted.events[0].clone() };
        let certificate = serde_json::json!({
            "account": account, "method": granted.method, "target": granted.target,
            "statement": "", "mechanisms": [drawn], "allow_large_delta": false,
        });
        let runs = directory.path().join("runs/r");
        fs::create_dir_all(&runs).unwrap();
        fs::write(runs.join("certificate.json"), certificate.to_string()).unwrap();
    };
    certify(4);
    assert!(!ledger.book().unwrap().damaged, "an open run counts in full");
    ledger.settle(&run("r"), &[2], RunOutcome::Stopped, false).unwrap();
    certify(2);
    assert!(!ledger.examine().unwrap().damaged);
    certify(3);
    let book = ledger.book().unwrap();
    assert!(book.damaged && flagged(&book), "{:?}", book.warnings);
    assert!(book.warnings.iter().any(|it| it.contains("states more draws")), "{:?}", book.warnings);
    ledger.repair().unwrap();
    let book = ledger.book().unwrap();
    assert!(!book.damaged);
    assert_eq!(book.accounts[0].runs[0].charged, [3]);
}

#[test]
fn after_a_repair_without_a_good_line_every_new_account_has_an_unknown_past() {
    let (directory, mut ledger, _) = hospital_workspace(BUDGET);
    fs::write(file(directory.path()), b"").unwrap();
    ledger.repair().unwrap();
    let account = ledger.register(&hospital()).unwrap();
    assert!(ledger.book().unwrap().account(&account).unwrap().unknown_past());
}

#[test]
fn the_same_dataset_registered_again_writes_nothing() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    let before = read(&directory);
    assert_eq!(ledger.register(&hospital()).unwrap(), account);
    assert_eq!(open(&directory).register(&hospital()).unwrap(), account);
    assert_eq!(read(&directory), before);
}

#[test]
fn neither_renaming_nor_filtering_nor_editing_a_file_refreshes_its_budget() {
    let (_directory, mut ledger, account) = hospital_workspace(BUDGET);
    for same in [
        dataset("/elsewhere/renamed.csv", "c1", "v1"),
        dataset("/data/filtered.csv", "c1", "v-women"),
        dataset("/data/export-of-view.csv", "v1", "v1"),
        dataset("/data/hospital.csv", "c-edited", "v-edited"),
    ] {
        assert_eq!(ledger.register(&same).unwrap(), account, "{same:?}");
    }
    assert_ne!(ledger.register(&dataset("/data/clinic.csv", "c2", "v2")).unwrap(), account);
}

#[test]
fn a_dataset_that_is_in_two_accounts_ties_them() {
    let (_directory, mut ledger, a) = hospital_workspace(Budget::new(2.0, 1e-6));
    let b = ledger.register(&dataset("/data/clinic.csv", "c2", "v2")).unwrap();
    let c = ledger.register(&dataset("/data/ward.csv", "c3", "v3")).unwrap();
    ledger.set_budget(&b, BUDGET).unwrap();
    ledger.grant(grant("at-a", &a, 0.1, 2)).unwrap();
    ledger.grant(grant("at-b", &b, 0.1, 3)).unwrap();
    // The clinic's rows, found in the hospital's file, on the ward's path.
    assert_eq!(ledger.register(&dataset("/data/ward.csv", "c1", "v2")).unwrap(), a);
    let book = ledger.book().unwrap();
    assert_eq!(book.accounts.len(), 1);
    let account = book.account(&b).unwrap();
    assert_eq!(account.former, [b, c]);
    assert_eq!(account.budget, Some(Budget::new(1.0, 1e-6)));
    assert_eq!(account.charged_events().iter().map(|event| event.count).sum::<u64>(), 5);
    assert_eq!(account.datasets.len(), 4);
}

#[test]
fn an_unprotected_use_survives_and_is_said_beside_every_total_without_an_epsilon() {
    let (directory, mut ledger, a) = hospital_workspace(BUDGET);
    let (unknown, before) = (AccountId("acc-none".to_owned()), read(&directory));
    assert!(ledger.record_unprotected(&unknown, "a look").unwrap_err().what().contains("acc-none"));
    assert_eq!(read(&directory), before);

    ledger.record_unprotected(&a, "a ranking").unwrap();
    ledger.record_unprotected(&a, "a second ranking").unwrap();
    assert_eq!(verify(&read(&directory)), 4);
    let book = open(&directory).book().unwrap();
    assert_eq!(book, ledger.book().unwrap());
    let account = book.account(&a).unwrap();
    let what: Vec<&str> = account.unprotected.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(what, ["a ranking", "a second ranking"]);
    assert!(account.spent(1e-5).unwrap().is_none());
    let beside = account.beside_the_total().unwrap();
    assert!(
        beside.starts_with("Exact numbers were looked at 2 times, which no ε covers; last on 2")
    );
    assert!(beside.ends_with(": a second ranking."), "{beside}");
    ledger.grant(grant("r", &a, 0.05, 1)).unwrap();
    // Whether the exact numbers of a run were seen is known when it ends.
    let beside = ledger.book().unwrap().account(&a).unwrap().beside_the_total().unwrap();
    assert!(beside.ends_with(" An open run may add one."), "{beside}");

    // Another account that turns out to hold the same records brings its own along.
    let b = ledger.register(&dataset("/data/clinic.csv", "c2", "v2")).unwrap();
    assert!(ledger.book().unwrap().account(&b).unwrap().beside_the_total().is_none());
    ledger.record_unprotected(&b, "a third ranking").unwrap();
    ledger.register(&dataset("/data/clinic.csv", "c1", "v2")).unwrap();
    let book = ledger.book().unwrap();
    assert_eq!((book.accounts.len(), book.accounts[0].unprotected.len()), (1, 3));
}

#[test]
fn a_lost_unprotected_use_leaves_the_past_unknown() {
    let (directory, mut ledger, a) = hospital_workspace(BUDGET);
    ledger.record_unprotected(&a, "a ranking").unwrap();
    let (bytes, heads) = (read(&directory), heads(&read(&directory)));
    let text = String::from_utf8(bytes.clone()).unwrap();
    let forged = text.replace("a ranking", "no matter");
    let cut = bytes.iter().take(bytes.len() - 1).rposition(|byte| *byte == b'\n').unwrap() + 1;
    for damaged in [forged.as_bytes(), &bytes[..cut]] {
        let mut ledger = put(&directory, damaged, &heads[3]);
        let book = ledger.book().unwrap();
        assert!(flagged(&book) && book.warnings[0].contains("ledger.jsonl:3: "), "{book:?}");
        assert!(book.accounts[0].unprotected.is_empty());
        let error = ledger.record_unprotected(&a, "another").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
    // Written and not confirmed by the head: it counts.
    let book = put(&directory, &bytes, &heads[2]).book().unwrap();
    assert_eq!(book.accounts[0].unprotected.len(), 1);
}

#[test]
fn a_refusal_changes_nothing_and_leaves_the_rest_usable() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    ledger.grant(grant("r", &account, 0.2, 1)).unwrap();
    let before = read(&directory);
    let error = ledger.grant(grant("s", &account, 0.25, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    // It asks for ε = 0.1 and draws more than that costs, so no ε is named that would fit.
    assert!(error.what().contains("a smaller ε may fit"), "{error}");
    assert_eq!(ledger.grant(grant("r", &account, 0.01, 1)).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(read(&directory), before);
    assert_eq!(fs::read_dir(directory.path().join("open")).unwrap().count(), 1);
    // μ² of the budget is 0.0718, of which 0.04 is spent.
    ledger.grant(grant("s", &account, 0.17, 1)).unwrap();
}

#[test]
fn a_run_is_abandoned_only_when_nobody_carries_it_out() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    let mut other = open(&directory);
    ledger.grant(grant("r", &account, 0.01, 10)).unwrap();
    assert!(other.abandon(&run("r")).unwrap_err().what().contains("still being carried out"));
    assert!(ledger.abandon(&run("r")).unwrap_err().what().contains("still being carried out"));
    let mut spender = open(&directory);
    drop(ledger);
    // The handle that draws is another one than that which got the grant.
    spender.reserve(&run("r"), 0, 4).unwrap();
    let error = other.abandon(&run("r")).unwrap_err();
    assert!(error.what().contains("still being carried out"), "{error}");
    drop(spender);
    other.abandon(&run("r")).unwrap();
    let record = other.book().unwrap().run(&run("r")).unwrap().clone();
    assert_eq!(record.charged, [4]);
    assert_eq!(record.state, RunState::Settled { outcome: RunOutcome::Abandoned, peeked: true });
    assert!(other.abandon(&run("r")).is_err());
    assert_eq!(fs::read_dir(directory.path().join("open")).unwrap().count(), 0);
}

#[test]
fn a_run_whose_lines_were_lost_and_came_back_has_still_one_program() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    let before = read(&directory);
    ledger.grant(grant("r", &account, 0.01, 10)).unwrap();
    ledger.reserve(&run("r"), 0, 1).unwrap();
    let whole = read(&directory);

    let mut other = put(&directory, &before, heads(&whole).last().unwrap());
    other.repair().unwrap();
    assert!(ledger.reserve(&run("r"), 0, 1).is_err());

    // The program lives, so no other one may make its draws again, or say what it drew.
    let mut other = put(&directory, &whole, heads(&whole).last().unwrap());
    for error in [
        other.resume(&run("r")).unwrap_err(),
        other.reserve(&run("r"), 0, 1).unwrap_err(),
        other.abandon(&run("r")).unwrap_err(),
    ] {
        assert!(error.what().contains("still being carried out"), "{error}");
    }
    ledger.reserve(&run("r"), 0, 1).unwrap();
    drop(ledger);
    assert_eq!(other.resume(&run("r")).unwrap().reserved, [2]);
}

#[test]
fn an_unusable_place_is_named() {
    let directory = workspace();
    let missing = directory.path().join("nowhere");
    let error = Ledger::open(&missing).unwrap_err();
    assert_eq!(error.place(), missing.to_str());

    // A directory where a file belongs refuses even the superuser.
    fs::create_dir(file(directory.path())).unwrap();
    let error = open(&directory).register(&hospital()).unwrap_err();
    assert!(error.what().contains("cannot read the ledger"), "{error}");
    fs::remove_dir(file(directory.path())).unwrap();

    fs::create_dir(directory.path().join("ledger.lock")).unwrap();
    let error = open(&directory).register(&hospital()).unwrap_err();
    assert!(error.what().contains("cannot lock the ledger"), "{error}");
    fs::remove_dir(directory.path().join("ledger.lock")).unwrap();

    // The head cannot be written: the line is taken back.
    let mut ledger = open(&directory);
    ledger.register(&hospital()).unwrap();
    let before = read(&directory);
    let in_the_way = directory.path().join(format!("ledger.head.new-{}", std::process::id()));
    fs::create_dir(&in_the_way).unwrap();
    let error = ledger.register(&dataset("/b", "c2", "v2")).unwrap_err();
    assert!(error.what().contains("cannot write the head of the ledger"), "{error}");
    assert_eq!(read(&directory), before);
    fs::remove_dir(&in_the_way).unwrap();
    ledger.register(&dataset("/b", "c2", "v2")).unwrap();
    assert_eq!(verify(&read(&directory)), 2);
}

#[test]
fn threads_with_their_own_handles_lose_nothing_and_readers_see_no_half_line() {
    let (directory, mut ledger, account) = hospital_workspace(BUDGET);
    let (path, account) = (directory.path(), &account);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = ["a", "b"]
            .map(|name| {
                scope.spawn(move || {
                    let mut ledger = Ledger::open(path).unwrap();
                    ledger.grant(grant(name, account, 0.01, 20)).unwrap();
                    for _ in 0..20 {
                        ledger.reserve(&run(name), 0, 1).unwrap();
                    }
                    ledger.settle(&run(name), &[20], RunOutcome::Finished, false).unwrap();
                })
            })
            .into_iter()
            .collect();
        let done = &done;
        let reader = scope.spawn(move || {
            let mut looks = 0;
            let mut kept = Ledger::open(path).unwrap();
            while !done.load(Ordering::Relaxed) {
                assert_eq!(kept.book().unwrap().warnings, Vec::<String>::new());
                let fresh = Ledger::open(path).unwrap().book().unwrap();
                assert_eq!(fresh.warnings, Vec::<String>::new());
                looks += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            looks
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(verify(&read(&directory)), 2 + 2 * 22);
    let book = ledger.book().unwrap();
    assert_eq!(book.run(&run("a")).unwrap().charged, [20]);
    assert_eq!(book.run(&run("b")).unwrap().charged, [20]);
}

// ---- other processes -------------------------------------------------------

/// Not a test: what the tests below start as another process.
#[test]
#[ignore = "helper process of other tests"]
fn helper() {
    let Ok(task) = std::env::var("LEDGER_TASK") else { return };
    let directory = PathBuf::from(std::env::var("LEDGER_DIRECTORY").unwrap());
    let name = std::env::var("LEDGER_NAME").unwrap();
    let report = |text: String| fs::write(directory.join(&name), text).unwrap();
    let mut ledger = Ledger::open(&directory).unwrap();
    match task.as_str() {
        "share" => {
            let mut granted = 0;
            for number in 0..6 {
                let account = ledger.register(&hospital()).unwrap();
                let id = format!("{name}-{number}");
                if let Err(error) = ledger.grant(grant(&id, &account, 0.05, 4)) {
                    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
                    continue;
                }
                ledger.reserve(&run(&id), 0, 2).unwrap();
                ledger.reserve(&run(&id), 0, 2).unwrap();
                ledger.settle(&run(&id), &[3], RunOutcome::Stopped, false).unwrap();
                granted += 1;
            }
            report(granted.to_string());
        }
        "draw" => {
            let account = ledger.register(&hospital()).unwrap();
            ledger.grant(grant(&name, &account, 1e-4, 10_000)).unwrap();
            let mut drawn = fs::File::create(directory.join(&name)).unwrap();
            for _ in 0..10_000 {
                ledger.reserve(&run(&name), 0, 1).unwrap();
                drawn.write_all(b"x").unwrap();
            }
        }
        "fill" => {
            for number in 0..1000 {
                let next =
                    dataset(&format!("/{number}"), &format!("c{number}"), &format!("v{number}"));
                if let Err(error) = ledger.register(&next) {
                    return report(format!("{number} {}", error.what()));
                }
            }
        }
        other => panic!("unknown task {other}"),
    }
}

fn helper_command(task: &str, directory: &Path, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["ledger::helper", "--exact", "--ignored", "--test-threads=1", "--quiet"]);
    environment(&mut command, task, directory, name);
    command
}

fn environment(command: &mut Command, task: &str, directory: &Path, name: &str) {
    command
        .env("LEDGER_TASK", task)
        .env("LEDGER_DIRECTORY", directory)
        .env("LEDGER_NAME", name)
        .stdout(std::process::Stdio::null());
}

#[test]
fn four_processes_lose_nothing_and_never_overspend_together() {
    let (directory, _, account) = hospital_workspace(BUDGET);
    let names = ["p0", "p1", "p2", "p3"];
    let children: Vec<Child> = names
        .iter()
        .map(|name| helper_command("share", directory.path(), name).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let granted: usize = names
        .iter()
        .map(|name| {
            let count = fs::read_to_string(directory.path().join(name)).unwrap();
            count.parse::<usize>().unwrap()
        })
        .sum();
    let bytes = read(&directory);
    assert_eq!(verify(&bytes), 2 + 4 * granted);
    // 9 settled runs of μ² = 3 · 0.05² exhaust μ² = 0.0718; 24 were asked for.
    assert!((7..=9).contains(&granted), "{granted}");
    let heads = heads(&bytes);
    let (check, mut end) = (workspace(), 0);
    for (line, head) in bytes.split_inclusive(|byte| *byte == b'\n').zip(&heads[1..]) {
        end += line.len();
        let book = put(&check, &bytes[..end], head).book().unwrap();
        let spent = book.account(&account).unwrap().spent(BUDGET.delta).unwrap();
        assert!(spent.is_none_or(|spent| spent.epsilon <= BUDGET.epsilon));
    }
}

#[test]
fn a_process_killed_at_any_moment_has_announced_all_that_it_drew() {
    let (directory, mut ledger, _) = hospital_workspace(Budget::new(10.0, 1e-5));
    let mut deaths_while_drawing = 0;
    for number in 0..20_u64 {
        let name = format!("r{number}");
        let mut child = helper_command("draw", directory.path(), &name).spawn().unwrap();
        let drawn = directory.path().join(&name);
        if number % 4 != 0 {
            // Most deaths come while drawing, some while starting.
            let patience = Instant::now() + Duration::from_secs(10);
            while fs::metadata(&drawn).map_or(0, |file| file.len()) == 0 {
                assert!(Instant::now() < patience, "the helper draws nothing");
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(ledger.abandon(&run(&name)).unwrap_err().kind(), ErrorKind::Refused);
        }
        std::thread::sleep(Duration::from_micros(number * 7919 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();

        let drawn = fs::metadata(&drawn).map_or(0, |file| file.len());
        let book = ledger.book().unwrap();
        assert!(book.accounts.iter().all(|account| !account.unknown_past()), "{:?}", book.warnings);
        assert_eq!(open(&directory).book().unwrap(), book);
        let Some(record) = book.run(&run(&name)) else {
            assert_eq!(drawn, 0);
            continue;
        };
        deaths_while_drawing += u64::from(drawn > 0);
        assert!(record.reserved[0] >= drawn, "{record:?} {drawn}");
        assert_eq!(record.charged, [10_000]);
        ledger.abandon(&run(&name)).unwrap();
        let charged = ledger.book().unwrap().run(&run(&name)).unwrap().charged[0];
        assert!(charged >= drawn && charged <= drawn + 1, "{charged} {drawn}");
    }
    assert!(deaths_while_drawing >= 15);
    verify(&read(&directory));
}

#[test]
#[cfg(target_os = "linux")]
fn a_line_that_the_disk_has_no_room_for_is_taken_back() {
    let directory = workspace();
    // A limit on the size of files stands for a full disk: part of the line gets in.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args(["ledger::helper", "--exact", "--ignored", "--test-threads=1", "--quiet"]);
    environment(&mut shell, "fill", directory.path(), "report");
    assert!(shell.status().unwrap().success());
    let report = fs::read_to_string(directory.path().join("report")).unwrap();
    let (count, what) = report.split_once(' ').unwrap();
    let count: usize = count.parse().unwrap();
    assert!(count > 2 && what.contains("cannot write to the ledger"), "{report}");
    assert_eq!(verify(&read(&directory)), count);
    let mut ledger = open(&directory);
    assert_eq!(ledger.book().unwrap().warnings, Vec::<String>::new());
    ledger.register(&dataset("/later", "cl", "vl")).unwrap();
    assert_eq!(verify(&read(&directory)), count + 1);
}

// ---- any order of operations -----------------------------------------------

#[derive(Debug, Clone)]
enum Operation {
    Register { origin: u8, content: u8, view: u8 },
    Budget { account: usize, epsilon: f64 },
    Grant { account: usize, mu: f64, count: u64 },
    Draw { run: usize, announce: u64, draws: u64 },
    Settle { run: usize },
    Die,
    Abandon { run: usize },
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::{Abandon, Budget, Die, Draw, Grant, Register, Settle};
    prop_oneof![
        2 => (0..5_u8, 0..5_u8, 0..5_u8)
            .prop_map(|(origin, content, view)| Register { origin, content, view }),
        1 => (0..3_usize, 0.5..2.0).prop_map(|(account, epsilon)| Budget { account, epsilon }),
        3 => (0..3_usize, 0.01..0.1, 1..5_u64)
            .prop_map(|(account, mu, count)| Grant { account, mu, count }),
        4 => (0..6_usize, 0..4_u64, 0..4_u64)
            .prop_map(|(run, announce, draws)| Draw { run, announce, draws }),
        2 => (0..6_usize).prop_map(|run| Settle { run }),
        1 => Just(Die),
        1 => (0..6_usize).prop_map(|run| Abandon { run }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn whatever_happens_no_draw_is_uncharged_and_the_file_says_what_the_handle_says(
        operations in proptest::collection::vec(operation(), 1..20)
    ) {
        let (directory, mut ledger, _) = hospital_workspace(BUDGET);
        let mut drawn: BTreeMap<String, u64> = BTreeMap::new();
        let named = |index: usize| run(&format!("r{index}"));
        for operation in operations {
            let before = ledger.book().unwrap();
            let account = |index: usize| before.accounts[index % before.accounts.len()].id.clone();
            match operation {
                Operation::Register { origin, content, view } => {
                    let record =
                        dataset(&format!("/{origin}"), &format!("c{content}"), &format!("v{view}"));
                    let id = ledger.register(&record).unwrap();
                    prop_assert!(ledger.book().unwrap().account(&id).is_some());
                }
                Operation::Budget { account: index, epsilon } => {
                    ledger.set_budget(&account(index), Budget::new(epsilon, 1e-5)).unwrap();
                }
                Operation::Grant { account: index, mu, count } => {
                    let name = format!("r{}", drawn.len());
                    let id = account(index);
                    if ledger.grant(grant(&name, &id, mu, count)).is_ok() {
                        drawn.insert(name, 0);
                        let book = ledger.book().unwrap();
                        let account = book.account(&id).unwrap();
                        let budget = account.budget.unwrap();
                        let spent = Composition::of(&account.charged_events()).unwrap();
                        let delta = spent.delta(budget.epsilon).unwrap();
                        prop_assert!(delta <= budget.delta);
                    } else {
                        prop_assert_eq!(&ledger.book().unwrap(), &before);
                    }
                }
                Operation::Draw { run: index, announce, draws } => {
                    let run = named(index);
                    if ledger.reserve(&run, 0, announce).is_ok() {
                        *drawn.get_mut(&run.0).unwrap() += draws.min(announce);
                    } else {
                        prop_assert_eq!(&ledger.book().unwrap(), &before);
                    }
                }
                Operation::Settle { run: index } => {
                    let run = named(index);
                    let used = drawn.get(&run.0).copied().unwrap_or(0);
                    let outcome = RunOutcome::Finished;
                    if ledger.settle(&run, &[used], outcome, false).is_err() {
                        prop_assert_eq!(&ledger.book().unwrap(), &before);
                    }
                }
                Operation::Die => ledger = open(&directory),
                Operation::Abandon { run: index } => {
                    if ledger.abandon(&named(index)).is_err() {
                        prop_assert_eq!(&ledger.book().unwrap(), &before);
                    }
                }
            }
            let book = ledger.book().unwrap();
            for (name, drawn) in &drawn {
                let record = book.run(&run(name)).unwrap();
                prop_assert!(record.charged[0] >= *drawn && record.reserved[0] >= *drawn);
            }
            prop_assert_eq!(&open(&directory).book().unwrap(), &book);
        }
        verify(&read(&directory));
    }
}

/// The bytes of a mechanism are part of what a ledger's hashes cover: they must not change.
#[test]
fn the_events_of_a_ledger_of_the_first_version_are_read_and_written_as_they_stand_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
    let text = fs::read_to_string(folder.join(".halflight/ledger.jsonl")).unwrap();
    let mut events = 0;
    for line in text.lines().filter(|line| line.contains("\"kind\":\"grant\"")) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for written in value["entry"]["events"].as_array().unwrap() {
            let event: Event = serde_json::from_value(written.clone()).unwrap();
            assert!(line.contains(&serde_json::to_string(&event).unwrap()), "{written}");
            events += 1;
        }
    }
    assert_eq!(events, 8);
}

#[test]
fn whoever_waits_for_the_ledger_is_told_who_holds_it() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join(".halflight");
    fs::create_dir_all(&folder).unwrap();
    let lock = fs::File::create(folder.join("ledger.lock")).unwrap();
    lock.lock().unwrap();
    (&lock).write_all(b"process 7 on node3, since yesterday\n").unwrap();
    fs::write(folder.join("ledger.jsonl"), "").unwrap();
    let mut waiting = Command::new(env!("CARGO_BIN_EXE_halflight"));
    let child = waiting
        .args(["ledger", "show"])
        .current_dir(directory.path())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let child = child.unwrap();
    std::thread::sleep(Duration::from_millis(1800));
    drop(lock);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("held by process 7 on node3, since yesterday"), "{said}");
}
