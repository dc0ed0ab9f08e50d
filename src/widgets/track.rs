//! A growing curve that remembers the extremes of its parts, so that drawing a million points takes
//! a few thousand numbers.

use std::ops::Deref;

use crate::smoothing::{Average, PlotPoint};

/// Points per block. Small enough that the ragged ends of a column cost little,
/// large enough that the blocks of a million points fit into a cache.
const BLOCK: usize = 64;

/// The summary of a full block of points.
#[derive(Debug, Clone, Copy)]
struct BlockSummary {
    /// Over the finite values.
    min: f64,
    max: f64,
    /// Over the finite values above zero, for a log axis.
    min_positive: f64,
}

impl BlockSummary {
    fn of(points: &[PlotPoint]) -> Self {
        let (min, max) = extremes(points, f64::NEG_INFINITY);
        let (min_positive, _) = extremes(points, 0.0);
        Self { min, max, min_positive }
    }
}

/// Points with x ascending, growing at its end.
#[derive(Debug, Clone, Default)]
pub struct Track {
    points: Vec<PlotPoint>,
    blocks: Vec<BlockSummary>,
}

impl Track {
    pub fn push(&mut self, point: PlotPoint) {
        self.points.push(point);
        if self.points.len().is_multiple_of(BLOCK) {
            let start = self.points.len() - BLOCK;
            self.blocks.push(BlockSummary::of(&self.points[start..]));
        }
    }

    pub fn view(&self) -> TrackView<'_> {
        TrackView { points: &self.points, blocks: &self.blocks }
    }
}

impl FromIterator<PlotPoint> for Track {
    fn from_iter<I: IntoIterator<Item = PlotPoint>>(points: I) -> Self {
        let points: Vec<PlotPoint> = points.into_iter().collect();
        let blocks = points.chunks_exact(BLOCK).map(BlockSummary::of).collect();
        Self { points, blocks }
    }
}

/// A track, or the beginning of one, for drawing.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackView<'a> {
    points: &'a [PlotPoint],
    /// The leading full blocks; the points after them are read one by one.
    blocks: &'a [BlockSummary],
}

impl<'a> TrackView<'a> {
    pub fn as_slice(self) -> &'a [PlotPoint] {
        self.points
    }

    /// The points up to and including `x`.
    pub fn until(self, x: f64) -> Self {
        let count = self.points.partition_point(|point| point.0 <= x);
        Self {
            points: &self.points[..count],
            blocks: &self.blocks[..self.blocks.len().min(count / BLOCK)],
        }
    }

    /// The smallest and the largest value above `floor` among the points `from..to`; infinite if
    /// there is none. `floor` is −∞ or 0.
    pub(super) fn extremes(self, from: usize, to: usize, floor: f64) -> (f64, f64) {
        let first = from.div_ceil(BLOCK);
        let last = (to / BLOCK).min(self.blocks.len());
        if first >= last {
            return extremes(&self.points[from..to], floor);
        }
        let (left, right) = (
            extremes(&self.points[from..first * BLOCK], floor),
            extremes(&self.points[last * BLOCK..to], floor),
        );
        let (mut min, mut max) = (left.0.min(right.0), left.1.max(right.1));
        for block in &self.blocks[first..last] {
            let low = if floor == 0.0 { block.min_positive } else { block.min };
            min = if low < min { low } else { min };
            max = if block.max > max { block.max } else { max };
        }
        (min, max)
    }
}

impl<'a, P: AsRef<[PlotPoint]> + ?Sized> From<&'a P> for TrackView<'a> {
    fn from(points: &'a P) -> Self {
        Self { points: points.as_ref(), blocks: &[] }
    }
}

impl<'a> From<&'a Track> for TrackView<'a> {
    fn from(track: &'a Track) -> Self {
        track.view()
    }
}

impl Deref for TrackView<'_> {
    type Target = [PlotPoint];

    fn deref(&self) -> &[PlotPoint] {
        self.points
    }
}

