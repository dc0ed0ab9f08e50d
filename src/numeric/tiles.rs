//! Products in tiles that fill the 32 registers of AVX-512, on machines that have it.
//!
//! Both sides are packed: the left into strips of [`HEIGHT`] rows, the right into strips of
//! [`WIDTH`] columns, each with its factors in the order of multiplication. A tile of the result
//! stays in registers while a strip of each side is read. Every entry is one chain of fused
//! additions per [`DEPTH`] products, for any shape and any division among threads.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use std::cell::RefCell;

use pulp::{Arch, Simd, WithSimd};

use super::product::Strided;

/// Numbers in a register of AVX-512.
const LANES: usize = 8;
/// Registers, and so rows, of a tile.
const REGISTERS: usize = 3;
const HEIGHT: usize = REGISTERS * LANES;
/// Columns of a tile.
const WIDTH: usize = 8;
/// Products of an entry that are added up at once.
const DEPTH: usize = 256;
/// Rows of the left side whose strips stay in the second-level cache, and columns of the right
/// side.
const ROWS: usize = 8 * HEIGHT;
const COLUMNS: usize = 64 * WIDTH;
/// With fewer columns, packing the left side takes longer than multiplying it.
const LEAST_COLUMNS: usize = 64;
/// Packed numbers of one line that are written before the next is read.
const RUN: usize = 32;

thread_local! {
    /// The packed numbers; newly allocated memory would be cleared every time.
    static PACKED: RefCell<(Vec<f64>, Vec<f64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Adds left·right to the column-major `target`, if the machine and the shape suit it.
pub(super) fn add_product(target: &mut [f64], left: &Strided<'_>, right: &Strided<'_>) -> bool {
    fits(left.nrows(), left.ncols(), right.ncols())
        && Arch::new().dispatch(Product { target, left, right })
}

/// Whether tiles are mostly filled, and packing the left pays.
fn fits(rows: usize, depth: usize, columns: usize) -> bool {
    let filled = rows.next_multiple_of(HEIGHT) * columns.next_multiple_of(WIDTH);
    rows.min(depth) >= LANES && columns >= LEAST_COLUMNS && 2 * filled <= 3 * rows * columns
}

struct Product<'a> {
    target: &'a mut [f64],
    left: &'a Strided<'a>,
    right: &'a Strided<'a>,
}

impl WithSimd for Product<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        if S::F64_LANES != LANES {
            return false;
        }
        let (mut left, mut right) = PACKED.take();
        self.add(simd, &mut left, &mut right);
        PACKED.set((left, right));
        true
    }
}

impl Product<'_> {
    #[inline(always)]
    fn add<S: Simd>(self, simd: S, packed_left: &mut Vec<f64>, packed_right: &mut Vec<f64>) {
        let Self { target, left, right } = self;
        let (rows, depth, columns) = (left.nrows(), left.ncols(), right.ncols());
        for deep in (0..depth).step_by(DEPTH) {
            let depth = deep..(deep + DEPTH).min(depth);
            for across in (0..columns).step_by(COLUMNS) {
                let some = across..(across + COLUMNS).min(columns);
                pack::<WIDTH>(&right.transpose(), some, depth.clone(), packed_right);
                for down in (0..rows).step_by(ROWS) {
                    let some = down..(down + ROWS).min(rows);
                    pack::<HEIGHT>(left, some, depth.clone(), packed_left);
                    for (index, right) in packed_right.chunks_exact(WIDTH * depth.len()).enumerate()
                    {
                        let column = across + index * WIDTH;
                        let wide = WIDTH.min(columns - column);
                        let target = &mut target[column * rows..(column + wide) * rows];
                        for (index, left) in
                            packed_left.chunks_exact(HEIGHT * depth.len()).enumerate()
                        {
                            let tile = tile(simd, left, right);
                            put(simd, &tile, &mut *target, rows, down + index * HEIGHT);
                        }
                    }
                }
            }
        }
    }
}

