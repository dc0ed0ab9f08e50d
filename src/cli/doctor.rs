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
use serde::Serialize;
use serde_json::json;

use super::{print_json, print_line};
use crate::error::{Error, Result};
use crate::files::words::harmless;
use crate::files::{self, step};
use crate::memory;
use crate::numeric::parallel;
use crate::privacy::ledger::about_disk;
use crate::session::Workspace;
use crate::session::preferences::UserDirectories;
use crate::widgets::theme::Glyphs;

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
const LITTLE: u64 = 512 << 20;
/// The smallest terminal that the interface supports.
const SMALLEST: (u16, u16) = (60, 16);
/// Longer values of variables are cut.
const LONGEST: usize = 40;

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

impl Doctor {
    pub fn execute(&self) -> Result<()> {
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let found = DoctorFindings::of(&environment, &self.workspace)?;
        let problems = found.problems();
        if self.json {
            let mut value = serde_json::to_value(&found)
                .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
            value["problems"] = json!(problems);
            return print_json(&value);
        }
        for line in found.lines() {
            print_line(&line)?;
        }
        if problems.is_empty() {
            return print_line("nothing is missing");
        }
        problems.iter().try_for_each(|problem| {
            print_line(&format!("problem: {}\n  what to do: {}", problem.what, problem.cure))
        })
    }
}

#[derive(Debug, Serialize)]
struct DoctorFindings {
    version: &'static str,
    features: Vec<&'static str>,
    system: System,
    terminal: TerminalFindings,
    locale: Locale,
    threads: usize,
    memory: Memory,
    /// `None` without a home directory.
    configuration: Option<CheckedPlace>,
    workspace: CheckedPlace,
    temporary: CheckedPlace,
    /// `None` without `python3`.
    python: Option<Python>,
    variables: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct System {
    os: &'static str,
    release: Option<String>,
    processor: &'static str,
    instructions: &'static str,
    c_library: String,
}

/// The `python3` that a shell finds, with the versions of the libraries that the package uses.
#[derive(Debug, Serialize)]
struct Python {
    version: String,
    /// Whether `python3 -m venv` can make an environment with pip.
    venv: bool,
    packages: Vec<String>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct TerminalFindings {
    input: bool,
    output: bool,
    messages: bool,
    columns: Option<u16>,
    rows: Option<u16>,
    term: Option<String>,
    colorterm: Option<String>,
    no_color: bool,
}

#[derive(Debug, Serialize)]
struct Locale {
    variable: Option<&'static str>,
    value: Option<String>,
    unicode: bool,
}

#[derive(Debug, Serialize)]
struct Memory {
    free: Option<u64>,
    in_words: Option<String>,
}

#[derive(Debug, Serialize)]
struct CheckedPlace {
    path: String,
    disk: Option<String>,
    writable: bool,
    locks: LockFinding,
    locks_reach: &'static str,
    ledger: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum LockFinding {
    Works,
    Fails,
    Untried,
}

#[derive(Debug, Serialize)]
struct DoctorProblem {
    what: String,
    cure: String,
}

impl DoctorFindings {
    fn of(environment: &dyn Fn(&str) -> Option<String>, workspace: &Path) -> Result<Self> {
        let home = environment("HOME").map(PathBuf::from);
        let folder = Workspace::of(workspace)?.folder().to_path_buf();
        let place = |path: &Path| CheckedPlace::of(path, home.as_deref());
        let places = UserDirectories::new(
            environment("XDG_CONFIG_HOME").as_deref(),
            environment("XDG_STATE_HOME").as_deref(),
            environment("HOME").as_deref(),
        );
        let variables = VARIABLES.into_iter().filter(|name| environment(name).is_some());
        let free = memory::free();
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            features: features(),
            system: System::of_this_machine(),
            terminal: TerminalFindings::of(environment),
            locale: Locale::of(environment),
            threads: parallel::threads(),
            memory: Memory { free, in_words: free.map(memory::words) },
            configuration: places.map(|places| place(&places.config)),
            workspace: place(&folder),
            temporary: place(&std::env::temp_dir()),
            python: Python::of_this_machine(),
            variables: variables.collect(),
        })
    }

