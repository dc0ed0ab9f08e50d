//! Every key of the interface, once: dispatch, the hint bar, the help, the
//! palette and the README read this table.

use std::fmt::Write;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::Tab;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    GoTo(Tab),
    NextTab,
    PreviousTab,
    NextPane,
    PreviousPane,
    Help,
    Palette,
    Filter,
    Undo,
    Redo,
    Save,
    Open,
    Quit,
    Seal,
    Theme,
    Repaint,
    Back,
    Export,
    Copy,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    // Data
    AddDataset,
    EditDataset,
    RemoveDataset,
    ReloadDataset,
    CancelLoad,
    ShowRows,
    ColumnLeft,
    ColumnRight,
    // Rank
    Rank,
    RankPrivately,
    RankTable,
    RankDirection,
    CancelRanking,
    TakeCandidate,
    FollowPlan,
    // Plan
    EditField,
    FieldLeft,
    FieldRight,
    DefaultField,
    NewPlan,
    RemovePlan,
    PreviousPlan,
    NextPlan,
    Launch,
    Enqueue,
    Sweep,
    StartQueue,
    Preset,
    CopyRun,
    // Run
    Pause,
    Stop,
    Slower,
    Faster,
    PreviousRun,
    NextRun,
    // Charts, on Run and Compare
    LogAxis,
    Smooth,
    Freeze,
    ZoomIn,
    ZoomOut,
    CursorLeft,
    CursorRight,
    PanLeft,
    PanRight,
    ResetView,
    // Compare
    Pin,
    Unpin,
    SortNext,
    SortReverse,
    NextSeries,
    TagRun,
    DeleteRun,
    PlanLike,
    Narrower,
    Wider,
    Refresh,
    // Ledger
    SetBudget,
    AcceptPast,
    SettleDead,
    Repair,
    Certify,
}

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Everywhere,
    On(Tab),
}

#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Any of these, written as on the screen: `q`, `ctrl-s`, `left`.
    pub keys: &'static [&'static str],
    pub scope: Scope,
    pub action: Action,
    /// One or two words: for the hint bar and the palette.
    pub name: &'static str,
    /// Whether it has a place in the hint bar.
    pub hint: bool,
    pub help: &'static str,
}

type Keys = &'static [&'static str];

/// A binding that the hint bar shows.
const fn show(
    scope: Scope,
    keys: Keys,
    action: Action,
    name: &'static str,
    help: &'static str,
) -> Binding {
    Binding { keys, scope, action, name, hint: true, help }
}

/// A binding that only the help and the palette show.
const fn also(
    scope: Scope,
    keys: Keys,
    action: Action,
    name: &'static str,
    help: &'static str,
) -> Binding {
    Binding { keys, scope, action, name, hint: false, help }
}

use Action as A;
use Scope::{Everywhere as Any, On};
const DATA: Scope = On(Tab::Data);
const RANK: Scope = On(Tab::Rank);
const PLAN: Scope = On(Tab::Plan);
const RUN: Scope = On(Tab::Run);
const COMPARE: Scope = On(Tab::Compare);
const LEDGER: Scope = On(Tab::Ledger);

