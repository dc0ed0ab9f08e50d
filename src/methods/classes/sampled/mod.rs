//! Training on Poisson samples: the parts that methods with per-example clipping share.
//!
//! Each step takes every private record into its sample with probability q, independently (q·n is
//! the expected batch), clips the gradient gᵢ of each to norm C and releases
//!
//! > Σ min(1, C/‖gᵢ‖)·gᵢ + N(0, σ²I)
//!
//! over the sample. Everything else about a step is post-processing. A record whose features are
//! all 0 is *blank*: it has no gradient, whatever its class is and whatever the network's biases
//! turn zeros into. Private records that could not be used are blank, too.
//!
//! *Sensitivity.* Neighbours are zero-out: one record is left blank, and a blank record contributes
//! nothing. So where the record is in the sample, the sum moves by at most C. It is in the sample
//! only with probability q, which the accountant's subsampling uses. The floating-point error of
//! sums under either neighbour is counted, in whatever order records are added up: each part of a
//! sample has a sum of its own. A gradient itself is computed in blocks whose kernels round it the
//! same, whatever else is in the batch. Softmax regression on private records scores them in single
//! precision, in which they are kept; its slopes, and the norms and sums of the gradients that
//! follow from them, are in doubles.
//!
//! *Persons.* Where persons are protected, a sample takes each person with probability q, with all
//! their records. A person contributes the mean of their records' gradients, clipped once. So a
//! person moves the sum by no more than a record does otherwise.
//!
//! | module | holds |
//! |---|---|
//! | this | records, clipped sums, their sensitivity |
//! | [`design`] | which network is trained, from which start, and on which part of the features |
//! | [`fields`] | settings that several methods share |
//! | [`optimiser`] | from noisy gradients to steps |
//! | [`runs`] | several trainings, and a private choice among their models |
//! | [`step_length`] | how long the steps are |
//! | [`training`] | the run |

pub mod design;
pub mod fields;
pub mod optimiser;
pub mod runs;
pub mod step_length;
pub mod training;

use std::ops::Range;
use std::sync::Arc;

use crate::data::Persons;
use crate::model::layer::Layer;
use crate::model::rows::RowLayer;
use crate::model::{Adapters, Architecture, ExampleLabels, Gradients};
use crate::numeric::parallel::{even, parts_for};
use crate::numeric::tall::squared_length;
use crate::prelude::*;
use crate::privacy::ClippedSum;

/// The most numbers of gradients in memory at once, and the most members of a sample.
const CHUNK_NUMBERS: usize = 1 << 21;
const CHUNK: usize = 1024;

/// The least members of a sample with a sum of their own.
const LEAST_PART: usize = 32;

/// The class of a blank record, which stands for none.
const BLANK: u32 = u32::MAX;

/// Examples with their classes. Prepared ones are shared, not copied: a step takes out only what it
/// needs.
#[derive(Debug, Clone)]
pub struct Examples {
    features: Features,
    /// Features are multiplied by this when they are taken out. An example that is not finite counts
    /// as zeros.
    scale: f64,
    classes: Vec<u32>,
    /// The persons of the records, where persons are protected.
    persons: Option<Arc<Persons>>,
}

/// The features of records, as they are kept.
#[derive(Debug, Clone)]
pub enum Features {
    /// Of public records.
    Public(Arc<PublicData>),
    /// Of private records.
    Private(Arc<Dataset<Singles>>),
    /// Made from others.
    Own(Doubles),
}

impl From<Arc<PublicData>> for Features {
    fn from(data: Arc<PublicData>) -> Self {
        Self::Public(data)
    }
}

impl From<Arc<Dataset<Singles>>> for Features {
    fn from(data: Arc<Dataset<Singles>>) -> Self {
        Self::Private(data)
    }
}

/// The non-blank records of a sample.
struct Sampled {
    records: Vec<usize>,
    /// 0, and after how many of the records those of each person end.
    ends: Vec<usize>,
}

impl Sampled {
    /// The number of persons.
    fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// These persons, at most `most` at a time.
    fn blocks(of: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
        let end = of.end;
        of.step_by(most).map(move |first| first..end.min(first + most))
    }

    /// The records of these persons.
    fn records(&self, of: &Range<usize>) -> &[usize] {
        &self.records[self.ends[of.start]..self.ends[of.end]]
    }

