//! `halflight demo`: the built-in demo, in the interface or as text.

use clap::Args;

use super::run::{Options, run_plans};
use crate::error::{Error, Result};
use crate::session::{Workspace, demo};
use crate::tui;

/// Steps per second at which the interface shows the short demo runs.
const DEMO_PACE: f64 = 16.0;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight demo
  halflight demo --plain
  halflight demo synthetic --json --workspace study")]
pub struct Demo {
    /// Which demo: bikeshare or synthetic.
    #[arg(default_value = "bikeshare")]
    name: String,

    /// Run it here, line by line, and print its result.
    #[arg(long)]
    plain: bool,

    /// Print the result as JSON (implies --plain).
    #[arg(long)]
    json: bool,

    /// Keep ledger and runs in this directory instead of a throw-away one.
    #[arg(long, value_name = "DIR")]
    workspace: Option<std::path::PathBuf>,

    /// At most this many steps per second.
    #[arg(long, value_name = "STEPS")]
    pace: Option<f64>,
}

impl Demo {
    pub fn execute(&self) -> Result<()> {
        if !self.plain && !self.json {
            super::open::need_terminal()?;
            return interface(&self.name);
        }
        let session = demo::session(&self.name)?;
        let workspace = match &self.workspace {
            Some(directory) => Workspace::fresh(
                &std::path::absolute(directory)
                    .map_err(|error| Error::io("find the directory", directory, &error))?,
            ),
            None => demo::workspace()?,
        };
        let options = Options {
            json: self.json,
            pace: self.pace,
            note: Some(
                "The demo's private data are public, so its exact numbers (◆) may be shown."
                    .to_owned(),
            ),
            ..Options::default()
        };
        run_plans(&session, &workspace, &options)
    }
}

/// The interface on a demo session.
pub fn interface(name: &str) -> Result<()> {
    let workspace = demo::workspace()?;
    let mut app = super::open::app(demo::session(name)?, None)?;
    app.context.demo = Some(workspace.base().to_path_buf());
    app.context.pace = Some(DEMO_PACE);
    tui::run(app, workspace)
}
