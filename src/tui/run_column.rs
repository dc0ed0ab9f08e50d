//! The columns of a table of archived runs.

use std::cmp::Ordering;

use super::widgets::number::compact_up;
use crate::evaluation::Scored;
use crate::methods::{self, Series};
use crate::privacy::Watch;
use crate::privacy::accountant::delta_words;
use crate::session::ArchivedRun;
use crate::session::archive::{CHOICE, best, cell, epsilon, last, state_words};
use crate::session::slurm::QUEUE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunColumn {
    Plan,
    Method,
    Epsilon,
    Delta,
    Score,
    PublicLast,
    PublicBest,
    PrivateLast,
    PrivateBest,
    /// The error of the private training records without privacy, on the same held-out records.
    NoPrivacy,
    /// A further score beside the last error.
    Further(Series),
    Steps,
    Outcome,
    Time,
    Tag,
    Run,
}

/// The sort key of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    Number(f64),
    Text(String),
    Missing,
}

impl SortValue {
    /// Numbers, then text, then missing values.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => natural(&a.to_lowercase(), &b.to_lowercase()),
            (Self::Missing, Self::Missing) => Ordering::Equal,
            (Self::Number(_), _) | (Self::Text(_), Self::Missing) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

/// Numbers within a text count as numbers: seed 2 comes before seed 10.
fn natural(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| -> Vec<(f64, String)> {
        let is_digit = |c: &char| c.is_ascii_digit();
        let letters: Vec<char> = text.chars().collect();
        let runs = letters.chunk_by(|x, y| is_digit(x) == is_digit(y));
        runs.map(|run| {
            let run: String = run.iter().collect();
            (run.parse().unwrap_or(f64::INFINITY), run)
        })
        .collect()
    };
    let compared = parts(a)
        .into_iter()
        .zip(parts(b))
        .map(|((x, one), (y, other))| x.total_cmp(&y).then_with(|| one.cmp(&other)));
    compared.fold(Ordering::Equal, Ordering::then).then_with(|| a.len().cmp(&b.len()))
}

impl RunColumn {
    pub const ALL: [Self; 21] = [
        Self::Plan,
        Self::Method,
        Self::Epsilon,
        Self::Delta,
        Self::Score,
        Self::PublicLast,
        Self::PublicBest,
        Self::PrivateLast,
        Self::PrivateBest,
        Self::NoPrivacy,
        Self::Further(Series::PublicError),
        Self::Further(Series::PrivateError),
        Self::Further(Series::PublicBalancedAccuracy),
        Self::Further(Series::PrivateBalancedAccuracy),
        Self::Further(Series::PublicAuc),
        Self::Further(Series::PrivateAuc),
        Self::Steps,
        Self::Outcome,
        Self::Time,
        Self::Tag,
        Self::Run,
    ];

    /// The columns to show: exact numbers only if they may be seen.
    pub fn shown(exact: bool) -> Vec<Self> {
        Self::ALL.into_iter().filter(|column| exact || !column.is_exact()).collect()
    }

    /// Whether the column has any values: further scores are for numbers or for classes, and
    /// earlier builds did not compute them.
    pub fn has_any(self, runs: &[ArchivedRun], watch: &Watch) -> bool {
        let some = matches!(self, Self::NoPrivacy | Self::Further(_));
        !some || runs.iter().any(|run| self.value(run, watch) != SortValue::Missing)
    }

    /// The title, and the place in the order of importance, for tables in little room.
    fn facts(self) -> (&'static str, u8) {
        match self {
            Self::Plan => ("plan", 0),
            Self::Epsilon => ("ε", 1),
            Self::Score => ("score", 2),
            Self::Method => ("method", 3),
            Self::Outcome => ("outcome", 4),
            Self::PrivateLast => ("on private ◆", 5),
            Self::PublicLast => ("on public", 6),
            Self::Time => ("time (UTC)", 7),
            Self::Steps => ("steps", 8),
            Self::Tag => ("tag", 9),
            Self::PublicBest => ("best on public", 10),
            Self::PrivateBest => ("best on private ◆", 11),
            Self::NoPrivacy => ("no privacy ◆", 12),
            Self::Delta => ("δ", 13),
            Self::Further(Series::PrivateError) => ("RMSE ◆", 14),
            Self::Further(Series::PublicError) => ("RMSE", 15),
            Self::Further(Series::PrivateAuc) => ("AUC ◆", 16),
            Self::Further(Series::PrivateBalancedAccuracy) => ("balanced % ◆", 17),
            Self::Further(Series::PublicAuc) => ("AUC", 18),
            Self::Further(Series::PublicBalancedAccuracy) => ("balanced %", 19),
            Self::Further(series) => (series.words(), 20),
            Self::Run => ("run", 21),
        }
    }

    pub fn title(self) -> &'static str {
        self.facts().0
    }

    /// The head of a column of exact numbers beside scores that have a cap, whole or for little room.
    pub fn uncapped_heads(self) -> Option<[&'static str; 2]> {
        (self == Self::PrivateLast).then_some(["private, uncapped ◆", "uncapped ◆"])
    }

