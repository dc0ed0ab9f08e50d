//! The embedded demo: two sessions on data inside the program, in a workspace
//! of their own that is fresh every time, because its data are public anyway.

use std::path::PathBuf;

use super::file::Session;
use super::workspace::Workspace;
use crate::error::{Error, Result};

const GERMAN_CREDIT: &[u8] = include_bytes!("../../assets/german_credit/german_credit_codes.csv");
const BIKESHARE: &[u8] = include_bytes!("../../assets/bikeshare/bikeshare.csv");

/// Demo sessions by name.
pub const SESSIONS: [(&str, &str); 2] = [
    ("bikeshare", include_str!("../../assets/bikeshare/session.ron")),
    ("synthetic", include_str!("../../assets/synthetic/session.ron")),
];

/// A dataset inside the program.
pub fn builtin(name: &str) -> Result<&'static [u8]> {
    match name {
        "bikeshare" => Ok(BIKESHARE),
        "german_credit" => Ok(GERMAN_CREDIT),
        _ => Err(Error::usage(format!("there is no built-in dataset '{name}'"))
            .cure("the built-in datasets are: bikeshare, german_credit")),
    }
}

/// The demo session called `name`.
pub fn session(name: &str) -> Result<Session> {
    let found = SESSIONS.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| {
        let known: Vec<_> = SESSIONS.iter().map(|(known, _)| *known).collect();
        Error::usage(format!("there is no demo '{name}'"))
            .cure(format!("the demos are: {}", known.join(", ")))
    })?;
    Session::parse(text, &format!("demo {name}"))
}

/// A new, empty workspace under the system's directory for temporary files.
pub fn workspace() -> Result<Workspace> {
    let unique =
        format!("halflight-demo-{}-{}", crate::clock::now().as_millisecond(), std::process::id());
    let directory: PathBuf = std::env::temp_dir().join(unique);
    Ok(Workspace::fresh(&directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_demo_session_is_valid_and_survives_saving() {
        for (name, _) in SESSIONS {
            let demo = session(name).unwrap();
            let again = Session::parse(&demo.to_ron().unwrap(), name).unwrap();
            assert_eq!(demo, again);
        }
    }
}
