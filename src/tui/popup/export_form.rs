//! What to write, and where. Exact numbers are written only on explicit request.

use crossterm::event::KeyEvent;

use super::form::{Form, FormLine, typed};
use crate::canvas::{Canvas, Rect};

const FORMATS: &[&str] = &["CSV: the table or the curves", "SVG: a picture of the screen"];
const EXACT: &[&str] = &["left out", "included: never pass this file on"];

/// The lines of the form.
const FORMAT: usize = 0;
const NUMBERS: usize = 1;
const FILE: usize = 2;

#[derive(Debug)]
pub struct ExportForm {
    form: Form,
}

impl ExportForm {
    /// The format is a choice if the screen has a table, exact numbers unless the view is sealed.
    pub fn new(stem: &str, has_table: bool, sealed: bool) -> Self {
        let formats = if has_table { FORMATS } else { &FORMATS[1..] };
        let exact = if sealed { &["none: the view is sealed"] } else { EXACT };
        let lines = [
            FormLine { label: "format", choices: formats, help: "" },
            FormLine { label: "exact numbers ◆", choices: exact, help: "" },
            typed("file", ""),
        ];
        let texts = [formats[0], exact[0], stem].map(str::to_owned);
        let mut form = Self { form: Form { focus: FILE, ..Form::new(&lines, texts) } };
        form.rename();
        form
    }

    pub fn is_picture(&self) -> bool {
        self.form.text(FORMAT) == FORMATS[1]
    }

    /// Whether exact numbers are included.
    pub fn is_exact(&self) -> bool {
        self.form.text(NUMBERS) == EXACT[1]
    }

    pub fn path(&self) -> &str {
        self.form.text(FILE)
    }

    /// Gives the file the extension of its format.
    fn rename(&mut self) {
        let ending = if self.is_picture() { "svg" } else { "csv" };
        let path = std::path::Path::new(self.form.texts[FILE].text()).with_extension(ending);
        self.form.texts[FILE].set(&path.to_string_lossy());
    }

    /// Moves, types or switches.
    pub fn handle(&mut self, key: KeyEvent) {
        let before = self.is_picture();
        self.form.handle(key);
        if self.is_picture() != before {
            self.rename();
        }
    }

    pub fn paste(&mut self, text: &str) {
        self.form.texts[FILE].insert(text);
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let inner = canvas.window(body, 70, 9, "Export what is shown");
        let is_exact = |line| line == NUMBERS && self.is_exact();
        let style = |line| if is_exact(line) { theme.curator } else { theme.text };
        self.form.draw(canvas, inner, style);
        let help = Rect { y: inner.y + 4, height: inner.height.saturating_sub(4), ..inner };
        let words = "Rows and their order are those of the screen. A path is relative to the session.\n\
                     ↑↓ or Tab between lines, Space changes, Enter writes, Esc leaves";
        canvas.wrapped(words, theme.muted, help);
    }
}
