//! The draw of each kind: its query, clipped to its reach, and its noise.

use super::{DrawListener, MechanismInput, Spender};
use crate::accountant::{Mechanism, Noise};
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::mechanism::direction::leading_direction;
use crate::mechanism::selection::largest;
use crate::mechanism::{
    DirectionMechanism, DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoisyMaximum,
    PermuteAndFlip, PoissonSample,
};
use crate::numeric::Matrix;
use crate::query::{ClippedSum, Reach};
use crate::release::{Direction, Gaussian, Laplace, Release, Rule, SampledSum, Selection};

impl Spender {
    pub(crate) fn gaussian(
        &mut self,
        release: Release<Gaussian>,
        reach: &Reach,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let (index, Mechanism { query, noise }) = self.planned(&release)?;
        let answer = |_: &mut Self| Ok(clipped(exact(), reach, query.sensitivity));
        self.once(index, query.size, answer, |spender, exact| spender.with_gaussian(exact, noise))
    }

    /// A sum over a sample of `records` records.
    pub(crate) fn sampled_sum(
        &mut self,
        release: Release<SampledSum>,
        records: usize,
        add: impl FnOnce(&PoissonSample, &mut ClippedSum),
    ) -> Result<Vec<f64>> {
        let (index, Mechanism { query, noise }) = self.planned(&release)?;
        let answer = |spender: &mut Self| {
            let sample = spender.sample(index, release.kind().rate, records)?;
            let mut sum = ClippedSum::new(query.size as usize, query.sensitivity);
            add(&sample, &mut sum);
            let overreached = sum.has_overreached();
            let members = if spender.tape.is_some() { sample.members().into() } else { Vec::new() };
            Ok(MechanismInput { exact: sum.finish(), members, overreached })
        };
        self.once(index, query.size, answer, |spender, exact| spender.with_gaussian(exact, noise))
    }

    pub(crate) fn laplace(
        &mut self,
        release: Release<Laplace>,
        reach: &Reach,
        exact: impl FnOnce() -> Vec<f64>,
    ) -> Result<Vec<f64>> {
        let (index, Mechanism { query, noise: Noise { scale, grid } }) = self.planned(&release)?;
        let answer = |_: &mut Self| Ok(clipped(exact(), reach, query.sensitivity));
        self.once(index, query.size, answer, |spender, exact| {
            if spender.is_noiseless(scale) {
                return Ok(exact.to_vec());
            }
            DiscreteLaplace::from_event(scale, grid)?.perturb(&mut spender.generator, exact)
        })
    }

    /// A vector along one direction u; a larger uᵀAu of the matrix A makes it likelier.
    pub(crate) fn direction(
        &mut self,
        release: Release<Direction>,
        reach: &Reach,
        exact: impl FnOnce() -> Matrix,
    ) -> Result<Vec<f64>> {
        let (index, Mechanism { query, noise: Noise { scale, .. } }) = self.planned(&release)?;
        let answer =
            |_: &mut Self| Ok(clipped(exact().as_slice().to_vec(), reach, query.sensitivity));
        self.once(index, query.size * query.size, answer, |spender, exact| {
            let side = query.size as usize;
            let matrix = Matrix::from_column_slice(side, side, exact);
            if spender.is_noiseless(scale) {
                return leading_direction(&matrix);
            }
            DirectionMechanism::with_scale(scale)?.draw(&mut spender.generator, &matrix)
        })
    }

    /// One of the candidates; a larger score makes it likelier.
    pub(crate) fn select(
        &mut self,
        release: Release<Selection>,
        reach: &Reach,
        scores: impl FnOnce() -> Vec<f64>,
    ) -> Result<usize> {
        let (index, Mechanism { query, noise: Noise { scale, .. } }) = self.planned(&release)?;
        let answer = |_: &mut Self| Ok(clipped(scores(), reach, query.sensitivity));
        let winner = self.once(index, query.size, answer, |spender, scores| {
            if spender.is_noiseless(scale) {
                return Ok(vec![largest(scores)? as f64]);
            }
            let generator = &mut spender.generator;
            let winner = match release.kind().rule {
                Rule::Exponential => {
                    let scale = if planted(Fault::SelectionScale) { 0.5 * scale } else { scale };
                    ExponentialMechanism::with_scale(scale)?.select(generator, scores)
                }
                Rule::PermuteAndFlip => {
                    PermuteAndFlip::with_scale(scale)?.select(generator, scores)
                }
                Rule::NoisyMaximum => NoisyMaximum::from_event(scale)?.select(generator, scores),
            };
            // A transcript holds numbers, and every index is exactly a number.
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

    fn with_gaussian(&mut self, exact: &[f64], noise: Noise) -> Result<Vec<f64>> {
        let Noise { scale, grid } = noise;
        if planted(Fault::LaplaceForGaussian) {
            let noise = DiscreteLaplace::at_least(scale / 2.0_f64.sqrt())?;
            return noise.perturb(&mut self.generator, exact);
        }
        if planted(Fault::HalfNoise) {
            let noise = DiscreteGaussian::at_least(0.5 * scale)?;
            return noise.perturb(&mut self.generator, exact);
        }
        if self.is_noiseless(scale) {
            return Ok(exact.to_vec());
        }
        DiscreteGaussian::from_event(scale, grid)?.perturb(&mut self.generator, exact)
    }

    /// Only rehearsals may have no noise; a granted run always has some.
    fn is_noiseless(&self, scale: f64) -> bool {
        scale == 0.0 && matches!(self.account, DrawListener::Rehearsal)
    }
}

/// The exact value of a query, put into its reach.
fn clipped(mut exact: Vec<f64>, reach: &Reach, sensitivity: f64) -> MechanismInput {
    let overreached = reach.clip(&mut exact, sensitivity);
    if planted(Fault::CoarseRounding) {
        let step = 0.7 * sensitivity;
        for number in &mut exact {
            *number = (*number / step).round() * step;
        }
    }
    MechanismInput { exact, members: Vec::new(), overreached }
}
