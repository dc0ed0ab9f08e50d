//! Where the user's secret is kept, and how it is made.
//!
//! | first that holds | place |
//! |---|---|
//! | `HALFLIGHT_SECRET_FILE` is set | the file that it names, for a team or a cluster |
//! | the workspace has one already | `.halflight/secret` |
//! | the configuration can be written | `$XDG_CONFIG_HOME/halflight/secret`, usually `~/.config/halflight/secret` |
//! | otherwise | `.halflight/secret`: the account then stays in this workspace |
//!
//! The secret is made once, from the operating system's random bytes, and never replaced: anything
//! written under it means nothing under another one.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rand::TryRng as _;
use rand::rngs::SysRng;

use super::preferences::UserDirectories;
use crate::error::{Doing as _, Error, Result};
use crate::files;
use crate::privacy::Secret;

pub const VARIABLE: &str = "HALFLIGHT_SECRET_FILE";
const FILE: &str = "secret";

/// The secret for a workspace, with a remark for the user.
#[derive(Debug, Clone)]
pub struct FoundSecret {
    pub secret: Secret,
    pub remark: Option<String>,
}

/// The secret for the workspace with this folder; made if there is none.
pub fn find(folder: &Path) -> Result<FoundSecret> {
    of_user(folder, true)?.ok_or_else(|| Error::failed("there is no place for the user's secret"))
}

/// The secret for the workspace with this folder; `None` if there is none.
pub fn find_existing(folder: &Path) -> Result<Option<FoundSecret>> {
    of_user(folder, false)
}

fn of_user(folder: &Path, make: bool) -> Result<Option<FoundSecret>> {
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    search(named.as_deref(), folder, UserDirectories::of_environment().as_ref(), make)
}

fn search(
    named: Option<&Path>,
    folder: &Path,
    places: Option<&UserDirectories>,
    make: bool,
) -> Result<Option<FoundSecret>> {
    if let Some(path) = named {
        return open_or_make(path, make, Guard::Team);
    }
    let own = folder.join(FILE);
    let here = |found: Option<FoundSecret>| {
        found.map(|found| FoundSecret { remark: Some(bound_to(folder)), ..found })
    };
    if own.exists() {
        return open_or_make(&own, false, Guard::Owner).map(here);
    }
    if let Some(places) = places {
        let path = places.config.join(FILE);
        if make && !path.exists() {
            // If this fails, the next step reports the error, or the workspace is used instead.
            let _ = files::create_private_folder(&places.config);
        }
        match open_or_make(&path, make, Guard::Owner) {
            Ok(None) => {}
            // If it exists but cannot be used, taking another one would be a guess.
            Err(_) if !path.exists() => {}
            found => return found,
        }
    }
    if !make {
        return Ok(None);
    }
    files::create_private_folder(folder).doing("create the workspace folder", folder)?;
    open_or_make(&own, true, Guard::Owner).map(here)
}

fn bound_to(folder: &Path) -> String {
    format!(
        "the secret that names private datasets is kept in {}, because the configuration could \
         not be written: the account cannot follow a file into another workspace",
        folder.display()
    )
}

/// What protects the file.
#[derive(Clone, Copy, PartialEq)]
enum Guard {
    Owner,
    /// The user named the file; its group may read it.
    Team,
}

fn open_or_make(path: &Path, make: bool, guard: Guard) -> Result<Option<FoundSecret>> {
    match fs::read_to_string(path).if_there().doing("read the user's secret", path)? {
        Some(text) => {
            let remark = check_permissions(path, guard)?;
            parse(&text, path).map(|secret| Some(FoundSecret { secret, remark }))
        }
        None if make => {
            create(path).doing("create the user's secret", path)?;
            // If several programs make it at once, the first one's stays, for all of them.
            open_or_make(path, false, guard)
        }
        None => Ok(None),
    }
}

fn create(path: &Path) -> io::Result<()> {
    let mut text = String::new();
    for _ in 0..4 {
        // Writing into a String cannot fail.
        let _ = write!(text, "{:016x}", SysRng.try_next_u64().map_err(io::Error::other)?);
    }
    files::make_private_once(path, (text + "\n").as_bytes())
}

