//! The surface on which screens and windows draw boxes, tables and charts in the user's theme. It
//! remembers the position of things, for the mouse.

use std::collections::BTreeMap;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Direction, Flex, Layout, Position};
use ratatui::style::{Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table, TableState, Widget, Wrap};

use super::keys::Command;
use super::pictures::{Drawing, Picture};
use super::tab::{Pane, Tab};
use super::theme::{Glyphs, Theme};
use super::widgets::chart::Chart;
use super::widgets::cut_apart;
use super::widgets::large;
use super::widgets::viewport::Viewport;

/// What is drawn on a canvas, and where.
pub use ratatui::layout::Constraint::{Fill, Length};
pub use ratatui::layout::Rect;
pub use ratatui::text::{Line, Span};

/// The positions of things on the last frame, for the mouse.
#[derive(Debug, Default)]
pub struct Hits {
    pub size: (u16, u16),
    pub tabs: Vec<(Rect, Tab)>,
    pub hints: Vec<(Rect, Command)>,
    pub lists: Vec<ListHit>,
    /// Heads of columns.
    pub heads: Vec<Head>,
    pub charts: Vec<Plot>,
    /// Images that are shown as pixels.
    pub pictures: Vec<Picture>,
    /// Borders that the mouse moves.
    pub borders: Vec<Border>,
    /// Rows of the window's list, and the index of the first one shown.
    pub popup_rows: Option<(Rect, usize)>,
    /// The answers that a window offers, and the key for each.
    pub answers: Vec<(Rect, KeyEvent)>,
}

/// Rows of a list on the screen.
#[derive(Debug, Clone, Copy)]
pub struct ListHit {
    pub area: Rect,
    /// Index in the list of the first shown row.
    pub first: usize,
    pub pane: Pane,
    /// Index of the selected row.
    pub selected: Option<usize>,
}

/// The border between two parts of a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Border {
    pub name: &'static str,
    /// Both parts together.
    area: Rect,
    direction: Direction,
    /// Rows or columns of the first part.
    pub first: u16,
}

impl Border {
    /// Rows that a part keeps, and columns.
    const LEAST: [u16; 2] = [5, 20];

    /// The border, where both parts have the least room; `first` is kept within it.
    fn new(name: &'static str, area: Rect, direction: Direction, first: u16) -> Option<Self> {
        let border = Self { name, area, direction, first };
        let [length, least] = [border.length(), border.least()];
        let first = first.clamp(least, length.checked_sub(least).filter(|it| *it >= least)?);
        Some(Self { first, ..border })
    }

    fn least(&self) -> u16 {
        Self::LEAST[usize::from(self.direction == Direction::Horizontal)]
    }

    /// Rows or columns of both parts.
    pub fn length(&self) -> u16 {
        match self.direction {
            Direction::Vertical => self.area.height,
            Direction::Horizontal => self.area.width,
        }
    }

    fn cells_before(&self, at: Position) -> u16 {
        match self.direction {
            Direction::Vertical => at.y.saturating_sub(self.area.y),
            Direction::Horizontal => at.x.saturating_sub(self.area.x),
        }
    }

    /// Whether a cell is one of the two lines between the parts.
    pub fn contains(&self, at: Position) -> bool {
        let before = self.cells_before(at);
        self.area.contains(at) && (before == self.first || before + 1 == self.first)
    }

    /// The share of the first part after a drag between two cells.
    pub fn share(&self, [from, to]: [Position; 2]) -> f64 {
        let first = (self.first + self.cells_before(to)).saturating_sub(self.cells_before(from));
        let first = first.clamp(self.least(), self.length() - self.least());
        f64::from(first) / f64::from(self.length())
    }
}

/// The head of a column on the screen.
#[derive(Debug, Clone)]
pub struct Head {
    pub area: Rect,
    pub pane: Pane,
    /// Title of the column, without the mark of the sorting column.
    pub title: String,
}

/// The plot of a chart on the screen, and the meaning of its columns.
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
pub type ColumnWidths<'a> = (Vec<Line<'a>>, Vec<Constraint>);

