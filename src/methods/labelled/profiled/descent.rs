//! Preconditioned descent around the public solution, and its run.

use nalgebra::{Cholesky, Dyn};

use super::Profile;
use super::batches::Gradient;
use super::public_side::PublicSide;
use crate::labelled::penalty::ReleasedPenalty;
use crate::labelled::records::{LabelledRecords, mean_of_tail};
use crate::numeric::positive::cholesky;
use crate::prelude::*;
use crate::privacy::openings::{OpenCuratorOnly, OpenPrivate, OpenReleased};

/// The parameters of the descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// ρσ: strength of the pull to the public solution.
    pub pull: f64,
    /// Added to the public curvature when it stands for the whole: private data may be curved where
    /// the public ones are flat, and a Newton step would overshoot there.
    pub damping: f64,
    pub step_size: f64,
}

/// Preconditioned gradient descent around the public solution.
pub struct ProfiledDescent {
    /// w_pub, then every iterate.
    iterates: Vec<Vector>,
    motion: Motion,
    /// H_pub + (ρσ + damping)·I, or its blocks, one for each score; without them a step follows the
    /// gradient.
    curvature: Vec<Cholesky<f64, Dyn>>,
}

impl ProfiledDescent {
    /// `public_curvature`: a block for each score.
    pub fn new(start: Vector, public_curvature: Vec<Matrix>, motion: Motion) -> Result<Self> {
        let damped = |mut block: Matrix| {
            for k in 0..block.nrows() {
                block[(k, k)] += motion.pull + motion.damping;
            }
            cholesky(block).ok_or_else(|| {
                Error::failed("the public features are collinear and the pull is too weak to tell")
                    .cure("raise the pull or the damping, or drop columns that say the same")
            })
        };
        let curvature = public_curvature.into_iter().map(damped).collect::<Result<_>>()?;
        Ok(Self { iterates: vec![start], motion, curvature })
    }

    /// Plain gradient descent: no matrix as wide as the records.
    pub fn plain(start: Vector, step_size: f64) -> Self {
        let motion = Motion { pull: 0.0, damping: 1.0, step_size };
        Self { iterates: vec![start], motion, curvature: Vec::new() }
    }

    pub fn current(&self) -> &Vector {
        &self.iterates[self.iterates.len() - 1]
    }

    pub fn start(&self) -> &Vector {
        &self.iterates[0]
    }

    fn steps(&self) -> usize {
        self.iterates.len() - 1
    }

    /// The gradient of the pull at the current iterate.
    pub fn pull(&self) -> Vector {
        self.motion.pull * (self.current() - self.start())
    }

    /// One step along `gradient`, which includes the pull.
    pub fn advance(&mut self, gradient: &Vector) -> Result<()> {
        let mut direction = gradient.clone();
        for (score, block) in self.curvature.iter().enumerate() {
            let size = block.l_dirty().nrows();
            block.solve_mut(&mut direction.rows_mut(score * size, size));
        }
        let next = self.current() - self.motion.step_size * direction;
        if next.iter().all(|w| w.is_finite()) {
            self.iterates.push(next);
            Ok(())
        } else {
            Err(Error::failed(format!(
                "the weights grew without bound in step {}",
                self.iterates.len()
            ))
            .cure("take a smaller step size, or a stronger pull or damping"))
        }
    }

    /// The mean of the last `share` of the steps so far; at least one.
    pub fn average(&self, share: f64) -> Vector {
        mean_of_tail(&self.iterates, share)
    }
}

/// A run of a profiled method.
pub struct ProfiledRun {
    pub steps: u64,
    /// The model is the mean of this share of the steps.
    pub average: f64,
    pub gradient: Gradient,
    pub shape: ProblemShape,
    pub profile: Profile,
    /// The penalty to be released, until it is.
    pub penalty: Option<ReleasedPenalty>,
    pub public: PublicSide,
    pub private: Private<LabelledRecords<Singles>>,
    pub descent: ProfiledDescent,
    pub model: Option<Released<Model>>,
}

/// Exact measures of a point from private data.
#[derive(Debug, Clone, Copy)]
struct ExactPoint {
    gap: f64,
    value: f64,
    loss: f64,
    weight: f64,
}

impl Run for ProfiledRun {
    /// All measures of a step describe the point at which its gradient was taken.
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        // A released penalty is drawn before the first gradient.
        if let Some(penalty) = self.penalty.take() {
            let public = self.public.data();
            let drawn = penalty.draw(spender, public, &self.private, LabelledRecords::data)?;
            self.profile.penalty = *drawn.get();
        }
        if planted(Fault::PrivateStatistic) {
            self.profile.kappa =
                self.private.stolen(|records| 1e-3 * records.norms.iter().sum::<f64>());
        }
        let (profile, count) = (self.profile, self.shape.private_records);
        let at = self.descent.current().clone();
        let there = self.public.pass(&profile, &at);
        let seen = &there.gradient + self.descent.pull();
        let objective = there.value;

