//! Whole programs: rows that the ledger knows are known again in other files, and what is
//! written about private rows does not give them away.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use halflight::data::{Column, Fingerprint};

use crate::program;
use crate::support::Screen;

/// A workspace, and a user of its own.
struct Place {
    directory: tempfile::TempDir,
}

type Row = Vec<String>;

const NAMES: [&str; 8] = ["a", "b", "c", "d", "ward", "visits", "age", "stay"];

/// Rows that no other seed has.
fn rows(seed: u64, count: usize) -> Vec<Row> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut row = || -> Row {
        let mut row: Row = (0..4).map(|_| format!("{:.3}", next(10_000) as f64 / 1e4)).collect();
        row.push(["north", "south", "east"][next(3) as usize].to_owned());
        row.push(next(9).to_string());
        row.push((20 + next(60)).to_string());
        row.push(format!("{:.2}", 1.0 + next(900) as f64 / 100.0));
        row
    };
    (0..count).map(|_| row()).collect()
}

fn csv(names: &[&str], rows: &[Row]) -> String {
    let mut text = names.join(",") + "\n";
    for row in rows {
        writeln!(text, "{}", row.join(",")).unwrap();
    }
    text
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        place.write("private.csv", &csv(&NAMES, &rows(1, 200)));
        place.write("public.csv", &csv(&NAMES, &rows(2, 300)));
        place
    }

    /// A place with a known secret. The secret decides which columns are compared together, and under
    /// about one in a hundred a copy with one edited column is not found.
    fn with_known_secret() -> Self {
        let place = Self::new();
        let secret = place.path("config/halflight/secret");
        fs::create_dir_all(secret.parent().unwrap()).unwrap();
        fs::write(&secret, "5a".repeat(32) + "\n").unwrap();
        #[cfg(unix)]
        fs::set_permissions(secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A session whose only plan is `private` with `public`; `more` is said of the public one.
    fn session(&self, name: &str, private: &str, public: &str, more: &str) -> PathBuf {
        let columns = "columns: only([\"a\", \"b\", \"c\"])";
        let text = format!(
            "(version: 1, datasets: [
              (name: \"ours\", role: private, source: file(\"{private}\"), label: \"stay\", {columns}),
              (name: \"theirs\", role: public, source: file(\"{public}\"), label: \"stay\", {columns}{more}),
            ],
            budgets: {{\"ours\": (epsilon: 9, delta: 1e-4)}},
            plans: [(name: \"stay\", method: \"moment_release\", private: \"ours\", public: [\"theirs\"],
              target: (epsilon: 0.5, delta: 1e-6), preparation: (features: public, labels: public))])"
        );
        self.write(name, &text);
        self.path(name)
    }

    fn halflight(&self, arguments: &[&str]) -> Output {
        self.halflight_at(&self.path("config"), arguments)
    }

    fn halflight_at(&self, config: &Path, arguments: &[&str]) -> Output {
        let mut command = program::halflight();
        command.env("XDG_CONFIG_HOME", config).current_dir(self.directory.path());
        command.env_remove("HALFLIGHT_SECRET_FILE");
        command.args(arguments).output().unwrap()
    }

    fn run(&self, private: &str, public: &str, more: &str) -> Output {
        let session = self.session("session.ron", private, public, more);
        self.halflight(&["run", session.to_str().unwrap()])
    }

    /// Runs of each account.
    fn accounts(&self) -> Vec<usize> {
        let output = self.halflight(&["ledger", "--json"]);
        assert!(output.status.success(), "{}", said(&output));
        let ledger: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let accounts = ledger["accounts"].as_array().unwrap().iter();
        accounts.map(|account| account["runs"].as_array().unwrap().len()).collect()
    }

    /// Everything that is written in the workspace's folder and its runs.
    fn written(&self) -> String {
        fn all(folder: &Path, text: &mut String) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    all(&path, text);
                } else {
                    *text += &String::from_utf8_lossy(&fs::read(&path).unwrap());
                }
            }
        }
        let mut text = String::new();
        all(&self.path(".halflight"), &mut text);
        text
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn refused(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(3), "{}", said(output));
    assert!(said(output).contains(why), "{}", said(output));
}

/// Copies of the private file that hide what it is.
fn copies() -> Vec<(&'static str, String)> {
    let whole = rows(1, 200);
    let without = |at: usize| -> String {
        let rows: Vec<Row> = whole
            .iter()
            .map(|row| {
                row.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, c)| c.clone()).collect()
            })
            .collect();
        let names: Vec<&str> =
            NAMES.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, name)| *name).collect();
        csv(&names, &rows)
    };
    let edited = |edit: &dyn Fn(usize, &mut Row)| {
        let mut rows = whole.clone();
        rows.iter_mut().enumerate().for_each(|(at, row)| edit(at, row));
        rows
    };
    let mut renamed = NAMES;
    renamed[6] = "years";
    let more: Vec<&str> = NAMES.iter().copied().chain(["extra"]).collect();
    let mut shuffled = whole[..150].to_vec();
    shuffled.reverse();
    shuffled.swap(3, 90);
    vec![
        ("a row dropped", csv(&NAMES, &whole[1..])),
        ("half of the rows, in another order", csv(&NAMES, &shuffled)),
        ("a sixth of the rows", csv(&NAMES, &whole[40..75])),
        ("an unused column dropped", without(6)),
        ("an unused column renamed", csv(&renamed, &whole)),
        ("a column added", csv(&more, &edited(&|at, row| row.push(format!("{}", at * 37 % 101))))),
        (
            "a cell edited",
            csv(
                &NAMES,
                &edited(&|at, row| {
                    if at == 7 {
                        "133".clone_into(&mut row[6]);
                    }
                }),
            ),
        ),
        (
            "a column rescaled",
            csv(
                &NAMES,
                &edited(&|_, row| {
                    row[6] = (row[6].parse::<f64>().unwrap() * 12.0).to_string();
                }),
            ),
        ),
    ]
}

