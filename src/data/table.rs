//! Named, typed columns as they stand in a file.

use super::fingerprint::Fingerprint;

/// One column of a file.
#[derive(Clone, PartialEq)]
pub enum Column {
    Numbers(Vec<f64>),
    /// Text as it stands in the file, trimmed.
    Text(Vec<String>),
}

/// A file's rows after reading (and perhaps filtering). No `Debug`, so that
/// private cells cannot end up in a log by accident.
#[derive(Clone, PartialEq)]
pub struct Table {
    /// Where it came from, for messages: a path or `builtin:NAME`.
    pub origin: String,
    pub names: Vec<String>,
    pub columns: Vec<Column>,
    /// Line of the file that each row starts on.
    pub lines: Vec<u64>,
    /// Of the whole file, whatever was filtered since.
    pub content: Fingerprint,
    /// Of the rows in this table.
    pub view: Fingerprint,
}
