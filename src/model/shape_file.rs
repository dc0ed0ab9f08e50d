//! Converts a shape to arrays of numbers, the form of models in files, and back.
//!
//! `answer` gives the meaning of the scores (0: a number, 1: two classes, more: that many classes),
//! and the shape's other parts have names of their own: `base`, `correction`, `predictor.K.linear`
//! or `predictor.K.forest.*`, `block.K.*`. Nodes of a forest follow one another, tree by tree;
//! `roots` says where each tree begins, and children count from there. A leaf has feature −1.

use std::borrow::Cow;

use super::Tensor;
use super::shape::{Block, BlockSource, Predictor, ScoreMeaning, Shape};
use super::trees::{Forest, LEAF, Tree};
use crate::numeric::Matrix;

/// The numbers of the sources of a block in files.
const CONSTANT: usize = 0;
const SCORES: usize = 1;
const COLUMNS: usize = 2;
const DIRECTIONS: usize = 3;
const EFFECTS: usize = 4;
const CELLS: usize = 5;

/// No shape has more predictors or blocks.
const MOST_PARTS: usize = 64;

type FoundShape = Option<(Vec<usize>, Vec<f64>)>;

impl Shape {
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut file = Vec::new();
        let answer = match self.answer {
            ScoreMeaning::Number => 0,
            ScoreMeaning::TwoClasses => 1,
            ScoreMeaning::Classes(count) => count,
        };
        let outputs = self.answer.outputs();
        put(&mut file, "answer".into(), vec![answer as f64]);
        put(&mut file, "inputs".into(), vec![self.inputs as f64]);
        put(&mut file, "base".into(), self.base.clone());
        let shape = vec![self.correction.len() / outputs, outputs];
        file.push(Tensor::new("correction", shape, self.correction.clone()));
        for (at, predictor) in self.predictors.iter().enumerate() {
            let name = format!("predictor.{at}");
            match predictor {
                Predictor::Linear { weights, radius } => {
                    put(&mut file, format!("{name}.radius").into(), vec![*radius]);
                    let shape = vec![outputs, self.inputs + 1];
                    file.push(Tensor::new(format!("{name}.linear"), shape, weights.clone()));
                }
                Predictor::Forest(forest) => {
                    put_forest(&mut file, &format!("{name}.forest"), forest);
                }
            }
        }
        for (at, block) in self.blocks.iter().enumerate() {
            put_block(&mut file, &format!("block.{at}"), block);
        }
        file
    }

    /// `None` if the arrays do not make a shape.
    pub fn from_tensors(tensor: impl Fn(&str) -> FoundShape) -> Option<Self> {
        let vector = |name: &str| tensor(name).map(|(_, values)| values);
        let count = |name: &str| vector(name)?.first().copied().and_then(whole);
        let answer = match count("answer")? {
            0 => ScoreMeaning::Number,
            1 => ScoreMeaning::TwoClasses,
            2 => return None,
            classes => ScoreMeaning::Classes(classes),
        };
        let (inputs, outputs) = (count("inputs")?, answer.outputs());
        let mut predictors = Vec::new();
        while predictors.len() < MOST_PARTS {
            let name = format!("predictor.{}", predictors.len());
            if let Some(weights) = vector(&format!("{name}.linear")) {
                if weights.len() != outputs * (inputs + 1) {
                    return None;
                }
                let radius = vector(&format!("{name}.radius"))?.first().copied()?;
                predictors.push(Predictor::Linear { weights, radius });
            } else if vector(&format!("{name}.forest.base")).is_some() {
                let forest = get_forest(&vector, &format!("{name}.forest"), true)?;
                if forest.outputs() != outputs || !forest.is_sound(inputs) {
                    return None;
                }
                predictors.push(Predictor::Forest(forest));
            } else {
                break;
            }
        }
        let mut blocks = Vec::new();
        while blocks.len() < MOST_PARTS {
            let name = format!("block.{}", blocks.len());
            if vector(&format!("{name}.kind")).is_none() {
                break;
            }
            blocks.push(get_block(&vector, &name, inputs)?);
        }
        let shape = Self {
            inputs,
            answer,
            predictors,
            base: vector("base")?,
            blocks,
            correction: vector("correction")?,
        };
        shape.is_sound().then_some(shape)
    }

    fn is_sound(&self) -> bool {
        let outputs = self.answer.outputs();
        let fits = |block: &Block| match &block.source {
            BlockSource::Constant => block.len() == 1,
            BlockSource::Scores(mixture) => {
                mixture.len() == self.predictors.len() && block.len() == outputs
            }
            BlockSource::Columns(None) => block.len() == self.inputs,
            BlockSource::Columns(Some(rows)) => rows.shape() == (block.len(), self.inputs),
            BlockSource::Effects { predictor, groups } => {
                outputs == 1
                    && matches!(self.predictors.get(*predictor), Some(Predictor::Forest(_)))
                    && groups.len() == self.inputs
                    && groups.iter().all(|group| (*group as usize) < block.len())
            }
            BlockSource::Cells { tree, slots } => {
                tree.is_sound(self.inputs) && slots.len() == tree.nodes()
            }
        };
        self.base.len() == self.predictors.len()
            && self.correction.len() == self.feature_count() * outputs
            && self.blocks.iter().all(|block| block.width.len() == block.len() && fits(block))
    }
}

