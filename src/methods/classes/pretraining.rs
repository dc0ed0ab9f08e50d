//! Pre-training on public records, or the model of an earlier run, then private fine-tuning of
//! chosen layers.
//!
//! After section 5 of Gu, Kamath and Wu. The network learns the public task first, by ordinary
//! stochastic gradients or Adam and with all layers; or it is the model of an earlier run. If its
//! classes differ from the private ones, its last layer is replaced by a new one. Then DP-SGD (see
//! [`super::sampled`]) trains all layers, only the last (the others are evaluated once), or with the
//! last all biases, chosen inner layers, or low-rank additions to all others
//! ([`Adapters`](crate::model::Adapters)). Fewer trained numbers are fewer noisy ones.
//!
//! *Second phase.* The paper trains the same numbers on public records first, without noise, which
//! `second_phase` does where training starts from an earlier model.

use rand::seq::SliceRandom;

use super::dp_sgd::train;
use super::sampled::design::{self, ADAPTERS, Design, PUBLIC_BATCHES, generator};
use super::sampled::fields::{
    CLIP, NetworkChoice, NetworkSettings, StepSettings, plan_of_sum, steps,
};
use super::sampled::optimiser::{Optimiser, OptimiserKind};
use super::sampled::step_length::StepLengths;
use super::sampled::training::seen;
use super::sampled::{Examples, SampledLoss, SampledObjective, TrainedParameters};
use crate::data::Classes;
use crate::model::layer::Layer;
use crate::model::{Adapters, Architecture};
use crate::prelude::*;

const PUBLIC_BATCH: usize = 64;
const PUBLIC_MOMENTUM: f64 = 0.9;

static SPEC: Spec = Spec {
    id: "pretraining",
    name: "public start, private finish",
    paper: "Pre-training",
    summary: "A network learns the public classes, which may be others than the private ones; \
              then DP-SGD fine-tunes the chosen layers on the private records.",
    line: "a network learns from public data, then privately",
    task: Task::Classification,
    needs_public_labels: false,
    fields: PretrainingSettings::FIELDS,
    tries: &[("clip", &[0.2, 1.0]), ("steps", &[100.0, 400.0])],
    place: 3,
    assumption: Some(
        "The guarantee is semi-private: it is for the private records alone. The network was \
         trained on the public records first, without noise, which is only right if these \
         do not depend on the private records.",
    ),
    assumption_if_started: Some(
        "The guarantee is semi-private: it is for private records alone. Training went on \
         from an earlier model, and the public records scale the features, and in a second phase \
         train it, without noise; all this is only right if the public records do not depend on the private ones.",
    ),
    starts_from_a_model: true,
    covers_scores: false,
    always_samples: true,
    gap: Gap::SAMPLE,
    ..Spec::DEFAULT
};

settings! {
    struct PretrainingSettings {
        model: NetworkChoice =
            NetworkChoice::or(NetworkChoice::HiddenLayer).like(&NetworkSettings::model),
        units: u64 = NetworkSettings::units,
        channels: u64 = NetworkSettings::channels,
        height: Option<u64> = NetworkSettings::height,
        epochs: u64 = whole(1, 1000, 20).named("public epochs", "passes")
            .help("Passes over the public records, without noise."),
        public_rate: f64 = real(1e-6, 100.0, 0.02).named("public learning rate", "")
            .help("Of the passes over the public records, with a momentum of 0.9."),
        public_optimiser: OptimiserKind = OptimiserKind::or(OptimiserKind::Descent)
            .named("public optimiser", "")
            .help("Of the passes over the public records. Adam wants a lower rate, such as 0.003."),
        second_phase: bool = flag(false).named("second phase", "").help(
            "Where training starts from an earlier model: public records with the private classes \
             train what private ones will, before them and without noise.",
        ),
        trained: TrainedPart = TrainedPart::or(TrainedPart::Last).named("trained layers", "").help(
            "What private records change: all layers, the last alone, or together with the last \
             the biases of all, inner layers, or low-rank additions to all others (adapters).",
        ),
        inner: u64 = whole(1, 100, 1).named("first inner layer", "")
            .help("With inner: the first one that is trained, counted among those with weights."),
        inner_count: u64 = whole(1, 100, 1).named("inner layers", "")
            .help("With inner: how many are trained, from the first one on."),
        rank: u64 = whole(1, 32, 8).named("rank r", "").help(
            "Of adapters: weights W become W + (α/r)·BA, where A has r rows and B has r columns.",
        ),
        alpha: f64 = real(1e-3, 1e3, 8.0).named("α", "").help("Of adapters: their strength."),
        steps: u64 = steps(100_000, 200),
        batch: Option<u64> = StepSettings::batch,
        clip: f64 = CLIP,
        learning_rate: Option<f64> = StepSettings::learning_rate,
        momentum: f64 = StepSettings::momentum,
        average: f64 = StepSettings::average,
        optimiser: OptimiserKind = StepSettings::optimiser,
    }
}

