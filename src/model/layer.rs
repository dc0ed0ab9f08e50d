//! The layers of a [`Classifier`](super::Classifier), computed for a block of examples at a time.
//!
//! A block holds one example per column. An image is one column too: channel by channel, and
//! within a channel row by row. Parameters of a layer: weights by (output, input), or by
//! (filter, channel, row, column), the last index fastest; then one bias per output.

use serde::{Deserialize, Serialize};

use super::convolution::{Convolution, Deltas, Pool};
use crate::numeric::product::{multiply, plain, transposed};
use crate::numeric::tall::{add_combinations, add_inner_products};

/// A product with no more outputs than this takes less time than to pack its sides for the kernel of
/// large ones. How it is rounded for one example does not depend on the others.
pub(super) const FEW: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    Tanh,
    Relu,
}

/// Every output from every input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    pub inputs: usize,
    pub outputs: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Dense(Dense),
    /// A dense layer without biases.
    Linear(Dense),
    Convolution(Convolution),
    MaxPool(Pool),
    /// Divides this many numbers by their ℓ₂ norm; a vector of zeros stays zero.
    Normalise(usize),
    /// A function of each of this many numbers.
    Activation(Activation, usize),
    /// Leaves this many scores unchanged and marks them as margins of each class against the rest,
    /// which should be beyond ±1 and are not log odds. The hinge loss gives such scores.
    Margins(usize),
}

impl Layer {
    pub fn inputs(&self) -> usize {
        match self {
            Self::Dense(dense) | Self::Linear(dense) => dense.inputs,
            Self::Convolution(convolution) => convolution.input.size(),
            Self::MaxPool(pool) => pool.input.size(),
            Self::Normalise(size) | Self::Activation(_, size) | Self::Margins(size) => *size,
        }
    }

    pub fn outputs(&self) -> usize {
        match self {
            Self::Dense(dense) | Self::Linear(dense) => dense.outputs,
            Self::Convolution(convolution) => convolution.output().size(),
            Self::MaxPool(pool) => pool.output().size(),
            Self::Normalise(size) | Self::Activation(_, size) | Self::Margins(size) => *size,
        }
    }

    /// The number of trained parameters.
    pub fn parameters(&self) -> usize {
        let weights = self.weight_shape().map_or(0, |shape| shape.iter().product());
        weights + self.biases()
    }

    /// The number of stored numbers for one example's gradient: two factors, or all of it.
    pub fn gradient_numbers(&self) -> usize {
        match self {
            Self::Dense(dense) | Self::Linear(dense) => dense.inputs + dense.outputs,
            _ => self.parameters(),
        }
    }

