//! A single line of text that can be edited.

use ratatui::buffer::{Buffer, CellWidth};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;
use ratatui::widgets::Widget;

use crate::theme::{Glyphs, Theme};
use crate::write;

/// The text of a field and the position of its cursor.
///
/// The cursor moves over visible characters: an accented letter or a family of emoji is one step,
/// for any number of code points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextField {
    /// Without control characters, so that one line stays one line.
    text: String,
    /// A byte offset that is always on the border of a grapheme.
    cursor: usize,
    /// Whether what is typed first replaces the text.
    is_proposed: bool,
}

impl TextField {
    pub fn new(text: &str) -> Self {
        let mut field = Self::default();
        field.set(text);
        field
    }

    /// Proposes a text. What is typed replaces a number, as in other programs; a name or a path is
    /// mostly changed in part.
    pub fn proposed(text: &str) -> Self {
        let is_proposed = text.starts_with(|first: char| first.is_ascii_digit());
        Self { is_proposed, ..Self::new(text) }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces everything and puts the cursor at the end.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        (self.cursor, self.is_proposed) = (0, false);
        self.insert(text);
    }

    /// Inserts at the cursor, like a paste: line breaks and other control characters become spaces.
    pub fn insert(&mut self, text: &str) {
        if self.is_proposed {
            self.delete(0, self.text.len());
        }
        self.is_proposed = false;
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.text.insert_str(self.cursor, &clean);
        // A combining mark may have joined its neighbour on either side.
        self.cursor = self.border_at_or_after(self.cursor + clean.len());
    }

    /// Takes a key if it has a meaning here, and returns whether it did; any other key (Enter, Esc,
    /// Tab, …) is left to the screen.
    pub fn handle(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return false;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            // Control and Alt together are how AltGr types `@` or `{`.
            KeyCode::Char(c) if control == alt && !c.is_control() => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Char(c) if control => match c.to_ascii_lowercase() {
                'a' => self.cursor = 0,
                'e' => self.cursor = self.text.len(),
                'b' => self.cursor = self.previous(),
                'f' => self.cursor = self.next(),
                'h' => self.delete(self.previous(), self.cursor),
                'd' => self.delete(self.cursor, self.next()),
                'u' => self.delete(0, self.cursor),
                'k' => self.delete(self.cursor, self.text.len()),
                'w' => self.delete(self.word_start(), self.cursor),
                _ => return false,
            },
            KeyCode::Backspace if control || alt => self.delete(self.word_start(), self.cursor),
            KeyCode::Backspace => self.delete(self.previous(), self.cursor),
            KeyCode::Delete => self.delete(self.cursor, self.next()),
            KeyCode::Left if control || alt => self.cursor = self.word_start(),
            KeyCode::Right if control || alt => self.cursor = self.word_end(),
            KeyCode::Left => self.cursor = self.previous(),
            KeyCode::Right => self.cursor = self.next(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return false,
        }
        self.is_proposed = false;
        true
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = self.border_at_or_after(from);
    }

    /// Every border between graphemes, including both ends.
    fn borders(&self) -> Vec<usize> {
        let mut borders = vec![0];
        let mut end = 0;
        for grapheme in Span::raw(&self.text).styled_graphemes(Style::new()) {
            end += grapheme.symbol.len();
            borders.push(end);
        }
        borders
    }

    fn border_at_or_after(&self, offset: usize) -> usize {
        let found = self.borders().into_iter().find(|&border| border >= offset);
        found.unwrap_or(self.text.len())
    }

    fn previous(&self) -> usize {
        self.borders().into_iter().rfind(|&border| border < self.cursor).unwrap_or(0)
    }

    fn next(&self) -> usize {
        self.border_at_or_after((self.cursor + 1).min(self.text.len()))
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        let blank = before.char_indices().rfind(|(_, c)| c.is_whitespace());
        // A blank with an accent on it is one character: do not stop inside.
        self.border_at_or_after(blank.map_or(0, |(at, c)| at + c.len_utf8()))
    }

