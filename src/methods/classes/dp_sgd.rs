//! DP-SGD: noisy stochastic gradient descent on the private records alone.
//!
//! The baseline for all methods that use public data for more than the scaling of features: true
//! Poisson samples, per-example clipping, Gaussian noise (see [`super::sampled`]). A random
//! projection (Johnson and Lindenstrauss) of the features, from the public seed, makes the model
//! smaller, and with it the noise.

use super::sampled::design::{self, Design};
use super::sampled::fields::{
    CLIP, NetworkChoice, NetworkSettings, StepSettings, Sum, plan_of_sum, steps,
};
use super::sampled::optimiser::OptimiserKind;
use super::sampled::runs::{Choice, RUNS, RunScore};
use super::sampled::step_length::StepLengths;
use super::sampled::training::{ClippedSums, SampledTraining};
use super::sampled::{SampledLoss, SampledObjective, TrainedParameters};
use crate::model::Architecture;
use crate::prelude::*;

static SPEC: Spec = Spec {
    id: "dp_sgd",
    name: "private records alone (DP-SGD)",
    paper: "DP-SGD",
    summary: "Any number of classes told apart by noisy stochastic gradient descent on the \
              private records: softmax regression, a hidden layer, or a small convolutional \
              network. Public records only scale the features.",
    line: "public records only scale the features: a baseline",
    task: Task::Classification,
    needs_public_labels: false,
    fields: DpSgdSettings::FIELDS,
    tries: &[("clip", &[0.2, 1.0]), ("steps", &[100.0, 1000.0])],
    place: 7,
    covers_scores: false,
    always_samples: true,
    variants: &[("three runs", "runs", "3")],
    gap: Gap::SAMPLE,
    ..Spec::DEFAULT
};

settings! {
    struct DpSgdSettings {
        model: NetworkChoice = NetworkSettings::model,
        units: u64 = NetworkSettings::units,
        channels: u64 = NetworkSettings::channels,
        height: Option<u64> = NetworkSettings::height,
        projection: u64 = whole(0, 100_000, 0).named("random projection", "features").help(
            "Features are projected at random (from the public seed) to this many before \
             anything is learned; 0 leaves them as they are.",
        ),
        steps: u64 = steps(100_000, 400),
        batch: Option<u64> = StepSettings::batch,
        clip: f64 = CLIP,
        learning_rate: Option<f64> = StepSettings::learning_rate,
        momentum: f64 = StepSettings::momentum,
        average: f64 = StepSettings::average,
        optimiser: OptimiserKind = StepSettings::optimiser,
        runs: Option<u64> = RUNS,
    }
}

/// DP-SGD on private records alone.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(given: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let settings = DpSgdSettings::of(given)?;
    let shape = &problem.shape;
    let inputs = projected(shape, settings.projection as usize)?;
    let network = design::network(shape, NetworkSettings::of(given)?, inputs)?;
    let course = StepSettings::of(given)?;
    let (mut plan, sum) = plan_of_sum(shape, course, settings.clip, network.parameters())?;
    plan.warnings = design::remarks(&network);
    let runs = settings.runs.unwrap_or(1);
    let choice = Choice::of(runs, RunScore::RightAnswers, None, shape, &mut plan);
    let start: Start = Box::new(move |private, noise| {
        let design = design(&problem, network)?;
        let pace = StepLengths::of(design.model.architecture());
        train(&problem, &private, design, pace, (sum, choice), noise)
    });
    Ok((plan, start))
}

/// Features after the random projection.
fn projected(shape: &ProblemShape, wanted: usize) -> Result<usize> {
    let dimension = shape.dimension;
    if wanted == 0 {
        return Ok(dimension);
    }
    if wanted >= dimension {
        return Err(Error::usage(format!(
            "a random projection to {wanted} features where the records have {dimension}"
        ))
        .cure(format!("choose fewer than {dimension}, or 0 for none")));
    }
    Ok(wanted)
}

/// A network, after a random projection if it takes fewer features than there are.
pub(super) fn design(problem: &Problem, network: Architecture) -> Result<Design> {
    let Problem { shape, public, seed, .. } = problem;
    let frozen = (network.inputs() < shape.dimension)
        .then(|| design::random_projection(shape.dimension, network.inputs(), *seed))
        .transpose()?;
    Ok(Design {
        scale: design::scale(public, &network),
        frozen,
        model: design::first(network, *seed)?,
        objective: SampledObjective {
            loss: SampledLoss::CrossEntropy,
            trained: TrainedParameters::Everything,
        },
    })
}

