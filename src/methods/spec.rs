//! Hyperparameters, described once for the Plan form, the RON validation, `halflight methods` and
//! the documentation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::gap::Gap;
use super::public_predictor::PublicPredictor;
use super::sources::SourceWeights;
use crate::data::Task;
use crate::data::names::hint_or_all;
use crate::error::{Error, Result};

/// The word for 0 in fields that the method may choose itself.
const AUTOMATIC: &str = "automatic";

/// The description of a method.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct Spec {
    /// Name in session files, such as `moment_release`.
    pub id: &'static str,
    /// Name in plain words.
    pub name: &'static str,
    /// Name in papers.
    pub paper: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The summary on one line, for somebody who has not read the papers.
    pub line: &'static str,
    /// The predicted quantity.
    pub task: Task,
    /// Whether the private records must have the label.
    pub needs_private_labels: bool,
    /// Whether the public records must have the same label. If not, they may have none, or classes
    /// of their own.
    pub needs_public_labels: bool,
    /// The settings.
    pub fields: &'static [Field],
    /// Numbers that a rehearsal tries for the most important settings, besides the defaults.
    pub tries: &'static [(&'static str, &'static [f64])],
    /// The place in the list of a plan's methods: the most promising ones that use public data come
    /// first. Methods with the same place keep the order of the registry.
    pub place: u8,
    /// An assumption about the public data on which the guarantee depends, beyond those of every
    /// method; for the certificate.
    pub assumption: Option<&'static str>,
    /// The assumption in place of `assumption` if training begins with an earlier model.
    pub assumption_if_started: Option<&'static str>,
    /// Whether a plan may name a model to start from.
    pub starts_from_a_model: bool,
    /// The page of the guide that proves how far a record moves the releases, below `proofs`; `None`
    /// if it has the name `id`.
    pub proof: Option<&'static str>,
    /// Whether the method bounds its own features of a record, and so needs features that are hardly
    /// clipped.
    pub takes_wide_features: bool,
    /// Whether the method releases a number for each private record. Then the records are in a
    /// secret random order (see [`crate::data::secret_order`]): in the order of the file, a record
    /// that is elsewhere would move the numbers of many others.
    pub releases_each_record: bool,
    /// Whether the method uses public records alone: it releases nothing, and its runs spend
    /// nothing.
    pub public_only: bool,
    /// Whether trees and a linear model of public records are a part of the method, so that a plan can
    /// add only finished models and columns.
    pub has_own_predictor: bool,
    /// Whether rehearsals also try the method with a public predictor, because this is cheap to try
    /// and often better.
    pub tries_public_predictor: bool,
    /// Whether the noise covers a score on held-out records: with default settings the method
    /// releases values with Gaussian noise from all training records.
    pub covers_scores: bool,
    /// Whether a run may end before it took all planned steps, without anybody stopping it.
    pub may_end_early: bool,
    /// The most features that the method accepts. Matrices to decompose have one row per feature:
    /// the time grows with the cube of their number, and no signal can interrupt it.
    pub most_features: Option<usize>,
    /// Whether the method tells exactly two classes apart.
    pub two_classes_only: bool,
    /// Settings that lead to other releases than the defaults, for the audit: a name, and the key
    /// and the value of one setting as in a form.
    pub variants: &'static [(&'static str, &'static str, &'static str)],
    /// Whether the loss is the logistic one of two classes, and the softmax loss of more.
    pub softmax_of_several: bool,
    /// Whether persons are clipped, and not records, if public records also name persons.
    pub clips_persons: bool,
    /// Whether steps are on samples of the private records even if no setting asks for it.
    pub always_samples: bool,
    /// Whether several sites can run the method together: all that its steps take from private
    /// records are means over records or persons with Gaussian noise, so the weighted mean of the
    /// sites' releases is that of all records; and what follows from a release uses
    /// [`joint_records`](crate::ProblemShape::joint_records) and the scale that the spender tells.
    pub joins: bool,
    /// The stationarity gap of its steps.
    pub gap: Gap,
}

