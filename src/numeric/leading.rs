//! The largest eigenvalues of a symmetric matrix and their eigenvectors.
//!
//! Block Lanczos with full orthogonalisation: an orthonormal basis Q of the span of X, KX, K²X, …
//! grows by one block at a time, and the eigenpairs (θ, s) of T = QᵀKQ give Ritz pairs (θ, Qs). T
//! costs nothing, because its entries are the coefficients of orthogonalisation. The residual costs
//! nothing either: KQ = QT + R with R only in the columns of the last block, so ‖KQs − θQs‖ is the
//! norm of R times the last entries of s. A basis that has grown large is replaced by the best Ritz
//! vectors (a thick restart).
//!
//! *When to stop.* By Davis and Kahan the sine of the largest angle between the computed span and
//! the true one is at most ‖residuals‖/gap, where the gap is to the first eigenvalue left out. This
//! bound decides. Where the gap is tiny, small residuals are enough.
//!
//! *Equal eigenvalues.* A block of b columns finds at most b eigenvectors of one eigenvalue.
//! Eigenvalues that differ by more than the residuals can be told apart, so copies can only be
//! missed where as many equal Ritz values as columns were found. Then a wider block is used.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::product::{multiply, product, whole};
use super::tall::inner_products_with_few;
use super::{Matrix, Vector, symmetric};

/// Up to this size the whole decomposition takes a few milliseconds.
const SMALL: usize = 128;
/// Columns of a block: with fewer columns, high powers of K are reached with fewer products, but the
/// numbers of K are read for fewer of them at once.
const BLOCK: usize = 6;
/// Columns beyond the requested ones, in a block that has to hold all copies of an eigenvalue and
/// in a restart.
const MORE: usize = 6;
/// Columns of the basis before it is replaced by its best vectors.
const MOST: usize = 360;
/// Rows of a matrix per allowed restart.
const RECORDS_PER_RESTART: usize = 50;
/// Largest sine of the angle between the computed span and the true one: distances between two spans
/// then differ from the exact ones by less than 10⁻⁶. On real gradients the true angle is 20 to 50
/// times smaller than the bound of it.
pub const ANGLE: f64 = 4e-7;
/// Residuals, relative to the largest eigenvalue, that are small enough for any gap.
const TOLERANCE: f64 = 1e-11;
/// Ritz values that are no further apart than this, relative to the first of them, may be one
/// eigenvalue.
const EQUAL: f64 = 1e-3;
/// A direction of which less than this is left is rounding noise.
const NOTHING: f64 = 1e-13;
/// A column that was outside all others is rounding noise if less than this is left of it.
const ROUNDING: f64 = 1e-3;

/// Eigenvalues, largest first, and their eigenvectors as columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Leading {
    pub values: Vec<f64>,
    pub vectors: Matrix,
    /// The first eigenvalue after the requested ones, precise enough for the gap.
    pub next: Option<f64>,
}

/// The `count` largest eigenvalues (all, if there are fewer). `None` for a matrix that is not
/// finite.
pub fn leading(matrix: &Matrix, count: usize) -> Option<Leading> {
    let size = matrix.nrows();
    let count = count.min(size);
    if count == 0 {
        return Some(Leading { values: Vec::new(), vectors: Matrix::zeros(size, 0), next: None });
    }
    let wide = count + MORE;
    let times = |few: &Matrix| inner_products_with_few(few, matrix).transpose();
    // With more restarts the whole decomposition, O(size³), would have been cheaper.
    let restarts = size / RECORDS_PER_RESTART;
    let of_block = |block: usize| {
        is_worthwhile(size, count, block)
            .then(|| search(&times, size, count, block, restarts))
            .flatten()
    };
    of_block(BLOCK)
        .or_else(|| if wide > BLOCK { of_block(wide) } else { None })
        .or_else(|| in_full(matrix, count))
}

