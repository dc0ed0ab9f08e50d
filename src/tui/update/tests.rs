//! Tests that `update` is total, and of the actions of keys.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
use proptest::prelude::*;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Position;

use super::*;
use crate::context::{DatasetStatus, DemoWorkspace, OpenPopup};
use crate::data::{Columns, DatasetDefinition, Guessed, Role, Source, Task};
use crate::engine::choice::{ChoiceProgress, Offer};
use crate::engine::lookup::{MOST_RUNS, Wanted};
use crate::engine::overlap;
use crate::engine::ranking::{Manner, RankingProgress};
use crate::engine::worker::{Dividers, JobEvent, JobRequest, Preview};
use crate::engine::{Control, Request, RunProgress};
use crate::error::{Action, Error};
use crate::evaluation::Evaluation;
use crate::fixtures::{self, archived};
use crate::live_run::LiveRun;
use crate::notice::Level;
use crate::popup::dataset_form::DatasetForm;
use crate::privacy::{Adjacency, Released, Watch};
use crate::rank::RankingMechanism;
use crate::rank::{Disclosed, RankStep};
use crate::screen::Screen as _;
use crate::screen::data::DataScreen;
use crate::screen::run::LOG;
use crate::session::archive::ArchivedChoice;
use crate::session::family::{By, Divider, PartValue};
use crate::session::steering::SteeringRequest;
use crate::session::{PlanDefinition, Session, Workspace, dataset};
use crate::tab::Tab;
use crate::view::view;
use halflight_privacy_inside::openings::{OpenReleased, OpenWatch};

fn press(app: &mut App, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            '↓' => KeyCode::Down,
            '↑' => KeyCode::Up,
            '→' => KeyCode::Right,
            c => KeyCode::Char(c),
        };
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        effects.extend(update(app, Message::Key(key), &Hits::default()));
    }
    effects
}

fn press_code(app: &mut App, code: KeyCode) {
    update(app, Message::Key(KeyEvent::new(code, KeyModifiers::NONE)), &Hits::default());
}

fn asked(effects: &[Effect], wanted: impl Fn(&Request) -> bool) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Ask(request) if wanted(request)))
}

/// The rows of the Rank screen.
fn ranked(app: &App) -> Vec<crate::screen::rank::CandidateRow> {
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

fn any_report(random: &mut ChaCha20Rng) -> WorkerReport {
    let id = random.random_range(0..4);
    let number = random.random_range(1..9);
    match random.random_range(0..19) {
        0 => WorkerReport::Listing(fixtures::listing()),
        1 => WorkerReport::Glance { file: "x.csv".into(), schema: Ok(fixtures::schema()) },
        2 => WorkerReport::Glance { file: "y.csv".into(), schema: Err(Error::failed("no")) },
        3 => WorkerReport::Peeked {
            dataset: "winter".to_owned(),
            rows: Some(fixtures::exact(fixtures::rows())),
        },
        4 => WorkerReport::Archive(
            (0..number).map(|it| archived(it, 1.0, &[3.0, f64::NAN, 2.0])).collect(),
        ),
        5 => {
            let (book, digests) = fixtures::book();
            WorkerReport::Ledger(book, digests)
        }
        6 => WorkerReport::LoadFailed { name: "winter".to_owned(), error: Error::failed("gone") },
        7 => WorkerReport::Run(
            id,
            JobEvent::Progress(RunProgress::Stepped(fixtures::progress(u64::from(number) * 7, 60))),
        ),
        8 => WorkerReport::Run(id, JobEvent::Ended(Box::new(Ok(fixtures::summary())))),
        9 => WorkerReport::Run(id, JobEvent::Ended(Box::new(Err(Error::refused("no"))))),
        10 => WorkerReport::Trouble(Error::failed("trouble")),
        11 => WorkerReport::Inspected {
            definition: Box::new(fixtures::opened().context.session.datasets[0].clone()),
            columns: fixtures::schema().columns,
            odd_texts: Default::default(),
        },
        13 => rank_step(id),
        14 => WorkerReport::Ranking(id, JobEvent::Ended(Box::new(Ok(fixtures::rank_summary())))),
        15 => WorkerReport::Ranking(id, JobEvent::Ended(Box::new(Err(Error::failed("no"))))),
        16 => WorkerReport::ChoiceOffered(Box::new(Ok(fixtures::offer()))),
        17 => WorkerReport::Choice(id, JobEvent::Ended(Box::new(Ok(fixtures::chosen())))),
        12 => WorkerReport::SessionSaved { session: Box::default(), path: "s.ron".into() },
        _ => WorkerReport::Preview(Box::new(Err(Error::failed("not loaded")))),
    }
}

fn rank_step(id: u64) -> WorkerReport {
    let words = "repeat 3 of 10".to_owned();
    let step = RankStep { index: 3, total: 11, words, done: false };
    let comparison = Some(Box::new(fixtures::exact(fixtures::comparison())));
    let event = RankingProgress::Stepped { step, comparison };
    WorkerReport::Ranking(id, JobEvent::Progress(event))
}

fn any_message(random: &mut ChaCha20Rng) -> Message {
    match random.random_range(0..100) {
        0..72 => Message::Key(any_key(random)),
        72..88 => Message::Mouse(any_mouse(random)),
        88..97 => Message::Reports(vec![any_report(random)]),
        97 => Message::Paste("a\u{7}b, 漢 1e-3\n".to_owned()),
        98 if random.random() => Message::Closed,
        98 => Message::Resize,
        _ => Message::Terminate,
    }
}

/// Messages per case; with the cases below, 10⁵ in total.
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
            // Leaving is normally the end; here it is only another state.
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
    // ε is the fourth line: one step up the ladder.
    press(&mut app, "↓↓↓→");
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
    assert_eq!(app.context.session.datasets.len(), 3);
    let effects = press(&mut app, "u");
    assert_eq!(app.context.session.datasets.len(), 4);
    assert!(asked(&effects, |it| matches!(it, Request::Load(it) if it.name == "winter")));
}

#[test]
fn escape_leaves_one_layer_at_a_time() {
    let mut app = fixtures::running();
    app.screens.run.viewport.window = Some((5.0, 20.0));
    app.screens.run.viewport.cursor = Some(7.0);
    press(&mut app, "/step\n");
    assert_eq!(app.context.filter(), "step");
    app.context.say(Level::Error, "hello");
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
    press(&mut app, "↓↓↓E");
    press(&mut app, "\n");
    let asked_for: Vec<f64> =
        app.context.queue.plans.iter().map(|plan| plan.target.epsilon).collect();
    assert_eq!(asked_for, [0.5, 1.0, 2.0, 4.0]);
    assert_eq!(app.context.session.plans.len(), 2, "a sweep leaves the plans alone");

    let effects = press(&mut app, "Qy");
    assert!(asked(&effects, |it| matches!(it, Request::Start { job: JobRequest::Run { .. }, .. })));
    assert_eq!((app.context.runs.len(), app.context.queue.plans.len()), (1, 3));
    let end = |id, result| {
        Message::Reports(vec![WorkerReport::Run(id, JobEvent::Ended(Box::new(result)))])
    };
    let id = app.context.runs[0].id;
    let effects = update(&mut app, end(id, Ok(fixtures::summary())), &Hits::default());
    assert!(asked(&effects, |it| matches!(it, Request::Start { job: JobRequest::Run { .. }, .. })));
    let id = app.context.runs[1].id;
    let refused = Err(Error::refused("over the budget"));
    let effects = update(&mut app, end(id, refused), &Hits::default());
    assert!(!asked(&effects, |it| matches!(
        it,
        Request::Start { job: JobRequest::Run { .. }, .. }
    )));
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
    press(&mut app, "jjjdy");
    assert_eq!(app.screens.data.selected, 0);
    assert_eq!(app.context.session.datasets.len(), 3);
    // Also with the focus on the rows.
    let mut app = fixtures::loaded();
    press(&mut app, "jjj\tdy");
    assert_eq!(app.screens.data.selected, 0);
}