    /// How many records each of these persons has.
    fn counts(&self, of: &Range<usize>) -> Vec<usize> {
        self.ends[of.start..=of.end].windows(2).map(|ends| ends[1] - ends[0]).collect()
    }
}

impl Examples {
    /// Refuses classes beyond the `known` ones.
    pub fn new<F>(data: Arc<Dataset<F>>, known: usize) -> Result<Self>
    where
        F: ExampleColumns,
        Features: From<Arc<Dataset<F>>>,
    {
        let mut classes =
            data.classes.as_ref().map(|classes| classes.of.clone()).unwrap_or_default();
        if let Some(at) = classes.iter().position(|class| *class as usize >= known) {
            return Err(Error::failed(format!(
                "record {} is of class number {} where {known} classes are declared",
                at + 1,
                classes[at] + 1
            ))
            .at(format!("dataset '{}'", data.name))
            .cure("declare every class, or say what unknown labels count as"));
        }
        let blank =
            |example: &[f64]| !is_finite(example) || example.iter().all(|number| *number == 0.0);
        for (class, blank) in classes.iter_mut().zip(data.features.map_each(blank)) {
            if blank {
                *class = BLANK;
            }
        }
        Ok(Self { classes, ..Self::unlabelled(data) })
    }

    /// Examples whose classes, if they have any, do not count.
    pub fn unlabelled<F>(data: Arc<Dataset<F>>) -> Self
    where
        Features: From<Arc<Dataset<F>>>,
    {
        let (persons, features) = (data.persons.clone(), data.into());
        Self { features, scale: 1.0, classes: Vec::new(), persons }
    }

    /// Examples with features of their own.
    pub fn own(features: Matrix, classes: Vec<u32>) -> Self {
        Self { features: Features::Own(features.into()), scale: 1.0, classes, persons: None }
    }

    /// The records as these layers pass them on, on the disk if the records are there.
    pub fn through(self, layers: &Classifier) -> Result<Self> {
        let space = match &self.features {
            Features::Private(data) => data.features.space(),
            _ => None,
        };
        let shape = (layers.architecture().outputs(), self.len());
        let features = Doubles::made(shape, space, |range| {
            let count = range.len();
            layers.scores(&self.taken(range, count))
        })?;
        Ok(Self { features: Features::Own(features), scale: 1.0, ..self })
    }

    /// The number of protected persons, or otherwise records.
    pub fn protected(&self) -> usize {
        self.persons.as_ref().map_or(self.len(), |persons| persons.count())
    }

    /// The non-blank records of these persons; for a single record, the record itself.
    fn of(&self, members: &[usize]) -> Sampled {
        let (mut records, mut ends) = (Vec::with_capacity(members.len()), vec![0]);
        for member in members {
            let own = match &self.persons {
                Some(persons) => persons.of(*member),
                None => *member..member + 1,
            };
            let before = records.len();
            records.extend(own.filter(|at| self.classes[*at] != BLANK));
            if records.len() > before {
                ends.push(records.len());
            }
        }
        Sampled { records, ends }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        match &self.features {
            Features::Public(data) => data.len(),
            Features::Private(data) => data.len(),
            Features::Own(features) => features.count(),
        }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of features of each.
    pub fn dimension(&self) -> usize {
        match &self.features {
            Features::Public(data) => data.dimension(),
            Features::Private(data) => data.dimension(),
            Features::Own(features) => features.dimension(),
        }
    }

    /// The class of each record.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// With every feature multiplied by `factor`.
    pub fn scaled(self, factor: f64) -> Self {
        Self { scale: self.scale * factor, ..self }
    }

    /// With other classes.
    pub fn of_classes(self, classes: Vec<u32>) -> Self {
        Self { classes, ..self }
    }

    /// Up to `count` records, spread over all.
    pub fn some(&self, count: usize) -> Self {
        let stride = self.len().div_ceil(count.max(1)).max(1);
        let at: Vec<usize> = (0..self.len()).step_by(stride).collect();
        self.select(&at)
    }

    /// These records.
    pub fn select(&self, at: &[usize]) -> Self {
        let classes = at.iter().filter_map(|i| self.classes.get(*i).copied()).collect();
        Self::own(self.taken(at.iter().copied(), at.len()), classes)
    }

    /// The features of all records, example by example.
    pub fn features(&self) -> Matrix {
        self.taken(0..self.len(), self.len())
    }

    /// The features and classes of these records, filled up with blank ones to a multiple of so many.
    fn batch(&self, members: &[usize], multiple: usize) -> (Matrix, Vec<u32>) {
        let width = members.len().next_multiple_of(multiple);
        let mut classes: Vec<u32> = members.iter().map(|member| self.classes[*member]).collect();
        classes.resize(width, BLANK);
        (self.taken(members.iter().copied(), width), classes)
    }

    /// Records in single precision and the model's only layer, for gradients without taking the
    /// records out. A person's records have to be.
    fn in_place<'a>(&'a self, model: &'a Classifier) -> Option<(&'a Singles, RowLayer<'a>)> {
        match &self.features {
            Features::Private(data) if self.persons.is_none() => {
                Some((&data.features, RowLayer::new(model, self.scale)?))
            }
            _ => None,
        }
    }

