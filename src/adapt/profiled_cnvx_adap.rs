//! Profiled CnvxAdap: closed-form weights, noise on the gradient alone.
//!
//! Record i has a largest weight cᵢ (α/m public, (1−α)/n private) and a loss
//! aᵢ = (xᵢ·w − yᵢ)² + d̂·\[public\]. The weights qᵢ = cᵢ·min(1, √(κ₁/aᵢ)) minimise the
//! objective of CnvxAdap over q in closed form; what remains is the convex
//!
//! > F(w) = Σ cᵢ·φ(aᵢ),  φ(a) = a for a ≤ κ₁, else 2√(κ₁a) − κ₁,
//!
//! which is Huber's loss of the residual where d̂ = 0.
//!
//! *Sensitivity.* φ′(a) = min(1, √(κ₁/a)). A private record has aᵢ = resᵢ², so it moves
//! the gradient by 2cᵢ·φ′(aᵢ)·|resᵢ|·‖xᵢ‖ = 2cᵢ·min(|resᵢ|, √κ₁)·‖xᵢ‖ ≤ 2(1−α)√κ₁·r/n,
//! whatever w and yᵢ are. Replacing it moves the sum by at most twice that, and two
//! records that pull in opposite directions attain it. The bound is enforced record by
//! record, so it does not rest on the data being clipped as declared.

use nalgebra::{Cholesky, Dyn};

use super::baseline::{DEFAULT_RIDGE, ridge_solution};
use super::spec::{Field, FieldKind};
use super::{
    Measure, Method, Plan, Problem, ProblemShape, Run, Series, Settings, Spec, Step,
    effective_sample,
};
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::model::{LinearModel, Model};
use crate::numeric::projection::shrink_factor;
use crate::numeric::rounding::summation_error;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::numeric::{Matrix, Vector};
use crate::privacy::accountant::PlannedMechanism;
use crate::privacy::{
    Adjacency, Allotment, Calibrated, PlannedRelease, Private, Released, Spender, Target, Watch,
};

const GRADIENT: &str = "gradient";

static SPEC: Spec = Spec {
    id: "profiled_cnvx_adap",
    name: "Profiled CnvxAdap",
    summary: "Linear regression on public and private records together; every record's \
              weight follows its loss, and noise goes on the private part of the gradient.",
    task: Task::Regression,
    needs_private_labels: true,
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
            key: "kappa_scale",
            name: "outlier threshold",
            unit: "public residual sd",
            help: "Records whose residual is larger than this many standard deviations of \
                   the public residual lose weight (κ₁ is the square of the product). Lower \
                   bounds each record's influence more tightly, so less noise is needed.",
            kind: FieldKind::Real { min: 0.1, max: 10.0, default: 1.5 },
        },
        Field {
            key: "steps",
            name: "steps T",
            unit: "gradients",
            help: "Noisy gradient steps. The noise per step grows with the square root of \
                   their number.",
            kind: FieldKind::Whole { min: 1, max: 2000, default: 60 },
        },
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
            kind: FieldKind::Real { min: 0.01, max: 1000.0, default: 10.0 },
        },
        Field {
            key: "public_penalty",
            name: "public penalty d̂",
            unit: "squared loss",
            help: "Added to the loss of every public record before it is weighted: a known \
                   discrepancy between public and private data. It must be known without \
                   looking at the private data.",
            kind: FieldKind::Real { min: 0.0, max: 4.0, default: 0.0 },
        },
        Field {
            key: "ridge",
            name: "ridge",
            unit: "squared loss",
            help: "Ridge of the public solution that the run starts from.",
            kind: FieldKind::Real { min: 1e-9, max: 1.0, default: DEFAULT_RIDGE },
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

pub struct ProfiledCnvxAdap;

impl Method for ProfiledCnvxAdap {
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
        let start = ridge_solution(public, settings.number("ridge")?)?;
        let profile = Profile::fit(public, &start, settings)?;
        plan(shape, &profile, settings)
    }

    fn start(
        &self,
        problem: Problem,
        settings: &Settings,
        noise: &Calibrated,
    ) -> Result<Box<dyn Run>> {
        problem.check(SPEC.task, SPEC.needs_private_labels)?;
        let Problem { shape, public, private, .. } = problem;
        let start = ridge_solution(&public, settings.number("ridge")?)?;
        let profile = Profile::fit(&public, &start, settings)?;
        let sigma = plan(&shape, &profile, settings)?.scale(noise, GRADIENT)?;
        let pull = settings.number("pull")? * sigma;
        let uniform = vec![1.0 / public.len() as f64; public.len()];
        let moment = weighted_outer_sum(&public.features, &uniform);
        let descent = Descent::new(start, &moment, pull, settings.number("step_size")?)?;
        Ok(Box::new(Adaptation {
            steps: settings.whole("steps")?,
            average: settings.number("average")?,
            records: shape.private_records,
            norm: shape.bounds.feature_norm,
            profile,
            public,
            private,
            descent,
            model: None,
        }))
    }
}

