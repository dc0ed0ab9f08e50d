//! Gradients of a linear model on records in single precision that are read where they are kept.
//!
//! Scores are multiplied in single precision, like the records themselves. From there on everything
//! is in doubles: slopes, norms, and what is added up. So the norm of a gradient is that of what is
//! added, and a gradient is a function of its record and the parameters alone.

use super::architecture::Architecture;
use super::classifier::Classifier;
use super::contributions::Contributions;
use super::layer::{FEW, Layer};
use super::loss::ExampleLabels;
use crate::numeric::rows::{add_products, add_weighted};
use crate::numeric::tall::squared_length;

/// The only trained layer of a model, for records that are multiplied by `scale`.
pub struct RowLayer<'a> {
    inputs: usize,
    outputs: usize,
    /// For records as they are kept.
    weights: Vec<f32>,
    biases: &'a [f64],
    scale: f64,
}

/// δᵢ⊗(scale·xᵢ, 1), or without the 1.
pub struct RowGradients<'a> {
    rows: &'a [&'a [f32]],
    /// One row of slopes per record.
    deltas: Vec<f64>,
    outputs: usize,
    biased: bool,
    scale: f64,
}

impl<'a> RowLayer<'a> {
    /// `None` for models with other layers or with too many outputs for thin products.
    pub fn new(model: &'a Classifier, scale: f64) -> Option<Self> {
        let (inputs, outputs) = Self::shape(model.architecture())?;
        let (weights, biases) = model.parameters().split_at(inputs * outputs);
        let weights = weights.iter().map(|weight| (scale * weight) as f32).collect();
        Some(Self { inputs, outputs, weights, biases, scale })
    }

    fn shape(architecture: &Architecture) -> Option<(usize, usize)> {
        match architecture.layers() {
            [Layer::Dense(dense) | Layer::Linear(dense)]
            | [Layer::Dense(dense) | Layer::Linear(dense), Layer::Margins(_)]
                if dense.outputs <= FEW =>
            {
                Some((dense.inputs, dense.outputs))
            }
            _ => None,
        }
    }

    /// The gradient of every record's loss.
    pub fn gradients<'b>(
        &self,
        rows: &'b [&'b [f32]],
        labels: ExampleLabels<'_>,
    ) -> RowGradients<'b> {
        let mut deltas = vec![0.0; rows.len() * self.outputs];
        if !self.biases.is_empty() {
            deltas.chunks_exact_mut(self.outputs).for_each(|row| row.copy_from_slice(self.biases));
        }
        add_products(rows, &self.weights, self.inputs, &mut deltas);
        labels.differentiate(&mut deltas);
        let (outputs, biased) = (self.outputs, !self.biases.is_empty());
        RowGradients { rows, deltas, outputs, biased, scale: self.scale }
    }
}

