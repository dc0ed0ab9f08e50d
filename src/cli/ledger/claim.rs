//! `halflight ledger claim`: charges another trainer's draws as claimed.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::super::print_result;
use crate::data::Role;
use crate::engine::claim::{Charged, Version, Whose, charge};
use crate::error::{Action, Error, Result};
use crate::privacy::accountant::round_up;
use crate::session::{Session, Workspace};

#[derive(Debug, Args)]
pub struct ClaimCommand {
    /// The steps that the trainer writes.
    file: PathBuf,

    /// The account that is charged; `halflight ledger` lists them.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,

    /// The session whose private dataset it was; its workspace is the one of the ledger.
    #[arg(long, conflicts_with_all = ["account", "workspace"])]
    session: Option<PathBuf>,

    /// The private dataset, if the session has several.
    #[arg(long, value_name = "NAME", requires = "session")]
    dataset: Option<String>,

    /// A name for this training, if its first line has no id: any words, but the same each time.
    #[arg(long)]
    id: Option<String>,

    /// The file was corrected after it was charged: for each draw, the larger number of the two
    /// versions counts.
    #[arg(long)]
    mended: bool,

    /// What was charged for this training was wrong, for this reason: from now on only this file
    /// counts, even if it says less. The ledger keeps both, and says so beside every total.
    #[arg(long, value_name = "WHY", conflicts_with = "mended")]
    instead: Option<String>,
}

impl ClaimCommand {
    pub fn execute(&self, workspace: &Workspace, as_json: bool) -> Result<()> {
        let session = self.session.as_deref().map(Session::open).transpose()?;
        let of_session = self.session.as_deref().map(Workspace::of_session).transpose()?;
        let workspace = of_session.as_ref().unwrap_or(workspace);
        let whose = match (&session, &self.account) {
            (Some(session), _) => Whose::Dataset(session, self.dataset_of(session)?),
            (None, Some(account)) => Whose::Account(account),
            (None, None) => {
                return Err(Error::usage("nothing says whose records these were").cure(
                    "name the session that has them as a private dataset, by --session FILE, or \
                     their account, by --account ACCOUNT; `halflight ledger` lists the accounts",
                ));
            }
        };
        let version = match &self.instead {
            Some(why) => Version::Instead(why),
            None if self.mended => Version::Mended,
            None => Version::Same,
        };
        let charged = charge(&self.file, self.id.as_deref(), version, whose, workspace)?;
        print_result(as_json, || value(&charged), || words(&charged))?;
        overspent(&charged)
    }

    fn dataset_of<'a>(&'a self, session: &'a Session) -> Result<&'a str> {
        if let Some(name) = &self.dataset {
            return Ok(name);
        }
        let mut all = session.datasets.iter().filter(|it| it.role == Role::Private);
        match (all.next(), all.next()) {
            (Some(only), None) => Ok(&only.name),
            (None, _) => Err(Error::usage("the session has no private dataset")),
            (Some(_), Some(_)) => Err(Error::usage("the session has several private datasets")
                .cure("say which one it was: --dataset NAME")),
        }
    }
}

fn words(charged: &Charged) -> String {
    let Charged { run, account, trainer, draws, checked, delta, total, .. } = charged;
    let first = if charged.is_new {
        format!("{trainer}: {draws} draws are charged to {} as {}", account.0, run.0)
    } else {
        format!("{trainer}: nothing new; its {draws} draws are charged to {} already", account.0)
    };
    let or_none = |epsilon: Option<f64>| {
        epsilon.map_or("no ε".to_owned(), |epsilon| format!("ε {}", round_up(epsilon, 4)))
    };
    let says = or_none(checked.claimed.as_ref().map(|claimed| claimed.0));
    let ours = or_none(checked.ours.as_ref().map(|ours| ours.epsilon));
    let counts = or_none(charged.counts.as_ref().map(|counts| counts.epsilon));
    let verdict = &checked.verdict;
    let of = charged.budget.map_or("no budget is set".to_owned(), |budget| {
        format!("of a budget of ε {}", budget.epsilon)
    });
    [
        first,
        format!(
            "  at δ {delta:e} its trainer states {says}, and our accountant finds {ours} if its \
             steps were planned: {verdict}"
        ),
        format!(
            "  at δ {:e} it counts for {counts}, as if each step had been chosen by what came out \
             before",
            total.delta
        ),
        format!("  spent on the account: {}; {of}", total.words()),
    ]
    .join("\n")
}

fn value(charged: &Charged) -> serde_json::Value {
    json!({
        "account": charged.account, "run": charged.run, "trainer": charged.trainer,
        "is_new": charged.is_new, "draws": charged.draws,
        "claimed_epsilon": charged.checked.claimed.as_ref().map(|claimed| claimed.0),
        "delta": charged.delta,
        "epsilon": charged.checked.ours.as_ref().map(|ours| ours.epsilon),
        "verdict": charged.checked.verdict, "claim_is_too_low": charged.checked.is_too_low,
        "counts": charged.counts, "budget": charged.budget,
        "spent": charged.total.known, "spent_is": charged.total.standing.name(),
        "total": charged.total.words(), "overspent": charged.overspent.is_some(),
    })
}

fn overspent(charged: &Charged) -> Result<()> {
    let Some((budget, spent)) = &charged.overspent else { return Ok(()) };
    let id = &charged.account.0;
    Err(Error::refused(format!(
        "account {id} is overspent: ε {} of {} at δ {:e}. The claim is entered, because it is spent",
        round_up(*spent, 4),
        budget.epsilon,
        budget.delta
    ))
    .cure("nothing more is granted on it; a larger budget weakens what was promised")
    .asking(Action::SetBudget { account: Some(id.clone()) }))
}
