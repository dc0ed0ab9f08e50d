//! Noisy gradient descent on the private records alone: the baseline that adaptation has to beat.
//!
//! No public record is used, not even for a start or for the scale of a step. Every record's
//! gradient is clipped to norm C. Every step uses all records, or a Poisson sample of them:
//! [`super::profiled::batches`] has the sensitivities.
//!
//! The defaults of the regression were chosen like those of the profiled method, on the same data:
//! bikeshare, wine and airline.

use std::sync::Arc;

use super::profiled::batches::{BATCH, Batches};
use super::profiled::descent::{ProfiledDescent, ProfiledRun};
use super::profiled::public_side::PublicSide;
use super::profiled::{Profile, ProfiledRecords, RecordLoss, ScoreLoss};
use super::weighted::learner::{signs, two_classes};
use crate::classes::sampled::fields::steps;
use crate::data::{Dataset, Task};
use crate::error::Result;
use crate::numeric::Vector;
use crate::numeric::columns::ExampleColumns;
use crate::privacy::Target;
use crate::privacy::openings::OpenPrivate;
use crate::problem::UNLABELLED;
use crate::spec::{Setting, real, settings};
use crate::{Method, Plan, Problem, Settings, Spec, Start};

const CLIP_FIELD: Setting<f64> = Setting {
    name: "clip C",
    unit: "norm of gradient",
    help: "Every record's gradient is clipped to this norm. Noise grows with it.",
    kind: real(1e-3, 10.0, 0.2),
};
const AVERAGE_FIELD: Setting<f64> = Setting {
    name: "averaged tail",
    unit: "share of steps",
    help: "The model is the mean of this share of the steps, counted from the last.",
    kind: real(0.0, 1.0, 0.5),
};

const fn step_size(default: f64) -> Setting<f64> {
    Setting {
        name: "learning rate",
        unit: "",
        help: "Step along the noisy mean gradient.",
        kind: real(1e-4, 1000.0, default),
    }
}

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
    ..Spec::DEFAULT
};

settings! {
    struct TargetOnlySettings {
        clip: f64 = CLIP_FIELD,
        steps: u64 = steps(10_000, 200),
        batch: Option<u64> = BATCH,
        step_size: f64 = step_size(2.0),
        average: f64 = AVERAGE_FIELD,
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
    struct TargetOnlyLogisticSettings {
        clip: f64 = CLIP_FIELD,
        steps: u64 = steps(10_000, 200),
        batch: Option<u64> = BATCH,
        step_size: f64 = step_size(4.0),
        average: f64 = AVERAGE_FIELD,
    }
}

/// One of two methods: for numbers, or for classes.
pub struct TargetOnly(&'static Spec);

/// For labels that are numbers.
pub const NUMBERS: &TargetOnly = &TargetOnly(&REGRESSION);
/// For labels that are classes.
pub const CLASSES: &TargetOnly = &TargetOnly(&CLASSIFICATION);

impl Method for TargetOnly {
    fn spec(&self) -> &'static Spec {
        self.0
    }

    fn plan(&self, settings: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
        // The two differ only in their defaults.
        let settings = TargetOnlySettings::of(settings)?;
        let loss = match self.0.task {
            Task::Regression => ScoreLoss::Squared,
            Task::Classification => ScoreLoss::Logistic,
        };
        if loss == ScoreLoss::Logistic {
            two_classes(&problem.public)?;
        }
        let shape = &problem.shape;
        // All weight is on the private records, and none is learned.
        let profile = Profile {
            loss: RecordLoss::Score(loss),
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
            let public = records(loss, problem.public.shared())?;
            let start = Vector::zeros(shape.dimension);
            let persons = problem.public.persons();
            let profile = profile.for_persons(&public, persons, shape.most_records, &start);
            Ok(Box::new(ProfiledRun {
                steps: settings.steps,
                average: settings.average,
                profile,
                penalty: None,
                public: PublicSide::new(public, Vec::new()),
                private: private
                    .map_usable(|data| records(loss, data.shared()).map_err(|_| UNLABELLED))?,
                gradient,
                descent: ProfiledDescent::plain(start, settings.step_size),
                shape,
                model: None,
            }))
        });
        Ok((plan, start))
    }
}

fn records<F: ExampleColumns>(
    loss: ScoreLoss,
    data: Arc<Dataset<F>>,
) -> Result<ProfiledRecords<F>> {
    Ok(match loss {
        // The problem was checked: there are labels.
        ScoreLoss::Squared => ProfiledRecords::new(data),
        ScoreLoss::Logistic => {
            let signs = signs(&data)?;
            ProfiledRecords::labelled(data, signs)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
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
