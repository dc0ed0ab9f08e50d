//! The real program, with a configuration of the tests' own.

#![allow(dead_code)] // not every test needs all of it
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where the tests' programs keep what belongs to a user: nobody's own configuration is read
/// or written. Each test is another user: a look is noted in every ledger of a user that knows the
/// rows, and other tests may use the same rows at the same time.
pub fn home() -> PathBuf {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("main").replace("::", "-");
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("home").join(test)
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

/// Every byte of the tests' secret.
pub const SECRET: u8 = 0x5e;

/// A secret that several users of a test share, each with a configuration of their own.
pub fn secret() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("secret-{}", std::process::id()));
        write_secret(&path);
        path
    })
    .clone()
}

fn write_secret(path: &Path) {
    std::fs::write(path, format!("{SECRET:02x}").repeat(32)).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// Gives a configuration to a command that starts the program. Its secret is always the same: which
/// private rows a run holds out depends on it, and no test may fail by chance.
pub fn configure(command: &mut Command, config: &Path) {
    secret_in(config);
    command.env("XDG_CONFIG_HOME", config);
}

/// Puts the tests' secret into a configuration that has none.
pub fn secret_in(config: &Path) {
    let path = config.join("halflight/secret");
    if !path.exists() {
        std::fs::create_dir_all(config.join("halflight")).unwrap();
        write_secret(&path);
    }
}

/// Keeps a command that starts the program away from the user's own files.
pub fn apart(command: &mut Command) -> &mut Command {
    secret_in(&home().join("config"));
    command.env("XDG_CONFIG_HOME", home().join("config"));
    command.env("XDG_STATE_HOME", home().join("state"))
}

/// All files below a folder but those of this name, as text. Of web pages only what is read counts,
/// because coordinates in pictures may be any number, as the number of a process may.
pub fn written(folder: &Path, without: &str) -> String {
    gathered(folder, without, true)
}

/// What was written into text files alone: in numbers that are written as bytes, any short word may stand by chance.
pub fn written_as_text(folder: &Path, without: &str) -> String {
    gathered(folder, without, false)
}

fn gathered(folder: &Path, without: &str, with_bytes: bool) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &gathered(&path, without, with_bytes);
        } else if !path.ends_with("process") && !path.ends_with(without) {
            let bytes = std::fs::read(&path).unwrap();
            if !with_bytes && std::str::from_utf8(&bytes).is_err() {
                continue;
            }
            let file = String::from_utf8_lossy(&bytes).into_owned();
            text +=
                &if path.extension().is_some_and(|it| it == "html") { read(&file) } else { file };
        }
    }
    text
}

/// A page without its tags.
fn read(page: &str) -> String {
    page.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect()
}
