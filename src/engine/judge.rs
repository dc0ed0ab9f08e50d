//! How good a model is on the records held out of training.

use crate::adapt::baselines::reference::{self, DEFAULT_RIDGE};
use crate::adapt::{Measure, MeasureStanding, ProblemShape, Run, Series, Step};
use crate::data::{Bounded, Dataset, Preparation, Task};
use crate::model::{Classifier, Model};
use crate::privacy::{CuratorOnly, Private, Released, Watch};
use crate::verdict::Errors;

/// Judging a network on all held-out records can cost as much as its step: of a long run, about
/// this many steps are judged.
const JUDGED_STEPS: u64 = 100;

/// Errors on records held out of training: root mean squares in label units, or shares of wrong
/// classes.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// Which of the two; none where nothing was scored.
    pub task: Option<Task>,
    /// Of the delivered model on public records; released.
    pub model_on_public: Option<f64>,
    /// Of the public reference model on public records.
    pub source_only_on_public: Option<f64>,
    /// Exact, on private records: for the curator.
    pub model: Option<CuratorOnly<f64>>,
    pub source_only: Option<CuratorOnly<f64>>,
    /// Of the reference model of the private training records: not private at all.
    pub target_only: Option<CuratorOnly<f64>>,
    /// The error of always giving the usual label of the private training records.
    pub trivial: Option<CuratorOnly<f64>>,
    /// Private records that were held out.
    pub held_out: Option<CuratorOnly<usize>>,
    /// To how many persons they belong, where persons are protected: that is public.
    pub persons: Option<usize>,
}

impl Scores {
    /// The exact errors side by side, where they may be seen.
    pub fn exact(&self, watch: &Watch) -> Option<Errors> {
        let seen = |score: &Option<CuratorOnly<f64>>| score.as_ref()?.reveal(watch).copied();
        Some(Errors {
            task: self.task?,
            model: seen(&self.model)?,
            public_alone: seen(&self.source_only),
            no_privacy: seen(&self.target_only),
            trivial: seen(&self.trivial),
            records: self.held_out.as_ref().and_then(|count| count.reveal(watch).copied()),
            persons: self.persons,
        })
    }

    pub fn error_words(&self) -> &'static str {
        match self.task {
            Some(Task::Classification) => "share of wrong classes",
            _ => "root mean squared error",
        }
    }
}

/// Evaluates models on the records held out of training.
pub(super) struct Judge<'a> {
    pub preparation: &'a Preparation,
    pub public: &'a Dataset,
    pub private: Option<&'a Private<Dataset>>,
    pub watch: &'a Watch,
}

#[derive(Default)]
pub(super) struct Baselines {
    /// `None` where public records have no labels, or others than the private ones.
    source_only: Option<Model>,
    target_only: Option<CuratorOnly<Model>>,
    usual: Option<CuratorOnly<Usual>>,
}

impl Baselines {
    /// With what public data alone answer, where that can be compared.
    pub fn beside(self, source_only: Option<Model>) -> Self {
        Self { source_only, ..self }
    }
}

/// What is usual among the private training records.
#[derive(Debug, Clone, Copy)]
enum Usual {
    /// The mean of the labels, as models see them.
    Mean(f64),
    Class(u32),
}

impl Usual {
    fn among(data: &Dataset) -> Option<Self> {
        if let Some(classes) = &data.classes {
            let count = |class: u32| classes.of.iter().filter(|it| **it == class).count();
            let all = 0..classes.names.len() as u32;
            return all.max_by_key(|class| count(*class)).map(Self::Class);
        }
        let labels = data.target.as_ref().filter(|labels| !labels.is_empty())?;
        Some(Self::Mean(labels.iter().sum::<f64>() / labels.len() as f64))
    }
}

