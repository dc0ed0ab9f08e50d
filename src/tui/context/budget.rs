//! A budget while it is typed.

use crate::error::{Error, Result};
use crate::privacy::ledger::Budget;

/// Typed after a budget whose δ is 1/n or more.
pub const ALLOW: &str = "allow-large-delta";

/// Reads "ε δ" as typed, with a comma or a blank between them, and the word that allows a large δ.
pub fn parse_budget(text: &str) -> Result<Budget> {
    let (numbers, allow_large_delta) = match text.trim_end().strip_suffix(ALLOW) {
        Some(numbers) => (numbers, true),
        None => (text, false),
    };
    let parts: Vec<f64> = numbers
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap_or(f64::NAN))
        .collect();
    match parts[..] {
        [epsilon, delta] if epsilon > 0.0 && epsilon.is_finite() && delta > 0.0 && delta < 1.0 => {
            Ok(Budget { epsilon, delta, allow_large_delta })
        }
        _ => {
            Err(Error::usage(format!("'{text}' is not a budget"))
                .cure("give ε and δ, such as: 4 1e-5"))
        }
    }
}

/// Parses a budget; ε alone has this δ.
pub fn parse_beside(text: &str, delta: f64) -> Result<Budget> {
    match text.trim().parse::<f64>() {
        Ok(_) => parse_budget(&format!("{text} {delta:e}")),
        Err(_) => parse_budget(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_alone_keeps_delta() {
        let both = |text| parse_beside(text, 1e-6).map(|it| (it.epsilon, it.delta)).ok();
        assert_eq!(both(" 2 "), Some((2.0, 1e-6)));
        assert_eq!(both("2 1e-5"), Some((2.0, 1e-5)));
        assert_eq!(both("-2"), None);
    }

    #[test]
    fn a_budget_is_two_numbers() {
        assert_eq!(parse_budget("4 1e-5").unwrap(), Budget::new(4.0, 1e-5));
        assert!(parse_budget("4, .5 allow-large-delta").unwrap().allow_large_delta);
        for bad in ["4", "4 2", "x 1e-5", "-1 1e-5", "inf 1e-5", ""] {
            assert!(parse_budget(bad).is_err(), "{bad}");
        }
    }
}
