//! One line of the ledger.

use std::collections::BTreeSet;

use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};

use crate::accountant::target::check_delta;
use crate::accountant::{Composition, Event, Target, delta_words};
use crate::data::overlap::Sketch;
use crate::error::{Error, Result};
use crate::mechanism::NoiseSource;
use crate::secret::{Secret, is_plain};

/// Names a private dataset in the ledger. Random, so that it says nothing about the records. But
/// data with common rows have the same name, so files for others have an alias instead.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(
    /// The name.
    pub String,
);

const ALIAS: &str = "alias-";

impl AccountId {
    /// A random name for one file that leaves the workspace. It is as long as a name in the ledger.
    pub fn alias() -> Result<Self> {
        Ok(Self(format!("{ALIAS}{:08x}", random_bits()? & 0xffff_ffff)))
    }

    /// A random name in the ledger.
    pub(super) fn random() -> Result<Self> {
        Ok(Self(format!("acc-{:010x}", random_bits()? & 0xff_ffff_ffff)))
    }

    /// Whether the name is not one of the ledger, but that of one file.
    pub fn is_alias(&self) -> bool {
        self.0.starts_with(ALIAS)
    }
}

fn random_bits() -> Result<u64> {
    SysRng.try_next_u64().map_err(|error| {
        Error::failed(format!("the operating system gives no random numbers: {error}"))
    })
}

/// Names a run: also the name of its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(
    /// The name.
    pub String,
);

/// A line of the ledger, as named in certificates and heads: a ledger with another line of this
/// number is another ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    /// Number of the line, from 1.
    pub seq: u64,
    /// The SHA-256 that seals it.
    pub hash: String,
}

/// The most that may ever be spent on one account.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The ε of everything together.
    pub epsilon: f64,
    /// The δ at which this holds.
    pub delta: f64,
    /// δ ≥ 1/n was explicitly allowed: the budget may be spent on publishing single records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_large_delta: bool,
}

impl Budget {
    /// A budget that does not allow a large δ.
    pub const fn new(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta, allow_large_delta: false }
    }

    /// The text for people: `ε 2 at δ 1e-5`.
    pub fn words(&self) -> String {
        format!("ε {} at δ {}", self.epsilon, delta_words(self.delta))
    }

    /// Whether whatever fits into it also fits into the other one.
    pub fn is_within(&self, other: &Self) -> bool {
        self.epsilon <= other.epsilon && self.delta <= other.delta
    }
}

/// The text for a known seed in ledgers of the first version, which had no field for it.
const FORMERLY: &str = " with insecure noise seed ";

/// A private dataset as it was registered. `content` is the fingerprint of the whole file, `view`
/// that of the selected rows: datasets that share either, that have many rows in common, or that
/// came from the same place, share one account.
///
/// Fingerprints and sketch are made under the user's secret; plain ones of an earlier version are
/// replaced when they are found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetRecord {
    /// The session's name for it.
    pub name: String,
    /// Absolute path of the file, or `builtin:NAME`.
    pub origin: String,
    /// Fingerprint of the whole file.
    pub content: String,
    /// Fingerprint of the selected rows.
    pub view: String,
    /// The number of its records.
    pub rows: u64,
    /// The secret of the fingerprints: [`Secret::id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A sketch of the selected rows, for comparison with other datasets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<Sketch>,
}

impl DatasetRecord {
    /// Whether `other` is the same file and rows, at the same place, under the same name.
    pub fn is_met_again_in(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.name.clone(), it.origin.clone(), it.rows, it.key.clone());
        of(self) == of(other) && self.has_rows_of(other)
    }

    /// Whether `other` is the same file and the same rows.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        (&self.content, &self.view) == (&other.content, &other.view)
    }

    /// Whether its records may be secret: those that come with the program are not.
    pub fn is_secret(&self) -> bool {
        !self.origin.starts_with("builtin:")
    }

    /// Whether the record was made by a version without a secret.
    pub fn is_plain(&self) -> bool {
        is_plain(&self.content) || is_plain(&self.view)
    }

    /// With plain fingerprints replaced by keyed ones.
    pub fn under(self, secret: &Secret) -> Self {
        if !self.is_plain() {
            return self;
        }
        let (content, view) = (secret.fingerprint(&self.content), secret.fingerprint(&self.view));
        Self { content, view, key: Some(secret.id()), ..self }
    }

    /// Without the sketch: enough to recognise the same rows.
    pub fn without_sketch(self) -> Self {
        Self { sketch: None, ..self }
    }
}

