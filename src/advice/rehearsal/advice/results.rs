//! The results of trials, and the choice of a method from them.
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

use super::{
    Advice, CAUTION, ErrorMeasure, NOTICEABLE, PlayerLine, PlayerStanding, Variant, Weighted,
    as_it_is, least, mean, nearest,
};
use crate::error::Error;
use crate::evaluation::scoring::ForeseenScore;
use crate::rehearsal::player::Player;
use crate::rehearsal::rehearsal_data::{Played, RehearsalData};
use crate::rehearsal::thinning::{ROUNDS, Thinning};
use crate::rehearsal::trust::Trust;

/// A loss counts as at most this many times another one: a failing player is bad enough.
pub(super) const WORST: f64 = 100.0;

/// The weight of results at half or twice the ε.
const SAY: f64 = 0.5;

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
    pub(super) known: Advice,
    pub players: Vec<Player>,
    /// By case, player and index in the list of ε: one loss for each repetition.
    pub(super) losses: BTreeMap<(usize, usize, usize), BTreeMap<u64, Played>>,
    pub(super) failed: BTreeMap<usize, String>,
    /// From this index on, players are the advised method with other settings, only at the plan's
    /// ε.
    pub(super) variants: usize,
    pub(super) trust: Trust,
    /// The players that were left out, and why.
    pub(super) left_out: Vec<String>,
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

/// The logarithm of a ratio of losses, within bounds.
fn bounded_log(ratio: f64) -> f64 {
    if ratio.is_finite() { ratio.clamp(1.0 / WORST, WORST) } else { WORST }.ln()
}

fn mean_of(ratios: &[f64]) -> Option<f64> {
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}
