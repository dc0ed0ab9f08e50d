//! The candidates side by side, and the public half of every repeat.
//!
//! In a repeat all datasets get the same weights, the same labels (label i goes to record i of
//! every batch) and batches of one size: the distance is strongly biased in m, and this common bias
//! cancels in the differences between candidates.

use std::sync::{Mutex, PoisonError};

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::index;
use rand_distr::{Distribution, StandardNormal, Uniform};

use super::candidate_line::listed;
use super::records::{LOOKED_AT, Supply};
use super::settings::{RankingSettings, directions};
use super::subspace::{MOST_AT_ONCE, Subspace};
use crate::data::{Bounds, RowChoice, SecretOrder};
use crate::error::{Error, Result};
use crate::model::{Architecture, Classifier, ExampleLabels, Gradients};
use crate::numeric::tall::Many;
use crate::numeric::{Matrix, parallel};

/// An eigengap below this is worth a warning.
const SMALL_GAP: f64 = 0.05;
/// The least records of a useful batch.
const LEAST_BATCH: usize = 8;

/// One public dataset that may stand in for the private one.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub name: String,
    /// Records of the dataset, prepared like the private data, or the reason why they cannot be.
    pub data: Result<Supply>,
}

/// The datasets that a ranking compares, with all public decisions made.
#[derive(Debug)]
pub struct RankingSetup {
    pub candidates: Vec<Candidate>,
    pub architecture: Architecture,
    /// `None` for a regression.
    pub classes: Option<usize>,
    /// The width of the range that prepared labels may have, in units of the label: errors are told in
    /// these. `None` of classes, and where they stay shares of that range.
    pub label_range: Option<f64>,
    bounds: Bounds,
    /// m
    pub batch: usize,
    /// k
    pub directions: usize,
    seed: u64,
    /// Remarks on gradients.
    remarks: Vec<String>,
    /// Remarks on the data themselves, for any kind of ranking.
    pub of_data: Vec<String>,
    /// Smallest eigengap of every candidate so far.
    gaps: Vec<f64>,
    /// Fewest directions that every candidate's gradients spanned so far, up to k.
    ranks: Vec<usize>,
}

/// The parts of a repeat that the datasets share: weights and labels.
#[derive(Debug)]
pub struct Conditions {
    /// The model with the weights of this repeat. Studies give it other ones.
    pub model: Classifier,
    classes: Option<usize>,
    bounds: Bounds,
    seed: u64,
    repeat: usize,
}

/// A sequence of random labels: classes, or numbers in a regression.
pub(super) struct RandomLabels {
    generator: ChaCha20Rng,
    classes: Option<Uniform<u32>>,
}

impl RandomLabels {
    /// The next classes; `None` in a regression.
    fn classes(&mut self, count: usize) -> Option<Vec<u32>> {
        let Self { generator, classes } = self;
        classes.map(|classes| (0..count).map(|_| classes.sample(generator)).collect())
    }

    /// The next numbers.
    pub(super) fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| StandardNormal.sample(&mut self.generator)).collect()
    }
}

/// The public half of a repeat.
#[derive(Debug)]
pub struct PublicRepeat {
    pub conditions: Conditions,
    /// k
    pub directions: usize,
    /// The span of every candidate; `None` for a broken one.
    pub spans: Vec<Option<Subspace>>,
    /// The span of noise, the worst possible data.
    pub noise: Subspace,
}

/// Private records whose gradients are in memory at once.
const BLOCK: usize = 1000;

/// Independent streams of one repeat.
#[derive(Clone, Copy)]
enum Purpose {
    Weights,
    Labels,
    Noise,
    PrivateBatch,
    Batch,
}

