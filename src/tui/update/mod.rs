//! The only place that changes the interface's state. Total: any message in
//! any state gives a state.
//!
//! | module | holds |
//! |---|---|
//! | this one | dispatch, moving about, filters |
//! | `popups` | keys in windows over a screen, and what their answers mean |
//! | `session` | saving, opening, undo, leaving |
//! | `data`, `rank`, `plan`, `queue`, `run`, `compare`, `ledger` | one screen each (the queue belongs to Plan) |
//! | `charts` | zoom, pan, cursor: the same on Run and Compare |
//! | `export` | files and the clipboard |
//! | `reports` | what the engine's desk tells |
//! | `mouse` | clicks, wheel, dragging |

mod charts;
mod compare;
mod data;
mod export;
mod ledger;
mod mouse;
mod plan;
mod popups;
mod queue;
mod rank;
mod reports;
mod run;
mod session;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};

use super::app::{App, Effect, Level, Pane, Tab};
use super::keymap::{self, Action};
use super::plan_form;
use super::popup::picker;
use super::popup::{Popup, Prompt, Wanted};
use super::view::Hits;
use super::widgets::text_field::TextField;
use crate::engine::{Report, Request};

/// Everything that can happen to the interface.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Reports(Vec<Report>),
    Resize,
    /// The system asks us to go.
    Terminate,
}

/// Takes one message in. `hits` says where things stood on the last frame.
pub fn update(app: &mut App, message: Message, hits: &Hits) -> Vec<Effect> {
    if hits.size.0 > 0 {
        app.size = hits.size;
    }
    match message {
        Message::Key(key) => on_key(app, key),
        Message::Mouse(mouse) => mouse::on_mouse(app, mouse, hits),
        Message::Paste(text) => {
            paste(app, &text);
            Vec::new()
        }
        Message::Reports(reports) => {
            reports.into_iter().flat_map(|report| reports::on_report(app, report)).collect()
        }
        Message::Resize => Vec::new(),
        Message::Terminate => {
            session::leave(app);
            Vec::new()
        }
    }
}

fn on_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && matches!(key.code, KeyCode::Char('c' | 'l')) {
        let action = if key.code == KeyCode::Char('c') { Action::Quit } else { Action::Repaint };
        return act(app, action);
    }
    if let Some(popup) = app.popup.take() {
        return popups::on_key(app, popup, key);
    }
    if app.plan.editing.is_some() && app.tab == Tab::Plan {
        return plan::editing_key(app, key);
    }
    if app.filtering {
        filter_key(app, key);
        return Vec::new();
    }
    match keymap::action(app.tab, key) {
        Some(action) => act(app, action),
        None => Vec::new(),
    }
}

fn paste(app: &mut App, text: &str) {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    match (&mut app.popup, &mut app.plan.editing) {
        (Some(Popup::Prompt(prompt)), _) => prompt.text.insert(&text),
        (Some(Popup::Dataset(form)), _) => form.paste(&text),
        (Some(Popup::Pick(picker)), _) => picker.query.insert(&text),
        (Some(Popup::Files(files)), _) => files.picker.query.insert(&text),
        (Some(Popup::Export(form)), _) => form.path.insert(&text),
        (Some(Popup::Help { search, .. }), _) => search.insert(&text),
        (None, Some(editing)) => editing.text.insert(&text),
        (None, None) if app.filtering => app.filter_field_mut().insert(&text),
        _ => {}
    }
}

fn filter_key(app: &mut App, key: KeyEvent) {
    match key.code {
        KeyCode::Esc => {
            app.filtering = false;
            app.filter_field_mut().set("");
        }
        KeyCode::Enter => app.filtering = false,
        KeyCode::Down => select(app, 1),
        KeyCode::Up => select(app, -1),
        _ => {
            app.filter_field_mut().handle(key);
            // The selection moves to something that is still there.
            select(app, 0);
        }
    }
}

/// Does what a key, a click or a question asked for.
pub fn act(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::GoTo(tab) => return go_to(app, tab),
        Action::NextTab => return go_to(app, app.tab.offset(1)),
        Action::PreviousTab => return go_to(app, app.tab.offset(-1)),
        Action::NextPane => app.move_focus(1),
        Action::PreviousPane => app.move_focus(-1),
        Action::Help => {
            app.popup = Some(Popup::Help { search: TextField::default(), scroll: 0 });
        }
        Action::Palette => app.popup = Some(Popup::Pick(picker::palette(app.tab))),
        Action::Filter => start_filter(app),
        Action::Undo => return session::undo(app),
        Action::Redo => return session::redo(app),
        Action::Save => return session::save(app),
        Action::Open => session::ask_to_open(app),
        Action::Quit => session::ask_to_quit(app),
        Action::Seal => seal(app),
        Action::Theme => {
            app.theme = app.theme.next();
            app.say(Level::Info, format!("theme: {}", app.theme.name));
        }
        Action::Repaint => return vec![Effect::Repaint],
        Action::Back => step_out(app),
        Action::Export => export::ask(app),
        Action::Copy => return export::copy(app),
        Action::Up => select(app, -1),
        Action::Down => select(app, 1),
        Action::PageUp => select(app, -10),
        Action::PageDown => select(app, 10),
        Action::First => select(app, isize::MIN / 2),
        Action::Last => select(app, isize::MAX / 2),
        _ => {
            return match app.tab {
                Tab::Data => data::act(app, action),
                Tab::Plan => plan::act(app, action),
                Tab::Run => run::act(app, action),
                Tab::Compare => compare::act(app, action),
                Tab::Ledger => ledger::act(app, action),
                Tab::Rank => rank::act(app, action),
            };
        }
    }
    Vec::new()
}

