//! Explains words: the words of a screen on the left, the explanation on the right.

use super::picker::{Item, Picker};
use crate::canvas::{Canvas, Fill, Length, Line, Rect, bold, in_columns, in_rows};
use crate::glossary::Explained;

#[derive(Debug)]
pub struct Words {
    pub picker: Picker<String>,
}

impl Words {
    /// The first word is shown at once.
    pub fn new(words: Vec<Explained>) -> Self {
        let item = |it: Explained| Item { also: it.also, ..Item::new(it.name, "", it.text) };
        let items = words.into_iter().map(item).collect();
        Self { picker: Picker::new("What does this mean?", items) }
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let inner = canvas.window(body, 96, 18, &self.picker.title);
        let [field, lists, keys] = in_rows(inner, [Length(2), Fill(1), Length(1)]);
        let [left, _, right] =
            in_columns(lists, [Length((lists.width / 3).min(30)), Length(2), Fill(1)]);
        let field = Rect { height: 1, ..field };
        self.picker.draw_query(canvas, field, "type to look another word up");
        self.picker.draw_items(canvas, left);
        if let Some(item) = self.picker.chosen() {
            let [name, text] = in_rows(right, [Length(2), Fill(1)]);
            canvas.line(Line::styled(item.title.clone(), bold(theme.accent)), name);
            canvas.wrapped(item.value.clone(), theme.text, text);
        }
        let words = "↑↓ other words of this screen, Enter or Esc leaves";
        canvas.line(Line::styled(words, theme.muted), keys);
    }
}
