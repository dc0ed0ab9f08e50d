//! Lower bounds on ε, measured from runs.
//!
//! *Many runs*, with and without a canary that is as hostile as a record can be. The observer sees
//! every released value, knows all other records, and scores a run by the evidence for the canary
//! in the released values, relative to their noise. The threshold is chosen on one half of the runs
//! and judged on the other, with Clopper and Pearson's bounds.
//!
//! *One run* (Steinke, Nasr, Jagielski 2023): a coin decides for every record whether it is in or
//! out. After one run the observer guesses for the clearest records. With a small ε many right
//! guesses are unlikely.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::neighbours::variants;
use super::subject::Subject;
use crate::data::Dataset;
use crate::error::Result;
use crate::privacy::Adjacency;
use crate::privacy::accountant::{Event, QueryKind};
use crate::privacy::tape::{Departure, Draw};
use halflight_dp::shown::{RISK, epsilon_shown};

/// Lower bounds on ε.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shown {
    /// From runs with and without one canary.
    pub many_runs: f64,
    pub runs: usize,
    /// From one run with and without each of many canaries.
    pub one_run: f64,
    pub canaries: usize,
    /// The confidence of each of the two lower bounds.
    pub confidence: f64,
}

/// The data of a run.
struct CanaryWorld<'a> {
    data: &'a Dataset,
    blank: Vec<usize>,
    present: Option<usize>,
}

impl CanaryWorld<'_> {
    fn play(&self, subject: &Subject, seed: u64, before: Option<&[Draw]>) -> Result<Vec<Draw>> {
        let before = before.map(<[Draw]>::to_vec);
        let (blank, present) = (self.blank.clone(), self.present);
        let history = Departure { before, blank, present };
        Ok(subject.play(subject.bounded(self.data.clone()), seed, history)?.draws)
    }
}

pub(super) fn show(subject: &Subject, runs: usize) -> Result<Shown> {
    let delta = subject.calibrated.guarantee().delta;
    let many_runs = many_runs(subject, runs, delta)?;
    let (one_run, canaries) = one_run(subject, delta)?;
    Ok(Shown { many_runs, runs, one_run, canaries, confidence: 1.0 - 2.0 * RISK })
}

fn is_sampled(subject: &Subject) -> bool {
    subject.calibrated.events().iter().any(|event| event.adjacency == Adjacency::ZeroOut)
}

fn many_runs(subject: &Subject, runs: usize, delta: f64) -> Result<f64> {
    // Neither the first nor the last: sums in blocks end anywhere.
    let at = subject.private.protected() / 2;
    let hostile = variants(&subject.private, at);
    let world = |data| CanaryWorld { data, blank: Vec::new(), present: None };
    let sampled = is_sampled(subject);
    let blank = |data| CanaryWorld { data, blank: vec![at], present: None };
    // The pair of neighbours that is furthest apart in the first run.
    let first = world(&hostile[0]).play(subject, 1, None)?;
    let mut furthest = (0.0, 0, 0);
    let present = |data| CanaryWorld { data, blank: Vec::new(), present: Some(at) };
    let inside = hostile.iter().map(|data| {
        let world = if sampled { present(data) } else { world(data) };
        world.play(subject, 1, Some(&first))
    });
    let inside = inside.collect::<Result<Vec<_>>>()?;
    let out = blank(&hostile[0]).play(subject, 1, Some(&first))?;
    for i in 0..inside.len() {
        let others = if sampled { 0..1 } else { 0..i };
        for j in others {
            let other = if sampled { &out } else { &inside[j] };
            let apart: f64 =
                inside[i].iter().zip(other).map(|(a, b)| distance(subject, a, b)).sum();
            if apart > furthest.0 {
                furthest = (apart, i, j);
            }
        }
    }
    let (one, other) = (&hostile[furthest.1], &hostile[furthest.2]);
    let (with, without, is, is_not) = if sampled {
        (world(one), blank(one), present(one), blank(one))
    } else {
        (world(one), world(other), world(one), world(other))
    };
    let score = |world: &CanaryWorld<'_>, seed: u64| -> Result<f64> {
        let seen = world.play(subject, seed, None)?;
        let inside = is.play(subject, seed, Some(&seen))?;
        let outside = is_not.play(subject, seed, Some(&seen))?;
        let draws = seen.iter().zip(&inside).zip(&outside);
        let events = subject.calibrated.events();
        Ok(draws.map(|((seen, a), b)| evidence(&events[a.event], seen, &a.exact, &b.exact)).sum())
    };
    let scores = |world: &CanaryWorld<'_>, first: u64| -> Result<Vec<f64>> {
        (0..runs as u64).map(|run| score(world, first + run)).collect()
    };
    Ok(epsilon_shown(delta, &scores(&with, 10_000)?, &scores(&without, 5_000_000)?))
}

fn distance(subject: &Subject, a: &Draw, b: &Draw) -> f64 {
    let scale = subject.calibrated.events()[a.event].mechanism.noise.scale;
    a.exact.iter().zip(&b.exact).map(|(a, b)| ((a - b) / scale).powi(2)).sum()
}

