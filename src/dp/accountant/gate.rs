//! The sums that stay valid while later events are still being chosen.
//!
//! A budget that is spent over several runs is spent *adaptively*: the cost of a run may depend on
//! the outputs of earlier runs. A privacy loss distribution is a statement about a plan that is
//! fixed in advance, so it is not a valid filter. Sums are (Feldman, Zrnic 2021; Lécuyer 2021;
//! Smith, Thakurta 2022; Whitehouse et al. 2023):
//!
//! * *pure*: Σ ε₀;
//! * *GDP*: μ² = Σ (sensitivity/σ)². A subsampled Gaussian is counted as if its sampling were
//!   revealed, and a pure event as the Gaussian of the same total variation, see below;
//! * *RDP* of an order that is fixed in advance. Gaussian, concentrated and pure events all count
//!   in it, with αρ at every order.
//!
//! # Why the least of several sums holds at δ
//!
//! A budget (ε, δ) is a rule: an event may be drawn if `holds` is true of the list with that event.
//! Whoever sees all earlier outputs chooses the events, and so also chooses which sum is the least
//! in the end. If each sum had the whole δ, all of them together would only hold at 2δ. Hence δ is
//! *split in advance*, between sums that are themselves fixed in advance. Pure sums need none, GDP
//! has the share [`GAUSSIAN_SHARE`], and RDP has the rest, δ_R, of which the order k of [`ORDERS`]
//! has the part wₖ. RDP admits a list if
//!
//! > Σ wₖ·δ_R/δₖ ≥ 1,  δₖ = Cₖ·e^{Kₖ − θₖε},  C = θ^θ/(θ + 1)^{θ + 1},
//!
//! where Kₖ = Σ log E e^{θₖL} and δₖ is the δ that the order proves by itself at ε.
//!
//! Let L be the privacy loss of everything drawn until the rule stops the drawing, and h = (1 −
//! e^{ε − L})₊. The rule is (ε, δ)-private if E[h; S] ≤ δ for every set S of transcripts. The
//! parameters of the events are part of the transcript, so at the end it is known which sums are
//! within the budget. Sums only grow, so these sums were within it all the time. Each sum comes
//! with a process whose expectation no choice of events can raise:
//!
//! * *RDP*: Σ wₖ·δ_R·e^{θₖL − Kₖ}, which starts at δ_R. An event's parameters are fixed before its
//!   output, so its factor has an expectation of at most 1. h ≤ Cₖ·e^{θₖ(L − ε)} for all k, so h ≤
//!   h·Σ wₖ·δ_R/δₖ is at most the process where RDP admits the list.
//! * *GDP*: with m the largest μ that (ε, δ′) allows, δ′ its part of δ, and s² the sum so far, the
//!   curve δ(ε − L) of √(m² − s²)-GDP, which starts at δ′. One more Gaussian keeps its expectation;
//!   spending less than what is left only lowers it. The process is at least h where the sum is
//!   within the budget at the end. Once an event is drawn that no Gaussian stands for, this sum can
//!   never be used again, and the process may stand still.
//! * *Pure*: L ≤ ε, so h = 0.
//!
//! So at every end h is at most the sum of the two processes, whose expectation is at most δ_R +
//! δ′: **δ, not 2δ**. Subsampled events whose sampling is revealed, and Gaussians in the place of
//! pure events, tell more than the real ones. E[h; S] of the coarser transcript is at most that of
//! the finer one, on the part of S where GDP decides. The same holds with the hypotheses exchanged,
//! since moments and μ bound both directions.
//!
//! # A Gaussian in the place of a pure event
//!
//! Let T(α) be the least error of the second kind at the error α of the first, and G that of μ-GDP,
//! G(α) = Φ(Φ⁻¹(1 − α) − μ). If G ≤ T everywhere, the event is a Gaussian mechanism whose output
//! was processed (Blackwell). G is convex, symmetric (G is its own inverse), and G(0) = 1.
//!
//! * *Response*, and so anything ε₀-DP: T is two lines from (0, 1) and (1, 0) to the corner (q, q), q =
//!   1/(1 + e^{ε₀}). If G(q) = q, convexity puts G below both lines. So Φ(−μ/2) = q.
//! * *Laplace*: T(α) = 1 − e^{ε₀}α up to α₁ = e^{−ε₀}/2, then e^{−ε₀}/(4α) up to α = ½, and the
//!   mirror image after that. Let Φ(−μ/2) = e^{−ε₀/2}/2. Between α₁ and ½, with α = Φ(−a) and G(α) =
//!   Φ(−b), a + b = μ: α·G(α) ≤ Φ(−μ/2)² = e^{−ε₀}/4, because log Φ is concave. So G ≤ T there, in
//!   particular G(α₁) ≤ ½ = T(α₁), and convexity does the rest.
//!
//! Both times 1 − 2Φ(−μ/2) is the total variation of the event, which G has to reach at least. For
//! another T this is not enough: where T has a piece of slope −1, G touches the line of that piece at
//! one point only, and is above T on the rest of it.
//!
//! # Which ε
//!
//! The orders depend on the budget's ε, so [`epsilon`] is the least ε whose rule admits the list.
//! Every larger ε admits it, too, so `epsilon(list, δ) ≤ ε` is exactly the budget's rule. As a
//! *total* it means that a budget of this size, set in advance, would have admitted all of this.
//!
//! Why every larger ε does: for pure sums and GDP this is clear. For RDP, with Λ at least all
//! −log(wₖ·δ_R), the inverse orders 1/θ of [`ORDERS`] rise with ε by at most 1/Λ. Let u = −log δₖ =
//! θ·m, m = ε − K/θ − log(θ/(θ + 1)) + log(θ + 1)/θ. When ε grows θ falls, K/θ, a Rényi divergence,
//! falls with it, and the two logarithms rise: m′ ≥ 1. Hence u′ = θm′ − θ²m·(1/θ)′ ≥ θ(1 − u/Λ), so
//! min(u, Λ) never falls. The sum with e^{min(u, Λ)} for 1/δₖ never falls either, and it reaches 1
//! exactly when the rule's does, because one term with u ≥ Λ is enough for both.

