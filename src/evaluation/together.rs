//! What the scores of several models say together, if the same records gave them.
//!
//! Every score has noise of its own. Public data alone are one model, so their error is one number P:
//! the mean of what all scores tell, p, weighted by how little noise is in each. By how much a score is
//! off for public data alone says, on average, by how much it is off for its own model, since both come from one
//! vector. So its error m becomes m + β(P − p), with β = Cov(m, p)/Var(p), the covariances of the
//! noise: for normal noise this is least squares. The difference is that of the two new errors, so no two
//! numbers contradict each other.
//!
//! Noise alone becomes less. Which records happened to be held out is one chance for all of them, so
//! its part of a range stays as it was.

use serde::{Deserialize, Serialize};

use super::definition::Loss;
use super::score::{Score, Scored};

/// The variances of noise in the mean losses of a score, and a covariance: public.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// In the loss of the model.
    pub own: f64,
    /// In that of public data alone.
    pub public: f64,
    /// The covariance of the two.
    pub both: f64,
    /// In the loss of one answer for all.
    pub one_answer: f64,
}

/// How many standard deviations of noise a range reaches.
const REACH: f64 = 1.96;

/// A part of a range that is the chance of the records, below and above.
type Chance = [f64; 2];

/// The part of a range that noise of this variance does not explain, squared. A side that ends where
/// nothing more is possible is no shorter than the other one.
fn chance(score: Score, most: f64, noise: f64) -> Chance {
    let Score { value, low, high } = score;
    let (mut down, mut up) = (value - low, high - value);
    if low <= 0.0 {
        down = down.max(up);
    }
    if high >= most {
        up = up.max(down);
    }
    [down, up].map(|side| (side * side - REACH * REACH * noise).max(0.0))
}

/// A range from both parts.
fn ranged(value: f64, chance: Chance, noise: f64) -> Score {
    let [down, up] = chance.map(|it| (it + REACH * REACH * noise).sqrt());
    Score { value, low: value - down, high: value + up }
}

/// The mean of one number from several scores, with the weight of each and the variance of its noise.
fn mean(of: &[(Score, f64)], most: f64) -> (Score, Vec<f64>, f64) {
    let weights = of.iter().map(|(_, noise)| 1.0 / noise.max(1e-200));
    let all: f64 = weights.clone().sum();
    let weights: Vec<f64> = weights.map(|weight| weight / all).collect();
    let sum = |number: &dyn Fn(&(Score, f64)) -> f64| -> f64 {
        of.iter().zip(&weights).map(|(it, weight)| weight * number(it)).sum()
    };
    let noise = of.iter().zip(&weights).map(|(it, weight)| weight * weight * it.1).sum();
    let chance = [0, 1].map(|side| sum(&|(score, noise)| chance(*score, most, *noise)[side]));
    let value = sum(&|(score, _)| score.value);
    (ranged(value.clamp(0.0, most), chance, noise).within(0.0, most), weights, noise)
}