    fn word_end(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.trim_start();
        let length = word.find(char::is_whitespace).unwrap_or(word.len());
        self.border_at_or_after(self.text.len() - word.len() + length)
    }
}

/// Draws a [`TextField`] on one line and scrolls so that the cursor is visible.
#[derive(Debug, Clone, Copy)]
pub struct TextFieldView<'a> {
    field: &'a TextField,
    theme: &'a Theme,
    glyphs: &'a Glyphs,
    placeholder: &'a str,
    focused: bool,
}

impl<'a> TextFieldView<'a> {
    pub fn new(field: &'a TextField, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        Self { field, theme, glyphs, placeholder: "", focused: false }
    }

    /// With the focus, the cursor is shown as a reversed cell.
    pub fn focused(mut self, focused: bool) -> Self {
        self.focused = focused;
        self
    }

    /// A muted hint instead of an empty text.
    pub fn placeholder(mut self, placeholder: &'a str) -> Self {
        self.placeholder = placeholder;
        self
    }
}

impl Widget for TextFieldView<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let hint = self.field.is_empty();
        let (text, style) = if hint {
            (self.placeholder, self.theme.muted)
        } else {
            (self.field.text(), self.theme.text)
        };
        let span = Span::raw(text);
        // The cursor may be after the last character, on a blank of its own.
        let mut cells: Vec<&str> =
            span.styled_graphemes(Style::new()).map(|grapheme| grapheme.symbol).collect();
        cells.push(" ");
        let cursor = if self.focused && !hint {
            self.field.borders().iter().position(|&border| border == self.field.cursor)
        } else {
            Some(0)
        };
        let cursor = cursor.unwrap_or(0).min(cells.len() - 1);

        let room = area.width;
        let start = first_visible(&cells, cursor, room);
        let mut x = area.left();
        if start > 0 && room > 2 {
            x = write(buffer, area, x, area.y, self.glyphs.clipped_left, self.theme.muted);
        }
        for (index, symbol) in cells.iter().enumerate().skip(start) {
            let end = x.saturating_add(symbol.cell_width());
            let rest_fits = total_width(&cells[index..cells.len() - 1]) <= area.right() - x;
            let limit = if rest_fits || room <= 2 { area.right() } else { area.right() - 1 };
            if end > limit {
                let mark = if room > 2 { self.glyphs.clipped_right } else { "" };
                write(buffer, area, x, area.y, mark, self.theme.muted);
                break;
            }
            let mut style = style;
            let is_whole = self.field.is_proposed && index + 1 < cells.len();
            if self.focused && (index == cursor || is_whole) {
                style = style.add_modifier(Modifier::REVERSED);
            } else if index + 1 == cells.len() {
                break;
            }
            x = write(buffer, area, x, area.y, symbol, style);
        }
    }
}

fn total_width(cells: &[&str]) -> u16 {
    cells.iter().map(|symbol| symbol.cell_width()).fold(0, u16::saturating_add)
}

