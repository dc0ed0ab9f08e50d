//! A run that is repeated a random number of times, where only the best repeat is kept.
//!
//! Every repeat has an output with a score. The number K of repeats is drawn beforehand and kept
//! secret, and only the output with the best score is released. Let Q and Q′ be the laws of one
//! output on two neighbours, S the set of all outputs that are no better than y (ties are broken by
//! a coin that is part of the output), and f(x) = E x^K. Then y is released with density
//! q(y)·f′(Q(S)).
//!
//! K follows a truncated negative binomial law: with a stop γ and a shape η, P(K = k) ∝ (1 −
//! γ)^k·(η + k − 1)!/k! for k ≥ 1, so that f′(x) is in proportion to (1 − (1 − γ)x)^{−(1 + η)}. Let
//! δ(ε) be the guarantee of one repeat, in both directions, and ρ such that
//!
//! > (1 − γ)·δ(ρ) ≤ γ·(e^ρ − 1).
//!
//! *No threshold tells more than ρ.* 1 − (1 − γ)Q′(S) = γ + (1 − γ)Q′(Sᶜ)
//! ≤ γ + (1 − γ)(e^ρ Q(Sᶜ) + δ(ρ)) ≤ e^ρ(γ + (1 − γ)Q(Sᶜ)), so with c = (1 + η)ρ
//!
//! > f′(Q(S)) ≤ e^c f′(Q′(S)).
//!
//! *What the best repeat reveals.* With m = f′(1) = E K, the largest f′, every set E of outputs
//! has, by the line above,
//!
//! > ∫_E q f′(Q) − e^{ε + c} ∫_E q′ f′(Q′) ≤ ∫_E f′(Q)·(q − e^ε q′) ≤ m·δ(ε).
//!
//! So **the best repeat guarantees m·δ(ε) at ε + c.** The same holds for the densities of many such
//! runs, one after another, each chosen by the outputs before it: their c add up, their m multiply,
//! and δ is the joint curve of one repeat of each. For the moments of a Rényi sum of order θ + 1,
//! q^{θ+1} q′^{−θ} f′(Q)(f′(Q)/f′(Q′))^θ ≤ m·e^{θc}·q^{θ+1} q′^{−θ}: a repeat's divergence rises by
//! c + log(m)/θ. A true divergence never falls with the order, so below the order with the least
//! sum, that least sum is used.
//!
//! Papernot and Steinke (2022) prove a bound of the same form for Rényi divergences alone.
//!
//! *On a grid* a repeat's curve is that of ideal noise with slack (see [`super::composition`]):
//! ε(1 + A/5) + 128A and e^{A/24}δ for ε and δ. Then ρ rises by at most ρA/5 + 129A, so c rises by
//! at most (1 + η) times this. [`SLACK`] + η grids cover all of this.

use serde::{Deserialize, Serialize};

use super::composition::Composition;
use super::event::{Adjacency, Event, Noise, QueryKind};
use super::gaussian;
use crate::error::{Error, Result};
use crate::numeric::special::least;

/// The number of grids that the slack of one repeat covers, besides one for each unit of the shape.
pub(super) const SLACK: f64 = 3.0;
/// Stops are multiples of this, so that a coin can be thrown exactly.
pub const FINEST: f64 = 1.0 / 4_294_967_296.0;
const LARGEST_SHAPE: u32 = 16;
/// For the rounding of closed forms, relatively.
const PADDING: f64 = 1e-11;

/// How often a run is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeats {
    /// η: 0 is the logarithmic law, 1 the geometric one.
    pub shape: u32,
    /// γ: the smaller, the more repeats.
    pub stop: f64,
}

