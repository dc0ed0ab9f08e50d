//! The input of a method.

use super::Spec;
use crate::data::{Bounded, Bounds, Dataset, PublicRecords, Task};
use crate::error::{Error, Result};
use crate::model::Classifier;
use crate::numeric::columns::ExampleColumns;
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Private, PrivateFault};

/// The fewest private records that a method accepts: with fewer, any acceptable ε leaves nothing
/// but noise.
const FEWEST_PRIVATE_RECORDS: usize = 20;

/// The error for a record without a label. It does not reveal existing labels.
pub(super) const UNLABELLED: PrivateFault = PrivateFault::new(
    "the private records have no labels that fit the method",
    "choose their label column, and declare their classes",
);

/// The sites of a joint run, as far as a plan depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JointShape {
    /// How many there are.
    pub sites: usize,
    /// The training records or persons of all of them.
    pub records: usize,
    /// With one noise for all: how many sites may put together what they know.
    pub may_collude: Option<usize>,
}

/// The public facts about a problem, enough to plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemShape {
    /// n: the number of protected records or persons; public under replace-one.
    pub private_records: usize,
    /// The most records of each of them: 1 where records are protected.
    pub most_records: usize,
    /// The number of public training records.
    pub public_records: usize,
    /// The number of features of a record.
    pub dimension: usize,
    /// The bounds that no record exceeds.
    pub bounds: Bounds,
    /// Whether private records have labels.
    pub private_labels: bool,
    /// Names of the classes of the private records, declared or public; none in a regression.
    pub classes: Vec<String>,
    /// The model that training starts from, if the plan names one.
    pub start: Option<StartingModel>,
    /// The sites, if several run the plan together. How far a record moves a release depends on this
    /// site's own records alone.
    pub joint: Option<JointShape>,
}

impl ProblemShape {
    /// The number of records or persons behind a joint release: those of all sites.
    pub fn joint_records(&self) -> usize {
        self.joint.map_or(self.private_records, |joint| joint.records)
    }

    /// By how much the noise of a joint release is larger than if its records were at one site:
    /// √sites where every site adds its own, and less where all have one noise.
    pub fn noise_of_sites(&self) -> f64 {
        let times = |joint: JointShape| {
            let adding = joint.may_collude.map_or(1, |number| joint.sites.saturating_sub(number));
            joint.sites as f64 / adding.max(1) as f64
        };
        self.joint.map_or(1.0, |joint| times(joint).sqrt())
    }

    /// The shape of a problem in which public data play the private role.
    pub fn of_data(private: &Dataset, public: &PublicRecords) -> Self {
        Self {
            private_records: private.protected(),
            most_records: private.most_records(),
            public_records: public.len(),
            dimension: public.dimension(),
            bounds: public.bounds,
            private_labels: private.target.is_some() || private.classes.is_some(),
            classes: private.classes.iter().flat_map(|classes| classes.names.clone()).collect(),
            start: None,
            joint: None,
        }
    }
}

/// A model of an earlier run: released, or public.
#[derive(Debug, Clone, PartialEq)]
pub struct StartingModel {
    /// The network with its first weights.
    pub model: Classifier,
    /// Names of its classes.
    pub classes: Vec<String>,
}

/// All public input of a method. `public` has a target if the method needs one, and may have
/// classes of its own if not.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The public facts about sizes.
    pub shape: ProblemShape,
    /// The public training records.
    pub public: PublicRecords,
    /// The seed of everything random that is not noise.
    pub seed: u64,
}

/// The required form of the private records.
#[derive(Debug)]
pub(super) struct Expected {
    records: usize,
    dimension: usize,
    bounds: Bounds,
    /// The kind of labels that they must have, if any.
    labels: Option<Task>,
}

impl Problem {
    pub(super) fn expected(&self, spec: &Spec) -> Expected {
        let shape = &self.shape;
        Expected {
            records: shape.private_records,
            dimension: shape.dimension,
            bounds: shape.bounds,
            labels: spec.needs_private_labels.then_some(spec.task),
        }
    }

    /// Refuses problems that no method can handle, or that this one cannot.
    pub(super) fn check(&self, spec: &Spec) -> Result<()> {
        self.shape.check(spec.needs_private_labels)?;
        self.check_public(spec.needs_public_labels.then_some(spec.task))
    }

