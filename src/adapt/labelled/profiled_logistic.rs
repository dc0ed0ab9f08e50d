//! Profiled logistic: two classes, closed-form weights, noise on the gradient alone.
//!
//! The objective, its sensitivity and the descent are those of `profiled`, with logistic loss. The
//! largest gradient is r, and most are far smaller: clipping below r trades a little bias for less
//! noise. The public Hessian scales the steps.
//!
//! The defaults were chosen on bikeshare, wine and airline, with their labels split into two
//! classes. No other data were used.

use super::profiled::batches::{BATCH, Batches};
use super::profiled::descent::{Motion, ProfiledDescent, ProfiledRun};
use super::profiled::{Profile, ProfiledRecords, ScoreLoss};
use super::profiled_cnvx_adap::{WEIGHTING_FIELD, Weighting};
use super::weighted::learner::{signs, two_classes};
use crate::adapt::problem::UNLABELLED;
use crate::adapt::spec::{Setting, real, settings, whole};
use crate::adapt::{MOST_FEATURES, Method, Plan, Problem, ProblemShape, Settings, Spec, Start};
use crate::data::Task;
use crate::error::{Error, Result};
use crate::model::logistic;
use crate::privacy::Target;

static SPEC: Spec = Spec {
    id: "profiled_logistic",
    name: "logistic, weighted by fit",
    paper: "Profiled logistic",
    summary: "Two classes told apart by public and private records together; every record's \
              weight follows its loss, and noise is added to the private part of the gradient.",
    task: Task::Classification,
    needs_private_labels: true,
    needs_public_labels: true,
    fields: ProfiledLogisticSettings::FIELDS,
    tries: &[("threshold", &[1.0, 4.0]), ("pull", &[0.1, 1.0])],
};

settings! {
    struct ProfiledLogisticSettings {
        alpha: f64 = Setting {
            name: "public share α",
            unit: "share of weight",
            help: "Largest total weight of the public records; the private records have the \
                   rest. Lower trusts the private data more, and needs more noise for it.",
            kind: real(0.01, 0.99, 0.1),
        },
        threshold: f64 = Setting {
            name: "outlier threshold κ₁",
            unit: "loss",
            help: "Records whose logistic loss is larger lose weight. A record on the wrong side \
                   of the boundary has more than 0.69.",
            kind: real(0.01, 100.0, 2.0),
        },
        clip: f64 = Setting {
            name: "clip",
            unit: "share of largest",
            help: "A private record's gradient is clipped to this share of the largest possible. \
                   Lower needs less noise and listens less to records that are badly wrong.",
            kind: real(0.01, 1.0, 0.5),
        },
        steps: u64 = Setting {
            name: "steps T",
            unit: "gradients",
            help: "Noisy gradient steps. The noise per step grows with the square root of \
                   their number.",
            kind: whole(1, 2000, 50),
        },
        batch: Option<u64> = BATCH,
        step_size: f64 = Setting {
            name: "step size η",
            unit: "",
            help: "Share of the preconditioned (Newton-like) step that is taken.",
            kind: real(0.01, 2.0, 0.5),
        },
        pull: f64 = Setting {
            name: "pull ρ",
            unit: "times noise sd",
            help: "How strongly the model is held at the public solution, in units of the \
                   gradient's noise: the noisier the gradient, the stronger the pull.",
            kind: real(0.0, 1000.0, 0.3),
        },
        damping: f64 = Setting {
            name: "damping",
            unit: "curvature",
            help: "Added to the public curvature that scales the steps. Private data may curve \
                   where the public ones are flat; without it, steps overshoot there.",
            kind: real(0.0, 10.0, 0.01),
        },
        weighting: Weighting = WEIGHTING_FIELD,
        public_penalty: f64 = Setting {
            name: "public penalty d̂",
            unit: "loss",
            help: "Added to the loss of every public record before it is weighted. It must be \
                   known without looking at the private data.",
            kind: real(0.0, 100.0, 0.0),
        },
        ridge: f64 = Setting {
            name: "ridge",
            unit: "loss",
            help: "Ridge of the public solution that the run starts from.",
            kind: real(1e-9, 1.0, 1e-4),
        },
        average: f64 = Setting {
            name: "averaged tail",
            unit: "share of steps",
            help: "The model is the mean of this share of the steps, counted from the last; \
                   0 takes the last step alone.",
            kind: real(0.0, 1.0, 0.5),
        },
    }
}

/// The method of this module.
pub struct ProfiledLogistic;

impl Method for ProfiledLogistic {
    fn tries_public_predictor(&self) -> bool {
        true
    }

    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn most_features(&self) -> Option<usize> {
        Some(MOST_FEATURES)
    }

    fn adds_up_persons(&self) -> bool {
        true
    }

