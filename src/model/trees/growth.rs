//! One tree, grown leaf by leaf: the leaf whose split gains most is split next.
//!
//! Every example has a gradient per output and one curvature. A node's value is the Newton step
//! −ΣG/(ΣH + λ) of each output, and its worth is Σ_outputs (ΣG)²/(ΣH + λ). The gain of a split is
//! its children's worth minus its own. Of two siblings only the smaller one's histogram is counted;
//! the other's is the difference from their parent's. Leaves that cannot be split need none.

use pulp::{Simd, WithSimd};

use super::bins::{BinKind, Binned, BinnedColumn, MOST_BINS};
use super::{LEAF, Tree};

/// Limits on the growth of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    pub most_leaves: usize,
    pub most_depth: usize,
    pub least_examples: usize,
    /// λ
    pub ridge: f64,
}

/// The least curvature of a leaf.
const LEAST_CURVATURE: f64 = 1e-3;

/// The gradients and curvatures of the examples.
#[derive(Debug, Clone, Copy)]
pub struct Pull<'a> {
    /// `outputs` numbers per example.
    pub gradients: &'a [f64],
    /// One number per example.
    pub curvatures: &'a [f64],
    pub outputs: usize,
}

/// A grown tree, and the examples of each of its leaves.
#[derive(Debug)]
pub struct Grown {
    pub tree: Tree,
    pub leaves: Vec<(usize, Vec<u32>)>,
}

/// The least gain that rounding cannot explain.
fn least_gain(here: f64) -> f64 {
    1e-12 * here.abs() + 1e-300
}

#[derive(Debug, PartialEq)]
struct NodeSplit {
    gain: f64,
    column: usize,
    /// The bin of the split.
    bin: usize,
}

/// A leaf that may be split.
struct SplitCandidate {
    node: usize,
    depth: usize,
    examples: Vec<u32>,
    /// Only of a leaf with a split.
    histogram: Option<Vec<f64>>,
    split: Option<NodeSplit>,
}

struct Grower<'a> {
    data: &'a Binned,
    pull: Pull<'a>,
    growth: Growth,
    /// Where each column's bins begin in a histogram.
    starts: Vec<usize>,
    bins: usize,
    /// Histograms that are no longer needed. New memory for each would take longer than counting.
    spare: &'a mut Vec<Vec<f64>>,
}

/// Grows a tree on those `examples`. `spare` is kept from tree to tree.
pub fn grow(
    data: &Binned,
    examples: Vec<u32>,
    pull: Pull<'_>,
    growth: Growth,
    spare: &mut Vec<Vec<f64>>,
) -> Grown {
    let mut starts = Vec::with_capacity(data.columns.len());
    let mut bins = 0;
    for column in &data.columns {
        starts.push(bins);
        bins += column.bins();
    }
    Grower { data, pull, growth, starts, bins, spare }.grow(examples)
}

