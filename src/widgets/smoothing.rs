//! Moving averages of curves.

/// (x, y)
pub type PlotPoint = (f64, f64);

/// An exponential moving average: each value keeps `weight` (0 to 1) of the past.
///
/// With `log` the logarithms are averaged, as a log axis needs. The average is divided by the
/// weight it has collected, so it neither starts at zero nor sticks to the first point. Gaps, and
/// with `log` values that are not positive, stay unchanged.
#[derive(Debug, Clone, Copy)]
pub struct Average {
    weight: f64,
    log: bool,
    sum: f64,
    collected: f64,
}

impl Average {
    /// `None` if the weight means no smoothing.
    pub fn new(weight: f64, log: bool) -> Option<Self> {
        let start = Self { weight: weight.min(0.9999), log, sum: 0.0, collected: 0.0 };
        (weight > 0.0).then_some(start)
    }

    /// The next point with its y averaged.
    pub fn next(&mut self, (x, y): PlotPoint) -> PlotPoint {
        if !y.is_finite() || (self.log && y <= 0.0) {
            return (x, y);
        }
        let value = if self.log { y.ln() } else { y };
        self.sum = self.weight * self.sum + (1.0 - self.weight) * value;
        self.collected = self.weight * self.collected + (1.0 - self.weight);
        let average = self.sum / self.collected;
        (x, if self.log { average.exp() } else { average })
    }
}

/// All of a curve averaged at once; see [`Average`].
pub fn smooth(points: &[PlotPoint], weight: f64, log: bool) -> Vec<PlotPoint> {
    match Average::new(weight, log) {
        Some(mut average) => points.iter().map(|point| average.next(*point)).collect(),
        None => points.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(ys: &[f64]) -> Vec<PlotPoint> {
        ys.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect()
    }

    #[test]
    fn smoothing_starts_at_the_first_point_and_skips_gaps() {
        let smoothed = smooth(&steps(&[2.0, f64::NAN, 4.0]), 0.5, false);
        assert_eq!(smoothed[0], (0.0, 2.0));
        assert!(smoothed[1].1.is_nan());
        // (0.5 · 0.5 · 2 + 0.5 · 4) / 0.75
        assert!((smoothed[2].1 - 10.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn smoothing_in_log_space_is_smoothing_of_the_logarithms() {
        let points = steps(&[1e-6, 1.0, -3.0, 1e-2]);
        let logs: Vec<PlotPoint> = [0, 1, 3].map(|i| (points[i].0, points[i].1.ln())).to_vec();
        let expected = smooth(&logs, 0.6, false);
        let found = smooth(&points, 0.6, true);
        assert_eq!(found[2], (2.0, -3.0));
        for (i, j) in [(0, 0), (1, 1), (3, 2)] {
            assert!((found[i].1.ln() - expected[j].1).abs() < 1e-12);
        }
    }

    #[test]
    fn no_weight_changes_nothing() {
        let points = steps(&[0.1, 0.7, -0.3]);
        assert_eq!(smooth(&points, 0.0, true), points);
        assert_eq!(smooth(&points, f64::NAN, false), points);
    }

    proptest! {
        #[test]
        fn a_smoothed_curve_stays_within_what_it_has_seen(
            ys in prop::collection::vec(1e-3..1e3f64, 1..50), weight in -0.5..1.5f64, log: bool,
        ) {
            let smoothed = smooth(&steps(&ys), weight, log);
            for (i, point) in smoothed.iter().enumerate() {
                let min = ys[..=i].iter().copied().fold(f64::INFINITY, f64::min);
                let max = ys[..=i].iter().copied().fold(0.0, f64::max);
                prop_assert!(point.1 >= min * (1.0 - 1e-9) && point.1 <= max * (1.0 + 1e-9));
            }
        }
    }
}
