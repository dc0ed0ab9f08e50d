//! CnvxAdap as published: linear regression with a learned weight for every record.
//!
//! Noisy projected gradient descent on F of [`super::weighted::objective`], over
//! ‖w‖ ≤ Λ and all weights; squared loss. B = (rΛ + y_max)², G = 2r(rΛ + y_max).
//!
//! *As printed*: w starts at 0 and the weights at their largest values. The steps depend on the
//! noise, σ₁ of an entry of the gradient and σ₂ of a slope in u: η_w = Λ/√(T(G² + dσ₁²)), for the m
//! public records m^{3/2}/(√T·α²(B + B̄)) and for the n private ones n^{3/2}/√(T((1 − α)⁴B̄² +
//! n⁴σ₂²)), with B̄ = B + κ₁ + κ₂ + κ_∞. All steps are averaged. A step η in u is one of c²η in v.
//! With many records this hardly moves a weight, and the printed noise is many times the gradient.
//! This mode exists to reproduce the paper. The printed noise of the descent leaves half of ε to d̂,
//! over all models of the ball, with Laplace noise of scale 2B/(εn): `penalty_from: "released"`. A
//! declared d̂ costs nothing.
//!
//! *Rigorous*: noise from the accountant, w starts at the public solution, and the descent is refined
//! as [`super::weighted::descent`] explains: gradients are clipped where the best weights bound them,
//! public weights are solved for, and steps are scaled by the public curvature. The damping of this
//! scale grows with the noise, so that directions in which the noise is larger than the ball are left
//! as they are. d̂ can be released, as in [`super::profiled_cnvx_adap`]:
//! [`super::labelled_discrepancy`] has its sensitivity.

use super::penalty::{
    PenaltyFrom, PenaltyNoise, PenaltySource, RADIUS_FIELD, SHARE_FIELD, SOURCE_FIELD,
};
use super::records::LabelledRecords;
use super::weighted::descent::{Pace, Refinement, ReturnedModel, WeightedDescent};
use super::weighted::learner::{Largest, Learner};
use super::weighted::objective::{Caps, Pulls, Weights, into_ball};
use super::weighted::{
    AsPublished, MODE_FIELD, PUBLIC_SHARE_FIELD, SOURCE_SIDE_FIELD, STEPS_FIELD, SourceSide,
    WEIGHTS_SHARE_FIELD, automatic_steps,
};
use crate::baselines::reference::{DEFAULT_RIDGE, ridge_solution};
use crate::data::Bounds;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::prelude::*;
use crate::privacy::openings::OpenPrivate;
use crate::sources::{SOURCE_WEIGHTS, SourceWeights};

/// The damping without noise, over r².
const LEAST_DAMPING: f64 = 0.02;
/// How far the noise of all steps may move the v of a private record, which is 1 at first.
const MOST_WANDERING: f64 = 0.1;

static SPEC: Spec = Spec {
    id: "cnvx_adap",
    name: "linear, a weight per record",
    paper: "CnvxAdap",
    summary: "Linear regression with a learned weight for every public and private record, as \
              published; noise on the gradient of the model and on that of every weight.",
    line: "as published; for comparisons",
    task: Task::Regression,
    fields: CnvxAdapSettings::FIELDS,
    tries: &[("kappa_1", &[0.03, 0.3]), ("alpha", &[0.03, 0.3])],
    place: 5,
    releases_each_record: true,
    most_features: Some(MOST_FEATURES),
    variants: &[("released penalty", "penalty_from", "released")],
    gap: Gap::GRADIENT_MAPPING,
    ..Spec::DEFAULT
};