/// Scores of the same records beside the same public data alone, or of these themselves, as all of them
/// say together. One that does not know its noise, as in earlier versions, stays as it is.
pub fn together(scores: &[&Scored]) -> Vec<Scored> {
    let mut all: Vec<Scored> = scores.iter().map(|it| (*it).clone()).collect();
    let is_known = |at: &usize| scores[*at].noise.is_some();
    let known: Vec<usize> = (0..scores.len()).filter(is_known).collect();
    let [first, _, ..] = known.as_slice() else { return all };
    let (loss, limit) = (scores[*first].loss, scores[*first].largest_error.unwrap_or(1.0));
    let power = if loss == Some(Loss::Squared) { 2 } else { 1 };
    // The root of a mean square is no mean.
    let loss_of = |score: Score| score.map(|it| it.powi(power));
    let error_of = |score: Score| score.map(|it| it.powf(1.0 / f64::from(power)));
    let most = limit.powi(power);
    let noises: Vec<Noise> = known.iter().filter_map(|at| scores[*at].noise).collect();
    let publics = known.iter().zip(&noises).map(|(at, noise)| match scores[*at].public_alone {
        Some(error) => (loss_of(error), *noise),
        None => {
            (loss_of(scores[*at].error), Noise { public: noise.own, both: noise.own, ..*noise })
        }
    });
    let (publics, noises): (Vec<Score>, Vec<Noise>) = publics.unzip();
    let of: Vec<(Score, f64)> =
        publics.iter().zip(&noises).map(|(score, noise)| (*score, noise.public)).collect();
    let (public, weights, noise) = mean(&of, most);
    let answers = known.iter().zip(&noises);
    let answers = answers
        .filter_map(|(at, noise)| Some((loss_of(scores[*at].one_answer?), noise.one_answer)));
    let answers: Vec<(Score, f64)> = answers.collect();
    let one_answer = (!answers.is_empty()).then(|| error_of(mean(&answers, most).0));
    for (((&at, own_public), of), weight) in known.iter().zip(&publics).zip(&noises).zip(&weights) {
        let own = scores[at];
        let bound = own.bound;
        let is_compared = own.public_alone.is_some();
        let Noise { own: own_noise, public: public_noise, both, .. } = *of;
        let part = if public_noise > 0.0 { both / public_noise } else { 0.0 };
        // The mean is what this score tells, with its weight, and the rest.
        let rest = noise - weight * weight * public_noise;
        let remains = |of_public: f64, of_rest: f64| {
            let own = own_noise - 2.0 * of_public * both + of_public * of_public * public_noise;
            (own + of_rest * of_rest * rest).max(0.0)
        };
        let loss = loss_of(own.error);
        let error = loss.value + part * (public.value - own_public.value);
        let error = error.clamp(0.0, most);
        let range =
            ranged(error, chance(loss, most, own_noise), remains(part * (1.0 - weight), part));
        let difference = own.difference.map(|told| {
            let alone = own_noise + public_noise - 2.0 * both;
            let side = (told.high - told.value).max(told.value - told.low);
            let chance = (side * side - REACH * REACH * alone).max(0.0);
            let noise = remains(part * (1.0 - weight) + weight, 1.0 - part);
            ranged(error - public.value, [chance; 2], noise).within(-most, most)
        });
        let error = if is_compared { range.within(0.0, most) } else { public };
        let told = Scored {
            error: error_of(error),
            public_alone: is_compared.then(|| error_of(public)),
            difference,
            one_answer: own.one_answer.and(one_answer),
            ..own.clone()
        };
        all[at] = told.bounded(bound);
    }
    all
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};

    use super::super::score::{Constant, KnownOfScore};
    use super::super::tally::{Answer, Losses, Tally};
    use super::super::{Answers, Evaluation};
    use super::*;

    const RELEASES: usize = 300;
    /// Three models beside public data alone.
    const MODELS: usize = 3;

    fn normal(draw: &mut ChaCha20Rng) -> f64 {
        let (u, v): (f64, f64) = (draw.random(), draw.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// The answers of all models to the same records, and the true errors: of each, of public data
    /// alone, and of one answer for all.
    fn answers(numbers: bool, rows: usize, reach: f64, draw: &mut ChaCha20Rng) -> Vec<Answers> {
        let shared: Vec<[f64; 3]> =
            (0..rows).map(|_| [(); 3].map(|()| draw.random::<f64>())).collect();
        (0..MODELS)
            .map(|model| {
                let better = 0.1 * model as f64;
                if numbers {
                    let losses = shared.iter().map(|[public, constant, _]| {
                        let own = (public - better * draw.random::<f64>()).max(0.0);
                        Losses::of([own, *public, 0.5 + 0.5 * constant], reach)
                    });
                    return Answers::Numbers(losses.collect());
                }
                let answers = shared.iter().map(|[public, constant, own]| Answer {
                    wrong: *public < 0.3 && *own > better || *own > 0.9,
                    public_wrong: *public < 0.3,
                    constant_wrong: *constant < 0.4,
                    ..Answer::default()
                });
                Answers::Classes(answers.collect())
            })
            .collect()
    }

    #[test]
    fn the_joint_ranges_hold_the_truth_and_are_no_wider_than_each_alone() {
        // The exact errors, of many records.
        let truths = |numbers: bool| {
            let mut draw = ChaCha20Rng::seed_from_u64(1);
            let tally = Tally::new(
                &Evaluation { largest_error: Some(1.0), ..Evaluation::default() },
                200_000,
                if numbers { 0 } else { 2 },
                true,
                false,
                false,
            );
            let known = KnownOfScore {
                threshold: 0,
                largest_error: Some(1.0),
                reach: 1.0,
                constant: Some(Constant::Class(0)),
            };
            let exact = answers(numbers, 200_000, 1.0, &mut draw);
            let score = |it: &Answers| Scored::of(&tally, &tally.count(it), 0.0, &[], &known);
            exact.iter().map(score).collect::<Vec<Scored>>()
        };
        for numbers in [true, false] {
            let truth = truths(numbers);
            for (rows, scales, gaps) in [
                (300, [1.0, 4.0, 20.0], false),
                (300, [12.0, 12.0, 12.0], true),
                (3000, [8.0, 40.0, 2.0], false),
            ] {
                let reach = if rows == 300 { 1.0 } else { 0.3 };
                let asked = Evaluation { largest_error: Some(1.0), ..Evaluation::default() };
                let classes = if numbers { 0 } else { 2 };
                let tally = Tally::new(&asked, rows, classes, true, gaps, false);
                let known = KnownOfScore {
                    threshold: 0,
                    largest_error: Some(1.0),
                    reach,
                    constant: Some(Constant::Class(0)),
                };
                let mut draw = ChaCha20Rng::seed_from_u64(5);
                let (mut held, mut widths) = ([[0.0; 4]; MODELS], [[0.0; 2]; MODELS]);
                for _ in 0..RELEASES {
                    let usable = if gaps { rows - 20 } else { rows };
                    let of_all = answers(numbers, usable, reach, &mut draw);
                    let alone: Vec<Scored> = of_all
                        .iter()
                        .zip(scales)
                        .map(|(of, scale)| {
                            let exact = tally.count(of);
                            let noisy = exact.into_iter().map(|it| it + scale * normal(&mut draw));
                            Scored::of(&tally, &noisy.collect::<Vec<_>>(), scale, &[], &known)
                        })
                        .collect();
                    let joint = together(&alone.iter().collect::<Vec<_>>());
                    for (model, told) in joint.iter().enumerate() {
                        let truth = &truth[model];
                        let pairs = [
                            (told.error, truth.error),
                            (told.public_alone.unwrap(), truth.public_alone.unwrap()),
                            (told.difference.unwrap(), truth.difference.unwrap()),
                            (told.one_answer.unwrap(), truth.one_answer.unwrap()),
                        ];
                        for (held, (told, truth)) in held[model].iter_mut().zip(pairs) {
                            *held += f64::from(u8::from(told.holds(truth.value)));
                        }
                        let width = |score: Score| score.high - score.low;
                        widths[model][0] += width(told.error);
                        widths[model][1] += width(alone[model].error);
                        // What stands on one screen adds up.
                        let gap = told.error.value - told.public_alone.unwrap().value;
                        assert!((gap - told.difference.unwrap().value).abs() < 1e-9);
                        assert_eq!(told.public_alone, joint[0].public_alone);
                    }
                }
                for (model, (held, width)) in held.iter().zip(widths).enumerate() {
                    let at = format!("{numbers} {rows} {scales:?} {model}: {held:?} {width:?}");
                    // Four standard deviations for this many releases.
                    assert!(held.iter().all(|it| it / RELEASES as f64 >= 0.9), "{at}");
                    assert!(width[0] <= width[1] * 1.001, "{at}");
                }
                // The more alike the models are, the more one with much noise learns from the others.
                let noisiest =
                    (0..MODELS).max_by(|a, b| scales[*a].total_cmp(&scales[*b])).unwrap();
                if numbers && reach < 1.0 {
                    assert!(widths[noisiest][0] < 0.7 * widths[noisiest][1], "{widths:?}");
                }
            }
        }
    }

    #[test]
    fn the_noise_that_a_score_tells_is_the_one_that_it_has() {
        const DRAWS: usize = 500;
        let known = KnownOfScore {
            threshold: 0,
            largest_error: Some(3.0),
            reach: 0.6,
            constant: Some(Constant::Class(0)),
        };
        for (numbers, gaps, laplace) in
            [(true, false, false), (true, true, true), (false, false, true), (false, true, false)]
        {
            let asked = Evaluation { largest_error: Some(3.0), ..Evaluation::default() };
            let classes = if numbers { 0 } else { 2 };
            let tally = Tally::new(&asked, 400, classes, true, gaps, laplace);
            let mut draw = ChaCha20Rng::seed_from_u64(3);
            let exact = tally.count(&answers(numbers, 380, 0.6, &mut draw)[2]);
            let one = |draw: &mut ChaCha20Rng| -(1.0 - draw.random::<f64>()).ln();
            // So little noise that no end is near.
            let scale = 1.0;
            let mut told = Vec::new();
            for _ in 0..DRAWS {
                let mut noise = || {
                    if laplace { one(&mut draw) - one(&mut draw) } else { normal(&mut draw) }
                };
                let noisy: Vec<f64> = exact.iter().map(|it| it + scale * noise()).collect();
                told.push(Scored::of(&tally, &noisy, scale, &[], &known));
            }
            let error = |it: &Scored| it.error.value;
            let public = |it: &Scored| it.public_alone.unwrap().value;
            let one_answer = |it: &Scored| it.one_answer.unwrap().value;
            let covariance = |one: &dyn Fn(&Scored) -> f64, other: &dyn Fn(&Scored) -> f64| {
                let mean = |of: &dyn Fn(&Scored) -> f64| {
                    told.iter().map(of).sum::<f64>() / told.len() as f64
                };
                let (first, second) = (mean(one), mean(other));
                mean(&|it| (one(it) - first) * (other(it) - second))
            };
            let found = [
                (covariance(&error, &error), |it: &Noise| it.own),
                (covariance(&public, &public), |it: &Noise| it.public),
                (covariance(&one_answer, &one_answer), |it: &Noise| it.one_answer),
            ] as [(f64, fn(&Noise) -> f64); 3];
            for (found, of) in found {
                let said = of(&told[0].noise.unwrap());
                assert!((found / said - 1.0).abs() < 0.25, "{numbers} {gaps}: {found} {said}");
            }
            let noise = told[0].noise.unwrap();
            let both = covariance(&error, &public);
            let size = (noise.own * noise.public).sqrt();
            assert!((both - noise.both).abs() < 0.2 * size, "{numbers} {gaps}: {both} {noise:?}");
        }
    }

    #[test]
    fn a_score_alone_stays_as_it_is_and_so_does_one_of_an_earlier_version() {
        let around = |value: f64, half: f64| Score { value, low: value - half, high: value + half };
        let noise = Some(Noise { own: 0.01, public: 0.02, both: 0.01, one_answer: 0.0 });
        let of = |error, public, noise| Scored {
            noise,
            error: around(error, 0.3),
            public_alone: Some(around(public, 0.4)),
            difference: Some(around(error - public, 0.3)),
            loss: Some(Loss::Absolute),
            largest_error: Some(4.0),
            ..Scored::default()
        };
        let (one, old) = (of(1.0, 2.0, noise), of(1.1, 2.2, None));
        assert_eq!(together(&[&one]), std::slice::from_ref(&one));
        assert_eq!(together(&[&one, &old]), [one.clone(), old]);
        // Two that err alike: public data alone have 2.1, and each model is as far from it as before.
        let joint = together(&[&one, &of(1.1, 2.2, noise)]);
        assert!((joint[0].public_alone.unwrap().value - 2.1).abs() < 1e-12);
        assert!((joint[0].error.value - 1.05).abs() < 1e-12);
    }
}
