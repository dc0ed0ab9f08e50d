//! `cargo bench --bench drawing`: how long the interface takes to draw.
//!
//! * three charts of a million points each, at 200 × 60;
//! * a whole Run screen, and a key to its frame while 400 reports arrive between
//!   two frames (a run that emits as fast as it can);
//! * bytes that reach the terminal per second while a run streams at the
//!   interface's 15 frames a second.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use halflight::engine::job::StepProgress;
use halflight::engine::worker::JobEvent;
use halflight::engine::{Control, RunProgress, WorkerReport};
use halflight::methods::Series;
use halflight::methods::example::made_up_step;
use halflight::privacy::ledger::RunId;
use halflight::session::demo;
use halflight::tui::app::App;
use halflight::tui::canvas::Hits;
use halflight::tui::live_run::LiveRun;
use halflight::tui::tab::Tab;
use halflight::tui::update::{Message, update};
use halflight::tui::view::view;
use halflight::widgets::chart::{Chart, SeriesView};
use halflight::widgets::theme::{Glyphs, Theme};
use halflight::widgets::track::Track;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

const POINTS: usize = 1_000_000;
const FRAMES: usize = 50;
const COLUMNS: u16 = 200;
const ROWS: u16 = 60;

fn main() {
    three_charts();
    whole_screen();
    bytes_while_streaming();
}

/// Median and worst of some times in milliseconds.
fn report(name: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let worst = times.last().copied().unwrap_or_default();
    println!("{name:<44} median {median:8.3} ms   worst {worst:8.3} ms");
}

fn timed(mut work: impl FnMut()) -> Vec<f64> {
    let times = (0..FRAMES).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    });
    times.collect()
}

fn three_charts() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let tracks: Vec<Track> = (1..=3)
        .map(|k| {
            let y = move |x: f64| 1.1 + (x * 0.37 * f64::from(k)).sin();
            (0..POINTS).map(|x| (x as f64, y(x as f64))).collect()
        })
        .collect();
    let mut buffer = Buffer::empty(Rect::new(0, 0, COLUMNS, ROWS));
    for (name, window) in [("all of it", None), ("1 % of it", Some((5e5, 5.1e5)))] {
        let times = timed(|| {
            for (k, track) in tracks.iter().enumerate() {
                let area = Rect::new(0, 20 * k as u16, COLUMNS, 20);
                let style = theme.series(k);
                let series = SeriesView {
                    name: "a",
                    style,
                    curator: false,
                    points: track.view(),
                    slot: k,
                    range: None,
                };
                let chart = Chart::new("t", &theme, &glyphs).series(series);
                black_box(chart.window(window).log(k == 1).draw(area, &mut buffer));
            }
        });
        report(&format!("three charts × 10⁶ points, {name}"), times);
    }
    assert!(buffer.content.iter().any(|cell| cell.symbol() == "⣿"), "nothing was drawn");
}

fn news(index: u64, total: u64) -> WorkerReport {
    let x = index as f64;
    let y = (-x / 2e4).exp() + 0.05 * (x * 0.37).sin();
    let numbers = [
        (Series::Objective, 1.0 + y),
        (Series::PublicError, 110.0 + 40.0 * y),
        (Series::StationarityGap, y.abs() + 1e-9),
    ];
    let step = made_up_step(index, total, &numbers);
    let epsilon = (x / total as f64).sqrt();
    let progress =
        StepProgress { step, epsilon, worked: Duration::from_millis(index), columns: Vec::new() };
    WorkerReport::Run(1, JobEvent::Progress(RunProgress::Stepped(progress)))
}

fn app_with_a_run(total: u64) -> App {
    let session = demo::session("bikeshare").unwrap();
    let mut app = App::new(session, None, Theme::truecolor(), Glyphs::unicode());
    app.context.tab = Tab::Run;
    let plan = app.context.session.plans[0].clone();
    let mut run = LiveRun::new(1, &plan, Control::default());
    let id = RunId("bench".to_owned());
    run.hear(JobEvent::Progress(RunProgress::Granted {
        run: id,
        steps: total,
        warnings: Vec::new(),
        cautions: None,
    }));
    app.context.runs.push(run);
    app
}

fn whole_screen() {
    let total = POINTS as u64;
    let mut app = app_with_a_run(total);
    let mut next = 1;
    let mut batch = |count: u64| {
        let reports: Vec<WorkerReport> =
            (next..next + count).map(|index| news(index, total)).collect();
        next += count;
        Message::Reports(reports)
    };
    update(&mut app, batch(POINTS as u64 - 400 * FRAMES as u64 - 1), &Hits::default());
    let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS)).unwrap();
    let times = timed(|| {
        terminal.draw(|frame| drop(view(&app, frame))).unwrap();
    });
    report("the Run screen with 10⁶ steps", times);

    let key = KeyEvent::new(KeyCode::Right, KeyModifiers::NONE);
    let times = (0..FRAMES).map(|_| {
        let reports = batch(400);
        let start = Instant::now();
        update(&mut app, reports, &Hits::default());
        update(&mut app, Message::Key(key), &Hits::default());
        terminal.draw(|frame| drop(view(&app, frame))).unwrap();
        start.elapsed().as_secs_f64() * 1e3
    });
    let times = times.collect();
    report("a key to its frame, 400 reports before it", times);
}

/// Counts what is written to it.
#[derive(Clone, Default)]
struct Meter(Arc<Mutex<usize>>);

impl Write for Meter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        *self.0.lock().unwrap() += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn bytes_while_streaming() {
    const PER_SECOND: usize = 15;
    const SECONDS: usize = 10;
    for (name, steps_a_frame) in [("512 steps a second", 34), ("as fast as it can", 4000)] {
        let total = (PER_SECOND * SECONDS) as u64 * steps_a_frame;
        let mut app = app_with_a_run(total);
        let meter = Meter::default();
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, COLUMNS, ROWS)) };
        let backend = CrosstermBackend::new(meter.clone());
        let mut terminal = Terminal::with_options(backend, options).unwrap();
        terminal.draw(|frame| drop(view(&app, frame))).unwrap();
        let before = *meter.0.lock().unwrap();
        let mut index = 1;
        for _ in 0..PER_SECOND * SECONDS {
            let reports = (index..index + steps_a_frame).map(|it| news(it, total)).collect();
            index += steps_a_frame;
            update(&mut app, Message::Reports(reports), &Hits::default());
            terminal.draw(|frame| drop(view(&app, frame))).unwrap();
        }
        let written = *meter.0.lock().unwrap() - before;
        println!(
            "bytes while streaming, {name:<21} {:8.1} kB/s at {PER_SECOND} frames/s",
            written as f64 / SECONDS as f64 / 1e3
        );
    }
}
