//! `halflight account`: an accountant by itself.

use clap::Args;
use serde_json::json;

use super::{print_json, print_line};
use crate::error::{Error, Result};
use crate::privacy::accountant::{Adjacency, Composition, Event, Mechanism, gaussian, round_up};

/// What does this noise guarantee?
///
/// Full-batch Gaussian mechanisms, exactly. Example:
/// halflight account --sigma 20 --steps 60 --delta 1e-6
#[derive(Debug, Args)]
pub struct AccountCommand {
    /// Noise standard deviation over ℓ₂ sensitivity, of every step.
    #[arg(long, required_unless_present = "target_epsilon", conflicts_with = "target_epsilon")]
    sigma: Option<f64>,

    /// Number of releases.
    #[arg(long, default_value_t = 1)]
    steps: u64,

    #[arg(long, default_value_t = 1e-6)]
    delta: f64,

    /// Find the smallest sigma for this ε instead.
    #[arg(long)]
    target_epsilon: Option<f64>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// Print only the number.
    #[arg(long, conflicts_with = "json")]
    brief: bool,
}

impl AccountCommand {
    pub fn execute(&self) -> Result<()> {
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(Error::usage(format!("δ is {}", self.delta))
                .cure("give a number between 0 and 1, such as 1e-6"));
        }
        if self.steps == 0 {
            return Err(Error::usage("there are 0 steps").cure("give 1 or more"));
        }
        match (self.sigma, self.target_epsilon) {
            (Some(sigma), _) => self.epsilon_of(sigma),
            (None, Some(epsilon)) => self.sigma_for(epsilon),
            (None, None) => Err(Error::usage("neither --sigma nor --target-epsilon is given")),
        }
    }

    fn events(&self, sigma: f64) -> [Event; 1] {
        [Event {
            label: "release".to_owned(),
            what: "a vector".to_owned(),
            mechanism: Mechanism::Gaussian { sensitivity: 1.0, sigma, grid: 0.0, coordinates: 1 },
            count: self.steps,
            adjacency: Adjacency::ReplaceOne,
        }]
    }

    fn epsilon_of(&self, sigma: f64) -> Result<()> {
        let guarantee = Composition::of(&self.events(sigma))?.guarantee(self.delta)?;
        if self.json {
            return print_json(&json!({
                "sigma": sigma, "steps": self.steps, "guarantee": guarantee,
            }));
        }
        let epsilon = round_up(guarantee.epsilon, 6);
        if self.brief {
            return print_line(&epsilon);
        }
        print_line(&format!(
            "{} Gaussian releases with σ = {sigma} × sensitivity, δ = {:e}, {}: ε = {epsilon}",
            self.steps, self.delta, guarantee.bound
        ))
    }

    fn sigma_for(&self, epsilon: f64) -> Result<()> {
        if !(epsilon > 0.0 && epsilon <= 1e4) {
            return Err(Error::usage(format!("ε is {epsilon}"))
                .cure("give a number above 0, at most 10000"));
        }
        // The accountant has the last word: round up until it agrees.
        let mut sigma = (self.steps as f64).sqrt() / gaussian::mu(epsilon, self.delta);
        while Composition::of(&self.events(sigma))?.guarantee(self.delta)?.epsilon > epsilon {
            sigma *= 1.0 + 1e-10;
        }
        if self.json {
            return print_json(&json!({
                "sigma": sigma, "steps": self.steps, "epsilon": epsilon, "delta": self.delta,
            }));
        }
        let sigma = round_up(sigma, 6);
        if self.brief {
            return print_line(&sigma);
        }
        print_line(&format!(
            "{} Gaussian releases within ε = {epsilon}, δ = {:e}: σ = {sigma} × sensitivity",
            self.steps, self.delta
        ))
    }
}
