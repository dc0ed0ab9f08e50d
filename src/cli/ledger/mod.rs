//! `halflight ledger`: the spending, and repairs.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

mod claim;

use super::{messages, print_json, print_line, print_result, workspace_named};
use crate::engine::lookup::granted;
use crate::engine::resume::once_only;
use crate::error::{Action, Error, ErrorKind, Result};
use crate::methods;
use crate::plot::number::compact_up;
use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{
    Account, AccountId, Book, Budget, Claim, Corrected, RunId, RunOutcome, RunRecord, RunState,
    TotalStanding,
};
use crate::privacy::{Guarantee, Ledger, NoiseSource};
use crate::session::resumption::TRANSCRIPT;
use crate::session::{Workspace, archive};

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
    what: Option<LedgerAction>,
}

#[derive(Debug, Subcommand)]
enum LedgerAction {
    /// Accounts, budgets and entries (the default).
    #[command(after_help = "Example:\n  halflight ledger show --json")]
    Show,
    /// Check the hash of every line, and compare the run directories with the lines. The exit code
    /// is 1 if the ledger is damaged, or was rolled back or replaced.
    #[command(after_help = "Example:\n  halflight ledger verify --json")]
    Verify,
    /// Set the budget of an account; δ must be below 1/n.
    #[command(after_help = "Example:\n  halflight ledger budget acc-0123456789 4 1e-5")]
    Budget {
        account: String,
        epsilon: f64,
        delta: f64,
        /// Allow a δ of 1/n or more, which even publishing single records would satisfy; the ledger
        /// and all certificates will always say so.
        #[arg(long)]
        allow_large_delta: bool,
    },
    /// Close a run whose program died: what it had entered in the ledger stays charged. RUN is its name
    /// or that of its plan.
    #[command(after_help = "Example:\n  halflight ledger settle 20260131-235959-moment_release-00")]
    Settle { run: String },
    /// Set a damaged ledger aside and go on with the lines that can be read. The ledger will always
    /// say that lines are missing. Runs that were lost are charged what their certificates prove.
    #[command(after_help = "Example:\n  halflight ledger repair")]
    Repair,
    /// Charge an account with what another trainer says it drew from the same records.
    ///
    /// FILE holds the steps that the trainer writes (`halflight schema steps`). What it claims is
    /// kept apart from what was drawn here, and counts against the budget as if it were true. A
    /// file that was charged before is not charged again; if it has grown, its new lines are. The
    /// exit code is 3 if this overspends the budget; the claim is entered all the same.
    #[command(after_help = "Examples:
  halflight ledger claim events.jsonl --session session.ron
  halflight ledger claim events.jsonl --account acc-0123456789
  halflight ledger claim events.jsonl --account acc-0123456789 --id cifar-1
  halflight ledger claim events.jsonl --session session.ron --mended")]
    Claim(claim::ClaimCommand),
    /// Withdraw what was charged for another trainer: it was charged in error, for instance to the
    /// wrong account. The ledger keeps the claim and the reason, and says so beside every total.
    #[command(after_help = "Example:
  halflight ledger withdraw claim-0123456789abcdef 'it was trained on other records'")]
    Withdraw {
        /// Name of the claim in the ledger.
        claim: String,
        /// Why it was wrong: the ledger keeps the reason.
        why: String,
    },
    /// Allow further runs although the total of an account is not known: lines or a secret were
    /// lost, or noise came from a known seed. Its numbers will always carry this remark.
    #[command(after_help = "Example:\n  halflight ledger accept acc-0123456789")]
    Accept { account: String },
}

