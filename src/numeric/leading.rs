//! The largest eigenvalues of a positive semidefinite matrix and their eigenvectors.
//!
//! Block Krylov with full orthogonalisation and Rayleigh–Ritz: the span of K, K², … applied
//! to a random block holds the leading eigenvectors after a few products, also those of
//! equal eigenvalues as long as the block has more columns than an eigenvalue has copies.
//! Residuals ‖Ku − λu‖ decide when to stop; a spectrum too flat for that, and any small
//! matrix, is decomposed in full.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::product::{inner_products, plain, product};
use super::{Matrix, symmetric};

/// Up to this size the whole decomposition takes a few milliseconds.
const SMALL: usize = 96;
/// Columns of the block beyond those asked for.
const MORE: usize = 6;
/// Products with the matrix before the basis is replaced by what it found.
const DEPTH: usize = 12;
const RESTARTS: usize = 30;
/// Largest residual, relative to the largest eigenvalue.
const TOLERANCE: f64 = 1e-11;
/// A direction that loses more than this to those before it is made of rounding.
const NOTHING: f64 = 1e-13;

/// Eigenvalues, largest first, and their eigenvectors as columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Leading {
    pub values: Vec<f64>,
    pub vectors: Matrix,
}

/// The `count` largest eigenvalues (all, where there are fewer). `None` for a matrix that
/// holds something else than numbers.
pub fn leading(matrix: &Matrix, count: usize) -> Option<Leading> {
    let size = matrix.nrows();
    let count = count.min(size);
    if !matrix.iter().all(|entry| entry.is_finite()) {
        return None;
    }
    if count == 0 {
        return Some(Leading { values: Vec::new(), vectors: Matrix::zeros(size, 0) });
    }
    let block = count + MORE;
    if size <= SMALL || (DEPTH + 1) * block >= size {
        return in_full(matrix, count);
    }
    let mut generator = ChaCha20Rng::seed_from_u64(size as u64);
    let mut start = Matrix::from_fn(size, block, |_, _| StandardNormal.sample(&mut generator));
    for _ in 0..RESTARTS {
        let (basis, images) = krylov(matrix, &start);
        if basis.ncols() < count {
            // Fewer directions than asked for are not zero: the rest is arbitrary.
            return in_full(matrix, count);
        }
        let (values, mixtures) = symmetric::eigen(&symmetrised(inner_products(&basis, &images)))?;
        let order = descending(values.as_slice());
        let kept = block.min(order.len());
        let mixtures = mixtures.select_columns(&order[..kept]);
        let vectors = times(&basis, &mixtures);
        let images = times(&images, &mixtures);
        let values: Vec<f64> = order[..kept].iter().map(|index| values[*index]).collect();
        let residual =
            |index: usize| (images.column(index) - values[index] * vectors.column(index)).norm();
        let largest = values[0].abs();
        if (0..count).all(|index| residual(index) <= TOLERANCE * largest) {
            let vectors = vectors.columns(0, count).into_owned();
            return Some(Leading { values: values[..count].to_vec(), vectors });
        }
        start = vectors;
    }
    in_full(matrix, count)
}

fn in_full(matrix: &Matrix, count: usize) -> Option<Leading> {
    let (values, vectors) = symmetric::eigen(matrix)?;
    let order = descending(values.as_slice());
    let order = &order[..count];
    let values = order.iter().map(|index| values[*index]).collect();
    Some(Leading { values, vectors: vectors.select_columns(order) })
}

/// An orthonormal basis of the span of start, K·start, …, and what K makes of it.
fn krylov(matrix: &Matrix, start: &Matrix) -> (Matrix, Matrix) {
    let size = matrix.nrows();
    let (mut basis, mut images) = (Vec::new(), Vec::new());
    let mut block = start.clone();
    for _ in 0..DEPTH {
        let added = orthonormalised(&basis, block, size);
        if added.ncols() == 0 {
            break;
        }
        block = product(&whole(matrix), &whole(&added));
        basis.extend_from_slice(added.as_slice());
        images.extend_from_slice(block.as_slice());
    }
    let columns = basis.len() / size;
    (Matrix::from_vec(size, columns, basis), Matrix::from_vec(size, columns, images))
}

