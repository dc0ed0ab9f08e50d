//! Audits: every mechanism is run many times on two neighbouring datasets, through the types that
//! runs use. The measured leakage must stay under the stated ε, and come close to it on neighbours
//! that are as far apart as planned. When the noise is deliberately halved it must exceed ε: an
//! audit that could not fail would show nothing.

use super::mechanism::{
    DirectionMechanism, DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, NoisyMaximum,
    PermuteAndFlip, PoissonSample,
};
use crate::accountant::{Adjacency, Event, Mechanism, Noise, QueryKind, Target};
use crate::numeric::Matrix;
use crate::numeric::special::{least, log_normal_cdf};
use crate::openings::{OpenPrivate, OpenSpender};
use crate::{
    Calibrated, ClippedSum, Direction, Gaussian, Laplace, Private, Reach, Release, Rule,
    SampledSum, Selection, Spender,
};

/// Runs on each of the two datasets: half to choose the test, half to apply it.
const RUNS: usize = 120_000;
/// Every one-sided bound fails this often.
const RISK: f64 = 1e-3;

/// P(X ≤ `successes`) of a binomial.
fn binomial_cdf(successes: usize, trials: usize, chance: f64) -> f64 {
    let (n, odds) = (trials as f64, chance.ln() - (-chance).ln_1p());
    let mut log_mass = n * (-chance).ln_1p();
    let mut sum = log_mass.exp();
    for k in 1..=successes {
        log_mass += ((n - k as f64 + 1.0) / k as f64).ln() + odds;
        sum += log_mass.exp();
    }
    sum
}

/// Clopper and Pearson's upper bound on a chance, at [`RISK`].
fn upper_bound(successes: usize, trials: usize) -> f64 {
    if successes == trials {
        return 1.0;
    }
    let unlikely = |chance: f64| binomial_cdf(successes, trials, chance) <= RISK;
    least(successes as f64 / trials as f64, 1.0 - 1e-12, unlikely).unwrap()
}

fn lower_bound(successes: usize, trials: usize) -> f64 {
    1.0 - upper_bound(trials - successes, trials)
}

/// A lower bound on ε at this δ from observations with and without a record. The test is "at least
/// a threshold"; the threshold is the best on one half of the runs, the bound comes from the other.
fn epsilon_shown(delta: f64, with: &[f64], without: &[f64]) -> f64 {
    let half = RUNS / 2;
    let reaching =
        |runs: &[f64], threshold: f64| runs.iter().filter(|seen| **seen >= threshold).count();
    // Three standard errors on the safe side: good enough for the choice.
    let promise = |threshold: &f64| {
        let share = |runs: &[f64]| (reaching(runs, *threshold) as f64 + 1.0) / half as f64;
        let error = |share: f64| 3.0 * (share / half as f64).sqrt();
        let (p, q) = (share(&with[..half]), share(&without[..half]));
        (p - error(p) - delta).max(0.0) / (q + error(q))
    };
    let mut thresholds = with[..half].to_vec();
    thresholds.sort_by(f64::total_cmp);
    let best = thresholds
        .iter()
        .step_by(half / 100)
        .max_by(|a, b| promise(a).total_cmp(&promise(b)))
        .unwrap();
    let p = lower_bound(reaching(&with[half..], *best), half);
    let q = upper_bound(reaching(&without[half..], *best), half);
    ((p - delta) / q).ln()
}

/// Runs one mechanism on both datasets; `look` releases and reduces to one number.
fn audit<T>(
    mechanism: Mechanism,
    delta: f64,
    (with, without): (T, T),
    look: impl Fn(&Private<T>, &mut Spender) -> f64,
) -> f64 {
    let event = Event {
        label: "audited".into(),
        what: "an audited release".into(),
        mechanism,
        count: RUNS as u64,
        adjacency: Adjacency::ReplaceOne,
        held_out: false,
    };
    let calibrated =
        Calibrated::of_events(Target { epsilon: 1.0, delta: delta.max(1e-6) }, vec![event])
            .unwrap();
    let observe = |data: T, seed: u64| -> Vec<f64> {
        let mut spender = Spender::rehearsal(&calibrated, seed);
        let data = Private::new(data);
        (0..RUNS).map(|_| look(&data, &mut spender)).collect()
    };
    epsilon_shown(delta, &observe(with, 1), &observe(without, 2))
}

/// Under the stated ε, close to it, and beyond it with half the noise.
fn assert_tight(stated: f64, shown: f64, shown_at_half_the_noise: f64) {
    assert!(shown <= stated, "{shown} is above the stated {stated}");
    assert!(shown >= 0.8 * stated, "{shown} is far below the stated {stated}");
    assert!(
        shown_at_half_the_noise > 1.3 * stated,
        "half the noise shows {shown_at_half_the_noise} only, with {stated} stated"
    );
}

