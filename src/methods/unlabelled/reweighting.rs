//! The shared parts of the iterative methods for unlabelled targets: weights on public records, a
//! model, and the objective
//!
//! > L(q, w) = Σ qᵢ(⟨w, xᵢ⟩ − yᵢ)² + 4Λ²F̃(q)   (single-stage), or
//! > L(q) = F̃(q) + (λ/2)‖q‖²                     (two-stage, the model is fitted afterwards)
//!
//! over simplex × ball. Weights and model are made of public data and released choices, so
//! only F̃ and its gradient see private data, through [`Private::select`] and the like.

use std::sync::Arc;

use super::discrepancy::Smoothed;
use super::moment::moment_of;
use crate::numeric::columns::{self, score_of, view};
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::prelude::*;
use crate::privacy::CuratorOnly;
use crate::privacy::openings::{OpenCuratorOnly, OpenMissing, OpenPrivate, OpenReleased};

/// The number of rounds in the papers.
pub(super) const PRINTED_ROUNDS: u64 = 1000;

/// The most features: every step decomposes matrices of this size, which takes a tenth of a second
/// at this width and thirty times as long at 3000.
pub(super) const MOST_FEATURES: usize = 1_000;

pub(super) const MODE: Setting<Mode> = Mode::or(Mode::Rigorous).named("mode", "").help(
    "rigorous calibrates the noise to the target by the accountant. as_printed takes noise and \
     step sizes of the paper, for reproduction; its certificate states the ε that can be proved \
     for them.",
);

pub(super) const ROUNDS: Setting<Option<u64>> =
    automatic_whole(100_000.0).named("rounds K", "").help(
        "Looks at the private moment. More rounds follow it further, each with more noise. \
         automatic goes by n, ε, μ and the numbers of features and public records (the printed \
         1000 in as_printed).",
    );

pub(super) const TEMPERATURE: Setting<Option<f64>> =
    automatic(1e6).named("temperature μ", "per squared norm bound").help(
        "How closely the smoothed discrepancy follows the spectral norm; the closer, the further \
         a single record can move its slope. automatic takes 0.5 where noise grows with that (1 \
         in single-stage, where the loss pulls too), and 10 in as_printed and where the moment is \
         released. The paper prints no μ; it is to be tuned.",
    );

/// Our μ where noise does not decide it. The paper prints none for its experiment.
pub(super) const USUAL_TEMPERATURE: f64 = 10.0;

/// The paper's λ.
const PRINTED_WEIGHT_RIDGE: f64 = 0.001;

pub(super) const WEIGHT_RIDGE: Setting<Option<f64>> =
    automatic(1e6).named("weight ridge λ", "").help(
        "Coefficient of ½‖q‖²: higher spreads the weights over more public records. automatic \
         takes none, and the printed 0.001 in as_printed.",
    );

pub(super) fn weight_ridge(mode: Mode, given: Option<f64>) -> f64 {
    given.unwrap_or(match mode {
        Mode::Rigorous => 0.0,
        Mode::AsPrinted => PRINTED_WEIGHT_RIDGE,
    })
}

/// Radius of the models' ball: the papers' 1 in single-stage, where it also weighs the
/// discrepancy against the loss.
pub(super) const RADIUS: Setting<f64> = real(1e-3, 1e6, 10.0)
    .named("radius Λ", "norm of weights")
    .help("The model's weights stay in the ball of this radius.");

pub(super) const RIDGE: Setting<f64> = real(0.0, 1.0, crate::baselines::reference::DEFAULT_RIDGE)
    .named("ridge", "squared loss")
    .help("Ridge of the weighted least squares that makes the model.");

choices! {
    /// Which iterate becomes the model.
    pub enum Returned {
        Last = "last",
        Average = "average",
        /// The one with the least gap, by a fresh exponential mechanism.
        Best = "best",
    }
}

pub(super) const RETURNED: Setting<Returned> =
    Returned::or(Returned::Last).named("returned iterate", "").help(
        "The last iterate, their average, or the one whose stationarity gap is least, chosen by \
         the exponential mechanism, which costs as much as four more rounds.",
    );

pub(super) const GAP_SHARE: Setting<f64> =
    real(0.0, 0.5, 0.02).named("share for the gap", "share of budget").help(
        "The part of the budget that releases the stationarity gap at up to twelve of the rounds, \
         so that a sealed view has a curve. 0 releases none.",
    );

