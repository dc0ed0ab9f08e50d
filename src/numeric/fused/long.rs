//! A few examples at a time, as many as fit into the nearest cache. First their scores, one by one,
//! so that memory is read in order and the processor can prefetch; then their sum from the cache,
//! four at a time, where each entry of the sum is loaded and stored once for all four.

use pulp::Simd;

use super::{GroupPass, Kept, Pass, add};
use crate::projection::shrink_factor;

/// The number of examples whose slopes are computed and which are added together.
const TOGETHER: usize = 4;

/// The most groups of so many whose slopes are asked for at once. A question costs as much as some
/// hundred numbers.
const MOST_GROUPS: usize = 4;

/// The numbers of examples that stay in the nearest cache until they are added.
const NEAR: usize = 2048;

/// Smaller sums of squares may have lost terms that were too small for a double.
const LEAST_SQUARE: f64 = 1e-280;

#[inline(always)]
pub(super) fn pass<S: Simd, T: Kept>(simd: S, pass: Pass<'_, '_, T>) {
    let Pass { examples, mut first, w, sum, slopes } = pass;
    let dimension = w.len();
    let size = TOGETHER * dimension;
    let (whole, rest) = examples.split_at(examples.len() / size * size);
    let at_once = (NEAR / size).clamp(1, MOST_GROUPS);
    let mut found = [0.0; MOST_GROUPS * TOGETHER];
    for groups in whole.chunks(at_once * size) {
        let found = &mut found[..groups.len() / dimension];
        for (score, example) in found.iter_mut().zip(groups.chunks_exact(dimension)) {
            *score = score_of(simd, example, w);
        }
        slopes(first, found, TOGETHER);
        for (slopes, group) in found.as_chunks().0.iter().zip(groups.chunks_exact(size)) {
            if slopes.contains(&0.0) {
                for (slope, example) in slopes.iter().zip(group.chunks_exact(dimension)) {
                    add(*slope, example, sum);
                }
            } else {
                add_four(simd, *slopes, group, sum);
            }
        }
        first += found.len();
    }
    for example in rest.chunks_exact(dimension) {
        let mut found = [score_of(simd, example, w)];
        slopes(first, &mut found, 1);
        add(found[0], example, sum);
        first += 1;
    }
}

/// A pass in which every group has a sum of its own, which is shortened before it is added.
#[inline(always)]
pub(super) fn by_group<S: Simd>(simd: S, pass: GroupPass<'_, '_>) {
    let GroupPass { examples, first, groups, longest, w, sum, slopes } = pass;
    let dimension = w.len();
    let mut own = vec![0.0; dimension];
    for group in groups.iter().filter(|group| !group.is_empty()) {
        let start = (group.start - first) * dimension;
        let examples = &examples[start..start + group.len() * dimension];
        // The sum of a single example is a multiple of it and needs no place of its own. A square
        // that is too small says nothing of the norm.
        let square = if group.len() == 1 { score_of(simd, examples, examples) } else { 0.0 };
        if square > LEAST_SQUARE {
            let mut found = [score_of(simd, examples, w)];
            slopes(group.start, &mut found, 1);
            let norm = found[0].abs() * square.sqrt();
            if norm.is_finite() {
                add(shrink_factor(norm, longest) * found[0], examples, sum);
            }
            continue;
        }
        own.fill(0.0);
        let part = Pass { examples, first: group.start, w, sum: &mut own, slopes: &mut *slopes };
        self::pass(simd, part);
        let norm = score_of(simd, &own, &own).sqrt();
        if norm.is_finite() {
            add(shrink_factor(norm, longest), &own, sum);
        }
    }
}

/// x·w in four sums that do not wait for one another.
#[inline(always)]
fn score_of<S: Simd, T: Kept>(simd: S, x: &[T], w: &[f64]) -> f64 {
    let (w, w_rest) = S::as_simd_f64s(w);
    let (w_fours, w_left) = w.as_chunks::<4>();
    let (x, x_rest) = x.split_at(w.len() * S::F64_LANES);
    let mut sums = [simd.splat_f64s(0.0); 4];
    let mut fours = x.chunks_exact(4 * S::F64_LANES);
    for (x, w) in fours.by_ref().zip(w_fours) {
        for (at, (sum, w)) in sums.iter_mut().zip(w).enumerate() {
            *sum = simd.mul_add_e_f64s(
                T::lanes::<S>(&x[at * S::F64_LANES..][..S::F64_LANES]),
                *w,
                *sum,
            );
        }
    }
    let left = fours.remainder().chunks_exact(S::F64_LANES);
    for ((x, w), sum) in left.zip(w_left).zip(&mut sums) {
        *sum = simd.mul_add_e_f64s(T::lanes::<S>(x), *w, *sum);
    }
    let [a, b, c, d] = sums;
    let total = simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d));
    let rest: f64 = x_rest.iter().zip(w_rest).map(|(x, w)| (*x).into() * w).sum();
    simd.reduce_sum_f64s(total) + rest
}

/// sum += Σ slopeᵢ·xᵢ of four examples.
#[inline(always)]
fn add_four<S: Simd, T: Kept>(simd: S, slopes: [f64; TOGETHER], group: &[T], sum: &mut [f64]) {
    let (a, rest) = group.split_at(sum.len());
    let (b, rest) = rest.split_at(sum.len());
    let (c, d) = rest.split_at(sum.len());
    let examples = [a, b, c, d].map(|example| example.chunks_exact(S::F64_LANES));
    let rest = [0, 1, 2, 3].map(|at| examples[at].remainder());
    let [a, b, c, d] = examples;
    let (sum, sum_rest) = S::as_mut_simd_f64s(sum);
    let [s, t, u, v] = slopes.map(|slope| simd.splat_f64s(slope));
    for ((((a, b), c), d), sum) in a.zip(b).zip(c).zip(d).zip(sum) {
        // Not by `map`: what is not inlined is not compiled for these registers.
        let (a, b) = (T::lanes::<S>(a), T::lanes::<S>(b));
        let (c, d) = (T::lanes::<S>(c), T::lanes::<S>(d));
        let one = simd.mul_add_e_f64s(u, c, simd.mul_add_e_f64s(s, a, *sum));
        let other = simd.mul_add_e_f64s(v, d, simd.mul_f64s(t, b));
        *sum = simd.add_f64s(one, other);
    }
    for (k, sum) in sum_rest.iter_mut().enumerate() {
        let products = slopes.iter().zip(rest).map(|(slope, x)| slope * x[k].into());
        *sum += products.sum::<f64>();
    }
}
