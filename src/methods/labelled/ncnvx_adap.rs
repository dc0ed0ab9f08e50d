//! NCnvxAdap as published: classes, a learned weight for every record, any smooth loss.
//!
//! Noisy projected gradient descent on J of [`super::weighted::objective`] in the rescaled
//! weights, over ‖θ‖ ≤ Λ. With two classes the loss is the logistic one of a linear score or of a
//! network with one hidden layer; with more it is the softmax loss of linear scores. B and G are
//! those of [`super::weighted::learner`].
//!
//! *As printed*, for linear scores: one step 1/β̄ in u for all variables, with the β̄ of
//! [`printed_smoothness`]; printed noise; the result is one of all steps, chosen at random. The
//! measure shown is the norm of the gradient mapping at the scale β̄. A step in u moves weights by
//! 1/c² times less than one in v, so they stay where they are. The paper also releases d̂ for half
//! of ε; here d̂ is declared, and all of ε goes to the descent. *Rigorous*: noise from the
//! accountant, steps in units of the curvature of each block.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::cnvx_adap::{damping, private_pace};
use super::public_scores::{USUAL_RIDGE, public_solution};
use super::records::{LabelledRecords, several_classes};
use super::weighted::descent::{Pace, Refinement, ReturnedModel, WeightedDescent};
use super::weighted::learner::{Largest, Learner};
use super::weighted::objective::{Caps, Pulls, Weights, into_ball};
use super::weighted::{
    AsPublished, MODE_FIELD, PUBLIC_SHARE_FIELD, SOURCE_SIDE_FIELD, STEPS_FIELD, SourceSide,
    WEIGHTS_SHARE_FIELD, automatic_steps,
};
use crate::model::{logistic, network, softmax};
use crate::prelude::*;
use crate::privacy::openings::OpenPrivate;
use crate::sources::{SOURCE_WEIGHTS, SourceWeights};

/// Λ, if it is not given, is no less.
const LEAST_RADIUS: f64 = 10.0;

/// The stream of the seed that chooses the step that as_printed delivers.
const DRAWN_STEP: u64 = 1;

/// The number of public gradient steps at the start of a network.
const WARM_UP: usize = 200;

choices! {
    pub enum ModelKind { Linear = "linear", Network = "network" }
}

static SPEC: Spec = Spec {
    id: "ncnvx_adap",
    name: "classes, a weight per record",
    paper: "NCnvxAdap",
    summary: "Classes told apart by linear scores, or two of them by a small network, with a \
              learned weight for every public and private record, as published.",
    line: "as published; for comparisons",
    task: Task::Classification,
    fields: NcnvxAdapSettings::FIELDS,
    tries: &[("lambda_1", &[0.3, 3.0]), ("alpha", &[0.1, 0.6])],
    place: 5,
    releases_each_record: true,
    most_features: Some(MOST_FEATURES),
    softmax_of_several: true,
    gap: Gap::GRADIENT_MAPPING,
    ..Spec::DEFAULT
};