/// One of the two objectives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Objective {
    /// With the loss; the discrepancy has the weight 4Λ².
    SingleStage,
    TwoStage {
        /// λ
        weight_ridge: f64,
    },
}

impl Objective {
    /// The weight of F̃.
    pub fn weight(self, radius: f64) -> f64 {
        match self {
            Self::SingleStage => 4.0 * radius.powi(2),
            Self::TwoStage { .. } => 1.0,
        }
    }

    /// A bound on every entry of [`Reweighting::public_slope`]; four times this bounds the gap of
    /// the model. `square` is r̂².
    pub fn largest_public_slope(self, public: &PublicData, square: f64, radius: f64) -> f64 {
        match self {
            Self::SingleStage => {
                let labels = public.target.iter().flatten();
                let largest = labels.fold(0.0, |largest, label| f64::max(largest, label.abs()));
                (radius * square.sqrt() + largest).powi(2)
            }
            Self::TwoStage { weight_ridge } => weight_ridge,
        }
    }
}

/// μ in absolute units, for the methods that use the slope in every round. If it is automatic,
/// noise favours a small one (see [`super::discrepancy`]), and a loss beside F̃ favours one that
/// makes F̃ steeper.
pub(super) fn temperature(mode: Mode, given: Option<f64>, norm: f64, objective: Objective) -> f64 {
    let automatic = match (mode, objective) {
        (Mode::AsPrinted, _) => USUAL_TEMPERATURE,
        (Mode::Rigorous, Objective::SingleStage) => 1.0,
        (Mode::Rigorous, Objective::TwoStage { .. }) => 0.5,
    };
    given.unwrap_or(automatic) / norm.powi(2)
}

/// A started problem.
pub(super) struct Reweighting {
    pub public: Arc<PublicData>,
    /// M₀
    pub moment: Private<Matrix>,
    pub objective: Objective,
    /// μ
    pub temperature: f64,
    /// Λ
    pub radius: f64,
    pub ridge: f64,
}

/// Weights and model, computed from public data and released choices.
#[derive(Debug, Clone)]
pub(super) struct Reweighted {
    pub q: Vector,
    /// Σ qᵢxᵢxᵢᵀ
    pub sum: Matrix,
    pub w: Vector,
}

/// Exact measures of a state, for the curator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exact {
    pub objective: f64,
    /// ‖M(q)‖₂
    pub norm: f64,
    /// max ⟨−∇_q, v − q⟩ over the simplex.
    pub weight_gap: f64,
}

impl Reweighting {
    pub fn new(
        problem: &Problem,
        private: &Private<Bounded>,
        objective: Objective,
        temperature: f64,
        (radius, ridge): (f64, f64),
    ) -> Self {
        let norm = problem.shape.bounds.feature_norm;
        Self {
            temperature,
            radius,
            ridge,
            public: problem.public.shared(),
            moment: private.map_unseen(|data| moment_of(data, norm)),
            objective,
        }
    }

    fn labels(&self) -> &[f64] {
        self.public.target.as_deref().unwrap_or_default()
    }

    /// Uniform weights, model zero.
    pub fn start(&self) -> Reweighted {
        let m = self.public.len();
        let q = Vector::from_element(m, 1.0 / m as f64);
        self.state(q, Vector::zeros(self.public.dimension()))
    }

    pub fn state(&self, q: Vector, w: Vector) -> Reweighted {
        Reweighted { sum: weighted_outer_sum(&self.public.features, q.as_slice()), q, w }
    }

    /// The weight of F̃ in the objective.
    pub fn weight(&self) -> f64 {
        self.objective.weight(self.radius)
    }

    fn residuals(&self, w: &Vector) -> impl Iterator<Item = f64> {
        let scores = self.public.features.map_each(|x| score_of(x, w));
        scores.into_iter().zip(self.labels()).map(|(score, y)| score - y)
    }

    /// The gradient in q of the part without private data.
    pub fn public_slope(&self, state: &Reweighted) -> Vector {
        match self.objective {
            Objective::SingleStage => Vector::from_iterator(
                self.labels().len(),
                self.residuals(&state.w).map(|residual| residual * residual),
            ),
            Objective::TwoStage { weight_ridge } => weight_ridge * &state.q,
        }
    }

    fn public_value(&self, state: &Reweighted) -> f64 {
        match self.objective {
            Objective::SingleStage => self.public_slope(state).dot(&state.q),
            Objective::TwoStage { weight_ridge } => 0.5 * weight_ridge * state.q.norm_squared(),
        }
    }

