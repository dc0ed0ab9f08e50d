//! The synthetic source and target of the papers on unlabelled adaptation.

use serde::{Deserialize, Serialize};

use super::table::Table;
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Source,
    Target,
}

pub fn generate(
    _part: Part,
    _rows: usize,
    _dimension: usize,
    _mixture: f64,
    _seed: u64,
) -> Result<Table> {
    todo!()
}