#[test]
fn a_changed_copy_of_a_private_file_shares_its_account() {
    for (what, copy) in copies() {
        let place = Place::with_known_secret();
        done(&place.run("private.csv", "public.csv", ""));
        place.write("copy.csv", &copy);
        let output = place.run("copy.csv", "public.csv", "");
        done(&output);
        assert_eq!(place.accounts(), [2], "{what}: {}", said(&output));
        assert!(
            said(&output).contains("what was spent there is spent here"),
            "{what}: {}",
            said(&output)
        );
    }
}

#[test]
fn other_people_have_an_account_of_their_own() {
    let place = Place::new();
    done(&place.run("private.csv", "public.csv", ""));
    place.write("others.csv", &csv(&NAMES, &rows(3, 200)));
    let output = place.run("others.csv", "public.csv", "");
    done(&output);
    assert_eq!(place.accounts(), [1, 1], "{}", said(&output));
}

#[test]
fn private_rows_are_not_public_in_any_copy_unless_somebody_vouches_for_it() {
    let place = Place::with_known_secret();
    done(&place.run("private.csv", "public.csv", ""));
    place.write("others.csv", &csv(&NAMES, &rows(3, 200)));
    // The file itself, by another name.
    fs::copy(place.path("private.csv"), place.path("open.csv")).unwrap();
    refused(&place.run("others.csv", "open.csv", ""), "is declared public and holds rows of");
    for (what, copy) in copies() {
        place.write("copy.csv", &copy);
        let output = place.run("others.csv", "copy.csv", "");
        if copy.starts_with("a,b,c,d,ward,visits,age,stay") {
            refused(&output, "is declared public and holds rows of the private account");
        } else {
            assert!(
                said(&output).contains("holds rows of the private account"),
                "{what}: {}",
                said(&output)
            );
        }
    }
    // How many is for open eyes alone.
    place.write("copy.csv", &csv(&NAMES, &rows(1, 200)[1..]));
    let open = place.run("others.csv", "copy.csv", "");
    assert!(said(&open).contains("about 199 ◆"), "{}", said(&open));
    let session = place.session("session.ron", "others.csv", "copy.csv", "");
    let sealed = place.halflight(&["run", session.to_str().unwrap(), "--sealed"]);
    refused(&sealed, "holds rows of the private account");
    assert!(!said(&sealed).contains("about 199"), "{}", said(&sealed));
    assert_eq!(place.accounts(), [1], "nothing was spent");

    let vouched = place.run("others.csv", "copy.csv", ", declared_public: true");
    done(&vouched);
    assert!(said(&vouched).contains("was declared public by hand"), "{}", said(&vouched));
    let run = fs::read_dir(place.path(".halflight/runs")).unwrap().flatten().map(|run| run.path());
    let certificates = run.map(|run| fs::read_to_string(run.join("certificate.json")).unwrap());
    let repeated = certificates.filter(|it| it.contains("was declared public by hand")).count();
    assert_eq!(repeated, 1, "one of two certificates says so");
}

