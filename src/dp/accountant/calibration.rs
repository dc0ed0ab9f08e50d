//! Turns a target (ε, δ) into noise scales.
//!
//! One number, μ, sets all the noise of a plan, as if the plan were one Gaussian mechanism of that
//! ratio. μ² is split between the releases by their shares: with share f of the whole, each of
//! `count` draws gets the noise multiplier m = √(count/f)/μ, and
//!
//! * Gaussian: σ = m · sensitivity, so the shares are exactly those of μ²;
//! * Laplace: b = m · sensitivity, so ε₀ = 1/m, as concentrated as that Gaussian for small ε₀. A
//!   noisy selection has b = 2m · sensitivity for the same reason;
//! * selection: scale = m/2 · range: ε₀ = 2/m, and ε₀²/8 = 1/2m², as concentrated;
//! * subsampled Gaussian: 1/m² = q²·(e^{1/σ²} − 1), σ in sensitivities: the limit for many draws
//!   (central limit theorem).
//!
//! So shares mean about the same for every mechanism, and exactly the same for Gaussians. These
//! formulas do not say how much noise the target needs: μ is found by composing the actual events.
//! Two things raise the scales. They must be an integer number of steps of a grid that depends on
//! them. And inputs are rounded to this grid, which adds to the distance between neighbours
//! (grid·√coordinates for ℓ₂, grid·coordinates for ℓ₁).
//!
//! For a plan of Gaussians alone, μ is found by exact bisection. Otherwise the proven bound is
//! brought close to the target from below, by linear interpolation between logarithms, in which it
//! is nearly linear. Where the contour integral converges, it is cheap and close to the bound, so
//! the search starts from it, and for selections alone from a formula. Then one or two bounds are
//! enough.
//!
//! A release of held-out records that training covers (see [`super::held_out`]) gets the least
//! noise that adds nothing to the cost of the others.
//!
//! Releases with printed noise keep it. The others are calibrated so that all of them together meet
//! the target. If the printed ones exceed it by themselves, the others are calibrated as if they
//! were alone, and the guarantee states the total.

use super::admissible::check_rate;
use super::composition::Composition;
use super::event::{
    Adjacency, Allotment, Event, Mechanism, Noise, PlannedRelease, Query, QueryKind, Rule,
};
use super::gaussian;
use super::guarantee::{Coverage, Guarantee};
use super::held_out;
use super::target::Target;
use crate::Release;
use crate::error::{Error, Result};
use crate::mechanism::{
    DirectionMechanism, DiscreteGaussian, ExponentialMechanism, NoisyMaximum, PermuteAndFlip,
};
use crate::numeric::special;

/// How far inside the target the bisection aims, so that rounding cannot lift the
/// guarantee above it.
const MARGIN: f64 = 1e-11;
/// The largest (noise multiplier)·√coordinates: rounding to the grid, of at least
/// 2²⁸ steps to σ, then at most doubles the sensitivity.
const LARGEST_SPREAD: f64 = 134_217_728.0;
/// Covers the rounding of a sensitivity's own sum.
const ROUNDED_UP: f64 = 1.0 + 4.0 * f64::EPSILON;
/// How far from the Gaussian guess of 1/μ a plan may need it to be.
const FARTHEST: f64 = 1e6;
/// How close to the target ε, relatively, a guarantee should come.
const CLOSE: f64 = 1e-3;
/// How close to the middle of this range the guess should come.
const GUESSED: f64 = 2e-4;
/// Where ε jumps, two scales that are closer than this count as the same noise.
const SAME: f64 = 3e-5;
/// The least first step of a search that starts far from its end.
const FAR: f64 = 0.1;
const ROUNDS: u32 = 40;
/// A little more noise than training covers, so that rounding leaves nothing uncovered.
const WELL_COVERED: f64 = 1.0 + 1e-9;

