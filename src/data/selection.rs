//! Which columns become features.

use std::collections::HashSet;

use super::definition::{Columns, DatasetDefinition};
use super::table::Table;
use crate::error::{Error, Result};

/// The columns that become features, in order.
pub(super) fn feature_columns<'a>(
    public: &'a Table,
    definition: &'a DatasetDefinition,
    label: &str,
) -> Result<Vec<&'a str>> {
    let (named, chosen): (&[String], Vec<&str>) = match &definition.columns {
        Columns::All => (&[], public.names.iter().map(String::as_str).collect()),
        Columns::Only(only) => (only, only.iter().map(String::as_str).collect()),
        Columns::Except(except) => {
            let kept = public.names.iter().filter(|name| !except.contains(name));
            (except, kept.map(String::as_str).collect())
        }
    };
    for name in named.iter().chain(definition.categories.keys()) {
        public.column(name)?;
    }
    let mut seen = HashSet::new();
    if let Some(twice) = chosen.iter().find(|name| !seen.insert(**name)) {
        return Err(Error::usage(format!("column '{twice}' is listed twice"))
            .cure("list every column once"));
    }
    let features: Vec<_> = chosen.into_iter().filter(|name| *name != label).collect();
    if features.is_empty() {
        return Err(Error::usage(format!("dataset '{}' has no feature", definition.name))
            .at(public.origin.clone())
            .cure("choose at least one column that is not the label"));
    }
    Ok(features)
}
