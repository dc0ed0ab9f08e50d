//! Layers with their parameters: scores, losses and per-example gradients of batches.

use nalgebra::DMatrix;

use super::Tensor;
use super::architecture::Architecture;
use super::convolution::Deltas;
use super::gradients::{Contribution, Gradients};
use super::layer::{FEW, Layer};
use super::loss::ExampleLabels;
use super::sparse_maps::winners_suit;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::parallel::{share_out, threads_for};
use crate::numeric::tall::Many;

/// The most numbers of a block: half of a usual second-level cache.
const BLOCK_NUMBERS: usize = 1 << 15;

/// A model with one score per class, or one for a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Classifier {
    architecture: Architecture,
    parameters: Vec<f64>,
}

/// The output of one block of examples: its losses and its part of every layer.
struct BlockOutput<'a, T> {
    first: usize,
    losses: &'a mut [f64],
    layers: Vec<LayerShare<'a, T>>,
}

enum LayerShare<'a, T> {
    Outer { inputs: &'a mut [f64], deltas: &'a mut [f64] },
    Formed(&'a mut [T]),
}

impl Classifier {
    pub fn new(architecture: Architecture, parameters: Vec<f64>) -> Result<Self> {
        if parameters.len() == architecture.parameters() {
            return Ok(Self { architecture, parameters });
        }
        Err(Error::failed(format!(
            "the model has {} parameters where its layers need {}",
            parameters.len(),
            architecture.parameters()
        )))
    }

    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    pub fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }

    /// One column of scores per column of `features`.
    pub fn scores(&self, features: &Matrix) -> Matrix {
        let outputs = self.architecture.outputs();
        let mut scores = Matrix::zeros(outputs, features.ncols());
        let per_block = self.block();
        let inputs = self.architecture.inputs();
        let blocks = scores
            .as_mut_slice()
            .chunks_mut(per_block * outputs)
            .zip(features.as_slice().chunks(per_block * inputs))
            .collect();
        share_out(blocks, self.threads(features.ncols()), &|(scores, features): (
            &mut [f64],
            &[f64],
        )| {
            if let Some(last) = self.forward(features).pop() {
                scores.copy_from_slice(&last);
            }
        });
        scores
    }

    /// The class with the largest score, the first of equal ones; one per column.
    pub fn classes(&self, features: &Matrix) -> Vec<u32> {
        Self::classes_of(&self.scores(features))
    }

    /// The class with the largest of the given scores, the first of equal ones; one per column.
    pub fn classes_of(scores: &Matrix) -> Vec<u32> {
        let largest = |scores: &[f64]| {
            let better =
                |best: usize, next: usize| if scores[next] > scores[best] { next } else { best };
            (0..scores.len()).fold(0, better) as u32
        };
        scores.as_slice().chunks_exact(scores.nrows()).map(largest).collect()
    }

    /// Labels with the loss that fits the meaning of its scores.
    pub fn labels<'a>(&self, classes: &'a [u32]) -> ExampleLabels<'a> {
        if self.architecture.tells_margins() {
            ExampleLabels::Hinge(classes, 1.0)
        } else {
            ExampleLabels::Classes(classes)
        }
    }

    /// The loss of every column of `features`.
    pub fn losses(&self, features: &Matrix, labels: ExampleLabels<'_>) -> Vec<f64> {
        labels.differentiate(self.scores(features).as_mut_slice())
    }

    /// The gradient of every example's loss, one example per column of `features`.
    pub fn gradients(&self, features: &Matrix, labels: ExampleLabels<'_>) -> Result<Gradients> {
        self.gradients_of(features.clone(), labels)
    }

    /// The gradients of a batch that nobody else needs: the input of a first dense layer is not
    /// copied. What is written out is kept in doubles or in single precision.
    pub fn gradients_of<T: Many>(
        &self,
        features: Matrix,
        labels: ExampleLabels<'_>,
    ) -> Result<Gradients<T>> {
        self.gradients_with(features, labels, &mut Vec::new())
    }

    /// The gradients of a batch, in the room of an earlier one if it had the same size: see
    /// [`Gradients::room`]. The system needs time to clear new memory.
    pub fn gradients_with<T: Many>(
        &self,
        features: Matrix,
        labels: ExampleLabels<'_>,
        room: &mut Vec<Vec<T>>,
    ) -> Result<Gradients<T>> {
        let count = features.ncols();
        if features.nrows() != self.architecture.inputs() || labels.len() != count {
            return Err(Error::failed(format!(
                "{count} examples of {} features with {} labels do not fit a model of {} inputs",
                features.nrows(),
                labels.len(),
                self.architecture.inputs()
            )));
        }
        let mut losses = vec![0.0; count];
        let direct = matches!(self.architecture.layers()[0], Layer::Dense(_) | Layer::Linear(_));
        let mut layers: Vec<Contribution<T>> = self
            .trained()
            .enumerate()
            .map(|(index, layer)| match layer {
                Layer::Dense(dense) | Layer::Linear(dense) => {
                    let kept = if direct && index == 0 { 0 } else { count };
                    Contribution::Outer {
                        inputs: Matrix::zeros(dense.inputs, kept),
                        deltas: Matrix::zeros(dense.outputs, count),
                        biases: layer.biases() > 0,
                    }
                }
                _ => Contribution::Formed(written_over(room, layer.parameters(), count)),
            })
            .collect();
        let blocks = split(&mut losses, &mut layers, self.block());
        share_out(blocks, self.threads(count), &|block: BlockOutput<'_, T>| {
            let (first, count) = (block.first, block.losses.len());
            let inputs = features.nrows();
            let features = &features.as_slice()[first * inputs..(first + count) * inputs];
            self.differentiate(features, labels.range(first, count), block);
        });
        if let (true, Some(Contribution::Outer { inputs, .. })) = (direct, layers.first_mut()) {
            *inputs = features;
        }
        Ok(Gradients { losses, layers })
    }

    /// `layer1.weights`, `layer1.biases` and so on, counting layers with parameters.
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        let mut rest = self.parameters.as_slice();
        for (index, layer) in self.trained().enumerate() {
            let (own, others) = rest.split_at(layer.parameters());
            rest = others;
            let shape = layer.weight_shape().unwrap_or_default();
            let (weights, biases) = own.split_at(shape.iter().product());
            let mut add = |name: &str, shape: Vec<usize>, values: &[f64]| {
                let name = format!("layer{}.{name}", index + 1);
                tensors.push(Tensor::new(name, shape, values.to_vec()));
            };
            add("weights", shape, weights);
            if !biases.is_empty() {
                add("biases", vec![biases.len()], biases);
            }
        }
        tensors
    }

    fn trained(&self) -> impl Iterator<Item = &Layer> {
        self.architecture.layers().iter().filter(|layer| layer.parameters() > 0)
    }

    /// In a batch of a multiple of so many examples, the scores and the gradient of one do not depend
    /// on the others, not even in their last bits: no product is small enough for another kernel,
    /// which would round differently.
    pub fn multiple(&self) -> usize {
        let large = |layer: &Layer| match layer {
            Layer::Dense(dense) | Layer::Linear(dense) => dense.outputs > FEW,
            _ => false,
        };
        if self.architecture.layers().iter().any(large) { 8 } else { 1 }
    }

    /// How many examples are best processed at once, if there are `numbers` for each. They stay in
    /// the cache, unless the parameters do not, which are then read for each block.
    pub fn at_once(&self, numbers: usize) -> usize {
        let (multiple, most) = (self.multiple(), BLOCK_NUMBERS.max(self.parameters.len()));
        (most / numbers.max(1)).clamp(multiple, 512) / multiple * multiple
    }

    fn block(&self) -> usize {
        let outputs = self.architecture.layers().iter().map(Layer::outputs);
        self.at_once(self.architecture.inputs() + outputs.sum::<usize>())
    }

    fn threads(&self, examples: usize) -> usize {
        threads_for(2 * examples * self.multiplications())
    }

    /// The multiplications for the scores of an example.
    pub fn multiplications(&self) -> usize {
        let work = self.architecture.layers().iter().map(|layer| match layer {
            Layer::Convolution(convolution) => {
                let output = convolution.output();
                layer.parameters() * output.height * output.width
            }
            _ => layer.parameters(),
        });
        work.sum()
    }

    /// The outputs of every layer.
    fn forward(&self, features: &[f64]) -> Vec<Vec<f64>> {
        let count = features.len() / self.architecture.inputs();
        let mut outputs: Vec<Vec<f64>> = Vec::new();
        let mut rest = self.parameters.as_slice();
        for layer in self.architecture.layers() {
            let (own, others) = rest.split_at(layer.parameters());
            rest = others;
            let mut output = vec![0.0; layer.outputs() * count];
            layer.forward(own, outputs.last().map_or(features, Vec::as_slice), &mut output);
            outputs.push(output);
        }
        outputs
    }

    fn differentiate<T: Many>(
        &self,
        features: &[f64],
        labels: ExampleLabels<'_>,
        block: BlockOutput<'_, T>,
    ) {
        let layers = self.architecture.layers();
        let mut outputs = self.forward(features);
        let Some(mut deltas) = outputs.pop() else { return };
        // Only an activation needs its own outputs, and no model ends in one that matters.
        let scores = deltas.clone();
        block.losses.copy_from_slice(&labels.differentiate(&mut deltas));
        outputs.push(scores);
        let mut shares = block.layers.into_iter().rev();
        let mut end = self.parameters.len();
        let first_trained = layers.iter().position(|layer| layer.parameters() > 0);
        let mut winners: Option<Vec<usize>> = None;
        for (index, layer) in layers.iter().enumerate().rev() {
            let inputs = if index == 0 { features } else { outputs[index - 1].as_slice() };
            let parameters = &self.parameters[end - layer.parameters()..end];
            end -= layer.parameters();
            let slopes = match &winners {
                Some(at) => Deltas::Winners(&deltas, at),
                None => Deltas::All(&deltas),
            };
            if layer.parameters() > 0 {
                match (layer, shares.next()) {
                    (Layer::Convolution(convolution), Some(LayerShare::Formed(formed))) => {
                        convolution.gradients(inputs, slopes, formed);
                    }
                    (_, Some(LayerShare::Outer { inputs: to, deltas: own })) => {
                        if !to.is_empty() {
                            to.copy_from_slice(inputs);
                        }
                        own.copy_from_slice(&deltas);
                    }
                    _ => {}
                }
            }
            if first_trained.is_some_and(|first| index > first) {
                winners = match (layer, &layers[index - 1]) {
                    (Layer::MaxPool(pool), Layer::Convolution(before))
                        if winners_suit(before, pool) =>
                    {
                        Some(pool.winner_places(inputs))
                    }
                    _ => {
                        let mut to = vec![0.0; inputs.len()];
                        layer.backward(parameters, inputs, &outputs[index], slopes, &mut to);
                        deltas = to;
                        None
                    }
                };
            }
        }
    }
}

