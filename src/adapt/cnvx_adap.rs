//! CnvxAdap as published: linear regression with a learned weight for every record.
//!
//! Noisy projected gradient descent on F of [`super::weighted::objective`], over
//! ‖w‖ ≤ Λ and all weights; squared loss. B = (rΛ + y_max)², G = 2r(rΛ + y_max).
//!
//! *As printed*: w starts at 0 and the weights at their largest, η_w = Λ/(G√T), and in u
//! η = 1/(√(TN)·c²·(B + \[public\]·B + κ₁ + κ₂ + κ_∞)) for each block of N records; a step η in
//! u is one of c²η in v. With many records that hardly moves a weight, and the printed noise
//! is many times the gradient: it is here to be reproduced.
//!
//! *Rigorous*: noise from the accountant, w starts at the public solution, steps in
//! units of the curvature of each block.

use super::baseline::{DEFAULT_RIDGE, ridge_solution};
use super::plan::GRADIENT;
use super::spec::{Field, FieldKind};
use super::weighted::descent::{Descent, Pace, WEIGHTS, releases};
use super::weighted::learner::{Largest, Learner, Records};
use super::weighted::objective::{Caps, Pulls, Weights, into_ball};
use super::weighted::{MODE_FIELD, Mode, WEIGHTS_SHARE_FIELD};
use super::{Method, Plan, Problem, ProblemShape, Run, Settings, Spec};
use crate::data::{Dataset, Task};
use crate::error::Result;
use crate::numeric::Vector;
use crate::privacy::{Calibrated, Target};

static SPEC: Spec = Spec {
    id: "cnvx_adap",
    name: "CnvxAdap",
    summary: "Linear regression with a learned weight for every public and private record, as \
              published; noise on the gradient of the model and on that of every weight.",
    task: Task::Regression,
    needs_private_labels: true,
    needs_public_labels: true,
    fields: &[
        MODE_FIELD,
        Field {
            key: "alpha",
            name: "public share α",
            unit: "share of weight",
            help: "Largest total weight of the public records; the private records have the \
                   rest.",
            kind: FieldKind::Real { min: 0.01, max: 0.99, default: 0.1 },
        },
        Field {
            key: "kappa_1",
            name: "κ₁",
            unit: "squared loss",
            help: "Price of taking weight from a record: losses above it lose weight.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.1 },
        },
        Field {
            key: "kappa_2",
            name: "κ₂",
            unit: "squared loss",
            help: "Price of uneven weights: strength of their Euclidean norm.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "kappa_inf",
            name: "κ∞",
            unit: "squared loss",
            help: "Price of the largest weight.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "public_penalty",
            name: "public penalty d̂",
            unit: "squared loss",
            help: "Added to the loss of every public record. It must be known without looking \
                   at the private data.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "lambda",
            name: "radius Λ",
            unit: "norm of weights",
            help: "The model's weights stay in the ball of this radius. Noise grows with it. \
                   automatic takes the norm of the public solution, and twice that in \
                   as_printed, whose ball has to hold the private solution.",
            kind: FieldKind::Automatic { whole: false, max: 1e3 },
        },
        Field {
            key: "steps",
            name: "steps T",
            unit: "gradients",
            help: "Noisy gradient steps. The noise per step grows with the square root of \
                   their number.",
            kind: FieldKind::Whole { min: 1, max: 10_000, default: 60 },
        },
        Field {
            key: "step_size",
            name: "step size",
            unit: "over curvature",
            help: "Step of the model in rigorous mode, in units of 1/(2r²).",
            kind: FieldKind::Real { min: 1e-4, max: 2.0, default: 0.5 },
        },
        Field {
            key: "weight_step",
            name: "weight step",
            unit: "over curvature",
            help: "Step of the weights in rigorous mode, in units of 1/(2cB).",
            kind: FieldKind::Real { min: 0.0, max: 2.0, default: 0.01 },
        },
        WEIGHTS_SHARE_FIELD,
        Field {
            key: "average",
            name: "averaged tail",
            unit: "share of steps",
            help: "The model is the mean of this share of the steps, counted from the last. \
                   The published algorithm averages all.",
            kind: FieldKind::Real { min: 0.0, max: 1.0, default: 1.0 },
        },
    ],
};

pub struct CnvxAdap;

struct Setup {
    mode: Mode,
    pulls: Pulls,
    largest: Largest,
    caps: Caps,
    steps: u64,
    plan: Plan,
}