    /// The features of some records, filled up with zeros to `width` examples.
    fn taken(&self, at: impl Iterator<Item = usize>, width: usize) -> Matrix {
        match &self.features {
            Features::Public(data) => taken_from(&data.features, self.scale, at, width),
            Features::Private(data) => taken_from(&data.features, self.scale, at, width),
            Features::Own(features) => taken_from(features, self.scale, at, width),
        }
    }
}

fn taken_from(
    from: &impl ExampleColumns,
    scale: f64,
    at: impl Iterator<Item = usize>,
    width: usize,
) -> Matrix {
    let dimension = from.dimension();
    let mut numbers = Vec::with_capacity(dimension * width);
    for i in at {
        let first = numbers.len();
        from.see(i..i + 1, |example| example.append_to(&mut numbers, scale));
        let example = &mut numbers[first..];
        // The square of what is finite may be too large for a number.
        if !squared_length(example).is_finite() && !is_finite(example) {
            example.fill(0.0);
        }
    }
    numbers.resize(dimension * width, 0.0);
    Matrix::from_vec(dimension, width, numbers)
}

fn is_finite(example: &[f64]) -> bool {
    example.iter().all(|number| number.is_finite())
}

/// The minimised loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampledLoss {
    /// The logarithmic loss of softmax.
    CrossEntropy,
    /// The hinge loss with this margin ζ, every class against the rest.
    Hinge(f64),
}

impl SampledLoss {
    /// The labels in the form that gradients take.
    pub fn labels(self, classes: &[u32]) -> ExampleLabels<'_> {
        match self {
            Self::CrossEntropy => ExampleLabels::Classes(classes),
            Self::Hinge(margin) => ExampleLabels::Hinge(classes, margin),
        }
    }
}

/// Which parameters of a model are trained.
#[derive(Debug, Clone, PartialEq)]
pub enum TrainedParameters {
    /// All layers.
    Everything,
    /// The biases of all layers, and all of the last.
    BiasesAndLast,
    /// This layer and as many from it on, counted from 0 among those with parameters, and the last.
    LayersAndLast(usize, usize),
    /// Low-rank additions to the weights of all layers, and all of the last.
    Adapters(Adapters),
}

impl TrainedParameters {
    /// The places of the trained parameters in the model, if they are some of its own.
    pub fn positions(&self, architecture: &Architecture) -> Option<Vec<usize>> {
        match self {
            Self::BiasesAndLast => Some(architecture.fine_positions()),
            Self::LayersAndLast(first, count) => {
                let chosen = Self::chosen(*first, *count, architecture);
                Some(architecture.positions_of(chosen))
            }
            Self::Everything | Self::Adapters(_) => None,
        }
    }

    fn chosen(
        first: usize,
        count: usize,
        architecture: &Architecture,
    ) -> impl Fn(usize) -> bool + use<> {
        let last = architecture.trained_layers() - 1;
        move |index| index == last || (first..first.saturating_add(count)).contains(&index)
    }

    /// The trained numbers of a model.
    pub fn numbers(&self, model: &Classifier) -> Vec<f64> {
        let all = model.parameters();
        match (self, self.positions(model.architecture())) {
            (Self::Adapters(adapters), _) => adapters.numbers().to_vec(),
            (_, Some(positions)) => positions.into_iter().map(|at| all[at]).collect(),
            (_, None) => all.to_vec(),
        }
    }

