//! The pictures of README and guide (SVG) show the screens as they are: the real renderer draws them
//! after real runs of the demo. The noise of these runs is seeded, so the pictures are the same every
//! time. `INSTA_UPDATE=always` draws them again, as it does all snapshots.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use halflight::engine::seeded_run::run_for_pictures;
use halflight::engine::worker::JobEvent;
use halflight::engine::{Control, Job, Worker};
use halflight::error::{Error, Result};
use halflight::files;
use halflight::privacy::ledger::RunId;
use halflight::session::{Workspace, demo};
use halflight::tui::app::App;
use halflight::tui::canvas::Hits;
use halflight::tui::context::{DatasetStatus, DemoWorkspace, Effect};
use halflight::tui::live_run::LiveRun;
use halflight::tui::update::{Message, update};
use halflight::tui::view::view;
use halflight::widgets::screenshot::{TerminalColours, svg};
use halflight::widgets::theme::{Glyphs, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const COLUMNS: u16 = 120;
const ROWS: u16 = 34;
/// Reading the demo's data takes a moment; the long limit is for very slow machines.
const PATIENCE: Duration = Duration::from_mins(2);
/// The budgets of the runs in the Compare picture.
const SWEEP: [f64; 4] = [0.25, 0.5, 1.0, 4.0];
const SEED: u64 = 7;

/// The pictures of README and guide, by name.
fn pictures() -> Result<Vec<(&'static str, String)>> {
    let workspace = demo::workspace()?;
    let pictures = PictureSession::open(&workspace)?.play(&workspace);
    // The folder held only these runs.
    let _ = files::step::remove_folder(workspace.base());
    pictures
}

/// The interface without a terminal.
struct PictureSession {
    app: App,
    worker: Worker,
    woken: std::sync::mpsc::Receiver<()>,
}

impl PictureSession {
    fn open(workspace: &Workspace) -> Result<Self> {
        let mut app =
            App::new(demo::session("bikeshare")?, None, Theme::truecolor(), Glyphs::unicode());
        app.context.demo = Some(DemoWorkspace::Removed);
        let (wake, woken) = channel();
        let worker = Worker::open(workspace.clone(), move || {
            let _ = wake.send(());
        });
        app.first_requests().into_iter().for_each(|effect| ask(&worker, effect));
        Ok(Self { app, worker, woken })
    }

    fn play(mut self, workspace: &Workspace) -> Result<Vec<(&'static str, String)>> {
        self.wait(|app| {
            let mut datasets = app.context.datasets.values();
            datasets.all(|status| matches!(status, DatasetStatus::Ready { .. }))
        })?;
        self.press('2');
        // The first look at exact numbers asks.
        self.press('r');
        self.press('y');
        self.wait(|app| app.context.ranking.work.is_none() && !app.context.ranking.is_empty())?;
        let mut pictures = vec![("rank", self.picture()?)];

        // Take the best one into the plan.
        self.press_key(KeyCode::Enter);
        self.press('3');
        self.wait(|app| {
            !app.context.plan.waiting && matches!(app.context.plan.preview, Some(Ok(_)))
        })?;
        pictures.push(("plan", self.picture()?));

        for (number, epsilon) in (1..).zip(SWEEP) {
            self.rehearse(workspace, number, epsilon)?;
        }
        self.app.screens.run.selected = 2;
        self.press('4');
        pictures.push(("run", self.picture()?));

        // Of the two reports that Compare asks for, none comes before the picture.
        self.wait(|app| app.context.archive.is_some())?;
        self.press('5');
        for key in [' ', 'j', 'j', ' '] {
            self.press(key);
        }
        pictures.push(("compare", self.picture()?));
        Ok(pictures)
    }

    /// Makes a run of the first plan with this ε.
    fn rehearse(&mut self, workspace: &Workspace, number: u64, epsilon: f64) -> Result<()> {
        let mut plan = self.app.context.session.plans[0].clone();
        plan.target.epsilon = epsilon;
        plan.name = format!("winter, ε {epsilon}");
        let loaded = self.app.context.datasets.values().filter_map(|status| match status {
            DatasetStatus::Ready { loaded, .. } => Some(loaded.clone()),
            _ => None,
        });
        let watch = self.app.context.watch.for_run();
        let control = Control::default();
        let mut run = LiveRun::new(number, &plan, control.clone());
        let session = self.app.context.session.clone();
        let job = Job::new(session, plan, loaded.collect(), workspace.clone());
        let job = Job { watch, control, ..job };
        let id = RunId(format!("20260101-12000{number}-{}", job.plan.method));
        let mut tell = |event| {
            run.hear(JobEvent::Progress(event));
        };
        let summary = run_for_pictures(&job, &id, SEED + number, &mut tell)?;
        run.hear(JobEvent::Ended(Box::new(Ok(summary))));
        self.app.context.runs.push(run);
        Ok(())
    }

    fn wait(&mut self, holds: impl Fn(&App) -> bool) -> Result<()> {
        while !holds(&self.app) {
            self.woken
                .recv_timeout(PATIENCE)
                .map_err(|_| Error::failed("the demo did not get that far in time"))?;
            let reports = self.worker.take();
            self.update(Message::Reports(reports));
        }
        Ok(())
    }

    fn press(&mut self, key: char) {
        self.press_key(KeyCode::Char(key));
    }

    fn press_key(&mut self, code: KeyCode) {
        self.update(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn update(&mut self, message: Message) {
        for effect in update(&mut self.app, message, &Hits::default()) {
            ask(&self.worker, effect);
        }
    }

    fn picture(&mut self) -> Result<String> {
        self.app.context.notice = None;
        let failed = |error| Error::failed(format!("cannot draw: {error}"));
        let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS)).map_err(failed)?;
        terminal
            .draw(|frame| {
                view(&self.app, frame);
            })
            .map_err(failed)?;
        let title = format!("halflight: {}", self.app.context.tab.title());
        Ok(svg(terminal.backend().buffer(), &title, &TerminalColours::dark()))
    }
}

fn ask(worker: &Worker, effect: Effect) {
    if let Effect::Ask(request) = effect {
        worker.ask(*request);
    }
}

#[test]
fn the_pictures_of_the_guide_show_the_screens_as_they_are() {
    let pages = include_str!("../../assets/guide/screens.md");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/screens");
    let is_update = std::env::var("INSTA_UPDATE").is_ok_and(|it| it == "always");
    for (name, picture) in pictures().unwrap() {
        let path = folder.join(format!("{name}.svg"));
        if is_update {
            std::fs::write(&path, &picture).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == picture,
            "{} is stale: `INSTA_UPDATE=always cargo test --test whole pictures` draws it again",
            path.display()
        );
        assert!(pages.contains(&format!("../screens/{name}.svg")), "{name} is not shown");
    }
}
