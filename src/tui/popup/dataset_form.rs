//! A dataset's definition as a form. Enter saves, or lists the columns where the line names some;
//! Esc leaves.

use crossterm::event::KeyEvent;

use super::form::{Form, FormLine, typed};
use super::picker::{Item, Picker};
use crate::canvas::{Canvas, Fill, Length, Line, Rect, in_rows};
use crate::data::csv::Decimal;
use crate::data::filter::Filter;
use crate::data::names::{is_pattern, matches};
use crate::data::{Columns, DatasetDefinition, Missing, Role, Sample, Task, Unit, WithoutUnit};
use crate::error::{Error, Result};
use crate::notice::one_line;

const ROLE: usize = 0;
const NAME: usize = 1;
const LABEL: usize = 2;
const TASK: usize = 3;
const CLASSES: usize = 4;
const FILTER: usize = 5;
const SAMPLE: usize = 6;
const MISSING: usize = 7;
const COLUMNS: usize = 8;
const CATEGORIES: usize = 9;
const UNIT: usize = 10;
const MOST_RECORDS: usize = 11;
const WITHOUT_UNIT: usize = 12;
const DECIMALS: usize = 13;
const READ_AS_MISSING: usize = 14;
const LABEL_UNIT: usize = 15;

/// The values of the switches, in the order of their words.
const ROLES: [Role; 2] = [Role::Private, Role::Public];
const TASKS: [Task; 2] = [Task::Regression, Task::Classification];
const GAPS: [Missing; 3] = [Missing::Refuse, Missing::Drop, Missing::PublicMean];
const ROWS_OF_NOBODY: [WithoutUnit; 2] = [WithoutUnit::LeaveOut, WithoutUnit::OwnPerson];
const READINGS: [Decimal; 2] = [Decimal::Point, Decimal::Comma];

/// The lines that name columns of the file, with the titles of their lists.
const LISTED: [(usize, &str); 3] = [
    (COLUMNS, "Columns that are features"),
    (CATEGORIES, "Columns that are categories"),
    (UNIT, "Columns that name the person"),
];

#[derive(Debug)]
pub struct DatasetForm {
    /// Name of the dataset being changed; `None` for a new one.
    pub replaces: Option<String>,
    original: DatasetDefinition,
    /// Columns of the file, if known.
    pub known_columns: Vec<String>,
    pub form: Form,
    pub problem: Option<String>,
    /// The columns of the file, to be ticked for the focused line.
    pub list: Option<Picker<()>>,
    /// Whether the focused line was changed since it has the focus: Enter saves then.
    is_changed: bool,
    /// Whether the user has seen and taken what was guessed.
    pub is_confirmed: bool,
}

impl DatasetForm {
    const LINES: [FormLine; 16] = [
        FormLine {
            label: "role",
            choices: &["private", "public"],
            help: "Space changes it. private: protected by a budget; public: free to use",
        },
        typed("name", "its name in the session"),
        typed("label column", "the column to predict; empty: unlabelled"),
        FormLine {
            label: "task",
            choices: &["regression", "classification"],
            help: "Space changes it. classification: the label names a class; regression: it \
                   measures something, such as a grade or a price",
        },
        typed(
            "classes",
            "the answers of a classification, such as: no, yes. Empty: those of the public data",
        ),
        typed("row filter", "such as: season != 1   or   sex == \"F\" and age >= 30"),
        typed(
            "sample",
            "use a random sample of this many rows: 5000   or with a seed: 5000 7. Empty: all rows",
        ),
        FormLine {
            label: "missing values",
            choices: &["refuse", "drop", "public mean"],
            help: "Space changes it. refuse: a missing value is an error; drop: records with \
                   missing values are not used; public mean: it fills in missing values",
        },
        typed("columns", "all · only a, b, px* · except a, b"),
        typed(
            "categories",
            "columns that are categories: hr, weathersit   or with values: sex=F|M",
        ),
        typed(
            "person column",
            "the column that names the person: patient_id, or ward + bed. All rows of one person \
             are then protected together. Empty: every row is protected on its own",
        ),
        typed(
            "rows of a person",
            "use at most this many of each person, picked at random. Empty: 32",
        ),
        FormLine {
            label: "rows of nobody",
            choices: &["left out", "one person each"],
            help: "Space changes it. Rows in which the person column is empty are left out, or \
                   count as one person each",
        },
        FormLine {
            label: "decimals",
            choices: &["point", "comma"],
            help: "Space changes it. point: 1.5; comma: 1,5 is read as 1.5, and 1.000 as a \
                   thousand, in a text table",
        },
        typed(
            "read as missing",
            "texts in a public text table that say there is no value, such as: n.a., unknown, or \
             chol=0 in one column",
        ),
        typed(
            "unit of the label",
            "what its numbers count, such as: days, °C. Errors are told in it",
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
            word(ROLE, &ROLES, definition.role),
            definition.name.clone(),
            definition.label.clone().unwrap_or_default(),
            word(TASK, &TASKS, definition.task),
            definition.classes.join(", "),
            definition.filter.clone().unwrap_or_default(),
            sample.unwrap_or_default(),
            word(MISSING, &GAPS, definition.missing),
            columns,
            categories.collect::<Vec<_>>().join(", "),
            definition.unit.as_ref().map(Unit::words).unwrap_or_default(),
            definition.most_records.map(|most| most.to_string()).unwrap_or_default(),
            word(WITHOUT_UNIT, &ROWS_OF_NOBODY, definition.without_unit),
            word(DECIMALS, &READINGS, definition.source.decimal()),
            definition.source.missing().join(", "),
            definition
                .label
                .as_ref()
                .and_then(|it| definition.units.get(it))
                .cloned()
                .unwrap_or_default(),
        ];
        Self {
            replaces: (!is_new).then(|| definition.name.clone()),
            original: definition,
            is_confirmed: false,
            known_columns,
            form: Form::new(&Self::LINES, texts),
            problem: None,
            list: None,
            is_changed: false,
        }
    }

