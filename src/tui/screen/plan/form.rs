//! How the fields of a plan are explained and changed, and presets for them.

use crate::context::TARGET;
use crate::data::preparation::{FeatureScaling, LabelRange};
use crate::data::{PreparationSettings, Role};
use crate::error::{Error, Result};
use crate::evaluation::definition::FORM;
use crate::evaluation::{Evaluation, Pay};
use crate::methods::{self, Field, FieldKind, PublicPredictor, public_predictor};
use crate::privacy::Target;
use crate::session::plan_field::{NO_SCORE, count};
pub use crate::session::plan_field::{PlanField, fields};
use crate::session::{PlanDefinition, Session, plan_name};

/// The value in a new plan.
pub const HOLDOUT: f64 = 0.2;
pub const SEED: u64 = 1;
/// The default ε of a score on test data.
const TEST: f64 = 0.5;

/// A field of a plan as a form shows and changes it.
pub trait FormField: Copy {
    /// Explains the field in a sentence.
    fn help(self) -> String;

    /// What the field can be; `None` if it is typed.
    fn choices(self, session: &Session) -> Option<Vec<String>>;

    /// Whether the field has its value of a new plan.
    fn is_default(self, plan: &PlanDefinition) -> bool;

    /// Whether the method chooses the field's number.
    fn is_automatic(self, plan: &PlanDefinition) -> bool;

    /// Resets the field to its value in a new plan; false if there is none.
    fn reset(self, plan: &mut PlanDefinition) -> bool;

    /// Sets the field from text; the error names the allowed values.
    fn set(self, plan: &mut PlanDefinition, text: &str) -> Result<()>;
}

impl FormField for PlanField {
    fn help(self) -> String {
        let help = match self {
            Self::Setting(field) => return format!("{} Takes {}.", field.help, field.kind.range()),
            Self::PublicPredictor => {
                return format!(
                    "a model of the public records, whose score becomes one more feature: {}. It \
                     costs no ε",
                    public_predictor::FORM
                );
            }
            Self::Score => {
                return format!(
                    "how good the model is on held-out records, released with noise: {FORM}. Free \
                     costs no ε: the noise of training covers it"
                );
            }
            Self::Name => "name of this plan in the session",
            Self::Method => "how the model is adapted; Enter shows what fits your data",
            Self::Private => "the dataset whose budget is spent",
            Self::Public => "what the model is adapted from; several are pooled",
            Self::Epsilon => "how much privacy this run may cost; smaller is safer",
            Self::Delta => {
                "the chance that the promise of ε does not hold; keep it well below 1 / private \
                 records"
            }
            Self::Features => {
                "public: scaled by mean, deviation and usual size of the public records; or a \
                 declared largest size, such as 1"
            }
            Self::Labels => {
                "public: at most 3 public standard deviations from the public mean, or 30 where the \
                 method bounds errors itself; or the lowest and the highest label, such as 0 900"
            }
            Self::Intercept => "adds a constant to the model; nearly always useful",
            Self::Holdout => {
                "share of the records that are kept out of training to measure the error: 0.05 to \
                 0.9, or 0 for none"
            }
            Self::Test => {
                "another private dataset to score the model on; the ε of the score is charged to \
                 its own account"
            }
            Self::Seed => {
                "fixes the random split and start, so that a run can be repeated; the noise is \
                 always new"
            }
            Self::LargeDelta => {
                "allows a δ of 1/n or more, which promises little; the certificate says so"
            }
            Self::PrivateRecords | Self::PublicRecords => {
                "how many records to train on, picked by the seed from those that are not held \
                 out: a whole number, or all. Use it to see what more records would bring"
            }
        };
        help.to_owned()
    }

    fn choices(self, session: &Session) -> Option<Vec<String>> {
        let names = |role: Role| {
            let named = session.datasets.iter().filter(|dataset| dataset.role == role);
            named.map(|dataset| dataset.name.clone()).collect::<Vec<_>>()
        };
        Some(match self {
            Self::Method => {
                methods::methods().iter().map(|method| method.spec().id.to_owned()).collect()
            }
            Self::Private => names(Role::Private),
            Self::Public => together(&names(Role::Public)),
            Self::Test => [NO_SCORE.to_owned()].into_iter().chain(names(Role::Private)).collect(),
            Self::Setting(Field { kind: FieldKind::Choice { options, .. }, .. }) => {
                options.iter().map(ToString::to_string).collect()
            }
            Self::Intercept
            | Self::LargeDelta
            | Self::Setting(Field { kind: FieldKind::Flag { .. }, .. }) => {
                vec!["no".to_owned(), "yes".to_owned()]
            }
            _ => return None,
        })
    }

