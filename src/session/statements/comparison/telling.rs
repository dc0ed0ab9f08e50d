//! What may be told of a model that was chosen, and to whom.

use crate::plot::number::compact_up;
use crate::privacy::Adjacency;
use crate::privacy::accountant::{Guarantee, delta_words, round_up};
use crate::privacy::ledger::{SharedNoise, Total, TotalStanding};
use crate::statements::sum;
use crate::store::ArchivedRun;

/// The ε of all these runs and of their later scores: a choice among them depends on all of it.
pub(super) fn summed(runs: &[&ArchivedRun]) -> Option<Guarantee> {
    let person = runs.first()?.drawn.last()?.person.as_deref();
    sum::of(runs, person)?.ok()
}

/// A caution if exact numbers of these records had ranked the public data before a run began.
pub(super) fn ranked(runs: &[&ArchivedRun]) -> &'static str {
    if runs.iter().any(|run| run.was_ranked) {
        " The ε leaves out the ranking of public data by exact numbers (◆)."
    } else {
        ""
    }
}

/// What may be told of a run that was chosen among these by their scores.
pub(super) fn telling(
    what: &str,
    run: &ArchivedRun,
    (runs, total): (&[&ArchivedRun], Option<Total>),
) -> String {
    let Some(own) = run.guarantee else {
        return "nothing: nothing is guaranteed.".to_owned();
    };
    let (epsilon, delta) = (compact_up(own.epsilon), delta_words(own.delta));
    if let Some(total) = total {
        // A choice among runs, and a ranking before them, depend on all that was released.
        let (all, at) = (total.words(), delta_words(total.delta));
        let is_own = total.standing == TotalStanding::AtMost
            && total.known.as_ref().is_some_and(|it| it.epsilon <= own.epsilon)
            && at == delta;
        let all = if is_own {
            format!(": ε {epsilon} (δ {delta}){}", total.condition())
        } else {
            // At a smaller δ the part may have a larger ε than the whole.
            let own = if own.delta < total.delta {
                format!("ε {epsilon} at its smaller δ, {delta}")
            } else {
                format!("ε {epsilon} (δ {delta})")
            };
            format!(". All spending on these records: {all} (δ {at}); this run alone: {own}")
        };
        let (whom, beside) = (if_blanked(runs, Some(&total)), total.beside());
        return format!("{what} with anybody{all}{whom}{beside}.{}", ranked(runs));
    }
    if runs.len() == 1 && run.later_scores.is_empty() {
        let whom = if_blanked(runs, None) + &condition(runs);
        return format!("{what} with anybody: ε {epsilon} (δ {delta}){whom}.{}", ranked(runs));
    }
    let with = match runs.len() {
        1 if run.later_scores.len() > 1 => "with the scores that were paid for later".to_owned(),
        1 => "with the score that was paid for later".to_owned(),
        count => format!("for the choice among {count}"),
    };
    let all = match summed(runs) {
        Some(sum) if delta_words(sum.delta) == delta => {
            format!("ε {} {with}, ε {epsilon} alone (δ {delta})", round_up(sum.epsilon, 4))
        }
        Some(sum) => format!(
            "ε {} (δ {}) {with}, ε {epsilon} (δ {delta}) alone",
            round_up(sum.epsilon, 4),
            delta_words(sum.delta)
        ),
        None => format!("ε {epsilon} (δ {delta}) alone; {with}, ε is the sum in the ledger"),
    };
    let whom = if_blanked(runs, None) + &condition(runs);
    format!("{what} with anybody: {all}{whom}.{}", ranked(runs))
}

/// On which conditions these runs are protected, behind their ε.
fn condition(runs: &[&ArchivedRun]) -> String {
    SharedNoise::conditions(runs.iter().filter_map(|run| run.one_noise))
}

/// The weaker promise, where a run makes no other: neither its ε nor a sum with it holds for replaced
/// records.
pub(super) fn if_blanked(runs: &[&ArchivedRun], total: Option<&Total>) -> String {
    let all = total.and_then(|total| Some(total.known.as_ref()?.adjacency));
    let drawn = || runs.iter().flat_map(|run| &run.drawn);
    let mut events = drawn().flat_map(|it| &it.mechanisms);
    let is_weaker = |adjacency| adjacency == Adjacency::ZeroOut;
    if !events.any(|event| is_weaker(event.adjacency)) && !all.is_some_and(is_weaker) {
        return String::new();
    }
    let of = if drawn().any(|it| it.person.is_some()) {
        "a person whose records are"
    } else {
        "a record that is"
    };
    format!(", for {of} blanked, not replaced")
}
