//! The spectral norm of a symmetric matrix.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::eigen::{eigen, eigenvalues};
use super::{Matrix, Vector};

/// The largest absolute eigenvalue; NaN if an entry is not finite.
pub fn spectral_norm(matrix: &Matrix) -> f64 {
    if !matrix.iter().all(|entry| entry.is_finite()) {
        return f64::NAN;
    }
    largest_by_lanczos(matrix)
        .or_else(|| eigenvalues(matrix).map(|values| values.amax()))
        .unwrap_or(f64::NAN)
}

/// Up to this size all eigenvalues take a few milliseconds.
const SMALL: usize = 128;
/// The number of products with the matrix that costs as much as all eigenvalues.
const MOST_PRODUCTS: usize = 300;
/// Products between two tests of convergence.
const PRODUCTS: usize = 10;
/// Largest residual, relative to the eigenvalue. The eigenvalue's own error is of the order of
/// its square.
const RESIDUAL: f64 = 1e-8;

/// The largest absolute eigenvalue by the Lanczos iteration with full orthogonalisation: β times
/// the last entry of an eigenvector of the tridiagonal matrix is the residual of its eigenvalue.
/// `None` for small matrices, and for those that need too many steps.
fn largest_by_lanczos(matrix: &Matrix) -> Option<f64> {
    let size = matrix.nrows();
    if size <= SMALL {
        return None;
    }
    let mut generator = ChaCha20Rng::seed_from_u64(size as u64);
    let start = Vector::from_fn(size, |_, _| StandardNormal.sample(&mut generator));
    let most = MOST_PRODUCTS.min(size / 2);
    let mut basis = Matrix::zeros(size, most);
    basis.set_column(0, &start.normalize());
    let (mut diagonal, mut beside): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for step in 1..=most {
        let newest = basis.column(step - 1);
        let mut image = matrix * newest;
        diagonal.push(image.dot(&newest));
        let known = basis.columns(0, step);
        for _ in 0..2 {
            image -= known * known.tr_mul(&image);
        }
        let rest = image.norm();
        beside.push(rest);
        let scale = diagonal.iter().chain(&beside).fold(0.0, |most: f64, it| most.max(it.abs()));
        // Everything reachable from the start was found. For a random start this is everything.
        let is_complete = rest <= f64::EPSILON * scale * size as f64;
        if is_complete || step % PRODUCTS == 0 {
            let inside = Matrix::from_fn(step, step, |row, column| match row.abs_diff(column) {
                0 => diagonal[row],
                1 => beside[row.min(column)],
                _ => 0.0,
            });
            let (values, vectors) = eigen(&inside)?;
            let at = values.iamax();
            let value = values[at].abs();
            if is_complete || rest * vectors[(step - 1, at)].abs() <= RESIDUAL * value {
                return Some(value);
            }
        }
        if step < most {
            basis.set_column(step, &(image / rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn symmetric(size: usize, seed: u64) -> Matrix {
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let entries = Matrix::from_fn(size, size, |_, _| StandardNormal.sample(&mut generator));
        &entries + entries.transpose()
    }

    /// Positive, negative, with equal and opposite ends, of low rank, and zero.
    fn matrices(size: usize, seed: u64) -> [Matrix; 6] {
        let noise = symmetric(size, seed);
        let few = noise.columns(0, size.min(3));
        let low = few * few.transpose();
        let both = Matrix::from_fn(size, size, |row, column| match (row == column, row % 2) {
            (false, _) => 0.0,
            (true, 0) => 2.0,
            (true, _) => -2.0,
        });
        [&noise * &noise, -&noise * &noise, noise, low, both, Matrix::zeros(size, size)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn it_is_the_largest_of_all_eigenvalues(size in 1..260_usize, seed in any::<u64>()) {
            for matrix in matrices(size, seed) {
                let all = matrix.symmetric_eigenvalues().amax();
                let ours = spectral_norm(&matrix);
                prop_assert!((ours - all).abs() <= 1e-9 * all, "{ours} {all}");
            }
        }
    }

    #[test]
    fn large_matrices_do_without_all_eigenvalues() {
        for matrix in matrices(700, 1) {
            let ours = largest_by_lanczos(&matrix).unwrap();
            let all = matrix.symmetric_eigenvalues().amax();
            assert!((ours - all).abs() <= 1e-9 * all, "{ours} {all}");
        }
    }

    #[test]
    fn what_is_no_number_has_no_norm() {
        for size in [3, 300] {
            let mut matrix = symmetric(size, 2);
            matrix[(1, 2)] = f64::NAN;
            assert!(spectral_norm(&matrix).is_nan());
        }
    }
}
