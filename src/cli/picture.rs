//! `halflight picture`: screens as SVG, for the README. They come from the real
//! renderer after a real run of the demo, so they cannot show what is not there.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use clap::Args;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::engine::Desk;
use crate::error::{Error, Result};
use crate::session::{atomic, demo};
use crate::tui::app::{App, DatasetStatus, Effect};
use crate::tui::picture::{Paper, svg};
use crate::tui::theme::{Glyphs, Theme};
use crate::tui::update::{Message, update};
use crate::tui::view::{Hits, view};

/// Write pictures of the screens (SVG), as they stand in the README.
///
/// Example: halflight picture --out assets/screens
#[derive(Debug, Args)]
pub struct Picture {
    /// Directory for the pictures.
    #[arg(long, default_value = "assets/screens")]
    out: PathBuf,
}

const COLUMNS: u16 = 120;
const ROWS: u16 = 34;
/// A demo run takes a second or two; this is for very slow machines.
const PATIENCE: Duration = Duration::from_mins(2);

impl Picture {
    pub fn execute(&self) -> Result<()> {
        std::fs::create_dir_all(&self.out)
            .map_err(|error| Error::io("create the directory", &self.out, &error))?;
        let workspace = demo::workspace()?;
        let mut app =
            App::new(demo::session("bikeshare")?, None, Theme::truecolor(), Glyphs::unicode());
        app.demo = Some(workspace.base().to_path_buf());
        let (wake, woken) = channel();
        let desk = Desk::open(workspace, move || {
            let _ = wake.send(());
        });
        for effect in app.first_requests() {
            ask(&desk, effect);
        }
        let ready = |app: &App| {
            app.data.status.values().all(|status| matches!(status, DatasetStatus::Ready { .. }))
        };
        let wait = |app: &mut App, holds: &dyn Fn(&App) -> bool| -> Result<()> {
            while !holds(app) {
                woken
                    .recv_timeout(PATIENCE)
                    .map_err(|_| Error::failed("the demo did not get that far in time"))?;
                for effect in update(app, Message::Reports(desk.take()), &Hits::default()) {
                    ask(&desk, effect);
                }
            }
            Ok(())
        };
        wait(&mut app, &ready)?;
        press(&mut app, &desk, '3');
        wait(&mut app, &|app| !app.plan.waiting && matches!(app.plan.preview, Some(Ok(_))))?;
        self.write("plan", &app)?;
        press(&mut app, &desk, 'l');
        press(&mut app, &desk, 'y');
        wait(&mut app, &|app| app.working() == 0)?;
        app.notice = None;
        self.write("run", &app)
    }

    fn write(&self, name: &str, app: &App) -> Result<()> {
        let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS))
            .map_err(|error| Error::failed(format!("cannot draw: {error}")))?;
        terminal
            .draw(|frame| {
                view(app, frame);
            })
            .map_err(|error| Error::failed(format!("cannot draw: {error}")))?;
        let title = format!("halflight: {}", app.tab.title());
        let picture = svg(terminal.backend().buffer(), &title, &Paper::dark());
        let path = self.out.join(format!("{name}.svg"));
        atomic::write(&path, picture.as_bytes())?;
        eprintln!("wrote {}", path.display());
        Ok(())
    }
}

fn press(app: &mut App, desk: &Desk, key: char) {
    let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
    for effect in update(app, Message::Key(key), &Hits::default()) {
        ask(desk, effect);
    }
}

fn ask(desk: &Desk, effect: Effect) {
    if let Effect::Ask(request) = effect {
        desk.ask(*request);
    }
}
