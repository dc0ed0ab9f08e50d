//! Low-rank additions to the weights of a network (LoRA, Hu et al.).
//!
//! The weights W of each layer but the last become W + s·B·A, where A has r rows and B has r columns.
//! Only A, B and the whole last layer are trained. The model is always the one with these weights, so
//! nothing else needs to know of the addition, and neither does the file of the finished model.
//!
//! With the gradient G = dℓ/dW of an example, that of A is s·BᵀG and that of B is s·GAᵀ. For a dense
//! layer G is an outer product δ⊗a, and so are these: s·(Bᵀδ)⊗a and s·δ⊗(Aa).

use rand::Rng;
use rand_distr::{Distribution, StandardUniform};

use super::Gradients;
use super::architecture::Architecture;
use super::classifier::Classifier;
use super::convolution::Deltas;
use super::gradients::Contribution;
use super::layer::{Dense, Layer};
use crate::numeric::Matrix;

/// The additions of all layers, with the model before them.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapters {
    /// s
    scale: f64,
    layers: Vec<AdaptedLayer>,
    /// All parameters without the additions.
    base: Vec<f64>,
    /// A and B of each layer, A by (rank, input) and B by (output, rank); then the last layer.
    numbers: Vec<f64>,
}

/// Where one layer's weights stand, and the layers whose weights are A and B.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AdaptedLayer {
    first: usize,
    down: Dense,
    up: Dense,
}

impl AdaptedLayer {
    fn numbers(&self) -> (usize, usize) {
        (self.down.inputs * self.down.outputs, self.up.inputs * self.up.outputs)
    }
}

/// Layers but the last that have weights, and how many parameters the last one has.
fn layers(architecture: &Architecture, rank: usize) -> (Vec<AdaptedLayer>, usize) {
    let mut first = 0;
    let mut layers = Vec::new();
    let mut last = 0;
    for layer in architecture.layers() {
        last = layer.parameters();
        if let Some(shape) = layer.weight_shape() {
            let (outputs, inputs) = (shape[0], shape[1..].iter().product());
            let (down, up) = (Dense { inputs, outputs: rank }, Dense { inputs: rank, outputs });
            layers.push(AdaptedLayer { first, down, up });
        }
        first += last;
    }
    layers.pop();
    (layers, last)
}

impl Adapters {
    /// How many numbers are trained.
    pub fn count(architecture: &Architecture, rank: usize) -> usize {
        let (layers, last) = layers(architecture, rank);
        layers.iter().map(|layer| layer.numbers().0 + layer.numbers().1).sum::<usize>() + last
    }

    /// Additions of zero: A is random, within ±1/√inputs, and B is 0.
    pub fn new(model: &Classifier, rank: usize, scale: f64, generator: &mut impl Rng) -> Self {
        let (layers, last) = layers(model.architecture(), rank);
        let base = model.parameters().to_vec();
        let mut numbers = Vec::new();
        for layer in &layers {
            let (down, up) = layer.numbers();
            let bound = 1.0 / (layer.down.inputs as f64).sqrt();
            numbers.extend((0..down).map(|_| {
                let share: f64 = StandardUniform.sample(generator);
                bound * (2.0 * share - 1.0)
            }));
            numbers.resize(numbers.len() + up, 0.0);
        }
        numbers.extend(&base[base.len() - last..]);
        Self { scale, layers, base, numbers }
    }

    /// What is trained.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Takes other trained numbers, and writes the parameters of the whole model.
    pub fn place(&mut self, numbers: &[f64], model: &mut Classifier) {
        self.numbers.copy_from_slice(numbers);
        let parameters = model.parameters_mut();
        parameters.copy_from_slice(&self.base);
        let mut rest = numbers;
        for layer in &self.layers {
            let (down, up) = layer.numbers();
            let (a, others) = rest.split_at(down);
            let (b, others) = others.split_at(up);
            rest = others;
            // Row by row, a matrix is the columns of its transpose: (BA)ᵀ = AᵀBᵀ.
            let a = Matrix::from_column_slice(layer.down.inputs, layer.down.outputs, a);
            let b = Matrix::from_column_slice(layer.up.inputs, layer.up.outputs, b);
            let added = self.scale * (a * b);
            let weights = &mut parameters[layer.first..layer.first + added.len()];
            weights.iter_mut().zip(&added).for_each(|(weight, part)| *weight += part);
        }
        let last = parameters.len() - rest.len();
        parameters[last..].copy_from_slice(rest);
    }

    /// The gradients with respect to the trained numbers, from those with respect to all parameters.
    /// What they are for one example does not depend on the others.
    pub fn gradients(&self, whole: Gradients) -> Gradients {
        let mut rest = self.numbers.as_slice();
        let mut layers = Vec::with_capacity(2 * self.layers.len() + 1);
        let mut contributions = whole.layers.into_iter();
        for (layer, contribution) in self.layers.iter().zip(&mut contributions) {
            let (down, up) = layer.numbers();
            let (a, others) = rest.split_at(down);
            let (b, others) = others.split_at(up);
            rest = others;
            layers.extend(self.of_layer(layer, (a, b), contribution));
        }
        layers.extend(contributions);
        Gradients { losses: whole.losses, layers }
    }

