//! The weights of least discrepancy (DM), without noise: a baseline for studies and a number
//! for the curator.
//!
//! min ‖M(q)‖₂ over the simplex, by accelerated descent on the smoothed norm F̃ at rising
//! temperatures. Any E with ‖E‖_tr ≤ 1 bounds the minimum from below,
//!
//! > min ‖M(q)‖₂ ≥ ⟨E, M₀⟩ − maxᵢ xᵢᵀExᵢ,
//!
//! and the slope of F̃ is such a matrix, so the solver certifies how close it came.

use crate::error::{Error, Result};
use crate::numeric::accelerated::{Accelerated, simplex_gap};
use crate::numeric::{Matrix, Vector};
use crate::unlabelled::discrepancy::{Smoothed, largest_square, smoothed_value};
use crate::unlabelled::moment::difference;

/// Temperatures rise by this factor from stage to stage.
const RISE: f64 = 4.0;
const ITERATIONS_PER_STAGE: u64 = 300;
const MOST_STAGES: usize = 12;

/// The least ‖M(q)‖₂, and how it was reached.
#[derive(Debug, Clone)]
pub struct Minimum {
    /// The weights that reach it.
    pub weights: Vector,
    /// ‖M(q)‖₂ of these weights.
    pub norm: f64,
    /// No weights have a smaller norm than this.
    pub lower_bound: f64,
}

/// min F̃(q) at one temperature.
#[derive(Debug, Clone)]
pub struct MinimumDiscrepancy {
    features: Matrix,
    temperature: f64,
    search: Accelerated,
}

impl MinimumDiscrepancy {
    /// Starts at uniform weights on these records, one per column.
    pub fn new(features: Matrix, temperature: f64) -> Result<Self> {
        let square = largest_square(&features)?;
        // F̃ has at most this curvature along an edge of the simplex: a first guess.
        let curvature = temperature * square.powi(2);
        let search = Accelerated::from_uniform(features.ncols(), curvature);
        Ok(Self { features, temperature, search })
    }

    /// One step of accelerated descent.
    pub fn advance(&mut self, moment: &Matrix) {
        let Self { features, temperature, search } = self;
        search.advance_adaptively(
            |q| smoothed_value(&difference(moment, features, q), *temperature),
            |q| {
                let smoothed = Smoothed::of(&difference(moment, features, q), *temperature)?;
                Some((smoothed.value, -smoothed.scores(features)))
            },
        );
    }

    /// The weights so far.
    pub fn weights(&self) -> &Vector {
        &self.search.point
    }

    /// Stationarity gap at this temperature. `None` if the moment is not finite.
    pub fn gap(&self, moment: &Matrix) -> Option<f64> {
        let q = self.weights();
        let smoothed = Smoothed::of(&difference(moment, &self.features, q), self.temperature)?;
        Some(simplex_gap(&-smoothed.scores(&self.features), q))
    }

    fn bounds(&self, moment: &Matrix) -> Option<(f64, f64)> {
        let m = difference(moment, &self.features, self.weights());
        let smoothed = Smoothed::of(&m, self.temperature)?;
        let lower = smoothed.slope.dot(moment) - smoothed.scores(&self.features).max();
        Some((smoothed.norm, lower))
    }
}

/// The least ‖M(q)‖₂ to within `tolerance`, absolute, or as close as the solver comes.
pub fn minimum_discrepancy(features: Matrix, moment: &Matrix, tolerance: f64) -> Result<Minimum> {
    let largest = moment.norm().max(f64::MIN_POSITIVE);
    let mut solver = MinimumDiscrepancy::new(features, 10.0 / largest)?;
    let mut best: Option<Minimum> = None;
    for _ in 0..MOST_STAGES {
        for _ in 0..ITERATIONS_PER_STAGE {
            solver.advance(moment);
            if solver.gap(moment).is_some_and(|gap| gap <= 0.1 * tolerance) {
                break;
            }
        }
        let Some((norm, lower)) = solver.bounds(moment) else { break };
        let lower_bound = best.as_ref().map_or(lower, |best| best.lower_bound.max(lower)).max(0.0);
        best = Some(match best {
            Some(best) if best.norm <= norm => Minimum { lower_bound, ..best },
            _ => Minimum { weights: solver.weights().clone(), norm, lower_bound },
        });
        if best.as_ref().is_some_and(|best| best.norm - best.lower_bound <= tolerance) {
            break;
        }
        solver.temperature *= RISE;
        solver.search.restart(RISE);
    }
    best.ok_or_else(|| {
        Error::failed("the moment to match is not made of numbers")
            .cure("check the features for missing values")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::unlabelled::moment::bounded_moment;
    use halflight_testing as golden;

    #[test]
    fn the_minimum_of_the_reference_is_found_and_bracketed() {
        let golden = golden::discrepancy();
        let least = golden.number("dm_optimum.value");
        let minimum =
            minimum_discrepancy(golden.records("inputs.X"), &golden.rows("M0"), 1e-6).unwrap();
        assert!(minimum.lower_bound <= least + 1e-9 && least <= minimum.norm + 1e-9);
        assert!(minimum.norm - minimum.lower_bound < 1e-6, "{minimum:?}");
        golden::assert_near(&minimum.weights, &golden.vector("dm_optimum.q"), 1e-3);
    }

    #[test]
    fn the_bound_from_below_is_the_one_of_the_reference() {
        let golden = golden::discrepancy();
        let mut solver =
            MinimumDiscrepancy::new(golden.records("inputs.X"), golden.number("inputs.mu"))
                .unwrap();
        solver.search.point = golden.vector("inputs.q");
        let (norm, lower) = solver.bounds(&golden.rows("M0")).unwrap();
        assert!((norm - golden.number("spec_norm")).abs() < 1e-12);
        assert!((lower - golden.number("dual_lower_bound")).abs() < 1e-11, "{lower}");
    }

    #[test]
    fn no_other_weights_are_better_and_bad_moments_are_refused() {
        let (_, public, private) = example::shifted(5, 30, 60, 8);
        let moment = bounded_moment(&private.features, 1.0);
        let minimum = minimum_discrepancy(public.features.clone(), &moment, 1e-4).unwrap();
        assert!(minimum.norm - minimum.lower_bound < 1e-3, "{minimum:?}");
        let bad = Matrix::from_element(5, 5, f64::NAN);
        assert!(minimum_discrepancy(public.features.clone(), &bad, 1e-4).is_err());
        assert!(minimum_discrepancy(Matrix::zeros(5, 3), &moment, 1e-4).is_err());
    }
}
