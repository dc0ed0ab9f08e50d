//! Windows over a screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Wrap};

use super::{Hits, bold, table};
use crate::engine::shelf::{Cells, Schema};
use crate::tui::app::{App, Pane, one_line};
use crate::tui::fuzzy;
use crate::tui::keymap::{self, Scope};
use crate::tui::popup::dataset_form::{DatasetForm, Shown};
use crate::tui::popup::picker::{Files, Picker};
use crate::tui::popup::{Answer, ExportForm, Format, Popup, Prompt};
use crate::tui::widgets::text_field::{TextField, TextFieldView};

pub fn view(app: &App, frame: &mut Frame, body: Rect, hits: &mut Hits) {
    match &app.popup {
        None => {}
        Some(Popup::Help { search, scroll }) => help(app, frame, body, search, *scroll),
        Some(Popup::Question { text, then }) => question(app, frame, body, text, then, hits),
        Some(Popup::Prompt(prompt)) => ask(app, frame, body, prompt),
        Some(Popup::Dataset(form)) => dataset(app, frame, body, form),
        Some(Popup::Pick(picker)) => pick(app, frame, body, picker, hits),
        Some(Popup::Files(files)) => browse(app, frame, body, files, hits),
        Some(Popup::Export(form)) => export(app, frame, body, form),
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

/// The keys of this screen, as far as the search finds them.
fn help(app: &App, frame: &mut Frame, body: Rect, search: &TextField, scroll: u16) {
    let found = |binding: &&keymap::Binding| {
        let text = format!("{} {} {}", keymap::shown_keys(binding), binding.name, binding.help);
        fuzzy::holds(search.text(), &text)
    };
    let mut lines = Vec::new();
    for scope in [Scope::On(app.tab), Scope::Everywhere] {
        let bindings: Vec<_> =
            keymap::on(app.tab).filter(|it| it.scope == scope).filter(found).collect();
        if bindings.is_empty() {
            continue;
        }
        let heading = match scope {
            Scope::On(tab) => format!("On {}", tab.title()),
            Scope::Everywhere => "Everywhere".to_owned(),
        };
        lines.push(Line::styled(heading, bold(app.theme.accent)));
        for binding in bindings {
            lines.push(Line::from(vec![
                Span::styled(format!("  {:<14}", keymap::shown_keys(binding)), app.theme.accent),
                Span::styled(binding.help, app.theme.text),
            ]));
        }
    }
    if search.is_empty() {
        for (mark, words) in [
            ("◆", "an exact number about private data: for your eyes, never exported"),
            ("*", "a setting that differs from its default"),
        ] {
            lines.push(Line::from(vec![
                Span::styled(format!("  {mark:<14}"), app.theme.curator),
                Span::styled(words, app.theme.text),
            ]));
        }
        if let Some(path) = &app.config_file {
            let text = format!("  configuration: {}", path.display());
            lines.push(Line::styled(text, app.theme.muted));
        }
    } else if lines.is_empty() {
        lines.push(Line::styled("no key for that; : finds commands", app.theme.muted));
    }
    let height = lines.len() as u16 + 4;
    let inner = window(app, frame, body, 78, height, "Keys · type to search · Esc closes");
    let [field, rest] =
        inner.layout(&Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]));
    let view =
        TextFieldView::new(search, &app.theme, &app.glyphs).placeholder("search").focused(true);
    frame.render_widget(view, Rect { height: 1, ..field });
    let most = (lines.len() as u16).saturating_sub(rest.height);
    frame.render_widget(Paragraph::new(lines).scroll((scroll.min(most), 0)), rest);
}

/// The items of a picker that match, with the chosen one in sight.
fn items(app: &App, frame: &mut Frame, area: Rect, picker: &Picker, hits: &mut Hits) {
    let matches = picker.matches();
    if matches.is_empty() {
        frame.render_widget(Line::styled("nothing matches", app.theme.muted), area);
        return;
    }
    let keys = matches.iter().map(|item| item.key.chars().count()).max().unwrap_or(0) as u16;
    let titles = matches.iter().map(|item| item.title.chars().count()).max().unwrap_or(0) as u16;
    let described = matches.iter().any(|item| !item.detail.is_empty());
    let title = if described {
        Constraint::Length(titles.min(area.width / 3))
    } else {
        Constraint::Fill(1)
    };
    let detail = if described { Constraint::Fill(1) } else { Constraint::Length(0) };
    let widths = vec![title, detail, Constraint::Length(keys)];
    let row = |place: usize| {
        let item = matches[place];
        Row::new(vec![
            Cell::from(Span::styled(item.title.clone(), app.theme.text)),
            Cell::from(Span::styled(item.detail.clone(), app.theme.muted)),
            Cell::from(Line::styled(item.key.clone(), app.theme.accent).right_aligned()),
        ])
    };
    let list = (Pane::Datasets, matches.len(), Some(picker.selected));
    let hit = table(app, frame, area, (Vec::new(), widths), list, row);
    hits.popup_rows = Some((hit.area, hit.first));
}

