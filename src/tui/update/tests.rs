//! `update` is total, and what keys do.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
use proptest::prelude::*;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::engine::desk::{News, RankNews, RehearsalNews};
use crate::engine::ranking::{Manner, RankingMoment};
use crate::engine::{Moment, Request};
use crate::error::Error;
use crate::privacy::Watch;
use crate::rank::RankStep;
use crate::session::plan_field::fields;
use crate::tui::context::Popup;
use crate::tui::fixtures::{self, archived};
use crate::tui::notice::Level;
use crate::tui::screen::run::LOG;
use crate::tui::tab::Tab;
use crate::tui::view::view;

fn press(app: &mut App, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            '↓' => KeyCode::Down,
            '→' => KeyCode::Right,
            c => KeyCode::Char(c),
        };
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        effects.extend(update(app, Message::Key(key), &Hits::default()));
    }
    effects
}

fn asked(effects: &[Effect], wanted: impl Fn(&Request) -> bool) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Ask(request) if wanted(request)))
}

/// The rows of the Rank screen.
fn ranked(app: &App) -> Vec<crate::tui::screen::rank::Row> {
    app.screens.rank.rows(&app.context.ranking, &app.context.watch)
}

fn any_key(random: &mut ChaCha20Rng) -> KeyEvent {
    let codes = [
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Delete,
        KeyCode::Backspace,
        KeyCode::F(5),
        KeyCode::Null,
    ];
    let code = if random.random_bool(0.35) {
        codes[random.random_range(0..codes.len())]
    } else if random.random_bool(0.97) {
        KeyCode::Char(char::from(random.random_range(b' '..=b'~')))
    } else {
        KeyCode::Char(['é', '漢', '\u{301}', '\u{200b}', '👩'][random.random_range(0..5)])
    };
    let modifiers = match random.random_range(0..12) {
        0 => KeyModifiers::CONTROL,
        1 => KeyModifiers::SHIFT,
        2 => KeyModifiers::ALT,
        _ => KeyModifiers::NONE,
    };
    KeyEvent::new(code, modifiers)
}

fn any_mouse(random: &mut ChaCha20Rng) -> MouseEvent {
    let kinds = [
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Up(MouseButton::Left),
        MouseEventKind::Drag(MouseButton::Left),
        MouseEventKind::Down(MouseButton::Right),
        MouseEventKind::Moved,
        MouseEventKind::ScrollDown,
        MouseEventKind::ScrollUp,
        MouseEventKind::ScrollLeft,
    ];
    MouseEvent {
        kind: kinds[random.random_range(0..kinds.len())],
        column: random.random_range(0..210),
        row: random.random_range(0..64),
        modifiers: KeyModifiers::NONE,
    }
}

fn any_report(random: &mut ChaCha20Rng) -> Report {
    let id = random.random_range(0..4);
    let number = random.random_range(1..9);
    match random.random_range(0..17) {
        0 => Report::Listing(fixtures::listing()),
        1 => Report::Glance { file: "x.csv".into(), schema: Ok(fixtures::schema()) },
        2 => Report::Glance { file: "y.csv".into(), schema: Err(Error::failed("no")) },
        3 => Report::Peeked {
            dataset: "winter".to_owned(),
            rows: Some(fixtures::exact(fixtures::rows())),
        },
        4 => Report::Archive(
            (0..number).map(|it| archived(it, 1.0, &[3.0, f64::NAN, 2.0])).collect(),
        ),
        5 => {
            let (book, digests) = fixtures::book();
            Report::Ledger(book, digests)
        }
        6 => Report::LoadFailed { name: "winter".to_owned(), error: Error::failed("gone") },
        7 => Report::Job {
            id,
            news: News::Moment(Moment::Stepped(fixtures::progress(u64::from(number) * 7, 60))),
        },
        8 => Report::Job { id, news: News::Ended(Box::new(Ok(fixtures::summary()))) },
        9 => Report::Job { id, news: News::Ended(Box::new(Err(Error::refused("no")))) },
        10 => Report::Trouble(Error::failed("trouble")),
        11 => Report::Inspected { file: "x.csv".to_owned(), columns: fixtures::schema().columns },
        13 => rank_step(id),
        14 => Report::Rank { id, news: RankNews::Ended(Box::new(Ok(fixtures::rank_summary()))) },
        15 => Report::Rank { id, news: RankNews::Ended(Box::new(Err(Error::failed("no")))) },
        12 => Report::SessionSaved("s.ron".into()),
        _ => Report::Preview(Box::new(Err(Error::failed("not loaded")))),
    }
}

