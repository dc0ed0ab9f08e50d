//! `halflight doctor`: the information for a bug report, and what is missing on this machine.
//!
//! Its output can be pasted in public: it names no dataset, no file of the workspace, no user and
//! no machine. It changes nothing, except that it locks and removes an empty file to see whether a
//! directory is writable.

use std::fs::TryLockError;
use std::io::IsTerminal as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use super::{interface, print_json, print_line};
use crate::error::Result;
use crate::files::words::harmless;
use crate::files::{self, step};
use crate::memory;
use crate::numeric::parallel;
use crate::privacy::ledger::about_disk;
use crate::session::Workspace;
use crate::session::preferences::UserDirectories;

/// Check this machine, and print what a bug report should contain.
///
/// It contains nothing private: no names of datasets, files or users. Each problem comes with its
/// cure. Ignore those that do not matter to you, such as a missing terminal in a script.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight doctor
  halflight doctor --workspace study
  halflight doctor --json > report.json")]
pub struct Doctor {
    /// Directory of the workspace.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Less memory than this fills up quickly.
const LITTLE_MEMORY: u64 = 512 << 20;
/// The smallest terminal that the interface supports.
const SMALLEST_TERMINAL: (u64, u64) = (60, 16);
/// Longer values of variables are cut.
const LONGEST_VALUE: usize = 40;

/// Variables that change what halflight does, or keep pip and cargo from reaching what they need.
const VARIABLES: [&str; 16] = [
    "HALFLIGHT",
    "HALFLIGHT_ONE_MACHINE",
    "HALFLIGHT_SECRET_FILE",
    "HALFLIGHT_THREADS",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "TMPDIR",
    "NO_COLOR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "PYTHONPATH",
];

type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Doctor {
    pub fn execute(&self) -> Result<()> {
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut facts = facts(&environment, &self.workspace)?;
        let problems = problems(&facts);
        if self.json {
            let problems =
                problems.iter().map(|(what, cure)| json!({ "what": what, "cure": cure }));
            facts["problems"] = problems.collect();
            return print_json(&facts);
        }
        for (name, words) in lines(&facts) {
            print_line(&format!("{name:<15} {words}"))?;
        }
        if problems.is_empty() {
            return print_line("nothing is missing");
        }
        problems.iter().try_for_each(|(what, cure)| {
            print_line(&format!("problem: {what}\n  what to do: {cure}"))
        })
    }
}

/// What a report contains about this machine.
fn facts(environment: &Environment, workspace: &Path) -> Result<Value> {
    let named = |name: &str| environment(name).map(|value| harmless(&value, LONGEST_VALUE));
    let [home, config, state] = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"].map(environment);
    let places = UserDirectories::new(config.as_deref(), state.as_deref(), home.as_deref());
    let place = |path: &Path| place(path, home.as_deref().map(Path::new));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let output = std::io::stdout().is_terminal();
    let size = output.then(crossterm::terminal::size).and_then(std::result::Result::ok);
    let is_set = |name: &&str| environment(name).is_some();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(is_set);
    let free = memory::free();
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "features": features(),
        "system": {
            "os": std::env::consts::OS,
            "release": release.map(|text| harmless(text.trim(), LONGEST_VALUE)),
            "processor": std::env::consts::ARCH,
            "instructions": instructions(),
            "c_library": c_library(),
        },
        "terminal": {
            "input": std::io::stdin().is_terminal(),
            "output": output,
            "messages": std::io::stderr().is_terminal(),
            "columns": size.map(|size| size.0),
            "rows": size.map(|size| size.1),
            "term": named("TERM"),
            "colorterm": named("COLORTERM"),
            "no_color": environment("NO_COLOR").is_some(),
        },
        "locale": {
            "variable": locale,
            "value": locale.and_then(named),
            "unicode": interface::glyphs(environment).unicode,
        },
        "threads": parallel::threads(),
        "memory": { "free": free, "in_words": free.map(memory::words) },
        "configuration": places.map(|places| place(&places.config)),
        "workspace": place(Workspace::of(workspace)?.folder()),
        "temporary": place(&std::env::temp_dir()),
        "python": python(),
        "variables": VARIABLES.into_iter().filter(is_set).collect::<Vec<_>>(),
    }))
}