/// Permission to draw a run's events, reserved in full before the first draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The run that may draw.
    pub run: RunId,
    /// The account of the records.
    pub account: AccountId,
    /// The method, or the manner of a ranking.
    pub method: String,
    /// The requested target.
    pub target: Target,
    /// The events that may be drawn.
    pub events: Vec<Event>,
    /// δ ≥ 1/n was explicitly allowed.
    pub allow_large_delta: bool,
    /// Where the noise comes from.
    #[serde(default, skip_serializing_if = "NoiseSource::is_secret")]
    pub noise: NoiseSource,
    /// The columns that identify the person of a row, where persons are protected; `None` for
    /// single records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How rows are chosen at random.
    #[serde(default, skip_serializing_if = "RowOrder::is_by_place")]
    pub order: RowOrder,
    /// The sites that add one noise together; `None` if it is that of this run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_noise: Option<SharedNoise>,
}

/// Noise to which each of several sites adds a share. What a run draws with it is protected on a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedNoise {
    /// The number of sites.
    pub sites: usize,
    /// How many of them may put together what they know.
    pub may_collude: usize,
}

impl SharedNoise {
    /// The noise of a site and these others, if they add one together.
    pub fn with(others: &[String], may_collude: Option<usize>) -> Option<Self> {
        may_collude.map(|may_collude| Self { sites: others.len() + 1, may_collude })
    }

    /// On which conditions an ε holds, behind that ε; empty if there are none.
    pub fn conditions(all: impl IntoIterator<Item = Self>) -> String {
        let condition = |Self { sites, may_collude }: Self| {
            let adding = sites.saturating_sub(may_collude);
            format!(
                "at least {adding} of {sites} sites add their shares of the noise and tell nobody"
            )
        };
        let all: Vec<String> = BTreeSet::from_iter(all).into_iter().map(condition).collect();
        if all.is_empty() {
            return String::new();
        }
        format!(", while {}, and nobody can compute masks without their keys", all.join(", "))
    }
}

/// How a run chooses among private rows at random: those that it holds out, samples or keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// By their place in the file, with a public seed, as earlier versions did. The guarantee of
    /// such a run assumes that the order of rows in the file does not depend on what they hold.
    #[default]
    ByPlace,
    /// In an order that nobody outside can know ([`crate::data::secret_order`]). The guarantee holds
    /// wherever a record is.
    Secret,
}

impl RowOrder {
    /// Whether records are chosen by their place in the file, as earlier versions did.
    pub fn is_by_place(&self) -> bool {
        *self == Self::ByPlace
    }
}

/// The assumption of a run by an earlier version.
pub const ORDER_ASSUMED: &str = "the order of the rows in the private file did not depend on what \
                                 they hold";

impl Grant {
    /// The method, with the warning about its noise if there is one.
    pub fn method_words(&self) -> String {
        match self.noise {
            NoiseSource::Secret => self.method.clone(),
            NoiseSource::Seeded(seed) => format!("{}{FORMERLY}{seed}", self.method),
        }
    }

    /// As it would be written now.
    pub(super) fn renewed(mut self) -> Self {
        if let Some((method, seed)) = self.method.split_once(FORMERLY)
            && let Ok(seed) = seed.parse()
        {
            (self.noise, self.method) = (NoiseSource::Seeded(seed), method.to_owned());
        }
        self
    }
}

/// The draws that another trainer claims. They were not seen here: they count, but are never taken
/// for draws made here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The name of the training here: see [`claimed_name`].
    pub run: RunId,
    /// The account of the records.
    pub account: AccountId,
    /// Program, version and model, in its own words.
    pub trainer: String,
    /// The ε that it states itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<f64>,
    /// The δ at which it states it.
    pub delta: f64,
    /// All events in its file so far: a later line of the same training has these, and more.
    pub events: Vec<Event>,
    /// As in a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The part of the file that was read.
    pub file: ReadSoFar,
}

/// The beginning of a file that grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSoFar {
    /// The length of its whole lines.
    pub bytes: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
}

impl ReadSoFar {
    /// The state after reading these lines.
    pub fn of(lines: &[u8]) -> Self {
        Self { bytes: lines.len() as u64, sha256: super::sha256(lines) }
    }

    /// Whether a file still begins so.
    pub(super) fn begins(&self, file: &[u8]) -> bool {
        let read = usize::try_from(self.bytes).ok().and_then(|bytes| file.get(..bytes));
        read.is_some_and(|read| super::sha256(read) == self.sha256)
    }
}

/// The prefix that distinguishes a claim's name from that of any run.
const CLAIMED: &str = "claim-";

/// The name in the ledger for a training with this id, which may be any text.
pub fn claimed_name(id: &str) -> RunId {
    RunId(format!("{CLAIMED}{}", &super::sha256(id.as_bytes())[..16]))
}