    fn problems(&self) -> Vec<DoctorProblem> {
        let mut problems = Vec::new();
        let mut add = |what: &str, cure: &str| {
            problems.push(DoctorProblem { what: what.to_owned(), cure: cure.to_owned() });
        };
        let terminal = &self.terminal;
        if !(terminal.input && terminal.output) {
            add(
                "there is no terminal, so the interface cannot open; all other commands work",
                "run it in a terminal, over SSH with `ssh -t`, in a container with `docker run -it`",
            );
        }
        match terminal.term.as_deref() {
            None if terminal.output => add(
                "TERM is not set, so programs do not know what this terminal can do",
                "set it, such as: export TERM=xterm-256color",
            ),
            Some("dumb") if terminal.output => add(
                "TERM is 'dumb': this terminal cannot move its cursor",
                "open another terminal, or use the commands: halflight --help",
            ),
            _ => {}
        }
        if let (Some(columns), Some(rows)) = (terminal.columns, terminal.rows)
            && (columns < SMALLEST.0 || rows < SMALLEST.1)
        {
            add(
                &format!(
                    "the terminal has {columns} × {rows} characters, and the interface needs 60 × 16"
                ),
                "make its window larger, or its letters smaller",
            );
        }
        if !self.locale.unicode {
            add(
                "the locale has no UTF-8, so everything is drawn in ASCII",
                "choose one that has, such as: export LC_ALL=C.UTF-8 (`locale -a` lists them)",
            );
        }
        if self.memory.free.is_some_and(|free| free < LITTLE) {
            let words = self.memory.in_words.as_deref().unwrap_or_default();
            add(
                &format!("only {words} of memory are free; larger tables are refused"),
                "end other programs, or raise the limit of the container or of `ulimit -v`",
            );
        }
        match &self.configuration {
            None => add(
                "HOME is not set, so there is no place for the configuration and your secret",
                "export HOME=/home/you, or XDG_CONFIG_HOME and XDG_STATE_HOME with absolute paths",
            ),
            Some(place) if !place.writable => add(
                "the configuration cannot be written: your secret would be kept in each workspace, \
                 and an older copy of a ledger could pass for the ledger",
                "set XDG_CONFIG_HOME to a directory that you can write, and keep that one",
            ),
            Some(_) => {}
        }
        if !self.workspace.writable {
            add(
                "the workspace cannot be written: nothing can be spent, run or kept here",
                "change the permissions of the directory, or work in another one",
            );
        }
        if self.workspace.locks == LockFinding::Fails {
            add(
                "locks do not work in the workspace: two programs could spend the same budget",
                "mount the disk with locks (Lustre: the option 'flock'), or use a local disk",
            );
        }
        if self.workspace.locks_reach == "this machine alone" {
            add(
                "other machines do not see locks on this disk, so ledgers here are refused",
                "mount it otherwise (`man 5 nfs`: local_lock), or set HALFLIGHT_ONE_MACHINE=1 if no \
                 other machine uses the workspace",
            );
        }
        if !self.temporary.writable {
            add(
                "the directory for temporary files cannot be written; the Python package needs it",
                "set TMPDIR to a directory that you can write",
            );
        }
        match &self.python {
            None => add(
                "there is no python3, so nothing can be called from Python; halflight needs none",
                "install it (Debian: apt install python3 python3-venv), or do without it",
            ),
            Some(python) if python.is_old() => add(
                &format!("Python is {}, and the Python package needs 3.9", python.version),
                "install a newer one, and make an environment with it: python3.N -m venv env",
            ),
            Some(python) if !python.venv => add(
                "python3 -m venv cannot install pip into a new environment",
                "install what is missing (Debian: apt install python3-venv)",
            ),
            Some(_) => {}
        }
        let is_set = |names: &[&str]| self.variables.iter().any(|name| names.contains(name));
        if is_set(&["HTTP_PROXY", "http_proxy"])
            && !is_set(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
        {
            add(
                "there is a proxy for HTTP but none for HTTPS, which pip and cargo use",
                "export HTTPS_PROXY=http://HOST:PORT, usually the same one; halflight itself never \
                 uses the network",
            );
        }
        problems
    }

    fn lines(&self) -> Vec<String> {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "not set".to_owned());
        let yes = |is: bool| if is { "yes" } else { "no" };
        let listed = |words: &[&str]| match words {
            [] => "none".to_owned(),
            words => words.join(", "),
        };
        let (system, terminal, locale) = (&self.system, &self.terminal, &self.locale);
        let size = match (terminal.columns, terminal.rows) {
            (Some(columns), Some(rows)) => format!("{columns} × {rows}"),
            _ => "size unknown".to_owned(),
        };
        let mut lines = vec![
            format!("halflight       {}; optional parts: {}", self.version, listed(&self.features)),
            format!(
                "system          {} {}, {} with {}, C library {}",
                system.os,
                system.release.as_deref().unwrap_or("of unknown release"),
                system.processor,
                system.instructions,
                system.c_library
            ),
            format!(
                "terminal        input {}, output {}, messages {}; {size}; TERM {}, COLORTERM {}, \
                 NO_COLOR {}",
                yes(terminal.input),
                yes(terminal.output),
                yes(terminal.messages),
                or_none(&terminal.term),
                or_none(&terminal.colorterm),
                yes(terminal.no_color),
            ),
            format!(
                "locale          {} {}; symbols {}",
                locale.variable.unwrap_or("LC_ALL, LC_CTYPE, LANG"),
                or_none(&locale.value),
                yes(locale.unicode)
            ),
            format!("threads         {}", self.threads),
            format!(
                "memory          {} free",
                self.memory.in_words.as_deref().unwrap_or("unknown")
            ),
        ];
        let places = [
            ("configuration", self.configuration.as_ref()),
            ("workspace", Some(&self.workspace)),
            ("temporary", Some(&self.temporary)),
        ];
        for (name, place) in places {
            let words = place.map_or_else(|| "no place".to_owned(), CheckedPlace::words);
            lines.push(format!("{name:<15} {words}"));
        }
        let python = self.python.as_ref().map_or_else(|| "none".to_owned(), Python::words);
        lines.push(format!("python3         {python}"));
        lines.push(format!("variables set   {}", listed(&self.variables)));
        lines
    }
}

impl System {
    fn of_this_machine() -> Self {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        Self {
            os: std::env::consts::OS,
            release: release.map(|text| harmless(text.trim(), LONGEST)),
            processor: std::env::consts::ARCH,
            instructions: instructions(),
            c_library: if cfg!(target_env = "gnu") {
                let version = said_by("getconf", &["GNU_LIBC_VERSION"]);
                let version = version.as_deref().and_then(|text| text.strip_prefix("glibc "));
                version.map_or_else(|| "gnu".to_owned(), |number| format!("gnu {number}"))
            } else if cfg!(target_env = "musl") {
                "musl".to_owned()
            } else {
                "of the system".to_owned()
            },
        }
    }
}

/// The one-line output of another program; `None` if the program is missing or fails.
fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| harmless(said.lines().next().unwrap_or_default(), LONGEST))
}

