//! The gradient of a linear model in one pass over the data.
//!
//! For Σ sᵢxᵢ with slopes sᵢ that depend on the score xᵢ·w, two matrix products read the
//! data twice. Here a few examples are scored and added while they are in the cache, so
//! memory is read once, which is all that such a pass costs.

use pulp::{Simd, WithSimd};

use super::{Matrix, Vector};

/// Examples that are worked on together: each entry of the weights and of the sum is
/// then loaded once for all of them.
const TOGETHER: usize = 4;

/// Independent partial sums of a dot product.
const LANES: usize = 8;

/// Numbers in a part of the examples at least; under it, starting a thread costs more.
const LEAST_SHARE: usize = 1 << 17;

/// Parts of the examples that are summed by themselves, at most. Their number depends on
/// the examples alone and never on the threads, so the sum is the same to the last bit.
pub(super) const PARTS: usize = 2;

/// The scores xᵢ·w and the sum Σ slope(i, xᵢ·w)·xᵢ over the columns of `features`.
///
/// A column whose slope is zero is not added, so it may hold anything.
pub fn gradient(
    features: &Matrix,
    w: &Vector,
    threads: usize,
    slope: impl Fn(usize, f64) -> f64 + Sync,
) -> (Vec<f64>, Vector) {
    let (dimension, count) = features.shape();
    let mut scores = vec![0.0; count];
    let mut sum = Vector::zeros(dimension);
    if dimension == 0 || count == 0 {
        return (scores, sum);
    }
    let parts = (dimension * count / LEAST_SHARE).clamp(1, PARTS);
    let share = count.div_ceil(parts).next_multiple_of(TOGETHER);
    let alone = threads <= 1 || parts == 1;
    let parts = features
        .as_slice()
        .chunks(share * dimension)
        .zip(scores.chunks_mut(share))
        .enumerate()
        .map(|(part, (examples, scores))| (part * share, examples, scores));
    let slope = &slope;
    let work = |(first, examples, scores): (usize, &[f64], &mut [f64])| {
        let mut sum = vec![0.0; dimension];
        let slope = |k: usize, score: f64| slope(first + k, score);
        pulp::Arch::new().dispatch(Pass {
            examples,
            w: w.as_slice(),
            scores,
            sum: &mut sum,
            slope,
        });
        sum
    };
    let mut add = |part: Vec<f64>| sum += Vector::from_vec(part);
    if alone {
        parts.for_each(|part| add(work(part)));
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
            for handle in handles {
                match handle.join() {
                    Ok(part) => add(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
    (scores, sum)
}

/// Threads that a pass may use on this machine: memory has no more to give to a third.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(PARTS)
}

/// One part of the examples, for the widest instructions of the machine.
struct Pass<'a, F> {
    examples: &'a [f64],
    w: &'a [f64],
    scores: &'a mut [f64],
    sum: &'a mut [f64],
    slope: F,
}

impl<F: Fn(usize, f64) -> f64> WithSimd for Pass<'_, F> {
    type Output = ();

    // Inlined, so that it is compiled for the instruction set that was found at run time.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { examples, w, scores, sum, slope } = self;
        let dimension = w.len();
        let mut groups = examples.chunks_exact(TOGETHER * dimension);
        let mut first = 0;
        for group in groups.by_ref() {
            let (a, rest) = group.split_at(dimension);
            let (b, rest) = rest.split_at(dimension);
            let (c, d) = rest.split_at(dimension);
            let four = [a, b, c, d];
            let found = dots(simd, four, w);
            scores[first..first + TOGETHER].copy_from_slice(&found);
            let mut slopes = [0.0; TOGETHER];
            for (k, (slot, score)) in slopes.iter_mut().zip(found).enumerate() {
                *slot = slope(first + k, score);
            }
            if slopes.iter().all(|slope| *slope != 0.0) {
                add_four(simd, slopes, four, sum);
            } else {
                for (slope, example) in slopes.into_iter().zip(four) {
                    add(slope, example, sum);
                }
            }
            first += TOGETHER;
        }
        for example in groups.remainder().chunks_exact(dimension) {
            scores[first] = dot(example, w);
            add(slope(first, scores[first]), example, sum);
            first += 1;
        }
    }
}

