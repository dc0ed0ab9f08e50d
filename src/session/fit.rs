//! Which methods fit a plan's data, and their names in plain words.

use crate::adapt::{self, Spec};
use crate::data::{DatasetDefinition, Task};

/// A description of a method for somebody who has not read the papers.
struct Plain {
    id: &'static str,
    /// The description on one line.
    line: &'static str,
}

const fn plain(id: &'static str, line: &'static str) -> Plain {
    Plain { id, line }
}

/// The most promising methods that use public data come first.
const PLAIN: [Plain; 18] = [
    plain("public_shape", "private records correct what public ones teach"),
    plain("public_shape_classes", "private records correct what public ones teach"),
    plain("profiled_cnvx_adap", "public and private records together, by how well they fit"),
    plain("profiled_logistic", "public and private records together, by how well they fit"),
    plain("moment_release", "made to look like the private ones; needs no private label"),
    plain("frank_wolfe", "one public record a round; needs no private label"),
    plain("two_stage_frank_wolfe", "one public record a round, then a fit; no private label"),
    plain("mirror_descent", "all public records at once; needs no private label"),
    plain("pillar", "noisy training on the few directions that public data show"),
    plain("pretraining", "a network learns from public data, then privately"),
    plain("gep", "noise mostly where public gradients point"),
    plain("cnvx_adap", "as published; for comparisons"),
    plain("ncnvx_adap", "as published; for comparisons"),
    plain("target_only", "uses no public record: a baseline"),
    plain("target_only_logistic", "uses no public record: a baseline"),
    plain("public_only", "uses no private record: spends nothing, a baseline"),
    plain("public_only_classes", "uses no private record: spends nothing, a baseline"),
    plain("dp_sgd", "public records only scale the features: a baseline"),
];

/// The method for exactly two classes.
const TWO_CLASSES: &str = "target_only_logistic";

/// The description of a method on one line.
pub fn in_one_line(id: &str) -> Option<&'static str> {
    PLAIN.iter().find(|plain| plain.id == id).map(|plain| plain.line)
}

/// The properties of a plan's data that methods need.
#[derive(Debug, Clone, Copy)]
pub struct PlanData<'a> {
    pub private: &'a DatasetDefinition,
    pub public: &'a [&'a DatasetDefinition],
    /// The number of classes of the label, if known.
    pub classes: Option<usize>,
}

impl PlanData<'_> {
    /// Why a method cannot be used; `None` if it can.
    pub fn misfit(&self, spec: &Spec) -> Option<String> {
        let first = self.public.first()?;
        if spec.needs_private_labels && self.private.label.is_none() {
            return Some("needs a label on the private records".to_owned());
        }
        let labelled = if self.private.label.is_some() { self.private } else { first };
        let label = labelled.label.as_deref().unwrap_or("no label");
        match (spec.task, labelled.task) {
            (Task::Regression, Task::Classification) => {
                return Some(format!("predicts numbers; '{label}' names classes"));
            }
            (Task::Classification, Task::Regression) => {
                return Some(format!("predicts classes; '{label}' is a number"));
            }
            _ => {}
        }
        let alike = |other: &&DatasetDefinition| {
            (&other.label, other.task) == (&labelled.label, labelled.task)
        };
        let unlike = self.public.iter().find(|other| !alike(other) || other.label.is_none());
        if let Some(unlike) = unlike.filter(|_| spec.needs_public_labels) {
            return Some(format!("needs the label '{label}' in '{}'", unlike.name));
        }
        let classes = self.classes.filter(|classes| *classes > 2 && spec.id == TWO_CLASSES);
        classes.map(|classes| format!("tells two classes apart; '{label}' has {classes}"))
    }

    /// Every method with the reason against it, if any; those that fit come first.
    pub fn methods(&self) -> Vec<(&'static Spec, Option<String>)> {
        let specs = PLAIN.iter().filter_map(|plain| adapt::method(plain.id).ok());
        let mut found: Vec<_> =
            specs.map(|method| (method.spec(), self.misfit(method.spec()))).collect();
        let has_labels = self.private.label.is_some();
        // The sort is stable, so equal ones keep their order. Methods that use private labels come
        // before others.
        found.sort_by_key(|(spec, misfit)| {
            (misfit.is_some(), has_labels && !spec.needs_private_labels)
        });
        found
    }

    /// The method to start with.
    pub fn suggestion(&self) -> &'static str {
        self.methods().first().map_or(PLAIN[0].id, |(spec, _)| spec.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Role, Source};

    fn dataset(role: Role, label: Option<&str>, task: Task) -> DatasetDefinition {
        let mut dataset = DatasetDefinition::new("d", role, Source::Builtin("d".to_owned()));
        (dataset.label, dataset.task) = (label.map(str::to_owned), task);
        dataset
    }

    #[test]
    fn every_method_is_told_in_one_line_and_no_other_is() {
        let mut ids: Vec<&str> = adapt::methods().iter().map(|method| method.spec().id).collect();
        let mut named: Vec<&str> = PLAIN.iter().map(|plain| plain.id).collect();
        ids.sort_unstable();
        named.sort_unstable();
        assert_eq!(ids, named);
        assert!(PLAIN.iter().all(|plain| plain.line.chars().count() <= 60));
    }

    #[test]
    fn the_method_to_begin_with_uses_the_public_data_and_fits_the_labels() {
        let private = |label, task| dataset(Role::Private, label, task);
        let public = |label, task| dataset(Role::Public, label, task);
        use Task::{Classification, Regression};
        for (ours, theirs, wanted) in [
            (private(Some("y"), Regression), public(Some("y"), Regression), "public_shape"),
            (private(None, Regression), public(Some("y"), Regression), "moment_release"),
            (
                private(Some("y"), Classification),
                public(Some("y"), Classification),
                "public_shape_classes",
            ),
            (private(Some("y"), Classification), public(Some("z"), Classification), "pillar"),
            (private(Some("y"), Classification), public(None, Regression), "pillar"),
        ] {
            let material = PlanData { private: &ours, public: &[&theirs], classes: Some(7) };
            assert_eq!(material.suggestion(), wanted);
        }
    }

    #[test]
    fn what_speaks_against_a_method_is_said_and_stands_below_what_fits() {
        let ours = dataset(Role::Private, Some("y"), Task::Classification);
        let theirs = dataset(Role::Public, Some("y"), Task::Classification);
        let material = PlanData { private: &ours, public: &[&theirs], classes: Some(7) };
        let methods = material.methods();
        let first_misfit = methods.iter().position(|(_, misfit)| misfit.is_some()).unwrap();
        assert!(methods[first_misfit..].iter().all(|(_, misfit)| misfit.is_some()));
        let why = |id: &str| {
            let (_, misfit) = methods.iter().find(|(spec, _)| spec.id == id).unwrap();
            misfit.clone().unwrap_or_default()
        };
        assert_eq!(why("public_shape"), "predicts numbers; 'y' names classes");
        assert_eq!(why("target_only_logistic"), "tells two classes apart; 'y' has 7");
        assert_eq!(why("profiled_logistic"), "");
        assert_eq!(why("public_shape_classes"), "");
    }
}
