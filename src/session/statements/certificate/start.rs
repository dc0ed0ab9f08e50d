//! What the model that a run started from depends on, as a certificate states it. `lineage.rs` finds
//! it out.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::privacy::accountant::{Composition, counted};
use crate::privacy::ledger::{AccountId, RowOrder, RunId};
use crate::privacy::{Event, Guarantee};

/// A run whose released model a later run started from, directly or through others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ancestor {
    pub run: RunId,
    /// The account of its private dataset; an alias if only a shared certificate is known.
    pub account: AccountId,
    pub method: String,
    /// Number of private training records of the run, or persons.
    pub records: usize,
    /// The columns that identify the person of a row, where persons are protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The guarantee of its own draws.
    pub guarantee: Guarantee,
    pub mechanisms: Vec<Event>,
    /// Whether exact numbers could be seen during the run.
    pub peeked: bool,
    /// How it chose among private rows at random.
    #[serde(default, skip_serializing_if = "RowOrder::is_by_place")]
    pub order: RowOrder,
}

/// A starting model that somebody vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredPublic {
    /// Name of its file or run, without the folders above it.
    pub name: String,
    /// SHA-256 of its `model.ron`.
    pub sha256: String,
}

/// Everything that a starting model depends on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lineage {
    /// The runs, the nearest first.
    pub runs: Vec<Ancestor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_public: Option<DeclaredPublic>,
}

/// The joint guarantee of everything in these lists, even if later runs were chosen by earlier
/// ones.
pub fn together<'a>(lists: impl IntoIterator<Item = &'a [Event]>, delta: f64) -> Result<Guarantee> {
    let all: Vec<Event> = lists.into_iter().flat_map(counted).collect();
    Composition::of(&all)?.gate(delta)
}
