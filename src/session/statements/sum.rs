//! The ε of several runs together.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::privacy::Event;
use crate::privacy::accountant::{Composition, Guarantee, counted};
use crate::privacy::ledger::{Book, RunId, Total};
use crate::store::ArchivedRun;

/// The total of the account that a run is charged to. It has all that a choice of the run depended on:
/// rankings, other runs and scores. `None` if the book does not know the run, or if some of its
/// spending protects other units.
pub fn of_account(book: &Book, run: &RunId) -> Option<Total> {
    let account = book.account_of_run(run)?;
    account.total(account.delta()).ok().filter(|_| account.units().len() <= 1)
}

/// What these runs and their later scores cost whoever is in the data of all of them, for those that
/// protect `person`. A sum holds although later runs may have been chosen after seeing earlier ones.
/// It is at the δ of their budget, as on every screen, or else at the largest δ of the runs. Runs that
/// models started from count once, shown or not. `None` if the draws of a run are not known, it
/// protects somebody else, or its noise was not secret: then nothing adds up.
pub fn of(runs: &[&ArchivedRun], person: Option<&str>) -> Option<Result<Guarantee>> {
    let guarantees: Option<Vec<f64>> = runs.iter().map(|run| Some(run.guarantee?.delta)).collect();
    let is_known = |run: &&ArchivedRun| {
        let mut drawn = run.drawn.iter();
        drawn.any(|drawn| drawn.run == run.id && drawn.person.as_deref() == person)
    };
    if !runs.iter().all(is_known) {
        return None;
    }
    let drawn = runs.iter().flat_map(|run| &run.drawn).filter(|it| it.person.as_deref() == person);
    let drawn: BTreeMap<&RunId, &Vec<Event>> = drawn.map(|it| (&it.run, &it.mechanisms)).collect();
    let mut events: Vec<Event> = drawn.into_values().flat_map(|run| counted(run)).collect();
    let later = runs.iter().flat_map(|run| &run.later_scores);
    events.extend(later.flat_map(|score| counted(&score.mechanisms)));
    let budget = runs.first()?.budget_delta;
    let budget = budget.filter(|_| runs.iter().all(|run| run.budget_delta == budget));
    let delta = budget.unwrap_or(guarantees?.into_iter().fold(0.0, f64::max));
    let sum = Composition::of(&events).and_then(|all| all.gate(delta));
    Some(sum)
}
