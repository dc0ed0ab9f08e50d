//! `halflight account`: the accountant by itself.

mod plan_file;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use self::plan_file::{PaperEvent, PaperMechanism, PlanFile};
use super::{print_json, print_line};
use crate::error::{Error, Result};
use crate::privacy::accountant::target::check_epsilon;
use crate::privacy::accountant::{Adjacency, Composition, Event, Guarantee, round_up};

const DEFAULT_DELTA: f64 = 1e-6;
/// The search for noise covers this factor above and below the given noise.
const LARGEST_FACTOR: f64 = 1e9;

/// Compute which ε some noise guarantees, or which noise an ε needs.
///
/// Options describe one mechanism; a file lists several. Noise is relative to the sensitivity: the
/// largest change between neighbours, or for a sample (--q below 1) the largest norm of one
/// record's contribution.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  halflight account --sigma 1.1 --q 0.004 --steps 15000 --delta 1e-5
  halflight account --target-epsilon 1 --q 0.004 --steps 15000 --delta 1e-5
  halflight account --sigma 20 --steps 10,100,1000
  halflight account --plan events.ron --target-epsilon 2"
)]
pub struct AccountCommand {
    /// Gaussian noise: its standard deviation over the sensitivity.
    #[arg(long, group = "noise")]
    sigma: Option<f64>,

    /// Laplace noise: its scale over the ℓ₁ sensitivity.
    #[arg(long, group = "noise", value_name = "SCALE")]
    laplace: Option<f64>,

    /// A selection by the exponential mechanism of this ε.
    #[arg(long, group = "noise", value_name = "EPSILON")]
    selection: Option<f64>,

    /// A list of noise events (RON): (delta: 1e-6, events: [(mechanism: gaussian(sigma: 20.0), count: 60)]).
    #[arg(long, group = "noise", value_name = "FILE", conflicts_with_all = ["q", "steps", "adjacency"])]
    plan: Option<PathBuf>,

    /// Probability with which every record is in a step (Poisson sampling); Gaussian noise only.
    #[arg(long, default_value_t = 1.0)]
    q: f64,

    /// Number of steps; several, separated by commas, give a table.
    #[arg(long, default_value = "1", value_delimiter = ',')]
    steps: Vec<u64>,

    /// δ of the guarantee [default: the plan's, or 1e-6].
    #[arg(long)]
    delta: Option<f64>,

    /// Find the least noise for this ε instead: σ, or a factor for the noise of the plan.
    #[arg(long, conflicts_with_all = ["sigma", "laplace", "selection"])]
    target_epsilon: Option<f64>,

    /// Which datasets count as neighbours [default: zero-out for samples, else replace-one].
    #[arg(long, value_enum)]
    adjacency: Option<AdjacencyName>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// Print only the number: ε, σ or the factor.
    #[arg(long, conflicts_with = "json")]
    brief: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum AdjacencyName {
    /// One record replaced by another.
    ReplaceOne,
    /// One record replaced by nothing.
    ZeroOut,
}

/// One line of the answer.
struct AnswerLine {
    /// The number of steps, or the name of the plan.
    of: String,
    /// The factor on the given noise: 1 unless the noise was searched for.
    factor: f64,
    guarantee: Guarantee,
}

impl AccountCommand {
    pub fn execute(&self) -> Result<()> {
        if self.brief && self.steps.len() > 1 {
            return Err(Error::usage("--brief prints one number, and --steps asks for several")
                .cure("leave out --brief, or give one number of steps"));
        }
        let plans = self.plans()?;
        let delta = self.delta.or(plans[0].1.delta).unwrap_or(DEFAULT_DELTA);
        let answers = plans.into_iter().map(|(of, plan)| {
            let factor = self.target_epsilon.map(|epsilon| least_factor(&plan, epsilon, delta));
            let factor = factor.unwrap_or(Ok(1.0))?;
            Ok(AnswerLine { of, factor, guarantee: guarantee(&plan.scaled(factor), delta)? })
        });
        self.print(&answers.collect::<Result<Vec<_>>>()?)
    }

    /// The plans to account for, each with its name.
    fn plans(&self) -> Result<Vec<(String, PlanFile)>> {
        if let Some(path) = &self.plan {
            return Ok(vec![(path.display().to_string(), PlanFile::open(path)?)]);
        }
        let mechanism = self.mechanism()?;
        let adjacency = self.adjacency.map(|name| match name {
            AdjacencyName::ReplaceOne => Adjacency::ReplaceOne,
            AdjacencyName::ZeroOut => Adjacency::ZeroOut,
        });
        let plan = |count: &u64| {
            if *count == 0 {
                return Err(Error::usage("there are 0 steps").cure("give 1 or more"));
            }
            let name = "release".to_owned();
            let event = PaperEvent { name, mechanism, count: *count, adjacency };
            Ok((count.to_string(), PlanFile { delta: None, events: vec![event] }))
        };
        self.steps.iter().map(plan).collect()
    }

