//! Decision trees and sums of them, grown on public records.
//!
//! | module | holds |
//! |---|---|
//! | [`bins`] | features as few bins each; indicators that exclude each other share one column |
//! | [`growth`] | one tree, leaf by leaf, on histograms of gradients; several outputs at once |
//! | [`boosting`] | forests: each tree corrects the errors of those before it |
//! | `walk` | many examples down the trees of a forest |
//!
//! Trees are the same to the last bit on any number of threads, because one thread grows a whole
//! tree.

pub mod bins;
pub mod boosting;
pub mod growth;
mod walk;

pub use bins::{Binned, BinnedParts};
pub use boosting::{Boosting, ForestLoss};
pub use growth::Growth;

use crate::numeric::Matrix;

/// Marks a node without children.
pub const LEAF: u32 = u32::MAX;

/// A binary tree. Node 0 is the root; children come after their parent.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The feature that the node tests; [`LEAF`] in a leaf.
    pub feature: Vec<u32>,
    /// An example goes left if its feature is no larger.
    pub threshold: Vec<f64>,
    pub left: Vec<u32>,
    pub right: Vec<u32>,
    /// The node's own answer: one number per output of the tree.
    pub values: Vec<f64>,
    pub outputs: usize,
}

impl Tree {
    /// A tree of one leaf.
    pub(super) fn of_one(values: Vec<f64>) -> Self {
        let outputs = values.len();
        let (feature, threshold) = (vec![LEAF], vec![0.0]);
        Self { feature, threshold, left: vec![LEAF], right: vec![LEAF], values, outputs }
    }

    pub fn nodes(&self) -> usize {
        self.feature.len()
    }

    /// The leaf of an example.
    pub fn leaf(&self, example: &[f64]) -> usize {
        let mut node = 0;
        while self.feature[node] != LEAF {
            node = self.child(node, example);
        }
        node
    }

    /// The nodes of an example from the root's child to its leaf.
    pub fn path<'a>(&'a self, example: &'a [f64]) -> impl Iterator<Item = usize> + 'a {
        let mut node = 0;
        std::iter::from_fn(move || {
            if self.feature[node] == LEAF {
                return None;
            }
            node = self.child(node, example);
            Some(node)
        })
    }

    fn child(&self, node: usize, example: &[f64]) -> usize {
        let low = example[self.feature[node] as usize] <= self.threshold[node];
        (if low { self.left[node] } else { self.right[node] }) as usize
    }

    /// The depth of every node; the root's is 0.
    pub fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.nodes()];
        for node in (0..self.nodes()).filter(|node| self.feature[*node] != LEAF) {
            depths[self.left[node] as usize] = depths[node] + 1;
            depths[self.right[node] as usize] = depths[node] + 1;
        }
        depths
    }

    /// The first answer of the leaf of an example.
    pub fn answer(&self, example: &[f64]) -> f64 {
        self.values[self.leaf(example) * self.outputs]
    }

    /// Whether examples with `inputs` numbers always reach a leaf, even if the tree is from an
    /// untrusted source.
    pub fn is_sound(&self, inputs: usize) -> bool {
        let nodes = self.nodes();
        let lengths = [self.threshold.len(), self.left.len(), self.right.len()];
        let after = |node: usize, child: u32| child as usize > node && (child as usize) < nodes;
        nodes > 0
            && self.outputs > 0
            && lengths.iter().all(|length| *length == nodes)
            && self.values.len() == nodes * self.outputs
            && self.values.iter().chain(&self.threshold).all(|number| number.is_finite())
            && (0..nodes).all(|node| {
                self.feature[node] == LEAF
                    || (self.feature[node] as usize) < inputs
                        && after(node, self.left[node])
                        && after(node, self.right[node])
            })
    }
}

/// A sum of trees with one or several scores: tree t adds to score t modulo their number.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// The scores before any tree.
    pub base: Vec<f64>,
    pub trees: Vec<Tree>,
}

impl Forest {
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// One column of scores per column of `features`.
    pub fn scores(&self, features: &Matrix) -> Matrix {
        walk::scores(&self.base, &self.trees, features)
    }

    /// Keeps only this many rounds.
    pub fn truncate(&mut self, rounds: usize) {
        self.trees.truncate(rounds * self.base.len());
    }

    pub fn is_sound(&self, inputs: usize) -> bool {
        !self.base.is_empty()
            && self.base.iter().all(|base| base.is_finite())
            && self.trees.len().is_multiple_of(self.base.len())
            && self.trees.iter().all(|tree| tree.outputs == 1 && tree.is_sound(inputs))
    }
}
