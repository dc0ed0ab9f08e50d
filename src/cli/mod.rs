//! The command line: headless commands and the start of the interface.
//!
//! | module | command |
//! |---|---|
//! | [`open`] | `halflight [SESSION]` |
//! | [`demo`] | `halflight demo` |
//! | [`tutorial`] | `halflight tutorial` |
//! | [`run`] | `halflight run SESSION` |
//! | [`sweep`] | `halflight sweep SESSION --over KEY=VALUES` |
//! | [`watch`] | `halflight watch RUN` |
//! | [`data`] | `halflight data inspect FILE` |
//! | [`methods`] | `halflight methods` |
//! | [`explain`] | `halflight explain WORD` |
//! | [`guide`] | `halflight guide TOPIC` |
//! | [`ledger`] | `halflight ledger` |
//! | [`account`] | `halflight account` |
//! | [`site`] | `halflight site SESSION`: one of several sites with one model |
//! | [`verify`] | `halflight verify FILE` |
//! | [`rank`] | `halflight rank SESSION` |
//! | [`audit`] | `halflight audit [SESSION]` |
//! | [`predict`] | `halflight predict MODEL DATA` |
//! | [`export`] | `halflight export MODEL` |
//! | [`report`] | `halflight report RUN...` |
//! | [`share`] | `halflight share RUN` |
//! | [`completions`], [`man`] | `halflight completions SHELL`, `halflight man` |
//! | [`schema`] | `halflight schema [COMMAND]`: the output of `--json` |
//! | [`doctor`] | `halflight doctor` |
//! | [`tidy`] | `halflight tidy` |
//!
//! | module | for all of them |
//! |---|---|
//! | [`messages`] | messages on standard error, and how many of them |
//! | [`progress`], [`reading`], [`steps`] | progress of long work, of a file, of a run |
//! | [`signals`] | Ctrl-C and friends |
//!
//! Results go to standard output, progress and messages to standard error.
//! Exit codes: 0 done, 1 failed, 2 usage, 3 refused (no budget for it, or against a rule), 130 interrupted.

mod account;
mod audit;
mod choose;
mod completions;
mod data;
mod demo;
mod doctor;
mod explain;
mod export;
mod guide;
mod interface;
mod job_array;
mod ledger;
mod man;
pub mod messages;
mod methods;
mod open;
mod predict;
pub mod progress;
mod rank;
mod reading;
mod rehearse;
mod report;
mod run;
mod schema;
mod score;
mod share;
pub mod signals;
mod site;
mod steps;
mod sweep;
mod tidy;
mod tutorial;
mod verify;
mod watch;
#[cfg(test)]
mod written;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::error::{Doing as _, Error, ErrorKind, Result};
use crate::evaluation::FurtherScores;
use crate::files;
use crate::numeric::parallel;
use crate::session::Workspace;

/// Options that every command has appear under their own heading in the help.
const GLOBAL: &str = "Options for all commands";

/// A terminal workbench for private domain adaptation.
///
/// Without a command it opens the interface: on the given session, on
/// session.ron in this directory, or on the built-in demo.
#[derive(Debug, Parser)]
#[command(
    name = "halflight",
    version,
    subcommand_precedence_over_arg = true,
    after_help = "Examples:
  halflight
  halflight private.csv public.csv
  halflight session.ron

Results go to standard output, progress and remarks to standard error.
Exit codes: 0 done, 1 failed, 2 usage, 3 refused (no budget for it, or against a rule), 130 interrupted."
)]
struct Arguments {
    /// Session file to open (.ron), or data files to start a new session with (CSV, Parquet, NPY, IDX and others).
    files: Vec<PathBuf>,

    /// Print only results and errors.
    #[arg(short, long, global = true, help_heading = GLOBAL, conflicts_with = "verbose")]
    quiet: bool,

    /// Print more about what is done and why.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    verbose: bool,

    /// Number of threads [default: HALFLIGHT_THREADS, or as many as the machine has]. Results do
    /// not depend on it.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,

    /// Memory that a table may take, such as 16G. The numbers of larger tables are kept on the disk,
    /// and what cannot be kept there is refused [default: half of what is free, or four fifths].
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "BYTES", value_parser = crate::memory::parse)]
    max_memory: Option<u64>,

    #[command(subcommand)]
    command: Option<Subcommands>,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Open the built-in demo, or run it here with --plain.
    Demo(demo::Demo),
    Tutorial(tutorial::TutorialCommand),
    /// Run the plans of a session without the interface.
    Run(run::RunCommand),
    Site(site::SiteCommand),
    Sweep(sweep::Sweep),
    Watch(watch::WatchCommand),
    Rehearse(rehearse::Rehearse),
    Predict(predict::Predict),
    Export(export::Export),
    Score(score::ScoreCommand),
    Choose(choose::Choose),
    Report(report::ReportCommand),
    Share(share::ShareCommand),
    Rank(rank::Rank),
    /// Look at data files: schema, label candidates, problems.
    Data(data::Data),
    /// List the adaptation methods and their settings.
    Methods(methods::Methods),
    Explain(explain::Explain),
    Guide(guide::Guide),
    /// Show and mend the privacy ledger of a workspace.
    Ledger(ledger::LedgerCommand),
    Account(account::AccountCommand),
    Verify(verify::Verify),
    Audit(audit::Audit),
    Completions(completions::Completions),
    Man(man::Man),
    Schema(schema::SchemaCommand),
    Doctor(doctor::Doctor),
    Tidy(tidy::Tidy),
}

