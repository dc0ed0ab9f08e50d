//! Every key of the interface: those of the screens and those that work everywhere. Dispatch, the
//! hint bar, the help, the palette and the guide read these tables.

use crossterm::event::KeyEvent;

use super::app::{App, Screens, TAB_KEYS};
use super::context::{Context, Effect, OpenPopup};
use super::export;
use super::keys::{Binding, Command, Key, also, name, show, shown};
use super::popup::picker::{Item, Picker};
use super::popup::words::Words;
use super::tab::Tab;

use crate::engine::look;
use crate::glossary::{Explained, WORDS};

type Bindings = &'static [Binding<fn(&mut App)>];

#[rustfmt::skip] // a table reads best as one
const FIRST: Bindings = &[
    show(&["?", ":"], "help", "every key and command, those of this screen first: type to search, Enter does it", open_palette),
    show(&["i"], "explain", "what does this mean? the selected field, column or chart, and every word of the screen", explain),
    show(&["q"], "quit", "quit; asks when work is unsaved or under way", |app| app.context.ask_to_quit()),
];

#[rustfmt::skip] // a table reads best as one
const REST: Bindings = &[
    also(&["ctrl-right", "}"], "next screen", "next screen", |app| app.go_to(app.context.tab.offset(1))),
    also(&["ctrl-left", "{"], "previous screen", "previous screen", |app| app.go_to(app.context.tab.offset(-1))),
    also(&["tab"], "next part", "move the focus to the next part of the screen", |app| app.move_focus(1)),
    also(&["backtab"], "previous part", "move the focus to the previous part", |app| app.move_focus(-1)),
    also(&["up", "k"], "up", "up", |app| app.select(-1)),
    also(&["down", "j"], "down", "down", |app| app.select(1)),
    also(&["pageup"], "page up", "a page up", |app| app.select(-10)),
    also(&["pagedown"], "page down", "a page down", |app| app.select(10)),
    also(&["home", "g"], "first", "first row", |app| app.select(isize::MIN / 2)),
    also(&["end", "G"], "last", "last row", |app| app.select(isize::MAX / 2)),
    also(&["z"], "maximise", "show only the part that has the focus, or everything again", |app| app.maximised = !app.maximised),
    also(&["/"], "filter", "filter the list: rows with all of the words", App::start_filter),
    also(&["u"], "undo", "undo the last change of the session", |app| restore(app, Context::undo)),
    also(&["ctrl-r"], "redo", "redo what was undone", |app| restore(app, Context::redo)),
    also(&["X"], "export", "write what is shown to a file: CSV or SVG", export::ask),
    also(&["C"], "copy", "copy what is shown to the clipboard, also over SSH (OSC 52)", export::copy),
    also(&["ctrl-s"], "save", "save the session", |app| app.context.save()),
    also(&["ctrl-o"], "open", "open a session", |app| app.context.ask_to_open()),
    also(&["v"], "seal", "sealed view: hide every exact number (◆)", seal),
    also(&["ctrl-t"], "theme", "next theme: dark, light, high-contrast", next_theme),
    also(&["ctrl-n"], "hints", "show what to do next at the foot of every screen, or not", hints),
    also(&["ctrl-z"], "suspend", "suspend the program; `fg` in the shell brings it back", |app| app.context.effects.push(Effect::Suspend)),
    also(&["ctrl-l"], "repaint", "repaint the screen", |app| app.context.effects.push(Effect::Repaint)),
    also(&["esc"], "step out", "step out one layer: window, filter, message, cursor, zoom", App::step_out),
    also(&["ctrl-c"], "quit now", "quit, from anywhere", |app| app.context.ask_to_quit()),
];

fn everywhere_bindings() -> impl Iterator<Item = &'static Binding<fn(&mut App)>> {
    FIRST.iter().chain(TAB_KEYS).chain(REST)
}

/// Explains the selected word, then the other words of the screen, then all words.
fn explain(app: &mut App) {
    let mut words = app.screen().words(&app.context);
    words.extend(WORDS.iter().map(Explained::from));
    let mut seen = std::collections::BTreeSet::new();
    words.retain(|word| seen.insert(word.name.clone()));
    app.context.popup = Some(OpenPopup::Words(Words::new(words)));
}

fn open_palette(app: &mut App) {
    let mut palette = palette(app.context.tab);
    palette.foot =
        app.config_file.as_ref().map(|path| format!("configuration: {}", path.display()));
    app.context.popup = Some(OpenPopup::Palette(palette));
}

fn restore(app: &mut App, restore: fn(&mut Context) -> bool) {
    if restore(&mut app.context) {
        app.settle();
        app.select(0);
    }
}

