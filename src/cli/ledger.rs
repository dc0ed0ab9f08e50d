//! `halflight ledger`: what was spent, and mending.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{print_json, print_line, voice};
use crate::error::{Error, Result};
use crate::privacy::Ledger;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{Account, AccountId, Book, RunId, RunState};
use crate::session::Workspace;
use crate::session::resumption::TRANSCRIPT;

/// Show and mend the privacy ledger of a workspace.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  halflight ledger --workspace study
  halflight ledger budget acc-0123456789 4 1e-5
  halflight ledger verify")]
pub struct LedgerCommand {
    /// Directory of the workspace.
    #[arg(long, default_value = ".", global = true, value_name = "DIR")]
    workspace: PathBuf,

    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Accounts, budgets and entries (the default).
    #[command(after_help = "Example:\n  halflight ledger show --json")]
    Show,
    /// Check every line's hash; exit code 1 where the ledger is damaged.
    #[command(after_help = "Example:\n  halflight ledger verify --json")]
    Verify,
    /// Set the budget of an account.
    #[command(after_help = "Example:\n  halflight ledger budget acc-0123456789 4 1e-5")]
    Budget { account: String, epsilon: f64, delta: f64 },
    /// Settle a run whose process is gone at what it had announced.
    #[command(after_help = "Example:\n  halflight ledger settle 20260131-235959-moment_release-00")]
    Settle { run: String },
    /// Set a damaged ledger aside and go on with its good lines.
    #[command(after_help = "Example:\n  halflight ledger repair")]
    Repair,
    /// Accept that nobody knows what an account spent in lost lines.
    #[command(after_help = "Example:\n  halflight ledger accept acc-0123456789")]
    Accept { account: String },
}

impl LedgerCommand {
    pub fn execute(&self) -> Result<()> {
        let workspace = Workspace::of(&self.workspace)?;
        if !workspace.folder().is_dir() {
            return self.nothing(&workspace);
        }
        let mut ledger = workspace.ledger()?;
        match self.what.as_ref().unwrap_or(&What::Show) {
            What::Show => self.show(&mut ledger),
            What::Verify => self.verify(&mut ledger),
            What::Budget { account, epsilon, delta } => {
                let budget = crate::privacy::Target { epsilon: *epsilon, delta: *delta };
                ledger.set_budget(&AccountId(account.clone()), budget)?;
                self.show(&mut ledger)
            }
            What::Settle { run } => {
                ledger.abandon(&RunId(run.clone()))?;
                self.show(&mut ledger)
            }
            What::Repair => {
                let aside = ledger.repair()?;
                voice::tell(format_args!(
                    "the damaged ledger was set aside as {}",
                    aside.display()
                ));
                self.show(&mut ledger)
            }
            What::Accept { account } => {
                ledger.accept(&AccountId(account.clone()), "accepted on the command line")?;
                self.show(&mut ledger)
            }
        }
    }

    /// Looking at a workspace that has no ledger makes none.
    fn nothing(&self, workspace: &Workspace) -> Result<()> {
        if !matches!(self.what, None | Some(What::Show | What::Verify)) {
            return Err(Error::usage("there is no ledger here")
                .at(workspace.folder().display().to_string())
                .cure("name the workspace: halflight ledger --workspace DIR"));
        }
        if self.json {
            return print_json(&json!({
                "ledger": Value::Null, "accounts": [], "damaged": false, "warnings": [],
            }));
        }
        print_line(&format!(
            "no ledger in {}: nothing was spent here yet",
            workspace.base().display()
        ))
    }

    fn verify(&self, ledger: &mut Ledger) -> Result<()> {
        let book = ledger.book()?;
        if self.json {
            print_json(&json!({
                "ledger": ledger.path(), "damaged": book.damaged, "warnings": book.warnings,
            }))?;
        }
        if book.damaged {
            return Err(Error::failed(book.warnings.join("; "))
                .cure("halflight ledger repair, then halflight ledger accept ACCOUNT"));
        }
        if self.json {
            return Ok(());
        }
        for warning in &book.warnings {
            voice::tell(format_args!("note: {warning}"));
        }
        print_line(&format!("{}: every line is in its chain", ledger.path().display()))
    }

