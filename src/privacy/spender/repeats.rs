//! Repeats of which only the best leaves: see [`crate::privacy::accountant::Repeats`].
//!
//! The ledger is told of all of it before the first repeat begins. How many there will be is drawn
//! here and told to nobody, and neither is what a repeat drew, unless it is the best.

use super::{Account, Spender};
use crate::error::{Error, Result};
use crate::privacy::accountant::{Calibrated, Composition, Event, Query, QueryKind};
use crate::privacy::mechanism::{NoiseSource, number_of_repeats, one_of};

/// How many repeats are to come, and what each may reveal.
pub(crate) struct RepeatsLeft {
    /// What one repeat may reveal at most.
    most: Composition,
    left: u64,
}

impl Spender {
    /// Begins the repeats that were granted.
    pub(crate) fn repeating(&mut self) -> Result<RepeatsLeft> {
        let [event] = self.events.as_slice() else { return Err(not_granted()) };
        let QueryKind::Repeated(repeats) = event.mechanism.query.kind else {
            return Err(not_granted());
        };
        repeats.check()?;
        let mut one = event.clone();
        one.mechanism.query = Query { kind: QueryKind::Gaussian, ..one.mechanism.query };
        let most = Composition::of([&one])?;
        self.announce(0)?;
        self.drawn[0] += 1;
        self.tally()?;
        Ok(RepeatsLeft { most, left: number_of_repeats(&mut self.generator, repeats) })
    }

    /// One of so many candidates, each equally likely.
    pub(crate) fn one_of(&mut self, candidates: usize) -> usize {
        one_of(&mut self.generator, candidates)
    }
}

impl RepeatsLeft {
    /// For one more repeat, which draws what `calibrated` says; `None` after the last one.
    pub(crate) fn next(&mut self, calibrated: &Calibrated) -> Result<Option<Spender>> {
        if self.left == 0 {
            return Ok(None);
        }
        if !Composition::of(&calibrated.events)?.is_within(&self.most) {
            return Err(Error::refused("a repeat would reveal more than was granted for one"));
        }
        self.left -= 1;
        let generator = NoiseSource::Secret.generator()?;
        let events: Vec<Event> = calibrated.events.clone();
        Ok(Some(Spender::with_account(Account::Carried, events, generator)))
    }
}

fn not_granted() -> Error {
    Error::refused("the ledger has granted no repeats for this run")
}
