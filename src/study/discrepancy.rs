//! The measures of studies on unlabelled adaptation, computed from the exact, unclipped
//! records: what a study may do and a run may not.

use crate::data::Dataset;
use crate::numeric::Matrix;
use crate::numeric::symmetric::{spectral_norm, weighted_outer_sum};

/// M₀ = (1/n)Σ xxᵀ
pub fn second_moment(data: &Dataset) -> Matrix {
    let uniform = vec![1.0 / data.len() as f64; data.len()];
    weighted_outer_sum(&data.features, &uniform)
}

/// ‖M(q)‖₂ = ‖M₀ − Σ qᵢxᵢxᵢᵀ‖₂
pub fn moment_discrepancy(moment: &Matrix, public: &Dataset, weights: &[f64]) -> f64 {
    spectral_norm(&(moment - weighted_outer_sum(&public.features, weights)))
}
