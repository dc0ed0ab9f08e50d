//! The terminal interface: screens, keys, the guide. It contains no mathematics and no files: it asks
//! the engine's worker for work and gets messages back.
//!
//! | module | holds |
//! |---|---|
//! | [`tab`] | the list of the screens |
//! | [`screen`] | what a screen is; a folder for each |
//! | [`context`] | the shared state: session, data, plans, runs, ledger |
//! | [`app`] | the whole state |
//! | [`mod@update`] | the only place that changes it |
//! | [`mod@view`] | state → picture, pure |
//! | [`keymap`], [`keys`] | every key; how keys are written |
//! | [`popup`] | windows over a screen |
//! | [`canvas`] | the surface on which all of them draw, with the widgets of `halflight-widgets` |
//! | [`live_run`], [`live_ranking`] | work that the interface follows |
//! | [`export`], [`text_table`] | the contents of a screen, for a file or the clipboard |
//! | [`pictures`] | images as pixels, in terminals that show them |
//! | [`run_column`] | the columns of tables of archived runs |
//! | [`history`], [`fuzzy`], [`notice`] | undo; search by a few letters; messages to the user |
//! | [`tutorial`] | the steps of `halflight tutorial`, and the tests that each is done |
//! | [`terminal`] | raw mode, which always ends |
//!
//! Each uses only those after it in this list: terminal and loop, `update` and `view`, `keymap`,
//! `app`, `screen`, `context`, `popup`, `canvas`.

use halflight_advice::{glossary, rank, rehearsal, theory, verdict};
use halflight_base::{error, signals};
use halflight_data as data;
use halflight_engine as engine;
use halflight_evaluation as evaluation;
use halflight_methods as methods;
use halflight_privacy as privacy;
use halflight_session as session;
use halflight_widgets::{self as widgets, screenshot, theme};

pub mod app;
pub mod canvas;
pub mod context;
pub mod export;
#[cfg(test)]
mod fixtures;
pub mod fuzzy;
pub mod guide;
pub mod history;
pub mod keymap;
pub mod keys;
mod live_elsewhere;
pub mod live_ranking;
mod live_rehearsal;
pub mod live_run;
pub mod notice;
pub mod pictures;
pub mod popup;
pub mod run_column;
pub mod screen;
pub mod tab;
pub mod terminal;
pub mod text_table;
pub mod tutorial;
pub mod update;
pub mod view;

use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyModifiers};

use crate::engine::worker::WorkerReport;
use crate::engine::{Worker, detach, ending};
use crate::error::Result;
use crate::privacy::ledger::RunId;
use crate::session::unsaved::Keeper;
use crate::session::{Session, Workspace};
use app::App;
use canvas::Hits;
use context::{Context, Effect};
use live_run::LiveRun;
use terminal::Terminal;
use update::{Message, update};
use view::view;

/// Time between two frames while data stream in: about 15 frames a second.
const STREAMING_FRAME: Duration = Duration::from_millis(66);

/// The unsaved session is kept so long after a change.
const KEPT_AFTER: Duration = Duration::from_secs(3);

/// The events that wake the loop.
enum Wake {
    Terminal(Event),
    Worker,
    Signal,
    /// The terminal was closed.
    Closed,
    /// The terminal is gone.
    Hangup,
}

