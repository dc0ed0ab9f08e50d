//! `halflight tidy`: removes the leftovers of killed programs.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{print_json, print_line, print_result, workspace_named};
use crate::error::Result;
use crate::session::leftovers;

/// List what programs that died left behind; --yes removes it.
///
/// Looks for directories of runs that were never granted, half-written files (NAME.new-PROCESS),
/// marker files of runs that have ended, notes about ledgers that were cut off while they were
/// written, and folders of demos and tutorials. What is younger than an hour may be in use and is not listed. Whatever
/// counts in a ledger is never removed, but listed with what to do about it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight tidy
  halflight tidy --yes
  halflight tidy --workspace study --json")]
pub struct Tidy {
    /// Directory of the workspace.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,

    /// Remove what can be removed, instead of only listing it.
    #[arg(long)]
    yes: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Tidy {
    pub fn execute(&self) -> Result<()> {
        let workspace = workspace_named(&self.workspace)?;
        if !workspace.folder().exists() {
            let words = || format!("no workspace in {}", self.workspace.display());
            return print_result(self.json, || json!({ "found": [] }), words);
        }
        let mut ledger = workspace.existing_ledger()?;
        let found = leftovers::find(&workspace, &mut ledger)?;
        let removable = found.iter().filter(|it| it.advice.is_none()).count();
        if self.yes {
            found.iter().try_for_each(leftovers::Leftover::remove)?;
        }
        if self.json {
            let list = found.iter().map(|it| {
                let removed = self.yes && it.advice.is_none();
                json!({ "path": it.path, "what": it.what, "advice": it.advice, "removed": removed })
            });
            return print_json(&json!({ "found": list.collect::<Vec<Value>>() }));
        }
        for it in &found {
            let done = if self.yes && it.advice.is_none() { "removed " } else { "" };
            print_line(&format!("{done}{}: {}", it.path.display(), it.what))?;
            it.advice
                .iter()
                .try_for_each(|advice| print_line(&format!("  what to do: {advice}")))?;
        }
        if found.is_empty() {
            return print_line("nothing was left behind");
        }
        if removable == 0 || self.yes {
            return Ok(());
        }
        print_line(&format!(
            "nothing has been removed yet; this removes {removable} of them: halflight tidy --yes"
        ))
    }
}
