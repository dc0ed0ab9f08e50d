//! Every screen in its main states: its text and its style.

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent};
use halflight_privacy_inside::openings::OpenWatch;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::*;
use crate::canvas::wrapped_lines;
use crate::context::{OpenPopup, Tutorial};
use crate::data::{Guessed, Role, Task};
use crate::engine::worker::JobEvent;
use crate::engine::{RunProgress, overlap};
use crate::fixtures::{self, scenes};
use crate::glossary;
use crate::live_run::Ended;
use crate::methods;
use crate::popup::words::Words;
use crate::privacy::ledger::RunId;
use crate::rehearsal::Player;
use crate::rehearsal::advice::PlayerLine;
use crate::screen::data::COLUMNS;
use crate::screen::ledger::{ACCOUNTS, ENTRIES};
use crate::session::site_board::{SiteLine, SiteState};
use crate::theme::{Glyphs, Theme};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn drawn(app: &App, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| drop(view(app, frame))).unwrap();
    terminal
}

fn buffer(app: &App, columns: u16, rows: u16) -> Buffer {
    drawn(app, columns, rows).backend().buffer().clone()
}

fn text_of(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let rows = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_scene_at_every_size() {
    for (name, app) in scenes() {
        for (columns, rows) in SIZES {
            let terminal = drawn(&app, columns, rows);
            insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), terminal.backend());
        }
    }
}

#[test]
fn methods_in_a_rehearsal_keep_a_name_of_whole_words_where_there_is_little_room() {
    let scene = |name| scenes().into_iter().find(|(own, _)| *own == name).unwrap().1;
    for task in [Task::Regression, Task::Classification] {
        let mut app = scene("plan_rehearsed");
        let advice = &mut app.context.rehearsal.progress.as_mut().unwrap().advice;
        let known = advice.lines.clone();
        advice.lines.truncate(2);
        let methods = methods::methods().iter().map(|method| method.spec());
        advice.lines.extend(
            methods
                .filter(|spec| spec.task == task && !spec.public_only)
                .map(|spec| PlayerLine { player: Player::method(spec.id), ..known[2].clone() }),
        );
        if task == Task::Classification {
            let found = advice.lines.iter_mut().flat_map(|line| &mut line.standings);
            found.flatten().for_each(|standing| standing.log_loss = Some(0.481));
        }
        let titles: Vec<String> = advice.lines.iter().map(|line| line.player.title()).collect();
        let text = text_of(&buffer(&app, 80, 70));
        let rows = text.lines().map(|row| row.chars().skip(43).take(36).collect::<String>());
        let rows = rows.skip_while(|row| !row.contains("× public alone")).skip(1);
        // Without the marker of a curve.
        let rows =
            rows.map(|row| row.trim_start_matches(|it: char| !it.is_alphabetic()).to_owned());
        let rows: Vec<String> = rows.collect();
        let mut places = BTreeSet::new();
        for title in titles {
            let is_its = |row: &String| {
                let ends = ["  ", " 0.", " 1."].into_iter().filter_map(|end| row.find(end));
                let name = &row[..ends.min().unwrap_or(row.len())];
                let words = name.strip_suffix('…').unwrap_or(name);
                let rest = title.strip_prefix(words).filter(|_| !words.is_empty());
                rest.is_some_and(|rest| {
                    rest.is_empty() || name != words && rest.starts_with([' ', ','])
                })
            };
            let place = rows.iter().position(is_its);
            assert!(place.is_some_and(|place| places.insert(place)), "{title}: {rows:#?}");
        }
    }
}

/// Words of two letters and more between the tabs and the hints, at 120 × 40; the limits are those of the
/// guide.
#[test]
fn no_screen_has_more_words_than_the_guide_says() {
    let page = include_str!("../../../assets/guide/screens.md");
    let (_, page) = page.split_once("**Words**").unwrap();
    let scenes = scenes();
    let of = [
        ("Data", "data_ready"),
        ("Rank, at the start", "rank"),
        ("Rank", "rank_exact"),
        ("Plan", "plan_priced"),
        ("Plan, rehearsed", "plan_rehearsed_costs"),
        ("Run", "run_finished"),
        ("Compare", "compare_selected"),
        ("Ledger", "ledger_accounts"),
    ];
    for (screen, scene) in of {
        let (_, app) = scenes.iter().find(|(name, _)| *name == scene).unwrap();
        let text = text_of(&buffer(app, 120, 40));
        let rows: Vec<&str> = text.lines().collect();
        let words =
            rows[1..rows.len() - 1].iter().flat_map(|row| row.split(|c: char| !c.is_alphabetic()));
        let words = words.filter(|word| word.chars().count() > 1).count();
        let row = page.lines().find(|line| line.starts_with(&format!("| {screen} | ")));
        let limit =
            row.and_then(|row| row.split('|').nth(3)).unwrap_or_else(|| panic!("no {screen}"));
        let limit: usize = limit.trim().parse().unwrap();
        assert!(words <= limit, "{screen} has {words} words, and the guide says {limit}");
    }
}