fn is(facts: &Value, at: &str) -> bool {
    facts.pointer(at).and_then(Value::as_bool).unwrap_or(false)
}

fn text<'a>(facts: &'a Value, at: &str) -> Option<&'a str> {
    facts.pointer(at).and_then(Value::as_str)
}

fn list<'a>(facts: &'a Value, at: &str) -> Vec<&'a str> {
    let list = facts.pointer(at).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// What is missing, each with its cure.
fn problems(facts: &Value) -> Vec<(String, &'static str)> {
    let mut problems = Vec::new();
    let mut add = |is_wrong: bool, what: &str, cure: &'static str| {
        if is_wrong {
            problems.push((what.to_owned(), cure));
        }
    };
    let number = |at: &str| facts.pointer(at).and_then(Value::as_u64);
    let (output, term) = (is(facts, "/terminal/output"), text(facts, "/terminal/term"));
    add(
        !(is(facts, "/terminal/input") && output),
        "there is no terminal, so the interface cannot open; all other commands work",
        "run it in a terminal, over SSH with `ssh -t`, in a container with `docker run -it`",
    );
    add(
        output && term.is_none(),
        "TERM is not set, so programs do not know what this terminal can do",
        "set it, such as: export TERM=xterm-256color",
    );
    add(
        output && term == Some("dumb"),
        "TERM is 'dumb': this terminal cannot move its cursor",
        "open another terminal, or use the commands: halflight --help",
    );
    if let (Some(columns), Some(rows)) = (number("/terminal/columns"), number("/terminal/rows")) {
        add(
            columns < SMALLEST_TERMINAL.0 || rows < SMALLEST_TERMINAL.1,
            &format!(
                "the terminal has {columns} × {rows} characters, and the interface needs 60 × 16"
            ),
            "make its window larger, or its letters smaller",
        );
    }
    add(
        !is(facts, "/locale/unicode"),
        "the locale has no UTF-8, so everything is drawn in ASCII",
        "choose one that has, such as: export LC_ALL=C.UTF-8 (`locale -a` lists them)",
    );
    let words = text(facts, "/memory/in_words").unwrap_or_default();
    add(
        number("/memory/free").is_some_and(|free| free < LITTLE_MEMORY),
        &format!("only {words} of memory are free; larger tables are refused"),
        "end other programs, or raise the limit of the container or of `ulimit -v`",
    );
    add(
        facts["configuration"].is_null(),
        "HOME is not set, so there is no place for the configuration and your secret",
        "export HOME=/home/you, or XDG_CONFIG_HOME and XDG_STATE_HOME with absolute paths",
    );
    add(
        facts["configuration"].is_object() && !is(facts, "/configuration/writable"),
        "the configuration cannot be written: your secret would be kept in each workspace, and an \
         older copy of a ledger could pass for the ledger",
        "set XDG_CONFIG_HOME to a directory that you can write, and keep that one",
    );
    add(
        !is(facts, "/workspace/writable"),
        "the workspace cannot be written: nothing can be spent, run or kept here",
        "change the permissions of the directory, or work in another one",
    );
    add(
        text(facts, "/workspace/locks") == Some("fails"),
        "locks do not work in the workspace: two programs could spend the same budget",
        "mount the disk with locks (Lustre: the option 'flock'), or use a local disk",
    );
    add(
        text(facts, "/workspace/locks_reach") == Some("this machine alone"),
        "other machines do not see locks on this disk, so ledgers here are refused",
        "mount it otherwise (`man 5 nfs`: local_lock), or set HALFLIGHT_ONE_MACHINE=1 if no other \
         machine uses the workspace",
    );
    add(
        !is(facts, "/temporary/writable"),
        "the directory for temporary files cannot be written; the Python package needs it",
        "set TMPDIR to a directory that you can write",
    );
    match text(facts, "/python/version") {
        None => add(
            true,
            "there is no python3, so nothing can be called from Python; halflight needs none",
            "install it (Debian: apt install python3 python3-venv), or do without it",
        ),
        Some(version) if is_old(version) => add(
            true,
            &format!("Python is {version}, and the Python package needs 3.9"),
            "install a newer one, and make an environment with it: python3.N -m venv env",
        ),
        Some(_) => add(
            !is(facts, "/python/venv"),
            "python3 -m venv cannot install pip into a new environment",
            "install what is missing (Debian: apt install python3-venv)",
        ),
    }
    let variables = list(facts, "/variables");
    let is_set = |names: &[&str]| variables.iter().any(|name| names.contains(name));
    add(
        is_set(&["HTTP_PROXY", "http_proxy"])
            && !is_set(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
        "there is a proxy for HTTP but none for HTTPS, which pip and cargo use",
        "export HTTPS_PROXY=http://HOST:PORT, usually the same one; halflight itself never uses the \
         network",
    );
    problems
}

