//! Neighbouring tables, whose records may be anywhere in the file, through whole commands.
//!
//! Mechanisms are blind here (`src/dp/blind.rs`): nothing that they release depends on the private
//! records. So everything that somebody else may see has to be the same for two neighbours, byte
//! for byte: results, files, their names and lengths, errors, exit codes. Only times and random
//! names are covered first.
//!
//! `HALFLIGHT_HARNESS=long` compares every command on every pair of neighbours; otherwise each
//! command sees some of them. In builds with the feature `planted-faults`, private facts get out on
//! purpose, and every such leak must be found.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use halflight::faults::Fault;
use halflight::methods;

use crate::program;

const PRIVATE: usize = 150;

/// A table: its lines without the header.
type Lines = Vec<String>;

/// Records in the order of their label, as exports often are. No two of different shifts are alike.
fn lines(count: usize, shift: usize) -> Lines {
    let mut rows: Vec<(f64, String)> = (0..count)
        .map(|i| {
            let a = ((i * 37 + 11 * shift) % 101) as f64 / 10.0 + shift as f64 / 1000.0;
            let b = ((i * 53 + 7 * shift) % 89) as f64 / 10.0;
            let y = (3.0 * a - b + ((i * 29 + shift) % 17) as f64).round() / 2.0;
            let class = u8::from(a > b);
            let kind = ["red", "green", "blue"][i % 3];
            (y, format!("p{shift}x{},{a},{b},{kind},{y},{class}", i / 3))
        })
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    rows.into_iter().map(|(_, line)| line).collect()
}

