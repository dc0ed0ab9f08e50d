//! Properties that hold for any list of events, whichever bound decides.

use proptest::prelude::*;

use super::{
    Adjacency, Composition, Coverage, Event, Guarantee, Mechanism, Noise, Query, QueryKind, Rule,
    gaussian,
};

fn event(mechanism: Mechanism, count: u64, adjacency: Adjacency) -> Event {
    Event {
        label: "release".into(),
        what: String::new(),
        mechanism,
        count,
        adjacency,
        held_out: false,
    }
}

/// With noise of scale 1.
fn unit(query: Query, count: u64) -> Event {
    event(query.with(Noise::ideal(1.0)), count, Adjacency::ReplaceOne)
}

fn subsampled(sigma: f64, rate: f64, count: u64) -> Event {
    let query = QueryKind::SampledSum { rate }.query(1.0, 5);
    event(query.with(Noise::ideal(sigma)), count, Adjacency::ZeroOut)
}

fn laplace(epsilon: f64, count: u64) -> Event {
    unit(QueryKind::Laplace.query(epsilon, 3), count)
}

fn selection(epsilon: f64, count: u64) -> Event {
    unit(QueryKind::Selection(Rule::Exponential).query(epsilon, 9), count)
}

fn pure(epsilon: f64, count: u64) -> Event {
    unit(QueryKind::Pure.query(epsilon, 1), count)
}

fn normal(mu: f64, count: u64) -> Event {
    unit(QueryKind::Gaussian.query(mu, 2), count)
}

/// Whether more is proven of the event than its pair shows.
fn selects(event: &Event) -> bool {
    matches!(
        event.mechanism.query.kind,
        QueryKind::Selection(Rule::Exponential) | QueryKind::Direction
    )
}

fn guarantee(events: &[Event], delta: f64) -> Guarantee {
    Composition::of(events).unwrap().guarantee(delta).unwrap()
}

fn epsilon(events: &[Event], delta: f64) -> f64 {
    guarantee(events, delta).epsilon
}

#[test]
fn one_laplace_release_has_the_curve_of_its_pair() {
    for (ratio, delta) in [(1.0_f64, 0.1), (0.3, 0.01), (4.0, 0.5), (2.0, 1e-6)] {
        // 1 − e^{(ε − ε₀)/2} = δ.
        let exact = ratio + 2.0 * f64::ln_1p(-delta);
        let found = guarantee(&[laplace(ratio, 1)], delta);
        assert!(found.epsilon >= exact - 1e-12 && found.epsilon <= exact + 2e-4, "{found:?}");
        assert!(found.epsilon_lower <= exact, "{found:?}");
    }
}

#[test]
fn a_noisy_selection_is_the_laplace_release_of_twice_the_sensitivity() {
    let noisy = unit(QueryKind::Selection(Rule::NoisyMaximum).query(0.2, 7), 30);
    assert_eq!(epsilon(&[noisy], 1e-5), epsilon(&[laplace(0.4, 30)], 1e-5));
}

#[test]
fn one_selection_has_the_curve_of_the_worst_bounded_range() {
    for (range, delta) in [(1.0_f64, 0.05), (0.5, 0.01), (3.0, 0.2)] {
        let spread = (0.5 * range).exp() - (delta * range.exp_m1()).sqrt();
        let exact = 2.0 * spread.ln();
        let found = guarantee(&[selection(range, 1)], delta);
        assert!(found.epsilon >= exact - 1e-12 && found.epsilon <= exact + 2e-4, "{found:?}");
    }
}

/// In the limit of many draws the worst adaptive choice is a Gaussian of variance ε₀²/4
/// per draw.
#[test]
fn a_thousand_selections_compose_like_concentrated_privacy() {
    let (range, count) = (0.05_f64, 1000);
    let found = guarantee(&[selection(range, count)], 1e-6);
    let limit = gaussian::epsilon(0.5 * range * (count as f64).sqrt(), 1e-6);
    assert!(found.epsilon > 0.995 * limit && found.epsilon < 1.015 * limit, "{found:?} {limit}");
    assert_eq!(found.bound, "optimal composition of selections");
    assert!(found.epsilon_lower > 0.95 * found.epsilon, "{found:?}");
    let few = guarantee(&[selection(1.0, 2)], 1e-3);
    assert!(few.epsilon < 1.95, "{few:?}");
}

