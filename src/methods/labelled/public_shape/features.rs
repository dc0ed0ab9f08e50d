//! The features that a correction may use, in tiers, and what is known about them before private
//! data are touched.

use super::labels::Labels;
use super::teaching::{LINEAR, Taught, WITHIN, mixed, quantile};
use crate::Series;
use crate::model::shape::{
    Block, BlockSource, Predictor, ScoreMeaning, Seen, Shape, shorten, slots,
};
use crate::model::trees::boosting::{probability, softmax};
use crate::model::trees::growth::{Pull, grow};
use crate::model::trees::{Binned, Growth, Tree};
use crate::numeric::principal::Principal;
use crate::numeric::symmetric::weighted_outer_sum;
use crate::numeric::{Matrix, Vector};

/// Scores are clipped this many standard deviations from their public mean.
const WIDEST_SCORE: f64 = 2.5;
/// The most principal directions of the columns, and groups of columns, that can be corrected.
pub const MOST_COLUMNS: usize = 64;
pub const MOST_EFFECTS: usize = 32;
/// Where groups of principal directions end, before the last one.
const GROUPS: [usize; 2] = [4, 12];
/// Directions with less than this share of the largest one's energy carry no information.
const LEAST_ENERGY: f64 = 1e-12;
/// How deep the tree of cells is.
const DEPTH: usize = 4;

/// A group of features that is corrected more or less as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    pub series: Series,
    pub first: usize,
    pub count: usize,
    /// Expected part of the tier in the correction, relative to the base's mean squared residual,
    /// or to 1 for classes.
    pub expected: f64,
}

/// A shape without correction, and the public statistics of its features.
#[derive(Debug, Clone)]
pub struct Ground {
    pub shape: Shape,
    pub tiers: Vec<Tier>,
    /// Public records, scored as unseen ones.
    pub seen: Seen,
    /// Labels of the public records.
    pub labels: Labels,
    /// Mean square residual of the base in regions that it was not trained on.
    pub rest: f64,
    /// Which public records these are.
    pub compared: Vec<u32>,
    pub columns: TableColumns,
}

/// The columns of the table that the inputs come from.
#[derive(Debug, Clone)]
pub struct TableColumns {
    pub names: Vec<String>,
    /// The column of each input.
    pub of: Vec<u32>,
    /// The deviation of each input among the public records.
    pub spread: Vec<f64>,
}

/// The series of a tier, and its expected part in the correction.
///
/// The parts of level (0.1, 0.2), cells (0.001, 0.006) and groups of columns (0.035 … 0.2; ends after 4
/// and 12, and four others) were chosen by the geometric mean over wind, bikeshare, wine, airline,
/// german, heart, and for the groups gas and adult; the others are guesses. `halflight-studies
/// correction --kept` shows their results on shifts that were kept back.
type Terms = (Series, f64);
const LEVEL: Terms = (Series::LevelCorrection, 0.1);
const SCORE: Terms = (Series::ScaleCorrection, 0.05);
const OTHER: Terms = (Series::OtherCorrection, 0.05);
const EFFECTS: Terms = (Series::EffectsCorrection, 0.02);
/// For every group of directions.
const COLUMNS: Terms = (Series::ColumnsCorrection, 0.05);
/// For every depth.
const CELLS: Terms = (Series::CellsCorrection, 0.001);

/// The number of features for such columns, from names and values alone.
pub fn count(dimension: usize, names: &[String], outputs: usize) -> usize {
    let cells: usize = (1..=DEPTH).map(|depth| 1 << depth).sum();
    let effects = if outputs == 1 { groups(dimension, names).1.len() } else { 0 };
    1 + 2 * outputs + effects + column_count(dimension) + cells
}

fn column_count(dimension: usize) -> usize {
    dimension.min(MOST_COLUMNS)
}

/// The group of each column, which is the column of the raw table that it comes from, and their
/// names. Groups beyond the limit go into the last one.
fn groups(dimension: usize, names: &[String]) -> (Vec<u32>, Vec<String>) {
    let stem = |at: usize| {
        let name = names.get(at).map_or("", String::as_str);
        name.split_once('=').map_or(name, |(stem, _)| stem)
    };
    let mut known: Vec<&str> = Vec::new();
    let mut of = Vec::with_capacity(dimension);
    for at in 0..dimension {
        let stem = stem(at);
        let group = known.iter().position(|one| *one == stem).unwrap_or_else(|| {
            known.push(stem);
            known.len() - 1
        });
        of.push(group.min(MOST_EFFECTS - 1) as u32);
    }
    (of, known.into_iter().take(MOST_EFFECTS).map(str::to_owned).collect())
}