/// The evidence of a released value for `inside` against `outside`.
fn evidence(event: &Event, seen: &Draw, inside: &[f64], outside: &[f64]) -> f64 {
    let scale = event.mechanism.noise.scale;
    let numbers = || seen.released.iter().zip(inside.iter().zip(outside));
    match event.mechanism.query.kind {
        QueryKind::Laplace => {
            numbers().map(|(x, (a, b))| ((x - b).abs() - (x - a).abs()) / scale).sum()
        }
        QueryKind::Gaussian | QueryKind::SampledSum { .. } => {
            numbers().map(|(x, (a, b))| (x - 0.5 * (a + b)) * (a - b) / (scale * scale)).sum()
        }
        // As if every choice were that of the exponential mechanism. Other evidence would only show
        // more: any number shows a lower bound.
        QueryKind::Selection(_)
        | QueryKind::Direction
        | QueryKind::Repeated(_)
        | QueryKind::Pure => {
            let winner = seen.released.first().map_or(0, |winner| *winner as usize);
            let log_chance = |scores: &[f64]| {
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = scores.iter().map(|s| ((s - largest) / scale).exp()).sum();
                scores.get(winner).map_or(0.0, |s| (s - largest) / scale - sum.ln())
            };
            log_chance(inside) - log_chance(outside)
        }
    }
}

/// P(X = `successes`).
fn binomial(successes: usize, trials: usize, chance: f64) -> f64 {
    let (k, n) = (successes as f64, trials as f64);
    if chance <= 0.0 || chance >= 1.0 {
        return f64::from((chance <= 0.0 && successes == 0) || (chance >= 1.0 && k == n));
    }
    let ways: f64 = (1..=successes).map(|j| ((n - k + j as f64) / j as f64).ln()).sum();
    (ways + k * chance.ln() + (n - k) * (-chance).ln_1p()).exp()
}

/// The bound of one run, and how many canaries it had.
fn one_run(subject: &Subject, delta: f64) -> Result<(f64, usize)> {
    let data = &subject.private;
    let n = data.protected();
    let mut coins = ChaCha20Rng::seed_from_u64(11);
    let is_in: Vec<bool> = (0..n).map(|_| coins.random_bool(0.5)).collect();
    let sampled = is_sampled(subject);
    let nobody: Vec<usize> = (0..n).collect();
    let play = |out: &[usize], before: Option<&[Draw]>| {
        let mut data = data.clone();
        if !sampled {
            let own = |i: &usize| data.persons.as_ref().map_or(*i..*i + 1, |it| it.of(*i));
            for i in out.iter().flat_map(own).collect::<Vec<_>>() {
                data.features.column_mut(i).fill(0.0);
                if let Some(target) = &mut data.target {
                    target[i] = 0.0;
                }
            }
        }
        let blank = if sampled { out.to_vec() } else { Vec::new() };
        CanaryWorld { data: &data, blank, present: None }.play(subject, 77, before)
    };
    let out: Vec<usize> = (0..n).filter(|i| !is_in[*i]).collect();
    let seen = play(&out, None)?;
    let (all, none) = (play(&[], Some(&seen))?, play(&nobody, Some(&seen))?);
    let mut scores = Vec::with_capacity(n);
    for (i, is_in) in is_in.iter().enumerate() {
        let without = play(&[i], Some(&seen))?;
        let mut score = 0.0;
        for (((seen, all), none), without) in seen.iter().zip(&all).zip(&none).zip(&without) {
            let scale = subject.calibrated.events()[all.event].mechanism.noise.scale;
            if seen.released.len() == all.exact.len() {
                let numbers = seen.released.iter().zip(&all.exact).zip(&none.exact);
                let numbers = numbers.zip(&without.exact);
                score += numbers
                    .map(|(((x, a), o), w)| (x - 0.5 * (a + o)) * (a - w) / (scale * scale))
                    .sum::<f64>();
            }
        }
        scores.push((score, *is_in));
    }
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    let side = n / 6;
    let lowest = scores[..side].iter().filter(|(_, is_in)| !is_in).count();
    let highest = scores[n - side..].iter().filter(|(_, is_in)| *is_in).count();
    let (guesses, right) = (2 * side, lowest + highest);
    let unlikely = |epsilon: f64| chance_of(n, guesses, right, epsilon, delta) < 2.0 * RISK;
    let mut bound = 0.0;
    while bound < 20.0 && unlikely(bound + 0.01) {
        bound += 0.01;
    }
    Ok((bound, n))
}

/// An upper bound on the probability of this many right guesses under (ε, δ), from theorem 5.2 of
/// the paper.
fn chance_of(canaries: usize, guesses: usize, right: usize, epsilon: f64, delta: f64) -> f64 {
    let chance = 1.0 / (1.0 + (-epsilon).exp());
    let at_least = |k: usize| (k..=guesses).map(|k| binomial(k, guesses, chance)).sum::<f64>();
    let (mut sum, mut alpha) = (0.0, 0.0_f64);
    for i in 1..=right {
        sum += binomial(right - i, guesses, chance);
        alpha = alpha.max(sum / i as f64);
    }
    (at_least(right) + 2.0 * alpha * delta * canaries as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_guesses_are_as_likely_as_coins_allow() {
        // Without privacy loss a guess is a coin: all of ten right once in 1024.
        assert!((chance_of(10, 10, 10, 0.0, 0.0) - 1.0 / 1024.0).abs() < 1e-12);
        let loose = chance_of(10, 10, 10, 3.0_f64.ln(), 0.0);
        assert!((loose - 0.75_f64.powi(10)).abs() < 1e-12);
        assert!(chance_of(10, 10, 10, 0.0, 1e-2) > 1.0 / 1024.0);
    }
}
