//! What the state looks like. Pure: a state and an area give a picture, and
//! where on it things can be clicked.

mod compare;
mod data;
pub mod ledger;
mod plan;
mod popups;
mod rank;
mod run;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table, TableState, Wrap};

use super::app::{App, Level, Pane, Tab};
use super::keymap::{self, Action};
use super::widgets::text_field::TextFieldView;

/// Below this the screens would be unreadable.
pub const LEAST: (u16, u16) = (60, 16);

/// Where things stood on the last frame, for the mouse.
#[derive(Debug, Default)]
pub struct Hits {
    pub size: (u16, u16),
    pub tabs: Vec<(Rect, Tab)>,
    pub hints: Vec<(Rect, Action)>,
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

pub fn view(app: &App, frame: &mut Frame) -> Hits {
    let area = frame.area();
    let mut hits = Hits { size: (area.width, area.height), ..Hits::default() };
    frame.render_widget(Clear, area);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(app, frame, area);
        return hits;
    }
    let [head, body, notice, hints] = area.layout(&Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ]));
    tabs(app, frame, head, &mut hits);
    match app.tab {
        Tab::Data => data::view(app, frame, body, &mut hits),
        Tab::Rank => rank::view(app, frame, body, &mut hits),
        Tab::Plan => plan::view(app, frame, body, &mut hits),
        Tab::Run => run::view(app, frame, body, &mut hits),
        Tab::Compare => compare::view(app, frame, body, &mut hits),
        Tab::Ledger => ledger::view(app, frame, body, &mut hits),
    }
    notice_line(app, frame, notice);
    hint_bar(app, frame, hints, &mut hits);
    popups::view(app, frame, body, &mut hits);
    if !app.glyphs.unicode {
        spell_out(app, frame);
    }
    hits
}

fn too_small(app: &App, frame: &mut Frame, area: Rect) {
    let text = format!(
        "halflight needs {} x {} characters; this terminal has {} x {}. \
         Make the window larger, or press q.",
        LEAST.0, LEAST.1, area.width, area.height
    );
    frame.render_widget(Paragraph::new(text).style(app.theme.text).wrap(Wrap { trim: true }), area);
}

fn tabs(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let mut spans = vec![Span::styled(" halflight ", app.theme.accent)];
    let mut x = area.x + 11;
    for (index, tab) in Tab::ALL.into_iter().enumerate() {
        let text = format!(" {} {} ", index + 1, tab.title());
        let width = text.len() as u16;
        hits.tabs.push((Rect::new(x, area.y, width, 1), tab));
        x += width;
        let style = if tab == app.tab { app.theme.selection } else { app.theme.text };
        spans.push(Span::styled(text, style));
    }
    let mut state = Vec::new();
    if app.watch.is_sealed() {
        state.push("sealed");
    }
    match app.working() {
        0 => {}
        _ => state.push("running"),
    }
    if app.demo.is_some() {
        state.push("demo");
    } else if app.unsaved {
        state.push("unsaved");
    }
    frame.render_widget(Line::from(spans), area);
    let right = format!("{} ", state.join(" "));
    let room = area.right().saturating_sub(x);
    if room as usize > right.chars().count() {
        let line = Line::styled(right, app.theme.warning).right_aligned();
        frame.render_widget(line, Rect { x, width: room, ..area });
    }
}

fn notice_line(app: &App, frame: &mut Frame, area: Rect) {
    if app.filtering {
        let [mark, field, help] = area.layout(&Layout::horizontal([
            Constraint::Length(9),
            Constraint::Fill(1),
            Constraint::Length(29),
        ]));
        frame.render_widget(Line::styled(" filter: ", app.theme.accent), mark);
        let view = TextFieldView::new(app.filter_field(), &app.theme, &app.glyphs);
        frame.render_widget(view.focused(true).placeholder("words that must appear"), field);
        frame.render_widget(Line::styled("Enter keeps it, Esc clears it", app.theme.muted), help);
        return;
    }
    let line = match &app.notice {
        Some(notice) => {
            let (style, mark) = match notice.level {
                Level::Info => (app.theme.text, ""),
                Level::Good => (app.theme.good, ""),
                Level::Warning => (app.theme.warning, "note: "),
                Level::Error => (app.theme.error, "error: "),
            };
            Line::styled(format!(" {mark}{}", notice.text), style)
        }
        None if app.demo.is_some() => Line::styled(
            " Demo: public data, throw-away ledger. Ctrl-o opens your own session.",
            app.theme.muted,
        ),
        None => Line::default(),
    };
    // A long error deserves more than one line.
    let width = line.width() as u16;
    if width > area.width && app.notice.is_some() {
        let rows = width.div_ceil(area.width.max(1) - 2).min(5);
        let top = area.y.saturating_sub(rows - 1);
        let tall = Rect { y: top, height: rows, ..area };
        frame.render_widget(Clear, tall);
        frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: true }), tall);
    } else {
        frame.render_widget(line, area);
    }
}

