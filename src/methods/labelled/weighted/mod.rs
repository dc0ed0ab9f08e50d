//! Adaptation that learns a weight for every record, public and private, as published.
//!
//! | module | holds |
//! |---|---|
//! | [`objective`] | F and J, their slopes, projections, the gradient mapping |
//! | [`learner`] | the learned model: squared or logistic loss, linear or network |
//! | [`descent`] | noisy projected gradient descent and its two releases per step |
//!
//! The methods themselves are [`super::cnvx_adap`] and [`super::ncnvx_adap`].

pub mod descent;
pub mod learner;
pub mod objective;

use crate::prelude::*;
use crate::theory::WeightedSizes;
use descent::{Releases, releases};
use learner::{Largest, Learner};
use objective::Caps;

pub(super) const MODE_FIELD: Setting<Mode> = Mode::or(Mode::Rigorous).named("mode", "").help(
    "rigorous: noise from the accountant, steps of the settings. as_printed: noise and steps of \
     the paper, for reproduction; the certificate states what the accountant proves for that \
     noise.",
);
pub(super) const PUBLIC_SHARE_FIELD: Setting<f64> = real(0.01, 0.99, 0.1)
    .named("public share α", "share of weight")
    .help("Largest total weight of the public records; the private records have the rest.");
pub(super) const WEIGHTS_SHARE_FIELD: Setting<f64> =
    real(0.001, 0.999, 0.05).named("weights' share", "share of budget").help(
        "What the slopes of the private records' weights get of the budget (rigorous mode); the \
         model's gradient gets the rest.",
    );

pub(super) const STEPS_FIELD: Setting<Option<u64>> =
    automatic_whole(10_000.0).named("steps T", "gradients").help(
        "Noisy steps. automatic takes 60, and in rigorous mode up to 240 where the numbers of private \
         records and of the model, and ε, make the noise small: more steps come closer to the minimum.",
    );

/// T: in rigorous mode it grows with nε/√d.
pub(super) fn automatic_steps(mode: Mode, n: usize, parameters: usize, target: Target) -> u64 {
    let clear = n as f64 * target.epsilon / (500.0 * (parameters as f64).sqrt());
    match mode {
        Mode::AsPrinted => 60,
        Mode::Rigorous => (60.0 * clear.clamp(1.0, 4.0)).round() as u64,
    }
}

choices! {
    pub enum SourceSide { Public = "public", Private = "private" }
}

pub(super) const SOURCE_SIDE_FIELD: Setting<SourceSide> =
    SourceSide::or(SourceSide::Public).named("source", "").help(
        "Which records are the source; their losses get the penalty d̂. public: the model is for \
         data like the private ones. private, the paper's reverse scenario: it is for data like \
         the public ones.",
    );

impl SourceSide {
    /// What d̂ adds to a loss, or is at most allowed to add: on public and on private records.
    pub fn split(self, penalty: f64) -> (f64, f64) {
        match self {
            Self::Public => (penalty, 0.0),
            Self::Private => (0.0, penalty),
        }
    }
}

/// The settings that both methods share.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsPublished {
    pub mode: Mode,
    pub alpha: f64,
    pub weights_share: f64,
    /// What both releases of every step get of the budget.
    pub share: f64,
    pub steps: u64,
    /// The method that needs no noise for the weights.
    pub better: &'static str,
}

impl AsPublished {
    /// Noise of the gradient and of the weights' slopes, which get their shares if it is
    /// calibrated.
    fn noise(self, target: Target, largest: Largest, caps: Caps) -> (Allotment, Allotment) {
        match self.mode {
            Mode::Rigorous => {
                let share = |part: f64| Allotment::Share(part * self.share);
                (share(1.0 - self.weights_share), share(self.weights_share))
            }
            Mode::AsPrinted => {
                let multiplier = printed_multiplier(target, self.steps);
                let gradient = multiplier * 2.0 * caps.private * largest.gradient;
                let weights = multiplier * caps.private * largest.loss;
                (Allotment::AsPrinted(gradient), Allotment::AsPrinted(weights))
            }
        }
    }

    /// What the theorems are about.
    pub fn theory(
        self,
        learner: Learner,
        shape: &ProblemShape,
        largest: Largest,
        pulls: f64,
        target: Target,
    ) -> WeightedSizes {
        WeightedSizes {
            private_records: shape.private_records as f64,
            public_records: shape.public_records as f64,
            parameters: learner.parameters(shape.dimension) as f64,
            alpha: self.alpha,
            radius: largest.radius,
            loss: largest.loss,
            gradient: largest.gradient,
            pulls,
            target,
        }
    }

    pub fn plan(
        self,
        learner: Learner,
        shape: &ProblemShape,
        largest: Largest,
        target: Target,
    ) -> (Plan, Releases, Caps) {
        let Self { alpha, steps, better, .. } = self;
        let caps = Caps::new(alpha, shape.public_records, shape.private_records);
        let noise = self.noise(target, largest, caps);
        let (announced, releases) = releases(learner, shape, largest, alpha, steps, noise);
        let mut plan = Plan::new(announced, steps, (1.0 - alpha) * largest.gradient);
        plan.warnings.push(format!(
            "the published algorithm spends noise on one number per private record in every \
             step; {better} solves for the weights and needs none of it"
        ));
        (plan, releases, caps)
    }
}

/// The printed σ relative to the sensitivity: 2√(T·ln(3/δ))/ε for either release.
pub(super) fn printed_multiplier(target: Target, steps: u64) -> f64 {
    2.0 * (steps as f64 * (3.0 / target.delta).ln()).sqrt() / target.epsilon
}

#[cfg(test)]
mod tests {
    use super::*;
    use halflight_testing as golden;

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
