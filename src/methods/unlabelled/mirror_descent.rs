//! Private mirror descent on the weights of public records, then weighted least squares:
//! algorithm 3 of [Bassily, Mohri, Suresh 2023](halflight_base::bibliography).
//!
//! *Rigorous.* The gradient −xᵢᵀExᵢ has m entries but only d(d + 1)/2 independent numbers, so E is
//! released instead, as a packed symmetric matrix with Gaussian noise. The step is the Bregman step
//! of [`crate::numeric::prox`]; the result is the average of the second half of the iterates,
//! because the first half is still approaching the optimum.
//!
//! *Sensitivity.* That of E in Frobenius norm, which is the ℓ₂ norm of the packed matrix:
//! see [`super::discrepancy`]. The noise of an entry of the gradient is then
//! at most r̂² times that of one number of E, whatever m is; the printed release of the m
//! entries themselves pays √m for the same.
//!
//! *As printed.* Independent Gaussian noise of σ = √m·2τ·√(2K ln(1/δ))/ε on the m entries, 2τ =
//! 4μr²r̂²/n; the printed prox step ‖q − q_k‖²_p/(η(p − 1)), p = 1 + 1/ln m, with η = 2√(ln
//! m/K)/(r̂² + λ); the average of all q_k, including the uniform start; K = 1000 and λ = 0.001 as
//! in the experiments. The certificate has the ε of that σ at the true sensitivity, √min(m·r̂⁴,
//! λ_max(G)) times that of E, G_ij = (xᵢ·xⱼ)².
//!
//! The rigorous step size, unless given, is that of the usual regret bound, η = √(ln m/K)/g, where
//! g bounds the largest entry of the noisy gradient: r̂²·√(e² + 2 ln(m)·σ²) for ‖E‖₂ ≤ e and a
//! noise σ on E. The bound falls with K until noise makes up half of g, and K is set there. Beyond
//! that, more rounds change neither the bound nor the cost in privacy.
//!
//! *The gap* of the weights at which a gradient was released follows from it and costs nothing:
//! max over s in the simplex of ⟨g̃, q − s⟩. Noise makes it too large, by at most about r̂²σ√(2 ln m).
//!
//! *Pace "theory"* takes K of theorem 11, μ of corollary 4 and the printed η: see [`crate::theory`].

use super::discrepancy::{Sensitivity, Smoothed, largest_square_of};
use super::matching::gram_curvature;
use super::reweighting::{
    MODE, MOST_FEATURES, Objective, PRINTED_ROUNDS, RADIUS, RIDGE, ROUNDS, Reweighted, Reweighting,
    ReweightingRun, Round, Rounds, TEMPERATURE, WEIGHT_RIDGE, temperature, weight_ridge,
};
use crate::numeric::prox::{bregman, displacement};
use crate::numeric::symmetric::{pack, packed_length, quadratic_forms, unpack};
use crate::prelude::*;
use crate::privacy::accountant::gaussian;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::theory::{Choice, PACE, Pace, UnlabelledSizes};

const SLOPE: &str = "slope";

/// The regret bound's step is for the worst gradients. In the papers' setup, with 3 and 10
/// features, steps this much longer ended lower, unless noise dominated.
const LONGER: f64 = 15.0;

/// The least and the most automatic rounds: more would cost time and gain little.
const ROUNDS_BETWEEN: (f64, f64) = (20.0, 400.0);

choices! {
    pub enum Averaged { Average = "average", Last = "last" }
}

static SPEC: Spec = Spec {
    id: "mirror_descent",
    name: "re-weighted by gradients",
    paper: "Two-stage mirror descent",
    summary: "Linear regression for a private target without labels: weights on public \
              records by noisy gradient steps in the geometry of the simplex, then weighted \
              least squares.",
    line: "all public records at once; needs no private label",
    task: Task::Regression,
    needs_private_labels: false,
    fields: MirrorDescentSettings::FIELDS,
    tries: &[("rounds", &[10.0, 30.0, 100.0])],
    place: 2,
    covers_scores: false,
    most_features: Some(MOST_FEATURES),
    variants: &[("as printed", "mode", "as_printed")],
    gap: Gap::FRANK_WOLFE,
    ..Spec::DEFAULT
};

settings! {
    struct MirrorDescentSettings {
        mode: Mode = MODE,
        pace: Pace = PACE,
        rounds: Option<u64> = ROUNDS,
        temperature: Option<f64> = TEMPERATURE,
        step_size: Option<f64> = automatic(1e6).named("step size η", "").help(
            "Length of a mirror step; automatic goes by the rounds and their noise, and in \
             as_printed by the rounds alone.",
        ),
        weight_ridge: Option<f64> = WEIGHT_RIDGE,
        returned: Averaged = Averaged::or(Averaged::Average).named("returned iterate", "").help(
            "The average of the second half of the iterates, or the last; as_printed takes the \
             average of all.",
        ),
        lambda: f64 = RADIUS,
        ridge: f64 = RIDGE,
    }
}

