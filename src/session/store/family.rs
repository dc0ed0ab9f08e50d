//! Similar datasets: files with the same columns, and the parts of one table.

use std::path::Path;

use super::dataset::Loaded;
use crate::data::column::{Cell, is_missing, lacks_value};
use crate::data::csv::Decimal;
use crate::data::inspect::{ColumnFacts, Inspection, quoted as quoted_names};
use crate::data::read::parts::are_several;
use crate::data::{Column, Columns, DatasetDefinition, Guessed, Role, Source, Table};
use crate::error::Error;

/// A column with more values is not offered to be split by value.
const MOST_PARTS: usize = 12;

/// A dataset with fewer rows than this is pointed out.
const FEW_ROWS: usize = 200;

/// Of fewer rows nothing is said.
const FEWEST_ROWS: usize = 20;

/// Copies the settings of `from` for its columns to the same columns of `to`.
pub fn take_settings(from: &DatasetDefinition, to: &mut DatasetDefinition) {
    let before = to.clone();
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
        guessed: std::mem::take(&mut to.guessed),
        ..from.clone()
    };
    to.forget_changed_guesses(&before);
}

/// Whether two datasets have the same settings for their columns.
pub fn same_settings(one: &DatasetDefinition, other: &DatasetDefinition) -> bool {
    let mut alike = other.clone();
    take_settings(one, &mut alike);
    alike == *other
}

/// A name for a dataset of this file. Of `train-images-idx3-ubyte`, a usual name of image files,
/// that is `train`.
pub fn name_of(file: &str) -> String {
    let name = Path::new(file.strip_suffix(".gz").unwrap_or(file));
    let stem = name.file_stem().map_or_else(|| file.into(), |stem| stem.to_string_lossy());
    match stem.split_once("-images") {
        Some((set, _)) if file.contains("idx3-ubyte") && !set.is_empty() => set.to_owned(),
        _ => stem.into_owned(),
    }
}

/// Adds the guesses about one file, read from `origin`: how its numbers are written, whether it is
/// a folder of files, and how few rows a public one has. How many private rows there are may be
/// hidden later (`records`), and a session is passed on.
pub fn guess_of_file(definition: &mut DatasetDefinition, origin: &str, rows: usize) {
    let mut guess = |about, words: String| drop(definition.guessed.insert(about, words));
    if let Source::Delimited { decimal: Decimal::Comma, .. } = definition.source {
        guess(Guessed::Numbers, "decimal commas: 1,5 is read as 1.5".to_owned());
    }
    if are_several(Path::new(origin)) {
        let all = definition.source.files().join(" + ");
        let words =
            format!("all files of '{all}' are one dataset; named one by one, each is its own");
        guess(Guessed::Files, words);
    }
    if rows < FEW_ROWS && definition.role == Role::Public {
        guess(Guessed::Rows, format!("only {rows} rows: results from so few vary a lot"));
    }
}

/// A file with its columns and the findings about them.
#[derive(Clone)]
pub struct FamilyFile {
    pub source: Source,
    pub columns: Vec<String>,
    pub inspection: Inspection,
}

impl FamilyFile {
    pub fn of(source: Source, table: &Table) -> Self {
        Self { source, columns: table.names.clone(), inspection: Inspection::of(table, false) }
    }

    /// A file that was inspected already, perhaps as private.
    pub fn inspected(source: Source, columns: Vec<String>, inspection: Inspection) -> Self {
        Self { source, columns, inspection }
    }

    /// The file that names the dataset: of images and labels that of the images.
    fn file(&self) -> &str {
        match &self.source {
            Source::Together(files) => files.values().next_back().map_or("", String::as_str),
            source => source.files().first().copied().unwrap_or_default(),
        }
    }