fn plan(shape: &ProblemShape, profile: &Profile, settings: &Settings) -> Result<Plan> {
    let steps = settings.whole("steps")?;
    let dimension = shape.dimension;
    let release = PlannedRelease {
        label: GRADIENT,
        what: format!("the private part of the gradient, {dimension} numbers in each step"),
        mechanism: PlannedMechanism::Gaussian {
            l2_sensitivity: profile.sensitivity(shape),
            coordinates: dimension as u64,
        },
        count: steps,
        noise: Allotment::Share(1.0),
        adjacency: Adjacency::ReplaceOne,
    };
    let mut warnings = Vec::new();
    if shape.public_records <= 2 * dimension {
        warnings.push(format!(
            "{} public records for {dimension} features: the public residual is too small a \
             guide to the outlier threshold; raise it, or use more public records",
            shape.public_records
        ));
    }
    // At μ = 1 (ε of about 4 at δ = 10⁻⁵) the noise of one step has length Δ√(T·d), and
    // the gradient at most nΔ/2.
    let noise = 2.0 * (steps as f64 * dimension as f64).sqrt() / shape.private_records as f64;
    if noise > 1.0 {
        warnings.push(format!(
            "{} private records are few for {dimension} features and {steps} steps: up to an ε \
             of about 4 the noise is {noise:.1} times the largest possible gradient or more, and \
             the model will hardly leave the public one; take fewer steps or fewer features",
            shape.private_records
        ));
    }
    Ok(Plan {
        releases: vec![release],
        steps,
        signal: profile.influence(shape.private_records, shape.bounds.feature_norm)
            * shape.private_records as f64,
        warnings,
    })
}

/// The shape of the objective: known before private data are touched.
#[derive(Debug, Clone, Copy)]
struct Profile {
    alpha: f64,
    /// κ₁
    kappa: f64,
    /// d̂ ≥ 0, on public records only: on private ones it would break the sensitivity.
    penalty: f64,
}

impl Profile {
    fn fit(public: &Dataset, start: &Vector, settings: &Settings) -> Result<Self> {
        // About zero, not about its mean: it stands for the size of a usual residual.
        let residual = LinearModel::from(start.clone())
            .mean_squared_error(&public.features, public.target.as_deref().unwrap_or_default())
            .sqrt();
        // Rounding alone leaves 10⁻¹⁶ of the labels.
        if residual.is_nan() || residual <= 1e-9 * public.bounds.label {
            return Err(Error::failed(format!(
                "the public dataset '{}' is fitted without any residual, which leaves no scale \
                 for the outlier threshold",
                public.name
            ))
            .cure("use more public records, drop a feature that repeats the label, or raise the ridge"));
        }
        Ok(Self {
            alpha: settings.number("alpha")?,
            kappa: (settings.number("kappa_scale")? * residual).powi(2),
            penalty: settings.number("public_penalty")?,
        })
    }

    /// Largest norm of one private record's part of the gradient.
    fn influence(&self, records: usize, norm: f64) -> f64 {
        2.0 * (1.0 - self.alpha) / records as f64 * self.kappa.sqrt() * norm
    }

