//! Which of several models to take, and what may be told of it.

mod names;
mod scored;
mod telling;
#[cfg(test)]
mod tests;

pub use names::{namesakes, own_epsilon, plan_of, usual_name};

use self::scored::Choice;
use super::question::{Question, is_public};
use crate::data::Task;
use crate::evaluation::words::less_error;
use crate::privacy::Watch;
use crate::privacy::ledger::{RunId, Total};
use crate::rehearsal::advice::capital;
use crate::store::ArchivedRun;
use crate::store::archive::last;
use crate::verdict::error_cell;

/// The caution beside exact numbers of several runs.
pub const NOT_FOR_CHOICE: &str = "◆ is not for choosing or telling.";

/// Why a run has another error beside others than by itself.
pub const JOINED: &str = "All scores of the same held-out records are joined: the same public \
                          data alone have one error, and noise is less. What each score says by \
                          itself is in its certificate.";

const PUBLIC_ALONE: &str = "public data alone";

/// What the ranges of an answer are.
const RANGES: &str = "ranges are 95 %";

/// The model to take for one private dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The model to take.
    pub model: String,
    /// The dataset and the kind of error, if there are several.
    pub about: String,
    /// How good the model is, or why there is none.
    pub verdict: String,
    /// How sure that is, in sentences.
    pub reasons: Vec<String>,
    /// What may be told, and to whom.
    pub telling: String,
    /// Whether exact numbers decided.
    pub is_exact: bool,
    /// The run that is taken.
    pub taken: Option<RunId>,
}

impl Answer {
    fn of(model: &str, verdict: String, telling: String) -> Self {
        let (model, about) = (model.to_owned(), String::new());
        Self { model, about, verdict, reasons: Vec::new(), telling, is_exact: false, taken: None }
    }

    /// Which model to take, why, and what may be told: each a line with a head. Every display shows it
    /// so.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let Self { model, about, verdict, reasons, telling, .. } = self;
        let lines = [
            (TAKE, format!("{model}{about}: {verdict}")),
            ("Why", reasons.join(" ")),
            ("Share", telling.clone()),
        ];
        lines.into_iter().filter(|(_, words)| !words.is_empty()).collect()
    }

    /// All lines in one text.
    pub fn text(&self) -> String {
        let line = |(head, words): (&str, String)| format!("{head} {words}");
        self.lines().into_iter().map(line).collect::<Vec<_>>().join(" ")
    }
}

/// The head of the line with the model.
pub const TAKE: &str = "Take";

/// The total of the account that a run is charged to, if its ledger is there.
pub type Totals<'a> = &'a dyn Fn(&RunId) -> Option<Total>;

/// The model to take for each private dataset, that of the first run first. Released scores decide;
/// where there are none, exact errors are compared if they may be seen. No number is compared across
/// datasets, labels or kinds of error. `name` gets the other runs whose plan has the same name.
pub fn answers(
    runs: &[&ArchivedRun],
    name: impl Fn(&ArchivedRun, &[&ArchivedRun]) -> String,
    total: Totals,
    watch: &Watch,
) -> Vec<Answer> {
    let mut groups: Vec<(Question, Vec<&ArchivedRun>)> = Vec::new();
    for run in runs.iter().filter(|run| run.told().is_some() || run.is_settled()) {
        let question = Question::of(run);
        match groups.iter_mut().find(|(other, _)| *other == question) {
            Some((_, group)) => group.push(run),
            None => groups.push((question, vec![run])),
        }
    }
    let questions: Vec<Question> = groups.iter().map(|(question, _)| *question).collect();
    // Exact errors decide nothing beside a score on the same data.
    groups.retain(|(own, _)| {
        own.is_scored || !questions.iter().any(|it| it.is_scored && it.is_on_data_of(own))
    });
    let several = groups.len() > 1;
    let of_one = |(question, group): &(Question, Vec<&ArchivedRun>)| {
        let named = |run: &ArchivedRun| name(run, &namesakes(run, group));
        let mut answer = if question.is_scored {
            // Runs of public data alone may have no score.
            let is_own = |run: &&ArchivedRun| {
                let own = Question::of(run);
                is_public(run) && own.is_on_data_of(question) && own.label == question.label
            };
            let of_public_data = runs.iter().copied().filter(is_own).collect();
            Choice::new(group, total, of_public_data, &named).answer()
        } else {
            exact(group, named, watch)
        };
        if several {
            let Question { private, test, measure, .. } = *question;
            let alike = groups.iter().filter(|(other, _)| other.is_on_data_of(question)).count();
            let by = if alike > 1 { format!(" by {measure}") } else { String::new() };
            answer.about = format!(" for '{}'{by}", test.unwrap_or(private));
        }
        answer
    };
    groups.iter().map(of_one).collect()
}

/// The answer without a score: exact errors of the two best, if they may be seen.
fn exact(runs: &[&ArchivedRun], name: impl Fn(&ArchivedRun) -> String, watch: &Watch) -> Answer {
    let error = |run: &&ArchivedRun| last(run, run.error_series()[1], watch);
    let mut seen: Vec<(&ArchivedRun, f64)> =
        runs.iter().filter_map(|run| Some((*run, error(run)?))).collect();
    seen.sort_by(|one, other| one.1.total_cmp(&other.1));
    let none = "no score was released, so nothing says which model to take.";
    let telling = "nothing about how good they are.".to_owned();
    let mut answer = Answer::of("nothing yet", none.to_owned(), telling);
    answer.is_exact = seen.len() > 1;
    if let [(best, own), (second, other), ..] = seen.as_slice() {
        let task = best.task();
        let less = less_error([*own, *other], task != Some(Task::Classification));
        let [own, other] = [*own, *other].map(|error| error_cell(task, error));
        let [one, two] = [best, second].map(|run| name(run));
        let found = format!("{one} has {less} than {two} ({own} against {other}, exact).");
        answer.reasons.push(capital(&found));
    }
    answer
}
