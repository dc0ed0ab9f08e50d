//! The errors of all candidates' own models on the private records, in one release.
//!
//! Record i has a vector of losses ℓ ∈ [0, 1]ᵏ, one for each model. Models err on the same records,
//! so most of ℓ is common to all of them and says nothing about which is best. So the vector is
//! split into its mean over the models and the rest, each is centred at its public mean, and the
//! common part is scaled down until it is no larger than the rest. The result is clipped to a ball
//! and divided by its radius: uᵢ, ‖uᵢ‖ ≤ 1. The release is (1/n)Σ uᵢ with Gaussian noise. Errors,
//! differences, the order and each model's probability of being first follow from it.
//!
//! *Sensitivity.* Replacing one record moves (1/n)Σ uᵢ by at most 2/n, attained by opposite
//! vectors. Centre, scale and radius come from public records alone: half of each candidate's
//! records are scored by models that were trained on the other halves.
//!
//! *Persons.* Where records belong to persons, n counts persons, and uᵢ is the mean over a person's
//! records. It is also no longer than 1, so the bound holds. One person's vectors, however many, do
//! not affect another's.
//!
//! *Several sites.* With the same models, centre, scale and radius everywhere, the mean of the sites'
//! releases, weighted by n, is (1/n)Σ uᵢ over all records, with the noise that an
//! [exchange](halflight_privacy_inside::exchange) states.
//!
//! *Rounding.* A sum of n vectors of length 1 has an error of at most γ·n, which is counted for
//! both neighbours. Lengths that rounding leaves above 1 are counted, too.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::candidate_line::Mean;
use super::candidates::{Candidate, RankingSetup};
use super::public_models::PublicModel;
use super::ranking::RankStep;
use super::records::{LOOKED_AT, Supply};
use super::released::{Disclosed, PrivateRanking, ReleasedError, alone};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::numeric::projection::shrink_factor;
use crate::numeric::rounding::summation_error;
use crate::privacy::openings::{OpenPrivate, OpenReleased};
use crate::privacy::{Gaussian, PlannedRelease, Private, Reach, Release, Spender};

const ERRORS: &str = "errors";
/// The share of public records whose vectors are not clipped.
const UNCLIPPED: f64 = 0.95;
/// The most public records of each candidate that determine the radius.
const MOST_SCORED: usize = 2000;
/// Private records, or persons, that are added up in one step.
const PART: usize = 1 << 18;
/// The number of draws of noise that estimate how likely each candidate is to be first.
const COPIES: usize = 4000;
/// The public facts about the vectors, for candidates with a model.
#[derive(Debug, Clone)]
struct PublicMeasure {
    /// The public mean of every model's loss.
    centre: Vec<f64>,
    /// The factor of the common part.
    common: f64,
    radius: f64,
}

/// The computation of errors: first models, then one pass over the private records.
pub struct PrivateErrors {
    setup: RankingSetup,
    seed: u64,
    /// Two models of each candidate so far: one of all its records, one of half of them.
    models: Vec<Option<(PublicModel, PublicModel)>>,
    measure: Option<PublicMeasure>,
    elsewhere: Vec<Option<f64>>,
    held: Private<ErrorSum>,
    done: usize,
    n: usize,
    /// The most records of a person.
    most_records: usize,
}

impl PrivateErrors {
    /// Refuses private data without labels.
    pub fn new(
        setup: RankingSetup,
        seed: u64,
        private: &Private<Supply>,
        (n, most_records): (usize, usize),
    ) -> Result<Self> {
        // Whether there is a label column is public, as all column names are.
        let held = private.try_map(|data| {
            if data.is_labelled()? {
                let sum = vec![0.0; setup.candidates.len() + 1];
                return Ok(ErrorSum { records: data.clone(), shares: None, sum });
            }
            Err(Error::usage("the private dataset has no label, so there are no errors to compare")
                .cure(OTHERWISE))
        })?;
        let (models, elsewhere) = (Vec::new(), Vec::new());
        let (measure, done) = (None, 0);
        Ok(Self { setup, seed, models, measure, elsewhere, held, done, n, most_records })
    }

