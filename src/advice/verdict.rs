//! Is the model good? Compares its error with that of public data alone, of private data without
//! privacy, and of the trivial answer, in words. The input is plain numbers and their standing.

use serde::{Deserialize, Serialize};

use crate::data::Task;
use crate::evaluation::{FurtherScores, Loss};
use crate::plot::number::{compact, four_digits, percent};

/// Errors that differ by less than this share count as the same.
const SAME: f64 = 0.03;
/// Half the width of an interval that contains 95 of 100 normal deviates.
const DEVIATES: f64 = 1.96;

/// Errors of several models on the same held-out records: in label units, or shares of wrong
/// answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    pub task: Task,
    /// The kind of error of numbers: that by which the plan is judged. Earlier versions had root
    /// mean squares.
    #[serde(default = "squared")]
    pub loss: Loss,
    pub model: f64,
    /// The error of a model of the public records alone.
    pub public_alone: Option<f64>,
    /// The error of a model of the private records without any noise.
    pub no_privacy: Option<f64>,
    /// The error of one answer for all: the mean, the median for absolute errors, or the most common class.
    pub trivial: Option<f64>,
    /// The number of held-out records.
    pub records: Option<usize>,
    /// The number of their persons, if a person may have several.
    pub persons: Option<usize>,
    /// Further scores. Earlier versions did not compute them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<FurtherErrors>,
}

fn squared() -> Loss {
    Loss::Squared
}

/// The further scores of several models on the same held-out records.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FurtherErrors {
    pub model: FurtherScores,
    pub public_alone: Option<FurtherScores>,
    pub no_privacy: Option<FurtherScores>,
}

/// How good the model is, for readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Unsure,
    Bad,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub tone: Tone,
    /// The first is the shortest answer; the others follow from further numbers.
    pub sentences: Vec<String>,
}

impl Verdict {
    pub fn text(&self) -> String {
        self.sentences.join(" ")
    }
}

/// An error in the cell of a table: a share of wrong answers in percent, or four digits.
pub fn error_cell(task: Option<Task>, error: f64) -> String {
    match task {
        Some(Task::Classification) => percent(error),
        Some(Task::Regression) | None => four_digits(error),
    }
}

impl Errors {
    /// The text of an error: `22.5 % (9 of 40)`, or a number in label units.
    pub fn text(&self, error: f64) -> String {
        match (self.task, self.records) {
            (Task::Regression, _) => compact(error),
            (Task::Classification, Some(records)) => {
                let wrong = (error * records as f64).round();
                format!("{} ({wrong} of {records})", percent(error))
            }
            (Task::Classification, None) => percent(error),
        }
    }

    /// The further scores of the model, each compared with those of the others: `Mean absolute
    /// error 31 ◆ (public data alone 52, no privacy 28).`
    pub fn further_sentences(&self) -> Vec<String> {
        let Some(further) = &self.further else { return Vec::new() };
        let others = [
            ("public data alone", further.public_alone),
            ("private data without privacy", further.no_privacy),
        ];
        let sentence = |(name, value): (&'static str, String)| {
            let beside = others.iter().filter_map(|(whose, scores)| {
                let rows = scores.as_ref()?.rows();
                let (_, value) = rows.into_iter().find(|(other, _)| *other == name)?;
                Some(format!("{whose} {value}"))
            });
            let beside = beside.collect::<Vec<_>>().join(", ");
            let beside = if beside.is_empty() { beside } else { format!(" ({beside})") };
            let mut sentence = format!("{name} {value}{beside} ◆.");
            sentence[..1].make_ascii_uppercase();
            sentence
        };
        further.model.rows().into_iter().map(sentence).collect()
    }

    fn short(&self, error: f64) -> String {
        match self.task {
            Task::Regression => compact(error),
            Task::Classification => percent(error),
        }
    }

