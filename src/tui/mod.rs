//! The terminal interface: screens, widgets, keys. It owns no mathematics and
//! no files: work is asked of the engine's desk and answered by messages.
//!
//! | module | holds |
//! |---|---|
//! | [`app`] | the state: one struct |
//! | [`mod@update`] | the only place that changes it |
//! | [`view`] | state → picture, pure |
//! | [`keymap`] | every key, once |
//! | [`plan_form`], [`popup`], [`live_run`], [`compare`], [`rank`], [`history`] | parts of the state |
//! | [`exports`] | what is shown, as text for a file or the clipboard |
//! | [`fuzzy`] | finding by a few letters |
//! | [`terminal`] | raw mode and its certain end |
//! | [`widgets`], [`theme`] | charts, gauges, fields; colours and glyphs |
//! | [`screenshot`] | a screen as SVG, for the README |

pub mod app;
pub mod compare;
pub mod exports;
pub mod fuzzy;
pub mod history;
pub mod keymap;

#[cfg(test)]
mod fixtures;
pub mod live_run;
pub mod plan_form;
pub mod popup;
pub mod rank;
pub mod screenshot;
pub mod terminal;
pub mod theme;
pub mod update;
pub mod view;
pub mod widgets;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::engine::Desk;
use crate::error::{Error, Result};
use crate::session::Workspace;
use app::{App, Effect};
use terminal::Terminal;
use update::{Message, update};
use view::{Hits, view};

/// Between two frames that nobody's key asked for: about 15 a second.
const STREAMING_FRAME: Duration = Duration::from_millis(66);

/// What wakes the loop.
enum Wake {
    Terminal(Event),
    Desk,
    Signal,
    /// The terminal is gone.
    Hangup,
}

/// Runs the interface until the user leaves. Waits without any timer while
/// nothing happens; draws at most once per batch of events.
pub fn run(mut app: App, workspace: Workspace) -> Result<()> {
    let (sender, inbox) = channel();
    let mut terminal = Terminal::enter(app.mouse)?;
    let mut hits = draw(&mut terminal, &app)?;

    listen_to_terminal(sender.clone());
    listen_to_signals(sender.clone())?;
    let desk = Desk::open(workspace, move || {
        let _ = sender.send(Wake::Desk);
    });
    let first = app.first_requests();
    perform(first, &desk, &mut terminal)?;
    // A terminal that cannot be drawn on is gone: nobody is there to look any more.
    let mut gone = false;

    let mut last_frame = Instant::now();
    let mut due = None;
    loop {
        let mut hurry = false;
        for wake in next_batch(&inbox, due) {
            let message = match wake {
                Wake::Desk => Message::Reports(desk.take()),
                Wake::Terminal(event) => {
                    hurry = true;
                    match translate(event) {
                        Some(message) => message,
                        None => continue,
                    }
                }
                Wake::Signal => Message::Terminate,
                Wake::Hangup => {
                    gone = true;
                    continue;
                }
            };
            let effects = update(&mut app, message, &hits);
            gone |= perform(effects, &desk, &mut terminal).is_err();
        }
        if gone && !app.leaving {
            // End the runs cleanly; their last reports end the loop.
            update(&mut app, Message::Terminate, &hits);
        }
        if app.quit {
            return Ok(());
        }
        let elapsed = last_frame.elapsed();
        if gone {
            due = None;
        } else if hurry || elapsed >= STREAMING_FRAME {
            due = None;
            if let Ok(drawn) = draw(&mut terminal, &app) {
                hits = drawn;
            } else {
                gone = true;
                due = Some(Duration::ZERO);
            }
            last_frame = Instant::now();
        } else {
            due = Some(STREAMING_FRAME.saturating_sub(elapsed));
        }
    }
}

/// Waits for the next event (or until a frame is due) and drains the queue.
fn next_batch(inbox: &Receiver<Wake>, due: Option<Duration>) -> Vec<Wake> {
    let first = match due {
        None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(wait) => inbox.recv_timeout(wait),
    };
    match first {
        Ok(first) => std::iter::once(first).chain(inbox.try_iter()).collect(),
        Err(RecvTimeoutError::Timeout) => Vec::new(),
        Err(RecvTimeoutError::Disconnected) => vec![Wake::Hangup],
    }
}

fn draw(terminal: &mut Terminal, app: &App) -> Result<Hits> {
    let mut hits = Hits::default();
    terminal.draw(|frame| hits = view(app, frame))?;
    Ok(hits)
}

fn perform(effects: Vec<Effect>, desk: &Desk, terminal: &mut Terminal) -> Result<()> {
    let mut shown = Ok(());
    for effect in effects {
        match effect {
            Effect::Ask(request) => desk.ask(*request),
            Effect::Repaint => shown = shown.and(terminal.repaint()),
            Effect::Copy(text) => shown = shown.and(terminal.copy(&text)),
        }
    }
    shown
}

fn translate(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.is_press() || key.is_repeat() => Some(Message::Key(key)),
        Event::Mouse(mouse) => Some(Message::Mouse(mouse)),
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Resize(..) => Some(Message::Resize),
        _ => None,
    }
}

fn listen_to_terminal(sender: Sender<Wake>) {
    thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if sender.send(Wake::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = sender.send(Wake::Hangup);
    });
}

fn listen_to_signals(sender: Sender<Wake>) -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP, SIGINT])
        .map_err(|error| Error::failed(format!("cannot listen to signals: {error}")))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if sender.send(Wake::Signal).is_err() {
                return;
            }
        }
    });
    Ok(())
}