/// The `count` largest eigenvalues of a matrix of `size` rows that is given by its products with a
/// few columns, from one basis. `None` also if the whole matrix is needed.
pub fn leading_of(times: &dyn Fn(&Matrix) -> Matrix, size: usize, count: usize) -> Option<Leading> {
    (count > 0 && is_worthwhile(size, count, BLOCK))
        .then(|| search(times, size, count, BLOCK, 0))
        .flatten()
}

/// Whether a few columns are cheaper than the whole matrix.
fn is_worthwhile(size: usize, count: usize, block: usize) -> bool {
    size > SMALL && size > 8 * block.max(count)
}

fn in_full(matrix: &Matrix, count: usize) -> Option<Leading> {
    let (values, vectors) = sorted(matrix)?;
    let next = values.get(count).copied();
    Some(Leading {
        values: values[..count].to_vec(),
        vectors: vectors.columns(0, count).into_owned(),
        next,
    })
}

/// An orthonormal basis, and the matrix inside it.
struct Krylov<'a> {
    times: &'a dyn Fn(&Matrix) -> Matrix,
    basis: Matrix,
    /// T = QᵀKQ
    inside: Matrix,
    /// The image of the last block under K, without the part inside.
    rest: Matrix,
    /// The largest ‖Kq‖ so far.
    scale: f64,
    generator: ChaCha20Rng,
}

/// `None` if it does not converge, may have missed copies of an eigenvalue, or meets NaN.
fn search(
    times: &dyn Fn(&Matrix) -> Matrix,
    size: usize,
    count: usize,
    block: usize,
    most_restarts: usize,
) -> Option<Leading> {
    let most = MOST.max(3 * (count + block)).min(size / 2);
    let mut krylov = Krylov::new(times, size, block);
    let mut restarts = 0;
    let mut next_look = count + 6 * block;
    loop {
        krylov.grow(block)?;
        let columns = krylov.basis.ncols();
        if columns < next_look && columns + block <= most {
            continue;
        }
        let (values, mixtures) = sorted(&krylov.inside)?;
        let excess = krylov.excess(&values, &mixtures, count);
        next_look = columns + block * blocks_for(excess);
        if excess <= 1.0 {
            let equal = |run: &[f64]| {
                run[0] > TOLERANCE * values[0] && run[0] - run[block - 1] <= EQUAL * run[0]
            };
            if block < count + MORE && values[..=count].windows(block).any(equal) {
                return None;
            }
            let vectors = krylov.vectors(&mixtures, count);
            let next = values.get(count).copied();
            return Some(Leading { values: values[..count].to_vec(), vectors, next });
        }
        if columns + block > most {
            restarts += 1;
            if restarts > most_restarts {
                return None;
            }
            let kept = (most / 2).min(count + count / 2 + 2 * MORE);
            krylov.restart(&values, &mixtures, kept);
            next_look = kept + (most - kept) / 2;
        }
    }
}

impl<'a> Krylov<'a> {
    fn new(times: &'a dyn Fn(&Matrix) -> Matrix, size: usize, block: usize) -> Self {
        let mut krylov = Self {
            times,
            basis: Matrix::zeros(size, 0),
            inside: Matrix::zeros(0, 0),
            rest: Matrix::zeros(size, 0),
            scale: 0.0,
            generator: ChaCha20Rng::seed_from_u64(size as u64),
        };
        krylov.rest = krylov.random(block);
        krylov
    }

    fn random(&mut self, columns: usize) -> Matrix {
        let generator = &mut self.generator;
        Matrix::from_fn(self.basis.nrows(), columns, |_, _| StandardNormal.sample(generator))
    }

