//! The fields of a plan under the names that people read: the common ones and the method's own,
//! from its `Spec`. Forms, comparisons and reports use these names.

use super::PlanDefinition;
use crate::data::DatasetDefinition;
use crate::data::preparation::{FeatureScaling, LabelRange};
use crate::error::{Error, Result};
use crate::methods::{self, Field};

/// A plan without a released score.
pub const NO_SCORE: &str = "none";
/// All records that are not held out.
pub const ALL: &str = "all";

#[derive(Debug, Clone, Copy)]
pub enum PlanField {
    Name,
    Method,
    Private,
    Public,
    Epsilon,
    Delta,
    Setting(&'static Field),
    Features,
    Labels,
    Intercept,
    PublicPredictor,
    Holdout,
    Score,
    Test,
    Seed,
    LargeDelta,
    PrivateRecords,
    PublicRecords,
}

/// The fields of a plan, in the order of the form.
pub fn fields(plan: &PlanDefinition) -> Vec<PlanField> {
    use PlanField as F;
    let mut fields = vec![F::Name, F::Method, F::Private, F::Public, F::Epsilon, F::Delta];
    let spec = methods::method(&plan.method).ok().map(methods::Method::spec);
    fields.extend(spec.iter().flat_map(|spec| spec.fields).map(F::Setting));
    fields.extend([F::Features, F::Labels, F::Intercept, F::PublicPredictor, F::Holdout, F::Score]);
    // If records are held out, they are the test.
    fields.extend((plan.holdout == 0.0 || plan.test.is_some()).then_some(F::Test));
    fields.extend([F::Seed, F::LargeDelta, F::PrivateRecords, F::PublicRecords]);
    fields
}

impl PlanField {
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "plan",
            Self::Method => "method",
            Self::Private => "private data",
            Self::Public => "public data",
            Self::Epsilon => "ε of this run",
            Self::Delta => "δ of this run",
            Self::Setting(field) => field.name,
            Self::Features => "features",
            Self::Labels => "label range",
            Self::Intercept => "intercept",
            Self::PublicPredictor => "public predictor",
            Self::Holdout => "hold-out share",
            Self::Score => "released score",
            Self::Test => "test data",
            Self::Seed => "seed",
            Self::LargeDelta => "allow δ ≥ 1/n",
            Self::PrivateRecords => "private used",
            Self::PublicRecords => "public used",
        }
    }

    /// The unit of a value from [`Self::value`]; words have none.
    pub fn unit(self, value: &str) -> &'static str {
        match self {
            Self::Setting(field) if value.parse::<f64>().is_ok() => field.unit,
            _ => "",
        }
    }

    pub fn value(self, plan: &PlanDefinition) -> String {
        let flag = |on: bool| if on { "yes" } else { "no" }.to_owned();
        let count = |most: Option<usize>| most.map_or_else(|| ALL.to_owned(), |it| it.to_string());
        match self {
            Self::Name => plan.name.clone(),
            Self::Method => plan.method.clone(),
            Self::Private => plan.private.clone(),
            Self::Public => plan.public.join(" + "),
            Self::Epsilon => plan.target.epsilon.to_string(),
            Self::Delta => format!("{:e}", plan.target.delta),
            Self::Setting(field) => {
                let given = plan.settings.get(field.key).cloned();
                field.kind.words(&given.unwrap_or(field.kind.default_value()))
            }
            Self::Features => match plan.preparation.features {
                FeatureScaling::Public => "public".to_owned(),
                FeatureScaling::Declared(norm) => norm.to_string(),
            },
            Self::Labels => match plan.preparation.labels {
                LabelRange::Public => "public".to_owned(),
                LabelRange::Declared(low, high) => format!("{low} {high}"),
            },
            Self::Intercept => flag(plan.preparation.intercept),
            Self::PublicPredictor => plan.public_predictor.to_string(),
            Self::Holdout => plan.holdout.to_string(),
            Self::Score => plan.evaluation.map_or_else(|| NO_SCORE.to_owned(), |it| it.to_string()),
            Self::Test => plan.test.clone().unwrap_or_else(|| NO_SCORE.to_owned()),
            Self::Seed => plan.seed.to_string(),
            Self::LargeDelta => flag(plan.allow_large_delta),
            Self::PrivateRecords => count(plan.private_records),
            Self::PublicRecords => count(plan.public_records),
        }
    }

    /// Whether some methods do not have it.
    fn is_of_some_methods(self) -> bool {
        matches!(self, Self::Setting(_) | Self::PublicPredictor)
    }

    fn is_default(self, plan: &PlanDefinition) -> bool {
        match self {
            Self::Setting(field) => {
                self.value(plan) == field.kind.words(&field.kind.default_value())
            }
            Self::PublicPredictor => plan.public_predictor.is_none(),
            _ => false,
        }
    }

    /// Value of the field with its unit, for tables. A run of public data alone spends nothing, whatever
    /// its plan allows.
    pub fn shown(self, plan: &PlanDefinition) -> String {
        let spends = methods::method(&plan.method).map_or(true, |it| !it.spec().public_only);
        let value = match self {
            Self::Epsilon | Self::Delta if !spends => "0".to_owned(),
            _ => self.value(plan),
        };
        format!("{value} {}", self.unit(&value)).trim().to_owned()
    }
}