fn put(file: &mut Vec<Tensor>, name: Cow<'static, str>, values: Vec<f64>) {
    file.push(Tensor::of_numbers(name, values));
}

/// Numbers of nodes or slots in files, where none is −1.
fn signed(numbers: &[u32]) -> Vec<f64> {
    let one = |number: &u32| if *number == LEAF { -1.0 } else { f64::from(*number) };
    numbers.iter().map(one).collect()
}

/// Numbers of nodes or slots from files.
fn unsigned(numbers: Vec<f64>) -> Option<Vec<u32>> {
    let one = |x: f64| if x == -1.0 { Some(LEAF) } else { whole(x).map(|x| x as u32) };
    numbers.into_iter().map(one).collect()
}

/// A number without sign or fraction.
fn whole(number: f64) -> Option<usize> {
    (number >= 0.0 && number.fract() == 0.0 && number < 1e9).then_some(number as usize)
}

fn put_forest(file: &mut Vec<Tensor>, name: &str, forest: &Forest) {
    let mut put = |part: &str, values: Vec<f64>| put(file, format!("{name}.{part}").into(), values);
    let all =
        |of: &dyn Fn(&Tree) -> Vec<f64>| -> Vec<f64> { forest.trees.iter().flat_map(of).collect() };
    let mut roots = Vec::new();
    let mut nodes = 0;
    for tree in &forest.trees {
        roots.push(nodes as f64);
        nodes += tree.nodes();
    }
    put("base", forest.base.clone());
    put("roots", roots);
    put("feature", all(&|tree| signed(&tree.feature)));
    put("threshold", all(&|tree| tree.threshold.clone()));
    put("left", all(&|tree| signed(&tree.left)));
    put("right", all(&|tree| signed(&tree.right)));
    put("value", all(&|tree| tree.values.clone()));
}

fn get_forest(
    vector: &impl Fn(&str) -> Option<Vec<f64>>,
    name: &str,
    may_be_empty: bool,
) -> Option<Forest> {
    let part = |part: &str| vector(&format!("{name}.{part}"));
    let (base, threshold, values) = (part("base")?, part("threshold")?, part("value")?);
    let (feature, left, right) =
        (unsigned(part("feature")?)?, unsigned(part("left")?)?, unsigned(part("right")?)?);
    let mut roots = part("roots")?.into_iter().map(whole).collect::<Option<Vec<_>>>()?;
    if roots.is_empty() && !may_be_empty {
        return None;
    }
    roots.push(feature.len());
    let trees = roots.windows(2).map(|pair| {
        let range = pair[0]..pair[1];
        Some(Tree {
            feature: feature.get(range.clone())?.to_vec(),
            threshold: threshold.get(range.clone())?.to_vec(),
            left: left.get(range.clone())?.to_vec(),
            right: right.get(range.clone())?.to_vec(),
            values: values.get(range)?.to_vec(),
            outputs: 1,
        })
    });
    Some(Forest { base, trees: trees.collect::<Option<_>>()? })
}