fn pick(app: &App, frame: &mut Frame, body: Rect, picker: &Picker, hits: &mut Hits) {
    let height = (picker.items.len() as u16 + 5).min(24);
    let inner = window(app, frame, body, 90, height, &picker.title);
    let [field, list, keys] = inner.layout(&Layout::vertical([
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]));
    let view = TextFieldView::new(&picker.query, &app.theme, &app.glyphs);
    let view = view.placeholder("type a few letters").focused(true);
    frame.render_widget(view, Rect { height: 1, ..field });
    items(app, frame, list, picker, hits);
    frame.render_widget(
        Line::styled("↑↓ choose, Enter takes it, Esc leaves", app.theme.muted),
        keys,
    );
}

/// Files on the left, the beginning of the one under the cursor on the right.
fn browse(app: &App, frame: &mut Frame, body: Rect, files: &Files, hits: &mut Hits) {
    let inner = window(app, frame, body, 116, 30, &files.picker.title);
    let [place, field, lists, keys] = inner.layout(&Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]));
    let [left, gap, right] = lists.layout(&Layout::horizontal([
        Constraint::Length((lists.width * 2 / 5).min(44)),
        Constraint::Length(2),
        Constraint::Fill(1),
    ]));
    let _ = gap;
    let directory = files.directory.display().to_string();
    frame.render_widget(Line::styled(directory, app.theme.muted), place);
    let view = TextFieldView::new(&files.picker.query, &app.theme, &app.glyphs);
    let view = view.placeholder("a few letters of the name, or a path").focused(true);
    frame.render_widget(view, field);
    items(app, frame, left, &files.picker, hits);
    let glance = files.glance.as_ref().filter(|(file, _)| files.file().as_ref() == Some(file));
    match glance {
        Some((_, Ok(schema))) => first_look(app, frame, right, schema),
        Some((_, Err(error))) => {
            let paragraph = Paragraph::new(one_line(error)).style(app.theme.error);
            frame.render_widget(paragraph.wrap(Wrap { trim: true }), right);
        }
        None => {}
    }
    let hidden = glance.is_some_and(|(_, look)| {
        look.as_ref().is_ok_and(|schema| matches!(schema.cells, Cells::Hidden))
    });
    let words = if hidden && !app.watch.is_sealed() {
        "Enter opens a folder or takes a file, Ctrl-o shows cells ◆, Esc leaves"
    } else {
        "Enter opens a folder or takes a file, Esc leaves"
    };
    frame.render_widget(Line::styled(words, app.theme.muted), keys);
}