impl RankingSetup {
    /// For private data of `private_records` records with `dimension` features.
    pub fn new(
        settings: &RankingSettings,
        mut candidates: Vec<Candidate>,
        (private_records, dimension): (usize, usize),
        classes: Option<usize>,
        bounds: Bounds,
    ) -> Result<Self> {
        settings.check()?;
        if candidates.is_empty() {
            return Err(Error::usage("there is no public dataset to rank")
                .cure("add one on the Data screen, or to the session"));
        }
        if classes.is_some_and(|classes| classes < 2) {
            return Err(Error::failed("there is only one class: random labels would show nothing")
                .cure("declare the `classes`, or make the task a regression"));
        }
        for candidate in &mut candidates {
            if let Err(error) = check(candidate, dimension) {
                candidate.data = Err(error);
            }
        }
        let architecture = settings.architecture(dimension, classes.unwrap_or(1))?;
        let mut remarks = Vec::new();
        let batch = equal_batch(settings.batch, &candidates, private_records, &mut remarks)?;
        let most = (batch / 2).min(architecture.parameters() / 2);
        let (directions, why) = directions(settings.directions, classes, most);
        remarks.extend(why);
        remarks.push(format!("model: {}", architecture.words()));
        let looked_at = LOOKED_AT;
        let mut supplies = candidates.iter().filter_map(|candidate| candidate.data.as_ref().ok());
        let mut of_data = Vec::new();
        if supplies.any(|supply| supply.is_more_than(looked_at)) {
            of_data.push(format!(
                "a candidate with more than {looked_at} records is judged by {looked_at} of them, \
                 drawn with the seed: its discrepancies, and the score of its own model"
            ));
        }
        let gaps = vec![1.0; candidates.len()];
        let ranks = vec![directions; candidates.len()];
        Ok(Self {
            label_range: None,
            candidates,
            architecture,
            classes,
            bounds,
            batch,
            directions,
            seed: settings.seed,
            remarks,
            of_data,
            gaps,
            ranks,
        })
    }

    /// With a given k, even if it cuts an eigenspace; for studies.
    pub fn with_directions(self, directions: usize) -> Self {
        let ranks = vec![directions; self.candidates.len()];
        Self { directions, ranks, ..self }
    }

    /// Remarks on decisions that differ from what the user wanted, and warnings so far.
    pub fn remarks(&self) -> Vec<String> {
        let named = |is: &dyn Fn(usize) -> bool| -> Vec<&str> {
            let all = self.candidates.iter().enumerate();
            let these = all.filter(|(index, candidate)| candidate.data.is_ok() && is(*index));
            these.map(|(_, candidate)| candidate.name.as_str()).collect()
        };
        let close = named(&|index| self.gaps[index] < SMALL_GAP);
        let warning = (!close.is_empty()).then(|| {
            format!(
                "the directions next to number k = {} are about as strong ({}), so the order by GSD may be chance there; energy does not depend on it",
                self.directions,
                listed(&close)
            )
        });
        let narrow = named(&|index| self.ranks[index] < self.directions);
        let narrow = (!narrow.is_empty()).then(|| {
            let all = listed(&narrow);
            let span = if narrow.len() == 1 { "spans" } else { "span" };
            format!(
                "{all} {span} fewer than k = {} directions: look for records or features that are all the same",
                self.directions
            )
        });
        self.remarks.iter().chain(&self.of_data).cloned().chain(warning).chain(narrow).collect()
    }

