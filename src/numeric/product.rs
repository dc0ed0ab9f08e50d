//! Products of large dense matrices: transposed views that reach the fast kernel, and the columns
//! of a result divided among threads.

use nalgebra::{DMatrixView, DMatrixViewMut, Dyn};

use super::parallel::{parts_for, share_out, threads};
use super::{Matrix, fused, tiles};

/// A matrix in memory, by columns or by rows, which need not be adjacent.
#[derive(Debug, Clone, Copy)]
pub struct Strided<'a> {
    data: &'a [f64],
    rows: usize,
    columns: usize,
    /// From the beginning of one line to that of the next.
    stride: usize,
    by_rows: bool,
}

impl<'a> Strided<'a> {
    /// Columns of `rows` numbers, one every `stride` numbers of `data`.
    pub fn by_columns(data: &'a [f64], rows: usize, columns: usize, stride: usize) -> Self {
        Self { data, rows, columns, stride, by_rows: false }
    }

    pub fn nrows(&self) -> usize {
        self.rows
    }

    pub fn ncols(&self) -> usize {
        self.columns
    }

    pub fn transpose(&self) -> Self {
        Self { rows: self.columns, columns: self.rows, by_rows: !self.by_rows, ..*self }
    }

    /// Some of its columns.
    pub fn columns(&self, first: usize, count: usize) -> Self {
        let start = if self.by_rows { first } else { first * self.stride };
        Self { data: &self.data[start.min(self.data.len())..], columns: count, ..*self }
    }

    /// Whether its rows, and not its columns, are contiguous.
    pub(super) fn is_by_rows(&self) -> bool {
        self.by_rows
    }

    /// A contiguous row or column.
    pub(super) fn line(&self, index: usize) -> &'a [f64] {
        let length = if self.by_rows { self.columns } else { self.rows };
        &self.data[index * self.stride..][..length]
    }

    fn view(&self) -> DMatrixView<'a, f64, Dyn, Dyn> {
        let (down, right) = if self.by_rows { (self.stride, 1) } else { (1, self.stride) };
        DMatrixView::from_slice_with_strides(self.data, self.rows, self.columns, down, right)
    }
}

/// Matrices with no more rows or columns than this are not worth the fast kernel.
const SMALL: usize = 5;

/// The least columns of a product per part if there are more than two parts: the other side is
/// packed for each part.
const NARROWEST: usize = 128;

/// Columns of a Gram matrix that are computed at once; for a large one twice as many, because the
/// other factor is packed for each panel.
pub const PANEL: usize = 128;
const LARGE: usize = 8 * PANEL;

/// `data`, column by column, as `rows` × `columns`.
pub fn plain(data: &[f64], rows: usize, columns: usize) -> Strided<'_> {
    Strided::by_columns(data, rows, columns, rows.max(1))
}

/// A whole matrix.
pub fn whole(matrix: &Matrix) -> Strided<'_> {
    plain(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}

/// The transpose of [`plain`]: `columns` × `rows`, without copying. nalgebra's own `tr_mul` is an
/// order of magnitude slower than a product with this view.
pub fn transposed(data: &[f64], rows: usize, columns: usize) -> Strided<'_> {
    plain(data, rows, columns).transpose()
}

/// target = left·right + keep·target, with a column-major `target`.
pub fn multiply(target: &mut [f64], left: &Strided<'_>, right: &Strided<'_>, keep: f64) {
    if keep == 0.0 {
        target.fill(0.0);
    } else if keep != 1.0 {
        for entry in target.iter_mut() {
            *entry *= keep;
        }
    }
    if !tiles::add_product(target, left, right) {
        add_product(target, left, right);
    }
}

/// Adds left·right by nalgebra's kernel, or by dot products. For a small matrix nalgebra replaces
/// its fast kernel by one that confuses a column's extent in memory with its length: with a
/// transposed view it would write beyond the end.
fn add_product(target: &mut [f64], left: &Strided<'_>, right: &Strided<'_>) {
    let (rows, inner, columns) = (left.nrows(), left.ncols(), right.ncols());
    let (left, right) = (left.view(), right.view());
    if rows.min(inner).min(columns) > SMALL {
        let mut target = DMatrixViewMut::from_slice(target, rows, columns);
        target.gemm(1.0, &left, &right, 1.0);
    } else if rows > 0 {
        let left: Vec<f64> = left.transpose().as_slice().to_vec();
        let mut column = vec![0.0; inner];
        for (index, target) in target.chunks_exact_mut(rows).enumerate() {
            for (slot, entry) in column.iter_mut().zip(right.column(index).iter()) {
                *slot = *entry;
            }
            for (row, target) in target.iter_mut().enumerate() {
                *target += fused::dot(&left[row * inner..(row + 1) * inner], &column);
            }
        }
    }
}

