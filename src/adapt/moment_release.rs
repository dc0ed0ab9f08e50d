//! Moment release: the target moment once under noise, everything else as post-processing.
//!
//! The second moment M₀ = (1/n)Σ x̃x̃ᵀ of the private features is released once. Then
//! weights on the public records are sought whose moment matches it,
//!
//! > min ½‖M̃₀ − Σ qᵢxᵢxᵢᵀ‖²_F + (c·m·σ/2)‖q − u‖²  over the simplex (u uniform),
//!
//! by accelerated projected gradient, and the model is weighted least squares in a
//! ball. M̃₀ is not made positive: cutting its negative eigenvalues would only bias it.
//!
//! *Sensitivity.* ‖xxᵀ − x′x′ᵀ‖²_F = ‖x‖⁴ + ‖x′‖⁴ − 2(x·x′)² ≤ 2r⁴, so replacing a record
//! moves M₀ by at most √2·r²/n in Frobenius norm, attained by orthogonal records of norm
//! r. Released is the packed upper triangle with off-diagonal entries times √2, whose ℓ₂
//! norm is that Frobenius norm: noise σ on it is σ on the diagonal and σ/√2 off it.

use super::baseline::DEFAULT_RIDGE;
use super::moment::{bounded_moment, difference, frobenius_sensitivity};
use super::spec::{Field, FieldKind};
use super::{
    Measure, Method, Plan, Problem, ProblemShape, Run, Series, Settings, Spec, Step,
    effective_sample,
};
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::projection::onto_simplex;
use crate::numeric::symmetric::{
    pack, packed_length, quadratic_forms, spectral_norm, unpack, weighted_outer_sum,
};
use crate::numeric::{Matrix, Vector};
use crate::privacy::accountant::PlannedMechanism;
use crate::privacy::{
    Adjacency, Allotment, Calibrated, PlannedRelease, Private, Released, Spender, Target, Watch,
};

const MOMENT: &str = "moment";

/// Accelerated iterations per step of the run: few enough that charts move and a pause
/// takes hold at once, enough that measuring does not cost more than searching.
pub(crate) const ITERATIONS_PER_STEP: u64 = 5;

/// Least coefficient of ‖q − u‖²: with next to no noise it keeps the weights unique.
const LEAST_REGULARISATION: f64 = 1e-3;

static SPEC: Spec = Spec {
    id: "moment_release",
    name: "Moment release",
    summary: "Linear regression for a private target without labels: its feature moment is \
              released once, and public records are re-weighted to match it.",
    task: Task::Regression,
    needs_private_labels: false,
    fields: &[
        Field {
            key: "regularisation",
            name: "regularisation c",
            unit: "times noise sd",
            help: "How strongly the weights are held at uniform, in units of the noise times \
                   the number of public records. Higher keeps more records in use and fits \
                   less of the noise.",
            kind: FieldKind::Real { min: 0.0, max: 100.0, default: 0.1 },
        },
        Field {
            key: "iterations",
            name: "iterations",
            unit: "",
            help: "Most iterations of the weight search. They cost time, not privacy.",
            kind: FieldKind::Whole { min: 1, max: 100_000, default: 2000 },
        },
        Field {
            key: "tolerance",
            name: "tolerance",
            unit: "share of first gap",
            help: "The search ends when the stationarity gap has fallen to this share of its \
                   first value.",
            kind: FieldKind::Real { min: 0.0, max: 1.0, default: 1e-3 },
        },
        Field {
            key: "lambda",
            name: "radius Λ",
            unit: "norm of weights",
            help: "The model's weights stay in the ball of this radius.",
            kind: FieldKind::Real { min: 1e-3, max: 1e6, default: 10.0 },
        },
        Field {
            key: "ridge",
            name: "ridge",
            unit: "squared loss",
            help: "Ridge of the weighted least squares that makes the model.",
            kind: FieldKind::Real { min: 0.0, max: 1.0, default: DEFAULT_RIDGE },
        },
    ],
};

pub struct MomentRelease;