/// The smallest and the largest measured y.
///
/// Four lanes without branches, because in one chain each comparison would wait for the one before.
/// Without blocks this loop reads every visible point in every frame.
fn extremes(points: &[PlotPoint], floor: f64) -> (f64, f64) {
    let (mut min, mut max) = ([f64::INFINITY; 4], [floor; 4]);
    let mut see = |lane: usize, y: f64| {
        // A comparison with NaN is false, so a gap changes nothing.
        let low = if y > floor { y } else { f64::INFINITY };
        let high = if y < f64::INFINITY { y } else { floor };
        min[lane] = if low < min[lane] { low } else { min[lane] };
        max[lane] = if high > max[lane] { high } else { max[lane] };
    };
    let (chunks, rest) = points.as_chunks::<4>();
    for [a, b, c, d] in chunks {
        see(0, a.1);
        see(1, b.1);
        see(2, c.1);
        see(3, d.1);
    }
    for point in rest {
        see(0, point.1);
    }
    (min.into_iter().fold(f64::INFINITY, f64::min), max.into_iter().fold(floor, f64::max))
}

/// A track and its smoothed form. Both grow point by point, so that a smoothed frame
/// costs no more than a raw one.
#[derive(Debug, Clone, Default)]
pub struct SmoothedTrack {
    raw: Track,
    /// `None` without smoothing.
    average: Option<(Average, Track)>,
}

impl SmoothedTrack {
    pub fn push(&mut self, point: PlotPoint) {
        self.raw.push(point);
        if let Some((average, track)) = &mut self.average {
            track.push(average.next(point));
        }
    }

    /// Each point keeps `weight` of the past; 0 turns smoothing off. With `log`
    /// the logarithms are averaged.
    pub fn set(&mut self, weight: f64, log: bool) {
        self.average = Average::new(weight, log).map(|mut average| {
            let track = self.raw.points.iter().map(|point| average.next(*point)).collect();
            (average, track)
        });
    }

    pub fn raw(&self) -> &Track {
        &self.raw
    }

    pub fn shown(&self) -> TrackView<'_> {
        self.average.as_ref().map_or(&self.raw, |(_, track)| track).view()
    }
}

impl FromIterator<PlotPoint> for SmoothedTrack {
    fn from_iter<I: IntoIterator<Item = PlotPoint>>(points: I) -> Self {
        Self { raw: points.into_iter().collect(), average: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::smoothing::smooth;

    proptest! {
        #[test]
        fn blocks_know_the_extremes_of_any_part_of_a_track(
            ys in prop::collection::vec(prop_oneof![
                8 => -1e3..1e3f64, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => any::<f64>(),
            ], 1..400),
            ends in (0.0..1.0f64, 0.0..1.0f64),
            positive: bool,
        ) {
            let points: Vec<PlotPoint> = ys.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect();
            let mut track = Track::default();
            for point in &points {
                track.push(*point);
            }
            let place = |share: f64| (share * ys.len() as f64) as usize;
            let (from, to) = (place(ends.0.min(ends.1)), place(ends.0.max(ends.1)));
            let floor = if positive { 0.0 } else { f64::NEG_INFINITY };
            let plain = extremes(&points[from..to], floor);
            prop_assert_eq!(track.view().extremes(from, to, floor), plain);
            let whole: Track = points.into_iter().collect();
            prop_assert_eq!(whole.view().extremes(from, to, floor), plain);
            prop_assert_eq!(whole.view().until(to as f64).extremes(from, to, floor), plain);
        }

        #[test]
        fn smoothing_while_points_arrive_is_smoothing_all_of_them(
            ys in prop::collection::vec(-5.0..50.0f64, 1..200), weight in 0.0..1.0f64, log: bool,
        ) {
            let points: Vec<PlotPoint> = ys.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect();
            let mut growing = SmoothedTrack::default();
            growing.set(weight, log);
            for point in &points {
                growing.push(*point);
            }
            prop_assert_eq!(&growing.shown()[..], &smooth(&points, weight, log)[..]);
        }
    }

    #[test]
    fn a_view_until_a_step_ends_there() {
        let track: Track = (0..200).map(|x| (f64::from(x), f64::from(x))).collect();
        let early = track.view().until(99.5);
        assert_eq!(early.len(), 100);
        assert_eq!(early.extremes(0, 100, f64::NEG_INFINITY), (0.0, 99.0));
    }
}
