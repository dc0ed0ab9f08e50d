//! Thin products with rows in single precision, which are read where they are kept. Gathering them,
//! or writing them as doubles, would take longer than the multiplications.
//!
//! What is added up over a row is multiplied and added in single precision, at twice the speed. It is
//! as exact as the row itself. What is added up over rows is multiplied and added in doubles.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use pulp::{Arch, Simd, WithSimd};

use super::fused::Kept as _;
use super::tall::even_share;

/// Rows and factors of a tile of products: its ten sums and the numbers to multiply fill the sixteen
/// registers of AVX2.
const ROWS: usize = 2;
const FACTORS: usize = 5;

/// Numbers of a row that are added up in single precision. So many of each factor of a tile stay in
/// the first-level cache.
const PIECE: usize = 1024;

/// Sums that are added to at once, and registers of each: as many as there are.
const SUMS: usize = 5;
const REGISTERS: usize = 2;

/// Adds the product of every row with every factor to `products`, row by row. Rows and factors have
/// `length` numbers. A product is rounded the same, whatever other rows and factors there are.
pub fn add_products(rows: &[&[f32]], factors: &[f32], length: usize, products: &mut [f64]) {
    if length > 0 && !factors.is_empty() {
        Arch::new().dispatch(Products { rows, factors, length, to: products });
    }
}

/// Adds Σ weight·row to each of the `sums`, which have `length` numbers, one weight for each sum and
/// row, row by row.
pub fn add_weighted(rows: &[&[f32]], weights: &[f64], length: usize, sums: &mut [f64]) {
    if length > 0 && !sums.is_empty() {
        Arch::new().dispatch(Weighted { rows, weights, length, sums });
    }
}

struct Products<'a> {
    rows: &'a [&'a [f32]],
    factors: &'a [f32],
    length: usize,
    to: &'a mut [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, factors, length, to } = self;
        let wanted = factors.len() / length;
        let piece = even_share(length, PIECE).next_multiple_of(S::F32_LANES);
        for (rows, products) in rows.chunks(ROWS).zip(to.chunks_mut(ROWS * wanted)) {
            for from in (0..length).step_by(piece) {
                let to = (from + piece).min(length);
                // The last row again, if there is only one: a sum of its own kind for it would be
                // rounded differently.
                let mut numbers = [&rows[0][from..to]; ROWS];
                for (numbers, row) in numbers.iter_mut().zip(rows) {
                    *numbers = &row[from..to];
                }
                let mut first = 0;
                while first < wanted {
                    let together = even_share(wanted - first, FACTORS);
                    let factors = factors[first * length..].chunks_exact(length);
                    let factors = factors.map(|factor| &factor[from..to]);
                    let products = products.chunks_exact_mut(wanted);
                    let products = products.map(|products| &mut products[first..]);
                    match together {
                        1 => add_tile::<S, 1>(simd, numbers, factors, products),
                        2 => add_tile::<S, 2>(simd, numbers, factors, products),
                        3 => add_tile::<S, 3>(simd, numbers, factors, products),
                        4 => add_tile::<S, 4>(simd, numbers, factors, products),
                        _ => add_tile::<S, FACTORS>(simd, numbers, factors, products),
                    }
                    first += together;
                }
            }
        }
    }
}

#[inline(always)]
fn add_tile<'a, S: Simd, const FACTORS: usize>(
    simd: S,
    rows: [&[f32]; ROWS],
    factors: impl Iterator<Item = &'a [f32]>,
    products: impl Iterator<Item = &'a mut [f64]>,
) {
    let whole = rows[0].len() / S::F32_LANES;
    let (mut wide_rows, mut rest_rows) = ([&S::as_simd_f32s(rows[0]).0[..whole]; ROWS], rows);
    for ((wide, rest), row) in wide_rows.iter_mut().zip(&mut rest_rows).zip(rows) {
        let (all, left) = S::as_simd_f32s(row);
        (*wide, *rest) = (&all[..whole], left);
    }
    let (mut wide_factors, mut rest_factors) = ([wide_rows[0]; FACTORS], [rest_rows[0]; FACTORS]);
    for ((wide, rest), factor) in wide_factors.iter_mut().zip(&mut rest_factors).zip(factors) {
        let (all, left) = S::as_simd_f32s(factor);
        (*wide, *rest) = (&all[..whole], left);
    }
    let mut sums = [[simd.splat_f32s(0.0); FACTORS]; ROWS];
    for at in 0..whole {
        let mut numbers = [simd.splat_f32s(0.0); ROWS];
        for (numbers, row) in numbers.iter_mut().zip(wide_rows) {
            *numbers = row[at];
        }
        for (index, factor) in wide_factors.iter().enumerate() {
            let factor = factor[at];
            for (sums, numbers) in sums.iter_mut().zip(numbers) {
                sums[index] = simd.mul_add_e_f32s(numbers, factor, sums[index]);
            }
        }
    }
    if !rest_rows[0].is_empty() {
        for (sums, row) in sums.iter_mut().zip(rest_rows) {
            let row = simd.partial_load_f32s(row);
            for (sum, factor) in sums.iter_mut().zip(rest_factors) {
                *sum = simd.mul_add_e_f32s(row, simd.partial_load_f32s(factor), *sum);
            }
        }
    }
    for (products, sums) in products.zip(sums) {
        for (product, sum) in products.iter_mut().zip(sums) {
            *product += f64::from(simd.reduce_sum_f32s(sum));
        }
    }
}