/// A network trained on public records, then by DP-SGD on private ones.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(given: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let settings = PretrainingSettings::of(given)?;
    let chosen = NetworkSettings::of(given)?;
    let shape = &problem.shape;
    if shape.start.is_none() {
        public_classes(&problem.public)?;
    }
    check_second_phase(settings, shape, &problem.public)?;
    let network = network(shape, chosen)?;
    settings.check_inner(&network)?;
    let course = StepSettings::of(given)?;
    let (mut plan, sum) = plan_of_sum(shape, course, settings.clip, settings.count(&network))?;
    plan.warnings = design::remarks(&network);
    let start: Start = Box::new(move |private, noise| {
        let Problem { shape, public, .. } = &problem;
        let (known, classes, scale) = if let Some(start) = &shape.start {
            let scale = design::scale(public, start.model.architecture());
            (without_scale(&start.model, scale)?, &start.classes, scale)
        } else {
            let known = pretrained(&problem, settings, chosen)?;
            let scale = design::scale(public, known.architecture());
            (known, &public_classes(public)?.names, scale)
        };
        let model = if *classes == shape.classes { known } else { with_new_head(&known, network)? };
        let mut design = freeze(model, settings, scale, problem.seed)?;
        if settings.second_phase {
            let records = Examples::new(public.shared(), shape.classes.len())?;
            let records = seen(&design, records)?;
            descend(&mut design, &records, settings, problem.seed)?;
        }
        let pace = pace(&design, public)?;
        train(&problem, &private, design, pace, (sum, None), noise)
    });
    Ok((plan, start))
}

choices! {
    /// The part of a network that private records change.
    pub enum TrainedPart {
        Last = "last",
        Biases = "biases",
        Inner = "inner",
        Adapters = "adapters",
        All = "all",
    }
}

impl PretrainingSettings {
    /// The inner layers, counted from 0.
    fn inner_layers(&self) -> TrainedParameters {
        TrainedParameters::LayersAndLast(self.inner as usize - 1, self.inner_count as usize)
    }

    /// The number of trained parameters.
    fn count(&self, network: &Architecture) -> usize {
        let of = |positions: Option<Vec<usize>>| positions.map_or(0, |positions| positions.len());
        match self.trained {
            TrainedPart::All => network.parameters(),
            TrainedPart::Last => network.layers().last().map_or(0, Layer::parameters),
            TrainedPart::Biases => of(TrainedParameters::BiasesAndLast.positions(network)),
            TrainedPart::Inner => of(self.inner_layers().positions(network)),
            TrainedPart::Adapters => Adapters::count(network, self.rank as usize),
        }
    }

    /// Refuses inner layers that the network does not have.
    fn check_inner(&self, network: &Architecture) -> Result<()> {
        let (last, most) = (self.inner + self.inner_count - 1, network.trained_layers() - 1);
        if self.trained != TrainedPart::Inner || last <= most as u64 {
            return Ok(());
        }
        Err(Error::usage(format!(
            "inner layer {last} is to be trained, and the network has {most} before its last: {}",
            network.words()
        ))
        .cure("choose earlier or fewer layers, or another network"))
    }
}

/// A second phase trains the last layer, too, so it needs the private classes.
fn check_second_phase(
    settings: PretrainingSettings,
    shape: &ProblemShape,
    public: &PublicData,
) -> Result<()> {
    if !settings.second_phase {
        return Ok(());
    }
    if shape.start.is_none() {
        return Err(Error::usage("a second phase of pre-training goes on from an earlier model")
            .cure(
                "give the plan a `start`, or leave `second_phase` out: without one, public \
                   records train the whole network",
            ));
    }
    if public.classes.as_ref().is_some_and(|classes| classes.names == shape.classes) {
        return Ok(());
    }
    Err(Error::usage("a second phase needs public records with the private classes")
        .at(format!("public dataset '{}'", public.name))
        .cure("choose such a dataset, or leave `second_phase` out"))
}

