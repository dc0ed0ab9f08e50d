//! The gradient of a linear model in one pass over the data.
//!
//! For Σ sᵢxᵢ with slopes sᵢ that depend on the score xᵢ·w, two matrix products read the data
//! twice. Here a few examples are scored and added while they are in the cache, so memory is read
//! only once, and reading dominates the cost. Memory is read strictly in order and only a few
//! examples are in work at a time, so the processor can prefetch while it adds.
//!
//! | module | for examples |
//! |---|---|
//! | [`long`] | with too many features for their sums to fit into registers |
//! | [`short`] | that fill a few registers |
//! | [`tiny`] | that fill less than one |
#![allow(clippy::inline_always)] // inlined, to be compiled for the instruction set that is found

mod long;
mod short;
mod tiny;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::columns::{ExampleColumns, Examples};
use super::parallel::{even, share_out};
use super::{Vector, four_lanes};

/// The least numbers in a part of the examples; with fewer, starting a thread costs more.
const LEAST_SHARE: usize = 1 << 17;

/// Shorter examples do not use AVX-512: every unaligned load of eight numbers crosses a cache line.
const LEAST_FOR_EIGHT: usize = 24;

/// Shorter examples in single precision are turned into doubles before they are scored and added,
/// which costs less than doing it twice. Longer ones wait for memory.
const LEAST_FOR_SINGLES: usize = 48;

/// Turns scores into slopes, and may add up further results on the way.
pub trait Slopes: Send {
    /// Turns the scores of the examples from `first` on into slopes.
    fn slopes(&mut self, first: usize, scores: &mut [f64]);
}

/// Slopes of single scores.
pub struct Each<F>(pub F);

impl<F: Fn(usize, f64) -> f64 + Send> Slopes for Each<F> {
    // Inlined, so that it is compiled for the instruction set detected at run time.
    #[inline(always)]
    fn slopes(&mut self, first: usize, scores: &mut [f64]) {
        for (k, score) in scores.iter_mut().enumerate() {
            *score = self.0(first + k, *score);
        }
    }
}

/// Σ slope(i, xᵢ·w)·xᵢ over the columns of `features`.
///
/// A column whose slope is zero is not added, so it may hold anything.
pub fn gradient(
    features: &impl ExampleColumns,
    w: &Vector,
    threads: usize,
    slope: impl Fn(usize, f64) -> f64 + Sync,
) -> Vector {
    let slope = &slope;
    with_slopes(features, w, threads, || Each(slope)).0
}

/// [`gradient`] with slopes computed block by block. Returns the `Slopes` of each part of the
/// examples, in order.
pub fn with_slopes<S: Slopes>(
    features: &impl ExampleColumns,
    w: &Vector,
    threads: usize,
    slopes: impl Fn() -> S + Sync,
) -> (Vector, Vec<S>) {
    let (dimension, count) = (features.dimension(), features.count());
    // Their number does not depend on the threads, so that the sum is the same to the last bit.
    let share = count.div_ceil(even(dimension * count / LEAST_SHARE)).max(1);
    let shares = (0..count).step_by(share).map(|start| start..count.min(start + share));
    let w = w.as_slice();
    in_shares(dimension, shares, threads, slopes, |arch, share, sum, slopes| {
        let mut room = Vec::new();
        for stretch in features.stretches(share) {
            let first = stretch.start;
            if dimension < LEAST_FOR_SINGLES {
                let examples = features.read(stretch, &mut room);
                Pass { examples, first, w, sum, slopes }.run(arch);
                continue;
            }
            features.see(stretch, |examples| match examples {
                Examples::Doubles(examples) => {
                    Pass { examples, first, w, sum, slopes }.run(arch);
                }
                Examples::Singles(examples) => {
                    Pass { examples, first, w, sum, slopes }.run_singles(arch);
                }
            });
        }
    })
}