impl LedgerCommand {
    pub fn execute(&self) -> Result<()> {
        let workspace = workspace_named(&self.workspace)?;
        if let Some(LedgerAction::Claim(claim)) = &self.what {
            return claim.execute(&workspace, self.json);
        }
        let only_looks =
            matches!(self.what, None | Some(LedgerAction::Show | LedgerAction::Verify));
        if !workspace.folder().is_dir() {
            return self.nothing(&workspace, only_looks);
        }
        let mut ledger =
            if only_looks { workspace.existing_ledger()? } else { workspace.ledger()? };
        let by_hand = "accepted on the command line";
        match self.what.as_ref().unwrap_or(&LedgerAction::Show) {
            LedgerAction::Show | LedgerAction::Claim(_) => {}
            LedgerAction::Verify => return self.verify(&mut ledger),
            LedgerAction::Budget { account, epsilon, delta, allow_large_delta } => {
                let (epsilon, delta, allow_large_delta) = (*epsilon, *delta, *allow_large_delta);
                let budget = Budget { epsilon, delta, allow_large_delta };
                ledger.set_budget(&AccountId(account.clone()), budget)?;
            }
            LedgerAction::Settle { run } => {
                // The ledger first: it may be damaged, and it may know a run whose folder is gone.
                let words = match workspace.abandon(&mut ledger, &RunId(run.clone())) {
                    Err(error) if error.kind() == ErrorKind::Usage => {
                        let found = archive::run_in(&workspace, run)?;
                        let name = found.file_name().unwrap_or_default().to_string_lossy();
                        workspace.abandon(&mut ledger, &RunId(name.into_owned()))
                    }
                    settled => settled,
                };
                messages::tell(words?);
            }
            LedgerAction::Withdraw { claim, why } => ledger.withdraw(&RunId(claim.clone()), why)?,
            LedgerAction::Repair => {
                let aside = ledger.repair()?;
                messages::tell(format_args!(
                    "the damaged ledger was set aside as {}",
                    aside.display()
                ));
            }
            LedgerAction::Accept { account } if account.starts_with("key-") => {
                ledger.accept_lost_secret(account, by_hand)?;
            }
            LedgerAction::Accept { account } => {
                ledger.accept(&AccountId(account.clone()), by_hand)?;
            }
        }
        self.show(&mut ledger)
    }

    /// The answer for a workspace without a ledger. Looking does not create one.
    fn nothing(&self, workspace: &Workspace, only_looks: bool) -> Result<()> {
        if !only_looks {
            return Err(Error::usage("there is no ledger here")
                .at(workspace.folder().display().to_string())
                .cure("name the workspace: halflight ledger --workspace DIR"));
        }
        let none = || json!({ "ledger": null, "accounts": [], "damaged": false, "warnings": [] });
        let base = workspace.base().display();
        let words = || format!("no ledger in {base}: nothing was spent here yet");
        print_result(self.json, none, words)
    }

    fn verify(&self, ledger: &mut Ledger) -> Result<()> {
        let book = ledger.examine()?;
        if self.json {
            print_json(&json!({
                "ledger": ledger.path(), "damaged": book.damaged, "warnings": book.warnings,
            }))?;
        }
        if book.damaged {
            return Err(Error::failed(book.warnings.join("; "))
                .cure("repair it")
                .asking(Action::Repair));
        }
        if self.json {
            return Ok(());
        }
        book.warnings.iter().for_each(messages::note);
        print_line(&format!("{}: every line is in its chain", ledger.path().display()))
    }

    fn show(&self, ledger: &mut Ledger) -> Result<()> {
        let book = ledger.examine()?;
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
        if book.damaged {
            print_line(&format!("  what to do: {}", messages::commands(&Action::Repair)))?;
        }
        if book.accounts.is_empty() {
            print_line(if book.damaged {
                "  nobody knows what was spent here"
            } else {
                "  nothing was spent here yet"
            })?;
        }
        book.accounts.iter().try_for_each(|account| print_line(&as_text(account)?))?;
        dead_runs(&book, ledger).into_iter().try_for_each(|line| print_line(&line))
    }
}

