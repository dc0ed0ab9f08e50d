//! Compares two tables with the same meaning: which columns agree by name, and what is wrong with
//! the others. It looks at names and kinds only, not at cells.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::column::Column;
use super::names::{self, shortened};
use super::table::Table;
use crate::error::{Error, Result};

/// One row per column, in the order of the first table, followed by those that only the second has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compatibility {
    /// Where the first table came from.
    pub first: String,
    /// Where the second one came from.
    pub second: String,
    /// All columns of both, those of the first in their order.
    pub columns: Vec<AlignedColumn>,
}

/// One column in both tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlignedColumn {
    /// Name of the column in the first table, or in the only table that has it.
    pub name: String,
    /// What the column holds in the first table, such as "numbers".
    pub in_first: Option<String>,
    /// What the column holds in the second table.
    pub in_second: Option<String>,
    /// Whether the column of both tables can be used as one.
    pub verdict: Alignment,
    /// A name of the other table that may mean the same.
    pub perhaps: Option<String>,
}

/// Whether two columns can be used as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// Both tables have it, with the same kind of values.
    Same,
    /// Both tables have it in different places, which is fine: columns are found by name.
    Moved,
    /// One holds numbers and the other one text.
    OtherKind,
    /// The second table lacks it.
    OnlyInFirst,
    /// The first table lacks it.
    OnlyInSecond,
}

impl Compatibility {
    /// Compares the columns of two tables.
    pub fn between(first: &Table, second: &Table) -> Self {
        // Columns that one table lacks do not matter here: only the order of common ones counts.
        let (places, other_places) = (places(first, second), places(second, first));
        let (only_first, only_second) = (lacking(first, &places), lacking(second, &places));
        let kinds: HashMap<&str, &Column> =
            second.names.iter().map(String::as_str).zip(&second.columns).collect();
        let mut columns = Vec::new();
        for (name, column) in first.names.iter().zip(&first.columns) {
            let other = kinds.get(name.as_str());
            let verdict = match other {
                None => Alignment::OnlyInFirst,
                Some(other) if column.kind() != other.kind() => Alignment::OtherKind,
                Some(_) if places.get(name.as_str()) == other_places.get(name.as_str()) => {
                    Alignment::Same
                }
                Some(_) => Alignment::Moved,
            };
            columns.push(AlignedColumn {
                name: name.clone(),
                in_first: Some(column.kind()),
                in_second: other.map(|other| other.kind()),
                verdict,
                perhaps: if other.is_none() { near(name, &only_second) } else { None },
            });
        }
        for name in &only_second {
            columns.push(AlignedColumn {
                name: name.clone(),
                in_first: None,
                in_second: kinds.get(name.as_str()).map(|column| column.kind()),
                verdict: Alignment::OnlyInSecond,
                perhaps: near(name, &only_first),
            });
        }
        Self { first: first.origin.clone(), second: second.origin.clone(), columns }
    }

    /// The columns that are not simply the same.
    pub fn differences(&self) -> impl Iterator<Item = &AlignedColumn> {
        self.columns.iter().filter(|column| column.verdict != Alignment::Same)
    }

    /// Checks that both have the same columns, of compatible kinds.
    pub fn check(&self) -> Result<()> {
        self.check_for(|_| true)
    }

    /// Checks that the second table has all `needed` columns of the first, of compatible kinds, and
    /// that no needed column is missing in the first.
    pub fn check_for(&self, needed: impl Fn(&str) -> bool) -> Result<()> {
        let trouble: Vec<_> = self
            .differences()
            .filter(|column| column.breaks() && needed(&column.name))
            .cloned()
            .collect();
        if trouble.is_empty() {
            return Ok(());
        }
        if names::seem_a_record(&self.names_in_second()) {
            let what = format!("its columns do not match those of {}", self.first);
            return Err(Error::failed(what)
                .at(self.second.clone())
                .cure(names::list("columns", &self.names_in_second())));
        }
        let names: Vec<_> = trouble.iter().map(|column| column.name.as_str()).collect();
        let what =
            format!("its columns do not match those of {}: {}", self.first, names::some(&names));
        let table = Self { columns: trouble, ..self.clone() };
        Err(Error::failed(format!("{what}\n{table}"))
            .at(self.second.clone())
            .cure("rename the columns in one of the files, or leave them out of the features"))
    }