    /// −∂L/∂qᵢ: how much record i deserves more weight. `public` is [`Self::public_slope`].
    pub fn scores(&self, moment: &Matrix, state: &Reweighted, public: &Vector) -> Option<Vector> {
        self.smoothed(moment, state, public).map(|(_, scores)| scores)
    }

    /// F̃, and the scores.
    fn smoothed(
        &self,
        moment: &Matrix,
        state: &Reweighted,
        public: &Vector,
    ) -> Option<(Smoothed, Vector)> {
        let smoothed = Smoothed::of(&(moment - &state.sum), self.temperature)?;
        let mut scores = smoothed.scores(&self.public.features);
        scores *= self.weight();
        scores -= public;
        Some((smoothed, scores))
    }

    /// The reach of scores around this public centre: |xᵢᵀExᵢ| ≤ r̂², for any moment.
    pub fn reach(&self, centre: &Vector) -> Reach {
        let square = columns::largest_square(&self.public.features);
        Reach::Around { centre: centre.as_slice().to_vec(), radius: self.weight() * square }
    }

    /// The reach of the weights' gap: no two scores are further apart than twice the largest.
    pub fn weight_gap_reach(&self, state: &Reweighted) -> f64 {
        let square = columns::largest_square(&self.public.features);
        2.0 * (self.weight() * square + self.public_slope(state).amax())
    }

    /// The reach of minus the gaps of these states, apart from the model's gap, which is public.
    pub fn gap_reach(&self, states: &[Reweighted]) -> Reach {
        Reach::Around {
            centre: states.iter().map(|state| -self.model_gap(state)).collect(),
            radius: states.iter().map(|state| self.weight_gap_reach(state)).fold(0.0, f64::max),
        }
    }

    pub fn exact(&self, moment: &Matrix, state: &Reweighted) -> Option<Exact> {
        let (smoothed, scores) = self.smoothed(moment, state, &self.public_slope(state))?;
        Some(Exact {
            objective: self.weight() * smoothed.value + self.public_value(state),
            norm: smoothed.norm,
            weight_gap: scores.max() - scores.dot(&state.q),
        })
    }

    /// ∂L/∂w
    pub fn model_slope(&self, state: &Reweighted) -> Vector {
        let mut slope = Vector::zeros(state.w.len());
        let labels = self.labels();
        self.public.features.each(|at, x| {
            let residual = score_of(x, &state.w) - labels[at];
            slope.axpy(2.0 * state.q[at] * residual, &view(x), 1.0);
        });
        slope
    }

    /// max ⟨−∇_w, v − w⟩ over the ball. Zero if there is no model yet, as in two stages.
    pub fn model_gap(&self, state: &Reweighted) -> f64 {
        match self.objective {
            Objective::SingleStage => {
                let slope = self.model_slope(state);
                self.radius * slope.norm() + slope.dot(&state.w)
            }
            Objective::TwoStage { .. } => 0.0,
        }
    }

    /// The point of the ball farthest against the model's slope.
    pub fn model_vertex(&self, state: &Reweighted) -> Vector {
        let slope = self.model_slope(state);
        let norm = slope.norm();
        if norm > 0.0 { slope * (-self.radius / norm) } else { state.w.clone() }
    }

    /// Weighted least squares in the ball.
    pub fn fit(&self, q: &Vector) -> Result<Vector> {
        NormalEquations::weighted(&self.public.features, self.labels(), q.as_slice())
            .in_ball(self.ridge, self.radius)
            .ok_or_else(|| {
                Error::failed("the weighted public records do not determine a model")
                    .cure("raise the ridge")
            })
    }

    /// The model of `state`.
    pub fn model(&self, state: &Reweighted) -> Option<Model> {
        match self.objective {
            Objective::SingleStage => Some(state.w.clone().into()),
            Objective::TwoStage { .. } => self.fit(&state.q).ok().map(Model::from),
        }
    }

