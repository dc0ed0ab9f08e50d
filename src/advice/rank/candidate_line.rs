//! A candidate's line of the table, and the means behind it.

use serde::{Deserialize, Serialize};

use super::settings::CandidateOrder;
use super::subspace::SpanScore;
use crate::numeric::student::two_sided;

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;
/// Half of the 95 % range of a normal number, in standard deviations.
const DEVIATES: f64 = 1.96;
/// More repeats than this are not worth proposing.
const MOST_REPEATS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    pub mean: f64,
    /// Standard deviation over the repeats.
    pub deviation: f64,
}

/// A number and half of its 95 % range, as readers see it. Files keep the standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Infinite if nothing is known about the range.
    pub half_width: f64,
}

impl Estimate {
    /// The number, with `± half` if that is known.
    fn with_half(self, shown: impl Fn(f64) -> String) -> String {
        let value = shown(self.value);
        if self.half_width.is_finite() {
            format!("{value} ± {}", shown(self.half_width))
        } else {
            value
        }
    }

    /// The text for a table: `0.784 ± 0.036`.
    pub fn text(&self) -> String {
        self.with_half(|number| format!("{number:.3}"))
    }

    /// The text of an error: in units of the label, `43.9 ± 2.1`, or a share, `19.8 ± 2.3 %`.
    pub fn error_text(&self, in_label_units: bool) -> String {
        if !in_label_units {
            return self.with_half(|share| format!("{:.1}", 100.0 * share)) + " %";
        }
        let half = if self.half_width.is_finite() { self.half_width.abs() } else { 0.0 };
        let digits = (1.0 - half.max(1e-3 * self.value.abs()).log10().floor()).clamp(0.0, 6.0);
        self.with_half(|error| format!("{error:.digits$}", digits = digits as usize))
    }

    /// The text of a difference of errors: that of shares is in points.
    pub fn difference_text(&self, in_label_units: bool) -> String {
        self.error_text(in_label_units).replace(" %", " points")
    }

    /// The text for the score of this order.
    pub fn text_by(&self, order: CandidateOrder, in_label_units: bool) -> String {
        match order {
            CandidateOrder::Error => self.error_text(in_label_units),
            CandidateOrder::Energy | CandidateOrder::Distance => self.text(),
        }
    }
}

/// A mean difference and half the width of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    pub mean: f64,
    pub half_width: f64,
    deviation: f64,
    repeats: usize,
}

/// Means over the repeats of one dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeanScores {
    /// GSD, the gradient subspace distance d/√k.
    pub distance: Mean,
    pub energy: Mean,
    /// Mean principal angles in radians, smallest first.
    pub angles: Vec<f64>,
}

/// The place of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CandidatePlace {
    Best,
    /// Cannot be told apart from the best; with the number of further repeats that would suffice,
    /// if known.
    Tied(Option<usize>),
    Behind,
    Broken,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateLine {
    pub name: String,
    pub records: usize,
    pub place: CandidatePlace,
    /// `None` for a broken one.
    pub summary: Option<MeanScores>,
    /// Distance of the candidate from the best in the score that orders.
    pub behind: Option<Paired>,
    /// Whether the candidate cannot be told apart from other private records.
    pub as_floor: bool,
    /// Whether the candidate is no better than noise or, by error, than one answer for all records.
    pub as_noise: bool,
    pub alongside: Option<Alongside>,
    pub verdict: String,
    /// Why it is broken.
    pub trouble: Option<String>,
}

/// Other measures of one candidate; each is absent if it makes no sense.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Alongside {
    pub unlabelled: Option<f64>,
    pub labelled: Option<f64>,
    /// The Task2Vec distance, where it is asked for and both have classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task2vec: Option<f64>,
    /// The error of the candidate's own model: the mean over the private records, and its standard
    /// error.
    pub error: Option<Mean>,
    /// The losses of the candidate's own model on each private record, and those of the same answer
    /// for all. They are in no file and in no line of a table.
    #[serde(skip)]
    pub losses: Option<(Vec<f64>, Vec<f64>)>,
}

impl From<Paired> for Estimate {
    fn from(Paired { mean, half_width, .. }: Paired) -> Self {
        Self { value: mean, half_width }
    }
}

impl Mean {
    /// The 95 % range of a mean over many records, or of a number with Gaussian noise.
    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.mean, half_width: DEVIATES * self.deviation }
    }

    /// The 95 % range of a mean over repeats, of which the deviation is that of a single one. It is
    /// not known from fewer than two.
    pub fn over(&self, repeats: usize) -> Estimate {
        Estimate { value: self.mean, half_width: half_width(self.deviation, repeats) }
    }

    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: (squares / (count - 1.0).max(1.0)).sqrt() }
    }

    /// The mean over records with its standard error.
    pub fn with_standard_error(losses: &[f64]) -> Self {
        let Self { mean, deviation } = Self::of(losses);
        Self { mean, deviation: deviation / (losses.len() as f64).sqrt() }
    }
}