settings! {
    struct NcnvxAdapSettings {
        mode: Mode = MODE_FIELD,
        model: ModelKind = ModelKind::or(ModelKind::Linear).named("model", "").help(
            "linear: a weighted sum of the features, for each class if there are more than two. \
             network: one hidden layer of tanh units, for two classes.",
        ),
        units: u64 = whole(1, 1000, 4).named("hidden units", "").help(
            "Units of the network's hidden layer. Each adds as many numbers to be noised as \
             there are features.",
        ),
        alpha: f64 = PUBLIC_SHARE_FIELD.by_default(0.3),
        lambda_1: f64 = real(0.0, 100.0, 1.0).named("λ₁", "loss")
            .help("Price of taking weight from a record."),
        lambda_2: f64 = real(0.0, 100.0, 0.0).named("λ₂", "loss")
            .help("Price of uneven weights: strength of their Euclidean norm."),
        lambda_inf: f64 = real(0.0, 100.0, 0.0).named("λ∞", "loss")
            .help("Price of the largest weight, smoothed."),
        sharpness: f64 = real(1e-3, 1e6, 10.0).named("sharpness μ", "")
            .help("How closely the smoothed maximum of the weights follows the true one."),
        source: SourceSide = SOURCE_SIDE_FIELD,
        public_penalty: f64 = real(0.0, 100.0, 0.0).named("public penalty d̂", "loss").help(
            "Added to the loss of every record of the source. It must be known without looking \
             at the private data.",
        ),
        radius: Option<f64> = automatic(1e3).named("radius Λ", "norm of weights").help(
            "The model's parameters stay in the ball of this radius. automatic takes twice the norm \
             of the public solution, and 10 at least; 10 for a network.",
        ),
        steps: Option<u64> = STEPS_FIELD,
        beta: f64 = real(1e-3, 1e6, 1.0).named("smoothness β̄", "")
            .help("Scale of the gradient mapping that is watched; as_printed has the paper's."),
        step_size: f64 = real(1e-4, 10.0, 0.5).named("step size", "of a Newton step").help(
            "Share of the step scaled by the public curvature that is taken in rigorous mode; of a \
             network, in units of 4/r².",
        ),
        damping: Option<f64> = automatic(10.0).named("damping", "curvature").help(
            "Added to the public curvature that scales the steps of the rigorous mode. Automatic \
             grows with the noise.",
        ),
        weight_step: f64 = real(0.0, 2.0, 0.01).named("weight step", "over curvature").help(
            "Step of the private weights in rigorous mode, in units of 1/(2c(B + λ₁)). It is \
             shortened where the noise of all steps would move a weight by more than a tenth.",
        ),
        weights_share: f64 = WEIGHTS_SHARE_FIELD,
        source_weights: SourceWeights = SOURCE_WEIGHTS,
    }
}

/// The method of this module.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

/// Λ of linear scores: twice the norm of the public solution, if it is not given, so that the ball
/// holds the private one. That grows with the number of records and with how well classes can be told
/// apart: a ball of 10 had less right answers on Adult than private data alone.
pub fn radius(public: &Vector, given: Option<f64>) -> f64 {
    given.unwrap_or_else(|| (2.0 * public.norm()).max(LEAST_RADIUS))
}

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let given = settings;
    let settings = NcnvxAdapSettings::of(given)?;
    let NcnvxAdapSettings { mode, alpha, .. } = settings;
    let own =
        ["model", "beta", "step_size", "damping", "weight_step", "weights_share", "source_weights"];
    mode.fixes(&SPEC, given, &own)?;
    let sources = settings.source_weights.sources(&problem.public)?;
    let shape = &problem.shape;
    let learner = match (several_classes(&problem.public)?, settings.model) {
        (2, ModelKind::Linear) => Learner::Logistic,
        (2, ModelKind::Network) => Learner::Network { units: settings.units as usize },
        (classes, ModelKind::Linear) => Learner::Softmax { classes },
        (classes, ModelKind::Network) => {
            return Err(Error::usage(format!(
                "the data have {classes} classes, and the network tells two apart"
            ))
            .cure("choose model: \"linear\""));
        }
    };
    let alone = match learner {
        Learner::Network { .. } => Vector::zeros(0),
        _ => problem.public.once("linear scores", USUAL_RIDGE, public_solution)?,
    };
    let largest = learner.largest(shape.bounds, radius(&alone, settings.radius));
    let parameters = learner.parameters(shape.dimension);
    let steps = settings
        .steps
        .unwrap_or_else(|| automatic_steps(mode, shape.private_records, parameters, target));
    let weights_share = settings.weights_share;
    let (share, better) = (1.0, "profiled_logistic");
    let method = AsPublished { mode, alpha, weights_share, share, steps, better };
    let (mut plan, releases, caps) = method.plan(learner, shape, largest, target);
    let pulls = Pulls {
        total: settings.lambda_1,
        square: settings.lambda_2,
        largest: settings.lambda_inf,
        sharpness: Some(settings.sharpness),
    };
    let theory = method.theory(learner, shape, largest, pulls.strength(), target);
    let network = matches!(learner, Learner::Network { .. });
    let norm = shape.bounds.feature_norm;
    let smoothness = (!network)
        .then(|| printed_smoothness(settings, learner.curvature() * norm.powi(2), largest, caps));
    plan.theory = theory.says_of_smooth(
        steps,
        (smoothness, largest_objective(settings, largest, caps)),
        learner == Learner::Logistic,
    );
    let start: Start = Box::new(move |private, noise| {
        let seed = problem.seed;
        let public = LabelledRecords::of(learner, problem.public.shared())?;
        let mut first = match learner {
            Learner::Network { units } => first_network(units, &public, largest.radius, seed),
            _ => alone,
        };
        into_ball(&mut first, largest.radius);
        let noise = releases.noise(noise)?;
        let refined = match mode {
            Mode::AsPrinted => None,
            Mode::Rigorous => {
                let length = noise.0 * (first.len() as f64).sqrt();
                let square = learner.curvature() * norm.powi(2);
                let NcnvxAdapSettings { step_size, .. } = settings;
                let damping = settings
                    .damping
                    .unwrap_or_else(|| damping(square, step_size, steps, length, largest.radius));
                Some(refinement(learner, &public, &first, damping)?)
            }
        };
        Ok(Box::new(WeightedDescent {
            releases,
            learner,
            pulls,
            penalty: settings.public_penalty,
            source: settings.source,
            released_penalty: None,
            largest,
            pace: pace(settings, learner, largest, pulls, caps, norm, (noise.1, steps)),
            refined,
            steps,
            returned: match (mode, learner) {
                (Mode::AsPrinted, _) => {
                    let mut generator = ChaCha20Rng::seed_from_u64(seed);
                    generator.set_stream(DRAWN_STEP);
                    ReturnedModel::Step(generator.random_range(1..=steps))
                }
                // The mean of two good networks may be a bad one.
                (Mode::Rigorous, Learner::Network { .. }) => ReturnedModel::Tail(0.0),
                (Mode::Rigorous, _) => ReturnedModel::Tail(0.5),
            },
            public,
            private: private.map_usable(|data| LabelledRecords::private(learner, data))?,
            weights: Weights::of_sources(caps, &sources),
            sources,
            iterates: vec![first],
            model: None,
        }))
    });
    Ok((plan, start))
}

