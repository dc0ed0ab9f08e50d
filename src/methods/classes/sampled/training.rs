//! The run: noisy gradients in, a model out.

use super::Examples;
use super::design::Design;
use super::fields::Sum;
use super::optimiser::{Optimiser, OptimiserKind};
use crate::model::Gradients;
use crate::numeric::projection::shrink_factor;
use crate::numeric::tall::squared_length;
use crate::prelude::*;
use crate::privacy::openings::{OpenCuratorOnly, OpenMissing, OpenPrivate, OpenReleased};

/// The most records of each side that are evaluated for the charts.
const WATCHED: usize = 256;
/// The most steps of a run that are evaluated.
const LOOKS: u64 = 100;
/// Larger parameters are a failure, because their squares could overflow.
const LARGEST: f64 = 1e30;

/// Unknown classes and wrong shapes were refused or turned into null records before.
const UNUSABLE: PrivateFault = PrivateFault::new(
    "the private records do not fit the network",
    "prepare them with the columns and classes of the plan",
);

/// The source of the noisy mean gradient of a step.
pub trait GradientSource: Send {
    /// The gradient with respect to the trained parameters, divided by the average number of
    /// records in a sample.
    fn draw(
        &mut self,
        design: &Design,
        private: &Private<Examples>,
        spender: &mut Spender,
    ) -> Result<Released<Vector>>;

    /// The effect of clipping on these gradients, without noise.
    fn look(&self, gradients: &Gradients) -> ClippingEffect;

    /// Measures of the current step from public data; nothing private.
    fn public_measures(&self) -> Vec<(Series, f64)> {
        Vec::new()
    }
}

/// The effect of clipping on some gradients.
#[derive(Debug, Clone, Copy)]
pub struct ClippingEffect {
    /// The share of shortened gradients.
    pub clipped: f64,
    /// The share of their energy in the subspace, if there is one.
    pub energy: Option<f64>,
}

/// One clipped sum per step, by the release that a step draws.
pub struct ClippedSums(pub Sum);

impl GradientSource for ClippedSums {
    fn draw(
        &mut self,
        Design { objective, model, .. }: &Design,
        private: &Private<Examples>,
        spender: &mut Spender,
    ) -> Result<Released<Vector>> {
        let Sum { release, clip, batch, .. } = self.0;
        let share = 1.0 / batch as f64;
        let noisy = private.release_sampled_sum(
            spender,
            release,
            Examples::protected,
            |records, sample, sum| {
                // Shapes were checked at the start; blocks that do not fit add nothing.
                let _ = objective.add_clipped(model, records, sample.members(), clip, sum);
            },
        )?;
        Ok(noisy.map(|noisy| share * Vector::from_vec(noisy)))
    }

    fn look(&self, gradients: &Gradients) -> ClippingEffect {
        let norms = gradients.squared_norms();
        let over = norms.iter().filter(|square| square.sqrt() > self.0.clip).count();
        ClippingEffect { clipped: over as f64 / norms.len() as f64, energy: None }
    }
}

/// How steps are taken.
#[derive(Debug, Clone, Copy)]
pub struct SampledMotion {
    pub steps: u64,
    /// The length of a step, relative to the gradient's.
    pub learning_rate: f64,
    pub momentum: f64,
    pub optimiser: OptimiserKind,
    /// The model is the mean of this share of the steps.
    pub average: f64,
    /// The steps of a paper, in place of those of one length.
    pub printed: Option<PrintedSteps>,
}

/// The steps of Noisy-SGD, by 1/√(tL² + noise) in step t. After each of them the weights of every
/// class are put back into the ball of radius 1.
#[derive(Debug, Clone, Copy)]
pub struct PrintedSteps {
    /// L, the largest slope of a record's loss.
    pub slope: f64,
    /// The mean square length of the noise on a record's slope.
    pub noise: f64,
}

impl PrintedSteps {
    /// The length of step `t`, from 1 on, relative to the gradient's.
    pub fn rate(self, t: u64) -> f64 {
        1.0 / (t as f64 * self.slope * self.slope + self.noise).sqrt()
    }
}