impl Contributions for RowGradients<'_> {
    /// ‖gᵢ‖²
    fn squared_norms(&self) -> Vec<f64> {
        let (square, constant) = (self.scale * self.scale, f64::from(u8::from(self.biased)));
        let slopes = self.deltas.chunks_exact(self.outputs);
        let norm = |(row, slopes): (&&[f32], &[f64])| {
            let slopes: f64 = slopes.iter().map(|delta| delta * delta).sum();
            slopes * (square * squared_length(row) + constant)
        };
        self.rows.iter().zip(slopes).map(norm).collect()
    }

    /// Adds Σ cᵢgᵢ to `sum`. A gradient whose coefficient is 0 is left out, whatever it is.
    fn add_weighted(&self, coefficients: &[f64], sum: &mut [f64]) {
        let outputs = self.outputs;
        let (mut rows, mut weights) = (Vec::new(), Vec::with_capacity(self.deltas.len()));
        let slopes = self.deltas.chunks_exact(outputs);
        let length = sum.len() / outputs - usize::from(self.biased);
        let (sums, biases) = sum.split_at_mut(length * outputs);
        for ((row, slopes), coefficient) in self.rows.iter().zip(slopes).zip(coefficients) {
            if *coefficient == 0.0 {
                continue;
            }
            rows.push(*row);
            weights.extend(slopes.iter().map(|delta| self.scale * (coefficient * delta)));
            for (bias, delta) in biases.iter_mut().zip(slopes) {
                *bias += coefficient * delta;
            }
        }
        add_weighted(&rows, &weights, length, sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Matrix;
    use crate::numeric::columns::Singles;

    /// Numbers of a few binary digits, for which single precision is exact.
    fn coarse(i: usize) -> f64 {
        ((i * 7919) % 33) as f64 / 16.0 - 1.0
    }

    #[test]
    fn gradients_of_rows_are_those_of_the_same_records_in_doubles() {
        let margins = |inputs, outputs| {
            let linear = Architecture::unbiased(inputs, outputs)?;
            linear.then(&Architecture::new(vec![Layer::Margins(outputs)])?)
        };
        for (inputs, outputs) in [(3, 1), (13, 2), (40, 10), (129, 32)] {
            let classes: Vec<u32> = (0..7).map(|i| i % outputs.max(2) as u32).collect();
            for architecture in [
                Architecture::linear(inputs, outputs),
                Architecture::unbiased(inputs, outputs),
                margins(inputs, outputs),
            ] {
                let architecture = architecture.unwrap();
                let parameters = (0..architecture.parameters()).map(|i| coarse(i + 5)).collect();
                let model = Classifier::new(architecture, parameters).unwrap();
                let features = Matrix::from_fn(inputs, 7, |i, j| coarse(i + j * inputs));
                let singles = Singles::from(&features);
                let labels = model.labels(&classes);
                for scale in [1.0, 0.5] {
                    let wanted = model.gradients(&(scale * &features), labels).unwrap();
                    let layer = RowLayer::new(&model, scale).unwrap();
                    singles.rows(&[0, 1, 2, 3, 4, 5, 6], |rows| {
                        let found = layer.gradients(rows, labels);
                        for (a, b) in found.squared_norms().iter().zip(wanted.squared_norms()) {
                            assert!((a - b).abs() <= 1e-14 * b, "{a} {b}");
                        }
                        let coefficients = [0.3, 0.0, 1.0, 0.2, 0.1, 0.9, 0.7];
                        let mut sum = vec![0.0; model.parameters().len()];
                        found.add_weighted(&coefficients, &mut sum);
                        let wanted = wanted.weighted_sum(&coefficients);
                        for (a, b) in sum.iter().zip(&wanted) {
                            assert!((a - b).abs() < 1e-13, "{a} {b}");
                        }
                    });
                }
            }
        }
    }

    #[test]
    fn a_record_without_a_finite_gradient_adds_nothing_where_its_factor_is_zero() {
        let model = Classifier::new(Architecture::linear(3, 2).unwrap(), vec![1.0; 8]).unwrap();
        let layer = RowLayer::new(&model, 1.0).unwrap();
        let (good, bad) = ([0.5_f32, 0.25, 1.0], [f32::NAN, 1.0, f32::INFINITY]);
        let sum = |rows: &[&[f32]], factors: &[f64]| {
            let gradients = layer.gradients(rows, model.labels(&[0, 1][..rows.len()]));
            let mut sum = vec![0.0; 8];
            gradients.add_weighted(factors, &mut sum);
            (gradients.squared_norms(), sum)
        };
        let (norms, both) = sum(&[&good, &bad], &[1.0, 0.0]);
        assert!(norms[0].is_finite() && norms[1].is_nan());
        assert_eq!(both, sum(&[&good], &[1.0]).1);
        assert!(both[0] < 0.0);
    }

    #[test]
    fn other_models_are_left_to_others() {
        for architecture in [
            Architecture::linear(3, FEW + 1),
            Architecture::perceptron(3, 4, 2, crate::Activation::Tanh),
        ] {
            let architecture = architecture.unwrap();
            let parameters = vec![0.0; architecture.parameters()];
            let model = Classifier::new(architecture, parameters).unwrap();
            assert!(RowLayer::new(&model, 1.0).is_none());
        }
    }
}