    /// One for each output or filter, after the weights, or none.
    pub fn biases(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.outputs,
            Self::Convolution(convolution) => convolution.filters,
            _ => 0,
        }
    }

    /// The shape of its weights, outputs first.
    pub fn weight_shape(&self) -> Option<Vec<usize>> {
        match self {
            Self::Dense(dense) | Self::Linear(dense) => Some(vec![dense.outputs, dense.inputs]),
            Self::Convolution(convolution) => {
                let kernel = convolution.kernel;
                Some(vec![convolution.filters, convolution.input.channels, kernel, kernel])
            }
            _ => None,
        }
    }

    /// Writes the outputs of a block over `outputs`.
    pub(super) fn forward(&self, parameters: &[f64], inputs: &[f64], outputs: &mut [f64]) {
        match self {
            Self::Dense(dense) | Self::Linear(dense) => {
                dense.forward(parameters, inputs, outputs);
            }
            Self::Convolution(convolution) => convolution.forward(parameters, inputs, outputs),
            Self::MaxPool(pool) => pool.forward(inputs, outputs),
            Self::Normalise(size) => {
                let examples = inputs.chunks_exact(*size).zip(outputs.chunks_exact_mut(*size));
                for (inputs, outputs) in examples {
                    let factor = 1.0 / length(inputs);
                    for (output, input) in outputs.iter_mut().zip(inputs) {
                        *output = factor * input;
                    }
                }
            }
            Self::Activation(activation, _) => {
                for (output, input) in outputs.iter_mut().zip(inputs) {
                    *output = activation.of(*input);
                }
            }
            Self::Margins(_) => outputs.copy_from_slice(inputs),
        }
    }

    /// Writes d loss / d inputs to `to`, which holds zeros, from d loss / d outputs and what
    /// [`Self::forward`] read and wrote.
    pub(super) fn backward(
        &self,
        parameters: &[f64],
        inputs: &[f64],
        outputs: &[f64],
        deltas: Deltas<'_>,
        to: &mut [f64],
    ) {
        match (self, deltas) {
            (Self::Convolution(convolution), _) => convolution.backward(parameters, deltas, to),
            // Only a convolution is passed winners.
            (_, Deltas::Winners(..)) => {}
            (Self::Dense(dense) | Self::Linear(dense), Deltas::All(deltas)) => {
                dense.backward(parameters, deltas, to);
            }
            (Self::MaxPool(pool), Deltas::All(deltas)) => pool.backward(inputs, deltas, to),
            (Self::Normalise(size), Deltas::All(deltas)) => {
                // d(x/‖x‖): a change along x has no effect.
                let examples = inputs.chunks_exact(*size).zip(outputs.chunks_exact(*size));
                let slopes = deltas.chunks_exact(*size).zip(to.chunks_exact_mut(*size));
                for ((inputs, outputs), (deltas, to)) in examples.zip(slopes) {
                    let along: f64 = outputs.iter().zip(deltas).map(|(y, delta)| y * delta).sum();
                    let factor = 1.0 / length(inputs);
                    for ((to, delta), output) in to.iter_mut().zip(deltas).zip(outputs) {
                        *to = factor * (delta - along * output);
                    }
                }
            }
            (Self::Activation(activation, _), Deltas::All(deltas)) => {
                for ((to, delta), output) in to.iter_mut().zip(deltas).zip(outputs) {
                    *to = delta * activation.slope(*output);
                }
            }
            (Self::Margins(_), Deltas::All(deltas)) => to.copy_from_slice(deltas),
        }
    }
}

/// The ℓ₂ norm; 1 for zeros, which have no direction.
fn length(numbers: &[f64]) -> f64 {
    let norm = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > 0.0 { norm } else { 1.0 }
}

impl Activation {
    fn of(self, input: f64) -> f64 {
        match self {
            Self::Tanh => input.tanh(),
            Self::Relu => input.max(0.0),
        }
    }

    /// The derivative, where the function's value is `output`.
    fn slope(self, output: f64) -> f64 {
        match self {
            Self::Tanh => 1.0 - output * output,
            Self::Relu => f64::from(u8::from(output > 0.0)),
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Tanh => "tanh",
            Self::Relu => "relu",
        }
    }
}

impl Dense {
    fn forward(&self, parameters: &[f64], inputs: &[f64], outputs: &mut [f64]) {
        let (weights, biases) = parameters.split_at(self.inputs * self.outputs);
        let count = inputs.len() / self.inputs;
        for output in outputs.chunks_exact_mut(self.outputs).filter(|_| !biases.is_empty()) {
            output.copy_from_slice(biases);
        }
        if self.outputs <= FEW {
            if biases.is_empty() {
                outputs.fill(0.0);
            }
            return add_inner_products(weights, inputs, self.inputs, outputs);
        }
        // Row by row, the weights are the columns of their transpose.
        let weights = transposed(weights, self.inputs, self.outputs);
        let keep = if biases.is_empty() { 0.0 } else { 1.0 };
        multiply(outputs, &weights, &plain(inputs, self.inputs, count), keep);
    }

    fn backward(&self, parameters: &[f64], deltas: &[f64], to: &mut [f64]) {
        let weights = &parameters[..self.inputs * self.outputs];
        if self.outputs <= FEW {
            return add_combinations(weights, self.inputs, deltas, to);
        }
        let weights = plain(weights, self.inputs, self.outputs);
        let count = deltas.len() / self.outputs;
        multiply(to, &weights, &plain(deltas, self.outputs, count), 0.0);
    }
}
