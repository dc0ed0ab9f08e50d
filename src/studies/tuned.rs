//! Settings that are chosen on validation records, and the minima of the published objectives.
//!
//! As in the paper of `CnvxAdap`, validation records come from the target, and no privacy is charged
//! for the choice: they count as public. One setting after another takes the value with the least
//! error there.

use std::sync::Arc;

use super::labelled::SplitModels;
use crate::data::{Dataset, Task};
use crate::error::{Error, Result};
use crate::evaluation::Measured;
use crate::methods::Value;
use crate::methods::baselines::reference::{DEFAULT_RIDGE, source_only};
use crate::methods::labelled::labelled_discrepancy::{Risk, discrepancy};
use crate::methods::labelled::records::{LabelledRecords, signs};
use crate::methods::labelled::weighted::learner::Learner;
use crate::methods::labelled::weighted::objective::{Caps, Pulls};
use crate::methods::labelled::{cnvx_adap, ncnvx_adap};
use crate::minimum::{Minimum, TOLERANCE, WeightedObjective};
use crate::model::{Model, logistic};
use crate::numeric::doubles::Doubles;
use crate::numeric::{Matrix, Vector};
use halflight_advice::rehearsal::Split;

/// How close a minimum is that is only compared with others.
const ROUGH: f64 = 1e-3;
/// The ridge of the public logistic solution that a search starts from.
const LOGISTIC_RIDGE: f64 = 1e-4;
/// μ of J
const SHARPNESS: f64 = 10.0;

/// The settings of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Strengths {
    pub alpha: f64,
    /// κ₁ or λ₁
    pub total: f64,
    /// κ₂ or λ₂
    pub square: f64,
    /// κ_∞ or λ_∞
    pub largest: f64,
    /// For numbers, the radius within which d̂ is measured; for classes, d̂ itself.
    pub penalty: f64,
}

/// One setting with its values.
type Axis = (fn(&mut Strengths, f64), &'static [f64]);

const NUMBERS: [Axis; 5] = [
    (|it, x| it.total = x, &[0.01, 1.0]),
    (|it, x| it.alpha = x, &[0.03, 0.3, 0.6]),
    (|it, x| it.penalty = x, &[0.03, 0.3]),
    (|it, x| it.square = x, &[0.1, 1.0]),
    (|it, x| it.largest = x, &[1.0, 10.0]),
];
/// κ₁ where there is noise.
const NUMBERS_TOTALS: [f64; 3] = [0.01, 0.1, 1.0];
const CLASSES: [Axis; 5] = [
    (|it, x| it.total = x, &[3.0, 10.0]),
    (|it, x| it.alpha = x, &[0.1, 0.6]),
    (|it, x| it.penalty = x, &[0.1, 0.3]),
    (|it, x| it.square = x, &[0.1, 1.0]),
    (|it, x| it.largest = x, &[1.0, 10.0]),
];

/// The choices on the validation records of one split.
#[derive(Debug, Clone)]
pub(super) struct Tuned {
    pub strengths: Strengths,
    /// d̂ at these settings, without noise.
    pub penalty: f64,
    /// The model and the end of the search at these settings.
    pub minimum: (Model, Minimum),
    /// γ of the kernel and the number of records that are weighted.
    pub kernel: (f64, usize),
    /// How close DM comes, relative to the private moment, and its number of records.
    pub moment: (f64, usize),
    validation: Dataset,
}

/// The search for minima on one split.
pub(super) struct Minimiser<'a> {
    split: &'a Split,
    objective: WeightedObjective<Doubles, Matrix>,
    centre: Vector,
    /// Mean losses on private and on public records, for numbers.
    risks: Option<(Risk, Risk)>,
}

