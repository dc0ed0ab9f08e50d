//! Tests whether the noise drawn is the noise accounted for.
//!
//! Rehearsals with other seeds, on the same records, show the released values and the exact ones
//! behind them. Their differences, in units of the announced scale, must look like independent
//! numbers of the announced kind. Samples must look like Poisson samples. Every test fails a
//! correct program less than once in a million audits. Seeds are fixed, so an audit always gives
//! the same result.

use std::collections::HashSet;

use super::subject::Subject;
use crate::error::Result;
use crate::privacy::accountant::{Event, Mechanism, QueryKind, Rule};
use crate::privacy::tape::{Departure, Draw};

/// The most standard errors by which a mean may be off.
const FAR: f64 = 5.5;
/// The number of noise values that is enough.
const ENOUGH: usize = 6000;
const FEWEST_REHEARSALS: u64 = 30;

/// Sums over all draws of one release.
#[derive(Default)]
struct NoiseSums {
    count: f64,
    absolute: f64,
    squares: f64,
    zeros: f64,
    /// The surprise at the choices, relative to its expectation.
    surprise: f64,
    surprise_variance: f64,
    /// Σ(size − nq)²/(nq(1−q)) of samples, and their number.
    sizes: f64,
    samples: f64,
}

pub(super) fn check(subject: &Subject, rehearsals: u64, findings: &mut Vec<String>) -> Result<()> {
    let events = subject.calibrated.events();
    let mut seen: Vec<NoiseSums> = events.iter().map(|_| NoiseSums::default()).collect();
    let mut noises = HashSet::new();
    let mut samples: Vec<Vec<usize>> = Vec::new();
    let mut says = |what: &str, event: &Event| {
        let finding = format!("{}: {what}", event.label);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    };
    for seed in 1..=rehearsals {
        let private = subject.bounded(subject.private.clone());
        let played = subject.play(private, 1000 + seed, Departure::default())?;
        let mut before: Option<&Draw> = None;
        for (k, draw) in played.draws.iter().enumerate() {
            let event = &events[draw.event];
            let seen = &mut seen[draw.event];
            if let Some(scale) = added(event) {
                let noise = residuals(draw, scale);
                seen.add(&noise);
                // A single number needs more digits to be told from others.
                let fine = if noise.len() < 4 { 1e10 } else { 1e5 };
                let key: Vec<i64> = noise.iter().take(4).map(|z| (z * fine) as i64).collect();
                if !noises.insert((draw.event, key)) {
                    says("the same noise was drawn twice", event);
                }
                if before.is_some_and(|before| {
                    before.event == draw.event && before.released == draw.released
                }) {
                    says("a released value came twice", event);
                }
            }
            seen.choose(event, draw);
            if let QueryKind::SampledSum { rate } = event.mechanism.query.kind {
                let n = subject.private.protected() as f64;
                let off = draw.members.len() as f64 - n * rate;
                seen.sizes += off * off / (n * rate * (1.0 - rate)).max(1e-12);
                seen.samples += 1.0;
                // A sample that does not depend on the seed was known before.
                if samples.get(k).is_some_and(|known| *known == draw.members && known.len() > 3) {
                    says("two runs have the same sample", event);
                }
                if samples.len() == k {
                    samples.push(draw.members.clone());
                }
            }
            before = Some(draw);
        }
        let least = seen.iter().map(|seen| seen.count as usize + seen.samples as usize).min();
        if seed >= FEWEST_REHEARSALS && least.is_some_and(|least| least > ENOUGH) {
            break;
        }
    }
    for (event, seen) in events.iter().zip(&seen) {
        for what in seen.judge(event) {
            says(what, event);
        }
    }
    Ok(())
}

/// The scale of added noise.
fn added(event: &Event) -> Option<f64> {
    let Mechanism { query, noise } = event.mechanism;
    match query.kind {
        QueryKind::Gaussian | QueryKind::SampledSum { .. } | QueryKind::Laplace => {
            Some(noise.scale)
        }
        QueryKind::Selection(_)
        | QueryKind::Direction
        | QueryKind::Repeated(_)
        | QueryKind::Pure => None,
    }
}

fn residuals(draw: &Draw, scale: f64) -> Vec<f64> {
    draw.released.iter().zip(&draw.exact).map(|(noisy, exact)| (noisy - exact) / scale).collect()
}

impl NoiseSums {
    fn add(&mut self, noise: &[f64]) {
        for z in noise {
            self.count += 1.0;
            self.absolute += z.abs();
            self.squares += z * z;
            self.zeros += f64::from(*z == 0.0);
        }
    }

    /// Choices of the exponential mechanism: −ln p of each against its mean.
    fn choose(&mut self, event: &Event, draw: &Draw) {
        match event.mechanism.query.kind {
            QueryKind::Selection(Rule::Exponential) => {}
            // The probabilities of the other choices have no closed form. Noise that is added has
            // its own test.
            QueryKind::Selection(Rule::PermuteAndFlip | Rule::NoisyMaximum)
            | QueryKind::Direction
            | QueryKind::Gaussian
            | QueryKind::SampledSum { .. }
            | QueryKind::Laplace
            | QueryKind::Repeated(_)
            | QueryKind::Pure => return,
        }
        let scale = event.mechanism.noise.scale;
        let largest = draw.exact.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = draw.exact.iter().map(|s| ((s - largest) / scale).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mean = |power: i32| -> f64 {
            let terms = weights.iter().map(|w| w / total).filter(|p| *p > 0.0);
            terms.map(|p| p * (-p.ln()).powi(power)).sum()
        };
        let winner = draw.released.first().map_or(0, |winner| *winner as usize);
        let p = weights.get(winner).map_or(0.0, |w| w / total);
        self.surprise += -p.max(1e-300).ln() - mean(1);
        self.surprise_variance += mean(2) - mean(1).powi(2);
    }

    fn judge(&self, event: &Event) -> Vec<&'static str> {
        let mut wrong = Vec::new();
        if self.count > 0.0 {
            // Mean of |z| and of z², with the variances of one.
            let (absolute, square) = if event.mechanism.query.kind == QueryKind::Laplace {
                ((1.0, 1.0), (2.0, 20.0))
            } else {
                ((0.797_884_56, 0.363_380_2), (1.0, 2.0))
            };
            let off = |sum: f64, (mean, variance): (f64, f64)| {
                (sum - self.count * mean) / (self.count * variance).sqrt()
            };
            if off(self.squares, square).abs() > FAR {
                wrong.push("the noise has another scale than was accounted for");
            } else if off(self.absolute, absolute).abs() > FAR {
                wrong.push("the noise is of another kind than was accounted for");
            }
            if self.zeros > 3.0 + 1e-3 * self.count {
                wrong.push("some numbers have no noise");
            }
        }
        if self.surprise_variance > 0.0
            && self.surprise.abs() > FAR * self.surprise_variance.sqrt().max(1.0)
        {
            wrong.push("the choices do not have the announced probabilities");
        }
        if self.samples >= 50.0
            && (self.sizes - self.samples).abs() > FAR * (2.5 * self.samples).sqrt()
        {
            wrong.push("the sizes of the samples are not those of Poisson samples");
        }
        wrong
    }
}