/// Algorithm 3 of the paper.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(settings: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let given = settings;
    let settings = MirrorDescentSettings::of(given)?;
    settings.mode.fixes(&SPEC, given, &["returned"])?;
    settings.pace.fixes(&SPEC, given, &["rounds", "temperature", "step_size"])?;
    let Problem { shape, public, .. } = &problem;
    let printed = settings.mode == Mode::AsPrinted;
    let weight_ridge = weight_ridge(settings.mode, settings.weight_ridge);
    let objective = Objective::TwoStage { weight_ridge };
    let norm = shape.bounds.feature_norm;
    let square = largest_square_of(public)?;
    let theory = UnlabelledSizes::of(shape, square, settings.lambda, weight_ridge, target);
    let choice = (settings.pace == Pace::Theory).then(|| theory.mirror_descent(None));
    let temperature = choice.map_or_else(
        || temperature(settings.mode, settings.temperature, norm, objective),
        |choice| choice.temperature,
    );
    let sensitivity = Sensitivity::of(shape, square, temperature);
    let chosen = choice.map(|choice| choice.whole_rounds()).or(settings.rounds);
    let rounds = chosen.unwrap_or_else(|| match settings.mode {
        Mode::AsPrinted => PRINTED_ROUNDS,
        Mode::Rigorous => automatic_rounds(shape, public, sensitivity, target),
    });
    let (release, what, noise) = match settings.mode {
        Mode::AsPrinted => {
            printed_release(shape, public, (square, temperature), sensitivity, rounds, target)
        }
        Mode::Rigorous => {
            let numbers = packed_length(shape.dimension);
            let what =
                format!("the slope of the smoothed discrepancy, {numbers} numbers in each round");
            let slope = Gaussian { sensitivity: sensitivity.slope, numbers };
            (Release::new(SLOPE, slope), what, Allotment::Share(1.0))
        }
    };
    // Every entry of the gradient is at most r̂²·‖E‖.
    let entries = if printed { square * (public.len() as f64).sqrt() } else { 1.0 };
    let releases = vec![release.announced(what, rounds, noise, Adjacency::ReplaceOne)];
    let mut plan = Plan::new(releases, rounds, sensitivity.largest_slope * entries);
    let records = (public.len().max(2) as f64).ln();
    let of_paper = (records / rounds as f64).sqrt() * (2.0 / (square + weight_ridge));
    let step = settings.step_size.or((printed || choice.is_some()).then_some(of_paper));
    plan.theory =
        theory.says_of_mirror_descent(Choice { rounds: rounds as f64, temperature, step });
    let start: Start = Box::new(move |private, noise| {
        let of_slope = square * noise.scale(&release)?;
        let signal = square * sensitivity.largest_slope;
        let usual = (records / rounds as f64).sqrt()
            * (LONGER / (signal.powi(2) + 2.0 * records * of_slope.powi(2)).sqrt());
        let ends = (settings.lambda, settings.ridge);
        let reweighting = Reweighting::new(&problem, &private, objective, temperature, ends);
        let descent = Descent {
            state: reweighting.start(),
            release,
            rounds,
            printed,
            average: settings.returned == Averaged::Average,
            step_size: step.unwrap_or(usual),
            sum: None,
            noise: noise.scale(&release)?
                * (2.0 * records).sqrt()
                * if printed { 1.0 } else { square },
        };
        Ok(ReweightingRun::boxed(reweighting, rounds, None, descent))
    });
    Ok((plan, start))
}

/// K for a target: see the module's text.
fn automatic_rounds(
    shape: &ProblemShape,
    public: &PublicData,
    sensitivity: Sensitivity,
    target: Target,
) -> u64 {
    let noise = sensitivity.slope / gaussian::mu(target.epsilon, target.delta);
    let once = noise / sensitivity.largest_slope;
    let rounds = 1.0 / (2.0 * (public.len().max(2) as f64).ln() * once.powi(2));
    let least = ROUNDS_BETWEEN.0.max((shape.dimension as f64).ln());
    rounds.round().clamp(least, ROUNDS_BETWEEN.1) as u64
}

/// The release of the gradient's entries, in words, with the noise that the paper prints.
fn printed_release(
    shape: &ProblemShape,
    public: &PublicData,
    (square, temperature): (f64, f64),
    sensitivity: Sensitivity,
    rounds: u64,
    target: Target,
) -> (Release<Gaussian>, String, Allotment) {
    let m = public.len() as f64;
    let norm = shape.bounds.feature_norm;
    let tau = 2.0 * temperature * norm.powi(2) * square / shape.private_records as f64;
    let sigma =
        2.0 * tau * (2.0 * m * rounds as f64 * (1.0 / target.delta).ln()).sqrt() / target.epsilon;
    // Every entry has its own rounding error, which the range counts.
    let curvature = gram_curvature(&public.features) * (1.0 + 1e-9);
    let together = (m * square.powi(2)).min(curvature).sqrt() * sensitivity.slope
        + m.sqrt() * sensitivity.score_rounding;
    let slope = Gaussian { sensitivity: together, numbers: public.len() };
    let what = format!("the gradient in the weights of {m} public records");
    (Release::new(SLOPE, slope), what, Allotment::AsPrinted(sigma))
}

