//! A list to choose from by typing a few letters: the command palette, presets,
//! earlier runs, files.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::engine::shelf::{Listing, Schema};
use crate::error::Result;
use crate::session::PlanDefinition;
use crate::tui::app::Tab;
use crate::tui::fuzzy;
use crate::tui::keymap::{self, Action, Scope};
use crate::tui::widgets::text_field::TextField;

/// What choosing an item means.
#[derive(Debug, Clone, PartialEq)]
pub enum Picked {
    Do(Option<Tab>, Action),
    Preset(usize),
    Plan(Box<PlanDefinition>),
    Directory(String),
    File(String),
}

#[derive(Debug, Clone)]
pub struct Item {
    pub title: String,
    pub detail: String,
    pub key: String,
    pub picked: Picked,
}

#[derive(Debug)]
pub struct Picker {
    pub title: String,
    pub query: TextField,
    pub items: Vec<Item>,
    /// Among the items that match.
    pub selected: usize,
}

impl Picker {
    pub fn new(title: &str, items: Vec<Item>) -> Self {
        Self { title: title.to_owned(), query: TextField::default(), items, selected: 0 }
    }

    /// The items that match, the best first; all in their order without a query.
    pub fn matches(&self) -> Vec<&Item> {
        let query = self.query.text();
        if query.trim().is_empty() {
            return self.items.iter().collect();
        }
        let mut scored: Vec<(i32, &Item)> = self
            .items
            .iter()
            .filter_map(|item| {
                // A hit in the name is worth more than one in the description.
                let name = fuzzy::score(query, &item.title).map(|score| 2 * score + 20);
                let detail = fuzzy::score(query, &item.detail);
                let key = (item.key == query.trim()).then_some(200);
                name.max(detail).max(key).map(|score| (score, item))
            })
            .collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        scored.into_iter().map(|(_, item)| item).collect()
    }

    pub fn chosen(&self) -> Option<&Item> {
        self.matches().get(self.selected).copied()
    }

    pub fn step(&mut self, by: isize) {
        let last = self.matches().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Moves or types.
    pub fn handle(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Down => self.step(1),
            KeyCode::Up => self.step(-1),
            KeyCode::Char('n' | 'j') if control => self.step(1),
            KeyCode::Char('p' | 'k') if control => self.step(-1),
            KeyCode::PageDown => self.step(10),
            KeyCode::PageUp => self.step(-10),
            _ => {
                self.query.handle(key);
                self.selected = 0;
            }
        }
    }
}

/// Every command: those of this screen first, then the others'.
pub fn palette(here: Tab) -> Picker {
    let rank = |scope: Scope| match scope {
        Scope::On(tab) if tab == here => 0,
        Scope::Everywhere => 1,
        Scope::On(_) => 2,
    };
    let mut bindings: Vec<_> = keymap::BINDINGS.iter().collect();
    bindings.sort_by_key(|binding| rank(binding.scope));
    let items = bindings.into_iter().map(|binding| {
        let tab = match binding.scope {
            Scope::On(tab) => Some(tab),
            Scope::Everywhere => None,
        };
        let title = match tab.filter(|tab| *tab != here) {
            Some(tab) => format!("{}: {}", tab.title(), binding.name),
            None => binding.name.to_owned(),
        };
        Item {
            title,
            detail: binding.help.to_owned(),
            key: keymap::shown_keys(binding),
            picked: Picked::Do(tab, binding.action),
        }
    });
    Picker::new("Commands", items.collect())
}

/// A directory, and a first look at the file under the cursor.
#[derive(Debug)]
pub struct Files {
    pub directory: PathBuf,
    pub picker: Picker,
    pub glance: Option<(PathBuf, Result<Schema>)>,
}

impl Files {
    pub fn new(listing: &Listing) -> Self {
        let up = Item {
            title: "..".to_owned(),
            detail: "the directory above".to_owned(),
            key: String::new(),
            picked: Picked::Directory("..".to_owned()),
        };
        let items = listing.entries.iter().map(|entry| Item {
            title: if entry.is_directory { format!("{}/", entry.name) } else { entry.name.clone() },
            detail: String::new(),
            key: if entry.is_directory { String::new() } else { size(entry.bytes) },
            picked: if entry.is_directory {
                Picked::Directory(entry.name.clone())
            } else {
                Picked::File(entry.name.clone())
            },
        });
        let mut picker = Picker::new("Add a dataset", std::iter::once(up).chain(items).collect());
        picker.selected = usize::from(picker.items.len() > 1);
        Self { directory: listing.directory.clone(), picker, glance: None }
    }

    /// The file under the cursor.
    pub fn file(&self) -> Option<PathBuf> {
        match &self.picker.chosen()?.picked {
            Picked::File(name) => Some(self.directory.join(name)),
            _ => None,
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(query: &str, here: Tab) -> Picked {
        let mut picker = palette(here);
        picker.query = TextField::new(query);
        picker.chosen().unwrap().picked.clone()
    }

    #[test]
    fn commands_are_found_by_name_by_description_and_by_key() {
        assert_eq!(first("launch", Tab::Plan), Picked::Do(Some(Tab::Plan), Action::Launch));
        assert_eq!(first("clipboard", Tab::Run), Picked::Do(None, Action::Copy));
        assert_eq!(first("Ctrl-l", Tab::Data), Picked::Do(None, Action::Repaint));
        assert_eq!(first("budget", Tab::Data), Picked::Do(Some(Tab::Ledger), Action::SetBudget));
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
