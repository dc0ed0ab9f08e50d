//! Profiled logistic: two classes, closed-form weights, noise on the gradient alone.
//!
//! The objective, its sensitivity and the descent are those of `profiled`, with logistic
//! loss. Its largest gradient is r, and most are far smaller: clipping below r trades a
//! little bias for less noise. The public Hessian scales the steps.
//!
//! The defaults were chosen on bikeshare, wine and airline, their labels cut in two; no
//! other data were looked at.

use super::plan::GRADIENT;
use super::problem::UNLABELLED;
use super::profiled::batches::{BATCH, Batches};
use super::profiled::descent::{Adaptation, Descent, Motion};
use super::profiled::{Loss, Profile, Records};
use super::profiled_cnvx_adap::WEIGHTING_FIELD;
use super::spec::{Field, FieldKind};
use super::weighted::learner::{signs, two_classes};
use super::{Method, Plan, Problem, ProblemShape, Run, Settings, Spec};
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::model::logistic;
use crate::privacy::{Calibrated, Target};

static SPEC: Spec = Spec {
    id: "profiled_logistic",
    name: "Profiled logistic",
    summary: "Two classes told apart by public and private records together; every record's \
              weight follows its loss, and noise goes on the private part of the gradient.",
    task: Task::Classification,
    needs_private_labels: true,
    needs_public_labels: true,
    fields: &[
        Field {
            key: "alpha",
            name: "public share α",
            unit: "share of weight",
            help: "Largest total weight of the public records; the private records have the \
                   rest. Lower trusts the private data more, and needs more noise for it.",
            kind: FieldKind::Real { min: 0.01, max: 0.99, default: 0.1 },
        },
        Field {
            key: "threshold",
            name: "outlier threshold κ₁",
            unit: "loss",
            help: "Records whose logistic loss is larger lose weight. A record on the wrong side \
                   of the boundary has more than 0.69.",
            kind: FieldKind::Real { min: 0.01, max: 100.0, default: 2.0 },
        },
        Field {
            key: "clip",
            name: "clip",
            unit: "share of largest",
            help: "A private record's gradient is clipped to this share of the largest possible. \
                   Lower needs less noise and listens less to records that are badly wrong.",
            kind: FieldKind::Real { min: 0.01, max: 1.0, default: 0.5 },
        },
        Field {
            key: "steps",
            name: "steps T",
            unit: "gradients",
            help: "Noisy gradient steps. The noise per step grows with the square root of \
                   their number.",
            kind: FieldKind::Whole { min: 1, max: 2000, default: 50 },
        },
        BATCH,
        Field {
            key: "step_size",
            name: "step size η",
            unit: "",
            help: "Share of the preconditioned (Newton-like) step that is taken.",
            kind: FieldKind::Real { min: 0.01, max: 2.0, default: 0.5 },
        },
        Field {
            key: "pull",
            name: "pull ρ",
            unit: "times noise sd",
            help: "How strongly the model is held at the public solution, in units of the \
                   gradient's noise: the noisier the gradient, the stronger the pull.",
            kind: FieldKind::Real { min: 0.0, max: 1000.0, default: 0.3 },
        },
        Field {
            key: "damping",
            name: "damping",
            unit: "curvature",
            help: "Added to the public curvature that scales the steps. Private data may curve \
                   where the public ones are flat; without it, steps overshoot there.",
            kind: FieldKind::Real { min: 0.0, max: 10.0, default: 0.01 },
        },
        WEIGHTING_FIELD,
        Field {
            key: "public_penalty",
            name: "public penalty d̂",
            unit: "loss",
            help: "Added to the loss of every public record before it is weighted. It must be \
                   known without looking at the private data.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "ridge",
            name: "ridge",
            unit: "loss",
            help: "Ridge of the public solution that the run starts from.",
            kind: FieldKind::Real { min: 1e-9, max: 1.0, default: 1e-4 },
        },
        Field {
            key: "average",
            name: "averaged tail",
            unit: "share of steps",
            help: "The model is the mean of this share of the steps, counted from the last; \
                   0 takes the last step alone.",
            kind: FieldKind::Real { min: 0.0, max: 1.0, default: 0.5 },
        },
    ],
};

pub struct ProfiledLogistic;

