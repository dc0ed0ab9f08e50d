//! Profiled CnvxAdap: closed-form weights, noise on the gradient alone.
//!
//! The objective, its sensitivity and the descent are those of `profiled`, with squared
//! loss and C = 2√κ₁·r.
//!
//! The defaults were chosen on bikeshare, wine and airline (ten splits each, ε from .5 to 5), for
//! the mean logarithm of the error. Where these did not decide (several pulls did equally well on
//! them), wind and gas were used, so these two are not a fully blind check.

use std::sync::Arc;

use super::penalty::{
    PENALTY_FIELD, PenaltyFrom, PenaltySource, RADIUS_FIELD, SHARE_FIELD, SOURCE_FIELD,
};
use super::profiled::Profile;
use super::profiled::batches::{BATCH, Batches};
use super::profiled::descent::{Motion, ProfiledDescent, ProfiledRun};
use super::profiled::public_side::PublicSide;
use super::records::{LabelledRecords, RecordLoss, ScoreLoss};
use crate::baselines::reference::{DEFAULT_RIDGE, ridge_solution};
use crate::classes::sampled::fields::StepSettings;
use crate::model::LinearModel;
use crate::numeric::positive::{cholesky, trace_of_inverse};
use crate::numeric::symmetric::weighted_outer_sum;
use crate::prelude::*;
use crate::privacy::openings::OpenPrivate;
use crate::sources::{SOURCE_WEIGHTS, SourceWeights, WeightedSource};

static SPEC: Spec = Spec {
    id: "profiled_cnvx_adap",
    name: "linear, weighted by fit",
    paper: "Profiled CnvxAdap",
    summary: "Linear regression on public and private records together; every record's weight \
              follows its loss, and noise is added to the private part of the gradient.",
    line: "public and private records together, by how well they fit",
    task: Task::Regression,
    fields: ProfiledCnvxAdapSettings::FIELDS,
    tries: &[("kappa_scale", &[1.0, 1.5]), ("pull", &[0.3, 3.0])],
    place: 1,
    tries_public_predictor: true,
    most_features: Some(MOST_FEATURES),
    variants: &[("batches", "batch", "12"), ("released penalty", "penalty_from", "released")],
    clips_persons: true,
    ..Spec::DEFAULT
};

settings! {
    struct ProfiledCnvxAdapSettings {
        alpha: Option<f64> = automatic(0.99).named("public share α", "share of weight").help(
            "Largest total weight of the public records; the private records have the rest. \
             Lower trusts the private data more, and needs more noise for it. Automatic takes \
             d/(d + n) for n private records of d features, the fewer they are, the more, and at \
             most 0.1.",
        ),
        kappa_scale: f64 = real(0.1, 10.0, 0.5)
            .named("outlier threshold", "public residual sd")
            .help(
                "Records whose residual is larger than this many standard deviations of the \
                 public residual lose weight (κ₁ is the square of the product). Lower bounds \
                 each record's influence more tightly, so less noise is needed.",
            ),
        steps: Option<u64> = automatic_whole(2000.0).named("steps T", "gradients").help(
            "Noisy gradient steps; automatic takes 60, and up to 120 for a larger ε. The noise \
             per step grows with the square root of their number.",
        ),
        batch: Option<u64> = BATCH,
        step_size: f64 = STEP_SIZE_FIELD,
        pull: f64 = real(0.0, 1000.0, 1.0).named("pull ρ", "times usual").help(
            "How strongly the model is held at the public solution. The usual pull grows with \
             the gradient's noise, and with its square where that is large against the public \
             residual.",
        ),
        damping: f64 = DAMPING_FIELD,
        weighting: Weighting = WEIGHTING_FIELD,
        source_weights: SourceWeights = SOURCE_WEIGHTS,
        penalty_from: PenaltyFrom = SOURCE_FIELD,
        public_penalty: f64 = PENALTY_FIELD,
        penalty_radius: f64 = RADIUS_FIELD,
        penalty_share: f64 = SHARE_FIELD,
        ridge: f64 = real(1e-9, 1.0, DEFAULT_RIDGE).named("ridge", "squared loss")
            .help("Ridge of the public solution that the run starts from."),
        average: f64 = StepSettings::average.by_default(0.5),
    }
}