struct Descent {
    release: Release<Gaussian>,
    rounds: u64,
    printed: bool,
    average: bool,
    /// η
    step_size: f64,
    state: Reweighted,
    /// The sum of the q averaged so far, and their number.
    sum: Option<(Vector, u32)>,
    /// About the largest of the scores that noise alone would give.
    noise: f64,
}

impl Descent {
    /// xᵢᵀẼxᵢ, including noise.
    fn scores(&self, problem: &Reweighting, spender: &mut Spender) -> Result<Released<Vector>> {
        let d = problem.public.dimension();
        // A bounded moment is finite, so there is a slope.
        let slope = |moment: &Matrix| {
            let smoothed = Smoothed::of(&(moment - &self.state.sum), problem.temperature);
            smoothed.map_or_else(|| Matrix::zeros(d, d), |smoothed| smoothed.slope)
        };
        if self.printed {
            let query = |moment: &Matrix| quadratic_forms(&problem.public.features, &slope(moment));
            let reach = problem.reach(&Vector::zeros(problem.public.len()));
            let released =
                problem.moment.release_gaussian(spender, self.release, &reach, |moment| {
                    query(moment).as_slice().to_vec()
                })?;
            Ok(released.map(Vector::from_vec))
        } else {
            // The absolute eigenvalues of E add up to at most 1.
            let released = problem.moment.release_gaussian(
                spender,
                self.release,
                &Reach::Ball(1.0),
                |moment| pack(&slope(moment)),
            )?;
            Ok(released
                .map(|packed| quadratic_forms(&problem.public.features, &unpack(&packed, d))))
        }
    }
}

impl Rounds for Descent {
    fn take(&mut self, problem: &Reweighting, index: u64, spender: &mut Spender) -> Result<Round> {
        let scores = self.scores(problem, spender)?;
        let gradient = problem.public_slope(&self.state) - scores.get();
        let q = &self.state.q;
        let gap = gradient.dot(q) - gradient.min();
        let before = self.printed.then(|| self.state.q.clone());
        let next = if self.printed {
            displacement(q, &gradient, self.step_size)
        } else {
            bregman(q, &gradient, self.step_size)
        };
        self.state = problem.state(next, Vector::zeros(problem.public.dimension()));
        // Until the second half has begun, the last iterate is used. The printed average uses the
        // iterates at which gradients were taken, from the start on.
        let delivered = if self.printed || self.average && index >= self.rounds / 2 {
            let added = before.unwrap_or_else(|| self.state.q.clone());
            let (sum, count) = match self.sum.take() {
                Some((sum, count)) => (sum + added, count + 1),
                None => (added, 1),
            };
            let mean = &sum / f64::from(count);
            self.sum = Some((sum, count));
            problem.state(mean, self.state.w.clone())
        } else {
            self.state.clone()
        };
        let delivered = scores.and(delivered);
        Ok(Round { phase: "descend", delivered, gap: Some([gap, self.noise]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::example;
    use crate::privacy::accountant::QueryKind;

    #[test]
    fn both_releases_attain_their_sensitivity() {
        // Public records along the two axes between which a private one moves, and M = 0 otherwise.
        let (n, d, m) = (1000, 6, 20);
        let (mut shape, mut public, _) = example::shifted(2, m, n, 1);
        shape.dimension = d;
        public.features = Matrix::from_fn(d, m, |axis, i| f64::from(u8::from(axis == i % 2)));
        let moment = |axis: usize| {
            let mut moment = Matrix::zeros(d, d);
            moment[(axis, axis)] = 1.0 / n as f64;
            moment
        };
        let slope = |axis| Smoothed::of(&moment(axis), 0.03).unwrap().slope;
        let change = slope(0) - slope(1);
        for (mode, moved) in [
            ("rigorous", pack(&change)),
            ("as_printed", quadratic_forms(&public.features, &change).as_slice().to_vec()),
        ] {
            let given = [
                ("mode".to_owned(), Value::Text(mode.to_owned())),
                ("temperature".to_owned(), Value::Number(0.03)),
            ];
            let plan = example::plan(METHOD, &given.into(), &shape, &public).unwrap();
            assert_eq!(plan.releases[0].query.kind, QueryKind::Gaussian);
            let l2_sensitivity = plan.releases[0].query.sensitivity;
            let moved = Vector::from_vec(moved).norm();
            assert!(moved <= l2_sensitivity, "{mode}: {moved:e} {l2_sensitivity:e}");
            assert!(moved > 0.99 * l2_sensitivity, "{mode}: {moved:e} {l2_sensitivity:e}");
        }
    }
}
