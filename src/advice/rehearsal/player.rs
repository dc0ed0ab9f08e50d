//! A player: a method or baseline that is tried in a case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::Task;
use crate::error::Result;
use crate::methods::public_predictor::KEY;
use crate::methods::{self, PublicPredictor, Value};

/// A way to get a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Player {
    /// The public records alone, which cost nothing.
    PublicOnly,
    /// The private records alone, without any privacy. Such a model must not be passed on.
    NoPrivacy,
    /// A method with settings that differ from its defaults.
    Method { id: String, settings: BTreeMap<String, Value> },
}

impl Player {
    /// The player of a plan. Settings with their default values are left out.
    /// A public predictor of the plan stands among them. A method that uses public data alone is
    /// that player.
    pub fn of_plan(
        method: &str,
        settings: &BTreeMap<String, Value>,
        predictor: &PublicPredictor,
    ) -> Self {
        let mut settings = settings.clone();
        let mut predictor = predictor;
        if let Ok(method) = methods::method(method) {
            if method.spec().public_only {
                return Self::PublicOnly;
            }
            // A rehearsal gives them to all such methods.
            if method.spec().has_own_predictor {
                predictor = &PublicPredictor::None;
            }
            let usual = |key: &str| method.spec().field(key).map(|it| it.kind.default_value());
            settings.retain(|key, value| usual(key).as_ref() != Some(value));
        }
        if !predictor.is_none() {
            settings.insert(KEY.to_owned(), Value::Text(predictor.to_string()));
        }
        Self::Method { id: method.to_owned(), settings }
    }

    pub fn method(id: &str) -> Self {
        Self::Method { id: id.to_owned(), settings: BTreeMap::new() }
    }

    /// The settings of its method, and its public predictor.
    pub fn settings(&self) -> (BTreeMap<String, Value>, PublicPredictor) {
        let Self::Method { settings, .. } = self else { return Default::default() };
        let mut settings = settings.clone();
        let predictor = settings.remove(KEY).map(|value| value.to_string());
        let predictor = predictor.and_then(|text| PublicPredictor::parse(&text).ok());
        (settings, predictor.unwrap_or_default())
    }

    /// The method with one setting changed, for every change worth trying.
    pub fn variants(&self) -> Vec<Self> {
        let Self::Method { id, settings } = self else { return Vec::new() };
        let Ok(spec) = methods::method(id).map(methods::Method::spec) else { return Vec::new() };
        let tries = spec.tries.iter();
        let all = tries.flat_map(|(key, numbers)| numbers.iter().map(move |x| (*key, *x)));
        let changed = all.filter_map(|(key, number)| {
            let mut settings = settings.clone();
            let before = settings.insert(key.to_owned(), Value::Number(number));
            let same = before == Some(Value::Number(number));
            (!same).then(|| Self::Method { id: id.clone(), settings })
        });
        let trees = (spec.tries_public_predictor && !settings.contains_key(KEY)).then(|| {
            let mut settings = settings.clone();
            settings.insert(KEY.to_owned(), Value::Text(PublicPredictor::Trees.to_string()));
            Self::Method { id: id.clone(), settings }
        });
        changed.chain(trees).collect()
    }

    /// Whether the player costs ε.
    pub fn spends(&self) -> bool {
        matches!(self, Self::Method { .. })
    }

    /// Unique among players, and never changed.
    pub fn id(&self) -> String {
        match self {
            Self::PublicOnly => "public_only".to_owned(),
            Self::NoPrivacy => "no_privacy".to_owned(),
            Self::Method { id, settings } => {
                let given = settings.iter().map(|(key, value)| format!(" {key}={value}"));
                id.clone() + &given.collect::<String>()
            }
        }
    }

    /// For readers.
    pub fn title(&self) -> String {
        match self {
            Self::PublicOnly => "public data alone".to_owned(),
            Self::NoPrivacy => "linear, no privacy".to_owned(),
            Self::Method { id, settings } => {
                let word = |key: &String| {
                    if key == KEY { "public predictor" } else { key.as_str() }.to_owned()
                };
                let given = settings.iter().map(|(key, value)| format!(", {} {value}", word(key)));
                methods::name_of(id).to_owned() + &given.collect::<String>()
            }
        }
    }

    /// Title of the player within a sentence.
    pub fn in_a_sentence(&self) -> String {
        let title = self.title();
        if matches!(self, Self::Method { .. }) { format!("'{title}'") } else { title }
    }
}

/// Public data alone, no privacy, and the methods for this task: the requested ones, or all if none
/// is requested.
pub fn players(task: Task, requested: &[String]) -> Result<Vec<Player>> {
    let known: Result<Vec<_>> = requested.iter().map(|id| methods::method(id)).collect();
    let known = if requested.is_empty() { methods::methods().to_vec() } else { known? };
    let specs = known.iter().map(|method| method.spec());
    let fitting = specs.filter(|spec| spec.task == task && !spec.public_only);
    let methods = fitting.map(|spec| Player::method(spec.id));
    Ok([Player::PublicOnly, Player::NoPrivacy].into_iter().chain(methods).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_settings_to_try_and_takes_them() {
        for method in methods::methods() {
            let spec = method.spec();
            if spec.public_only {
                let plan = Player::of_plan(spec.id, &BTreeMap::new(), &PublicPredictor::None);
                assert_eq!(plan, Player::PublicOnly);
                let players = players(spec.task, &[]).unwrap();
                assert!(spec.fields.is_empty() && !players.contains(&Player::method(spec.id)));
                continue;
            }
            let variants = Player::method(spec.id).variants();
            let id = spec.id;
            assert!(!variants.is_empty(), "{id}: name in `tries` what a rehearsal should try");
            for variant in variants {
                let (settings, predictor) = variant.settings();
                spec.check(&settings).unwrap();
                if !predictor.is_none() {
                    assert!(settings.is_empty() && !spec.has_own_predictor);
                    continue;
                }
                let (key, value) = settings.iter().next().unwrap();
                assert_ne!(spec.field(key).unwrap().kind.default_value(), *value, "{}", spec.id);
            }
        }
    }
}
