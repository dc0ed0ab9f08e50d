//! The advice that follows from rehearsals.
//!
//! Losses cannot be compared between cases, or between a rehearsal and the real run: only ratios
//! to public data alone carry over. So a player is judged by the logarithm of its ratio in each
//! case, as follows:
//!
//! - Errors change slowly with ε but noise does not, so neighbouring values of ε also count
//!   ([`SAY`]), but never for a method that loses to public data alone at the given ε.
//! - The mean over cases counts, and [`CAUTION`] times the worst case: one case where public
//!   data alone are hopeless must not decide for all others. Cases that resemble the real run
//!   weigh more ([`Trust`]); the worst case is chosen among those that weigh [`HEARD`] or more.
//! - A method that loses almost nothing to public data alone is preferred to them ([`INSURANCE`]):
//!   private data may differ more from public data than these do from each other, and then public
//!   data alone do not help.
//! - Methods for classes are chosen by their logarithmic loss ([`Played::finer`]). What is told of them
//!   is wrong answers, and a method that clearly has more of these than public data alone is not chosen.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::player::Player;
use super::rehearsal_data::{Played, RehearsalData};
use super::thinning::{ROUNDS, Thinning};
use super::trust::Trust;
use super::{CANNOT_PLAY, ErrorMeasure};
use crate::data::Task;
use crate::error::Error;
use crate::evaluation::Score;
use crate::evaluation::scoring::ForeseenScore;
use crate::methods;
use crate::plot::number::compact;

/// A value and its weight.
type Weighted = (f64, f64);

/// A loss counts as at most this many times another one: a failing player is bad enough.
const WORST: f64 = 100.0;

/// Results at an ε that differs from the plan's by at most this factor apply to the plan.
const NEAR: f64 = 1.5;

/// A smaller improvement counts as equal.
pub(super) const NOTICEABLE: f64 = 0.02;

/// The largest error of a curve, over that of public data alone.
const HIGHEST: f64 = 2.0;

/// Standard deviations on either side that contain 95 of 100 normal deviates.
const TWO_SIDED: f64 = 1.96;

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

/// The weight of results at half or twice the ε.
const SAY: f64 = 0.5;

/// The weight of the worst case, beside that of the mean over all.
const CAUTION: f64 = 0.25;

/// A range whose ends are this far apart, as a factor, foretells nothing.
const VAGUE: f64 = 20.0;

/// A case with less weight than this, where 1 is usual, cannot be the worst one.
const HEARD: f64 = 0.5;

/// How much a method may score above public data alone, whose score is zero: as much as one that is
/// [`NOTICEABLE`] worse in every case.
const INSURANCE: f64 = NOTICEABLE * (1.0 + CAUTION);

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialResult {
    pub case: usize,
    pub player: usize,
    pub repetition: u64,
    /// `None` if nothing is spent.
    pub epsilon: Option<f64>,
}

impl TrialResult {
    /// All trials, case by case.
    pub fn all(data: &RehearsalData, players: &[Player], repetitions: u64) -> Vec<Self> {
        let mut all = Vec::new();
        for repetition in 0..repetitions {
            for case in 0..data.cases.len() {
                for (player, of) in players.iter().enumerate() {
                    let entry = |epsilon| Self { case, player, repetition, epsilon };
                    let spent = data.terms.epsilons.iter().map(|epsilon| Some(*epsilon));
                    let spent: Vec<Option<f64>> =
                        if of.spends() { spent.collect() } else { vec![None] };
                    all.extend(spent.into_iter().map(entry));
                }
            }
        }
        all
    }
}

/// The losses so far.
#[derive(Debug, Clone)]
pub struct Results {
    /// What is known before any trial.
    known: Advice,
    pub players: Vec<Player>,
    /// By case, player and index in the list of ε: one loss for each repetition.
    losses: BTreeMap<(usize, usize, usize), BTreeMap<u64, Played>>,
    failed: BTreeMap<usize, String>,
    /// From this index on, players are the advised method with other settings, only at the plan's
    /// ε.
    variants: usize,
    trust: Trust,
    /// The players that were left out, and why.
    left_out: Vec<String>,
}

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

impl Results {
    pub fn new(data: &RehearsalData, players: &[Player]) -> Self {
        let factors = (0..data.cases.len()).map(|case| data.scale(case).1);
        let known = Advice {
            epsilons: data.terms.epsilons.clone(),
            cases: data.cases.iter().map(|case| case.title.clone()).collect(),
            grown: factors.fold(as_it_is(), f64::max),
            lacks_persons: data.lacks_persons(),
            judged_by: Some(data.measure()),
            ..Advice::default()
        };
        Self {
            known,
            players: players.to_vec(),
            losses: BTreeMap::new(),
            failed: BTreeMap::new(),
            variants: players.len(),
            trust: data.trust(),
            left_out: data.left_out.clone(),
        }
    }

    fn cases(&self) -> std::ops::Range<usize> {
        0..self.known.cases.len()
    }