/// The cells of a row.
pub type Cells<'a> = Vec<Line<'a>>;

/// The frame that is being drawn.
pub struct Canvas<'a, 'b> {
    frame: &'a mut Frame<'b>,
    pub hits: Hits,
    pub theme: &'a Theme,
    pub glyphs: &'a Glyphs,
    /// The focused part of the screen.
    pub focus: Option<Pane>,
    /// Whether the focus is marked: there is another part that it could go to.
    pub marks_focus: bool,
    /// Whether the filter of the screen is being typed.
    pub filtering: bool,
    /// The part that fills the whole screen.
    pub alone: Option<Pane>,
    /// The shares of parts whose border was moved, by the name of the border.
    pub borders: Option<&'a BTreeMap<String, f64>>,
    /// How images are drawn.
    pub pictures: Drawing,
    /// Whether the mark of the focus was drawn on a box.
    marked: bool,
}

impl<'a, 'b> Canvas<'a, 'b> {
    pub fn new(frame: &'a mut Frame<'b>, theme: &'a Theme, glyphs: &'a Glyphs) -> Self {
        let Rect { width, height, .. } = frame.area();
        let hits = Hits { size: (width, height), ..Hits::default() };
        Self {
            frame,
            hits,
            theme,
            glyphs,
            focus: None,
            marks_focus: false,
            filtering: false,
            alone: None,
            borders: None,
            pictures: Drawing::HalfBlocks,
            marked: false,
        }
    }

    pub fn area(&self) -> Rect {
        self.frame.area()
    }

    pub fn render(&mut self, widget: impl Widget, area: Rect) {
        self.frame.render_widget(widget, area);
    }