#[test]
fn a_ranking_streams_in_can_be_cancelled_and_gives_its_best_to_the_plan() {
    let mut app = fixtures::loaded();
    press(&mut app, "2");
    assert!(press(&mut app, "r").is_empty(), "it asks first");
    let effects = press(&mut app, "y");
    assert!(asked(&effects, |it| matches!(
        it,
        Request::Start { job: JobRequest::Ranking { manner: Manner::Curator, .. }, .. }
    )));
    assert!(press(&mut app, "r").is_empty(), "one at a time");
    update(&mut app, Message::Reports(vec![rank_step(1)]), &Hits::default());
    assert_eq!(ranked(&app).len(), 4);
    let work = app.context.ranking.work.as_ref().unwrap();
    assert_eq!(work.done, 3);
    let control = work.control.clone();
    press(&mut app, "c");
    assert!(!control.proceed() && app.context.ranking.work.is_none(), "over at once");
    assert_eq!(ranked(&app).len(), 4, "the repeats so far stay");
    // Events of another ranking change nothing.
    update(&mut app, Message::Reports(vec![rank_step(7)]), &Hits::default());
    let event = JobEvent::Ended(Box::new(Ok(fixtures::rank_summary())));
    update(&mut app, Message::Reports(vec![WorkerReport::Ranking(1, event)]), &Hits::default());
    assert!(app.context.ranking.work.is_none());

    press(&mut app, ":like the plan\n");
    assert_eq!(app.context.session.ranking.settings.model, crate::rank::ProbeModel::Linear);
    // A dataset must be in the session to be taken.
    press(&mut app, "s↓↓");
    assert_eq!(app.screens.rank.chosen(&app.context).as_deref(), Some("summer"));
    app.context.session.datasets.retain(|it| it.name != "summer");
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
fn nothing_waits_for_a_ranking_by_exact_numbers_but_a_private_one_is_settled() {
    let mut app = fixtures::loaded();
    press(&mut app, "2ry");
    press(&mut app, "qy");
    assert!(app.context.quit);

    let mut app = fixtures::loaded();
    press(&mut app, "2p\ny");
    let event = RankingProgress::Begun { total: 10, remarks: Vec::new() };
    let begun = WorkerReport::Ranking(1, JobEvent::Progress(event));
    update(&mut app, Message::Reports(vec![begun]), &Hits::default());
    press(&mut app, "qy");
    assert!(!app.context.quit, "its grant is in the ledger");
    let event = JobEvent::Ended(Box::new(Err(Error::failed("no"))));
    update(&mut app, Message::Reports(vec![WorkerReport::Ranking(1, event)]), &Hits::default());
    assert!(app.context.quit);
}

#[test]
fn a_private_ranking_that_is_refused_leaves_the_exact_table_and_both_stand_side_by_side() {
    let mut app = fixtures::ranked();
    press(&mut app, "p\ny");
    let event = JobEvent::Ended(Box::new(Err(Error::refused("over the budget"))));
    update(&mut app, Message::Reports(vec![WorkerReport::Ranking(1, event)]), &Hits::default());
    assert_eq!(ranked(&app).len(), 4);
    let winner = Disclosed::Winner(Released::of_public("spring".to_owned()));
    app.context.ranking.released = Some((winner, fixtures::summary().guarantee));
    let chosen = |app: &App| app.screens.rank.chosen(&app.context);
    assert_eq!(chosen(&app).as_deref(), Some("spring"));
    press(&mut app, ":other result\n");
    assert_eq!((chosen(&app).as_deref(), ranked(&app).len()), (Some("autumn"), 4));
}

#[test]
fn enter_is_never_yes() {
    let mut app = fixtures::priced();
    app.context.unsaved = true;
    for (keys, what) in [("q", "quit"), ("l", "launch")] {
        press(&mut app, keys);
        assert!(matches!(app.context.popup, Some(OpenPopup::Question(_))), "{what}");
        let effects = press(&mut app, "\n");
        assert!(effects.is_empty() && app.context.popup.is_none() && !app.context.quit, "{what}");
    }
    press(&mut app, "qy");
    assert!(app.context.quit);
}

#[test]
fn a_plan_is_launched_with_other_sites_and_then_alone() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display().to_string();
    let mut app = fixtures::priced();
    app.context.session.plans[0].take_method("target_only");
    let preview = fixtures::preview_of(app.context.session.plans[0].clone());
    app.context.plan.preview = Some(Ok(Box::new(preview)));
    press(&mut app, &format!("J{here}/nowhere↓A↓B,A\n"));
    assert!(matches!(app.context.popup, Some(OpenPopup::Sites(_))), "there is no such folder");
    press(&mut app, "↑↑");
    for _ in 0.."/nowhere".len() {
        press_code(&mut app, KeyCode::Backspace);
    }
    press(&mut app, "\n");
    let Some(OpenPopup::Question(question)) = &app.context.popup else { panic!() };
    assert!(question.text.contains("as site A, together with B in"), "{}", question.text);
    assert!(question.text.contains("Nothing is spent before"), "{}", question.text);
    let sites_of = |effects: &[Effect]| {
        effects.iter().find_map(|effect| {
            let Effect::Ask(request) = effect else { return None };
            match request.as_ref() {
                Request::Start { job: JobRequest::Run { sites, .. }, .. } => Some(sites.clone()),
                _ => None,
            }
        })
    };
    let place = sites_of(&press(&mut app, "y")).unwrap().unwrap();
    assert_eq!((place.folder.as_path(), place.name.as_str()), (folder.path(), "A"));
    assert_eq!(
        (place.sites.as_slice(), place.may_collude),
        (["A", "B"].map(str::to_owned).as_slice(), None)
    );
    let notes = vec!["waiting for site 'B'".to_owned()];
    app.context.runs[0].hear(JobEvent::Progress(RunProgress::Sites(notes)));
    assert_eq!(app.context.runs[0].phase, "meeting the other sites");
    // Nobody joins by accident, nor with a method whose releases are no means.
    assert_eq!(sites_of(&press(&mut app, "3ly")), Some(None));
    "frank_wolfe".clone_into(&mut app.context.session.plans[0].method);
    press(&mut app, "3J");
    assert!(app.context.popup.is_none());
    let notice = app.context.notice.as_ref().unwrap();
    assert!(
        notice.text.contains("several sites cannot run 'frank_wolfe' together"),
        "{}",
        notice.text
    );
}

#[test]
fn a_launch_into_the_unknown_offers_a_rehearsal_and_comes_back_with_what_it_found() {
    let mut app = fixtures::priced();
    let question = |app: &App| match &app.context.popup {
        Some(OpenPopup::Question(question)) => question.text.clone(),
        _ => String::new(),
    };
    press(&mut app, "l");
    assert!(question(&app).contains("not known: r rehearses this plan"), "{}", question(&app));
    let effects = press(&mut app, "r");
    let starts = |it: &Request| matches!(it, Request::Start { job: JobRequest::Trial { .. }, .. });
    assert!(asked(&effects, starts) && app.context.popup.is_none());
    press(&mut app, "l");
    assert!(app.context.popup.is_none() && app.context.is_rehearsing(), "it is under way");
    let own = app.context.session.plans[0].player();
    let found = move |ratio: f64| {
        let mut found = fixtures::rehearsal(126);
        let line = found.advice.lines.iter_mut().find(|it| it.player == own).unwrap();
        line.standings.iter_mut().flatten().for_each(|it| it.ratio = ratio);
        line.logs = vec![vec![0.2, 0.1, -0.1]; 5];
        found
    };
    let ended = |app: &mut App, ratio: f64| {
        let event = JobEvent::Ended(Box::new(Ok(found(ratio))));
        let report = WorkerReport::Rehearsal(app.context.trial.started, event);
        update(app, Message::Reports(vec![report]), &Hits::default());
    };
    ended(&mut app, 0.88);
    let told = question(&app);
    assert!(told.contains("In 3 rehearsals it had 12 % less mean absolute error"), "{told}");
    assert!(!told.contains("r rehearses") && app.context.rehearsal.progress.is_none(), "{told}");
    // Somebody who went on with another plan is not asked.
    press(&mut app, "n\x1b");
    let set_epsilon = |app: &mut App, epsilon: f64| {
        let Some(Ok(preview)) = &mut app.context.plan.preview else { panic!() };
        for plan in [&mut app.context.session.plans[0], &mut preview.plan] {
            plan.target.epsilon = epsilon;
        }
    };
    set_epsilon(&mut app, 9.0);
    press(&mut app, "l");
    assert!(question(&app).contains("r rehearses"), "{}", question(&app));
    press(&mut app, "r");
    set_epsilon(&mut app, 1.0);
    ended(&mut app, 1.15);
    assert!(app.context.popup.is_none());
    press(&mut app, "l");
    let told = question(&app);
    let lost =
        "Worse than public data alone, which cost nothing, in 2 of 3 rehearsals at ε 1: 15 % more";
    assert!(told.starts_with(lost) && told.contains("Do not launch it."), "{told}");
}

#[test]
fn a_file_that_somebody_else_has_changed_is_overwritten_after_a_yes_alone() {
    let mut app = fixtures::loaded();
    app.context.session_path = Some("s.ron".into());
    app.context.on_disk = Some(app.context.session.clone());
    let save = KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL);
    let effects = update(&mut app, Message::Key(save), &Hits::default());
    let before = app.context.session.clone();
    let knows = |wanted: &Session| {
        let wanted = wanted.clone();
        move |request: &Request| match request {
            Request::SaveSession { known: Some(known), .. } => **known == wanted,
            _ => false,
        }
    };
    assert!(asked(&effects, knows(&before)));
    let mut theirs = before.clone();
    theirs.plans[0].target.epsilon = 9.0;
    let clash = || WorkerReport::SessionClash {
        session: Box::new(theirs.clone()),
        path: "s.ron".into(),
        differences: vec!["ε 1 against 9".to_owned()],
    };
    update(&mut app, Message::Reports(vec![clash()]), &Hits::default());
    assert!(press(&mut app, "\n").is_empty(), "Enter leaves their file alone");
    update(&mut app, Message::Reports(vec![clash()]), &Hits::default());
    assert!(asked(&press(&mut app, "y"), knows(&theirs)));
}

#[test]
fn an_error_goes_when_its_cause_is_mended() {
    let mut app = fixtures::loaded();
    let failed = WorkerReport::LoadFailed {
        name: "winter".to_owned(),
        error: Error::failed("the file is gone"),
    };
    update(&mut app, Message::Reports(vec![failed]), &Hits::default());
    assert!(app.context.notice.is_some());
    let loaded = |name: &str| match &fixtures::loaded().context.datasets[name] {
        DatasetStatus::Ready { loaded, account } => {
            WorkerReport::Loaded { loaded: std::sync::Arc::clone(loaded), account: account.clone() }
        }
        _ => panic!("it is loaded"),
    };
    update(&mut app, Message::Reports(vec![loaded("spring")]), &Hits::default());
    assert!(app.context.notice.is_some(), "that was another dataset");
    update(&mut app, Message::Reports(vec![loaded("winter")]), &Hits::default());
    assert!(app.context.notice.is_none());
}

#[test]
fn one_key_confirms_what_was_guessed_for_all_with_these_columns_and_undo_brings_it_back() {
    let mut app = fixtures::loaded();
    let guess = |about: Guessed| (about, "so".to_owned());
    for dataset in &mut app.context.session.datasets {
        dataset.guessed = [Guessed::Label, Guessed::Rows, Guessed::Files].map(guess).into();
    }
    app.context.changed();
    let guesses = |app: &App| -> Vec<usize> {
        app.context.session.datasets.iter().map(|dataset| dataset.guessed.len()).collect()
    };
    let before = guesses(&app);
    press(&mut app, "=");
    // How another dataset came from several files is its own matter.
    assert_eq!((guesses(&app)[0], guesses(&app)[1]), (0, 1));
    let written = app.context.session.to_ron().unwrap();
    assert_eq!(written.matches("guessed").count(), before.len() - 1);
    press(&mut app, "u");
    assert_eq!(guesses(&app), before);
}

#[test]
fn one_key_of_the_question_saves_and_quits_also_in_the_demo() {
    for demo in [None, Some(DemoWorkspace::Removed)] {
        let mut app = fixtures::loaded();
        app.context.demo = demo;
        assert!(!app.context.unsaved);
        app.context.changed();
        press(&mut app, "q");
        assert!(!app.context.quit && matches!(app.context.popup, Some(OpenPopup::Question(_))));
        app.context.session_path = Some("s.ron".into());
        let effects = press(&mut app, "s");
        assert!(asked(&effects, |it| matches!(it, Request::SaveSession { .. })));
        assert!(!app.context.quit);
        let session = Box::new(app.context.for_disk());
        let report = WorkerReport::SessionSaved { session, path: "s.ron".into() };
        update(&mut app, Message::Reports(vec![report]), &Hits::default());
        assert!(app.context.quit);
    }
}