    /// Whether the column has this head.
    pub fn has_head(self, head: &str) -> bool {
        self.title() == head || self.uncapped_heads().is_some_and(|heads| heads.contains(&head))
    }

    /// Every column, the most important first.
    pub fn by_weight() -> Vec<Self> {
        let mut columns = Self::ALL.to_vec();
        columns.sort_by_key(|column| column.facts().1);
        columns
    }

    pub fn is_exact(self) -> bool {
        match self {
            Self::PrivateLast | Self::PrivateBest | Self::NoPrivacy => true,
            // Anything not from public records counts as exact.
            Self::Further(Series::PublicError) => false,
            Self::Further(series) => !Series::BESIDE_PUBLIC.contains(&series),
            _ => false,
        }
    }

    pub fn is_number(self) -> bool {
        use RunColumn::{Method, Outcome, Plan, Run, Tag, Time};
        !matches!(self, Plan | Method | Outcome | Time | Tag | Run)
    }

    /// Whether the best run, or the newest one, has the largest value.
    pub fn is_best_when_large(self) -> bool {
        use Series::{PrivateAuc, PrivateBalancedAccuracy, PublicAuc, PublicBalancedAccuracy};
        matches!(
            self,
            Self::Time
                | Self::Further(
                    PublicBalancedAccuracy | PrivateBalancedAccuracy | PublicAuc | PrivateAuc
                )
        )
    }

    /// The value for sorting and exports.
    pub fn value(self, run: &ArchivedRun, watch: &Watch) -> SortValue {
        let number = |x: Option<f64>| x.map_or(SortValue::Missing, SortValue::Number);
        let text = |text: &str| match text {
            "" => SortValue::Missing,
            text => SortValue::Text(text.to_owned()),
        };
        let plan = run.plan.as_ref();
        match self {
            Self::Plan => text(plan.map_or("", |plan| &plan.name)),
            Self::Method if run.choice.as_ref().is_some_and(|it| !it.is_of_plan) => text(CHOICE),
            Self::Method => text(plan.map_or("", |plan| methods::name_of(&plan.method))),
            Self::Epsilon => number(epsilon(run)),
            Self::Delta => {
                number(run.guarantee.or(plan.map(|plan| plan.target)).map(|target| target.delta))
            }
            Self::Score => number(run.told().map(|told| told.error.value)),
            Self::PublicLast => number(last(run, run.error_series()[0], watch)),
            Self::PublicBest => number(best(run, run.error_series()[0], watch)),
            Self::PrivateLast => number(last(run, run.error_series()[1], watch)),
            Self::PrivateBest => number(best(run, run.error_series()[1], watch)),
            Self::NoPrivacy => {
                let errors = run.errors.as_ref().and_then(|errors| errors.reveal(watch));
                number(errors.and_then(|errors| errors.no_privacy))
            }
            // The error that is already in a column of its own.
            Self::Further(series) if run.error_series().contains(&series) => SortValue::Missing,
            Self::Further(series) => number(last(run, series, watch)),
            // Those of its candidates may be secret.
            Self::Steps if run.choice.is_some() => SortValue::Missing,
            Self::Steps => SortValue::Number(run.steps as f64),
            Self::Outcome => text(&state(run)),
            Self::Time => text(&run.time),
            Self::Tag => text(&run.tag),
            Self::Run => text(&run.id.0),
        }
    }

    /// The text in the table.
    pub fn text(self, run: &ArchivedRun, watch: &Watch) -> String {
        match (self, self.value(run, watch)) {
            (_, SortValue::Missing) => "–".to_owned(),
            (Self::Score, _) => run.told().map_or_else(String::new, Scored::brief),
            (Self::Epsilon, SortValue::Number(x)) => compact_up(x),
            (Self::Delta, SortValue::Number(x)) => delta_words(x),
            (Self::Steps, SortValue::Number(x)) => match run.of {
                of if of > run.steps => format!("{x} of {of}"),
                _ => x.to_string(),
            },
            (Self::Further(series), SortValue::Number(x)) => cell(run.task(), series, x),
            (_, SortValue::Number(x)) => cell(run.task(), Series::PublicError, x),
            (Self::Time, SortValue::Text(time)) => time.chars().take(16).collect(),
            (_, SortValue::Text(text)) => text,
        }
    }
}

/// The state of a run, or the queue's answer for a waiting task.
fn state(run: &ArchivedRun) -> String {
    let trouble = run.trouble.as_deref().unwrap_or_default();
    match trouble.strip_prefix(QUEUE) {
        Some(queue) => queue.to_owned(),
        None => state_words(&run.outcome).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_sort_as_numbers_and_names_as_letters() {
        let mut names = ["p · seed 10", "p · seed 2", "a", "p · seed 2 b", "p"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "p", "p · seed 2", "p · seed 2 b", "p · seed 10"]);
    }
}