fn csv(lines: &[String]) -> String {
    let mut text = "who,a,b,kind,y,class\n".to_owned();
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Tables that differ from `all` in one record, or in the records of one person.
fn neighbours(all: &Lines, public: &Lines, persons: bool) -> Vec<(&'static str, Lines)> {
    let with = |change: &dyn Fn(&mut Lines)| {
        let mut lines = all.clone();
        change(&mut lines);
        lines
    };
    let elsewhere = "pnew,9.9,0.1,red,99,1".to_owned();
    if persons {
        let first = all[0].split(',').next().unwrap().to_owned();
        let own = |line: &String| line.starts_with(&format!("{first},"));
        return vec![
            (
                "another person, with one record at the end",
                with(&|lines| {
                    lines.retain(|line| !own(line));
                    lines.push(elsewhere.clone());
                }),
            ),
            (
                "another person, with many records in the middle",
                with(&|lines| {
                    lines.retain(|line| !own(line));
                    for i in 0..40 {
                        let at = (i * 2) % lines.len();
                        lines.insert(at, format!("pnew,{},0.5,blue,{},0", i % 7, i % 5));
                    }
                }),
            ),
            (
                "a person without a usable record",
                with(&|lines| {
                    lines.retain(|line| !own(line));
                    lines.insert(3, "pnew,?,?,?,?,?".to_owned());
                }),
            ),
        ];
    }
    vec![
        (
            "the first record becomes one at the end",
            with(&|lines| {
                lines.remove(0);
                lines.push(elsewhere.clone());
            }),
        ),
        (
            "the last record becomes one at the beginning",
            with(&|lines| {
                lines.pop();
                lines.insert(0, "pnew,0.1,8.0,green,-40,0".to_owned());
            }),
        ),
        ("a record of words", with(&|lines| lines[40] = "one,two,three,four,five,six".into())),
        ("a record with too few cells", with(&|lines| lines[41] = "p1,3".into())),
        ("a record with too many cells", with(&|lines| lines[2] = "p1,3,1,red,2,1,7,7,7".into())),
        ("an open quotation mark", with(&|lines| lines[7] = "\"p1,3,1,red,2,1".into())),
        (
            "a long and huge record",
            with(&|lines| {
                lines[11] = format!("p1,1e300,-1e300,{},1e308,1", "x".repeat(5000));
            }),
        ),
        ("an empty record", with(&|lines| lines[12] = ",,,,,".into())),
        ("a copy of another record", with(&|lines| lines[30] = lines[31].clone())),
        ("a public record", with(&|lines| lines[50].clone_from(&public[5]))),
        ("all records in another order", with(&|lines| lines.reverse())),
    ]
}

/// One folder for all tables, for files name each other by their paths.
struct Place {
    top: tempfile::TempDir,
    unit: &'static str,
    /// The fault in every program that works here.
    planted: Option<Fault>,
}

/// What others may see, by name.
type Seen = BTreeMap<String, Vec<u8>>;

impl Place {
    fn new(unit: &'static str) -> Self {
        Self { top: tempfile::tempdir().unwrap(), unit, planted: None }
    }

    fn at(&self) -> PathBuf {
        self.top.path().join("work")
    }

    /// A new workspace with this private table and a session with this plan.
    fn lay(&self, private: &Lines, plans: &str) {
        let at = self.at();
        let _ = fs::remove_dir_all(&at);
        self.forget();
        fs::create_dir_all(&at).unwrap();
        let write = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
        write("ours.csv", &csv(private));
        write("theirs.csv", &csv(&lines(150, 3)));
        write("others.csv", &csv(&lines(150, 4)));
        write("test.csv", &csv(&lines(100, 7)));
        let y = "label: \"y\", columns: only([\"a\", \"b\", \"kind\"])";
        let class = "label: \"class\", task: classification, classes: [\"0\", \"1\"], \
                     columns: only([\"a\", \"b\"])";
        let mut datasets = String::new();
        let budgets = ["ours", "ours_k", "test", "test_k"]
            .map(|name| format!("\"{name}\": (epsilon: 50.0, delta: 1e-3),"))
            .concat();
        for (kind, about) in [("", y), ("_k", class)] {
            let unit = self.unit;
            let _ = write!(
                datasets,
                "(name: \"ours{kind}\", role: private, source: file(\"ours.csv\"), {about}{unit}),
                 (name: \"test{kind}\", role: private, source: file(\"test.csv\"), {about}{unit}),
                 (name: \"theirs{kind}\", role: public, source: file(\"theirs.csv\"), {about}),
                 (name: \"others{kind}\", role: public, source: file(\"others.csv\"), {about}),"
            );
        }
        write(
            "s.ron",
            &format!(
                "(version: 1, datasets: [{datasets}], plans: [{plans}],
                  budgets: {{{budgets}}},
                  ranking: (private: \"ours\", public: [\"theirs\", \"others\"], 
                    settings: (repeats: 2, batch: 40)))"
            ),
        );
        write("ranking.ron", &fs::read_to_string(at.join("s.ron")).unwrap());
    }

    /// Removes what runs left behind.
    fn forget(&self) {
        let _ = fs::remove_dir_all(self.at().join(".halflight"));
        let _ = fs::remove_dir_all(self.top.path().join("config/halflight/ledgers"));
    }

    fn call(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::halflight();
        command.args(arguments).current_dir(self.at()).env("HALFLIGHT_BLIND", "1");
        command.env("XDG_CONFIG_HOME", self.top.path().join("config"));
        command.env("HALFLIGHT_SECRET_FILE", program::secret());
        command.env("TZ", "UTC");
        command.envs(self.planted.map(|fault| ("HALFLIGHT_PLANTED", format!("{fault:?}"))));
        command
    }

    /// Calls a command; all that it prints is seen.
    fn seen(&self, seen: &mut Seen, arguments: &[&str]) -> Output {
        let output = self.call(arguments);
        self.printed(seen, arguments, &output);
        output
    }

    fn printed(&self, seen: &mut Seen, arguments: &[&str], output: &Output) {
        let name = covered(&self.at(), arguments.join(" ").as_bytes());
        let name = String::from_utf8_lossy(&name).into_owned();
        seen.insert(format!("{name}: exit code"), format!("{:?}", output.status.code()).into());
        seen.insert(format!("{name}: output"), covered(&self.at(), &output.stdout));
        seen.insert(format!("{name}: messages"), covered(&self.at(), &output.stderr));
    }

    /// The files in a folder that may be handed on.
    fn files(&self, seen: &mut Seen, folder: &Path, what: &str) {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().map(|it| it.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                self.files(seen, &path, what);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let name = String::from_utf8_lossy(&covered(&self.at(), name.as_bytes())).into_owned();
            let bytes = fs::read(&path).unwrap();
            let permissions = fs::metadata(&path).unwrap().permissions();
            seen.insert(format!("{what}/{name}"), covered(&self.at(), &bytes));
            seen.insert(format!("{what}/{name}: permissions"), format!("{permissions:?}").into());
        }
    }

    /// A run with this plan, and everything that can be made of it for others.
    fn run(&self, seen: &mut Seen) {
        let output = self.seen(seen, &["run", "s.ron", "--sealed", "--json"]);
        must_succeed(seen, &output);
        for run in self.runs() {
            self.made_of(seen, &run);
        }
    }

    /// The run directories, in the order of their names.
    fn runs(&self) -> Vec<String> {
        let folder = fs::read_dir(self.at().join(".halflight/runs"));
        let runs = folder.into_iter().flatten().map(|it| it.unwrap().path());
        let mut runs: Vec<String> = runs.map(|path| path.display().to_string()).collect();
        runs.sort();
        runs
    }

    fn made_of(&self, seen: &mut Seen, run: &str) {
        self.seen(seen, &["share", run, "--into", "out", "--json"]);
        self.files(seen, &self.at().join("out"), "shared");
        self.seen(seen, &["report", run, "-o", "r.html", "--csv", "r.csv", "--force"]);
        self.seen(seen, &["export", run, "-o", "m.onnx", "--force"]);
        self.seen(seen, &["predict", run, "theirs.csv", "--public", "-o", "p.csv", "--force"]);
        for file in ["r.html", "r.csv", "m.onnx", "p.csv"] {
            let bytes = fs::read(self.at().join(file)).unwrap_or_default();
            seen.insert(file.to_owned(), covered(&self.at(), &bytes));
        }
        let certificate = format!("{run}/certificate.json");
        self.seen(seen, &["verify", &certificate]);
        let _ = fs::remove_dir_all(self.at().join("out"));
    }
}

/// A private ranking by this mechanism, and a run after it.
fn ranked(mechanism: &str) -> impl Fn(&Place, &mut Seen) {
    move |place, seen| {
        let mut arguments = vec!["rank", "s.ron", "--private", "1", "--delta", "1e-4"];
        arguments.extend(["--mechanism", mechanism, "--json"]);
        let output = place.call(&arguments);
        must_succeed(seen, &output);
        // In an open view, messages are for the curator alone.
        seen.insert("ranking".to_owned(), covered(&place.at(), &output.stdout));
        place.files(seen, &place.at().join(".halflight/rankings"), "rankings");
        place.run(seen);
    }
}

/// The key of a command that failed and should not.
const FAILED: &str = "failed";

/// Notes a failure, which may be what others can tell tables apart by.
fn must_succeed(seen: &mut Seen, output: &Output) {
    if !output.status.success() {
        seen.insert(FAILED.to_owned(), output.stderr.clone());
    }
}

/// Covers what is random or a time, and nothing beside it: the times and random letters in names
/// of runs, names of accounts, and how long something took.
fn covered(at: &Path, bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let text = text.replace(&at.display().to_string(), "DIR");
    let mut out = String::new();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let account = ["acc-", "alias-"].into_iter().find_map(|kind| word.strip_prefix(kind));
        if let Some(name) = run_without_time(word) {
            out.push_str(&name);
            rest = after;
        } else if let Some(after) = after_time(rest) {
            out.push_str("TIME");
            rest = after;
        } else if let Some(name) = account {
            out.push_str("ACC");
            out.push_str(name.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()));
            rest = after;
        } else if let Some(after) = after_duration(rest, out.ends_with("\"seconds\": ")) {
            out.push_str("DURATION");
            rest = after;
        } else {
            out.push_str(word);
            let next = after.chars().next().map_or(0, char::len_utf8);
            out.push_str(&after[..next]);
            rest = &after[next..];
        }
    }
    out.into_bytes()
}

/// The name of a run without its time and its random letters: the method and the number within
/// the process stay, and whatever else is in it.
fn run_without_time(word: &str) -> Option<String> {
    let parts: Vec<&str> = word.split('-').collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let [date, time, more @ ..] = &parts[..] else { return None };
    if !(date.len() == 8 && digits(date) && time.len() == 6 && digits(time)) {
        return None;
    }
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let [process] = more
        && process.len() == 4
        && letters(process)
    {
        return Some("RUN-RANDOM".to_owned()); // a sweep
    }
    let is_random = |part: &str| part.len() == 10 && letters(part);
    let more = more.iter().map(|part| {
        if is_random(part) { format!("-RANDOM{}", &part[8..]) } else { format!("-{part}") }
    });
    Some(format!("RUN{}", more.collect::<String>()))
}

/// What follows a time at the beginning of a text, such as `2026-11-25`, `2026-11-25 14:03:07` or
/// `2026-11-25T14:03:07.5Z`.
fn after_time(text: &str) -> Option<&str> {
    let fits = |text: &str, form: &str| {
        let fits = |(byte, form): (u8, u8)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        };
        text.len() >= form.len() && text.bytes().zip(form.bytes()).all(fits)
    };
    if !fits(text, "0000-00-00") {
        return None;
    }
    let after = &text[10..];
    if !fits(after, " 00:00") && !fits(after, "T00:00") {
        return Some(after);
    }
    let clock = after[1..].trim_start_matches(|it: char| it.is_ascii_digit() || ":.".contains(it));
    Some(clock.strip_prefix('Z').unwrap_or(clock))
}