impl<'a> Minimiser<'a> {
    pub fn of(task: Task, split: &'a Split) -> Result<Self> {
        let public = split.public.shared();
        let private = Arc::new(split.private.clone());
        let (learner, centre, radius) = match task {
            Task::Regression => {
                let centre = Vector::from_vec(source_only(&*public, DEFAULT_RIDGE)?.weights);
                let radius = cnvx_adap::radius(public.bounds, &centre, None);
                (Learner::Squared, centre, radius)
            }
            Task::Classification => {
                let signs = signs(&public)?;
                let centre = logistic::ridge_solution(&public.features, &signs, LOGISTIC_RIDGE)
                    .ok_or_else(|| Error::failed("the public records have no logistic model"))?;
                let radius = ncnvx_adap::radius(&centre, None);
                (Learner::Logistic, centre, radius)
            }
        };
        let risks = Risk::of(&private).zip(Risk::of(&public));
        let caps = Caps::new(0.5, public.len(), private.len());
        Ok(Self {
            split,
            objective: WeightedObjective {
                learner,
                pulls: Pulls { total: 1.0, square: 0.0, largest: 0.0, sharpness: None },
                caps,
                radius,
                penalty: (0.0, 0.0),
                public: LabelledRecords::of(learner, public)?,
                private: LabelledRecords::of(learner, private)?,
            },
            centre,
            risks: risks.filter(|_| task == Task::Regression),
        })
    }

    fn usual(&self) -> Strengths {
        let (alpha, total, penalty) = match self.risks {
            Some(_) => (0.1, 0.1, 0.1),
            None => (0.3, 1.0, 0.0),
        };
        Strengths { alpha, total, square: 0.0, largest: 0.0, penalty }
    }

    /// d̂ without noise, and the largest loss in its ball.
    pub fn penalty(&self, strengths: Strengths) -> Result<(f64, f64)> {
        let Some((ours, theirs)) = &self.risks else { return Ok((strengths.penalty, 0.0)) };
        let (centre, radius) = (&self.centre, strengths.penalty);
        let d = discrepancy(ours, theirs, centre, radius)
            .ok_or_else(|| Error::failed("the records have no labelled discrepancy"))?;
        let bounds = self.split.public.bounds;
        let reach = bounds.feature_norm * (centre.norm() + radius) + bounds.label;
        Ok((d, reach.powi(2)))
    }

    /// The minimum with this d̂, from a first model.
    fn search(
        &mut self,
        strengths: Strengths,
        penalty: f64,
        first: &Vector,
        tolerance: f64,
    ) -> Result<Minimum> {
        let Strengths { alpha, total, square, largest, .. } = strengths;
        let it = &mut self.objective;
        let sharpness = (it.learner == Learner::Logistic).then_some(SHARPNESS);
        it.pulls = Pulls { total, square, largest, sharpness };
        it.caps = Caps::new(alpha, it.caps.public_records, it.caps.private_records);
        it.penalty = (penalty, 0.0);
        it.minimum(first.clone(), tolerance)
    }

    /// The minimum with this d̂, and its model.
    pub fn minimum(&mut self, strengths: Strengths, penalty: f64) -> Result<(Model, Minimum)> {
        let found = self.search(strengths, penalty, &self.centre.clone(), TOLERANCE)?;
        Ok((self.model(&found)?, found))
    }

    fn model(&self, found: &Minimum) -> Result<Model> {
        self.objective.learner.model(self.split.public.dimension(), &found.model)
    }

    /// The choice on validation records, among the first `axes` settings.
    pub fn choose(&mut self, validation: &Dataset, axes: usize) -> Result<(Strengths, f64)> {
        let all = if self.risks.is_some() { NUMBERS } else { CLASSES };
        let mut best = self.usual();
        let mut first = self.centre.clone();
        let mut least = f64::INFINITY;
        let kept = std::iter::once(((|_, _| {}) as fn(&mut Strengths, f64), 0.0));
        let tried = all.into_iter().take(axes);
        let tried = tried.flat_map(|(set, values)| values.iter().map(move |value| (set, *value)));
        for (set, value) in kept.chain(tried) {
            let mut strengths = best;
            set(&mut strengths, value);
            let (penalty, _) = self.penalty(strengths)?;
            let found = self.search(strengths, penalty, &first, ROUGH)?;
            let error = error(self.split, &self.model(&found)?, validation)?;
            if error < least {
                (best, least) = (strengths, error);
                // J has several stationary points, so each search for one begins at the public model.
                if self.risks.is_some() {
                    first = found.model;
                }
            }
        }
        Ok((best, self.penalty(best)?.0))
    }
}

