//! Products of very many tall vectors with a few: the main cost of a step of a Krylov method.
//!
//! A general product packs both sides before it multiplies, which for a dozen columns is most of
//! the work. Here the many vectors are read once, without packing, and the few stay in the cache.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use pulp::{Arch, Simd, WithSimd};

use super::Matrix;
use super::fused::score_of;
use super::parallel::{self, parts_for, share_out};
use super::product::for_columns;

/// Columns of either side that are multiplied at once: twelve sums fit into registers.
const MANY: usize = 4;
const FEW: usize = 3;

/// Rows of the few that stay in the second-level cache, and of the many that stay in the
/// first-level cache.
const STRETCH: usize = 2048;
const PIECE: usize = 512;

/// Columns that are added to a sum at once, and rows of them that stay in the first-level cache
/// until they are added to all sums. The next rows of the same columns follow, for a whole stretch:
/// so memory is read in long runs.
const ADDED: usize = 8;
const BIT: usize = 128;

/// More parts would have short runs.
const MOST_PARTS: usize = 16;

/// The least multiplications per thread: on a busy machine a new thread has to wait.
const LEAST_SHARE: usize = 1 << 23;

/// fewᵀ·many, one column per column of `many`.
pub fn inner_products_with_few(few: &Matrix, many: &Matrix) -> Matrix {
    let (length, wanted, count) = (few.nrows(), few.ncols(), many.ncols());
    let mut products = Matrix::zeros(wanted, count);
    if length == 0 || wanted == 0 {
        return products;
    }
    let work = length * wanted * count;
    let threads = parallel::threads().clamp(1, (work / LEAST_SHARE).max(1));
    for_columns(products.as_mut_slice(), wanted, threads, |first, products| {
        let many = &many.as_slice()[first * length..][..products.len() / wanted * length];
        add_inner_products(few.as_slice(), many, length, products);
    });
    products
}

/// Adds fewᵀ·many to `products`, one column per column of `many`, on this thread. The columns of both
/// have `length` numbers. Each product is rounded the same, whatever other columns there are.
pub fn add_inner_products(few: &[f64], many: &[f64], length: usize, products: &mut [f64]) {
    if length > 0 && !few.is_empty() {
        Arch::new().dispatch(Tiles { few, many, length, products });
    }
}

/// many·few: one combination of the many per column of `few`.
pub fn few_combinations(many: &Matrix, few: &Matrix) -> Matrix {
    let mut sums = Matrix::zeros(many.nrows(), few.ncols());
    add_combinations(many.as_slice(), many.nrows(), few.as_slice(), sums.as_mut_slice());
    sums
}

/// Adds many·few to `sums`. The columns of the many, and of the sums, have `length` numbers.
pub fn add_combinations(many: &[f64], length: usize, few: &[f64], sums: &mut [f64]) {
    if many.is_empty() || sums.is_empty() {
        return;
    }
    let count = many.len() / length;
    // Split by shape alone: the remainder of a part is rounded differently from its registers.
    let parts = parts_for(count * sums.len(), length, PIECE).min(MOST_PARTS);
    let share = length.div_ceil(parts).next_multiple_of(PIECE);
    let part = |first| PartialProduct { many, few, length, count, first, sums: Vec::new() };
    let mut parts: Vec<_> = (0..length).step_by(share).map(part).collect();
    for sum in sums.chunks_exact_mut(length) {
        for (part, sum) in parts.iter_mut().zip(sum.chunks_mut(share)) {
            part.sums.push(sum);
        }
    }
    let arch = Arch::new();
    share_out(parts, parallel::threads(), &|part: PartialProduct<'_>| arch.dispatch(part));
}

/// ‖x‖² of each column of `length` numbers.
pub fn squared_lengths(columns: &[f64], length: usize) -> Vec<f64> {
    let mut squares = vec![0.0; columns.len() / length.max(1)];
    Arch::new().dispatch(SquaredLengths { columns, length, squares: &mut squares });
    squares
}

struct Tiles<'a> {
    few: &'a [f64],
    many: &'a [f64],
    length: usize,
    products: &'a mut [f64],
}

