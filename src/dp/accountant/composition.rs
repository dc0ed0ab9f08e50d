//! Adding events up.
//!
//! Gaussian events compose exactly: μ² = Σ count·(sensitivity/σ)², in any order, even if later ones
//! are chosen after seeing earlier outputs. Every other event is dominated by a pair
//! ([`super::pair`]). For lists with such events several proven bounds are computed, and the least
//! is the guarantee.
//!
//! For the best of many repeats ([`super::repeats`]), one repeat is added up with the rest. Then ε
//! rises by the surcharges of all of them, and δ is multiplied by their factors.
//!
//! Neighbours under zero-out are neighbours under replace-one, too (a null record is a record), so
//! as soon as one event holds only for zero-out, the sum of the list holds for zero-out, with the
//! replace-one numbers of the others. The blank record may be on either side of the comparison.
//! Where the two directions differ, each is composed by itself, and the worse one counts.
//!
//! # What the grid costs
//!
//! The noise is drawn on a grid ([`crate::mechanism::DiscreteGaussian`]), from inputs on
//! that grid, so a real transcript P is close to, but not the same as, the transcript P′ of the
//! ideal Gaussian followed by rounding to the grid. μ-GDP holds for P′, by post-processing. Take
//! one coordinate, in grid steps: s = σ/grid, a = 1/s², output k steps from the input, z = k/s.
//! With U uniform on ±½, the ideal Gaussian gives the cell of k the mass
//!
//! > P′(k) = φ(k)·E exp(−a(2kU + U²)/2),
//!
//! and the discrete one P(k) = φ(k)/Z, 1 ≤ Z ≤ 1 + 3e^{−2π²s²} by Poisson summation.
//! Hence
//!
//! 1. P(k) ≤ e^{a/24} P′(k): the expectation is at least exp(−a·E(U²)/2), Jensen.
//! 2. P′(k) ≤ e^{az²/24} P(k)·Z: drop U², then use sinh(x)/x ≤ e^{x²/6} at x = ka/2.
//!
//! Over a transcript the ratios multiply. Let A = Σ a over all coordinates and all draws and X = Σ
//! a z²/24; then (1) sums to A/24. (2) is unbounded only where X is large, which is rare: E
//! exp(θz²) ≤ (1 − 2θ)^{−1/2} under P, so for every t, with 1 + λ = 6/A (then each (1+λ)a/12 ≤ ½,
//! and −½ log(1 − x) ≤ x·log 2 there)
//!
//! > P′(S) ≤ e^t P(S) + E[e^{(1+λ)X − λt}] ≤ e^t P(S) + e^{0.35 − λt}.
//!
//! For neighbours P and Q, by (1), GDP at ε′, and (2),
//!
//! > P(S) ≤ e^{A/24}·(e^{ε′} Q′(S) + δ(ε′))
//! >      ≤ e^{A/24 + ε′ + t} Q(S) + e^{A/24}·(δ(ε′) + e^{ε′ + 0.35 − λt}).
//!
//! At t = A(128 + ε′/5) − A/24 and A ≤ 2⁻¹⁰ the last term is below e^{−745}, less
//! than the smallest double. So an ideal (ε′, δ(ε′)) becomes, on the grid,
//!
//! > ε = ε′ + A(128 + ε′/5),  δ = e^{A/24} δ(ε′).
//!
//! *On a sample* the same holds. P and Q are then mixtures over which draws had the record in their
//! sample, with the same weights for real and ideal noise; given those draws, (1) and (2) hold with
//! z counted from the component's own centre, and so do their sums, the moment bound (conditionally
//! on everything before), and averages over the weights.
//!
//! *Laplace noise and selections* on a grid need no slack here: with inputs on the grid
//! they are exactly ε₀-DP or of bounded range. The curve of the discrete Laplace pair
//! connects dots on the curve of the continuous one, 2·grid/b apart in ε; the chord of
//! 1 − e^{(ε − ε₀)/2} lies at most (2·grid/b)²/32 of its last term above it (and a little),
//! so a continuous pair of ε₀ + (grid/b)²/2 for each coordinate lies above all of it.
//!
//! The constant 128 also covers Z (s ≥ 2²⁰, so log Z < e^{−10¹²}) and the part beyond 1024σ that
//! the sampler leaves out (a mass below e^{−500 000}).
//!
//! A is [`Composition::discretisation`]: 1.4·10⁻¹⁰ for ten million numbers with the finest grids.
//! The first order of the total-variation distance, A/40, would also do, but it enters as (1 +
//! e^ε)·A/40, which is useless for ε above 25.