    fn check_public(&self, task: Option<Task>) -> Result<()> {
        let (shape, public) = (&self.shape, &self.public);
        let place = format!("public dataset '{}'", public.name);
        if public.is_empty() {
            return Err(Error::failed("it has no records").at(place).cure("widen its row filter"));
        }
        if public.dimension() != shape.dimension || public.len() != shape.public_records {
            return Err(Error::failed(format!(
                "it has {} records of {} features where the plan has {} of {}",
                public.len(),
                public.dimension(),
                shape.public_records,
                shape.dimension
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
            let task = task.unwrap_or_default();
            return Err(Error::failed(format!("it has no label column for a {task}"))
                .at(place)
                .cure("choose the column to predict"));
        };
        let numbers = public.once("finite", 0.0, |data, _| {
            let mut finite = data.target.iter().flatten().all(|number| number.is_finite());
            data.features.each(|_, x| finite = finite && x.iter().all(|number| number.is_finite()));
            Ok(finite)
        })?;
        if labels != public.len() || !numbers {
            return Err(Error::failed("a feature or label is missing or not a finite number")
                .at(place)
                .cure("prepare the dataset again; missing values must be dropped or filled"));
        }
        Ok(())
    }
}

impl ProblemShape {
    fn check(&self, needs_private_labels: bool) -> Result<()> {
        if self.dimension == 0 {
            return Err(Error::failed("the data have no feature left")
                .cure("select at least one feature column besides the label"));
        }
        if self.private_records < FEWEST_PRIVATE_RECORDS {
            let (count, protected) =
                (self.private_records, if self.most_records > 1 { "person" } else { "record" });
            let plural = if count == 1 { "" } else { "s" };
            return Err(Error::failed(format!(
                "the private dataset has {count} {protected}{plural} to train on, without those \
                 held out; at least {FEWEST_PRIVATE_RECORDS} are needed"
            ))
            .cure("widen its row filter, mark a larger dataset as private, or hold out less"));
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
}

impl Expected {
    /// Refuses private data of another shape than planned. The error reveals only public facts:
    /// their number and their columns.
    pub(super) fn check(&self, private: &Private<Bounded>) -> Result<()> {
        let fits = private.map_usable(|data| {
            let labels = match self.labels {
                Some(Task::Regression) => data.target.as_ref().map(Vec::len),
                Some(Task::Classification) => data.classes.as_ref().map(|classes| classes.of.len()),
                None => Some(data.len()),
            };
            if data.protected() == self.records
                && data.dimension() == self.dimension
                && data.bounds == self.bounds
                && labels == Some(data.len())
            {
                Ok(())
            } else {
                Err(PrivateFault::new(
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
    use crate::data::Dataset;
    use crate::{example, method};

    #[test]
    fn every_impossible_problem_is_refused_with_a_cure() {
        let (shape, public, private) = example::shifted(3, 40, 30, 1);
        let with = |shape: &ProblemShape, public: &Dataset| Problem {
            shape: shape.clone(),
            public: public.clone().into(),
            seed: 0,
        };
        let spec = method("target_only").unwrap().spec();
        let unlabelled_spec = method("moment_release").unwrap().spec();
        let check = |shape: &ProblemShape, public: &Dataset| with(shape, public).check(spec);
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
        with(&unlabelled, &public).check(unlabelled_spec).unwrap();

        let mut missing = public.clone();
        missing.features[(0, 7)] = f64::NAN;
        assert!(check(&shape, &missing).unwrap_err().what().contains("not a finite number"));
        missing.target = None;
        assert!(check(&shape, &missing).unwrap_err().what().contains("no label column"));

        let fits = |private: &Dataset, spec: &Spec| {
            let private = Private::new(private.clone().into());
            with(&shape, &public).expected(spec).check(&private)
        };
        fits(&private, spec).unwrap();
        let unlabelled = Dataset { target: None, ..private };
        fits(&unlabelled, unlabelled_spec).unwrap();
        assert!(fits(&unlabelled, spec).is_err());
        assert!(fits(&unlabelled.records(0, 20), unlabelled_spec).is_err());
    }
}