settings! {
    struct CnvxAdapSettings {
        mode: Mode = MODE_FIELD,
        alpha: f64 = PUBLIC_SHARE_FIELD,
        kappa_1: f64 = real(0.0, 100.0, 0.1).named("κ₁", "squared loss")
            .help("Price of taking weight from a record: losses above it lose weight."),
        kappa_2: f64 = real(0.0, 100.0, 0.0).named("κ₂", "squared loss")
            .help("Price of uneven weights: strength of their Euclidean norm."),
        kappa_inf: f64 = real(0.0, 100.0, 0.0).named("κ∞", "squared loss")
            .help("Price of the largest weight."),
        source: SourceSide = SOURCE_SIDE_FIELD,
        penalty_from: PenaltyFrom = SOURCE_FIELD,
        public_penalty: f64 = real(0.0, 100.0, 0.0).named("public penalty d̂", "squared loss").help(
            "Added to the loss of every record of the source, where it is declared. It must be \
             known without looking at the private data.",
        ),
        penalty_radius: f64 = RADIUS_FIELD,
        penalty_share: f64 = SHARE_FIELD,
        lambda: Option<f64> = automatic(1e3).named("radius Λ", "norm of weights").help(
            "The model's weights stay in the ball of this radius. In as_printed noise grows with it. \
             automatic takes twice the norm of the public solution, so that the ball holds the \
             private one.",
        ),
        steps: Option<u64> = STEPS_FIELD,
        step_size: f64 = real(1e-4, 2.0, 0.5).named("step size", "of a Newton step")
            .help("Share of the step scaled by the public curvature that is taken in rigorous mode."),
        damping: Option<f64> = automatic(10.0).named("damping", "curvature").help(
            "Added to the public curvature that scales the steps of the rigorous mode. Automatic \
             grows with the noise.",
        ),
        weight_step: f64 = real(0.0, 2.0, 0.01).named("weight step", "over curvature").help(
            "Step of the private weights in rigorous mode, in units of 1/(2cB). It is shortened where \
             the noise of all steps would move a weight by more than a tenth.",
        ),
        weights_share: f64 = WEIGHTS_SHARE_FIELD,
        source_weights: SourceWeights = SOURCE_WEIGHTS,
        average: f64 = real(0.0, 1.0, 1.0).named("averaged tail", "share of steps").help(
            "The model is the mean of this share of the steps, counted from the last. The \
             published algorithm averages all.",
        ),
    }
}

/// The method of this module.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

/// Λ: twice the norm of the public solution, if it is not given. On real data the private solution
/// is up to one and a half times as long as the public one, and the published bounds hold for a ball
/// that contains it.
pub fn radius(bounds: Bounds, centre: &Vector, given: Option<f64>) -> f64 {
    // If public labels are almost zero, the ball must still contain a model that predicts the
    // largest label.
    given.unwrap_or_else(|| (2.0 * centre.norm()).max(bounds.label / bounds.feature_norm))
}

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let given = settings;
    let settings = CnvxAdapSettings::of(given)?;
    let CnvxAdapSettings { mode, alpha, .. } = settings;
    let own = [
        "step_size",
        "damping",
        "weight_step",
        "weights_share",
        "source_weights",
        "average",
        "penalty_radius",
        "penalty_share",
    ];
    mode.fixes(&SPEC, given, &own)?;
    let sources = settings.source_weights.sources(&problem.public)?;
    let shape = &problem.shape;
    let steps = settings
        .steps
        .unwrap_or_else(|| automatic_steps(mode, shape.private_records, shape.dimension, target));
    let centre = problem.public.once("ridge solution", DEFAULT_RIDGE, ridge_solution)?;
    let radius = radius(shape.bounds, &centre, settings.lambda);
    let printed = Learner::Squared.largest(shape.bounds, radius);
    let mut largest = printed;
    if mode == Mode::Rigorous && settings.kappa_1 > 0.0 {
        let clip = 2.0 * settings.kappa_1.sqrt() * shape.bounds.feature_norm;
        largest.gradient = largest.gradient.min(clip);
    }
    let CnvxAdapSettings { penalty_from, penalty_radius, penalty_share, .. } = settings;
    let mut penalty =
        PenaltySource::of(penalty_from, settings.public_penalty, penalty_radius, penalty_share);
    if let (Mode::AsPrinted, PenaltySource::Released { .. }) = (mode, penalty) {
        let noise = PenaltyNoise::AsPrinted { epsilon: target.epsilon };
        penalty = PenaltySource::Released { radius, noise };
    }
    let (weights_share, share) = (settings.weights_share, penalty.remaining_share());
    let better = "profiled_cnvx_adap";
    let method = AsPublished { mode, alpha, weights_share, share, steps, better };
    let (mut plan, releases, caps) = method.plan(Learner::Squared, shape, largest, target);
    let measured_around = match mode {
        Mode::Rigorous => centre.clone(),
        Mode::AsPrinted => Vector::zeros(shape.dimension),
    };
    let (announced, released_penalty) = penalty.release(shape, &measured_around)?.unzip();
    plan.releases.extend(announced);
    let pulls = Pulls {
        total: settings.kappa_1,
        square: settings.kappa_2,
        largest: settings.kappa_inf,
        sharpness: None,
    };
    let theory = method.theory(Learner::Squared, shape, printed, pulls.strength(), target);
    plan.theory = theory.says_of_convex(steps);
    let start: Start = Box::new(move |private, noise| {
        let shape = problem.shape.clone();
        let public = problem.public.shared();
        let noise = releases.noise(noise)?;
        let (pace, refined, first) = match mode {
            Mode::AsPrinted => {
                let first = Vector::zeros(shape.dimension);
                let source = settings.source;
                let pace = printed_pace(largest, pulls, caps, steps, first.len(), noise, source);
                (pace, None, first)
            }
            Mode::Rigorous => {
                let square = shape.bounds.feature_norm.powi(2);
                let length = noise.0 * (shape.dimension as f64).sqrt();
                let damping = settings.damping.unwrap_or_else(|| {
                    damping(square, settings.step_size, steps, length, largest.radius)
                });
                let twice = vec![2.0 / public.len() as f64; public.len()];
                let curvature = weighted_outer_sum(&public.features, &twice);
                let weight = settings.weight_step / (2.0 * largest.loss);
                let pace = Pace {
                    model: settings.step_size,
                    public: weight / caps.public,
                    private: private_pace(weight / caps.private, steps, noise.1),
                    beta: 2.0 * square,
                };
                let mut first = centre;
                into_ball(&mut first, largest.radius);
                (pace, Some(Refinement::new(vec![curvature], damping)?), first)
            }
        };
        Ok(Box::new(WeightedDescent {
            releases,
            learner: Learner::Squared,
            pulls,
            penalty: penalty.declared(),
            source: settings.source,
            released_penalty,
            largest,
            pace,
            refined,
            steps,
            returned: ReturnedModel::Tail(settings.average),
            public: LabelledRecords::of(Learner::Squared, public)?,
            private: private.map_usable(|data| LabelledRecords::private(Learner::Squared, data))?,
            weights: Weights::of_sources(caps, &sources),
            sources,
            iterates: vec![first],
            model: None,
        }))
    });
    Ok((plan, start))
}

