//! Public data alone, as a method: what every private model has to improve on.
//!
//! *Sensitivity.* There is no release. A run drops the private records without a look at them, so
//! its model is the same whoever they are. A score of held-out records is a release of its own and
//! pays for itself.

use super::reference::{DEFAULT_RIDGE, reference};
use crate::labelled::public_shape::{self, public_model};
use crate::prelude::*;
use crate::privacy::openings::OpenReleased;

static REGRESSION: Spec = Spec {
    id: "public_only",
    name: "public data alone",
    paper: "Source only",
    summary: "Regression: trees and a linear model learn from public records. No private record \
              is used, so nothing is spent: the baseline that a private run has to improve on.",
    line: "uses no private record: spends nothing, a baseline",
    task: Task::Regression,
    needs_private_labels: false,
    place: 6,
    public_only: true,
    takes_wide_features: true,
    has_own_predictor: true,
    covers_scores: false,
    proof: Some("public_only"),
    gap: Gap::NONE,
    ..Spec::DEFAULT
};

static CLASSIFICATION: Spec = Spec {
    id: "public_only_classes",
    paper: "Source only, classes",
    summary: "Any number of classes: trees and a linear model learn from public records. No \
              private record is used, so nothing is spent: the baseline that a private run has to \
              improve on.",
    task: Task::Classification,
    ..REGRESSION
};

/// For labels that are numbers.
pub const NUMBERS: &Method = &Method { spec: &REGRESSION, plan };
/// For labels that are classes.
pub const CLASSES: &Method = &Method { spec: &CLASSIFICATION, plan };

/// The id of the method for a task.
pub fn id_for(task: Task) -> &'static str {
    match task {
        Task::Regression => REGRESSION.id,
        Task::Classification => CLASSIFICATION.id,
    }
}

/// A mixture of trees and a linear model of the public records; of more columns than trees can
/// take, a linear model.
pub fn predictor(public: &PublicRecords, seed: u64) -> Result<Model> {
    if public.dimension() <= public_shape::MOST_FEATURES {
        public_model(public, seed)
    } else {
        linear(public)
    }
}

/// The linear model of public records, which are asked for it often.
pub fn linear(public: &PublicRecords) -> Result<Model> {
    public.once("linear model", DEFAULT_RIDGE, reference)
}

fn plan(_: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let public = &problem.public;
    if public.dimension() <= public_shape::MOST_FEATURES {
        public.fit_into_memory()?;
    }
    if public.len().min(public.dimension()) > MOST_FEATURES {
        let (records, features) = (public.len(), public.dimension());
        return Err(Error::usage(format!(
            "the public data have {records} records of {features} features, and '{}' takes \
             {MOST_FEATURES} of one or of the other at most",
            REGRESSION.name
        ))
        .cure("select fewer columns"));
    }
    let start: Start = Box::new(|_, _| Ok(Box::new(PublicRun { problem, model: None })));
    Ok((Plan::new(Vec::new(), 1, 1.0), start))
}

struct PublicRun {
    problem: Problem,
    model: Option<Released<Model>>,
}

impl Run for PublicRun {
    fn step(&mut self, _: &mut Spender, _: &Watch) -> Result<Step> {
        let Problem { public, seed, .. } = &self.problem;
        self.model = Some(Released::of_public(predictor(public, *seed)?));
        Ok(Step { index: 1, total: 1, phase: "learn", measures: Vec::new(), done: true })
    }

    fn model(&self) -> Option<Released<Model>> {
        self.model.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Dataset;
    use crate::example::{self, TARGET};
    use crate::trial::{RehearsalNoise, Trial};

    #[test]
    fn nothing_is_released_and_other_private_records_make_no_difference() {
        for (method, (_, public, private), (.., other)) in [
            (REGRESSION.id, example::shifted(4, 60, 80, 1), example::shifted(4, 60, 80, 2)),
            (
                CLASSIFICATION.id,
                example::two_classes(4, 60, 80, 1),
                example::two_classes(4, 60, 80, 2),
            ),
        ] {
            let run = |private: &Dataset| {
                Trial::new(method, &public, private, RehearsalNoise::For(TARGET), 1).run().unwrap()
            };
            let (ours, theirs) = (run(&private), run(&other));
            assert_eq!(ours.model, theirs.model);
            let (noise, guarantee) = (&ours.calibrated, ours.calibrated.guarantee());
            assert!(noise.events().is_empty() && noise.target() == TARGET);
            assert_eq!((guarantee.epsilon, guarantee.delta), (0.0, 0.0));
        }
    }

    #[test]
    fn the_model_is_that_of_the_public_records_whatever_their_width() {
        let (shape, public, _) = example::shifted(4, 60, 80, 1);
        let problem = example::problem(&shape, &public);
        let Problem { public, seed, .. } = &problem;
        assert_eq!(predictor(public, *seed).unwrap(), public_model(public, *seed).unwrap());
        let (_, public, _) = example::shifted(public_shape::MOST_FEATURES + 1, 30, 80, 1);
        let model = predictor(&public.into(), 1).unwrap();
        assert!(matches!(model, Model::Linear(_)));
        let (shape, public, _) = example::shifted(MOST_FEATURES + 1, MOST_FEATURES + 1, 80, 1);
        let error = example::plan(NUMBERS, &BTreeMap::new(), &shape, &public).unwrap_err();
        assert!(error.what().contains("at most"), "{error}");
    }
}
