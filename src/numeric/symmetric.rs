//! Symmetric matrices: sums of outer products, quadratic forms, eigenvalues, packing.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::ops::Range;

use nalgebra::DMatrixView;

use super::columns::ExampleColumns;
use super::parallel::{self, share_out, threads_for};
use super::product::{PANEL, Strided, multiply, symmetric_by_panels, transposed};
use super::{Matrix, Vector};

pub use super::eigen::eigen;
pub use super::norm::spectral_norm;

/// Examples that are multiplied at once: enough for the matrix kernel, few enough for their copy to
/// stay in the cache without a second data matrix.
const BLOCK: usize = 512;

/// A part of many short examples has at least so many, and there are no more parts than this.
const LEAST_PART: usize = 1 << 13;
const MOST_PARTS: usize = 256;

/// Σ wᵢ·xᵢxᵢᵀ over the columns of `features`. ExampleColumns of weight zero are not read,
/// so they may hold anything.
pub fn weighted_outer_sum(features: &impl ExampleColumns, weights: &[f64]) -> Matrix {
    outer_sum(features, |i| weights[i])
}

/// Σ wᵢ·xᵢxᵢᵀ with a rule for the weights, which of many examples would take much memory.
pub fn outer_sum(
    features: &impl ExampleColumns,
    weight: impl Fn(usize) -> f64 + Copy + Sync,
) -> Matrix {
    let (dimension, count) = (features.dimension(), features.count());
    if dimension > PANEL {
        return outer_sum_of(features, 0..count, weight);
    }
    // Short examples make one panel, which is one thread's work, so parts of them are added up.
    let part = count.div_ceil(MOST_PARTS).max(LEAST_PART);
    let sum = |at: usize| outer_sum_of(features, at * part..count.min((at + 1) * part), weight);
    let parts = parallel::map(count.div_ceil(part), sum).into_iter();
    parts.reduce(|sum, part| sum + part).unwrap_or_else(|| Matrix::zeros(dimension, dimension))
}

fn outer_sum_of(
    features: &impl ExampleColumns,
    range: Range<usize>,
    weight: impl Fn(usize) -> f64 + Copy + Sync,
) -> Matrix {
    let dimension = features.dimension();
    let used = range.filter(|i| weight(*i) != 0.0);
    let threads = threads_for(dimension * dimension * used.clone().count() / 2);
    symmetric_by_panels(dimension, threads, |first, rows, panel| {
        let width = panel.len() / rows;
        let (mut room, mut used) = (Vec::new(), used.clone());
        loop {
            let block: Vec<usize> = used.by_ref().take(BLOCK).collect();
            if block.is_empty() {
                break;
            }
            let gathered;
            let side_by_side = block[block.len() - 1] - block[0] < block.len();
            let examples = if side_by_side {
                features.read(block[0]..block[0] + block.len(), &mut room)
            } else {
                gathered = features.pick(block.iter().copied());
                gathered.read(0..block.len(), &mut room)
            };
            let mut weighted = vec![0.0; width * block.len()];
            let each = weighted.chunks_exact_mut(width).zip(examples.chunks_exact(dimension));
            for ((weighted, x), i) in each.zip(&block) {
                let weight = weight(*i);
                for (weighted, x) in weighted.iter_mut().zip(&x[first..]) {
                    *weighted = weight * x;
                }
            }
            let examples = Strided::by_columns(examples, rows, block.len(), dimension);
            let weighted = transposed(&weighted, width, block.len());
            multiply(panel, &examples, &weighted, 1.0);
        }
    })
}

/// xᵢᵀExᵢ for every column of `features`.
pub fn quadratic_forms(features: &impl ExampleColumns, form: &Matrix) -> Vector {
    let (dimension, count) = (features.dimension(), features.count());
    let mut values = Vector::zeros(count);
    let jobs = values.as_mut_slice().chunks_mut(BLOCK).enumerate().collect();
    let threads = threads_for(form.len() * count);
    share_out(jobs, threads, &|(index, values): (usize, &mut [f64])| {
        let (first, mut room) = (index * BLOCK, Vec::new());
        let examples = features.read(first..first + values.len(), &mut room);
        let examples = DMatrixView::from_slice(examples, dimension, values.len());
        let images = form * examples;
        for (k, value) in values.iter_mut().enumerate() {
            *value = examples.column(k).dot(&images.column(k));
        }
    });
    values
}

/// The upper triangle by rows, off-diagonal entries times √2: the ℓ₂ norm of the
/// result is the Frobenius norm of `matrix`, so noise and sensitivity carry over.
pub fn pack(matrix: &Matrix) -> Vec<f64> {
    let dimension = matrix.nrows();
    let mut packed = Vec::with_capacity(packed_length(dimension));
    for i in 0..dimension {
        packed.push(matrix[(i, i)]);
        packed.extend((i + 1..dimension).map(|j| SQRT_2 * matrix[(i, j)]));
    }
    packed
}