fn put_block(file: &mut Vec<Tensor>, name: &str, block: &Block) {
    let kind = match &block.source {
        BlockSource::Constant => CONSTANT,
        BlockSource::Scores(_) => SCORES,
        BlockSource::Columns(None) => COLUMNS,
        BlockSource::Columns(Some(_)) => DIRECTIONS,
        BlockSource::Effects { .. } => EFFECTS,
        BlockSource::Cells { .. } => CELLS,
    };
    let named = |part: &str| Cow::Owned(format!("{name}.{part}"));
    put(file, named("kind"), vec![kind as f64]);
    put(file, named("centre"), block.centre.clone());
    put(file, named("width"), block.width.clone());
    put(file, named("limit"), vec![block.limit]);
    put(file, named("scale"), vec![block.scale]);
    match &block.source {
        BlockSource::Constant | BlockSource::Columns(None) => {}
        BlockSource::Scores(mixture) => put(file, named("mixture"), mixture.clone()),
        BlockSource::Columns(Some(rows)) => {
            let shape = vec![rows.nrows(), rows.ncols()];
            let values = rows.transpose().as_slice().to_vec();
            file.push(Tensor::new(named("directions"), shape, values));
        }
        BlockSource::Effects { predictor, groups } => {
            put(file, named("predictor"), vec![*predictor as f64]);
            put(file, named("groups"), groups.iter().map(|group| f64::from(*group)).collect());
        }
        BlockSource::Cells { tree, slots } => {
            let one = Forest { base: vec![0.0], trees: vec![tree.clone()] };
            put_forest(file, &format!("{name}.tree"), &one);
            put(file, named("slots"), signed(slots));
        }
    }
}