use std::f64::consts::LN_2;

use super::gaussian;
use super::pair::Pair;
use super::rdp::{self, PairDraws};

/// The part of δ for sums of Gaussians, the most common kind. Sharing δ with the others costs them
/// less than 0.5 % of ε at δ = 10⁻⁵, and even less below.
pub const GAUSSIAN_SHARE: f64 = 0.9;
/// How the orders follow from the budget: 1/θ = a·(√(1 + ε/Λ) − 1) + b·ε/Λ + c, and the parts w of
/// them all. The first is best for concentrated privacy; samples need smaller ones. a/2 + b must
/// not exceed 1, as explained above.
const ORDERS: [GateOrder; 6] = [
    GateOrder { a: 1.0, b: 0.0, c: 0.0, part: 0.3 },
    GateOrder { a: 1.5, b: 0.0, c: 0.0, part: 0.2 },
    GateOrder { a: 2.0, b: 0.0, c: 0.0, part: 0.15 },
    GateOrder { a: 0.0, b: 1.0, c: 0.015_625, part: 0.1 },
    GateOrder { a: 0.0, b: 1.0, c: 0.0625, part: 0.1 },
    GateOrder { a: 0.0, b: 1.0, c: 0.166_666, part: 0.15 },
];
const LEAST_PART: f64 = 0.1;
/// How close, relatively, the least ε is found; never from below.
const CLOSE: f64 = 1e-8;
/// A larger ε counts as none.
const LARGEST: f64 = 1e290;

struct GateOrder {
    a: f64,
    b: f64,
    c: f64,
    part: f64,
}

/// Σ ε₀ of all draws, rounded up; infinite if one of them is not pure.
pub fn pure(parts: &[PairDraws]) -> f64 {
    let sum = parts.iter().map(|(pair, count)| *count as f64 * pair.largest_loss());
    sum.sum::<f64>() * (1.0 + (parts.len() + 4) as f64 * f64::EPSILON)
}

