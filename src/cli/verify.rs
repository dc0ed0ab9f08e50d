//! `halflight verify FILE`: a second opinion on a certificate or a ledger.

use std::path::PathBuf;

use clap::Args;

use super::print_result;
use crate::error::{Error, Result};
use crate::session::archive;
use crate::verify;

/// Check a certificate or a ledger by computing it a second time, in an independent way.
///
/// The check uses closed forms, Rényi divergences and a contour integral over the mechanisms that
/// the file lists, and no code of the accountant that wrote it. For a ledger, the hashes of all lines and
/// the totals of all accounts are checked. Exit code 1 if a statement does not hold.
/// assets/verify.py does the same in 220 lines of Python.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight verify .halflight/runs/RUN/certificate.json
  halflight verify .halflight/ledger.jsonl
  halflight verify certificate.json --json")]
pub struct Verify {
    /// A certificate.json, a ledger.jsonl, or the directory that holds one; or the name of a run or its
    /// plan in this workspace.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub fn execute(&self) -> Result<()> {
        let report = verify::verify(&archive::run_named(&self.file)?)?;
        print_result(self.json, || report.json(), || report.text())?;
        if report.holds() {
            return Ok(());
        }
        Err(Error::failed(format!("this {} does not hold", report.kind))
            .at(report.file)
            .cure("do not rely on it: ask for the original where you got it"))
    }
}
