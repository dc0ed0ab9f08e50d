//! A network with one hidden layer of tanh units and one output: f(x) = a·tanh(Wx).

use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::numeric::{Matrix, Vector};

/// Parameters of the network in one vector: W row by row, then a.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    pub inputs: usize,
    pub parameters: Vec<f64>,
}

impl Network {
    pub fn new(inputs: usize, parameters: &Vector) -> Self {
        Self { inputs, parameters: parameters.as_slice().to_vec() }
    }

    pub fn units(&self) -> usize {
        self.parameters.len() / (self.inputs + 1)
    }

    /// W, row by row.
    pub fn hidden(&self) -> &[f64] {
        &self.parameters[..self.units() * self.inputs]
    }

    /// a
    pub fn output(&self) -> &[f64] {
        &self.parameters[self.units() * self.inputs..]
    }

    /// One score per column of `features`.
    pub fn predict(&self, features: &Matrix) -> Vec<f64> {
        features.column_iter().map(|x| score(x.as_slice(), &self.parameters)).collect()
    }
}

/// The number of parameters of a network with these sizes.
pub fn parameters(inputs: usize, units: usize) -> usize {
    units * (inputs + 1)
}

/// Random first weights: normal, of a scale at which tanh is neither linear nor flat.
pub fn initial(inputs: usize, units: usize, generator: &mut ChaCha20Rng) -> Vector {
    Vector::from_fn(parameters(inputs, units), |index, _| {
        let normal: f64 = StandardNormal.sample(generator);
        normal / ((if index < units * inputs { 1 } else { units }) as f64).sqrt()
    })
}

/// f(x)
pub fn score(x: &[f64], parameters: &[f64]) -> f64 {
    let units = parameters.len() / (x.len() + 1);
    let (hidden, output) = parameters.split_at(units * x.len());
    let activations = hidden.chunks_exact(x.len()).map(|row| activation(row, x));
    activations.zip(output).map(|(t, a)| a * t).sum()
}

/// f(x), with ∇f(x) written over `gradient`.
pub fn gradient(x: &[f64], parameters: &[f64], gradient: &mut [f64]) -> f64 {
    let units = parameters.len() / (x.len() + 1);
    let (hidden, output) = parameters.split_at(units * x.len());
    let (by_hidden, by_output) = gradient.split_at_mut(units * x.len());
    let rows = hidden.chunks_exact(x.len()).zip(by_hidden.chunks_exact_mut(x.len()));
    let mut score = 0.0;
    for (((row, by_row), a), by_a) in rows.zip(output).zip(by_output) {
        let t = activation(row, x);
        *by_a = t;
        score += a * t;
        let slope = a * (1.0 - t * t);
        for (by, x) in by_row.iter_mut().zip(x) {
            *by = slope * x;
        }
    }
    score
}

fn activation(row: &[f64], x: &[f64]) -> f64 {
    row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>().tanh()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::logistic;
    use halflight_testing as golden;

    #[test]
    fn losses_and_the_weighted_gradient_agree_with_the_reference() {
        let golden = golden::adaptation();
        let mut x: Vec<Vec<f64>> =
            serde_json::from_value(golden.value("common.Xpub").clone()).unwrap();
        let private: Vec<Vec<f64>> =
            serde_json::from_value(golden.value("common.Xpriv").clone()).unwrap();
        x.extend(private);
        let theta = golden.vector("net_logistic.theta");
        let (labels, q) = (golden.vector("net_logistic.labels"), golden.vector("net_logistic.q"));
        let mut sum = Vector::zeros(6);
        for (i, x) in x.iter().enumerate() {
            let margin = labels[i] * score(x, theta.as_slice());
            let loss = logistic::loss(margin);
            assert!((loss - golden.vector("net_logistic.losses")[i]).abs() < 1e-12);
            let mut by = Vector::zeros(6);
            gradient(x, theta.as_slice(), by.as_mut_slice());
            sum += q[i] * labels[i] * logistic::slope(margin) * by;
        }
        golden::assert_near(&sum, &golden.vector("net_logistic.weighted_grad"), 1e-12);
    }

    #[test]
    fn the_parts_of_a_network_have_the_shapes_they_should() {
        let theta = initial(3, 4, &mut ChaCha20Rng::seed_from_u64(1));
        let network = Network::new(3, &theta);
        assert_eq!((network.units(), network.hidden().len(), network.output().len()), (4, 12, 4));
        let features = Matrix::from_fn(3, 2, |i, j| (i + j) as f64);
        assert_eq!(network.predict(&features)[1], score(&[1.0, 2.0, 3.0], &network.parameters));
    }
}