        let pass = |records: &LabelledRecords<Singles>| {
            let private = profile.private(records, count);
            let here = private.pass(&at);
            let exact = ExactPoint {
                gap: (&seen + &here.gradient / profile.factor()).norm(),
                value: here.value,
                loss: here.mean_loss,
                weight: here.weight,
            };
            (here.gradient, exact)
        };
        let (noisy, exact, sigma) = match self.gradient {
            Gradient::All(release) => {
                // One pass serves the release and the curator.
                let here = self.private.map_unseen(pass);
                let slope = |(slope, _): &(Vector, ExactPoint)| slope.as_slice().to_vec();
                let whole = Reach::Ball(count as f64 * profile.influence(count));
                let noisy = here.release_gaussian(spender, release, &whole, slope)?;
                let exact = here.curator(watch, |(_, exact)| *exact);
                (noisy, exact, spender.scale(&release)?)
            }
            Gradient::Sampled { release, batch } => {
                let private = &self.private;
                let noisy = private.release_sampled_sum(
                    spender,
                    release,
                    LabelledRecords::protected,
                    |records, sample, sum| {
                        let members = records.chosen(sample.members());
                        let pass = profile.private(&members, batch).pass(&at);
                        sum.add_fused(pass.gradient.as_slice(), sample.members().len());
                    },
                )?;
                let exact = private.curator(watch, |records| pass(records).1);
                (noisy, exact, spender.scale(&release)?)
            }
        };
        let total = noisy.map(|noisy| &seen + Vector::from_vec(noisy) / profile.factor());

        let told = |series, value| Measure::released(series, total.and(value));
        let mut measures = vec![
            told(Series::PublicObjective, objective),
            told(Series::StationarityGap, total.get().norm()),
            told(Series::NoiseGap, sigma / profile.factor() * (at.len() as f64).sqrt()),
            told(Series::EffectiveSample, there.effective_sample),
            told(Series::PublicLoss, there.mean_loss),
        ];
        if let Some(exact) = exact {
            let on_public = there.weight;
            let exact = |series, of: &dyn Fn(ExactPoint) -> f64| {
                Measure::curator(series, exact.clone().map(of))
            };
            measures.extend([
                exact(Series::ExactStationarityGap, &|exact| exact.gap),
                exact(Series::ExactObjective, &|exact| objective + exact.value),
                exact(Series::PrivateLoss, &|exact| exact.loss),
                exact(Series::PublicWeight, &|exact| on_public / (on_public + exact.weight)),
            ]);
        }

        self.descent.advance(total.get())?;
        let average = self.descent.average(self.average);
        self.model = Some(total.and(profile.loss.model(self.shape.dimension, average)?));
        let index = self.descent.steps() as u64;
        let done = index == self.steps;
        Ok(Step { index, total: self.steps, phase: "descend", measures, done })
    }

    fn model(&self) -> Option<Released<Model>> {
        self.model.clone()
    }

    fn weights(&self) -> Option<Released<Vec<f64>>> {
        let average = self.descent.average(self.average);
        let weights = self.public.weights(&self.profile, &average);
        Some(self.model.as_ref()?.and(weights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn falling() -> ProfiledDescent {
        let motion = Motion { pull: 0.0, damping: 0.0, step_size: 1.0 };
        ProfiledDescent::new(Vector::zeros(1), vec![2.0 * Matrix::identity(1, 1)], motion).unwrap()
    }

    #[test]
    fn the_average_takes_the_last_share_of_the_steps_and_never_the_start() {
        let mut descent = falling();
        for _ in 0..5 {
            descent.advance(&Vector::from_vec(vec![-2.0])).unwrap();
        }
        for (share, mean) in [(0.0, 5.0), (0.2, 5.0), (0.5, 4.0), (1.0, 3.0)] {
            assert!((descent.average(share)[0] - mean).abs() < 1e-12, "{share}");
        }
    }

    #[test]
    fn weights_that_grow_without_bound_are_an_error() {
        let mut descent = falling();
        let error = descent.advance(&Vector::from_vec(vec![f64::INFINITY])).unwrap_err();
        assert!(error.what().contains("step 1"), "{error}");
        assert_eq!(descent.current()[0], 0.0);
    }

    #[test]
    fn damping_keeps_steps_short_where_public_data_are_flat() {
        // The private curvature is 1 where the public one is 0.001.
        let reach = |damping: f64| {
            let motion = Motion { pull: 0.0, damping, step_size: 0.5 };
            let flat = vec![1e-3 * Matrix::identity(1, 1)];
            let mut descent =
                ProfiledDescent::new(Vector::from_vec(vec![1.0]), flat, motion).unwrap();
            for _ in 0..60 {
                let slope = descent.current().clone();
                if descent.advance(&slope).is_err() {
                    return f64::INFINITY;
                }
            }
            descent.current().norm()
        };
        assert!(reach(0.0) > 1e10);
        assert!(reach(0.3) < 1e-3, "{}", reach(0.3));
    }
}