/// Single draws need no lattice: exact to the last digits, whatever δ.
#[test]
fn a_single_draw_has_its_exact_curve() {
    for delta in [1e-4, 1e-8, 1e-15, 1e-100] {
        for (sigma, rate) in [(1.0_f64, 0.01_f64), (0.7, 1e-4), (5.0, 0.3)] {
            let one = subsampled(sigma, rate, 1);
            let found = guarantee(std::slice::from_ref(&one), delta);
            // δ = q·δ_G(log(1 + (e^ε − 1)/q)).
            let inner = gaussian::epsilon(1.0 / sigma, (delta / rate).min(0.999_999));
            let exact = if delta >= rate { 0.0 } else { (rate * inner.exp_m1()).ln_1p() };
            assert!(found.epsilon >= exact, "{found:?} {exact}");
            assert!(found.epsilon <= exact * (1.0 + 1e-6) + 1e-9, "{found:?} {exact}");
            let replaced = Event { adjacency: Adjacency::ReplaceOne, ..one };
            assert!(epsilon(&[replaced], delta) >= exact);
        }
        for found in [guarantee(&[laplace(0.3, 1)], delta), guarantee(&[selection(0.3, 1)], delta)]
        {
            assert!(found.epsilon_lower > 0.29 - 2.0 * delta.sqrt(), "{found:?}");
        }
    }
}

/// A few draws at a tiny rate, for which calibration once used twenty times the noise.
#[test]
fn few_draws_at_a_tiny_rate_have_narrow_intervals() {
    for (sigma, rate, count, delta) in [
        (1.105, 0.001, 60, 1e-6),
        (0.701, 0.001, 60, 1e-6),
        (0.9, 1e-4, 500, 1e-7),
        (0.6, 1e-3, 7, 1e-8),
    ] {
        let found = guarantee(&[subsampled(sigma, rate, count)], delta);
        let width = (found.epsilon - found.epsilon_lower) / found.epsilon;
        assert!(width < 0.025, "{sigma} {rate} {count}: {found:?}");
    }
}

#[test]
fn sampling_everybody_is_no_sampling() {
    let whole = subsampled(3.0, 1.0, 20);
    let removed = Composition::of([&whole]).unwrap();
    assert!((removed.mu / (20_f64.sqrt() / 3.0) - 1.0).abs() < 1e-14);
    // A replaced record is in the sample before and after: twice the distance.
    let replaced = Event { adjacency: Adjacency::ReplaceOne, ..whole };
    assert!((Composition::of([&replaced]).unwrap().mu / removed.mu - 2.0).abs() < 1e-14);
    // And sampling nearly everybody is nearly no sampling.
    let nearly = epsilon(&[subsampled(3.0, 1.0 - 1e-9, 20)], 1e-6);
    let exact = gaussian::epsilon(removed.mu, 1e-6);
    assert!((nearly - exact).abs() < 5e-4, "{nearly} {exact}");
}

#[test]
fn a_replace_one_guarantee_implies_zero_out_with_the_same_numbers() {
    for one in [normal(0.3, 4), laplace(0.2, 9), selection(0.3, 9), pure(0.1, 9)] {
        let zero = Event { adjacency: Adjacency::ZeroOut, ..one.clone() };
        assert_eq!(epsilon(&[one], 1e-5), epsilon(&[zero], 1e-5));
    }
    // For samples zero-out is the weaker condition, so the replace-one number covers it.
    let zero = subsampled(1.5, 0.02, 300);
    let one = Event { adjacency: Adjacency::ReplaceOne, ..zero.clone() };
    let (zero, one) = (guarantee(&[zero], 1e-5), guarantee(&[one], 1e-5));
    assert!(one.epsilon_lower > zero.epsilon, "{one:?} {zero:?}");
    assert_eq!((one.adjacency, zero.adjacency), (Adjacency::ReplaceOne, Adjacency::ZeroOut));
}

