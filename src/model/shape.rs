//! A public shape with a private correction.
//!
//! *Predictors* trained on public records give scores; a fixed mixture of them is the base. A
//! record's *features* are a few bounded blocks of numbers, made from these scores, from its
//! columns, and from its leaf in a public tree. The answer is the base plus a linear function of
//! the features, the *correction*. Private records decide only the correction.
//!
//! For any record, the feature vector is no longer than 1. Sensitivities depend on this.

use nalgebra::DMatrixView;

use super::trees::{Forest, LEAF, Tree};
use crate::error::Result;
use crate::numeric::columns::{ExampleColumns, Singles};
use crate::numeric::doubles::Doubles;
use crate::numeric::projection::shrink_factor;
use crate::numeric::{Matrix, Vector, parallel};

/// Records that a thread sees before it takes others.
const FEW: usize = 1 << 10;

/// The meaning of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreMeaning {
    /// A prepared label.
    Number,
    /// The logarithm of the odds of the second class.
    TwoClasses,
    /// Logarithms of the probabilities of this many classes, up to a constant.
    Classes(usize),
}

impl ScoreMeaning {
    /// The number of scores of one record.
    pub fn outputs(self) -> usize {
        match self {
            Self::Number | Self::TwoClasses => 1,
            Self::Classes(count) => count,
        }
    }
}

/// A predictor of scores that was trained on public records.
#[derive(Debug, Clone, PartialEq)]
pub enum Predictor {
    /// For records shortened to the norm `radius`: for every score its weights, then its intercept.
    Linear { weights: Vec<f64>, radius: f64 },
    /// Decision trees.
    Forest(Forest),
}

/// Numbers of a record that share a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub source: BlockSource,
    /// Subtracted from each number.
    pub centre: Vec<f64>,
    /// Divides each number; a number with width 0 carries no information and is 0.
    pub width: Vec<f64>,
    /// The block is shortened to this norm.
    pub limit: f64,
    /// Share of the block in the record's features.
    pub scale: f64,
}

/// The source of a block's numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockSource {
    /// A one for every record.
    Constant,
    /// The scores of a mixture of the predictors.
    Scores(Vec<f64>),
    /// The columns of the record, or linear functions of them, one per row.
    Columns(Option<Matrix>),
    /// The contribution of splits on each group of columns to the score of this forest.
    Effects { predictor: usize, groups: Vec<u32> },
    /// The node of a tree into which the record falls, among those with a number here.
    Cells { tree: Tree, slots: Vec<u32> },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    pub inputs: usize,
    pub answer: ScoreMeaning,
    pub predictors: Vec<Predictor>,
    /// The base is this mixture of the predictors' scores.
    pub base: Vec<f64>,
    pub blocks: Vec<Block>,
    /// For every feature one number per score.
    pub correction: Vec<f64>,
}

/// Features and base of many records.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen<F = Matrix> {
    /// One record per column.
    pub features: F,
    /// One record per column, one score per row.
    pub base: Matrix,
}

impl<F: ExampleColumns> Seen<F> {
    /// Base plus correction. `visit` gets the number of each record and its features.
    pub fn corrected(&self, correction: &[f64], mut visit: impl FnMut(usize, &[f64])) -> Matrix {
        let mut scores = self.base.clone();
        let (outputs, dimension) = (scores.nrows(), self.features.dimension());
        let correction = DMatrixView::from_slice(correction, outputs, dimension);
        let mut room = Vec::new();
        for range in self.features.stretches(0..self.features.count()) {
            let examples = self.features.read(range.clone(), &mut room);
            for (at, x) in range.clone().zip(examples.chunks_exact(dimension.max(1))) {
                visit(at, x);
            }
            let examples = DMatrixView::from_slice(examples, dimension, range.len());
            let mut some = scores.columns_range_mut(range);
            some += correction * examples;
        }
        scores
    }
}

impl Predictor {
    /// One column of scores per column of `features`.
    pub fn scores(&self, features: &Matrix, outputs: usize) -> Matrix {
        let (weights, radius) = match self {
            Self::Forest(forest) => return forest.scores(features),
            Self::Linear { weights, radius } => (weights, *radius),
        };
        let inputs = features.nrows();
        let mut scores = Matrix::zeros(outputs, features.ncols());
        for (example, mut scores) in features.column_iter().zip(scores.column_iter_mut()) {
            let shrink = shrink_factor(example.norm(), radius);
            for (score, w) in scores.iter_mut().zip(weights.chunks_exact(inputs + 1)) {
                let sum: f64 = example.iter().zip(w).map(|(x, w)| x * w).sum();
                *score = shrink * sum + w[inputs];
            }
        }
        scores
    }
}

impl Block {
    /// The number of numbers in the block.
    pub fn len(&self) -> usize {
        self.centre.len()
    }

    pub fn is_empty(&self) -> bool {
        self.centre.is_empty()
    }

