//! Gradient boosting: every tree is a Newton step on the residuals of the trees before it.

use super::bins::BinnedParts;
use super::growth::{Growth, Pull, grow};
use super::{Forest, Tree};
use crate::numeric::Matrix;
use crate::numeric::exponential::exp;

/// The loss that a forest minimises.
#[derive(Debug, Clone, Copy)]
pub enum ForestLoss<'a> {
    /// Half the squared distance to a number per example.
    Squared(&'a [f64]),
    /// The logistic loss of one score; 1 for the second class, 0 for the first.
    Logistic(&'a [f64]),
    /// The loss of each example's class under a softmax with this many scores.
    Softmax(&'a [u32], usize),
}

/// How a forest is grown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boosting {
    pub rounds: usize,
    pub learning_rate: f64,
    pub growth: Growth,
    /// Growth ends after so many rounds without a lower loss of the watched examples.
    pub patience: Option<usize>,
}

/// Probabilities are kept this far from 0 and 1, so that the base score stays finite.
const LEAST_PROBABILITY: f64 = 1e-3;

impl ForestLoss<'_> {
    pub fn outputs(&self) -> usize {
        match self {
            Self::Squared(_) | Self::Logistic(_) => 1,
            Self::Softmax(_, classes) => *classes,
        }
    }

    /// The best constant scores.
    pub fn base(&self, examples: &[u32]) -> Vec<f64> {
        let count = examples.len().max(1) as f64;
        let mean = |of: &dyn Fn(usize) -> f64| {
            examples.iter().map(|example| of(*example as usize)).sum::<f64>() / count
        };
        match self {
            Self::Squared(labels) => vec![mean(&|i| labels[i])],
            Self::Logistic(labels) => {
                let p = mean(&|i| labels[i]).clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
                vec![(p / (1.0 - p)).ln()]
            }
            Self::Softmax(labels, classes) => (0..*classes as u32)
                .map(|class| mean(&|i| f64::from(labels[i] == class)).max(LEAST_PROBABILITY).ln())
                .collect(),
        }
    }

    /// Gradients and curvatures of every example, separately for each output.
    fn pull(&self, scores: &[f64], gradients: &mut [Vec<f64>], curvatures: &mut [Vec<f64>]) {
        match self {
            Self::Squared(labels) => {
                for ((gradient, score), label) in gradients[0].iter_mut().zip(scores).zip(*labels) {
                    *gradient = score - label;
                }
                curvatures[0].fill(1.0);
            }
            Self::Logistic(labels) => {
                for (i, (score, label)) in scores.iter().zip(*labels).enumerate() {
                    let p = probability(*score);
                    gradients[0][i] = p - label;
                    curvatures[0][i] = p * (1.0 - p);
                }
            }
            Self::Softmax(labels, classes) => {
                for (i, (scores, label)) in scores.chunks_exact(*classes).zip(*labels).enumerate() {
                    let probabilities = softmax(scores);
                    for (class, p) in probabilities.into_iter().enumerate() {
                        gradients[class][i] = p - f64::from(class as u32 == *label);
                        curvatures[class][i] = p * (1.0 - p);
                    }
                }
            }
        }
    }

    /// The loss of one example under its scores.
    pub fn of(&self, example: usize, scores: &[f64]) -> f64 {
        match self {
            Self::Squared(labels) => (scores[0] - labels[example]).powi(2),
            Self::Logistic(labels) => {
                crate::logistic::loss((2.0 * labels[example] - 1.0) * scores[0])
            }
            Self::Softmax(labels, _) => {
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
                sum.ln() + most - scores[labels[example] as usize]
            }
        }
    }
}

/// 1/(1 + e^(−score)); nothing overflows.
pub fn probability(score: f64) -> f64 {
    -crate::logistic::slope(-score)
}

/// Scores as probabilities.
pub fn softmax(scores: &[f64]) -> Vec<f64> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| exp(score - most)).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

