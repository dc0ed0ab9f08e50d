//! The only way from private to released.

use super::accountant::{Calibrated, Event, Mechanism};
use super::ledger::{Ledger, Outcome, RunId};
use super::mechanism::selection::largest;
use super::mechanism::{
    DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoiseGenerator, NoisyMaximum,
    PoissonSample,
};
use crate::error::{Error, Result};

/// How many blocks a run's draws of one event are announced in, at most: each
/// costs one synced line in the ledger.
const BLOCKS_PER_EVENT: u64 = 20;

/// Draws the noise of one granted run, announcing each block of draws in the
/// ledger first. Dropping it without [`Spender::settle`] leaves the whole grant
/// charged.
pub struct Spender {
    account: Account,
    generator: NoiseGenerator,
    events: Vec<Event>,
    announced: Vec<u64>,
    drawn: Vec<u64>,
}

/// Who is told of the draws.
enum Account {
    Ledger {
        ledger: Ledger,
        run: RunId,
    },
    /// Nobody: public data play the private part.
    Rehearsal,
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
        let account = Account::Ledger { ledger, run };
        Self { account, generator, announced: none.clone(), drawn: none, events }
    }

    /// For studies in which *public* data play the private part, such as
    /// `halflight reproduce`: nothing is written to a ledger, the noise comes from a
    /// seed so that a table can be repeated, and there may be none at all
    /// ([`Calibrated::noiseless`]). What comes out is not private.
    pub(crate) fn rehearsal(calibrated: &Calibrated, seed: u64) -> Self {
        let events = calibrated.events.clone();
        let none = vec![0; events.len()];
        Self {
            account: Account::Rehearsal,
            generator: NoiseGenerator::insecure_from_seed(seed),
            announced: none.clone(),
            drawn: none,
            events,
        }
    }

    /// Noise scale of a planned release: σ, b, or the scale of a selection.
    pub fn scale(&self, release: &str) -> Result<f64> {
        Ok(self.events[self.find(release)?].mechanism.scale())
    }

    /// Draws so far, per event: what is spent if the run ends here.
    pub fn drawn(&self) -> Vec<Event> {
        let spent = self.events.iter().zip(&self.drawn).filter(|(_, drawn)| **drawn > 0);
        spent.map(|(event, drawn)| Event { count: *drawn, ..event.clone() }).collect()
    }

    /// The run is over: only what was drawn stays charged.
    pub fn settle(mut self, outcome: Outcome, peeked: bool) -> Result<()> {
        match &mut self.account {
            Account::Ledger { ledger, run } => ledger.settle(run, &self.drawn, outcome, peeked),
            Account::Rehearsal => Ok(()),
        }
    }

    /// How many words of its generator the run has used: each draw moves on, so that no noise
    /// is used twice.
    pub fn noise_words(&self) -> u64 {
        self.generator.words()
    }

    pub(super) fn gaussian(
        &mut self,
        release: &str,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::Gaussian { sigma, grid, coordinates, .. } = self.events[index].mechanism
        else {
            return Err(planned_otherwise(release));
        };
        let noise = self.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))?;
        let exact = self.compute(index, coordinates, |_| Ok(exact()))?;
        match noise {
            Some(noise) => noise.perturb(&mut self.generator, &exact),
            None => Ok(exact),
        }
    }

    pub(super) fn subsampled_gaussian(
        &mut self,
        release: &str,
        records: usize,
        exact: impl FnOnce(&PoissonSample) -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::SubsampledGaussian { sigma, grid, coordinates, rate, .. } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release));
        };
        let noise = self.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))?;
        let exact = self.compute(index, coordinates, |generator| {
            Ok(exact(&PoissonSample::draw(generator, rate, records)?))
        })?;
        match noise {
            Some(noise) => noise.perturb(&mut self.generator, &exact),
            None => Ok(exact),
        }
    }

    pub(super) fn laplace(
        &mut self,
        release: &str,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(release)?;
        let Mechanism::Laplace { scale, grid, coordinates, .. } = self.events[index].mechanism
        else {
            return Err(planned_otherwise(release));
        };
        let noise = self.noise(scale, || DiscreteLaplace::from_event(scale, grid))?;
        let exact = self.compute(index, coordinates, |_| Ok(exact()))?;
        match noise {
            Some(noise) => noise.perturb(&mut self.generator, &exact),
            None => Ok(exact),
        }
    }

    /// One of the candidates, the larger its score the likelier.
    pub(super) fn select(
        &mut self,
        release: &str,
        scores: impl FnOnce() -> Vec<f64>,
    ) -> Result<usize> {
        let index = self.find(release)?;
        match self.events[index].mechanism {
            Mechanism::Selection { scale, candidates, .. } => {
                let noise = self.noise(scale, || ExponentialMechanism::with_scale(scale))?;
                let scores = self.compute(index, candidates, |_| Ok(scores()))?;
                match noise {
                    Some(noise) => noise.select(&mut self.generator, &scores),
                    None => largest(&scores),
                }
            }
            Mechanism::NoisySelection { scale, candidates, .. } => {
                let noise = self.noise(scale, || NoisyMaximum::from_event(scale))?;
                let scores = self.compute(index, candidates, |_| Ok(scores()))?;
                match noise {
                    Some(noise) => noise.select(&mut self.generator, &scores),
                    None => largest(&scores),
                }
            }
            _ => Err(planned_otherwise(release)),
        }
    }

    /// The noise of this scale. Only rehearsals may do without; a granted run never does.
    fn noise<N>(&self, scale: f64, noise: impl FnOnce() -> Result<N>) -> Result<Option<N>> {
        match self.account {
            Account::Rehearsal if scale == 0.0 => Ok(None),
            _ => noise().map(Some),
        }
    }

    /// Computes what one more draw of event `index` is about, once the draw is in the
    /// ledger. From here on it counts as drawn.
    fn compute(
        &mut self,
        index: usize,
        planned: u64,
        exact: impl FnOnce(&mut NoiseGenerator) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        self.announce(index)?;
        let exact = exact(&mut self.generator)?;
        if exact.len() as u64 != planned {
            return Err(Error::failed(format!(
                "release '{}' announced {planned} numbers and computed {}",
                self.events[index].label,
                exact.len()
            )));
        }
        self.drawn[index] += 1;
        Ok(exact)
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
            if let Account::Ledger { ledger, run } = &mut self.account {
                ledger.reserve(run, index, block)?;
            }
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

fn planned_otherwise(release: &str) -> Error {
    Error::refused(format!("release '{release}' was planned with other noise"))
}

impl std::fmt::Debug for Spender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spender").field("drawn", &self.drawn).finish_non_exhaustive()
    }
}
