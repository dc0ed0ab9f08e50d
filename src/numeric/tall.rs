//! Products of very many tall vectors with a few: the main cost of a step of a Krylov method.
//!
//! A general product packs both sides before it multiplies, which for a dozen columns is most of
//! the work. Here the many vectors are read once, without packing, and the few stay in the cache.
//! The many may be kept in single precision: they are multiplied and added up in doubles.
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

use std::borrow::Cow;
use std::ops::Range;

use nalgebra::{DMatrix, Scalar};
use pulp::{Arch, Simd, WithSimd};

use super::Matrix;
use super::fused::{Kept, MOST_LANES};
use super::parallel::{self, parts_for, share_out};
use super::product::for_columns;

/// Of the few, the most columns that are multiplied at once.
const FEW: usize = 3;
/// Of the many, the most columns at once: with [`FEW`], twelve sums and their factors fill the
/// sixteen registers of AVX2. A single that becomes a double needs one more, so there are nine.
const DOUBLES: usize = 4;
const SINGLES: usize = 3;
/// Columns that are multiplied at once with registers of eight numbers, of which there are 32.
const WIDE_FEW: usize = 6;
const WIDE_MANY: usize = 4;
const WIDE: usize = 8;

/// Rows of the few that stay in the second-level cache, and rows of the many that stay in the
/// first-level cache, beside those of the few. Memory is read in long runs.
const STRETCH: usize = 6144;
const PIECE: usize = 400;
/// [`PIECE`] for wide registers: there are more sums of more lanes to reduce after each piece.
const WIDE_PIECE: usize = 1024;

/// The most sums that are added to at once. They stay in registers while so many columns are added,
/// whose next rows stay in the first-level cache until all sums are done.
const SUMS: usize = 5;
const ADDED: usize = 16;
const BIT: usize = 384;

/// The least rows of a part, and the most parts: more would have short runs.
const LEAST_PART: usize = 512;
const MOST_PARTS: usize = 16;

/// The least multiplications per thread: on a busy machine a new thread has to wait.
const LEAST_SHARE: usize = 1 << 23;

/// fewᵀ·many, one column per column of `many`.
pub fn inner_products_with_few<T: Many>(few: &Matrix, many: &DMatrix<T>) -> Matrix {
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
pub fn add_inner_products<T: Many>(few: &[f64], many: &[T], length: usize, products: &mut [f64]) {
    if length > 0 && !few.is_empty() {
        T::multiply(Tiles { few, many, length, products });
    }
}

/// many·few: one combination of the many per column of `few`.
pub fn few_combinations<T: Many>(many: &DMatrix<T>, few: &Matrix) -> Matrix {
    let mut sums = Matrix::zeros(many.nrows(), few.ncols());
    add_combinations(many.as_slice(), many.nrows(), few.as_slice(), sums.as_mut_slice());
    sums
}

/// Adds many·few to `sums`. The columns of the many, and of the sums, have `length` numbers.
pub fn add_combinations<T: Many>(many: &[T], length: usize, few: &[f64], sums: &mut [f64]) {
    if many.is_empty() || sums.is_empty() {
        return;
    }
    let count = many.len() / length;
    // Split by shape alone: the remainder of a part is rounded differently from its registers.
    let parts = parts_for(count * sums.len(), length, LEAST_PART).min(MOST_PARTS);
    let share = length.div_ceil(parts).next_multiple_of(BIT);
    let part = |first| PartialProduct { many, few, length, count, first, sums: Vec::new() };
    let mut parts: Vec<_> = (0..length).step_by(share).map(part).collect();
    for sum in sums.chunks_exact_mut(length) {
        for (part, sum) in parts.iter_mut().zip(sum.chunks_mut(share)) {
            part.sums.push(sum);
        }
    }
    share_out(parts, parallel::threads(), &T::combine);
}

/// ‖x‖² of a single column.
pub fn squared_length<T: Many>(column: &[T]) -> f64 {
    let mut square = [0.0];
    let (length, squares) = (column.len(), &mut square[..]);
    T::measure(SquaredLengths { columns: column, length, squares });
    square[0]
}

/// ‖x‖² of each column of `length` numbers.
pub fn squared_lengths<T: Many>(columns: &[T], length: usize) -> Vec<f64> {
    let mut squares = vec![0.0; columns.len() / length.max(1)];
    T::measure(SquaredLengths { columns, length, squares: &mut squares });
    squares
}

/// A number as the many are kept: a double, or the single that is nearest to one.
pub trait Many: Kept + Scalar + Default + Send + Sync {
    /// The usual relative error of keeping a double like this.
    const ROUNDING: f64;

    /// Lets `write` write doubles over `to`, rounded if need be; `room` is kept for the next time.
    fn write(to: &mut [Self], room: &mut Vec<f64>, write: impl FnOnce(&mut [f64]));

    /// The numbers as doubles.
    fn doubles(numbers: &[Self]) -> Cow<'_, [f64]>;

    // The kernels for each kind of number, with the widest registers of the machine. They are compiled
    // once, here, and not again in every crate that uses them.

    #[doc(hidden)]
    fn multiply(tiles: Tiles<'_, Self>);

    #[doc(hidden)]
    fn combine(part: PartialProduct<'_, Self>);

    #[doc(hidden)]
    fn measure(columns: SquaredLengths<'_, Self>);
}

impl Many for f64 {
    const ROUNDING: f64 = 0.0;

    fn write(to: &mut [Self], _: &mut Vec<f64>, write: impl FnOnce(&mut [f64])) {
        write(to);
    }

    fn doubles(numbers: &[Self]) -> Cow<'_, [f64]> {
        Cow::Borrowed(numbers)
    }

    fn multiply(tiles: Tiles<'_, Self>) {
        Arch::new().dispatch(tiles);
    }

    fn combine(part: PartialProduct<'_, Self>) {
        Arch::new().dispatch(part);
    }

    fn measure(columns: SquaredLengths<'_, Self>) {
        Arch::new().dispatch(columns);
    }
}

impl Many for f32 {
    // 2⁻²⁴/√3: errors are spread evenly up to half of the last digit.
    const ROUNDING: f64 = 3.5e-8;

    fn write(to: &mut [Self], room: &mut Vec<f64>, write: impl FnOnce(&mut [f64])) {
        room.resize(to.len(), 0.0);
        write(room);
        for (single, double) in to.iter_mut().zip(room) {
            *single = *double as f32;
        }
    }

    fn doubles(numbers: &[Self]) -> Cow<'_, [f64]> {
        numbers.iter().map(|number| f64::from(*number)).collect()
    }

    fn multiply(tiles: Tiles<'_, Self>) {
        Arch::new().dispatch(tiles);
    }

    fn combine(part: PartialProduct<'_, Self>) {
        Arch::new().dispatch(part);
    }

    fn measure(columns: SquaredLengths<'_, Self>) {
        Arch::new().dispatch(columns);
    }
}

/// The few, the many, and the products of all of them.
#[derive(Debug)]
pub struct Tiles<'a, T> {
    few: &'a [f64],
    many: &'a [T],
    length: usize,
    products: &'a mut [f64],
}

impl WithSimd for Tiles<'_, f64> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::F64_LANES < WIDE {
            self.add::<S, DOUBLES, FEW>(simd, PIECE);
        } else {
            self.add::<S, WIDE_MANY, WIDE_FEW>(simd, WIDE_PIECE);
        }
    }
}

