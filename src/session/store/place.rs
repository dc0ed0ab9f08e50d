//! The places where runs can be followed: a workspace, a run, a sweep.

use std::path::{Path, PathBuf};

use super::archive;
use super::sweep::{self, SweepDirectory};
use super::workspace::Workspace;
use crate::error::{Doing as _, Error, Result};

/// A place with runs.
#[derive(Debug, Clone)]
pub enum Place {
    /// The runs of a workspace, and those of its sweeps that have begun.
    Workspace(Workspace),
    /// Every task of a sweep, begun or not.
    Sweep(Box<SweepDirectory>),
    /// One run.
    Run(PathBuf),
}

impl Place {
    /// The place that a user names: a session, a directory with a workspace, a sweep, a run, or the
    /// name of a run in the workspace of this directory, or of its plan.
    pub fn of(path: &Path) -> Result<Self> {
        if path.is_file() {
            let is_session = path.extension().is_some_and(|it| it == "ron");
            if !is_session || path.file_name().is_some_and(|name| name == "run.ron") {
                return match path.parent() {
                    Some(run) if path.ends_with("run.ron") => Self::of(run),
                    _ => Err(unknown(path)),
                };
            }
            return Workspace::of_session(path).map(Self::Workspace);
        }
        if path.is_dir() {
            let absolute = std::path::absolute(path).doing("find the directory", path)?;
            if path.join(sweep::FILE).is_file() {
                return Ok(Self::Sweep(Box::new(SweepDirectory::open(path)?)));
            }
            if ["run.ron", "events.jsonl"].iter().any(|name| path.join(name).is_file()) {
                return Ok(Self::Run(absolute));
            }
            return Workspace::of(path).map(Self::Workspace);
        }
        let run = archive::run_named(path)?;
        if run.is_dir() { Ok(Self::Run(run)) } else { Err(unknown(path)) }
    }
}

fn unknown(path: &Path) -> Error {
    let why = if path.is_file() {
        "there is nothing to watch: the file is not a session, and its first line is not that of a \
         trainer's steps, such as {\"halflight\": \"steps 1\", …}"
    } else {
        "there is nothing to watch"
    };
    Error::usage(why)
        .at(path.display().to_string())
        .cure("name a session, a workspace, a sweep, a run, or a trainer's events.jsonl")
}
