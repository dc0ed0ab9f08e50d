//! The interface's state, made for this terminal and this user.

use std::io::IsTerminal;
use std::path::PathBuf;

use terminal_colorsaurus::{QueryOptions, ThemeMode, theme_mode};

use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::preferences::UserDirectories;
use crate::tui::app::App;
use crate::widgets::theme::{BUILT_IN, Glyphs, Theme};

/// The interface's state for this terminal and this user.
pub fn app(session: Session, path: Option<PathBuf>) -> Result<App> {
    let set = |name: &str| std::env::var(name).ok();
    let places = UserDirectories::of_environment();
    let config = places.as_ref().map(UserDirectories::read_config).transpose()?.unwrap_or_default();
    let no_color = set("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (term, colorterm) = (set("TERM"), set("COLORTERM"));
    let depth = Theme::depth_of(no_color, colorterm.as_deref(), term.as_deref());
    let state = places.as_ref().map(UserDirectories::read_state).unwrap_or_default();
    // The last choice in the interface, unless its file is gone.
    let chosen = state.theme.as_deref().filter(|name| BUILT_IN.iter().any(|it| it.0 == *name));
    let named = chosen.or(config.theme.as_deref()).unwrap_or_else(|| of_the_terminal());
    let theme = match (named, &places) {
        (name, Some(places)) if BUILT_IN.iter().all(|(known, _)| *known != name) => {
            Theme::parse(&places.read_theme(name)?, name, depth)?
        }
        (name, _) => Theme::built_in(name, depth),
    };
    let glyphs = if config.ascii { Glyphs::ascii() } else { glyphs(&set) };
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

/// The theme that suits the background of the terminal: dark if it does not say.
fn of_the_terminal() -> &'static str {
    match theme_mode(QueryOptions::default()) {
        Ok(ThemeMode::Light) => "light",
        Ok(ThemeMode::Dark) | Err(_) => "dark",
    }
}

/// The characters that a terminal with these variables can show.
pub fn glyphs(variable: &dyn Fn(&str) -> Option<String>) -> Glyphs {
    let [lc_all, lc_ctype, lang, term] = ["LC_ALL", "LC_CTYPE", "LANG", "TERM"].map(variable);
    Glyphs::detect(lc_all.as_deref(), lc_ctype.as_deref(), lang.as_deref(), term.as_deref())
}

pub fn need_terminal() -> Result<()> {
    if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Error::usage("the interface needs a terminal, and there is none here").cure(
        "use the commands for scripts: halflight demo --plain, halflight run SESSION.ron, \
         halflight --help",
    ))
}
