//! Similar datasets: files with the same columns, and the parts of one table.

use std::path::Path;

use crate::data::column::{Cell, lacks_value};
use crate::data::inspect::Inspection;
use crate::data::{Column, Columns, DatasetDefinition, Role, Source, Table};

/// A column with more values is not offered to be split by value.
const MOST_PARTS: usize = 12;

/// Copies the settings of `from` for its columns to the same columns of `to`.
pub fn take_settings(from: &DatasetDefinition, to: &mut DatasetDefinition) {
    *to = DatasetDefinition {
        name: std::mem::take(&mut to.name),
        role: to.role,
        source: to.source.clone(),
        filter: to.filter.take(),
        sample: to.sample,
        records: to.records,
        declared_means: std::mem::take(&mut to.declared_means),
        declared_public: to.declared_public,
        fingerprint: to.fingerprint.take(),
        ..from.clone()
    };
}

/// Whether two datasets have the same settings for their columns.
pub fn same_settings(one: &DatasetDefinition, other: &DatasetDefinition) -> bool {
    let mut alike = other.clone();
    take_settings(one, &mut alike);
    alike == *other
}

/// A name for a dataset of this file.
pub fn name_of(file: &str) -> String {
    let name = Path::new(file.strip_suffix(".gz").unwrap_or(file));
    name.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// A file with its columns and the findings about them.
pub struct FamilyFile {
    pub file: String,
    pub source: Source,
    pub columns: Vec<String>,
    pub inspection: Inspection,
}

impl FamilyFile {
    pub fn of(file: String, source: Source, table: &Table) -> Self {
        let inspection = Inspection::of(table, false);
        Self { file, source, columns: table.names.clone(), inspection }
    }
}

/// Definitions to start from: the first file private, the others public. Files with the same
/// columns are described in the same way, from the contents of the public ones.
pub fn definitions(files: &[FamilyFile]) -> Vec<DatasetDefinition> {
    let mut definitions: Vec<DatasetDefinition> = Vec::new();
    for (index, found) in files.iter().enumerate() {
        let family = |other: &&FamilyFile| other.columns == found.columns;
        let public: Vec<&Inspection> =
            files.iter().skip(1).filter(family).map(|other| &other.inspection).collect();
        let private = files.first().filter(family).map(|first| &first.inspection);
        let seen = if public.is_empty() { vec![&found.inspection] } else { public };
        let mut name = name_of(&found.file);
        while definitions.iter().any(|other| other.name == name) {
            name.push('\'');
        }
        let source = found.source.clone();
        let role = if index == 0 { Role::Private } else { Role::Public };
        let definition = Inspection::definition_of_all(&seen, private, &name, source);
        definitions.push(DatasetDefinition { role, ..definition });
    }
    definitions
}

/// A column by which a table can be split.
#[derive(Debug, Clone, PartialEq)]
pub struct Divider {
    pub column: String,
    pub by: By,
}

#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A part for each value.
    Values(Vec<PartValue>),
    /// Parts between numbers that the user gives.
    Numbers,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartValue {
    Number(f64),
    Text(String),
}

impl std::fmt::Display for PartValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The columns by which a table can be split: those with few values first.
pub fn dividers(table: &Table) -> Vec<Divider> {
    let divider = |(name, column): (&String, &Column)| {
        if matches!(column, Column::Vectors(_)) {
            return None;
        }
        let values = column.values().into_iter().filter(|(cell, _)| !lacks_value(cell));
        let values: Vec<PartValue> = values
            .map(|(cell, _)| match cell {
                Cell::Number(number) => PartValue::Number(number),
                cell => PartValue::Text(cell.to_string()),
            })
            .collect();
        let by = match values.len() {
            0 | 1 => return None,
            2..=MOST_PARTS => By::Values(values),
            _ if matches!(column, Column::Numbers(_)) => By::Numbers,
            _ => return None,
        };
        Some(Divider { column: name.clone(), by })
    };
    let mut found: Vec<Divider> =
        table.names.iter().zip(&table.columns).filter_map(divider).collect();
    // Names of places and years are good dividers; codes with two values are often answers.
    found.sort_by_key(|divider| match &divider.by {
        By::Values(values) if matches!(values[0], PartValue::Text(_)) => (0, values.len()),
        By::Values(values) => (1, values.len()),
        By::Numbers => (2, 0),
    });
    found
}

/// A part of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TablePart {
    pub name: String,
    condition: String,
    /// The column that is constant in this part, so it is no longer a feature.
    constant: Option<String>,
}

