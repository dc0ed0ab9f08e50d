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

use super::weighted::descent::{Descent, Pace};
use super::weighted::learner::{LabelledRecords, Largest, Learner, two_classes};
use super::weighted::objective::{Caps, Pulls, Weights, into_ball};
use super::weighted::{AsPublished, MODE_FIELD, WEIGHTS_SHARE_FIELD};
use crate::adapt::spec::{Setting, choices, real, settings, whole};
use crate::adapt::{MOST_FEATURES, Method, Mode, Plan, Problem, Settings, Spec, Start};
use crate::data::Task;
use crate::error::{Error, Result};
use crate::model::{logistic, network};
use crate::numeric::Vector;
use crate::privacy::Target;

/// Ridge of the public logistic solution that a linear run starts from.
const RIDGE: f64 = 1e-4;

/// Public gradient steps that a network starts with.
const WARM_UP: usize = 200;

choices! {
    pub enum ModelKind { Linear = "linear", Network = "network" }
}

static SPEC: Spec = Spec {
    id: "ncnvx_adap",
    name: "two classes, a weight per record",
    paper: "NCnvxAdap",
    summary: "Two classes, told apart by a linear score or a small network, with a learned \
              weight for every public and private record, as published.",
    task: Task::Classification,
    needs_private_labels: true,
    needs_public_labels: true,
    fields: NcnvxAdapSettings::FIELDS,
    tries: &[],
};

settings! {
    pub struct NcnvxAdapSettings {
        mode: Mode = MODE_FIELD,
        model: ModelKind = Setting {
            name: "model",
            unit: "",
            help: "linear: a weighted sum of the features. network: one hidden layer of tanh \
                   units.",
            kind: ModelKind::or(ModelKind::Linear),
        },
        units: u64 = Setting {
            name: "hidden units",
            unit: "",
            help: "Units of the network's hidden layer. Each adds as many numbers to be noised \
                   as there are features.",
            kind: whole(1, 1000, 4),
        },
        alpha: f64 = Setting {
            name: "public share α",
            unit: "share of weight",
            help: "Largest total weight of the public records; the private records have the \
                   rest.",
            kind: real(0.01, 0.99, 0.3),
        },
        lambda_1: f64 = Setting {
            name: "λ₁",
            unit: "loss",
            help: "Price of taking weight from a record.",
            kind: real(0.0, 100.0, 1.0),
        },
        lambda_2: f64 = Setting {
            name: "λ₂",
            unit: "loss",
            help: "Price of uneven weights: strength of their Euclidean norm.",
            kind: real(0.0, 100.0, 0.0),
        },
        lambda_inf: f64 = Setting {
            name: "λ∞",
            unit: "loss",
            help: "Price of the largest weight, smoothed.",
            kind: real(0.0, 100.0, 0.0),
        },
        sharpness: f64 = Setting {
            name: "sharpness μ",
            unit: "",
            help: "How closely the smoothed maximum of the weights follows the true one.",
            kind: real(1e-3, 1e6, 10.0),
        },
        public_penalty: f64 = Setting {
            name: "public penalty d̂",
            unit: "loss",
            help: "Added to the loss of every public record. It must be known without looking \
                   at the private data.",
            kind: real(0.0, 100.0, 0.0),
        },
        radius: f64 = Setting {
            name: "radius Λ",
            unit: "norm of weights",
            help: "The model's parameters stay in the ball of this radius.",
            kind: real(1e-3, 1e3, 10.0),
        },
        steps: u64 = Setting {
            name: "steps T",
            unit: "gradients",
            help: "Noisy gradient steps. The noise per step grows with the square root of \
                   their number.",
            kind: whole(1, 10_000, 60),
        },
        beta: f64 = Setting {
            name: "smoothness β̄",
            unit: "",
            help: "Scale of the gradient mapping that is watched, and one over the printed \
                   step.",
            kind: real(1e-3, 1e6, 1.0),
        },
        step_size: f64 = Setting {
            name: "step size",
            unit: "over curvature",
            help: "Step of the model in rigorous mode, in units of 4/r².",
            kind: real(1e-4, 10.0, 0.5),
        },
        weight_step: f64 = Setting {
            name: "weight step",
            unit: "over curvature",
            help: "Step of the weights in rigorous mode, in units of 1/(2c(B + λ₁)).",
            kind: real(0.0, 2.0, 0.01),
        },
        weights_share: f64 = WEIGHTS_SHARE_FIELD,
    }
}

