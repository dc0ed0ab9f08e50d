//! Points of a curve: the nearest one, and binning into columns.
//!
//! A point is (x, y) with x ascending. A y that is not finite is a *gap*: no curve goes through it
//! and it widens no range.

use crate::smoothing::PlotPoint;
use crate::track::TrackView;

/// The measured point whose x is closest to `x` (the earlier of two equally close ones); gaps are
/// skipped.
pub fn nearest(points: &[PlotPoint], x: f64) -> Option<PlotPoint> {
    if x.is_nan() {
        return None;
    }
    let measured = |point: &&PlotPoint| point.0.is_finite() && point.1.is_finite();
    let (before, after) = points.split_at(points.partition_point(|point| point.0 < x));
    let left = before.iter().rev().find(measured);
    let right = after.iter().find(measured);
    match (left, right) {
        (Some(left), Some(right)) if right.0 - x < x - left.0 => Some(*right),
        (Some(left), _) => Some(*left),
        (None, right) => right.copied(),
    }
}

/// The first and the last x of a curve.
pub(super) fn extent(points: &[PlotPoint]) -> Option<(f64, f64)> {
    let first = points.iter().find(|point| point.0.is_finite())?;
    let last = points.iter().rfind(|point| point.0.is_finite())?;
    Some((first.0.min(last.0), first.0.max(last.0)))
}

/// The summary of a curve within one column: enough to draw it as if every point had been drawn.
/// Dropping points instead would lose spikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bin {
    pub column: usize,
    pub first: f64,
    pub last: f64,
    pub min: f64,
    pub max: f64,
    /// Whether there is no gap between this bin and the one before.
    pub joined: bool,
}

/// The part of a curve within `window`, in `columns` columns of equal width.
///
/// With `positive` a value that is not positive is also a gap (for a log axis). Where the curve
/// crosses an end of the window, it starts or stops at the crossing. A gap narrower than a column
/// does not show.
pub(super) fn bins<'a>(
    points: impl Into<TrackView<'a>>,
    window: (f64, f64),
    columns: usize,
    positive: bool,
) -> Vec<Bin> {
    let points: TrackView<'a> = points.into();
    let mut bins: Vec<Bin> = Vec::with_capacity(columns.min(points.len()) + 2);
    if columns == 0 {
        return bins;
    }
    let floor = if positive { 0.0 } else { f64::NEG_INFINITY };
    let start = points.partition_point(|point| point.0 < window.0);
    let end = start + points[start..].partition_point(|point| point.0 <= window.1);
    let crossing = |after: usize, x: f64| {
        let (left, right) = (points.get(after.checked_sub(1)?)?, points.get(after)?);
        between(*left, *right, x, floor)
    };
    let mut joined = false;
    if let Some(y) = crossing(start, window.0) {
        bins.push(Bin { column: 0, first: y, last: y, min: y, max: y, joined });
        joined = true;
    }
    let (mut from, mut guess) = (start, (end - start) / columns);
    for column in 0..columns {
        let to = if column + 1 == columns {
            end
        } else {
            let share = (column as f64 + 0.5) / (columns - 1) as f64;
            let border = window.0 * (1.0 - share) + window.1 * share;
            from + reach(&points[from..end], border, guess)
        };
        let (start, within) = (from, &points[from..to]);
        (from, guess) = (to, within.len());
        let measured = |y: f64| y > floor && y < f64::INFINITY;
        let (Some(first), Some(last)) = (
            within.iter().position(|point| measured(point.1)),
            within.iter().rposition(|point| measured(point.1)),
        ) else {
            joined &= within.is_empty();
            continue;
        };
        let (min, max) = points.extremes(start, to, floor);
        bins.push(Bin {
            column,
            first: within[first].1,
            last: within[last].1,
            min,
            max,
            joined: joined && first == 0,
        });
        joined = last + 1 == within.len();
    }
    if let Some(y) = crossing(end, window.1) {
        bins.push(Bin { column: columns - 1, first: y, last: y, min: y, max: y, joined });
    }
    bins
}

/// The y at `x` of the line between two points. It is straight on the axis where it is
/// drawn, so in logarithms if only positive values count.
fn between(left: PlotPoint, right: PlotPoint, x: f64, floor: f64) -> Option<f64> {
    let measured = |y: f64| y > floor && y < f64::INFINITY;
    if !(measured(left.1) && measured(right.1) && left.0 <= x && x <= right.0) {
        return None;
    }
    let share = (x / 2.0 - left.0 / 2.0) / (right.0 / 2.0 - left.0 / 2.0);
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mix = |a: f64, b: f64| a * (1.0 - share) + b * share;
    Some(if floor == 0.0 { mix(left.1.ln(), right.1.ln()).exp() } else { mix(left.1, right.1) })
        .filter(|&y| measured(y))
}

