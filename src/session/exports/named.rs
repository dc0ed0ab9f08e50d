//! Files at paths that the user named. One that is there already is kept, unless the program wrote it
//! as the same kind of file, or the user allows to overwrite it. A file of data is always kept.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::store::{Session, Workspace, run_directory};

/// A kind of file that tells from its contents that this program wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnKind {
    /// A page about audits.
    Audit,
    /// A picture of a screen.
    Picture,
    /// A certificate of everything that an account has spent.
    AccountCertificate,
    Session,
}

/// The most that is read of a file to learn its kind.
const MOST_READ: u64 = 1 << 24;

impl OwnKind {
    fn is_of(self, path: &Path) -> bool {
        let sign = match self {
            Self::Audit => "<title>halflight audit</title>",
            Self::Picture => "<title>halflight: ",
            Self::AccountCertificate => "\"outside_every_guarantee\": ",
            Self::Session => return Session::open(path).is_ok(),
        };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MOST_READ).read_to_end(&mut bytes));
        read.is_ok() && String::from_utf8_lossy(&bytes).contains(sign)
    }
}

/// The files that may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    Nothing,
    /// Files of this kind that the program wrote.
    Own(OwnKind),
    /// Any file, if the user said `--force`.
    Forced(bool),
}

impl Replace {
    fn allows(self, path: &Path) -> bool {
        match self {
            Self::Nothing => false,
            Self::Own(kind) => kind.is_of(path),
            Self::Forced(force) => force,
        }
    }
}

/// Refuses a path at which something would be lost: a file that may not be replaced, or one of the
/// files and folders in `data`.
pub fn check(path: &Path, replace: Replace, data: &[PathBuf]) -> Result<()> {
    let refuse =
        |what: &str, cure: &str| Err(Error::usage(what).at(path.display().to_string()).cure(cure));
    let real = real(path);
    if path.exists() && !replace.allows(path) {
        let forced = "choose another name, or overwrite it with --force";
        let cure = if replace == Replace::Forced(false) { forced } else { "choose another name" };
        return refuse("it is there already", cure);
    }
    if data.iter().any(|data| real.starts_with(self::real(data))) {
        return refuse("data are read from there", "choose another name");
    }
    Ok(())
}

/// The path itself, or the first of `report-2.html`, `report-3.html`, … that is not there yet.
pub fn unused(path: &Path) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().display().to_string();
    let (stem, ending) = (part(path.file_stem()), part(path.extension()));
    let numbered = |number: usize| {
        let dot = if ending.is_empty() { "" } else { "." };
        path.with_file_name(format!("{stem}-{number}{dot}{ending}"))
    };
    let mut all = std::iter::once(path.to_path_buf()).chain((2..).map(numbered));
    all.find(|path| !path.exists()).unwrap_or_else(|| path.to_path_buf())
}

/// The path without links; the file itself need not exist.
fn real(path: &Path) -> PathBuf {
    let of_folder = || {
        let path = std::path::absolute(path).ok()?;
        Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| path.to_path_buf())
}

/// The files and folders from which the datasets of a session are read.
pub fn data_of(session: &Session, workspace: &Workspace) -> Vec<PathBuf> {
    let files = session.datasets.iter().flat_map(|dataset| {
        let networks = dataset.extract.iter().map(|extraction| extraction.network.as_str());
        dataset.source.files().into_iter().chain(networks)
    });
    files.map(|file| workspace.resolve(file)).collect()
}

/// The files and folders of data of a session file, or of the session of a run that is named by its
/// folder or its model; none if there is no session or it cannot be read.
pub fn data_at(session_or_run: &Path) -> Vec<PathBuf> {
    let of_run = run_directory::SESSION;
    let paths = [
        session_or_run.to_path_buf(),
        session_or_run.join(of_run),
        session_or_run.with_file_name(of_run),
    ];
    let mut sessions = paths.iter().filter(|path| path.extension().is_some_and(|it| it == "ron"));
    let read = |path: &PathBuf| {
        Some(data_of(&Session::open(path).ok()?, &Workspace::of_session(path).ok()?))
    };
    sessions.find_map(read).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_by_its_own_kind_or_by_force_and_data_never() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        write("audit.html", "<head><title>halflight audit</title></head>");
        write("screen.svg", "<svg><title>halflight: Plan</title></svg>");
        write("account.json", "{\n  \"outside_every_guarantee\": []\n}");
        write("session.ron", &Session::default().to_ron().unwrap());
        write("theirs", "<svg><title>of another program</title></svg>");
        write("data.csv", "a,b\n1,2\n");
        let kinds = [
            (OwnKind::Audit, "audit.html"),
            (OwnKind::Picture, "screen.svg"),
            (OwnKind::AccountCertificate, "account.json"),
            (OwnKind::Session, "session.ron"),
        ];
        let files = kinds.map(|(_, file)| file).into_iter().chain(["theirs", "data.csv"]);
        for file in files {
            for (kind, own) in kinds {
                let allowed = check(&path(file), Replace::Own(kind), &[]).is_ok();
                assert_eq!(allowed, file == own, "{file} as {kind:?}");
            }
            assert!(check(&path(file), Replace::Nothing, &[]).is_err(), "{file}");
            let refused = check(&path(file), Replace::Forced(false), &[]).unwrap_err();
            assert!(refused.to_string().contains("--force"), "{refused}");
        }
        check(&path("theirs"), Replace::Forced(true), &[]).unwrap();
        check(&path("new"), Replace::Nothing, &[path("data.csv")]).unwrap();
        // By another name, and in a folder of data.
        let data = [path("data.csv"), path("parts")];
        std::fs::create_dir(path("parts")).unwrap();
        for file in ["./parts/../data.csv", "parts/new.csv"] {
            let refused = check(&path(file), Replace::Forced(true), &data).unwrap_err();
            assert!(refused.to_string().contains("data are read"), "{refused}");
        }
    }

    #[test]
    fn a_further_file_gets_a_number() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert_eq!(unused(&path("report.html")), path("report.html"));
        for next in ["report-2.html", "report-3.html"] {
            std::fs::write(unused(&path("report.html")), "").unwrap();
            assert_eq!(unused(&path("report.html")), path(next));
        }
        std::fs::write(path("report"), "").unwrap();
        assert_eq!(unused(&path("report")), path("report-2"));
    }

    #[test]
    fn the_data_of_a_session_are_found_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.ron");
        let mut session = crate::store::demo::session("bikeshare").unwrap();
        session.datasets[0].source = crate::data::Source::File("ours.csv".to_owned());
        session.save(&path).unwrap();
        assert_eq!(data_at(&path), [directory.path().join("ours.csv")]);
        assert!(data_at(directory.path()).is_empty(), "it is no run");
    }
}