/// The run with one clipped sum in each step, for any design, and a choice if there are several
/// trainings.
pub fn train(
    problem: &Problem,
    private: &Private<Bounded>,
    design: Design,
    pace: StepLengths,
    (sum, choice): (Sum, Option<Choice>),
    noise: &Calibrated,
) -> Result<Box<dyn Run>> {
    let trained = design.objective.parameters(&design.model);
    let length = noise.scale(&sum.release)? * (trained as f64).sqrt() / sum.batch as f64;
    let motion = pace.motion(sum.course, length, trained);
    let start = design.model.parameters().to_vec();
    let source = Box::new(ClippedSums(sum));
    let training = SampledTraining::new(problem, private, design, source, motion)?;
    Ok(match choice {
        None => Box::new(training),
        Some(choice) => choice.run(training, vec![start; choice.runs as usize]),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;
    use crate::classes::sampled::Examples;
    use crate::data::Dataset;
    use crate::model::{Classifier, ExampleLabels, Model};
    use crate::numeric::Vector;
    use crate::privacy::openings::{OpenPrivate, OpenSpender};
    use crate::privacy::{Private, Spender};
    use crate::trial::{RehearsalNoise, Trial};
    use crate::{Series, Value, example};

    fn given(pairs: &[(&str, f64)], model: &str) -> BTreeMap<String, Value> {
        let numbers = pairs.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x)));
        let text = ("model".to_owned(), Value::Text(model.to_owned()));
        numbers.chain([text]).collect()
    }

    /// The steps of DP-SGD written out: no clipping, no noise, samples from the same seed.
    fn plain_descent(
        (public, private): (&Dataset, &Dataset),
        given: &Settings,
        noise: &Calibrated,
        shape: &ProblemShape,
        seed: u64,
    ) -> Classifier {
        let settings = DpSgdSettings::of(given).unwrap();
        let chosen = NetworkSettings::of(given).unwrap();
        let network = design::network(shape, chosen, shape.dimension).unwrap();
        let course = StepSettings::of(given).unwrap();
        let (_, sum) = plan_of_sum(shape, course, settings.clip, network.parameters()).unwrap();
        let problem = Problem { seed, ..example::problem(shape, public) };
        let design = design(&problem, network).unwrap();
        let records = Examples::new(Bounded::from(private.clone()).shared(), 2).unwrap();
        let features = design.scale * records.features();
        let mut spender = Spender::rehearsal(noise, seed);
        let mut model = design.model.clone();
        let mut velocity = Vector::zeros(model.parameters().len());
        let expected = sum.batch as f64;
        for _ in 0..settings.steps {
            let members = Mutex::new(Vec::new());
            Private::new(())
                .release_sampled_sum(
                    &mut spender,
                    sum.release,
                    |()| records.len(),
                    |(), sample, _| *members.lock().unwrap() = sample.members().to_vec(),
                )
                .unwrap();
            let members = members.into_inner().unwrap();
            // Blank examples fill the batch to a multiple of eight, as in the run.
            let width = members.len().next_multiple_of(8);
            let mut batch = Matrix::zeros(features.nrows(), width);
            let mut classes = vec![u32::MAX; width];
            for (to, from) in members.iter().enumerate() {
                batch.set_column(to, &features.column(*from));
                classes[to] = records.classes()[*from];
            }
            let present: Vec<f64> =
                (0..width).map(|i| if i < members.len() { 1.0 } else { 0.0 }).collect();
            let gradients = model.gradients(&batch, ExampleLabels::Classes(&classes)).unwrap();
            let mean = (1.0 / expected) * gradients.weighted_sum(&present);
            velocity = settings.momentum * velocity + mean;
            let rate = settings.learning_rate.unwrap();
            for (parameter, speed) in model.parameters_mut().iter_mut().zip(&velocity) {
                *parameter -= rate * speed;
            }
        }
        let parameters = model.parameters().to_vec();
        design.whole(parameters).unwrap()
    }

    #[test]
    fn without_clipping_and_noise_it_is_plain_descent() {
        let (shape, public, private) = example::two_classes(6, 60, 400, 2);
        let pairs = [
            ("clip", 1e6),
            ("steps", 12.0),
            ("batch", 50.0),
            ("learning_rate", 0.5),
            ("momentum", 0.5),
            ("average", 0.0),
        ];
        for model in ["softmax", "hidden_layer"] {
            let rehearsal = Trial {
                settings: given(&pairs, model),
                ..Trial::new(SPEC.id, &public, &private, RehearsalNoise::None(example::TARGET), 5)
            };
            let ours = rehearsal.run().unwrap();
            let settings = SPEC.check(&rehearsal.settings).unwrap();
            let plain = plain_descent((&public, &private), &settings, &ours.calibrated, &shape, 5);
            if model == "softmax" {
                // Ours scores in single precision.
                let Model::Classifier(ours) = ours.model else { panic!("another model") };
                for (one, other) in ours.parameters().iter().zip(plain.parameters()) {
                    assert!((one - other).abs() < 1e-7, "{one} {other}");
                }
            } else {
                assert_eq!(ours.model, Model::Classifier(plain), "{model}");
            }
        }
    }

    #[test]
    fn with_a_fair_budget_every_model_learns_and_tells_its_series() {
        let (_, public, private) = example::two_classes(16, 60, 3000, 2);
        for (model, projection) in
            [("softmax", 0.0), ("softmax", 12.0), ("hidden_layer", 0.0), ("probe_cnn", 0.0)]
        {
            let pairs = [("steps", 60.0), ("batch", 300.0), ("projection", projection)];
            let rehearsal = Trial {
                settings: given(&pairs, model),
                ..Trial::new(
                    SPEC.id,
                    &public,
                    &private,
                    RehearsalNoise::For(Target { epsilon: 2.0, delta: 1e-5 }),
                    1,
                )
            };
            let done = rehearsal.run().unwrap();
            let classes = done.model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            let right = classes.iter().zip(truth).filter(|(one, other)| one == other).count();
            let linear = model != "probe_cnn" && projection == 0.0;
            let least = if linear { 2300 } else { 1800 };
            assert!(right > least, "{model} {projection}: {right}");
            for series in [
                Series::PrivateLoss,
                Series::PublicLoss,
                Series::ClipFraction,
                Series::GradientMedian,
                Series::GradientTail,
                Series::StationarityGap,
            ] {
                assert_eq!(done.series(series).len(), 60, "{series:?}");
            }
            assert_eq!(done.model, rehearsal.run_sealed().unwrap().model);
        }
    }

    #[test]
    fn of_public_records_only_their_size_makes_a_difference() {
        let (_, public, private) = example::two_classes(4, 60, 200, 1);
        let turned = -&public.features;
        let unlabelled = Dataset { classes: None, features: turned, ..public.clone() };
        let run = |public: &Dataset| {
            let settings = given(&[("steps", 5.0)], "softmax");
            let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-4 });
            let method = SPEC.id;
            Trial { settings, ..Trial::new(method, public, &private, noise, 1) }.run().unwrap()
        };
        assert_eq!(run(&public).model, run(&unlabelled).model);
    }

    #[test]
    fn the_plan_announces_the_clip_norm_and_the_rate_of_the_sample() {
        use crate::privacy::Adjacency;
        use crate::privacy::accountant::QueryKind;
        let (shape, public, _) = example::two_classes(6, 60, 400, 2);
        let pairs = [("clip", 0.7), ("batch", 40.0), ("steps", 20.0)];
        let settings = given(&pairs, "softmax");
        let plan = example::plan(METHOD, &settings, &shape, &public).unwrap();
        let [release] = plan.releases.as_slice() else { panic!() };
        let QueryKind::SampledSum { rate } = release.query.kind else { panic!() };
        let l2_sensitivity = release.query.sensitivity;
        assert!((0.7..0.7001).contains(&l2_sensitivity), "{l2_sensitivity}");
        assert_eq!((rate, release.count, release.adjacency), (0.1, 20, Adjacency::ZeroOut));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_sizes() {
        let (shape, public, _) = example::two_classes(6, 60, 400, 2);
        let refusal = |pairs: &[(&str, f64)], model: &str| {
            let settings = given(pairs, model);
            example::plan(METHOD, &settings, &shape, &public).unwrap_err().to_string()
        };
        let error = refusal(&[("batch", 401.0)], "softmax");
        assert!(error.contains("401") && error.contains("400 private"), "{error}");
        let error = refusal(&[("projection", 7.0)], "softmax");
        assert!(error.contains("7 features where the records have 6"), "{error}");
        let error = refusal(&[], "probe_cnn");
        assert!(error.contains("6 features are not images of 2×2 (4 pixels)"), "{error}");
        let error = refusal(&[("height", 5.0)], "probe_cnn");
        assert!(error.contains("6 features") && error.contains("5×1"), "{error}");
        let none = ProblemShape { classes: vec!["one".to_owned()], ..shape.clone() };
        let settings = given(&[], "softmax");
        assert!(example::plan(METHOD, &settings, &none, &public).is_err());
        let wide = ProblemShape { dimension: 7, ..shape.clone() };
        let error = example::plan(METHOD, &settings, &wide, &public).unwrap_err();
        assert!(error.to_string().contains("6 features where the plan has 60 of 7"), "{error}");
    }
}