    /// The public half of repeat number `repeat`. A candidate that fails is left out from here on;
    /// the others continue.
    pub fn round(&mut self, repeat: usize) -> Result<PublicRepeat> {
        let conditions = self.conditions(repeat)?;
        let rooms = Mutex::new(Vec::new());
        let noise = self.candidates.len();
        let threads = if self.batch > MOST_AT_ONCE { 1 } else { parallel::threads() };
        let mut found = parallel::share_out_for_results(noise + 1, threads, |index| {
            let features = match self.candidates.get(index).map(|candidate| &candidate.data) {
                None => Ok(self.noise(repeat)),
                Some(Ok(data)) => {
                    self.chosen(index, repeat).and_then(|chosen| data.features(&chosen))
                }
                Some(Err(_)) => return None,
            };
            // The gradients of one candidate take the room of another's.
            let mut room = rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let room = room.get_or_insert_default();
            let span = features.and_then(|it| conditions.span(&it, self.directions, room));
            rooms.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(room));
            Some(span)
        });
        let noise = found.pop().flatten().ok_or_else(|| Error::failed("noise has no span"))??;
        let mut spans = Vec::new();
        for (index, span) in found.into_iter().enumerate() {
            let span = match span {
                Some(Ok(span)) => {
                    self.gaps[index] = self.gaps[index].min(span.eigengap());
                    self.ranks[index] = self.ranks[index].min(span.rank());
                    Some(span)
                }
                Some(Err(error)) => {
                    let Candidate { name, data } = &mut self.candidates[index];
                    *data = Err(error.within(name));
                    None
                }
                None => None,
            };
            spans.push(span);
        }
        if spans.iter().all(Option::is_none) {
            return Err(Error::failed("no public dataset can be ranked")
                .cure("the table says for each of them why"));
        }
        Ok(PublicRepeat { conditions, directions: self.directions, spans, noise })
    }

    /// The records of a candidate that a repeat uses.
    pub fn chosen(&self, candidate: usize, repeat: usize) -> Result<Vec<usize>> {
        let Candidate { name, data } = &self.candidates[candidate];
        let records = data.as_ref().map_err(Clone::clone)?.len();
        Ok(chosen(self.seed, repeat, name, records, self.batch))
    }

    fn conditions(&self, repeat: usize) -> Result<Conditions> {
        let mut weights = stream(self.seed, repeat, Purpose::Weights, "");
        let parameters = self.architecture.initial(&mut weights);
        let model = Classifier::new(self.architecture.clone(), parameters)?;
        let (classes, bounds, seed) = (self.classes, self.bounds, self.seed);
        Ok(Conditions { model, classes, bounds, seed, repeat })
    }

    /// A batch of noise with the longest allowed records.
    fn noise(&self, repeat: usize) -> Matrix {
        let mut generator = stream(self.seed, repeat, Purpose::Noise, "");
        let dimension = self.architecture.inputs();
        let size = self.bounds.feature_norm / (dimension as f64).sqrt();
        Matrix::from_fn(dimension, self.batch, |_, _| {
            let normal: f64 = StandardNormal.sample(&mut generator);
            size * normal
        })
    }
}

impl Conditions {
    /// The gradients of records, one per column. Features are scaled from the ball of the declared
    /// bound to entries of about 1, for which the first weights are made; the factor is a declared
    /// constant.
    pub fn gradients(&self, features: &Matrix) -> Result<Gradients> {
        self.gradients_in(features)
    }

    /// The gradients of records in doubles or in single precision.
    pub fn gradients_in<T: Many>(&self, features: &Matrix) -> Result<Gradients<T>> {
        self.gradients_with(features, &mut self.labels()?, &mut Vec::new())
    }

    /// The gradients of records to which the next labels of a sequence go, in the room of an
    /// earlier batch.
    fn gradients_with<T: Many>(
        &self,
        features: &Matrix,
        labels: &mut RandomLabels,
        room: &mut Vec<Vec<T>>,
    ) -> Result<Gradients<T>> {
        let (dimension, count) = features.shape();
        let features = (dimension as f64).sqrt() / self.bounds.feature_norm * features;
        if let Some(classes) = labels.classes(count) {
            return self.model.gradients_with(features, ExampleLabels::Classes(&classes), room);
        }
        let numbers = labels.numbers(count);
        self.model.gradients_with(features, ExampleLabels::Numbers(&numbers), room)
    }

    /// The random labels of public records, from that of the first record on.
    pub(super) fn labels(&self) -> Result<RandomLabels> {
        self.labels_by(stream(self.seed, self.repeat, Purpose::Labels, ""))
    }

    /// The random labels of the records of a private dataset. They are secret, because a record
    /// that stands elsewhere in the file would otherwise move the labels of all between.
    pub(super) fn secret_labels(&self, order: &SecretOrder) -> Result<RandomLabels> {
        let seed = self.seed.wrapping_add((self.repeat as u64) << 32);
        self.labels_by(order.generator(RowChoice::Labels, seed))
    }

    fn labels_by(&self, generator: ChaCha20Rng) -> Result<RandomLabels> {
        let among = |classes: usize| {
            Uniform::new(0, classes as u32).map_err(|error| {
                Error::failed(format!("labels of {classes} classes cannot be drawn: {error}"))
            })
        };
        Ok(RandomLabels { generator, classes: self.classes.map(among).transpose()? })
    }

    /// The span of these records' gradients, in single precision where that is enough; the gradients
    /// take the room of earlier ones.
    fn span(
        &self,
        features: &Matrix,
        directions: usize,
        room: &mut Vec<Vec<f32>>,
    ) -> Result<Subspace> {
        let gradients = self.gradients_with(features, &mut self.labels()?, room)?;
        let span = Subspace::of(&gradients, directions)?;
        *room = gradients.room();
        if span.is_sharp() {
            return Ok(span);
        }
        Subspace::of(&self.gradients(features)?, directions)
    }

