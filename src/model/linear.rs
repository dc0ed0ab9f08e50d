//! A linear predictor on prepared features.

use serde::{Deserialize, Serialize};

use crate::numeric::Vector;
use crate::numeric::columns::{ExampleColumns, score_of};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearModel {
    pub weights: Vec<f64>,
}

impl LinearModel {
    /// One prediction per example.
    pub fn predict(&self, features: &impl ExampleColumns) -> Vec<f64> {
        let weights = Vector::from_column_slice(&self.weights);
        features.map_each(|example| score_of(example, &weights))
    }

    /// Mean of (prediction − target)².
    pub fn mean_squared_error(&self, features: &impl ExampleColumns, target: &[f64]) -> f64 {
        let errors = self.predict(features).into_iter().zip(target).map(|(p, y)| (p - y).powi(2));
        errors.sum::<f64>() / target.len() as f64
    }
}

impl From<Vector> for LinearModel {
    fn from(weights: Vector) -> Self {
        Self { weights: weights.as_slice().to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Matrix;

    #[test]
    fn the_error_is_the_mean_square_of_prediction_minus_target() {
        let model = LinearModel { weights: vec![1.0, -2.0] };
        let features = Matrix::from_columns(&[
            Vector::from_vec(vec![1.0, 0.0]),
            Vector::from_vec(vec![0.5, 0.5]),
        ]);
        assert_eq!(model.predict(&features), vec![1.0, -0.5]);
        assert_eq!(model.mean_squared_error(&features, &[0.0, 0.5]), 1.0);
    }
}
