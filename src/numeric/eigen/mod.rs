//! All eigenvalues and eigenvectors of a dense symmetric matrix.
//!
//! The textbook's two steps (reflections to a tridiagonal matrix, then implicit QR sweeps) in an
//! order that suits the hardware. The reflections read and write the shrinking matrix once each.
//! The sweeps run on two diagonals and only record their rotations, while another thread multiplies
//! the reflections. The eigenvectors get all rotations at once, for a few rows at a time that stay
//! in the cache.
//!
//! All rotations together take more time than the reflections. So the eigenvectors of a large matrix
//! come from divide and conquer, whose work is in products of matrices, and the reflections are
//! applied to them in blocks.
//!
//! | module | holds |
//! |---|---|
//! | [`reduce`] | the reflections, and the resulting tridiagonal matrix |
//! | [`basis`] | their product |
//! | [`sweep`] | the sweeps on the tridiagonal matrix |
//! | [`rotate`] | the effect of the sweeps on the basis |
//! | [`divide`] | divide and conquer on the tridiagonal matrix |
//! | [`secular`] | the equation whose roots are the eigenvalues of two parts together |
//! | [`back`] | the reflections applied to the resulting eigenvectors |
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

mod back;
mod basis;
mod divide;
mod reduce;
mod rotate;
mod secular;
mod sweep;

use self::back::turn_back;
use self::basis::Reflect;
use self::divide::Division;
use self::reduce::Reduce;
use self::rotate::rotated;
use self::sweep::{Rotations, Tridiagonal};
use super::{Matrix, Vector, four_lanes, fused, parallel};

/// Columns of a block. Matrices are filled up with zeros to whole blocks. The number of lanes of a
/// register divides this, so there is no remainder.
const BLOCK: usize = 4;

/// If the largest entry is about one, smaller squares count as zero: they are far below the
/// rounding errors, and their own squares would be inexact.
const NOTHING: f64 = 1e-100;

/// From this size on, divide and conquer is faster than the sweeps, with a leaf of this size.
const LARGE: usize = 300;
const LEAF: usize = 48;

/// The most pairs of sweeps per eigenvalue; one is usual.
const PATIENCE: usize = 15;

/// Eigenvalues and eigenvectors (columns), unsorted, of a symmetric matrix, whose entries above the
/// diagonal are not used. `None` only if one is not finite: sensitivities are proved for scores
/// that every finite matrix has. The result is the same to the last bit for any number of threads.
pub fn eigen(matrix: &Matrix) -> Option<(Vector, Matrix)> {
    let scale = scale(matrix.as_slice())?;
    let found = if matrix.nrows() < LARGE {
        let threads = parallel::threads_for(matrix.nrows().pow(3));
        decompose(matrix, scale, threads, PATIENCE)
    } else {
        decompose_by_division(matrix, scale, LEAF)
    };
    found.or_else(|| Some(slowly(matrix)))
}

/// Only the eigenvalues, unsorted, as from [`eigen`] up to rounding.
pub fn eigenvalues(matrix: &Matrix) -> Option<Vector> {
    let scale = scale(matrix.as_slice())?;
    if matrix.is_empty() {
        return Some(Vector::zeros(0));
    }
    let (_, mut tridiagonal) = reduced(matrix, scale);
    Some(match tridiagonal.diagonalise(PATIENCE) {
        Some(_) => Vector::from_vec(tridiagonal.diagonal) / scale,
        None => slowly(matrix).0,
    })
}

/// For a matrix on which the sweeps do not converge; no such matrix is known.
fn slowly(matrix: &Matrix) -> (Vector, Matrix) {
    let decomposition = matrix.clone().symmetric_eigen();
    (decomposition.eigenvalues, decomposition.eigenvectors)
}