/// How many leading points have an x up to `border`. The search begins at `guess`, near
/// the points that are read next anyway.
fn reach(points: &[PlotPoint], border: f64, guess: usize) -> usize {
    let mut limit = guess.max(1);
    while limit < points.len() && points[limit].0 <= border {
        limit = limit.saturating_mul(2);
    }
    points[..limit.min(points.len())].partition_point(|point| point.0 <= border)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(ys: &[f64]) -> Vec<PlotPoint> {
        ys.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect()
    }

    #[test]
    fn the_nearest_point_is_a_measured_one() {
        let points = steps(&[1.0, f64::NAN, f64::INFINITY, 4.0]);
        assert_eq!(nearest(&points, 1.2), Some((0.0, 1.0)));
        assert_eq!(nearest(&points, 1.6), Some((3.0, 4.0)));
        assert_eq!(nearest(&points, 1.5), Some((0.0, 1.0)));
        assert_eq!(nearest(&points, -9.0), Some((0.0, 1.0)));
        assert_eq!(nearest(&points, f64::INFINITY), Some((3.0, 4.0)));
        assert_eq!(nearest(&points, f64::NAN), None);
        assert_eq!(nearest(&steps(&[f64::NAN]), 0.0), None);
        assert_eq!(nearest(&[], 0.0), None);
    }

    #[test]
    fn a_single_spike_among_a_million_points_survives() {
        let mut points: Vec<PlotPoint> = (0..1_000_000).map(|i| (f64::from(i), 1.0)).collect();
        points[777_777].1 = 50.0;
        points[123_456].1 = -50.0;
        let bins = bins(&points, (0.0, 999_999.0), 200, false);
        assert_eq!(bins.len(), 200);
        assert_eq!(bins.iter().filter(|bin| bin.max == 50.0).count(), 1);
        assert_eq!(bins.iter().filter(|bin| bin.min == -50.0).count(), 1);
        assert!(bins[1..].iter().all(|bin| bin.joined));
    }

    #[test]
    fn a_curve_is_not_joined_across_a_gap() {
        let points = steps(&[1.0, 2.0, f64::NAN, 3.0, f64::INFINITY, f64::NEG_INFINITY, 4.0]);
        let bins = bins(&points, (0.0, 6.0), 7, false);
        let joins: Vec<(usize, bool)> = bins.iter().map(|bin| (bin.column, bin.joined)).collect();
        assert_eq!(joins, [(0, false), (1, true), (3, false), (6, false)]);
        assert!(bins.iter().all(|bin| bin.min.is_finite() && bin.max.is_finite()));
    }

    #[test]
    fn only_the_window_counts_and_its_ends_are_interpolated() {
        let points = steps(&[0.0, 10.0, 20.0, 1000.0]);
        let found = bins(&points, (0.5, 1.5), 3, false);
        let values: Vec<f64> = found.iter().map(|bin| bin.last).collect();
        assert_eq!(values, [5.0, 10.0, 15.0]);
        // Between two points the line still goes through the window.
        let found = bins(&points, (1.2, 1.4), 10, false);
        assert_eq!(found.len(), 2);
        assert!((found[0].last - 12.0).abs() < 1e-9 && found[1].joined);
        // After the last point there is nothing.
        assert!(bins(&points, (3.5, 9.0), 10, false).is_empty());
    }

    #[test]
    fn a_log_axis_treats_non_positive_values_as_gaps() {
        let found = bins(&steps(&[1.0, 0.0, -1.0, 10.0, 100.0]), (0.0, 4.0), 5, true);
        let joins: Vec<(usize, bool)> = found.iter().map(|bin| (bin.column, bin.joined)).collect();
        assert_eq!(joins, [(0, false), (3, false), (4, true)]);
    }

    proptest! {
        #[test]
        fn the_bins_hold_exactly_the_extremes_of_what_is_visible(
            ys in prop::collection::vec(prop_oneof![
                8 => -1e3..1e3f64, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => any::<f64>(),
            ], 1..200),
            columns in 1usize..50,
            positive: bool,
        ) {
            let points = steps(&ys);
            let bins = bins(&points, (0.0, ys.len() as f64 - 1.0), columns, positive);
            let counted = ys.iter().copied().filter(|y| y.is_finite() && (!positive || *y > 0.0));
            let min = counted.clone().fold(f64::INFINITY, f64::min);
            let max = counted.fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(bins.iter().map(|bin| bin.min).fold(f64::INFINITY, f64::min), min);
            prop_assert_eq!(bins.iter().map(|bin| bin.max).fold(f64::NEG_INFINITY, f64::max), max);
            prop_assert!(bins.windows(2).all(|pair| pair[0].column < pair[1].column));
        }

        #[test]
        fn a_good_or_bad_guess_finds_the_same_end_of_a_column(
            count in 0usize..300, border in -5.0..310.0f64, guess in 0usize..400,
        ) {
            let points: Vec<PlotPoint> = (0..count).map(|i| (i as f64, 0.0)).collect();
            let expected = points.partition_point(|point| point.0 <= border);
            prop_assert_eq!(reach(&points, border, guess), expected);
        }

        #[test]
        fn the_nearest_point_has_the_smallest_distance(
            mut xs in prop::collection::vec(-1e3..1e3f64, 1..40), x in -1.2e3..1.2e3f64,
        ) {
            xs.sort_by(f64::total_cmp);
            let points: Vec<PlotPoint> = xs.iter().map(|&x| (x, 1.0)).collect();
            let best = xs.iter().map(|other| (other - x).abs()).fold(f64::INFINITY, f64::min);
            let found = nearest(&points, x).unwrap();
            prop_assert_eq!((found.0 - x).abs(), best);
        }

        #[test]
        fn points_out_of_order_are_drawn_somehow_but_never_panic(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..50),
            a in any::<f64>(), b in any::<f64>(), columns in 0usize..20, positive: bool,
        ) {
            for bin in bins(&points, (a, b), columns, positive) {
                prop_assert!(bin.column < columns.max(1));
                prop_assert!(bin.min <= bin.max && bin.min.is_finite() && bin.max.is_finite());
            }
            let _ = (nearest(&points, a), extent(&points));
        }
    }
}
