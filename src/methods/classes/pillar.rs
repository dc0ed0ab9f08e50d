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

use super::dp_sgd::train;
use super::sampled::design::{self, Design};
use super::sampled::fields::{CLIP, StepSettings, plan_of_sum, steps};
use super::sampled::step_length::StepLengths;
use super::sampled::{SampledLoss, SampledObjective, TrainedParameters};
use crate::model::Architecture;
use crate::model::layer::{Dense, Layer};
use crate::numeric::principal::Principal;
use crate::prelude::*;
use crate::{ExplainedEnergy, Separation};

/// The default number of directions.
const USUAL_COMPONENTS: usize = 40;

/// The rate for the hinge loss is that for the logistic loss times this, ζ² and the number of
/// classes: its scores have to grow to ζ, and its slopes are 1/ζ, divided by the number of classes.
const HINGE_RATE: f64 = 0.1;

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
            .help("Of the hinge loss: nothing is lost on scores beyond it."),
        steps: u64 = steps(100_000, 400),
        batch: Option<u64> = StepSettings::batch,
        clip: f64 = CLIP,
        learning_rate: Option<f64> = StepSettings::learning_rate,
        momentum: f64 = StepSettings::momentum,
        average: f64 = StepSettings::average,
    }
}

/// Private logistic regression in the directions that public records span.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(given: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let settings = PillarSettings::of(given)?;
    let shape = &problem.shape;
    let components = components(shape, settings.components)?;
    let loss = match settings.loss {
        LossKind::Logistic => SampledLoss::CrossEntropy,
        LossKind::Hinge => SampledLoss::Hinge(settings.margin),
    };
    let head = head(components, shape, loss)?;
    let centred = f64::from(u8::from(settings.centre));
    let (shares, separation) =
        problem.public.once("what components hold", centred, |public, centred| {
            let shares = directions(public, 0, centred > 0.0)?.1.shares();
            Ok((shares, Separation::of(public, centred > 0.0)?))
        })?;
    let explained = ExplainedEnergy { chosen: components, shares, separation };
    let course = StepSettings::of(given)?;
    let (mut plan, sum) = plan_of_sum(shape, course, settings.clip, head.parameters())?;
    plan.warnings.push(explained.words());
    let separation = explained.separation.as_ref();
    plan.warnings.extend(separation.map(|it| it.words(components, explained.gap(components))));
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
            frozen: Some(projection(&directions, &mean)?),
            model: design::first(head, 0)?,
            objective: SampledObjective { loss, trained: TrainedParameters::Everything },
        };
        train(&problem, &private, design, pace, sum, noise)
    });
    Ok((plan, start))
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
/// the class has fewer records.
fn head(inputs: usize, shape: &ProblemShape, loss: SampledLoss) -> Result<Architecture> {
    let classes = design::classes(shape)?;
    match loss {
        SampledLoss::CrossEntropy => Architecture::unbiased(inputs, classes),
        SampledLoss::Hinge(_) => Architecture::linear(inputs, classes),
    }
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

/// x ↦ Vᵀ(x − μ) brought to unit length, as layers.
fn projection(directions: &Matrix, mean: &Vector) -> Result<Classifier> {
    let (inputs, outputs) = directions.shape();
    let dense = Layer::Dense(Dense { inputs, outputs });
    let architecture = Architecture::new(vec![dense, Layer::Normalise(outputs)])?;
    // Row by row, the weights are the directions one after another.
    let weights = directions.as_slice().iter().copied();
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
        let layers = projection(&golden.rows("pca.components_cols"), &Vector::zeros(3)).unwrap();
        golden::assert_close(&layers.scores(&features), &golden.records("pca.unit_rows"), 1e-12);
        let mean = Vector::from_vec(vec![0.5, -1.0, 2.0]);
        let layers = projection(&golden.rows("pca.components_cols"), &mean).unwrap();
        let mut moved = features;
        for mut example in moved.column_iter_mut() {
            example += &mean;
        }
        golden::assert_close(&layers.scores(&moved), &golden.records("pca.unit_rows"), 1e-12);
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
