//! Adaptation that learns a weight for every record, public and private, as published.
//!
//! | module | holds |
//! |---|---|
//! | [`objective`] | F and J, their slopes, projections, the gradient mapping |
//! | [`learner`] | what is learned: squared or logistic loss, linear or network |
//! | [`descent`] | noisy projected gradient descent and its two releases per step |
//!
//! The methods themselves are [`super::cnvx_adap`] and [`super::ncnvx_adap`].

pub mod descent;
pub mod learner;
pub mod objective;

use super::spec::{Field, FieldKind, Settings};
use crate::error::Result;
use crate::privacy::{Allotment, Target};

use learner::Largest;
use objective::Caps;

/// Whether noise and steps are those that can be defended or those that are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Rigorous,
    AsPrinted,
}

pub(super) const MODE_FIELD: Field = Field {
    key: "mode",
    name: "mode",
    unit: "",
    help: "rigorous: noise from the accountant, steps of the settings. as_printed: noise and \
           steps of the paper, for reproduction; the certificate states what the accountant \
           proves for that noise.",
    kind: FieldKind::Choice { options: &["rigorous", "as_printed"], default: "rigorous" },
};
pub(super) const WEIGHTS_SHARE_FIELD: Field = Field {
    key: "weights_share",
    name: "weights' share",
    unit: "share of budget",
    help: "What the slopes of the private records' weights get of the budget (rigorous mode); \
           the model's gradient gets the rest.",
    kind: FieldKind::Real { min: 0.001, max: 0.999, default: 0.05 },
};

impl Mode {
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        Ok(if settings.text(MODE_FIELD.key)? == "as_printed" {
            Self::AsPrinted
        } else {
            Self::Rigorous
        })
    }

    /// Noise of the gradient and of the weights' slopes.
    pub(super) fn noise(
        self,
        settings: &Settings,
        target: Target,
        largest: Largest,
        caps: Caps,
        steps: u64,
    ) -> Result<(Allotment, Allotment)> {
        let share = settings.number(WEIGHTS_SHARE_FIELD.key)?;
        Ok(match self {
            Self::Rigorous => (Allotment::Share(1.0 - share), Allotment::Share(share)),
            Self::AsPrinted => {
                let multiplier = printed_multiplier(target, steps);
                let gradient = multiplier * 2.0 * caps.private * largest.gradient;
                let weights = multiplier * caps.private * largest.loss;
                (Allotment::AsPrinted(gradient), Allotment::AsPrinted(weights))
            }
        })
    }
}

/// The printed σ over the sensitivity: 2√(T·ln(3/δ))/ε for either release.
pub(super) fn printed_multiplier(target: Target, steps: u64) -> f64 {
    2.0 * (steps as f64 * (3.0 / target.delta).ln()).sqrt() / target.epsilon
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::golden;

    #[test]
    fn printed_noise_agrees_with_the_reference() {
        let golden = golden::adaptation();
        let number = |key: &str| golden.number(&format!("alg1_steps_eps_inf.{key}"));
        let caps = Caps::new(number("alpha"), 3, 2);
        // r = Λ = 1: losses up to (1 + 1)², gradients up to 2·(1 + 1).
        let largest = Largest { radius: 1.0, loss: 4.0, gradient: 4.0 };
        let multiplier = printed_multiplier(Target { epsilon: 1.0, delta: 0.01 }, 4);
        let gradient = multiplier * 2.0 * caps.private * largest.gradient;
        assert!((gradient - number("sigma1_eps1_delta01")).abs() < 1e-10);
        // Printed for slopes in u, which are c times those in v.
        let weights = multiplier * caps.private * largest.loss * caps.private;
        assert!((weights - number("sigma2_eps1_delta01")).abs() < 1e-10);
    }
}