fn seal(app: &mut App) {
    let sealed = !app.context.watch.is_sealed();
    look::seal(&app.context.watch, sealed);
    // The file keeps it, if there is one.
    if app.context.session_path.is_some() {
        app.context.compare_with_disk();
    }
    let text = if sealed {
        "sealed: no exact number is computed or shown; ε does not cover choices by those that you \
         have seen"
    } else {
        "open: numbers marked ◆ are exact, for your eyes only; a choice made by them is not \
         covered by ε"
    };
    app.context.inform(text);
}

fn next_theme(app: &mut App) {
    app.theme = app.theme.next();
    app.context.inform(format!("theme: {}", app.theme.name));
    app.context.state.theme = Some(app.theme.name.clone());
    app.context.remember_state();
}

/// Switches the line with the next step on or off permanently.
fn hints(app: &mut App) {
    let hidden = !app.context.state.no_hints;
    app.context.state.no_hints = hidden;
    let text = if hidden { "no more hints; Ctrl-n brings them back" } else { "hints are shown" };
    app.context.inform(text);
    app.context.remember_state();
}

/// The keys of a screen.
pub fn of(tab: Tab) -> impl Iterator<Item = (Command, &'static Key)> {
    let keys = Screens::keys(tab).into_iter().enumerate();
    keys.map(move |(place, key)| (Command { tab: Some(tab), place }, key))
}

/// The keys that work on every screen.
pub fn everywhere() -> impl Iterator<Item = (Command, &'static Key)> {
    let keys = everywhere_bindings().enumerate();
    keys.map(|(place, binding)| (Command { tab: None, place }, &binding.key))
}

/// The command of `key` on a screen. The screen's own keys come first.
pub fn command(tab: Tab, key: KeyEvent) -> Option<Command> {
    let name = name(key)?;
    let mut all = of(tab).chain(everywhere());
    all.find(|(_, key)| key.keys.contains(&name.as_str())).map(|(command, _)| command)
}

/// Keys of earlier builds. They do nothing, because most mean something else on other screens now,
/// and say which key is the new one.
const OLD: [(Tab, &str, &str); 23] = [
    (Tab::Data, "b", "divide"),
    (Tab::Data, "r", "reload"),
    (Tab::Data, "y", "new dataset"),
    (Tab::Rank, "n", "name only"),
    (Tab::Rank, "d", "direction"),
    (Tab::Rank, "m", "like the plan"),
    (Tab::Rank, "b", "other result"),
    (Tab::Plan, "s", "sweep"),
    (Tab::Plan, "w", "run queue"),
    (Tab::Plan, "b", "choose best"),
    (Tab::Plan, "R", "stop rehearsal"),
    (Tab::Run, "p", "pause"),
    (Tab::Run, "s", "stop"),
    (Tab::Run, "r", "resume"),
    (Tab::Run, "o", "resume"),
    (Tab::Run, "m", "smooth"),
    (Tab::Compare, "b", "next series"),
    (Tab::Compare, "p", "take settings"),
    (Tab::Compare, "r", "resume"),
    (Tab::Compare, "o", "resume"),
    (Tab::Compare, "c", "unmark all"),
    (Tab::Ledger, "s", "settle"),
    (Tab::Ledger, "R", "repair"),
];

/// What to say about a key that had a command in earlier builds.
pub fn old_key(tab: Tab, key: KeyEvent) -> Option<String> {
    let pressed = name(key)?;
    let (.., name) = OLD.iter().find(|(on, old, _)| *on == tab && *old == pressed)?;
    let (_, key) = of(tab).find(|(_, key)| key.name == *name)?;
    let now = key.keys.first().map_or("in the palette (:)".to_owned(), |key| shown(key));
    Some(format!("{} is {now} now: {name}", shown(&pressed)))
}

