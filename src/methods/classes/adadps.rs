//! AdaDPS: gradients in coordinates that public gradients make even, before they are clipped.
//!
//! After Li, Zaheer, Reddi and Smith. A coordinate in which gradients are usually small is stretched,
//! one in which they are large is shortened, so that the noise, of one size in all coordinates,
//! drowns fewer of them. With the mean v of the squares of public gradients at the current model,
//! which is remembered as RMSProp does, every private gradient g becomes a·g/(√v + e), number by
//! number. Here e is a share of the root mean square of √v. The factor a keeps the mean square length
//! of the public gradients, so that clip norms and rates mean what they mean in DP-SGD.
//!
//! *Sensitivity.* The factors depend on public records and on the released model alone. Gradients are
//! clipped to C after they were multiplied, so one record adds a vector of length C at most, as in
//! DP-SGD (see [`super::sampled`]). Norms in the new coordinates are sums of other products than
//! those of the vectors that are added up, so their rounding counts once more.

use super::dp_sgd;
use super::gep::{AnchorLabels, anchor_records, check_labels};
use super::sampled::design::{self, Design};
use super::sampled::fields::{
    CLIP, NetworkChoice, NetworkSettings, StepSettings, Sum, plan_of_sum, steps,
};
use super::sampled::optimiser::OptimiserKind;
use super::sampled::step_length::StepLengths;
use super::sampled::training::{ClippingEffect, GradientSource, SampledTraining};
use super::sampled::{Examples, rounding};
use crate::model::Gradients;
use crate::prelude::*;
use crate::privacy::Contributions;
use crate::privacy::openings::{OpenPrivate, OpenReleased};

/// The most public records whose gradients are looked at.
const MOST_PUBLIC: usize = 400;

static SPEC: Spec = Spec {
    id: "adadps",
    name: "private, in even coordinates",
    paper: "AdaDPS",
    summary: "DP-SGD on gradients that are divided by their usual size in public data, number by \
              number, before they are clipped: rare features count for more.",
    line: "noise of one size in coordinates that public data make even",
    task: Task::Classification,
    fields: AdaDpsSettings::FIELDS,
    tries: &[("damping", &[0.1, 10.0])],
    place: 4,
    assumption: Some(
        "The guarantee is semi-private: it is for the private records alone. The coordinates \
         in which gradients are clipped were computed from public records without noise, which \
         is only right if these do not depend on the private records.",
    ),
    covers_scores: false,
    always_samples: true,
    gap: Gap::SAMPLE,
    ..Spec::DEFAULT
};

settings! {
    struct AdaDpsSettings {
        model: NetworkChoice = NetworkSettings::model,
        units: u64 = NetworkSettings::units,
        channels: u64 = NetworkSettings::channels,
        height: Option<u64> = NetworkSettings::height,
        damping: f64 = real(1e-6, 1e3, 1.0).named("damping e", "of the usual gradient").help(
            "Added to the usual size of a gradient's number before it divides: the larger, the \
             closer to DP-SGD. Coordinates that public gradients hardly use are stretched by 1/e \
             at most.",
        ),
        memory: f64 = real(0.0, 0.999, 0.9).named("memory", "share of the last step").help(
            "How much of the squares of public gradients the next step keeps.",
        ),
        steps: u64 = steps(100_000, 400),
        batch: Option<u64> = StepSettings::batch,
        clip: f64 = CLIP,
        learning_rate: Option<f64> = StepSettings::learning_rate,
        momentum: f64 = StepSettings::momentum,
        average: f64 = StepSettings::average,
        optimiser: OptimiserKind = StepSettings::optimiser,
    }
}

