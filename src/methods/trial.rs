//! One method on public data, with seeded noise or without noise.
//!
//! The run is the same as on private data: the same plan, calibration, steps and mechanisms. Only
//! the generator of the noise is seeded.
//!
//! ```
//! use halflight_data::synthetic::{DEFAULT_MIXTURE, SyntheticPart, dataset};
//! use halflight_methods::trial::{RehearsalNoise, Trial};
//! use halflight_privacy_inside::Target;
//!
//! # fn main() -> Result<(), halflight_base::Error> {
//! let public = dataset(SyntheticPart::Source, 400, 5, DEFAULT_MIXTURE, 1)?;
//! let private = dataset(SyntheticPart::Target, 300, 5, DEFAULT_MIXTURE, 2)?;
//! let target = Target { epsilon: 1.0, delta: 1e-6 };
//! let noise = RehearsalNoise::For(target);
//!
//! let tried = Trial::new("target_only", &public, &private, noise, 3).run()?;
//! assert!(tried.calibrated.guarantee().epsilon <= target.epsilon);
//! assert_eq!(tried.model.inputs(), 5);
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;

use crate::evaluation::{Measured, Scoring};
use crate::prelude::*;
use crate::privacy::exchange::{Exchange, OneNoise, Site, meeting};
use crate::privacy::openings::{OpenSpender, OpenWatch};
use crate::{ColumnCorrection, JointShape, MeasureStanding, Prepared, Value};

/// A method and the data on which it is tried.
#[derive(Debug, Clone)]
pub struct Trial<'a> {
    /// Id of the method, such as `moment_release`.
    pub method: &'a str,
    /// The settings that differ from its defaults.
    pub settings: BTreeMap<String, Value>,
    pub public: PublicRecords,
    /// Public data in the private role. A method that needs no private labels does not
    /// get them.
    pub private: &'a Dataset,
    pub noise: RehearsalNoise,
    /// A score that the run pays for, which leaves less to train with.
    pub paid: Option<&'a Scoring>,
    /// The seed of the noise.
    pub seed: u64,
    /// The seed of everything random that is not noise; the same in trials that share predictors
    /// trained on public records.
    pub public_seed: u64,
    /// The sites, if it is one of several that run together.
    pub joint: Option<JointShape>,
}

/// How much noise a rehearsal gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RehearsalNoise {
    /// The noise for this target; for releases with a paper's printed scale, that noise.
    For(Target),
    /// No noise, as if privacy cost nothing. The target stays, because a plan may depend on it (for
    /// example in the number of steps).
    None(Target),
}

/// The result of a trial.
#[derive(Debug, Clone)]
pub struct Tried {
    pub model: Model,
    /// The final weights of the public records, if the method weights them.
    pub weights: Option<Vec<f64>>,
    /// The correction of each column, if the method corrects a model.
    pub columns: Vec<ColumnCorrection>,
    /// The measures of every step.
    pub steps: Vec<BTreeMap<Series, f64>>,
    /// The noise scales and the guarantee that the accountant proves for them.
    pub calibrated: Calibrated,
}

impl RehearsalNoise {
    fn target(self) -> Target {
        match self {
            Self::For(target) | Self::None(target) => target,
        }
    }
}

impl<'a> Trial<'a> {
    /// A method with its default settings.
    pub fn new(
        method: &'a str,
        public: &'a Dataset,
        private: &'a Dataset,
        noise: RehearsalNoise,
        seed: u64,
    ) -> Self {
        let (settings, public) = (BTreeMap::new(), public.clone().into());
        let (paid, joint, public_seed) = (None, None, seed);
        Self { method, settings, public, private, noise, paid, seed, public_seed, joint }
    }

    /// The noise of the run and its guarantee, without the run.
    pub fn calibrate(&self) -> Result<Calibrated> {
        self.noise_of(&self.prepare()?)
    }

    fn prepare(&self) -> Result<Prepared> {
        let method = crate::method(self.method)?;
        let settings = method.spec().check(&self.settings)?;
        let (shape, public) = (self.shape(), self.public.clone());
        let problem = Problem { shape, public, seed: self.public_seed };
        method.prepare(&settings, problem, self.noise.target())
    }

