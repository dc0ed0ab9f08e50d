//! Inner products of a few tall vectors with very many: what a step of a Krylov method costs.
//!
//! A general product packs both sides before it multiplies, which for a dozen columns is most
//! of the work. Here the many are read once, as they are, and the few stay in the cache.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use pulp::{Arch, Simd, WithSimd};

use super::product::for_columns;
use super::{Matrix, fused};

/// Columns of either side that are multiplied at once: twelve sums fit into registers.
const MANY: usize = 4;
const FEW: usize = 3;

/// Multiplications that one thread gets at least: on a busy machine a new one has to wait.
const LEAST_SHARE: usize = 1 << 23;

/// fewᵀ·many, one column per column of `many`.
pub fn inner_products_with_few(few: &Matrix, many: &Matrix) -> Matrix {
    let (length, wanted, count) = (few.nrows(), few.ncols(), many.ncols());
    let mut products = Matrix::zeros(wanted, count);
    if length == 0 || wanted == 0 {
        return products;
    }
    let work = length * wanted * count;
    let threads = fused::threads().clamp(1, (work / LEAST_SHARE).max(1));
    let arch = Arch::new();
    for_columns(products.as_mut_slice(), wanted, threads, |first, products| {
        let many = &many.as_slice()[first * length..][..products.len() / wanted * length];
        arch.dispatch(Tiles { few: few.as_slice(), many, length, products });
    });
    products
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
        let columns = many.chunks(MANY * length).zip(products.chunks_mut(MANY * wanted));
        for (many, products) in columns {
            let many = columns_of(many, length);
            for (index, few) in few.chunks(FEW * length).enumerate() {
                let tile = tile(simd, many, columns_of(few, length));
                // What repeated columns gave is left out.
                let kept = few.len() / length;
                for (products, tile) in products.chunks_exact_mut(wanted).zip(tile) {
                    products[FEW * index..][..kept].copy_from_slice(&tile[..kept]);
                }
            }
        }
    }
}

/// The columns, the last one again where there are fewer.
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
        }
    }
}
