//! The real program, with a configuration of the tests' own.

#![allow(dead_code)] // not every test needs all of it
use std::path::PathBuf;
use std::process::Command;

/// Where the tests' programs keep what belongs to a user: nobody's own configuration is read
/// or written.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("home")
}

/// `halflight`, without arguments yet.
pub fn halflight() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halflight"));
    apart(&mut command);
    command
}

/// Keeps a command that starts the program away from the user's own files.
pub fn apart(command: &mut Command) -> &mut Command {
    command.env("XDG_CONFIG_HOME", home().join("config"));
    command.env("XDG_STATE_HOME", home().join("state"))
}