pub struct NcnvxAdap;

impl Method for NcnvxAdap {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn most_features(&self) -> Option<usize> {
        Some(MOST_FEATURES)
    }

    fn plan(&self, settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
        let settings = NcnvxAdapSettings::of(settings)?;
        let NcnvxAdapSettings { mode, alpha, steps, .. } = settings;
        let shape = &problem.shape;
        two_classes(&problem.public)?;
        let learner = match settings.model {
            ModelKind::Linear => Learner::Logistic,
            ModelKind::Network => Learner::Network { units: settings.units as usize },
        };
        let largest = learner.largest(shape.bounds, settings.radius);
        let weights_share = settings.weights_share;
        let method = AsPublished { mode, alpha, weights_share, steps, better: "profiled_logistic" };
        let (plan, releases, caps) = method.plan(learner, shape, largest, target);
        let pulls = Pulls::Smooth {
            total: settings.lambda_1,
            square: settings.lambda_2,
            largest: settings.lambda_inf,
            sharpness: settings.sharpness,
        };
        let start: Start = Box::new(move |private, _| {
            let norm = problem.shape.bounds.feature_norm;
            let seed = problem.seed;
            let public = LabelledRecords::of(learner, problem.public.shared())?;
            let first = first(learner, &public, largest.radius, seed)?;
            Ok(Box::new(Descent {
                releases,
                learner,
                pulls,
                penalty: settings.public_penalty,
                largest,
                pace: pace(settings, largest, pulls, caps, norm),
                steps,
                // Networks are not averaged: the mean of two good ones may be a bad one.
                average: if learner == Learner::Logistic { 0.5 } else { 0.0 },
                public,
                private: private.map_usable(|data| LabelledRecords::private(learner, data))?,
                weights: Weights::largest(caps),
                iterates: vec![first],
                model: None,
            }))
        });
        Ok((plan, start))
    }
}

fn pace(
    settings: NcnvxAdapSettings,
    largest: Largest,
    pulls: Pulls,
    caps: Caps,
    norm: f64,
) -> Pace {
    let beta = settings.beta;
    match settings.mode {
        Mode::AsPrinted => {
            Pace { model: 1.0 / beta, public: 1.0 / beta, private: 1.0 / beta, beta }
        }
        Mode::Rigorous => {
            let weight = settings.weight_step / (2.0 * (largest.loss + pulls.strength()));
            Pace {
                model: settings.step_size * 4.0 / norm.powi(2),
                public: weight / caps.public,
                private: weight / caps.private,
                beta,
            }
        }
    }
}

/// A model of the public data alone, inside the ball.
fn first(learner: Learner, public: &LabelledRecords, radius: f64, seed: u64) -> Result<Vector> {
    let features = &public.data.features;
    let mut first = match learner {
        Learner::Network { units } => {
            let mut generator = ChaCha20Rng::seed_from_u64(seed);
            let mut theta = network::initial(features.nrows(), units, &mut generator);
            let share = 1.0 / features.ncols() as f64;
            for _ in 0..WARM_UP {
                let weights = std::iter::repeat(share);
                let slope = public.gradient(learner, &theta, weights, f64::INFINITY);
                theta -= slope;
                into_ball(&mut theta, radius);
            }
            theta
        }
        Learner::Squared | Learner::Logistic => {
            logistic::ridge_solution(features, &public.labels, RIDGE).ok_or_else(|| {
                Error::failed(format!(
                    "the public dataset '{}' determines no logistic model",
                    public.data.name
                ))
                .cure("drop columns that say the same")
            })?
        }
    };
    into_ball(&mut first, radius);
    Ok(first)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::adapt::spec::Value;
    use crate::adapt::{Series, example};
    use crate::data::Dataset;
    use crate::rehearsal::{Noise, Trial, Tried};

    fn rehearse(settings: &[(&str, &str)], noise: Noise) -> (Tried, Dataset, Dataset) {
        let (_, public, private) = example::two_classes(4, 300, 300, 3);
        let settings: BTreeMap<_, _> = settings
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Value::Text((*text).to_owned())))
            .collect();
        let rehearsal = Trial { settings, ..Trial::new(SPEC.id, &public, &private, noise, 1) };
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
            let signs = crate::adapt::labelled::weighted::learner::signs(&public).unwrap();
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
        let plan = |public: &Dataset| example::plan(&NcnvxAdap, &BTreeMap::new(), &shape, public);
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