/// A plan with its noise: the events that will be drawn and their guarantee. Nobody can change one:
/// its guarantee is always that of its events, or no guarantee at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    pub(crate) target: Target,
    pub(crate) events: Vec<Event>,
    pub(crate) guarantee: Guarantee,
}

impl Calibrated {
    /// The requested target.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The events that will be drawn, with their noise.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The guarantee of these events. It never exceeds the target, unless noise was printed.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise of release `label`.
    pub fn event(&self, label: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.label == label)
    }

    /// The scale of its noise: σ, b, or the scale of a selection.
    pub fn scale<K>(&self, release: &Release<K>) -> Result<f64> {
        let label = release.label();
        self.event(label).map(|event| event.mechanism.noise.scale).ok_or_else(|| {
            Error::refused(format!("there is no noise for release '{label}'"))
                .cure("calibrate the plan of this run")
        })
    }

    /// For a plan that releases nothing.
    pub fn of_nothing(target: Target) -> Result<Self> {
        finish(&[], target.checked()?, 1.0)
    }

    /// The guarantee of `events` whose noise is already known.
    pub fn of_events(target: Target, events: Vec<Event>) -> Result<Self> {
        let guarantee = Composition::of(&events)?.guarantee(target.delta)?;
        Ok(Self { target, events, guarantee })
    }

    /// Noise of `per_repeat` times the sensitivity in each repeat, without calibration, for audits
    /// that need some noise and no ε: calibration takes longer than everything else.
    pub fn of_rough_noise(
        releases: &[PlannedRelease],
        delta: f64,
        per_repeat: f64,
    ) -> Result<Self> {
        let rough = |release: &PlannedRelease| {
            let wide = per_repeat * (release.count as f64).sqrt();
            event(release, WantedNoise::Scale(wide * release.query.sensitivity))
        };
        let events = releases.iter().map(rough).collect::<Result<_>>()?;
        Ok(Self { events, ..Self::noiseless(releases, delta) })
    }

    /// No noise at all, for rehearsals on public data, and so no guarantee.
    pub fn noiseless(releases: &[PlannedRelease], delta: f64) -> Self {
        let event = |release: &PlannedRelease| release.drawn_by(release.query.with(Noise::NONE));
        let guarantee = Guarantee {
            epsilon: f64::INFINITY,
            epsilon_lower: f64::INFINITY,
            delta,
            adjacency: Adjacency::ReplaceOne,
            bound: "no noise: not private".into(),
            covers: Coverage::FixedPlan,
        };
        let target = Target { epsilon: f64::INFINITY, delta };
        Self { target, events: releases.iter().map(event).collect(), guarantee }
    }
}

/// The least noise (to one part in 10⁸ for Gaussians, in 10³ of ε otherwise) under which `releases`
/// together satisfy `target`. The guarantee of the result never exceeds the target, unless a
/// release has printed noise.
pub fn calibrate(releases: &[PlannedRelease], target: Target) -> Result<Calibrated> {
    let target = target.checked()?;
    validate_plan(releases)?;
    let of_kind = |kept: &dyn Fn(&PlannedRelease) -> bool| -> Vec<PlannedRelease> {
        releases.iter().filter(|release| kept(release)).cloned().collect()
    };
    let shared = of_kind(&|release| share_of(release).is_some());
    let printed = of_kind(&is_printed);
    if shared.is_empty() {
        return finish(releases, target, 1.0);
    }
    let alone = if printed.is_empty() {
        false
    } else {
        let reached = Composition::of(&events(&printed, 1.0)?)?.guarantee(target.delta)?;
        reached.epsilon >= target.epsilon
    };
    let counted = if alone { &shared } else { releases };
    let gaussian = counted.iter().all(|release| release.query.kind == QueryKind::Gaussian);
    let (inverse_mu, proof) = if gaussian {
        (exactly(counted, target)?, None)
    } else {
        let (inverse_mu, guarantee) = proven(counted, target)?;
        (inverse_mu, (!alone).then_some(guarantee))
    };
    let calibrated = match proof {
        Some(guarantee) => Calibrated { target, events: events(releases, inverse_mu)?, guarantee },
        None => finish(releases, target, inverse_mu)?,
    };
    if printed.is_empty() && calibrated.guarantee.epsilon > target.epsilon {
        return Err(Error::failed(format!(
            "calibration ended at ε = {:e}, above the target of {:e}",
            calibrated.guarantee.epsilon, target.epsilon
        ))
        .cure("this is a defect of halflight; a slightly different target should work"));
    }
    Ok(calibrated)
}

