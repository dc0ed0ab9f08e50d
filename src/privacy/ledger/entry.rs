//! One line of the ledger.

use serde::{Deserialize, Serialize};

use crate::privacy::accountant::{Event, Target};

/// Names a private dataset in the ledger and in exports. Random, so that an
/// export says nothing about the records; fingerprints stay in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub String);

/// Names a run: also the name of its directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

/// What may be spent on one account, ever.
pub type Budget = Target;

/// How a private dataset was met. `content` is the fingerprint of the whole
/// file, `view` that of the selected rows: datasets that share either, or that
/// came from the same place, share one account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetRecord {
    pub name: String,
    /// Absolute path of the file, or `builtin:NAME`.
    pub origin: String,
    pub content: String,
    pub view: String,
    pub rows: u64,
}

/// Permission to draw a run's events, reserved in full before the first draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub run: RunId,
    pub account: AccountId,
    pub method: String,
    pub target: Target,
    pub events: Vec<Event>,
    /// δ ≥ 1/n was asked for by name.
    pub allow_large_delta: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Finished,
    Stopped,
    Failed,
    /// Its process died; settled later at what it had reserved block by block.
    Abandoned,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// A private dataset joins an account (the first one opens it).
    Dataset {
        account: AccountId,
        dataset: DatasetRecord,
    },
    /// Two accounts turn out to hold the same records: `from` is spent from `into`.
    Tie {
        from: AccountId,
        into: AccountId,
        why: String,
    },
    Budget {
        account: AccountId,
        budget: Budget,
    },
    Grant(Grant),
    /// Written before the draws: the run may now draw `count` more of event `event`.
    Block {
        run: RunId,
        event: usize,
        count: u64,
    },
    /// The run is over and drew `used[i]` of event `i`.
    Settle {
        run: RunId,
        used: Vec<u64>,
        outcome: Outcome,
        peeked: bool,
    },
    /// Lines were lost; every account known then has an unknown past.
    Damage {
        lost_after: u64,
        why: String,
    },
    /// Exact numbers about the records decided, or may have decided, something: an ε cannot
    /// be stated for it.
    Unprotected {
        account: AccountId,
        what: String,
    },
    /// The curator accepts an unknown past and goes on.
    Accept {
        account: AccountId,
        why: String,
    },
}