impl Grower<'_> {
    /// Numbers per bin: the gradients of each output, the curvature, the count.
    fn stride(&self) -> usize {
        self.pull.outputs + 2
    }

    fn grow(&mut self, examples: Vec<u32>) -> Grown {
        let histogram = self.count(&examples);
        let total = self.total(&examples);
        let mut tree = Tree::of_one(self.value(&total));
        let mut open = vec![self.candidate(0, 0, examples, Some(histogram), &total)];
        let mut closed = Vec::new();
        while open.len() + closed.len() < self.growth.most_leaves {
            let gains = open.iter().map(|candidate| candidate.split.as_ref().map(|it| it.gain));
            let possible = gains.enumerate().filter_map(|(at, gain)| Some((at, gain?)));
            let best = possible.reduce(|best, next| if next.1 > best.1 { next } else { best });
            let Some((at, _)) = best else { break };
            let candidate = open.swap_remove(at);
            let last = open.len() + closed.len() + 2 >= self.growth.most_leaves;
            match self.split(candidate, &mut tree, last) {
                Ok([left, right]) => open.extend([left, right]),
                Err(leaf) => closed.push(leaf),
            }
        }
        for leaf in open {
            self.spare.extend(leaf.histogram);
            closed.push((leaf.node, leaf.examples));
        }
        closed.sort_by_key(|(node, _)| *node);
        Grown { tree, leaves: closed }
    }

    fn count(&mut self, examples: &[u32]) -> Vec<f64> {
        let stride = self.stride();
        let mut histogram = self.spare.pop().unwrap_or_default();
        histogram.clear();
        histogram.resize(self.bins * stride, 0.0);
        if self.pull.outputs == 1 {
            self.count_one(examples, &mut histogram);
            return histogram;
        }
        let Pull { gradients, curvatures, outputs } = self.pull;
        for (column, start) in self.data.columns.iter().zip(&self.starts) {
            let part = &mut histogram[start * stride..][..column.bins() * stride];
            for &example in examples {
                let example = example as usize;
                let bin = &mut part[stride * column.of[example] as usize..][..stride];
                for (sum, gradient) in
                    bin.iter_mut().zip(&gradients[example * outputs..][..outputs])
                {
                    *sum += gradient;
                }
                bin[outputs] += curvatures[example];
                bin[outputs + 1] += 1.0;
            }
        }
        histogram
    }

    /// Adds up the histogram for one output, where most of the time is spent: example by example,
    /// because sums for different columns are independent.
    fn count_one(&self, examples: &[u32], histogram: &mut [f64]) {
        let Pull { gradients, curvatures, .. } = self.pull;
        let columns = self.starts.len();
        let (bins, _) = histogram.as_chunks_mut::<3>();
        for &example in examples {
            let example = example as usize;
            let (gradient, curvature) = (gradients[example], curvatures[example]);
            let row = &self.data.rows[example * columns..][..columns];
            for (start, bin) in self.starts.iter().zip(row) {
                let bin = &mut bins[start + usize::from(*bin)];
                bin[0] += gradient;
                bin[1] += curvature;
                bin[2] += 1.0;
            }
        }
    }

    fn total(&self, examples: &[u32]) -> Vec<f64> {
        let Pull { gradients, curvatures, outputs } = self.pull;
        if outputs == 1 {
            let mut total = [0.0; 3];
            for &example in examples {
                total[0] += gradients[example as usize];
                total[1] += curvatures[example as usize];
            }
            total[2] = examples.len() as f64;
            return total.to_vec();
        }
        let mut total = vec![0.0; self.stride()];
        for &example in examples {
            let example = example as usize;
            for (sum, gradient) in total.iter_mut().zip(&gradients[example * outputs..][..outputs])
            {
                *sum += gradient;
            }
            total[outputs] += curvatures[example];
            total[outputs + 1] += 1.0;
        }
        total
    }

    fn value(&self, sums: &[f64]) -> Vec<f64> {
        let outputs = self.pull.outputs;
        let curvature = sums[outputs] + self.growth.ridge;
        let step = |sum: &f64| if curvature > 0.0 { -sum / curvature } else { 0.0 };
        sums[..outputs].iter().map(step).collect()
    }

    fn worth(&self, sums: &[f64]) -> f64 {
        let outputs = self.pull.outputs;
        let squares: f64 = sums[..outputs].iter().map(|sum| sum * sum).sum();
        squares / (sums[outputs] + self.growth.ridge)
    }

    fn may_be_leaf(&self, sums: &[f64]) -> bool {
        let outputs = self.pull.outputs;
        sums[outputs + 1] >= self.growth.least_examples as f64 && sums[outputs] >= LEAST_CURVATURE
    }

    fn may_be_split(&self, depth: usize, examples: &[u32]) -> bool {
        depth < self.growth.most_depth && examples.len() >= 2 * self.growth.least_examples.max(1)
    }

    fn candidate(
        &mut self,
        node: usize,
        depth: usize,
        examples: Vec<u32>,
        mut histogram: Option<Vec<f64>>,
        total: &[f64],
    ) -> SplitCandidate {
        let split = match &histogram {
            Some(histogram) if self.may_be_split(depth, &examples) => {
                self.best_split(histogram, total)
            }
            _ => None,
        };
        if split.is_none() {
            self.spare.extend(histogram.take());
        }
        SplitCandidate { node, depth, examples, histogram, split }
    }

    /// The split with the largest gain, the first of equals.
    fn best_split(&self, histogram: &[f64], total: &[f64]) -> Option<NodeSplit> {
        if self.pull.outputs == 1 {
            return self.best_split_of_one(histogram, [total[0], total[1], total[2]]);
        }
        let stride = self.stride();
        let here = self.worth(total);
        let mut best: Option<NodeSplit> = None;
        let (mut one, mut other) = (vec![0.0; stride], vec![0.0; stride]);
        for (at, (column, start)) in self.data.columns.iter().zip(&self.starts).enumerate() {
            let part = &histogram[start * stride..][..column.bins() * stride];
            one.fill(0.0);
            for bin in column.splits() {
                let sums = &part[bin * stride..][..stride];
                if sums[stride - 1] == 0.0 {
                    // The bin is empty: the same split as the one before.
                    continue;
                }
                if !column.is_ordered() {
                    one.fill(0.0);
                }
                for ((one, other), (sum, total)) in
                    one.iter_mut().zip(&mut other).zip(sums.iter().zip(total))
                {
                    *one += sum;
                    *other = total - *one;
                }
                if !self.may_be_leaf(&one) || !self.may_be_leaf(&other) {
                    continue;
                }
                let gain = self.worth(&one) + self.worth(&other) - here;
                if gain > best.as_ref().map_or(least_gain(here), |best| best.gain) {
                    best = Some(NodeSplit { gain, column: at, bin });
                }
            }
        }
        best
    }

    /// The best split for one output, where most of the time is spent.
    fn best_split_of_one(&self, histogram: &[f64], total: [f64; 3]) -> Option<NodeSplit> {
        let Self { data, growth, ref starts, .. } = *self;
        let columns = &data.columns;
        pulp::Arch::new().dispatch(BestSplitOfOne { columns, starts, histogram, total, growth })
    }

    /// The two children of a leaf, entered into the tree. Nothing is split after the `last` split.
    fn split(
        &mut self,
        candidate: SplitCandidate,
        tree: &mut Tree,
        last: bool,
    ) -> Result<[SplitCandidate; 2], (usize, Vec<u32>)> {
        let SplitCandidate { node, depth, examples, histogram, split } = candidate;
        let (Some(NodeSplit { column, bin, .. }), Some(mut histogram)) = (split, histogram) else {
            return Err((node, examples));
        };
        let column = &self.data.columns[column];
        let (feature, threshold) = match &column.kind {
            BinKind::Ordered { feature, edges } => (*feature, edges[bin]),
            BinKind::Flags(flags) => (flags[bin - 1].feature, flags[bin - 1].threshold),
        };
        let goes_left = |example: &u32| {
            let of = column.of[*example as usize] as usize;
            match &column.kind {
                BinKind::Ordered { .. } => of <= bin,
                BinKind::Flags(flags) => (of == bin) != flags[bin - 1].high,
            }
        };
        let (left, right): (Vec<u32>, Vec<u32>) = examples.iter().partition(|e| goes_left(e));
        let flipped = left.len() > right.len();
        let (smaller, larger) = if flipped { (&right, &left) } else { (&left, &right) };
        let mut histograms = [None, None];
        if last || !self.may_be_split(depth + 1, larger) {
            self.spare.push(histogram);
        } else {
            let counted = self.count(smaller);
            for (parent, counted) in histogram.iter_mut().zip(&counted) {
                *parent -= counted;
            }
            histograms = [Some(counted), Some(histogram)];
        }
        if flipped {
            histograms.reverse();
        }
        let [of_left, of_right] = histograms;
        let mut child = |examples: Vec<u32>, histogram| {
            let total = self.total(&examples);
            let at = tree.nodes();
            tree.feature.push(LEAF);
            tree.threshold.push(0.0);
            tree.left.push(LEAF);
            tree.right.push(LEAF);
            tree.values.extend(self.value(&total));
            self.candidate(at, depth + 1, examples, histogram, &total)
        };
        let children = [child(left, of_left), child(right, of_right)];
        tree.feature[node] = feature;
        tree.threshold[node] = threshold;
        tree.left[node] = children[0].node as u32;
        tree.right[node] = children[1].node as u32;
        Ok(children)
    }
}

