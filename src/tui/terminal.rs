//! Raw mode. However the interface stops, the terminal is given back as it was.

use std::io::{Stdout, Write, stdout};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};

use crate::error::{Error, Result};

static ENTERED: AtomicBool = AtomicBool::new(false);

/// Ratatui's own `drop` is never run: it prints an error when it cannot show the cursor, and
/// when the terminal is gone, printing ends the process. [`restore`] does the same work.
pub struct Terminal(ManuallyDrop<ratatui::Terminal<CrosstermBackend<Stdout>>>);

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

impl Terminal {
    pub fn enter(mouse: bool) -> Result<Self> {
        let trouble = |error: std::io::Error| {
            Error::failed(format!("cannot use this terminal: {error}"))
                .cure("run it in a terminal, or use the commands for scripts: halflight --help")
        };
        restore_on_panic(thread::current().id());
        enable_raw_mode().map_err(trouble)?;
        ENTERED.store(true, Ordering::SeqCst);
        let entered = execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste);
        let entered = entered
            .and_then(|()| if mouse { execute!(stdout(), EnableMouseCapture) } else { Ok(()) });
        let terminal = entered
            .and_then(|()| ratatui::Terminal::new(CrosstermBackend::new(stdout())))
            .map_err(|error| {
                restore();
                trouble(error)
            })?;
        Ok(Self(ManuallyDrop::new(terminal)))
    }

    pub fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> Result<()> {
        let drawn = self.0.draw(render).map(|_| ());
        drawn.map_err(|error| Error::failed(format!("cannot draw: {error}")))
    }

    /// Puts text on the clipboard of the terminal, wherever that runs (OSC 52).
    pub fn copy(&mut self, text: &str) -> Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
            .map_err(|error| Error::failed(format!("cannot copy: {error}")))
    }

    /// Draws every cell anew with the next frame.
    pub fn repaint(&mut self) -> Result<()> {
        // Not `Terminal::clear`: it asks the terminal where the cursor is, and
        // the thread that reads keys would take the answer.
        let cleared =
            self.0.size().and_then(|size| self.0.resize(Rect::from((Position::ORIGIN, size))));
        cleared.map_err(|error| Error::failed(format!("cannot clear the screen: {error}")))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Does nothing the second time.
fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = execute!(
            stdout(),
            DisableBracketedPaste,
            DisableMouseCapture,
            LeaveAlternateScreen,
            crossterm::cursor::Show
        );
        let _ = stdout().flush();
    }
}

/// Only a panic of the interface's own thread ends the interface. A worker's
/// panic becomes a failed run: it must neither print over the screen nor
/// restore the terminal under a living interface.
fn restore_on_panic(interface: ThreadId) {
    let earlier = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == interface {
            restore();
            earlier(panic);
        } else if !ENTERED.load(Ordering::SeqCst) {
            earlier(panic);
        }
    }));
}
