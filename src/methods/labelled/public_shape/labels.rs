//! The form of labels in which the predictors learn them and private records are compared with
//! predictions.

use crate::model::logistic;
use crate::model::shape::ScoreMeaning;
use crate::model::trees::ForestLoss;
use crate::model::trees::boosting::softmax;
use crate::numeric::least_squares::NormalEquations;
use crate::prelude::*;

#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    Numbers(Vec<f64>),
    /// 1 for the second of two classes, 0 for the first.
    Second(Vec<f64>),
    /// Labels of this many classes.
    Classes(Vec<u32>, usize),
}

/// Ridges of linear predictors, in units of the square of the records' bound; the one that does
/// best in other regions is used.
pub const RIDGES: [f64; 4] = [1e-5, 1e-4, 1e-3, 1e-2];
const SOFTMAX_ITERATIONS: usize = 200;

impl Labels {
    pub fn of<F>(data: &Dataset<F>) -> Result<Self> {
        if let Some(classes) = &data.classes {
            let second = || classes.of.iter().map(|class| f64::from(*class)).collect();
            return Ok(match classes.names.len() {
                2 => Self::Second(second()),
                count => Self::Classes(classes.of.clone(), count),
            });
        }
        data.target.clone().map(Self::Numbers).ok_or_else(|| {
            Error::failed(format!("dataset '{}' has no labels", data.name))
                .cure("choose its label column")
        })
    }

    pub fn answer(&self) -> ScoreMeaning {
        match self {
            Self::Numbers(_) => ScoreMeaning::Number,
            Self::Second(_) => ScoreMeaning::TwoClasses,
            Self::Classes(_, count) => ScoreMeaning::Classes(*count),
        }
    }

    pub fn loss(&self) -> ForestLoss<'_> {
        match self {
            Self::Numbers(labels) => ForestLoss::Squared(labels),
            Self::Second(labels) => ForestLoss::Logistic(labels),
            Self::Classes(labels, count) => ForestLoss::Softmax(labels, *count),
        }
    }

    pub fn select(&self, records: &[u32]) -> Self {
        let numbers = |labels: &[f64]| records.iter().map(|i| labels[*i as usize]).collect();
        match self {
            Self::Numbers(labels) => Self::Numbers(numbers(labels)),
            Self::Second(labels) => Self::Second(numbers(labels)),
            Self::Classes(labels, count) => {
                Self::Classes(records.iter().map(|i| labels[*i as usize]).collect(), *count)
            }
        }
    }

    /// The loss under scores, one column per record.
    pub fn mean_loss(&self, scores: &Matrix) -> f64 {
        let loss = self.loss();
        let each = scores.column_iter().enumerate();
        let sum: f64 = each.map(|(i, scores)| loss.of(i, scores.as_slice())).sum();
        sum / scores.ncols() as f64
    }

    /// A record's residual: label − score, or indicator − probability of each class, as many
    /// numbers as scores.
    pub fn rest(&self, record: usize, scores: &[f64], rest: &mut [f64]) {
        match self {
            Self::Numbers(labels) => rest[0] = labels[record] - scores[0],
            Self::Second(labels) => {
                rest[0] = labels[record] - crate::model::trees::boosting::probability(scores[0]);
            }
            Self::Classes(labels, _) => {
                for (class, (rest, p)) in rest.iter_mut().zip(softmax(scores)).enumerate() {
                    *rest = f64::from(class as u32 == labels[record]) - p;
                }
            }
        }
    }

    /// Weights of a linear predictor for each ridge: for every score, the weights of the rows of
    /// `examples`.
    pub fn linear(&self, examples: &Matrix, ridges: &[f64]) -> Vec<Vec<f64>> {
        let each = ridges.iter().copied();
        let flat = |found: Option<Vector>| {
            found.unwrap_or_else(|| Vector::zeros(examples.nrows())).as_slice().to_vec()
        };
        match self {
            Self::Numbers(labels) => {
                let equations = NormalEquations::mean(examples, labels);
                let ridge = |ridge| equations.ridge(ridge).or_else(|| equations.ridge(1e-2));
                each.map(|strength| flat(ridge(strength))).collect()
            }
            Self::Second(labels) => {
                let signs: Vec<f64> = labels.iter().map(|y| 2.0 * y - 1.0).collect();
                each.map(|ridge| flat(logistic::ridge_solution(examples, &signs, ridge))).collect()
            }
            Self::Classes(labels, count) => {
                // Together, few classes would be multiplied by another rule and rounded otherwise.
                let at_once = if *count > FEW_ROWS { ridges.len().max(1) } else { 1 };
                let fits = ridges.chunks(at_once);
                fits.flat_map(|ridges| softmax_weights(examples, labels, *count, ridges)).collect()
            }
        }
    }
}

/// Matrices with at most so many rows or columns are multiplied number by number.
const FEW_ROWS: usize = 5;

/// Softmax regression by accelerated descent, for each ridge. The curvature of the loss is at most half
/// the largest square of an example. All ridges share the products, which take most of the time to
/// go through the examples.
fn softmax_weights(
    examples: &Matrix,
    labels: &[u32],
    classes: usize,
    ridges: &[f64],
) -> Vec<Vec<f64>> {
    let share = 1.0 / examples.ncols().max(1) as f64;
    let curvature = 0.5 * examples.column_iter().map(|x| x.norm_squared()).fold(1.0, f64::max);
    let shared = share * examples;
    let mut point = Matrix::zeros(examples.nrows(), classes * ridges.len());
    let mut ahead = point.clone();
    for iteration in 0..SOFTMAX_ITERATIONS {
        // A product by blocks; `tr_mul` would go through it column by column.
        let mut rests = ahead.transpose() * examples;
        for (mut scores, label) in rests.column_iter_mut().zip(labels) {
            for scores in scores.as_mut_slice().chunks_exact_mut(classes) {
                let probabilities = softmax(scores);
                for (class, (score, p)) in scores.iter_mut().zip(probabilities).enumerate() {
                    *score = p - f64::from(class as u32 == *label);
                }
            }
        }
        let mut slope = &shared * rests.transpose();
        for (at, ridge) in ridges.iter().enumerate() {
            let own = (at * classes, classes);
            let mut slope = slope.columns_mut(own.0, own.1);
            slope += *ridge * ahead.columns(own.0, own.1);
        }
        let next = &ahead - slope / curvature;
        let momentum = iteration as f64 / (iteration + 3) as f64;
        ahead = &next + momentum * (&next - &point);
        point = next;
    }
    point.as_slice().chunks(examples.nrows() * classes).map(<[f64]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fits_of_all_ridges_together_are_those_of_each_alone_to_the_last_bit() {
        let value = |feature, example| ((example * (31 + 17 * feature)) % 97) as f64 / 97.0;
        // More features than a product takes at once.
        let examples = Matrix::from_fn(300, 100, value);
        for classes in [3, 7] {
            let of = (0..100).map(|example| (example * 7 / 3) % classes).collect();
            let labels = Labels::Classes(of, classes as usize);
            let together = labels.linear(&examples, &RIDGES);
            assert!(together[0] != together[3]);
            for (ridge, weights) in RIDGES.iter().zip(&together) {
                assert_eq!(labels.linear(&examples, &[*ridge])[0], *weights);
            }
        }
    }
}