#[test]
fn files_are_looked_at_behind_the_screen_and_one_that_cannot_be_read_ends_the_program() {
    let begun = || {
        let mut app = fixtures::opened();
        app.context.session = Session::default();
        app.context.files = vec!["ours.csv".into(), "theirs.csv".into()];
        let requests = app.first_requests();
        assert!(asked(&requests, |it| matches!(it, Request::OpenFiles(files) if files.len() == 2)));
        app
    };
    let hear = |app: &mut App, found| {
        let reports = vec![WorkerReport::FilesFound(found)];
        update(app, Message::Reports(reports), &Hits::default())
    };
    let datasets = fixtures::session().datasets;
    let mut app = begun();
    let effects = hear(&mut app, Ok(datasets.clone()));
    assert!(asked(&effects, |it| matches!(it, Request::Load(_))));
    assert_eq!(app.context.session.datasets, datasets);
    assert!(app.context.unsaved && app.context.files.is_empty());
    // An earlier session was opened meanwhile.
    hear(&mut app, Ok(Vec::new()));
    assert_eq!(app.context.session.datasets, datasets);
    let mut app = begun();
    hear(&mut app, Err(Error::usage("no")));
    assert!(app.context.quit && app.context.failed.is_some());
}

#[test]
fn a_private_ranking_that_the_budget_cannot_hold_is_refused_before_it_is_confirmed() {
    let with_room = |room: Option<f64>| {
        let mut app = fixtures::spending();
        app.context.tab = Tab::Rank;
        let id = app.context.book.as_ref().unwrap().accounts[0].id.clone();
        let status = app.context.datasets.get_mut("winter");
        let Some(DatasetStatus::Ready { account, .. }) = status else { panic!() };
        *account = Some(id);
        app.context.digests[0].largest = room;
        press(&mut app, "p");
        app
    };
    let used_up = with_room(None);
    let said = used_up.context.notice.as_ref().unwrap().text.clone();
    assert!(said.contains("nothing of the budget of 'winter' is left"), "{said}");
    assert!(used_up.context.popup.is_none());
    let typed = |room, text: &str| {
        let mut app = with_room(Some(room));
        assert!(matches!(app.context.popup, Some(OpenPopup::Prompt(_))));
        press(&mut app, text);
        app
    };
    let small = typed(0.25, "0.5 1e-5\n");
    let Some(OpenPopup::Prompt(prompt)) = &small.context.popup else { panic!("the prompt stays") };
    let problem = prompt.problem.as_deref().unwrap_or_default();
    assert!(problem.contains("room for ε 0.25, not for ε 0.5"), "{problem}");
    let enough = typed(0.75, "0.5 1e-5\n");
    assert!(matches!(enough.context.popup, Some(OpenPopup::Question(_))));
}

#[test]
fn what_other_ledgers_charged_is_said_before_anything_is_spent() {
    let charged = "what 2 other ledgers of the same user charged on these records: ε 3 at δ 2e-6";
    let mut app = fixtures::priced();
    let Some(Ok(preview)) = &mut app.context.plan.preview else { panic!() };
    preview.elsewhere = Some(charged.to_owned());
    press(&mut app, "l");
    let Some(OpenPopup::Question(question)) = &app.context.popup else { panic!() };
    assert!(
        question.text.contains(&format!("That budget leaves out {charged}.")),
        "{}",
        question.text
    );
}

#[test]
fn several_parts_of_a_divided_table_are_private_together() {
    let row = |_, at: usize| format!("{},{at}", at % 4 + 1);
    let mut app = fixtures::tables("batch,stay", &[("all", Role::Private)], &row);
    press(&mut app, "D");
    assert!(matches!(app.context.popup, Some(OpenPopup::Question(_))), "exact values are shown");
    let looks = |it: &Request| matches!(it, Request::Dividers { .. });
    assert!(asked(&press(&mut app, "y"), looks));
    let values = [1.0, 2.0, 3.0, 4.0].map(PartValue::Number).to_vec();
    let divider = Divider { column: "batch".to_owned(), by: By::Values(values) };
    let columns = Some(Dividers::Exact(fixtures::exact(vec![divider])));
    let report = WorkerReport::Dividers { dataset: "all".to_owned(), columns };
    update(&mut app, Message::Reports(vec![report]), &Hits::default());
    // By batch: the third, then the last of the others, and no more.
    press(&mut app, "\n↓↓\n↓↓↓\n\n");
    let all = &app.context.session.datasets;
    let found = all.iter().map(|it| (it.name.as_str(), it.role, it.filter.as_deref().unwrap()));
    let public = |name, filter| (name, Role::Public, filter);
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            public("batch 1", "batch == 1"),
            public("batch 2", "batch == 2"),
            ("batch 3 + batch 4", Role::Private, "(batch == 3 or batch == 4)"),
        ]
    );
    app.context.session.check().unwrap();
}

#[test]
fn a_plan_goes_on_without_a_removed_dataset_or_goes_with_it() {
    let mut app = fixtures::loaded();
    app.context.session.plans[0].test = None;
    app.context.remove_dataset("spring");
    app.context.session.check().unwrap();
    let plan = &app.context.session.plans[0];
    assert!(!plan.public.contains(&"spring".to_owned()) && plan.public.len() == 2);
    for name in ["summer", "autumn"] {
        app.context.remove_dataset(name);
        app.context.session.check().unwrap();
    }
    assert!(app.context.session.plans.is_empty());
    press(&mut app, "u");
    assert!(!app.context.session.plans.is_empty());
}

#[test]
fn quitting_the_demo_asks_about_its_runs() {
    let asks = |demo: Option<DemoWorkspace>| {
        let mut app = fixtures::comparing();
        app.context.demo = demo;
        press(&mut app, "q");
        let Some(OpenPopup::Question(question)) = &app.context.popup else {
            assert!(app.context.quit);
            return None;
        };
        Some((question.text.clone(), question.other.is_some()))
    };
    let text = "The session has 3 runs of the demo. Quit without them?";
    assert_eq!(asks(Some(DemoWorkspace::Removed)), Some((text.to_owned(), true)));
    assert_eq!((asks(None), asks(Some(DemoWorkspace::Kept))), (None, None));
}

#[test]
fn rows_of_a_public_dataset_that_may_be_private_stay_hidden() {
    let mut app = fixtures::loaded();
    app.screens.data.selected = 1;
    let rows = |app: &App| {
        let shown = app.screens.data.row_count(&app.context);
        let definition = &app.context.session.datasets[1];
        assert_eq!(shown > 0, DataScreen::profile(definition, &app.context).is_some());
        shown
    };
    assert!(rows(&app) > 0);
    let compared = WorkerReport::Compared {
        dataset: "spring".to_owned(),
        withheld: Some(overlap::rows_of("winter", "spring")),
    };
    update(&mut app, Message::Reports(vec![compared]), &Hits::default());
    assert_eq!(rows(&app), 0);
    press(&mut app, "r");
    assert_eq!(rows(&app), 0, "not until they are compared again");
}

#[test]
fn nothing_that_was_read_from_rows_of_an_account_is_shown_or_saved() {
    let mut app = fixtures::loaded();
    app.screens.data.selected = 1;
    let guess = |about: Guessed| (about, "so".to_owned());
    app.context.session.datasets[1].guessed =
        [Guessed::Label, Guessed::Missing, Guessed::Numbers, Guessed::Rows].map(guess).into();
    assert!(app.context.for_disk().datasets[1].fingerprint.is_some());
    let definition = app.context.session.datasets[1].clone();
    let workspace = Workspace::fresh(std::path::Path::new("/nowhere"));
    let mut loaded = dataset::load(&definition, &workspace).unwrap();
    assert!(loaded.profile().is_some());
    let why = Error::refused("'spring' holds rows of the account acc-1").cure("declare it private");
    loaded.withheld = Some(why);
    // Not even code that has never heard of it gets the rows.
    assert!(loaded.public().is_err() && loaded.profile().is_none());
    assert!(loaded.gap().is_none() && loaded.leaking().is_empty());
    let report = WorkerReport::Loaded { loaded: std::sync::Arc::new(loaded), account: None };
    update(&mut app, Message::Reports(vec![report]), &Hits::default());
    // Also before it was compared, and after a comparison that found nothing.
    for compared in [None, Some(None)] {
        app.context.compared.remove("spring");
        app.context.compared.extend(compared.map(|found| ("spring".to_owned(), found)));
        assert_eq!(app.screens.data.row_count(&app.context), 0);
        let definition = &app.context.session.datasets[1];
        assert!(DataScreen::profile(definition, &app.context).is_none());
        assert_eq!(definition.guessed.keys().collect::<Vec<_>>(), [&Guessed::Label]);
        let hidden = DataScreen::hidden(definition, &app.context).unwrap();
        assert!(hidden.contains("acc-1") && hidden.contains("declare it private"), "{hidden}");
        assert_eq!(app.context.for_disk().datasets[1].fingerprint, None);
        let next = app.screens.data.next_step(&app.context).unwrap();
        assert!(next.contains("select 'spring': it says why its rows are hidden"), "{next}");
    }
}

#[test]
fn the_seal_is_saved_with_the_session_and_another_session_does_not_open_it() {
    let mut app = fixtures::loaded();
    assert!(!app.context.for_disk().to_ron().unwrap().contains("sealed"));
    press(&mut app, "v");
    assert!(app.context.watch.is_sealed() && !app.context.unsaved, "it has no file");
    app.context.session_path = Some("s.ron".into());
    app.context.on_disk = Some(app.context.for_disk());
    press(&mut app, "v");
    assert!(app.context.unsaved);
    // Twice is as it was, and so is what is undone.
    press(&mut app, "v");
    assert!(!app.context.unsaved);
    press(&mut app, "3↓↓↓→");
    assert!(app.context.unsaved);
    press(&mut app, "u");
    assert!(!app.context.unsaved);
    let text = app.context.for_disk().to_ron().unwrap();
    let saved = Session::parse(&text, "s.ron").unwrap();
    assert!(saved.sealed);
    let again = App::new(saved, Some("s.ron".into()), app.theme.clone(), app.glyphs);
    assert!(again.context.watch.is_sealed() && !again.context.unsaved);
    let session = Box::new(fixtures::loaded().context.session);
    assert!(!session.sealed);
    let report = WorkerReport::SessionOpened { session, path: "other.ron".into() };
    update(&mut app, Message::Reports(vec![report]), &Hits::default());
    assert!(app.context.watch.is_sealed() && app.context.for_disk().sealed);
}