    /// Replace-one ℓ₂ sensitivity of the private gradient *as it is computed*: the sum of
    /// n floating-point vectors is not the true sum, under either neighbour.
    fn sensitivity(&self, shape: &ProblemShape) -> f64 {
        let n = shape.private_records;
        let rounding = n as f64 * summation_error(n + shape.dimension + 16);
        2.0 * self.influence(n, shape.bounds.feature_norm) * (1.0 + rounding)
    }

    fn public<'a>(&self, data: &'a Dataset) -> Part<'a> {
        let weight = self.alpha / data.len() as f64;
        Part::new(data, weight, self.penalty, self.kappa, f64::INFINITY)
    }

    fn private<'a>(&self, data: &'a Dataset, records: usize, norm: f64) -> Part<'a> {
        let weight = (1.0 - self.alpha) / records as f64;
        Part::new(data, weight, 0.0, self.kappa, self.influence(records, norm))
    }
}

/// φ(a)
fn profiled_loss(loss: f64, kappa: f64) -> f64 {
    if loss <= kappa { loss } else { 2.0 * (kappa * loss).sqrt() - kappa }
}

/// φ′(a): the share of its largest weight that a record keeps.
fn kept_weight(loss: f64, kappa: f64) -> f64 {
    if loss <= kappa { 1.0 } else { (kappa / loss).sqrt() }
}

/// The records of one dataset in the objective.
struct Part<'a> {
    features: &'a Matrix,
    target: &'a [f64],
    /// cᵢ
    weight: f64,
    penalty: f64,
    kappa: f64,
    /// No record moves the gradient by more.
    influence: f64,
}

impl<'a> Part<'a> {
    fn new(data: &'a Dataset, weight: f64, penalty: f64, kappa: f64, influence: f64) -> Self {
        // That there are labels was checked at the start of the run.
        let target = data.target.as_deref().unwrap_or_default();
        Self { features: &data.features, target, weight, penalty, kappa, influence }
    }

    /// aᵢ and xᵢ·w − yᵢ of every record.
    fn losses(&self, w: &Vector) -> impl Iterator<Item = (f64, f64)> {
        self.features.column_iter().zip(self.target).map(|(x, y)| {
            let residual = x.dot(w) - y;
            (residual * residual + self.penalty, residual)
        })
    }

    /// Σ cᵢφ(aᵢ)
    fn value(&self, w: &Vector) -> f64 {
        self.weight * self.losses(w).map(|(loss, _)| profiled_loss(loss, self.kappa)).sum::<f64>()
    }

    /// qᵢ = cᵢφ′(aᵢ)
    fn weights(&self, w: &Vector) -> impl Iterator<Item = f64> {
        self.losses(w).map(|(loss, _)| self.weight * kept_weight(loss, self.kappa))
    }

    /// Σ cᵢφ′(aᵢ)·2(xᵢ·w − yᵢ)xᵢ, every term clipped to `influence`. For records within
    /// the declared bounds the clip changes nothing. A record that is not made of numbers
    /// counts for nothing.
    fn gradient(&self, w: &Vector) -> Vector {
        let mut sum = Vector::zeros(w.len());
        for (x, (loss, residual)) in self.features.column_iter().zip(self.losses(w)) {
            let slope = 2.0 * self.weight * kept_weight(loss, self.kappa) * residual;
            let shrink = shrink_factor(slope.abs() * x.norm(), self.influence);
            if shrink > 0.0 {
                sum.axpy(shrink * slope, &x, 1.0);
            }
        }
        sum
    }
}

/// Preconditioned gradient descent around the public solution.
struct Descent {
    /// w_pub, then every iterate.
    iterates: Vec<Vector>,
    /// ρσ
    pull: f64,
    step_size: f64,
    /// 2C_pub + ρσI
    curvature: Cholesky<f64, Dyn>,
}

impl Descent {
    fn new(start: Vector, public_moment: &Matrix, pull: f64, step_size: f64) -> Result<Self> {
        let mut curvature = 2.0 * public_moment;
        for k in 0..curvature.nrows() {
            curvature[(k, k)] += pull;
        }
        let curvature = curvature.cholesky().ok_or_else(|| {
            Error::failed("the public features are collinear and the pull is too weak to tell")
                .cure("raise the pull, or drop columns that say the same")
        })?;
        Ok(Self { iterates: vec![start], pull, step_size, curvature })
    }