#[rustfmt::skip] // a table reads best as one
pub const BINDINGS: &[Binding] = &[
    show(DATA, &["a"], A::AddDataset, "add", "add a data file: browse, preview, then describe it"),
    show(DATA, &["enter", "e"], A::EditDataset, "edit", "edit role, label, filter and columns"),
    show(DATA, &["d", "delete"], A::RemoveDataset, "remove", "remove the dataset from the session"),
    show(DATA, &["r"], A::ReloadDataset, "reload", "read the dataset's file again"),
    also(DATA, &["c"], A::CancelLoad, "cancel reading", "stop waiting for a dataset that is being read"),
    show(DATA, &["o"], A::ShowRows, "rows", "show or hide private rows (◆)"),
    also(DATA, &["left"], A::ColumnLeft, "columns left", "scroll the preview to the left"),
    also(DATA, &["right"], A::ColumnRight, "columns right", "scroll the preview to the right"),
    show(RANK, &["r"], A::Rank, "rank", "rank the public datasets by exact numbers (◆); the ledger notes it"),
    show(RANK, &["p"], A::RankPrivately, "privately", "release the best dataset's name under differential privacy"),
    show(RANK, &["t"], A::RankTable, "noisy table", "release every dataset's scores under differential privacy"),
    also(RANK, &["d"], A::RankDirection, "direction", "release one leading direction of the private gradients under differential privacy"),
    show(RANK, &["c"], A::CancelRanking, "cancel", "cancel the ranking; the table keeps the repeats so far"),
    show(RANK, &["enter"], A::TakeCandidate, "take", "take the selected dataset into the plan"),
    show(RANK, &["s"], A::SortNext, "sort", "sort by the next column"),
    also(RANK, &["m"], A::FollowPlan, "like the plan", "rank with the model and the scaling of the plan"),
    also(RANK, &["S"], A::SortReverse, "reverse", "reverse the order"),
    show(PLAN, &["l"], A::Launch, "launch", "launch this plan"),
    show(PLAN, &["enter", "e"], A::EditField, "edit", "edit the field, or take the next choice"),
    also(PLAN, &["left"], A::FieldLeft, "less", "previous choice, or a smaller number"),
    also(PLAN, &["right"], A::FieldRight, "more", "next choice, or a larger number"),
    show(PLAN, &["x"], A::DefaultField, "default", "back to the field's default"),
    show(PLAN, &["s"], A::Sweep, "sweep", "queue this plan once for each of several values of the field"),
    show(PLAN, &["a"], A::Enqueue, "queue", "append this plan to the queue"),
    show(PLAN, &["w"], A::StartQueue, "work", "run the queue, one after the other; again: halt it"),
    show(PLAN, &["p"], A::Preset, "preset", "take a preset for this plan"),
    also(PLAN, &["c"], A::CopyRun, "copy earlier", "take the settings of an earlier run"),
    also(PLAN, &["n"], A::NewPlan, "new plan", "new plan, copied from this one"),
    also(PLAN, &["d", "delete"], A::RemovePlan, "remove", "remove this plan, or the queue's entry"),
    also(PLAN, &["["], A::PreviousPlan, "previous plan", "previous plan"),
    also(PLAN, &["]"], A::NextPlan, "next plan", "next plan"),
    show(RUN, &["space", "p"], A::Pause, "pause", "pause or resume the run"),
    show(RUN, &["s"], A::Stop, "stop", "stop the run; it delivers what it has"),
    show(RUN, &["<", ","], A::Slower, "slower", "halve the pace, in steps per second"),
    show(RUN, &[">", "."], A::Faster, "faster", "double the pace; beyond 512 as fast as it can"),
    show(RUN, &["y"], A::LogAxis, "log", "logarithmic axis for errors and objective on or off"),
    show(RUN, &["m"], A::Smooth, "smooth", "smoothing: none, some, strong"),
    show(RUN, &["f"], A::Freeze, "freeze", "hold the charts still while data keep arriving"),
    show(RUN, &["+", "="], A::ZoomIn, "zoom", "zoom in at the cursor"),
    also(RUN, &["-"], A::ZoomOut, "zoom out", "zoom out"),
    also(RUN, &["left"], A::CursorLeft, "cursor left", "move the chart cursor left"),
    also(RUN, &["right"], A::CursorRight, "cursor right", "move the chart cursor right"),
    also(RUN, &["H", "shift-left"], A::PanLeft, "pan left", "move the window left"),
    also(RUN, &["L", "shift-right"], A::PanRight, "pan right", "move the window right"),
    also(RUN, &["0"], A::ResetView, "reset view", "whole run, no cursor"),
    also(RUN, &["["], A::PreviousRun, "previous run", "show the previous run"),
    also(RUN, &["]"], A::NextRun, "next run", "show the next run"),
    show(COMPARE, &["space", "enter"], A::Pin, "pin", "pin or unpin a run: pinned runs are overlaid and compared"),
    show(COMPARE, &["s"], A::SortNext, "sort", "sort by the next column"),
    show(COMPARE, &["S"], A::SortReverse, "reverse", "reverse the order"),
    show(COMPARE, &["b"], A::NextSeries, "series", "show another series, or utility against ε"),
    show(COMPARE, &["t"], A::TagRun, "tag", "write a remark on the run"),
    show(COMPARE, &["d", "delete"], A::DeleteRun, "delete", "delete the run's directory; its ledger entries stay"),
    also(COMPARE, &["p"], A::PlanLike, "plan like this", "make a plan with the settings of this run"),
    also(COMPARE, &["c"], A::Unpin, "clear pins", "unpin every run"),
    also(COMPARE, &["r"], A::Refresh, "refresh", "read the run directories again"),
    also(COMPARE, &["y"], A::LogAxis, "log", "logarithmic axis on or off"),
    also(COMPARE, &["m"], A::Smooth, "smooth", "smoothing: none, some, strong"),
    also(COMPARE, &["+", "="], A::ZoomIn, "zoom", "zoom in at the cursor"),
    also(COMPARE, &["-"], A::ZoomOut, "zoom out", "zoom out"),
    also(COMPARE, &["left"], A::CursorLeft, "cursor left", "move the chart cursor left"),
    also(COMPARE, &["right"], A::CursorRight, "cursor right", "move the chart cursor right"),
    also(COMPARE, &["H", "shift-left"], A::PanLeft, "pan left", "move the window left"),
    also(COMPARE, &["L", "shift-right"], A::PanRight, "pan right", "move the window right"),
    also(COMPARE, &["0"], A::ResetView, "reset view", "whole range, no cursor"),
    also(COMPARE, &["<", ","], A::Narrower, "narrower", "make the first column narrower"),
    also(COMPARE, &[">", "."], A::Wider, "wider", "make the first column wider"),
    show(LEDGER, &["b"], A::SetBudget, "budget", "set the budget of the private dataset"),
    show(LEDGER, &["w"], A::Certify, "certificate", "write a certificate of everything spent"),
    show(LEDGER, &["s"], A::SettleDead, "settle", "settle a run whose process is gone"),
    also(LEDGER, &["A"], A::AcceptPast, "accept", "go on without a total: after lost lines, after noise from a known seed"),
    also(LEDGER, &["R"], A::Repair, "repair", "set a damaged ledger aside and go on"),
    show(Any, &["?"], A::Help, "help", "keys of this screen; type to search"),
    show(Any, &[":"], A::Palette, "commands", "command palette: find any command by name, words or key"),
    show(Any, &["q"], A::Quit, "quit", "quit; asks when work is unsaved or under way"),
    also(Any, &["1"], A::GoTo(Tab::Data), "Data", "go to Data"),
    also(Any, &["2"], A::GoTo(Tab::Rank), "Rank", "go to Rank"),
    also(Any, &["3"], A::GoTo(Tab::Plan), "Plan", "go to Plan"),
    also(Any, &["4"], A::GoTo(Tab::Run), "Run", "go to Run"),
    also(Any, &["5"], A::GoTo(Tab::Compare), "Compare", "go to Compare"),
    also(Any, &["6"], A::GoTo(Tab::Ledger), "Ledger", "go to Ledger"),
    also(Any, &["ctrl-right", "}"], A::NextTab, "next screen", "next screen"),
    also(Any, &["ctrl-left", "{"], A::PreviousTab, "previous screen", "previous screen"),
    also(Any, &["tab"], A::NextPane, "next part", "move the focus to the next part of the screen"),
    also(Any, &["backtab"], A::PreviousPane, "previous part", "move the focus to the previous part"),
    also(Any, &["up", "k"], A::Up, "up", "up"),
    also(Any, &["down", "j"], A::Down, "down", "down"),
    also(Any, &["pageup"], A::PageUp, "page up", "a page up"),
    also(Any, &["pagedown"], A::PageDown, "page down", "a page down"),
    also(Any, &["home", "g"], A::First, "first", "first row"),
    also(Any, &["end", "G"], A::Last, "last", "last row"),
    also(Any, &["/"], A::Filter, "filter", "filter the list: rows with all of the words"),
    also(Any, &["u"], A::Undo, "undo", "undo the last change of the session"),
    also(Any, &["ctrl-r"], A::Redo, "redo", "do again what was undone"),
    also(Any, &["X"], A::Export, "export", "write what is shown to a file: CSV or SVG"),
    also(Any, &["C"], A::Copy, "copy", "copy what is shown to the clipboard, also over SSH (OSC 52)"),
    also(Any, &["ctrl-s"], A::Save, "save", "save the session"),
    also(Any, &["ctrl-o"], A::Open, "open", "open a session"),
    also(Any, &["v"], A::Seal, "seal", "sealed view: hide every exact number (◆)"),
    also(Any, &["ctrl-t"], A::Theme, "theme", "next theme: dark, light, high-contrast"),
    also(Any, &["ctrl-l"], A::Repaint, "repaint", "repaint the screen"),
    also(Any, &["esc"], A::Back, "step out", "step out one layer: window, filter, message, cursor, zoom"),
    also(Any, &["ctrl-c"], A::Quit, "quit now", "quit, from anywhere"),
];

