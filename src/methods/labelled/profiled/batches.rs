//! The private records in a step's gradient: all of them, or a Poisson sample.
//!
//! A sample takes every record with probability q = batch/n. So the released part of the gradient
//! is Σ min(1, cC/‖gᵢ‖)·gᵢ over its members with c = (1−α)/batch, which is right on average.
//!
//! *Sensitivity.* Over all records, replacing one moves the sum by at most 2cC with c = (1−α)/n.
//! The accountant's subsampling needs zero-out neighbours instead: a record left blank has no
//! features, hence no gradient, so the sum over a sample with this record moves by at most cC.

use super::Profile;
use crate::classes::sampled::fields::members_on_average;
use crate::classes::sampled::rounding;
use crate::prelude::*;

pub const BATCH: Setting<Option<u64>> = automatic_whole(1e7).named("batch", "records").help(
    "Private records that a step uses on average: each is drawn with probability batch/n. Steps \
     take less time, and each has more noise. Automatic takes all in every step, which is the \
     better model where there is time for it.",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches {
    All,
    /// A Poisson sample of this many records on average.
    Poisson(usize),
}

impl Batches {
    pub fn of(shape: &ProblemShape, wanted: Option<u64>) -> Result<Self> {
        Ok(match members_on_average(shape, wanted)? {
            None => Self::All,
            Some(batch) => Self::Poisson(batch),
        })
    }

    /// The plan of one gradient in each of `steps` steps, with this share of the budget.
    pub fn plan(
        self,
        profile: &Profile,
        shape: &ProblemShape,
        steps: u64,
        share: f64,
    ) -> (Plan, Gradient) {
        let (numbers, records) = (profile.loss.parameters(shape.dimension), shape.private_records);
        let count = if planted(Fault::WrongCountOfDraws) { steps - 1 } else { steps };
        let share = Allotment::Share(share);
        let what = |over: String| {
            format!("the private part of the gradient{over}, {numbers} numbers in each step")
        };
        let (announced, gradient) = match self {
            Self::All => {
                let sensitivity = profile.sensitivity(shape);
                let release = Release::new(GRADIENT, Gaussian { sensitivity, numbers });
                let what = what(String::new());
                let announced = release.announced(what, count, share, Adjacency::ReplaceOne);
                (announced, Gradient::All(release))
            }
            Self::Poisson(batch) => {
                let summed = records * shape.most_records;
                let sensitivity = profile.influence(batch) * (1.0 + rounding(summed, numbers));
                let rate = batch as f64 / records as f64;
                let release = Release::new(GRADIENT, SampledSum { sensitivity, numbers, rate });
                let what = what(format!(" over a Poisson sample of about {batch} records"));
                let announced = release.announced(what, count, share, Adjacency::ZeroOut);
                (announced, Gradient::Sampled { release, batch })
            }
        };
        let mut plan = Plan::new(vec![announced], steps, (1.0 - profile.alpha) * profile.clip);
        plan.warnings.extend(few_records(shape, numbers, steps));
        (plan, gradient)
    }
}

/// The gradient of each step, as it is released.
#[derive(Debug, Clone, Copy)]
pub enum Gradient {
    /// All records at every step.
    All(Release<Gaussian>),
    /// From this many records on average.
    Sampled { release: Release<SampledSum>, batch: usize },
}

impl Gradient {
    pub fn scale(&self, noise: &Calibrated) -> Result<f64> {
        match self {
            Self::All(release) => noise.scale(release),
            Self::Sampled { release, .. } => noise.scale(release),
        }
    }
}

/// A warning if noise drowns the gradient at any useful ε.
fn few_records(shape: &ProblemShape, numbers: usize, steps: u64) -> Option<String> {
    // At μ = 1 (ε of about 4 at δ = 10⁻⁵) the noise of one step has length Δ√(T·d), and
    // the gradient at most nΔ/2.
    let records = shape.joint_records();
    let noise =
        2.0 * shape.noise_of_sites() * (steps as f64 * numbers as f64).sqrt() / records as f64;
    let of_model = if numbers == shape.dimension {
        format!("{numbers} features")
    } else {
        format!("a model of {numbers} numbers")
    };
    (noise > 1.0).then(|| {
        format!(
            "{records} private records are few for {of_model} and {steps} steps: up to an ε \
             of about 4 the noise is {noise:.1} times the largest possible gradient or more, and \
             the model will hardly leave the public one; take fewer steps or fewer features"
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::data::Dataset;
    use crate::labelled::records::{LabelledRecords, RecordLoss, ScoreLoss};
    use crate::numeric::Vector;
    use crate::privacy::Target;
    use crate::privacy::accountant::QueryKind;
    use crate::trial::{RehearsalNoise, Trial, Tried};
    use crate::{Value, example, method};

    const PROFILE: Profile = Profile {
        loss: RecordLoss::Score(ScoreLoss::Squared),
        alpha: 0.2,
        kappa: 0.04,
        penalty: 0.0,
        clip: 0.3,
        pooled: false,
        gain: None,
    };

    fn sensitivity(plan: &Plan) -> f64 {
        let query = plan.releases[0].query;
        assert!(matches!(query.kind, QueryKind::SampledSum { .. }), "{query:?}");
        query.sensitivity
    }

    fn rehearse(id: &str, batch: f64, data: (&Dataset, &Dataset), noise: RehearsalNoise) -> Tried {
        let steps = [("steps", 200.0), ("batch", batch)];
        let settings = steps.map(|(key, x)| (key.to_owned(), Value::Number(x)));
        let settings = BTreeMap::from(settings);
        Trial { settings, ..Trial::new(id, data.0, data.1, noise, 3) }.run().unwrap()
    }

    #[test]
    fn samples_of_a_quarter_lead_where_all_records_do_and_are_charged_as_samples() {
        let (_, public, private) = example::shifted(4, 400, 400, 1);
        for id in ["profiled_cnvx_adap", "target_only"] {
            let noise = RehearsalNoise::None(example::TARGET);
            let error = |batch: f64| {
                let done = rehearse(id, batch, (&public, &private), noise);
                let Model::Linear(model) = done.model else { panic!() };
                model.mean_squared_error(&private.features, private.target.as_ref().unwrap())
            };
            let (all, sampled) = (error(0.0), error(100.0));
            assert!(all != sampled && (sampled / all - 1.0).abs() < 0.05, "{id}: {all} {sampled}");
        }
        let (_, public, private) = example::two_classes(4, 400, 400, 1);
        for id in ["profiled_logistic", "target_only_logistic"] {
            let noise = RehearsalNoise::For(Target { epsilon: 2.0, delta: 1e-5 });
            let done = rehearse(id, 100.0, (&public, &private), noise);
            assert_eq!(done.calibrated.guarantee().adjacency, Adjacency::ZeroOut, "{id}");
            assert!(done.calibrated.guarantee().epsilon <= 2.0);
            let all = rehearse(id, 0.0, (&public, &private), noise);
            assert_eq!(all.calibrated.guarantee().adjacency, Adjacency::ReplaceOne);
        }
    }

    #[test]
    fn samples_that_are_empty_leave_the_private_part_out() {
        let (_, public, private) = example::shifted(4, 40, 100, 1);
        let noise = RehearsalNoise::None(example::TARGET);
        // Of 200 samples with one record on average, a third are empty.
        for id in ["profiled_cnvx_adap", "target_only"] {
            let done = rehearse(id, 1.0, (&public, &private), noise);
            let Model::Linear(model) = done.model else { panic!() };
            assert!(model.weights.iter().all(|w| w.is_finite()));
        }
    }

    #[test]
    fn a_batch_of_more_than_all_records_is_refused() {
        let (shape, public, _) = example::shifted(4, 40, 30, 1);
        let method = method("profiled_cnvx_adap").unwrap();
        let given = BTreeMap::from([("batch".to_owned(), Value::Number(31.0))]);
        let error = example::plan(method, &given, &shape, &public).unwrap_err();
        assert!(error.what().contains("31 records is more than the 30"), "{error}");
    }

    proptest! {
        #[test]
        fn a_blank_record_moves_a_sample_that_has_it_by_no_more_than_the_sensitivity(
            x in proptest::collection::vec(-3.0..3.0_f64, 3),
            y in -9.0..9.0_f64,
            w in proptest::collection::vec(-4.0..4.0_f64, 3),
        ) {
            let (shape, _, mut private) = example::shifted(3, 10, 20, 5);
            let (plan, _) = Batches::Poisson(5).plan(&PROFILE, &shape, 7, 1.0);
            let w = Vector::from_vec(w);
            let mut with = |x: &[f64], y: f64| {
                private.features.set_column(4, &Vector::from_column_slice(x));
                private.target.as_mut().unwrap()[4] = y;
                let records = LabelledRecords::new(Arc::new(private.clone()));
                let members = records.chosen(&[1, 4, 9]);
                PROFILE.private(&members, 5).pass(&w).gradient
            };
            let moved = (with(&x, y) - with(&[0.0; 3], 0.0)).norm();
            prop_assert!(moved <= sensitivity(&plan));
            // A record with a large residual attains it.
            let large = (with(&[1.0, 0.0, 0.0], 100.0) - with(&[0.0; 3], 0.0)).norm();
            prop_assert!(large > 0.999 * sensitivity(&plan));
        }
    }
}
