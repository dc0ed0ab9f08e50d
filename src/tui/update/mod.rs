//! The only place that changes the interface's state. Any message is allowed in any
//! state.

mod keyboard;
mod mouse;
mod popups;

use crossterm::event::{KeyEvent, MouseEvent};

use super::app::App;
use super::canvas::Hits;
use super::context::Effect;
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
    }
    match message {
        Message::Key(key) => keyboard::on_key(app, key),
        Message::Mouse(event) => mouse::on_mouse(app, event, hits),
        Message::Paste(text) => keyboard::paste(app, &text),
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

#[cfg(test)]
mod tests;
