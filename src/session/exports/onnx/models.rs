//! From features to the outputs of a model.

use super::graph::{Attribute, Element, Graph, Value};
use super::trees::sums;
use crate::model::layer::Layer;
use crate::model::shape::{Block, BlockSource, Predictor, ScoreMeaning, Shape};
use crate::model::{Activation, Classifier, Model, Network, Volume};

/// The scores of records, and their meaning.
pub struct Scores {
    pub value: Value,
    pub meaning: Meaning,
}

pub enum Meaning {
    /// A prepared label.
    Number,
    /// The logarithm of the odds of the second class.
    TwoClasses,
    /// Logarithms of the probabilities of the classes, up to a constant.
    Classes,
    /// Scores that are not logarithms of probabilities; the largest wins.
    Margins,
}

pub fn scores(graph: &mut Graph, model: &Model, features: &Value) -> Scores {
    let (value, meaning) = match model {
        Model::Linear(linear) => (weighted(graph, features, &linear.weights), Meaning::Number),
        Model::Logistic(linear) => {
            (weighted(graph, features, &linear.weights), Meaning::TwoClasses)
        }
        Model::Network(network) => (hidden(graph, features, network), Meaning::TwoClasses),
        Model::Classifier(classifier) => {
            let is_margins = classifier.architecture().tells_margins();
            let meaning = if is_margins { Meaning::Margins } else { Meaning::Classes };
            (layers(graph, features, classifier), meaning)
        }
        Model::Shape(shape) => {
            let meaning = match shape.answer {
                ScoreMeaning::Number => Meaning::Number,
                ScoreMeaning::TwoClasses => Meaning::TwoClasses,
                ScoreMeaning::Classes(_) => Meaning::Classes,
            };
            (corrected(graph, features, shape), meaning)
        }
    };
    Scores { value, meaning }
}

fn weighted(graph: &mut Graph, features: &Value, weights: &[f64]) -> Value {
    graph.product(features, weights.len(), weights)
}

/// Rows of `columns` numbers as columns.
fn transposed(rows: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| rows.iter().skip(column).step_by(columns).copied()).collect()
}

fn hidden(graph: &mut Graph, features: &Value, network: &Network) -> Value {
    let weights = transposed(network.hidden(), network.inputs);
    let sums = graph.product(features, network.inputs, &weights);
    let units = graph.node("Tanh", &[&sums], &[]);
    weighted(graph, &units, network.output())
}

fn layers(graph: &mut Graph, features: &Value, classifier: &Classifier) -> Value {
    let mut value = features.clone();
    let mut parameters = classifier.parameters();
    for layer in classifier.architecture().layers() {
        let (own, rest) = parameters.split_at(layer.parameters());
        parameters = rest;
        let (weights, biases) = own.split_at(own.len() - layer.biases());
        value = match layer {
            Layer::Dense(dense) | Layer::Linear(dense) => {
                let weights = transposed(weights, dense.inputs);
                let sums = graph.product(&value, dense.inputs, &weights);
                if biases.is_empty() { sums } else { graph.with_row("Add", &sums, biases) }
            }
            Layer::Activation(Activation::Tanh, _) => graph.node("Tanh", &[&value], &[]),
            Layer::Activation(Activation::Relu, _) => graph.node("Relu", &[&value], &[]),
            Layer::Normalise(_) => {
                let norm = graph.norm(&value);
                // A vector of zeros stays one.
                let norm = graph.with_number("Max", &norm, f64::MIN_POSITIVE);
                graph.node("Div", &[&value, &norm], &[])
            }
            Layer::Margins(_) => value,
            Layer::Convolution(convolution) => {
                let kernel = convolution.kernel;
                let shape = [convolution.filters, convolution.input.channels, kernel, kernel];
                let weights = graph.floats(&shape, weights);
                let biases = graph.floats(&[biases.len()], biases);
                let attributes = [
                    Attribute::Integers("kernel_shape", vec![kernel as i64; 2]),
                    Attribute::Integers("strides", vec![convolution.stride as i64; 2]),
                    Attribute::Integers("pads", vec![convolution.padding as i64; 4]),
                ];
                let sides = (convolution.input, convolution.output());
                on_images(graph, &value, sides, |graph, images| {
                    graph.node("Conv", &[images, &weights, &biases], &attributes)
                })
            }
            Layer::MaxPool(pool) => {
                let attributes = [
                    Attribute::Integers("kernel_shape", vec![pool.window as i64; 2]),
                    Attribute::Integers("strides", vec![pool.stride as i64; 2]),
                ];
                on_images(graph, &value, (pool.input, pool.output()), |graph, images| {
                    graph.node("MaxPool", &[images], &attributes)
                })
            }
        };
    }
    value
}

/// An operator on images, which runtimes have only in single precision.
fn on_images(
    graph: &mut Graph,
    value: &Value,
    (input, output): (Volume, Volume),
    operator: impl FnOnce(&mut Graph, &Value) -> Value,
) -> Value {
    let sides = [input.channels, input.height, input.width].map(|side| side as i64);
    let shape = graph.integers(&[&[-1], &sides[..]].concat());
    let single = graph.cast(value, Element::Float);
    let images = graph.node("Reshape", &[&single, &shape], &[]);
    let done = operator(graph, &images);
    let shape = graph.integers(&[-1, output.size() as i64]);
    let flat = graph.node("Reshape", &[&done, &shape], &[]);
    graph.cast(&flat, Element::Double)
}