    fn current(&self) -> &Vector {
        &self.iterates[self.iterates.len() - 1]
    }

    /// The gradient of the pull at the current iterate.
    fn pull(&self) -> Vector {
        self.pull * (self.current() - &self.iterates[0])
    }

    /// One step along `gradient`, which includes the pull.
    fn advance(&mut self, gradient: &Vector) -> Result<()> {
        let next = self.current() - self.step_size * self.curvature.solve(gradient);
        if next.iter().all(|w| w.is_finite()) {
            self.iterates.push(next);
            Ok(())
        } else {
            Err(Error::failed(format!(
                "the weights grew without bound in step {}",
                self.iterates.len()
            ))
            .cure("take a smaller step size or a stronger pull"))
        }
    }

    /// The mean of the last `share` of the steps so far; at least one.
    fn average(&self, share: f64) -> Vector {
        let steps = self.iterates.len() - 1;
        let kept = ((share * steps as f64).ceil() as usize).clamp(1, steps.max(1));
        let tail = &self.iterates[self.iterates.len() - kept..];
        tail.iter().fold(Vector::zeros(self.current().len()), |sum, w| sum + w) / kept as f64
    }
}

struct Adaptation {
    steps: u64,
    average: f64,
    /// n
    records: usize,
    /// r
    norm: f64,
    profile: Profile,
    public: Dataset,
    private: Private<Dataset>,
    descent: Descent,
    model: Option<Released<Model>>,
}

impl Run for Adaptation {
    /// All measures of a step describe the point at which its gradient was taken.
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let Self { profile, records, norm, .. } = *self;
        let at = self.descent.current().clone();
        let public = profile.public(&self.public);
        let seen = public.gradient(&at) + self.descent.pull();
        let weights: Vec<f64> = public.weights(&at).collect();
        let objective = public.value(&at);

        let exact = self.private.map(|data| profile.private(data, records, norm).gradient(&at));
        let noisy = exact.release_gaussian(spender, GRADIENT, |g| g.as_slice().to_vec())?;
        let total = noisy.map(|noisy| &seen + Vector::from_vec(noisy));

        let mut measures = vec![
            Measure::released(Series::Objective, objective),
            Measure::released(Series::StationarityGap, total.get().norm()),
            Measure::released(Series::EffectiveSample, effective_sample(weights.iter().copied())),
        ];
        if let Some(gap) = exact.curator(watch, |exact| (&seen + exact).norm()) {
            measures.push(Measure::curator(Series::ExactStationarityGap, gap));
        }
        let look = |data: &Dataset| {
            let private = profile.private(data, records, norm);
            (private.value(&at), private.weights(&at).sum::<f64>())
        };
        if let Some(looked) = self.private.curator(watch, look) {
            let value = looked.clone().map(|(value, _)| objective + value);
            measures.push(Measure::curator(Series::ExactObjective, value));
            let on_public: f64 = weights.iter().sum();
            let share = looked.map(|(_, on_private)| on_public / (on_public + on_private));
            measures.push(Measure::curator(Series::PublicWeight, share));
        }

