//! Intervals that hold 95 times out of 100, over the choice of held-out records and the noise.
//!
//! A count of wrong answers among n records is binomial, W ~ B(n, p), and Y = W + noise is
//! released. The interval contains every p under which Y would not be among the 2.5 % smallest or
//! largest values: P(Y ≤ y | p) and P(Y ≥ y | p) are computed exactly, so it contains the true p in
//! 95 % of releases, up to the small steps of a count with little noise.
//!
//! If a model was chosen among several by the same records, each interval is made wider, so that
//! all of them together hold 95 times out of 100 ([`outside`]).
//!
//! A mean of losses is assumed to be normal around the true one, with the variance that was
//! released with it, plus the noise.

use super::law::Law;
use super::score::Score;
use crate::numeric::special::{least, normal_tails};
use crate::numeric::student::two_sided;

/// How often the truth may be beyond either end of an interval, for one model among this many.
pub fn outside(models: usize) -> f64 {
    0.025 / models.max(1) as f64
}

/// How much wider than a range for one model are ranges that all hold 95 times out of 100 for this many.
pub fn widening(models: usize) -> f64 {
    normal(outside(models)) / normal(outside(1))
}

/// Φ⁻¹(1 − tail).
fn normal(tail: f64) -> f64 {
    least(0.0, 40.0, |z| normal_tails(z).1 <= tail).unwrap_or(40.0)
}

/// P(B(n, p) + noise ≥ y).
fn above(y: f64, trials: usize, p: f64, law: &Law) -> f64 {
    weighted(trials, p, |wrong| law.above(y - wrong))
}

/// P(B(n, p) + noise ≤ y).
fn below(y: f64, trials: usize, p: f64, law: &Law) -> f64 {
    weighted(trials, p, |wrong| law.above(wrong - y))
}

/// Σ P(B(n, p) = w)·value(w), from the likeliest w outwards.
fn weighted(trials: usize, p: f64, value: impl Fn(f64) -> f64) -> f64 {
    if p <= 0.0 {
        return value(0.0);
    }
    if p >= 1.0 {
        return value(trials as f64);
    }
    let mode = (((trials + 1) as f64 * p) as usize).min(trials);
    let odds = p / (1.0 - p);
    let (mut mass, mut sum) = (1.0, value(mode as f64));
    let mut weight = 1.0;
    for wrong in mode + 1..=trials {
        weight *= odds * (trials - wrong + 1) as f64 / wrong as f64;
        if weight < 1e-17 {
            break;
        }
        mass += weight;
        sum += weight * value(wrong as f64);
    }
    weight = 1.0;
    for wrong in (0..mode).rev() {
        weight *= (wrong + 1) as f64 / (odds * (trials - wrong) as f64);
        if weight < 1e-17 {
            break;
        }
        mass += weight;
        sum += weight * value(wrong as f64);
    }
    sum / mass
}

/// The last place, from `inside` towards `end`, where `excess` is above 0. It decreases in this
/// direction, and is above 0 inside.
fn last(inside: f64, end: f64, excess: impl Fn(f64) -> f64) -> f64 {
    let (mut near, mut far) = ((inside, excess(inside)), (end, excess(end)));
    if far.1 > 0.0 {
        return end;
    }
    // The zero of the line between both ends, where an end that stays counts half as much
    // (Illinois); every third time their middle, which steep functions need.
    let mut stayed = None;
    for round in 0..150 {
        let line = (near.0 * far.1 - far.0 * near.1) / (far.1 - near.1);
        let is_between = (line - near.0) * (line - far.0) < 0.0;
        let place = if is_between && round % 3 < 2 { line } else { 0.5 * (near.0 + far.0) };
        let found = excess(place);
        if found.abs() < 1e-13 || (near.0 - far.0).abs() < 1e-14 {
            return place;
        }
        let is_inside = found > 0.0;
        let (moves, stays) = if is_inside { (&mut near, &mut far) } else { (&mut far, &mut near) };
        *moves = (place, found);
        if stayed == Some(is_inside) {
            stays.1 *= 0.5;
        }
        stayed = Some(is_inside);
    }
    0.5 * (near.0 + far.0)
}

/// The share of a noisy count among this many records.
pub fn share(count: f64, records: usize, law: &Law, tail: f64) -> Score {
    ratio(count, records as f64, records, |_| *law, tail)
}

