//! The contents of a screen, for a file or the clipboard. Exact numbers are left out unless they
//! were explicitly requested and the view is not sealed.

use super::app::App;
use super::context::{Effect, OpenPopup};
use super::notice::Level;
use super::popup::export_form::ExportForm;
use super::text_table::Sheet;
use crate::engine::look;
use crate::privacy::Watch;

/// Terminals drop longer texts.
const CLIPBOARD: usize = 70_000;

/// The watch that decides which numbers an export may contain.
pub fn eyes(app: &App, exact: bool) -> Watch {
    look::view(!exact || app.context.watch.is_sealed())
}

/// The table of the current screen; `None` if there is none.
pub fn sheet(app: &App, exact: bool) -> Option<Sheet> {
    app.screen().sheet(&app.context, &eyes(app, exact))
}

pub fn ask(app: &mut App) {
    let name = app.screen().export_name().unwrap_or(app.context.tab.title()).to_lowercase();
    let has_table = sheet(app, false).is_some();
    let form = ExportForm::new(&name, has_table, app.context.watch.is_sealed());
    app.context.popup = Some(OpenPopup::Export(Box::new(form)));
}

/// Copies the table without exact numbers, because a clipboard may end up anywhere.
pub fn copy(app: &mut App) {
    let Some(sheet) = sheet(app, false) else {
        app.context.inform("there is no table here to copy; X writes a picture");
        return;
    };
    let text = sheet.csv();
    if text.len() > CLIPBOARD {
        let kilobytes = text.len() / 1000;
        return app
            .context
            .warn(format!("{kilobytes} kB are too much for a clipboard: X writes a file"));
    }
    let rows = sheet.rows.len();
    app.context.say(Level::Good, format!("copied {rows} rows as CSV, without exact numbers"));
    app.context.effects.push(Effect::Copy(text));
}
