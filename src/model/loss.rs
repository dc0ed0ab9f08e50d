//! Labels, and the loss of scores against them.

use crate::numeric::exponential::{exp, exponentials};

/// One label per example.
#[derive(Debug, Clone, Copy)]
pub enum ExampleLabels<'a> {
    /// Softmax cross-entropy over all outputs.
    Classes(&'a [u32]),
    /// Every class against the rest: the mean of the outputs' hinge losses max(0, ζ − y·score)/ζ, y
    /// = ±1. A single output separates class 0 from the others.
    Hinge(&'a [u32], f64),
    /// (score − label)² of a single output.
    Numbers(&'a [f64]),
}

impl<'a> ExampleLabels<'a> {
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) | Self::Hinge(classes, _) => classes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `count` of them from number `first` on.
    pub fn range(&self, first: usize, count: usize) -> ExampleLabels<'a> {
        let range = first..first + count;
        match self {
            Self::Classes(classes) => ExampleLabels::Classes(&classes[range]),
            Self::Hinge(classes, margin) => ExampleLabels::Hinge(&classes[range], *margin),
            Self::Numbers(numbers) => ExampleLabels::Numbers(&numbers[range]),
        }
    }

    /// Turns the scores of every example into d loss / d scores and returns the losses. An unknown
    /// class, such as `u32::MAX`, matches none of them.
    pub(super) fn differentiate(&self, scores: &mut [f64]) -> Vec<f64> {
        if self.is_empty() {
            return Vec::new();
        }
        let outputs = scores.len() / self.len();
        let examples = scores.chunks_exact_mut(outputs);
        match self {
            Self::Classes(classes) => {
                let own: Vec<f64> =
                    examples.zip(*classes).map(|(scores, class)| centre(scores, *class)).collect();
                // All together, which takes half as long as example by example.
                exponentials(scores);
                let examples = scores.chunks_exact_mut(outputs).zip(*classes).zip(own);
                examples.map(|((scores, class), own)| settle(scores, *class, own)).collect()
            }
            Self::Hinge(classes, zeta) => {
                examples.zip(*classes).map(|(scores, class)| hinge(scores, *class, *zeta)).collect()
            }
            Self::Numbers(numbers) => {
                examples.zip(*numbers).map(|(scores, number)| squared(scores, *number)).collect()
            }
        }
    }
}

/// log Σ exp(scores) − score of the class; nothing overflows.
pub(super) fn cross_entropy(scores: &mut [f64], class: u32) -> f64 {
    let own = centre(scores, class);
    for score in &mut *scores {
        *score = exp(*score);
    }
    settle(scores, class, own)
}

/// Subtracts the largest score from all, and returns that of the class.
fn centre(scores: &mut [f64], class: u32) -> f64 {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for score in &mut *scores {
        *score -= largest;
    }
    scores.get(class as usize).copied().unwrap_or(0.0)
}

/// Turns exponentials of scores into slopes, and returns the loss; `own` is the score of the class.
fn settle(scores: &mut [f64], class: u32, own: f64) -> f64 {
    let sum = scores.iter().fold(0.0, |sum, score| sum + score);
    for score in &mut *scores {
        *score /= sum;
    }
    if let Some(score) = scores.get_mut(class as usize) {
        *score -= 1.0;
    }
    sum.ln() - own
}

fn hinge(scores: &mut [f64], class: u32, zeta: f64) -> f64 {
    let share = 1.0 / scores.len() as f64;
    let mut loss = 0.0;
    for (index, score) in scores.iter_mut().enumerate() {
        let sign = if index == class as usize { 1.0 } else { -1.0 };
        let short = 1.0 - sign * *score / zeta;
        let (value, slope) = if short > 0.0 { (short, -1.0 / zeta) } else { (0.0, 0.0) };
        loss += share * value;
        *score = share * sign * slope;
    }
    loss
}

fn squared(scores: &mut [f64], number: f64) -> f64 {
    let mut loss = 0.0;
    for score in scores {
        let error = *score - number;
        loss += error * error;
        *score = 2.0 * error;
    }
    loss
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hinge_loss_agrees_with_the_reference() {
        use crate::numeric::Vector;
        use halflight_testing as golden;
        let golden = golden::adaptation();
        let (w, zeta) = (golden.vector("hinge.w"), golden.number("hinge.zeta"));
        let features = golden.records("pca.clipped_to_ball");
        let labels = golden.vector("hinge.labels");
        let classes: Vec<u32> = labels.iter().map(|y| u32::from(*y < 0.0)).collect();
        let mut slopes: Vec<f64> = features.column_iter().map(|x| x.dot(&w)).collect();
        let losses = ExampleLabels::Hinge(&classes, zeta).differentiate(&mut slopes);
        golden::assert_near(&Vector::from_vec(losses), &golden.vector("hinge.values"), 1e-12);
        let sum = features * Vector::from_vec(slopes);
        golden::assert_near(&sum, &golden.vector("hinge.grad_sum"), 1e-12);
    }

    #[test]
    fn extreme_scores_give_finite_losses_and_slopes() {
        for labels in [ExampleLabels::Classes(&[1]), ExampleLabels::Hinge(&[1], 1.0)] {
            let mut scores = [1e4, -1e4, 0.0];
            let losses = labels.differentiate(&mut scores);
            assert!(losses[0].is_finite() && losses[0] > 5e3, "{losses:?}");
            assert!(scores.iter().all(|slope| slope.abs() <= 1.0), "{scores:?}");
        }
        let mut scores = [3.0];
        assert_eq!(ExampleLabels::Numbers(&[1.0]).differentiate(&mut scores), [4.0]);
        assert_eq!(scores, [4.0]);
    }
}