impl Paired {
    /// The paired interval of the differences `ours` − `theirs`.
    pub fn of(ours: &[f64], theirs: &[f64]) -> Self {
        let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
        let Mean { mean, deviation } = Mean::of(&differences);
        let repeats = differences.len();
        Self { mean, half_width: half_width(deviation, repeats), deviation, repeats }
    }

    /// Whether the interval is above 0.
    pub fn is_clear(&self) -> bool {
        self.mean > self.half_width
    }

    /// How many more repeats would make it clear, if mean and deviation stay the same.
    pub fn more_repeats(&self) -> Option<usize> {
        if self.mean <= 0.0 {
            return None;
        }
        (self.repeats + 1..=MOST_REPEATS)
            .find(|repeats| half_width(self.deviation, *repeats) < self.mean)
            .map(|repeats| repeats - self.repeats)
    }
}

fn half_width(deviation: f64, repeats: usize) -> f64 {
    match repeats {
        0 | 1 => f64::INFINITY,
        _ => two_sided(CONFIDENCE, repeats - 1) * deviation / (repeats as f64).sqrt(),
    }
}

impl MeanScores {
    pub(super) fn of(scores: &[&SpanScore]) -> Self {
        let of = |number: fn(&SpanScore) -> f64| {
            Mean::of(&scores.iter().map(|score| number(score)).collect::<Vec<_>>())
        };
        let directions = scores.iter().map(|score| score.angles.len()).min().unwrap_or(0);
        let angle = |index: usize| {
            scores.iter().map(|score| score.angles[index]).sum::<f64>() / scores.len() as f64
        };
        Self {
            distance: of(|score| score.distance),
            energy: of(|score| score.energy),
            angles: (0..directions).map(angle).collect(),
        }
    }

    /// The projection metric d of both spans, which is not divided by √k.
    pub fn projection_metric(&self) -> Mean {
        let root = (self.angles.len() as f64).sqrt();
        Mean { mean: root * self.distance.mean, deviation: root * self.distance.deviation }
    }
}

impl Alongside {
    /// The numbers for a table, without those of single records.
    pub(super) fn in_a_line(&self) -> Self {
        Self { losses: None, ..*self }
    }
}

/// A few names; for many, the first ones and the number of others.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] if names.len() <= 5 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..4].join(", "), names.len() - 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_paired_differences() {
        // The common variation cancels; scipy.stats.ttest_rel gives this interval.
        let a = [1.0, 5.0, 3.0, 9.0];
        let b = [0.9, 4.7, 2.8, 8.6];
        let paired = Paired::of(&a, &b);
        assert!((paired.mean - 0.25).abs() < 1e-12);
        assert!((paired.half_width - 0.205_426).abs() < 1e-6, "{}", paired.half_width);
        assert!(paired.is_clear());
        assert!(!Paired::of(&b, &a).is_clear());
    }

    #[test]
    fn every_range_that_is_read_is_one_of_95_percent() {
        let mean = Mean { mean: 0.48, deviation: 0.02 };
        assert_eq!(mean.estimate().text(), "0.480 ± 0.039");
        // With ten repeats t is 2.262, and the mean is known better than one repeat.
        assert_eq!(mean.over(10).text(), "0.480 ± 0.014");
        assert_eq!(mean.over(1).text(), "0.480", "one repeat shows no range");
        assert_eq!(mean.over(0).error_text(false), "48.0 %");
        assert_eq!(mean.estimate().error_text(false), "48.0 ± 3.9 %");
        let error = Mean { mean: 43.9, deviation: 1.07 }.estimate();
        assert_eq!(error.error_text(true), "43.9 ± 2.1");
        assert_eq!(mean.estimate().difference_text(false), "48.0 ± 3.9 points");
        let paired = Paired::of(&[1.0, 5.0, 3.0, 9.0], &[0.9, 4.7, 2.8, 8.6]);
        assert_eq!(Estimate::from(paired).text(), "0.250 ± 0.205");
    }

    #[test]
    fn so_many_more_repeats_are_proposed_as_the_deviation_asks_for() {
        let a = [0.3, -0.2, 0.4, -0.1, 0.2];
        let paired = Paired::of(&a, &[0.0; 5]);
        assert!(!paired.is_clear());
        let more = paired.more_repeats().unwrap();
        assert!(half_width(paired.deviation, 5 + more) < paired.mean);
        assert!(half_width(paired.deviation, 4 + more) >= paired.mean);
        // A difference of zero never becomes clear.
        assert_eq!(Paired::of(&[1.0, -1.0], &[0.0, 0.0]).more_repeats(), None);
        assert_eq!(Paired::of(&[1e-6, 2.0, -2.0], &[0.0; 3]).more_repeats(), None);
    }
}