    /// The block's numbers for a record with these scores of the predictors, before they are
    /// centred; added to `numbers`, which are 0.
    pub fn raw(
        &self,
        example: &[f64],
        scores: &[&[f64]],
        predictors: &[Predictor],
        numbers: &mut [f64],
    ) {
        match &self.source {
            BlockSource::Constant => numbers[0] = 1.0,
            BlockSource::Scores(mixture) => {
                for (share, scores) in mixture.iter().zip(scores) {
                    for (number, score) in numbers.iter_mut().zip(*scores) {
                        *number += share * score;
                    }
                }
                if numbers.len() > 1 {
                    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
                    for number in numbers.iter_mut() {
                        *number -= mean;
                    }
                }
            }
            BlockSource::Columns(None) => numbers.copy_from_slice(example),
            BlockSource::Columns(Some(rows)) => {
                let image = rows * nalgebra::DVectorView::from_slice(example, example.len());
                numbers.copy_from_slice(image.as_slice());
            }
            BlockSource::Effects { predictor, groups } => {
                if let Some(Predictor::Forest(forest)) = predictors.get(*predictor) {
                    for tree in &forest.trees {
                        let mut node = 0;
                        for next in tree.path(example) {
                            let group = groups[tree.feature[node] as usize] as usize;
                            numbers[group] += tree.values[next] - tree.values[node];
                            node = next;
                        }
                    }
                }
            }
            BlockSource::Cells { tree, slots } => {
                for node in tree.path(example) {
                    if let Some(number) = numbers.get_mut(slots[node] as usize) {
                        *number = 1.0;
                    }
                }
            }
        }
    }

    /// From raw numbers to features.
    pub fn finish(&self, numbers: &mut [f64]) {
        for ((number, centre), width) in numbers.iter_mut().zip(&self.centre).zip(&self.width) {
            *number = if *width > 0.0 { (*number - centre) / width } else { 0.0 };
            if !number.is_finite() {
                *number = 0.0;
            }
        }
        let length = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
        let factor = self.scale * shrink_factor(length, self.limit);
        for number in numbers {
            *number *= factor;
        }
    }
}

/// Shortens every record to this norm.
pub fn shorten(records: &mut Matrix, norm: f64) {
    for mut record in records.column_iter_mut() {
        let shrink = shrink_factor(record.norm(), norm);
        record *= shrink;
    }
}

/// For every node of the tree, its index among those of this depth; [`LEAF`] elsewhere.
pub fn slots(tree: &Tree, depth: usize) -> Vec<u32> {
    let mut next = 0;
    let slot = |of: usize| {
        if of != depth {
            return LEAF;
        }
        next += 1;
        next - 1
    };
    tree.depths().into_iter().map(slot).collect()
}

impl Shape {
    /// A predictor without correction.
    pub fn of_one(inputs: usize, answer: ScoreMeaning, predictor: Predictor) -> Self {
        let (predictors, base) = (vec![predictor], vec![1.0]);
        Self { inputs, answer, predictors, base, blocks: Vec::new(), correction: Vec::new() }
    }

    pub fn feature_count(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }

    /// The scores of every predictor.
    pub fn scores(&self, features: &Matrix) -> Vec<Matrix> {
        let outputs = self.answer.outputs();
        self.predictors.iter().map(|predictor| predictor.scores(features, outputs)).collect()
    }

    /// Features and base of records.
    pub fn see(&self, features: &Matrix) -> Seen {
        let mut seen = self.see_blocks(features, &self.scores(features));
        shorten(&mut seen.features, 1.0);
        seen
    }

    /// Features and base, one part of the records after the other: not all of them are doubles at
    /// once. What is seen of records on the disk is kept there, too.
    pub fn see_in_parts(&self, features: &Singles) -> Result<Seen<Doubles>> {
        let count = features.count();
        let mut base = Vec::with_capacity(self.answer.outputs() * count);
        let seen = Doubles::made((self.feature_count(), count), features.space(), |range| {
            let part = self.see(&features.doubles(range));
            base.extend_from_slice(part.base.as_slice());
            part.features
        })?;
        Ok(Seen { features: seen, base: Matrix::from_vec(self.answer.outputs(), count, base) })
    }

    /// Features and base from given scores, without a bound on the features of a whole record.
    pub fn see_blocks(&self, features: &Matrix, scores: &[Matrix]) -> Seen {
        let count = features.ncols();
        let mut base = Matrix::zeros(self.answer.outputs(), count);
        for (share, scores) in self.base.iter().zip(scores) {
            base += *share * scores;
        }
        let parts = parallel::map(count.div_ceil(FEW), |part| {
            let range = part * FEW..count.min((part + 1) * FEW);
            let mut seen = vec![0.0; self.feature_count() * range.len()];
            for (at, seen) in range.zip(seen.chunks_exact_mut(self.feature_count().max(1))) {
                self.see_record(features.column(at).as_slice(), at, scores, seen);
            }
            seen
        });
        let features = Matrix::from_vec(self.feature_count(), count, parts.concat());
        Seen { features, base }
    }

    /// The features of one record, which are 0 before, with the scores in this place.
    fn see_record(&self, example: &[f64], at: usize, scores: &[Matrix], mut rest: &mut [f64]) {
        if example.iter().all(|x| *x == 0.0) {
            // A null record: as if it were not there.
            return;
        }
        let outputs = self.answer.outputs();
        let own: Vec<&[f64]> =
            scores.iter().map(|scores| &scores.as_slice()[at * outputs..][..outputs]).collect();
        for block in &self.blocks {
            let (numbers, after) = rest.split_at_mut(block.len());
            rest = after;
            block.raw(example, &own, &self.predictors, numbers);
            block.finish(numbers);
        }
    }

    /// Base plus correction.
    pub fn corrected(&self, seen: &Seen<impl ExampleColumns>) -> Matrix {
        seen.corrected(&self.correction, |_, _| {})
    }

    /// The scores of records, one per column.
    pub fn answers(&self, features: &Matrix) -> Matrix {
        if let ([predictor], [], [share]) =
            (self.predictors.as_slice(), self.blocks.as_slice(), self.base.as_slice())
        {
            return *share * predictor.scores(features, self.answer.outputs());
        }
        self.corrected(&self.see(features))
    }

    /// With another correction.
    #[must_use]
    pub fn with_correction(&self, correction: &Vector) -> Self {
        Self { correction: correction.as_slice().to_vec(), ..self.clone() }
    }
}
