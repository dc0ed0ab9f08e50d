//! The definition of a screen. Each has a folder: `mod.rs` is its own state, `update` its keys and
//! their actions, `view` its picture. The list of the screens is in [`tab`](super::tab).

mod charts;
pub mod compare;
pub mod data;
pub mod ledger;
pub mod plan;
pub mod rank;
pub mod run;

use crossterm::event::KeyEvent;
use ratatui::style::Style;

use super::canvas::{Canvas, Rect};
use super::context::{Change, Context};
use super::keys::Binding;
use super::tab::Pane;
use super::text_table::Sheet;
use super::theme::Theme;
use super::widgets::viewport::Viewport;
use crate::glossary::{self, Explained};
use crate::privacy::Watch;
use crate::verdict::Tone;

/// The keys of a screen, each with the function that it calls.
///
/// ```
/// use halflight_tui::keys::show;
/// use halflight_tui::screen::{Keys, rank::RankScreen};
///
/// const KEYS: Keys<RankScreen> =
///     &[show(&["T"], "top", "go to the first dataset", |screen, _| screen.selected = 0)];
/// ```
///
/// A function for another screen does not compile:
///
/// ```compile_fail,E0308
/// use halflight_tui::context::Context;
/// use halflight_tui::keys::show;
/// use halflight_tui::screen::{Keys, data::DataScreen, rank::RankScreen};
///
/// fn top(screen: &mut RankScreen, _: &mut Context) {
///     screen.selected = 0;
/// }
/// const KEYS: Keys<DataScreen> = &[show(&["T"], "top", "go to the first dataset", top)];
/// ```
pub type Keys<S> = &'static [Binding<fn(&mut S, &mut Context)>];

pub trait Screen {
    fn keys() -> Keys<Self>
    where
        Self: Sized;

    /// The parts that can have the focus, the usual one first.
    fn panes(&self, context: &Context) -> Vec<Pane>;

    /// Moves the selection of a part by this many rows.
    fn select(&mut self, pane: Pane, by: isize, context: &Context);

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect);

    /// Called when the screen is shown.
    fn open(&mut self, _context: &mut Context) {}

    /// Called when the shared state has changed.
    fn follow(&mut self, _change: &Change, _context: &mut Context) {}

    /// The meanings of its words: that of the selected field, column or chart first.
    fn words(&self, context: &Context) -> Vec<Explained>;

    /// The next step for a new user.
    fn next_step(&self, context: &Context) -> Option<String>;

    /// Why the key with this name has no effect now. Such a key changes nothing: it shows the reason,
    /// and the hint bar leaves it out.
    fn hindrance(&self, _name: &str, _context: &Context) -> Option<&'static str> {
        None
    }

    /// Leaves one of its own layers; false if there was none.
    fn step_out(&mut self, _context: &mut Context) -> bool {
        false
    }

    /// Sorts by the column with this head; a second time in reverse order.
    fn sort_by(&mut self, _head: &str) {}

    /// The viewport of its charts, and the range of their data.
    fn charts(&mut self, _context: &Context) -> Option<(&mut Viewport, (f64, f64))> {
        None
    }

    /// Passes a key to the field that is being typed; false if there is none.
    fn type_key(&mut self, _key: KeyEvent, _context: &mut Context) -> bool {
        false
    }

    /// Passes a paste to the field that is being typed; false if there is none.
    fn paste(&mut self, _text: &str) -> bool {
        false
    }

    /// Whether a field is being typed, which takes letters that are keys elsewhere.
    fn is_typing(&self) -> bool {
        false
    }

    /// Leaves the field that is being typed unchanged.
    fn stop_typing(&mut self) {}

    /// Filtered and sorted table of the screen, with the exact numbers that `watch` may see.
    fn sheet(&self, _context: &Context, _watch: &Watch) -> Option<Sheet> {
        None
    }

    /// The name of an export, if it is not the title of the screen.
    fn export_name(&self) -> Option<&'static str> {
        None
    }

    /// The focused part.
    fn focus(&self, context: &Context) -> Option<Pane> {
        let panes = self.panes(context);
        let wanted = context.wanted_pane().filter(|pane| panes.contains(pane));
        wanted.or(panes.first().copied())
    }
}

/// The keys for a run whose program died.
const DIED_RUN: &str = "a run died: R on Compare (5) resumes it, c on Ledger (6) settles it";

/// The cost of a plan that draws nothing from private records.
const SPENDS_NOTHING: &str = "spends nothing: public data alone";

/// A scrolling text hardly has more lines than this; the view knows its real end.
const LONGEST_TEXT: usize = 40;

/// The explanations of words, which have a semicolon between them.
fn explained(words: &str) -> Vec<Explained> {
    words.split("; ").filter_map(glossary::explain).collect()
}

/// Parts with a title each, for the window that explains words: it shows the title of a paragraph in
/// bold, and an empty line between two.
fn listed<T: std::fmt::Display>(parts: impl IntoIterator<Item = (T, String)>) -> String {
    let parts = parts.into_iter().map(|(title, text)| format!("{title}\n{text}"));
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The style of a verdict.
fn toned(theme: &Theme, tone: Tone) -> Style {
    match tone {
        Tone::Good => theme.good,
        Tone::Unsure => theme.text,
        Tone::Bad => theme.error,
    }
}

/// The style of a run's state in the archive or the ledger.
fn of_state(theme: &Theme, state: &str) -> Style {
    match state {
        "finished" => theme.good,
        "running" => theme.accent,
        "paused" | "missing" | "unseen" | "reserved" | "claimed" => theme.warning,
        "stopped" | "not begun" => theme.text,
        _ => theme.error,
    }
}

/// The entry this many rows from the selected one, among the visible ones.
fn moved(visible: &[usize], selected: usize, by: isize) -> usize {
    let here = visible.iter().position(|index| *index == selected).unwrap_or(0);
    let next = here.saturating_add_signed(by).min(visible.len().saturating_sub(1));
    visible.get(next).copied().unwrap_or(0)
}

/// The entry this many rows from the selected one, if every entry is visible.
fn moved_in(count: usize, selected: usize, by: isize) -> usize {
    let here = if selected < count { selected } else { 0 };
    here.saturating_add_signed(by).min(count.saturating_sub(1))
}