    fn release(&self) -> Release<Gaussian> {
        let numbers = self.setup.candidates.len() + 1;
        let longest = 1.0 + summation_error(numbers + 16);
        let rounding = summation_error(self.n * self.most_records + 16);
        let sensitivity = 2.0 * longest * (1.0 / self.n as f64 + rounding);
        Release::new(ERRORS, Gaussian { sensitivity, numbers })
    }

    /// The number of parts in which the private records are taken. The number of persons' records is
    /// not public, so it is not used.
    fn parts(&self) -> usize {
        self.n.div_ceil(PART).max(1)
    }

    /// The models of all candidates with one.
    fn whole(&self) -> Vec<&PublicModel> {
        self.models.iter().flatten().map(|(whole, _)| whole).collect()
    }

    /// The centre, the scale and the radius, and the errors elsewhere.
    fn measure(&mut self) -> Result<()> {
        let halves: Vec<&PublicModel> =
            self.models.iter().flatten().map(|(_, half)| half).collect();
        if halves.len() < 2 {
            return Err(Error::usage("fewer than two datasets have labels that can be learned")
                .cure(OTHERWISE));
        }
        let mut vectors: Vec<Vec<f64>> = Vec::new();
        let mut elsewhere = vec![Vec::new(); halves.len()];
        let candidates = self.setup.candidates.iter().zip(&self.models);
        let known = candidates.filter(|(_, models)| models.is_some());
        for (own, (candidate, _)) in known.enumerate() {
            let (_, unseen) = halves_of(candidate, self.seed)?;
            let losses: Option<Vec<Vec<f64>>> =
                halves.iter().map(|model| model.losses(&unseen)).collect();
            let losses = losses.ok_or_else(|| Error::failed("a public dataset lost its labels"))?;
            for (model, losses) in losses.iter().enumerate().filter(|(model, _)| *model != own) {
                elsewhere[model].extend_from_slice(losses);
            }
            vectors.extend((0..unseen.len()).map(|at| losses.iter().map(|it| it[at]).collect()));
        }
        let mut means = elsewhere.iter().map(|losses| Mean::of(losses).mean);
        self.elsewhere =
            self.models.iter().map(|models| models.as_ref().and_then(|_| means.next())).collect();
        self.measure = Some(PublicMeasure::of(&vectors));
        Ok(())
    }

    fn lines(&self, released: &[f64], sigma: f64) -> Vec<ReleasedError> {
        let Some(measure) = &self.measure else { return Vec::new() };
        let range = self.setup.label_range.unwrap_or(1.0);
        let told =
            |mean: f64, deviation: f64| Mean { mean: range * mean, deviation: range * deviation };
        let errors = measure.errors(released);
        let deviation = measure.deviation(sigma);
        let mut generator = ChaCha20Rng::seed_from_u64(self.seed);
        let mut first = vec![0_usize; errors.len()];
        for _ in 0..COPIES {
            let noisy = errors.iter().map(|error| {
                let normal: f64 = StandardNormal.sample(&mut generator);
                // The common part does not decide who is first.
                error + measure.radius * sigma * normal
            });
            let least = noisy.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            first[least.map_or(0, |(at, _)| at)] += 1;
        }
        let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let apart = std::f64::consts::SQRT_2 * measure.radius * sigma;
        let mut known = errors.iter().zip(&first);
        let mut line = |(index, candidate): (usize, &Candidate)| {
            let found = self.models[index].as_ref().and_then(|_| known.next());
            ReleasedError {
                name: candidate.name.clone(),
                error: found.map(|(error, _)| told(*error, deviation)),
                behind: found
                    .filter(|(error, _)| **error > best)
                    .map(|(error, _)| told(error - best, apart)),
                first: found.map(|(_, times)| *times as f64 / COPIES as f64),
                elsewhere: self.elsewhere[index].map(|error| range * error),
                in_label_units: self.setup.label_range.is_some(),
            }
        };
        let mut lines: Vec<ReleasedError> =
            self.setup.candidates.iter().enumerate().map(&mut line).collect();
        let key = |line: &ReleasedError| line.error.map_or(f64::INFINITY, |error| error.mean);
        lines.sort_by(|a, b| key(a).total_cmp(&key(b)));
        lines
    }
}