    /// Adds further information about which cases resemble the real run.
    pub fn trusting(self, more: Trust) -> Self {
        Self { trust: self.trust.and(more), ..self }
    }

    fn weight(&self, case: usize) -> f64 {
        self.trust.weights[case]
    }

    /// Adds the advised method with other settings. Returns its trials.
    pub fn vary(&mut self, epsilon: f64, repetitions: u64) -> Vec<TrialResult> {
        let advice = self.advice(epsilon);
        let Some((player, _)) = advice.chosen(advice.at) else { return Vec::new() };
        let known = self.players.len();
        self.players.extend(player.variants());
        let epsilon = Some(advice.epsilons[advice.at]);
        let mut entries = Vec::new();
        for repetition in 0..repetitions {
            for case in self.cases() {
                let entry = |player| TrialResult { case, player, repetition, epsilon };
                entries.extend((known..self.players.len()).map(entry));
            }
        }
        entries
    }

    pub fn add(&mut self, entry: TrialResult, played: Played) {
        for (k, epsilon) in self.known.epsilons.iter().enumerate() {
            if entry.epsilon.is_none_or(|own| own == *epsilon) {
                let place = (entry.case, entry.player, k);
                self.losses.entry(place).or_default().insert(entry.repetition, played);
            }
        }
    }

    /// The number of results of a player.
    pub fn count(&self, player: usize) -> usize {
        let own = self.losses.iter().filter(|((_, of, _), _)| *of == player);
        own.map(|(_, results)| results.len()).sum()
    }

    pub fn fail(&mut self, entry: TrialResult, error: &Error) {
        self.failed.entry(entry.player).or_insert_with(|| error.what().to_owned());
    }

    /// ln(loss / loss of public data alone) of every repetition.
    pub fn repeated(&self, case: usize, player: usize, k: usize) -> Vec<f64> {
        self.ratios((case, player, k), |played| played.loss)
    }

    fn ratios(
        &self,
        (case, player, k): (usize, usize, usize),
        loss: fn(&Played) -> f64,
    ) -> Vec<f64> {
        let of = |player| self.losses.get(&(case, player, k));
        let Some((base, found)) = of(0).zip(of(player)) else { return Vec::new() };
        let ratios = found.iter().filter_map(|(repetition, played)| {
            Some(bounded_log(loss(played) / loss(base.get(repetition)?)))
        });
        ratios.collect()
    }

    /// The mean over repetitions.
    fn logarithm(&self, case: usize, player: usize, k: usize) -> Option<f64> {
        mean_of(&self.repeated(case, player, k))
    }

    /// [`Self::logarithm`] of the loss by which methods are chosen.
    fn finer(&self, case: usize, player: usize, k: usize) -> Option<f64> {
        mean_of(&self.ratios((case, player, k), |it| it.finer.unwrap_or(it.loss)))
    }

    /// The ratio of that loss, as the mean over cases.
    fn mean_finer(&self, player: usize, k: usize) -> Option<f64> {
        let of = |case| Some((self.finer(case, player, k)?, self.weight(case)));
        let found: Vec<Weighted> = self.cases().filter_map(of).collect();
        (!found.is_empty()).then(|| mean(&found).exp())
    }

    /// Whether methods are chosen by another loss than the one that is told.
    fn has_finer(&self) -> bool {
        self.known.judged_by == Some(ErrorMeasure::WrongAnswers)
    }

    /// The standard deviation of repetitions within a case, as a factor.
    fn spread(&self, player: usize, k: usize) -> Option<f64> {
        let (mut sum, mut freedom) = (0.0, 0.0);
        for case in self.cases() {
            let ratios = self.repeated(case, player, k);
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            sum += ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>();
            freedom += ratios.len().saturating_sub(1) as f64;
        }
        (freedom > 0.0).then(|| (sum / freedom).sqrt().exp())
    }

    /// What a released score would say of a player, as the mean over cases and repetitions.
    fn score_of(&self, player: usize, k: usize) -> Option<ForeseenScore> {
        let of = |case| self.losses.get(&(case, player, k)).into_iter().flat_map(BTreeMap::values);
        let all: Vec<ForeseenScore> =
            self.cases().flat_map(of).filter_map(|played| played.score).collect();
        let half_width = all.iter().map(|it| it.half_width).sum::<f64>() / all.len() as f64;
        Some(ForeseenScore { half_width, ..*all.first()? })
    }

    /// [`Self::finer`] for choosing a method: other ε also count, by how close they are.
    fn smoothed(&self, case: usize, player: usize, k: usize) -> Option<f64> {
        self.finer(case, player, k)?;
        let epsilons = &self.known.epsilons;
        let found = epsilons.iter().enumerate().filter_map(|(other, epsilon)| {
            let octaves = (epsilon / epsilons[k]).log2().abs();
            Some((self.finer(case, player, other)?, SAY.powf(octaves)))
        });
        Some(mean(&found.collect::<Vec<_>>()))
    }

    /// The score by which players are chosen; lower is better.
    fn score(&self, player: usize, k: usize) -> f64 {
        self.score_in(self.cases(), player, k)
    }