/// Runs the interface until the user leaves. It waits without a timer while nothing happens, and
/// draws at most once per batch of events.
pub fn run(mut app: App, workspace: Workspace) -> Result<()> {
    let (sender, inbox) = channel();
    let mut terminal = Terminal::enter(app.mouse)?;
    app.pictures = terminal.drawing();
    let mut hits = draw(&mut terminal, &app)?;
    let mut keeping = Keeping::new(&workspace);

    listen_to_terminal(sender.clone());
    listen_to_signals(sender.clone())?;
    let worker = Worker::open(workspace, move || {
        let _ = sender.send(Wake::Worker);
    });
    let first = app.first_requests();
    perform(first, &worker, &mut terminal, &keeping)?;
    // Drawing has failed, so nobody can see the screen any more.
    let mut gone = false;

    let mut last_frame = Instant::now();
    let mut due = None;
    // The deadline for work to end by itself once the program has to end.
    let mut until: Option<Instant> = None;
    // Whether the user leaves, and not the system.
    let mut by_choice = true;
    loop {
        let mut hurry = false;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let batch = next_batch(&inbox, due.into_iter().chain(left).chain(keeping.left()).min());
        let has_happened = !batch.is_empty();
        for wake in batch {
            if matches!(wake, Wake::Signal | Wake::Closed) {
                by_choice = false;
                until.get_or_insert_with(|| Instant::now() + ending::PATIENCE);
            }
            let message = match wake {
                Wake::Worker => {
                    let reports = worker.take();
                    hurry |= reports.iter().any(WorkerReport::is_awaited);
                    Message::Reports(reports)
                }
                Wake::Terminal(event) => {
                    hurry = true;
                    match translate(event) {
                        Some(message) => message,
                        None => continue,
                    }
                }
                Wake::Signal => Message::Terminate,
                Wake::Closed => Message::Closed,
                Wake::Hangup => {
                    gone = true;
                    continue;
                }
            };
            let effects = update(&mut app, message, &hits);
            gone |= perform(effects, &worker, &mut terminal, &keeping).is_err();
        }
        keeping.notice(&app.context, has_happened);
        if gone && !app.context.leaving {
            // End the runs cleanly; their last reports end the loop.
            update(&mut app, Message::Closed, &hits);
            until.get_or_insert_with(|| Instant::now() + ending::PATIENCE);
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            until = None;
            app.context.wait_no_more();
        }
        if app.context.quit {
            drop(terminal);
            keeping.end(&app.context, by_choice && !gone);
            return end(&app).and(app.context.failed.map_or(Ok(()), Err));
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

/// Keeps the unsaved session, a moment after it changed.
struct Keeping {
    keeper: Keeper,
    due: Option<Instant>,
    kept: Option<Session>,
    /// Writes, so that the screen never waits for the disk.
    writing: Option<JoinHandle<()>>,
}

impl Keeping {
    fn new(workspace: &Workspace) -> Self {
        Self { keeper: Keeper::new(workspace), due: None, kept: None, writing: None }
    }

    /// How long until it has to be looked whether something changed.
    fn left(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Whether there is something to keep. A demo is thrown away.
    fn is_wanted(context: &Context) -> bool {
        context.unsaved && context.demo.is_none()
    }

    /// Something may have changed if something has happened.
    fn notice(&mut self, context: &Context, has_happened: bool) {
        if !Self::is_wanted(context) {
            if has_happened {
                self.forget();
            }
        } else if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            self.keep(context);
        } else if has_happened && self.due.is_none() {
            self.due = Some(Instant::now() + KEPT_AFTER);
        }
    }

    fn keep(&mut self, context: &Context) {
        let session = context.for_disk();
        if self.kept.as_ref() == Some(&session) {
            return;
        }
        self.kept = Some(session.clone());
        self.wait();
        let (keeper, path) = (self.keeper.clone(), context.session_path.clone());
        let on_disk = context.on_disk.clone();
        // Where nothing can be written, nothing is kept.
        let write = move || drop(keeper.keep(session, path.as_deref(), on_disk));
        self.writing = Some(thread::spawn(write));
    }

    fn wait(&mut self) {
        self.writing.take().map(JoinHandle::join);
    }

    fn forget(&mut self) {
        (self.due, self.kept) = (None, None);
        self.wait();
        self.keeper.forget();
    }

    /// What somebody leaves unsaved by choice is not wanted; after a signal it is.
    fn end(mut self, context: &Context, by_choice: bool) {
        if by_choice || !Self::is_wanted(context) {
            return self.forget();
        }
        self.keep(context);
        self.wait();
    }
}

/// Runs that the user has left continue in processes of their own; other open runs are settled.
fn end(app: &App) -> Result<()> {
    let left = app.context.runs.iter().filter(|run| run.control.is_left());
    let left: Vec<RunId> = left.filter_map(|run| run.run.clone()).collect();
    let ended = ending::settle(&left).words();
    if !ended.is_empty() {
        // If the terminal is gone, nobody can be told.
        let _ = writeln!(std::io::stderr(), "{ended}");
    }
    let left = app.context.runs.iter().filter_map(LiveRun::left);
    left.map(|(run, pace)| detach::go_on(&run, pace)).fold(Ok(()), Result::and)
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
    terminal.show(&hits.pictures)?;
    Ok(hits)
}

fn perform(
    effects: Vec<Effect>,
    worker: &Worker,
    terminal: &mut Terminal,
    keeping: &Keeping,
) -> Result<()> {
    let mut shown = Ok(());
    for effect in effects {
        match effect {
            Effect::Ask(request) => worker.ask(*request),
            Effect::Repaint => shown = shown.and(terminal.repaint()),
            Effect::Copy(text) => shown = shown.and(terminal.copy(&text)),
            Effect::Suspend => shown = shown.and(terminal.suspend()),
            Effect::Ring(text) => shown = shown.and(terminal.ring(&text)),
            Effect::KeepIn(file) => keeping.keeper.adopt(file),
            Effect::Discard(file) => file.remove(),
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
        let mut answer = LateAnswer::default();
        while let Ok(event) = crossterm::event::read() {
            if !answer.holds(&event) && sender.send(Wake::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = sender.send(Wake::Hangup);
    });
}

/// The answer of a slow terminal to a question that was asked at the start, which arrives as keys:
/// `Alt-]`, `Alt-P` or `Alt-_`, the answer, and `Alt-\` or `Ctrl-g`.
#[derive(Default)]
struct LateAnswer(Option<Instant>);

impl LateAnswer {
    /// How long an answer takes from its first to its last key, at most.
    const LONGEST: Duration = Duration::from_millis(500);

    /// Whether this key belongs to an answer, and is no key that was pressed.
    fn holds(&mut self, event: &Event) -> bool {
        let Event::Key(key) = event else { return false };
        let [alt, control] =
            [KeyModifiers::ALT, KeyModifiers::CONTROL].map(|it| key.modifiers.contains(it));
        let is_inside = self.0.is_some_and(|since| since.elapsed() < Self::LONGEST);
        match key.code {
            KeyCode::Char(']' | 'P' | '_') if alt => self.0 = Some(Instant::now()),
            KeyCode::Char('\\') if alt && is_inside => self.0 = None,
            KeyCode::Char('g') if control && is_inside => self.0 = None,
            _ => return is_inside,
        }
        true
    }
}

fn listen_to_signals(sender: Sender<Wake>) -> Result<()> {
    signals::listen(signals::LEAVING, move |signal| {
        let wake = if signals::is_hangup(signal) { Wake::Closed } else { Wake::Signal };
        sender.send(wake).is_ok()
    })
}