/// left·right
pub fn product(left: &Strided<'_>, right: &Strided<'_>) -> Matrix {
    let (rows, inner, columns) = (left.nrows(), left.ncols(), right.ncols());
    let mut product = Matrix::zeros(rows, columns);
    let parts = parts_of_columns(rows * inner * columns, columns);
    for_columns(product.as_mut_slice(), rows, parts, |first, part| {
        multiply(part, left, &right.columns(first, part.len() / rows), 0.0);
    });
    product
}

/// The number of parts into which a product with this many columns is split.
pub fn parts_of_columns(multiplications: usize, columns: usize) -> usize {
    let halves = parts_for(multiplications, columns, SMALL + 1).min(2);
    parts_for(multiplications, columns, NARROWEST).max(halves)
}

/// leftᵀ·right of two matrices with one vector per column.
pub fn inner_products(left: &Matrix, right: &Matrix) -> Matrix {
    product(&whole(left).transpose(), &whole(right))
}

/// Splits a column-major matrix into `parts` runs of columns, fewer if they would be too narrow for
/// the fast kernel; `work` gets the index of its first column and the numbers.
pub fn for_columns(
    data: &mut [f64],
    rows: usize,
    parts: usize,
    work: impl Fn(usize, &mut [f64]) + Sync,
) {
    if rows == 0 || data.is_empty() {
        return;
    }
    let columns = data.len() / rows;
    let share = columns.div_ceil(parts.max(1)).max(SMALL + 1).min(columns);
    let jobs = data.chunks_mut(share * rows).enumerate();
    let jobs = jobs.map(|(part, data)| (part * share, data)).collect();
    share_out(jobs, parts.min(threads()), &|(first, data)| work(first, data));
}

/// Fills a symmetric matrix: `panel(first, rows, part)` has to add the rows 0.. `rows` of the
/// columns from number `first` on, as the upper triangle needs, to `part` with `rows` rows. The
/// lower triangle is its mirror image, so only half is computed.
pub fn symmetric_by_panels(
    dimension: usize,
    threads: usize,
    panel: impl Fn(usize, usize, &mut [f64]) + Sync,
) -> Matrix {
    let mut matrix = Matrix::zeros(dimension, dimension);
    if dimension == 0 {
        return matrix;
    }
    let wide = if dimension < LARGE { PANEL } else { 2 * PANEL };
    let mut panels: Vec<_> =
        matrix.as_mut_slice().chunks_mut(wide * dimension).enumerate().collect();
    // The last ones are the largest, so they come first.
    panels.reverse();
    share_out(panels, threads, &|(index, columns): (usize, &mut [f64])| {
        let (first, width) = (index * wide, columns.len() / dimension);
        let rows = first + width;
        let mut part = vec![0.0; rows * width];
        panel(first, rows, &mut part);
        for (column, part) in columns.chunks_exact_mut(dimension).zip(part.chunks_exact(rows)) {
            column[..rows].copy_from_slice(part);
        }
    });
    matrix.fill_lower_triangle_with_upper_triangle();
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole_numbers(rows: usize, columns: usize, salt: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |i, j| ((i * 7 + j * 13 + salt) % 11) as f64 - 5.0)
    }

    #[test]
    fn products_of_views_are_the_products_for_any_shape_and_number_of_threads() {
        for (rows, inner, columns) in
            [(1, 1, 1), (7, 3, 9), (3, 9, 7), (9, 7, 2), (5, 6, 6), (130, 70, 129), (260, 40, 300)]
        {
            let (a, b) = (whole_numbers(inner, rows, 1), whole_numbers(inner, columns, 2));
            // Whole numbers, so every order of summation is exact.
            assert_eq!(inner_products(&a, &b), a.transpose() * &b);
        }
    }

    #[test]
    fn panels_make_the_whole_symmetric_matrix() {
        for dimension in [0, 1, 127, 128, 129, 500, 1300] {
            let a = whole_numbers(6, dimension, 3);
            let gram = symmetric_by_panels(dimension, 2, |first, rows, part| {
                let width = part.len() / rows;
                let left = transposed(&a.as_slice()[..rows * 6], 6, rows);
                let right = plain(&a.as_slice()[first * 6..(first + width) * 6], 6, width);
                multiply(part, &left, &right, 1.0);
            });
            assert_eq!(gram, a.transpose() * &a, "{dimension}");
        }
    }
}
