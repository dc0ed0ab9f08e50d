//! NCnvxAdap as published: two classes, a learned weight for every record, any smooth loss.
//!
//! Noisy projected gradient descent on J of [`super::weighted::objective`] in the rescaled
//! weights, with the logistic loss of a linear score or of a network with one hidden
//! layer, over ‖θ‖ ≤ Λ. B and G are those of [`super::weighted::learner`].
//!
//! *As printed*: one step 1/β̄ for all variables, printed noise, and what is watched is the
//! gradient mapping norm at the scale β̄. *Rigorous*: noise from the accountant, steps in
//! units of the curvature of each block.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::plan::GRADIENT;
use super::spec::{Field, FieldKind};
use super::weighted::descent::{Descent, Pace, WEIGHTS, releases};
use super::weighted::learner::{Largest, Learner, Records};
use super::weighted::objective::{Caps, Pulls, Weights, into_ball};
use super::weighted::{MODE_FIELD, Mode, WEIGHTS_SHARE_FIELD};
use super::{Method, Plan, Problem, ProblemShape, Run, Settings, Spec};
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::model::{logistic, network};
use crate::numeric::Vector;
use crate::privacy::{Calibrated, Target};

/// Ridge of the public logistic solution that a linear run starts from.
const RIDGE: f64 = 1e-4;

/// Public gradient steps that a network starts with.
const WARM_UP: usize = 200;

static SPEC: Spec = Spec {
    id: "ncnvx_adap",
    name: "NCnvxAdap",
    summary: "Two classes, told apart by a linear score or a small network, with a learned \
              weight for every public and private record, as published.",
    task: Task::Classification,
    needs_private_labels: true,
    needs_public_labels: true,
    fields: &[
        MODE_FIELD,
        Field {
            key: "model",
            name: "model",
            unit: "",
            help: "linear: a weighted sum of the features. network: one hidden layer of tanh \
                   units.",
            kind: FieldKind::Choice { options: &["linear", "network"], default: "linear" },
        },
        Field {
            key: "units",
            name: "hidden units",
            unit: "",
            help: "Units of the network's hidden layer. Each adds as many numbers to be noised \
                   as there are features.",
            kind: FieldKind::Whole { min: 1, max: 1000, default: 4 },
        },
        Field {
            key: "alpha",
            name: "public share α",
            unit: "share of weight",
            help: "Largest total weight of the public records; the private records have the \
                   rest.",
            kind: FieldKind::Real { min: 0.01, max: 0.99, default: 0.3 },
        },
        Field {
            key: "lambda_1",
            name: "λ₁",
            unit: "loss",
            help: "Price of taking weight from a record.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 1.0 },
        },
        Field {
            key: "lambda_2",
            name: "λ₂",
            unit: "loss",
            help: "Price of uneven weights: strength of their Euclidean norm.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "lambda_inf",
            name: "λ∞",
            unit: "loss",
            help: "Price of the largest weight, smoothed.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "sharpness",
            name: "sharpness μ",
            unit: "",
            help: "How closely the smoothed maximum of the weights follows the true one.",
            kind: FieldKind::Real { min: 1e-3, max: 1e6, default: 10.0 },
        },
        Field {
            key: "public_penalty",
            name: "public penalty d̂",
            unit: "loss",
            help: "Added to the loss of every public record. It must be known without looking \
                   at the private data.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.0 },
        },
        Field {
            key: "radius",
            name: "radius Λ",
            unit: "norm of weights",
            help: "The model's parameters stay in the ball of this radius.",
            kind: FieldKind::Real { min: 1e-3, max: 1e3, default: 10.0 },
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
            key: "beta",
            name: "smoothness β̄",
            unit: "",
            help: "Scale of the gradient mapping that is watched, and one over the printed \
                   step.",
            kind: FieldKind::Real { min: 1e-3, max: 1e6, default: 1.0 },
        },
        Field {
            key: "step_size",
            name: "step size",
            unit: "over curvature",
            help: "Step of the model in rigorous mode, in units of 4/r².",
            kind: FieldKind::Real { min: 1e-4, max: 10.0, default: 0.5 },
        },
        Field {
            key: "weight_step",
            name: "weight step",
            unit: "over curvature",
            help: "Step of the weights in rigorous mode, in units of 1/(2c(B + λ₁)).",
            kind: FieldKind::Real { min: 0.0, max: 2.0, default: 0.01 },
        },
        WEIGHTS_SHARE_FIELD,
    ],
};

