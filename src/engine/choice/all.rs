//! Trains every candidate once; the costs of all trainings add up. If some training noise is
//! Gaussian and drawn for all records, it covers the releases about held-out records. Otherwise
//! these releases get a part of the ε ([`SHARE_OF_DECISION`]).

use super::decision::{decide, sums_of};
use super::{Arrangement, Basis, CandidateTraining, Decision, ReadyPlan, Training};
use crate::data::Bounded;
use crate::error::{Error, Result};
use crate::evaluation::Tally;
use crate::evaluation::scoring::Scoring;
use crate::methods::Prepared;
use crate::privacy::accountant::{Composition, calibrate, cover};
use crate::privacy::openings::OpenSpender;
use crate::privacy::{
    Adjacency, Allotment, Calibrated, Event, Gaussian, PlannedRelease, Private, Release, Spender,
    Target,
};

/// How close, relatively, the candidates' common ε is found.
pub(super) const EPSILON_TOLERANCE: f64 = 1e-3;

/// The part of the ε for decision and score where training covers neither. It is more than a score
/// alone would get, because a choice by noise is worth nothing.
const SHARE_OF_DECISION: f64 = 0.25;

pub(super) const HOW: &str = "Each plan was trained once. The first one is kept unless \
    another is better by more than chance explains.";

/// The release that decides among candidates that are all trained.
pub(super) struct AllTrained {
    sums: Release<Gaussian>,
}

/// Trains all candidates with as much ε as fits. `models` includes public data alone, if they are
/// compared.
pub(super) fn arrange(
    candidates: &[ReadyPlan],
    scoring: &Scoring,
    models: usize,
    target: Target,
) -> Result<Arrangement> {
    let tally = Tally { models, ..scoring.tally.clone() };
    let scoring = Scoring { tally, ..scoring.clone() };
    let sums = sums_of(models, scoring.tally.rows);
    let what = format!("the summed losses of {models} candidates on held-out records");
    let planned = sums.announced(what, 1, Allotment::Covered, Adjacency::ReplaceOne);
    let planned = PlannedRelease { held_out: true, ..planned };
    let releases = [planned, scoring.announced(Allotment::Covered)];
    let (mut own, mut training) = together(candidates, target, &[])?;
    let held_out = if let Ok(covered) = cover(&training, &releases) {
        covered
    } else {
        let share = |release| PlannedRelease { noise: Allotment::Share(1.0), ..release };
        let part = Target { epsilon: SHARE_OF_DECISION * target.epsilon, ..target };
        let paid = calibrate(&releases.map(share), part)?.events().to_vec();
        (own, training) = together(candidates, target, &paid)?;
        paid
    };
    let events: Vec<Event> = training.into_iter().chain(held_out).collect();
    let all = Calibrated::of_events(target, events)?;
    if all.guarantee().epsilon > target.epsilon {
        return Err(Error::failed("the candidates cannot be fitted into the target")
            .cure("this is a defect of halflight; a slightly different target should work"));
    }
    Ok(Arrangement { training: Training::All(AllTrained { sums }), own, all, scoring })
}

impl AllTrained {
    /// Standard deviation of the noise in each sum.
    pub fn noise(&self, arrangement: &Arrangement) -> Result<f64> {
        arrangement.all.scale(&self.sums)
    }

    /// Trains all candidates and lets the held-out records decide; `None` if somebody stopped it.
    pub fn decide(
        &self,
        arrangement: &Arrangement,
        candidates: Vec<(Prepared, Private<Bounded>)>,
        basis: &Basis,
        training: &mut CandidateTraining,
        spender: &mut Spender,
    ) -> Result<Option<Decision>> {
        let mut models = Vec::new();
        for (index, (prepared, private)) in candidates.into_iter().enumerate() {
            spender.enter(&scope(index));
            training.name.clone_from(&basis.kept[index].job.plan.name);
            let mut run = prepared.start(private, &arrangement.own[index])?;
            if !run.drive_with(spender, training)? {
                return Ok(None);
            }
            models.push(run.finish()?);
        }
        spender.enter("");
        decide(&models, basis, &self.sums, &arrangement.scoring, spender).map(Some)
    }
}

fn scope(index: usize) -> String {
    format!("{}: ", index + 1)
}

/// The largest ε that every candidate may have, with its noise, and the events of all of them.
/// `beside` is also drawn.
fn together(
    candidates: &[ReadyPlan],
    target: Target,
    beside: &[Event],
) -> Result<(Vec<Calibrated>, Vec<Event>)> {
    let at = |epsilon: f64| -> Result<(Vec<Calibrated>, Vec<Event>, f64)> {
        let target = Target { epsilon, delta: target.delta };
        let own =
            candidates.iter().map(|it| it.assembly.proposal.prepared.plan().calibrate(target));
        let own = own.collect::<Result<Vec<_>>>()?;
        let events = own.iter().enumerate().flat_map(|(index, own)| {
            own.events().iter().map(move |event| Event {
                label: format!("{}{}", scope(index), event.label),
                ..event.clone()
            })
        });
        let events: Vec<Event> = events.collect();
        let all: Vec<Event> = events.iter().chain(beside).cloned().collect();
        let epsilon = Composition::of(&all)?.guarantee(target.delta)?.epsilon;
        Ok((own, events, epsilon))
    };
    // A little below: the noise of the choice adds the slack of its grid.
    let most = target.epsilon * (1.0 - 1e-6);
    let part = if beside.is_empty() { 1.0 } else { 1.0 - SHARE_OF_DECISION };
    let (mut low, mut high) = (part * most / candidates.len() as f64, most);
    let mut best = at(low)?;
    if candidates.len() == 1 && beside.is_empty() {
        return Ok((best.0, best.1));
    }
    if best.2 > most {
        return Err(Error::refused("these candidates are too many for this ε")
            .cure("choose among fewer plans"));
    }
    while high - low > EPSILON_TOLERANCE * high {
        let middle = (low * high).sqrt();
        let found = at(middle)?;
        if found.2 <= most {
            (low, best) = (middle, found);
        } else {
            high = middle;
        }
    }
    Ok((best.0, best.1))
}
