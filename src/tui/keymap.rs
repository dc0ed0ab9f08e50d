//! Every key of the interface, once: dispatch, the hint bar, the help and the
//! README read this table.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::Tab;

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    GoTo(Tab),
    NextTab,
    PreviousTab,
    Help,
    Save,
    Open,
    Quit,
    Seal,
    Repaint,
    Back,
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
    // Run
    Pause,
    Stop,
    Slower,
    Faster,
    LogAxis,
    Smooth,
    Freeze,
    ZoomIn,
    ZoomOut,
    CursorLeft,
    CursorRight,
    ResetView,
    // Ledger
    SetBudget,
    AcceptPast,
    SettleDead,
    Repair,
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
    /// One or two words for the hint bar; empty keeps it out of the bar.
    pub hint: &'static str,
    pub help: &'static str,
}

const fn bind(
    scope: Scope,
    keys: &'static [&'static str],
    action: Action,
    hint: &'static str,
    help: &'static str,
) -> Binding {
    Binding { keys, scope, action, hint, help }
}

use Scope::{Everywhere as Any, On};
const DATA: Scope = On(Tab::Data);
const PLAN: Scope = On(Tab::Plan);
const RUN: Scope = On(Tab::Run);
const LEDGER: Scope = On(Tab::Ledger);

pub const BINDINGS: &[Binding] = &[
    bind(DATA, &["a"], Action::AddDataset, "add", "add a CSV or TSV file as a dataset"),
    bind(
        DATA,
        &["enter", "e"],
        Action::EditDataset,
        "edit",
        "edit role, label, filter and columns",
    ),
    bind(
        DATA,
        &["d", "delete"],
        Action::RemoveDataset,
        "remove",
        "remove the dataset from the session",
    ),
    bind(DATA, &["r"], Action::ReloadDataset, "reload", "read the dataset's file again"),
    bind(
        PLAN,
        &["enter", "e"],
        Action::EditField,
        "edit",
        "edit the field, or take the next choice",
    ),
    bind(PLAN, &["left"], Action::FieldLeft, "", "previous choice, or a smaller number"),
    bind(PLAN, &["right"], Action::FieldRight, "", "next choice, or a larger number"),
    bind(PLAN, &["x"], Action::DefaultField, "default", "back to the field's default"),
    bind(PLAN, &["l"], Action::Launch, "launch", "launch this plan"),
    bind(PLAN, &["n"], Action::NewPlan, "new", "new plan, copied from this one"),
    bind(PLAN, &["d", "delete"], Action::RemovePlan, "", "remove this plan"),
    bind(PLAN, &["["], Action::PreviousPlan, "", "previous plan"),
    bind(PLAN, &["]"], Action::NextPlan, "plans", "next plan"),
    bind(RUN, &["space", "p"], Action::Pause, "pause", "pause or resume the run"),
    bind(RUN, &["s"], Action::Stop, "stop", "stop the run; it delivers what it has"),
    bind(RUN, &["<", ","], Action::Slower, "slower", "halve the pace, in steps per second"),
    bind(
        RUN,
        &[">", "."],
        Action::Faster,
        "faster",
        "double the pace; beyond 512 as fast as it can",
    ),
    bind(RUN, &["y"], Action::LogAxis, "log", "logarithmic axis for the loss on or off"),
    bind(RUN, &["m"], Action::Smooth, "smooth", "smoothing: none, some, strong"),
    bind(RUN, &["f"], Action::Freeze, "freeze", "hold the charts still while data keep arriving"),
    bind(RUN, &["+", "="], Action::ZoomIn, "zoom", "zoom in on the step axis"),
    bind(RUN, &["-"], Action::ZoomOut, "", "zoom out"),
    bind(RUN, &["left"], Action::CursorLeft, "cursor", "move the chart cursor left"),
    bind(RUN, &["right"], Action::CursorRight, "", "move the chart cursor right"),
    bind(RUN, &["0"], Action::ResetView, "", "whole run, no cursor"),
    bind(LEDGER, &["b"], Action::SetBudget, "budget", "set the budget of the private dataset"),
    bind(LEDGER, &["u"], Action::SettleDead, "settle", "settle a run whose process is gone"),
    bind(LEDGER, &["A"], Action::AcceptPast, "", "accept an unknown past after damage"),
    bind(LEDGER, &["R"], Action::Repair, "", "set a damaged ledger aside and go on"),
    bind(Any, &["?"], Action::Help, "help", "keys of this screen"),
    bind(Any, &["q"], Action::Quit, "quit", "quit; asks when work is unsaved or under way"),
    bind(Any, &["1"], Action::GoTo(Tab::Data), "", "Data"),
    bind(Any, &["2"], Action::GoTo(Tab::Rank), "", "Rank"),
    bind(Any, &["3"], Action::GoTo(Tab::Plan), "", "Plan"),
    bind(Any, &["4"], Action::GoTo(Tab::Run), "", "Run"),
    bind(Any, &["5"], Action::GoTo(Tab::Compare), "", "Compare"),
    bind(Any, &["6"], Action::GoTo(Tab::Ledger), "", "Ledger"),
    bind(Any, &["tab"], Action::NextTab, "", "next screen"),
    bind(Any, &["backtab"], Action::PreviousTab, "", "previous screen"),
    bind(Any, &["up", "k"], Action::Up, "", "up"),
    bind(Any, &["down", "j"], Action::Down, "", "down"),
    bind(Any, &["pageup"], Action::PageUp, "", "a page up"),
    bind(Any, &["pagedown"], Action::PageDown, "", "a page down"),
    bind(Any, &["home", "g"], Action::First, "", "first row"),
    bind(Any, &["end", "G"], Action::Last, "", "last row"),
    bind(Any, &["ctrl-s"], Action::Save, "", "save the session"),
    bind(Any, &["ctrl-o"], Action::Open, "", "open a session"),
    bind(Any, &["v"], Action::Seal, "", "sealed view: hide every exact number (◆)"),
    bind(Any, &["ctrl-l"], Action::Repaint, "", "repaint the screen"),
    bind(Any, &["esc"], Action::Back, "", "step out: message, cursor, window"),
    bind(Any, &["ctrl-c"], Action::Quit, "", "quit"),
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
    Some(plain)
}

/// A key as the screen shows it.
pub fn shown(key: &str) -> String {
    match key {
        "enter" => "Enter".to_owned(),
        "esc" => "Esc".to_owned(),
        "space" => "Space".to_owned(),
        "tab" => "Tab".to_owned(),
        "backtab" => "Shift-Tab".to_owned(),
        "left" => "←".to_owned(),
        "right" => "→".to_owned(),
        "up" => "↑".to_owned(),
        "down" => "↓".to_owned(),
        "pageup" => "PgUp".to_owned(),
        "pagedown" => "PgDn".to_owned(),
        "home" => "Home".to_owned(),
        "end" => "End".to_owned(),
        "delete" => "Del".to_owned(),
        _ => match key.strip_prefix("ctrl-") {
            Some(letter) => format!("Ctrl-{letter}"),
            None => key.to_owned(),
        },
    }
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
        let key = |code, modifiers| KeyEvent::new(code, modifiers);
        let save = key(KeyCode::Char('s'), KeyModifiers::CONTROL);
        assert_eq!(action(Tab::Run, save), Some(Action::Save));
        let stop = key(KeyCode::Char('s'), KeyModifiers::NONE);
        assert_eq!(action(Tab::Run, stop), Some(Action::Stop));
        assert_eq!(action(Tab::Data, stop), None);
        let big = key(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(Tab::Data, big), Some(Action::Last));
    }
}