    fn plan(
        &self,
        settings: &Settings,
        problem: Problem,
        _target: Target,
    ) -> Result<(Plan, Start)> {
        let settings = ProfiledLogisticSettings::of(settings)?;
        let shape = &problem.shape;
        two_classes(&problem.public)?;
        let profile = profile(shape, settings);
        let batches = Batches::of(shape, settings.batch)?;
        let (plan, gradient) = batches.plan(&profile, shape, settings.steps, 1.0);
        let start: Start = Box::new(move |private, noise| {
            let shape = problem.shape.clone();
            let public = problem.public.shared();
            let labels = signs(&public)?;
            let ridge = settings.ridge;
            let centre =
                logistic::ridge_solution(&public.features, &labels, ridge).ok_or_else(|| {
                    Error::failed(format!("'{}' determines no logistic model", public.name))
                        .cure("raise the ridge, or drop columns that say the same")
                })?;
            let curvature = logistic::hessian(&public.features, &centre);
            let public = ProfiledRecords::new(public, labels);
            let persons = problem.public.persons();
            let profile = profile.for_persons(&public, persons, shape.most_records, &centre);
            let motion = Motion {
                pull: settings.pull * gradient.scale(noise)? / profile.factor(),
                damping: settings.damping,
                step_size: settings.step_size,
            };
            Ok(Box::new(ProfiledRun {
                steps: settings.steps,
                average: settings.average,
                gradient,
                shape,
                profile,
                penalty: None,
                public,
                private: private.map_usable(|data| {
                    let signs = signs(data).map_err(|_| UNLABELLED)?;
                    Ok(ProfiledRecords::new(data.shared(), signs))
                })?,
                descent: ProfiledDescent::new(centre, &curvature, motion)?,
                model: None,
            }))
        });
        Ok((plan, start))
    }
}

fn profile(shape: &ProblemShape, settings: ProfiledLogisticSettings) -> Profile {
    Profile {
        loss: ScoreLoss::Logistic,
        alpha: settings.alpha,
        kappa: settings.threshold,
        penalty: settings.public_penalty,
        clip: settings.clip * shape.bounds.feature_norm,
        pooled: settings.weighting == Weighting::Pooled,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::adapt::{Series, example};
    use crate::numeric::Vector;
    use crate::rehearsal::{RehearsalNoise, Trial};

    fn settings() -> ProfiledLogisticSettings {
        ProfiledLogisticSettings::of(&SPEC.check(&BTreeMap::new()).unwrap()).unwrap()
    }

    #[test]
    fn with_a_fair_budget_it_classifies_private_records_better_than_the_public_model() {
        let (_, public, private) = example::two_classes(6, 1500, 3000, 2);
        let wrong = |model: &crate::model::Model| {
            let classes = model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one != other).count()
        };
        let done = Trial::new(
            SPEC.id,
            &public,
            &private,
            RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 }),
            1,
        );
        let done = done.run().unwrap();
        let signs = signs(&public).unwrap();
        let source = logistic::ridge_solution(&public.features, &signs, 1e-4).unwrap();
        let source = crate::model::Model::Logistic(source.into());
        let (ours, theirs) = (wrong(&done.model), wrong(&source));
        assert!((ours as f64) < 0.9 * theirs as f64, "{ours} {theirs}");
        let loss = done.series(Series::PrivateLoss);
        assert!(loss.last().unwrap().1 < loss[0].1);
    }

    /// Where the score is 0, both classes have a slope of a half, the default of the clip.
    #[test]
    fn the_same_record_with_the_other_class_attains_the_sensitivity() {
        let (shape, _, mut private) = example::two_classes(3, 10, 25, 5);
        private.features.set_column(0, &Vector::from_vec(vec![0.0, 1.0, 0.0]));
        for clip in [0.1, settings().clip] {
            let profile = profile(&shape, ProfiledLogisticSettings { clip, ..settings() });
            let mut with = |class: u32| {
                private.classes.as_mut().unwrap().of[0] = class;
                let signs = signs(&private).unwrap();
                let records = ProfiledRecords::new(Arc::new(private.clone()), signs);
                profile.private(&records, 25).pass(&Vector::zeros(3)).gradient
            };
            let moved = (with(0) - with(1)).norm();
            let sensitivity = profile.sensitivity(&shape);
            assert!(moved <= sensitivity && moved > 0.999 * sensitivity, "{moved} {sensitivity}");
        }
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_the_gradient_by_more_than_the_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 6),
            w in proptest::collection::vec(-9.0..9.0_f64, 3),
        ) {
            let (shape, _, private) = example::two_classes(3, 10, 25, 5);
            let (profile, w) = (profile(&shape, settings()), Vector::from_vec(w));
            let with = |x: &[f64], class: u32| {
                let mut data = private.clone();
                data.features.set_column(0, &Vector::from_column_slice(x));
                data.classes.as_mut().unwrap().of[0] = class;
                let records = ProfiledRecords::new(Arc::new(data.clone()), signs(&data).unwrap());
                profile.private(&records, 25).pass(&w).gradient
            };
            let moved = (with(&x[..3], 0) - with(&x[3..], 1)).norm();
            prop_assert!(moved <= profile.sensitivity(&shape));
        }
    }
}