/// A part for each value of a column.
pub fn by_values(column: &str, values: &[PartValue]) -> Vec<TablePart> {
    let part = |value: &PartValue| {
        let (name, value) = match value {
            PartValue::Text(text) => (text.clone(), format!("\"{}\"", text.replace('"', "\"\""))),
            PartValue::Number(number) => (format!("{column} {number}"), number.to_string()),
        };
        let condition = format!("{} == {value}", quoted(column));
        TablePart { name, condition, constant: Some(column.to_owned()) }
    };
    values.iter().map(part).collect()
}

/// The parts below, between and from these numbers on.
pub fn by_numbers(column: &str, cuts: &[f64]) -> Vec<TablePart> {
    let mut cuts = cuts.to_vec();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let name = quoted(column);
    let part = |place: usize| {
        let from = place.checked_sub(1).map(|before| cuts[before]);
        let words = |name: &str, and: &str| match (from, cuts.get(place)) {
            (None, Some(to)) => format!("{name} < {to}"),
            (Some(from), None) => format!("{name} >= {from}"),
            (Some(from), Some(to)) => format!("{name} >= {from}{and}{name} < {to}"),
            (None, None) => String::new(),
        };
        TablePart { name: words(column, ", "), condition: words(&name, " and "), constant: None }
    };
    (0..=cuts.len()).map(part).collect()
}

/// The name of a column in a filter.
fn quoted(column: &str) -> String {
    let plain = column.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !column.starts_with(|c: char| c.is_ascii_digit())
        && !["and", "or", "not", "in", "is", "missing"].contains(&column);
    if plain { column.to_owned() } else { format!("`{column}`") }
}

