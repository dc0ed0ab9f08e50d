//! A few examples at a time: all their scores, then all their slopes, then their sum, which stays
//! in registers. Each is a loop without branches or dependent sums. This matters because for such
//! short examples arithmetic, not memory, takes the time.
//!
//! An example's features fill `N` registers. The remainder is read as the example's last full
//! register, with zero weights for features that were already counted.

use pulp::Simd;

use super::{GroupPass, MOST_LANES, Pass, add};
use crate::projection::shrink_factor;

/// Examples of a block: with more of them the processor does not prefetch the next ones while it
/// adds.
const BLOCK: usize = 16;

/// Where the last register of an example begins, and what of it the others do not hold.
struct Ending<S: Simd> {
    last: usize,
    /// So many of its lanes are in the others, too.
    seen: usize,
    /// The weights of its other lanes.
    w: S::f64s,
    /// 1 in its other lanes.
    counted: S::f64s,
}

impl<S: Simd> Ending<S> {
    #[inline(always)]
    fn of(w: &[f64]) -> Self {
        let last = w.len() - S::F64_LANES;
        let seen = S::F64_LANES - w.len() % S::F64_LANES;
        let padded = |ending: &dyn Fn(usize) -> f64| {
            let mut padded = [0.0; MOST_LANES];
            for (lane, number) in padded.iter_mut().enumerate().take(S::F64_LANES).skip(seen) {
                *number = ending(last + lane);
            }
            S::as_simd_f64s(&padded).0[0]
        };
        Self { last, seen, w: padded(&|at| w[at]), counted: padded(&|_| 1.0) }
    }

    /// Adds what a pass held in registers.
    #[inline(always)]
    fn add_to<const N: usize>(
        &self,
        simd: S,
        sum: &mut [f64],
        (sums, last): ([S::f64s; N], S::f64s),
    ) {
        let mut total = [0.0; MOST_LANES];
        S::as_mut_simd_f64s(&mut total).0[0] = last;
        for (sum, total) in sum[self.last + self.seen..].iter_mut().zip(&total[self.seen..]) {
            *sum += total;
        }
        for (sum, own) in S::as_mut_simd_f64s(sum).0.iter_mut().zip(sums) {
            *sum = simd.add_f64s(*sum, own);
        }
    }
}

/// The scores of a block of examples.
#[inline(always)]
fn score<S: Simd, const N: usize>(
    simd: S,
    block: &[f64],
    w: &[f64],
    ending: &Ending<S>,
    scores: &mut [f64],
) {
    let dimension = w.len();
    let w = registers::<S, N>(w);
    let mut products = [simd.splat_f64s(0.0); BLOCK];
    for (x, product) in block.chunks_exact(dimension).zip(&mut products) {
        let mut total = simd.mul_f64s(registers::<S, 1>(&x[ending.last..])[0], ending.w);
        for (x, w) in registers::<S, N>(x).iter().zip(w) {
            total = simd.mul_add_e_f64s(*x, *w, total);
        }
        *product = total;
    }
    for (score, product) in scores.iter_mut().zip(&products) {
        *score = simd.reduce_sum_f64s(*product);
    }
}