    /// The random labels of the first `count` records of a batch; `None` for a regression.
    pub fn classes_of(&self, count: usize) -> Result<Option<Vec<u32>>> {
        Ok(self.labels()?.classes(count))
    }

    /// Gives the gradients of all of these records to `work`, some thousand at a time. Each gets the
    /// next of the labels.
    pub(super) fn in_blocks(
        &self,
        records: &Supply,
        mut labels: RandomLabels,
        mut work: impl FnMut(&Gradients),
    ) -> Result<()> {
        let mut room = Vec::new();
        (0..records.len()).step_by(BLOCK).try_for_each(|first| {
            let block: Vec<usize> = (first..records.len().min(first + BLOCK)).collect();
            let features = records.features(&block)?;
            let gradients = self.gradients_with(&features, &mut labels, &mut room)?;
            work(&gradients);
            room = gradients.room();
            Ok(())
        })
    }

    /// `count` of this many private records, in random order. The choice depends on their number
    /// and the seed alone.
    pub fn private_batch(&self, records: usize, count: usize) -> Vec<usize> {
        let mut generator = stream(self.seed, self.repeat, Purpose::PrivateBatch, "");
        index::sample(&mut generator, records, count.min(records)).into_vec()
    }
}

/// The records of a candidate that a repeat uses.
fn chosen(seed: u64, repeat: usize, name: &str, records: usize, batch: usize) -> Vec<usize> {
    let mut generator = stream(seed, repeat, Purpose::Batch, name);
    index::sample(&mut generator, records, batch).into_vec()
}

/// A generator of its own for every repeat, purpose and name (FNV-1a).
fn stream(seed: u64, repeat: usize, purpose: Purpose, name: &str) -> ChaCha20Rng {
    let purpose = purpose as u8;
    let parts = seed.to_le_bytes().into_iter().chain((repeat as u64).to_le_bytes());
    let bytes = parts.chain([purpose]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ChaCha20Rng::seed_from_u64(hash)
}

/// Refuses data that cannot be compared.
fn check(candidate: &Candidate, dimension: usize) -> Result<()> {
    let data = candidate.data.as_ref().map_err(Clone::clone)?;
    let place = format!("public dataset '{}'", candidate.name);
    if data.dimension() != dimension {
        return Err(Error::failed(format!(
            "it has {} features where the private data have {dimension}",
            data.dimension()
        ))
        .at(place)
        .cure("prepare both with the same columns; images can be resized"));
    }
    if data.len() < LEAST_BATCH {
        return Err(Error::failed(format!(
            "it has {} records; at least {LEAST_BATCH} are needed",
            data.len()
        ))
        .at(place)
        .cure("widen its row filter, or leave it out"));
    }
    if !data.is_finite() {
        return Err(Error::failed("a feature is missing or not a finite number")
            .at(place)
            .cure("drop or fill missing values"));
    }
    Ok(())
}

/// m: the requested size, or the largest that the smallest candidate and half of the private data
/// allow.
fn equal_batch(
    wanted: usize,
    candidates: &[Candidate],
    private_records: usize,
    remarks: &mut Vec<String>,
) -> Result<usize> {
    let sizes = candidates
        .iter()
        .filter_map(|candidate| Some((candidate.data.as_ref().ok()?.len(), candidate)));
    let smallest = sizes.min_by_key(|(size, _)| *size);
    let half = private_records / 2;
    if half < LEAST_BATCH {
        return Err(Error::failed(format!(
            "the private dataset has {private_records} records; at least {} are needed",
            2 * LEAST_BATCH
        ))
        .cure("widen its row filter, or mark a larger dataset as private"));
    }
    let Some((size, candidate)) = smallest else {
        return Ok(wanted.min(half));
    };
    let batch = wanted.min(half).min(size);
    if batch < wanted {
        let reason = if size <= half {
            format!("'{}' has no more records", candidate.name)
        } else {
            "two batches of private records are compared with each other".to_owned()
        };
        remarks.push(format!("m is {batch} for all datasets instead of {wanted}: {reason}"));
    }
    Ok(batch)
}
