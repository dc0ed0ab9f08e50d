//! The real program, with a configuration of the tests' own.

#![allow(dead_code)] // not every test needs all of it
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

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

/// A shell in which the program is apart, too.
pub fn shell() -> Command {
    let mut command = Command::new("sh");
    apart(&mut command);
    command
}

/// A secret that several users of a test share, each with a configuration of their own.
pub fn secret() -> PathBuf {
    static SECRET: OnceLock<PathBuf> = OnceLock::new();
    SECRET
        .get_or_init(|| {
            let path = home().with_file_name(format!("secret-{}", std::process::id()));
            std::fs::write(&path, "5e".repeat(32)).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let owner = std::fs::Permissions::from_mode(0o600);
                std::fs::set_permissions(&path, owner).unwrap();
            }
            path
        })
        .clone()
}

/// Keeps a command that starts the program away from the user's own files.
pub fn apart(command: &mut Command) -> &mut Command {
    command.env("XDG_CONFIG_HOME", home().join("config"));
    command.env("XDG_STATE_HOME", home().join("state"))
}