    fn names_in_second(&self) -> Vec<String> {
        let there = self.columns.iter().filter(|column| column.in_second.is_some());
        there.map(|column| column.name.clone()).collect()
    }
}

impl AlignedColumn {
    /// Text beside numbers is not a failure: the text may be numbers with a few gaps, and reading
    /// them as numbers names a wrong cell.
    fn breaks(&self) -> bool {
        let vectors =
            |kind: &Option<String>| kind.as_ref().is_some_and(|kind| kind.contains("vec"));
        match self.verdict {
            Alignment::Same | Alignment::Moved => false,
            Alignment::OtherKind => vectors(&self.in_first) || vectors(&self.in_second),
            Alignment::OnlyInFirst | Alignment::OnlyInSecond => true,
        }
    }
}

/// The relative positions in `table` of the columns that both have.
fn places<'a>(table: &'a Table, other: &Table) -> HashMap<&'a str, usize> {
    let others: HashSet<&String> = other.names.iter().collect();
    let common = table.names.iter().filter(|name| others.contains(name));
    common.enumerate().map(|(at, name)| (name.as_str(), at)).collect()
}

fn lacking(table: &Table, common: &HashMap<&str, usize>) -> Vec<String> {
    table.names.iter().filter(|name| !common.contains_key(name.as_str())).cloned().collect()
}

fn near(name: &str, others: &[String]) -> Option<String> {
    // Among thousands of names, some are always similar.
    const MOST: usize = 1000;
    let near = (others.len() <= MOST).then(|| names::nearest(name, others));
    near?.first().map(|&near| near.to_owned())
}

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "same",
            Self::Moved => "same, at another place",
            Self::OtherKind => "other kind",
            Self::OnlyInFirst | Self::OnlyInSecond => "missing",
        })
    }
}

