//! The range of an axis and the positions of its labels.

use super::number::{decimal, decimal_like, magnitude};

/// Values whose spread is below this share of their size count as equal: labels that distinguish
/// them would be longer than the chart.
const FLAT: f64 = 1e-9;
/// Room left free above and below the values, as a share of their spread.
const MARGIN: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Log,
}

/// A range with `lo < hi`, both finite, in decimal logarithms if the scale is
/// logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    lo: f64,
    hi: f64,
    scale: Scale,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

impl Axis {
    /// Exactly from `lo` to `hi`; a single value gets half a step on each side.
    pub fn exactly(lo: f64, hi: f64) -> Self {
        let (lo, hi) = (lo.min(hi), lo.max(hi));
        if lo < hi {
            return Self { lo, hi, scale: Scale::Linear };
        }
        let half = (lo.abs() * FLAT).max(0.5);
        Self { lo: (lo - half).max(f64::MIN), hi: (hi + half).min(f64::MAX), scale: Scale::Linear }
    }

    /// Around values from `lo` to `hi` (finite, positive on a log scale), with a
    /// margin; equal values get a range of their own size.
    pub fn around(lo: f64, hi: f64, scale: Scale) -> Self {
        match scale {
            Scale::Log => {
                let (lo, hi) = (lo.log10(), hi.log10());
                let spread = hi - lo;
                let margin = if spread < FLAT { 0.5 } else { spread * MARGIN };
                Self { lo: lo - margin, hi: hi + margin, scale }
            }
            Scale::Linear => {
                let size = lo.abs().max(hi.abs());
                // Halves, because the difference of two large numbers may overflow.
                let half_spread = hi / 2.0 - lo / 2.0;
                let margin = if half_spread <= size * FLAT {
                    if size == 0.0 { 1.0 } else { size * 0.1 }
                } else {
                    half_spread * 2.0 * MARGIN
                };
                // A loss is never negative, so its axis is not either.
                let least = if lo >= 0.0 && hi > 0.0 { 0.0 } else { f64::MIN };
                let (below, above) = ((lo - margin).max(least), (hi + margin).min(f64::MAX));
                if below < above && margin > 0.0 {
                    Self { lo: below, hi: above, scale }
                } else {
                    Self { lo: -1.0, hi: 1.0, scale }
                }
            }
        }
    }

    /// The position of a value between the ends, from 0 to 1 and never NaN.
    pub fn fraction(&self, value: f64) -> f64 {
        let unit = match self.scale {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        };
        let fraction = (unit / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0);
        if fraction.is_nan() { 0.5 } else { fraction.clamp(0.0, 1.0) }
    }

    pub fn ends(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The places between the powers of ten of a logarithmic axis: 2, 3 … 9 times each.
    pub fn between_decades(&self) -> Vec<f64> {
        if self.scale == Scale::Linear {
            return Vec::new();
        }
        let within = |value: &f64| (self.lo..=self.hi).contains(&value.log10());
        (self.lo.floor() as i32..=self.hi.ceil() as i32)
            .flat_map(|k| (2..10).map(move |n| power(n, k)))
            .filter(within)
            .collect()
    }

    pub fn contains(&self, value: f64) -> bool {
        value >= self.lo && value <= self.hi
    }

    /// About `count` round values in ascending order, each with a label of its
    /// own; only whole numbers if `whole`.
    pub fn ticks(&self, count: u16, whole: bool) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => linear_ticks(self.lo, self.hi, count, whole),
            Scale::Log => self.log_ticks(count),
        }
    }

    /// About `count` round shares in ascending order, labelled in percent.
    pub fn percent_ticks(&self, count: u16) -> Vec<Tick> {
        let (lo, hi) = match self.scale {
            Scale::Linear => (100.0 * self.lo, 100.0 * self.hi),
            Scale::Log => (self.lo + 2.0, self.hi + 2.0),
        };
        let ticks = Self { lo, hi, scale: self.scale }.ticks(count, false).into_iter();
        let of_share =
            |tick: Tick| Tick { value: tick.value / 100.0, label: format!("{} %", tick.label) };
        ticks.map(of_share).collect()
    }

    fn log_ticks(&self, count: u16) -> Vec<Tick> {
        let (first, last) = (self.lo.ceil() as i32, self.hi.floor() as i32);
        let decades = (first..=last).count();
        if decades >= 2 {
            let stride = decades.div_ceil(usize::from(count).max(2));
            return (first..=last).step_by(stride).filter_map(|k| tick(1, k)).collect();
        }
        let within = |tick: &Tick| {
            let unit = tick.value.log10();
            unit >= self.lo && unit <= self.hi
        };
        let round: Vec<Tick> = (first - 1..=first)
            .flat_map(|k| [1, 2, 5].into_iter().filter_map(move |m| tick(m, k)))
            .filter(within)
            .collect();
        if round.len() >= 2 {
            return round;
        }
        linear_ticks(10f64.powf(self.lo), 10f64.powf(self.hi), count, false)
    }
}