/// A matrix with any entries, each of which is written over. If there is no room, new memory is
/// not touched before that.
fn written_over<T: Many>(room: &mut Vec<Vec<T>>, rows: usize, columns: usize) -> DMatrix<T> {
    let size = rows * columns;
    let kept = room.iter().position(|kept| kept.len() == size);
    let kept = kept.map(|at| room.swap_remove(at));
    DMatrix::from_vec(rows, columns, kept.unwrap_or_else(|| vec![T::default(); size]))
}

/// Cuts the results into blocks of `per_block` examples.
fn split<'a, T: Many>(
    losses: &'a mut [f64],
    layers: &'a mut [Contribution<T>],
    per_block: usize,
) -> Vec<BlockOutput<'a, T>> {
    let mut blocks: Vec<BlockOutput<'_, T>> = losses
        .chunks_mut(per_block)
        .enumerate()
        .map(|(block, losses)| BlockOutput { first: block * per_block, losses, layers: Vec::new() })
        .collect();
    for layer in layers {
        match layer {
            Contribution::Outer { inputs, deltas, .. } => {
                let (height, outputs) = (inputs.nrows(), deltas.nrows());
                // There are none for the first layer, whose input is the batch itself.
                let mut inputs = inputs.as_mut_slice().chunks_mut(per_block * height);
                let deltas = deltas.as_mut_slice().chunks_mut(per_block * outputs);
                for (block, deltas) in blocks.iter_mut().zip(deltas) {
                    let inputs = inputs.next().unwrap_or_default();
                    block.layers.push(LayerShare::Outer { inputs, deltas });
                }
            }
            Contribution::Formed(formed) => {
                let rows = formed.nrows();
                let parts = formed.as_mut_slice().chunks_mut(per_block * rows);
                for (block, part) in blocks.iter_mut().zip(parts) {
                    block.layers.push(LayerShare::Formed(part));
                }
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;

    use super::*;
    use crate::convolution::{Convolution, Pool, Volume};
    use crate::layer::{Activation, Dense};
    use halflight_testing::{self as golden, Golden};

    /// Every number below an entry of the golden file, in its order.
    fn flat(golden: &Golden, path: &str) -> Vec<f64> {
        fn walk(value: &serde_json::Value, numbers: &mut Vec<f64>) {
            match value {
                serde_json::Value::Array(values) => {
                    for value in values {
                        walk(value, numbers);
                    }
                }
                value => numbers.push(value.as_f64().unwrap()),
            }
        }
        let mut numbers = Vec::new();
        walk(golden.value(path), &mut numbers);
        numbers
    }

    fn classes(golden: &Golden, path: &str) -> Vec<u32> {
        flat(golden, path).into_iter().map(|class| class as u32).collect()
    }

    #[test]
    fn gradients_in_the_room_of_another_batch_are_the_same() {
        let image = Volume { channels: 1, height: 28, width: 28 };
        let architecture = Architecture::probe(image, 3).unwrap();
        let parameters = architecture.initial(&mut ChaCha20Rng::seed_from_u64(5));
        let model = Classifier::new(architecture, parameters).unwrap();
        let batch = |salt: usize| {
            Matrix::from_fn(784, 9, |i, j| ((i * 7 + i / 3 + j * 13 + salt) % 11) as f64 - 5.0)
        };
        let labels = ExampleLabels::Classes(&[0, 1, 2, 0, 1, 2, 0, 1, 2]);
        let mut room = model.gradients_of::<f32>(batch(1), labels).unwrap().room();
        assert_eq!(room.len(), 2);
        let again = model.gradients_with(batch(2), labels, &mut room).unwrap();
        assert!(room.is_empty());
        assert_eq!(again, model.gradients_of(batch(2), labels).unwrap());
    }

    /// Losses, gradients, norms and inner products against the reference.
    fn agree(golden: &Golden, case: &str, model: &Classifier, inputs: usize) {
        let entry = |name: &str| format!("{case}.{name}");
        let features = flat(golden, &entry("x"));
        let features = Matrix::from_vec(inputs, features.len() / inputs, features);
        let classes = classes(golden, &entry("y"));
        let scores = golden.records(&entry("logits"));
        golden::assert_close(&model.scores(&features), &scores, 1e-11);
        let labels = ExampleLabels::Classes(&classes);
        let found = model.gradients(&features, labels).unwrap();
        let losses = crate::numeric::Vector::from_vec(found.losses.clone());
        golden::assert_near(&losses, &golden.vector(&entry("loss_ce")), 1e-9);
        golden::assert_close(
            &found.columns().transpose(),
            &golden.rows(&entry("persample_grad_ce")),
            1e-9,
        );
        assert_eq!(model.losses(&features, labels), found.losses);
        golden::assert_close(&found.gram(), &golden.rows(&entry("gram_ce")), 1e-9);
        for (square, norm) in found.squared_norms().iter().zip(flat(golden, &entry("norms_ce"))) {
            assert!((square.sqrt() - norm).abs() < 1e-9);
        }
    }

    fn parameters(golden: &Golden, case: &str, names: &[&str]) -> Vec<f64> {
        names.iter().flat_map(|name| flat(golden, &format!("{case}.{name}"))).collect()
    }

    #[test]
    fn softmax_regression_agrees_with_the_reference() {
        let golden = golden::gsd();
        let parameters = parameters(&golden, "softmax_4_3", &["W", "b"]);
        let model = Classifier::new(Architecture::linear(4, 3).unwrap(), parameters).unwrap();
        agree(&golden, "softmax_4_3", &model, 4);
    }

    #[test]
    fn networks_with_one_hidden_layer_agree_with_the_reference() {
        let golden = golden::gsd();
        for (case, activation) in
            [("mlp_4_3_2_tanh", Activation::Tanh), ("mlp_4_3_2_relu", Activation::Relu)]
        {
            let parameters = parameters(&golden, case, &["W1", "b1", "W2", "b2"]);
            let architecture = Architecture::perceptron(4, 3, 2, activation).unwrap();
            agree(&golden, case, &Classifier::new(architecture, parameters).unwrap(), 4);
        }
    }

    #[test]
    fn a_convolutional_network_agrees_with_the_reference() {
        let golden = golden::gsd();
        let input = Volume { channels: 1, height: 6, width: 6 };
        let convolution = Convolution { input, filters: 2, kernel: 3, stride: 1, padding: 0 };
        let pool = Pool { input: convolution.output(), window: 2, stride: 2 };
        let architecture = Architecture::new(vec![
            Layer::Convolution(convolution),
            Layer::MaxPool(pool),
            Layer::Dense(Dense { inputs: 8, outputs: 3 }),
        ]);
        let parameters = parameters(&golden, "cnn_1x6x6", &["Wc", "bc", "Wf", "bf"]);
        agree(
            &golden,
            "cnn_1x6x6",
            &Classifier::new(architecture.unwrap(), parameters).unwrap(),
            36,
        );
    }

    /// Projected, brought to unit length, then scored.
    fn normalised() -> Result<Architecture> {
        let dense = |inputs, outputs| Dense { inputs, outputs };
        Architecture::new(vec![Layer::Dense(dense(7, 5)), Layer::Normalise(5)])?
            .then(&Architecture::unbiased(5, 3)?)
    }

    /// Small models of every family, with numbers of examples that do and do not fill blocks.
    fn models() -> Vec<Classifier> {
        let image = Volume { channels: 2, height: 9, width: 8 };
        let architectures = [
            Architecture::linear(7, 1),
            Architecture::linear(7, 4),
            Architecture::unbiased(7, 4),
            normalised(),
            Architecture::perceptron(7, 5, 3, Activation::Tanh),
            Architecture::perceptron(7, 5, 3, Activation::Relu),
            Architecture::probe(image, 3),
            Architecture::table_7a(Volume { channels: 1, height: 14, width: 12 }, 3),
        ];
        let mut generator = ChaCha20Rng::seed_from_u64(3);
        let models = architectures.into_iter().map(|architecture| {
            let architecture = architecture.unwrap();
            let parameters = architecture.initial(&mut generator);
            Classifier::new(architecture, parameters).unwrap()
        });
        models.collect()
    }

    fn features(model: &Classifier, count: usize) -> Matrix {
        let inputs = model.architecture().inputs();
        Matrix::from_fn(inputs, count, |i, j| ((i * 31 + j * 17) as f64).sin())
    }

    #[test]
    fn gradients_are_the_slopes_of_the_losses() {
        for model in models() {
            let features = features(&model, 4);
            let (numbers, classes) = ([0.3, -1.0, 0.5, 2.0], [0, 2, 1, 2]);
            let labels = if model.architecture().outputs() == 1 {
                ExampleLabels::Numbers(&numbers)
            } else {
                ExampleLabels::Classes(&classes)
            };
            let gradients = model.gradients(&features, labels).unwrap().columns();
            let tiny = 1e-6;
            let total = model.parameters().len();
            for at in (0..total).step_by((total / 60).max(1)) {
                let shifted = |by: f64| {
                    let mut shifted = model.clone();
                    shifted.parameters_mut()[at] += by;
                    shifted.losses(&features, labels)
                };
                let (up, down) = (shifted(tiny), shifted(-tiny));
                for example in 0..4 {
                    let slope = (up[example] - down[example]) / (2.0 * tiny);
                    let ours = gradients[(at, example)];
                    assert!((slope - ours).abs() < 1e-6, "{at}: {slope} {ours}");
                }
            }
        }
    }

    #[test]
    fn every_operation_says_the_same_as_the_gradients_written_out() {
        for model in models() {
            let outputs = model.architecture().outputs() as u32;
            let labels: Vec<u32> = (0..13).map(|i| i % outputs).collect();
            let batch =
                model.gradients(&features(&model, 13), ExampleLabels::Classes(&labels)).unwrap();
            let rows = batch.columns().transpose();
            let close = |ours: &Matrix, theirs: &Matrix| golden::assert_close(ours, theirs, 1e-10);
            assert_eq!(rows.ncols(), model.parameters().len());
            close(&batch.gram(), &(&rows * rows.transpose()));
            let coefficients = Matrix::from_fn(13, 3, |i, k| ((i * 5 + k) as f64).cos());
            let sums = batch.combinations(&coefficients);
            close(&sums, &(rows.transpose() * &coefficients));
            close(&batch.project(&sums), &(sums.transpose() * rows.transpose()));
            let one = batch.weighted_sum(coefficients.column(1).as_slice());
            golden::assert_near(&one, &sums.column(1).into_owned(), 1e-12);
        }
    }

    #[test]
    fn blocks_and_threads_leave_no_seam() {
        let architecture = Architecture::perceptron(40, 30, 10, Activation::Tanh).unwrap();
        let parameters = architecture.initial(&mut ChaCha20Rng::seed_from_u64(5));
        let model = Classifier::new(architecture, parameters).unwrap();
        let count = 1500;
        let features = features(&model, count);
        let labels: Vec<u32> = (0..count as u32).map(|i| i % 10).collect();
        let all = model.gradients(&features, ExampleLabels::Classes(&labels)).unwrap();
        for first in [0, 511, 512, 1499] {
            let one = features.columns(first, 1).into_owned();
            let one =
                model.gradients(&one, ExampleLabels::Classes(&labels[first..=first])).unwrap();
            assert!((one.losses[0] - all.losses[first]).abs() < 1e-14);
            let apart = one.columns().column(0) - all.columns().column(first);
            assert!(apart.amax() < 1e-12);
        }
    }

    #[test]
    fn in_a_whole_batch_a_gradient_does_not_depend_on_the_others_at_all() {
        let image = Volume { channels: 1, height: 12, width: 12 };
        for architecture in [
            Architecture::unbiased(144, 10),
            Architecture::perceptron(144, 40, 3, Activation::Relu),
            Architecture::probe(image, 10),
        ] {
            let architecture = architecture.unwrap();
            let parameters = architecture.initial(&mut ChaCha20Rng::seed_from_u64(5));
            let model = Classifier::new(architecture, parameters).unwrap();
            let count = 632;
            let features = features(&model, count);
            let labels: Vec<u32> = (0..count as u32).map(|i| i % 3).collect();
            let all = model.gradients(&features, ExampleLabels::Classes(&labels)).unwrap();
            let (norms, rows) = (
                all.squared_norms(),
                all.project(&Matrix::from_element(model.parameters().len(), 1, 1.0)),
            );
            let many = model.multiple();
            for first in [0, 3, 511, 600] {
                let some = features.columns(first, many).into_owned();
                let some = model
                    .gradients(&some, ExampleLabels::Classes(&labels[first..first + many]))
                    .unwrap();
                assert_eq!(some.losses, all.losses[first..first + many]);
                assert_eq!(some.squared_norms(), norms[first..first + many]);
                assert!(
                    (some.project(&Matrix::from_element(model.parameters().len(), 1, 1.0))
                        - rows.columns(first, many))
                    .amax()
                        < 1e-11
                );
            }
        }
    }

    #[test]
    fn biases_and_the_last_layer_are_rows_of_the_gradients() {
        for model in models() {
            let outputs = model.architecture().outputs() as u32;
            let labels: Vec<u32> = (0..9).map(|i| i % outputs).collect();
            let batch =
                model.gradients(&features(&model, 9), ExampleLabels::Classes(&labels)).unwrap();
            let (columns, fine) = (batch.columns(), batch.fine(model.architecture()).columns());
            let at = model.architecture().fine_positions();
            assert_eq!(fine.nrows(), at.len());
            for (row, at) in at.into_iter().enumerate() {
                assert_eq!(fine.row(row), columns.row(at));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let architecture = Architecture::linear(3, 2).unwrap();
        assert!(Classifier::new(architecture.clone(), vec![0.0; 7]).is_err());
        let model = Classifier::new(architecture, vec![0.0; 8]).unwrap();
        let features = Matrix::zeros(3, 2);
        assert!(model.gradients(&features, ExampleLabels::Classes(&[0])).is_err());
        assert!(model.gradients(&Matrix::zeros(2, 1), ExampleLabels::Classes(&[0])).is_err());
        let none = model.gradients(&Matrix::zeros(3, 0), ExampleLabels::Classes(&[])).unwrap();
        assert_eq!((none.examples(), none.gram().shape()), (0, (0, 0)));
        assert_eq!(model.classes(&features), [0, 0]);
    }

    proptest! {
        #[test]
        fn the_class_of_the_largest_score_is_predicted(entries in proptest::collection::vec(-3.0..3.0_f64, 8), x in -2.0..2.0_f64, y in -2.0..2.0_f64) {
            let model = Classifier::new(Architecture::linear(3, 2).unwrap(), entries).unwrap();
            let features = Matrix::from_column_slice(3, 1, &[x, y, 1.0]);
            let scores = model.scores(&features);
            let class = model.classes(&features)[0] as usize;
            prop_assert!(scores.iter().all(|score| *score <= scores[class]));
        }
    }
}