impl Repeats {
    /// The law of this shape under which an event with probability `part` in every repeat happens
    /// at least once with probability `chance`.
    pub fn that_find(part: f64, chance: f64, shape: u32) -> Self {
        let found = |stop: f64| Self { shape, stop }.finds(part) >= chance;
        let (mut low, mut high) = (FINEST, 1.0 - FINEST);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if found(middle) { low = middle } else { high = middle }
        }
        Self { shape, stop: (low / FINEST).floor().max(1.0) * FINEST }
    }

    /// Refuses a law that is invalid or cannot be drawn from exactly.
    pub fn check(&self) -> Result<()> {
        let Self { shape, stop } = *self;
        let steps = stop / FINEST;
        if shape <= LARGEST_SHAPE && steps >= 1.0 && stop < 1.0 && steps.fract() == 0.0 {
            return Ok(());
        }
        Err(Error::usage(format!("repeats of shape {shape} that stop with probability {stop}"))
            .cure("shapes are 0 to 16; stops are multiples of 2^-32 above 0 and below 1"))
    }

    /// E K.
    pub fn mean(&self) -> f64 {
        let Self { shape, stop } = *self;
        if shape == 0 {
            return (1.0 - stop) / (stop * -stop.ln());
        }
        let shape = f64::from(shape);
        shape * (1.0 - stop) / (stop * -(shape * stop.ln()).exp_m1())
    }

    /// The probability that an event with probability `part` in every repeat happens at least once.
    pub fn finds(&self, part: f64) -> f64 {
        let Self { shape, stop } = *self;
        // 1 − (1 − γ)(1 − p)
        let rest = stop + (1.0 - stop) * part;
        if shape == 0 {
            return 1.0 - rest.ln() / stop.ln();
        }
        let shape = f64::from(shape);
        // In powers of γ/rest, so that nothing overflows.
        let missed = ((stop / rest).powf(shape) - stop.powf(shape)) / -(shape * stop.ln()).exp_m1();
        1.0 - missed
    }

    /// ρ, for repeats with this curve.
    fn threshold(&self, delta: impl Fn(f64) -> f64) -> f64 {
        let holds = |rho: f64| {
            (1.0 - self.stop) * delta(rho) * (1.0 + PADDING)
                <= self.stop * rho.exp_m1() * (1.0 - PADDING)
        };
        // δ is at most 1.
        least(0.0, (1.0 / self.stop).ln() + 1.0, holds).unwrap_or(f64::INFINITY)
    }

    /// c and log m, for repeats of a Gaussian mechanism of ratio μ.
    pub(super) fn surcharge(&self, mu: f64) -> (f64, f64) {
        let rho =
            if mu > 0.0 { self.threshold(|rho| gaussian::log_delta(mu, rho).exp()) } else { 0.0 };
        let surcharge = (1.0 + f64::from(self.shape)) * rho * (1.0 + PADDING);
        (surcharge, self.mean().ln() + PADDING)
    }
}

/// The account of repeats that each draw the events of one candidate. One Gaussian mechanism that
/// dominates every candidate stands for all of them.
pub fn best_of(
    repeats: Repeats,
    label: &str,
    what: String,
    candidates: &[&[Event]],
) -> Result<Event> {
    let (mut mu, mut grids, mut adjacency) = (0.0_f64, 0.0_f64, Adjacency::ReplaceOne);
    for events in candidates {
        let one = Composition::of(*events)?;
        if !one.is_gaussian() {
            return Err(Error::refused(
                "only runs whose noise is Gaussian, drawn for all of their records, can be repeated \
                 at this price",
            )
            .cure("leave out plans that work on samples, or train every plan once"));
        }
        (mu, grids) = (mu.max(one.mu), grids.max(one.discretisation));
        if one.adjacency == Adjacency::ZeroOut {
            adjacency = Adjacency::ZeroOut;
        }
    }
    let numbers = (grids / (GRID * GRID)).ceil().max(1.0);
    let query = QueryKind::Repeated(repeats).query(mu, numbers as u64);
    let mechanism = query.with(Noise { scale: 1.0, grid: GRID });
    Ok(Event { label: label.to_owned(), what, mechanism, count: 1, adjacency, held_out: false })
}

/// 2⁻²⁸: the usual grid of noise.
const GRID: f64 = 1.0 / 268_435_456.0;

/// Repeats of a Gaussian mechanism, of which only the best is released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeated {
    /// The ratio of one repeat.
    pub mu: f64,
    /// c
    pub surcharge: f64,
    /// log m
    pub log_factor: f64,
}

impl Repeated {
    pub fn new(mu: f64, repeats: Repeats) -> Self {
        let (surcharge, log_factor) = repeats.surcharge(mu);
        Self { mu, surcharge, log_factor }
    }

