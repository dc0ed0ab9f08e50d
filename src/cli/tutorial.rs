//! `halflight tutorial`: ten minutes inside the interface.

use clap::Args;

use crate::error::{Error, Result};
use crate::files;
use crate::session::{Workspace, demo};
use crate::tui;
use crate::tui::tutorial::Tutorial;

/// Learn halflight in ten minutes, inside the interface.
///
/// Seven steps on built-in data: add a file, rank, rehearse, plan, run, verdict, report. Each
/// says which key to press and waits until it was done. Everything lies in a folder for temporary
/// files, which is removed at the end; Esc leaves the tutorial.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  halflight tutorial

`halflight guide tutorial` is the same as a page.")]
pub struct TutorialCommand {}

impl TutorialCommand {
    #[expect(clippy::unused_self, reason = "commands are called alike")]
    pub fn execute(&self) -> Result<()> {
        super::open::need_terminal()?;
        let workspace = demo::workspace()?;
        let base = workspace.base().to_path_buf();
        let ran = write_files(&workspace).and_then(|()| run(workspace));
        if base.is_dir() {
            files::step::remove_folder(&base)
                .map_err(|error| Error::io("remove the tutorial's folder", &base, &error))?;
        }
        ran
    }
}

/// The tables beside the session.
fn write_files(workspace: &Workspace) -> Result<()> {
    let base = workspace.base();
    files::create_private_folder(base)
        .map_err(|error| Error::io("create the tutorial's folder", base, &error))?;
    let mut tables = demo::practice_tables().into_iter();
    tables.try_for_each(|(name, text)| files::write(&base.join(name), text.as_bytes()))
}

fn run(workspace: Workspace) -> Result<()> {
    let mut app = super::open::app(demo::tutorial_session()?, None)?;
    app.context.demo = Some(workspace.base().to_path_buf());
    app.context.tutorial = Some(Tutorial::default());
    tui::run(app, workspace)
}
