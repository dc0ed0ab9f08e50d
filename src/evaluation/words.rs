//! A score in words.

use std::fmt::Write;

use super::score::{Elsewhere, ErrorRange, Score, Scored};
use super::{Loss, measured};
use crate::privacy::accountant::round_up;

/// What brackets are, beside every score. [`RELEASED`] says more, once a page.
const BRACKETS: &str =
    "In brackets: 95 % intervals; `halflight guide scores` says what they allow for.";

/// The explanation of released scores.
pub const RELEASED: &str = "In brackets: a range that contains the true value in 95 of 100 \
                            releases. It allows for the noise and for which records happened to be \
                            held out. Where errors are capped, the true value is that of the capped \
                            errors. A range without the cap contains the true value at least as \
                            often, if no error is above the bound that it names.";

/// A range that is wider than this share of what is possible leaves nearly everything open.
pub(super) const OPEN: f64 = 0.7;

/// A number so near to the end of its range, as a share of the range, is not told without it.
const NEAR_END: f64 = 0.2;
/// A gain whose range is wider than this has no single number.
const WIDE: f64 = 0.6;

/// What is said instead of a number whose range leaves nearly everything open. Every display says it
/// in these words.
pub const NOTHING: &str = "nothing can be told at this ε";

/// Whether the ratio of two errors may be anything: nearly none of the other one, and twice as much.
fn is_open(own: Score, other: Score) -> bool {
    own.low <= 0.05 * other.high && own.high >= 2.0 * other.low
}