/// What to do about runs whose process is gone.
fn dead_runs(book: &Book, ledger: &Ledger) -> Vec<String> {
    let open = book.accounts.iter().flat_map(|account| &account.runs);
    let open = open.filter(|run| run.state == RunState::Open).map(|run| &run.grant);
    let runs = ledger.path().with_file_name("runs");
    let base = ledger.path().ancestors().nth(2).unwrap_or(Path::new("."));
    let is_here = base.canonicalize().ok() == Path::new(".").canonicalize().ok();
    let elsewhere =
        if is_here { String::new() } else { format!(" --workspace {}", base.display()) };
    let words = open.filter(|grant| !ledger.is_alive(&grant.run)).filter_map(|grant| {
        let (run, directory) = (&grant.run.0, runs.join(&grant.run.0));
        let settle = format!("`halflight ledger settle {run}{elsewhere}` gives it up");
        if let Some(what) = once_only(&grant.method) {
            return Some(format!("{run} died, and {what} cannot be resumed: {settle}"));
        }
        let resume = format!("`halflight run --resume {}`", directory.display());
        let goes_on = directory.join(TRANSCRIPT).is_file();
        goes_on.then(|| format!("{run} died: {resume} resumes it, {settle}"))
    });
    words.collect()
}

fn names(account: &Account) -> String {
    let mut names: Vec<&str> = account.datasets.iter().map(|it| it.name.as_str()).collect();
    names.dedup();
    if names.is_empty() { "records that lost lines named".to_owned() } else { names.join(", ") }
}

fn as_text(account: &Account) -> Result<String> {
    let mut lines = vec![format!("{} ({})", account.id.0, names(account))];
    if account.unknown_past() {
        lines.push("  UNKNOWN PAST: launches are refused until it is accepted".to_owned());
    } else if account.waits_for_acceptance() {
        lines.push("  NO TOTAL: launches are refused until that is accepted".to_owned());
    }
    let at = account.budget.map_or(1e-6, |budget| budget.delta);
    let total = account.total(at)?;
    let words = total.words();
    let adjacency = match account.protects() {
        Some(persons) => format!("{}, for {persons}", account.adjacency().words()),
        None => account.adjacency().words().to_owned(),
    };
    lines.push(match (account.budget, total.standing) {
        (Some(budget), TotalStanding::AtMost) => {
            format!("  spent {words} of {} at δ {at:e}, {adjacency}", budget.epsilon)
        }
        (Some(budget), TotalStanding::Claimed | TotalStanding::AtLeast) => {
            let epsilon = budget.epsilon;
            format!("  of a budget of ε {epsilon} at δ {at:e}, {adjacency}: spent {words}")
        }
        (Some(budget), TotalStanding::Nothing) => {
            format!("  {words}; the budget is ε {} at δ {at:e}", budget.epsilon)
        }
        (None, TotalStanding::Nothing) => format!("  {words}; no budget set"),
        (None, _) => format!("  spent {words} at δ {at:e}; no budget set"),
    });
    lines.extend(account.raised.iter().map(|raised| format!("  {}", raised.words())));
    lines.extend(account.remarks(&total).map(|remark| format!("  {remark}")));
    lines.extend(account.large_delta().map(|words| format!("  note: {words}")));
    lines.extend(account.beside_the_total().map(|words| format!("  {words}")));
    lines.extend(account.gaps().iter().map(|gap| format!("  gap: {}", gap.words())));
    for run in &account.runs {
        let delta = run.grant.target.delta;
        let spent = match run.grant.noise {
            NoiseSource::Secret => format!("ε {}", epsilon(run.spent(delta)?)),
            NoiseSource::Seeded(_) => "no guarantee".to_owned(),
        };
        let large = if run.grant.allow_large_delta { " (large δ allowed)" } else { "" };
        let state = state(run.state);
        let words = match &run.claim {
            None => {
                let target = compact_up(granted(run));
                format!("{spent} of {target} at δ {delta:e}{large}, {state}")
            }
            Some(Claim { says: Some(says), .. }) => format!(
                "{state}; counts for {spent} at δ {delta:e}, where its trainer states ε {}",
                round_up(*says, 4)
            ),
            Some(_) => {
                format!("{state}; counts for {spent} at δ {delta:e}, and its trainer states no ε")
            }
        };
        let (run_id, method) = (&run.grant.run.0, methods::name_in(&run.grant));
        lines.push(format!("  {} {run_id} {method}: {words}", run.time));
        for change in &run.corrections {
            let before = epsilon(run.counted_before(change, delta)?);
            lines.push(format!(
                "    {} changed by hand: {}; until then it counted for ε {before}",
                change.time, change.why
            ));
        }
    }
    Ok(lines.join("\n"))
}

