//! Moment release: the target moment is released once, everything else is post-processing.
//!
//! The second moment M₀ = (1/n)Σ x̃x̃ᵀ of the private features is released once. Then weights on
//! the public records are computed: in *two stages*, weights that match the moment
//! ([`super::matching`]) and then weighted least squares in a ball; or *jointly* with the model
//! ([`super::joint`]). M̃₀ is not made positive: removing its negative eigenvalues would only bias
//! it.
//!
//! *Sensitivity.* That of the moment in Frobenius norm ([`super::moment`]). The release is the
//! packed upper triangle with off-diagonal entries times √2, whose ℓ₂ norm is that Frobenius norm:
//! noise σ on it is σ on the diagonal and σ/√2 off it. If it has more numbers than there are public
//! records, the kernel form releases the moment in the coordinates of those records instead
//! ([`super::kernel`]). The search uses accelerated projected gradients, in the kernel form moves
//! of weight between two records.

use std::sync::Arc;

use super::discrepancy::largest_square_of;
use super::joint::Joint;
use super::kernel::{self, FormSearch, Kernel};
use super::matching::{Matching, regularisation};
use super::moment::{difference, frobenius_sensitivity, moment_of};
use super::reweighting::{MOST_FEATURES, RADIUS, RIDGE, TEMPERATURE, USUAL_TEMPERATURE};
use crate::numeric::accelerated::{Accelerated, simplex_gap};
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::symmetric::{pack, packed_length, spectral_norm, unpack};
use crate::prelude::*;
use crate::privacy::openings::{OpenPrivate, OpenReleased};

const MOMENT: &str = "moment";

/// Iterations per step of the run: few enough for charts to move and a pause to take effect at
/// once, and enough for measuring to cost less than searching.
pub const ITERATIONS_PER_STEP: u64 = 5;

/// An iteration of the kernel form makes one move of weight per this many public records.
const RECORDS_PER_MOVE: u64 = 100;

choices! {
    pub enum Goal { TwoStage = "two_stage", Joint = "joint" }
}

choices! {
    pub enum WantedForm { Automatic = "automatic", Dense = "dense", Kernel = "kernel" }
}

static SPEC: Spec = Spec {
    id: "moment_release",
    name: "public records re-weighted",
    paper: "Moment release",
    summary: "Linear regression for a private target without labels: its feature moment is \
              released once, and public records are re-weighted to match it.",
    line: "made to look like the private ones; needs no private label",
    task: Task::Regression,
    needs_private_labels: false,
    fields: MomentReleaseSettings::FIELDS,
    tries: &[("regularisation", &[0.01, 0.1, 0.3])],
    place: 2,
    may_end_early: true,
    most_features: Some(MOST_FEATURES),
    variants: &[("joint", "goal", "joint"), ("kernel", "form", "kernel")],
    gap: Gap::FRANK_WOLFE_OF_RELEASE,
    ..Spec::DEFAULT
};

settings! {
    struct MomentReleaseSettings {
        goal: Goal = Goal::or(Goal::TwoStage).named("goal", "").help(
            "two_stage matches the moment, then fits the model. joint minimises the model's loss \
             plus 4Λ² times the discrepancy over both: set Λ to the size that the model may \
             have.",
        ),
        form: WantedForm = WantedForm::or(WantedForm::Automatic).named("form", "").help(
            "dense releases the moment; kernel what the public records see of it, which is less \
             with more than √m features. automatic takes the smaller.",
        ),
        regularisation: f64 = real(0.0, 100.0, 0.03)
            .named("regularisation c", "times noise sd")
            .help(
                "How strongly the weights are held at uniform, in units of the noise times the \
                 number of public records. Higher keeps more records in use and fits less of the \
                 noise.",
            ),
        iterations: u64 = whole(1, 100_000, 2000).named("iterations", "").help(
            "Most iterations of the weight search: gradient steps, or in the kernel form one \
             move of weight between two records for every hundred of them. They cost time, not \
             privacy.",
        ),
        tolerance: Option<f64> = automatic(1.0).named("tolerance", "share of first gap").help(
            "The search ends when the stationarity gap has fallen to this share of its first \
             value. automatic takes 1e-5 in two stages and 1e-3 jointly, where an early end \
             keeps more records in use.",
        ),
        temperature: Option<f64> = TEMPERATURE,
        lambda: f64 = RADIUS,
        ridge: f64 = RIDGE,
    }
}