    fn noise_of(&self, prepared: &Prepared) -> Result<Calibrated> {
        match self.noise {
            RehearsalNoise::For(target) => match self.paid {
                Some(scoring) => scoring.calibrate(&prepared.plan().releases, target),
                None => prepared.plan().calibrate(target),
            },
            RehearsalNoise::None(target) => {
                Ok(Calibrated::noiseless(&prepared.plan().releases, target.delta))
            }
        }
    }

    /// Runs the method to its end.
    pub fn run(&self) -> Result<Tried> {
        self.run_under(&Watch::open(), None)
    }

    /// Runs without the exact measures of every step, which can cost more than the steps.
    pub fn run_sealed(&self) -> Result<Tried> {
        self.run_under(&Watch::sealed(), None)
    }

    /// Runs one method at several sites together, each with its own data in the private role. All
    /// get the same model. With `may_collude` they have one noise.
    pub fn run_together(trials: &[Self], may_collude: Option<usize>) -> Result<Vec<Tried>> {
        let records = trials.iter().map(|trial| trial.private.protected()).sum();
        let joint = Some(JointShape { sites: trials.len(), records, may_collude });
        let trials: Vec<Self> =
            trials.iter().map(|trial| Self { joint, ..trial.clone() }).collect();
        let sites = trials.iter().map(Self::site).collect::<Result<Vec<Site>>>()?;
        let one_noise = may_collude.map(|number| OneNoise::new(&sites, number)).transpose()?;
        std::thread::scope(|scope| {
            let seats = trials.iter().zip(meeting(&sites, one_noise.as_ref()));
            let threads: Vec<_> = seats
                .map(|(trial, exchange)| {
                    scope.spawn(move || trial.run_under(&Watch::sealed(), Some(exchange)))
                })
                .collect();
            let crashed = |_| Err(Error::failed("a site crashed"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(crashed)).collect()
        })
    }

    /// The trial as the other sites know it.
    fn site(&self) -> Result<Site> {
        let prepared = self.prepare()?;
        let calibrated = self.noise_of(&prepared)?;
        let planned = &prepared.plan().releases;
        let joint = calibrated.events().iter();
        let joint = joint.filter(|event| planned.iter().any(|it| it.label == event.label));
        let scales = joint.map(|event| (event.label.clone(), event.mechanism.noise.scale));
        let (name, records) = (String::new(), self.private.protected());
        Ok(Site { name, records, scales: scales.collect() })
    }

    fn run_under(&self, watch: &Watch, exchange: Option<Box<dyn Exchange>>) -> Result<Tried> {
        let prepared = self.prepare()?;
        let calibrated = self.noise_of(&prepared)?;
        let mut private = self.private.clone();
        if !self.shape().private_labels {
            private.target = None;
            private.classes = None;
        }
        let private = Private::new(Bounded::within(private, self.public.bounds));
        let mut spender = Spender::rehearsal(&calibrated, self.seed);
        if let Some(exchange) = exchange {
            spender = spender.joining(exchange)?;
        }
        let mut run = prepared.start(private, &calibrated)?;
        let mut steps = Vec::new();
        run.drive(&mut spender, watch, |_, _, step| {
            steps.push(readings(&step, watch));
            Ok(())
        })?;
        let weights = run.weights().map(|weights| weights.get().clone());
        let columns = run.columns().map_or_else(Vec::new, |columns| columns.get().clone());
        let model = run.finish()?.into_inner();
        Ok(Tried { model, weights, columns, steps, calibrated })
    }

    fn shape(&self) -> ProblemShape {
        let needed =
            crate::method(self.method).is_ok_and(|method| method.spec().needs_private_labels);
        let shape = ProblemShape::of_data(self.private, &self.public);
        let private_labels = needed && shape.private_labels;
        ProblemShape { private_labels, joint: self.joint, ..shape }
    }
}

impl Tried {
    /// The weights, or an error for a method that has none.
    pub fn weights(&self) -> Result<&[f64]> {
        self.weights
            .as_deref()
            .ok_or_else(|| Error::failed("this method tells no weights of the public records"))
    }

    /// Scores of the model on records with classes.
    pub fn measured(&self, test: &Dataset) -> Result<Measured> {
        Measured::of_model(&self.model, test, |raw| raw)
            .filter(|measured| measured.further.balanced_accuracy.is_some())
            .ok_or_else(|| Error::failed("the model tells no classes"))
    }