/// One hyperparameter.
#[derive(Debug)]
pub struct Field {
    /// Name of the setting in session files.
    pub key: &'static str,
    /// Name of the setting in forms.
    pub name: &'static str,
    /// Unit of the values; empty if they have none.
    pub unit: &'static str,
    /// Effect of the setting, in a sentence or two.
    pub help: &'static str,
    /// The allowed values.
    pub kind: FieldKind,
}

/// The allowed values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldKind {
    /// Any number in a range.
    Real {
        /// The least value.
        min: f64,
        /// The largest value.
        max: f64,
        /// The default.
        default: f64,
    },
    /// A whole number in a range.
    Whole {
        /// The least value.
        min: u64,
        /// The largest value.
        max: u64,
        /// The default.
        default: u64,
    },
    /// A number above zero, or 0, the default, with which the method chooses it from the plan.
    Automatic {
        /// Whole numbers only.
        whole: bool,
        /// The largest value.
        max: f64,
    },
    /// One of a few words.
    Choice {
        /// All of them.
        options: &'static [&'static str],
        /// The default.
        default: &'static str,
    },
    /// Whether the public datasets of a plan have a weight each: words or numbers.
    SourceWeights,
    /// Yes or no.
    Flag {
        /// The default.
        default: bool,
    },
}

/// A hyperparameter's value in a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A number, whole or not.
    Number(f64),
    /// One of the words of a choice.
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{}", if *flag { "yes" } else { "no" }),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl FieldKind {
    /// The default value.
    pub fn default_value(self) -> Value {
        match self {
            Self::Real { default, .. } => Value::Number(default),
            Self::Whole { default, .. } => Value::Number(default as f64),
            Self::Automatic { .. } => Value::Number(0.0),
            Self::Choice { default, .. } => Value::Text(default.to_owned()),
            Self::SourceWeights => Value::Text(SourceWeights::DEFAULT.to_owned()),
            Self::Flag { default } => Value::Flag(default),
        }
    }

    /// The allowed values, in words.
    pub fn range(self) -> String {
        match self {
            Self::Real { min, max, .. } => format!("a number from {min} to {max}"),
            Self::Whole { min, max, .. } => format!("a whole number from {min} to {max}"),
            Self::Automatic { whole, max } => {
                let number = if whole { "whole number" } else { "number" };
                format!("a {number} up to {max}, or 0 for {AUTOMATIC}")
            }
            Self::Choice { options, .. } => format!("one of {}", options.join(", ")),
            Self::SourceWeights => SourceWeights::RANGE.to_owned(),
            Self::Flag { .. } => "yes or no".to_owned(),
        }
    }

    /// A value of this field, for forms and lists.
    pub fn words(self, value: &Value) -> String {
        match (self, value) {
            (Self::Automatic { .. }, Value::Number(0.0)) => AUTOMATIC.to_owned(),
            _ => value.to_string(),
        }
    }

    /// The first value of an automatic number when it is set by hand.
    pub fn first(self) -> f64 {
        if matches!(self, Self::Automatic { whole: false, .. }) { 0.1 } else { 1.0 }
    }

    pub fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Real { min, max, .. }, Value::Number(x)) => (min..=max).contains(x),
            (Self::Whole { min, max, .. }, Value::Number(x)) => {
                x.fract() == 0.0 && (min as f64..=max as f64).contains(x)
            }
            (Self::Automatic { whole, max }, Value::Number(x)) => {
                (0.0..=max).contains(x) && (!whole || x.fract() == 0.0)
            }
            (Self::Choice { options, .. }, Value::Text(x)) => options.contains(&x.as_str()),
            (Self::SourceWeights, Value::Text(x)) => SourceWeights::parse(x).is_some(),
            (Self::Flag { .. }, Value::Flag(_)) => true,
            _ => false,
        }
    }

    /// Reads what a user typed into a form.
    pub fn parse(self, text: &str) -> Option<Value> {
        let text = text.trim();
        let value = match self {
            Self::Automatic { .. } if text.is_empty() || text == AUTOMATIC => Value::Number(0.0),
            Self::Real { .. } | Self::Whole { .. } | Self::Automatic { .. } => {
                Value::Number(text.parse().ok()?)
            }
            Self::Choice { .. } | Self::SourceWeights => Value::Text(text.to_owned()),
            Self::Flag { .. } => match text {
                "yes" | "true" | "y" => Value::Flag(true),
                "no" | "false" | "n" => Value::Flag(false),
                _ => return None,
            },
        };
        self.admits(&value).then_some(value)
    }
}