    /// log E e^{θL}.
    pub fn log_moment(&self, theta: f64) -> f64 {
        let Self { mu, surcharge, log_factor } = *self;
        // (x + 1)μ²/2 + c + log(m)/x is least here.
        let best = (2.0 * log_factor).sqrt() / mu;
        let order = theta.max(best);
        theta * (0.5 * (order + 1.0) * mu * mu + surcharge + log_factor / order)
    }
}

#[cfg(test)]
mod tests {
    use super::super::counted;
    use super::super::event::{Mechanism, Query};
    use super::*;

    const LAWS: [Repeats; 6] = [
        Repeats { shape: 0, stop: 0.125 },
        Repeats { shape: 0, stop: 1.0 / 256.0 },
        Repeats { shape: 1, stop: 0.0625 },
        Repeats { shape: 1, stop: 0.5 },
        Repeats { shape: 2, stop: 0.125 },
        Repeats { shape: 5, stop: 0.5 },
    ];

    fn event(mu: f64, repeats: Repeats) -> Event {
        Event {
            label: "best".into(),
            what: String::new(),
            mechanism: QueryKind::Repeated(repeats).query(mu, 1).with(Noise::ideal(1.0)),
            count: 1,
            adjacency: Adjacency::ReplaceOne,
            held_out: false,
        }
    }

    fn gaussian_event(mu: f64) -> Event {
        let mechanism = QueryKind::Gaussian.query(mu, 1).with(Noise::ideal(1.0));
        Event { mechanism, ..event(mu, LAWS[0]) }
    }

    fn sum(events: &[Event]) -> Composition {
        Composition::of(events).unwrap()
    }

    /// P(K = k) for k = 1, 2, …, until almost nothing is left.
    fn masses(repeats: Repeats) -> Vec<f64> {
        let (shape, keep) = (f64::from(repeats.shape), 1.0 - repeats.stop);
        let mut masses = vec![1.0];
        while masses.len() < 20_000 {
            let k = masses.len() as f64;
            masses.push(masses[masses.len() - 1] * keep * (shape + k) / (k + 1.0));
        }
        let total: f64 = masses.iter().sum();
        masses.iter().map(|mass| mass / total).collect()
    }

    #[test]
    fn the_mean_and_the_chance_to_find_are_those_of_the_law() {
        for repeats in LAWS {
            let masses = masses(repeats);
            let mean: f64 = (1..).zip(&masses).map(|(k, p)| f64::from(k) * p).sum();
            assert!((repeats.mean() / mean - 1.0).abs() < 1e-9, "{repeats:?}");
            for part in [0.01, 0.25, 0.9] {
                let missed: f64 =
                    (1..).zip(&masses).map(|(k, p)| p * f64::powi(1.0 - part, k)).sum();
                assert!((repeats.finds(part) - (1.0 - missed)).abs() < 1e-9, "{repeats:?}");
            }
        }
        for shape in 0..4 {
            let found = Repeats::that_find(0.2, 0.9, shape);
            assert!((found.finds(0.2) - 0.9).abs() < 1e-4 && found.check().is_ok());
        }
    }

    /// δ at ε of the best of K outputs of N(±μ/2, 1), for the worst of some scores: outputs below
    /// an edge are the best ones, and of the others the larger ones. Below the edge the neighbour
    /// has more outputs, so outputs above the edge are chosen more often here.
    fn exact(mu: f64, repeats: Repeats, epsilon: f64) -> f64 {
        const STEP: f64 = 4e-3;
        let slope = |x: f64| (1.0 - (1.0 - repeats.stop) * x).powf(-1.0 - f64::from(repeats.shape));
        let factor = repeats.mean() / slope(1.0);
        let below = |z: f64| crate::numeric::special::log_normal_cdf(z).exp();
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let at_edge = |edge: f64| -> f64 {
            let law = |z: f64, mean: f64| {
                density(z - mean) * factor * slope(below(z - mean) - below(edge - mean))
            };
            let steps = ((10.0 - edge) / STEP) as i32;
            let places = (0..steps).map(|index| edge + STEP * (f64::from(index) + 0.5));
            let excess = |z: f64| law(z, 0.5 * mu) - epsilon.exp() * law(z, -0.5 * mu);
            places.map(|z| excess(z).max(0.0)).sum::<f64>() * STEP
        };
        (-16..8).map(|edge| at_edge(0.25 * f64::from(edge))).fold(0.0, f64::max)
    }