fn rank_step(id: u64) -> Report {
    let words = "repeat 3 of 10".to_owned();
    let step = RankStep { index: 3, total: 11, words, done: false };
    let comparison = Some(Box::new(fixtures::exact(fixtures::comparison())));
    let moment = RankingMoment::Stepped { step, comparison };
    Report::Rank { id, news: RankNews::Moment(moment) }
}

fn any_message(random: &mut ChaCha20Rng) -> Message {
    match random.random_range(0..100) {
        0..72 => Message::Key(any_key(random)),
        72..88 => Message::Mouse(any_mouse(random)),
        88..97 => Message::Reports(vec![any_report(random)]),
        97 => Message::Paste("a\u{7}b, 漢 1e-3\n".to_owned()),
        98 => Message::Resize,
        _ => Message::Terminate,
    }
}

/// Messages per case; with the cases below 10⁵ in all.
const MESSAGES: usize = 5_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn any_messages_in_any_state_give_a_state_that_can_be_drawn(seed: u64) {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        let mut scenes: Vec<App> = fixtures::scenes().into_iter().map(|(_, app)| app).collect();
        let mut app = scenes.swap_remove(random.random_range(0..scenes.len()));
        let mut hits = Hits::default();
        for count in 0..MESSAGES {
            update(&mut app, any_message(&mut random), &hits);
            // Leaving is an end; here it is only another state.
            (app.context.leaving, app.context.quit) = (false, false);
            if count % 40 == 0 {
                let (columns, rows) = (random.random_range(1..210), random.random_range(1..64));
                let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
                terminal.draw(|frame| hits = view(&app, frame)).unwrap();
            }
            if app.context.runs.len() > 30 || app.context.queue.plans.len() > 200 {
                app.context.runs.truncate(3);
                app.screens.run.selected = 0;
                app.context.queue.plans.clear();
            }
        }
    }
}

#[test]
fn undo_brings_back_the_session_as_it_was_and_redo_the_change() {
    let mut app = fixtures::priced();
    let before = app.context.session.clone();
    // ε is the fifth field: one step up the ladder.
    press(&mut app, "↓↓↓↓→");
    let after = app.context.session.clone();
    assert_ne!(before, after);
    let effects = press(&mut app, "u");
    assert_eq!(app.context.session, before);
    assert!(asked(&effects, |it| matches!(it, Request::Preview { .. })));
    let redo = KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL);
    update(&mut app, Message::Key(redo), &Hits::default());
    assert_eq!(app.context.session, after);
    press(&mut app, "uuu");
    assert_eq!(app.context.session, before);
}

#[test]
fn undoing_the_removal_of_a_dataset_reads_it_again() {
    let mut app = fixtures::loaded();
    press(&mut app, "dy");
    assert_eq!(app.context.session.datasets.len(), 1);
    let effects = press(&mut app, "u");
    assert_eq!(app.context.session.datasets.len(), 2);
    assert!(asked(&effects, |it| matches!(it, Request::Load(it) if it.name == "winter")));
}

#[test]
fn escape_leaves_one_layer_at_a_time() {
    let mut app = fixtures::running();
    app.screens.run.viewport.window = Some((5.0, 20.0));
    app.screens.run.viewport.cursor = Some(7.0);
    press(&mut app, "/step\n");
    assert_eq!(app.context.filter(), "step");
    app.context.say(Level::Info, "hello");
    press(&mut app, "?\x1b");
    assert!(app.context.popup.is_none() && app.context.notice.is_some());
    press(&mut app, "\x1b");
    assert!(app.context.notice.is_none() && !app.context.filter().is_empty());
    press(&mut app, "\x1b");
    assert!(app.context.filter().is_empty() && app.screens.run.viewport.cursor.is_some());
    press(&mut app, "\x1b");
    assert!(app.screens.run.viewport.cursor.is_none() && app.screens.run.viewport.window.is_some());
    press(&mut app, "\x1b");
    assert!(app.screens.run.viewport.window.is_none());
}

#[test]
fn the_palette_finds_and_does_what_another_screen_can() {
    let mut app = fixtures::loaded();
    let effects = press(&mut app, ":certificate\n");
    assert_eq!(app.context.tab, Tab::Ledger);
    assert!(asked(&effects, |it| matches!(it, Request::Ledger)));
}