/// [`with_slopes`] where each of these consecutive groups of examples has its own sum, which is
/// shortened to `longest` before it is added. A sum that is not finite adds nothing.
pub fn by_group<S: Slopes>(
    features: &impl ExampleColumns,
    w: &Vector,
    threads: usize,
    slopes: impl Fn() -> S + Sync,
    (groups, longest): (&[Range<usize>], f64),
) -> (Vector, Vec<S>) {
    let (dimension, count) = (features.dimension(), features.count());
    // An example between two groups would be added to the later one.
    debug_assert!(groups.windows(2).all(|pair| pair[0].end == pair[1].start));
    let parts = even(dimension * count / LEAST_SHARE);
    let shares = groups.chunks(groups.len().div_ceil(parts).max(1));
    let (stretch, w) = (features.stretch(), w.as_slice());
    in_shares(dimension, shares, threads, slopes, |arch, groups, sum, slopes| {
        let (mut room, mut rest) = (Vec::new(), groups);
        while let Some(start) = rest.first() {
            // Whole groups that are read at once.
            let fit = rest.partition_point(|group| group.end <= start.start + stretch).max(1);
            let (groups, after) = rest.split_at(fit);
            rest = after;
            let (first, end) = (start.start, groups[fit - 1].end);
            let examples = features.read(first..end, &mut room);
            GroupPass { examples, first, groups, longest, w, sum, slopes }.run(arch);
        }
    })
}

/// The sum of what `work` makes of each share of the examples, in their order, and what made the
/// slopes of each.
fn in_shares<J: Send, S: Slopes>(
    dimension: usize,
    shares: impl Iterator<Item = J>,
    threads: usize,
    slopes: impl Fn() -> S,
    work: impl Fn(Arch, J, &mut [f64], &mut Turn<'_>) + Sync,
) -> (Vector, Vec<S>) {
    let mut total = Vector::zeros(dimension);
    if dimension == 0 {
        return (total, Vec::new());
    }
    let arch = if dimension < LEAST_FOR_EIGHT { four_lanes() } else { Arch::new() };
    let shares: Vec<J> = shares.collect();
    let mut done: Vec<(Vector, S)> =
        shares.iter().map(|_| (Vector::zeros(dimension), slopes())).collect();
    let jobs = shares.into_iter().zip(&mut done).collect();
    share_out(jobs, threads, &|(share, (sum, slopes)): (J, &mut (Vector, S))| {
        work(arch, share, sum.as_mut_slice(), &mut on(arch, slopes));
    });
    let mut made = Vec::with_capacity(done.len());
    for (sum, slopes) in done {
        total += sum;
        made.push(slopes);
    }
    (total, made)
}

/// Turns the scores of the examples from a first one on into slopes.
///
/// The passes call it for a few examples at a time. So they are compiled once, here, and not again for
/// each kind of slopes in every crate that has some: their code is far longer than that of the slopes.
/// The last argument is the number of scores that the slopes get at a time, on which their sums
/// depend to the last bit.
type Turn<'a> = dyn FnMut(usize, &mut [f64], usize) + 'a;

/// Slopes that are computed with this instruction set.
fn on<S: Slopes>(arch: Arch, slopes: &mut S) -> impl FnMut(usize, &mut [f64], usize) {
    move |first, scores, at_a_time| {
        arch.dispatch(Block { slopes: &mut *slopes, first, scores, at_a_time });
    }
}

/// The scores of a few examples, to be turned into slopes.
struct Block<'a, M> {
    slopes: &'a mut M,
    first: usize,
    scores: &'a mut [f64],
    at_a_time: usize,
}

impl<M: Slopes> WithSimd for Block<'_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (place, scores) in self.scores.chunks_mut(self.at_a_time).enumerate() {
            self.slopes.slopes(self.first + place * self.at_a_time, scores);
        }
    }
}

/// Some of the groups, for the widest instructions of the machine.
struct GroupPass<'a, 's> {
    examples: &'a [f64],
    /// The number of their first example.
    first: usize,
    groups: &'a [Range<usize>],
    longest: f64,
    w: &'a [f64],
    sum: &'a mut [f64],
    slopes: &'a mut Turn<'s>,
}

impl GroupPass<'_, '_> {
    fn run(self, arch: Arch) {
        arch.dispatch(self);
    }
}