impl WithSimd for Tiles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { few, many, length, products } = self;
        let wanted = few.len() / length;
        for stretch in (0..length).step_by(STRETCH) {
            let end = (stretch + STRETCH).min(length);
            let columns = many.chunks(MANY * length).zip(products.chunks_mut(MANY * wanted));
            for (many, products) in columns {
                for piece in (stretch..end).step_by(PIECE) {
                    let rows = piece..(piece + PIECE).min(end);
                    let many = columns_of(many, length).map(|column| &column[rows.clone()]);
                    for (index, few) in few.chunks(FEW * length).enumerate() {
                        // The results of repeated columns are left out.
                        let kept = few.len() / length;
                        let few = columns_of(few, length).map(|column| &column[rows.clone()]);
                        let tile = tile(simd, many, few);
                        for (products, tile) in products.chunks_exact_mut(wanted).zip(tile) {
                            let products = &mut products[FEW * index..][..kept];
                            for (product, part) in products.iter_mut().zip(tile) {
                                *product += part;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Some rows of a product of the many with the few.
struct PartialProduct<'a> {
    many: &'a [f64],
    few: &'a [f64],
    length: usize,
    count: usize,
    first: usize,
    /// What the rows from the first on are added to, for each column of the few.
    sums: Vec<&'a mut [f64]>,
}

impl WithSimd for PartialProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { many, few, length, count, first, mut sums } = self;
        let rows = sums.first().map_or(0, |sum| sum.len());
        for stretch in (0..rows).step_by(STRETCH) {
            let end = (stretch + STRETCH).min(rows);
            for (group, many) in many.chunks(ADDED * length).enumerate() {
                let kept = many.len() / length;
                let many: [&[f64]; ADDED] = columns_of(many, length);
                for from in (stretch..end).step_by(BIT) {
                    let bit = from..(from + BIT).min(end);
                    let columns = many.map(|column| &column[first..][bit.clone()]);
                    let factors = few.chunks_exact(count).map(|few| &few[group * ADDED..][..kept]);
                    for (factors, sum) in factors.zip(&mut sums) {
                        // Repeated columns add nothing.
                        let mut all = [0.0; ADDED];
                        all[..kept].copy_from_slice(factors);
                        add(simd, columns, all, &mut sum[bit.clone()]);
                    }
                }
            }
        }
    }
}

struct SquaredLengths<'a> {
    columns: &'a [f64],
    length: usize,
    squares: &'a mut [f64],
}

impl WithSimd for SquaredLengths<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let columns = self.columns.chunks_exact(self.length.max(1));
        for (square, column) in self.squares.iter_mut().zip(columns) {
            *square = score_of(simd, column, column);
        }
    }
}

/// sum += Σ factor·column
#[inline(always)]
fn add<S: Simd>(simd: S, columns: [&[f64]; ADDED], factors: [f64; ADDED], sum: &mut [f64]) {
    let (sum, sum_rest) = S::as_mut_simd_f64s(sum);
    let split = columns.map(S::as_simd_f64s);
    let rest = split.map(|(_, rest)| rest);
    let [a, b, c, d, e, f, g, h] = split.map(|(column, _)| &column[..sum.len()]);
    let [p, q, r, s, t, u, v, w] = factors.map(|factor| simd.splat_f64s(factor));
    for (i, sum) in sum.iter_mut().enumerate() {
        // Two chains, to shorten the dependencies.
        let mut one = simd.mul_add_e_f64s(a[i], p, *sum);
        let mut other = simd.mul_f64s(b[i], q);
        one = simd.mul_add_e_f64s(c[i], r, one);
        other = simd.mul_add_e_f64s(d[i], s, other);
        one = simd.mul_add_e_f64s(e[i], t, one);
        other = simd.mul_add_e_f64s(f[i], u, other);
        one = simd.mul_add_e_f64s(g[i], v, one);
        other = simd.mul_add_e_f64s(h[i], w, other);
        *sum = simd.add_f64s(one, other);
    }
    for (i, sum) in sum_rest.iter_mut().enumerate() {
        let products = rest.iter().zip(factors).map(|(column, factor)| column[i] * factor);
        *sum += products.sum::<f64>();
    }
}