impl Spec {
    /// Refuses public predictors that a plan of the method cannot have. The certificate of public data
    /// alone says that no private record has a part in the model, and a finished model may have seen
    /// some.
    pub fn check_predictor(&self, wanted: &PublicPredictor) -> Result<()> {
        if self.has_own_predictor && wanted.is_trained() {
            return Err(Error::usage(format!(
                "'{}' trains trees and a linear model itself, so these are not added",
                self.name
            ))
            .cure("leave them out: `public_predictor` takes other predictions here"));
        }
        if self.public_only && wanted.builds_on().is_some() {
            return Err(Error::usage(format!(
                "'{}' takes no finished model, because that may have seen private records",
                self.name
            ))
            .cure("name a column of predictions, or correct the model with public_shape"));
        }
        Ok(())
    }

    /// Facts that most methods share. A method names itself and states what differs.
    pub const DEFAULT: Self = Self {
        id: "",
        name: "",
        paper: "",
        summary: "",
        line: "",
        task: Task::Regression,
        needs_private_labels: true,
        needs_public_labels: true,
        fields: &[],
        tries: &[],
        place: u8::MAX,
        assumption: None,
        assumption_if_started: None,
        starts_from_a_model: false,
        proof: None,
        takes_wide_features: false,
        releases_each_record: false,
        public_only: false,
        has_own_predictor: false,
        tries_public_predictor: false,
        covers_scores: true,
        may_end_early: false,
        most_features: None,
        two_classes_only: false,
        variants: &[],
        softmax_of_several: false,
        clips_persons: false,
        always_samples: false,
        joins: false,
        gap: Gap::GRADIENT,
    };

    /// The page of the guide that proves how far a record moves the releases, below `proofs`.
    pub fn proof(&self) -> &'static str {
        self.proof.unwrap_or(self.id)
    }

    /// Settings for few steps on few records.
    pub fn settings_for_few_records(&self) -> BTreeMap<String, Value> {
        let tried = [
            ("steps", 6.0),
            ("rounds", 6.0),
            ("iterations", 20.0),
            ("epochs", 1.0),
            ("components", 2.0),
            ("basis", 2.0),
            ("anchors", 20.0),
        ];
        let tried = tried.map(|(key, value)| (key, Value::Number(value)));
        let batch = self.always_samples.then_some(("batch", Value::Number(12.0)));
        let admitted = tried
            .into_iter()
            .filter(|(key, value)| self.field(key).is_some_and(|field| field.kind.admits(value)));
        admitted.chain(batch).map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The hyperparameter with this key.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// Completes `given` with defaults; refuses unknown names and values outside their range.
    pub fn check(&self, given: &BTreeMap<String, Value>) -> Result<Settings> {
        for (key, value) in given {
            let field = self.field(key).ok_or_else(|| {
                let known: Vec<_> = self.fields.iter().map(|field| field.key).collect();
                Error::usage(format!("method {} has no setting '{key}'", self.id))
                    .cure(hint_or_all(key, &known, "its settings are"))
            })?;
            if !field.kind.admits(value) {
                // As a session file writes it; a form takes yes and no.
                let wanted = match field.kind {
                    FieldKind::Flag { .. } => "true or false, without quotes".to_owned(),
                    kind => kind.range(),
                };
                return Err(Error::usage(format!("setting '{key}' of {} is {value}", self.id))
                    .cure(format!("give {wanted}")));
            }
        }
        let values = self.fields.iter().map(|field| {
            let value = given.get(field.key).cloned().unwrap_or(field.kind.default_value());
            (field.key, value)
        });
        Ok(Settings(values.collect()))
    }
}

/// Checked and complete hyperparameters: every field of the spec has a value in its range.
/// A method reads them as the struct that [`settings!`] made of its declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings(BTreeMap<&'static str, Value>);