/// Prevents core dumps and debuggers of the same user from exposing private records. A refusal by
/// the system leaves things as they were.
fn keep_memory_to_itself() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// More threads than any current machine has cores.
pub const MOST_THREADS: i64 = 1024;

/// Starts the number of threads from the command line, or else from the environment. Fails if the
/// machine has no room for them.
pub fn use_threads(given: Option<u16>) -> Result<()> {
    let named = std::env::var(THREADS).ok().filter(|text| given.is_none() && !text.is_empty());
    let named = named.map(|text| {
        let number = text.trim().parse().ok();
        number.filter(|number| (1..=MOST_THREADS).contains(&i64::from(*number))).ok_or_else(|| {
            Error::usage(format!("{THREADS} is '{text}'"))
                .cure(format!("set it to a number from 1 to {MOST_THREADS}, or unset it"))
        })
    });
    let threads = given.or(named.transpose()?).map(usize::from);
    crate::memory::enough_for(threads.unwrap_or_else(parallel::of_the_machine))?;
    if let Some(threads) = threads {
        parallel::set_threads(threads);
    }
    Ok(())
}

const THREADS: &str = "HALFLIGHT_THREADS";
/// Set to 1 to promise that no other machine uses the workspace.
const ONE_MACHINE: &str = "HALFLIGHT_ONE_MACHINE";

/// Adds a hint if the word in a command's place looks like a file name.
fn with_hint(mut error: clap::Error) -> clap::Error {
    let of_data = error.to_string().contains("Usage: halflight data ")
        && error.kind() == clap::error::ErrorKind::InvalidSubcommand;
    if let (true, Some(ContextValue::String(word))) =
        (of_data, error.get(ContextKind::InvalidSubcommand))
        && Path::new(word).extension().is_some()
    {
        let hint = format!("to look at a file, write: halflight data inspect {word}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    keep_memory_to_itself();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| with_hint(error).exit());
    messages::set(arguments.quiet, arguments.verbose);
    crate::privacy::ledger::on_waiting(|text| messages::tell(text));
    if std::env::var_os(ONE_MACHINE).is_some_and(|word| word == "1") {
        crate::privacy::ledger::on_one_machine();
    }
    if let Some(bytes) = arguments.max_memory {
        crate::memory::allow(bytes);
    }
    crate::memory::use_again();
    let done = use_threads(arguments.threads).and_then(|()| match arguments.command {
        None => open::open(&arguments.files),
        Some(_) if !arguments.files.is_empty() => {
            Err(Error::usage("files to open and a command do not go together")
                .cure("name the files after the command"))
        }
        Some(Subcommands::Demo(demo)) => demo.execute(),
        Some(Subcommands::Tutorial(tutorial)) => tutorial.execute(),
        Some(Subcommands::Run(run)) => run.execute(),
        Some(Subcommands::Site(site)) => site.execute(),
        Some(Subcommands::Sweep(sweep)) => sweep.execute(),
        Some(Subcommands::Watch(watch)) => watch.execute(),
        Some(Subcommands::Rehearse(rehearse)) => rehearse.execute(),
        Some(Subcommands::Predict(predict)) => predict.execute(),
        Some(Subcommands::Export(export)) => export.execute(),
        Some(Subcommands::Score(score)) => score.execute(),
        Some(Subcommands::Choose(choose)) => choose.execute(),
        Some(Subcommands::Report(report)) => report.execute(),
        Some(Subcommands::Share(share)) => share.execute(),
        Some(Subcommands::Rank(rank)) => rank.execute(),
        Some(Subcommands::Data(data)) => data.execute(),
        Some(Subcommands::Methods(methods)) => methods.execute(),
        Some(Subcommands::Explain(explain)) => explain.execute(),
        Some(Subcommands::Guide(guide)) => guide.execute(),
        Some(Subcommands::Ledger(ledger)) => ledger.execute(),
        Some(Subcommands::Account(account)) => account.execute(),
        Some(Subcommands::Verify(verify)) => verify.execute(),
        Some(Subcommands::Audit(audit)) => audit.execute(),
        Some(Subcommands::Completions(completions)) => completions.execute(),
        Some(Subcommands::Man(man)) => man.execute(),
        Some(Subcommands::Schema(schema)) => schema.execute(),
        Some(Subcommands::Doctor(doctor)) => doctor.execute(),
        Some(Subcommands::Tidy(tidy)) => tidy.execute(),
    });
    finish(done)
}

/// Tells the error, if there is one, and gives the exit code.
pub fn finish(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            messages::complain(format_args!("error: {}", messages::words(&error)));
            exit_code(&error)
        }
    }
}