/// Λ: by public data alone, where it is not given.
///
/// The published bounds hold for a ball that has the private solution in it, which on real
/// data is up to one and a half times as long as the public one. Noise grows with Λ, though,
/// so a run that starts at the public solution does better with the least ball that holds it.
fn radius(shape: &ProblemShape, public: &Dataset, settings: &Settings) -> Result<f64> {
    let given = settings.number("lambda")?;
    if given > 0.0 {
        return Ok(given);
    }
    let lengths = match Mode::of(settings)? {
        Mode::Rigorous => 1.0,
        Mode::AsPrinted => 2.0,
    };
    let norm = ridge_solution(public, DEFAULT_RIDGE)?.norm();
    // Public labels that are all but zero leave what predicts the largest label.
    Ok((lengths * norm).max(shape.bounds.label / shape.bounds.feature_norm))
}

impl Setup {
    fn new(
        shape: &ProblemShape,
        public: &Dataset,
        target: Target,
        settings: &Settings,
    ) -> Result<Self> {
        let mode = Mode::of(settings)?;
        let alpha = settings.number("alpha")?;
        let radius = radius(shape, public, settings)?;
        let largest = Learner::Squared.largest(shape.bounds, radius);
        let caps = Caps::new(alpha, shape.public_records, shape.private_records);
        let steps = settings.whole("steps")?;
        let noise = mode.noise(settings, target, largest, caps, steps)?;
        let pulls = Pulls::Convex {
            total: settings.number("kappa_1")?,
            square: settings.number("kappa_2")?,
            largest: settings.number("kappa_inf")?,
        };
        let plan = Plan {
            releases: releases(Learner::Squared, shape, largest, alpha, steps, noise),
            steps,
            signal: (1.0 - alpha) * largest.gradient,
            warnings: vec![
                "the published algorithm spends noise on one number per private record in every \
                 step; profiled_cnvx_adap solves for the weights and needs none of it"
                    .to_owned(),
            ],
            explained: None,
        };
        Ok(Self { mode, pulls, largest, caps, steps, plan })
    }
}

impl Method for CnvxAdap {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn plan(
        &self,
        shape: &ProblemShape,
        public: &Dataset,
        target: Target,
        settings: &Settings,
    ) -> Result<Plan> {
        shape.check(public, SPEC.task, SPEC.needs_private_labels)?;
        Setup::new(shape, public, target, settings).map(|setup| setup.plan)
    }

    fn start(
        &self,
        problem: Problem,
        settings: &Settings,
        noise: &Calibrated,
    ) -> Result<Box<dyn Run>> {
        problem.check(SPEC.task, SPEC.needs_private_labels)?;
        let Problem { shape, public, private, .. } = problem;
        let setup = Setup::new(&shape, &public, noise.target, settings)?;
        setup.plan.scale(noise, GRADIENT)?;
        setup.plan.scale(noise, WEIGHTS)?;
        let Setup { mode, pulls, largest, caps, steps, .. } = setup;
        let (pace, start) = match mode {
            Mode::AsPrinted => {
                (printed_pace(largest, pulls, caps, steps), Vector::zeros(shape.dimension))
            }
            Mode::Rigorous => {
                let model =
                    settings.number("step_size")? / (2.0 * shape.bounds.feature_norm.powi(2));
                let weight = settings.number("weight_step")? / (2.0 * largest.loss);
                let pace = Pace {
                    model,
                    public: weight / caps.public,
                    private: weight / caps.private,
                    beta: 1.0 / model,
                };
                let mut start = ridge_solution(&public, DEFAULT_RIDGE)?;
                into_ball(&mut start, largest.radius);
                (pace, start)
            }
        };
        Ok(Box::new(Descent {
            learner: Learner::Squared,
            pulls,
            penalty: settings.number("public_penalty")?,
            largest,
            pace,
            steps,
            average: settings.number("average")?,
            public: Records::of(Learner::Squared, public)?,
            private: private.into_usable(|data| Records::private(Learner::Squared, data))?,
            weights: Weights::largest(caps),
            iterates: vec![start],
            model: None,
        }))
    }
}