/// `None` if it does not converge within this many pairs of sweeps per eigenvalue.
fn decompose(
    matrix: &Matrix,
    scale: f64,
    threads: usize,
    patience: usize,
) -> Option<(Vector, Matrix)> {
    let dimension = matrix.nrows();
    if dimension == 0 {
        return Some((Vector::zeros(0), Matrix::zeros(0, 0)));
    }
    let (reflectors, mut tridiagonal) = reduced(matrix, scale);
    let mut rotations = None;
    let mut basis = vec![0.0; reflectors.len()];
    let columns = basis.chunks_exact_mut(reflectors.len() / dimension.div_ceil(BLOCK));
    let columns = columns.enumerate().map(|(block, columns)| {
        EigenTask::Reflect(Reflect { reflectors: &reflectors, first: block * BLOCK, columns })
    });
    let sweeps = EigenTask::Sweep(&mut tridiagonal, patience, &mut rotations);
    parallel::share_out(std::iter::once(sweeps).chain(columns).collect(), threads, &EigenTask::run);

    let vectors = rotated(&basis, dimension, &rotations?, threads);
    Some((Vector::from_vec(tridiagonal.diagonal) / scale, vectors))
}

/// By divide and conquer. `None` if the sweeps of a leaf do not converge.
fn decompose_by_division(matrix: &Matrix, scale: f64, leaf: usize) -> Option<(Vector, Matrix)> {
    let dimension = matrix.nrows();
    let (reflectors, Tridiagonal { diagonal: mut values, squares }) = reduced(matrix, scale);
    let beside: Vec<f64> =
        squares.iter().map(|square| square.abs().sqrt().copysign(*square)).collect();
    let mut vectors = Matrix::zeros(dimension, dimension);
    let columns = vectors.as_mut_slice();
    Division { values: &mut values, beside: &beside, columns, height: dimension, first: 0, leaf }
        .conquer()?;
    turn_back(&reflectors, &mut vectors);
    Some((Vector::from_vec(values) / scale, vectors))
}

/// The reflections, and the tridiagonal matrix into which they turn scale·matrix.
fn reduced(matrix: &Matrix, scale: f64) -> (Vec<f64>, Tridiagonal) {
    let dimension = matrix.nrows();
    let mut reflectors = lower_blocks(matrix, scale);
    let mut tridiagonal =
        Tridiagonal { diagonal: vec![0.0; dimension], squares: vec![0.0; dimension - 1] };
    four_lanes().dispatch(Reduce { matrix: &mut reflectors, tridiagonal: &mut tridiagonal });
    (reflectors, tridiagonal)
}

/// The power of two that brings the largest entry near one, so that squares stay finite.
fn scale(entries: &[f64]) -> Option<f64> {
    // The bits of positive numbers have the order of the numbers, followed by infinity and NaN, and
    // the largest integer is found faster.
    let largest = entries.iter().map(|entry| entry.abs().to_bits()).max().map(f64::from_bits);
    match largest {
        Some(largest) if !largest.is_finite() => None,
        Some(largest) if largest > 0.0 => {
            Some((-largest.log2().floor()).clamp(-1000.0, 1000.0).exp2())
        }
        _ => Some(1.0),
    }
}

/// scale·matrix in whole blocks: those on the diagonal and below.
fn lower_blocks(matrix: &Matrix, scale: f64) -> Vec<f64> {
    let dimension = matrix.nrows();
    let padded = dimension.next_multiple_of(BLOCK);
    let mut blocks = vec![0.0; padded * padded];
    for (j, column) in matrix.as_slice().chunks_exact(dimension).enumerate() {
        for (to, from) in blocks[j * padded + j..].iter_mut().zip(&column[j..]) {
            *to = scale * from;
        }
        for i in j + 1..(j + 1).next_multiple_of(BLOCK) {
            blocks[i * padded + j] = blocks[j * padded + i];
        }
    }
    blocks
}

/// What can be done at the same time once the matrix is tridiagonal.
enum EigenTask<'a> {
    Sweep(&'a mut Tridiagonal, usize, &'a mut Option<Rotations>),
    Reflect(Reflect<'a>),
}

