//! Profiled logistic: classes, closed-form weights, noise on the gradient alone.
//!
//! The objective, its sensitivity and the descent are those of `profiled`, with logistic loss for two
//! classes and softmax loss for more. The largest gradient is r, and √2·r of a softmax; most are far
//! smaller: clipping below it trades a little bias for less noise. The public Hessian scales the
//! steps; of a softmax, its block for each class does.
//!
//! The defaults were chosen on bikeshare, wine and airline, with their labels split into two
//! classes. No other data were used.

use std::f64::consts::SQRT_2;

use super::profiled::Profile;
use super::profiled::batches::{BATCH, Batches};
use super::profiled::descent::{Motion, ProfiledDescent, ProfiledRun};
use super::profiled::public_side::PublicSide;
use super::profiled_cnvx_adap::{DAMPING_FIELD, STEP_SIZE_FIELD, WEIGHTING_FIELD, Weighting};
use super::public_scores::{kept_ridge, public_solution};
use super::records::{LabelledRecords, RecordLoss, ScoreLoss, several_classes};
use crate::classes::sampled::fields::{StepSettings, steps};
use crate::model::{logistic, softmax};
use crate::prelude::*;
use crate::privacy::openings::OpenPrivate;
use crate::sources::{SOURCE_WEIGHTS, SourceWeights};

static SPEC: Spec = Spec {
    id: "profiled_logistic",
    name: "logistic, weighted by fit",
    paper: "Profiled logistic",
    summary: "Classes told apart by public and private records together; every record's \
              weight follows its loss, and noise is added to the private part of the gradient.",
    line: "public and private records together, by how well they fit",
    task: Task::Classification,
    fields: ProfiledLogisticSettings::FIELDS,
    tries: &[("threshold", &[1.0, 4.0]), ("pull", &[0.1, 1.0])],
    place: 1,
    tries_public_predictor: true,
    most_features: Some(MOST_FEATURES),
    softmax_of_several: true,
    clips_persons: true,
    ..Spec::DEFAULT
};

settings! {
    struct ProfiledLogisticSettings {
        alpha: f64 = real(0.01, 0.99, 0.1).named("public share α", "share of weight").help(
            "Largest total weight of the public records; the private records have the rest. \
             Lower trusts the private data more, and needs more noise for it.",
        ),
        threshold: f64 = real(0.01, 100.0, 2.0).named("outlier threshold κ₁", "loss").help(
            "Records whose logistic or softmax loss is larger lose weight. With two classes, a \
             record on the wrong side of the boundary has more than 0.69.",
        ),
        clip: f64 = real(0.01, 1.0, 0.5).named("clip", "share of largest").help(
            "A private record's gradient is clipped to this share of the largest possible. Lower \
             needs less noise and listens less to records that are badly wrong.",
        ),
        steps: u64 = steps(2000, 50),
        batch: Option<u64> = BATCH,
        step_size: f64 = STEP_SIZE_FIELD,
        pull: f64 = real(0.0, 1000.0, 0.3).named("pull ρ", "times noise sd").help(
            "How strongly the model is held at the public solution, in units of the gradient's \
             noise: the noisier the gradient, the stronger the pull.",
        ),
        damping: f64 = DAMPING_FIELD.by_default(0.01),
        weighting: Weighting = WEIGHTING_FIELD,
        source_weights: SourceWeights = SOURCE_WEIGHTS,
        public_penalty: f64 = real(0.0, 100.0, 0.0).named("public penalty d̂", "loss").help(
            "Added to the loss of every public record before it is weighted. It must be known \
             without looking at the private data.",
        ),
        ridge: Option<f64> = automatic(1.0).named("ridge", "loss").help(
            "Ridge of the public solution that the run starts from. Automatic takes the one with the \
             least loss on public records that it has not seen, and 0.0001 if they are few for their \
             features.",
        ),
        average: f64 = StepSettings::average.by_default(0.5),
    }
}

/// The method of this module.
pub const METHOD: &Method = &Method { spec: &SPEC, plan };

