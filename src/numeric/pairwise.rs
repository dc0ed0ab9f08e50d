//! Descent on the simplex that moves weight between two entries at a time.
//!
//! > min ½qᵀGq − cᵀq + (λ/2)‖q‖²
//!
//! A move goes to the entry of least slope, from the one that lowers the objective most: by ½δ²/κ
//! where the slopes differ by δ and the curvature between the two is κ, or by less if that would
//! take more weight than there is. It changes the slope by two columns of G, so it costs O(m),
//! where a step along the whole gradient costs O(m²). Most weights of a solution are zero, and each
//! becomes zero in one move: about m to 3m moves reach a gap of 10⁻⁵ of the first one, where
//! accelerated gradients take hundreds of steps.

use super::accelerated::simplex_gap;
use super::{Matrix, Vector};

/// The search on one objective. It borrows G, which is symmetric without negative eigenvalues.
#[derive(Debug, Clone)]
pub struct Pairwise {
    pub point: Vector,
    /// The gradient of the objective at `point`, updated by every move.
    pub gradient: Vector,
    pub moves: u64,
    ridge: f64,
    /// Gₖₖ + λ, side by side.
    curvatures: Vector,
    /// How much each entry's best move would lower the objective.
    drops: Vec<f64>,
}

impl Pairwise {
    /// From uniform weights, where the objective has this gradient.
    pub fn from_uniform(gradient: Vector, gram: &Matrix, ridge: f64) -> Self {
        let m = gradient.len();
        let point = Vector::from_element(m, 1.0 / m as f64);
        let curvatures = gram.diagonal().add_scalar(ridge);
        Self { point, gradient, moves: 0, ridge, curvatures, drops: vec![0.0; m] }
    }

    pub fn gap(&self) -> f64 {
        simplex_gap(&self.gradient, &self.point)
    }

    /// One move. False if none lowers the objective, as at the minimum.
    pub fn advance(&mut self, gram: &Matrix) -> bool {
        let size = self.point.len();
        let column = |index: usize| &gram.as_slice()[index * size..][..size];
        let to = place_of_largest(self.gradient.iter().map(|slope| -slope));
        let (least, own, towards) = (self.gradient[to], self.curvatures[to], column(to));
        // The best amount to take from an entry, at most all its weight, even without curvature;
        // and its gain.
        let best = |slope: f64, weight: f64, curvature: f64, between: f64| {
            let curvature = own + curvature - 2.0 * between;
            let curvature = if curvature > 0.0 { curvature } else { f64::MIN_POSITIVE };
            let excess = slope - least;
            let wanted = excess / curvature;
            let amount = if wanted < weight { wanted } else { weight };
            (amount, amount * (excess - 0.5 * amount * curvature))
        };
        let entries = self.point.as_slice().iter().zip(self.gradient.as_slice());
        let curvatures = self.curvatures.as_slice().iter().zip(towards);
        let drops = self.drops.iter_mut().zip(entries.zip(curvatures));
        for (drop, ((weight, slope), (curvature, between))) in drops {
            *drop = best(*slope, *weight, *curvature, *between).1;
        }
        let from = place_of_largest(self.drops.iter().copied());
        let (slope, weight) = (self.gradient[from], self.point[from]);
        let (amount, drop) = best(slope, weight, self.curvatures[from], towards[from]);
        // Also false if something is NaN.
        let lowers = drop > 0.0;
        if !lowers {
            return false;
        }
        let away = column(from);
        self.point[to] += amount;
        self.point[from] -= amount;
        let slopes = self.gradient.as_mut_slice().iter_mut();
        for ((slope, towards), away) in slopes.zip(towards).zip(away) {
            *slope += amount * (towards - away);
        }
        self.gradient[to] += amount * self.ridge;
        self.gradient[from] -= amount * self.ridge;
        self.moves += 1;
        true
    }
}

/// The position of the first largest number; 0 if there is none.
fn place_of_largest(numbers: impl Iterator<Item = f64>) -> usize {
    let (mut place, mut largest) = (0, f64::NEG_INFINITY);
    for (index, number) in numbers.enumerate() {
        if number > largest {
            (place, largest) = (index, number);
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accelerated::Accelerated;

    proptest! {
        #[test]
        fn every_move_lowers_the_objective_and_they_end_at_its_minimum(
            entries in proptest::collection::vec(-1.0..1.0_f64, 24),
            pull in proptest::collection::vec(-1.0..1.0_f64, 8),
            log_ridge in -6.0..1.0_f64,
        ) {
            // Rank 3 of 8: without the ridge there would be many minima.
            let (half, pull) = (Matrix::from_vec(3, 8, entries), Vector::from_vec(pull));
            let (gram, ridge) = (half.transpose() * &half, f64::exp(log_ridge));
            let gradient = |q: &Vector| &gram * q - &pull + ridge * q;
            let value = |q: &Vector| 0.5 * q.dot(&(&gram * q + ridge * q)) - pull.dot(q);
            let mut search = Pairwise::from_uniform(gradient(&Vector::from_element(8, 0.125)), &gram, ridge);
            // If the ridge is small compared with the spread of curvatures, there are many moves.
            for _ in 0..50_000 {
                let before = search.clone();
                if search.gap() < 1e-12 || !search.advance(&gram) {
                    break;
                }
                prop_assert!(value(&search.point) <= value(&before.point) + 1e-15);
                prop_assert!(search.point.min() >= 0.0);
            }
            prop_assert!((search.point.sum() - 1.0).abs() < 1e-12);
            prop_assert!((gradient(&search.point) - &search.gradient).amax() < 1e-12);
            prop_assert!(search.gap() < 1e-9, "{:e}", search.gap());
            let mut other = Accelerated::from_uniform(8, gram.trace() + ridge);
            for _ in 0..3000 {
                other.advance(gradient);
            }
            prop_assert!(value(&search.point) <= value(&other.point) + 1e-9);
        }
    }

    #[test]
    fn a_single_entry_equal_slopes_and_no_numbers_leave_everything_as_it_is() {
        let gram = Matrix::identity(3, 3);
        for gradient in [[0.0; 3], [f64::NAN; 3]] {
            let mut search = Pairwise::from_uniform(Vector::from_row_slice(&gradient), &gram, 0.1);
            assert!(!search.advance(&gram));
            assert_eq!((search.point.max(), search.moves), (1.0 / 3.0, 0));
        }
        let one = Matrix::identity(1, 1);
        assert!(!Pairwise::from_uniform(Vector::from_element(1, 2.0), &one, 0.1).advance(&one));
    }

    #[test]
    fn without_curvature_all_the_weight_moves() {
        let (flat, slopes) = (Matrix::zeros(3, 3), Vector::from_row_slice(&[1.0, 0.0, 2.0]));
        let mut search = Pairwise::from_uniform(slopes, &flat, 0.0);
        while search.advance(&flat) {}
        assert_eq!(search.point.as_slice(), &[0.0, 1.0, 0.0]);
        assert_eq!((search.moves, search.gap()), (2, 0.0));
    }
}