    /// Gives a model other trained numbers. All others stay the same to the last bit.
    pub fn place(&mut self, numbers: &[f64], model: &mut Classifier) {
        match (&mut *self, model.parameters().len()) {
            (Self::Adapters(adapters), _) => return adapters.place(numbers, model),
            (Self::Everything, _) => return model.parameters_mut().copy_from_slice(numbers),
            _ => {}
        }
        let positions = self.positions(model.architecture()).unwrap_or_default();
        let parameters = model.parameters_mut();
        positions.iter().zip(numbers).for_each(|(at, number)| parameters[*at] = *number);
    }
}

/// The per-example gradients of a loss with respect to the trained parameters.
#[derive(Debug, Clone)]
pub struct SampledObjective {
    /// The minimised loss.
    pub loss: SampledLoss,
    /// Which layers move.
    pub trained: TrainedParameters,
}

impl SampledObjective {
    /// The gradient of each record.
    pub fn gradients(&self, model: &Classifier, records: &Examples) -> Result<Gradients> {
        self.gradients_of(model, records.features(), &records.classes)
    }

    fn gradients_of(
        &self,
        model: &Classifier,
        features: Matrix,
        classes: &[u32],
    ) -> Result<Gradients> {
        let gradients = model.gradients_of(features, self.loss.labels(classes))?;
        let architecture = model.architecture();
        Ok(match &self.trained {
            TrainedParameters::Everything => gradients,
            TrainedParameters::BiasesAndLast => gradients.fine(architecture),
            TrainedParameters::LayersAndLast(first, count) => {
                gradients.of_layers(TrainedParameters::chosen(*first, *count, architecture))
            }
            TrainedParameters::Adapters(adapters) => adapters.gradients(gradients),
        })
    }

    /// The number of trained parameters.
    pub fn parameters(&self, model: &Classifier) -> usize {
        match (&self.trained, self.trained.positions(model.architecture())) {
            (TrainedParameters::Adapters(adapters), _) => adapters.numbers().len(),
            (_, Some(positions)) => positions.len(),
            (_, None) => model.parameters().len(),
        }
    }

    /// Applies `sum` to the chunks of a sample, each with its gradients, or the mean gradients of
    /// its persons. Blank records have none. Gradients of blank examples that fill up a chunk come
    /// after the first `count`.
    pub fn over_sample(
        &self,
        model: &Classifier,
        records: &Examples,
        members: &[usize],
        mut sum: impl FnMut(&Gradients, usize),
    ) -> Result<()> {
        let (sample, multiple) = (records.of(members), model.multiple());
        let chunk = CHUNK_NUMBERS / self.gradient_numbers(model, records).max(1);
        let chunk = chunk.clamp(multiple, CHUNK) / multiple * multiple;
        for block in Sampled::blocks(0..sample.count(), chunk) {
            sum(&self.gradients_in(model, records, &sample, &block)?, block.len());
        }
        Ok(())
    }

    /// The numbers of a member's gradient in memory; persons have their mean besides.
    fn gradient_numbers(&self, model: &Classifier, records: &Examples) -> usize {
        let apart = matches!(self.trained, TrainedParameters::Adapters(_));
        let formed = if records.persons.is_some() || apart { self.parameters(model) } else { 0 };
        let layers = model.architecture().layers().iter();
        formed + layers.map(Layer::gradient_numbers).sum::<usize>()
    }

    /// The gradients of some members of a sample, or the mean gradients of its persons.
    fn gradients_in(
        &self,
        model: &Classifier,
        records: &Examples,
        sample: &Sampled,
        of: &Range<usize>,
    ) -> Result<Gradients> {
        let (features, classes) = records.batch(sample.records(of), model.multiple());
        let gradients = self.gradients_of(model, features, &classes)?;
        let persons = records.persons.is_some();
        Ok(if persons { gradients.means(&sample.counts(of)) } else { gradients })
    }

