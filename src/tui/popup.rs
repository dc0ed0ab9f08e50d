//! Windows over a screen: help, questions, prompts, lists to choose from, forms.

use crossterm::event::{KeyCode, KeyEvent};

use super::picker::{Files, Picker};
use super::widgets::field::Field as TextField;
use crate::data::selection::is_pattern;
use crate::data::{Columns, DatasetDefinition, Role};
use crate::engine::desk::JobId;
use crate::error::{Error, Result};
use crate::privacy::ledger::{AccountId, RunId};

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
    /// ε of a private ranking, of the whole table or of the best alone.
    Ranking {
        table: bool,
    },
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

/// A dataset's definition as a form. Saved by Enter, left by Esc.
#[derive(Debug)]
pub struct DatasetForm {
    /// Name of the dataset being changed; `None` for a new one.
    pub replaces: Option<String>,
    pub original: DatasetDefinition,
    /// Columns of the file, where they are known.
    pub known_columns: Vec<String>,
    pub role: Role,
    pub fields: [TextField; 5],
    /// 0 is the role, then the text fields.
    pub focus: usize,
    pub problem: Option<String>,
}

impl DatasetForm {
    pub const LABELS: [&'static str; 6] =
        ["role", "name", "label column", "row filter", "columns", "categories"];

    pub const HELP: [&'static str; 6] = [
        "Space changes it. private: protected, budgeted; public: free to use",
        "how the session calls it",
        "the column to predict; empty: unlabelled",
        "such as: season != 1   or   sex == \"F\" and age >= 30",
        "all · only a, b, c · except a, b",
        "columns that are categories: hr, weathersit   or with values: sex=F|M",
    ];

    pub fn new(definition: DatasetDefinition, known_columns: Vec<String>, is_new: bool) -> Self {
        let columns = match &definition.columns {
            Columns::All => "all".to_owned(),
            Columns::Only(names) => format!("only {}", names.join(", ")),
            Columns::Except(names) => format!("except {}", names.join(", ")),
        };
        let categories = definition.categories.iter().map(|(name, values)| {
            if values.is_empty() { name.clone() } else { format!("{name}={}", values.join("|")) }
        });
        let categories = categories.collect::<Vec<_>>().join(", ");
        let fields = [
            TextField::new(&definition.name),
            TextField::new(definition.label.as_deref().unwrap_or_default()),
            TextField::new(definition.filter.as_deref().unwrap_or_default()),
            TextField::new(&columns),
            TextField::new(&categories),
        ];
        Self {
            replaces: (!is_new).then(|| definition.name.clone()),
            role: definition.role,
            original: definition,
            known_columns,
            fields,
            focus: 0,
            problem: None,
        }
    }

    /// Moves, types or switches the role; checks what stands there.
    pub fn handle(&mut self, key: KeyEvent) {
        let count = Self::LABELS.len();
        match key.code {
            KeyCode::Down | KeyCode::Tab => self.focus = (self.focus + 1) % count,
            KeyCode::Up | KeyCode::BackTab => self.focus = (self.focus + count - 1) % count,
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right if self.focus == 0 => {
                self.role = match self.role {
                    Role::Public => Role::Private,
                    Role::Private => Role::Public,
                };
            }
            _ if self.focus > 0 => {
                self.fields[self.focus - 1].handle(key);
            }
            _ => {}
        }
        self.validate();
    }

    pub fn paste(&mut self, text: &str) {
        if self.focus > 0 {
            self.fields[self.focus - 1].insert(text);
        }
        self.validate();
    }

    fn validate(&mut self) {
        self.problem = self.definition().err().map(|error| super::app::one_line(&error));
    }

    /// The definition that the form describes.
    pub fn definition(&self) -> Result<DatasetDefinition> {
        let text = |index: usize| {
            let text = self.fields[index].text().trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let name = text(0).ok_or_else(|| Error::usage("the dataset needs a name"))?;
        let label = text(1);
        if let Some(label) = &label {
            self.check_column(label)?;
        }
        let filter = text(2);
        if let Some(filter) = &filter {
            crate::data::filter::Filter::parse(filter)?;
        }
        let columns = parse_columns(&text(3).unwrap_or_default())?;
        if let Columns::Only(names) | Columns::Except(names) = &columns {
            let mut plain = names.iter().filter(|name| !is_pattern(name));
            plain.try_for_each(|name| self.check_column(name))?;
        }
        let mut categories = std::collections::BTreeMap::new();
        for part in list(&text(4).unwrap_or_default()) {
            let (column, values) = part.split_once('=').unwrap_or((&part, ""));
            self.check_column(column.trim())?;
            let values = values.split('|').map(str::trim).filter(|value| !value.is_empty());
            categories.insert(column.trim().to_owned(), values.map(str::to_owned).collect());
        }
        Ok(DatasetDefinition {
            name,
            role: self.role,
            label,
            filter,
            columns,
            categories,
            fingerprint: None,
            ..self.original.clone()
        })
    }

    fn check_column(&self, name: &str) -> Result<()> {
        if self.known_columns.is_empty() || self.known_columns.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(Error::usage(format!("the file has no column '{name}'"))
            .cure(format!("its columns are: {}", self.known_columns.join(", "))))
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn parse_columns(text: &str) -> Result<Columns> {
    let (word, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    match (word, list(rest)) {
        ("" | "all", names) if names.is_empty() => Ok(Columns::All),
        ("only", names) if !names.is_empty() => Ok(Columns::Only(names)),
        ("except", names) if !names.is_empty() => Ok(Columns::Except(names)),
        _ => Err(Error::usage(format!("columns '{text}' are not understood"))
            .cure("write: all, or: only a, b, or: except a, b")),
    }
}

/// "ε δ" as typed, with a comma or a blank between.
pub fn parse_budget(text: &str) -> Result<crate::privacy::Target> {
    let parts: Vec<f64> = text
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap_or(f64::NAN))
        .collect();
    match parts[..] {
        [epsilon, delta] if epsilon > 0.0 && epsilon.is_finite() && delta > 0.0 && delta < 1.0 => {
            Ok(crate::privacy::Target { epsilon, delta })
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
    fn the_dataset_form_gives_back_the_definition_it_was_opened_with() {
        for dataset in crate::session::demo::session("bikeshare").unwrap().datasets {
            let form = DatasetForm::new(dataset.clone(), Vec::new(), false);
            assert_eq!(form.definition().unwrap(), dataset);
        }
    }

    #[test]
    fn a_wrong_column_or_filter_is_named_in_the_form() {
        let dataset = crate::session::demo::session("bikeshare").unwrap().datasets.remove(0);
        let mut form = DatasetForm::new(dataset, vec!["bikers".to_owned()], false);
        form.fields[3] = TextField::new("only bikerz");
        assert!(form.definition().unwrap_err().to_string().contains("bikerz"));
    }

    #[test]
    fn a_budget_is_two_numbers() {
        assert_eq!(parse_budget("4 1e-5").unwrap().delta, 1e-5);
        for bad in ["4", "4 2", "x 1e-5", "-1 1e-5", "inf 1e-5", ""] {
            assert!(parse_budget(bad).is_err(), "{bad}");
        }
    }
}