fn finish(releases: &[PlannedRelease], target: Target, inverse_mu: f64) -> Result<Calibrated> {
    let events = events(releases, inverse_mu)?;
    let guarantee = Composition::of(&events)?.guarantee(target.delta)?;
    Ok(Calibrated { target, events, guarantee })
}

/// The least 1/μ of a plan of Gaussians.
fn exactly(releases: &[PlannedRelease], target: Target) -> Result<f64> {
    let ideal = gaussian::mu(target.epsilon, target.delta);
    // Half the μ covers any cost of rounding, or nothing does. Printed noise takes its part of μ²,
    // and then this need not hold.
    let any_printed = releases.iter().any(is_printed);
    // Releases that training covers take no part of μ², whatever their share.
    let least = if releases.iter().any(|release| release.held_out) { 1e-3 } else { 0.999 };
    let (low, high) = (least / ideal, if any_printed { FARTHEST } else { 2.0 } / ideal);
    events(releases, high)?;
    let (epsilon, delta) = (target.epsilon * (1.0 - MARGIN), target.delta * (1.0 - MARGIN));
    let meets = |inverse_mu: f64| {
        let sum = events(releases, inverse_mu).and_then(|events| Composition::of(&events));
        sum.and_then(|sum| sum.delta(epsilon)).is_ok_and(|reached| reached <= delta)
    };
    special::least(low, high, meets).ok_or_else(|| too_many_numbers(target))
}

/// A 1/μ that is proven to meet the target, with at most a little more noise than
/// necessary, and the proof.
fn proven(releases: &[PlannedRelease], target: Target) -> Result<(f64, Guarantee)> {
    let compose = |inverse_mu: f64| Composition::of(&events(releases, inverse_mu)?);
    let ideal = 1.0 / gaussian::mu(target.epsilon, target.delta);
    let range = (ideal / FARTHEST, ideal * FARTHEST);
    let guess = |inverse_mu: f64| Ok(((), compose(inverse_mu)?.guess(target.delta)?));
    // In the middle of the range that is finally wanted.
    let most = target.epsilon * (1.0 - 0.4 * CLOSE);
    let aim = Aim { most, close: GUESSED, stride: FAR };
    let guessed = match guess(ideal) {
        Ok(first) => aim.meet(guess, (ideal, Ok(first)), range),
        Err(_) => None,
    };
    let (start, stride) = guessed.map_or((ideal, FAR), |(inverse_mu, ())| (inverse_mu, CLOSE));
    let proof = |inverse_mu: f64| {
        let guarantee = compose(inverse_mu)?.guarantee(target.delta)?;
        let epsilon = guarantee.epsilon;
        Ok((guarantee, epsilon))
    };
    let aim = Aim { most: target.epsilon, close: CLOSE, stride };
    aim.meet(proof, (start, proof(start)), range).ok_or_else(|| too_many_numbers(target))
}

/// An ε to be met from below.
#[derive(Clone, Copy)]
struct Aim {
    most: f64,
    /// How far below is close enough, relatively.
    close: f64,
    /// The least first step away from the start, as a logarithm.
    stride: f64,
}

