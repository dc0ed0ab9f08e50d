//! The joint span of all candidates in one repeat, and the private gradients projected onto it.
//!
//! In every repeat the candidates' spans together span s public directions Q. The private gradients
//! become directions uᵢ = Qᵀgᵢ/‖gᵢ‖ of length at most 1, with the second moment S = (1/n)Σ uᵢuᵢᵀ.
//! With Cⱼ = QᵀVⱼ for candidate j, tr(CⱼᵀSCⱼ) is the mean share of a private gradient inside its
//! span.

use super::candidates::{PublicRepeat, RandomLabels};
use super::records::Supply;
use crate::error::{Error, Result};
use crate::numeric::Matrix;
use crate::numeric::leading::leading;
use crate::numeric::product::inner_products;
use crate::numeric::projection::shrink_factor;
use crate::numeric::rounding::summation_error;
use crate::numeric::symmetric::weighted_outer_sum;

/// The most public directions; if there are more, those that the candidates share most are used.
const MOST_DIRECTIONS: usize = 128;
/// The least eigenvalue of the spans' common second moment that counts as a direction.
const NOTHING: f64 = 1e-9;

/// Shorter gradients are ignored: 1/‖g‖² would overflow.
const SHORTEST: f64 = 1e-100;

/// The public side of one repeat.
pub(super) struct CommonDirections {
    /// p × s, orthonormal.
    directions: Matrix,
    /// Cⱼ, s × k, of every candidate that is not broken.
    pub spans: Vec<Option<Matrix>>,
}

impl CommonDirections {
    pub fn of(round: &PublicRepeat) -> Result<Self> {
        let spans: Vec<_> = round.spans.iter().flatten().collect();
        let columns: Vec<_> = spans.iter().flat_map(|span| span.basis().column_iter()).collect();
        let stack = Matrix::from_columns(&columns);
        let found = leading(&inner_products(&stack, &stack), MOST_DIRECTIONS.min(stack.ncols()))
            .ok_or_else(|| Error::failed("the candidates' spans are not made of numbers"))?;
        let largest = found.values.first().copied().unwrap_or(0.0);
        let kept = found.values.iter().take_while(|value| **value > NOTHING * largest).count();
        let mut mixtures = found.vectors.columns(0, kept).into_owned();
        for (mut column, value) in mixtures.column_iter_mut().zip(&found.values) {
            column /= value.sqrt();
        }
        let directions = stack * mixtures;
        let spans = round
            .spans
            .iter()
            .map(|span| span.as_ref().map(|span| inner_products(&directions, span.basis())));
        Ok(Self { spans: spans.collect(), directions })
    }

    /// s
    pub fn size(&self) -> usize {
        self.directions.ncols()
    }

    /// The possible floating-point error of S, in the Frobenius norm, for this many records.
    pub fn rounding(records: usize) -> f64 {
        summation_error(records + MOST_DIRECTIONS + 16)
    }

    /// S = (1/n)Σ uuᵀ of the gradients of these records, with these random labels.
    pub fn moment(
        &self,
        round: &PublicRepeat,
        records: &Supply,
        labels: RandomLabels,
    ) -> Result<Matrix> {
        let share = 1.0 / records.len() as f64;
        let mut moment = Matrix::zeros(self.size(), self.size());
        round.conditions.in_blocks(records, labels, |gradients| {
            let coordinates = gradients.project(&self.directions);
            let norms = gradients.squared_norms();
            let weights: Vec<f64> = coordinates
                .column_iter()
                .zip(&norms)
                .map(|(column, norm)| weight(column.norm(), norm.sqrt()) * share)
                .collect();
            moment += weighted_outer_sum(&coordinates, &weights);
        })?;
        Ok(moment)
    }
}

/// The factor of uuᵀ for given coordinates: 1/‖g‖², or less if rounding made the projection longer
/// than g; 0 if they are tiny or not finite.
fn weight(inside: f64, norm: f64) -> f64 {
    if inside.is_finite() && norm.is_finite() && norm > SHORTEST && inside > 0.0 {
        (shrink_factor(inside / norm, 1.0) / norm).powi(2)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For any length of a gradient, its contribution is finite and no longer than 1.
    #[test]
    fn weights_of_any_gradient_make_directions_of_one_at_most() {
        let sizes = [0.0, 5e-324, 1e-170, 1e-158, 1e-155, 1e-100, 1e-99, 1.0, 1e100, 1e153];
        for norm in sizes.into_iter().chain([f64::INFINITY, f64::NAN]) {
            for share in [0.0, 0.3, 1.0, 1.0 + 1e-12, f64::NAN] {
                let inside = norm * share;
                let weight = weight(inside, norm);
                assert!(weight.is_finite() && weight >= 0.0, "{norm} {share}: {weight}");
                if weight > 0.0 {
                    assert!(weight * inside * inside <= 1.0 + 1e-15, "{norm} {share}");
                }
            }
        }
        assert!((weight(0.5, 2.0) - 0.25).abs() < 1e-15 && weight(3.0, 2.0) * 9.0 <= 1.0);
    }
}