    /// Adds min(1, C/‖gᵢ‖)·gᵢ of the members to the mechanism's own sum, which clips them: block by
    /// block, so that those of a block stay in the cache. The sample is divided into parts with a sum
    /// of their own, however many threads there are.
    pub fn add_clipped(
        &self,
        model: &Classifier,
        records: &Examples,
        members: &[usize],
        clip: f64,
        sum: &mut ClippedSum,
    ) -> Result<()> {
        let (sample, parameters) = (records.of(members), self.parameters(model));
        let outputs = model.architecture().layers().iter().map(Layer::outputs).sum::<usize>();
        let block = model.at_once(self.gradient_numbers(model, records) + outputs);
        let work = 2 * sample.records.len() * model.multiplications();
        let parts = parts_for(work, sample.count(), block.max(LEAST_PART));
        let parts = parts.min(even(CHUNK_NUMBERS / parameters.max(1)));
        let share = sample.count().div_ceil(parts).max(1);
        // As few blocks as there must be, of one size.
        let block = share.div_ceil(share.div_ceil(block)).next_multiple_of(model.multiple());
        let parts: Vec<_> = Sampled::blocks(0..sample.count(), share).collect();
        let in_place = records.in_place(model);
        sum.add_parts(parts.len(), |part, sum| {
            for block in Sampled::blocks(parts[part].clone(), block) {
                if let Some((features, layer)) = &in_place {
                    let members = sample.records(&block);
                    let classes: Vec<u32> = members.iter().map(|i| records.classes[*i]).collect();
                    features.rows(members, |rows| {
                        let gradients = layer.gradients(rows, self.loss.labels(&classes));
                        sum.add(&gradients, block.len(), clip);
                    });
                    continue;
                }
                let gradients = self.gradients_in(model, records, &sample, &block)?;
                sum.add(&gradients, block.len(), clip);
            }
            Ok(())
        })
    }

    /// Σ min(1, C/‖gᵢ‖)·gᵢ of members of public records.
    pub fn clipped_sum(
        &self,
        model: &Classifier,
        records: &Examples,
        members: &[usize],
        clip: f64,
    ) -> Result<Vector> {
        let mut sum = ClippedSum::new(self.parameters(model), f64::INFINITY);
        self.add_clipped(model, records, members, clip, &mut sum)?;
        Ok(Vector::from_vec(sum.finish()))
    }
}