/// The μ of the Gaussian mechanism that dominates all draws, with their sampling revealed, if there
/// is one.
pub fn gaussian_mu(parts: &[PairDraws]) -> Option<f64> {
    let squares = parts.iter().map(|(pair, count)| {
        let mu = match pair {
            Pair::Gaussian { mu } => *mu,
            Pair::Subsampled(subsampled) => subsampled.unsampled_mu(),
            Pair::Laplace { epsilon } => gaussian::mu_of_tail(-0.5 * epsilon - LN_2),
            Pair::Response { epsilon } | Pair::BoundedRange { epsilon } => {
                gaussian::mu_of_tail(-epsilon - (-epsilon).exp().ln_1p())
            }
            Pair::Repeated(_) => return None,
        };
        Some(*count as f64 * mu * mu)
    });
    let sum = squares.sum::<Option<f64>>()?;
    Some(sum.sqrt() * (1.0 + (parts.len() + 4) as f64 * f64::EPSILON))
}

/// log Σ wₖ·δ_R/δₖ: RDP admits the list where this is at least 0.
fn log_room(parts: &[PairDraws], epsilon: f64, delta: f64) -> f64 {
    let rest = (1.0 - GAUSSIAN_SHARE) * delta;
    let scaled = -epsilon / (LEAST_PART * rest).ln();
    // √(1 + x) − 1 without cancellation.
    let root = scaled / (1.0 + (1.0 + scaled).sqrt());
    let terms = ORDERS.map(|GateOrder { a, b, c, part }| {
        let theta = 1.0 / (a * root + b * scaled + c);
        let room = theta * (epsilon - rdp::epsilon_at(parts, theta, part * rest));
        // A list that cannot be integrated is not admitted.
        if room.is_nan() { f64::NEG_INFINITY } else { room }
    });
    let largest = terms.into_iter().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    largest + terms.into_iter().map(|term| (term - largest).exp()).sum::<f64>().ln() - 1e-12
}

/// RDP at all orders.
pub fn renyi(parts: &[PairDraws], delta: f64) -> f64 {
    let room = |epsilon: f64| log_room(parts, epsilon, delta);
    let mut high = 1.0;
    let mut above = room(high);
    while above < 0.0 {
        high *= 4.0;
        if high > LARGEST {
            return f64::INFINITY;
        }
        above = room(high);
    }
    let mut low = 0.25 * high;
    let mut below = room(low);
    while below >= 0.0 {
        (high, above, low) = (low, below, 0.25 * low);
        if low < 1.0 / LARGEST {
            return high;
        }
        below = room(low);
    }
    // Try the zero of the line through both ends, or the middle in every third round.
    for round in 1..200 {
        if high - low <= CLOSE * high {
            break;
        }
        let line = low + (high - low) * below / (below - above);
        let place = if round % 3 == 0 || !line.is_finite() {
            0.5 * (low + high)
        } else {
            // A little further, so that the upper end moves as well.
            (line + 0.25 * CLOSE * high).clamp(low + 0.1 * CLOSE * high, high)
        };
        let here = room(place);
        if here >= 0.0 { (high, above) = (place, here) } else { (low, below) = (place, here) }
    }
    high
}

/// The least ε whose budget admits the list, and the sum that decides.
pub fn epsilon(parts: &[PairDraws], delta: f64) -> (f64, &'static str) {
    let renyi = (renyi(parts, delta), "Rényi sum at orders fixed by the budget (RDP)");
    least_sum(parts, GAUSSIAN_SHARE * delta, renyi)
}

/// The least ε of a list that is fixed in advance, and the sum that decides: every sum has all of
/// δ, and the order of RDP may be the best.
pub fn fixed(parts: &[PairDraws], delta: f64) -> (f64, &'static str) {
    least_sum(parts, delta, (rdp::epsilon(parts, delta), "Rényi divergences (RDP)"))
}

