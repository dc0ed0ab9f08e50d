//! The advice that follows from rehearsals: `results` chooses a method from trials, and `words` tells of
//! it.

mod results;
mod words;

use serde::{Deserialize, Serialize};

pub use self::results::{Results, TrialResult};
pub(super) use self::words::percents;
pub use self::words::{capital, odds};
use super::ErrorMeasure;
use super::player::Player;
use crate::data::Task;
use crate::evaluation::Score;
use crate::evaluation::scoring::ForeseenScore;
use crate::methods;

/// A value and its weight.
type Weighted = (f64, f64);

/// Results at an ε that differs from the plan's by at most this factor apply to the plan.
const NEAR: f64 = 1.5;

/// A smaller improvement counts as equal.
pub(super) const NOTICEABLE: f64 = 0.02;

/// The largest error of a curve, over that of public data alone.
const HIGHEST: f64 = 2.0;

/// The range to expect of a run reaches so many standard deviations to either side of the mean over
/// cases. The guide says on which shifts it was chosen, together with the next four numbers.
const REACH: f64 = 1.3;

/// A standard deviation between shifts that was seen where cases agree, in logarithms.
const ALIKE: f64 = 0.05;

/// A standard deviation between shifts if there is one case only, in logarithms.
const UNKNOWN: f64 = 0.2;

/// Public data alone may err so many times as much on the private data as their cases on each other.
const FARTHER: f64 = 2.0;

/// The part of a foretold gain, in logarithms, that surely holds: slices play because a model of the
/// rest is bad on them, so that much is gained there.
const HOLDS: f64 = 0.5;

/// The weight of the worst case, beside that of the mean over all.
const CAUTION: f64 = 0.25;

/// A range whose ends are this far apart, as a factor, foretells nothing.
const VAGUE: f64 = 20.0;

/// The results of a player at one ε, as ratios to public data alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlayerStanding {
    pub ratio: f64,
    /// The ratios in the best and in the worst case.
    pub least: f64,
    pub most: f64,
    /// The number of cases in which no other eligible player was better, and the number of cases.
    pub best_in: usize,
    #[serde(rename = "scenes")]
    pub cases: usize,
    /// The typical factor between repetitions with other records and other noise within a case:
    /// one standard deviation. `None` if nothing was repeated.
    pub spread: Option<f64>,
    /// What the released score of a run would say, as the mean over trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ForeseenScore>,
    /// For classes, the ratio of the logarithmic loss, by which methods are chosen; `best_in` counts by
    /// it. Earlier builds counted by wrong answers and did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
}

/// A player with its results at each ε.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayerLine {
    pub player: Player,
    pub standings: Vec<Option<PlayerStanding>>,
    /// Why it cannot be tried.
    pub failed: Option<String>,
    /// For each ε the logarithm of the ratio in every case, if it has played in all of them.
    #[serde(default)]
    pub logs: Vec<Vec<f64>>,
}

/// The advice at each ε.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Advice {
    pub epsilons: Vec<f64>,
    /// The plan's ε in that list.
    pub at: usize,
    #[serde(rename = "scenes")]
    pub cases: Vec<String>,
    /// The players, public data alone first.
    pub lines: Vec<PlayerLine>,
    /// The line to follow at each ε; `None` if nothing is known yet.
    pub choice: Vec<Option<usize>>,
    /// The advised method with other settings, at the plan's ε.
    #[serde(default)]
    pub settings: Vec<Variant>,
    /// The factor by which ε was raised in the smallest case: see [`RehearsalData::scale`].
    #[serde(default = "as_it_is")]
    pub grown: f64,
    /// The weight of each case; empty if all are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// The reasons for different weights, and the players that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether single records have played persons: see [`RehearsalData::lacks_persons`].
    #[serde(default)]
    pub lacks_persons: bool,
    /// The error of which all ratios are; earlier builds did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "measure")]
    pub judged_by: Option<ErrorMeasure>,
    /// The number of methods that fell behind and were tried less often than others.
    #[serde(default)]
    pub behind: usize,
    /// Whether somebody stopped the rehearsal before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

const fn as_it_is() -> f64 {
    1.0
}

/// One setting changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    pub player: Player,
    /// Result of the player relative to public data alone.
    pub standing: PlayerStanding,
    /// Error of the player relative to the unchanged method, as the mean over cases; of classes it is
    /// the logarithmic loss.
    pub ratio: f64,
}

impl PlayerStanding {
    /// Whether the player clearly gains in some cases and clearly loses in others.
    pub fn disagree(self) -> bool {
        self.least < 1.0 - NOTICEABLE && self.most > 1.0 + NOTICEABLE
    }

    /// The range of the ratio to expect of a run: the mean over cases, with the standard deviation of
    /// another case, from the range of the cases, and of a repetition. On the side of less error it
    /// also counts that private data may differ more from the public ones than these from each other,
    /// where public data alone err more; on the other side, that cases may differ more.
    pub fn range(self) -> (f64, f64) {
        let cases = self.cases as f64;
        let between = match self.cases {
            0 | 1 => UNKNOWN,
            _ => (self.most / self.least).ln() / cases.sqrt(),
        };
        let within = self.spread.map_or(0.0, f64::ln);
        let another = between * (1.0 + 1.0 / cases.max(1.0)).sqrt();
        let factor = (REACH * another.hypot(within).hypot(ALIKE)).exp();
        (self.ratio / factor / FARTHER, self.ratio.max(self.ratio.powf(HOLDS)) * factor)
    }

