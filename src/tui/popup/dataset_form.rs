//! A dataset's definition as a form. Enter saves, Esc leaves.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::canvas::{Canvas, bold, in_columns, in_rows};
use crate::data::names::is_pattern;
use crate::data::{Columns, DatasetDefinition, Missing, Role, Sample, Task, Unit, WithoutUnit};
use crate::error::{Error, Result};
use crate::notice::one_line;
use crate::widgets::text_field::{TextField, TextFieldView};

/// A line of the form.
pub struct FormLine {
    pub label: &'static str,
    help: &'static str,
    kind: LineKind,
}

/// Space cycles through the choices of a switch; a text is typed.
#[derive(Clone, Copy)]
enum LineKind {
    Role,
    Task,
    Missing,
    WithoutUnit,
    Text(usize),
}

const NAME: usize = 0;
const LABEL: usize = 1;
const CLASSES: usize = 2;
const FILTER: usize = 3;
const SAMPLE: usize = 4;
const COLUMNS: usize = 5;
const CATEGORIES: usize = 6;
const UNIT: usize = 7;
const MOST_RECORDS: usize = 8;

const fn line(label: &'static str, kind: LineKind, help: &'static str) -> FormLine {
    FormLine { label, help, kind }
}

/// The content of a line.
enum Content<'a> {
    Choice(String),
    Text(&'a TextField),
}

#[derive(Debug)]
pub struct DatasetForm {
    /// Name of the dataset being changed; `None` for a new one.
    pub replaces: Option<String>,
    original: DatasetDefinition,
    /// Columns of the file, if known.
    pub known_columns: Vec<String>,
    role: Role,
    task: Task,
    missing: Missing,
    without_unit: WithoutUnit,
    texts: [TextField; 9],
    /// The focused line.
    pub focus: usize,
    pub problem: Option<String>,
}

impl DatasetForm {
    pub const LINES: [FormLine; 13] = [
        line(
            "role",
            LineKind::Role,
            "Space changes it. private: protected by a budget; public: free to use",
        ),
        line("name", LineKind::Text(NAME), "its name in the session"),
        line("label column", LineKind::Text(LABEL), "the column to predict; empty: unlabelled"),
        line(
            "task",
            LineKind::Task,
            "Space changes it. classification: the label names a class; regression: it measures \
             something, such as a grade or a price",
        ),
        line(
            "classes",
            LineKind::Text(CLASSES),
            "the answers of a classification, such as: no, yes. Empty: those of the public data",
        ),
        line(
            "row filter",
            LineKind::Text(FILTER),
            "such as: season != 1   or   sex == \"F\" and age >= 30",
        ),
        line(
            "sample",
            LineKind::Text(SAMPLE),
            "use a random sample of this many rows: 5000   or with a seed: 5000 7. Empty: all rows",
        ),
        line(
            "missing values",
            LineKind::Missing,
            "Space changes it. refuse: a missing value is an error; drop: records with missing \
             values are not used; public mean: it fills in missing values",
        ),
        line("columns", LineKind::Text(COLUMNS), "all · only a, b, px* · except a, b"),
        line(
            "categories",
            LineKind::Text(CATEGORIES),
            "columns that are categories: hr, weathersit   or with values: sex=F|M",
        ),
        line(
            "person column",
            LineKind::Text(UNIT),
            "the column that names the person: patient_id, or ward + bed. All rows of one person \
             are then protected together. Empty: every row is protected on its own",
        ),
        line(
            "rows of a person",
            LineKind::Text(MOST_RECORDS),
            "use at most this many of each person, picked at random. Empty: 32",
        ),
        line(
            "rows of nobody",
            LineKind::WithoutUnit,
            "Space changes it. Rows in which the person column is empty are left out, or count \
             as one person each",
        ),
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
        let sample = definition.sample.map(|sample| match sample.seed {
            0 => sample.rows.to_string(),
            seed => format!("{} {seed}", sample.rows),
        });
        let texts = [
            definition.name.clone(),
            definition.label.clone().unwrap_or_default(),
            definition.classes.join(", "),
            definition.filter.clone().unwrap_or_default(),
            sample.unwrap_or_default(),
            columns,
            categories.collect::<Vec<_>>().join(", "),
            definition.unit.as_ref().map(Unit::words).unwrap_or_default(),
            definition.most_records.map(|most| most.to_string()).unwrap_or_default(),
        ];
        Self {
            replaces: (!is_new).then(|| definition.name.clone()),
            role: definition.role,
            task: definition.task,
            missing: definition.missing,
            without_unit: definition.without_unit,
            original: definition,
            known_columns,
            texts: texts.map(|text| TextField::new(&text)),
            focus: 0,
            problem: None,
        }
    }

