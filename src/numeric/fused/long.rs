//! Four examples at a time: each entry of the weights and of the sum is then loaded once
//! for all of them, and the next four are on their way from memory meanwhile.

use pulp::Simd;

use super::{Pass, Slopes, add, dot};

/// Examples that are worked on together.
const TOGETHER: usize = 4;

#[allow(clippy::inline_always)]
#[inline(always)]
pub(super) fn pass<S: Simd, M: Slopes>(simd: S, pass: Pass<'_, M>) {
    let Pass { examples, mut first, w, sum, slopes } = pass;
    let dimension = w.len();
    let mut groups = examples.chunks_exact(TOGETHER * dimension);
    for group in groups.by_ref() {
        let (a, rest) = group.split_at(dimension);
        let (b, rest) = rest.split_at(dimension);
        let (c, d) = rest.split_at(dimension);
        let four = [a, b, c, d];
        let mut found = dots(simd, four, w);
        slopes.slopes(first, &mut found);
        if found.iter().all(|slope| *slope != 0.0) {
            add_four(simd, found, four, sum);
        } else {
            for (slope, example) in found.into_iter().zip(four) {
                add(slope, example, sum);
            }
        }
        first += TOGETHER;
    }
    for example in groups.remainder().chunks_exact(dimension) {
        let mut found = [dot(example, w)];
        slopes.slopes(first, &mut found);
        add(found[0], example, sum);
        first += 1;
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