/// What each letter means, on every screen that has it, and the commands that it stands for.
#[cfg(test)]
const LETTERS: [(&str, &str, &[&str]); 44] = [
    ("a", "add", &["add", "queue"]),
    ("A", "accept", &["accept"]),
    ("b", "budget", &["budget"]),
    (
        "c",
        "cancel what is under way, or settle it",
        &["cancel", "cancel reading", "stop rehearsal", "stop", "settle"],
    ),
    ("C", "copy", &["copy"]),
    ("d", "delete", &["remove", "delete"]),
    ("D", "divide", &["divide"]),
    ("e", "edit", &["edit", "settings", "tag"]),
    ("E", "each of several values", &["sweep"]),
    ("f", "freeze", &["freeze"]),
    ("F", "fix", &["repair"]),
    ("g", "first row", &["first"]),
    ("G", "last row", &["last"]),
    ("H", "to the left", &["pan left"]),
    ("i", "explain", &["explain"]),
    ("j", "down", &["down"]),
    ("J", "join other sites", &["join"]),
    ("k", "up", &["up"]),
    ("l", "launch", &["launch"]),
    ("L", "to the right", &["pan right"]),
    ("m", "mark", &["mark"]),
    ("M", "unmark all", &["unmark all"]),
    ("n", "new, like this one", &["new dataset", "new plan"]),
    ("o", "open private rows", &["rows"]),
    ("O", "only these", &["rehearse only"]),
    ("p", "privately, for some ε", &["privately", "choose best"]),
    ("P", "predict", &["predict"]),
    ("q", "quit", &["quit"]),
    ("Q", "run the queue", &["run queue"]),
    ("r", "rank, rehearse: try for free", &["rank", "rehearse"]),
    ("R", "resume", &["resume"]),
    ("s", "sort", &["order", "sort"]),
    ("S", "reverse", &["reverse"]),
    ("t", "take into the plan", &["take", "take advice", "take settings"]),
    ("T", "take a preset", &["preset"]),
    ("u", "undo", &["undo"]),
    ("U", "read again", &["reload", "refresh", "collect"]),
    ("v", "seal", &["seal"]),
    ("w", "write for others", &["report", "certificate"]),
    ("x", "back to the default", &["default"]),
    ("X", "export", &["export"]),
    ("y", "logarithmic axis", &["log"]),
    ("Y", "choose the label, y", &["label"]),
    ("z", "maximise", &["maximise"]),
];

/// Executes the command of a key, a click or the palette.
pub fn act(app: &mut App, command: Command) {
    match command.tab {
        Some(tab) => app.call(tab, command.place),
        None => {
            if let Some(binding) = everywhere_bindings().nth(command.place) {
                (binding.call)(app);
            }
        }
    }
}

