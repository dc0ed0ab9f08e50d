//! The picture of the state. Pure: a state and an area give a picture and its clickable places.

use ratatui::Frame;
use ratatui::layout::Margin;
use ratatui::widgets::Clear;

use super::app::App;
use super::canvas::{
    Canvas, Fill, Hits, Length, Line, Rect, Span, in_columns, in_rows, wrapped_lines,
};
use super::notice::Level;
use super::tab::Tab;
use super::widgets::text_field::TextFieldView;
use super::{keymap, keys, tutorial};

/// The least size; on a smaller terminal the screens would be unreadable.
pub const LEAST: (u16, u16) = (60, 16);

pub fn view(app: &App, frame: &mut Frame) -> Hits {
    let mut canvas = Canvas::new(frame, &app.theme, &app.glyphs);
    let area = canvas.area();
    canvas.render(Clear, area);
    let least = least(app);
    if area.width < least.0 || area.height < least.1 {
        too_small(app, &mut canvas, area);
        return canvas.hits;
    }
    let strip = if app.context.tutorial.is_some() { tutorial::ROWS } else { 0 };
    let rows = notice_rows(app, area.width);
    let [head, body, lesson, notice, hints] =
        in_rows(area, [Length(1), Fill(1), Length(strip), Length(rows), Length(1)]);
    let context = &app.context;
    canvas.focus = app.pane();
    canvas.marks_focus = app.screen().panes(context).len() > 1 && context.popup.is_none();
    canvas.filtering = app.filtering;
    canvas.alone = canvas.focus.filter(|_| app.maximised);
    canvas.borders = Some(&context.state.borders);
    canvas.pictures = app.pictures;
    tabs(app, &mut canvas, head);
    app.screen().view(context, &mut canvas, body);
    tutorial_strip(app, &mut canvas, lesson);
    notice_line(app, &mut canvas, notice);
    hint_bar(app, &mut canvas, hints);
    if let Some(popup) = &context.popup {
        popup.draw(&mut canvas, body, &context.watch);
    }
    if !app.glyphs.unicode {
        canvas.spell_out();
    }
    canvas.hits
}

fn least(app: &App) -> (u16, u16) {
    match app.context.tutorial {
        Some(_) => (LEAST.0, tutorial::LEAST_HEIGHT),
        None => LEAST,
    }
}

/// The text of the tutorial, between the screen and the notices, so that it hides nothing.
fn tutorial_strip(app: &App, canvas: &mut Canvas, area: Rect) {
    let Some(tutorial) = &app.context.tutorial else { return };
    let [title, text] = in_rows(area, [Length(1), Fill(1)]);
    let (name, leave) = (format!(" {} ", tutorial.title()), " Esc leaves ");
    let rule = usize::from(title.width).saturating_sub(name.chars().count() + leave.len() + 4);
    let line = canvas.glyphs.horizontal;
    let parts = vec![
        Span::styled(line.repeat(2), app.theme.accent),
        Span::styled(name, app.theme.accent),
        Span::styled(line.repeat(rule), app.theme.accent),
        Span::styled(leave, app.theme.muted),
        Span::styled(line.repeat(2), app.theme.accent),
    ];
    canvas.line(Line::from(parts), title);
    let words = tutorial.text(&app.context).replace('◆', canvas.glyphs.curator);
    canvas.wrapped(words, app.theme.text, text.inner(Margin::new(1, 0)));
}

fn too_small(app: &App, canvas: &mut Canvas, area: Rect) {
    let text = format!(
        "halflight needs {} x {} characters; this terminal has {} x {}. \
         Make the window larger, or press q.",
        least(app).0,
        least(app).1,
        area.width,
        area.height
    );
    canvas.wrapped(text, app.theme.text, area);
}

const PROGRAM: &str = " halflight ";

fn tabs(app: &App, canvas: &mut Canvas, area: Rect) {
    // The names of the screens come before that of the program.
    let names = Tab::ALL.iter().map(|tab| tab.title().len() + 4).sum::<usize>();
    let program = if names + PROGRAM.len() <= usize::from(area.width) { PROGRAM } else { "" };
    let mut spans = vec![Span::styled(program, app.theme.accent)];
    let mut x = area.x + program.len() as u16;
    for (index, tab) in Tab::ALL.iter().copied().enumerate() {
        let text = format!(" {} {} ", index + 1, tab.title());
        let width = text.len() as u16;
        canvas.hits.tabs.push((Rect::new(x, area.y, width, 1), tab));
        x += width;
        let style = if tab == app.context.tab { app.theme.selection } else { app.theme.text };
        spans.push(Span::styled(text, style));
    }
    let context = &app.context;
    let mut state = vec![
        (app.maximised, "z: back"),
        (context.watch.is_sealed(), "sealed"),
        (context.working() > 0, "running"),
        (context.is_rehearsing(), "rehearsing"),
        (context.demo.is_some(), "demo"),
        (context.demo.is_none() && context.unsaved, "unsaved: Ctrl-s"),
    ];
    state.retain(|(holds, _)| *holds);
    let mut state: Vec<&str> = state.into_iter().map(|(_, word)| word).collect();
    canvas.line(Line::from(spans), area);
    let room = area.right().saturating_sub(x);
    let right = |state: &[&str]| format!("{} ", state.join(" "));
    // The way back from a window is also in the help; a seal and changes are only here.
    let fits = |state: &[&str]| room as usize > right(state).chars().count();
    if app.maximised && !fits(&state) {
        state.remove(0);
    }
    let right = right(&state);
    if room as usize > right.chars().count() {
        let line = Line::styled(right, app.theme.warning).right_aligned();
        canvas.line(line, Rect { x, width: room, ..area });
    }
}