    /// One series over the steps that have it, as (step, value), counting from 1.
    pub fn series(&self, series: Series) -> Vec<(f64, f64)> {
        let steps = (1..).zip(&self.steps);
        steps
            .filter_map(|(index, step): (u32, _)| Some((f64::from(index), *step.get(&series)?)))
            .collect()
    }
}

fn readings(step: &Step, watch: &Watch) -> BTreeMap<Series, f64> {
    let reading = |standing: &MeasureStanding| match standing {
        MeasureStanding::Curator(value) => value.reveal(watch).copied(),
        open => open.open(),
    };
    let measures = step.measures.iter();
    measures.filter_map(|measure| Some((measure.series, reading(&measure.value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic::{self, DEFAULT_MIXTURE, SyntheticPart};
    use crate::numeric::symmetric::{spectral_norm, weighted_outer_sum};

    const TARGET: Target = Target { epsilon: 4.0, delta: 1e-3 };

    fn data(seed: u64) -> (Dataset, Dataset) {
        let part = |part, rows| synthetic::dataset(part, rows, 4, DEFAULT_MIXTURE, seed).unwrap();
        (part(SyntheticPart::Source, 60), part(SyntheticPart::Target, 400))
    }

    fn rehearse(method: &str, noise: RehearsalNoise, seed: u64) -> Tried {
        let (public, private) = data(7);
        let settings = BTreeMap::new();
        let (public, private) = (&public, &private);
        Trial { settings, ..Trial::new(method, public, private, noise, seed) }.run().unwrap()
    }

    #[test]
    fn a_seed_fixes_everything_and_another_seed_draws_other_noise() {
        for method in ["moment_release", "profiled_cnvx_adap"] {
            let one = rehearse(method, RehearsalNoise::For(TARGET), 1);
            let again = rehearse(method, RehearsalNoise::For(TARGET), 1);
            assert_eq!((&one.model, &one.steps), (&again.model, &again.steps));
            let other = rehearse(method, RehearsalNoise::For(TARGET), 2);
            assert_ne!(one.model, other.model);
            assert!(one.calibrated.guarantee().epsilon <= TARGET.epsilon);
            assert!(one.calibrated.guarantee().epsilon > 0.999 * TARGET.epsilon);
        }
    }

    /// The data of three sites: uneven parts of one dataset.
    fn three_parts(private: &Dataset) -> Vec<Dataset> {
        let count = private.len();
        [(0, 60), (60, 160), (160, count)]
            .map(|(first, end)| private.select(&(first..end).collect::<Vec<_>>()))
            .into()
    }

    #[test]
    fn several_sites_without_noise_get_the_model_of_all_their_records_at_one_place() {
        let joining = crate::methods().iter().filter(|method| method.spec().joins);
        let mut count = 0;
        for spec in joining.map(|method| method.spec()) {
            let (_, public, private) = match spec.task {
                Task::Regression => crate::example::shifted(4, 200, 400, 3),
                Task::Classification => crate::example::two_classes(4, 200, 400, 3),
            };
            let noise = RehearsalNoise::None(Target { epsilon: 1.0, delta: 1e-6 });
            let whole = Trial::new(spec.id, &public, &private, noise, 1).run_sealed().unwrap();
            let parts = three_parts(&private);
            let trials: Vec<Trial> =
                parts.iter().map(|part| Trial::new(spec.id, &public, part, noise, 1)).collect();
            let joint = Trial::run_together(&trials, None).unwrap();
            let answers = whole.model.scores(&private.features);
            let largest = answers.amax();
            for site in &joint {
                assert_eq!(site.model, joint[0].model, "{}", spec.id);
                let apart = (site.model.scores(&private.features) - &answers).amax();
                assert!(apart < 1e-6 * largest, "{}: {apart} of {largest}", spec.id);
            }
            count += 1;
        }
        assert!(count >= 4, "{count} methods join");
    }

    #[test]
    fn with_noise_all_sites_have_one_model_and_each_site_its_own_noise_and_guarantee() {
        let (_, public, private) = crate::example::shifted(4, 200, 400, 3);
        let parts = three_parts(&private);
        let noise = RehearsalNoise::For(Target { epsilon: 1.0, delta: 1e-6 });
        let trials: Vec<Trial> = (1..)
            .zip(&parts)
            .map(|(seed, part)| Trial {
                public_seed: 1,
                ..Trial::new("target_only", &public, part, noise, seed)
            })
            .collect();
        let joint = Trial::run_together(&trials, None).unwrap();
        let scale = |tried: &Tried| tried.calibrated.events()[0].mechanism.noise.scale;
        for (site, part) in joint.iter().zip(&parts) {
            assert_eq!(site.model, joint[0].model);
            assert!(site.calibrated.guarantee().epsilon <= 1.0);
            // The fewer its records, the more noise a site adds to its own mean.
            let ratio = scale(site) * part.len() as f64 / (scale(&joint[0]) * 60.0);
            assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
        }
        // What the steps tell of the noise is the joint one: √3 of what all records would need.
        let alone = Trial::new("target_only", &public, &private, noise, 1).run_sealed().unwrap();
        let gap = |tried: &Tried| tried.series(Series::NoiseGap)[0].1;
        let ratio = gap(&joint[0]) / gap(&alone);
        assert!((ratio / 3.0_f64.sqrt() - 1.0).abs() < 1e-3, "{ratio}");
        // With one noise for all, two shares hide as much as each site's own noise did.
        let shared = Trial::run_together(&trials, Some(1)).unwrap();
        assert!(shared.iter().all(|site| site.model == shared[0].model));
        assert!(shared[0].calibrated.guarantee() == joint[0].calibrated.guarantee());
        let ratio = gap(&joint[0]) / gap(&shared[0]);
        assert!((ratio / 2.0_f64.sqrt() - 1.0).abs() < 1e-3, "{ratio}");
    }

    #[test]
    fn every_method_gives_the_same_with_public_records_on_the_disk() {
        use crate::Series::{ExactStationarityGap, ModelGap, NoiseGap, StationarityGap};
        use crate::data::{PublicData, Task};
        use crate::example;
        use crate::numeric::doubles::Doubles;
        use halflight_base::files::scratch::Scratch;

        let folder = tempfile::tempdir().unwrap();
        let space = Scratch::create_in(folder.path()).unwrap();
        // Enough records for several stretches.
        let numbers = example::shifted(6, 6000, 300, 3);
        let classes = example::two_classes(6, 6000, 300, 3);
        for method in crate::methods() {
            let spec = method.spec();
            let (_, public, private) =
                if spec.task == Task::Regression { &numbers } else { &classes };
            let mut on_disk = Doubles::with_room(6, 0, Some(&space)).unwrap();
            on_disk.append(&public.features).unwrap();
            let on_disk: PublicData = public.clone().with_features(on_disk);
            let quick = [("steps", 3.0), ("rounds", 2.0), ("iterations", 20.0), ("epochs", 1.0)];
            let known = quick.into_iter().filter(|(name, _)| spec.field(name).is_some());
            let settings = known.map(|(name, x)| (name.to_owned(), Value::Number(x))).collect();
            let noise = RehearsalNoise::For(TARGET);
            let trial = Trial { settings, ..Trial::new(spec.id, public, private, noise, 1) };
            let other = Trial { public: on_disk.into(), ..trial.clone() };
            let told = |tried: Tried| {
                let Tried { model, weights, steps, columns, calibrated } = tried;
                format!("{model:?} {weights:?} {steps:?} {columns:?} {calibrated:?}")
            };
            let tried = trial.run().unwrap();
            let known: Vec<_> = spec.gap.series.iter().map(|(series, _)| *series).collect();
            for series in [StationarityGap, ExactStationarityGap, ModelGap, NoiseGap] {
                let streamed = !tried.series(series).is_empty();
                // One of a family may have no part for the model.
                let may = series == ModelGap || streamed == known.contains(&series);
                assert!(may, "{}: {series:?} is streamed: {streamed}", spec.id);
            }
            let (one, other) = (told(tried), told(other.run().unwrap()));
            assert!(one == other, "{}: {one}\n{other}", spec.id);
        }
    }

    #[test]
    fn a_score_that_is_paid_for_leaves_less_to_train_with() {
        use crate::data::{DatasetDefinition, Role, Source};
        use crate::evaluation::{Evaluation, Pay};
        let (public, private) = data(7);
        let mut definition =
            DatasetDefinition::new("ours", Role::Private, Source::File("ours.csv".into()));
        definition.label = Some("y".into());
        let scale = |method: &str, pay: Option<Pay>| {
            let asked = |pay| Evaluation { pay, largest_error: Some(1.0), ..Evaluation::default() };
            let scoring =
                pay.map(|pay| Scoring::of(asked(pay), &definition, 100, 0, true).unwrap());
            let trial = Trial {
                paid: scoring.as_ref(),
                ..Trial::new(method, &public, &private, RehearsalNoise::For(TARGET), 1)
            };
            let calibrated = trial.calibrate().unwrap();
            assert!(calibrated.guarantee().epsilon <= TARGET.epsilon);
            calibrated.events()[0].mechanism.noise.scale
        };
        // Selections cover nothing, so the score's part is missing.
        let whole = scale("frank_wolfe", None);
        for pay in [Pay::Share(0.5), Pay::Epsilon(2.0)] {
            let rest = scale("frank_wolfe", Some(pay));
            assert!(rest > 1.1 * whole && rest < 4.0 * whole, "{pay:?}: {rest} {whole}");
        }
        // Noise on a gradient of all records covers a score with Gaussian noise.
        let covered = scale("profiled_cnvx_adap", Some(Pay::Share(0.5)));
        assert_eq!(covered, scale("profiled_cnvx_adap", None));
    }

    #[test]
    fn without_noise_the_seed_does_not_matter_and_nothing_is_guaranteed() {
        let one = rehearse("moment_release", RehearsalNoise::None(TARGET), 1);
        let other = rehearse("moment_release", RehearsalNoise::None(TARGET), 2);
        assert_eq!(one.model, other.model);
        assert_eq!(one.calibrated.guarantee().epsilon, f64::INFINITY);
    }

    #[test]
    fn the_last_step_describes_the_returned_weights() {
        let (public, private) = data(7);
        let rehearsed = rehearse("moment_release", RehearsalNoise::For(TARGET), 3);
        let weights = rehearsed.weights().unwrap();
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let private = Bounded::from(private).doubles();
        let uniform = vec![1.0 / private.len() as f64; private.len()];
        let moment = |data: &Dataset, weights: &[f64]| weighted_outer_sum(&data.features, weights);
        let norm = spectral_norm(&(moment(&private, &uniform) - moment(&public, weights)));
        let told = rehearsed.series(Series::ExactMomentDiscrepancy);
        assert!((told.last().unwrap().1 - norm).abs() < 1e-12);
        assert_eq!(told.len(), rehearsed.steps.len());
    }

    #[test]
    fn a_sealed_rehearsal_ends_at_the_same_model_without_exact_measures() {
        let (public, private) = data(7);
        let noise = RehearsalNoise::For(TARGET);
        let (public, private, settings) = (&public, &private, BTreeMap::new());
        let method = "moment_release";
        let rehearsal = Trial { settings, ..Trial::new(method, public, private, noise, 3) };
        let (open, sealed) = (rehearsal.run().unwrap(), rehearsal.run_sealed().unwrap());
        assert_eq!((&open.model, &open.weights), (&sealed.model, &sealed.weights));
        assert!(!open.series(Series::ExactMomentDiscrepancy).is_empty());
        assert!(sealed.series(Series::ExactMomentDiscrepancy).is_empty());
    }

    #[test]
    fn unknown_methods_and_settings_are_refused() {
        let (public, private) = data(7);
        let noise = RehearsalNoise::For(TARGET);
        let given = |method, key: &str| {
            let settings = BTreeMap::from([(key.to_owned(), Value::Number(1.0))]);
            let (public, private) = (&public, &private);
            Trial { settings, ..Trial::new(method, public, private, noise, 0) }.run()
        };
        assert!(given("alchemy", "lambda").unwrap_err().to_string().contains("alchemy"));
        assert!(given("moment_release", "gold").unwrap_err().to_string().contains("gold"));
        given("moment_release", "lambda").unwrap();
    }
}
