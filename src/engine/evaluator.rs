//! Measures how good a model is on the records held out of training.

use crate::data::preparation::{Judging, View};
use crate::data::{Bounded, Dataset, HeldOut, Preparation, PublicData, Task};
use crate::evaluation::{Judged, Loss, Measured};
use crate::methods::baselines::reference::{self, DEFAULT_RIDGE};
use crate::methods::{Measure, ProblemShape, Run, Series, Step};
use crate::model::{Classifier, Model};
use crate::numeric::columns::ExampleColumns;
use crate::privacy::openings::{OpenCuratorOnly, OpenMissing, OpenPrivate, OpenReleased};
use crate::privacy::{CuratorOnly, Private, Released, Watch};
use crate::verdict::{Errors, FurtherErrors};

/// Evaluating a network on all held-out records can cost as much as its step. In a long run, about
/// this many steps are evaluated.
const EVALUATED_STEPS: u64 = 100;

/// Errors on records held out of training: root mean squares in label units, or shares of wrong
/// classes, and further scores.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// The kind of error; `None` if nothing was scored.
    pub task: Option<Task>,
    /// The error of numbers by which the plan is judged.
    pub loss: Loss,
    /// The delivered model on public records; released.
    pub model_on_public: Option<Measured>,
    /// The public reference model on public records.
    pub source_only_on_public: Option<Measured>,
    /// The model on private records: exact, only for the curator.
    pub model: Option<CuratorOnly<Measured>>,
    pub source_only: Option<CuratorOnly<Measured>>,
    /// The reference model of the private training records: not private at all.
    pub target_only: Option<CuratorOnly<Measured>>,
    /// The error of always giving the usual label of the private training records.
    pub trivial: Option<CuratorOnly<f64>>,
    /// Private records that were held out.
    pub held_out: Option<CuratorOnly<usize>>,
    /// The number of their persons, where persons are protected; it is public.
    pub persons: Option<usize>,
}

impl Scores {
    /// The exact errors side by side, if they may be seen.
    pub fn exact(&self, watch: &Watch) -> Option<Errors> {
        let seen = |score: &Option<CuratorOnly<Measured>>| score.as_ref()?.reveal(watch).copied();
        let (model, public_alone) = (seen(&self.model)?, seen(&self.source_only));
        let no_privacy = seen(&self.target_only);
        let (error, further) = (|it: Measured| it.error, |it: Measured| it.further);
        Some(Errors {
            task: self.task?,
            loss: self.loss,
            model: model.error,
            public_alone: public_alone.map(error),
            no_privacy: no_privacy.map(error),
            trivial: self.trivial.as_ref().and_then(|error| error.reveal(watch).copied()),
            further: Some(FurtherErrors {
                model: model.further,
                public_alone: public_alone.map(further),
                no_privacy: no_privacy.map(further),
            }),
            records: self.held_out.as_ref().and_then(|count| count.reveal(watch).copied()),
            persons: self.persons,
        })
    }

    pub fn error_words(&self) -> &'static str {
        match self.task {
            Some(Task::Classification) => "wrong answers",
            _ => self.loss.words(),
        }
    }
}

/// Evaluates models on the records held out of training.
pub(super) struct Evaluator<'a> {
    pub preparation: &'a Preparation,
    pub public: &'a PublicData,
    pub private: Option<&'a Private<HeldOut>>,
    pub watch: &'a Watch,
    /// What the plan's model takes of these records, and what public data alone take.
    pub own: View,
    pub alone: View,
}

#[derive(Default)]
pub(super) struct Baselines {
    /// `None` if public records have no labels, or other labels than the private ones.
    source_only: Option<Model>,
    target_only: Option<CuratorOnly<Model>>,
    usual: Option<CuratorOnly<Usual>>,
}

impl Baselines {
    /// Adds the model of public data alone, if it can be compared.
    pub fn beside(self, source_only: Option<Model>) -> Self {
        Self { source_only, ..self }
    }
}

/// The usual label of the private training records.
#[derive(Debug, Clone, Copy)]
enum Usual {
    /// The mean and the median of the labels, as models see them: the best answers for squared and for
    /// absolute errors.
    Number {
        mean: f64,
        median: f64,
    },
    Class(u32),
}

impl Usual {
    fn among<F>(data: &Dataset<F>) -> Option<Self> {
        if let Some(classes) = &data.classes {
            let count = |class: u32| classes.of.iter().filter(|it| **it == class).count();
            let all = 0..classes.names.len() as u32;
            return all.max_by_key(|class| count(*class)).map(Self::Class);
        }
        let labels = data.target.as_ref().filter(|labels| !labels.is_empty())?;
        let mut sorted = labels.clone();
        sorted.sort_by(f64::total_cmp);
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Some(Self::Number { mean, median: sorted[sorted.len() / 2] })
    }
}

