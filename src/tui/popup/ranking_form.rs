//! A session's settings for ranking as a form. Enter saves, Esc leaves.

use crossterm::event::KeyEvent;

use super::form::{Form, FormLine, typed};
use crate::canvas::{Canvas, Fill, Length, Line, Rect, in_rows};
use crate::data::Role;
use crate::error::{Error, Result};
use crate::notice::one_line;
use crate::rank::{Activation, CandidateOrder, ProbeModel, RankingMechanism};
use crate::session::{RankingDefinition, Session};

const PRIVATE: usize = 0;
const PUBLIC: usize = 1;
const MODEL: usize = 2;
const UNITS: usize = 3;
const DIRECTIONS: usize = 4;
const BATCH: usize = 5;
const REPEATS: usize = 6;
const SEED: usize = 7;
const ORDER: usize = 8;
const MECHANISM: usize = 9;
const EPSILON: usize = 10;
const DELTA: usize = 11;
const TASK2VEC: usize = 12;

/// The choices, in the order of their words.
const MODELS: &[&str] =
    &["linear", "one hidden layer", "convolutional probe", "Table 7a's network"];
const ORDERS: &[&str] = &["error of its own model", "GSD", "captured energy"];
const TASK2VEC_COLUMN: &[&str] = &["no", "a column of its own"];
const MECHANISMS: &[&str] =
    &["automatic", "errors", "permute-and-flip", "exponential", "table", "direction"];

#[derive(Debug)]
pub struct RankingForm {
    original: RankingDefinition,
    session: Session,
    form: Form,
    problem: Option<String>,
}

impl RankingForm {
    const LINES: [FormLine; 13] = [
        typed(
            "private dataset",
            "the dataset that the others are compared with. Empty: that of the first plan",
        ),
        typed(
            "public datasets",
            "the candidates, with commas between them. Empty: all public datasets",
        ),
        FormLine {
            label: "model",
            choices: MODELS,
            help: "Space changes it. The small model whose gradients are compared: best the one \
                   that will be trained. The last two need images",
        },
        typed(
            "hidden units",
            "their number, and tanh or relu: 32 relu. Only one hidden layer has them",
        ),
        typed("directions k", "how many leading directions of the gradients are compared: 16"),
        typed("records m", "how many records of each dataset one repeat uses: 500"),
        typed("repeats", "how often GSD is computed, with new weights and records each time: 10"),
        typed("seed", "the seed of weights, labels and public records: 0"),
        FormLine {
            label: "order",
            choices: ORDERS,
            help: "Space changes it. What the exact table is ordered by; s on the table changes it, too",
        },
        FormLine {
            label: "private ranking",
            choices: MECHANISMS,
            help: "Space changes it. What p releases: errors of public models (needs labels; \
                   automatic takes them if there are labels), the \
                   best name by permute-and-flip or the exponential mechanism, a noisy table, or one direction",
        },
        typed("ε", "the ε that a private ranking spends, such as 0.5. Empty: p asks"),
        typed("δ", "its δ, such as 1e-6. Empty: that of the dataset's budget, or 1e-6"),
        FormLine {
            label: "Task2Vec",
            choices: TASK2VEC_COLUMN,
            help: "Space changes it. A column of exact rankings with the distance by Task2Vec. It needs labels \
                   that are classes, and takes some seconds for each dataset",
        },
    ];

    pub fn new(session: &Session) -> Self {
        let original = session.ranking.clone();
        let settings = &original.settings;
        let (model, units) = match settings.model {
            ProbeModel::Linear => (0, String::new()),
            ProbeModel::Perceptron(units, activation) => {
                (1, format!("{units} {}", activation.words()))
            }
            ProbeModel::Probe => (2, String::new()),
            ProbeModel::Table7a => (3, String::new()),
        };
        let order = CandidateOrder::ALL.iter().position(|it| *it == settings.order);
        let mechanism = original
            .mechanism
            .and_then(|it| RankingMechanism::ALL.iter().position(|all| *all == it));
        let texts = [
            original.private.clone().unwrap_or_default(),
            original.public.join(", "),
            MODELS[model].to_owned(),
            units,
            settings.directions.to_string(),
            settings.batch.to_string(),
            settings.repeats.to_string(),
            settings.seed.to_string(),
            ORDERS[order.unwrap_or(0)].to_owned(),
            MECHANISMS[mechanism.map_or(0, |place| place + 1)].to_owned(),
            original.epsilon.map(|epsilon| epsilon.to_string()).unwrap_or_default(),
            original.delta.map(|delta| delta.to_string()).unwrap_or_default(),
            TASK2VEC_COLUMN[usize::from(settings.task2vec)].to_owned(),
        ];
        let form = Form::new(&Self::LINES, texts);
        Self { original, session: session.clone(), form, problem: None }
    }

    /// Moves, types or switches; checks the content.
    pub fn handle(&mut self, key: KeyEvent) {
        self.form.handle(key);
        self.validate();
    }

    pub fn paste(&mut self, text: &str) {
        self.form.paste(text);
        self.validate();
    }

    pub fn refuse(&mut self, error: &Error) {
        self.problem = Some(one_line(error));
    }

    fn validate(&mut self) {
        self.problem = self.definition().err().map(|error| one_line(&error));
    }