use std::sync::Arc;

use super::admissible::{LARGEST_RATIO, dominating};
use super::event::{Adjacency, Event};
use super::guarantee::{Coverage, Guarantee};
use super::held_out::counted;
use super::pair::Pair;
use super::rdp::PairDraws;
use super::selections::Selections;
use super::subsampling::{Subsampled, View};
use super::target::check_delta;
use super::{contour, gate, gaussian, pld, rdp};
use crate::error::{Error, Result};
use crate::numeric::special::least;

/// The most discretisation that the argument above covers: 2⁻¹⁰.
const MOST_DISCRETISATION: f64 = 1.0 / 1024.0;
/// Padding for the arithmetic of this module.
const ROUNDING: f64 = 1e-12;

/// The curves of selections are computed down to this δ.
const LEAST_OF_SELECTIONS: f64 = 1e-15;
/// The converged ε of all pairs must be so much above a bound before they are not asked for a better
/// one.
const CLEARLY_ABOVE: f64 = 1.02;

/// The bounds on δ that are computed as curves.
struct CurveBounds {
    /// Both directions of the neighbours, where they differ.
    losses: Vec<pld::Curve>,
    selections: Option<Arc<Selections>>,
}

/// The sum of a list of events: its Gaussian part, which is one Gaussian mechanism of
/// sensitivity-to-noise ratio `mu`, everything else, and the slack of sampling on a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// Rounded up.
    pub mu: f64,
    /// Σ (grid/σ)² over all coordinates and all draws. The module's documentation gives its cost.
    pub discretisation: f64,
    /// The neighbours for which the sum holds: the weakest among its events.
    pub adjacency: Adjacency,
    /// The events that are not Gaussian: every pair once.
    others: Vec<PairDraws>,
}

impl Composition {
    /// One Gaussian mechanism with ideal noise.
    pub fn gaussian(mu: f64, adjacency: Adjacency) -> Self {
        Self { mu, discretisation: 0.0, adjacency, others: Vec::new() }
    }

    /// Copy of this composition with another Gaussian part.
    pub fn with_mu(&self, mu: f64) -> Self {
        Self { mu, ..self.clone() }
    }

