//! The softmax loss log Σ exp(sⱼ) − s_y of the scores s = Wx and a class y.
//!
//! W has one row for each class, and no biases: features hold a constant, or need none. As
//! parameters, W is written row by row.

use super::loss::cross_entropy;
use super::{Architecture, Classifier, Shrinkage};
use crate::error::Result;
use crate::numeric::columns::{self, ExampleColumns, view};
use crate::numeric::damping::damped;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::numeric::{Matrix, Vector};

const NEWTON_STEPS: usize = 60;
/// The most products with the Hessian for one step.
const PRODUCTS: usize = 500;

/// The loss of a record, and over `slopes` its derivative in every score: p − e_y for the
/// probabilities p.
pub fn loss_and_slopes(x: &[f64], class: usize, w: &[f64], slopes: &mut [f64]) -> f64 {
    scores(x, w, slopes);
    cross_entropy(slopes, class as u32)
}

fn scores(x: &[f64], w: &[f64], scores: &mut [f64]) {
    for (score, row) in scores.iter_mut().zip(w.chunks_exact(x.len())) {
        *score = view(row).dot(&view(x));
    }
}

/// The model with these parameters.
pub fn model(dimension: usize, classes: usize, w: &Vector) -> Result<Classifier> {
    Classifier::new(Architecture::unbiased(dimension, classes)?, w.as_slice().to_vec())
}

/// Σ slopes ⊗ x over records: `slopes_of(i, slopes)` writes the slopes of record i in every score,
/// and returns whether the record counts. With it come the sums of what `tally` adds up.
pub fn sums<T: Send + Default>(
    features: &impl ExampleColumns,
    classes: usize,
    slopes_of: impl Fn(usize, &[f64], &mut [f64], &mut T) -> bool + Sync + Send,
) -> (Vector, Vec<T>) {
    let dimension = features.dimension();
    let start = || (vec![0.0; classes], T::default());
    let add = |at: usize, x: &[f64], sum: &mut [f64], (slopes, told): &mut (Vec<f64>, T)| {
        if !slopes_of(at, x, slopes, told) {
            return;
        }
        for (part, slope) in sum.chunks_exact_mut(dimension).zip(slopes) {
            for (part, x) in part.iter_mut().zip(x) {
                *part += *slope * x;
            }
        }
    };
    let (sum, made) = columns::sums(features, classes * dimension, start, add);
    (sum, made.into_iter().map(|(_, told)| told).collect())
}

/// For each class, the mean of p(1 − p)·xxᵀ: the blocks of the Hessian on its diagonal. Twice of
/// these are no less than the whole Hessian, whose blocks are pᵢ(δᵢⱼ − pⱼ)xxᵀ.
pub fn curvatures(features: &impl ExampleColumns, classes: usize, w: &Vector) -> Vec<Matrix> {
    let share = 1.0 / features.count() as f64;
    let mut weights = vec![vec![0.0; features.count()]; classes];
    for (at, p) in probabilities(features, classes, w).chunks_exact(classes).enumerate() {
        for (weights, p) in weights.iter_mut().zip(p) {
            weights[at] = share * p * (1.0 - p);
        }
    }
    weights.iter().map(|weights| weighted_outer_sum(features, weights)).collect()
}

/// The probabilities of all classes for each record, record by record.
fn probabilities(features: &impl ExampleColumns, classes: usize, w: &Vector) -> Vec<f64> {
    let mut all = vec![0.0; features.count() * classes];
    features.each(|at, x| {
        // Of no class: the slopes are the probabilities.
        loss_and_slopes(x, usize::MAX, w.as_slice(), &mut all[at * classes..][..classes]);
    });
    all
}

/// The Hessian of the mean loss, times a direction, from the probabilities of each record.
fn curved(
    features: &impl ExampleColumns,
    classes: usize,
    probabilities: &[f64],
    direction: &Vector,
) -> Vector {
    let share = 1.0 / features.count() as f64;
    let product = |at: usize, x: &[f64], slopes: &mut [f64], (): &mut ()| {
        let p = &probabilities[at * classes..][..classes];
        scores(x, direction.as_slice(), slopes);
        let mean: f64 = p.iter().zip(&*slopes).map(|(p, score)| p * score).sum();
        for (slope, p) in slopes.iter_mut().zip(p) {
            *slope = share * *p * (*slope - mean);
        }
        true
    };
    sums(features, classes, product).0
}