    fn content(&self, line: &FormLine) -> Content<'_> {
        match line.kind {
            LineKind::Role => Content::Choice(
                match self.role {
                    Role::Private => "private",
                    Role::Public => "public",
                }
                .to_owned(),
            ),
            LineKind::Task => Content::Choice(self.task.to_string()),
            LineKind::Missing => Content::Choice(
                match self.missing {
                    Missing::Refuse => "refuse",
                    Missing::Drop => "drop",
                    Missing::PublicMean => "public mean",
                }
                .to_owned(),
            ),
            LineKind::WithoutUnit => Content::Choice(
                match self.without_unit {
                    WithoutUnit::LeaveOut => "left out",
                    WithoutUnit::OwnPerson => "one person each",
                }
                .to_owned(),
            ),
            LineKind::Text(index) => Content::Text(&self.texts[index]),
        }
    }

    /// Moves, types or switches; checks the content.
    pub fn handle(&mut self, key: KeyEvent) {
        let count = Self::LINES.len();
        let kind = Self::LINES[self.focus].kind;
        match key.code {
            KeyCode::Down | KeyCode::Tab => self.focus = (self.focus + 1) % count,
            KeyCode::Up | KeyCode::BackTab => self.focus = (self.focus + count - 1) % count,
            code => match kind {
                LineKind::Text(index) => {
                    self.texts[index].handle(key);
                }
                _ if code == KeyCode::Left => self.switch(kind, false),
                _ if matches!(code, KeyCode::Char(' ') | KeyCode::Right) => self.switch(kind, true),
                _ => {}
            },
        }
        self.validate();
    }

    fn switch(&mut self, kind: LineKind, forwards: bool) {
        match kind {
            LineKind::Role => {
                self.role = match self.role {
                    Role::Public => Role::Private,
                    Role::Private => Role::Public,
                }
            }
            LineKind::Task => {
                self.task = match self.task {
                    Task::Regression => Task::Classification,
                    Task::Classification => Task::Regression,
                }
            }
            LineKind::Missing => {
                use Missing::{Drop, PublicMean, Refuse};
                self.missing = match (self.missing, forwards) {
                    (Refuse, true) | (PublicMean, false) => Drop,
                    (Drop, true) | (Refuse, false) => PublicMean,
                    (PublicMean, true) | (Drop, false) => Refuse,
                }
            }
            LineKind::WithoutUnit => {
                self.without_unit = match self.without_unit {
                    WithoutUnit::LeaveOut => WithoutUnit::OwnPerson,
                    WithoutUnit::OwnPerson => WithoutUnit::LeaveOut,
                }
            }
            LineKind::Text(_) => {}
        }
    }

    pub fn paste(&mut self, text: &str) {
        if let LineKind::Text(index) = Self::LINES[self.focus].kind {
            self.texts[index].insert(text);
        }
        self.validate();
    }

    fn validate(&mut self) {
        self.problem = self.definition().err().map(|error| one_line(&error));
    }

    /// The definition that the form describes.
    pub fn definition(&self) -> Result<DatasetDefinition> {
        let text = |index: usize| {
            let text = self.texts[index].text().trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let name = text(NAME).ok_or_else(|| Error::usage("the dataset needs a name"))?;
        let label = text(LABEL);
        if let Some(label) = &label {
            self.check_column(label)?;
        }
        let filter = text(FILTER);
        if let Some(filter) = &filter {
            crate::data::filter::Filter::parse(filter)?;
        }
        let columns = parse_columns(&text(COLUMNS).unwrap_or_default())?;
        if let Columns::Only(names) | Columns::Except(names) = &columns {
            let mut plain = names.iter().filter(|name| !is_pattern(name));
            plain.try_for_each(|name| self.check_column(name))?;
        }
        let mut categories = std::collections::BTreeMap::new();
        for part in list(&text(CATEGORIES).unwrap_or_default()) {
            let (column, values) = part.split_once('=').unwrap_or((&part, ""));
            self.check_column(column.trim())?;
            let values = values.split('|').map(str::trim).filter(|value| !value.is_empty());
            categories.insert(column.trim().to_owned(), values.map(str::to_owned).collect());
        }
        let classes = list(&text(CLASSES).unwrap_or_default());
        if !classes.is_empty() && self.task == Task::Regression {
            return Err(Error::usage("a regression has no classes")
                .cure("make the task a classification, or leave the classes empty"));
        }
        let unit = text(UNIT).and_then(|text| Unit::parse(&text));
        unit.iter().flat_map(Unit::columns).try_for_each(|name| self.check_column(name))?;
        let most_records = text(MOST_RECORDS).map(|text| {
            text.parse().ok().filter(|most| *most > 0).ok_or_else(|| {
                Error::usage(format!("'{text}' is not a number of rows"))
                    .cure("give the largest number of rows for one person, such as 32")
            })
        });
        let definition = DatasetDefinition {
            name,
            role: self.role,
            label,
            task: self.task,
            classes,
            filter,
            sample: text(SAMPLE).map(|text| parse_sample(&text)).transpose()?,
            missing: self.missing,
            columns,
            categories,
            fingerprint: None,
            unit,
            most_records: most_records.transpose()?,
            without_unit: self.without_unit,
            ..self.original.clone()
        };
        definition.check()?;
        Ok(definition)
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let (theme, glyphs) = (canvas.theme, canvas.glyphs);
        let title = if self.replaces.is_some() { "Edit dataset" } else { "Add dataset" };
        let inner = canvas.window(body, 76, 22, title);
        let [fields, help, problem, known, keys] = in_rows(
            inner,
            [Length(Self::LINES.len() as u16), Length(2), Length(2), Fill(1), Length(1)],
        );
        for (index, line) in Self::LINES.iter().enumerate() {
            let row = Rect { y: fields.y + index as u16, height: 1, ..fields };
            if row.y >= fields.bottom() {
                break;
            }
            let [name, value] = in_columns(row, [Length(18), Fill(1)]);
            let focused = self.focus == index;
            let style = if focused { bold(theme.text) } else { theme.muted };
            canvas.render(Line::styled(line.label, style), name);
            match self.content(line) {
                Content::Choice(word) => {
                    let style = if focused { theme.selection } else { theme.text };
                    canvas.render(Span::styled(word, style), value);
                }
                Content::Text(text) => {
                    let field = TextFieldView::new(text, theme, glyphs);
                    canvas.render(field.focused(focused), value);
                }
            }
        }
        canvas.wrapped(Self::LINES[self.focus].help, theme.muted, help);
        if let Some(text) = &self.problem {
            canvas.wrapped(text, theme.error, problem);
        }
        if !self.known_columns.is_empty() {
            let columns = self.known_columns.join(", ");
            canvas.wrapped(format!("columns of the file: {columns}"), theme.muted, known);
        }
        let words = "↑↓ or Tab between fields, Enter saves, Esc leaves";
        canvas.render(Line::styled(words, theme.muted), keys);
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
        _ => Err(Error::usage(format!("'{text}' is not a list of columns"))
            .cure("write: all, or: only a, b, or: except a, b")),
    }
}