const OTHERWISE: &str = "rank by gradients, which need no labels: --mechanism permute-and-flip";

/// Two halves of a candidate's records, alternating.
fn halves_of(candidate: &Candidate, seed: u64) -> Result<(Dataset, Dataset)> {
    let data = candidate.data.as_ref().map_err(Clone::clone)?.some(LOOKED_AT, seed)?;
    let half = |first: usize| data.select(&(first..data.len()).step_by(2).collect::<Vec<_>>());
    Ok((half(0), half(1).thinned(0, MOST_SCORED)))
}

impl PublicMeasure {
    fn of(vectors: &[Vec<f64>]) -> Self {
        let models = vectors.first().map_or(0, Vec::len);
        let share = 1.0 / vectors.len().max(1) as f64;
        let centre: Vec<f64> =
            (0..models).map(|at| share * vectors.iter().map(|it| it[at]).sum::<f64>()).collect();
        let plain = Self { centre, common: 1.0, radius: 1.0 };
        let parts: Vec<Vec<f64>> = vectors.iter().map(|losses| plain.parts(losses)).collect();
        let square = |part: &[f64]| part.iter().map(|it| it * it).sum::<f64>();
        let (common, rest) = parts.iter().fold((0.0, 0.0), |(common, rest), part| {
            (common + square(&part[..1]), rest + square(&part[1..]))
        });
        // Models that always err alike have no rest and cannot be distinguished.
        let common = if rest > 0.0 && common > rest { (rest / common).sqrt() } else { 1.0 };
        let mut lengths: Vec<f64> = parts
            .iter()
            .map(|part| (common * common * square(&part[..1]) + square(&part[1..])).sqrt())
            .collect();
        lengths.sort_by(f64::total_cmp);
        let place = (UNCLIPPED * lengths.len() as f64) as usize;
        let radius = lengths.get(place.min(lengths.len().saturating_sub(1))).copied();
        Self { common, radius: radius.unwrap_or(1.0).max(1e-6), ..plain }
    }

    /// The common part times √k, and the rest, of losses minus their centre.
    fn parts(&self, losses: &[f64]) -> Vec<f64> {
        let count = losses.len() as f64;
        let own: Vec<f64> = losses.iter().zip(&self.centre).map(|(a, b)| a - b).collect();
        let mean = own.iter().sum::<f64>() / count;
        let common = self.common * count.sqrt() * mean;
        std::iter::once(common).chain(own.iter().map(|it| it - mean)).collect()
    }

    /// Adds `share` times the u of these losses, ‖u‖ ≤ 1.
    fn add(&self, losses: &[f64], share: f64, to: &mut [f64]) {
        let parts = self.parts(losses);
        let length = parts.iter().map(|it| it * it).sum::<f64>().sqrt() / self.radius;
        let factor = share * shrink_factor(length, 1.0) / self.radius;
        for (sum, part) in to.iter_mut().zip(&parts) {
            *sum += factor * part;
        }
    }

    /// Errors from the mean of u, with or without noise.
    fn errors(&self, mean: &[f64]) -> Vec<f64> {
        let count = self.centre.len();
        let rest = &mean[1..=count];
        // Noise has a part that the losses cannot have.
        let common = mean[0] / (self.common * (count as f64).sqrt())
            - rest.iter().sum::<f64>() / count as f64;
        let all = self.centre.iter().zip(rest);
        all.map(|(centre, rest)| centre + self.radius * (common + rest)).collect()
    }

    /// The standard deviation of an error under noise of scale σ, from the common part and the
    /// rest.
    fn deviation(&self, sigma: f64) -> f64 {
        let count = self.centre.len() as f64;
        self.radius * sigma * (1.0 / (self.common * self.common * count) + 1.0 - 1.0 / count).sqrt()
    }
}