    /// Adds the rest of the last block's image to the basis. If nothing is left, the basis holds
    /// everything reachable from the first block, and random vectors are added. `None` if an image
    /// is not finite.
    fn grow(&mut self, block: usize) -> Option<()> {
        let rest = std::mem::take(&mut self.rest);
        let mut added = self.beside(rest, NOTHING * self.scale);
        if added.ncols() == 0 {
            let random = self.random(block);
            added = self.beside(self.outside(random).1, 0.0);
        }
        let image = (self.times)(&added);
        if !image.iter().all(|entry| entry.is_finite()) {
            return None;
        }
        self.scale = image.column_iter().map(|column| column.norm()).fold(self.scale, f64::max);
        let known = self.basis.ncols();
        let columns = known + added.ncols();
        let basis = std::mem::take(&mut self.basis);
        self.basis = basis.resize_horizontally(columns, 0.0);
        self.basis.columns_mut(known, added.ncols()).copy_from(&added);
        let (shares, rest) = self.outside(image);
        self.rest = rest;
        self.inside.resize_mut(columns, columns, 0.0);
        self.inside.columns_mut(known, columns - known).copy_from(&shares);
        self.inside.fill_lower_triangle_with_upper_triangle();
        Some(())
    }

    /// Orthonormal columns with the span of `outside`, which was made orthogonal to the basis. If
    /// little is left of a column, its rounding error is large, so this is done once more. A column
    /// that is still inside the basis was only rounding noise.
    fn beside(&self, outside: Matrix, least: f64) -> Matrix {
        let once = orthonormal(outside, least);
        orthonormal(self.outside(once).1, ROUNDING)
    }

    /// The part of `block` inside the basis, and the rest.
    fn outside(&self, mut block: Matrix) -> (Matrix, Matrix) {
        let shares = inner_products_with_few(&block, &self.basis).transpose();
        if self.basis.ncols() > 0 {
            multiply(block.as_mut_slice(), &whole(&self.basis), &whole(&-&shares), 1.0);
        }
        (shares, block)
    }

    /// ‖residuals‖ of the first Ritz pairs, as a multiple of what is small relative to the gap after
    /// them, or small by itself.
    fn excess(&self, values: &[f64], mixtures: &Matrix, count: usize) -> f64 {
        let columns = self.basis.ncols();
        if columns <= count {
            return f64::INFINITY;
        }
        let last = self.rest.ncols();
        let last = mixtures.view((columns - last, 0), (last, count)).into_owned();
        let gap = values[count - 1] - values[count];
        let allowed = f64::max(ANGLE * gap, TOLERANCE * values[0].abs());
        let residuals = times(&self.rest, &last).norm();
        if residuals <= allowed { 1.0 } else { residuals / allowed }
    }

    fn vectors(&self, mixtures: &Matrix, count: usize) -> Matrix {
        times(&self.basis, &mixtures.columns(0, count).into_owned())
    }

    /// Continues with only the best Ritz vectors.
    fn restart(&mut self, values: &[f64], mixtures: &Matrix, kept: usize) {
        self.basis = self.vectors(mixtures, kept);
        self.inside = Matrix::from_diagonal(&Vector::from_column_slice(&values[..kept]));
    }
}

/// The orthonormalised columns, without those of which less than `least` is left.
fn orthonormal(mut block: Matrix, least: f64) -> Matrix {
    let mut kept: Vec<usize> = Vec::new();
    for index in 0..block.ncols() {
        let (earlier, mut rest) = block.columns_range_pair_mut(0..index, index..);
        let mut column = rest.column_mut(0);
        let before = column.norm();
        for _ in 0..2 {
            for other in &kept {
                let other = earlier.column(*other);
                let share = other.dot(&column);
                column.axpy(-share, &other, 1.0);
            }
        }
        let norm = column.norm();
        if norm > least.max(NOTHING * before) {
            column /= norm;
            kept.push(index);
        }
    }
    if kept.len() < block.ncols() { block.select_columns(&kept) } else { block }
}

fn times(left: &Matrix, right: &Matrix) -> Matrix {
    product(&whole(left), &whole(right))
}

/// Blocks until the residuals may be small enough, if a block makes them ten times smaller at most.
fn blocks_for(excess: f64) -> usize {
    excess.log10().ceil().clamp(1.0, 8.0) as usize
}

