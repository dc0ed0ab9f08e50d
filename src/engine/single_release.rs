//! A single release outside a run: granted, drawn and settled at once.

use super::launch::{OpenAccount, new_run_id, open_account};
use crate::error::Result;
use crate::privacy::accountant::Composition;
use crate::privacy::ledger::{AccountId, Budget, Grant, RowOrder, RunId, RunOutcome};
use crate::privacy::mechanism::NoiseGenerator;
use crate::privacy::openings::OpenSpender;
use crate::privacy::{Calibrated, Event, Guarantee, NoiseSource, Spender, Target, Watch};
use crate::session::{Loaded, Workspace};

/// The session, plan and datasets that a run is ordered from.
pub(super) struct Order<'a> {
    pub workspace: &'a Workspace,
    pub private: &'a Loaded,
    /// The session's budget for the private dataset.
    pub budget: Option<Budget>,
    /// Name of the method in the ledger.
    pub method: &'static str,
    pub target: Target,
}

/// A released value and its cost.
pub(super) struct Paid<T> {
    pub value: T,
    pub run: RunId,
    pub account: AccountId,
    pub drawn: Vec<Event>,
    pub guarantee: Guarantee,
}

impl Order<'_> {
    /// Gets a grant for all of it from the ledger, draws, and settles the draws.
    pub fn pay<T>(
        &self,
        calibrated: &Calibrated,
        draw: impl FnOnce(&mut Spender) -> Result<T>,
    ) -> Result<Paid<T>> {
        let opened = open_account(self.private, self.workspace, self.budget.as_ref())?;
        let OpenAccount { mut ledger, id: account, .. } = opened;
        let run = new_run_id(self.method);
        ledger.grant(Grant {
            run: run.clone(),
            account: account.clone(),
            method: self.method.to_owned(),
            target: self.target,
            events: calibrated.events().to_vec(),
            allow_large_delta: false,
            noise: NoiseSource::Secret,
            unit: self.private.unit(),
            order: RowOrder::Secret,
        })?;
        let generator = NoiseGenerator::from_os()?;
        let mut spender = Spender::new(ledger, run.clone(), calibrated, generator)?
            .watched(&Watch::sealed(), false)?;
        let value = draw(&mut spender);
        let drawn = spender.drawn();
        spender
            .settle(if value.is_ok() { RunOutcome::Finished } else { RunOutcome::Failed }, false)?;
        let guarantee = Composition::of_run(&drawn, calibrated.events(), self.target.delta)?;
        Ok(Paid { value: value?, run, account, drawn, guarantee })
    }
}