fn least_sum(
    parts: &[PairDraws],
    gaussian_delta: f64,
    renyi: (f64, &'static str),
) -> (f64, &'static str) {
    let gaussian =
        gaussian_mu(parts).map_or(f64::INFINITY, |mu| gaussian::epsilon(mu, gaussian_delta));
    let sums = [(pure(parts), "sum of pure guarantees"), (gaussian, "Gaussian sum (GDP)")];
    sums.into_iter().fold(renyi, |best, next| if next.0 <= best.0 { next } else { best })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::subsampling::{Subsampled, View};
    use super::*;

    /// The rule of the budget (ε, δ), from its definition.
    fn holds(parts: &[PairDraws], budget: f64, delta: f64) -> bool {
        pure(parts) <= budget
            || gaussian_mu(parts)
                .is_some_and(|mu| gaussian::epsilon(mu, GAUSSIAN_SHARE * delta) <= budget)
            || log_room(parts, budget, delta) >= 0.0
    }

    fn any_draws() -> impl Strategy<Value = PairDraws> {
        prop_oneof![
            1 => (0.01..2.0, 1_u64..50).prop_map(|(mu, n)| (Pair::Gaussian { mu }, n)),
            1 => (0.6..6.0, 0.0005..0.6, 1_u64..3000).prop_map(|(noise, rate, n)| {
                (Pair::Subsampled(Subsampled { noise, rate, view: View::Remove }), n)
            }),
            4 => (0.001..1.0, 1_u64..300, any::<prop::sample::Index>())
                .prop_map(|(epsilon, n, kind)| (*kind.get(&Pair::one_of_each(epsilon)), n)),
        ]
    }

    #[test]
    fn the_parts_of_delta_add_up_to_delta_and_the_orders_are_slow_enough() {
        let parts: f64 = ORDERS.iter().map(|order| order.part).sum();
        assert!(GAUSSIAN_SHARE + (1.0 - GAUSSIAN_SHARE) * parts <= 1.0 + 1e-15, "{parts}");
        assert!(ORDERS.iter().all(|order| order.part >= LEAST_PART));
        assert!(ORDERS.iter().all(|order| 0.5 * order.a + order.b <= 1.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// `epsilon ≤ budget` is the rule of the budget: for everything that the rule admits, some
        /// sum holds at its own part of δ, with orders that follow from the budget alone.
        #[test]
        fn what_the_gate_admits_is_within_a_sum_that_was_fixed_in_advance(
            parts in proptest::collection::vec(any_draws(), 1..5),
            log_delta in -30.0..-1.0, room in 0.5..3.0,
        ) {
            let delta = f64::exp(log_delta);
            let (least, _) = epsilon(&parts, delta);
            let budget = least * room;
            prop_assert_eq!(holds(&parts, budget, delta), least <= budget, "{} {}", least, budget);
            for more in [1.0, 1.000_001, 1.1, 2.0, 10.0, 1e3, 1e6] {
                prop_assert!(holds(&parts, least * more, delta), "{} of {}", more, least);
            }
            prop_assert!(!holds(&parts, least * (1.0 - 1e-6), delta) || least < 1e-200, "{}", least);
        }

        #[test]
        fn the_gate_is_never_below_the_best_bound_of_each_kind(
            parts in proptest::collection::vec(any_draws(), 1..5), log_delta in -30.0..-1.0,
        ) {
            let delta = f64::exp(log_delta);
            let (gate, _) = epsilon(&parts, delta);
            let alone = gaussian_mu(&parts).map_or(f64::INFINITY, |mu| gaussian::epsilon(mu, delta));
            prop_assert!(gate >= alone.min(pure(&parts)).min(rdp::epsilon(&parts, delta) - 1e-9));
            // More events can only add.
            let (fewer, _) = epsilon(&parts[1..], delta);
            prop_assert!(fewer <= gate * (1.0 + 1e-7), "{} {}", fewer, gate);
        }

        /// At every ε, and no smaller Gaussian would do.
        #[test]
        fn no_event_tells_more_than_its_gaussian_which_has_the_total_variation_of_pure_ones(
            epsilon in prop_oneof![1e-6..1e-2, 1e-2..30.0], at in 0.0..1.0,
        ) {
            let delta = |mu: f64, epsilon: f64| gaussian::log_delta(mu, epsilon).exp();
            for pair in Pair::one_of_each(epsilon) {
                let Some(mu) = gaussian_mu(&[(pair, 1)]) else { continue };
                for at in [0.0, at, at * at] {
                    let (own, its) = (pair.delta(at * epsilon).unwrap(), delta(mu, at * epsilon));
                    prop_assert!(own <= its * (1.0 + 1e-9), "{:?} at {}: {} {}", pair, at, own, its);
                }
                if matches!(pair, Pair::Laplace { .. } | Pair::Response { .. }) {
                    prop_assert!(pair.delta(0.0).unwrap() > delta(mu * (1.0 - 1e-8), 0.0));
                }
            }
        }

        #[test]
        fn gaussians_alone_lose_next_to_nothing(mu in 0.05..10.0, log_delta in -40.0..-11.5) {
            let delta = f64::exp(log_delta);
            let (gate, _) = epsilon(&[(Pair::Gaussian { mu }, 1)], delta);
            let exact = gaussian::epsilon(mu, delta);
            prop_assert!(gate >= exact && gate <= exact * 1.012, "{} {}", gate, exact);
            let tenth = gaussian::epsilon(mu, 0.9 * delta);
            prop_assert!(gate <= tenth * (1.0 + 1e-12));
        }
    }

    /// As choices are allowed, not as little as the sum of both ε; orders of RDP alone gave 1.53.
    #[test]
    fn a_score_after_a_gaussian_run_costs_little_more_than_its_epsilon() {
        let delta = 1e-4;
        let run = (Pair::Gaussian { mu: gaussian::mu(1.0, delta) }, 1);
        let (both, bound) = epsilon(&[run, (Pair::Laplace { epsilon: 0.2 }, 1)], delta);
        assert!(both > 1.2 && both < 1.31, "{both}");
        assert_eq!(bound, "Gaussian sum (GDP)");
    }

    /// The exact δ of an adversary who first draws a Gaussian and then, depending on its output,
    /// either the largest Gaussian that the budget still admits or the largest pure output.
    fn delta_of_a_choice(first: f64, second: f64, response: f64, budget: f64) -> f64 {
        let curve = |ratio: f64, epsilon: f64| gaussian::log_delta(ratio, epsilon).exp();
        let likely = 1.0 / (1.0 + (-response).exp());
        let response = |epsilon: f64| {
            if epsilon >= response {
                0.0
            } else if epsilon <= -response {
                -epsilon.exp_m1()
            } else {
                likely - epsilon.exp() * (1.0 - likely)
            }
        };
        let step = 0.01;
        let at = |index: i32| {
            let z = f64::from(index) * step;
            let left = budget - (0.5 * first * first + first * z);
            let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
            step * density * curve(second, left).max(response(left))
        };
        (-1200..=1200).map(at).sum()
    }

    #[test]
    fn an_adversary_who_chooses_the_sum_stays_at_delta_and_only_thanks_to_the_split() {
        let (budget, delta) = (2.0, 1e-2);
        let response = |epsilon| (Pair::Response { epsilon }, 1);
        let mut beyond_without = 0;
        for part in [0.3_f64, 0.6, 0.9] {
            let reached = |share: f64, admits: &dyn Fn(&[PairDraws]) -> bool| {
                let mu = gaussian::mu(budget, share * delta);
                let (first, second) = (mu * part.sqrt(), mu * (1.0 - part).sqrt());
                let (mut low, mut high) = (0.0, budget);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    let parts = [(Pair::Gaussian { mu: first }, 1), response(middle)];
                    if admits(&parts) { low = middle } else { high = middle }
                }
                delta_of_a_choice(first, second, low, budget)
            };
            let split = reached(GAUSSIAN_SHARE, &|parts| epsilon(parts, delta).0 <= budget);
            assert!(split <= delta, "{part}: {split}");
            // The least of both sums at the whole δ, as if it had not been chosen.
            let whole = reached(1.0, &|parts| rdp::epsilon(parts, delta) <= budget);
            beyond_without += u32::from(whole > delta * 1.001);
        }
        assert!(beyond_without > 0);
    }
}