/// The part of `block` that is orthogonal to `basis`, orthonormal; without the columns of
/// which nothing is left.
fn orthonormalised(basis: &[f64], mut block: Matrix, size: usize) -> Matrix {
    let before = block.column_iter().map(|column| column.norm()).fold(0.0, f64::max);
    let known = Matrix::from_column_slice(size, basis.len() / size, basis);
    // Twice is enough.
    for _ in 0..2 {
        if known.ncols() > 0 {
            let shares = inner_products(&known, &block);
            block -= times(&known, &shares);
        }
    }
    let mut kept: Vec<usize> = Vec::new();
    for index in 0..block.ncols() {
        let (earlier, mut rest) = block.columns_range_pair_mut(0..index, index..);
        let mut column = rest.column_mut(0);
        for _ in 0..2 {
            for other in &kept {
                let other = earlier.column(*other);
                let share = other.dot(&column);
                column.axpy(-share, &other, 1.0);
            }
        }
        let norm = column.norm();
        if norm > NOTHING * before {
            column /= norm;
            kept.push(index);
        }
    }
    if kept.len() < block.ncols() { block.select_columns(&kept) } else { block }
}

fn whole(matrix: &Matrix) -> super::product::Strided<'_> {
    plain(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}

fn times(left: &Matrix, right: &Matrix) -> Matrix {
    product(&whole(left), &whole(right))
}

fn symmetrised(matrix: Matrix) -> Matrix {
    let transposed = matrix.transpose();
    0.5 * (matrix + transposed)
}

fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with these eigenvalues (and zeros), in a random basis.
    fn with_spectrum(size: usize, values: &[f64]) -> Matrix {
        let mut generator = ChaCha20Rng::seed_from_u64(11);
        let random =
            Matrix::from_fn(size, values.len(), |_, _| StandardNormal.sample(&mut generator));
        let basis = random.qr().q();
        let mut scaled = basis.clone();
        for (mut column, value) in scaled.column_iter_mut().zip(values) {
            column *= *value;
        }
        symmetrised(scaled * basis.transpose())
    }

    fn check(matrix: &Matrix, values: &[f64], count: usize) {
        let found = leading(matrix, count).unwrap();
        let largest = values[0];
        for (index, value) in found.values.iter().enumerate() {
            let wanted = values.get(index).copied().unwrap_or(0.0);
            assert!((value - wanted).abs() < 1e-10 * largest, "{index}: {value} {wanted}");
            let vector = found.vectors.column(index);
            let residual = (matrix * vector - *value * vector).norm();
            assert!(residual < 1e-9 * largest, "{index}: {residual}");
        }
        let gram = found.vectors.transpose() * &found.vectors;
        assert!((gram - Matrix::identity(count, count)).amax() < 1e-10);
    }

    #[test]
    fn eigenpairs_are_found_in_small_large_and_degenerate_spectra() {
        let decaying: Vec<f64> = (0..250).map(|i| 100.0 * 0.9_f64.powi(i)).collect();
        let slow: Vec<f64> = (0..250).map(|i| 1.0 / f64::from(i + 1)).collect();
        // Nine copies of each eigenvalue, as random labels of ten classes make them.
        let copies: Vec<f64> = (0..250).map(|i| 0.5_f64.powi(i / 9)).collect();
        for values in [&decaying, &slow, &copies] {
            let matrix = with_spectrum(250, values);
            for count in [1, 9, 18] {
                check(&matrix, values, count);
            }
            check(&matrix.view((0, 0), (250, 250)).into_owned(), values, 60);
        }
    }

    #[test]
    fn a_matrix_of_low_rank_has_zeros_for_the_rest() {
        let values = [5.0, 3.0, 3.0, 1e-3];
        check(&with_spectrum(300, &values), &values, 8);
        check(&with_spectrum(50, &values), &values, 8);
        let nothing = leading(&Matrix::zeros(300, 300), 3).unwrap();
        assert_eq!(nothing.values, [0.0; 3]);
    }

    #[test]
    fn a_flat_spectrum_is_decomposed_in_full() {
        let values: Vec<f64> = (0..150).map(|i| 1.0 - 1e-5 * f64::from(i)).collect();
        let matrix = with_spectrum(150, &values);
        let found = leading(&matrix, 5).unwrap();
        for (found, value) in found.values.iter().zip(&values) {
            assert!((found - value).abs() < 1e-10);
        }
    }

    #[test]
    fn what_is_not_made_of_numbers_has_no_eigenvalues() {
        let mut matrix = Matrix::identity(4, 4);
        matrix[(0, 1)] = f64::NAN;
        assert!(leading(&matrix, 2).is_none());
        assert_eq!(leading(&Matrix::zeros(0, 0), 2).unwrap().values.len(), 0);
    }
}
