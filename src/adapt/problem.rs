//! What a method works on.

use super::Spec;
use crate::data::{Bounded, Bounds, Dataset, Task};
use crate::error::{Error, Result};
use crate::model::Classifier;
use crate::privacy::{Fault, Private};

/// Fewest private records that a method accepts: under it, no ε that anybody would
/// accept leaves more than noise.
const FEWEST_PRIVATE_RECORDS: usize = 20;

/// That there are labels was checked before; which ones there are is not told.
pub(super) const UNLABELLED: Fault = Fault::new(
    "the private records have no labels that fit the method",
    "choose their label column, and declare their classes",
);

/// What is public about a problem: enough to plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemShape {
    /// n; public under replace-one.
    pub private_records: usize,
    pub public_records: usize,
    pub dimension: usize,
    pub bounds: Bounds,
    pub private_labels: bool,
    /// Names of the classes of the private records, declared or public; none in a regression.
    pub classes: Vec<String>,
    /// The model that training starts from, where the plan names one.
    pub start: Option<Start>,
}

/// A model of an earlier run: released, or public.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    pub model: Classifier,
    /// Names of the classes that it tells apart.
    pub classes: Vec<String>,
}

/// Prepared data. `public` has a target if the method needs one, and may have classes of its
/// own if not; `private` has one if the method needs it.
pub struct Problem {
    pub shape: ProblemShape,
    pub public: Dataset,
    pub private: Private<Bounded>,
    /// Seeds everything random that is not noise.
    pub seed: u64,
}

impl ProblemShape {
    /// Refuses what no method can work on.
    pub(super) fn check(
        &self,
        public: &Dataset,
        task: Task,
        needs_private_labels: bool,
    ) -> Result<()> {
        self.check_private(needs_private_labels)?;
        self.check_public(public, Some(task))
    }

    fn check_private(&self, needs_private_labels: bool) -> Result<()> {
        if self.dimension == 0 {
            return Err(Error::failed("the data have no feature left")
                .cure("select at least one feature column besides the label"));
        }
        if self.private_records < FEWEST_PRIVATE_RECORDS {
            return Err(Error::failed(format!(
                "the private dataset has {} records; at least {FEWEST_PRIVATE_RECORDS} are needed",
                self.private_records
            ))
            .cure("widen its row filter, or mark a larger dataset as private"));
        }
        if needs_private_labels && !self.private_labels {
            return Err(Error::failed(
                "this method needs the label column in the private dataset too",
            )
            .cure("choose its label column, or a method for unlabelled private data"));
        }
        let norm = self.bounds.feature_norm;
        if !(norm.is_finite() && norm > 0.0) {
            return Err(Error::failed(format!("the declared bound on feature norms is {norm}"))
                .cure("declare a positive bound"));
        }
        Ok(())
    }

    /// The same for a method that takes public records without labels.
    pub(super) fn check_for(&self, spec: &Spec, public: &Dataset) -> Result<()> {
        let (task, needs_private_labels) = (spec.task, spec.needs_private_labels);
        if spec.needs_public_labels {
            return self.check(public, task, needs_private_labels);
        }
        self.check_private(needs_private_labels)?;
        self.check_public(public, None)
    }

    fn check_public(&self, public: &Dataset, task: Option<Task>) -> Result<()> {
        let place = format!("public dataset '{}'", public.name);
        if public.is_empty() {
            return Err(Error::failed("it has no records").at(place).cure("widen its row filter"));
        }
        if public.dimension() != self.dimension || public.len() != self.public_records {
            return Err(Error::failed(format!(
                "it has {} records of {} features where the plan has {} of {}",
                public.len(),
                public.dimension(),
                self.public_records,
                self.dimension
            ))
            .at(place)
            .cure("prepare both datasets with the same columns, then plan again"));
        }
        let own = public.classes.as_ref().map(|classes| classes.of.len());
        let labels = match task {
            Some(Task::Regression) => public.target.as_ref().map(Vec::len),
            Some(Task::Classification) => own,
            None => own.or(Some(public.len())),
        };
        let Some(labels) = labels else {
            let task = words(task.unwrap_or_default());
            return Err(Error::failed(format!("it has no label column for a {task}"))
                .at(place)
                .cure("choose the column to predict"));
        };
        let target = public.target.iter().flatten();
        let numbers = public.features.iter().chain(target).all(|number| number.is_finite());
        if labels != public.len() || !numbers {
            return Err(Error::failed("a feature or label is missing or not a finite number")
                .at(place)
                .cure("prepare the dataset again; missing values must be dropped or filled"));
        }
        Ok(())
    }
}