/// The error on records that are prepared for evaluation.
fn error(split: &Split, model: &Model, data: &Dataset) -> Result<f64> {
    Measured::of_model(model, data, |raw| split.preparation.label_from_prediction(raw))
        .map(|measured| measured.error)
        .ok_or_else(|| Error::failed("the model and the labels do not match"))
}

/// The first of `values` with the least error of its model on validation records.
fn least<T: Copy>(
    values: impl IntoIterator<Item = T>,
    error: impl Fn(T) -> Result<f64>,
) -> Result<Option<T>> {
    let mut best: Option<(f64, T)> = None;
    for value in values {
        let error = error(value)?;
        if best.is_none_or(|(least, _)| error < least) {
            best = Some((error, value));
        }
    }
    Ok(best.map(|(_, value)| value))
}

impl Tuned {
    pub fn of(task: Task, split: &Split, validation: &Dataset) -> Result<Self> {
        let few = Self::few(task, split, validation, NUMBERS.len())?;
        let pairs = |values: [f64; 3]| {
            values.into_iter().flat_map(|value| MATCHED_RECORDS.map(|records| (value, records)))
        };
        let kernel = least(pairs(KERNEL_GAMMAS), |(gamma, records)| {
            let at = split.matched(records);
            let shares = split.kernel_means(&at, gamma);
            error(split, &split.weighted(task, &at, &shares)?, validation)
        })?;
        let moment = least(pairs(MATCHED_WITHIN), |(within, records)| {
            let at = split.matched(records);
            let shares = split.least_discrepancy(&at, within)?;
            error(split, &split.weighted(task, &at, &shares)?, validation)
        })?;
        Ok(Self {
            kernel: kernel.unwrap_or(USUAL_KERNEL),
            moment: moment.unwrap_or(USUAL_MOMENT),
            ..few
        })
    }

    /// The first of some values of κ₁ with the least error of a noisy model on validation records:
    /// the noise grows with κ₁.
    pub fn total_with_noise(
        &self,
        split: &Split,
        run: impl Fn(f64) -> Result<Model>,
    ) -> Result<f64> {
        let found = least(NUMBERS_TOTALS, |total| error(split, &run(total)?, &self.validation))?;
        Ok(found.unwrap_or(self.strengths.total))
    }

    /// The settings of the published methods. As printed, d̂ is that of the whole ball.
    pub fn settings(&self, task: Task, printed: bool) -> Vec<(String, Value)> {
        let Strengths { alpha, total, square, largest, penalty } = self.strengths;
        let numbers = match task {
            Task::Regression => ["kappa_1", "kappa_2", "kappa_inf"],
            Task::Classification => ["lambda_1", "lambda_2", "lambda_inf"],
        };
        let mut all = vec![("alpha", alpha)];
        all.extend(numbers.into_iter().zip([total, square, largest]));
        match task {
            Task::Classification => all.push(("public_penalty", self.penalty)),
            Task::Regression if printed => {}
            Task::Regression => all.push(("penalty_radius", penalty)),
        }
        let mut all: Vec<(String, Value)> =
            all.into_iter().map(|(key, x)| (key.to_owned(), Value::Number(x))).collect();
        if task == Task::Regression {
            all.push(("penalty_from".to_owned(), Value::Text("released".to_owned())));
        }
        all
    }

    /// The choice where only the first settings of the objective are tried.
    pub fn few(task: Task, split: &Split, validation: &Dataset, axes: usize) -> Result<Self> {
        let mut search = Minimiser::of(task, split)?;
        let (strengths, penalty) = search.choose(validation, axes)?;
        Ok(Self {
            strengths,
            penalty,
            minimum: search.minimum(strengths, penalty)?,
            kernel: USUAL_KERNEL,
            moment: USUAL_MOMENT,
            validation: validation.clone(),
        })
    }
}

/// Public records that are weighted: a kernel needs all pairs of them.
pub(super) const MATCHED_RECORDS: [usize; 2] = [200, 500];
/// Prepared records have norms up to 1.
const KERNEL_GAMMAS: [f64; 3] = [0.5, 2.0, 8.0];
const MATCHED_WITHIN: [f64; 3] = [0.02, 0.1, 0.3];
const USUAL_KERNEL: (f64, usize) = (2.0, 500);
const USUAL_MOMENT: (f64, usize) = (0.02, 500);