fn hint_bar(app: &App, frame: &mut Frame, area: Rect, hits: &mut Hits) {
    let mut spans = Vec::new();
    let mut used = 1;
    let shown = keymap::on(app.tab).filter(|binding| binding.hint);
    // Help and quit must survive a narrow terminal: they come first.
    let (always, own): (Vec<&keymap::Binding>, Vec<&keymap::Binding>) =
        shown.partition(|binding| binding.scope == keymap::Scope::Everywhere);
    spans.push(Span::raw(" "));
    for binding in always.into_iter().chain(own) {
        let key = keymap::shown(binding.keys[0]);
        let width = key.chars().count() + binding.name.chars().count() + 3;
        if used + width > usize::from(area.width) {
            break;
        }
        let place = Rect::new(area.x + used as u16, area.y, width as u16 - 2, 1);
        hits.hints.push((place, binding.action));
        used += width;
        spans.push(Span::styled(key, app.theme.accent));
        spans.push(Span::styled(format!(" {}  ", binding.name), app.theme.muted));
    }
    frame.render_widget(Line::from(spans), area);
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

/// Replaces what an ASCII terminal cannot show, cell by cell.
fn spell_out(app: &App, frame: &mut Frame) {
    for cell in &mut frame.buffer_mut().content {
        if cell.symbol().is_ascii() {
            continue;
        }
        let known = PLAIN.iter().find(|(symbols, _)| symbols.contains(cell.symbol()));
        let plain = match known {
            Some((_, plain)) => *plain,
            None if cell.symbol() == "◆" => app.glyphs.curator.chars().next().unwrap_or('*'),
            None => '?',
        };
        cell.set_char(plain);
    }
}

/// A titled box that says whether it has the focus; returns what is inside.
fn pane(app: &App, frame: &mut Frame, area: Rect, title: &str, pane: Pane) -> Rect {
    let focused = app.panes().len() > 1 && app.pane() == Some(pane) && app.popup.is_none();
    let title = if focused && !title.is_empty() {
        format!("{} {title}", app.glyphs.pointer)
    } else {
        title.to_owned()
    };
    let style = if focused { app.theme.border_focused } else { app.theme.border };
    boxed_in(app, frame, area, &title, style)
}

/// A titled box; returns what is inside.
fn boxed(app: &App, frame: &mut Frame, area: Rect, title: &str) -> Rect {
    boxed_in(app, frame, area, title, app.theme.border)
}

fn boxed_in(app: &App, frame: &mut Frame, area: Rect, title: &str, style: Style) -> Rect {
    let mut block = Block::bordered().border_style(style);
    if !title.is_empty() {
        block = block.title(Span::styled(format!(" {title} "), app.theme.accent));
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// The title of a list that may be filtered.
fn filtered_title(app: &App, title: &str) -> String {
    match app.filter() {
        "" => title.to_owned(),
        filter => format!("{title} · filter: {filter}"),
    }
}

/// Draws the visible rows of a table, header above them, and says where they are.
/// `count` rows in all, `selected` among them.
fn table<'a>(
    app: &App,
    frame: &mut Frame,
    area: Rect,
    (header, widths): (Vec<Line<'a>>, Vec<Constraint>),
    (pane, count, selected): (Pane, usize, Option<usize>),
    row: impl Fn(usize) -> Row<'a>,
) -> ListHit {
    let headed = u16::from(!header.is_empty());
    let visible = area.height.saturating_sub(headed);
    let first = scrolled(selected.unwrap_or(0), visible, count);
    let rows = (first..count).take(usize::from(visible)).map(row);
    let mut table = Table::new(rows, widths).row_highlight_style(app.theme.selection);
    if headed > 0 {
        table = table.header(Row::new(header).style(app.theme.muted));
    }
    let shown = selected.map(|selected| selected.saturating_sub(first));
    let mut state = TableState::new().with_selected(shown);
    frame.render_stateful_widget(table, area, &mut state);
    let area = Rect { y: area.y + headed, height: visible, ..area };
    ListHit { area, first, pane, selected }
}

/// A screen that has nothing to show says what to press.
fn empty(app: &App, frame: &mut Frame, area: Rect, lines: &[&str]) {
    let text: Vec<Line> = lines.iter().map(|line| Line::raw(*line)).collect();
    let paragraph = Paragraph::new(text).style(app.theme.muted).wrap(Wrap { trim: false });
    frame.render_widget(paragraph, area);
}

/// `name: value` pairs under each other.
fn pairs<'a>(app: &App, pairs: &[(&'a str, String)]) -> Vec<Line<'a>> {
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, value): &(&'a str, String)| {
        let padding = " ".repeat(width - name.chars().count() + 1);
        Line::from(vec![
            Span::styled(*name, app.theme.muted),
            Span::raw(padding),
            Span::styled(value.clone(), app.theme.text),
        ])
    };
    pairs.iter().map(line).collect()
}

fn bold(style: Style) -> Style {
    style.add_modifier(Modifier::BOLD)
}

/// Lines of this width that a text takes when it is wrapped at its words.
fn wrapped_lines(text: &str, width: u16) -> u16 {
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

/// First index to show so that `selected` is visible in `height` rows.
fn scrolled(selected: usize, height: u16, count: usize) -> usize {
    let height = usize::from(height.max(1));
    if count <= height {
        return 0;
    }
    selected.saturating_sub(height / 2).min(count - height)
}

#[cfg(test)]
mod tests;
