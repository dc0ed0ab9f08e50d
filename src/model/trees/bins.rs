//! Features as bins, on which trees are grown.
//!
//! A feature with many values gets at most 255 bins of about equal counts, with edges halfway
//! between neighbouring values. Features with two values, most of which come from categories, share
//! a column as long as no example has the rarer value of two of them. One pass over the examples
//! then serves all of them.

use crate::numeric::Matrix;

pub(super) const MOST_BINS: usize = 255;

/// The columns that trees are grown on.
#[derive(Debug)]
pub struct Binned {
    pub(super) columns: Vec<BinnedColumn>,
    pub(super) examples: usize,
    /// The bins again, example by example.
    pub(super) rows: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct BinnedColumn {
    /// The bin of every example.
    pub of: Vec<u8>,
    pub kind: BinKind,
}

#[derive(Debug)]
pub(super) enum BinKind {
    /// Bin b holds values up to edge b; one more bin holds all values beyond the last edge.
    Ordered { feature: u32, edges: Vec<f64> },
    /// Bin b + 1 holds the examples that have the rarer value of flag b; bin 0 the others.
    Flags(Vec<Flag>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Flag {
    pub feature: u32,
    pub threshold: f64,
    /// Whether the rarer value is the larger one.
    pub high: bool,
}

impl BinnedColumn {
    pub fn is_ordered(&self) -> bool {
        matches!(self.kind, BinKind::Ordered { .. })
    }

    /// The bins at which a node may be split.
    pub fn splits(&self) -> std::ops::Range<usize> {
        if self.is_ordered() { 0..self.bins() - 1 } else { 1..self.bins() }
    }

    pub fn bins(&self) -> usize {
        match &self.kind {
            BinKind::Ordered { edges, .. } => edges.len() + 1,
            BinKind::Flags(flags) => flags.len() + 1,
        }
    }
}

impl Binned {
    /// The bins of `features`, which must be finite; constant ones are left out.
    pub fn new(features: &Matrix) -> Self {
        Self::with_bins(features, MOST_BINS)
    }

    fn with_bins(features: &Matrix, most: usize) -> Self {
        let examples = features.ncols();
        let (mut columns, mut flags) = (Vec::new(), Vec::new());
        for feature in 0..features.nrows() {
            let values: Vec<f64> = features.row(feature).iter().copied().collect();
            let edges = edges(&values, most);
            match edges.len() {
                0 => {}
                1 if has_two_values(&values) => {
                    flags.push(rare(feature as u32, edges[0], &values));
                }
                _ => {
                    let bin = |x: &f64| edges.partition_point(|edge| edge < x) as u8;
                    let of = values.iter().map(bin).collect();
                    columns.push(BinnedColumn {
                        of,
                        kind: BinKind::Ordered { feature: feature as u32, edges },
                    });
                }
            }
        }
        columns.extend(bundles(flags, examples));
        Self::of_columns(columns, examples)
    }

    fn of_columns(columns: Vec<BinnedColumn>, examples: usize) -> Self {
        let row =
            |example: usize| columns.iter().map(move |column: &BinnedColumn| column.of[example]);
        let rows = (0..examples).flat_map(row).collect();
        Self { columns, examples, rows }
    }
}

/// With more columns than this, each tree of a forest sees only a part of them.
const MOST_COLUMNS: usize = 256;
/// About as many columns are in a part.
const COLUMNS_OF_A_PART: usize = 64;

/// Trees on wide records, such as pictures, see fewer columns, in fewer bins: as many examples are in
/// one of them on average, and there are at least so many.
const COLUMNS_OF_A_WIDE_PART: usize = 32;
const EXAMPLES_OF_A_WIDE_BIN: usize = 64;
const FEWEST_WIDE_BINS: usize = 16;

/// The columns of a forest. Where there are many, as in pictures, the trees take turns with parts of
/// them: a forest of as many trees takes a fraction of the time and is about as good, because columns of
/// which there are many resemble each other. Neighbouring columns are in different parts.
#[derive(Debug)]
pub struct BinnedParts(Vec<Binned>);

impl BinnedParts {
    pub fn new(features: &Matrix, is_wide: bool) -> Self {
        let bins = features.ncols() / EXAMPLES_OF_A_WIDE_BIN;
        let bins = if is_wide { bins.clamp(FEWEST_WIDE_BINS, MOST_BINS) } else { MOST_BINS };
        let Binned { columns, examples, rows } = Binned::with_bins(features, bins);
        if columns.len() <= MOST_COLUMNS {
            return Self(vec![Binned { columns, examples, rows }]);
        }
        let of_a_part = if is_wide { COLUMNS_OF_A_WIDE_PART } else { COLUMNS_OF_A_PART };
        let count = columns.len().div_ceil(of_a_part);
        let mut parts: Vec<Vec<BinnedColumn>> = (0..count).map(|_| Vec::new()).collect();
        for (place, column) in columns.into_iter().enumerate() {
            parts[place % count].push(column);
        }
        Self(parts.into_iter().map(|columns| Binned::of_columns(columns, examples)).collect())
    }

    /// What a tree is grown on; numbers that follow each other get all parts in turn.
    pub(super) fn of_tree(&self, tree: usize) -> &Binned {
        &self.0[tree % self.0.len()]
    }

    pub fn examples(&self) -> usize {
        self.0[0].examples
    }
}

/// Halfway between neighbouring distinct values, thinned out to one less than `most`.
fn edges(values: &[f64], most: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let halfway = |a: f64, b: f64| {
        let middle = a + 0.5 * (b - a);
        // For adjacent doubles rounding may give the upper one, which must not be used.
        if middle < b { middle } else { a }
    };
    let mut distinct = sorted.clone();
    distinct.dedup();
    if distinct.len() <= most {
        return distinct.windows(2).map(|pair| halfway(pair[0], pair[1])).collect();
    }
    let mut edges: Vec<f64> = Vec::with_capacity(most);
    for bin in 1..most {
        let at = bin * sorted.len() / most;
        let here = sorted[at];
        // The edge is below `here` and above the next smaller value.
        let below = sorted[..at].partition_point(|x| *x < here);
        if below > 0 {
            edges.push(halfway(sorted[below - 1], here));
        }
    }
    edges.dedup();
    edges
}

fn has_two_values(values: &[f64]) -> bool {
    let first = values[0];
    let other = values.iter().find(|x| **x != first);
    other.is_some_and(|other| values.iter().all(|x| *x == first || x == other))
}

/// The flag, and the examples with its rarer value.
fn rare(feature: u32, threshold: f64, values: &[f64]) -> (Flag, Vec<u32>) {
    let above = values.iter().filter(|x| **x > threshold).count();
    let high = 2 * above <= values.len();
    let has = (0_u32..).zip(values).filter(|(_, x)| (**x > threshold) == high);
    (Flag { feature, threshold, high }, has.map(|(example, _)| example).collect())
}

/// Each flag joins the first column with none of its examples.
fn bundles(flags: Vec<(Flag, Vec<u32>)>, examples: usize) -> Vec<BinnedColumn> {
    /// The number of columns that are tried for a flag.
    const TRIED: usize = 16;
    let mut columns: Vec<(Vec<Flag>, Vec<u8>)> = Vec::new();
    for (flag, has) in flags {
        let open = columns.iter_mut().rev().take(TRIED).find(|(flags, of)| {
            flags.len() < MOST_BINS - 1 && has.iter().all(|example| of[*example as usize] == 0)
        });
        let (flags, of) = if let Some(column) = open {
            column
        } else {
            columns.push((Vec::new(), vec![0; examples]));
            let last = columns.len() - 1;
            &mut columns[last]
        };
        flags.push(flag);
        for example in has {
            of[example as usize] = flags.len() as u8;
        }
    }
    let column = |(flags, of)| BinnedColumn { of, kind: BinKind::Flags(flags) };
    columns.into_iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lie_between_the_values_that_they_part() {
        let all = |values: &[f64]| edges(values, MOST_BINS);
        assert_eq!(all(&[3.0, 1.0, 2.0, 1.0]), [1.5, 2.5]);
        assert!(all(&[4.0; 9]).is_empty());
        let next = f64::from_bits(1.0_f64.to_bits() + 1);
        assert_eq!(all(&[1.0, next]), [1.0]);
        let many: Vec<f64> = (0..10_000).map(|k| f64::from(k * k)).collect();
        assert_eq!(edges(&many, 4), [2_499, 4_999, 7_499].map(|k| f64::from(k * k + k) + 0.5));
        let edges = all(&many);
        assert!(edges.len() == 254 && edges.windows(2).all(|pair| pair[0] < pair[1]));
        let mut counts = [0; 255];
        for x in &many {
            counts[edges.partition_point(|edge| edge < x)] += 1;
        }
        assert!(counts.iter().all(|count| (35..=45).contains(count)), "{counts:?}");
    }

    #[test]
    fn many_columns_are_shared_out_and_each_is_in_one_part() {
        let features =
            |inputs: usize| Matrix::from_fn(inputs, 40, |i, j| ((7 * i + 3 * j) % 41) as f64);
        assert_eq!(BinnedParts::new(&features(MOST_COLUMNS), false).0.len(), 1);
        let inputs = 3 * COLUMNS_OF_A_PART * 2;
        let wide = BinnedParts::new(&features(inputs), true);
        assert!(wide.0.len() == 12 && wide.0.iter().all(|part| part.columns.len() == 32));
        let most = wide.0.iter().flat_map(|part| &part.columns).map(BinnedColumn::bins).max();
        assert_eq!(most, Some(FEWEST_WIDE_BINS));
        let parts = BinnedParts::new(&features(inputs), false);
        assert_eq!(parts.0.len(), 6);
        let mut seen = std::collections::BTreeSet::new();
        for part in &parts.0 {
            assert_eq!(
                (part.columns.len(), part.rows.len()),
                (COLUMNS_OF_A_PART, COLUMNS_OF_A_PART * 40)
            );
            for column in &part.columns {
                let BinKind::Ordered { feature, .. } = &column.kind else { panic!("no flags") };
                assert!(seen.insert(*feature));
            }
        }
        assert_eq!(seen.len(), inputs);
        // Every output of a forest gets every part in turn.
        let of = |tree: usize| std::ptr::from_ref(parts.of_tree(tree));
        assert!((0..6).all(|tree| of(tree) == of(tree + 6) && of(tree) != of(tree + 1)));
    }

    #[test]
    fn indicators_of_one_category_share_a_column_and_others_do_not() {
        // Three indicators of one category, one flag that overlaps them, one number.
        let features = Matrix::from_fn(5, 60, |feature, example| match feature {
            0..=2 => f64::from(example % 3 == feature),
            3 => f64::from(example % 4 == 0),
            _ => example as f64,
        });
        let binned = Binned::new(&features);
        let bins: Vec<usize> = binned.columns.iter().map(BinnedColumn::bins).collect();
        assert_eq!(bins, [60, 4, 2]);
        let BinKind::Flags(flags) = &binned.columns[1].kind else { panic!() };
        for example in 0..60 {
            let bin = binned.columns[1].of[example] as usize;
            assert_eq!(flags[bin - 1].feature as usize, example % 3);
        }
    }
}