    /// Whether no column is text where at least half of the other files have numbers. One text among
    /// numbers makes a public column text; of the private file, which comes first, most cells decide,
    /// so that no single record does.
    fn fits(&self, files: &[Self], first_is_private: bool) -> bool {
        let is_relative = |it: &&Self| it.columns == self.columns && !std::ptr::eq(*it, self);
        let others: Vec<&Self> = files.iter().filter(is_relative).collect();
        let is_private =
            first_is_private && files.first().is_some_and(|first| std::ptr::eq(first, self));
        !self.columns.iter().any(|column| {
            let has_numbers = if is_private {
                self.inspection.has_numbers(column)
            } else {
                self.inspection.has_only_numbers(column)
            };
            let have = others.iter().filter(|it| it.inspection.has_numbers(column)).count();
            !has_numbers && have > 0 && 2 * have >= others.len()
        })
    }
}

/// Definitions to start from: the first file private, unless all are public, and the others public.
/// Files with the same columns are described in the same way, from the contents of the public ones. A
/// file that does not fit the others changes nothing for them.
pub fn definitions(files: &[FamilyFile], first_is_private: bool) -> Vec<DatasetDefinition> {
    let mut definitions: Vec<DatasetDefinition> = Vec::new();
    let private = usize::from(first_is_private);
    for (index, found) in files.iter().enumerate() {
        let family = |other: &&FamilyFile| {
            other.columns == found.columns && other.fits(files, first_is_private)
        };
        let public: Vec<&Inspection> =
            files.iter().skip(private).filter(family).map(|other| &other.inspection).collect();
        // A private file is described as one, also where it fits none of those with its columns.
        let is_private = |it: &&FamilyFile| std::ptr::eq(*it, found) || family(it);
        let private = files.iter().take(private).find(is_private).map(|first| &first.inspection);
        let seen = match (public.is_empty(), private) {
            (false, _) => public,
            (true, Some(private)) => vec![private],
            (true, None) => vec![&found.inspection],
        };
        let mut name = name_of(found.file());
        while definitions.iter().any(|other| other.name == name) {
            name.push('\'');
        }
        let role = if index == 0 && first_is_private { Role::Private } else { Role::Public };
        let source = found.source.clone();
        let mut definition = Inspection::definition_of_all(&seen, private, &name, source.clone());
        definition.role = role;
        // Gaps are told of the file that has them, and never of a private one.
        definition.guessed.remove(&Guessed::Missing);
        if role == Role::Public {
            let alone = Inspection::definition_of_all(&[&found.inspection], None, &name, source);
            let own = alone.guessed.into_iter().filter(|(what, _)| *what == Guessed::Missing);
            definition.guessed.extend(own);
        }
        if let Some((first, like)) = files.first().zip(definitions.first())
            && first.columns != found.columns
        {
            follow(&mut definition, &found.columns, (like, &first.columns));
        }
        guess_of_file(&mut definition, &found.inspection.origin, found.inspection.rows);
        if role == Role::Public {
            read_as_missing(&mut definition, found.inspection.odd_texts());
        }
        definitions.push(definition);
    }
    if first_is_private && definitions.len() > 1 {
        guess_roles(&mut definitions);
    }
    definitions
}

/// Nothing but the order of the files says which one is private, and the rows of the others are shown.
fn guess_roles(definitions: &mut [DatasetDefinition]) {
    let first = definitions[0].name.clone();
    for definition in definitions {
        let words = match definition.role {
            Role::Private => "private, because it was named first".to_owned(),
            Role::Public => format!(
                "public, so its rows are shown; '{first}' is private, as it was named first"
            ),
        };
        definition.guessed.insert(Guessed::Role, words);
    }
}

/// A text that is the only one among the numbers of a public column is read as missing, and that is
/// said.
pub fn read_as_missing(definition: &mut DatasetDefinition, (texts, words): (Vec<String>, String)) {
    let known = definition.source.missing();
    if texts.is_empty() {
        return;
    }
    let (decimal, missing) = (definition.source.decimal(), [known, texts].concat());
    if let Ok(source) = definition.source.read_with(decimal, missing) {
        definition.source = source;
        let said = definition.guessed.entry(Guessed::Numbers).or_default();
        *said = if said.is_empty() { words } else { format!("{said}; {words}") };
    }
}

