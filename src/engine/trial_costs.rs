//! How long the trials of a rehearsal take. The first trial of a case learns the public models that all
//! its trials share, and a method's first trial of a case its own, so both may take much longer than
//! the others.

use std::collections::{BTreeMap, HashSet};

use crate::rehearsal::advice::TrialResult;

/// The second trial of a case may have waited for what the first one learned.
const WAITING: usize = 2;

/// The part of the time of a player's first trial that a later one is taken to need until one is
/// known; a guess.
const REPEATED_SHARE: f64 = 0.5;

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

    /// The seconds of these trials, and of `later` ones that are not known yet. `None` while only the
    /// first trials of each case are known, which say little of the others. A player without a trial is
    /// taken for one of the slower ones, because slow ones come last: the root mean square of the known
    /// players' means is between their mean and the slowest.
    pub fn of<'a>(
        &self,
        trials: impl Iterator<Item = &'a TrialResult>,
        later: usize,
    ) -> Option<f64> {
        let of_case = self.slower(TrialKind::OfCase)?;
        let repeated = self.slower(TrialKind::Repeated);
        let of_player = self.slower(TrialKind::OfPlayer).or(repeated)?;
        let repeated = repeated.unwrap_or(REPEATED_SHARE * of_player);
        let mut met = self.met.clone();
        let known: f64 = trials
            .map(|trial| {
                let kind = met.meet(trial);
                let usual = match kind {
                    TrialKind::OfCase => return of_case,
                    TrialKind::OfPlayer => of_player,
                    TrialKind::Repeated => repeated,
                };
                self.times.get(&(kind, trial.player)).map_or(usual, mean)
            })
            .sum();
        Some(known + later as f64 * repeated)
    }

    fn slower(&self, wanted: TrialKind) -> Option<f64> {
        let found = self.times.iter().filter(|((kind, _), _)| *kind == wanted);
        let (squares, count) = found
            .map(|(_, time)| mean(time))
            .fold((0.0, 0), |(squares, count), mean| (squares + mean * mean, count + 1));
        (count > 0).then(|| (squares / f64::from(count)).sqrt())
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
    fn the_time_left_is_not_far_too_short_where_slow_players_come_last() {
        // A player's first trial of a case takes ten times as long as by growth alone, a repetition
        // twice. The first trial of all in a case takes much longer, and that is no player's time.
        for growth in [0.8_f64, 1.0, 1.2] {
            let cost = |trial: &TrialResult| {
                let of_case = if trial.player == 0 && trial.repetition == 0 { 40.0 } else { 0.0 };
                let of_player = if trial.repetition == 0 { 10.0 } else { 2.0 };
                growth.powi(trial.player as i32) * of_player + of_case
            };
            let each = (0..60).map(|at| trial(at / 3 % 10, at % 3, at as u64 / 30));
            let trials: Vec<TrialResult> = each.collect();
            let (mut costs, mut done) = (TrialCosts::default(), 0.0);
            for (at, trial) in trials.iter().enumerate().take(59) {
                costs.note(trial, cost(trial));
                done += cost(trial);
                let rest = &trials[at + 1..];
                let left = rest.iter().map(cost).sum::<f64>();
                let Some(told) = costs.of(rest.iter(), 0) else {
                    assert!(at < 6, "only the first of each case say too little");
                    continue;
                };
                assert!(told > left / 3.0, "{growth}, {at}: {told} {left}");
                // It is too long by the whole at most.
                assert!(told < left + (done + left), "{growth}, {at}: {told} {left}");
            }
        }
    }

    #[test]
    fn only_first_trials_of_a_case_are_taken_for_long() {
        let mut costs = TrialCosts::default();
        assert_eq!(costs.of([trial(0, 0, 1)].iter(), 3), None);
        costs.note(&trial(0, 0, 0), 20.0);
        // It has waited for the first one.
        costs.note(&trial(1, 0, 0), 20.0);
        assert_eq!(costs.of([trial(0, 0, 1)].iter(), 3), None);
        costs.note(&trial(0, 0, 1), 1.0);
        costs.note(&trial(0, 0, 2), 3.0);
        // Two more of the known case, and a case that is new once.
        let waiting = [trial(0, 0, 3), trial(0, 1, 0), trial(0, 1, 1)];
        assert_eq!(costs.of(waiting.iter(), 10), Some(2.0 + 20.0 + 20.0 + 20.0));
        // Another method takes as long as the others, as far as is known, and then as it does.
        assert_eq!(costs.of([trial(2, 0, 0)].iter(), 0), Some(2.0));
        costs.note(&trial(2, 0, 0), 4.0);
        let waiting = [trial(0, 1, 0), trial(1, 1, 0), trial(2, 1, 0)];
        assert_eq!(costs.of(waiting.iter(), 0), Some(20.0 + 20.0 + 4.0));
    }
}