/// These parts of a dataset, all of them public.
pub fn split(whole: &DatasetDefinition, parts: &[TablePart]) -> Vec<DatasetDefinition> {
    let of = |part: &TablePart| {
        let filter = match &whole.filter {
            Some(filter) if filter.contains(" or ") => format!("({filter}) and {}", part.condition),
            Some(filter) => format!("{filter} and {}", part.condition),
            None => part.condition.clone(),
        };
        let name = match &whole.filter {
            Some(_) => format!("{}, {}", whole.name, part.name),
            None => part.name.clone(),
        };
        let mut columns = whole.columns.clone();
        if let Some(constant) = part.constant.clone() {
            match &mut columns {
                Columns::All => columns = Columns::Except(vec![constant]),
                Columns::Except(names) if !names.contains(&constant) => names.push(constant),
                Columns::Only(names) => names.retain(|name| *name != constant),
                Columns::Except(_) => {}
            }
        }
        DatasetDefinition {
            name,
            role: Role::Public,
            filter: Some(filter),
            columns,
            fingerprint: None,
            records: None,
            ..whole.clone()
        }
    };
    parts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::filter::Filter;
    use crate::data::{Task, csv};

    fn table(text: &str) -> Table {
        csv::read_bytes("t.csv", text.as_bytes()).unwrap()
    }

    const WINE: &str = "colour,acid,year,quality\nred,7.5,2010,5\nwhite,6.25,2011,6\nred,7,2010,5\nwhite,6.5,2011,7\n";

    #[test]
    fn files_with_the_same_columns_are_described_alike_by_the_public_ones() {
        let found = |file: &str, text: &str| {
            FamilyFile::of(file.to_owned(), Source::File(file.to_owned()), &table(text))
        };
        let files = [
            found("a/ours.csv", "place,age,disease\na,1,no\na,2,yes\na,3,no\n"),
            found("b/ours.csv.gz", "place,age,disease\nb,,no\nb,5,yes\nb,6,no\n"),
            found("theirs.csv", "place,age,disease\nc,7,no\nc,8,yes\nc,9.5,no\n"),
            found("other.csv", "x,y\n1.5,2.5\n2.5,1\n3.5,1.5\n"),
        ];
        let found = definitions(&files);
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["ours", "ours'", "theirs", "other"]);
        assert_eq!(found[0].role, Role::Private);
        assert!(found[1..].iter().all(|it| it.role == Role::Public));
        assert!(same_settings(&found[0], &found[1]) && same_settings(&found[0], &found[2]));
        assert!(!same_settings(&found[0], &found[3]));
        assert_eq!(
            (found[0].label.as_deref(), found[0].task),
            (Some("disease"), Task::Classification)
        );
        assert_eq!(found[0].columns, Columns::Except(vec!["place".to_owned()]));
        assert_eq!(found[0].missing, crate::data::Missing::PublicMean);
    }

    #[test]
    fn one_odd_cell_of_a_public_file_takes_no_column_from_all() {
        let found = |file: &str, text: &str| {
            FamilyFile::of(file.to_owned(), Source::File(file.to_owned()), &table(text))
        };
        let good = "height,dose,y\n1.5,low,2.5\n2.7,high,1\n3.5,4,1.5\n";
        let bad = "height,dose,y\n1.5,low,2.5\nn,high,1\n3.5,4,1.5\n";
        let left_out = |files: &[FamilyFile]| definitions(files)[0].columns.clone();
        let files = [found("ours.csv", good), found("theirs.csv", bad), found("third.csv", good)];
        // The dose has numbers as text everywhere, the height only in one place.
        let dose = Columns::Except(vec!["dose".to_owned()]);
        assert_eq!(left_out(&files), dose);
        assert_eq!(left_out(&files[..2]), dose);
        // One private record must not decide about a column either.
        assert_eq!(left_out(&files[1..2]), dose);
    }

    #[test]
    fn a_table_is_split_by_values_and_by_numbers_and_every_filter_says_what_it_means() {
        let wine = table(WINE);
        let found = dividers(&wine);
        let columns: Vec<&str> = found.iter().map(|it| it.column.as_str()).collect();
        assert_eq!(columns[..2], ["colour", "year"]);
        let By::Values(values) = &found[0].by else { panic!("colour has two values") };
        let whole = DatasetDefinition::new("wine", Role::Private, Source::File("wine.csv".into()));
        let parts = split(&whole, &by_values("colour", values));
        assert_eq!(parts[1].name, "white");
        assert_eq!(parts[1].columns, Columns::Except(vec!["colour".to_owned()]));
        let rows = |definition: &DatasetDefinition| {
            let filter = Filter::parse(definition.filter.as_deref().unwrap()).unwrap();
            filter.apply(&wine).unwrap().rows()
        };
        assert_eq!((rows(&parts[0]), rows(&parts[1])), (2, 2));
        let finer = split(&parts[1], &by_numbers("acid", &[6.4]));
        assert_eq!(finer[0].name, "white, acid < 6.4");
        assert_eq!((rows(&finer[0]), rows(&finer[1])), (1, 1));
        let thirds = split(&whole, &by_numbers("acid", &[7.0, 6.4, 7.0]));
        assert_eq!(thirds.len(), 3);
        assert_eq!(thirds.iter().map(rows).sum::<usize>(), 4);
        assert_eq!(rows(&split(&whole, &by_values("year", &[PartValue::Number(2010.0)]))[0]), 2);
    }

    #[test]
    fn names_that_filters_could_not_read_are_quoted() {
        let odd = by_values("or", &[PartValue::Text("a \"b\"".to_owned())]);
        assert_eq!(odd[0].condition, "`or` == \"a \"\"b\"\"\"");
        assert!(Filter::parse(&odd[0].condition).is_ok());
        assert_eq!(by_numbers("my age", &[5.0])[1].condition, "`my age` >= 5");
    }
}