/// For each weight, the mean of p(1 − p)·x²: the diagonal of the Hessian.
fn diagonal(features: &impl ExampleColumns, classes: usize, probabilities: &[f64]) -> Vector {
    let share = 1.0 / features.count() as f64;
    let dimension = features.dimension();
    let add = |at: usize, x: &[f64], sum: &mut [f64], (): &mut ()| {
        let p = &probabilities[at * classes..][..classes];
        for (part, p) in sum.chunks_exact_mut(dimension).zip(p) {
            let weight = share * p * (1.0 - p);
            part.iter_mut().zip(x).for_each(|(part, x)| *part += weight * x * x);
        }
    };
    columns::sums(features, classes * dimension, || (), add).0
}

/// argmin (1/n)Σ loss + (ridge/2)·‖W‖². `None` if there is no finite one.
pub fn ridge_solution(
    features: &impl ExampleColumns,
    of: &[u32],
    classes: usize,
    ridge: f64,
) -> Option<Vector> {
    let w = Vector::zeros(classes * features.dimension());
    solution(features, (of, classes), &ridge.into(), w, 1e-20)
}

/// argmin (1/n)Σ loss + shrinkage, from `w` on, until the next step would gain less than about
/// `within`: by damped Newton steps, each by conjugate gradients. The Hessian is never built, as its
/// size is the square of classes times features.
pub fn solution(
    features: &impl ExampleColumns,
    (of, classes): (&[u32], usize),
    shrinkage: &Shrinkage,
    mut w: Vector,
    within: f64,
) -> Option<Vector> {
    let share = 1.0 / features.count() as f64;
    let descend = |w: &Vector| {
        let (gradient, losses) = sums(features, classes, |at, x, slopes, loss: &mut f64| {
            *loss += share * loss_and_slopes(x, of[at] as usize, w.as_slice(), slopes);
            for slope in slopes {
                *slope *= share;
            }
            true
        });
        (losses.iter().sum::<f64>() + shrinkage.value(w), gradient + shrinkage.gradient(w))
    };
    let ridges = shrinkage.gradient(&Vector::repeat(w.len(), 1.0));
    let (mut current, mut gradient) = descend(&w);
    let first = gradient.norm();
    for _ in 0..NEWTON_STEPS {
        let p = probabilities(features, classes, &w);
        let scales = diagonal(features, classes, &p) + &ridges;
        let times = |v: &Vector| curved(features, classes, &p, v) + shrinkage.gradient(v);
        // The nearer the end, the more exact: so the last steps double the digits.
        let exact = 0.1_f64.min((gradient.norm() / first).sqrt());
        let direction = conjugate_gradients(&gradient, &scales, exact, times);
        let decrement = direction.dot(&gradient);
        if decrement <= within {
            break;
        }
        let step = |length: f64| {
            let next = &w - length * &direction;
            let (reached, slope) = descend(&next);
            (reached, (next, slope))
        };
        let Some((reached, (next, slope))) = damped(current, decrement, step) else { break };
        (w, current, gradient) = (next, reached, slope);
    }
    w.iter().all(|w| w.is_finite()).then_some(w)
}