#[test]
fn the_label_is_chosen_from_a_list_with_a_suggestion_by_public_rows() {
    let mut app = fixtures::loaded();
    app.context.session.datasets[0].guessed =
        [(Guessed::Label, "label 'bikers'".to_owned())].into();
    press(&mut app, "Y");
    let Some(OpenPopup::Pick(list)) = &app.context.popup else { panic!("no list") };
    assert_eq!(list.title, "Label of 'winter' by the different values of 'spring'");
    let [first, second] = [0, 1].map(|at| &list.items[at]);
    assert_eq!(first.title, "bikers");
    for part in ["490 numbers · now, guessed · suggested: the last column that", "; regression"] {
        assert!(first.detail.contains(part), "{}", first.detail);
    }
    assert!(second.title == "registered" && second.detail.contains("possible: regression"));
    assert_eq!(list.items.len(), 16);
    // The label that is there stays a guess.
    assert!(press(&mut app, "\n").is_empty());
    assert!(app.context.session.datasets[0].guessed.contains_key(&Guessed::Label));
    // Datasets with the same settings get the new one, too, and a text names classes.
    let effects = press(&mut app, "Yweathersit\n");
    assert!(asked(&effects, |it| matches!(it, Request::Load(_))));
    for dataset in &app.context.session.datasets {
        let label = (dataset.label.as_deref(), dataset.task, dataset.guessed.is_empty());
        assert_eq!(label, (Some("weathersit"), Task::Classification, true), "{}", dataset.name);
    }
    // Nothing is known of values while no public dataset is shown.
    let mut app = fixtures::loaded();
    app.context.compared.clear();
    press(&mut app, "Y");
    let Some(OpenPopup::Pick(list)) = &app.context.popup else { panic!("no list") };
    let kinds = ["number", "text", "number · now", "the dataset is unlabelled"];
    assert!(list.items.iter().all(|it| kinds.contains(&&*it.detail)));
    press(&mut app, "no label\n");
    assert_eq!(app.context.session.datasets[0].label, None);
}

#[test]
fn a_label_that_was_left_out_is_a_column_again() {
    let mut definition = fixtures::loaded().context.session.datasets.remove(0);
    definition.columns = Columns::Except(vec!["day".to_owned(), "temp".to_owned()]);
    let label = |definition: &DatasetDefinition, label| {
        let mut form = DatasetForm::new(definition.clone(), Vec::new(), false);
        form.set_label(Some((label, Task::Regression)));
        form.definition().unwrap()
    };
    let with = label(&definition, "temp");
    assert_eq!(with.columns, Columns::Except(vec!["day".to_owned()]));
    assert_eq!(label(&with, "day").columns, Columns::All);
    assert_eq!(label(&with, "hum").columns, with.columns);
}

#[test]
fn a_rehearsal_streams_in_can_be_stopped_and_gives_its_method_to_the_plan() {
    let mut app = fixtures::priced();
    assert!(press(&mut app, "t").is_empty(), "there is no advice yet");
    let effects = press(&mut app, "r");
    assert!(asked(&effects, |it| matches!(
        it,
        Request::Start { id: 1, job: JobRequest::Rehearsal { .. }, .. }
    )));
    let event = |id: u64, done: usize| {
        let event = JobEvent::Progress(Box::new(fixtures::rehearsal(done)));
        Message::Reports(vec![WorkerReport::Rehearsal(id, event)])
    };
    update(&mut app, event(1, 80), &Hits::default());
    update(&mut app, event(7, 126), &Hits::default());
    assert_eq!(app.context.rehearsal.progress.as_ref().unwrap().done, 80);
    // The costs appear and disappear again; nothing is requested twice.
    press(&mut app, "r");
    assert!(!app.context.rehearsal.shown);
    assert!(press(&mut app, "r").is_empty() && app.context.rehearsal.shown);
    // After stopping, the costs are shown again, and the results are still there.
    press(&mut app, "c");
    let stopped = JobEvent::Ended(Box::new(Ok(fixtures::rehearsal(80))));
    let stopped = WorkerReport::Rehearsal(1, stopped);
    update(&mut app, Message::Reports(vec![stopped]), &Hits::default());
    assert!(!app.context.rehearsal.shown);
    assert!(press(&mut app, "r").is_empty() && app.context.rehearsal.shown);
    let effects = press(&mut app, "c");
    assert!(asked(&effects, |it| matches!(
        it,
        Request::Start { id: 2, job: JobRequest::Rehearsal { .. }, .. }
    )));
    update(&mut app, event(2, 80), &Hits::default());
    // Another method or ε is not another rehearsal, but other public data are.
    let mut other = app.context.session.plans[0].clone();
    other.target.epsilon = 3.0;
    assert!(app.context.rehearsal.fits(&other));
    other.public.clear();
    assert!(!app.context.rehearsal.fits(&other));

    press(&mut app, "c");
    assert!(app.context.rehearsal.work.is_none());
    let ended = JobEvent::Ended(Box::new(Ok(fixtures::rehearsal(126))));
    update(&mut app, Message::Reports(vec![WorkerReport::Rehearsal(2, ended)]), &Hits::default());
    press(&mut app, "t");
    assert_eq!(app.context.session.plans[0].method, "public_shape");
    press(&mut app, "u");
    assert_eq!(app.context.session.plans[0].method, "profiled_cnvx_adap");
    // Public data alone release no score for free. The advised method has it again.
    let scored = |app: &App| app.context.session.plans[0].evaluation.is_some();
    assert!(scored(&app));
    let rehearsed = |app: &mut App, method: &str| {
        app.context.session.plans[0].take_method(method);
        app.context.rehearsal.plan = Some(app.context.session.plans[0].clone());
    };
    rehearsed(&mut app, "public_only");
    assert!(!scored(&app));
    press(&mut app, "t");
    let said = app.context.notice.as_ref().map(|it| it.text.clone());
    assert_eq!(app.context.session.plans[0].method, "public_shape", "{said:?}");
    assert!(scored(&app), "{said:?}");
    // What nobody wanted stays away, until its default is asked for.
    app.context.session.plans[0].evaluation = None;
    rehearsed(&mut app, "profiled_cnvx_adap");
    press(&mut app, "t");
    assert!(!scored(&app));
    fixtures::select_field(&mut app, |field| field.name() == "released score");
    press(&mut app, "x");
    assert!(scored(&app));
}

#[test]
fn private_records_choose_among_marked_plans_after_a_yes_alone() {
    let mut app = fixtures::priced();
    let names = |effects: &[Effect]| {
        let offered = effects.iter().find_map(|effect| match effect {
            Effect::Ask(request) => match request.as_ref() {
                Request::OfferChoice { plans, .. } => Some(plans.clone()),
                _ => None,
            },
            _ => None,
        });
        let names = offered.unwrap_or_default().into_iter().map(|plan| plan.name);
        names.collect::<Vec<_>>()
    };
    // Without a mark, every plan for the same private data.
    assert_eq!(names(&press(&mut app, "p")).len(), 2);
    press(&mut app, "]m");
    assert_eq!(names(&press(&mut app, "[p")), ["winter without its labels"]);
    press(&mut app, "]m");
    // The shown plan comes first: noise alone does not displace it.
    assert_eq!(names(&press(&mut app, "p"))[0], "winter without its labels");
    press(&mut app, "[");

    let offered =
        || Message::Reports(vec![WorkerReport::ChoiceOffered(Box::new(Ok(fixtures::offer())))]);
    update(&mut app, offered(), &Hits::default());
    let Some(OpenPopup::Question(question)) = &app.context.popup else { panic!("no question") };
    for part in [
        "'winter from the other seasons', 'winter without its labels'",
        "public data alone, which cost nothing",
        "It reserves ε 1 at δ 1e-6 of 'winter'",
        "each training gets ε 0.682",
        "Noise hides differences of less than 3.1 % of the largest error that counts",
    ] {
        assert!(question.text.contains(part), "{part}: {}", question.text);
    }
    assert!(press(&mut app, "\n").is_empty() && app.context.runs.is_empty());

    update(&mut app, offered(), &Hits::default());
    let effects = press(&mut app, "y");
    assert!(asked(
        &effects,
        |it| matches!(it, Request::Start { id: 1, job: JobRequest::Choice { plans, .. }, .. } if plans.len() == 2)
    ));
    assert_eq!((app.context.tab, app.context.runs[0].state()), (Tab::Run, "starting"));
    // It is stopped like a run.
    press(&mut app, "cy");
    assert!(app.context.runs[0].control.is_stopped());
    let event = JobEvent::Ended(Box::new(Ok(fixtures::chosen())));
    update(&mut app, Message::Reports(vec![WorkerReport::Choice(1, event)]), &Hits::default());
    assert_eq!(app.context.runs[0].state(), "finished");
    let said = &app.context.notice.as_ref().unwrap().text;
    assert!(said.contains("chosen: winter from the other seasons; ε 1"), "{said}");
}

#[test]
fn what_a_choice_trains_in_secret_shows_nowhere_in_a_sealed_view() {
    let mut app = fixtures::priced();
    let offer = Offer { trains_in_secret: true, ..fixtures::offer() };
    let name = offer.candidates[1].clone();
    update(
        &mut app,
        Message::Reports(vec![WorkerReport::ChoiceOffered(Box::new(Ok(offer)))]),
        &Hits::default(),
    );
    press(&mut app, "y");
    let event = JobEvent::Progress(ChoiceProgress::Stepped { name, step: 17, of: 47 });
    update(&mut app, Message::Reports(vec![WorkerReport::Choice(1, event)]), &Hits::default());
    let shown = |app: &App| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| drop(view(app, frame))).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        cells.map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    assert!(shown(&app).contains("◆ step 17 of 47"), "{}", shown(&app));
    press(&mut app, "v");
    assert!(!shown(&app).contains("17"), "{}", shown(&app));
    assert!(
        app.context.runs[0]
            .log
            .iter()
            .all(|line| !line.text(&app.context.watch).contains("training"))
    );
}

#[test]
fn a_choice_without_a_budget_asks_for_one_and_is_offered_again() {
    let mut app = fixtures::priced();
    let refusal = Error::refused("no budget").asking(Action::SetBudget { account: None });
    let offer = Offer { refusal: Some(refusal), ..fixtures::offer() };
    let report = WorkerReport::ChoiceOffered(Box::new(Ok(offer)));
    update(&mut app, Message::Reports(vec![report]), &Hits::default());
    assert!(matches!(app.context.popup, Some(OpenPopup::Prompt(_))));
    let effects = press(&mut app, "\n");
    assert!(asked(&effects, |it| matches!(it, Request::SetBudget { .. })));
    assert!(asked(&effects, |it| matches!(it, Request::OfferChoice { .. })));
}