impl Settings {
    /// All keys with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// Whether a key has its default value.
    pub(crate) fn is_default(&self, spec: &Spec, key: &str) -> bool {
        self.0.get(key) == spec.field(key).map(|field| field.kind.default_value()).as_ref()
    }

    /// The value of one setting. Fails on the settings of another method.
    pub(crate) fn read<T>(&self, setting: &Setting<T>) -> Result<T> {
        let key = setting.field.key;
        self.0.get(key).and_then(setting.read).ok_or_else(|| {
            Error::failed(format!("these settings are of a method that has no '{key}'"))
        })
    }
}

/// A hyperparameter and how it is read. [`settings!`] takes the key from the name of the member. `T`
/// is what the method gets.
#[derive(Debug)]
pub struct Setting<T> {
    pub(crate) field: Field,
    read: fn(&Value) -> Option<T>,
}

impl<T> Setting<T> {
    /// A setting without a name.
    pub(crate) const fn new(kind: FieldKind, read: fn(&Value) -> Option<T>) -> Self {
        Self { field: Field { key: "", name: "", unit: "", help: "", kind }, read }
    }

    /// With the name in forms, and the unit of the values; empty if they have none.
    pub const fn named(mut self, name: &'static str, unit: &'static str) -> Self {
        (self.field.name, self.field.unit) = (name, unit);
        self
    }

    /// With the effect of the setting, in a sentence or two.
    pub const fn help(mut self, help: &'static str) -> Self {
        self.field.help = help;
        self
    }

    /// With the name, the unit and the help of another one.
    pub const fn like(self, other: &Self) -> Self {
        self.named(other.field.name, other.field.unit).help(other.field.help)
    }

    /// With the name in session files.
    pub(crate) const fn keyed(mut self, key: &'static str) -> Self {
        self.field.key = key;
        self
    }
}

impl Setting<f64> {
    /// With another default.
    pub const fn by_default(mut self, default: f64) -> Self {
        if let FieldKind::Real { min, max, .. } = self.field.kind {
            self.field.kind = FieldKind::Real { min, max, default };
        }
        self
    }
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Number(number) = value { Some(*number) } else { None }
}

/// Any number in a range.
pub const fn real(min: f64, max: f64, default: f64) -> Setting<f64> {
    Setting::new(FieldKind::Real { min, max, default }, number)
}

/// A whole number in a range.
pub const fn whole(min: u64, max: u64, default: u64) -> Setting<u64> {
    let read = |value: &Value| number(value).map(|number| number as u64);
    Setting::new(FieldKind::Whole { min, max, default }, read)
}

/// `None` lets the method choose, and is 0 in session files.
pub const fn automatic(max: f64) -> Setting<Option<f64>> {
    let read = |value: &Value| number(value).map(|number| (number > 0.0).then_some(number));
    Setting::new(FieldKind::Automatic { whole: false, max }, read)
}

/// A whole number, where `None` lets the method choose, and is 0 in session files.
pub const fn automatic_whole(max: f64) -> Setting<Option<u64>> {
    let read = |value: &Value| number(value).map(|number| (number > 0.0).then_some(number as u64));
    Setting::new(FieldKind::Automatic { whole: true, max }, read)
}

/// Yes or no.
pub const fn flag(default: bool) -> Setting<bool> {
    let read = |value: &Value| if let Value::Flag(flag) = value { Some(*flag) } else { None };
    Setting::new(FieldKind::Flag { default }, read)
}

/// Makes a choice: an enum whose variants are the words of session files.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// The setting that chooses among them.
            pub const fn or(default: Self) -> $crate::spec::Setting<Self> {
                let options = &[$($word),+];
                let default = match default { $(Self::$variant => $word),+ };
                let kind = $crate::spec::FieldKind::Choice { options, default };
                $crate::spec::Setting::new(kind, |value| match value {
                    $($crate::spec::Value::Text(word) if word == $word => Some(Self::$variant),)+
                    _ => None,
                })
            }
        }
    };
}
pub(crate) use choices;