#[test]
fn every_screen_has_a_scene() {
    let scenes = scenes();
    for tab in Tab::ALL {
        let plain = |app: &App| app.context.tab == *tab && app.context.popup.is_none();
        assert!(
            scenes.iter().any(|(_, app)| plain(app)),
            "{tab:?}: add a scene of it to `scenes` in src/tui/fixtures.rs"
        );
    }
}

/// A number says of what records it is: "public" alone is a role, or the name of a dataset.
#[test]
fn no_column_of_numbers_is_called_public_or_private() {
    let mut seen = BTreeSet::new();
    for (name, app) in scenes() {
        for (columns, rows) in SIZES {
            let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
            let mut hits = Hits::default();
            terminal.draw(|frame| hits = view(&app, frame)).unwrap();
            for head in hits.heads {
                let bare = head.title.trim_end_matches(" ◆").trim_start_matches("best ");
                assert!(!["public", "private"].contains(&bare), "{name}: {}", head.title);
                seen.insert(head.title);
            }
        }
    }
    assert!(seen.contains("on public") && seen.len() > 20, "{seen:?}");
}

#[test]
fn an_empty_watch_says_where_it_waits_and_for_what() {
    let mut app = fixtures::loaded();
    app.context.archive = Some(Vec::new());
    app.context.watched = vec![".".into()];
    app.go_to(Tab::Run);
    let here = std::env::current_dir().unwrap().display().to_string();
    let text = text_of(&buffer(&app, 160, 24));
    for words in ["Waiting for a run to begin in", &here, "No run was made there yet"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn the_sites_of_a_joint_run_have_a_line_each_until_it_ends() {
    let mut app = fixtures::elsewhere();
    app.context.tab = Tab::Run;
    let site = |name: String, waits_for: Vec<String>| SiteLine {
        is_own: name == "A",
        name,
        state: SiteState::Going,
        releases: 5,
        of: 12,
        left_after: None,
        epsilon: Some((0.4, 1.0)),
        waits_for,
        wrote: None,
        is_overdue: false,
    };
    let mut run = fixtures::archived(1, 2.0, &[5.0, 3.0]);
    run.board = vec![site("A".to_owned(), vec!["B".to_owned()])];
    run.board.extend((1..8_u8).map(|at| site(char::from(b'A' + at).to_string(), Vec::new())));
    app.context.archive = Some(vec![run]);
    let text = text_of(&buffer(&app, 120, 40));
    for words in [
        "A (this site): release 5 of 12, waits for B, ε 0.4 of 1",
        "F: release 5 of 12, ε 0.4 of 1",
        "and 2 more sites",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("G: release"), "{text}");
    app.context.runs[0].ended = Some(Ended::Elsewhere);
    assert!(!text_of(&buffer(&app, 120, 40)).contains("waits for B"));
}

/// A divided table was private when its columns were guessed; its public parts are looked at later.
#[test]
fn clock_times_and_days_are_told_by_public_parts_until_the_guesses_are_confirmed() {
    let time = |at: usize| 100 * (at * 7 % 24) + at * 13 % 60;
    let row = |_, at: usize| {
        format!("{},{},{at}\n{},{},{at}", time(at), 2 * at, time(at + 60), 2 * at + 1)
    };
    let sets = [("ours", Role::Private), ("theirs", Role::Public)];
    let mut app = fixtures::tables("leaves,day,stay", &sets, &row);
    let text = |app: &App| text_of(&buffer(app, 200, 60));
    assert!(!text(&app).contains("clock times"), "nothing was guessed");
    for dataset in &mut app.context.session.datasets {
        dataset.guessed.insert(Guessed::Role, "by its place".to_owned());
    }
    assert!(text(&app).contains("guessed: 'leaves' looks like clock times"), "{}", text(&app));
    assert!(text(&app).contains("guessed: rows look like days in a row ('day')"), "{}", text(&app));
    // Rows that may be private tell nothing.
    app.context.compared.remove("theirs");
    assert!(!text(&app).contains("clock times") && !text(&app).contains("in a row"));
}

#[test]
fn the_categories_that_public_data_alone_say_are_told_before_anything_is_spent() {
    let row = |set: usize, at: usize| {
        let carrier = if set == 0 { ["B6", "9E"] } else { ["UA", "AA"] };
        format!("{},{},{at}", carrier[at % 2], at * 7 % 5)
    };
    let sets = [("ours", Role::Private), ("theirs", Role::Public)];
    let mut app = fixtures::tables("carrier,month,stay", &sets, &row);
    for dataset in &mut app.context.session.datasets {
        dataset.guessed.insert(Guessed::Role, "by its place".to_owned());
    }
    let text = |app: &App| text_of(&buffer(app, 200, 60));
    // It is wrapped.
    let is_told = |app: &App| {
        let told = ["say which values", "'carrier' (", "as 'other'"];
        told.into_iter().all(|part| text(app).contains(part))
    };
    assert!(is_told(&app), "{}", text(&app));
    assert!(!text(&app).contains("B6"), "{}", text(&app));
    let own = vec!["B6".to_owned(), "9E".to_owned()];
    app.context.session.datasets[0].categories.insert("carrier".to_owned(), own);
    assert!(!is_told(&app), "{}", text(&app));
}

#[test]
fn how_far_a_run_is_stays_whole_in_any_width() {
    let mut app = fixtures::running();
    app.context.runs.push(fixtures::run(2, 40, 60));
    for run in &mut app.context.runs {
        (run.step, run.total) = (1359, 10_000);
    }
    for columns in [60, 80, 120] {
        let text = text_of(&buffer(&app, columns, 24));
        assert_eq!(text.matches("1359 of 10000").count(), 3, "{text}");
    }
}

#[test]
fn a_note_on_the_private_records_is_told_in_full_once() {
    let mut app = fixtures::running();
    app.context.runs.push(fixtures::run(2, 40, 60));
    for run in &mut app.context.runs {
        let cautions = Some(fixtures::exact(vec!["2 rows are copies of others".to_owned()]));
        run.hear(JobEvent::Progress(RunProgress::Granted {
            run: RunId("r".to_owned()),
            steps: 60,
            warnings: Vec::new(),
            cautions,
        }));
    }
    let head = |app: &App| {
        let text = text_of(&buffer(app, 120, 40));
        text.lines().take(10).collect::<Vec<_>>().join("\n")
    };
    assert!(head(&app).contains("◆ 2 rows are copies of others"), "{}", head(&app));
    app.screens.run.selected = 1;
    let second = head(&app);
    assert!(!second.contains("copies") && second.contains("as for the run before: i"), "{second}");
}

/// The bar of a budget says whose spending it shows, of what, and the stairs rise to it.
#[test]
fn the_ledger_draws_the_spending_and_says_what_its_bar_promises() {
    let app = fixtures::spending();
    for (columns, rows) in [(80, 24), (120, 36), (160, 50)] {
        let text = text_of(&buffer(&app, columns, rows));
        assert!(text.contains("budget at δ 1e-5 for one record"), "{text}");
        assert!(text.contains("budget ─") || text.contains(" budget "), "{text}");
        let dates = text.lines().filter(|line| line.contains("01-01 ")).count();
        assert!(dates > 0, "{columns}: {text}");
    }
}

/// `i` shows the whole of every text: page by page it has all words, in their order.
#[test]
fn no_explanation_is_cut() {
    let glossary: BTreeSet<&str> = glossary::WORDS.iter().map(|word| word.name).collect();
    let (mut seen, mut scrolled) = (BTreeSet::new(), 0);
    for (name, mut app) in scenes() {
        let words = app.screen().words(&app.context);
        app.context.popup = None;
        for word in words {
            let is_new = seen.insert((word.name.clone(), word.text.clone()));
            let is_known = glossary.contains(word.name.as_str());
            // A word of the glossary is the same on every screen.
            if !is_new && is_known {
                continue;
            }
            assert!(!word.text.contains('…'), "{name}: {}: {}", word.name, word.text);
            for (columns, rows) in SIZES {
                let mut shown = String::new();
                let mut popup = Words::new(vec![word.clone()]);
                loop {
                    app.context.popup = Some(OpenPopup::Words(popup));
                    let text = text_of(&buffer(&app, columns, rows));
                    assert!(text.contains("Enter or Esc leaves"), "{name}: {text}");
                    shown += &text;
                    let Some(OpenPopup::Words(mut open)) = app.context.popup.take() else {
                        panic!("{name}")
                    };
                    let before = open.top;
                    open.handle(KeyEvent::from(KeyCode::PageDown));
                    if open.top == before {
                        break;
                    }
                    scrolled += usize::from(text.contains("PgDn"));
                    popup = open;
                }
                let mut all = shown.split(|c: char| c.is_whitespace() || c == '│');
                let missing =
                    word.text.split_whitespace().find(|it| !all.any(|found| found == *it));
                assert_eq!(missing, None, "{name} at {columns}: {}\n{shown}", word.name);
            }
        }
    }
    assert!(seen.len() > 40 && scrolled > 0, "{} {scrolled}", seen.len());
}

/// What does not fit into the last lines is left out as a whole, and help is always there.
#[test]
fn hints_are_whole_and_the_next_step_fits() {
    for (name, app) in scenes().into_iter().filter(|(_, app)| app.context.popup.is_none()) {
        for columns in [60, 80, 100, 120] {
            let mut terminal = Terminal::new(TestBackend::new(columns, 24)).unwrap();
            let mut hits = Hits::default();
            terminal.draw(|frame| hits = view(&app, frame)).unwrap();
            let text = text_of(terminal.backend().buffer());
            let last = text.lines().last().unwrap();
            assert!(last.starts_with(" ? help  "), "{name}: {last}");
            let right = hits.hints.iter().map(|(place, _)| place.right()).max().unwrap_or(0);
            assert!(right <= columns && !last.contains('…'), "{name}: {last}");
            let hidden =
                last.trim_end().split("? ").last().and_then(|end| end.strip_suffix(" more"));
            let shown = hits.hints.len();
            let hidden: usize = hidden.map_or(0, |count| count.parse().unwrap());
            let of_use = keymap::everywhere().chain(keymap::of(app.context.tab));
            let of_use = of_use.filter(|(command, key)| {
                let hindered = || app.screen().hindrance(key.name, &app.context).is_some();
                key.hint && (command.tab.is_none() || !hindered())
            });
            assert_eq!(shown + hidden, of_use.count(), "{name}: {last}");
            assert!(columns < 80 || next_step(&app).width() <= 80, "{name}: {}", next_step(&app));
        }
    }
}

/// A key that a screen names works there, everywhere, or on a screen that is named beside it.
#[test]
fn every_key_of_a_next_step_exists() {
    let mut keys = BTreeSet::new();
    for (name, app) in scenes() {
        let Some(step) = app.screen().next_step(&app.context) else { continue };
        let words = step.split([' ', ',', ';', ':', '(', ')']).filter(|word| {
            let letter = word.len() == 1 && *word != "a";
            letter || ["Enter", "Space", "Tab"].contains(word) || word.starts_with("Ctrl-")
        });
        let named: Vec<&str> = words.collect();
        let place = |tab: &Tab| named.contains(&(tab.index() + 1).to_string().as_str());
        let tabs = Tab::ALL.iter().filter(|tab| **tab == app.context.tab || place(tab));
        let known: Vec<String> = keymap::everywhere()
            .chain(tabs.flat_map(|tab| keymap::of(*tab)))
            .flat_map(|(_, key)| key.keys.iter().map(|key| keys::shown(key)))
            .collect();
        for key in named {
            assert!(
                known.iter().any(|known| known == key),
                "{name}: '{key}' of '{step}' is no key"
            );
            keys.insert((app.context.tab.index(), key.to_owned()));
        }
    }
    assert!(keys.len() >= 15, "{keys:?}");
}

#[test]
fn every_step_of_the_tutorial_has_a_strip_beside_what_it_speaks_of() {
    let ranking = {
        let mut app = fixtures::loaded();
        app.go_to(Tab::Rank);
        app
    };
    let steps = vec![
        ("add", 0, fixtures::loaded()),
        ("browse", 0, fixtures::browsing()),
        ("rank", 1, ranking),
        ("ranked", 2, fixtures::ranked()),
        ("rehearse", 2, fixtures::priced()),
        ("plan", 4, fixtures::priced()),
        ("run", 4, fixtures::running()),
        ("verdict", 5, fixtures::comparing()),
        ("report", 6, fixtures::spending()),
        ("end", 7, fixtures::comparing()),
    ];
    for (name, done, mut app) in steps {
        app.context.tutorial = Some(Tutorial { done });
        for (columns, rows) in [(80, 24), (160, 50)] {
            let terminal = drawn(&app, columns, rows);
            let text = text_of(terminal.backend().buffer());
            assert!(text.contains("Tutorial") && text.contains("Esc leaves"), "{text}");
            insta::assert_snapshot!(
                format!("tutorial_{name}_{columns}x{rows}"),
                terminal.backend()
            );
        }
    }
}

/// Every ± and every range in brackets is one of 95 %, and the screen says so.
#[test]
fn a_screen_with_a_range_says_that_it_is_one_of_95_percent() {
    // `31.2 (26.8–35.8)` or `40 % (26 to 53)`.
    let has_brackets = |text: &str| {
        text.match_indices('(').any(|(at, _)| {
            let inside = text[at + 1..].split(')').next().unwrap_or_default();
            let ends: Vec<&str> = inside.split("–").flat_map(|it| it.split(" to ")).collect();
            let is_number = |end: &&str| {
                let end = end.split(',').next().unwrap_or_default().trim_matches(['−', ' ']);
                let words = [" more", " less", " fewer"];
                let number = words.iter().find_map(|it| end.strip_suffix(it)).unwrap_or(end);
                number.parse::<f64>().is_ok()
            };
            ends.len() == 2 && ends.iter().all(is_number)
        })
    };
    assert!(
        has_brackets("x 31.2 (26.8–35.8, cap 140)")
            && has_brackets("40 % less (2 more to 53 less)")
    );
    assert!(!has_brackets("ε (a to b)") && !has_brackets("best (i)"));
    let mut seen = BTreeSet::new();
    for (name, mut app) in scenes() {
        let words = app.screen().words(&app.context);
        let explained = words.into_iter().map(|word| (format!("{name}, {}", word.name), word.text));
        app.context.popup = None;
        let drawn = [(120, 40), (200, 60)]
            .map(|(columns, rows)| (name.to_owned(), text_of(&buffer(&app, columns, rows))));
        for (what, text) in drawn.into_iter().chain(explained) {
            if text.contains('±') || has_brackets(&text) {
                let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(joined.contains("95 %"), "{what}:\n{text}");
                assert!(!joined.contains("standard deviation"), "{what}:\n{text}");
                seen.insert(what);
            }
        }
    }
    for name in ["rank_exact", "rank_errors", "run_finished", "compare_selected"] {
        assert!(seen.contains(name), "{name} has no range: {seen:?}");
    }
}

/// The numbers of training are behind `i`, each with its unit and which way is better.
#[test]
fn numbers_of_training_have_a_unit_and_are_not_beside_the_answer() {
    let app = fixtures::correcting();
    for (columns, rows) in SIZES {
        let text = text_of(&buffer(&app, columns, rows));
        for words in ["objective", "gradient norm", "regions", "× noise"] {
            assert!(!text.contains(words), "{words}\n{text}");
        }
    }
    let words = app.screen().words(&app.context);
    let word = words.iter().find(|word| word.name == "numbers of training").unwrap();
    for wanted in [
        "Objective, in scaled units, less is better\n",
        "More could be learned: what is left is 3.0 times the noise.",
        "Of the largest part: level 100 %, scale 50 %, regions 1 %.",
        "in sizes of its noise: temp 4.0, hr 1.5.",
    ] {
        assert!(word.text.contains(wanted), "{wanted}\n{}", word.text);
    }
    // Each has a title of its own, and an empty line between two.
    let mut app = app;
    app.context.popup = Some(OpenPopup::Words(Words::new(vec![word.clone()])));
    let drawn = buffer(&app, 200, 60);
    let text = text_of(&drawn);
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("Corrections of the public")).unwrap();
    let inside = |line: &str| line.split('│').nth(1).unwrap_or_default().trim().to_owned();
    assert!(inside(lines[at - 1]).is_empty(), "{text}");
    let start = lines[at].chars().position(|it| it == 'C').unwrap();
    assert!(drawn[(start as u16, at as u16)].modifier.contains(Modifier::BOLD));
}

#[test]
fn sealed_no_scene_shows_an_exact_number() {
    for (name, app) in scenes() {
        app.context.watch.seal(true);
        for (columns, rows) in SIZES {
            let text = text_of(&buffer(&app, columns, rows));
            // Exact numbers of the stage: 90 + …, 103.25 (source-only), 1000 + … (archive).
            for number in [
                "103 ◆", "91.5", "88.8", "1.11k", "1.12k", "1.13k", "1.111k", "1.112k", "61 ",
                "north", "0.520", "12 more",
            ] {
                let browsing = name == "data_browser";
                assert!(browsing || !text.contains(number), "{name} shows {number}:\n{text}");
            }
            assert!(!text.contains("private ◆"), "{name} has an exact column:\n{text}");
        }
    }
}

#[test]
fn columns_of_private_rows_are_empty_frames_until_somebody_looks() {
    let shown = |app: &App| {
        let text = text_of(&buffer(app, 120, 40));
        let line = text.lines().find(|line| line.contains("│temp ")).map(str::to_owned);
        (line.unwrap_or_else(|| panic!("{text}")), text)
    };
    let (hidden, _) = shown(&fixtures::loaded());
    let own = hidden.split_whitespace().nth(2).unwrap();
    assert!(own.starts_with("[····") && hidden.contains('▇'), "{hidden}");
    let mut app = fixtures::peeking();
    app.focus_on(COLUMNS);
    let (exact, text) = shown(&app);
    assert!(
        text.contains("◆ winter · bikers (regression) · 15 columns") && text.contains("│◆ winter "),
        "{text}"
    );
    assert!(!exact.contains("[··") && exact.contains('▇'), "{exact}");
    app.context.watch.seal(true);
    let (sealed, text) = shown(&app);
    assert!(!text.contains("◆ winter"), "{text}");
    assert_eq!(sealed, hidden);
}

#[test]
fn few_values_are_shown_with_their_shares_and_other_numbers_with_the_median() {
    let mut app = fixtures::loaded();
    app.focus_on(COLUMNS);
    let mut shown = |column: &str| {
        let texts = (0..16).map(|place| {
            app.screens.data.place = place;
            text_of(&buffer(&app, 120, 40))
        });
        texts.into_iter().find(|text| text.contains(&format!("┌ {column} "))).unwrap()
    };
    let few = shown("workingday");
    let shares = few.lines().filter(|line| line.matches(" %").count() == 3);
    assert!(shares.count() == 2 && !few.contains(" median "), "{few}");
    let many = shown("hum");
    assert!(many.matches(" median ").count() == 3, "{many}");
}

#[test]
fn a_column_of_zeros_in_one_public_file_may_be_missing() {
    let sets = [("ours", Role::Private), ("basel", Role::Public), ("prague", Role::Public)];
    let app = |zero_from: usize, prague: usize| {
        let chol = |set: usize, row: usize| match set {
            1 if row >= zero_from => 0,
            2 if row < prague => 0,
            _ => 180 + row,
        };
        fixtures::tables("stay,chol", &sets, &|set, row| format!("{row},{}", chol(set, row)))
    };
    let said = |app: &App| text_of(&buffer(app, 120, 40)).contains("'chol' is");
    assert!(said(&app(0, 0)) && said(&app(3, 0)));
    let text = text_of(&buffer(&app(0, 0), 120, 40));
    assert!(text.contains("'chol' is always 0 in basel: missing?"), "{text}");
    assert!(!said(&app(20, 0)) && !said(&app(0, 1)));
    let mut elsewhere = app(0, 0);
    elsewhere.screens.data.selected = 2;
    assert!(!said(&elsewhere));
}

#[test]
fn a_column_that_is_mostly_missing_in_one_public_file_is_said_there() {
    let sets = [("ours", Role::Private), ("basel", Role::Public), ("prague", Role::Public)];
    let app = |gaps: usize| {
        let chol = |set: usize, row: usize| match set {
            1 if row < gaps => String::new(),
            _ => (180 + row * 7 % 13).to_string(),
        };
        fixtures::tables("stay,chol", &sets, &|set, row| format!("{row},{}", chol(set, row)))
    };
    let mut mostly = app(31);
    for (selected, told) in [(0, true), (1, true), (2, false)] {
        mostly.screens.data.selected = selected;
        let text = text_of(&buffer(&mostly, 120, 40));
        let words = "mostly missing in 'basel', not in 'prague': 'chol' (51 %)";
        assert_eq!(text.contains(words), told, "{text}");
    }
    assert!(!text_of(&buffer(&app(30), 120, 40)).contains("mostly missing"));
    // Rows that may be private tell nothing.
    let withheld = overlap::rows_of("ours", "basel");
    mostly.context.compared.insert("basel".to_owned(), Some(withheld));
    for selected in [0, 1] {
        mostly.screens.data.selected = selected;
        assert!(!text_of(&buffer(&mostly, 120, 40)).contains("mostly missing"));
    }
}

#[test]
fn datasets_with_long_names_are_told_apart_wherever_they_are_cut() {
    let name = |place: &str| format!("clinic_of_the_university_of_{place}");
    let names = ["basel", "geneva", "zug"].map(name);
    let roles = [Role::Private, Role::Public, Role::Public];
    let sets: Vec<_> = names.iter().map(String::as_str).zip(roles).collect();
    let mut app = fixtures::tables("stay,chol", &sets, &|set, row| format!("{row},{}", set + row));
    let mut cut = 0;
    for tab in [Tab::Data, Tab::Rank] {
        app.context.tab = tab;
        for (columns, rows) in [(60, 24), (80, 24), (120, 36)] {
            let text = text_of(&buffer(&app, columns, rows));
            let words = text.split(|c: char| c.is_whitespace() || c == '│');
            let found: Vec<&str> =
                words.filter(|it| it.starts_with("cli") && it.contains('…')).collect();
            let means = |it: &str, name: &String| {
                let (start, end) = it.split_once('…').unwrap();
                name.starts_with(start) && name.ends_with(end)
            };
            let is_one = |it: &&&str| names.iter().filter(|name| means(it, name)).count() == 1;
            assert_eq!(found.iter().find(|it| !is_one(it)), None, "{tab:?} {columns}: {text}");
            cut += found.len();
        }
    }
    assert!(cut > 8, "{cut}");
}

#[test]
fn a_public_dataset_that_may_hold_private_rows_shows_no_distribution() {
    let mut app = fixtures::loaded();
    app.context.session.datasets.truncate(2);
    let withheld = overlap::rows_of("winter", "spring");
    app.context.compared.insert("spring".to_owned(), Some(withheld));
    for selected in [0, 1] {
        app.screens.data.selected = selected;
        for (columns, rows) in SIZES {
            let text = text_of(&buffer(&app, columns, rows));
            assert!(text.contains("[····") && !text.contains(['▁', '▇']), "{text}");
        }
    }
}

#[test]
fn images_are_pictures_in_colours_or_in_shades() {
    let pixels = |app: &App| {
        let buffer = buffer(app, 120, 40);
        let cells = buffer.content.iter().filter(|cell| cell.symbol() == "▀");
        cells.map(|cell| (cell.fg, cell.bg)).collect::<Vec<_>>()
    };
    let mut app = fixtures::pictured();
    let found = pixels(&app);
    // Of each of two public sets four images, each as large as two lines of eight pixels at least.
    assert!(found.len() >= 2 * 4 * 2 * 8, "{found:?}");
    assert!(found.contains(&(Color::Rgb(0, 0, 0), Color::Rgb(0, 0, 0))) || found.len() > 200);
    let greys = |colour: &Color| matches!(colour, Color::Rgb(r, g, b) if r == g && g == b);
    assert!(found.iter().all(|(upper, lower)| greys(upper) && greys(lower)), "{found:?}");
    app.theme = Theme::monochrome();
    let text = text_of(&buffer(&app, 120, 40));
    assert!(pixels(&app).is_empty() && text.contains('█') && text.contains('▒'), "{text}");
    assert!(text.contains("ours [····") && text.contains("images of 8 × 8 pixels"), "{text}");
}

#[test]
fn images_as_pixels_are_those_of_public_rows_that_may_be_seen() {
    let mut app = fixtures::pictured();
    app.pictures = crate::pictures::Drawing::Pixels;
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    let mut shown = |app: &App| {
        let mut hits = Hits::default();
        terminal.draw(|frame| hits = view(app, frame)).unwrap();
        let letters = terminal.backend().buffer().content.iter();
        (hits.pictures, letters.filter(|it| it.symbol().starts_with('\u{10eeee}')).count())
    };
    let (pictures, letters) = shown(&app);
    // Four images of each of two public sets; none of the private one, which has the same pixels as
    // the first.
    assert_eq!(pictures.len(), 8);
    assert_eq!(letters, pictures.iter().map(|it| it.columns * it.rows).sum::<usize>());
    assert!(pictures.iter().all(|it| it.size == (8, 8) && it.pixels.len() == 8 * 8 * 3));
    let private = Some(overlap::rows_of("ours", "theirs"));
    app.context.compared =
        app.context.compared.keys().map(|it| (it.clone(), private.clone())).collect();
    assert_eq!(shown(&app), (Vec::new(), 0));
}

#[test]
fn exact_numbers_carry_their_mark_and_their_colour() {
    let theme = Theme::truecolor();
    for name in ["run", "compare", "rows"] {
        let app = match name {
            "run" => fixtures::running(),
            "compare" => fixtures::pinned(),
            _ => fixtures::peeking(),
        };
        let buffer = buffer(&app, 120, 40);
        assert!(text_of(&buffer).contains('◆'), "{name} shows no mark");
        let mut cells = buffer.content.iter();
        let colour = cells.any(|cell| Some(cell.fg) == theme.curator.fg && cell.symbol() != " ");
        assert!(colour, "{name}: nothing in the curator's colour");
    }
}

#[test]
fn what_is_selected_is_reversed_and_nothing_else_is_but_the_tab_and_the_cursor() {
    let reversed = |app: &App| {
        let buffer = buffer(app, 120, 40);
        let rows = buffer.content.chunks(120).map(|row| {
            let cells = row.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED));
            cells.map(Cell::symbol).collect::<String>()
        });
        rows.filter(|row| !row.is_empty()).collect::<Vec<_>>()
    };
    let rows = reversed(&fixtures::loaded());
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].contains("1 Data") && rows[1].starts_with("winter"), "{rows:?}");
    let rows = reversed(&fixtures::comparing());
    assert!(rows[0].contains("5 Compare") && rows[1].contains("finished"), "{rows:?}");
}