choices! {
    pub enum Weighting { Learned = "learned", Pooled = "pooled" }
}

impl Weighting {
    /// The public datasets with a weight each. Pooled records have the largest weight in any case.
    pub(super) fn sources(
        self,
        weights: SourceWeights,
        public: &PublicRecords,
    ) -> Result<Vec<WeightedSource>> {
        if self == Self::Pooled && weights != SourceWeights::None {
            return Err(Error::usage(
                "`source_weights` has no effect with weighting: \"pooled\", which gives every record \
                 its largest weight",
            )
            .cure("leave one of them out"));
        }
        weights.sources(public)
    }
}

/// Settings that the logistic method also uses.
pub(super) const WEIGHTING_FIELD: Setting<Weighting> =
    Weighting::or(Weighting::Learned).named("weights", "").help(
        "learned: public records lose weight with their loss. pooled: they all keep the largest \
         (what learning the weights is worth can be seen from the difference).",
    );
pub(super) const DAMPING_FIELD: Setting<f64> =
    real(0.0, 10.0, 0.06).named("damping", "curvature").help(
        "Added to the public curvature that scales the steps. Private data may curve where the \
         public ones are flat; without it, steps overshoot there.",
    );
pub(super) const STEP_SIZE_FIELD: Setting<f64> = real(0.01, 2.0, 0.5)
    .named("step size η", "")
    .help("Share of the preconditioned (Newton-like) step that is taken.");

/// The largest default α.
const MOST_USUAL_SHARE: f64 = 0.1;

/// The method of this module.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let settings = ProfiledCnvxAdapSettings::of(settings)?;
    let (shape, public) = (&problem.shape, &problem.public);
    let (centre, residual) = public.once("centre", settings.ridge, |public, ridge| {
        let centre = ridge_solution(public, ridge)?;
        let residual = public_residual(public, &centre)?;
        Ok((centre, residual))
    })?;
    let penalty = settings.penalty();
    let sources = settings.weighting.sources(settings.source_weights, public)?;
    let profile = profile(shape, residual, settings);
    let steps = settings.steps.unwrap_or_else(|| automatic_steps(target));
    let batches = Batches::of(shape, settings.batch)?;
    let (mut plan, gradient) = batches.plan(&profile, shape, steps, penalty.remaining_share());
    plan.warnings.splice(0..0, few_public_records(shape));
    let (announced, penalty) = penalty.release(shape, &centre)?.unzip();
    plan.releases.extend(announced);
    let start: Start = Box::new(move |private, noise| {
        let shape = problem.shape.clone();
        let (public, persons) = (problem.public.shared(), problem.public.persons());
        let profile = profile.for_persons(
            &LabelledRecords::new(Arc::clone(&public)),
            persons,
            shape.most_records,
            &centre,
        );
        let sigma = gradient.scale(noise)? / profile.factor();
        let twice = vec![2.0 / public.len() as f64; public.len()];
        let curvature = weighted_outer_sum(&public.features, &twice);
        let damping = settings.damping;
        let noise = sigma.powi(2) / steps as f64 * degrees_of_freedom(&curvature, damping);
        let motion = Motion {
            pull: settings.pull * usual_pull(sigma, noise, residual),
            damping,
            step_size: settings.step_size,
        };
        Ok(Box::new(ProfiledRun {
            steps,
            average: settings.average,
            gradient,
            profile,
            penalty,
            public: PublicSide::new(LabelledRecords::new(public), sources),
            private: private.map_unseen(|data| LabelledRecords::new(data.shared())),
            shape,
            descent: ProfiledDescent::new(centre, vec![curvature], motion)?,
            model: None,
        }))
    });
    Ok((plan, start))
}

impl ProfiledCnvxAdapSettings {
    fn penalty(&self) -> PenaltySource {
        PenaltySource::of(
            self.penalty_from,
            self.public_penalty,
            self.penalty_radius,
            self.penalty_share,
        )
    }
}

fn few_public_records(shape: &ProblemShape) -> Option<String> {
    let ProblemShape { public_records, dimension, .. } = shape;
    (*public_records <= 2 * dimension).then(|| {
        format!(
            "{public_records} public records for {dimension} features: the public residual is \
             too small a guide to the outlier threshold; raise it, or use more public records"
        )
    })
}