    /// The settings that the form describes.
    pub fn definition(&self) -> Result<RankingDefinition> {
        let text = |line| Some(self.form.text(line)).filter(|text| !text.is_empty());
        let mut made = self.original.clone();
        made.private = text(PRIVATE).map(str::to_owned);
        let public = text(PUBLIC).unwrap_or_default().split(',').map(str::trim);
        made.public = public.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let settings = &mut made.settings;
        settings.model = match self.form.choice(MODEL) {
            0 => ProbeModel::Linear,
            1 => {
                let (units, activation) = hidden_units(text(UNITS).unwrap_or("32 relu"))?;
                ProbeModel::Perceptron(units, activation)
            }
            2 => ProbeModel::Probe,
            _ => ProbeModel::Table7a,
        };
        let count = |line: usize| number::<usize>(Self::LINES[line].label, self.form.text(line));
        settings.directions = count(DIRECTIONS)?;
        settings.batch = count(BATCH)?;
        settings.repeats = count(REPEATS)?;
        settings.seed = number("seed", self.form.text(SEED))?;
        settings.order = CandidateOrder::ALL[self.form.choice(ORDER)];
        let mechanism = self.form.choice(MECHANISM).checked_sub(1);
        made.mechanism = mechanism.map(|place| RankingMechanism::ALL[place]);
        made.epsilon = text(EPSILON).map(|text| number("ε", text)).transpose()?;
        made.settings.task2vec = self.form.choice(TASK2VEC) == 1;
        made.delta = text(DELTA).map(|text| number("δ", text)).transpose()?;
        let session = Session { ranking: made.clone(), ..self.session.clone() };
        session.check()?;
        Ok(made)
    }

    /// The names that a line can have.
    fn named(&self, role: Role) -> String {
        let of_role = self.session.datasets.iter().filter(|it| it.role == role);
        let names: Vec<&str> = of_role.map(|it| it.name.as_str()).collect();
        format!(". There are: {}", names.join(", "))
    }

    pub fn draw(&self, canvas: &mut Canvas, body: Rect) {
        let theme = canvas.theme;
        let inner = canvas.window(body, 76, 21, "Settings of the ranking");
        let lines = Self::LINES.len() as u16;
        let [fields, help, problem, keys] =
            in_rows(inner, [Length(lines), Length(3), Fill(1), Length(1)]);
        self.form.draw(canvas, fields, |_| theme.text);
        let help_words = match self.form.focus {
            PRIVATE => self.named(Role::Private),
            PUBLIC => self.named(Role::Public),
            _ => String::new(),
        };
        canvas.wrapped(format!("{}{help_words}", self.form.help()), theme.muted, help);
        if let Some(text) = &self.problem {
            canvas.wrapped(text, theme.error, problem);
        }
        let words = "↑↓ or Tab between fields, Enter saves, Esc leaves";
        canvas.line(Line::styled(words, theme.muted), keys);
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T> {
    text.trim().parse().map_err(|_| {
        Error::usage(format!("{name}: '{text}' is not a number")).cure("type a number")
    })
}

/// "units" or "units activation".
fn hidden_units(text: &str) -> Result<(usize, Activation)> {
    let (units, activation) = text.split_once(' ').unwrap_or((text, "relu"));
    let activation = match activation.trim() {
        "relu" => Activation::Relu,
        "tanh" => Activation::Tanh,
        other => {
            return Err(Error::usage(format!("hidden units: '{other}' is not known"))
                .cure("write tanh or relu after the number: 32 relu"));
        }
    };
    Ok((number("hidden units", units)?, activation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::text_field::TextField;
    use crossterm::event::KeyCode;

    fn form() -> RankingForm {
        RankingForm::new(&crate::session::demo::session("bikeshare").unwrap())
    }

    #[test]
    fn the_form_gives_back_the_settings_that_it_was_opened_with() {
        let mut session = crate::session::demo::session("bikeshare").unwrap();
        let mut all = vec![session.ranking.clone()];
        let models = [
            ProbeModel::Linear,
            ProbeModel::Perceptron(7, Activation::Tanh),
            ProbeModel::Probe,
            ProbeModel::Table7a,
        ];
        for (model, place) in models.into_iter().zip(0..) {
            let mut other = session.ranking.clone();
            other.settings.model = model;
            other.settings.order = CandidateOrder::ALL[place % 3];
            other.mechanism = Some(RankingMechanism::ALL[place]);
            (other.epsilon, other.delta) = (Some(0.25), Some(1e-7));
            other.settings.task2vec = place > 1;
            other.public = vec!["spring".to_owned(), "autumn".to_owned()];
            all.push(other);
        }
        for ranking in all {
            session.ranking = ranking.clone();
            assert_eq!(RankingForm::new(&session).definition().unwrap(), ranking);
        }
    }

    #[test]
    fn every_choice_is_named_and_goes_round() {
        assert_eq!(ORDERS.len(), CandidateOrder::ALL.len());
        let words = RankingMechanism::ALL.map(RankingMechanism::word);
        assert_eq!(MECHANISMS[1..], words);
        let mut form = form();
        let before = form.definition().unwrap();
        for line in RankingForm::LINES {
            for _ in line.choices {
                form.handle(KeyEvent::from(KeyCode::Char(' ')));
            }
            form.handle(KeyEvent::from(KeyCode::Down));
        }
        assert_eq!(form.definition().unwrap(), before);
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        for (line, text, said) in [
            (BATCH, "many", "records m"),
            (REPEATS, "1", "repeats"),
            (UNITS, "3 sigmoid", "sigmoid"),
            (PUBLIC, "winter", "wants it public"),
            (EPSILON, "-1", "ε"),
        ] {
            let mut form = form();
            form.form.texts[line] = TextField::new(text);
            let error = form.definition().unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