impl WithSimd for GroupPass<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.w.len() / S::F64_LANES {
            0 => match self.w.len() {
                1 => tiny::by_group::<1>(self),
                2 => tiny::by_group::<2>(self),
                3 => tiny::by_group::<3>(self),
                _ => long::by_group(simd, self),
            },
            1 => short::by_group::<S, 1>(simd, self),
            2 => short::by_group::<S, 2>(simd, self),
            3 => short::by_group::<S, 3>(simd, self),
            4 => short::by_group::<S, 4>(simd, self),
            5 => short::by_group::<S, 5>(simd, self),
            _ => long::by_group(simd, self),
        }
    }
}

/// A number as examples are kept.
pub trait Kept: Copy + Into<f64> {
    /// Numbers for the lanes of a register, as doubles.
    #[doc(hidden)]
    fn lanes<S: Simd>(numbers: &[Self]) -> S::f64s;
}

impl Kept for f64 {
    #[inline(always)]
    fn lanes<S: Simd>(numbers: &[Self]) -> S::f64s {
        S::as_simd_f64s(numbers).0[0]
    }
}

impl Kept for f32 {
    #[inline(always)]
    fn lanes<S: Simd>(numbers: &[Self]) -> S::f64s {
        // The compiler makes one instruction of it.
        let mut doubles = [0.0; MOST_LANES];
        for (double, single) in doubles.iter_mut().zip(numbers) {
            *double = f64::from(*single);
        }
        S::as_simd_f64s(&doubles).0[0]
    }
}

/// More lanes than any register has.
pub(super) const MOST_LANES: usize = 16;

/// One part of the examples, for the widest instructions of the machine.
struct Pass<'a, 's, T> {
    examples: &'a [T],
    /// The number of the part's first example.
    first: usize,
    w: &'a [f64],
    sum: &'a mut [f64],
    slopes: &'a mut Turn<'s>,
}

impl Pass<'_, '_, f64> {
    fn run(self, arch: Arch) {
        arch.dispatch(self);
    }
}

impl Pass<'_, '_, f32> {
    fn run_singles(self, arch: Arch) {
        arch.dispatch(self);
    }
}

impl WithSimd for Pass<'_, '_, f32> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        long::pass(simd, self);
    }
}

impl WithSimd for Pass<'_, '_, f64> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.w.len() / S::F64_LANES {
            0 => match self.w.len() {
                1 => tiny::pass::<1>(self),
                2 => tiny::pass::<2>(self),
                3 => tiny::pass::<3>(self),
                _ => long::pass(simd, self),
            },
            1 => short::pass::<S, 1>(simd, self),
            2 => short::pass::<S, 2>(simd, self),
            3 => short::pass::<S, 3>(simd, self),
            4 => short::pass::<S, 4>(simd, self),
            5 => short::pass::<S, 5>(simd, self),
            _ => long::pass(simd, self),
        }
    }
}

/// Independent partial sums of a dot product.
const LANES: usize = 8;

/// x·w
#[inline(always)]
pub(super) fn dot(x: &[f64], w: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (x, w) = (x.chunks_exact(LANES), w.chunks_exact(LANES));
    let rest: f64 = x.remainder().iter().zip(w.remainder()).map(|(x, w)| x * w).sum();
    for (x, w) in x.zip(w) {
        for ((lane, x), w) in lanes.iter_mut().zip(x).zip(w) {
            *lane += x * w;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h)) + rest
}