fn notice_line(app: &App, canvas: &mut Canvas, area: Rect) {
    if app.filtering {
        let [mark, field, help] = in_columns(area, [Length(9), Fill(1), Length(29)]);
        canvas.line(Line::styled(" filter: ", app.theme.accent), mark);
        let view = TextFieldView::new(app.context.filter_field(), &app.theme, &app.glyphs);
        canvas.render(view.focused(true).placeholder("words that must appear"), field);
        canvas.line(Line::styled("Enter keeps it, Esc clears it", app.theme.muted), help);
        return;
    }
    let (line, next) = (message(app), next_step(app));
    if line.width() == 0 {
        return canvas.line(next, area);
    }
    if area.height > 1 {
        let last = Rect { y: area.bottom() - 1, height: 1, ..area };
        canvas.line(next, last);
    } else if next.width() > 0 {
        let beside = area.width.saturating_sub(next.width() as u16 + 1);
        canvas.line(next, Rect { x: area.x + beside, width: area.width - beside, ..area });
    }
    // A long message deserves more than one line.
    let rows = wrapped_lines(&line.to_string(), area.width).min(5);
    if rows < 2 {
        let row = Rect { height: 1, width: line.width() as u16, ..area };
        return canvas.line(line, row);
    }
    let tall = Rect { y: area.y.saturating_sub(rows - 1), height: rows, ..area };
    canvas.render(Clear, tall);
    canvas.paragraph(line, true, tall);
}

/// The message to the user; empty if there is none.
fn message(app: &App) -> Line<'_> {
    let Some(notice) = &app.context.notice else { return Line::default() };
    let (style, mark) = match notice.level {
        Level::Info => (app.theme.text, ""),
        Level::Good => (app.theme.good, ""),
        Level::Warning => (app.theme.warning, "note: "),
        Level::Error => (app.theme.error, "error: "),
    };
    Line::styled(format!(" {mark}{}", notice.text), style)
}

/// The rows for the message and the next step: two if both are there and do not fit side by side.
fn notice_rows(app: &App, width: u16) -> u16 {
    let [message, next] = [message(app).width(), next_step(app).width()];
    let fit = message + next < usize::from(width);
    if app.filtering || fit || message == 0 || next == 0 { 1 } else { 2 }
}

/// The next step, for new users; Ctrl-n hides it permanently. The tutorial has its own.
fn next_step(app: &App) -> Line<'static> {
    let context = &app.context;
    if context.tutorial.is_some() || context.popup.is_some() || context.state.no_hints {
        return Line::default();
    }
    if context.demo.is_some() && context.tab == Tab::ALL[0] {
        let words = " Demo: public data, throw-away ledger. Ctrl-o opens your own session.";
        return Line::styled(words, app.theme.muted);
    }
    let step = app.screen().next_step(context);
    step.map_or_else(Line::default, |step| Line::styled(format!(" Next: {step}."), app.theme.muted))
}

/// The keys of the screen. A window above it, or a field that is being typed, has its own.
fn hint_bar(app: &App, canvas: &mut Canvas, area: Rect) {
    if app.context.popup.is_some() || app.screen().is_typing() {
        return;
    }
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    // Help and quit must also fit on a narrow terminal, so they come first.
    let keys = keymap::everywhere().chain(keymap::of(app.context.tab));
    let of_use = |command: &keys::Command, key: &keys::Key| {
        command.tab.is_none() || app.screen().hindrance(key.name, &app.context).is_none()
    };
    let keys: Vec<_> = keys.filter(|(command, key)| key.hint && of_use(command, key)).collect();
    let width =
        |key: &keys::Key| keys::shown(key.keys[0]).chars().count() + key.name.chars().count() + 3;
    let all: usize = keys.iter().map(|(_, key)| width(key)).sum();
    let is_whole = used + all <= usize::from(area.width) + 2;
    let room = usize::from(area.width);
    let room = if is_whole { room + 2 } else { room.saturating_sub("? 10 more".len()) };
    for (at, (command, key)) in keys.iter().enumerate() {
        if used + width(key) > room {
            spans.push(Span::styled(format!("? {} more", keys.len() - at), app.theme.muted));
            break;
        }
        let place = Rect::new(area.x + used as u16, area.y, width(key) as u16 - 2, 1);
        canvas.hits.hints.push((place, *command));
        used += width(key);
        spans.push(Span::styled(keys::shown(key.keys[0]), app.theme.accent));
        let gap = if at + 1 < keys.len() { "  " } else { "" };
        spans.push(Span::styled(format!(" {}{gap}", key.name), app.theme.muted));
    }
    canvas.line(Line::from(spans), area);
}

#[cfg(test)]
mod tests;
