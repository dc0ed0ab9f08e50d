//! Lines of a form: some are typed, others switched.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Style;

use crate::canvas::{Canvas, Fill, Length, Line, Rect, Span, bold, in_columns};
use crate::widgets::text_field::{TextField, TextFieldView};

/// A line of a form.
#[derive(Debug, Clone, Copy)]
pub struct FormLine {
    pub label: &'static str,
    /// What Space goes through; a line without choices is typed.
    pub choices: &'static [&'static str],
    pub help: &'static str,
}

/// A line that is typed.
pub const fn typed(label: &'static str, help: &'static str) -> FormLine {
    FormLine { label, choices: &[], help }
}

#[derive(Debug)]
pub struct Form {
    pub lines: Vec<FormLine>,
    pub texts: Vec<TextField>,
    /// The focused line.
    pub focus: usize,
}

impl Form {
    pub fn new(lines: &[FormLine], texts: impl IntoIterator<Item = String>) -> Self {
        let texts = texts.into_iter().map(|text| TextField::new(&text)).collect();
        Self { lines: lines.to_vec(), texts, focus: 0 }
    }

    pub fn text(&self, line: usize) -> &str {
        self.texts[line].text().trim()
    }

    /// The place of the choice of a line.
    pub fn choice(&self, line: usize) -> usize {
        let text = self.texts[line].text();
        self.lines[line].choices.iter().position(|choice| *choice == text).unwrap_or(0)
    }

    /// Moves, types or switches.
    pub fn handle(&mut self, key: KeyEvent) {
        let (focus, count) = (self.focus, self.lines.len());
        let choices = self.lines[focus].choices;
        let by = match key.code {
            KeyCode::Down | KeyCode::Tab => return self.focus = (focus + 1) % count,
            KeyCode::Up | KeyCode::BackTab => return self.focus = (focus + count - 1) % count,
            _ if choices.is_empty() => {
                self.texts[focus].handle(key);
                return;
            }
            KeyCode::Left => choices.len() - 1,
            KeyCode::Char(' ') | KeyCode::Right => 1,
            _ => return,
        };
        let next = (self.choice(focus) + by) % choices.len();
        self.texts[focus].set(choices[next]);
    }

    /// Inserts a paste, if the focused line is typed.
    pub fn paste(&mut self, text: &str) {
        if self.lines[self.focus].choices.is_empty() {
            self.texts[self.focus].insert(text);
        }
    }

    /// Explains the focused line.
    pub fn help(&self) -> &'static str {
        self.lines[self.focus].help
    }

    /// Draws the lines that fit; `style` is that of a choice without the focus.
    pub fn draw(&self, canvas: &mut Canvas, area: Rect, style: impl Fn(usize) -> Style) {
        let theme = canvas.theme;
        for (index, row) in (0..self.lines.len()).zip(area.rows()) {
            let (line, text) = (self.lines[index], &self.texts[index]);
            let [name, value] = in_columns(row, [Length(18), Fill(1)]);
            let focused = self.focus == index;
            let label = if focused { bold(theme.text) } else { theme.muted };
            canvas.line(Line::styled(line.label, label), name);
            if line.choices.is_empty() {
                let field = TextFieldView::new(text, theme, canvas.glyphs);
                canvas.render(field.focused(focused), value);
            } else {
                let style = if focused { theme.selection } else { style(index) };
                canvas.line(Span::styled(text.text(), style), value);
            }
        }
    }
}