impl<'a> Evaluator<'a> {
    pub fn new(
        (preparation, judging): (&'a Preparation, &Judging),
        public: &'a PublicData,
        private: Option<&'a Private<HeldOut>>,
        watch: &'a Watch,
    ) -> Self {
        let (own, alone) = (judging.own(), judging.alone());
        Self { preparation, public, private, watch, own, alone }
    }

    /// The comparison with models of the private records themselves, where it is made.
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
    pub fn evaluate(&self, run: &dyn Run, step: &mut Step) {
        let Some(model) = run.model() else { return };
        if !is_evaluated(model.get(), step) {
            return;
        }
        if let Model::Classifier(classifier) = model.get() {
            self.evaluate_classifier(&model, classifier, step);
        }
        let is_classifier = matches!(model.get(), Model::Classifier(_));
        let judged = Judged { model: model.get(), view: &self.own };
        if let Some(measured) = self.measured(judged, self.public) {
            let accuracy = is_classifier.then(|| accuracy(measured.error));
            let first =
                [(Series::PublicError, Some(measured.error)), (Series::PublicAccuracy, accuracy)];
            let further = Series::BESIDE_PUBLIC.into_iter().zip(measured.further.drawn());
            for (series, value) in first.into_iter().chain(further) {
                let value = value.map(|value| Measure::released(series, model.and(value)));
                step.measures.extend(value);
            }
        }
        if let Some(measured) = self.measured_on_private(judged) {
            if is_classifier {
                let value = measured.clone().map(|it| accuracy(it.error));
                step.measures.push(Measure::curator(Series::PrivateAccuracy, value));
            }
            for (place, series) in Series::BESIDE_PRIVATE.into_iter().enumerate() {
                let value = measured.clone().map(|it| it.further.drawn()[place]).transpose();
                step.measures.extend(value.map(|value| Measure::curator(series, value)));
            }
            let error = measured.map(|it| it.error);
            step.measures.push(Measure::curator(Series::PrivateError, error));
        }
    }

    /// Right answers in %, and the loss on public records.
    fn evaluate_classifier(
        &self,
        model: &Released<Model>,
        classifier: &Classifier,
        step: &mut Step,
    ) {
        let holdout = self.public;
        let classes = holdout.classes.as_ref().filter(|classes| !classes.of.is_empty());
        let Some(classes) = classes else { return };
        let mut sum = 0.0;
        let features = self.own.of(&holdout.features);
        for range in features.stretches(0..holdout.len()) {
            let examples = features.doubles(range.clone());
            let losses = classifier.losses(&examples, classifier.labels(&classes.of[range]));
            sum += losses.iter().sum::<f64>();
        }
        let loss = model.and(sum / holdout.len() as f64);
        step.measures.push(Measure::released(Series::HoldoutLoss, loss));
    }

    /// The scores of a model and of those that it is compared with; of errors of numbers `loss`
    /// comes first.
    pub fn scores(
        &self,
        model: Option<&Released<Model>>,
        baselines: &Baselines,
        loss: Loss,
    ) -> Scores {
        let mut scores = Scores { task: Some(self.preparation.task()), loss, ..Scores::default() };
        let on_public = |judged| Some(self.measured(judged, self.public)?.led_by(loss));
        let on_private =
            |judged| Some(self.measured_on_private(judged)?.map(|measured| measured.led_by(loss)));
        let own = |model| Judged { model, view: &self.own };
        if let Some(model) = model {
            scores.model_on_public = on_public(own(model.get()));
            scores.model = on_private(own(model.get()));
        }
        if let Some(model) = &baselines.source_only {
            let alone = Judged { model, view: &self.alone };
            scores.source_only_on_public = on_public(alone);
            scores.source_only = on_private(alone);
        }
        let target_only = baselines.target_only.as_ref().and_then(|it| it.reveal(self.watch));
        scores.target_only = target_only.and_then(|model| on_private(own(model)));
        let usual = baselines.usual.as_ref().and_then(|usual| usual.reveal(self.watch));
        scores.trivial = usual.and_then(|usual| {
            let error = |holdout: &HeldOut| self.error_of(*usual, holdout, loss);
            self.private?.curator(self.watch, error)?.transpose()
        });
        scores.held_out = self.private.and_then(|it| it.curator(self.watch, HeldOut::len));
        scores
    }

    fn measured_on_private(&self, judged: Judged<'_>) -> Option<CuratorOnly<Measured>> {
        let measured = self.private?.curator(self.watch, |holdout| self.measured(judged, holdout));
        measured?.transpose()
    }

    /// The error of always giving the same answer.
    fn error_of(&self, usual: Usual, holdout: &HeldOut, loss: Loss) -> Option<f64> {
        match usual {
            Usual::Class(class) => {
                let classes = holdout.classes.as_ref().filter(|it| !it.of.is_empty())?;
                let wrong = classes.of.iter().filter(|it| **it != class).count();
                Some(wrong as f64 / classes.of.len() as f64)
            }
            Usual::Number { mean, median } => {
                let target = holdout.target.as_ref().filter(|target| !target.is_empty())?;
                let raw = if loss == Loss::Absolute { median } else { mean };
                let answer = self.preparation.label_from_prediction(raw);
                let pairs = target.iter().map(|label| (answer, *label));
                Measured::of_numbers(pairs).map(|measured| measured.led_by(loss).error)
            }
        }
    }

    /// The model's scores on records with labels.
    fn measured<F: ExampleColumns>(
        &self,
        judged: Judged<'_>,
        holdout: &Dataset<F>,
    ) -> Option<Measured> {
        Measured::of_model(judged, holdout, |raw| self.preparation.label_from_prediction(raw))
    }
}

/// In %, of a share of wrong answers.
fn accuracy(error: f64) -> f64 {
    100.0 * (1.0 - error)
}

/// Whether the model is evaluated after this step.
pub(super) fn is_evaluated(model: &Model, step: &Step) -> bool {
    let apart = steps_apart(model, step.total);
    step.done || step.index == 1 || step.index.is_multiple_of(apart)
}

/// About how many of a run's steps are evaluated.
pub(super) fn evaluated_steps(model: &Model, steps: u64) -> u64 {
    steps.div_ceil(steps_apart(model, steps))
}

fn steps_apart(model: &Model, steps: u64) -> u64 {
    let is_long = matches!(model, Model::Classifier(_));
    if is_long { steps.div_ceil(EVALUATED_STEPS).max(1) } else { 1 }
}