/// DP-SGD with gradients preconditioned by public ones.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(given: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let settings = AdaDpsSettings::of(given)?;
    let shape = &problem.shape;
    check_labels(AnchorLabels::Own, shape, &problem.public)?;
    let network = design::network(shape, NetworkSettings::of(given)?, shape.dimension)?;
    let parameters = network.parameters();
    let course = StepSettings::of(given)?;
    // Two roundings of a norm: see the module's text.
    let clip = settings.clip;
    let longest = clip * (1.0 + rounding(shape.private_records, parameters));
    let (mut plan, mut sum) = plan_of_sum(shape, course, longest, parameters)?;
    sum.clip = clip;
    plan.warnings = design::remarks(&network);
    let start: Start = Box::new(move |private, noise| {
        let design = dp_sgd::design(&problem, network)?;
        let most = problem.public.len().min(MOST_PUBLIC);
        let public = anchor_records(&problem, &design, AnchorLabels::Own, most)?;
        let length = noise.scale(&sum.release)? * (parameters as f64).sqrt() / sum.batch as f64;
        let pace = StepLengths::of(design.model.architecture());
        let motion = pace.motion(course, length, parameters);
        let source =
            Preconditioned { sum, settings, public, squares: None, factors: Vector::zeros(0) };
        Ok(Box::new(SampledTraining::new(&problem, &private, design, Box::new(source), motion)?))
    });
    Ok((plan, start))
}

/// One clipped sum per step, in coordinates from public gradients.
struct Preconditioned {
    sum: Sum,
    settings: AdaDpsSettings,
    public: Examples,
    /// v, the remembered mean of the squares of public gradients.
    squares: Option<Vector>,
    /// What each number of a gradient is multiplied by in this step.
    factors: Vector,
}

impl Preconditioned {
    /// The factors at a model with these public gradients.
    fn update(&mut self, public: &Gradients) -> Result<()> {
        let squared = public.squares();
        let share = 1.0 / public.examples() as f64;
        let now = squared.weighted_sum(&vec![share; public.examples()]);
        let memory = self.settings.memory;
        let squares = match self.squares.take() {
            None => now.clone(),
            Some(before) => memory * before + (1.0 - memory) * &now,
        };
        let damping = self.settings.damping * squares.mean().sqrt();
        let factors = squares.map(|square| 1.0 / (square.sqrt() + damping));
        // Mean square lengths of the public gradients after and before.
        let (after, before) = (factors.component_mul(&factors).dot(&now), now.sum());
        self.factors =
            if after > 0.0 { factors * (before / after).sqrt() } else { now.map(|_| 1.0) };
        self.squares = Some(squares);
        if self.factors.iter().all(|factor| factor.is_finite()) {
            return Ok(());
        }
        Err(Error::failed("the public gradients hold something else than numbers")
            .cure("choose a lower learning rate"))
    }
}

/// Gradients whose numbers are multiplied by factors, not formed.
struct Stretched<'a> {
    gradients: &'a Gradients,
    factors: &'a Vector,
}

impl Contributions for Stretched<'_> {
    /// Σ d²g² over the numbers of each.
    fn squared_norms(&self) -> Vec<f64> {
        let squares = self.factors.component_mul(self.factors);
        let squares = Matrix::from_column_slice(squares.len(), 1, squares.as_slice());
        self.gradients.squares().project(&squares).as_slice().to_vec()
    }

    fn add_weighted(&self, factors: &[f64], sum: &mut [f64]) {
        let part = self.gradients.weighted_sum(factors).component_mul(self.factors);
        sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
    }
}

impl GradientSource for Preconditioned {
    fn draw(
        &mut self,
        Design { objective, model, .. }: &Design,
        private: &Private<Examples>,
        spender: &mut Spender,
    ) -> Result<Released<Vector>> {
        self.update(&objective.gradients(model, &self.public)?)?;
        let Sum { release, clip, batch, .. } = self.sum;
        let factors = &self.factors;
        let noisy = private.release_sampled_sum(
            spender,
            release,
            Examples::protected,
            |records, sample, sum| {
                // Shapes were checked at the start; chunks that do not fit add nothing.
                let _ = objective.over_sample(model, records, sample.members(), |g, count| {
                    sum.add(&Stretched { gradients: g, factors }, count, clip);
                });
            },
        )?;
        Ok(noisy.map(|noisy| Vector::from_vec(noisy) / batch as f64))
    }