pub struct NcnvxAdap;

struct Setup {
    mode: Mode,
    learner: Learner,
    pulls: Pulls,
    largest: Largest,
    caps: Caps,
    steps: u64,
    plan: Plan,
}

impl Setup {
    fn new(shape: &ProblemShape, target: Target, settings: &Settings) -> Result<Self> {
        let mode = Mode::of(settings)?;
        let learner = match settings.text("model")? {
            "network" => Learner::Network { units: settings.whole("units")? as usize },
            _ => Learner::Logistic,
        };
        let alpha = settings.number("alpha")?;
        let radius = settings.number("radius")?;
        let largest = learner.largest(shape.bounds, radius);
        let caps = Caps::new(alpha, shape.public_records, shape.private_records);
        let steps = settings.whole("steps")?;
        let noise = mode.noise(settings, target, largest, caps, steps)?;
        let pulls = Pulls::Smooth {
            total: settings.number("lambda_1")?,
            square: settings.number("lambda_2")?,
            largest: settings.number("lambda_inf")?,
            sharpness: settings.number("sharpness")?,
        };
        let plan = Plan {
            releases: releases(learner, shape, largest, alpha, steps, noise),
            steps,
            signal: (1.0 - alpha) * largest.gradient,
            warnings: vec![
                "the published algorithm spends noise on one number per private record in every \
                 step; profiled_logistic solves for the weights and needs none of it"
                    .to_owned(),
            ],
            explained: None,
        };
        Ok(Self { mode, learner, pulls, largest, caps, steps, plan })
    }

    fn pace(&self, settings: &Settings, norm: f64) -> Result<Pace> {
        let beta = settings.number("beta")?;
        Ok(match self.mode {
            Mode::AsPrinted => {
                Pace { model: 1.0 / beta, public: 1.0 / beta, private: 1.0 / beta, beta }
            }
            Mode::Rigorous => {
                let curvature = 2.0 * (self.largest.loss + self.pulls.strength());
                let weight = settings.number("weight_step")? / curvature;
                Pace {
                    model: settings.number("step_size")? * 4.0 / norm.powi(2),
                    public: weight / self.caps.public,
                    private: weight / self.caps.private,
                    beta,
                }
            }
        })
    }

    /// A model of the public data alone, inside the ball.
    fn start(&self, public: &Records, seed: u64) -> Result<Vector> {
        let features = &public.data.features;
        let mut start = match self.learner {
            Learner::Network { units } => {
                let mut generator = ChaCha20Rng::seed_from_u64(seed);
                let mut theta = network::initial(features.nrows(), units, &mut generator);
                let share = 1.0 / features.ncols() as f64;
                for _ in 0..WARM_UP {
                    let weights = std::iter::repeat(share);
                    let slope = public.gradient(self.learner, &theta, weights, f64::INFINITY);
                    theta -= slope;
                    into_ball(&mut theta, self.largest.radius);
                }
                theta
            }
            _ => logistic::ridge_solution(features, &public.labels, RIDGE).ok_or_else(|| {
                Error::failed(format!(
                    "the public dataset '{}' determines no logistic model",
                    public.data.name
                ))
                .cure("drop columns that say the same")
            })?,
        };
        into_ball(&mut start, self.largest.radius);
        Ok(start)
    }
}

