//! Row filters such as `season != 1` or `sex == "F" and age >= 30`.
//!
//! ```text
//! any     = all { "or" all }
//! all     = one { "and" one }
//! one     = "not" one | "(" any ")" | column claim
//! claim   = operator value
//!         | [ "not" ] "in" "[" value { "," value } "]"
//!         | "is" [ "not" ] "missing"
//! column  = name | "`" any name "`"
//! value   = number | "'" text "'" | '"' text '"'          (a doubled quote stands for itself)
//! ```
//!
//! Numbers are compared with numbers and text with text. As in SQL, no comparison with a missing
//! number holds, and neither does its negation: only `is missing` selects such a row.
//!
//! Each private record is tested by itself, whatever the others contain. Where a number is needed,
//! a cell without one counts as unknown. Text is compared with a number in the form written in the
//! filter. So no private record makes a filter fail, and none changes the result for another.
//!
//! A filter on private data defines which records the private dataset *is*. Their number is then as
//! public as the number of rows of a file, and the guarantee is for replacing one of them by
//! another that also passes the filter.

mod condition;
mod parser;

use std::collections::BTreeSet;
use std::fmt;

use super::table::Table;
use crate::error::{Error, Result};

use condition::{Condition, Truth, Types};

/// A parsed filter. Parsing needs no data; types are checked against a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    text: String,
    condition: Condition,
}

impl Filter {
    /// Reads a filter from its text.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.trim().to_owned(), condition: parser::parse(text)? })
    }

    /// The columns that it names, each once.
    pub fn columns(&self) -> BTreeSet<&str> {
        let mut named = BTreeSet::new();
        self.condition.name_columns(&mut named);
        named
    }

    /// The rows for which it holds.
    pub fn apply(&self, table: &Table) -> Result<Table> {
        self.select(table, Types::Checked)
    }

    /// The private rows for which it holds.
    pub fn apply_to_private(&self, table: &Table) -> Result<Table> {
        self.select(table, Types::OfEachCell)
    }

    fn select(&self, table: &Table, types: Types) -> Result<Table> {
        let holds = self.condition.holds(table, types)?;
        let rows: Vec<usize> = (0..table.rows()).filter(|&row| holds[row] == Truth::True).collect();
        if rows.is_empty() {
            return Err(Error::failed(format!(
                "the filter '{}' selects no row of {}",
                self.text, table.origin
            ))
            .cure("check the values that it compares with"));
        }
        table.select(&rows)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
