//! The effect of clipping on normally distributed residuals.
//!
//! A small clip needs little noise, and most of the signal is in the signs: at half a standard
//! deviation the slope of the clipped residuals, relative to their bound, is a third larger than at
//! one and a half. But the slope along a correction is only as large as the share of unclipped
//! residuals, which is computed from their mean square.

use crate::numeric::special::{normal_density, normal_tails};

/// The range of distinguished clips, in standard deviations.
const RANGE: (f64, f64) = (0.2, 4.0);

/// The share of residuals below a clip of this many standard deviations.
pub fn kept(clip: f64) -> f64 {
    1.0 - 2.0 * normal_tails(clip).1
}

/// The mean square of clipped residuals with standard deviation 1.
pub fn mean_square(clip: f64) -> f64 {
    kept(clip) - 2.0 * clip * normal_density(clip) + clip * clip * (1.0 - kept(clip))
}

/// The clip in standard deviations, given the ratio of the clipped residuals' mean square to the
/// clip's square.
pub fn scale(share: f64) -> f64 {
    let (mut low, mut high) = RANGE;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        // The share falls with the clip.
        if mean_square(middle) / (middle * middle) > share { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{generator, normals};

    #[test]
    fn what_clipping_does_to_normal_numbers_is_what_is_said() {
        let numbers = normals(&mut generator(1), 200_000);
        let count = numbers.len() as f64;
        for clip in [0.3, 0.7, 1.5, 3.0] {
            let inside = numbers.iter().filter(|x| x.abs() < clip).count() as f64 / count;
            let square = numbers.iter().map(|x| x.powi(2).min(clip * clip)).sum::<f64>() / count;
            assert!((kept(clip) - inside).abs() < 0.005, "{clip}");
            assert!((mean_square(clip) - square).abs() < 0.01, "{clip}");
            assert!((scale(mean_square(clip) / clip.powi(2)) - clip).abs() < 1e-6, "{clip}");
        }
        for share in [f64::NEG_INFINITY, -1.0, 0.0, 1.0, 7.0, f64::INFINITY] {
            assert!((RANGE.0..=RANGE.1).contains(&scale(share)), "{share}");
        }
    }
}