/// What follows a duration at the beginning of a text, such as `1.25 s`, or a plain number of
/// `seconds`.
fn after_duration(text: &str, seconds: bool) -> Option<&str> {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, after) = text.split_at(text.find(|it| !is_number(it)).unwrap_or(text.len()));
    let number = !number.is_empty() && !number.starts_with('.');
    if seconds {
        return Some(after).filter(|_| number);
    }
    ["\u{a0}s", " s", " ms", " µs", " min"].iter().find_map(|unit| {
        let after = after.strip_prefix(unit)?;
        (number && !after.starts_with(|it: char| it.is_alphanumeric())).then_some(after)
    })
}

#[test]
fn times_and_random_letters_are_covered_and_nothing_beside_them() {
    let digest = "5e".repeat(32);
    for (said, seen) in [
        ("20261125-140307-target_only-12ab34cd00", "RUN-target_only-RANDOM00"),
        ("20261125-140307-target_only-12ab34cd00-149.json", "RUN-target_only-RANDOM00-149.json"),
        ("sweeps/20261125-140307-12ab", "sweeps/RUN-RANDOM"),
        ("on 2026-11-25, 2026-11-25 14:03:07 and 2026-11-25T14:03:07.5Z", "on TIME, TIME and TIME"),
        ("2026-11-25 149 rows, 2026-11-25-149", "TIME 149 rows, TIME-149"),
        ("acc-0123456789, alias-0123456789-149", "ACC, ACC-149"),
        ("in 1.25 s of 149", "in DURATION of 149"),
        (&*digest, &*digest),
    ] {
        let found = covered(Path::new("/nowhere"), said.as_bytes());
        assert_eq!(String::from_utf8(found).unwrap(), seen);
    }
}

