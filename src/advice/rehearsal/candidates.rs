//! Which plans private records should choose among, according to rehearsals.
//!
//! A choice has a price: each of k candidates trains with less ε than a single plan would. So one
//! more candidate is worth it only if it wins some cases by more than the others lose. Every case
//! is a possible private dataset. In each case the choice is assumed to find the best candidate,
//! or public data alone, which cost nothing. The mean over the cases counts.

use super::advice::{Advice, NOTICEABLE, PlayerLine};
use super::player::Player;

/// Each of k candidates gets about 1/k^0.55 of the ε: 0.68, 0.54 and 0.42 of 1 for two, three and
/// five of them at δ 1e-5.
const SHARED: f64 = 0.55;

/// The expected gain of a choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prospect {
    /// Error of the choice relative to public data alone.
    pub choice: f64,
    /// Error of the best single plan with all of the ε, relative to public data alone.
    pub single: f64,
}

impl Prospect {
    pub fn pays(self) -> bool {
        self.choice < self.single * (1.0 - NOTICEABLE)
    }
}

impl Advice {
    /// The methods to choose among at the plan's ε, the advised one first: at most `most`, and only
    /// as many as pay off.
    pub fn worth_choosing(&self, most: usize) -> Vec<Player> {
        let able: Vec<&PlayerLine> =
            self.sorted().filter(|line| self.can_be_chosen(line)).collect();
        let Some(first) = able.first() else { return Vec::new() };
        let mut taken = vec![*first];
        let epsilon = self.epsilons[self.at];
        let mut reached = self.mean_of_best(&taken, epsilon);
        while taken.len() < most {
            let others = able.iter().filter(|line| !taken.contains(line));
            let tried = others.filter_map(|line| {
                let more = [taken.as_slice(), &[*line]].concat();
                Some((self.mean_of_best(&more, epsilon)?, *line))
            });
            let Some((mean, line)) = tried.min_by(|one, other| one.0.total_cmp(&other.0)) else {
                break;
            };
            if reached.is_none_or(|reached| mean >= reached + (1.0 - NOTICEABLE).ln()) {
                break;
            }
            (reached, taken) = (Some(mean), [taken.as_slice(), &[line]].concat());
        }
        let as_it_is = |line: &PlayerLine| line.player.clone();
        let mut players: Vec<Player> = taken.into_iter().map(as_it_is).collect();
        // The advised one with the advised settings.
        if self.is_choice(first, self.at)
            && let Some(advised) = self.to_take()
        {
            players[0] = advised.clone();
        }
        players
    }

    /// The expected result of a choice among these plans; `None` if one of them was not rehearsed
    /// near this ε.
    pub fn prospect(&self, plans: &[Player], epsilon: f64) -> Option<Prospect> {
        let known = self.epsilons.first()?..=self.epsilons.last()?;
        let line = |plan: &Player| self.lines.iter().find(|line| line.player == *plan);
        let lines = plans.iter().map(line).collect::<Option<Vec<_>>>()?;
        let choice = self.mean_of_best(&lines, epsilon).filter(|_| known.contains(&&epsilon))?;
        let alone = |line: &&PlayerLine| {
            let logs = self.logs(line, epsilon)?;
            Some(self.mean(logs.into_iter()))
        };
        let single = lines.iter().filter_map(alone).fold(0.0, f64::min);
        Some(Prospect { choice: choice.exp(), single: single.exp() })
    }

    fn can_be_chosen(&self, line: &PlayerLine) -> bool {
        line.player.spends() && self.logs(line, self.epsilons[self.at]).is_some()
    }

    /// The mean, over cases, of the least logarithm of a ratio to public data alone, with the ε
    /// that this many candidates leave for each.
    fn mean_of_best(&self, lines: &[&PlayerLine], epsilon: f64) -> Option<f64> {
        let epsilon = epsilon / (lines.len() as f64).powf(SHARED);
        let each = lines.iter().map(|line| self.logs(line, epsilon)).collect::<Option<Vec<_>>>()?;
        let cases = self.cases.len();
        let best = |case: usize| each.iter().map(|logs| logs[case]).fold(0.0, f64::min);
        (cases > 0).then(|| self.mean((0..cases).map(best)))
    }

