//! The logistic loss log(1 + e^(−s·y)) of a score s and a sign y = ±1.

use crate::Shrinkage;
use crate::numeric::columns::{ExampleColumns, score_of, view};
use crate::numeric::damping::damped;
use crate::numeric::exponential::{exp, ln_1p};
use crate::numeric::positive::cholesky;
use crate::numeric::{Matrix, Vector};

const NEWTON_STEPS: usize = 50;

/// The loss of a margin s·y; nothing overflows.
// Inlined, like the functions below, so that loops over records compute several at once.
#[allow(clippy::inline_always)]
#[inline(always)]
pub fn loss(margin: f64) -> f64 {
    loss_and_slope(margin).0
}

/// d loss / d margin, in [−1, 0].
#[allow(clippy::inline_always)]
#[inline(always)]
pub fn slope(margin: f64) -> f64 {
    loss_and_slope(margin).1
}

/// Both, which share an exponential.
#[allow(clippy::inline_always)]
#[inline(always)]
pub fn loss_and_slope(margin: f64) -> (f64, f64) {
    let decay = exp(-margin.abs());
    let share = if margin >= 0.0 { decay } else { 1.0 };
    ((-margin).max(0.0) + ln_1p(decay), -share / (1.0 + decay))
}

/// The second derivative, at most 1/4.
pub fn curvature(margin: f64) -> f64 {
    let slope = slope(margin);
    -slope * (1.0 + slope)
}

/// The mean of curvatureᵢ·xᵢxᵢᵀ: the Hessian of the mean loss.
pub fn hessian(features: &impl ExampleColumns, w: &Vector) -> Matrix {
    let share = 1.0 / features.count() as f64;
    // The curvature is even in the margin, so the labels do not matter.
    let weights = features.map_each(|x| share * curvature(score_of(x, w)));
    crate::numeric::symmetric::weighted_outer_sum(features, &weights)
}

/// argmin (1/n)Σ loss + (ridge/2)·‖w‖², by damped Newton steps. `None` if there is no finite one.
pub fn ridge_solution(features: &impl ExampleColumns, signs: &[f64], ridge: f64) -> Option<Vector> {
    solution(features, signs, &ridge.into(), Vector::zeros(features.dimension()), 1e-20)
}

/// argmin (1/n)Σ loss + shrinkage, by damped Newton steps from `w` on, until the next one would gain
/// less than about `within`.
pub fn solution(
    features: &impl ExampleColumns,
    signs: &[f64],
    shrinkage: &Shrinkage,
    mut w: Vector,
    within: f64,
) -> Option<Vector> {
    let share = 1.0 / features.count() as f64;
    let value = |w: &Vector| {
        let mut sum = 0.0;
        features.each(|at, x| sum += loss(signs[at] * score_of(x, w)));
        share * sum + shrinkage.value(w)
    };
    let mut current = value(&w);
    for _ in 0..NEWTON_STEPS {
        let mut gradient = shrinkage.gradient(&w);
        features.each(|at, x| {
            let y = signs[at];
            gradient.axpy(share * y * slope(y * score_of(x, &w)), &view(x), 1.0);
        });
        let mut system = hessian(features, &w);
        shrinkage.curve(&mut system);
        let direction = cholesky(system)?.solve(&gradient);
        let decrement = direction.dot(&gradient);
        if decrement <= within {
            break;
        }
        let step = |length: f64| {
            let next = &w - length * &direction;
            (value(&next), next)
        };
        let Some((reached, next)) = damped(current, decrement, step) else { break };
        (w, current) = (next, reached);
    }
    w.iter().all(|w| w.is_finite()).then_some(w)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn extreme_margins_neither_overflow_nor_vanish() {
        assert_eq!((loss(1e4), loss(-1e4)), (0.0, 1e4));
        assert_eq!((slope(1e4), slope(-1e4)), (0.0, -1.0));
        assert!((loss(0.0) - 2.0_f64.ln()).abs() < 1e-15);
        assert!((curvature(0.0) - 0.25).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn slope_and_curvature_are_derivatives(margin in -20.0..20.0_f64) {
            let tiny = 1e-5;
            let rise = (loss(margin + tiny) - loss(margin - tiny)) / (2.0 * tiny);
            prop_assert!((rise - slope(margin)).abs() < 1e-8);
            let rise = (slope(margin + tiny) - slope(margin - tiny)) / (2.0 * tiny);
            prop_assert!((rise - curvature(margin)).abs() < 1e-8);
        }

        #[test]
        fn the_gradient_vanishes_at_the_ridge_solution(
            entries in proptest::collection::vec(-1.0..1.0_f64, 60),
            ridge in 1e-4..1.0_f64,
        ) {
            let features = Matrix::from_vec(3, 20, entries);
            let signs: Vec<f64> = (0..20).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
            let w = ridge_solution(&features, &signs, ridge).unwrap();
            let mut gradient = ridge * &w;
            for (x, y) in features.column_iter().zip(&signs) {
                gradient.axpy(y * slope(y * x.dot(&w)) / 20.0, &x, 1.0);
            }
            // The search ends when the value falls by less than its rounding, 10⁻¹⁶, which is a
            // gradient of about 10⁻⁸.
            prop_assert!(gradient.norm() < 1e-7, "{}", gradient.norm());
        }
    }
}