/// Bindings that hold on `tab`, its own first.
pub fn on(tab: Tab) -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().filter(move |binding| match binding.scope {
        Any => true,
        On(scope) => scope == tab,
    })
}

/// What `key` does on `tab`.
pub fn action(tab: Tab, key: KeyEvent) -> Option<Action> {
    let name = name(key)?;
    on(tab).find(|binding| binding.keys.contains(&name.as_str())).map(|binding| binding.action)
}

/// A key as it is written in the table.
fn name(key: KeyEvent) -> Option<String> {
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

/// A key as the screen shows it.
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

/// All keys of a binding as the screen shows them.
pub fn shown_keys(binding: &Binding) -> String {
    let keys: Vec<String> = binding.keys.iter().map(|key| shown(key)).collect();
    keys.join(" ")
}

/// The table of the README, in Markdown.
pub fn markdown() -> String {
    let mut text = String::from("| where | key | does |\n|---|---|---|\n");
    let mut before = "";
    let everywhere = BINDINGS.iter().filter(|binding| binding.scope == Any);
    let own = BINDINGS.iter().filter(|binding| binding.scope != Any);
    for binding in everywhere.chain(own) {
        let place = match binding.scope {
            Any => "everywhere",
            On(tab) => tab.title(),
        };
        let keys: Vec<String> = binding
            .keys
            .iter()
            .map(|key| format!("`{}`", shown(key).replace('|', "\\|")))
            .collect();
        let shown = if place == before { "" } else { place };
        let _ = writeln!(text, "| {shown} | {} | {} |", keys.join(" "), binding.help);
        before = place;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for tab in Tab::ALL {
            let mut seen = std::collections::BTreeSet::new();
            for key in on(tab).flat_map(|binding| binding.keys) {
                assert!(seen.insert(key), "{key} is bound twice on {}", tab.title());
            }
        }
    }

    #[test]
    fn keys_are_found_by_their_name_and_modifiers_matter() {
        let key = KeyEvent::new;
        let save = key(KeyCode::Char('s'), KeyModifiers::CONTROL);
        assert_eq!(action(Tab::Run, save), Some(Action::Save));
        let stop = key(KeyCode::Char('s'), KeyModifiers::NONE);
        assert_eq!(action(Tab::Run, stop), Some(Action::Stop));
        assert_eq!(action(Tab::Data, stop), None);
        let big = key(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(Tab::Data, big), Some(Action::Last));
        let pan = key(KeyCode::Left, KeyModifiers::SHIFT);
        assert_eq!(action(Tab::Run, pan), Some(Action::PanLeft));
    }

    #[test]
    fn every_key_of_the_table_can_be_pressed() {
        for key in BINDINGS.iter().flat_map(|binding| binding.keys) {
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
    fn the_readme_lists_exactly_these_keys() {
        let readme = include_str!("../../README.md");
        let (_, rest) = readme.split_once("<!-- keys -->\n").expect("the mark before the table");
        let (table, _) = rest.split_once("<!-- end of keys -->").expect("the mark behind it");
        let wanted = markdown();
        assert!(table == wanted, "the README's table of keys should read:\n{wanted}");
    }
}