    /// The mean over cases, with their weights.
    fn mean(&self, values: impl Iterator<Item = f64>) -> f64 {
        let weight = |case: usize| self.weights.get(case).copied().unwrap_or(1.0);
        let (mut sum, mut whole) = (0.0, 0.0);
        for (case, value) in values.enumerate() {
            sum += weight(case) * value;
            whole += weight(case);
        }
        sum / whole
    }

    /// For every case the logarithm of the ratio at an ε, interpolated between the rehearsed ones.
    fn logs(&self, line: &PlayerLine, epsilon: f64) -> Option<Vec<f64>> {
        let above = self.epsilons.partition_point(|known| *known < epsilon);
        let (low, high) = (above.saturating_sub(1), above.min(self.epsilons.len() - 1));
        let all = |k: usize| line.logs.get(k).filter(|logs| logs.len() == self.cases.len());
        let (below, above) = (all(low)?, all(high)?);
        let way = (self.epsilons[high] / self.epsilons[low]).ln();
        let part = if way > 0.0 { (epsilon / self.epsilons[low]).ln() / way } else { 0.0 };
        let part = part.clamp(0.0, 1.0);
        Some(below.iter().zip(above).map(|(below, above)| below + part * (above - below)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::advice::PlayerStanding;

    /// Ratios to public data alone in two cases, the same at each ε but `worse` times larger at
    /// half of it.
    fn advice(methods: &[(&str, [f64; 2])], worse: f64) -> Advice {
        let line = |(id, ratios): &(&str, [f64; 2])| {
            let logs = ratios.map(f64::ln).to_vec();
            let mean = (logs.iter().sum::<f64>() / 2.0).exp();
            let [one, other] = *ratios;
            let standing = Some(PlayerStanding {
                ratio: mean,
                least: one.min(other),
                most: one.max(other),
                best_in: 1,
                cases: 2,
                spread: None,
                score: None,
                log_loss: None,
            });
            PlayerLine {
                player: Player::method(id),
                standings: vec![standing; 2],
                failed: None,
                logs: vec![logs.iter().map(|log| log + worse.ln()).collect(), logs],
            }
        };
        Advice {
            epsilons: vec![0.5, 1.0],
            at: 1,
            cases: vec!["a".to_owned(), "b".to_owned()],
            lines: methods.iter().map(line).collect(),
            choice: vec![None; 2],
            settings: Vec::new(),
            grown: 1.0,
            weights: Vec::new(),
            notes: Vec::new(),
            lacks_persons: false,
            judged_by: None,
            behind: 0,
            stopped: false,
        }
    }

    fn ids(players: &[Player]) -> Vec<String> {
        players.iter().map(Player::id).collect()
    }

    #[test]
    fn who_is_best_in_another_case_is_a_candidate_and_who_is_never_best_is_not() {
        let methods =
            [("target_only", [0.6, 1.4]), ("public_shape", [0.9, 0.8]), ("dp_sgd", [0.95, 0.9])];
        let found = advice(&methods, 1.0);
        assert_eq!(ids(&found.worth_choosing(5)), ["public_shape", "target_only"]);
        assert_eq!(ids(&found.worth_choosing(1)), ["public_shape"]);
        let both = [Player::method("public_shape"), Player::method("target_only")];
        assert!(found.prospect(&both, 1.0).unwrap().pays());
        let idle = [Player::method("public_shape"), Player::method("dp_sgd")];
        assert!(!found.prospect(&idle, 1.0).unwrap().pays());
        assert_eq!(found.prospect(&[Player::method("pillar")], 1.0), None);
    }

    #[test]
    fn one_plan_has_all_of_the_epsilon_where_half_of_it_costs_more_than_a_choice_brings() {
        let methods = [("public_shape", [0.8, 0.8]), ("target_only", [0.75, 0.9])];
        assert_eq!(advice(&methods, 1.0).worth_choosing(3).len(), 2);
        assert_eq!(advice(&methods, 1.3).worth_choosing(3).len(), 1);
    }

    #[test]
    fn between_two_epsilons_the_logarithms_are_on_a_line() {
        let found = advice(&[("public_shape", [0.8, 0.5])], 1.2);
        let logs = found.logs(&found.lines[0], 0.5_f64.sqrt()).unwrap();
        assert!((logs[0] - (0.8_f64.ln() + 0.5 * 1.2_f64.ln())).abs() < 1e-12);
        // Below the least rehearsed ε nothing more is known.
        assert_eq!(found.logs(&found.lines[0], 0.1), found.logs(&found.lines[0], 0.5));
    }
}
