//! Many examples down the trees of a forest at once. Each tree stays in the cache for all of them,
//! and no branch has to be guessed, because leaves lead to themselves: examples take the same number
//! of steps, however deep their leaves are.

use super::{LEAF, Tree};
use crate::numeric::{Matrix, parallel};

/// Examples that go down a tree side by side, so that no step waits for the one before.
const ABREAST: usize = 8;

/// Examples that go down all trees before the next ones do: their features stay in the cache.
const BLOCK: usize = 256;

/// A node of a tree.
struct Junction {
    threshold: f64,
    feature: u32,
    /// Where examples with a feature no larger than the threshold go, and where others go.
    children: [u32; 2],
}

/// A tree for many examples.
struct Walk<'a> {
    tree: &'a Tree,
    junctions: Vec<Junction>,
    depth: usize,
}

/// The sum of `base` and the answers of all trees, one column per column of `features`: tree t adds
/// to score t modulo their number.
pub(super) fn scores(base: &[f64], trees: &[Tree], features: &Matrix) -> Matrix {
    let (inputs, count, outputs) = (features.nrows(), features.ncols(), base.len());
    let walks: Vec<Walk<'_>> = trees.iter().map(Walk::of).collect();
    let blocks = parallel::map(count.div_ceil(BLOCK), |block| {
        let range = block * BLOCK..count.min((block + 1) * BLOCK);
        let examples = &features.as_slice()[inputs * range.start..inputs * range.end];
        let mut scores = base.repeat(range.len());
        for (at, walk) in walks.iter().enumerate() {
            let scores = scores.iter_mut().skip(at % outputs).step_by(outputs);
            walk.add_answers(examples, inputs, scores);
        }
        scores
    });
    Matrix::from_vec(outputs, count, blocks.concat())
}

impl<'a> Walk<'a> {
    fn of(tree: &'a Tree) -> Self {
        let junction = |node: usize| match tree.feature[node] {
            LEAF => Junction { threshold: 0.0, feature: 0, children: [node as u32; 2] },
            feature => Junction {
                threshold: tree.threshold[node],
                feature,
                children: [tree.left[node], tree.right[node]],
            },
        };
        let depth = tree.depths().into_iter().max().unwrap_or(0);
        Self { tree, junctions: (0..tree.nodes()).map(junction).collect(), depth }
    }

    /// Adds the answer for each of the examples to its score.
    fn add_answers<'s>(
        &self,
        examples: &[f64],
        inputs: usize,
        mut scores: impl Iterator<Item = &'s mut f64>,
    ) {
        let mut groups = examples.chunks_exact((inputs * ABREAST).max(1));
        for group in groups.by_ref() {
            let leaves = self.leaves(group, inputs);
            for (leaf, score) in leaves.into_iter().zip(scores.by_ref()) {
                *score += self.tree.values[leaf as usize];
            }
        }
        let rest = groups.remainder();
        for (at, score) in scores.enumerate() {
            *score += self.tree.answer(&rest[at * inputs..(at + 1) * inputs]);
        }
    }

    fn leaves(&self, examples: &[f64], inputs: usize) -> [u32; ABREAST] {
        let mut nodes = [0; ABREAST];
        for _ in 0..self.depth {
            for (node, example) in nodes.iter_mut().zip(examples.chunks_exact(inputs)) {
                let Junction { threshold, feature, children } = &self.junctions[*node as usize];
                let low = example[*feature as usize] <= *threshold;
                *node = children[usize::from(!low)];
            }
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A tree in which one split after the other is to the left or to the right.
    fn tree(inputs: usize, splits: &[(u32, f64, bool)]) -> Tree {
        let mut tree = Tree::of_one(vec![0.5]);
        let mut node = 0;
        for (feature, threshold, goes_left) in splits {
            let first = tree.nodes();
            for child in 0..2 {
                tree.feature.push(LEAF);
                tree.threshold.push(0.0);
                tree.left.push(LEAF);
                tree.right.push(LEAF);
                tree.values.push((first + child) as f64 * 0.37 - 1.0);
            }
            tree.feature[node] = feature % inputs as u32;
            tree.threshold[node] = *threshold;
            (tree.left[node], tree.right[node]) = (first as u32, first as u32 + 1);
            node = first + usize::from(!goes_left);
        }
        assert!(tree.is_sound(inputs));
        tree
    }

    proptest! {
        #[test]
        fn scores_are_those_of_each_example_alone_to_the_last_bit(
            splits in proptest::collection::vec(
                proptest::collection::vec((0..9_u32, -1.0..1.0_f64, any::<bool>()), 0..12),
                0..7,
            ),
            (inputs, count, outputs) in (1..4_usize, 0..700_usize, 1..4_usize),
            seed in 0..1000_usize,
        ) {
            let trees: Vec<Tree> = splits.iter().map(|splits| tree(inputs, splits)).collect();
            let features = Matrix::from_fn(inputs, count, |i, j| match (seed + i + 3 * j) % 17 {
                0 => f64::NAN,
                1 => f64::NEG_INFINITY,
                odd => (odd as f64 * 1.7 + j as f64).sin(),
            });
            let base: Vec<f64> = (0..outputs).map(|at| 0.1 * at as f64).collect();
            let found = scores(&base, &trees, &features);
            prop_assert_eq!(found.shape(), (outputs, count));
            for (example, found) in features.column_iter().zip(found.column_iter()) {
                let mut alone = base.clone();
                for (at, tree) in trees.iter().enumerate() {
                    alone[at % outputs] += tree.answer(example.as_slice());
                }
                prop_assert_eq!(found.as_slice(), alone.as_slice());
            }
        }
    }

    #[test]
    fn examples_without_features_have_the_scores_of_the_roots() {
        let found = scores(&[1.0], &[Tree::of_one(vec![0.25])], &Matrix::zeros(0, 11));
        assert_eq!(found.as_slice(), [1.25; 11]);
    }
}