/// The share of a noisy count among a noisy number of records, at most `most`. `law` is that of the
/// noise of count − p·records.
pub fn ratio(count: f64, records: f64, most: usize, law: impl Fn(f64) -> Law, tail: f64) -> Score {
    let among = records.clamp(1.0, most.max(1) as f64);
    let trials = among.round() as usize;
    // Noise can take a count beyond its ends. There it says no more than at the end: an interval that
    // became narrower with it would be the narrowest where noise is largest.
    let count = count.clamp(0.0, records.max(0.0));
    let value = (count / among).clamp(0.0, 1.0);
    // As if there were exactly this many records.
    let seen = |p: f64| count + p * (trials as f64 - records);
    // Logarithms of chances are nearly straight.
    let above_tail = |chance: f64| (chance.max(f64::MIN_POSITIVE) / tail).ln();
    let high = |p: f64| above_tail(below(seen(p), trials, p, &law(p)));
    let low = |p: f64| above_tail(above(seen(p), trials, p, &law(p)));
    let low = if low(value) > 0.0 { last(value, 0.0, low) } else { 0.0 };
    let high = if high(value) > 0.0 { last(value, 1.0, high) } else { 1.0 };
    Score { value, low, high }
}

/// The interval of a mean, from the sum of this many records' values, which are between the ends and
/// have this variance. A sum that noise takes beyond an end counts as this end: see [`ratio`].
pub fn mean(
    (sum, ends): (f64, [f64; 2]),
    records: f64,
    variance: f64,
    law: &Law,
    tail: f64,
) -> Score {
    let records = records.max(1.0);
    let sum = sum.clamp(ends[0] * records, ends[1] * records);
    let freedom = (records as usize).saturating_sub(1).max(1);
    let few = two_sided(1.0 - 2.0 * tail, freedom) / normal(tail);
    let half = quantile((records * variance.max(0.0)).sqrt() * few, law, tail);
    let score = |sum: f64| sum / records;
    Score { value: score(sum), low: score(sum - half), high: score(sum + half) }
        .within(ends[0], ends[1])
}