    /// The standard deviation of an error over the choice of held-out records. For a root mean
    /// square of n normal errors it is 1/√(2n) of the error, for the mean of their sizes √(π/2 − 1)/√n
    /// of it, and for a share p it is √(p(1−p)/n). If there are persons, n counts persons: errors of
    /// one person's records may all be alike.
    fn deviation(&self, error: f64) -> Option<f64> {
        let records = self.persons.or(self.records).filter(|count| *count > 0)? as f64;
        Some(match self.task {
            Task::Regression if self.loss == Loss::Absolute => {
                error * ((std::f64::consts::FRAC_PI_2 - 1.0) / records).sqrt()
            }
            Task::Regression => error / (2.0 * records).sqrt(),
            // With two right and two wrong answers added (Agresti and Coull): none wrong among a
            // few does not mean that none ever is.
            Task::Classification => {
                let share = (error * records + 2.0) / (records + 4.0);
                (share * (1.0 - share) / (records + 4.0)).sqrt()
            }
        })
    }

    /// Whether two errors differ by more than chance explains, as if each were measured on separate
    /// records; on the same records they would be easier to distinguish.
    fn differ(&self, one: f64, other: f64) -> bool {
        match (self.deviation(one), self.deviation(other)) {
            (Some(a), Some(b)) => (one - other).abs() > DEVIATES * a.hypot(b),
            _ => true,
        }
    }

    /// Judges the model in sentences, without advice, because exact numbers are not for choosing.
    pub fn verdict(&self) -> Verdict {
        let (mut tone, mut sentences) = (Tone::Unsure, Vec::new());
        if self.model <= 0.0 || self.public_alone.is_some_and(|public| public <= 0.0) {
            sentences.push(
                "No error at all ◆: look for a column that is the answer under another name."
                    .to_owned(),
            );
        }
        let kind = match (self.task, self.loss) {
            (Task::Classification, _) => "",
            (Task::Regression, Loss::Absolute) => "mean absolute error ",
            (Task::Regression, Loss::Squared) => "RMSE ",
        };
        let against = |other: f64| {
            format!("({kind}{} against {} ◆)", self.short(self.model), self.short(other))
        };
        if let Some(public) = self.public_alone {
            let (gained, sentence) = self.against_public(public, &against(public));
            tone = gained;
            sentences.push(sentence);
        }
        if let Some(trivial) = self.trivial {
            // Released scores have that of public records.
            let what = match (self.task, self.loss) {
                (Task::Classification, _) => "one answer for all, the most common private class",
                (Task::Regression, Loss::Absolute) => "one answer for all, the private median",
                (Task::Regression, Loss::Squared) => "one answer for all, the private mean",
            };
            if self.model >= (1.0 - SAME) * trivial {
                tone = Tone::Bad;
                let sentence = format!("No better than {what} {}.", against(trivial));
                sentences.insert(0, sentence);
            } else if !self.differ(self.model, trivial) {
                if tone == Tone::Good {
                    tone = Tone::Unsure;
                }
                let sentence = format!(
                    "Not clearly better than {what} {}: too few records were held out to tell.",
                    against(trivial)
                );
                sentences.insert(0, sentence);
            } else {
                sentences.push(format!("{} {}.", self.below(trivial, what), against(trivial)));
            }
        }
        if let Some(best) = self.no_privacy.filter(|best| *best > 0.0) {
            let above = self.model / best - 1.0;
            let chance = if self.differ(self.model, best) { "" } else { ", which may be chance" };
            let told = format!("({} ◆)", self.short(best));
            sentences.push(if above > SAME {
                format!(
                    "{:.0} % above what private data without privacy would give {told}{chance}.",
                    100.0 * above
                )
            } else if above < -SAME {
                format!(
                    "{:.0} % below what private data alone would give without privacy {told}{}.",
                    -100.0 * above,
                    if chance.is_empty() { ": public data help" } else { chance }
                )
            } else {
                format!("As good as private data without privacy {told}.")
            });
        }
        if let (Some(records), Some(deviation)) = (self.records, self.deviation(self.model)) {
            let about = DEVIATES * deviation;
            let about = match self.task {
                Task::Regression => compact(about),
                Task::Classification => format!("{:.1} percentage points", 100.0 * about),
            };
            let of = self.persons.map_or_else(String::new, |count| format!(" of {count} persons"));
            sentences.push(format!(
                "{records} records{of} were held out: the error is known to ± {about} (95 %) ◆."
            ));
        }
        Verdict { tone, sentences }
    }