fn get_block(
    vector: &impl Fn(&str) -> Option<Vec<f64>>,
    name: &str,
    inputs: usize,
) -> Option<Block> {
    let part = |part: &str| vector(&format!("{name}.{part}"));
    let one = |name: &str| part(name)?.first().copied();
    let centre = part("centre")?;
    let source = match whole(one("kind")?)? {
        CONSTANT => BlockSource::Constant,
        SCORES => BlockSource::Scores(part("mixture")?),
        COLUMNS => BlockSource::Columns(None),
        DIRECTIONS => {
            let rows = part("directions")?;
            let fits = rows.len() == centre.len() * inputs;
            let rows = fits.then(|| Matrix::from_row_slice(centre.len(), inputs, &rows))?;
            BlockSource::Columns(Some(rows))
        }
        EFFECTS => {
            let groups = part("groups")?.into_iter().map(|x| whole(x).map(|x| x as u32));
            let groups = groups.collect::<Option<_>>()?;
            BlockSource::Effects { predictor: whole(one("predictor")?)?, groups }
        }
        CELLS => {
            let tree = get_forest(vector, &format!("{name}.tree"), false)?.trees.pop()?;
            BlockSource::Cells { tree, slots: unsigned(part("slots")?)? }
        }
        _ => return None,
    };
    Some(Block {
        source,
        centre,
        width: part("width")?,
        limit: one("limit")?,
        scale: one("scale")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::shape::slots;
    use super::*;
    use crate::trees::{BinnedParts, Boosting, ForestLoss, Growth};

    /// A shape with a block of every kind.
    pub(crate) fn example(answer: ScoreMeaning) -> Shape {
        let features = Matrix::from_fn(3, 90, |row, at| ((at * (7 + 4 * row)) % 23) as f64 / 23.0);
        let outputs = answer.outputs();
        let labels: Vec<f64> = features.column_iter().map(|x| f64::from(x[0] > x[1])).collect();
        let classes: Vec<u32> = (0..90).map(|at| at % outputs.max(2) as u32).collect();
        let loss = match answer {
            ScoreMeaning::Number => ForestLoss::Squared(&labels),
            ScoreMeaning::TwoClasses => ForestLoss::Logistic(&labels),
            ScoreMeaning::Classes(count) => ForestLoss::Softmax(&classes, count),
        };
        let growth = Growth { most_leaves: 4, most_depth: 3, least_examples: 5, ridge: 0.0 };
        let boosting = Boosting { rounds: 3, learning_rate: 0.5, growth, patience: None };
        let all: Vec<u32> = (0..90).collect();
        let data = BinnedParts::new(&features, false);
        let (forest, _) = boosting.fit((&data, &features), &all, loss, None, &[]);
        let tree = forest.trees[0].clone();
        let block = |source, count: usize| Block {
            source,
            centre: vec![0.1; count],
            width: vec![0.7; count],
            limit: 1.5,
            scale: 0.4,
        };
        let mut blocks = vec![
            block(BlockSource::Constant, 1),
            block(BlockSource::Scores(vec![0.25, 0.75]), outputs),
            block(BlockSource::Columns(None), 3),
            block(BlockSource::Columns(Some(Matrix::from_fn(2, 3, |i, j| (i + 2 * j) as f64))), 2),
            block(BlockSource::Cells { slots: slots(&tree, 1), tree }, 2),
        ];
        if outputs == 1 {
            blocks.push(block(BlockSource::Effects { predictor: 1, groups: vec![0, 1, 1] }, 2));
        }
        let count: usize = blocks.iter().map(Block::len).sum();
        Shape {
            inputs: 3,
            answer,
            predictors: vec![
                Predictor::Linear {
                    weights: (0..4 * outputs).map(|k| k as f64 / 9.0).collect(),
                    radius: 0.9,
                },
                Predictor::Forest(forest),
            ],
            base: vec![0.5, 0.5],
            blocks,
            correction: (0..count * outputs).map(|k| (k as f64).sin()).collect(),
        }
    }

    #[test]
    fn every_shape_is_made_again_of_its_tensors_and_answers_alike() {
        let examples = Matrix::from_fn(3, 7, |row, at| (row * 5 + at) as f64 / 20.0);
        for answer in [ScoreMeaning::Number, ScoreMeaning::TwoClasses, ScoreMeaning::Classes(3)] {
            let shape = example(answer);
            let tensors = shape.tensors();
            let tensor = |name: &str| {
                let found = tensors.iter().find(|tensor| tensor.name == name)?;
                Some((found.shape.clone(), found.values.clone()))
            };
            let again = Shape::from_tensors(tensor).unwrap();
            assert_eq!(again, shape);
            assert_eq!(again.answers(&examples), shape.answers(&examples));
            let seen = shape.see(&examples);
            assert!(seen.features.column_iter().all(|x| x.norm() <= 1.0 + 1e-12));
        }
    }

    #[test]
    fn arrays_that_were_changed_make_no_shape_and_nothing_panics() {
        let shape = example(ScoreMeaning::Number);
        let tensors = shape.tensors();
        let with = |name: &str, change: &dyn Fn(&mut Vec<f64>)| {
            let tensor = |wanted: &str| {
                let found = tensors.iter().find(|tensor| tensor.name == wanted)?;
                let mut values = found.values.clone();
                if wanted == name {
                    change(&mut values);
                }
                Some((vec![values.len()], values))
            };
            Shape::from_tensors(tensor)
        };
        assert!(with("", &|_| ()).is_some());
        for tensor in &tensors {
            let read = with(&tensor.name, &|values| values.clear()) != Some(shape.clone());
            // A single tree needs no base.
            assert!(read || tensor.name.ends_with("tree.base"), "{} is not read", tensor.name);
        }
        assert!(with("predictor.1.forest.left", &|values| values[0] = 0.0).is_none());
        assert!(with("predictor.1.forest.feature", &|values| values[0] = 3.0).is_none());
        assert!(with("predictor.1.forest.roots", &|values| values[1] = 1e6).is_none());
        assert!(with("block.5.groups", &|values| values[0] = 2.0).is_none());
        assert!(with("answer", &|values| values[0] = 2.5).is_none());
        assert!(with("correction", &|values| values.truncate(3)).is_none());
    }
}
