//! Euclidean projections.

use super::Vector;

/// Moves `point` to the nearest point of the simplex {q ≥ 0, Σq = 1}.
pub fn onto_simplex(point: &mut Vector) {
    // The projection subtracts one threshold everywhere and cuts at zero. The threshold is the
    // largest one that a number of leading entries define.
    let mut sorted = point.as_slice().to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut threshold = f64::NEG_INFINITY;
    for (rank, entry) in sorted.iter().enumerate() {
        sum += entry;
        let candidate = (sum - 1.0) / (rank + 1) as f64;
        if *entry <= candidate {
            break;
        }
        threshold = candidate;
    }
    point.apply(|entry| *entry = (*entry - threshold).max(0.0));
}

/// The factor that brings a vector of this norm into the ball of this radius: 1 inside it. A vector
/// whose norm is NaN is sent to the centre.
#[inline]
pub fn shrink_factor(norm: f64, radius: f64) -> f64 {
    if norm <= radius {
        1.0
    } else if norm.is_finite() {
        radius / norm
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_point_of_the_simplex_stays_and_a_far_point_goes_to_a_vertex() {
        let mut inside = Vector::from_vec(vec![0.25, 0.5, 0.25]);
        onto_simplex(&mut inside);
        assert_eq!(inside.as_slice(), [0.25, 0.5, 0.25]);
        let mut far = Vector::from_vec(vec![-3.0, 10.0, 2.0]);
        onto_simplex(&mut far);
        assert_eq!(far.as_slice(), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn only_vectors_outside_the_ball_shrink() {
        assert_eq!(shrink_factor(0.0, 1.0), 1.0);
        assert_eq!(shrink_factor(1.0, 1.0), 1.0);
        assert_eq!(shrink_factor(4.0, 1.0), 0.25);
        assert_eq!(shrink_factor(f64::INFINITY, 1.0), 0.0);
        assert_eq!(shrink_factor(f64::NAN, 1.0), 0.0);
    }

    proptest! {
        #[test]
        fn the_projection_lies_in_the_simplex_and_no_vertex_is_on_its_far_side(
            entries in proptest::collection::vec(-5.0..5.0_f64, 1..40),
        ) {
            let point = Vector::from_vec(entries);
            let mut projection = point.clone();
            onto_simplex(&mut projection);
            prop_assert!(projection.min() >= 0.0);
            prop_assert!((projection.sum() - 1.0).abs() < 1e-12);
            // ⟨point − p, v − p⟩ ≤ 0 for all v in the simplex characterises p.
            let away = &point - &projection;
            prop_assert!(away.max() - away.dot(&projection) < 1e-11);
        }
    }
}