/// The symmetric matrix that [`pack`] turned into `packed`.
pub fn unpack(packed: &[f64], dimension: usize) -> Matrix {
    let mut matrix = Matrix::zeros(dimension, dimension);
    let mut entries = packed.iter();
    for i in 0..dimension {
        for j in i..dimension {
            let entry = entries.next().copied().unwrap_or(f64::NAN);
            let entry = if i == j { entry } else { FRAC_1_SQRT_2 * entry };
            matrix[(i, j)] = entry;
            matrix[(j, i)] = entry;
        }
    }
    matrix
}

/// The number of numbers in a packed symmetric matrix.
pub fn packed_length(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use halflight_testing as golden;

    fn matrices(rows: usize, columns: usize) -> impl Strategy<Value = Matrix> {
        proptest::collection::vec(-2.0..2.0_f64, rows * columns)
            .prop_map(move |entries| Matrix::from_vec(rows, columns, entries))
    }

    #[test]
    fn the_weighted_moment_its_difference_and_its_eigenvalues_agree_with_the_reference() {
        let golden = golden::discrepancy();
        let target = golden.records("T_clipped");
        let moment = weighted_outer_sum(&target, &[0.2; 5]);
        golden::assert_close(&moment, &golden.rows("M0"), 1e-12);
        let source = golden.records("inputs.X");
        let q = golden.vector("inputs.q");
        let difference = &moment - weighted_outer_sum(&source, q.as_slice());
        golden::assert_close(&difference, &golden.rows("M_q"), 1e-12);
        assert!((spectral_norm(&difference) - golden.number("spec_norm")).abs() < 1e-12);
        let (mut values, _) = eigen(&difference).unwrap();
        values.as_mut_slice().sort_by(f64::total_cmp);
        golden::assert_near(&values, &golden.vector("eig_M_q"), 1e-12);
    }

    #[test]
    fn quadratic_forms_give_the_reference_gradient() {
        let golden = golden::discrepancy();
        let forms = quadratic_forms(&golden.records("inputs.X"), &golden.rows("E"));
        golden::assert_near(&-forms, &golden.vector("grad_F"), 1e-12);
    }

    #[test]
    fn blocks_add_up_and_columns_without_weight_are_never_read() {
        let columns = 2 * BLOCK + 7;
        let mut features = Matrix::from_fn(3, columns, |i, j| ((i * 31 + j * 17) % 23) as f64);
        let mut weights: Vec<f64> = (0..columns).map(|j| (j % 5) as f64).collect();
        weights[40] = 0.0;
        features[(1, 40)] = f64::NAN;
        let mut plain = Matrix::zeros(3, 3);
        for j in (0..columns).filter(|j| weights[*j] > 0.0) {
            plain += weights[j] * features.column(j) * features.column(j).transpose();
        }
        // Whole numbers, so every order of summation is exact.
        assert_eq!(weighted_outer_sum(&features, &weights), plain);
        features[(1, 40)] = 0.0;
        let forms = quadratic_forms(&features, &plain);
        for j in [0, BLOCK, columns - 1] {
            let x = features.column(j);
            assert_eq!(forms[j], x.dot(&(&plain * x)));
        }
    }

    #[test]
    fn a_matrix_with_something_else_than_numbers_has_no_norm_and_no_eigenvalues() {
        let mut matrix = Matrix::identity(3, 3);
        matrix[(1, 2)] = f64::NAN;
        assert!(spectral_norm(&matrix).is_nan());
        assert!(eigen(&matrix).is_none());
    }

    proptest! {
        #[test]
        fn packing_keeps_the_norm_and_can_be_undone(square in matrices(4, 4)) {
            let symmetric = &square + square.transpose();
            let packed = pack(&symmetric);
            prop_assert_eq!(packed.len(), packed_length(4));
            let norm = packed.iter().map(|p| p * p).sum::<f64>().sqrt();
            prop_assert!((norm - symmetric.norm()).abs() < 1e-12);
            prop_assert!((unpack(&packed, 4) - symmetric).amax() < 1e-14);
        }

        #[test]
        fn no_direction_is_stretched_by_more_than_the_spectral_norm(
            square in matrices(5, 5),
            direction in matrices(5, 1),
        ) {
            let symmetric = &square + square.transpose();
            let stretched = (&symmetric * &direction).norm();
            prop_assert!(stretched <= spectral_norm(&symmetric) * direction.norm() + 1e-10);
        }
    }
}
