//! Keys and pastes, sent to a window, a field, a filter or a screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::popups;
use crate::app::App;
use crate::context::Effect;
use crate::keymap;

pub(super) fn on_key(app: &mut App, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return app.context.ask_to_quit(),
        KeyCode::Char('l') if control => return app.context.effects.push(Effect::Repaint),
        _ => {}
    }
    if let Some(popup) = app.context.popup.take() {
        return popups::on_key(app, popup, key);
    }
    app.context.read_notice();
    let (screen, context) = app.screen_mut();
    if screen.type_key(key, context) {
        return;
    }
    if app.filtering {
        return filter_key(app, key);
    }
    if let Some(command) = keymap::command(app.context.tab, key) {
        keymap::act(app, command);
    }
}

pub(super) fn paste(app: &mut App, text: &str) {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if let Some(popup) = &mut app.context.popup {
        popup.paste(&text);
    } else if !app.screen_mut().0.paste(&text) && app.filtering {
        app.context.filter_field_mut().insert(&text);
    }
}

fn filter_key(app: &mut App, key: KeyEvent) {
    match key.code {
        KeyCode::Esc => {
            app.filtering = false;
            app.context.filter_field_mut().set("");
        }
        KeyCode::Enter => app.filtering = false,
        KeyCode::Down => app.select(1),
        KeyCode::Up => app.select(-1),
        _ => {
            app.context.filter_field_mut().handle(key);
            // The selection moves to an item that still exists.
            app.select(0);
        }
    }
}