#[test]
fn a_sweep_queues_one_run_for_each_value_and_the_queue_halts_at_a_refusal() {
    let mut app = fixtures::priced();
    press(&mut app, "↓↓↓↓s");
    press(&mut app, "\n");
    let asked_for: Vec<f64> =
        app.context.queue.plans.iter().map(|plan| plan.target.epsilon).collect();
    assert_eq!(asked_for, [0.5, 1.0, 2.0, 4.0]);
    assert_eq!(app.context.session.plans.len(), 2, "a sweep leaves the plans alone");

    let effects = press(&mut app, "wy");
    assert!(asked(&effects, |it| matches!(it, Request::Launch { .. })));
    assert_eq!((app.context.runs.len(), app.context.queue.plans.len()), (1, 3));
    let end = |id, result| {
        Message::Reports(vec![Report::Job { id, news: News::Ended(Box::new(result)) }])
    };
    let id = app.context.runs[0].id;
    let effects = update(&mut app, end(id, Ok(fixtures::summary())), &Hits::default());
    assert!(asked(&effects, |it| matches!(it, Request::Launch { .. })));
    let id = app.context.runs[1].id;
    let refused = Err(Error::refused("over the budget"));
    let effects = update(&mut app, end(id, refused), &Hits::default());
    assert!(!asked(&effects, |it| matches!(it, Request::Launch { .. })));
    assert_eq!((app.context.queue.plans.len(), app.context.queue.working), (2, false));
}

#[test]
fn a_run_that_begins_is_shown_and_the_focus_stays_where_it_was() {
    let mut app = fixtures::running();
    press(&mut app, "\t");
    assert_eq!(app.pane(), Some(LOG));
    app.screens.run.viewport.window = Some((5.0, 20.0));
    let plan = app.context.session.plans[0].clone();
    app.context.launch(plan);
    update(&mut app, Message::Resize, &Hits::default());
    assert_eq!((app.screens.run.selected, app.pane()), (1, Some(LOG)));
    assert_eq!(app.screens.run.viewport.window, None);
}

#[test]
fn what_is_removed_is_not_selected_any_more() {
    let mut app = fixtures::loaded();
    press(&mut app, "jdy");
    assert_eq!(app.screens.data.selected, 0);
    assert_eq!(app.context.session.datasets.len(), 1);
    // With the focus on the rows, too.
    let mut app = fixtures::loaded();
    press(&mut app, "j\tdy");
    assert_eq!(app.screens.data.selected, 0);
}

#[test]
fn a_ranking_streams_in_can_be_cancelled_and_gives_its_best_to_the_plan() {
    let mut app = fixtures::loaded();
    let effects = press(&mut app, "2r");
    assert!(asked(&effects, |it| matches!(it, Request::Rank { manner: Manner::Curator, .. })));
    assert!(press(&mut app, "r").is_empty(), "one at a time");
    update(&mut app, Message::Reports(vec![rank_step(1)]), &Hits::default());
    assert_eq!(ranked(&app).len(), 4);
    assert_eq!(app.context.ranking.work.as_ref().unwrap().done, 3);
    press(&mut app, "c");
    assert!(!app.context.ranking.work.as_ref().unwrap().control.proceed());
    // News of another ranking change nothing.
    update(&mut app, Message::Reports(vec![rank_step(7)]), &Hits::default());
    let news = RankNews::Ended(Box::new(Ok(fixtures::rank_summary())));
    update(&mut app, Message::Reports(vec![Report::Rank { id: 1, news }]), &Hits::default());
    assert!(app.context.ranking.work.is_none());

    press(&mut app, "m");
    assert_eq!(app.context.session.ranking.settings.model, crate::rank::ProbeModel::Linear);
    // Sorted by name, the third row is summer; it must be in the session to be taken.
    press(&mut app, "s↓↓↓");
    assert_eq!(app.screens.rank.chosen(&app.context).as_deref(), Some("summer"));
    press(&mut app, "\n");
    assert_eq!(app.context.tab, Tab::Rank);
    app.context.session.datasets[1].name = "summer".to_owned();
    press(&mut app, "\n");
    assert_eq!(
        (app.context.tab, &app.context.session.plans[0].public),
        (Tab::Plan, &vec!["summer".to_owned()])
    );
}

