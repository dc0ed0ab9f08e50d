//! How long the trials of a rehearsal take. The first trial of a case learns the public models that all
//! its trials share, and a method's first trial of a case its own, so both may take much longer than
//! the others.

use std::collections::{BTreeMap, HashSet};

use crate::rehearsal::advice::TrialResult;

/// The second trial of a case may have waited for what the first one learned.
const WAITING: usize = 2;

/// The part of the time of a player's first trial that a later one is taken to need until one of it is
/// known; a guess. It is from a tenth, where much is learned first, to all of it.
const REPEATED_SHARE: f64 = 0.3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TrialKind {
    /// One of the first [`WAITING`] trials of a case.
    OfCase,
    /// The first trial of a player in a case.
    OfPlayer,
    Repeated,
}

/// The cases and players that have had a trial.
#[derive(Debug, Default, Clone)]
struct Met {
    cases: BTreeMap<usize, usize>,
    players: HashSet<(usize, usize)>,
}

impl Met {
    fn meet(&mut self, trial: &TrialResult) -> TrialKind {
        let is_first = self.players.insert((trial.player, trial.case));
        let trials = self.cases.entry(trial.case).or_default();
        *trials += 1;
        match (*trials <= WAITING, is_first) {
            (true, _) => TrialKind::OfCase,
            (false, true) => TrialKind::OfPlayer,
            (false, false) => TrialKind::Repeated,
        }
    }
}

#[derive(Debug, Default)]
pub struct TrialCosts {
    /// The seconds of the trials of each kind and player, with their number.
    times: BTreeMap<(TrialKind, usize), (f64, usize)>,
    met: Met,
}

impl TrialCosts {
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub fn note(&mut self, trial: &TrialResult, seconds: f64) {
        let kind = self.met.meet(trial);
        let (sum, count) = self.times.entry((kind, trial.player)).or_default();
        (*sum, *count) = (*sum + seconds, *count + 1);
    }

    /// The seconds of these trials. `None` while one of their players has had none: methods differ by a
    /// factor of a hundred, so nothing can be said of it. What is not known of a player's later trials
    /// follows from its first ones.
    pub fn of<'a>(&self, mut trials: impl Iterator<Item = &'a TrialResult>) -> Option<f64> {
        let mut met = self.met.clone();
        trials.try_fold(0.0, |sum, trial| {
            let known = |kind| self.times.get(&(kind, trial.player)).map(mean);
            let [of_case, of_player, repeated] =
                [TrialKind::OfCase, TrialKind::OfPlayer, TrialKind::Repeated].map(known);
            let seconds = match met.meet(trial) {
                TrialKind::OfCase => of_case.or(of_player).or(repeated),
                TrialKind::OfPlayer => of_player.or(of_case).or(repeated),
                TrialKind::Repeated => {
                    repeated.or_else(|| Some(REPEATED_SHARE * of_player.or(of_case)?))
                }
            };
            Some(sum + seconds?)
        })
    }
}

fn mean((sum, count): &(f64, usize)) -> f64 {
    sum / *count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(player: usize, case: usize, repetition: u64) -> TrialResult {
        TrialResult { case, player, repetition, epsilon: Some(1.0) }
    }

    #[test]
    fn the_time_left_is_told_once_every_method_has_played_and_is_never_far_too_short() {
        // Methods take from 1 to 50 s for the first trial in a case, and a tenth for a repetition. The
        // first two trials of each case learn for all others, and take 30 s more.
        let firsts = [1.0, 2.0, 50.0, 8.0, 1.0];
        let cost = |trial: &TrialResult| match (trial.repetition, trial.player) {
            (0, 0 | 1) => 30.0 + firsts[trial.player],
            (0, player) => firsts[player],
            (_, player) => firsts[player] / 10.0,
        };
        let each = (0..45).map(|at| trial(at % 5, at / 5 % 3, at as u64 / 15));
        let trials: Vec<TrialResult> = each.collect();
        let (mut costs, mut told) = (TrialCosts::default(), 0);
        for (at, trial) in trials.iter().enumerate() {
            let rest = &trials[at..];
            let left = rest.iter().map(cost).sum::<f64>();
            let found = costs.of(rest.iter());
            assert_eq!(found.is_some(), at >= 5, "{at}");
            told += usize::from(found.is_some());
            // Until its repetition is known, a third of a first trial is taken for it.
            let most = if at < 20 { 6.0 } else { 1.01 };
            if let Some(found) = found {
                assert!((0.99..=most).contains(&(found / left)), "{at}: {found} {left}");
            }
            costs.note(trial, cost(trial));
        }
        assert_eq!((told, costs.of([].iter())), (40, Some(0.0)));
    }
}