/// "rows" or "rows seed".
fn parse_sample(text: &str) -> Result<Sample> {
    let mut words = text.split_whitespace();
    let rows = words.next().and_then(|rows| rows.parse().ok()).filter(|rows| *rows > 0);
    let seed = words.next().map_or(Some(0), |seed| seed.parse().ok());
    match (rows, seed, words.next()) {
        (Some(rows), Some(seed), None) => Ok(Sample { rows, seed }),
        _ => Err(Error::usage(format!("'{text}' is not the size of a sample"))
            .cure("give a number of rows: 5000, or rows and a seed: 5000 7")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn winter() -> DatasetDefinition {
        crate::session::demo::session("bikeshare").unwrap().datasets.remove(0)
    }

    fn press(form: &mut DatasetForm, code: KeyCode) {
        form.handle(KeyEvent::from(code));
    }

    #[test]
    fn the_form_gives_back_the_definition_it_was_opened_with() {
        let mut all = crate::session::demo::session("bikeshare").unwrap().datasets;
        all.push(DatasetDefinition {
            task: Task::Classification,
            classes: vec!["no".to_owned(), "yes".to_owned()],
            sample: Some(Sample { rows: 500, seed: 7 }),
            missing: Missing::PublicMean,
            columns: Columns::Except(vec!["day".to_owned()]),
            unit: Some(Unit::Columns(vec!["day".to_owned(), "hr".to_owned()])),
            most_records: Some(5),
            without_unit: WithoutUnit::OwnPerson,
            ..winter()
        });
        for dataset in all {
            let form = DatasetForm::new(dataset.clone(), Vec::new(), false);
            assert_eq!(form.definition().unwrap(), dataset);
        }
    }

    #[test]
    fn switches_go_round_and_texts_are_typed() {
        let mut form = DatasetForm::new(winter(), Vec::new(), false);
        for (line, times) in DatasetForm::LINES.iter().zip([2, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0])
        {
            for _ in 0..times {
                press(&mut form, KeyCode::Char(' '));
            }
            assert!(form.problem.is_none(), "{}: {:?}", line.label, form.problem);
            press(&mut form, KeyCode::Down);
        }
        assert_eq!((form.focus, form.definition().unwrap()), (0, winter()));
        form.focus = 6;
        form.paste("20 1");
        assert_eq!(form.definition().unwrap().sample, Some(Sample { rows: 20, seed: 1 }));
        press(&mut form, KeyCode::Char('x'));
        assert!(form.problem.as_ref().is_some_and(|problem| problem.contains("sample")));
    }

    #[test]
    fn rows_of_nobody_are_left_out_or_somebody_each_where_a_column_names_persons() {
        let mut form = DatasetForm::new(winter(), Vec::new(), false);
        form.focus = DatasetForm::LINES.len() - 1;
        press(&mut form, KeyCode::Char(' '));
        assert!(form.problem.as_ref().is_some_and(|it| it.contains("no `unit` is named")));
        form.texts[UNIT] = TextField::new("day");
        assert_eq!(form.definition().unwrap().without_unit, WithoutUnit::OwnPerson);
        press(&mut form, KeyCode::Left);
        assert_eq!(form.definition().unwrap().without_unit, WithoutUnit::LeaveOut);
    }

    #[test]
    fn a_wrong_column_is_named_and_classes_need_a_classification() {
        let mut form = DatasetForm::new(winter(), vec!["bikers".to_owned()], false);
        form.texts[COLUMNS] = TextField::new("only bikerz");
        assert!(form.definition().unwrap_err().to_string().contains("bikerz"));
        let mut form = DatasetForm::new(winter(), Vec::new(), false);
        form.texts[CLASSES] = TextField::new("no, yes");
        assert!(form.definition().unwrap_err().to_string().contains("classification"));
    }
}