impl PrivateRanking for PrivateErrors {
    fn method(&self) -> &'static str {
        "private_errors"
    }

    fn setup(&self) -> &RankingSetup {
        &self.setup
    }

    /// Digits that do not depend on the processor: models must be the same, and the last bits need not.
    fn public_facts(&self) -> Vec<(String, String)> {
        let digits = |number: f64| format!("{number:.6e}");
        let known = self.setup.candidates.iter().zip(&self.elsewhere);
        let errors = known.map(|(candidate, error)| {
            let error = error.map_or_else(|| "none".to_owned(), digits);
            (format!("error of the model of '{}' on the other public data", candidate.name), error)
        });
        let radius = self.measure.as_ref().map_or(0.0, |measure| measure.radius);
        errors.chain([("radius of the losses".to_owned(), digits(radius))]).collect()
    }

    /// Gradients are not used here.
    fn remarks(&self) -> Vec<String> {
        self.setup.of_data.clone()
    }

    /// One step for each candidate's models, and some for the private records.
    fn repeats(&self) -> usize {
        self.setup.candidates.len() + self.parts()
    }

    fn plan(&self) -> Result<PlannedRelease> {
        let candidates = &self.setup.candidates;
        if candidates.iter().filter(|candidate| candidate.data.is_ok()).count() < 2 {
            return Err(Error::usage("fewer than two datasets can be compared").cure(
                "add another public dataset that fits; `halflight score` releases the error of \
                 one model",
            ));
        }
        Ok(alone(
            &self.release(),
            "the errors of each public dataset's own model on the private records",
        ))
    }

    fn step(&mut self) -> Result<RankStep> {
        let total = self.repeats();
        let index = self.done + 1;
        let words = if let Some(candidate) = self.setup.candidates.get(self.done) {
            let (classes, seed) = (self.setup.classes, self.seed);
            let taught = candidate.data.as_ref().ok().and_then(|supply| {
                let all = supply.some(LOOKED_AT, seed).ok()?;
                let (half, _) = halves_of(candidate, seed).ok()?;
                let of = |data: &Dataset| PublicModel::of(data, classes, seed).ok();
                of(&all).zip(of(&half))
            });
            self.models.push(taught);
            format!("learning from {}", candidate.name)
        } else {
            let part = self.done - self.setup.candidates.len();
            if part == 0 {
                self.measure()?;
            }
            let (whole, parts) = (self.whole(), self.parts());
            let Some(measure) = &self.measure else {
                return Err(Error::failed(
                    "the errors of the public datasets' models are not known",
                ));
            };
            self.held = self.held.try_map(|sum| sum.with(part, parts, &whole, measure))?;
            "adding up errors".to_owned()
        };
        self.done = index;
        Ok(RankStep { index, total, words, done: index == total })
    }

    fn finish(self: Box<Self>, spender: &mut Spender) -> Result<Disclosed> {
        if self.done < self.repeats() {
            return Err(Error::failed("the errors are not complete"));
        }
        let reach = Reach::Ball(1.0);
        let mean =
            self.held.release_gaussian(spender, self.release(), &reach, |it| it.mean(self.n))?;
        // Where several sites release together, it is that of those that took part.
        let sigma = spender.scale(&self.release())?;
        Ok(Disclosed::Errors(mean.map(|mean| self.lines(&mean, sigma))))
    }
}

/// The sum of u so far, over records or over persons.
struct ErrorSum {
    records: Supply,
    /// The weight of each record in its person's mean, where persons are protected.
    shares: Option<Arc<[f64]>>,
    /// Candidates without a model have 0.
    sum: Vec<f64>,
}

impl ErrorSum {
    /// The sum with one of `parts` parts of the records added.
    fn with(
        &self,
        part: usize,
        parts: usize,
        models: &[&PublicModel],
        measure: &PublicMeasure,
    ) -> Result<Self> {
        let records = self.records.clone();
        let shares = match part {
            0 => records.shares()?.map(Arc::from),
            _ => self.shares.clone(),
        };
        let mut sum = self.sum.clone();
        let begin = |part: usize| records.len() * part / parts;
        records.in_blocks(begin(part)..begin(part + 1), |first, block| {
            let losses: Option<Vec<Vec<f64>>> =
                models.iter().map(|model| model.losses(block)).collect();
            let losses = losses.ok_or_else(|| {
                Error::failed("the private labels are not of the kind that the public ones are")
                    .cure("give both the same label column, task and classes")
            })?;
            for at in 0..block.len() {
                let own: Vec<f64> = losses.iter().map(|losses| losses[at]).collect();
                let share = shares.as_ref().map_or(1.0, |shares| shares[first + at]);
                measure.add(&own, share, &mut sum);
            }
            Ok(())
        })?;
        Ok(Self { records, shares, sum })
    }