/// The four scores x·w at once: every entry of w is loaded once for all of them, and no sum
/// waits for the one before it.
#[allow(clippy::inline_always)]
#[inline(always)]
fn dots<S: Simd>(simd: S, four: [&[f64]; TOGETHER], w: &[f64]) -> [f64; TOGETHER] {
    let ([a, b, c, d], rest) = in_lanes::<S>(four);
    let (w, w_rest) = S::as_simd_f64s(w);
    let mut sums = [simd.splat_f64s(0.0); TOGETHER];
    for ((((a, b), c), d), w) in a.iter().zip(b).zip(c).zip(d).zip(w) {
        sums[0] = simd.mul_add_e_f64s(*a, *w, sums[0]);
        sums[1] = simd.mul_add_e_f64s(*b, *w, sums[1]);
        sums[2] = simd.mul_add_e_f64s(*c, *w, sums[2]);
        sums[3] = simd.mul_add_e_f64s(*d, *w, sums[3]);
    }
    let mut found = [0.0; TOGETHER];
    for ((found, sum), x) in found.iter_mut().zip(sums).zip(rest) {
        let rest: f64 = x.iter().zip(w_rest).map(|(x, w)| x * w).sum();
        *found = simd.reduce_sum_f64s(sum) + rest;
    }
    found
}

/// sum += Σ slopeᵢ·xᵢ of four examples.
#[allow(clippy::inline_always)]
#[inline(always)]
fn add_four<S: Simd>(simd: S, slopes: [f64; TOGETHER], four: [&[f64]; TOGETHER], sum: &mut [f64]) {
    let ([a, b, c, d], rest) = in_lanes::<S>(four);
    let (sum, sum_rest) = S::as_mut_simd_f64s(sum);
    let [s, t, u, v] = slopes.map(|slope| simd.splat_f64s(slope));
    for ((((a, b), c), d), sum) in a.iter().zip(b).zip(c).zip(d).zip(sum) {
        let one = simd.mul_add_e_f64s(u, *c, simd.mul_add_e_f64s(s, *a, *sum));
        let other = simd.mul_add_e_f64s(v, *d, simd.mul_f64s(t, *b));
        *sum = simd.add_f64s(one, other);
    }
    for (k, sum) in sum_rest.iter_mut().enumerate() {
        let products = slopes.iter().zip(rest).map(|(slope, x)| slope * x[k]);
        *sum += products.sum::<f64>();
    }
}

/// Four examples in whole registers, and what is left of each.
#[allow(clippy::inline_always)]
#[inline(always)]
fn in_lanes<S: Simd>(four: [&[f64]; TOGETHER]) -> ([&[S::f64s]; TOGETHER], [&[f64]; TOGETHER]) {
    let split = four.map(S::as_simd_f64s);
    (split.map(|(lanes, _)| lanes), split.map(|(_, rest)| rest))
}

/// x·w
#[allow(clippy::inline_always)]
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

#[allow(clippy::inline_always)]
#[inline(always)]
fn add(slope: f64, example: &[f64], sum: &mut [f64]) {
    if slope != 0.0 {
        for (sum, x) in sum.iter_mut().zip(example) {
            *sum += slope * x;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_pass_agrees_with_two_products_for_any_shape_and_number_of_threads(
            dimension in 1..40_usize,
            count in 0..30_usize,
            threads in 1..4_usize,
        ) {
            let features = Matrix::from_fn(dimension, count, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
            let w = Vector::from_fn(dimension, |i, _| (i % 5) as f64 - 2.0);
            let slope = |i: usize, score: f64| if i.is_multiple_of(3) { 0.0 } else { score - i as f64 };
            let (scores, sum) = gradient(&features, &w, threads, slope);
            // Whole numbers, so every order of summation is exact.
            let plain = features.tr_mul(&w);
            prop_assert_eq!(&Vector::from_vec(scores), &plain);
            let slopes = Vector::from_fn(count, |i, _| slope(i, plain[i]));
            prop_assert_eq!(sum, &features * slopes);
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_sum_to_the_last_bit() {
        let (dimension, count) = (64, 3 * LEAST_SHARE / 64 + 5);
        let features = Matrix::from_fn(dimension, count, |i, j| ((i + j) % 7) as f64 / 3.0);
        let w = Vector::from_element(dimension, 0.1);
        let slope = |i: usize, score: f64| score + (i % 4) as f64 / 7.0;
        let (one, alone) = gradient(&features, &w, 1, slope);
        let (three, together) = gradient(&features, &w, 3, slope);
        assert_eq!(one, three);
        assert_eq!(alone, together);
        // In one part the last bits would be others: the test can tell.
        let whole = &features * Vector::from_fn(count, |i, _| slope(i, one[i]));
        assert_ne!(alone, whole);
        assert!((&alone - &whole).norm() < 1e-9 * whole.norm());
    }

    #[test]
    fn a_column_without_slope_may_hold_anything() {
        for at in [0, 5] {
            let mut features = Matrix::from_element(3, 6, 1.0);
            features[(1, at)] = f64::NAN;
            let w = Vector::from_element(3, 1.0);
            let (_, sum) = gradient(&features, &w, 1, |i, _| if i == at { 0.0 } else { 1.0 });
            assert_eq!(sum, Vector::from_element(3, 5.0));
        }
    }
}
