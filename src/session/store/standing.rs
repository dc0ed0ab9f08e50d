//! What a ledger knows of an account when a run is granted: a sweep's tasks carry it, and
//! certificates state it.

use serde::{Deserialize, Serialize};

use crate::privacy::accountant::round_up;
use crate::privacy::ledger::{
    Account, AccountId, ChargedElsewhere, Gap, LedgerLine, RunRecord, Unprotected,
};

/// The state of the private dataset's account when the run was granted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountStanding {
    /// The line of the ledger that granted the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LedgerLine>,
    /// Exact numbers about the same records that were looked at before, with their time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<String>,
    /// The unknown parts of the account's past.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// What other trainers claim to have drawn from the same records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// The charges on the same records in other ledgers of the same user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Earlier names of the account, from before it was found to hold the same records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<AccountId>,
}

impl AccountStanding {
    pub fn of(account: &Account) -> Self {
        let look = |look: &Unprotected| format!("{}: {}", look.time, look.what);
        let seen: Vec<&RunRecord> = account.runs.iter().filter(|run| run.was_seen()).collect();
        let of_runs = match seen.as_slice() {
            [] => None,
            [only] => Some(format!(
                "{}: exact numbers could be seen while run {} worked",
                only.time, only.grant.run.0
            )),
            [first, .., last] => Some(format!(
                "{} to {}: exact numbers could be seen while {} runs worked",
                first.time,
                last.time,
                seen.len()
            )),
        };
        Self {
            line: None,
            looks: account.unprotected.iter().map(look).chain(of_runs).collect(),
            gaps: account.gaps().iter().map(Gap::words).collect(),
            elsewhere: ChargedElsewhere::note_for_others(account),
            claims: account.runs.iter().filter_map(claimed).collect(),
            former: account.former.clone(),
        }
    }
}

/// The spending that another trainer claims, in its own numbers.
fn claimed(run: &RunRecord) -> Option<String> {
    let claim = run.claim.as_ref()?;
    let epsilon = claim.says.map_or_else(
        || "an ε that it does not state".to_owned(),
        |says| format!("ε {} at δ {:e}, as it states itself", round_up(says, 4), claim.delta),
    );
    let words = format!("{}: {} with {epsilon}", run.time, claim.trainer);
    let changes = run.corrections.iter();
    let changes = changes.map(|it| format!("changed by hand on {}, because: {}", it.time, it.why));
    Some(std::iter::once(words).chain(changes).collect::<Vec<_>>().join("; "))
}