/// The facts as lines, each with its name.
fn lines(facts: &Value) -> Vec<(&'static str, String)> {
    let or = |at: &str, otherwise: &'static str| text(facts, at).unwrap_or(otherwise);
    let yes = |at: &str| if is(facts, at) { "yes" } else { "no" };
    let listed = |at: &str| match list(facts, at).as_slice() {
        [] => "none".to_owned(),
        words => words.join(", "),
    };
    let size = match (&facts["terminal"]["columns"], &facts["terminal"]["rows"]) {
        (Value::Number(columns), Value::Number(rows)) => format!("{columns} × {rows}"),
        _ => "size unknown".to_owned(),
    };
    let python = text(facts, "/python/version").map_or_else(
        || "none".to_owned(),
        |version| {
            let venv = (!is(facts, "/python/venv")).then_some("no venv");
            let packages = list(facts, "/python/packages");
            [vec![version], packages, venv.into_iter().collect()].concat().join(", ")
        },
    );
    let halflight = format!("{}; optional parts: {}", or("/version", ""), listed("/features"));
    let system = format!(
        "{} {}, {} with {}, C library {}",
        or("/system/os", ""),
        or("/system/release", "of unknown release"),
        or("/system/processor", ""),
        or("/system/instructions", ""),
        or("/system/c_library", "")
    );
    let terminal = format!(
        "input {}, output {}, messages {}; {size}; TERM {}, COLORTERM {}, NO_COLOR {}",
        yes("/terminal/input"),
        yes("/terminal/output"),
        yes("/terminal/messages"),
        or("/terminal/term", "not set"),
        or("/terminal/colorterm", "not set"),
        yes("/terminal/no_color"),
    );
    let locale = format!(
        "{} {}; symbols {}",
        or("/locale/variable", "LC_ALL, LC_CTYPE, LANG"),
        or("/locale/value", "not set"),
        yes("/locale/unicode")
    );
    vec![
        ("halflight", halflight),
        ("system", system),
        ("terminal", terminal),
        ("locale", locale),
        ("threads", facts["threads"].to_string()),
        ("memory", format!("{} free", or("/memory/in_words", "unknown"))),
        ("configuration", place_words(&facts["configuration"])),
        ("workspace", place_words(&facts["workspace"])),
        ("temporary", place_words(&facts["temporary"])),
        ("python3", python),
        ("variables set", listed("/variables")),
    ]
}

fn c_library() -> String {
    if cfg!(target_env = "gnu") {
        let version = said_by("getconf", &["GNU_LIBC_VERSION"]);
        let version = version.as_deref().and_then(|text| text.strip_prefix("glibc "));
        return version.map_or_else(|| "gnu".to_owned(), |number| format!("gnu {number}"));
    }
    if cfg!(target_env = "musl") { "musl" } else { "of the system" }.to_owned()
}

