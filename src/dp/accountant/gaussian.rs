//! Closed form of Gaussian differential privacy.
//!
//! Telling N(0, 1) from N(μ, 1) is the hardest test that μ-GDP allows, and
//!
//! > δ(ε) = Φ(a) − e^ε Φ(b),  a = −ε/μ + μ/2,  b = −ε/μ − μ/2.
//!
//! Both terms underflow together, e^ε overflows, and their difference cancels for
//! small μ. But e^ε φ(b) = φ(a) exactly, so with Mills' ratio R(t) = Φ(−t)/φ(t)
//!
//! > δ(ε) = φ(a)·[R(−a) − R(−b)] = 1 − φ(a)·[R(a) + R(−b)]:
//!
//! the first form for a < 1, where the difference is taken without cancellation
//! ([`mills_drop`]); the second beyond, where it subtracts less than one third.

use crate::numeric::special::{
    LOG_SQRT_TWO_PI, least, log_normal_cdf, mills_drop, mills_ratio, normal_density,
};

/// Ten times the error of [`log_delta`] down to δ = 10⁻³⁰⁰, measured against mpmath
/// (1.4·10⁻¹³, one unit in the last place of log δ).
const LOG_MARGIN: f64 = 2e-12;
/// Relative padding of results, for the rounding of later arithmetic.
const PADDING: f64 = 1e-12;

/// log δ(ε) of μ-GDP, for μ ≥ 0 and any ε (δ is then 1 − e^ε at least).
pub fn log_delta(mu: f64, epsilon: f64) -> f64 {
    if epsilon < 0.0 {
        // The two hypotheses swap their roles.
        let mirrored = log_delta(mu, -epsilon).exp();
        return (epsilon.exp() * mirrored - epsilon.exp_m1()).ln();
    }
    if mu == 0.0 || epsilon == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let a = 0.5 * mu - epsilon / mu;
    if a < 1.0 {
        mills_drop(-a, mu).ln() - (0.5 * a * a + LOG_SQRT_TWO_PI)
    } else {
        (-normal_density(a) * (mills_ratio(a) + mills_ratio(mu - a))).ln_1p()
    }
}

/// The ε of μ-GDP at this δ, never below the exact one and within 10⁻¹¹ of it.
pub fn epsilon(mu: f64, delta: f64) -> f64 {
    epsilon_at(mu, delta.ln() - LOG_MARGIN) * (1.0 + PADDING)
}

/// A lower bound of the ε of μ-GDP at this δ: never above the exact one.
pub fn epsilon_lower(mu: f64, delta: f64) -> f64 {
    epsilon_at(mu, delta.ln() + LOG_MARGIN) * (1.0 - PADDING)
}

/// The least ε ≥ 0 with log δ(ε) ≤ `log_target`.
fn epsilon_at(mu: f64, log_target: f64) -> f64 {
    if mu == 0.0 || log_target >= 0.0 {
        return 0.0;
    }
    // The bound of zero-concentrated privacy: here a = −√(2 log 1/δ), and δ(ε) ≤ Φ(a) ≤ e^{−a²/2}.
    // Doubled to be safe from rounding.
    let high = mu * (mu + 2.0 * (-2.0 * log_target).sqrt());
    least(0.0, high, |epsilon| log_delta(mu, epsilon) <= log_target).unwrap_or(f64::INFINITY)
}

/// The largest μ whose ε at `delta` is at most `epsilon`, rounded down.
pub fn mu(epsilon: f64, delta: f64) -> f64 {
    let log_target = delta.ln() - LOG_MARGIN;
    let above = least(0.0, f64::MAX, |mu| log_delta(mu, epsilon) > log_target);
    above.unwrap_or(f64::MAX) * (1.0 - PADDING)
}

/// The least μ with log Φ(−μ/2) at most this, rounded up: of the total variation 1 − 2Φ(−μ/2).
pub fn mu_of_tail(log_tail: f64) -> f64 {
    // A few units of the last place of both sides.
    let target = log_tail - 1e-15 * (1.0 - log_tail);
    let below = least(0.0, f64::MAX, |mu| log_normal_cdf(-0.5 * mu) <= target);
    below.unwrap_or(f64::INFINITY) * (1.0 + PADDING)
}