impl Method for MomentRelease {
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
        let plan = plan(&shape, settings)?;
        let sigma = plan.scale(noise, MOMENT)?;
        let strength = settings.number("regularisation")?;
        let regularisation = regularisation(strength, shape.public_records, sigma);
        let norm = shape.bounds.feature_norm;
        Ok(Box::new(Adaptation {
            steps: plan.steps,
            iterations: settings.whole("iterations")?,
            tolerance: settings.number("tolerance")?,
            radius: settings.number("lambda")?,
            ridge: settings.number("ridge")?,
            matching: Matching::new(public.features, regularisation),
            target: public.target.unwrap_or_default(),
            moment: private.map(|data| bounded_moment(&data.features, norm)),
            search: None,
            index: 0,
        }))
    }
}

fn plan(shape: &ProblemShape, settings: &Settings) -> Result<Plan> {
    let numbers = packed_length(shape.dimension);
    let release = PlannedRelease {
        label: MOMENT,
        what: format!("the second moment of the private features, {numbers} numbers once"),
        mechanism: PlannedMechanism::Gaussian {
            l2_sensitivity: frobenius_sensitivity(shape),
            coordinates: numbers as u64,
        },
        count: 1,
        noise: Allotment::Share(1.0),
        adjacency: Adjacency::ReplaceOne,
    };
    let mut warnings = Vec::new();
    // At μ = 1 (ε of about 4 at δ = 10⁻⁵) the noise has length √(2·numbers)·r²/n, and the
    // moment at most r².
    let noise = (2.0 * numbers as f64).sqrt() / shape.private_records as f64;
    if noise > 1.0 {
        warnings.push(format!(
            "{} private records are few for the {numbers} numbers of a moment of {} features: up \
             to an ε of about 4 the noise is {noise:.1} times the moment or more; use fewer features",
            shape.private_records, shape.dimension
        ));
    }
    Ok(Plan {
        releases: vec![release],
        steps: 1 + settings.whole("iterations")?.div_ceil(ITERATIONS_PER_STEP),
        signal: shape.bounds.feature_norm.powi(2),
        warnings,
    })
}

/// c·m·σ
fn regularisation(strength: f64, public_records: usize, sigma: f64) -> f64 {
    (strength * public_records as f64 * sigma).max(LEAST_REGULARISATION)
}

/// The matching problem of given public records, for any moment.
struct Matching {
    features: Matrix,
    /// Coefficient of ½‖q − u‖².
    regularisation: f64,
    /// No smaller than the largest curvature.
    curvature: f64,
}

impl Matching {
    fn new(features: Matrix, regularisation: f64) -> Self {
        let curvature = gram_curvature(&features) + regularisation;
        Self { features, regularisation, curvature }
    }

    fn uniform(&self) -> f64 {
        1.0 / self.features.ncols() as f64
    }

    /// M(q) = M − Σ qᵢxᵢxᵢᵀ
    fn difference(&self, moment: &Matrix, q: &Vector) -> Matrix {
        difference(moment, &self.features, q)
    }

    fn value(&self, difference: &Matrix, q: &Vector) -> f64 {
        let u = self.uniform();
        let spread: f64 = q.iter().map(|q| (q - u).powi(2)).sum();
        0.5 * difference.norm_squared() + 0.5 * self.regularisation * spread
    }

    fn gradient(&self, difference: &Matrix, q: &Vector) -> Vector {
        let u = self.uniform();
        let forms = quadratic_forms(&self.features, difference);
        forms.zip_map(q, |form, q| self.regularisation * (q - u) - form)
    }

    /// max over the simplex of ⟨−∇, v − q⟩: bounds the objective's distance from its minimum.
    fn gap(&self, difference: &Matrix, q: &Vector) -> f64 {
        let gradient = self.gradient(difference, q);
        gradient.dot(q) - gradient.min()
    }
}

/// An upper bound on the largest eigenvalue of G, G_ij = (xᵢ·xⱼ)².
///
/// G has no negative entry, so max (Gv)ᵢ/vᵢ bounds it for any positive v
/// (Collatz–Wielandt), and power iteration makes the bound sharp. Gv is the quadratic
/// forms of Σ vⱼxⱼxⱼᵀ, so G itself is never formed.
fn gram_curvature(features: &Matrix) -> f64 {
    const ROUNDS: usize = 20;
    let mut v = Vector::from_element(features.ncols(), 1.0);
    let mut bound = f64::INFINITY;
    for _ in 0..ROUNDS {
        let image = quadratic_forms(features, &weighted_outer_sum(features, v.as_slice()));
        let ratios = image.iter().zip(v.iter()).filter(|(image, _)| **image > 0.0);
        bound = ratios.map(|(image, v)| image / v).fold(0.0, f64::max).min(bound);
        let largest = image.max();
        if largest <= 0.0 {
            return 0.0;
        }
        v = image / largest;
    }
    bound
}