fn public_classes(public: &PublicData) -> Result<&Classes> {
    public.classes.as_ref().filter(|classes| classes.names.len() > 1).ok_or_else(|| {
        Error::usage("it has no classes to pre-train on")
            .at(format!("public dataset '{}'", public.name))
            .cure("choose its label column and `task: classification`, or another method")
    })
}

/// The network to fine-tune: the chosen one, or that of the starting model with one output per
/// class.
fn network(shape: &ProblemShape, chosen: NetworkSettings) -> Result<Architecture> {
    let Some(start) = &shape.start else {
        return design::network(shape, chosen, shape.dimension);
    };
    let known = start.model.architecture();
    if known.inputs() != shape.dimension {
        return Err(Error::usage(format!(
            "the model to start from takes {} features ({}) and these records have {}",
            known.inputs(),
            known.words(),
            shape.dimension
        ))
        .cure("start from a model that was trained on such records"));
    }
    let outputs = design::classes(shape)?;
    let mut layers = known.without_margins().layers().to_vec();
    match layers.last_mut() {
        Some(Layer::Dense(head) | Layer::Linear(head)) => head.outputs = outputs,
        _ => {
            return Err(Error::usage(format!(
                "the model to start from ends in no layer of scores: {}",
                known.words()
            ))
            .cure("start from a model of dp_sgd, pillar, gep or pretraining"));
        }
    }
    Architecture::new(layers)
}

/// A model with the same scores on features that were multiplied by `scale`.
fn without_scale(model: &Classifier, scale: f64) -> Result<Classifier> {
    let architecture = model.architecture().without_margins();
    let mut model = Classifier::new(architecture, model.parameters().to_vec())?;
    let first = model.architecture().layers().iter().find_map(Layer::weight_shape);
    let weights: usize = first.map_or(0, |shape| shape.iter().product());
    for weight in &mut model.parameters_mut()[..weights] {
        *weight /= scale;
    }
    Ok(model)
}

/// The design after training on the public records.
fn pretrained(
    problem: &Problem,
    settings: PretrainingSettings,
    chosen: NetworkSettings,
) -> Result<Classifier> {
    let Problem { shape, public, seed, .. } = problem;
    let names = public_classes(public)?.names.clone();
    let records = Examples::new(public.shared(), names.len())?;
    let public_shape = ProblemShape { classes: names, ..shape.clone() };
    let network = design::network(&public_shape, chosen, shape.dimension)?;
    let mut design = Design {
        scale: design::scale(public, &network),
        frozen: None,
        model: design::first(network, *seed)?,
        objective: EVERYTHING,
    };
    let records = seen(&design, records)?;
    descend(&mut design, &records, settings, *seed)?;
    Ok(design.model)
}

/// Trains a design on public records, without noise.
fn descend(
    design: &mut Design,
    records: &Examples,
    settings: PretrainingSettings,
    seed: u64,
) -> Result<()> {
    let mut numbers = design.objective.trained.numbers(&design.model);
    let mut optimiser = Optimiser::new(settings.public_optimiser, PUBLIC_MOMENTUM, numbers.len());
    let mut order: Vec<usize> = (0..records.len()).collect();
    let mut generator = generator(seed, PUBLIC_BATCHES);
    for _ in 0..settings.epochs {
        order.shuffle(&mut generator);
        for members in order.chunks(PUBLIC_BATCH) {
            let Design { objective, model, .. } = &mut *design;
            let sum = objective.clipped_sum(model, records, members, f64::INFINITY)?;
            let direction = optimiser.direction(&(sum / members.len() as f64));
            for (number, speed) in numbers.iter_mut().zip(&direction) {
                *number -= settings.public_rate * speed;
            }
            objective.trained.place(&numbers, model);
        }
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(Error::failed("pre-training on the public records does not converge")
                .cure("choose a lower public learning rate"));
        }
    }
    Ok(())
}

const EVERYTHING: SampledObjective =
    SampledObjective { loss: SampledLoss::CrossEntropy, trained: TrainedParameters::Everything };

