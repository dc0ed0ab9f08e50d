//! The command line: headless commands and the door to the interface.
//!
//! | module | command |
//! |---|---|
//! | [`open`] | `halflight [SESSION]` |
//! | [`demo`] | `halflight demo` |
//! | [`run`] | `halflight run SESSION` |
//! | [`data`] | `halflight data inspect FILE` |
//! | [`methods`] | `halflight methods` |
//! | [`ledger`] | `halflight ledger` |
//! | [`account`] | `halflight account` |
//! | [`rank`] | `halflight rank SESSION` |
//! | [`reproduce`] | `halflight reproduce` |
//! | [`picture`] | `halflight picture` |
//!
//! Results go to standard output, progress and messages to standard error.
//! Exit codes: 0 done, 1 failed, 2 usage, 3 refused by the budget, 130 interrupted.

mod account;
mod data;
mod demo;
mod ledger;
mod methods;
mod open;
mod picture;
mod progress;
mod rank;
mod reproduce;
mod run;
mod signals;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::{Error, Kind, Result};

/// A terminal workbench for private domain adaptation.
///
/// Without a command it opens the interface: on the given session, on
/// session.ron in this directory, or on the built-in demo.
#[derive(Debug, Parser)]
#[command(name = "halflight", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Session file to open (.ron), or data files to start a new session with (.csv, .tsv).
    files: Vec<PathBuf>,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Open the built-in demo, or run it here with --plain.
    Demo(demo::Demo),
    /// Run the plans of a session without the interface.
    Run(run::Run),
    /// Rank a session's public datasets: which can stand in for the private one?
    Rank(rank::Rank),
    /// Look at data files: schema, label candidates, problems.
    Data(data::Data),
    /// List the adaptation methods and their settings.
    Methods(methods::Methods),
    /// Show and mend the privacy ledger of a workspace.
    Ledger(ledger::LedgerCommand),
    Account(account::AccountCommand),
    /// Repeat the papers' experiments on public data; nothing here is private.
    Reproduce(reproduce::Reproduce),
    /// Write pictures of the screens (SVG), as they stand in the README.
    Picture(picture::Picture),
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        None => open::open(&arguments.files),
        Some(Command::Demo(demo)) => demo.execute(),
        Some(Command::Run(run)) => run.execute(),
        Some(Command::Rank(rank)) => rank.execute(),
        Some(Command::Data(data)) => data.execute(),
        Some(Command::Methods(methods)) => methods.execute(),
        Some(Command::Ledger(ledger)) => ledger.execute(),
        Some(Command::Account(account)) => account.execute(),
        Some(Command::Reproduce(reproduce)) => reproduce.execute(),
        Some(Command::Picture(picture)) => picture.execute(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            exit_code(&error)
        }
    }
}

fn exit_code(error: &Error) -> ExitCode {
    ExitCode::from(match error.kind() {
        Kind::Failed => 1,
        Kind::Usage => 2,
        Kind::Refused => 3,
        Kind::Interrupted => 130,
    })
}

/// Prints a JSON value on standard output.
fn print_json(value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::failed(format!("cannot write JSON: {error}")))?;
    print_line(&text)
}

/// Prints to standard output; a closed pipe is no crash.
fn print_line(text: &str) -> Result<()> {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::failed(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}
