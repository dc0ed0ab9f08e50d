//! The definition of a screen. Each has a folder: `state` is its own state, `update` its keys and
//! their actions, `view` its picture. The list of the screens is in [`tab`](super::tab).

mod charts;
pub mod compare;
pub mod data;
pub mod ledger;
pub mod plan;
pub mod rank;
pub mod run;

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::context::{Change, Context};
use super::keys::Binding;
use super::tab::Pane;
use super::text_table::Sheet;
use super::widgets::viewport::Viewport;
use crate::glossary::{self, Explained};
use crate::privacy::Watch;

/// The keys of a screen, each with the function that it calls.
///
/// ```
/// use halflight::tui::keys::show;
/// use halflight::tui::screen::{Keys, rank::RankScreen};
///
/// const KEYS: Keys<RankScreen> =
///     &[show(&["S"], "reverse", "turn the order round", |screen, _| screen.reverse = true)];
/// ```
///
/// A function for another screen is refused when it is compiled:
///
/// ```compile_fail,E0308
/// use halflight::tui::context::Context;
/// use halflight::tui::keys::show;
/// use halflight::tui::screen::{Keys, data::DataScreen, rank::RankScreen};
///
/// fn reverse(screen: &mut RankScreen, _: &mut Context) {
///     screen.reverse = true;
/// }
/// const KEYS: Keys<DataScreen> = &[show(&["S"], "reverse", "turn the order round", reverse)];
/// ```
pub type Keys<S> = &'static [Binding<fn(&mut S, &mut Context)>];

pub trait Screen {
    fn keys() -> Keys<Self>
    where
        Self: Sized;

    /// The parts that can have the focus, the usual one first.
    fn panes(&self, context: &Context) -> Vec<Pane>;

    /// Moves the selection of a part by so many rows.
    fn select(&mut self, pane: Pane, by: isize, context: &Context);

    fn view(&self, context: &Context, canvas: &mut Canvas, area: Rect);

    /// The screen comes to the front.
    fn open(&mut self, _context: &mut Context) {}

    /// The shared state has changed.
    fn follow(&mut self, _change: &Change, _context: &mut Context) {}

    /// What its words mean: that of the selected field, column or chart first.
    fn words(&self, context: &Context) -> Vec<Explained>;

    /// What somebody who is new here would do next.
    fn next_step(&self, context: &Context) -> Option<String>;

    /// Whether the key with this name does anything now; the hint bar leaves others out.
    fn is_of_use(&self, _name: &str, _context: &Context) -> bool {
        true
    }

    /// Leaves one layer of its own; false when there was none.
    fn step_out(&mut self, _context: &mut Context) -> bool {
        false
    }

    /// The list that a filter shortens.
    fn filtered(&self) -> Option<Pane> {
        None
    }

    /// Whether a second click on this part does what Enter does.
    fn enters_on_click(&self, _pane: Pane) -> bool {
        false
    }

    /// Sorts by the column with this head; a second time, the other way round.
    fn sort_by(&mut self, _head: &str) {}

    /// How its charts are looked at, and from where to where they reach.
    fn charts(&mut self, _context: &Context) -> Option<(&mut Viewport, (f64, f64))> {
        None
    }

    /// Takes a key into a field that is being typed; false where there is none.
    fn type_key(&mut self, _key: KeyEvent, _context: &mut Context) -> bool {
        false
    }

    /// Takes a paste into such a field.
    fn paste(&mut self, _text: &str) -> bool {
        false
    }

    /// Leaves such a field as it was.
    fn stop_typing(&mut self) {}

    /// Its table as it is filtered and sorted, with the exact numbers that `watch` may see.
    fn sheet(&self, _context: &Context, _watch: &Watch) -> Option<Sheet> {
        None
    }

    /// What an export is called, where the title of the screen does not say it.
    fn export_name(&self) -> Option<&'static str> {
        None
    }

    /// The part that has the focus.
    fn focus(&self, context: &Context) -> Option<Pane> {
        let panes = self.panes(context);
        let wanted = context.wanted_pane().filter(|pane| panes.contains(pane));
        wanted.or(panes.first().copied())
    }
}

/// A text that scrolls has hardly more lines than this; where it really ends, the view knows.
const LONGEST_TEXT: usize = 40;

/// The explanations of these words.
fn explained<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<Explained> {
    words.into_iter().filter_map(glossary::explain).collect()
}

/// The entry so many rows from the selected one, among those that are visible.
fn moved(visible: &[usize], selected: usize, by: isize) -> usize {
    let here = visible.iter().position(|index| *index == selected).unwrap_or(0);
    let next = here.saturating_add_signed(by).min(visible.len().saturating_sub(1));
    visible.get(next).copied().unwrap_or(0)
}

/// The same where every entry is visible.
fn moved_in(count: usize, selected: usize, by: isize) -> usize {
    let here = if selected < count { selected } else { 0 };
    here.saturating_add_signed(by).min(count.saturating_sub(1))
}