    fn is_default(self, plan: &PlanDefinition) -> bool {
        match self {
            Self::Name => plan_name::is_automatic(plan),
            // The user chooses these for every plan.
            Self::Epsilon | Self::Delta | Self::Score => true,
            _ => {
                let mut usual = plan.clone();
                self.reset(&mut usual);
                usual == *plan
            }
        }
    }

    fn is_automatic(self, plan: &PlanDefinition) -> bool {
        matches!(self, Self::Setting(Field { kind: FieldKind::Automatic { .. }, key, .. })
            if !plan.settings.contains_key(*key))
    }

    fn reset(self, plan: &mut PlanDefinition) -> bool {
        let usual = PreparationSettings::default();
        match self {
            Self::Setting(field) => drop(plan.settings.remove(field.key)),
            Self::Features => plan.preparation.features = usual.features,
            Self::Labels => plan.preparation.labels = usual.labels,
            Self::Intercept => plan.preparation.intercept = usual.intercept,
            Self::PublicPredictor => plan.public_predictor = PublicPredictor::None,
            Self::Holdout => plan.holdout = HOLDOUT,
            Self::Score => plan.evaluation = None,
            Self::Test => plan.test = None,
            Self::Seed => plan.seed = SEED,
            Self::LargeDelta => plan.allow_large_delta = false,
            Self::PrivateRecords => plan.private_records = None,
            Self::PublicRecords => plan.public_records = None,
            Self::Epsilon => plan.target.epsilon = TARGET.epsilon,
            Self::Delta => plan.target.delta = TARGET.delta,
            Self::Name | Self::Method | Self::Private | Self::Public => return false,
        }
        true
    }

    fn set(self, plan: &mut PlanDefinition, text: &str) -> Result<()> {
        let text = text.trim();
        let wrong = |range: &str| {
            Error::usage(format!("'{text}' does not fit")).cure(format!("give {range}"))
        };
        match self {
            Self::Name => {
                if text.is_empty() {
                    return Err(wrong("a name"));
                }
                text.clone_into(&mut plan.name);
            }
            Self::Method => {
                methods::method(text)?;
                if plan.method != text {
                    let covers = |plan: &PlanDefinition| {
                        methods::method(&plan.method).is_ok_and(|it| it.spec().covers_scores)
                    };
                    let covered = covers(plan);
                    plan.take_method(text);
                    // As new plans have it; nobody has chosen to be without where it would not be free.
                    if !covered && covers(plan) && plan.evaluation.is_none() {
                        plan.evaluation = Some(Evaluation::default());
                    }
                }
            }
            Self::Private => text.clone_into(&mut plan.private),
            Self::Public => plan.public = text.split(" + ").map(str::to_owned).collect(),
            Self::Epsilon => plan.target = plan.target.with_epsilon(text)?,
            Self::Delta => plan.target = plan.target.with_delta(text)?,
            Self::Setting(field) => {
                let value = field.kind.parse(text).ok_or_else(|| wrong(&field.kind.range()))?;
                if value == field.kind.default_value() {
                    plan.settings.remove(field.key);
                } else {
                    plan.settings.insert(field.key.to_owned(), value);
                }
            }
            Self::Features if text == "public" => {
                plan.preparation.features = FeatureScaling::Public;
            }
            Self::Features => {
                let norm = number(text, |x| x > 0.0);
                let norm = norm.ok_or_else(|| wrong("'public' or a norm above 0"))?;
                plan.preparation.features = FeatureScaling::Declared(norm);
            }
            Self::Labels => {
                plan.preparation.labels = label_range(text).ok_or_else(|| {
                    wrong("'public' or the lowest and the highest label, such as 0 900")
                })?;
            }
            Self::Intercept => plan.preparation.intercept = text == "yes",
            Self::PublicPredictor if text.is_empty() => {
                plan.public_predictor = PublicPredictor::None;
            }
            Self::PublicPredictor => plan.public_predictor = PublicPredictor::parse(text)?,
            Self::Holdout => {
                plan.holdout = number(text, |x| x == 0.0 || (0.05..=0.9).contains(&x))
                    .ok_or_else(|| wrong("a number from 0.05 to 0.9, or 0 for none"))?;
            }
            Self::Score => {
                plan.evaluation = match text {
                    NO_SCORE => None,
                    other => Some(Evaluation::parse(other).ok_or_else(|| wrong(FORM))?),
                };
            }
            Self::Test => {
                plan.test = (text != NO_SCORE).then(|| text.to_owned());
                let asked = plan.evaluation.unwrap_or_default();
                if plan.test.is_some() && !matches!(asked.pay, Pay::Epsilon(_)) {
                    plan.evaluation = Some(Evaluation { pay: Pay::Epsilon(TEST), ..asked });
                }
            }
            Self::Seed => plan.seed = text.parse().map_err(|_| wrong("a whole number"))?,
            Self::LargeDelta => plan.allow_large_delta = text == "yes",
            Self::PrivateRecords => plan.private_records = count(text)?,
            Self::PublicRecords => plan.public_records = count(text)?,
        }
        Ok(())
    }
}