/// The layers that `known` and `network` share, which are all but the last, with their learned
/// parameters, and a new last layer.
fn with_new_head(known: &Classifier, network: Architecture) -> Result<Classifier> {
    let mut parameters = vec![0.0; network.parameters()];
    let last = network.layers().last().map_or(0, Layer::parameters);
    let common = network.parameters() - last;
    parameters[..common].copy_from_slice(&known.parameters()[..common]);
    Classifier::new(network, parameters)
}

fn freeze(
    model: Classifier,
    settings: PretrainingSettings,
    scale: f64,
    seed: u64,
) -> Result<Design> {
    let layers = model.architecture().layers().len();
    let trained = match settings.trained {
        TrainedPart::Last | TrainedPart::All => TrainedParameters::Everything,
        TrainedPart::Biases => TrainedParameters::BiasesAndLast,
        TrainedPart::Inner => settings.inner_layers(),
        TrainedPart::Adapters => {
            let strength = settings.alpha / settings.rank as f64;
            let mut generator = generator(seed, ADAPTERS);
            let rank = settings.rank as usize;
            TrainedParameters::Adapters(Adapters::new(&model, rank, strength, &mut generator))
        }
    };
    let objective = SampledObjective { loss: SampledLoss::CrossEntropy, trained };
    if settings.trained != TrainedPart::Last || layers == 1 {
        return Ok(Design { scale, frozen: None, model, objective });
    }
    let (body, head) = model.architecture().split_at(layers - 1)?;
    let (before, after) = model.parameters().split_at(body.parameters());
    Ok(Design {
        scale,
        frozen: Some(Classifier::new(body, before.to_vec())?),
        model: Classifier::new(head, after.to_vec())?,
        objective,
    })
}