#[test]
fn the_focus_is_said_by_a_mark_and_a_border() {
    let mut app = fixtures::spending();
    for (pane, title) in [(ACCOUNTS, "▶ Accounts"), (ENTRIES, "▶ Spent: winter")] {
        app.focus_on(pane);
        let text = text_of(&buffer(&app, 120, 40));
        assert!(text.contains(title), "{text}");
        assert_eq!(text.matches('▶').count(), 1, "{text}");
    }
}

#[test]
fn every_scene_fits_every_size_and_without_colour_has_none_but_keeps_its_selection() {
    for (name, mut app) in scenes() {
        app.theme = Theme::monochrome();
        for (columns, rows) in [(1, 1), (40, 10), (60, 16), (80, 24), (160, 50), (300, 100)] {
            let buffer = buffer(&app, columns, rows);
            let plain = |colour: Color| matches!(colour, Color::Reset);
            assert!(buffer.content.iter().all(|cell| plain(cell.fg) && plain(cell.bg)));
            let reversed =
                buffer.content.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED));
            assert_eq!(reversed, columns >= LEAST.0, "{name} at {columns}x{rows}");
        }
    }
}

#[test]
fn a_text_that_is_cut_says_so() {
    // The words of a drawing, each with the letters around it.
    let words = |text: &str| {
        let letters: Vec<char> = text.chars().collect();
        let mut found = Vec::new();
        let mut at = 0_usize;
        for run in letters.chunk_by(|x, y| x.is_alphabetic() == y.is_alphabetic()) {
            let (before, after) = (at.checked_sub(1).map(|at| letters[at]), at + run.len());
            if run[0].is_alphabetic() && run.len() > 1 {
                found.push((String::from_iter(run), before, letters.get(after).copied()));
            }
            at = after;
        }
        found
    };
    let wide = [(300, 100), (200, 60), (120, 40), (100, 30)];
    let known: BTreeSet<String> = scenes()
        .iter()
        .flat_map(|(_, app)| wide.map(|(columns, rows)| text_of(&buffer(app, columns, rows))))
        .flat_map(|text| words(&text))
        .filter(|(.., after)| *after != Some('…'))
        .map(|(word, ..)| word)
        .collect();
    for (name, app) in scenes() {
        for (columns, rows) in [(60, 16), (80, 24)] {
            let text = text_of(&buffer(&app, columns, rows));
            for (word, before, after) in words(&text) {
                // A window covers parts of words beside its border.
                let mut around = [before, after].into_iter().flatten();
                let beside = app.context.popup.is_some() && around.any(|it| "│┌┐└┘".contains(it));
                let says_so = [before, after].contains(&Some('…')) || beside;
                assert!(says_so || known.contains(&word), "{name} cuts {word}:\n{text}");
            }
        }
    }
}