impl Python {
    fn of_this_machine() -> Option<Self> {
        let version = said_by("python3", &["-c", "import sys; print(sys.version.split()[0])"])?;
        let find = "import importlib.util as it, sys; sys.exit(not it.find_spec('ensurepip'))";
        let packages = ["halflight", "numpy", "pandas", "scikit-learn"].into_iter();
        let of_package = |name: &str| {
            let ask = format!("from importlib.metadata import version; print(version('{name}'))");
            Some(format!("{name} {}", said_by("python3", &["-c", &ask])?))
        };
        Some(Self {
            version,
            venv: said_by("python3", &["-c", find]).is_some(),
            packages: packages.filter_map(of_package).collect(),
        })
    }

    fn is_old(&self) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse().unwrap_or(0_u32));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (3, 9)
    }

    fn words(&self) -> String {
        let mut words = vec![self.version.clone()];
        words.extend(self.packages.iter().cloned());
        words.extend((!self.venv).then(|| "no venv".to_owned()));
        words.join(", ")
    }
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

impl TerminalFindings {
    fn of(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let output = std::io::stdout().is_terminal();
        let size = output.then(crossterm::terminal::size).and_then(std::result::Result::ok);
        let named = |name: &str| environment(name).map(|value| harmless(&value, LONGEST));
        Self {
            input: std::io::stdin().is_terminal(),
            output,
            messages: std::io::stderr().is_terminal(),
            columns: size.map(|size| size.0),
            rows: size.map(|size| size.1),
            term: named("TERM"),
            colorterm: named("COLORTERM"),
            no_color: environment("NO_COLOR").is_some(),
        }
    }
}

impl Locale {
    fn of(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let found = names.iter().find_map(|name| Some((*name, environment(name)?)));
        let set = names.map(environment);
        let [lc_all, lc_ctype, lang] = [0, 1, 2].map(|at| set[at].as_deref());
        Self {
            variable: found.as_ref().map(|(name, _)| *name),
            value: found.map(|(_, value)| harmless(&value, LONGEST)),
            unicode: Glyphs::detect(lc_all, lc_ctype, lang, environment("TERM").as_deref()).unicode,
        }
    }
}

