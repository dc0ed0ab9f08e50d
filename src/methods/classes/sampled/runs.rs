//! Several trainings one after another, and a private choice among their models.
//!
//! After Noisy-SGD, algorithm 2 of Pinto, Hu, Yang and Sanyal, which goes back to Bassily, Smith and
//! Thakurta: each of ⌈log 1/β⌉ runs has a part of the budget, and the exponential mechanism takes one
//! of their models. So a bound that holds on average holds with probability 1 − β.
//!
//! *Sensitivity of the choice.* The score of a model is the number of private records whose class it
//! tells. A blank record counts for nothing, and a person for the mean of their records, so leaving
//! one blank moves each score by an amount from 0 to 1: a range of 1. Sums of the shares of persons
//! are rounded, under either neighbour.
//!
//! *As printed.* The score is minus the sum of the losses, each cut to the largest that a model in
//! the ball can have, which is the range then.

use super::training::SampledTraining;
use super::{Examples, SampledLoss};
use crate::prelude::*;
use crate::privacy::openings::OpenPrivate;
use crate::privacy::{Rule, Selection};

/// The records that are scored at once.
const BLOCK: usize = 512;
/// The part of the budget for the choice.
const CHOICE_SHARE: f64 = 0.1;

/// The number of trainings.
pub const RUNS: Setting<Option<u64>> = automatic_whole(20.0).named("runs", "trainings").help(
    "So many trainings share the budget, and a tenth of it chooses the model that is right most \
     often on the private records. Automatic takes one, and in as_printed the five of the paper. \
     More are mostly worse: each has more noise than the choice makes up for.",
);

/// What makes a model better than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunScore {
    /// The number of records whose class it tells.
    RightAnswers,
    /// Minus the sum of the losses, of which none counts for more than this.
    Losses(f64),
}

/// The choice at the end of several trainings.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The number of trainings.
    pub runs: u64,
    score: RunScore,
    release: Release<Selection>,
    /// The largest size of a score.
    most: f64,
}

impl Choice {
    /// Makes a plan of one training a plan of several, and of the choice. `scale` is that of a
    /// printed choice.
    pub fn of(
        runs: u64,
        score: RunScore,
        scale: Option<f64>,
        shape: &ProblemShape,
        plan: &mut Plan,
    ) -> Option<Self> {
        if runs < 2 {
            return None;
        }
        let n = shape.private_records;
        let each = match score {
            RunScore::RightAnswers => 1.0,
            RunScore::Losses(largest) => largest,
        };
        let rounding = 2.0 * n as f64 * summation_error(n * shape.most_records + 16);
        let range = each * (1.0 + rounding);
        let candidates = runs as usize;
        let kind = Selection { rule: Rule::Exponential, range, candidates };
        let release = Release::new("training", kind);
        plan.steps = runs * plan.steps + 1;
        for training in &mut plan.releases {
            training.count *= runs;
            if let Allotment::Share(share) = &mut training.noise {
                *share = 1.0 - CHOICE_SHARE;
            }
        }
        let noise = scale.map_or(Allotment::Share(CHOICE_SHARE), Allotment::AsPrinted);
        let what =
            format!("which of the models of {runs} trainings is best on the private records");
        plan.releases.push(release.announced(what, 1, noise, Adjacency::ZeroOut));
        Some(Self { runs, score, release, most: each * n as f64 })
    }

    /// The run of these trainings, from the first parameters of each.
    pub fn run(self, training: SampledTraining, starts: Vec<Vec<f64>>) -> Box<dyn Run> {
        let mut run = ChosenRun { training, choice: self, starts, found: Vec::new(), chosen: None };
        run.begin();
        Box::new(run)
    }
}

/// The trainings, and the choice at their end.
struct ChosenRun {
    training: SampledTraining,
    choice: Choice,
    /// First parameters of each training.
    starts: Vec<Vec<f64>>,
    /// The delivered parameters of those that are done.
    found: Vec<Vec<f64>>,
    chosen: Option<Released<usize>>,
}

impl ChosenRun {
    /// Begins the next training, if there is one.
    fn begin(&mut self) {
        if let Some(start) = self.starts.get(self.found.len()) {
            self.training.restart(start);
        }
    }

    fn choose(&self, spender: &mut Spender) -> Result<Released<usize>> {
        let Choice { score, release, most, .. } = self.choice;
        let (design, private) = self.training.trained();
        let of = |parameters: &Vec<f64>| {
            Classifier::new(design.model.architecture().clone(), parameters.clone())
        };
        let models = self.found.iter().map(of).collect::<Result<Vec<_>>>()?;
        let reach = match score {
            RunScore::RightAnswers => Reach::between(0.0, most, models.len()),
            RunScore::Losses(_) => Reach::between(-most, 0.0, models.len()),
        };
        let loss = design.objective.loss;
        private.select(spender, release, &reach, |records| {
            models.iter().map(|model| records.score(model, loss, score)).collect()
        })
    }
}

impl Run for ChosenRun {
    fn step(&mut self, spender: &mut Spender, watch: &Watch) -> Result<Step> {
        let (runs, done) = (self.choice.runs, self.found.len() as u64);
        if done == runs {
            self.chosen = Some(self.choose(spender)?);
            let total = runs * self.training.steps() + 1;
            let measures = Vec::new();
            return Ok(Step { index: total, total, phase: "choose", measures, done: true });
        }
        let step = self.training.step(spender, watch)?;
        if step.done {
            self.found.push(self.training.parameters());
            self.begin();
        }
        let (index, total) = (done * step.total + step.index, runs * step.total + 1);
        Ok(Step { index, total, done: false, ..step })
    }