    /// The series of a step. `noise` is the expected distance of a chosen record's score from the
    /// best, if records were chosen by noisy scores.
    pub fn measures(
        &self,
        released: &Released<Reweighted>,
        watch: &Watch,
        noise: Option<f64>,
    ) -> Vec<Measure> {
        let state = released.get();
        let told = |series, value| Measure::released(series, released.and(value));
        let model_gap = self.model_gap(state);
        let effective = effective_sample(state.q.iter().copied());
        let mut measures = vec![told(Series::EffectiveSample, effective)];
        if self.objective == Objective::SingleStage {
            measures.push(told(Series::ModelGap, model_gap));
        }
        let look = self.moment.curator(watch, |moment| self.exact(moment, state));
        if let Some(exact) = look.and_then(CuratorOnly::transpose) {
            let part = |read: &dyn Fn(&Exact) -> f64| exact.clone().map(|exact| read(&exact));
            measures.extend([
                Measure::curator(Series::ExactObjective, part(&|exact| exact.objective)),
                Measure::curator(Series::ExactMomentDiscrepancy, part(&|exact| exact.norm)),
                Measure::curator(
                    Series::ExactStationarityGap,
                    part(&|exact| exact.weight_gap + model_gap),
                ),
            ]);
            if let Some(noise) = noise.filter(|noise| *noise > 0.0) {
                let signal = part(&|exact| exact.weight_gap / noise);
                measures.push(Measure::curator(Series::SelectionSignal, signal));
            }
        }
        measures
    }
}

impl Reweighted {
    /// q ← (1 − η)q + η·(record `vertex`), and w likewise towards `model`.
    pub fn towards(
        &mut self,
        features: &impl ExampleColumns,
        vertex: usize,
        model: Option<&Vector>,
        eta: f64,
    ) {
        self.q *= 1.0 - eta;
        self.q[vertex] += eta;
        let mut room = Vec::new();
        let x = view(features.read(vertex..vertex + 1, &mut room));
        self.sum.ger(eta, &x, &x, 1.0 - eta);
        if let Some(model) = model {
            self.w.axpy(eta, model, 1.0 - eta);
        }
    }
}

/// The rounds of a method.
pub(super) trait Rounds: Send {
    /// Round number `index`, counted from 0.
    fn take(&mut self, problem: &Reweighting, index: u64, spender: &mut Spender) -> Result<Round>;
}

/// A round that was taken.
pub(super) struct Round {
    /// What it did.
    pub phase: &'static str,
    /// What a run that stops here delivers.
    pub delivered: Released<Reweighted>,
    /// The released gap, if this round has one, and the gap that noise alone would give.
    pub gap: Option<[f64; 2]>,
}

/// A run in rounds.
pub(super) struct ReweightingRun<R> {
    problem: Reweighting,
    rounds: R,
    total: u64,
    /// The expected distance of a chosen record's score from the best, if records are chosen.
    shortfall: Option<f64>,
    index: u64,
    delivered: Option<Released<Reweighted>>,
}

impl<R: Rounds + 'static> ReweightingRun<R> {
    pub fn boxed(
        problem: Reweighting,
        total: u64,
        shortfall: Option<f64>,
        rounds: R,
    ) -> Box<dyn Run> {
        Box::new(Self { problem, rounds, total, shortfall, index: 0, delivered: None })
    }
}