fn plan(settings: &Settings, problem: Problem, _: Target) -> Result<(Plan, Start)> {
    let settings = ProfiledLogisticSettings::of(settings)?;
    let shape = &problem.shape;
    let loss = loss(&problem.public)?;
    let sources = settings.weighting.sources(settings.source_weights, &problem.public)?;
    let profile = profile(shape, loss, settings);
    let batches = Batches::of(shape, settings.batch)?;
    let (plan, gradient) = batches.plan(&profile, shape, settings.steps, 1.0);
    let start: Start = Box::new(move |private, noise| {
        let shape = problem.shape.clone();
        let public = problem.public.shared();
        let public = LabelledRecords::of(loss, public)?;
        // Taught once for all runs from these records: it takes most of the time of many columns.
        let ridge = kept_ridge(&problem.public, settings.ridge.unwrap_or(0.0))?;
        let centre = problem.public.once("linear scores", ridge, public_solution)?;
        let curvature = curvature(&public, loss, &centre);
        let persons = problem.public.persons();
        let profile = profile.for_persons(&public, persons, shape.most_records, &centre);
        let sigma = gradient.scale(noise)? / profile.factor();
        let motion = Motion {
            pull: settings.pull * sigma,
            damping: settings.damping,
            step_size: settings.step_size,
        };
        Ok(Box::new(ProfiledRun {
            steps: settings.steps,
            average: settings.average,
            gradient,
            shape,
            profile,
            penalty: None,
            public: PublicSide::new(public, sources),
            private: private.map_usable(|data| LabelledRecords::private(loss, data))?,
            descent: ProfiledDescent::new(centre, curvature, motion)?,
            model: None,
        }))
    });
    Ok((plan, start))
}

/// The loss for the number of classes.
fn loss(public: &PublicRecords) -> Result<RecordLoss> {
    let classes = several_classes(public)?;
    if classes == 2 {
        return Ok(RecordLoss::Score(ScoreLoss::Logistic));
    }
    // A matrix for each class is factored.
    let most = (MOST_FEATURES as f64 / (classes as f64).sqrt()) as usize;
    if public.dimension() > most {
        return Err(Error::usage(format!(
            "the data have {} features, and '{}' takes {most} at most with {classes} classes",
            public.dimension(),
            SPEC.name
        ))
        .cure("select fewer columns, or choose another method"));
    }
    Ok(RecordLoss::Softmax { classes })
}

/// The public curvature at the public solution, a block for each score.
fn curvature(public: &LabelledRecords<Doubles>, loss: RecordLoss, centre: &Vector) -> Vec<Matrix> {
    let features = &public.data().features;
    match loss {
        RecordLoss::Score(_) => vec![logistic::hessian(features, centre)],
        RecordLoss::Softmax { classes } => softmax::curvatures(features, classes, centre),
    }
}

