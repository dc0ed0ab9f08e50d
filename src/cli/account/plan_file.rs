//! A list of noise events in a file: the input of `halflight account --plan`.
//!
//! ```ron
//! (
//!   delta: 1e-6,
//!   events: [
//!     (name: "gradient", mechanism: subsampled_gaussian(sigma: 1.1, rate: 0.01), count: 10000),
//!     (name: "vertex", mechanism: selection(epsilon: 0.05), count: 50),
//!     (name: "score", mechanism: laplace(scale: 20.0)),
//!   ],
//! )
//! ```
//!
//! Noise scales are relative to the sensitivity.

use std::path::Path;

use ron::extensions::Extensions;
use serde::{Deserialize, Serialize};

use crate::error::{Doing as _, Error, Result};
use crate::privacy::accountant::{Adjacency, Event, Noise, QueryKind, Rule};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    pub delta: Option<f64>,
    pub events: Vec<PaperEvent>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperEvent {
    #[serde(default = "unnamed")]
    pub name: String,
    pub mechanism: PaperMechanism,
    #[serde(default = "once")]
    pub count: u64,
    /// The default is zero-out for samples and replace-one for everything else.
    pub adjacency: Option<Adjacency>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PaperMechanism {
    /// σ over the largest ℓ₂ change between neighbours.
    Gaussian { sigma: f64 },
    /// σ over the largest ℓ₂ norm of one record's part. Each draw includes every record with
    /// probability `rate`.
    SubsampledGaussian { sigma: f64, rate: f64 },
    /// Scale over the largest ℓ₁ change between neighbours.
    Laplace { scale: f64 },
    /// The exponential mechanism with ε₀ = range of the score change over its scale.
    Selection { epsilon: f64 },
    /// The largest score plus Laplace noise, ε₀ = 2 · sensitivity / scale.
    NoisySelection { epsilon: f64 },
    /// Any ε-differentially private mechanism.
    Pure { epsilon: f64 },
}

fn unnamed() -> String {
    "release".to_owned()
}

fn once() -> u64 {
    1
}

impl PlanFile {
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).doing("read", path)?;
        let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
        let plan: Self = options.from_str(&text).map_err(|error| {
            let at = error.span.start;
            Error::failed(format!("not a list of noise events: {}", error.code))
                .at(format!("{}:{}:{}", path.display(), at.line, at.col))
                .cure(
                    "it looks like: (delta: 1e-6, events: [(mechanism: gaussian(sigma: 20.0), count: 60)])",
                )
        })?;
        if plan.events.is_empty() {
            return Err(Error::usage("the plan has no events")
                .at(path.display().to_string())
                .cure("list at least one event"));
        }
        Ok(plan)
    }

    /// The events with `factor` times the noise.
    pub fn scaled(&self, factor: f64) -> Vec<Event> {
        self.events.iter().map(|event| event.scaled(factor)).collect()
    }
}

impl PaperEvent {
    /// The event with sensitivity 1, ideal noise and `factor` times the written noise.
    pub fn scaled(&self, factor: f64) -> Event {
        let select = |rule| QueryKind::Selection(rule).query(1.0, 2);
        let (query, scale) = match self.mechanism {
            PaperMechanism::Gaussian { sigma } => (QueryKind::Gaussian.query(1.0, 1), sigma),
            PaperMechanism::SubsampledGaussian { sigma, rate } => {
                (QueryKind::SampledSum { rate }.query(1.0, 1), sigma)
            }
            PaperMechanism::Laplace { scale } => (QueryKind::Laplace.query(1.0, 1), scale),
            PaperMechanism::Selection { epsilon } => (select(Rule::Exponential), 1.0 / epsilon),
            PaperMechanism::NoisySelection { epsilon } => {
                (select(Rule::NoisyMaximum), 2.0 / epsilon)
            }
            PaperMechanism::Pure { epsilon } => (QueryKind::Pure.query(epsilon, 1), 1.0),
        };
        let mechanism = query.with(Noise::ideal(scale * factor));
        let sampled = matches!(self.mechanism, PaperMechanism::SubsampledGaussian { .. });
        let usual = if sampled { Adjacency::ZeroOut } else { Adjacency::ReplaceOne };
        Event {
            label: self.name.clone(),
            what: self.name.clone(),
            mechanism,
            count: self.count,
            adjacency: self.adjacency.unwrap_or(usual),
            held_out: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PlanFile> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        PlanFile::open(file.path())
    }

    #[test]
    fn the_example_of_the_documentation_is_read() {
        let documentation = include_str!("plan_file.rs");
        let example: Vec<&str> = documentation
            .lines()
            .skip_while(|line| *line != "//! ```ron")
            .skip(1)
            .take_while(|line| *line != "//! ```")
            .map(|line| line.trim_start_matches("//!"))
            .collect();
        let plan = read(&example.join("\n")).unwrap();
        assert_eq!(plan.delta, Some(1e-6));
        let events = plan.scaled(2.0);
        assert_eq!(events.iter().map(|event| event.count).collect::<Vec<_>>(), [10_000, 50, 1]);
        assert_eq!(events[0].adjacency, Adjacency::ZeroOut);
        assert_eq!(events[1].adjacency, Adjacency::ReplaceOne);
        assert_eq!(events[0].mechanism.noise.scale, 2.2);
        assert_eq!(events[1].mechanism.noise.scale, 40.0);
    }

    #[test]
    fn a_broken_plan_is_refused_with_its_place() {
        let error = read("(events: [(mechanism: gauss(sigma: 1.0))])").unwrap_err().to_string();
        assert!(error.contains(":1:"), "{error}");
        assert!(error.contains("gauss") && error.contains("it looks like"), "{error}");
        assert!(read("(events: [])").unwrap_err().to_string().contains("no events"));
    }
}