impl WithSimd for Tiles<'_, f32> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::F64_LANES < WIDE {
            self.add::<S, SINGLES, FEW>(simd, PIECE);
        } else {
            self.add::<S, WIDE_MANY, WIDE_FEW>(simd, WIDE_PIECE);
        }
    }
}

impl<T: Many> Tiles<'_, T> {
    /// Tiles of up to `MANY` by `MOST` columns.
    #[inline(always)]
    fn add<S: Simd, const MANY: usize, const MOST: usize>(self, simd: S, piece: usize) {
        let Self { few, many, length, products } = self;
        let wanted = few.len() / length;
        for stretch in (0..length).step_by(STRETCH) {
            let end = (stretch + STRETCH).min(length);
            let piece = even_share(end - stretch, piece).next_multiple_of(MOST_LANES);
            let columns = many.chunks(MANY * length).zip(products.chunks_mut(MANY * wanted));
            for (many, products) in columns {
                for from in (stretch..end).step_by(piece) {
                    let rows = (from, (from + piece).min(end));
                    let many = pieces::<T, MANY>(many, length, rows);
                    let mut first = 0;
                    while first < wanted {
                        let together = even_share(wanted - first, MOST);
                        let few = &few[first * length..][..together * length];
                        let products = (&mut *products, wanted, first);
                        match together {
                            1 => add_tile(simd, many, pieces::<_, 1>(few, length, rows), products),
                            2 => add_tile(simd, many, pieces::<_, 2>(few, length, rows), products),
                            3 => add_tile(simd, many, pieces::<_, 3>(few, length, rows), products),
                            4 if MOST > 4 => {
                                add_tile(simd, many, pieces::<_, 4>(few, length, rows), products);
                            }
                            5 if MOST > 5 => {
                                add_tile(simd, many, pieces::<_, 5>(few, length, rows), products);
                            }
                            _ => {
                                let few = pieces::<_, MOST>(few, length, rows);
                                add_tile(simd, many, few, products);
                            }
                        }
                        first += together;
                    }
                }
            }
        }
    }
}

