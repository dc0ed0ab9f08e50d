//! Examples with fewer features than a register holds: plain loops over several examples, which the
//! compiler turns into whole registers of examples.

use super::{GroupPass, Pass};
use crate::projection::shrink_factor;

/// Examples of a block.
const BLOCK: usize = 64;

#[inline(always)]
pub(super) fn pass<const D: usize>(pass: Pass<'_, '_, f64>) {
    let Pass { examples, mut first, w, sum, slopes } = pass;
    let mut scores = [0.0; BLOCK];
    for block in examples.as_chunks::<D>().0.chunks(BLOCK) {
        let scores = &mut scores[..block.len()];
        for (score, x) in scores.iter_mut().zip(block) {
            *score = x.iter().zip(w).map(|(x, w)| x * w).sum();
        }
        slopes(first, scores, scores.len());
        for (slope, x) in scores.iter().zip(block) {
            for (sum, x) in sum.iter_mut().zip(x) {
                *sum += if *slope == 0.0 { 0.0 } else { slope * x };
            }
        }
        first += block.len();
    }
}

/// A pass in which every group has a sum of its own, which is shortened before it is added.
#[inline(always)]
pub(super) fn by_group<const D: usize>(pass: GroupPass<'_, '_>) {
    let GroupPass { examples, mut first, groups, longest, w, sum, slopes } = pass;
    let mut scores = [0.0; BLOCK];
    let mut own = [0.0; D];
    let mut ends = groups.iter().filter(|group| !group.is_empty()).map(|group| group.end);
    let mut end = ends.next();
    for block in examples.as_chunks::<D>().0.chunks(BLOCK) {
        let scores = &mut scores[..block.len()];
        for (score, x) in scores.iter_mut().zip(block) {
            *score = x.iter().zip(w).map(|(x, w)| x * w).sum();
        }
        slopes(first, scores, scores.len());
        for (slope, x) in scores.iter().zip(block) {
            if *slope != 0.0 {
                for (own, x) in own.iter_mut().zip(x) {
                    *own += slope * x;
                }
            }
            first += 1;
            if end != Some(first) {
                continue;
            }
            end = ends.next();
            let norm = own.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm.is_finite() {
                let factor = shrink_factor(norm, longest);
                for (sum, own) in sum.iter_mut().zip(own) {
                    *sum += factor * own;
                }
            }
            own = [0.0; D];
        }
    }
}