/// ε at δ of a test between N(μ, 1), mixed with N(0, 1) if the rate is below one, and N(0, 1).
fn gaussian_epsilon(mu: f64, rate: f64, delta: f64) -> f64 {
    let above = |z: f64| log_normal_cdf(-z).exp();
    let delta_at = |epsilon: f64| {
        let threshold = ((epsilon.exp() - 1.0 + rate) / rate).ln() / mu + 0.5 * mu;
        rate * above(threshold - mu) + (1.0 - rate - epsilon.exp()) * above(threshold)
    };
    least(0.0, 50.0, |epsilon| delta_at(epsilon) <= delta).unwrap()
}

type Records = Vec<[f64; 3]>;

const WIDE: Reach = Reach::Ball(100.0);

/// Records of norm one; the neighbours differ in the first, by as much as they can.
fn records(first: [f64; 3]) -> Records {
    let rest = [[0.6, 0.8, 0.0], [0.0, -1.0, 0.0], [-0.48, 0.6, 0.64], [0.0, 0.0, 1.0]];
    std::iter::once(first).chain(rest).collect()
}

fn sum<'a>(records: impl Iterator<Item = &'a [f64; 3]>) -> Vec<f64> {
    records.fold(vec![0.0; 3], |sum, record| sum.iter().zip(record).map(|(s, x)| s + x).collect())
}

/// Along the diagonal, in which the neighbours differ.
fn along(released: &[f64]) -> f64 {
    released.iter().sum()
}

const DIAGONAL: [f64; 3] = [0.577_350_269_189_625_8; 3];

#[test]
fn gaussian_noise_keeps_its_promise_and_half_of_it_would_not() {
    let delta = 0.05;
    let shown = |sigma: f64| {
        let noise = DiscreteGaussian::at_least(sigma).unwrap();
        let sensitivity = 2.0 + noise.sensitivity_slack(3);
        let on_grid = Noise { scale: noise.sigma(), grid: noise.grid() };
        let mechanism = QueryKind::Gaussian.query(sensitivity, 3).with(on_grid);
        let neighbours = (records(DIAGONAL), records(DIAGONAL.map(|x| -x)));
        audit(mechanism, delta, neighbours, |data, spender| {
            let query = |data: &Records| sum(data.iter());
            let release = Release::new("audited", Gaussian { sensitivity: 2.0, numbers: 3 });
            let released = data.release_gaussian(spender, release, &WIDE, query);
            along(released.unwrap().get())
        })
    };
    assert_tight(gaussian_epsilon(1.0, 1.0, delta), shown(2.0), shown(1.0));
}

#[test]
fn a_poisson_sample_keeps_its_promise_and_half_the_noise_or_no_sampling_would_not() {
    let delta = 0.05;
    let shown = |sigma: f64, rate: f64| {
        let noise = DiscreteGaussian::at_least(sigma).unwrap();
        let sensitivity = 1.0 + noise.sensitivity_slack(3);
        let on_grid = Noise { scale: noise.sigma(), grid: noise.grid() };
        let mechanism = QueryKind::SampledSum { rate }.query(sensitivity, 3).with(on_grid);
        // Zero-out: the null record contributes nothing.
        let neighbours = (vec![DIAGONAL, [0.0; 3]], vec![[0.0; 3]; 2]);
        audit(mechanism, delta, neighbours, |data, spender| {
            let query = |data: &Records, sample: &PoissonSample, total: &mut ClippedSum| {
                let members = sample.members().iter().map(|member| &data[*member]);
                total.add_fused(&sum(members), sample.members().len());
            };
            let release = SampledSum { sensitivity: 1.0, numbers: 3, rate };
            let release = Release::new("audited", release);
            let released = data.release_sampled_sum(spender, release, Vec::len, query);
            along(released.unwrap().get())
        })
    };
    let (sigma, rate) = (0.7, 0.5);
    let stated = gaussian_epsilon(1.0 / sigma, rate, delta);
    assert_tight(stated, shown(sigma, rate), shown(0.5 * sigma, rate));
    assert!(shown(sigma, 1.0) > 1.3 * stated, "without sampling");
}

#[test]
fn laplace_noise_keeps_its_promise_and_half_of_it_would_not() {
    let shown = |scale: f64| {
        let noise = DiscreteLaplace::at_least(scale).unwrap();
        let sensitivity = 2.0 + noise.sensitivity_slack(3);
        let on_grid = Noise { scale: noise.scale(), grid: noise.grid() };
        let mechanism = QueryKind::Laplace.query(sensitivity, 3).with(on_grid);
        let neighbours = (records([1.0, 0.0, 0.0]), records([-1.0, 0.0, 0.0]));
        audit(mechanism, 0.0, neighbours, |data, spender| {
            let query = |data: &Records| sum(data.iter());
            let release = Release::new("audited", Laplace { sensitivity: 2.0, numbers: 3 });
            let released = data.release_laplace(spender, release, &WIDE, query);
            released.unwrap().get()[0]
        })
    };
    assert_tight(1.0, shown(2.0), shown(1.0));
}