/// A run on Poisson samples.
pub struct SampledTraining {
    design: Design,
    source: Box<dyn GradientSource>,
    motion: SampledMotion,
    /// Private records, with features in the form that the trained layers get, as everywhere here.
    private: Private<Examples>,
    watched: Private<Examples>,
    public: Option<Examples>,
    /// The trained numbers of the current model.
    trained: Vec<f64>,
    optimiser: Optimiser,
    /// Sum of the trained numbers after the averaged steps.
    sum: Vector,
    taken: u64,
    averaged: u64,
    /// Proof that a sum was released, so that results from it may be published, too.
    released: Option<Released<()>>,
}

/// Exact measures of a step from private data.
#[derive(Debug, Clone, Copy)]
struct ExactStep {
    loss: f64,
    median: f64,
    tail: f64,
    look: ClippingEffect,
}

impl SampledTraining {
    /// Uses private data only through the frozen layers.
    pub fn new(
        problem: &Problem,
        private: &Private<Bounded>,
        design: Design,
        source: Box<dyn GradientSource>,
        motion: SampledMotion,
    ) -> Result<Self> {
        let Problem { shape, public, .. } = problem;
        let known = shape.classes.len();
        // Only the disk can fail here, besides.
        let private = private.try_map(|data| {
            let records = Examples::new(data.shared(), known).map_err(|_| UNUSABLE)?;
            seen(&design, records)
        })?;
        let same = public.classes.as_ref().is_some_and(|own| own.names == shape.classes);
        let public = if same {
            Some(seen(&design, Examples::new(public.shared(), known)?.some(WATCHED))?)
        } else {
            None
        };
        let trained = design.objective.trained.numbers(&design.model);
        Ok(Self {
            watched: private.map_unseen(|records| records.some(WATCHED)),
            private,
            public,
            source,
            motion,
            optimiser: Optimiser::new(motion.optimiser, motion.momentum, trained.len()),
            sum: Vector::zeros(trained.len()),
            trained,
            taken: 0,
            averaged: 0,
            released: None,
            design,
        })
    }

    /// Whether step `index` is evaluated: all of a short run, a hundred of a long one.
    fn is_watched(&self, index: u64) -> bool {
        let every = self.motion.steps.div_ceil(LOOKS);
        index == 1 || index == self.motion.steps || index.is_multiple_of(every)
    }

    fn exact(&self, watch: &Watch) -> Vec<Measure> {
        let (objective, source, model) = (&self.design.objective, &self.source, &self.design.model);
        let look = |records: &Examples| -> Result<ExactStep> {
            let gradients = objective.gradients(model, records)?;
            let mut squares = gradients.squared_norms();
            squares.sort_unstable_by(f64::total_cmp);
            let quantile = |share: f64| squares[((squares.len() - 1) as f64 * share) as usize];
            let count = squares.len() as f64;
            Ok(ExactStep {
                loss: gradients.losses.iter().sum::<f64>() / count,
                median: quantile(0.5).sqrt(),
                tail: quantile(0.9).sqrt(),
                look: source.look(&gradients),
            })
        };
        let Some(exact) = self.watched.curator(watch, |records| look(records).ok()) else {
            return Vec::new();
        };
        let Some(exact) = exact.transpose() else { return Vec::new() };
        let measure =
            |series, of: &dyn Fn(ExactStep) -> f64| Measure::curator(series, exact.clone().map(of));
        let mut measures = vec![
            measure(Series::PrivateLoss, &|exact| exact.loss),
            measure(Series::ClipFraction, &|exact| exact.look.clipped),
            measure(Series::GradientMedian, &|exact| exact.median),
            measure(Series::GradientTail, &|exact| exact.tail),
        ];
        let energy = exact.map(|exact| exact.look.energy).transpose();
        measures.extend(energy.map(|energy| Measure::curator(Series::ExactSubspaceEnergy, energy)));
        measures
    }