#[test]
fn a_rehearsal_streams_in_can_be_stopped_and_gives_its_method_to_the_plan() {
    let mut app = fixtures::priced();
    assert!(press(&mut app, "t").is_empty(), "nothing is advised yet");
    let effects = press(&mut app, "r");
    assert!(asked(&effects, |it| matches!(it, Request::Rehearse { id: 1, .. })));
    let news = |id: u64, done: usize| {
        let news = RehearsalNews::Progressed(Box::new(fixtures::rehearsal(done)));
        Message::Reports(vec![Report::Rehearsal { id, news }])
    };
    update(&mut app, news(1, 80), &Hits::default());
    update(&mut app, news(7, 126), &Hits::default());
    assert_eq!(app.context.rehearsal.progress.as_ref().unwrap().done, 80);
    // The costs come back and go again; nothing is asked twice.
    press(&mut app, "r");
    assert!(!app.context.rehearsal.shown);
    assert!(press(&mut app, "r").is_empty() && app.context.rehearsal.shown);
    // Another method or ε is no other rehearsal, other public data are.
    let mut other = app.context.session.plans[0].clone();
    other.target.epsilon = 3.0;
    assert!(app.context.rehearsal.fits(&other));
    other.public.clear();
    assert!(!app.context.rehearsal.fits(&other));

    press(&mut app, "R");
    assert!(app.context.rehearsal.work.is_none());
    let ended = RehearsalNews::Ended(Box::new(Ok(fixtures::rehearsal(126))));
    update(
        &mut app,
        Message::Reports(vec![Report::Rehearsal { id: 1, news: ended }]),
        &Hits::default(),
    );
    press(&mut app, "t");
    assert_eq!(app.context.session.plans[0].method, "public_shape");
    press(&mut app, "u");
    assert_eq!(app.context.session.plans[0].method, "profiled_cnvx_adap");
}

#[test]
fn sealed_nothing_is_ranked_but_privately() {
    let mut app = fixtures::loaded();
    press(&mut app, "2v");
    assert!(press(&mut app, "r").is_empty() && app.context.ranking.work.is_none());
    press(&mut app, "p");
    assert!(press(&mut app, "x\n").is_empty(), "no number");
    let Some(Popup::Prompt(prompt)) = &app.context.popup else { panic!("the prompt stays") };
    assert!(prompt.problem.is_some());
    press(&mut app, "\x1b");
    let effects = press(&mut app, "p\n");
    let private = |request: &Request| match request {
        Request::Rank { manner: Manner::Winner(_, target), .. } => target.epsilon == 0.5,
        _ => false,
    };
    assert!(asked(&effects, private));
    assert_eq!(app.context.working(), 1);
    for (key, wanted) in [("t", "Table"), ("d", "Direction")] {
        let mut app = fixtures::loaded();
        press(&mut app, "2");
        press(&mut app, key);
        let effects = press(&mut app, "\n");
        let asked_for = |request: &Request| match request {
            Request::Rank { manner, .. } => format!("{manner:?}").starts_with(wanted),
            _ => false,
        };
        assert!(asked(&effects, asked_for), "{key}");
    }
    // What was ranked exactly before is hidden, and shown again.
    app.context.ranking = fixtures::ranked().context.ranking;
    assert!(ranked(&app).is_empty() && app.screens.rank.chosen(&app.context).is_none());
    press(&mut app, "v");
    assert_eq!(ranked(&app).len(), 4);
}

#[test]
fn what_is_typed_into_an_automatic_field_takes_the_place_of_that_word() {
    let mut app = fixtures::loaded();
    press(&mut app, "3");
    "cnvx_adap".clone_into(&mut app.context.session.plans[0].method);
    let fields = fields(&app.context.session.plans[0]);
    app.screens.plan.field = fields.iter().position(|field| field.name() == "radius Λ").unwrap();
    let radius = |app: &App| app.context.session.plans[0].settings.get("lambda").cloned();
    press(&mut app, "\n25\n");
    assert_eq!(radius(&app), Some(crate::adapt::Value::Number(25.0)));
    // A number is edited as it stands; nothing at all is automatic again.
    press(&mut app, "\n0\n");
    assert_eq!(radius(&app), Some(crate::adapt::Value::Number(250.0)));
    press(&mut app, "x\n\n");
    assert_eq!(radius(&app), None);
}

#[test]
fn wrong_values_of_a_sweep_are_named_and_queue_nothing() {
    let mut app = fixtures::priced();
    press(&mut app, "↓↓↓↓s");
    press(&mut app, ", minus\n");
    let Some(Popup::Prompt(prompt)) = &app.context.popup else { panic!("the prompt stays") };
    assert!(prompt.problem.as_ref().unwrap().contains("minus"));
    assert!(app.context.queue.plans.is_empty());
}