/// The value that normal spread and noise together exceed with this probability.
pub fn quantile(spread: f64, law: &Law, tail: f64) -> f64 {
    if let Law::Gaussian { sd } = law {
        return normal(tail) * spread.hypot(*sd);
    }
    const NODES: i32 = 200;
    let weights = (-NODES..=NODES).map(|node| {
        let z = f64::from(node) * 8.0 / f64::from(NODES);
        (z, (-0.5 * z * z).exp())
    });
    let weights: Vec<(f64, f64)> = weights.collect();
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let beyond = |q: f64| {
        let parts = weights.iter().map(|(z, weight)| weight * law.above(q - spread * z));
        parts.sum::<f64>() / total
    };
    let far = 10.0 * (spread + law.sd());
    least(0.0, far, |q| beyond(q) <= tail).unwrap_or(far)
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    const TAIL: f64 = 0.025;

    /// One draw of the law.
    fn noise(law: &Law, draw: &mut ChaCha20Rng) -> f64 {
        match *law {
            Law::Gaussian { sd } => {
                let (u, v): (f64, f64) = (draw.random(), draw.random());
                sd * (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
            }
            Law::Laplace { scale, terms } => {
                let one = |draw: &mut ChaCha20Rng| -(1.0 - draw.random::<f64>()).ln();
                (0..terms).map(|_| scale * (one(draw) - one(draw))).sum()
            }
        }
    }

    fn binomial(n: usize, p: f64, draw: &mut ChaCha20Rng) -> f64 {
        (0..n).filter(|_| draw.random::<f64>() < p).count() as f64
    }

    /// The shares of releases whose interval contains the truth.
    fn covered(releases: usize, mut release: impl FnMut(&mut ChaCha20Rng) -> bool) -> f64 {
        let mut draw = ChaCha20Rng::seed_from_u64(7);
        (0..releases).filter(|_| release(&mut draw)).count() as f64 / releases as f64
    }

    #[test]
    fn intervals_of_shares_hold_the_truth_in_95_of_100_releases() {
        for records in [50, 400, 3000] {
            for epsilon in [0.05, 0.5, 5.0] {
                for p in [0.0, 0.01, 0.1, 0.5, 0.99, 1.0] {
                    for law in [
                        Law::Laplace { scale: 1.0 / epsilon, terms: 1 },
                        Law::Gaussian { sd: 3.7 / epsilon },
                    ] {
                        let found = covered(600, |draw| {
                            let count = binomial(records, p, draw) + noise(&law, draw);
                            share(count, records, &law, TAIL).holds(p)
                        });
                        // Three standard deviations of 600 releases, with some margin.
                        assert!(found >= 0.923, "{records} {epsilon} {p} {law:?}: {found}");
                        // Where noise reaches beyond an end, at most one side can be missed.
                        let reach = 2.5 * law.sd() / records as f64;
                        let most = if p > reach && p < 1.0 - reach { 0.982 } else { 1.0 };
                        assert!(found <= most, "{records} {epsilon} {p} {law:?}: {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_place_is_where_the_excess_ends() {
        for (inside, end, root) in [(0.2, 1.0, 0.7), (0.9, 0.0, 0.1), (0.5, 1.0, 0.500_001)] {
            let towards = f64::signum(end - inside);
            for steep in [0.1, 1.0, 1e3, 1e8] {
                let excess = |p: f64| (steep * towards * (root - p)).tanh() * (1.0 + p);
                assert!((last(inside, end, excess) - root).abs() < 1e-11, "{root} {steep}");
            }
            // As for probabilities below the smallest double.
            let cliff = |p: f64| if towards * (root - p) > 0.0 { 1.0 } else { -700.0 };
            assert!((last(inside, end, cliff) - root).abs() < 1e-11, "{root}");
            assert_eq!(last(inside, end, |_| 1.0), end);
        }
    }

    #[test]
    fn without_noise_they_are_the_exact_ones_of_the_binomial() {
        // Clopper and Pearson for 9 of 40.
        let none = Law::Gaussian { sd: 1e-9 };
        let found = share(9.0, 40, &none, TAIL);
        assert_eq!(found.value, 0.225);
        // Half of the mass of the value itself is on either side.
        assert!(
            (found.low - 0.1087).abs() < 0.012 && (found.high - 0.3845).abs() < 0.012,
            "{found:?}"
        );
        let nothing = share(0.0, 40, &none, TAIL);
        assert!(nothing.low == 0.0 && nothing.high > 0.06 && nothing.high < 0.09, "{nothing:?}");
    }

    #[test]
    fn beyond_its_ends_a_count_or_a_sum_says_no_more_than_at_them_and_more_noise_widens_it() {
        let width = |score: Score| score.high - score.low;
        let mut before = [0.0; 2];
        for sd in [0.5, 2.0, 8.0, 20.0] {
            let law = Law::Gaussian { sd };
            let of = |count| share(count, 103, &law, TAIL);
            let mean_of = |sum| mean((sum, [0.0, 1.0]), 103.0, 0.0, &law, TAIL);
            for found in [&of as &dyn Fn(f64) -> Score, &mean_of] {
                for (end, beyond) in [(0.0, [-0.1, -1e6]), (103.0, [103.1, 1e6])] {
                    for count in beyond {
                        assert_eq!(found(count), found(end), "{count} {sd}");
                    }
                }
            }
            let widths = [width(of(-3.0 * sd)), width(mean_of(-3.0 * sd))];
            assert!(widths[0] > before[0] && widths[1] > before[1], "{widths:?} {before:?}");
            assert!((width(of(-3.0 * sd)) - width(of(103.0 + 3.0 * sd))).abs() < 1e-9);
            before = widths;
        }
        // Among records whose number is noisy, too.
        let law = |p: f64| Law::Gaussian { sd: 20.0 * (1.0 + p * p).sqrt() };
        let low = ratio(-45.0, 90.0, 100, law, TAIL);
        assert!(low.value == 0.0 && low.high > 0.35, "{low:?}");
        let high = ratio(150.0, 90.0, 100, law, TAIL);
        assert!(high.value == 1.0 && high.low < 0.65, "{high:?}");
    }

    #[test]
    fn intervals_of_means_hold_the_truth_too() {
        for (records, scale) in [(50_usize, 0.5), (50, 8.0), (1000, 2.0), (1000, 30.0)] {
            for law in [Law::Laplace { scale, terms: 1 }, Law::Gaussian { sd: scale }] {
                let found = covered(1000, |draw| {
                    // Skewed, like losses: the square of a uniform number, mean 1/3.
                    let values: Vec<f64> =
                        (0..records).map(|_| draw.random::<f64>().powi(2)).collect();
                    let sum: f64 = values.iter().sum();
                    let mean_of = sum / records as f64;
                    let squares: f64 = values.iter().map(|x| (x - mean_of).powi(2)).sum();
                    let variance = squares / records as f64;
                    mean(
                        (sum + noise(&law, draw), [0.0, 1.0]),
                        records as f64,
                        variance,
                        &law,
                        TAIL,
                    )
                    .holds(1.0 / 3.0)
                });
                // Noise that reaches beyond an end cannot make the interval miss on that side.
                let most = if 3.0 * law.sd() < records as f64 / 3.0 { 0.972 } else { 1.0 };
                assert!((0.93..=most).contains(&found), "{records} {law:?}: {found}");
            }
        }
    }

    #[test]
    fn intervals_among_noisily_many_records_hold_the_truth() {
        for (rows, usable, sd) in
            [(60, 50, 2.0), (400, 380, 10.0), (400, 90, 3.0), (3000, 2000, 30.0)]
        {
            for p in [0.03, 0.2, 0.5] {
                let law = |p: f64| Law::Gaussian { sd: sd * (1.0 + p * p).sqrt() };
                let each = Law::Gaussian { sd };
                let found = covered(800, |draw| {
                    let count = binomial(usable, p, draw) + noise(&each, draw);
                    let records = usable as f64 + noise(&each, draw);
                    ratio(count, records, rows, law, TAIL).holds(p)
                });
                assert!((0.925..=0.99).contains(&found), "{rows} {usable} {sd} {p}: {found}");
            }
        }
    }
}
