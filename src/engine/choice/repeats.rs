//! Trains randomly drawn candidates, a secret number of times, and releases only the best.
//!
//! Each repeat trains a candidate and scores it on the held-out records; the noise of training
//! covers the score. All repeats but the best are forgotten, and their number stays secret. So ε
//! does not grow with them as it would if all were released (the proof is in
//! `privacy::accountant::Repeats`). The price is that the best candidate may never be drawn.
//!
//! *Public data alone* need no repeat. They are scored beside every model, from the same records,
//! and win if the best model is no better. The released values decide this.
//!
//! *A repeat that fails* ends the choice, whatever the other repeats did. So it counts as better
//! than all of them, and the proof allows the failure to be seen.
//!
//! *Intervals* of the best score hold in spite of the choice. K is drawn beforehand, so the
//! probability that one of K intervals fails is at most E K times that of a single one. So each
//! interval is given 1/E K of the failure probability.

use super::all::EPSILON_TOLERANCE;
use super::{
    Arrangement, Basis, CandidateTraining, Decision, PUBLIC_ALONE, Placed, ReadyPlan, Training,
};
use crate::error::{Error, Result};
use crate::evaluation::scoring::Scoring;
use crate::evaluation::{Judged, Scored, Tally};
use crate::job::Job;
use crate::model::Model;
use crate::privacy::accountant::{Repeats, best_of};
use crate::privacy::openings::{OpenReleased, OpenRepeats};
use crate::privacy::{Calibrated, Event, Released, Spender, Target};

/// The probability that the best candidate is trained at all.
const CHANCE_OF_BEST: f64 = 0.9;
/// Laws with a larger shape have fewer repeats and cost more: for few candidates.
const SHAPES: std::ops::RangeInclusive<u32> = 0..=5;
/// The most trainings for each candidate: more would take too long.
const MOST_TRAININGS: f64 = 20.0;
const LABEL: &str = "best";

/// The number of repeats, which is secret.
pub(super) struct Repeating {
    law: Repeats,
}

/// The best repeat so far.
struct Best {
    candidate: usize,
    model: Released<Model>,
    score: Scored,
}

/// The law that leaves each training the most ε.
pub(super) fn arrange(
    candidates: &[ReadyPlan],
    scoring: &Scoring,
    target: Target,
) -> Result<Arrangement> {
    if candidates.iter().any(|it| !it.assembly.proposal.method.spec().covers_scores) {
        return Err(Error::refused(
            "only plans that draw Gaussian noise for all of their records can be repeated in \
             secret",
        )
        .cure("train every plan once: `--way all`"));
    }
    let count = candidates.len() as f64;
    let mut best: Option<Arrangement> = None;
    for shape in SHAPES {
        let law = Repeats::that_find(1.0 / count, CHANCE_OF_BEST, shape);
        if law.mean() > MOST_TRAININGS * count {
            continue;
        }
        let found = under(law, candidates, scoring, target)?;
        if best.as_ref().is_none_or(|known| found.each() > known.each()) {
            best = Some(found);
        }
    }
    best.ok_or_else(|| {
        Error::refused("these candidates are too many: they would take too many trainings")
            .cure("choose among fewer plans")
    })
}

fn under(
    law: Repeats,
    candidates: &[ReadyPlan],
    scoring: &Scoring,
    target: Target,
) -> Result<Arrangement> {
    let models = law.mean().ceil() as usize;
    let tally = Tally { models, ..scoring.tally.clone() };
    let scoring = Scoring { tally, ..scoring.clone() };
    let what = format!(
        "the best of about {:.0} trainings, each of a plan drawn at random among {}, with its \
         score on held-out records; the noise is that of one training and its score",
        law.mean(),
        candidates.len()
    );
    let at = |epsilon: f64| -> Result<(Vec<Calibrated>, Calibrated)> {
        let each = Target { epsilon, delta: target.delta };
        let own = candidates
            .iter()
            .map(|it| scoring.calibrate(&it.assembly.proposal.prepared.plan().releases, each));
        let own = own.collect::<Result<Vec<_>>>()?;
        let events: Vec<&[Event]> = own.iter().map(Calibrated::events).collect();
        let best = best_of(law, LABEL, what.clone(), &events)?;
        Ok((own, Calibrated::of_events(target, vec![best])?))
    };
    // The best repeat costs at least as much as one.
    let (mut low, mut high) = (0.0, target.epsilon);
    let mut fitting = None;
    let mut tried = 0.5 * target.epsilon;
    while high - low > EPSILON_TOLERANCE * high {
        let found = at(tried)?;
        if found.1.guarantee().epsilon <= target.epsilon {
            low = tried;
            fitting = Some(found);
        } else {
            high = tried;
            if high < 1e-9 * target.epsilon {
                break;
            }
        }
        tried = if low > 0.0 { (low * high).sqrt() } else { 0.25 * high };
    }
    let (own, all) = fitting.ok_or_else(|| {
        Error::refused("repeats do not fit into this ε").cure("choose among fewer plans")
    })?;
    Ok(Arrangement { training: Training::Repeats(Repeating { law }), own, all, scoring })
}

