//! From a target (ε, δ) to noise scales.
//!
//! A target is a μ of Gaussian differential privacy, and μ² is split between the
//! releases by their shares: with share f of the whole, a release drawn `count` times
//! gets σ = sensitivity·√(count/f)/μ. Two things move σ up from there. It has to be
//! an integer number of steps of a grid that depends on σ; and inputs are rounded to
//! this grid, which adds up to grid·√coordinates to the distance of neighbours. So
//! the least noise is found by bisection, composing the actual events every time.

use super::composition::{Composition, Coverage, Guarantee, LEAST_DELTA};
use super::event::{
    Adjacency, Allotment, Event, Mechanism, PlannedMechanism, PlannedRelease, Target,
};
use super::gaussian;
use crate::error::{Error, Result};
use crate::numeric::special::least;
use crate::privacy::mechanism::DiscreteGaussian;

const LARGEST_EPSILON: f64 = 1e4;
/// How far inside the target the bisection aims, so that rounding cannot lift the
/// guarantee above it.
const MARGIN: f64 = 1e-11;
/// The largest (noise multiplier)·√coordinates: rounding to the grid, of at least
/// 2²⁸ steps to σ, then at most doubles the sensitivity.
const LARGEST_SPREAD: f64 = 134_217_728.0;

/// A plan with its noise: the events that will be drawn and what they guarantee.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    pub target: Target,
    pub events: Vec<Event>,
    pub guarantee: Guarantee,
}