/// The first of the fewest equal shares of at most `most`: four are two and two, rather than three
/// and one.
#[inline(always)]
pub(super) fn even_share(left: usize, most: usize) -> usize {
    left.div_ceil(left.div_ceil(most).max(1))
}

/// These rows of the columns, with the last column repeated if there are fewer.
#[inline(always)]
fn pieces<T, const COUNT: usize>(
    columns: &[T],
    length: usize,
    (from, to): (usize, usize),
) -> [&[T]; COUNT] {
    let last = columns.len() / length - 1;
    let mut pieces = [&columns[..0]; COUNT];
    for (index, piece) in pieces.iter_mut().enumerate() {
        *piece = &columns[index.min(last) * length..][from..to];
    }
    pieces
}

/// Adds the products of a tile to those from `first` on, of `wanted` for each of the many. The
/// results of repeated columns are left out.
#[inline(always)]
fn add_tile<S: Simd, T: Many, const FEW: usize, const MANY: usize>(
    simd: S,
    many: [&[T]; MANY],
    few: [&[f64]; FEW],
    (products, wanted, first): (&mut [f64], usize, usize),
) {
    let lanes = S::F64_LANES;
    let whole = few[0].len() / lanes * lanes;
    let (mut wide_few, mut wide_many) = ([S::as_simd_f64s(&few[0][..whole]).0; FEW], many);
    for (wide, few) in wide_few.iter_mut().zip(few) {
        *wide = &S::as_simd_f64s(few).0[..whole / lanes];
    }
    for many in &mut wide_many {
        *many = &many[..whole];
    }
    let mut sums = [[simd.splat_f64s(0.0); FEW]; MANY];
    for i in 0..whole / lanes {
        let mut factors = [simd.splat_f64s(0.0); FEW];
        for (factor, few) in factors.iter_mut().zip(wide_few) {
            *factor = few[i];
        }
        for (many, sums) in wide_many.iter().zip(&mut sums) {
            let many = T::lanes::<S>(&many[i * lanes..][..lanes]);
            for (sum, factor) in sums.iter_mut().zip(factors) {
                *sum = simd.mul_add_e_f64s(many, factor, *sum);
            }
        }
    }
    for ((products, sums), many) in products.chunks_exact_mut(wanted).zip(sums).zip(many) {
        for ((product, sum), few) in products[first..].iter_mut().zip(sums).zip(few) {
            let mut rest = 0.0;
            for (many, few) in many[whole..].iter().zip(&few[whole..]) {
                rest += (*many).into() * few;
            }
            *product += simd.reduce_sum_f64s(sum) + rest;
        }
    }
}

/// Some rows of a product of the many with the few.
#[derive(Debug)]
pub struct PartialProduct<'a, T> {
    many: &'a [T],
    few: &'a [f64],
    length: usize,
    count: usize,
    first: usize,
    /// What the rows from the first on are added to, for each column of the few.
    sums: Vec<&'a mut [f64]>,
}

impl<T: Many> WithSimd for PartialProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { many, few, length, count, first, mut sums } = self;
        let rows = sums.first().map_or(0, |sum| sum.len());
        for stretch in (0..rows).step_by(STRETCH) {
            let end = (stretch + STRETCH).min(rows);
            for group in (0..count).step_by(ADDED) {
                let added = ADDED.min(count - group);
                for from in (stretch..end).step_by(BIT) {
                    let to = (from + BIT).min(end);
                    let many = Added {
                        numbers: &many[group * length + first + from..],
                        length,
                        count: added,
                    };
                    let mut first = 0;
                    while first < sums.len() {
                        let together = even_share(sums.len() - first, SUMS);
                        let few = &few[first * count + group..];
                        let sums = &mut sums[first..first + together];
                        // As many registers as can be filled, and some for the factors.
                        match together {
                            1 => many.add::<S, 1, 4>(simd, few, count, sums, from..to),
                            2 => many.add::<S, 2, 4>(simd, few, count, sums, from..to),
                            3 => many.add::<S, 3, 3>(simd, few, count, sums, from..to),
                            4 => many.add::<S, 4, 2>(simd, few, count, sums, from..to),
                            _ => many.add::<S, SUMS, 2>(simd, few, count, sums, from..to),
                        }
                        first += together;
                    }
                }
            }
        }
    }
}

/// A few columns of the many, from some row on.
struct Added<'a, T> {
    numbers: &'a [T],
    length: usize,
    count: usize,
}

