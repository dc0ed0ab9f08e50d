//! All reflections, applied to the eigenvectors of the tridiagonal matrix.
//!
//! A run of reflections I − uuᵀ has the product I − USUᵀ, where the u are the columns of U, and S is
//! a small triangular matrix. So most of the work is in products of large matrices.

use super::Matrix;
use crate::product::{Strided, for_columns, multiply, parts_of_columns};

/// Reflections that are applied together.
const RUN: usize = 64;

/// A run of reflections.
struct ReflectionRun<'a> {
    /// The first row that they change.
    first: usize,
    u: Strided<'a>,
    s: Matrix,
}

impl<'a> ReflectionRun<'a> {
    fn of(reflectors: &'a [f64], height: usize, padded: usize, start: usize) -> Self {
        let first = start + 1;
        let count = RUN.min(height - first);
        let u = Strided::by_columns(
            &reflectors[start * padded + first..],
            height - first,
            count,
            padded,
        );
        let mut gram = Matrix::zeros(count, count);
        multiply(gram.as_mut_slice(), &u.transpose(), &u, 0.0);
        let mut s = Matrix::identity(count, count);
        for k in 1..count {
            let column = -s.view((0, 0), (k, k)) * gram.view((0, k), (k, 1));
            s.view_mut((0, k), (k, 1)).copy_from(&column);
        }
        Self { first, u, s }
    }

    /// Applies them to columns.
    fn apply(&self, columns: &mut [f64], height: usize) {
        let (rows, width) = (height - self.first, columns.len() / height);
        let count = self.u.ncols();
        let mut inner = vec![0.0; count * width];
        let below = Strided::by_columns(&columns[self.first..], rows, width, height);
        multiply(&mut inner, &self.u.transpose(), &below, 0.0);
        let mut shares = vec![0.0; count * width];
        let s = Strided::by_columns(self.s.as_slice(), count, count, count);
        multiply(&mut shares, &s, &Strided::by_columns(&inner, count, width, count), 0.0);
        let mut change = vec![0.0; rows * width];
        multiply(&mut change, &self.u, &Strided::by_columns(&shares, count, width, count), 0.0);
        for (column, change) in columns.chunks_exact_mut(height).zip(change.chunks_exact(rows)) {
            for (entry, change) in column[self.first..].iter_mut().zip(change) {
                *entry -= change;
            }
        }
    }
}

/// Applies the reflections whose vectors are the columns of `reflectors`, the last one first.
pub(super) fn turn_back(reflectors: &[f64], vectors: &mut Matrix) {
    let height = vectors.nrows();
    let padded = height.next_multiple_of(super::BLOCK);
    let runs: Vec<ReflectionRun<'_>> = (0..height - 1)
        .step_by(RUN)
        .map(|start| ReflectionRun::of(reflectors, height, padded, start))
        .collect();
    let parts = parts_of_columns(height.pow(3), height);
    for_columns(vectors.as_mut_slice(), height, parts, |_, columns| {
        for run in runs.iter().rev() {
            run.apply(columns, height);
        }
    });
}
