//! The messages of a command beside its result, on standard error: only errors with `--quiet`, more
//! with `--verbose`.
//!
//! Nothing here fails: a closed pipe (`2>&1 | head -1`) does not stop a command.

use std::fmt::Display;
use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::error::{Action, Error};
use crate::files::words::harmless_lines;

/// The level of detail. One per process, like standard error itself.
static LEVEL: AtomicU8 = AtomicU8::new(NORMAL);

/// Whether exact facts about private data are forbidden in messages, including cells quoted in
/// errors.
static SEALED: AtomicBool = AtomicBool::new(false);

const QUIET: u8 = 0;
const NORMAL: u8 = 1;
const VERBOSE: u8 = 2;

/// Sets the level that `--quiet` and `--verbose` ask for.
pub fn set(quiet: bool, verbose: bool) {
    let level = match (quiet, verbose) {
        (true, _) => QUIET,
        (false, true) => VERBOSE,
        (false, false) => NORMAL,
    };
    LEVEL.store(level, Ordering::Relaxed);
}

/// From now on, no error quotes a cell.
pub fn seal() {
    SEALED.store(true, Ordering::Relaxed);
}

/// The text of an error, with the cell that caused it if that may be shown.
pub fn words(error: &Error) -> String {
    let error = error.in_words(commands);
    let sealed = SEALED.load(Ordering::Relaxed);
    // The error may quote text from other people.
    harmless_lines(&if sealed { error.to_string() } else { error.for_curator() })
}

/// The commands for the ledger action of a cure.
pub fn commands(action: &Action) -> String {
    match action {
        Action::SetBudget { account: Some(id) } => {
            format!("`halflight ledger budget {id} EPSILON DELTA`")
        }
        Action::SetBudget { account: None } | Action::RaiseBudget { account: None, .. } => {
            "under `budgets` in the session".to_owned()
        }
        Action::RaiseBudget { account: Some(id), in_session } => {
            let session = if *in_session { "under `budgets` in the session, and " } else { "" };
            format!("{session}`halflight ledger budget {id} EPSILON DELTA`")
        }
        Action::AllowDelta { account, budget } => format!(
            "`halflight ledger budget {account} {budget} --allow-large-delta`, or \
             allow_large_delta: true in the session's budget"
        ),
        Action::Accept { account } => format!("`halflight ledger accept {account}`"),
        Action::DoWithout { secret } => format!(
            "HALFLIGHT_SECRET_FILE names another place; `halflight ledger accept {secret}` goes on"
        ),
        Action::TrustLocks => format!("`{}=1` in the environment", super::ONE_MACHINE),
        Action::Repair => {
            "`halflight ledger repair`, then `halflight ledger accept ACCOUNT`".to_owned()
        }
        Action::ListAccounts => "`halflight ledger` lists them".to_owned(),
        Action::MendClaim => "--mended charges of each draw the larger number of both versions; \
                              --instead WHY counts this version alone"
            .to_owned(),
    }
}

pub fn is_quiet() -> bool {
    LEVEL.load(Ordering::Relaxed) == QUIET
}

pub fn is_verbose() -> bool {
    LEVEL.load(Ordering::Relaxed) == VERBOSE
}

/// Prints progress and remarks.
pub fn tell(text: impl Display) {
    if !is_quiet() {
        say(text);
    }
}

/// A remark, unless the user wants none.
pub fn note(text: impl Display) {
    tell(format_args!("note: {text}"));
}

/// Prints details that help to find causes.
pub fn detail(text: impl Display) {
    if is_verbose() {
        say(text);
    }
}

/// Always prints: for errors, and for output that a program explicitly asked for.
pub fn complain(text: impl Display) {
    say(text);
}

fn say(text: impl Display) {
    let _ = writeln!(stderr(), "{text}");
}