impl Aim {
    /// The least 1/μ found to meet the aim, and the result computed there. `epsilon` falls with
    /// 1/μ, and is `first` at the start. If it cannot be computed, more noise is tried.
    fn meet<T>(
        self,
        epsilon: impl Fn(f64) -> Result<(T, f64)>,
        (start, first): (f64, Result<(T, f64)>),
        (least, most): (f64, f64),
    ) -> Option<(f64, T)> {
        let (aim, middle) = (self.most.ln(), (self.most * (1.0 - 0.5 * self.close)).ln());
        let mut place = start.ln();
        // (log 1/μ, log ε) with too little noise; the same with enough noise, and the result there.
        let mut low: Option<(f64, f64)> = None;
        let mut high: Option<(f64, f64)> = None;
        let mut found = None;
        let mut stride = self.stride;
        let mut first = Some(first);
        for round in 0..ROUNDS {
            let here = first.take().unwrap_or_else(|| epsilon(place.exp()));
            let (value, reached) = match here {
                Ok((value, reached)) => (Some(value), reached.ln()),
                Err(_) => (None, f64::INFINITY),
            };
            if reached <= aim {
                high = Some((place, reached));
                found = value.map(|value| (place.exp(), value));
                if reached >= aim + (-self.close).ln_1p() {
                    break;
                }
            } else {
                low = Some((place, reached));
            }
            place = match (low, high) {
                (Some(low), Some(high)) => {
                    if high.0 - low.0 <= SAME {
                        break;
                    }
                    let width = high.0 - low.0;
                    let line = low.0 + width * (low.1 - middle) / (low.1 - high.1);
                    if line.is_finite() && round % 4 != 3 {
                        line.clamp(low.0 + 0.01 * width, high.0 - 0.01 * width)
                    } else {
                        low.0 + 0.5 * width
                    }
                }
                // ε falls roughly like μ. If this step is not enough, the next is longer.
                (Some(_), None) if place < most.ln() => {
                    stride *= 2.0;
                    (place + (reached - middle).clamp(0.5 * stride, 2.0 * stride.max(FAR)))
                        .min(most.ln())
                }
                (None, Some(_)) if place > least.ln() => {
                    stride *= 2.0;
                    (place - (middle - reached).clamp(0.5 * stride, 2.0 * stride.max(FAR)))
                        .max(least.ln())
                }
                _ => break,
            };
        }
        found
    }
}

fn too_many_numbers(target: Target) -> Error {
    Error::usage(format!(
        "the plan draws too many numbers for ε = {}, δ = {}",
        target.epsilon, target.delta
    ))
    .cure("choose fewer draws, fewer coordinates, or a larger ε")
}

fn validate_plan(releases: &[PlannedRelease]) -> Result<()> {
    if releases.is_empty() {
        return Err(Error::refused("the plan releases nothing")
            .cure("without a release there is nothing to calibrate noise for"));
    }
    let covers =
        |release: &PlannedRelease| !release.held_out && release.query.kind == QueryKind::Gaussian;
    if releases.iter().any(is_covered) && !releases.iter().any(covers) {
        return Err(nothing_covers());
    }
    for (index, release) in releases.iter().enumerate() {
        let Query { kind, sensitivity, size } = release.query;
        let at = |error: Error| Err(error.at(format!("release '{}'", release.label)));
        if releases[..index].iter().any(|earlier| earlier.label == release.label) {
            return at(Error::usage("two releases of the plan have this label")
                .cure("labels must be unique within a plan"));
        }
        if sensitivity == 0.0 {
            return at(Error::refused("its sensitivity is 0: there is nothing private in it")
                .cure("compute it from public data, without a release"));
        }
        if !(sensitivity > 0.0 && sensitivity.is_finite()) {
            return at(Error::usage(format!("its sensitivity is {sensitivity}"))
                .cure("a sensitivity must be finite and above 0"));
        }
        if release.count == 0 || size == 0 {
            return at(Error::usage(format!(
                "it is drawn {} times with {size} coordinates",
                release.count
            ))
            .cure("both must be at least 1"));
        }
        if let QueryKind::SampledSum { rate } = kind {
            check_rate(rate).or_else(at)?;
        }
        let (number, what) = match release.noise {
            Allotment::Share(share) => (share, "share of the budget"),
            Allotment::AsPrinted(scale) => (scale, "printed scale"),
            Allotment::Covered if release.held_out && kind == QueryKind::Gaussian => continue,
            Allotment::Covered => {
                return at(Error::refused("nothing covers it")
                    .cure("only Gaussian noise on held-out records is covered by training"));
            }
        };
        if !(number > 0.0 && number.is_finite()) {
            return at(Error::usage(format!("its {what} is {number}"))
                .cure(format!("a {what} must be finite and above 0")));
        }
    }
    Ok(())
}

