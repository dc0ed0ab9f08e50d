//! Vectors of single records, as a mechanism clips and adds them up.

use crate::Gradients;

/// Vectors of single records that need not be formed: clipping needs only their norms and weighted
/// sums.
pub trait Contributions {
    /// The squared norm of each record's vector.
    fn squared_norms(&self) -> Vec<f64>;

    /// Adds Σ fᵢcᵢ.
    fn add_weighted(&self, factors: &[f64], sum: &mut [f64]);
}

impl Contributions for Gradients {
    fn squared_norms(&self) -> Vec<f64> {
        self.squared_norms()
    }

    fn add_weighted(&self, factors: &[f64], sum: &mut [f64]) {
        self.add_weighted_sum(factors, sum);
    }
}
