//! Noisy gradient descent on the private records alone: the baseline that adaptation has to beat.
//!
//! No public record is used, not even for a start or for the scale of a step. Every record's
//! gradient is clipped to norm C. Every step uses all records, or a Poisson sample of them:
//! [`super::profiled::batches`] has the sensitivities.
//!
//! The defaults of the regression were chosen like those of the profiled method, on the same data:
//! bikeshare, wine and airline.

use super::profiled::Profile;
use super::profiled::batches::{BATCH, Batches};
use super::profiled::descent::{ProfiledDescent, ProfiledRun};
use super::profiled::public_side::PublicSide;
use super::records::{LabelledRecords, RecordLoss, ScoreLoss, two_classes};
use crate::classes::sampled::fields::steps;
use crate::prelude::*;
use crate::privacy::openings::OpenPrivate;

static REGRESSION: Spec = Spec {
    id: "target_only",
    name: "private records alone",
    paper: "Target only",
    summary: "Linear regression on the private records alone by noisy gradient descent: the \
              baseline that public data have to improve on.",
    line: "uses no public record: a baseline",
    task: Task::Regression,
    fields: TargetOnlySettings::FIELDS,
    tries: &[("clip", &[0.1, 0.5]), ("steps", &[60.0, 400.0])],
    place: 6,
    tries_public_predictor: true,
    proof: Some("target_only"),
    clips_persons: true,
    joins: true,
    ..Spec::DEFAULT
};

settings! {
    struct TargetOnlySettings {
        clip: f64 = real(1e-3, 10.0, 0.2).named("clip C", "norm of gradient")
            .help("Every record's gradient is clipped to this norm. Noise grows with it."),
        steps: u64 = steps(10_000, 200),
        batch: Option<u64> = BATCH,
        step_size: f64 = real(1e-4, 1000.0, 2.0).named("learning rate", "")
            .help("Step along the noisy mean gradient."),
        average: f64 = real(0.0, 1.0, 0.5).named("averaged tail", "share of steps")
            .help("The model is the mean of this share of the steps, counted from the last."),
    }
}

static CLASSIFICATION: Spec = Spec {
    id: "target_only_logistic",
    paper: "Target only, logistic",
    summary: "Two classes told apart by noisy gradient descent on the private records alone: the \
              baseline that public data have to improve on.",
    task: Task::Classification,
    fields: TargetOnlyLogisticSettings::FIELDS,
    two_classes_only: true,
    ..REGRESSION
};

settings! {
    /// The settings of the regression with another default.
    struct TargetOnlyLogisticSettings {
        clip: f64 = TargetOnlySettings::clip,
        steps: u64 = TargetOnlySettings::steps,
        batch: Option<u64> = BATCH,
        step_size: f64 = TargetOnlySettings::step_size.by_default(4.0),
        average: f64 = TargetOnlySettings::average,
    }
}

/// For labels that are numbers.
pub const NUMBERS: &Method = &Method {
    spec: &REGRESSION,
    plan: |settings, problem, _| plan(RecordLoss::Score(ScoreLoss::Squared), settings, problem),
};

/// For labels that are classes.
pub const CLASSES: &Method = &Method {
    spec: &CLASSIFICATION,
    plan: |settings, problem, _| {
        two_classes(&problem.public)?;
        plan(RecordLoss::Score(ScoreLoss::Logistic), settings, problem)
    },
};

fn plan(loss: RecordLoss, settings: &Settings, problem: Problem) -> Result<(Plan, Start)> {
    let settings = TargetOnlySettings::of(settings)?;
    let shape = &problem.shape;
    // All weight is on the private records, and none is learned.
    let profile = Profile {
        loss,
        alpha: 0.0,
        kappa: f64::INFINITY,
        penalty: 0.0,
        clip: settings.clip,
        pooled: true,
        gain: None,
    };
    let batches = Batches::of(shape, settings.batch)?;
    let (plan, gradient) = batches.plan(&profile, shape, settings.steps, 1.0);
    let start: Start = Box::new(move |private, _| {
        let shape = problem.shape.clone();
        let public = LabelledRecords::of(loss, problem.public.shared())?;
        let start = Vector::zeros(shape.dimension);
        let persons = problem.public.persons();
        let profile = profile.for_persons(&public, persons, shape.most_records, &start);
        Ok(Box::new(ProfiledRun {
            steps: settings.steps,
            average: settings.average,
            profile,
            penalty: None,
            public: PublicSide::new(public, Vec::new()),
            private: private.map_usable(|data| LabelledRecords::private(loss, data))?,
            gradient,
            descent: ProfiledDescent::plain(start, settings.step_size),
            shape,
            model: None,
        }))
    });
    Ok((plan, start))
}
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::data::Dataset;
    use crate::example;
    use crate::trial::{RehearsalNoise, Trial, Tried};

    fn rehearse(method: &str, public: &Dataset, private: &Dataset) -> Tried {
        let noise = RehearsalNoise::None(example::TARGET);
        let settings = BTreeMap::new();
        Trial { settings, ..Trial::new(method, public, private, noise, 1) }.run().unwrap()
    }

    #[test]
    fn other_public_data_make_no_difference_to_the_model() {
        let (_, public, private) = example::shifted(4, 60, 200, 1);
        let (_, other, _) = example::shifted(4, 60, 200, 2);
        let one = rehearse("target_only", &public, &private);
        assert_eq!(one.model, rehearse("target_only", &other, &private).model);
    }

    #[test]
    fn without_noise_regression_approaches_least_squares_and_classification_learns() {
        let (_, public, private) = example::shifted(4, 60, 400, 1);
        let done = rehearse("target_only", &public, &private);
        let crate::model::Model::Linear(model) = &done.model else { panic!() };
        let error = |model: &crate::model::LinearModel| {
            model.mean_squared_error(&private.features, private.target.as_ref().unwrap())
        };
        let exact = crate::baselines::reference::source_only(&private, 1e-5).unwrap();
        assert!(error(model) < 1.2 * error(&exact), "{} {}", error(model), error(&exact));

        let (_, public, private) = example::two_classes(4, 60, 400, 1);
        let done = rehearse("target_only_logistic", &public, &private);
        let classes = done.model.classes(&private.features).unwrap();
        let truth = &private.classes.as_ref().unwrap().of;
        let right = classes.iter().zip(truth).filter(|(one, other)| one == other).count();
        assert!(right > 340, "{right}");
    }
}