    fn score_in(&self, cases: impl Iterator<Item = usize>, player: usize, k: usize) -> f64 {
        let of = |case| Some((self.smoothed(case, player, k)?, self.weight(case)));
        let found: Vec<Weighted> = cases.filter_map(of).collect();
        let heard = found.iter().filter(|(_, weight)| *weight >= HEARD);
        let worst = heard.map(|(one, _)| *one).reduce(f64::max);
        let mean = mean(&found);
        mean + CAUTION * worst.unwrap_or(mean)
    }

    /// The players for a round: those whose error in the rounds before is at most a factor above the
    /// best one's. In the first round, that is everyone; after the last, nobody. Public data alone and no
    /// privacy are always among them.
    /// They are compared in the cases that they all have played; `playing` are those whose trials of the
    /// round before are not all done.
    pub fn near(
        &self,
        round: usize,
        epsilon: f64,
        thinning: Thinning,
        playing: &BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let margins = self.margins(round, epsilon, thinning, playing);
        margins.into_iter().filter(|(_, margin)| *margin <= 0.0).map(|(player, _)| player).collect()
    }

    /// By how much the score of each player is above the last one with which it plays in a round; those
    /// who play whatever comes are far below it. A player without a result has none.
    pub fn margins(
        &self,
        round: usize,
        epsilon: f64,
        thinning: Thinning,
        playing: &BTreeSet<usize>,
    ) -> BTreeMap<usize, f64> {
        let surely = |player: usize| (player, f64::NEG_INFINITY);
        if round >= ROUNDS {
            return BTreeMap::new();
        }
        let Some(behind) = thinning.behind(round) else {
            return (0..self.variants).map(surely).collect();
        };
        let k = nearest(&self.known.epsilons, epsilon);
        let played = |player: usize, case: &usize| self.logarithm(*case, player, k).is_some();
        let count = |player| self.cases().filter(|case| played(player, case)).count();
        let spending = (0..self.variants).filter(|player| self.players[*player].spends());
        let spending: Vec<usize> = spending.filter(|player| count(*player) > 0).collect();
        // Who has played in fewer cases fell behind before.
        let most = spending.iter().map(|player| count(*player)).max().unwrap_or(0);
        let able = |player: &usize| playing.contains(player) || count(*player) == most;
        let able: Vec<usize> = spending.into_iter().filter(able).collect();
        let shared = |case: &usize| able.iter().all(|player| played(*player, case));
        let shared: Vec<usize> = self.cases().filter(shared).collect();
        let score = |player: usize| self.score_in(shared.iter().copied(), player, k);
        let mut scores: Vec<f64> = able.iter().map(|player| score(*player)).collect();
        scores.sort_by(f64::total_cmp);
        let last = thinning.fewest(round).min(scores.len()).checked_sub(1);
        // Public data alone have the score 0.
        let best = scores.first().map_or(0.0, |best| best.min(0.0));
        let most = last.map_or(best, |last| scores[last]).max(best + (1.0 + CAUTION) * behind.ln());
        let others = (0..self.variants).filter(|player| !self.players[*player].spends());
        let margins = able.into_iter().map(|player| (player, score(player) - most));
        margins.chain(others.map(surely)).collect()
    }

    /// The advice so far.
    pub fn advice(&self, epsilon: f64) -> Advice {
        let count = self.variants;
        let mut lines: Vec<PlayerLine> = (self.players[..count].iter().enumerate())
            .map(|(player, of)| PlayerLine {
                player: of.clone(),
                standings: Vec::new(),
                failed: self.failed.get(&player).cloned(),
                logs: Vec::new(),
            })
            .collect();
        let able = || (0..count).filter(|player| self.players[*player] != Player::NoPrivacy);
        let mut choice = Vec::new();
        for k in 0..self.known.epsilons.len() {
            let logs = |player| self.cases().map(|case| self.logarithm(case, player, k)).collect();
            let found: Vec<Vec<Option<f64>>> = (0..count).map(logs).collect();
            // Methods are compared in the cases that the foremost of them have played. Public data alone and
            // no privacy may be ahead of them: that says nothing of any method.
            let able_to_spend = |player: &usize| {
                self.players[*player].spends() && !self.failed.contains_key(player)
            };
            let played = (0..count).filter(able_to_spend);
            let played = played.map(|player| found[player].iter().flatten().count()).max();
            let most = played.unwrap_or(0);
            let is_early = played == Some(0);
            let judged = |player, case| Some((player, self.finer(case, player, k)?));
            let best = |case| least(able().filter_map(|player| judged(player, case)));
            let winners: Vec<Option<usize>> = self.cases().map(best).collect();
            let finer: Vec<Option<f64>> = (0..count).map(|it| self.mean_finer(it, k)).collect();
            for (player, line) in lines.iter_mut().enumerate() {
                let weighted = (found[player].iter().enumerate())
                    .filter_map(|(case, log)| Some(((*log)?, self.weight(case))));
                let weighted: Vec<Weighted> = weighted.collect();
                let logs: Vec<f64> = weighted.iter().map(|(log, _)| *log).collect();
                let best_in = winners.iter().filter(|winner| **winner == Some(player)).count();
                let (spread, score) = (self.spread(player, k), self.score_of(player, k));
                let standing = PlayerStanding::of(&weighted, best_in);
                let log_loss = finer[player].filter(|_| self.has_finer());
                let standing =
                    standing.map(|found| PlayerStanding { spread, score, log_loss, ..found });
                line.standings.push(standing);
                let whole = logs.len() == self.cases().len();
                line.logs.push(if whole { logs } else { Vec::new() });
            }
            choice.push(least(able().filter_map(|player| {
                let standing = lines[player].standings[k]?;
                let spends = self.players[player].spends();
                // Whatever neighbouring ε suggest, a method with a clear loss at the given ε is not
                // chosen, nor one that loses by the finer loss.
                let worse = finer[player]?.max(standing.ratio);
                let loses = spends && worse > 1.0 + NOTICEABLE;
                let insurance = if spends { 0.0 } else { INSURANCE };
                (standing.cases >= most && !loses && !is_early)
                    .then(|| (player, self.score(player, k) + insurance))
            })));
        }
        let at = nearest(&self.known.epsilons, epsilon);
        let settings = choice[at].map_or(Vec::new(), |chosen| self.varied(chosen, at));
        let all_the_same = self.trust.why.is_empty();
        let weights = if all_the_same { Vec::new() } else { self.trust.weights.clone() };
        let notes = [self.trust.why.as_slice(), &self.left_out].concat();
        let behind = self.behind();
        Advice { at, lines, choice, settings, weights, notes, behind, ..self.known.clone() }
    }

