//! Row filters such as `season != 1` or `sex == "F" and age >= 30`.

use super::table::Table;
use crate::error::Result;

/// A parsed filter. Parsing needs no data; types are checked against a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {}

impl Filter {
    pub fn parse(_text: &str) -> Result<Self> {
        todo!()
    }
    /// The rows for which it holds.
    pub fn apply(&self, _table: &Table) -> Result<Table> {
        todo!()
    }
}