/// The first character to show so that the cursor and the marks of clipped text
/// on either side fit.
fn first_visible(cells: &[&str], cursor: usize, room: u16) -> usize {
    if cursor + 1 < cells.len() && total_width(&cells[..cells.len() - 1]) <= room {
        return 0;
    }
    let marks = |start: usize| {
        let left = u16::from(start > 0 && room > 2);
        let right = u16::from(cursor + 2 < cells.len() && room > 2);
        left + right
    };
    (0..=cursor)
        .find(|&start| total_width(&cells[start..=cursor]).saturating_add(marks(start)) <= room)
        .unwrap_or(cursor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::buffer::Cell;

    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn control(c: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    fn typed(field: &mut TextField, keys: &[KeyEvent]) {
        for key in keys {
            assert!(field.handle(*key), "{key:?} was not taken");
        }
    }

    fn drawn(field: &TextField, columns: u16, focused: bool) -> (String, Vec<u16>) {
        let theme = Theme::monochrome();
        let glyphs = Glyphs::unicode();
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
        let view = TextFieldView::new(field, &theme, &glyphs).focused(focused).placeholder("name");
        view.render(buffer.area, &mut buffer);
        let text = buffer.content.iter().map(Cell::symbol).collect();
        let reversed = (0..columns)
            .filter(|&x| buffer[(x, 0)].modifier.contains(Modifier::REVERSED))
            .collect();
        (text, reversed)
    }

    #[test]
    fn characters_are_typed_at_the_cursor() {
        let mut field = TextField::new("epslon");
        typed(&mut field, &[key(KeyCode::Home), key(KeyCode::Right), key(KeyCode::Right)]);
        typed(&mut field, &[key(KeyCode::Right), key(KeyCode::Char('i'))]);
        assert_eq!(field.text(), "epsilon");
        typed(&mut field, &[key(KeyCode::End), key(KeyCode::Char('!')), key(KeyCode::Backspace)]);
        typed(&mut field, &[key(KeyCode::Home), key(KeyCode::Delete), key(KeyCode::Char('E'))]);
        assert_eq!(field.text(), "Epsilon");
    }

    #[test]
    fn a_proposed_number_is_replaced_by_what_is_typed_and_a_text_is_not() {
        let type_one = |field: &mut TextField| assert!(field.handle(key(KeyCode::Char('4'))));
        let mut number = TextField::proposed("1 1e-5");
        assert_eq!(drawn(&number, 10, true).1, [0, 1, 2, 3, 4, 5, 6]);
        type_one(&mut number);
        type_one(&mut number);
        assert_eq!(number.text(), "44");
        // A key that moves the cursor or deletes takes it as it is.
        let mut kept = TextField::proposed("10");
        kept.handle(key(KeyCode::Left));
        type_one(&mut kept);
        assert_eq!(kept.text(), "140");
        let mut name = TextField::proposed("trees");
        type_one(&mut name);
        assert_eq!(name.text(), "trees4");
    }

    #[test]
    fn words_and_lines_are_deleted_by_their_keys() {
        let mut field = TextField::new("one two  three");
        typed(&mut field, &[control('w')]);
        assert_eq!(field.text(), "one two  ");
        typed(&mut field, &[control('w')]);
        assert_eq!(field.text(), "one ");
        typed(&mut field, &[key(KeyCode::Left), control('u')]);
        assert_eq!((field.text(), field.cursor), (" ", 0));
        let mut field = TextField::new("keep drop");
        typed(&mut field, &[KeyEvent::new(KeyCode::Left, KeyModifiers::CONTROL), control('k')]);
        assert_eq!(field.text(), "keep ");
    }

    #[test]
    fn an_accented_letter_and_a_family_are_one_step() {
        let mut field = TextField::new("ae\u{301}👨‍👩‍👧z");
        typed(&mut field, &[key(KeyCode::Left), key(KeyCode::Backspace)]);
        assert_eq!(field.text(), "ae\u{301}z");
        typed(&mut field, &[key(KeyCode::Left), key(KeyCode::Char('x'))]);
        assert_eq!(field.text(), "axe\u{301}z");
        typed(&mut field, &[key(KeyCode::Delete)]);
        assert_eq!(field.text(), "axz");
    }

    #[test]
    fn keys_that_mean_nothing_here_are_left_to_the_screen() {
        let mut field = TextField::new("a");
        let alt = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::ALT);
        for key in [key(KeyCode::Enter), key(KeyCode::Esc), key(KeyCode::Tab), control('s'), alt] {
            assert!(!field.handle(key));
        }
        let release = KeyEventKind::Release;
        let up = KeyEvent::new_with_kind(KeyCode::Char('b'), KeyModifiers::NONE, release);
        assert!(!field.handle(up));
        assert_eq!(field.text(), "a");
        let altgr = KeyModifiers::CONTROL | KeyModifiers::ALT;
        assert!(field.handle(KeyEvent::new(KeyCode::Char('@'), altgr)));
        assert_eq!(field.text(), "a@");
    }

    #[test]
    fn a_paste_of_several_lines_stays_one_line() {
        let mut field = TextField::new("ab");
        field.handle(key(KeyCode::Left));
        field.insert("1\n2\t3\u{1b}");
        assert_eq!(field.text(), "a1 2 3 b");
    }

    #[test]
    fn the_cursor_is_a_reversed_cell_only_with_the_focus() {
        let field = TextField::new("abc");
        assert_eq!(drawn(&field, 6, true), ("abc   ".into(), vec![3]));
        assert_eq!(drawn(&field, 6, false), ("abc   ".into(), vec![]));
        assert_eq!(drawn(&TextField::default(), 6, true), ("name  ".into(), vec![0]));
        assert_eq!(drawn(&TextField::default(), 6, false), ("name  ".into(), vec![]));
    }

    #[test]
    fn a_long_text_scrolls_with_its_cursor_and_marks_what_is_hidden() {
        let mut field = TextField::new("0123456789");
        assert_eq!(drawn(&field, 6, true), ("‹6789 ".into(), vec![5]));
        typed(&mut field, &[key(KeyCode::Home)]);
        assert_eq!(drawn(&field, 6, true), ("01234›".into(), vec![0]));
        typed(&mut field, &[key(KeyCode::Right); 6]);
        assert_eq!(drawn(&field, 6, true), ("‹3456›".into(), vec![4]));
        assert_eq!(drawn(&field, 6, false), ("01234›".into(), vec![]));
        assert_eq!(drawn(&field, 10, true), ("0123456789".into(), vec![6]));
    }

    #[test]
    fn wide_characters_are_never_cut_in_half() {
        let field = TextField::new("数据集合");
        assert_eq!(drawn(&field, 8, false).0.replace(' ', ""), "数据集合");
        let (text, cursor) = drawn(&field, 6, true);
        assert!(text.starts_with('‹') && text.contains('合'), "{text}");
        assert_eq!(cursor.len(), 1);
    }

    fn any_key() -> impl Strategy<Value = KeyEvent> {
        let code = prop_oneof![
            any::<char>().prop_map(KeyCode::Char),
            prop::sample::select("abehdukwf \u{301}👧集\u{200d}".chars().collect::<Vec<_>>())
                .prop_map(KeyCode::Char),
            prop::sample::select(vec![
                KeyCode::Left,
                KeyCode::Right,
                KeyCode::Home,
                KeyCode::End,
                KeyCode::Backspace,
                KeyCode::Delete,
            ]),
        ];
        let modifiers = prop::sample::select(vec![
            KeyModifiers::NONE,
            KeyModifiers::NONE,
            KeyModifiers::SHIFT,
            KeyModifiers::CONTROL,
            KeyModifiers::ALT,
        ]);
        (code, modifiers).prop_map(|(code, modifiers)| KeyEvent::new(code, modifiers))
    }

    proptest! {
        #[test]
        fn the_cursor_stays_on_a_border_and_in_sight(
            keys in prop::collection::vec(any_key(), 0..40), columns in 0u16..12,
        ) {
            let mut field = TextField::default();
            for key in keys {
                field.handle(key);
                prop_assert!(field.borders().contains(&field.cursor));
                prop_assert!(!field.text.contains(char::is_control));
            }
            let (_, reversed) = drawn(&field, columns, true);
            // A wide or invisible character may not fit; two cells more always do.
            prop_assert!(columns < 4 || reversed.len() <= 2);
        }

        #[test]
        fn the_cursor_is_always_visible(text in "[a-z集é ]{0,30}", lefts in 0usize..30, columns in 4u16..20) {
            let mut field = TextField::new(&text);
            for _ in 0..lefts {
                field.handle(key(KeyCode::Left));
            }
            prop_assert_eq!(drawn(&field, columns, true).1.len(), 1);
        }
    }
}