    fn look(&self, gradients: &Gradients) -> ClippingEffect {
        let norms = Stretched { gradients, factors: &self.factors }.squared_norms();
        let over = norms.iter().filter(|square| square.sqrt() > self.sum.clip).count();
        ClippingEffect { clipped: over as f64 / norms.len() as f64, energy: None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{Activation, Architecture};
    use crate::privacy::ClippedSum;
    use crate::trial::{RehearsalNoise, Trial, Tried};
    use crate::{Value, example};

    fn given(pairs: &[(&str, f64)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(key, x)| ((*key).to_owned(), Value::Number(*x))).collect()
    }

    fn run(method: &str, pairs: &[(&str, f64)], noise: RehearsalNoise) -> Tried {
        let (_, public, private) = example::two_classes(6, 80, 600, 2);
        let settings = given(pairs);
        Trial { settings, ..Trial::new(method, &public, &private, noise, 4) }.run().unwrap()
    }

    fn source(damping: f64, memory: f64, network: &Architecture) -> (Preconditioned, Gradients) {
        let (shape, public, _) = example::two_classes(5, 80, 300, 2);
        let given = given(&[("damping", damping), ("memory", memory)]);
        let given = SPEC.check(&given).unwrap();
        let (course, settings) =
            (StepSettings::of(&given).unwrap(), AdaDpsSettings::of(&given).unwrap());
        let (_, sum) = plan_of_sum(&shape, course, 0.1, network.parameters()).unwrap();
        let problem = example::problem(&shape, &public);
        let design = dp_sgd::design(&problem, network.clone()).unwrap();
        let public = anchor_records(&problem, &design, AnchorLabels::Own, 60).unwrap();
        let gradients = design.objective.gradients(&design.model, &public).unwrap();
        let source =
            Preconditioned { sum, settings, public, squares: None, factors: Vector::zeros(0) };
        (source, gradients)
    }

    /// The formulas written out, number by number, for a network with both kinds of contributions.
    #[test]
    fn factors_norms_and_sums_are_those_of_gradients_written_out() {
        let network = Architecture::perceptron(5, 4, 2, Activation::Tanh).unwrap();
        let (mut source, gradients) = source(0.3, 0.5, &network);
        source.update(&gradients).unwrap();
        let first = source.factors.clone();
        let columns = gradients.columns();
        let count = columns.ncols() as f64;
        let mean: Vec<f64> = columns.row_iter().map(|row| row.norm_squared() / count).collect();
        let damping = 0.3 * (mean.iter().sum::<f64>() / mean.len() as f64).sqrt();
        let plain = Vector::from_iterator(
            mean.len(),
            mean.iter().map(|square| 1.0 / (square.sqrt() + damping)),
        );
        let stretched = Matrix::from_diagonal(&plain) * &columns;
        let factors = plain * (columns.norm() / stretched.norm());
        assert!((&first - &factors).norm() < 1e-12 * factors.norm());
        // The squares of two steps with the same gradients are the same.
        source.update(&gradients).unwrap();
        assert!((&first - &source.factors).norm() < 1e-12 * factors.norm());
        let stretched = Matrix::from_diagonal(&factors) * &columns;
        let ours = Stretched { gradients: &gradients, factors: &source.factors };
        for (square, column) in ours.squared_norms().iter().zip(stretched.column_iter()) {
            assert!((square - column.norm_squared()).abs() < 1e-12);
        }
        let mut sum = ClippedSum::new(network.parameters(), 0.1);
        sum.add(&ours, columns.ncols(), 0.1);
        let clipped = stretched.column_iter().map(|column| column * (0.1 / column.norm()).min(1.0));
        let clipped = clipped.fold(Vector::zeros(network.parameters()), |all, one| all + one);
        assert!((Vector::from_vec(sum.finish()) - &clipped).norm() < 1e-12 * clipped.norm());
    }

    /// Neighbours: a sample with a record, and the same with the record blank. A record that is
    /// clipped in the new coordinates attains the bound.
    #[test]
    fn leaving_a_record_blank_moves_the_sum_by_the_clip_norm_and_no_further() {
        let network = Architecture::perceptron(5, 4, 2, Activation::Tanh).unwrap();
        for damping in [1e-6, 0.1, 100.0] {
            let (mut source, gradients) = source(damping, 0.0, &network);
            source.update(&gradients).unwrap();
            let ours = Stretched { gradients: &gradients, factors: &source.factors };
            let clip = 0.01;
            let mut all = vec![1.0; gradients.examples()];
            let norms = ours.squared_norms();
            let sum = |present: &[f64]| {
                let factor = |(square, here): (&f64, &f64)| here * (clip / square.sqrt()).min(1.0);
                let factors: Vec<f64> = norms.iter().zip(present).map(factor).collect();
                let mut sum = vec![0.0; network.parameters()];
                ours.add_weighted(&factors, &mut sum);
                Vector::from_vec(sum)
            };
            let whole = sum(&all);
            let bound = clip * (1.0 + 2.0 * rounding(all.len(), network.parameters()));
            for blank in 0..all.len() {
                all[blank] = 0.0;
                let moved = (&whole - sum(&all)).norm();
                all[blank] = 1.0;
                assert!(moved <= bound && moved > 0.99 * clip, "{damping} {blank}: {moved}");
            }
        }
    }

    #[test]
    fn with_much_damping_it_is_dp_sgd_and_the_noise_is_the_same() {
        let common = [("steps", 15.0), ("batch", 60.0), ("learning_rate", 0.7), ("clip", 0.3)];
        let much: Vec<_> = common.into_iter().chain([("damping", 1000.0)]).collect();
        let noise = RehearsalNoise::None(example::TARGET);
        let parameters = |done: Tried| match done.model {
            Model::Classifier(model) => Vector::from_column_slice(model.parameters()),
            _ => panic!("another model"),
        };
        let (one, other) =
            (parameters(run("adadps", &much, noise)), parameters(run("dp_sgd", &common, noise)));
        assert!((&one - &other).norm() < 0.01 * other.norm(), "{one} {other}");
        let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 });
        let sigma = |it: Tried| it.calibrated.events()[0].mechanism.noise.scale;
        let (one, other) =
            (sigma(run("adadps", &much, noise)), sigma(run("dp_sgd", &common, noise)));
        assert!((one / other - 1.0).abs() < 1e-6, "{one} {other}");
    }

