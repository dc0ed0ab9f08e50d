//! The quality of answers on records whose labels are known.
//!
//! These numbers are exact. For public records they may be published. For private ones they are
//! only for the curator, and the caller keeps them in `CuratorOnly`.
//!
//! - A regression has the root mean squared error, and the mean absolute error beside it.
//! - Classes have the share of wrong answers, and the balanced accuracy beside it: the mean, over
//!   the classes that occur, of the share of right answers for their records.
//! - Two classes also have the AUC: the chance that of two records, one of each class, the one of the
//!   second class has the larger score. Equal scores count one half.

use serde::{Deserialize, Serialize};

use crate::Loss;
use crate::data::Dataset;
use crate::data::preparation::View;
use crate::model::Model;
use crate::numeric::columns::ExampleColumns;
use crate::plot::number::compact;

/// The main error of a model and further scores. Of numbers the main error is first the root mean
/// square; [`Measured::led_by`] makes it the one by which a plan is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// In label units, or share of wrong answers.
    pub error: f64,
    pub further: FurtherScores,
}

/// Scores beside the main error: the first for numbers, the others for classes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FurtherScores {
    /// In label units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_absolute_error: Option<f64>,
    /// In label units, where the main error is the mean absolute one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_mean_squared_error: Option<f64>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<f64>,
    /// For two classes, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// Whether there are two classes but no AUC, because all records are of one class.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_class: bool,
}

/// A model, and what it takes of a record that judges it.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub model: &'a Model,
    pub view: &'a View,
}

impl<'a> From<&'a Model> for Judged<'a> {
    fn from(model: &'a Model) -> Self {
        Self { model, view: &View::WHOLE }
    }
}

impl Measured {
    /// A model's scores on records with labels; `label` turns a prediction into label units. `None`
    /// without labels, or if the model answers something else.
    pub fn of_model<'a, F: ExampleColumns>(
        judged: impl Into<Judged<'a>>,
        data: &Dataset<F>,
        label: impl Fn(f64) -> f64,
    ) -> Option<Self> {
        let Judged { model, view } = judged.into();
        if let Some(classes) = data.classes.as_ref().filter(|classes| !classes.of.is_empty()) {
            let answers = model.class_answers(&view.of(&data.features))?;
            let told: Vec<Option<u32>> = answers.classes.into_iter().map(Some).collect();
            let order = answers.order.as_deref();
            return Self::of_classes(&classes.of, &told, order, classes.names.len());
        }
        let target = data.target.as_ref().filter(|target| !target.is_empty())?;
        let raw = model.numbers(&view.of(&data.features))?.into_iter();
        Self::of_numbers(raw.map(label).zip(target.iter().copied()))
    }

    /// From answers and labels in the same units; `None` without any.
    pub fn of_numbers(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let (mut count, mut squares, mut sizes) = (0_usize, 0.0, 0.0);
        for (answer, label) in pairs {
            let error = answer - label;
            (count, squares, sizes) = (count + 1, squares + error.powi(2), sizes + error.abs());
        }
        let count = (count > 0).then_some(count as f64)?;
        let further =
            FurtherScores { mean_absolute_error: Some(sizes / count), ..FurtherScores::default() };
        Some(Self { error: (squares / count).sqrt(), further })
    }

    /// From the true classes of records, among `classes`, and the answers. `order` is larger the
    /// more the model favours the second of two classes. `None` without records.
    pub fn of_classes(
        truth: &[u32],
        answers: &[Option<u32>],
        order: Option<&[f64]>,
        classes: usize,
    ) -> Option<Self> {
        let right = |at: usize| answers.get(at).copied().flatten() == Some(truth[at]);
        let wrong = (0..truth.len()).filter(|at| !right(*at)).count();
        let balanced_accuracy = Some(balanced_accuracy(truth, right)?);
        let seconds: Vec<bool> = truth.iter().map(|class| *class == 1).collect();
        let has_two = seconds.contains(&true) && seconds.contains(&false);
        let auc = order.filter(|_| classes == 2 && has_two).and_then(|it| auc(it, &seconds));
        let further = FurtherScores {
            balanced_accuracy,
            auc,
            one_class: classes == 2 && !has_two,
            ..FurtherScores::default()
        };
        Some(Self { error: wrong as f64 / truth.len() as f64, further })
    }

    /// These scores with another error of numbers as the main one.
    #[must_use]
    pub fn led_by(self, loss: Loss) -> Self {
        let FurtherScores { mean_absolute_error, root_mean_squared_error, .. } = self.further;
        let (leads, sizes, squares) = match loss {
            Loss::Absolute => (mean_absolute_error, None, Some(self.error)),
            Loss::Squared => (root_mean_squared_error, Some(self.error), None),
        };
        let Some(error) = leads else { return self };
        let further = FurtherScores {
            mean_absolute_error: sizes,
            root_mean_squared_error: squares,
            ..self.further
        };
        Self { error, further }
    }

    /// Right answers in %, of classes.
    pub fn right_in_percent(&self) -> f64 {
        100.0 * (1.0 - self.error)
    }
}

