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
//! Numbers are compared with numbers and text with text. Of a missing number no
//! comparison holds and no negation of one either, as in SQL: only `is missing`
//! selects its row.
//!
//! A filter on private data says which records the private dataset *is*: how
//! many they are is then as public as the number of rows of a file, and the
//! guarantee is for one of them being another that passes the filter, too.

mod condition;
mod parser;

use std::fmt;

use super::table::Table;
use crate::error::{Error, Result};

use condition::{Condition, Truth};

/// A parsed filter. Parsing needs no data; types are checked against a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    text: String,
    condition: Condition,
}

impl Filter {
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.trim().to_owned(), condition: parser::parse(text)? })
    }

    /// The rows for which it holds.
    pub fn apply(&self, table: &Table) -> Result<Table> {
        let holds = self.condition.holds(table)?;
        let rows: Vec<usize> = (0..table.rows()).filter(|&row| holds[row] == Truth::True).collect();
        if rows.is_empty() {
            return Err(Error::failed(format!(
                "the filter '{}' selects no row of {}",
                self.text, table.origin
            ))
            .cure("check the values that it compares with"));
        }
        Ok(table.select(&rows))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
