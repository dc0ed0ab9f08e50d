//! What a draw of each kind is: its query, put into its reach, and its noise.

use super::{Account, Query, Spender, planned_otherwise};
use crate::error::Error;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::numeric::Matrix;
use crate::privacy::accountant::Mechanism;
use crate::privacy::mechanism::direction::leading_direction;
use crate::privacy::mechanism::selection::largest;
use crate::privacy::mechanism::{
    DirectionMechanism, DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoisyMaximum,
    PermuteAndFlip, PoissonSample,
};
use crate::privacy::query::{ClippedSum, Reach};
use crate::privacy::release::{Direction, Gaussian, Laplace, Release, SampledSum, Selection};

impl Spender {
    pub(in crate::privacy) fn gaussian(
        &mut self,
        release: Release<Gaussian>,
        reach: &Reach,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::Gaussian { sigma, grid, coordinates, sensitivity } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(exact(), reach, sensitivity));
        self.once(index, coordinates, query, |spender, exact| {
            spender.with_gaussian(exact, sigma, grid)
        })
    }

    /// A sum over a sample of `records` records.
    pub(in crate::privacy) fn sampled_sum(
        &mut self,
        release: Release<SampledSum>,
        records: usize,
        add: impl FnOnce(&PoissonSample, &mut ClippedSum),
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::SubsampledGaussian { sigma, grid, coordinates, rate, sensitivity } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |spender: &mut Self| {
            let sample = spender.sample(index, rate, records)?;
            let mut sum = ClippedSum::new(coordinates as usize, sensitivity);
            add(&sample, &mut sum);
            let overreached = sum.has_overreached();
            let members = if spender.tape.is_off() { Vec::new() } else { sample.members().into() };
            Ok(Query { exact: sum.finish(), members, overreached })
        };
        self.once(index, coordinates, query, |spender, exact| {
            spender.with_gaussian(exact, sigma, grid)
        })
    }

    pub(in crate::privacy) fn laplace(
        &mut self,
        release: Release<Laplace>,
        reach: &Reach,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::Laplace { scale, grid, coordinates, sensitivity } =
            self.events[index].mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(exact(), reach, sensitivity));
        self.once(index, coordinates, query, |spender, exact| {
            match spender.noise(scale, || DiscreteLaplace::from_event(scale, grid))? {
                Some(noise) => noise.perturb(&mut spender.generator, exact),
                None => Ok(exact.to_vec()),
            }
        })
    }

    /// A vector along one direction u, the larger uᵀAu of the matrix A the likelier.
    pub(in crate::privacy) fn direction(
        &mut self,
        release: Release<Direction>,
        reach: &Reach,
        exact: impl FnOnce() -> Matrix,
    ) -> Result<Vec<f64>> {
        let index = self.find(&release)?;
        let Mechanism::Direction { scale, dimension, range } = self.events[index].mechanism else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(exact().as_slice().to_vec(), reach, range));
        self.once(index, dimension * dimension, query, |spender, exact| {
            let matrix = Matrix::from_column_slice(dimension as usize, dimension as usize, exact);
            match spender.noise(scale, || DirectionMechanism::with_scale(scale))? {
                Some(noise) => noise.draw(&mut spender.generator, &matrix),
                None => leading_direction(&matrix),
            }
        })
    }

    /// One of the candidates, the larger its score the likelier.
    pub(in crate::privacy) fn select(
        &mut self,
        release: Release<Selection>,
        reach: &Reach,
        scores: impl FnOnce() -> Vec<f64>,
    ) -> Result<usize> {
        let index = self.find(&release)?;
        let mechanism = self.events[index].mechanism;
        let (Mechanism::Selection { candidates, range, .. }
        | Mechanism::PermuteAndFlip { candidates, range, .. }
        | Mechanism::NoisySelection { candidates, sensitivity: range, .. }) = mechanism
        else {
            return Err(planned_otherwise(release.label()));
        };
        let query = |_: &mut Self| Ok(clipped(scores(), reach, range));
        let winner = self.once(index, candidates, query, |spender, scores| {
            let winner = match mechanism {
                Mechanism::Selection { scale, .. } => {
                    let scale = if planted(Fault::SelectionScale) { 0.5 * scale } else { scale };
                    match spender.noise(scale, || ExponentialMechanism::with_scale(scale))? {
                        Some(noise) => noise.select(&mut spender.generator, scores),
                        None => largest(scores),
                    }
                }
                Mechanism::PermuteAndFlip { scale, .. } => {
                    match spender.noise(scale, || PermuteAndFlip::with_scale(scale))? {
                        Some(noise) => noise.select(&mut spender.generator, scores),
                        None => largest(scores),
                    }
                }
                Mechanism::NoisySelection { scale, .. } => {
                    match spender.noise(scale, || NoisyMaximum::from_event(scale))? {
                        Some(noise) => noise.select(&mut spender.generator, scores),
                        None => largest(scores),
                    }
                }
                _ => Err(planned_otherwise(release.label())),
            };
            // A transcript holds numbers; every index is one exactly.
            winner.map(|winner| vec![winner as f64])
        })?;
        match winner.as_slice() {
            [winner] => Ok(*winner as usize),
            _ => Err(Error::refused(format!(
                "the transcript has no winner of '{}'",
                release.label()
            ))),
        }
    }

    fn with_gaussian(&mut self, exact: &[f64], sigma: f64, grid: f64) -> Result<Vec<f64>> {
        if planted(Fault::LaplaceForGaussian) {
            let noise = DiscreteLaplace::at_least(sigma / 2.0_f64.sqrt())?;
            return noise.perturb(&mut self.generator, exact);
        }
        if planted(Fault::HalfNoise) {
            let noise = DiscreteGaussian::at_least(0.5 * sigma)?;
            return noise.perturb(&mut self.generator, exact);
        }
        match self.noise(sigma, || DiscreteGaussian::from_event(sigma, grid))? {
            Some(noise) => noise.perturb(&mut self.generator, exact),
            None => Ok(exact.to_vec()),
        }
    }

    /// The noise of this scale. Only rehearsals may do without; a granted run never does.
    fn noise<N>(&self, scale: f64, noise: impl FnOnce() -> Result<N>) -> Result<Option<N>> {
        match self.account {
            Account::Rehearsal if scale == 0.0 => Ok(None),
            _ => noise().map(Some),
        }
    }
}

/// The exact value of a query, put into its reach.
fn clipped(mut exact: Vec<f64>, reach: &Reach, sensitivity: f64) -> Query {
    let overreached = reach.clip(&mut exact, sensitivity);
    if planted(Fault::CoarseRounding) {
        let step = 0.7 * sensitivity;
        for number in &mut exact {
            *number = (*number / step).round() * step;
        }
    }
    Query { exact, members: Vec::new(), overreached }
}