/// λ of λ/2·‖w − w_pub‖², for a gradient that has noise of scale σ in every step and of energy
/// `noise` on the average of all. For an unknown shift the right ridge is proportional to this
/// energy over the public residual variance, which stands for the size of the possible gain. The
/// term in σ is for targets near the source, where the first term is too weak at a large ε.
fn usual_pull(sigma: f64, noise: f64, residual: f64) -> f64 {
    sigma / 4.0 + 10.0 * noise / residual.powi(2)
}

/// tr H(H + δI)⁻¹ of the public curvature H: the number of directions along which the steps, damped
/// by δ, follow the noise.
fn degrees_of_freedom(curvature: &Matrix, damping: f64) -> f64 {
    let dimension = curvature.nrows();
    let damped = curvature + damping * &Matrix::identity(dimension, dimension);
    let trace = cholesky(damped).map_or(0.0, |factor| trace_of_inverse(&factor));
    dimension as f64 - damping * trace
}

/// Less noise allows more steps, which come closer to the minimum.
fn automatic_steps(target: Target) -> u64 {
    (60.0 * target.epsilon.sqrt().clamp(1.0, 2.0)).round() as u64
}

/// The typical size of a residual of the public solution, around zero and not around its mean.
fn public_residual(public: &PublicData, start: &Vector) -> Result<f64> {
    let residual = LinearModel::from(start.clone())
        .mean_squared_error(&public.features, public.target.as_deref().unwrap_or_default())
        .sqrt();
    // Rounding alone leaves 10⁻¹⁶ of the labels.
    if residual.is_nan() || residual <= 1e-9 * public.bounds.label {
        return Err(Error::failed(format!(
            "the public dataset '{}' is fitted without any residual, which leaves no scale for \
             the outlier threshold",
            public.name
        ))
        .cure(
            "use more public records, drop a feature that repeats the label, or raise the ridge",
        ));
    }
    Ok(residual)
}