    fn show(&self, ledger: &mut Ledger) -> Result<()> {
        let book = ledger.book()?;
        if self.json {
            let accounts = book.accounts.iter().map(as_json).collect::<Result<Vec<_>>>()?;
            return print_json(&json!({
                "ledger": ledger.path(), "accounts": accounts,
                "damaged": book.damaged, "warnings": book.warnings,
            }));
        }
        print_line(&format!("ledger {}", ledger.path().display()))?;
        for warning in &book.warnings {
            print_line(&format!("  warning: {warning}"))?;
        }
        if book.accounts.is_empty() {
            print_line("  nothing was spent here yet")?;
        }
        book.accounts.iter().try_for_each(|account| print_line(&as_text(account)?))?;
        dead_runs(&book, ledger).into_iter().try_for_each(|line| print_line(&line))
    }
}

/// What to do about runs that nobody carries out any more.
fn dead_runs(book: &Book, ledger: &Ledger) -> Vec<String> {
    let open = book.accounts.iter().flat_map(|account| &account.runs);
    let open = open.filter(|run| run.state == RunState::Open).map(|run| &run.grant.run);
    let runs = ledger.path().with_file_name("runs");
    let words = open.filter(|run| !ledger.is_alive(run)).filter_map(|run| {
        let directory = runs.join(&run.0);
        directory.join(TRANSCRIPT).is_file().then(|| {
            format!(
                "{} died: `halflight run --resume {}` goes on with it, `halflight ledger settle \
                 {}` gives it up",
                run.0,
                directory.display(),
                run.0
            )
        })
    });
    words.collect()
}

fn names(account: &Account) -> String {
    let mut names: Vec<&str> = account.datasets.iter().map(|it| it.name.as_str()).collect();
    names.dedup();
    names.join(", ")
}

fn as_text(account: &Account) -> Result<String> {
    let mut lines = vec![format!("{} ({})", account.id.0, names(account))];
    if account.unknown_past {
        lines.push(
            "  UNKNOWN PAST: lines were lost; launches are refused until accepted".to_owned(),
        );
    }
    let at = account.budget.map_or(1e-6, |budget| budget.delta);
    let spent = account.spent(at)?.map_or_else(|| "0".to_owned(), |it| round_up(it.epsilon, 4));
    match account.budget {
        Some(budget) => lines.push(format!(
            "  spent ε {spent} of {} at δ {:e}, {}",
            budget.epsilon,
            budget.delta,
            account.adjacency().words()
        )),
        None => lines.push(format!("  spent ε {spent} at δ {at:e}; no budget set")),
    }
    if let Some(words) = account.beside_the_total() {
        lines.push(format!("  and {words}"));
    }
    for run in &account.runs {
        let delta = run.grant.target.delta;
        let spent = run.spent(delta)?.map_or_else(|| "0".to_owned(), |it| round_up(it.epsilon, 4));
        lines.push(format!(
            "  {} {} {}: ε {spent} of {} at δ {delta:e}, {}",
            run.time,
            run.grant.run.0,
            run.grant.method,
            run.grant.target.epsilon,
            state(run.state)
        ));
    }
    Ok(lines.join("\n"))
}

fn state(state: RunState) -> String {
    match state {
        RunState::Open => "open: counts in full".to_owned(),
        RunState::Settled { outcome, peeked } => {
            let word = serde_json::to_value(outcome).unwrap_or_default();
            let word = word.as_str().unwrap_or_default().to_owned();
            if peeked { format!("{word}, exact numbers were seen") } else { word }
        }
    }
}

fn as_json(account: &Account) -> Result<Value> {
    let at = account.budget.map_or(1e-6, |budget| budget.delta);
    let runs = account.runs.iter().map(|run| {
        Ok(json!({
            "run": run.grant.run, "time": run.time, "method": run.grant.method,
            "target": run.grant.target, "spent": run.spent(run.grant.target.delta)?,
            "charged": run.charged, "state": state(run.state),
        }))
    });
    let unprotected: Vec<Value> = account
        .unprotected
        .iter()
        .map(|entry| json!({ "time": entry.time, "what": entry.what, "epsilon": Value::Null }))
        .collect();
    Ok(json!({
        "account": account.id, "datasets": names(account), "budget": account.budget,
        "spent": account.spent(at)?, "unknown_past": account.unknown_past,
        "unprotected": unprotected,
        "largest_epsilon": account.largest_epsilon(at)?,
        "runs": runs.collect::<Result<Vec<_>>>()?,
    }))
}
