//! Windows over a screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::bold;
use crate::data::Role;
use crate::tui::app::App;
use crate::tui::keymap::{self, Scope};
use crate::tui::popup::{Answer, DatasetForm, Popup, Prompt};
use crate::tui::widgets::field::FieldView;

pub fn view(app: &App, frame: &mut Frame, body: Rect) {
    match &app.popup {
        None => {}
        Some(Popup::Help { scroll }) => help(app, frame, body, *scroll),
        Some(Popup::Question { text, then }) => question(app, frame, body, text, then),
        Some(Popup::Prompt(prompt)) => ask(app, frame, body, prompt),
        Some(Popup::Dataset(form)) => dataset(app, frame, body, form),
    }
}

/// A window in the middle of `body`; returns what is inside.
fn window(app: &App, frame: &mut Frame, body: Rect, width: u16, height: u16, title: &str) -> Rect {
    let area = body.centered(
        Constraint::Length(width.min(body.width)),
        Constraint::Length(height.min(body.height)),
    );
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .border_style(app.theme.border_focused)
        .title(Span::styled(format!(" {title} "), app.theme.accent));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn help(app: &App, frame: &mut Frame, body: Rect, scroll: u16) {
    let mut lines = vec![Line::styled(format!("On {}", app.tab.title()), bold(app.theme.accent))];
    let mut everywhere = false;
    for binding in keymap::on(app.tab) {
        if binding.scope == Scope::Everywhere && !everywhere {
            everywhere = true;
            lines.push(Line::default());
            lines.push(Line::styled("Everywhere", bold(app.theme.accent)));
        }
        let keys: Vec<String> = binding.keys.iter().map(|key| keymap::shown(key)).collect();
        lines.push(Line::from(vec![
            Span::styled(format!("  {:<12}", keys.join(" ")), app.theme.accent),
            Span::styled(binding.help, app.theme.text),
        ]));
    }
    for (mark, words) in [
        ("◆", "an exact number about private data: for your eyes, never exported"),
        ("*", "a setting that differs from its default"),
    ] {
        lines.push(Line::from(vec![
            Span::styled(format!("  {mark:<12}"), app.theme.curator),
            Span::styled(words, app.theme.text),
        ]));
    }
    let inner = window(
        app,
        frame,
        body,
        76,
        lines.len() as u16 + 2,
        "Keys · ↓ scrolls, any other key closes",
    );
    let most = (lines.len() as u16).saturating_sub(inner.height);
    frame.render_widget(Paragraph::new(lines).scroll((scroll.min(most), 0)), inner);
}

fn question(app: &App, frame: &mut Frame, body: Rect, text: &str, then: &Answer) {
    let inner = window(app, frame, body, 64, 7, "Sure?");
    let [question, answers] =
        inner.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]));
    frame.render_widget(
        Paragraph::new(text).style(app.theme.text).wrap(Wrap { trim: true }),
        question,
    );
    let yes = match then {
        Answer::Quit => "quit",
        Answer::Launch => "launch",
        Answer::StopRun(_) => "stop",
        Answer::RemoveDataset(_) | Answer::RemovePlan => "remove",
        Answer::AcceptPast(_) => "accept",
        Answer::SettleDead(_) => "settle",
        Answer::Repair => "repair",
    };
    frame.render_widget(
        Line::from(vec![
            Span::styled("y", app.theme.accent),
            Span::styled(format!(" or Enter: {yes}    "), app.theme.muted),
            Span::styled("n", app.theme.accent),
            Span::styled(" or Esc: no", app.theme.muted),
        ]),
        answers,
    );
}

fn ask(app: &App, frame: &mut Frame, body: Rect, prompt: &Prompt) {
    let inner = window(app, frame, body, 70, 7, &prompt.title);
    let [help, field, problem, keys] = inner.layout(&Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]));
    frame.render_widget(Line::styled(prompt.help.as_str(), app.theme.muted), help);
    frame.render_widget(FieldView::new(&prompt.text, &app.theme, &app.glyphs).focused(true), field);
    if let Some(text) = &prompt.problem {
        let paragraph = Paragraph::new(text.as_str()).style(app.theme.error);
        frame.render_widget(paragraph.wrap(Wrap { trim: true }), problem);
    }
    frame.render_widget(Line::styled("Enter takes it, Esc leaves", app.theme.muted), keys);
}

fn dataset(app: &App, frame: &mut Frame, body: Rect, form: &DatasetForm) {
    let title = if form.replaces.is_some() { "Edit dataset" } else { "Add dataset" };
    let columns = form.known_columns.join(", ");
    let inner = window(app, frame, body, 76, 18, title);
    let [fields, help, problem, known, keys] = inner.layout(&Layout::vertical([
        Constraint::Length(DatasetForm::LABELS.len() as u16),
        Constraint::Length(2),
        Constraint::Length(3),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]));
    for (index, label) in DatasetForm::LABELS.iter().enumerate() {
        let row = Rect { y: fields.y + index as u16, height: 1, ..fields };
        if row.y >= fields.bottom() {
            break;
        }
        let [name, value] =
            row.layout(&Layout::horizontal([Constraint::Length(14), Constraint::Fill(1)]));
        let focused = form.focus == index;
        let style = if focused { bold(app.theme.text) } else { app.theme.muted };
        frame.render_widget(Line::styled(*label, style), name);
        if index == 0 {
            let role = match form.role {
                Role::Private => "private",
                Role::Public => "public",
            };
            let style = if focused { app.theme.selection } else { app.theme.text };
            frame.render_widget(Span::styled(role, style), value);
        } else {
            let field = FieldView::new(&form.fields[index - 1], &app.theme, &app.glyphs);
            frame.render_widget(field.focused(focused), value);
        }
    }
    let words = DatasetForm::HELP[form.focus];
    frame.render_widget(
        Paragraph::new(words).style(app.theme.muted).wrap(Wrap { trim: true }),
        help,
    );
    if let Some(text) = &form.problem {
        let paragraph = Paragraph::new(text.as_str()).style(app.theme.error);
        frame.render_widget(paragraph.wrap(Wrap { trim: true }), problem);
    }
    if !columns.is_empty() {
        let text = format!("columns of the file: {columns}");
        let paragraph = Paragraph::new(text).style(app.theme.muted);
        frame.render_widget(paragraph.wrap(Wrap { trim: true }), known);
    }
    frame.render_widget(
        Line::styled("↑↓ or Tab between fields, Enter saves, Esc leaves", app.theme.muted),
        keys,
    );
}