    /// The sum of these events. Fails if one of them cannot be accounted for. If the list has
    /// releases of held-out records, all others are assumed to be from the same run. For several
    /// runs, add up the [`counted`] events of each.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self> {
        let events: Vec<&Event> = events.into_iter().collect();
        if events.iter().any(|event| event.held_out) {
            let run: Vec<Event> = events.into_iter().cloned().collect();
            return Self::of_counted(&counted(&run).iter().collect::<Vec<_>>());
        }
        Self::of_counted(&events)
    }

    fn of_counted(events: &[&Event]) -> Result<Self> {
        let (mut mu_squared, mut roundings) = (0.0, 8.0);
        let mut sum = Self::gaussian(0.0, Adjacency::ReplaceOne);
        for event in events {
            if event.adjacency == Adjacency::ZeroOut {
                sum.adjacency = Adjacency::ZeroOut;
            }
            roundings += 1.0;
            // Neighbours that give the same vector give the same output, on any grid.
            let Some((pair, slack)) = dominating(event)? else { continue };
            sum.discretisation += event.count as f64 * slack;
            if let Pair::Gaussian { mu } = pair {
                mu_squared += event.count as f64 * (mu * mu);
            } else if event.count > 0 {
                match sum.others.iter_mut().find(|(known, _)| *known == pair) {
                    Some((_, count)) => {
                        *count = count.checked_add(event.count).ok_or_else(too_much)?;
                    }
                    None => sum.others.push((pair, event.count)),
                }
            }
        }
        let up = 1.0 + roundings * f64::EPSILON;
        sum.mu = f64::sqrt(mu_squared) * up;
        sum.discretisation *= up;
        if sum.mu >= LARGEST_RATIO {
            return Err(too_much());
        }
        if sum.discretisation > MOST_DISCRETISATION {
            return Err(Error::usage("too many numbers are drawn on too coarse a grid").cure(
                "keep the sum of count·coordinates·(grid/σ)² at or below 2^-10: fewer draws, or a finer grid",
            ));
        }
        Ok(sum)
    }

    /// Whether there is only Gaussian noise for all records.
    pub(super) fn is_gaussian(&self) -> bool {
        self.others.is_empty()
    }

    /// Whether this is Gaussian noise that reveals no more than that of `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        let gaussian = self.is_gaussian() && other.is_gaussian();
        gaussian && self.mu <= other.mu && self.discretisation <= other.discretisation
    }

    /// The guarantee of a run that drew `drawn` of the `planned` events. If it drew less than
    /// planned, it may have ended because of its outputs.
    pub fn of_run(drawn: &[Event], planned: &[Event], delta: f64) -> Result<Guarantee> {
        let whole = Self::of(planned)?.guarantee(delta)?;
        if drawn == planned {
            return Ok(whole);
        }
        let part = Self::of(drawn)?.gate(delta)?;
        // A run that ended early reveals less than the whole run would have.
        Ok(if part.epsilon <= whole.epsilon { part } else { whole })
    }

    /// One repeat instead of the best of many, and the amounts that this adds to ε and to log δ;
    /// `None` if nothing is repeated.
    fn one_repeat(&self) -> Option<(Self, f64, f64)> {
        let (mut epsilon, mut log_factor, mut squares) = (0.0, 0.0, self.mu * self.mu);
        let repeated = |(pair, count): &PairDraws| match pair {
            Pair::Repeated(it) => Some((*it, *count as f64)),
            _ => None,
        };
        for (it, count) in self.others.iter().filter_map(repeated) {
            epsilon += count * it.surcharge;
            log_factor += count * it.log_factor;
            squares += count * it.mu * it.mu;
        }
        let others: Vec<PairDraws> =
            self.others.iter().filter(|it| repeated(it).is_none()).copied().collect();
        let terms = (self.others.len() + 4) as f64;
        let up = 1.0 + terms * f64::EPSILON;
        let one = Self { mu: squares.sqrt() * up, others, ..self.clone() };
        (one.others.len() < self.others.len()).then_some((one, epsilon * up, log_factor * up))
    }

    /// Turns a guarantee `of` one repeat into that of the best of all repeats.
    fn of_best(
        &self,
        delta: f64,
        of: impl FnOnce(&Self, f64) -> Result<Guarantee>,
    ) -> Option<Result<Guarantee>> {
        let (one, surcharge, log_factor) = self.one_repeat()?;
        let share = delta * (-log_factor).exp() * (1.0 - ROUNDING);
        Some(of(&one, share).map(|guarantee| Guarantee {
            epsilon: (guarantee.epsilon + self.real(surcharge)) * (1.0 + ROUNDING),
            // It is not known how much less would be enough.
            epsilon_lower: 0.0,
            delta,
            bound: format!("{}, best of many repeats", guarantee.bound),
            ..guarantee
        }))
    }

    /// All parts, for the record being in the first hypothesis.
    pub(super) fn parts(&self) -> Vec<PairDraws> {
        let gaussian = (self.mu > 0.0).then_some((Pair::Gaussian { mu: self.mu }, 1));
        gaussian.into_iter().chain(self.others.iter().copied()).collect()
    }

    /// Both directions of the neighbours, where they differ.
    fn directions(&self) -> Vec<Vec<PairDraws>> {
        let removed = self.parts();
        let mut added = removed.clone();
        for (pair, _) in &mut added {
            if let Pair::Subsampled(Subsampled { view: view @ View::Remove, .. }) = pair {
                *view = View::Add;
            }
        }
        if added == removed { vec![removed] } else { vec![removed, added] }
    }

    /// δ at this ε, discretisation included; at most 1, and at the ε of [`Self::guarantee`] at
    /// most its δ.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        if epsilon.is_nan() || epsilon < 0.0 {
            return Err(Error::usage(format!("ε must be at least 0, and is {epsilon}")));
        }
        if let Some((one, surcharge, log_factor)) = self.one_repeat() {
            // A little less than was added, so that both functions agree.
            let left = epsilon * (1.0 - 0.9 * ROUNDING) - self.real(surcharge);
            let delta = if left < 0.0 { 1.0 } else { one.delta(left)? };
            return Ok((delta * log_factor.exp() * (1.0 + 0.5 * ROUNDING)).min(1.0));
        }
        Ok(self.delta_on(&self.curves(), epsilon, 0.0))
    }

    /// δ at this ε from given curves, but not below the δ that `least` of ideal noise becomes.
    fn delta_on(&self, curves: &CurveBounds, epsilon: f64, least: f64) -> f64 {
        let parts = self.parts();
        if parts.is_empty() || epsilon == f64::INFINITY || epsilon >= gate::pure(&parts) {
            return 0.0;
        }
        let ideal = self.ideal(epsilon * (1.0 - ROUNDING));
        let log_delta = if self.others.is_empty() {
            gaussian::log_delta(self.mu, ideal)
        } else if ideal < 0.0 {
            0.0
        } else {
            let sums = rdp::delta(&parts, ideal)
                .min(
                    gate::gaussian_mu(&parts)
                        .map_or(1.0, |mu| gaussian::log_delta(mu, ideal).exp()),
                )
                .min(curves.selections.as_ref().map_or(1.0, |it| it.delta(ideal)));
            let mut worst = least;
            for (index, curve) in curves.losses.iter().enumerate() {
                if worst >= sums || ideal >= gate::pure(curve.parts()) {
                    continue;
                }
                let mut here = sums;
                if index > 0 {
                    // Adding a record mostly reveals less: see `interval`.
                    here = here.min(curve.roughly(ideal, worst));
                }
                if here > worst {
                    worst = worst.max(here.min(curve.delta(ideal)));
                }
            }
            worst.ln()
        };
        // One unit more for the part that is less than the smallest double.
        let real = log_delta + self.discretisation / 24.0 + ROUNDING;
        real.exp().next_up().min(1.0)
    }

    /// The best proven ε at this δ, for these events planned in advance.
    pub fn guarantee(&self, delta: f64) -> Result<Guarantee> {
        check_delta(delta)?;
        if let Some(best) = self.of_best(delta, Self::guarantee) {
            return best;
        }
        if self.others.is_empty() {
            return Ok(self.gaussian_guarantee(delta, Coverage::FixedPlan));
        }
        let share = self.ideal_delta(delta);
        let curves = self.curves();
        let mut guarantee = self.running(delta)?;
        let sums = guarantee.epsilon;
        let mut improve = |epsilon: f64, bound: &str| {
            let epsilon = self.real(epsilon);
            if epsilon < guarantee.epsilon {
                (guarantee.epsilon, guarantee.bound) = (epsilon, bound.into());
            }
        };
        // No pair shows as much about selections as their own curve, where it reaches that far.
        let selections = curves.selections.as_ref();
        let reached = selections.and_then(|it| Some((it, it.epsilon(share)?)));
        let lower = if let Some((curve, epsilon)) = reached {
            improve(epsilon, "optimal composition of selections");
            curve.epsilon_below(share)
        } else if let Some(pairs) = self.of_pairs_above(sums, delta) {
            pairs
        } else {
            let losses = Self::interval(&curves.losses, share);
            if let Some(interval) = losses {
                improve(interval.upper, "privacy loss distribution (PLD)");
            }
            losses.map_or(0.0, |it| it.lower).max(gaussian::epsilon_lower(self.mu, share))
        };
        // The curve must agree: both are bounds, but they may differ in the last digit.
        for round in 0..32 {
            if self.delta_on(&curves, guarantee.epsilon, share) <= delta {
                break;
            }
            guarantee.epsilon *= 1.0 + 1e-12 * 2_f64.powi(round);
        }
        let grid = self.real(guarantee.epsilon) - guarantee.epsilon;
        guarantee.epsilon_lower = (lower - grid).clamp(0.0, guarantee.epsilon);
        Ok(guarantee)
    }

    fn curves(&self) -> CurveBounds {
        if self.others.is_empty() {
            return CurveBounds { losses: Vec::new(), selections: None };
        }
        CurveBounds { losses: self.losses(), selections: self.selections() }
    }

    fn losses(&self) -> Vec<pld::Curve> {
        self.directions().into_iter().filter_map(pld::Curve::of).collect()
    }

    /// The tightest curve, if there are only selections of one size.
    fn selections(&self) -> Option<Arc<Selections>> {
        let (range, count) = self.selections_alone()?;
        Selections::of(range, count, self.farthest_of_selections())
    }

    fn farthest_of_selections(&self) -> f64 {
        rdp::epsilon(&self.others, LEAST_OF_SELECTIONS)
    }

    /// Whether more may be proven than the pairs show.
    fn selects(&self) -> bool {
        self.others.iter().any(|(pair, _)| matches!(pair, Pair::BoundedRange { .. }))
    }

    /// The converged ε of the pairs, if it is clearly above this proven one.
    fn of_pairs_above(&self, proven: f64, delta: f64) -> Option<f64> {
        let pairs = if self.selects() { self.converged(delta).ok() } else { None };
        pairs.filter(|pairs| *pairs > CLEARLY_ABOVE * proven)
    }

    /// The range of all selections and their number, where there is nothing else.
    fn selections_alone(&self) -> Option<(f64, u64)> {
        match self.others.as_slice() {
            [(Pair::BoundedRange { epsilon }, count)] if self.mu == 0.0 => Some((*epsilon, *count)),
            _ => None,
        }
    }

    /// The interval of both directions, for ideal noise.
    fn interval(curves: &[pld::Curve], delta: f64) -> Option<pld::Interval> {
        let (first, rest) = curves.split_first()?;
        let mut worst = first.epsilon(delta)?;
        for curve in rest {
            // Adding a record mostly reveals less. Showing this is cheaper than computing how much.
            let most = worst.upper;
            if gate::pure(curve.parts()) <= most
                || rdp::epsilon(curve.parts(), delta) <= most
                || curve.roughly(most, delta) <= delta
            {
                continue;
            }
            let next = curve.epsilon(delta)?;
            worst.lower = worst.lower.max(next.lower);
            worst.upper = worst.upper.max(next.upper);
        }
        Some(worst)
    }

    /// A quick bound to show while a run is under way: the best of the sums, and of all orders of
    /// RDP; never below [`Self::guarantee`].
    pub fn running(&self, delta: f64) -> Result<Guarantee> {
        check_delta(delta)?;
        if let Some(best) = self.of_best(delta, Self::running) {
            return best;
        }
        if self.others.is_empty() {
            return Ok(self.gaussian_guarantee(delta, Coverage::FixedPlan));
        }
        let share = self.ideal_delta(delta);
        self.sum(delta, Coverage::FixedPlan, gate::fixed(&self.parts(), share))
    }

    /// The least ε whose budget at this δ admits all of this, even if later events were chosen
    /// after seeing earlier outputs: see [`super::gate`]. Never below [`Self::guarantee`].
    pub fn gate(&self, delta: f64) -> Result<Guarantee> {
        check_delta(delta)?;
        if self.others.is_empty() {
            return Ok(self.gaussian_guarantee(delta, Coverage::Adaptive));
        }
        let share = self.ideal_delta(delta);
        self.sum(delta, Coverage::Adaptive, gate::epsilon(&self.parts(), share))
    }

    fn sum(&self, delta: f64, covers: Coverage, (ideal, bound): (f64, &str)) -> Result<Guarantee> {
        let epsilon = self.real(ideal);
        if !epsilon.is_finite() {
            return Err(too_much());
        }
        let (adjacency, bound) = (self.adjacency, bound.into());
        Ok(Guarantee { epsilon, epsilon_lower: 0.0, delta, adjacency, bound, covers })
    }

    /// The converged ε of the contour integral at this δ, grid included. It is not a bound, but a
    /// cross-check and a cheap guess.
    pub fn converged(&self, delta: f64) -> Result<f64> {
        check_delta(delta)?;
        if let Some((one, surcharge, log_factor)) = self.one_repeat() {
            return Ok(one.converged(delta * (-log_factor).exp())? + self.real(surcharge));
        }
        let share = self.ideal_delta(delta);
        let mut largest: f64 = 0.0;
        for parts in self.directions().iter().filter(|parts| !parts.is_empty()) {
            largest = largest.max(contour::epsilon(parts, share)?);
        }
        Ok(self.real(largest))
    }

    /// Close to [`Self::guarantee`], and much cheaper.
    pub(super) fn guess(&self, delta: f64) -> Result<f64> {
        if let Some((one, surcharge, log_factor)) = self.one_repeat() {
            return Ok(one.guess(delta * (-log_factor).exp())? + surcharge);
        }
        let share = self.ideal_delta(delta);
        if let Some((range, count)) = self.selections_alone() {
            let farthest = self.farthest_of_selections();
            if let Some(guess) = Selections::guess(range, count, farthest, share) {
                return Ok(self.real(guess));
            }
        }
        let mut guess = 0.0_f64;
        for curve in self.losses() {
            if gate::pure(curve.parts()) > guess {
                guess = guess.max(curve.guess(share).unwrap_or(f64::INFINITY));
            }
        }
        let guess = self.real(guess);
        if guess.is_infinite() || self.selects() {
            return Ok(guess.min(self.running(delta)?.epsilon));
        }
        Ok(guess)
    }

    /// A plan has all of δ; a budget that other kinds of events may join has less for it.
    fn gaussian_guarantee(&self, delta: f64, covers: Coverage) -> Guarantee {
        let (share, bound) = match covers {
            Coverage::FixedPlan => (delta, "exact Gaussian (GDP)"),
            Coverage::Adaptive => (gate::GAUSSIAN_SHARE * delta, "Gaussian sum (GDP)"),
        };
        let epsilon = least(0.0, f64::MAX, |epsilon| {
            self.delta(epsilon).is_ok_and(|reached| reached <= share)
        });
        let epsilon = epsilon.unwrap_or(f64::INFINITY);
        let ideal = gaussian::epsilon_lower(self.mu, share);
        Guarantee {
            epsilon,
            epsilon_lower: (2.0 * ideal - epsilon).max(0.0),
            delta: if self.mu == 0.0 { 0.0 } else { delta },
            adjacency: self.adjacency,
            bound: bound.into(),
            covers,
        }
    }

    /// The ε of the ideal noise that becomes `real` on the grid. It may be negative: the grid can
    /// cost more than a tiny ε.
    fn ideal(&self, real: f64) -> f64 {
        (real - 128.0 * self.discretisation) / (1.0 + self.discretisation / 5.0)
    }

    /// The ε on the grid for this ε of ideal noise.
    fn real(&self, ideal: f64) -> f64 {
        let real = ideal * (1.0 + self.discretisation / 5.0) + 128.0 * self.discretisation;
        // More than [`Self::delta`] subtracts again.
        real * (1.0 + 2.0 * ROUNDING)
    }

    /// The δ of ideal noise that becomes `real` on the grid.
    fn ideal_delta(&self, real: f64) -> f64 {
        real * (-self.discretisation / 24.0).exp() * (1.0 - 2.0 * ROUNDING)
    }
}