/// A last layer by itself gets the outputs of the frozen ones, whose length must be known.
fn pace(design: &Design, public: &PublicRecords) -> Result<StepLengths> {
    let pace = StepLengths::of(design.model.architecture());
    if design.frozen.is_none() {
        return Ok(pace);
    }
    let outputs = seen(design, Examples::unlabelled(public.shared()))?.features();
    let length = (outputs.norm_squared() / outputs.ncols() as f64).sqrt();
    Ok(if length > 0.0 { pace.times(1.0 / length) } else { pace })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Dataset;
    use crate::model::Model;
    use crate::privacy::openings::OpenSpender;
    use crate::trial::{RehearsalNoise, Trial, Tried};
    use crate::{StartingModel, Value, example, method};

    fn given(trained: &str, model: &str) -> BTreeMap<String, Value> {
        let texts = [("trained", trained), ("model", model)];
        let texts = texts.map(|(key, text)| (key.to_owned(), Value::Text(text.to_owned())));
        let numbers = [("steps", 30.0), ("units", 8.0), ("batch", 200.0)];
        let numbers = numbers.map(|(key, x)| (key.to_owned(), Value::Number(x)));
        texts.into_iter().chain(numbers).collect()
    }

    fn run(public: &Dataset, private: &Dataset, settings: BTreeMap<String, Value>) -> Tried {
        let noise = RehearsalNoise::For(Target { epsilon: 0.5, delta: 1e-5 });
        let rehearsal = Trial { settings, ..Trial::new(SPEC.id, public, private, noise, 1) };
        rehearsal.run().unwrap()
    }

    fn right(model: &Model, private: &Dataset) -> usize {
        let classes = model.classes(&private.features).unwrap();
        let truth = &private.classes.as_ref().unwrap().of;
        classes.iter().zip(truth).filter(|(one, other)| one == other).count()
    }

    #[test]
    fn every_choice_of_layers_learns_and_leaves_the_others_as_they_were() {
        let (shape, public, private) = example::two_classes(6, 600, 1500, 2);
        for (trained, model) in [
            ("last", "hidden_layer"),
            ("biases", "hidden_layer"),
            ("all", "hidden_layer"),
            ("inner", "hidden_layer"),
            ("adapters", "hidden_layer"),
            ("last", "softmax"),
        ] {
            let mut settings = given(trained, model);
            settings.insert("rank".to_owned(), Value::Number(2.0));
            let done = run(&public, &private, settings.clone());
            assert!(right(&done.model, &private) > 1050, "{trained} {model}");
            let Model::Classifier(tuned) = &done.model else { panic!() };
            let checked = SPEC.check(&settings).unwrap();
            let settings = PretrainingSettings::of(&checked).unwrap();
            let chosen = NetworkSettings::of(&checked).unwrap();
            let problem = Problem { seed: 1, ..example::problem(&shape, &public) };
            let known = pretrained(&problem, settings, chosen).unwrap();
            let scale = design::scale(&problem.public, known.architecture());
            let whole = PretrainingSettings { trained: TrainedPart::All, ..settings };
            let design = freeze(known, whole, scale, 1).unwrap();
            let known = design.whole(design.model.parameters().to_vec()).unwrap();
            let moved = known.parameters().iter().zip(tuned.parameters());
            let moved = moved.filter(|(before, after)| before != after).count();
            let network = network(&shape, chosen).unwrap();
            let numbers = match settings.trained {
                // Six inputs by eight units are weights with additions, and eight units by two
                // classes with two biases are the last layer.
                TrainedPart::Adapters => {
                    assert_eq!(settings.count(&network), 2 * (6 + 8) + 18);
                    6 * 8 + 18
                }
                _ => settings.count(&network),
            };
            assert_eq!(moved, numbers, "{trained} {model}");
        }
    }

    #[test]
    fn a_model_of_an_earlier_run_is_where_training_starts() {
        let (shape, public, private) = example::two_classes(6, 600, 1500, 2);
        let checked = SPEC.check(&given("last", "hidden_layer")).unwrap();
        let settings = PretrainingSettings::of(&checked).unwrap();
        let chosen = NetworkSettings::of(&checked).unwrap();
        let problem = Problem { seed: 1, ..example::problem(&shape, &public) };
        let known = pretrained(&problem, settings, chosen).unwrap();
        let scale = design::scale(&problem.public, known.architecture());
        let whole = PretrainingSettings { trained: TrainedPart::All, ..settings };
        let known = freeze(known, whole, scale, 1).unwrap();
        let known = known.whole(known.model.parameters().to_vec()).unwrap();
        for (classes, steps) in [(shape.classes.clone(), 1), (vec!["a".into(), "b".into()], 30)] {
            let start = StartingModel { model: known.clone(), classes };
            let shape = ProblemShape { start: Some(start), ..shape.clone() };
            let numbers = [("steps", f64::from(steps)), ("learning_rate", 1e-4)];
            let numbers = numbers.map(|(key, x)| (key.to_owned(), Value::Number(x)));
            let given = given("last", "softmax").into_iter().chain(numbers).collect();
            let settings = SPEC.check(&given).unwrap();
            let unlabelled = Dataset { classes: None, ..public.clone() };
            let target = Target { epsilon: 1.0, delta: 1e-5 };
            let problem = Problem { seed: 1, ..example::problem(&shape, &unlabelled) };
            let prepared = method(SPEC.id).unwrap().prepare(&settings, problem, target).unwrap();
            let noise = prepared.plan().calibrate(target).unwrap();
            let same = shape.start.as_ref().unwrap().classes == shape.classes;
            let private = Private::new(private.clone().into());
            let mut run = prepared.start(private, &noise).unwrap();
            let mut spender = Spender::rehearsal(&noise, 1);
            run.step(&mut spender, &Watch::sealed()).unwrap();
            let Model::Classifier(tuned) = run.finish().unwrap().into_inner() else { panic!() };
            // After one tiny step everything but the new head is unchanged.
            let moved = known.parameters().iter().zip(tuned.parameters());
            let far = moved.filter(|(a, b)| (*a - *b).abs() > 0.01).count();
            assert!(if same { far == 0 } else { far > 0 && far <= 18 }, "{same} {far}");
        }
        let start = StartingModel { model: known, classes: shape.classes.clone() };
        let wide = ProblemShape { dimension: 7, start: Some(start), ..shape };
        let error = network(&wide, chosen).unwrap_err().to_string();
        assert!(error.contains("takes 6 features") && error.contains("records have 7"), "{error}");
    }

    #[test]
    fn a_second_phase_trains_on_public_records_what_private_ones_will_train() {
        let (shape, public, private) = example::two_classes(6, 600, 1500, 2);
        let settings_of = |pairs: &[(&str, Value)]| {
            let mut settings = given("adapters", "hidden_layer");
            settings.insert("rank".to_owned(), Value::Number(2.0));
            settings.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
            SPEC.check(&settings).unwrap()
        };
        let adam = ("public_optimiser", Value::Text("adam".to_owned()));
        let second = ("second_phase", Value::Flag(true));
        let chosen = NetworkSettings::of(&settings_of(&[])).unwrap();
        let network = network(&shape, chosen).unwrap();
        let known = design::first(network, 3).unwrap();
        let loss = |pairs: &[(&str, Value)]| {
            let settings = PretrainingSettings::of(&settings_of(pairs)).unwrap();
            let mut design = freeze(known.clone(), settings, 1.0, 3).unwrap();
            let records = Examples::new(PublicRecords::from(public.clone()).shared(), 2).unwrap();
            if settings.second_phase {
                descend(&mut design, &records, settings, 3).unwrap();
            }
            let labels = design.objective.loss.labels(records.classes());
            let losses = design.model.losses(&records.features(), labels);
            // The biases of the hidden layer are not trained.
            assert_eq!(design.model.parameters()[48..56], known.parameters()[48..56]);
            losses.iter().sum::<f64>() / losses.len() as f64
        };
        let (before, plain) = (loss(&[]), loss(std::slice::from_ref(&second)));
        let rate = ("public_rate", Value::Number(0.003));
        let by_adam = loss(&[second.clone(), adam, rate]);
        assert!(plain < 0.8 * before && by_adam < 0.8 * before, "{before} {plain} {by_adam}");

        // In a plan it needs a model to start from, and public records with the private classes.
        let settings = settings_of(std::slice::from_ref(&second));
        let start = StartingModel { model: known.clone(), classes: shape.classes.clone() };
        let started = ProblemShape { start: Some(start), ..shape.clone() };
        let unlabelled = Dataset { classes: None, ..public.clone() };
        let prepare = |shape: &ProblemShape, public: &Dataset| {
            let problem = Problem { seed: 1, ..example::problem(shape, public) };
            method(SPEC.id).unwrap().prepare(&settings, problem, example::TARGET)
        };
        let error = prepare(&shape, &public).unwrap_err();
        assert!(error.to_string().contains("`start`"), "{error}");
        let error = prepare(&started, &unlabelled).unwrap_err();
        assert!(error.to_string().contains("with the private classes"), "{error}");
        let prepared = prepare(&started, &public).unwrap();
        let noise = prepared.plan().calibrate(example::TARGET).unwrap();
        let mut run = prepared.start(Private::new(private.into()), &noise).unwrap();
        run.step(&mut Spender::rehearsal(&noise, 1), &Watch::sealed()).unwrap();
    }

    #[test]
    fn inner_layers_have_to_be_there_and_adam_learns() {
        let (shape, public, private) = example::two_classes(6, 600, 1500, 2);
        let mut settings = given("inner", "hidden_layer");
        settings.insert("optimiser".to_owned(), Value::Text("adam".to_owned()));
        let done = run(&public, &private, settings.clone());
        assert!(right(&done.model, &private) > 1050, "{}", right(&done.model, &private));
        settings.insert("inner_count".to_owned(), Value::Number(2.0));
        let error = example::plan(METHOD, &settings, &shape, &public).unwrap_err().to_string();
        assert!(error.contains("inner layer 2") && error.contains("has 1 before"), "{error}");
    }

    #[test]
    fn other_public_classes_get_a_new_head() {
        let (_, public, private) = example::two_classes(6, 600, 1500, 2);
        let thirds = |x: &[f64]| if x[0] > 0.1 { 2 } else { u32::from(x[1] > 0.0) };
        let of = public.features.column_iter().map(|x| thirds(x.as_slice())).collect();
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let public = Dataset { classes: Some(Classes { of, names }), ..public };
        for trained in ["last", "biases", "inner", "adapters", "all"] {
            let done = run(&public, &private, given(trained, "hidden_layer"));
            assert!(right(&done.model, &private) > 1000, "{trained}");
        }
        let unlabelled = Dataset { classes: None, ..public };
        let (shape, ..) = example::two_classes(6, 600, 1500, 2);
        let error = example::plan(METHOD, &BTreeMap::new(), &shape, &unlabelled).unwrap_err();
        assert!(error.to_string().contains("no classes to pre-train on"), "{error}");
    }
}
