//! How the fields of a plan are explained and changed, and presets for them.

use crate::adapt::{self, Field, FieldKind};
use crate::data::Role;
use crate::data::preparation::{FeatureScaling, LabelRange};
use crate::error::{Error, Result};
pub use crate::session::plan_field::{PlanField, fields};
use crate::session::{PlanDefinition, Session};

/// How a field is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Way {
    Type,
    /// Take one of these.
    Choose(Vec<String>),
}

impl PlanField {
    pub fn help(self) -> String {
        match self {
            Self::Name => "name of this plan in the session".to_owned(),
            Self::Method => "how the model is adapted; ←/→ changes it".to_owned(),
            Self::Private => "the dataset whose budget is spent".to_owned(),
            Self::Public => "what the model is adapted from; several are pooled".to_owned(),
            Self::Epsilon => {
                "privacy loss this run may cost, replace-one; smaller is safer".to_owned()
            }
            Self::Delta => "probability that ε fails; well below 1/n".to_owned(),
            Self::Setting(field) => format!("{} Takes {}.", field.help, field.kind.range()),
            Self::Features => {
                "public: scaled by public mean, sd and 95 % norm; or a declared norm, such as 1"
                    .to_owned()
            }
            Self::Labels => {
                "public: public mean ± 3 sd; or declared lowest and highest, such as 0 900"
                    .to_owned()
            }
            Self::Intercept => "append a constant feature".to_owned(),
            Self::Holdout => "share of the records that only evaluate; 0.05 to 0.9".to_owned(),
            Self::Seed => "seeds splits and starts; noise is never seeded by it".to_owned(),
            Self::LargeDelta => "needed for δ ≥ 1/n; the certificate will say so".to_owned(),
        }
    }

    pub fn way(self, session: &Session) -> Way {
        let names = |role: Role| {
            let named = session.datasets.iter().filter(|dataset| dataset.role == role);
            named.map(|dataset| dataset.name.clone()).collect::<Vec<_>>()
        };
        let flags = || vec!["no".to_owned(), "yes".to_owned()];
        match self {
            Self::Method => Way::Choose(
                adapt::methods().iter().map(|method| method.spec().id.to_owned()).collect(),
            ),
            Self::Private => Way::Choose(names(Role::Private)),
            Self::Public => {
                let mut choices = names(Role::Public);
                if choices.len() > 1 {
                    choices.push(choices.join(" + "));
                }
                Way::Choose(choices)
            }
            Self::Intercept | Self::LargeDelta => Way::Choose(flags()),
            Self::Setting(field) => match field.kind {
                FieldKind::Choice { options, .. } => {
                    Way::Choose(options.iter().map(ToString::to_string).collect())
                }
                FieldKind::Flag { .. } => Way::Choose(flags()),
                _ => Way::Type,
            },
            _ => Way::Type,
        }
    }

    /// Whether the field differs from its default.
    pub fn is_default(self, plan: &PlanDefinition) -> bool {
        match self {
            Self::Setting(field) => !plan.settings.contains_key(field.key),
            _ => true,
        }
    }

    /// Whether the method chooses the field's number.
    pub fn is_automatic(self, plan: &PlanDefinition) -> bool {
        matches!(self, Self::Setting(Field { kind: FieldKind::Automatic { .. }, key, .. })
            if !plan.settings.contains_key(*key))
    }

    pub fn reset(self, plan: &mut PlanDefinition) {
        if let Self::Setting(field) = self {
            plan.settings.remove(field.key);
        }
    }

    /// Sets the field from text; the error says what may stand here.
    pub fn set(self, plan: &mut PlanDefinition, text: &str) -> Result<()> {
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
                adapt::method(text)?;
                if plan.method != text {
                    text.clone_into(&mut plan.method);
                    plan.settings.clear();
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
            Self::Features => {
                plan.preparation.features = if text == "public" {
                    FeatureScaling::Public
                } else {
                    let norm = number(text, |x| x > 0.0);
                    FeatureScaling::Declared(
                        norm.ok_or_else(|| wrong("'public' or a norm above 0"))?,
                    )
                };
            }
            Self::Labels => {
                plan.preparation.labels = label_range(text).ok_or_else(|| {
                    wrong("'public' or the lowest and the highest label, such as 0 900")
                })?;
            }
            Self::Intercept => plan.preparation.intercept = text == "yes",
            Self::Holdout => {
                plan.holdout = number(text, |x| (0.05..=0.9).contains(&x))
                    .ok_or_else(|| wrong("a number from 0.05 to 0.9"))?;
            }
            Self::Seed => plan.seed = text.parse().map_err(|_| wrong("a whole number"))?,
            Self::LargeDelta => plan.allow_large_delta = text == "yes",
        }
        Ok(())
    }
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

/// A start for plans, to be refined.
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
            plan.preparation = crate::data::PreparationSettings::default();
            plan.holdout = 0.2;
        },
    },
];

fn target(epsilon: f64, delta: f64) -> crate::privacy::Target {
    crate::privacy::Target { epsilon, delta }
}