/// Every command: those of this screen first, then those of the others.
pub fn palette(here: Tab) -> Picker<Command> {
    let elsewhere = Tab::ALL.iter().filter(|tab| **tab != here).flat_map(|tab| of(*tab));
    let items = of(here).chain(everywhere()).chain(elsewhere).map(|(command, key)| {
        let title = match command.tab.filter(|tab| *tab != here) {
            Some(tab) => format!("{}: {}", tab.title(), key.name),
            None => key.name.to_owned(),
        };
        Item { key: key.shown(), ..Item::new(title, key.help, command) }
    });
    Picker::new("Keys and commands", items.collect())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;
    use crate::widgets::text_field::TextField;

    /// The table of the guide, in Markdown.
    fn markdown() -> String {
        let mut text = String::from("| where | key | does |\n|---|---|---|\n");
        let mut before = "";
        for (command, key) in everywhere().chain(Tab::ALL.iter().flat_map(|tab| of(*tab))) {
            let place = command.tab.map_or("everywhere", Tab::title);
            let keys: Vec<String> = key
                .keys
                .iter()
                .map(|key| format!("`{}`", shown(key).replace('|', "\\|")))
                .collect();
            let shown = if place == before { "" } else { place };
            let _ = writeln!(text, "| {shown} | {} | {} |", keys.join(" "), key.help);
            before = place;
        }
        text
    }

    /// The command with this name on this screen, or everywhere.
    fn named(tab: Option<Tab>, name: &str) -> Command {
        let keys: Vec<_> = tab.map_or_else(|| everywhere().collect(), |tab| of(tab).collect());
        let found = keys.into_iter().find(|(_, key)| key.name == name);
        found.unwrap_or_else(|| panic!("no {name} on {tab:?}")).0
    }

    #[test]
    fn a_letter_means_one_thing_on_all_screens() {
        let page = include_str!("../../assets/guide/screens.md");
        let screens = Tab::ALL.iter().flat_map(|tab| of(*tab));
        for key in everywhere().chain(screens).map(|(_, key)| key) {
            let letters = key
                .keys
                .iter()
                .filter(|it| it.len() == 1 && it.as_bytes()[0].is_ascii_alphabetic());
            for letter in letters {
                let (_, _, names) = LETTERS
                    .iter()
                    .find(|(it, ..)| it == letter)
                    .unwrap_or_else(|| panic!("{letter} ({}) has no meaning yet", key.name));
                assert!(names.contains(&key.name), "{letter} does not mean {}", key.name);
            }
        }
        let row = |(letter, meaning, names): &(&str, &str, &[&str])| {
            format!("| `{letter}` | {meaning} | {} |", names.join(", "))
        };
        let table: Vec<String> = LETTERS.iter().map(row).collect();
        assert!(page.contains(&table.join("\n")), "the guide lacks:\n{}", table.join("\n"));
    }

    #[test]
    fn an_old_key_names_the_new_one() {
        let press = |tab, key| old_key(tab, KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
        assert_eq!(press(Tab::Data, 'b').unwrap(), "b is D now: divide");
        assert_eq!(press(Tab::Rank, 'd').unwrap(), "d is in the palette (:) now: direction");
        for (tab, old, name) in &OLD {
            assert!(of(*tab).any(|(_, key)| key.name == *name), "{name}");
            // An old key that now means something else would never be reached.
            let taken = of(*tab).chain(everywhere()).any(|(_, key)| key.keys.contains(old));
            assert!(!taken, "{old} on {}", tab.title());
        }
    }

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for tab in Tab::ALL {
            let mut seen = std::collections::BTreeSet::new();
            for key in of(*tab).chain(everywhere()).flat_map(|(_, key)| key.keys) {
                assert!(seen.insert(key), "{key} is bound twice on {}", tab.title());
            }
        }
    }

    #[test]
    fn keys_are_found_by_their_name_and_modifiers_matter() {
        let key = KeyEvent::new;
        let save = key(KeyCode::Char('s'), KeyModifiers::CONTROL);
        assert_eq!(command(Tab::Run, save), Some(named(None, "save")));
        let stop = key(KeyCode::Char('c'), KeyModifiers::NONE);
        assert_eq!(command(Tab::Run, stop), Some(named(Some(Tab::Run), "stop")));
        assert_eq!(command(Tab::Data, key(KeyCode::Char('s'), KeyModifiers::NONE)), None);
        let big = key(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(command(Tab::Data, big), Some(named(None, "last")));
        let pan = key(KeyCode::Left, KeyModifiers::SHIFT);
        assert_eq!(command(Tab::Run, pan), Some(named(Some(Tab::Run), "pan left")));
    }

    #[test]
    fn every_key_of_the_table_can_be_pressed() {
        let screens = Tab::ALL.iter().flat_map(|tab| of(*tab));
        for key in screens.chain(everywhere()).flat_map(|(_, key)| key.keys) {
            let (modifiers, rest) = match (key.strip_prefix("ctrl-"), key.strip_prefix("shift-")) {
                (Some(rest), _) => (KeyModifiers::CONTROL, rest),
                (_, Some(rest)) => (KeyModifiers::SHIFT, rest),
                _ => (KeyModifiers::NONE, *key),
            };
            let code = match rest {
                "space" => KeyCode::Char(' '),
                "enter" => KeyCode::Enter,
                "esc" => KeyCode::Esc,
                "tab" => KeyCode::Tab,
                "backtab" => KeyCode::BackTab,
                "up" => KeyCode::Up,
                "down" => KeyCode::Down,
                "left" => KeyCode::Left,
                "right" => KeyCode::Right,
                "pageup" => KeyCode::PageUp,
                "pagedown" => KeyCode::PageDown,
                "home" => KeyCode::Home,
                "end" => KeyCode::End,
                "delete" => KeyCode::Delete,
                _ => {
                    assert_eq!(rest.chars().count(), 1, "{key} is not a key");
                    KeyCode::Char(rest.chars().next().unwrap())
                }
            };
            assert_eq!(name(KeyEvent::new(code, modifiers)).as_deref(), Some(*key));
        }
    }

    #[test]
    fn the_guide_lists_exactly_these_keys() {
        let page = include_str!("../../assets/guide/screens.md");
        let (_, rest) = page.split_once("<!-- keys -->\n").expect("the mark before the table");
        let (table, _) = rest.split_once("<!-- end of keys -->").expect("the mark behind it");
        let wanted = markdown();
        assert!(table == wanted, "the guide's table of keys should read:\n{wanted}");
    }

    fn first(query: &str, here: Tab) -> Command {
        let mut picker = palette(here);
        picker.query = TextField::new(query);
        picker.into_chosen().unwrap()
    }

    #[test]
    fn commands_are_found_by_name_by_description_and_by_key() {
        assert_eq!(first("launch", Tab::Plan), named(Some(Tab::Plan), "launch"));
        assert_eq!(first("clipboard", Tab::Run), named(None, "copy"));
        assert_eq!(first("Ctrl-l", Tab::Data), named(None, "repaint"));
        assert_eq!(first("budget", Tab::Data), named(Some(Tab::Ledger), "budget"));
        assert!(palette(Tab::Data).matches().len() > 60);
    }

    #[test]
    fn the_selection_stays_among_the_matches() {
        let mut picker = palette(Tab::Data);
        picker.step(isize::MAX);
        assert!(picker.chosen().is_some());
        picker.query = TextField::new("zzzzqqq");
        assert!(picker.chosen().is_none());
        picker.step(1);
        assert_eq!(picker.selected, 0);
    }
}