    fn against_public(&self, public: f64, numbers: &str) -> (Tone, String) {
        let change = if public > 0.0 { self.model / public - 1.0 } else { 0.0 };
        if change.abs() <= SAME || public <= 0.0 {
            return (Tone::Unsure, format!("No better than public data alone {numbers}."));
        }
        if !self.differ(self.model, public) {
            let which = if change < 0.0 { "A little less" } else { "A little more" };
            let sentence =
                format!("{which} error than public data alone {numbers}, which may be chance.");
            return (Tone::Unsure, sentence);
        }
        if change > 0.0 {
            let sentence =
                format!("{:.0} % MORE error than public data alone {numbers}.", 100.0 * change);
            return (Tone::Bad, sentence);
        }
        (Tone::Good, format!("{} {numbers}.", self.below(public, "public data alone")))
    }

    /// `Half the error of …`
    fn below(&self, other: f64, what: &str) -> String {
        match self.model / other {
            share if share < 0.33 => format!("Less than a third of the error of {what}"),
            share if share < 0.45 => format!("Less than half the error of {what}"),
            share if share <= 0.55 => format!("Half the error of {what}"),
            share => format!("{:.0} % less error than {what}", 100.0 * (1.0 - share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINTER: Errors = Errors {
        task: Task::Regression,
        loss: Loss::Squared,
        model: 49.0,
        public_alone: Some(100.0),
        no_privacy: Some(42.0),
        trivial: Some(160.0),
        records: Some(400),
        persons: None,
        further: None,
    };

    #[test]
    fn a_good_model_is_told_against_all_three_with_its_mark() {
        let verdict = WINTER.verdict();
        assert_eq!(verdict.tone, Tone::Good);
        assert_eq!(
            verdict.sentences,
            [
                "Half the error of public data alone (RMSE 49 against 100 ◆).",
                "Less than a third of the error of one answer for all, the private mean (RMSE 49 against 160 ◆).",
                "17 % above what private data without privacy would give (42 ◆).",
                "400 records were held out: the error is known to ± 3.4 (95 %) ◆.",
            ]
        );
        let of_persons = Errors { persons: Some(100), ..WINTER }.verdict().text();
        let told =
            "400 records of 100 persons were held out: the error is known to ± 6.79 (95 %) ◆.";
        assert!(of_persons.contains(told), "{of_persons}");
    }

    #[test]
    fn further_scores_stand_beside_those_of_the_others_under_the_same_mark() {
        let scores = |share, auc| FurtherScores {
            balanced_accuracy: Some(share),
            auc: Some(auc),
            ..FurtherScores::default()
        };
        let one_class = FurtherScores { auc: None, one_class: true, ..scores(0.7, 0.0) };
        let further = FurtherErrors {
            model: scores(0.775, 0.8123),
            public_alone: Some(scores(0.7, 0.75)),
            no_privacy: None,
        };
        let errors = Errors { further: Some(further), ..WINTER };
        assert_eq!(
            errors.further_sentences(),
            [
                "Balanced accuracy 77.5 % (public data alone 70.0 %) ◆.",
                "AUC 0.812 (public data alone 0.750) ◆.",
            ]
        );
        let alone = FurtherErrors { model: one_class, public_alone: None, no_privacy: None };
        let errors = Errors { further: Some(alone), ..WINTER };
        let told = errors.further_sentences().join(" ");
        assert!(told.ends_with("AUC none, as all records are of one class ◆."), "{told}");
        // A file of an earlier version.
        let old = r#"{"task":"regression","model":49.0}"#;
        let old: Errors = serde_json::from_str(old).unwrap();
        assert!(old.further.is_none() && old.further_sentences().is_empty());
    }

    #[test]
    fn a_small_hold_out_makes_no_great_claims() {
        let few = Errors {
            task: Task::Classification,
            loss: Loss::Absolute,
            model: 0.225,
            public_alone: Some(0.3),
            no_privacy: None,
            trivial: Some(0.5),
            records: Some(40),
            persons: None,
            further: None,
        };
        assert_eq!(few.text(few.model), "22.5 % (9 of 40)");
        // A table shows a rate in the same way as the verdict.
        assert_eq!(error_cell(Some(few.task), few.model), "22.5 %");
        assert_eq!(error_cell(Some(Task::Regression), 17_391_870.9), "17.39M");
        let verdict = few.verdict();
        assert_eq!(verdict.tone, Tone::Unsure);
        assert!(verdict.sentences[0].contains("which may be chance"), "{verdict:?}");
        let many = Errors { records: Some(4000), ..few };
        assert_eq!(many.verdict().tone, Tone::Good);
        assert!(many.verdict().sentences[0].starts_with("25 % less error"));
    }

    #[test]
    fn a_bad_model_is_called_bad_first() {
        let worse = Errors { model: 150.0, trivial: None, ..WINTER }.verdict();
        assert_eq!(worse.tone, Tone::Bad);
        assert!(worse.sentences[0].contains("50 % MORE error"), "{worse:?}");
        let useless = Errors { model: 159.0, public_alone: Some(300.0), ..WINTER };
        let useless = useless.verdict();
        assert_eq!(useless.tone, Tone::Bad);
        assert!(
            useless.sentences[0].starts_with("No better than one answer for all, the private mean")
        );
        for told in [&worse, &useless] {
            // Exact numbers are not for choosing.
            assert!(!told.sentences[0].contains("use "), "{told:?}");
        }
        let same = Errors { model: 101.0, trivial: None, ..WINTER }.verdict();
        assert_eq!(
            (same.tone, same.sentences[0].as_str()),
            (Tone::Unsure, "No better than public data alone (RMSE 101 against 100 ◆).")
        );
    }

    #[test]
    fn a_smaller_error_within_chance_is_not_called_no_better() {
        let near = Errors { model: 150.0, trivial: Some(160.0), records: Some(30), ..WINTER };
        let verdict = near.verdict();
        assert_ne!(verdict.tone, Tone::Good);
        assert!(
            verdict.sentences[0].starts_with("Not clearly better than one answer"),
            "{verdict:?}"
        );
    }

    #[test]
    fn no_error_at_all_is_suspicious_and_not_certain() {
        let perfect = Errors {
            loss: Loss::Squared,
            task: Task::Classification,
            model: 0.0,
            public_alone: Some(0.0),
            no_privacy: Some(0.0),
            trivial: Some(0.5),
            records: Some(61),
            persons: None,
            further: None,
        };
        let verdict = perfect.verdict();
        assert_eq!(verdict.tone, Tone::Unsure);
        assert!(verdict.sentences[0].contains("the answer under another name"), "{verdict:?}");
        let last = verdict.sentences.last().unwrap();
        assert!(last.ends_with("± 4.2 percentage points (95 %) ◆."), "{last}");
    }

    #[test]
    fn numbers_that_are_not_there_are_not_spoken_of() {
        let alone =
            Errors { public_alone: None, no_privacy: None, trivial: None, records: None, ..WINTER };
        assert!(alone.verdict().sentences.is_empty());
        let odd = Errors { public_alone: Some(0.0), no_privacy: Some(0.0), ..alone };
        assert_eq!(odd.verdict().sentences.len(), 2);
    }
}
