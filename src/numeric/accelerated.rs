//! Accelerated projected gradient descent on the simplex.

use super::Vector;
use super::projection::onto_simplex;

/// The factor by which every step tries a smaller curvature.
const RELAXATION: f64 = 0.7;

/// FISTA that restarts its momentum whenever it points uphill.
#[derive(Debug, Clone)]
pub struct Accelerated {
    pub point: Vector,
    /// The point with momentum: where the next gradient is taken.
    ahead: Vector,
    momentum: f64,
    /// 1/step size.
    curvature: f64,
    pub iterations: u64,
}

impl Accelerated {
    /// From uniform weights. `curvature` must not be below the objective's for
    /// [`Self::advance`]; for [`Self::advance_adaptively`] it is a first guess.
    pub fn from_uniform(records: usize, curvature: f64) -> Self {
        let point = Vector::from_element(records, 1.0 / records as f64);
        Self { ahead: point.clone(), point, momentum: 1.0, curvature, iterations: 0 }
    }

    /// One step with the given curvature.
    pub fn advance(&mut self, gradient: impl Fn(&Vector) -> Vector) {
        let next = self.projected(&gradient(&self.ahead));
        self.iterations += 1;
        self.accept(next);
    }

    /// One step whose curvature is found by doubling until the quadratic model of the objective
    /// lies above it. `evaluate` gives value and gradient; if there are none, the search does not
    /// move.
    pub fn advance_adaptively(
        &mut self,
        value: impl Fn(&Vector) -> f64,
        evaluate: impl Fn(&Vector) -> Option<(f64, Vector)>,
    ) {
        const DOUBLINGS: usize = 60;
        self.iterations += 1;
        let Some((here, slope)) = evaluate(&self.ahead) else { return };
        self.curvature *= RELAXATION;
        let mut next = self.projected(&slope);
        for _ in 0..DOUBLINGS {
            let way = &next - &self.ahead;
            let model = here + slope.dot(&way) + 0.5 * self.curvature * way.norm_squared();
            // Differences in the last digits mean nothing.
            if value(&next) <= model + 1e-14 * here.abs() {
                break;
            }
            self.curvature *= 2.0;
            next = self.projected(&slope);
        }
        self.accept(next);
    }

    /// Forgets the momentum: for an objective that became `factor` times as curved.
    pub fn restart(&mut self, factor: f64) {
        self.momentum = 1.0;
        self.ahead.copy_from(&self.point);
        self.curvature *= factor;
    }

    fn projected(&self, gradient: &Vector) -> Vector {
        let mut next = &self.ahead - gradient / self.curvature;
        onto_simplex(&mut next);
        next
    }

    fn accept(&mut self, next: Vector) {
        let moved = &next - &self.point;
        if (&self.ahead - &next).dot(&moved) > 0.0 {
            self.momentum = 1.0;
            self.ahead.copy_from(&next);
        } else {
            let momentum = f64::midpoint(1.0, (1.0 + 4.0 * self.momentum.powi(2)).sqrt());
            self.ahead = &next + (self.momentum - 1.0) / momentum * moved;
            self.momentum = momentum;
        }
        self.point = next;
    }
}

/// max ⟨−∇, v − q⟩ over the simplex: 0 at a stationary point, and at least the distance from the
/// minimum of a convex objective.
pub fn simplex_gap(gradient: &Vector, q: &Vector) -> f64 {
    gradient.dot(q) - gradient.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn both_steps_end_at_the_minimum_of_a_quadratic() {
        let curved = Matrix::from_fn(6, 6, |i, j| {
            f64::from(u8::from(i == j)) * (1.0 + 50.0 * i as f64) + 0.3
        });
        let pull = Vector::from_fn(6, |i, _| (i as f64).sin());
        let gradient = |q: &Vector| &curved * q - &pull;
        let value = |q: &Vector| 0.5 * q.dot(&(&curved * q)) - pull.dot(q);
        let mut given = Accelerated::from_uniform(6, 260.0);
        let mut found = Accelerated::from_uniform(6, 1e-3);
        for _ in 0..600 {
            given.advance(gradient);
            found.advance_adaptively(value, |q| Some((value(q), gradient(q))));
        }
        for search in [given, found] {
            let gap = simplex_gap(&gradient(&search.point), &search.point);
            assert!(gap < 1e-6, "{gap:e}");
            assert_eq!(search.iterations, 600);
        }
    }
}
