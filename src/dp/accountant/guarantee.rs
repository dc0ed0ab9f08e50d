//! The guarantee that results, and how it is written down.

use serde::{Deserialize, Serialize};

use super::event::Adjacency;

/// What a guarantee covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// These events, planned before the first of them was drawn.
    #[default]
    FixedPlan,
    /// Events of which some were chosen after seeing the outputs of earlier ones.
    Adaptive,
}

/// The guarantee of a list of events: for neighbours under `adjacency`, the outputs are (`epsilon`,
/// `delta`)-indistinguishable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// A proven upper bound, never rounded down.
    pub epsilon: f64,
    /// The lowest value that the upper bound could have: a lower bound on the ε of the dominating
    /// pairs with ideal noise, for neighbours as far apart as the sensitivities allow, minus the
    /// part that the grid adds to the upper bound.
    pub epsilon_lower: f64,
    /// The δ at which this holds.
    pub delta: f64,
    /// Which datasets count as neighbours.
    pub adjacency: Adjacency,
    /// Which bound decided, in words.
    pub bound: String,
    /// The events that it covers.
    #[serde(default)]
    pub covers: Coverage,
}

/// Decimal text of `value` with at most `decimals` digits, rounded *up*: an ε on the screen is never
/// smaller than the true one. A negative value shows as zero.
pub fn round_up(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "unknown".into();
    }
    if value == f64::INFINITY {
        return "∞".into();
    }
    let value = value.max(0.0);
    let text = digits_up(value, decimals);
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Exactly so many digits behind the point.
fn digits_up(value: f64, decimals: usize) -> String {
    let nearest = format!("{value:.decimals$}");
    if nearest.parse::<f64>().is_ok_and(|shown| shown >= value) {
        return nearest;
    }
    // Add one unit in the last digit.
    let mut digits: Vec<char> = nearest.chars().rev().collect();
    for digit in digits.iter_mut().filter(|digit| **digit != '.') {
        if *digit != '9' {
            *digit = char::from(*digit as u8 + 1);
            return digits.into_iter().rev().collect();
        }
        *digit = '0';
    }
    digits.push('1');
    digits.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rounding_up_carries_and_names_what_is_not_a_number() {
        assert_eq!(round_up(1.0, 2), "1");
        assert_eq!(round_up(1.001, 2), "1.01");
        assert_eq!(round_up(9.999, 2), "10");
        assert_eq!(round_up(9.991, 2), "10");
        assert_eq!(round_up(99.2, 0), "100");
        assert_eq!(round_up(1e-30, 3), "0.001");
        assert_eq!(round_up(0.0, 3), "0");
        assert_eq!(round_up(0.1, 1), "0.1");
        assert_eq!(round_up(-1.5, 1), "0");
        assert_eq!(round_up(f64::INFINITY, 3), "∞");
        assert!(!round_up(f64::NAN, 3).contains(|c: char| c.is_ascii_digit() || c == '∞'));
    }

    proptest! {
        #[test]
        fn a_displayed_number_is_never_below_the_true_one(
            mantissa in 0.0..1.0, power in -20..10, decimals in 0_usize..9,
        ) {
            let value = mantissa * 10_f64.powi(power);
            let shown: f64 = round_up(value, decimals).parse().unwrap();
            prop_assert!(shown >= value);
            let unit = 10_f64.powi(-(decimals as i32));
            prop_assert!(shown - value <= 1.0001 * unit + f64::EPSILON * value, "{} for {}", shown, value);
        }
    }
}
