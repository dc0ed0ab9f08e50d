//! `halflight choose SESSION`: chooses one of several plans by private records.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use serde_json::json;

use super::progress::ProgressLine;
use super::reading::Watched;
use super::{messages, print_line, print_result, signals, workspace_for};
use crate::engine::PreparedStore;
use crate::engine::choice::{ChoiceJob, ChoiceProgress, Chosen, Offer, Way};
use crate::engine::sweep::axes::{self, SweepAxis};
use crate::error::{Error, Result};
use crate::privacy::Target;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::RunOutcome;
use crate::session::{PlanDefinition, Session, dataset};

/// Settings of the whole choice, which are the same for all candidates.
const SHARED_FIELDS: [&str; 3] = ["epsilon", "delta", "seed"];

/// Let private records choose among several plans, and public data alone, for one ε.
///
/// A few plans are trained once each, with enough noise for all of them together to meet the
/// target. Of many plans, some are drawn at random and trained, a secret number of times. Held-out
/// records decide, which costs nothing more. Only the winner's model is written. Name only a few
/// plans: each of them adds noise to the others. `halflight rehearse --best 3` finds good ones for
/// free.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight choose session.ron
  halflight choose session.ron --plans trees,line --epsilon 1 --json
  halflight choose session.ron --plans trees --over rounds=5,10 --dry-run")]
pub struct Choose {
    /// Session file (.ron).
    session: PathBuf,

    /// The candidates, by name [default: all plans for the private data of the first one].
    #[arg(long, value_delimiter = ',', value_name = "PLANS")]
    plans: Vec<String>,

    /// Choose among variants of one plan: a setting of its method, or `method`, as
    /// KEY=VALUE,VALUE,… or KEY=FIRST..LAST (both included). Several combine.
    #[arg(long, value_name = "KEY=VALUES")]
    over: Vec<String>,

    /// ε of the whole choice [default: that of the first plan].
    #[arg(long, value_name = "EPSILON")]
    epsilon: Option<f64>,

    /// δ of the whole choice [default: that of the first plan].
    #[arg(long, value_name = "DELTA")]
    delta: Option<f64>,

    /// How the plans are trained: each of them once; or plans drawn at random, a secret number of
    /// times, of which only the best is kept. The second way costs less ε if there are many plans,
    /// takes more time, and may miss the best one.
    #[arg(long, value_enum, default_value_t)]
    way: HowTrained,

    /// At most this many steps per second.
    #[arg(long, value_name = "STEPS")]
    pace: Option<f64>,

    /// Print what the choice would cost and which differences it could detect; spend and write
    /// nothing.
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,

    /// Directory of the workspace with the ledger and the runs [default: that of the session].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// How the plans are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum HowTrained {
    /// Whichever leaves each training clearly more ε
    #[default]
    Auto,
    /// Each of them once
    All,
    /// One drawn at random, a secret number of times
    Repeats,
}

impl From<HowTrained> for Way {
    fn from(trained: HowTrained) -> Self {
        match trained {
            HowTrained::Auto => Self::Auto,
            HowTrained::All => Self::All,
            HowTrained::Repeats => Self::Repeats,
        }
    }
}

impl Choose {
    /// The named plans, or the plans for the private data of the first one, or one plan over a
    /// grid.
    fn candidates(&self, session: &Session) -> Result<Vec<PlanDefinition>> {
        let plans = if self.plans.is_empty() {
            // Public data alone are a candidate without a plan.
            let first = session.plans.first().map(|plan| &plan.private);
            let alike =
                |plan: &&PlanDefinition| first == Some(&plan.private) && plan.player().spends();
            session.plans.iter().filter(alike).cloned().collect()
        } else {
            let named = self.plans.iter().map(|name| session.plan(name).cloned());
            named.collect::<Result<Vec<_>>>()?
        };
        if self.over.is_empty() {
            return Ok(plans);
        }
        let [plan] = plans.as_slice() else {
            return Err(Error::usage("--over varies one plan")
                .cure("name it: --plans NAME --over KEY=VALUES"));
        };
        let axes =
            self.over.iter().map(|over| SweepAxis::parse(over)).collect::<Result<Vec<_>>>()?;
        if let Some(axis) = axes.iter().find(|axis| SHARED_FIELDS.contains(&axis.key.as_str())) {
            return Err(Error::usage(format!(
                "all candidates of a choice have the same {}",
                axis.key
            ))
            .cure("choose over `method` or its settings; `halflight rehearse` compares ε"));
        }
        let variants = axes::variants(session, plan, &axes)?;
        Ok(variants.into_iter().map(|variant| variant.plan).collect())
    }

