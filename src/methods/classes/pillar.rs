//! PILLAR: private learning on the principal directions of unlabelled public records.
//!
//! After Pinto, Hu, Yang and Sanyal, *PILLAR: How to make semi-private learning more effective*:
//! the top k eigenvectors V of the public second moment (here of centred records, which helps more
//! than the choice of k), then DP-SGD on x ↦ Vᵀ(x − μ)/‖Vᵀ(x − μ)‖ with softmax cross-entropy or
//! the hinge loss of the paper's equation (1). Noise is added to k numbers per class instead of one
//! for every feature.
//!
//! V and μ come from public records alone and stay fixed, so the sensitivity is that of DP-SGD (see
//! [`super::sampled`]). The guarantee is *semi-private*: it protects the private records, and takes
//! the public ones as given and drawn independently of them.
//!
//! *As printed*: algorithm 1 with Noisy-SGD, its algorithm 2. Records are brought to unit length, V is
//! that of records which are not centred, and nothing is normalised after x ↦ Vᵀx. The loss is that
//! of equation (1), without biases, with ζ = γ(1 − ξ_k − γ/10) from public classes (see
//! [`super::separation`]) or as given. Its slopes are at most L = 1/(ζ√C) for C classes, so nothing is
//! clipped. Each of 5 = ⌈log(4/β)⌉ runs (β = 0.05) starts at random and takes steps of one record on
//! average, w ← Π(w − η(t)·(n∇ℓ + noise)), with η(t) = 1/√(t·n²L² + m·σ²), σ² =
//! 32L²n²·log(n/δ)·log(1/δ)/ε for a fifth of ε and of δ, and Π the ball of radius 1 for every class.
//! The exponential mechanism of scale 2Δ/ε chooses among the last models, Δ = 1 + 1/ζ. In units of
//! one record's slope, noise and step are σ/n and n·η(t).
//!
//! Three things differ. A sample is a Poisson sample of rate 1/n, where the paper draws one record,
//! because subsampling is proved for it. The paper takes n² − 1 steps, which few can wait for; here
//! the setting says how many. Each class has a halfspace of its own; the paper has one for two
//! classes.
//!
//! The paper counts ε for the runs and does not count that of the choice, and its noise has ε where
//! that of Bassily, Smith and Thakurta has ε². All the same the certificate states about half of ε, and
//! nearly all of it for the choice, because the noise of the steps is more than a hundred times L.
//! This mode exists to reproduce the paper, whose experiments use DP-SGD, as rigorous mode does.

use super::dp_sgd::train;
use super::sampled::design::{self, Design, FIRST_WEIGHTS, generator};
use super::sampled::fields::{CLIP, StepSettings, plan_of_sum, steps};
use super::sampled::optimiser::OptimiserKind;
use super::sampled::runs::{Choice, RUNS, RunScore};
use super::sampled::step_length::StepLengths;
use super::sampled::training::{ClippedSums, PrintedSteps, SampledMotion, SampledTraining};
use super::sampled::{SampledLoss, SampledObjective, TrainedParameters};
use crate::model::Architecture;
use crate::model::layer::{Dense, Layer};
use crate::numeric::principal::Principal;
use crate::prelude::*;
use crate::theory::ProjectedSizes;
use crate::{ExplainedEnergy, Separation};

/// The default number of directions.
const USUAL_COMPONENTS: usize = 40;

/// The rate for the hinge loss is that for the logistic loss times this, ζ² and the number of
/// classes: its scores have to grow to ζ, and its slopes are 1/ζ, divided by the number of classes.
const HINGE_RATE: f64 = 0.1;

/// The paper's ⌈log(4/β)⌉ for β = 0.05.
const PRINTED_RUNS: u64 = 5;

choices! {
    pub enum LossKind { Logistic = "logistic", Hinge = "hinge" }
}