fn too_much() -> Error {
    Error::usage("the events together leak more than can be counted").cure(
        "keep the root of the sum of count·(sensitivity/scale)² below 1e150, and counts below 2^64: more noise, or fewer draws",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::event::{Mechanism, Noise, QueryKind};
    use super::*;

    fn gaussian_event(sensitivity: f64, sigma: f64, count: u64) -> Event {
        Event {
            label: "gradient".into(),
            what: "a gradient".into(),
            mechanism: QueryKind::Gaussian.query(sensitivity, 5).with(Noise::ideal(sigma)),
            count,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        }
    }

    fn on_grid(mut event: Event, steps: f64, length: u64) -> Event {
        let Mechanism { query, noise } = &mut event.mechanism;
        noise.grid = noise.scale / steps;
        query.size = length;
        event
    }

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b.abs()
    }

    #[test]
    fn a_run_that_ended_early_gets_no_more_than_its_plan_and_no_credit_for_having_been_fixed() {
        let sampled = |count| Event {
            mechanism: QueryKind::SampledSum { rate: 0.01 }.query(1.0, 1).with(Noise::ideal(1.0)),
            adjacency: Adjacency::ZeroOut,
            ..gaussian_event(1.0, 1.0, count)
        };
        let of_run =
            |drawn| Composition::of_run(&[sampled(drawn)], &[sampled(1000)], 1e-6).unwrap();
        let whole = of_run(1000);
        assert_eq!(whole, Composition::of(&[sampled(1000)]).unwrap().guarantee(1e-6).unwrap());
        // The gate's sum for nearly all of the plan is larger than the plan's own bound.
        let gate = Composition::of(&[sampled(999)]).unwrap().gate(1e-6).unwrap();
        assert!(gate.epsilon > whole.epsilon);
        assert_eq!(of_run(999), whole);
        let early = of_run(10);
        assert!(early.epsilon < whole.epsilon);
        assert_eq!(early, Composition::of(&[sampled(10)]).unwrap().gate(1e-6).unwrap());
    }

    #[test]
    fn one_gaussian_event_equals_the_closed_form() {
        let sum = Composition::of(&[gaussian_event(2.0, 4.0, 9)]).unwrap();
        assert!(close(sum.mu, 1.5, 1e-14) && sum.mu >= 1.5);
        let guarantee = sum.guarantee(1e-6).unwrap();
        assert!(close(guarantee.epsilon, gaussian::epsilon(1.5, 1e-6), 1e-11));
        assert!(guarantee.epsilon_lower <= guarantee.epsilon);
        assert!(close(guarantee.epsilon_lower, guarantee.epsilon, 1e-10));
        assert_eq!(guarantee.bound, "exact Gaussian (GDP)");
        assert!(close(sum.delta(2.0).unwrap(), gaussian::log_delta(1.5, 2.0).exp(), 1e-11));
    }

    #[test]
    fn no_event_and_a_constant_event_cost_nothing() {
        let constant = on_grid(gaussian_event(0.0, 1.0, 5), 1_048_576.0, 1 << 40);
        for sum in [Composition::of([]).unwrap(), Composition::of([&constant]).unwrap()] {
            assert_eq!((sum.mu, sum.discretisation), (0.0, 0.0));
            assert_eq!(sum.delta(0.0).unwrap(), 0.0);
            let guarantee = sum.guarantee(1e-5).unwrap();
            assert_eq!((guarantee.epsilon, guarantee.epsilon_lower), (0.0, 0.0));
            assert_eq!(guarantee.delta, 0.0);
        }
    }

    #[test]
    fn a_sum_is_replace_one_only_if_every_event_is() {
        let replace = gaussian_event(1.0, 1.0, 1);
        let zero = Event { adjacency: Adjacency::ZeroOut, ..replace.clone() };
        let adjacency = |events: &[Event]| Composition::of(events).unwrap().adjacency;
        assert_eq!(adjacency(&[replace.clone(), replace.clone()]), Adjacency::ReplaceOne);
        assert_eq!(adjacency(&[replace, zero]), Adjacency::ZeroOut);
    }

    /// Neighbours under zero-out are neighbours under replace-one, too.
    #[test]
    fn a_replace_one_guarantee_holds_for_zero_out_with_the_same_numbers() {
        let replace = gaussian_event(1.0, 2.0, 3);
        let zero = Event { adjacency: Adjacency::ZeroOut, ..replace.clone() };
        let epsilon =
            |event: &Event| Composition::of([event]).unwrap().guarantee(1e-5).unwrap().epsilon;
        assert_eq!(epsilon(&replace), epsilon(&zero));
    }

    #[test]
    fn impossible_events_are_refused_with_the_admissible_range() {
        for (sensitivity, sigma, expected) in [
            (1.0, 0.0, "σ must be finite and above 0"),
            (1.0, -1.0, "σ must be finite and above 0"),
            (1.0, f64::NAN, "σ must be finite and above 0"),
            (1.0, f64::INFINITY, "σ must be finite and above 0"),
            (-1.0, 1.0, "finite and at least 0"),
            (f64::NAN, 1.0, "finite and at least 0"),
            (f64::INFINITY, 1.0, "finite and at least 0"),
            (1e200, 1e-100, "between 1e-150 and 1e150"),
            (1e-200, 1e100, "between 1e-150 and 1e150"),
            (1e149, 1.0, "below 1e150"),
        ] {
            let count = u64::MAX;
            let error = Composition::of(&[gaussian_event(sensitivity, sigma, count)]).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
        for grid in [-1.0, 1e-5, f64::NAN, f64::INFINITY] {
            let mut event = gaussian_event(1.0, 1.0, 1);
            event.mechanism.noise.grid = grid;
            let error = Composition::of(&[event]).unwrap_err();
            assert!(error.to_string().contains("at most σ/2^20"), "{error}");
        }
        let crowd = on_grid(gaussian_event(1.0, 1.0, 1 << 20), 1_048_576.0, 1 << 20);
        let error = Composition::of(&[crowd]).unwrap_err();
        assert!(error.to_string().contains("finer grid"), "{error}");
    }

    #[test]
    fn a_delta_outside_the_range_is_refused() {
        let sum = Composition::of(&[gaussian_event(1.0, 1.0, 1)]).unwrap();
        for delta in [0.0, 1.0, -0.1, 1e-301, f64::NAN] {
            assert!(sum.guarantee(delta).unwrap_err().to_string().contains("1e-300"), "{delta}");
        }
        assert!(sum.delta(f64::NAN).is_err() && sum.delta(-1.0).is_err());
        assert!(sum.guarantee(1e-300).is_ok());
    }

    #[test]
    fn ten_million_numbers_on_the_finest_grid_cost_next_to_nothing() {
        let ideal = gaussian_event(1.0, 4.0, 1);
        let gridded = on_grid(ideal.clone(), 268_435_456.0, 10_000_000);
        for delta in [0.01, 1e-5, 1e-50] {
            let epsilon =
                |event| Composition::of([event]).unwrap().guarantee(delta).unwrap().epsilon;
            let cost = epsilon(&gridded) - epsilon(&ideal);
            // 128·A = 1.78e-8.
            assert!(cost > 1.7e-8 && cost < 3e-8, "{cost:e}");
        }
    }

    /// The two inequalities of the module's documentation, on exact masses.
    #[test]
    fn the_masses_of_the_discrete_and_the_rounded_gaussian_bound_each_other() {
        use crate::numeric::special::{LOG_SQRT_TWO_PI, mills_ratio};
        for s in [2.0_f64, 5.0, 40.0] {
            let a = 1.0 / (s * s);
            let total: f64 = (-2000..=2000).map(|k| (-0.5 * f64::from(k * k) * a).exp()).sum();
            for k in 0..(30.0 * s) as u32 {
                let z = f64::from(k) / s;
                // Upper tail at t, over e^{−z²/2}/√(2π).
                let tail = |t: f64| mills_ratio(t) * (0.5 * (z - t) * (z + t)).exp();
                let cell = tail(z - 0.5 / s) - tail(z + 0.5 / s);
                let log_ratio = (cell * total).ln() - LOG_SQRT_TWO_PI;
                assert!(log_ratio >= -a / 24.0 - 1e-12, "s = {s}, k = {k}: {log_ratio}");
                assert!(log_ratio <= a * z * z / 24.0 + 1e-12, "s = {s}, k = {k}: {log_ratio}");
                // The first bound is sharp in the middle.
                assert!(k > 0 || s < 40.0 || log_ratio < -0.999 * a / 24.0, "{log_ratio}");
            }
        }
    }

    /// On a grid coarser than any that is used, so that the slack is visible: neighbours `shift`
    /// steps apart, δ summed over all outputs.
    #[test]
    fn the_exact_delta_of_discrete_noise_is_covered_and_only_thanks_to_the_slack() {
        let s = 33.0;
        let mut beyond_ideal = 0;
        for shift in [1.0, 20.0, 66.0] {
            let mu = shift / s;
            let ideal = Composition::gaussian(mu, Adjacency::ReplaceOne);
            let sum = Composition { discretisation: 1.0 / (s * s), ..ideal };
            let log_mass = |k: f64| -0.5 * (k / s).powi(2);
            let outputs = || (-1500..=1500).map(f64::from);
            let total: f64 = outputs().map(|k| log_mass(k).exp()).sum();
            for epsilon in [0.0, 0.15, 0.5, 1.0, 2.0, 4.0, 8.0] {
                let exact: f64 = outputs()
                    .map(|k| {
                        let (here, there) = (log_mass(k), log_mass(k + shift));
                        (here.exp() - (epsilon + there).exp()).max(0.0) / total
                    })
                    .sum();
                let ours = sum.delta(epsilon).unwrap();
                assert!(ours >= exact, "shift {shift}, ε = {epsilon}: {ours} under {exact}");
                beyond_ideal += u32::from(gaussian::log_delta(mu, epsilon).exp() < exact);
            }
        }
        assert!(beyond_ideal > 0);
    }

    proptest! {
        #[test]
        fn the_order_of_events_does_not_matter(
            ratios in proptest::collection::vec((0.001..3.0, 1_u64..50), 2..8), delta in 1e-9..0.5,
        ) {
            let mut events: Vec<Event> = ratios
                .iter()
                .map(|(ratio, count)| on_grid(gaussian_event(*ratio, 1.0, *count), 2e6, 9))
                .collect();
            let forward = Composition::of(&events).unwrap().guarantee(delta).unwrap();
            events.reverse();
            let backward = Composition::of(&events).unwrap().guarantee(delta).unwrap();
            prop_assert!(close(forward.epsilon, backward.epsilon, 1e-12));
        }

        #[test]
        fn delta_of_the_guaranteed_epsilon_is_the_delta_asked_for(
            mu in 0.01..6.0, log_delta in -60.0..-0.7, steps in 2e6..5e8, length in 1_u64..100_000,
        ) {
            let delta = f64::exp(log_delta);
            let sum = Composition::of([&on_grid(gaussian_event(mu, 1.0, 3), steps, length)]).unwrap();
            let guarantee = sum.guarantee(delta).unwrap();
            let back = sum.delta(guarantee.epsilon).unwrap();
            prop_assert!(back <= delta);
            prop_assert!(guarantee.epsilon == 0.0 || close(back, delta, 1e-6), "{}", back);
            prop_assert!(guarantee.epsilon_lower <= guarantee.epsilon);
        }

        #[test]
        fn epsilon_rises_with_every_cause_of_leakage(
            ratio in 0.01..3.0, count in 1_u64..100, delta in 1e-12..0.1, factor in 1.01..2.0,
        ) {
            let epsilon = |event: Event, delta| {
                Composition::of([&event]).unwrap().guarantee(delta).unwrap().epsilon
            };
            let here = epsilon(gaussian_event(ratio, 1.0, count), delta);
            prop_assert!(epsilon(gaussian_event(ratio * factor, 1.0, count), delta) >= here);
            prop_assert!(epsilon(gaussian_event(ratio, factor, count), delta) <= here);
            prop_assert!(epsilon(gaussian_event(ratio, 1.0, count + 1), delta) >= here);
            prop_assert!(epsilon(gaussian_event(ratio, 1.0, count), delta * factor) <= here);
            prop_assert!(
                epsilon(on_grid(gaussian_event(ratio, 1.0, count), 2e6, 100), delta) >= here
            );
        }
    }
}