/// A single label does not make a scale, so if the steps for `count` are too wide, the next finer
/// ones are used.
fn linear_ticks(lo: f64, hi: f64, count: u16, whole: bool) -> Vec<Tick> {
    let coarse = multiples_within(lo, hi, count, whole);
    if coarse.len() >= 2 {
        return coarse;
    }
    multiples_within(lo, hi, count.saturating_mul(2).max(4), whole)
}

fn multiples_within(lo: f64, hi: f64, count: u16, whole: bool) -> Vec<Tick> {
    let count = f64::from(count.max(1));
    let wanted = hi / count - lo / count;
    if !(wanted.is_finite() && wanted > 0.0) {
        return Vec::new();
    }
    let mut exponent = wanted.log10().floor() as i32;
    let mut multiple = [1, 2, 5, 10]
        .into_iter()
        .find(|&multiple| power(multiple, exponent) >= wanted * (1.0 - 1e-9))
        .unwrap_or(10);
    if whole && exponent < 0 && power(multiple, exponent) < 1.0 {
        (multiple, exponent) = (1, 0);
    }
    let step = power(multiple, exponent);
    let (first, last) = ((lo / step - 1e-9).ceil(), (hi / step + 1e-9).floor());
    if !(first.abs().max(last.abs()) < 1e17 && last - first < 1e3) {
        return Vec::new();
    }
    let multiples = || (first as i64..=last as i64).map(|i| i.saturating_mul(multiple));
    let size =
        multiples().filter(|&n| n != 0).map(|n| magnitude(n, exponent)).max().unwrap_or_default();
    multiples()
        .map(|n| Tick { value: power(n, exponent), label: decimal_like(n, exponent, size) })
        .filter(|tick| tick.value.is_finite())
        .collect()
}

fn tick(n: i64, exponent: i32) -> Option<Tick> {
    let value = power(n, exponent);
    (value > 0.0 && value.is_finite()).then(|| Tick { value, label: decimal(n, exponent) })
}