    fn of_layer(
        &self,
        layer: &AdaptedLayer,
        (a, b): (&[f64], &[f64]),
        contribution: Contribution,
    ) -> [Contribution; 2] {
        let AdaptedLayer { down, up, .. } = *layer;
        match contribution {
            Contribution::Outer { inputs, deltas, .. } => {
                let count = inputs.ncols();
                let mut few = Matrix::zeros(down.outputs, count);
                Layer::Linear(down).forward(a, inputs.as_slice(), few.as_mut_slice());
                let deltas = self.scale * deltas;
                let mut slopes = Matrix::zeros(up.inputs, count);
                let all = Deltas::All(deltas.as_slice());
                Layer::Linear(up).backward(b, &[], &[], all, slopes.as_mut_slice());
                [
                    Contribution::Outer { inputs, deltas: slopes, biases: false },
                    Contribution::Outer { inputs: few, deltas, biases: false },
                ]
            }
            Contribution::Formed(formed) => {
                let a = Matrix::from_column_slice(down.inputs, down.outputs, a);
                let b = Matrix::from_column_slice(up.inputs, up.outputs, b);
                let mut of_a = Matrix::zeros(a.len(), formed.ncols());
                let mut of_b = Matrix::zeros(b.len(), formed.ncols());
                for (example, gradient) in formed.column_iter().enumerate() {
                    let weights = &gradient.as_slice()[..down.inputs * up.outputs];
                    let gradient = Matrix::from_column_slice(down.inputs, up.outputs, weights);
                    let slope = self.scale * (&gradient * b.transpose());
                    of_a.column_mut(example).copy_from_slice(slope.as_slice());
                    let slope = self.scale * a.tr_mul(&gradient);
                    of_b.column_mut(example).copy_from_slice(slope.as_slice());
                }
                [Contribution::Formed(of_a), Contribution::Formed(of_b)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;

    use super::*;
    use crate::{Activation, ExampleLabels, Volume};

    /// Differences of the loss, number by number, for dense layers and for convolutions.
    #[test]
    fn gradients_are_those_of_the_loss_by_each_trained_number() {
        let mut generator = ChaCha20Rng::seed_from_u64(4);
        let image = Volume { channels: 1, height: 12, width: 12 };
        let networks = [
            Architecture::perceptron(6, 5, 3, Activation::Tanh).unwrap(),
            Architecture::table_7a(image, 3).unwrap(),
        ];
        for network in networks {
            let parameters = network.initial(&mut generator);
            let mut model = Classifier::new(network.clone(), parameters).unwrap();
            let mut adapters = Adapters::new(&model, 2, 0.5, &mut generator);
            let before = model.clone();
            let first = adapters.numbers().to_vec();
            adapters.place(&first, &mut model);
            assert_eq!(model, before);
            assert_eq!(first.len(), Adapters::count(&network, 2));
            let mut wave = 0.0_f64;
            let moved: Vec<f64> = first
                .iter()
                .map(|number| {
                    wave += 0.7;
                    number + 0.1 * wave.sin()
                })
                .collect();
            adapters.place(&moved, &mut model);
            let features =
                Matrix::from_fn(network.inputs(), 3, |i, j| ((i * 7 + j * 3) as f64).sin());
            let labels = ExampleLabels::Classes(&[0, 1, 2]);
            let whole: Gradients = model.gradients_of(features.clone(), labels).unwrap();
            let ours = adapters.gradients(whole).columns();
            assert_eq!(ours.nrows(), moved.len());
            let step = 1e-5;
            for at in (0..moved.len()).step_by(moved.len() / 40 + 1) {
                let mut losses = |by: f64| {
                    let mut numbers = moved.clone();
                    numbers[at] += by;
                    adapters.place(&numbers, &mut model);
                    model.losses(&features, labels)
                };
                let (up, low) = (losses(step), losses(-step));
                for example in 0..3 {
                    let slope = (up[example] - low[example]) / (2.0 * step);
                    let ours = ours[(at, example)];
                    assert!((slope - ours).abs() < 1e-6, "{at}: {slope} {ours}");
                }
            }
        }
    }

    #[test]
    fn the_gradient_of_an_example_does_not_depend_on_the_others() {
        let mut generator = ChaCha20Rng::seed_from_u64(4);
        let network = Architecture::perceptron(40, 20, 3, Activation::Tanh).unwrap();
        let parameters = network.initial(&mut generator);
        let mut model = Classifier::new(network, parameters).unwrap();
        let mut adapters = Adapters::new(&model, 3, 0.5, &mut generator);
        let moved: Vec<f64> = adapters.numbers().iter().map(|number| number + 0.01).collect();
        adapters.place(&moved, &mut model);
        let features = Matrix::from_fn(40, 64, |i, j| ((i * 7 + j * 3) as f64).sin());
        let classes: Vec<u32> = (0..64).map(|at| at % 3).collect();
        let of = |first: usize, count: usize| {
            let features = features.columns(first, count).into_owned();
            let labels = ExampleLabels::Classes(&classes[first..first + count]);
            adapters.gradients(model.gradients_of(features, labels).unwrap()).columns()
        };
        let all = of(0, 64);
        for (first, count) in [(0, 1), (5, 2), (17, 13), (63, 1)] {
            assert_eq!(of(first, count), all.columns(first, count), "{first} {count}");
        }
    }
}