    /// A line of text. If it does not fit, it ends in `…`.
    pub fn line<'l>(&mut self, line: impl Into<Line<'l>>, area: Rect) {
        self.render(shortened(line.into(), area.width), area);
    }

    /// Lines below each other. Those that do not fit end in `…`.
    pub fn lines(&mut self, lines: Vec<Line>, area: Rect) {
        for (line, row) in lines.into_iter().zip(area.rows()) {
            self.line(line, row);
        }
    }

    /// Text, wrapped at its words.
    pub fn wrapped(&mut self, text: impl Into<String>, style: Style, area: Rect) {
        self.paragraph(Text::styled(text.into(), style), true, area);
    }

    /// Text, wrapped at its words, without leading blanks of lines if they are trimmed. If it does
    /// not fit, it ends in `…`.
    pub fn paragraph<'t>(&mut self, text: impl Into<Text<'t>>, trim: bool, area: Rect) {
        let text = Paragraph::new(text).wrap(Wrap { trim });
        let buffer = self.frame.buffer_mut();
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let mut whole = Buffer::empty(Rect { height: area.height.saturating_add(3), ..area });
        (&text).render(whole.area, &mut whole);
        text.render(area, buffer);
        let is_blank = |at: &(u16, u16)| whole[*at].symbol().trim().is_empty();
        let beyond = Rect { y: area.bottom(), height: 3, ..area };
        if beyond.positions().all(|at| is_blank(&(at.x, at.y))) {
            return;
        }
        let last = (area.left()..area.right()).rfind(|x| !is_blank(&(*x, area.bottom() - 1)));
        let end = last.map_or(area.left(), |x| (x + 1).min(area.right() - 1));
        buffer[(end, area.bottom() - 1)].set_symbol("…");
    }

    pub fn has_focus(&self, pane: Pane) -> bool {
        self.focus == Some(pane)
    }

    /// Two parts below each other, the first with so many rows before somebody moves the border.
    pub fn two_rows(&mut self, name: &'static str, area: Rect, first: u16) -> [Rect; 2] {
        let first = self.bordered(name, area, Direction::Vertical, first);
        in_rows(area, [Length(first), Fill(1)])
    }

    /// Two parts beside each other, the first with so many columns before somebody moves the border.
    pub fn two_columns(&mut self, name: &'static str, area: Rect, first: u16) -> [Rect; 2] {
        let first = self.bordered(name, area, Direction::Horizontal, first);
        in_columns(area, [Length(first), Fill(1)])
    }

    /// The length of the first of two parts. If one of them is empty, there is no border.
    fn bordered(
        &mut self,
        name: &'static str,
        area: Rect,
        direction: Direction,
        first: u16,
    ) -> u16 {
        let usual = Border { name, area, direction, first };
        let length = usual.length();
        if first == 0 || first >= length {
            return first;
        }
        let moved = self.borders.and_then(|moved| moved.get(name));
        let moved = moved.map(|share| (share * f64::from(length)).round() as u16);
        let Some(border) = Border::new(name, area, direction, moved.unwrap_or(first)) else {
            return first;
        };
        let border = if moved.is_some() { border } else { usual };
        self.hits.borders.push(border);
        border.first
    }

    /// A titled box that shows whether it has the focus; returns its inside.
    pub fn pane(&mut self, area: Rect, title: &str, pane: Pane) -> Rect {
        let focused = self.marks_focus && self.has_focus(pane);
        let marks = focused && !title.is_empty() && !std::mem::replace(&mut self.marked, focused);
        let title =
            if marks { format!("{} {title}", self.glyphs.pointer) } else { title.to_owned() };
        let style = if focused { self.theme.border_focused } else { self.theme.border };
        self.boxed_in(area, &title, style)
    }

    /// Text in a part that scrolls, `first` lines down. The title shows if more follows.
    pub fn text_pane(
        &mut self,
        area: Rect,
        title: &str,
        pane: Pane,
        lines: Vec<Line>,
        first: usize,
    ) {
        let (width, height) = (area.width.saturating_sub(2), area.height.saturating_sub(2));
        let (title, first) = self.scrolling(title, &lines, (width, height), first);
        let inner = self.pane(area, &title, pane);
        self.scrolled_text(inner, pane, lines, first);
    }

    /// The title of a text that may not fit, and its first visible line.
    pub fn scrolling(
        &self,
        title: &str,
        lines: &[Line],
        (width, height): (u16, u16),
        first: usize,
    ) -> (String, usize) {
        let rows = lines.iter().map(|line| wrapped_lines(&line.to_string(), width).max(1));
        let beyond = usize::from(rows.sum::<u16>()).saturating_sub(usize::from(height));
        let more = if first < beyond { " · ↓ more".to_owned() } else { String::new() };
        (format!("{title}{more}"), first.min(beyond))
    }

    /// Wrapped text from its line `first` on.
    pub fn scrolled(&mut self, lines: Vec<Line>, first: u16, area: Rect) {
        let text = Paragraph::new(lines).wrap(Wrap { trim: false });
        self.render(text.scroll((first, 0)), area);
    }

    pub fn scrolled_text(&mut self, area: Rect, pane: Pane, lines: Vec<Line>, first: usize) {
        self.scrolled(lines, first as u16, area);
        self.hits.lists.push(ListHit { area, first, pane, selected: None });
    }

    /// A titled box; returns its inside.
    pub fn boxed(&mut self, area: Rect, title: &str) -> Rect {
        self.boxed_in(area, title, self.theme.border)
    }

    /// A window in the middle of `body`; returns its inside.
    pub fn window(&mut self, body: Rect, width: u16, height: u16, title: &str) -> Rect {
        let area = body.centered(Length(width.min(body.width)), Length(height.min(body.height)));
        self.render(Clear, area);
        self.boxed_in(area, title, self.theme.border_focused)
    }

    fn boxed_in(&mut self, area: Rect, title: &str, style: Style) -> Rect {
        let mut block = Block::bordered().border_style(style);
        if !title.is_empty() {
            let title = shortened(Line::raw(title.to_owned()), area.width.saturating_sub(4));
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
        (header, widths): ColumnWidths<'r>,
        (count, selected): (usize, Option<usize>),
        row: impl Fn(usize) -> Cells<'r>,
    ) -> (Rect, usize) {
        let (mut header, widths) = snug(area.width, (header, widths), count, &row);
        // A head is above its numbers.
        if count > 0 {
            let aligned = |(head, cell): (&mut Line, &Line)| head.alignment = cell.alignment;
            header.iter_mut().zip(&row(0)).for_each(aligned);
        }
        let headed = u16::from(!header.is_empty());
        let visible = area.height.saturating_sub(headed);
        let first = scrolled(selected.unwrap_or(0), visible, count);
        let columns = Layout::horizontal(widths).flex(Flex::Start).spacing(1).split(area);
        // A selected row is one bar: its own colours would break it up.
        let row = |place: usize| match selected {
            Some(selected) if selected == place => plain(row(place)),
            _ => row(place),
        };
        let shown: Vec<Cells> = (first..count).take(usize::from(visible)).map(row).collect();
        let texts = |column: usize| {
            let cells = shown.iter().filter_map(move |cells| cells.get(column));
            cells.map(ToString::to_string).collect::<Vec<_>>()
        };
        let cut = columns.iter().enumerate();
        let cut: Vec<Vec<String>> =
            cut.map(|(at, place)| cut_apart(&texts(at), place.width, "…")).collect();
        let fitted = |(place, cells): (usize, Cells<'r>)| {
            let cells = cells.into_iter().zip(columns.iter()).enumerate();
            Row::new(cells.map(|(at, (cell, column))| match cut[at].get(place) {
                // The middle was cut where the end would have been.
                Some(text) if shortened(cell.clone(), column.width).to_string() != *text => {
                    let style = cell.spans.first().map_or(cell.style, |span| span.style);
                    Cell::from(Line::styled(text.clone(), style))
                }
                _ => Cell::from(shortened(cell, column.width)),
            }))
        };
        let rows: Vec<Row> = shown.iter().cloned().enumerate().map(fitted).collect();
        let widths = columns.iter().map(|column| Length(column.width));
        let mut table = Table::new(rows, widths).row_highlight_style(self.theme.selection);
        if headed > 0 {
            let heads: Vec<String> = header.iter().map(ToString::to_string).collect();
            let head = |(at, (head, column)): (usize, (Line<'r>, &Rect))| {
                let apart = cut_apart(&heads, column.width, "…").swap_remove(at);
                Cell::from(Line { spans: vec![Span::raw(apart)], ..head })
            };
            let cells = header.into_iter().zip(columns.iter()).enumerate().map(head);
            table = table.header(Row::new(cells).style(self.theme.muted));
        }
        let shown = selected.map(|selected| selected.saturating_sub(first));
        let mut state = TableState::new().with_selected(shown);
        self.frame.render_stateful_widget(table, area, &mut state);
        self.say_more_below(area, count - count.min(first + usize::from(visible)));
        (Rect { y: area.y + headed, height: visible, ..area }, first)
    }

    /// Says on the border below a table how many rows follow.
    fn say_more_below(&mut self, area: Rect, rows: usize) {
        let text = format!(" ↓ {rows} more ");
        let width = text.chars().count() as u16;
        let (left, y) = (area.right().saturating_sub(width), area.bottom());
        let buffer = self.frame.buffer_mut();
        let is_border = |x| buffer.cell((x, y)).is_some_and(|it| ["─", "━"].contains(&it.symbol()));
        if rows > 0 && left >= area.x && (left..area.right()).all(is_border) {
            buffer.set_string(left, y, text, self.theme.muted);
        }
    }

    /// A table in which the mouse can select; `count` rows in total, with `selected` among them.
    pub fn list<'r>(
        &mut self,
        area: Rect,
        columns: ColumnWidths<'r>,
        (pane, count, selected): (Pane, usize, Option<usize>),
        row: impl Fn(usize) -> Cells<'r>,
    ) {
        let columns = snug(area.width, columns, count, &row);
        let places = Layout::horizontal(&columns.1).flex(Flex::Start).spacing(1).split(area);
        for (head, place) in columns.0.iter().zip(places.iter()) {
            let area = Rect { height: 1, ..*place };
            let title = head.to_string().trim_end_matches(['▲', '▼']).to_owned();
            self.hits.heads.push(Head { area, pane, title });
        }
        let (area, first) = self.table(area, columns, (count, selected), row);
        self.hits.lists.push(ListHit { area, first, pane, selected });
    }

    /// An empty screen says which keys to press.
    pub fn empty(&mut self, area: Rect, lines: &[&str]) {
        let lines = lines.iter().map(|line| Line::styled(*line, self.theme.muted));
        self.paragraph(lines.collect::<Vec<_>>(), false, area);
    }

    /// A box with such lines.
    pub fn empty_box(&mut self, area: Rect, title: &str, lines: &[&str]) {
        let inner = self.boxed(area, title);
        self.empty(inner, lines);
    }

    pub fn chart(&mut self, area: Rect, chart: &Chart) {
        let _ = chart.draw(area, self.frame.buffer_mut());
    }

    /// A chart in a box, with the viewport of its screen.
    pub fn pointed_chart(&mut self, area: Rect, pane: Pane, chart: Chart, viewport: &Viewport) {
        let chart = chart.window(viewport.window).cursor(viewport.cursor);
        let inner = self.pane(area, &chart.heading(), pane);
        self.plot(inner, chart);
    }

    /// A chart inside a box that has its heading.
    pub fn plot(&mut self, area: Rect, chart: Chart) {
        let chart = chart.headless();
        if let Some((area, (low, high))) = chart.draw(area, self.frame.buffer_mut()) {
            self.hits.charts.push(Plot { area, low, high });
        }
    }

    /// A number three rows high, if it can be drawn, with its description below.
    pub fn large(&mut self, area: Rect, number: &str, about: &str, style: Style) {
        let rows = large::rows(number).filter(|_| self.glyphs.unicode);
        let Some(rows) = rows.filter(|_| area.height > large::ROWS) else {
            let line = Line::styled(format!(" {number} {about}"), bold(style));
            return self.line(line, area);
        };
        let mut lines: Vec<Line> =
            rows.iter().map(|row| Line::styled(format!(" {row}"), style)).collect();
        lines.push(Line::styled(format!(" {about}"), self.theme.muted));
        self.lines(lines, area);
    }

    /// Names and values, one pair per line. A value that is too long for a line of `room` cells
    /// continues below its start.
    pub fn pairs<'p>(&self, pairs: &[(&'p str, String)], room: u16) -> Vec<Line<'p>> {
        let width = usize::from(longest(pairs.iter().map(|(name, _)| name)));
        let room = usize::from(room).saturating_sub(width + 1).max(SHORTEST_VALUE);
        let mut lines = Vec::new();
        for (name, value) in pairs {
            for (part, text) in broken(value, room).into_iter().enumerate() {
                let name = if part == 0 { *name } else { "" };
                let padding = " ".repeat(width - name.chars().count() + 1);
                lines.push(Line::from(vec![
                    Span::styled(name, self.theme.muted),
                    Span::raw(padding),
                    Span::styled(text, self.theme.text),
                ]));
            }
        }
        lines
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