/// The most public datasets of which every combination is a choice.
const MOST_COMBINED: usize = 4;

/// What public data a plan can take: each dataset, all together, and of a few datasets every
/// combination, otherwise all but one.
fn together(names: &[String]) -> Vec<String> {
    let count = names.len();
    let joined = |has: &dyn Fn(usize) -> bool| {
        let taken =
            names.iter().enumerate().filter(|(at, _)| has(*at)).map(|(_, name)| name.as_str());
        taken.collect::<Vec<_>>().join(" + ")
    };
    if count > MOST_COMBINED {
        let without = (0..count).map(|left| joined(&|at| at != left));
        let all = [names.join(" + ")];
        return names.iter().cloned().chain(without).chain(all).collect();
    }
    let mut sets: Vec<u32> = (1..1 << count).collect();
    // Single ones first, in their order.
    sets.sort_by_key(|set| (set.count_ones(), std::cmp::Reverse(set.reverse_bits())));
    sets.into_iter().map(|set| joined(&|at| set >> at & 1 == 1)).collect()
}

fn number(text: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
    text.parse::<f64>().ok().filter(|x| x.is_finite() && fits(*x))
}

fn label_range(text: &str) -> Option<LabelRange> {
    if text == "public" {
        return Some(LabelRange::Public);
    }
    let (low, high) = text.split_once(char::is_whitespace)?;
    let low = number(low.trim_end_matches(','), |_| true)?;
    let high = number(high.trim(), |x| x > low)?;
    Some(LabelRange::Declared(low, high))
}

/// A starting point for plans.
#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    pub help: &'static str,
    pub apply: fn(&mut PlanDefinition),
}

pub const PRESETS: [Preset; 5] = [
    Preset {
        name: "strict privacy",
        help: "ε 0.5 at δ 1e-6: an attacker's odds change by at most a factor of 1.65",
        apply: |plan| plan.target = target(0.5, 1e-6),
    },
    Preset {
        name: "usual privacy",
        help: "ε 1 at δ 1e-6: a factor of 2.72",
        apply: |plan| plan.target = target(1.0, 1e-6),
    },
    Preset {
        name: "loose privacy",
        help: "ε 4 at δ 1e-5: a factor of 55; better models, weak protection",
        apply: |plan| plan.target = target(4.0, 1e-5),
    },
    Preset {
        name: "method defaults",
        help: "every setting of the method back to its default",
        apply: |plan| plan.settings.clear(),
    },
    Preset {
        name: "public scaling",
        help: "features and labels scaled by public data, an intercept, a fifth held out",
        apply: |plan| {
            plan.preparation = PreparationSettings::default();
            plan.holdout = 0.2;
        },
    },
];

fn target(epsilon: f64, delta: f64) -> Target {
    Target { epsilon, delta }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_data_are_chosen_alone_or_together() {
        let of =
            |names: &[&str]| together(&names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert!(of(&[]).is_empty());
        assert_eq!(of(&["a"]), ["a"]);
        assert_eq!(of(&["a", "b", "c"]), ["a", "b", "c", "a + b", "a + c", "b + c", "a + b + c"]);
        let many = of(&["a", "b", "c", "d", "e"]);
        assert_eq!(many[4..7], ["e", "b + c + d + e", "a + c + d + e"]);
        assert_eq!(many.last().unwrap(), "a + b + c + d + e");
    }

    #[test]
    fn a_free_score_comes_back_with_a_method_that_covers_it() {
        let mut plan = crate::session::demo::session("bikeshare").unwrap().plans.remove(0);
        plan.evaluation = Some(Evaluation::default());
        for (method, has) in [
            ("public_shape", true),
            ("frank_wolfe", false),
            ("target_only", true),
            ("public_shape", true),
        ] {
            PlanField::Method.set(&mut plan, method).unwrap();
            assert_eq!(plan.evaluation.is_some(), has, "{method}");
        }
        plan.evaluation = None;
        PlanField::Method.set(&mut plan, "target_only").unwrap();
        assert_eq!(plan.evaluation, None, "somebody wanted none");
    }
}