    /// The chosen model, or before the choice that of the last training that is done.
    fn model(&self) -> Option<Released<Model>> {
        let chosen = self.chosen.as_ref().map(|chosen| &self.found[*chosen.get()]);
        match chosen.or(self.found.last()) {
            Some(parameters) => self.training.model_of(parameters.clone()),
            None => self.training.model(),
        }
    }
}

impl Examples {
    /// The score of a model, added up over persons or records.
    fn score(&self, model: &Classifier, loss: SampledLoss, score: RunScore) -> f64 {
        let all: Vec<usize> = (0..self.protected()).collect();
        let mut total = 0.0;
        for members in all.chunks(BLOCK) {
            let sample = self.of(members);
            let (features, classes) = self.batch(&sample.records, model.multiple());
            let worth: Vec<f64> = match score {
                RunScore::RightAnswers => {
                    let told = model.classes(&features);
                    let right = told.iter().zip(&classes).map(|(told, class)| told == class);
                    right.map(|right| f64::from(u8::from(right))).collect()
                }
                RunScore::Losses(largest) => {
                    let losses = model.losses(&features, loss.labels(&classes));
                    losses.into_iter().map(|loss| -loss.min(largest).max(0.0)).collect()
                }
            };
            for ends in sample.ends.windows(2) {
                let own = &worth[ends[0]..ends[1]];
                total += own.iter().sum::<f64>() / own.len() as f64;
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::data::Persons;
    use crate::trial::{RehearsalNoise, Trial};
    use crate::{Value, example};

    /// One person's records are exchanged for blank ones. A model that is right on all of them moves
    /// by 1, one that is right on none by 0, and no loss counts for more than its bound.
    #[test]
    fn a_blank_person_moves_a_score_by_one_at_most_and_a_loss_by_its_bound() {
        let (_, public, _) = example::two_classes(3, 40, 30, 5);
        let counts = std::iter::once(11).chain(std::iter::repeat_n(1, 29));
        let persons = Persons::of_counts(counts);
        for first in [vec![1.0, 0.0, 0.0, -1.0, 0.0, 0.0], vec![0.0; 6], vec![9.0; 6]] {
            let network = crate::model::Architecture::unbiased(3, 2).unwrap();
            let model = Classifier::new(network, first).unwrap();
            for loss in [SampledLoss::CrossEntropy, SampledLoss::Hinge(0.1)] {
                for score in [RunScore::RightAnswers, RunScore::Losses(0.7)] {
                    let most = if score == RunScore::RightAnswers { 1.0 } else { 0.7 };
                    let of = |blank: usize, right: bool| {
                        let mut data = public.clone();
                        data.persons = Some(persons.clone().into());
                        for at in 0..11 {
                            let told = model.classes(&data.features)[at];
                            let classes = data.classes.as_mut().unwrap();
                            classes.of[at] = if right { told } else { 1 - told };
                        }
                        for at in 0..blank {
                            data.features.column_mut(at).fill(0.0);
                        }
                        let data = Arc::new(PublicData::from(data));
                        Examples::new(data, 2).unwrap().score(&model, loss, score)
                    };
                    let (right, wrong) = (of(0, true) - of(11, true), of(0, false) - of(11, false));
                    for moved in [right, wrong] {
                        assert!(moved.abs() <= most + 1e-12, "{loss:?} {score:?}: {moved}");
                    }
                    match score {
                        RunScore::RightAnswers => {
                            assert!((right - 1.0).abs() < 1e-12 && wrong.abs() < 1e-12);
                        }
                        // A wrong answer loses more than the bound, which it attains.
                        RunScore::Losses(_) if model.parameters()[0] == 1.0 => {
                            assert!(wrong < -0.5 * most, "{wrong}");
                        }
                        RunScore::Losses(_) => {}
                    }
                }
            }
        }
    }

    #[test]
    fn of_several_trainings_the_one_that_is_right_most_often_is_delivered() {
        let (_, public, private) = example::two_classes(6, 60, 600, 2);
        let given = |runs: f64| {
            let numbers = [("runs", runs), ("steps", 5.0), ("batch", 60.0)];
            numbers.map(|(key, x)| (key.to_owned(), Value::Number(x))).into()
        };
        let run = |settings: BTreeMap<String, Value>, noise| {
            Trial { settings, ..Trial::new("dp_sgd", &public, &private, noise, 3) }.run().unwrap()
        };
        let right = |model: &Model| {
            let classes = model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one == other).count()
        };
        let target = Target { epsilon: 8.0, delta: 1e-5 };
        let three = run(given(3.0), RehearsalNoise::For(target));
        assert_eq!(three.steps.len(), 16);
        let (one, events) = (run(given(1.0), RehearsalNoise::For(target)), &three.calibrated);
        let counts: Vec<u64> = events.events().iter().map(|event| event.count).collect();
        assert_eq!((counts, one.calibrated.events().len()), (vec![15, 1], 1));
        let sigma = |it: &crate::trial::Tried| it.calibrated.events()[0].mechanism.noise.scale;
        assert!(sigma(&three) > 1.1 * sigma(&one), "{} {}", sigma(&three), sigma(&one));
        assert!(events.guarantee().epsilon <= target.epsilon);
        assert!(right(&three.model) > 350, "{}", right(&three.model));
        // Without noise all trainings are the same up to their samples, and the best one is taken.
        let free = run(given(3.0), RehearsalNoise::None(target));
        assert!(right(&free.model) > 480, "{}", right(&free.model));
    }
}