/// These `lines` (rows) of a matrix, with the entries of `depth` of each, in strips of `COUNT`
/// lines; the last strip is filled up with zeros.
#[inline(always)]
fn pack<const COUNT: usize>(
    matrix: &Strided<'_>,
    lines: std::ops::Range<usize>,
    depth: std::ops::Range<usize>,
    packed: &mut Vec<f64>,
) {
    packed.resize(lines.len().next_multiple_of(COUNT) * depth.len(), 0.0);
    for (strip, first) in
        packed.chunks_exact_mut(COUNT * depth.len()).zip(lines.clone().step_by(COUNT))
    {
        let count = COUNT.min(lines.end - first);
        if count < COUNT {
            strip.fill(0.0);
        }
        if matrix.is_by_rows() {
            for (run, strip) in strip.chunks_mut(COUNT * RUN).enumerate() {
                let from = depth.start + run * RUN;
                for line in 0..count {
                    let entries = &matrix.line(first + line)[from..from + strip.len() / COUNT];
                    for (packed, entry) in strip.chunks_exact_mut(COUNT).zip(entries) {
                        packed[line] = *entry;
                    }
                }
            }
        } else {
            for (packed, at) in strip.chunks_exact_mut(COUNT).zip(depth.clone()) {
                packed[..count].copy_from_slice(&matrix.line(at)[first..first + count]);
            }
        }
    }
}

/// A strip of the left times a strip of the right: its columns.
#[inline(always)]
fn tile<S: Simd>(simd: S, left: &[f64], right: &[f64]) -> [[S::f64s; REGISTERS]; WIDTH] {
    let mut tile = [[simd.splat_f64s(0.0); REGISTERS]; WIDTH];
    let (left, _) = S::as_simd_f64s(left).0.as_chunks::<REGISTERS>();
    let (right, _) = right.as_chunks::<WIDTH>();
    for (left, right) in left.iter().zip(right) {
        for (column, factor) in tile.iter_mut().zip(right) {
            let factor = simd.splat_f64s(*factor);
            for (entry, left) in column.iter_mut().zip(left) {
                *entry = simd.mul_add_e_f64s(*left, factor, *entry);
            }
        }
    }
    tile
}

/// Adds a tile to the columns of `target` from row `first` on.
#[inline(always)]
fn put<S: Simd>(
    simd: S,
    tile: &[[S::f64s; REGISTERS]; WIDTH],
    target: &mut [f64],
    rows: usize,
    first: usize,
) {
    let end = rows.min(first + HEIGHT);
    for (column, added) in target.chunks_exact_mut(rows).zip(tile) {
        let column = &mut column[first..end];
        if let Some(whole) = S::as_mut_simd_f64s(column).0.first_chunk_mut::<REGISTERS>() {
            for (entries, added) in whole.iter_mut().zip(added) {
                *entries = simd.add_f64s(*entries, *added);
            }
        } else {
            let mut part = [0.0; HEIGHT];
            S::as_mut_simd_f64s(&mut part).0.copy_from_slice(added);
            for (entry, added) in column.iter_mut().zip(&part) {
                *entry += added;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Matrix;
    use crate::product::{plain, transposed};

    fn whole_numbers(rows: usize, columns: usize, salt: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |i, j| ((i * 7 + j * 13 + salt) % 11) as f64 - 5.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whole numbers, so every order of summation is exact. On a machine without AVX-512
        /// nothing is added, and the result says so.
        #[test]
        fn tiles_add_the_product_whatever_the_shape_and_the_layout(
            rows in 8..420_usize,
            depth in 8..600_usize,
            columns in 64..90_usize,
            by_rows in proptest::array::uniform2(any::<bool>()),
            first in 0..5_usize,
        ) {
            let (a, b) = (whole_numbers(rows, depth, 1), whole_numbers(depth, columns + first, 2));
            let (turned_a, turned_b) = (a.transpose(), b.transpose());
            let left = if by_rows[0] {
                transposed(turned_a.as_slice(), depth, rows)
            } else {
                plain(a.as_slice(), rows, depth)
            };
            let right = if by_rows[1] {
                transposed(turned_b.as_slice(), columns + first, depth)
            } else {
                plain(b.as_slice(), depth, columns + first)
            };
            let before = whole_numbers(rows, columns, 3);
            let mut target = before.clone();
            let right = right.columns(first, columns);
            let wanted = if add_product(target.as_mut_slice(), &left, &right) {
                before + a * b.columns(first, columns)
            } else {
                before
            };
            prop_assert_eq!(target, wanted);
        }
    }

    #[test]
    fn shapes_that_would_leave_tiles_empty_are_left_to_others() {
        assert!(fits(24, 8, 64) && fits(2000, 784, 128) && fits(48, 256, 250));
        assert!(!fits(0, 100, 100) && !fits(10, 100, 100) && !fits(1000, 3, 1000));
        assert!(!fits(1000, 1000, 16) && !fits(30, 1000, 65));
    }
}