#[inline(always)]
pub(super) fn pass<S: Simd, const N: usize>(simd: S, pass: Pass<'_, '_, f64>) {
    let Pass { examples, mut first, w, sum, slopes } = pass;
    let dimension = w.len();
    let ending = Ending::<S>::of(w);
    let zero = simd.splat_f64s(0.0);
    let (mut sums, mut sum_last) = ([[zero; N]; 2], [zero; 2]);
    let mut scores = [0.0; BLOCK];
    for block in examples.chunks(BLOCK * dimension) {
        let scores = &mut scores[..block.len() / dimension];
        score::<S, N>(simd, block, w, &ending, scores);
        slopes(first, scores, scores.len());
        first += scores.len();
        if scores.contains(&0.0) {
            for (x, slope) in block.chunks_exact(dimension).zip(&*scores) {
                add(*slope, x, sum);
            }
            continue;
        }
        let mut pairs = block.chunks_exact(2 * dimension);
        for (pair, slopes) in pairs.by_ref().zip(scores.chunks_exact(2)) {
            let (one, other) = pair.split_at(dimension);
            for ((x, slope), (sum, sum_last)) in
                [one, other].into_iter().zip(slopes).zip(sums.iter_mut().zip(&mut sum_last))
            {
                add_scaled::<S, N>(simd, x, *slope, &ending, (sum, sum_last));
            }
        }
        if let Some(slope) = scores.last() {
            add(*slope, pairs.remainder(), sum);
        }
    }
    let [mut one, other] = sums;
    for (one, other) in one.iter_mut().zip(other) {
        *one = simd.add_f64s(*one, other);
    }
    ending.add_to(simd, sum, (one, simd.add_f64s(sum_last[0], sum_last[1])));
}

/// A pass in which every group has a sum of its own, which is shortened before it is added.
#[inline(always)]
pub(super) fn by_group<S: Simd, const N: usize>(simd: S, pass: GroupPass<'_, '_>) {
    let GroupPass { examples, mut first, groups, longest, w, sum, slopes } = pass;
    let dimension = w.len();
    let ending = Ending::<S>::of(w);
    let zero = simd.splat_f64s(0.0);
    let (mut sums, mut sum_last) = ([zero; N], zero);
    let (mut own, mut own_last) = ([zero; N], zero);
    let mut ends = groups.iter().filter(|group| !group.is_empty()).map(|group| group.end);
    let mut end = ends.next();
    let mut scores = [0.0; BLOCK];
    for block in examples.chunks(BLOCK * dimension) {
        let scores = &mut scores[..block.len() / dimension];
        score::<S, N>(simd, block, w, &ending, scores);
        slopes(first, scores, scores.len());
        for (x, slope) in block.chunks_exact(dimension).zip(&*scores) {
            if *slope != 0.0 {
                add_scaled::<S, N>(simd, x, *slope, &ending, (&mut own, &mut own_last));
            }
            first += 1;
            if end != Some(first) {
                continue;
            }
            end = ends.next();
            let mut squares = simd.mul_f64s(ending.counted, simd.mul_f64s(own_last, own_last));
            for own in own {
                squares = simd.mul_add_e_f64s(own, own, squares);
            }
            let norm = simd.reduce_sum_f64s(squares).sqrt();
            if norm.is_finite() {
                let factor = simd.splat_f64s(shrink_factor(norm, longest));
                for (sum, own) in sums.iter_mut().zip(own) {
                    *sum = simd.mul_add_e_f64s(own, factor, *sum);
                }
                sum_last = simd.mul_add_e_f64s(own_last, factor, sum_last);
            }
            (own, own_last) = ([zero; N], zero);
        }
    }
    ending.add_to(simd, sum, (sums, sum_last));
}

/// sum += slope·x
#[inline(always)]
fn add_scaled<S: Simd, const N: usize>(
    simd: S,
    x: &[f64],
    slope: f64,
    ending: &Ending<S>,
    (sums, sum_last): (&mut [S::f64s; N], &mut S::f64s),
) {
    let slope = simd.splat_f64s(slope);
    for (sum, x) in sums.iter_mut().zip(registers::<S, N>(x)) {
        *sum = simd.mul_add_e_f64s(*x, slope, *sum);
    }
    let x = registers::<S, 1>(&x[ending.last..])[0];
    *sum_last = simd.mul_add_e_f64s(x, slope, *sum_last);
}

/// The first `N` registers of an example that fills this many.
#[inline(always)]
fn registers<S: Simd, const N: usize>(x: &[f64]) -> &[S::f64s; N] {
    S::as_simd_f64s(x).0.first_chunk().unwrap_or_else(|| unreachable!("{N} registers of numbers"))
}
