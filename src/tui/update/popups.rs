//! Keys in windows over a screen.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::app::App;
use crate::context::{Context, OpenPopup};
use crate::engine::Request;
use crate::engine::lookup::Wanted;
use crate::popup::export_form::ExportForm;
use crate::popup::file_browser::FileBrowser;
use crate::popup::question::Prompt;
use crate::screenshot::{TerminalColours, svg};
use crate::session::named::{OwnKind, Replace};
use crate::theme::ThemeBackground;
use crate::view::view;
use crate::{export, keymap};

pub(super) fn on_key(app: &mut App, mut popup: OpenPopup, key: KeyEvent) {
    // Esc leaves every window, or the list in it.
    if key.code == KeyCode::Esc {
        if let OpenPopup::Dataset(form) = &mut popup
            && form.list.take().is_some()
        {
            app.context.popup = Some(popup);
        }
        return;
    }
    if key.code == KeyCode::Enter {
        return enter(app, popup);
    }
    match &mut popup {
        OpenPopup::Question(question) => match key.code {
            KeyCode::Char('y' | 'Y') => {
                if let OpenPopup::Question(question) = popup {
                    (question.then)(&mut app.context);
                }
                return;
            }
            KeyCode::Char('n' | 'N' | 'q') => return,
            KeyCode::Char(c) => {
                if let Some((.., then)) = question.other.take_if(|(other, ..)| *other == c) {
                    return then(&mut app.context);
                }
            }
            _ => {}
        },
        OpenPopup::Prompt(prompt) => {
            let before = app.context.typed.get(&prompt.title);
            prompt.handle(key, before.map_or(&[], Vec::as_slice));
        }
        OpenPopup::Dataset(form) => form.handle(key),
        OpenPopup::Ranking(form) => form.handle(key),
        OpenPopup::Sites(form) => form.handle(key),
        OpenPopup::Palette(picker) => picker.handle(key),
        OpenPopup::Pick(picker) => picker.handle(key),
        OpenPopup::Files(files) => browse(&mut app.context, files, key),
        OpenPopup::Export(form) => form.handle(key),
        OpenPopup::Words(words) => words.handle(key),
    }
    app.context.popup = Some(popup);
}

/// Accepts the offer of a window.
pub(super) fn enter(app: &mut App, popup: OpenPopup) {
    match popup {
        // A question is asked because yes cannot be undone, so Enter is the safe answer.
        OpenPopup::Question(_) | OpenPopup::Words(_) => {}
        OpenPopup::Prompt(prompt) => answer(&mut app.context, prompt),
        OpenPopup::Dataset(mut form) => {
            if form.enter() {
                return app.context.popup = Some(OpenPopup::Dataset(form));
            }
            // Who takes the form as it is has seen what was guessed.
            form.is_confirmed = true;
            app.context.describe(form);
        }
        OpenPopup::Ranking(form) => app.context.set_ranking(form),
        OpenPopup::Sites(form) => app.context.join_sites(form),
        OpenPopup::Palette(picker) => {
            if let Some(command) = picker.into_chosen() {
                keymap::act(app, command);
            }
        }
        OpenPopup::Pick(picker) => {
            if let Some(then) = picker.into_chosen() {
                then(&mut app.context);
            }
        }
        OpenPopup::Files(files) => take_file(&mut app.context, files),
        OpenPopup::Export(form) => export(app, form),
    }
}

fn answer(context: &mut Context, mut prompt: Prompt<Context>) {
    let text = prompt.text.text().trim().to_owned();
    let taken = if text.is_empty() && !prompt.may_be_empty {
        Err("type something, or leave with Esc".to_owned())
    } else {
        (prompt.take)(context, &text)
    };
    match taken {
        Ok(()) => {
            let before = context.typed.entry(prompt.title).or_default();
            before.retain(|it| *it != text);
            before.push(text);
        }
        Err(problem) => {
            prompt.problem = Some(problem);
            context.popup = Some(OpenPopup::Prompt(prompt));
        }
    }
}

fn browse(context: &mut Context, files: &mut FileBrowser, key: KeyEvent) {
    let before = files.file();
    if files.wanted == Wanted::Sessions {
        return files.picker.handle(key);
    }
    let look = key.code == KeyCode::Char('o') && key.modifiers.contains(KeyModifiers::CONTROL);
    if look && context.watch.is_sealed() {
        context.warn("the view is sealed: v on a screen opens it");
    } else if !look {
        files.picker.handle(key);
    }
    let look = (look && !context.watch.is_sealed()).then(|| context.watch.clone());
    let now = files.file();
    let moved = now != before;
    if let Some(file) = now.filter(|_| moved || look.is_some()) {
        context.ask(Request::Glance { file, look });
    }
}

/// Enters a directory, or takes a file: it is described, or opened if it is a session.
fn take_file(context: &mut Context, files: Box<FileBrowser>) {
    let typed = files.picker.query.text().trim();
    let wanted = files.wanted;
    let watch = context.watch.clone();
    let take = |path: PathBuf| match wanted {
        Wanted::Data => Request::Inspect { file: path.display().to_string(), watch: watch.clone() },
        Wanted::Sessions => Request::OpenSession(path),
    };
    let request = match files.picker.chosen().map(|item| &item.value) {
        Some(entry) if entry.is_directory => {
            let request = Request::Browse(files.directory.join(&entry.name), wanted);
            context.popup = Some(OpenPopup::Files(files));
            request
        }
        Some(entry) => {
            context.inform(format!("reading {}…", entry.name));
            take(files.directory.join(&entry.name))
        }
        // Nothing matches, so the typed text may be a path.
        None if !typed.is_empty() => take(typed.into()),
        None => {
            context.popup = Some(OpenPopup::Files(files));
            return;
        }
    };
    context.ask(request);
}

fn export(app: &mut App, form: Box<ExportForm>) {
    let path = form.path().to_owned();
    if path.is_empty() {
        return app.context.popup = Some(OpenPopup::Export(form));
    }
    let exact = form.is_exact();
    let (text, replace) = if form.is_picture() {
        (picture(app, exact), Replace::Own(OwnKind::Picture))
    } else {
        (export::sheet(app, exact).unwrap_or_default().csv(), Replace::Nothing)
    };
    app.context.ask(Request::Export { path: path.into(), text, replace });
}

/// The screen as a picture, without windows over it.
fn picture(app: &mut App, exact: bool) -> String {
    let (columns, rows) = app.size;
    // Nothing can go wrong in memory, and the type of the error says so.
    let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, rows));
    let seen = export::eyes(app, exact);
    let watch = std::mem::replace(&mut app.context.watch, seen);
    let (popup, notice) = (app.context.popup.take(), app.context.notice.take());
    let Ok(_) = terminal.draw(|frame| drop(view(app, frame)));
    let context = &mut app.context;
    (context.watch, context.popup, context.notice) = (watch, popup, notice);
    let paper = match app.theme.tone {
        ThemeBackground::Light => TerminalColours::light(),
        ThemeBackground::Dark => TerminalColours::dark(),
    };
    let title = format!("halflight: {}", app.context.tab.title());
    svg(terminal.backend().buffer(), &title, &paper)
}