impl Boosting {
    /// A forest grown on `examples`. `offset` are the scores from which it starts; they are not
    /// part of it. `watched` examples are scored after every round; the second result is their mean
    /// loss after 0, 1, 2 … rounds, and the last one for rounds that were not grown.
    pub fn fit(
        &self,
        (data, features): (&BinnedParts, &Matrix),
        examples: &[u32],
        loss: ForestLoss<'_>,
        offset: Option<&[f64]>,
        watched: &[u32],
    ) -> (Forest, Vec<f64>) {
        let outputs = loss.outputs();
        let base = match offset {
            None => loss.base(examples),
            Some(_) => vec![0.0; outputs],
        };
        let mut scores = match offset {
            None => base.repeat(data.examples()),
            Some(offset) => offset.to_vec(),
        };
        let mut forest = Forest { base, trees: Vec::with_capacity(self.rounds * outputs) };
        let mean_loss = |scores: &[f64]| {
            let each = watched.iter().map(|example| {
                let at = *example as usize;
                loss.of(at, &scores[at * outputs..][..outputs])
            });
            each.sum::<f64>() / watched.len().max(1) as f64
        };
        let mut course = vec![mean_loss(&scores)];
        let mut gradients = vec![vec![0.0; data.examples()]; outputs];
        let mut curvatures = gradients.clone();
        let mut spare = Vec::new();
        let mut best = 0;
        for round in 0..self.rounds {
            loss.pull(&scores, &mut gradients, &mut curvatures);
            for output in 0..outputs {
                let pull = Pull {
                    gradients: &gradients[output],
                    curvatures: &curvatures[output],
                    outputs: 1,
                };
                let part = data.of_tree(round + output);
                let mut grown = grow(part, examples.to_vec(), pull, self.growth, &mut spare);
                for value in &mut grown.tree.values {
                    *value *= self.learning_rate;
                }
                for (leaf, members) in &grown.leaves {
                    let value = grown.tree.values[*leaf];
                    for member in members {
                        scores[*member as usize * outputs + output] += value;
                    }
                }
                let tree: Tree = grown.tree;
                for &example in watched {
                    let at = example as usize;
                    let example = &features.as_slice()[at * features.nrows()..][..features.nrows()];
                    scores[at * outputs + output] += tree.answer(example);
                }
                forest.trees.push(tree);
            }
            course.push(mean_loss(&scores));
            if course[round + 1] < course[best] {
                best = round + 1;
            }
            if self.patience.is_some_and(|most| !watched.is_empty() && round + 1 - best >= most) {
                break;
            }
        }
        course.resize(self.rounds + 1, course[course.len() - 1]);
        (forest, course)
    }
}

#[cfg(test)]
mod tests {
    use super::super::growth::Grown;
    use super::*;

    const GROWTH: Growth = Growth { most_leaves: 8, most_depth: 32, least_examples: 5, ridge: 0.0 };

    fn wave(count: usize) -> (Matrix, Vec<f64>) {
        let features = Matrix::from_fn(2, count, |feature, example| {
            let x = (example * (31 + 40 * feature)) % 997;
            x as f64 / 997.0
        });
        let labels = features.column_iter().map(|x| (6.0 * x[0]).sin() + f64::from(x[1] > 0.5));
        let labels = labels.collect();
        (features, labels)
    }

    #[test]
    fn a_forest_learns_what_no_line_can_and_watched_losses_are_those_of_its_scores() {
        let (features, labels) = wave(2000);
        let data = BinnedParts::new(&features, false);
        let (even, odd): (Vec<u32>, Vec<u32>) = (0..2000).partition(|i| i % 2 == 0);
        let boosting = Boosting { rounds: 100, learning_rate: 0.1, growth: GROWTH, patience: None };
        let loss = ForestLoss::Squared(&labels);
        let (mut forest, course) = boosting.fit((&data, &features), &even, loss, None, &odd);
        assert!(forest.is_sound(2) && !forest.is_sound(1));
        assert!(course[100] < 0.01 * course[0], "{course:?}");
        forest.truncate(40);
        let scores = forest.scores(&features);
        let score =
            |example: &u32| loss.of(*example as usize, scores.column(*example as usize).as_slice());
        let mean = odd.iter().map(score).sum::<f64>() / 1000.0;
        assert!((mean - course[40]).abs() < 1e-12 * mean, "{mean} {}", course[40]);
    }

