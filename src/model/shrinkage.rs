//! What holds the weights of a linear model near zero.

use crate::numeric::{Matrix, Vector};

/// A ridge on every weight in its own size: (ridge/2)·Σ (sizeⱼ·wⱼ)².
#[derive(Debug, Clone, PartialEq)]
pub struct Shrinkage {
    pub ridge: f64,
    /// The size of each feature's weight; all are 1 if none is given.
    pub sizes: Option<Vector>,
}

impl From<f64> for Shrinkage {
    fn from(ridge: f64) -> Self {
        Self { ridge, sizes: None }
    }
}

impl Shrinkage {
    /// The weights in their sizes, one row of a model after the other.
    fn sized(&self, w: &Vector) -> Vector {
        let mut sized = w.clone();
        if let Some(sizes) = &self.sizes {
            for row in sized.as_mut_slice().chunks_exact_mut(sizes.len()) {
                row.iter_mut().zip(sizes).for_each(|(w, size)| *w *= size);
            }
        }
        sized
    }

    pub fn value(&self, w: &Vector) -> f64 {
        0.5 * self.ridge * self.sized(w).norm_squared()
    }

    pub fn gradient(&self, w: &Vector) -> Vector {
        self.ridge * self.sized(&self.sized(w))
    }

    /// Adds the curvature to that of a loss, for one row of a model.
    pub fn curve(&self, block: &mut Matrix) {
        for k in 0..block.nrows() {
            block[(k, k)] += self.ridge * self.sizes.as_ref().map_or(1.0, |it| it[k].powi(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_and_curvature_are_derivatives_of_the_value() {
        let sizes = Vector::from_vec(vec![1.0, 3.0]);
        for shrinkage in [0.2.into(), Shrinkage { ridge: 0.2, sizes: Some(sizes) }] {
            let w = Vector::from_vec(vec![0.4, -0.7, 1.1, 0.2]);
            let gradient = shrinkage.gradient(&w);
            let mut curvature = Matrix::zeros(2, 2);
            shrinkage.curve(&mut curvature);
            for k in 0..4 {
                let mut other = w.clone();
                other[k] += 1e-6;
                let rise = (shrinkage.value(&other) - shrinkage.value(&w)) / 1e-6;
                assert!((rise - gradient[k]).abs() < 1e-5, "{rise} {}", gradient[k]);
                let rise = (shrinkage.gradient(&other) - &gradient)[k] / 1e-6;
                assert!((rise - curvature[(k % 2, k % 2)]).abs() < 1e-5, "{rise}");
            }
        }
    }
}