    pub fn execute(&self) -> Result<()> {
        let session = Session::open(&self.session)?;
        let workspace = workspace_for(&self.session, self.workspace.as_deref())?;
        let plans = self.candidates(&session)?;
        let Some(first) = plans.first() else {
            return Err(Error::usage("the session has no plan")
                .cure("add some on the Plan screen: halflight SESSION.ron, then 3"));
        };
        let target = Target {
            epsilon: self.epsilon.unwrap_or(first.target.epsilon),
            delta: self.delta.unwrap_or(first.target.delta),
        };
        let used = |name: &String| plans.iter().any(|plan| plan.uses(name));
        let mut datasets = Vec::new();
        for definition in session.datasets.iter().filter(|definition| used(&definition.name)) {
            let loaded = dataset::load_watched(definition, &workspace, &mut Watched::default())?;
            messages::tell(format_args!("read {}: {}", definition.name, loaded.size()));
            datasets.push(Arc::new(loaded));
        }
        let (control, interrupted) = signals::control()?;
        control.set_pace(self.pace);
        let job = ChoiceJob {
            session,
            plans,
            target,
            way: self.way.into(),
            datasets,
            workspace,
            prepared: PreparedStore::default(),
            control,
        };
        if self.dry_run {
            return print_line(&offered(&job.offer()?));
        }
        let mut progress: Option<(String, ProgressLine)> = None;
        // A log must not show which plans are trained, or how often.
        let mut in_secret = false;
        let chosen = job.execute(&mut |event| match event {
            ChoiceProgress::Granted { run, offer } => {
                messages::tell(format_args!("granted as {}", run.0));
                offer.warnings.iter().for_each(messages::note);
                in_secret = offer.trains_in_secret;
                messages::tell(&offer.how);
                messages::tell(format_args!(
                    "each training gets ε {}; noise hides differences of less than {}",
                    round_up(offer.each, 3),
                    offer.apart
                ));
            }
            ChoiceProgress::Stepped { .. } if in_secret => {}
            ChoiceProgress::Stepped { name, step, of } => {
                let bar = match progress.take().filter(|(known, _)| *known == name) {
                    Some((_, bar)) => bar,
                    None => ProgressLine::new(&name, of as usize),
                };
                progress.insert((name, bar)).1.tell(step as usize);
            }
        });
        drop(progress);
        let chosen = chosen?;
        print_result(self.json, || as_json(&chosen), || as_text(&chosen))?;
        if chosen.outcome == RunOutcome::Stopped && interrupted.load(Ordering::Relaxed) {
            let what = "stopped by a signal; what was drawn is in the ledger";
            return Err(chosen.trouble.unwrap_or_else(|| Error::interrupted(what)));
        }
        chosen.trouble.map_or(Ok(()), Err)
    }
}

/// The cost of a choice, and the differences it could detect.
fn offered(offer: &Offer) -> String {
    let Target { epsilon, delta } = offer.target;
    let mut lines = vec![
        format!("candidates: {}", offer.candidates.join(", ")),
        format!("it would reserve ε {epsilon} at δ {delta:e} for all of them together"),
        format!("each training would get ε {}", round_up(offer.each, 3)),
        format!("noise would hide differences of less than {}", offer.apart),
    ];
    if offer.trains_in_secret {
        lines.push(
            "plans would be drawn at random and trained, a secret number of times".to_owned(),
        );
    }
    lines.extend(offer.warnings.iter().map(|note| format!("note: {note}")));
    lines.extend(offer.refusal.as_ref().map(|why| format!("it would be refused: {why}")));
    lines.push("nothing was spent".to_owned());
    lines.join("\n")
}

fn as_text(chosen: &Chosen) -> String {
    let mut lines = Vec::new();
    if let (Some(winner), Some(score)) = (chosen.winner, &chosen.score) {
        lines.push(format!("chosen: {}", chosen.placed[winner].name));
        lines.push("  errors that decided the choice, with noise (they may be shared):".to_owned());
        for (index, placed) in chosen.placed.iter().enumerate() {
            let mark = if index == winner { "→" } else { " " };
            lines.push(format!("  {mark} {:<42} {}", placed.name, score.error_text(&placed.error)));
        }
        lines.extend(score.lines().into_iter().map(|line| format!("  {line}")));
    }
    lines.push(format!(
        "  {}: ε = {}, δ = {:e} ({}), for all candidates together",
        if chosen.outcome == RunOutcome::Finished { "finished" } else { "ended early" },
        round_up(chosen.guarantee.epsilon, 4),
        chosen.guarantee.delta,
        chosen.guarantee.adjacency.words(),
    ));
    lines.push(format!("  written to {}", chosen.directory.display()));
    lines.join("\n")
}

fn as_json(chosen: &Chosen) -> serde_json::Value {
    let placed = chosen.placed.iter();
    let placed = placed.map(|it| json!({ "candidate": it.name, "error": it.error }));
    json!({
        "run": chosen.run,
        "outcome": chosen.outcome,
        "target": chosen.target,
        "guarantee": chosen.guarantee,
        "candidates": placed.collect::<Vec<_>>(),
        "winner": chosen.winner.map(|winner| &chosen.placed[winner].name),
        "how": chosen.how,
        "score": chosen.score,
        "directory": chosen.directory,
    })
}