#[test]
fn exports_leave_exact_numbers_out_unless_asked_for_by_name() {
    let export = |app: &mut App, keys: &str| {
        let effects = press(app, keys);
        let text = effects.into_iter().find_map(|effect| match effect {
            Effect::Ask(request) => match *request {
                Request::Export { text, .. } => Some(text),
                _ => None,
            },
            _ => None,
        });
        text.expect("something is written")
    };
    let mut app = fixtures::pinned();
    let plain = export(&mut app, "X\n");
    assert!(
        plain.lines().count() == 4 && !plain.contains('◆') && !plain.contains("1110."),
        "{plain}"
    );
    // ↓ from the file over the format to the exact numbers.
    let named = export(&mut app, "X↓↓ \n");
    assert!(named.contains("private ◆"), "{named}");
    app.context.watch.seal(true);
    let sealed = export(&mut app, "X↓↓ \n");
    assert_eq!(sealed, plain);
    app.context.watch.seal(false);

    let mut app = fixtures::running();
    let curves = export(&mut app, "X\n");
    assert!(curves.starts_with("step,epsilon,") && curves.lines().count() == 41, "{curves}");
    assert!(!curves.contains("exact"), "{curves}");
    // As a picture: the curator's colour and the mark are nowhere.
    let picture = export(&mut app, "X↓ \n");
    assert!(
        picture.starts_with("<svg") && !picture.contains('◆'),
        "an exact number in the picture"
    );
    assert!(!app.context.watch.is_sealed(), "the view itself stays as it was");
}

#[test]
fn a_copy_goes_to_the_clipboard_without_exact_numbers() {
    let mut app = fixtures::pinned();
    let effects = press(&mut app, "C");
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.starts_with("plan,method,") && !text.contains('◆'));
}

#[test]
fn the_mouse_moves_the_focus_pans_and_reads_charts() {
    let mut app = fixtures::running();
    let mut hits = Hits::default();
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| hits = view(&app, frame)).unwrap();
    let plot = hits.charts[0];
    let mouse = |app: &mut App, kind, column| {
        let mouse =
            MouseEvent { kind, column, row: plot.area.y + 1, modifiers: KeyModifiers::NONE };
        update(app, Message::Mouse(mouse), &hits)
    };
    let middle = plot.area.x + plot.area.width / 2;
    mouse(&mut app, MouseEventKind::Moved, middle);
    assert!(app.screens.run.viewport.cursor.is_some());
    for _ in 0..3 {
        mouse(&mut app, MouseEventKind::ScrollUp, middle);
    }
    let (low, high) = app.screens.run.viewport.window.unwrap();
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), middle);
    mouse(&mut app, MouseEventKind::Drag(MouseButton::Left), middle + 4);
    let (new_low, new_high) = app.screens.run.viewport.window.unwrap();
    assert!(new_low < low && ((new_high - new_low) - (high - low)).abs() < 1e-9);
    let (_, tab) = hits.tabs[5];
    let at = hits.tabs[5].0;
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: at.x + 1,
        row: at.y,
        modifiers: KeyModifiers::NONE,
    };
    update(&mut app, Message::Mouse(click), &hits);
    assert_eq!((app.context.tab, tab), (Tab::Ledger, Tab::Ledger));
}

#[test]
fn a_key_reaches_the_screen_in_time_while_a_run_tells_all_it_can() {
    let mut app = fixtures::running();
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
    // A batch as large as a fast run fills within one frame, then a key, then a frame.
    let mut worst = 0.0f64;
    for round in 0..20u64 {
        let reports = (0..400).map(|index| {
            let step = fixtures::progress(41 + round * 400 + index, 100_000);
            Report::Job { id: 1, news: News::Moment(Moment::Stepped(step)) }
        });
        let reports: Vec<Report> = reports.collect();
        let start = Instant::now();
        update(&mut app, Message::Reports(reports), &Hits::default());
        press(&mut app, "y");
        terminal.draw(|frame| drop(view(&app, frame))).unwrap();
        worst = worst.max(start.elapsed().as_secs_f64());
    }
    // The machine may be shared: the bench states the figure, this catches blunders.
    assert!(worst < 0.5, "{worst} s");
}

#[test]
fn exact_curves_are_gone_from_a_sealed_view_and_back_after() {
    let app = fixtures::running();
    let curve = &app.context.runs[0].curves[&crate::adapt::Series::PrivateError];
    assert!(curve.points(&app.context.watch).is_some());
    assert!(curve.points(&Watch::sealed()).is_none());
}