fn share_of(release: &PlannedRelease) -> Option<f64> {
    match release.noise {
        Allotment::Share(share) => Some(share),
        Allotment::AsPrinted(_) | Allotment::Covered => None,
    }
}

fn is_printed(release: &PlannedRelease) -> bool {
    matches!(release.noise, Allotment::AsPrinted(_))
}

fn is_covered(release: &PlannedRelease) -> bool {
    release.noise == Allotment::Covered
}

/// The events of a plan whose shared releases together have μ = 1/`inverse_mu`.
fn events(releases: &[PlannedRelease], inverse_mu: f64) -> Result<Vec<Event>> {
    let whole: f64 = releases.iter().filter_map(share_of).sum();
    let own = |release: &PlannedRelease| match release.noise {
        Allotment::Share(share) => {
            WantedNoise::Multiplier((release.count as f64 * (whole / share)).sqrt() * inverse_mu)
        }
        Allotment::AsPrinted(scale) => WantedNoise::Scale(scale),
        Allotment::Covered => WantedNoise::Multiplier(inverse_mu),
    };
    let paid = releases.iter().filter(|release| !is_covered(release));
    let paid = paid.map(|release| event(release, own(release))).collect::<Result<Vec<_>>>()?;
    let covered: Vec<_> = releases.iter().filter(|release| is_covered(release)).cloned().collect();
    let covered = if covered.is_empty() { Vec::new() } else { cover(&paid, &covered)? };
    let mut covered = covered.into_iter();
    let mut paid = paid.into_iter();
    let all = releases
        .iter()
        .filter_map(|release| if is_covered(release) { covered.next() } else { paid.next() });
    Ok(all.collect())
}

/// The noise of releases of held-out records that these events of a run cover.
pub fn cover(run: &[Event], releases: &[PlannedRelease]) -> Result<Vec<Event>> {
    let drawn: u64 = releases.iter().map(|release| release.count).sum();
    let mu_squared = held_out::covered(run);
    if mu_squared == 0.0 {
        return Err(nothing_covers());
    }
    let multiplier = (drawn as f64 / mu_squared).sqrt() * WELL_COVERED;
    releases.iter().map(|release| event(release, WantedNoise::Multiplier(multiplier))).collect()
}

fn nothing_covers() -> Error {
    Error::refused("no Gaussian noise on training records covers that on held-out records")
        .cure("give it a share of the budget")
}

/// A planned release with its noise.
fn event(release: &PlannedRelease, wanted: WantedNoise) -> Result<Event> {
    let mechanism = with_noise(release.query, wanted)
        .map_err(|error| error.at(format!("release '{}'", release.label)))?;
    Ok(release.drawn_by(mechanism))
}

/// How much noise one release should get.
#[derive(Clone, Copy)]
enum WantedNoise {
    /// Relative to the sensitivity, as defined in the module's documentation.
    Multiplier(f64),
    Scale(f64),
}