/// The best split of a node for one output. The sums beside every split are computed first, then
/// all gains in a loop without branches, for the widest instructions of the machine.
struct BestSplitOfOne<'a> {
    columns: &'a [BinnedColumn],
    /// Where each column's bins begin.
    starts: &'a [usize],
    histogram: &'a [f64],
    /// The gradient, the curvature and the count of the node.
    total: [f64; 3],
    growth: Growth,
}

/// At least as many as a column has splits, and a multiple of [`LANES`].
const MOST_SPLITS: usize = MOST_BINS.next_multiple_of(LANES);
const LANES: usize = 8;

impl WithSimd for BestSplitOfOne<'_> {
    type Output = Option<NodeSplit>;

    #[expect(clippy::needless_bitwise_bool, reason = "branches would stop whole registers")]
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<NodeSplit> {
        let Self { columns, starts, histogram, total, growth } = self;
        let (least, ridge) = (growth.least_examples as f64, growth.ridge);
        let here = total[0] * total[0] / (total[1] + ridge);
        let (mut most, mut best) = (least_gain(here), None);
        let [mut gradients, mut curvatures, mut counts, mut gains] = [[0.0; MOST_SPLITS]; 4];
        for (at, (column, start)) in columns.iter().zip(starts).enumerate() {
            let (bins, _) = histogram[3 * start..][..3 * column.bins()].as_chunks::<3>();
            let (splits, ordered) = (column.splits(), column.is_ordered());
            let (mut one, mut used) = ([0.0; 3], 0);
            for sums in &bins[splits.clone()] {
                one = if ordered {
                    [one[0] + sums[0], one[1] + sums[1], one[2] + sums[2]]
                } else {
                    *sums
                };
                if ordered && total[2] - one[2] < least {
                    break;
                }
                (gradients[used], curvatures[used], counts[used]) = (one[0], one[1], one[2]);
                used += 1;
            }
            // What is left of the last register of splits is none.
            let end = used.next_multiple_of(LANES);
            counts[used..end].fill(f64::NEG_INFINITY);
            let sides = gradients[..end].iter().zip(&curvatures[..end]).zip(&counts[..end]);
            for (gain, ((gradient, curvature), count)) in gains[..end].iter_mut().zip(sides) {
                let (other, rest) = (total[0] - gradient, total[1] - curvature);
                let (a, b) = (curvature + ridge, rest + ridge);
                let gained = (gradient * gradient * b + other * other * a) / (a * b) - here;
                let possible = (*count >= least)
                    & (total[2] - count >= least)
                    & (*curvature >= LEAST_CURVATURE)
                    & (rest >= LEAST_CURVATURE);
                *gain = if possible { gained } else { f64::NEG_INFINITY };
            }
            let mut largest = [f64::NEG_INFINITY; LANES];
            for gains in gains[..end].as_chunks::<LANES>().0 {
                for (largest, gain) in largest.iter_mut().zip(gains) {
                    *largest = if gain > largest { *gain } else { *largest };
                }
            }
            let gain =
                largest.iter().fold(most, |most, gain| if *gain > most { *gain } else { most });
            if gain > most
                && let Some(first) = gains[..used].iter().position(|other| *other == gain)
            {
                most = gain;
                best = Some(NodeSplit { gain, column: at, bin: splits.start + first });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::Matrix;

    proptest! {
        /// Split by split, as the words of the module say it.
        #[test]
        fn the_best_split_of_one_output_is_the_first_with_the_largest_gain(
            numbers in proptest::collection::vec((0..40_i32, -1.0..1.0_f64, 0.0..0.3_f64), 30..200),
            least_examples in 1..8_usize,
        ) {
            // A column of numbers, two flags that never meet, and the numbers once more.
            let features = Matrix::from_fn(4, numbers.len(), |row, i| match (row, numbers[i].0) {
                (0 | 3, x) => f64::from(x),
                (1, x) => f64::from(x % 5 == 0),
                (_, x) => f64::from(x % 5 == 1),
            });
            let data = Binned::new(&features);
            let gradients: Vec<f64> = numbers.iter().map(|it| it.1).collect();
            let curvatures: Vec<f64> = numbers.iter().map(|it| it.2).collect();
            let pull = Pull { gradients: &gradients, curvatures: &curvatures, outputs: 1 };
            let growth = Growth { most_leaves: 2, most_depth: 9, least_examples, ridge: 1.0 };
            let (mut starts, mut bins) = (Vec::new(), 0);
            for column in &data.columns {
                starts.push(bins);
                bins += column.bins();
            }
            let mut grower =
                Grower { data: &data, pull, growth, starts, bins, spare: &mut Vec::new() };
            let everyone: Vec<u32> = (0..numbers.len() as u32).collect();
            let histogram = grower.count(&everyone);
            let total = grower.total(&everyone);
            let found = grower.best_split(&histogram, &total);
            let here = grower.worth(&total);
            let mut best: Option<NodeSplit> = None;
            for (at, (column, start)) in data.columns.iter().zip(&grower.starts).enumerate() {
                for bin in column.splits() {
                    let from = if column.is_ordered() { 0 } else { bin };
                    let mut one = [0.0; 3];
                    for bin in &histogram.as_chunks::<3>().0[start + from..=start + bin] {
                        one.iter_mut().zip(bin).for_each(|(one, sum)| *one += sum);
                    }
                    let other: Vec<f64> = total.iter().zip(one).map(|(all, one)| all - one).collect();
                    let (a, b) = (one[1] + 1.0, other[1] + 1.0);
                    let gain = (one[0] * one[0] * b + other[0] * other[0] * a) / (a * b) - here;
                    let possible = grower.may_be_leaf(&one) && grower.may_be_leaf(&other);
                    if possible && gain > best.as_ref().map_or(least_gain(here), |best| best.gain) {
                        best = Some(NodeSplit { gain, column: at, bin });
                    }
                }
            }
            prop_assert_eq!(found, best);
        }
    }
}