fn profile(shape: &ProblemShape, loss: RecordLoss, settings: ProfiledLogisticSettings) -> Profile {
    let steepest = if loss == RecordLoss::Score(ScoreLoss::Logistic) { 1.0 } else { SQRT_2 };
    Profile {
        loss,
        alpha: settings.alpha,
        kappa: settings.threshold,
        penalty: settings.public_penalty,
        clip: settings.clip * steepest * shape.bounds.feature_norm,
        pooled: settings.weighting == Weighting::Pooled,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::data::Dataset;
    use crate::spec::Value;
    use crate::trial::{RehearsalNoise, Trial};
    use crate::{Series, example};

    const TWO: RecordLoss = RecordLoss::Score(ScoreLoss::Logistic);
    const THREE: RecordLoss = RecordLoss::Softmax { classes: 3 };

    fn settings() -> ProfiledLogisticSettings {
        ProfiledLogisticSettings::of(&SPEC.check(&BTreeMap::new()).unwrap()).unwrap()
    }

    #[test]
    fn with_a_fair_budget_it_classifies_private_records_better_than_the_public_model() {
        let (_, public, private) = example::two_classes(6, 1500, 3000, 2);
        let wrong = |model: &Model| {
            let classes = model.classes(&private.features).unwrap();
            let truth = &private.classes.as_ref().unwrap().of;
            classes.iter().zip(truth).filter(|(one, other)| one != other).count()
        };
        let done = Trial::new(
            SPEC.id,
            &public,
            &private,
            RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 }),
            1,
        );
        let done = done.run().unwrap();
        let source = public_solution(&public.into(), 0.0).unwrap();
        let source = Model::Logistic(source.into());
        let (ours, theirs) = (wrong(&done.model), wrong(&source));
        assert!((ours as f64) < 0.9 * theirs as f64, "{ours} {theirs}");
        let loss = done.series(Series::PrivateLoss);
        assert!(loss.last().unwrap().1 < loss[0].1);
    }

    /// Where the score is 0, both classes have a slope of a half, the default of the clip.
    #[test]
    fn the_same_record_with_the_other_class_attains_the_sensitivity() {
        let (shape, _, mut private) = example::two_classes(3, 10, 25, 5);
        private.features.set_column(0, &Vector::from_vec(vec![0.0, 1.0, 0.0]));
        for clip in [0.1, settings().clip] {
            let profile = profile(&shape, TWO, ProfiledLogisticSettings { clip, ..settings() });
            let mut with = |class: u32| {
                private.classes.as_mut().unwrap().of[0] = class;
                let records = LabelledRecords::of(TWO, Arc::new(private.clone())).unwrap();
                profile.private(&records, 25).pass(&Vector::zeros(3)).gradient
            };
            let moved = (with(0) - with(1)).norm();
            let sensitivity = profile.sensitivity(&shape);
            assert!(moved <= sensitivity && moved > 0.999 * sensitivity, "{moved} {sensitivity}");
        }
    }

    /// Where two classes share all probability, they have the slopes (½, −½) and (−½, ½), which the
    /// default clip just keeps. The third class is out of the question there.
    #[test]
    fn the_same_record_with_another_of_three_classes_attains_the_sensitivity() {
        let (shape, _, mut private) = example::three_classes(3, 10, 25, 5);
        private.features.set_column(0, &Vector::from_vec(vec![0.0, 1.0, 0.0]));
        let mut w = Vector::zeros(9);
        w[7] = -60.0;
        for clip in [0.1, settings().clip] {
            let profile = profile(&shape, THREE, ProfiledLogisticSettings { clip, ..settings() });
            let mut with = |class: u32| {
                private.classes.as_mut().unwrap().of[0] = class;
                let records = LabelledRecords::of(THREE, Arc::new(private.clone())).unwrap();
                profile.private(&records, 25).pass(&w).gradient
            };
            let moved = (with(0) - with(1)).norm();
            let sensitivity = profile.sensitivity(&shape);
            assert!(moved <= sensitivity && moved > 0.999 * sensitivity, "{moved} {sensitivity}");
        }
    }

    #[test]
    fn three_classes_are_learned_better_than_from_public_records_alone() {
        let (mut ours, mut theirs) = (0.0, 0.0);
        for seed in 1..5 {
            let (_, public, private) = example::three_classes(6, 1000, 3000, seed);
            let wrong = |model: &Model| {
                let classes = model.classes(&private.features).unwrap();
                let truth = &private.classes.as_ref().unwrap().of;
                classes.iter().zip(truth).filter(|(one, other)| one != other).count() as f64
            };
            let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-5 });
            let done = Trial::new(SPEC.id, &public, &private, noise, 1).run().unwrap();
            assert!(done.calibrated.guarantee().epsilon <= 1.0);
            let source = public_solution(&public.into(), 0.0).unwrap();
            ours += wrong(&done.model);
            theirs += wrong(&THREE.model(6, source).unwrap());
            let loss = done.series(Series::PrivateLoss);
            assert!(loss.last().unwrap().1 < loss[0].1, "{seed}");
        }
        assert!(ours < 0.9 * theirs, "{ours} {theirs}");
    }

    #[test]
    fn no_ridge_changes_the_plan_or_moves_a_gradient_further_than_the_sensitivity() {
        let (shape, public, mut private) = example::two_classes(3, 400, 25, 5);
        let start: PublicData = public.clone().into();
        let planned = [0.0, 1e-9, 1e-4, 1.0].map(|ridge| {
            let given = BTreeMap::from([("ridge".to_owned(), Value::Number(ridge))]);
            let centre = public_solution(&start, ridge).unwrap();
            let profile = profile(&shape, TWO, settings());
            let mut with = |first: f64, class: u32| {
                private.features.set_column(0, &Vector::from_vec(vec![first, 0.0, 0.0]));
                private.classes.as_mut().unwrap().of[0] = class;
                let records = LabelledRecords::of(TWO, Arc::new(private.clone())).unwrap();
                profile.private(&records, 25).pass(&centre).gradient
            };
            let moved =
                (with(1.0, 0) - with(-1.0, 0)).norm().max((with(1.0, 0) - with(1.0, 1)).norm());
            assert!(moved > 0.0 && moved <= profile.sensitivity(&shape), "{ridge}");
            example::plan(METHOD, &given, &shape, &public).unwrap().releases
        });
        assert!(planned.iter().all(|releases| *releases == planned[0]));
    }

    #[test]
    fn with_two_classes_a_softmax_moves_as_the_logistic_method_does() {
        let (shape, public, private) = example::two_classes(3, 30, 25, 5);
        let profile = |loss| profile(&shape, loss, settings());
        let softmax = RecordLoss::Softmax { classes: 2 };
        let records = |data: &Dataset, loss: RecordLoss| {
            LabelledRecords::of(loss, Arc::new(data.clone())).unwrap()
        };
        let w = Vector::from_vec(vec![0.3, -0.8, 0.5]);
        let both =
            Vector::from_iterator(6, (0..6).map(|k| if k < 3 { -0.5 } else { 0.5 } * w[k % 3]));
        for data in [&public, &private] {
            let one = profile(TWO).public(&records(data, TWO)).pass(&w);
            let other = profile(softmax).public(&records(data, softmax)).pass(&both);
            assert!((one.value - other.value).abs() < 1e-12);
            assert!((one.weight - other.weight).abs() < 1e-12);
            assert!((one.effective_sample - other.effective_sample).abs() < 1e-9);
            assert!((&one.gradient - other.gradient.rows(3, 3)).norm() < 1e-12);
            assert!((&one.gradient + other.gradient.rows(0, 3)).norm() < 1e-12);
        }
    }

    #[test]
    fn a_single_class_and_too_many_features_for_the_classes_are_refused() {
        let (shape, mut public, _) = example::three_classes(4, 60, 60, 3);
        let plan = |public: &Dataset| example::plan(METHOD, &BTreeMap::new(), &shape, public);
        assert_eq!(plan(&public).unwrap().releases[0].query.size, 12);
        public.classes.as_mut().unwrap().of.fill(1);
        assert!(plan(&public).unwrap_err().what().contains("one class"));
        let (_, wide, _) = example::three_classes(1_733, 30, 30, 3);
        let error = loss(&wide.into()).unwrap_err();
        assert!(error.what().contains("1732 at most with 3 classes"), "{error}");
    }

    proptest! {
        #[test]
        fn no_pair_of_neighbours_moves_the_gradient_by_more_than_the_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 6),
            w in proptest::collection::vec(-9.0..9.0_f64, 9),
        ) {
            for (loss, (shape, _, private), w) in [
                (TWO, example::two_classes(3, 10, 25, 5), &w[..3]),
                (THREE, example::three_classes(3, 10, 25, 5), &w),
            ] {
                let w = Vector::from_column_slice(w);
                let profile = profile(&shape, loss, settings());
                let with = |x: &[f64], class: u32| {
                    let mut data = private.clone();
                    data.features.set_column(0, &Vector::from_column_slice(x));
                    data.classes.as_mut().unwrap().of[0] = class;
                    let records = LabelledRecords::of(loss, Arc::new(data)).unwrap();
                    profile.private(&records, 25).pass(&w).gradient
                };
                let moved = (with(&x[..3], 0) - with(&x[3..], 1)).norm();
                prop_assert!(moved <= profile.sensitivity(&shape));
            }
        }
    }
}