    /// Sets another label with its task. The classes were those of the old one, and a column that was
    /// left out is none any more.
    pub fn set_label(&mut self, label: Option<(&str, Task)>) {
        let (label, task) = label.unwrap_or(("", Task::Regression));
        let names = list(self.form.text(COLUMNS).trim_start_matches("except"));
        if self.form.text(COLUMNS).starts_with("except ") && names.iter().any(|it| it == label) {
            let others: Vec<String> = names.into_iter().filter(|it| it != label).collect();
            let all = if others.is_empty() { "all" } else { "except " };
            self.form.texts[COLUMNS].set(&format!("{all}{}", others.join(", ")));
        }
        self.form.texts[LABEL].set(label);
        self.form.texts[TASK].set(&word(TASK, &TASKS, task));
        self.form.texts[CLASSES].set("");
        let unit = self.original.units.get(label).map_or("", String::as_str);
        self.form.texts[LABEL_UNIT].set(unit);
    }

    /// Moves, types or switches; checks the content.
    pub fn handle(&mut self, key: KeyEvent) {
        if let Some(list) = &mut self.list {
            return list.handle(key);
        }
        let (focus, text) = (self.form.focus, self.form.text(self.form.focus).to_owned());
        self.form.handle(key);
        let has_moved = self.form.focus != focus;
        self.is_changed = !has_moved && (self.is_changed || self.form.text(focus) != text);
        self.validate();
    }

    pub fn paste(&mut self, text: &str) {
        if let Some(list) = &mut self.list {
            return list.query.insert(text);
        }
        self.form.paste(text);
        self.is_changed = true;
        self.validate();
    }