fn pace(
    settings: NcnvxAdapSettings,
    learner: Learner,
    largest: Largest,
    pulls: Pulls,
    caps: Caps,
    norm: f64,
    (noise, steps): (f64, u64),
) -> Pace {
    match settings.mode {
        Mode::AsPrinted => {
            let beta =
                printed_smoothness(settings, learner.curvature() * norm.powi(2), largest, caps);
            let weights = |cap: f64| cap.powi(2) / beta;
            Pace {
                model: 1.0 / beta,
                public: weights(caps.public),
                private: weights(caps.private),
                beta,
            }
        }
        Mode::Rigorous => {
            let weight = settings.weight_step / (2.0 * (largest.loss + pulls.strength()));
            let unit = match learner {
                Learner::Network { .. } => learner.curvature() * norm.powi(2),
                _ => 1.0,
            };
            Pace {
                model: settings.step_size / unit,
                public: weight / caps.public,
                private: private_pace(weight / caps.private, steps, noise),
                beta: settings.beta,
            }
        }
    }
}

/// The public curvature at the first model, for linear scores.
fn refinement(
    learner: Learner,
    public: &LabelledRecords<Doubles>,
    first: &Vector,
    damping: f64,
) -> Result<Refinement> {
    let features = &public.data().features;
    let curvature = match learner {
        Learner::Network { .. } => return Ok(Refinement::default()),
        Learner::Softmax { classes } => softmax::curvatures(features, classes, first),
        Learner::Squared | Learner::Logistic => vec![logistic::hessian(features, first)],
    };
    Refinement::new(curvature, damping)
}