impl Method for NcnvxAdap {
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
        let setup = Setup::new(shape, target, settings)?;
        super::weighted::learner::two_classes(public)?;
        Ok(setup.plan)
    }

    fn start(
        &self,
        problem: Problem,
        settings: &Settings,
        noise: &Calibrated,
    ) -> Result<Box<dyn Run>> {
        problem.check(SPEC.task, SPEC.needs_private_labels)?;
        let Problem { shape, public, private, seed } = problem;
        let setup = Setup::new(&shape, noise.target, settings)?;
        setup.plan.scale(noise, GRADIENT)?;
        setup.plan.scale(noise, WEIGHTS)?;
        let learner = setup.learner;
        let public = Records::of(learner, public)?;
        let start = setup.start(&public, seed)?;
        Ok(Box::new(Descent {
            learner,
            pulls: setup.pulls,
            penalty: settings.number("public_penalty")?,
            largest: setup.largest,
            pace: setup.pace(settings, shape.bounds.feature_norm)?,
            steps: setup.steps,
            // Networks are not averaged: the mean of two good ones may be a bad one.
            average: if learner == Learner::Logistic { 0.5 } else { 0.0 },
            public,
            private: private.into_usable(|data| Records::private(learner, data))?,
            weights: Weights::largest(setup.caps),
            iterates: vec![start],
            model: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::adapt::spec::Value;
    use crate::adapt::{Series, example};
    use crate::study::{Noise, Rehearsal, Rehearsed};

    fn rehearse(settings: &[(&str, &str)], noise: Noise) -> (Rehearsed, Dataset, Dataset) {
        let (_, public, private) = example::two_classes(4, 300, 300, 3);
        let settings: BTreeMap<_, _> = settings
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Value::Text((*text).to_owned())))
            .collect();
        let rehearsal = Rehearsal {
            method: SPEC.id,
            settings,
            public: &public,
            private: &private,
            noise,
            seed: 1,
        };
        (rehearsal.run().unwrap(), public, private)
    }

    fn wrong(model: &crate::model::Model, data: &Dataset) -> f64 {
        let classes = model.classes(&data.features).unwrap();
        let truth = &data.classes.as_ref().unwrap().of;
        let wrong = classes.iter().zip(truth).filter(|(one, other)| one != other).count();
        wrong as f64 / truth.len() as f64
    }

    #[test]
    fn without_noise_both_models_descend_and_classify_better_than_the_public_one() {
        for model in ["linear", "network"] {
            let noise = Noise::None(example::TARGET);
            let (done, public, private) = rehearse(&[("model", model)], noise);
            let signs = super::super::weighted::learner::signs(&public).unwrap();
            let source = logistic::ridge_solution(&public.features, &signs, RIDGE).unwrap();
            let source = crate::model::Model::Logistic(source.into());
            let (ours, theirs) = (wrong(&done.model, &private), wrong(&source, &private));
            assert!(ours < theirs, "{model} {ours} {theirs}");
            let objective = done.series(Series::ExactObjective);
            assert!(objective.last().unwrap().1 < objective[0].1);
            let gap = done.series(Series::ExactStationarityGap);
            assert!(gap.last().unwrap().1 < gap[0].1, "{model}");
        }
    }

    #[test]
    fn printed_noise_proves_less_than_it_claims_to_cost() {
        let target = Target { epsilon: 1.0, delta: 1e-5 };
        let (done, ..) = rehearse(&[("mode", "as_printed")], Noise::For(target));
        let proven = done.calibrated.guarantee.epsilon;
        assert!(proven > 0.0 && proven < 1.0, "{proven}");
    }

    #[test]
    fn three_classes_and_a_single_one_are_refused() {
        let (shape, mut public, _) = example::two_classes(4, 60, 60, 3);
        let settings = SPEC.check(&BTreeMap::new()).unwrap();
        let plan = |public: &Dataset| NcnvxAdap.plan(&shape, public, example::TARGET, &settings);
        plan(&public).unwrap();
        let classes = public.classes.as_mut().unwrap();
        classes.of.fill(1);
        assert!(plan(&public).unwrap_err().what().contains("one class"));
        public.classes.as_mut().unwrap().names.push("third".to_owned());
        assert!(plan(&public).unwrap_err().what().contains("3 classes"));
        public.classes = None;
        assert!(plan(&public).is_err());
    }
}