/// Describes a file with some of the columns of the first one like it.
fn follow(
    definition: &mut DatasetDefinition,
    columns: &[String],
    (first, all): (&DatasetDefinition, &[String]),
) {
    let Some(label) = first.label.as_ref().filter(|label| columns.contains(label)) else { return };
    let lacks: Vec<&str> =
        all.iter().filter(|it| !columns.contains(it)).map(String::as_str).collect();
    if 2 * lacks.len() > all.len() {
        return;
    }
    (definition.label, definition.task) = (first.label.clone(), first.task);
    let words = format!("label '{label}' ({}), as in '{}'", first.task, first.name);
    definition.guessed.insert(Guessed::Label, words);
    if let (Columns::Except(names), Columns::All) = (&first.columns, &definition.columns) {
        let here: Vec<String> =
            names.iter().filter(|name| columns.contains(name)).cloned().collect();
        if !here.is_empty() {
            let here_too: Vec<&str> = here.iter().map(String::as_str).collect();
            let words = format!("left out: {}, as in '{}'", quoted_names(&here_too), first.name);
            definition.guessed.insert(Guessed::Columns, words);
            definition.columns = Columns::Except(here);
        }
    }
    if let Columns::Except(names) = &mut definition.columns {
        names.retain(|name| name != label);
    }
    if !lacks.is_empty() {
        let words = format!(
            "without {}, which '{}' has: to pool both kinds, leave that out of all of them",
            quoted_names(&lacks),
            first.name
        );
        let columns = definition.guessed.entry(Guessed::Columns).or_default();
        *columns = if columns.is_empty() { words } else { format!("{columns}; {words}") };
    }
}

/// Why a dataset does not fit those with the same columns: one of its columns holds text where most
/// of the others have numbers. Of a private dataset the kind of most cells decides.
pub fn misfit(own: &Loaded, others: &[&Loaded]) -> Option<Error> {
    let names = |it: &Loaded| it.columns.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    let (columns, definition) = (names(own), &own.definition);
    let others: Vec<&&Loaded> = others.iter().filter(|other| names(other) == columns).collect();
    let number = |loaded: &Loaded, at: usize| {
        let exact =
            loaded.public().ok().map(|table| matches!(table.columns[at], Column::Numbers(_)));
        exact.unwrap_or(loaded.columns[at].numeric)
    };
    let is_odd = |at: &usize| {
        let have = others.iter().filter(|other| number(other, *at)).count();
        let (name, column) = (&columns[*at], &own.columns[*at]);
        let one_text = column.width == 1 && !number(own, *at);
        one_text
            && have > 0
            && 2 * have >= others.len()
            && definition.uses(name)
            && definition.category(name).is_none()
    };
    let at = (0..columns.len()).find(is_odd)?;
    let error = Error::failed(format!(
        "'{}' does not fit the other datasets: they have numbers in this column, and it has text",
        definition.name
    ));
    let cure = "correct the cell, change how the file is read (Enter, 'decimals' and 'read as missing'), leave the column \
                out of the features of all, or remove this dataset";
    let public = own.public().ok();
    let row = public.and_then(|table| {
        let is_text = |cell: Cell<'_>| matches!(&cell, Cell::Text(text) if !is_missing(text));
        table.columns[at].cells().position(is_text).map(|row| table.place(row))
    });
    let place = row.unwrap_or_else(|| own.definition.source.files().join(" + "));
    Some(error.at(format!("{place}, column '{}'", columns[at])).cure(cure))
}