#[cfg(test)]
mod tests {
    // Reference values are written as mpmath prints them.
    #![allow(clippy::unreadable_literal, clippy::excessive_precision)]

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn golden(name: &str) -> Value {
        let path = format!("{}/../../tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn number(value: &Value, key: &str) -> f64 {
        value[key].as_f64().unwrap()
    }

    // mpmath, 120 digits: (μ, ε, log δ).
    const LOG_DELTA: [(f64, f64, f64); 29] = [
        (1.0, 1.0, -2.0640664465003905345),
        (1.0, 0.0, -0.95991633369562231933),
        (0.5, 2.0, -11.570642650016968855),
        (1e-06, 1e-05, -69.368627594086765689),
        (1e-06, 0.0, -14.734449091168988558),
        (1e-12, 0.0, -28.54995964913322097),
        (1e-12, 1e-12, -30.116142141640689565),
        (0.268051123211294, 1.0, -11.512925464970242874),
        (5.0, 12.0, -0.77254009613189441547),
        (5.0, 0.1, -0.013139928616630126143),
        (40.0, 0.5, -7.0708970055621161642e-89),
        (40.0, 800.0, -0.71328322721831813222),
        (44.0, 1000.0, -1.484188849012232063),
        (20.0, 900.0, -617.98755037111684007),
        (13.0, 560.0, -674.79428529825055155),
        (1.0, 37.5, -692.66957153296310968),
        (0.03, 1.0, -566.49697162437515894),
        (0.001, 0.03, -464.6174091643044483),
        (60.0, 1800.0, -0.70653072718878622736),
        (2.0, 1e-09, -0.38171514653452345907),
        (2.1, 0.001, -0.34794882818628369161),
        (120.0, 10000.0, -276.47089968446504),
        (3.0, 1.4, -0.2883833685740096165),
        (3.0, 1.6, -0.31596595712961442212),
        (25.0, 1000.0, -383.10243194564640126),
        (30.0, 5.0, -8.822002654773260855e-50),
        (0.3, 0.9, -8.6333969133956054214),
        (0.3, 3.0, -55.268134183544326368),
        (0.9, 30.0, -548.69673081576168836),
    ];

    #[test]
    fn log_delta_agrees_with_mpmath_from_tiny_to_huge() {
        for (mu, epsilon, reference) in LOG_DELTA {
            let error = (log_delta(mu, epsilon) - reference).abs();
            assert!(error < 2e-13, "μ = {mu}, ε = {epsilon}: {error:e}");
        }
    }

    #[test]
    fn every_golden_gaussian_case_is_met_from_above() {
        let cases = golden("accounting");
        let gaussian =
            cases.as_array().unwrap().iter().filter(|case| case["mechanism"] == "gaussian");
        let mut seen = 0;
        for case in gaussian {
            let sensitivity = if case["adjacency"] == "replace_one" { 2.0 } else { 1.0 };
            let mu = sensitivity * number(case, "steps").sqrt() / number(case, "sigma");
            let (delta, exact) = (number(case, "delta"), number(case, "eps_exact"));
            let (lower, upper) = (epsilon_lower(mu, delta), epsilon(mu, delta));
            assert!(upper >= exact - 1e-9 && upper <= exact + 1e-9, "{case}: {upper}");
            assert!(lower <= upper && lower >= exact - 1e-9, "{case}: {lower}");
            seen += 1;
        }
        assert_eq!(seen, 11);
    }

    #[test]
    fn the_golden_mu_of_a_target_comes_back() {
        for case in golden("adaptation")["accounting"].as_array().unwrap() {
            let ours = mu(number(case, "eps"), number(case, "delta"));
            let reference = number(case, "mu_gdp");
            assert!((ours / reference - 1.0).abs() < 1e-11, "{case}: {ours}");
        }
    }

    #[test]
    fn the_golden_noise_of_the_moment_release_comes_back() {
        let release = &golden("discrepancy")["release"];
        let mu = mu(number(release, "eps"), number(release, "delta"));
        let sigma = number(release, "frob_sensitivity") / mu;
        assert!((sigma / number(release, "sigma_analytic") - 1.0).abs() < 1e-11, "{sigma}");
    }

    #[test]
    fn nothing_leaks_without_a_signal_and_everything_without_noise() {
        assert_eq!(log_delta(0.0, 1.0), f64::NEG_INFINITY);
        assert_eq!(epsilon(0.0, 1e-9), 0.0);
        assert_eq!(log_delta(1e200, 1.0), 0.0);
        assert!(epsilon(1e100, 1e-9) > 1e199);
    }

    proptest! {
        #[test]
        fn delta_falls_with_epsilon_and_rises_with_mu(
            mu in 1e-3..40.0, epsilon in 0.0..100.0, factor in 1.000_001..2.0,
        ) {
            let here = log_delta(mu, epsilon);
            prop_assert!(here <= 0.0);
            prop_assert!(log_delta(mu, epsilon * factor) <= here);
            prop_assert!(log_delta(mu * factor, epsilon) >= here);
        }

        #[test]
        fn epsilon_and_mu_undo_each_other(log_mu in -12.0..3.5, log_delta in -690.0..-0.7) {
            let (wanted, delta) = (f64::exp(log_mu), f64::exp(log_delta));
            let epsilon = epsilon(wanted, delta);
            prop_assume!(epsilon > 1e-6 * wanted);
            let back = mu(epsilon, delta);
            prop_assert!((back / wanted - 1.0).abs() < 1e-9, "{} for {}", back, wanted);
        }

        #[test]
        fn the_lower_and_the_upper_epsilon_enclose_a_narrow_interval(
            log_mu in -12.0..3.5, log_delta in -690.0..-0.7,
        ) {
            let (mu, delta) = (f64::exp(log_mu), f64::exp(log_delta));
            let (lower, upper) = (epsilon_lower(mu, delta), epsilon(mu, delta));
            prop_assert!(lower <= upper && upper - lower < 1e-9 * upper.max(0.01));
        }

        /// Zero-concentrated privacy gives a larger ε than the closed form.
        #[test]
        fn concentrated_privacy_bounds_the_closed_form(
            mu in 1e-3..20.0, log_delta in -690.0..-0.7,
        ) {
            let zcdp = 0.5 * mu * mu + mu * f64::sqrt(-2.0 * log_delta);
            prop_assert!(epsilon(mu, f64::exp(log_delta)) <= zcdp);
        }

        /// δ(−ε) = 1 − e^{−ε}(1 − δ(ε)).
        #[test]
        fn negative_epsilons_mirror_positive_ones(mu in 0.01..5.0, epsilon in 0.0..2.0_f64) {
            let expected = 1.0 - (-epsilon).exp() * (1.0 - log_delta(mu, epsilon).exp());
            prop_assert!((log_delta(mu, -epsilon).exp() - expected).abs() < 1e-14);
        }
    }
}