#[test]
fn without_unicode_every_scene_is_ascii() {
    for (name, mut app) in scenes() {
        app.glyphs = Glyphs::ascii();
        for (columns, rows) in SIZES {
            let text = text_of(&buffer(&app, columns, rows));
            assert!(text.is_ascii(), "{name}:\n{text}");
        }
    }
}

#[test]
fn a_terminal_that_is_too_small_says_what_it_needs() {
    let text = text_of(&buffer(&fixtures::loaded(), 59, 16));
    assert!(text.contains("60 x 16") && text.contains("has 59 x"), "{text}");
}

#[test]
fn the_verdict_of_a_run_is_whole_in_a_small_terminal() {
    let app = fixtures::finished();
    let run = &app.context.runs[0];
    let said = crate::screen::run::result_in_words(run, &app.context.watch).unwrap();
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = joined(&text_of(&buffer(&app, 80, 24)));
    // The released score answers; the window of `i` has the exact numbers, too.
    assert!(said.contains("than public data alone"), "{said}");
    assert!(said.contains("were held out") && !shown.contains("were held out"), "{said}");
    assert!(shown.contains("better: 40 % (26 to 53) less error; ranges are 95 %"), "{shown}");
    let released = ["● 31.2 (26.8–35.8, cap 140) mean absolute error", "52.0 (43.0–61.0)"];
    let bars = shown.replace(['─', '┄'], "");
    for words in released {
        assert!(bars.contains(words), "{words}\n{bars}");
    }
}

#[test]
fn a_text_is_as_many_lines_as_a_paragraph_makes_of_it() {
    use ratatui::widgets::{Paragraph, Widget, Wrap};
    let path = format!("error: /home/me/{}: it is under way", "a-long-name/".repeat(12));
    let helps = methods::methods().iter().flat_map(|method| method.spec().fields);
    for text in helps.map(|field| field.help).chain([path.as_str()]) {
        for width in [24, 40, 60] {
            let area = Rect { x: 0, y: 0, width, height: 40 };
            let mut buffer = Buffer::empty(area);
            Paragraph::new(text).wrap(Wrap { trim: true }).render(area, &mut buffer);
            let drawn = text_of(&buffer);
            let used = drawn.lines().filter(|line| !line.trim().is_empty()).count();
            assert_eq!(usize::from(wrapped_lines(text, width)), used, "{width}: {drawn}");
        }
    }
}
