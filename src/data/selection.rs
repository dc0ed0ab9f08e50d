//! Which columns a name or a pattern means, and which become features.

use std::collections::{BTreeMap, HashSet};

use super::definition::{Columns, DatasetDefinition};
use super::names::{self, is_pattern, matches};
use super::table::Table;
use crate::error::{Error, Result};

/// The columns that a name or pattern means, in the order of the table.
fn meant<'a>(table: &'a Table, name: &str) -> Result<Vec<&'a str>> {
    let all = table.names.iter().map(String::as_str);
    if table.has(name) || !is_pattern(name) {
        table.column(name)?;
        return Ok(table.known(name).into_iter().collect());
    }
    let found: Vec<_> = all.filter(|known| matches(name, known)).collect();
    if found.is_empty() {
        return Err(Error::failed(format!("no column is like '{name}'"))
            .at(table.origin.clone())
            .cure(names::list("columns", &table.names)));
    }
    Ok(found)
}

/// The columns that become features, in order.
pub(super) fn feature_columns<'a>(
    table: &'a Table,
    definition: &DatasetDefinition,
    label: &str,
) -> Result<Vec<&'a str>> {
    let all_meant = |named: &[String]| -> Result<Vec<&'a str>> {
        let meant = named.iter().map(|name| meant(table, name));
        Ok(meant.collect::<Result<Vec<_>>>()?.concat())
    };
    let everything = table.names.iter().map(String::as_str);
    let chosen: Vec<&str> = match &definition.columns {
        Columns::All => everything.collect(),
        Columns::Only(only) => {
            let mut seen = HashSet::new();
            if let Some(twice) = only.iter().find(|name| !seen.insert(*name)) {
                return Err(Error::usage(format!("column '{twice}' is listed twice"))
                    .cure("list every column once"));
            }
            // A pattern may also match a column that is listed by name.
            let mut seen = HashSet::new();
            all_meant(only)?.into_iter().filter(|name| seen.insert(*name)).collect()
        }
        Columns::Except(except) => {
            let left_out: HashSet<_> = all_meant(except)?.into_iter().collect();
            everything.filter(|name| !left_out.contains(name)).collect()
        }
    };
    for name in definition.categories.keys() {
        meant(table, name)?;
    }
    let features: Vec<_> =
        chosen.into_iter().filter(|name| *name != label && !definition.is_of_unit(name)).collect();
    if features.is_empty() {
        return Err(Error::usage(format!("dataset '{}' has no feature", definition.name))
            .at(table.origin.clone())
            .cure("choose at least one column that is not the label"));
    }
    Ok(features)
}

/// The definition with its columns by name instead of by pattern or exception, so that it works for
/// every table that has these.
pub fn resolved(definition: &DatasetDefinition, table: &Table) -> Result<DatasetDefinition> {
    let label = definition.label.as_deref().unwrap_or_default();
    let features = feature_columns(table, definition, label)?;
    let category = |name: &&str| Some(((*name).to_owned(), definition.category(name)?.to_vec()));
    let mut categories: BTreeMap<_, _> = features.iter().filter_map(category).collect();
    // If the label is also declared, this is an error that is reported when it is read.
    categories
        .extend(definition.categories.get_key_value(label).map(|(k, v)| (k.clone(), v.clone())));
    Ok(DatasetDefinition {
        columns: Columns::Only(features.into_iter().map(str::to_owned).collect()),
        categories,
        ..definition.clone()
    })
}

/// All columns that a dataset uses: its features, then its label if it has one.
pub fn used_columns(definition: &DatasetDefinition, table: &Table) -> Result<Vec<String>> {
    let label = definition.label.as_deref();
    let features = feature_columns(table, definition, label.unwrap_or_default())?;
    Ok(features.into_iter().chain(label).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Column, Role, Source};

    fn features(columns: Columns) -> Result<Vec<String>> {
        let names = ["id", "px1", "px2", "px10", "a*b", "y"].map(str::to_owned);
        let columns_of = vec![Column::Numbers(vec![1.0].into()); names.len()];
        let table = Table::new("t.csv", names.to_vec(), columns_of, vec![2].into())?;
        let mut definition =
            DatasetDefinition::new("d", Role::Public, Source::File("t.csv".into()));
        definition.columns = columns;
        let found = feature_columns(&table, &definition, "y")?;
        Ok(found.into_iter().map(str::to_owned).collect())
    }

    fn only(names: &[&str]) -> Result<Vec<String>> {
        features(Columns::Only(names.iter().map(|&name| name.to_owned()).collect()))
    }

    fn except(names: &[&str]) -> Result<Vec<String>> {
        features(Columns::Except(names.iter().map(|&name| name.to_owned()).collect()))
    }

    #[test]
    fn patterns_choose_columns_in_the_order_of_the_table() {
        assert_eq!(only(&["px*"]).unwrap(), ["px1", "px2", "px10"]);
        assert_eq!(only(&["px2", "px?", "y"]).unwrap(), ["px2", "px1"]);
        assert_eq!(except(&["px*", "id"]).unwrap(), ["a*b"]);
        assert_eq!(only(&["a*b"]).unwrap(), ["a*b"]);
        let error = only(&["pixel*"]).unwrap_err().to_string();
        assert!(error.starts_with("t.csv: no column is like 'pixel*'"), "{error}");
        assert!(error.contains("the columns are: id, px1"), "{error}");
        assert!(except(&["p"]).unwrap_err().to_string().contains("no column 'p'"));
        assert!(except(&["*"]).unwrap_err().to_string().contains("has no feature"));
        assert!(only(&["px*", "px*"]).unwrap_err().to_string().contains("listed twice"));
    }

    #[test]
    fn stars_take_as_much_as_is_needed() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c*e", "abcde", true),
            ("a*ce", "abcde", false),
            ("*ab", "aaab", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("é*", "été", true),
            ("**b**", "abc", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_matches_itself_and_itself_with_parts_starred(
            name in "[ab]{0,8}", from in 0_usize..9, length in 0_usize..9
        ) {
            let from = from.min(name.len());
            let to = (from + length).min(name.len());
            prop_assert!(matches(&name, &name));
            let starred = format!("{}*{}", &name[..from], &name[to..]);
            prop_assert!(matches(&starred, &name));
            let wrong = format!("{}c*{}", &name[..from], &name[to..]);
            prop_assert!(!matches(&wrong, &name));
        }
    }
}
