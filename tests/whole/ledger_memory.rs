//! What a ledger may not forget: lost lines, copies, runs that it does not know, noise that is
//! no secret, budgets that protect nobody.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use halflight::engine::lookup;
use halflight::error::{Action, ErrorKind};
use halflight::privacy::accountant::{Adjacency, Event, Noise, QueryKind};
use halflight::privacy::ledger::{
    AccountId, Budget, DatasetRecord, Grant, Ledger, RowOrder, RunId, RunOutcome, TotalStanding,
};
use halflight::privacy::{NoiseSource, Target};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{program, schema};

/// A copy of what the first version wrote, and a configuration of its own.
struct Old {
    place: TempDir,
}

const OURS: &str = "acc-a0bf94018a";
const CASES: &str = "acc-d472ecde3d";

impl Old {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
        copy(&files, &place.path().join("work"));
        Self { place }
    }

    fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    fn folder(&self) -> PathBuf {
        self.work().join(".halflight")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::halflight();
        command.env("XDG_CONFIG_HOME", self.place.path().join("config"));
        command.args(arguments).current_dir(self.work());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it says, with the exit code of a refusal.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        stderr(&output)
    }

    /// JSON of one account, as documented.
    fn account(&self, id: &str) -> Value {
        let book: Value = serde_json::from_str(&self.succeeds(&["ledger", "--json"])).unwrap();
        let schema = serde_json::from_str(&self.succeeds(&["schema", "ledger"])).unwrap();
        assert_eq!(schema::flaw(&schema, &book), None);
        let mut accounts = book["accounts"].as_array().unwrap().iter();
        accounts.find(|account| account["account"] == id).cloned().unwrap()
    }

    /// What may leave: the certificate of an account.
    fn certificate(&self, id: &str) -> Value {
        let book = Ledger::open(&self.folder()).unwrap().book().unwrap();
        let account = book.account(&AccountId(id.to_owned())).unwrap();
        serde_json::from_str(&lookup::certificate(account).unwrap()).unwrap()
    }

    /// Cuts the ledger after so many lines, with the head that it had then.
    fn roll_back(&self, lines: usize) {
        let path = self.folder().join("ledger.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> = text.split_inclusive('\n').take(lines).collect();
        let hash = &kept[lines - 1][kept[lines - 1].len() - 67..][..64];
        fs::write(self.folder().join("ledger.head"), format!("{lines} {hash}\n")).unwrap();
        fs::write(&path, kept.concat()).unwrap();
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (source, target) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}

fn epsilon(account: &Value) -> f64 {
    account["spent"]["epsilon"].as_f64().unwrap()
}

// ---- lost lines ------------------------------------------------------------

#[test]
fn after_damage_repair_and_accept_no_number_is_a_total_and_certificates_are_charged() {
    let old = Old::new();
    let whole = old.account(CASES);
    assert_eq!((&whole["spent_is"], &whole["gaps"]), (&json!("at_most"), &json!([])));
    let path = old.folder().join("ledger.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("ranked by exact numbers", "ranked by exact numbers!", 1))
        .unwrap();

    // Before the repair: the number is what is left and what certificates prove.
    let shown = old.account(CASES);
    assert_eq!(shown["spent_is"], "at_least");
    assert_eq!(epsilon(&shown), epsilon(&whole), "the certificate of the lost run counts");
    assert!(old.refused(&["run", "session.ron", "--plan", "ill"]).contains("ledger repair"));

    old.succeeds(&["ledger", "repair"]);
    assert!(old.refused(&["run", "session.ron", "--plan", "ill"]).contains("ledger accept"));
    for accepted in [false, true] {
        let account = old.account(CASES);
        assert_eq!(account["spent_is"], "at_least");
        assert_eq!(epsilon(&account), epsilon(&whole));
        let total = account["total"].as_str().unwrap();
        assert!(total.contains("what lines 42 to 83 held, which nobody knows"), "{total}");
        assert_eq!(account["gaps"][0]["accepted"].is_null(), !accepted, "{account:#}");
        assert_eq!(account["unknown_past"], !accepted);
        let states: Vec<&str> = account["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["state"].as_str().unwrap())
            .collect();
        assert!(states[1].starts_with("recovered"), "{states:?}");
        let said = old.succeeds(&["ledger"]);
        assert!(said.contains("spent at least ε") && said.contains("gap: what lines 42 to 83"));

        let certificate = old.certificate(CASES);
        assert_eq!(certificate["past_is_known"], false, "{certificate:#}");
        assert!(certificate["total"].as_str().unwrap().contains("at least ε"));
        for total in certificate["totals"].as_array().unwrap() {
            assert!(total["epsilon_at_most"].is_null(), "{certificate:#}");
        }
        let gap = certificate["gaps"][0].as_str().unwrap();
        assert_eq!(gap.contains("accepted on the command line"), accepted, "{gap}");
        old.run(&["ledger", "accept", CASES]);
    }
    old.succeeds(&["run", "session.ron", "--plan", "ill"]);
    assert_eq!(old.account(CASES)["spent_is"], "at_least", "for ever");
    old.succeeds(&["ledger", "verify"]);
}

#[test]
fn a_ledger_that_was_removed_is_missed_by_its_runs_and_charged_with_what_they_prove() {
    let old = Old::new();
    let before = old.account(CASES);
    for file in ["ledger.jsonl", "ledger.head"] {
        fs::remove_file(old.folder().join(file)).unwrap();
    }
    let verified = old.run(&["ledger", "verify"]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(stderr(&verified).contains("results of a run that the ledger does not know"));
    assert!(old.refused(&["run", "session.ron", "--plan", "ill"]).contains("rolled back"));

    old.succeeds(&["ledger", "repair"]);
    old.succeeds(&["ledger", "verify"]);
    old.succeeds(&["ledger", "budget", CASES, "6", "1e-5"]);
    let account = old.account(CASES);
    assert_eq!(account["spent_is"], "at_least");
    assert_eq!(epsilon(&account), epsilon(&before));
    assert_eq!(old.account(OURS)["spent_is"], "none", "one of them used a known seed");
    assert!(old.refused(&["run", "session.ron", "--plan", "ill"]).contains("ledger accept"));
    old.succeeds(&["ledger", "accept", CASES]);
    old.succeeds(&["run", "session.ron", "--plan", "ill"]);
    assert!(epsilon(&old.account(CASES)) > epsilon(&before), "the same account goes on");
}

#[test]
fn a_ledger_rolled_back_with_its_head_is_noticed_by_whoever_saw_the_later_lines() {
    let old = Old::new();
    old.succeeds(&["ledger"]);
    // Without run directories, nothing in the workspace tells of it.
    fs::remove_dir_all(old.folder().join("runs")).unwrap();
    fs::remove_dir_all(old.folder().join("rankings")).unwrap();
    old.roll_back(58);
    let verified = old.run(&["ledger", "verify"]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(stderr(&verified).contains("lines 59 to 82 are missing"), "{}", stderr(&verified));
    let said = old.refused(&["run", "session.ron", "--plan", "ill"]);
    assert!(said.contains("ledger.jsonl:59: ") && said.contains("an older copy"), "{said}");
    assert!(old.refused(&["ledger", "settle", "x"]).contains("an older copy"));
    assert!(!old.run(&["ledger", "accept", CASES]).status.success());
    old.succeeds(&["ledger", "repair"]);
    let total = old.account(CASES)["total"].as_str().unwrap().to_owned();
    assert!(total.contains("plus what lines 60 to 83 held"), "{total}");
    old.succeeds(&["ledger", "accept", CASES]);
    old.succeeds(&["run", "session.ron", "--plan", "ill"]);
    assert!(old.account(CASES)["total"].as_str().unwrap().contains("lines 60 to 83"));
}

#[test]
fn a_certificate_that_names_a_line_which_is_not_there_shows_that_lines_were_rewritten() {
    let old = Old::new();
    let ran = old.succeeds(&["run", "session.ron", "--plan", "ill", "--json"]);
    let ran: Value = serde_json::from_str(&ran).unwrap();
    let path = Path::new(ran["runs"][0]["directory"].as_str().unwrap()).join("certificate.json");
    let mut certificate: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    old.succeeds(&["ledger", "verify"]);
    certificate["ledger_line"]["hash"] = json!("0".repeat(64));
    fs::write(&path, certificate.to_string()).unwrap();
    let said = stderr(&old.run(&["ledger", "verify"]));
    assert!(said.contains("a certificate names line"), "{said}");
    assert!(old.refused(&["run", "session.ron", "--plan", "ill"]).contains("ledger repair"));
    old.succeeds(&["ledger", "repair"]);
    old.succeeds(&["ledger", "verify"]);
    assert_eq!(old.account(CASES)["spent_is"], "at_least");
}

#[test]
fn a_program_that_died_before_its_grant_leaves_nothing_to_worry_about() {
    let old = Old::new();
    let orphan = old.folder().join("runs/20270101-000000-dp_sgd-0");
    fs::create_dir(&orphan).unwrap();
    fs::write(orphan.join("events.jsonl"), "").unwrap();
    fs::write(orphan.join("run.ron"), "()").unwrap();
    fs::write(orphan.join("transcript"), b"halflight transcript 1\n").unwrap();
    old.succeeds(&["ledger", "verify"]);
    // One released number more, and it drew.
    fs::write(
        orphan.join("transcript"),
        [b"halflight transcript 1\n".as_slice(), &[0; 24]].concat(),
    )
    .unwrap();
    assert!(!old.run(&["ledger", "verify"]).status.success());
}

// ---- copies ----------------------------------------------------------------

#[test]
fn a_workspace_may_be_moved_and_its_copy_may_not_be_gone_on_with_as_well() {
    let old = Old::new();
    let copied = old.place.path().join("copied");
    copy(&old.work(), &copied);
    fs::rename(old.work(), old.place.path().join("moved")).unwrap();
    fs::rename(old.place.path().join("moved"), old.work()).unwrap();
    old.succeeds(&["run", "session.ron", "--plan", "ill"]);
    let in_copy =
        |arguments: &[&str]| old.command(arguments).current_dir(&copied).output().unwrap();
    let refused = in_copy(&["run", "session.ron", "--plan", "ill"]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    let said = stderr(&refused);
    assert!(
        said.contains("work in the workspace that was used last") && said.contains("ledger repair"),
        "{said}"
    );
    // Another user knows nothing of it.
    let other = old
        .command(&["ledger", "verify"])
        .current_dir(&copied)
        .env("XDG_CONFIG_HOME", old.place.path().join("other"))
        .output()
        .unwrap();
    assert!(other.status.success(), "{}", stderr(&other));
    // What is remembered is nobody else's to read.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let ledgers = old.place.path().join("config/halflight/ledgers");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&ledgers), 0o700);
        let files: Vec<_> = fs::read_dir(&ledgers).unwrap().map(|it| it.unwrap().path()).collect();
        assert!(files.iter().all(|file| mode(file) == 0o600));
        // One of the old ledger, which is not gone on with, and one of the rewritten one; its
        // cards, one for the file and one for the rows.
        let (cards, notes): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| file.extension().is_some_and(|end| end == "card"));
        assert_eq!((notes.len(), cards.len()), (2, 2), "{files:?}");
    }
}

#[test]
fn where_nothing_can_be_remembered_work_goes_on_and_says_so() {
    let old = Old::new();
    let config = old.place.path().join("config/halflight");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("ledgers"), "a file where a directory belongs").unwrap();
    let ran = old.run(&["run", "session.ron", "--plan", "ill"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let said = stderr(&ran);
    assert_eq!(said.matches("so halflight cannot notice").count(), 1, "{said}");
    assert!(old.succeeds(&["ledger"]).contains("so halflight cannot notice"));
}

fn hospital() -> DatasetRecord {
    DatasetRecord {
        name: "hospital".to_owned(),
        origin: "/data/hospital.csv".to_owned(),
        content: "c1".to_owned(),
        view: "v1".to_owned(),
        rows: 200,
        ..DatasetRecord::default()
    }
}

fn run(name: &str) -> RunId {
    RunId(name.to_owned())
}

fn grant(name: &str, account: &AccountId, mu: f64, count: u64) -> Grant {
    let mechanism = QueryKind::Gaussian.query(mu, 1).with(Noise::ideal(1.0));
    Grant {
        run: run(name),
        account: account.clone(),
        method: "moment_release".to_owned(),
        target: Target { epsilon: 0.1, delta: 1e-6 },
        events: vec![Event {
            label: "gradient".to_owned(),
            what: "a gradient".to_owned(),
            mechanism,
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

/// A ledger with a budget, and a place to remember it.
fn remembered(place: &Path) -> (PathBuf, PathBuf, AccountId) {
    let (folder, memory) = (place.join("work"), place.join("memory"));
    fs::create_dir(&folder).unwrap();
    let mut ledger = Ledger::open_witnessed(&folder, &memory).unwrap();
    let account = ledger.register(&hospital()).unwrap();
    ledger.set_budget(&account, Budget::new(1.0, 1e-5)).unwrap();
    (folder, memory, account)
}

#[test]
fn of_two_copies_of_an_open_run_one_goes_on_and_counts_what_the_other_drew() {
    let place = tempfile::tempdir().unwrap();
    let (folder, memory, account) = remembered(place.path());
    let mut first = Ledger::open_witnessed(&folder, &memory).unwrap();
    first.grant(grant("r", &account, 0.01, 10)).unwrap();
    first.reserve(&run("r"), 0, 5).unwrap();
    first.tally(&run("r"), &[1]).unwrap();
    let copied = place.path().join("copied");
    copy(&folder, &copied);
    first.tally(&run("r"), &[3]).unwrap();

    let mut second = Ledger::open_witnessed(&copied, &memory).unwrap();
    let error = second.resume(&run("r")).unwrap_err();
    assert!(error.what().contains("still being carried out"), "{error}");
    drop(first); // it dies between two lines of the ledger
    assert_eq!(second.resume(&run("r")).unwrap().drawn, [3], "not the 1 of the copy");
    drop(second);

    let mut first = Ledger::open_witnessed(&folder, &memory).unwrap();
    for error in [
        first.resume(&run("r")).unwrap_err(),
        first.reserve(&run("r"), 0, 1).unwrap_err(),
        first.settle(&run("r"), &[3], RunOutcome::Stopped, false).unwrap_err(),
        first.grant(grant("s", &account, 0.01, 1)).unwrap_err(),
    ] {
        assert!(error.what().contains("somebody continued with another copy"), "{error}");
    }
    assert!(first.book().unwrap().damaged);
}

#[test]
fn a_copy_from_before_its_first_line_was_lost_is_not_gone_on_with() {
    let breakages: [fn(&Path); 3] = [
        |ledger| {
            let mut bytes = fs::read(ledger).unwrap();
            bytes[20] ^= 1;
            fs::write(ledger, bytes).unwrap();
        },
        |ledger| fs::write(ledger, "").unwrap(),
        |ledger| fs::remove_file(ledger).unwrap(),
    ];
    for damage in breakages {
        let place = tempfile::tempdir().unwrap();
        let (folder, memory, account) = remembered(place.path());
        let mut ledger = Ledger::open_witnessed(&folder, &memory).unwrap();
        ledger.grant(grant("r", &account, 0.01, 10)).unwrap();
        drop(ledger);
        let copied = place.path().join("copied");
        copy(&folder, &copied);

        damage(&folder.join("ledger.jsonl"));
        let mut ledger = Ledger::open_witnessed(&folder, &memory).unwrap();
        assert!(ledger.book().unwrap().damaged);
        ledger.repair().unwrap();
        let account = ledger.register(&hospital()).unwrap();
        ledger.accept(&account, "a test").unwrap();
        ledger.set_budget(&account, Budget::new(1.0, 1e-5)).unwrap();
        ledger.grant(grant("s", &account, 0.01, 10)).unwrap();

        let mut ledger = Ledger::open_witnessed(&copied, &memory).unwrap();
        assert!(ledger.book().unwrap().damaged);
        let error = ledger.settle(&run("r"), &[0], RunOutcome::Stopped, false).unwrap_err();
        assert!(error.what().contains("older copy"), "{error}");
    }
}

#[test]
fn two_users_of_one_ledger_do_not_disturb_each_other() {
    let place = tempfile::tempdir().unwrap();
    let (folder, memory, account) = remembered(place.path());
    for turn in 0..4 {
        let memory = if turn % 2 == 0 { memory.clone() } else { place.path().join("other") };
        let mut ledger = Ledger::open_witnessed(&folder, &memory).unwrap();
        ledger.grant(grant(&format!("r{turn}"), &account, 0.01, 1)).unwrap();
    }
    // A death between the line and the note leaves an older note: no harm.
    Ledger::open(&folder).unwrap().grant(grant("s", &account, 0.01, 1)).unwrap();
    let mut ledger = Ledger::open_witnessed(&folder, &memory).unwrap();
    assert!(!ledger.book().unwrap().damaged);
    ledger.grant(grant("t", &account, 0.01, 1)).unwrap();
}

#[test]
fn two_thousand_runs_are_held_against_the_ledger_in_a_moment() {
    let place = tempfile::tempdir().unwrap();
    let (folder, memory, account) = remembered(place.path());
    let mut ledger = Ledger::open_witnessed(&folder, &memory).unwrap();
    let grants: Vec<Grant> =
        (0..2000).map(|it| grant(&format!("r{it}"), &account, 1e-4, 1)).collect();
    ledger.grant_carried(&grants).unwrap();
    let padding = "x".repeat(3000);
    for record in &ledger.book().unwrap().accounts[0].runs {
        let directory = folder.join("runs").join(&record.grant.run.0);
        fs::create_dir_all(&directory).unwrap();
        let certificate = json!({ "ledger_line": record.granted, "statement": padding });
        fs::write(directory.join("certificate.json"), certificate.to_string()).unwrap();
    }
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let glance = time(&mut || assert!(!ledger.book().unwrap().damaged));
    let thorough = time(&mut || assert!(!ledger.examine().unwrap().damaged));
    println!("a glance {glance:?}, every certificate {thorough:?}");
    assert!(glance < Duration::from_secs(1) && thorough < Duration::from_secs(5));
}

// ---- noise that is no secret, and budgets that protect nobody ---------------

#[test]
fn an_account_with_noise_from_a_known_seed_has_no_total_and_goes_on_only_when_that_is_accepted() {
    let old = Old::new();
    for accepted in [false, true] {
        let account = old.account(OURS);
        assert_eq!(account["spent_is"], "none");
        assert!(account["spent"].is_null(), "{account:#}");
        let total = account["total"].as_str().unwrap();
        assert!(total.starts_with("no total: run 20261122-190100-profiled_cnvx_adap-1a8d8f8400 used noise from a known seed"), "{total}");
        assert!(old.succeeds(&["ledger"]).contains("no total: run"));
        let certificate = old.certificate(OURS);
        assert!(certificate["total"].as_str().unwrap().contains("no total"));
        assert!(certificate["totals"][0]["epsilon_at_most"].is_null());
        assert_eq!(account["gaps"][0]["accepted"].is_null(), !accepted);
        if !accepted {
            let said = old.refused(&["run", "session.ron", "--plan", "stay"]);
            assert!(said.contains("known seed") && said.contains("ledger accept"), "{said}");
            let said = old.refused(&["rank", "rank.ron", "--private", "0.1"]);
            assert!(said.contains("known seed"), "{said}");
            old.succeeds(&["ledger", "accept", OURS]);
        }
    }
    old.succeeds(&["run", "session.ron", "--plan", "stay"]);
    assert_eq!(old.account(OURS)["spent_is"], "none");
}

#[test]
fn a_budget_whose_delta_covers_a_record_is_refused_wherever_it_is_given() {
    let old = Old::new();
    // 130 records; δ = 1/130 = 0.0077.
    for delta in ["0.5", "0.0077"] {
        let said = old.refused(&["ledger", "budget", CASES, "0.1", delta]);
        assert!(said.contains("not below 1/n") && said.contains("--allow-large-delta"), "{said}");
    }
    old.succeeds(&["ledger", "budget", CASES, "0.1", "0.0076"]);
    let said = old.refused(&["rank", "rank.ron", "--private", "0.1", "--delta", "0.5"]);
    assert!(said.contains("not below 1/n") && said.contains("--allow-large-delta"), "{said}");

    // A new account, from a session.
    fs::remove_dir_all(old.folder()).unwrap();
    let session = fs::read_to_string(old.work().join("session.ron")).unwrap();
    let with = |budget: &str| {
        let session = session.replace("(epsilon: 6.0, delta: 1e-5)", budget);
        fs::write(old.work().join("large.ron"), session).unwrap();
    };
    with("(epsilon: 0.1, delta: 0.5)");
    let said = old.refused(&["run", "large.ron", "--plan", "ill"]);
    assert!(said.contains("δ = 0.5 is not below 1/n"), "{said}");
    assert!(said.contains("allow_large_delta: true"), "{said}");
    with("(epsilon: 0.1, delta: 0.5, allow_large_delta: true)");
    old.succeeds(&["run", "large.ron", "--plan", "ill"]);
    let said = old.succeeds(&["ledger"]);
    assert!(said.contains("allowed by name (allow_large_delta)"), "{said}");
    assert!(said.contains("not free: δ = 0.5 covers") && said.contains("it is ε"), "{said}");
}

/// A ledger of the first version with this budget.
fn with_old_budget(folder: &Path, delta: &str) {
    let (mut prev, mut text) = ("0".repeat(64), String::new());
    let dataset = r#"{"kind":"dataset","account":"acc-1","dataset":{"name":"hospital","origin":"/data/hospital.csv","content":"c1","view":"v1","rows":200}}"#;
    let budget = format!(
        r#"{{"kind":"budget","account":"acc-1","budget":{{"epsilon":0.1,"delta":{delta}}}}}"#
    );
    for (index, entry) in [dataset, &budget].iter().enumerate() {
        let seq = index + 1;
        let body = format!(
            r#"{{"seq":{seq},"time":"2026-01-01T00:00:00Z","prev":"{prev}","entry":{entry}"#
        );
        let digits = Sha256::digest(&body);
        let digits: Vec<String> = digits.iter().map(|byte| format!("{byte:02x}")).collect();
        prev = digits.concat();
        text.push_str(&[&body, ",\"hash\":\"", &prev, "\"}\n"].concat());
    }
    fs::write(folder.join("ledger.jsonl"), text).unwrap();
    fs::write(folder.join("ledger.head"), format!("2 {prev}\n")).unwrap();
}

#[test]
fn an_old_budget_with_a_large_delta_opens_and_grants_nothing_until_it_is_set_again() {
    let place = tempfile::tempdir().unwrap();
    with_old_budget(place.path(), "0.5");
    let mut ledger = Ledger::open(place.path()).unwrap();
    let account = AccountId("acc-1".to_owned());
    assert!(!ledger.book().unwrap().damaged);
    let error = ledger.grant(grant("r", &account, 0.1, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.what().contains("δ = 0.5 is not below 1/n = 5.00e-3"), "{error}");
    let (id, budget) = (account.0.clone(), "0.1 0.5".to_owned());
    let action = Action::AllowDelta { account: id, budget };
    assert_eq!(error.action(), Some(&action));
    assert!(ledger.grant_carried(&[grant("r", &account, 0.1, 1)]).is_err());

    // A view of two records makes no δ small.
    let small = DatasetRecord { view: "v2".to_owned(), rows: 2, ..hospital() };
    assert_eq!(ledger.register(&small).unwrap(), account);
    let wanted = Budget::new(0.1, 0.4);
    assert_eq!(ledger.set_budget(&account, wanted).unwrap_err().kind(), ErrorKind::Refused);

    ledger.set_budget(&account, Budget { allow_large_delta: true, ..wanted }).unwrap();
    for name in ["r", "s"] {
        ledger.grant(grant(name, &account, 0.1, 1)).unwrap();
    }
    let book = ledger.book().unwrap();
    let account = book.account(&account).unwrap();
    let total = account.total(0.4).unwrap();
    assert_eq!((total.standing, total.epsilon()), (TotalStanding::AtMost, 0.0));
    let remark = total.remark.unwrap();
    assert!(remark.contains("not free: δ = 0.4 covers all of it, and at δ = 1e-6"), "{remark}");
    assert!(account.large_delta().unwrap().contains("allow_large_delta"));
    let certificate = lookup::certificate(account).unwrap();
    assert!(certificate.contains("not below 1/n") && certificate.contains("not free"));
}
