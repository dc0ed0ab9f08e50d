//! What screens and windows draw on: boxes, tables and charts in the user's theme.
//! It remembers where things stand, for the mouse.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table, TableState, Widget, Wrap};

use super::keys::Command;
use super::tab::{Pane, Tab};
use super::theme::{Glyphs, Theme};
use super::widgets::chart::Chart;
use super::widgets::viewport::Viewport;

/// Where things stood on the last frame, for the mouse.
#[derive(Debug, Default)]
pub struct Hits {
    pub size: (u16, u16),
    pub tabs: Vec<(Rect, Tab)>,
    pub hints: Vec<(Rect, Command)>,
    pub lists: Vec<ListHit>,
    pub charts: Vec<Plot>,
    /// Rows of the window's list, and the index of the first one shown.
    pub popup_rows: Option<(Rect, usize)>,
    /// What a window offers, and the key that takes it.
    pub answers: Vec<(Rect, KeyEvent)>,
}

/// Rows of a list on the screen.
#[derive(Debug, Clone, Copy)]
pub struct ListHit {
    pub area: Rect,
    /// Place in the list of the first row shown.
    pub first: usize,
    pub pane: Pane,
    /// Place of the selected row.
    pub selected: Option<usize>,
}

/// The plot of a chart on the screen, and what its columns stand for.
#[derive(Debug, Clone, Copy)]
pub struct Plot {
    pub area: Rect,
    pub low: f64,
    pub high: f64,
}

impl Plot {
    pub fn x_at(&self, column: u16) -> f64 {
        let last = self.area.width.saturating_sub(1).max(1);
        let offset = column.saturating_sub(self.area.x).min(last);
        self.low + (self.high - self.low) * f64::from(offset) / f64::from(last)
    }
}

/// The columns of a table: the line above it (or none) and their widths.
pub type Columns<'a> = (Vec<Line<'a>>, Vec<Constraint>);

/// One frame that is being drawn.
pub struct Canvas<'a, 'b> {
    frame: &'a mut Frame<'b>,
    pub hits: Hits,
    pub theme: &'a Theme,
    pub glyphs: &'a Glyphs,
    /// The part of the screen that has the focus.
    pub focus: Option<Pane>,
    /// Whether the focus shows: there is another part that it could go to.
    pub marks_focus: bool,
    /// The filter of the screen is being typed.
    pub filtering: bool,
}

impl<'a, 'b> Canvas<'a, 'b> {
    pub fn new(frame: &'a mut Frame<'b>, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        let Rect { width, height, .. } = frame.area();
        let hits = Hits { size: (width, height), ..Hits::default() };
        Self { frame, hits, theme, glyphs, focus: None, marks_focus: false, filtering: false }
    }

    pub fn area(&self) -> Rect {
        self.frame.area()
    }

    pub fn render(&mut self, widget: impl Widget, area: Rect) {
        self.frame.render_widget(widget, area);
    }

    /// Text, wrapped at its words.
    pub fn wrapped(&mut self, text: impl Into<String>, style: Style, area: Rect) {
        let paragraph = Paragraph::new(text.into()).style(style);
        self.render(paragraph.wrap(Wrap { trim: true }), area);
    }

    pub fn has_focus(&self, pane: Pane) -> bool {
        self.focus == Some(pane)
    }

    /// A titled box that says whether it has the focus; returns what is inside.
    pub fn pane(&mut self, area: Rect, title: &str, pane: Pane) -> Rect {
        let focused = self.marks_focus && self.has_focus(pane);
        let title = if focused && !title.is_empty() {
            format!("{} {title}", self.glyphs.pointer)
        } else {
            title.to_owned()
        };
        let style = if focused { self.theme.border_focused } else { self.theme.border };
        self.boxed_in(area, &title, style)
    }

    /// A titled box; returns what is inside.
    pub fn boxed(&mut self, area: Rect, title: &str) -> Rect {
        self.boxed_in(area, title, self.theme.border)
    }

    /// A window in the middle of `body`; returns what is inside.
    pub fn window(&mut self, body: Rect, width: u16, height: u16, title: &str) -> Rect {
        let area = body.centered(
            Constraint::Length(width.min(body.width)),
            Constraint::Length(height.min(body.height)),
        );
        self.render(Clear, area);
        self.boxed_in(area, title, self.theme.border_focused)
    }

    fn boxed_in(&mut self, area: Rect, title: &str, style: Style) -> Rect {
        let mut block = Block::bordered().border_style(style);
        if !title.is_empty() {
            block = block.title(Span::styled(format!(" {title} "), self.theme.accent));
        }
        let inner = block.inner(area);
        self.render(block, area);
        inner
    }

