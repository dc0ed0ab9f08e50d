//! Columns whose values seem to identify the person of each row.
//!
//! A person's name repeats, and the person's properties repeat with it: two rows of the same
//! patient have the same sex. So a column (or two together, such as ward and bed) is proposed if
//! its values repeat and some other columns never differ between rows with the same value. Long
//! codes that repeat are proposed without this evidence.
//!
//! All of it is exact, like the inspection that shows it.

use std::collections::HashMap;

use super::column::{Cell, Column, is_missing};
use super::table::Table;

/// The number of rows that are examined, from the first on; fewer for pairs of columns.
const ROWS: usize = 200_000;
const ROWS_OF_PAIRS: usize = 20_000;
/// The number of columns that are examined, from the first on, and of those that may be in a pair.
const COLUMNS: usize = 200;
const IN_PAIRS: usize = 12;
/// The most pairs that are reported.
const PAIRS: usize = 3;
/// Fewer persons cannot be protected, and classes look the same.
const LEAST_PERSONS: usize = 20;
/// How many rows must repeat before it is meaningful that other columns do not differ.
const LEAST_AGAIN: usize = 30;
/// A column in which two rows agree more often than this agrees with anything.
const COMMON: f64 = 0.8;
/// A column with nearly as many values as there are persons is another name for them.
const OTHER_NAME: f64 = 0.9;
/// Texts with more values than this are not categories, and numbers with at least this many digits,
/// if all have the same number of them, are not quantities.
const CODES: usize = 200;
const DIGITS: usize = 6;

/// Parts of dates and times, at the start or the end of a name.
const CALENDAR: &str = "day date month mnth year week hour minute time timestamp";

/// Columns that may together identify the person of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Positions of one column, or of two.
    pub columns: Vec<usize>,
    /// The number of persons in the examined rows.
    pub persons: usize,
    pub rows: usize,
    /// Columns that are constant for each value of the identifier.
    pub witnesses: Vec<usize>,
}

/// A column as codes: equal cells have equal codes.
struct CodedColumn {
    at: usize,
    of: Vec<u32>,
    distinct: usize,
    /// How often two rows agree.
    common: f64,
    /// Whether the column may name somebody: text or whole numbers.
    names: bool,
    text: bool,
    code: bool,
}

/// Code of a cell without a value.
const MISSING: u32 = 0;

/// Whether a column is called like a part of a date or a time of day. These decide each other, and
/// name nobody.
pub(super) fn is_of_calendar(name: &str) -> bool {
    let name = name.to_lowercase();
    CALENDAR.split(' ').any(|word| name.starts_with(word) || name.ends_with(word))
}

impl CodedColumn {
    /// The cells of a column in at most so many rows.
    fn of(table: &Table, at: usize, most_rows: usize) -> Option<Self> {
        let column = &table.columns[at];
        let rows = table.rows().min(most_rows);
        let (text, whole) = match column {
            Column::Numbers(cells) => {
                let whole = |x: f64| x.is_nan() || x.fract() == 0.0;
                (false, cells.iter().take(rows).all(whole))
            }
            Column::Text(_) => (true, true),
            Column::Vectors(_) => return None,
        };
        let mut codes: HashMap<Cell<'_>, u32> = HashMap::new();
        let mut counts = vec![0_usize];
        let mut of = Vec::with_capacity(rows);
        for cell in column.cells().take(rows) {
            let code = match &cell {
                Cell::Text(text) if is_missing(text) => MISSING,
                _ => *codes.entry(cell).or_insert_with(|| {
                    counts.push(0);
                    counts.len() as u32 - 1
                }),
            };
            counts[code as usize] += 1;
            of.push(code);
        }
        let share = |count: &usize| (*count as f64 / rows.max(1) as f64).powi(2);
        let distinct = codes.len();
        let written: Vec<String> = codes.keys().map(ToString::to_string).collect();
        let with_digits =
            written.iter().filter(|it| it.chars().any(|letter| letter.is_ascii_digit())).count();
        let as_long = |long: usize| written.iter().all(|it| it.len() == long);
        let all_digits = written.iter().all(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let code = if text && !all_digits {
            distinct > CODES && 2 * with_digits > distinct
        } else {
            written.first().is_some_and(|first| first.len() >= DIGITS && as_long(first.len()))
        };
        let again: usize = counts[1..].iter().filter(|count| **count > 1).sum();
        Some(Self {
            at,
            distinct,
            common: counts.iter().map(share).sum(),
            names: whole && !is_of_calendar(&table.names[at]),
            text,
            code: code && 2 * again > rows,
            of,
        })
    }
}

/// Persons, identified by the codes of these columns, and the number of rows.
struct Groups {
    of: Vec<u32>,
    count: usize,
    rows: usize,
}

impl Groups {
    fn of_one(column: &CodedColumn) -> Self {
        let rows = column.of.iter().filter(|code| **code != MISSING).count();
        Self { of: column.of.clone(), count: column.distinct, rows }
    }