impl EigenTask<'_> {
    fn run(self) {
        match self {
            Self::Sweep(tridiagonal, patience, rotations) => {
                *rotations = tridiagonal.diagonalise(patience);
            }
            Self::Reflect(reflect) => four_lanes().dispatch(reflect),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The largest error of a residual or a scalar product, in units of d·ε.
    const TOLERANCE: f64 = 4.0;

    #[track_caller]
    fn assert_decomposed(matrix: &Matrix) {
        let (values, vectors) = eigen(matrix).unwrap();
        assert_eq!(eigenvalues(matrix).unwrap(), values);
        assert_solves(matrix, &values, &vectors);
        if matrix.is_empty() {
            return;
        }
        let scale = scale(matrix.as_slice()).unwrap();
        for leaf in [1, 5] {
            let (divided, vectors) = decompose_by_division(matrix, scale, leaf).unwrap();
            assert_solves(matrix, &divided, &vectors);
            let size = matrix.amax().max(f64::MIN_POSITIVE);
            let unit = TOLERANCE * f64::EPSILON * matrix.nrows() as f64;
            let difference = (sorted(divided) - sorted(values.clone())) / size;
            assert!(difference.amax() <= unit * (matrix / size).norm(), "{difference}");
        }
    }

    fn sorted(mut values: Vector) -> Vector {
        values.as_mut_slice().sort_by(f64::total_cmp);
        values
    }

    #[track_caller]
    fn assert_solves(matrix: &Matrix, values: &Vector, vectors: &Matrix) {
        let dimension = matrix.nrows();
        let unit = TOLERANCE * f64::EPSILON * dimension as f64;
        let gram = vectors.tr_mul(vectors) - Matrix::identity(dimension, dimension);
        assert!(gram.iter().all(|entry| entry.abs() <= unit), "{:e}", gram.amax());
        let size = matrix.amax().max(f64::MIN_POSITIVE);
        let residual =
            (matrix / size) * vectors - vectors * Matrix::from_diagonal(&(values / size));
        let unit = unit * (matrix / size).norm();
        assert!(residual.iter().all(|entry| entry.abs() <= unit), "{:e}", residual.amax());
    }

    fn symmetric(
        dimension: usize,
        entries: &[f64],
        entry: impl Fn(usize, usize, f64) -> f64,
    ) -> Matrix {
        Matrix::from_fn(dimension, dimension, |i, j| {
            let (i, j) = (i.max(j), i.min(j));
            entry(i, j, entries[(i * dimension + j) % entries.len()])
        })
    }

    proptest! {
        #[test]
        fn any_matrix_is_decomposed(
            dimension in 0..70_usize,
            rank in 1..6_usize,
            exponent in -150..150_i32,
            entries in proptest::collection::vec(-1.0..1.0_f64, 997),
        ) {
            let dense = symmetric(dimension, &entries, |_, _, x| x);
            assert_decomposed(&dense);
            assert_decomposed(&(&dense * 10_f64.powi(2 * exponent)));
            // Graded over hundreds of powers of ten, blocks that do not touch, small integers.
            let grade = f64::from(exponent) / 75.0;
            assert_decomposed(&symmetric(dimension, &entries, |i, j, x| x * 10_f64.powf(grade * (i + j) as f64)));
            assert_decomposed(&symmetric(dimension, &entries, |i, j, x| if i / rank == j / rank { x } else { 0.0 }));
            assert_decomposed(&symmetric(dimension, &entries, |_, _, x| (3.0 * x).trunc()));
            let thin = Matrix::from_fn(dimension, rank, |i, j| entries[i * rank + j]);
            assert_decomposed(&(&thin * thin.transpose()));
            // Eigenvalues that are almost equal.
            if let Some((_, basis)) = eigen(&dense) {
                let values = Vector::from_fn(dimension, |i, _| (i % rank) as f64 + 1e-13 * entries[i]);
                let clustered = &basis * Matrix::from_diagonal(&values) * basis.transpose();
                assert_decomposed(&symmetric(dimension, &[0.0], |i, j, _| clustered[(i, j)]));
            }
        }
    }

    #[test]
    fn plain_and_extreme_matrices_are_decomposed() {
        for dimension in [1, 2, 3, 4, 5, 16, 17, 130] {
            let ones = Matrix::from_element(dimension, dimension, 1.0);
            for matrix in [
                Matrix::identity(dimension, dimension),
                Matrix::zeros(dimension, dimension),
                Matrix::from_diagonal(&Vector::from_fn(dimension, |i, _| (i % 7) as f64 - 3.0)),
                symmetric(dimension, &[0.0], |i, j, _| if i == j + 1 { 1.0 } else { 0.0 }),
                symmetric(dimension, &[0.0], |i, j, _| 1.0 / (1 + i + j) as f64),
                wilkinson(dimension),
                &ones * 1e300,
                &ones * 5e-324,
                ones,
            ] {
                assert_decomposed(&matrix);
            }
        }
    }

    /// Pairs of eigenvalues agree in up to all digits.
    fn wilkinson(dimension: usize) -> Matrix {
        symmetric(dimension, &[0.0], |i, j, _| match i - j {
            0 => (i as f64 - (dimension - 1) as f64 / 2.0).abs(),
            1 => 1.0,
            _ => 0.0,
        })
    }

    #[test]
    fn large_matrices_are_divided_and_keep_their_bits_on_any_number_of_threads() {
        let entries: Vec<f64> = (0..997).map(|i| f64::from(i * i % 1009) / 500.0 - 1.0).collect();
        let dimension = LARGE + 61;
        for matrix in [
            symmetric(dimension, &entries, |_, _, x| x),
            symmetric(dimension, &entries, |i, j, x| if i / 90 == j / 90 { x } else { 0.0 }),
            wilkinson(dimension),
        ] {
            let (values, vectors) = eigen(&matrix).unwrap();
            assert_solves(&matrix, &values, &vectors);
            for threads in [1, 2, 3, 8] {
                let found = parallel::with_threads(threads, || eigen(&matrix).unwrap());
                assert_eq!(found, (values.clone(), vectors.clone()));
            }
            let difference = sorted(values) - sorted(eigenvalues(&matrix).unwrap());
            assert!(difference.amax() < 1e-12 * matrix.norm(), "{difference}");
        }
    }

    #[test]
    fn the_eigenvalues_are_those_of_a_slower_way_and_the_upper_triangle_is_not_used() {
        let entries: Vec<f64> = (0..997).map(|i| f64::from(i * i % 1009) / 500.0 - 1.0).collect();
        let matrix = symmetric(150, &entries, |_, _, x| x);
        let mut other = matrix.clone();
        other.fill_upper_triangle(7.0, 1);
        let found = eigen(&matrix).unwrap();
        assert_eq!(found, eigen(&other).unwrap());
        let (mut values, mut slower) = (found.0, matrix.symmetric_eigenvalues());
        values.as_mut_slice().sort_by(f64::total_cmp);
        slower.as_mut_slice().sort_by(f64::total_cmp);
        assert!((values - slower).amax() < 1e-12);
        let on = |threads| decompose(&matrix, 1.0, threads, PATIENCE).unwrap();
        for threads in 2..4 {
            assert_eq!(on(threads), on(1));
        }
        // If the sweeps end too soon, the slower method is used.
        assert!(decompose(&matrix, 1.0, 1, 0).is_none());
        let (values, vectors) = slowly(&matrix);
        let residual = &matrix * &vectors - &vectors * Matrix::from_diagonal(&values);
        assert!(residual.amax() < 1e-12);
    }

    #[test]
    fn a_matrix_with_something_else_than_numbers_has_no_eigenvalues() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut matrix = Matrix::identity(9, 9);
            matrix[(7, 2)] = odd;
            assert!(eigen(&matrix).is_none());
        }
    }
}