/// The printed step sizes, those of the weights in units of v.
pub(super) fn printed_pace(largest: Largest, pulls: Pulls, caps: Caps, steps: u64) -> Pace {
    let root = |records: usize| (steps as f64 * records as f64).sqrt();
    let model = largest.radius / (largest.gradient * (steps as f64).sqrt());
    let (public, private) = (2.0 * largest.loss, largest.loss);
    Pace {
        model,
        public: 1.0 / (root(caps.public_records) * (public + pulls.strength())),
        private: 1.0 / (root(caps.private_records) * (private + pulls.strength())),
        beta: 1.0 / model,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::adapt::spec::Value;
    use crate::adapt::{Series, example};
    use crate::model::LinearModel;
    use crate::privacy::accountant::PlannedMechanism;
    use crate::study::{Noise, Rehearsal};

    fn rehearse(mode: &str, noise: Noise) -> (f64, f64, Vec<(f64, f64)>, f64) {
        let (_, public, private) = example::shifted(4, 300, 200, 3);
        let settings = BTreeMap::from([("mode".to_owned(), Value::Text(mode.to_owned()))]);
        let method = SPEC.id;
        let (public, private) = (&public, &private);
        let done = Rehearsal { method, settings, public, private, noise, seed: 1 }.run().unwrap();
        let error = |w: &LinearModel| {
            w.mean_squared_error(&private.features, private.target.as_ref().unwrap())
        };
        let crate::model::Model::Linear(model) = &done.model else { panic!() };
        let source = error(&ridge_solution(public, DEFAULT_RIDGE).unwrap().into());
        let proven = done.calibrated.guarantee.epsilon;
        (error(model), source, done.series(Series::ExactObjective), proven)
    }

    #[test]
    fn without_noise_the_rigorous_run_lowers_its_objective_and_the_private_error() {
        let (error, source, objective, _) = rehearse("rigorous", Noise::None(example::TARGET));
        assert!(error < 0.7 * source, "{error} {source}");
        assert!(objective.windows(2).all(|pair| pair[1].1 <= pair[0].1 + 1e-12));
    }

    #[test]
    fn the_printed_run_drowns_in_its_noise_and_the_accountant_says_what_that_proves() {
        let target = Target { epsilon: 1.0, delta: 0.01 };
        let (error, source, _, proven) = rehearse("as_printed", Noise::For(target));
        assert!(error > 3.0 * source, "{error} {source}");
        assert!(proven > 0.0 && proven < 1.0, "{proven}");
    }

    #[test]
    fn the_ball_is_as_wide_as_the_public_solution_or_twice_that_or_as_wide_as_told() {
        let (shape, mut public, _) = example::shifted(4, 300, 200, 3);
        let norm = ridge_solution(&public, DEFAULT_RIDGE).unwrap().norm();
        let of = |public: &Dataset, mode: &str, lambda: f64| {
            let given = BTreeMap::from([
                ("mode".to_owned(), Value::Text(mode.to_owned())),
                ("lambda".to_owned(), Value::Number(lambda)),
            ]);
            radius(&shape, public, &SPEC.check(&given).unwrap()).unwrap()
        };
        assert_eq!(of(&public, "as_printed", 0.0), 2.0 * norm);
        assert_eq!(of(&public, "rigorous", 0.0), norm.max(1.0));
        assert_eq!(of(&public, "rigorous", 0.3), 0.3);
        // Labels that say nothing leave a ball that predicts all labels within the bounds.
        public.target = Some(vec![0.0; public.len()]);
        assert_eq!(of(&public, "as_printed", 0.0), 1.0);
    }

    #[test]
    fn the_noise_is_for_the_ball_that_the_models_stay_in() {
        let (shape, public, _) = example::shifted(4, 300, 200, 3);
        for mode in ["rigorous", "as_printed"] {
            let given = BTreeMap::from([("mode".to_owned(), Value::Text(mode.to_owned()))]);
            let settings = SPEC.check(&given).unwrap();
            let plan = CnvxAdap.plan(&shape, &public, example::TARGET, &settings).unwrap();
            // Features and labels are at most 1; the private records share 1 − α = 0.9.
            let (error, cap) = (radius(&shape, &public, &settings).unwrap() + 1.0, 0.9 / 200.0);
            let wanted = [2.0 * cap * 2.0 * error, cap * error * error];
            for (release, wanted) in plan.releases.iter().zip(wanted) {
                let PlannedMechanism::Gaussian { l2_sensitivity, .. } = release.mechanism else {
                    panic!()
                };
                assert!((l2_sensitivity / wanted - 1.0).abs() < 1e-9, "{mode} {}", release.label);
            }
        }
    }
}
