//! What opening a file guesses of it: the label, columns that are no features, values read as
//! missing, decimal commas, columns that name persons, and few rows.

use std::collections::BTreeMap;

use crate::data::csv::Decimal;
use crate::data::inspect::Inspection;
use crate::data::{Guessed, Role, Source, Table};
use crate::session::family::guess_of_file;

/// A file of which it is known whether a column says whose record a row is.
pub struct KnownFile {
    pub file: &'static str,
    /// The column with a person's identifier.
    person: Option<&'static str>,
}

const fn without(file: &'static str) -> KnownFile {
    KnownFile { file, person: None }
}

const fn with(file: &'static str, column: &'static str) -> KnownFile {
    KnownFile { file, person: Some(column) }
}

/// Further files in which no column names persons in several rows.
pub static FURTHER: [KnownFile; 6] = [
    without("pydataset/MASS/Boston.csv"),
    without("pydataset/MASS/Pima.tr.csv"),
    without("pydataset/ggplot2/diamonds.csv"),
    without("pydataset/Ecdat/Wages1.csv"),
    without("pydataset/car/Prestige.csv"),
    without("pydataset/survival/lung.csv"),
];

/// Files with several rows of each person.
pub static WITH_PERSONS: [KnownFile; 5] = [
    with("pydataset/Ecdat/Males.csv", "nr"),
    with("pydataset/lme4/VerbAgg.csv", "id"),
    with("pydataset/geepack/ohio.csv", "id"),
    with("pydataset/survival/cgd.csv", "id"),
    with("pydataset/MASS/epil.csv", "subject"),
];

/// The guesses about some files, in the order of the files' names.
#[derive(Debug, Default)]
pub struct Guesses {
    found: BTreeMap<String, GuessesOfFile>,
}

/// The guesses about one file.
#[derive(Debug)]
struct GuessesOfFile {
    /// The scored tables that come from this file.
    tables: Vec<String>,
    words: Vec<String>,
    /// The proposed units of persons.
    units: Vec<String>,
    /// Whether the known column is proposed, and whether it is proposed under the name 'x', too.
    is_found: Option<(bool, bool)>,
}

/// The columns that are proposed as unit of a table.
fn units(table: &Table) -> Vec<String> {
    Inspection::of(table, false).units().map(str::to_owned).collect()
}

/// The column of a file that names persons.
fn person(file: &str) -> Option<&'static str> {
    WITH_PERSONS.iter().find(|it| it.file == file)?.person
}

impl GuessesOfFile {
    fn of(file: &str, table: &Table) -> Self {
        let found = Inspection::of(table, false);
        let (name, file) = (file.to_owned(), file.to_owned());
        let source = if Inspection::has_decimal_commas(table) {
            let (delimiter, names, missing) = (None, Vec::new(), Vec::new());
            Source::Delimited { file, delimiter, names, decimal: Decimal::Comma, missing }
        } else {
            Source::File(file)
        };
        let mut definition = Inspection::definition_of_all(&[&found], None, &name, source);
        definition.role = Role::Public;
        guess_of_file(&mut definition, &found.origin, found.rows);
        let without = [
            (Guessed::Label, "no label".to_owned()),
            (Guessed::Columns, "no column left out".to_owned()),
            (Guessed::Missing, "no value read as missing".to_owned()),
            (Guessed::Numbers, "decimal points".to_owned()),
            (Guessed::Rows, format!("{} rows", found.rows)),
        ];
        let guessed = definition.guessed;
        let words = without.into_iter();
        let words = words.map(|(about, none)| guessed.get(&about).cloned().unwrap_or(none));
        let is_found = person(&name).map(|column| {
            let is_one = |table: &Table, column: &str| units(table).iter().any(|it| it == column);
            let mut renamed = table.clone();
            renamed.names.iter_mut().filter(|it| *it == column).for_each(|it| "x".clone_into(it));
            (is_one(table, column), is_one(&renamed, "x"))
        });
        let units = found.units().map(str::to_owned).collect();
        Self { tables: Vec::new(), words: words.collect(), units, is_found }
    }

    fn line(&self, file: &str) -> String {
        let of = match self.tables.as_slice() {
            [] => String::new(),
            tables => format!(" ({})", tables.join(", ")),
        };
        let persons = match self.units.as_slice() {
            [] => "no column names persons".to_owned(),
            units => format!("may name persons: {}", units.join(", ")),
        };
        format!("{file}{of}: {}; {persons}.", self.words.join("; "))
    }
}

impl Guesses {
    /// Adds a file, and the scored table that comes from it.
    pub fn add(&mut self, file: &'static str, scored: Option<String>, table: &Table) {
        let own = || GuessesOfFile::of(file, table);
        self.found.entry(file.to_owned()).or_insert_with(own).tables.extend(scored);
    }

    /// How often a column is taken for persons' identifiers, and should be; and what is guessed of
    /// each file.
    pub fn lines(&self) -> Vec<String> {
        let without = self.found.values().filter(|it| it.is_found.is_none());
        let alarms = without.clone().filter(|it| !it.units.is_empty()).count();
        let known: Vec<(bool, bool)> = self.found.values().filter_map(|it| it.is_found).collect();
        let [own, other] = [|it: &(bool, bool)| it.0, |it: &(bool, bool)| it.1]
            .map(|is_found| known.iter().filter(|it| is_found(it)).count());
        let summary = format!(
            "What opening guesses. Identifiers of persons: found in {own} of {} files with several \
             rows of each person ({other} if the column is called 'x'), and taken for one in \
             {alarms} of {} files without. Tables with * were not used to choose the rule of the cap, \
             and the files of pydataset for no rule.",
            known.len(),
            without.count()
        );
        let lines = self.found.iter().map(|(file, it)| it.line(file));
        std::iter::once(summary).chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::csv::read_bytes;
    use crate::session::demo;

    #[test]
    fn no_column_of_the_tables_inside_the_program_is_taken_for_persons_and_every_guess_is_said() {
        let mut guesses = Guesses::default();
        for file in ["bikeshare", "german_credit"] {
            let table = read_bytes(file, demo::builtin(file).unwrap()).unwrap();
            guesses.add(file, Some("scored".to_owned()), &table);
        }
        let lines = guesses.lines();
        assert!(lines[0].contains("taken for one in 0 of 2 files without."), "{lines:?}");
        assert!(lines[1].starts_with("bikeshare (scored): label 'bikers' (regression): "));
        assert!(lines[2].starts_with("german_credit (scored): label "), "{lines:?}");
    }

    #[test]
    fn persons_are_found_by_name_or_by_the_properties_that_come_again_with_them() {
        let rows = (0..240).map(|row| {
            let who = row * 7 % 60;
            format!("{who},{},{},{}.5\n", 20 + who * 13 % 31, who * 11 % 3, row * row % 83)
        });
        let text = format!("nr,age,group,y\n{}", rows.collect::<String>());
        let mut guesses = Guesses::default();
        let file = WITH_PERSONS[0].file;
        guesses.add(file, None, &read_bytes(file, text.as_bytes()).unwrap());
        let summary = &guesses.lines()[0];
        assert!(
            summary.contains("found in 1 of 1 files") && summary.contains("(1 if"),
            "{summary}"
        );
    }
}
