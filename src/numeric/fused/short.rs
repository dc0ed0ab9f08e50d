//! A few examples at a time: all their scores, then all their slopes, then their sum, which stays
//! in registers. Each is a loop without branches or dependent sums. This matters because for such
//! short examples arithmetic, not memory, takes the time.
//!
//! An example's features fill `N` registers. The remainder is read as the example's last full
//! register, with zero weights for features that were already counted.

use pulp::Simd;

use super::{Pass, Slopes, add};

/// Examples of a block: with more of them the processor does not prefetch the next ones while it
/// adds.
const BLOCK: usize = 16;

/// More lanes than any register has.
const MOST_LANES: usize = 16;

#[allow(clippy::inline_always)]
#[inline(always)]
pub(super) fn pass<S: Simd, M: Slopes, const N: usize>(simd: S, pass: Pass<'_, M>) {
    let Pass { examples, mut first, w, sum, slopes } = pass;
    let dimension = w.len();
    // The last register begins here; `seen` of its lanes are also in the others.
    let last = dimension - S::F64_LANES;
    let seen = S::F64_LANES - dimension % S::F64_LANES;
    let mut padded = [0.0; MOST_LANES];
    padded[seen..S::F64_LANES].copy_from_slice(&w[last + seen..]);
    let w_last = S::as_simd_f64s(&padded).0[0];
    let w = registers::<S, N>(w);

    let zero = simd.splat_f64s(0.0);
    let (mut sums, mut sum_last) = ([[zero; N]; 2], [zero; 2]);
    let mut products = [zero; BLOCK];
    let mut scores = [0.0; BLOCK];
    for block in examples.chunks(BLOCK * dimension) {
        let count = block.len() / dimension;
        for (x, product) in block.chunks_exact(dimension).zip(&mut products) {
            let mut total = simd.mul_f64s(registers::<S, 1>(&x[last..])[0], w_last);
            for (x, w) in registers::<S, N>(x).iter().zip(w) {
                total = simd.mul_add_e_f64s(*x, *w, total);
            }
            *product = total;
        }
        let scores = &mut scores[..count];
        for (score, product) in scores.iter_mut().zip(&products) {
            *score = simd.reduce_sum_f64s(*product);
        }
        slopes.slopes(first, scores);
        first += count;
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
                let slope = simd.splat_f64s(*slope);
                for (sum, x) in sum.iter_mut().zip(registers::<S, N>(x)) {
                    *sum = simd.mul_add_e_f64s(*x, slope, *sum);
                }
                let x = registers::<S, 1>(&x[last..])[0];
                *sum_last = simd.mul_add_e_f64s(x, slope, *sum_last);
            }
        }
        if let Some(slope) = scores.last() {
            add(*slope, pairs.remainder(), sum);
        }
    }

    let mut total = [0.0; MOST_LANES];
    let ends = S::as_mut_simd_f64s(&mut total).0;
    ends[0] = simd.add_f64s(sum_last[0], sum_last[1]);
    for (sum, total) in sum[last + seen..].iter_mut().zip(&total[seen..]) {
        *sum += total;
    }
    let [one, other] = sums;
    for ((sum, one), other) in S::as_mut_simd_f64s(sum).0.iter_mut().zip(one).zip(other) {
        *sum = simd.add_f64s(*sum, simd.add_f64s(one, other));
    }
}

/// The first `N` registers of an example that fills this many.
#[allow(clippy::inline_always)]
#[inline(always)]
fn registers<S: Simd, const N: usize>(x: &[f64]) -> &[S::f64s; N] {
    S::as_simd_f64s(x).0.first_chunk().unwrap_or_else(|| unreachable!("{N} registers of numbers"))
}