fn words(task: Task) -> &'static str {
    match task {
        Task::Regression => "regression",
        Task::Classification => "classification",
    }
}

impl Problem {
    /// Refuses private data of another shape than was planned for. What this says of
    /// them is public: their number and their columns.
    pub(super) fn check(&self, task: Task, needs_private_labels: bool) -> Result<()> {
        self.shape.check(&self.public, task, needs_private_labels)?;
        self.check_fit(task, needs_private_labels)
    }

    /// The same for a method that takes public records without labels.
    pub(super) fn check_for(&self, spec: &Spec) -> Result<()> {
        self.shape.check_for(spec, &self.public)?;
        self.check_fit(spec.task, spec.needs_private_labels)
    }

    fn check_fit(&self, task: Task, needs_private_labels: bool) -> Result<()> {
        let shape = &self.shape;
        let fits = self.private.map_usable(|data| {
            let labels = match task {
                Task::Regression => data.target.as_ref().map(Vec::len),
                Task::Classification => data.classes.as_ref().map(|classes| classes.of.len()),
            };
            let labelled = !needs_private_labels || labels == Some(shape.private_records);
            if data.len() == shape.private_records
                && data.dimension() == shape.dimension
                && data.bounds == shape.bounds
                && labelled
            {
                Ok(())
            } else {
                Err(Fault::new(
                    "the private dataset has another shape than was planned for",
                    "prepare it with the columns of the public dataset, then plan again",
                ))
            }
        });
        fits.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::example;

    #[test]
    fn every_impossible_problem_is_refused_with_a_cure() {
        let (shape, public, private) = example::shifted(3, 40, 30, 1);
        let check =
            |shape: &ProblemShape, public: &Dataset| shape.check(public, Task::Regression, true);
        check(&shape, &public).unwrap();

        let few = ProblemShape { private_records: 19, ..shape.clone() };
        let flat = ProblemShape { dimension: 0, ..shape.clone() };
        let unlabelled = ProblemShape { private_labels: false, ..shape.clone() };
        let bounds = Bounds { feature_norm: f64::NAN, label: 1.0 };
        let unbounded = ProblemShape { bounds, ..shape.clone() };
        let wider = ProblemShape { dimension: 4, ..shape.clone() };
        for (bad, word) in [
            (&few, "19 records"),
            (&flat, "no feature"),
            (&unlabelled, "label column"),
            (&unbounded, "NaN"),
            (&wider, "3 features"),
        ] {
            let error = check(bad, &public).unwrap_err();
            assert!(error.what().contains(word), "{error}");
            assert!(error.cure_text().is_some(), "{error}");
        }
        unlabelled.check(&public, Task::Regression, false).unwrap();

        let mut missing = public.clone();
        missing.features[(0, 7)] = f64::NAN;
        assert!(check(&shape, &missing).unwrap_err().what().contains("not a finite number"));
        missing.target = None;
        assert!(check(&shape, &missing).unwrap_err().what().contains("no label column"));

        let problem = |private: Dataset| Problem {
            shape: shape.clone(),
            public: public.clone(),
            private: Private::new(private.into()),
            seed: 0,
        };
        problem(private.clone()).check(Task::Regression, true).unwrap();
        let unlabelled = Dataset { target: None, ..private };
        problem(unlabelled.clone()).check(Task::Regression, false).unwrap();
        assert!(problem(unlabelled).check(Task::Regression, true).is_err());
    }
}