fn go_to(app: &mut App, tab: Tab) -> Vec<Effect> {
    app.tab = tab;
    app.filtering = false;
    app.plan.editing = None;
    match tab {
        Tab::Ledger => {
            let mut effects = vec![Effect::ask(Request::Ledger), Effect::ask(Request::Archive)];
            effects.extend(app.ask_preview());
            effects
        }
        Tab::Compare => vec![Effect::ask(Request::Archive)],
        Tab::Plan => {
            if app.session.plans.is_empty()
                && let Ok(plan) = plan_form::first_plan(&app.session)
            {
                app.session.plans.push(plan);
                app.changed();
            }
            app.ask_preview().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn start_filter(app: &mut App) {
    let filtered = match app.tab {
        Tab::Data => Some(Pane::Datasets),
        Tab::Run => Some(Pane::Log),
        Tab::Compare => Some(Pane::Archive),
        Tab::Ledger => Some(Pane::Entries),
        Tab::Rank | Tab::Plan => None,
    };
    match filtered {
        Some(pane) => {
            app.filtering = true;
            app.focus_on(pane);
        }
        None => app.say(Level::Info, "there is no list to filter here"),
    }
}

fn seal(app: &mut App) {
    let sealed = !app.watch.is_sealed();
    app.watch.seal(sealed);
    let text = if sealed {
        "sealed: exact numbers are neither computed nor shown; runs that start now stay inside the guarantee"
    } else {
        "open: numbers marked ◆ are exact, for your eyes only; acting on them is outside the guarantee"
    };
    app.say(Level::Info, text);
}

/// One layer out. Windows and fields being typed in were left before this.
fn step_out(app: &mut App) {
    if app.notice.take().is_some() {
        return;
    }
    if !app.filter().is_empty() {
        app.filter_field_mut().set("");
        return;
    }
    let stepped = match app.tab {
        Tab::Run => app.run.viewport.step_out(),
        Tab::Compare => app.compare.viewport.step_out(),
        Tab::Data => app.data.peeked.take().is_some(),
        _ => false,
    };
    if !stepped && let Some(first) = app.panes().first() {
        app.focus_on(*first);
    }
}

/// Moves the selection of the list that has the focus.
fn select(app: &mut App, by: isize) {
    if let Some(pane) = app.pane() {
        select_in(app, pane, by);
    }
}

fn select_in(app: &mut App, pane: Pane, by: isize) {
    if pane == Pane::Rows {
        let last = app.preview_rows().saturating_sub(1);
        app.data.row = app.data.row.saturating_add_signed(by).min(last);
        return;
    }
    let visible = app.visible(pane);
    let now = match pane {
        Pane::Log => app.run.line.unwrap_or(usize::MAX),
        _ => *selected(app, pane),
    };
    let here = visible.iter().position(|index| *index == now);
    let here = here.unwrap_or(if pane == Pane::Log { visible.len().saturating_sub(1) } else { 0 });
    let next = here.saturating_add_signed(by).min(visible.len().saturating_sub(1));
    let chosen = visible.get(next).copied().unwrap_or(0);
    if pane == Pane::Log {
        app.run.line = (next + 1 < visible.len()).then_some(chosen);
        return;
    }
    let changed = now != chosen;
    *selected(app, pane) = chosen;
    if pane == Pane::Datasets && changed {
        (app.data.row, app.data.column) = (0, 0);
    }
}

/// Puts the selection of a list on its `place`-th visible row.
fn select_row(app: &mut App, pane: Pane, place: usize) {
    select_in(app, pane, isize::MIN / 2);
    select_in(app, pane, place as isize);
}

fn selected(app: &mut App, pane: Pane) -> &mut usize {
    match pane {
        Pane::Datasets => &mut app.data.selected,
        Pane::Rows => &mut app.data.row,
        Pane::Candidates => &mut app.rank.selected,
        Pane::Fields => &mut app.plan.field,
        Pane::Queue => &mut app.plan.queued,
        Pane::Runs | Pane::Charts | Pane::Log if app.tab == Tab::Run => &mut app.run.selected,
        Pane::Runs | Pane::Charts | Pane::Log | Pane::Archive => &mut app.compare.selected,
        Pane::Accounts => &mut app.ledger.selected,
        Pane::Entries => &mut app.ledger.entry,
    }
}

fn prompt(title: &str, help: &str, text: &str, then: Wanted) -> Popup {
    Popup::Prompt(Prompt {
        title: title.to_owned(),
        help: help.to_owned(),
        text: TextField::new(text),
        problem: None,
        then,
    })
}

#[cfg(test)]
mod tests;