/// Builds the blocks on the trained predictors, around the mixture `base` of them.
pub fn ground(
    features: &Matrix,
    names: &[String],
    labels: &Labels,
    taught: &Taught,
    base: &[f64],
) -> Ground {
    let answer = labels.answer();
    let outputs = answer.outputs();
    let Taught { predictors, unseen, abroad, compared, regions, .. } = taught;
    let some = features.select_columns(&compared.iter().map(|i| *i as usize).collect::<Vec<_>>());
    let labels = labels.select(compared);
    let away = mixed(abroad, base);
    let (mut rests, mut rest) = (Matrix::zeros(outputs, compared.len()), 0.0);
    for (i, mut one) in rests.column_iter_mut().enumerate() {
        labels.rest(i, away.column(i).as_slice(), one.as_mut_slice());
        rest += one.norm_squared() / compared.len() as f64;
    }
    // The mixture that the base is compared with: the usual one, or else the linear predictor, or the
    // trees if the linear one is the base.
    let other = if base == taught.base {
        let mut other = vec![0.0; base.len()];
        let mostly_linear = base[LINEAR] - base[3] > 0.5;
        other[if mostly_linear { 1 } else { LINEAR }] = 1.0;
        other
    } else {
        taught.base.clone()
    };
    let difference: Vec<f64> = other.iter().zip(base).map(|(other, base)| other - base).collect();

    let mut plan: Vec<(Terms, BlockSource, usize)> = vec![
        (LEVEL, BlockSource::Constant, 1),
        (SCORE, BlockSource::Scores(base.to_vec()), outputs),
        (OTHER, BlockSource::Scores(difference), outputs),
    ];
    let (groups, stems) = groups(features.nrows(), names);
    if outputs == 1 {
        // The trees with the largest weight in the base.
        let predictor = if base[2] >= base[1] && base[2] >= base[3] {
            2
        } else if base[1] >= base[3] {
            1
        } else {
            3
        };
        plan.push((
            EFFECTS,
            BlockSource::Effects { predictor, groups: groups.clone() },
            stems.len(),
        ));
    }
    for rows in principal_groups(&some, column_count(features.nrows())) {
        let count = rows.nrows();
        plan.push((COLUMNS, BlockSource::Columns(Some(rows)), count));
    }
    let tree = cells(&some, &rests, regions);
    for depth in 1..=DEPTH {
        let source = BlockSource::Cells { slots: slots(&tree, depth), tree: tree.clone() };
        plan.push((CELLS, source, 1 << depth));
    }

    let (mut blocks, mut tiers, mut first) = (Vec::new(), Vec::new(), 0);
    for ((series, expected), source, count) in plan {
        let mut block = Block {
            source,
            centre: vec![0.0; count],
            width: vec![1.0; count],
            limit: 1.0,
            scale: 1.0,
        };
        bound(&mut block, &some, unseen, predictors);
        block.scale = 1.0 / block.limit;
        let expected = match block.source {
            BlockSource::Scores(_) => expected.min(whole_part(&block, answer, rest)),
            _ => expected,
        };
        blocks.push(block);
        tiers.push(Tier { series, first, count, expected });
        first += count;
    }
    let shape = Shape {
        inputs: features.nrows(),
        answer,
        predictors: predictors.clone(),
        base: base.to_vec(),
        blocks,
        correction: vec![0.0; first * outputs],
    };
    let seen = shape.see_blocks(&some, unseen);
    let spread = some.row_iter().map(|row| row.variance().sqrt()).collect();
    let columns = TableColumns { names: stems, of: groups, spread };
    Ground { shape, tiers, seen, labels, rest, compared: compared.clone(), columns }
}

/// The part that a correction of scores has if it takes them away or doubles them: it is not expected to
/// be larger. Scores that say next to nothing would otherwise have most of the norm, and their slopes
/// would be asked for in place of those of the columns.
fn whole_part(scores: &Block, answer: ScoreMeaning, rest: f64) -> f64 {
    let square = scores.width.first().map_or(0.0, |width| width.powi(2));
    match answer {
        ScoreMeaning::Number => square / rest.max(f64::MIN_POSITIVE),
        // Parts are measured by the curvature of the loss, which is at most a quarter.
        ScoreMeaning::TwoClasses => square / 4.0,
        ScoreMeaning::Classes(count) => square / count as f64,
    }
}