/// The one-line output of another program; `None` if the program is missing or fails.
fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| harmless(said.lines().next().unwrap_or_default(), LONGEST_VALUE))
}

/// The `python3` that a shell finds, with the versions of the libraries that the package uses, and
/// whether `python3 -m venv` can make an environment with pip; null without `python3`.
fn python() -> Value {
    let version = said_by("python3", &["-c", "import sys; print(sys.version.split()[0])"]);
    let Some(version) = version else { return Value::Null };
    let find = "import importlib.util as it, sys; sys.exit(not it.find_spec('ensurepip'))";
    let of_package = |name: &str| {
        let ask = format!("from importlib.metadata import version; print(version('{name}'))");
        Some(format!("{name} {}", said_by("python3", &["-c", &ask])?))
    };
    let packages = ["halflight", "numpy", "pandas", "scikit-learn"].into_iter();
    json!({
        "version": version,
        "venv": said_by("python3", &["-c", find]).is_some(),
        "packages": packages.filter_map(of_package).collect::<Vec<_>>(),
    })
}

fn is_old(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0_u32));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (3, 9)
}

/// The optional features of this build.
fn features() -> Vec<&'static str> {
    let parts = [("onnx", cfg!(feature = "onnx")), ("mimalloc", cfg!(feature = "mimalloc"))];
    parts.into_iter().filter(|part| part.1).map(|part| part.0).collect()
}

/// The widest vector instructions of this machine that this build has kernels for.
fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "AVX-512";
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return "AVX2";
        }
    }
    "the usual instructions"
}

/// What can be done in a directory, or in the first one above it that exists.
fn place(path: &Path, home: Option<&Path>) -> Value {
    let there = path.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let locks = try_lock(there);
    let (disk, locks_reach) = about_disk(there);
    json!({
        "path": shortened(path, home),
        "disk": disk,
        "writable": locks.is_some(),
        "locks": match locks {
            Some(true) => "works",
            Some(false) => "fails",
            None => "untried",
        },
        "locks_reach": locks_reach,
        "ledger": path.join("ledger.jsonl").is_file(),
    })
}

fn place_words(place: &Value) -> String {
    let Some(path) = text(place, "/path") else { return "no place".to_owned() };
    let locks = match text(place, "/locks") {
        Some("works") => "locks work",
        Some("fails") => "locks do not work",
        _ => "locks were not tried",
    };
    let reach = match text(place, "/locks_reach") {
        Some("this machine alone") => " for this machine alone",
        Some("unknown") => ", how far is not known",
        _ => "",
    };
    format!(
        "{path}: {}, {}, {locks}{reach}{}",
        text(place, "/disk").unwrap_or("disk unknown"),
        if is(place, "/writable") { "can be written" } else { "cannot be written" },
        if is(place, "/ledger") { ", has a ledger" } else { "" }
    )
}

