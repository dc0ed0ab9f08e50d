//! What a run answers: whose errors can be compared, and with which public data.

use crate::data::DatasetDefinition;
use crate::evaluation::Scored;
use crate::store::ArchivedRun;

/// What runs have in common whose errors can be compared.
#[derive(Debug, PartialEq, Clone, Copy)]
pub struct Question<'a> {
    /// The private dataset, and the one that scores, if it is another one.
    pub private: &'a str,
    pub test: Option<&'a str>,
    pub label: Option<&'a str>,
    filter: Option<&'a str>,
    pub measure: &'a str,
    pub is_scored: bool,
}

impl<'a> Question<'a> {
    pub fn of(run: &'a ArchivedRun) -> Self {
        let private = run.plan.as_ref().map_or("", |plan| plan.private.as_str());
        let score = run.told();
        let test = score.and_then(|it| it.elsewhere.as_ref()).map(|it| it.dataset.as_str());
        let data = |name| run.data.iter().find(|it: &&DatasetDefinition| it.name == name);
        let data = data(test.unwrap_or(private));
        Self {
            private,
            test,
            label: data.and_then(|it| it.label.as_deref()),
            filter: data.and_then(|it| it.filter.as_deref()),
            measure: score.map_or_else(|| run.error_series()[1].words(), Scored::kind),
            is_scored: score.is_some(),
        }
    }

    /// Whether the errors are on the same records.
    pub fn is_on_data_of(&self, other: &Self) -> bool {
        let Question { private, test, .. } = *self;
        (private, test) == (other.private, other.test)
    }
}

/// Whether the errors of two runs answer one question: same data, same label, same kind of error.
pub fn are_comparable(one: &ArchivedRun, other: &ArchivedRun) -> bool {
    Question::of(one) == Question::of(other)
}

/// Whether two runs predict one label of the same private records.
pub fn are_on_same_data(one: &ArchivedRun, other: &ArchivedRun) -> bool {
    let [one, other] = [one, other].map(Question::of);
    one.is_on_data_of(&other) && one.label == other.label
}

/// The label that a run predicts.
pub fn label_of(run: &ArchivedRun) -> Option<&str> {
    Question::of(run).label
}

/// Whether the model of a run is that of public data alone.
pub fn is_public(run: &ArchivedRun) -> bool {
    let spends = run.plan.as_ref().is_none_or(|plan| plan.player().spends());
    !spends || run.choice.as_ref().is_some_and(|choice| !choice.is_of_plan)
}

/// The public datasets of a run's plan.
pub fn public_of(run: &ArchivedRun) -> Vec<&str> {
    let mut names: Vec<&str> =
        run.plan.iter().flat_map(|plan| &plan.public).map(String::as_str).collect();
    names.sort_unstable();
    names
}
