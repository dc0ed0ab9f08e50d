//! How long the trials of a rehearsal take. A method's first trial with the records of a case learns
//! from public ones, which may take much longer than all others.

use std::collections::{BTreeMap, HashSet};

use crate::rehearsal::advice::TrialResult;

/// The part of a first trial's time that a later one is taken to need until one is known; a guess.
const REPEATED_SHARE: f64 = 0.5;

#[derive(Debug, Default)]
pub struct TrialCosts {
    /// The seconds of each player's first trials of a case, and of its others, with their number.
    times: BTreeMap<(usize, bool), (f64, usize)>,
    met: HashSet<(usize, usize)>,
}

impl TrialCosts {
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub fn note(&mut self, trial: &TrialResult, seconds: f64) {
        let is_first = self.met.insert((trial.player, trial.case));
        let (sum, count) = self.times.entry((trial.player, is_first)).or_default();
        (*sum, *count) = (*sum + seconds, *count + 1);
    }

    /// The seconds of these trials, and of `later` ones that are not known yet. `None` before the first.
    /// A player without a trial is taken for one of the slower ones, because slow ones come last: the
    /// root mean square of the known players' means is between their mean and the slowest.
    pub fn of<'a>(
        &self,
        trials: impl Iterator<Item = &'a TrialResult>,
        later: usize,
    ) -> Option<f64> {
        let usual = self.slower(|_| true)?;
        let of_kind = |wanted| self.slower(|(_, is_first)| is_first == wanted);
        let first = of_kind(true).unwrap_or(usual);
        let repeated = of_kind(false).unwrap_or(REPEATED_SHARE * first);
        let mut met = self.met.clone();
        let known: f64 = trials
            .map(|trial| {
                let is_first = met.insert((trial.player, trial.case));
                let own = self.times.get(&(trial.player, is_first));
                own.map_or(if is_first { first } else { repeated }, mean)
            })
            .sum();
        Some(known + later as f64 * repeated)
    }

    fn slower(&self, wanted: impl Fn((usize, bool)) -> bool) -> Option<f64> {
        let found = self.times.iter().filter(|(key, _)| wanted(**key)).map(|(_, time)| mean(time));
        let (squares, count) =
            found.fold((0.0, 0), |(squares, count), mean| (squares + mean * mean, count + 1));
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
        // The first trial of a case takes ten times as long as by growth alone, a repetition twice.
        for growth in [0.8_f64, 1.0, 1.2] {
            let cost = |trial: &TrialResult| {
                growth.powi(trial.player as i32) * if trial.repetition == 0 { 10.0 } else { 2.0 }
            };
            let each = (0..60).map(|at| trial(at / 3 % 10, at % 3, at as u64 / 30));
            let trials: Vec<TrialResult> = each.collect();
            let (mut costs, mut done) = (TrialCosts::default(), 0.0);
            for (at, trial) in trials.iter().enumerate().take(59) {
                costs.note(trial, cost(trial));
                done += cost(trial);
                let rest = &trials[at + 1..];
                let (told, left) =
                    (costs.of(rest.iter(), 0).unwrap(), rest.iter().map(cost).sum::<f64>());
                assert!(told > left / 3.0, "{growth}, {at}: {told} {left}");
                // It is too long by twice the whole at most.
                assert!(told < left + 2.0 * (done + left), "{growth}, {at}: {told} {left}");
            }
        }
    }

    #[test]
    fn only_first_trials_of_a_case_are_taken_for_long() {
        let mut costs = TrialCosts::default();
        assert_eq!(costs.of([trial(0, 0, 1)].iter(), 3), None);
        costs.note(&trial(0, 0, 0), 20.0);
        costs.note(&trial(0, 0, 1), 1.0);
        costs.note(&trial(0, 0, 2), 3.0);
        // Two more of the known case, and a case that is new once.
        let waiting = [trial(0, 0, 3), trial(0, 1, 0), trial(0, 1, 1)];
        assert_eq!(costs.of(waiting.iter(), 10), Some(2.0 + 20.0 + 2.0 + 20.0));
        // Another method learns as long, as far as is known, and then as it does.
        assert_eq!(costs.of([trial(1, 0, 0)].iter(), 0), Some(20.0));
        costs.note(&trial(1, 0, 0), 4.0);
        assert_eq!(costs.of([trial(1, 1, 0)].iter(), 0), Some(4.0));
    }
}