impl<R: Rounds> Run for ReweightingRun<R> {
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let Round { phase, delivered, gap } =
            self.rounds.take(&self.problem, self.index, spender)?;
        self.index += 1;
        let mut measures = self.problem.measures(&delivered, watch, self.shortfall);
        let gaps = gap
            .into_iter()
            .flat_map(|gap| [Series::StationarityGap, Series::NoiseGap].into_iter().zip(gap));
        measures.extend(gaps.map(|(series, gap)| Measure::released(series, delivered.and(gap))));
        self.delivered = Some(delivered);
        let (index, total) = (self.index, self.total);
        Ok(Step { index, total, phase, measures, done: index == total })
    }

    fn model(&self) -> Option<Released<Model>> {
        let delivered = self.delivered.as_ref()?;
        Some(delivered.and(self.problem.model(delivered.get())?))
    }

    fn weights(&self) -> Option<Released<Vec<f64>>> {
        let delivered = self.delivered.as_ref()?;
        Some(delivered.and(delivered.get().q.as_slice().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::privacy::openings::OpenWatch;
    use halflight_testing as golden;

    fn golden_problem(objective: Objective) -> (Reweighting, Reweighted, Matrix) {
        let golden = golden::discrepancy();
        let labels = golden.vector("inputs.y");
        let reweighting = Reweighting {
            public: example::labelled(golden.records("inputs.X"), labels.as_slice().to_vec())
                .into(),
            moment: Private::new(golden.rows("M0")),
            objective,
            temperature: golden.number("inputs.mu"),
            radius: golden.number("inputs.Lambda"),
            ridge: 0.0,
        };
        let state = reweighting.state(golden.vector("inputs.q"), golden.vector("inputs.w"));
        (reweighting, state, golden.rows("M0"))
    }

    fn near(ours: f64, golden: &golden::Golden, entry: &str) {
        assert!((ours - golden.number(entry)).abs() < 1e-11, "{entry}: {ours}");
    }

    #[test]
    fn a_single_stage_step_agrees_with_the_reference() {
        let golden = golden::discrepancy();
        let (problem, mut state, moment) = golden_problem(Objective::SingleStage);
        let exact = problem.exact(&moment, &state).unwrap();
        near(exact.objective, &golden, "alg1_step.L");
        near(exact.weight_gap, &golden, "alg1_step.gap_q");
        near(problem.model_gap(&state), &golden, "alg1_step.gap_w");
        near(exact.weight_gap + problem.model_gap(&state), &golden, "alg1_step.gap");
        let scores = problem.scores(&moment, &state, &problem.public_slope(&state)).unwrap();
        golden::assert_near(&-&scores, &golden.vector("alg1_step.grad_q"), 1e-11);
        golden::assert_near(
            &problem.model_slope(&state),
            &golden.vector("alg1_step.grad_w"),
            1e-12,
        );
        let model = problem.model_vertex(&state);
        golden::assert_near(&model, &golden.vector("alg1_step.u_w"), 1e-11);
        let vertex = scores.imax();
        assert_eq!(vertex as f64, golden.number("alg1_step.vertex_index0"));
        let eta = golden.number("inputs.eta_alg1");
        state.towards(&problem.public.features, vertex, Some(&model), eta);
        golden::assert_near(&state.q, &golden.vector("alg1_step.q_next"), 1e-12);
        golden::assert_near(&state.w, &golden.vector("alg1_step.w_next"), 1e-11);
        near(problem.exact(&moment, &state).unwrap().objective, &golden, "alg1_step.L_next");
    }

    #[test]
    fn a_two_stage_step_agrees_with_the_reference() {
        let golden = golden::discrepancy();
        let weight_ridge = golden.number("inputs.lam");
        let (problem, mut state, moment) = golden_problem(Objective::TwoStage { weight_ridge });
        near(problem.exact(&moment, &state).unwrap().weight_gap, &golden, "fw_gap_F_lambda");
        let scores = problem.scores(&moment, &state, &problem.public_slope(&state)).unwrap();
        assert_eq!(scores.imax() as f64, golden.number("fw_step.vertex_index0"));
        state.towards(
            &problem.public.features,
            scores.imax(),
            None,
            golden.number("inputs.eta_fw"),
        );
        golden::assert_near(&state.q, &golden.vector("fw_step.q_next"), 1e-12);
        golden::assert_close(&(&moment - &state.sum), &golden.rows("fw_step.M_next"), 1e-11);
        near(problem.exact(&moment, &state).unwrap().norm, &golden, "fw_step.spec_next");
        let half = Reweighting { radius: 0.5, ..problem };
        let w = half.fit(&golden.vector("inputs.q")).unwrap();
        golden::assert_near(&w, &golden.vector("stage2.w_ball_Lambda_0p5"), 1e-11);
    }

    #[test]
    fn what_the_exact_moment_says_is_for_the_curator_and_a_sealed_watch_gets_none_of_it() {
        let (problem, state, _) = golden_problem(Objective::SingleStage);
        let is_exact = |series| !matches!(series, Series::EffectiveSample | Series::ModelGap);
        let (watch, state) = (Watch::open(), Released::of_public(state));
        let open = problem.measures(&state, &watch, Some(2.0));
        for measure in &open {
            let curator = matches!(measure.value, crate::MeasureStanding::Curator(_));
            assert_eq!(curator, is_exact(measure.series), "{:?}", measure.series);
        }
        let golden = golden::discrepancy();
        let exact = |series| {
            let measure = open.iter().find(|measure| measure.series == series).unwrap();
            let crate::MeasureStanding::Curator(value) = &measure.value else { panic!() };
            *value.reveal(&watch).unwrap()
        };
        near(exact(Series::ExactStationarityGap), &golden, "alg1_step.gap");
        near(exact(Series::ExactObjective), &golden, "alg1_step.L");
        near(2.0 * exact(Series::SelectionSignal), &golden, "alg1_step.gap_q");
        let sealed = problem.measures(&state, &Watch::sealed(), Some(2.0));
        assert!(!sealed.is_empty() && sealed.iter().all(|measure| !is_exact(measure.series)));
    }
}