        self.descent.advance(total.get())?;
        self.model = Some(total.map(|_| self.descent.average(self.average).into()));
        let index = self.descent.iterates.len() as u64 - 1;
        let done = index == self.steps;
        Ok(Step { index, total: self.steps, phase: "descend", measures, done })
    }

    fn model(&self) -> Option<Released<Model>> {
        self.model.clone()
    }

    fn weights(&self) -> Option<Released<Vec<f64>>> {
        let at = self.descent.average(self.average);
        let weights = self.profile.public(&self.public).weights(&at).collect();
        Some(self.model.clone()?.map(|_| weights))
    }

    fn finish(self: Box<Self>) -> Result<Released<Model>> {
        self.model.ok_or_else(|| {
            Error::failed("the run ended before its first step, so there is no model")
                .cure("run it again")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::adapt::example;
    use crate::adapt::spec::Value;
    use crate::data::Bounds;
    use crate::numeric::golden;

    fn settings(given: &[(&str, f64)]) -> Settings {
        let given: BTreeMap<_, _> =
            given.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect();
        SPEC.check(&given).unwrap()
    }

    /// The five records of the reference, with its α.
    fn reference(kappa: f64, penalty: f64) -> (Profile, Dataset, Dataset) {
        let golden = golden::adaptation();
        let data = |x: &str, y: &str| {
            example::labelled(golden.records(x), golden.vector(y).as_slice().to_vec())
        };
        let profile = Profile { alpha: golden.number("common.alpha"), kappa, penalty };
        let public = data("common.Xpub", "common.ypub");
        (profile, public, data("common.Xpriv", "common.ypriv"))
    }

    fn shape_of(records: usize, dimension: usize, norm: f64) -> ProblemShape {
        ProblemShape {
            private_records: records,
            public_records: 100,
            dimension,
            bounds: Bounds { feature_norm: norm, label: 1.0 },
            private_labels: true,
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
            let value = weight * (profiled_loss(loss, kappa) + kappa);
            assert!((value - case.number("phi")).abs() < 1e-12);
            let q = weight * kept_weight(loss, kappa);
            assert!((1.0 / q - case.number("u_star")).abs() < 1e-10);
        }
    }

    #[test]
    fn objective_gradient_and_weights_agree_with_the_reference() {
        let golden = golden::adaptation();
        let kappa = golden.number("profiled_F.kappa1");
        let (profile, public, private) = reference(kappa, golden.number("common.d_dp"));
        let (public, private) = (profile.public(&public), profile.private(&private, 2, 1.0));
        let w = golden.vector("common.w");
        let value = public.value(&w) + private.value(&w);
        assert!((value - golden.number("profiled_F.value")).abs() < 1e-13);
        let gradient = public.gradient(&w) + private.gradient(&w);
        golden::assert_near(&gradient, &golden.vector("profiled_F.grad_w"), 1e-13);
        let q: Vec<f64> = public.weights(&w).chain(private.weights(&w)).collect();
        golden::assert_near(&Vector::from_vec(q), &golden.vector("profiled_F.q_star"), 1e-13);
        let cap = golden.number("profiled_F.per_record_grad_cap_over_p0");
        assert!((private.influence / private.weight - cap).abs() < 1e-13);
    }

    #[test]
    fn a_step_from_the_public_solution_agrees_with_the_reference() {
        let golden = golden::adaptation();
        let number = |key: &str| golden.number(&format!("cnvxP_step.{key}"));
        let (profile, public, private) = reference(number("kappa1"), number("d"));
        let moment = weighted_outer_sum(&public.features, &[1.0 / 3.0; 3]);
        let start = ridge_solution(&public, number("public_ridge")).unwrap();
        let mut descent =
            Descent::new(start.clone(), &moment, number("precond_eps"), number("eta")).unwrap();
        let gradient = profile.public(&public).gradient(&start)
            + profile.private(&private, 2, 1.0).gradient(&start)
            + descent.pull();
        golden::assert_near(&gradient, &golden.vector("cnvxP_step.grad_at_w_pub"), 1e-13);
        descent.advance(&gradient).unwrap();
        golden::assert_near(descent.current(), &golden.vector("cnvxP_step.w_next"), 1e-9);
    }

    #[test]
    fn without_noise_the_descent_reaches_the_minimiser_of_the_reference() {
        let golden = golden::adaptation();
        let kappa = golden.number("F_minimiser.kappa1");
        let (profile, public, private) = reference(kappa, golden.number("F_minimiser.d"));
        let moment = weighted_outer_sum(&public.features, &[1.0 / 3.0; 3]);
        let start = ridge_solution(&public, 0.01).unwrap();
        let mut descent = Descent::new(start, &moment, 1e-12, 0.5).unwrap();
        let (public, private) = (profile.public(&public), profile.private(&private, 2, 1.0));
        for _ in 0..500 {
            let w = descent.current();
            let gradient = public.gradient(w) + private.gradient(w) + descent.pull();
            descent.advance(&gradient).unwrap();
        }
        let w = descent.current();
        golden::assert_near(w, &golden.vector("F_minimiser.w"), 1e-9);
        let value = public.value(w) + private.value(w);
        assert!((value - golden.number("F_minimiser.value")).abs() < 1e-12);
    }

    #[test]
    fn opposite_records_attain_the_sensitivity() {
        let (n, r) = (50, 0.8);
        let profile = Profile { alpha: 0.1, kappa: 0.04, penalty: 0.3 };
        let mut ours = example::shifted(3, 10, n, 5).2;
        ours.features *= r;
        ours.features.set_column(7, &Vector::from_vec(vec![0.0, r, 0.0]));
        let mut theirs = ours.clone();
        ours.target.as_mut().unwrap()[7] = 1.0;
        theirs.target.as_mut().unwrap()[7] = -1.0;
        let w = Vector::from_vec(vec![0.3, 0.1, -0.2]);
        let gradient = |data: &Dataset| profile.private(data, n, r).gradient(&w);
        let moved = (gradient(&ours) - gradient(&theirs)).norm();
        let sensitivity = profile.sensitivity(&shape_of(n, 3, r));
        assert!(moved <= sensitivity && moved > 0.99 * sensitivity, "{moved} {sensitivity}");
        let formula = 4.0 * (1.0 - 0.1) * 0.2 * r / n as f64;
        assert!(sensitivity >= formula && sensitivity < formula * (1.0 + 1e-10));
    }

    #[test]
    fn clipping_changes_no_record_within_its_bounds() {
        let (shape, _, private) = example::shifted(6, 10, 80, 2);
        let profile = Profile { alpha: 0.2, kappa: 0.01, penalty: 0.0 };
        let clipped = profile.private(&private, 80, shape.bounds.feature_norm);
        let free = Part { influence: f64::INFINITY, ..profile.private(&private, 80, 1.0) };
        for seed in 0..20 {
            let w = example::normals(&mut example::generator(seed), 6);
            golden::assert_near(&clipped.gradient(&w), &free.gradient(&w), 1e-15);
        }
    }

    #[test]
    fn a_record_that_is_not_made_of_numbers_counts_for_nothing() {
        let (_, _, private) = example::shifted(3, 10, 20, 2);
        let profile = Profile { alpha: 0.2, kappa: 0.01, penalty: 0.0 };
        let w = Vector::from_vec(vec![0.3, 0.1, -0.2]);
        let mut null = private.clone();
        null.features.set_column(4, &Vector::zeros(3));
        let without = profile.private(&null, 20, 1.0).gradient(&w);
        for bad in [f64::NAN, f64::INFINITY] {
            let mut broken = private.clone();
            broken.features[(1, 4)] = bad;
            assert_eq!(profile.private(&broken, 20, 1.0).gradient(&w), without);
        }
    }

    #[test]
    fn the_plan_announces_one_gradient_per_step_with_the_derived_sensitivity() {
        let (shape, public, _) = example::shifted(5, 300, 200, 1);
        let settings = settings(&[("steps", 7.0), ("alpha", 0.25), ("kappa_scale", 2.0)]);
        let plan = ProfiledCnvxAdap.plan(&shape, &public, example::TARGET, &settings).unwrap();
        let w = ridge_solution(&public, DEFAULT_RIDGE).unwrap();
        let errors = public.features.tr_mul(&w) - Vector::from_vec(public.target.clone().unwrap());
        let kappa = 4.0 * errors.norm_squared() / 300.0;
        let expected = 4.0 * 0.75 * kappa.sqrt() / 200.0;
        let [release] = plan.releases.as_slice() else { panic!("{:?}", plan.releases) };
        let PlannedMechanism::Gaussian { l2_sensitivity, coordinates } = release.mechanism else {
            panic!()
        };
        assert!((l2_sensitivity / expected - 1.0).abs() < 1e-9);
        assert_eq!((coordinates, release.count, plan.steps), (5, 7, 7));
        assert_eq!(release.adjacency, Adjacency::ReplaceOne);
        assert!((plan.signal - 100.0 * expected).abs() < 1e-9);
        assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    }

    #[test]
    fn hopeless_plans_are_warned_of_and_a_public_fit_without_residual_is_refused() {
        let (shape, public, _) = example::shifted(5, 9, 20, 1);
        let plan = ProfiledCnvxAdap.plan(&shape, &public, example::TARGET, &settings(&[])).unwrap();
        assert_eq!(plan.warnings.len(), 2, "{:?}", plan.warnings);
        let constant = Dataset { target: Some(vec![0.0; 9]), ..public };
        let error =
            ProfiledCnvxAdap.plan(&shape, &constant, example::TARGET, &settings(&[])).unwrap_err();
        assert!(error.what().contains("without any residual"), "{error}");
    }

    #[test]
    fn the_average_takes_the_last_share_of_the_steps_and_never_the_start() {
        let mut descent =
            Descent::new(Vector::zeros(1), &Matrix::identity(1, 1), 0.0, 1.0).unwrap();
        for _ in 0..5 {
            descent.advance(&Vector::from_vec(vec![-2.0])).unwrap();
        }
        for (share, mean) in [(0.0, 5.0), (0.2, 5.0), (0.5, 4.0), (1.0, 3.0)] {
            assert!((descent.average(share)[0] - mean).abs() < 1e-12, "{share}");
        }
    }

    #[test]
    fn weights_that_grow_without_bound_are_an_error() {
        let mut descent =
            Descent::new(Vector::zeros(1), &Matrix::identity(1, 1), 0.0, 1.0).unwrap();
        let error = descent.advance(&Vector::from_vec(vec![f64::INFINITY])).unwrap_err();
        assert!(error.what().contains("step 1"), "{error}");
        assert_eq!(descent.current()[0], 0.0);
    }

    #[test]
    fn with_the_noise_of_a_fair_budget_the_model_fits_private_data_better_than_the_public_one() {
        // μ = 0.268 is ε = 1 at δ = 1e-5.
        let (dimension, n, steps) = (8, 3000, 60.0_f64);
        let settings = settings(&[]);
        for seed in 0..3 {
            let (shape, public, private) = example::shifted(dimension, 2000, n, seed);
            let start = ridge_solution(&public, DEFAULT_RIDGE).unwrap();
            let profile = Profile::fit(&public, &start, &settings).unwrap();
            let sigma = profile.sensitivity(&shape) * steps.sqrt() / 0.268;
            let moment = weighted_outer_sum(&public.features, &vec![1.0 / 2000.0; 2000]);
            let mut descent = Descent::new(start.clone(), &moment, 10.0 * sigma, 0.5).unwrap();
            let mut generator = example::generator(100 + seed);
            for _ in 0..60 {
                let w = descent.current();
                let gradient = profile.public(&public).gradient(w)
                    + profile.private(&private, n, 1.0).gradient(w)
                    + sigma * example::normals(&mut generator, dimension)
                    + descent.pull();
                descent.advance(&gradient).unwrap();
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
            // Features up to five times the declared norm: bad bounds must not break it.
            let (n, w) = (20, Vector::from_vec(w));
            let profile = Profile { alpha, kappa, penalty };
            let ours = example::shifted(3, 10, n, 5).2;
            let with = |x: &[f64], y: f64| {
                let mut data = ours.clone();
                data.features.set_column(0, &Vector::from_column_slice(x));
                data.target.as_mut().unwrap()[0] = y;
                profile.private(&data, n, 1.0).gradient(&w)
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
            let profile = Profile { alpha: 0.3, kappa, penalty };
            for part in [profile.public(&public), profile.private(&private, 25, 1.0)] {
                let gradient = part.gradient(&w);
                let tiny = 1e-6;
                let rise = (part.value(&(&w + tiny * &v)) - part.value(&(&w - tiny * &v))) / (2.0 * tiny);
                prop_assert!((rise - gradient.dot(&v)).abs() < 1e-6 * (1.0 + v.norm_squared()));
                let line = part.value(&w) + gradient.dot(&(&v - &w));
                prop_assert!(part.value(&v) >= line - 1e-12);
            }
        }
    }
}
