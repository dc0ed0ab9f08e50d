//! Cells that say that there is no value.

/// How files write that a value is missing, besides an empty cell.
const WORDS: [&str; 8] = ["na", "n/a", "nan", "null", "none", "?", "-", "."];

/// Whether a cell says that there is no value.
pub(super) fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty() || WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}