impl Ground {
    /// Divides the allowed norm of a record's features among the tiers, for noise of standard
    /// deviation `noise` in every released mean.
    ///
    /// A tier of k numbers whose correction is expected to have the mean square τ is left with the
    /// mean square error τ/(1 + w²a), a = τ·q/(k·noise)², where w is its share of the norm and q
    /// measures the size of its features and of the slope along them. The w² that sum to 1 and
    /// leave the least total error are found by water-filling.
    #[must_use]
    pub fn weighed(mut self, noise: f64) -> Self {
        let records = self.seen.features.ncols() as f64;
        // A rehearsal may have no noise.
        let noise = noise.max(LEAST_NOISE);
        let slope = match self.shape.answer {
            ScoreMeaning::Number => 1.0 / CLIP_SQUARE,
            _ => self.mean_curvature().powi(2),
        };
        let worth: Vec<(f64, f64)> = self
            .tiers
            .iter()
            .map(|tier| {
                let rows = self.seen.features.rows(tier.first, tier.count);
                let moment = rows * rows.transpose() / records;
                let (energy, square) = (moment.trace(), moment.norm_squared());
                if energy <= 0.0 || square <= 0.0 {
                    return (0.0, 0.0);
                }
                let numbers = energy * energy / square;
                let part = tier.expected;
                (part, part * slope * energy / (numbers * noise).powi(2))
            })
            .collect();
        let mut weights = filled(&worth);
        self.weigh(&weights);
        // Few records reach the bounds of all blocks at once. Longer ones are shortened, here and in
        // the finished model alike.
        let usual = quantile(self.seen.features.column_iter().map(|x| x.norm()), USUAL);
        if usual > 0.0 {
            weights = vec![1.0 / usual; weights.len()];
            self.weigh(&weights);
        }
        shorten(&mut self.seen.features, 1.0);
        self
    }

    fn weigh(&mut self, weights: &[f64]) {
        for ((block, tier), weight) in self.shape.blocks.iter_mut().zip(&self.tiers).zip(weights) {
            block.scale *= weight;
            let mut rows = self.seen.features.rows_mut(tier.first, tier.count);
            rows *= *weight;
        }
    }

    /// The public mean of p(1 − p).
    fn mean_curvature(&self) -> f64 {
        let base = &self.seen.base;
        let of = |scores: &[f64]| -> f64 {
            if let ScoreMeaning::Classes(_) = self.shape.answer {
                softmax(scores).iter().map(|p| p * (1.0 - p)).sum::<f64>() / scores.len() as f64
            } else {
                let p = probability(scores[0]);
                p * (1.0 - p)
            }
        };
        base.column_iter().map(|scores| of(scores.as_slice())).sum::<f64>() / base.ncols() as f64
    }
}

/// The share of public records whose features are not shortened.
const USUAL: f64 = 0.75;

/// Less noise than this changes no weight.
const LEAST_NOISE: f64 = 1e-6;

/// Square of the usual clip, relative to the mean square of the residuals.
const CLIP_SQUARE: f64 = 2.25;

/// The weights w that minimise Σ τ/(1 + w²a) for Σw² = 1, given pairs (τ, a): w² = (√(τa/λ) − 1)/a
/// where that is positive.
fn filled(worth: &[(f64, f64)]) -> Vec<f64> {
    let share = |root: f64| -> Vec<f64> {
        let one = |(part, a): &(f64, f64)| {
            if *a > 0.0 { (((part * a).sqrt() * root - 1.0) / a).max(0.0) } else { 0.0 }
        };
        worth.iter().map(one).collect()
    };
    let sum = |root: f64| share(root).iter().sum::<f64>();
    // The shares grow with the root.
    let (mut low, mut high) = (0.0, 1.0);
    while sum(high) < 1.0 && high < 1e30 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if sum(middle) < 1.0 { low = middle } else { high = middle }
    }
    share(high).into_iter().map(f64::sqrt).collect()
}

/// Centre, widths and bound of a block, from public records.
fn bound(block: &mut Block, features: &Matrix, unseen: &[Matrix], predictors: &[Predictor]) {
    let (count, records) = (block.len(), features.ncols());
    if matches!(block.source, BlockSource::Constant | BlockSource::Cells { .. }) {
        return;
    }
    let mut raw = Matrix::zeros(count, records);
    for (i, (example, mut numbers)) in features.column_iter().zip(raw.column_iter_mut()).enumerate()
    {
        let own: Vec<&[f64]> = unseen
            .iter()
            .map(|scores| {
                let outputs = scores.nrows();
                &scores.as_slice()[i * outputs..][..outputs]
            })
            .collect();
        block.raw(example.as_slice(), &own, predictors, numbers.as_mut_slice());
    }
    let mean = raw.column_mean();
    let mut deviation = Vector::zeros(count);
    for numbers in raw.column_iter() {
        deviation += (numbers - &mean).map(|x| x * x) / records as f64;
    }
    deviation.apply(|x| *x = x.sqrt());
    block.centre = mean.as_slice().to_vec();
    block.width = match block.source {
        BlockSource::Columns(None) => {
            let least = 1e-9 * deviation.amax();
            deviation.iter().map(|d| if *d > least { *d } else { 0.0 }).collect()
        }
        // If a block has several numbers, their proportions are kept.
        _ => vec![deviation.norm(); count],
    };
    if let BlockSource::Scores(_) = block.source {
        block.limit = WIDEST_SCORE;
        return;
    }
    block.limit = f64::INFINITY;
    let finished = raw.column_iter().map(|numbers| {
        let mut numbers = numbers.as_slice().to_vec();
        block.finish(&mut numbers);
        numbers.iter().map(|x| x * x).sum::<f64>().sqrt()
    });
    let limit = quantile(finished, WITHIN);
    block.limit = if limit > 0.0 { limit } else { 1.0 };
}