#[inline(always)]
fn add(slope: f64, example: &[impl Kept], sum: &mut [f64]) {
    if slope != 0.0 {
        for (sum, x) in sum.iter_mut().zip(example) {
            *sum += slope * (*x).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Matrix;
    use crate::columns::Singles;

    /// Groups of many sizes, one of them without examples, and what they add up to one by one.
    fn slowly(features: &Matrix, w: &Vector, longest: f64) -> (Vec<Range<usize>>, Vector) {
        let sizes = [0, 1, 1, 5, 2, 16, 40, 3, 1, 24];
        let (mut groups, mut start) = (Vec::new(), 0);
        for size in sizes.into_iter().cycle() {
            let end = (start + size).min(features.ncols());
            groups.push(start..end);
            start = end;
            if start == features.ncols() {
                break;
            }
        }
        let mut total = Vector::zeros(w.len());
        for group in &groups {
            let mut own = Vector::zeros(w.len());
            for i in group.clone() {
                let x = features.column(i);
                own += (1.0 + x.dot(w)) * x;
            }
            let norm = own.norm();
            total += if norm > longest { own * (longest / norm) } else { own };
        }
        (groups, total)
    }

    #[test]
    fn sums_of_groups_are_shortened_each_by_itself_for_every_width_of_register() {
        for dimension in 1..70 {
            let features =
                Matrix::from_fn(dimension, 201, |i, j| ((i + 3 * j) as f64 * 0.37).sin());
            let w = Vector::from_fn(dimension, |i, _| 0.3 * (i % 5) as f64 - 0.5);
            // Half of the groups are longer.
            let longest = 2.0 * (dimension as f64).sqrt();
            let (groups, slow) = slowly(&features, &w, longest);
            for arch in [Arch::Scalar, four_lanes(), Arch::new()] {
                let mut sum = vec![0.0; dimension];
                arch.dispatch(GroupPass {
                    examples: features.as_slice(),
                    first: 0,
                    groups: &groups,
                    longest,
                    w: w.as_slice(),
                    sum: &mut sum,
                    slopes: &mut on(arch, &mut Each(|_: usize, score: f64| 1.0 + score)),
                });
                let off = (Vector::from_vec(sum) - &slow).norm();
                assert!(off < 1e-11 * slow.norm(), "{dimension} {arch:?}: {off}");
            }
        }
    }

    #[test]
    fn sums_of_groups_are_the_same_to_the_last_bit_on_any_number_of_threads() {
        let (dimension, count) = (5, 3 * LEAST_SHARE / 5);
        let features = Matrix::from_fn(dimension, count, |i, j| ((i + 3 * j) as f64 * 0.37).sin());
        let w = Vector::from_fn(dimension, |i, _| 0.3 * i as f64 - 0.5);
        let (groups, slow) = slowly(&features, &w, 0.8);
        let by = |threads| {
            let slopes = || Each(|_: usize, score: f64| 1.0 + score);
            by_group(&features, &w, threads, slopes, (&groups, 0.8)).0
        };
        assert!((by(1) - &slow).norm() < 1e-9 * slow.norm());
        assert_eq!(by(1), by(3));
    }

    /// Whatever its slope: squares of small numbers are too small for doubles.
    #[test]
    fn a_single_example_of_small_numbers_is_shortened_too() {
        for dimension in [1, 4, 10, 60] {
            let features = Matrix::from_element(dimension, 1, 1e-200);
            let w = Vector::zeros(dimension);
            let group = std::slice::from_ref(&(0..1));
            let slopes = || Each(|_: usize, _: f64| 1e250);
            let (sum, _) = by_group(&features, &w, 1, slopes, (group, 0.5));
            assert!((sum.norm() - 0.5).abs() < 1e-12, "{dimension}: {}", sum.norm());
        }
    }

    #[test]
    fn a_group_that_is_not_made_of_numbers_adds_nothing_and_one_without_slope_holds_anything() {
        for dimension in [1, 3, 4, 10, 30, 60] {
            let mut features = Matrix::from_element(dimension, 9, 1.0);
            features[(0, 4)] = f64::NAN;
            let w = Vector::from_element(dimension, 1.0);
            for (size, counted) in [(1, 8.0), (3, 6.0)] {
                let groups: Vec<_> = (0..9).step_by(size).map(|at| at..at + size).collect();
                let by = |slope: &(dyn Fn(usize, f64) -> f64 + Sync)| {
                    by_group(&features, &w, 1, || Each(slope), (&groups, f64::MAX)).0
                };
                assert_eq!(by(&|_, _| 1.0), Vector::from_element(dimension, counted));
                let without = by(&|i, _| if i == 4 { 0.0 } else { 1.0 });
                assert_eq!(without, Vector::from_element(dimension, 8.0));
            }
        }
    }

    proptest! {
        #[test]
        fn one_pass_agrees_with_two_products_for_any_shape_and_number_of_threads(
            dimension in 1..70_usize,
            count in prop_oneof![0..30_usize, 250..530_usize],
            threads in 1..4_usize,
            // One slope in this many is zero.
            gaps in prop_oneof![Just(3_usize), Just(usize::MAX)],
        ) {
            let features = Matrix::from_fn(dimension, count, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
            let w = Vector::from_fn(dimension, |i, _| (i % 5) as f64 - 2.0);
            let slope = |i: usize, score: f64| if i.is_multiple_of(gaps) { 0.0 } else { score - i as f64 };
            let sum = gradient(&features, &w, threads, slope);
            // Whole numbers, so every order of summation is exact.
            let plain = features.tr_mul(&w);
            let slopes = Vector::from_fn(count, |i, _| slope(i, plain[i]));
            prop_assert_eq!(sum, &features * slopes);
        }
    }

    /// Every width of register, whatever this machine would use for a shape.
    #[test]
    fn every_instruction_set_gives_the_same_sum() {
        let sets = [Arch::Scalar, four_lanes(), Arch::new()];
        for dimension in 1..70 {
            let features =
                Matrix::from_fn(dimension, 37, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
            let w = Vector::from_fn(dimension, |i, _| (i % 5) as f64 - 2.0);
            let scores = features.tr_mul(&w);
            let plain = &features * scores.map(|score| score - 3.0);
            for arch in sets {
                let mut sum = vec![0.0; dimension];
                arch.dispatch(Pass {
                    examples: features.as_slice(),
                    first: 0,
                    w: w.as_slice(),
                    sum: &mut sum,
                    slopes: &mut on(arch, &mut Each(|_: usize, score: f64| score - 3.0)),
                });
                // Whole numbers, so every order of summation is exact.
                assert_eq!(sum, plain.as_slice(), "{dimension} {arch:?}");
            }
        }
    }

    #[test]
    fn examples_in_single_precision_give_the_sum_of_their_doubles() {
        let sets = [Arch::Scalar, four_lanes(), Arch::new()];
        for dimension in [1, 5, 23, 47, 48, 49, 63, 64, 131, 400] {
            let features =
                Matrix::from_fn(dimension, 37, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
            let w = Vector::from_fn(dimension, |i, _| (i % 5) as f64 - 2.0);
            let singles = Singles::from(&features);
            // Whole numbers, so every order of summation is exact; one slope is zero.
            let slope = |i: usize, score: f64| if i == 5 { 0.0 } else { score - i as f64 };
            let expected = gradient(&features, &w, 1, slope);
            assert_eq!(gradient(&singles, &w, 2, slope), expected, "{dimension}");
            for arch in sets {
                let mut sum = vec![0.0; dimension];
                arch.dispatch(Pass {
                    examples: singles.numbers().unwrap(),
                    first: 0,
                    w: w.as_slice(),
                    sum: &mut sum,
                    slopes: &mut on(arch, &mut Each(slope)),
                });
                assert_eq!(sum, expected.as_slice(), "{dimension} {arch:?}");
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_sum_to_the_last_bit() {
        let (dimension, count) = (64, 3 * LEAST_SHARE / 64 + 5);
        let features = Matrix::from_fn(dimension, count, |i, j| ((i + j) % 7) as f64 / 3.0);
        let w = Vector::from_element(dimension, 0.1);
        let slope = |i: usize, score: f64| score + (i % 4) as f64 / 7.0;
        let alone = gradient(&features, &w, 1, slope);
        let together = gradient(&features, &w, 3, slope);
        assert_eq!(alone, together);
        // In one part the last bits would differ, so the test can detect it.
        let scores = features.tr_mul(&w);
        let whole = &features * Vector::from_fn(count, |i, _| slope(i, scores[i]));
        assert_ne!(alone, whole);
        assert!((&alone - &whole).norm() < 1e-9 * whole.norm());
    }

    #[test]
    fn a_column_without_slope_may_hold_anything() {
        for (dimension, at) in [(3, 0), (3, 5), (6, 0), (6, 5), (30, 0), (30, 5), (60, 0), (60, 5)]
        {
            let mut features = Matrix::from_element(dimension, 6, 1.0);
            features[(1, at)] = f64::NAN;
            let w = Vector::from_element(dimension, 1.0);
            let sum = gradient(&features, &w, 1, |i, _| if i == at { 0.0 } else { 1.0 });
            assert_eq!(sum, Vector::from_element(dimension, 5.0));
        }
    }
}