/// The amount that rounding adds to the sensitivity of sums of up to `records` vectors of
/// `parameters` numbers, relative to the longest vector. Either neighbour's sum may have an error.
pub fn rounding(records: usize, parameters: usize) -> f64 {
    (2 * records + 1) as f64 * summation_error(records + parameters + 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Classes;
    use crate::example;
    use crate::model::Architecture;
    use crate::numeric::parallel;
    use halflight_testing as golden;

    const EVERYTHING: SampledObjective = SampledObjective {
        loss: SampledLoss::CrossEntropy,
        trained: TrainedParameters::Everything,
    };

    #[test]
    fn a_clipped_sum_and_the_step_along_it_agree_with_the_reference() {
        let golden = golden::adaptation();
        let features = golden.records("pca.unit_rows");
        let w = golden.rows("dpsgd_step.W").transpose();
        let model =
            Classifier::new(Architecture::unbiased(2, 3).unwrap(), w.as_slice().to_vec()).unwrap();
        let labels = golden.vector("dpsgd_step.labels");
        let classes: Vec<u32> = labels.iter().map(|class| *class as u32).collect();
        let records = Examples::own(features, classes);
        let clip = golden.number("dpsgd_step.clip");
        let all = [0, 1, 2, 3, 4];
        let gradients = EVERYTHING.gradients(&model, &records).unwrap();
        let norms = golden.vector("dpsgd_step.per_record_norm");
        for (square, norm) in gradients.squared_norms().iter().zip(&norms) {
            assert!((square.sqrt() - norm).abs() < 1e-12);
        }
        let loss = gradients.losses.iter().sum::<f64>() / 5.0;
        assert!((loss - golden.number("dpsgd_step.mean_loss")).abs() < 1e-12);
        let sum = EVERYTHING.clipped_sum(&model, &records, &all, clip).unwrap();
        let wanted = golden.rows("dpsgd_step.clipped_sum").transpose();
        golden::assert_near(&sum, &Vector::from_column_slice(wanted.as_slice()), 1e-12);
        let step = golden.number("dpsgd_step.lr") / golden.number("dpsgd_step.expected_batch");
        let next = Vector::from_column_slice(model.parameters()) - step * sum;
        let wanted = golden.rows("dpsgd_step.W_next").transpose();
        golden::assert_near(&next, &Vector::from_column_slice(wanted.as_slice()), 1e-12);
    }

    #[test]
    fn leaving_a_record_blank_moves_the_sum_by_no_more_than_the_sensitivity() {
        let (_, public, _) = example::two_classes(5, 1300, 40, 3);
        let records = Examples::new(Arc::new(PublicData::from(public)), 2).unwrap();
        let network = Architecture::perceptron(5, 4, 2, crate::model::Activation::Tanh).unwrap();
        let parameters = network.initial(&mut example::generator(4));
        let mut model = Classifier::new(network, parameters).unwrap();
        let mut adapters = Adapters::new(&model, 2, 1.0, &mut example::generator(5));
        let moved: Vec<f64> = adapters.numbers().iter().map(|number| number + 0.1).collect();
        adapters.place(&moved, &mut model);
        for trained in [
            TrainedParameters::Everything,
            TrainedParameters::BiasesAndLast,
            TrainedParameters::LayersAndLast(0, 1),
            TrainedParameters::Adapters(adapters),
        ] {
            let objective = SampledObjective { trained, ..EVERYTHING };
            let all: Vec<usize> = (0..1300).collect();
            let clip = 0.05;
            let sum =
                |members: &[usize]| objective.clipped_sum(&model, &records, members, clip).unwrap();
            let whole = sum(&all);
            for blank in [0, 7, 1023, 1024, 1299] {
                let others: Vec<usize> = all.iter().copied().filter(|i| *i != blank).collect();
                let moved = (&whole - sum(&others)).norm();
                let bound = clip * (1.0 + rounding(1300, whole.len()));
                assert!(moved <= bound && moved > 0.9 * clip, "{blank}: {moved}");
            }
        }
    }

    #[test]
    fn a_clipped_sum_is_the_same_on_any_number_of_threads() {
        let (_, public, _) = example::two_classes(300, 700, 40, 3);
        let records = Examples::new(Arc::new(PublicData::from(public)), 2).unwrap();
        let network = Architecture::perceptron(300, 40, 2, crate::model::Activation::Tanh).unwrap();
        let members: Vec<usize> = (0..700).filter(|i| i % 7 > 0).collect();
        for network in [Architecture::linear(300, 2).unwrap(), network] {
            let parameters = network.initial(&mut example::generator(4));
            let model = Classifier::new(network, parameters).unwrap();
            let sum = |threads| {
                parallel::with_threads(threads, || {
                    EVERYTHING.clipped_sum(&model, &records, &members, 0.05).unwrap()
                })
            };
            let one = sum(1);
            assert!(one == sum(2) && one == sum(5));
            // Example by example, and in one piece.
            let gradients = EVERYTHING.gradients(&model, &records.select(&members)).unwrap();
            let mut whole = ClippedSum::new(one.len(), f64::INFINITY);
            whole.add(&gradients, members.len(), 0.05);
            assert!((Vector::from_vec(whole.finish()) - one).norm() < 1e-12);
        }
    }

    /// Private records, and their sum in doubles, for softmax regression.
    fn in_singles() -> (Classifier, Examples, impl Fn(&[usize], f64) -> Vector) {
        let (_, public, _) = example::two_classes(300, 700, 40, 3);
        let classes = public.classes.as_ref().unwrap().of.clone();
        let data = Bounded::of(public).shared();
        let network = Architecture::linear(300, 2).unwrap();
        let parameters = network.initial(&mut example::generator(4));
        let model = Classifier::new(network, parameters).unwrap();
        let features = data.features.doubles(0..700) * 0.7;
        let records = Examples::new(data, 2).unwrap().scaled(0.7);
        let in_doubles = Examples::own(features, classes);
        let of = model.clone();
        let sum = move |members: &[usize], clip: f64| {
            EVERYTHING.clipped_sum(&of, &in_doubles, members, clip).unwrap()
        };
        (model, records, sum)
    }

    #[test]
    fn records_in_single_precision_give_nearly_the_sum_of_their_doubles() {
        let (model, records, in_doubles) = in_singles();
        assert!(records.in_place(&model).is_some());
        let members: Vec<usize> = (0..700).filter(|i| i % 7 > 0).collect();
        for clip in [0.05, 1.0, 100.0] {
            let sum = |threads| {
                parallel::with_threads(threads, || {
                    EVERYTHING.clipped_sum(&model, &records, &members, clip).unwrap()
                })
            };
            let one = sum(1);
            assert!(one == sum(2) && one == sum(5));
            let wanted = in_doubles(&members, clip);
            assert!((&one - &wanted).norm() < 1e-5 * wanted.norm(), "{clip}");
        }
    }

    #[test]
    fn a_record_in_single_precision_moves_the_sum_by_no_more_than_the_sensitivity() {
        let (model, records, _) = in_singles();
        let all: Vec<usize> = (0..700).collect();
        let clip = 0.05;
        let sum =
            |members: &[usize]| EVERYTHING.clipped_sum(&model, &records, members, clip).unwrap();
        let (whole, bound) = (sum(&all), clip * (1.0 + rounding(700, model.parameters().len())));
        for blank in [0, 7, 350, 351, 699] {
            let others: Vec<usize> = all.iter().copied().filter(|i| *i != blank).collect();
            let moved = (&whole - sum(&others)).norm();
            assert!(moved <= bound && moved > 0.9 * clip, "{blank}: {moved}");
        }
    }

    #[test]
    fn records_on_the_disk_give_the_sum_of_those_in_memory_to_the_last_bit() {
        let (model, records, _) = in_singles();
        let Features::Private(data) = &records.features else {
            unreachable!("they are in single precision")
        };
        let space =
            halflight_base::files::scratch::Scratch::create_in(&std::env::temp_dir()).unwrap();
        let mut features = Singles::with_room(300, 700, Some(&space)).unwrap();
        features.append(&data.features).unwrap();
        let on_disk = Dataset { features, ..(**data).clone() };
        let on_disk = Examples::new(Arc::new(on_disk), 2).unwrap().scaled(0.7);
        let members: Vec<usize> = (0..700).filter(|i| i % 7 > 0).collect();
        let sum = |of| EVERYTHING.clipped_sum(&model, of, &members, 0.05).unwrap();
        assert_eq!(sum(&on_disk), sum(&records));
    }

    /// The definition of zero-out neighbours: a blank record has no gradient, not even for the
    /// biases, whatever its class is.
    #[test]
    fn a_blank_record_adds_nothing_to_the_sum_of_a_network() {
        let (_, mut public, _) = example::two_classes(5, 60, 40, 3);
        let others: Vec<usize> = (0..60).filter(|at| ![3, 9].contains(at)).collect();
        let network = Architecture::perceptron(5, 4, 2, crate::model::Activation::Tanh).unwrap();
        let parameters = network.initial(&mut example::generator(4));
        let model = Classifier::new(network, parameters).unwrap();
        let sum = |data: &Dataset, members: &[usize]| {
            let records = Examples::new(Arc::new(PublicData::from(data.clone())), 2).unwrap();
            EVERYTHING.clipped_sum(&model, &records, members, 0.05).unwrap()
        };
        let without = sum(&public, &others);
        let all: Vec<usize> = (0..60).collect();
        public.features.column_mut(3).fill(0.0);
        public.features.column_mut(9).fill(0.0);
        for class in [0, 1] {
            public.classes.as_mut().unwrap().of[3] = class;
            assert!(sum(&public, &all) == without, "class {class}");
        }
        let none = Examples::new(Arc::new(PublicData::from(public)), 2).unwrap();
        assert_eq!(EVERYTHING.clipped_sum(&model, &none, &[3, 9], 0.05).unwrap().norm(), 0.0);
    }

    #[test]
    fn records_without_numbers_are_blank_and_unknown_classes_are_refused() {
        let (_, mut public, _) = example::two_classes(3, 30, 40, 3);
        public.features[(1, 4)] = f64::NAN;
        let records = Examples::new(Arc::new(PublicData::from(public.clone())), 2).unwrap();
        assert_eq!((records.features().column(4).norm(), records.classes[4]), (0.0, BLANK));
        assert_eq!((records.some(10).len(), records.some(100).len()), (10, 30));
        let names = vec!["a".to_owned(); 2];
        public.classes = Some(Classes { of: vec![7; 30], names });
        let error = Examples::new(Arc::new(PublicData::from(public)), 2).unwrap_err().to_string();
        assert!(error.contains("class number 8 where 2 classes"), "{error}");
    }
}
