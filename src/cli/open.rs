//! `halflight [SESSION | FILES]`: opens the interface.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use super::interface::{app, need_terminal};
use crate::data::names::nearest;
use crate::error::{Error, Result};
use crate::session::follow::Place;
use crate::session::{Session, Workspace, unsaved};
use crate::session::{sweep, trainer};
use crate::tui;
use crate::tui::tab::Tab;

/// The session that a bare `halflight` opens.
const USUAL_SESSION: &str = "session.ron";

pub fn open(files: &[PathBuf]) -> Result<()> {
    if let Some(word) = files.first().filter(|word| seems_a_command(word)) {
        return Err(Error::usage("there is neither a command nor a file of this name")
            .at(word.display().to_string())
            .cure(commands_like(&word.display().to_string())));
    }
    need_terminal()?;
    let is_session = |path: &Path| path.extension().is_some_and(|extension| extension == "ron");
    match files {
        [] if Path::new(USUAL_SESSION).exists() => open_session(Path::new(USUAL_SESSION)),
        [] => open_nothing(),
        [path] if is_session(path) => open_session(path),
        _ => open_files(files),
    }
}

/// Whether the word is no file, and does not look like the name of one.
fn seems_a_command(word: &Path) -> bool {
    word.components().count() == 1 && word.extension().is_none() && !word.exists()
}

fn commands_like(word: &str) -> String {
    let program = super::Arguments::command();
    let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    if let Some(near) = nearest(word, &known).first() {
        return format!("did you mean `halflight {near}`?");
    }
    let cure = match word {
        "resume" => "to go on with a run: halflight run --resume RUN",
        "reproduce" => {
            "the studies are a program of their own now; in the source: cargo run --release -p \
             halflight-studies -- --help"
        }
        _ => "`halflight --help` lists the commands",
    };
    cure.to_owned()
}

fn open_session(path: &Path) -> Result<()> {
    let session = Session::open(path)?;
    let workspace = Workspace::of_session(path)?;
    let mut app = app(session, Some(path.to_path_buf()))?;
    if let Some(note) = workspace.note_if_elsewhere(workspace.base()) {
        app.context.inform(note);
    }
    app.context.lost = unsaved::find(&workspace, Some(path));
    tui::run(app, workspace)
}

/// Opens the demo, unless something was not saved here.
fn open_nothing() -> Result<()> {
    let workspace = Workspace::of(Path::new("."))?;
    let lost = unsaved::find(&workspace, None);
    if lost.is_none() {
        return super::demo::interface("bikeshare", None);
    }
    let mut app = app(Session::default(), None)?;
    app.context.lost = lost;
    tui::run(app, workspace)
}

/// Opens a new session with these files.
fn open_files(files: &[PathBuf]) -> Result<()> {
    let workspace = Workspace::of(Path::new("."))?;
    let mut app = app(Session::default(), None)?;
    app.context.lost = unsaved::find(&workspace, None);
    app.context.files = files.to_vec();
    if let Some(note) = workspace.note_if_elsewhere(workspace.base()) {
        app.context.inform(note);
    }
    tui::run(app, workspace)
}

/// Opens the interface on runs of other processes. Their data are not read.
pub fn watch(places: Vec<PathBuf>) -> Result<()> {
    need_terminal()?;
    let runs: Vec<&PathBuf> = places.iter().filter(|path| !trainer::is_one(path)).collect();
    let workspace = match runs.first().map(|path| Place::of(path)).transpose()? {
        Some(Place::Workspace(workspace)) => workspace,
        Some(Place::Run(run)) => Workspace::of(&run)?,
        Some(Place::Sweep(_)) | None => Workspace::of(Path::new("."))?,
    };
    let mut app = app(Session::default(), None)?;
    // A sweep is shown as a table of its tasks; other runs have charts.
    let is_sweep = !runs.is_empty() && runs.iter().all(|path| path.join(sweep::FILE).is_file());
    app.context.tab = if is_sweep { Tab::Compare } else { Tab::Run };
    if is_sweep {
        app.screens.compare.become_a_board();
    }
    app.context.watched = places;
    tui::run(app, workspace)
}