/// The replacements of symbols, cell for cell, without Unicode.
const PLAIN: [(&str, char); 15] = [
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
    ("★", '*'),
    ("ε", 'e'),
    ("δ", 'd'),
    ("σ", 's'),
    ("κ", 'k'),
];

/// The least width for a value.
const SHORTEST_VALUE: usize = 12;

/// Cells without their own colours.
fn plain(cells: Cells<'_>) -> Cells<'_> {
    let plain = |line: Line| Line {
        spans: line.spans.iter().map(|span| Span::raw(span.content.to_string())).collect(),
        style: Style::new(),
        alignment: line.alignment,
    };
    cells.into_iter().map(plain).collect()
}

/// Longer tables are not measured for each frame.
const MOST_MEASURED: usize = 200;

/// Makes columns that share the remaining room only as wide as their contents, if everything fits,
/// so that the parts of a row are close together.
fn snug<'r>(
    room: u16,
    (header, widths): ColumnWidths<'r>,
    count: usize,
    row: &impl Fn(usize) -> Cells<'r>,
) -> ColumnWidths<'r> {
    if count > MOST_MEASURED || !widths.iter().any(|it| matches!(it, Fill(_))) {
        return (header, widths);
    }
    let rows: Vec<Cells> = (0..count).map(row).collect();
    let longest = |column: usize| {
        let cells = std::iter::once(&header).chain(&rows).filter_map(|cells| cells.get(column));
        cells.map(Line::width).max().map_or(0, within)
    };
    let needed = widths.iter().enumerate().map(|(column, width)| match width {
        Fill(_) => longest(column),
        Length(length) => *length,
        _ => u16::MAX,
    });
    let needed: Vec<u16> = needed.collect();
    if needed.iter().map(|width| usize::from(*width) + 1).sum::<usize>() <= usize::from(room) + 1 {
        (header, needed.into_iter().map(Length).collect())
    } else {
        (header, widths)
    }
}

