//! Charges another trainer's stated draws to the account of the records.

use std::path::Path;

use super::spend::OpenAccount;
use crate::error::{Error, Result};
use crate::privacy::Ledger;
use crate::privacy::accountant::Guarantee;
use crate::privacy::ledger::{AccountId, Budget, Claim, ReadSoFar, RunId, Total, claimed_name};
use crate::session::trainer::{self, Trainer};
use crate::session::{Session, Workspace, dataset};

/// δ of the numbers of an account without a budget.
const DELTA: f64 = 1e-6;

/// The owner of the records.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    Account(&'a str),
    /// A private dataset of a session.
    Dataset(&'a Session, &'a str),
}

/// How the file relates to earlier charges for the same training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version<'a> {
    /// The lines that were charged earlier, and perhaps more.
    Same,
    /// A corrected file: for each draw the larger number counts.
    Mended,
    /// The right file, for this reason: it alone counts, even if it says less.
    Instead(&'a str),
}

/// The account after the charge.
#[derive(Debug, Clone)]
pub struct Charged {
    pub run: RunId,
    pub account: AccountId,
    /// False if all of it was charged before.
    pub is_new: bool,
    pub trainer: String,
    pub draws: u64,
    /// The claim, with our accountant's numbers for a plan fixed in advance.
    pub checked: trainer::TrainerCost,
    /// The δ at which the trainer states its ε.
    pub delta: f64,
    /// Guarantee of the claim as counted, at the δ of `total`.
    pub counts: Option<Guarantee>,
    pub budget: Option<Budget>,
    /// The budget that is exceeded, and the ε spent at its δ. It is spent all the same.
    pub overspent: Option<(Budget, f64)>,
    pub total: Total,
}

/// Charges all draws in the file so far; `id` is for files whose first line has none.
pub fn charge(
    file: &Path,
    id: Option<&str>,
    version: Version<'_>,
    whose: Whose<'_>,
    workspace: &Workspace,
) -> Result<Charged> {
    let (trainer, lines) = Trainer::of_file(file)?;
    let place = || file.display().to_string();
    let events = trainer.drawn().map_err(|error| error.at(place()))?;
    let id = match (trainer.id(), id) {
        (Some(own), None) => own,
        (None, Some(given)) => given.to_owned(),
        (Some(_), Some(_)) => {
            return Err(Error::usage("the training has an id of its own")
                .at(place())
                .cure("leave --id out"));
        }
        (None, None) => {
            return Err(Error::usage(
                "the first line has no `id`: so halflight cannot tell whether this training is \
                 charged already",
            )
            .at(place())
            .cure(
                "name it by --id, the same each time; the Python file of this version writes one: \
                 halflight schema steps --python",
            ));
        }
    };
    let delta = trainer.delta().unwrap_or_default();
    let (mut ledger, account) = account_of(whose, trainer.unit(), workspace)?;
    let checked = trainer.account();
    let claim = Claim {
        run: claimed_name(&id),
        account: account.clone(),
        trainer: trainer.words(),
        says: checked.claimed.as_ref().map(|claimed| claimed.0),
        delta,
        events,
        unit: trainer.unit().map(str::to_owned),
        file: ReadSoFar::of(&lines),
    };
    let (run, name) = (claim.run.clone(), claim.trainer.clone());
    let draws = claim.events.iter().map(|event| event.count).fold(0, u64::saturating_add);
    let is_new = match version {
        Version::Same => ledger.claim(claim, &lines),
        Version::Mended => ledger.raise(claim),
        Version::Instead(why) => ledger.correct(claim, why),
    }?;
    let book = ledger.book()?;
    let gone = || Error::failed(format!("account {} is gone", account.0));
    let budget = match whose {
        Whose::Account(_) => None,
        Whose::Dataset(session, name) => session.budgets.get(name),
    };
    let account = book.account(&account).ok_or_else(gone)?.clone().held_to(budget);
    let at = account.budget.map_or(DELTA, |budget| budget.delta);
    Ok(Charged {
        counts: book.run(&run).map_or(Ok(None), |record| record.spent(at))?,
        account: account.id.clone(),
        budget: account.budget,
        overspent: account.overspent()?,
        total: account.total(at)?,
        trainer: name,
        run,
        is_new,
        draws,
        checked,
        delta,
    })
}

fn account_of(
    whose: Whose<'_>,
    unit: Option<&str>,
    workspace: &Workspace,
) -> Result<(Ledger, AccountId)> {
    let (session, name) = match whose {
        Whose::Account(id) => return Ok((workspace.ledger()?, AccountId(id.to_owned()))),
        Whose::Dataset(session, name) => (session, name),
    };
    let private = dataset::load(session.dataset(name)?, workspace)?;
    if private.record.is_some() && private.unit().as_deref() != unit {
        let words = |unit: Option<&str>| {
            unit.map_or("single records".to_owned(), |unit| format!("persons, by '{unit}'"))
        };
        return Err(Error::refused(format!(
            "the trainer protects {}, and '{name}' protects {}: the two do not add up",
            words(unit),
            words(private.unit().as_deref())
        ))
        .cure("the first line names the column under `unit`, where persons are protected"));
    }
    let opened = OpenAccount::open(&private, workspace, session)?;
    Ok((opened.ledger, opened.id))
}
