//! The default length of steps.
//!
//! It does not depend on private data, only on the noise that the plan needs, which follows from ε,
//! δ, the number of records, the batch, the clip norm and the number of steps. Suppose that the
//! mean gradient of each of T steps has noise of length L on p numbers. With steps of rate η, one
//! weight gathers noise of η·√T·L/√p, which is the noise in the scores of records of unit length.
//! All weights together gather η·√T·L. The rate keeps the geometric mean of the two at a constant,
//! the *reach*:
//!
//! > η = reach·p^¼ / (√T·L),
//!
//! but at most the rate that is good without noise. A momentum of β makes every step 1/(1 − β)
//! times as long, so the rate is lowered by this factor.
//!
//! Adam's steps have noise of about the rate η on every number, whatever L is: η = reach·p^−¼/√T, but
//! at most a constant.
//!
//! The constants were chosen on the images of MNIST, for ε from 0.1 to 8, T of 30 and 400, and
//! pixels as well as 40 or 80 principal directions, and stayed within a point of the best rate
//! on Fashion-MNIST.

use super::fields::StepSettings;
use super::optimiser::OptimiserKind;
use super::training::SampledMotion;
use crate::model::Architecture;

/// Bounds on the steps of a model.
#[derive(Debug, Clone, Copy)]
pub struct StepLengths {
    reach: f64,
    /// The rate without noise.
    largest: f64,
}

/// The largest rate of Adam.
const LARGEST_ADAM: f64 = 0.1;

impl StepLengths {
    /// Softmax regression on records of length about 1.
    const LINEAR: Self = Self { reach: 8.0, largest: 96.0 };
    /// Networks on inputs of about 1 each: their gradients are longer.
    const NETWORK: Self = Self { reach: 1.5, largest: 4.0 };

    /// The step lengths of this model.
    pub fn of(model: &Architecture) -> Self {
        if model.layers().len() == 1 { Self::LINEAR } else { Self::NETWORK }
    }

    /// Longer or shorter by a factor.
    pub fn times(self, factor: f64) -> Self {
        Self { reach: factor * self.reach, largest: factor * self.largest }
    }

    /// The steps according to the settings, if every mean gradient of this many `parameters` has
    /// noise of root mean square `length`.
    pub fn motion(self, course: StepSettings, length: f64, parameters: usize) -> SampledMotion {
        let StepSettings { steps, learning_rate, momentum, average, optimiser, .. } = course;
        let root = (parameters as f64).powf(0.25);
        let learning_rate = learning_rate.unwrap_or_else(|| match optimiser {
            OptimiserKind::Descent => {
                let gathered = (steps as f64).sqrt() * length;
                let steady = self.reach * root / gathered;
                (1.0 - momentum) * steady.min(self.largest)
            }
            OptimiserKind::Adam => (self.reach / (root * (steps as f64).sqrt())).min(LARGEST_ADAM),
        });
        SampledMotion { steps, learning_rate, momentum, average, optimiser, printed: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(numbers: &[(&str, f64)], length: f64, parameters: usize) -> f64 {
        let given = |wanted: &str| numbers.iter().find(|(key, _)| *key == wanted).map(|(_, x)| *x);
        let course = StepSettings {
            steps: given("steps").unwrap_or(400.0) as u64,
            batch: None,
            learning_rate: given("learning_rate"),
            momentum: given("momentum").unwrap_or(0.0),
            average: 0.25,
            optimiser: OptimiserKind::Descent,
        };
        StepLengths::LINEAR.motion(course, length, parameters).learning_rate
    }

    #[test]
    fn noise_steps_and_momentum_shorten_the_steps_and_a_chosen_rate_stays() {
        let usual = rate(&[("steps", 400.0)], 0.7, 400);
        assert!((usual / (8.0 * 400_f64.powf(0.25) / 14.0) - 1.0).abs() < 1e-12, "{usual}");
        assert!((rate(&[("steps", 400.0)], 1.4, 400) / (usual / 2.0) - 1.0).abs() < 1e-12);
        assert!((rate(&[("steps", 100.0)], 1.4, 400) / usual - 1.0).abs() < 1e-12);
        let slow = rate(&[("steps", 400.0), ("momentum", 0.75)], 0.7, 400);
        assert!((slow / (usual / 4.0) - 1.0).abs() < 1e-12);
        assert_eq!(rate(&[], 0.0, 400), 96.0);
        assert_eq!(rate(&[("learning_rate", 3.0), ("momentum", 0.5)], 0.7, 400), 3.0);
    }

    #[test]
    fn more_numbers_with_the_same_noise_each_shorten_the_steps_a_little() {
        let (few, many) = (rate(&[], 0.1 * 20.0, 400), rate(&[], 0.1 * 80.0, 6400));
        assert!((few / many - 2.0).abs() < 1e-12, "{few} {many}");
    }
}