impl Claim {
    /// The claim as a grant. Its target is what it states.
    pub(super) fn grant(&self) -> Grant {
        Grant {
            run: self.run.clone(),
            account: self.account.clone(),
            method: self.trainer.clone(),
            target: Target { epsilon: self.says.unwrap_or(0.0), delta: self.delta },
            events: self.events.clone(),
            allow_large_delta: false,
            noise: NoiseSource::Secret,
            unit: self.unit.clone(),
            order: RowOrder::Secret,
            one_noise: None,
        }
    }

    /// Refuses claims that no training can have drawn.
    pub(super) fn check(&self) -> Result<()> {
        let odd = |why: &str| Err(Error::usage(format!("the claim '{}' {why}", self.run.0)));
        if !self.run.0.starts_with(CLAIMED) {
            return odd("has the name of a run");
        }
        if self.events.iter().all(|event| event.count == 0) {
            return odd("draws nothing");
        }
        check_delta(self.delta)?;
        Composition::of(&self.events).map(|_| ())
    }

    /// The claim of a training that drew nothing from these records after all.
    pub(super) fn withdrawn(&self) -> Self {
        Self { events: Vec::new(), ..self.clone() }
    }
}

/// The curator's word that the charge for another trainer's training is wrong. From here on this
/// counts instead, even if it is less. The earlier lines keep the earlier numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The claim that counts instead; without events, nothing counts.
    pub claim: Claim,
    /// The reason, in the curator's words.
    pub why: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// After its last step.
    Finished,
    /// Because somebody stopped it.
    Stopped,
    /// With an error.
    Failed,
    /// By the death of its process; settled later at the draws that it had reserved block by block.
    Abandoned,
}

impl RunOutcome {
    /// As people read it; files and JSON have other words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Abandoned => "given up",
        }
    }
}

/// The contents of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// A private dataset joins an account (the first one opens it).
    Dataset {
        /// The account.
        account: AccountId,
        /// The dataset.
        dataset: DatasetRecord,
    },
    /// Two accounts turn out to hold the same records: `from` is spent from `into`.
    Tie {
        /// The account that ends.
        from: AccountId,
        /// The account that remains.
        into: AccountId,
        /// What showed it.
        why: String,
    },
    /// The budget of an account from here on.
    Budget {
        /// The account.
        account: AccountId,
        /// What may be spent.
        budget: Budget,
    },
    /// A run may draw.
    Grant(Grant),
    /// Another trainer claims draws.
    Claimed(Claim),
    /// The curator says that another trainer's claim was wrong.
    Corrected(Correction),
    /// Written before the draws: the run may now draw `count` more of event `event`.
    Block {
        /// The run that draws.
        run: RunId,
        /// Index among the granted events.
        event: usize,
        /// How many more.
        count: u64,
    },
    /// The run is over and drew `used[i]` of event `i`.
    Settle {
        /// The run.
        run: RunId,
        /// How often it drew each event.
        used: Vec<u64>,
        /// How it ended.
        outcome: RunOutcome,
        /// Exact numbers were looked at meanwhile.
        peeked: bool,
    },
    /// Another program takes over an open run. The line draws nothing; it makes two copies of a
    /// ledger differ as soon as both continue the same run.
    Resume {
        /// The run.
        run: RunId,
    },
    /// Lines were lost; every account known then has an unknown past.
    Damage {
        /// The last line before them.
        lost_after: u64,
        /// What showed it.
        why: String,
        /// The last of the lost lines, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_until: Option<u64>,
        /// Runs whose traces do not match this ledger.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        traces: Vec<RunId>,
    },
    /// A run of lost lines, charged with the draws in its certificate.
    Recovered(Grant),
    /// Exact numbers about the records decided, or may have decided, something for which no ε can
    /// be stated.
    Unprotected {
        /// The account of the dataset whose records these are.
        account: AccountId,
        /// What was computed.
        what: String,
    },
    /// The first line of a ledger whose earlier lines were all rewritten under the user's secret:
    /// `lines` of them, ending in `head`.
    Rewritten {
        /// How many.
        lines: u64,
        /// The hash of the last of them.
        head: String,
        /// The name of the secret.
        key: String,
        /// The reason.
        why: String,
    },
    /// The secret of this name is lost, so nothing written under it can be compared any more.
    /// Accounts that are opened later have an unknown past.
    SecretLost {
        /// Name of the lost secret.
        key: String,
        /// The words of the person who noticed.
        why: String,
    },
    /// The curator accepts an unknown past and continues.
    Accept {
        /// The account.
        account: AccountId,
        /// The reason, in the curator's words.
        why: String,
    },
}
