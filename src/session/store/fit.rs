//! Which methods fit a plan's data.

use crate::data::{DatasetDefinition, Task};
use crate::methods::{self, Spec};

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
        let classes = self.classes.filter(|classes| *classes > 2 && spec.two_classes_only);
        classes.map(|classes| format!("tells two classes apart; '{label}' has {classes}"))
    }

    /// Every method with the reason against it, if any; those that fit come first.
    pub fn methods(&self) -> Vec<(&'static Spec, Option<String>)> {
        let specs = methods::methods().iter().map(|method| method.spec());
        let mut found: Vec<_> = specs.map(|spec| (spec, self.misfit(spec))).collect();
        let has_labels = self.private.label.is_some();
        // The sort is stable, so equal ones keep their order. Methods that use private labels come
        // before others.
        found.sort_by_key(|(spec, misfit)| {
            (misfit.is_some(), has_labels && !spec.needs_private_labels, spec.place)
        });
        found
    }

    /// The method to start with.
    pub fn suggestion(&self) -> &'static str {
        self.methods()[0].0.id
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