struct Weighted<'a> {
    rows: &'a [&'a [f32]],
    weights: &'a [f64],
    length: usize,
    sums: &'a mut [f64],
}

impl WithSimd for Weighted<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (length, height) = (self.length, REGISTERS * S::F64_LANES);
        let wanted = self.sums.len() / length;
        let whole = length / height * height;
        for at in (0..whole).step_by(height) {
            let mut first = 0;
            while first < wanted {
                let together = even_share(wanted - first, SUMS);
                match together {
                    1 => self.strip::<S, 1>(simd, at, first),
                    2 => self.strip::<S, 2>(simd, at, first),
                    3 => self.strip::<S, 3>(simd, at, first),
                    4 => self.strip::<S, 4>(simd, at, first),
                    _ => self.strip::<S, SUMS>(simd, at, first),
                }
                first += together;
            }
        }
        for (row, weights) in self.rows.iter().zip(self.weights.chunks_exact(wanted)) {
            for (sum, weight) in self.sums.chunks_exact_mut(length).zip(weights) {
                for (sum, number) in sum[whole..].iter_mut().zip(&row[whole..]) {
                    *sum += weight * f64::from(*number);
                }
            }
        }
    }
}

impl Weighted<'_> {
    /// Some registers of some sums, from number `at` and from sum `first` on: they stay in registers
    /// for all rows.
    #[inline(always)]
    fn strip<S: Simd, const SUMS: usize>(&mut self, simd: S, at: usize, first: usize) {
        let (length, lanes) = (self.length, S::F64_LANES);
        let wanted = self.sums.len() / length;
        let range = at..at + REGISTERS * lanes;
        let mut tile = [[simd.splat_f64s(0.0); REGISTERS]; SUMS];
        let sums = self.sums[first * length..].chunks_exact(length);
        for (tile, sum) in tile.iter_mut().zip(sums) {
            tile.copy_from_slice(S::as_simd_f64s(&sum[range.clone()]).0);
        }
        for (row, weights) in self.rows.iter().zip(self.weights.chunks_exact(wanted)) {
            let row = &row[range.clone()];
            let mut numbers = [simd.splat_f64s(0.0); REGISTERS];
            for (register, numbers) in numbers.iter_mut().enumerate() {
                *numbers = f32::lanes::<S>(&row[register * lanes..][..lanes]);
            }
            let weights = &weights[first..first + SUMS];
            for (tile, weight) in tile.iter_mut().zip(weights) {
                let weight = simd.splat_f64s(*weight);
                for (entry, numbers) in tile.iter_mut().zip(numbers) {
                    *entry = simd.mul_add_e_f64s(numbers, weight, *entry);
                }
            }
        }
        let sums = self.sums[first * length..].chunks_exact_mut(length);
        for (tile, sum) in tile.iter().zip(sums) {
            S::as_mut_simd_f64s(&mut sum[range.clone()]).0.copy_from_slice(tile);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Small whole numbers, so every order of summation is exact in single precision, too.
        #[test]
        fn products_and_sums_are_those_of_the_plain_definition_for_any_shape(
            length in prop_oneof![1..70_usize, 1020..1100_usize],
            count in 0..9_usize,
            wanted in 1..13_usize,
        ) {
            let number = |i: usize, salt: usize| ((i * 7 + salt) % 11) as f32 - 5.0;
            let kept: Vec<f32> = (0..2 * count * length).map(|i| number(i, 3)).collect();
            // Every other row.
            let rows: Vec<&[f32]> = kept.chunks_exact(length).step_by(2).collect();
            let factors: Vec<f32> = (0..wanted * length).map(|i| number(i, 5)).collect();
            let mut products = vec![1.0; count * wanted];
            add_products(&rows, &factors, length, &mut products);
            let weights: Vec<f64> = (0..count * wanted).map(|i| f64::from(number(i, 1))).collect();
            let mut sums = vec![2.0; wanted * length];
            add_weighted(&rows, &weights, length, &mut sums);
            for (i, row) in rows.iter().enumerate() {
                for (k, factor) in factors.chunks_exact(length).enumerate() {
                    let product: f32 = row.iter().zip(factor).map(|(x, w)| x * w).sum();
                    prop_assert_eq!(products[i * wanted + k], 1.0 + f64::from(product));
                }
            }
            for (k, sums) in sums.chunks_exact(length).enumerate() {
                for (at, sum) in sums.iter().enumerate() {
                    let terms = rows.iter().zip(weights.chunks_exact(wanted));
                    let terms = terms.map(|(row, weights)| weights[k] * f64::from(row[at]));
                    prop_assert_eq!(*sum, 2.0 + terms.sum::<f64>());
                }
            }
        }

        #[test]
        fn a_product_is_the_same_to_the_last_bit_whatever_other_rows_there_are(
            length in prop_oneof![1..70_usize, 1020..1100_usize],
            wanted in 1..13_usize,
        ) {
            let number = |i: usize| ((i * 7919 % 1013) as f32 / 1013.0).sin();
            let kept: Vec<f32> = (0..5 * length).map(number).collect();
            let rows: Vec<&[f32]> = kept.chunks_exact(length).collect();
            let factors: Vec<f32> = (0..wanted * length).map(|i| number(i + 17)).collect();
            let of = |rows: &[&[f32]]| {
                let mut products = vec![0.0; rows.len() * wanted];
                add_products(rows, &factors, length, &mut products);
                products
            };
            let singly: Vec<f64> = rows.iter().flat_map(|row| of(&[row])).collect();
            prop_assert_eq!(of(&rows), singly);
        }
    }
}