fn exit_code(error: &Error) -> ExitCode {
    ExitCode::from(match error.kind() {
        ErrorKind::Failed => 1,
        ErrorKind::Usage => 2,
        ErrorKind::Refused => 3,
        ErrorKind::Interrupted => 130,
    })
}

/// The workspace of a directory that the user named. A ledger that lies elsewhere is said.
fn workspace_named(directory: &Path) -> Result<Workspace> {
    let workspace = Workspace::of(directory)?;
    workspace.note_if_elsewhere(directory).iter().for_each(messages::note);
    Ok(workspace)
}

/// The workspace of a session, or the named one. Data files are relative to the session, wherever
/// the ledger is.
fn workspace_for(session: &Path, named: Option<&Path>) -> Result<Workspace> {
    let own = Workspace::of_session(session)?;
    let Some(named) = named else { return Ok(own) };
    Ok(Workspace::with_folder(own.base(), workspace_named(named)?.folder()))
}

/// The scores besides the error, without those that do not exist. The AUC is null if one of two
/// classes is missing.
fn further_json(further: &FurtherScores) -> serde_json::Value {
    let scores = [
        ("mean_absolute_error", further.mean_absolute_error, false),
        ("balanced_accuracy", further.balanced_accuracy, false),
        ("auc", further.auc.filter(|_| !further.one_class), further.one_class),
    ];
    let known = scores.into_iter().filter(|(_, score, is_null)| score.is_some() || *is_null);
    known.map(|(name, score, _)| (name.to_owned(), serde_json::json!(score))).collect()
}

/// Prints a result for programs, or as text.
fn print_result(
    as_json: bool,
    value: impl FnOnce() -> serde_json::Value,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if as_json { print_json(&value()) } else { print_line(&text()) }
}

/// Writes files into a folder, and says so; returns their paths.
fn write_files(folder: &Path, files: Vec<(String, String)>) -> Result<Vec<PathBuf>> {
    files::create_folder(folder).doing("create the directory", folder)?;
    let written = files.into_iter().map(|(name, text)| {
        let path = folder.join(name);
        files::write(&path, text.as_bytes())?;
        messages::tell(format_args!("wrote {}", path.display()));
        Ok(path)
    });
    written.collect()
}

/// Prints a JSON value on standard output.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
    print_line(&text)
}

/// Prints to standard output. A closed pipe does not crash the program.
pub fn print_line(text: &str) -> Result<()> {
    print_text(format!("{text}\n").as_bytes())
}

/// Prints text that ends its own lines. A closed pipe does not crash the program.
fn print_text(text: &[u8]) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::failed(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Every command below `command`, with the words that call it.
    fn all(command: &clap::Command, words: &str) -> Vec<(String, clap::Command)> {
        let subs = command.get_subcommands().filter(|sub| sub.get_name() != "help");
        let below = subs.flat_map(|sub| all(sub, &format!("{words} {}", sub.get_name())));
        std::iter::once((words.to_owned(), command.clone())).chain(below).collect()
    }

    /// The words of a line as a shell would split them, up to a pipe or a redirection.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in line.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words.into_iter().take_while(|word| word != "|" && word != ">").collect()
    }

    #[test]
    fn every_command_has_an_example_and_every_example_parses() {
        let root = Arguments::command();
        root.clone().debug_assert();
        for (call, command) in all(&root, "halflight") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> =
                help.lines().map(str::trim).filter(|line| line.starts_with(&call)).collect();
            assert!(!examples.is_empty(), "`{call}` has no example");
            for example in examples {
                if let Err(error) = Arguments::try_parse_from(words(example)) {
                    panic!("`{example}` of `{call}`: {error}");
                }
            }
        }
    }

    #[test]
    fn a_file_for_a_command_of_data_gets_a_hint_and_another_word_none() {
        let complaint = |line: &str| {
            let error = Arguments::try_parse_from(words(line)).unwrap_err();
            with_hint(error).to_string()
        };
        let hint = "halflight data inspect a.csv";
        assert!(complaint("halflight data a.csv").contains(hint));
        for line in ["halflight data nonsense", "halflight ledger a.csv", "halflight data"] {
            assert!(!complaint(line).contains("to look at a file"), "{line}");
        }
    }

    #[test]
    fn quiet_and_verbose_stand_before_or_after_the_command() {
        for line in ["halflight -q methods", "halflight methods --quiet", "halflight methods -v"] {
            let arguments = Arguments::try_parse_from(words(line)).unwrap();
            assert!(arguments.quiet != arguments.verbose, "{line}");
        }
        assert!(Arguments::try_parse_from(words("halflight -q -v methods")).is_err());
        // `run` prints plain lines anyway, but accepts `--plain` like `demo`.
        for line in ["halflight demo --plain", "halflight run s.ron --plain"] {
            assert!(Arguments::try_parse_from(words(line)).is_ok(), "{line}");
        }
    }
}