#[test]
fn an_answer_goes_with_the_next_key_and_an_error_stays_until_esc() {
    let mut app = fixtures::loaded();
    press(&mut app, "u");
    assert_eq!(app.context.notice.as_ref().unwrap().text, "nothing to undo");
    press(&mut app, "j");
    assert!(app.context.notice.is_none());
    app.context.complain(&Error::failed("the disk is full"));
    press(&mut app, "jk");
    assert!(app.context.notice.is_some());
    press(&mut app, "\x1b");
    assert!(app.context.notice.is_none());
    // A user who goes to another screen has also read it.
    app.context.complain(&Error::failed("the disk is full"));
    press(&mut app, "5");
    assert!(app.context.notice.is_none());
}

#[test]
fn a_key_without_effect_says_so() {
    let mut app = fixtures::loaded();
    let said =
        |app: &App| app.context.notice.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    press(&mut app, "4+");
    assert!(said(&app).starts_with("+ (zoom): no run is shown"), "{}", said(&app));
    press(&mut app, "2s");
    assert_eq!(said(&app), "s (order): there is no other order");
    press(&mut app, "c");
    assert_eq!(said(&app), "c (cancel): no ranking is under way");
    // The pace is also that of the next run.
    press(&mut app, "4<<");
    assert_eq!(app.context.pace, Some(256.0));
    assert!(said(&app).starts_with("pace of the next run"), "{}", said(&app));
}

#[test]
fn every_key_of_every_screen_has_an_effect_or_says_why_not() {
    let shown = |app: &mut App| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        let mut hits = Hits::default();
        terminal.draw(|frame| hits = view(app, frame)).unwrap();
        app.context.heads = hits.heads.into_iter().map(|head| head.title).collect();
        terminal.backend().buffer().clone()
    };
    // Their effect is not seen at the end of a list or of a chart.
    let moves = ["left", "right", "down", "up", "pan", "cursor", "zoom", "previous", "next"];
    let moves = |name: &str| moves.iter().any(|it| name.contains(it)) || name == "reset view";
    let names: Vec<_> = fixtures::scenes().into_iter().map(|(name, _)| name).collect();
    let most = Tab::ALL.iter().map(|tab| crate::app::Screens::keys(*tab).len()).max().unwrap();
    for place in 0..most {
        for (mut app, scene) in fixtures::scenes().into_iter().map(|it| it.1).zip(&names) {
            let tab = app.context.tab;
            let Some(key) = crate::app::Screens::keys(tab).get(place).copied() else { continue };
            if app.context.popup.is_some() || app.filtering || moves(key.name) {
                continue;
            }
            app.context.notice = None;
            let session = app.context.session.clone();
            let (screen, before) = (format!("{:?}", app.screens), shown(&mut app));
            let hindered = app.screen().hindrance(key.name, &app.context).is_some();
            app.call(tab, place);
            app.settle();
            let at = format!("{scene}: {} ({})", key.shown(), key.name);
            if hindered {
                assert_eq!(format!("{:?}", app.screens), screen, "{at} changes the screen");
                assert!(app.context.session == session, "{at} changes the session");
            }
            let context = &app.context;
            let answers = context.notice.is_some() || context.popup.is_some();
            let acts = !context.effects.is_empty() || context.session != session;
            assert!(answers || acts || shown(&mut app) != before, "{at} is silent");
        }
    }
}