/// The solution of Ax = b for a positive A that is only known by its products, with its diagonal:
/// what is left of b is at most the part `exact` of it.
fn conjugate_gradients(
    b: &Vector,
    diagonal: &Vector,
    exact: f64,
    times: impl Fn(&Vector) -> Vector,
) -> Vector {
    let mut x = Vector::zeros(b.len());
    let mut left = b.clone();
    let mut scaled = left.component_div(diagonal);
    let mut direction = scaled.clone();
    let mut size = left.dot(&scaled);
    let enough = exact * exact * size;
    for _ in 0..PRODUCTS {
        if size <= enough {
            break;
        }
        let product = times(&direction);
        let along = size / direction.dot(&product);
        if !along.is_finite() {
            break;
        }
        x.axpy(along, &direction, 1.0);
        left.axpy(-along, &product, 1.0);
        scaled = left.component_div(diagonal);
        let next = left.dot(&scaled);
        direction = &scaled + (next / size) * &direction;
        size = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::logistic;
    use crate::numeric::parallel;

    fn features(numbers: &[f64]) -> Matrix {
        Matrix::from_column_slice(2, numbers.len() / 2, numbers)
    }

    fn two_by_two() -> (Matrix, [u32; 6]) {
        let numbers = [0.9, 0.1, -0.4, 0.6, 0.2, -0.7, 0.5, 0.5, -0.8, -0.2, 0.3, 0.9];
        (features(&numbers), [0, 1, 0, 1, 1, 0])
    }

    #[test]
    fn with_two_classes_the_solution_is_the_logistic_one() {
        let (features, of) = two_by_two();
        let signs = of.map(|class| if class == 1 { 1.0 } else { -1.0 });
        // Of two rows ±w/2 the norm is half that of w.
        let softmax = ridge_solution(&features, &of, 2, 0.1).unwrap();
        let logistic = logistic::ridge_solution(&features, &signs, 0.05).unwrap();
        let apart = softmax.rows(2, 2) - softmax.rows(0, 2);
        assert!((&apart - &logistic).norm() < 1e-6, "{apart} {logistic}");
        let blocks = curvatures(&features, 2, &softmax);
        let whole = logistic::hessian(&features, &logistic);
        assert!(blocks.iter().all(|block| (block - &whole).norm() < 1e-6));
    }

    #[test]
    fn at_the_solution_of_three_classes_nothing_is_left_to_descend() {
        let (features, mut of) = two_by_two();
        of[2] = 2;
        of[4] = 2;
        let w = ridge_solution(&features, &of, 3, 0.01).unwrap();
        let mut slopes = [0.0; 3];
        let mut gradient = 0.01 * &w;
        for (at, x) in features.column_iter().enumerate() {
            loss_and_slopes(x.as_slice(), of[at] as usize, w.as_slice(), &mut slopes);
            for (class, slope) in slopes.iter().enumerate() {
                gradient.rows_mut(2 * class, 2).axpy(slope / 6.0, &x, 1.0);
            }
        }
        assert!(gradient.norm() < 1e-6, "{gradient}");
    }

    #[test]
    fn products_and_the_diagonal_are_those_of_the_hessian() {
        let (features, mut of) = two_by_two();
        of[2] = 2;
        let w = Vector::from_vec(vec![0.3, -0.8, 0.1, 0.5, -0.2, 0.9]);
        let gradient = |w: &Vector| {
            let slopes = |at: usize, x: &[f64], slopes: &mut [f64], (): &mut ()| {
                loss_and_slopes(x, of[at] as usize, w.as_slice(), slopes);
                true
            };
            sums(&features, 3, slopes).0 / 6.0
        };
        let p = probabilities(&features, 3, &w);
        for k in 0..6 {
            let mut unit = Vector::zeros(6);
            unit[k] = 1.0;
            let product = curved(&features, 3, &p, &unit);
            let rise = (gradient(&(&w + 1e-6 * &unit)) - gradient(&w)) / 1e-6;
            assert!((&product - rise).norm() < 1e-6);
            assert!((diagonal(&features, 3, &p)[k] - product[k]).abs() < 1e-12);
        }
    }

    #[test]
    fn sums_are_the_same_on_any_number_of_threads() {
        const COUNT: usize = 40_000;
        let of_threads = |threads| {
            parallel::with_threads(threads, || {
                let features = Matrix::from_fn(3, COUNT, |i, j| ((i + 7 * j) as f64).sin());
                sums(&features, 2, |at, x, slopes, seen: &mut usize| {
                    *seen += 1;
                    slopes.copy_from_slice(&[x[0] * at as f64, 0.3]);
                    !at.is_multiple_of(5)
                })
            })
        };
        assert_eq!(of_threads(1), of_threads(2));
        assert_eq!(of_threads(2).1.iter().sum::<usize>(), COUNT);
    }

    proptest! {
        #[test]
        fn slopes_are_those_of_the_loss_and_never_longer_than_the_root_of_two(
            x in proptest::collection::vec(-1.0..1.0_f64, 2),
            w in proptest::collection::vec(-4.0..4.0_f64, 6),
            class in 0..3_usize,
        ) {
            let mut slopes = [0.0; 3];
            let loss = loss_and_slopes(&x, class, &w, &mut slopes);
            prop_assert!(Vector::from_column_slice(&slopes).norm() <= 2.0_f64.sqrt());
            for k in 0..6 {
                let mut other = w.clone();
                other[k] += 1e-6;
                let rise = (loss_and_slopes(&x, class, &other, &mut [0.0; 3]) - loss) / 1e-6;
                prop_assert!((rise - slopes[k / 2] * x[k % 2]).abs() < 1e-5);
            }
        }

        #[test]
        fn twice_the_blocks_bound_the_curvature(
            x in proptest::collection::vec(-1.0..1.0_f64, 2),
            w in proptest::collection::vec(-4.0..4.0_f64, 6),
            v in proptest::collection::vec(-1.0..1.0_f64, 6),
        ) {
            let (x, w) = (features(&x), Vector::from_vec(w));
            let v = Vector::from_vec(v);
            let blocks = curvatures(&x, 3, &w);
            let bound: f64 = (0..3)
                .map(|class| {
                    let own = v.rows(2 * class, 2);
                    own.dot(&(&blocks[class] * own))
                })
                .sum();
            let at = |by: f64| {
                let moved = &w + by * &v;
                loss_and_slopes(x.as_slice(), 0, moved.as_slice(), &mut [0.0; 3])
            };
            let curved = (at(1e-3) - 2.0 * at(0.0) + at(-1e-3)) / 1e-6;
            prop_assert!(curved <= 2.0 * bound + 1e-5, "{curved} {bound}");
        }
    }
}