    /// The title of the list that Enter opens.
    fn list_title(&self) -> Option<&'static str> {
        let title = LISTED.iter().find(|(line, _)| *line == self.form.focus)?.1;
        (!self.is_changed && !self.known_columns.is_empty()).then_some(title)
    }

    /// Opens the list of the focused line, or takes what is ticked in it; false if Enter saves.
    pub fn enter(&mut self) -> bool {
        if let Some(list) = self.list.take() {
            self.take_ticks(&list);
            self.is_changed = true;
            self.validate();
            return true;
        }
        let Some(title) = self.list_title() else { return false };
        let items = self.known_columns.iter().map(|name| {
            let ticked = self.is_ticked(name);
            let why = match ticked {
                Some(_) => "",
                None if self.form.text(LABEL) == name => "the label",
                None => "names the person",
            };
            let item = Item::new(name.clone(), why, ());
            Item { grey: ticked.is_none(), ticked, ..item }
        });
        self.list = Some(Picker::new(title, items.collect()));
        true
    }

    /// Whether the focused line names a column; `None` if the column can be no feature.
    fn is_ticked(&self, column: &str) -> Option<bool> {
        let named = |names: &[String]| names.iter().any(|name| matches(name, column));
        let unit = Unit::parse(self.form.text(UNIT));
        let is_unit = unit.iter().flat_map(Unit::columns).any(|name| name == column);
        match self.form.focus {
            COLUMNS if is_unit || self.form.text(LABEL) == column => None,
            COLUMNS => Some(match parse_columns(self.form.text(COLUMNS)) {
                Ok(Columns::Only(names)) => named(&names),
                Ok(Columns::Except(names)) => !named(&names),
                Ok(Columns::All) | Err(_) => true,
            }),
            CATEGORIES => Some(self.category(column).is_some()),
            _ => Some(is_unit),
        }
    }

    /// A category with its values, where the line of the categories names it.
    fn category(&self, column: &str) -> Option<String> {
        let named = list(self.form.text(CATEGORIES)).into_iter().find_map(|part| {
            let (name, values) = part.split_once('=').unwrap_or((&part, ""));
            matches(name.trim(), column).then(|| values.to_owned())
        });
        named.map(|it| if it.is_empty() { column.to_owned() } else { format!("{column}={it}") })
    }

    /// Writes what is ticked into the focused line. A text with patterns stays if no tick changed.
    fn take_ticks(&mut self, list: &Picker<()>) {
        let changed = |item: &Item<()>| item.ticked != self.is_ticked(&item.title);
        if !list.items.iter().any(changed) {
            return;
        }
        let with = |tick| {
            let items = list.items.iter().filter(move |item| item.ticked == Some(tick));
            items.map(|item| item.title.clone()).collect::<Vec<_>>()
        };
        let (ticked, others) = (with(true), with(false));
        let text = match self.form.focus {
            COLUMNS if others.is_empty() => "all".to_owned(),
            COLUMNS if others.len() <= ticked.len() => format!("except {}", others.join(", ")),
            COLUMNS => format!("only {}", ticked.join(", ")),
            CATEGORIES => {
                let named = ticked.into_iter().map(|it| self.category(&it).unwrap_or(it));
                named.collect::<Vec<_>>().join(", ")
            }
            _ => ticked.join(" + "),
        };
        self.form.texts[self.form.focus].set(&text);
    }

    fn validate(&mut self) {
        self.problem = self.definition().err().map(|error| one_line(&error));
    }

    /// The definition that the form describes.
    pub fn definition(&self) -> Result<DatasetDefinition> {
        let text = |line| Some(self.form.text(line).to_owned()).filter(|text| !text.is_empty());
        let name = text(NAME).ok_or_else(|| Error::usage("the dataset needs a name"))?;
        let label = text(LABEL);
        label.iter().try_for_each(|label| self.check_column(label))?;
        let filter = text(FILTER);
        filter.as_deref().map(Filter::parse).transpose()?;
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
        let task = TASKS[self.form.choice(TASK)];
        if !classes.is_empty() && task == Task::Regression {
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
        let mut units = self.original.units.clone();
        if let Some(label) = &label {
            units.remove(label);
            units.extend(text(LABEL_UNIT).map(|unit| (label.clone(), unit)));
        }
        let decimal = READINGS[self.form.choice(DECIMALS)];
        let missing = list(self.form.text(READ_AS_MISSING));
        let source = self.original.source.read_with(decimal, missing)?;
        let mut definition = DatasetDefinition {
            name,
            source,
            units,
            role: ROLES[self.form.choice(ROLE)],
            label,
            task,
            classes,
            filter,
            sample: text(SAMPLE).map(|text| parse_sample(&text)).transpose()?,
            missing: GAPS[self.form.choice(MISSING)],
            columns,
            categories,
            fingerprint: None,
            unit,
            most_records: most_records.transpose()?,
            without_unit: ROWS_OF_NOBODY[self.form.choice(WITHOUT_UNIT)],
            ..self.original.clone()
        };
        definition.forget_changed_guesses(&self.original);
        if self.is_confirmed {
            definition.guessed.clear();
        }
        definition.check()?;
        Ok(definition)
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let title = if self.replaces.is_some() { "Edit dataset" } else { "Add dataset" };
        let inner = canvas.window(body, 76, 24, title);
        // On a small terminal the fields scroll, and the words stay.
        let lines = (Self::LINES.len() as u16).min(inner.height.saturating_sub(5));
        let [fields, help, below, keys] =
            in_rows(inner, [Length(lines), Length(2), Fill(1), Length(1)]);
        self.form.draw(canvas, fields, |_| theme.text);
        canvas.wrapped(self.form.help(), theme.muted, help);
        if let Some(text) = &self.problem {
            canvas.wrapped(text, theme.error, below);
        } else if !self.known_columns.is_empty() {
            let columns = self.known_columns.join(", ");
            canvas.wrapped(format!("columns of the file: {columns}"), theme.muted, below);
        }
        let enter = if self.list_title().is_some() { "lists the columns" } else { "saves" };
        let words = format!("↑↓ or Tab between fields, Enter {enter}, Esc leaves");
        canvas.line(Line::styled(words, theme.muted), keys);
        if let Some(list) = &self.list {
            list.draw(canvas, body);
        }
    }

    fn check_column(&self, name: &str) -> Result<()> {
        if self.known_columns.is_empty() || self.known_columns.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(Error::usage(format!("the file has no column '{name}'"))
            .cure(format!("its columns are: {}", self.known_columns.join(", "))))
    }
}