#[test]
fn a_thousand_million_steps_are_answered_with_a_bound() {
    let start = std::time::Instant::now();
    let found = guarantee(&[subsampled(30.0, 1e-3, 1_000_000_000)], 1e-6);
    // √(10⁹)·q/σ = 1.054: the central limit.
    let limit = gaussian::epsilon(1e-3 / 30.0 * 1e9_f64.sqrt(), 1e-6);
    assert!(found.epsilon > 0.99 * limit && found.epsilon < 1.15 * limit, "{found:?} {limit}");
    for events in [subsampled(0.8, 0.01, 1_000_000_000), laplace(0.1, 1_000_000_000)] {
        let found = guarantee(&[events], 1e-6);
        assert!(found.epsilon.is_finite() && found.epsilon > 1e3, "{found:?}");
    }
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn a_delta_below_what_doubles_resolve_is_still_bounded() {
    for delta in [1e-20, 1e-100, 1e-290] {
        let events = [subsampled(2.0, 0.05, 500), laplace(0.05, 20)];
        let sum = Composition::of(&events).unwrap();
        let found = sum.guarantee(delta).unwrap();
        let renyi = sum.running(delta).unwrap();
        assert!(found.epsilon <= renyi.epsilon && found.epsilon_lower <= found.epsilon);
        assert!(found.epsilon > epsilon(&events, 1e-10), "{delta:e}: {found:?}");
        if let Ok(converged) = sum.converged(delta) {
            assert!(found.epsilon >= converged * (1.0 - 1e-9), "{found:?} {converged}");
        }
    }
}

#[test]
fn discrete_laplace_noise_is_covered_by_its_slack() {
    // Neighbours `apart` steps apart, noise of scale 3 steps: δ summed over all outputs.
    let (scale, apart) = (3.0_f64, 5);
    let mass = |k: i32| (-f64::from(k.abs()) / scale).exp();
    let total: f64 = (-300..=300).map(mass).sum();
    let covered = f64::from(apart) / scale + 0.5 / (scale * scale);
    let ideal = f64::from(apart) / scale;
    let mut beyond_ideal = 0;
    for step in 0..40 {
        let epsilon = 0.04 * f64::from(step);
        let exact: f64 = (-300..=300)
            .map(|k| (mass(k) - epsilon.exp() * mass(k - apart)).max(0.0) / total)
            .sum();
        let curve = |ratio: f64| -(0.5 * (epsilon - ratio)).min(0.0).exp_m1();
        assert!(exact <= curve(covered) + 1e-12, "ε = {epsilon}");
        beyond_ideal += u32::from(exact > curve(ideal) + 1e-6);
    }
    assert!(beyond_ideal > 0);
}

#[test]
fn impossible_events_are_refused_with_the_admissible_range() {
    let adjacency = Adjacency::ZeroOut;
    for (mechanism, expected) in [
        (subsampled(0.0, 0.1, 1).mechanism, "σ must be finite and above 0"),
        (subsampled(f64::NAN, 0.1, 1).mechanism, "σ must be finite and above 0"),
        (subsampled(1.0, 0.0, 1).mechanism, "above 0 and at most 1"),
        (subsampled(1.0, 1.1, 1).mechanism, "above 0 and at most 1"),
        (subsampled(1.0, f64::NAN, 1).mechanism, "above 0 and at most 1"),
        (laplace(f64::INFINITY, 1).mechanism, "finite and at least 0"),
        (selection(-1.0, 1).mechanism, "finite and at least 0"),
        (selection(1.0, 1).mechanism.query.with(Noise::NONE), "finite and above 0"),
        (QueryKind::Laplace.query(1.0, 1).with(Noise { scale: 1.0, grid: 0.1 }), "at most b/2^20"),
        (pure(f64::NAN, 1).mechanism, "at least 0"),
        (pure(f64::INFINITY, 1).mechanism, "at least 0"),
    ] {
        let error = Composition::of([&event(mechanism, 1, adjacency)]).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let twice = [laplace(0.1, u64::MAX), laplace(0.1, u64::MAX)];
    assert!(Composition::of(&twice).unwrap_err().to_string().contains("counts below 2^64"));
    let sum = Composition::of([&subsampled(1.0, 0.1, 3)]).unwrap();
    for delta in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(sum.guarantee(delta).is_err() && sum.gate(delta).is_err());
        assert!(sum.converged(delta).is_err() && sum.running(delta).is_err());
    }
    assert!(sum.delta(-1.0).is_err() && sum.delta(f64::NAN).is_err());
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => (0.6..6.0, 0.005..0.6, 1_u64..300).prop_map(|(s, q, n)| subsampled(s, q, n)),
        4 => (0.01..0.6, 1_u64..40, any::<prop::sample::Index>()).prop_map(|(ratio, n, kind)| {
            unit(kind.get(&QueryKind::one_of_each()).query(ratio, 3), n)
        }),
    ]
}