/// A table for the terminal. Long ones are cut, with differences first.
impl fmt::Display for Compatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 40;
        let none = || "missing".to_owned();
        let mut columns: Vec<&AlignedColumn> = self.columns.iter().collect();
        if columns.len() > SHOWN {
            columns.sort_by_key(|column| column.verdict == Alignment::Same);
        }
        columns.truncate(SHOWN);
        let rows: Vec<[String; 3]> = columns
            .iter()
            .map(|column| {
                let kinds = [&column.in_first, &column.in_second];
                let [first, second] = kinds.map(|kind| kind.clone().unwrap_or_else(none));
                [shortened(&column.name).into_owned(), first, second]
            })
            .collect();
        let header = ["column", &self.first, &self.second].map(str::to_owned);
        let width = |at: usize| {
            rows.iter().chain([&header]).map(|row| row[at].chars().count()).max().unwrap_or(0)
        };
        let widths = [width(0), width(1), width(2)];
        let [x, y, z] = widths;
        let [a, b, c] = &header;
        write!(f, "  {a:x$}  {b:y$}  {c:z$}  verdict")?;
        for (row, column) in rows.iter().zip(&columns) {
            let verdict = match &column.perhaps {
                Some(near) => format!("{}: perhaps '{near}'", column.verdict),
                None => column.verdict.to_string(),
            };
            let [a, b, c] = row;
            write!(f, "\n  {a:x$}  {b:y$}  {c:z$}  {verdict}")?;
        }
        match self.columns.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl Table {
    /// The rows of all `tables`, one after another, with the columns of the first, which all tables
    /// have. A column that is text in one of them becomes text.
    pub fn concat(tables: &[&Self]) -> Result<Self> {
        let Some((first, others)) = tables.split_first() else {
            return Err(Error::usage("there is no table to put together"));
        };
        others.iter().try_for_each(|other| Compatibility::between(first, other).check())?;
        Self::concat_columns(tables, &first.names)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Values, Vectors};

    fn table(origin: &str, columns: &[(&str, char)]) -> Table {
        let column = |kind: char| match kind {
            'n' => Column::Numbers(vec![1.0, 2.0].into()),
            't' => Column::Text(["a", "b"].iter().collect()),
            width => {
                let width = width.to_digit(10).unwrap() as usize;
                Column::Vectors(Vectors::new(width, Values::F64(vec![0.5; 2 * width])).unwrap())
            }
        };
        let names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let columns = columns.iter().map(|(_, kind)| column(*kind)).collect();
        Table::new(origin, names, columns, vec![2, 3].into()).ok().unwrap()
    }

    #[test]
    fn every_kind_of_difference_has_its_verdict() {
        let a = table("a.csv", &[("x", 'n'), ("temp", 'n'), ("k", 'n'), ("z", 't'), ("e", '2')]);
        let b = table("b.csv", &[("temps", 'n'), ("z", 't'), ("x", 'n'), ("k", 't'), ("e", '3')]);
        let compatibility = Compatibility::between(&a, &b);
        let verdicts: Vec<_> = compatibility
            .columns
            .iter()
            .map(|column| (column.name.as_str(), column.verdict, column.perhaps.as_deref()))
            .collect();
        let expected = [
            ("x", Alignment::Moved, None),
            ("temp", Alignment::OnlyInFirst, Some("temps")),
            ("k", Alignment::OtherKind, None),
            ("z", Alignment::Moved, None),
            ("e", Alignment::OtherKind, None),
            ("temps", Alignment::OnlyInSecond, Some("temp")),
        ];
        assert_eq!(verdicts, expected);
        let shown = compatibility.to_string();
        assert!(shown.contains("  temp    numbers               missing"), "{shown}");
        assert!(shown.contains("missing: perhaps 'temps'"), "{shown}");

        let error = compatibility.check().unwrap_err().to_string();
        assert!(error.starts_with("b.csv: its columns do not match those of a.csv"), "{error}");
        assert!(error.contains("'temp', 'e', 'temps'"), "{error}");
        assert!(compatibility.check_for(|name| ["x", "k", "z"].contains(&name)).is_ok());
    }

    #[test]
    fn a_long_table_is_cut() {
        let names: Vec<String> = (0..60).map(|i| format!("c{i}")).collect();
        let columns: Vec<_> = names.iter().map(|name| (name.as_str(), 'n')).collect();
        let b = table("b", &[("q", 'n')]);
        let error = Compatibility::between(&table("a", &columns), &b).check().unwrap_err();
        assert!(error.to_string().contains("and 53 more\n"), "{error}");
        assert!(error.to_string().contains("\n  and 21 more"), "{error}");
    }

    proptest! {
        #[test]
        fn the_order_of_columns_never_breaks_and_a_missing_one_always_does(
            order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(), gone in 0_usize..6
        ) {
            let names = ["a", "b", "c", "d", "e", "f"];
            let all: Vec<_> = names.iter().map(|name| (*name, 'n')).collect();
            let mut shuffled: Vec<_> = order.iter().map(|&i| (names[i], 'n')).collect();
            let a = table("a", &all);
            let compatibility = Compatibility::between(&a, &table("b", &shuffled));
            prop_assert!(compatibility.check().is_ok());
            let moved = order.iter().enumerate().filter(|&(at, &from)| at != from).count();
            prop_assert_eq!(compatibility.differences().count(), moved);

            shuffled.retain(|(name, _)| *name != names[gone]);
            let b = table("b", &shuffled);
            for (one, other, verdict) in
                [(&a, &b, Alignment::OnlyInFirst), (&b, &a, Alignment::OnlyInSecond)]
            {
                let compatibility = Compatibility::between(one, other);
                prop_assert!(compatibility.check().is_err());
                prop_assert!(compatibility.check_for(|name| name != names[gone]).is_ok());
                let broken: Vec<_> =
                    compatibility.columns.iter().filter(|column| column.breaks()).collect();
                prop_assert_eq!((broken.len(), broken[0].verdict), (1, verdict));
            }
        }
    }
}
