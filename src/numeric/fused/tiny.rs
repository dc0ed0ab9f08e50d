//! Examples with fewer features than a register holds: plain loops over several examples, which the
//! compiler turns into whole registers of examples.

use super::{Pass, Slopes};

/// Examples of a block.
const BLOCK: usize = 64;

#[allow(clippy::inline_always)]
#[inline(always)]
pub(super) fn pass<M: Slopes, const D: usize>(pass: Pass<'_, M>) {
    let Pass { examples, mut first, w, sum, slopes } = pass;
    let mut scores = [0.0; BLOCK];
    for block in examples.as_chunks::<D>().0.chunks(BLOCK) {
        let scores = &mut scores[..block.len()];
        for (score, x) in scores.iter_mut().zip(block) {
            *score = x.iter().zip(w).map(|(x, w)| x * w).sum();
        }
        slopes.slopes(first, scores);
        for (slope, x) in scores.iter().zip(block) {
            for (sum, x) in sum.iter_mut().zip(x) {
                *sum += if *slope == 0.0 { 0.0 } else { slope * x };
            }
        }
        first += block.len();
    }
}
