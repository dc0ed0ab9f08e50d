//! What other trainers claim to have drawn: charges, corrections and withdrawals.

use super::super::account::RunRecord;
use super::super::chain::ChainReading;
use super::super::entry::{Claim, Correction, Entry, RunId};
use super::{Ledger, Turn};
use crate::error::{Action, Error, Result};
use crate::files::words::harmless;

/// Longer reasons are cut.
const LONGEST_REASON: usize = 300;

impl Ledger {
    /// Charges the draws that another trainer claims in the lines of `file`. False if they are
    /// charged already. No budget is asked, because it is already spent.
    pub fn claim(&mut self, claim: Claim, file: &[u8]) -> Result<bool> {
        let (mut turn, claim, known) = self.begin_claim(claim)?;
        if let Some(known) = known.filter(|known| !known.charged_events().is_empty()) {
            let read = known.claim.as_ref().map(|known| &known.file);
            if read.is_some_and(|read| !read.begins(file)) {
                return Err(Error::refused(
                    "a training of this id is charged already, and these lines do not continue \
                     those that were",
                )
                .cure(
                    "bring back the lines that were charged; give another training an id of its \
                     own; or say that the file was mended",
                )
                .asking(Action::MendClaim));
            }
            if read == Some(&claim.file) {
                return Ok(false);
            }
            let events = known.raised_to(claim.events.clone());
            self.write_claim(&mut turn, Claim { events, ..claim })?;
        } else {
            self.write_claim(&mut turn, claim)?;
        }
        Ok(true)
    }

    /// Charges a corrected file of a training that is charged already: for each kind of draw, the
    /// larger number of both files. It never lowers what counts.
    pub fn raise(&mut self, claim: Claim) -> Result<bool> {
        let (mut turn, claim, known) = self.begin_claim(claim)?;
        let known = known.ok_or_else(no_such_claim)?;
        let is_read = known.claim.as_ref().is_some_and(|known| known.file == claim.file);
        let events = known.raised_to(claim.events.clone());
        if is_read && events == known.charged_events() {
            return Ok(false);
        }
        self.write_claim(&mut turn, Claim { events, ..claim })?;
        Ok(true)
    }

    /// Counts these draws instead of those charged for the training, even if they are fewer,
    /// because the curator says so. False if they are charged already.
    pub fn correct(&mut self, claim: Claim, why: &str) -> Result<bool> {
        let (mut turn, claim, known) = self.begin_claim(claim)?;
        let known = known.ok_or_else(no_such_claim)?;
        if known.charged_events() == claim.events {
            return Ok(false);
        }
        self.reading.book().known(&claim.account)?.with_events(&claim.events, 1)?;
        let correction = Correction { claim, why: reason(why)? };
        self.write(&mut turn, &Entry::Corrected(correction))?;
        Ok(true)
    }

    /// Counts nothing for a training of another trainer, because the curator says so.
    pub fn withdraw(&mut self, run: &RunId, why: &str) -> Result<()> {
        self.reading = ChainReading::default(); // as for a launch
        let mut turn = self.begin()?;
        let known = self.reading.book().run(run);
        let Some(claim) = known.and_then(|known| known.claim.as_ref()) else {
            let words = match known {
                Some(_) => format!("'{}' was drawn here: what was drawn stays drawn", run.0),
                None => format!("the ledger has no claim '{}'", run.0),
            };
            return Err(Error::usage(words).asking(Action::ListAccounts));
        };
        if claim.events.is_empty() {
            return Err(Error::refused(format!("'{}' is withdrawn already", run.0)));
        }
        // Accounts that were tied have one name now.
        let account = self.reading.book().known(&claim.account)?.id.clone();
        let claim = Claim { account, ..claim.withdrawn() };
        let correction = Correction { claim, why: reason(why)? };
        self.write(&mut turn, &Entry::Corrected(correction))
    }

    /// The account of a claim by its current name, and the charge for its training.
    fn begin_claim(&mut self, claim: Claim) -> Result<(Turn, Claim, Option<RunRecord>)> {
        self.reading = ChainReading::default(); // as for a launch
        let turn = self.begin()?;
        let account = self.reading.book().known(&claim.account)?;
        account.check_unit(claim.unit.as_deref())?;
        let account = account.id.clone();
        let known = self.reading.book().run(&claim.run).cloned();
        Ok((turn, Claim { account, ..claim }, known))
    }

    fn write_claim(&mut self, turn: &mut Turn, claim: Claim) -> Result<()> {
        // If the sum cannot be computed, the account would have none.
        self.reading.book().known(&claim.account)?.with_events(&claim.events, 1)?;
        self.write(turn, &Entry::Claimed(claim))
    }
}

fn no_such_claim() -> Error {
    Error::usage("no training of this id is charged: there is nothing to mend")
        .cure("charge it as it is, or name the training by the id that it was charged under")
}

/// A reason, checked not to be empty.
fn reason(why: &str) -> Result<String> {
    let why = harmless(why.trim(), LONGEST_REASON);
    if why.is_empty() {
        return Err(Error::usage("a claim is changed with a reason that the ledger keeps")
            .cure("say in a few words why it was wrong"));
    }
    Ok(why)
}