/// Added to the public curvature that scales T steps η: a share of the largest curvature r², and so
/// much that the noise of all steps, of length `noise` in each, moves the model by a fifth of the
/// ball's radius at most where the curvature is flat. Directions that the noise hides stay as they are.
pub(super) fn damping(square: f64, step_size: f64, steps: u64, noise: f64, radius: f64) -> f64 {
    LEAST_DAMPING * square + 5.0 * step_size * (steps as f64).sqrt() * noise / radius
}

/// A step of the private weights that the noise of all steps moves by a tenth at most.
pub(super) fn private_pace(usual: f64, steps: u64, noise: f64) -> f64 {
    usual.min(MOST_WANDERING / ((steps as f64).sqrt() * noise))
}

/// The printed step sizes, with those of the weights in units of v. `noise` holds the noise of an
/// entry of the gradient, which has d entries, and of a slope in v, which is σ₂/c. The losses of the
/// source are up to B larger, by d̂.
pub(super) fn printed_pace(
    largest: Largest,
    pulls: Pulls,
    caps: Caps,
    steps: u64,
    d: usize,
    noise: (f64, f64),
    source: SourceSide,
) -> Pace {
    let steps = steps as f64;
    let root = |records: usize| (steps * records as f64).sqrt();
    let square = largest.gradient.powi(2) + d as f64 * noise.0.powi(2);
    let model = largest.radius / (steps * square).sqrt();
    let all = largest.loss + pulls.strength();
    let (of_public, of_private) = source.split(largest.loss);
    let private = (of_private + all).hypot(noise.1 / caps.private);
    Pace {
        model,
        public: 1.0 / (root(caps.public_records) * (of_public + all)),
        private: 1.0 / (root(caps.private_records) * private),
        beta: 1.0 / model,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Dataset;
    use crate::model::LinearModel;
    use crate::privacy::Allotment;
    use crate::privacy::accountant::QueryKind;
    use crate::spec::Value;
    use crate::trial::{RehearsalNoise, Trial};
    use crate::{Series, example};

    fn rehearse(mode: &str, noise: RehearsalNoise) -> (f64, f64, Vec<(f64, f64)>, f64) {
        let (_, public, private) = example::shifted(4, 300, 200, 3);
        let settings = BTreeMap::from([("mode".to_owned(), Value::Text(mode.to_owned()))]);
        let method = SPEC.id;
        let (public, private) = (&public, &private);
        let done =
            Trial { settings, ..Trial::new(method, public, private, noise, 1) }.run().unwrap();
        let error = |w: &LinearModel| {
            w.mean_squared_error(&private.features, private.target.as_ref().unwrap())
        };
        let Model::Linear(model) = &done.model else { panic!() };
        let source = error(&ridge_solution(public, DEFAULT_RIDGE).unwrap().into());
        let proven = done.calibrated.guarantee().epsilon;
        (error(model), source, done.series(Series::ExactObjective), proven)
    }

    #[test]
    fn without_noise_the_rigorous_run_lowers_its_objective_and_the_private_error() {
        let (error, source, objective, _) =
            rehearse("rigorous", RehearsalNoise::None(example::TARGET));
        assert!(error < 0.7 * source, "{error} {source}");
        assert!(objective.windows(2).all(|pair| pair[1].1 <= pair[0].1 + 1e-12));
    }

    #[test]
    fn the_printed_run_drowns_in_its_noise_and_the_accountant_says_what_that_proves() {
        let target = Target { epsilon: 1.0, delta: 0.01 };
        let (error, source, _, proven) = rehearse("as_printed", RehearsalNoise::For(target));
        assert!(error > 3.0 * source, "{error} {source}");
        assert!(proven > 0.0 && proven < 1.0, "{proven}");
    }

    /// The formulas of the paper, in u, for one finite ε.
    #[test]
    fn the_printed_steps_are_those_of_the_paper() {
        let (alpha, m, n, d, steps) = (0.3, 50.0_f64, 20.0_f64, 4.0, 7.0_f64);
        let (radius, loss, gradient, kappas) = (1.5, 6.25, 5.0, 0.1 + 0.2 + 0.3);
        let (epsilon, delta) = (2.0, 1e-3_f64);
        let noise = 2.0 * (steps * (3.0 / delta).ln()).sqrt() / epsilon;
        let sigma_1 = noise * 2.0 * (1.0 - alpha) * gradient / n;
        let sigma_2 = noise * (1.0 - alpha).powi(2) * loss / n.powi(2);
        let all = loss + kappas;
        let model = radius / (steps * (gradient * gradient + d * sigma_1 * sigma_1)).sqrt();
        let public = m.powf(1.5) / (steps.sqrt() * alpha.powi(2) * (loss + all));
        let of_data = (1.0 - alpha).powi(4) * all * all;
        let private = n.powf(1.5) / (steps * (of_data + n.powi(4) * sigma_2 * sigma_2)).sqrt();

        let caps = Caps::new(alpha, 50, 20);
        let largest = Largest { radius, loss, gradient };
        let pulls = Pulls { total: 0.1, square: 0.2, largest: 0.3, sharpness: None };
        let noise = (sigma_1, sigma_2 / caps.private);
        let of = |source| printed_pace(largest, pulls, caps, 7, 4, noise, source);
        let pace = of(SourceSide::Public);
        let alike = |ours: f64, printed: f64| (ours / printed - 1.0).abs() < 1e-12;
        assert!(alike(pace.model, model));
        assert!(alike(pace.public, caps.public.powi(2) * public));
        assert!(alike(pace.private, caps.private.powi(2) * private));

        // In the reverse scenario the larger losses are those of the private records.
        let public = m.powf(1.5) / (steps.sqrt() * alpha.powi(2) * all);
        let of_data = (1.0 - alpha).powi(4) * (loss + all).powi(2);
        let private = n.powf(1.5) / (steps * (of_data + n.powi(4) * sigma_2 * sigma_2)).sqrt();
        let turned = of(SourceSide::Private);
        assert_eq!(turned.model, pace.model);
        assert!(alike(turned.public, caps.public.powi(2) * public));
        assert!(alike(turned.private, caps.private.powi(2) * private));
    }

    #[test]
    fn the_printed_mode_refuses_the_steps_of_the_other() {
        let (shape, public, _) = example::shifted(4, 300, 200, 3);
        for key in ["step_size", "weight_step", "weights_share", "average"] {
            let plan = |mode: &str| {
                let given = BTreeMap::from([
                    ("mode".to_owned(), Value::Text(mode.to_owned())),
                    (key.to_owned(), Value::Number(0.25)),
                ]);
                example::plan(METHOD, &given, &shape, &public)
            };
            plan("rigorous").unwrap();
            assert!(plan("as_printed").unwrap_err().what().contains(key));
        }
    }

    #[test]
    fn a_released_penalty_takes_its_share_and_no_more_than_the_target_is_spent() {
        let (shape, public, private) = example::shifted(4, 300, 200, 3);
        let text = |key: &str, word: &str| (key.to_owned(), Value::Text(word.to_owned()));
        let settings = BTreeMap::from([text("penalty_from", "released")]);
        let plan = example::plan(METHOD, &settings, &shape, &public).unwrap();
        let shares: Vec<f64> = plan
            .releases
            .iter()
            .map(|release| match release.noise {
                Allotment::Share(share) => share,
                _ => panic!("{release:?}"),
            })
            .collect();
        assert_eq!(shares, [0.95 * 0.95, 0.05 * 0.95, 0.05]);
        let noise = RehearsalNoise::For(example::TARGET);
        let trial = Trial::new(SPEC.id, &public, &private, noise, 1);
        let declared = trial.clone().run().unwrap();
        let released = Trial { settings: settings.clone(), ..trial }.run().unwrap();
        assert!(released.model != declared.model);
        assert!(released.calibrated.guarantee().epsilon <= example::TARGET.epsilon);
        // As printed, over the whole ball and with noise of scale 2B/(εn).
        let settings = settings.into_iter().chain([text("mode", "as_printed")]).collect();
        let plan = example::plan(METHOD, &settings, &shape, &public).unwrap();
        let centre = ridge_solution(&public, DEFAULT_RIDGE).unwrap();
        let largest = (radius(shape.bounds, &centre, None) + 1.0).powi(2);
        let printed = 2.0 * largest / (example::TARGET.epsilon * 200.0);
        let Allotment::AsPrinted(scale) = plan.releases[2].noise else { panic!("{plan:?}") };
        assert!((scale / printed - 1.0).abs() < 1e-12, "{scale} {printed}");
        let sensitivity = plan.releases[2].query.sensitivity;
        assert!(sensitivity > largest / 200.0 && sensitivity < largest / 200.0 * 1.001);
        let trial = Trial::new(SPEC.id, &public, &private, noise, 1);
        assert!(Trial { settings, ..trial }.run().is_ok());
    }

    #[test]
    fn the_ball_is_twice_as_wide_as_the_public_solution_or_as_wide_as_told() {
        let (shape, mut public, _) = example::shifted(4, 300, 200, 3);
        let of = |public: &Dataset, given: Option<f64>| {
            radius(shape.bounds, &ridge_solution(public, DEFAULT_RIDGE).unwrap(), given)
        };
        let norm = ridge_solution(&public, DEFAULT_RIDGE).unwrap().norm();
        assert_eq!(of(&public, None), (2.0 * norm).max(1.0));
        assert_eq!(of(&public, Some(0.3)), 0.3);
        // Labels without information give a ball that can predict all labels within the bounds.
        public.target = Some(vec![0.0; public.len()]);
        assert_eq!(of(&public, None), 1.0);
    }

    #[test]
    fn the_noise_is_for_the_ball_that_the_models_stay_in() {
        let (shape, public, _) = example::shifted(4, 300, 200, 3);
        for mode in ["rigorous", "as_printed"] {
            let given = BTreeMap::from([("mode".to_owned(), Value::Text(mode.to_owned()))]);
            let plan = example::plan(METHOD, &given, &shape, &public).unwrap();
            // Features and labels are at most 1; the private records share 1 − α = 0.9.
            let centre = ridge_solution(&public, DEFAULT_RIDGE).unwrap();
            let (error, cap) = (radius(shape.bounds, &centre, None) + 1.0, 0.9 / 200.0);
            let clip = if mode == "rigorous" { 2.0 * 0.1_f64.sqrt() } else { 2.0 * error };
            let wanted = [2.0 * cap * clip, cap * error * error];
            for (release, wanted) in plan.releases.iter().zip(wanted) {
                assert_eq!(release.query.kind, QueryKind::Gaussian);
                let l2_sensitivity = release.query.sensitivity;
                assert!((l2_sensitivity / wanted - 1.0).abs() < 1e-9, "{mode} {}", release.label);
            }
        }
    }
}