/// The mechanism that answers `query` with at least the wanted noise.
fn with_noise(query: Query, wanted: WantedNoise) -> Result<Mechanism> {
    let Query { kind, sensitivity, size } = query;
    let selection =
        |scale: f64, slack: f64| ((sensitivity + slack) * ROUNDED_UP, Noise::ideal(scale));
    // Scales of selections follow the planned sensitivity. Rounding adds to it, in the order of
    // 10⁻⁸ or less, and the bisection takes care of this.
    let scale = |per_multiplier: f64| match wanted {
        WantedNoise::Multiplier(multiplier) => sensitivity * multiplier * per_multiplier,
        WantedNoise::Scale(scale) => scale,
    };
    let (sensitivity, noise) = match kind {
        QueryKind::Gaussian => on_grid(query, (size as f64).sqrt(), wanted)?,
        QueryKind::SampledSum { rate } => {
            let wanted = match wanted {
                WantedNoise::Multiplier(multiplier) => {
                    let odds = 1.0 / (rate * multiplier);
                    WantedNoise::Multiplier(1.0 / (odds * odds).ln_1p().sqrt())
                }
                printed @ WantedNoise::Scale(_) => printed,
            };
            on_grid(query, (size as f64).sqrt(), wanted)?
        }
        QueryKind::Laplace => on_grid(query, size as f64, wanted)?,
        QueryKind::Selection(Rule::Exponential) => {
            let scale = scale(0.5);
            ExponentialMechanism::with_scale(scale)?;
            selection(scale, ExponentialMechanism::range_slack(scale))
        }
        QueryKind::Selection(Rule::PermuteAndFlip) => {
            let scale = scale(1.0);
            PermuteAndFlip::with_scale(scale)?;
            selection(scale, PermuteAndFlip::range_slack(scale))
        }
        QueryKind::Selection(Rule::NoisyMaximum) => {
            let noise = NoisyMaximum::at_least(scale(2.0))?;
            selection(noise.scale(), noise.sensitivity_slack())
        }
        QueryKind::Direction => {
            let scale = scale(0.5);
            DirectionMechanism::with_scale(scale)?;
            selection(scale, DirectionMechanism::range_slack(scale, size))
        }
        QueryKind::Pure | QueryKind::Repeated(_) => {
            return Err(Error::usage(
                "an output of a given ε, or of repeats, can be accounted for, not drawn",
            )
            .cure("plan a release whose noise can be drawn"));
        }
    };
    Ok(Query { sensitivity, ..query }.with(noise))
}

/// Sensitivity after rounding, and vector noise on the finest grid on which the scale is at least
/// the wanted one. `diagonal` is the norm of a vector of ones.
fn on_grid(query: Query, diagonal: f64, wanted: WantedNoise) -> Result<(f64, Noise)> {
    let planned = query.sensitivity;
    let after_rounding = |noise: &DiscreteGaussian| {
        let (scale, grid) = (noise.sigma(), noise.grid());
        ((planned + grid * diagonal) * ROUNDED_UP, Noise { scale, grid })
    };
    let multiplier = match wanted {
        WantedNoise::Multiplier(multiplier) => multiplier,
        WantedNoise::Scale(scale) => {
            return Ok(after_rounding(&DiscreteGaussian::at_least(scale)?));
        }
    };
    if multiplier.is_nan() || multiplier * diagonal > LARGEST_SPREAD {
        return Err(Error::usage(format!(
            "a noise of {multiplier:.1e} times the sensitivity on each of {} numbers is beyond the grid",
            query.size
        ))
        .cure("choose fewer draws, fewer coordinates, a larger share, or a larger ε"));
    }
    let mut noise = DiscreteGaussian::at_least(planned * multiplier)?;
    loop {
        let (sensitivity, found) = after_rounding(&noise);
        let needed = DiscreteGaussian::at_least(sensitivity * multiplier)?;
        if needed.sigma() <= found.scale {
            return Ok((sensitivity, found));
        }
        // More is only needed again if the grid gets coarser, which happens at most twice.
        noise = needed;
    }
}

#[cfg(test)]
mod tests;