/// The method of this module.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let settings = MomentReleaseSettings::of(settings)?;
    let square = largest_square_of(&problem.public)?;
    let Problem { shape, public, .. } = &problem;
    let takes_kernel = takes_kernel(shape, settings)?;
    if takes_kernel {
        public.fit_into_memory()?;
        kernel::fits_into_memory(public.len())?;
    }
    let (numbers, sensitivity, of) = if takes_kernel {
        let of = "private features, as the public records see it";
        (shape.public_records, kernel::sensitivity(shape), of)
    } else {
        (packed_length(shape.dimension), frobenius_sensitivity(shape), "private features")
    };
    let release = Release::new(MOMENT, Gaussian { sensitivity, numbers });
    let what = format!("the second moment of the {of}, {numbers} numbers once");
    let announced = release.announced(what, 1, Allotment::Share(1.0), Adjacency::ReplaceOne);
    let steps = 1 + settings.iterations.div_ceil(ITERATIONS_PER_STEP);
    let norm = shape.bounds.feature_norm;
    let mut plan = Plan::new(vec![announced], steps, norm.powi(2));
    let theory = crate::theory::UnlabelledSizes::of(shape, square, settings.lambda, 0.0, target);
    plan.theory = theory.learning_bound(None);
    // At μ = 1 (ε of about 4 at δ = 10⁻⁵) the noise has length √(2·numbers)·r²/n, and the
    // moment at most r².
    let noise = (2.0 * numbers as f64).sqrt() / shape.private_records as f64;
    if noise > 1.0 {
        plan.warnings.push(format!(
            "{} private records are few for the {numbers} numbers of a moment of {} features: up \
             to an ε of about 4 the noise is {noise:.1} times the moment or more; use fewer features",
            shape.private_records, shape.dimension
        ));
    }
    let start: Start = Box::new(move |private, noise| {
        let public = problem.public.shared();
        let sigma = noise.scale(&release)?;
        let regularisation = regularisation(settings.regularisation, public.len(), sigma);
        let kernel = takes_kernel
            .then(|| Kernel::new(problem.public.whole()?.as_ref()).map(Arc::new))
            .transpose()?;
        let temperature = settings.temperature.unwrap_or(USUAL_TEMPERATURE) / norm.powi(2);
        let (radius, ridge) = (settings.lambda, settings.ridge);
        let (joint, usual_tolerance) = match settings.goal {
            Goal::Joint => (Some(Joint { temperature, radius, ridge }), 1e-3),
            Goal::TwoStage => (None, 1e-5),
        };
        Ok(Box::new(MomentRun {
            release,
            steps,
            settings,
            tolerance: settings.tolerance.unwrap_or(usual_tolerance),
            norm,
            matching: Matching { public, regularisation },
            kernel,
            joint,
            moment: private.map_unseen(|data| moment_of(data, norm)),
            search: None,
            index: 0,
        }))
    });
    Ok((plan, start))
}

/// Whether the kernel form is released.
fn takes_kernel(shape: &ProblemShape, settings: MomentReleaseSettings) -> Result<bool> {
    match (settings.form, settings.goal) {
        (WantedForm::Kernel, Goal::Joint) => Err(Error::usage(
            "the joint goal needs the eigenvalues of the moment, which the kernel form does not \
             release",
        )
        .cure("choose form: \"dense\", or goal: \"two_stage\"")),
        (WantedForm::Kernel, Goal::TwoStage) => Ok(true),
        (WantedForm::Automatic, Goal::TwoStage) => Ok(kernel::pays(shape)),
        (WantedForm::Automatic, Goal::Joint) | (WantedForm::Dense, _) => Ok(false),
    }
}