/// The first principal directions of the standardised columns, in groups of falling energy.
///
/// A few directions have most of the energy. In one block with them, the others would be too small
/// for their slopes to stand out from the noise. So each group is bounded, weighted and shrunk by
/// itself.
fn principal_groups(features: &Matrix, count: usize) -> Vec<Matrix> {
    let records = features.ncols() as f64;
    let mean = features.column_mean();
    let mut standard = features.clone();
    for mut record in standard.column_iter_mut() {
        record -= &mean;
    }
    let mut widths = Vector::from_iterator(
        features.nrows(),
        standard.row_iter().map(|column| (column.norm_squared() / records).sqrt()),
    );
    let least = 1e-9 * widths.amax();
    widths.apply(|width| *width = if *width > least { 1.0 / *width } else { 0.0 });
    for mut record in standard.column_iter_mut() {
        record.component_mul_assign(&widths);
    }
    // A few outlying records must not decide a direction.
    let radius = quantile(standard.column_iter().map(|record| record.norm()), WITHIN);
    shorten(&mut standard, radius);
    let mut rows = Matrix::zeros(count, features.nrows());
    if let Some(principal) = Principal::of(&standard, count) {
        let largest = principal.energies.first().copied().unwrap_or(0.0);
        let each = principal.directions.column_iter().zip(&principal.energies);
        for (k, (direction, energy)) in each.enumerate() {
            // Directions without spread in public records are left out: they would be rounding
            // noise.
            if *energy > LEAST_ENERGY * largest {
                rows.set_row(k, &direction.component_mul(&widths).transpose());
            }
        }
    }
    let ends = GROUPS.iter().copied().filter(|end| *end < count).chain([count]);
    let mut first = 0;
    ends.map(|end| {
        let group = rows.rows(first, end - first).into_owned();
        first = end;
        group
    })
    .collect()
}

/// Cells in which the base's residuals differ between regions: one tree with the residual in each
/// region as a separate output.
fn cells(features: &Matrix, rests: &Matrix, regions: &[u8]) -> Tree {
    let records = features.ncols();
    let kinds = rests.nrows();
    let outputs = kinds * (1 + usize::from(regions.iter().copied().max().unwrap_or(0)));
    let mut gradients = vec![0.0; records * outputs];
    for (i, region) in regions.iter().enumerate() {
        for kind in 0..kinds {
            gradients[i * outputs + usize::from(*region) * kinds + kind] = -rests[(kind, i)];
        }
    }
    let growth = Growth {
        most_leaves: 1 << DEPTH,
        most_depth: DEPTH,
        least_examples: (records / 50).max(20),
        ridge: 0.0,
    };
    let pull = Pull { gradients: &gradients, curvatures: &vec![1.0; records], outputs };
    let all = (0..records as u32).collect();
    let tree = grow(&Binned::new(features), all, pull, growth, &mut Vec::new()).tree;
    // Only its partition of the records matters.
    Tree { values: vec![0.0; tree.nodes()], outputs: 1, ..tree }
}

impl Ground {
    /// The mean of ω·xxᵀ over the public records under a correction.
    pub fn moment(&self, correction: &[f64]) -> Matrix {
        let records = self.seen.features.ncols();
        let share = 1.0 / records as f64;
        let weights: Vec<f64> = match &self.labels {
            Labels::Second(_) => {
                let shape = Shape { correction: correction.to_vec(), ..self.shape.clone() };
                let scores = shape.corrected(&self.seen);
                let mut rest = [0.0];
                (0..records)
                    .map(|i| {
                        self.labels.rest(i, scores.column(i).as_slice(), &mut rest);
                        let p = probability(scores[(0, i)]);
                        share * p * (1.0 - p)
                    })
                    .collect()
            }
            _ => vec![share; records],
        };
        weighted_outer_sum(&self.seen.features, &weights)
    }
}