fn parse(text: &str, path: &Path) -> Result<Secret> {
    let digits = text.trim();
    let word = |at: usize| {
        let digits = digits.get(2 * at..2 * at + 2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let bytes: Option<Vec<u8>> = (0..32).map(word).collect();
    let bytes = bytes.filter(|_| digits.len() == 64).and_then(|bytes| bytes.try_into().ok());
    bytes.map(|bytes| Secret::new(bytes, path)).ok_or_else(|| {
        Error::failed("this is not the secret of a user: 64 hexadecimal digits belong here")
            .at(path.display().to_string())
            .cure("bring the file back from a backup: the ledgers cannot be used without it")
    })
}

#[cfg(unix)]
fn check_permissions(path: &Path, guard: Guard) -> Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt;
    let checking = "check who may read the user's secret";
    let mode = fs::metadata(path).doing(checking, path)?.permissions().mode() & 0o777;
    let allowed = if guard == Guard::Team { 0o640 } else { 0o600 };
    if mode & 0o077 & !allowed == 0 {
        return Ok(None);
    }
    if guard == Guard::Team {
        return Err(Error::refused(format!(
            "others may read or change the file with the secret (mode {mode:o})"
        ))
        .at(path.display().to_string())
        .cure(format!("chmod 640 {}, or 600", path.display())));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).doing(checking, path)?;
    Ok(Some(format!(
        "others could read {} (mode {mode:o}); now only you can. Whoever has copied it can test \
         guesses about records against your ledgers",
        path.display()
    )))
}

#[cfg(not(unix))]
fn check_permissions(_: &Path, _: Guard) -> Result<Option<String>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(directory: &Path) -> UserDirectories {
        UserDirectories {
            config: directory.join("config/halflight"),
            state: directory.join("state"),
        }
    }

    fn in_configuration(directory: &Path) -> Result<FoundSecret> {
        let folder = directory.join(".halflight");
        search(None, &folder, Some(&places(directory)), true).map(Option::unwrap)
    }

    #[test]
    fn it_is_made_once_and_only_its_owner_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let first = in_configuration(directory.path()).unwrap();
        assert_eq!(first.remark, None);
        assert_eq!(in_configuration(directory.path()).unwrap().secret, first.secret);
        assert!(!directory.path().join(".halflight").exists());
        let folder = directory.path().join("config/halflight");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file stays");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let file = folder.join("secret");
            assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            let mended = in_configuration(directory.path()).unwrap();
            assert!(mended.remark.unwrap().contains("others could read"));
            assert_eq!(mode(&file), 0o600);
        }
    }

    #[test]
    fn of_many_programs_that_make_it_at_once_all_use_one() {
        let directory = tempfile::tempdir().unwrap();
        let secrets: Vec<Secret> = std::thread::scope(|scope| {
            let make = || in_configuration(directory.path()).unwrap().secret;
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(secrets.iter().all(|secret| *secret == secrets[0]));
    }

    #[test]
    fn without_a_configuration_it_stays_in_the_workspace_and_that_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(".halflight");
        // A file is where the configuration's directory should be.
        fs::write(directory.path().join("config"), "").unwrap();
        let places = places(directory.path());
        assert!(search(None, &folder, Some(&places), false).unwrap().is_none());
        let found = search(None, &folder, Some(&places), true).unwrap().unwrap();
        assert!(found.remark.unwrap().contains("cannot follow a file"));
        assert_eq!(found.secret.place(), folder.join("secret"));
        // The workspace keeps it, even if there is a configuration later.
        let other = tempfile::tempdir().unwrap();
        let places =
            UserDirectories { config: other.path().join("c"), state: other.path().join("s") };
        let later = search(None, &folder, Some(&places), true).unwrap().unwrap();
        assert_eq!(later.secret, found.secret);
    }

    #[test]
    fn a_named_file_comes_first_and_a_damaged_or_open_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let named = directory.path().join("team");
        let folder = directory.path().join(".halflight");
        let find = || search(Some(&named), &folder, Some(&places(directory.path())), true);
        let found = find().unwrap().unwrap();
        assert_eq!(found.secret.place(), named);
        assert!(!directory.path().join("config").exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&named, fs::Permissions::from_mode(0o640)).unwrap();
            assert_eq!(find().unwrap().unwrap().secret, found.secret);
            fs::set_permissions(&named, fs::Permissions::from_mode(0o644)).unwrap();
            assert!(find().unwrap_err().to_string().contains("others may read"));
            fs::set_permissions(&named, fs::Permissions::from_mode(0o600)).unwrap();
        }
        for damaged in ["", "abc", &"zz".repeat(32), &"00".repeat(33)] {
            fs::write(&named, damaged).unwrap();
            let error = find().unwrap_err().to_string();
            assert!(error.contains("not the secret of a user"), "{error}");
        }
    }
}