/// The search; everything in it comes from the released moment and public data.
#[derive(Debug, Clone)]
enum Search {
    /// With M̃₀.
    Dense(Matrix, Accelerated),
    Kernel(FormSearch),
}

impl Search {
    /// q
    fn point(&self) -> &Vector {
        match self {
            Self::Dense(_, descent) => &descent.point,
            Self::Kernel(search) => &search.descent.point,
        }
    }
}

struct MomentRun {
    release: Release<Gaussian>,
    steps: u64,
    settings: MomentReleaseSettings,
    tolerance: f64,
    /// r
    norm: f64,
    matching: Matching,
    /// The kernel, if the kernel form is released.
    kernel: Option<Arc<Kernel>>,
    /// The joint objective, if it replaces matching alone.
    joint: Option<Joint>,
    /// M₀
    moment: Private<Matrix>,
    /// The search with its first gap; `None` before the release.
    search: Option<(Released<Search>, f64)>,
    index: u64,
}

impl MomentRun {
    fn release(&self, spender: &mut Spender) -> Result<Released<Search>> {
        let Matching { public, regularisation } = &self.matching;
        let features = &public.features;
        // A mean of matrices xxᵀ, either itself or in coordinates of an orthonormal basis.
        let reach = Reach::Ball(self.norm.powi(2));
        if let Some(kernel) = &self.kernel {
            let released =
                self.moment.release_gaussian(spender, self.release, &reach, |moment| {
                    kernel.coordinates(features, moment)
                })?;
            return Ok(released
                .map(|coordinates| Search::Kernel(kernel.search(coordinates, *regularisation))));
        }
        let descent =
            Accelerated::from_uniform(self.matching.labels().len(), self.matching.curvature());
        let packed = self.moment.release_gaussian(spender, self.release, &reach, pack)?;
        Ok(packed.map(|packed| Search::Dense(unpack(&packed, features.dimension()), descent)))
    }

    fn batch(&self, mut search: Search) -> Search {
        match &mut search {
            Search::Kernel(search) => {
                let iteration = (self.matching.labels().len() as u64).div_ceil(RECORDS_PER_MOVE);
                let left = self.settings.iterations * iteration - search.descent.moves;
                search.advance(left.min(ITERATIONS_PER_STEP * iteration));
            }
            Search::Dense(moment, descent) => {
                let left = self.settings.iterations - descent.iterations;
                for _ in 0..ITERATIONS_PER_STEP.min(left) {
                    match &self.joint {
                        Some(joint) => descent.advance_adaptively(
                            |q| joint.value(&self.matching, self.matching.labels(), moment, q),
                            |q| joint.evaluate(&self.matching, self.matching.labels(), moment, q),
                        ),
                        None => descent.advance(|q| self.matching.evaluate(moment, q).1),
                    }
                }
            }
        }
        search
    }

    /// Objective and stationarity gap.
    fn standing(&self, search: &Search) -> Result<(f64, f64)> {
        let standing = match (search, &self.joint) {
            (Search::Kernel(search), _) => Some((search.objective(), search.descent.gap())),
            (Search::Dense(moment, descent), joint) => {
                let q = &descent.point;
                let evaluated = match joint {
                    Some(joint) => {
                        joint.evaluate(&self.matching, self.matching.labels(), moment, q)
                    }
                    None => Some(self.matching.evaluate(moment, q)),
                };
                evaluated.map(|(objective, gradient)| (objective, simplex_gap(&gradient, q)))
            }
        };
        standing.filter(|(objective, gap)| objective.is_finite() && gap.is_finite()).ok_or_else(
            || {
                Error::failed("the weights of the public records are not finite")
                    .cure("raise the regularisation")
            },
        )
    }
}

