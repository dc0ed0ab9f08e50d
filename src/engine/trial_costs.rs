//! How long the trials of a rehearsal take. A method's first trial with the records of a case learns
//! from public ones, which may take much longer than all others.

use std::collections::{BTreeMap, HashSet};

use crate::rehearsal::advice::TrialResult;

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
    pub fn of<'a>(
        &self,
        trials: impl Iterator<Item = &'a TrialResult>,
        later: usize,
    ) -> Option<f64> {
        let usual = self.mean(|_| true)?;
        let of_kind = |wanted| self.mean(|(_, is_first)| is_first == wanted);
        let repeated = of_kind(false).unwrap_or(usual);
        let mut met = self.met.clone();
        let known: f64 = trials
            .map(|trial| {
                let is_first = met.insert((trial.player, trial.case));
                self.mean(|key| key == (trial.player, is_first))
                    .or_else(|| of_kind(is_first))
                    .unwrap_or(usual)
            })
            .sum();
        Some(known + later as f64 * repeated)
    }

    fn mean(&self, wanted: impl Fn((usize, bool)) -> bool) -> Option<f64> {
        let found = self.times.iter().filter(|(key, _)| wanted(**key));
        let (sum, count) = found.fold((0.0, 0), |(sum, all), (_, of)| (sum + of.0, all + of.1));
        (count > 0).then(|| sum / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(player: usize, case: usize, repetition: u64) -> TrialResult {
        TrialResult { case, player, repetition, epsilon: Some(1.0) }
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