#[test]
fn a_session_is_left_only_after_a_question_where_something_would_be_lost() {
    let open = KeyEvent::new(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let leave = |app: &mut App, key: KeyEvent| {
        let effects = update(app, Message::Key(key), &Hits::default());
        if let Some(OpenPopup::Question(question)) = app.context.popup.take() {
            return Some((question.text, question.other));
        }
        let opens = asked(&effects, |it| matches!(it, Request::Browse(..)));
        assert!(opens || app.context.quit);
        None
    };
    let quit = KeyEvent::from(KeyCode::Char('q'));
    for key in [open, quit] {
        assert!(leave(&mut fixtures::priced(), key).is_none(), "nothing is lost");
        let mut app = fixtures::priced();
        app.context.unsaved = true;
        let (text, saves) = leave(&mut app, key).expect("it asks");
        assert!(text.contains("changes that are not saved"), "{text}");
        assert_eq!(saves.map(|(key, ..)| key), Some('s'));
        let mut app = fixtures::priced();
        let plan = app.context.session.plans[0].clone();
        app.context.queue.plans = vec![plan.clone(), plan];
        let (text, saves) = leave(&mut app, key).expect("it asks");
        assert!(text.contains("2 plans in the queue") && saves.is_none(), "{text}");
    }
    let mut app = fixtures::loaded();
    press(&mut app, "2ry");
    let (text, _) = leave(&mut app, open).expect("it asks");
    assert!(text.contains("a ranking under way"), "{text}");
    // After a yes the sessions are offered.
    let mut app = fixtures::priced();
    app.context.unsaved = true;
    assert!(update(&mut app, Message::Key(open), &Hits::default()).is_empty());
    assert!(asked(&press(&mut app, "y"), |it| matches!(it, Request::Browse(..))));
    let mut app = fixtures::priced();
    app.context.rehearsal.work = Some(Control::default());
    let (text, _) = leave(&mut app, quit).expect("it asks");
    assert!(text.contains("A rehearsal is under way") && text.contains("are kept"), "{text}");
    // What is not saved is also named where a run is under way.
    let mut app = fixtures::running();
    app.context.unsaved = true;
    let (text, _) = leave(&mut app, quit).expect("it asks");
    assert!(text.contains("under way") && text.contains("not saved"), "{text}");
}

#[test]
fn a_column_that_gives_the_label_away_is_said_on_data_and_before_the_launch() {
    let mut app = fixtures::spending();
    let leak = "in the public data the column 'twin' alone tells the label";
    let plan = app.context.session.plans[app.context.plan.index].clone();
    let leaking = vec![leak.to_owned()];
    let preview = Preview { leaking, ..fixtures::preview_of(plan) };
    app.context.plan.preview = Some(Ok(Box::new(preview)));
    app.go_to(Tab::Data);
    let shown = |app: &App| {
        let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
        terminal.draw(|frame| drop(view(app, frame))).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        cells.map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    assert!(shown(&app).contains("the column 'twin'"), "{}", shown(&app));
    app.go_to(Tab::Plan);
    app.context.ask_to_launch();
    assert!(shown(&app).contains("Warning: in"), "{}", shown(&app));
}

#[test]
fn another_promise_of_the_advised_method_is_told_once_its_own_cost_is_known() {
    let mut app = fixtures::priced();
    let plan = app.context.session.plans[app.context.plan.index].clone();
    let preview = fixtures::preview_of(plan.clone());
    let now = preview.calibrated.guarantee().adjacency;
    assert_eq!(now, Adjacency::ReplaceOne);
    let other = Adjacency::ZeroOut;
    let told = |app: &mut App, plan: &PlanDefinition| {
        let preview = Preview { plan: plan.clone(), ..preview.clone() };
        app.context.notice = None;
        app.context.plan.preview = Some(Ok(Box::new(preview)));
        app.context.check_promise();
        app.context.notice.as_ref().map(|it| it.text.clone())
    };
    app.context.plan.promise = Some(now);
    assert_eq!(told(&mut app, &plan), None, "the same promise");
    app.context.plan.promise = Some(other);
    let earlier = PlanDefinition { seed: plan.seed + 1, ..plan.clone() };
    assert_eq!(told(&mut app, &earlier), None, "a late preview of another plan");
    let text = told(&mut app, &plan).expect("a warning");
    assert!(text.contains("is replaced") && text.contains("is blanked"), "{text}");
    assert_eq!(told(&mut app, &plan), None, "told once");
}

#[test]
fn a_report_is_on_the_runs_that_the_answer_is_about_or_on_the_marked_ones() {
    let mut app = fixtures::spending();
    let mut runs: Vec<_> = (1..=3).map(|number| archived(number, 1.0, &[1.0])).collect();
    "autumn".clone_into(&mut runs[1].plan.as_mut().unwrap().private);
    app.context.archive = Some(runs.clone());
    app.go_to(Tab::Compare);
    let reported = |effects: Vec<Effect>| {
        let of = |effect: &Effect| match effect {
            Effect::Ask(request) => match &**request {
                Request::Report { runs, .. } => Some(runs.clone()),
                _ => None,
            },
            _ => None,
        };
        effects.iter().find_map(of).expect("a report")
    };
    let [first, second, third] = [0, 1, 2].map(|at| runs[at].id.clone());
    app.screens.compare.selected = 0;
    assert_eq!(reported(press(&mut app, "w\n")), [first.clone(), third]);
    app.screens.compare.selected = 1;
    assert_eq!(reported(press(&mut app, "w\n")), [second]);
    app.screens.compare.toggle_pin(&first);
    assert_eq!(reported(press(&mut app, "w\n")), [first]);
}

#[test]
fn a_column_that_gives_the_label_away_is_said_before_there_is_a_plan_but_not_of_rows_that_may_be_private()
 {
    let mut app = fixtures::with_a_twin();
    for dataset in ["ours", "theirs"] {
        let told = app.context.leaking(dataset);
        assert!(told.len() == 1 && told[0].contains("the column 'twin'"), "{told:?}");
    }
    app.context.compared.insert("theirs".to_owned(), Some(overlap::rows_of("ours", "theirs")));
    assert!(app.context.leaking("theirs").is_empty());
    app.context.compared.remove("theirs");
    assert!(app.context.leaking("ours").is_empty());
}

#[test]
fn public_data_alone_are_said_to_spend_nothing_on_every_screen() {
    let mut app = fixtures::spending();
    let plan = &mut app.context.session.plans[0];
    "public_only".clone_into(&mut plan.method);
    (plan.evaluation, plan.test) = (None, None);
    plan.settings.clear();
    let plan = plan.clone();
    let nothing = Preview {
        account: app.context.book.as_ref().unwrap().accounts[0].id.clone(),
        after: None,
        fits: Some(MOST_RUNS),
        of_several: None,
        ..fixtures::preview_of(plan.clone())
    };
    app.context.plan.preview = Some(Ok(Box::new(nothing)));
    app.context.runs = vec![LiveRun::new(1, &plan, Control::default())];
    for (tab, words) in [
        (Tab::Plan, "spends nothing: public data alone"),
        (Tab::Run, "spends nothing: public data alone"),
        (Tab::Ledger, " · nothing spent by '"),
    ] {
        app.go_to(tab);
        let mut terminal = Terminal::new(TestBackend::new(160, 50)).unwrap();
        terminal.draw(|frame| drop(view(&app, frame))).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        let text: String = cells.map(ratatui::buffer::Cell::symbol).collect();
        assert!(text.contains(words), "{tab:?}: {text}");
        for wrong in ["∞", "over budget", "0e0", "and more"] {
            assert!(!text.contains(wrong), "{tab:?} says {wrong}: {text}");
        }
    }
}

#[test]
fn a_choice_says_what_it_is_while_it_runs_and_afterwards() {
    let mut app = fixtures::comparing();
    let shown = |app: &App| {
        let mut terminal = Terminal::new(TestBackend::new(160, 50)).unwrap();
        terminal.draw(|frame| drop(view(app, frame))).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        cells.map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    let run = &mut app.context.archive.as_mut().unwrap()[0];
    let candidates = ["one", "two"].map(str::to_owned).to_vec();
    run.choice = Some(ArchivedChoice { candidates, result: None, is_of_plan: false });
    (run.peeked, run.exact) = (false, None);
    for (result, words) in
        [(None, "among one, two: none so far"), (Some("'one' was chosen"), "'one' was chosen")]
    {
        let run = &mut app.context.archive.as_mut().unwrap()[0];
        run.choice.as_mut().unwrap().result = result.map(str::to_owned);
        let text = shown(&app);
        assert!(text.contains(words) && !text.contains("sealed view"), "{words}: {text}");
        let words = app.screen().words(&app.context);
        let run = words.iter().find(|word| word.name == "this run").unwrap();
        assert!(run.text.contains("a choice computes only released ones"), "{}", run.text);
    }
}

#[test]
fn what_is_undone_and_what_a_new_method_drops_is_said() {
    let mut app = fixtures::priced();
    let said =
        |app: &App| app.context.notice.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    press(&mut app, "↓↓↓→u");
    assert!(said(&app).contains("ε of this run 1 instead of 2"), "{}", said(&app));
    let plan = &mut app.context.session.plans[0];
    plan.settings.insert("lambda".to_owned(), crate::methods::Value::Number(25.0));
    fixtures::select_field(&mut app, |field| field.name() == "method");
    press(&mut app, "→");
    assert!(said(&app).contains("lambda 25"), "{}", said(&app));
}

#[test]
fn a_changed_plan_that_was_run_says_what_became_of_it() {
    let mut app = fixtures::priced();
    let said =
        |app: &App| app.context.notice.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    let plan = app.context.session.plans[0].clone();
    let before = plan.name.clone();
    press(&mut app, "↓↓↓→u");
    app.context.runs.push(LiveRun::new(1, &plan, Control::default()));
    press(&mut app, "→");
    let first = said(&app);
    assert!(
        first.starts_with("the plan that was run has changed: 'ε of this run' from 1 to 2"),
        "{first}"
    );
    assert!(first.ends_with("the run keeps its own settings; u undoes it"), "{first}");
    // What has changed since is no plan that was run.
    press(&mut app, "→");
    assert_eq!(said(&app), "");
    press(&mut app, "uu");
    assert_eq!(app.context.session.plans[0], plan);
    // A name that follows the settings is told.
    app.context.runs.clear();
    let method = app.context.session.plans[0].method.clone();
    app.context.session.plans[0].name = crate::methods::name_of(&method).to_owned();
    app.context.changed();
    let plan = app.context.session.plans[0].clone();
    app.context.archive =
        Some(vec![crate::session::ArchivedRun { plan: Some(plan), ..Default::default() }]);
    fixtures::select_field(&mut app, |field| field.name() == "method");
    press(&mut app, "→");
    let name = &app.context.session.plans[0].name;
    assert!(
        *name != before && said(&app).contains(&format!("its name to '{name}'")),
        "{}",
        said(&app)
    );
}

#[test]
fn what_rank_takes_into_the_plan_says_what_it_drops() {
    let mut app = fixtures::ranked();
    let before = app.context.session.plans[0].public.clone();
    app.screens.rank.selected = 2;
    press(&mut app, "\n");
    let now = app.context.session.plans[0].public.clone();
    assert!(now.len() < before.len());
    let said = app.context.notice.as_ref().map(|it| it.text.clone()).unwrap();
    let plays = format!("{} public dataset instead of {}; u undoes this", now.len(), before.len());
    assert!(said.contains(" and no longer ") && said.ends_with(&plays), "{said}");
}

#[test]
fn a_prompt_remembers_what_was_typed_in_it() {
    let mut app = fixtures::comparing();
    let typed = |app: &App| match &app.context.popup {
        Some(OpenPopup::Prompt(prompt)) => prompt.text.text().to_owned(),
        _ => panic!("no prompt"),
    };
    press(&mut app, "5e");
    let first = typed(&app);
    press(&mut app, "one\netwo\ne");
    press(&mut app, "↑");
    let last = typed(&app);
    assert!(last.ends_with("two"), "{last}");
    press(&mut app, "↑↑↑");
    assert!(typed(&app).ends_with("one") && typed(&app).starts_with(&first), "{}", typed(&app));
    press(&mut app, "↓");
    assert_eq!(typed(&app), last);
}

#[test]
fn a_run_that_died_is_named_with_its_keys_where_a_user_arrives() {
    let mut app = fixtures::spending();
    for tab in [Tab::Data, Tab::Run] {
        app.go_to(tab);
        let next = app.screen().next_step(&app.context).unwrap();
        assert!(next.contains("a run died: R on Compare (5) resumes it"), "{next}");
    }
}

#[test]
fn a_key_that_can_do_nothing_to_a_field_says_why() {
    let mut app = fixtures::priced();
    let on = |app: &mut App, name: &str| {
        fixtures::select_field(app, |field| field.name() == name);
    };
    let said =
        |app: &App| app.context.notice.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    on(&mut app, "ε of this run");
    press(&mut app, "→");
    assert_eq!(app.context.session.plans[0].target.epsilon, 2.0);
    press(&mut app, "x");
    assert_eq!(app.context.session.plans[0].target.epsilon, 1.0);
    press(&mut app, "x");
    assert!(said(&app).contains("has its default already"), "{}", said(&app));
    on(&mut app, "private data");
    press(&mut app, "x");
    assert!(said(&app).contains("'private data' has no default"), "{}", said(&app));
    on(&mut app, "released score");
    assert!(app.context.session.plans[0].evaluation.is_some());
    press(&mut app, "→");
    assert!(app.context.session.plans[0].evaluation.is_none());
    press(&mut app, "→");
    assert_eq!(app.context.session.plans[0].evaluation, Some(Evaluation::default()));
    on(&mut app, "label range");
    press(&mut app, "→");
    assert!(said(&app).contains("'label range' is typed"), "{}", said(&app));
}

#[test]
fn one_key_gives_any_part_the_whole_screen_and_esc_takes_it_back() {
    let text = |app: &App| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| drop(view(app, frame))).unwrap();
        let cells = terminal.backend().buffer().content.chunks(80);
        let lines = cells.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect());
        lines.collect::<Vec<String>>()
    };
    for (name, mut app) in fixtures::scenes() {
        if app.context.popup.is_some() || app.filtering {
            continue;
        }
        for pane in app.screen().panes(&app.context) {
            app.focus_on(pane);
            app.maximised = false;
            press(&mut app, "z");
            assert!(app.maximised, "{name}");
            // Adjacent boxes would meet in such corners.
            let drawn = text(&app);
            let charts = pane == crate::tab::CHARTS;
            assert!(
                charts || !drawn[1..20].iter().any(|line| line.contains("┐┌")),
                "{name} {pane:?}:\n{}",
                drawn.join("\n")
            );
        }
        app.context.notice = None;
        app.context.filter_field_mut().set("");
        press(&mut app, "\x1b");
        assert!(!app.maximised, "{name}");
    }
}

#[test]
fn an_account_that_a_run_has_opened_is_known_at_once() {
    let mut app = fixtures::loaded();
    let account = |app: &App| match &app.context.datasets["winter"] {
        DatasetStatus::Ready { account, .. } => account.clone(),
        _ => panic!("it is loaded"),
    };
    assert_eq!(account(&app), None);
    let (mut book, digests) = fixtures::book();
    let record = app.context.loaded("winter").unwrap().record.clone().unwrap();
    book.accounts[0].datasets.push(record);
    let id = book.accounts[0].id.clone();
    update(&mut app, Message::Reports(vec![WorkerReport::Ledger(book, digests)]), &Hits::default());
    assert_eq!(account(&app), Some(id));
}

#[test]
fn sealed_nothing_is_ranked_but_privately() {
    let mut app = fixtures::loaded();
    press(&mut app, "2v");
    assert!(press(&mut app, "r").is_empty() && app.context.ranking.work.is_none());
    press(&mut app, "p");
    assert!(press(&mut app, "x\n").is_empty(), "no number");
    let Some(OpenPopup::Prompt(prompt)) = &app.context.popup else { panic!("the prompt stays") };
    assert!(prompt.problem.is_some());
    press(&mut app, "\x1b");
    assert!(press(&mut app, "p\nn").is_empty(), "no is no");
    let effects = press(&mut app, "p\ny");
    let private = |request: &Request| match request {
        Request::Start {
            job:
                JobRequest::Ranking {
                    manner: Manner::Private(RankingMechanism::Errors, target), ..
                },
            ..
        } => target.epsilon == 0.5,
        _ => false,
    };
    assert!(asked(&effects, private));
    assert_eq!(app.context.working(), 1);
    for (key, wanted) in [
        (":name only\n", "Private(PermuteAndFlip"),
        (":noisy table\n", "Private(Table"),
        (":direction\n", "Private(Direction"),
    ] {
        let mut app = fixtures::loaded();
        press(&mut app, "2");
        press(&mut app, key);
        let effects = press(&mut app, "\ny");
        let asked_for = |request: &Request| match request {
            Request::Start { job: JobRequest::Ranking { manner, .. }, .. } => {
                format!("{manner:?}").starts_with(wanted)
            }
            _ => false,
        };
        assert!(asked(&effects, asked_for), "{key}");
    }
    // An earlier exact ranking is hidden, and shown again.
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
    fixtures::select_field(&mut app, |field| field.name() == "radius Λ");
    let radius = |app: &App| app.context.session.plans[0].settings.get("lambda").cloned();
    press(&mut app, "\n25\n");
    assert_eq!(radius(&app), Some(crate::methods::Value::Number(25.0)));
    // Typing replaces a number; empty text makes it automatic again.
    press(&mut app, "\n10\n");
    assert_eq!(radius(&app), Some(crate::methods::Value::Number(10.0)));
    press(&mut app, "x\n\n");
    assert_eq!(radius(&app), None);
}