    /// Draws the header and the visible rows of a table; returns the area of the rows and
    /// the index of the first one.
    pub fn table<'r>(
        &mut self,
        area: Rect,
        (header, widths): Columns<'r>,
        (count, selected): (usize, Option<usize>),
        row: impl Fn(usize) -> Row<'r>,
    ) -> (Rect, usize) {
        let headed = u16::from(!header.is_empty());
        let visible = area.height.saturating_sub(headed);
        let first = scrolled(selected.unwrap_or(0), visible, count);
        let rows = (first..count).take(usize::from(visible)).map(row);
        let mut table = Table::new(rows, widths).row_highlight_style(self.theme.selection);
        if headed > 0 {
            table = table.header(Row::new(header).style(self.theme.muted));
        }
        let shown = selected.map(|selected| selected.saturating_sub(first));
        let mut state = TableState::new().with_selected(shown);
        self.frame.render_stateful_widget(table, area, &mut state);
        (Rect { y: area.y + headed, height: visible, ..area }, first)
    }

    /// A table that the mouse can select in; `count` rows in all, `selected` among them.
    pub fn list<'r>(
        &mut self,
        area: Rect,
        columns: Columns<'r>,
        (pane, count, selected): (Pane, usize, Option<usize>),
        row: impl Fn(usize) -> Row<'r>,
    ) {
        let (area, first) = self.table(area, columns, (count, selected), row);
        self.hits.lists.push(ListHit { area, first, pane, selected });
    }

    /// A screen that has nothing to show says what to press.
    pub fn empty(&mut self, area: Rect, lines: &[&str]) {
        let text: Vec<Line> = lines.iter().map(|line| Line::raw(*line)).collect();
        let paragraph = Paragraph::new(text).style(self.theme.muted).wrap(Wrap { trim: false });
        self.render(paragraph, area);
    }

    /// A box with such lines in it.
    pub fn empty_box(&mut self, area: Rect, title: &str, lines: &[&str]) {
        let inner = self.boxed(area, title);
        self.empty(inner, lines);
    }

    pub fn chart(&mut self, area: Rect, chart: &Chart) {
        let _ = chart.draw(area, self.frame.buffer_mut());
    }

    /// A chart in a box, seen through the viewport of its screen.
    pub fn pointed_chart(&mut self, area: Rect, pane: Pane, chart: Chart, viewport: &Viewport) {
        let inner = self.pane(area, "", pane);
        let chart = chart.window(viewport.window).cursor(viewport.cursor);
        if let Some((area, (low, high))) = chart.draw(inner, self.frame.buffer_mut()) {
            self.hits.charts.push(Plot { area, low, high });
        }
    }

    /// `name: value` pairs under each other.
    pub fn pairs<'p>(&self, pairs: &[(&'p str, String)]) -> Vec<Line<'p>> {
        let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line = |(name, value): &(&'p str, String)| {
            let padding = " ".repeat(width - name.chars().count() + 1);
            Line::from(vec![
                Span::styled(*name, self.theme.muted),
                Span::raw(padding),
                Span::styled(value.clone(), self.theme.text),
            ])
        };
        pairs.iter().map(line).collect()
    }

    /// Replaces what an ASCII terminal cannot show, cell by cell.
    pub fn spell_out(&mut self) {
        for cell in &mut self.frame.buffer_mut().content {
            if cell.symbol().is_ascii() {
                continue;
            }
            let known = PLAIN.iter().find(|(symbols, _)| symbols.contains(cell.symbol()));
            let plain = match known {
                Some((_, plain)) => *plain,
                None if cell.symbol() == "◆" => self.glyphs.curator.chars().next().unwrap_or('*'),
                None => '?',
            };
            cell.set_char(plain);
        }
    }
}

/// What stands for a symbol, one cell for one cell, where there is no Unicode.
const PLAIN: [(&str, char); 14] = [
    ("─━·–—", '-'),
    ("│┃", '|'),
    ("┌┐└┘├┤┬┴┼", '+'),
    ("←≤", '<'),
    ("→≥", '>'),
    ("…±", '~'),
    ("↑▲", '^'),
    ("↓▼", 'v'),
    ("▶", '>'),
    ("×", 'x'),
    ("ε", 'e'),
    ("δ", 'd'),
    ("σ", 's'),
    ("κ", 'k'),
];

pub fn bold(style: Style) -> Style {
    style.add_modifier(Modifier::BOLD)
}

/// How many lines of this width a wrapped text needs.
pub fn wrapped_lines(text: &str, width: u16) -> u16 {
    let mut lines: u16 = 0;
    let mut room = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if length >= room {
            lines = lines.saturating_add(1);
            room = usize::from(width) + 1;
        }
        room = room.saturating_sub(length + 1);
    }
    lines
}

/// The first of these columns that fit beside each other, a blank after each.
pub fn fitting<C: Copy>(
    columns: impl IntoIterator<Item = C>,
    width: impl Fn(C) -> u16,
    room: u16,
) -> Vec<C> {
    let mut left = room;
    let fits = |column: &C| {
        let needed = width(*column) + 1;
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    columns.into_iter().take_while(fits).collect()
}

/// Stands behind the title of the column that sorts a table.
pub fn sort_mark(sorts: bool, reverse: bool) -> &'static str {
    match (sorts, reverse) {
        (false, _) => "",
        (true, false) => "▲",
        (true, true) => "▼",
    }
}

/// First index to show so that `selected` is visible in `height` rows.
pub fn scrolled(selected: usize, height: u16, count: usize) -> usize {
    let height = usize::from(height.max(1));
    if count <= height {
        return 0;
    }
    selected.saturating_sub(height / 2).min(count - height)
}