/// The first difference between what is seen of two tables, if there is one.
fn difference(one: &Seen, other: &Seen) -> Option<String> {
    let both = one.iter().filter_map(|(name, a)| Some((name, a, other.get(name)?)));
    let content = both.into_iter().find(|(_, a, b)| a != b).map(|(name, a, b)| {
        let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
        let near = |bytes: &[u8]| {
            let from = at.saturating_sub(120);
            String::from_utf8_lossy(&bytes[from..bytes.len().min(at + 120)]).into_owned()
        };
        format!("{name}, byte {at} of {} and {}:\n  {}\n  {}", a.len(), b.len(), near(a), near(b))
    });
    content.or_else(|| {
        let only = |a: &Seen, b: &Seen| -> Vec<String> {
            a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
        };
        let (only_one, only_other) = (only(one, other), only(other, one));
        let same = only_one.is_empty() && only_other.is_empty();
        (!same).then(|| format!("files: {only_one:?} and {only_other:?}"))
    })
}

fn is_long() -> bool {
    std::env::var("HALFLIGHT_HARNESS").is_ok_and(|it| it == "long")
}

/// Compares what `look` sees of a table with what it sees of its neighbours: of all of them in the
/// long form, otherwise of every `stride`th from `first` on.
fn compare(
    unit: &'static str,
    plans: &str,
    (first, stride): (usize, usize),
    look: &dyn Fn(&Place, &mut Seen),
) {
    let chosen = |number: usize| is_long() || number % stride == first % stride;
    if let Some((name, found)) = told_apart(&Place::new(unit), plans, &chosen, look) {
        panic!("{name}: others can tell ({plans})\n{found}");
    }
}