/// β̄ of Lemma 5.1, from its proof: the loss has a `curvature` of at most r²/4 for a linear score and
/// two classes, r²/2 for a softmax, and the other terms are those of the weights, in u.
fn printed_smoothness(
    settings: NcnvxAdapSettings,
    curvature: f64,
    largest: Largest,
    caps: Caps,
) -> f64 {
    let NcnvxAdapSettings { alpha, lambda_1, lambda_2, lambda_inf, sharpness, .. } = settings;
    let (m, n) = (caps.public_records as f64, caps.private_records as f64);
    let block = |share: f64, loss: f64, own: f64, others: f64| {
        let cube = share.powi(3);
        lambda_2 * cube / own.powi(2)
            + 2.0 * cube * ((loss - lambda_1).abs() + lambda_2 * others.sqrt() + lambda_inf)
                / own.powf(2.5)
            + lambda_inf * sharpness * share.powi(4) * (own.powi(-3) + own.powf(-3.5))
    };
    let rest = 1.0 - alpha;
    // The losses of the source are up to B larger, by d̂.
    let (of_public, of_private) = settings.source.split(largest.loss);
    let weights = block(alpha, largest.loss + of_public, m, n)
        + block(rest, largest.loss + of_private, n, m)
        + 2.0 * lambda_inf * sharpness * (alpha * rest).powi(2) / (m * n).powf(1.5);
    let mixed = alpha.powi(2) / m.powf(1.5) + rest.powi(2) / n.powf(1.5);
    curvature + weights + largest.gradient * mixed
}

/// M of theorem 5.2: no value of J is larger.
fn largest_objective(settings: NcnvxAdapSettings, largest: Largest, caps: Caps) -> f64 {
    let NcnvxAdapSettings { lambda_1, lambda_2, lambda_inf, .. } = settings;
    let roots = caps.public * (caps.public_records as f64).sqrt()
        + caps.private * (caps.private_records as f64).sqrt();
    2.0 * largest.loss + lambda_1 + lambda_2 * roots + lambda_inf * caps.public.max(caps.private)
}