    fn mechanism(&self) -> Result<PaperMechanism> {
        if let Some(scale) = self.laplace {
            return Ok(PaperMechanism::Laplace { scale });
        }
        if let Some(epsilon) = self.selection {
            return Ok(PaperMechanism::Selection { epsilon });
        }
        if self.sigma.is_none() && self.target_epsilon.is_none() {
            return Err(Error::usage("no noise is given").cure(
                "give --sigma, --laplace, --selection or --plan; or --target-epsilon to find σ",
            ));
        }
        let sigma = self.sigma.unwrap_or(1.0);
        Ok(if self.q == 1.0 {
            PaperMechanism::Gaussian { sigma }
        } else {
            PaperMechanism::SubsampledGaussian { sigma, rate: self.q }
        })
    }

    fn print(&self, answers: &[AnswerLine]) -> Result<()> {
        if self.json {
            let answers: Value = answers.iter().map(|answer| self.json_of(answer)).collect();
            return print_json(&json!({ "answers": answers }));
        }
        if self.brief {
            return answers.iter().try_for_each(|answer| print_line(&self.number(answer)));
        }
        if let [answer] = answers {
            return self.print_one(answer);
        }
        let first = &answers[0].guarantee;
        print_line(&format!("δ = {:e}, {}", first.delta, first.adjacency.words()))?;
        let sought = if self.target_epsilon.is_some() { "σ" } else { "" };
        print_line(&format!("{:>12}  {:>14}  {:>14}  {sought}", "steps", "ε at most", "at least"))?;
        answers.iter().try_for_each(|answer| {
            let sigma = if sought.is_empty() { String::new() } else { self.number(answer) };
            let guarantee = &answer.guarantee;
            let line = format!(
                "{:>12}  {:>14}  {:>14.6}  {sigma}",
                answer.of,
                round_up(guarantee.epsilon, 6),
                guarantee.epsilon_lower
            );
            print_line(line.trim_end())
        })
    }

    /// Prints ε last, so that scripts can cut it off.
    fn print_one(&self, answer: &AnswerLine) -> Result<()> {
        let Guarantee { epsilon, epsilon_lower, delta, adjacency, bound, .. } = &answer.guarantee;
        if self.target_epsilon.is_some() {
            let of = if self.plan.is_some() { "plan's noise" } else { "sensitivity" };
            print_line(&format!("the least noise: {} times the {of}", self.number(answer)))?;
        }
        print_line(&format!(
            "bound: {bound}; {} neighbours; the true ε is at least {epsilon_lower:.6}",
            adjacency.words()
        ))?;
        print_line(&format!("δ = {delta:e}, ε = {}", round_up(*epsilon, 6)))
    }

    /// The requested number: ε, or the noise that gives it.
    fn number(&self, answer: &AnswerLine) -> String {
        match self.target_epsilon {
            Some(_) => round_up(answer.factor, 6),
            None => round_up(answer.guarantee.epsilon, 6),
        }
    }

    fn json_of(&self, answer: &AnswerLine) -> Value {
        let mut value = json!({ "of": answer.of, "guarantee": answer.guarantee });
        if self.target_epsilon.is_some() {
            let key = if self.plan.is_some() { "factor" } else { "sigma" };
            value[key] = json!(answer.factor);
        }
        value
    }
}

fn guarantee(events: &[Event], delta: f64) -> Result<Guarantee> {
    Composition::of(events)?.guarantee(delta)
}

/// The smallest factor on the plan's noise that keeps the plan within ε, to six digits.
fn least_factor(plan: &PlanFile, epsilon: f64, delta: f64) -> Result<f64> {
    check_epsilon(epsilon)?;
    // Report errors of the plan itself first: the search would hide them.
    guarantee(&plan.scaled(1.0), delta)?;
    let meets = |factor: f64| {
        guarantee(&plan.scaled(factor), delta).is_ok_and(|reached| reached.epsilon <= epsilon)
    };
    let (mut low, mut high) = bracket(meets).ok_or_else(|| {
        Error::failed(format!(
            "no noise within a factor of {LARGEST_FACTOR:e} reaches ε = {epsilon}"
        ))
        .cure("write the plan with noise that is nearer to what is wanted")
    })?;
    while high / low > 1.0 + 1e-7 {
        let middle = (low * high).sqrt();
        if meets(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

/// A factor that does not meet the target, and four times that factor, which does.
fn bracket(meets: impl Fn(f64) -> bool) -> Option<(f64, f64)> {
    let mut factor = 1.0;
    let known = meets(factor);
    let step = if known { 0.25 } else { 4.0 };
    while (1.0 / LARGEST_FACTOR..=LARGEST_FACTOR).contains(&factor) {
        let next = factor * step;
        if meets(next) != known {
            return Some((factor.min(next), factor.max(next)));
        }
        factor = next;
    }
    None
}