/// Standard deviation of the noise in the summed loss of one training.
pub(super) fn noise(arrangement: &Arrangement) -> Result<f64> {
    let Arrangement { own, scoring, .. } = arrangement;
    Ok(scoring.noise(own[0].scale(&scoring.tally.gaussian())?).sd())
}

impl Repeating {
    pub fn words(&self, candidates: usize) -> String {
        format!(
            "Plans were drawn at random and trained, about {:.0} times; how often is secret, and \
             only the best model is kept. The chance that the best plan was among them is {:.0} %.",
            self.law.mean(),
            100.0 * self.law.finds(1.0 / candidates as f64)
        )
    }
}

/// Trains and keeps the best; `None` if somebody stopped it.
pub(super) fn decide(
    arrangement: &Arrangement,
    basis: &Basis,
    training: &mut CandidateTraining,
    spender: &mut Spender,
) -> Result<Option<Decision>> {
    // Each has a store of its own: plans would replace the records of one another.
    let jobs = basis.kept.iter().map(|it| Job { prepared: <_>::default(), ..it.job.clone() });
    let jobs: Vec<Job> = jobs.collect();
    let alone = basis.kept.iter().map(|it| it.public_alone.as_ref()?.model());
    let alone: Vec<Option<Model>> = alone.collect();
    let mut repeating = spender.repeating()?;
    let mut best: Option<Best> = None;
    loop {
        let candidate = spender.one_of(jobs.len());
        let own = &arrangement.own[candidate];
        let Some(mut repeat) = repeating.next(own)? else { break };
        let (job, kept) = (&jobs[candidate], &basis.kept[candidate]);
        training.name.clone_from(&job.plan.name);
        let assembly = job.assemble()?;
        let mut run = assembly.proposal.prepared.start(assembly.private, own)?;
        if !run.drive_with(&mut repeat, training)? {
            return Ok(None);
        }
        let model = run.finish()?;
        let label = |raw| kept.preparation.label_from_prediction(raw);
        let needs = kept.needs(alone[candidate].as_ref(), &label);
        let judged = Judged { model: model.get(), view: &kept.own };
        let score = arrangement.scoring.draw(&kept.holdout, judged, &needs, &mut repeat)?;
        let score = score.into_inner();
        let better = |best: &Best| score.error.value.total_cmp(&best.score.error.value).is_lt();
        if best.as_ref().is_none_or(better) {
            best = Some(Best { candidate, model, score });
        }
    }
    Ok(best.map(|best| best.against_public_data(basis, &alone)))
}

impl Best {
    /// Public data alone win if the best model is no better.
    fn against_public_data(self, basis: &Basis, alone: &[Option<Model>]) -> Decision {
        let Self { candidate, model, score } = self;
        let names = basis.names();
        let mut placed = vec![Placed { name: names[candidate].clone(), error: score.error }];
        if let Some(error) = score.public_alone {
            placed.push(Placed { name: PUBLIC_ALONE.to_owned(), error });
        }
        let public = score.public_alone.is_some_and(|error| error.value <= score.error.value);
        match alone[candidate].as_ref().filter(|_| public) {
            Some(public) => {
                let model = model.map(|_| public.clone());
                let (winner, of_plan) = (names.len() - 1, candidate);
                Decision { winner, of_plan, model, placed, score: score.of_public_data() }
            }
            None => Decision { winner: candidate, of_plan: candidate, model, placed, score },
        }
    }
}
