//! CSV and TSV files with a header.

use std::path::Path;

use super::table::Table;
use crate::error::Result;

/// Reads a file. Comma, semicolon or tab, found from the header.
pub fn read(_path: &Path) -> Result<Table> {
    todo!()
}

/// Reads text that is inside the program.
pub fn read_bytes(_origin: &str, _bytes: &[u8]) -> Result<Table> {
    todo!()
}