/// How many records: `None` for all.
pub fn count(text: &str) -> Result<Option<usize>> {
    if text == ALL {
        return Ok(None);
    }
    let count = text.parse().ok().filter(|count| *count > 0).map(Some);
    count.ok_or_else(|| {
        Error::usage(format!("'{text}' is not a number of records"))
            .cure("give a whole number above 0, or all")
    })
}

/// What differs between datasets of the same name in several runs.
pub fn data_differences(runs: &[&[DatasetDefinition]]) -> Vec<(String, Vec<String>)> {
    type Words = fn(&DatasetDefinition) -> String;
    const PARTS: [(&str, Words); 3] = [
        ("rows of", |it| it.filter.clone().unwrap_or_else(|| ALL.to_owned())),
        ("columns of", |it| it.columns.words()),
        ("label of", |it| it.label.clone().unwrap_or_default()),
    ];
    let Some(first) = runs.first() else { return Vec::new() };
    let mut rows = Vec::new();
    for name in first.iter().map(|it| &it.name) {
        let of_run = |run: &&'_ [DatasetDefinition]| run.iter().position(|it| it.name == *name);
        let Some(places) = runs.iter().map(of_run).collect::<Option<Vec<_>>>() else { continue };
        for (what, words) in PARTS {
            let values: Vec<_> =
                runs.iter().zip(&places).map(|(run, place)| words(&run[*place])).collect();
            if values.windows(2).any(|it| it[0] != it[1]) {
                rows.push((format!("{what} {name}"), values));
            }
        }
    }
    rows
}

/// What differs between plans: a name, and a value for each of them. What only some of the methods
/// have stands beside the method, unless it has its default. A plan that could not be read, or that
/// lacks the field, has a dash.
pub fn differences(plans: &[Option<&PlanDefinition>]) -> Vec<(String, Vec<String>)> {
    let all: Vec<Vec<PlanField>> =
        plans.iter().map(|plan| plan.map_or_else(Vec::new, fields)).collect();
    let has = |place: usize, name: &str| all[place].iter().find(|it| it.name() == name).copied();
    let is_shared =
        |name: &str| (0..plans.len()).all(|it| plans[it].is_none() || has(it, name).is_some());
    let cell = |place: usize, name: &str| {
        let told = plans[place].zip(has(place, name)).map(|(plan, field)| field.shown(plan));
        told.unwrap_or_else(|| "–".to_owned())
    };
    let method = |place: usize| {
        let of_method = |plan: &PlanDefinition, field: &PlanField| {
            let own = field.is_of_some_methods() && !is_shared(field.name());
            (own && !field.is_default(plan))
                .then(|| format!("{} {}", field.name(), field.shown(plan)))
        };
        let own = plans[place].map(|plan| all[place].iter().filter_map(|it| of_method(plan, it)));
        let own = own.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let name = plans[place].map(|plan| methods::name_of(&plan.method).to_owned());
        let name = name.unwrap_or_else(|| cell(place, PlanField::Method.name()));
        if own.is_empty() { name } else { format!("{name} ({own})") }
    };
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for field in all.iter().flatten() {
        let name = field.name();
        let is_beside = field.is_of_some_methods() && !is_shared(name);
        if is_beside || rows.iter().any(|(known, _)| known == name) {
            continue;
        }
        let value = |place| match field {
            PlanField::Method => method(place),
            _ => cell(place, name),
        };
        rows.push((name.to_owned(), (0..plans.len()).map(value).collect()));
    }
    rows.retain(|(_, values)| values.windows(2).any(|it| it[0] != it[1]));
    rows
}