    fn of_two(one: &CodedColumn, other: &CodedColumn) -> Self {
        let mut codes: HashMap<(u32, u32), u32> = HashMap::new();
        let both = one.of.iter().zip(&other.of);
        let of: Vec<u32> = both
            .map(|(one, other)| {
                if *one == MISSING || *other == MISSING {
                    return MISSING;
                }
                let next = codes.len() as u32 + 1;
                *codes.entry((*one, *other)).or_insert(next)
            })
            .collect();
        let rows = of.iter().filter(|code| **code != MISSING).count();
        Self { of, count: codes.len(), rows }
    }

    /// Whether there are enough persons, and enough rows in which somebody appears again.
    fn repeat(&self) -> bool {
        self.count > LEAST_PERSONS && self.rows >= self.count + LEAST_AGAIN
    }

    /// Whether a column is constant in all rows of each person.
    fn decide(&self, column: &CodedColumn) -> bool {
        let mut first: Vec<Option<u32>> = vec![None; self.count + 1];
        self.of.iter().zip(&column.of).all(|(group, code)| {
            *group == MISSING || *first[*group as usize].get_or_insert(*code) == *code
        })
    }

    fn witnesses<'a>(&self, columns: &'a [CodedColumn], but: &[usize]) -> Vec<&'a CodedColumn> {
        let telling = |column: &&CodedColumn| {
            column.distinct > 1
                && column.common <= COMMON
                && (column.distinct as f64) < OTHER_NAME * self.count as f64
        };
        columns
            .iter()
            .filter(|column| !but.contains(&column.at))
            .filter(telling)
            .filter(|column| self.decide(column))
            .collect()
    }

    fn identifier(&self, columns: Vec<usize>, witnesses: &[&CodedColumn]) -> Identifier {
        let witnesses = witnesses.iter().map(|column| column.at).collect();
        Identifier { columns, persons: self.count, rows: self.rows, witnesses }
    }
}