/// `n · 10^exponent`, correctly rounded even if the power alone overflows.
fn power(n: i64, exponent: i32) -> f64 {
    format!("{n}e{exponent}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(axis: Axis, count: u16) -> Vec<String> {
        axis.ticks(count, false).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_short() {
        assert_eq!(labels(Axis::exactly(0.0, 1.0), 5), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Axis::exactly(0.043, 0.061), 3), ["0.05", "0.06"]);
        assert_eq!(labels(Axis::exactly(9e3, 14e3), 4), ["10k", "12k", "14k"]);
        assert_eq!(labels(Axis::exactly(11.9e3, 13.1e3), 3), ["12k", "12.5k", "13k"]);
        assert_eq!(labels(Axis::exactly(-2e-5, 2e-5), 4), ["-2e-5", "-1e-5", "0", "1e-5", "2e-5"]);
        assert_eq!(
            labels(Axis::around(1e-4, 1.0, Scale::Log), 5),
            ["1e-4", "0.001", "0.01", "0.1", "1"]
        );
        assert_eq!(labels(Axis::around(0.15, 0.6, Scale::Log), 5), ["0.2", "0.5"]);
        assert_eq!(
            labels(Axis::around(0.61, 0.68, Scale::Log), 3),
            ["0.62", "0.64", "0.66", "0.68"]
        );
    }

    #[test]
    fn shares_are_labelled_in_percent_where_they_lie() {
        let ticks = Axis::exactly(0.1, 0.3).percent_ticks(4);
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["10 %", "15 %", "20 %", "25 %", "30 %"]);
        assert!((ticks[1].value - 0.15).abs() < 1e-12, "{ticks:?}");
        let log = Axis::around(0.01, 0.3, Scale::Log).percent_ticks(5);
        assert_eq!(log[0].label, "1 %");
        assert!((log[0].value - 0.01).abs() < 1e-12, "{log:?}");
    }

    #[test]
    fn between_decades_there_are_eight_places() {
        let places = Axis::around(0.01, 1.0, Scale::Log).between_decades();
        assert_eq!(places.len(), 2 + 8 + 8, "0.008 and 0.009 below, none above");
        assert_eq!(places[..3], [0.008, 0.009, 0.02]);
        assert!(Axis::exactly(0.01, 1.0).between_decades().is_empty());
    }

    #[test]
    fn steps_get_whole_numbers() {
        let ticks = Axis::exactly(0.0, 2.0).ticks(10, true);
        assert_eq!(ticks.iter().map(|tick| tick.value).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn a_flat_series_gets_a_range_of_its_own_size() {
        assert_eq!(Axis::around(5.0, 5.0, Scale::Linear).ends(), (4.5, 5.5));
        assert_eq!(Axis::around(-5.0, -5.0, Scale::Linear).ends(), (-5.5, -4.5));
        assert_eq!(Axis::around(0.0, 0.0, Scale::Linear).ends(), (-1.0, 1.0));
        assert_eq!(Axis::around(100.0, 100.0, Scale::Log).ends(), (1.5, 2.5));
        assert_eq!(Axis::exactly(7.0, 7.0).ends(), (6.5, 7.5));
    }

    #[test]
    fn values_that_are_never_negative_have_no_negative_axis() {
        assert_eq!(Axis::around(0.01, 1.0, Scale::Linear).ends().0, 0.0);
        assert!(Axis::around(-0.01, 1.0, Scale::Linear).ends().0 < -0.01);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let axis = Axis::around(f64::MIN, f64::MAX, Scale::Linear);
        assert_eq!(axis.fraction(0.0), 0.5);
        assert_eq!(axis.fraction(f64::MAX), 1.0);
        assert!(axis.ticks(5, false).iter().all(|tick| tick.value.is_finite()));
    }

    fn any_finite() -> impl Strategy<Value = f64> {
        prop_oneof![any::<f64>(), -1e3..1e3f64, Just(0.0), Just(1e15), Just(1e15 + 1.0)]
            .prop_filter("finite", |x| x.is_finite())
    }

    proptest! {
        #[test]
        fn an_axis_holds_what_it_is_made_for(a in any_finite(), b in any_finite(), log: bool) {
            let (scale, a, b) =
                if log { (Scale::Log, a.abs().max(5e-324), b.abs().max(5e-324)) } else { (Scale::Linear, a, b) };
            let (lo, hi) = (a.min(b), a.max(b));
            let axis = Axis::around(lo, hi, scale);
            let (start, end) = axis.ends();
            prop_assert!(start < end && start.is_finite() && end.is_finite());
            prop_assert!(axis.fraction(lo) <= axis.fraction(hi));
            for count in [1, 2, 5, 12] {
                let ticks = axis.ticks(count, false);
                prop_assert!(ticks.len() <= 2 * usize::from(count) + 6);
                for pair in ticks.windows(2) {
                    prop_assert!(pair[0].value < pair[1].value, "{ticks:?}");
                }
                for (i, tick) in ticks.iter().enumerate() {
                    prop_assert!(ticks[..i].iter().all(|other| other.label != tick.label), "{ticks:?}");
                }
            }
        }

        #[test]
        fn fractions_are_shares_for_any_value(value in any::<f64>(), a in any_finite(), b in any_finite()) {
            let fraction = Axis::exactly(a, b).fraction(value);
            prop_assert!((0.0..=1.0).contains(&fraction));
        }
    }
}
