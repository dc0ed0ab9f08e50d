//! The keys of a screen that match a search.

use crossterm::event::{KeyCode, KeyEvent};

use crate::canvas::{Canvas, Fill, Length, Line, Rect, Span, bold, broken, in_rows};
use crate::fuzzy;
use crate::keys::Key;
use crate::widgets::text_field::{TextField, TextFieldView};

const WIDTH: u16 = 78;

#[derive(Debug)]
pub struct Help {
    /// Keys under their headings.
    pub sections: Vec<(String, Vec<&'static Key>)>,
    /// The path of the config file.
    pub config_file: Option<String>,
    pub search: TextField,
    pub scroll: u16,
}

impl Help {
    /// Scrolls or types.
    pub fn handle(&mut self, key: KeyEvent) {
        self.scroll = match key.code {
            KeyCode::Down => self.scroll.saturating_add(1),
            KeyCode::Up => self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll.saturating_add(10),
            KeyCode::PageUp => self.scroll.saturating_sub(10),
            _ => {
                self.search.handle(key);
                0
            }
        };
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let (theme, glyphs) = (canvas.theme, canvas.glyphs);
        let mut lines = Vec::new();
        let room = usize::from(WIDTH.min(body.width)).saturating_sub(18);
        for (heading, keys) in &self.sections {
            let found = keys.iter().filter(|key| {
                let text = format!("{} {} {}", key.shown(), key.name, key.help);
                fuzzy::holds(self.search.text(), &text)
            });
            let mut found = found.peekable();
            if found.peek().is_some() {
                lines.push(Line::styled(heading.clone(), bold(theme.accent)));
            }
            for key in found {
                // Text that is too long for the line continues below it.
                let mut parts = broken(key.help, room).into_iter();
                let first = parts.next().unwrap_or_default();
                lines.push(Line::from(vec![
                    Span::styled(format!("  {:<14}", key.shown()), theme.accent),
                    Span::styled(first, theme.text),
                ]));
                lines.extend(
                    parts.map(|part| Line::styled(format!("{}{part}", " ".repeat(16)), theme.text)),
                );
            }
        }
        if self.search.is_empty() {
            for (mark, words) in [
                (
                    "◆",
                    "an exact number about private data: for your eyes only, never exported \
                    unless asked for",
                ),
                ("*", "a setting that differs from its default"),
            ] {
                lines.push(Line::from(vec![
                    Span::styled(format!("  {mark:<14}"), theme.curator),
                    Span::styled(words, theme.text),
                ]));
            }
            if let Some(path) = &self.config_file {
                lines.push(Line::styled(format!("  configuration: {path}"), theme.muted));
            }
        } else if lines.is_empty() {
            lines.push(Line::styled("no key for that; : finds commands", theme.muted));
        }
        let height = lines.len() as u16 + 4;
        // Minus the frame and the search field.
        let visible = height.min(body.height).saturating_sub(4);
        let first = usize::from(self.scroll);
        let (title, _) = canvas.scrolling("Keys", &lines, (WIDTH, visible), first);
        let title = format!("{title} · type to search · Esc closes");
        let inner = canvas.window(body, WIDTH, height, &title);
        let [field, rest] = in_rows(inner, [Length(2), Fill(1)]);
        let view = TextFieldView::new(&self.search, theme, glyphs).placeholder("search");
        canvas.render(view.focused(true), Rect { height: 1, ..field });
        let most = (lines.len() as u16).saturating_sub(rest.height);
        lines.drain(..usize::from(self.scroll.min(most)));
        canvas.lines(lines, rest);
    }
}
