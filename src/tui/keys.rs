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

type KeyNames = &'static [&'static str];

/// A binding that the hint bar shows.
pub const fn show<F: Copy>(
    keys: KeyNames,
    name: &'static str,
    help: &'static str,
    call: F,
) -> Binding<F> {
    Binding { key: Key { keys, name, hint: true, help }, call }
}

/// A binding that only the help and the palette show.
pub const fn also<F: Copy>(
    keys: KeyNames,
    name: &'static str,
    help: &'static str,
    call: F,
) -> Binding<F> {
    Binding { key: Key { keys, name, hint: false, help }, call }
}

/// A binding by its index in the table of a screen, or in the table for all screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub tab: Option<Tab>,
    pub place: usize,
}

/// A key in the form of the table.
pub fn name(key: KeyEvent) -> Option<String> {
    let plain = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Esc => "esc".to_owned(),
        KeyCode::Tab => "tab".to_owned(),
        KeyCode::BackTab => "backtab".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::PageUp => "pageup".to_owned(),
        KeyCode::PageDown => "pagedown".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::Delete => "delete".to_owned(),
        _ => return None,
    };
    if key.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return Some(format!("ctrl-{plain}"));
    }
    let is_arrow = matches!(key.code, KeyCode::Left | KeyCode::Right);
    if is_arrow && key.modifiers.contains(KeyModifiers::SHIFT) {
        return Some(format!("shift-{plain}"));
    }
    Some(plain)
}

/// A key in the form shown on the screen.
pub fn shown(key: &str) -> String {
    let words = match key {
        "enter" => "Enter",
        "esc" => "Esc",
        "space" => "Space",
        "tab" => "Tab",
        "backtab" => "Shift-Tab",
        "left" => "←",
        "right" => "→",
        "up" => "↑",
        "down" => "↓",
        "pageup" => "PgUp",
        "pagedown" => "PgDn",
        "home" => "Home",
        "end" => "End",
        "delete" => "Del",
        _ => {
            return match (key.strip_prefix("ctrl-"), key.strip_prefix("shift-")) {
                (Some(rest), _) => format!("Ctrl-{}", shown(rest)),
                (_, Some(rest)) => format!("Shift-{}", shown(rest)),
                _ => key.to_owned(),
            };
        }
    };
    words.to_owned()
}