/// A network after some steps on the public data, inside the ball.
fn first_network(
    units: usize,
    public: &LabelledRecords<Doubles>,
    radius: f64,
    seed: u64,
) -> Vector {
    let features = &public.data.features;
    let mut generator = ChaCha20Rng::seed_from_u64(seed);
    let mut theta = network::initial(features.dimension(), units, &mut generator);
    let share = 1.0 / features.count() as f64;
    for _ in 0..WARM_UP {
        let weights = std::iter::repeat(share);
        let learner = Learner::Network { units };
        theta -= public.pass(learner, &theta, weights, Largest::ANYTHING).gradient;
        into_ball(&mut theta, radius);
    }
    theta
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::{Bounded, Dataset};
    use crate::labelled::records::signs;
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::tape::{Departure, Draw};
    use crate::privacy::{Calibrated, Private, Spender, Watch};
    use crate::spec::Value;
    use crate::trial::{RehearsalNoise, Trial, Tried};
    use crate::{Series, example};

    fn rehearse(settings: &[(&str, &str)], noise: RehearsalNoise) -> (Tried, Dataset, Dataset) {
        let (_, public, private) = example::two_classes(4, 300, 300, 3);
        let settings: BTreeMap<_, _> = settings
            .iter()
            .map(|(key, text)| ((*key).to_owned(), Value::Text((*text).to_owned())))
            .collect();
        let rehearsal = Trial { settings, ..Trial::new(SPEC.id, &public, &private, noise, 1) };
        (rehearsal.run().unwrap(), public, private)
    }

    fn wrong(model: &Model, data: &Dataset) -> f64 {
        let classes = model.classes(&data.features).unwrap();
        let truth = &data.classes.as_ref().unwrap().of;
        let wrong = classes.iter().zip(truth).filter(|(one, other)| one != other).count();
        wrong as f64 / truth.len() as f64
    }

    #[test]
    fn without_noise_both_models_descend_and_classify_better_than_the_public_one() {
        for model in ["linear", "network"] {
            let noise = RehearsalNoise::None(example::TARGET);
            let (done, public, private) = rehearse(&[("model", model)], noise);
            let signs = signs(&public).unwrap();
            let source = logistic::ridge_solution(&public.features, &signs, USUAL_RIDGE).unwrap();
            let source = Model::Logistic(source.into());
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
        let (done, ..) = rehearse(&[("mode", "as_printed")], RehearsalNoise::For(target));
        let proven = done.calibrated.guarantee().epsilon;
        assert!(proven > 0.0 && proven < 1.0, "{proven}");
    }

    /// Written again from the terms of the proof.
    #[test]
    fn the_printed_step_is_one_over_the_smoothness_of_the_paper() {
        let given = BTreeMap::from(
            [("lambda_1", 0.7), ("lambda_2", 0.2), ("lambda_inf", 0.4), ("sharpness", 3.0)]
                .map(|(key, number)| (key.to_owned(), Value::Number(number))),
        );
        let settings = NcnvxAdapSettings::of(&SPEC.check(&given).unwrap()).unwrap();
        let (a, m, n) = (0.3_f64, 40.0_f64, 25.0_f64);
        let largest = Largest { radius: 2.0, loss: 3.0, gradient: 1.5 };
        let ours = printed_smoothness(settings, 0.25, largest, Caps::new(a, 40, 25));
        let b = 1.0 - a;
        let public = 0.2 * a.powi(3) / (m * m)
            + 2.0 * a.powi(3) * ((6.0_f64 - 0.7).abs() + 0.2 * n.sqrt() + 0.4) / m.powf(2.5)
            + 0.4 * 3.0 * a.powi(4) * (1.0 / m.powi(3) + 1.0 / m.powf(3.5));
        let private = 0.2 * b.powi(3) / (n * n)
            + 2.0 * b.powi(3) * ((3.0_f64 - 0.7).abs() + 0.2 * m.sqrt() + 0.4) / n.powf(2.5)
            + 0.4 * 3.0 * b.powi(4) * (1.0 / n.powi(3) + 1.0 / n.powf(3.5));
        let both = 2.0 * 0.4 * 3.0 * a * a * b * b / (m.powf(1.5) * n.powf(1.5));
        let mixed = 1.5 * (a * a / m.powf(1.5) + b * b / n.powf(1.5));
        let printed = 0.25 + public + private + both + mixed;
        assert!((ours / printed - 1.0).abs() < 1e-12, "{ours} {printed}");
    }

    #[test]
    fn the_ball_holds_twice_the_public_solution_where_that_is_long() {
        let (shape, public, _) = example::two_classes(4, 300, 300, 3);
        let near = |radius: Option<f64>| {
            let given = radius.map(|radius| ("radius".to_owned(), Value::Number(radius)));
            let plan =
                example::plan(METHOD, &given.into_iter().collect(), &shape, &public).unwrap();
            let text = format!("{:?}", plan.releases[0]);
            let (_, rest) = text.split_once("Λ = ").unwrap();
            rest.split(',').next().unwrap().parse::<f64>().unwrap()
        };
        let alone =
            logistic::ridge_solution(&public.features, &signs(&public).unwrap(), USUAL_RIDGE);
        let alone = alone.unwrap();
        assert_eq!(near(None), format!("{:.4}", radius(&alone, None)).parse::<f64>().unwrap());
        assert_eq!(near(Some(3.0)), 3.0);
        let long = alone.normalize() * 21.0;
        assert!((radius(&long, None) - 42.0).abs() < 1e-9);
        assert_eq!(radius(&(long / 21.0), None), LEAST_RADIUS);
    }

    /// Public classes that are easily told apart make the ball long by themselves. A model at its end
    /// makes the losses largest, and neighbours on opposite sides attain both sensitivities.
    #[test]
    fn in_a_ball_longer_than_ten_opposite_records_attain_both_sensitivities_and_pass_neither() {
        let (mut shape, mut public, private) = example::two_classes(2, 300, 30, 3);
        let apart = public.features.column_iter().map(|x| u32::from(x[0] > 0.0)).collect();
        public.classes.as_mut().unwrap().of = apart;
        shape.bounds.feature_norm = 1.0;
        let alone =
            logistic::ridge_solution(&public.features, &signs(&public).unwrap(), USUAL_RIDGE);
        assert!(radius(&alone.unwrap(), None) > 1.5 * LEAST_RADIUS);
        let given = BTreeMap::from([("steps".to_owned(), Value::Number(3.0))]);
        let settings = SPEC.check(&given).unwrap();
        let prepare = || {
            METHOD.prepare(&settings, example::problem(&shape, &public), example::TARGET).unwrap()
        };
        let noise = Calibrated::of_rough_noise(&prepare().plan().releases, 1e-3, 0.5).unwrap();
        let play = |angle: f64, class: u32, before: Option<Vec<Draw>>| -> Vec<Draw> {
            let mut data = private.clone();
            data.features.set_column(0, &Vector::from_vec(vec![angle.cos(), angle.sin()]));
            data.classes.as_mut().unwrap().of[0] = class;
            let departure = Departure { before, ..Departure::default() };
            let mut spender = Spender::audited(&noise, 1, departure);
            let data = Private::new(Bounded::within(data, shape.bounds));
            let mut run = prepare().start(data, &noise).unwrap();
            run.drive(&mut spender, &Watch::sealed(), |_, _, _| Ok(())).unwrap();
            spender.into_draws()
        };
        // Released slopes that lead to the end of the ball, and leave the weights at their largest.
        let mut history = play(0.0, 0, None);
        for draw in &mut history {
            let slope = if draw.event == 0 { -1e6 } else { 0.0 };
            draw.released.fill(slope);
        }
        let angles = (0..72).map(|k| f64::from(k) * std::f64::consts::TAU / 72.0);
        let played: Vec<Vec<Draw>> = angles
            .flat_map(|angle| [0, 1].map(|class| play(angle, class, Some(history.clone()))))
            .collect();
        let mut attained = [0.0_f64; 2];
        for (k, one) in played.iter().enumerate() {
            for other in &played[..k] {
                for (a, b) in one.iter().zip(other) {
                    let query = &noise.events()[a.event].mechanism.query;
                    attained[a.event] = attained[a.event].max(a.moved(b, query));
                    assert!(!a.overreached, "{attained:?}");
                }
            }
        }
        assert!(attained.iter().all(|it| (0.95..=1.0).contains(it)), "{attained:?}");
    }

    #[test]
    fn as_printed_one_step_is_delivered_and_the_seed_names_it() {
        let noise = RehearsalNoise::None(example::TARGET);
        let model = |seed| {
            let (_, public, private) = example::two_classes(4, 300, 300, 3);
            let settings =
                BTreeMap::from([("mode".to_owned(), Value::Text("as_printed".to_owned()))]);
            let trial = Trial::new(SPEC.id, &public, &private, noise, seed);
            Trial { settings, ..trial }.run().unwrap().model
        };
        assert_eq!(model(1), model(1));
        assert!((2..6).any(|seed| model(seed) != model(1)));
    }

    #[test]
    fn three_classes_are_learned_and_a_network_or_a_single_class_is_refused() {
        let (shape, mut public, private) = example::three_classes(4, 300, 300, 3);
        let plan = |public: &Dataset, model: &str| {
            let given = BTreeMap::from([("model".to_owned(), Value::Text(model.to_owned()))]);
            example::plan(METHOD, &given, &shape, public)
        };
        let numbers = plan(&public, "linear").unwrap().releases[0].query.size;
        assert_eq!(numbers, 12);
        assert!(plan(&public, "network").unwrap_err().what().contains("3 classes"));
        let noise = RehearsalNoise::None(example::TARGET);
        let done = Trial::new(SPEC.id, &public, &private, noise, 1).run().unwrap();
        let of = &public.classes.as_ref().unwrap().of;
        let source = softmax::ridge_solution(&public.features, of, 3, USUAL_RIDGE).unwrap();
        let source = Learner::Softmax { classes: 3 }.model(4, &source).unwrap();
        let (ours, theirs) = (wrong(&done.model, &private), wrong(&source, &private));
        assert!(ours < theirs, "{ours} {theirs}");
        let objective = done.series(Series::ExactObjective);
        assert!(objective.last().unwrap().1 < objective[0].1);
        let classes = public.classes.as_mut().unwrap();
        classes.of.fill(1);
        assert!(plan(&public, "linear").unwrap_err().what().contains("one class"));
        public.classes = None;
        assert!(plan(&public, "linear").is_err());
    }
}