/// The lines of a text, broken between words, and within a word that is longer than a line; at
/// least one line.
pub fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let pieces = text.split_whitespace().flat_map(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(room.max(1)).map(String::from_iter).collect::<Vec<_>>()
    });
    for word in pieces {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The number of letters of the longest text.
pub fn longest<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> u16 {
    texts.into_iter().map(|text| text.as_ref().chars().count()).max().map_or(0, within)
}

/// A number of cells or lines, as large as a terminal can be at most.
fn within(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Parts of an area, from top to bottom.
pub fn in_rows<const N: usize>(area: Rect, heights: [Constraint; N]) -> [Rect; N] {
    Layout::vertical(heights).areas(area)
}

/// Parts of an area, from left to right.
pub fn in_columns<const N: usize>(area: Rect, widths: [Constraint; N]) -> [Rect; N] {
    Layout::horizontal(widths).areas(area)
}

pub fn bold(style: Style) -> Style {
    style.add_modifier(Modifier::BOLD)
}

/// A line that fits; a cut line ends in `…`. Nothing is cut without this sign, because a number
/// with a digit less would be another number.
pub fn shortened(line: Line<'_>, width: u16) -> Line<'_> {
    let width = usize::from(width);
    if line.width() <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let mut spans = Vec::new();
    for span in &line.spans {
        let kept: String = span.content.chars().take(room).collect();
        room -= kept.chars().count();
        let full = kept.len() == span.content.len();
        spans.push(Span::styled(if full { kept } else { kept + "…" }, span.style));
        if !full {
            break;
        }
    }
    if width == 0 {
        spans.clear();
    }
    Line { spans, style: line.style, alignment: None }
}

/// The number of lines of this width that a wrapped text needs; none if it has no words.
pub fn wrapped_lines(text: &str, width: u16) -> u16 {
    let is_blank = text.trim().is_empty();
    if is_blank { 0 } else { within(broken(text, usize::from(width)).len()) }
}

/// The first of these columns that fit side by side, with a blank after each.
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

/// The mark after the title of the sorting column of a table.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_at_its_end_and_says_so() {
        let fit = |text: &str, width| {
            shortened(Line::raw(text.to_owned()).right_aligned(), width).to_string()
        };
        assert_eq!(fit("129 of 401", 10), "129 of 401");
        assert_eq!(fit("129 of 401", 9), "129 of 4…");
        assert_eq!(fit("129", 1), "…");
        assert_eq!(fit("129", 0), "");
        let parts = Line::from(vec![Span::raw("ab"), Span::raw("cd"), Span::raw("ef")]);
        assert_eq!(shortened(parts.clone(), 4).to_string(), "abc…");
        assert_eq!(shortened(parts, 3).to_string(), "ab…");
    }

    #[test]
    fn a_value_is_broken_between_words_and_a_long_word_within() {
        assert_eq!(broken("one two  three", 7), ["one two", "three"]);
        assert_eq!(broken("sum:abcdefgh x", 5), ["sum:a", "bcdef", "gh x"]);
        assert_eq!(broken("", 5), [""]);
    }
}