/// Makes the settings of a method: a struct to read, and the fields of its [`Spec`].
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$of:meta])* $key:ident: $kind:ty = $setting:expr),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(dead_code)] // several methods list settings that a struct of their own reads
        $vis struct $name { $($(#[$of])* pub $key: $kind),* }

        #[allow(non_upper_case_globals)] // named like the members that they describe
        impl $name {
            $(pub const $key: $crate::spec::Setting<$kind> = $setting.keyed(stringify!($key));)*

            /// All of them, as the method's spec lists them.
            pub const FIELDS: &'static [$crate::spec::Field] =
                &[$(Self::$key.field),*];

            /// Reads checked settings.
            #[allow(dead_code)] // of two with the same members, one reads both
            pub fn of(settings: &$crate::spec::Settings) -> $crate::error::Result<Self> {
                Ok(Self { $($key: settings.read(&Self::$key)?),* })
            }
        }
    };
}
pub(crate) use settings;

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        enum TestMode { A = "a", B = "b" }
    }

    settings! {
        struct TestSettings {
            steps: u64 = whole(1, 10, 3),
            mode: TestMode = TestMode::or(TestMode::A),
            rate: Option<f64> = automatic(2.0),
            average: bool = flag(true),
        }
    }

    static SPEC: Spec = Spec {
        id: "test",
        name: "test",
        paper: "Test",
        fields: TestSettings::FIELDS,
        ..Spec::DEFAULT
    };

    fn given(key: &str, value: Value) -> BTreeMap<String, Value> {
        BTreeMap::from([(key.to_owned(), value)])
    }

    #[test]
    fn missing_settings_take_their_defaults() {
        let settings = TestSettings::of(&SPEC.check(&BTreeMap::new()).unwrap()).unwrap();
        assert_eq!(
            settings,
            TestSettings { steps: 3, mode: TestMode::A, rate: None, average: true }
        );
    }

    #[test]
    fn given_settings_are_read_as_they_stand() {
        let read = |key, value| TestSettings::of(&SPEC.check(&given(key, value)).unwrap()).unwrap();
        assert_eq!(read("mode", Value::Text("b".to_owned())).mode, TestMode::B);
        assert_eq!(read("rate", Value::Number(0.5)).rate, Some(0.5));
        assert!(!read("average", Value::Flag(false)).average);
    }

    #[test]
    fn settings_of_another_method_are_not_read() {
        let other = Spec { fields: &TestSettings::FIELDS[1..], ..SPEC };
        let error = TestSettings::of(&other.check(&BTreeMap::new()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("'steps'"), "{error}");
    }

    #[test]
    fn unknown_names_and_values_out_of_range_are_refused_with_the_range() {
        let unknown = SPEC.check(&given("step", Value::Number(3.0))).unwrap_err();
        assert!(unknown.to_string().contains("did you mean 'steps'?"), "{unknown}");
        let unknown = SPEC.check(&given("colour", Value::Number(3.0))).unwrap_err();
        assert!(unknown.to_string().contains("steps, mode, rate"), "{unknown}");
        for bad in
            [Value::Number(0.0), Value::Number(2.5), Value::Number(f64::NAN), Value::Flag(true)]
        {
            let error = SPEC.check(&given("steps", bad)).unwrap_err();
            assert!(error.to_string().contains("from 1 to 10"), "{error}");
        }
    }

    #[test]
    fn a_zero_that_lets_the_method_choose_is_called_automatic() {
        let steps = FieldKind::Automatic { whole: true, max: 100.0 };
        assert_eq!(steps.words(&steps.default_value()), "automatic");
        assert_eq!(steps.words(&Value::Number(30.0)), "30");
        assert_eq!(steps.parse("automatic"), Some(Value::Number(0.0)));
        assert_eq!(steps.parse("100"), Some(Value::Number(100.0)));
        assert!(["101", "2.5", "-1", "some"].iter().all(|text| steps.parse(text).is_none()));
        assert_eq!(steps.range(), "a whole number up to 100, or 0 for automatic");
    }

    #[test]
    fn typed_text_is_read_by_the_same_rules() {
        assert_eq!(SPEC.fields[0].kind.parse(" 7 "), Some(Value::Number(7.0)));
        assert_eq!(SPEC.fields[0].kind.parse("11"), None);
        assert_eq!(SPEC.fields[1].kind.parse("c"), None);
    }
}
