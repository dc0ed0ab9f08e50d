//! The least value of the objective of CnvxAdap, and a stationary point of that of NCnvxAdap.
//!
//! For a model w the best weights have a solution of their own, [`Pulls::best_weights`]. What is left
//! is g(w) = min over the weights, whose gradient is Σ qᵢ∇ℓᵢ at these weights. It is lowered by
//! damped Newton steps in the ball, until the gradient mapping of g is small.
//!
//! *Not private*: the result is an exact function of every record. It is what the published methods
//! would reach without noise, for studies on public data, and it never runs on a private dataset.

use crate::error::{Error, Result};
use crate::methods::labelled::records::LabelledRecords;
use crate::methods::labelled::weighted::learner::{Largest, Learner, LossPass};
use crate::methods::labelled::weighted::objective::{
    Caps, Pulls, Weights, gradient_mapping, into_ball,
};
use crate::numeric::columns::ExampleColumns;
use crate::numeric::damping::damped;
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::numeric::{Matrix, Vector};

/// The gradient mapping counts as zero at this share of that of the first model.
pub const TOLERANCE: f64 = 1e-8;
const MOST_STEPS: usize = 500;
/// A record that loses weight as its loss grows has at least this share of the curvature that it has
/// at a fixed weight, so that no step is much too long.
const LEAST_CURVATURE: f64 = 0.02;

/// An objective with all its records.
#[derive(Debug, Clone)]
pub struct WeightedObjective<A, B> {
    /// Squared loss, or the logistic one of a linear score.
    pub learner: Learner,
    pub pulls: Pulls,
    pub caps: Caps,
    /// Λ
    pub radius: f64,
    /// The penalty on public and on private records.
    pub penalty: (f64, f64),
    pub public: LabelledRecords<A>,
    pub private: LabelledRecords<B>,
}

/// The end of a search.
#[derive(Debug, Clone)]
pub struct Minimum {
    pub model: Vector,
    pub weights: Weights,
    pub value: f64,
    /// The norm of the gradient mapping of g, relative to that of the first model.
    pub gap: f64,
    pub steps: usize,
}

/// The best weights for a model.
struct Weighed {
    losses: Vec<f64>,
    weights: Weights,
    value: f64,
}

impl<A: ExampleColumns, B: ExampleColumns> WeightedObjective<A, B> {
    fn weigh(&self, w: &Vector) -> Weighed {
        let unweighted = std::iter::repeat(0.0);
        let public = self.public.pass(self.learner, w, unweighted.clone(), Largest::ANYTHING);
        let private = self.private.pass(self.learner, w, unweighted, Largest::ANYTHING);
        let (on_public, on_private) = self.penalty;
        let public = public.losses.iter().map(|loss| loss + on_public);
        let private = private.losses.iter().map(|loss| loss + on_private);
        let losses: Vec<f64> = public.chain(private).collect();
        let weights = self.pulls.best_weights(self.caps, &losses, &[]);
        let weighted = losses.iter().enumerate().map(|(index, loss)| weights.of(index) * loss);
        let value = weighted.sum::<f64>() + self.pulls.value(&weights);
        Weighed { losses, weights, value }
    }

    fn gradient(&self, w: &Vector, weights: &Weights) -> Vector {
        let of = |pass: LossPass| pass.gradient;
        let anything = Largest::ANYTHING;
        of(self.public.pass(self.learner, w, weights.public(), anything))
            + of(self.private.pass(self.learner, w, weights.private(), anything))
    }

    /// The curvature of g, or a little more: that of ℓᵢ at a fixed weight, less what the weight loses
    /// as the loss grows.
    fn curvature(&self, there: &Weighed) -> Matrix {
        let m = self.caps.public_records;
        let of = |(index, loss): (usize, &f64)| {
            let (on_public, on_private) = self.penalty;
            let alone = (loss - if index < m { on_public } else { on_private }).max(0.0);
            let (slope_squared, curvature) = if matches!(self.learner, Learner::Squared) {
                (4.0 * alone, 2.0)
            } else {
                let wrong = 1.0 - (-alone).exp();
                (wrong * wrong, wrong * (1.0 - wrong))
            };
            let q = there.weights.of(index);
            let lost = if self.pulls.sharpness.is_none() && there.weights.v[index] > 1.0 {
                0.5 * q / loss * slope_squared
            } else {
                0.0
            };
            (q * curvature - lost).max(LEAST_CURVATURE * q * curvature)
        };
        let all: Vec<f64> = there.losses.iter().enumerate().map(of).collect();
        weighted_outer_sum(&self.public.data().features, &all[..m])
            + weighted_outer_sum(&self.private.data().features, &all[m..])
    }

