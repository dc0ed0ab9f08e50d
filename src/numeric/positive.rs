//! Positive definite matrices: Cholesky's factor of a large one, in blocks.
//!
//! nalgebra works column by column and takes twenty seconds for three thousand columns. In blocks,
//! nearly all of the work is matrix products.

use nalgebra::{Cholesky, Dyn};
use pulp::{Simd, WithSimd};

use super::product::{inner_products, plain, product, whole};
use super::{Matrix, four_lanes, parallel};

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

/// The factor of a thin matrix is used if its diagonal spans less than this: beyond it, rounding would
/// leave too little of the shortest directions.
const MOST_SPREAD: f64 = 1e6;

/// Added to the squares of a thin matrix, as a share of their sum.
const SHIFT: f64 = 1e-14;

/// Orthogonal columns of length 1 with the span of a thin matrix's columns. Nearly all of the work is matrix
/// products, which take a fraction of the time of reflections; these come to help where the columns hardly
/// differ.
pub fn orthogonal_columns(thin: &Matrix) -> Matrix {
    let once = |thin: &Matrix| divided_by_factor(thin, 0.0, MOST_SPREAD);
    let reflected = || thin.clone().qr().q();
    let first = once(thin).unwrap_or_else(reflected);
    // The second time removes what rounding left.
    once(&first).unwrap_or_else(reflected)
}

/// Columns with the span of a thin matrix's, which are nearly orthogonal and have length 1, but for
/// directions in which all columns are short: these stay short. Between steps of a power iteration that is
/// enough, and no matter how alike the columns are it takes matrix products alone.
pub fn evened_columns(thin: &Matrix) -> Matrix {
    divided_by_factor(thin, SHIFT, f64::INFINITY).unwrap_or_else(|| thin.clone().qr().q())
}

/// A·L⁻ᵀ, where LLᵀ = AᵀA + `shift`·tr(AᵀA)·1. `None` if L's diagonal spans `most` or more.
fn divided_by_factor(thin: &Matrix, shift: f64, most: f64) -> Option<Matrix> {
    let mut squares = inner_products(thin, thin);
    let shift = shift * squares.trace();
    (0..squares.nrows()).for_each(|at| squares[(at, at)] += shift);
    let lower = cholesky(squares)?.l();
    let mut inverse = Matrix::identity(lower.nrows(), lower.ncols());
    let spans = lower.diagonal().max() / lower.diagonal().min();
    let is_solved = spans < most && lower.solve_lower_triangular_mut(&mut inverse);
    is_solved.then(|| product(&whole(thin), &whole(&inverse).transpose()))
}

/// In place of the columns of A beside other columns: of A = LLᵀ, which is small, the rows of L up to
/// their diagonal, and L⁻¹ times each of the others. False if A is not positive definite within
/// rounding. Numbers are rounded otherwise than by [`cholesky`], in a third of its time.
pub fn factor_beside(columns: &mut Matrix) -> bool {
    let dimension = columns.nrows();
    four_lanes().dispatch(FactorBeside { numbers: columns.as_mut_slice(), dimension })
}

struct FactorBeside<'a> {
    numbers: &'a mut [f64],
    dimension: usize,
}

impl WithSimd for FactorBeside<'_> {
    type Output = bool;

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { numbers, dimension } = self;
        for at in 0..dimension {
            let (known, rest) = numbers.split_at_mut((at + 1) * dimension);
            let own = &mut known[at * dimension..];
            let [square] = products(simd, &own[..at], [&own[..at]]);
            let pivot = (own[at] - square).sqrt();
            // Not a number, either.
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            own[at] = pivot;
            let own = &own[..at];
            let mut four = rest.chunks_exact_mut(4 * dimension);
            for columns in four.by_ref() {
                let column = |number: usize| &columns[number * dimension..][..at];
                let sums = products(simd, own, [column(0), column(1), column(2), column(3)]);
                for (column, sum) in columns.chunks_exact_mut(dimension).zip(sums) {
                    column[at] = (column[at] - sum) / pivot;
                }
            }
            for column in four.into_remainder().chunks_exact_mut(dimension) {
                let [sum] = products(simd, own, [&column[..at]]);
                column[at] = (column[at] - sum) / pivot;
            }
        }
        true
    }
}

/// The products of a vector with others of its length.
#[allow(clippy::inline_always)]
#[inline(always)]
fn products<S: Simd, const COUNT: usize>(
    simd: S,
    one: &[f64],
    others: [&[f64]; COUNT],
) -> [f64; COUNT] {
    let (wide, narrow) = S::as_simd_f64s(one);
    let parts = others.map(S::as_simd_f64s);
    let mut sums = [simd.splat_f64s(0.0); COUNT];
    for (at, one) in wide.iter().enumerate() {
        for (sum, (wide, _)) in sums.iter_mut().zip(&parts) {
            *sum = simd.mul_add_e_f64s(*one, wide[at], *sum);
        }
    }
    let mut found = sums.map(|sum| simd.reduce_sum_f64s(sum));
    for (found, (_, other)) in found.iter_mut().zip(&parts) {
        *found += narrow.iter().zip(*other).map(|(one, other)| one * other).sum::<f64>();
    }
    found
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
    fn columns_become_orthogonal_and_keep_their_span_however_alike_they_are() {
        for (rows, columns, apart) in
            [(30, 4, 1.0), (400, 130, 1e-2), (200, 60, 1e-9), (50, 6, 0.0)]
        {
            let one = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0;
            let thin = Matrix::from_fn(rows, columns, |i, j| one(i, 0) + apart * one(i, j));
            for (found, within) in [
                (orthogonal_columns(&thin), 1e-12),
                (orthogonal_columns(&evened_columns(&thin)), 1e-6),
            ] {
                let products = found.tr_mul(&found) - Matrix::identity(columns, columns);
                assert!(products.amax() < 1e-12, "{columns} {apart}: {:e}", products.amax());
                let lost = &thin - &found * found.tr_mul(&thin);
                assert!(lost.amax() < within * thin.amax() * rows as f64, "{columns} {apart}");
            }
        }
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