    #[test]
    fn the_exact_curve_of_a_bad_score_lies_below_the_bound_and_nearly_attains_it() {
        for repeats in LAWS {
            for mu in [0.05, 0.3, 1.0] {
                let bound = sum(&[event(mu, repeats)]);
                let (surcharge, _) = repeats.surcharge(mu);
                for delta in [1e-3, 1e-6] {
                    let epsilon = bound.guarantee(delta).unwrap().epsilon;
                    let exact_delta = exact(mu, repeats, epsilon);
                    assert!(exact_delta <= delta, "{repeats:?} {mu}: {exact_delta} > {delta}");
                    let needed = exact(mu, repeats, 0.75 * epsilon);
                    assert!(needed > delta, "{repeats:?} {mu} {delta}");
                }
                // Half of the surcharge would be too little.
                let epsilon = bound.guarantee(1e-6).unwrap().epsilon;
                assert!(exact(mu, repeats, epsilon - 0.5 * surcharge) > 1e-6, "{repeats:?} {mu}");
            }
            // The result without the factor would be too small.
            let repeated = sum(&[event(1.0, repeats)]);
            let without = repeated.guarantee(1e-6 * repeats.mean()).unwrap().epsilon;
            assert!(exact(1.0, repeats, without) > 1e-6, "{repeats:?}");
        }
    }

    /// The bound of Papernot and Steinke for Rényi divergences, at its best orders.
    fn by_renyi(mu: f64, repeats: Repeats, delta: f64) -> f64 {
        let (shape, mean) = (f64::from(repeats.shape), repeats.mean());
        let orders = || (1..4000).map(|k| 1.0 + 0.02 * 1.003_f64.powi(k));
        let inner = |order: f64| {
            (1.0 + shape)
                * ((1.0 - 1.0 / order) * 0.5 * order * mu * mu - repeats.stop.ln() / order)
        };
        let second = orders().map(inner).fold(f64::INFINITY, f64::min);
        let outer = |order: f64| {
            let divergence = 0.5 * order * mu * mu + second + mean.ln() / (order - 1.0);
            divergence + (1.0 - 1.0 / order).ln() - (delta * order).ln() / (order - 1.0)
        };
        orders().map(outer).fold(f64::INFINITY, f64::min)
    }

    /// ε at δ = 1e-6 of Gaussian repeats of ratios 0.05, 0.3 and 1 under [`LAWS`], as Google's
    /// dp-accounting 0.6.0 computes it for Rényi divergences of the orders 1 + 0.02·1.003^k, k <
    /// 4000 (`RdpAccountant`, `RepeatAndSelectDpEvent`).
    const PUBLISHED: [[f64; 3]; 6] = [
        [0.320_248_986_5, 2.032_853_281, 7.002_481_454],
        [0.411_795_217_8, 2.571_619_157, 8.779_610_494],
        [0.468_957_187_8, 2.880_972_075, 9.467_786_069],
        [0.329_023_578_3, 2.050_506_099, 6.715_697_560],
        [0.536_919_936_3, 3.251_710_149, 10.354_401_69],
        [0.569_873_846_3, 3.341_162_616, 9.610_095_755],
    ];

    #[test]
    fn the_published_bound_is_what_another_program_makes_of_it() {
        for (repeats, published) in LAWS.into_iter().zip(PUBLISHED) {
            for (mu, published) in [0.05, 0.3, 1.0].into_iter().zip(published) {
                let found = by_renyi(mu, repeats, 1e-6);
                assert!((found / published - 1.0).abs() < 1e-4, "{repeats:?} {mu}: {found}");
            }
        }
    }

    /// Repeats of a mechanism of pure ε, whatever its score, cost at most (2 + η)·ε, and reach this
    /// for many repeats.
    #[test]
    fn of_a_pure_guarantee_the_published_multiple_is_met() {
        for pure in [0.1_f64, 1.0] {
            // The curve of randomised response.
            let delta = |rho: f64| ((pure.exp() - rho.exp()) / (1.0 + pure.exp())).max(0.0);
            for repeats in LAWS {
                let cost =
                    |law: Repeats| pure + (1.0 + f64::from(law.shape)) * law.threshold(delta);
                let published = (2.0 + f64::from(repeats.shape)) * pure;
                assert!(cost(repeats) < published, "{repeats:?} {pure}");
                let many = Repeats { stop: FINEST, ..repeats };
                assert!((cost(many) / published - 1.0).abs() < 1e-6, "{repeats:?} {pure}");
            }
        }
    }