    #[test]
    fn growth_ends_when_watched_losses_no_longer_fall() {
        let (features, mut labels) = wave(400);
        // What is watched has nothing to do with what is learned.
        for (at, label) in labels.iter_mut().enumerate().filter(|(at, _)| at % 2 == 1) {
            *label = ((at * 37) % 11) as f64;
        }
        let data = BinnedParts::new(&features, false);
        let (even, odd): (Vec<u32>, Vec<u32>) = (0..400).partition(|i| i % 2 == 0);
        let patient = Boosting { rounds: 60, learning_rate: 0.3, growth: GROWTH, patience: None };
        let hasty = Boosting { patience: Some(5), ..patient };
        let grown = |boosting: Boosting, watched: &[u32]| {
            boosting.fit((&data, &features), &even, ForestLoss::Squared(&labels), None, watched)
        };
        let ((all, whole), (some, course)) = (grown(patient, &odd), grown(hasty, &odd));
        let rounds = some.trees.len();
        assert!(rounds < 60 && course.len() == 61, "{rounds}");
        assert_eq!(
            (&some.trees[..], &course[..=rounds]),
            (&all.trees[..rounds], &whole[..=rounds])
        );
        let best = (0..=rounds).min_by(|a, b| course[*a].total_cmp(&course[*b])).unwrap();
        assert!(rounds == best + 5 && course[rounds..].iter().all(|loss| *loss == course[rounds]));
        assert_eq!(grown(hasty, &[]).0, grown(patient, &[]).0, "nothing is watched");
    }

    #[test]
    fn two_scores_of_a_softmax_learn_the_classes_of_one_logistic_score() {
        let (features, labels) = wave(1000);
        let classes: Vec<u32> = labels.iter().map(|y| u32::from(*y > 0.5)).collect();
        let signs: Vec<f64> = classes.iter().map(|class| f64::from(*class)).collect();
        let data = BinnedParts::new(&features, false);
        let all: Vec<u32> = (0..1000).collect();
        let boosting = Boosting { rounds: 30, learning_rate: 0.3, growth: GROWTH, patience: None };
        for loss in [ForestLoss::Logistic(&signs), ForestLoss::Softmax(&classes, 2)] {
            let (forest, _) = boosting.fit((&data, &features), &all, loss, None, &[]);
            let scores = forest.scores(&features);
            let right = all.iter().filter(|example| {
                let scores = scores.column(**example as usize);
                let second = if scores.len() == 1 { scores[0] } else { scores[1] - scores[0] };
                u32::from(second > 0.0) == classes[**example as usize]
            });
            assert!(right.count() > 990);
        }
    }

    #[test]
    fn a_tree_of_several_outputs_agrees_with_the_reference() {
        let golden = halflight_testing::correction();
        let features = golden.records("tree.X");
        let groups = golden.vector("tree.group");
        let residuals = golden.vector("tree.logo_residual");
        let mut gradients = vec![0.0; 3 * residuals.len()];
        for (i, residual) in residuals.iter().enumerate() {
            gradients[3 * i + groups[i] as usize] = -residual;
        }
        let data = BinnedParts::new(&features, false);
        let curvatures = vec![1.0; residuals.len()];
        let pull = Pull { gradients: &gradients, curvatures: &curvatures, outputs: 3 };
        let growth = Growth { most_leaves: 4, most_depth: 2, least_examples: 20, ridge: 0.0 };
        let all = (0..residuals.len() as u32).collect();
        let Grown { tree, leaves } = grow(data.of_tree(0), all, pull, growth, &mut Vec::new());
        let root = (tree.feature[0], tree.threshold[0]);
        assert!(root.0 == 0 && (root.1 - 0.364_787_995_815).abs() < 1e-6, "{root:?}");
        // The next split is between the same values as in the reference, but not at the same place
        // between them.
        assert_eq!(&tree.feature[1..3], [1, 1]);
        let mut counts: Vec<usize> = leaves.iter().map(|(_, examples)| examples.len()).collect();
        counts.sort_unstable();
        assert_eq!(counts, [20, 28, 29, 43]);
    }
}
