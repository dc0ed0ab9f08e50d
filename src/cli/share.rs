//! `halflight share RUN`: copies the files that may leave.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{print_json, print_line};
use crate::error::{Error, Result};
use crate::session::outbox::{MAY_LEAVE, fill};
use crate::session::report::directories;
use crate::session::{Workspace, certificate};
use crate::verify::{self, claim::FileClaim};

/// Copy what may be shared of a run into a folder to pass on.
///
/// A workspace holds exact numbers and the ledger; its files are for your eyes only. This copies
/// the model, the certificate with its signature, the report and the released numbers, and nothing
/// else, to outbox/RUN beside the workspace's .halflight.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight share .halflight/runs/RUN
  halflight share RUN_A RUN_B --into /srv/models")]
pub struct ShareCommand {
    /// Run directories, or names of runs or their plans in this workspace.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Where each run gets a folder [default: outbox, beside .halflight].
    #[arg(short = 'o', long, value_name = "DIR")]
    into: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ShareCommand {
    pub fn execute(&self) -> Result<()> {
        let mut shared = Vec::new();
        for named in &self.runs {
            for directory in directories(named)? {
                let directory = std::path::absolute(&directory).unwrap_or(directory);
                let run = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let outbox = match &self.into {
                    Some(into) => into.clone(),
                    None => Workspace::of(&directory)?.folder().with_file_name("outbox"),
                };
                let into = outbox.join(&run);
                refuse_edited(&directory)?;
                let files = fill(&directory, &into)?;
                if !self.json {
                    print_line(&format!("{run} in {}", into.display()))?;
                    let is_there = |name: &str| files.iter().any(|file| file.ends_with(name));
                    let mut shared = MAY_LEAVE.iter().filter(|(name, _)| is_there(name));
                    shared
                        .try_for_each(|(name, what)| print_line(&format!("  {name:<22} {what}")))?;
                }
                shared.push(json!({"run": run, "folder": into, "files": files}));
            }
        }
        if self.json { print_json(&json!({ "shared": shared })) } else { Ok(()) }
    }
}

/// Refuses a run whose certificate says what its own contents do not bear out.
fn refuse_edited(directory: &Path) -> Result<()> {
    let file = directory.join(certificate::FILE);
    // A missing certificate is told by those who need it.
    if !file.is_file() {
        return Ok(());
    }
    let report = verify::verify(&file)?;
    if report.holds() {
        return Ok(());
    }
    let claims = report.claims.iter().filter(|claim| claim.verdict.is_false());
    let wrong = report.faults.iter().cloned().chain(claims.map(FileClaim::words)).next();
    Err(Error::refused(wrong.unwrap_or_default()).at(file.display().to_string()).cure(
        "restore the certificate from a copy, or run the plan again; `halflight verify` says more",
    ))
}