/// Enough decimals to show two digits of the uncertainty.
fn decimals(score: &Score) -> usize {
    let half = 0.5 * (score.high - score.low).abs();
    if half > 0.0 { (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize } else { 3 }
}

/// A number in three digits.
pub(super) fn three_digits(x: f64) -> String {
    let digits = (2.0 - x.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{x:.digits$}")
}

/// Half of a width in two digits.
pub(super) fn two_digits(half: f64) -> String {
    let digits = decimals(&Score { value: 0.0, low: -half, high: half });
    format!("{half:.digits$}")
}

/// A score in words, such as `22.5 % (17.1 to 28.4)`.
fn score_text(score: &Score, unit: &str) -> String {
    let digits = decimals(score).min(if unit == " %" { 1 } else { 6 });
    let Score { value, low, high } = score;
    let [text, least] = [value, low].map(|it| format!("{it:.digits$}"));
    // Noise has taken it to the end of what is possible, or near: the number alone would say too much.
    if *low == 0.0 && *value <= NEAR_END * high {
        return format!("{least} to {high:.digits$}{unit}");
    }
    format!("{text}{unit} ({least} to {high:.digits$})").replace('-', "−")
}

fn percent(share: &Score) -> String {
    score_text(&share.map(|it| 100.0 * it), " %")
}

/// How much less an error is than another one: `45 % less error`.
pub fn less_error([own, other]: [f64; 2], is_number: bool) -> String {
    let what = if is_number { "less error" } else { "fewer wrong answers" };
    let share = 100.0 * (1.0 - own / other.max(f64::MIN_POSITIVE));
    format!("{share:.0} % {what}").replace('-', "−")
}

impl Scored {
    /// The kind of error, as a heading, with its cap.
    pub fn error_name(&self) -> String {
        let name = self.kind();
        let cap = self.cap().map(|cap| format!(", capped at {cap}"));
        name.to_owned() + &cap.unwrap_or_default()
    }

    /// The kind of error.
    pub fn kind(&self) -> &'static str {
        self.loss.map_or(measured::WRONG, |loss| loss.words())
    }

    /// The limit of errors, in three digits.
    pub fn cap(&self) -> Option<String> {
        self.largest_error.map(three_digits)
    }

    /// What the cap hides: the share of records that it cuts, and the range of the error without it
    /// where a bound is known. Every display says it in these words. Earlier versions did not know
    /// the share.
    pub fn beyond_cap(&self) -> Option<String> {
        let above = self.above.as_ref()?;
        let mut words = if above.high - above.low > 0.5 {
            "how many errors of this model are at or above the cap is too imprecise to tell"
                .to_owned()
        } else {
            format!("{} of the errors of this model are at or above the cap", percent(above))
        };
        if let Some((range, bound)) = self.uncapped_words() {
            let _ = write!(words, "; without it {range}, if no error is above {bound}");
        }
        Some(words)
    }

    /// The range of the error without the cap, and the bound on which it depends.
    fn uncapped_words(&self) -> Option<(String, String)> {
        let (ErrorRange { low, high }, bound) = (self.uncapped?, self.bound?);
        let digits = decimals(&Score { value: low, low, high });
        Some((format!("{low:.digits$} to {high:.digits$}"), three_digits(bound)))
    }

    /// An error of the same kind.
    pub fn error_text(&self, score: &Score) -> String {
        if self.loss.is_some() { score_text(score, &self.unit_text()) } else { percent(score) }
    }

    /// The unit of the label, behind a number.
    fn unit_text(&self) -> String {
        self.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"))
    }

    /// The error of the model, for a column of a table.
    pub fn short(&self) -> String {
        self.error_text(&self.error)
    }

    /// The error of the model in a few letters: `22.5 % (17.1–28.0)`, or `12.3 (10.9–13.7, cap 77.3)`.
    pub fn brief(&self) -> String {
        let cap = self.cap().map_or_else(String::new, |cap| format!(", cap {cap}"));
        self.in_brief(self.error, &cap)
    }

    /// The error in a few letters where its cap is told elsewhere: `12.3 (10.9–13.7)`.
    pub fn brief_error(&self) -> String {
        self.in_brief(self.error, "")
    }

    /// The error of what the model is compared with in a few letters: `22.5 % (17.1–28.0)`.
    pub fn brief_public(&self) -> Option<String> {
        self.public_alone.map(|error| self.in_brief(error, ""))
    }

    fn in_brief(&self, error: Score, cap: &str) -> String {
        let (factor, unit, most) = match self.loss {
            Some(_) => (1.0, self.unit_text(), 6),
            None => (100.0, " %".to_owned(), 1),
        };
        let Score { value, low, high } = error.map(|it| factor * it);
        let fine = decimals(&Score { value, low, high }).min(most);
        if low == 0.0 && value <= NEAR_END * high {
            return format!("0–{high:.fine$}{unit}{cap}");
        }
        format!("{value:.fine$}{unit} ({low:.fine$}–{high:.fine$}{cap})")
    }

    /// Whether the range leaves nearly everything open.
    pub fn says_nothing(&self) -> bool {
        let most = self.largest_error.unwrap_or(1.0);
        self.error.high - self.error.low > OPEN * most
    }

    /// The model beside it: of a method that builds on a finished model, it contains that model.
    pub fn beside(&self) -> &'static str {
        if self.builds_on_a_model { "the model it builds on" } else { "public data alone" }
    }

    /// The one answer for all records with which models are compared: public records chose it.
    pub fn one_answer_name(&self) -> &'static str {
        match self.loss {
            None => "most common public class",
            Some(Loss::Absolute) => "public median",
            Some(Loss::Squared) => "public mean",
        }
    }

    /// A warning, if the error is clearly larger than that of one answer for all.
    pub fn beyond_constant(&self) -> Option<String> {
        let error = self.one_answer.filter(|it| self.error.low > it.high)?;
        let (name, error) = (self.one_answer_name(), self.error_text(&error));
        Some(format!("WORSE than one answer for all ({name}): {error}"))
    }

    /// The most important facts, in a sentence.
    pub fn sentence(&self) -> String {
        let colon = if self.cap().is_some() { ":" } else { "" };
        let mut text = format!("{}{colon} {}", self.error_name(), self.short());
        if let Some(public) = &self.public_alone {
            let _ = write!(text, ", {} {}", self.beside(), self.error_text(public));
        }
        if let Some(verdict) = self.verdict() {
            let _ = write!(text, "; {verdict}");
        }
        if let Some(beyond) = self.beyond_cap() {
            let _ = write!(text, "; {beyond}");
        }
        text
    }

    /// Name and value of all scores.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows = vec![(format!("{}, this model", self.error_name()), self.short())];
        if let Some(public) = &self.public_alone {
            rows.push((self.beside().to_owned(), self.error_text(public)));
        }
        if let Some(error) = &self.one_answer {
            let name = format!("{} for all", self.one_answer_name());
            rows.push((name, self.error_text(error)));
        }
        for class in &self.classes {
            let name = format!("wrong among '{}' (noisy count: {:.0})", class.class, class.records);
            let told = class.wrong.as_ref().map_or_else(|| "too few to tell".to_owned(), percent);
            rows.push((name, told));
        }
        if !self.classes.is_empty() {
            let told = self.balanced_accuracy.as_ref().map(percent);
            let told = told.unwrap_or_else(|| "too few of a class to tell".to_owned());
            rows.push((measured::BALANCED.to_owned(), told));
        }
        if let Some(auc) = &self.auc {
            rows.push((measured::AUC.to_owned(), score_text(auc, "")));
        }
        rows
    }

    /// Whether this error is clearly less than that of another model: the ranges do not overlap.
    /// `None` if they cannot be compared. With the larger cap, this error would be no larger with the
    /// cap of the other one. With the smaller one, it is taken as large as it can be with the cap of
    /// the other one. Two that were joined have one error of public data alone: there the differences
    /// from it are compared, if they are known better. Which records were held out matters less for them.
    pub fn is_clearly_less(&self, other: &Self) -> Option<bool> {
        if let Some([one, two]) = self.differences_beside(other) {
            return Some(one.high < two.low);
        }
        let own = match (self.largest_error, other.largest_error) {
            _ if self.loss != other.loss => return None,
            // Caps that read alike are alike.
            _ if self.cap() == other.cap() => self.error,
            (Some(own), Some(theirs)) if own > theirs => self.error,
            (Some(_), Some(theirs)) => self.with_limit(theirs)?,
            _ => return None,
        };
        Some(own.high < other.error.low)
    }

    /// The differences from the same error of public data alone, if they are known better than the errors.
    fn differences_beside(&self, other: &Self) -> Option<[Score; 2]> {
        let are_known = self.noise.is_some() && other.noise.is_some();
        let are_joined =
            are_known && self.public_alone.is_some() && self.public_alone == other.public_alone;
        let differences = [self.difference?, other.difference?];
        let width = |it: Score| it.high - it.low;
        let errors = [self, other].map(|it| match it.loss {
            Some(Loss::Squared) => it.error.map(|error| error * error),
            _ => it.error,
        });
        let are_sharper =
            differences.into_iter().map(width).sum::<f64>() < errors.into_iter().map(width).sum();
        (are_joined && are_sharper && self.loss == other.loss && self.cap() == other.cap())
            .then_some(differences)
    }

    /// Whether private training was worth it, as far as the score shows.
    pub fn verdict(&self) -> Option<String> {
        if self.says_nothing() {
            return Some(format!(
                "too imprecise to judge: {NOTHING}; hold out more records, or give the score a larger ε"
            ));
        }
        // The worst is said first.
        let parts = [self.beyond_constant(), self.beside_public(), self.contradiction()];
        let parts = parts.into_iter().flatten();
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Whether the error is clearly less than that of one answer for all: the ranges do not overlap. `None`
    /// if that was not measured.
    pub fn is_below_constant(&self) -> Option<bool> {
        self.one_answer.map(|it| self.error.high < it.low)
    }

    /// The error of one answer for all, to go on a sentence.
    pub fn beside_constant(&self) -> String {
        self.one_answer.map_or_else(String::new, |it| {
            let unclear = if self.error.high < it.low { "" } else { ", not clearly more" };
            let (name, error) = (self.one_answer_name(), self.error_text(&it));
            format!(", the {name} for all {error}{unclear}")
        })
    }

    /// What rehearsals promised, if the score says that it did not come.
    pub fn contradiction(&self) -> Option<String> {
        let (promised, found) = (self.foretold?, self.gain()?);
        let apart = found.high < promised.low || found.low > promised.high;
        apart.then(|| {
            format!(
                "the rehearsal of this plan promised {}; the score says {}",
                self.share_words(promised),
                self.share_words(found)
            )
        })
    }

    /// What rehearsals promised, beside public data alone.
    pub fn foretold_words(&self) -> Option<String> {
        self.foretold.map(|promised| self.share_words(promised))
    }

    /// `41 % (12 to 59) less error`, or `3 % less error (5 more to 49 less)`.
    fn share_words(&self, it: Score) -> String {
        let (less, what) = match self.loss {
            Some(_) => ("less", "error"),
            None => ("fewer", "wrong answers"),
        };
        let [value, low, high] = [it.value, it.low, it.high.min(1.0)].map(|it| 100.0 * it);
        let word = if value < 0.0 { "more" } else { less };
        let size = value.abs();
        if low < 0.0 && high > 0.0 {
            let worst = -low;
            return format!("{size:.0} % {word} {what} ({worst:.0} more to {high:.0} {less})");
        }
        let (low, high) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
        format!("{size:.0} % ({low:.0} to {high:.0}) {word} {what}")
    }

    /// How much less error than public data alone, as a share of theirs; negative for more. `None` if
    /// theirs is too imprecise for a share.
    fn gain(&self) -> Option<Score> {
        let (gap, public) = (self.difference?, self.public_alone?);
        let power = if self.loss == Some(Loss::Squared) { 2 } else { 1 };
        let whole = public.value.powi(power);
        let gain = |gap: f64| 1.0 - (1.0 + gap / whole).max(0.0).powf(1.0 / f64::from(power));
        let found = Score { value: gain(gap.value), low: gain(gap.high), high: gain(gap.low) };
        (whole > 0.0 && !is_open(public, public)).then_some(found)
    }

    fn less_words(&self, gap: Score) -> String {
        format!("{} than {}", self.change(gap, false), self.beside())
    }

    /// What a model that is better is taken for: how much less error it has than public data alone,
    /// or its error, if that is not known.
    pub fn gain_words(&self) -> String {
        let cap = self.cap().map_or_else(String::new, |cap| format!(" (cap {cap})"));
        match self.difference.filter(|_| self.public_alone.is_some()) {
            Some(gap) => self.less_words(gap) + &cap,
            None => self.named_error(),
        }
    }

    /// `mean absolute error, capped at 77.3: 12.3 (10.1 to 14.5)`.
    pub fn named_error(&self) -> String {
        format!("{}: {}", self.error_name(), self.short())
    }

    /// How much less error than public data alone in a few letters: `44 % less (31–58)`, or
    /// `11 % more (37 more to 16 less)`; of a wide range only the ends, `32–100 % less`.
    pub fn brief_gain(&self) -> Option<String> {
        let gain = self.gain()?.map(|it| 100.0 * it);
        let less = if self.loss.is_some() { "less" } else { "fewer" };
        let word = if gain.value < 0.0 { "more" } else { less };
        let (low, high) = (gain.low, gain.high.min(100.0));
        let (size, is_wide) = (gain.value.abs(), gain.high - gain.low > 100.0 * WIDE);
        if low < 0.0 && high > 0.0 {
            let worst = -low;
            return Some(if is_wide {
                format!("{worst:.0} % more to {high:.0} % {less}")
            } else {
                format!("{size:.0} % {word} ({worst:.0} more to {high:.0} {less})")
            });
        }
        let (low, high) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
        Some(if is_wide {
            format!("{low:.0}–{high:.0} % {word}")
        } else {
            format!("{size:.0} % {word} ({low:.0}–{high:.0})")
        })
    }

    /// How the error stands beside that of public data alone.
    fn beside_public(&self) -> Option<String> {
        let (gap, other) = (self.difference?, self.beside());
        self.public_alone?;
        Some(if gap.high < 0.0 {
            format!("better: {}", self.less_words(gap))
        } else if gap.low > 0.0 {
            format!("WORSE: {} than {other}; use {other}", self.change(gap, true))
        } else {
            format!("not clearly better or worse than {other}")
        })
    }

    /// A warning before everything else: public data alone, or one answer for all records, are clearly
    /// better.
    pub fn alarm(&self) -> Option<String> {
        let is_worse =
            self.difference.is_some_and(|gap| gap.low > 0.0) || self.beyond_constant().is_some();
        let verdict = self.verdict().filter(|_| is_worse && !self.says_nothing());
        verdict.map(|verdict| format!("The model is {verdict}."))
    }

    /// How much more or less error, as a share of that of public data alone if it is known well
    /// enough.
    fn change(&self, gap: Score, more: bool) -> String {
        let turned = |it: Score| Score { value: -it.value, low: -it.high, high: -it.low };
        let own = |it: Score| if more { it } else { turned(it) };
        let most = if more { f64::MAX } else { 1.0 };
        let share = |gain| {
            let share = own(turned(gain)).map(|share| share.min(most));
            // Of so wide a range one number would be quoted as the result.
            if share.high - share.low > WIDE {
                let [low, high] = [share.low, share.high].map(|end| 100.0 * end);
                return format!("{low:.0} to {high:.0} %").replace('-', "−");
            }
            percent(&share)
        };
        let (size, what) = match (self.gain(), self.loss) {
            (Some(gain), None) => (share(gain), "wrong answers"),
            (Some(gain), Some(_)) => (share(gain), "error"),
            (None, None) => {
                let points = own(gap).map(|it| 100.0 * it);
                (score_text(&points, " percentage points"), "wrong answers")
            }
            (None, Some(Loss::Absolute)) => (score_text(&own(gap), ""), "error"),
            (None, Some(Loss::Squared)) => (score_text(&own(gap), ""), "squared error"),
        };
        let word = match (self.loss, more) {
            (_, true) => "more",
            (None, false) => "fewer",
            (Some(_), false) => "less",
        };
        format!("{size} {word} {what}")
    }

    /// An explanation of its numbers.
    pub fn note(&self) -> String {
        let of = self.elsewhere.as_ref().map_or_else(String::new, |elsewhere| {
            let Elsewhere { dataset, epsilon, .. } = elsewhere;
            format!(" of '{dataset}' (which cost ε {} of its account)", round_up(*epsilon, 4))
        });
        let mut note = format!("{} private records{of} that training did not see", self.records);
        if let Some(usable) = self.usable {
            let _ = write!(note, "; noisy count of those that could be used: {usable:.0}");
        }
        if let (Some(largest), Some(cap)) = (self.largest_error, self.cap()) {
            let _ = write!(note, "; errors above {cap} count as {cap}");
            if let Some(most) = self.largest_difference.map(three_digits) {
                let of = if self.loss == Some(Loss::Squared) { " of squares" } else { "" };
                let beside = self.beside();
                let _ = write!(
                    note,
                    ", and differences{of} from {beside} above {most} count as {most}"
                );
            }
            if self.error.low > 0.8 * largest {
                note += ", as most of them do: a larger `largest_error` would show more";
            }
            if let Some(beyond) = self.beyond_cap() {
                let _ = write!(note, "; {beyond}");
            }
        }
        note
    }

    /// All scores, one per line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("released score, may be shared: {}", self.note())];
        lines.extend(self.rows().into_iter().map(|(name, value)| format!("  {name:<48} {value}")));
        lines.extend(self.verdict().map(|verdict| format!("  The model is {verdict}.")));
        lines.push(format!("  {BRACKETS}"));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::Noise;
    use super::super::{ClassScore, Loss};
    use super::*;

    fn score(value: f64, low: f64, high: f64) -> Score {
        Score { value, low, high }
    }

    fn classes() -> Scored {
        Scored {
            records: 400,
            error: score(0.225, 0.1712, 0.2843),
            public_alone: Some(score(0.31, 0.25, 0.38)),
            difference: Some(score(-0.085, -0.14, -0.03)),
            classes: vec![ClassScore { class: "yes".into(), records: 31.4, wrong: None }],
            auc: Some(score(0.8123, 0.74, 0.871)),
            ..Scored::default()
        }
    }

    #[test]
    fn errors_of_numbers_have_the_unit_of_the_label_and_shares_do_not() {
        let unit = Some("days".to_owned());
        let told = Scored {
            loss: Some(Loss::Absolute),
            unit: unit.clone(),
            largest_error: Some(20.0),
            error: score(4.25, 4.0, 4.5),
            public_alone: Some(score(5.5, 5.25, 5.75)),
            difference: Some(score(-1.25, -1.5, -1.0)),
            ..Scored::default()
        };
        assert_eq!(told.brief(), "4.25 days (4.00–4.50, cap 20.0)");
        assert!(told.sentence().starts_with(
            "mean absolute error, capped at 20.0: 4.25 days (4.00 to 4.50), public data alone 5.50 days"
        ));
        assert_eq!(Scored { unit, ..classes() }.brief(), classes().brief());
        let text = serde_json::to_string(&classes()).unwrap();
        assert!(!text.contains("unit"), "{text}");
    }

    #[test]
    fn a_score_reads_like_a_sentence() {
        let lines = classes().lines().join("\n");
        for wanted in [
            "400 private records that training did not see",
            "wrong answers, this model                        22.5 % (17.1 to 28.4)",
            "public data alone                                31.0 % (25.0 to 38.0)",
            "The model is better: 27 % (10 to 45) fewer wrong answers than public data alone.",
            "wrong among 'yes' (noisy count: 31)              too few to tell",
            "balanced accuracy                                too few of a class to tell",
            "0.812 (0.740 to 0.871)",
        ] {
            assert!(lines.contains(wanted), "{wanted}\n{lines}");
        }
        let told = Scored { balanced_accuracy: Some(score(0.7312, 0.66, 0.8)), ..classes() };
        let row =
            "balanced accuracy                                73.1 % (66.0 to 80.0)".to_owned();
        assert!(told.lines().join("\n").contains(&row));
        let worse = Scored { difference: Some(score(0.1, 0.02, 0.2)), ..classes() };
        let verdict = worse.verdict().unwrap();
        assert!(
            verdict.contains("WORSE: 32 % (6 to 65) more wrong answers")
                && verdict.contains("use public data alone"),
            "{verdict}"
        );
        assert_eq!(worse.alarm(), Some(format!("The model is {verdict}.")));
        let open = Scored { difference: Some(score(-0.1, -0.3, 0.1)), ..classes() };
        assert_eq!(open.alarm(), None);
        assert!(open.verdict().unwrap().starts_with("not clearly"));
        let alone = Scored { public_alone: None, difference: None, ..classes() };
        assert_eq!(alone.verdict(), None);
    }

    #[test]
    fn a_model_stands_beside_the_best_constant_answer_and_a_worse_one_says_so_first() {
        let of = |value| Scored {
            one_answer: Some(score(value, value - 0.05, value + 0.05)),
            ..classes()
        };
        for (value, is_below) in [(0.45, true), (0.2, false)] {
            let told = of(value);
            assert!(told.verdict().unwrap().starts_with("better: 27 %"));
            assert_eq!((told.alarm(), told.is_below_constant()), (None, Some(is_below)));
        }
        assert_eq!(classes().is_below_constant(), None);
        let worse = of(0.1).alarm().unwrap();
        assert!(
            worse.starts_with(
                "The model is WORSE than one answer for all (most common public class): 10.0 % (5.0 \
                 to 15.0); better: 27 %"
            ),
            "{worse}"
        );
        let lines = of(0.1).lines();
        let mut lines = lines.iter().filter(|it| it.contains("most common public class for all"));
        assert!(lines.any(|it| it.ends_with(" 10.0 % (5.0 to 15.0)")));
        // What earlier versions told of public records is read, and is no yardstick for private ones.
        let earlier = Scored { constant: Some(0.1), ..classes() };
        assert_eq!((earlier.alarm(), earlier.verdict()), (None, classes().verdict()));
    }

    #[test]
    fn a_promise_of_a_rehearsal_that_did_not_come_is_said_and_one_that_did_is_not() {
        let of = |value, low, high| Scored { foretold: Some(score(value, low, high)), ..classes() };
        let said = of(0.6, 0.5, 0.8).verdict().unwrap();
        let wanted = "; the rehearsal of this plan promised 60 % (50 to 80) fewer wrong answers; the score says 27 % \
                      (10 to 45) fewer wrong answers";
        assert!(said.ends_with(wanted), "{said}");
        assert!(!of(0.03, -0.1, 0.5).verdict().unwrap().contains("promised"));
        // Of squared losses the difference is one of squares.
        let squared = Scored {
            loss: Some(Loss::Squared),
            public_alone: Some(score(10.0, 9.0, 11.0)),
            difference: Some(score(-75.0, -84.0, -64.0)),
            ..of(0.03, -0.1, 0.3)
        };
        let said = squared.verdict().unwrap();
        assert!(said.ends_with("the score says 50 % (40 to 60) less error"), "{said}");
    }

    #[test]
    fn a_gain_in_a_few_letters_is_no_negative_one() {
        let told = |gap, half: f64| {
            let difference = Some(score(gap, gap - half, gap + half));
            let public_alone = Some(score(0.2, 0.15, 0.25));
            Scored { public_alone, difference, ..classes() }.brief_gain().unwrap_or_default()
        };
        assert_eq!(told(-0.08, 0.02), "40 % fewer (30–50)");
        assert_eq!(told(-0.02, 0.04), "10 % fewer (10 more to 30 fewer)");
        assert_eq!(told(0.02, 0.04), "10 % more (30 more to 10 fewer)");
        assert_eq!(told(0.04, 0.02), "20 % more (10–30)");
        assert_eq!(told(-0.09, 0.09), "0–90 % fewer", "too wide for one number");
        assert_eq!(told(0.02, 0.07), "45 % more to 25 % fewer");
    }

    #[test]
    fn a_finished_model_below_a_method_is_not_called_public_data_alone() {
        let built = Scored { builds_on_a_model: true, ..classes() };
        let shown = [built.lines().join("\n"), built.sentence(), built.verdict().unwrap()];
        for text in shown {
            assert!(
                text.contains("the model it builds on") && !text.contains("public data alone"),
                "{text}"
            );
        }
    }

    #[test]
    fn where_the_ratio_may_be_anything_no_number_is_told() {
        let of = |value, low, high| Scored { error: score(value, low, high), ..classes() };
        // The difference is certain, and its part of an error that may be nearly nothing is not.
        let public = Some(score(3.0, 0.0, 54.0));
        let difference = Some(score(45.0, 1.4, 89.0));
        let foretold = Some(score(0.1, 0.0, 0.3));
        let loss = Some(Loss::Absolute);
        let worse =
            Scored { loss, public_alone: public, difference, foretold, ..of(48.0, 26.0, 70.0) };
        let worse = Scored { largest_error: Some(201.0), ..worse };
        let said = worse.verdict().unwrap();
        assert_eq!(
            said,
            "WORSE: 45 (1 to 89) more error than public data alone; use public data alone"
        );
        assert!(of(0.4, 0.1, 0.9).verdict().unwrap().contains(NOTHING));
    }

    #[test]
    fn two_scores_are_compared_where_they_measure_the_same() {
        let good = classes();
        let bad = Scored { error: score(0.45, 0.39, 0.52), ..classes() };
        assert_eq!(good.is_clearly_less(&bad), Some(true));
        assert_eq!(bad.is_clearly_less(&good), Some(false));
        let near = Scored { error: score(0.25, 0.19, 0.31), ..classes() };
        assert_eq!(good.is_clearly_less(&near), Some(false), "the ranges overlap");
        let number = |cap| Scored { loss: Some(Loss::Absolute), largest_error: cap, ..classes() };
        assert_eq!(number(Some(77.3)).is_clearly_less(&bad), None, "classes");
        assert_eq!(number(None).is_clearly_less(&number(Some(77.3))), None);
        assert_eq!(number(Some(61.2)).is_clearly_less(&number(Some(77.3))), None);
        // With the smaller cap, the records above it may lose as much as the larger one.
        let above = Some(score(0.01, 0.0, 0.02));
        let small = Scored { error: score(20.0, 15.0, 25.0), above, ..number(Some(61.2)) };
        let of = |low, cap| Scored { error: score(27.0, low, 30.0), ..number(Some(cap)) };
        assert_eq!(small.is_clearly_less(&of(25.3, 71.2)), Some(true));
        assert_eq!(small.is_clearly_less(&of(25.1, 71.2)), Some(false));
        let raised = small.with_limit(71.2).unwrap();
        assert!((raised.value - 20.1).abs() < 1e-9 && (raised.high - 25.2).abs() < 1e-9);
        let squared = Scored { loss: Some(Loss::Squared), ..small.clone() };
        assert_eq!(squared.is_clearly_less(&small), None);
        let raised = squared.with_limit(71.2).unwrap();
        let wanted = (25.0_f64.powi(2) + 0.02 * (71.2_f64.powi(2) - 61.2_f64.powi(2))).sqrt();
        assert!((raised.high - wanted).abs() < 1e-9 && raised.low == 15.0);
        // Beside one error of public data alone, the differences from it are sharper.
        let beside = |error: f64, half: f64| Scored {
            error: score(error, error - 4.0, error + 4.0),
            public_alone: Some(score(20.0, 18.0, 22.0)),
            difference: Some(score(error - 20.0, error - 20.0 - half, error - 20.0 + half)),
            noise: Some(Noise::default()),
            ..number(Some(61.2))
        };
        assert_eq!(beside(12.0, 1.0).is_clearly_less(&beside(15.0, 1.0)), Some(true));
        assert_eq!(beside(12.0, 2.0).is_clearly_less(&beside(15.0, 2.0)), Some(false));
        assert_eq!(beside(12.0, 9.0).is_clearly_less(&beside(22.0, 9.0)), Some(true), "by errors");
        let elsewhere = Scored { public_alone: None, ..beside(15.0, 1.0) };
        assert_eq!(beside(12.0, 1.0).is_clearly_less(&elsewhere), Some(false));
        // The larger cap is a handicap, so that less error with it is less error.
        assert_eq!(small.is_clearly_less(&of(25.1, 51.2)), Some(true));
    }

    #[test]
    fn errors_of_numbers_are_in_units_of_the_label() {
        let scored = Scored {
            loss: Some(Loss::Absolute),
            largest_error: Some(61.23),
            usable: Some(391.6),
            error: score(12.34, 10.9, 13.7),
            public_alone: Some(score(20.0, 18.0, 22.0)),
            difference: Some(score(-7.7, -9.0, -6.0)),
            ..classes()
        };
        let lines = scored.lines().join("\n");
        for wanted in [
            "could be used: 392; errors above 61.2 count as 61.2",
            "mean absolute error, capped at 61.2, this model  12.3 (10.9 to 13.7)",
            "better: 38.5 % (30.0 to 45.0) less error than public data alone",
        ] {
            assert!(lines.contains(wanted), "{wanted}\n{lines}");
        }
        // An earlier version did not tell how often the cap cuts.
        assert_eq!(scored.beyond_cap(), None);
        let told = Scored { above: Some(score(0.021, 0.0, 0.046)), ..scored.clone() };
        let share = "2.1 % (0.0 to 4.6) of the errors of this model are at or above the cap";
        assert_eq!(told.beyond_cap().as_deref(), Some(share));
        let bounded = told.bounded(Some(161.23));
        let beyond = format!("{share}; without it 10.9 to 18.3, if no error is above 161");
        for shown in [bounded.sentence(), bounded.note(), bounded.lines().join("\n")] {
            assert!(shown.contains(&beyond), "{shown}");
        }
        // The cap is wherever the error is.
        let brief = "12.3 (10.9–13.7, cap 61.2)";
        assert_eq!(scored.brief(), brief);
        assert!(scored.sentence().starts_with("mean absolute error, capped at 61.2: 12.3 (10.9"));
    }
}