/// The search for weights: everything in it comes from the released moment and public data.
#[derive(Debug, Clone)]
struct Search {
    /// M̃₀
    moment: Matrix,
    q: Vector,
    /// q with momentum: where the next gradient is taken.
    ahead: Vector,
    momentum: f64,
    iterations: u64,
}

impl Search {
    fn new(moment: Matrix, public_records: usize) -> Self {
        let q = Vector::from_element(public_records, 1.0 / public_records as f64);
        Self { moment, ahead: q.clone(), q, momentum: 1.0, iterations: 0 }
    }

    /// One accelerated projected gradient step (FISTA), starting the momentum afresh
    /// whenever it points uphill.
    fn advance(&mut self, matching: &Matching) {
        let difference = matching.difference(&self.moment, &self.ahead);
        let gradient = matching.gradient(&difference, &self.ahead);
        let mut next = &self.ahead - gradient / matching.curvature;
        onto_simplex(&mut next);
        let moved = &next - &self.q;
        if (&self.ahead - &next).dot(&moved) > 0.0 {
            self.momentum = 1.0;
            self.ahead.copy_from(&next);
        } else {
            let momentum = f64::midpoint(1.0, (1.0 + 4.0 * self.momentum.powi(2)).sqrt());
            self.ahead = &next + (self.momentum - 1.0) / momentum * moved;
            self.momentum = momentum;
        }
        self.q = next;
        self.iterations += 1;
    }
}

struct Adaptation {
    steps: u64,
    iterations: u64,
    tolerance: f64,
    /// Λ
    radius: f64,
    ridge: f64,
    matching: Matching,
    /// Public labels.
    target: Vec<f64>,
    /// M₀
    moment: Private<Matrix>,
    /// With its first gap; `None` before the release.
    search: Option<(Released<Search>, f64)>,
    index: u64,
}

impl Adaptation {
    fn release(&self, spender: &mut Spender) -> Result<Released<Search>> {
        let dimension = self.matching.features.nrows();
        let packed = self.moment.release_gaussian(spender, MOMENT, pack)?;
        Ok(packed.map(|packed| Search::new(unpack(&packed, dimension), self.target.len())))
    }

    fn batch(&self, search: Released<Search>) -> Released<Search> {
        search.map(|mut search| {
            let left = self.iterations - search.iterations;
            for _ in 0..ITERATIONS_PER_STEP.min(left) {
                search.advance(&self.matching);
            }
            search
        })
    }
}