static SPEC: Spec = Spec {
    id: "pillar",
    name: "private, on public directions",
    paper: "PILLAR",
    summary: "DP-SGD on the principal directions of the public records, which need no labels: \
              any number of classes, told apart on few, public directions.",
    line: "noisy training on the few directions that public data show",
    task: Task::Classification,
    needs_public_labels: false,
    fields: PillarSettings::FIELDS,
    tries: &[("components", &[5.0, 10.0, 20.0, 40.0])],
    place: 3,
    assumption: Some(
        "The guarantee is semi-private: it is for the private records alone. The directions \
         that the model works on were chosen by looking at the public records without \
         noise, which is only right if these do not depend on the private records.",
    ),
    covers_scores: false,
    always_samples: true,
    gap: Gap::SAMPLE,
    ..Spec::DEFAULT
};

settings! {
    struct PillarSettings {
        mode: Mode = Mode::or(Mode::Rigorous).named("mode", "").help(
            "rigorous: noise from the accountant, any loss. as_printed: the paper's algorithms 1 and \
             2 with their noise and steps, for reproduction; the certificate states what the \
             accountant proves for that noise.",
        ),
        components: Option<u64> = automatic_whole(1e5).named("components k", "directions").help(
            "Principal directions of the public records that are kept. Fewer need less noise and \
             say less; the smaller n·ε, the fewer. Automatic takes 40, or all if there are \
             fewer.",
        ),
        centre: bool = flag(true).named("centre", "").help(
            "Subtract the public mean first. Without it the first direction is mostly the mean.",
        ),
        loss: LossKind = LossKind::or(LossKind::Logistic).named("loss", "")
            .help("Multinomial logistic loss, or hinge losses of every class against the rest."),
        margin: f64 = real(1e-3, 10.0, 0.5).named("margin ζ", "score")
            .help(
            "Of the hinge loss: nothing is lost on scores beyond it. Left at 0.5, as_printed \
             computes it from the public classes.",
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

/// Private logistic regression in the directions that public records span.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(given: &Settings, problem: Problem, target: Target) -> Result<(Plan, Start)> {
    let (mut settings, mut course) = (PillarSettings::of(given)?, StepSettings::of(given)?);
    let shape = &problem.shape;
    let components = components(shape, settings.components)?;
    let is_printed = settings.mode == Mode::AsPrinted;
    if is_printed {
        let own = [
            "centre",
            "loss",
            "clip",
            "batch",
            "learning_rate",
            "momentum",
            "average",
            "optimiser",
        ];
        settings.mode.fixes(&SPEC, given, &own)?;
        (settings.centre, settings.loss) = (false, LossKind::Hinge);
        course.batch = Some(1);
    }
    let centred = f64::from(u8::from(settings.centre));
    let (shares, separation, largest) =
        problem.public.once("what components hold", centred, |public, centred| {
            let found = directions(public, 0, centred > 0.0)?.1;
            let largest = found.energies.first().copied().unwrap_or(0.0);
            Ok((found.shares(), Separation::of(public, centred > 0.0)?, largest))
        })?;
    let explained = ExplainedEnergy { chosen: components, shares, separation };
    let printed = if is_printed {
        if given.is_default(&SPEC, "margin") {
            settings.margin = printed_margin(explained.separation.as_ref(), components)?;
        }
        let printed = Printed::of(settings.margin, settings.runs, shape, target);
        settings.clip = printed.slope;
        Some(printed)
    } else {
        None
    };
    let loss = match settings.loss {
        LossKind::Logistic => SampledLoss::CrossEntropy,
        LossKind::Hinge => SampledLoss::Hinge(settings.margin),
    };
    let head = head(components, shape, loss, is_printed)?;
    let eigengap = explained.gap(components) * largest / shape.bounds.feature_norm.powi(2);
    let (mut plan, sum) = plan_of_sum(shape, course, settings.clip, head.parameters())?;
    let choice = if let Some(printed) = printed {
        printed.plan(shape, &mut plan)
    } else {
        let runs = settings.runs.unwrap_or(1);
        Choice::of(runs, RunScore::RightAnswers, None, shape, &mut plan)
    };
    plan.warnings.insert(0, explained.words());
    let separation = explained.separation.as_ref();
    plan.warnings.extend(separation.map(|it| it.words(components, explained.gap(components))));
    let theory = separation.map(|it| ProjectedSizes {
        directions: components as f64,
        margin: it.margin,
        outside: it.outside.get(components - 1).copied().unwrap_or(0.0),
        eigengap,
        epsilon: target.epsilon,
    });
    plan.theory = theory.map(|it| it.says(shape)).unwrap_or_default();
    plan.explained = Some(explained);
    let start: Start = Box::new(move |private, noise| {
        let factor = match loss {
            SampledLoss::CrossEntropy => 1.0,
            SampledLoss::Hinge(margin) => {
                HINGE_RATE * margin * margin * problem.shape.classes.len() as f64
            }
        };
        let pace = StepLengths::of(&head).times(factor);
        let (mean, principal) = directions(&problem.public, components, settings.centre)?;
        // If public records do not vary enough, the last directions are empty.
        let directions = principal.directions.resize_horizontally(components, 0.0);
        let design = Design {
            scale: 1.0,
            frozen: Some(projection(&directions, &mean, is_printed)?),
            model: design::first(head, 0)?,
            objective: SampledObjective { loss, trained: TrainedParameters::Everything },
        };
        let Some(printed) = printed else {
            return train(&problem, &private, design, pace, (sum, choice), noise);
        };
        let motion = printed.motion(sum.course.steps, design.model.parameters().len());
        let mut generator = generator(problem.seed, FIRST_WEIGHTS);
        let head = design.model.architecture().clone();
        let mut starts: Vec<Vec<f64>> =
            (0..printed.runs).map(|_| head.initial(&mut generator)).collect();
        let source = Box::new(ClippedSums(sum));
        let mut training = SampledTraining::new(&problem, &private, design, source, motion)?;
        if let Some(choice) = choice {
            return Ok(choice.run(training, starts));
        }
        training.restart(&starts.remove(0));
        Ok(Box::new(training))
    });
    Ok((plan, start))
}

/// What the paper fixes, in units of one record's slope.
#[derive(Debug, Clone, Copy)]
struct Printed {
    runs: u64,
    /// ε of a training, and of the choice.
    epsilon: (f64, f64),
    /// L, the largest slope of a record's loss.
    slope: f64,
    /// σ/n
    deviation: f64,
    /// Δ, the largest loss of a record.
    largest: f64,
}

impl Printed {
    fn of(margin: f64, runs: Option<u64>, shape: &ProblemShape, target: Target) -> Self {
        let (runs, n) = (runs.unwrap_or(PRINTED_RUNS), shape.private_records as f64);
        let (epsilon, delta) = (target.epsilon / runs as f64, target.delta / runs as f64);
        let slope = 1.0 / (margin * (shape.classes.len() as f64).sqrt());
        let logarithms = (n / delta).ln() * (1.0 / delta).ln();
        let deviation = slope * (32.0 * logarithms / epsilon).sqrt();
        let epsilon = (epsilon, target.epsilon);
        Self { runs, epsilon, slope, deviation, largest: 1.0 + 1.0 / margin }
    }

    /// Gives the releases of a plan the printed noise.
    fn plan(self, shape: &ProblemShape, plan: &mut Plan) -> Option<Choice> {
        let n = shape.private_records as f64;
        plan.warnings.push(format!(
            "each of {} trainings takes {} steps; the paper takes n² − 1 = {}",
            self.runs,
            plan.steps,
            n * n - 1.0
        ));
        for gradient in &mut plan.releases {
            gradient.noise = Allotment::AsPrinted(self.deviation);
        }
        let scale = 2.0 * self.largest / self.epsilon.1;
        Choice::of(self.runs, RunScore::Losses(self.largest), Some(scale), shape, plan)
    }

    /// The steps on this many weights. A sample has one record on average.
    fn motion(self, steps: u64, weights: usize) -> SampledMotion {
        let noise = weights as f64 * self.deviation.powi(2);
        let printed = Some(PrintedSteps { slope: self.slope, noise });
        let optimiser = OptimiserKind::Descent;
        SampledMotion { steps, learning_rate: 0.0, momentum: 0.0, average: 0.0, optimiser, printed }
    }
}

/// ζ = γ(1 − ξ_k − γ/10).
fn printed_margin(separation: Option<&Separation>, components: usize) -> Result<f64> {
    let margin = separation.and_then(|it| {
        let outside = it.outside.get(components - 1)?;
        Some(it.margin * (1.0 - outside - 0.1 * it.margin))
    });
    margin.filter(|margin| *margin > 0.0).ok_or_else(|| {
        Error::usage("as_printed needs the margin ζ, and public classes have none that is positive")
            .cure("give a margin ζ, or public records with classes that a halfspace separates")
    })
}

fn components(shape: &ProblemShape, wanted: Option<u64>) -> Result<usize> {
    let dimension = shape.dimension;
    let Some(wanted) = wanted.map(|wanted| wanted as usize) else {
        return Ok(USUAL_COMPONENTS.min(dimension).min(shape.public_records));
    };
    if wanted > dimension {
        return Err(Error::usage(format!(
            "{wanted} components are wanted of records with {dimension} features"
        ))
        .cure(format!("choose at most {dimension}")));
    }
    if wanted > shape.public_records && shape.public_records < dimension {
        return Err(Error::usage(format!(
            "{wanted} components are wanted of {} public records",
            shape.public_records
        ))
        .cure(format!("choose at most {}, or more public records", shape.public_records)));
    }
    Ok(wanted)
}

/// Softmax regression needs no bias on centred records. One class against the rest does, because
/// the class has fewer records; the printed algorithm has none.
fn head(
    inputs: usize,
    shape: &ProblemShape,
    loss: SampledLoss,
    printed: bool,
) -> Result<Architecture> {
    let classes = design::classes(shape)?;
    if printed || loss == SampledLoss::CrossEntropy {
        return Architecture::unbiased(inputs, classes);
    }
    Architecture::linear(inputs, classes)
}

/// The mean that is subtracted, and the directions.
fn directions(public: &PublicData, count: usize, centre: bool) -> Result<(Vector, Principal)> {
    let found = if centre {
        Principal::centred(&public.features, count)
    } else {
        let nothing = Vector::zeros(public.dimension());
        Principal::of(&public.features, count).map(|principal| (nothing, principal))
    };
    found.ok_or_else(|| {
        Error::failed(format!("'{}' has no principal directions", public.name))
            .cure("check its features for values that are not numbers")
    })
}

/// x ↦ Vᵀ(x − μ) brought to unit length, as layers; or x ↦ Vᵀx for x of unit length, as printed.
fn projection(directions: &Matrix, mean: &Vector, printed: bool) -> Result<Classifier> {
    let (inputs, outputs) = directions.shape();
    // Row by row, the weights are the directions one after another.
    let weights = directions.as_slice().iter().copied();
    if printed {
        let layers = vec![Layer::Normalise(inputs), Layer::Linear(Dense { inputs, outputs })];
        return Classifier::new(Architecture::new(layers)?, weights.collect());
    }
    let dense = Layer::Dense(Dense { inputs, outputs });
    let architecture = Architecture::new(vec![dense, Layer::Normalise(outputs)])?;
    let biases = directions.column_iter().map(|direction| -direction.dot(mean));
    Classifier::new(architecture, weights.chain(biases).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Dataset;
    use crate::trial::{RehearsalNoise, Trial};
    use crate::{Value, example};
    use halflight_testing as golden;

    fn given(pairs: &[(&str, f64)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect()
    }

    #[test]
    fn projected_and_normalised_records_agree_with_the_reference() {
        let golden = golden::adaptation();
        let features = golden.records("pca.X");
        let directions = golden.rows("pca.components_cols");
        let layers = projection(&directions, &Vector::zeros(3), false).unwrap();
        golden::assert_close(&layers.scores(&features), &golden.records("pca.unit_rows"), 1e-12);
        let mean = Vector::from_vec(vec![0.5, -1.0, 2.0]);
        let layers = projection(&directions, &mean, false).unwrap();
        let mut moved = features;
        for mut example in moved.column_iter_mut() {
            example += &mean;
        }
        golden::assert_close(&layers.scores(&moved), &golden.records("pca.unit_rows"), 1e-12);
    }

    /// The lines of the paper's algorithms 1 and 2, for three records of two classes: no normalising
    /// after the projection, and one step from a known place.
    #[test]
    fn the_printed_step_is_that_of_the_paper() {
        let target = Target { epsilon: 0.8, delta: 1e-5 };
        let (shape, ..) = example::two_classes(3, 40, 50, 1);
        let printed = Printed::of(0.25, Some(2), &shape, target);
        // A run has half of ε and δ.
        let (n, epsilon, delta) = (50.0_f64, 0.4, 5e-6_f64);
        let slope = 1.0 / (0.25 * 2.0_f64.sqrt());
        let variance =
            32.0 * slope * slope * n * n * (n / delta).ln() * (1.0 / delta).ln() / epsilon;
        assert!((n * printed.deviation / variance.sqrt() - 1.0).abs() < 1e-12);
        let motion = printed.motion(7, 4);
        let (t, rate) = (3.0, motion.printed.unwrap());
        let eta = 1.0 / (t * n * n * slope * slope + 4.0 * variance).sqrt();
        assert!((rate.rate(3) / (n * eta) - 1.0).abs() < 1e-12);

        let directions = Matrix::from_column_slice(3, 2, &[1.0, 0.0, 0.0, 0.0, 0.6, 0.8]);
        let layers = projection(&directions, &Vector::zeros(3), true).unwrap();
        let features = Matrix::from_column_slice(3, 2, &[3.0, 0.0, 4.0, 0.0, 0.0, 2.0]);
        let mapped = layers.scores(&features);
        let wanted = Matrix::from_column_slice(2, 2, &[0.6, 0.64, 0.0, 0.8]);
        golden::assert_close(&mapped, &wanted, 1e-12);
        // max(1 − y⟨w, x⟩/ζ, 0), the mean over the classes' halfspaces.
        let model = Classifier::new(Architecture::unbiased(2, 2).unwrap(), vec![0.0; 4]).unwrap();
        let loss = SampledLoss::Hinge(0.25);
        let gradients = model.gradients(&mapped, loss.labels(&[0, 1])).unwrap();
        for (at, square) in gradients.squared_norms().iter().enumerate() {
            let length = slope * wanted.column(at).norm();
            assert!((square.sqrt() - length).abs() < 1e-12 && length <= printed.slope);
        }
    }

    #[test]
    fn as_printed_takes_its_margin_from_public_classes_and_tells_what_is_proved() {
        let (shape, public, private) = example::two_classes(6, 60, 400, 2);
        let mode = ("mode".to_owned(), Value::Text("as_printed".to_owned()));
        let mut settings = given(&[("components", 3.0), ("steps", 30.0)]);
        settings.extend([mode]);
        let target = Target { epsilon: 1.0, delta: 1e-5 };
        let noise = RehearsalNoise::For(target);
        let trial = |settings, seed| Trial {
            settings,
            ..Trial::new(SPEC.id, &public, &private, noise, seed)
        };
        let done = trial(settings.clone(), 3).run().unwrap();
        assert_eq!(done.steps.len(), 5 * 30 + 1);
        assert!(done.calibrated.guarantee().epsilon < 0.6, "{:?}", done.calibrated.guarantee());
        let Model::Classifier(model) = &done.model else { panic!() };
        // Inside the ball of radius 1, in units of ζ.
        let separation = Separation::of(&public.clone().into(), false).unwrap().unwrap();
        let zeta = printed_margin(Some(&separation), 3).unwrap();
        let heads = model.parameters()[18..].chunks_exact(3);
        let longest = heads.map(|w| Vector::from_column_slice(w).norm() * zeta).fold(0.0, f64::max);
        assert!(longest <= 1.0 + 1e-12 && longest > 0.5, "{longest}");
        // Without noise it learns.
        let free = Trial { noise: RehearsalNoise::None(target), ..trial(settings.clone(), 3) };
        let right = {
            let model = free.run().unwrap().model;
            let classes = model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one == other).count()
        };
        assert!(right > 220, "{right}");
        for (key, value) in [
            ("centre", Value::Flag(false)),
            ("loss", Value::Text("hinge".to_owned())),
            ("clip", Value::Number(0.3)),
            ("batch", Value::Number(9.0)),
            ("learning_rate", Value::Number(0.3)),
            ("momentum", Value::Number(0.3)),
            ("average", Value::Number(0.5)),
            ("optimiser", Value::Text("adam".to_owned())),
        ] {
            let mut given = settings.clone();
            given.insert(key.to_owned(), value);
            let error = example::plan(METHOD, &given, &shape, &public).unwrap_err();
            assert!(error.what().contains(key), "{error}");
        }
        let unlabelled = Dataset { classes: None, ..public.clone() };
        let error = example::plan(METHOD, &settings, &shape, &unlabelled).unwrap_err();
        assert!(error.to_string().contains("needs the margin ζ"), "{error}");
        settings.insert("margin".to_owned(), Value::Number(0.2));
        example::plan(METHOD, &settings, &shape, &unlabelled).unwrap();
    }

    #[test]
    fn few_public_directions_are_enough_where_public_records_vary_in_few() {
        // Thirty features, of which the public records vary in three.
        let (_, public, private) = example::two_classes(30, 400, 800, 4);
        let spread = |data: &Dataset| {
            let mut data = data.clone();
            for mut example in data.features.column_iter_mut() {
                let strong = example[0] + example[1] - example[2];
                example *= 0.1;
                for k in 0..3 {
                    example[k] *= 10.0;
                }
                example[3] = 0.02 * strong;
            }
            let classes = data.features.column_iter().map(|x| u32::from(x[0] + x[1] > x[2]));
            data.classes.as_mut().unwrap().of = classes.collect();
            data
        };
        let (public, private) = (spread(&public), spread(&private));
        let right = |components: f64, loss: &str, centre: bool| {
            let mut settings = given(&[("components", components), ("steps", 60.0)]);
            settings.insert("loss".to_owned(), Value::Text(loss.to_owned()));
            settings.insert("centre".to_owned(), Value::Flag(centre));
            let unlabelled = Dataset { classes: None, ..public.clone() };
            let rehearsal = Trial {
                settings,
                ..Trial::new(
                    SPEC.id,
                    &unlabelled,
                    &private,
                    RehearsalNoise::For(Target { epsilon: 0.3, delta: 1e-5 }),
                    3,
                )
            };
            let model = rehearsal.run().unwrap().model;
            assert_eq!(model.probabilities(&private.features).is_none(), loss == "hinge");
            let classes = model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one == other).count()
        };
        let few = right(3.0, "logistic", true);
        assert!(few > 640, "{few}");
        assert!(few > right(1.0, "logistic", true));
        assert!(right(3.0, "hinge", true) > 600);
        assert!(right(3.0, "logistic", false) > 600);
    }

    #[test]
    fn the_plan_tells_what_is_kept_and_refuses_more_components_than_there_are() {
        let (shape, public, _) = example::two_classes(6, 60, 400, 2);
        let plan = |shape: &ProblemShape, public: &Dataset, count: f64| {
            example::plan(METHOD, &given(&[("components", count)]), shape, public)
        };
        let found = plan(&shape, &public, 3.0).unwrap();
        assert!(found.warnings[0].contains("3 components keep"), "{:?}", found.warnings);
        let explained = found.explained.unwrap();
        assert_eq!((explained.chosen, explained.shares.len()), (3, 6));
        assert!((explained.shares[5] - 1.0).abs() < 1e-12);
        assert_eq!(found.releases[0].adjacency, Adjacency::ZeroOut);
        let error = plan(&shape, &public, 7.0).unwrap_err().to_string();
        assert!(error.contains("7 components") && error.contains("6 features"), "{error}");
        let few = Dataset {
            features: public.features.columns(0, 4).into_owned(),
            classes: None,
            ..public.clone()
        };
        let shape = ProblemShape { public_records: 4, ..shape };
        let error = plan(&shape, &few, 5.0).unwrap_err().to_string();
        assert!(error.contains("5 components") && error.contains("4 public"), "{error}");
    }
}