impl Calibrated {
    /// No noise at all, for rehearsals on public data: no guarantee whatsoever.
    pub(crate) fn noiseless(releases: &[PlannedRelease], delta: f64) -> Self {
        let event = |release: &PlannedRelease| Event {
            label: release.label.into(),
            what: release.what.clone(),
            mechanism: release.mechanism.without_noise(),
            count: release.count,
            adjacency: release.adjacency,
        };
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

/// The least noise (to one part in 10⁸: σ is an integer number of grid steps) under
/// which `releases` together satisfy `target`; the guarantee of the result never
/// exceeds it.
pub fn calibrate(releases: &[PlannedRelease], target: Target) -> Result<Calibrated> {
    validate_target(target)?;
    validate_plan(releases)?;
    let ideal = gaussian::mu(target.epsilon, target.delta);
    // At half the μ, all that rounding costs is paid for, or nothing can pay for it.
    let (low, high) = (0.999 / ideal, 2.0 / ideal);
    events(releases, high)?;
    let (epsilon, delta) = (target.epsilon * (1.0 - MARGIN), target.delta * (1.0 - MARGIN));
    let meets = |inverse_mu: f64| {
        let sum = events(releases, inverse_mu).and_then(|events| Composition::of(&events));
        sum.and_then(|sum| sum.delta(epsilon)).is_ok_and(|reached| reached <= delta)
    };
    let inverse_mu = least(low, high, meets).ok_or_else(|| {
        Error::usage(format!(
            "the plan draws too many numbers for ε = {}, δ = {}",
            target.epsilon, target.delta
        ))
        .cure("choose fewer draws, fewer coordinates, or a larger ε")
    })?;
    let events = events(releases, inverse_mu)?;
    let guarantee = Composition::of(&events)?.guarantee(target.delta)?;
    if guarantee.epsilon > target.epsilon {
        return Err(Error::failed(format!(
            "calibration ended at ε = {:e}, above the target of {:e}",
            guarantee.epsilon, target.epsilon
        ))
        .cure("this is a defect of halflight; a slightly different target should work"));
    }
    Ok(Calibrated { target, events, guarantee })
}

fn validate_target(target: Target) -> Result<()> {
    if !(target.epsilon > 0.0 && target.epsilon <= LARGEST_EPSILON) {
        return Err(Error::usage(format!("ε = {} is not a target", target.epsilon))
            .cure("ε must be above 0 and at most 10000"));
    }
    if !(LEAST_DELTA..1.0).contains(&target.delta) {
        return Err(Error::usage(format!("δ = {} is not a target", target.delta)).cure(
            "δ must be above 0 (at least 1e-300) and below 1; well below one over the number of records is usual",
        ));
    }
    Ok(())
}

fn validate_plan(releases: &[PlannedRelease]) -> Result<()> {
    if releases.is_empty() {
        return Err(Error::refused("the plan releases nothing")
            .cure("without a release there is nothing to calibrate noise for"));
    }
    for (index, release) in releases.iter().enumerate() {
        let (l2_sensitivity, coordinates) = gaussian_part(release)?;
        let at = |error: Error| Err(error.at(format!("release '{}'", release.label)));
        if releases[..index].iter().any(|earlier| earlier.label == release.label) {
            return at(Error::usage("two releases of the plan have this label")
                .cure("labels must be unique within a plan"));
        }
        if l2_sensitivity == 0.0 {
            return at(Error::refused("its sensitivity is 0: there is nothing private in it")
                .cure("compute it from public data, without a release"));
        }
        if !(l2_sensitivity > 0.0 && l2_sensitivity.is_finite()) {
            return at(Error::usage(format!("its sensitivity is {l2_sensitivity}"))
                .cure("a sensitivity must be finite and above 0"));
        }
        if release.count == 0 || coordinates == 0 {
            return at(Error::usage(format!(
                "it is drawn {} times with {coordinates} coordinates",
                release.count
            ))
            .cure("both must be at least 1"));
        }
        let share = share_of(release)?;
        if !(share > 0.0 && share.is_finite()) {
            return at(Error::usage(format!("its share of the budget is {share}"))
                .cure("a share must be finite and above 0"));
        }
    }
    Ok(())
}

fn gaussian_part(release: &PlannedRelease) -> Result<(f64, u64)> {
    match release.mechanism {
        PlannedMechanism::Gaussian { l2_sensitivity, coordinates } => {
            Ok((l2_sensitivity, coordinates))
        }
        _ => Err(Error::failed("only Gaussian releases can be calibrated yet")),
    }
}

fn share_of(release: &PlannedRelease) -> Result<f64> {
    match release.noise {
        Allotment::Share(share) => Ok(share),
        Allotment::AsPrinted(_) => Err(Error::failed("printed noise is not carried out yet")),
    }
}

/// The events of a plan whose releases together have μ = 1/`inverse_mu`.
fn events(releases: &[PlannedRelease], inverse_mu: f64) -> Result<Vec<Event>> {
    let whole = releases.iter().map(share_of).sum::<Result<f64>>()?;
    let event = |release: &PlannedRelease| {
        let multiplier = (release.count as f64 * (whole / share_of(release)?)).sqrt() * inverse_mu;
        let mechanism = with_noise(gaussian_part(release)?, multiplier)
            .map_err(|error| error.at(format!("release '{}'", release.label)))?;
        Ok(Event {
            label: release.label.into(),
            what: release.what.clone(),
            mechanism,
            count: release.count,
            adjacency: release.adjacency,
        })
    };
    releases.iter().map(event).collect()
}

/// The finest noise with σ ≥ `multiplier` times the sensitivity on its own grid.
fn with_noise((l2_sensitivity, coordinates): (f64, u64), multiplier: f64) -> Result<Mechanism> {
    let diagonal = (coordinates as f64).sqrt();
    if multiplier.is_nan() || multiplier * diagonal > LARGEST_SPREAD {
        return Err(Error::usage(format!(
            "a noise of {multiplier:.1e} times the sensitivity on each of {coordinates} numbers is beyond the grid"
        ))
        .cure("choose fewer draws, fewer coordinates, a larger share, or a larger ε"));
    }
    let mut noise = DiscreteGaussian::at_least(l2_sensitivity * multiplier)?;
    loop {
        let sensitivity = (l2_sensitivity + noise.grid() * diagonal) * (1.0 + 4.0 * f64::EPSILON);
        let needed = DiscreteGaussian::at_least(sensitivity * multiplier)?;
        if needed.sigma() <= noise.sigma() {
            let (sigma, grid) = (noise.sigma(), noise.grid());
            return Ok(Mechanism::Gaussian { sensitivity, sigma, grid, coordinates });
        }
        // Only a coarser grid, twice at most, asks for more again.
        noise = needed;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn release(label: &'static str, l2_sensitivity: f64, count: u64, share: f64) -> PlannedRelease {
        PlannedRelease {
            label,
            what: format!("the {label}"),
            mechanism: PlannedMechanism::Gaussian { l2_sensitivity, coordinates: 10 },
            count,
            noise: Allotment::Share(share),
            adjacency: Adjacency::ReplaceOne,
        }
    }

    fn parts(event: &Event) -> (f64, f64, f64) {
        let Mechanism::Gaussian { sensitivity, sigma, grid, .. } = event.mechanism else {
            panic!()
        };
        (sensitivity, sigma, grid)
    }

    const TARGET: Target = Target { epsilon: 1.0, delta: 1e-5 };

    #[test]
    fn one_release_gets_the_noise_of_the_closed_form() {
        let calibrated = calibrate(&[release("moment", 0.5, 4, 7.0)], TARGET).unwrap();
        let (sensitivity, sigma, grid) = parts(&calibrated.events[0]);
        let ideal = 0.5 * 2.0 / gaussian::mu(1.0, 1e-5);
        assert!(sigma >= ideal * (1.0 - 1e-9) && sigma <= ideal * (1.0 + 1e-6), "{sigma}");
        // Rounding is paid for.
        assert!(sensitivity >= 0.5 + grid * 10_f64.sqrt());
        assert_eq!(calibrated.guarantee.delta, 1e-5);
        assert_eq!(calibrated.target, TARGET);
        assert_eq!(calibrated.events[0].what, "the moment");
    }

    #[test]
    fn the_golden_noise_of_the_moment_release_comes_back() {
        let path = format!("{}/tests/golden/discrepancy.json", env!("CARGO_MANIFEST_DIR"));
        let golden: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let field = |key: &str| golden["release"][key].as_f64().unwrap();
        let target = Target { epsilon: field("eps"), delta: field("delta") };
        let plan = [release("moment", field("frob_sensitivity"), 1, 1.0)];
        let (_, sigma, _) = parts(&calibrate(&plan, target).unwrap().events[0]);
        assert!((sigma / field("sigma_analytic") - 1.0).abs() < 1e-7, "{sigma}");
    }

    #[test]
    fn mu_squared_is_split_by_shares_over_all_draws() {
        let plan = [release("gradient", 2.0, 50, 3.0), release("start", 0.1, 1, 1.0)];
        let calibrated = calibrate(&plan, TARGET).unwrap();
        let mu_squared = |event: &Event| {
            let (sensitivity, sigma, _) = parts(event);
            event.count as f64 * (sensitivity / sigma).powi(2)
        };
        let ratio = mu_squared(&calibrated.events[0]) / mu_squared(&calibrated.events[1]);
        assert!((ratio - 3.0).abs() < 1e-6, "{ratio}");
    }

    #[test]
    fn noise_can_be_drawn_as_it_was_calibrated() {
        let plan = [release("gradient", 2.0, 50, 3.0), release("start", 0.1, 1, 1.0)];
        for event in calibrate(&plan, TARGET).unwrap().events {
            let (_, sigma, grid) = parts(&event);
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
            assert_eq!(DiscreteGaussian::from_event(sigma, grid).unwrap().sigma(), sigma);
        }
    }

    #[test]
    fn impossible_targets_are_refused_with_the_admissible_range() {
        let plan = [release("moment", 1.0, 1, 1.0)];
        for epsilon in [0.0, -1.0, 10_000.1, f64::NAN, f64::INFINITY] {
            let error = calibrate(&plan, Target { epsilon, delta: 1e-5 }).unwrap_err();
            assert!(error.to_string().contains("above 0 and at most 10000"), "{error}");
        }
        for delta in [0.0, -1.0, 1.0, 1e-301, f64::NAN] {
            let error = calibrate(&plan, Target { epsilon: 1.0, delta }).unwrap_err();
            assert!(error.to_string().contains("below 1"), "{error}");
        }
    }

    #[test]
    fn impossible_plans_are_refused_by_label() {
        let twice = release("twice", 1.0, 1, 1.0);
        let mut empty = release("empty", 1.0, 1, 1.0);
        empty.mechanism = PlannedMechanism::Gaussian { l2_sensitivity: 1.0, coordinates: 0 };
        let mut crowd = release("crowd", 1.0, 1 << 40, 1.0);
        crowd.mechanism = PlannedMechanism::Gaussian { l2_sensitivity: 1.0, coordinates: 1 << 40 };
        let cases = [
            (vec![], "releases nothing"),
            (vec![twice.clone(), twice], "release 'twice': two releases"),
            (vec![empty], "release 'empty': it is drawn 1 times with 0"),
            (vec![crowd], "release 'crowd': a noise of"),
            (vec![release("public", 0.0, 1, 1.0)], "nothing private in it"),
            (vec![release("nan", f64::NAN, 1, 1.0)], "finite and above 0"),
            (vec![release("negative", -1.0, 1, 1.0)], "finite and above 0"),
            (vec![release("never", 1.0, 0, 1.0)], "drawn 0 times"),
            (vec![release("free", 1.0, 1, 0.0)], "share must be"),
            (vec![release("all", 1.0, 1, f64::INFINITY)], "share must be"),
            (vec![release("huge", 1e300, 1, 1.0)], "1e-150 and 1e150"),
        ];
        for (plan, expected) in cases {
            let error = calibrate(&plan, TARGET).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn more_numbers_than_the_grid_can_bear_are_refused() {
        let mut crowd = release("crowd", 1.0, 1 << 30, 1.0);
        crowd.mechanism = PlannedMechanism::Gaussian { l2_sensitivity: 1.0, coordinates: 1 << 20 };
        let error = calibrate(&[crowd], Target { epsilon: 10.0, delta: 1e-5 }).unwrap_err();
        assert!(error.to_string().contains("too many numbers"), "{error}");
    }

    #[test]
    fn the_corners_of_the_admissible_targets_can_be_reached() {
        for epsilon in [1e-3, 1.0, 40.0, 1e4] {
            for delta in [1e-300, 1e-5, 0.5] {
                let target = Target { epsilon, delta };
                let calibrated = calibrate(&[release("moment", 1.0, 1, 1.0)], target).unwrap();
                assert!(calibrated.guarantee.epsilon <= epsilon);
                assert!(calibrated.guarantee.epsilon >= epsilon * (1.0 - 1e-4), "{calibrated:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_guarantee_never_exceeds_the_target_and_wastes_nothing(
            parts in proptest::collection::vec(
                (-8.0..8.0, 1_u64..2000, 0.01..5.0, 1_u64..20_000), 1..4,
            ),
            log_epsilon in -3.0..4.0, log_delta in -30.0..-4.6,
        ) {
            let labels = ["first", "second", "third"];
            let plan: Vec<PlannedRelease> = parts
                .iter()
                .zip(labels)
                .map(|((log_sensitivity, count, share, coordinates), label)| PlannedRelease {
                    mechanism: PlannedMechanism::Gaussian {
                        l2_sensitivity: f64::exp(*log_sensitivity),
                        coordinates: *coordinates,
                    },
                    ..release(label, 1.0, *count, *share)
                })
                .collect();
            let target = Target { epsilon: f64::exp(log_epsilon), delta: f64::exp(log_delta) };
            let calibrated = calibrate(&plan, target).unwrap();
            let reached = calibrated.guarantee.epsilon;
            prop_assert!(reached <= target.epsilon);
            prop_assert!(reached >= target.epsilon * (1.0 - 1e-6), "{} of {}", reached, target.epsilon);
            for (event, planned) in calibrated.events.iter().zip(&plan) {
                let (l2_sensitivity, coordinates) = gaussian_part(planned).unwrap();
                let (sensitivity, sigma, grid) = tests::parts(event);
                prop_assert!(sensitivity >= l2_sensitivity + grid * (coordinates as f64).sqrt());
                prop_assert!(DiscreteGaussian::from_event(sigma, grid).is_ok());
            }
        }
    }
}
