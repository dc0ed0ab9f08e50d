//! The differences between two versions of a session, in words.

use std::collections::{BTreeMap, BTreeSet};

use super::{PlanDefinition, Session, plan_field};
use crate::data::DatasetDefinition;

/// The words for two versions: of what only the first or the second one has, and between values.
type Sides = [&'static str; 3];

/// The differences of `ours` from `theirs`; never empty.
pub fn between(ours: &Session, theirs: &Session) -> Vec<String> {
    differences(ours, theirs, ["is only in yours", "is only in theirs", "against"])
}

/// The changes that make `now` out of `before`; never empty.
pub fn since(before: &Session, now: &Session) -> Vec<String> {
    differences(now, before, ["is there", "is gone", "instead of"])
}

fn differences(ours: &Session, theirs: &Session, sides: Sides) -> Vec<String> {
    let than = sides[2];
    let mut found = named("dataset", sides, [&datasets(ours), &datasets(theirs)], settings);
    found.extend(named("plan", sides, [&plans(ours), &plans(theirs)], |ours, theirs| {
        let fields = plan_field::differences(&[Some(ours), Some(theirs)]).into_iter();
        let fields: Vec<String> = fields
            .map(|(name, values)| format!("{name} {} {than} {}", values[0], values[1]))
            .collect();
        if fields.is_empty() { "differs".to_owned() } else { format!("has {}", fields.join(", ")) }
    }));
    let budgets = [ours, theirs].map(|session| session.budgets.iter().collect());
    found.extend(named("the budget of", sides, [&budgets[0], &budgets[1]], |ours, theirs| {
        let [ours, theirs] =
            [ours, theirs].map(|it| format!("ε {} at δ {:e}", it.epsilon, it.delta));
        format!("is {ours} {than} {theirs}")
    }));
    if ours.ranking != theirs.ranking {
        found.push("the settings of the ranking differ".to_owned());
    }
    if ours.sealed != theirs.sealed {
        let ours = if ours.sealed { "sealed" } else { "open" };
        found.push(format!("the view of exact numbers is {ours}"));
    }
    if ours.name != theirs.name {
        found.push(format!("it is called '{}' and not '{}'", ours.name, theirs.name));
    }
    if found.is_empty() {
        found.push("the same things in another order".to_owned());
    }
    found
}

fn datasets(session: &Session) -> BTreeMap<&String, &DatasetDefinition> {
    session.datasets.iter().map(|it| (&it.name, it)).collect()
}

/// The settings in which two descriptions of a dataset differ.
fn settings(ours: &DatasetDefinition, theirs: &DatasetDefinition) -> String {
    let [ours, theirs] = [ours, theirs].map(|it| serde_json::to_value(it).unwrap_or_default());
    let keys = |value: &serde_json::Value| -> BTreeSet<String> {
        value.as_object().into_iter().flat_map(|it| it.keys().cloned()).collect()
    };
    let all: BTreeSet<String> = keys(&ours).union(&keys(&theirs)).cloned().collect();
    let other = all.into_iter().filter(|key| ours.get(key) != theirs.get(key));
    let other: Vec<String> = other.map(|key| key.replace('_', " ")).collect();
    format!("is described differently ({})", other.join(", "))
}

fn plans(session: &Session) -> BTreeMap<&String, &PlanDefinition> {
    session.plans.iter().map(|it| (&it.name, it)).collect()
}

fn named<T: PartialEq>(
    what: &str,
    [only_ours, only_theirs, _]: Sides,
    [ours, theirs]: [&BTreeMap<&String, &T>; 2],
    about: impl Fn(&T, &T) -> String,
) -> Vec<String> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).copied().collect();
    let compared = names.into_iter().filter_map(|name| {
        let difference = match (ours.get(name), theirs.get(name)) {
            (Some(_), None) => only_ours.to_owned(),
            (None, Some(_)) => only_theirs.to_owned(),
            (Some(mine), Some(other)) if mine != other => about(mine, other),
            _ => return None,
        };
        Some(format!("{what} '{name}' {difference}"))
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use crate::privacy::ledger::Budget;

    #[test]
    fn what_was_added_removed_and_changed_is_named() {
        let theirs = demo::session("bikeshare").unwrap();
        let mut ours = theirs.clone();
        ours.plans[0].target.epsilon = 0.5;
        ours.datasets.pop();
        ours.budgets.insert("winter".to_owned(), Budget::new(9.0, 1e-5));
        let found = between(&ours, &theirs);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("dataset '") && found[0].ends_with("only in theirs"));
        assert!(found[1].contains("ε of this run 0.5 against 1"), "{found:?}");
        assert!(found[2].contains("is ε 9 at δ 1e-5 against"), "{found:?}");
        let found = since(&theirs, &ours);
        assert!(found[0].ends_with("' is gone"), "{found:?}");
        assert!(found[1].contains("ε of this run 0.5 instead of 1"), "{found:?}");
        ours.clone_from(&theirs);
        ours.datasets[0].label = Some("hr".to_owned());
        ours.datasets[0].guessed.insert(crate::data::Guessed::Label, String::new());
        let found = since(&theirs, &ours);
        assert_eq!(found, ["dataset 'winter' is described differently (guessed, label)"]);
        ours.clone_from(&theirs);
        ours.plans.reverse();
        assert_eq!(between(&ours, &theirs), ["the same things in another order"]);
    }
}