    /// (1/n)Σ uᵢ
    fn mean(&self, n: usize) -> Vec<f64> {
        let share = 1.0 / n as f64;
        self.sum.iter().map(|sum| share * sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::data::{Bounds, Classes};
    use crate::numeric::Matrix;
    use crate::privacy::accountant::calibrate;
    use crate::privacy::exchange::{Site, meeting};
    use crate::privacy::openings::OpenSpender;
    use crate::privacy::{Calibrated, Target};
    use crate::rank::{ProbeModel, RankingSettings};

    const BOUNDS: Bounds = Bounds { feature_norm: 2.0, label: 1.0 };

    fn of_classes(of: Vec<u32>) -> Dataset {
        let features = Matrix::from_fn(1, of.len(), |_, at| (1 + at) as f64 / of.len() as f64);
        Dataset {
            feature_names: vec!["x".to_owned()],
            classes: Some(Classes { of, names: vec!["a".to_owned(), "b".to_owned()] }),
            ..Dataset::unlabelled("d", features, BOUNDS)
        }
    }

    /// Labels that follow the first of three features, with this `sign`.
    fn along(sign: f64, count: usize, seed: u64) -> Dataset {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let features = Matrix::from_fn(3, count, |_, _| generator.random_range(-1.0..1.0));
        let target = features.row(0).iter().map(|x| 0.6 * sign * x).collect();
        Dataset {
            features,
            feature_names: ["x", "y", "z"].map(str::to_owned).to_vec(),
            target: Some(target),
            classes: None,
            ..of_classes(vec![0])
        }
    }

    fn setup(candidates: &[(&str, f64)]) -> RankingSetup {
        let candidates = candidates.iter().enumerate().map(|(seed, (name, sign))| Candidate {
            name: (*name).to_owned(),
            data: Ok(along(*sign, 300, 10 + seed as u64).into()),
        });
        let settings = RankingSettings {
            model: ProbeModel::Linear,
            directions: 1,
            batch: 50,
            ..RankingSettings::default()
        };
        RankingSetup::new(&settings, candidates.collect(), (500, 3), None, BOUNDS).unwrap()
    }

    /// Errors of all candidates, known except for their noise.
    fn ready(candidates: &[(&str, f64)]) -> PrivateErrors {
        let private = Private::new(Supply::from(along(1.0, 500, 1)));
        let mut work = PrivateErrors::new(setup(candidates), 3, &private, (500, 1)).unwrap();
        while !work.step().unwrap().done {}
        work
    }

    fn drawn(work: &PrivateErrors, calibrated: &Calibrated, seed: u64) -> Vec<ReleasedError> {
        let mut spender = Spender::rehearsal(calibrated, seed);
        let release = work.release();
        let sigma = spender.scale(&release).unwrap();
        let reach = Reach::Ball(1.0);
        let mean = work.held.release_gaussian(&mut spender, release, &reach, |it| it.mean(work.n));
        work.lines(mean.unwrap().get(), sigma)
    }

    /// The mean over these records, taken in three parts.
    fn mean(data: Dataset, models: &[PublicModel], measure: &PublicMeasure, n: usize) -> Vec<f64> {
        let models: Vec<_> = models.iter().collect();
        let nothing = ErrorSum { records: data.into(), shares: None, sum: vec![0.0; 3] };
        let all = (0..3).fold(nothing, |sum, part| sum.with(part, 3, &models, measure).unwrap());
        all.mean(n)
    }

    #[test]
    fn opposite_records_attain_the_sensitivity() {
        let n = 7;
        let private = Private::new(Supply::from(along(1.0, n, 1)));
        let work =
            PrivateErrors::new(setup(&[("a", 1.0), ("b", 1.0)]), 3, &private, (n, 1)).unwrap();
        let models = [PublicModel::Class(0), PublicModel::Class(1)];
        let measure = PublicMeasure { centre: vec![0.5; 2], common: 1.0, radius: 0.5 };
        let mean_of = |first: u32| {
            let data =
                of_classes((0..n as u32).map(|at| if at == 0 { first } else { at % 2 }).collect());
            mean(data, &models, &measure, n)
        };
        let apart: f64 = mean_of(0).iter().zip(mean_of(1)).map(|(a, b)| (a - b).powi(2)).sum();
        let sensitivity = work.plan().unwrap().query.sensitivity;
        assert!(apart.sqrt() >= 2.0 / n as f64 * (1.0 - 1e-14), "{}", apart.sqrt());
        assert!(apart.sqrt() <= sensitivity && sensitivity <= 2.0 / n as f64 * (1.0 + 1e-13));
    }

    /// Whole persons in place of the first: one to four records with any labels, and a person
    /// without usable records.
    #[test]
    fn opposite_persons_attain_the_sensitivity_and_none_passes_it() {
        let (n, most) = (7, 4);
        let private = Private::new(Supply::from(along(1.0, n, 1)));
        let candidates = setup(&[("a", 1.0), ("b", 1.0)]);
        let work = PrivateErrors::new(candidates, 3, &private, (n, most)).unwrap();
        let models = [PublicModel::Class(0), PublicModel::Class(1)];
        let measure = PublicMeasure { centre: vec![0.5; 2], common: 1.0, radius: 0.5 };
        let mean_of = |first: &[u32]| {
            let others = (1..n as u32).map(|at| at % 2);
            let mut data = of_classes(first.iter().copied().chain(others).collect());
            let counts = std::iter::once(first.len()).chain(std::iter::repeat_n(1, n - 1));
            data.persons = Some(Arc::new(crate::data::Persons::of_counts(counts)));
            mean(data, &models, &measure, n)
        };
        let persons: Vec<Vec<f64>> = (0..=most)
            .flat_map(|count| (0..1_u32 << count).map(move |bits| (count, bits)))
            .map(|(count, bits)| mean_of(&(0..count).map(|at| bits >> at & 1).collect::<Vec<_>>()))
            .collect();
        let apart = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let pairs = persons.iter().flat_map(|one| persons.iter().map(move |two| (one, two)));
        let farthest = pairs.map(|(one, two)| apart(one, two)).fold(0.0, f64::max);
        let sensitivity = work.plan().unwrap().query.sensitivity;
        assert!(farthest >= 2.0 / n as f64 * (1.0 - 1e-14), "{farthest}");
        assert!(farthest <= sensitivity && sensitivity <= 2.0 / n as f64 * (1.0 + 1e-12));
    }

    proptest! {
        #[test]
        fn no_two_records_are_further_apart_than_two(
            losses in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64, -1e3..1e3_f64), 2..9),
            common in 1e-3..1.0_f64,
            radius in 1e-6..2.0_f64,
        ) {
            let centre: Vec<f64> = losses.iter().map(|it| it.0).collect();
            let measure = PublicMeasure { centre, common, radius };
            let of = |pick: fn(&(f64, f64, f64)) -> f64| {
                let mut sum = vec![0.0; losses.len() + 1];
                measure.add(&losses.iter().map(pick).collect::<Vec<_>>(), 1.0, &mut sum);
                sum
            };
            let slack = 1.0 + summation_error(losses.len() + 17);
            let norm = |it: &[f64]| it.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (one, other) in [(of(|it| it.1), of(|it| it.2)), (of(|it| it.2), of(|it| -it.2))] {
                prop_assert!(norm(&one) <= slack && norm(&other) <= slack);
                let apart: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
                prop_assert!(norm(&apart) <= 2.0 * slack);
            }
        }

        #[test]
        fn without_noise_and_clipping_the_errors_come_out(
            losses in proptest::collection::vec(proptest::collection::vec(0.0..1.0_f64, 4), 1..20),
        ) {
            let measure = PublicMeasure { centre: vec![0.3, 0.5, 0.1, 0.9], common: 0.2, radius: 10.0 };
            let mut sum = vec![0.0; 5];
            for own in &losses {
                measure.add(own, 1.0, &mut sum);
            }
            let share = 1.0 / losses.len() as f64;
            let mean: Vec<f64> = sum.iter().map(|it| share * it).collect();
            for (at, error) in measure.errors(&mean).into_iter().enumerate() {
                let exact = share * losses.iter().map(|own| own[at]).sum::<f64>();
                prop_assert!((error - exact).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_candidate_whose_labels_agree_comes_first_and_noise_is_as_large_as_is_said() {
        let work = ready(&[("turned", -1.0), ("like it", 1.0), ("flat", 0.2)]);
        let plan = [work.plan().unwrap()];
        let exact = drawn(&work, &Calibrated::noiseless(&plan, 1e-6), 0);
        let names: Vec<&str> = exact.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["like it", "flat", "turned"]);
        // Labels 0.6·x and their opposite: 0.6 E|x| = 0.3 of a range of 2 where nothing is
        // clipped, and clipping only brings errors closer together.
        let error = |at: usize| exact[at].error.unwrap().mean;
        assert!(error(0) < 0.02 && error(2) > 0.15, "{exact:?}");
        assert!((exact[0].elsewhere.unwrap() - 0.2).abs() < 0.06, "{exact:?}");

        let sure = calibrate(&plan, Target { epsilon: 1.0, delta: 1e-6 }).unwrap();
        let draws: Vec<Vec<ReleasedError>> =
            (0..300).map(|seed| drawn(&work, &sure, seed)).collect();
        let of = |name: &str, number: fn(&ReleasedError) -> f64| -> Vec<f64> {
            let line = |draw: &Vec<ReleasedError>| {
                draw.iter().find(|line| line.name == name).map(number).unwrap()
            };
            draws.iter().map(line).collect()
        };
        for name in ["like it", "flat", "turned"] {
            let said = of(name, |line| line.error.unwrap().deviation)[0];
            let Mean { mean, deviation } = Mean::of(&of(name, |line| line.error.unwrap().mean));
            assert!((deviation / said - 1.0).abs() < 0.15, "{name}: {deviation} {said}");
            let place = names.iter().position(|other| *other == name).unwrap();
            assert!((mean - error(place)).abs() < 4.0 * said / (300.0_f64).sqrt());
        }
        assert!(of("like it", |line| line.first.unwrap()).iter().all(|first| *first > 0.95));
        // With a small ε it says that it does not know.
        let doubtful = calibrate(&plan, Target { epsilon: 0.002, delta: 1e-6 }).unwrap();
        let line = &drawn(&work, &doubtful, 5)[0];
        assert!((0.3..0.99).contains(&line.first.unwrap()), "{line:?}");
    }

    /// What each of several sites is told, with noise of its own, which is none without a target.
    fn together(sites: &[Dataset], target: Option<Target>) -> Vec<Vec<ReleasedError>> {
        let candidates = [("turned", -1.0), ("like it", 1.0), ("flat", 0.2)];
        let works = sites.iter().map(|data| {
            let n = data.len();
            let private = Private::new(Supply::from(data.clone()));
            let mut work = PrivateErrors::new(setup(&candidates), 3, &private, (n, 1)).unwrap();
            while !work.step().unwrap().done {}
            let plan = [work.plan().unwrap()];
            let noise = target.map_or_else(
                || Calibrated::noiseless(&plan, 1e-6),
                |target| calibrate(&plan, target).unwrap(),
            );
            (work, noise)
        });
        let works: Vec<(PrivateErrors, Calibrated)> = works.collect();
        assert!(works.iter().all(|(work, _)| work.public_facts() == works[0].0.public_facts()));
        let site = |(work, noise): &(PrivateErrors, Calibrated)| Site {
            name: format!("of {}", work.n),
            records: work.n,
            scales: [(ERRORS.to_owned(), noise.events()[0].mechanism.noise.scale)].into(),
        };
        let seats = meeting(&works.iter().map(site).collect::<Vec<_>>(), None);
        std::thread::scope(|scope| {
            let threads =
                works.into_iter().zip(seats).zip(1..).map(|(((work, noise), seat), seed)| {
                    scope.spawn(move || {
                        let mut spender = Spender::rehearsal(&noise, seed).joining(seat).unwrap();
                        let Disclosed::Errors(lines) = Box::new(work).finish(&mut spender).unwrap()
                        else {
                            panic!()
                        };
                        lines.into_inner()
                    })
                });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn several_sites_without_noise_get_the_ranking_of_all_their_records_at_one_place() {
        // One of the sites has records of the opposite kind.
        let all = along(1.0, 600, 1);
        let sites = [0..100, 100..350, 350..600].map(|rows| {
            let mut own = all.select(&rows.clone().collect::<Vec<_>>());
            let sign = if rows.start == 0 { -1.0 } else { 1.0 };
            for label in own.target.as_mut().unwrap() {
                *label *= sign;
            }
            own
        });
        let mut whole = all;
        for label in &mut whole.target.as_mut().unwrap()[..100] {
            *label = -*label;
        }
        let [expected] = together(&[whole], None).try_into().unwrap();
        for told in together(&sites, None) {
            for (line, expected) in told.iter().zip(&expected) {
                let apart = line.error.unwrap().mean - expected.error.unwrap().mean;
                assert!(line.name == expected.name && apart.abs() < 1e-12, "{line:?} {expected:?}");
            }
        }
        let alone = |site: &Dataset| together(std::slice::from_ref(site), None)[0][0].name.clone();
        assert_eq!([alone(&sites[0]), alone(&sites[1])], ["turned", "like it"]);
    }

    #[test]
    fn with_noise_all_sites_are_told_the_same_and_its_spread_is_that_of_all_noise() {
        let sites = [(1, 100), (2, 250), (3, 400)].map(|(seed, count)| along(1.0, count, seed));
        let target = Some(Target { epsilon: 1.0, delta: 1e-6 });
        let told = together(&sites, target);
        assert!(told[0] == told[1] && told[1] == told[2]);
        // √3 times the noise of one site with all records.
        let whole = along(1.0, 750, 4);
        let deviation = |lines: &[ReleasedError]| lines[0].error.unwrap().deviation;
        let times = deviation(&told[0]) / deviation(&together(&[whole], target)[0]);
        assert!((times - 3.0_f64.sqrt()).abs() < 1e-6, "{times}");
    }

    #[test]
    fn what_cannot_be_compared_is_refused_or_left_out() {
        let unlabelled = Dataset { target: None, ..along(1.0, 500, 1) };
        let private = Private::new(Supply::from(unlabelled.clone()));
        let two = [("a", 1.0), ("b", 1.0)];
        let refused = PrivateErrors::new(setup(&two), 3, &private, (500, 1)).err().unwrap();
        assert!(refused.to_string().contains("has no label"), "{refused}");
        let alone = PrivateErrors::new(
            setup(&two[..1]),
            3,
            &Private::new(Supply::from(along(1.0, 500, 1))),
            (500, 1),
        );
        assert!(alone.unwrap().plan().is_err());

        let mut candidates = setup(&two).candidates;
        candidates.push(Candidate { name: "no labels".to_owned(), data: Ok(unlabelled.into()) });
        let settings = RankingSettings {
            model: ProbeModel::Linear,
            directions: 1,
            ..RankingSettings::default()
        };
        let setup = RankingSetup::new(&settings, candidates, (500, 3), None, BOUNDS).unwrap();
        let private = Private::new(Supply::from(along(1.0, 500, 1)));
        let mut work = PrivateErrors::new(setup, 3, &private, (500, 1)).unwrap();
        while !work.step().unwrap().done {}
        let plan = [work.plan().unwrap()];
        let lines = drawn(&work, &Calibrated::noiseless(&plan, 1e-6), 0);
        assert_eq!((lines[2].name.as_str(), lines[2].error), ("no labels", None));
        assert_eq!(lines[2].words(), "left out");
    }
}
