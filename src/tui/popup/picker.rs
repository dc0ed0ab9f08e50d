//! A list to choose from by typing a few letters.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::question::Then;
use crate::canvas::{
    Canvas, Fill, Length, Line, Rect, in_columns, in_rows, longest, wrapped_lines,
};
use crate::fuzzy;
use crate::widgets::text_field::{TextField, TextFieldView};

/// The width of the window.
const WIDTH: u16 = 100;

#[derive(Debug, Clone)]
pub struct Item<T> {
    pub title: String,
    pub detail: String,
    pub key: String,
    /// Other words by which the item is found; they are not shown.
    pub also: String,
    /// Whether the item is shown but is not a real choice.
    pub grey: bool,
    /// Whether the item is ticked, in a list of which several are chosen.
    pub ticked: Option<bool>,
    /// The value of this choice.
    pub value: T,
}

impl<T> Item<T> {
    pub fn new(title: impl Into<String>, detail: impl Into<String>, value: T) -> Self {
        let (title, detail) = (title.into(), detail.into());
        Self {
            title,
            detail,
            key: String::new(),
            also: String::new(),
            grey: false,
            ticked: None,
            value,
        }
    }
}

impl<C> Item<Then<C>> {
    /// A choice that does something.
    pub fn that(
        title: impl Into<String>,
        detail: impl Into<String>,
        then: impl FnOnce(&mut C) + 'static,
    ) -> Self {
        Self::new(title, detail, Box::new(then))
    }
}

#[derive(Debug)]
pub struct Picker<T> {
    pub title: String,
    pub query: TextField,
    pub items: Vec<Item<T>>,
    /// The selected index among the matching items.
    pub selected: usize,
    /// What stands below the list besides its keys.
    pub foot: Option<String>,
}

impl<T> Picker<T> {
    pub fn new(title: &str, items: Vec<Item<T>>) -> Self {
        Self {
            title: title.to_owned(),
            query: TextField::default(),
            items,
            selected: 0,
            foot: None,
        }
    }

    /// The matching items, the best first; without a query, all in their order.
    pub fn matches(&self) -> Vec<&Item<T>> {
        self.places().into_iter().map(|place| &self.items[place]).collect()
    }

    fn places(&self) -> Vec<usize> {
        let query = self.query.text();
        if query.trim().is_empty() {
            return (0..self.items.len()).collect();
        }
        let score = |item: &Item<T>| {
            // A match in the name counts more than one in the description.
            let name = fuzzy::score(query, &item.title).map(|score| 2 * score + 20);
            let detail = fuzzy::score(query, &item.detail);
            let also = fuzzy::score(query, &item.also);
            let key = (item.key == query.trim()).then_some(200);
            name.max(detail).max(also).max(key)
        };
        let scored = self.items.iter().enumerate();
        let mut scored: Vec<(i32, usize)> =
            scored.filter_map(|(place, item)| Some((score(item)?, place))).collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        scored.into_iter().map(|(_, place)| place).collect()
    }

    pub fn chosen(&self) -> Option<&Item<T>> {
        self.matches().get(self.selected).copied()
    }

    pub fn into_chosen(mut self) -> Option<T> {
        let place = *self.places().get(self.selected)?;
        Some(self.items.swap_remove(place).value)
    }

    pub fn step(&mut self, by: isize) {
        let last = self.places().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Selects this row of the matching items; false if there is none.
    pub fn choose(&mut self, row: usize) -> bool {
        let is_there = row < self.places().len();
        if is_there {
            self.selected = row;
        }
        is_there
    }

    /// Ticks the selected item or takes its tick away; false if it has none.
    pub fn tick(&mut self) -> bool {
        let place = self.places().get(self.selected).copied();
        let ticked = place.and_then(|place| self.items[place].ticked.as_mut());
        ticked.map(|it| *it = !*it).is_some()
    }

    /// Moves, ticks or types.
    pub fn handle(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Down => self.step(1),
            KeyCode::Up => self.step(-1),
            KeyCode::Char('n' | 'j') if control => self.step(1),
            KeyCode::Char('p' | 'k') if control => self.step(-1),
            KeyCode::PageDown => self.step(10),
            KeyCode::PageUp => self.step(-10),
            KeyCode::Char(' ') if self.tick() => {}
            _ => {
                self.query.handle(key);
                self.selected = 0;
            }
        }
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        // The whole description of the chosen one, where the list has no room for it.
        let longest = self.items.iter().map(|item| wrapped_lines(&item.detail, WIDTH - 2)).max();
        let more = longest.filter(|lines| *lines > 1).unwrap_or(0).min(3);
        let height = (self.items.len() as u16 + 5 + more).min(24 + more);
        let inner = canvas.window(body, WIDTH, height, &self.title);
        let [field, list, detail, keys] =
            in_rows(inner, [Length(2), Fill(1), Length(more), Length(1)]);
        self.draw_query(canvas, Rect { height: 1, ..field }, "type a few letters");
        self.draw_items(canvas, list);
        if let Some(item) = self.chosen().filter(|_| more > 0) {
            canvas.wrapped(item.detail.clone(), canvas.theme.text, detail);
        }
        let ticks = self.items.iter().any(|item| item.ticked.is_some());
        let enter = if ticks { "Space ticks, Enter takes them" } else { "Enter takes it" };
        let mut words = format!("↑↓ choose, {enter}, Esc leaves");
        if let Some(foot) = &self.foot {
            words = format!("{words} · {foot}");
        }
        canvas.line(Line::styled(words, canvas.theme.muted), keys);
    }

    pub(super) fn draw_query(&self, canvas: &mut Canvas, area: Rect, placeholder: &str) {
        // The typed text must not look like an entry of the list below it.
        let mark = format!("{} ", canvas.glyphs.pointer);
        let [sign, text] = in_columns(area, [Length(longest([&mark])), Fill(1)]);
        canvas.line(Line::styled(mark, canvas.theme.accent), sign);
        let view = TextFieldView::new(&self.query, canvas.theme, canvas.glyphs);
        canvas.render(view.placeholder(placeholder).focused(true), text);
    }

    /// The matching items, with the selected one visible.
    pub(super) fn draw_items(&self, canvas: &mut Canvas, area: Rect) {
        let theme = canvas.theme;
        let matches = self.matches();
        if matches.is_empty() {
            canvas.line(Line::styled("nothing matches", theme.muted), area);
            return;
        }
        let keys = longest(matches.iter().map(|item| &item.key));
        let ticked = |item: &Item<T>| match item.ticked {
            Some(ticked) => format!("[{}] {}", if ticked { 'x' } else { ' ' }, item.title),
            None => item.title.clone(),
        };
        let titles = longest(matches.iter().map(|item| ticked(item)));
        let described = matches.iter().any(|item| !item.detail.is_empty());
        let title = if described { Length(titles.min(area.width * 2 / 5)) } else { Fill(1) };
        let detail = if described { Fill(1) } else { Length(0) };
        let widths = vec![title, detail, Length(keys)];
        let row = |place: usize| {
            let item = matches[place];
            vec![
                Line::styled(ticked(item), if item.grey { theme.muted } else { theme.text }),
                Line::styled(item.detail.clone(), theme.muted),
                Line::styled(item.key.clone(), theme.accent).right_aligned(),
            ]
        };
        let list = (matches.len(), Some(self.selected));
        canvas.hits.popup_rows = Some(canvas.table(area, (Vec::new(), widths), list, row));
    }
}
