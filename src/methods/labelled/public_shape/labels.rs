//! The form of labels in which the predictors learn them and private records are compared with
//! predictions.

use super::teaching::is_wide;
use crate::model::logistic;
use crate::model::shape::ScoreMeaning;
use crate::model::trees::ForestLoss;
use crate::model::trees::boosting::softmax;
use crate::numeric::least_squares::NormalEquations;
use crate::numeric::rows::{add_products, add_weighted};
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
const SOFTMAX_STEPS: usize = 200;
/// Examples that stay in the cache until they have been multiplied twice.
const ROWS_AT_ONCE: usize = 32;

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
            Self::Classes(labels, count) => softmax_weights(examples, labels, *count, ridges),
        }
    }
}

/// Softmax regression by accelerated descent from zero. In place of a ridge it ends early: at each one
/// after so many steps that directions of less curvature are hardly learned yet. So one descent serves
/// all, and a strong ridge takes few steps. The curvature of the loss is at most half the largest square
/// of an example. Single precision is as good here and half the work.
fn softmax_weights(
    examples: &Matrix,
    labels: &[u32],
    classes: usize,
    ridges: &[f64],
) -> Vec<Vec<f64>> {
    let length = examples.nrows();
    let singles: Vec<f32> = examples.iter().map(|x| *x as f32).collect();
    let rows: Vec<&[f32]> = singles.chunks_exact(length).collect();
    let whitening = if is_wide(length, classes) { Whitening::of(examples) } else { None };
    let curvature = match &whitening {
        None => 0.5 * examples.column_iter().map(|x| x.norm_squared()).fold(1.0, f64::max),
        Some(whitening) => whitening.largest_curvature(&rows),
    };
    let steps = |ridge: &f64| match &whitening {
        // After t steps, directions whose curvature is well below 4·`curvature`/t² are hardly learned.
        None => ((2.0 * (curvature / ridge).sqrt()) as usize).clamp(1, SOFTMAX_STEPS),
        // Half as many for a ridge that is ten times as strong.
        Some(_) => (WHITE_STEPS * (RIDGES[0] / ridge).powf(0.302)).max(1.0) as usize,
    };
    let needed: Vec<usize> = ridges.iter().map(steps).collect();
    let rate = 1.0 / (curvature * rows.len().max(1) as f64);
    let mut point = Vector::zeros(length * classes);
    let mut ahead = point.clone();
    let mut found = vec![Vec::new(); ridges.len()];
    for step in 1..=needed.iter().copied().max().unwrap_or(0) {
        let factors: Vec<f32> = ahead.iter().map(|weight| *weight as f32).collect();
        let mut slope = Vector::zeros(length * classes);
        for (rows, labels) in rows.chunks(ROWS_AT_ONCE).zip(labels.chunks(ROWS_AT_ONCE)) {
            let mut rests = vec![0.0; rows.len() * classes];
            add_products(rows, &factors, length, &mut rests);
            for (rests, label) in rests.chunks_exact_mut(classes).zip(labels) {
                rests.copy_from_slice(&softmax(rests));
                rests[*label as usize] -= 1.0;
            }
            add_weighted(rows, &rests, length, slope.as_mut_slice());
        }
        if let Some(whitening) = &whitening {
            slope = whitening.divide(slope, classes);
        }
        let next = &ahead - rate * slope;
        let momentum = (step - 1) as f64 / (step + 2) as f64;
        ahead = &next + momentum * (&next - &point);
        point = next;
        for (found, _) in found.iter_mut().zip(&needed).filter(|(_, needed)| **needed == step) {
            *found = point.as_slice().to_vec();
        }
    }
    found
}

/// Where a linear predictor has many weights, as with pictures, descent divides its slopes by
/// M = [`LEAST_CURVATURE`]·1 + ½·(the second moment of some records). A quarter of the steps leads to a
/// lower loss on held-out records then (Fashion-MNIST, 1 333 and 2 000 records of 784 pixels in ten
/// classes; these three numbers were chosen there).
struct Whitening {
    /// The records, scaled so that M is `LEAST_CURVATURE`·1 + `some`·`some`ᵀ.
    some: Matrix,
    /// `LEAST_CURVATURE`·1 + `some`ᵀ·`some`
    inner: nalgebra::Cholesky<f64, nalgebra::Dyn>,
}

const LEAST_CURVATURE: f64 = 1e-2;
const MOST_OF_MOMENT: usize = 64;
/// The steps for the least ridge.
const WHITE_STEPS: f64 = 48.0;

impl Whitening {
    /// `None` if the numbers are not finite.
    fn of(examples: &Matrix) -> Option<Self> {
        let stride = examples.ncols().div_ceil(MOST_OF_MOMENT).max(1);
        let chosen: Vec<usize> = (0..examples.ncols()).step_by(stride).collect();
        let some = examples.select_columns(&chosen) * (0.5 / chosen.len() as f64).sqrt();
        let mut inner = some.tr_mul(&some);
        for at in 0..inner.nrows() {
            inner[(at, at)] += LEAST_CURVATURE;
        }
        Some(Self { inner: nalgebra::Cholesky::new(inner)?, some })
    }