impl Run for MomentRun {
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let (search, first_gap) = match self.search.take() {
            None => (self.release(spender)?, None),
            Some((search, first_gap)) => (search.map(|search| self.batch(search)), Some(first_gap)),
        };
        let (objective, gap) = self.standing(search.get())?;
        let q = search.get().point();
        let told = |series, value| Measure::released(series, search.and(value));
        let mut measures = vec![
            told(Series::Objective, objective),
            told(Series::StationarityGap, gap),
            told(Series::EffectiveSample, effective_sample(q.iter().copied())),
        ];
        if let Search::Dense(moment, _) = search.get() {
            let norm = spectral_norm(&difference(moment, &self.matching.public.features, q));
            measures.push(told(Series::MomentDiscrepancy, norm));
        }
        let exact =
            |exact: &Matrix| spectral_norm(&difference(exact, &self.matching.public.features, q));
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
        let q = search.get().point().as_slice();
        let w =
            NormalEquations::weighted(&self.matching.public.features, self.matching.labels(), q)
                .in_ball(self.settings.ridge, self.settings.lambda)?;
        Some(search.and(w.into()))
    }

    fn weights(&self) -> Option<Released<Vec<f64>>> {
        let (search, _) = self.search.as_ref()?;
        Some(search.and(search.get().point().as_slice().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::f64::consts::SQRT_2;

    use super::*;
    use crate::example;
    use crate::privacy::accountant::QueryKind;
    use crate::spec::Value;

    fn settings(given: &[(&str, f64)]) -> BTreeMap<String, Value> {
        given.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect()
    }

    fn chosen(choices: &[(&str, &str)]) -> BTreeMap<String, Value> {
        let given =
            choices.iter().map(|(key, x)| ((*key).to_owned(), Value::Text((*x).to_owned())));
        given.collect()
    }

    #[test]
    fn the_plan_announces_one_release_and_counts_batches_as_steps() {
        let (shape, public, _) = example::shifted(4, 50, 100, 4);
        let settings = settings(&[("iterations", 50.0)]);
        let plan = example::plan(METHOD, &settings, &shape, &public).unwrap();
        let [release] = plan.releases.as_slice() else { panic!("{:?}", plan.releases) };
        assert_eq!(release.query.kind, QueryKind::Gaussian);
        let (l2_sensitivity, coordinates) = (release.query.sensitivity, release.query.size);
        assert!((l2_sensitivity - SQRT_2 / 100.0).abs() < 1e-12);
        assert_eq!((coordinates, release.count, plan.steps), (10, 1, 11));
        assert!(plan.warnings.is_empty());
        let (shape, public, _) = example::shifted(40, 2000, 20, 4);
        let plan = example::plan(METHOD, &settings, &shape, &public).unwrap();
        assert_eq!(plan.warnings.len(), 1);
    }

    #[test]
    fn the_smaller_form_is_released_unless_another_is_asked_for() {
        let numbers = |dimension, choices: &[(&str, &str)]| {
            let (shape, public, _) = example::shifted(dimension, 50, 100, 4);
            let plan = example::plan(METHOD, &chosen(choices), &shape, &public).unwrap();
            assert_eq!(plan.releases[0].query.kind, QueryKind::Gaussian);
            plan.releases[0].query.size
        };
        assert_eq!(numbers(7, &[]), 28);
        assert_eq!(numbers(8, &[]), 50);
        assert_eq!(numbers(8, &[("form", "dense")]), 36);
        assert_eq!(numbers(7, &[("form", "kernel")]), 50);
        assert_eq!(numbers(8, &[("goal", "joint")]), 36);
        let (shape, public, _) = example::shifted(8, 50, 100, 4);
        let both = chosen(&[("form", "kernel"), ("goal", "joint")]);
        let error = example::plan(METHOD, &both, &shape, &public).unwrap_err();
        assert!(error.cure_text().unwrap().contains("dense"), "{error}");
    }
}
