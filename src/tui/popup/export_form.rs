//! What to write, and where. Exact numbers are written only on explicit request.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::canvas::{Canvas, bold, in_columns};
use crate::widgets::text_field::{TextField, TextFieldView};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Csv,
    Svg,
}

#[derive(Debug)]
pub struct ExportForm {
    /// Whether the screen has a table.
    pub has_table: bool,
    pub format: ExportFormat,
    /// Whether to include exact numbers; `None` in a sealed view.
    pub exact: Option<bool>,
    pub path: TextField,
    /// 0 format, 1 exact numbers, 2 path.
    pub focus: usize,
}

impl ExportForm {
    pub const LABELS: [&'static str; 3] = ["format", "exact numbers ◆", "file"];

    pub fn new(stem: &str, has_table: bool, sealed: bool) -> Self {
        let format = if has_table { ExportFormat::Csv } else { ExportFormat::Svg };
        let mut form = Self {
            has_table,
            format,
            exact: (!sealed).then_some(false),
            path: TextField::new(stem),
            focus: 2,
        };
        form.rename();
        form
    }

    /// Gives the file the extension of its format.
    fn rename(&mut self) {
        let ending = match self.format {
            ExportFormat::Csv => "csv",
            ExportFormat::Svg => "svg",
        };
        let path = std::path::Path::new(self.path.text()).with_extension(ending);
        self.path.set(&path.to_string_lossy());
    }

    /// Moves, types or switches.
    pub fn handle(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Down | KeyCode::Tab => self.focus = (self.focus + 1) % 3,
            KeyCode::Up | KeyCode::BackTab => self.focus = (self.focus + 2) % 3,
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right if self.focus < 2 => {
                if self.focus == 1 {
                    self.exact = self.exact.map(|exact| !exact);
                } else if self.has_table {
                    self.format = match self.format {
                        ExportFormat::Csv => ExportFormat::Svg,
                        ExportFormat::Svg => ExportFormat::Csv,
                    };
                    self.rename();
                }
            }
            _ if self.focus == 2 => {
                self.path.handle(key);
            }
            _ => {}
        }
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let (theme, glyphs) = (canvas.theme, canvas.glyphs);
        let inner = canvas.window(body, 70, 9, "Export what is shown");
        let format = match self.format {
            ExportFormat::Csv => "CSV: the table or the curves",
            ExportFormat::Svg => "SVG: a picture of the screen",
        };
        let exact = match self.exact {
            None => "none: the view is sealed",
            Some(false) => "left out",
            Some(true) => "included: never pass this file on",
        };
        for (index, label) in Self::LABELS.iter().enumerate() {
            let row = Rect { y: inner.y + index as u16, height: 1, ..inner };
            let [name, value] = in_columns(row, [Length(18), Fill(1)]);
            let focused = self.focus == index;
            let style = if focused { bold(theme.text) } else { theme.muted };
            canvas.render(Line::styled(*label, style), name);
            if index == 2 {
                let field = TextFieldView::new(&self.path, theme, glyphs);
                canvas.render(field.focused(focused), value);
            } else {
                let text = if index == 0 { format } else { exact };
                let style = match (focused, index == 1 && self.exact == Some(true)) {
                    (true, _) => theme.selection,
                    (_, true) => theme.curator,
                    _ => theme.text,
                };
                canvas.render(Span::styled(text, style), value);
            }
        }
        let help = Rect { y: inner.y + 4, height: inner.height.saturating_sub(4), ..inner };
        let words = "Rows and their order are those of the screen. A path is relative to the session.\n\
                     ↑↓ or Tab between lines, Space changes, Enter writes, Esc leaves";
        canvas.wrapped(words, theme.muted, help);
    }
}