impl<T: Many> Added<'_, T> {
    /// sum += Σ factor·column, for every sum; the factors of a sum are every `stride` numbers of
    /// `few`.
    #[inline(always)]
    fn add<S: Simd, const SUMS: usize, const REGISTERS: usize>(
        &self,
        simd: S,
        few: &[f64],
        stride: usize,
        sums: &mut [&mut [f64]],
        range: Range<usize>,
    ) {
        let (rows, height) = (range.len(), REGISTERS * S::F64_LANES);
        let mut by_column = [[0.0; SUMS]; ADDED];
        for (sum, factors) in few.chunks(stride).take(SUMS).enumerate() {
            for (slots, factor) in by_column[..self.count].iter_mut().zip(factors) {
                slots[sum] = *factor;
            }
        }
        let by_column = &by_column[..self.count];
        let mut parts: [&mut [f64]; SUMS] = std::array::from_fn(|_| Default::default());
        for (part, sum) in parts.iter_mut().zip(sums) {
            *part = &mut sum[range.clone()];
        }
        let (high, whole) = (rows / height * height, rows / S::F64_LANES * S::F64_LANES);
        for at in (0..high).step_by(height) {
            self.strip::<S, SUMS, REGISTERS>(simd, at, by_column, &mut parts);
        }
        for at in (high..whole).step_by(S::F64_LANES) {
            self.strip::<S, SUMS, 1>(simd, at, by_column, &mut parts);
        }
        for at in whole..rows {
            for (index, factors) in by_column.iter().enumerate() {
                let many: f64 = self.numbers[index * self.length + at].into();
                for (sum, factor) in parts.iter_mut().zip(factors) {
                    sum[at] += factor * many;
                }
            }
        }
    }

    /// Adds up the rows of some registers: sum += Σ factor·column, for every sum.
    #[inline(always)]
    fn strip<S: Simd, const SUMS: usize, const REGISTERS: usize>(
        &self,
        simd: S,
        at: usize,
        by_column: &[[f64; SUMS]],
        sums: &mut [&mut [f64]; SUMS],
    ) {
        let lanes = S::F64_LANES;
        let height = REGISTERS * lanes;
        let mut tile = [[simd.splat_f64s(0.0); REGISTERS]; SUMS];
        for (tile, sum) in tile.iter_mut().zip(sums.iter()) {
            tile.copy_from_slice(S::as_simd_f64s(&sum[at..at + height]).0);
        }
        for (index, factors) in by_column.iter().enumerate() {
            let many = &self.numbers[index * self.length + at..][..height];
            let mut rows = [simd.splat_f64s(0.0); REGISTERS];
            for (register, row) in rows.iter_mut().enumerate() {
                *row = T::lanes::<S>(&many[register * lanes..][..lanes]);
            }
            for (tile, factor) in tile.iter_mut().zip(factors) {
                let factor = simd.splat_f64s(*factor);
                for (entry, row) in tile.iter_mut().zip(rows) {
                    *entry = simd.mul_add_e_f64s(row, factor, *entry);
                }
            }
        }
        for (tile, sum) in tile.iter().zip(sums.iter_mut()) {
            S::as_mut_simd_f64s(&mut sum[at..at + height]).0.copy_from_slice(tile);
        }
    }
}

/// Columns of numbers, and the squared length of each.
#[derive(Debug)]
pub struct SquaredLengths<'a, T> {
    columns: &'a [T],
    length: usize,
    squares: &'a mut [f64],
}

impl<T: Many> WithSimd for SquaredLengths<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = S::F64_LANES;
        let columns = self.columns.chunks_exact(self.length.max(1));
        for (square, column) in self.squares.iter_mut().zip(columns) {
            // Four chains, to shorten the dependencies.
            let mut sums = [simd.splat_f64s(0.0); 4];
            let whole = column.chunks_exact(4 * lanes);
            let rest = whole.remainder();
            for numbers in whole {
                for (index, sum) in sums.iter_mut().enumerate() {
                    let numbers = T::lanes::<S>(&numbers[index * lanes..][..lanes]);
                    *sum = simd.mul_add_e_f64s(numbers, numbers, *sum);
                }
            }
            let [a, b, c, d] = sums;
            let sum = simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d));
            *square = simd.reduce_sum_f64s(sum);
            for number in rest {
                let number: f64 = (*number).into();
                *square += number * number;
            }
        }
    }
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
            let squares: Vec<f64> = many.column_iter().map(|it| it.norm_squared()).collect();
            let singly: Vec<f64> =
                many.column_iter().map(|it| squared_length(it.as_slice())).collect();
            assert_eq!(singly, squares);
            assert_eq!(
                squared_lengths(many.as_slice(), length),
                &squares[..if length > 0 { many.ncols() } else { 0 }]
            );
            // Small whole numbers are the same in single precision.
            let singles = many.map(|number| number as f32);
            assert_eq!(inner_products_with_few(&few, &singles), few.transpose() * &many);
            assert_eq!(few_combinations(&singles, &shares), &many * &shares);
            assert_eq!(
                squared_lengths(singles.as_slice(), length),
                squared_lengths(many.as_slice(), length)
            );
        }
    }
}
