//! Raw mode. However the interface stops, the terminal is restored.

use std::io::{Stdout, Write, stdout};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};

use crate::error::{Error, Result};
use crate::pictures::{self, Drawing, Picture};
use crate::signals;

static ENTERED: AtomicBool = AtomicBool::new(false);

/// Ratatui's own `drop` is never run: it prints an error when it cannot show the cursor, and if the
/// terminal is gone, printing ends the process. [`restore`] does the same work.
pub struct Terminal {
    drawn: ManuallyDrop<ratatui::Terminal<CrosstermBackend<Stdout>>>,
    mouse: bool,
    shows_pictures: bool,
    /// The images that the terminal has.
    pictures: Vec<Picture>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

impl Terminal {
    pub fn enter(mouse: bool) -> Result<Self> {
        restore_on_panic(thread::current().id());
        let terminal = take_over(mouse)
            .and_then(|()| ratatui::Terminal::new(CrosstermBackend::new(stdout())))
            .map_err(|error| {
                restore();
                cannot("use this terminal")(error)
                    .cure("run it in a terminal, or use the commands for scripts: halflight --help")
            })?;
        let (shows_pictures, pictures) = (pictures::are_shown(), Vec::new());
        Ok(Self { drawn: ManuallyDrop::new(terminal), mouse, shows_pictures, pictures })
    }

    /// How images are drawn here.
    pub fn drawing(&self) -> Drawing {
        if self.shows_pictures { Drawing::Pixels } else { Drawing::HalfBlocks }
    }

    /// Sends the images of the last frame that the terminal does not have, and removes the others.
    pub fn show(&mut self, wanted: &[Picture]) -> Result<()> {
        if self.pictures == wanted {
            return Ok(());
        }
        let known = std::mem::replace(&mut self.pictures, wanted.to_vec());
        let mut out = stdout();
        let mut gone = known.iter().filter(|it| !wanted.contains(it));
        let mut new = wanted.iter().filter(|it| !known.contains(it));
        gone.try_for_each(|it| it.remove(&mut out))
            .and_then(|()| new.try_for_each(|it| it.send(&mut out)))
            .and_then(|()| out.flush())
            .map_err(cannot("draw images"))
    }

    /// Draws a frame. A terminal that can do so shows it as a whole, without tearing.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> Result<()> {
        queue!(stdout(), BeginSynchronizedUpdate)
            .and_then(|()| self.drawn.draw(render).map(|_| ()))
            .and_then(|()| execute!(stdout(), EndSynchronizedUpdate))
            .map_err(cannot("draw"))
    }

    /// Puts text on the clipboard of the terminal, wherever that runs (OSC 52).
    pub fn copy(&mut self, text: &str) -> Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text)).map_err(cannot("copy"))
    }

    /// Restores the terminal and stops, like Ctrl-Z; continues when the shell says so.
    pub fn suspend(&mut self) -> Result<()> {
        // If the terminal is gone, that shows below.
        let _ = self.show(&[]);
        restore();
        let stopped = signals::wait_for_shell().and_then(|()| take_over(self.mouse));
        stopped.map_err(cannot("return from the suspension"))?;
        self.repaint()
    }

    /// Rings the bell and shows a notification, if the terminal supports them (OSC 9).
    pub fn ring(&mut self, text: &str) -> Result<()> {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        let mut out = stdout();
        let rung = write!(out, "\x07\x1b]9;{text}\x07").and_then(|()| out.flush());
        rung.map_err(cannot("ring the bell"))
    }

    /// Draws every cell again with the next frame.
    pub fn repaint(&mut self) -> Result<()> {
        // A terminal that was reset has lost them.
        self.show(&[])?;
        // Not `Terminal::clear`: it asks the terminal for the position of the cursor, and the
        // thread that reads keys would get the answer.
        let cleared = self
            .drawn
            .size()
            .and_then(|size| self.drawn.resize(Rect::from((Position::ORIGIN, size))));
        cleared.map_err(cannot("clear the screen"))
    }
}

/// The error of something that the terminal did not do.
fn cannot(what: &str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::failed(format!("cannot {what}: {error}"))
}

fn take_over(mouse: bool) -> std::io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    // A program that was killed left its last screen there.
    execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableBracketedPaste)?;
    if mouse { execute!(stdout(), EnableMouseCapture) } else { Ok(()) }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.show(&[]);
        restore();
    }
}

/// Restores the terminal. Does nothing the second time.
fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = execute!(
            stdout(),
            EndSynchronizedUpdate,
            DisableBracketedPaste,
            DisableMouseCapture,
            // After its window has grown, tmux would leave rows of this screen among the lines
            // above the prompt, and they may show private numbers.
            Clear(ClearType::All),
            LeaveAlternateScreen,
            crossterm::cursor::Show
        );
        let _ = stdout().flush();
    }
}

/// Only a panic of the interface's own thread ends the interface. A worker's panic becomes a failed
/// run: it must neither print over the screen nor restore the terminal while the interface is
/// running.
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
