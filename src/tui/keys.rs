//! A key with its words and its action; how keys are written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::tab::Tab;

/// The description of a key in the hint bar, the help, the palette and the guide.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Any of these, written as on the screen: `q`, `ctrl-s`, `left`.
    pub keys: &'static [&'static str],
    /// One or two words: for the hint bar and the palette.
    pub name: &'static str,
    /// Whether the key has a place in the hint bar.
    pub hint: bool,
    pub help: &'static str,
}

impl Key {
    /// All keys in the form shown on the screen.
    pub fn shown(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|key| shown(key)).collect();
        keys.join(" ")
    }
}

/// A key and the function that it calls.
#[derive(Debug, Clone, Copy)]
pub struct Binding<F: 'static> {
    pub key: Key,
    pub call: F,
}

type Text = &'static str;

/// A binding that the hint bar shows.
pub const fn show<F: Copy>(keys: &'static [Text], name: Text, help: Text, call: F) -> Binding<F> {
    Binding { key: Key { keys, name, hint: true, help }, call }
}

/// A binding that only the help and the palette show.
pub const fn also<F: Copy>(keys: &'static [Text], name: Text, help: Text, call: F) -> Binding<F> {
    Binding { key: Key { keys, name, hint: false, help }, call }
}

/// A binding by its index in the table of a screen, or in the table for all screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub tab: Option<Tab>,
    pub place: usize,
}

/// Keys that are no letters: how the table and how the screen writes them.
const NAMED: [(KeyCode, &str, &str); 14] = [
    (KeyCode::Char(' '), "space", "Space"),
    (KeyCode::Enter, "enter", "Enter"),
    (KeyCode::Esc, "esc", "Esc"),
    (KeyCode::Tab, "tab", "Tab"),
    (KeyCode::BackTab, "backtab", "Shift-Tab"),
    (KeyCode::Up, "up", "↑"),
    (KeyCode::Down, "down", "↓"),
    (KeyCode::Left, "left", "←"),
    (KeyCode::Right, "right", "→"),
    (KeyCode::PageUp, "pageup", "PgUp"),
    (KeyCode::PageDown, "pagedown", "PgDn"),
    (KeyCode::Home, "home", "Home"),
    (KeyCode::End, "end", "End"),
    (KeyCode::Delete, "delete", "Del"),
];

/// A key in the form of the table.
pub fn name(key: KeyEvent) -> Option<String> {
    let named = NAMED.iter().find(|(code, ..)| *code == key.code);
    let plain = match (named, key.code) {
        (Some((_, name, _)), _) => (*name).to_owned(),
        (None, KeyCode::Char(c)) => c.to_string(),
        _ => return None,
    };
    let is_arrow = matches!(key.code, KeyCode::Left | KeyCode::Right);
    if key.modifiers.contains(KeyModifiers::ALT) {
        None
    } else if key.modifiers.contains(KeyModifiers::CONTROL) {
        Some(format!("ctrl-{plain}"))
    } else if is_arrow && key.modifiers.contains(KeyModifiers::SHIFT) {
        Some(format!("shift-{plain}"))
    } else {
        Some(plain)
    }
}

/// A key in the form shown on the screen.
pub fn shown(key: &str) -> String {
    let named = NAMED.iter().find(|(_, name, _)| *name == key);
    match (named, key.strip_prefix("ctrl-"), key.strip_prefix("shift-")) {
        (Some((.., words)), ..) => (*words).to_owned(),
        (_, Some(rest), _) => format!("Ctrl-{}", shown(rest)),
        (.., Some(rest)) => format!("Shift-{}", shown(rest)),
        _ => key.to_owned(),
    }
}
