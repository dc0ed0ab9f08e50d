//! Questions: one for a yes, one for a line of text.

use crossterm::event::{KeyCode, KeyEvent};

use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, Span, in_columns, in_rows, longest, wrapped_lines,
};
use crate::widgets::text_field::{TextField, TextFieldView};

const WIDTH: u16 = 64;

/// The action of an answer.
pub type Then<C> = Box<dyn FnOnce(&mut C)>;

pub struct QuestionPopup<C> {
    pub text: String,
    /// The word beside the key that says yes.
    pub yes: &'static str,
    pub then: Then<C>,
    /// Another key that answers, and what it does.
    pub other: Option<(char, &'static str, Then<C>)>,
}

impl<C> QuestionPopup<C> {
    pub fn new(
        text: impl Into<String>,
        yes: &'static str,
        then: impl FnOnce(&mut C) + 'static,
    ) -> Self {
        Self { text: text.into(), yes, then: Box::new(then), other: None }
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let rows = wrapped_lines(&self.text, WIDTH - 2).max(3);
        let inner = canvas.window(body, WIDTH, rows + 4, "Sure?");
        let [question, answers] = in_rows(inner, [Fill(1), Length(1)]);
        canvas.wrapped(&self.text, theme.text, question);
        let other = self.other.as_ref().map(|(key, what, _)| (*key, format!(": {what}    ")));
        let all = std::iter::once(('y', format!(": {}    ", self.yes)))
            .chain(other)
            .chain([('n', ", Enter or Esc: no".to_owned())]);
        let mut left = answers;
        for (key, what) in all {
            let [own, rest] = in_columns(left, [Length(longest([&what]) + 1), Fill(1)]);
            let spans =
                [Span::styled(key.to_string(), theme.accent), Span::styled(what, theme.muted)];
            canvas.line(Line::from(spans.to_vec()), own);
            canvas.hits.answers.push((own, KeyEvent::from(KeyCode::Char(key))));
            left = rest;
        }
    }
}

/// The function that takes the text. Its error is shown, and the text stays so that it can be
/// corrected.
pub type Take<C> = Box<dyn Fn(&mut C, &str) -> Result<(), String>>;

pub struct Prompt<C> {
    pub title: String,
    pub help: String,
    pub text: TextField,
    pub problem: Option<String>,
    pub may_be_empty: bool,
    pub take: Take<C>,
    /// How many answers back the text was taken from; 0 if it is new.
    pub back: usize,
}

impl<C> Prompt<C> {
    pub fn new(
        title: impl Into<String>,
        help: impl Into<String>,
        text: &str,
        take: impl Fn(&mut C, &str) -> Result<(), String> + 'static,
    ) -> Self {
        Self {
            title: title.into(),
            help: help.into(),
            text: TextField::proposed(text),
            problem: None,
            may_be_empty: false,
            take: Box::new(take),
            back: 0,
        }
    }

    /// Types, or goes through what was typed in prompts of this title before, the last first.
    pub fn handle(&mut self, key: KeyEvent, before: &[String]) {
        self.problem = None;
        let back = match key.code {
            KeyCode::Up => (self.back + 1).min(before.len()),
            KeyCode::Down => self.back.saturating_sub(1),
            _ => {
                self.text.handle(key);
                return;
            }
        };
        if back != self.back {
            self.back = back;
            let text = before.len().checked_sub(back).and_then(|place| before.get(place));
            self.text.set(text.map_or("", String::as_str));
        }
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let (theme, glyphs) = (canvas.theme, canvas.glyphs);
        let lines = wrapped_lines(&self.help, 68);
        let inner = canvas.window(body, 70, 6 + lines, &self.title);
        let [help, field, problem, keys] =
            in_rows(inner, [Length(lines), Length(1), Fill(1), Length(1)]);
        canvas.wrapped(&self.help, theme.muted, help);
        canvas.render(TextFieldView::new(&self.text, theme, glyphs).focused(true), field);
        if let Some(text) = &self.problem {
            canvas.wrapped(text, theme.error, problem);
        }
        canvas.line(
            Line::styled("Enter takes it, Esc leaves, ↑ what was typed before", theme.muted),
            keys,
        );
    }
}