    /// M⁻¹ times each of the slopes.
    fn divide(&self, slopes: Vector, count: usize) -> Vector {
        let slopes = Matrix::from_vec(self.some.nrows(), count, slopes.data.into());
        let within = self.inner.solve(&self.some.tr_mul(&slopes));
        let divided = (slopes - &self.some * within) / LEAST_CURVATURE;
        Vector::from_vec(divided.data.into())
    }

    /// Somewhat above the largest eigenvalue of M⁻¹ times half the second moment of all records, by
    /// power iteration.
    fn largest_curvature(&self, rows: &[&[f32]]) -> f64 {
        const PASSES: usize = 8;
        let length = self.some.nrows();
        let mut direction = Vector::from_fn(length, |at, _| 1.0 + (at % 7) as f64);
        let mut found = 1.0;
        for _ in 0..PASSES {
            direction /= direction.norm().max(f64::MIN_POSITIVE);
            let factors: Vec<f32> = direction.iter().map(|x| *x as f32).collect();
            let mut sum = Vector::zeros(length);
            for rows in rows.chunks(ROWS_AT_ONCE) {
                let mut products = vec![0.0; rows.len()];
                add_products(rows, &factors, length, &mut products);
                add_weighted(rows, &products, length, sum.as_mut_slice());
            }
            direction = self.divide(sum * (0.5 / rows.len().max(1) as f64), 1);
            found = direction.norm();
        }
        (1.2 * found).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fits_of_all_ridges_together_are_those_of_each_alone_and_a_stronger_one_is_shorter() {
        let value = |feature, example| ((example * (31 + 17 * feature)) % 97) as f64 / 970.0;
        let examples = Matrix::from_fn(30, 100, value);
        for classes in [3, 7] {
            let of = (0..100).map(|example| (example * 7 / 3) % classes).collect();
            let labels = Labels::Classes(of, classes as usize);
            let together = labels.linear(&examples, &RIDGES);
            let length = |weights: &[f64]| weights.iter().map(|w| w * w).sum::<f64>();
            assert!(length(&together[3]) < length(&together[2]), "{classes}");
            assert!(length(&together[2]) < length(&together[1]), "{classes}");
            for (ridge, weights) in RIDGES.iter().zip(&together) {
                assert_eq!(labels.linear(&examples, &[*ridge])[0], *weights);
            }
        }
    }

    #[test]
    fn a_wide_descent_ends_below_a_narrow_one_in_a_quarter_of_the_steps() {
        // 300 columns that go up and down together, as neighbouring pixels do.
        let value = |feature: usize, example: usize| match feature {
            0 => 1.0,
            _ => (0.01 * (feature * (1 + example % 17)) as f64 + example as f64).sin() / 20.0,
        };
        let examples = Matrix::from_fn(301, 240, value);
        let class = |x: &[f64]| u32::from(x[20] > 0.0) + 2 * u32::from(x[90] > 0.01);
        let of: Vec<u32> = examples.column_iter().map(|x| class(x.as_slice())).collect();
        assert!(!is_wide(301, 4) && is_wide(301, 8));
        let loss = |classes: usize, ridge| {
            let labels = Labels::Classes(of.clone(), classes);
            let weights = &labels.linear(&examples, &[ridge])[0];
            let weights = Matrix::from_column_slice(301, classes, weights);
            labels.mean_loss(&(weights.transpose() * &examples))
        };
        // Classes that no record has cost little.
        let (narrow, wide) = (loss(4, RIDGES[0]), loss(8, RIDGES[0]));
        assert!(wide < narrow && narrow < 1.3, "{wide} {narrow}");
        assert!(wide < loss(8, RIDGES[3]), "a stronger ridge ends earlier");
    }

    /// A public predictor of several classes is near the solution that Newton steps find.
    #[test]
    fn descent_comes_near_the_solution_of_a_ridge() {
        let value = |feature, example: usize| match feature {
            0 => 1.0,
            _ => (0.7 + (example * (3 + 2 * feature)) as f64).sin(),
        };
        let examples = Matrix::from_fn(4, 200, value) / 2.0;
        let class = |x: &[f64]| u32::from(x[1] > 0.1) + u32::from(x[2] - x[3] > 0.2);
        let of: Vec<u32> = examples.column_iter().map(|x| class(x.as_slice())).collect();
        let labels = Labels::Classes(of.clone(), 3);
        let loss = |weights: &[f64]| {
            let weights = Matrix::from_column_slice(4, 3, weights);
            labels.mean_loss(&(weights.transpose() * &examples))
        };
        for ridge in [1e-3, 1e-2] {
            let solution = crate::model::softmax::ridge_solution(&examples, &of, 3, ridge).unwrap();
            let [exact, found] =
                [solution.as_slice(), &labels.linear(&examples, &[ridge])[0]].map(loss);
            assert!((found / exact - 1.0).abs() < 0.1, "{ridge}: {found} {exact}");
        }
    }
}
