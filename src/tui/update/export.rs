//! Files and the clipboard.

use crate::engine::Request;
use crate::tui::app::{App, Effect, Level, Tab};
use crate::tui::exports;
use crate::tui::popup::{ExportForm, Format, Popup};

/// Terminals throw longer pastes away.
const CLIPBOARD: usize = 70_000;

pub(super) fn ask(app: &mut App) {
    let has_table = exports::sheet(app, false).is_some();
    let stem = match app.tab {
        Tab::Run => "curves",
        Tab::Compare => "runs",
        Tab::Ledger => "entries",
        tab => tab.title(),
    };
    let form = ExportForm::new(&stem.to_lowercase(), has_table, app.watch.is_sealed());
    app.popup = Some(Popup::Export(Box::new(form)));
}

pub(super) fn write(app: &mut App, form: Box<ExportForm>) -> Vec<Effect> {
    if form.path.text().trim().is_empty() {
        app.popup = Some(Popup::Export(form));
        return Vec::new();
    }
    let exact = form.exact.unwrap_or(false);
    let text = match form.format {
        Format::Csv => Ok(exports::sheet(app, exact).unwrap_or_default().csv()),
        Format::Svg => exports::picture(app, exact),
    };
    match text {
        Ok(text) => {
            let path = form.path.text().trim().into();
            vec![Effect::ask(Request::Export { path, text })]
        }
        Err(error) => {
            app.complain(&error);
            Vec::new()
        }
    }
}

/// The table without exact numbers: a clipboard goes anywhere.
pub(super) fn copy(app: &mut App) -> Vec<Effect> {
    let Some(sheet) = exports::sheet(app, false) else {
        app.say(Level::Info, "there is no table here to copy; X writes a picture");
        return Vec::new();
    };
    let text = sheet.csv();
    if text.len() > CLIPBOARD {
        app.say(
            Level::Warning,
            format!("{} kB are too much for a clipboard: X writes a file", text.len() / 1000),
        );
        return Vec::new();
    }
    let rows = sheet.rows.len();
    app.say(Level::Good, format!("copied {rows} rows as CSV, without exact numbers"));
    vec![Effect::Copy(text)]
}