impl FurtherScores {
    /// What the numbers for charts are.
    pub const DRAWN: [&str; 3] = [ABSOLUTE, "balanced accuracy, %", AUC];

    /// The numbers for charts: mean absolute error, balanced accuracy in %, AUC.
    pub fn drawn(&self) -> [Option<f64>; 3] {
        let percent = self.balanced_accuracy.map(|share| 100.0 * share);
        [self.mean_absolute_error, percent, self.auc]
    }

    /// From the numbers in charts.
    pub fn of_drawn([mean_absolute_error, percent, auc]: [Option<f64>; 3]) -> Self {
        let balanced_accuracy = percent.map(|percent| percent / 100.0);
        Self { mean_absolute_error, balanced_accuracy, auc, ..Self::default() }
    }

    /// Name and value of each, for display.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let none = || "none, as all records are of one class".to_owned();
        let rows = [
            self.mean_absolute_error.map(|error| (ABSOLUTE, compact(error))),
            self.root_mean_squared_error.map(|error| (SQUARED, compact(error))),
            self.balanced_accuracy.map(|share| (BALANCED, format!("{:.1} %", 100.0 * share))),
            self.auc.map(|auc| (AUC, format!("{auc:.3}"))),
            self.one_class.then(|| (AUC, none())),
        ];
        rows.into_iter().flatten().collect()
    }

    /// All of it: `balanced accuracy 77.5 %, AUC 0.812`.
    pub fn words(&self) -> String {
        let rows = self.rows().into_iter().map(|(name, value)| format!("{name} {value}"));
        rows.collect::<Vec<_>>().join(", ")
    }
}

/// The names of the numbers.
pub const ABSOLUTE: &str = "mean absolute error";
pub const SQUARED: &str = "root mean squared error";
pub const WRONG: &str = "wrong answers";
pub const BALANCED: &str = "balanced accuracy";
pub const AUC: &str = "AUC";

/// The mean, over the classes that occur, of the share of their records that is `right`.
fn balanced_accuracy(truth: &[u32], right: impl Fn(usize) -> bool) -> Option<f64> {
    let classes = truth.iter().max().map_or(0, |largest| *largest as usize + 1);
    let mut counts = vec![(0_usize, 0_usize); classes];
    for (at, class) in truth.iter().enumerate() {
        let (all, good) = &mut counts[*class as usize];
        *all += 1;
        *good += usize::from(right(at));
    }
    let occur: Vec<f64> = counts
        .into_iter()
        .filter(|(all, _)| *all > 0)
        .map(|(all, good)| good as f64 / all as f64)
        .collect();
    (!occur.is_empty()).then(|| occur.iter().sum::<f64>() / occur.len() as f64)
}