#[test]
fn a_rehearsal_goes_deeper_and_may_be_of_named_methods_only() {
    let mut app = fixtures::priced();
    let rehearsed = |effects: &[Effect], names: &[&str], depth: bool| {
        asked(effects, |request| match request {
            Request::Start { job: JobRequest::Rehearsal { methods, deep, .. }, .. } => {
                methods == names && *deep == depth
            }
            _ => false,
        })
    };
    // The plan's own method is in the prompt.
    let own = app.context.session.plans[0].method.clone();
    press(&mut app, "O");
    assert!(press(&mut app, ", alchemy\n").is_empty());
    let Some(OpenPopup::Prompt(prompt)) = &app.context.popup else { panic!("the prompt stays") };
    assert!(prompt.problem.as_ref().unwrap().contains("alchemy"));
    press(&mut app, "\x1b");
    press(&mut app, "O");
    let effects = press(&mut app, ", target_only\n");
    assert!(rehearsed(&effects, &[&own, "target_only"], false));
    let ended = |id, done| {
        let result = Box::new(Ok(fixtures::rehearsal(done)));
        Message::Reports(vec![WorkerReport::Rehearsal(id, JobEvent::Ended(result))])
    };
    // Stopped it continues as it was, and at its end it goes deeper.
    press(&mut app, "c");
    update(&mut app, ended(1, 80), &Hits::default());
    let effects = press(&mut app, "c");
    assert!(rehearsed(&effects, &[&own, "target_only"], false));
    update(&mut app, ended(2, 126), &Hits::default());
    let effects = press(&mut app, "c");
    assert!(rehearsed(&effects, &[&own, "target_only"], true));
}

#[test]
fn methods_to_rehearse_may_be_named_as_the_screen_does() {
    let mut app = fixtures::priced();
    press(&mut app, "O");
    let effects = press(&mut app, ", Private records ALONE, linear, weighted\n");
    let rehearsed = asked(&effects, |request| match request {
        Request::Start { job: JobRequest::Rehearsal { methods, .. }, .. } => {
            methods[1..] == ["target_only", "profiled_cnvx_adap"]
        }
        _ => false,
    });
    assert!(rehearsed, "{effects:?}");
}

/// The plan of a run takes the place of the plan with its name, and no other's.
#[test]
fn the_plan_of_a_run_is_added_and_replaces_only_the_plan_with_its_name() {
    let mut app = fixtures::priced();
    let before = app.context.session.plans.clone();
    let mut earlier = before[0].clone();
    (earlier.target.epsilon, earlier.name) = (0.125, "another".to_owned());
    app.context.add_plan(earlier.clone());
    assert_eq!(app.context.session.plans.len(), before.len() + 1);
    assert_eq!(app.context.session.plans[..before.len()], before);
    assert_eq!(app.context.shown_plan().unwrap().target.epsilon, 0.125);
    assert!(app.context.notice.as_ref().unwrap().text.contains("added the plan 'another'"));
    press(&mut app, "u");
    assert_eq!(app.context.session.plans, before);
    assert!(app.context.notice.as_ref().unwrap().text.contains("plan 'another' is gone"));
    earlier.name.clone_from(&before[0].name);
    app.context.plan.index = before.len() - 1;
    app.context.add_plan(earlier);
    assert_eq!(app.context.session.plans.len(), before.len());
    assert_eq!(app.context.session.plans[0].target.epsilon, 0.125);
    assert_eq!(app.context.plan.index, 0);
    let said = &app.context.notice.as_ref().unwrap().text;
    assert!(said.contains(&before[0].name) && said.contains("u undoes"), "{said}");
}

#[test]
fn wrong_values_of_a_sweep_are_named_and_queue_nothing() {
    let mut app = fixtures::priced();
    press(&mut app, "↓↓↓E");
    press(&mut app, ", minus\n");
    let Some(OpenPopup::Prompt(prompt)) = &app.context.popup else { panic!("the prompt stays") };
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

    // The columns of every dataset with their profiles; of a private one names and uses alone.
    let mut app = fixtures::peeking();
    let plain = export(&mut app, "X\n");
    let of = |text: &str, name: &str, column: &str| {
        let lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let mut lines = lines.filter(|line| line[0] == name && line[6] == column);
        lines.next().unwrap_or_else(|| panic!("no {column} of {name} in {text}")).join(",")
    };
    assert!(of(&plain, "winter", "temp").ends_with(",feature,number,,,,,,,,"), "{plain}");
    let public = of(&plain, "spring", "temp");
    let least = public.split(',').nth(12).unwrap().parse::<f64>().unwrap();
    let counts =
        public.split(',').nth(15).unwrap().split(' ').map(|it| it.parse::<usize>().unwrap());
    assert_eq!(counts.sum::<usize>(), public.split(',').nth(11).unwrap().parse::<usize>().unwrap());
    assert!(least < 0.5 && !plain.contains('◆'), "{public}");
    let named = export(&mut app, "X↓↓ \n");
    assert!(of(&named, "winter", "temp").ends_with(",◆"), "{named}");
    app.context.watch.seal(true);
    assert_eq!(export(&mut app, "X↓↓ \n"), plain);

    let mut app = fixtures::running();
    let curves = export(&mut app, "X\n");
    assert!(curves.starts_with("step,epsilon,") && curves.lines().count() == 41, "{curves}");
    assert!(!curves.contains("exact"), "{curves}");
    // As a picture: the curator's colour and mark do not appear.
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
fn rank_says_how_long_a_ranking_takes_once_it_was_timed_for_these_datasets() {
    let mut app = fixtures::loaded();
    let effects = press(&mut app, "2");
    assert!(asked(&effects, |it| matches!(it, Request::TimeRanking(_))));
    let again = press(&mut app, "12");
    assert!(!asked(&again, |it| matches!(it, Request::TimeRanking(_))), "once is enough");
    let words = |app: &App| {
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| drop(view(app, frame))).unwrap();
        let cells = terminal.backend().buffer().content.iter();
        cells.map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    assert!(!words(&app).contains("takes about"));
    let answer = |app: &mut App, session: Session| {
        let time = Some(std::time::Duration::from_secs(4));
        let report = WorkerReport::RankingTimed { session: Box::new(session), time };
        update(app, Message::Reports(vec![report]), &Hits::default());
    };
    let session = app.context.session.clone();
    answer(&mut app, Session { name: "other".to_owned(), ..session.clone() });
    assert!(!words(&app).contains("takes about"), "of another session");
    answer(&mut app, session);
    assert!(words(&app).contains("takes about 4 s"), "{}", words(&app));
}

/// The places of things on a screen of this size.
fn hits_of(app: &App, (width, height): (u16, u16)) -> Hits {
    let mut hits = Hits::default();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| hits = view(app, frame)).unwrap();
    hits
}

const LARGE: (u16, u16) = (170, 50);

/// The rows or columns before a border.
fn first_of(app: &App, name: &str) -> u16 {
    hits_of(app, LARGE).borders.iter().find(|it| it.name == name).unwrap().first
}

/// Presses the button on a border, moves the mouse by so many cells both ways, and releases it. Says
/// whether the program keeps where the border is.
fn drag(app: &mut App, name: &str, by: &[i32]) -> bool {
    let hits = hits_of(app, LARGE);
    let mut cells = (0..LARGE.1).flat_map(|y| (0..LARGE.0).map(move |x| Position::new(x, y)));
    let found = |at: &Position| hits.borders.iter().find(|it| it.contains(*at));
    let from = cells.find(|at| found(at).is_some_and(|it| it.name == name)).unwrap();
    let down = (MouseEventKind::Down(MouseButton::Left), 0);
    let moves = by.iter().map(|by| (MouseEventKind::Drag(MouseButton::Left), *by));
    let up = (MouseEventKind::Up(MouseButton::Left), by.last().copied().unwrap_or(0));
    let mut effects = Vec::new();
    for (kind, by) in std::iter::once(down).chain(moves).chain([up]) {
        let [column, row] = [from.x, from.y].map(|it| (i32::from(it) + by).max(0) as u16);
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        effects.extend(update(app, Message::Mouse(event), &hits));
    }
    asked(&effects, |it| matches!(it, Request::Remember(_)))
}

#[test]
fn every_border_is_dragged_and_kept_and_two_clicks_put_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let places = crate::session::preferences::UserDirectories { config: path.clone(), state: path };
    let mut found = std::collections::BTreeSet::new();
    for (scene, mut app) in fixtures::scenes() {
        let under_a_window = app.context.popup.is_some();
        let borders = hits_of(&app, LARGE).borders;
        for usual in borders.into_iter().filter(|_| !under_a_window) {
            let (name, first) = (usual.name, i32::from(usual.first));
            found.insert(name);
            let by = if 2 * usual.first < usual.length() { 3 } else { -3 };
            assert!(drag(&mut app, name, &[1, -1, by]), "{scene}: {name} is not kept");
            assert_eq!(i32::from(first_of(&app, name)), first + by, "{scene}: {name}");
            // The next program opens with the border where it was left.
            places.write_state(&app.context.state).unwrap();
            app.context.state = places.read_state();
            assert_eq!(i32::from(first_of(&app, name)), first + by, "{scene}: {name}, reopened");
            // Both parts keep some room, also on the smallest screen.
            for by in [-200, 200] {
                drag(&mut app, name, &[by]);
                let now = first_of(&app, name);
                assert!(now >= 5 && now + 5 <= usual.length(), "{scene}: {name} at {now}");
                hits_of(&app, crate::view::LEAST);
            }
            assert!(!drag(&mut app, name, &[]), "{scene}: {name}: one click changes nothing");
            assert!(drag(&mut app, name, &[]), "{scene}: {name}");
            assert_eq!(i32::from(first_of(&app, name)), first, "{scene}: {name}");
        }
    }
    for tab in Tab::ALL {
        let screen = tab.title().to_lowercase();
        assert!(found.iter().any(|name| name.starts_with(&screen)), "{screen}: {found:?}");
    }
}