impl Judge<'_> {
    /// What is learned from the private records themselves, wherever that is done.
    pub fn comparing(
        &self,
        shape: &ProblemShape,
        private: &Private<Bounded>,
    ) -> impl FnOnce() -> Baselines + Send + use<> {
        let numbers = shape.classes.len().max(1);
        let quick = reference::is_quick(shape.private_records, shape.dimension, numbers);
        let (private, watch) = (private.share(), self.watch.clone());
        move || {
            let target_only =
                quick.then(|| reference::target_only(&private, DEFAULT_RIDGE, &watch).ok());
            let usual = private.curator(&watch, |data| Usual::among(data));
            Baselines {
                source_only: None,
                target_only: target_only.flatten().flatten(),
                usual: usual.and_then(CuratorOnly::transpose),
            }
        }
    }

    /// Adds the evaluation of the current model to a step.
    pub fn judge(&self, run: &dyn Run, step: &mut Step) {
        let Some(model) = run.model() else { return };
        if let Model::Classifier(classifier) = model.get() {
            if !is_judged(step) {
                return;
            }
            self.judge_classifier(&model, classifier, step);
        }
        if let Some(error) = self.error(model.get(), self.public) {
            step.measures.push(Measure::released(Series::PublicError, model.and(error)));
            if matches!(model.get(), Model::Classifier(_)) {
                let accuracy = model.and(accuracy(error));
                step.measures.push(Measure::released(Series::PublicAccuracy, accuracy));
            }
        }
        if let Some(error) = self.private_error(model.get()) {
            if matches!(model.get(), Model::Classifier(_)) {
                let value = MeasureStanding::Curator(error.clone().map(accuracy));
                step.measures.push(Measure { series: Series::PrivateAccuracy, value });
            }
            let value = MeasureStanding::Curator(error);
            step.measures.push(Measure { series: Series::PrivateError, value });
        }
    }

    /// Right answers in %, and the loss on public records.
    fn judge_classifier(&self, model: &Released<Model>, classifier: &Classifier, step: &mut Step) {
        let loss = |holdout: &Dataset| {
            let classes = holdout.classes.as_ref().filter(|classes| !classes.of.is_empty())?;
            let losses = classifier.losses(&holdout.features, classifier.labels(&classes.of));
            Some(losses.iter().sum::<f64>() / losses.len() as f64)
        };
        if let Some(loss) = loss(self.public) {
            step.measures.push(Measure::released(Series::HoldoutLoss, model.and(loss)));
        }
    }

    pub fn scores(&self, model: Option<&Released<Model>>, baselines: &Baselines) -> Scores {
        let mut scores = Scores { task: Some(self.preparation.task()), ..Scores::default() };
        if let Some(model) = model {
            scores.model_on_public = self.error(model.get(), self.public);
            scores.model = self.private_error(model.get());
        }
        if let Some(source_only) = &baselines.source_only {
            scores.source_only_on_public = self.error(source_only, self.public);
            scores.source_only = self.private_error(source_only);
        }
        scores.target_only = baselines
            .target_only
            .as_ref()
            .and_then(|model| model.reveal(self.watch))
            .and_then(|model| self.private_error(model));
        let usual = baselines.usual.as_ref().and_then(|usual| usual.reveal(self.watch));
        scores.trivial = usual.and_then(|usual| {
            let error = |holdout: &Dataset| self.error_of(*usual, holdout);
            self.private?.curator(self.watch, error)?.transpose()
        });
        let held_out = self.private.and_then(|it| it.curator(self.watch, Dataset::len));
        scores.held_out = held_out;
        scores
    }

    fn private_error(&self, model: &Model) -> Option<CuratorOnly<f64>> {
        let error = self.private?.curator(self.watch, |holdout| self.error(model, holdout));
        error?.transpose()
    }

    /// The error of always giving the same answer.
    fn error_of(&self, usual: Usual, holdout: &Dataset) -> Option<f64> {
        match usual {
            Usual::Class(class) => {
                let classes = holdout.classes.as_ref().filter(|it| !it.of.is_empty())?;
                let wrong = classes.of.iter().filter(|it| **it != class).count();
                Some(wrong as f64 / classes.of.len() as f64)
            }
            Usual::Mean(raw) => {
                let target = holdout.target.as_ref().filter(|target| !target.is_empty())?;
                let mean = self.preparation.label_from_prediction(raw);
                let squares = target.iter().map(|label| (mean - label).powi(2)).sum::<f64>();
                Some((squares / target.len() as f64).sqrt())
            }
        }
    }

    /// Root mean squared error in label units, or the share of wrong classes.
    fn error(&self, model: &Model, holdout: &Dataset) -> Option<f64> {
        if let Some(classes) = holdout.classes.as_ref().filter(|classes| !classes.of.is_empty()) {
            let predicted = model.classes(&holdout.features)?;
            let wrong = predicted.iter().zip(&classes.of).filter(|(one, other)| one != other);
            return Some(wrong.count() as f64 / classes.of.len() as f64);
        }
        let target = holdout.target.as_ref().filter(|target| !target.is_empty())?;
        let errors = model
            .numbers(&holdout.features)?
            .into_iter()
            .zip(target)
            .map(|(raw, label)| (self.preparation.label_from_prediction(raw) - label).powi(2));
        Some((errors.sum::<f64>() / target.len() as f64).sqrt())
    }
}

/// In %, of a share of wrong classes.
fn accuracy(error: f64) -> f64 {
    100.0 * (1.0 - error)
}

fn is_judged(step: &Step) -> bool {
    step.done || step.index == 1 || step.index.is_multiple_of(step.total.div_ceil(JUDGED_STEPS))
}