    /// The number of methods that were tried less often than others.
    fn behind(&self) -> usize {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for ((_, player, _), results) in &self.losses {
            if *player < self.variants && self.players[*player].spends() {
                *counts.entry(*player).or_default() += results.len();
            }
        }
        let most = counts.values().max().copied().unwrap_or(0);
        let fits = |player: &usize| !self.failed.contains_key(player);
        counts.iter().filter(|(player, count)| fits(player) && **count < most).count()
    }

    /// The logarithm of a player's error over another one's, by the loss that chooses, in the
    /// repetitions that both have played.
    fn against(&self, case: usize, (one, other): (usize, usize), k: usize) -> Option<f64> {
        let of = |player| self.losses.get(&(case, player, k));
        let (one, other) = of(one).zip(of(other))?;
        let loss = |played: &Played| played.finer.unwrap_or(played.loss);
        let found = one.iter().filter_map(|(repetition, played)| {
            Some(bounded_log(loss(played) / loss(other.get(repetition)?)))
        });
        mean_of(&found.collect::<Vec<_>>())
    }

    /// The results of variants of the chosen player, compared with it.
    fn varied(&self, chosen: usize, k: usize) -> Vec<Variant> {
        let variants = (self.variants..self.players.len()).filter_map(|player| {
            let beside = |case| {
                let ratio = self.against(case, (player, chosen), k)?;
                let own = self.logarithm(case, player, k)?;
                Some(((own, self.weight(case)), (ratio, self.weight(case))))
            };
            let (own, ratios): (Vec<Weighted>, Vec<Weighted>) =
                self.cases().filter_map(beside).unzip();
            let better = ratios.iter().filter(|(ratio, _)| *ratio < 0.0).count();
            let (spread, score) = (self.spread(player, k), self.score_of(player, k));
            let log_loss = self.mean_finer(player, k).filter(|_| self.has_finer());
            let standing = PlayerStanding::of(&own, better)?;
            let standing = PlayerStanding { spread, score, log_loss, ..standing };
            let ratio = mean(&ratios).exp();
            Some(Variant { player: self.players[player].clone(), standing, ratio })
        });
        variants.collect()
    }
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

/// A range of gains in words, such as `4 % to 60 % less`.
pub(super) fn percents(low: f64, high: f64, less: &str) -> String {
    let [low, high] = [low, high].map(|gain| 100.0 * gain);
    match (low < 0.0, high < 0.0) {
        (false, false) => format!("{low:.0} % to {high:.0} % {less}"),
        (true, true) => format!("{:.0} % to {:.0} % more", -high, -low),
        _ => format!("{:.0} % more to {high:.0} % {less}", -low),
    }
}

/// The logarithm of a ratio of losses, within bounds.
fn bounded_log(ratio: f64) -> f64 {
    if ratio.is_finite() { ratio.clamp(1.0 / WORST, WORST) } else { WORST }.ln()
}

fn mean_of(ratios: &[f64]) -> Option<f64> {
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
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

    /// A sentence on other settings of the advised method that are no better.
    fn on_settings(&self) -> Option<String> {
        if self.settings.is_empty() || self.better_settings().is_some() {
            return None;
        }
        let words = |it: &Variant| {
            let percent = 100.0 * (it.ratio - 1.0);
            let what = self.chosen_by();
            let error = match percent {
                x if x.abs() < 0.5 => format!("as much {what}"),
                x if x < 0.0 => format!("{:.0} % less {what}", -x),
                x => format!("{x:.0} % more {what}"),
            };
            format!("{}: {error}", it.player.in_a_sentence())
        };
        let all: Vec<String> = self.settings.iter().map(words).collect();
        Some(format!("Its settings can stay as they are ({}).", all.join("; ")))
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

    /// The expected result of a plan, in a sentence.
    pub fn expectation(&self, plan: &Player, epsilon: f64) -> Option<String> {
        let (standing, rehearsed) = self.promised(plan, epsilon)?;
        let s = if standing.cases == 1 { "" } else { "s" };
        let said = format!(
            "In {} rehearsal{s} on public data at ε {}, {} had {} than public data alone, which \
             cost nothing.",
            standing.cases,
            compact(rehearsed),
            plan.in_a_sentence(),
            self.better(standing)
        );
        Some([vec![said, self.promise(standing)], self.limits(standing)].concat().join(" "))
    }

    /// How much less error than public data alone a released score should find of a plan, with its
    /// range. `None` if the rehearsals were judged by another error than scores are.
    pub fn foretold(&self, plan: &Player, epsilon: f64) -> Option<Score> {
        let (standing, _) = self.promised(plan, epsilon)?;
        self.measure().is_of_scores().then(|| standing.gain())
    }

    /// The expected result of a plan that lost to public data alone, in a sentence.
    pub fn warning(&self, plan: &Player, epsilon: f64) -> Option<String> {
        let lost = self.of_plan(plan, epsilon)?.0.ratio > 1.0 + NOTICEABLE;
        self.expectation(plan, epsilon).filter(|_| lost)
    }

    /// The advice in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let Some((player, standing)) = self.chosen(self.at) else {
            let failed = self.lines.first().and_then(|line| line.failed.as_ref());
            return vec![failed.map_or("Nothing is known yet.".to_owned(), |why| {
                format!("Nothing can be said, because public data alone give no model: {why}.")
            })];
        };
        let epsilon = compact(self.epsilons[self.at]);
        // Other settings that are better have their own result, which is the only one that is promised.
        let better = self.better_settings();
        let (advised, standing) = self.advised().unwrap_or((player, standing));
        let cases = standing.cases;
        let best = match better {
            Some(better) => format!(
                "{:.0} % less {} than {}, better in {} of {cases} rehearsals, and",
                100.0 * (1.0 - better.ratio),
                self.chosen_by(),
                player.in_a_sentence(),
                standing.best_in,
            ),
            None => match standing.log_loss {
                // Methods are chosen by it.
                Some(log_loss) => format!(
                    "best in {} of {cases} rehearsals by logarithmic loss ({log_loss:.2} × that of public \
                     data alone),",
                    standing.best_in
                ),
                None => format!("best in {} of {cases} rehearsals,", standing.best_in),
            },
        };
        let mut said = vec![if *player == Player::PublicOnly {
            format!(
                "At ε {epsilon} use public data alone and spend nothing: {}. The method '{}' makes \
                 their model.",
                self.lost(self.at),
                player.title()
            )
        } else {
            format!(
                "At ε {epsilon} (an attacker's odds: at most × {}) use {}: {best} {} than public \
                 data alone.",
                odds(self.epsilons[self.at]),
                advised.in_a_sentence(),
                self.better(standing)
            )
        }];
        said.extend(self.beside_least(player));
        if player.spends() && standing.ratio > 1.0 - NOTICEABLE {
            said.push(
                "Public data alone, which cost nothing, did as well: use them if you would \
                 rather spend nothing. The method is advised because it loses next to nothing, \
                 and gains where the private data differ more from the public ones than these \
                 differ from each other."
                    .to_owned(),
            );
        }
        said.extend(player.spends().then(|| self.promise(standing)));
        // It decides about ε.
        said.extend(self.ends());
        if player.spends() {
            said.extend(self.limits(standing));
        }
        said.extend(self.findings(player, standing));
        said.extend(self.on_settings());
        if player.spends() {
            said.extend(self.near_no_privacy());
        }
        said.extend(doubt(standing));
        said
    }

