//! Explains words: the words of a screen on the left, the explanation on the right.

use crossterm::event::{KeyCode, KeyEvent};

use super::picker::{Item, Picker};
use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, bold, in_columns, in_rows, longest, wrapped_lines,
};
use crate::glossary::Explained;
use crate::theme::Theme;

/// The lines of a page of an explanation.
const PAGE: u16 = 5;

#[derive(Debug)]
pub struct Words {
    pub picker: Picker<String>,
    /// The first line of the explanation that is shown, at most the last that has to be.
    pub top: u16,
}

impl Words {
    /// The first word is shown at once.
    pub fn new(words: Vec<Explained>) -> Self {
        let item = |it: Explained| Item { also: it.also, ..Item::new(it.name, "", it.text) };
        let items = words.into_iter().map(item).collect();
        Self { picker: Picker::new("What does this mean?", items), top: 0 }
    }

    /// A page of the explanation up or down; anything else chooses or types.
    pub fn handle(&mut self, key: KeyEvent) {
        // A line has more letters than this, or ends with a paragraph.
        let most = |text: &str| text.len() / 20 + text.lines().count();
        let most = self.picker.chosen().map_or(0, |it| most(&it.value)) as u16;
        match key.code {
            KeyCode::PageDown => self.top = (self.top + PAGE).min(most),
            KeyCode::PageUp => self.top = self.top.saturating_sub(PAGE),
            _ => {
                self.picker.handle(key);
                self.top = 0;
            }
        }
    }

    /// The lines of an explanation. A paragraph of several lines begins with its title.
    fn lines(text: &str, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (place, paragraph) in text.split("\n\n").enumerate() {
            if place > 0 {
                lines.push(Line::default());
            }
            let (title, rest) = paragraph.split_once('\n').unwrap_or(("", paragraph));
            if !title.is_empty() {
                lines.push(Line::styled(title.to_owned(), bold(theme.text)));
            }
            lines.extend(rest.lines().map(|it| Line::styled(it.to_owned(), theme.text)));
        }
        lines
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let height = (body.height * 2 / 3).max(18);
        let inner = canvas.window(body, 110, height, &self.picker.title);
        let [field, lists, keys] = in_rows(inner, [Length(2), Fill(1), Length(1)]);
        let names = longest(self.picker.items.iter().map(|item| &item.title));
        let [left, _, right] =
            in_columns(lists, [Length(names.min(lists.width * 2 / 5)), Length(2), Fill(1)]);
        let field = Rect { height: 1, ..field };
        self.picker.draw_query(canvas, field, "type to look another word up");
        self.picker.draw_items(canvas, left);
        let mut words = "↑↓ other words of this screen, Enter or Esc leaves".to_owned();
        if let Some(item) = self.picker.chosen() {
            let rows = wrapped_lines(&item.title, right.width) + 1;
            let [name, text] = in_rows(right, [Length(rows), Fill(1)]);
            canvas.wrapped(item.title.clone(), bold(theme.accent), name);
            let lines = Self::lines(&item.value, theme);
            let rows = lines.iter().map(|line| wrapped_lines(&line.to_string(), text.width).max(1));
            let beyond = rows.sum::<u16>().saturating_sub(text.height);
            let first = self.top.min(beyond);
            if beyond > 0 {
                words =
                    format!("PgUp PgDn: line {} of {} · {words}", first + 1, beyond + text.height);
            }
            canvas.scrolled(lines, first, text);
        }
        canvas.line(Line::styled(words, theme.muted), keys);
    }
}
