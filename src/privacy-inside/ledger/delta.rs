//! δ and the number of records. Publishing each record with probability δ satisfies every (ε, δ),
//! and at δ ≥ 1/n this publishes one record or more on average.

use crate::error::{Error, Result};

/// The smallest δ that is too large for this many records.
pub fn limit(records: u64) -> f64 {
    1.0 / records.max(1) as f64
}

/// Whether δ is too large for this many records.
pub fn is_large(delta: f64, records: u64) -> bool {
    delta >= limit(records)
}

/// Refuses a large δ; `allow` says how to allow it explicitly.
pub fn check(delta: f64, records: u64, whose: &str, allow: &str) -> Result<()> {
    if !is_large(delta, records) {
        return Ok(());
    }
    Err(Error::refused(format!(
        "δ = {delta} is not below 1/n = {:.2e} for the {records} private records of {whose}: \
         publishing single records would satisfy it",
        limit(records)
    ))
    .cure(format!("choose δ ≤ {:.0e}, or {allow}", limit(records) / 10.0)))
}

/// The warning wherever a large δ is shown.
pub fn warning(delta: f64, records: u64) -> String {
    format!(
        "δ = {delta} is not below 1/n = {:.2e}, so publishing a few records outright would \
         satisfy it; it was allowed by name (allow_large_delta)",
        limit(records)
    )
}
