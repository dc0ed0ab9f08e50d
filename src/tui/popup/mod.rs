//! Windows over a screen: help, questions, prompts, lists to choose from, forms.

pub mod dataset_form;
pub mod picker;

use crossterm::event::{KeyCode, KeyEvent};

use crate::engine::desk::JobId;
use crate::error::{Error, Result};
use crate::privacy::ledger::{AccountId, Budget, RunId};
use crate::tui::keymap::Action;
use crate::tui::widgets::text_field::TextField;
use dataset_form::DatasetForm;
use picker::{Files, Picker};

#[derive(Debug)]
pub enum Popup {
    Help { search: TextField, scroll: u16 },
    Question { text: String, then: Answer },
    Prompt(Prompt),
    Dataset(Box<DatasetForm>),
    Pick(Picker),
    Files(Box<Files>),
    Export(Box<ExportForm>),
}

/// What a yes means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Quit,
    Launch,
    StopRun(JobId),
    RemoveDataset(String),
    RemovePlan,
    StartQueue,
    DeleteRun(RunId),
    AcceptPast(AccountId),
    SettleDead(RunId),
    Repair,
}

/// A question that takes a line of text.
#[derive(Debug)]
pub struct Prompt {
    pub title: String,
    pub help: String,
    pub text: TextField,
    pub problem: Option<String>,
    pub then: Wanted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A remark on this run.
    Tag(RunId),
    /// ε of a private ranking, which this action asks for.
    Ranking(Action),
    /// Values for the chosen field of the plan.
    Sweep,
    Certificate(AccountId),
    SessionToOpen,
    PlaceToSave,
    /// "ε δ" for this dataset.
    Budget(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Svg,
}

/// What to write, and where. Exact numbers leave only when asked for by name.
#[derive(Debug)]
pub struct ExportForm {
    /// False where the screen has no table.
    pub has_table: bool,
    pub format: Format,
    /// With exact numbers; `None` in a sealed view.
    pub exact: Option<bool>,
    pub path: TextField,
    /// 0 format, 1 exact numbers, 2 path.
    pub focus: usize,
}

impl ExportForm {
    pub const LABELS: [&'static str; 3] = ["format", "exact numbers ◆", "file"];

    pub fn new(stem: &str, has_table: bool, sealed: bool) -> Self {
        let format = if has_table { Format::Csv } else { Format::Svg };
        let mut form = Self {
            has_table,
            format,
            exact: (!sealed).then_some(false),
            path: TextField::new(stem),
            focus: 2,
        };
        form.rename();
        form
    }

    /// Gives the file the ending of its format.
    fn rename(&mut self) {
        let ending = match self.format {
            Format::Csv => "csv",
            Format::Svg => "svg",
        };
        let path = std::path::Path::new(self.path.text()).with_extension(ending);
        self.path.set(&path.to_string_lossy());
    }

    /// Moves, types or switches.
    pub fn handle(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Down | KeyCode::Tab => self.focus = (self.focus + 1) % 3,
            KeyCode::Up | KeyCode::BackTab => self.focus = (self.focus + 2) % 3,
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right if self.focus < 2 => {
                if self.focus == 1 {
                    self.exact = self.exact.map(|exact| !exact);
                } else if self.has_table {
                    self.format = match self.format {
                        Format::Csv => Format::Svg,
                        Format::Svg => Format::Csv,
                    };
                    self.rename();
                }
            }
            _ if self.focus == 2 => {
                self.path.handle(key);
            }
            _ => {}
        }
    }
}

/// Typed behind a budget whose δ is 1/n or more.
pub const ALLOW: &str = "allow-large-delta";

/// "ε δ" as typed, with a comma or a blank between, and what allows a large δ.
pub fn parse_budget(text: &str) -> Result<Budget> {
    let (numbers, allow_large_delta) = match text.trim_end().strip_suffix(ALLOW) {
        Some(numbers) => (numbers, true),
        None => (text, false),
    };
    let parts: Vec<f64> = numbers
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap_or(f64::NAN))
        .collect();
    match parts[..] {
        [epsilon, delta] if epsilon > 0.0 && epsilon.is_finite() && delta > 0.0 && delta < 1.0 => {
            Ok(Budget { epsilon, delta, allow_large_delta })
        }
        _ => {
            Err(Error::usage(format!("'{text}' is not a budget"))
                .cure("give ε and δ, such as: 4 1e-5"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_two_numbers() {
        assert_eq!(parse_budget("4 1e-5").unwrap(), Budget::new(4.0, 1e-5));
        assert!(parse_budget("4, .5 allow-large-delta").unwrap().allow_large_delta);
        for bad in ["4", "4 2", "x 1e-5", "-1 1e-5", "inf 1e-5", ""] {
            assert!(parse_budget(bad).is_err(), "{bad}");
        }
    }
}