fn first_look(app: &App, frame: &mut Frame, area: Rect, schema: &Schema) {
    let text = schema.columns.iter().filter(|column| !column.numeric).count();
    let rows = if schema.whole {
        format!("{} rows", schema.rows)
    } else {
        format!("more than {} rows", schema.rows)
    };
    let (cells, style) = match &schema.cells {
        Cells::Hidden => (None, app.theme.muted),
        Cells::Public(rows) => (Some(rows), app.theme.muted),
        Cells::Exact(rows) => (rows.reveal(&app.watch), app.theme.curator),
    };
    let columns = schema.columns.len();
    let mut lines = vec![Line::styled(
        format!("{rows}, {columns} columns, {text} of them text"),
        app.theme.accent,
    )];
    match (&schema.cells, cells) {
        (Cells::Exact(_), Some(_)) => {
            lines.push(Line::styled("◆ cells, for your eyes only", style));
        }
        (Cells::Public(_), _) => {}
        _ => lines.push(Line::styled("cells are hidden: the file may be private", style)),
    }
    let names = schema.columns.iter().map(|it| it.name.chars().count()).max().unwrap_or(0).min(24);
    for (index, column) in schema.columns.iter().enumerate() {
        let kind = if column.numeric { "number" } else { "text  " };
        let values: Vec<&str> = cells
            .iter()
            .flat_map(|rows| rows.rows.iter().take(4))
            .filter_map(|row| row.get(index).map(String::as_str))
            .collect();
        let name: String = column.name.chars().take(names).collect();
        lines.push(Line::from(vec![
            Span::styled(format!("{name:<names$} "), app.theme.text),
            Span::styled(format!("{kind}  "), app.theme.muted),
            Span::styled(values.join(", "), style),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn export(app: &App, frame: &mut Frame, body: Rect, form: &ExportForm) {
    let inner = window(app, frame, body, 70, 9, "Export what is shown");
    let format = match form.format {
        Format::Csv => "CSV: the table or the curves",
        Format::Svg => "SVG: a picture of the screen",
    };
    let exact = match form.exact {
        None => "sealed: none",
        Some(false) => "left out",
        Some(true) => "written too: never pass this file on",
    };
    for (index, label) in ExportForm::LABELS.iter().enumerate() {
        let row = Rect { y: inner.y + index as u16, height: 1, ..inner };
        let [name, value] =
            row.layout(&Layout::horizontal([Constraint::Length(18), Constraint::Fill(1)]));
        let focused = form.focus == index;
        let style = if focused { bold(app.theme.text) } else { app.theme.muted };
        frame.render_widget(Line::styled(*label, style), name);
        if index == 2 {
            let field = TextFieldView::new(&form.path, &app.theme, &app.glyphs);
            frame.render_widget(field.focused(focused), value);
        } else {
            let text = if index == 0 { format } else { exact };
            let style = match (focused, index == 1 && form.exact == Some(true)) {
                (true, _) => app.theme.selection,
                (_, true) => app.theme.curator,
                _ => app.theme.text,
            };
            frame.render_widget(Span::styled(text, style), value);
        }
    }
    let help = Rect { y: inner.y + 4, height: inner.height.saturating_sub(4), ..inner };
    let words = "Rows and their order are those of the screen. A path is relative to the session.\n\
                 ↑↓ or Tab between lines, Space changes, Enter writes, Esc leaves";
    frame.render_widget(
        Paragraph::new(words).style(app.theme.muted).wrap(Wrap { trim: true }),
        help,
    );
}

fn question(app: &App, frame: &mut Frame, body: Rect, text: &str, then: &Answer, hits: &mut Hits) {
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
        Answer::StartQueue => "start",
        Answer::DeleteRun(_) => "delete",
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
    let (first, second) = (17 + yes.len() as u16 - 4, 14);
    let key = |c: char| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
    hits.answers.push((Rect { width: first.min(answers.width), ..answers }, key('y')));
    let x = (answers.x + first).min(answers.right());
    let width = second.min(answers.right() - x);
    hits.answers.push((Rect { x, width, ..answers }, key('n')));
}

fn ask(app: &App, frame: &mut Frame, body: Rect, prompt: &Prompt) {
    // Two lines for what does not fit on one.
    let lines = if prompt.help.chars().count() > 68 { 2 } else { 1 };
    let inner = window(app, frame, body, 70, 6 + lines, &prompt.title);
    let [help, field, problem, keys] = inner.layout(&Layout::vertical([
        Constraint::Length(lines),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]));
    let text = Paragraph::new(prompt.help.as_str()).style(app.theme.muted);
    frame.render_widget(text.wrap(Wrap { trim: true }), help);
    frame.render_widget(
        TextFieldView::new(&prompt.text, &app.theme, &app.glyphs).focused(true),
        field,
    );
    if let Some(text) = &prompt.problem {
        let paragraph = Paragraph::new(text.as_str()).style(app.theme.error);
        frame.render_widget(paragraph.wrap(Wrap { trim: true }), problem);
    }
    frame.render_widget(Line::styled("Enter takes it, Esc leaves", app.theme.muted), keys);
}

fn dataset(app: &App, frame: &mut Frame, body: Rect, form: &DatasetForm) {
    let title = if form.replaces.is_some() { "Edit dataset" } else { "Add dataset" };
    let columns = form.known_columns.join(", ");
    let inner = window(app, frame, body, 76, 22, title);
    let [fields, help, problem, known, keys] = inner.layout(&Layout::vertical([
        Constraint::Length(DatasetForm::LINES.len() as u16),
        Constraint::Length(2),
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]));
    for (index, line) in DatasetForm::LINES.iter().enumerate() {
        let row = Rect { y: fields.y + index as u16, height: 1, ..fields };
        if row.y >= fields.bottom() {
            break;
        }
        let [name, value] =
            row.layout(&Layout::horizontal([Constraint::Length(16), Constraint::Fill(1)]));
        let focused = form.focus == index;
        let style = if focused { bold(app.theme.text) } else { app.theme.muted };
        frame.render_widget(Line::styled(line.label, style), name);
        match form.shown(line) {
            Shown::Choice(word) => {
                let style = if focused { app.theme.selection } else { app.theme.text };
                frame.render_widget(Span::styled(word, style), value);
            }
            Shown::Text(text) => {
                let field = TextFieldView::new(text, &app.theme, &app.glyphs);
                frame.render_widget(field.focused(focused), value);
            }
        }
    }
    let words = DatasetForm::LINES[form.focus].help;
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