/// What is the same in all plans that could be read: a name and a value. All of them have it.
pub fn common(plans: &[Option<&PlanDefinition>]) -> Vec<(&'static str, String)> {
    let mut plans = plans.iter().flatten();
    let Some(first) = plans.next() else { return Vec::new() };
    let mut all: Vec<_> = fields(first).iter().map(|it| (it.name(), it.shown(first))).collect();
    for plan in plans {
        let own: Vec<_> = fields(plan).iter().map(|it| (it.name(), it.shown(plan))).collect();
        all.retain(|field| own.contains(field));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use crate::methods::Value;

    /// For every pair of methods.
    #[test]
    fn what_is_called_the_same_is_in_every_plan() {
        let plan = |method: &methods::Method| PlanDefinition {
            method: method.spec().name.to_owned(),
            settings: std::collections::BTreeMap::new(),
            ..demo::session("bikeshare").unwrap().plans.remove(0)
        };
        let mut left_out = 0;
        for one in methods::methods() {
            for other in methods::methods() {
                let plans = [plan(one), plan(other)];
                let names = |plan| fields(plan).iter().map(|it| it.name()).collect::<Vec<_>>();
                let found = common(&[Some(&plans[0]), None, Some(&plans[1])]);
                for (name, value) in &found {
                    for plan in &plans {
                        let field = fields(plan).into_iter().find(|it| it.name() == *name);
                        assert_eq!(field.map(|it| it.shown(plan)).as_ref(), Some(value), "{name}");
                    }
                }
                left_out += usize::from(found.len() < names(&plans[0]).len());
                assert!(found.iter().any(|(name, _)| *name == PlanField::Epsilon.name()));
            }
        }
        assert!(left_out > 0);
        assert!(common(&[None]).is_empty());
    }

    #[test]
    fn a_setting_of_one_method_stands_beside_it_and_has_no_row() {
        let mut one = demo::session("bikeshare").unwrap().plans.remove(0);
        let mut other = one.clone();
        one.take_method("public_shape");
        other.take_method("target_only");
        let names = |rows: &[(String, Vec<String>)]| -> Vec<String> {
            rows.iter().map(|(name, _)| name.clone()).collect()
        };
        let found = differences(&[Some(&one), Some(&other)]);
        assert_eq!(names(&found), ["method"], "{found:?}");
        assert_eq!(found[0].1, ["public model, corrected", "private records alone"]);
        other.settings.insert("clip".to_owned(), Value::Number(0.5));
        one.target.epsilon = 0.25;
        let found = differences(&[Some(&one), Some(&other)]);
        assert_eq!(names(&found), ["method", "ε of this run"], "{found:?}");
        assert_eq!(found[0].1[0], "public model, corrected");
        assert!(
            found[0].1[1].starts_with("private records alone (") && found[0].1[1].contains("0.5")
        );
        let mut alone = one.clone();
        alone.take_method("public_only");
        let found = differences(&[Some(&one), Some(&alone)]);
        let epsilon = found.iter().find(|(name, _)| name == "ε of this run").unwrap();
        assert_eq!(epsilon.1, ["0.25", "0"], "{found:?}");
        // Plans of one method have a row for it.
        let same = other.clone();
        other.settings.clear();
        let found = differences(&[Some(&same), Some(&other)]);
        assert_eq!((found.len(), found[0].1[0].starts_with("0.5")), (1, true), "{found:?}");
        let unread = differences(&[Some(&one), None]);
        assert!(!unread.is_empty() && unread.iter().all(|(_, values)| values[1] == "–"));
    }
}
