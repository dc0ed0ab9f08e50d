//! `halflight demo`: the built-in demo, in the interface or as text.

use std::path::{Path, PathBuf};

use clap::Args;

use super::run::RunCommand;
use super::{messages, print_line};
use crate::error::{Doing as _, Error, Result};
use crate::files::step;
use crate::session::workspace::{self, FOLDER};
use crate::session::{Workspace, demo};
use crate::tui;
use crate::tui::context::DemoWorkspace;

/// Steps per second at which the interface shows the short demo runs.
const DEMO_PACE: f64 = 4.0;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight demo
  halflight demo --plain
  halflight demo --files practice
  halflight demo synthetic --json --workspace study")]
pub struct Demo {
    /// Which demo: bikeshare or synthetic.
    #[arg(default_value = "bikeshare")]
    name: String,

    /// Run it in this terminal, as plain lines, and print its result.
    #[arg(long)]
    plain: bool,

    /// Print the result as JSON (implies --plain).
    #[arg(long)]
    json: bool,

    /// Keep ledger and runs in this directory instead of a throw-away one.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Write the data and the session of the guide's examples into this new directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "plain", "json", "workspace", "pace"])]
    files: Option<PathBuf>,

    /// At most this many steps per second.
    #[arg(long, value_name = "STEPS")]
    pace: Option<f64>,
}

impl Demo {
    pub fn execute(&self) -> Result<()> {
        if let Some(directory) = &self.files {
            return write_new(directory, demo::practice_files());
        }
        if !self.plain && !self.json {
            super::interface::need_terminal()?;
            return interface(&self.name, self.workspace.as_deref());
        }
        let session = demo::session(&self.name)?;
        let workspace = match &self.workspace {
            Some(directory) => kept(directory)?,
            None => demo::workspace()?,
        };
        let mut run = RunCommand::default();
        (run.json, run.pace) = (self.json, self.pace);
        run.run_plans(&session, &workspace, None)?;
        if !self.json {
            print_line(
                "The demo's private data are public, so its exact numbers (◆) may be shown.",
            )?;
            super::run::say_where(&workspace);
        }
        Ok(())
    }
}

/// Writes files into a directory that does not exist yet or has nothing in it but unsaved sessions.
pub fn write_new(directory: &Path, files: Vec<(String, String)>) -> Result<()> {
    let is_unused = |path: PathBuf| path.ends_with(FOLDER) && workspace::is_unused(&path);
    let is_free = directory.read_dir().map_or(!directory.exists(), |entries| {
        entries.flatten().all(|entry| is_unused(entry.path()))
    });
    if !is_free {
        return Err(Error::usage(format!("there are files in '{}' already", directory.display()))
            .cure("name a directory that does not exist yet, or an empty one"));
    }
    super::write_files(directory, files).map(|_| ())
}

fn kept(directory: &Path) -> Result<Workspace> {
    let directory = std::path::absolute(directory).doing("find the directory", directory)?;
    Ok(Workspace::fresh(&directory))
}

/// Opens the interface on a demo session. The workspace is removed afterwards unless a directory
/// was given.
pub fn interface(name: &str, directory: Option<&Path>) -> Result<()> {
    let workspace = directory.map_or_else(demo::workspace, kept)?;
    let base = workspace.base().to_path_buf();
    let mut app = super::interface::app(demo::session(name)?, None)?;
    let is_kept = directory.is_some();
    app.context.demo = Some(if is_kept { DemoWorkspace::Kept } else { DemoWorkspace::Removed });
    app.context.pace = Some(DEMO_PACE);
    let ran = tui::run(app, workspace);
    if directory.is_none() {
        remove(&base, &[], "halflight demo --workspace DIR")?;
    }
    ran
}

/// Removes a throw-away workspace with what the program made in it, `made` and its ledger, and says so
/// together with the command that keeps one. Files that a user has put there stay.
pub fn remove(base: &Path, made: &[String], keeping: &str) -> Result<()> {
    if !base.is_dir() {
        return Ok(());
    }
    let removing = |error| Error::io("remove the throw-away folder", base, &error);
    let others = || -> std::io::Result<Vec<String>> {
        let names = base.read_dir()?.flatten().map(|entry| entry.file_name().display().to_string());
        Ok(names.filter(|name| name != FOLDER && !made.contains(name)).collect())
    };
    let others = others().map_err(removing)?;
    let place = base.display();
    if others.is_empty() {
        step::remove_folder(base).map_err(removing)?;
        messages::tell(format_args!("{place} was removed; `{keeping}` keeps one"));
        return Ok(());
    }
    for name in made.iter().map(String::as_str).chain([FOLDER]) {
        let path = base.join(name);
        let removed = if path.is_dir() { step::remove_folder(&path) } else { step::remove(&path) };
        removed.if_there().map_err(removing)?;
    }
    messages::tell(format_args!(
        "{place} stays, because these files are in it: {}. Its ledger and runs were removed. For data \
         of your own, start `halflight` in their folder",
        others.join(", ")
    ));
    Ok(())
}