/// The first of twenty candidates loses to all others by as much as the range allows.
fn selection_neighbours() -> (Vec<f64>, Vec<f64>) {
    let scores = |first: f64, rest: f64| {
        let mut scores = vec![rest; 20];
        scores[0] = first;
        scores
    };
    (scores(0.5, -0.5), scores(-0.5, 0.5))
}

fn first_selected(rule: Rule) -> impl Fn(&Private<Vec<f64>>, &mut Spender) -> f64 + Sync {
    let release = Release::new("audited", Selection { rule, range: 2.0, candidates: 20 });
    move |data, spender| {
        let selected = data.select(spender, release, &WIDE, Vec::clone).unwrap();
        if *selected.get() == 0 { 1.0 } else { 0.0 }
    }
}

#[test]
fn a_selection_keeps_its_promise_and_at_half_the_scale_would_not() {
    let shown = |scale: f64| {
        let range = 2.0 + ExponentialMechanism::range_slack(scale);
        let mechanism =
            QueryKind::Selection(Rule::Exponential).query(range, 20).with(Noise::ideal(scale));
        audit(mechanism, 0.0, selection_neighbours(), first_selected(Rule::Exponential))
    };
    assert_tight(1.0, shown(2.0), shown(1.0));
}

#[test]
fn permute_and_flip_keeps_its_promise_and_at_half_the_scale_would_not() {
    let shown = |scale: f64| {
        let range = 2.0 + PermuteAndFlip::range_slack(scale);
        let mechanism =
            QueryKind::Selection(Rule::PermuteAndFlip).query(range, 20).with(Noise::ideal(scale));
        audit(mechanism, 0.0, selection_neighbours(), first_selected(Rule::PermuteAndFlip))
    };
    let (right, half) = (shown(2.0), shown(1.0));
    assert!(right <= 1.0 && right > 0.5, "{right}");
    assert!(half > 1.0, "{half}");
}

/// The neighbours differ in one unit vector, along one axis or the other. Their common part favours
/// the second axis, where most draws are. The ratio is largest along the first axis, which few
/// draws reach.
#[test]
fn a_direction_keeps_its_promise_and_at_half_the_scale_would_not() {
    let matrix = |first: f64, second: f64| vec![first, 0.0, 0.0, 4.0 + second];
    let shown = |scale: f64| {
        let range = 2.0 + DirectionMechanism::range_slack(scale, 2);
        let mechanism = QueryKind::Direction.query(range, 2).with(Noise::ideal(scale));
        audit(mechanism, 0.0, (matrix(1.0, 0.0), matrix(0.0, 1.0)), |data, spender| {
            let release = Release::new("audited", Direction { range: 2.0, dimension: 2 });
            let drawn = data.release_direction(spender, release, &WIDE, |entries| {
                Matrix::from_column_slice(2, 2, entries)
            });
            let drawn = drawn.unwrap().into_inner();
            drawn[0] * drawn[0] / (drawn[0] * drawn[0] + drawn[1] * drawn[1])
        })
    };
    let (right, half) = (shown(2.0), shown(1.0));
    assert!(right <= 1.0 && right > 0.5, "{right}");
    assert!(half > 1.0, "{half}");
}

/// The noisy maximum falls short of its own bound: 2·sensitivity is reached only in the far tails.
#[test]
fn a_noisy_maximum_keeps_its_promise_and_at_half_the_scale_would_not() {
    let shown = |scale: f64| {
        let noise = NoisyMaximum::at_least(scale).unwrap();
        let sensitivity = 1.0 + noise.sensitivity_slack();
        let mechanism = QueryKind::Selection(Rule::NoisyMaximum)
            .query(sensitivity, 20)
            .with(Noise::ideal(noise.scale()));
        audit(mechanism, 0.0, selection_neighbours(), first_selected(Rule::NoisyMaximum))
    };
    let (right, half) = (shown(2.0), shown(1.0));
    assert!(right <= 1.0 && right > 0.6, "{right}");
    assert!(half > 1.0, "{half}");
}

#[test]
fn bounds_on_a_chance_cover_it_and_are_exact_at_the_ends() {
    // No success in n trials: (1 − p)ⁿ = risk. All: pⁿ = risk.
    assert!((upper_bound(0, 100) - (1.0 - RISK.powf(0.01))).abs() < 1e-9);
    assert!((lower_bound(100, 100) - RISK.powf(0.01)).abs() < 1e-9);
    assert_eq!((lower_bound(0, 100), upper_bound(100, 100)), (0.0, 1.0));
    let (low, high) = (lower_bound(300, 1000), upper_bound(300, 1000));
    // Normal approximation: 0.3 ± 3.09·0.0145.
    assert!((low - 0.255).abs() < 0.003 && (high - 0.345).abs() < 0.003, "{low}, {high}");
}
