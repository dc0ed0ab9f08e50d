//! `halflight tutorial`: ten minutes inside the interface.

use std::path::PathBuf;

use clap::Args;

use crate::error::{Doing as _, Result};
use crate::files;
use crate::session::{Workspace, demo};
use crate::tui;
use crate::tui::context::{DemoWorkspace, Tutorial};

/// Learn halflight in ten minutes, inside the interface.
///
/// Seven steps on made-up records of four hospitals: add a file, rank, rehearse, plan, run,
/// verdict, report. Each says which key to press and waits until that is done. Everything lies in a
/// folder for temporary files, which is removed at the end; Esc leaves the tutorial.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight tutorial
  halflight tutorial --files hospitals

`halflight guide tutorial` is the same as a page.")]
pub struct TutorialCommand {
    /// Write the hospitals' records and a session on them into this new directory instead.
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
}

impl TutorialCommand {
    pub fn execute(&self) -> Result<()> {
        if let Some(directory) = &self.files {
            return super::demo::write_new(directory, demo::tutorial_files());
        }
        super::interface::need_terminal()?;
        let workspace = demo::workspace()?;
        let base = workspace.base().to_path_buf();
        let ran = write_files(&workspace).and_then(|()| run(workspace));
        let tables = demo::tutorial_tables().into_iter().map(|(name, _)| name);
        // Its last step writes a page.
        let made: Vec<String> = tables.chain(["report.html".to_owned()]).collect();
        super::demo::remove(&base, &made, "halflight tutorial --files DIR")?;
        ran
    }
}

/// Writes the tables beside the session.
fn write_files(workspace: &Workspace) -> Result<()> {
    let base = workspace.base();
    files::create_private_folder(base).doing("create the tutorial's folder", base)?;
    let mut tables = demo::tutorial_tables().into_iter();
    tables.try_for_each(|(name, text)| files::write(&base.join(name), text.as_bytes()))
}

fn run(workspace: Workspace) -> Result<()> {
    let mut app = super::interface::app(demo::tutorial_session()?, None)?;
    app.context.demo = Some(DemoWorkspace::Removed);
    app.context.tutorial = Some(Tutorial::default());
    tui::run(app, workspace)
}