fn epsilon(spent: Option<Guarantee>) -> String {
    spent.map_or("0".to_owned(), |spent| round_up(spent.epsilon, 4))
}

fn state(state: RunState) -> String {
    match state {
        RunState::Open => "open: counts in full".to_owned(),
        RunState::Recovered => "recovered: its lines were lost, its certificate counts".to_owned(),
        RunState::Claimed => "claimed: drawn elsewhere, not seen from here".to_owned(),
        RunState::Settled { outcome, peeked } => {
            let seen = match (peeked, outcome) {
                (false, _) => "",
                // What a program did that died is not known.
                (true, RunOutcome::Abandoned) => ", exact numbers may have been seen",
                (true, _) => ", exact numbers were seen",
            };
            format!("{}{seen}", outcome.words())
        }
    }
}

/// The corrections made to a claim by hand.
fn corrections(run: &RunRecord) -> Result<Vec<Value>> {
    let delta = run.grant.target.delta;
    let as_json = |change: &Corrected| {
        let before = run.counted_before(change, delta)?;
        Ok(json!({ "time": change.time, "why": change.why, "counted_before": before }))
    };
    run.corrections.iter().map(as_json).collect()
}

fn as_json(account: &Account) -> Result<Value> {
    let at = account.budget.map_or(1e-6, |budget| budget.delta);
    let total = account.total(at)?;
    let runs = account.runs.iter().map(|run| {
        let secret = run.grant.noise == NoiseSource::Secret;
        let spent = if secret { run.spent(run.grant.target.delta)? } else { None };
        Ok(json!({
            "run": run.grant.run, "time": run.time, "method": run.grant.method_words(),
            "target": run.grant.target, "spent": spent,
            "charged": run.charged, "state": state(run.state),
            "secret_noise": secret, "allow_large_delta": run.grant.allow_large_delta,
            "claimed": run.is_claimed(), "corrections": corrections(run)?,
            "granted_in_line": run.granted, "settled_in_line": run.settled,
        }))
    });
    let unprotected = account.unprotected.iter();
    let unprotected =
        unprotected.map(|it| json!({ "time": it.time, "what": it.what, "epsilon": null }));
    let gaps = account.gaps().iter().map(|gap| {
        json!({
            "what": gap.words(), "lost_lines": gap.hides_spending(),
            "line": gap.noticed.as_ref().map(|(_, line)| line),
            "accepted": gap.accepted.as_ref().map(|accepted| &accepted.time),
        })
    });
    let remarks: Vec<String> = account.remarks(&total).collect();
    let remark = (!remarks.is_empty()).then(|| remarks.join("; "));
    Ok(json!({
        "account": account.id, "datasets": names(account), "budget": account.budget,
        "spent": total.known.as_ref().filter(|_| total.standing != TotalStanding::Nothing),
        "spent_is": total.standing.name(),
        "claims": total.claims.as_ref().map(|claims| json!({
            "claimed": claims.claimed, "drawn_here": claims.drawn_here,
            "corrected": claims.corrected,
        })),
        "total": total.words(),
        "raised_budgets": account.raised.iter().map(|raised| json!({
            "time": raised.time, "from": raised.from, "to": raised.to,
        })).collect::<Vec<_>>(),
        "remark": remark, "large_delta": account.large_delta(),
        "gaps": gaps.collect::<Vec<_>>(),
        "unknown_past": account.unknown_past(),
        "unprotected": unprotected.collect::<Vec<_>>(),
        "largest_epsilon": account.largest_epsilon(at)?.filter(|_| account.closed().is_none()),
        "runs": runs.collect::<Result<Vec<_>>>()?,
    }))
}
