//! `halflight [SESSION | FILES]`: the interface.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::session::follow::Place;
use crate::session::preferences::Places;
use crate::session::trainer;
use crate::session::{Session, Workspace, family};
use crate::tui;
use crate::tui::app::App;
use crate::tui::tab::Tab;
use crate::tui::theme::{BUILT_IN, Glyphs, Theme};

/// The session that a bare `halflight` opens.
const USUAL_SESSION: &str = "session.ron";

pub fn open(files: &[PathBuf]) -> Result<()> {
    need_terminal()?;
    let is_session = |path: &Path| path.extension().is_some_and(|extension| extension == "ron");
    match files {
        [] if Path::new(USUAL_SESSION).exists() => open_session(Path::new(USUAL_SESSION)),
        [] => super::demo::interface("bikeshare", None),
        [path] if is_session(path) => open_session(path),
        _ => open_files(files),
    }
}

fn open_session(path: &Path) -> Result<()> {
    let session = Session::open(path)?;
    let workspace = Workspace::of_session(path)?;
    tui::run(app(session, Some(path.to_path_buf()))?, workspace)
}

/// A new session: the first file private, the others public, until the user
/// says otherwise.
fn open_files(files: &[PathBuf]) -> Result<()> {
    let workspace = Workspace::of(Path::new("."))?;
    let found = files.iter().map(|path| {
        let table = crate::data::read::read_for_columns(path)?;
        family::Found::of(path.display().to_string(), &table)
    });
    let found = found.collect::<Result<Vec<_>>>()?;
    let session = Session { datasets: family::definitions(&found), ..Session::default() };
    let mut app = app(session, None)?;
    app.context.unsaved = true;
    tui::run(app, workspace)
}

/// The interface on runs that others carry out; nothing of their data is read.
pub fn watch(places: Vec<PathBuf>) -> Result<()> {
    need_terminal()?;
    let runs: Vec<&PathBuf> = places.iter().filter(|path| !trainer::is_one(path)).collect();
    let workspace = match runs.first().map(|path| Place::of(path)).transpose()? {
        Some(Place::Workspace(workspace)) => workspace,
        Some(Place::Run(run)) => Workspace::of(&run)?,
        Some(Place::Sweep(_)) | None => Workspace::of(Path::new("."))?,
    };
    let mut app = app(Session::default(), None)?;
    // A sweep is a table of its tasks; other runs have charts.
    let is_sweep = !runs.is_empty() && runs.iter().all(|path| path.join("sweep.json").is_file());
    app.context.tab = if is_sweep { Tab::Compare } else { Tab::Run };
    if is_sweep {
        app.screens.compare.become_a_board();
    }
    app.context.watched = places;
    tui::run(app, workspace)
}

/// The interface's state for this terminal and this user.
pub fn app(session: Session, path: Option<PathBuf>) -> Result<App> {
    let set = |name: &str| std::env::var(name).ok();
    let places = Places::of_environment();
    let config = places.as_ref().map(Places::read_config).transpose()?.unwrap_or_default();
    let no_color = set("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (term, colorterm) = (set("TERM"), set("COLORTERM"));
    let depth = Theme::depth_of(no_color, colorterm.as_deref(), term.as_deref());
    let state = places.as_ref().map(Places::read_state).unwrap_or_default();
    // What was chosen last in the interface, unless its file is gone.
    let chosen = state.theme.as_deref().filter(|name| BUILT_IN.iter().any(|it| it.0 == *name));
    let theme = match (chosen.or(config.theme.as_deref()).unwrap_or(BUILT_IN[0].0), &places) {
        (name, Some(places)) if BUILT_IN.iter().all(|(known, _)| *known != name) => {
            Theme::parse(&places.read_theme(name)?, name, depth)?
        }
        (name, _) => Theme::built_in(name, depth),
    };
    let (lc_all, lc_ctype, lang) = (set("LC_ALL"), set("LC_CTYPE"), set("LANG"));
    let glyphs = if config.ascii {
        Glyphs::ascii()
    } else {
        Glyphs::detect(lc_all.as_deref(), lc_ctype.as_deref(), lang.as_deref(), term.as_deref())
    };
    let mut app = App::new(session, path, theme, glyphs);
    if let Some(places) = places {
        app.config_file = Some(places.config_file());
        app.context.state = state;
        app.screens.run.viewport.log = app.context.state.log_axis;
        app.screens.compare.viewport.log = app.context.state.log_axis;
        app.context.when_closed = config.when_closed;
        app.mouse = config.mouse.unwrap_or(true);
        app.screens.compare.width =
            app.context.state.run_column.unwrap_or(app.screens.compare.width);
    }
    Ok(app)
}

pub fn need_terminal() -> Result<()> {
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Error::usage("the interface needs a terminal, and here is none").cure(
        "use the commands for scripts: halflight demo --plain, halflight run SESSION.ron, \
         halflight --help",
    ))
}