/// The columns, with the last one repeated if there are fewer.
#[inline(always)]
fn columns_of<const COUNT: usize>(columns: &[f64], length: usize) -> [&[f64]; COUNT] {
    let last = columns.len() / length - 1;
    std::array::from_fn(|index| &columns[index.min(last) * length..][..length])
}

#[inline(always)]
fn tile<S: Simd>(
    simd: S,
    [a, b, c, d]: [&[f64]; MANY],
    [x, y, z]: [&[f64]; FEW],
) -> [[f64; FEW]; MANY] {
    let ((a, a_rest), (b, b_rest)) = (S::as_simd_f64s(a), S::as_simd_f64s(b));
    let ((c, c_rest), (d, d_rest)) = (S::as_simd_f64s(c), S::as_simd_f64s(d));
    let ((x, x_rest), (y, y_rest)) = (S::as_simd_f64s(x), S::as_simd_f64s(y));
    let (z, z_rest) = S::as_simd_f64s(z);
    let zero = simd.splat_f64s(0.0);
    let [mut ax, mut ay, mut az] = [zero; FEW];
    let [mut bx, mut by, mut bz] = [zero; FEW];
    let [mut cx, mut cy, mut cz] = [zero; FEW];
    let [mut dx, mut dy, mut dz] = [zero; FEW];
    let n = a.len();
    let (b, c, d, x, y, z) = (&b[..n], &c[..n], &d[..n], &x[..n], &y[..n], &z[..n]);
    for i in 0..n {
        let (x, y, z) = (x[i], y[i], z[i]);
        ax = simd.mul_add_e_f64s(a[i], x, ax);
        ay = simd.mul_add_e_f64s(a[i], y, ay);
        az = simd.mul_add_e_f64s(a[i], z, az);
        bx = simd.mul_add_e_f64s(b[i], x, bx);
        by = simd.mul_add_e_f64s(b[i], y, by);
        bz = simd.mul_add_e_f64s(b[i], z, bz);
        cx = simd.mul_add_e_f64s(c[i], x, cx);
        cy = simd.mul_add_e_f64s(c[i], y, cy);
        cz = simd.mul_add_e_f64s(c[i], z, cz);
        dx = simd.mul_add_e_f64s(d[i], x, dx);
        dy = simd.mul_add_e_f64s(d[i], y, dy);
        dz = simd.mul_add_e_f64s(d[i], z, dz);
    }
    let sums = [[ax, ay, az], [bx, by, bz], [cx, cy, cz], [dx, dy, dz]];
    let rests = [a_rest, b_rest, c_rest, d_rest];
    let mut products = [[0.0; FEW]; MANY];
    for (products, (sums, many)) in products.iter_mut().zip(sums.into_iter().zip(rests)) {
        let few = [x_rest, y_rest, z_rest];
        for (product, (sum, few)) in products.iter_mut().zip(sums.into_iter().zip(few)) {
            let rest: f64 = many.iter().zip(few).map(|(many, few)| many * few).sum();
            *product = simd.reduce_sum_f64s(sum) + rest;
        }
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_make_the_whole_product_for_any_shape_and_number_of_threads() {
        let whole_numbers = |rows: usize, columns: usize, salt: usize| {
            Matrix::from_fn(rows, columns, |i, j| ((i * 7 + j * 13 + salt) % 11) as f64 - 5.0)
        };
        for (length, few, many) in
            [(0, 2, 2), (1, 1, 1), (7, 2, 5), (8, 3, 4), (33, 12, 9), (5, 4, 0), (2100, 13, 701)]
        {
            let (few, many) = (whole_numbers(length, few, 1), whole_numbers(length, many, 2));
            // Whole numbers, so every order of summation is exact.
            assert_eq!(inner_products_with_few(&few, &many), few.transpose() * &many);
            let shares = whole_numbers(many.ncols(), few.ncols(), 3);
            assert_eq!(few_combinations(&many, &shares), &many * &shares);
        }
    }
}