/// The columns in use that are missing in most rows of a public dataset, in words. More of such a
/// column is filled in than was seen, so a model learns the filling and not the column. Of `others`,
/// which are public, too, one is named that has them.
pub fn mostly_missing(
    (definition, facts): (&DatasetDefinition, &[ColumnFacts]),
    others: &[(&str, &[ColumnFacts])],
) -> Option<String> {
    let lacks =
        |it: &ColumnFacts| it.missing > it.present && it.missing + it.present >= FEWEST_ROWS;
    let is_used = |it: &&ColumnFacts| {
        definition.label.as_ref() == Some(&it.name) || definition.uses(&it.name)
    };
    let found: Vec<&ColumnFacts> = facts.iter().filter(|it| lacks(it)).filter(is_used).collect();
    let named = found.iter().map(|it| {
        let percent = 100 * it.missing / (it.missing + it.present);
        format!("'{}' ({percent} %)", it.name)
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let has = |other: &[ColumnFacts]| {
        let own = found.iter().filter_map(|it| other.iter().find(|other| other.name == it.name));
        own.filter(|other| other.present > other.missing).count()
    };
    let other = others.iter().max_by_key(|(_, other)| has(other)).filter(|(_, it)| has(it) > 0);
    let other = other.map_or_else(String::new, |(name, _)| format!(", not in '{name}'"));
    (!found.is_empty()).then(|| {
        format!(
            "mostly missing in '{}'{other}: {named}; most of it would be filled in, so leave it \
             out of the features, or this dataset out of the plan",
            definition.name
        )
    })
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

/// One part of the rows of several.
pub fn together(parts: &[TablePart]) -> TablePart {
    let names: Vec<&str> = parts.iter().map(|it| it.name.as_str()).collect();
    let conditions = parts.iter().map(|TablePart { condition, .. }| {
        if condition.contains(" and ") { format!("({condition})") } else { condition.clone() }
    });
    let condition = conditions.collect::<Vec<_>>().join(" or ");
    let condition = if parts.len() > 1 { format!("({condition})") } else { condition };
    let constant = parts.first().and_then(|it| it.constant.clone());
    TablePart { name: names.join(" + "), condition, constant }
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
    use crate::data::read;
    use crate::data::{Missing, Task, csv};
    use crate::store::found_file::FoundFile;

    fn table(text: &str) -> Table {
        csv::read_bytes("t.csv", text.as_bytes()).unwrap()
    }

    fn found(file: &str, text: &str) -> FamilyFile {
        FamilyFile::of(Source::File(file.to_owned()), &table(text))
    }

    #[test]
    fn a_few_whole_numbers_are_told_of_public_files_alone() {
        let rows = |from: usize| {
            (from..from + 40).map(|at| format!("{},{}.5,{}\n", at % 4 + 1, at, at % 2))
        };
        let text = |from| format!("status,amount,risk\n{}", rows(from).collect::<String>());
        let files = [found("a.csv", &text(0)), found("b.csv", &text(7))];
        let of_all = definitions(&files, true);
        let said = &of_all[1].guessed[&Guessed::Columns];
        assert!(
            said.contains("'status' has few different whole numbers and is read as a number"),
            "{said}"
        );
        let alone = definitions(&files[..1], true);
        assert!(!alone[0].guessed[&Guessed::Columns].contains("whole numbers"), "{alone:?}");
    }

    /// Both files have the columns of the other one, and each has text where the other has numbers.
    #[test]
    fn a_private_file_that_fits_no_other_one_is_not_described_as_a_public_one() {
        let text = |row: fn(usize) -> String| {
            format!("status,amount,risk\n{}", (0..40).map(row).collect::<String>())
        };
        let ours = found("ours.csv", &text(|at| format!("{},a{at},{}\n", at % 4 + 1, at % 2)));
        let theirs =
            found("theirs.csv", &text(|at| format!("{},{at}.5,r{}\n", at % 4 + 1, at % 2)));
        let said = |files: &[FamilyFile], first_is_private| {
            let own = definitions(files, first_is_private).swap_remove(0);
            own.guessed.get(&Guessed::Columns).cloned().unwrap_or_default()
        };
        let whole = "whole numbers";
        assert!(said(std::slice::from_ref(&ours), false).contains(whole));
        let files = [ours, theirs];
        assert!(!said(&files, true).contains(whole), "{}", said(&files, true));
    }

    const WINE: &str = "colour,acid,year,quality\nred,7.5,2010,5\nwhite,6.25,2011,6\nred,7,2010,5\nwhite,6.5,2011,7\n";

    #[test]
    fn files_with_the_same_columns_are_described_alike_by_the_public_ones() {
        let files = [
            found("a/ours.csv", "place,age,disease\na,1,no\na,2,yes\na,3,no\n"),
            found("b/ours.csv.gz", "place,age,disease\nb,,no\nb,5,yes\nb,6,no\n"),
            found("theirs.csv", "place,age,disease\nc,7,no\nc,8,yes\nc,9.5,no\n"),
            found("other.csv", "x,y\n1.5,2.5\n2.5,1\n3.5,1.5\n"),
        ];
        let found = definitions(&files, true);
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
        assert_eq!(found[0].missing, Missing::PublicMean);
    }

    #[test]
    fn one_odd_cell_of_a_public_file_takes_no_column_from_all() {
        let good = "height,dose,y\n1.5,low,2.5\n2.7,high,1\n3.5,4,1.5\n";
        let bad = "height,dose,y\n1.5,low,2.5\nn,high,1\n3.5,4,1.5\n";
        let left_out = |files: &[FamilyFile]| definitions(files, true)[0].columns.clone();
        let files = [found("ours.csv", good), found("theirs.csv", bad), found("third.csv", good)];
        // The dose has numbers as text everywhere, the height only in one place.
        let dose = Columns::Except(vec!["dose".to_owned()]);
        assert_eq!(left_out(&files), dose);
        assert_eq!(left_out(&files[..2]), dose);
        // One private record must not decide about a column either.
        assert_eq!(left_out(&files[1..2]), dose);
    }

    #[test]
    fn a_file_that_does_not_fit_changes_nothing_for_the_others() {
        let good = "a,b,c,quality\n1.5,2.5,0.5,3\n2.5,1.5,1.5,4\n3.5,3.5,2.5,5\n";
        let odd = "a,b,c,quality\nx,y,0.5,3\nz,x,1.5,4\ny,z,2.5,5\n";
        let ours = || found("ours.csv", good);
        let alone = definitions(&[ours(), found("p.csv", good)], true);
        for files in [
            vec![ours(), found("p.csv", good), found("odd.csv", odd)],
            vec![ours(), found("odd.csv", odd), found("p.csv", good)],
            vec![ours(), found("odd.csv", odd)],
            // One cell is enough in a public file: its reader names the cell.
            vec![ours(), found("p.csv", &good.replace("5\n", "many\n"))],
            vec![ours(), found("p.csv", good), found("q.csv", &good.replace("5\n", "many\n"))],
        ] {
            let found = definitions(&files, true);
            assert!(same_settings(&alone[0], &found[0]), "{:?}", found[0]);
            assert!(found.iter().all(|it| same_settings(&alone[0], it)));
        }
        // Gaps are told of the file that has them.
        let gaps = good.replace("1.5,1.5,4", ",,4");
        let found_too = definitions(&[ours(), found("p.csv", good), found("q.csv", &gaps)], true);
        assert!(!found_too[1].guessed.contains_key(&Guessed::Missing), "{:?}", found_too[1]);
        assert!(found_too[2].guessed[&Guessed::Missing].contains("'b', 'c'"), "{found_too:?}");
        assert!(same_settings(&found_too[1], &found_too[2]));
        // A private file that is unlike the public ones is described like them.
        let private = definitions(&[found("ours.csv", odd), found("p.csv", good)], true);
        assert!(same_settings(&alone[0], &private[0]));
    }

    #[test]
    fn the_only_text_among_public_numbers_is_read_as_missing_and_said() {
        let with = |odd: &str| {
            let rows = (0..40).map(|row| match row {
                16 => format!("{odd},{}.5\n", row % 7),
                _ => format!("{}.25,{}.5\n", row % 9, row % 7),
            });
            format!("temp,y\n{}", rows.collect::<String>())
        };
        let plain = with("3.5");
        for files in [
            vec![found("ours.csv", &plain), found("p.csv", &with("n.a."))],
            vec![found("ours.csv", &with("n.a.")), found("p.csv", &with("n.a."))],
        ] {
            let found = definitions(&files, true);
            assert_eq!(found[1].source.missing(), ["n.a."]);
            assert_eq!((&found[1].columns, found[1].missing), (&Columns::All, Missing::PublicMean));
            let said =
                "1 of 40 values of 'temp' is not a number and read as missing: 'n.a.' (t.csv:18)";
            assert_eq!(found[1].guessed[&Guessed::Numbers], said);
            // One private record decides nothing, and of private tables nothing has to be named.
            assert!(found[0].source.missing().is_empty());
            assert!(found.iter().all(|it| it.check().is_ok()));
            let read = csv::read_bytes("t.csv", with("n.a.").as_bytes()).unwrap();
            assert!(matches!(read.columns[0], Column::Text(_)), "as it is written");
        }
        let private = definitions(&[found("ours.csv", &with("n.a."))], true);
        assert!(private[0].source.missing().is_empty());
        // Two texts, or a usual one, may be categories.
        let two = with("n.a.").replacen("8.25", "low", 1);
        let two = definitions(&[found("ours.csv", &plain), found("p.csv", &two)], true);
        assert!(two[1].source.missing().is_empty());
        // What the session says is what is read.
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("p.csv");
        std::fs::write(&path, with("n.a.")).unwrap();
        let source = Source::File("p.csv".to_owned());
        let source = source.read_with(Decimal::Point, vec!["n.a.".to_owned()]).unwrap();
        let reading = read::Reading::Delimited(source.dialect());
        let table = read::read(&path, &reading, &mut read::Unwatched).unwrap();
        let Column::Numbers(numbers) = &table.columns[0] else { panic!("it has numbers") };
        let gaps = numbers.iter().enumerate().filter(|(_, number)| number.is_nan());
        assert_eq!(gaps.map(|(row, _)| row).collect::<Vec<_>>(), [16]);
    }

    #[test]
    fn a_file_without_some_columns_takes_the_label_and_says_what_it_lacks() {
        let ours = "quality,colour,site,z\n1,a,s,2.5\n2,b,s,1\n3,c,s,3\n1,a,s,2\n";
        let less = "quality,colour,site\n1,a,s\n2,b,t\n3,c,t\n1,a,s\n";
        let found = definitions(&[found("ours.csv", ours), found("less.csv", less)], true);
        assert_eq!(found[1].label.as_deref(), Some("quality"));
        assert_eq!((found[1].task, &found[1].columns), (found[0].task, &found[0].columns));
        let words = found[1].guessed.values().cloned().collect::<Vec<_>>().join("\n");
        assert!(words.contains("as in 'ours'") && words.contains("without 'z'"), "{words}");
        assert!(words.contains("only 4 rows"), "{words}");
    }

    #[test]
    fn a_column_is_mostly_missing_where_more_is_filled_in_than_was_seen() {
        let file = |gaps: usize, rows: usize| {
            let row =
                |at: usize| format!("{},{},{}\n", if at < gaps { "NA" } else { "1.5" }, at, at % 7);
            found("t.csv", &format!("ca,note,y\n{}", (0..rows).map(row).collect::<String>()))
        };
        let said = |gaps: usize, rows: usize, others: &[FamilyFile]| {
            let own = file(gaps, rows);
            let mut definition = definitions(std::slice::from_ref(&own), false).remove(0);
            definition.name = "va".to_owned();
            definition.columns = Columns::Except(vec!["note".to_owned()]);
            let others = others.iter().map(|it| ("cleveland", &*it.inspection.columns));
            let others: Vec<_> = others.collect();
            mostly_missing((&definition, &own.inspection.columns), &others)
        };
        let told = said(199, 200, &[file(0, 200)]).unwrap();
        assert!(
            told.starts_with("mostly missing in 'va', not in 'cleveland': 'ca' (99 %)"),
            "{told}"
        );
        assert!(said(101, 200, &[]).unwrap().starts_with("mostly missing in 'va': 'ca' (50 %)"));
        assert!(said(199, 200, &[file(150, 200)]).unwrap().contains("in 'va': "));
        // As many as there are values, none, or among a few rows.
        assert_eq!([said(100, 200, &[]), said(0, 200, &[]), said(18, 19, &[])], [None, None, None]);
    }

    #[test]
    fn decimal_commas_are_read_as_numbers_and_said() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let found = FoundFile::of(&path, "t.csv").unwrap();
            found.read(|path, reading| read::read(path, reading, &mut read::Unwatched)).unwrap()
        };
        let (table, source) = read("a;b\n1,5;x\n2;y\n1.000,25;x\n");
        assert_eq!(source.decimal(), Decimal::Comma);
        let Column::Numbers(numbers) = &table.columns[0] else { panic!("it has numbers") };
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [1.5, 2.0, 1000.25]);
        let mut definition = DatasetDefinition::new("t", Role::Public, source);
        guess_of_file(&mut definition, "t.csv", 3);
        let words = definition.guessed.get(&Guessed::Rows);
        assert!(words.is_some_and(|words| words.contains("only 3 rows")));
        let mut private = DatasetDefinition { role: Role::Private, ..definition.clone() };
        private.forget_changed_guesses(&definition);
        guess_of_file(&mut private, "t.csv", 3);
        assert!(!private.guessed.contains_key(&Guessed::Rows), "their number may be hidden");
        assert!(definition.guessed[&Guessed::Numbers].contains("decimal commas"));
        assert!(!definition.guessed.contains_key(&Guessed::Files), "one file");
        let folder = path.parent().unwrap().display().to_string();
        guess_of_file(&mut definition, &folder, 3);
        assert!(definition.guessed[&Guessed::Files].contains("are one dataset"));
        // Thousands, words and points stay what they are.
        for text in ["a;b\n1,000;x\n2,500;y\n", "a;b\nx,y;x\nz;y\n", "a;b\n1.5;x\n2;y\n"] {
            assert_eq!(read(text).1.decimal(), Decimal::Point, "{text}");
        }
    }

    #[test]
    fn a_dataset_with_text_where_the_others_have_numbers_says_where() {
        let place = tempfile::tempdir().unwrap();
        let workspace = super::super::workspace::Workspace::fresh(place.path());
        let load = |name: &str, role: Role, text: &str| {
            std::fs::write(place.path().join(name), text).unwrap();
            let mut definition = DatasetDefinition::new(name, role, Source::File(name.to_owned()));
            definition.label = Some("y".to_owned());
            super::super::dataset::load(&definition, &workspace).unwrap()
        };
        let good = "height,dose,y\n1.5,low,2.5\n2.7,high,1\n3.5,low,1.5\n";
        let ours = load("ours.csv", Role::Private, good);
        let theirs = load("theirs.csv", Role::Public, good);
        let bad = "height,dose,y\n1.5,low,2.5\n?,high,1\nx,low,1.5\n";
        let bad = load("bad.csv", Role::Public, bad);
        let error = misfit(&bad, &[&ours, &theirs]).unwrap();
        let place = error.place().unwrap_or_default();
        assert!(place.ends_with("bad.csv:4, column 'height'"), "{place}");
        for (own, others) in [(&ours, [&bad, &theirs]), (&theirs, [&ours, &bad])] {
            assert!(misfit(own, &others).is_none());
        }
        // One private record does not decide, and a column that is not used does not count.
        let one = "height,dose,y\n1.5,low,2.5\n2.7,high,1\nx,low,1.5\n";
        assert!(misfit(&load("one.csv", Role::Private, one), &[&theirs]).is_none());
        let mut unused = bad;
        unused.definition.columns = Columns::Except(vec!["height".to_owned()]);
        assert!(misfit(&unused, &[&ours, &theirs]).is_none());
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