impl Run for Adaptation {
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let (search, first_gap) = match self.search.take() {
            None => (self.release(spender)?, None),
            Some((search, first_gap)) => (self.batch(search), Some(first_gap)),
        };
        let Search { moment, q, .. } = search.get();
        let difference = self.matching.difference(moment, q);
        let objective = self.matching.value(&difference, q);
        let gap = self.matching.gap(&difference, q);
        if !(objective.is_finite() && gap.is_finite()) {
            return Err(Error::failed("the weights of the public records are not finite")
                .cure("raise the regularisation"));
        }
        let mut measures = vec![
            Measure::released(Series::Objective, objective),
            Measure::released(Series::StationarityGap, gap),
            Measure::released(Series::MomentDiscrepancy, spectral_norm(&difference)),
            Measure::released(Series::EffectiveSample, effective_sample(q.iter().copied())),
        ];
        let exact = |exact: &Matrix| spectral_norm(&self.matching.difference(exact, q));
        if let Some(norm) = self.moment.curator(watch, exact) {
            measures.push(Measure::curator(Series::ExactMomentDiscrepancy, norm));
        }
        self.index += 1;
        let phase = if first_gap.is_none() { "release" } else { "match" };
        let first_gap = first_gap.unwrap_or(gap);
        let done = self.index == self.steps || gap <= self.tolerance * first_gap;
        self.search = Some((search, first_gap));
        Ok(Step { index: self.index, total: self.steps, phase, measures, done })
    }

    fn model(&self) -> Option<Released<Model>> {
        let (search, _) = self.search.as_ref()?;
        let q = search.get().q.as_slice();
        let w = NormalEquations::weighted(&self.matching.features, &self.target, q)
            .in_ball(self.ridge, self.radius)?;
        Some(search.clone().map(|_| w.into()))
    }

    fn weights(&self) -> Option<Released<Vec<f64>>> {
        let (search, _) = self.search.as_ref()?;
        Some(search.clone().map(|search| search.q.as_slice().to_vec()))
    }

    fn finish(self: Box<Self>) -> Result<Released<Model>> {
        self.model().ok_or_else(|| {
            Error::failed("the run ended before its release, so there is no model")
                .cure("run it again")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::f64::consts::SQRT_2;

    use proptest::prelude::*;

    use super::*;
    use crate::adapt::example;
    use crate::adapt::spec::Value;
    use crate::numeric::golden;

    fn settings(given: &[(&str, f64)]) -> Settings {
        let given: BTreeMap<_, _> =
            given.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect();
        SPEC.check(&given).unwrap()
    }

    fn matched(matching: &Matching, moment: &Matrix, iterations: usize) -> Search {
        let mut search = Search::new(moment.clone(), matching.features.ncols());
        for _ in 0..iterations {
            search.advance(matching);
        }
        search
    }

    #[test]
    fn the_best_frobenius_match_is_close_to_the_least_spectral_one_of_the_reference() {
        let golden = golden::discrepancy();
        let matching = Matching::new(golden.records("inputs.X"), 1e-9);
        let moment = golden.rows("M0");
        let search = matched(&matching, &moment, 2000);
        let difference = matching.difference(&moment, &search.q);
        let gap = matching.gap(&difference, &search.q);
        assert!(gap < 1e-10, "{gap:e}");
        let (ours, least) = (spectral_norm(&difference), golden.number("dm_optimum.value"));
        assert!(ours >= least - 1e-8 && ours < 1.3 * least, "{ours} {least}");
        // The reference's weights are feasible here, so they cannot be better.
        let theirs = golden.vector("dm_optimum.q");
        let other = matching.value(&matching.difference(&moment, &theirs), &theirs);
        assert!(matching.value(&difference, &search.q) < other);
    }

    #[test]
    fn the_plan_announces_one_release_and_counts_batches_as_steps() {
        let (shape, public, _) = example::shifted(4, 50, 100, 4);
        let settings = settings(&[("iterations", 50.0)]);
        let plan = MomentRelease.plan(&shape, &public, example::TARGET, &settings).unwrap();
        let [release] = plan.releases.as_slice() else { panic!("{:?}", plan.releases) };
        let PlannedMechanism::Gaussian { l2_sensitivity, coordinates } = release.mechanism else {
            panic!()
        };
        assert!((l2_sensitivity - SQRT_2 / 100.0).abs() < 1e-12);
        assert_eq!((coordinates, release.count, plan.steps), (10, 1, 11));
        assert!(plan.warnings.is_empty());
        let (shape, public, _) = example::shifted(40, 50, 20, 4);
        let plan = MomentRelease.plan(&shape, &public, example::TARGET, &settings).unwrap();
        assert_eq!(plan.warnings.len(), 1);
    }

    #[test]
    fn the_curvature_bound_is_sharp_and_never_too_small() {
        let (_, public, _) = example::shifted(5, 80, 20, 6);
        let gram = (public.features.transpose() * &public.features).map(|dot| dot * dot);
        let (bound, exact) = (gram_curvature(&public.features), spectral_norm(&gram));
        assert!(bound >= exact * (1.0 - 1e-12) && bound < 1.05 * exact, "{bound} {exact}");
        assert_eq!(gram_curvature(&Matrix::zeros(3, 4)), 0.0);
        // Orthogonal groups, where power iteration does not settle, and a null record.
        let groups = Matrix::from_columns(&[
            Vector::from_vec(vec![1.0, 0.0]),
            Vector::from_vec(vec![0.0, 0.5]),
            Vector::from_vec(vec![0.0, 0.5]),
            Vector::zeros(2),
        ]);
        assert!((gram_curvature(&groups) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn more_features_than_public_records_still_end_at_a_stationary_point() {
        let (_, public, private) = example::shifted(30, 12, 60, 2);
        let matching = Matching::new(public.features, 1e-3);
        let moment = bounded_moment(&private.features, 1.0);
        let search = matched(&matching, &moment, 500);
        let difference = matching.difference(&moment, &search.q);
        let gap = matching.gap(&difference, &search.q);
        assert!(gap < 1e-9, "{gap:e}");
    }

    /// The papers' setup: 10 features, 1000 public and 8000 private records, δ = 1/8000.
    #[test]
    fn in_the_papers_setup_the_discrepancy_falls_to_the_noise() {
        let (dimension, m, n) = (10, 1000, 8000);
        let mut generator = example::generator(11);
        let mut draw = |count: usize, spread: &dyn Fn(usize, usize) -> f64| {
            let mut x = Matrix::zeros(dimension, count);
            for i in 0..count {
                let z = example::normals(&mut generator, dimension);
                let z = Vector::from_fn(dimension, |k, _| spread(i, k) * z[k]);
                x.set_column(i, &z.normalize());
            }
            x
        };
        let wide = |k: usize| if k < 2 { 3.0 } else { 0.5 };
        let target = draw(n, &|_, k| wide(k));
        let source = draw(m, &|i, k| if i % 5 == 0 { wide(k) } else { 1.0 });
        let moment = bounded_moment(&target, 1.0);
        let uniform = spectral_norm(
            &Matching::new(source.clone(), 1.0)
                .difference(&moment, &Vector::from_element(m, 1.0 / m as f64)),
        );
        // μ of ε = 1, 4, 16 at δ = 1/8000.
        for (epsilon, mu) in [(1.0, 0.3195), (4.0, 1.0568), (16.0, 3.1740)] {
            let sigma = SQRT_2 / n as f64 / mu;
            let noise = sigma * example::normals(&mut generator, packed_length(dimension));
            let noisy = unpack((Vector::from_vec(pack(&moment)) + noise).as_slice(), dimension);
            let matching = Matching::new(source.clone(), regularisation(0.1, m, sigma));
            let mut search = Search::new(noisy.clone(), m);
            let gap =
                |search: &Search| matching.gap(&matching.difference(&noisy, &search.q), &search.q);
            let first = gap(&search);
            while search.iterations < 2000 && gap(&search) > 1e-3 * first {
                for _ in 0..ITERATIONS_PER_STEP {
                    search.advance(&matching);
                }
            }
            let exact = spectral_norm(&matching.difference(&moment, &search.q));
            let noise = spectral_norm(&(&noisy - &moment));
            println!(
                "ε = {epsilon}: {exact:.4} (noise {noise:.4}, uniform {uniform:.3}) \
                 after {} iterations, {:.0} effective, gap {first:.3e} -> {:.3e}",
                search.iterations,
                effective_sample(search.q.iter().copied()),
                gap(&search)
            );
            assert!(search.iterations < 2000);
            assert!(exact < 1.5 * noise + 0.01 * uniform, "{exact} {noise}");
        }
    }

    proptest! {
        #[test]
        fn the_gradient_is_the_slope_of_the_value_and_the_gap_bounds_the_distance_to_the_minimum(
            seed in 0_u64..200,
            strength in 1e-3..1.0_f64,
        ) {
            let (_, public, private) = example::shifted(4, 15, 30, seed);
            let matching = Matching::new(public.features, strength);
            let moment = bounded_moment(&private.features, 1.0);
            let mut generator = example::generator(seed);
            let mut q = example::normals(&mut generator, 15);
            onto_simplex(&mut q);
            let way = example::normals(&mut generator, 15);
            let value = |q: &Vector| matching.value(&matching.difference(&moment, q), q);
            let difference = matching.difference(&moment, &q);
            let slope = matching.gradient(&difference, &q).dot(&way);
            let tiny = 1e-5;
            let rise = (value(&(&q + tiny * &way)) - value(&(&q - tiny * &way))) / (2.0 * tiny);
            prop_assert!((rise - slope).abs() < 1e-7 * (1.0 + slope.abs()));

            let best = matched(&matching, &moment, 300);
            let gap = matching.gap(&difference, &q);
            prop_assert!(gap >= value(&q) - value(&best.q) - 1e-12);
            prop_assert!(value(&q) >= value(&best.q) - 1e-12);
        }
    }
}