    fn advance(&mut self, gradient: &Vector) -> Result<()> {
        let SampledMotion { steps, learning_rate, average, printed, .. } = self.motion;
        let learning_rate = printed.map_or(learning_rate, |printed| printed.rate(self.taken + 1));
        let mut next = self.trained.clone();
        for (parameter, speed) in next.iter_mut().zip(&self.optimiser.direction(gradient)) {
            *parameter -= learning_rate * speed;
        }
        if printed.is_some() {
            let classes = next.chunks_exact_mut(self.design.model.architecture().inputs());
            for weights in classes {
                let factor = shrink_factor(squared_length(weights).sqrt(), 1.0);
                for weight in weights {
                    *weight *= factor;
                }
            }
        }
        if !next.iter().all(|parameter| parameter.abs() < LARGEST) {
            return Err(Error::failed(format!(
                "the model's weights grow without bound in step {}",
                self.taken + 1
            ))
            .cure("choose a lower learning rate, a lower momentum, or a smaller clip"));
        }
        self.design.objective.trained.place(&next, &mut self.design.model);
        self.taken += 1;
        if (steps - self.taken) as f64 <= average * steps as f64 - 1.0 {
            self.sum.iter_mut().zip(&next).for_each(|(sum, number)| *sum += number);
            self.averaged += 1;
        }
        self.trained = next;
        Ok(())
    }

    /// Begins again with these trained numbers.
    pub fn restart(&mut self, numbers: &[f64]) {
        self.design.objective.trained.place(numbers, &mut self.design.model);
        self.trained.copy_from_slice(numbers);
        self.optimiser.restart();
        self.sum.fill(0.0);
        (self.taken, self.averaged) = (0, 0);
    }

    /// The number of steps from the first parameters to the last.
    pub(super) fn steps(&self) -> u64 {
        self.motion.steps
    }

    /// The whole model with these trained parameters, after the first step.
    pub(super) fn model_of(&self, parameters: Vec<f64>) -> Option<Released<Model>> {
        let whole = self.design.whole(parameters).ok()?;
        Some(self.released.as_ref()?.and(Model::Classifier(whole)))
    }

    /// The design with the current model, and the private records in the form that it gets.
    pub(super) fn trained(&self) -> (&Design, &Private<Examples>) {
        (&self.design, &self.private)
    }

    /// The delivered parameters. Those that are not trained stay the same to the last bit.
    pub(super) fn parameters(&self) -> Vec<f64> {
        let mut model = self.design.model.clone();
        if self.averaged > 0 {
            let mean = &self.sum / self.averaged as f64;
            self.design.objective.trained.clone().place(mean.as_slice(), &mut model);
        }
        model.parameters().to_vec()
    }
}

/// Records in the form that the trained layers get.
pub fn seen(design: &Design, records: Examples) -> Result<Examples> {
    let records = records.scaled(design.scale);
    match &design.frozen {
        None => Ok(records),
        Some(frozen) if frozen.architecture().inputs() == records.dimension() => {
            records.through(frozen)
        }
        Some(frozen) => Err(Error::failed(format!(
            "records of {} features do not fit layers for {}",
            records.dimension(),
            frozen.architecture().inputs()
        ))),
    }
}

impl Run for SampledTraining {
    /// All measures of a step describe the point at which its gradient was taken.
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let index = self.taken + 1;
        let gradient = self.source.draw(&self.design, &self.private, spender)?;
        let told = |series, value| Measure::released(series, gradient.and(value));
        let mut measures = vec![told(Series::StationarityGap, gradient.get().norm())];
        if self.is_watched(index) {
            if let Some(public) = &self.public {
                let labels = self.design.objective.loss.labels(public.classes());
                let losses = self.design.model.losses(&public.features(), labels);
                let mean = losses.iter().sum::<f64>() / losses.len() as f64;
                measures.push(told(Series::PublicLoss, mean));
            }
            let public = self.source.public_measures().into_iter();
            measures.extend(public.map(|(series, value)| told(series, value)));
            measures.extend(self.exact(watch));
        }
        self.advance(gradient.get())?;
        self.released = Some(gradient.and(()));
        let (total, done) = (self.motion.steps, index == self.motion.steps);
        Ok(Step { index, total, phase: "descend", measures, done })
    }

    fn model(&self) -> Option<Released<Model>> {
        self.model_of(self.parameters())
    }
}
