//! The score that a plan asks for.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Fewer held-out records say almost nothing.
pub const FEWEST: usize = 20;

/// The released score of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// How it is paid for.
    #[serde(default)]
    pub pay: Pay,
    /// Whether the share of wrong answers in each class is also released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_class: bool,
    /// Whether the AUC is also released: how well the probabilities order the records of two
    /// classes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auc: bool,
    /// The error of a number.
    #[serde(default, skip_serializing_if = "Loss::is_default")]
    pub loss: Loss,
    /// The limit of errors, in units of the label; larger ones count as this. By default
    /// [`super::UsualErrors::cap`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_error: Option<f64>,
}

/// How a score is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pay {
    /// The least noise that costs nothing: a record is in training or held out, never both, and the
    /// noise of training covers that of the score.
    #[default]
    Covered,
    /// This share of the run's budget.
    Share(f64),
    /// This ε of its own, inside the run's ε.
    Epsilon(f64),
}

/// The error of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Size of the error: the mean absolute error.
    #[default]
    Absolute,
    /// Square of the error; the root of the mean is reported.
    Squared,
}

impl Pay {
    /// The proposal for a score that training does not cover: a tenth of the run's ε.
    pub const OFFERED: Self = Self::Share(0.1);
}

impl Loss {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The loss of an error that is this share of the cap, in \[0, 1\].
    pub fn of(self, share: f64) -> f64 {
        let share = share.min(1.0);
        match self {
            Self::Absolute => share,
            Self::Squared => share * share,
        }
    }

    /// The mean error, if this is the mean loss.
    pub fn error(self, cap: f64, mean: f64) -> f64 {
        match self {
            Self::Absolute => cap * mean,
            Self::Squared => cap * mean.sqrt(),
        }
    }

    /// Name of the loss in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Absolute => "mean absolute error",
            Self::Squared => "root mean squared error",
        }
    }
}

/// The text in forms, which [`Evaluation::parse`] reads: `free, by class, AUC`.
impl std::fmt::Display for Evaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pay {
            Pay::Covered => f.write_str("free")?,
            Pay::Share(share) => write!(f, "share {share}")?,
            Pay::Epsilon(epsilon) => write!(f, "ε {epsilon}")?,
        }
        let squared = self.loss == Loss::Squared;
        for (given, word) in [(self.per_class, BY_CLASS), (self.auc, AUC), (squared, SQUARED)] {
            if given {
                write!(f, ", {word}")?;
            }
        }
        self.largest_error.map_or(Ok(()), |largest| write!(f, ", {UP_TO} {largest}"))
    }
}

const BY_CLASS: &str = "by class";
const AUC: &str = "AUC";
const SQUARED: &str = "squared";
const UP_TO: &str = "up to";

/// The syntax of [`Evaluation::parse`].
pub const FORM: &str = "none, or free, or a share of the run's ε such as 'share 0.1', or an ε \
                        such as 'ε 0.2'; then, after commas, 'by class', 'AUC', 'squared', 'up \
                        to 60' (the largest error that counts)";

impl Evaluation {
    /// Reads the output of [`std::fmt::Display`]; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(',').map(str::trim);
        let pay = parts.next()?;
        let number = |start: &str, text: &str| {
            text.strip_prefix(start)?.trim().parse::<f64>().ok().filter(|x| x.is_finite())
        };
        let pay = match pay {
            "free" => Pay::Covered,
            other => number("share", other)
                .map(Pay::Share)
                .or_else(|| number("ε", other).map(Pay::Epsilon))?,
        };
        let mut parsed = Self { pay, ..Self::default() };
        for part in parts {
            match part {
                BY_CLASS => parsed.per_class = true,
                AUC => parsed.auc = true,
                SQUARED => parsed.loss = Loss::Squared,
                other => parsed.largest_error = Some(number(UP_TO, other)?),
            }
        }
        parsed.check().ok().map(|()| parsed)
    }

    /// Refuses numbers that mean nothing.
    pub fn check(&self) -> Result<()> {
        match self.pay {
            Pay::Share(share) if !(share > 0.0 && share < 1.0) => {
                return Err(Error::usage(format!(
                    "the score gets a share of {share} of the budget"
                ))
                .cure("give a share between 0 and 1, such as 0.1"));
            }
            Pay::Epsilon(epsilon) if !(epsilon > 0.0 && epsilon.is_finite()) => {
                return Err(Error::usage(format!("the score gets an ε of {epsilon}"))
                    .cure("give a number above 0, below the run's ε"));
            }
            _ => {}
        }
        match self.largest_error {
            Some(largest) if !(largest > 0.0 && largest.is_finite()) => {
                Err(Error::usage(format!("the largest error that counts is {largest}"))
                    .cure("give a number above 0 in units of the label, or leave it out"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_shows_is_what_it_reads() {
        for pay in [Pay::Covered, Pay::Share(0.1), Pay::Epsilon(0.25)] {
            for bits in 0..8_u32 {
                let asked = Evaluation {
                    pay,
                    per_class: bits & 1 == 1,
                    auc: bits & 2 == 2,
                    loss: if bits & 4 == 4 { Loss::Squared } else { Loss::Absolute },
                    largest_error: (bits & 4 == 4).then_some(60.5),
                };
                assert_eq!(Evaluation::parse(&asked.to_string()), Some(asked), "{asked}");
            }
        }
        for wrong in ["", "none", "share", "share 2", "ε -1", "free, more", "free, up to 0"] {
            assert_eq!(Evaluation::parse(wrong), None, "{wrong}");
        }
    }
}