    /// What the report of a run says below the result of its plan: how the rehearsals were made, and
    /// which method they advised, if it is another one.
    pub fn beside_plan(&self, plan: &Player, epsilon: f64) -> Vec<String> {
        let advised = self.to_take().filter(|advised| *advised != plan).map(|advised| {
            format!(
                "At ε {} the rehearsals advised {}, which this run did not use.",
                compact(self.epsilons[self.at]),
                advised.in_a_sentence()
            )
        });
        let mut said: Vec<String> = advised.into_iter().collect();
        if let Some((standing, _)) = self.of_plan(plan, epsilon) {
            said.extend(self.findings(plan, standing));
            said.extend(doubt(standing));
        }
        said
    }

    /// Which public parts act as private.
    pub fn who_plays(&self) -> String {
        let parts = self.cases.join("; ");
        match self.cases.len() {
            1 => format!("One part of the public data plays the private role: {parts}."),
            count => {
                format!("{count} parts of the public data play the private role in turn: {parts}.")
            }
        }
    }

    /// The sentences on parts that cannot.
    pub fn cannot_play(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str).filter(|note| note.contains(CANNOT_PLAY))
    }

    /// How far repetitions of a player are apart, and what the rehearsals differ by from a run.
    fn findings(&self, player: &Player, standing: PlayerStanding) -> Vec<String> {
        let repeated = player.spends().then(|| repeated(standing)).flatten();
        let mut said: Vec<String> = repeated.into_iter().collect();
        if player.spends() && self.grown > 1.0 + NOTICEABLE {
            said.push(format!(
                "The rehearsals have fewer records than the private data. So ε was up to {} times \
                 as large in them, which keeps the noise in proportion to the number of records.",
                compact((10.0 * self.grown).round() / 10.0)
            ));
        }
        said.extend(self.notes.iter().cloned());
        // Who fell behind is known only at the end.
        said.extend(self.stopped.then(|| {
            "The rehearsal was stopped before its end, so some methods were not tried, or seldom."
                .to_owned()
        }));
        said.extend((self.behind > 0 && !self.stopped).then(|| {
            let (s, were) = if self.behind == 1 { ("", "was") } else { ("s", "were") };
            format!(
                "{} method{s} fell behind and {were} tried less often than the others. A deep rehearsal \
                 tries all of them alike.",
                self.behind
            )
        }));
        if self.lacks_persons {
            said.push(
                "The public data do not say whose record a row is, so every row counted as a \
                 person of its own here. A run with several records of each person should do a \
                 little better."
                    .to_owned(),
            );
        }
        said
    }

    /// Why a method is advised although another one has a lower mean in the table.
    pub fn beside_least(&self, advised: &Player) -> Option<String> {
        let other = self.sorted().find(|line| line.player != Player::NoPrivacy)?;
        let found = other.standings[self.at].filter(|_| other.player != *advised)?;
        let own = self.lines.iter().find(|line| line.player == *advised)?.standings[self.at]?;
        // Why public data alone are not advised has a sentence of its own.
        if !other.player.spends() || own.cases < found.cases {
            return None;
        }
        let cautious = |it: PlayerStanding| it.ratio.ln() + CAUTION * it.most.ln();
        let why = if self.measure() == ErrorMeasure::WrongAnswers {
            "methods for classes are chosen by logarithmic loss, which needs fewer records"
                .to_owned()
        } else if cautious(own) <= cautious(found) {
            format!("its worst rehearsal was worse ({:.2} against {:.2})", found.most, own.most)
        } else {
            "it did worse at nearby ε".to_owned()
        };
        Some(format!(
            "{} has the lower mean ({:.3} against {:.3} × public data alone), but {why}.",
            capital(&other.player.in_a_sentence()),
            found.ratio,
            own.ratio
        ))
    }

    /// What is known while trials are still to come: the advice if nothing followed, with the range of
    /// a run as soon as two rehearsals have a result.
    pub fn so_far(&self) -> Vec<String> {
        let Some((player, standing)) = self.advised() else { return self.sentences() };
        let all = self.cases.len();
        let (epsilon, s) = (compact(self.epsilons[self.at]), if all == 1 { "" } else { "s" });
        let ahead = self.beside_least(player);
        let why = if !player.spends() {
            match ahead {
                Some(_) => "no method is clearly better in all respects".to_owned(),
                None => self.lost(self.at),
            }
        } else if is_too_early(standing, all) {
            "too few to promise anything".to_owned()
        } else {
            format!("a run should have {} {}", self.range_words(standing), self.measure().words())
        };
        let mut said = vec![format!(
            "So far ({} tried) the advice at ε {epsilon} is {}, from {} of {all} rehearsal{s}: {why}.",
            self.methods_tried(),
            player.in_a_sentence(),
            self.cases_of_methods()
        )];
        said.extend(ahead);
        said.push("Further trials may change this.".to_owned());
        said
    }

    /// How many methods have a result or do not fit, such as `5 of 11 methods`.
    pub fn methods_tried(&self) -> String {
        let spending = || self.lines.iter().filter(|line| line.player.spends());
        let is_tried =
            |line: &&PlayerLine| line.failed.is_some() || line.standings[self.at].is_some();
        let (tried, all) = (spending().filter(is_tried).count(), spending().count());
        format!("{tried} of {all} method{}", if all == 1 { "" } else { "s" })
    }

    /// The number of cases that the foremost method has played at the plan's ε.
    pub fn cases_of_methods(&self) -> usize {
        let spending = self.lines.iter().filter(|line| line.player.spends());
        let cases = spending.filter_map(|line| Some(line.standings[self.at]?.cases));
        cases.max().unwrap_or(0)
    }

    /// `31 % less mean absolute error`, or `31 % fewer wrong answers`.
    pub fn better(&self, standing: PlayerStanding) -> String {
        let gain = 100.0 * (1.0 - standing.ratio);
        let word = if gain >= 0.0 { self.less() } else { "more" };
        format!("{:.0} % {word} {}", gain.abs(), self.measure().words())
    }

    /// The error by which methods and settings are chosen.
    fn chosen_by(&self) -> &'static str {
        match self.measure() {
            ErrorMeasure::WrongAnswers => ErrorMeasure::Logarithmic.words(),
            _ => "error",
        }
    }

    /// Errors are less, wrong answers are fewer.
    pub fn less(&self) -> &'static str {
        if self.measure() == ErrorMeasure::WrongAnswers { "fewer" } else { "less" }
    }

    /// The range of a run in words, such as `4 % to 60 % less`.
    pub fn range_words(&self, standing: PlayerStanding) -> String {
        let (least, most) = standing.range();
        percents(1.0 - most, 1.0 - least, self.less())
    }

    /// The range of a run, in a sentence.
    fn promise(&self, standing: PlayerStanding) -> String {
        let disagree = if standing.disagree() { "; the rehearsals disagree" } else { "" };
        let (range, what) = (self.range_words(standing), self.measure().words());
        let (least, most) = standing.range();
        if most > VAGUE * least {
            return format!("What a run will have cannot be foretold: {range} {what}{disagree}.");
        }
        format!("A run should have {range} {what}{disagree}.")
    }

    /// What to expect of a plan that does not follow the advice.
    pub fn of_another(&self, player: &Player, epsilon: f64) -> Option<String> {
        let (chosen, _) = self.chosen(self.at)?;
        let (standing, near) = self.of_plan(player, epsilon).filter(|_| player.spends())?;
        let (had, range) = (self.better(standing), self.range_words(standing));
        let is_other = player != chosen || near != self.epsilons[self.at];
        is_other.then(|| {
            format!("This plan instead, at ε {}: {had}; a run should have {range}.", compact(near))
        })
    }

    /// Sentences for a foretold gain that the number of records does not hold.
    pub fn limits(&self, standing: PlayerStanding) -> Vec<String> {
        let gains = standing.ratio < 1.0 - NOTICEABLE;
        let found = [too_few(standing), self.unconfirmed(standing)];
        found.into_iter().flatten().filter(|_| gains).collect()
    }

    /// A warning if the released score of a run is too uncertain to confirm the foretold gain.
    fn unconfirmed(&self, standing: PlayerStanding) -> Option<String> {
        let ForeseenScore { records, half_width } = standing.score?;
        let gain = 1.0 - standing.ratio;
        (half_width >= gain && self.measure().is_of_scores()).then(|| {
            format!(
                "The score tells the gain to ± {:.0} % (95 %, {records} records): it cannot confirm {:.0} %.",
                100.0 * half_width,
                100.0 * gain
            )
        })
    }

    /// The statement that every method loses to public data alone.
    fn lost(&self, k: usize) -> String {
        let spending = self.lines.iter().filter(|line| line.player.spends());
        let found = spending.filter_map(|line| Some((line, line.standings[k]?)));
        match least(found.map(|(line, standing)| ((line, standing), standing.ratio))) {
            Some((line, standing)) => {
                let player = line.player.in_a_sentence();
                format!("the best method, {player}, had {}", self.better(standing))
            }
            None => "no method fits".to_owned(),
        }
    }

    /// The ε from which on anything is gained, and the ε from which on nothing more is. Both count as a
    /// reader of the table does: by its error, and for no method another ε has less of it.
    pub fn ends(&self) -> Option<String> {
        let chosen = (0..self.epsilons.len()).map(|k| Some(self.chosen(k)?.1.ratio));
        let chosen: Vec<f64> = chosen.collect::<Option<_>>()?;
        let least: Vec<f64> = (0..chosen.len()).map(|k| self.least_spending(k)).collect();
        let last = chosen.len().checked_sub(1)?;
        // A rehearsal that was stopped may have tried no method at other ε.
        if least.iter().any(|ratio| ratio.is_infinite()) {
            return None;
        }
        let best_after = |k: usize| least[k..].iter().copied().fold(f64::INFINITY, f64::min);
        let gains = (0..=last).find(|k| chosen[*k].min(least[*k]) < 1.0 - NOTICEABLE)?;
        let is_enough = |k: &usize| best_after(k + 1) > (1.0 - NOTICEABLE) * chosen[*k];
        let helps = |k: &usize| chosen[*k] < 1.0 - NOTICEABLE;
        let enough = (gains..last).find(|k| helps(k) && is_enough(k));
        let mut said = Vec::new();
        if gains > 0 {
            said.push(format!(
                "up to ε {} public data alone is as good",
                compact(self.epsilons[gains - 1])
            ));
        }
        said.extend(enough.map(|k| {
            // The advice before it is for the plan's ε.
            let epsilon = compact(self.epsilons[k]);
            let enough = if k < self.at {
                format!("already ε {epsilon} is enough")
            } else {
                format!("beyond ε {epsilon} nothing more is gained")
            };
            let (there, beyond) = (chosen[k], best_after(k + 1));
            format!("{enough} ({there:.3} × public data alone there, {beyond:.3} at best beyond)")
        }));
        (!said.is_empty()).then(|| capital(&said.join("; ")) + ".")
    }

    /// The least error of a method at an ε of the list, over that of public data alone.
    fn least_spending(&self, k: usize) -> f64 {
        let spending = self.lines.iter().filter(|line| line.player.spends());
        let ratios = spending.filter_map(|line| Some(line.standings[k]?.ratio));
        ratios.fold(f64::INFINITY, f64::min)
    }

    /// The cost of privacy: how close the choice is to private data without privacy.
    fn near_no_privacy(&self) -> Option<String> {
        const CLOSE: f64 = 1.05;
        let line = self.lines.iter().find(|line| line.player == Player::NoPrivacy)?;
        let excess: Vec<f64> = (0..self.epsilons.len())
            .map(|k| Some(self.chosen(k)?.1.ratio / line.standings[k]?.ratio))
            .collect::<Option<_>>()?;
        let other = "a linear model of the private data alone, without any privacy";
        let here = excess[self.at];
        if here < 1.0 - NOTICEABLE {
            let times = 1.0 / here;
            let had = if times < 2.0 {
                format!("{:.0} % more error than it", 100.0 * (times - 1.0))
            } else {
                format!("{times:.1} times as much error")
            };
            return Some(format!("For comparison: {other}, had {had}."));
        }
        // It stays so close at every larger ε.
        let far = excess.iter().rposition(|excess| *excess > CLOSE);
        let close = far.map_or(0, |last| last + 1);
        Some(match (close < excess.len()).then_some(close) {
            Some(0) => {
                let least = compact(self.epsilons[0]);
                format!("From ε {least} on it is within 5 % of {other}.")
            }
            Some(k) => {
                // By linear interpolation in the logarithm of ε.
                let share = (excess[k - 1] - CLOSE) / (excess[k - 1] - excess[k]);
                let (from, to) = (self.epsilons[k - 1].ln(), self.epsilons[k].ln());
                let epsilon = (from + share * (to - from)).exp();
                format!(
                    "To be within 5 % of {other}: ε ≈ {epsilon:.2}, where an attacker's odds \
                     change by at most the factor {}.",
                    odds(epsilon)
                )
            }
            None => {
                let last = compact(*self.epsilons.last()?);
                let less = 100.0 * (1.0 - 1.0 / excess.last()?);
                format!(
                    "For comparison: {other}, still had {less:.0} % less error than it at ε {last}."
                )
            }
        })
    }
}