impl Method for ProfiledLogistic {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn plan(
        &self,
        shape: &ProblemShape,
        public: &Dataset,
        _target: Target,
        settings: &Settings,
    ) -> Result<Plan> {
        shape.check(public, SPEC.task, SPEC.needs_private_labels)?;
        two_classes(public)?;
        plan(shape, settings)
    }

    fn start(
        &self,
        problem: Problem,
        settings: &Settings,
        noise: &Calibrated,
    ) -> Result<Box<dyn Run>> {
        problem.check(SPEC.task, SPEC.needs_private_labels)?;
        let Problem { shape, public, private, .. } = problem;
        let sigma = plan(&shape, settings)?.scale(noise, GRADIENT)?;
        let labels = signs(&public)?;
        let ridge = settings.number("ridge")?;
        let start =
            logistic::ridge_solution(&public.features, &labels, ridge).ok_or_else(|| {
                Error::failed(format!("'{}' determines no logistic model", public.name))
                    .cure("raise the ridge, or drop columns that say the same")
            })?;
        let curvature = logistic::hessian(&public.features, &start);
        let motion = Motion {
            pull: settings.number("pull")? * sigma,
            damping: settings.number("damping")?,
            step_size: settings.number("step_size")?,
        };
        let profile = profile(&shape, settings)?;
        Ok(Box::new(Adaptation {
            steps: settings.whole("steps")?,
            average: settings.number("average")?,
            batches: Batches::of(&shape, settings)?,
            shape,
            profile,
            penalty: None,
            public: Records::new(public, labels),
            private: private.into_usable(|data| {
                let data = data.into_dataset();
                let signs = signs(&data).map_err(|_| UNLABELLED)?;
                Ok(Records::new(data, signs))
            })?,
            descent: Descent::new(start, &curvature, motion)?,
            model: None,
        }))
    }
}

fn profile(shape: &ProblemShape, settings: &Settings) -> Result<Profile> {
    Ok(Profile {
        loss: Loss::Logistic,
        alpha: settings.number("alpha")?,
        kappa: settings.number("threshold")?,
        penalty: settings.number("public_penalty")?,
        clip: settings.number("clip")? * shape.bounds.feature_norm,
        pooled: settings.text("weighting")? == "pooled",
    })
}

fn plan(shape: &ProblemShape, settings: &Settings) -> Result<Plan> {
    let batches = Batches::of(shape, settings)?;
    Ok(batches.plan(&profile(shape, settings)?, shape, settings.whole("steps")?, 1.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::adapt::{Series, example};
    use crate::numeric::Vector;
    use crate::study::{Noise, Rehearsal};

    fn settings() -> Settings {
        SPEC.check(&BTreeMap::new()).unwrap()
    }

    #[test]
    fn with_a_fair_budget_it_classifies_private_records_better_than_the_public_model() {
        let (_, public, private) = example::two_classes(6, 1500, 3000, 2);
        let wrong = |model: &crate::model::Model| {
            let classes = model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one != other).count()
        };
        let done = Rehearsal {
            method: SPEC.id,
            settings: BTreeMap::new(),
            public: &public,
            private: &private,
            noise: Noise::For(Target { epsilon: 1.0, delta: 1e-5 }),
            seed: 1,
        };
        let done = done.run().unwrap();
        let signs = signs(&public).unwrap();
        let source = logistic::ridge_solution(&public.features, &signs, 1e-4).unwrap();
        let source = crate::model::Model::Logistic(source.into());
        let (ours, theirs) = (wrong(&done.model), wrong(&source));
        assert!((ours as f64) < 0.9 * theirs as f64, "{ours} {theirs}");
        let loss = done.series(Series::PrivateLoss);
        assert!(loss.last().unwrap().1 < loss[0].1);
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_the_gradient_by_more_than_the_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 6),
            w in proptest::collection::vec(-9.0..9.0_f64, 3),
        ) {
            let (shape, _, private) = example::two_classes(3, 10, 25, 5);
            let (profile, w) = (profile(&shape, &settings()).unwrap(), Vector::from_vec(w));
            let with = |x: &[f64], class: u32| {
                let mut data = private.clone();
                data.features.set_column(0, &Vector::from_column_slice(x));
                data.classes.as_mut().unwrap().of[0] = class;
                let records = Records::new(data.clone(), signs(&data).unwrap());
                profile.private(&records, 25).pass(&w).gradient
            };
            let moved = (with(&x[..3], 0) - with(&x[3..], 1)).norm();
            prop_assert!(moved <= profile.sensitivity(&shape));
        }
    }
}