/// Columns, and pairs of other columns, that may identify the person of a row.
pub fn in_table(table: &Table) -> Vec<Identifier> {
    let coded = |most_rows: usize| -> Vec<CodedColumn> {
        let columns = 0..table.columns.len().min(COLUMNS);
        columns.filter_map(|at| CodedColumn::of(table, at, most_rows)).collect()
    };
    let mut columns = coded(ROWS);
    let mut found = Vec::new();
    for column in columns.iter().filter(|column| column.names) {
        let groups = Groups::of_one(column);
        if !groups.repeat() {
            continue;
        }
        let witnesses = groups.witnesses(&columns, &[column.at]);
        // One number often determines another: an age determines the decade.
        let enough = if column.text { 1 } else { 2 };
        if column.code || witnesses.len() >= enough {
            found.push(groups.identifier(vec![column.at], &witnesses));
        }
    }
    // A property of a person who is already named names nobody else.
    let alone: Vec<usize> =
        found.iter().flat_map(|it| it.columns.iter().chain(&it.witnesses).copied()).collect();
    // What is constant in the rows that are examined is no evidence.
    if table.rows() > ROWS_OF_PAIRS {
        columns = coded(ROWS_OF_PAIRS);
    }
    let rows = table.rows().min(ROWS_OF_PAIRS);
    let of_pairs = |column: &&CodedColumn| {
        column.names
            && column.distinct > 1
            && 2 * column.distinct <= rows
            && !alone.contains(&column.at)
    };
    let candidates: Vec<&CodedColumn> = columns.iter().filter(of_pairs).take(IN_PAIRS).collect();
    let mut pairs = 0;
    for (k, one) in candidates.iter().enumerate() {
        for other in &candidates[k + 1..] {
            let groups = Groups::of_two(one, other);
            if pairs == PAIRS || !groups.repeat() {
                continue;
            }
            let mut witnesses = groups.witnesses(&columns, &[one.at, other.at]);
            let by_one = [Groups::of_one(one), Groups::of_one(other)];
            witnesses.retain(|column| !by_one.iter().any(|groups| groups.decide(column)));
            if witnesses.len() >= 2 {
                found.push(groups.identifier(vec![one.at, other.at], &witnesses));
                pairs += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 persons with five rows each, not together: `who` is given, each of 9 wards has 10 beds,
    /// and sex and height are fixed for a person.
    fn visits(who: impl Fn(usize) -> Column) -> Table {
        let persons: Vec<usize> = (0..450).map(|row| row * 7 % 90).collect();
        let numbers = |of: &dyn Fn(usize, usize) -> f64| {
            Column::Numbers(persons.iter().enumerate().map(|(row, who)| of(row, *who)).collect())
        };
        let columns = vec![
            who(90),
            numbers(&|_, who| (who / 10) as f64),
            numbers(&|_, who| (who % 10) as f64),
            numbers(&|_, who| (who * 31 % 89 % 2) as f64),
            numbers(&|_, who| 1.5 + (who * 31 % 89 % 37) as f64 / 100.0),
            numbers(&|row, _| (row * 131 % 97 % 40) as f64),
        ];
        let names = ["n", "ward", "bed", "sex", "height", "pulse"].map(str::to_owned).to_vec();
        Table::of_rows("t.csv", names, columns).unwrap()
    }

    fn of(table: &Table) -> Vec<Vec<&str>> {
        let names = |it: Identifier| it.columns.iter().map(|at| &*table.names[*at]).collect();
        in_table(table).into_iter().map(names).collect()
    }

    #[test]
    fn a_column_that_decides_others_is_proposed_whatever_it_is_called() {
        let numbers = |_| Column::Numbers((0..450).map(|row| f64::from(row * 7 % 90)).collect());
        let table = visits(numbers);
        let [found] = &in_table(&table)[..] else { panic!("{:?}", in_table(&table)) };
        assert_eq!((found.columns.as_slice(), found.persons, found.rows), (&[0][..], 90, 450));
        assert_eq!(found.witnesses, [1, 2, 3, 4]);
    }

    #[test]
    fn two_columns_are_proposed_together_where_neither_says_it_alone() {
        let table = visits(|_| Column::Numbers((0..450).map(|row| f64::from(row % 4)).collect()));
        assert_eq!(of(&table), [["ward", "bed"]]);
    }

    #[test]
    fn long_codes_that_repeat_need_no_witness_and_quantities_are_nobody() {
        let text = |row: usize| format!("C{}", row * 17 % 230);
        let rows: Vec<usize> = (0..900).collect();
        let one = |name: &str, column: Column| {
            Table::of_rows("t.csv", vec![name.to_owned()], vec![column]).unwrap()
        };
        let texts = Column::Text(rows.iter().map(|row| text(*row)).collect());
        assert_eq!(of(&one("x", texts)), [["x"]]);
        let numbers =
            |of: &dyn Fn(usize) -> f64| Column::Numbers(rows.iter().map(|row| of(*row)).collect());
        let card = numbers(&|row| 4_000_000.0 + (row % 300) as f64);
        assert_eq!(of(&one("x", card)), [["x"]]);
        assert!(of(&one("age", numbers(&|row| (18 + row % 70) as f64))).is_empty());
        // Unique values and halves name nobody.
        assert!(of(&one("x", numbers(&|row| row as f64))).is_empty());
        assert!(of(&one("x", numbers(&|row| (row % 100) as f64 / 2.0))).is_empty());
    }
}