#[test]
fn a_run_that_was_begun_here_is_the_selected_one_and_one_of_others_is_not() {
    let mut app = fixtures::opened();
    let run = |number: u32, process| {
        let run = archived(number, 1.0, &[3.0, 2.0]);
        crate::session::ArchivedRun { process, score: None, ..run }
    };
    let this = || Some(crate::session::run_directory::Process::this());
    let mut selected_of = |runs: Vec<crate::session::ArchivedRun>| {
        update(&mut app, Message::Reports(vec![WorkerReport::Archive(runs)]), &Hits::default());
        let compare = &app.screens.compare;
        compare.run(app.context.archived()).unwrap().id.clone()
    };
    let first = selected_of(vec![run(2, None), run(1, this())]);
    assert_eq!(first, run(2, None).id, "the one on top");
    assert_eq!(selected_of(vec![run(3, None), run(2, None), run(1, this())]), first);
    let ours = run(4, this());
    let all = || vec![run(4, this()), run(3, None), run(2, None), run(1, this())];
    assert_eq!(selected_of(all()), ours.id);
    assert_eq!(selected_of(all()), ours.id);
}

#[test]
fn compare_and_ledger_begin_with_the_data_that_the_user_works_on() {
    let mut app = fixtures::opened();
    app.context.archive = None;
    let ours = app.context.private_name().unwrap().to_owned();
    let run = |number: u32, private: &str| {
        let mut run = archived(number, 1.0, &[3.0, 2.0]);
        private.clone_into(&mut run.plan.as_mut().unwrap().private);
        run.score = None;
        run
    };
    let runs = vec![run(3, "another"), run(2, &ours), run(1, &ours)];
    update(&mut app, Message::Reports(vec![WorkerReport::Archive(runs)]), &Hits::default());
    assert_eq!(app.screens.compare.selected, 1);
    let mut app = fixtures::spending();
    let digests = std::mem::take(&mut app.context.digests);
    let mut book = app.context.book.take().unwrap();
    let last = book.accounts.len() - 1;
    for (at, account) in book.accounts.iter_mut().enumerate() {
        let name = if at == last { &ours } else { "another" };
        account.datasets.iter_mut().for_each(|it| name.clone_into(&mut it.name));
    }
    assert!(last > 0 && app.context.private_name() == Some(&ours), "one of several accounts");
    update(&mut app, Message::Reports(vec![WorkerReport::Ledger(book, digests)]), &Hits::default());
    assert_eq!(app.screens.ledger.selected, last);
}

#[test]
fn a_click_on_a_head_sorts_and_a_second_one_turns_the_order() {
    let mut app = fixtures::pinned();
    let mut hits = Hits::default();
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| hits = view(&app, frame)).unwrap();
    let head = hits.heads.iter().find(|head| head.title == "ε").unwrap().clone();
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: head.area.x,
        row: head.area.y,
        modifiers: KeyModifiers::NONE,
    };
    let order = |app: &App| app.screens.compare.order(&app.context, "");
    update(&mut app, Message::Mouse(click), &hits);
    let sorted = order(&app);
    update(&mut app, Message::Mouse(click), &hits);
    assert!(app.screens.compare.reverse);
    assert_eq!(order(&app), sorted.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn what_was_chosen_is_remembered() {
    let mut app = fixtures::running();
    let control = |c| Message::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    let remembered = |effects: &[Effect]| {
        let state = |effect: &Effect| match effect {
            Effect::Ask(request) => match &**request {
                Request::Remember(state) => Some(state.clone()),
                _ => None,
            },
            _ => None,
        };
        effects.iter().find_map(state).expect("something is remembered")
    };
    let state = remembered(&update(&mut app, control('t'), &Hits::default()));
    assert_eq!(state.theme.as_deref(), Some(app.theme.name.as_str()));
    assert!(remembered(&press(&mut app, "y")).log_axis);
    assert!(remembered(&update(&mut app, control('n'), &Hits::default())).no_hints);
    let saved =
        |path: &str| WorkerReport::SessionSaved { session: Box::default(), path: path.into() };
    for path in ["/a/1.ron", "/a/2.ron", "/a/1.ron"] {
        update(&mut app, Message::Reports(vec![saved(path)]), &Hits::default());
    }
    assert_eq!(app.context.state.recent, ["/a/1.ron", "/a/2.ron"].map(std::path::PathBuf::from));
    app.context.unsaved = false;
    let open = update(&mut app, control('o'), &Hits::default());
    assert!(open.is_empty() && matches!(app.context.popup, Some(OpenPopup::Pick(_))));
    let effects = press(&mut app, "\n");
    assert!(asked(
        &effects,
        |it| matches!(it, Request::OpenSession(path) if path.ends_with("1.ron"))
    ));
}

#[test]
fn a_session_that_is_named_on_the_command_line_is_a_recent_one() {
    let mut app = fixtures::loaded();
    app.context.session_path = Some("/a/named.ron".into());
    app.first_requests();
    assert_eq!(app.context.state.recent.first(), Some(&"/a/named.ron".into()));
}

#[test]
fn sessions_are_found_by_browsing_and_by_a_typed_path() {
    let mut app = fixtures::loaded();
    app.context.state.recent.clear();
    let control = |c| Message::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    let effects = update(&mut app, control('o'), &Hits::default());
    assert!(asked(&effects, |it| matches!(it, Request::Browse(_, Wanted::Sessions))));
    let listing =
        || crate::engine::lookup::Listing { wanted: Wanted::Sessions, ..fixtures::listing() };
    let show = |app: &mut App| {
        let effects =
            update(app, Message::Reports(vec![WorkerReport::Listing(listing())]), &Hits::default());
        assert!(!asked(&effects, |it| matches!(it, Request::Glance { .. })), "no file of data");
    };
    show(&mut app);
    let effects = press(&mut app, "hospital_a\n");
    assert!(asked(&effects, |it| {
        matches!(it, Request::OpenSession(path) if path.ends_with("hospital_a.csv"))
    }));
    show(&mut app);
    let effects = press(&mut app, "/elsewhere/s.ron\n");
    assert!(asked(&effects, |it| {
        matches!(it, Request::OpenSession(path) if path.ends_with("elsewhere/s.ron"))
    }));
}

#[test]
fn a_long_run_that_ends_rings() {
    let mut app = fixtures::running();
    let end = |app: &mut App| {
        let event = JobEvent::Ended(Box::new(Ok(fixtures::summary())));
        let report = WorkerReport::Run(1, event);
        let effects = update(app, Message::Reports(vec![report]), &Hits::default());
        effects.iter().any(|effect| matches!(effect, Effect::Ring(_)))
    };
    assert!(!end(&mut app), "a short one does not");
    let mut app = fixtures::running();
    app.context.runs[0].worked = std::time::Duration::from_mins(1);
    assert!(end(&mut app));
}

#[test]
fn a_key_reaches_the_screen_in_time_while_a_run_tells_all_it_can() {
    let mut app = fixtures::running();
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
    // A batch as large as a fast run produces in one frame, then a key, then a frame.
    let mut worst = 0.0f64;
    for round in 0..20u64 {
        let reports = (0..400).map(|index| {
            let step = fixtures::progress(41 + round * 400 + index, 100_000);
            WorkerReport::Run(1, JobEvent::Progress(RunProgress::Stepped(step)))
        });
        let reports: Vec<WorkerReport> = reports.collect();
        let start = Instant::now();
        update(&mut app, Message::Reports(reports), &Hits::default());
        press(&mut app, "y");
        terminal.draw(|frame| drop(view(&app, frame))).unwrap();
        worst = worst.max(start.elapsed().as_secs_f64());
    }
    // The machine may be shared: the benchmark measures exactly, this only catches large errors.
    assert!(worst < 0.5, "{worst} s");
}

#[test]
fn exact_curves_are_gone_from_a_sealed_view_and_back_after() {
    let app = fixtures::running();
    let curve = &app.context.runs[0].curves[&crate::methods::Series::PrivateError];
    assert!(curve.points(&app.context.watch).is_some());
    assert!(curve.points(&Watch::sealed()).is_none());
}

#[test]
fn keys_steer_a_run_of_another_process_by_its_file_and_leave_another_trainer_alone() {
    let steered = |app: &mut App, key: &str| {
        let effects = press(app, key);
        effects.into_iter().find_map(|effect| match effect {
            Effect::Ask(request) => match *request {
                Request::Steer { request, .. } => Some(request),
                _ => None,
            },
            _ => None,
        })
    };
    let mut app = fixtures::elsewhere();
    app.context.popup = None;
    assert_eq!(steered(&mut app, " "), Some(SteeringRequest::GoOn), "it waits");
    assert_eq!(steered(&mut app, "<"), Some(SteeringRequest::Pace(Some(512.0))));
    assert_eq!(steered(&mut app, "c"), None, "it asks first");
    assert_eq!(steered(&mut app, "y"), Some(SteeringRequest::Stop));
    assert!(app.context.runs.iter().all(|run| !run.control.is_stopped()));
    assert_eq!(app.context.working(), 0, "nothing of our own is under way");
    let mut app = fixtures::training();
    for key in [" ", "c", "<"] {
        assert_eq!(steered(&mut app, key), None);
        assert!(app.context.popup.is_none());
    }
}

#[test]
fn an_odd_text_of_an_added_public_file_is_read_as_missing_and_that_is_said() {
    let mut app = fixtures::opened();
    let report = |odd: &str| {
        let definition =
            DatasetDefinition::new("more", Role::Private, Source::File("m.csv".into()));
        let odd_texts = (vec![odd.to_owned()], format!("1 of 9 values is not a number: '{odd}'"));
        let columns = fixtures::schema().columns;
        Message::Reports(vec![WorkerReport::Inspected {
            definition: Box::new(definition),
            columns,
            odd_texts,
        }])
    };
    let form = |app: &App| match &app.context.popup {
        Some(OpenPopup::Dataset(form)) => form.definition().unwrap(),
        _ => panic!("no form"),
    };
    update(&mut app, report("oops"), &Hits::default());
    let public = form(&app);
    assert_eq!((public.role, public.source.missing()), (Role::Public, vec!["oops".to_owned()]));
    assert!(public.guessed[&Guessed::Numbers].contains("oops"));
    // Of a private file no cell decides or is told.
    app.context.session.datasets.clear();
    update(&mut app, report("secret"), &Hits::default());
    let private = form(&app);
    assert_eq!((private.role, private.source.missing().len()), (Role::Private, 0));
    assert!(private.guessed.is_empty());
}