/// The base of a public shape and its correction.
fn corrected(graph: &mut Graph, features: &Value, shape: &Shape) -> Value {
    let outputs = shape.answer.outputs();
    let scores: Vec<Value> = shape
        .predictors
        .iter()
        .map(|predictor| predicted(graph, features, predictor, shape))
        .collect();
    let base = mixed(graph, features, &scores, &shape.base, shape);
    if shape.blocks.is_empty() {
        return base;
    }
    let blocks: Vec<Value> =
        shape.blocks.iter().map(|block| seen(graph, features, &scores, block, shape)).collect();
    let seen = graph.beside(&blocks);
    // A record of zeros has no features.
    let norm = graph.norm(features);
    let there = graph.node("Sign", &[&norm], &[]);
    let seen = graph.node("Mul", &[&seen, &there], &[]);
    let seen = graph.shortened(&seen, 1.0);
    // The numbers for all scores of one feature are together, so this is row by row.
    let rows = shape.correction.len() / outputs;
    let correction = graph.product(&seen, rows, &shape.correction);
    graph.node("Add", &[&base, &correction], &[])
}

/// This many zeros for every record.
fn zeros(graph: &mut Graph, features: &Value, inputs: usize, count: usize) -> Value {
    graph.product(features, inputs, &vec![0.0; inputs * count])
}

fn predicted(graph: &mut Graph, features: &Value, predictor: &Predictor, shape: &Shape) -> Value {
    let (inputs, outputs) = (shape.inputs, shape.answer.outputs());
    match predictor {
        Predictor::Linear { weights, radius } => {
            let short = graph.shortened(features, *radius);
            let matrix = transposed(weights, inputs + 1);
            let (matrix, intercepts) = matrix.split_at(inputs * outputs);
            let sums = graph.product(&short, inputs, matrix);
            graph.with_row("Add", &sums, intercepts)
        }
        Predictor::Forest(forest) => {
            let sums = if forest.trees.is_empty() {
                zeros(graph, features, inputs, outputs)
            } else {
                let trees: Vec<_> = forest.trees.iter().collect();
                sums(graph, features, &trees, outputs, &|number, path| {
                    let leaf = path.last().copied().unwrap_or(0);
                    vec![(number % outputs, forest.trees[number].values[leaf])]
                })
            };
            graph.with_row("Add", &sums, &forest.base)
        }
    }
}

/// The sum of scores with these shares.
fn mixed(
    graph: &mut Graph,
    features: &Value,
    scores: &[Value],
    shares: &[f64],
    shape: &Shape,
) -> Value {
    let mut sum = None;
    for (score, share) in scores.iter().zip(shares).filter(|(_, share)| **share != 0.0) {
        let part = graph.with_number("Mul", score, *share);
        sum = Some(match sum {
            None => part,
            Some(sum) => graph.node("Add", &[&sum, &part], &[]),
        });
    }
    sum.unwrap_or_else(|| zeros(graph, features, shape.inputs, shape.answer.outputs()))
}

/// Scores compared with their mean.
pub fn centred(graph: &mut Graph, scores: &Value, count: usize) -> Value {
    let mean = 1.0 / count as f64;
    let centring =
        (0..count * count).map(|at| f64::from(at / count == at % count) - mean).collect::<Vec<_>>();
    graph.product(scores, count, &centring)
}

/// The features of one block.
fn seen(
    graph: &mut Graph,
    features: &Value,
    scores: &[Value],
    block: &Block,
    shape: &Shape,
) -> Value {
    let raw = match &block.source {
        BlockSource::Constant => {
            let zero = zeros(graph, features, shape.inputs, 1);
            graph.with_number("Add", &zero, 1.0)
        }
        BlockSource::Scores(mixture) => {
            let mixed = mixed(graph, features, scores, mixture, shape);
            match block.len() {
                1 => mixed,
                count => centred(graph, &mixed, count),
            }
        }
        BlockSource::Columns(None) => features.clone(),
        // Numbers of a matrix are stored column by column, which is its transpose row by row.
        BlockSource::Columns(Some(rows)) => graph.product(features, shape.inputs, rows.as_slice()),
        BlockSource::Effects { predictor, groups } => match shape.predictors.get(*predictor) {
            Some(Predictor::Forest(forest)) if !forest.trees.is_empty() => {
                let trees: Vec<_> = forest.trees.iter().collect();
                sums(graph, features, &trees, block.len(), &|number, path| {
                    let tree = &forest.trees[number];
                    let mut effects = std::collections::BTreeMap::new();
                    for pair in path.windows(2) {
                        let group = groups[tree.feature[pair[0]] as usize] as usize;
                        *effects.entry(group).or_insert(0.0) +=
                            tree.values[pair[1]] - tree.values[pair[0]];
                    }
                    effects.into_iter().collect()
                })
            }
            _ => zeros(graph, features, shape.inputs, block.len()),
        },
        BlockSource::Cells { tree, slots } => {
            sums(graph, features, &[tree], block.len(), &|_, path| {
                let slots = path.iter().skip(1).map(|node| slots[*node] as usize);
                slots.filter(|slot| *slot < block.len()).map(|slot| (slot, 1.0)).collect()
            })
        }
    };
    // A number with width 0 carries no information: it is multiplied by 0.
    let factors: Vec<f64> =
        block.width.iter().map(|width| if *width > 0.0 { 1.0 / width } else { 0.0 }).collect();
    let centred = graph.with_row("Sub", &raw, &block.centre);
    let numbers = graph.with_row("Mul", &centred, &factors);
    let short = graph.shortened(&numbers, block.limit);
    graph.with_number("Mul", &short, block.scale)
}