fn profile(shape: &ProblemShape, residual: f64, settings: ProfiledCnvxAdapSettings) -> Profile {
    let root = settings.kappa_scale * residual;
    let unknowns = shape.dimension as f64;
    let usual = unknowns / (unknowns + shape.private_records as f64);
    Profile {
        loss: RecordLoss::Score(ScoreLoss::Squared),
        alpha: settings.alpha.unwrap_or_else(|| usual.min(MOST_USUAL_SHARE)),
        kappa: root.powi(2),
        penalty: settings.penalty().declared(),
        clip: 2.0 * root * shape.bounds.feature_norm,
        pooled: settings.weighting == Weighting::Pooled,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::data::{Bounds, Dataset};
    use crate::example;
    use crate::labelled::profiled::{SidePart, profiled};
    use crate::privacy::Adjacency;
    use crate::privacy::accountant::QueryKind;
    use crate::spec::Value;
    use halflight_testing as golden;

    fn given(pairs: &[(&str, f64)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect()
    }

    fn settings(pairs: &[(&str, f64)]) -> ProfiledCnvxAdapSettings {
        ProfiledCnvxAdapSettings::of(&SPEC.check(&given(pairs)).unwrap()).unwrap()
    }

    fn profile(alpha: f64, kappa: f64, penalty: f64, norm: f64) -> Profile {
        let clip = 2.0 * kappa.sqrt() * norm;
        let loss = RecordLoss::Score(ScoreLoss::Squared);
        Profile { loss, alpha, kappa, penalty, clip, pooled: false, gain: None }
    }

    fn records(data: &Dataset) -> LabelledRecords<Matrix> {
        LabelledRecords::new(Arc::new(data.clone()))
    }

    fn gradient(part: &SidePart<'_, Matrix>, w: &Vector) -> Vector {
        part.pass(w).gradient
    }

    fn value(part: &SidePart<'_, Matrix>, w: &Vector) -> f64 {
        part.pass(w).value
    }

    fn motion(pull: f64) -> Motion {
        Motion { pull, damping: 0.0, step_size: 0.5 }
    }

    /// The five records of the reference, with its α.
    fn reference(
        kappa: f64,
        penalty: f64,
    ) -> (Profile, LabelledRecords<Matrix>, LabelledRecords<Matrix>) {
        let golden = golden::adaptation();
        let data = |x: &str, y: &str| {
            records(&example::labelled(golden.records(x), golden.vector(y).as_slice().to_vec()))
        };
        let profile = profile(golden.number("common.alpha"), kappa, penalty, 1.0);
        let public = data("common.Xpub", "common.ypub");
        (profile, public, data("common.Xpriv", "common.ypriv"))
    }

    fn shape_of(records: usize, dimension: usize, norm: f64) -> ProblemShape {
        ProblemShape {
            private_records: records,
            most_records: 1,
            joint: None,
            public_records: 100,
            dimension,
            bounds: Bounds { feature_norm: norm, label: 1.0 },
            private_labels: true,
            classes: Vec::new(),
            start: None,
        }
    }

    #[test]
    fn loss_and_weight_of_one_record_agree_with_the_reference() {
        // In the reference `c` is the record's loss and `a` its largest weight cᵢ; its φ
        // keeps the constant κ₁cᵢ, which the objective (`profiled_F`) does not have.
        for case in golden::adaptation().value("profiled_u").as_array().unwrap() {
            let case = golden::Golden(case.clone());
            let (loss, weight) = (case.number("c"), case.number("a"));
            let kappa = case.number("kappa1");
            let (value, kept) = profiled(loss, kappa);
            let value = weight * (value + kappa);
            assert!((value - case.number("phi")).abs() < 1e-12);
            let q = weight * kept;
            assert!((1.0 / q - case.number("u_star")).abs() < 1e-10);
        }
    }

    #[test]
    fn objective_gradient_and_weights_agree_with_the_reference() {
        let golden = golden::adaptation();
        let kappa = golden.number("profiled_F.kappa1");
        let (profile, public, private) = reference(kappa, golden.number("common.d_dp"));
        let (public, private) = (profile.public(&public), profile.private(&private, 2));
        let w = golden.vector("common.w");
        let sum = value(&public, &w) + value(&private, &w);
        assert!((sum - golden.number("profiled_F.value")).abs() < 1e-13);
        let (there, here) = (public.pass(&w), private.pass(&w));
        let sum = &there.gradient + &here.gradient;
        golden::assert_near(&sum, &golden.vector("profiled_F.grad_w"), 1e-13);
        let q = [public.weights(&w), private.weights(&w)].concat();
        assert!((there.weight + here.weight - q.iter().sum::<f64>()).abs() < 1e-13);
        golden::assert_near(&Vector::from_vec(q), &golden.vector("profiled_F.q_star"), 1e-13);
        let cap = golden.number("profiled_F.per_record_grad_cap_over_p0");
        assert!((private.influence / private.weight - cap).abs() < 1e-13);
    }

    #[test]
    fn the_sums_of_a_pass_are_those_of_its_records_whatever_their_number_and_length() {
        for (dimension, count) in [(3, 50), (5, 600), (18, 300), (30, 70)] {
            let (_, public, _) = example::shifted(dimension, count, 40, 7);
            let records = records(&public);
            let profile = profile(0.4, 0.05, 0.02, 1.0);
            let part = profile.public(&records);
            let w = Vector::from_element(dimension, 0.3);
            let pass = part.pass(&w);
            let near =
                |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{a} {b}");
            let labels = public.target.as_ref().unwrap();
            let scores = public.features.tr_mul(&w);
            let losses = scores.iter().zip(labels).map(|(score, y)| (score - y).powi(2));
            let losses: Vec<f64> = losses.collect();
            near(pass.mean_loss, losses.iter().sum::<f64>() / count as f64);
            let values = losses.iter().map(|loss| profiled(loss + 0.02, 0.05).0);
            near(pass.value, part.weight * values.sum::<f64>());
            let weights = part.weights(&w);
            near(pass.weight, weights.iter().sum());
            near(pass.effective_sample, effective_sample(weights.iter().copied()));
            // Some records lose weight and some do not.
            assert!(pass.weight < 0.4 && weights.contains(&part.weight));
            let mut gradient = Vector::zeros(dimension);
            for ((x, score), (y, q)) in
                public.features.column_iter().zip(&scores).zip(labels.iter().zip(&weights))
            {
                gradient.axpy(2.0 * q * (score - y), &x, 1.0);
            }
            near((pass.gradient - gradient).norm(), 0.0);
        }
    }

    #[test]
    fn a_step_from_the_public_solution_agrees_with_the_reference() {
        let golden = golden::adaptation();
        let number = |key: &str| golden.number(&format!("cnvxP_step.{key}"));
        let (profile, public, private) = reference(number("kappa1"), number("d"));
        let moment = weighted_outer_sum(&public.data().features, &[2.0 / 3.0; 3]);
        let start = golden.vector("cnvxP_step.w_pub");
        assert_eq!(number("eta"), 0.5);
        let mut descent =
            ProfiledDescent::new(start.clone(), vec![moment], motion(number("precond_eps")))
                .unwrap();
        let slope = gradient(&profile.public(&public), &start)
            + gradient(&profile.private(&private, 2), &start)
            + descent.pull();
        golden::assert_near(&slope, &golden.vector("cnvxP_step.grad_at_w_pub"), 1e-13);
        descent.advance(&slope).unwrap();
        golden::assert_near(descent.current(), &golden.vector("cnvxP_step.w_next"), 1e-9);
    }

    #[test]
    fn without_noise_the_descent_reaches_the_minimiser_of_the_reference() {
        let golden = golden::adaptation();
        let kappa = golden.number("F_minimiser.kappa1");
        let (profile, public, private) = reference(kappa, golden.number("F_minimiser.d"));
        let moment = weighted_outer_sum(&public.data().features, &[2.0 / 3.0; 3]);
        let start = golden.vector("cnvxP_step.w_pub");
        let mut descent = ProfiledDescent::new(start, vec![moment], motion(1e-12)).unwrap();
        let (public, private) = (profile.public(&public), profile.private(&private, 2));
        for _ in 0..500 {
            let w = descent.current();
            let slope = gradient(&public, w) + gradient(&private, w) + descent.pull();
            descent.advance(&slope).unwrap();
        }
        let w = descent.current();
        golden::assert_near(w, &golden.vector("F_minimiser.w"), 1e-9);
        let sum = value(&public, w) + value(&private, w);
        assert!((sum - golden.number("F_minimiser.value")).abs() < 1e-12);
    }

    #[test]
    fn opposite_records_attain_the_sensitivity() {
        let (n, r) = (50, 0.8);
        let profile = profile(0.1, 0.04, 0.3, r);
        let mut ours = example::shifted(3, 10, n, 5).2;
        ours.features *= r;
        ours.features.set_column(7, &Vector::from_vec(vec![0.0, r, 0.0]));
        let mut theirs = ours.clone();
        ours.target.as_mut().unwrap()[7] = 1.0;
        theirs.target.as_mut().unwrap()[7] = -1.0;
        let w = Vector::from_vec(vec![0.3, 0.1, -0.2]);
        let slope = |data: &Dataset| gradient(&profile.private(&records(data), n), &w);
        let moved = (slope(&ours) - slope(&theirs)).norm();
        let sensitivity = profile.sensitivity(&shape_of(n, 3, r));
        assert!(moved <= sensitivity && moved > 0.99 * sensitivity, "{moved} {sensitivity}");
        let formula = 4.0 * (1.0 - 0.1) * 0.2 * r / n as f64;
        assert!(sensitivity >= formula && sensitivity < formula * (1.0 + 1e-10));
    }

    #[test]
    fn clipping_changes_no_record_within_its_bounds() {
        let (shape, _, private) = example::shifted(6, 10, 80, 2);
        let profile = profile(0.2, 0.01, 0.0, shape.bounds.feature_norm);
        let private = records(&private);
        let clipped = profile.private(&private, 80);
        let mut free = clipped.clone();
        free.influence = f64::INFINITY;
        for seed in 0..20 {
            let w = example::normals(&mut example::generator(seed), 6);
            golden::assert_near(&gradient(&clipped, &w), &gradient(&free, &w), 1e-15);
        }
    }

    #[test]
    fn a_record_that_is_not_made_of_numbers_counts_for_nothing() {
        let (_, _, private) = example::shifted(3, 10, 20, 2);
        let profile = profile(0.2, 0.01, 0.0, 1.0);
        let w = Vector::from_vec(vec![0.3, 0.1, -0.2]);
        let mut null = private.clone();
        null.features.set_column(4, &Vector::zeros(3));
        let slope = |data: &Dataset| gradient(&profile.private(&records(data), 20), &w);
        let without = slope(&null);
        for bad in [f64::NAN, f64::INFINITY] {
            let mut broken = private.clone();
            broken.features[(1, 4)] = bad;
            golden::assert_near(&slope(&broken), &without, 1e-15);
        }
    }

    #[test]
    fn the_plan_announces_one_gradient_per_step_with_the_derived_sensitivity() {
        let (shape, public, _) = example::shifted(5, 300, 200, 1);
        let given = given(&[("steps", 7.0), ("alpha", 0.25), ("kappa_scale", 2.0)]);
        let plan = example::plan(METHOD, &given, &shape, &public).unwrap();
        let w = ridge_solution(&public, DEFAULT_RIDGE).unwrap();
        let errors = public.features.tr_mul(&w) - Vector::from_vec(public.target.clone().unwrap());
        let kappa = 4.0 * errors.norm_squared() / 300.0;
        let expected = 4.0 * 0.75 * kappa.sqrt() / 200.0;
        let [release] = plan.releases.as_slice() else { panic!("{:?}", plan.releases) };
        assert_eq!(release.query.kind, QueryKind::Gaussian);
        let (l2_sensitivity, coordinates) = (release.query.sensitivity, release.query.size);
        assert!((l2_sensitivity / expected - 1.0).abs() < 1e-9);
        assert_eq!((coordinates, release.count, plan.steps), (5, 7, 7));
        assert_eq!(release.adjacency, Adjacency::ReplaceOne);
        assert!((plan.signal - 100.0 * expected).abs() < 1e-9);
        assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
        for (epsilon, steps) in [(0.1, 60), (1.0, 60), (2.25, 90), (4.0, 120), (50.0, 120)] {
            let target = Target { epsilon, delta: 1e-6 };
            let defaults = BTreeMap::new();
            let method = METHOD;
            let plan = example::plan_for(method, &defaults, &shape, &public, target).unwrap();
            assert_eq!((plan.steps, plan.releases[0].count), (steps, steps));
        }
    }

    #[test]
    fn where_nothing_is_said_public_records_weigh_what_as_many_features_would() {
        let (shape, public, _) = example::shifted(5, 300, 95, 1);
        let alpha = |given: f64| super::profile(&shape, 1.0, settings(&[("alpha", given)])).alpha;
        assert_eq!((alpha(0.0), alpha(0.3)), (0.05, 0.3));
        let few = ProblemShape { private_records: 5, ..shape.clone() };
        assert_eq!(super::profile(&few, 1.0, settings(&[])).alpha, 0.1);
        let plan = |alpha: f64| {
            let given = given(&[("alpha", alpha), ("steps", 7.0)]);
            example::plan(METHOD, &given, &shape, &public).unwrap()
        };
        assert_eq!(plan(0.0), plan(0.05));
    }

    #[test]
    fn the_pull_follows_the_noise_along_the_directions_that_public_data_bend() {
        let curvature = Matrix::from_diagonal(&Vector::from_vec(vec![3.0, 1.0, 0.0]));
        assert!((degrees_of_freedom(&curvature, 1.0) - 1.25).abs() < 1e-14);
        assert!((degrees_of_freedom(&curvature, 1e-9) - 2.0).abs() < 1e-8);
        // A matrix that cannot be factored counts with all directions.
        assert_eq!(degrees_of_freedom(&curvature, 0.0), 3.0);
        assert_eq!(usual_pull(0.0, 0.0, 0.5), 0.0);
        assert!((usual_pull(0.2, 0.01, 0.5) - (0.05 + 0.4)).abs() < 1e-15);
    }

    #[test]
    fn hopeless_plans_are_warned_of_and_a_public_fit_without_residual_is_refused() {
        let (shape, public, _) = example::shifted(5, 9, 20, 1);
        let plan = example::plan(METHOD, &given(&[]), &shape, &public).unwrap();
        assert_eq!(plan.warnings.len(), 2, "{:?}", plan.warnings);
        let constant = Dataset { target: Some(vec![0.0; 9]), ..public };
        let error = example::plan(METHOD, &given(&[]), &shape, &constant).unwrap_err();
        assert!(error.what().contains("without any residual"), "{error}");
    }

    #[test]
    fn with_the_noise_of_a_fair_budget_the_model_fits_private_data_better_than_the_public_one() {
        // μ = 0.268 is ε = 1 at δ = 1e-5.
        let (dimension, n, steps) = (8, 3000, 60.0_f64);
        let settings = settings(&[]);
        for seed in 0..3 {
            let (shape, public, private) = example::shifted(dimension, 2000, n, seed);
            let start = ridge_solution(&public, DEFAULT_RIDGE).unwrap();
            let residual = public_residual(&public.clone().into(), &start).unwrap();
            let profile = super::profile(&shape, residual, settings);
            let sigma = profile.sensitivity(&shape) * steps.sqrt() / 0.268;
            let moment = weighted_outer_sum(&public.features, &vec![2.0 / 2000.0; 2000]);
            let energy = sigma.powi(2) / 60.0 * degrees_of_freedom(&moment, 0.06);
            let pull = usual_pull(sigma, energy, residual);
            let motion = Motion { damping: 0.06, ..motion(pull) };
            let mut descent =
                ProfiledDescent::new(start.clone(), vec![moment.clone()], motion).unwrap();
            let (there, here) = (records(&public), records(&private));
            let mut generator = example::generator(100 + seed);
            for _ in 0..60 {
                let w = descent.current();
                let slope = gradient(&profile.public(&there), w)
                    + gradient(&profile.private(&here, n), w)
                    + sigma * example::normals(&mut generator, dimension)
                    + descent.pull();
                descent.advance(&slope).unwrap();
            }
            let error = |w: Vector| {
                LinearModel::from(w)
                    .mean_squared_error(&private.features, private.target.as_ref().unwrap())
            };
            let exact = error(ridge_solution(&private, DEFAULT_RIDGE).unwrap());
            let (source, adapted) = (error(start), error(descent.average(0.5)));
            println!("exact {exact:.5} source {source:.5} adapted {adapted:.5}");
            assert!(adapted - exact < 0.5 * (source - exact), "{exact} {source} {adapted}");
        }
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_the_gradient_by_more_than_the_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 6),
            y in proptest::collection::vec(-9.0..9.0_f64, 2),
            w in proptest::collection::vec(-4.0..4.0_f64, 3),
            alpha in 0.01..0.99_f64,
            kappa in 1e-4..4.0_f64,
            penalty in 0.0..1.0_f64,
        ) {
            // Features up to five times the declared norm: wrong bounds must not break it.
            let (n, w) = (20, Vector::from_vec(w));
            let profile = profile(alpha, kappa, penalty, 1.0);
            let ours = example::shifted(3, 10, n, 5).2;
            let with = |x: &[f64], y: f64| {
                let mut data = ours.clone();
                data.features.set_column(0, &Vector::from_column_slice(x));
                data.target.as_mut().unwrap()[0] = y;
                gradient(&profile.private(&records(&data), n), &w)
            };
            let moved = (with(&x[..3], y[0]) - with(&x[3..], y[1])).norm();
            prop_assert!(moved <= profile.sensitivity(&shape_of(n, 3, 1.0)));
        }

        #[test]
        fn the_gradient_is_the_slope_of_the_value_and_the_objective_is_convex(
            w in proptest::collection::vec(-1.5..1.5_f64, 4),
            v in proptest::collection::vec(-1.5..1.5_f64, 4),
            kappa in 1e-3..1.0_f64,
            penalty in 0.0..1.0_f64,
        ) {
            let (w, v) = (Vector::from_vec(w), Vector::from_vec(v));
            let (_, public, private) = example::shifted(4, 30, 25, 9);
            let profile = profile(0.3, kappa, penalty, 1.0);
            let (public, private) = (records(&public), records(&private));
            for part in [profile.public(&public), profile.private(&private, 25)] {
                let slope = gradient(&part, &w);
                let tiny = 1e-6;
                let at = |w: Vector| value(&part, &w);
                let rise = (at(&w + tiny * &v) - at(&w - tiny * &v)) / (2.0 * tiny);
                prop_assert!((rise - slope.dot(&v)).abs() < 1e-6 * (1.0 + v.norm_squared()));
                let line = value(&part, &w) + slope.dot(&(&v - &w));
                prop_assert!(at(v.clone()) >= line - 1e-12);
            }
        }
    }
}
