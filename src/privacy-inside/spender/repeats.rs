//! Repeats of which only the best is released: see [`crate::accountant::Repeats`].
//!
//! All of it is announced in the ledger before the first repeat begins. The number of repeats is
//! drawn here and kept secret, and so are the draws of every repeat but the best.

use super::{DrawListener, Spender};
use crate::accountant::{Calibrated, Composition, Event, Query, QueryKind};
use crate::error::{Error, Result};
use crate::mechanism::{NoiseSource, number_of_repeats, one_of};

/// The number of repeats still to come, and the most that each may reveal.
pub struct RepeatsLeft {
    /// The most that one repeat may reveal.
    most: Composition,
    left: u64,
}

/// Openings of [`Spender`] for repeats of which only the best is released.
pub trait OpenRepeats: Sized {
    /// Begins the repeats that were granted.
    fn repeating(&mut self) -> Result<RepeatsLeft>;

    /// A candidate, each equally likely.
    fn one_of(&mut self, candidates: usize) -> usize;
}

impl OpenRepeats for Spender {
    fn repeating(&mut self) -> Result<RepeatsLeft> {
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

    fn one_of(&mut self, candidates: usize) -> usize {
        one_of(&mut self.generator, candidates)
    }
}

impl RepeatsLeft {
    /// A spender for one more repeat with the draws of `calibrated`; `None` after the last one.
    pub fn next(&mut self, calibrated: &Calibrated) -> Result<Option<Spender>> {
        if self.left == 0 {
            return Ok(None);
        }
        if !Composition::of(calibrated.events())?.is_within(&self.most) {
            return Err(Error::refused("a repeat would reveal more than was granted for one"));
        }
        self.left -= 1;
        let generator = NoiseSource::Secret.generator()?;
        let events: Vec<Event> = calibrated.events().to_vec();
        Ok(Some(Spender::with_account(DrawListener::Carried, events, generator)))
    }
}

fn not_granted() -> Error {
    Error::refused("the ledger has granted no repeats for this run")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accountant::{Repeats, best_of, calibrate};
    use crate::openings::{OpenPrivate, OpenSpender};
    use crate::{Adjacency, Allotment, Gaussian, Private, Reach, Release, Released, Target};
    use halflight_dp::shown::epsilon_shown;

    /// A score that reveals the most about one neighbour: outputs below an edge are best, then the
    /// larger ones.
    #[test]
    fn the_worst_score_shows_more_than_half_of_the_epsilon_of_repeats_and_not_more() {
        const EDGE: f64 = -0.75;
        let delta = 1e-3;
        let release = Release::new("output", Gaussian { sensitivity: 1.0, numbers: 1 });
        let share = Allotment::Share(1.0);
        let planned = release.announced(String::new(), 1, share, Adjacency::ReplaceOne);
        let own = calibrate(&[planned], Target { epsilon: 3.0, delta }).unwrap();
        let law = Repeats { shape: 1, stop: 0.25 };
        let events = vec![best_of(law, "best", String::new(), &[own.events()]).unwrap()];
        let all = Calibrated::of_events(Target { epsilon: 3.0, delta }, events).unwrap();
        let claimed = all.guarantee().epsilon;
        let sd = own.scale(&release).unwrap();
        let best = |exact: f64, seed: u64| -> f64 {
            let mut spender = Spender::rehearsal(&all, seed);
            let mut repeating = spender.repeating().unwrap();
            let mut outputs = Vec::new();
            while let Some(mut repeat) = repeating.next(&own).unwrap() {
                let reach = Reach::between(0.0, 1.0, 1);
                let told = Private::new(())
                    .release_gaussian(&mut repeat, release, &reach, |()| vec![exact]);
                outputs.push((told.map(Released::into_inner).unwrap()[0] - 0.5) / sd);
            }
            let is_best = |place: &&f64| **place < EDGE;
            outputs
                .iter()
                .find(is_best)
                .copied()
                .unwrap_or_else(|| outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        let worlds = [1.0, 0.0].map(|exact| -> Vec<f64> {
            (0..20_000).map(|seed| best(exact, 2 * seed + exact as u64)).collect()
        });
        let shown = epsilon_shown(delta, &worlds[0], &worlds[1]);
        assert!((0.5 * claimed..=claimed).contains(&shown), "{shown} of {claimed}");
    }
}
