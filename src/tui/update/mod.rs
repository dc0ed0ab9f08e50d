//! The only place that changes the interface's state. Any message is allowed in any
//! state.

mod mouse;
mod popups;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};

use super::app::App;
use super::canvas::Hits;
use super::context::Effect;
use super::keymap;
use crate::engine::WorkerReport;

/// Everything that can happen to the interface.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Reports(Vec<WorkerReport>),
    Resize,
    /// The system asks the program to end.
    Terminate,
    /// The terminal was closed.
    Closed,
}

/// Processes one message. `hits` has the positions of things on the last frame.
pub fn update(app: &mut App, message: Message, hits: &Hits) -> Vec<Effect> {
    if hits.size.0 > 0 {
        app.size = hits.size;
        app.context.heads = hits.heads.iter().map(|head| head.title.clone()).collect();
    }
    match message {
        Message::Key(key) => on_key(app, key),
        Message::Mouse(event) => mouse::on_mouse(app, event, hits),
        Message::Paste(text) => paste(app, &text),
        Message::Reports(reports) => {
            for report in reports {
                app.context.hear(report);
                app.settle();
            }
        }
        Message::Resize => {}
        Message::Terminate => app.context.leave_by_signal(),
        Message::Closed => app.context.leave_as_wished(),
    }
    app.settle();
    app.context.follow_tutorial();
    std::mem::take(&mut app.context.effects)
}

fn on_key(app: &mut App, key: KeyEvent) {
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
    } else if let Some(words) = keymap::old_key(app.context.tab, key) {
        app.context.inform(words);
    }
}

fn paste(app: &mut App, text: &str) {
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

#[cfg(test)]
mod tests;