    #[test]
    fn it_is_less_than_the_published_bound() {
        for repeats in LAWS {
            for mu in [0.05, 0.3, 1.0] {
                let ours = sum(&[event(mu, repeats)]).guarantee(1e-6).unwrap().epsilon;
                let theirs = by_renyi(mu, repeats, 1e-6);
                assert!(ours < theirs && ours > 0.4 * theirs, "{repeats:?} {mu}: {ours} {theirs}");
            }
        }
    }

    #[test]
    fn repeats_add_up_with_everything_else() {
        let law = LAWS[2];
        let alone = sum(&[event(0.2, law)]);
        let both = sum(&[event(0.2, law), gaussian_event(0.2)]);
        let twice = Event { count: 2, ..event(0.2, law) };
        let twice = sum(&[twice]);
        let epsilon = |sum: &Composition| sum.guarantee(1e-6).unwrap().epsilon;
        assert!(epsilon(&alone) > sum(&[gaussian_event(0.2)]).guarantee(1e-6).unwrap().epsilon);
        assert!(epsilon(&both) > epsilon(&alone) && epsilon(&twice) > epsilon(&both));
        for sum in [&alone, &both, &twice] {
            let guarantee = sum.guarantee(1e-6).unwrap();
            assert!(sum.delta(guarantee.epsilon).unwrap() <= 1e-6);
            assert!(sum.delta(0.9 * guarantee.epsilon).unwrap() > 1e-6);
            // The sum that stays valid for choices costs more, but not twice as much.
            let gate = sum.gate(1e-6).unwrap().epsilon;
            assert!(gate >= guarantee.epsilon && gate < 2.0 * guarantee.epsilon, "{gate}");
        }
        // Counting does not change it.
        assert_eq!(counted(&[event(0.2, law)]), [event(0.2, law)]);
    }

    #[test]
    fn the_account_of_repeats_covers_every_candidate() {
        let mut fine = gaussian_event(0.4);
        fine.mechanism.noise.grid = 1e-7;
        fine.mechanism.query.size = 1000;
        let coarse = gaussian_event(0.1);
        let best = best_of(LAWS[1], "best", String::new(), &[&[fine.clone()], &[coarse]]).unwrap();
        let one = Event {
            mechanism: Mechanism {
                query: Query { kind: QueryKind::Gaussian, ..best.mechanism.query },
                ..best.mechanism
            },
            ..best.clone()
        };
        let (one, fine) = (sum(&[one]), sum(&[fine]));
        assert!(fine.is_within(&one) && !one.is_within(&sum(&[gaussian_event(0.399)])));
        let sampled = QueryKind::SampledSum { rate: 0.1 }.query(1.0, 1).with(Noise::ideal(2.0));
        let sampled = Event { mechanism: sampled, ..gaussian_event(0.1) };
        let error = best_of(LAWS[1], "best", String::new(), &[&[sampled]]).unwrap_err();
        assert!(error.to_string().contains("train every plan once"), "{error}");
    }

    #[test]
    fn moments_per_order_never_fall() {
        for repeats in LAWS {
            let repeated = Repeated::new(0.3, repeats);
            let mut before = 0.0;
            for k in 0..400 {
                let theta = 0.01 * 1.03_f64.powi(k);
                let divergence = repeated.log_moment(theta) / theta;
                assert!(divergence >= before * (1.0 - 1e-12), "{repeats:?} {theta}");
                before = divergence;
            }
        }
    }

    #[test]
    fn a_mechanism_that_reveals_nothing_may_be_repeated_for_nothing() {
        let nothing = sum(&[event(0.0, LAWS[1])]);
        assert_eq!(nothing.guarantee(1e-6).unwrap().epsilon, 0.0);
    }

    #[test]
    fn laws_that_cannot_be_drawn_from_exactly_are_refused() {
        for (shape, stop) in [(1, 0.0), (1, 1.0), (17, 0.5), (1, 0.1), (0, f64::NAN), (0, -0.5)] {
            assert!(Repeats { shape, stop }.check().is_err(), "{shape} {stop}");
            let event = event(0.1, Repeats { shape, stop });
            assert!(Composition::of([&event]).is_err());
        }
    }
}
