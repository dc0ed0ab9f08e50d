//! Sums of decision trees as one ONNX operator.

use super::graph::{Attribute, Element, Graph, Value};
use crate::model::trees::{LEAF, Tree};

/// The value that a leaf adds, and the index of the sum.
pub type Addition = (usize, f64);

/// Several sums over trees of the values in each record's leaf. `adds` gets the index of the tree
/// and the nodes from its root to the leaf.
pub fn sums(
    graph: &mut Graph,
    features: &Value,
    trees: &[&Tree],
    outputs: usize,
    adds: &dyn Fn(usize, &[usize]) -> Vec<Addition>,
) -> Value {
    let mut nodes = Nodes::default();
    for (number, tree) in trees.iter().enumerate() {
        let mut paths = vec![Vec::new(); tree.nodes()];
        for node in 0..tree.nodes() {
            // Children come after their parents, so the path to this node is known.
            let mut path = std::mem::take(&mut paths[node]);
            path.push(node);
            nodes.add(number, node, tree);
            if tree.feature[node] == LEAF {
                nodes.weigh(number, node, adds(number, &path));
            } else {
                paths[tree.left[node] as usize].clone_from(&path);
                paths[tree.right[node] as usize] = path;
            }
        }
    }
    let sums = graph.learned("TreeEnsembleRegressor", &[features], &nodes.attributes(outputs));
    graph.cast(&sums, Element::Double)
}

/// The attributes of the operator, node by node and leaf by leaf.
#[derive(Default)]
struct Nodes {
    tree: Vec<i64>,
    node: Vec<i64>,
    feature: Vec<i64>,
    threshold: Vec<f64>,
    mode: Vec<String>,
    left: Vec<i64>,
    right: Vec<i64>,
    weight_tree: Vec<i64>,
    weight_node: Vec<i64>,
    target: Vec<i64>,
    weight: Vec<f64>,
}

impl Nodes {
    fn add(&mut self, number: usize, node: usize, tree: &Tree) {
        let leaf = tree.feature[node] == LEAF;
        let unless_leaf = |value: u32| if leaf { 0 } else { i64::from(value) };
        self.tree.push(number as i64);
        self.node.push(node as i64);
        self.feature.push(unless_leaf(tree.feature[node]));
        self.threshold.push(if leaf { 0.0 } else { tree.threshold[node] });
        self.mode.push(if leaf { "LEAF" } else { "BRANCH_LEQ" }.to_owned());
        self.left.push(unless_leaf(tree.left[node]));
        self.right.push(unless_leaf(tree.right[node]));
    }

    fn weigh(&mut self, number: usize, node: usize, additions: Vec<Addition>) {
        // A leaf that adds nothing gets a zero: runtimes expect each to have a weight.
        let additions = if additions.is_empty() { vec![(0, 0.0)] } else { additions };
        for (target, weight) in additions {
            self.weight_tree.push(number as i64);
            self.weight_node.push(node as i64);
            self.target.push(target as i64);
            self.weight.push(weight);
        }
    }

    fn attributes(self, outputs: usize) -> Vec<Attribute<'static>> {
        vec![
            Attribute::Text("aggregate_function", "SUM"),
            Attribute::Text("post_transform", "NONE"),
            Attribute::Integer("n_targets", outputs as i64),
            Attribute::Integers("nodes_treeids", self.tree),
            Attribute::Integers("nodes_nodeids", self.node),
            Attribute::Integers("nodes_featureids", self.feature),
            Attribute::Texts("nodes_modes", self.mode),
            Attribute::Doubles("nodes_values_as_tensor", self.threshold),
            Attribute::Integers("nodes_truenodeids", self.left),
            Attribute::Integers("nodes_falsenodeids", self.right),
            Attribute::Integers("target_treeids", self.weight_tree),
            Attribute::Integers("target_nodeids", self.weight_node),
            Attribute::Integers("target_ids", self.target),
            Attribute::Doubles("target_weights_as_tensor", self.weight),
        ]
    }
}