/// Every command that reads a public dataset refuses it or shows it as a private one.
#[test]
fn a_file_that_the_ledger_knows_as_private_is_shown_as_public_by_no_command() {
    let place = Place::with_known_secret();
    done(&place.run("private.csv", "public.csv", ""));
    let run = fs::read_dir(place.path(".halflight/runs")).unwrap().flatten().next().unwrap();
    let run = run.path().display().to_string();
    let others = csv(&NAMES, &rows(3, 200));
    place.write("others.csv", &others);
    let hidden = ["half of the rows, in another order", "a column added"];
    let mut files: Vec<(&str, String)> =
        copies().into_iter().filter(|(what, _)| hidden.contains(what)).collect();
    files.push(("the file itself", csv(&NAMES, &rows(1, 200))));
    assert_eq!(files.len(), 3);
    for (what, text) in &files {
        place.write("copy.csv", text);
        place.session("s.ron", "others.csv", "copy.csv", "");
        for arguments in [
            &["data", "inspect", "s.ron"][..],
            &["data", "inspect", "others.csv", "--public", "copy.csv"],
            &["predict", &run, "s.ron", "--dataset", "theirs"],
            &["rank", "s.ron"],
            &["rehearse", "s.ron"],
            &["run", "s.ron"],
            &["run", "s.ron", "--dry-run"],
            &["sweep", "s.ron", "--over", "epsilon=0.2,0.3", "--dry-run"],
            &["audit", "s.ron", "--quick"],
        ] {
            let output = place.halflight(arguments);
            let told = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
            let known = told.contains("holds rows of the private account acc-");
            assert!(known && told.contains("('ours')"), "{what}, {arguments:?}: {told}");
            // The ranges of its columns would begin and end with cells of the file.
            let mut cells: Vec<&str> = text.lines().filter_map(|it| it.split(',').next()).collect();
            cells.retain(|cell| cell.len() == 5 && !others.contains(*cell));
            assert!(cells.len() > 60);
            let cell = cells.iter().find(|cell| told.contains(**cell));
            assert_eq!(cell, None, "{what}, {arguments:?}: {told}");
        }
        // Nothing exact is in what may be passed on.
        for arguments in [
            &["data", "inspect", "s.ron", "--json"][..],
            &["data", "inspect", "others.csv", "--public", "copy.csv", "--json"],
        ] {
            let json = place.halflight(arguments);
            let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
            let tables = json["tables"].as_array().unwrap();
            let exact = tables.iter().filter(|it| it.get("duplicated_rows").is_some()).count();
            assert_eq!((tables.len(), exact), (2, 0), "{what}: {json}");
            // Remarks and what a plan clips count cells, too.
            assert_eq!(tables[1]["warnings"], serde_json::json!([]), "{what}: {json}");
            let mut plans = json["plans"].as_array().unwrap().iter();
            assert!(plans.all(|it| it["clipped"].is_null() && it["problem"].is_string()), "{json}");
        }
        // Whoever wants to see values opens it as private: the ledger notes that.
        let asked = ["data", "inspect", "s.ron", "--json", "--include-curator", "--show-values"];
        let json = place.halflight(&asked);
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        let profiles =
            |at: usize| json["tables"][at]["columns"].to_string().matches("profile").count();
        assert!(profiles(0) > 0 && profiles(1) == 0, "{what}: {json}");
    }
    // A few rows are as for a plan: perhaps by chance. Whoever vouches for a file sees it.
    let shown = |more: &str| {
        place.session("s.ron", "others.csv", "copy.csv", more);
        let json = place.halflight(&["data", "inspect", "s.ron", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        json["tables"][1]["columns"][0].get("profile").is_some()
    };
    assert!(!shown("") && shown(", declared_public: true"));
    let few = [rows(1, 5), rows(7, 300)].concat();
    place.write("copy.csv", &csv(&NAMES, &few));
    assert!(shown(""));
}

/// The interface hides it as soon as it is open, and says why and what to do.
#[test]
fn a_file_that_the_ledger_knows_as_private_shows_no_row_on_any_screen() {
    let place = Place::with_known_secret();
    done(&place.run("private.csv", "public.csv", ""));
    let private = csv(&NAMES, &rows(1, 200));
    place.write("copy.csv", &private);
    let cells: Vec<&str> = private.lines().skip(1).filter_map(|it| it.split(',').next()).collect();
    // Also where no dataset of the session is private.
    let alone = "(version: 1, datasets: [(name: \"theirs\", role: public, \
                 source: file(\"copy.csv\"), label: \"stay\")])";
    place.write("alone.ron", alone);
    place.write("others.csv", &csv(&NAMES, &rows(3, 200)));
    place.session("both.ron", "others.csv", "copy.csv", "");
    for session in ["alone.ron", "both.ron"] {
        let mut screen = Screen::start(place.directory.path(), &[session], 120, 36);
        screen.wait_for("hidden");
        if session == "both.ron" {
            screen.press("\x1b[B");
        }
        screen.wait_for("Its rows stay hidden");
        let text = screen.text().replace('│', " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("('ours')") && text.contains("declare 'theirs' private"), "{text}");
        for keys in ["o", "D", "Y", "\x1b", "2", "3", "1", "\t", "\t", "z"] {
            screen.press(keys);
            std::thread::sleep(std::time::Duration::from_millis(100));
            let text = screen.text();
            let cell = cells.iter().find(|cell| text.contains(**cell));
            assert_eq!(cell, None, "{session} {keys:?}: {text}");
            assert!(!text.contains('▇'), "{session} {keys:?}: {text}");
        }
    }
}

#[test]
fn rows_on_both_sides_of_one_plan_are_refused_in_any_copy() {
    let place = Place::new();
    place.write("copy.csv", &csv(&NAMES, &rows(1, 200)[1..]));
    refused(
        &place.run("private.csv", "copy.csv", ""),
        "rows that are private in 'ours': about 199 ◆",
    );
    // Hidden among many others, with a column more.
    let mut names = NAMES.to_vec();
    names.push("extra");
    let mut many = rows(4, 3000);
    many.extend(rows(1, 200));
    many.iter_mut().enumerate().for_each(|(at, row)| row.push((at * 7919 % 3001).to_string()));
    place.write("copy.csv", &csv(&names, &many));
    refused(&place.run("private.csv", "copy.csv", ""), "rows that are private in 'ours'");
    assert!(!place.path(".halflight/ledger.jsonl").exists(), "nothing was spent");
}

/// Whoever knows all rows but one label, and the file, tries every label.
#[test]
fn what_is_written_does_not_give_the_missing_label_away() {
    let place = Place::new();
    let session = place.session("session.ron", "private.csv", "public.csv", "");
    let run = place.halflight(&["run", session.to_str().unwrap()]);
    done(&run);
    let written = place.written();
    assert!(written.contains("hmac-sha256:"));
    assert!(!written.contains("sha256-sum:"), "a plain fingerprint");
    let known = rows(1, 200);
    for cents in 0..1000 {
        let mut guess = known.clone();
        guess[199][7] = format!("{:.2}", 1.0 + f64::from(cents) / 100.0);
        let column = |at: usize| Column::Text(guess.iter().map(|row| row[at].clone()).collect());
        let names: Vec<String> = NAMES.iter().map(|&name| name.to_owned()).collect();
        let columns: Vec<Column> = (0..8).map(column).collect();
        let sum = Fingerprint::of(&names, &columns).to_string();
        let digits = sum.split(':').nth(1).unwrap();
        assert!(!written.contains(digits), "the label is found: {}", guess[199][7]);
    }
    // What is only there to resume a run goes with its end.
    assert!(!written.contains("\"steps\":"), "resume.json stays");
}

#[test]
fn a_lost_secret_is_said_and_gone_on_without_only_by_hand() {
    let place = Place::new();
    done(&place.run("private.csv", "public.csv", ""));
    let secret = place.path("config/halflight/secret");
    let kept = fs::read(&secret).unwrap();
    fs::remove_file(&secret).unwrap();
    place.write("others.csv", &csv(&NAMES, &rows(3, 200)));
    let output = place.run("others.csv", "public.csv", "");
    refused(&output, "under another secret");
    assert!(
        said(&output).contains("HALFLIGHT_SECRET_FILE")
            && said(&output).contains(secret.to_str().unwrap())
    );
    let key = said(&output).split("under another secret (").nth(1).unwrap()[..16].to_owned();
    assert!(key.starts_with("key-"), "{key}");
    // A backup mends it, wherever it lies.
    fs::write(place.path("backup"), &kept).unwrap();
    #[cfg(unix)]
    fs::set_permissions(place.path("backup"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let session = place.session("session.ron", "others.csv", "public.csv", "");
    let mut command = program::halflight();
    command.env("XDG_CONFIG_HOME", place.path("config")).current_dir(place.directory.path());
    command.env("HALFLIGHT_SECRET_FILE", place.path("backup"));
    done(&command.args(["run", session.to_str().unwrap()]).output().unwrap());
    // Without one the past of what comes later is unknown.
    done(&place.halflight(&["ledger", "accept", &key]));
    place.write("more.csv", &csv(&NAMES, &rows(5, 200)));
    let output = place.run("more.csv", "public.csv", "");
    refused(&output, "ledger accept acc-");
}

#[cfg(unix)]
#[test]
fn two_workspaces_of_one_user_know_a_file_by_the_same_name_and_another_user_does_not() {
    let place = Place::new();
    done(&place.run("private.csv", "public.csv", ""));
    let name_of = |text: &str| {
        let at = text.find("hmac-sha256:").unwrap();
        text[at..at + 76].to_owned()
    };
    let first = name_of(&fs::read_to_string(place.path(".halflight/ledger.jsonl")).unwrap());
    let elsewhere = |config: &Path| {
        let other = Place::new();
        let session = other.session("session.ron", "private.csv", "public.csv", "");
        done(&other.halflight_at(config, &["run", session.to_str().unwrap()]));
        name_of(&fs::read_to_string(other.path(".halflight/ledger.jsonl")).unwrap())
    };
    assert_eq!(elsewhere(&place.path("config")), first);
    assert_ne!(elsewhere(&place.path("config2")), first);
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

#[test]
fn an_old_ledger_is_read_as_it_is_and_rewritten_by_the_first_change() {
    let place = Place { directory: tempfile::tempdir().unwrap() };
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
    copied(&old, place.directory.path());
    let ledger = place.path(".halflight/ledger.jsonl");
    let before = fs::read_to_string(&ledger).unwrap();
    let accounts = place.accounts();
    assert_eq!(fs::read_to_string(&ledger).unwrap(), before, "a look changes nothing");
    let shown = place.halflight(&["ledger"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let assumed = "assume that the order of the rows in the private file did not depend on what";
    assert!(shown.contains(assumed), "{shown}");

    let output = place.halflight(&["run", "session.ron", "--plan", "ill"]);
    done(&output);
    let after = fs::read_to_string(&ledger).unwrap();
    let first = after.lines().next().unwrap();
    assert!(first.contains("\"kind\":\"rewritten\"") && first.contains("\"lines\":82"), "{first}");
    let head = before.lines().last().unwrap();
    let head = head.split("\"hash\":\"").nth(1).unwrap().trim_end_matches("\"}");
    assert!(first.contains(head), "the old chain's end is named");
    // The same accounts, and the new runs on the old ones.
    let now = place.accounts();
    assert_eq!(now.len(), accounts.len(), "{}", said(&output));
    assert!(now.iter().sum::<usize>() > accounts.iter().sum());
    done(&place.halflight(&["ledger", "verify"]));
    let written = place.written();
    let digits = "05b8acde5e537b7f37cd82d7684c726b2ac758648de19d27bd7066e9097d9aff";
    assert!(!written.contains(digits), "the plain fingerprint of private rows is still there");
    // A copy of the old one is not gone on with: the user's programs know better.
    let (new, new_head) = (fs::read(&ledger).unwrap(), place.path(".halflight/ledger.head"));
    let kept = fs::read(&new_head).unwrap();
    copied(&old.join(".halflight"), &place.path(".halflight"));
    let copy = place.halflight(&["ledger", "budget", "acc-a0bf94018a", "9", "1e-5"]);
    assert!(!copy.status.success(), "the old copy is taken for the ledger");
    fs::write(&ledger, new).unwrap();
    fs::write(&new_head, kept).unwrap();
    done(&place.halflight(&["ledger", "verify"]));
    // Every entry is there as it was, but for names and hashes.
    let entry = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        (value["time"].clone(), value["entry"]["kind"].clone(), value["entry"]["events"].clone())
    };
    let kept: Vec<_> = after.lines().skip(1).take(82).map(entry).collect();
    assert_eq!(kept, before.lines().map(entry).collect::<Vec<_>>());
}

/// The rename of the new ledger is the one moment that counts.
#[test]
fn a_rewriting_that_is_killed_leaves_a_ledger_that_fits_together() {
    let place = Place { directory: tempfile::tempdir().unwrap() };
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/written_by_0_1");
    copied(&old, place.directory.path());
    let head = place.path(".halflight/ledger.head");
    let before = fs::read(&head).unwrap();
    let key = "acc-a0bf94018a";
    done(&place.halflight(&["ledger", "budget", key, "5", "1e-5"]));
    // Back to the moment between the two renames: the new lines, without the budget's, under
    // the old head.
    let ledger = place.path(".halflight/ledger.jsonl");
    let text = fs::read_to_string(&ledger).unwrap();
    let rewritten: String = text.split_inclusive('\n').take(83).collect();
    fs::write(&ledger, &rewritten).unwrap();
    fs::write(&head, &before).unwrap();
    // At that moment nobody remembered the new ledger.
    fs::remove_dir_all(place.path("config/halflight/ledgers")).unwrap();
    let shown = place.halflight(&["ledger", "verify"]);
    done(&shown);
    done(&place.halflight(&["ledger", "budget", key, "6", "1e-5"]));
    assert_eq!(fs::read_to_string(&ledger).unwrap().lines().count(), 84);
    done(&place.halflight(&["ledger", "verify"]));
    // A line less is damage, as it was before.
    let short: String = rewritten.split_inclusive('\n').take(82).collect();
    fs::write(&ledger, &short).unwrap();
    fs::write(&head, &before).unwrap();
    assert_eq!(place.halflight(&["ledger", "verify"]).status.code(), Some(1));
}