/// All eigenpairs, the largest eigenvalue first.
pub(super) fn sorted(matrix: &Matrix) -> Option<(Vec<f64>, Matrix)> {
    let (values, vectors) = symmetric::eigen(matrix)?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let vectors = vectors.select_columns(&order);
    Some((order.into_iter().map(|index| values[index]).collect(), vectors))
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
        let product = scaled * basis.transpose();
        0.5 * (&product + product.transpose())
    }

    fn check(matrix: &Matrix, values: &[f64], count: usize) {
        let found = leading(matrix, count).unwrap();
        let largest = values[0];
        for (index, value) in found.values.iter().enumerate() {
            let wanted = values.get(index).copied().unwrap_or(0.0);
            assert!((value - wanted).abs() < 1e-10 * largest, "{index}: {value} {wanted}");
            let vector = found.vectors.column(index);
            let residual = (matrix * vector - *value * vector).norm();
            assert!(residual < 2e-8 * largest, "{index}: {residual}");
        }
        let gram = found.vectors.transpose() * &found.vectors;
        assert!((gram - Matrix::identity(count, count)).amax() < 1e-12);
    }

    #[test]
    fn eigenpairs_are_found_in_small_large_and_degenerate_spectra() {
        let decaying: Vec<f64> = (0..250).map(|i| 100.0 * 0.9_f64.powi(i)).collect();
        let slow: Vec<f64> = (0..250).map(|i| 1.0 / f64::from(i + 1)).collect();
        // Nine copies of each eigenvalue, as with random labels of ten classes.
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
    fn copies_of_an_eigenvalue_are_all_found_even_more_than_a_block_has_columns() {
        for copies in [BLOCK, BLOCK + 1, 40] {
            let mut values = vec![7.0; copies];
            values.extend((0..80).map(|i| 5.0 * 0.9_f64.powi(i)));
            let matrix = with_spectrum(420, &values);
            for count in [1, 20, 27] {
                check(&matrix, &values, count);
            }
        }
    }

    #[test]
    fn a_span_of_large_matrices_is_as_exact_as_its_gap_allows_and_the_next_value_is_told() {
        let values: Vec<f64> = (0..500).map(|i| 1.0 / (1.0 + f64::from(i)).powf(0.7)).collect();
        let matrix = with_spectrum(500, &values);
        for count in [5, 18] {
            let found = leading(&matrix, count).unwrap();
            let (_, exact) = sorted(&matrix).unwrap();
            let exact = exact.columns(0, count).into_owned();
            let outside = &exact - &found.vectors * found.vectors.tr_mul(&exact);
            assert!(outside.norm() < 2.0 * ANGLE, "{}", outside.norm());
            assert!((found.next.unwrap() - values[count]).abs() < 1e-6);
        }
        assert_eq!(leading(&Matrix::identity(3, 3), 3).unwrap().next, None);
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
    fn a_matrix_that_is_known_by_its_products_alone_has_the_same_eigenpairs_or_none_here() {
        let decaying: Vec<f64> = (0..300).map(|i| 100.0 * 0.9_f64.powi(i)).collect();
        let matrix = with_spectrum(300, &decaying);
        let times = |few: &Matrix| &matrix * few;
        let found = leading_of(&times, 300, 9).unwrap();
        for (found, value) in found.values.iter().zip(&decaying) {
            assert!((found - value).abs() < 1e-9, "{found} {value}");
        }
        // Too small, or nothing requested: then it is pointless.
        assert!(leading_of(&times, 20, 9).is_none() && leading_of(&times, 300, 0).is_none());
    }

    #[test]
    fn what_is_not_made_of_numbers_has_no_eigenvalues() {
        for size in [4, 300] {
            let mut matrix = Matrix::identity(size, size);
            matrix[(0, 1)] = f64::NAN;
            assert!(leading(&matrix, 2).is_none());
        }
        assert_eq!(leading(&Matrix::zeros(0, 0), 2).unwrap().values.len(), 0);
    }
}
