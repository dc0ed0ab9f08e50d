//! A name for a set of rows that depends on nothing but the rows: not on the
//! file's name, the order of its rows, or the order of its columns.

/// Sum modulo 2²⁵⁶ of the SHA-256 of every row (its cells under their column
/// names, columns sorted), plus the number of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    pub sum: [u8; 32],
    pub rows: u64,
}
