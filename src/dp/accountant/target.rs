//! The requested (ε, δ), and the values that its numbers may have.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const LARGEST_EPSILON: f64 = 1e4;
/// Doubles cannot add up smaller δ.
pub(super) const LEAST_DELTA: f64 = 1e-300;

/// The (ε, δ) that a user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The ε.
    pub epsilon: f64,
    /// The δ.
    pub delta: f64,
}

impl Target {
    /// Refuses numbers for which noise cannot be calibrated.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self> {
        Self { epsilon, delta }.checked()
    }

    /// The target itself, if both numbers are allowed.
    pub fn checked(self) -> Result<Self> {
        check_epsilon(self.epsilon)?;
        check_delta(self.delta)?;
        Ok(self)
    }

    /// With the ε of this text.
    pub fn with_epsilon(self, text: &str) -> Result<Self> {
        let epsilon = number(text, "ε", check_epsilon)?;
        Ok(Self { epsilon, ..self })
    }

    /// With the δ of this text.
    pub fn with_delta(self, text: &str) -> Result<Self> {
        let delta = number(text, "δ", check_delta)?;
        Ok(Self { delta, ..self })
    }
}

/// δ in words; a pure ε has none.
pub fn delta_words(delta: f64) -> String {
    if delta == 0.0 { "0".to_owned() } else { format!("{delta:e}") }
}

fn number(text: &str, symbol: &str, check: fn(f64) -> Result<()>) -> Result<f64> {
    let number = text.trim().parse().unwrap_or(f64::NAN);
    check(number).map(|()| number).map_err(|error| {
        let cure = error.cure_text().unwrap_or_default();
        Error::usage(format!("'{text}' is not a value of {symbol}")).cure(cure)
    })
}

/// Refuses an ε that cannot be a target.
pub fn check_epsilon(epsilon: f64) -> Result<()> {
    if epsilon > 0.0 && epsilon <= LARGEST_EPSILON {
        return Ok(());
    }
    Err(Error::usage(format!("ε = {epsilon} is not a target"))
        .cure("ε must be above 0 and at most 10000"))
}

/// Refuses a δ at which nothing can be stated.
pub fn check_delta(delta: f64) -> Result<()> {
    if (LEAST_DELTA..1.0).contains(&delta) {
        return Ok(());
    }
    Err(Error::usage(format!("δ = {delta} is not a target")).cure(
        "δ must be above 0 (at least 1e-300) and below 1; well below one over the number of records is usual",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_no_target_are_refused_with_the_admissible_range() {
        assert_eq!(Target::new(1e4, 1e-300).unwrap(), Target { epsilon: 1e4, delta: 1e-300 });
        for epsilon in [0.0, -1.0, 10_000.1, f64::NAN, f64::INFINITY] {
            let error = Target::new(epsilon, 1e-5).unwrap_err();
            assert!(error.to_string().contains("above 0 and at most 10000"), "{error}");
        }
        for delta in [0.0, -1.0, 1.0, 1e-301, f64::NAN] {
            let error = Target::new(1.0, delta).unwrap_err();
            assert!(error.to_string().contains("below 1"), "{error}");
        }
    }

    #[test]
    fn each_number_is_read_by_itself_and_the_other_one_stays() {
        let wrong = Target { epsilon: 0.0, delta: 2.0 };
        let half = wrong.with_epsilon(" 0.5 ").unwrap();
        assert_eq!(half, Target { epsilon: 0.5, delta: 2.0 });
        assert_eq!(half.with_delta("1e-6").unwrap(), Target { epsilon: 0.5, delta: 1e-6 });
        for text in ["", "much", "0", "10001", "inf"] {
            let error = half.with_epsilon(text).unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}' is not a value of ε")), "{error}");
            assert!(error.contains("at most 10000"), "{error}");
        }
        assert!(half.with_delta("1").is_err());
    }
}