/// Whether a lock on a file in this directory keeps others out; `None` if no file can be created.
fn try_lock(folder: &Path) -> Option<bool> {
    let path = folder.join(format!(".halflight-doctor-{}", std::process::id()));
    let mut options = files::private();
    let first = step::open(options.write(true).create_new(true), &path).ok()?;
    let second = std::fs::File::open(&path);
    let locked = first.try_lock().is_ok();
    let kept_out =
        second.is_ok_and(|second| matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
    let _ = step::remove(&path);
    Some(locked && kept_out)
}

/// Directories whose names reveal nothing about anybody.
const SAFE_NAMES: [&str; 12] = [
    ".config",
    ".halflight",
    ".local",
    "etc",
    "halflight",
    "home",
    "mnt",
    "opt",
    "scratch",
    "state",
    "tmp",
    "var",
];

/// The path with `~` for the home directory and `*` for names that may reveal something.
fn shortened(path: &Path, home: Option<&Path>) -> String {
    let below =
        home.filter(|home| home.is_absolute()).and_then(|home| path.strip_prefix(home).ok());
    let (mut parts, rest) = match below {
        Some(rest) => (vec!["~".to_owned()], rest),
        None => (Vec::new(), path),
    };
    for component in rest.components() {
        parts.push(match component {
            Component::Normal(name) => {
                let known = name.to_str().filter(|name| SAFE_NAMES.contains(name));
                known.unwrap_or("*").to_owned()
            }
            Component::RootDir => String::new(),
            _ => "*".to_owned(),
        });
    }
    if parts == [""] { "/".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &[(&str, &str)], workspace: &Path) -> Value {
        let value = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|it| it.1.to_owned())
        };
        facts(&value, workspace).unwrap()
    }

    fn whats(facts: &Value) -> String {
        let lines = problems(facts).into_iter().map(|(what, cure)| format!("{what} | {cure}\n"));
        lines.collect::<Vec<_>>().concat()
    }

    #[test]
    fn paths_tell_where_in_the_system_and_nothing_of_anybody() {
        let home = Path::new("/home/anna");
        for (path, wanted) in [
            ("/home/anna/.config/halflight", "~/.config/halflight"),
            ("/home/anna/st-marys/patients/.halflight", "~/*/*/.halflight"),
            ("/home/anna", "~"),
            ("/home/annabel/x", "/home/*/*"),
            ("/scratch/anna/hiv", "/scratch/*/*"),
            ("/", "/"),
        ] {
            assert_eq!(shortened(Path::new(path), Some(home)), wanted);
        }
        assert_eq!(shortened(Path::new("/home/anna"), None), "/home/*");
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let nothing = found(&[("LC_ALL", "C")], directory.path());
        let said = whats(&nothing);
        assert!(said.contains("HOME is not set") && said.contains("export HOME"), "{said}");
        assert!(said.contains("no UTF-8") && said.contains("LC_ALL=C.UTF-8"), "{said}");
        assert!(nothing["configuration"].is_null());
        assert!(lines(&nothing).iter().any(|line| line.1.contains("LC_ALL C; symbols no")));

        let home = directory.path().to_str().unwrap();
        let well = found(&[("HOME", home), ("LANG", "en_US.UTF-8")], directory.path());
        let said = whats(&well);
        assert!(!said.contains("HOME") && !said.contains("UTF-8"), "{said}");
        assert_eq!(well["workspace"]["path"], "~/.halflight");
        assert_eq!(well["workspace"]["locks"], "works");
        assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "it left a file");
    }

    #[test]
    fn little_memory_and_places_that_cannot_be_written_are_problems() {
        let directory = tempfile::tempdir().unwrap();
        let mut findings = found(&[("HOME", "/proc/none")], directory.path());
        assert!(whats(&findings).contains("the configuration cannot be written"));
        findings["memory"] = json!({ "free": 64 << 20, "in_words": "64.0 MiB" });
        findings["workspace"] =
            json!({ "writable": false, "locks": "fails", "locks_reach": "this machine alone" });
        findings["terminal"] = json!({ "output": true, "columns": 40, "rows": 10, "term": null });
        findings["python"] = Value::Null;
        findings["variables"] = json!(["http_proxy"]);
        let said = whats(&findings);
        for wanted in [
            "there is no python3",
            "export HTTPS_PROXY",
            "64.0 MiB",
            "the workspace cannot be written",
            "locks do not work",
            "HALFLIGHT_ONE_MACHINE",
            "40 × 10",
            "export TERM",
        ] {
            assert!(said.contains(wanted), "{wanted} is missing in:\n{said}");
        }
        let python = |version: &str, venv| json!({ "version": version, "venv": venv });
        findings["variables"] = json!(["http_proxy", "https_proxy"]);
        for (found, wanted) in [
            (python("3.8.10", true), "needs 3.9"),
            (python("3.12.1", false), "apt install python3-venv"),
        ] {
            findings["python"] = found;
            let said = whats(&findings);
            assert!(said.contains(wanted) && !said.contains("HTTPS"), "{wanted}:\n{said}");
        }
        findings["python"] = python("3.12.1", true);
        assert!(!whats(&findings).contains("ython"));
    }
}