    /// The search from `first`, until the gap is `tolerance`.
    pub fn minimum(&self, first: Vector, tolerance: f64) -> Result<Minimum> {
        if !matches!(self.learner, Learner::Squared | Learner::Logistic) {
            return Err(Error::usage("the minimum is for numbers and for two classes")
                .cure("take squared or logistic loss of a linear score"));
        }
        let norm = self.public.data().bounds.feature_norm;
        let beta = self.learner.curvature() * norm.powi(2);
        let ball = |w: &mut Vector| into_ball(w, self.radius);
        let mut w = first;
        ball(&mut w);
        let mut there = self.weigh(&w);
        let mut gradient = self.gradient(&w, &there.weights);
        let mapping = |w: &Vector, gradient: &Vector| gradient_mapping(w, gradient, beta, ball);
        let start = mapping(&w, &gradient).norm();
        let (mut gap, mut steps) = (if start > 0.0 { 1.0 } else { 0.0 }, 0);
        while gap > tolerance && steps < MOST_STEPS {
            let curvature = self.curvature(&there);
            let moment = &curvature * &w - &gradient;
            let model = NormalEquations { gram: curvature, moment };
            let free = model.ridge(0.0).filter(|w| w.norm() <= self.radius);
            let Some(next) = free.or_else(|| model.in_ball(0.0, self.radius)) else { break };
            let direction = next - &w;
            let decrement = -direction.dot(&gradient);
            let step = |length: f64| {
                let point = &w + length * &direction;
                let weighed = self.weigh(&point);
                (weighed.value, (point, weighed))
            };
            let Some((_, (next, weighed))) = damped(there.value, decrement, step) else { break };
            (w, there) = (next, weighed);
            gradient = self.gradient(&w, &there.weights);
            gap = mapping(&w, &gradient).norm() / start;
            steps += 1;
        }
        if !there.value.is_finite() {
            return Err(Error::failed("the objective is not finite").cure("check the records"));
        }
        Ok(Minimum { model: w, weights: there.weights, value: there.value, gap, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::example;
    use halflight_testing::{self as golden, Golden};

    /// The five records of the reference, with these strengths.
    fn objective(
        learner: Learner,
        case: &Golden,
        keys: [&str; 3],
    ) -> WeightedObjective<Matrix, Matrix> {
        let golden = golden::adaptation();
        let labels = match learner {
            Learner::Squared => {
                [golden.vector("common.ypub").as_slice(), golden.vector("common.ypriv").as_slice()]
                    .concat()
            }
            _ => golden.vector("J.labels").as_slice().to_vec(),
        };
        let records = |x: &str, labels: &[f64]| {
            let data = example::labelled(golden.records(x), labels.to_vec());
            LabelledRecords::labelled(data.into(), labels.to_vec())
        };
        let [total, square, largest] = keys.map(|key| case.number(key));
        let sharpness = case.0.get("mu").and_then(serde_json::Value::as_f64);
        WeightedObjective {
            learner,
            pulls: Pulls { total, square, largest, sharpness },
            caps: Caps::new(golden.number("common.alpha"), 3, 2),
            radius: case.number("Lambda"),
            penalty: (golden.number("common.d_dp"), 0.0),
            public: records("common.Xpub", &labels[..3]),
            private: records("common.Xpriv", &labels[3..]),
        }
    }

    fn case(name: &str) -> Golden {
        Golden(golden::adaptation().value(&format!("joint_minima.{name}")).clone())
    }

    fn assert_reached(objective: &WeightedObjective<Matrix, Matrix>, case: &Golden, first: Vector) {
        let found = objective.minimum(first, TOLERANCE).unwrap();
        assert!(found.gap <= TOLERANCE && found.steps < MOST_STEPS, "{found:?}");
        assert!((found.value - case.number("value")).abs() < 1e-9, "{found:?}");
        golden::assert_near(&found.model, &case.vector("w"), 2e-5);
        let q: Vec<f64> = found.weights.public().chain(found.weights.private()).collect();
        golden::assert_near(&Vector::from_vec(q), &case.vector("q"), 2e-5);
    }

    #[test]
    fn the_minimum_of_f_is_that_of_the_reference_inside_the_ball_and_on_its_edge() {
        for name in ["F_inside", "F_edge"] {
            let case = case(name);
            let objective = objective(Learner::Squared, &case, ["kappa1", "kappa2", "kappa_inf"]);
            for first in [[0.0, 0.0], [-3.0, 1.0]] {
                assert_reached(&objective, &case, Vector::from_column_slice(&first));
            }
        }
    }

    #[test]
    fn a_stationary_point_of_j_is_that_of_the_reference() {
        let case = case("J_stationary");
        let objective = objective(Learner::Logistic, &case, ["lambda1", "lambda2", "lambda_inf"]);
        assert_reached(&objective, &case, Vector::from_column_slice(&[2.0, -1.0]));
    }

    /// Computed by the slopes of the weights, which the search for the best weights does not use.
    #[test]
    fn the_best_weights_are_stationary() {
        for sharpness in [None, Some(4.0)] {
            let largest = if sharpness.is_some() { 0.3 } else { 0.0 };
            let pulls = Pulls { total: 0.4, square: 0.5, largest, sharpness };
            let caps = Caps::new(0.3, 40, 20);
            let losses: Vec<f64> = (0..60).map(|i| 0.02 * f64::from(i * 7 % 60)).collect();
            let weights = pulls.best_weights(caps, &losses, &[]);
            let slopes = pulls.slope(&weights);
            let mut inner = 0;
            for index in 0..60 {
                let slope = slopes[index] - weights.rate(index) * losses[index];
                let v = weights.v[index];
                inner += usize::from(v > 1.0 && v < 1e3);
                let scale = weights.rate(index);
                if v == 1.0 {
                    assert!(slope >= -1e-9 * scale, "{index} {slope}");
                } else {
                    assert!(slope.abs() <= 1e-6 * scale.max(1e-12), "{index} {v} {slope}");
                }
            }
            assert!(inner > 3, "{inner}");
            // The first 40 have the same weights if the others are held where they are.
            let held = &weights.v.as_slice()[40..];
            let again = pulls.best_weights(caps, &losses[..40], held);
            golden::assert_near(&again.v.map(|v| 1.0 / v), &weights.v.map(|v| 1.0 / v), 1e-7);
        }
    }

    #[test]
    fn only_scores_with_one_number_are_taken() {
        let case = case("F_inside");
        let keys = ["kappa1", "kappa2", "kappa_inf"];
        let objective = WeightedObjective {
            learner: Learner::Softmax { classes: 3 },
            ..objective(Learner::Squared, &case, keys)
        };
        assert!(objective.minimum(Vector::zeros(6), TOLERANCE).is_err());
    }
}