// The least ε has the finest lattice, so each of these takes more than a second.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Where δ alone covers everything, ε is zero: no cruder bound takes over.
    #[test]
    fn a_delta_that_is_larger_than_all_that_can_leak_leaves_no_epsilon(
        sigma in 1.5..5.0, rate in 0.001..0.03, count in 2_u64..10,
    ) {
        // Total variation of one draw is at most q times that of two normals, 0.4/σ.
        let all = 0.4 * rate * count as f64 / sigma;
        let found = epsilon(&[subsampled(sigma, rate, count)], 1.01 * all);
        prop_assert!(found < 1e-5, "{} at {}", found, 1.01 * all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// So the gate never admits a list that the display shows as over budget.
    #[test]
    fn the_gate_is_never_below_the_display(
        events in proptest::collection::vec(any_event(), 1..4), log_delta in -23.0..-2.0,
    ) {
        let delta = f64::exp(log_delta);
        let sum = Composition::of(&events).unwrap();
        let (display, running) = (sum.guarantee(delta).unwrap(), sum.running(delta).unwrap());
        let gate = sum.gate(delta).unwrap();
        prop_assert!(display.epsilon <= running.epsilon && running.epsilon <= gate.epsilon);
        prop_assert!(display.epsilon_lower <= display.epsilon);
        prop_assert_eq!(gate.covers, Coverage::Adaptive);
        prop_assert_eq!(display.covers, Coverage::FixedPlan);
        if let Ok(converged) = sum.converged(delta) {
            // For selections more is proven than their pair shows.
            let selects = events.iter().any(selects);
            prop_assert!(
                selects || display.epsilon >= converged - 1e-8, "{:?} {}", display, converged
            );
            prop_assert!(
                selects || display.epsilon_lower <= converged + 1e-8, "{:?} {}", display, converged
            );
        }
    }

    #[test]
    fn the_order_of_events_does_not_matter(
        events in proptest::collection::vec(any_event(), 2..4), log_delta in -16.0..-2.0,
    ) {
        let delta = f64::exp(log_delta);
        let forward = epsilon(&events, delta);
        let backward: Vec<Event> = events.iter().rev().cloned().collect();
        prop_assert!((epsilon(&backward, delta) - forward).abs() <= 1e-6 * forward.max(1e-3));
    }

    #[test]
    fn epsilon_rises_with_every_cause_of_leakage(
        sigma in 0.6..5.0, rate in 0.01..0.5, count in 2_u64..300, log_delta in -16.0..-3.0,
    ) {
        let delta = f64::exp(log_delta);
        let here = epsilon(&[subsampled(sigma, rate, count)], delta);
        // The amount that the lattice adds differs a little between plans.
        let allowed = 2e-4_f64.min(1e-2 * here);
        let more = [
            epsilon(&[subsampled(sigma * 0.8, rate, count)], delta),
            epsilon(&[subsampled(sigma, rate * 1.3, count)], delta),
            epsilon(&[subsampled(sigma, rate, 2 * count)], delta),
            epsilon(&[subsampled(sigma, rate, count)], delta * 0.1),
            epsilon(&[subsampled(sigma, rate, count), laplace(0.05, 1)], delta),
        ];
        for more in more {
            prop_assert!(more >= here - allowed, "{} {}", more, here);
        }
    }

    /// The δ of a guarantee is not only the requested one: the curve has it at the guaranteed ε.
    #[test]
    fn the_curve_at_the_guaranteed_epsilon_is_at_most_its_delta(
        events in proptest::collection::vec(any_event(), 1..4),
        sparse in (0.6..8.0, 1e-4..0.01, 1_u64..2000), with_sparse in any::<bool>(),
        replaced in any::<bool>(), grid in any::<bool>(), log_delta in -27.0..-3.0,
    ) {
        let mut events = events;
        if with_sparse {
            events[0] = subsampled(sparse.0, sparse.1, sparse.2);
        }
        for event in &mut events {
            if replaced {
                event.adjacency = Adjacency::ReplaceOne;
            }
            if grid && matches!(event.mechanism.query.kind, QueryKind::SampledSum { .. }) {
                event.mechanism.noise.grid = event.mechanism.noise.scale * 1e-7;
            }
        }
        let delta = f64::exp(log_delta);
        let sum = Composition::of(&events).unwrap();
        let found = sum.guarantee(delta).unwrap();
        let back = sum.delta(found.epsilon).unwrap();
        prop_assert!(back <= delta, "{} of {} at {:?}", back, delta, found);
        // And never below the lower bound.
        if let Ok(converged) = sum.converged(delta) {
            let selects = events.iter().any(selects);
            prop_assert!(selects || found.epsilon >= converged * (1.0 - 1e-8) - 1e-9);
        }
    }

    #[test]
    fn delta_and_epsilon_undo_each_other(
        events in proptest::collection::vec(any_event(), 1..3), log_delta in -16.0..-3.0,
    ) {
        let delta = f64::exp(log_delta);
        let sum = Composition::of(&events).unwrap();
        let found = sum.guarantee(delta).unwrap();
        // Where ε itself is of the size of a lattice's cell, the cell decides.
        prop_assume!(found.epsilon > 0.1);
        // Lattices differ, but by no more than a small step of ε explains.
        let step = 0.01 * found.epsilon + 2e-3;
        let least = sum.delta(found.epsilon + step).unwrap();
        prop_assert!(least <= delta * 1.05, "{} {}", least, delta);
        // Without a Gaussian the loss is bounded, and near the bound a tiny δ falls to zero very
        // fast.
        let smooth = |it: &Event| {
            matches!(
                it.mechanism.query.kind,
                QueryKind::Gaussian | QueryKind::SampledSum { .. }
            )
        };
        if events.iter().any(smooth) {
            let most = sum.delta((found.epsilon - step).max(0.0)).unwrap();
            prop_assert!(most >= delta * 0.9, "{} {}", most, delta);
        }
    }
}

/// Rare draws are about Gaussian, with μ = q·√(T(e^{1/σ²} − 1)), of which a share 2Φ(μ/2) − 1 leaks
/// at all. This share reaches δ at 95 draws: fewer draws have no ε, and more must have one. Finding
/// it takes a lattice near ε = 0, where a fine one does not fit.
#[test]
fn a_delta_just_above_all_that_can_leak_leaves_no_epsilon() {
    let of = |count| epsilon(&[subsampled(2.116, 0.02057, count)], 0.0401);
    for count in [2, 49, 90] {
        assert!(of(count) < 1e-9, "{count}: {}", of(count));
    }
    for count in [98, 105, 120] {
        assert!(of(count) > 1e-4, "{count}: {}", of(count));
    }
}