    /// What tells the classes apart is in features that are a thousandth of the others.
    #[test]
    fn small_features_that_matter_are_learned_where_dp_sgd_drowns_them() {
        let (_, mut public, mut private) = example::two_classes(8, 400, 3000, 2);
        for data in [&mut public, &mut private] {
            let of = data.features.column_iter().map(|x| u32::from(x[0] + x[1] > 0.0)).collect();
            data.classes.as_mut().unwrap().of = of;
            for mut record in data.features.column_iter_mut() {
                (record[0], record[1]) = (0.03 * record[0], 0.03 * record[1]);
            }
        }
        let right = |method: &str, pairs: &[(&str, f64)]| {
            let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 });
            let trial =
                Trial { settings: given(pairs), ..Trial::new(method, &public, &private, noise, 4) };
            let classes = trial.run().unwrap().model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one == other).count()
        };
        let common = [("steps", 60.0), ("batch", 300.0)];
        let even: Vec<_> = common.into_iter().chain([("damping", 0.01)]).collect();
        let (ours, theirs) = (right("adadps", &even), right("dp_sgd", &common));
        assert!(ours > theirs + 200, "{ours} {theirs}");
    }

    #[test]
    fn public_labels_have_to_be_the_private_classes() {
        let (shape, public, _) = example::two_classes(6, 60, 400, 2);
        let plan = |public: &Dataset| example::plan(METHOD, &BTreeMap::new(), &shape, public);
        plan(&public).unwrap();
        let unlabelled = Dataset { classes: None, ..public.clone() };
        assert!(plan(&unlabelled).unwrap_err().to_string().contains("no label column"));
        let mut others = public;
        others.classes.as_mut().unwrap().names = vec!["a".to_owned(), "b".to_owned()];
        let error = plan(&others).unwrap_err().to_string();
        assert!(error.contains("2 classes of its own"), "{error}");
    }
}
