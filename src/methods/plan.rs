//! Every release that a run will make, listed before data are touched.

use super::{Separation, TheoryLine};
use crate::error::{Error, Result};
use crate::privacy::accountant::calibrate;
use crate::privacy::{Calibrated, PlannedRelease, Target};

/// The name of the release that most methods make in every step.
pub const GRADIENT: &str = "gradient";

/// Calibration, cost preview, ledger and accountant all read this object.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The planned releases.
    pub releases: Vec<PlannedRelease>,
    /// Steps that the run will take, unless its method may end early.
    pub steps: u64,
    /// The size of the released signal, in the units of the first release. With σ this gives the
    /// noise-to-signal estimate. It is a bound, and does not depend on private data.
    pub signal: f64,
    /// Warnings for the user before launching.
    pub warnings: Vec<String>,
    /// The energy of the chosen directions of the public records, if the method chooses some.
    pub explained: Option<ExplainedEnergy>,
    /// What the theorems of the method's paper say of the plan.
    pub theory: Vec<TheoryLine>,
}

/// The share of the public records' energy that public directions keep.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedEnergy {
    /// The number of chosen directions.
    pub chosen: usize,
    /// The share that the first 1, 2, 3 … of them keep.
    pub shares: Vec<f64>,
    /// What they hold of the differences between public classes, where there are any.
    pub separation: Option<Separation>,
}

impl ExplainedEnergy {
    /// The kept share.
    pub fn kept(&self) -> f64 {
        let last = self.chosen.min(self.shares.len());
        if last == 0 { 0.0 } else { self.shares[last - 1] }
    }

    /// How far the eigenvalue of direction k is above the next one, relative to the largest.
    pub fn gap(&self, k: usize) -> f64 {
        let before = |k: usize| if k == 0 { 0.0 } else { self.shares[k - 1] };
        let energy = |k: usize| {
            if k == 0 || k > self.shares.len() { 0.0 } else { self.shares[k - 1] - before(k - 1) }
        };
        let largest = energy(1);
        if largest > 0.0 { (energy(k) - energy(k + 1)) / largest } else { 0.0 }
    }

    /// The number of directions that keep at least this share.
    pub fn needed(&self, share: f64) -> usize {
        self.shares.partition_point(|kept| *kept < share).saturating_add(1).min(self.shares.len())
    }

    /// In words.
    pub fn words(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        format!(
            "{} components keep {} of the public energy; 80 % need {}, 90 % need {}, 99 % need {}",
            self.chosen,
            percent(self.kept()),
            self.needed(0.8),
            self.needed(0.9),
            self.needed(0.99)
        )
    }
}

impl Plan {
    /// A plan of these releases, without warnings.
    pub(crate) fn new(releases: Vec<PlannedRelease>, steps: u64, signal: f64) -> Self {
        let (warnings, theory) = (Vec::new(), Vec::new());
        Self { releases, steps, signal, warnings, explained: None, theory }
    }

    /// The noise with which all releases together meet `target`. A plan may release nothing.
    pub fn calibrate(&self, target: Target) -> Result<Calibrated> {
        if self.releases.is_empty() {
            return Calibrated::of_nothing(target);
        }
        calibrate(&self.releases, target)
    }

    /// Refuses noise that was calibrated for another plan: it would not cover this one.
    pub(super) fn check(&self, noise: &Calibrated) -> Result<()> {
        for planned in &self.releases {
            let label = planned.label;
            let Some(drawn) = noise.event(label) else {
                return Err(Error::refused(format!("there is no noise for release '{label}'"))
                    .cure("calibrate the plan of this run"));
            };
            let covers = drawn.mechanism.carries_out(&planned.query)
                && drawn.count == planned.count
                && drawn.adjacency == planned.adjacency;
            if !covers {
                return Err(Error::refused(format!(
                    "the noise of release '{label}' was calibrated for another plan"
                ))
                .cure("plan again: data or settings have changed since"));
            }
        }
        Ok(())
    }

    /// Length of the first release's noise, relative to [`Plan::signal`]: above 1, noise drowns the
    /// signal of the private data.
    pub fn noise_to_signal(&self, noise: &Calibrated) -> Result<f64> {
        let Some(first) = self.releases.first() else { return Ok(0.0) };
        self.check(noise)?;
        let drawn = noise.event(first.label);
        Ok(drawn.map_or(0.0, |event| event.mechanism.noise_length()) / self.signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::accountant::{Noise, QueryKind};
    use crate::privacy::{Adjacency, Allotment, Event};

    fn plan(sensitivity: f64) -> Plan {
        let release = PlannedRelease {
            label: "gradient",
            what: String::new(),
            query: QueryKind::Gaussian.query(sensitivity, 4),
            count: 10,
            noise: Allotment::Share(1.0),
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        };
        Plan::new(vec![release], 10, 3.0)
    }

    fn noise(sensitivity: f64, count: u64) -> Calibrated {
        let event = Event {
            label: "gradient".to_owned(),
            what: String::new(),
            mechanism: QueryKind::Gaussian.query(sensitivity, 4).with(Noise::ideal(6.0)),
            count,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        };
        Calibrated::of_events(Target { epsilon: 1.0, delta: 1e-6 }, vec![event]).unwrap()
    }

    #[test]
    fn noise_made_for_a_less_sensitive_plan_or_another_number_of_draws_is_refused() {
        plan(0.5).check(&noise(0.5, 10)).unwrap();
        assert!(plan(0.6).check(&noise(0.5, 10)).is_err());
        assert!(plan(0.5).check(&noise(0.5, 9)).is_err());
        let mut other = plan(0.5);
        other.releases[0].label = "moment";
        assert!(other.check(&noise(0.5, 10)).is_err());
    }

    #[test]
    fn what_directions_keep_is_read_off_their_shares() {
        let explained =
            ExplainedEnergy { chosen: 2, shares: vec![0.5, 0.85, 0.95, 1.0], separation: None };
        assert_eq!(explained.kept(), 0.85);
        for (k, gap) in [(1, 0.3), (2, 0.5), (3, 0.1), (4, 0.1), (5, 0.0)] {
            assert!((explained.gap(k) - gap).abs() < 1e-12, "{k}");
        }
        assert_eq!([0.1, 0.5, 0.8, 0.9, 1.0].map(|s| explained.needed(s)), [1, 1, 2, 3, 4]);
        let words = explained.words();
        assert!(
            words.contains("2 components keep 85.0 %") && words.contains("99 % need 4"),
            "{words}"
        );
    }

    #[test]
    fn noise_to_signal_is_the_length_of_the_noise_vector_over_the_signal() {
        assert_eq!(plan(0.5).noise_to_signal(&noise(0.5, 10)).unwrap(), 4.0);
    }
}