/// The first of the chosen neighbours that others can tell from the table, and by what.
fn told_apart(
    place: &Place,
    plans: &str,
    chosen: &dyn Fn(usize) -> bool,
    look: &dyn Fn(&Place, &mut Seen),
) -> Option<(&'static str, String)> {
    let (base, public) = (lines(PRIVATE, 1), lines(150, 3));
    let see = |table: &Lines| {
        let mut seen = Seen::new();
        place.lay(table, plans);
        look(place, &mut seen);
        seen
    };
    let everybody = see(&base);
    assert!(everybody.values().any(|it| !it.is_empty()));
    if let Some(why) = everybody.get(FAILED) {
        panic!("{}", String::from_utf8_lossy(why));
    }
    let all = neighbours(&base, &public, !place.unit.is_empty());
    let mut all = all.iter().enumerate().filter(|(number, _)| chosen(*number));
    all.find_map(|(_, (name, table))| Some((*name, difference(&everybody, &see(table))?)))
}

const PERSONS: &str = ", unit: \"who\", most_records: 4";

fn plan(name: &str, method: &str, kind: &str, more: &str) -> String {
    format!(
        "(name: \"{name}\", method: \"{method}\", private: \"ours{kind}\",
          public: [\"theirs{kind}\"], target: (epsilon: 1.0, delta: 1e-4){more}),"
    )
}

#[test]
fn a_run_of_any_method_shows_others_nothing_but_its_releases() {
    for (number, method) in methods::methods().iter().enumerate() {
        let spec = method.spec();
        let kind = if spec.task == halflight::data::Task::Classification { "_k" } else { "" };
        let scored = method.spec().covers_scores && spec.needs_private_labels;
        let score = if scored { ", evaluation: ()" } else { "" };
        let plans = plan("p", spec.id, kind, &format!(", holdout: 0.3{score}"));
        compare("", &plans, (number, 6), &Place::run);
        let plans = plan("p", spec.id, kind, &format!(", holdout: 0.5{score}"));
        compare(PERSONS, &plans, (number, 3), &Place::run);
    }
}

#[test]
fn a_part_of_the_records_a_sample_and_a_hidden_number_show_others_nothing() {
    let plans = plan("p", "target_only", "", ", holdout: 0.3, private_records: 40, evaluation: ()");
    compare("", &plans, (0, 4), &Place::run);
    let plans = plan("p", "target_only", "", ", holdout: 0.3, evaluation: ()");
    compare(", sample: (rows: 120)", &plans, (1, 4), &Place::run);
    compare(", records: 180", &plans, (2, 4), &Place::run);
    let plans = plan("p", "target_only", "", ", holdout: 0.5, private_records: 21");
    compare(", unit: \"who\", sample: (rows: 44)", &plans, (1, 3), &Place::run);
}

#[test]
fn private_rankings_show_others_nothing_but_their_releases() {
    let mechanisms = ["errors", "permute-and-flip", "exponential", "table", "direction"];
    for (number, mechanism) in mechanisms.iter().enumerate() {
        let plans = plan("p", "target_only", "", "");
        compare("", &plans, (number, 5), &ranked(mechanism));
        compare(PERSONS, &plans, (number, 3), &ranked(mechanism));
    }
}

#[test]
fn scores_choices_counts_and_sweeps_show_others_nothing_but_their_releases() {
    let scores = |place: &Place, seen: &mut Seen| {
        place.run(seen);
        let run = place.runs().remove(0);
        for data in [&[][..], &["s.ron", "--dataset", "test"]] {
            let mut arguments = vec!["score", &run];
            arguments.extend(data);
            arguments.extend(["--epsilon", "1", "--largest-error", "50", "--json"]);
            let output = place.seen(seen, &arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    };
    let plans = plan("p", "target_only", "", ", holdout: 0.3, private_records: 40");
    compare("", &plans, (0, 4), &scores);
    let plans = plan("p", "target_only", "", ", holdout: 0.5");
    compare(PERSONS, &plans, (0, 3), &scores);

    for (number, way) in ["all", "repeats"].iter().enumerate() {
        let choices = |place: &Place, seen: &mut Seen| {
            let asked = ["choose", "s.ron", "--epsilon", "2", "--delta", "1e-4", "--way", way];
            let output = place.call(&[&asked[..], &["--json"]].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            seen.insert("choice".to_owned(), covered(&place.at(), &output.stdout));
            let run = place.runs().remove(0);
            place.made_of(seen, &run);
        };
        let plans = ["target_only", "public_shape"]
            .map(|method| plan(method, method, "", ", holdout: 0.3, private_records: 40"));
        compare("", &plans.concat(), (number, 5), &choices);
    }

    let counts = |place: &Place, seen: &mut Seen| {
        let count = ["data", "count", "s.ron", "--dataset", "ours", "--epsilon", "1", "--json"];
        let output = place.call(&count);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        seen.insert("count".to_owned(), covered(&place.at(), &output.stdout));
    };
    compare("", "", (3, 5), &counts);

    let sweeps = |place: &Place, seen: &mut Seen| {
        let asked = ["sweep", "s.ron", "--over", "epsilon=0.5,1", "--sealed", "--json"];
        let output = place.seen(seen, &asked);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for run in place.runs() {
            place.made_of(seen, &run);
        }
    };
    compare("", &plan("p", "target_only", "", ", holdout: 0.3"), (4, 5), &sweeps);
}

/// The run dies after its second draw, at the same step of the disk for every table, and goes on.
#[test]
fn a_run_that_died_and_went_on_shows_others_nothing_but_its_releases() {
    let run = ["run", "s.ron", "--sealed", "--json"];
    let stop = Cell::new(None);
    let look = |place: &Place, seen: &mut Seen| {
        let stop = stop.get().unwrap_or_else(|| {
            let found = second_draw(place, &run);
            stop.set(Some(found));
            found
        });
        let stopped = format!("crash:{stop}");
        let died = place.command(&run).env("HALFLIGHT_TEST_STOP", stopped).output().unwrap();
        assert_eq!(died.status.code(), None, "{}", String::from_utf8_lossy(&died.stderr));
        place.printed(seen, &run, &died);
        let run = place.runs().remove(0);
        let steps = fs::read_to_string(Path::new(&run).join("events.jsonl")).unwrap();
        assert!((1..4).contains(&steps.lines().count()), "{steps}");
        let output = place.seen(seen, &["run", "--resume", &run, "--json"]);
        must_succeed(seen, &output);
        place.made_of(seen, &run);
    };
    let plans =
        |more| plan("p", "profiled_cnvx_adap", "", &format!("{more}, settings: {{\"steps\": 4}}"));
    compare("", &plans(", holdout: 0.3, evaluation: ()"), (0, 3), &look);
    // The first run of a place takes more steps, for the folder of its user.
    stop.set(None);
    compare(PERSONS, &plans(", holdout: 0.5"), (1, 3), &look);
}

/// The step of the disk, counted from 1, after the second draw of a run is in its transcript.
fn second_draw(place: &Place, run: &[&str]) -> usize {
    let record = place.top.path().join("steps");
    let output = place.command(run).env("HALFLIGHT_TEST_STEPS", &record).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place.forget();
    let steps = fs::read_to_string(record).unwrap();
    let is_draw = |(at, line): (usize, &str)| {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = step["path"].as_str().unwrap_or_default();
        (step["step"] == "write" && path.ends_with("/transcript")).then_some(at)
    };
    // The first write is the head of the transcript.
    steps.lines().enumerate().filter_map(is_draw).nth(2).unwrap() + 2
}

/// What the comparison finds if private facts get out, and that it finds nothing otherwise.
#[cfg(feature = "planted-faults")]
#[test]
fn every_planted_leak_is_found_and_without_one_nothing_is() {
    let plans = plan("p", "target_only", "", ", holdout: 0.3");
    let ranked = ranked("errors");
    let of = |fault: Option<Fault>, look: &dyn Fn(&Place, &mut Seen)| {
        let place = Place { planted: fault, ..Place::new("") };
        told_apart(&place, &plans, &|_| true, look)
    };
    assert_eq!(of(None, &Place::run), None);
    assert_eq!(of(None, &ranked), None);
    let mut missed = Vec::new();
    for fault in Fault::LEAKS {
        let start = std::time::Instant::now();
        let found = match fault {
            Fault::DroppedCandidate => of(Some(fault), &ranked),
            _ => of(Some(fault), &Place::run),
        };
        let told = found.as_ref().map(|(name, found)| (name, found.lines().next()));
        println!("{fault:?} ({:.1?}): {told:?}", start.elapsed());
        if found.is_none() {
            missed.push(fault);
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// What `halflight` says when it refuses, after nothing was spent.
fn refused(place: &Place, arguments: &[&str], expected: &str) {
    let ledger = || fs::read_to_string(place.at().join(".halflight/ledger.jsonl")).ok();
    let before = ledger();
    let output = place.call(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
    assert!(said.contains(expected), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(ledger(), before, "{arguments:?}: something was written");
}

/// A candidate that was dropped because of private rows would tell who they are.
#[test]
fn a_ranking_with_private_rows_in_a_public_file_is_refused_as_a_whole() {
    let plans = plan("p", "target_only", "", "");
    let base = lines(PRIVATE, 1);
    let public = lines(150, 3);
    let mut shared = base.clone();
    shared.splice(0..60, public[..60].iter().cloned());
    let ranked = |place: &Place, more: &[&str], expected: &str| {
        for mechanism in ["errors", "permute-and-flip", "exponential", "table", "direction"] {
            let mut asked = vec!["rank", "s.ron", "--private", "1", "--delta", "1e-4"];
            asked.extend(["--mechanism", mechanism]);
            asked.extend(more);
            refused(place, &asked, expected);
        }
        refused(place, &["rank", "s.ron"], expected);
        assert!(!place.at().join(".halflight/rankings").exists());
    };
    // Many rows of another file.
    let place = Place::new("");
    place.lay(&shared, &plans);
    ranked(&place, &[], "holds rows that are private in 'ours'");
    // A few, which are more than chance explains; a single one might be.
    let mut few = base.clone();
    few.splice(0..8, public[..8].iter().cloned());
    place.lay(&few, &plans);
    ranked(&place, &[], "holds rows that are private in 'ours'");
    refused(&place, &["run", "s.ron"], "holds rows that are private in 'ours'");
    // One person.
    let place = Place::new(PERSONS);
    let mut one = base.clone();
    let name = public[9].split(',').next().unwrap();
    one[77] = format!("{name},1,2,red,3,0");
    place.lay(&one, &plans);
    ranked(&place, &["--json"], "somebody in 'ours' has records among the public rows of");
    // One row of the same file, by filters.
    let place = Place::new("");
    place.lay(&base, &plans);
    let session = fs::read_to_string(place.at().join("s.ron")).unwrap();
    let session = session
        .replace(
            "role: private, source: file(\"ours.csv\")",
            "role: private, source: file(\"ours.csv\"), filter: \"a >= 1\"",
        )
        .replace("file(\"theirs.csv\")", "file(\"ours.csv\"), filter: \"a <= 1.001\"");
    fs::write(place.at().join("s.ron"), session).unwrap();
    ranked(&place, &[], "is among the public rows of");
}

/// The rows that a run held out are known by the rows, their order and the secret.
#[test]
fn a_score_of_held_out_records_needs_the_rows_of_the_run_in_their_order() {
    let place = Place::new("");
    let base = lines(PRIVATE, 1);
    place.lay(&base, &plan("p", "target_only", "", ", holdout: 0.3"));
    assert!(place.call(&["run", "s.ron"]).status.success());
    let run = place.runs().remove(0);
    let score = ["score", &run, "--epsilon", "1", "--largest-error", "50"];
    let with = |lines: &Lines| fs::write(place.at().join("ours.csv"), csv(lines)).unwrap();
    let mut appended = base.clone();
    appended.extend(lines(20, 9));
    let mut reordered = base.clone();
    reordered.swap(0, 140);
    for other in [&appended, &reordered] {
        with(other);
        refused(&place, &score, "does not have the rows of the run any more");
    }
    with(&base);
    let told = place.call(&score);
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success() && said.contains("45 private records"), "{said}");
    // An earlier version kept no such note.
    fs::remove_file(Path::new(&run).join("rows.json")).unwrap();
    refused(&place, &score, "nothing in the run's directory says which rows");
}

/// Records that neither train nor are held out judge nothing.
#[test]
fn a_choice_among_plans_of_a_part_of_the_records_judges_by_those_held_out() {
    let place = Place::new("");
    let plans = ["target_only", "public_shape"]
        .map(|method| plan(method, method, "", ", holdout: 0.2, private_records: 40"));
    place.lay(&lines(PRIVATE, 1), &plans.concat());
    let output = place.call(&["choose", "s.ron", "--epsilon", "2", "--delta", "1e-4", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["score"]["records"], 30, "{told:#}");
}

/// By the order of its rows a run knows which of them it holds out.
#[test]
fn a_run_is_not_resumed_on_the_same_rows_in_another_order() {
    let place = Place::new("");
    let base = lines(PRIVATE, 1);
    place.lay(&base, &plan("p", "profiled_cnvx_adap", "", ", holdout: 0.3"));
    let mut command = program::halflight();
    command.args(["run", "s.ron", "--pace", "5"]).current_dir(place.at());
    command.env("XDG_CONFIG_HOME", place.top.path().join("config"));
    command.env("HALFLIGHT_SECRET_FILE", program::secret());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let has_begun = || {
        let steps = place.runs().first().map(|run| Path::new(run).join("events.jsonl"));
        steps.and_then(|path| fs::read(path).ok()).is_some_and(|text| text.contains(&b'\n'))
    };
    while !has_begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its first step");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.runs().remove(0);
    let with = |lines: &Lines| fs::write(place.at().join("ours.csv"), csv(lines)).unwrap();
    let mut reordered = base.clone();
    reordered.reverse();
    with(&reordered);
    refused(
        &place,
        &["run", "--resume", &run],
        "the rows of the private dataset 'ours' were reordered",
    );
    with(&base);
    let resumed = place.call(&["run", "--resume", &run]);
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
}
