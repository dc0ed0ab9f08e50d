//! Weights and model together, against a released moment:
//!
//! > min over q and ‖w‖ ≤ Λ of  Σ qᵢ(⟨w, xᵢ⟩ − yᵢ)² + 4Λ²F̃(M̃₀ − Σ qᵢxᵢxᵢᵀ) + (c·m·σ/2)‖q − u‖².
//!
//! For given q the best w is weighted least squares, so w is eliminated. This leaves a function of
//! q whose gradient is that of the objective at the best w. Among weights that match the moment
//! equally well, it prefers those whose records agree about labels.

use super::discrepancy::{Smoothed, smoothed_value};
use super::matching::Matching;
use super::moment::difference;
use crate::numeric::columns::{ExampleColumns, score_of};
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::{Matrix, Vector};

pub(super) struct Joint {
    /// μ
    pub temperature: f64,
    /// Λ
    pub radius: f64,
    pub ridge: f64,
}

impl Joint {
    fn weight(&self) -> f64 {
        4.0 * self.radius.powi(2)
    }

    /// (⟨w, xᵢ⟩ − yᵢ)² at the best w for q.
    fn losses(&self, features: &impl ExampleColumns, labels: &[f64], q: &Vector) -> Option<Vector> {
        let w = NormalEquations::weighted(features, labels, q.as_slice())
            .in_ball(self.ridge, self.radius)?;
        let scores = features.map_each(|x| score_of(x, &w)).into_iter();
        let losses = scores.zip(labels).map(|(score, y)| (score - y).powi(2));
        Some(Vector::from_iterator(labels.len(), losses))
    }

    /// NaN if the objective has no value.
    pub fn value(&self, matching: &Matching, labels: &[f64], moment: &Matrix, q: &Vector) -> f64 {
        let difference = difference(moment, &matching.public.features, q);
        let loss = self.losses(&matching.public.features, labels, q);
        loss.map_or(f64::NAN, |loss| loss.dot(q))
            + self.weight() * smoothed_value(&difference, self.temperature)
            + matching.penalty(q)
    }

    pub fn evaluate(
        &self,
        matching: &Matching,
        labels: &[f64],
        moment: &Matrix,
        q: &Vector,
    ) -> Option<(f64, Vector)> {
        let difference = difference(moment, &matching.public.features, q);
        let smoothed = Smoothed::of(&difference, self.temperature)?;
        let losses = self.losses(&matching.public.features, labels, q)?;
        let value = losses.dot(q) + self.weight() * smoothed.value + matching.penalty(q);
        let mut gradient = losses;
        gradient.axpy(-self.weight(), &smoothed.scores(&matching.public.features), 1.0);
        matching.add_penalty_slope(&mut gradient, q);
        Some((value, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::numeric::projection::onto_simplex;
    use crate::unlabelled::moment::bounded_moment;

    #[test]
    fn with_the_model_eliminated_the_gradient_is_still_the_slope_of_the_value() {
        let (_, public, private) = example::shifted(4, 15, 30, 5);
        let labels = public.target.clone().unwrap();
        let moment = bounded_moment(&private.features, 1.0);
        let matching = Matching { public: public.clone().into(), regularisation: 0.1 };
        // Inside the ball and on its edge, without a ridge, which the loss does not contain.
        for radius in [10.0, 0.4] {
            let joint = Joint { temperature: 8.0, radius, ridge: 0.0 };
            let mut generator = example::generator(3);
            let mut q = example::normals(&mut generator, 15).map(f64::abs);
            onto_simplex(&mut q);
            q = 0.5 * q + Vector::from_element(15, 0.5 / 15.0);
            let way = example::normals(&mut generator, 15);
            let value = |t: f64| joint.value(&matching, &labels, &moment, &(&q + t * &way));
            let (here, gradient) = joint.evaluate(&matching, &labels, &moment, &q).unwrap();
            assert!((here - value(0.0)).abs() < 1e-12 * here.abs());
            let tiny = 1e-5;
            let rise = (value(tiny) - value(-tiny)) / (2.0 * tiny);
            assert!((rise - gradient.dot(&way)).abs() < 1e-6 * (1.0 + here), "{rise}");
        }
    }
}