impl CheckedPlace {
    fn of(path: &Path, home: Option<&Path>) -> Self {
        let there = path.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
        let (writable, locks) = try_out(there);
        let (disk, locks_reach) = about_disk(there);
        let ledger = path.join("ledger.jsonl").is_file();
        Self { path: shortened(path, home), disk, writable, locks, locks_reach, ledger }
    }

    fn words(&self) -> String {
        let locks = match self.locks {
            LockFinding::Works => "locks work",
            LockFinding::Fails => "locks do not work",
            LockFinding::Untried => "locks were not tried",
        };
        let reach = match self.locks_reach {
            "this machine alone" => " for this machine alone",
            "unknown" => ", how far is not known",
            _ => "",
        };
        format!(
            "{}: {}, {}, {locks}{reach}{}",
            self.path,
            self.disk.as_deref().unwrap_or("disk unknown"),
            if self.writable { "can be written" } else { "cannot be written" },
            if self.ledger { ", has a ledger" } else { "" }
        )
    }
}

/// Whether a file can be created in this directory, and whether a lock on the file keeps others
/// out.
fn try_out(folder: &Path) -> (bool, LockFinding) {
    let path = folder.join(format!(".halflight-doctor-{}", std::process::id()));
    let mut options = files::private();
    let Ok(first) = step::open(options.write(true).create_new(true), &path) else {
        return (false, LockFinding::Untried);
    };
    let second = std::fs::File::open(&path);
    let locked = first.try_lock().is_ok();
    let kept_out =
        second.is_ok_and(|second| matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
    let _ = step::remove(&path);
    (true, if locked && kept_out { LockFinding::Works } else { LockFinding::Fails })
}

/// Directories whose names reveal nothing about anybody.
const KNOWN: [&str; 12] = [
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
                let known = name.to_str().filter(|name| KNOWN.contains(name));
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

    fn found(environment: &[(&str, &str)], workspace: &Path) -> DoctorFindings {
        let value = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|it| it.1.to_owned())
        };
        DoctorFindings::of(&value, workspace).unwrap()
    }

    fn whats(findings: &DoctorFindings) -> String {
        let problems = findings.problems().into_iter();
        problems.map(|problem| [problem.what, problem.cure].join(" | ") + "\n").collect()
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
        assert!(nothing.configuration.is_none());
        assert!(nothing.lines().iter().any(|line| line.contains("LC_ALL C; symbols no")));

        let home = directory.path().to_str().unwrap();
        let well = found(&[("HOME", home), ("LANG", "en_US.UTF-8")], directory.path());
        let said = whats(&well);
        assert!(!said.contains("HOME") && !said.contains("UTF-8"), "{said}");
        assert_eq!(well.workspace.path, "~/.halflight");
        assert_eq!(well.workspace.locks, LockFinding::Works);
        assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "it left a file");
    }

    #[test]
    fn little_memory_and_places_that_cannot_be_written_are_problems() {
        let directory = tempfile::tempdir().unwrap();
        let mut findings = found(&[("HOME", "/proc/none")], directory.path());
        assert!(whats(&findings).contains("the configuration cannot be written"));
        findings.memory = Memory { free: Some(64 << 20), in_words: Some("64.0 MiB".to_owned()) };
        findings.workspace.writable = false;
        findings.workspace.locks = LockFinding::Fails;
        findings.workspace.locks_reach = "this machine alone";
        findings.terminal.output = true;
        findings.terminal.columns = Some(40);
        findings.terminal.rows = Some(10);
        findings.terminal.term = None;
        findings.python = None;
        findings.variables = vec!["http_proxy"];
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
        let python = |version: &str, venv| {
            Some(Python { version: version.to_owned(), venv, packages: Vec::new() })
        };
        findings.variables = vec!["http_proxy", "https_proxy"];
        for (found, wanted) in [
            (python("3.8.10", true), "needs 3.9"),
            (python("3.12.1", false), "apt install python3-venv"),
        ] {
            findings.python = found;
            let said = whats(&findings);
            assert!(said.contains(wanted) && !said.contains("HTTPS"), "{wanted}:\n{said}");
        }
        findings.python = python("3.12.1", true);
        assert!(!whats(&findings).contains("ython"));
    }
}