    /// How much less error than public data alone a run should have, as a share of theirs.
    pub fn gain(self) -> Score {
        let (least, most) = self.range();
        Score { value: 1.0 - self.ratio, low: 1.0 - most, high: 1.0 - least }
    }

    /// From the logarithms of the ratios, one for each case, and the cases' weights.
    fn of(logs: &[Weighted], best_in: usize) -> Option<Self> {
        let of = |with: fn(f64, f64) -> f64| logs.iter().map(|(log, _)| *log).reduce(with);
        let (least, most) = (of(f64::min)?.exp(), of(f64::max)?.exp());
        let (ratio, cases) = (mean(logs).exp(), logs.len());
        let (spread, score, log_loss) = (None, None, None);
        Some(Self { ratio, least, most, best_in, cases, spread, score, log_loss })
    }
}

fn mean(weighted: &[Weighted]) -> f64 {
    let whole: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    weighted.iter().map(|(value, weight)| value * weight).sum::<f64>() / whole
}

/// The first of those with the least number.
fn least<T>(all: impl Iterator<Item = (T, f64)>) -> Option<T> {
    all.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(which, _)| which)
}

/// The index of the ε that is closest by factor.
fn nearest(epsilons: &[f64], epsilon: f64) -> usize {
    let far = |(k, known): (usize, &f64)| (k, (known.ln() - epsilon.ln()).abs());
    least(epsilons.iter().enumerate().map(far)).unwrap_or(0)
}

impl Advice {
    /// The error by which the players are compared. Earlier builds took squares of numbers and the
    /// logarithmic loss of classes.
    pub fn measure(&self) -> ErrorMeasure {
        let of_classes = |line: &PlayerLine| match &line.player {
            Player::Method { id, .. } => {
                methods::method(id).is_ok_and(|it| it.spec().task == Task::Classification)
            }
            _ => false,
        };
        self.judged_by.unwrap_or_else(|| {
            if self.lines.iter().any(of_classes) {
                ErrorMeasure::Logarithmic
            } else {
                ErrorMeasure::MeanSquare
            }
        })
    }

    /// Whether its parts are consistent; it may come from a file.
    pub fn is_sound(&self) -> bool {
        let count = self.epsilons.len();
        let within = |line: &Option<usize>| line.is_none_or(|line| line < self.lines.len());
        self.at < count
            && self.choice.len() == count
            && self.choice.iter().all(within)
            && self.lines.iter().all(|line| line.standings.len() == count)
            && self.epsilons.iter().all(|epsilon| epsilon.is_finite() && *epsilon > 0.0)
            && (self.weights.is_empty() || self.weights.len() == self.cases.len())
            && self.weights.iter().all(|weight| weight.is_finite() && *weight > 0.0)
    }

    /// Without what it says of released scores.
    pub fn without_scores(mut self) -> Self {
        let standings = self.lines.iter_mut().flat_map(|line| line.standings.iter_mut().flatten());
        let varied = self.settings.iter_mut().map(|it| &mut it.standing);
        standings.chain(varied).for_each(|standing| standing.score = None);
        self
    }

    /// The lines from the least error at the plan's ε to the largest. Means over different cases are
    /// not compared: a method that has played in fewer cases than others comes after them. Public data
    /// alone are the unit, so they can be compared with every method.
    pub fn sorted(&self) -> impl Iterator<Item = &PlayerLine> {
        let most = self.cases_of_methods();
        let key = |line: &PlayerLine| {
            line.standings[self.at].map_or((0, f64::INFINITY), |it| (it.cases.min(most), it.ratio))
        };
        let mut lines: Vec<(&PlayerLine, (usize, f64))> =
            self.lines.iter().map(|line| (line, key(line))).collect();
        lines.sort_by(|(_, one), (_, other)| {
            other.0.cmp(&one.0).then_with(|| one.1.total_cmp(&other.1))
        });
        lines.into_iter().map(|(line, _)| line)
    }

    /// The lines for a table: the advised one first, which may not have the least error, then as sorted.
    pub fn for_table(&self) -> impl Iterator<Item = &PlayerLine> {
        let is_advised = |line: &&PlayerLine| self.is_choice(line, self.at);
        self.sorted().filter(is_advised).chain(self.sorted().filter(move |it| !is_advised(it)))
    }

    /// The curves of error over ε of the best `count` methods, with their titles. Errors above
    /// [`HIGHEST`], which would squeeze all others into a line, are left out.
    pub fn curves(&self, count: usize) -> Vec<(String, Vec<(f64, f64)>)> {
        let curve = |line: &PlayerLine| {
            let points = self.epsilons.iter().zip(&line.standings);
            let points = points.filter_map(|(epsilon, found)| Some((*epsilon, (*found)?.ratio)));
            let points: Vec<_> = points.filter(|(_, ratio)| *ratio <= HIGHEST).collect();
            (!points.is_empty()).then(|| (line.player.title(), points))
        };
        self.sorted().filter(|line| line.player.spends()).filter_map(curve).take(count).collect()
    }