/// The probability that of two records, one of each class, that of the second class has the larger
/// score; equal scores count one half. `None` if a class is missing or a score is NaN. Sorting
/// takes O(n log n).
pub fn auc(scores: &[f64], is_second: &[bool]) -> Option<f64> {
    if scores.iter().any(|score| score.is_nan()) {
        return None;
    }
    // −0 and 0 are equal.
    let mut order: Vec<(f64, bool)> =
        scores.iter().map(|score| score + 0.0).zip(is_second.iter().copied()).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut won, mut firsts, mut seconds) = (0.0, 0.0, 0.0);
    for equal in order.chunk_by(|one, other| one.0 == other.0) {
        let own = equal.iter().filter(|(_, second)| *second).count() as f64;
        let others = equal.len() as f64 - own;
        won += own * (firsts + 0.5 * others);
        (firsts, seconds) = (firsts + others, seconds + own);
    }
    (firsts > 0.0 && seconds > 0.0).then(|| won / (firsts * seconds))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(answers: &[u32]) -> Vec<Option<u32>> {
        answers.iter().map(|class| Some(*class)).collect()
    }

    #[test]
    fn numbers_have_both_errors_by_hand() {
        let measured = Measured::of_numbers([(1.0, 2.0), (5.0, 2.0), (3.0, 3.0)].into_iter());
        let measured = measured.unwrap();
        assert!((measured.error - (10.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!((measured.further.mean_absolute_error.unwrap() - 4.0 / 3.0).abs() < 1e-15);
        assert_eq!(measured.further.words(), "mean absolute error 1.33");
        let turned = measured.led_by(Loss::Absolute);
        assert!((turned.error - 4.0 / 3.0).abs() < 1e-15);
        assert_eq!(turned.further.words(), "root mean squared error 1.83");
        assert_eq!(measured.led_by(Loss::Squared), measured);
        assert_eq!(turned.led_by(Loss::Squared), measured);
        assert_eq!(Measured::of_numbers(std::iter::empty()), None);
    }

    #[test]
    fn rare_classes_weigh_as_much_as_common_ones_and_absent_ones_nothing() {
        // Class 0: 3 of 4 right; class 2: 0 of 1; class 1 does not occur.
        let truth = [0, 0, 0, 0, 2];
        let measured = Measured::of_classes(&truth, &told(&[0, 0, 0, 1, 1]), None, 3).unwrap();
        assert_eq!((measured.error, measured.further.balanced_accuracy), (0.4, Some(0.375)));
        assert_eq!((measured.further.auc, measured.further.one_class), (None, false));
        assert_eq!(measured.further.words(), "balanced accuracy 37.5 %");
        // A record without an answer is wrong.
        let without = Measured::of_classes(&[0, 1], &[Some(0), None], None, 2).unwrap();
        assert_eq!((without.error, without.further.balanced_accuracy), (0.5, Some(0.5)));
        assert_eq!(Measured::of_classes(&[], &[], Some(&[]), 2), None);
    }

    #[test]
    fn pairs_in_order_are_counted_and_ties_count_one_half() {
        let classes = [false, true, false, true];
        assert_eq!(auc(&[0.1, 0.9, 0.2, 0.8], &classes), Some(1.0));
        assert_eq!(auc(&[0.9, 0.1, 0.8, 0.2], &classes), Some(0.0));
        assert_eq!(auc(&[0.5; 4], &classes), Some(0.5));
        // Among the pairs (1, 1), (1, 3), (2, 1), (2, 3): a tie, won, lost, won.
        assert_eq!(auc(&[1.0, 1.0, 2.0, 3.0], &classes), Some(0.625));
        assert_eq!(auc(&[-0.0, 0.0], &[false, true]), Some(0.5));
        assert_eq!(auc(&[f64::NEG_INFINITY, f64::INFINITY], &[false, true]), Some(1.0));
        assert_eq!(auc(&[f64::NAN, 0.0], &[false, true]), None);
    }

    #[test]
    fn where_a_class_is_missing_there_is_no_auc_and_that_is_said() {
        for truth in [[0, 0], [1, 1]] {
            let order = Some(&[0.3, 0.7][..]);
            let further = Measured::of_classes(&truth, &told(&truth), order, 2).unwrap().further;
            assert_eq!((further.auc, further.balanced_accuracy), (None, Some(1.0)));
            assert!(further.words().ends_with("AUC none, as all records are of one class"));
            assert_eq!(auc(&[0.3, 0.7], &truth.map(|class| class == 1)), None);
        }
        let both = Measured::of_classes(&[0, 1], &told(&[0, 1]), Some(&[0.3, 0.7]), 2).unwrap();
        assert_eq!(both.further.words(), "balanced accuracy 100.0 %, AUC 1.000");
        // For three classes there is none, whichever occur.
        let three = Measured::of_classes(&[0, 1], &told(&[0, 1]), Some(&[0.3, 0.7]), 3).unwrap();
        assert_eq!((three.further.auc, three.further.one_class), (None, false));
    }

    #[test]
    fn what_a_file_lacks_is_not_there_and_what_is_not_there_is_not_written() {
        let none: FurtherScores = serde_json::from_str("{}").unwrap();
        assert_eq!(none, FurtherScores::default());
        let further = FurtherScores { auc: Some(0.75), ..none };
        assert_eq!(serde_json::to_string(&further).unwrap(), r#"{"auc":0.75}"#);
        let drawn = FurtherScores { balanced_accuracy: Some(0.5), ..further }.drawn();
        assert_eq!(drawn, [None, Some(50.0), Some(0.75)]);
        assert_eq!(FurtherScores::of_drawn(drawn).drawn(), drawn);
    }

    proptest! {
        #[test]
        fn the_auc_is_the_share_of_pairs_in_order(
            records in proptest::collection::vec((0..8_i32, any::<bool>(), any::<bool>()), 1..60),
        ) {
            // A few different scores have many ties, many scores have none.
            let fine = |at: usize, score: i32, fine: bool| {
                f64::from(score) + if fine { 0.001 * ((at * 7) % 60) as f64 } else { 0.0 }
            };
            let scores: Vec<f64> =
                records.iter().enumerate().map(|(at, it)| fine(at, it.0, it.2)).collect();
            let seconds: Vec<bool> = records.iter().map(|it| it.1).collect();
            let (mut won, mut pairs) = (0.0, 0.0);
            for (first, _) in scores.iter().zip(&seconds).filter(|(_, second)| !**second) {
                for (second, _) in scores.iter().zip(&seconds).filter(|(_, second)| **second) {
                    pairs += 1.0;
                    won += if second > first { 1.0 } else if second == first { 0.5 } else { 0.0 };
                }
            }
            match auc(&scores, &seconds) {
                Some(found) => prop_assert!((found - won / pairs).abs() < 1e-12),
                None => prop_assert!(pairs == 0.0),
            }
        }
    }
}
