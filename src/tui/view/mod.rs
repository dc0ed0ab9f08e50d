//! What the state looks like. Pure: a state and an area give a picture, and
//! where on it things can be clicked.

mod compare;
mod data;
mod ledger;
mod plan;
mod popups;
mod rank;
mod run;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::app::{App, Level, Tab};
use super::keymap;

/// Below this the screens would be unreadable.
pub const LEAST: (u16, u16) = (60, 16);

/// Where things stood on the last frame, for the mouse.
#[derive(Debug, Default)]
pub struct Hits {
    pub tabs: Vec<(Rect, Tab)>,
    /// Rows of the screen's list, and the index of the first one shown.
    pub rows: Option<(Rect, usize)>,
    pub charts: Vec<Plot>,
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
    let mut hits = Hits::default();
    let area = frame.area();
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
        Tab::Rank => rank::view(app, frame, body),
        Tab::Plan => plan::view(app, frame, body, &mut hits),
        Tab::Run => run::view(app, frame, body, &mut hits),
        Tab::Compare => compare::view(app, frame, body),
        Tab::Ledger => ledger::view(app, frame, body, &mut hits),
    }
    notice_line(app, frame, notice);
    hint_bar(app, frame, hints);
    popups::view(app, frame, body);
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

fn hint_bar(app: &App, frame: &mut Frame, area: Rect) {
    let mut spans = Vec::new();
    let mut used = 1;
    let shown = keymap::on(app.tab).filter(|binding| !binding.hint.is_empty());
    // Help and quit must survive a narrow terminal: they come first.
    let (always, own): (Vec<&keymap::Binding>, Vec<&keymap::Binding>) =
        shown.partition(|binding| binding.scope == keymap::Scope::Everywhere);
    spans.push(Span::raw(" "));
    for binding in always.into_iter().chain(own) {
        let key = keymap::shown(binding.keys[0]);
        let width = key.chars().count() + binding.hint.chars().count() + 3;
        if used + width > usize::from(area.width) {
            break;
        }
        used += width;
        spans.push(Span::styled(key, app.theme.accent));
        spans.push(Span::styled(format!(" {}  ", binding.hint), app.theme.muted));
    }
    frame.render_widget(Line::from(spans), area);
}

/// What stands for a symbol, one cell for one cell, where there is no Unicode.
const PLAIN: [(&str, char); 12] = [
    ("─━·–—", '-'),
    ("│┃", '|'),
    ("┌┐└┘├┤┬┴┼", '+'),
    ("←≤", '<'),
    ("→≥", '>'),
    ("…±", '~'),
    ("↑", '^'),
    ("↓", 'v'),
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

/// A titled box; returns what is inside.
fn boxed(app: &App, frame: &mut Frame, area: Rect, title: &str) -> Rect {
    let mut block = Block::bordered().border_style(app.theme.border);
    if !title.is_empty() {
        block = block.title(Span::styled(format!(" {title} "), app.theme.accent));
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
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

/// First index to show so that `selected` is visible in `height` rows.
fn scrolled(selected: usize, height: u16, count: usize) -> usize {
    let height = usize::from(height.max(1));
    if count <= height {
        return 0;
    }
    selected.saturating_sub(height / 2).min(count - height)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::{Color, Modifier};

    use super::*;
    use crate::privacy::ledger::Book;
    use crate::tui::popup::Popup;
    use crate::tui::theme::{Glyphs, Theme};

    fn app(theme: Theme) -> App {
        let session = crate::session::demo::session("bikeshare").unwrap();
        App::new(session, None, theme, Glyphs::unicode())
    }

    fn drawn(app: &App, columns: u16, rows: u16) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| drop(view(app, frame))).unwrap();
        terminal
    }

    #[test]
    fn every_screen_in_its_first_state() {
        let mut app = app(Theme::truecolor());
        app.ledger.book = Some(Book::default());
        for tab in Tab::ALL {
            app.tab = tab;
            insta::assert_snapshot!(tab.title(), drawn(&app, 80, 24).backend());
        }
    }

    #[test]
    fn the_help_of_the_run_screen() {
        let mut app = app(Theme::truecolor());
        app.tab = Tab::Run;
        app.popup = Some(Popup::Help { scroll: 0 });
        insta::assert_snapshot!(drawn(&app, 80, 50).backend());
    }

    #[test]
    fn every_screen_fits_every_size_and_without_colour_has_none_but_keeps_its_selection() {
        let mut app = app(Theme::monochrome());
        for tab in Tab::ALL {
            app.tab = tab;
            for (columns, rows) in [(1, 1), (40, 10), (60, 16), (80, 24), (160, 50), (300, 100)] {
                let terminal = drawn(&app, columns, rows);
                let cells = &terminal.backend().buffer().content;
                let plain = |colour: Color| matches!(colour, Color::Reset);
                assert!(cells.iter().all(|cell| plain(cell.fg) && plain(cell.bg)));
                let reversed = cells.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED));
                assert_eq!(reversed, columns >= LEAST.0, "{} at {columns}x{rows}", tab.title());
            }
        }
    }
}
