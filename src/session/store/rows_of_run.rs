//! The private rows of a run and their order, under a keyed name that only their user can compute.
//!
//! Which rows a run held out follows from the rows, their order and the user's secret. So a score
//! "on records that training did not see" needs the same rows in the same order: one appended row
//! draws another split. The file is for the curator; nothing copies it out of the workspace.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Loaded, json};
use crate::error::Result;

/// File of the rows in a run directory.
pub const FILE: &str = "rows.json";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsOfRun {
    /// The id of the secret under which the rows are named.
    key: Option<String>,
    /// The keyed name of the rows in their order.
    in_order: Option<String>,
}

impl RowsOfRun {
    fn of(private: &Loaded) -> Self {
        Self {
            key: private.secret.as_ref().map(crate::privacy::Secret::id),
            in_order: private.order.as_ref().map(|order| order.name.clone()),
        }
    }
}

/// Whether a dataset has the rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameRows {
    /// All of them, in the same order.
    Yes,
    /// Other rows, or the same in another order.
    No,
    /// Unknown, because an earlier version or another secret was used for the run.
    Unknown,
}

/// Notes the private rows of a run in its directory.
pub fn keep(directory: &Path, private: &Loaded) -> Result<()> {
    json::write_line(&directory.join(FILE), &RowsOfRun::of(private))
}

/// Compares a private dataset with the rows of the run in this directory.
pub fn compare(directory: &Path, private: &Loaded) -> SameRows {
    let known = std::fs::read(directory.join(FILE)).ok();
    let known = known.and_then(|text| serde_json::from_slice::<RowsOfRun>(&text).ok());
    let now = RowsOfRun::of(private);
    match known {
        Some(known) if known == now && now.in_order.is_some() => SameRows::Yes,
        Some(known) if known.key == now.key && known.in_order.is_some() => SameRows::No,
        _ => SameRows::Unknown,
    }
}