    pub fn is_choice(&self, line: &PlayerLine, k: usize) -> bool {
        self.choice[k].is_some_and(|at| self.lines[at].player == line.player)
    }

    /// The method to use at the plan's ε, with its settings. They differ from the automatic ones
    /// only if that is clearly better, and in most cases.
    pub fn to_take(&self) -> Option<&Player> {
        self.advised().map(|(player, _)| player)
    }

    /// The player to use at the plan's ε, and its results.
    pub fn advised(&self) -> Option<(&Player, PlayerStanding)> {
        let chosen = self.chosen(self.at)?;
        Some(self.better_settings().map_or(chosen, |it| (&it.player, it.standing)))
    }

    /// The advice for a plan with another ε, if the rehearsals had one near it.
    pub fn at_epsilon(&self, epsilon: f64) -> Option<Self> {
        let at = nearest(&self.epsilons, epsilon);
        let is_near = (1.0 / NEAR..=NEAR).contains(&(self.epsilons.get(at)? / epsilon));
        // Other settings were tried at one ε only.
        let settings = if at == self.at { self.settings.clone() } else { Vec::new() };
        is_near.then(|| Self { at, settings, ..self.clone() })
    }

    /// Why the range of a run is not told.
    pub fn reservation(&self, standing: PlayerStanding) -> Option<&'static str> {
        let (least, most) = standing.range();
        match () {
            () if is_too_early(standing, self.cases.len()) => Some("unknown: too few rehearsals"),
            () if most > VAGUE * least => Some("cannot be foretold"),
            () => None,
        }
    }

    /// Other settings of the chosen method that are clearly better.
    fn better_settings(&self) -> Option<&Variant> {
        let clearly = |it: &&Variant| {
            it.ratio < 1.0 - NOTICEABLE && 2 * it.standing.best_in > it.standing.cases
        };
        least(self.settings.iter().filter(clearly).map(|it| (it, it.ratio)))
    }

    /// The line with the least actual error at an ε of the list.
    pub fn best(&self, k: usize) -> Option<usize> {
        let able = (0..self.lines.len()).filter(|at| self.lines[*at].player != Player::NoPrivacy);
        least(able.filter_map(|at| Some((at, self.lines[at].standings[k]?.ratio))))
    }

    /// The player to choose at an ε of the list, and its results.
    pub fn chosen(&self, k: usize) -> Option<(&Player, PlayerStanding)> {
        let line = &self.lines[self.choice[k]?];
        Some((&line.player, line.standings[k]?))
    }

    /// The results of a plan's own method and settings at an ε near the plan's, and that ε.
    pub fn of_plan(&self, plan: &Player, epsilon: f64) -> Option<(PlayerStanding, f64)> {
        let k = nearest(&self.epsilons, epsilon);
        let rehearsed = *self.epsilons.get(k)?;
        if !(1.0 / NEAR..=NEAR).contains(&(rehearsed / epsilon)) {
            return None;
        }
        let line = self.lines.iter().find(|line| line.player == *plan);
        let variant = || self.settings.iter().find(|it| it.player == *plan && k == self.at);
        let standing = match line {
            Some(line) => line.standings[k]?,
            None => variant()?.standing,
        };
        Some((standing, rehearsed))
    }

    /// The results of a plan that spends, if enough rehearsals had one to promise anything.
    pub fn promised(&self, plan: &Player, epsilon: f64) -> Option<(PlayerStanding, f64)> {
        let found = self.of_plan(plan, epsilon).filter(|_| plan.spends())?;
        // Public data alone are not compared with themselves.
        (!is_too_early(found.0, self.cases.len())).then_some(found)
    }

    /// How much less error than public data alone a released score should find of a plan, with its
    /// range. `None` if the rehearsals were judged by another error than scores are.
    pub fn foretold(&self, plan: &Player, epsilon: f64) -> Option<Score> {
        let (standing, _) = self.promised(plan, epsilon)?;
        self.measure().is_of_scores().then(|| standing.gain())
    }

    /// The number of cases that the foremost method has played at the plan's ε.
    pub fn cases_of_methods(&self) -> usize {
        let spending = self.lines.iter().filter(|line| line.player.spends());
        let cases = spending.filter_map(|line| Some(line.standings[self.at]?.cases));
        cases.max().unwrap_or(0)
    }
}

/// Whether a result is from so few of all rehearsals that nothing is promised.
fn is_too_early(standing: PlayerStanding, all: usize) -> bool {
    all > 1 && standing.cases < 2
}

/// Whether a foretold gain may decide where a score cannot: it is noticeable, and a run may lose less
/// than it should gain.
pub fn may_decide(gain: &Score) -> bool {
    gain.value > NOTICEABLE && gain.low > -gain.value
}

#[cfg(test)]
mod tests;
