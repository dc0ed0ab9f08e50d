//! The only way from private to released.

use super::accountant::{Calibrated, Event, Mechanism};
use super::ledger::{Ledger, Outcome, RunId};
use super::mechanism::{DiscreteGaussian, NoiseGenerator};
use crate::error::{Error, Result};

/// How many blocks a run's draws of one event are announced in, at most: each
/// costs one synced line in the ledger.
const BLOCKS_PER_EVENT: u64 = 20;

/// Draws the noise of one granted run, announcing each block of draws in the
/// ledger first. Dropping it without [`Spender::settle`] leaves the whole grant
/// charged.
pub struct Spender {
    ledger: Ledger,
    run: RunId,
    generator: NoiseGenerator,
    events: Vec<Event>,
    announced: Vec<u64>,
    drawn: Vec<u64>,
}

impl Spender {
    /// For a run that the ledger has granted with exactly these events.
    pub fn new(
        ledger: Ledger,
        run: RunId,
        calibrated: &Calibrated,
        generator: NoiseGenerator,
    ) -> Self {
        let events = calibrated.events.clone();
        let none = vec![0; events.len()];
        Self { ledger, run, generator, announced: none.clone(), drawn: none, events }
    }

    /// Noise scale (σ) of a planned release.
    pub fn sigma(&self, release: &str) -> Result<f64> {
        let Mechanism::Gaussian { sigma, .. } = self.events[self.find(release)?].mechanism;
        Ok(sigma)
    }

    /// Draws so far, per event: what is spent if the run ends here.
    pub fn drawn(&self) -> Vec<Event> {
        let spent = self.events.iter().zip(&self.drawn).filter(|(_, drawn)| **drawn > 0);
        spent.map(|(event, drawn)| Event { count: *drawn, ..event.clone() }).collect()
    }

    /// The run is over: only what was drawn stays charged.
    pub fn settle(mut self, outcome: Outcome, peeked: bool) -> Result<()> {
        self.ledger.settle(&self.run, &self.drawn, outcome, peeked)
    }

    pub(super) fn gaussian(
        &mut self,
        release: &str,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::Gaussian { sigma, grid, coordinates, .. } = self.events[index].mechanism;
        let noise = DiscreteGaussian::from_event(sigma, grid)?;
        self.announce(index)?;
        let exact = exact();
        if exact.len() as u64 != coordinates {
            return Err(Error::failed(format!(
                "release '{release}' announced {coordinates} numbers and computed {}",
                exact.len()
            )));
        }
        self.drawn[index] += 1;
        noise.perturb(&mut self.generator, &exact)
    }

    /// Makes sure that one more draw of event `index` is in the ledger.
    fn announce(&mut self, index: usize) -> Result<()> {
        let planned = self.events[index].count;
        if self.drawn[index] == planned {
            return Err(Error::refused(format!(
                "release '{}' was planned {planned} times and is asked for once more",
                self.events[index].label
            )));
        }
        if self.drawn[index] == self.announced[index] {
            let block = planned.div_ceil(BLOCKS_PER_EVENT).min(planned - self.announced[index]);
            self.ledger.reserve(&self.run, index, block)?;
            self.announced[index] += block;
        }
        Ok(())
    }

    fn find(&self, release: &str) -> Result<usize> {
        self.events
            .iter()
            .position(|event| event.label == release)
            .ok_or_else(|| Error::refused(format!("release '{release}' is not in the run's plan")))
    }
}

impl std::fmt::Debug for Spender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spender")
            .field("run", &self.run)
            .field("drawn", &self.drawn)
            .finish_non_exhaustive()
    }
}
