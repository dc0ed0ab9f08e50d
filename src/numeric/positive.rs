//! Positive definite matrices: Cholesky's factor of a large one, in blocks.
//!
//! nalgebra works column by column and takes twenty seconds for three thousand columns. In blocks,
//! nearly all of the work is matrix products.

use nalgebra::{Cholesky, Dyn};

use super::product::{plain, product};
use super::{Matrix, parallel};

/// Columns of a block. A matrix of no more is left to nalgebra.
const BLOCK: usize = 128;
/// Columns of the rest that are updated at once.
const PANEL: usize = 2 * BLOCK;

/// L with LLᵀ = `matrix`, whose entries above the diagonal are not used. `None` if it is not
/// positive definite within rounding.
pub fn cholesky(mut matrix: Matrix) -> Option<Cholesky<f64, Dyn>> {
    let dimension = matrix.nrows();
    if dimension <= BLOCK {
        return matrix.cholesky();
    }
    for first in (0..dimension).step_by(BLOCK) {
        let width = BLOCK.min(dimension - first);
        let below = first + width;
        let corner = matrix.view((first, first), (width, width)).into_owned().cholesky()?.unpack();
        // Lᵀ of the rows below: corner · beneath = their transpose.
        let mut beneath = matrix.view((below, first), (dimension - below, width)).transpose();
        if !corner.solve_lower_triangular_mut(&mut beneath) {
            return None;
        }
        let rows = dimension - below;
        let all = plain(beneath.as_slice(), width, rows);
        for start in (0..rows).step_by(PANEL) {
            let columns = PANEL.min(rows - start);
            let change = product(
                &all.columns(start, rows - start).transpose(),
                &all.columns(start, columns),
            );
            let corner = below + start;
            for (index, change) in change.as_slice().chunks_exact(rows - start).enumerate() {
                let place = (corner + index) * dimension + corner;
                let old = &mut matrix.as_mut_slice()[place..place + change.len()];
                old.iter_mut().zip(change).for_each(|(old, change)| *old -= change);
            }
        }
        matrix.view_mut((first, first), (width, width)).copy_from(&corner);
        matrix.view_mut((below, first), (rows, width)).copy_from(&beneath.transpose());
    }
    // The result is finite: a diagonal block that is not finite has no factor.
    Some(Cholesky::pack_dirty(matrix))
}

/// tr A⁻¹ = ‖L⁻¹‖², where A = LLᵀ.
pub fn trace_of_inverse(factor: &Cholesky<f64, Dyn>) -> f64 {
    let lower = factor.l_dirty();
    let dimension = lower.nrows();
    let blocks = dimension.div_ceil(BLOCK);
    parallel::map(blocks, |block| columns_of_inverse(lower, block * BLOCK).norm_squared())
        .iter()
        .sum()
}

/// L⁻¹'s columns from `first` on, one block of them, without the zeros above.
fn columns_of_inverse(lower: &Matrix, first: usize) -> Matrix {
    let dimension = lower.nrows();
    let width = BLOCK.min(dimension - first);
    let mut columns = Matrix::identity(dimension - first, width);
    for start in (first..dimension).step_by(BLOCK) {
        let height = BLOCK.min(dimension - start);
        let below = start + height;
        let corner = lower.view((start, start), (height, height));
        let mut solved = columns.view((start - first, 0), (height, width)).into_owned();
        corner.solve_lower_triangular_mut(&mut solved);
        columns.view_mut((start - first, 0), (height, width)).copy_from(&solved);
        if below < dimension {
            let left = lower.view((below, start), (dimension - below, height));
            let mut rest = columns.view_mut((below - first, 0), (dimension - below, width));
            rest.gemm(-1.0, &left, &solved, 1.0);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric::eigen;

    /// A matrix whose eigenvalues reach from `ridge` to about the number of rows.
    fn matrix(dimension: usize, ridge: f64) -> Matrix {
        let spread = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let factor = Matrix::from_fn(dimension, dimension / 2, spread);
        &factor * factor.transpose() + ridge * Matrix::identity(dimension, dimension)
    }

    #[test]
    fn the_factor_of_a_matrix_of_any_size_gives_it_back() {
        for dimension in [0, 1, 5, 127, 128, 129, 256, 300, 515] {
            for ridge in [1.0, 1e-5] {
                let matrix = matrix(dimension, ridge);
                let lower = cholesky(matrix.clone()).unwrap().l();
                let error = (&lower * lower.transpose() - &matrix).amax();
                let largest = if dimension == 0 { 0.0 } else { matrix.amax() };
                assert!(error <= 1e-13 * largest, "{dimension} {ridge}: {error:e}");
            }
        }
    }

    #[test]
    fn the_factor_is_that_of_nalgebra_and_solves() {
        let matrix = matrix(400, 0.1);
        let (ours, theirs) =
            (cholesky(matrix.clone()).unwrap(), matrix.clone().cholesky().unwrap());
        assert!((ours.l() - theirs.l()).amax() < 1e-11);
        let right = matrix.column(3).into_owned();
        let solved = ours.solve(&right);
        assert!((&matrix * solved - right).amax() < 1e-10);
    }

    #[test]
    fn the_trace_of_the_inverse_is_the_sum_of_the_inverse_eigenvalues() {
        for dimension in [3, 128, 300] {
            let matrix = matrix(dimension, 0.2);
            let sum: f64 = eigen(&matrix).unwrap().0.iter().map(|value| 1.0 / value).sum();
            let trace = trace_of_inverse(&cholesky(matrix).unwrap());
            assert!((trace / sum - 1.0).abs() < 1e-9, "{dimension}: {trace} {sum}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        assert!(cholesky(matrix(300, -0.5)).is_none());
        let mut broken = matrix(300, 1.0);
        broken[(290, 3)] = f64::NAN;
        assert!(cholesky(broken).is_none());
    }
}