/// The largest factor, e^ε, by which an attacker's odds about a person change, rounded up.
pub fn odds(epsilon: f64) -> String {
    let factor = epsilon.exp();
    let up = |places: f64| (factor * places).ceil() / places;
    if factor < 10.0 {
        format!("{:.2}", up(100.0))
    } else if factor < 1e4 {
        format!("{:.0}", up(1.0))
    } else {
        let power = 10.0_f64.powf(factor.log10().floor());
        format!("{:.0e}", (factor / power).ceil() * power)
    }
}

/// Whether a result is from so few of all rehearsals that nothing is promised.
fn is_too_early(standing: PlayerStanding, all: usize) -> bool {
    all > 1 && standing.cases < 2
}

/// A sentence on the difference between repetitions.
fn repeated(standing: PlayerStanding) -> Option<String> {
    let percent = 100.0 * ((TWO_SIDED * standing.spread?.ln()).exp() - 1.0);
    Some(format!(
        "Within a rehearsal, other records and other noise change that by about ± {} % (95 %).",
        if percent < 0.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
    ))
}

/// A warning if the records are too few for the foretold gain to be sure in a single run: other
/// records and other noise, as between repetitions of a rehearsal, may take all of it.
fn too_few(standing: PlayerStanding) -> Option<String> {
    let change = (TWO_SIDED * standing.spread?.ln()).exp();
    (standing.ratio * change >= 1.0).then(|| {
        "The records are too few to rely on this forecast: other records and other noise may take all of the \
         gain."
            .to_owned()
    })
}

/// Sentences on how far the rehearsals can be trusted.
fn doubt(standing: PlayerStanding) -> Vec<String> {
    let mut said = Vec::new();
    if standing.cases < 2 {
        said.push(
            "There is only one rehearsal, so nobody knows how far this can be trusted.".to_owned(),
        );
    }
    said.push(
        "The range of a run allows for rehearsals that differ, and for private data that differ more or \
         less from the public ones than these from each other. Ratios and the order of the methods carry over; \
         the errors themselves do not."
            .to_owned(),
    );
    said
}

/// The text with a capital letter at its beginning.
/// Whether a foretold gain may decide where a score cannot: it is noticeable, and a run may lose less
/// than it should gain.
pub fn may_decide(gain: &Score) -> bool {
    gain.value > NOTICEABLE && gain.low > -gain.value
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