/// The word of a switch for a value.
fn word<T: Copy + PartialEq>(line: usize, values: &[T], value: T) -> String {
    let place = values.iter().position(|it| *it == value).unwrap_or(0);
    DatasetForm::LINES[line].choices[place].to_owned()
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
    use crossterm::event::KeyCode;

    use super::*;
    use crate::data::{Guessed, Source};
    use crate::widgets::text_field::TextField;

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
        for (line, times) in
            DatasetForm::LINES.iter().zip([2, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0])
        {
            for _ in 0..times {
                press(&mut form, KeyCode::Char(' '));
            }
            assert!(form.problem.is_none(), "{}: {:?}", line.label, form.problem);
            press(&mut form, KeyCode::Down);
        }
        assert_eq!((form.form.focus, form.definition().unwrap()), (0, winter()));
        form.form.focus = LABEL_UNIT;
        form.paste("bikes");
        let units = |form: &DatasetForm| form.definition().unwrap().units;
        assert_eq!(units(&form), [("bikers".to_owned(), "bikes".to_owned())].into());
        assert_eq!(form.definition().unwrap().label_unit().as_deref(), Some("bikes"));
        form.form.texts[LABEL_UNIT].set("");
        assert!(units(&form).is_empty());
        form.form.focus = 6;
        form.paste("20 1");
        assert_eq!(form.definition().unwrap().sample, Some(Sample { rows: 20, seed: 1 }));
        press(&mut form, KeyCode::Char('x'));
        assert!(form.problem.as_ref().is_some_and(|problem| problem.contains("sample")));
    }

    #[test]
    fn rows_of_nobody_are_left_out_or_somebody_each_where_a_column_names_persons() {
        let mut form = DatasetForm::new(winter(), Vec::new(), false);
        form.form.focus = WITHOUT_UNIT;
        press(&mut form, KeyCode::Char(' '));
        assert!(form.problem.as_ref().is_some_and(|it| it.contains("no `unit` is named")));
        form.form.texts[UNIT] = TextField::new("day");
        assert_eq!(form.definition().unwrap().without_unit, WithoutUnit::OwnPerson);
        press(&mut form, KeyCode::Left);
        assert_eq!(form.definition().unwrap().without_unit, WithoutUnit::LeaveOut);
    }

    #[test]
    fn decimal_commas_are_a_switch_and_a_changed_setting_is_no_guess_any_more() {
        let guess = |about: Guessed| (about, String::new());
        let mut file = DatasetDefinition::new("d", Role::Public, Source::File("d.csv".into()));
        file.guessed = [guess(Guessed::Label), guess(Guessed::Numbers)].into();
        let mut form = DatasetForm::new(file.clone(), Vec::new(), false);
        assert_eq!(form.definition().unwrap(), file);
        form.form.focus = DECIMALS;
        press(&mut form, KeyCode::Char(' '));
        let changed = form.definition().unwrap();
        assert_eq!(changed.source.decimal(), Decimal::Comma);
        assert_eq!(changed.guessed, [guess(Guessed::Label)].into());
        let again = DatasetForm::new(changed.clone(), Vec::new(), false);
        assert_eq!(again.definition().unwrap(), changed);
        assert_eq!(changed.source.read_with(Decimal::Point, Vec::new()).unwrap(), file.source);
        let mut builtin = DatasetForm::new(winter(), Vec::new(), false);
        builtin.form.focus = DECIMALS;
        press(&mut builtin, KeyCode::Char(' '));
        assert!(builtin.problem.is_some_and(|it| it.contains("text table")));
    }

    #[test]
    fn texts_that_are_read_as_missing_are_named_of_public_tables() {
        let file = DatasetDefinition::new("d", Role::Public, Source::File("d.csv".into()));
        let mut form = DatasetForm::new(file.clone(), Vec::new(), false);
        form.form.texts[READ_AS_MISSING] = TextField::new("n.a., none given");
        let changed = form.definition().unwrap();
        assert_eq!(changed.source.missing(), ["n.a.", "none given"]);
        let mut again = DatasetForm::new(changed.clone(), Vec::new(), false);
        assert_eq!(again.definition().unwrap(), changed);
        again.form.texts[READ_AS_MISSING] = TextField::new("");
        assert_eq!(again.definition().unwrap(), file);
        let private = DatasetDefinition { role: Role::Private, ..changed };
        let form = DatasetForm::new(private, Vec::new(), false);
        assert!(form.definition().unwrap_err().to_string().contains("of public data only"));
    }

    #[test]
    fn columns_are_ticked_in_a_list_or_typed() {
        let known =
            ["day", "hr", "temp", "bikers", "px1", "px2", "weathersit"].map(str::to_owned).to_vec();
        let columns = Columns::Except(vec!["px*".to_owned()]);
        let definition = DatasetDefinition { columns, ..winter() };
        let mut form = DatasetForm::new(definition, known, false);
        let keys = |form: &mut DatasetForm, text: &str| {
            text.chars().for_each(|c| press(form, KeyCode::Char(c)));
        };
        form.form.focus = COLUMNS;
        assert!(form.enter());
        let ticks = form.list.as_ref().unwrap().items.iter().map(|it| it.ticked);
        let [yes, no] = [Some(true), Some(false)];
        assert_eq!(ticks.collect::<Vec<_>>(), [yes, yes, yes, None, no, no, yes]);
        // Without a change the pattern stays, and Enter saves.
        assert!(form.enter() && !form.enter());
        assert_eq!(form.form.text(COLUMNS), "except px*");
        let pick = |form: &mut DatasetForm, text: &str| {
            press(form, KeyCode::Down);
            press(form, KeyCode::Up);
            assert!(form.enter());
            keys(form, text);
            assert!(form.enter() && form.problem.is_none(), "{:?}", form.problem);
            form.form.text(form.form.focus).to_owned()
        };
        assert_eq!(pick(&mut form, "px1 "), "except px2");
        assert_eq!(pick(&mut form, "px2 "), "all");
        // The label has no tick.
        assert_eq!(pick(&mut form, "bikers "), "all");
        form.form.texts[COLUMNS].set("only temp");
        assert_eq!(pick(&mut form, "day "), "only day, temp");
        form.form.focus = CATEGORIES;
        form.form.texts[CATEGORIES].set("hr=1|2, px*=0|1");
        assert_eq!(pick(&mut form, "px1 "), "hr=1|2, px2=0|1");
        form.form.focus = UNIT;
        form.form.texts[UNIT].set("day");
        assert_eq!(pick(&mut form, "px2 "), "day + px2");
        // What was typed is saved by Enter, and so is a form whose columns nobody knows.
        form.form.focus = COLUMNS;
        form.paste(", hr");
        assert!(!form.enter());
        let mut unknown = DatasetForm::new(winter(), Vec::new(), false);
        unknown.form.focus = COLUMNS;
        assert!(!unknown.enter());
    }

    #[test]
    fn a_wrong_column_is_named_and_classes_need_a_classification() {
        let mut form = DatasetForm::new(winter(), vec!["bikers".to_owned()], false);
        form.form.texts[COLUMNS] = TextField::new("only bikerz");
        assert!(form.definition().unwrap_err().to_string().contains("bikerz"));
        let mut form = DatasetForm::new(winter(), Vec::new(), false);
        form.form.texts[CLASSES] = TextField::new("no, yes");
        assert!(form.definition().unwrap_err().to_string().contains("classification"));
    }
}
